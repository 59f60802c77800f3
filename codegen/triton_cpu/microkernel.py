"""The innermost loops of tl.dot, a function of its own for each shape that a module multiplies.

C += A B for row-major A and C, and B row-major or in panels, of constant sizes but for k where it is a loop's. A block
of `rows` x `columns` registers of C stays in registers over k; what it reads of a panel of B stays in the first cache
while all rows pass by.

Narrow operands lie in groups of neighbours along k, as many as 32 bits hold. One instruction multiplies a group of A,
in every lane, with the groups of as many columns, and adds the products to the accumulators.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import KW_ONLY

from opweave.codegen.instructions.emit import FLOATS, LLVM_TYPE, SIZE, Emitter, splat, vector
from opweave.codegen.instructions.operands import I32, I64, PTR, VOID, ZEROS, Operand, Register
from opweave.codegen.native import amx
from opweave.codegen.triton_cpu.context import Context
from opweave.registry.dataclass import dataclass

#: Bytes that stay in the first cache beside what passes by.
HALF_CACHE = 32 * 1024
#: Bytes of a row of A that are read at once, at most: all of its rows are to stay there as well.
ROW_BYTES = 512


@dataclass(frozen=True)
class Narrow:
    """An instruction that multiplies groups of narrow numbers.

    Attributes
    ----------
    size : int
        Numbers in a group.
    elem : str
        Type that they are summed in.
    name : str
        LLVM's intrinsic.
    stored : str
        LLVM's type of the numbers.
    operands : str
        On registers of 512 bits, the intrinsic's type of two registers of groups.
    shifted : bool
        Whether it takes the numbers of B without a sign: they are stored 128 higher, and the product with 128 is taken
        off again. A is read as it is.
    tiles : bool
        Whether it is AMX', which multiplies tiles of groups.
    """

    size: int
    elem: str
    name: str
    stored: str
    operands: str = ""
    shifted: bool = False
    tiles: bool = False


#: What each type is multiplied by, the best first, and the feature of the machine that it needs. The intrinsic of whole
#: numbers in registers has other types from LLVM 22 on, which reads this older form too.
NARROW = {
    "bf16": (
        ("bf16_tiles", Narrow(2, "f32", "llvm.x86.tdpbf16ps", "bfloat", tiles=True)),
        ("bf16_dots", Narrow(2, "f32", "llvm.x86.avx512bf16.dpbf16ps.512", "bfloat", "<32 x bfloat>")),
    ),
    "i8": (
        ("int8_tiles", Narrow(4, "i32", "llvm.x86.tdpbssd", "i8", tiles=True)),
        ("int8_dots", Narrow(4, "i32", "llvm.x86.avx512.vpdpbusd.512", "i8", "<16 x i32>", shifted=True)),
    ),
}
#: Bytes of a line of the caches.
LINE = 64
#: The highest bit of each byte.
HIGH = -0x7F7F7F80
#: Lanes of a register of groups, and of its sums.
LANES = 16


def most_columns(cx: Context) -> int:
    """Registers side by side: the more, the fewer elements of the left operand are read for each multiplication."""
    return 4 if cx.features.registers == 32 else 2


def _places(places: Iterable[int]) -> str:
    """Where a shuffle takes its lanes from."""
    return f"<{LANES} x i32> <{', '.join(f'i32 {i}' for i in places)}>"


def _multiply_groups(em: Emitter, narrow: Narrow, a: Operand, b: Operand, total: Operand) -> Register:
    """`total` and the products of two registers of groups, given as i32; the first has numbers without a sign."""
    sums, groups = vector(narrow.elem, LANES), vector("i32", LANES)
    if narrow.operands != groups:
        a, b = (em.inst(f"bitcast {groups} {x} to {narrow.operands}") for x in (a, b))
    em.declarations[narrow.name] = f"declare {sums} @{narrow.name}({sums}, {narrow.operands}, {narrow.operands})"
    return em.inst(f"call {sums} @{narrow.name}({sums} {total}, {narrow.operands} {a}, {narrow.operands} {b})")


@dataclass(frozen=True)
class Shape:
    """What a microkernel is made for.

    Attributes
    ----------
    elem : str
        Type of the sums.
    m, n, k : int
        Rows, columns, and what is summed over; groups of numbers where they are narrow.
    depth : int
        Rows that a panel of B has in memory, panels being as wide as the microkernel; 0 where B is row-major.
    narrow : Narrow, optional
        What multiplies, where operands are narrow.
    open : bool
        Whether the rows of A are anywhere, and k is only what all lengths that are summed over are multiples of.
    """

    elem: str
    m: int
    n: int
    k: int
    _: KW_ONLY
    depth: int = 0
    narrow: Narrow | None = None
    open: bool = False

    @property
    def name(self) -> str:
        """The function's."""
        kind = self.elem if self.narrow is None else self.narrow.name
        layout = f".panels{self.depth}" if self.depth else ""
        return f'"opweave.dot.{kind}.{self.m}x{self.n}x{self.k}{layout}{".open" if self.open else ""}"'


def product(
    cx: Context, shape: Shape, a: Operand, b: Operand, c: Operand, length: tuple[Operand, Operand] | None = None
) -> None:
    """Multiply matrices at addresses; `length`: what is summed over and the bytes between rows of A, if it is open."""
    if shape.name not in cx.em.defined:
        narrow = shape.narrow
        emitter = _Tiles(cx, shape, narrow) if narrow is not None and narrow.tiles else _Product(cx, shape)
        cx.em.define(shape.name, emitter.function())
    cx.em.call(VOID, shape.name, [*((PTR, x) for x in (a, b, c)), *((I64, x) for x in length or ())])


class _Function:
    """Emits a function that multiplies."""

    def __init__(self, cx: Context, shape: Shape) -> None:
        self.em, self.shape = Emitter(), shape
        self.em.declarations, self.em.defined = cx.em.declarations, cx.em.defined
        self.unit = shape.elem if shape.narrow is None else "i32"
        self.total: Operand = Register("%k") if shape.open else shape.k
        self.pitch: Operand = Register("%pitch") if shape.open else shape.k * SIZE[self.unit]
        """Bytes from a row of A to the next."""

    def text(self) -> str:
        """The whole function, after its loops."""
        em, more = self.em, ", i64 %k, i64 %pitch" if self.shape.open else ""
        header = f"define internal void @{self.shape.name}(ptr readonly %a, ptr readonly %b, ptr noalias %c{more})"
        return "\n".join([f"{header} noinline nounwind {{", "entry:", *em.entry, *em.lines, "  ret void", "}"])

    def left(self, row: Operand, start: Operand) -> Operand:
        """The address of a row of A."""
        place = self.em.offset(Register("%a"), self.em.mul(row, self.pitch))
        return self.em.offset(place, start, self.unit)


class _Product(_Function):
    """Emits a microkernel of vectors."""

    def __init__(self, cx: Context, shape: Shape) -> None:
        super().__init__(cx, shape)
        self.fma = "fma" if cx.features.fma else "fmuladd"
        self.m, self.n, elem = shape.m, shape.n, shape.elem
        lanes = cx.features.vector_bits // 8 // SIZE[elem]
        while self.n % lanes:
            lanes //= 2
        self.lanes = lanes
        self.columns = next(c for c in (4, 2, 1) if c <= most_columns(cx) and self.n % (c * lanes) == 0)
        self.width = self.columns * lanes
        self.step = self.width if shape.depth else self.n
        """Elements from a row of B to the next."""
        # The rest of the registers is for a row of B and an element of A.
        most = cx.features.registers * 3 // 4 // self.columns
        self.rows = math.ceil(self.m / math.ceil(self.m / most))
        self.shifted = shape.narrow is not None and shape.narrow.shifted
        if self.shifted or shape.open:
            # 16 sums hide the latency as well, and then no rest of the rows takes time to compile.
            even = next((r for r in range(self.rows, 3, -1) if self.m % r == 0), 0)
            self.rows = even if even * self.columns >= 16 else self.rows
        self.depth = shape.depth if shape.open else shape.k
        size = SIZE[elem]
        while self.depth * max(self.width * size, HALF_CACHE * size // ROW_BYTES) > HALF_CACHE and self.depth % 2 == 0:
            self.depth //= 2
        self.type, self.groups = vector(elem, lanes), vector(self.unit, lanes)

    def function(self) -> str:
        """The text of the whole function: all rows meet a part of B that stays in the cache."""
        em, whole = self.em, self.m - self.m % self.rows

        def part(j: Operand, k: Operand) -> None:
            panel = em.mul(j, self.shape.depth) if self.shape.depth else j
            b = em.offset(Register("%b"), em.add(panel, em.mul(k, self.step)), self.unit)
            length = em.minimum(self.depth, em.sub(self.total, k)) if self.shape.open else self.depth
            em.loop(0, whole, self.rows, lambda i: self._block(i, j, k, b, length, self.rows))
            if whole < self.m:
                self._block(whole, j, k, b, length, self.m - whole)

        em.loop(
            0, self.n, self.width,
            lambda j: em.loop(0, self.total, self.depth, lambda k: part(j, k)),
        )  # fmt: skip
        return self.text()

    def _block(self, i: Operand, j: Operand, start: Operand, b: Operand, length: Operand, count: int) -> None:
        """`count` rows from i, a panel's columns from j, and `length` products of each from `start`."""
        em, t = self.em, self.type
        rows = [em.add(i, r) for r in range(count)]
        a_rows = [self.left(r, start) for r in rows]
        c_rows = [em.offset(Register("%c"), em.add(em.mul(r, self.n), j), self.shape.elem) for r in rows]
        places = [[em.offset(c, q * self.lanes, self.shape.elem) for q in range(self.columns)] for c in c_rows]
        align = SIZE[self.unit] // (1 if self.shape.narrow is None else self.shape.narrow.size)
        less = [self._correction(a_row, length, align) if self.shifted else None for a_row in a_rows]
        sums = [[em.slot(t, x) for x in self._initial(*row)] for row in zip(places, less, strict=True)]

        def step(k: Operand) -> None:
            bs = self._row(b, k)
            for a_row, row in zip(a_rows, sums, strict=True):
                place = em.offset(a_row, k, self.unit)
                a = self._broadcast(em.inst(f"load {LLVM_TYPE[self.unit]}, ptr {place}, align {align}"))
                for x, slot in zip(bs, row, strict=True):
                    self._accumulate(a, x, slot)

        # More at once would only take longer to compile.
        most = min(self.depth, self.shape.k)
        unrolled = next(u for u in (4, 2, 1) if u == 1 or most % u == 0 and u * self.rows * self.columns <= 24)

        def steps(k: Operand) -> None:
            for u in range(unrolled):
                step(em.add(k, u))

        line = LINE // SIZE[self.unit]
        if self.shape.open and most % line == 0:
            # Rows are too short, and too many, for the processor to see which are read next.
            soon = self._soon(i, start, length, count)

            def lines(k: Operand) -> None:
                for row in soon:
                    kind = (0, 3, 1)  # a read; kept in the first cache; data
                    em.call(VOID, "llvm.prefetch.p0", [(PTR, em.offset(row, k, self.unit)), *((I32, x) for x in kind)])
                em.loop(k, em.add(k, line), unrolled, steps)

            em.loop(0, length, line, lines)
        else:
            em.loop(0, length, unrolled, steps)
        size = SIZE[self.shape.elem]
        for places_row, row in zip(places, sums, strict=True):
            for place, slot in zip(places_row, row, strict=True):
                em.line(f"store {t} {em.inst(f'load {t}, ptr {slot}')}, ptr {place}, align {size}")

    def _soon(self, i: Operand, start: Operand, length: Operand, count: int) -> list[Operand]:
        """Where the rows of A begin that are read next: the following ones, or the first ones further on."""
        em = self.em
        row, k = em.add(i, count), start
        if isinstance(row, int):
            row, k = (row, start) if row < self.m else (0, em.add(start, length))
        elif self.m % self.rows == 0:
            more = em.inst(f"icmp slt i64 {row}, {self.m}")
            row = em.inst(f"select i1 {more}, i64 {row}, i64 0")
            k = em.inst(f"select i1 {more}, i64 {start}, i64 {em.add(start, length)}")
        return [self.left(em.add(row, r), k) for r in range(count)]

    def _load(self, t: str, place: Operand) -> Register:
        return self.em.inst(f"load {t}, ptr {place}, align {SIZE[self.shape.elem]}")

    def _row(self, b: Operand, k: Operand) -> list[Register]:
        """A panel's row."""
        em = self.em
        row = em.offset(b, em.mul(k, self.step), self.unit)
        return [self._load(self.groups, em.offset(row, q * self.lanes, self.unit)) for q in range(self.columns)]

    def _initial(self, places: list[Operand], less: Register | None) -> list[Register]:
        """What a row of sums begins with."""
        sums = [self._load(self.type, place) for place in places]
        return sums if less is None else [self.em.inst(f"sub {self.type} {x}, {less}") for x in sums]

    def _correction(self, row: Operand, length: Operand, align: int) -> Register:
        """128 times the sum of a row of A, in every lane."""
        em, narrow = self.em, self.shape.narrow
        assert narrow is not None
        lanes, high = math.gcd(self.shape.k, LANES), splat(HIGH, "i32", LANES)
        some, every, slot = vector("i32", lanes), vector("i32", LANES), em.slot(self.type, ZEROS)

        def step(k: Operand) -> None:
            x = em.inst(f"load {some}, ptr {em.offset(row, k, 'i32')}, align {align}")
            if lanes < LANES:
                places = _places(min(i, lanes) for i in range(LANES))
                x = em.inst(f"shufflevector {some} {x}, {some} zeroinitializer, {places}")
            old = em.inst(f"load {self.type}, ptr {slot}")
            em.line(f"store {self.type} {_multiply_groups(em, narrow, high, x, old)}, ptr {slot}")

        em.loop(0, length, lanes, step)
        total, distance = em.inst(f"load {every}, ptr {slot}"), LANES // 2
        while distance:
            places = _places((i + distance) % LANES for i in range(LANES))
            other = em.inst(f"shufflevector {every} {total}, {every} poison, {places}")
            total, distance = em.inst(f"add {every} {total}, {other}"), distance // 2
        return total

    def _broadcast(self, x: Register) -> Register:
        if self.lanes == 1:
            return x
        one = self.em.inst(f"insertelement {self.groups} poison, {LLVM_TYPE[self.unit]} {x}, i64 0")
        return self.em.inst(
            f"shufflevector {self.groups} {one}, {self.groups} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def _accumulate(self, a: Operand, b: Operand, slot: Operand) -> None:
        em, t = self.em, self.type
        old = em.inst(f"load {t}, ptr {slot}")
        if self.shape.narrow is not None:
            a, b = (b, a) if self.shifted else (a, b)
            new = _multiply_groups(em, self.shape.narrow, a, b, old)
        elif self.shape.elem in FLOATS:
            new = em.intrinsic(self.fma, self.shape.elem, self.lanes, [a, b, old])
        else:
            new = em.inst(f"add {t} {em.inst(f'mul {t} {a}, {b}')}, {old}")
        em.line(f"store {t} {new}, ptr {slot}")


class _Tiles(_Function):
    """Emits a microkernel of AMX' tiles: four of sums stay in their registers over k."""

    def __init__(self, cx: Context, shape: Shape, narrow: Narrow) -> None:
        super().__init__(cx, shape)
        self.narrow, self.width = narrow, min(shape.n, most_columns(cx) * LANES)
        self.rows = 2 if shape.m % (2 * amx.ROWS) == 0 else 1
        self.columns = next(c for c in (4 // self.rows, 2, 1) if shape.n % (c * LANES) == 0)

    def function(self) -> str:
        """The text of the whole function."""
        em, shape, width, rows, columns = self.em, self.shape, self.width, self.rows, self.columns
        em.declarations[amx.CONFIGURATION] = amx.DECLARATIONS
        rest = shape.k % amx.ROWS

        def block(i: Operand, j: Operand, begin: Operand, end: Operand, height: int) -> None:
            """Sums of some rows and columns, tiles of `height` groups from `begin` to `end`."""
            inside = em.inst(f"and i64 {j}, {width - 1}") if shape.n > width else j
            b = em.add(em.mul(em.sub(j, inside), shape.depth), inside)
            sums = [(r, c, r * columns + c) for r in range(rows) for c in range(columns)]
            pitch = shape.n * SIZE[shape.elem]

            def sum_place(r: int, c: int) -> Operand:
                at = em.add(em.mul(em.add(i, r * amx.ROWS), shape.n), em.add(j, c * LANES))
                return em.offset(Register("%c"), at, shape.elem)

            for r, c, tile in sums:
                em.line(amx.load(tile, f"{sum_place(r, c)}", pitch))

            def step(k: Operand) -> None:
                spare = 4 + rows
                for r in range(rows):
                    em.line(amx.load(4 + r, f"{self.left(em.add(i, r * amx.ROWS), k)}", self.pitch))
                for c in range(columns):
                    tile = spare + c % (amx.COUNT - spare)
                    row = em.add(b, em.add(em.mul(k, width), c * LANES))
                    em.line(amx.load(tile, f"{em.offset(Register('%b'), row, 'i32')}", width * 4))
                    for r in range(rows):
                        em.line(amx.dot(self.narrow.stored, r * columns + c, 4 + r, tile))

            em.loop(begin, end, height, step)
            for r, c, tile in sums:
                em.line(amx.store(tile, f"{sum_place(r, c)}", pitch))

        def all_blocks(begin: Operand, end: Operand, height: int) -> None:
            em.loop(
                0, shape.n, columns * LANES,
                lambda j: em.loop(0, shape.m, rows * amx.ROWS, lambda i: block(i, j, begin, end, height)),
            )  # fmt: skip

        whole = self.total if not rest else em.inst(f"and i64 {self.total}, {-amx.ROWS}")
        em.line(amx.configure())
        all_blocks(0, whole, amx.ROWS)
        if rest:
            # A last half of what tiles hold, in tiles of half the size.
            name = f"@amx.{rows}.rows.of.{rest}"
            shapes = [(amx.ROWS, rest)] * rows + [(rest, LANES)] * (4 - rows)
            em.declarations[name] = amx.description(name, [(amx.ROWS, LANES)] * 4 + shapes)

            def half() -> None:
                em.line(amx.configure(name))
                all_blocks(whole, self.total, rest)

            em.when(em.inst(f"icmp slt i64 {whole}, {self.total}"), half)
        em.line(amx.release())
        return self.text()

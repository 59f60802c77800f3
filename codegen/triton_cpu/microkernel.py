"""The innermost loops of tl.dot, a function of its own for each shape that a module multiplies.

C += A B for row-major A and C, and B row-major or in panels, at constant sizes. A block of `rows` x `columns` registers
of C stays in registers over k; what it reads of a panel of B stays in the first cache while all rows pass by.

Narrow operands lie in groups of neighbours along k, as many as 32 bits hold. One instruction multiplies a group of A,
in every lane, with the groups of as many columns, and adds the products to the accumulators.
"""

from __future__ import annotations

import math

from opweave.codegen.instructions.emit import FLOATS, LLVM_TYPE, SIZE, Emitter, vector
from opweave.codegen.instructions.operands import PTR, VOID, Operand, Register
from opweave.codegen.triton_cpu.context import Context
from opweave.registry.dataclass import dataclass

#: Bytes that stay in the first cache beside what passes by.
HALF_CACHE = 32 * 1024


@dataclass(frozen=True)
class Narrow:
    """An instruction that multiplies groups of narrow numbers.

    Attributes
    ----------
    size : int
        Numbers in a group.
    elem : str
        Type that they are summed in.
    name, operands : str
        LLVM's intrinsic on registers of 512 bits, and its type of two registers of groups.
    shifted : bool
        Whether it takes the numbers of A without a sign: they are stored 128 higher, and the product with 128 is taken
        off again.
    """

    size: int
    elem: str
    name: str
    operands: str
    shifted: bool = False


#: What each type is multiplied by, and the feature of the machine that it needs. The intrinsic of whole numbers has
#: other types from LLVM 22 on, which reads this older form too.
NARROW = {
    "bf16": ("bf16_dots", Narrow(2, "f32", "llvm.x86.avx512bf16.dpbf16ps.512", "<32 x bfloat>")),
    "i8": ("int8_dots", Narrow(4, "i32", "llvm.x86.avx512.vpdpbusd.512", "<16 x i32>", shifted=True)),
}
#: Lanes of a register of groups, and of its sums.
LANES = 16


def most_columns(cx: Context) -> int:
    """Registers side by side: the more, the fewer elements of the left operand are read for each multiplication."""
    return 4 if cx.features.registers == 32 else 2


def multiply_groups(em: Emitter, narrow: Narrow, a: Operand, b: Operand, total: Operand) -> Register:
    """`total` and the products of two registers of groups, given as i32."""
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
    panels : bool
        Whether B lies in panels as wide as the microkernel.
    narrow : Narrow, optional
        What multiplies, where operands are narrow.
    """

    elem: str
    m: int
    n: int
    k: int
    panels: bool = False
    narrow: Narrow | None = None


def product(cx: Context, shape: Shape, a: Operand, b: Operand, c: Operand, correction: Operand | None = None) -> None:
    """Multiply matrices at addresses; `correction` is of a row of C, to be taken off each of its rows."""
    kind = shape.elem if shape.narrow is None else shape.narrow.name
    name = f'"opweave.dot.{kind}.{shape.m}x{shape.n}x{shape.k}{".panels" if shape.panels else ""}"'
    if name not in cx.em.defined:
        cx.em.define(name, _Product(cx, shape).function(name))
    cx.em.call(VOID, name, [(PTR, x) for x in (a, b, c, *([] if correction is None else [correction]))])


class _Product:
    """Emits a microkernel."""

    def __init__(self, cx: Context, shape: Shape) -> None:
        self.fma = "fma" if cx.features.fma else "fmuladd"
        self.em, self.shape = Emitter(), shape
        self.em.declarations, self.em.defined = cx.em.declarations, cx.em.defined
        self.m, self.n, self.k, elem = shape.m, shape.n, shape.k, shape.elem
        self.unit = elem if shape.narrow is None else "i32"
        lanes = cx.features.vector_bits // 8 // SIZE[elem]
        while self.n % lanes:
            lanes //= 2
        self.lanes = lanes
        self.columns = next(c for c in (4, 2, 1) if c <= most_columns(cx) and self.n % (c * lanes) == 0)
        self.width = self.columns * lanes
        self.pitch = self.width if shape.panels else self.n
        """Elements from a row of B to the next."""
        # The rest of the registers is for a row of B and an element of A.
        most = cx.features.registers * 3 // 4 // self.columns
        self.rows = math.ceil(self.m / math.ceil(self.m / most))
        self.shifted = shape.narrow is not None and shape.narrow.shifted
        if self.shifted:
            # 16 sums hide the latency as well, and then no rest of the rows takes time to compile.
            even = next((r for r in range(self.rows, 3, -1) if self.m % r == 0), 0)
            self.rows = even if even * self.columns >= 16 else self.rows
        self.depth = self.k
        while not self.shifted and self.width * self.depth * SIZE[elem] > HALF_CACHE and self.depth % 2 == 0:
            self.depth //= 2
        self.type, self.groups = vector(elem, lanes), vector(self.unit, lanes)

    def function(self, name: str) -> str:
        """The text of the whole function: all rows meet a part of B that stays in the cache."""
        em, whole = self.em, self.m - self.m % self.rows

        def part(j: Operand, k: Operand) -> None:
            em.loop(0, whole, self.rows, lambda i: self._block(i, j, k, self.rows))
            if whole < self.m:
                self._block(whole, j, k, self.m - whole)

        em.loop(
            0, self.n, self.width,
            lambda j: em.loop(0, self.k, self.depth, lambda k: part(j, k)),
        )  # fmt: skip
        last = ", ptr noalias readonly %corrections" if self.shifted else ""
        header = (
            f"define internal void @{name}(ptr readonly %a, ptr readonly %b, ptr noalias %c{last}) noinline nounwind"
        )
        return "\n".join([f"{header} {{", "entry:", *em.entry, *em.lines, "  ret void", "}"])

    def _block(self, i: Operand, j: Operand, start: Operand, count: int) -> None:
        """`count` rows from i, a panel's columns from j, and `depth` products of each from `start`."""
        em, t = self.em, self.type
        rows = [em.add(i, r) for r in range(count)]
        a_rows = [em.offset(Register("%a"), em.add(em.mul(r, self.k), start), self.unit) for r in rows]
        c_rows = [em.offset(Register("%c"), em.add(em.mul(r, self.n), j), self.shape.elem) for r in rows]
        panel = em.mul(j, self.k) if self.pitch == self.width else j
        b_column = em.offset(Register("%b"), em.add(panel, em.mul(start, self.pitch)), self.unit)
        places = [[em.offset(c, q * self.lanes, self.shape.elem) for q in range(self.columns)] for c in c_rows]
        sums = [[em.slot(t, x) for x in row] for row in self._initial(places, j)]

        def step(k: Operand) -> None:
            b_row = em.offset(b_column, em.mul(k, self.pitch), self.unit)
            bs = [self._load(self.groups, em.offset(b_row, q * self.lanes, self.unit)) for q in range(self.columns)]
            for a_row, row in zip(a_rows, sums, strict=True):
                a = self._broadcast(em.inst(f"load {LLVM_TYPE[self.unit]}, ptr {em.offset(a_row, k, self.unit)}"))
                for b, slot in zip(bs, row, strict=True):
                    self._accumulate(a, b, slot)

        # More at once would only take longer to compile.
        unrolled = next(u for u in (4, 2, 1) if u == 1 or self.depth % u == 0 and u * self.rows * self.columns <= 24)

        def steps(k: Operand) -> None:
            for u in range(unrolled):
                step(em.add(k, u))

        em.loop(0, self.depth, unrolled, steps)
        size = SIZE[self.shape.elem]
        for places_row, row in zip(places, sums, strict=True):
            for place, slot in zip(places_row, row, strict=True):
                em.line(f"store {t} {em.inst(f'load {t}, ptr {slot}')}, ptr {place}, align {size}")

    def _load(self, t: str, place: Operand) -> Register:
        return self.em.inst(f"load {t}, ptr {place}, align {SIZE[self.shape.elem]}")

    def _initial(self, places: list[list[Operand]], j: Operand) -> list[list[Register]]:
        """What the sums begin with."""
        em, t = self.em, self.type
        sums = [[self._load(t, place) for place in row] for row in places]
        if not self.shifted:
            return sums
        first = em.offset(Register("%corrections"), j, "i32")
        corrections = [self._load(t, em.offset(first, q * self.lanes, "i32")) for q in range(self.columns)]
        return [[em.inst(f"sub {t} {x}, {y}") for x, y in zip(row, corrections, strict=True)] for row in sums]

    def _broadcast(self, x: Register) -> Register:
        if self.lanes == 1:
            return x
        one = self.em.inst(f"insertelement {self.groups} poison, {LLVM_TYPE[self.unit]} {x}, i64 0")
        return self.em.inst(
            f"shufflevector {self.groups} {one}, {self.groups} poison, <{self.lanes} x i32> zeroinitializer"
        )

    def _accumulate(self, a: Register, b: Register, slot: Register) -> None:
        em, t = self.em, self.type
        old = em.inst(f"load {t}, ptr {slot}")
        if self.shape.narrow is not None:
            new = multiply_groups(em, self.shape.narrow, a, b, old)
        elif self.shape.elem in FLOATS:
            new = em.intrinsic(self.fma, self.shape.elem, self.lanes, [a, b, old])
        else:
            new = em.inst(f"add {t} {em.inst(f'mul {t} {a}, {b}')}, {old}")
        em.line(f"store {t} {new}, ptr {slot}")

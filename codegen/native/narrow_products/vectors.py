"""What native code of narrow products is told, how numbers are kept, and the kernels that multiply in registers."""

from __future__ import annotations

from collections.abc import Callable

from opweave.codegen.native import amx, bfloat
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.llvm import Host
from opweave.registry.dataclass import dataclass

#: What describes a product, in words. Steps count elements; `term` is what is added, or null, and the factors are
#: float32 as bits. Where `packed` is not 0, the right operand of float32 is packed there, and is by now if `ready`.
FIELDS = (
    "m", "k", "n", "far", "near", "a", "a_far", "a_near", "a_row", "a_column", "b", "b_far", "b_near", "b_row",
    "b_column", "c", "c_far", "c_near", "c_row", "term", "term_far", "term_near", "term_row", "term_column",
    "alpha", "beta", "packed", "ready",
)  # fmt: skip
_DERIVED = (
    "groups", "panels", "height", "row_blocks", "direct", "dotted", "shared", "turned", "left", "right", "sums",
)  # fmt: skip
WORDS = FIELDS + _DERIVED
#: Rows of a program, and fewer of them where there would be too few programs; groups that are multiplied at a time.
TALL, LOW, ENOUGH, DEPTH = 96, 24, 8, 256
#: The same where a group is one number: the panel lies in the first cache.
DEPTH_SINGLE = 128
#: Rows up to which a program of float32 has all, and packs a panel piece by piece, as it needs them.
TALL_FLOAT = 256
#: Multiplications of a program of float32 from which on it pays to pack what several read, before any of them.
SHARED = 1 << 21
#: Blocks of rows of a product of float32 whose right operand is packed already; fewer where these fill no registers.
PARTS = 4
#: The same of tiles.
TALL_TILES, LOW_TILES, DEPTH_TILES = 128, 32, 128
#: Panels for which rows of tiles are read where they lie, even if they part lines of the cache.
READ_TWICE = 2
#: Rows that are multiplied without packing where columns lie in one piece.
FEW = 2
#: Multiplications a nanosecond, about: of groups of so many.
RATE = {1: 30.0, 2: 80.0, 4: 160.0}
RATE_TILES = {2: 400.0, 4: 600.0}
#: Groups that are packed in a nanosecond, about.
PACKED = 2.5
#: How many kernels in registers there are for so many registers of columns.
HEIGHTS = 4
#: Bytes of a line of the cache.
LINE = 64
#: The highest bit of each byte.
HIGH = -0x7F7F7F80
#: LLVM's names of what multiplies groups.
_DOTS = {2: "llvm.x86.avx512bf16.dpbf16ps.512", 4: "llvm.x86.avx512.vpdpbusd.512"}

#: Of types in LLVM's names of functions.
_SUFFIX = {"half": "f16", "float": "f32"}


@dataclass(frozen=True)
class Kind:
    """How numbers are kept and computed.

    Attributes
    ----------
    stored : {"bfloat", "half", "i8", "float"}
        Their type in memory.
    bits, registers : int
        Bits of a vector register, and how many there are.
    size : int
        Numbers in a group.
    tiles : bool
        Whether AMX multiplies tiles of groups.
    """

    stored: str
    bits: int
    registers: int
    size: int
    tiles: bool = False

    @classmethod
    def of(cls, stored: str, machine: Host) -> Kind:
        """For a machine."""
        many = machine.vector_bits == 512 or machine.triple.startswith(("aarch64", "arm64"))
        feature, size = {"bfloat": ("avx512bf16", 2), "i8": ("avx512vnni", 4)}.get(stored, ("", 1))
        has = machine.vector_bits == 512 and feature in machine.features
        return cls(
            stored, machine.vector_bits, 32 if many else 16, size if has else 1, has and machine.has_tiles(stored)
        )

    @property
    def total(self) -> str:
        """The type of the sums."""
        return "i32" if self.stored == "i8" else "float"


class Vectors:
    """Numbers in registers and in memory.

    Parameters
    ----------
    kind : Kind
        How they are kept and computed.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind, self.lanes = kind, kind.bits // 32
        self.item = {"i8": 1, "float": 4}.get(kind.stored, 2)
        self.memory = kind.stored if kind.stored in ("half", "float") else f"i{8 * self.item}"
        self.groups, self.sums = f"<{self.lanes} x i32>", f"<{self.lanes} x {kind.total}>"
        self.most = 4 if kind.registers >= 32 and not kind.tiles else 2
        self.width = self.most * self.lanes
        self.tall, self.low = (TALL_TILES, LOW_TILES) if kind.tiles else (TALL, LOW)
        #: Whether rows are read where they lie, as the numbers that they are.
        self.direct = kind.stored == "float"
        self.tallest = TALL_FLOAT if self.direct else self.tall
        self.depth = DEPTH if kind.size > 1 else DEPTH_SINGLE
        self.rate = (RATE_TILES if kind.tiles else RATE)[kind.size]
        self.shifted = kind.stored == "i8" and kind.size > 1 and not kind.tiles
        #: Whether a row or two are multiplied without packing, where columns lie in one piece.
        self.dots = kind.size > 1 or kind.stored in ("half", "bfloat")
        self.name = f"opweave_multiply_{kind.stored}"

    def _vectors(self) -> range:
        return range(1, self.most + 1)

    def _high(self, vectors: int) -> tuple[int, ...]:
        """Rows of the kernels in registers, of so many registers of columns: the rest of the registers is for those."""
        most = min(self.kind.registers * 3 // 4 // vectors, 12)
        return most, 4, 2, 1

    # ---- numbers in registers --------------------------------------------------------------------------------------

    def _loads(self) -> list[str]:
        """Functions: the first numbers of a row, zeros behind; for a register of numbers, and for one of groups."""
        found: list[str] = []
        for count in dict.fromkeys((self.lanes, self.lanes * self.kind.size)):
            vector = f"<{count} x {self.memory}>"
            suffix = f"v{count}{_SUFFIX.get(self.memory, self.memory)}"
            found.append(f"declare {vector} @llvm.masked.load.{suffix}.p0(ptr, <{count} x i1>, {vector})")
            f = Function(f"internal {vector}", f"first.{count}", ["ptr p", "i64 count"], "alwaysinline")
            value = f.op(
                f"call {vector} @llvm.masked.load.{suffix}.p0(ptr align {self.item} %p,"
                f" <{count} x i1> {self._below(f, f.param('count'), count)}, {vector} zeroinitializer)"
            )
            found.append(f.end(f"{vector} {value}"))
        for kind, bits in dict.fromkeys(((self._result(), self._result_suffix()),)):
            vector = f"<{self.lanes} x {kind}>"
            found.append(f"declare void @llvm.masked.store.v{self.lanes}{bits}.p0({vector}, ptr, <{self.lanes} x i1>)")
        return found

    def _result(self) -> str:
        return "i32" if self.kind.stored == "i8" else self.memory

    def _result_suffix(self) -> str:
        return _SUFFIX.get(self._result(), self._result())

    def _below(self, f: Function, count: Int, lanes: int) -> str:
        """Which places are before one."""
        places = ", ".join(f"i32 {i}" for i in range(lanes))
        short = f.op(f"trunc i64 {count.least(1 << 20).most(0)} to i32")
        one = f.op(f"insertelement <{lanes} x i32> poison, i32 {short}, i64 0")
        every = f.op(f"shufflevector <{lanes} x i32> {one}, <{lanes} x i32> poison, <{lanes} x i32> zeroinitializer")
        return f.op(f"icmp slt <{lanes} x i32> <{places}>, {every}")

    def _wide(self, f: Function, value: str, lanes: int) -> str:
        """Numbers as they are computed with where a group is one number, as bits."""

        def of(kind: str) -> str:
            return kind if lanes == 1 else f"<{lanes} x {kind}>"

        if self.kind.stored == "i8":
            return f.op(f"sext {of('i8')} {value} to {of('i32')}")
        if self.kind.stored == "float":
            return f.op(f"bitcast {of('float')} {value} to {of('i32')}")
        if self.kind.stored == "half":
            real = f.op(f"fpext {of('half')} {value} to {of('float')}")
            return f.op(f"bitcast {of('float')} {real} to {of('i32')}")
        whole = f.op(f"zext {of('i16')} {value} to {of('i32')}")
        return f.op(f"shl {of('i32')} {whole}, {self._every('16', lanes)}")

    def _every(self, value: str, lanes: int) -> str:
        return value if lanes == 1 else f"splat (i32 {value})"

    def _grouped(self, f: Function, values: list[str], lanes: int) -> str:
        """Groups of numbers that lie in as many registers, the first one lowest."""
        if self.kind.size == 1:
            return self._wide(f, values[0], lanes)
        narrow, wide = ("i32", self.memory) if lanes == 1 else (self._of(lanes), f"<{lanes} x {self.memory}>")
        found = ""
        for r, value in enumerate(values):
            part = f.op(f"zext {wide} {value} to {narrow}")
            if r:
                part = f.op(f"shl {narrow} {part}, {self._every(str(8 * self.item * r), lanes)}")
            found = f.op(f"or {narrow} {found}, {part}") if r else part
        return found

    def _of(self, lanes: int) -> str:
        return f"<{lanes} x i32>"

    def _transposed(self, f: Function, rows: list[str]) -> list[str]:
        """A square of groups with rows and columns exchanged."""
        n, distance = self.lanes, self.lanes // 2
        while distance:
            found = [""] * n
            for i in range(n):
                if i & distance:
                    continue
                a, b = rows[i], rows[i + distance]
                low = [j if not j & distance else n + j - distance for j in range(n)]
                high = [j + distance if not j & distance else n + j for j in range(n)]
                for to, order in ((i, low), (i + distance, high)):
                    mask = ", ".join(f"i32 {j}" for j in order)
                    found[to] = f.op(f"shufflevector {self.groups} {a}, {self.groups} {b}, <{n} x i32> <{mask}>")
            rows, distance = found, distance // 2
        return rows

    def _rounded(self) -> str:
        return bfloat.function("rounded", self.lanes, self.kind.size > 1) if self.kind.stored == "bfloat" else ""

    def _instruction(self) -> str:
        kind = {2: f"<{2 * self.lanes} x bfloat>", 4: self.groups}.get(self.kind.size)
        found = f"declare {self.sums} @{_DOTS[self.kind.size]}({self.sums}, {kind}, {kind})" if kind else ""
        return f"{found}\n{amx.DECLARATIONS}" if self.kind.tiles else found

    def _dot(self, f: Function, a: str, b: str, total: str) -> str:
        """`total` and the products of registers of groups: `b` has whole numbers with a sign, `a` those without."""
        n, sums = self.lanes, self.sums
        if self.kind.size > 1:
            kind = self.groups
            if self.kind.size == 2:
                kind = f"<{2 * n} x bfloat>"
                a, b = (f.op(f"bitcast {self.groups} {x} to {kind}") for x in (a, b))
            return f.op(f"call {sums} @{_DOTS[self.kind.size]}({sums} {total}, {kind} {a}, {kind} {b})")
        if self.kind.total == "i32":
            return f.op(f"add {sums} {f.op(f'mul {sums} {a}, {b}')}, {total}")
        a, b = (f.op(f"bitcast {self.groups} {x} to {sums}") for x in (a, b))
        product = f.op(f"fmul contract {sums} {a}, {b}")
        return f.op(f"fadd contract {sums} {product}, {total}")

    def _splat(self, f: Function, kind: str, value: str) -> str:
        n = self.lanes
        one = f.op(f"insertelement <{n} x {kind}> poison, {kind} {value}, i64 0")
        return f.op(f"shufflevector <{n} x {kind}> {one}, <{n} x {kind}> poison, <{n} x i32> zeroinitializer")

    def _micro(self, high: int, vectors: int) -> str:
        """Rows by registers of columns; `more`: add to what is there. `a_row`, `a_step` and `pitch` count bytes.

        Sums begin at what the products of each row come out higher, less than 0 (`less`).
        """
        f = Function(
            "internal void", f"micro.{high}x{vectors}",
            ["i64 k", "ptr a", "i64 a_row", "i64 a_step", "ptr b", "ptr c", "i64 pitch", "i64 more", "ptr ahead",
             "ptr less"],
            "noinline",
        )  # fmt: skip
        step, more, width = f.param("a_step"), f.param("more"), vectors * self.lanes
        rows = [f.at("%a", f.param("a_row") * r, "i8") for r in range(high)]
        starts = [f.at("%c", f.param("pitch") * r, "i8") for r in range(high)]
        places = [[f.at(start, v * self.lanes, "i32") for v in range(vectors)] for start in starts]
        sums = [[f.room(self.sums) for _ in range(vectors)] for _ in range(high)]
        for r, row in enumerate(sums):
            first = "zeroinitializer"
            if self.shifted:
                less = f.op(f"load i32, ptr {f.at('%less', r, 'i32')}")
                first = self._splat(f, "i32", f.op(f"sub i32 0, {less}"))
            for slot in row:
                f.line(f"store {self.sums} {first}, ptr {slot}")
        with f.when(more.equals(1)):
            for row, at in zip(sums, places, strict=True):
                for slot, place in zip(row, at, strict=True):
                    f.line(f"store {self.sums} {f.op(f'load {self.sums}, ptr {place}, align 4')}, ptr {slot}")

        def one(k: Int) -> None:
            base = f.at("%b", k * width, "i32")
            columns = [
                f.op(f"load {self.groups}, ptr {f.at(base, v * self.lanes, 'i32')}, align 64") for v in range(vectors)
            ]
            along = k * step
            for place, row in zip(rows, sums, strict=True):
                a = self._splat(f, "i32", f.op(f"load i32, ptr {f.at(place, along, 'i8')}, align {self.item}"))
                for b, slot in zip(columns, row, strict=True):
                    new = self._dot(f, b, a, f.op(f"load {self.sums}, ptr {slot}"))
                    f.line(f"store {self.sums} {new}, ptr {slot}")

        def ask(k: Int) -> None:
            """For a line of what the panel holds next, and where rows are read in place, for one of those behind.

            The processor's own prefetchers do not see in time that either will be read.
            """
            places = [f.at("%ahead", k * (LINE // 8), "i32")]
            if self.direct:
                row, line = k // 2 % 8 + high, k // 16 * LINE
                places.append(f.at("%a", f.param("a_row") * row + line, "i8"))
            for place in places:
                f.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 2, i32 1)")

        k = f.param("k")
        even = f.const(0)
        if vectors == self.most and high == self._high(vectors)[0]:
            # What most of a product is made by. At its edges, two steps a round would mostly take long to compile.
            even = k & -2
            for place in (place for row in places for place in row):
                f.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 1, i32 3, i32 1)")
            with f.loop(0, even, 2) as i:
                ask(i)
                one(i)
                one(i + 1)
        with f.loop(even, k) as i:
            one(i)
        for row, at in zip(sums, places, strict=True):
            for slot, place in zip(row, at, strict=True):
                f.line(f"store {self.sums} {f.op(f'load {self.sums}, ptr {slot}')}, ptr {place}, align 4")
        return f.end()

    def _dots(self) -> str:
        """Sums of rows and of columns that both lie in one piece, four columns at a time: nothing is packed."""
        if not self.dots:
            return _NO_DOTS
        count = self.lanes * self.kind.size
        vector, bits = f"<{count} x {self.memory}>", self.groups
        f = Function(
            "internal void", "dots",
            ["i64 k", "ptr a", "i64 a_row", "ptr b", "i64 b_column", "i64 rows", "i64 columns", "ptr to"], "noinline",
        )  # fmt: skip
        k, down, across, columns = (f.param(name) for name in ("k", "a_row", "b_column", "columns"))
        whole = k // count * count
        sums = [f.room(self.sums) for _ in range(4)]
        # VNNI wants one side without a sign: what it is higher by is taken off.
        unsigned = self.kind.stored == "i8"
        less = f.room("i32")

        def some(place: str, at: Int, left: Int | None) -> str:
            here = f.at(place, at, self.memory)
            value = f.op(
                f"load {vector}, ptr {here}, align {self.item}" if left is None
                else f"call {vector} @first.{count}(ptr {here}, i64 {left})"
            )  # fmt: skip
            return self._wide(f, value, count) if self.kind.size == 1 else f.op(f"bitcast {vector} {value} to {bits}")

        def summed(slots: list[str], step: Callable[[Int, Int | None], list[tuple[str, str]]]) -> None:
            """Sums of products of what is given for each place."""
            for slot in slots:
                f.line(f"store {self.sums} zeroinitializer, ptr {slot}")

            def add(at: Int, left: Int | None) -> None:
                for (b, a), slot in zip(step(at, left), slots, strict=True):
                    new = self._dot(f, b, a, f.op(f"load {self.sums}, ptr {slot}"))
                    f.line(f"store {self.sums} {new}, ptr {slot}")

            with f.loop(0, whole, count) as at:
                add(at, None)
            with f.when(whole < k):
                add(whole, k - whole)

        for many, start in ((4, f.const(0)), (1, columns & -4)):
            with f.loop(0, f.param("rows")) as r:
                a = f.at("%a", r * down, self.memory)
                if unsigned:
                    summed(sums[:1], lambda at, left, a=a: [(f"splat (i32 {HIGH})", some(a, at, left))])
                    f.line(f"store i32 {self._total(f, f.op(f'load {self.sums}, ptr {sums[0]}'))}, ptr {less}")
                with f.loop(start, columns & -4 if many == 4 else columns, many) as j:
                    bs = [f.at("%b", (j + i) * across, self.memory) for i in range(many)]

                    def products(at: Int, left: Int | None, a: str = a, bs: list[str] = bs) -> list[tuple[str, str]]:
                        row, *found = (some(place, at, left) for place in (a, *bs))
                        if unsigned:
                            found = [f.op(f"xor {bits} {b}, splat (i32 {HIGH})") for b in found]
                        return [(b, row) for b in found]

                    summed(sums[:many], products)
                    for i in range(many):
                        total = self._total(f, f.op(f"load {self.sums}, ptr {sums[i]}"))
                        if unsigned:
                            total = f.op(f"sub i32 {total}, {f.op(f'load i32, ptr {less}')}")
                        f.line(f"store {self.kind.total} {total}, ptr {f.at('%to', r * self.width + j + i, 'i32')}")
        return f.end()

    def _total(self, f: Function, value: str) -> str:
        """The sum of a register: halves are added."""
        n, add = self.lanes, "add" if self.kind.total == "i32" else "fadd"
        half = n // 2
        while half:
            # The upper half is nothing: where it stays what it was, LLVM 22 gets two sums side by side wrong.
            order = ", ".join(f"i32 {i + half}" if i < half else "i32 poison" for i in range(n))
            other = f.op(f"shufflevector {self.sums} {value}, {self.sums} poison, <{n} x i32> <{order}>")
            value = f.op(f"{add} {self.sums} {value}, {other}")
            half //= 2
        return f.op(f"extractelement {self.sums} {value}, i64 0")


_NO_DOTS = """\
define internal void @dots(i64 %k, ptr %a, i64 %ar, ptr %b, i64 %bc, i64 %rows, i64 %columns, ptr %to) {
  ret void
}"""

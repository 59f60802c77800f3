"""The native code of products of narrow numbers: bfloat16, float16 and 8-bit whole numbers.

Operands are packed in *groups* of neighbours along what is summed over, as many as 32 bits hold, which one instruction
multiplies and sums where the machine has one (AVX512-BF16, VNNI); elsewhere a group is one number, widened. A *panel* of
the right operand is a few registers of columns, a row of groups after the other; it is packed once for all rows. The
left operand is read where it is, if groups lie there in one piece, else packed likewise, in blocks of rows.

A program makes a block of rows of a panel in float32 or int32, in the order of what is summed over, and rounds once.
What a program makes follows from the sizes alone, so results do not depend on the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass

from opweave.codegen.native import llvm
from opweave.codegen.native.correlation.words import Record
from opweave.codegen.native.emitting import Function, Int, Number
from opweave.codegen.native.llvm import Host

#: What describes a product, in words. Steps count elements; `term` is what is added, or null, and the factors are
#: float32 as bits.
FIELDS = (
    "m", "k", "n", "outer", "inner", "a", "a_outer", "a_inner", "a_row", "a_column", "b", "b_outer", "b_inner", "b_row",
    "b_column", "c", "c_outer", "c_inner", "c_row", "term", "term_outer", "term_inner", "term_row", "term_column",
    "alpha", "beta",
)  # fmt: skip
_DERIVED = (
    "groups", "panels", "height", "row_blocks", "direct", "shared", "left", "right", "sums", "prepared", "failed",
)  # fmt: skip
WORDS = FIELDS + _DERIVED
#: Rows of a program, and fewer of them where there would be too few programs; groups that are multiplied at a time.
_TALL, _LOW, _ENOUGH, _DEPTH = 96, 24, 8, 256
#: Multiplications a nanosecond, about: of groups of so many.
_RATE = {1: 30.0, 2: 80.0, 4: 160.0}
#: The highest bit of each byte.
_HIGH = -0x7F7F7F80
#: LLVM's names of what multiplies groups.
_DOTS = {2: "llvm.x86.avx512bf16.dpbf16ps.512", 4: "llvm.x86.avx512.vpdpbusd.512"}


@dataclass(frozen=True)
class Kind:
    """How numbers are kept and computed.

    Attributes
    ----------
    stored : {"bfloat", "half", "i8"}
        Their type in memory.
    bits, registers : int
        Bits of a vector register, and how many there are.
    size : int
        Numbers in a group.
    """

    stored: str
    bits: int
    registers: int
    size: int

    @classmethod
    def of(cls, stored: str, machine: Host) -> Kind:
        """For a machine."""
        many = machine.vector_bits == 512 or machine.triple.startswith(("aarch64", "arm64"))
        feature, size = {"bfloat": ("avx512bf16", 2), "i8": ("avx512vnni", 4)}.get(stored, ("", 1))
        has = machine.vector_bits == 512 and feature in machine.features
        return cls(stored, machine.vector_bits, 32 if many else 16, size if has else 1)

    @property
    def total(self) -> str:
        """The type of the sums."""
        return "i32" if self.stored == "i8" else "float"


def source_for_host(stored: str) -> str:
    """`source` for this machine."""
    return source(Kind.of(stored, llvm.host()))


def source(kind: Kind) -> str:
    """The LLVM IR of `i32 opweave_multiply(ptr words)`: 0 done, 1 the handler of a signal raised, 3 no memory."""
    return _Module(kind).text()


class _Module:
    def __init__(self, kind: Kind) -> None:
        self.kind, self.lanes = kind, kind.bits // 32
        self.item = 1 if kind.stored == "i8" else 2
        self.memory = "half" if kind.stored == "half" else f"i{8 * self.item}"
        self.groups, self.sums = f"<{self.lanes} x i32>", f"<{self.lanes} x {kind.total}>"
        self.most = 4 if kind.registers >= 32 else 2
        self.width = self.most * self.lanes
        self.shifted = kind.stored == "i8" and kind.size > 1
        self.name = f"opweave_multiply_{kind.stored}"

    def text(self) -> str:
        """All functions."""
        parts = [
            _HEAD, self._instruction(), *self._loads(), self._rounded(), *[self._micro(h, v) for v in self._vectors() for h in self._high(v)],
            self._pack_beside(), self._pack_across(), self._pack_scattered(), self._pack(), self._row_sums(),
            self._term(), self._finish(), self._prepare(), self._multiply(), self._entry(),
            '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}',
        ]  # fmt: skip
        return "\n\n".join(part for part in parts if part)

    def _vectors(self) -> range:
        return range(1, self.most + 1)

    def _high(self, vectors: int) -> tuple[int, ...]:
        """Rows of the kernels in registers, of so many registers of columns: the rest of the registers is for those."""
        most = min(self.kind.registers * 3 // 4 // vectors, 12)
        return (most, *(h for h in (4, 2, 1) if h < most))

    # ---- numbers in registers --------------------------------------------------------------------------------------

    def _loads(self) -> list[str]:
        """Functions: the first numbers of a row, zeros behind; as many as a register has lanes, and as a row of groups."""
        found: list[str] = []
        for count in dict.fromkeys((self.lanes, self.lanes * self.kind.size)):
            vector = f"<{count} x {self.memory}>"
            suffix = f"v{count}{'f16' if self.memory == 'half' else self.memory}"
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
        return "f16" if self._result() == "half" else self._result()

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
        """float32 to bfloat16, to the nearest, ties to even."""
        if self.kind.stored != "bfloat":
            return ""
        n = self.lanes
        wide = f"<{n} x i32>"
        f = Function(f"internal <{n} x i16>", "rounded", [f"<{n} x float> x"], "alwaysinline")
        bits = f.op(f"bitcast <{n} x float> %x to {wide}")
        low = f.op(f"lshr {wide} {bits}, splat (i32 16)")
        odd = f.op(f"and {wide} {low}, splat (i32 1)")
        total = f.op(f"add {wide} {bits}, {f.op(f'add {wide} {odd}, splat (i32 32767)')}")
        high = f.op(f"lshr {wide} {total}, splat (i32 16)")
        nan = f.op(f"fcmp uno <{n} x float> %x, %x")
        quiet = f.op(f"or {wide} {low}, splat (i32 64)")
        found = f.op(f"select <{n} x i1> {nan}, {wide} {quiet}, {wide} {high}")
        return f.end(f"<{n} x i16> {f.op(f'trunc {wide} {found} to <{n} x i16>')}")

    def _instruction(self) -> str:
        kind = {2: f"<{2 * self.lanes} x bfloat>", 4: self.groups}.get(self.kind.size)
        return f"declare {self.sums} @{_DOTS[self.kind.size]}({self.sums}, {kind}, {kind})" if kind else ""

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
        """Rows by registers of columns; `more`: add to what is there. `a_row` and `a_step` count bytes."""
        f = Function(
            "internal void", f"micro.{high}x{vectors}",
            ["i64 k", "ptr a", "i64 a_row", "i64 a_step", "ptr b", "ptr c", "i64 more"], "noinline",
        )  # fmt: skip
        step, more, width = f.param("a_step"), f.param("more"), vectors * self.lanes
        rows = [f.at("%a", f.param("a_row") * r, "i8") for r in range(high)]
        places = [[f.at("%c", r * self.width + v * self.lanes, "i32") for v in range(vectors)] for r in range(high)]
        sums = [[f.room(self.sums) for _ in range(vectors)] for _ in range(high)]
        for row in sums:
            for slot in row:
                f.line(f"store {self.sums} zeroinitializer, ptr {slot}")
        with f.when(more.equals(1)):
            for row, at in zip(sums, places, strict=True):
                for slot, place in zip(row, at, strict=True):
                    f.line(f"store {self.sums} {f.op(f'load {self.sums}, ptr {place}, align 64')}, ptr {slot}")

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

        k = f.param("k")
        even = k & -2
        with f.loop(0, even, 2) as i:
            one(i)
            one(i + 1)
        with f.loop(even, k) as i:
            one(i)
        for row, at in zip(sums, places, strict=True):
            for slot, place in zip(row, at, strict=True):
                f.line(f"store {self.sums} {f.op(f'load {self.sums}, ptr {slot}')}, ptr {place}, align 64")
        return f.end()

    # ---- packing ---------------------------------------------------------------------------------------------------
    # `lanes` numbers in `width` places, `k` of them to be summed over: groups of `to`, a row of `width` after the other.

    _PACK = ("ptr to", "ptr of", "i64 lane", "i64 step", "i64 lanes", "i64 width", "i64 k", "i64 flip")

    def _keep(self, f: Function, groups: str, place: str, lanes: int, flip: str) -> None:
        """Store groups; 8-bit numbers of the right operand 128 higher, without a sign."""
        kind = "i32" if lanes == 1 else self.groups
        if self.shifted:
            groups = f.op(f"xor {kind} {groups}, {flip}")
        f.line(f"store {kind} {groups}, ptr {place}, align {4 if lanes == 1 else 64}")

    def _pack_beside(self) -> str:
        """Of neighbours in memory that belong to neighbouring lanes."""
        f = Function("internal void", "pack.beside", self._PACK, "noinline")
        step, lanes, width, k, size = f.param("step"), f.param("lanes"), f.param("width"), f.param("k"), self.kind.size
        flip = self._splat(f, "i32", f.op("trunc i64 %flip to i32"))
        vector = f"<{self.lanes} x {self.memory}>"
        whole = lanes & -self.lanes

        def group(g: Int, v: Int, count: Int | None, left: Int | None) -> None:
            values: list[str] = []
            for r in range(size):
                place = f.at("%of", (g * size + r) * step + v, self.memory)
                here = count if left is None else (left > r).choose(self.lanes if count is None else count, 0)
                if here is None:
                    values.append(f.op(f"load {vector}, ptr {place}, align {self.item}"))
                else:
                    values.append(f.op(f"call {vector} @first.{self.lanes}(ptr {place}, i64 {here})"))
            at = f.at("%to", g * width + v, "i32")
            self._keep(f, self._grouped(f, values, self.lanes), at, self.lanes, flip)

        full = k // size
        with f.loop(0, full) as g:
            with f.loop(0, whole, self.lanes) as v:
                group(g, v, None, None)
            with f.loop(whole, width, self.lanes) as v:
                group(g, v, lanes - v, None)
        with f.when(full * size < k), f.loop(0, width, self.lanes) as v:
            group(full, v, lanes - v, k - full * size)
        return f.end()

    def _pack_across(self) -> str:
        """Of neighbours in memory that are summed over: squares of groups are turned."""
        f = Function("internal void", "pack.across", self._PACK, "noinline")
        lane, lanes, width, k, n, size = *map(f.param, ("lane", "lanes", "width", "k")), self.lanes, self.kind.size
        flip = self._splat(f, "i32", f.op("trunc i64 %flip to i32"))
        count, vector = n * size, f"<{n * size} x {self.memory}>"
        groups = k.up(size)

        def turned(g: Int, v: Int, inside: bool) -> None:
            rows: list[str] = []
            for j in range(n):
                place = f.at("%of", (v + j) * lane + g * size, self.memory)
                if inside:
                    value = f.op(f"load {vector}, ptr {place}, align {self.item}")
                else:
                    here = (v + j < lanes).choose(k - g * size, 0)
                    value = f.op(f"call {vector} @first.{count}(ptr {place}, i64 {here})")
                wide = self._wide(f, value, n) if size == 1 else f.op(f"bitcast {vector} {value} to {self.groups}")
                rows.append(wide)
            for i, row in enumerate(self._transposed(f, rows)):
                at = f.at("%to", (g + i) * width + v, "i32")
                if inside:
                    self._keep(f, row, at, n, flip)
                else:
                    with f.when(g + i < groups):
                        self._keep(f, row, at, n, flip)

        with f.loop(0, width, n) as v:
            inside = (v + n <= lanes).choose(k // count * n, 0)
            with f.loop(0, inside, n) as g:
                turned(g, v, True)
            with f.loop(inside, groups, n) as g:
                turned(g, v, False)
        return f.end()

    def _pack_scattered(self) -> str:
        """Of numbers that lie anywhere."""
        f = Function("internal void", "pack.scattered", self._PACK, "noinline")
        lane, step, lanes, width, k = map(f.param, ("lane", "step", "lanes", "width", "k"))
        flip, size, value = f.op("trunc i64 %flip to i32"), self.kind.size, f.room(self.memory)
        zero = "0.0" if self.memory == "half" else "0"
        with f.loop(0, k.up(size)) as g, f.loop(0, width) as j:
            values: list[str] = []
            for r in range(size):
                f.line(f"store {self.memory} {zero}, ptr {value}")
                with f.when((j < lanes).both(g * size + r < k)):
                    place = f.at("%of", j * lane + (g * size + r) * step, self.memory)
                    f.line(f"store {self.memory} {f.op(f'load {self.memory}, ptr {place}')}, ptr {value}")
                values.append(f.op(f"load {self.memory}, ptr {value}"))
            self._keep(f, self._grouped(f, values, 1), f.at("%to", g * width + j, "i32"), 1, flip)
        return f.end()

    def _pack(self) -> str:
        f = Function("internal void", "pack", self._PACK, "noinline")
        beside = f.param("lane").equals(1)
        across = f.param("step").equals(1).both(beside.denied())
        given = ", ".join(f"{p.split()[0]} %{p.split()[1]}" for p in self._PACK)
        for how, here in (("beside", beside), ("across", across), ("scattered", beside.either(across).denied())):
            with f.when(here):
                f.line(f"call void @pack.{how}({given})")
        return f.end()

    def _row_sums(self) -> str:
        """128 times the sum of each row of the left operand: what the right one is higher."""
        if not self.shifted:
            return ""
        f = Function("internal void", "row.sums", ["ptr to", "ptr of", "i64 width", "i64 groups"], "noinline")
        total = f.room(self.sums)
        with f.loop(0, f.param("width"), self.lanes) as v:
            f.line(f"store {self.sums} zeroinitializer, ptr {total}")
            with f.loop(0, f.param("groups")) as g:
                at = f.at("%of", g * f.param("width") + v, "i32")
                b = f.op(f"load {self.groups}, ptr {at}, align 64")
                new = self._dot(f, f"splat (i32 {_HIGH})", b, f.op(f"load {self.sums}, ptr {total}"))
                f.line(f"store {self.sums} {new}, ptr {total}")
            f.line(f"store {self.sums} {f.op(f'load {self.sums}, ptr {total}')}, ptr {f.at('%to', v, 'i32')}, align 64")
        return f.end()

    # ---- results ---------------------------------------------------------------------------------------------------

    def _term(self) -> str:
        """A row of what is added, as it is computed with."""
        if self.kind.stored == "i8":
            return ""
        f = Function("internal void", "term", ["ptr to", "ptr of", "i64 step", "i64 count"], "noinline")
        step, count = f.param("step"), f.param("count")
        vector = f"<{self.lanes} x {self.memory}>"
        with f.when(step.equals(1)), f.loop(0, count, self.lanes) as i:
            place = f.at("%of", i, self.memory)
            value = f.op(f"call {vector} @first.{self.lanes}(ptr {place}, i64 {count - i})")
            f.line(f"store {self.groups} {self._wide(f, value, self.lanes)}, ptr {f.at('%to', i, 'i32')}, align 64")
        with f.when(step.equals(1).denied()), f.loop(0, count) as i:
            value = f.op(f"load {self.memory}, ptr {f.at('%of', i * step, self.memory)}")
            f.line(f"store i32 {self._wide(f, value, 1)}, ptr {f.at('%to', i, 'i32')}")
        return f.end()

    def _finish(self) -> str:
        """A block of sums to where results belong."""
        f = Function(
            "internal void", "finish",
            ["ptr c", "ptr sums", "ptr to", "ptr added", "ptr corrections", "i64 rows", "i64 columns"], "noinline",
        )  # fmt: skip
        c, rows, columns, result = Record(f, "%c", WORDS), f.param("rows"), f.param("columns"), self._result()
        floats = self.kind.total == "float"
        down, vector = c["c_row"], f"<{self.lanes} x {result}>"
        row_of_term = f.room(f"[{self.width} x i32]")
        alpha = beta = ""
        if floats:
            alpha, beta = (
                self._splat(f, "float", f.op(f"bitcast i32 {f.op(f'trunc i64 {c[name]} to i32')} to float"))
                for name in ("alpha", "beta")
            )
        added = f.is_null("%added").denied()
        term_row, term_column = c["term_row"], c["term_column"]
        value = f.room(self.sums)

        def place(r: Int, v: Int, count: Int | None) -> None:
            at = f.at("%sums", r * self.width + v, "i32")
            f.line(f"store {self.sums} {f.op(f'load {self.sums}, ptr {at}, align 64')}, ptr {value}")
            if floats:
                scaled = f.op(f"fmul {self.sums} {f.op(f'load {self.sums}, ptr {value}')}, {alpha}")
                f.line(f"store {self.sums} {scaled}, ptr {value}")
                with f.when(added):
                    term = f.op(f"load {self.sums}, ptr {f.at(row_of_term, v, 'i32')}, align 64")
                    total = f.op(f"fmul {self.sums} {term}, {beta}")
                    total = f.op(f"fadd {self.sums} {f.op(f'load {self.sums}, ptr {value}')}, {total}")
                    f.line(f"store {self.sums} {total}, ptr {value}")
            elif self.shifted:
                less = self._splat(f, "i32", f.op(f"load i32, ptr {f.at('%corrections', r, 'i32')}"))
                old = f.op(f"load {self.sums}, ptr {value}")
                f.line(f"store {self.sums} {f.op(f'sub {self.sums} {old}, {less}')}, ptr {value}")
            found = f.op(f"load {self.sums}, ptr {value}")
            if self.kind.stored == "half":
                found = f.op(f"fptrunc {self.sums} {found} to {vector}")
            elif self.kind.stored == "bfloat":
                found = f.op(f"call {vector} @rounded({self.sums} {found})")
            to = f.at("%to", r * down + v, result)
            align = 4 if result == "i32" else 2
            if count is None:
                f.line(f"store {vector} {found}, ptr {to}, align {align}")
            else:
                f.line(
                    f"call void @llvm.masked.store.v{self.lanes}{self._result_suffix()}.p0({vector} {found},"
                    f" ptr align {align} {to}, <{self.lanes} x i1> {self._below(f, count, self.lanes)})"
                )

        whole = columns & -self.lanes
        with f.loop(0, rows) as r:
            if floats:
                with f.when(added):
                    of = f.at("%added", r * term_row, self.memory)
                    f.line(f"call void @term(ptr {row_of_term}, ptr {of}, i64 {term_column}, i64 {columns})")
            with f.loop(0, whole, self.lanes) as v:
                place(r, v, None)
            with f.loop(whole, columns, self.lanes) as v:
                place(r, v, columns - v)
        return f.end()

    # ---- programs --------------------------------------------------------------------------------------------------

    def _task(self, name: str) -> tuple[Function, Record]:
        f = Function("internal void", name, ["ptr c", "i64 start", "i64 end", "i32 gx", "i32 gy", "i32 gz"])
        return f, Record(f, "%c", WORDS)

    def _matrix(self, f: Function, c: Record, which: str, batch: Int, kind: str) -> str:
        """The address of a matrix of a batch."""
        outer, inner = batch // c["inner"], batch % c["inner"]
        return f.at(c.pointer(which), outer * c[f"{which}_outer"] + inner * c[f"{which}_inner"], kind)

    def _flip(self) -> int:
        return _HIGH if self.shifted else 0

    def _prepare(self) -> str:
        """Pack blocks of the left operand, or panels of the right one."""
        f, c = self._task("prepare")
        m, k, n, groups, height = (c[name] for name in ("m", "k", "n", "groups", "height"))
        panels, row_blocks = c["panels"], c["row_blocks"]
        here = c["direct"].equals(1).choose(0, row_blocks)
        each = here + c["shared"] * panels
        with f.loop(f.param("start"), f.param("end")) as i:
            batch, part = i // each, i % each
            with f.when(part < here):
                row = part * height
                left = f.at(c.pointer("left"), (batch * row_blocks + part) * height * groups, "i32")
                of = f.at(self._matrix(f, c, "a", batch, self.memory), row * c["a_row"], self.memory)
                f.line(
                    f"call void @pack(ptr {left}, ptr {of}, i64 {c['a_row']}, i64 {c['a_column']},"
                    f" i64 {(m - row).least(height)}, i64 {height}, i64 {k}, i64 0)"
                )
                if self.shifted:
                    sums = f.at(c.pointer("sums"), (batch * row_blocks + part) * height, "i32")
                    f.line(f"call void @row.sums(ptr {sums}, ptr {left}, i64 {height}, i64 {groups})")
            with f.when(part >= here):
                column = (part - here) * self.width
                count = (n - column).least(self.width)
                right = f.at(c.pointer("right"), (batch * panels * self.width + column) * groups, "i32")
                of = f.at(self._matrix(f, c, "b", batch, self.memory), column * c["b_column"], self.memory)
                f.line(
                    f"call void @pack(ptr {right}, ptr {of}, i64 {c['b_column']}, i64 {c['b_row']}, i64 {count},"
                    f" i64 {count.up(self.lanes) * self.lanes}, i64 {k}, i64 {self._flip()})"
                )
        return f.end()

    def _multiply(self) -> str:
        """Make blocks of rows of panels."""
        f, c = self._task("multiply")
        m, k, n, groups, height = (c[name] for name in ("m", "k", "n", "groups", "height"))
        panels, row_blocks, direct, shared = (c[name] for name in ("panels", "row_blocks", "direct", "shared"))
        size = self.kind.size
        sums, scratch = f.room(f"[{_TALL * self.width} x i32]"), f.room(f"[{_DEPTH * self.width} x i32]")
        panel, added = f.room("ptr"), f.room("ptr")
        is_direct, is_shared = direct.equals(1), shared.equals(1)
        a_row = is_direct.choose(c["a_row"] * self.item, 4)
        a_step = is_direct.choose(4, height * 4)
        with f.loop(f.param("start"), f.param("end")) as i:
            batch, rest = i // (panels * row_blocks), i % (panels * row_blocks)
            block, column = rest // panels, rest % panels * self.width
            row = block * height
            rows, columns = (m - row).least(height), (n - column).least(self.width)
            vectors = columns.up(self.lanes)
            width = vectors * self.lanes
            in_place = f.at(self._matrix(f, c, "a", batch, self.memory), row * c["a_row"], self.memory)
            blocks = batch * row_blocks + block
            packed = f.at(c.pointer("left"), blocks * height * groups, "i32")
            a = f.op(f"select i1 {is_direct}, ptr {in_place}, ptr {packed}")
            b = f.at(self._matrix(f, c, "b", batch, self.memory), column * c["b_column"], self.memory)
            right = f.at(c.pointer("right"), (batch * panels * self.width + column) * groups, "i32")
            with f.when(groups.equals(0)), f.loop(0, rows * self.width, self.lanes) as j:
                f.line(f"store {self.groups} zeroinitializer, ptr {f.at(sums, j, 'i32')}, align 64")
            with f.loop(0, groups, _DEPTH) as g:
                count = (groups - g).least(_DEPTH)
                with f.when(is_shared):
                    f.line(f"store ptr {f.at(right, g * width, 'i32')}, ptr {panel}")
                with f.when(is_shared.denied()):
                    of = f.at(b, g * size * c["b_row"], self.memory)
                    f.line(
                        f"call void @pack(ptr {scratch}, ptr {of}, i64 {c['b_column']}, i64 {c['b_row']},"
                        f" i64 {columns}, i64 {width}, i64 {(k - g * size).least(_DEPTH * size)}, i64 {self._flip()})"
                    )
                    f.line(f"store ptr {scratch}, ptr {panel}")
                here, along = f.op(f"load ptr, ptr {panel}"), f.at(a, g * a_step, "i8")
                more = (g > 0).choose(1, 0)
                for v in self._vectors():
                    with f.when(vectors.equals(v)):
                        done = f.variable(0)
                        for high in self._high(v):
                            with f.loop(done.value, rows - (high - 1), high) as r:
                                f.line(
                                    f"call void @micro.{high}x{v}(i64 {count}, ptr {f.at(along, r * a_row, 'i8')},"
                                    f" i64 {a_row}, i64 {a_step}, ptr {here},"
                                    f" ptr {f.at(sums, r * self.width, 'i32')}, i64 {more})"
                                )
                                done.set(r + high)
            to = f.at(self._matrix(f, c, "c", batch, self._result()), row * c["c_row"] + column, self._result())
            f.line(f"store ptr null, ptr {added}")
            with f.when(f.is_null(c.pointer("term")).denied()):
                shift = row * c["term_row"] + column * c["term_column"]
                f.line(f"store ptr {f.at(self._matrix(f, c, 'term', batch, self.memory), shift, self.memory)}, ptr {added}")
            corrections = f.at(c.pointer("sums"), blocks * height, "i32")
            f.line(
                f"call void @finish(ptr %c, ptr {sums}, ptr {to}, ptr {f.op(f'load ptr, ptr {added}')},"
                f" ptr {corrections}, i64 {rows}, i64 {columns})"
            )
        return f.end()

    def _entry(self) -> str:
        f = Function("i32", self.name, ["ptr words"])
        context = f.room(f"[{len(WORDS)} x i64]")
        f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {context}, ptr %words, i64 {8 * len(FIELDS)}, i1 false)")
        c, size = Record(f, context, WORDS), self.kind.size
        m, k, n = (c[name] for name in "mkn")
        batches = c["outer"] * c["inner"]
        f.leave((batches * m * n).equals(0), "i32 0")
        groups, panels = k.up(size), n.up(self.width)
        height = m.up(m.up(_TALL) * self.lanes) * self.lanes
        # A row of programs more is better than a core without any.
        for _ in range(2):
            few = (batches * panels * m.up(height) < _ENOUGH).both(height > _LOW)
            half = height.up(2 * self.lanes) * self.lanes
            height = few.choose(half, height)
        row_blocks = m.up(height)
        direct = c["a_column"].equals(1).both((k % size).equals(0)) if size == 2 else f.const(0).equals(1)
        shared = row_blocks > 1
        for name, value in {
            "groups": groups, "panels": panels, "height": height, "row_blocks": row_blocks,
            "direct": direct.choose(1, 0), "shared": shared.choose(1, 0), "left": 0, "right": 0, "sums": 0,
            "prepared": 0, "failed": 0,
        }.items():  # fmt: skip
            c[name] = value
        left = direct.choose(0, batches * row_blocks * height * groups)
        right = shared.choose(batches * panels * self.width * groups, 0)
        sums = batches * row_blocks * height if self.shifted else f.const(0)
        memory, cost, result = f.room("ptr"), f.room("double"), f.room("i32")
        f.line(f"store ptr null, ptr {memory}")
        f.line(f"store i32 0, ptr {result}")
        apart = left + right + sums
        with f.when(apart > 0):
            raw = f.op(f"call ptr @malloc(i64 {apart * 4 + 256})")
            f.leave(f.is_null(raw), "i32 3")
            f.line(f"store ptr {raw}, ptr {memory}")
            start = Int(f, f.op(f"ptrtoint ptr {raw} to i64"))
            start = (start + 63) & -64
            c["left"] = start
            # Each begins at a line of the cache.
            c["right"] = start + ((left * 4 + 63) & -64)
            c["sums"] = start + ((left * 4 + 63) & -64) + ((right * 4 + 63) & -64)

        def go(function: str, programs: Int, each: Int) -> None:
            """Run programs, unless the handler of a signal has raised while others ran."""
            with f.when(Int(f, f.op(f"icmp eq i32 {f.op(f'load i32, ptr {result}')}, 0"))):
                work = f.op(f"sitofp i64 {each} to double")
                f.line(f"store double {f.op(f'fdiv double {work}, {_RATE[size]:e}')}, ptr {cost}")
                found = f.op(
                    f"call i32 @opweave_run(ptr @{function}, ptr {context}, i64 {programs}, i32 1, i32 1, i32 1,"
                    f" ptr {cost})"
                )
                f.line(f"store i32 {found}, ptr {result}")

        parts = direct.choose(0, row_blocks) + shared.choose(panels, 0)
        with f.when(parts > 0):
            go("prepare", batches * parts, groups * self.width * 16)
        go("multiply", batches * row_blocks * panels, (m.least(height) + 16) * n.least(self.width) * k + 1000)
        f.line(f"call void @free(ptr {f.op(f'load ptr, ptr {memory}')})")
        text = f.end(f"i32 {f.op(f'load i32, ptr {result}')}")
        # As a launch from Python runs it.
        f = Function("i32", f"{self.name}_run", _RUN)
        found = f.op(f"call i32 @{self.name}(ptr %packed)")
        return f"{text}\n\n{f.end(f'i32 {found}')}"


_RUN = ("ptr code", "ptr packed", "i64 n", "i32 gx", "i32 gy", "i32 gz", "ptr cost")
_HEAD = """\
declare ptr @malloc(i64)
declare void @free(ptr)
declare i64 @llvm.smin.i64(i64, i64)
declare i64 @llvm.smax.i64(i64, i64)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare i32 @opweave_run(ptr, ptr, i64, i32, i32, i32, ptr)"""

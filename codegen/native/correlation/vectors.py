"""Loads, stores and arithmetic of registers, and the kernel that multiplies in them."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.native import amx, bfloat
from opweave.codegen.native.correlation.words import BLOCK, PITCH, WORDS, Kind, Record
from opweave.codegen.native.emitting import Function, Int, Number

#: LLVM's name of what multiplies pairs.
_PAIRS = "llvm.x86.avx512bf16.dpbf16ps.512"
PAIRED = f"declare <16 x float> @{_PAIRS}(<16 x float>, <32 x bfloat>, <32 x bfloat>)"

#: Rows of a block that has more columns, at most.
_FEW_ROWS = 64
TILED = amx.DECLARATIONS


class Vectors:
    """Numbers in registers and in memory.

    Parameters
    ----------
    kind : Kind
        How they are kept and computed.
    """

    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.real, self.lanes, self.high, self.heights = kind.real, kind.lanes, kind.height, kind.heights
        #: Filters that a program looks at, and puts in order: what lies together is enough to be read fast.
        self.looked = 4 * self.high
        #: Whether pairs are of the same tap of two channels, where nothing is parted by tiles.
        self.by_channels = kind.paired and not kind.tiles
        self.item = 8 if kind.real == "double" else 4
        self.stored = {"bfloat": "i16"}.get(kind.stored, kind.stored)
        self.vector = f"<{self.lanes} x {self.real}>"
        self.wide = 3 * self.lanes
        self.suffix = f"v{self.lanes}{'f64' if self.real == 'double' else 'f32'}"
        self.name = f"opweave_convolve_{kind.stored}"

    def _widest(self, f: Function, high: Int) -> Int:
        """Columns of a block of so many rows, at most: more of them where registers are few, and rows are, too.

        What a block multiplies and its sums are to stay in the cache of the second level, of half a megabyte.
        """
        most = f.const(4 * self.wide)
        return most if self.kind.registers >= 32 else (high <= _FEW_ROWS).choose(most * 2, most)

    def _at(self, f: Function, base: str, index: Number) -> str:
        return f.at(base, index, self.real)

    def _stored_at(self, f: Function, base: str, index: Number) -> str:
        return f.at(base, index, self.stored)

    def _vload(self, f: Function, place: str) -> str:
        return f.op(f"load {self.vector}, ptr {place}, align {self.item}")

    def _vstore(self, f: Function, value: str, place: str) -> None:
        f.line(f"store {self.vector} {value}, ptr {place}, align {self.item}")

    def _splat(self, f: Function, value: str) -> str:
        return self._spread(f, f.op(f"insertelement {self.vector} poison, {self.real} {value}, i64 0"), self.real)

    def _spread(self, f: Function, one: str, kind: str) -> str:
        """The first number of a register everywhere."""
        n = self.lanes
        return f.op(f"shufflevector <{n} x {kind}> {one}, <{n} x {kind}> poison, <{n} x i32> zeroinitializer")

    def _fma(self, f: Function, a: str, b: str, c: str) -> str:
        product = f.op(f"fmul contract {self.vector} {a}, {b}")
        return f.op(f"fadd contract {self.vector} {product}, {c}")

    def _get(self, f: Function, place: str) -> str:
        """A number in memory as it is computed with."""
        value = f.op(f"load {self.stored}, ptr {place}")
        return self._widened(f, value)

    def _widened(self, f: Function, value: str, lanes: int = 1) -> str:
        def of(kind: str) -> str:
            return kind if lanes == 1 else f"<{lanes} x {kind}>"

        if self.kind.stored == "half":
            return f.op(f"fpext {of('half')} {value} to {of('float')}")
        if self.kind.stored == "bfloat":
            whole = f.op(f"zext {of('i16')} {value} to {of('i32')}")
            by = "16" if lanes == 1 else "splat (i32 16)"
            high = f.op(f"shl {of('i32')} {whole}, {by}")
            return f.op(f"bitcast {of('i32')} {high} to {of('float')}")
        return value

    def _put(self, f: Function, value: str, place: str) -> None:
        """A number to memory, rounded once."""
        if self.kind.stored == "half":
            value = f.op(f"fptrunc float {value} to half")
        elif self.kind.stored == "bfloat":
            value = f.op(f"call i16 @rounded(float {value})")
        f.line(f"store {self.stored} {value}, ptr {place}")

    def _put_several(self, f: Function, value: str, place: str, count: Int) -> None:
        """The first numbers of a register to memory, rounded once."""
        n, kind = self.lanes, f"<{self.lanes} x {self.stored}>"
        value = self._narrowed(f, value)
        align = self._item_stored()
        with f.when(count >= n):
            f.line(f"store {kind} {value}, ptr {place}, align {align}")
        with f.when(count < n):
            f.line(
                f"call void @llvm.masked.store.v{n}{self._suffix()}.p0({kind} {value}, ptr align {align} {place},"
                f" <{n} x i1> {self._below(f, count)})"
            )

    def _narrowed(self, f: Function, value: str) -> str:
        """A register's numbers as they are kept."""
        kind = f"<{self.lanes} x {self.stored}>"
        if self.kind.stored == "half":
            return f.op(f"fptrunc {self.vector} {value} to {kind}")
        if self.kind.stored == "bfloat":
            return f.op(f"call {kind} @rounded.several({self.vector} {value})")
        return value

    def _put_every_other(self, f: Function, value: str, place: str, count: Int) -> None:
        """The first of some numbers, as they are kept, to every other place in memory."""
        n, kind = self.lanes, f"<{self.lanes} x {self.stored}>"
        even = ", ".join(f"i1 {str(i % 2 == 0).lower()}" for i in range(n))
        for half in (0, n // 2):
            order = ", ".join(f"i32 {half + i // 2}" if i % 2 == 0 else "i32 poison" for i in range(n))
            spread = f.op(f"shufflevector {kind} {value}, {kind} poison, <{n} x i32> <{order}>")
            mask = f.op(f"and <{n} x i1> {self._below(f, (count - half) * 2)}, <{even}>")
            f.line(
                f"call void @llvm.masked.store.v{n}{self._suffix()}.p0({kind} {spread},"
                f" ptr align {self._item_stored()} {self._stored_at(f, place, half * 2)}, <{n} x i1> {mask})"
            )

    def _load_several(self, f: Function, place: str) -> str:
        """A register full of numbers in a row as they are computed with."""
        value = f.op(f"load <{self.lanes} x {self.stored}>, ptr {place}, align {self._item_stored()}")
        return self._widened(f, value, self.lanes)

    def _suffix(self, stored: str = "") -> str:
        """Of the stored type, or another, in LLVM's names of functions."""
        return {"float": "f32", "double": "f64", "half": "f16", "i16": "i16"}[stored or self.stored]

    def _several(self) -> str:
        """What `_put_several` calls."""
        n = self.lanes
        declared = ""
        if self.stored != self.real:
            kind = f"<{n} x {self.stored}>"
            declared = f"declare void @llvm.masked.store.v{n}{self._suffix()}.p0({kind}, ptr, <{n} x i1>)"
        if self.kind.stored == "bfloat":
            declared = f"{declared}\n{bfloat.function('rounded.several', n, self.kind.paired)}"
        return declared

    def _narrow(self) -> str:
        """float32 to bfloat16, to the nearest, ties to even."""
        f = Function("internal i16", "rounded", ["float x"], "alwaysinline")
        bits = f.op("bitcast float %x to i32")
        low = f.op(f"lshr i32 {bits}, 16")
        odd = f.op(f"and i32 {low}, 1")
        more = f.op(f"add i32 {odd}, 32767")
        sums = f.op(f"add i32 {bits}, {more}")
        high = f.op(f"lshr i32 {sums}, 16")
        nan = f.op("fcmp uno float %x, %x")
        quiet = f.op(f"or i32 {low}, 64")
        found = f.op(f"select i1 {nan}, i32 {quiet}, i32 {high}")
        return f.end(f"i16 {f.op(f'trunc i32 {found} to i16')}")

    def _numbers(self, f: Function, value: Int, n: int) -> str:
        """A register full of a number, and the numbers of its places before it, to be compared."""
        short = f.op(f"trunc i64 {value.least(1 << 20).most(-(1 << 20))} to i32")
        one = f.op(f"insertelement <{n} x i32> poison, i32 {short}, i64 0")
        return f.op(f"shufflevector <{n} x i32> {one}, <{n} x i32> poison, <{n} x i32> zeroinitializer")

    def _below(self, f: Function, count: Int, lanes: int | None = None) -> str:
        """Which places are before one, of a register's or of so many."""
        n = lanes or self.lanes
        places = ", ".join(f"i32 {i}" for i in range(n))
        return f.op(f"icmp slt <{n} x i32> <{places}>, {self._numbers(f, count, n)}")

    def _loaded(self, f: Function, place: str, mask: str) -> str:
        """Some of the numbers in a row as they are computed with, zeros for the others."""
        n = self.lanes
        return self._widened(f, self._masked_bits(f, place, mask), n)

    def _masked_bits(self, f: Function, place: str, mask: str) -> str:
        n, stored = self.lanes, self.stored
        return f.op(
            f"call <{n} x {stored}> @llvm.masked.load.v{n}{self._suffix()}.p0(ptr align {self._item_stored()} {place},"
            f" <{n} x i1> {mask}, <{n} x {stored}> zeroinitializer)"
        )

    def _raw(self, f: Function, place: str, mask: str) -> str:
        """Some of the numbers in a row as they are kept, each as long as one that is computed with: to be moved."""
        bits = self._masked_bits(f, place, mask)
        if self.stored == self.real:
            return bits
        n = self.lanes
        whole = f.op(f"bitcast <{n} x {self.stored}> {bits} to <{n} x i16>")
        return f.op(f"bitcast <{n} x i32> {f.op(f'zext <{n} x i16> {whole} to <{n} x i32>')} to {self.vector}")

    def _put_raw(self, f: Function, value: str, place: str, mask: str) -> None:
        """Some numbers of `_raw` to memory."""
        n, kind = self.lanes, f"<{self.lanes} x {self.stored}>"
        if self.stored != self.real:
            whole = f.op(f"bitcast {self.vector} {value} to <{n} x i32>")
            value = f.op(f"bitcast <{n} x i16> {f.op(f'trunc <{n} x i32> {whole} to <{n} x i16>')} to {kind}")
        self._put_kept(f, value, place, mask)

    def _put_some(self, f: Function, value: str, place: str, mask: str) -> None:
        """Some numbers of a register to memory, rounded once."""
        self._put_kept(f, self._narrowed(f, value), place, mask)

    def _put_kept(self, f: Function, value: str, place: str, mask: str) -> None:
        self._put_masked(f, value, self.stored, place, mask)

    def _put_masked(self, f: Function, value: str, kind: str, place: str, mask: str) -> None:
        """Some numbers of a register to memory, computed with or as they are kept (`kind`)."""
        n, align = self.lanes, self._item_stored() if kind == self.stored else self.item
        whole, masks = f"<{n} x {kind}>", f"<{n} x i1>"

        def put() -> None:
            f.line(
                f"call void @llvm.masked.store.v{n}{self._suffix(kind)}.p0({whole} {value}, ptr align {align} {place},"
                f" {masks} {mask})"
            )

        if self.kind.bits == 512:
            put()
            return
        # Without registers for masks, stores by them take many times as long as others, most of all AMD's.
        full = Int(f, f.op(f"call i1 @llvm.vector.reduce.and.v{n}i1({masks} {mask})"))
        with f.when(full):
            f.line(f"store {whole} {value}, ptr {place}, align {align}")
        with f.when(full.denied()):
            put()

    def _item_stored(self) -> int:
        return 2 if self.stored in ("half", "i16") else self.item

    def _masked_load(self) -> str:
        """Functions: the first numbers of a row, or those between two places, zeros around them."""
        n, stored, vector = self.lanes, self.stored, self.vector
        suffix = self._suffix()
        declared = f"declare <{n} x {stored}> @llvm.masked.load.v{n}{suffix}.p0(ptr, <{n} x i1>, <{n} x {stored}>)"
        f = Function(f"internal {vector}", "first", ["ptr p", "i64 count"], "alwaysinline")
        first = f.end(f"{vector} {self._loaded(f, '%p', self._below(f, f.param('count')))}")
        f = Function(f"internal {vector}", "between", ["ptr p", "i64 begin", "i64 end"], "alwaysinline")
        outside = self._below(f, f.param("begin"))
        mask = f.op(
            f"select <{n} x i1> {outside}, <{n} x i1> zeroinitializer, <{n} x i1> {self._below(f, f.param('end'))}"
        )
        between = f.end(f"{vector} {self._loaded(f, '%p', mask)}")
        real = "f64" if self.real == "double" else "f32"
        stores = f"declare void @llvm.masked.store.v{n}{real}.p0({vector}, ptr, <{n} x i1>)"
        return "\n\n".join((declared, stores, first, between))

    def _dot(self, f: Function, a: str, b: str, total: str) -> str:
        """`total` and products: of numbers, or of pairs of narrow ones."""
        if not self.kind.paired:
            return self._fma(f, a, b, total)
        pairs = f"<{2 * self.lanes} x bfloat>"
        a, b = (f.op(f"bitcast {self.vector} {x} to {pairs}") for x in (a, b))
        return f.op(f"call {self.vector} @{_PAIRS}({self.vector} {total}, {pairs} {a}, {pairs} {b})")

    def _micro(self, vectors: int, high: int, *, planes: bool = False) -> str:
        """`high` rows by `vectors` registers of columns, over `k` numbers or pairs; `more`: add to what is there.

        `planes`: columns, and the terms of the rows, lie where a table says.
        """
        if self.kind.tiles:
            return self._tile_micro(vectors)
        rows, kind = range(high), self.vector
        f = Function(
            "internal void", f"{'planes' if planes else 'micro'}.{high}.{vectors}",
            ["i64 k", "ptr a", "ptr b", "ptr c", "i64 ldc", "ptr bias", "i64 more", *(["ptr table"] if planes else [])],
            "noinline",
        )  # fmt: skip
        ldc, more = f.param("ldc"), f.param("more")
        starts = [self._at(f, "%c", ldc * m) for m in rows]
        places = [[self._at(f, start, v * self.lanes) for v in range(vectors)] for start in starts]
        sums = [[f.room(kind) for _ in range(vectors)] for _ in rows]
        for m in rows:
            one = self._splat(f, f.op(f"load {self.real}, ptr {self._at(f, '%bias', m)}"))
            for v in range(vectors):
                f.line(f"store {kind} {one}, ptr {sums[m][v]}")
        with f.when(more.equals(1)):
            for m in rows:
                for v in range(vectors):
                    f.line(f"store {kind} {self._vload(f, places[m][v])}, ptr {sums[m][v]}")

        def step(k: Int) -> None:
            base = self._at(f, "%b", f.load("%table", k * 2) if planes else k * self.wide)
            columns = [self._vload(f, self._at(f, base, v * self.lanes)) for v in range(vectors)]
            along = self._at(f, "%a", f.load("%table", k * 2 + 1) if planes else k)
            for m in rows:
                one = self._splat(f, f.op(f"load {self.real}, ptr {self._at(f, along, m * PITCH)}"))
                for v in range(vectors):
                    old = f.op(f"load {kind}, ptr {sums[m][v]}")
                    f.line(f"store {kind} {self._dot(f, columns[v], one, old)}, ptr {sums[m][v]}")

        k = f.param("k")
        even = k & -2
        with f.loop(0, even, 2) as i:
            step(i)
            step(i + 1)
        with f.loop(even, k) as i:
            step(i)
        for m in rows:
            for v in range(vectors):
                self._vstore(f, f.op(f"load {kind}, ptr {sums[m][v]}"), places[m][v])
        return f.end()

    def _tile_micro(self, vectors: int) -> str:
        """The same of tiles: 16 rows of pairs by `vectors` tiles of columns."""
        f = Function(
            "internal void", f"micro.{self.high}.{vectors}",
            ["i64 k", "ptr a", "ptr b", "ptr c", "i64 ldc", "ptr bias", "i64 more"], "noinline",
        )  # fmt: skip
        ldc, pitch, wide = f.param("ldc"), PITCH * self.item, self.wide * self.item
        with f.when(f.param("more").equals(0)):
            for m in range(self.high):
                one = self._splat(f, f.op(f"load {self.real}, ptr {self._at(f, '%bias', m)}"))
                for v in range(vectors):
                    self._vstore(f, one, self._at(f, "%c", ldc * m + v * self.lanes))
        places = [self._at(f, "%c", v * self.lanes) for v in range(vectors)]
        for v, place in enumerate(places):
            f.line(amx.load(v, place, ldc * self.item))
        rows, columns = 3, 4
        with f.loop(0, f.param("k").up(amx.ROWS)) as i:
            f.line(amx.load(rows, self._at(f, "%a", i * amx.ROWS), pitch))
            for v in range(vectors):
                at = self._at(f, "%b", i * (amx.ROWS * self.wide) + v * self.lanes)
                f.line(amx.load(columns + v, at, wide))
                f.line(amx.dot(self.kind.stored, v, rows, columns + v))
        for v, place in enumerate(places):
            f.line(amx.store(v, place, ldc * self.item))
        return f.end()

    def _tiled(self, f: Function, instruction: str) -> None:
        """An instruction, where tiles are multiplied."""
        if self.kind.tiles:
            f.line(instruction)

    def _micros(self) -> list[str]:
        """The kernels in registers, of all heights and widths."""
        kinds = (False,) if self.kind.tiles else (False, True)
        return [self._micro(v, high, planes=planes) for planes in kinds for high in self.heights for v in (1, 2, 3)]

    def _multiply(
        self, f: Function, rows: Int, vectors: Int, k: Number, a: str, b: str, c: str, ldc: Number, bias: str,
        more: Number, table: str = "",
    ) -> None:  # fmt: skip
        """Multiply some rows, as many as a kernel has at most, by the lowest kernel that has them."""
        name, last = ("planes", f", ptr {table}") if table else ("micro", "")
        lowest: Number = 0
        for high in self.heights:
            fits = (rows > lowest).both(rows <= high) if high < self.high else rows > lowest
            lowest = high
            for v in (1, 2, 3):
                with f.when(fits.both(vectors.equals(v))):
                    f.line(
                        f"call void @{name}.{high}.{v}(i64 {k}, ptr {a}, ptr {b}, ptr {c}, i64 {ldc}, ptr {bias},"
                        f" i64 {more}{last})"
                    )

    def _put_first(self, f: Function, value: str, place: str, count: Int) -> None:
        """Store the first numbers of a register."""
        self._put_masked(f, value, self.real, place, self._below(f, count))

    def _some(self, f: Function, value: str, count: Int) -> str:
        """The first numbers of a register, zeros behind."""
        mask = self._below(f, count)
        return f.op(f"select <{self.lanes} x i1> {mask}, {self.vector} {value}, {self.vector} zeroinitializer")

    def _transposed(self, f: Function, rows: list[str]) -> list[str]:
        """As many registers as they have lanes, rows for columns."""
        n, half = len(rows), 1
        while half < n:
            new = list(rows)
            for i in range(n):
                if i & half:
                    continue
                low = [(j & ~half) + (n if j & half else 0) for j in range(n)]
                high = [x + half for x in low]
                for to, order in ((i, low), (i + half, high)):
                    mask = ", ".join(f"i32 {x}" for x in order)
                    new[to] = f.op(
                        f"shufflevector {self.vector} {rows[i]}, {self.vector} {rows[i + half]}, <{n} x i32> <{mask}>"
                    )
            rows, half = new, half * 2
        return rows

    def _halved(self, f: Function, parts: list[str], first: int) -> str:
        """Every other number of two registers, from the first or the second."""
        order = ", ".join(f"i32 {2 * k + first}" for k in range(self.lanes))
        return f.op(f"shufflevector {self.vector} {parts[0]}, {self.vector} {parts[1]}, <{self.lanes} x i32> <{order}>")

    def _join(self, f: Function, halves: Sequence[str], place: str, upper: str = "splat (i32 -65536)") -> None:
        """Store pairs of bfloat16: each is what a number of both registers begins with."""
        bits, (low, high) = f"<{self.lanes} x i32>", halves
        first = f.op(f"lshr {bits} {f.op(f'bitcast {self.vector} {low} to {bits}')}, splat (i32 16)")
        last = f.op(f"and {bits} {f.op(f'bitcast {self.vector} {high} to {bits}')}, {upper}")
        f.line(f"store {bits} {f.op(f'or {bits} {first}, {last}')}, ptr {place}, align 4")

    def _two(self, f: Function, of: str, other: str) -> tuple[list[str], str]:
        """Where two channels lie, and what of the second counts; where there is none, the first is read again."""
        alone = f.is_null(other)
        mask = f.op(f"select i1 {alone}, i32 0, i32 -65536")
        one = f.op(f"insertelement <{self.lanes} x i32> poison, i32 {mask}, i64 0")
        return [of, f.op(f"select i1 {alone}, ptr {of}, ptr {other}")], self._spread(f, one, "i32")

    def _square(self) -> str:
        """Function: a square of numbers, of so many rows and columns, to memory: columns side by side, `step` apart."""
        n = self.lanes
        names = ("pitch", "rows", "wide", "step")
        f = Function(
            "internal void", "turned.out", ["ptr of", "ptr to", *(f"i64 {name}" for name in names)], "noinline"
        )
        pitch, rows, wide, step = (f.param(name) for name in names)
        found = [self._vload(f, self._at(f, "%of", (rows - 1).least(r) * pitch)) for r in range(n)]
        mask = self._below(f, rows)
        for r, value in enumerate(self._transposed(f, found)):
            with f.when(wide > r):
                self._put_some(f, value, self._stored_at(f, "%to", step * r), mask)
        return f.end()

    def _put_square(self, f: Function, of: str, pitch: Number, rows: Int, wide: Int, to: str, step: Number) -> None:
        """Call `turned.out`."""
        f.line(f"call void @turned.out(ptr {of}, ptr {to}, i64 {pitch}, i64 {rows}, i64 {wide}, i64 {step})")

    def _total(self, f: Function, value: str) -> str:
        """The sum of a register's numbers."""
        return f.op(
            f"call reassoc {self.real} @llvm.vector.reduce.fadd.{self.suffix}({self.real} -0.0, {self.vector} {value})"
        )

    def _task(self, name: str, attributes: str = "") -> tuple[Function, Record]:
        parameters = ["ptr c", "i64 start", "i64 end", "i32 gx", "i32 gy", "i32 gz"]
        f = Function("internal void", name, parameters, attributes)
        return f, Record(f, "%c", WORDS)

    def _room(self, f: Function, elements: Number) -> str:
        # Registers are as wide as lines of the cache: one that lies in two of them takes twice as long to load.
        size = (elements * self.item + 64 * 4 + 63) & -64
        return f.op(f"call ptr @aligned_alloc(i64 64, i64 {size})")

    def _is_odd(self, f: Function, value: str, kind: str, found: str, bits: str) -> None:
        """Note numbers that are not finite."""
        zero = f.op(f"fsub {kind} {value}, {value}")
        odd = f.op(f"fcmp uno {kind} {zero}, zeroinitializer")
        old = f.op(f"load {bits}, ptr {found}")
        f.line(f"store {bits} {f.op(f'or {bits} {old}, {odd}')}, ptr {found}")

    def _open(self, name: str, *parameters: str) -> tuple[Function, Record, Record]:
        f = Function("internal void", name, ["ptr c", "ptr t", *parameters], "noinline")
        return f, Record(f, "%c", WORDS), Record(f, "%t", BLOCK)

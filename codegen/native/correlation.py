"""The native code of convolutions: implicit products of matrices, whose columns are packed a cache full at a time.

A *correlation* is `out[n, g, m, p] = bias[g, m] + sum over c and t of weight[g, m, c, t] * in[n, g, c, p * step + t *
dstep]`, in up to three dimensions of places p and taps t; what lies outside of [lo, hi) is zero. A convolution is one,
its gradient by the input is one for each phase of the stride, and its gradient by the weight is the product of the same
columns with the gradients of the result. `codegen/convolution.py` says what of what.

A program has a block of places of all images, in a row, and some filters. For some channels at a time it puts the rows
of the input that the block sees into memory of its own, with the zeros around and places of one phase side by side;
from there each tap's columns are copied in stretches, and the kernel in registers multiplies them with the filters.
Sums are formed in an order that follows from the sizes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from opweave.codegen.native import llvm
from opweave.codegen.native.emitting import Function, Int, Number
from opweave.codegen.native.llvm import Host

#: What describes a correlation, in words. Steps count elements; `input`, `weight` and `output` are addresses of what
#: the first place, tap and channel see: of places before `lo` there may be nothing.
FIELDS = (
    "kind", "input", "weight", "output", "bias", "bias_by", "relu", "n", "groups", "rows", "channels", "in_n", "in_g", "in_c",
    "w_g", "w_m", "w_c", "out_n", "out_g", "out_m",
    *(f"{name}{d}" for d in range(3) for name in ("count", "step", "taps", "dstep", "lo", "hi", "in", "out", "w")),
)  # fmt: skip
#: What follows from them.
_DERIVED = (
    "window", "image", "places", "terms", "depth", "width", "blocks", "height", "row_blocks", "splits", "stretch",
    "phase", "pitch", "direct", "plain", "partial", "packed", "odd", "padded", "deep",
)  # fmt: skip
#: What a program keeps of its block.
_BLOCK = (
    "pieces", "taps", "weights", "edges", "counts", "ins", "outs", "scratch", "found", "panels", "panel", "memory",
)  # fmt: skip
CORRELATE, WEIGHT, DEPTHWISE, DEPTHWISE_WEIGHT = range(4)
#: Terms that are summed in registers, and the distance of rows of the left operand: not a power of two, or rows would
#: lie in the same lines of the cache.
_DEPTH, _GAP = 256, 16
_PITCH = _DEPTH + _GAP
_PIECE = 6
#: The most filters of a program, and programs that are enough.
_TALL, _ENOUGH = 256, 8
#: Multiplications a nanosecond, about.
_RATE = 30


@dataclass(frozen=True)
class Kind:
    """How numbers are kept and computed.

    Attributes
    ----------
    stored : {"float", "double", "half", "bfloat"}
        Their type in memory.
    bits : int
        Of a vector register.
    registers : int
        How many there are.
    """

    stored: str
    bits: int
    registers: int

    @classmethod
    def of(cls, stored: str, machine: Host) -> Kind:
        """For a machine."""
        many = machine.vector_bits == 512 or machine.triple.startswith(("aarch64", "arm64"))
        return cls(stored, machine.vector_bits, 32 if many else 16)

    @property
    def real(self) -> str:
        """The type that is computed in."""
        return "double" if self.stored == "double" else "float"

    @property
    def lanes(self) -> int:
        """Numbers of a register."""
        return self.bits // (64 if self.real == "double" else 32)

    @property
    def height(self) -> int:
        """Rows of the kernel in registers."""
        return 8 if self.registers >= 32 else 4


def source_for_host(stored: str) -> str:
    """`source` for this machine."""
    return source(Kind.of(stored, llvm.host()))


def source(kind: Kind) -> str:
    """The LLVM IR of `i32 opweave_convolve(ptr words)`: 0 done, 1 the handler of a signal raised, 3 no memory."""
    return _Module(kind).text()


class _Record:
    """Words by their names."""

    def __init__(self, f: Function, base: str, names: tuple[str, ...]) -> None:
        self.f, self.base, self.names = f, base, names

    def __getitem__(self, name: str) -> Int:
        return self.f.load(self.base, self.names.index(name))

    def __setitem__(self, name: str, value: Number) -> None:
        self.f.store(value, self.base, self.names.index(name))

    def pointer(self, name: str) -> str:
        """A word that is an address."""
        return self.f.op(f"load ptr, ptr {self.f.at(self.base, self.names.index(name))}")

    def keep(self, name: str, pointer: str) -> None:
        """Keep an address."""
        self.f.line(f"store ptr {pointer}, ptr {self.f.at(self.base, self.names.index(name))}")


_WORDS = FIELDS + _DERIVED


class _Module:
    def __init__(self, kind: Kind) -> None:
        self.kind = kind
        self.real, self.lanes, self.high = kind.real, kind.lanes, kind.height
        self.item = 8 if kind.real == "double" else 4
        self.stored = {"bfloat": "i16"}.get(kind.stored, kind.stored)
        self.vector = f"<{self.lanes} x {self.real}>"
        self.wide = 3 * self.lanes
        self.suffix = f"v{self.lanes}{'f64' if self.real == 'double' else 'f32'}"
        self.name = f"opweave_convolve_{kind.stored}"

    def text(self) -> str:
        """All functions."""
        parts = [
            _HEAD, self._masked_load(), self._narrow(), *(self._micro(v) for v in (1, 2, 3)), self._copy(),
            self._zero(), self._fill(), self._plan(), self._columns(), self._filters(), self._turned(),
            self._scatter(), self._survey(), self._careful(), self._correlate(), self._weight(), self._gather(), self._depthwise(),
            self._depthwise_weight(), self._entry(),
            '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}',
        ]  # fmt: skip
        return "\n\n".join(parts)

    # ---- vectors ---------------------------------------------------------------------------------------------------

    def _at(self, f: Function, base: str, index: Number) -> str:
        return f.at(base, index, self.real)

    def _stored_at(self, f: Function, base: str, index: Number) -> str:
        return f.at(base, index, self.stored)

    def _vload(self, f: Function, place: str) -> str:
        return f.op(f"load {self.vector}, ptr {place}, align {self.item}")

    def _vstore(self, f: Function, value: str, place: str) -> None:
        f.line(f"store {self.vector} {value}, ptr {place}, align {self.item}")

    def _splat(self, f: Function, value: str) -> str:
        one = f.op(f"insertelement {self.vector} poison, {self.real} {value}, i64 0")
        return f.op(f"shufflevector {self.vector} {one}, {self.vector} poison, <{self.lanes} x i32> zeroinitializer")

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
            by = "16" if lanes == 1 else f"splat (i32 16)"
            high = f.op(f"shl {of('i32')} {whole}, {by}")
            return f.op(f"bitcast {of('i32')} {high} to {of('float')}")
        return value

    def _put(self, f: Function, value: str, place: str) -> None:
        """A number to memory, rounded once."""
        if self.kind.stored == "half":
            value = f.op(f"fptrunc float {value} to half")
        elif self.kind.stored == "bfloat":
            value = f.op(f"call i16 @narrow(float {value})")
        f.line(f"store {self.stored} {value}, ptr {place}")

    def _narrow(self) -> str:
        """float32 to bfloat16, to the nearest, ties to even."""
        f = Function("internal i16", "narrow", ["float x"], "alwaysinline")
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

    def _numbers(self, f: Function, value: Int) -> str:
        """A register full of a number, and the numbers of its places before it, to be compared."""
        n = self.lanes
        short = f.op(f"trunc i64 {value.least(1 << 20).most(-(1 << 20))} to i32")
        one = f.op(f"insertelement <{n} x i32> poison, i32 {short}, i64 0")
        return f.op(f"shufflevector <{n} x i32> {one}, <{n} x i32> poison, <{n} x i32> zeroinitializer")

    def _below(self, f: Function, count: Int) -> str:
        """Which places are before one."""
        n = self.lanes
        places = ", ".join(f"i32 {i}" for i in range(n))
        return f.op(f"icmp slt <{n} x i32> <{places}>, {self._numbers(f, count)}")

    def _loaded(self, f: Function, place: str, mask: str) -> str:
        """Some of the numbers in a row as they are computed with, zeros for the others."""
        n = self.lanes
        return self._widened(f, f.op(self._masked_bits(place, mask)), n)

    def _masked_bits(self, place: str, mask: str) -> str:
        n, stored = self.lanes, self.stored
        suffix = {"float": "f32", "double": "f64", "half": "f16", "i16": "i16"}[stored]
        return (
            f"call <{n} x {stored}> @llvm.masked.load.v{n}{suffix}.p0(ptr align {self._item_stored()} {place},"
            f" <{n} x i1> {mask}, <{n} x {stored}> zeroinitializer)"
        )

    def _item_stored(self) -> int:
        return 2 if self.stored in ("half", "i16") else self.item

    def _masked_load(self) -> str:
        """Functions: the first numbers of a row, or those between two places, zeros around them."""
        n, stored, vector = self.lanes, self.stored, self.vector
        suffix = {"float": "f32", "double": "f64", "half": "f16", "i16": "i16"}[stored]
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

    # ---- the kernel in registers -----------------------------------------------------------------------------------

    def _micro(self, vectors: int) -> str:
        """Rows by `vectors` registers of columns; `flags`: 1 go on with what is there, 2 what is negative is zero."""
        rows, kind = range(self.high), self.vector
        f = Function(
            "internal void", f"micro.{vectors}",
            ["i64 k", "ptr a", "ptr b", "ptr c", "i64 ldc", "ptr bias", "i64 flags"], "noinline",
        )  # fmt: skip
        ldc, flags = f.param("ldc"), f.param("flags")
        starts = [self._at(f, "%c", ldc * m) for m in rows]
        places = [[self._at(f, start, v * self.lanes) for v in range(vectors)] for start in starts]
        sums = [[f.room(kind) for _ in range(vectors)] for _ in rows]
        for m in rows:
            one = self._splat(f, f.op(f"load {self.real}, ptr {self._at(f, '%bias', m)}"))
            for v in range(vectors):
                f.line(f"store {kind} {one}, ptr {sums[m][v]}")
        with f.when((flags & 1).equals(1)):
            for m in rows:
                for v in range(vectors):
                    f.line(f"store {kind} {self._vload(f, places[m][v])}, ptr {sums[m][v]}")

        def step(k: Int) -> None:
            base = self._at(f, "%b", k * self.wide)
            columns = [self._vload(f, self._at(f, base, v * self.lanes)) for v in range(vectors)]
            along = self._at(f, "%a", k)
            for m in rows:
                one = self._splat(f, f.op(f"load {self.real}, ptr {self._at(f, along, m * _PITCH)}"))
                for v in range(vectors):
                    old = f.op(f"load {kind}, ptr {sums[m][v]}")
                    f.line(f"store {kind} {self._fma(f, one, columns[v], old)}, ptr {sums[m][v]}")

        k = f.param("k")
        even = k & -2
        with f.loop(0, even, 2) as i:
            step(i)
            step(i + 1)
        with f.loop(even, k) as i:
            step(i)
        with f.when((flags & 2).equals(2)):
            for m in rows:
                for v in range(vectors):
                    old = f.op(f"load {kind}, ptr {sums[m][v]}")
                    low = f.op(f"fcmp olt {kind} {old}, zeroinitializer")
                    new = f.op(f"select <{self.lanes} x i1> {low}, {kind} zeroinitializer, {kind} {old}")
                    f.line(f"store {kind} {new}, ptr {sums[m][v]}")
        for m in rows:
            for v in range(vectors):
                self._vstore(f, f.op(f"load {kind}, ptr {sums[m][v]}"), places[m][v])
        return f.end()

    def _multiply(
        self, f: Function, vectors: Int, k: Number, a: str, b: str, c: str, ldc: Number, bias: str, flags: Number
    ) -> None:
        for v in (1, 2, 3):
            with f.when(vectors.equals(v)):
                f.line(f"call void @micro.{v}(i64 {k}, ptr {a}, ptr {b}, ptr {c}, i64 {ldc}, ptr {bias}, i64 {flags})")

    # ---- rows of the input -----------------------------------------------------------------------------------------

    def _copy(self) -> str:
        """Numbers that lie `step` apart, as they are computed with; may write a register's width beyond the last."""
        f = Function("internal void", "copy", ["ptr to", "ptr of", "i64 step", "i64 count"], "noinline")
        step, count = f.param("step"), f.param("count")
        with f.when(step.equals(1)):
            with f.loop(0, count, self.lanes) as i:
                left = count - i
                value = f.op(f"call {self.vector} @first(ptr {self._stored_at(f, '%of', i)}, i64 {left})")
                self._vstore(f, value, self._at(f, "%to", i))
        with f.when(step.equals(2)), f.loop(0, count, self.lanes) as i:
            left = (count - i) * 2 - 1
            parts = [
                f.op(f"call {self.vector} @first(ptr {self._stored_at(f, '%of', i * 2 + k)}, i64 {left - k})")
                for k in (0, self.lanes)
            ]
            even = ", ".join(f"i32 {2 * k}" for k in range(self.lanes))
            value = f.op(
                f"shufflevector {self.vector} {parts[0]}, {self.vector} {parts[1]}, <{self.lanes} x i32> <{even}>"
            )
            self._vstore(f, value, self._at(f, "%to", i))
        with f.when(step.equals(1).either(step.equals(2)).denied()), f.loop(0, count, rolled=False) as i:
            value = self._get(f, self._stored_at(f, "%of", i * step))
            f.line(f"store {self.real} {value}, ptr {self._at(f, '%to', i)}")
        return f.end()

    def _zero(self) -> str:
        """Zeros; may write a register's width beyond the last."""
        f = Function("internal void", "zero", ["ptr to", "i64 count"], "alwaysinline")
        with f.loop(0, f.param("count"), self.lanes) as i:
            self._vstore(f, "zeroinitializer", self._at(f, "%to", i))
        return f.end()

    def _open(self, name: str, *parameters: str) -> tuple[Function, _Record, _Record]:
        f = Function("internal void", name, ["ptr c", "ptr t", *parameters], "noinline")
        return f, _Record(f, "%c", _WORDS), _Record(f, "%t", _BLOCK)

    def _fill(self) -> str:
        """Put the rows of a channel that the block sees into `scratch`, with the zeros around."""
        f, c, t = self._open("fill", "ptr channel")
        pitch, phase, step = c["pitch"], c["phase"], c["step2"]
        lo0, hi0, lo1, hi1 = c["lo0"], c["hi0"], c["lo1"], c["hi1"]
        in_n, in0, in1, in2 = c["in_n"], c["in0"], c["in1"], c["in2"]
        pieces, edges, scratch = t.pointer("pieces"), t.pointer("edges"), t.pointer("scratch")
        apart = step * in2
        with f.loop(0, t["found"]) as number:
            piece = f.at(pieces, number * _PIECE)
            image, z0, deep, y0, high, begin = (f.load(piece, i) for i in range(_PIECE))
            base = self._stored_at(f, "%channel", image * in_n)
            with f.loop(0, deep) as z:
                uz = z + z0
                inside = (uz >= lo0).both(uz < hi0)
                with f.loop(0, high) as y:
                    uy = y + y0
                    seen = inside.both((uy >= lo1).both(uy < hi1))
                    row = self._at(f, scratch, begin + (z * high + y) * pitch)
                    with f.when(seen.denied()):
                        f.line(f"call void @zero(ptr {row}, i64 {pitch})")
                    with f.when(seen):
                        of = self._stored_at(f, base, uz * in0 + uy * in1)
                        with f.when(apart.equals(1)):
                            first, last = f.load(edges, 0), f.load(edges, 1)
                            with f.loop(0, pitch, self.lanes) as i:
                                place = self._stored_at(f, of, i)
                                begins, ends = first - i, last - i
                                value = f.op(f"call {self.vector} @between(ptr {place}, i64 {begins}, i64 {ends})")
                                self._vstore(f, value, self._at(f, row, i))
                        with f.when(apart.equals(1).denied()), f.loop(0, step) as p:
                            first, last = f.load(edges, p * 2), f.load(edges, p * 2 + 1)
                            to = self._at(f, row, p * phase)
                            f.line(f"call void @zero(ptr {to}, i64 {first})")
                            begins = self._stored_at(f, of, (p + first * step) * in2)
                            place = self._at(f, to, first)
                            f.line(f"call void @copy(ptr {place}, ptr {begins}, i64 {apart}, i64 {last - first})")
                            f.line(f"call void @zero(ptr {self._at(f, to, last)}, i64 {phase - last})")
        return f.end()

    def _plan(self) -> str:
        """Where the places [p0, p1) read and write: stretches of them, by panels of `panel` places."""
        f, c, t = self._open("plan", "i64 p0", "i64 p1", "i64 panel")
        p0, p1, panel = (f.param(name) for name in ("p0", "p1", "panel"))
        c0, c1, c2 = (c[f"count{d}"] for d in range(3))
        s0, s1, s2 = (c[f"step{d}"] for d in range(3))
        direct = c["direct"].equals(1)
        image, pitch, phase = c["image"], c["pitch"], c["phase"]
        pieces, counts, ins, outs = (t.pointer(name) for name in ("pieces", "counts", "ins", "outs"))
        reach0 = (c["taps0"] - 1) * c["dstep0"]
        reach1 = (c["taps1"] - 1) * c["dstep1"]
        area = c1 * c2
        whole = (c1 - 1) * s1 + reach1 + 1
        flat = c["taps0"].equals(1)
        number, lane, filled, scratch = f.variable(0), f.variable(0), f.variable(0), f.variable(0)
        in_n, in0, in1, in2 = (c[name] for name in ("in_n", "in0", "in1", "in2"))
        out_n, out0, out1, out2 = (c[name] for name in ("out_n", "out0", "out1", "out2"))
        first, last = p0 // image, (p1 - 1) // image
        single = first.equals(last)
        f.store(0, counts, 0)
        f.store(0, counts, 1)
        tap_rows = f.variable(whole)

        def run(of: str, slot: int, source: Int, lane_: Int, count: Int, step: Int) -> None:
            """One more stretch, or a longer one; `step` is between its places."""
            at = filled.value
            have = f.load(counts, at * 2 + slot)
            base = f.at(of, at * (panel * 3))
            before = f.at(base, (have - 1).most(0) * 3)
            long = f.load(before, 2)
            follows = (have > 0).both((f.load(before, 0) + long * step).equals(source))
            with f.when(follows):
                f.store(long + count, before, 2)
            with f.when(follows.denied()):
                new = f.at(base, have * 3)
                f.store(source, new, 0)
                f.store(lane_, new, 1)
                f.store(count, new, 2)
                f.store(have + 1, counts, at * 2 + slot)

        with f.loop(first, last + 1) as n:
            q0, q1 = (p0 - n * image).most(0), (p1 - n * image).least(image)
            z0, z1 = q0 // area, (q1 - 1) // area
            same = z0.equals(z1).both(flat.either(single))
            y0 = same.choose(q0 % area // c2, 0)
            y1 = same.choose((q1 - 1) % area // c2, c1 - 1)
            high = (y1 - y0) * s1 + reach1 + 1
            deep = (z1 - z0) * s0 + reach0 + 1
            tap_rows.set(high)
            piece = f.at(pieces, number.value * _PIECE)
            begin = scratch.value
            for i, word in enumerate((n, z0 * s0, deep, y0 * s1, high, begin)):
                f.store(word, piece, i)
            scratch.set(begin + deep * high * pitch)
            number.set(number.value + 1)
            z, y, x = f.variable(z0), f.variable(q0 % area // c2), f.variable(q0 % c2)
            left = f.variable(q1 - q0)
            with f.repeat(left):
                count = (c2 - x.value).least(left.value).least(panel - lane.value)
                row = (z.value - z0) * s0 * high + (y.value - y0) * s1
                packed = begin + row * pitch + x.value
                plain = n * in_n + z.value * in0 + y.value * in1 + x.value * in2
                run(ins, 0, direct.choose(plain, packed), lane.value, count, direct.choose(in2, 1))
                target = n * out_n + z.value * out0 + y.value * out1 + x.value * out2
                run(outs, 1, target, lane.value, count, out2)
                left.set(left.value - count)
                lane.set(lane.value + count)
                x.set(x.value + count)
                with f.when(lane.value.equals(panel)):
                    lane.set(0)
                    filled.set(filled.value + 1)
                    f.store(0, counts, filled.value * 2)
                    f.store(0, counts, filled.value * 2 + 1)
                with f.when(x.value.equals(c2)):
                    x.set(0)
                    y.set(y.value + 1)
                    with f.when(y.value.equals(c1)):
                        y.set(0)
                        z.set(z.value + 1)
        t["found"] = number.value
        t["panels"] = filled.value + (lane.value > 0).choose(1, 0)
        taps, weights, edges = t.pointer("taps"), t.pointer("weights"), t.pointer("edges")
        tap = f.variable(0)
        with f.loop(0, c["taps0"]) as tz:
            with f.loop(0, c["taps1"]) as ty:
                with f.loop(0, c["taps2"]) as tx:
                    along = tx * c["dstep2"]
                    row = tz * c["dstep0"] * tap_rows.value + ty * c["dstep1"]
                    offset = row * pitch + along % s2 * phase + along // s2
                    f.store(direct.choose(0, offset), taps, tap.value)
                    f.store(tz * c["w0"] + ty * c["w1"] + tx * c["w2"], weights, tap.value)
                    tap.set(tap.value + 1)
        with f.loop(0, s2) as p:
            start = (c["lo2"] - p + s2 - 1) // s2
            stop = (c["hi2"] - p + s2 - 1) // s2
            start = start.most(0).least(phase)
            f.store(start, edges, p * 2)
            f.store(stop.most(start).least(phase), edges, p * 2 + 1)
        # The slabs of a longer block before may have been larger.
        elements = direct.choose(0, scratch.value) + 8 * self.lanes
        f.line(f"call void @free(ptr {t.pointer('scratch')})")
        made = f.op(f"call ptr @malloc(i64 {elements * self.item})")
        t.keep("scratch", made)
        return f.end()

    def _block(self, f: Function, c: _Record, places: Int, panel: Int) -> tuple[str, _Record]:
        """Room for what `plan` finds."""
        t = f.room(f"[{len(_BLOCK)} x i64]")
        record = _Record(f, t, _BLOCK)
        panels = places.up(panel) + 1
        window, step = c["window"].most(1), c["step2"]
        sizes = {
            "pieces": places * _PIECE, "taps": window, "weights": window, "edges": step * 2, "counts": panels * 2,
            "ins": panels * panel * 3, "outs": panels * panel * 3,
        }  # fmt: skip
        total: Int = f.const(0)
        offsets: dict[str, Int] = {}
        for name, size in sizes.items():
            offsets[name] = total
            total = total + size
        memory = f.op(f"call ptr @malloc(i64 {total * 8})")
        record.keep("memory", memory)
        record.keep("scratch", "null")
        record["panel"] = panel
        for name, offset in offsets.items():
            record.keep(name, f.at(memory, offset))
        return t, record

    def _close(self, f: Function, t: _Record, *more: str) -> None:
        for pointer in (t.pointer("memory"), t.pointer("scratch"), *more):
            f.line(f"call void @free(ptr {pointer})")

    def _columns(self) -> str:
        """Rows [r0, r1) of the columns of a block: to panels `far` apart, rows `pitch` apart."""
        f, c, t = self._open("columns", "ptr base", "i64 r0", "i64 r1", "ptr to", "i64 far", "i64 pitch")
        r0, r1, far, pitch = (f.param(name) for name in ("r0", "r1", "far", "pitch"))
        window, direct = c["window"], c["direct"].equals(1)
        taps, counts, ins = t.pointer("taps"), t.pointer("counts"), t.pointer("ins")
        panel, panels, in2, in_c = t["panel"], t["panels"], c["in2"], c["in_c"]
        with f.loop(r0 // window, r1.up(window)) as channel:
            begin = channel * window
            first, last = (r0 - begin).most(0), (r1 - begin).least(window)
            given = self._stored_at(f, "%base", channel * in_c)
            with f.when(direct.denied()):
                f.line(f"call void @fill(ptr %c, ptr %t, ptr {given})")
            scratch = t.pointer("scratch")
            with f.loop(0, panels) as j:
                count = f.load(counts, j * 2)
                runs = f.at(ins, j * (panel * 3))
                with f.loop(first, last) as tap:
                    row = self._at(f, "%to", j * far + (begin + tap - r0) * pitch)
                    with f.when(direct):
                        with f.loop(0, count) as q:
                            one = f.at(runs, q * 3)
                            of = self._stored_at(f, given, f.load(one, 0))
                            to = self._at(f, row, f.load(one, 1))
                            f.line(f"call void @copy(ptr {to}, ptr {of}, i64 {in2}, i64 {f.load(one, 2)})")
                    with f.when(direct.denied()):
                        shifted = self._at(f, scratch, f.load(taps, tap))
                        with f.loop(0, count) as q:
                            one = f.at(runs, q * 3)
                            of = self._at(f, shifted, f.load(one, 0))
                            to = self._at(f, row, f.load(one, 1))
                            long = f.load(one, 2)
                            self._vstore(f, self._vload(f, of), to)
                            with f.loop(self.lanes, long, self.lanes) as i:
                                self._vstore(f, self._vload(f, self._at(f, of, i)), self._at(f, to, i))
        return f.end()

    def _filters(self) -> str:
        """Terms [r0, r1) of some filters, a row each."""
        f, c, t = self._open("filters", "ptr base", "i64 rows", "i64 r0", "i64 r1", "ptr to")
        rows, r0, r1 = (f.param(name) for name in ("rows", "r0", "r1"))
        plain, w_m, w_c, window = c["plain"].equals(1), c["w_m"], c["w_c"], c["window"]
        weights = t.pointer("weights")
        with f.when(plain):
            with f.loop(0, rows) as m:
                of = self._stored_at(f, "%base", m * w_m + r0)
                with f.loop(0, r1 - r0, 64 // self.item) as k:
                    later = self._stored_at(f, of, w_m * 3 + k)
                    f.line(f"call void @llvm.prefetch.p0(ptr {later}, i32 0, i32 3, i32 1)")
                f.line(f"call void @copy(ptr {self._at(f, '%to', m * _PITCH)}, ptr {of}, i64 1, i64 {r1 - r0})")
        with f.when(plain.denied()):
            with f.loop(0, rows) as m:
                channel, tap = f.variable(r0 // window), f.variable(r0 % window)
                with f.loop(0, r1 - r0) as k:
                    offset = m * w_m + channel.value * w_c + f.load(weights, tap.value)
                    value = self._get(f, self._stored_at(f, "%base", offset))
                    f.line(f"store {self.real} {value}, ptr {self._at(f, '%to', m * _PITCH + k)}")
                    tap.set(tap.value + 1)
                    with f.when(tap.value.equals(window)):
                        tap.set(0)
                        channel.set(channel.value + 1)
        return f.end()

    def _scatter(self) -> str:
        """A panel's results to where they belong: rows `pitch` apart, from `of`."""
        f, c, t = self._open("scatter", "ptr base", "i64 rows", "i64 j", "ptr of", "i64 pitch")
        rows, j, pitch = (f.param(name) for name in ("rows", "j", "pitch"))
        counts, outs, panel = t.pointer("counts"), t.pointer("outs"), t["panel"]
        out_m, out2 = c["out_m"], c["out2"]
        count = f.load(counts, j * 2 + 1)
        runs = f.at(outs, j * (panel * 3))
        with f.loop(0, rows) as m:
            with f.loop(0, count) as q:
                one = f.at(runs, q * 3)
                to = self._stored_at(f, "%base", m * out_m + f.load(one, 0))
                of = self._at(f, "%of", m * pitch + f.load(one, 1))
                with f.loop(0, f.load(one, 2), rolled=False) as i:
                    value = f.op(f"load {self.real}, ptr {self._at(f, of, i)}")
                    self._put(f, value, self._stored_at(f, to, i * out2))
        return f.end()

    def _task(self, name: str) -> tuple[Function, _Record]:
        f = Function("internal void", name, ["ptr c", "i64 start", "i64 end", "i32 gx", "i32 gy", "i32 gz"])
        return f, _Record(f, "%c", _WORDS)

    def _room(self, f: Function, elements: Number) -> str:
        size = elements * self.item + 64 * 4
        return f.op(f"call ptr @malloc(i64 {size})")

    def _is_odd(self, f: Function, value: str, kind: str, found: str, bits: str) -> None:
        """Note numbers that are not finite."""
        zero = f.op(f"fsub {kind} {value}, {value}")
        odd = f.op(f"fcmp uno {kind} {zero}, zeroinitializer")
        old = f.op(f"load {bits}, ptr {found}")
        f.line(f"store {bits} {f.op(f'or {bits} {old}, {odd}')}, ptr {found}")

    def _survey(self) -> str:
        """Look at filters, some a program: are all numbers finite; those that do not lie in order are put so."""
        f, c = self._task("survey")
        rows, terms, window, channels = c["rows"], c["terms"], c["window"], c["channels"]
        one, bits = f.room("i1"), f"<{self.lanes} x i1>"
        several = f.room(bits)
        f.line(f"store i1 false, ptr {one}")
        f.line(f"store {bits} zeroinitializer, ptr {several}")
        plain, w_c, w_m, w_g = c["plain"].equals(1), c["w_c"], c["w_m"], c["w_g"]
        weight, packed = c.pointer("weight"), c.pointer("packed")
        taps, by = ([c[f"{name}{d}"] for d in range(3)] for name in ("taps", "w"))
        blocks = rows.up(self.high)

        def move(of: str, offset: Int, to: str, place: Int) -> None:
            value = f.op(f"load {self.stored}, ptr {self._stored_at(f, of, offset)}")
            f.line(f"store {self.stored} {value}, ptr {self._stored_at(f, to, place)}")
            self._is_odd(f, self._widened(f, value), self.real, one, "i1")

        even = by[1].equals(taps[2] * by[2]).either(taps[1].equals(1))
        even = even.both(by[0].equals(taps[1] * taps[2] * by[2]).either(taps[0].equals(1)))
        with f.loop(f.param("start"), f.param("end")) as i:
            g, m0 = i // blocks, i % blocks * self.high
            m1 = (m0 + self.high).least(rows)
            with f.when(plain), f.loop(m0, m1) as m:
                of = self._stored_at(f, weight, g * w_g + m * w_m)
                with f.loop(0, terms, self.lanes) as k:
                    value = f.op(f"call {self.vector} @first(ptr {self._stored_at(f, of, k)}, i64 {terms - k})")
                    self._is_odd(f, value, self.vector, several, bits)
            # What a channel has for these filters lies together, if that is the gradient by the input.
            with f.when(plain.denied()), f.loop(0, channels) as channel, f.loop(m0, m1) as m:
                channel = channels - 1 - channel
                of = self._stored_at(f, weight, g * w_g + m * w_m + channel * w_c)
                to = self._stored_at(f, packed, (g * rows + m) * (terms + self.lanes) + channel * window)
                # Turned around in a register, and put where only channels are that come after it.
                turned = even.both(by[2].equals(-1)).both(window <= self.lanes)
                even_ = even.both(turned.denied())
                with f.when(turned):
                    lowest = self._stored_at(f, of, 1 - window)
                    mask = self._below(f, window)
                    bits_ = f.op(self._masked_bits(lowest, mask))
                    order = ", ".join(f"i32 {k}" for k in reversed(range(self.lanes)))
                    kind = f"<{self.lanes} x {self.stored}>"
                    back = f.op(f"shufflevector {kind} {bits_}, {kind} poison, <{self.lanes} x i32> <{order}>")
                    place = self._stored_at(f, to, window - self.lanes)
                    f.line(f"store {kind} {back}, ptr {place}, align {self._item_stored()}")
                    self._is_odd(f, self._widened(f, bits_, self.lanes), self.vector, several, bits)
                with f.when(even_), f.loop(0, window) as tap:
                    move(of, tap * by[2], to, tap)
                with f.when(even.denied()), f.loop(0, taps[0]) as z, f.loop(0, taps[1]) as y:
                    begin, row = z * by[0] + y * by[1], (z * taps[1] + y) * taps[2]
                    with f.loop(0, taps[2]) as x:
                        move(of, begin + x * by[2], to, row + x)
        some = f.op(f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({bits} {f.op(f'load {bits}, ptr {several}')})")
        found = Int(f, f.op(f"or i1 {some}, {f.op(f'load i1, ptr {one}')}"))
        with f.when(found):
            c["odd"] = 1
        return f.end()

    def _careful(self) -> str:
        """Programs of a correlation of one filter each, where nothing is multiplied by the zeros around the input."""
        f, c = self._task("careful")
        rows, channels, n_ = c["rows"], c["channels"], c["n"]
        dims = range(3)
        counts, taps, by = ([c[f"{name}{d}"] for d in dims] for name in ("count", "taps", "w"))
        lows, highs, of, to = ([c[f"{name}{d}"] for d in dims] for name in ("lo", "hi", "in", "out"))
        steps, apart = ([c[f"{name}{d}"] for d in dims] for name in ("step", "dstep"))
        total = f.room(self.real)
        given = c.pointer("bias")
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        with f.loop(f.param("start"), f.param("end")) as i:
            g, m = i // rows, i % rows
            weight = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m * c["w_m"])
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            out = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m * c["out_m"])
            with f.loop(0, n_) as n, f.loop(0, counts[0]) as z, f.loop(0, counts[1]) as y, f.loop(0, counts[2]) as x:
                place = (z, y, x)
                f.line(f"store {self.real} 0.0, ptr {total}")
                with f.when(there_is):
                    value = self._get(f, self._stored_at(f, given, (g * rows + m) * c["bias_by"]))
                    f.line(f"store {self.real} {value}, ptr {total}")
                with (
                    f.loop(0, channels) as channel, f.loop(0, taps[0]) as tz, f.loop(0, taps[1]) as ty,
                    f.loop(0, taps[2]) as tx,
                ):  # fmt: skip
                    seen = [place[d] * steps[d] + (tz, ty, tx)[d] * apart[d] for d in dims]
                    inside = f.const(0).equals(0)
                    for d in dims:
                        inside = inside.both((seen[d] >= lows[d]).both(seen[d] < highs[d]))
                    with f.when(inside):
                        at = (
                            n * c["in_n"] + channel * c["in_c"] + sum((seen[d] * of[d] for d in dims), start=f.const(0))
                        )
                        filters = channel * c["w_c"] + tz * by[0] + ty * by[1] + tx * by[2]
                        a = self._get(f, self._stored_at(f, base, at))
                        b = self._get(f, self._stored_at(f, weight, filters))
                        old = f.op(f"load {self.real}, ptr {total}")
                        new = f.op(f"fadd contract {self.real} {old}, {f.op(f'fmul contract {self.real} {a}, {b}')}")
                        f.line(f"store {self.real} {new}, ptr {total}")
                end = n * c["out_n"] + sum((place[d] * to[d] for d in dims), start=f.const(0))
                self._put(f, f.op(f"load {self.real}, ptr {total}"), self._stored_at(f, out, end))
        return f.end()

    def _correlate(self) -> str:
        """Programs of a correlation: a block of places and some filters each."""
        f, c = self._task("correlate")
        width, blocks, height, row_blocks = c["width"], c["blocks"], c["height"], c["row_blocks"]
        depth, terms, rows, places = c["depth"], c["terms"], c["rows"], c["places"]
        panel_ = (width // self.lanes).least(3) * self.lanes
        panel = ((width // self.lanes).equals(4)).choose(2 * self.lanes, panel_)
        far = depth * self.wide + self.lanes
        t, record = self._block(f, c, width, panel)
        slab = self._room(f, width.up(panel) * far)
        left = self._room(f, height * _PITCH)
        sums = self._room(f, height * width)
        bias = f.room(f"[{self.high} x {self.real}]")
        out_m, out2, relu, bias_by = c["out_m"], c["out2"], c["relu"], c["bias_by"]
        unit = out2.equals(1) if self.stored == self.real else f.const(0).equals(1)
        with f.loop(f.param("start"), f.param("end")) as i:
            block = i % blocks
            row_block = i // blocks % row_blocks
            g = i // blocks // row_blocks
            p0, m0 = block * width, row_block * height
            p1, some = (p0 + width).least(places), height.least(rows - m0)
            f.line(f"call void @plan(ptr %c, ptr {t}, i64 {p0}, i64 {p1}, i64 {panel})")
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            weight = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m0 * c["w_m"])
            out = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m0 * out_m)
            counts, outs = record.pointer("counts"), record.pointer("outs")
            panels = record["panels"]
            with f.loop(0, terms.most(1), depth) as r0:
                r1 = (r0 + depth).least(terms)
                k = r1 - r0
                with f.when(k > 0):
                    f.line(
                        f"call void @columns(ptr %c, ptr {t}, ptr {base}, i64 {r0}, i64 {r1}, ptr {slab}, i64 {far},"
                        f" i64 {self.wide})"
                    )
                    f.line(
                        f"call void @filters(ptr %c, ptr {t}, ptr {weight}, i64 {some}, i64 {r0}, i64 {r1}, ptr {left})"
                    )
                later = (r0 > 0).choose(1, 0)
                last = (r1 >= terms).choose(relu * 2, 0)
                with f.loop(0, panels) as j:
                    here = (p1 - p0 - j * panel).least(panel)
                    vectors = here.up(self.lanes)
                    runs = f.at(outs, j * (panel * 3))
                    full = (here % self.lanes).equals(0).both(f.load(counts, j * 2 + 1).equals(1)).both(unit)
                    columns = self._at(f, slab, j * far)
                    with f.loop(0, some, self.high) as m:
                        placed = full.both(some - m >= self.high)
                        own = self._at(f, sums, m * width + j * panel)
                        there = self._stored_at(f, out, m * out_m + f.load(runs, 0))
                        to = f.op(f"select i1 {placed}, ptr {there}, ptr {own}")
                        ldc = placed.choose(out_m, width)
                        for row in range(self.high):
                            f.line(f"store {self.real} 0.0, ptr {self._at(f, bias, row)}")
                        given = c.pointer("bias")
                        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
                        with f.when(there_is):
                            with f.loop(0, (some - m).least(self.high)) as row:
                                at = self._stored_at(f, given, (g * rows + m0 + m + row) * bias_by)
                                f.line(f"store {self.real} {self._get(f, at)}, ptr {self._at(f, bias, row)}")
                        a = self._at(f, left, m * _PITCH)
                        self._multiply(f, vectors, k, a, columns, to, ldc, bias, later + last)
            with f.loop(0, panels) as j:
                here = (p1 - p0 - j * panel).least(panel)
                full = (here % self.lanes).equals(0).both(f.load(counts, j * 2 + 1).equals(1)).both(unit)
                done = full.choose(some // self.high * self.high, 0)
                with f.when(done < some):
                    own = self._at(f, sums, done * width + j * panel)
                    there = self._stored_at(f, out, done * out_m)
                    f.line(
                        f"call void @scatter(ptr %c, ptr {t}, ptr {there}, i64 {some - done}, i64 {j}, ptr {own},"
                        f" i64 {width})"
                    )
        self._close(f, record, slab, left, sums)
        return f.end()

    # ---- the gradient by the weight --------------------------------------------------------------------------------

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

    def _turned(self) -> str:
        """The results' gradients of a block, places for rows: `count` filters from `base`, `wide` numbers a place."""
        f, c, t = self._open("turned", "ptr base", "i64 count", "ptr to")
        count = f.param("count")
        out_m, out2 = c["out_m"], c["out2"]
        outs = t.pointer("outs")
        runs = f.load(t.pointer("counts"), 1)
        unit = out2.equals(1)
        with f.loop(0, runs) as q:
            one = f.at(outs, q * 3)
            source, lane, long = (f.load(one, i) for i in range(3))
            with f.when(unit):
                with f.loop(0, count, self.lanes) as m:
                    with f.loop(0, long, self.lanes) as i:
                        rows: list[str] = []
                        for r in range(self.lanes):
                            row = (m + r).least(count - 1)
                            place = self._stored_at(f, "%base", row * out_m + source + i)
                            rows.append(f.op(f"call {self.vector} @first(ptr {place}, i64 {long - i})"))
                        for r, value in enumerate(self._transposed(f, rows)):
                            self._vstore(f, value, self._at(f, "%to", (lane + i + r) * self.wide + m))
            with f.when(unit.denied()):
                with f.loop(0, long) as i:
                    place = self._stored_at(f, "%base", source + i * out2)
                    to = self._at(f, "%to", (lane + i) * self.wide)
                    f.line(f"call void @copy(ptr {to}, ptr {place}, i64 {out_m}, i64 {count})")
        return f.end()

    def _weight(self) -> str:
        """Programs of a gradient by the weight: some terms of some filters, of a stretch of the places."""
        f, c = self._task("weight")
        height, row_blocks, width, blocks = c["height"], c["row_blocks"], c["width"], c["blocks"]
        splits, stretch, terms, rows, places = c["splits"], c["stretch"], c["terms"], c["rows"], c["places"]
        deep = f.const(_DEPTH)
        t, record = self._block(f, c, deep, deep)
        left = self._room(f, height * _PITCH)
        panels = width.up(self.wide)
        far = (_DEPTH + self.lanes) * self.wide
        right = self._room(f, panels * far)
        own = self._room(f, height * width)
        none = f.room(f"[{self.high} x {self.real}]")
        f.line(f"store [{self.high} x {self.real}] zeroinitializer, ptr {none}")
        each = (width // self.lanes).up(panels)
        with f.loop(f.param("start"), f.param("end")) as i:
            split = i % splits
            task = i // splits
            column = task % blocks
            row_block = task // blocks % row_blocks
            g = task // blocks // row_blocks
            r0, m0 = row_block * height, column * width
            r1, m1 = (r0 + height).least(terms), (m0 + width).least(rows)
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            grads = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m0 * c["out_m"])
            parted = splits > 1
            partial = self._at(f, c.pointer("partial"), i * (height * width))
            sums = f.op(f"select i1 {parted}, ptr {partial}, ptr {own}")
            with f.when(places.equals(0)):
                f.line(f"call void @zero(ptr {sums}, i64 {height * width})")
            with f.loop(split * stretch, ((split + 1) * stretch).least(places), _DEPTH) as p0:
                p1 = (p0 + _DEPTH).least(places).least((split + 1) * stretch)
                f.line(f"call void @plan(ptr %c, ptr {t}, i64 {p0}, i64 {p1}, i64 {_DEPTH})")
                f.line(
                    f"call void @columns(ptr %c, ptr {t}, ptr {base}, i64 {r0}, i64 {r1}, ptr {left}, i64 0,"
                    f" i64 {_PITCH})"
                )
                later = (p0 > split * stretch).choose(1, 0)
                with f.loop(0, panels) as j:
                    begin = j * each * self.lanes
                    here = (m1 - m0 - begin).least(each * self.lanes)
                    with f.when(here > 0):
                        columns = self._at(f, right, j * far)
                        of = self._stored_at(f, grads, begin * c["out_m"])
                        f.line(f"call void @turned(ptr %c, ptr {t}, ptr {of}, i64 {here}, ptr {columns})")
                        vectors = here.up(self.lanes)
                        with f.loop(0, r1 - r0, self.high) as m:
                            a = self._at(f, left, m * _PITCH)
                            to = self._at(f, sums, m * width + begin)
                            self._multiply(f, vectors, p1 - p0, a, columns, to, width, none, later)
            with f.when(parted.denied()):
                f.line(f"call void @gather(ptr %c, ptr {t}, ptr {own}, i64 {task})")
        self._close(f, record, left, right, own)
        return f.end()

    def _gather(self) -> str:
        """The sums of all stretches of the places, in their order, to the gradient."""
        f, c, _ = self._open("gather", "ptr of", "i64 task")
        height, row_blocks, width, blocks = c["height"], c["row_blocks"], c["width"], c["blocks"]
        task, splits, window = f.param("task"), c["splits"], c["window"]
        column = task % blocks
        row_block = task // blocks % row_blocks
        g = task // blocks // row_blocks
        r0, m0 = row_block * height, column * width
        r1, m1 = (r0 + height).least(c["terms"]), (m0 + width).least(c["rows"])
        t1, t2 = c["taps1"], c["taps2"]
        base = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m0 * c["w_m"])
        size, w_m = height * width, c["w_m"]
        with f.loop(r0, r1) as r:
            tap = r % window
            steps = tap // t2 // t1 * c["w0"] + tap // t2 % t1 * c["w1"] + tap % t2 * c["w2"]
            row = self._stored_at(f, base, r // window * c["w_c"] + steps)
            with f.loop(0, m1 - m0) as m:
                total = f.room(self.real)
                at = (r - r0) * width + m
                first = f.op(f"load {self.real}, ptr {self._at(f, '%of', at)}")
                f.line(f"store {self.real} {first}, ptr {total}")
                with f.loop(1, splits) as s:
                    value = f.op(f"load {self.real}, ptr {self._at(f, '%of', s * size + at)}")
                    old = f.op(f"load {self.real}, ptr {total}")
                    f.line(f"store {self.real} {f.op(f'fadd {self.real} {old}, {value}')}, ptr {total}")
                self._put(f, f.op(f"load {self.real}, ptr {total}"), self._stored_at(f, row, m * w_m))
        text = f.end()
        f, c = self._task("gathered")
        with f.loop(f.param("start"), f.param("end")) as i:
            of = self._at(f, c.pointer("partial"), i * (c["splits"] * c["height"] * c["width"]))
            f.line(f"call void @gather(ptr %c, ptr null, ptr {of}, i64 {i})")
        return f"{text}\n\n{f.end()}"

    # ---- one channel a group ---------------------------------------------------------------------------------------

    def _plane(self, f: Function, c: _Record) -> tuple[str, _Record]:
        """Room for a whole channel of an image, and where its taps lie."""
        t, record = self._block(f, c, f.const(self.lanes), f.const(self.lanes))
        return t, record

    def _image(self, f: Function, c: _Record, record: _Record, n: Int) -> Int:
        """Have the only piece be a whole image; the rows of a plane."""
        high = (c["count1"] - 1) * c["step1"] + (c["taps1"] - 1) * c["dstep1"] + 1
        piece = record.pointer("pieces")
        for i, word in enumerate((n, 0, c["deep"], 0, high, 0)):
            f.store(word, piece, i)
        record["found"] = 1
        return high

    def _depthwise(self) -> str:
        """Programs of a correlation of one channel a group: an image and a group each."""
        f, c = self._task("depthwise")
        t, record = self._plane(f, c)
        f.line(f"call void @planned(ptr %c, ptr {t})")
        groups, rows, window, pitch = c["groups"], c["rows"], c["window"], c["pitch"]
        c0, c1, c2 = (c[f"count{d}"] for d in range(3))
        taps, weights = record.pointer("taps"), record.pointer("weights")
        filters = self._room(f, window * self.lanes + 4 * self.lanes)
        # Rows whose windows lie side by side are one long row.
        batch = c["step1"].equals(1).choose(c1, 1)
        along = (batch - 1) * pitch + c2
        line = self._room(f, along + 8 * self.lanes)
        out2, given = c["out2"], c.pointer("bias")
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        unit = out2.equals(1) if self.stored == self.real else f.const(0).equals(1)
        with f.loop(f.param("start"), f.param("end")) as i:
            g, n = i % groups, i // groups
            high = self._image(f, c, record, n)
            channel = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            f.line(f"call void @fill(ptr %c, ptr {t}, ptr {channel})")
            scratch = record.pointer("scratch")
            with f.loop(0, rows) as m:
                own = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m * c["w_m"])
                with f.loop(0, window) as tap:
                    value = self._get(f, self._stored_at(f, own, f.load(weights, tap)))
                    f.line(f"store {self.real} {value}, ptr {self._at(f, filters, tap)}")
                start = f.room(self.real)
                f.line(f"store {self.real} 0.0, ptr {start}")
                with f.when(there_is):
                    value = self._get(f, self._stored_at(f, given, (g * rows + m) * c["bias_by"]))
                    f.line(f"store {self.real} {value}, ptr {start}")
                first = self._splat(f, f.op(f"load {self.real}, ptr {start}"))
                out = self._stored_at(f, c.pointer("output"), n * c["out_n"] + g * c["out_g"] + m * c["out_m"])
                with f.loop(0, c0) as z, f.loop(0, c1, batch) as y0:
                    of = self._at(f, scratch, (z * c["step0"] * high + y0 * c["step1"]) * pitch)
                    fours = along // (4 * self.lanes) * 4
                    for vectors, begin, stop in ((4, f.const(0), fours), (1, fours, along.up(self.lanes))):
                        with f.loop(begin, stop, vectors) as x:
                            sums = [f.room(self.vector) for _ in range(vectors)]
                            for one in sums:
                                f.line(f"store {self.vector} {first}, ptr {one}")
                            begins = self._at(f, of, x * self.lanes)
                            with f.loop(0, window) as tap:
                                weight = self._splat(f, f.op(f"load {self.real}, ptr {self._at(f, filters, tap)}"))
                                seen = self._at(f, begins, f.load(taps, tap))
                                for v, one in enumerate(sums):
                                    old = f.op(f"load {self.vector}, ptr {one}")
                                    value = self._vload(f, self._at(f, seen, v * self.lanes))
                                    f.line(f"store {self.vector} {self._fma(f, weight, value, old)}, ptr {one}")
                            for v, one in enumerate(sums):
                                value = f.op(f"load {self.vector}, ptr {one}")
                                self._vstore(f, value, self._at(f, line, (x + v) * self.lanes))
                    with f.loop(0, batch) as more:
                        y = y0 + more
                        of = self._at(f, line, more * pitch)
                        to = self._stored_at(f, out, z * c["out0"] + y * c["out1"])
                        whole = unit.choose(c2 // self.lanes * self.lanes, 0)
                        with f.loop(0, whole, self.lanes) as x:
                            self._vstore(f, self._vload(f, self._at(f, of, x)), self._at(f, to, x))
                        with f.when(unit.both(whole < c2)):
                            self._put_first(
                                f, self._vload(f, self._at(f, of, whole)), self._at(f, to, whole), c2 - whole
                            )
                        with f.when(unit.denied()), f.loop(0, c2) as x:
                            value = f.op(f"load {self.real}, ptr {self._at(f, of, x)}")
                            self._put(f, value, self._stored_at(f, to, x * out2))
        self._close(f, record, filters, line)
        return f"{self._planned()}\n\n{f.end()}"

    def _planned(self) -> str:
        """Where the taps of a whole image lie, and room for a plane."""
        f, c, t = self._open("planned")
        high = (c["count1"] - 1) * c["step1"] + (c["taps1"] - 1) * c["dstep1"] + 1
        # A block of one place has all that is needed but the rows of its piece.
        f.line("call void @plan(ptr %c, ptr %t, i64 0, i64 1, i64 1)")
        taps, tap, s2 = t.pointer("taps"), f.variable(0), c["step2"]
        with f.loop(0, c["taps0"]) as tz:
            with f.loop(0, c["taps1"]) as ty:
                with f.loop(0, c["taps2"]) as tx:
                    along = tx * c["dstep2"]
                    row = tz * c["dstep0"] * high + ty * c["dstep1"]
                    f.store(row * c["pitch"] + along % s2 * c["phase"] + along // s2, taps, tap.value)
                    tap.set(tap.value + 1)
        f.line(f"call void @free(ptr {t.pointer('scratch')})")
        t.keep("scratch", self._room(f, c["deep"] * high * c["pitch"] + 8 * self.lanes))
        return f.end()

    def _depthwise_weight(self) -> str:
        """Programs of the gradient by the weight where a group has one channel: a group each."""
        f, c = self._task("depthwise_weight")
        t, record = self._plane(f, c)
        f.line(f"call void @planned(ptr %c, ptr {t})")
        rows, window, pitch = c["rows"], c["window"], c["pitch"]
        c0, c1, c2 = (c[f"count{d}"] for d in range(3))
        taps, weights = record.pointer("taps"), record.pointer("weights")
        lanes = self.lanes
        slots = window.up(4) * 4
        sums = self._room(f, rows * slots * lanes)
        breadth = c2.up(lanes) * lanes
        grads = self._room(f, c0 * c1 * pitch.most(breadth) + 4 * lanes)
        odd = f.room("i1")
        with f.loop(f.param("start"), f.param("end")) as g:
            # Rows side by side are one long row with zeros between them, if all numbers are finite.
            batch = f.variable(c["step1"].equals(1).choose(c1, 1))
            with f.repeat(batch):
                rows_ = batch.value
                apart = (rows_ > 1).choose(pitch, breadth)
                along = (rows_ - 1) * pitch + c2
                f.line(f"store i1 false, ptr {odd}")
                with f.loop(0, rows * slots) as s:
                    self._vstore(f, "zeroinitializer", self._at(f, sums, s * lanes))
                with f.loop(0, c["n"]) as n:
                    high = self._image(f, c, record, n)
                    channel = self._stored_at(f, c.pointer("input"), g * c["in_g"])
                    f.line(f"call void @fill(ptr %c, ptr {t}, ptr {channel})")
                    scratch = record.pointer("scratch")
                    with f.loop(0, rows) as m:
                        of = self._stored_at(f, c.pointer("output"), n * c["out_n"] + g * c["out_g"] + m * c["out_m"])
                        with f.loop(0, c0 * c1) as y:
                            row = self._stored_at(f, of, y // c1 * c["out0"] + y % c1 * c["out1"])
                            to, by = self._at(f, grads, y * apart), c["out2"]
                            f.line(f"call void @copy(ptr {to}, ptr {row}, i64 {by}, i64 {c2})")
                            with f.when(rows_ > 1):
                                f.line(f"call void @zero(ptr {self._at(f, to, c2)}, i64 {pitch - c2})")
                        with f.loop(0, window, 4) as tap:
                            views = [self._at(f, scratch, f.load(taps, (tap + k).least(window - 1))) for k in range(4)]
                            totals = [f.room(self.vector) for _ in range(4)]
                            places = [self._at(f, sums, (m * slots + tap + k) * lanes) for k in range(4)]
                            for total, place in zip(totals, places, strict=True):
                                f.line(f"store {self.vector} {self._vload(f, place)}, ptr {total}")
                            with f.loop(0, c0) as z, f.loop(0, c1, rows_) as y:
                                seen = (z * c["step0"] * high + y * c["step1"]) * pitch
                                given = self._at(f, grads, (z * c1 + y) * apart)

                                def add(x: Int, count: Int | None) -> None:
                                    grad = self._vload(f, self._at(f, given, x))
                                    grad = grad if count is None else self._some(f, grad, count)
                                    for view, total in zip(views, totals, strict=True):
                                        value = self._vload(f, self._at(f, view, seen + x))
                                        value = value if count is None else self._some(f, value, count)
                                        old = f.op(f"load {self.vector}, ptr {total}")
                                        f.line(f"store {self.vector} {self._fma(f, grad, value, old)}, ptr {total}")

                                whole = along // lanes * lanes
                                with f.loop(0, whole, lanes) as x:
                                    add(x, None)
                                with f.when(whole < along):
                                    add(whole, along - whole)
                            for total, place in zip(totals, places, strict=True):
                                self._vstore(f, f.op(f"load {self.vector}, ptr {total}"), place)
                with f.loop(0, rows) as m:
                    to = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m * c["w_m"])
                    with f.loop(0, window) as tap:
                        value = self._vload(f, self._at(f, sums, (m * slots + tap) * lanes))
                        total = f.op(
                            f"call reassoc {self.real} @llvm.vector.reduce.fadd.{self.suffix}({self.real} -0.0,"
                            f" {self.vector} {value})"
                        )
                        self._is_odd(f, total, self.real, odd, "i1")
                        self._put(f, total, self._stored_at(f, to, f.load(weights, tap)))
                again = Int(f, f.op(f"load i1, ptr {odd}")).both(rows_ > 1)
                batch.set(again.choose(1, 0))
        self._close(f, record, sums, grads)
        return f.end()

    def _put_first(self, f: Function, value: str, place: str, count: Int) -> None:
        """Store the first numbers of a register."""
        suffix = "f64" if self.real == "double" else "f32"
        f.line(
            f"call void @llvm.masked.store.v{self.lanes}{suffix}.p0({self.vector} {value}, ptr align {self.item} {place},"
            f" <{self.lanes} x i1> {self._below(f, count)})"
        )

    def _some(self, f: Function, value: str, count: Int) -> str:
        """The first numbers of a register, zeros behind."""
        mask = self._below(f, count)
        return f.op(f"select <{self.lanes} x i1> {mask}, {self.vector} {value}, {self.vector} zeroinitializer")

    # ---- the entry -------------------------------------------------------------------------------------------------

    def _entry(self) -> str:
        f = Function("i32", self.name, ["ptr words"])
        context = f.room(f"[{len(_WORDS)} x i64]")
        f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {context}, ptr %words, i64 {8 * len(FIELDS)}, i1 false)")
        c = _Record(f, context, _WORDS)
        counts, taps = [c[f"count{d}"] for d in range(3)], [c[f"taps{d}"] for d in range(3)]
        window, image = math.prod(taps[1:], start=taps[0]), math.prod(counts[1:], start=counts[0])
        rows, groups, kind, channels = c["rows"], c["groups"], c["kind"], c["channels"]
        places, terms = c["n"] * image, channels * window
        reach = (counts[2] - 1) * c["step2"] + (taps[2] - 1) * c["dstep2"] + 1
        phase = reach.up(c["step2"])
        inside = f.const(0).equals(0)
        for d in range(3):
            inside = inside.both((c[f"lo{d}"] <= 0).both(c[f"hi{d}"] > (counts[d] - 1) * c[f"step{d}"]))
        lone = kind >= DEPTHWISE
        steps = f.const(0).equals(0)
        for d in range(3):
            steps = steps.both(c[f"step{d}"].equals(1))
        direct = inside.both(steps).both(window.equals(1)).both(lone.denied())
        tight = f.const(0).equals(0)
        unit: Number = 1
        for d in (2, 1, 0):
            tight = tight.both(c[f"w{d}"].equals(unit).either(taps[d].equals(1)))
            unit = unit * taps[d]
        tight = tight.both(c["w_c"].equals(window).either(channels.equals(1)))
        for name, value in {
            "window": window, "image": image, "places": places, "terms": terms, "phase": phase,
            "pitch": phase * c["step2"], "direct": direct.choose(1, 0), "plain": tight.choose(1, 0), "odd": 0, "packed": 0, "padded": inside.choose(0, 1),
            "deep": (counts[0] - 1) * c["step0"] + (taps[0] - 1) * c["dstep0"] + 1, "partial": 0,
        }.items():  # fmt: skip
            c[name] = value
        result, cost = f.room("i32"), f.room("double")
        f.line(f"store i32 0, ptr {result}")

        def go(function: str, programs: Int, work: Int) -> None:
            each = f.op(f"sitofp i64 {work} to double")
            f.line(f"store double {f.op(f'fdiv double {each}, {_RATE:e}')}, ptr {cost}")
            found = f.op(
                f"call i32 @opweave_run(ptr @{function}, ptr {context}, i64 {programs}, i32 1, i32 1, i32 1, ptr {cost})"
            )
            f.line(f"store i32 {found}, ptr {result}")

        some = (places > 0).both(rows > 0).both(groups > 0)
        correlates = kind.equals(CORRELATE).either(kind.equals(DEPTHWISE)).both(some)
        apart = tight.denied().both(terms > 0)
        with f.when(correlates.both(apart)):
            room = self._room(f, groups * rows * (terms + self.lanes) + self.lanes)
            c.keep("packed", self._stored_at(f, room, self.lanes))
        with f.when(correlates.both(apart.either(inside.denied().both(tight)))):
            go("survey", groups * rows.up(self.high), terms * 20 * self.high)
        with f.when(correlates.both(apart)):
            c.keep("weight", c.pointer("packed"))
            filter_ = terms + self.lanes
            c["plain"], c["w_g"], c["w_m"], c["w_c"] = 1, rows * filter_, filter_, window
            for d in range(3):
                c[f"w{d}"] = math.prod(taps[d + 1 :], start=f.const(1))
        odd = c["odd"].equals(1).both(inside.denied())
        with f.when(correlates.both(odd)):
            go("careful", groups * rows, c["n"] * image * terms * 8)
        some = some.both(odd.denied())
        with f.when(kind.equals(CORRELATE).both(some)):
            most = 4 * self.wide
            width = (places.up(self.lanes) * self.lanes).least(most)
            blocks = places.up(width)
            even = places.up(blocks * self.lanes) * self.lanes
            width = (blocks < _ENOUGH).choose(even, width)
            height = (rows.up(self.high) * self.high).least(_TALL)
            for _ in range(3):
                few = (blocks * rows.up(height) * groups < _ENOUGH).both(height > 32)
                height = few.choose(height.up(2 * self.high) * self.high, height)
            row_blocks = rows.up(height)
            parts = terms.up(_DEPTH).most(1)
            depth = (channels.up(parts) * window).most(1)
            c["depth"] = (depth <= _DEPTH).choose(depth, _DEPTH)
            for name, value in {"width": width, "blocks": blocks, "height": height, "row_blocks": row_blocks}.items():
                c[name] = value
            go("correlate", blocks * row_blocks * groups, width * height * terms + 1000)
        with f.when(kind.equals(WEIGHT).both(rows > 0).both(terms > 0)):
            row_blocks = terms.up(_DEPTH)
            height = terms.up(row_blocks * self.high) * self.high
            row_blocks = terms.up(height)
            blocks = rows.up(4 * self.wide)
            width = rows.up(blocks * self.lanes) * self.lanes
            blocks = rows.up(width)
            tasks = row_blocks * blocks * groups
            chunks = places.up(_DEPTH).most(1)
            splits = f.const(2 * _ENOUGH).up(tasks).least(chunks).most(1)
            stretch = chunks.up(splits)
            splits = chunks.up(stretch)
            for name, value in {
                "height": height, "row_blocks": row_blocks, "blocks": blocks, "width": width, "splits": splits,
                "stretch": stretch * _DEPTH,
            }.items():  # fmt: skip
                c[name] = value
            with f.when(splits > 1):
                c.keep("partial", self._room(f, tasks * splits * height * width))
            go("weight", tasks * splits, width * height * stretch * _DEPTH)
            fine = Int(f, f.op(f"icmp eq i32 {f.op(f'load i32, ptr {result}')}, 0"))
            with f.when(fine.both(splits > 1)):
                go("gathered", tasks, height * width * splits * 8)
            with f.when(splits > 1):
                f.line(f"call void @free(ptr {c.pointer('partial')})")
        with f.when(kind.equals(DEPTHWISE).both(some)):
            go("depthwise", c["n"] * groups, image * (window + 8) * rows // 4)
        with f.when(kind.equals(DEPTHWISE_WEIGHT).both(rows > 0)):
            go("depthwise_weight", groups, c["n"] * image * (window + 8) * rows // 4)
        with f.when(correlates.both(apart)):
            f.line(f"call void @free(ptr {self._stored_at(f, c.pointer('packed'), -self.lanes)})")
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
declare float @llvm.vector.reduce.fadd.v16f32(float, <16 x float>)
declare float @llvm.vector.reduce.fadd.v8f32(float, <8 x float>)
declare float @llvm.vector.reduce.fadd.v4f32(float, <4 x float>)
declare double @llvm.vector.reduce.fadd.v8f64(double, <8 x double>)
declare double @llvm.vector.reduce.fadd.v4f64(double, <4 x double>)
declare double @llvm.vector.reduce.fadd.v2f64(double, <2 x double>)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)
declare i1 @llvm.vector.reduce.or.v16i1(<16 x i1>)
declare i1 @llvm.vector.reduce.or.v8i1(<8 x i1>)
declare i1 @llvm.vector.reduce.or.v4i1(<4 x i1>)
declare i1 @llvm.vector.reduce.or.v2i1(<2 x i1>)
declare i32 @opweave_run(ptr, ptr, i64, i32, i32, i32, ptr)"""

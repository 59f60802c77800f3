"""Products of a vector and a matrix, of float32 and float64: each number of the matrix is read once, where it lies.

Where a row of the matrix holds what neighbouring results need, a few registers of results are summed down the rows.
Where a row is summed over for one result, four rows are read at a time, in two registers of sums each.
"""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.native.emitting import Function, Int

#: The most rows of the left operand that are multiplied like vectors, summed down and along the matrix's rows.
ROWS, _ROWS_ALONG = 16, 4
#: Registers of results that are summed side by side, the most first, for so many rows of the left operand at a time.
_WIDTHS = {4: (4, 1), 1: (8, 1)}
#: How many rows ahead memory is asked for, and bytes of a line of the caches.
_AHEAD, _LINE = 12, 64
#: Rows that are summed over together.
_MANY = 4
#: Registers of sums for each of these: an addition is not done when the next one could begin.
_CHAINS = 2


def symbol(real: str) -> str:
    """The name of the function for a type, "float" or "double": whether it has made a product.

    It makes those of which a side has few rows or columns.
    """
    return f"opweave_vectors_{real}"


def module(real: str, bits: int) -> str:
    """The LLVM IR of it.

    Parameters
    ----------
    real : {"float", "double"}
        The type of the numbers.
    bits : int
        Of a register.
    """
    return "\n\n".join([_HEAD, _Vectors(real, bits).text(), _TAIL])


def late(real: str) -> str:
    """The LLVM IR of `vector.{real}`: the same by its address, if there is one, which `symbol` with `_at` names."""
    at = f"{symbol(real)}_at"
    return f"""
@{at} = external global ptr                               ; null until a product needs it
define internal i1 @"vector.{real}"({PARAMETERS}) noinline {{
  %code = load ptr, ptr @{at}
  %none = icmp eq ptr %code, null
  br i1 %none, label %no, label %yes
yes:
  %made = tail call i1 %code({PARAMETERS})
  ret i1 %made
no:
  ret i1 false
}}
"""


_PARAMETERS = (
    "i64 m", "i64 n", "i64 k", "ptr a", "i64 a.row", "i64 a.column", "ptr b", "i64 b.row", "i64 b.column", "ptr c",
    "i64 c.row",
)  # fmt: skip
#: The same in LLVM's words.
PARAMETERS = ", ".join(" %".join(parameter.split()) for parameter in _PARAMETERS)
_HEAD = """\
declare i64 @llvm.smin.i64(i64, i64)
declare void @llvm.prefetch.p0(ptr, i32, i32, i32)"""
# Unrolled, loops are no faster, and take long to compile.
_TAIL = '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}\n'


class _Vectors:
    def __init__(self, real: str, bits: int) -> None:
        self.real, self.size = real, {"float": 4, "double": 8}[real]
        self.lanes = bits // 8 // self.size
        self.vector = f"<{self.lanes} x {real}>"
        self.suffix = f"v{self.lanes}f{8 * self.size}"

    def text(self) -> str:
        masked = f"declare {self.vector} @llvm.masked.load.{self.suffix}.p0(ptr, <{self.lanes} x i1>, {self.vector})"
        return "\n\n".join([masked, *(self._down(high) for high in _WIDTHS), self._along(), self._choice()])

    def _multiplied(self, f: Function, kind: str, a: str, b: str, slot: str) -> None:
        """Add a product to what a slot holds."""
        product = f.op(f"fmul contract {kind} {a}, {b}")
        total = f.op(f"fadd contract {kind} {product}, {f.op(f'load {kind}, ptr {slot}')}")
        f.line(f"store {kind} {total}, ptr {slot}")

    def _load(self, f: Function, kind: str, place: str) -> str:
        return f.op(f"load {kind}, ptr {place}, align {self.size}")

    def _down(self, high: int) -> str:
        """Sums down the rows of a matrix, for `high` rows of the left operand."""
        f = Function(
            "internal void", f'"down.{self.real}.{high}"',
            ["i64 n", "i64 k", "ptr a", "i64 a.row", "i64 a.step", "ptr b", "i64 b.row", "ptr c", "i64 c.row"],
        )  # fmt: skip
        n, k = f.param("n"), f.param("k")
        lefts = [f.at("%a", f.param("a.row") * r, self.real) for r in range(high)]
        results = [f.at("%c", f.param("c.row") * r, self.real) for r in range(high)]

        def block(j: Int, count: int, kind: str, width: int) -> None:
            slots = [[f.room(kind) for _ in range(count)] for _ in range(high)]
            for slot in (slot for row in slots for slot in row):
                f.line(f"store {kind} zeroinitializer, ptr {slot}")
            column = f.at("%b", j, self.real)
            with f.loop(0, k) as i:
                row = f.at(column, i * f.param("b.row"), self.real)
                values = [self._load(f, kind, f.at(row, v * width, self.real)) for v in range(count)]
                if count > 1:
                    # Of a row only this much is read, so the processor's own prefetchers see no stream.
                    soon = f.at(row, f.param("b.row") * _AHEAD, self.real)
                    for line in range(count * width * self.size // _LINE):
                        place = f.at(soon, line * _LINE, "i8")
                        f.line(f"call void @llvm.prefetch.p0(ptr {place}, i32 0, i32 3, i32 1)")
                for left, sums in zip(lefts, slots, strict=True):
                    x = self._load(f, self.real, f.at(left, i * f.param("a.step"), self.real))
                    if width > 1:
                        x = f.op(f"insertelement {kind} poison, {self.real} {x}, i64 0")
                        x = f.op(f"shufflevector {kind} {x}, {kind} poison, <{width} x i32> zeroinitializer")
                    for value, slot in zip(values, sums, strict=True):
                        self._multiplied(f, kind, x, value, slot)
            for result, sums in zip(results, slots, strict=True):
                for v, slot in enumerate(sums):
                    place = f.at(result, j + v * width, self.real)
                    f.line(f"store {kind} {f.op(f'load {kind}, ptr {slot}')}, ptr {place}, align {self.size}")

        done = f.variable(0)
        for count in _WIDTHS[high]:
            width = count * self.lanes
            with f.loop(done.value, n - (width - 1), width) as j:
                block(j, count, self.vector, self.lanes)
                done.set(j + width)
        # The last register lies over results that are there already; they are the same again.
        with f.when((done.value < n).both(n >= self.lanes)):
            block(n - self.lanes, 1, self.vector, self.lanes)
            done.set(n)
        with f.loop(done.value, n) as j:
            block(j, 1, self.real, 1)
        return f.end()

    def _along(self) -> str:
        """Sums along the rows of a matrix."""
        f = Function(
            "internal void", f'"along.{self.real}"',
            ["i64 n", "i64 k", "ptr a", "ptr b", "i64 b.row", "ptr c", "i64 c.step"],
        )  # fmt: skip
        n, k, whole = f.param("n"), f.param("k"), f.param("n") & -_MANY

        def load(place: str, at: Int, left: Int | None) -> str:
            here = f.at(place, at, self.real)
            return self._load(f, self.vector, here) if left is None else self._first(f, here, left)

        def rows(j: Int, count: int) -> None:
            places = [f.at("%b", (j + r) * f.param("b.row"), self.real) for r in range(count)]
            sums = [[f.room(self.vector) for _ in range(_CHAINS)] for _ in places]
            for slot in (slot for row in sums for slot in row):
                f.line(f"store {self.vector} zeroinitializer, ptr {slot}")

            def step(at: Int, chain: int, left: Int | None) -> None:
                x = load("%a", at, left)
                for place, row in zip(places, sums, strict=True):
                    self._multiplied(f, self.vector, x, load(place, at, left), row[chain])

            long, done = _CHAINS * self.lanes, f.variable(0)
            with f.loop(0, k - (long - 1), long) as i:
                for chain in range(_CHAINS):
                    step(i + chain * self.lanes, chain, None)
                done.set(i + long)
            for chain in range(_CHAINS):
                at = done.value + chain * self.lanes
                with f.when(at < k):
                    step(at, chain, k - at)
            for r, row in enumerate(sums):
                total = self._total(f, row)
                place = f.at("%c", (j + r) * f.param("c.step"), self.real)
                f.line(f"store {self.real} {total}, ptr {place}, align {self.size}")

        with f.loop(0, whole, _MANY) as j:
            rows(j, _MANY)
        with f.loop(whole, n) as j:
            rows(j, 1)
        return f.end()

    def _first(self, f: Function, place: str, count: Int) -> str:
        """The first numbers of a register, zeros behind."""
        lanes = self.lanes
        short = f.op(f"trunc i64 {count.least(lanes)} to i32")
        one = f.op(f"insertelement <{lanes} x i32> poison, i32 {short}, i64 0")
        every = f.op(f"shufflevector <{lanes} x i32> {one}, <{lanes} x i32> poison, <{lanes} x i32> zeroinitializer")
        mask = f.op(f"icmp slt <{lanes} x i32> <{', '.join(f'i32 {i}' for i in range(lanes))}>, {every}")
        return f.op(
            f"call {self.vector} @llvm.masked.load.{self.suffix}.p0(ptr align {self.size} {place},"
            f" <{lanes} x i1> {mask}, {self.vector} zeroinitializer)"
        )  # fmt: skip

    def _total(self, f: Function, slots: Sequence[str]) -> str:
        """The sum of all that registers hold."""
        values = [f.op(f"load {self.vector}, ptr {slot}") for slot in slots]
        while len(values) > 1:
            values = [f.op(f"fadd {self.vector} {a}, {b}") for a, b in zip(values[::2], values[1::2], strict=True)]
        (value,), half = values, self.lanes // 2
        while half:
            # The upper half is nothing: where it stays what it was, LLVM 22 gets two sums side by side wrong.
            order = ", ".join(f"i32 {i + half}" if i < half else "i32 poison" for i in range(self.lanes))
            other = f.op(f"shufflevector {self.vector} {value}, {self.vector} poison, <{self.lanes} x i32> <{order}>")
            value, half = f.op(f"fadd {self.vector} {value}, {other}"), half // 2
        return f.op(f"extractelement {self.vector} {value}, i64 0")

    def _choice(self) -> str:
        f = Function("i1", symbol(self.real), _PARAMETERS)
        names = ("m", "n", "k", "a.row", "a.column", "b.row", "b.column", "c.row")
        m, n, k, a_row, a_column, b_row, b_column, c_row = (f.param(name) for name in names)

        beside, in_rows, single = b_column.equals(1), a_column.equals(1).both(b_row.equals(1)), n.equals(1)
        yes = f.const(0).equals(0)
        with f.when(beside.both(m <= ROWS)):
            done = f.variable(0)
            for high in _WIDTHS:
                with f.loop(done.value, m - (high - 1), high) as r:
                    left, to = f.at("%a", r * a_row, self.real), f.at("%c", r * c_row, self.real)
                    f.line(
                        f'call void @"down.{self.real}.{high}"(i64 {n}, i64 {k}, ptr {left}, i64 {a_row},'
                        f" i64 {a_column}, ptr %b, i64 {b_row}, ptr {to}, i64 {c_row})"
                    )
                    done.set(r + high)
            f.leave(yes, "i1 true")
        along = f'call void @"along.{self.real}"'
        with f.when(in_rows.both(m <= _ROWS_ALONG)):
            with f.loop(0, m) as r:
                left, to = f.at("%a", r * a_row, self.real), f.at("%c", r * c_row, self.real)
                f.line(f"{along}(i64 {n}, i64 {k}, ptr {left}, ptr %b, i64 {b_column}, ptr {to}, i64 1)")
            f.leave(yes, "i1 true")
        with f.when(in_rows.both(single)):
            f.line(f"{along}(i64 {m}, i64 {k}, ptr %b, ptr %a, i64 {a_row}, ptr %c, i64 {c_row})")
            f.leave(yes, "i1 true")
        with f.when(single.both(a_row.equals(1)).both(c_row.equals(1))):
            f.line(
                f'call void @"down.{self.real}.1"(i64 {m}, i64 {k}, ptr %b, i64 0, i64 {b_row}, ptr %a,'
                f" i64 {a_column}, ptr %c, i64 0)"
            )
            f.leave(yes, "i1 true")
        return f.end("i1 false")

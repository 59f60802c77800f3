"""Correlations of one channel a group with a register's places for channels: small images, steps, channels last.

A program turns the planes of some channels around, so that a place of all of them is a register. Then a tap is one
multiplication for all, whatever the step. Rows have the zeros beside them that taps see, so sums of several places stay
in registers over all taps. Large planes are computed some rows at a time.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opweave.codegen.native.correlation.depthwise import Depthwise
from opweave.codegen.native.correlation.words import Record
from opweave.codegen.native.emitting import Function, Int, Number

#: Places of all channels that are held at once by an adjoint; places that are summed side by side.
_HELD, _MANY = 400, 4
#: Places that are held of a plane whose results are formed in registers, as many as the second cache has room for;
#: those that are turned around at once; results that are formed side by side, and taps whose gradients are.
_PLANE, _TURNED, _TILE, _BESIDE = 4096, 256, 8, 3
_PARAMETERS = ("i64 apart", "i64 count", "i64 high", "i64 wide", "i64 row", "i64 step")


class Axis:
    """A dimension: places, taps, and what there is of the input between `low` and `high`."""

    def __init__(self, c: Record, d: int) -> None:
        names = ("count", "step", "taps", "dstep", "in", "out", "w")
        self.count, self.step, self.taps, self.dstep, self.of, self.to, self.by = (c[f"{name}{d}"] for name in names)
        # A phase of a stride may have no taps.
        self.dstep = self.dstep.most(1)
        self.reach = ((self.taps - 1) * self.dstep).most(0) + 1
        self.low = c[f"lo{d}"].most(0)
        self.high = c[f"hi{d}"].least((self.count - 1) * self.step + self.reach).most(self.low)

    def places(self, tap: Int) -> tuple[Int, Int]:
        """The places that see something by a tap, from and to."""
        first, last = ((end - tap * self.dstep).most(0).up(self.step) for end in (self.low, self.high))
        return first, last.least(self.count)


def held(c: Record) -> Int:
    """Whether programs of this file have room for the rows of a row of places, and nothing has depth."""
    y, x = Axis(c, 1), Axis(c, 2)
    flat = c["count0"].equals(1).both(c["taps0"].equals(1)).both(c["lo0"] <= 0).both(c["hi0"] > 0)
    rows = ((x.count - 1) * x.step + x.reach) * y.reach
    return flat.both(rows <= _PLANE)


class Channels(Depthwise):
    """Programs of several channels, a register's place each."""

    def _lanes(self) -> str:
        """Functions: a plane of each of some channels becomes registers of a place of all, and the other way around."""
        f = Function("internal void", "lanes.in", ["ptr of", *_PARAMETERS, "ptr to", "i64 later"], "noinline")
        self._planes(f, "%of", self._load_plane)
        given = f.end()
        f = Function("internal void", "lanes.out", ["ptr to", *_PARAMETERS, "ptr of"], "noinline")
        self._planes(f, "%to", self._store_plane)
        return f"{given}\n\n{f.end()}"

    def _planes(self, f: Function, memory: str, move: Callable[[Function, str, Int, Int, Int], None]) -> None:
        apart, count, high, wide, row, step = (f.param(p.split()[1]) for p in _PARAMETERS)
        beside = apart.equals(1)
        with f.when(beside), f.loop(0, high) as y, f.loop(0, wide) as x:
            move(f, self._stored_at(f, memory, y * row + x * step), y * wide + x, f.const(-1), count)
        along = beside.denied().both(step.equals(1))
        whole = row.equals(wide).either(high.equals(1))
        rows, each = whole.choose(1, high), whole.choose(high * wide, wide)
        with f.when(along), f.loop(0, rows) as y, f.loop(0, each, self.lanes) as x:
            move(f, self._stored_at(f, memory, y * row + x), y * wide + x, each - x, count)
        other = beside.either(along).denied()
        with f.when(other), f.loop(0, count) as lane, f.loop(0, high) as y, f.loop(0, wide, rolled=False) as x:
            place = self._stored_at(f, memory, lane * apart + y * row + x * step)
            move(f, place, (y * wide + x) * self.lanes + lane, f.const(0), count)

    def _load_plane(self, f: Function, place: str, at: Int, left: Int, count: Int) -> None:
        if left.text == "-1":
            value = f.op(f"call {self.vector} @first(ptr {place}, i64 {count})")
            self._vstore(f, value, self._at(f, "%to", at * self.lanes))
        elif left.text == "0":
            f.line(f"store {self.real} {self._get(f, place)}, ptr {self._at(f, '%to', at)}")
        else:
            rows: list[str] = []
            read = self._below(f, left)
            for lane in range(self.lanes):
                of = self._stored_at(f, place, (count - 1).least(lane) * f.param("apart"))
                self._ahead_in_short(f, self._stored_at(f, of, f.param("later")))
                rows.append(self._loaded(f, of, read))
            for r, value in enumerate(self._transposed(f, rows)):
                self._vstore(f, value, self._at(f, "%to", (at + r) * self.lanes))

    def _store_plane(self, f: Function, place: str, at: Int, left: Int, count: Int) -> None:
        if left.text == "-1":
            self._put_several(f, self._vload(f, self._at(f, "%of", at * self.lanes)), place, count)
        elif left.text == "0":
            self._put(f, f.op(f"load {self.real}, ptr {self._at(f, '%of', at)}"), place)
        else:
            rows = [self._vload(f, self._at(f, "%of", (at + r) * self.lanes)) for r in range(self.lanes)]
            kept = self._below(f, left)
            for lane, value in enumerate(self._transposed(f, rows)):
                with f.when(count > lane):
                    self._put_some(f, value, self._stored_at(f, place, f.param("apart") * lane), kept)

    def _lane_rooms(self, f: Function, c: Record, sizes: Sequence[Int]) -> list[str]:
        """Room for so many registers each; a program is left where there is none."""
        rooms = [self._room(f, size * self.lanes) for size in sizes]
        missing = f.is_null(*rooms)
        with f.when(missing):
            c["failed"] = 1
            self._free(f, rooms)
        f.leave(missing)
        return rooms

    def _free(self, f: Function, rooms: list[str]) -> None:
        for room in rooms:
            f.line(f"call void @free(ptr {room})")

    def _turn(self, f: Function, way: str, *arguments: Number | str, later: Number = 0) -> None:
        """Call `lanes.in` or `lanes.out`; `later`: how far from here what is turned next begins."""
        kinds = ("ptr", *["i64"] * 6, "ptr", *(["i64"] if way == "in" else []))
        arguments = (*arguments, *([later] if way == "in" else []))
        given = ", ".join(f"{kind} {argument}" for kind, argument in zip(kinds, arguments, strict=True))
        f.line(f"call void @lanes.{way}({given})")

    def _taps_in(
        self, f: Function, c: Record, y: Axis, x: Axis, g: Int, m: Int, count: Int, to: str
    ) -> Callable[[Int, Int], Int]:
        """Have a filter of each channel turned; the number of a tap there."""
        back = x.by < 0
        last = back.choose((y.taps - 1) * y.by + (x.taps - 1) * x.by, 0)
        weight = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m * c["w_m"] + last)
        row, step = (back.choose(f.const(0) - by, by) for by in (y.by, x.by))
        self._turn(f, "in", weight, c["w_g"], count, y.taps, x.taps, row, step, to)
        window = y.taps * x.taps
        return lambda v, u: back.choose(window - 1 - (v * x.taps + u), v * x.taps + u)

    def _several_places(self, f: Function, first: Int, last: Int, work: Callable[[Int, int], None]) -> None:
        """Some places, several side by side as long as there are so many."""
        stop = first + (last - first).most(0) // _MANY * _MANY
        with f.loop(first, stop, _MANY) as i:
            work(i, _MANY)
        with f.loop(stop, last) as i:
            work(i, 1)

    def _add_row(
        self, f: Function, begin: Int, end: Int, to: Callable[[Int], str], taps: tuple[Number, Number, int],
        seen: Callable[[Int, Int], str], weight: Callable[[Int], str],
    ) -> None:  # fmt: skip
        """Add to a row of sums what taps one below the other see."""

        def work(i: Int, many: int) -> None:
            places = [to(i + v) for v in range(many)]
            sums = [f.room(self.vector) for _ in places]
            for place, one in zip(places, sums, strict=True):
                f.line(f"store {self.vector} {self._vload(f, place)}, ptr {one}")
            with f.loop(*taps) as tap:
                factor = self._vload(f, weight(tap))
                for v, one in enumerate(sums):
                    old = f.op(f"load {self.vector}, ptr {one}")
                    new = self._fma(f, factor, self._vload(f, seen(tap, i + v)), old)
                    f.line(f"store {self.vector} {new}, ptr {one}")
            for place, one in zip(places, sums, strict=True):
                self._vstore(f, f.op(f"load {self.vector}, ptr {one}"), place)

        self._several_places(f, begin, end, work)

    def _lane_at(self, f: Function, base: str, place: Number) -> str:
        return self._at(f, base, place * self.lanes)

    def _start(
        self, f: Function, c: Record, at: Int, apart: Int, count: Int, bias: str, sums: str, places: Int
    ) -> None:
        """Have all sums begin with the bias, or with zero."""
        given = c.pointer("bias")
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        self._vstore(f, "zeroinitializer", bias)
        with f.when(there_is):
            self._turn(f, "in", self._stored_at(f, given, at), apart, count, 1, 1, 0, 0, bias)
        first = self._vload(f, bias)
        with f.loop(0, places) as i:
            self._vstore(f, first, self._lane_at(f, sums, i))

    def _lane_forward(self) -> str:
        """Programs of a correlation: an image and some channels each.

        Rows of the input lie behind each other with zeros beside them, and are turned around shortly before they are
        read. Sums stay in registers over all taps.
        """
        f, c = self._task("lanes.forward")
        y, x = Axis(c, 1), Axis(c, 2)
        wide, pitch = x.high - x.low, (x.count - 1) * x.step + x.reach
        rows, groups, window, images = c["rows"], c["groups"], c["window"], c["n"]
        # Rows of results whose input is held, and those that are turned around at once.
        held = ((f.const(_PLANE) // pitch - y.reach).most(0) // y.step + 1).least(y.count)
        turned = (f.const(_TURNED) // wide.most(1)).most(1)
        band = (f.const(_TURNED) // (wide.most(x.count) * y.step).most(1)).most(1).least(held)
        slack = self.lanes + _TILE
        sizes = (
            ((held - 1) * y.step + y.reach) * pitch + _TILE * x.step + slack, turned * wide + slack,
            band * x.count + slack, window * rows + slack, rows + slack,
        )  # fmt: skip
        rooms = self._lane_rooms(f, c, sizes)
        seen, compact, sums, filters, bias = rooms
        back = x.by < 0
        first_tap, next_tap = back.choose(window - 1, 0), back.choose(-1, 1)
        steps = [x.step * k for k in range(_TILE)]
        before = f.variable(-1)
        with f.loop(f.param("start"), f.param("end")) as i:
            n, g = i % images, i // images * self.lanes
            count = (groups - g).least(self.lanes)
            new = before.value.equals(g).denied()
            with f.when(new):
                before.set(g)
                self._lane_filters(f, c, y, x, g, count, filters, bias)
            with f.loop(0, y.count, held) as begin:
                end = (begin + held).least(y.count)
                top = (begin * y.step).most(y.low)
                done = f.variable(top)
                with f.loop(begin, end, band) as y0:
                    y1 = (y0 + band).least(end)
                    bottom = ((y1 - 1) * y.step + y.reach).least(y.high)
                    at = n * c["in_n"] + g * c["in_g"] + x.low * x.of
                    of = self._stored_at(f, c.pointer("input"), at), c["in_g"], count, y.of, x.of
                    self._take_rows(
                        f, of, (done.value, bottom, top), (x.low, x.high, pitch), turned, compact, seen, c["in_n"]
                    )
                    done.set(done.value.most(bottom))
                    # Places beyond the last are computed as well.
                    beyond = self._lane_at(f, seen, (done.value - top) * pitch)
                    f.line(f"call void @clear(ptr {beyond}, i64 {x.step * (_TILE * self.lanes)})")
                    with f.loop(0, rows) as m:
                        first = self._vload(f, self._lane_at(f, bias, m))
                        taps = self._lane_at(f, filters, m * window + first_tap)
                        with f.loop(y0, y1) as at:
                            a, b = ((edge - at * y.step).most(0).up(y.dstep) for edge in (y.low, y.high))
                            down = a, b.least(y.taps)
                            row = self._lane_at(f, seen, (at * y.step - top) * pitch)
                            to = self._lane_at(f, sums, (at - y0) * x.count)
                            # What is computed beyond a row is where the next one begins.
                            most = (x.count + (_TILE // 2 - 1)) // _TILE * _TILE
                            for a, b, many in ((0, most, _TILE), (most, x.count, _TILE // 2)):
                                with f.loop(a, b, many) as place:
                                    self._lane_tile(
                                        f, y, x, down, self._lane_at(f, row, place * x.step), pitch, steps[:many],
                                        taps, next_tap, first, self._lane_at(f, to, place),
                                    )  # fmt: skip
                        place = n * c["out_n"] + g * c["out_g"] + m * c["out_m"] + y0 * y.to
                        to = self._stored_at(f, c.pointer("output"), place)
                        self._turn(f, "out", to, c["out_g"], count, y1 - y0, x.count, y.to, x.to, sums)
        self._free(f, rooms)
        return f.end()

    def _take_rows(
        self, f: Function, of: tuple[str, Int, Int, Int, Int], rows: tuple[Number, Number, Number],
        beside: tuple[Number, Int, Int], turned: Int, compact: str, to: str, later: Int,
    ) -> None:  # fmt: skip
        """Have rows turned, some at a time, and put with zeros beside them where the first of all begins.

        Those of the next image begin `later`.
        """
        memory, apart, count, row_by, by = of
        first, last, top = rows
        low, high, pitch = beside
        wide = high - low
        with f.loop(first, last, turned) as row:
            some = Int(f, str(last)).least(row + turned) - row
            begin = self._stored_at(f, memory, row * row_by)
            self._turn(f, "in", begin, apart, count, some, wide, row_by, by, compact, later=later)
            with f.loop(0, some) as more:
                there = self._lane_at(f, to, (row + more - top) * pitch)
                own = self._lane_at(f, compact, more * wide - low)
                for a, b, zero in ((0, low, True), (low, high, False), (high, pitch, True)):
                    with f.loop(a, b) as place:
                        value = "zeroinitializer" if zero else self._vload(f, self._lane_at(f, own, place))
                        self._vstore(f, value, self._lane_at(f, there, place))

    def _lane_tile(
        self, f: Function, y: Axis, x: Axis, down: tuple[Int, Int], row: str, pitch: Int, steps: Sequence[Int],
        taps: str, next_tap: Int, first: str, to: str,
    ) -> None:  # fmt: skip
        """Some places of a row, by all taps from one row to another."""
        sums = [f.room(self.vector) for _ in steps]
        for one in sums:
            f.line(f"store {self.vector} {first}, ptr {one}")
        with f.loop(*down) as v:
            begins = self._lane_at(f, row, v * y.dstep * pitch)
            weights = self._lane_at(f, taps, v * x.taps * next_tap)
            with f.loop(0, x.taps) as u:
                factor = self._vload(f, self._lane_at(f, weights, u * next_tap))
                here = self._lane_at(f, begins, u * x.dstep)
                for step, one in zip(steps, sums, strict=True):
                    value = self._vload(f, self._lane_at(f, here, step))
                    old = f.op(f"load {self.vector}, ptr {one}")
                    f.line(f"store {self.vector} {self._fma(f, factor, value, old)}, ptr {one}")
        for k, one in enumerate(sums):
            self._vstore(f, f.op(f"load {self.vector}, ptr {one}"), self._lane_at(f, to, k))

    def _lane_filters(
        self, f: Function, c: Record, y: Axis, x: Axis, g: Int, count: Int, filters: str, bias: str
    ) -> None:
        """Have the filters of some channels turned, and what their results begin with; note what is not finite."""
        rows, window = c["rows"], c["window"]
        bits = f"<{self.lanes} x i1>"
        several = f.room(bits)
        f.line(f"store {bits} zeroinitializer, ptr {several}")
        f.line(f"call void @clear(ptr {filters}, i64 {window * rows * self.lanes})")
        f.line(f"call void @clear(ptr {bias}, i64 {rows * self.lanes})")
        given = c.pointer("bias")
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        with f.loop(0, rows) as m:
            self._taps_in(f, c, y, x, g, m, count, self._lane_at(f, filters, m * window))
            with f.when(there_is):
                by, to = c["bias_by"], self._lane_at(f, bias, m)
                self._turn(f, "in", self._stored_at(f, given, (g * rows + m) * by), rows * by, count, 1, 1, 0, 0, to)
        with f.loop(0, window * rows) as tap:
            self._is_odd(f, self._vload(f, self._lane_at(f, filters, tap)), self.vector, several, bits)
        self._note(f, c, several)

    def _lane_weight(self) -> str:
        """Programs of a gradient by the weight: some channels each.

        Rows of a band lie behind each other with zeros between them, both those of the input and those of the
        gradient, and are one long row, whose sums for a few taps stay in registers. If those are not finite, all is
        computed again without what lies outside.
        """
        f, c = self._task("lanes.weight")
        y, x = Axis(c, 1), Axis(c, 2)
        wide, pitch = x.high - x.low, (x.count - 1) * x.step + x.reach
        groups, rows, window, images = c["groups"], c["rows"], c["window"], c["n"]
        held = ((f.const(_PLANE) // pitch - y.reach).most(0) // y.step + 1).least(y.count)
        turned = (f.const(_TURNED) // wide.most(1)).most(1)
        joined = y.step.equals(1).both(x.step.equals(1))
        apart = joined.choose(pitch, x.count)
        band = (f.const(_TURNED) // (apart * y.step)).most(1).least(held)
        slack = self.lanes + _MANY
        slots = window.up(_BESIDE) * _BESIDE
        sizes = (
            ((held - 1) * y.step + y.reach) * pitch + _MANY * x.step + slack,
            (turned * wide).most(band * x.count) + slack, band * apart + slack, slots * rows + slack,
        )  # fmt: skip
        rooms = self._lane_rooms(f, c, sizes)
        seen, compact, grads, totals = rooms
        bits = f"<{self.lanes} x i1>"
        several, steps = f.room(bits), [x.step * k for k in range(_MANY)]
        with f.loop(f.param("start"), f.param("end")) as i:
            g = i * self.lanes
            count = (groups - g).least(self.lanes)
            exact, again = f.variable(0), f.variable(1)
            with f.repeat(again):
                with f.loop(0, rows * slots) as tap:
                    self._vstore(f, "zeroinitializer", self._lane_at(f, totals, tap))
                with f.loop(0, images) as n, f.loop(0, y.count, held) as begin:
                    end, top = (begin + held).least(y.count), begin * y.step
                    done = f.variable(top)
                    with f.loop(begin, end, band) as y0:
                        y1 = (y0 + band).least(end)
                        first, last = done.value, (y1 - 1) * y.step + y.reach
                        for a, b in ((first, last.least(y.low)), (first.most(y.high), last)):
                            with f.loop(a * pitch, b * pitch) as place:
                                self._vstore(f, "zeroinitializer", self._lane_at(f, seen, place - top * pitch))
                        at = n * c["in_n"] + g * c["in_g"] + x.low * x.of
                        of = self._stored_at(f, c.pointer("input"), at), c["in_g"], count, y.of, x.of
                        inside = first.most(y.low), last.least(y.high), top
                        self._take_rows(f, of, inside, (x.low, x.high, pitch), turned, compact, seen, c["in_n"])
                        done.set(done.value.most(last))
                        with f.loop(0, rows) as m:
                            at = n * c["out_n"] + g * c["out_g"] + m * c["out_m"]
                            of = self._stored_at(f, c.pointer("output"), at), c["out_g"], count, y.to, x.to
                            self._take_rows(f, of, (y0, y1, y0), (0, x.count, apart), band, compact, grads, c["out_n"])
                            own = self._lane_at(f, totals, m * slots)
                            row = self._lane_at(f, seen, (y0 * y.step - top) * pitch)
                            with f.when(exact.value.equals(1)), f.loop(0, y.taps) as v, f.loop(0, x.taps) as u:
                                total = self._lane_at(f, own, v * x.taps + u)
                                self._add_tap(f, y, x, v, u, (y0, y1), (pitch, apart), row, grads, total)
                            with f.when(exact.value.equals(0)), f.loop(0, window, _BESIDE) as tap:
                                high = y1 - y0
                                batch, along = joined.choose(high, 1), joined.choose((high - 1) * pitch, 0) + x.count
                                offsets = [(tap + k).least(window - 1) for k in range(_BESIDE)]
                                places = [
                                    self._lane_at(f, row, t // x.taps * y.dstep * pitch + t % x.taps * x.dstep)
                                    for t in offsets
                                ]
                                self._add_taps(
                                    f, places, grads, (high, batch, along), (y.step * pitch, apart), steps,
                                    self._lane_at(f, own, tap),
                                )  # fmt: skip
                f.line(f"store {bits} zeroinitializer, ptr {several}")
                with f.loop(0, rows * slots) as tap:
                    self._is_odd(f, self._vload(f, self._lane_at(f, totals, tap)), self.vector, several, bits)
                odd = f.op(
                    f"call i1 @llvm.vector.reduce.or.v{self.lanes}i1({bits} {f.op(f'load {bits}, ptr {several}')})"
                )
                again.set(Int(f, odd).both(exact.value.equals(0)).choose(1, 0))
                exact.set(1)
            with f.loop(0, rows) as m:
                to = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m * c["w_m"])
                of = self._lane_at(f, totals, m * slots)
                self._turn(f, "out", to, c["w_g"], count, y.taps, x.taps, y.by, x.by, of)
        self._free(f, rooms)
        return f.end()

    def _add_taps(
        self, f: Function, places: list[str], grads: str, rows: tuple[Int, Int, Int], apart: tuple[Int, Int],
        steps: Sequence[Int], totals: str,
    ) -> None:  # fmt: skip
        """Add to the gradients of some taps what rows have for them: how many, how many are one, and how long it is."""
        high, batch, along = rows
        sums = [[f.room(self.vector) for _ in steps] for _ in places]
        for t, some in enumerate(sums):
            for k, one in enumerate(some):
                value = "zeroinitializer" if k else self._vload(f, self._lane_at(f, totals, t))
                f.line(f"store {self.vector} {value}, ptr {one}")

        def add(i: Int, begins: list[str], given: str, many: int) -> None:
            for k in range(many):
                grad = self._vload(f, self._lane_at(f, given, i + k))
                for of, some in zip(begins, sums, strict=True):
                    value = self._vload(f, self._lane_at(f, of, i * steps[1] + steps[k]))
                    old = f.op(f"load {self.vector}, ptr {some[k]}")
                    f.line(f"store {self.vector} {self._fma(f, grad, value, old)}, ptr {some[k]}")

        with f.loop(0, high, batch) as y:
            begins, given = [self._lane_at(f, of, y * apart[0]) for of in places], self._lane_at(f, grads, y * apart[1])
            stop = along & -len(steps)
            with f.loop(0, stop, len(steps)) as i:
                add(i, begins, given, len(steps))
            with f.loop(stop, along) as i:
                add(i, begins, given, 1)
        for t, some in enumerate(sums):
            self._vstore(f, self._summed(f, some), self._lane_at(f, totals, t))

    def _summed(self, f: Function, sums: list[str]) -> str:
        values = [f.op(f"load {self.vector}, ptr {one}") for one in sums]
        while len(values) > 1:
            values = [f.op(f"fadd {self.vector} {a}, {b}") for a, b in zip(values[::2], values[1::2], strict=True)]
        return values[0]

    def _add_tap(
        self, f: Function, y: Axis, x: Axis, v: Int, u: Int, rows: tuple[Int, Int], apart: tuple[Int, Int],
        seen: str, grads: str, total: str,
    ) -> None:  # fmt: skip
        """Add to a tap's gradient what some rows of places have for it, without what lies outside."""
        y0, y1 = rows
        one = f.room(self.vector)
        f.line(f"store {self.vector} {self._vload(f, total)}, ptr {one}")
        (first, last), (begin, end) = y.places(v), x.places(u)
        with f.loop(first.most(y0), last.least(y1)) as at:
            given = self._lane_at(f, grads, (at - y0) * apart[1])
            row = self._lane_at(f, seen, ((at - y0) * y.step + v * y.dstep) * apart[0] + u * x.dstep)
            with f.loop(begin, end) as place:
                value, grad = (self._vload(f, self._lane_at(f, *at)) for at in ((row, place * x.step), (given, place)))
                new = self._fma(f, grad, value, f.op(f"load {self.vector}, ptr {one}"))
                f.line(f"store {self.vector} {new}, ptr {one}")
        self._vstore(f, f.op(f"load {self.vector}, ptr {one}"), total)

    def _lane_adjoint(self) -> str:
        """Programs of the adjoint of a correlation in its input, which is written: an image and some channels each."""
        f, c = self._task("lanes.adjoint")
        y, x = Axis(c, 1), Axis(c, 2)
        lows, highs = ([c[f"{name}{d}"] for d in (1, 2)] for name in ("lo", "hi"))
        across = (highs[1] - lows[1]).least(_HELD).most(1)
        down = (f.const(_HELD) // across).most(1)
        slack = self.lanes + _MANY
        held = ((down + y.reach) // y.step + 2) * ((across + x.reach) // x.step + 2)
        sizes = down * across + slack, held + slack, c["window"] + slack, f.const(slack)
        rooms = self._lane_rooms(f, c, sizes)
        sums, given, filters, bias = rooms
        groups, rows, by = c["groups"], c["rows"], c["bias_by"]
        blocks = groups.up(self.lanes)
        with f.loop(f.param("start"), f.param("end")) as i:
            n, g = i // blocks, i % blocks * self.lanes
            count = (groups - g).least(self.lanes)
            with f.loop(lows[0], highs[0], down) as u0, f.loop(lows[1], highs[1], across) as v0:
                u1, v1 = (u0 + down).least(highs[0]), (v0 + across).least(highs[1])
                wide = v1 - v0
                (first, last), (begin, end) = (
                    ((a - axis.reach + 1).most(0).up(axis.step), ((b - 1) // axis.step + 1).least(axis.count))
                    for axis, a, b in ((y, u0, u1), (x, v0, v1))
                )
                along = (end - begin).most(0)
                self._start(f, c, g * by, by, count, bias, sums, (u1 - u0) * wide)
                with f.loop(0, rows) as m:
                    number = self._taps_in(f, c, y, x, g, m, count, filters)
                    place = n * c["out_n"] + g * c["out_g"] + m * c["out_m"] + first * y.to + begin * x.to
                    of = self._stored_at(f, c.pointer("output"), place)
                    self._turn(f, "in", of, c["out_g"], count, (last - first).most(0), along, y.to, x.to, given)
                    with f.loop(u0, u1) as u, f.loop(0, y.taps) as v:
                        past = u - v * y.dstep
                        at = past.most(0) // y.step
                        seen = (past >= 0).both((at * y.step).equals(past)).both(at < y.count)
                        with f.when(seen), f.loop(0, x.taps) as tap:
                            row = self._lane_at(f, sums, (u - u0) * wide + tap * x.dstep - v0)
                            grads = self._lane_at(f, given, (at - first) * along - begin)
                            a, b = ((edge - tap * x.dstep).most(0).up(x.step) for edge in (v0, v1))
                            self._add_row(
                                f, a, b.least(x.count), lambda i: self._lane_at(f, row, i * x.step), (0, 1, 1),
                                lambda _, i: self._lane_at(f, grads, i),
                                lambda _: self._lane_at(f, filters, number(v, tap)),
                            )  # fmt: skip
                place = n * c["in_n"] + g * c["in_g"] + u0 * y.of + v0 * x.of
                to = self._stored_at(f, c.pointer("input"), place)
                self._turn(f, "out", to, c["in_g"], count, u1 - u0, wide, y.of, x.of, sums)
        self._free(f, rooms)
        return f.end()

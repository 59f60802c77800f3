"""Rows of the input and of the results, a cache full of them at a time."""

from __future__ import annotations

from collections.abc import Callable

from opweave.codegen.native import amx
from opweave.codegen.native.amx import ROWS
from opweave.codegen.native.correlation.filters import Filters
from opweave.codegen.native.correlation.vectors import PAIRED
from opweave.codegen.native.correlation.words import BLOCK, PIECE, PITCH, Record
from opweave.codegen.native.emitting import Function, Int


class Packing(Filters):
    """What brings operands to where the kernel in registers reads them, and results to where they belong."""

    def _copy(self) -> str:
        """Numbers that lie `step` apart, as they are computed with; may write a register's width beyond the last."""
        f = Function("internal void", "spaced", ["ptr to", "ptr of", "i64 step", "i64 count"], "noinline")
        step, count = f.param("step"), f.param("count")
        with f.when(step.equals(1)):
            whole = count.most(0) & -self.lanes
            with f.loop(0, whole, self.lanes) as i:
                self._vstore(f, self._load_several(f, self._stored_at(f, "%of", i)), self._at(f, "%to", i))
            with f.when(whole < count):
                of = self._stored_at(f, "%of", whole)
                value = f.op(f"call {self.vector} @first(ptr {of}, i64 {count - whole})")
                self._vstore(f, value, self._at(f, "%to", whole))
        with f.when(step.equals(2)), f.loop(0, count, self.lanes) as i:
            left = (count - i) * 2 - 1
            parts = [
                f.op(f"call {self.vector} @first(ptr {self._stored_at(f, '%of', i * 2 + k)}, i64 {left - k})")
                for k in (0, self.lanes)
            ]
            value = self._halved(f, parts, 0)
            self._vstore(f, value, self._at(f, "%to", i))
        with f.when(step.equals(1).either(step.equals(2)).denied()), f.loop(0, count, rolled=False) as i:
            value = self._get(f, self._stored_at(f, "%of", i * step))
            f.line(f"store {self.real} {value}, ptr {self._at(f, '%to', i)}")
        return f.end() + self._copy_pairs()

    def _copy_pairs(self) -> str:
        """Numbers of two channels that lie side by side, as pairs; of the other there may be none."""
        if not self.by_channels:
            return ""
        f = Function("internal void", "spaced.pairs", ["ptr to", "ptr of", "ptr other", "i64 count"], "noinline")
        count, (channels, upper) = f.param("count"), self._two(f, "%of", "%other")
        whole = count & -self.lanes
        with f.loop(0, whole, self.lanes) as i:
            values = [self._load_several(f, self._stored_at(f, of, i)) for of in channels]
            self._join(f, values, self._at(f, "%to", i), upper)
        with f.when(whole < count):
            values = [
                f.op(f"call {self.vector} @first(ptr {self._stored_at(f, of, whole)}, i64 {count - whole})")
                for of in channels
            ]
            self._join(f, values, self._at(f, "%to", whole), upper)
        return f"\n\n{f.end()}"

    def _zero(self) -> str:
        """Zeros; may write a register's width beyond the last."""
        f = Function("internal void", "clear", ["ptr to", "i64 count"], "alwaysinline")
        with f.loop(0, f.param("count"), self.lanes) as i:
            self._vstore(f, "zeroinitializer", self._at(f, "%to", i))
        return f.end()

    def _fill(self) -> str:
        """Functions: put the rows of a channel that the block sees somewhere, with the zeros around."""
        return "\n\n".join(self._fill_of(paired) for paired in ((False, True) if self.kind.paired else (False,)))

    def _fill_of(self, paired: bool) -> str:
        """`paired`: of two channels, as pairs; of the other there may be none, and `room` is for a row."""
        name, more = ("pair_rows", ["ptr other", "ptr room"]) if paired else ("channel_rows", [])
        f, c, t = self._open(name, "ptr channel", "ptr to", *more)
        pitch, phase, step, seen_from = t["pitch"], t["phase"], c["step2"], t["begin"]
        lo0, hi0, lo1, hi1 = (c[f"{name}{d}"] for d in range(2) for name in ("lo", "hi"))
        in_n, in0, in1, in2 = c["in_n"], c["in0"], c["in1"], c["in2"]
        pieces, edges = t.pointer("pieces"), t.pointer("edges")
        apart = step * in2
        channels, upper = ["%channel"], ""
        if paired:
            channels, upper = self._two(f, "%channel", "%other")

        def keep(values: list[str], place: str) -> None:
            if paired:
                self._join(f, values, place, upper)
            else:
                self._vstore(f, values[0], place)

        with f.loop(0, t["found"]) as number:
            piece = f.at(pieces, number * PIECE)
            image, z0, deep, y0, high, begin = (f.load(piece, i) for i in range(PIECE))
            with f.loop(0, deep) as z:
                uz = z + z0
                inside = (uz >= lo0).both(uz < hi0)
                with f.loop(0, high) as y:
                    uy = y + y0
                    seen = inside.both((uy >= lo1).both(uy < hi1))
                    row = self._at(f, "%to", begin + (z * high + y) * pitch)
                    second = self._at(f, row, phase)
                    with f.when(seen.denied()):
                        f.line(f"call void @clear(ptr {row}, i64 {pitch})")
                    with f.when(seen):
                        at = image * in_n + uz * in0 + uy * in1 + seen_from * in2
                        rows = [self._stored_at(f, channel, at) for channel in channels]
                        later = [self._stored_at(f, row, c["in_c"] * (2 * len(rows))) for row in rows]
                        with f.when(apart.equals(1)), f.loop(0, pitch, self.lanes) as i:
                            for of in later:
                                self._ahead(f, self._stored_at(f, of, i))
                            keep([self._inside(f, t, of, i) for of in rows], self._at(f, row, i))
                        halved = step.equals(2).both(in2.equals(1))
                        last = (phase - 1) // self.lanes * self.lanes
                        with f.when(halved), f.loop(0, phase, self.lanes) as k:
                            # Every other number of two registers, from the end: what is written beyond it is where
                            # the others begin.
                            i = last - k
                            for of in later:
                                self._ahead(f, self._stored_at(f, of, i * 2))
                            found = [[self._inside(f, t, of, i * 2 + k) for k in (0, self.lanes)] for of in rows]
                            for p, to in enumerate((row, second)):
                                keep([self._halved(f, parts, p) for parts in found], self._at(f, to, i))
                        other = apart.equals(1).either(halved).denied()
                        with f.when(other), f.loop(0, step) as p:
                            first, last = f.load(edges, p * 2), f.load(edges, p * 2 + 1)
                            to = self._at(f, row, p * phase)
                            f.line(f"call void @clear(ptr {to}, i64 {first})")
                            places = [self._at(f, to, first), "%room"]
                            for place, of in zip(places, rows, strict=False):
                                begins = self._stored_at(f, of, (p + first * step) * in2)
                                f.line(f"call void @spaced(ptr {place}, ptr {begins}, i64 {apart}, i64 {last - first})")
                            if paired:
                                with f.loop(0, last - first, self.lanes) as i:
                                    values = [self._vload(f, self._at(f, place, i)) for place in places]
                                    keep(values, self._at(f, places[0], i))
                            f.line(f"call void @clear(ptr {self._at(f, to, last)}, i64 {phase - last})")
        return f.end()

    def _inside(self, f: Function, t: Record, row: str, place: Int) -> str:
        """A register of a row of the input from a place on, a multiple of its width: zeros where there is no input."""
        bits = f.op(f"trunc i64 {f.load(t.pointer('masks'), place // self.lanes)} to i{self.lanes}")
        mask = f.op(f"bitcast i{self.lanes} {bits} to <{self.lanes} x i1>")
        return self._loaded(f, self._stored_at(f, row, place), mask)

    def _plan(self) -> str:
        """Where the places [p0, p1) read and write: stretches of them, by panels of `panel` places."""
        f, c, t = self._open("plan", "i64 p0", "i64 p1", "i64 panel")
        p0, p1, panel = (f.param(name) for name in ("p0", "p1", "panel"))
        # The places of a row, and those of them that have results.
        c1, c2, seen = c["count1"], c["line"], c["count2"]
        s0, s1, s2 = (c[f"step{d}"] for d in range(3))
        direct = c["direct"].equals(1)
        image = c["image"]
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
        # Of one row of places only what they see is taken.
        one_row = single.both((p0 // c2).equals((p1 - 1) // c2))
        x0 = one_row.choose(p0 % c2, 0)
        along = one_row.choose((p1 - p0).least(seen), seen)
        phase = ((along - 1) * s2 + (c["taps2"] - 1) * c["dstep2"] + 1).up(s2)
        pitch = phase * s2
        t["phase"], t["pitch"], t["begin"] = phase, pitch, x0 * s2
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
            follows = follows.both((f.load(before, 1) + long).equals(lane_))
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
            piece = f.at(pieces, number.value * PIECE)
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
                packed = begin + row * pitch + x.value - x0
                plain = n * in_n + z.value * in0 + y.value * in1 + x.value * in2
                run(ins, 0, direct.choose(plain, packed), lane.value, count, direct.choose(in2, 1))
                target = n * out_n + z.value * out0 + y.value * out1 + x.value * out2
                with f.when(x.value < seen):
                    run(outs, 1, target, lane.value, count.least(seen - x.value), out2)
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
        taps, weights = t.pointer("taps"), t.pointer("weights")
        tap = f.variable(0)
        t["sees"] = c["window"]
        with f.loop(0, c["taps0"]) as tz:
            with f.loop(0, c["taps1"]) as ty:
                with f.loop(0, c["taps2"]) as tx:
                    f.store(tap.value, t.pointer("seen"), tap.value)
                    along = tx * c["dstep2"]
                    row = tz * c["dstep0"] * tap_rows.value + ty * c["dstep1"]
                    offset = row * pitch + along % s2 * phase + along // s2
                    f.store(direct.choose(0, offset), taps, tap.value)
                    f.store(tz * c["w0"] + ty * c["w1"] + tx * c["w2"], weights, tap.value)
                    tap.set(tap.value + 1)
        self._mark(f, c, t)
        # The slabs of a longer block before may have been larger.
        scratch_end = scratch.value
        elements = (direct.choose(0, scratch_end) + (8 * self.lanes + self.lanes - 1)) & -self.lanes
        if self.kind.tiles:
            # Rows of tiles are planes apart: an odd number of lines, or many would lie in the same of the cache.
            elements = elements | self.lanes
        t["plane"] = elements
        f.line(f"call void @free(ptr {t.pointer('scratch')})")
        t.keep("scratch", self._room(f, elements * (c["planes"] + (1 if self.kind.paired else 0))))
        scratch = t.pointer("scratch")
        with f.when(f.is_null(scratch).either(direct).denied()), f.loop(0, c["planes"]) as k:
            # Registers are read whole, so beyond the last row as well.
            beyond = self._at(f, scratch, elements * k + scratch_end)
            f.line(f"call void @clear(ptr {beyond}, i64 {elements - scratch_end - (self.lanes - 1)})")
        return f.end()

    def _mark(self, f: Function, c: Record, t: Record) -> None:
        """Note which places of a row's phases are numbers of the input, and no zeros around it."""
        step, phase, begin, edges = c["step2"], t["phase"], t["begin"], t.pointer("edges")
        with f.loop(0, step) as p:
            start, stop = ((c[name] - begin - p + step - 1) // step for name in ("lo2", "hi2"))
            start = start.most(0).least(phase)
            f.store(start, edges, p * 2)
            f.store(stop.most(start).least(phase), edges, p * 2 + 1)
        masks, n = t.pointer("masks"), self.lanes
        low, high = c["lo2"] - begin, c["hi2"] - begin
        with f.loop(0, self._masks(phase * step)) as i:
            outside, before = self._below(f, low - i * n), self._below(f, high - i * n)
            mask = f.op(f"select <{n} x i1> {outside}, <{n} x i1> zeroinitializer, <{n} x i1> {before}")
            f.store(Int(f, f.op(f"zext i{n} {f.op(f'bitcast <{n} x i1> {mask} to i{n}')} to i64")), masks, i)

    def _masks(self, pitch: Int) -> Int:
        """How many registers of a row are looked at: two at a time, where its step is two."""
        return pitch.up(self.lanes) + 2

    def _block(self, f: Function, c: Record, places: Int, panel: Int) -> tuple[str, Record]:
        """Room for what `plan` finds."""
        t = f.room(f"[{len(BLOCK)} x i64]")
        record = Record(f, t, BLOCK)
        panels = places.up(panel) + 1
        window, step = c["window"].most(1), c["step2"]
        sizes = {
            "pieces": places * PIECE, "taps": window, "weights": window, "seen": window, "edges": step * 2,
            "masks": self._masks(c["pitch"]), "counts": panels * 2,
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

    def _need(self, f: Function, c: Record, t: Record, *more: str, planned: bool = True) -> None:
        """Leave a program where there is no memory for it."""
        missing = f.is_null(t.pointer("memory"), *([t.pointer("scratch")] if planned else []), *more)
        with f.when(missing):
            c["failed"] = 1
            self._close(f, t, *more)
        f.leave(missing)

    def _close(self, f: Function, t: Record, *more: str) -> None:
        for pointer in (t.pointer("memory"), t.pointer("scratch"), *more):
            f.line(f"call void @free(ptr {pointer})")

    def _columns(self) -> str:
        """Functions: rows [r0, r1) of the columns of a block, to panels `far` apart, rows `pitch` apart."""
        return "\n\n".join(self._columns_of(paired) for paired in ((False, True) if self.by_channels else (False,)))

    def _columns_of(self, paired: bool) -> str:
        """`paired`: each number is a pair of bfloat16, of two channels."""
        name = "columns.pairs" if paired else "columns"
        f, c, t = self._open(name, "ptr base", "i64 r0", "i64 r1", "ptr to", "i64 far", "i64 pitch")
        r0, r1, far, pitch = (f.param(name) for name in ("r0", "r1", "far", "pitch"))
        window, direct = c["window"], c["direct"].equals(1)
        taps, counts, ins = t.pointer("taps"), t.pointer("counts"), t.pointer("ins")
        panel, panels, in2, in_c = t["panel"], t["panels"], c["in2"], c["in_c"]
        scratch = t.pointer("scratch")
        second = self._at(f, scratch, t["plane"])
        sees, seen = t["sees"], t.pointer("seen")
        some, by_taps = sees < window, c["by_taps"].equals(1)
        # A row for each tap of a channel, or for each channel of a tap.
        apart = by_taps.choose((r1 - r0) // window.most(1), 1)
        last_ = direct.both(in_c.equals(1)).both(in2.equals(1).denied())
        with f.when(last_), f.loop(0, panels) as j:
            self._turn_columns(
                f, c, (r0, r1), f.load(counts, j * 2), f.at(ins, j * (panel * 3)), j * far, pitch, paired=paired
            )
        f.leave(last_)
        with f.loop(r0 // window, r1.up(window)) as channel:
            begin = channel * window
            first, last = (r0 - begin).most(0), (r1 - begin).least(sees)
            start = some.choose((channel - r0 // window) * sees, begin - r0)
            start = by_taps.choose(channel - r0 // window, start)
            alone = by_taps.both((begin + window).equals(r1))
            with f.when(direct.denied()):
                self._put_channels(f, c, "%t", "%base", channel, scratch, second, paired=paired)
            with f.loop(0, panels) as j:
                count = f.load(counts, j * 2)
                runs = f.at(ins, j * (panel * 3))
                with f.when(direct):
                    row = self._at(f, "%to", j * far + (begin + first - r0) * pitch)

                    def put_runs(channel: Int, to: str) -> None:
                        given = self._stored_at(f, "%base", channel * in_c)
                        with f.loop(0, count) as q:
                            one = f.at(runs, q * 3)
                            later = self._stored_at(f, given, in_c * 4 + f.load(one, 0))
                            line = 64 // self._item_stored()
                            if self.kind.bits == 512:
                                for k in range(3):
                                    self._ahead(f, self._stored_at(f, later, k * line))
                            else:
                                with f.loop(0, f.load(one, 2) * in2, line) as i:
                                    self._ahead(f, self._stored_at(f, later, i))
                            of, place = self._stored_at(f, given, f.load(one, 0)), self._at(f, to, f.load(one, 1))
                            f.line(f"call void @spaced(ptr {place}, ptr {of}, i64 {in2}, i64 {f.load(one, 2)})")

                    beside = in2.equals(1) if paired else f.const(0).equals(1)
                    with f.when(beside.denied()):
                        self._joined(f, c, channel, (row, second), panel, put_runs, paired=paired)
                    if paired:
                        with f.when(beside), f.loop(0, count) as q:
                            one = f.at(runs, q * 3)
                            of = self._stored_at(f, "%base", channel * 2 * in_c + f.load(one, 0))
                            other = self._stored_at(f, of, in_c)
                            other = f.op(f"select i1 {channel * 2 + 1 < c['channels']}, ptr {other}, ptr null")
                            place = self._at(f, row, f.load(one, 1))
                            f.line(f"call void @spaced.pairs(ptr {place}, ptr {of}, ptr {other}, i64 {f.load(one, 2)})")
                with f.when(direct.denied()), f.loop(first, last) as tap:
                    row = self._at(f, "%to", j * far + (start + tap * apart) * pitch)
                    shifted = self._at(f, scratch, f.load(taps, f.load(seen, tap)))
                    with f.loop(0, count) as q:
                        one = f.at(runs, q * 3)
                        of = self._at(f, shifted, f.load(one, 0))
                        to = self._at(f, row, f.load(one, 1))
                        long = f.load(one, 2)
                        # What is written beyond a run is where a later one is, but for the last channel of a tap.
                        with f.when(alone.denied()):
                            self._vstore(f, self._vload(f, of), to)
                            with f.loop(self.lanes, long, self.lanes) as i:
                                self._vstore(f, self._vload(f, self._at(f, of, i)), self._at(f, to, i))
                        with f.when(alone), f.loop(0, long, self.lanes) as i:
                            self._put_first(f, self._vload(f, self._at(f, of, i)), self._at(f, to, i), long - i)
        return f.end()

    def _turn_columns(
        self, f: Function, c: Record, rows: tuple[Int, Int], count: Int, runs: str, to: Int, pitch: Int, *, paired: bool
    ) -> None:  # fmt: skip
        """Put a panel's columns where the channels of a place lie side by side: squares of them are turned around."""
        (r0, r1), n, in2 = rows, self.lanes, c["in2"]
        channels = c["channels"]
        with f.loop(0, count) as q, f.loop(r0, r1, n) as k:
            source, lane, long = (f.load(f.at(runs, q * 3), i) for i in range(3))
            with f.loop(0, long, n) as i:
                found: list[str] = []
                read, kept = self._below(f, r1 - k), self._below(f, long - i)
                both = self._below(f, (channels - k * 2).least((r1 - k) * 2), 2 * n) if paired else ""
                for r in range(n):
                    place = (i + r).least(long - 1) * in2 + source
                    if paired:
                        of = self._stored_at(f, "%base", place + k * 2)
                        kind = f"<{2 * n} x i16>"
                        bits = f.op(
                            f"call {kind} @llvm.masked.load.v{2 * n}i16.p0(ptr align 2 {of}, <{2 * n} x i1> {both},"
                            f" {kind} zeroinitializer)"
                        )
                        found.append(f.op(f"bitcast {kind} {bits} to {self.vector}"))
                    else:
                        of = self._stored_at(f, "%base", place + k)
                        found.append(self._loaded(f, of, read))
                # Nothing is written beyond a run, since that of the next row may be there.
                for r, value in enumerate(self._transposed(f, found)):
                    with f.when(k + r < r1):
                        there = self._at(f, "%to", to + (k + r - r0) * pitch + lane + i)
                        self._put_masked(f, value, self.real, there, kept)

    def _put_channels(
        self, f: Function, c: Record, t: str, base: str, channel: Int, to: str, second: str, *, paired: bool
    ) -> None:
        """Put the rows of a channel, or of the two of a pair, somewhere; `second` is room for a row."""
        given = self._stored_at(f, base, (channel * 2 if paired else channel) * c["in_c"])
        if not paired:
            f.line(f"call void @channel_rows(ptr %c, ptr {t}, ptr {given}, ptr {to})")
            return
        other = self._stored_at(f, given, c["in_c"])
        other = f.op(f"select i1 {channel * 2 + 1 < c['channels']}, ptr {other}, ptr null")
        f.line(f"call void @pair_rows(ptr %c, ptr {t}, ptr {given}, ptr {to}, ptr {other}, ptr {second})")

    def _joined(
        self, f: Function, c: Record, channel: Int, places: tuple[str, str], size: Int,
        put: Callable[[Int, str], None], *, paired: bool,
    ) -> None:  # fmt: skip
        """Have one channel put somewhere, or both of a pair and then joined; the last may be alone."""
        first, second = places
        put(channel * 2 if paired else channel, first)
        if not paired:
            return
        there_is = channel * 2 + 1 < c["channels"]
        with f.when(there_is):
            put(channel * 2 + 1, second)
            with f.loop(0, size, self.lanes) as i:
                self._join(f, [self._vload(f, self._at(f, of, i)) for of in places], self._at(f, first, i))
        with f.when(there_is.denied()), f.loop(0, size, self.lanes) as i:
            self._join(f, [self._vload(f, self._at(f, first, i)), "zeroinitializer"], self._at(f, first, i))

    def _pairs(self) -> str:
        """Functions: packed numbers become pairs of bfloat16, where they are; an odd one has zero beside it."""
        if not self.kind.paired:
            return ""
        n = self.lanes
        f = Function("internal void", "pair.rows", ["ptr at", "i64 k", "i64 width"], "noinline")
        k = f.param("k")
        with f.loop(0, k // 2) as i, f.loop(0, f.param("width"), n) as v:
            low, high = (self._vload(f, self._at(f, "%at", (i * 2 + r) * self.wide + v)) for r in (0, 1))
            self._join(f, [low, high], self._at(f, "%at", i * self.wide + v))
        with f.when((k & 1).equals(1)), f.loop(0, f.param("width"), n) as v:
            low = self._vload(f, self._at(f, "%at", (k - 1) * self.wide + v))
            self._join(f, [low, "zeroinitializer"], self._at(f, "%at", k // 2 * self.wide + v))
        if self.kind.tiles:
            with f.loop(k.up(2), k.up(2 * ROWS) * ROWS) as i, f.loop(0, f.param("width"), n) as v:
                self._vstore(f, "zeroinitializer", self._at(f, "%at", i * self.wide + v))
        rows = f.end()
        f = Function("internal void", "pair.places", ["ptr at", "i64 rows", "i64 k"], "noinline")
        k = f.param("k")
        with f.loop(0, f.param("rows")) as m:
            row = self._at(f, "%at", m * PITCH)
            with f.loop(0, k.up(2), n) as i:
                parts = [self._vload(f, self._at(f, row, i * 2 + r)) for r in (0, n)]
                self._join(f, [self._halved(f, parts, k) for k in (0, 1)], self._at(f, row, i))
            with f.when((k & 1).equals(1)):
                last = self._at(f, row, k // 2)
                pair = f.op(f"load i32, ptr {last}")
                f.line(f"store i32 {f.op(f'and i32 {pair}, 65535')}, ptr {last}")
            if self.kind.tiles:
                self._vstore(f, "zeroinitializer", self._at(f, row, k.up(2)))
        return "\n\n".join((PAIRED, *([amx.DECLARATIONS] if self.kind.tiles else []), rows, f.end()))

    def _scatter(self) -> str:
        """A panel's results to where they belong: rows `pitch` apart, from `of`."""
        f, c, t = self._open("scatter", "ptr base", "i64 rows", "i64 j", "ptr of", "i64 pitch")
        rows, j, pitch = (f.param(name) for name in ("rows", "j", "pitch"))
        counts, outs, panel = t.pointer("counts"), t.pointer("outs"), t["panel"]
        out_m, out2 = c["out_m"], c["out2"]
        count = f.load(counts, j * 2 + 1)
        runs = f.at(outs, j * (panel * 3))
        some = f.room(f"<{self.lanes} x {self.stored}>")
        last = out_m.equals(1).both(out2.equals(1).denied())
        with f.when(last), f.loop(0, count) as q, f.loop(0, rows, self.lanes) as m:
            source, lane, long = (f.load(f.at(runs, q * 3), i) for i in range(3))
            with f.loop(0, long, self.lanes) as i:
                of = self._at(f, "%of", m * pitch + lane + i)
                to = self._stored_at(f, "%base", m + source + i * out2)
                self._put_square(f, of, pitch, rows - m, long - i, to, out2)
        f.leave(last)
        with f.loop(0, rows) as m:
            with f.loop(0, count) as q:
                one = f.at(runs, q * 3)
                to = self._stored_at(f, "%base", m * out_m + f.load(one, 0))
                of = self._at(f, "%of", m * pitch + f.load(one, 1))
                long, beside = f.load(one, 2), out2.equals(1)
                with f.when(beside), f.loop(0, long, self.lanes) as i:
                    value = self._vload(f, self._at(f, of, i))
                    self._put_several(f, value, self._stored_at(f, to, i), long - i)
                apart = beside.denied()
                if self.kind.bits >= 256 and (self.stored in ("float", "double") or self.kind.bits == 512):
                    every_other = out2.equals(2)
                    apart = apart.both(every_other.denied())
                    with f.when(every_other), f.loop(0, long, self.lanes) as i:
                        value = self._narrowed(f, self._vload(f, self._at(f, of, i)))
                        self._put_every_other(f, value, self._stored_at(f, to, i * 2), long - i)
                with f.when(apart), f.loop(0, long, self.lanes) as i:
                    count = (long - i).least(self.lanes)
                    self._put_several(f, self._vload(f, self._at(f, of, i)), some, f.const(self.lanes))
                    with f.loop(0, count, rolled=False) as k:
                        value = f.op(f"load {self.stored}, ptr {self._stored_at(f, some, k)}")
                        f.line(f"store {self.stored} {value}, ptr {self._stored_at(f, to, (i + k) * out2)}")
        return f.end()

    def _turned(self) -> str:
        """The results' gradients of a block, places for rows: `count` filters from `base`, `wide` numbers a place."""
        f, c, t = self._open("turned", "ptr base", "i64 count", "ptr to", "i64 places")
        count = f.param("count")
        out_m, out2 = c["out_m"], c["out2"]
        outs = t.pointer("outs")
        runs = f.load(t.pointer("counts"), 1)
        unit = out2.equals(1)
        if self.kind.paired:
            even = f.variable(unit.choose(1, 0))
            with f.loop(0, runs) as q:
                even.set(even.value & (1 - (f.load(f.at(outs, q * 3), 1) & 1)))
            paired = even.value.equals(1)
            with f.when(paired):
                self._turn_pairs(f, count, out_m, runs, outs)
            f.leave(paired)
        with f.loop(0, runs) as q:
            one = f.at(outs, q * 3)
            source, lane, long = (f.load(one, i) for i in range(3))
            with f.when(unit):
                with f.loop(0, count, self.lanes) as m:
                    with f.loop(0, long, self.lanes) as i:
                        rows: list[str] = []
                        read = self._below(f, long - i)
                        for r in range(self.lanes):
                            row = (m + r).least(count - 1)
                            place = self._stored_at(f, "%base", row * out_m + source + i)
                            self._ahead_in_short(f, self._stored_at(f, place, out_m * self.lanes))
                            rows.append(self._loaded(f, place, read))
                        for r, value in enumerate(self._transposed(f, rows)):
                            self._vstore(f, value, self._at(f, "%to", (lane + i + r) * self.wide + m))
            with f.when(unit.denied()):
                with f.loop(0, long) as i:
                    place = self._stored_at(f, "%base", source + i * out2)
                    to = self._at(f, "%to", (lane + i) * self.wide)
                    f.line(f"call void @spaced(ptr {to}, ptr {place}, i64 {out_m}, i64 {count})")
        if self.kind.paired:
            f.line(f"call void @pair.rows(ptr %to, i64 {f.param('places')}, i64 {count.up(self.lanes) * self.lanes})")
        return f.end()

    def _turn_pairs(self, f: Function, count: Int, apart: Int, runs: Int, outs: str) -> None:
        """Turn pairs of bfloat16 that lie side by side in memory."""
        n, kind = 2 * self.lanes, f"<{2 * self.lanes} x i16>"
        with f.loop(0, runs) as q:
            source, lane, long = (f.load(f.at(outs, q * 3), i) for i in range(3))
            with f.loop(0, count, self.lanes) as m, f.loop(0, long, n) as i:
                mask = self._below(f, long - i, n)
                rows: list[str] = []
                for r in range(self.lanes):
                    place = self._stored_at(f, "%base", (m + r).least(count - 1) * apart + source + i)
                    bits = f.op(
                        f"call {kind} @llvm.masked.load.v{n}i16.p0(ptr align 2 {place}, <{n} x i1> {mask},"
                        f" {kind} zeroinitializer)"
                    )
                    rows.append(f.op(f"bitcast {kind} {bits} to {self.vector}"))
                for r, value in enumerate(self._transposed(f, rows)):
                    self._vstore(f, value, self._at(f, "%to", ((lane + i) // 2 + r) * self.wide + m))
        if self.kind.tiles:
            k, width = f.param("places"), count.up(self.lanes) * self.lanes
            with f.loop(k.up(2), k.up(2 * ROWS) * ROWS) as i, f.loop(0, width, self.lanes) as v:
                self._vstore(f, "zeroinitializer", self._at(f, "%to", i * self.wide + v))

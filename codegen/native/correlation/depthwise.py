"""Correlations of one channel a group, which multiply and add rows as they lie."""

from __future__ import annotations

from opweave.codegen.native.correlation.single import Single
from opweave.codegen.native.correlation.words import Record
from opweave.codegen.native.emitting import Function, Int


class Depthwise(Single):
    """Programs where each group has one channel, without products."""

    def _plane(self, f: Function, c: Record) -> tuple[str, Record]:
        """Room for a whole channel of an image, and where its taps lie."""
        t, record = self._block(f, c, f.const(self.lanes), f.const(self.lanes))
        self._need(f, c, record, planned=False)
        return t, record

    def _image(self, f: Function, c: Record, record: Record, n: Int) -> Int:
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
        self._need(f, c, record, filters, line)
        out2, given = c["out2"], c.pointer("bias")
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        unit = out2.equals(1) if self.stored == self.real else f.const(0).equals(1)
        with f.loop(f.param("start"), f.param("end")) as i:
            g, n = i % groups, i // groups
            high = self._image(f, c, record, n)
            channel = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            scratch = record.pointer("scratch")
            f.line(f"call void @channel_rows(ptr %c, ptr {t}, ptr {channel}, ptr {scratch})")
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
        t["phase"], t["pitch"], t["begin"] = c["phase"], c["pitch"], 0
        self._mark(f, c, t)
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
        self._need(f, c, record, sums, grads)
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
                    scratch = record.pointer("scratch")
                    f.line(f"call void @channel_rows(ptr %c, ptr {t}, ptr {channel}, ptr {scratch})")
                    with f.loop(0, rows) as m:
                        of = self._stored_at(f, c.pointer("output"), n * c["out_n"] + g * c["out_g"] + m * c["out_m"])
                        with f.loop(0, c0 * c1) as y:
                            row = self._stored_at(f, of, y // c1 * c["out0"] + y % c1 * c["out1"])
                            to, by = self._at(f, grads, y * apart), c["out2"]
                            f.line(f"call void @spaced(ptr {to}, ptr {row}, i64 {by}, i64 {c2})")
                            with f.when(rows_ > 1):
                                f.line(f"call void @clear(ptr {self._at(f, to, c2)}, i64 {pitch - c2})")
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
                        total = self._total(f, value)
                        self._is_odd(f, total, self.real, odd, "i1")
                        self._put(f, total, self._stored_at(f, to, f.load(weights, tap)))
                spoilt = Int(f, f.op(f"load i1, ptr {odd}"))
                with f.when(spoilt):
                    c["odd"] = 1
                again = spoilt.both(rows_ > 1)
                batch.set(again.choose(1, 0))
        self._close(f, record, sums, grads)
        return f.end()

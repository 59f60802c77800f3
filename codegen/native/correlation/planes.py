"""Correlations of step one whose columns need no memory of their own: rows of input with the zeros around are enough.

Where places lie one behind the other over all rows, with those between the rows that nobody asks for, a tap's columns
are what its first place sees and what follows. So the kernel in registers takes each from where it is, by a table of
where the taps of all channels begin. It is worth it where rows are long, as little is computed for nothing then.
"""

from __future__ import annotations

from opweave.codegen.native.correlation.programs import Programs
from opweave.codegen.native.correlation.words import PITCH, Record
from opweave.codegen.native.emitting import Int
from opweave.codegen.native.objects import UNTUNED

#: The most places of a row, and places that a row's first and last tap are apart. To make columns takes the less of
#: the time the more filters there are: what is computed for nothing may be this over the number of filters.
_LONG, _REACH, _SHARE = 512, 32, 6


class Planes(Programs):
    """Programs that multiply what `channel_rows` has put together, as it is."""

    def _fits(self, c: Record) -> Int:
        """Whether a correlation is computed so."""
        reach = (c["taps2"] - 1) * c["dstep2"]
        fits = c["window"] > 1
        for d in range(3):
            fits = fits.both(c[f"step{d}"].equals(1))
        fits = fits.both(c["count0"].equals(1)).both(c["taps0"].equals(1)).both(c["window"] <= self.lanes * 4)
        return (
            fits.both(c["count2"] <= _LONG)
            .both(reach <= _REACH)
            .both(reach * c["rows"].most(16) <= c["count2"] * _SHARE)
        )

    def _correlate_planes(self) -> str:
        """Programs of a correlation: a block of places of an image and some filters each."""
        f, c = self._task("correlate.planes", UNTUNED)
        width, blocks, height, row_blocks = c["width"], c["blocks"], c["height"], c["row_blocks"]
        depth, terms, rows, image, window = c["depth"], c["terms"], c["rows"], c["image"], c["window"]
        panel, by_taps = f.const(self.wide), c["by_taps"].equals(1)
        each = image.up(width)
        t, record = self._block(f, c, width, panel)
        own_filters = self._room(f, c["blocked"].equals(0).choose(height * PITCH, 0) + 2 * self.lanes)
        left = self._at(f, own_filters, self.lanes)
        sums = self._room(f, height * width)
        table = self._room(f, depth * 4)
        self._need(f, c, record, own_filters, sums, table, planned=False)
        self._clear_filters(f, c, left)
        bias = f.room(f"[{self.high} x {self.real}]")
        given, bias_by = c.pointer("bias"), c["bias_by"]
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        with f.loop(f.param("start"), f.param("end")) as i:
            block, g = i % blocks, i // blocks // row_blocks
            m0 = i // blocks % row_blocks * height
            p0 = block // each * image + block % each * width
            p1, some = (p0 + width).least((block // each + 1) * image), height.least(rows - m0)
            f.line(f"call void @plan(ptr %c, ptr {t}, i64 {p0}, i64 {p1}, i64 {panel})")
            self._need(f, c, record, own_filters, sums, table)
            scratch, plane, taps = record.pointer("scratch"), record["plane"], record.pointer("taps")
            channels = f.variable(0)
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            out = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m0 * c["out_m"])
            panels, ins = record["panels"], record.pointer("ins")
            with f.loop(0, terms.most(1), depth) as r0:
                r1 = (r0 + depth).least(terms)
                many = (r1 - r0) // window
                with f.when(channels.value.equals(many).denied()):
                    channels.set(many)
                    with f.loop(0, many) as channel, f.loop(0, window) as tap:
                        term = channel * window + tap
                        f.store(channel * plane + f.load(taps, tap), table, term * 2)
                        f.store(by_taps.choose(tap * many + channel, term), table, term * 2 + 1)
                self._put_filters(f, c, t, g, m0, some, r0, r1, left)
                filters = self._filters_at(f, c, g, m0, r0, left)
                with f.loop(r0 // window, r1 // window) as channel:
                    to = self._at(f, scratch, (channel - r0 // window) * plane)
                    second = self._at(f, scratch, depth // window * plane)
                    self._put_channels(f, c, t, base, channel, to, second, paired=self.by_channels)
                later = (r0 > 0).choose(1, 0)
                with f.loop(0, panels) as j:
                    vectors = (p1 - p0 - j * panel).least(panel).up(self.lanes)
                    columns = self._at(f, scratch, f.load(ins, j * (panel * 3)))
                    with f.loop(0, some, self.high) as m:
                        for row in range(self.high):
                            f.line(f"store {self.real} 0.0, ptr {self._at(f, bias, row)}")
                        with f.when(there_is), f.loop(0, (some - m).least(self.high)) as row:
                            at = self._stored_at(f, given, (g * rows + m0 + m + row) * bias_by)
                            f.line(f"store {self.real} {self._get(f, at)}, ptr {self._at(f, bias, row)}")
                        a, own = self._at(f, filters, m * PITCH), self._at(f, sums, m * width + j * panel)
                        self._multiply(f, some - m, vectors, r1 - r0, a, columns, own, width, bias, later, table)
            with f.loop(0, panels) as j:
                own = self._at(f, sums, j * panel)
                f.line(f"call void @scatter(ptr %c, ptr {t}, ptr {out}, i64 {some}, i64 {j}, ptr {own}, i64 {width})")
        self._close(f, record, own_filters, sums, table)
        return f.end()

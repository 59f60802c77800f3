"""Correlations of one channel a group where channels lie side by side: a register's places are channels as they lie.

Nothing is copied. What a place sees beyond the input is left out, so nothing is multiplied by zeros around it.
"""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.native.correlation.channels import Axis, Channels
from opweave.codegen.native.correlation.words import Record
from opweave.codegen.native.emitting import Int, Number

#: Places whose sums are formed side by side; the most taps whose places the first cache has room for where they lie far
#: apart, and how many bytes that may be.
_TILE, _FEW, _APART = 6, 16, 2048


class Beside(Channels):
    """Programs of several channels, a register's place each, which read and write them where they are."""

    def _lies_beside(self, c: Record) -> Int:
        """Whether channels of the input and of the results lie side by side, one filter each."""
        flat = c["count0"].equals(1).both(c["taps0"].equals(1)).both(c["lo0"] <= 0).both(c["hi0"] > 0)
        flat = flat.both(c["window"] <= _FEW).both(c["in2"] * self._item_stored() <= _APART)
        return flat.both(c["rows"].equals(1)).both(c["in_g"].equals(1)).both(c["out_g"].equals(1))

    def _beside_forward(self) -> str:
        """Programs of a correlation: an image and some channels each."""
        f, c = self._task("beside.forward")
        y, x = Axis(c, 1), Axis(c, 2)
        groups, window, images, n = c["groups"], c["window"], c["n"], self.lanes
        slack = n + _TILE
        rooms = self._lane_rooms(f, c, (window + slack, f.const(slack)))
        filters, bias = rooms
        back = x.by < 0
        first_tap, next_tap = back.choose(window - 1, 0), back.choose(-1, 1)
        before = f.variable(-1)
        along = x.step * x.of
        steps = [along * k for k in range(_TILE)]
        # Places all of whose taps see something.
        inner = x.low.up(x.step).least(x.count)
        outer = ((x.high - x.reach).most(-1) // x.step + 1).least(x.count)
        outer = (x.high >= x.reach).choose(outer, inner).most(inner)
        with f.loop(f.param("start"), f.param("end")) as i:
            image, g = i % images, i // images * n
            count = (groups - g).least(n)
            with f.when(before.value.equals(g).denied()):
                before.set(g)
                self._lane_filters(f, c, y, x, g, count, filters, bias)
            mask = self._below(f, count)
            first = self._vload(f, bias)
            of = self._stored_at(f, c.pointer("input"), image * c["in_n"] + g)
            to = self._stored_at(f, c.pointer("output"), image * c["out_n"] + g)
            taps = self._lane_at(f, filters, first_tap)

            def tile(
                at: Int, place: Int, offsets: Sequence[Number], down: tuple[Int, Int], across: tuple[Number, Int]
            ) -> None:
                sums = [f.room(self.vector) for _ in offsets]
                for one in sums:
                    f.line(f"store {self.vector} {first}, ptr {one}")
                row = self._stored_at(f, of, at * y.step * y.of + place * along)
                with f.loop(*down) as v:
                    begins = self._stored_at(f, row, v * (y.dstep * y.of))
                    weights = self._lane_at(f, taps, v * x.taps * next_tap)
                    with f.loop(*across) as u:
                        factor = self._vload(f, self._lane_at(f, weights, u * next_tap))
                        here = self._stored_at(f, begins, u * (x.dstep * x.of))
                        for offset, one in zip(offsets, sums, strict=True):
                            value = self._loaded(f, self._stored_at(f, here, offset), mask)
                            old = f.op(f"load {self.vector}, ptr {one}")
                            f.line(f"store {self.vector} {self._fma(f, factor, value, old)}, ptr {one}")
                there = self._stored_at(f, to, at * y.to + place * x.to)
                for k, one in enumerate(sums):
                    value = f.op(f"load {self.vector}, ptr {one}")
                    self._put_some(f, value, self._stored_at(f, there, x.to * k), mask)

            with f.loop(0, y.count) as at:
                a, b = ((edge - at * y.step).most(0).up(y.dstep) for edge in (y.low, y.high))
                down = a, b.least(y.taps)
                whole = inner + ((outer - inner) // _TILE * _TILE)
                with f.loop(inner, whole, _TILE) as place:
                    tile(at, place, steps, down, (0, x.taps))
                for begin, end in ((f.const(0), inner), (whole, x.count)):
                    with f.loop(begin, end) as place:
                        u, w = ((edge - place * x.step).most(0).up(x.dstep) for edge in (x.low, x.high))
                        tile(at, place, [0], down, (u, w.least(x.taps)))
        self._free(f, rooms)
        return f.end()

"""Inputs whose channels lie side by side, put as planes of channels before they are read tap by tap.

What brings rows of a channel to where taps are read wants the places of a row side by side. Where those are some
channels apart, a channel's numbers are each in a line of the cache of its own, so all channels are turned around at
once, a square of a register's numbers at a time: each number once a call, and not once for each block of filters.
"""

from __future__ import annotations

from opweave.codegen.native.correlation.beside import Beside
from opweave.codegen.native.correlation.words import Record
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.objects import UNTUNED


class Turning(Beside):
    """Programs that turn inputs around."""

    def _is_turned_first(self, c: Record) -> Int:
        """Whether channels lie side by side, and places do not."""
        return c["in_c"].equals(1).both(c["channels"] > 1).both(c["in2"].equals(1).denied())

    def _turn_first(self, f: Function, c: Record) -> tuple[Int, Int]:
        """Have the correlation see planes; programs that make them, and the work of each. There may be no memory."""
        sizes = [(c[f"hi{d}"] - c[f"lo{d}"]).most(0) for d in range(3)]
        plane = sizes[0] * sizes[1] * sizes[2]
        blocks = c["channels"].up(self.lanes)
        channels = c["channels"]
        images = c["n"] * c["groups"]
        count = images * channels * plane + self.lanes
        # What is made has the bytes of the input.
        size = (count * self._item_stored() + 127) & -64
        turned = f.op(f"call ptr @aligned_alloc(i64 64, i64 {size})")
        c.keep("turned", turned)
        apart: Int = f.const(1)
        first: Int = f.const(0)
        seen: Int = f.const(0)
        for d in (2, 1, 0):
            first = first + c[f"lo{d}"] * apart
            seen = seen + c[f"lo{d}"] * c[f"in{d}"]
            c[f"turned{d}"], c[f"in{d}"] = c[f"in{d}"], apart
            apart = apart * sizes[d]
        c.keep("given", self._stored_at(f, c.pointer("input"), seen))
        c["turned_n"], c["turned_g"] = c["in_n"], c["in_g"]
        c["in_c"], c["in_g"], c["in_n"] = plane, plane * channels, plane * channels * c["groups"]
        c.keep("input", self._stored_at(f, turned, first * -1))
        return images * blocks, plane * self.lanes * 16

    def _turn_task(self) -> str:
        """Programs of some channels of an image each."""
        f, c = self._task("turn", UNTUNED)
        n = self.lanes
        channels, groups = c["channels"], c["groups"]
        blocks = channels.up(n)
        high, wide = c["hi1"] - c["lo1"], c["hi2"] - c["lo2"]
        deep, plane = c["hi0"] - c["lo0"], c["in_c"]
        by = [c[f"turned{d}"] for d in range(3)]
        # Rows that lie one behind the other are one.
        along = by[1].equals(wide * by[2]).either(high.equals(1))
        long, rows = along.choose(wide * high, wide), along.choose(1, high)
        with f.loop(f.param("start"), f.param("end")) as i:
            first, g, image = i % blocks * n, i // blocks % groups, i // blocks // groups
            left = channels - first
            of = self._stored_at(f, c.pointer("given"), image * c["turned_n"] + g * c["turned_g"] + first)
            to = self._stored_at(f, c.pointer("turned"), ((image * groups + g) * channels + first) * plane)
            with f.loop(0, deep) as z, f.loop(0, rows) as y, f.loop(0, long, n) as x:
                begin = z * by[0] + y * by[1]
                found = [
                    self._raw(f, self._stored_at(f, of, begin + (x + r).least(long - 1) * by[2]), left)
                    for r in range(n)
                ]
                place = (z * high + y) * wide + x
                for r, value in enumerate(self._transposed(f, found)):
                    with f.when(left > r):
                        self._put_raw(f, value, self._stored_at(f, to, plane * r + place), long - x)
        return f.end()

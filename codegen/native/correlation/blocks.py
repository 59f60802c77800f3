"""What a correlation's programs are: blocks of places, and of filters, and stripes of places that see the same taps."""

from __future__ import annotations

from collections.abc import Callable

from opweave.codegen.native.correlation.turning import Turning
from opweave.codegen.native.correlation.words import ENOUGH, TALL, Record
from opweave.codegen.native.emitting import Function, Int

#: Programs of so many filters are preferred to programs of few places.
_FEW_ROWS = 128
#: Panels of a block where columns need no memory.
_PLACES = 8
#: Places of a row of a stripe, at least, and how many of all rows are one.
_NARROW, _STRIPES = 8, 3

Go = Callable[[str, Int, Int], None]


class Blocks(Turning):
    """Which programs there are of a correlation."""

    def _is_striped(self, f: Function, c: Record) -> Int:
        """Whether many taps of a row see nothing from many of its places, as those of long dilations."""
        seen, all_ = self._seen_places(f, c, 2) * 100, c["count2"] * c["taps2"] * 86
        long = c["count2"] >= 2 * _NARROW
        return c["uneven"].equals(1).both(c["batch"] < 2 * self.lanes).both(long).both(seen < all_)

    def _stripe(self, f: Function, c: Record, x: Int, count: Int, low: Int, high: Int) -> Int:
        """The place from which on other taps see something than from a place on."""
        step, end = c["step2"], f.variable(count)
        with f.loop(0, c["taps2"]) as tap:
            for edge in (low, high):
                at = (edge - tap * c["dstep2"]).most(0).up(step)
                end.set((at >= x + _NARROW).choose(at.least(end.value), end.value))
        return (count - end.value < _NARROW).choose(count, end.value)

    def _correlate_stripes(self, f: Function, c: Record, go: Go) -> None:
        """Compute a correlation, some places of all rows after the other."""
        striped = c["striped"].equals(1)
        count, low, high = c["count2"], c["lo2"], c["hi2"]
        given, to = c.pointer("input"), c.pointer("output")
        rows_of_image = c["count0"] * c["count1"]
        x, left = f.variable(0), f.variable(count)
        with f.repeat(left):
            begin = x.value
            end = f.variable(count)
            with f.when(striped):
                end.set(self._stripe(f, c, begin, count, low, high))
            long = end.value - begin
            c["count2"], c["line"], c["image"] = long, long, rows_of_image * long
            c["places"] = c["n"] * rows_of_image * long
            c["lo2"], c["hi2"] = low - begin * c["step2"], high - begin * c["step2"]
            c.keep("input", self._stored_at(f, given, begin * c["step2"] * c["in2"]))
            c.keep("output", self._stored_at(f, to, begin * c["out2"]))
            self._correlate_blocks(f, c, striped.choose(ENOUGH // _STRIPES, ENOUGH), go)
            x.set(end.value)
            left.set(count - end.value)
        c["count2"], c["lo2"], c["hi2"] = count, low, high
        c.keep("input", given)
        c.keep("output", to)

    def _correlate_blocks(self, f: Function, c: Record, enough: Int, go: Go) -> None:
        places, rows, groups = c["places"], c["rows"], c["groups"]
        widest, all_ = self._widest(f, rows), places.up(self.lanes) * self.lanes
        # A second block of few places would bring all filters in order for them: it is little work for others, too.
        one = (all_ > widest).both(all_ * 4 <= widest * 5)
        width = one.choose(all_, all_.least(widest))
        enough = one.choose(enough.up(2), enough)
        blocks = places.up(width.most(1))
        # To pack columns again for other filters takes longer than to pack filters for other places.
        width = (blocks * rows.up(_FEW_ROWS) * groups < enough).choose(width.least(2 * self.wide), width)
        blocks = places.up(width)
        even = places.up(blocks * self.lanes) * self.lanes
        # Panels of the places of all images are whole.
        wide = (blocks < enough).both(c["batch"].equals(0)).choose(even, width)
        height = (rows.up(self.high) * self.high).least(TALL)
        for _ in range(3):
            few = (blocks * rows.up(height) * groups < enough).both(height > 32)
            height = few.choose(height.up(2 * self.high) * self.high, height)
        row_blocks = rows.up(height)
        for name, value in {"width": wide, "blocks": blocks, "height": height, "row_blocks": row_blocks}.items():
            c[name] = value
        tiles = self.kind.tiles
        otherwise = c["tiled"].equals(1) if tiles else self._fits(c).both(c["uneven"].equals(0))
        with f.when(otherwise.denied()):
            go("correlate", blocks * row_blocks * groups, wide * height * c["terms"] + 1000)
        with f.when(otherwise):
            (self._blocks_of_tiles if tiles else self._blocks_of_planes)(f, c, go)

    def _blocks_of_planes(self, f: Function, c: Record, go: Callable[[str, Int, Int], None]) -> None:
        """Compute a correlation by `correlate.planes`, whose places are those between the rows, too."""
        line, rows, groups = c["count2"] + (c["taps2"] - 1) * c["dstep2"], c["rows"], c["groups"]
        image = c["count1"] * line
        width = f.const(_PLACES * self.wide)
        width = (c["n"] * image.up(width) < ENOUGH).choose(width // 2, width)
        each = image.up(width)
        width, blocks = image.up(each * self.lanes) * self.lanes, c["n"] * image.up(width)
        # Blocks are wider than those of packed columns, so fewer filters have their sums in as much memory.
        height = (rows.up(self.high) * self.high).least(TALL // 2)
        for _ in range(3):
            few = (blocks * rows.up(height) * groups < ENOUGH).both(height > 32)
            height = few.choose(height.up(2 * self.high) * self.high, height)
        for name, value in {
            "line": line, "image": image, "places": c["n"] * image, "width": width, "blocks": c["n"] * image.up(width),
            "height": height, "row_blocks": rows.up(height), "planes": c["depth"] // c["window"],
        }.items():  # fmt: skip
            c[name] = value
        go("correlate.planes", c["blocks"] * rows.up(height) * groups, width * height * c["terms"] + 1000)

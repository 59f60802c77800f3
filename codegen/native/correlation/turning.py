"""Operands that are put in another order first, where what is read or written together lies far apart.

Three orders are: inputs whose channels lie side by side become planes of channels; windows that do not overlap become
channels of an image of one tap; and of small images, much of whose windows lies outside, the places of all become a row
for each place of an image, so a register has places that see the same taps, and others are left out. Each is done once
a call, and not once for each block of filters: squares of a register's numbers are turned around.
"""

from __future__ import annotations

import math

from opweave.codegen.native.correlation.beside import Beside
from opweave.codegen.native.correlation.words import CORRELATE, DEPTH, WEIGHT, Record
from opweave.codegen.native.emitting import Function, Int, Number

#: What a task is told: where numbers are and go to; loops over parts, each of which has `a` rows of a plane; and over
#: the places of a plane. Of all but the rows, which lie side by side, how far apart they lie.
_OUTER, _INNER = 5, 3
#: Numbers of a row of taps that are worth to be turned around; the most places of images that are small, how many
#: images are enough, how many numbers a place of all of them has at least, and how many percent of the taps of all
#: places see something at most where that is worth it.
_ROW, _SMALL, _MANY, _WORK, _SEEN = 4, 256, 4, 2048, 86


class Turning(Beside):
    """Programs that turn operands around."""

    def _tell_turn(
        self, f: Function, c: Record, of: str, to: str, side: Number, outer: list[tuple[Number, Number]],
        inner: list[tuple[Number, Number]],
    ) -> tuple[Int, Int]:  # fmt: skip
        """Say what is turned: `side` numbers side by side; how often and how far apart. Programs, and work of each."""
        c.keep("turn_of", of)
        c.keep("turn_to", to)
        c["turn_side"] = side
        for name, pairs in (("part", outer), ("inner", inner)):
            for k, (count, apart) in enumerate(pairs):
                c[f"turn_{name}{k}"], c[f"turn_{name}_by{k}"] = count, apart
        blocks = c["turn_side"].up(self.lanes)
        programs = math.prod((c[f"turn_part{k}"] for k in range(_OUTER)), start=blocks)
        return programs, math.prod((c[f"turn_inner{k}"] for k in range(_INNER)), start=f.const(16 * self.lanes))

    def _turned_room(self, f: Function, c: Record, name: str, count: Int) -> str:
        """Room for so many numbers as they are kept."""
        size = (count * self._item_stored() + (64 + 63)) & -64
        room = f.op(f"call ptr @aligned_alloc(i64 64, i64 {size})")
        c.keep(name, room)
        with f.when(f.is_null(room)):
            c["failed"] = 1
        return room

    def _lies_last(self, c: Record) -> Int:
        """Whether channels lie side by side, and places do not."""
        return c["in_c"].equals(1).both(c["channels"] > 1).both(c["in2"].equals(1).denied())

    def _turn_last(self, f: Function, c: Record) -> tuple[Int, Int]:
        """Have the correlation see planes of channels."""
        sizes = [(c[f"hi{d}"] - c[f"lo{d}"]).most(0) for d in range(3)]
        plane = sizes[0] * sizes[1] * sizes[2]
        channels, n, groups = c["channels"], c["n"], c["groups"]
        room = self._turned_room(f, c, "turned", n * groups * channels * plane)
        seen = sum((c[f"lo{d}"] * c[f"in{d}"] for d in range(3)), start=f.const(0))
        # Rows that lie one behind the other are one.
        along = c["in1"].equals(sizes[2] * c["in2"])
        told = self._tell_turn(
            f, c, self._stored_at(f, c.pointer("input"), seen), room, channels,
            [(n, c["in_n"]), (groups, c["in_g"]), (1, 0), (1, 0), (1, 0)],
            [(sizes[0], c["in0"]), (along.choose(1, sizes[1]), c["in1"]),
             (along.choose(sizes[1] * sizes[2], sizes[2]), c["in2"])],
        )  # fmt: skip
        apart: Int = f.const(1)
        first: Int = f.const(0)
        for d in (2, 1, 0):
            first = first + c[f"lo{d}"] * apart
            c[f"in{d}"] = apart
            apart = apart * sizes[d]
        c["in_c"], c["in_g"], c["in_n"] = plane, plane * channels, plane * channels * groups
        c.keep("input", self._stored_at(f, room, first * -1))
        return told

    def _turn_gradients(self, f: Function, c: Record) -> tuple[Int, Int]:
        """Have the results' gradients be planes of filters, as the input is."""
        counts, rows, n, groups = [c[f"count{d}"] for d in range(3)], c["rows"], c["n"], c["groups"]
        plane = counts[0] * counts[1] * counts[2]
        room = self._turned_room(f, c, "landing", n * groups * rows * plane)
        told = self._tell_turn(
            f, c, c.pointer("output"), room, rows,
            [(n, c["out_n"]), (groups, c["out_g"]), (1, 0), (1, 0), (1, 0)],
            [(counts[d], c[f"out{d}"]) for d in range(3)],
        )  # fmt: skip
        c.keep("output", room)
        c["out0"], c["out1"], c["out2"] = counts[1] * counts[2], counts[2], 1
        c["out_m"], c["out_g"], c["out_n"] = plane, plane * rows, plane * rows * groups
        return told

    def _windows(self, c: Record) -> tuple[Int, Int, Int]:
        """Whether windows do not overlap, and their numbers lie in rows as filters do: of channels, or they of taps.

        The last says that all of a window lies as a filter does.
        """
        window = c["taps0"] * c["taps1"] * c["taps2"]
        parted = (window > 1).both(c["kind"].equals(CORRELATE).either(c["kind"].equals(WEIGHT)))
        alike = c["in_c"].equals(c["w_c"]).either(c["channels"].equals(1))
        alone = c["count0"] * c["count1"] * c["count2"]
        for d in range(3):
            taps, count, one = c[f"taps{d}"], c[f"count{d}"], c[f"taps{d}"].equals(1)
            whole = c[f"step{d}"].equals(taps).either(count.equals(1))
            parted = parted.both(whole).both(c[f"dstep{d}"].equals(1).either(one)).both(c[f"lo{d}"] <= 0)
            parted = parted.both(c[f"hi{d}"] >= (count - 1) * c[f"step{d}"] + taps)
            alike = alike.both(c[f"in{d}"].equals(c[f"w{d}"]).either(one))
        first, last = parted, parted
        taps_, channels = [c[f"taps{d}"] for d in range(3)], c["channels"]
        for found in (False, True):
            unit: Int = channels if found else channels.equals(channels).choose(1, 0)
            tight = c["w_c"].equals(1 if found else window).either(channels.equals(1))
            for d in (2, 1, 0):
                tight = tight.both(c[f"w{d}"].equals(unit).either(taps_[d].equals(1)))
                unit = unit * taps_[d]
            if found:
                last = last.both(tight)
            else:
                first = first.both(tight)
        same = alone.equals(1).both(alike).both(first.either(last))
        first = first.both(c["in2"].equals(1)).both(taps_[2] >= _ROW)
        last = last.both(c["in_c"].equals(1)).both(c["in2"].equals(channels)).both(taps_[2] * channels >= _ROW)
        return first.both(same.denied()), last.both(same.denied()), same

    def _turn_windows(self, f: Function, c: Record, last: Int) -> tuple[Int, Int]:
        """Have each number of a window be a channel; `last`: those of a tap lie side by side."""
        taps, counts = ([c[f"{name}{d}"] for d in range(3)] for name in ("taps", "count"))
        channels, n, groups, by = c["channels"], c["n"], c["groups"], [c[f"in{d}"] for d in range(3)]
        plane, many = math.prod(counts[1:], start=counts[0]), channels * math.prod(taps[1:], start=taps[0])
        room = self._turned_room(f, c, "turned", n * groups * many * plane)
        told = self._tell_turn(
            f, c, c.pointer("input"), room, last.choose(channels * taps[2], taps[2]),
            [(n, c["in_n"]), (groups, c["in_g"]), (last.choose(1, channels), c["in_c"]), (taps[0], by[0]),
             (taps[1], by[1])],
            [(counts[d], c[f"step{d}"] * by[d]) for d in range(3)],
        )  # fmt: skip
        c.keep("input", room)
        c["in0"], c["in1"], c["in2"] = counts[1] * counts[2], counts[2], 1
        self._one_tap(c, many, plane, 1)
        return told

    def _one_tap(self, c: Record, channels: Int, apart: Number, side: Number) -> None:
        """Have a correlation be of one tap: so many channels, how far apart they lie, and those of filters."""
        for d in range(3):
            c[f"step{d}"], c[f"taps{d}"], c[f"dstep{d}"], c[f"lo{d}"], c[f"w{d}"] = 1, 1, 1, 0, 0
            c[f"hi{d}"] = c[f"count{d}"]
        c["in_c"], c["w_c"] = apart, side
        with_planes = apart is not side
        if with_planes:
            c["in_g"], c["in_n"] = channels * apart, channels * apart * c["groups"]
        c["channels"] = channels

    def _seen_places(self, f: Function, c: Record, d: int) -> Int:
        """How many places see something by a tap, for all taps together."""
        found = f.variable(0)
        step, count = c[f"step{d}"], c[f"count{d}"]
        with f.loop(0, c[f"taps{d}"]) as tap:
            of = tap * c[f"dstep{d}"]
            first, last = ((c[f"{name}{d}"] - of).most(0).up(step) for name in ("lo", "hi"))
            found.set(found.value + (last.least(count) - first).most(0))
        return found.value

    def _is_uneven(self, f: Function, c: Record) -> Int:
        """Whether many places do not see anything by many taps."""
        seen, all_ = f.const(100), f.const(_SEEN)
        for d in range(3):
            seen, all_ = seen * self._seen_places(f, c, d), all_ * c[f"count{d}"] * c[f"taps{d}"]
        window = c["taps0"] * c["taps1"] * c["taps2"]
        return c["kind"].equals(CORRELATE).both(window > 1).both(window <= DEPTH).both(seen < all_)

    def _is_small(self, c: Record) -> Int:
        """Whether images are small and dense, so their places may be in the middle."""
        flat = c["count0"].equals(1).both(c["taps0"].equals(1)).both(c["lo0"] <= 0).both(c["hi0"] > 0)
        sizes = [c[f"hi{d}"] - c[f"lo{d}"] for d in (1, 2)]
        of = c["in_n"].equals(c["groups"] * c["channels"] * sizes[0] * sizes[1])
        to = c["out_n"].equals(c["groups"] * c["rows"] * c["count1"] * c["count2"])
        small = (c["count1"] * c["count2"] <= _SMALL).both(c["n"] >= self._in_rows(c, 1).choose(_MANY, self.lanes))
        work = c["n"] * c["channels"] * c["taps1"] * c["taps2"] >= _WORK
        return flat.both(of).both(to).both(small).both(work).both(c["groups"] * c["rows"] >= self.lanes)

    def _in_rows(self, c: Record, apart: Number) -> Int:
        """Whether a row's places of all images may be one row, whose taps are so many images apart."""
        return c["step2"].equals(1).both(c["in2"].equals(apart)).both(c["out2"].equals(apart))

    def _turn_images(self, f: Function, c: Record) -> tuple[Int, Int]:
        """Have the places of all images lie side by side."""
        n, in_n, out_n = c["n"], c["in_n"], c["out_n"]
        seen = c["lo1"] * c["in1"] + c["lo2"] * c["in2"]
        room = self._turned_room(f, c, "turned", n * in_n)
        landing = self._turned_room(f, c, "landing", n * out_n)
        none: list[tuple[Number, Number]] = [(1, 0)] * _OUTER
        of = self._stored_at(f, c.pointer("input"), seen)
        told = self._tell_turn(f, c, of, room, in_n, none, [(1, 0), (1, 0), (n, in_n)])
        c.keep("input", self._stored_at(f, room, seen * n * -1))
        c.keep("beyond", c.pointer("output"))
        c.keep("output", landing)
        for name in ("in_g", "in_c", "in1", "in2", "out_g", "out_m", "out1", "out2"):
            c[name] = c[name] * n
        rows = self._in_rows(c, n)
        with f.when(rows):
            for name in ("count", "dstep", "lo", "hi"):
                c[f"{name}2"] = c[f"{name}2"] * n
            c["in2"], c["out2"] = 1, 1
        with f.when(rows.denied()):
            for d in (0, 1):
                for name in ("count", "step", "taps", "dstep", "lo", "hi", "in", "out", "w"):
                    c[f"{name}{d}"] = c[f"{name}{d + 1}"]
            last = {
                "count": n, "step": 1, "taps": 1, "dstep": 1, "lo": 0, "hi": n, "in": 1, "out": 1, "w": 0,
            }  # fmt: skip
            for name, value in last.items():
                c[f"{name}2"] = value
        c["batch"], c["n"], c["in_n"], c["out_n"] = n, 1, in_n * n, out_n * n
        return told

    def _turn_back(self, f: Function, c: Record) -> tuple[Int, Int]:
        """Have results of `_turn_images` be where they belong."""
        n = c["batch"]
        many = c["out_n"] // n.most(1)
        none: list[tuple[Number, Number]] = [(1, 0)] * _OUTER
        return self._tell_turn(
            f, c, c.pointer("landing"), c.pointer("beyond"), n, none, [(1, 0), (1, 0), (many, n)]
        )  # fmt: skip

    def _turn_task(self) -> str:
        """Programs of some rows of a part each."""
        f, c = self._task("turn")
        n = self.lanes
        side = c["turn_side"]
        blocks = side.up(n)
        (deep, by0), (high, by1), (wide, by2) = (
            (c[f"turn_inner{k}"], c[f"turn_inner_by{k}"]) for k in range(_INNER)
        )  # fmt: skip
        plane = deep * high * wide
        with f.loop(f.param("start"), f.param("end")) as i:
            first, part = i % blocks * n, i // blocks
            left = side - first
            at, rest = first, part
            for k in reversed(range(_OUTER)):
                count = c[f"turn_part{k}"]
                at, rest = at + rest % count * c[f"turn_part_by{k}"], rest // count
            of = self._stored_at(f, c.pointer("turn_of"), at)
            to = self._stored_at(f, c.pointer("turn_to"), (part * side + first) * plane)
            with f.loop(0, deep) as z, f.loop(0, high) as y, f.loop(0, wide, n) as x:
                begin = z * by0 + y * by1
                read, kept = self._below(f, left), self._below(f, wide - x)
                found = [
                    self._raw(f, self._stored_at(f, of, begin + (x + r).least(wide - 1) * by2), read) for r in range(n)
                ]
                place = (z * high + y) * wide + x
                for r, value in enumerate(self._transposed(f, found)):
                    with f.when(left > r):
                        self._put_raw(f, value, self._stored_at(f, to, plane * r + place), kept)
        return f.end()

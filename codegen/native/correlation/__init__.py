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

from opweave.codegen.native import llvm
from opweave.codegen.native.correlation.blocks import Blocks
from opweave.codegen.native.correlation.channels import held
from opweave.codegen.native.correlation.programs import FEW
from opweave.codegen.native.correlation.words import (
    CORRELATE,
    DEPTH,
    DEPTHWISE,
    DEPTHWISE_ADJOINT,
    DEPTHWISE_WEIGHT,
    ENOUGH,
    FIELDS,
    PITCH,
    RATE,
    SPREAD,
    WEIGHT,
    WORDS,
    Kind,
    Record,
)
from opweave.codegen.native.emitting import Function, Int, Number
from opweave.codegen.native.objects import UNTUNED


def source_for_host(stored: str) -> str:
    """`source` for this machine."""
    return source(Kind.of(stored, llvm.host()))


def source(kind: Kind) -> str:
    """The LLVM IR of `i32 opweave_convolve(ptr words)`: 0 done, 1 the handler of a signal raised, 3 no memory."""
    return _Module(kind).text()


class _Module(Blocks):
    def text(self) -> str:
        """All functions."""
        parts = [
            _HEAD, self._masked_load(), self._narrow(), self._several(), self._pairs(),
            *self._micros(), self._copy(), self._zero(), self._fill(), self._plan(),
            self._columns(), self._filters(), self._turned(), self._square(), self._scatter(), self._ordered(),
            self._survey(), self._careful(), self._careful_weight(), self._look(), self._correlate(),
            *(
                [*self._tile_products(), self._tile_filters(), self._correlate_tiles()]
                if self.kind.tiles
                else [self._correlate_planes()]
            ),
            self._spread_task(), self._single_filters(), self._single_rows(), self._single_gradients(),
            self._dots(), self._weight(), self._gather(),
            self._depthwise(), self._depthwise_weight(), self._lanes(), self._lane_forward(),
            self._lane_weight(), self._lane_adjoint(), self._beside_forward(),
            self._turn_task(), self._entry(),
            '!0 = distinct !{!0, !1}\n!1 = !{!"llvm.loop.unroll.disable"}',
        ]  # fmt: skip
        return "\n\n".join(parts)

    def _entry(self) -> str:
        f = Function("i32", self.name, ["ptr words"], UNTUNED)
        context = f.room(f"[{len(WORDS)} x i64]")
        f.line(f"call void @llvm.memcpy.p0.p0.i64(ptr {context}, ptr %words, i64 {8 * len(FIELDS)}, i1 false)")
        c = Record(f, context, WORDS)
        kind = c["kind"]
        spread = kind.equals(SPREAD)
        with f.when(spread):
            self._spread_words(f, c)
        for name in ("failed", "turned", "landing", "batch", "uneven", "by_taps"):
            c[name] = 0
        result, cost = f.room("i32"), f.room("double")
        f.line(f"store i32 0, ptr {result}")

        def go(function: str, programs: Int, work: Int) -> None:
            """Run programs, unless the handler of a signal has raised while others ran."""
            fine = Int(f, f.op(f"icmp eq i32 {f.op(f'load i32, ptr {result}')}, 0"))
            with f.when(fine):
                each = f.op(f"sitofp i64 {work} to double")
                f.line(f"store double {f.op(f'fdiv double {each}, {RATE:e}')}, ptr {cost}")
                found = f.op(
                    f"call i32 @opweave_run(ptr @{function}, ptr {context}, i64 {programs}, i32 1, i32 1, i32 1,"
                    f" ptr {cost})"
                )
                f.line(f"store i32 {found}, ptr {result}")
                with f.when(c["failed"].equals(1)):
                    f.line(f"store i32 3, ptr {result}")

        def turn(told: tuple[Int, Int]) -> None:
            missing = c["failed"].equals(1)
            self._quit(f, c, missing)
            go("turn", *told)

        some = (c["n"] > 0).both(c["rows"] > 0).both(c["groups"] > 0).both(c["channels"] > 0)
        some = some.both((c["count0"] > 0).both(c["count1"] > 0).both(c["count2"] > 0))
        first, last, same = self._windows(c)
        with f.when(same):
            self._one_tap(c, c["channels"] * c["taps0"] * c["taps1"] * c["taps2"], 1, 1)
        with f.when(first.either(last).both(some)):
            turn(self._turn_windows(f, c, last))
        with f.when(some.both(kind.equals(CORRELATE)).both(c["taps0"] * c["taps1"] * c["taps2"] > 1)):
            c["uneven"] = self._is_uneven(f, c).choose(1, 0)
            with f.when(c["uneven"].equals(1).both(self._is_small(c))):
                turn(self._turn_images(f, c))
        counts, taps = [c[f"count{d}"] for d in range(3)], [c[f"taps{d}"] for d in range(3)]
        window, image = math.prod(taps[1:], start=taps[0]), math.prod(counts[1:], start=counts[0])
        rows, groups, channels = c["rows"], c["groups"], c["channels"]
        places, terms = c["n"] * image, channels * window
        reach = (counts[2] - 1) * c["step2"] + (taps[2] - 1) * c["dstep2"] + 1
        phase = reach.up(c["step2"])
        inside = f.const(0).equals(0)
        for d in range(3):
            end = (counts[d] - 1) * c[f"step{d}"] + (taps[d] - 1).most(0) * c[f"dstep{d}"]
            inside = inside.both((c[f"lo{d}"] <= 0).both(c[f"hi{d}"] > end))
        lone = (kind >= DEPTHWISE).both(spread.denied())
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
            "pitch": phase * c["step2"], "direct": direct.choose(1, 0), "plain": tight.choose(1, 0), "odd": 0,
            "packed": 0,
            "deep": (counts[0] - 1) * c["step0"] + (taps[0] - 1) * c["dstep0"] + 1, "partial": 0,
            "blocked": 0,
            "line": counts[2], "planes": 1,
        }.items():  # fmt: skip
            c[name] = value
        work_ = places * rows * groups * channels
        some = (places > 0).both(rows > 0).both(groups > 0)
        last = some.both(self._lies_last(c)).both(direct.denied()).both(window > 0)
        last = last.both(kind.equals(CORRELATE).either(kind.equals(WEIGHT)))
        with f.when(last):
            turn(self._turn_last(f, c))
        # Rows of few filters' gradients are read as they lie.
        apart = c["out_m"].equals(1).both(c["out2"].equals(1).denied()).both(rows > 1).both(rows <= FEW)
        with f.when(kind.equals(WEIGHT).both(some).both(apart)):
            turn(self._turn_gradients(f, c))
        single = self._single(c, inside)
        correlation, gradient = (single.both(kind.equals(of)) for of in (CORRELATE, WEIGHT))
        by_filters = correlation.both(self._by_filters(c))
        by_rows = correlation.both(by_filters.denied()).both(self._by_rows(f, c))
        by_products = gradient.both(self._by_products(c))
        with f.when(by_filters.both(some)):
            go("single.filters", self._programs_by_filters(c), places * channels * 32)
        for which, of_weight in ((by_rows, False), (by_products, True)):
            with f.when(which.both(some)):
                programs = self._tell(f, c, gradient=of_weight)
                go("single.rows", programs, (places * channels * rows // programs).most(1))
        planes = self._by_planes(f, c)
        by_planes = kind.equals(CORRELATE).both(by_filters.either(by_rows).denied()).both(planes)
        with f.when(kind.equals(WEIGHT).both(planes).both(some)):
            go("single.gradients", groups * channels.up(4), places * rows * 4)
        by_products = by_products.either(kind.equals(WEIGHT).both(planes).both(some))
        with f.when(by_planes.both(some)):
            go("single.rows", self._tell_planes(f, c), rows * channels * self.lanes)
        some = some.both(by_filters.either(by_rows).either(by_planes).denied())
        beside = held(c)
        by_lanes = kind.equals(DEPTHWISE).both(beside).both(groups >= self.lanes)
        # There are programs for two threads, at least.
        weight_by_lanes = kind.equals(DEPTHWISE_WEIGHT).both(beside).both(groups >= 2 * self.lanes)
        blocks = groups.up(self.lanes)
        work = image * window * self.lanes
        # Channels that lie side by side stay where they are.
        there = self._lies_beside(c).both(groups >= self.lanes)
        forward_there = there.both(kind.equals(DEPTHWISE))
        with f.when(forward_there.both(some)):
            go("beside.forward", c["n"] * blocks, work)
        by_lanes = by_lanes.both(there.denied())
        with f.when(by_lanes.both(some)):
            go("lanes.forward", c["n"] * blocks, work * rows)
            with f.when(c["odd"].equals(1).both(inside.denied())):
                go("careful", groups * rows, c["n"] * image * terms * 8)
        with f.when(weight_by_lanes.both(rows > 0)):
            go("lanes.weight", blocks, work * rows * c["n"])
        with f.when(kind.equals(DEPTHWISE_ADJOINT).both(some)):
            go("lanes.adjoint", c["n"] * blocks, work * rows)
        product = kind.equals(CORRELATE).either(spread)
        in_rows = by_lanes.either(forward_there).denied()
        correlates = product.either(kind.equals(DEPTHWISE).both(in_rows)).both(some)
        width = (places.up(self.lanes) * self.lanes).least(self._widest(f, rows))
        blocks = places.up(width.most(1))
        # Filters that are read once or twice are looked at where they are read.
        at_once = product.both(blocks <= 2).both(tight)
        striped = kind.equals(CORRELATE).both(self._is_striped(f, c))
        c["striped"] = striped.choose(1, 0)
        tiled = correlates.both(self._is_tiled(f, c))
        c["tiled"] = tiled.choose(1, 0)
        surveyed = correlates.both(at_once.denied()).both(tiled.denied())
        apart = tight.denied().both(terms > 0).both(surveyed)
        # Blocks of whole channels, of about the same size.
        each = channels.up(2) if self.by_channels else channels
        parts = each.up((f.const(DEPTH) // window.most(1)).most(1)).most(1)
        depth = (window <= DEPTH).choose((each.up(parts) * window).most(1), DEPTH)
        c["depth"] = depth
        blocked = f.const(0).equals(1)
        if self.stored == self.real or self.by_channels:
            # Filters that lie in order are copied once, too, and not for each block of places.
            apart = apart.either(surveyed.both(tight)) if self.stored == self.real else apart
            blocked = apart.both(product).both(window <= DEPTH).both(depth > DEPTH // 2)
        apart = apart.both(blocked.either(tight.denied()))
        if self.by_channels:
            blocked = blocked.both((channels & 1).equals(0))
        # What is read once or twice is put in order by who reads it.
        c["paired"] = blocked.choose(1, 0) if self.by_channels else 0
        c["by_taps"] = blocked.both(self._by_taps(c)).both(tight.denied()).choose(1, 0)
        late = blocked.both(blocks <= 2).both(striped.denied())
        c["late"] = late.choose(1, 0)
        blocked, apart = blocked.both(late.denied()), apart.both(late.denied())
        parts = blocked.choose(each.up((depth // window.most(1)).most(1)), 0)
        c["blocked"] = parts
        with f.when(apart):
            filter_ = blocked.choose(parts * PITCH, terms + self.lanes)
            room = self._room(f, groups * rows * filter_ + blocked.choose(self.high * PITCH, 0) + 2 * self.lanes)
            c.keep("packed", self._stored_at(f, room, 2 * self.lanes))
            self._quit(f, c, f.is_null(room))
            # The last filters of all terms but the last are followed by the first of the next.
            with f.when((parts > 0).both(rows % self.high > 0)), f.loop(0, groups) as g:
                last = ((g + 1) * parts - 1) * rows
                self._clear_rows(f, c.pointer("packed"), last, last + self.high)
            with f.when(parts > 0):
                last = groups * parts * rows
                self._clear_rows(f, c.pointer("packed"), last, last + self.high)
        with f.when(apart.either(surveyed.both(inside.denied()).both(tight))):
            go("survey", groups * rows.up(self.looked), terms * 20 * self.looked)
        if self.kind.tiles:
            with f.when(tiled):
                self._put_tiles(f, c, go)
        with f.when(apart.both(blocked.denied())):
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
            c["terms"] = each * window
            self._correlate_stripes(f, c, go)
            for name, value in {
                "terms": terms, "image": image, "places": places, "line": counts[2], "planes": 1,
            }.items():  # fmt: skip
                c[name] = value
            with f.when(c["odd"].equals(1).both(inside.denied())):
                go("careful", groups * rows, c["n"] * image * terms * 8)
        with f.when(spread.both(some)):
            c["terms"] = each
            programs = self._parts(f, c)
            go("spread", programs, (work_ // programs.most(1)).most(1))
        with f.when(kind.equals(WEIGHT).both(by_products.denied()).both(rows > 0).both(terms > 0)):
            row_blocks = terms.up(DEPTH)
            height = terms.up(row_blocks * self.high) * self.high
            row_blocks = terms.up(height)
            blocks = rows.up(self._widest(f, height))
            width = rows.up(blocks * self.lanes) * self.lanes
            blocks = rows.up(width)
            tasks = row_blocks * blocks * groups
            chunks = places.up(DEPTH).most(1)
            splits = f.const(ENOUGH).up(tasks).least(chunks).most(1)
            stretch = chunks.up(splits)
            splits = chunks.up(stretch)
            for name, value in {
                "height": height, "row_blocks": row_blocks, "blocks": blocks, "width": width, "splits": splits,
                "stretch": stretch * DEPTH,
            }.items():  # fmt: skip
                c[name] = value
            with f.when(splits > 1):
                partial = self._room(f, tasks * splits * height * width)
                c.keep("partial", partial)
                self._quit(f, c, f.is_null(partial))
            go("weight", tasks * splits, width * height * stretch * DEPTH)
            with f.when(splits > 1):
                go("gathered", tasks, height * width * splits * 8)
                f.line(f"call void @free(ptr {c.pointer('partial')})")
        with f.when(kind.equals(DEPTHWISE).both(some).both(in_rows)):
            go("depthwise", c["n"] * groups, image * (window + 8) * rows // 4)
        with f.when(kind.equals(DEPTHWISE_WEIGHT).both(rows > 0).both(weight_by_lanes.denied())):
            go("depthwise_weight", groups, c["n"] * image * (window + 8) * rows // 4)
        gradient = kind.equals(WEIGHT).either(kind.equals(DEPTHWISE_WEIGHT))
        with f.when(gradient.both(c["odd"].equals(1)).both(inside.denied())):
            go("careful.weight", groups * rows, c["n"] * image * terms)
        with f.when(apart.either(tiled)):
            f.line(f"call void @free(ptr {self._stored_at(f, c.pointer('packed'), -2 * self.lanes)})")
        with f.when(c["batch"] > 0):
            go("turn", *self._turn_back(f, c))
        for name in ("turned", "landing"):
            f.line(f"call void @free(ptr {c.pointer(name)})")
        text = f.end(f"i32 {f.op(f'load i32, ptr {result}')}")
        # As a launch from Python runs it.
        f = Function("i32", f"{self.name}_run", _RUN)
        found = f.op(f"call i32 @{self.name}(ptr %packed)")
        return f"{text}\n\n{f.end(f'i32 {found}')}"


_RUN = ("ptr code", "ptr packed", "i64 n", "i32 gx", "i32 gy", "i32 gz", "ptr cost")
_HEAD = """\
declare ptr @malloc(i64)
declare ptr @aligned_alloc(i64, i64)
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
declare i1 @llvm.vector.reduce.and.v8i1(<8 x i1>)
declare i1 @llvm.vector.reduce.and.v4i1(<4 x i1>)
declare i1 @llvm.vector.reduce.and.v2i1(<2 x i1>)
declare i32 @opweave_run(ptr, ptr, i64, i32, i32, i32, ptr)"""

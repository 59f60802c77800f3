"""The adjoint of a correlation in its input as one product, whose results are added to where they belong.

Where the stride is longer than one, the adjoint is a correlation for each of its phases, and each would bring columns
and filters in order anew. Here a row of the product is a tap of a channel: its columns are the results' gradients as
they lie, its filters lie side by side in memory, and a row's results are added to the places of the input that the tap
has seen. Those lie in memory of a program's own, the phases of the stride apart, so what is added lies side by side.
Nothing is multiplied by zeros around.
"""

from __future__ import annotations

from opweave.codegen.native import amx
from opweave.codegen.native.correlation.tiles import Tiles
from opweave.codegen.native.correlation.words import ENOUGH, FIELDS, PITCH, TALL, Record
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.objects import UNTUNED

#: What a program keeps: its group, images, channels and part of the input; where memory of its own is.
_OWN = (
    "g", "n", "until", "from", "some", "u0", "u1", "v0", "v1", "filled", "runs", "table", "slab", "left", "sums",
    "planes",
)  # fmt: skip
#: What a run of places is: its first lane, how many there are, the image and the place.
_RUN = 6
#: Numbers that a program holds of its part of the input; places that a program has, at least, and the most of a row.
_HELD, _LEAST, _LONG = 1 << 16, 96, 1024
#: Rows of a product that are few, and registers of a block for them.
_FEW_ROWS, _LINE = 64, 24


class Spread(Tiles):
    """Programs that multiply first and add up then."""

    def _spread_words(self, f: Function, c: Record) -> None:
        """Have a correlation be the product: a row for each tap of a channel, and nothing outside."""
        c.keep("given", "%words")
        span = c["taps0"] * c["taps1"] * c["taps2"]
        c["span"], c["rows"], c["w_m"] = span, c["rows"] * span, 1
        for d in range(3):
            c[f"lo{d}"], c[f"hi{d}"] = 0, c[f"count{d}"]
            c[f"step{d}"], c[f"taps{d}"], c[f"dstep{d}"], c[f"w{d}"] = 1, 1, 1, 0

    def _parts(self, f: Function, c: Record) -> Int:
        """Part the channels and the input; the number of programs."""
        s, span = Record(f, "%words", FIELDS), c["span"]
        reaches = [(s[f"taps{d}"] - 1) * s[f"dstep{d}"] for d in range(3)]
        sizes = [s[f"hi{d}"] - s[f"lo{d}"] for d in range(3)]
        each = (f.const(TALL) // span).most(1).least(s["rows"])
        row_blocks = s["rows"].up(each)
        each = s["rows"].up(row_blocks)
        others = s["n"] * s["groups"] * row_blocks
        wanted = f.const(ENOUGH).up(others)
        step = s["step2"]
        across = sizes[2].up(_LONG)
        # A row is parted where there is nothing else.
        lone = sizes[1].equals(1)
        most = sizes[2] // (reaches[2] * 8).most(step * _LEAST)
        across = lone.choose(across.most(wanted.least(most)), across)
        across = sizes[2].up(across).up(step) * step
        pad = reaches[2] // step + 2
        phase = across // step + pad * 2
        across_parts = sizes[2].up(across)
        bands = f.const(ENOUGH).up(others * across_parts)
        down = (f.const(_HELD) // (each * sizes[0] * step * phase)).least(sizes[1].up(bands))
        least = (reaches[1] * 4).most(s["step1"] * (f.const(_LEAST) // s["count2"] + 1))
        down = down.most(least).least(sizes[1])
        down = sizes[1].up(sizes[1].up(down))
        places = s["count0"]
        for d, part in ((1, down), (2, across)):
            places = places * s[f"count{d}"].least((part + reaches[d]) // s[f"step{d}"] + 1)
        # Images of few places are computed together.
        image = sizes[0] * down * step * phase
        whole = across_parts.equals(1).both(sizes[1] <= down)
        several = (f.const(_LEAST) // places.most(1)).least(f.const(2 * _HELD) // (each * image)).most(1)
        several = whole.choose(several.least(s["n"]), 1)
        several = s["n"].up(s["n"].up(several))
        places = places * several
        vectors = places.up(self.lanes)
        # Whole panels of three or of two registers, as one alone takes the time of two.
        six, five = vectors % 6, vectors % 5
        of_six = six.equals(1).either(six.equals(4)).denied()
        of_five = five.equals(1).either(five.equals(4)).denied()
        wide = of_six.choose(6, (vectors & 1).equals(0).choose(4, of_five.choose(5, 6)))
        # Of few rows much is read for little that is multiplied: as much as lies together.
        width = (each * span <= _FEW_ROWS).choose(_LINE, wide).least(vectors) * self.lanes
        for name, value in {
            "height": each * span, "row_blocks": row_blocks, "width": width, "down": down, "across": across,
            "phase": phase, "line": pad, "stretch": image * several, "splits": across_parts,
            "blocks": sizes[1].up(down), "several": several,
        }.items():  # fmt: skip
            c[name] = value
        return s["n"].up(several) * s["groups"] * row_blocks * across_parts * sizes[1].up(down)

    def _spread_task(self) -> str:
        """Programs of the adjoint: some channels of a part of an image each."""
        f, c = self._task("spread", UNTUNED)
        s = Record(f, c.pointer("given"), FIELDS)
        width, height, span, stretch = c["width"], c["height"], c["span"], c["stretch"]
        panel = width.equals(4 * self.lanes).choose(2 * self.lanes, width.least(self.wide))
        far = c["depth"].most(amx.ROWS) * self.wide + self.lanes
        t, record = self._block(f, c, width, panel)
        own = Record(f, f.room(f"[{len(_OWN)} x i64]"), _OWN)
        each = height // span
        rooms = {
            "table": width * (_RUN * 2), "slab": width.up(panel) * far,
            "left": c["blocked"].equals(0).choose((height + self.high) * PITCH, 0) + 3 * self.lanes,
            "sums": (height + self.high) * width, "planes": each * stretch + 2 * self.lanes,
        }  # fmt: skip
        memory = {name: self._room(f, size) for name, size in rooms.items()}
        for name, place in memory.items():
            own.keep(name, place)
        own.keep("left", self._at(f, memory["left"], self.lanes))
        record.keep("scratch", self._room(f, panel + 4 * self.lanes))
        self._need(f, c, record, *memory.values())
        record["plane"], record["sees"] = 0, 1
        f.store(0, record.pointer("seen"), 0)
        down, across, rows, several = c["down"], c["across"], s["rows"], c["several"]
        images = c["n"].up(several)
        sizes = [s[f"hi{d}"] - s[f"lo{d}"] for d in range(3)]
        counts = [s[f"count{d}"] for d in range(3)]
        in0, in1, in2 = (c[f"in{d}"] for d in range(3))
        parts, bands, row_blocks = c["splits"], c["blocks"], c["row_blocks"]
        given, by = c.pointer("bias"), c["bias_by"]
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        start = f.room(self.real)
        with f.loop(f.param("start"), f.param("end")) as i:
            v0, u0 = i % parts * across, i // parts % bands * down
            rest = i // parts // bands
            n, first = rest % images * several, rest // images % row_blocks * each
            until = (n + several).least(c["n"])
            g = rest // images // row_blocks
            u1, v1 = (u0 + down).least(sizes[1]), (v0 + across).least(sizes[2])
            some = each.least(rows - first)
            with f.when(c["blocked"].equals(0)):
                last = some * span
                self._clear_rows(f, own.pointer("left"), last, last.up(self.high) * self.high)
            for name, value in {
                "g": g, "n": n, "until": until, "from": first, "some": some, "u0": u0, "u1": u1, "v0": v0, "v1": v1,
                "filled": 0, "runs": 0,
            }.items():  # fmt: skip
                own[name] = value
            with f.loop(0, some) as channel:
                f.line(f"store {self.real} 0.0, ptr {start}")
                with f.when(there_is):
                    value = self._get(f, self._stored_at(f, given, (g * rows + first + channel) * by))
                    f.line(f"store {self.real} {value}, ptr {start}")
                value = self._splat(f, f.op(f"load {self.real}, ptr {start}"))
                with f.loop(0, stretch, self.lanes) as k:
                    self._vstore(f, value, self._at(f, memory["planes"], channel * stretch + k))
            (ya, yb), (xa, xb) = (self._seen_by(s, d, a, b) for d, a, b in ((1, u0, u1), (2, v0, v1)))
            f.store(0, record.pointer("counts"), 0)
            with f.loop(n, until) as image, f.loop(0, counts[0]) as z, f.loop(ya, yb) as y:
                x, left = f.variable(xa), f.variable(xb - xa)
                with f.repeat(left):
                    lane = own["filled"]
                    j = lane // panel
                    count = left.value.least(((j + 1) * panel).least(width) - lane)
                    have = f.load(record.pointer("counts"), j * 2)
                    run = f.at(record.pointer("ins"), j * (panel * 3) + have * 3)
                    source = image * c["in_n"] + z * in0 + y * in1 + x.value * in2
                    for k, word in enumerate((source, lane - j * panel, count)):
                        f.store(word, run, k)
                    f.store(have + 1, record.pointer("counts"), j * 2)
                    number = own["runs"]
                    to = f.at(memory["table"], number * _RUN)
                    for k, word in enumerate((lane, count, image - n, z, y, x.value)):
                        f.store(word, to, k)
                    own["runs"], own["filled"] = number + 1, lane + count
                    x.set(x.value + count)
                    left.set(left.value - count)
                    filled = lane + count
                    with f.when((filled % panel).equals(0)):
                        f.store(0, record.pointer("counts"), filled // panel * 2)
                    with f.when(filled.equals(width)):
                        f.line(f"call void @spread.block(ptr %c, ptr {t}, ptr {own.base})")
            with f.when(own["filled"] > 0):
                f.line(f"call void @spread.block(ptr %c, ptr {t}, ptr {own.base})")
            f.line(f"call void @spread.out(ptr %c, ptr {t}, ptr {own.base})")
        self._close(f, record, *memory.values())
        return "\n\n".join((self._spread_block(), self._spread_add(), self._spread_out(), f.end()))

    def _seen_by(self, s: Record, d: int, first: Int, end: Int) -> tuple[Int, Int]:
        """The places that see something of the input from one place to another."""
        low, step, reach = s[f"lo{d}"], s[f"step{d}"], (s[f"taps{d}"] - 1) * s[f"dstep{d}"]
        return (first + low - reach).most(0).up(step), ((end - 1 + low) // step + 1).least(s[f"count{d}"])

    def _spread_block(self) -> str:
        """Multiply a block of places, and add what comes of it."""
        f, c, t = self._open("spread.block", "ptr own")
        own = Record(f, "%own", _OWN)
        width, depth, terms, span = c["width"], c["depth"], c["terms"], c["span"]
        panel, filled, g = t["panel"], own["filled"], own["g"]
        panels = filled.up(panel)
        t["panels"] = panels
        far = depth.most(amx.ROWS) * self.wide + self.lanes
        slab, left, sums = (own.pointer(name) for name in ("slab", "left", "sums"))
        m0, some = own["from"] * span, own["some"] * span
        base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
        none = f.room(f"[{self.high} x {self.real}]")
        f.line(f"store [{self.high} x {self.real}] zeroinitializer, ptr {none}")
        self._clear_columns(f, slab, far, panel, filled, depth)
        with f.loop(0, terms, depth) as r0:
            r1 = (r0 + depth).least(terms)
            k = r1 - r0
            columns = "columns.pairs" if self.by_channels else "columns"
            f.line(
                f"call void @{columns}(ptr %c, ptr %t, ptr {base}, i64 {r0}, i64 {r1}, ptr {slab}, i64 {far},"
                f" i64 {self.wide})"
            )
            self._put_filters(f, c, "%t", g, m0, some, r0, r1, left)
            if self.kind.tiles:
                with f.loop(0, panels) as j:
                    f.line(f"call void @pair.rows(ptr {self._at(f, slab, j * far)}, i64 {k}, i64 {panel})")
            filters = self._filters_at(f, c, g, m0, r0, left)
            numbers = k.up(2) if self.kind.tiles else k
            later = (r0 > 0).choose(1, 0)
            self._tiled(f, amx.configure())
            with f.loop(0, panels) as j:
                vectors = (filled - j * panel).least(panel).up(self.lanes)
                columns = self._at(f, slab, j * far)
                with f.loop(0, some, self.high) as m:
                    a, to = self._at(f, filters, m * PITCH), self._at(f, sums, m * width + j * panel)
                    self._multiply(f, some - m, vectors, numbers, a, columns, to, width, none, later)
            self._tiled(f, amx.release())
        f.line("call void @spread.add(ptr %c, ptr %t, ptr %own)")
        own["filled"], own["runs"] = 0, 0
        f.store(0, t.pointer("counts"), 0)
        return f.end()

    def _spread_add(self) -> str:
        """Add the results of a block to the planes of the input."""
        f, c, _ = self._open("spread.add", "ptr own")
        own, s = Record(f, "%own", _OWN), Record(f, c.pointer("given"), FIELDS)
        lows, steps, taps, apart = ([s[f"{name}{d}"] for d in range(3)] for name in ("lo", "step", "taps", "dstep"))
        width, span, stretch, phase, pad = c["width"], c["span"], c["stretch"], c["phase"], c["line"]
        sums, planes, table = (own.pointer(name) for name in ("sums", "planes", "table"))
        u0, u1, v0, some = own["u0"], own["u1"], own["v0"], own["some"]
        depth, high = s["hi0"] - lows[0], c["down"]
        step = steps[2]
        # Places before the first one are counted from far enough before it, for a quotient of whole numbers.
        far = lows[2].up(step)
        with f.loop(0, own["runs"]) as i:
            lane, count, image, z, y, x = (f.load(f.at(table, i * _RUN), k) for k in range(_RUN))
            whole = count & -self.lanes
            rest = count - whole
            mask, bits = self._below(f, rest), f"<{self.lanes} x i1>"
            begin = pad + x - far - v0 // step
            with f.loop(0, taps[0]) as tz, f.loop(0, taps[1]) as ty:
                uz, uy = z * steps[0] + tz * apart[0] - lows[0], y * steps[1] + ty * apart[1] - lows[1]
                inside = (uz >= 0).both(uz < depth).both(uy >= u0).both(uy < u1)
                row = ((image * depth + uz) * high + uy - u0) * (step * phase) + begin
                with f.when(inside), f.loop(0, taps[2]) as tx:
                    along = tx * apart[2] + far * step - lows[2]
                    begins = self._at(f, planes, row + along % step * phase + along // step)
                    of = self._at(f, sums, ((tz * taps[1] + ty) * taps[2] + tx) * width + lane)
                    with f.loop(0, some) as channel:
                        to, own_ = self._at(f, begins, channel * stretch), self._at(f, of, channel * (span * width))
                        with f.loop(0, whole, self.lanes) as k:
                            place = self._at(f, to, k)
                            new = f.op(
                                f"fadd {self.vector} {self._vload(f, place)}, {self._vload(f, self._at(f, own_, k))}"
                            )
                            self._vstore(f, new, place)
                        with f.when(rest > 0):
                            place = self._at(f, to, whole)
                            more = self._vload(f, self._at(f, own_, whole))
                            more = f.op(f"select {bits} {mask}, {self.vector} {more}, {self.vector} zeroinitializer")
                            self._vstore(f, f.op(f"fadd {self.vector} {self._vload(f, place)}, {more}"), place)
        return f.end()

    def _spread_out(self) -> str:
        """Planes to where they belong."""
        f, c, _ = self._open("spread.out", "ptr own")
        own, s = Record(f, "%own", _OWN), Record(f, c.pointer("given"), FIELDS)
        stretch, phase, pad, high, step = c["stretch"], c["phase"], c["line"], c["down"], s["step2"]
        depth = s["hi0"] - s["lo0"]
        u0, u1, v0 = own["u0"], own["u1"], own["v0"]
        long, out2 = own["v1"] - v0, c["out2"]
        base = self._stored_at(
            f, c.pointer("output"),
            own["g"] * c["out_g"] + own["from"] * c["out_m"] + u0 * c["out1"] + v0 * out2,
        )  # fmt: skip
        n, first = self.lanes, own["n"]
        beside = out2.equals(1)
        # Channels that lie side by side are turned around, a register of them at a time.
        last = c["out_m"].equals(1).both(beside.denied())
        with (
            f.loop(0, own["some"], last.choose(n, 1)) as channel, f.loop(first, own["until"]) as image,
            f.loop(0, depth) as z, f.loop(0, u1 - u0) as y,
        ):  # fmt: skip
            row = ((image - first) * depth + z) * high + y
            of = self._at(f, own.pointer("planes"), channel * stretch + row * (step * phase) + pad)
            to = self._stored_at(
                f, base, image * c["out_n"] + channel * c["out_m"] + z * c["out0"] + y * c["out1"]
            )  # fmt: skip
            with f.when(last):
                with f.loop(0, step) as p, f.loop(0, (long - p).up(step), n) as x:
                    begin = self._at(f, of, p * phase + x)
                    there = self._stored_at(f, to, (x * step + p) * out2)
                    wide = (long - p).up(step) - x
                    self._put_square(f, begin, stretch, own["some"] - channel, wide, there, step * out2)
            single, double = beside.both(step.equals(1)), beside.both(step.equals(2))
            with f.when(single), f.loop(0, long, n) as x:
                self._put_several(f, self._vload(f, self._at(f, of, x)), self._stored_at(f, to, x), long - x)
            with f.when(double), f.loop(0, long, 2 * n) as x:
                parts = [self._vload(f, self._at(f, of, phase * p + (x // 2))) for p in (0, 1)]
                for half in (0, 1):
                    order = ", ".join(f"i32 {half * (n // 2) + k // 2 + n * (k % 2)}" for k in range(n))
                    mixed = f.op(
                        f"shufflevector {self.vector} {parts[0]}, {self.vector} {parts[1]}, <{n} x i32> <{order}>"
                    )
                    begin = x + half * n
                    with f.when(begin < long):
                        self._put_several(f, mixed, self._stored_at(f, to, begin), long - begin)
            with f.when(single.either(double).either(last).denied()), f.loop(0, step) as p:
                with f.loop(0, (long - p + step - 1) // step, rolled=False) as x:
                    value = f.op(f"load {self.real}, ptr {self._at(f, of, p * phase + x)}")
                    self._put(f, value, self._stored_at(f, to, (x * step + p) * out2))
        return f.end()

"""Correlations, and their gradients by the weight, as products of what is packed."""

from __future__ import annotations

from opweave.codegen.native import amx
from opweave.codegen.native.correlation.packing import Packing
from opweave.codegen.native.correlation.words import DEPTH, PITCH, Record
from opweave.codegen.native.emitting import Function, Int, Number
from opweave.codegen.native.objects import UNTUNED

#: The most filters whose gradients are formed as products of rows (an even number), and how many rows at a time.
FEW, _TERMS = 8, 4
#: Registers of sums that are enough for as many products as are made at a time; with fewer, panels are wider.
_SUMS = 12
#: Numbers before a table of terms, the first of which is how many taps it has.
_HEAD = 16


class Programs(Packing):
    """Programs that compute blocks of correlations, and of gradients by the weight."""

    def _careful(self) -> str:
        """Programs of a correlation of one filter each, where nothing is multiplied by the zeros around the input."""
        f, c = self._task("careful", UNTUNED)
        rows, channels, n_ = c["rows"], c["channels"], c["n"]
        dims = range(3)
        counts, taps, by = ([c[f"{name}{d}"] for d in dims] for name in ("count", "taps", "w"))
        lows, highs, of, to = ([c[f"{name}{d}"] for d in dims] for name in ("lo", "hi", "in", "out"))
        steps, apart = ([c[f"{name}{d}"] for d in dims] for name in ("step", "dstep"))
        total = f.room(self.real)
        given = c.pointer("bias")
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        with f.loop(f.param("start"), f.param("end")) as i:
            g, m = i // rows, i % rows
            weight = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m * c["w_m"])
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            out = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m * c["out_m"])
            with f.loop(0, n_) as n, f.loop(0, counts[0]) as z, f.loop(0, counts[1]) as y, f.loop(0, counts[2]) as x:
                place = (z, y, x)
                f.line(f"store {self.real} 0.0, ptr {total}")
                with f.when(there_is):
                    value = self._get(f, self._stored_at(f, given, (g * rows + m) * c["bias_by"]))
                    f.line(f"store {self.real} {value}, ptr {total}")
                with (
                    f.loop(0, channels) as channel, f.loop(0, taps[0]) as tz, f.loop(0, taps[1]) as ty,
                    f.loop(0, taps[2]) as tx,
                ):  # fmt: skip
                    seen = [place[d] * steps[d] + (tz, ty, tx)[d] * apart[d] for d in dims]
                    inside = f.const(0).equals(0)
                    for d in dims:
                        inside = inside.both((seen[d] >= lows[d]).both(seen[d] < highs[d]))
                    with f.when(inside):
                        at = (
                            n * c["in_n"] + channel * c["in_c"] + sum((seen[d] * of[d] for d in dims), start=f.const(0))
                        )
                        filters = channel * c["w_c"] + tz * by[0] + ty * by[1] + tx * by[2]
                        a = self._get(f, self._stored_at(f, base, at))
                        b = self._get(f, self._stored_at(f, weight, filters))
                        old = f.op(f"load {self.real}, ptr {total}")
                        new = f.op(f"fadd contract {self.real} {old}, {f.op(f'fmul contract {self.real} {a}, {b}')}")
                        f.line(f"store {self.real} {new}, ptr {total}")
                end = n * c["out_n"] + sum((place[d] * to[d] for d in dims), start=f.const(0))
                self._put(f, f.op(f"load {self.real}, ptr {total}"), self._stored_at(f, out, end))
        return f.end()

    def _careful_weight(self) -> str:
        """Programs of a gradient by the weight of one filter each, which form what of it is NaN anew.

        Where a gradient of a result is not finite, its product with a zero around the input is none; here those are
        left out.
        """
        f, c = self._task("careful.weight", UNTUNED)
        rows, dims = c["rows"], range(3)
        counts, taps, by = ([c[f"{name}{d}"] for d in dims] for name in ("count", "taps", "w"))
        lows, highs, of, to = ([c[f"{name}{d}"] for d in dims] for name in ("lo", "hi", "in", "out"))
        steps, apart = ([c[f"{name}{d}"] for d in dims] for name in ("step", "dstep"))
        total, number = f.room(self.real), f.room("i1")

        def is_none(value: str) -> Int:
            # What is none stays so, whatever is added.
            return Int(f, f.op(f"fcmp uno {self.real} {value}, 0.0"))

        with f.loop(f.param("start"), f.param("end")) as i:
            g, m = i // rows, i % rows
            weight = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m * c["w_m"])
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            grads = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m * c["out_m"])
            with (
                f.loop(0, c["channels"]) as channel, f.loop(0, taps[0]) as tz, f.loop(0, taps[1]) as ty,
                f.loop(0, taps[2]) as tx,
            ):  # fmt: skip
                place = self._stored_at(f, weight, channel * c["w_c"] + tz * by[0] + ty * by[1] + tx * by[2])
                f.line(f"store i1 {is_none(self._get(f, place))}, ptr {number}")
                again = Int(f, f.op(f"load i1, ptr {number}"))
                bounds: list[tuple[Int, Int]] = []
                for d, tap in enumerate((tz, ty, tx)):
                    first, end = ((edge[d] - tap * apart[d]).most(0).up(steps[d]) for edge in (lows, highs))
                    bounds.append((first, end.least(counts[d])))
                with f.when(again):
                    f.line(f"store {self.real} 0.0, ptr {total}")
                    with (
                        f.loop(0, c["n"]) as n, f.loop(*bounds[0]) as z, f.loop(*bounds[1]) as y,
                        f.loop(*bounds[2]) as x,
                    ):  # fmt: skip
                        old = f.op(f"load {self.real}, ptr {total}")
                        with f.when(is_none(old).denied()):
                            at, end = n * c["in_n"] + channel * c["in_c"], n * c["out_n"]
                            for d, (one, tap) in enumerate(zip((z, y, x), (tz, ty, tx), strict=True)):
                                at, end = at + (one * steps[d] + tap * apart[d]) * of[d], end + one * to[d]
                            a, b = (
                                self._get(f, self._stored_at(f, base, at)),
                                self._get(f, self._stored_at(f, grads, end)),
                            )
                            new = f.op(
                                f"fadd contract {self.real} {old}, {f.op(f'fmul contract {self.real} {a}, {b}')}"
                            )
                            f.line(f"store {self.real} {new}, ptr {total}")
                    self._put(f, f.op(f"load {self.real}, ptr {total}"), place)
        return f.end()

    def _correlate(self) -> str:
        """Programs of a correlation: a block of places and some filters each."""
        f, c = self._task("correlate", UNTUNED)
        width, blocks, height, row_blocks = c["width"], c["blocks"], c["height"], c["row_blocks"]
        depth, terms, rows, places = c["depth"], c["terms"], c["rows"], c["places"]
        panel_ = (width // self.lanes).least(3) * self.lanes
        panel = ((width // self.lanes).equals(4)).choose(2 * self.lanes, panel_)
        # Panels of whole places of all images see the same.
        parted = c["batch"] % self.wide > 0
        if self.high * 2 < _SUMS:
            parted = parted.both((f.const(self.wide) % c["batch"].most(1)) > 0)
        panel = parted.choose(panel.least(2 * self.lanes), panel)
        uneven = c["uneven"].equals(1)
        far = depth.most(amx.ROWS) * self.wide + self.lanes
        t, record = self._block(f, c, width, panel)
        slab = self._room(f, width.up(panel) * far)
        own_filters = self._room(f, c["blocked"].equals(0).choose(height * PITCH, 0) + 2 * self.lanes)
        left = self._at(f, own_filters, self.lanes)
        sums = self._room(f, height * width)
        # What all panels of a block see, and what each of them does.
        each_table = depth * 4 + _HEAD
        table = self._room(f, each_table * uneven.choose(width.up(panel) + 1, 1))
        self._need(f, c, record, slab, own_filters, sums, table, planned=False)
        self._clear_filters(f, c, left)
        bias = f.room(f"[{self.high} x {self.real}]")
        window, blind = c["window"], f.variable(0)
        out_m, out2, bias_by = c["out_m"], c["out2"], c["bias_by"]
        unit = out2.equals(1) if self.stored == self.real else f.const(0).equals(1)
        with f.loop(f.param("start"), f.param("end")) as i:
            block = i % blocks
            row_block = i // blocks % row_blocks
            g = i // blocks // row_blocks
            p0, m0 = block * width, row_block * height
            p1, some = (p0 + width).least(places), height.least(rows - m0)
            f.line(f"call void @plan(ptr %c, ptr {t}, i64 {p0}, i64 {p1}, i64 {panel})")
            self._need(f, c, record, slab, own_filters, sums, table)
            self._clear_columns(f, slab, far, panel, p1 - p0, depth)
            channels = f.variable(0)
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            out = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m0 * out_m)
            counts, outs = record.pointer("counts"), record.pointer("outs")
            panels = record["panels"]
            with f.loop(0, terms.most(1), depth) as r0:
                r1 = (r0 + depth).least(terms)
                k = r1 - r0
                if not self.kind.tiles:
                    # The last terms may be of fewer channels.
                    many = k // window.most(1)
                    with f.when(channels.value.equals(many).denied()):
                        channels.set(many)
                        f.line(f"call void @look(ptr %c, ptr {t}, i64 {p0}, i64 {p1}, ptr {table}, i64 {many})")
                        blind.set((record["sees"] < window).choose(1, 0))
                        with f.when(uneven), f.loop(0, record["panels"]) as j:
                            own = self._at(f, table, each_table * (j + 1))
                            begin, end = p0 + j * panel, (p0 + (j + 1) * panel).least(p1)
                            f.line(
                                f"call void @look.panel(ptr %c, ptr {t}, i64 {begin}, i64 {end}, ptr {own}, i64 {many})"
                            )
                with f.when(k > 0):
                    columns = "columns.pairs" if self.by_channels else "columns"
                    f.line(
                        f"call void @{columns}(ptr %c, ptr {t}, ptr {base}, i64 {r0}, i64 {r1}, ptr {slab}, i64 {far},"
                        f" i64 {self.wide})"
                    )
                    self._put_filters(f, c, t, g, m0, some, r0, r1, left)
                    if self.kind.tiles:
                        with f.loop(0, panels) as j:
                            f.line(f"call void @pair.rows(ptr {self._at(f, slab, j * far)}, i64 {k}, i64 {panel})")
                filters = self._filters_at(f, c, g, m0, r0, left)
                later = (r0 > 0).choose(1, 0)
                self._tiled(f, amx.configure())
                with f.loop(0, panels) as j:
                    own_table = self._at(f, table, each_table * uneven.choose(j + 1, 0))
                    partly = blind.value.equals(1).either(uneven)
                    numbers = k.up(2)
                    if not self.kind.tiles:
                        numbers = partly.choose(k // window.most(1) * f.load(own_table, 0), k)
                        own_table = f.at(own_table, _HEAD // 2)
                    here = (p1 - p0 - j * panel).least(panel)
                    vectors = here.up(self.lanes)
                    runs = f.at(outs, j * (panel * 3))
                    full = (here % self.lanes).equals(0).both(f.load(counts, j * 2 + 1).equals(1)).both(unit)
                    columns = self._at(f, slab, j * far)
                    with f.loop(0, some, self.high) as m:
                        placed = full.both(some - m >= self.high)
                        own = self._at(f, sums, m * width + j * panel)
                        there = self._stored_at(f, out, m * out_m + f.load(runs, 0))
                        to = f.op(f"select i1 {placed}, ptr {there}, ptr {own}")
                        ldc = placed.choose(out_m, width)
                        for row in range(self.high):
                            f.line(f"store {self.real} 0.0, ptr {self._at(f, bias, row)}")
                        given = c.pointer("bias")
                        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
                        with f.when(there_is):
                            with f.loop(0, (some - m).least(self.high)) as row:
                                at = self._stored_at(f, given, (g * rows + m0 + m + row) * bias_by)
                                f.line(f"store {self.real} {self._get(f, at)}, ptr {self._at(f, bias, row)}")
                        a = self._at(f, filters, m * PITCH)
                        given = f, some - m, vectors, numbers, a, columns, to, ldc, bias, later
                        if self.kind.tiles:
                            self._multiply(*given)
                        else:
                            with f.when(partly.denied()):
                                self._multiply(*given)
                            with f.when(partly):
                                self._multiply(*given, own_table)
                self._tiled(f, amx.release())
            with f.loop(0, panels) as j:
                here = (p1 - p0 - j * panel).least(panel)
                full = (here % self.lanes).equals(0).both(f.load(counts, j * 2 + 1).equals(1)).both(unit)
                done = full.choose(some // self.high * self.high, 0)
                with f.when(done < some):
                    own = self._at(f, sums, done * width + j * panel)
                    there = self._stored_at(f, out, done * out_m)
                    f.line(
                        f"call void @scatter(ptr %c, ptr {t}, ptr {there}, i64 {some - done}, i64 {j}, ptr {own},"
                        f" i64 {width})"
                    )
        self._close(f, record, slab, own_filters, sums, table)
        return f.end()

    def _clear_filters(self, f: Function, c: Record, left: str) -> None:
        """Zeros to what is read beyond the last filter of all where a program puts filters in order."""
        last = c["rows"] - (c["row_blocks"] - 1) * c["height"]
        with f.when(c["blocked"].equals(0)):
            self._clear_rows(f, left, last, last.up(self.high) * self.high)

    def _edges(self, f: Function, c: Record) -> list[tuple[Int, Int]]:
        """What the first taps of the places [p0, p1) see, from and to, by dimension."""
        p0, last, image = f.param("p0"), f.param("p1") - 1, c["image"]
        # From where to where places are, if they are of one image, one depth and one row.
        alone = (p0 // image).equals(last // image).both(c["window"] <= DEPTH)
        inside: list[tuple[Int, Int]] = []
        size = image
        for d in range(3):
            size = size // c[f"count{d}"]
            first, end = (p % (size * c[f"count{d}"]) // size for p in (p0, last))
            first, end = alone.choose(first, 0), alone.choose(end, c[f"count{d}"] - 1)
            alone = alone.both(first.equals(end))
            inside.append((first * c[f"step{d}"], end * c[f"step{d}"]))
        return inside

    def _look(self) -> str:
        """Which taps see something from the places [p0, p1); a table of columns and terms, if some see nothing."""
        f, c, t = self._open("look", "i64 p0", "i64 p1", "ptr table", "i64 channels")
        window, seen, found, tap = c["window"], t.pointer("seen"), f.variable(0), f.variable(0)
        inside = self._edges(f, c)
        with f.loop(0, c["taps0"]) as tz, f.loop(0, c["taps1"]) as ty, f.loop(0, c["taps2"]) as tx:
            sees = f.const(0).equals(0)
            for d, of in enumerate((tz, ty, tx)):
                first, end = (edge + of * c[f"dstep{d}"] for edge in inside[d])
                sees = sees.both(end >= c[f"lo{d}"]).both(first < c[f"hi{d}"])
            f.store(tap.value, seen, found.value)
            found.set(found.value + sees.either(window > DEPTH).choose(1, 0))
            tap.set(tap.value + 1)
        t["sees"] = found.value
        f.store(found.value, "%table", 0)
        entries = f.at("%table", _HEAD // 2)
        with f.when(found.value < window):
            channels, by_taps = f.param("channels"), c["by_taps"].equals(1)
            with f.loop(0, channels) as channel, f.loop(0, found.value) as i:
                term, tap = channel * found.value + i, f.load(seen, i)
                f.store(by_taps.choose(i * channels + channel, term) * self.wide, entries, term * 2)
                f.store(by_taps.choose(tap * channels + channel, channel * window + tap), entries, term * 2 + 1)
        return f"{f.end()}\n\n{self._look_panel()}"

    def _look_panel(self) -> str:
        """The same of a panel, of columns that `look` has found for its block."""
        f, c, t = self._open("look.panel", "i64 p0", "i64 p1", "ptr table", "i64 channels")
        channels, by_taps = f.param("channels"), c["by_taps"].equals(1)
        window, seen, sees, found = c["window"], t.pointer("seen"), t["sees"], f.variable(0)
        inside, entries = self._edges(f, c), f.at("%table", _HEAD // 2)
        with f.loop(0, sees) as i:
            tap = f.load(seen, i)
            rest, sees_it = tap, f.const(0).equals(0)
            for d in (2, 1, 0):
                of = rest % c[f"taps{d}"] * c[f"dstep{d}"]
                rest = rest // c[f"taps{d}"]
                first, end = (edge + of for edge in inside[d])
                sees_it = sees_it.both(end >= c[f"lo{d}"]).both(first < c[f"hi{d}"])
            apart = by_taps.choose(channels, 1)
            f.store(i * apart * self.wide, entries, found.value * 2)
            f.store(tap * apart, entries, found.value * 2 + 1)
            found.set(found.value + sees_it.choose(1, 0))
        many = found.value
        f.store(many, "%table", 0)
        with f.loop(1, channels) as channel, f.loop(0, many) as i:
            term = channel * many + i
            row, filter_ = (channel * by_taps.choose(1, of) for of in (sees, window))
            f.store(f.load(entries, i * 2) + row * self.wide, entries, term * 2)
            f.store(f.load(entries, i * 2 + 1) + filter_, entries, term * 2 + 1)
        return f.end()

    def _weight(self) -> str:
        """Programs of a gradient by the weight: some terms of some filters, of a stretch of the places."""
        f, c = self._task("weight", UNTUNED)
        height, row_blocks, width, blocks = c["height"], c["row_blocks"], c["width"], c["blocks"]
        splits, stretch, terms, rows, places = c["splits"], c["stretch"], c["terms"], c["rows"], c["places"]
        deep = f.const(DEPTH)
        t, record = self._block(f, c, deep, deep)
        left = self._room(f, height * PITCH)
        panels = width.up(self.wide)
        far = (DEPTH + self.lanes) * self.wide
        right = self._room(f, (panels * far).most(FEW * PITCH))
        own = self._room(f, height * width)
        # Of few filters, sums of products of what lies side by side: a register each.
        few = rows <= FEW
        dots = self._room(f, few.choose(height.up(_TERMS) * (_TERMS * FEW * self.lanes), 0))
        self._need(f, c, record, left, right, own, dots, planned=False)
        none = f.room(f"[{self.high} x {self.real}]")
        f.line(f"store [{self.high} x {self.real}] zeroinitializer, ptr {none}")
        each = (width // self.lanes).up(panels)
        last = terms - (row_blocks - 1) * height
        self._clear_rows(f, left, last, last.up(self.high) * self.high)
        f.line(f"call void @clear(ptr {right}, i64 {panels * far})")
        with f.loop(f.param("start"), f.param("end")) as i:
            split = i % splits
            task = i // splits
            column = task % blocks
            row_block = task // blocks % row_blocks
            g = task // blocks // row_blocks
            r0, m0 = row_block * height, column * width
            r1, m1 = (r0 + height).least(terms), (m0 + width).least(rows)
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            grads = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m0 * c["out_m"])
            parted = splits > 1
            partial = self._at(f, c.pointer("partial"), i * (height * width))
            sums = f.op(f"select i1 {parted}, ptr {partial}, ptr {own}")
            with f.when(few.either(places.equals(0))):
                f.line(f"call void @clear(ptr {sums}, i64 {height * width})")
            with f.when(few):
                f.line(f"call void @clear(ptr {dots}, i64 {height.up(_TERMS) * (_TERMS * FEW * self.lanes)})")
            with f.loop(split * stretch, ((split + 1) * stretch).least(places), DEPTH) as p0:
                p1 = (p0 + DEPTH).least(places).least((split + 1) * stretch)
                f.line(f"call void @plan(ptr %c, ptr {t}, i64 {p0}, i64 {p1}, i64 {DEPTH})")
                self._need(f, c, record, left, right, own, dots)
                f.line(
                    f"call void @columns(ptr %c, ptr {t}, ptr {base}, i64 {r0}, i64 {r1}, ptr {left}, i64 0,"
                    f" i64 {PITCH})"
                )
                if self.kind.paired:
                    f.line(f"call void @pair.places(ptr {left}, i64 {r1 - r0}, i64 {p1 - p0})")
                later = (p0 > split * stretch).choose(1, 0)
                self._tiled(f, amx.configure())
                numbers = (p1 - p0).up(2) if self.kind.paired else p1 - p0
                with f.when(few):
                    self._put_grads(f, c, record, grads, m1 - m0, right)
                    if self.kind.paired:
                        f.line(f"call void @pair.places(ptr {right}, i64 {m1 - m0}, i64 {p1 - p0})")
                    for rows_, of in ((r1 - r0, left), (m1 - m0, right)):
                        with f.loop(0, rows_) as m:
                            self._vstore(f, "zeroinitializer", self._at(f, of, m * PITCH + numbers))
                    f.line(
                        f"call void @dots(ptr {left}, i64 {r1 - r0}, ptr {right}, i64 {m1 - m0},"
                        f" i64 {numbers.up(self.lanes) * self.lanes}, ptr {dots})"
                    )
                with f.loop(0, few.choose(0, panels)) as j:
                    begin = j * each * self.lanes
                    here = (m1 - m0 - begin).least(each * self.lanes)
                    with f.when(here > 0):
                        columns = self._at(f, right, j * far)
                        of = self._stored_at(f, grads, begin * c["out_m"])
                        f.line(
                            f"call void @turned(ptr %c, ptr {t}, ptr {of}, i64 {here}, ptr {columns}, i64 {p1 - p0})"
                        )
                        vectors = here.up(self.lanes)
                        with f.loop(0, r1 - r0, self.high) as m:
                            a = self._at(f, left, m * PITCH)
                            to = self._at(f, sums, m * width + begin)
                            self._multiply(f, r1 - r0 - m, vectors, numbers, a, columns, to, width, none, later)
                self._tiled(f, amx.release())
            with f.when(few.both(places > 0)), f.loop(0, r1 - r0) as r, f.loop(0, m1 - m0) as m:
                value = self._vload(f, self._at(f, dots, (r * FEW + m) * self.lanes))
                f.line(f"store {self.real} {self._total(f, value)}, ptr {self._at(f, sums, r * width + m)}")
            with f.when(parted.denied()):
                f.line(f"call void @gather(ptr %c, ptr {t}, ptr {own}, i64 {task})")
        self._close(f, record, left, right, own, dots)
        return f.end()

    def _put_grads(self, f: Function, c: Record, t: Record, base: str, count: Int, to: str) -> None:
        """The results' gradients of a block, a row for each filter."""
        outs, out2 = t.pointer("outs"), c["out2"]
        with f.loop(0, f.load(t.pointer("counts"), 1)) as q, f.loop(0, count) as m:
            source, lane, long = (f.load(f.at(outs, q * 3), i) for i in range(3))
            of, place = self._stored_at(f, base, m * c["out_m"] + source), self._at(f, to, m * PITCH + lane)
            f.line(f"call void @spaced(ptr {place}, ptr {of}, i64 {out2}, i64 {long})")

    def _dots(self) -> str:
        """Products of rows of both operands, `k` numbers or pairs, added to registers of each two."""
        parameters = ["ptr a", "i64 rows", "ptr b", "i64 columns", "i64 k", "ptr to"]
        f = Function("internal void", "dots", parameters, "noinline")
        rows, columns, k = f.param("rows"), f.param("columns"), f.param("k")
        with f.loop(0, rows, _TERMS) as r, f.loop(0, columns, 2) as m:
            left = [self._at(f, "%a", (r + i).least(rows - 1) * PITCH) for i in range(_TERMS)]
            right = [self._at(f, "%b", (m + j).least(columns - 1) * PITCH) for j in range(2)]
            places = [
                [self._at(f, "%to", ((r + i) * FEW + m + j) * self.lanes) for j in range(2)] for i in range(_TERMS)
            ]
            sums = [[f.room(self.vector) for _ in row] for row in places]
            for i, row in enumerate(places):
                for j, place in enumerate(row):
                    f.line(f"store {self.vector} {self._vload(f, place)}, ptr {sums[i][j]}")
            with f.loop(0, k, self.lanes) as p:
                others = [self._vload(f, self._at(f, of, p)) for of in right]
                for i, of in enumerate(left):
                    value = self._vload(f, self._at(f, of, p))
                    for j, other in enumerate(others):
                        old = f.op(f"load {self.vector}, ptr {sums[i][j]}")
                        f.line(f"store {self.vector} {self._dot(f, value, other, old)}, ptr {sums[i][j]}")
            for i, row in enumerate(places):
                for j, place in enumerate(row):
                    self._vstore(f, f.op(f"load {self.vector}, ptr {sums[i][j]}"), place)
        return f.end()

    def _gather(self) -> str:
        """The sums of all stretches of the places, in their order, to the gradient."""
        f, c, _ = self._open("gather", "ptr of", "i64 task")
        height, row_blocks, width, blocks = c["height"], c["row_blocks"], c["width"], c["blocks"]
        task, splits, window = f.param("task"), c["splits"], c["window"]
        column = task % blocks
        row_block = task // blocks % row_blocks
        g = task // blocks // row_blocks
        r0, m0 = row_block * height, column * width
        r1, m1 = (r0 + height).least(c["terms"]), (m0 + width).least(c["rows"])
        t1, t2 = c["taps1"], c["taps2"]
        base = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + m0 * c["w_m"])
        size, w_m = height * width, c["w_m"]
        plain = c["plain"].equals(1)
        bits = f"<{self.lanes} x i1>"
        several, one_ = f.room(bits), f.room("i1")
        f.line(f"store {bits} zeroinitializer, ptr {several}")
        f.line(f"store i1 false, ptr {one_}")

        def total(at: Int, vector: bool) -> str:
            kind = self.vector if vector else self.real
            found = f.room(kind)

            def one(split: Number) -> str:
                return f.op(f"load {kind}, ptr {self._at(f, '%of', size * split + at)}, align {self.item}")

            f.line(f"store {kind} {one(0)}, ptr {found}")
            with f.loop(1, splits) as split:
                more = f.op(f"fadd {kind} {f.op(f'load {kind}, ptr {found}')}, {one(split)}")
                f.line(f"store {kind} {more}, ptr {found}")
            value = f.op(f"load {kind}, ptr {found}")
            self._is_odd(f, value, kind, *((several, bits) if vector else (one_, "i1")))
            return value

        # Terms of a filter lie side by side, or the channels of each tap: squares are turned.
        beside = plain.either(c["w_c"].equals(1))
        runs = plain.choose(1, window)
        with f.when(beside), f.loop(0, runs) as tap:
            steps = tap // t2 // t1 * c["w0"] + tap // t2 % t1 * c["w1"] + tap % t2 * c["w2"]
            first, last = ((r - tap).most(0).up(runs) for r in (r0, r1))
            with f.loop(first, last, self.lanes) as r, f.loop(0, m1 - m0, self.lanes) as m:
                lines = [(r + j).least(last - 1) * runs + tap - r0 for j in range(self.lanes)]
                rows = [total(line * width + m, True) for line in lines]
                mask = self._below(f, last - r)
                for j, value in enumerate(self._transposed(f, rows)):
                    with f.when(m + j < m1 - m0):
                        self._put_some(f, value, self._stored_at(f, base, (m + j) * w_m + r + steps), mask)
        with f.when(beside.denied()), f.loop(r0, r1) as r:
            tap = r % window
            steps = tap // t2 // t1 * c["w0"] + tap // t2 % t1 * c["w1"] + tap % t2 * c["w2"]
            row = self._stored_at(f, base, r // window * c["w_c"] + steps)
            with f.loop(0, m1 - m0) as m:
                self._put(f, total((r - r0) * width + m, False), self._stored_at(f, row, m * w_m))
        self._note(f, c, several, one_)
        text = f.end()
        f, c = self._task("gathered")
        with f.loop(f.param("start"), f.param("end")) as i:
            of = self._at(f, c.pointer("partial"), i * (c["splits"] * c["height"] * c["width"]))
            f.line(f"call void @gather(ptr %c, ptr null, ptr {of}, i64 {i})")
        return f"{text}\n\n{f.end()}"

"""Correlations of bfloat16 by AMX whose columns are where rows of input are: a tile's rows may lie far apart.

Two channels are brought together, number by number, in rows with the zeros around; 16 such pairs of 16 places that lie
side by side are a tile, and what another tap sees is a tile that begins elsewhere. So nothing is copied for each tap.
Filters are put in order once a call, a tile behind the other: 16 filters by 16 pairs of channels, tap by tap.
"""

from __future__ import annotations

from collections.abc import Callable

from opweave.codegen.native import amx
from opweave.codegen.native.correlation.planes import Planes
from opweave.codegen.native.correlation.words import CORRELATE, ENOUGH, TALL, Record
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.objects import UNTUNED

#: Numbers of a tile, places of a panel, and filters that are multiplied at a time.
_TILE, _PANEL, _HIGH = amx.ROWS * amx.ROWS, 2 * amx.ROWS, 2 * amx.ROWS
#: Numbers of sums, and of rows of input, that a block has: half of them fill a fourth of the second cache.
_HELD = 1 << 16
#: The fewest and the most places of a block.
_LEAST, _MOST = 128, 1024
#: What is worth it: how many of a hundred places have results, and of a hundred pairs are channels.
_PLACES, _PAIRS = 70, 80


class Tiles(Planes):
    """Programs that multiply tiles of what `pair_rows` has put together, as it is."""

    def _line(self, c: Record) -> Int:
        """Places from a row to the next: those between the rows as well, or whole tiles."""
        beside = c["count2"] + (c["taps2"] - 1) * c["dstep2"]
        whole = c["count2"].up(self.lanes) * self.lanes
        steps = c["step1"].equals(1).both(c["step2"].equals(1))
        return steps.choose(beside.least(whole), whole)

    def _is_tiled(self, f: Function, c: Record) -> Int:
        """Whether a correlation is computed so."""
        if not self.kind.tiles:
            return f.const(0).equals(1)
        taps, by = ([c[f"{name}{d}"] for d in range(3)] for name in ("taps", "w"))
        in_order = by[2].equals(1).either(taps[2].equals(1)).both(by[1].equals(taps[2]).either(taps[1].equals(1)))
        fits = in_order.either(self._is_turned(c)).either(c["w_c"].equals(1))
        fits = fits.both(c["kind"].equals(CORRELATE)).both(c["window"] > 1).both(c["striped"].equals(0))
        fits = fits.both(c["count0"].equals(1)).both(taps[0].equals(1)).both(c["lo0"] <= 0).both(c["hi0"] > 0)
        pairs = c["channels"].up(2)
        fits = fits.both(pairs * 100 >= pairs.up(amx.ROWS) * (amx.ROWS * _PAIRS))
        return fits.both(c["count2"] * 100 >= self._line(c) * _PLACES)

    def _put_tiles(self, f: Function, c: Record, go: Callable[[str, Int, Int], None]) -> None:
        """Put all filters in order."""
        steps = c["channels"].up(2 * amx.ROWS) * c["window"]
        blocks = c["groups"] * c["rows"].up(amx.ROWS)
        room = self._room(f, blocks * steps * _TILE + 2 * self.lanes)
        c.keep("packed", self._stored_at(f, room, 2 * self.lanes))
        self._quit(f, c, f.is_null(room))
        go("tiles.filters", blocks, steps * (_TILE * 16))

    def _tile_filters(self) -> str:
        """Programs of 16 filters each, which are put in order."""
        f, c = self._task("tiles.filters")
        n, rows, channels, window = self.lanes, c["rows"], c["channels"], c["window"]
        blocks, groups = rows.up(amx.ROWS), channels.up(2 * amx.ROWS)
        taps, by = ([c[f"{name}{d}"] for d in range(3)] for name in ("taps", "w"))
        kind, whole = f"<{2 * n} x i16>", f"<{n} x i32>"
        most = f.room(kind)
        f.line(f"store {kind} zeroinitializer, ptr {most}")
        beside = c["w_c"].equals(1)
        turned = by[2].equals(-1).either(by[1] < 0)
        lowest = turned.choose(f.const(1) - window, 0)

        def keep(value: str, place: str) -> None:
            bits = f.op(f"bitcast {self.vector} {value} to {kind}")
            f.line(f"store {kind} {bits}, ptr {place}, align 64")
            size = f.op(f"and {kind} {bits}, splat (i16 32767)")
            old = f.op(f"load {kind}, ptr {most}")
            f.line(
                f"store {kind} {f.op(f'call {kind} @llvm.umax.v{2 * n}i16({kind} {size}, {kind} {old})')}, ptr {most}"
            )

        with f.loop(f.param("start"), f.param("end")) as i:
            g, m0 = i // blocks, i % blocks * amx.ROWS
            own = self._at(f, c.pointer("packed"), i * groups * window * _TILE)
            with f.loop(0, groups) as q, f.loop(0, amx.ROWS) as m:
                to = self._at(f, own, q * window * _TILE + m * amx.ROWS)
                first, left = q * (2 * amx.ROWS), (m0 + m < rows).choose(channels - q * (2 * amx.ROWS), 0)
                row = (m0 + m).least(rows - 1)
                of = self._stored_at(f, c.pointer("weight"), g * c["w_g"] + row * c["w_m"] + first * c["w_c"])
                with f.when(beside), f.loop(0, taps[1]) as y, f.loop(0, taps[2]) as x:
                    place = self._stored_at(f, of, y * by[1] + x * by[2])
                    bits = f.op(
                        f"call {kind} @llvm.masked.load.v{2 * n}i16.p0(ptr align 2 {place},"
                        f" <{2 * n} x i1> {self._below(f, left, 2 * n)}, {kind} zeroinitializer)"
                    )
                    keep(f.op(f"bitcast {kind} {bits} to {self.vector}"), self._at(f, to, (y * taps[2] + x) * _TILE))
                with f.when(beside.denied()), f.loop(0, window, n) as tap:
                    there = self._stored_at(f, of, lowest + tap)
                    found: list[str] = []
                    for r in range(n):
                        halves: list[str] = []
                        for h in range(2):
                            some = (left > 2 * r + h).choose(window - tap, 0)
                            place = self._stored_at(f, there, (left - 1).most(0).least(2 * r + h) * c["w_c"])
                            bits = self._masked_bits(f, place, self._below(f, some))
                            halves.append(f.op(f"zext <{n} x i16> {bits} to {whole}"))
                        high = f.op(f"shl {whole} {halves[1]}, splat (i32 16)")
                        both = f.op(f"or disjoint {whole} {halves[0]}, {high}")
                        found.append(f.op(f"bitcast {whole} {both} to {self.vector}"))
                    for r, value in enumerate(self._transposed(f, found)):
                        with f.when(tap + r < window):
                            at = turned.choose(window - 1 - (tap + r), tap + r)
                            keep(value, self._at(f, to, at * _TILE))
        found_ = f.op(f"call i16 @llvm.vector.reduce.umax.v{2 * n}i16({kind} {f.op(f'load {kind}, ptr {most}')})")
        with f.when(Int(f, f.op(f"icmp uge i16 {found_}, 32640"))):
            c["odd"] = 1
        declared = (
            f"declare {kind} @llvm.umax.v{2 * n}i16({kind}, {kind})\n"
            f"declare i16 @llvm.vector.reduce.umax.v{2 * n}i16({kind})"
        )
        return f"{declared}\n\n{f.end()}"

    def _blocks_of_tiles(self, f: Function, c: Record, go: Callable[[str, Int, Int], None]) -> None:
        """Compute a correlation by `correlate.tiles`."""
        rows, groups, n, line = c["rows"], c["groups"], c["n"], self._line(c)
        image, pairs = c["count1"] * line, c["channels"].up(2 * amx.ROWS) * amx.ROWS
        height = (rows.up(_HIGH) * _HIGH).least(TALL)
        width = (f.const(_HELD) // height).least(_MOST)
        for _ in range(3):
            few = (n * image.up(width) * rows.up(height) * groups < ENOUGH).both(width > _LEAST)
            width = few.choose(width // 2, width)
        each = image.up(width)
        width = image.up(each * _PANEL) * _PANEL
        for _ in range(2):
            few = (n * image.up(width) * rows.up(height) * groups < ENOUGH).both(height > 2 * _HIGH)
            height = few.choose(height.up(2 * _HIGH) * _HIGH, height)
        planes = (f.const(_HELD) // (width * amx.ROWS)).most(1) * amx.ROWS
        for name, value in {
            "line": line, "image": image, "places": n * image, "width": width, "blocks": n * image.up(width),
            "height": height, "row_blocks": rows.up(height), "planes": planes.least(pairs),
        }.items():  # fmt: skip
            c[name] = value
        go("correlate.tiles", c["blocks"] * c["row_blocks"] * groups, width * height * c["terms"] // 4 + 1000)

    def _correlate_tiles(self) -> str:
        """Programs of a correlation: a block of places of an image and some filters each."""
        f, c = self._task("correlate.tiles", UNTUNED)
        width, blocks, height, row_blocks = c["width"], c["blocks"], c["height"], c["row_blocks"]
        rows, image, window, planes = c["rows"], c["image"], c["window"], c["planes"]
        each, panel, n = image.up(width), f.const(_PANEL), self.lanes
        pairs, units = c["channels"].up(2), c["channels"].up(2 * amx.ROWS)
        steps = units * window
        t, record = self._block(f, c, width, panel)
        pitch = width + n
        sums = self._room(f, height * pitch)
        table = self._room(f, planes // amx.ROWS * window * 2)
        self._need(f, c, record, sums, table, planned=False)
        given, bias_by = c.pointer("bias"), c["bias_by"]
        there_is = Int(f, f.op(f"icmp ne ptr {given}, null"))
        with f.loop(f.param("start"), f.param("end")) as i:
            block, g = i % blocks, i // blocks // row_blocks
            m0 = i // blocks % row_blocks * height
            p0 = block // each * image + block % each * width
            p1, some = (p0 + width).least((block // each + 1) * image), height.least(rows - m0)
            f.line(f"call void @plan(ptr %c, ptr {t}, i64 {p0}, i64 {p1}, i64 {panel})")
            self._need(f, c, record, sums, table)
            scratch, plane, taps = record.pointer("scratch"), record["plane"], record.pointer("taps")
            panels, ins, counts = record["panels"], record.pointer("ins"), record.pointer("counts")
            base = self._stored_at(f, c.pointer("input"), g * c["in_g"])
            out = self._stored_at(f, c.pointer("output"), g * c["out_g"] + m0 * c["out_m"])
            with f.when(there_is), f.loop(0, some) as row:
                at = self._stored_at(f, given, (g * rows + m0 + row) * bias_by)
                one = self._splat(f, self._get(f, at))
                with f.loop(0, width, n) as k:
                    self._vstore(f, one, self._at(f, sums, row * pitch + k))
            with f.loop(0, planes // amx.ROWS) as q, f.loop(0, window) as tap:
                f.store((f.load(taps, tap) + q * amx.ROWS * plane) * self.item, table, q * window + tap)
            filters = self._at(f, c.pointer("packed"), (g * rows.up(amx.ROWS) + m0 // amx.ROWS) * steps * _TILE)
            with f.loop(0, units, planes // amx.ROWS) as q0:
                q1 = (q0 + planes // amx.ROWS).least(units)
                with f.loop(q0 * amx.ROWS, q1 * amx.ROWS) as channel:
                    to = self._at(f, scratch, (channel - q0 * amx.ROWS) * plane)
                    with f.when(channel < pairs):
                        second = self._at(f, scratch, planes * plane)
                        self._put_channels(f, c, t, base, channel, to, second, paired=True)
                    with f.when(channel >= pairs):
                        f.line(f"call void @clear(ptr {to}, i64 {plane})")
                more = there_is.either(q0 > 0).choose(1, 0)
                f.line(amx.configure())
                with f.loop(0, panels) as j:
                    run = f.at(ins, j * (panel * 3))
                    # Of two tiles the second follows, or is what the next run has.
                    left = f.load(run, 0)
                    right = (f.load(run, 2) > n).choose(left + n, f.load(run, 3))
                    wide = (p1 - p0 - j * panel > n).both((f.load(run, 2) > n).either(f.load(counts, j * 2) > 1))
                    right = wide.choose(right, left)
                    columns = [self._at(f, scratch, source) for source in (left, right)]
                    with f.loop(0, some, _HIGH) as m:
                        a = self._at(f, filters, (m // amx.ROWS * steps + q0 * window) * _TILE)
                        to = self._at(f, sums, m * pitch + j * panel)
                        for high in (1, 2):
                            for v in (1, 2):
                                here = (some - m > amx.ROWS) if high == 2 else (some - m <= amx.ROWS)
                                with f.when(here.both(wide if v == 2 else wide.denied())):
                                    f.line(
                                        f"call void @tiles.{high}.{v}(i64 {(q1 - q0) * window}, ptr {a},"
                                        f" i64 {steps * _TILE}, ptr {columns[0]}, ptr {columns[1]},"
                                        f" i64 {plane * self.item}, ptr {table}, ptr {to}, i64 {pitch}, i64 {more})"
                                    )
                f.line(amx.release())
            with f.loop(0, panels) as j:
                own = self._at(f, sums, j * panel)
                f.line(f"call void @scatter(ptr %c, ptr {t}, ptr {out}, i64 {some}, i64 {j}, ptr {own}, i64 {pitch})")
        self._close(f, record, sums, table)
        return f.end()

    def _tile_products(self) -> list[str]:
        """The kernels of all heights and widths, in tiles."""
        return [self._tile_product(high, wide) for high in (1, 2) for wide in (1, 2)]

    def _tile_product(self, high: int, wide: int) -> str:
        """`high` by `wide` tiles of sums, over `k` steps; `more`: add to what is there."""
        f = Function(
            "internal void", f"tiles.{high}.{wide}",
            ["i64 k", "ptr a", "i64 far", "ptr b0", "ptr b1", "i64 step", "ptr table", "ptr c", "i64 ldc", "i64 more"],
            "noinline",
        )  # fmt: skip
        far, step, ldc = f.param("far"), f.param("step"), f.param("ldc")
        sums = [(m, v, 2 * m + v) for m in range(high) for v in range(wide)]
        places = [self._at(f, "%c", ldc * (m * amx.ROWS) + v * self.lanes) for m, v, _ in sums]
        rows, columns = 4, 6
        more = f.param("more").equals(1)
        with f.when(more):
            for (_, _, one), place in zip(sums, places, strict=True):
                f.line(amx.load(one, place, ldc * self.item))
        with f.when(more.denied()):
            for _, _, one in sums:
                f.line(amx.zero(one))
        with f.loop(0, f.param("k")) as i:
            offset = f.load("%table", i)
            for m in range(high):
                f.line(amx.load(rows + m, self._at(f, "%a", far * m + i * _TILE), amx.ROW_BYTES))
            for v in range(wide):
                f.line(amx.load(columns + v, f.at(f"%b{v}", offset, "i8"), step))
            for m, v, one in sums:
                f.line(amx.dot(self.kind.stored, one, rows + m, columns + v))
        for (_, _, one), place in zip(sums, places, strict=True):
            f.line(amx.store(one, place, ldc * self.item))
        return f.end()

"""Products of tiles, by AMX.

The left operand is read where its rows lie in one piece, or packed: rows of tiles, one tile of 16 groups after the
other. The right one is packed as its columns belong, tiles of 16 groups likewise. Four tiles of sums at a time, 32 rows
by 32 columns, are summed over `DEPTH_TILES` groups, whose 32 columns lie in the first cache.

A few rows by a large matrix whose columns lie in one piece are computed *turned*: columns of the result are rows then,
and the large matrix need not be packed.
"""

from __future__ import annotations

from opweave.codegen.native import amx
from opweave.codegen.native.amx import ROW_BYTES, ROWS
from opweave.codegen.native.correlation.words import Record
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.narrow_products.results import Results
from opweave.codegen.native.narrow_products.vectors import DEPTH_TILES

#: Bytes of a tile, and tiles of sums in each direction.
_TILE, _SIDE = ROWS * ROW_BYTES, 2


class Tiles(Results):
    """What multiplies tiles."""

    def _tile_functions(self) -> list[str]:
        if not self.kind.tiles:
            return []
        sides = range(1, _SIDE + 1)
        return [*(self._tile_kernel(r, c) for r in sides for c in sides), self._pack_rows(), self._turn()]

    def _tile_kernel(self, high: int, wide: int) -> str:
        """Tiles of rows by tiles of columns; `more`: add to what is there. All steps count bytes."""
        f = Function(
            "internal void", f"tiles.{high}x{wide}",
            [
                "i64 count", "ptr a", "i64 a_tile", "i64 a_row", "i64 a_step", "ptr b", "i64 b_tile", "ptr to",
                "i64 pitch", "i64 more",
            ],
            "noinline",
        )  # fmt: skip
        pitch, a_step = f.param("pitch"), f.param("a_step")
        sums = [
            (r * _SIDE + c, f.at("%to", pitch * (r * ROWS) + c * ROW_BYTES, "i8"))
            for r in range(high) for c in range(wide)
        ]  # fmt: skip
        rows = {2 * _SIDE + r: f.at("%a", f.param("a_tile") * r, "i8") for r in range(high)}
        columns = {3 * _SIDE + c: f.at("%b", f.param("b_tile") * c, "i8") for c in range(wide)}
        more = f.param("more").equals(1)
        with f.when(more):
            for tile, place in sums:
                f.line(amx.load(tile, place, pitch))
        with f.when(more.denied()):
            for tile, _ in sums:
                f.line(amx.zero(tile))
        with f.loop(0, f.param("count")) as i:
            for tile, place in columns.items():
                f.line(amx.load(tile, f.at(place, i * _TILE, "i8"), ROW_BYTES))
            for r, (tile, place) in enumerate(rows.items()):
                f.line(amx.load(tile, f.at(place, i * a_step, "i8"), f.param("a_row")))
                for c, column in enumerate(columns):
                    f.line(amx.dot(self.kind.stored, r * _SIDE + c, tile, column))
        for tile, place in sums:
            f.line(amx.store(tile, place, pitch))
        return f.end()

    def _pack_rows(self) -> str:
        """Rows of tiles: those that lie in one piece are copied, others are packed as columns and turned."""
        f = Function("internal void", "pack.rows", self._PACK, "noinline")
        lane, step, lanes, width, k = map(f.param, ("lane", "step", "lanes", "width", "k"))
        count = ROWS * self.kind.size
        vector, along = f"<{count} x {self.memory}>", step.equals(1)
        tiles = k.up(count)
        whole = k // count

        def copy(row: Int, t: Int, left: Int | None) -> None:
            place = f.at("%of", row * lane + t * count, self.memory)
            value = f.op(
                f"load {vector}, ptr {place}, align {self.item}" if left is None
                else f"call {vector} @first.{count}(ptr {place}, i64 {left})"
            )  # fmt: skip
            inner = row % ROWS
            to = f.at("%to", ((row - inner) * tiles + t * ROWS + inner) * ROW_BYTES, "i8")
            f.line(f"store {vector} {value}, ptr {to}, align 64")

        with f.when(along):
            with f.loop(0, lanes) as row:
                with f.loop(0, whole) as t:
                    copy(row, t, None)
                with f.loop(whole, tiles) as t:
                    copy(row, t, k - t * count)
            with f.loop(lanes, width) as row, f.loop(0, tiles) as t:
                copy(row, t, f.const(0))
        with f.when(along.denied()):
            f.line(f"call void @pack({', '.join(f'{p.split()[0]} %{p.split()[1]}' for p in self._PACK)})")
            with f.loop(0, width * tiles, ROWS) as row:
                place = f.at("%to", row * ROW_BYTES, "i8")
                self._turn_square(f, place, f.const(ROWS), place, f.const(ROWS))
        return f.end()

    def _turn_square(self, f: Function, of: str, of_pitch: Int, to: str, to_pitch: Int) -> None:
        """16 by 16 numbers of 32 bits, rows for columns."""
        rows = [f.op(f"load {self.groups}, ptr {f.at(of, of_pitch * r, 'i32')}, align 64") for r in range(ROWS)]
        for r, row in enumerate(self._transposed(f, rows)):
            f.line(f"store {self.groups} {row}, ptr {f.at(to, to_pitch * r, 'i32')}, align 64")

    def _turn(self) -> str:
        """A block of sums, rows for columns."""
        f = Function("internal void", "turn", ["ptr to", "ptr of", "i64 rows", "i64 columns"], "noinline")
        pitch, to_pitch = f.const(self.width), f.const(self.tall)
        with f.loop(0, f.param("rows"), ROWS) as r, f.loop(0, f.param("columns"), ROWS) as c:
            of, to = f.at("%of", r * self.width + c, "i32"), f.at("%to", c * self.tall + r, "i32")
            self._turn_square(f, of, pitch, to, to_pitch)
        return f.end()

    def _exchange(self, f: Function, c: Record, turned: Int) -> None:
        """Where a product is computed turned, its operands for each other."""
        pairs = (
            ("m", "n"), ("a", "b"), ("a_far", "b_far"), ("a_near", "b_near"), ("a_row", "b_column"),
            ("a_column", "b_row"),
        )  # fmt: skip
        with f.when(turned):
            for one, other in pairs:
                first, second = c[one], c[other]
                c[one], c[other] = second, first

    def _multiply_tiles(self) -> str:
        """Make blocks of rows of panels."""
        f, c = self._task("multiply")
        m, k, n, groups, height = (c[name] for name in ("m", "k", "n", "groups", "height"))
        panels, row_blocks, size = c["panels"], c["row_blocks"], self.kind.size
        sums = f.room(f"[{self.tall * self.width} x i32]")
        scratch = f.room(f"[{max(DEPTH_TILES, self.tall) * self.width} x i32]")
        piece = f.room(f"[{_SIDE * ROWS * DEPTH_TILES} x i32]")
        panel, added, left = f.room("ptr"), f.room("ptr"), f.room("ptr")
        is_direct, is_shared, dotted, turned = (c[name].equals(1) for name in ("direct", "shared", "dotted", "turned"))
        down = c["a_row"]
        f.line(amx.configure())
        with f.loop(f.param("start"), f.param("end")) as i:
            batch, rest = i // (panels * row_blocks), i % (panels * row_blocks)
            block, column = rest // panels, rest % panels * self.width
            row = block * height
            rows, columns = (m - row).least(height), (n - column).least(self.width)
            vectors = columns.up(ROWS)
            in_place = f.at(self._matrix(f, c, "a", batch, self.memory), row * down, self.memory)
            packed = f.at(c.pointer("left"), (batch * row_blocks + block) * height * groups, "i32")
            b = f.at(self._matrix(f, c, "b", batch, self.memory), column * c["b_column"], self.memory)
            right = f.at(c.pointer("right"), (batch * panels * self.width + column) * groups, "i32")
            straight = self._is_straight(f, c, dotted.either(turned), rows | columns)
            totals, pitch = self._totals(f, c, straight, batch, row, column, sums)
            with f.when(groups.equals(0)), f.loop(0, rows * self.width, ROWS) as j:
                f.line(f"store {self.groups} zeroinitializer, ptr {f.at(sums, j, 'i32')}, align 64")
            with f.when(dotted):
                f.line(
                    f"call void @dots(i64 {k}, ptr {in_place}, i64 {down}, ptr {b}, i64 {c['b_column']}, i64 {rows},"
                    f" i64 {columns}, ptr {sums})"
                )
            with f.loop(0, dotted.choose(0, groups), DEPTH_TILES) as g:
                count, numbers = (groups - g).least(DEPTH_TILES), (k - g * size).least(DEPTH_TILES * size)
                with f.when(is_shared):
                    f.line(f"store ptr {f.at(right, g * ROWS, 'i32')}, ptr {panel}")
                with f.when(is_shared.denied()):
                    of = f.at(b, g * size * c["b_row"], self.memory)
                    f.line(
                        f"call void @pack(ptr {scratch}, ptr {of}, i64 {c['b_column']}, i64 {c['b_row']},"
                        f" i64 {columns}, i64 {vectors * ROWS}, i64 {numbers}, i64 0)"
                    )
                    f.line(f"store ptr {scratch}, ptr {panel}")
                b_tile = is_shared.choose(groups, count) * ROW_BYTES
                # Only full tiles are read where they lie.
                full = is_direct.both((numbers % (ROWS * size)).equals(0))
                with f.loop(0, rows, _SIDE * ROWS) as r:
                    here = (rows - r).least(_SIDE * ROWS)
                    placed = full.both((here % ROWS).equals(0))
                    copied = is_direct.both(placed.denied())
                    where = f.at(in_place, r * down + g * size, self.memory)
                    f.line(f"store ptr {f.at(packed, r * groups + g * ROWS, 'i32')}, ptr {left}")
                    with f.when(copied):
                        f.line(
                            f"call void @pack.rows(ptr {piece}, ptr {where}, i64 {down}, i64 1, i64 {here},"
                            f" i64 {here.up(ROWS) * ROWS}, i64 {numbers}, i64 0)"
                        )
                        f.line(f"store ptr {piece}, ptr {left}")
                    with f.when(placed):
                        f.line(f"store ptr {where}, ptr {left}")
                    a_row = placed.choose(down * self.item, ROW_BYTES)
                    a_step = placed.choose(ROW_BYTES, _TILE)
                    a_tile = placed.choose(a_row * ROWS, copied.choose(count, groups) * ROW_BYTES)
                    for high in range(1, _SIDE + 1):
                        for wide in range(1, _SIDE + 1):
                            with f.when(here.up(ROWS).equals(high).both(vectors.equals(wide))):
                                f.line(
                                    f"call void @tiles.{high}x{wide}(i64 {count // ROWS},"
                                    f" ptr {f.op(f'load ptr, ptr {left}')}, i64 {a_tile}, i64 {a_row}, i64 {a_step},"
                                    f" ptr {f.op(f'load ptr, ptr {panel}')}, i64 {b_tile},"
                                    f" ptr {f.at(totals, r * pitch, 'i8')}, i64 {pitch},"
                                    f" i64 {(g > 0).choose(1, 0)})"
                                )
            with f.when(turned):
                f.line(f"call void @turn(ptr {scratch}, ptr {sums}, i64 {rows}, i64 {columns})")
            found = f.op(f"select i1 {turned}, ptr {scratch}, ptr {sums}")
            x, y = turned.choose(row, column), turned.choose(column, row)
            with f.when(straight.denied()):
                self._put_block(
                    f, c, batch, y, x, turned.choose(columns, rows), turned.choose(rows, columns), found,
                    turned.choose(self.tall, self.width), added,
                )  # fmt: skip
        f.line(amx.release())
        return f.end()

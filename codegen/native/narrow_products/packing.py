"""Operands as the kernels in registers read them."""

from __future__ import annotations

from opweave.codegen.native.amx import ROWS
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.narrow_products.vectors import HIGH, Vectors


class Packing(Vectors):
    """What packs groups: `lanes` numbers in `width` places, `k` of them to be summed over.

    Groups of all places follow each other; where tiles are multiplied, those of 16 places do, full tiles of them.
    """

    _PACK = ("ptr to", "ptr of", "i64 lane", "i64 step", "i64 lanes", "i64 width", "i64 k", "i64 flip")

    def _all_groups(self, k: Int) -> Int:
        """How many groups hold so many numbers."""
        return k.up(self.kind.size * ROWS) * ROWS if self.kind.tiles else k.up(self.kind.size)

    def _packed_at(self, f: Function, g: Int, place: Int) -> str:
        """Where a group of a place belongs."""
        at = g * f.param("width") + place
        if self.kind.tiles:
            lane = place % ROWS
            at = (place - lane) * self._all_groups(f.param("k")) + g * ROWS + lane
        return f.at("%to", at, "i32")

    def _pitch(self, f: Function) -> Int:
        """How far a group of the same place is from the next, where they lie in one tile or none."""
        return f.const(ROWS) if self.kind.tiles else f.param("width")

    def _keep(self, f: Function, groups: str, place: str, lanes: int, flip: str) -> None:
        """Store groups; 8-bit numbers of the right operand 128 higher, without a sign."""
        kind = "i32" if lanes == 1 else self.groups
        if self.shifted:
            groups = f.op(f"xor {kind} {groups}, {flip}")
        f.line(f"store {kind} {groups}, ptr {place}, align {4 if lanes == 1 else 64}")

    def _pack_beside(self) -> str:
        """Of neighbours in memory that belong to neighbouring lanes."""
        f = Function("internal void", "pack.beside", self._PACK, "noinline")
        step, lanes, width, k, size = f.param("step"), f.param("lanes"), f.param("width"), f.param("k"), self.kind.size
        flip = self._splat(f, "i32", f.op("trunc i64 %flip to i32"))
        vector = f"<{self.lanes} x {self.memory}>"
        whole = lanes & -self.lanes

        def group(g: Int, v: Int, count: Int | None, left: Int | None) -> None:
            values: list[str] = []
            for r in range(size):
                place = f.at("%of", (g * size + r) * step + v, self.memory)
                here = count if left is None else (left > r).choose(self.lanes if count is None else count, 0)
                if here is None:
                    values.append(f.op(f"load {vector}, ptr {place}, align {self.item}"))
                else:
                    values.append(f.op(f"call {vector} @first.{self.lanes}(ptr {place}, i64 {here})"))
            self._keep(f, self._grouped(f, values, self.lanes), self._packed_at(f, g, v), self.lanes, flip)

        full = k // size
        with f.loop(0, full) as g:
            with f.loop(0, whole, self.lanes) as v:
                group(g, v, None, None)
            with f.loop(whole, width, self.lanes) as v:
                group(g, v, lanes - v, None)
        with f.loop(full, self._all_groups(k)) as g, f.loop(0, width, self.lanes) as v:
            group(g, v, lanes - v, k - g * size)
        return f.end()

    def _pack_across(self) -> str:
        """Of neighbours in memory that are summed over: squares of groups are turned."""
        f = Function("internal void", "pack.across", self._PACK, "noinline")
        lane, lanes, width, k, n, size = *map(f.param, ("lane", "lanes", "width", "k")), self.lanes, self.kind.size
        count, vector = n * size, f"<{n * size} x {self.memory}>"
        groups = self._all_groups(k)
        # What is not all there is copied first, with zeros in place of what is missing.
        square, made = f.room(f"[{n} x {vector}]"), f.room(f"[{n} x {self.groups}]")

        def turn(to: str, pitch: Int, of: str, row: Int) -> None:
            f.line(f"call void @pack.square(ptr {to}, i64 {pitch}, ptr {of}, i64 {row}, i64 %flip)")

        pitch = self._pitch(f)
        with f.loop(0, width, n) as v:
            inside = (v + n <= lanes).choose(k // count * n, 0)
            with f.loop(0, inside, n) as g:
                turn(self._packed_at(f, g, v), pitch, f.at("%of", v * lane + g * size, self.memory), lane)
            with f.loop(inside, groups, n) as g:
                with f.loop(0, n) as j:
                    place = f.at("%of", (v + j) * lane + g * size, self.memory)
                    here = (v + j < lanes).choose(k - g * size, 0)
                    value = f.op(f"call {vector} @first.{count}(ptr {place}, i64 {here})")
                    f.line(f"store {vector} {value}, ptr {f.at(square, j, vector)}, align 64")
                turn(made, f.const(n), square, f.const(count))
                with f.loop(0, (groups - g).least(n)) as i:
                    row = f.op(f"load {self.groups}, ptr {f.at(made, i, self.groups)}, align 64")
                    f.line(f"store {self.groups} {row}, ptr {self._packed_at(f, g + i, v)}, align 64")
        return f"{self._pack_square()}\n\n{f.end()}"

    def _pack_square(self) -> str:
        """As many groups of as many lanes as a register holds; rows of numbers, and of groups, are so far apart."""
        f = Function(
            "internal void", "pack.square", ["ptr to", "i64 pitch", "ptr of", "i64 row", "i64 flip"], "noinline"
        )
        flip = self._splat(f, "i32", f.op("trunc i64 %flip to i32"))
        n, vector = self.lanes, f"<{self.lanes * self.kind.size} x {self.memory}>"
        rows: list[str] = []
        for j in range(n):
            place = f.at("%of", f.param("row") * j, self.memory)
            value = f.op(f"load {vector}, ptr {place}, align {self.item}")
            whole = self.kind.size == 1
            rows.append(self._wide(f, value, n) if whole else f.op(f"bitcast {vector} {value} to {self.groups}"))
        for i, row in enumerate(self._transposed(f, rows)):
            self._keep(f, row, f.at("%to", f.param("pitch") * i, "i32"), n, flip)
        return f.end()

    def _pack_scattered(self) -> str:
        """Of numbers that lie anywhere."""
        f = Function("internal void", "pack.scattered", self._PACK, "noinline")
        lane, step, lanes, width, k = map(f.param, ("lane", "step", "lanes", "width", "k"))
        flip, size, value = f.op("trunc i64 %flip to i32"), self.kind.size, f.room(self.memory)
        zero = "0.0" if self.memory in ("half", "float") else "0"
        with f.loop(0, self._all_groups(k)) as g, f.loop(0, width) as j:
            values: list[str] = []
            for r in range(size):
                f.line(f"store {self.memory} {zero}, ptr {value}")
                with f.when((j < lanes).both(g * size + r < k)):
                    place = f.at("%of", j * lane + (g * size + r) * step, self.memory)
                    f.line(f"store {self.memory} {f.op(f'load {self.memory}, ptr {place}')}, ptr {value}")
                values.append(f.op(f"load {self.memory}, ptr {value}"))
            self._keep(f, self._grouped(f, values, 1), self._packed_at(f, g, j), 1, flip)
        return f.end()

    def _pack(self) -> str:
        f = Function("internal void", "pack", self._PACK, "noinline")
        beside = f.param("lane").equals(1)
        across = f.param("step").equals(1).both(beside.denied())
        given = ", ".join(f"{p.split()[0]} %{p.split()[1]}" for p in self._PACK)
        for how, here in (("beside", beside), ("across", across), ("scattered", beside.either(across).denied())):
            with f.when(here):
                f.line(f"call void @pack.{how}({given})")
        return f.end()

    def _row_sums(self) -> str:
        """128 times the sum of each row of the left operand: what the right one is higher."""
        if not self.shifted:
            return ""
        f = Function("internal void", "row.sums", ["ptr to", "ptr of", "i64 width", "i64 groups"], "noinline")
        total = f.room(self.sums)
        with f.loop(0, f.param("width"), self.lanes) as v:
            f.line(f"store {self.sums} zeroinitializer, ptr {total}")
            with f.loop(0, f.param("groups")) as g:
                at = f.at("%of", g * f.param("width") + v, "i32")
                b = f.op(f"load {self.groups}, ptr {at}, align 64")
                new = self._dot(f, f"splat (i32 {HIGH})", b, f.op(f"load {self.sums}, ptr {total}"))
                f.line(f"store {self.sums} {new}, ptr {total}")
            f.line(f"store {self.sums} {f.op(f'load {self.sums}, ptr {total}')}, ptr {f.at('%to', v, 'i32')}, align 64")
        return f.end()

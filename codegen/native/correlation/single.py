"""Correlations of one tap and one place an image: products of matrices that lie in memory as they are, without copies.

Images of one place are what is left of a network's at its end, and between the layers that weight its channels: few
examples, whose filters are read once. To put filters in order takes longer than to multiply them.
"""

from __future__ import annotations

from opweave.codegen.native.correlation.spread import Spread
from opweave.codegen.native.correlation.words import CORRELATE, TOLD, Record
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.objects import UNTUNED

#: The most images, filters of a program, registers of a row of results side by side, and rows of them; the most
#: filters whose results are formed of images as they lie, whose columns would be put in order for little.
_IMAGES, _ROWS, _VECTORS, _HIGH, _FEW_FILTERS = 64, 32, 4, 4, 8
#: Where numbers are computed with as they lie: filters that may be, as many as a program has, if the first cache holds
#: what they see of so many channels.
_MORE_FILTERS, _HELD = 32, 128


class Single(Spread):
    """Programs that multiply what lies in rows."""

    def _single(self, c: Record, inside: Int) -> Int:
        """Whether a correlation has one tap and one place an image, and few of them."""
        one = c["window"].equals(1).both(c["image"].equals(1)).both(inside)
        return one.both(c["n"] > 0).both(c["n"] <= _IMAGES).both(c["rows"] > 0).both(c["channels"] > 0)

    def _by_filters(self, c: Record) -> Int:
        """Whether channels lie side by side, those of the input and those of the filters: the number of programs."""
        return c["in_c"].equals(1).both(c["w_c"].equals(1))

    def _programs_by_filters(self, c: Record) -> Int:
        return c["groups"] * c["rows"].up(_ROWS)

    def _by_rows(self, f: Function, c: Record) -> Int:
        """Whether results and filters lie side by side."""
        bias = Int(f, f.op(f"icmp eq ptr {c.pointer('bias')}, null")).either(c["bias_by"].equals(1))
        return c["w_m"].equals(1).both(c["out_m"].equals(1)).both(bias)

    def _by_products(self, c: Record) -> Int:
        """Whether the channels of the input and of the gradient by the weight lie side by side."""
        return c["in_c"].equals(1).both(c["w_c"].equals(1))

    def _by_planes(self, f: Function, c: Record) -> Int:
        """Whether there are few filters of one tap, of images whose places lie in a row, as those of results do."""
        few = c["rows"] <= _FEW_FILTERS
        if self.stored == self.real:
            held = (c["rows"] <= _MORE_FILTERS).both(c["channels"] <= _HELD)
            few = few.either(held.both(c["kind"].equals(CORRELATE)))
        row = c["direct"].equals(1).both(few).both(c["image"] >= self._across)
        for name in ("in", "out"):
            size: Int = f.const(1)
            for d in (2, 1, 0):
                row = row.both(c[f"{name}{d}"].equals(size).either(c[f"count{d}"].equals(1)))
                size = size * c[f"count{d}"]
        return row.both(c["channels"] > 0)

    def _tell_planes(self, f: Function, c: Record) -> Int:
        """Say that filters are multiplied with images; the number of programs."""
        names = (
            "weight", "input", "output", None, "w_m", "w_c", "in_c", "out_m", "rows", "channels", "image", "w_g",
            "in_g", "out_g", "n", "in_n", "out_n", "bias",
        )  # fmt: skip
        for to, of in zip(TOLD, names, strict=True):
            c[f"told_{to}"] = c[of] if of else 0
        return c["n"] * c["groups"] * c["image"].up(self._across)

    def _tell(self, f: Function, c: Record, *, gradient: bool) -> Int:
        """Say what is multiplied; the number of programs."""
        if gradient:
            names = (
                "output", "input", "weight", None, "out_m", "out_n", "in_n", "w_m", "rows", "n", "channels", "out_g",
                "in_g", "w_g", None, None, None, None,
            )  # fmt: skip
        else:
            names = (
                "input", "weight", "output", "bias", "in_n", "in_c", "w_c", "out_n", "n", "channels", "rows", "in_g",
                "w_g", "out_g", None, None, None, None,
            )  # fmt: skip
        for to, of in zip(TOLD, names, strict=True):
            c[f"told_{to}"] = c[of] if of else 0
        c["told_count_n"] = 1
        return c["groups"] * c["told_count_j"].up(self._across) * c["told_count_i"].up(_ROWS)

    @property
    def _across(self) -> int:
        return _VECTORS * self.lanes

    def _single_filters(self) -> str:
        """Programs of some filters each, which are multiplied with all images a register at a time."""
        f, c = self._task("single.filters", UNTUNED)
        rows, images, channels = c["rows"], c["n"], c["channels"]
        blocks = rows.up(_ROWS)
        with f.loop(f.param("start"), f.param("end")) as i:
            g, m0 = i // blocks, i % blocks * _ROWS
            base, weight = (
                self._stored_at(f, c.pointer(name), g * c[by]) for name, by in (("input", "in_g"), ("weight", "w_g"))
            )
            out = self._stored_at(f, c.pointer("output"), g * c["out_g"])
            m1 = (m0 + _ROWS).least(rows)
            for alone, high, wide in ((True, 2 * _HIGH, 1), (False, _HIGH, _HIGH)):
                count = images.equals(1) if alone else images > 1
                with f.when(count), f.loop(m0, m1, high) as m, f.loop(0, images, wide) as n:
                    filters = [(m + r).least(m1 - 1) for r in range(high)]
                    examples = [(n + r).least(images - 1) for r in range(wide)]
                    left = [self._stored_at(f, weight, row * c["w_m"]) for row in filters]
                    right = [self._stored_at(f, base, row * c["in_n"]) for row in examples]
                    sums = [[f.room(self.vector) for _ in right] for _ in left]
                    self._no_sums(f, sums)
                    self._dot_rows(f, left, right, channels, sums)
                    for row, some in zip(filters, sums, strict=True):
                        for example, total in zip(examples, some, strict=True):
                            value = self._total(f, f.op(f"load {self.vector}, ptr {total}"))
                            to = self._stored_at(f, out, example * c["out_n"] + row * c["out_m"])
                            self._put(f, self._with_bias(f, c, g * rows + row, value), to)
        return f.end()

    def _no_sums(self, f: Function, sums: list[list[str]]) -> None:
        for some in sums:
            for one in some:
                f.line(f"store {self.vector} zeroinitializer, ptr {one}")

    def _single_gradients(self) -> str:
        """Programs of a gradient by the weight: some channels each, whose images are multiplied with all results'."""
        f, c = self._task("single.gradients", UNTUNED)
        rows, channels, image = c["rows"], c["channels"], c["image"]
        blocks = channels.up(_HIGH)
        with f.loop(f.param("start"), f.param("end")) as i:
            g, k = i // blocks, i % blocks * _HIGH
            base, grads, weight = (
                self._stored_at(f, c.pointer(name), g * c[by])
                for name, by in (("input", "in_g"), ("output", "out_g"), ("weight", "w_g"))
            )
            with f.loop(0, rows, 2) as m:
                filters = [(m + r).least(rows - 1) for r in range(2)]
                seen = [(k + r).least(channels - 1) for r in range(_HIGH)]
                sums = [[f.room(self.vector) for _ in seen] for _ in filters]
                self._no_sums(f, sums)
                with f.loop(0, c["n"]) as n:
                    left = [self._stored_at(f, grads, n * c["out_n"] + row * c["out_m"]) for row in filters]
                    right = [self._stored_at(f, base, n * c["in_n"] + channel * c["in_c"]) for channel in seen]
                    self._dot_rows(f, left, right, image, sums)
                for row, some in zip(filters, sums, strict=True):
                    for channel, total in zip(seen, some, strict=True):
                        value = self._total(f, f.op(f"load {self.vector}, ptr {total}"))
                        self._put(f, value, self._stored_at(f, weight, row * c["w_m"] + channel * c["w_c"]))
        return f.end()

    def _with_bias(self, f: Function, c: Record, row: Int, value: str) -> str:
        given, found = c.pointer("bias"), f.room(self.real)
        f.line(f"store {self.real} {value}, ptr {found}")
        with f.when(Int(f, f.op(f"icmp ne ptr {given}, null"))):
            more = self._get(f, self._stored_at(f, given, row * c["bias_by"]))
            f.line(f"store {self.real} {f.op(f'fadd {self.real} {value}, {more}')}, ptr {found}")
        return f.op(f"load {self.real}, ptr {found}")

    def _dot_rows(
        self, f: Function, left: list[str], right: list[str], count: Int, sums: list[list[str]]
    ) -> None:  # fmt: skip
        """Add products of rows of both operands, by registers: of numbers, or of pairs of narrow ones."""
        each = 2 * self.lanes if self.kind.paired else self.lanes

        def load(of: str, k: Int, mask: str) -> str:
            place = self._stored_at(f, of, k)
            if not self.kind.paired:
                return self._loaded(f, place, mask) if mask else self._load_several(f, place)
            if not mask:
                return f.op(f"load {self.vector}, ptr {place}, align 2")
            kind = f"<{each} x i16>"
            bits = f.op(
                f"call {kind} @llvm.masked.load.v{each}i16.p0(ptr align 2 {place}, <{each} x i1> {mask},"
                f" {kind} zeroinitializer)"
            )
            return f.op(f"bitcast {kind} {bits} to {self.vector}")

        def step(k: Int, rest: Int | None) -> None:
            mask = "" if rest is None else self._below(f, rest, each)
            others = [load(of, k, mask) for of in right]
            for of, some in zip(left, sums, strict=True):
                value = load(of, k, mask)
                for other, one in zip(others, some, strict=True):
                    old = f.op(f"load {self.vector}, ptr {one}")
                    f.line(f"store {self.vector} {self._dot(f, value, other, old)}, ptr {one}")

        whole = count & -each
        with f.loop(0, whole, each) as k:
            step(k, None)
        with f.when(whole < count):
            step(whole, count - whole)

    def _single_rows(self) -> str:
        """Programs of some rows of results, whose numbers side by side are what a register has."""
        f, c = self._task("single.rows", UNTUNED)
        told = {name: c[f"told_{name}"] for name in TOLD if name not in ("left", "right", "to", "added", "own")}
        across, down = told["count_j"].up(self._across), told["count_i"].up(_ROWS)
        given = c.pointer("told_added")
        own, by = c.pointer("told_own"), c["bias_by"]
        there_is, there_is_own = (Int(f, f.op(f"icmp ne ptr {of}, null")) for of in (given, own))
        with f.loop(f.param("start"), f.param("end")) as i:
            j0, i0, rest = i % across * self._across, i // across % down * _ROWS, i // across // down
            g, n = rest // told["count_n"], rest % told["count_n"]
            left = self._stored_at(f, c.pointer("told_left"), g * told["left_g"])
            right, to = (
                self._stored_at(f, c.pointer(f"told_{name}"), g * told[f"{name}_g"] + n * told[f"{name}_n"])
                for name in ("right", "to")
            )  # fmt: skip
            j1, i1 = (j0 + self._across).least(told["count_j"]), (i0 + _ROWS).least(told["count_i"])
            bias = self._stored_at(f, given, g * told["count_j"])
            full = (j1 - j0).equals(self._across)

            def block(high: int, vectors: int, i: Int, j: Int, rest: Int | None) -> None:
                mask = "" if rest is None else self._below(f, rest)

                def load(of: str, at: Int) -> str:
                    place = self._stored_at(f, of, at)
                    return self._loaded(f, place, mask) if mask else self._load_several(f, place)

                rows = [(i + r).least(i1 - 1) for r in range(high)]
                sums = [[f.room(self.vector) for _ in range(vectors)] for _ in rows]
                for v in range(vectors):
                    for some in sums:
                        f.line(f"store {self.vector} zeroinitializer, ptr {some[v]}")
                    with f.when(there_is):
                        value = load(bias, j + v * self.lanes)
                        for some in sums:
                            f.line(f"store {self.vector} {value}, ptr {some[v]}")
                with f.when(there_is_own):
                    for at, some in zip(rows, sums, strict=True):
                        place = self._stored_at(f, own, (g * told["count_i"] + at) * by)
                        value = self._splat(f, self._get(f, place))
                        for one in some:
                            f.line(f"store {self.vector} {value}, ptr {one}")
                with f.loop(0, told["count_k"]) as k:
                    row = self._stored_at(f, right, k * told["right_k"])
                    for v in range(0, vectors * self.lanes * self.item, 64):
                        later = j + (self._across + v // self.item)
                        self._ahead_in_short(f, self._stored_at(f, row, later))
                    columns = [load(row, j + v * self.lanes) for v in range(vectors)]
                    for at, some in zip(rows, sums, strict=True):
                        place = self._stored_at(f, left, at * told["left_i"] + k * told["left_k"])
                        factor = self._splat(f, self._get(f, place))
                        for column, one in zip(columns, some, strict=True):
                            old = f.op(f"load {self.vector}, ptr {one}")
                            f.line(f"store {self.vector} {self._fma(f, factor, column, old)}, ptr {one}")
                for at, some in zip(rows, sums, strict=True):
                    for v, one in enumerate(some):
                        value = f.op(f"load {self.vector}, ptr {one}")
                        place = self._stored_at(f, to, at * told["to_i"] + j + v * self.lanes)
                        if mask:
                            self._put_some(f, value, place, mask)
                        else:
                            kept, kind = self._narrowed(f, value), f"<{self.lanes} x {self.stored}>"
                            f.line(f"store {kind} {kept}, ptr {place}, align {self._item_stored()}")

            single, few = (told["count_i"] <= high for high in (1, 2))
            for alone, high in ((single, 1), (few.both(single.denied()), 2), (few.denied(), _HIGH)):
                with f.when(alone.both(full)), f.loop(i0, i1, high) as row:
                    block(high, _VECTORS, row, j0, None)
                with f.when(alone.both(full.denied())), f.loop(i0, i1, high) as row:
                    with f.loop(j0, j1, self.lanes) as j:
                        block(high, 1, row, j, j1 - j)
        return f.end()

"""Sums to where results belong, with what is added to them."""

from __future__ import annotations

from opweave.codegen.native.correlation.words import Record
from opweave.codegen.native.emitting import Function, Int
from opweave.codegen.native.narrow_products.packing import Packing
from opweave.codegen.native.narrow_products.vectors import WORDS


class Results(Packing):
    """What scales sums, adds to them, rounds them once and stores them."""

    def _term(self) -> str:
        """A row of what is added, as it is computed with."""
        if self.kind.stored == "i8":
            return ""
        f = Function("internal void", "term", ["ptr to", "ptr of", "i64 step", "i64 count"], "noinline")
        step, count = f.param("step"), f.param("count")
        vector = f"<{self.lanes} x {self.memory}>"
        with f.when(step.equals(1)), f.loop(0, count, self.lanes) as i:
            place = f.at("%of", i, self.memory)
            value = f.op(f"call {vector} @first.{self.lanes}(ptr {place}, i64 {count - i})")
            f.line(f"store {self.groups} {self._wide(f, value, self.lanes)}, ptr {f.at('%to', i, 'i32')}, align 64")
        with f.when(step.equals(1).denied()), f.loop(0, count) as i:
            value = f.op(f"load {self.memory}, ptr {f.at('%of', i * step, self.memory)}")
            f.line(f"store i32 {self._wide(f, value, 1)}, ptr {f.at('%to', i, 'i32')}")
        return f.end()

    def _finish(self) -> str:
        """A block of sums to where results belong."""
        f = Function(
            "internal void", "finish",
            ["ptr c", "ptr sums", "i64 pitch", "ptr to", "ptr added", "i64 rows", "i64 columns"],
            "noinline",
        )  # fmt: skip
        c, rows, columns, result = Record(f, "%c", WORDS), f.param("rows"), f.param("columns"), self._result()
        floats = self.kind.total == "float"
        down, vector = c["c_row"], f"<{self.lanes} x {result}>"
        row_of_term, pitch = f.room(f"[{max(self.width, self.tall)} x i32]"), f.param("pitch")
        alpha = beta = ""
        if floats:
            alpha, beta = (
                self._splat(f, "float", f.op(f"bitcast i32 {f.op(f'trunc i64 {c[name]} to i32')} to float"))
                for name in ("alpha", "beta")
            )
        added = f.is_null("%added").denied()
        term_row, term_column = c["term_row"], c["term_column"]
        value = f.room(self.sums)

        def place(r: Int, v: Int, count: Int | None) -> None:
            at = f.at("%sums", r * pitch + v, "i32")
            f.line(f"store {self.sums} {f.op(f'load {self.sums}, ptr {at}, align 64')}, ptr {value}")
            if floats:
                scaled = f.op(f"fmul {self.sums} {f.op(f'load {self.sums}, ptr {value}')}, {alpha}")
                f.line(f"store {self.sums} {scaled}, ptr {value}")
                with f.when(added):
                    term = f.op(f"load {self.sums}, ptr {f.at(row_of_term, v, 'i32')}, align 64")
                    total = f.op(f"fmul {self.sums} {term}, {beta}")
                    total = f.op(f"fadd {self.sums} {f.op(f'load {self.sums}, ptr {value}')}, {total}")
                    f.line(f"store {self.sums} {total}, ptr {value}")
            found = f.op(f"load {self.sums}, ptr {value}")
            if self.kind.stored == "half":
                found = f.op(f"fptrunc {self.sums} {found} to {vector}")
            elif self.kind.stored == "bfloat":
                found = f.op(f"call {vector} @rounded({self.sums} {found})")
            to = f.at("%to", r * down + v, result)
            align = 4 if result in ("i32", "float") else 2
            if count is None:
                f.line(f"store {vector} {found}, ptr {to}, align {align}")
            else:
                f.line(
                    f"call void @llvm.masked.store.v{self.lanes}{self._result_suffix()}.p0({vector} {found},"
                    f" ptr align {align} {to}, <{self.lanes} x i1> {self._below(f, count, self.lanes)})"
                )

        whole = columns & -self.lanes
        with f.loop(0, rows) as r:
            if floats:
                with f.when(added):
                    of = f.at("%added", r * term_row, self.memory)
                    f.line(f"call void @term(ptr {row_of_term}, ptr {of}, i64 {term_column}, i64 {columns})")
            with f.loop(0, whole, self.lanes) as v:
                place(r, v, None)
            with f.loop(whole, columns, self.lanes) as v:
                place(r, v, columns - v)
        return f.end()

    def _task(self, name: str, attributes: str = "") -> tuple[Function, Record]:
        f = Function("internal void", name, ["ptr c", "i64 start", "i64 end", "i32 gx", "i32 gy", "i32 gz"], attributes)
        return f, Record(f, "%c", WORDS)

    def _matrix(self, f: Function, c: Record, which: str, batch: Int, kind: str) -> str:
        """The address of a matrix of a batch."""
        far, near = batch // c["near"], batch % c["near"]
        return f.at(c.pointer(which), far * c[f"{which}_far"] + near * c[f"{which}_near"], kind)

    def _is_straight(self, f: Function, c: Record, besides: Int, parts: Int) -> Int:
        """Whether sums are the result, and are kept there: where nothing is done to them, and all registers are full.

        Not where something else than the kernels makes them (`besides`), or nothing; `parts` must be full registers.
        """
        if self._result() != self.kind.total:
            return f.const(0).equals(1)
        found = besides.either(c["groups"].equals(0)).denied().both((parts % self.lanes).equals(0))
        if self.kind.total == "float":
            found = found.both(f.is_null(c.pointer("term"))).both((c["alpha"] & 0xFFFFFFFF).equals(0x3F800000))
        return found

    def _totals(
        self, f: Function, c: Record, straight: Int, batch: Int, row: Int, column: Int, sums: str
    ) -> tuple[str, Int]:
        """Where a block of sums is kept, and the bytes from one row to the next."""
        place = f.at(self._matrix(f, c, "c", batch, self._result()), row * c["c_row"] + column, self._result())
        return f.op(f"select i1 {straight}, ptr {place}, ptr {sums}"), straight.choose(c["c_row"], self.width) * 4

    def _put_block(
        self, f: Function, c: Record, batch: Int, row: Int, column: Int, rows: Int, columns: Int, sums: str, pitch: Int,
        added: str,
    ) -> None:  # fmt: skip
        """Sums, rows of which are `pitch` apart, to a block of the result; `added` is room for an address."""
        to = f.at(self._matrix(f, c, "c", batch, self._result()), row * c["c_row"] + column, self._result())
        f.line(f"store ptr null, ptr {added}")
        with f.when(f.is_null(c.pointer("term")).denied()):
            shift = row * c["term_row"] + column * c["term_column"]
            there = f.at(self._matrix(f, c, "term", batch, self.memory), shift, self.memory)
            f.line(f"store ptr {there}, ptr {added}")
        f.line(
            f"call void @finish(ptr %c, ptr {sums}, i64 {pitch}, ptr {to}, ptr {f.op(f'load ptr, ptr {added}')},"
            f" i64 {rows}, i64 {columns})"
        )

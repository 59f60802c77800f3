"""Row programs (`registry.rows`) as native code, whose programs are runs of rows on the pool.

A body is run once with values that stand for the elements of a row, which says which *passes* over the row there are: a
number of the row ends a pass, and what needs it is in the next. Each pass loads what it needs, once; elements that take
long to compute are kept from one pass for the next in memory that stays in the cache, and others are computed again.

How rows are shared among programs and in which order elements are added follows from the sizes alone, so results have
the same bits for any number of threads. Sums are those of vectors of a few registers, in two levels, since errors of
long sums add up.

Where rows lie across memory, since they run along a dimension that is not the last, each lane of a vector has one of
its own: a step is an element of as many rows as there are lanes.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.codegen import bodies, casts
from opweave.codegen.instructions.arithmetic import F32
from opweave.codegen.instructions.emit import Emitter, float_literal, splat, suffix, vector
from opweave.codegen.instructions.operands import I32, I64, PTR, VOID, ZEROS, Constant, Operand, Register
from opweave.codegen.native import llvm, objects, pool
from opweave.codegen.row_plans import (
    COMPARISONS,
    COSTLY,
    FORMULAS,
    INTRINSICS,
    NEUTRAL,
    RUNNING,
    Plan,
    Value,
    elements_of,
    parts_in,
    planned,
    reached,
)  # fmt: skip
from opweave.registry import dtypes, memory
from opweave.registry.interrupts import let_through
from opweave.registry.rows import RowProgram

#: Elements of the rows of one program.
_PROGRAM = 1 << 15
#: Registers that a sum goes on in by turns, since an addition waits for the one before.
_TURNS = 4
#: Vectors of each that are added up before they go to the sums of such.
_LEAST_BLOCK = 32
#: The most lanes of a vector; rows of the runtime's own are padded to them. So many rows that lie across memory go
#: together, whatever the machine has.
LANES = 16

# ---- the code ------------------------------------------------------------------------------------------------------

#: Words before the operands: how many rows there are, of a program, elements of a row and padded, those that are added
#: up at a time, from one element of a row to the next, and memory of the programs' own for what is kept and for sums
#: over rows.
HEAD = 8


class Writer:
    """The LLVM IR of a program for some types (as `casts` calls them), operands first.

    Parameters
    ----------
    across : bool
        Whether each lane has a row of its own; "a row" are `LANES` of them then.
    """

    def __init__(self, program: RowProgram, types: Sequence[str], across: bool) -> None:
        host = llvm.host()
        self.program, self.types, self.plan = program, types, planned(program)
        self.w = host.vector_bits // 32
        self.across, self.step_length = across, 1 if across else self.w
        self.em = em = Emitter()
        self.f = F32(em, self.w, host.fma)
        self.single, self.word, self.mask = vector("f32", self.w), vector("i32", self.w), vector("i1", self.w)
        self.down = [v for v in self.plan.results if v.kind == "down"]
        self.numbers: dict[int, Operand] = {}
        self.constants: dict[int, Operand] = {}
        self.pointers: list[Operand] = []
        self.steps_between: list[Operand] = []
        self.kept: dict[int, Operand] = {}
        self.sums: dict[int, Operand] = {}
        self.so_far: dict[int, Register] = {}
        ones = ", ".join(f"i32 {lane}" for lane in range(self.w))
        self.lane_numbers = Constant(f"<{ones}>")

    def source(self, symbol: str) -> str:
        em = self.em
        words = [em.inst(f"load i64, ptr {em.offset(Register('%args'), i, 'i64')}") for i in range(HEAD)]
        self.rows, self.per, self.length, self.padded, self.block, self.inner, keep, partial = words
        # The last are addresses.
        self.memory = [em.inst(f"inttoptr i64 {word} to ptr") for word in (keep, partial)]
        stored = len(self.program.forms) + len(self.plan.results) - len(self.down)
        for number in range(stored):
            at = em.offset(Register("%args"), HEAD + number, "i64")
            if number < len(self.program.forms) and self.program.forms[number] == "number":
                self.pointers.append(0)
                self.constants[number] = self.spread(em.inst(f"load float, ptr {at}"))
            else:
                self.pointers.append(em.inst(f"load ptr, ptr {at}"))
            step = em.offset(Register("%args"), HEAD + stored + number, "i64")
            self.steps_between.append(em.inst(f"load i64, ptr {step}"))
        em.loop(Register("%start"), Register("%end"), 1, self.one_program)
        body = "\n".join(["entry:", *em.entry, *em.lines, "  ret void"])
        head = f"define void @{symbol}(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz)"
        return "\n".join([*em.globals, f"{head} {{", body, "}", *em.declarations.values()])

    def one_program(self, number: Operand) -> None:
        em = self.em
        first = em.mul(number, self.per)
        last = em.minimum(em.add(first, self.per), self.rows)
        keep, partial = self.memory
        for place, value in enumerate(self.plan.kept):
            row = em.add(em.mul(number, len(self.plan.kept)), place)
            self.kept[id(value)] = em.offset(keep, em.mul(row, self.padded), "f32")
        for place, value in enumerate(self.down):
            row = em.add(em.mul(number, len(self.down)), place)
            self.sums[id(value)] = em.offset(partial, em.mul(row, self.padded), "f32")
        em.loop(first, last, 1, self.rows_across if self.across else self.one_row)

    def rows_across(self, strip: Operand) -> None:
        """Rows whose elements lie side by side, of which the last strip shares some with the one before."""
        em = self.em
        strips = em.inst(f"udiv i64 {em.add(self.inner, LANES - 1)}, {LANES}")
        outer = em.inst(f"udiv i64 {strip}, {strips}")
        first = em.mul(em.sub(strip, em.mul(outer, strips)), LANES)
        first = em.minimum(first, em.sub(self.inner, LANES))
        before = em.add(em.mul(outer, self.inner), first)
        # Elements of rows of an outer index begin where as many rows have been passed.
        skipped = em.mul(em.mul(outer, self.inner), em.sub(self.length, 1))
        em.loop(0, LANES, self.w, lambda lane: self.one_row(em.add(before, lane), skipped))

    def one_row(self, row: Operand, skipped: Operand = 0) -> None:
        """Go through a row, or as many as there are lanes from this one on."""
        em, forms = self.em, self.program.forms
        lanes = self.w if self.across else 1
        self.numbers = {}
        self.places = list(self.pointers)
        chosen = row
        if "places" in forms:
            at = em.offset(self.pointers[forms.index("places")], row, "i64")
            chosen = em.inst(f"load i64, ptr {at}")

        def first(number: int, which: Operand) -> Operand:
            at = em.add(which, skipped) if self.across else em.mul(which, self.steps_between[number])
            return em.offset(self.pointers[number], at, self.element(number))

        for number, form in enumerate(forms):
            if form in ("rows", "chosen"):
                self.places[number] = first(number, row if form == "rows" else chosen)
            elif form == "each":
                at = em.offset(self.pointers[number], row, self.element(number))
                size = casts.size(self.types[number])
                x = em.inst(f"load {vector(self.element(number), lanes)}, ptr {at}, align {size}")
                found = casts.converted(em, x, self.types[number], "f4", lanes)
                self.constants[number] = found if self.across else self.spread(found)
        outs = [(number, v) for number, v in enumerate(self.plan.results, len(forms)) if v.kind != "down"]
        for number, value in outs:
            own = em.offset(self.pointers[number], row, self.element(number))
            self.places[number] = first(number, chosen) if value.is_row else own
        for number, ends in enumerate(self.plan.passes):
            self.one_pass(number, ends)
        for number, value in outs:
            if not value.is_row:
                found = self.number(value)
                if not self.across:
                    found = em.inst(f"extractelement {self.single} {found}, i64 0")
                found = casts.converted(em, found, "f4", self.types[number], lanes)
                size = casts.size(self.types[number])
                em.line(f"store {vector(self.element(number), lanes)} {found}, ptr {self.places[number]}, align {size}")

    def one_pass(self, number: int, ends: list[Value]) -> None:
        """Go through a row: in vectors by turns, what is left of them one by one, and what is left of a vector."""
        em, w = self.em, self.step_length
        folds = [v for v in ends if v.kind in NEUTRAL]
        computed = reached(elements_of(ends), parts_in(number))
        for value in computed:  # numbers outside of the loop
            if value.kind in RUNNING:
                start = splat(float_literal(RUNNING[value.kind][1], "f64"), "f64", self.w)
                self.so_far[id(value)] = em.slot(vector("f64", self.w), start)
            for arg in value.args:
                if not arg.is_row:
                    self.number(arg)
        # A long formula hides that an addition waits, and is not to be written often.
        is_costly = any(v.kind in COSTLY and v.level == number for v in computed)
        turns = _TURNS if folds and not is_costly else 1
        totals = {id(v): [self.started(v) for _ in range(turns)] for v in folds}
        by_turns = em.inst(f"and i64 {self.length}, {-turns * w}")
        whole = em.inst(f"and i64 {self.length}, {-w}")
        if any(v.kind == "sum" for v in folds):

            def block(begin: Operand) -> None:
                inner = {id(v): [self.started(v) for _ in range(turns)] if v.kind == "sum" else totals[id(v)]
                         for v in folds}  # fmt: skip
                end = em.minimum(em.add(begin, self.block), by_turns)
                em.loop(begin, end, turns * w, lambda i: self.steps(number, ends, i, inner, turns))
                for v in folds:
                    if v.kind == "sum":
                        for total, part in zip(totals[id(v)], inner[id(v)], strict=True):
                            self.fold(v, total, em.inst(f"load {self.single}, ptr {part[0]}"))

            em.loop(0, by_turns, self.block, block)
        else:
            em.loop(0, by_turns, turns * w, lambda i: self.steps(number, ends, i, totals, turns))
        if turns > 1:
            em.loop(by_turns, whole, w, lambda i: self.steps(number, ends, i, totals, 1))
        if not self.across:
            left = em.sub(self.length, whole)
            some = em.inst(f"icmp ne i64 {left}, 0")
            em.when(some, lambda: self.step(number, ends, whole, {key: t[0] for key, t in totals.items()}, left))
        for v in folds:
            self.numbers[id(v)] = self.folded(v, totals[id(v)])

    def steps(
        self, number: int, ends: list[Value], i: Operand, totals: dict[int, list[list[Register]]], turns: int
    ) -> None:
        for turn in range(turns):
            at = self.em.add(i, turn * self.step_length)
            self.step(number, ends, at, {k: t[turn] for k, t in totals.items()}, None)

    def step(
        self, number: int, ends: list[Value], i: Operand, totals: dict[int, list[Register]], left: Operand | None
    ) -> None:
        """Compute one vector of elements from `i` on, `left` of which are in the row (None: all)."""
        em = self.em
        found: dict[int, Operand] = {}
        for end in ends:
            value = self.computed(end.args[0] if end.kind in (*NEUTRAL, "down") else end, number, i, found, left)
            if end.kind in NEUTRAL:
                if left is not None:
                    value = self.f.select(self.inside(left), value, self.f.const(NEUTRAL[end.kind]))
                self.fold(end, totals[id(end)], value)
            elif end.kind == "down":
                at = em.offset(self.sums[id(end)], i, "f32")
                before = em.inst(f"load {self.single}, ptr {at}, align 4")
                em.line(f"store {self.single} {self.f.add(before, value)}, ptr {at}, align 4")
            if id(end) in self.kept:
                em.line(f"store {self.single} {value}, ptr {self.kept_at(end, i)}, align 4")
            for place, result in enumerate(self.plan.results, len(self.program.forms)):
                if result is end and end.is_row and end.kind != "down":
                    self.store(place, i, value, left)

    def computed(self, v: Value, number: int, i: Operand, found: dict[int, Operand], left: Operand | None) -> Operand:
        if not v.is_row:
            return self.number(v)
        if id(v) in found:
            return found[id(v)]
        em = self.em
        if id(v) in self.kept and v.level < number:
            value: Operand = em.inst(f"load {self.single}, ptr {self.kept_at(v, i)}, align 4")
        elif v.kind == "load":
            value = self.load(v.data, i, left)
        else:
            value = self.apply(v, [self.computed(arg, number, i, found, left) for arg in v.args])
        found[id(v)] = value
        return value

    def kept_at(self, v: Value, i: Operand) -> Operand:
        return self.em.offset(self.kept[id(v)], self.em.mul(i, self.w) if self.across else i, "f32")

    def number(self, v: Value) -> Operand:
        """A number of the row, in all lanes, or of the row of each."""
        if v.kind == "const":
            return self.f.const(v.data)
        if v.kind == "load":
            return self.constants[v.data]
        if id(v) not in self.numbers:
            self.numbers[id(v)] = self.apply(v, [self.number(arg) for arg in v.args])
        return self.numbers[id(v)]

    def apply(self, v: Value, args: list[Operand]) -> Operand:
        f, em, kind = self.f, self.em, v.kind
        if kind in FORMULAS or kind in bodies.known:
            return bodies.apply(kind, f, args)
        if kind in INTRINSICS:
            return f.intrinsic(INTRINSICS[kind], *args)
        if kind in COMPARISONS:
            return f.compare(COMPARISONS[kind], args[0], args[1])
        if kind in ("and", "or"):
            return em.inst(f"{kind} {self.mask} {args[0]}, {args[1]}")
        if kind == "stored":
            elem = str(self.types[v.data])
            return casts.converted(em, casts.converted(em, args[0], "f4", elem, self.w), elem, "f4", self.w)
        if kind in RUNNING:
            return self.apply_running(v, args[0])
        own = getattr(self, f"apply_{kind}", None)
        return getattr(f, kind)(*args) if own is None else own(*args)

    def apply_running(self, v: Value, x: Operand) -> Operand:
        em, w, wide = self.em, self.w, vector("f64", self.w)
        verb, start = RUNNING[v.kind]
        total: Operand = em.inst(f"fpext {self.single} {x} to {wide}")
        reach = w if self.across else 1
        while reach < w:  # each lane with all of as many before it
            order = ", ".join(f"i32 {lane - reach if lane >= reach else w}" for lane in range(w))
            none = splat(float_literal(start, "f64"), "f64", w)
            before = em.inst(f"shufflevector {wide} {total}, {wide} {none}, <{w} x i32> <{order}>")
            total = em.inst(f"{verb} {wide} {total}, {before}")
            reach *= 2
        slot = self.so_far[id(v)]
        total = em.inst(f"{verb} {wide} {em.inst(f'load {wide}, ptr {slot}')}, {total}")
        last = total
        if not self.across:
            order = ", ".join([f"i32 {w - 1}"] * w)
            last = em.inst(f"shufflevector {wide} {total}, {wide} poison, <{w} x i32> <{order}>")
        em.line(f"store {wide} {last}, ptr {slot}")
        found = em.inst(f"fptrunc {wide} {total} to {self.single}")
        stored = {self.types[place] for place, r in enumerate(self.plan.results, len(self.program.forms)) if r is v}
        # As NumPy and ml_dtypes have it, of which the second goes by float32.
        return self.to_odd(total, found) if stored == {"f2"} else found

    def to_odd(self, exact: Operand, nearest: Operand) -> Operand:
        """Float64 numbers as odd float32 numbers where they are none: rounded again, they are as if rounded once."""
        em, f, wide, mask = self.em, self.f, vector("f64", self.w), self.mask
        back = em.inst(f"fpext {self.single} {nearest} to {wide}")
        sizes = [em.intrinsic("fabs", "f64", self.w, [x]) for x in (back, exact)]
        beyond = em.inst(f"fcmp ogt {wide} {sizes[0]}, {sizes[1]}")
        bits = f.int_op("sub", f.bits(nearest), em.inst(f"zext {mask} {beyond} to {self.word}"))
        inexact = em.inst(f"zext {mask} {em.inst(f'fcmp one {wide} {back}, {exact}')} to {self.word}")
        return f.from_bits(f.int_op("or", bits, inexact))

    def apply_not(self, x: Operand) -> Operand:
        return self.em.inst(f"xor {self.mask} {x}, {splat(Constant('true'), 'i1', self.w)}")

    def apply_truth(self, x: Operand) -> Operand:
        return self.f.compare("une", x, self.f.const(0.0))

    def apply_number(self, x: Operand) -> Operand:
        return self.f.select(x, self.f.const(1.0), self.f.const(0.0))

    def apply_isnan(self, x: Operand) -> Operand:
        return self.f.compare("uno", x, x)

    def apply_same(self, x: Operand) -> Operand:
        return x

    def apply_isinf(self, x: Operand) -> Operand:
        return self.f.compare("oeq", self.f.intrinsic("fabs", x), self.f.const(math.inf))

    def apply_isfinite(self, x: Operand) -> Operand:
        return self.f.compare("olt", self.f.intrinsic("fabs", x), self.f.const(math.inf))

    def apply_signbit(self, x: Operand) -> Operand:
        return self.em.inst(f"icmp slt {self.word} {self.f.bits(x)}, {ZEROS}")

    def apply_where(self, condition: Operand, a: Operand, b: Operand) -> Operand:
        return self.f.select(condition, a, b)

    def apply_square(self, x: Operand) -> Operand:
        return self.f.mul(x, x)

    def apply_finite(self, x: Operand) -> Operand:
        return self.f.select(self.apply_isfinite(x), x, self.f.const(0.0))

    def apply_sign(self, x: Operand) -> Operand:
        """0 for both zeros, NaN for NaN."""
        f, zero = self.f, self.f.const(0.0)
        found = f.select(f.compare("oeq", x, zero), zero, x)
        found = f.select(f.compare("olt", x, zero), f.const(-1.0), found)
        return f.select(f.compare("ogt", x, zero), f.const(1.0), found)

    def apply_maximum(self, a: Operand, b: Operand) -> Operand:
        return self.extreme("ogt", a, b)

    def apply_minimum(self, a: Operand, b: Operand) -> Operand:
        return self.extreme("olt", a, b)

    def extreme(self, predicate: str, a: Operand, b: Operand) -> Operand:
        """The greater or less; NaN where one is NaN, which is neither."""
        f = self.f
        return f.select(f.compare("uno", a, a), a, f.select(f.compare(predicate, a, b), a, b))

    def apply_clip(self, x: Operand, low: Operand, high: Operand) -> Operand:
        f = self.f
        above = f.select(f.compare("olt", x, low), low, x)
        return f.select(f.compare("ogt", above, high), high, above)

    # -- memory

    def element(self, number: int) -> str:
        return casts.ELEMENTS[self.types[number]]

    def load(self, number: int, i: Operand, left: Operand | None) -> Operand:
        em, elem = self.em, self.element(number)
        size = casts.size(self.types[number])
        if self.across and self.program.forms[number] == "columns":
            x = em.inst(f"load {vector(elem, 1)}, ptr {em.offset(self.places[number], i, elem)}, align {size}")
            return self.spread(casts.converted(em, x, self.types[number], "f4", 1))
        at = em.offset(self.places[number], self.far(i), elem)
        if left is not None and self.is_masked(size):
            x = em.call(
                vector(elem, self.w), f"llvm.masked.load.{suffix(elem, self.w)}.p0",
                [(PTR, at), (I32, Constant(str(size))), (self.mask, self.inside(left)), (vector(elem, self.w), ZEROS)],
            )  # fmt: skip
            return casts.converted(em, x, self.types[number], "f4", self.w)
        if left is not None:
            buffer = em.buffer((self.w,), elem).pointer
            em.line(f"store {vector(elem, self.w)} {ZEROS}, ptr {buffer}")
            self.copy(buffer, at, em.mul(left, size))
            at = buffer
        x = em.inst(f"load {vector(elem, self.w)}, ptr {at}, align {size}")
        return casts.converted(em, x, self.types[number], "f4", self.w)

    def store(self, number: int, i: Operand, value: Operand, left: Operand | None) -> None:
        em, elem = self.em, self.element(number)
        at = to = em.offset(self.places[number], self.far(i), elem)
        size = casts.size(self.types[number])
        found = casts.converted(em, value, "f4", self.types[number], self.w)
        if left is not None and self.is_masked(size):
            em.call(
                VOID, f"llvm.masked.store.{suffix(elem, self.w)}.p0",
                [(vector(elem, self.w), found), (PTR, to), (I32, Constant(str(size))), (self.mask, self.inside(left))],
            )  # fmt: skip
            return
        if left is not None:
            at = em.buffer((self.w,), elem).pointer
        em.line(f"store {vector(elem, self.w)} {found}, ptr {at}, align {size}")
        if left is not None:
            self.copy(to, at, em.mul(left, size))

    def is_masked(self, size: int) -> bool:
        """Whether the machine reads and writes some elements of a vector, of so many bytes, in one instruction."""
        return size >= 4 or llvm.host().vector_bits == 512

    def inside(self, left: Operand) -> Operand:
        """Which lanes are in the row where so many elements of it are left."""
        limit = self.spread_word(self.em.inst(f"trunc i64 {left} to i32"))
        return self.em.inst(f"icmp slt {self.word} {self.lane_numbers}, {limit}")

    def far(self, i: Operand) -> Operand:
        """Where the element `i` of a row lies from its first one."""
        return self.em.mul(i, self.inner) if self.across else i

    def copy(self, to: Operand, source: Operand, count: Operand) -> None:
        self.em.call(VOID, "llvm.memcpy.p0.p0.i64", [
            (PTR, to), (PTR, source), (I64, count), (vector("i1", 1), Constant("false")),
        ])  # fmt: skip

    def spread(self, x: Operand) -> Operand:
        return self._spread(x, "float", self.single)

    def spread_word(self, x: Operand) -> Operand:
        return self._spread(x, "i32", self.word)

    def _spread(self, x: Operand, kind: str, wide: str) -> Operand:
        one = self.em.inst(f"insertelement {wide} poison, {kind} {x}, i64 0")
        return self.em.inst(f"shufflevector {wide} {one}, {wide} poison, <{self.w} x i32> {ZEROS}")

    # -- folds: a variable, and of extremes another that says where there was NaN

    def started(self, v: Value) -> list[Register]:
        slots = [self.em.slot(self.single, self.f.const(NEUTRAL[v.kind]))]
        if v.kind in ("max", "min"):
            slots.append(self.em.slot(self.word, ZEROS))
        return slots

    def fold(self, v: Value, into: list[Register], value: Operand) -> None:
        em, f = self.em, self.f
        before = em.inst(f"load {self.single}, ptr {into[0]}")
        em.line(f"store {self.single} {self.combined(v.kind, value, before)}, ptr {into[0]}")
        if len(into) > 1:
            none = em.inst(f"sext {self.mask} {f.compare('uno', value, value)} to {self.word}")
            seen = em.inst(f"load {self.word}, ptr {into[1]}")
            em.line(f"store {self.word} {em.inst(f'or {self.word} {seen}, {none}')}, ptr {into[1]}")

    def combined(self, kind: str, a: Operand, b: Operand) -> Operand:
        f = self.f
        if kind in ("sum", "prod"):
            return f.add(a, b) if kind == "sum" else f.mul(a, b)
        return f.select(f.compare("ogt" if kind == "max" else "olt", a, b), a, b)

    def folded(self, v: Value, totals: list[list[Register]]) -> Operand:
        """The number of the row, in all lanes: of all turns, then of all lanes that have elements of it."""
        em, f, w = self.em, self.f, self.w
        result: Operand = em.inst(f"load {self.single}, ptr {totals[0][0]}")
        for slots in totals[1:]:
            result = self.combined(v.kind, result, em.inst(f"load {self.single}, ptr {slots[0]}"))
        half = 0 if self.across else w // 2
        while half:  # each lane with the one that far away: all have the same in the end
            order = ", ".join(f"i32 {lane ^ half}" for lane in range(w))
            other = em.inst(f"shufflevector {self.single} {result}, {self.single} poison, <{w} x i32> <{order}>")
            result = self.combined(v.kind, result, other)
            half //= 2
        if v.kind in ("max", "min"):
            some: Operand = ZEROS
            for slots in totals:
                some = em.inst(f"or {self.word} {some}, {em.inst(f'load {self.word}, ptr {slots[1]}')}")
            if self.across:
                is_nan = em.inst(f"icmp ne {self.word} {some}, {ZEROS}")
                return f.select(is_nan, f.const(math.nan), result)
            bits = em.inst(f"call i32 @llvm.vector.reduce.or.v{w}i32({self.word} {some})")
            em.declarations["llvm.vector.reduce.or"] = f"declare i32 @llvm.vector.reduce.or.v{w}i32({self.word})"
            is_nan = em.inst(f"icmp ne i32 {bits}, 0")
            result = em.inst(f"select i1 {is_nan}, {self.single} {f.const(math.nan)}, {self.single} {result}")
        return result


# ---- running it ----------------------------------------------------------------------------------------------------


class _Loaded(NamedTuple):
    address: int
    plan: Plan
    #: Time that a program took, for the pool.
    cost: Any


@functools.cache
def _loaded(program: RowProgram, types: tuple[str, ...], across: bool) -> _Loaded | None:
    name = f"{program.name} of {' '.join(types)}{' across' if across else ''}"
    code = objects.Code(lambda: Writer(program, types, across).source("opweave.rows"), name, objects.CLEANED, name)
    try:
        if "f2" in types and casts.loop(np.dtype(np.float16), np.dtype(np.float32)) is None:
            return None  # the machine does not convert it
        pool.native()
        address = code.load(["opweave.rows"]).address("opweave.rows")
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy goes on
        let_through(error)
        return None
    return _Loaded(address, planned(program), ctypes.c_double())


def shares(program: RowProgram, rows: int, length: int, inner: int) -> tuple[int, int, int, int]:
    """How rows are shared among programs: how many rows there are to go through, of a program, elements of one as it is
    padded, and those that are added up at a time; `inner` as `run` has it."""
    across = inner > 1
    many = rows // inner * -(-inner // LANES) if across else rows
    padded = length * LANES if across else -(-length // LANES) * LANES
    # Rows that are named more than once come in their order.
    per = many if "places" in program.forms else max(1, _PROGRAM // (padded if across else length))
    step = _TURNS if across else _TURNS * LANES
    return many, per, padded, step * max(_LEAST_BLOCK, math.isqrt(length // step))


def run(
    program: RowProgram, operands: Sequence[Any], outs: Sequence[Any], rows: int, length: int, inner: int,
    steps: Sequence[int],
) -> list[np.ndarray[Any, Any]] | None:  # fmt: skip
    """`registry.rows.native`."""
    across = inner > 1
    if across and inner < LANES:
        return None
    types = tuple(["f4" if type(x) is float else TYPES[x.dtype] for x in operands] + [TYPES[x.dtype] for x in outs])
    loaded = _loaded(program, types, across)
    if loaded is None:
        return None
    many, per, padded, block = shares(program, rows, length, inner)
    programs = -(-many // per)
    kept = memory.empty((programs, len(loaded.plan.kept), padded), np.dtype(np.float32)) if loaded.plan.kept else None
    down = sum(v.kind == "down" for v in loaded.plan.results)
    partial = np.zeros((programs, down, padded), np.float32) if down else None
    own = [0 if array is None else _address(array) for array in (kept, partial)]
    words = [many, per, length, padded, block, inner, *own]
    words += [_bits(x) if type(x) is float else _address(x) for x in (*operands, *outs)]
    words += steps
    args = (ctypes.c_int64 * len(words))(*words)
    pool.native().run(loaded.address, ctypes.addressof(args), programs, 0, 0, 0, ctypes.byref(loaded.cost))
    return [] if partial is None else [partial[:, place, :length] for place in range(down)]


TYPES = {
    np.dtype(np.float32): "f4", np.dtype(np.float16): "f2", dtypes.bfloat16.numpy: "bf", np.dtype(np.bool_): "b1",
    np.dtype(np.int64): "i8",
}  # fmt: skip


def _address(array: np.ndarray[Any, Any]) -> int:
    return array.__array_interface__["data"][0]


def _bits(value: float) -> int:
    with np.errstate(over="ignore"):
        return int(np.float32(value).view(np.uint32))

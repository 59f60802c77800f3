"""tt.reduce and tt.scan, with any combine region and any number of operands.

Known combines (sum, maximum, ...) accumulate in vector registers from their identity; other regions start from the
first step. The lanes of the accumulators are combined at the end by a tree of halves. So a sum is reassociated
explicitly and needs no fast-math flag.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from opweave.codegen.instructions.emit import LLVM_TYPE, SIZE, Buffer, float_literal, vector
from opweave.codegen.instructions.operands import FALSE, POISON, TRUE, Operand, Register
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.control import scalar_region
from opweave.codegen.triton_cpu.dimensions import merged
from opweave.codegen.triton_cpu.elementwise import compare, select, to_f32
from opweave.codegen.triton_cpu.extremes import Extremes, find_extreme
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, Lanes, replaced
from opweave.codegen.triton_cpu.loops import (
    outer_loops,
    vector_dimension,
    vector_loop,
    vector_width,
    width_for,
    write_all,
)
from opweave.codegen.triton_cpu.materialize import side_buffers, side_outputs
from opweave.codegen.triton_cpu.operations import operation, root
from opweave.codegen.triton_cpu.running import Total, find_total
from opweave.registry.triton.ttir import Op, Region, Value

_INF, _NAN = float("inf"), float("nan")
# The number of two is chosen over a NaN, so NaN is what adds nothing to a maximum: a row of NaNs is NaN.
_FLOAT_IDENTITY = {
    "arith.addf": -0.0, "arith.mulf": 1.0, "arith.maxnumf": _NAN, "arith.minnumf": _NAN, "arith.maximumf": -_INF,
    "arith.minimumf": _INF,
}  # fmt: skip
# Up to so many vectors a row the lanes of many rows are combined together.
_SHORT = 2
# Columns whose steps are so many instructions a lane or fewer are written without a loop: its turns cost as much.
_WRITTEN_OUT = 64
_NUMBER_ONLY = {"arith.maxnumf": "ogt", "arith.minnumf": "olt"}


def identity(op: Op, elem: str) -> Operand | None:
    """The literal e with combine(e, x) = x for a combine of one known operation."""
    region = op.regions[0]
    if len(op.operands) != 1 or len(region) != 1 or len(region[0].ops) != 2:
        return None
    name = region[0].ops[0].name
    if set(region[0].ops[0].operands) != set(region[0].args):
        return None
    if name in _FLOAT_IDENTITY:
        return float_literal(_FLOAT_IDENTITY[name], elem)
    bits = SIZE[elem] * 8 if elem != "i1" else 1
    smallest, largest = -(1 << (bits - 1)), (1 << (bits - 1)) - 1
    value = {
        "arith.addi": 0, "arith.ori": 0, "arith.xori": 0, "arith.maxui": 0, "arith.andi": -1, "arith.minui": -1,
        "arith.muli": 1, "arith.maxsi": smallest, "arith.minsi": largest,
    }.get(name)  # fmt: skip
    if value is None:
        return None
    return (TRUE if value & 1 else FALSE) if elem == "i1" else value


def combine(cx: Context, op: Op, accumulated: list[Lanes], new: list[Lanes]) -> list[Lanes]:
    """Inline the combine region on two tuples of operands."""
    region, args = op.regions[0], [*accumulated, *new]
    block = region[0]
    if len(region) == 1 and len(block.ops) == 2 and block.ops[0].name in _NUMBER_ONLY and identity(op, "f32"):
        return [_better(cx, _NUMBER_ONLY[block.ops[0].name], accumulated[0], new[0])]
    if len(region) > 1 or any(inner.regions or not inner.results for inner in block.ops[:-1]):
        return by_lanes(cx, region, args)
    for arg, x in zip(block.args, args, strict=True):
        cx.scalars[arg] = x
    for inner in block.ops[:-1]:
        rule = operation(inner).lazy
        if rule is not None and not inner.operands:
            cx.scalars[inner.result] = rule(cx, inner.result, ())
        else:
            cx.scalars[inner.result] = cx.element(inner, [cx.scalars[o] for o in inner.operands])
    return [cx.scalars[v] for v in block.terminator.operands]


def by_lanes(cx: Context, region: Region, args: Sequence[Lanes]) -> list[Lanes]:
    """Run a region of scalars with control flow once for each lane of its arguments."""
    em, width = cx.em, cx.width
    if width == 1 or all(x.uniform for x in args):
        with cx.lanes(1):
            return scalar_region(cx, region, [Lanes("uniform", cx.position(x), x.elem) for x in args])
    operands = [cx.operand(x) for x in args]
    results: list[list[Lanes]] = []
    for k in range(width):
        lane = [
            Lanes("uniform", em.inst(f"extractelement {vector(x.elem, width)} {v}, i64 {k}"), x.elem)
            for x, v in zip(args, operands, strict=True)
        ]
        with cx.lanes(1):
            results.append(scalar_region(cx, region, lane))
    whole: list[Lanes] = []
    for parts in zip(*results, strict=True):
        elem = parts[0].elem
        out: Operand = POISON
        for k, x in enumerate(parts):
            out = em.inst(f"insertelement {vector(elem, width)} {out}, {LLVM_TYPE[elem]} {x.value}, i64 {k}")
        whole.append(Lanes("vector", out, elem))
    return whole


def _better(cx: Context, predicate: str, best: Lanes, x: Lanes) -> Lanes:
    """maxnum/minnum of an accumulator and a new element, either of which may be NaN."""
    wide, wide_best = to_f32(cx, x), to_f32(cx, best)
    found = select(cx, compare(cx, predicate, wide_best, wide), best, x)
    return select(cx, compare(cx, "uno", wide, wide), best, found)


class _Accumulators:
    """One register-sized variable per operand."""

    def __init__(self, cx: Context, op: Op, width: int) -> None:
        self.cx, self.op, self.elems = cx, op, [v.type.elem for v in op.operands]
        self.types = [vector(e, width) for e in self.elems]
        self.slots = [cx.em.slot(t) for t in self.types]

    def store(self, values: Sequence[Lanes]) -> None:
        for t, slot, x in zip(self.types, self.slots, values, strict=True):
            self.cx.em.line(f"store {t} {self.cx.operand(x)}, ptr {slot}")

    def load(self) -> list[Lanes]:
        values = [self.cx.em.inst(f"load {t}, ptr {s}") for t, s in zip(self.types, self.slots, strict=True)]
        return [Lanes("vector", v, e) for v, e in zip(values, self.elems, strict=True)]

    def begin(self, start: Operand) -> None:
        self.store([Lanes("uniform", start, self.elems[0])])

    def add(self, new: Sequence[Lanes]) -> None:
        spread = [Lanes("vector", self.cx.operand(x), x.elem) for x in new]
        self.store(combine(self.cx, self.op, self.load(), spread))


@root("tt.reduce")
def reduce(cx: Context, op: Op) -> None:
    sources, axis = op.operands, op.int_attr("axis")
    shape = sources[0].type.dims
    side = side_outputs(cx, [op], sources, shape)
    kept = side_buffers(cx, side)
    values = [*sources, *side]
    shape = merged(cx, shape, values, axis)
    dim = vector_dimension(cx, values, [], shape)
    total = find_total(cx, op) if dim != axis and shape == sources[0].type.dims else None
    in_memory = [r.type.is_tensor and total is None for r in op.results]
    results = [
        cx.em.buffer(r.type.dims, r.type.elem) if on else None for r, on in zip(op.results, in_memory, strict=True)
    ]
    plan = _Reduction(cx, op, axis, shape, values, list(zip(side, kept, strict=True)), results, total)
    elems = [v.type.elem for v in sources]
    if "f32" in elems or "f64" in elems:
        # In which order a sum is formed must not hang on what else is computed on the way.
        width = vector_width(cx, shape[dim], elems)
    else:
        width = width_for(cx, values, [], shape[dim])
    with cx.lanes(width):
        if dim == axis:
            last, together = plan.rows_together()
            visit = plan.along_lanes if together == 1 else partial(plan.rows_along_lanes, dim=last, together=together)
            outer_loops(cx, shape, [k for k in range(len(shape)) if k not in (axis, last)], visit)
        else:
            rest = [k for k in range(len(shape)) if k not in (axis, dim)]
            outer_loops(cx, shape, rest, lambda idx: plan.across_lanes(idx, dim))
    cx.buffers.update(zip(side, kept, strict=True))
    for r, b in zip(op.results, results, strict=True):
        if b is not None:
            cx.buffers[r] = b
    if total is not None:
        cx.buffers[total.following] = cx.buffers[total.carried]


class _Reduction:
    """One reduction being emitted."""

    def __init__(
        self, cx: Context, op: Op, axis: int, shape: tuple[int, ...], values: Sequence[Value],
        side: Sequence[tuple[Value, Buffer]], results: Sequence[Buffer | None], total: Total | None,
    ) -> None:  # fmt: skip
        self.cx, self.op, self.axis, self.shape, self.values = cx, op, axis, shape, values
        self.side, self.results, self.total = side, results, total
        self.start = identity(op, op.operands[0].type.elem)
        self.extreme = find_extreme(cx, op)
        # Of extremes, what was found before counts as one more element.
        self.continues = (
            total is not None and total.repeats and self.extreme is not None and self.extreme.narrow is None
        )
        self.reduced = [self.extreme.narrow or op.operands[0]] if self.extreme is not None else op.operands

    def _accumulators(self) -> _Accumulators | Extremes:
        if self.extreme is not None:
            return Extremes(self.cx, self.extreme, self.op.operands[0].type.elem)
        return _Accumulators(self.cx, self.op, self.cx.width)

    def _visit(self, accumulators: _Accumulators | Extremes, idx: Indices) -> None:
        new = [self.cx.evaluate(v, idx) for v in self.reduced]
        write_all(self.cx, [v for v, _ in self.side], [b for _, b in self.side], idx)
        accumulators.add(new)

    def _begin(self, accumulators: _Accumulators | Extremes, first: Indices) -> int:
        """Set the accumulators; returns how many steps that consumed."""
        if isinstance(accumulators, Extremes):
            accumulators.begin()
            return 0
        if self.start is not None:
            accumulators.begin(self.start)
            return 0
        values = [self.cx.evaluate(v, first) for v in self.op.operands]
        write_all(self.cx, [v for v, _ in self.side], [b for _, b in self.side], first)
        accumulators.store(values)
        return 1

    def _cost(self) -> int:
        """Roughly how many instructions a lane of one step takes."""
        return sum(operation(v.op).cost for v in self.cx.tree([*self.values]) if v.op is not None)

    def _finish(self, values: Sequence[Lanes], idx: Indices) -> None:
        at = idx[: self.axis] + idx[self.axis + 1 :]
        if self.total is not None:
            (self.total.write if self.continues else self.total.update)(self.cx, values[0], at)
            return
        for r, buffer, x in zip(self.op.results, self.results, values, strict=True):
            if buffer is None:
                self.cx.scalars[r] = Lanes("uniform", x.value, x.elem)
            else:
                self.cx.store_buffer(buffer, x, at)

    def rows_together(self) -> tuple[int, int]:
        """(the dimension, how many rows along it have their lanes combined together); -1 and 1 if each has by itself.

        The lanes of one row are combined in as many steps as those of many rows, which fill a register.
        """
        cx, shape = self.cx, self.shape
        region = self.op.regions[0]
        rows = [k for k in range(len(shape)) if k != self.axis and shape[k] > 1]
        if not rows or shape[self.axis] > _SHORT * cx.width or len(region) > 1 or any(o.regions for o in region[0].ops):
            return -1, 1
        count = min(self._register(), shape[rows[-1]])
        return (rows[-1], count) if count > 1 and shape[rows[-1]] % count == 0 else (-1, 1)

    def _register(self) -> int:
        """Lanes of a register, of the widest type; or of a vector, which is one register or several."""
        size = max(SIZE[v.type.elem] for v in self.op.operands)
        return min(max(self.cx.features.vector_bits // 8 // size, 1), self.cx.width)

    def rows_along_lanes(self, idx: Indices, dim: int, together: int) -> None:
        """The reduced axis is the vector dimension; so many rows along `dim` are combined together."""
        cx, em, lanes = self.cx, self.cx.em, self._register()
        elems = [v.type.elem for v in self.op.operands]
        kept = [em.buffer((together, lanes), elem) for elem in elems]
        row_key, lane_key, at_key = cx.fresh_key("row"), cx.fresh_key("lane"), cx.fresh_key("rows")

        def place(k: Operand) -> Indices:
            return Index(k, 0, row_key), Index(0, 1, lane_key)

        def block(first: Operand) -> None:
            def row(k: Operand) -> None:
                with cx.scope():
                    found = self._halve(self._lanes_of(replaced(idx, dim, Index(em.add(first, k), 0, at_key))), lanes)
                    with cx.lanes(lanes):
                        for buffer, x in zip(kept, found, strict=True):
                            cx.store_buffer(buffer, x, place(k))

            em.loop(0, together, 1, row)
            with cx.lanes(lanes):
                rows = [[cx.load_buffer(buffer, place(k)) for buffer in kept] for k in range(together)]
                values = self._halve_rows(rows)
            with cx.lanes(together), cx.scope():
                self._finish(values, replaced(idx, dim, Index(first, 1, at_key)))

        em.loop(0, self.shape[dim], together, block)

    def _halve_rows(self, rows: list[list[Lanes]]) -> list[Lanes]:
        """Combine the upper half of each row's lanes with the lower until one lane of each is left, in order.

        Each vector holds the lanes of as many rows as have room. The pairs are those of `_halve`.
        """
        cx, width = self.cx, self.cx.width
        each = width  # lanes of a row in a vector
        while each > 1:
            half = each // 2
            halves: list[list[Lanes]] = []
            for k in range(0, len(rows), 2):
                pair = rows[k : k + 2]
                starts = range(0, width * len(pair), each)
                parts = [
                    [
                        self._picked(x, width, [start + first + i for start in starts for i in range(half)])
                        for x in zip(*pair, strict=True)
                    ]
                    for first in (0, half)
                ]
                with cx.lanes(width * len(pair) // 2):
                    halves.append(combine(cx, self.op, *parts))
            width = width * min(len(rows), 2) // 2
            rows, each = halves, half
        return rows[0]

    def _picked(self, vectors: Sequence[Lanes], width: int, lanes: Sequence[int]) -> Lanes:
        """Lanes of one vector, or of two that lie one after the other."""
        t, elem = vector(vectors[0].elem, width), vectors[0].elem
        a, b = vectors[0].value, vectors[1].value if len(vectors) > 1 else POISON
        picks = ", ".join(f"i32 {k}" for k in lanes)
        return Lanes("vector", self.cx.em.inst(f"shufflevector {t} {a}, {t} {b}, <{len(lanes)} x i32> <{picks}>"), elem)

    def along_lanes(self, idx: Indices) -> None:
        """The reduced axis is the vector dimension; each row's lanes are combined by themselves."""
        values = self._halve(self._lanes_of(idx))
        with self.cx.lanes(1):
            self._finish([Lanes("uniform", x.value, x.elem) for x in values], idx)

    def _lanes_of(self, idx: Indices) -> list[Lanes]:
        """What the lanes hold after all steps along a row."""
        cx, n = self.cx, self.shape[self.axis]
        accumulators = self._accumulators()
        with cx.scope():
            key = cx.fresh_key("first")
            cx.origins[key], cx.positioned = 0, True
            done = self._begin(accumulators, replaced(idx, self.axis, Index(0, 1, key)))
            cx.positioned = False
        if done * cx.width < n:
            vector_loop(
                cx, n, self.values, [], idx, self.axis, lambda at: self._visit(accumulators, at), start=done * cx.width
            )
        return accumulators.load()

    def _halve(self, values: list[Lanes], until: int = 1) -> list[Lanes]:
        """Combine the upper half of the lanes with the lower until one is left, or as many as are said."""
        cx, width = self.cx, self.cx.width
        while width > until:
            half = width // 2
            parts = [[self._part(x, width, first, half) for x in values] for first in (0, half)]
            with cx.lanes(half):
                values = combine(cx, self.op, *parts)
            width = half
        return values

    def _part(self, x: Lanes, width: int, first: int, count: int) -> Lanes:
        t, em = vector(x.elem, width), self.cx.em
        if count == 1:
            return Lanes("vector", em.inst(f"extractelement {t} {x.value}, i64 {first}"), x.elem)
        picks = ", ".join(f"i32 {first + k}" for k in range(count))
        return Lanes("vector", em.inst(f"shufflevector {t} {x.value}, {t} poison, <{count} x i32> <{picks}>"), x.elem)

    def across_lanes(self, idx: Indices, dim: int) -> None:
        """Another dimension is the vector dimension: every lane reduces its own column."""
        cx, n = self.cx, self.shape[self.axis]
        key, anywhere = cx.fresh_key("r"), Index(Register("%unknown"), 0, cx.fresh_key("row"))

        def columns(at: Indices) -> None:
            cx.unknown.discard(anywhere.key)
            accumulators = self._accumulators()
            with cx.scope():
                done = self._begin(accumulators, replaced(at, self.axis, ZERO))
                if self.total is not None and self.continues:
                    accumulators.add([self.total.so_far(cx, at[: self.axis] + at[self.axis + 1 :])])

            def row(i: Operand) -> None:
                with cx.scope():
                    self._visit(accumulators, replaced(at, self.axis, Index(i, 0, key)))

            if n - done <= _WRITTEN_OUT // max(self._cost(), 1):
                for i in range(done, n):
                    row(i)
            else:
                cx.em.loop(done, n, 1, row)
            self._finish(accumulators.load(), at)

        cx.unknown.add(anywhere.key)
        vector_loop(cx, self.shape[dim], self.values, [], replaced(idx, self.axis, anywhere), dim, columns)


@root("tt.scan")
def scan(cx: Context, op: Op) -> None:
    """Sequential along the axis; neighbouring rows go together in lanes where the axis is not the contiguous one."""
    sources, axis, shape = op.operands, op.int_attr("axis"), op.operands[0].type.dims
    reverse = op.flag("reverse")
    n = shape[axis]
    results = [cx.em.buffer(r.type.dims, r.type.elem) for r in op.results]
    shape = merged(cx, shape, sources, axis)

    def row(idx: Indices) -> None:
        accumulators = _Accumulators(cx, op, 1)
        key = cx.fresh_key("s")

        def step(i: Operand, first: bool) -> None:
            with cx.scope():
                at = replaced(idx, axis, Index(cx.em.sub(n - 1, i) if reverse else i, 0, f"{key}{first}"))
                new = [Lanes("vector", cx.evaluate(v, at).value, v.type.elem) for v in sources]
                values = new if first else combine(cx, op, accumulators.load(), new)
                accumulators.store(values)
                for buffer, x in zip(results, values, strict=True):
                    cx.store_buffer(buffer, x, at)

        step(0, True)
        if n > 1:
            cx.em.loop(1, n, 1, lambda i: step(i, False))

    with cx.lanes(1):
        outer_loops(cx, shape, [k for k in range(len(shape)) if k != axis], row)
    cx.buffers.update(zip(op.results, results, strict=True))

"""Loop nests over the elements of a tensor.

`nest` picks the vector dimension (where most pointers are contiguous), loops over the others, and hands the innermost
vector loop to `vector_loop`, which splits it by what `plan` decides to assume of masks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from math import prod

from opweave.codegen.instructions.emit import SIZE, Buffer
from opweave.codegen.instructions.operands import Operand, Register
from opweave.codegen.triton_cpu.context import Context, pointee_size
from opweave.codegen.triton_cpu.dimensions import merged
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, Key, key_of, replaced
from opweave.codegen.triton_cpu.operations import INDEX_OPS, MADE, REARRANGES, VIEWS
from opweave.codegen.triton_cpu.plan import Kept, Place, comparison, largest_base, mask_parts, masked_off, plan_loop
from opweave.codegen.triton_cpu.prefetch import addresses, ask
from opweave.codegen.triton_cpu.strides import UNKNOWN, Strides
from opweave.registry.triton.ttir import Op, Value

Body = Callable[[Indices], None]
"""Emits one step at an index."""
_MOST_LOOPS = 2
"""Loops around a vector loop, at most."""
_DEAR = 4
"""From this cost on, a row that all rows share is computed once."""


def vector_width(cx: Context, extent: int, elems: Sequence[str]) -> int:
    """Lanes of one step: some registers of the widest type, a divisor of the extent."""
    if cx.features.sanitize:
        return 1
    sizes = [SIZE[e] for e in elems if e not in ("i1", "ptr")] or [4]
    width = cx.features.vector_bits // 8 // max(sizes) * cx.features.interleave
    while width > extent or extent % width:
        width //= 2
    return max(width, 1)


def width_for(cx: Context, values: Sequence[Value], stores: Sequence[Op], extent: int) -> int:
    tree = cx.tree(list(values))
    elems = [v.type.elem for v in tree if v.op is not None and v.op.name not in INDEX_OPS]
    elems += [v.type.elem for v in values] + [op.operands[1].type.elem for op in stores]
    return vector_width(cx, extent, elems)


def nest(
    cx: Context, shape: tuple[int, ...], values: Sequence[Value], stores: Sequence[Op], body: Body, *,
    merge: bool = False, nothing_else: bool = False,
) -> None:  # fmt: skip
    """Loop over all elements of `shape`; `values` and `stores` are what the body evaluates.

    With `merge`, neighbouring dimensions may be walked through as one: for a body that uses the index only to evaluate
    these, and on row-major buffers of this shape. With `nothing_else`, it does nothing but `stores`.
    """
    if not shape:
        body(())
        return
    narrow = _dear_and_narrow(cx, [*values, *(o for op in stores for o in op.operands)])
    materialize(cx, narrow)
    _nest(cx, shape, values, stores, body, merge, nothing_else)
    for v in narrow:  # what follows may not come by here
        del cx.buffers[v]


def _dear_and_narrow(cx: Context, values: Sequence[Value]) -> list[Value]:
    """Values that a nest would compute anew for each row, since all rows share them, and that cost more than a load."""
    found: dict[Value, None] = {}
    for v in cx.tree(list(values)):
        if v.op is None or v.op.name != "tt.broadcast":
            continue
        source = v.op.operands[0]
        if 1 < source.type.numel < v.type.numel and source not in cx.buffers and cx.cost(source) >= _DEAR:
            found[source] = None
    return list(found)


def _nest(
    cx: Context, shape: tuple[int, ...], values: Sequence[Value], stores: Sequence[Op], body: Body, merge: bool,
    nothing_else: bool,
) -> None:  # fmt: skip
    if merge:
        shape = merged(cx, shape, [*values, *(o for op in stores for o in op.operands)])
    dim = vector_dimension(cx, values, stores, shape)
    with cx.lanes(width_for(cx, values, stores, shape[dim])):
        outer = [k for k in range(len(shape)) if k != dim]
        outer_loops(
            cx, shape, outer,
            lambda idx: vector_loop(cx, shape[dim], values, stores, idx, dim, body, nothing_else=nothing_else),
        )  # fmt: skip


def outer_loops(cx: Context, shape: tuple[int, ...], dims: Sequence[int], body: Callable[[Indices], None]) -> None:
    """Scalar loops over `dims`; the other positions of the index are left ZERO for the body to replace.

    Many dimensions share one loop, for LLVM takes its time over deep nests.
    """
    dims = [d for d in dims if shape[d] > 1]
    if len(dims) > _MOST_LOOPS:
        _one_loop(cx, shape, dims, body)
        return

    def descend(k: int, idx: Indices) -> None:
        if k == len(dims):
            body(idx)
            return
        d = dims[k]
        key = cx.fresh_key("i")

        def step(i: Operand) -> None:
            with cx.scope():
                descend(k + 1, replaced(idx, d, Index(i, 0, key)))

        cx.em.loop(0, shape[d], 1, step)

    descend(0, (ZERO,) * len(shape))


def _one_loop(cx: Context, shape: tuple[int, ...], dims: Sequence[int], body: Callable[[Indices], None]) -> None:
    """Walk through `dims` in row-major order by one number, which is taken apart again at each step."""

    def step(linear: Operand) -> None:
        with cx.scope():
            idx, rest = (ZERO,) * len(shape), linear
            for d in reversed(dims):
                at = cx.em.inst(f"urem i64 {rest}, {shape[d]}") if d != dims[0] else rest
                rest = cx.em.inst(f"udiv i64 {rest}, {shape[d]}") if d != dims[0] else rest
                idx = replaced(idx, d, Index(at, 0, cx.fresh_key("i")))
            body(idx)

    cx.em.loop(0, prod(shape[d] for d in dims), 1, step)


# -- the vector dimension


def vector_dimension(cx: Context, values: Sequence[Value], stores: Sequence[Op], shape: tuple[int, ...]) -> int:
    """The dimension along which most memory accesses are contiguous; the last one where all are equal."""
    if len(shape) == 1:
        return 0
    best, best_score = len(shape) - 1, float("-inf")
    for d in range(len(shape)):
        if shape[d] == 1:
            continue
        score = _contiguity(cx, values, stores, shape, d) + min(shape[d], 64) / 64 + (0.5 if d == len(shape) - 1 else 0)
        if score > best_score:
            best, best_score = d, score
    return best


def _contiguity(cx: Context, values: Sequence[Value], stores: Sequence[Op], shape: tuple[int, ...], dim: int) -> float:
    """How much a vector loop along `dim` suits the accesses: contiguous ones count for it, strided ones against."""
    loads, store_ratings, buffers = _accesses(cx, values, stores, _lanes_along(shape, dim))
    return 4 * (sum(loads.values()) + sum(store_ratings)) + buffers


def _lanes_along(shape: tuple[int, ...], dim: int) -> Indices:
    return tuple(Index(UNKNOWN, int(k == dim), f"along{dim}.{k}") for k in range(len(shape)))


def _accesses(
    cx: Context, values: Sequence[Value], stores: Sequence[Op], idx: Indices
) -> tuple[dict[Op, int], list[int], int]:
    """How accesses go with an index: 1 for contiguous, 0 for uniform, -1 for strided, of loads, stores and buffers."""
    loads: dict[Op, int] = {}
    buffers = 0
    seen: set[Key] = set()
    strides = Strides(cx)

    def rate(pointer: Value, at: Indices) -> int:
        lanes = strides.of(pointer, at)
        if lanes is None:
            return -1
        return 0 if lanes.uniform else 1 if lanes.stride == pointee_size(pointer.type) else -1

    def visit(v: Value, at: Indices) -> None:
        nonlocal buffers
        if not v.type.is_tensor or key_of(v, at) in seen:
            return
        seen.add(key_of(v, at))
        if v in cx.buffers:
            if any(i.lane for i in at) and v.type.numel > 1:
                buffers += 1 if at[-1].lane else -1
            return
        op = v.op
        if op is None or op.name in REARRANGES or op.name in MADE:
            return
        inputs = cx.inputs(op, at)
        if op.name == "tt.load":
            loads[op] = rate(*inputs[0])
        if op.name in VIEWS or op.name not in INDEX_OPS:
            for o, i in inputs:
                visit(o, i)

    for v in values:
        visit(v, idx)
    ratings = [rate(op.operands[0], idx) for op in stores]
    for op in stores:
        visit(op.operands[1], idx)
    return loads, ratings, buffers


def transposed_loads(cx: Context, stores: Sequence[Op], shape: tuple[int, ...]) -> list[Value]:
    """Loads that run across the direction in which the stores are contiguous.

    Read into a buffer first, every cache line is touched once on either side of a transpose.
    """
    for dim in range(len(shape)):
        loads, ratings, _ = _accesses(cx, [op.operands[1] for op in stores], stores, _lanes_along(shape, dim))
        if shape[dim] > 1 and all(r == 1 for r in ratings):
            return [op.result for op, r in loads.items() if r < 0 and _contiguous_somewhere(cx, op)]
    return []


def visited_at(cx: Context, values: Sequence[Value], target: Value, idx: Indices) -> set[Indices]:
    """The indices at which evaluating `values` at an index evaluates a value."""
    found: set[Indices] = set()
    seen: set[Key] = set()
    todo = [(v, idx) for v in values]
    while todo:
        v, at = todo.pop()
        if not v.type.is_tensor or v in cx.buffers or v in cx.inductions or key_of(v, at) in seen:
            continue
        seen.add(key_of(v, at))
        if v is target:
            found.add(at)
        elif v.op is not None and v.op.name not in REARRANGES and v.op.name not in MADE:
            todo += cx.inputs(v.op, at)
    return found


def _contiguous_somewhere(cx: Context, load: Op) -> bool:
    dims = load.result.type.dims
    along = [_accesses(cx, [load.result], [], _lanes_along(dims, d))[0][load] for d in range(len(dims)) if dims[d] > 1]
    return 1 in along


def contiguous_dimension(cx: Context, v: Value) -> int | None:
    """The dimension along which all loads behind a value are contiguous or do not move; None if there is none."""
    for d, extent in enumerate(v.type.dims):
        loads, _, buffers = _accesses(cx, [v], [], _lanes_along(v.type.dims, d))
        ratings = list(loads.values())
        if extent > 1 and ratings and 1 in ratings and -1 not in ratings and buffers >= 0:
            return d
    return None


# -- the vector loop and its regions


def vector_loop(
    cx: Context,
    extent: int,
    values: Sequence[Value],
    stores: Sequence[Op],
    idx: Indices,
    dim: int,
    body: Body,
    start: int = 0,
    nothing_else: bool = False,
) -> None:
    """Steps of `cx.width` lanes over dimension `dim`, from `start`, split into regions of known masks.

    With `nothing_else`, the body does nothing but `stores`.
    """
    em, width, key = cx.em, cx.width, cx.fresh_key("v")
    here = replaced(idx, dim, Index(UNKNOWN, 1, key))
    plan = plan_loop(cx, values, stores, here, dim, extent, nothing_else)
    cx.plans.append(plan)

    def region(lo: Operand, hi: Operand, assume: dict[Key, bool]) -> None:
        saved, assumed = cx.assumed, {**cx.assumed, **assume}
        if plan.nothing_else and masked_off(cx, stores, here, assumed):
            return
        unmasked = all(assume.values()) and (bool(assume) or not plan.parts)

        def step(i: Operand) -> None:
            with cx.scope():
                cx.positioned, cx.origins[key] = True, i
                body(replaced(idx, dim, Index(i, 1, key)))
                if unmasked:
                    ask(cx, ahead)
                cx.positioned = False

        cx.assumed = assumed
        em.loop(lo, hi, width, step)
        cx.assumed = saved

    with cx.scope():
        for v, i in plan.hoisted:
            cx.affine(v, i)
        ahead = addresses(cx, plan.soon, here)
        bounds, gates = _mask_bounds(cx, plan.parts)
        if not bounds and not gates:
            region(start, extent, {})
            return
        _split(cx, extent, start, bounds, gates, region)


def _split(
    cx: Context, extent: int, start: int, bounds: dict[Key, Operand], gates: dict[Key, Operand],
    region: Callable[[Operand, Operand, dict[Key, bool]], None],
) -> None:  # fmt: skip
    """All masks true up to `main`; mixed up to `full`; the bounded masks false from there on."""
    em, width = cx.em, cx.width
    hi: Operand = extent
    for bound in dict.fromkeys(bounds.values()):
        hi = em.minimum(hi, bound)
    hi = em.maximum(hi, start) if bounds else hi
    main = hi
    for gate in dict.fromkeys(gates.values()):
        main = em.inst(f"select i1 {gate}, i64 {main}, i64 {start}")
    main = em.inst(f"and i64 {main}, {-width}")
    region(start, main, dict.fromkeys([*bounds, *gates], True))
    if len(set(bounds.values())) == 1:
        full = em.inst(f"and i64 {em.add(hi, width - 1)}, {-width}")
        region(main, full, {})
        region(full, extent, dict.fromkeys(bounds, False))
    else:
        region(main, extent, {})


def _mask_bounds(cx: Context, parts: Iterable[tuple[Place, bool]]) -> tuple[dict[Key, Operand], dict[Key, Operand]]:
    """Where comparisons become false, and conditions that do not vary, by what can be assumed where they hold."""
    bounds: dict[Key, Operand] = {}
    gates: dict[Key, Operand] = {}
    for (leaf, i), bound in parts:
        key = key_of(leaf, i)
        if bound:
            bounds[key], whole = _upper_bound(cx, leaf, i)
            if whole is not None:
                gates[leaf, (*key[1], "whole")] = whole
        elif isinstance(gate := cx.evaluate(leaf, i).value, Register):
            gates[key] = gate
    return bounds, gates


def everywhere(
    cx: Context, values: Sequence[Value], stores: Sequence[Op], shape: tuple[int, ...], keys: Sequence[str]
) -> tuple[list[Operand], list[Key]]:
    """When all masks are true at all positions of a shape: (conditions, comparisons that hold then).

    The comparisons stand at an index with these keys; `bounded_everywhere` says whether all are of this kind.
    """
    conditions: list[Operand] = []
    found: list[Key] = []
    unknown, strides = cx.unknown, Strides(cx)
    try:
        for d, extent in enumerate(shape):
            here = tuple(Index(UNKNOWN, int(k == d), key) for k, key in enumerate(keys))
            cx.unknown = unknown | {key for k, key in enumerate(keys) if k != d}
            bounds, gates = _mask_bounds(cx, mask_parts(cx, strides, values, stores, here))
            conditions += [cx.em.inst(f"icmp sge i64 {bound}, {extent}") for bound in dict.fromkeys(bounds.values())]
            conditions += dict.fromkeys(gates.values())
            found += [*bounds, *gates]
    finally:
        cx.unknown = unknown
    return conditions, found


def _upper_bound(cx: Context, leaf: Value, idx: Indices) -> tuple[Operand, Register | None]:
    """For `x < b` with x = base + position: the position (i64) from which on it is false.

    Where x may wrap around in its type, also the condition that it does not; if it does, there is no such position.
    """
    compared = comparison(cx, leaf, idx)
    assert compared is not None
    position, bound = cx.affine(*compared[0]), cx.affine(*compared[1])
    assert position is not None and bound is not None
    em = cx.em
    wide = [em.resize(y.value, y.elem, "i64") for y in (bound, position)]
    end = em.add(em.sub(*wide), compared[2])
    if SIZE[position.elem] == 8 or not isinstance(wide[1], Register):
        return end, None
    whole = em.inst(f"icmp sle i64 {wide[1]}, {largest_base(leaf, position.elem)}")
    return em.inst(f"select i1 {whole}, i64 {end}, i64 {1 << 62}"), whole


# -- buffers filled by loop nests


def materialize(cx: Context, values: Sequence[Value]) -> None:
    """Write lazy values to buffers, those of one shape in one nest."""
    groups: dict[tuple[int, ...], list[Value]] = {}
    for v in dict.fromkeys(values):
        if v not in cx.buffers and v.type.is_tensor:
            groups.setdefault(v.type.dims, []).append(v)
    for group in groups.values():
        buffers = [cx.em.buffer(v.type.dims, v.type.elem) for v in group]
        fill(cx, group, buffers)
        cx.buffers.update(zip(group, buffers, strict=True))


def fill(cx: Context, values: Sequence[Value], buffers: Sequence[Buffer]) -> None:
    """One nest that evaluates each value and stores it to its buffer."""

    def body(idx: Indices) -> None:
        write_all(cx, values, buffers, idx)

    cx.plans.append(Kept(tuple(values), tuple(buffers)))
    nest(cx, values[0].type.dims, values, [], body, merge=True)


def write_all(cx: Context, values: Sequence[Value], buffers: Sequence[Buffer], idx: Indices) -> None:
    """Evaluate all before the first is stored: a buffer may be overwritten in place."""
    lanes = [cx.evaluate(v, idx) for v in values]
    for buffer, x in zip(buffers, lanes, strict=True):
        cx.store_buffer(buffer, x, idx)

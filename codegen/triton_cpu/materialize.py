"""Which lazy values are kept in buffers, and when.

A value is evaluated again for every root that needs it, except where that would be wrong (a load that would sink past a
store) or dear (an exponential that a sum and a store both need). Where the root at hand visits the value's elements
anyway, the value is written to its buffer on the way, so that keeping it takes no loop of its own.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from opweave.codegen.instructions.emit import SIZE, Buffer
from opweave.codegen.triton_cpu.analysis import EXPENSIVE, enclosing, pointer_base
from opweave.codegen.triton_cpu.context import Context, pointee_size
from opweave.codegen.triton_cpu.distinct import is_distinct
from opweave.codegen.triton_cpu.loops import materialize
from opweave.codegen.triton_cpu.operations import MADE, REARRANGES, ROOTS, VIEWS, WRITES
from opweave.codegen.triton_cpu.plan import Kept
from opweave.registry.triton.ttir import Block, Op, Value, walk


def side_outputs(cx: Context, roots: Sequence[Op], values: Sequence[Value], shape: tuple[int, ...]) -> list[Value]:
    """Values that `roots` evaluate and later roots need too: those the caller shall write to buffers on the way.

    Kept values that the loop nest over `shape` does not visit element by element are materialised here.
    """
    tree = cx.tree(list(values))
    kept: list[Value] = []
    later: dict[Value, bool] = {}

    def needed_later(v: Value) -> bool:
        if v not in later:
            later[v] = False
            later[v] = any(
                (u.name in ROOTS and u.pos > roots[-1].pos)
                or any(w not in kept and needed_later(w) for w in _lazy_results(u))
                for u in v.users
            )
        return later[v]

    for v in sorted(tree, key=lambda v: -v.op.pos if v.op else 0):
        if v.op is None or v.op.block is not roots[0].block or v in values and v in cx.buffers:
            continue
        dear = cx.cost(v) >= EXPENSIVE or v.op.name != "tt.load" and _replaces(cx, v, roots[-1])
        if needed_later(v) and (dear or v.op.name == "tt.load" and _written_meanwhile(cx, v, roots[-1])):
            kept.append(v)
            later.clear()
    inline = [v for v in kept if v.type.dims == shape and _visited_in_order(cx, values, v)]
    materialize(cx, [v for v in reversed(kept) if v not in inline])
    return inline


def _lazy_results(op: Op) -> list[Value]:
    return [] if op.name in MADE else op.results


def _replaces(cx: Context, v: Value, root: Op) -> bool:
    """Whether a value is kept in less memory than the loads that it is computed from, which would have to be."""
    loads = [x for x in cx.tree([v]) if x.op is not None and x.op.name == "tt.load"]
    loads = [x for x in loads if _written_meanwhile(cx, x, root)]
    return len(loads) > 1 and _bytes(v) < sum(map(_bytes, loads))


def _bytes(v: Value) -> int:
    return SIZE[v.type.elem] * v.type.numel


def _written_meanwhile(cx: Context, v: Value, root: Op) -> bool:
    """Whether memory may change between `root` and the last root that reads the load."""
    last = max((r.pos for r in cx.reach.roots(v)), default=0)
    return last > root.pos and any(root.pos <= w < last for w in cx.write_positions)


def _visited_in_order(cx: Context, values: Sequence[Value], target: Value) -> bool:
    """Whether evaluating `values` reaches target through elementwise operations only, at the same index."""
    found = False
    todo, seen = [(v, True) for v in values], set[tuple[Value, bool]]()
    while todo:
        v, same = todo.pop()
        if (v, same) in seen or not v.type.is_tensor or v in cx.buffers:
            continue
        seen.add((v, same))
        if v is target:
            if not same:
                return False
            found = True
        elif v.op is not None and v.op.name not in MADE:
            keeps = v.op.name not in VIEWS and v.op.name not in REARRANGES
            todo += [(o, same and keeps) for o in v.op.operands]
    return found


def side_buffers(cx: Context, values: Sequence[Value]) -> list[Buffer]:
    buffers = [cx.em.buffer(v.type.dims, v.type.elem) for v in values]
    if values:
        cx.plans.append(Kept(tuple(values), tuple(buffers)))
    return buffers


# -- before writes and regions


def before_write(cx: Context, roots: Sequence[Op], values: Sequence[Value]) -> None:
    """Loads that later roots read must not sink past the stores in `roots`."""
    tree = cx.tree(list(values))
    keep: list[Value] = []
    stored = [op.operands[0] for op in roots]
    for load in cx.pending_loads:
        v = load.result
        if v in cx.buffers:
            continue
        later = any(r.pos > roots[0].pos and r not in roots for r in cx.reach.roots(v))
        if v in tree:
            # Reading and writing one buffer at different places: read all before the first write.
            same = _visited_in_order(cx, values, v)
            if any(overlap(cx, load.operands[0], pointer, same_index=same) for pointer in stored):
                keep.append(v)
        elif later:
            keep.append(v)
    materialize(cx, keep)
    last = roots[-1].pos
    cx.pending_loads = [ld for ld in cx.pending_loads if any(r.pos > last for r in cx.reach.roots(ld.result))]


def overlap(cx: Context, a: Value, b: Value, *, same_index: bool = True) -> bool:
    """Whether one nest may come upon the same memory through two pointers at different indices.

    `same_index` says that it evaluates both pointers at one index, as no transposition stands between.
    Two arguments of a kernel are taken for different memory, which is noted for the launcher to see to; an address that
    came from elsewhere may be any memory. Where all accesses are equally far from both, and none of their lanes meet,
    they may also be one address.
    """
    if a is b:
        return not (same_index and is_distinct(a))
    bases = pointer_base(a), pointer_base(b)
    if bases[0] is bases[1]:
        return True
    level = same_index and pointee_size(a.type) == pointee_size(b.type) and _equal_offsets(a, b, bases)
    level = level and is_distinct(a)
    tables = [_table_of(cx, base) for base in bases]
    if tables[0] is not None and tables[0] is tables[1]:
        return not level
    places = [cx.arguments.get(base) for base in bases]
    if places[0] is None or places[1] is None:
        return True
    pair = min(places[0], places[1]), max(places[0], places[1])
    cx.apart[pair] = level and cx.apart.get(pair, True)
    return False


def _table_of(cx: Context, base: Value) -> Value | None:
    """The table that an address was read from, of those whose entries are known to be apart."""
    op = base.op
    while op is not None and op.name in ("tt.int_to_ptr", "tt.bitcast"):
        op = op.operands[0].op
    if op is None or op.name != "tt.load":
        return None
    table = pointer_base(op.operands[0])
    return table if table in cx.tables else None


def _equal_offsets(a: Value, b: Value, bases: tuple[Value, Value]) -> bool:
    """Whether two pointers are the same steps away from their bases."""
    while (a, b) != bases:
        p, q = a.op, b.op
        if p is None or q is None or p.name != q.name or p.operands[1:] != q.operands[1:]:
            return False
        if re.sub(r"%\w+", "%", p.attrs) != re.sub(r"%\w+", "%", q.attrs):  # they name the operands, too
            return False
        if p.name != "tt.addptr" and p.name not in VIEWS:
            return False
        a, b = p.operands[0], q.operands[0]
    return True


def before_region(cx: Context, op: Op, *, repeats: bool) -> None:
    """Before a branch or a loop: keep what its body would evaluate again and again, or at the wrong time."""
    inner = [o for region in op.regions for o in walk(region)]
    end = inner[-1].pos if inner else op.pos
    outside = [v for o in inner for v in o.operands if _defined_outside(v, op) and v.type.is_tensor]
    outside = [v for v in dict.fromkeys(outside) if v not in cx.buffers]
    if repeats:
        keep = [v for v in outside if cx.cost(v) > 0]
    else:
        shared = [v for v in outside if any(r.pos > end for r in cx.reach.roots(v))]
        keep = [v for v in shared if cx.cost(v) >= EXPENSIVE]
    writes = [o.pos for o in inner if o.name in WRITES]
    if writes:
        loads = [ld.result for ld in cx.pending_loads if any(r.pos > writes[0] for r in cx.reach.roots(ld.result))]
        keep += [v for v in loads if v not in keep]
    materialize(cx, keep)


def _defined_outside(v: Value, op: Op) -> bool:
    block: Block | None = v.op.block if v.op is not None else v.block
    while block is not None:
        if block.parent is op:
            return False
        block = block.parent.block if block.parent is not None else None
    return True


def before_branch(cx: Context, block: Block) -> None:
    """Before the end of a block of a multi-block body: keep what other blocks need and is dear or a load."""
    keep: list[Value] = []
    for op in block.ops:
        if not op.results or not op.result.type.is_tensor or op.name in ROOTS:
            continue
        v = op.result
        abroad = any(enclosing(r, block) is None for r in cx.reach.roots(v))
        if abroad and v not in cx.buffers and (op.name == "tt.load" or cx.cost(v) >= EXPENSIVE):
            keep.append(v)
    materialize(cx, keep)

"""tt.map_elementwise: a function of scalars over the elements of tensors, several at a time where it asks for them."""

from __future__ import annotations

from opweave.codegen.instructions.emit import Buffer
from opweave.codegen.instructions.operands import Operand
from opweave.codegen.triton_cpu.analysis import EXPENSIVE
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.control import scalar_region
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, Lanes
from opweave.codegen.triton_cpu.loops import materialize, nest, outer_loops
from opweave.codegen.triton_cpu.operations import WRITES, operation, root
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.triton.ttir import Op, walk


@root("tt.map_elementwise")
def _map_elementwise(cx: Context, op: Op) -> None:
    """Straight-line functions run on vectors, others element by element."""
    shape, pack, region = op.operands[0].type.dims, op.int_attr("pack"), op.regions[0]
    if any(inner.name in WRITES for inner in walk(region)):
        raise unsupported(op, "a mapped function that writes to memory")
    if pack > 1 and op.operands[0].type.numel % pack:
        raise unsupported(op, f"packs of {pack} elements of a tensor of {op.operands[0].type.numel}")
    materialize(cx, [v for v in op.operands if cx.cost(v) >= EXPENSIVE or pack > 1])
    results = [cx.em.buffer(r.type.dims, r.type.elem) for r in op.results]
    block = region[0]
    if pack == 1 and len(region) == 1 and all(o.results and not o.regions for o in block.ops[:-1]):

        def body(idx: Indices) -> None:
            for arg, v in zip(block.args, op.operands, strict=True):
                cx.scalars[arg] = cx.evaluate(v, idx)
            for inner in block.ops[:-1]:
                rule = operation(inner).lazy
                if rule is not None:
                    cx.scalars[inner.result] = rule(cx, inner.result, ())
                else:
                    cx.scalars[inner.result] = cx.element(inner, [cx.scalars[o] for o in inner.operands])
            for buffer, v in zip(results, block.terminator.operands, strict=True):
                cx.store_buffer(buffer, cx.scalars[v], idx)

        nest(cx, shape, op.operands, [], body)
    else:
        _by_elements(cx, op, pack, results)
    cx.buffers.update(zip(op.results, results, strict=True))


def _by_elements(cx: Context, op: Op, pack: int, results: list[Buffer]) -> None:
    shape = op.operands[0].type.dims

    def call(places: list[Indices]) -> None:
        args: list[Lanes] = []
        for v in op.operands:
            args += [Lanes("uniform", cx.evaluate(v, idx).value, v.type.elem) for idx in places]
        values = scalar_region(cx, op.regions[0], args)
        for k, buffer in enumerate(results):
            for idx, x in zip(places, values[k * pack : (k + 1) * pack], strict=True):
                cx.store_buffer(buffer, x, idx)

    def steps(linear: Operand) -> None:
        with cx.scope():
            call([_unravel(cx, cx.em.add(linear, j), shape) for j in range(pack)])

    with cx.lanes(1):
        if pack == 1:
            outer_loops(cx, shape, range(len(shape)), lambda idx: call([idx]))
        else:
            cx.em.loop(0, op.operands[0].type.numel, pack, steps)


def _unravel(cx: Context, linear: Operand, shape: tuple[int, ...]) -> Indices:
    """The position of an element by its place in row-major order."""
    idx: list[Index] = []
    rest = linear
    for d in reversed(shape):
        if d == 1:
            idx.append(ZERO)
            continue
        at = rest % d if isinstance(rest, int) else cx.em.inst(f"urem i64 {rest}, {d}")
        rest = rest // d if isinstance(rest, int) else cx.em.inst(f"udiv i64 {rest}, {d}")
        idx.append(Index(at, 0, cx.fresh_key("m")))
    return tuple(reversed(idx))

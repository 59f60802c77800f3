"""Views: operations that only say where in the operand an element stands."""

from __future__ import annotations

from opweave.codegen.triton_cpu.lanes import ZERO, Indices
from opweave.codegen.triton_cpu.operations import operation, view
from opweave.registry.triton.ttir import Op


def operand_indices(op: Op, idx: Indices) -> list[Indices]:
    """Where each operand is read to make the result's element at `idx`."""
    through = operation(op).view
    if through is not None:
        return [through(op, idx)]
    return [idx if o.type.is_tensor else () for o in op.operands]


@view("tt.splat")
def _splat(op: Op, idx: Indices) -> Indices:
    return ()


@view("tt.unsplat")
def _unsplat(op: Op, idx: Indices) -> Indices:
    return (ZERO,) * len(op.operands[0].type.dims)


@view("tt.broadcast")
def _broadcast(op: Op, idx: Indices) -> Indices:
    return tuple(ZERO if d == 1 else i for d, i in zip(op.operands[0].type.dims, idx, strict=True))


@view("tt.expand_dims")
def _expand_dims(op: Op, idx: Indices) -> Indices:
    axis = op.int_attr("axis")
    return idx[:axis] + idx[axis + 1 :]


@view("tt.trans")
def _trans(op: Op, idx: Indices) -> Indices:
    order = op.array_attr("order")
    return tuple(idx[order.index(d)] for d in range(len(order)))


@view("tt.reshape")
def _reshape(op: Op, idx: Indices) -> Indices:
    """One that only adds or drops dimensions of one element; others go through a buffer."""
    kept = iter([i for d, i in zip(op.result.type.dims, idx, strict=True) if d > 1])
    return tuple(next(kept) if d > 1 else ZERO for d in op.operands[0].type.dims)

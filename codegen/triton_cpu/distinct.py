"""Whether the lanes of a block of addresses are different places.

A block that is loaded and stored again at the same addresses is computed a step at a time, each step storing what it
has loaded. That is right only if no step loads what another one stores: `x + c[None, :] + 0 * r[:, None]` names each
place in every row.
"""

from __future__ import annotations

from opweave.registry.triton.ttir import Value

_SAME = frozenset(("arith.extsi", "arith.extui", "arith.index_cast", "tt.bitcast", "arith.bitcast"))


def is_distinct(pointers: Value) -> bool:
    """Whether no two lanes of a block of addresses surely are one place; False where that is not known."""
    dims = pointers.type.dims
    steps = _steps(pointers)
    if steps is None:
        return False
    reach = 0
    for step, size in sorted((abs(step), size) for step, size in zip(steps, dims, strict=True) if size > 1):
        if step <= reach:
            return False
        reach += step * (size - 1)
    return True


def _steps(value: Value) -> tuple[int, ...] | None:
    """How far a value goes with each dimension, the others held; None where that is no fixed number."""
    op, dims = value.op, value.type.dims
    if not value.type.is_tensor:
        return ()
    if op is None:
        return None
    if op.name == "tt.make_range":
        return (1,)
    if op.name == "tt.splat" or op.splat is not None:
        return (0,) * len(dims)
    parts = [_steps(operand) for operand in op.operands]
    known = [part for part in parts if part is not None]
    if len(known) != len(parts):
        return None
    if op.name == "tt.expand_dims":
        axis = op.int_attr("axis")
        return (*known[0][:axis], 0, *known[0][axis:])
    if op.name == "tt.broadcast":
        source = op.operands[0].type.dims
        return tuple(0 if size == 1 else step for step, size in zip(known[0], source, strict=True))
    if op.name == "tt.trans":
        return tuple(known[0][d] for d in op.array_attr("order"))
    if op.name in _SAME:
        return known[0]
    if op.name in ("arith.addi", "tt.addptr", "arith.subi"):
        sign = -1 if op.name == "arith.subi" else 1
        return tuple(a + sign * b for a, b in zip(*known, strict=True))
    if op.name == "arith.muli":
        for one, other in ((0, 1), (1, 0)):
            factor = _number(op.operands[one])
            if factor is not None:
                return tuple(step * factor for step in known[other])
    return (0,) * len(dims) if known and not any(map(any, known)) else None


def _number(value: Value) -> int | None:
    """The number that all lanes hold, if it is fixed."""
    while value.op is not None and value.op.name in ("tt.splat", "tt.broadcast", "tt.expand_dims"):
        value = value.op.operands[0]
    return value.op.integer if value.op is not None else None

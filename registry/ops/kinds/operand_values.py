"""What the body of a pointwise op is given for the operands of a call."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry.dtypes import DType
from opweave.registry.ops.kinds.base import Kind
from opweave.registry.promote import result_type
from opweave.registry.scalar import converted
from opweave.registry.tensor import Tensor


def operand_values(decl: Kind, xp: Any, operands: Sequence[Any], compute: DType, device: Any) -> list[Any]:
    """Arrays as they are, before they are converted to the compute type, and numbers."""
    common = narrower_type(decl, operands, compute)
    if common is not None:
        operands = [rounded(o, common) if i in decl.rounds_numbers else o for i, o in enumerate(operands)]
    values = [_operand_value(xp, operand, compute, device) for operand in operands]
    if common is not None:
        for i, operand in enumerate(operands):
            if i in decl.rounds_numbers and isinstance(operand, Tensor) and not operand._sizes:
                values[i] = converted(values[i], common.numpy)
    return values


def narrower_type(decl: Kind, operands: Sequence[Any], compute: DType) -> DType | None:
    """What an op rounds numbers to before it computes; None where it does not, or computes in that type."""
    if not decl.rounds_numbers or compute.kind != "f":
        return None
    common = result_type(*[operand for operand in operands if operand is not None])
    return common if common.kind == "f" and common.itemsize < compute.itemsize else None


def rounded(value: Any, dtype: DType) -> Any:
    """A Python number as an element of a type, if it is not too large for that."""
    if type(value) is not float and (type(value) is not int or abs(value) >= 2**64):
        return value
    with np.errstate(over="ignore"):
        found = float(np.float64(value).astype(dtype.numpy))
    return found if math.isfinite(found) else value


def rounds_tensors(decl: Kind, operands: Sequence[Any], compute: DType) -> bool:
    """Whether there are tensors that are rounded as numbers are."""
    places = [i for i in decl.rounds_numbers if isinstance(operands[i], Tensor) and not operands[i]._sizes]
    common = narrower_type(decl, operands, compute) if places else None
    return common is not None and any(operands[i]._dtype is not common for i in places)


def _operand_value(xp: Any, operand: Any, compute: DType, device: Any) -> Any:
    if isinstance(operand, Tensor):
        return operand._array if operand._device is device else xp.asarray(operand._array)
    if operand is None:
        return None
    if compute.kind == "f" and isinstance(operand, float) or compute.kind == "f" and type(operand) is int:
        return float(operand) if abs(operand) < 2**1000 else xp.asarray(operand, compute.numpy)
    if compute.kind in "iu" and isinstance(operand, int):
        # Out-of-range numbers wrap, as in PyTorch; NumPy would raise.
        bits = compute.itemsize * 8
        wrapped = operand & ((1 << bits) - 1)
        if compute.kind == "i" and wrapped >> (bits - 1):
            wrapped -= 1 << bits
        return xp.asarray(wrapped, compute.numpy)
    return xp.asarray(operand).astype(compute.numpy)

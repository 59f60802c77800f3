"""What derivatives are written with."""

from __future__ import annotations

from typing import Any

from opweave.registry.op import ops
from opweave.registry.tensor import Tensor


def conjugate(value: Any) -> Any:
    """The conjugate of a tensor or number; what is real is returned as it is."""
    if not isinstance(value, Tensor):
        return value.conjugate() if isinstance(value, complex) else value
    return ops.aten.conj_physical.default(value) if value._dtype.is_complex else value


def zeros(grad: Tensor) -> Tensor:
    """The gradient of what is constant nearly everywhere."""
    return ops.aten.zeros_like.default(grad)


def kept(condition: Tensor, grad: Tensor) -> Tensor:
    """The gradient where the condition holds, else 0."""
    return ops.aten.where.self(condition, grad, 0)


def dropped(condition: Tensor, grad: Tensor) -> Tensor:
    """0 where the condition holds, else the gradient."""
    return ops.aten.masked_fill.Scalar(grad, condition, 0)

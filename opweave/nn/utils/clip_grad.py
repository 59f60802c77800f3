"""Gradients kept small, in place."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import ArgumentError, DomainError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor

__all__ = ["clip_grad_norm", "clip_grad_norm_", "clip_grad_value_", "clip_grads_with_norm_", "get_total_norm"]

_ = _surface  # declares the ops
aten = ops.aten
Parameters = Tensor | Iterable[Tensor]


def _listed(parameters: Parameters) -> list[Tensor]:
    if not isinstance(parameters, Iterable):
        raise ArgumentError(
            "clip: expected a tensor, or an iterable of tensors", got=type(parameters).__name__,
            hint="model.parameters()",
        )  # fmt: skip
    return [parameters] if isinstance(parameters, Tensor) else list(parameters)


def _gradients(parameters: Parameters) -> list[Tensor]:
    return [grad.detach() for p in _listed(parameters) if (grad := p.grad) is not None]


def get_total_norm(
    tensors: Parameters, norm_type: float = 2.0, error_if_nonfinite: bool = False, foreach: bool | None = None
) -> Tensor:
    """The norm of several tensors as if they were one vector.

    Raises
    ------
    RuntimeError
        If it is not finite, where `error_if_nonfinite`.

    Examples
    --------
    >>> opweave.nn.utils.get_total_norm([opweave.tensor([3.0]), opweave.tensor([4.0])])
    tensor(5.)
    """
    given = [tensors] if isinstance(tensors, Tensor) else list(tensors)
    if not given:
        return aten.scalar_tensor.default(0.0)
    with no_grad():
        norms = [aten.linalg_vector_norm.default(t, float(norm_type)) for t in given]
        total = aten.linalg_vector_norm.default(aten.stack.default(norms), float(norm_type))
    if error_if_nonfinite and not bool(aten.isfinite.default(total)):
        raise DomainError(
            f"The total norm of order {norm_type} for gradients from `parameters` is non-finite, so it cannot be "
            "clipped. To disable this error and scale the gradients by the non-finite norm anyway, set "
            "`error_if_nonfinite=False`",
            got=f"a norm of {total.item()}", hint="look for parameters whose .grad is not finite",
        )  # fmt: skip
    return total


def clip_grad_norm_(
    parameters: Parameters,
    max_norm: float,
    norm_type: float = 2.0,
    error_if_nonfinite: bool = False,
    foreach: bool | None = None,
) -> Tensor:
    """Scale the gradients of parameters so that their norm, as of one vector, is at most `max_norm`; gives the norm.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Those without gradient do not count.
    max_norm, norm_type : float
        The largest norm, and which.
    error_if_nonfinite : bool
        Refuse a norm that is not finite, which takes a look at it.
    foreach : bool, optional
        For the signature's sake.

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.zeros(2))
    >>> w.grad = opweave.tensor([3.0, 4.0])
    >>> opweave.nn.utils.clip_grad_norm_([w], 1.0), w.grad.norm()
    (tensor(5.), tensor(1.0000))
    """
    given = _listed(parameters)
    total = get_total_norm(_gradients(given), norm_type, error_if_nonfinite)
    clip_grads_with_norm_(given, max_norm, total)
    return total


def clip_grads_with_norm_(
    parameters: Parameters, max_norm: float, total_norm: Tensor, foreach: bool | None = None
) -> None:
    """Scale the gradients of parameters by `max_norm / total_norm`, where that is below 1.

    Parameters
    ----------
    parameters : Tensor or iterable of Tensor
        Those without gradient do not count.
    max_norm : float
        The largest norm.
    total_norm : Tensor
        The norm that they have, as `get_total_norm` gives it.
    foreach : bool, optional
        For the signature's sake.

    Examples
    --------
    >>> p = opweave.ones(1, requires_grad=True)
    >>> (4 * p).sum().backward()
    >>> opweave.nn.utils.clip_grads_with_norm_(p, 1.0, opweave.tensor(4.0))
    >>> p.grad
    tensor([1.0000])
    """
    with no_grad():
        factor = aten.clamp.default(
            aten.mul.Scalar(aten.reciprocal.default(aten.add.Scalar(total_norm, 1e-6)), float(max_norm)), max=1.0
        )
        for grad in _gradients(parameters):
            aten.mul_.Tensor(grad, factor)


def clip_grad_norm(parameters: Parameters, max_norm: float, norm_type: float = 2.0, **options: Any) -> Tensor:
    """`clip_grad_norm_`, by its earlier name.

    Examples
    --------
    >>> opweave.nn.utils.clip_grad_norm([opweave.nn.Parameter(opweave.zeros(2))], 1.0)
    tensor(0.)
    """
    return clip_grad_norm_(parameters, max_norm, norm_type, **options)


def clip_grad_value_(parameters: Parameters, clip_value: float, foreach: bool | None = None) -> None:
    """Limit the elements of gradients to [-clip_value, clip_value].

    Examples
    --------
    >>> w = opweave.nn.Parameter(opweave.zeros(2))
    >>> w.grad = opweave.tensor([3.0, -4.0])
    >>> opweave.nn.utils.clip_grad_value_([w], 1.0)
    >>> w.grad
    tensor([ 1., -1.])
    """
    with no_grad():
        for grad in _gradients(parameters):
            aten.clamp_.default(grad, -float(clip_value), float(clip_value))


def __dir__() -> list[str]:
    return sorted(__all__)

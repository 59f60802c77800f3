"""Optimizers as plain functions: they write pytrees of parameters in place, given gradients and a state.

    state = optim.adam_init(params)

    @opweave.compile
    def step(params, state, x, y):
        grads, loss = opweave.func.grad_and_value(loss_of)(params, x, y)
        optim.adam_(params, grads, state, lr=1e-3)
        return loss

Compiled, the updates of all parameters are one launch (`codegen.groups`), which reads and writes each tensor once. The
state counts steps in a tensor, so a step compiles once; so does a learning rate that changes, given as a 0-d tensor.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import optree

from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten

__all__ = ["AdamState", "SgdState", "adam_", "adam_init", "adamw_", "sgd_", "sgd_init"]


class SgdState(NamedTuple):
    """Of `sgd_`.

    Attributes
    ----------
    velocity : pytree
        As the parameters.

    Examples
    --------
    >>> type(opweave.optim.sgd_init({"w": opweave.ones(2)})).__name__
    'SgdState'
    """

    velocity: Any


class AdamState(NamedTuple):
    """Of `adam_` and `adamw_`.

    Attributes
    ----------
    step : Tensor
        float32, 0-d: how many steps were made.
    mean, square : pytree
        Running means of the gradients and of their squares, as the parameters.

    Examples
    --------
    >>> state = opweave.optim.adam_init({"w": opweave.ones(2)})
    >>> state.step
    tensor(0.)
    """

    step: Tensor
    mean: Any
    square: Any


def sgd_init(params: Any) -> SgdState:
    """The state of `sgd` before the first step: no momentum.

    Examples
    --------
    >>> state = opweave.optim.sgd_init({"w": opweave.ones(2)})
    >>> type(state).__name__
    'SgdState'
    """
    return SgdState(optree.tree_map(aten.zeros_like.default, params))


def adam_init(params: Any) -> AdamState:
    """The state of `adam` before the first step: moments of zeros.

    Examples
    --------
    >>> state = opweave.optim.adam_init({"w": opweave.ones(2)})
    >>> type(state).__name__
    'AdamState'
    """
    leaves = optree.tree_leaves(params)
    device = leaves[0].device if leaves else None
    step = aten.zeros.default([], device=device)
    zeros = [optree.tree_map(aten.zeros_like.default, params) for _ in range(2)]
    return AdamState(step, *zeros)


def sgd_(
    params: Any,
    grads: Any,
    state: SgdState | None = None,
    *,
    lr: float | Tensor,
    momentum: float = 0.0,
    dampening: float = 0.0,
    weight_decay: float = 0.0,
    nesterov: bool = False,
) -> None:
    """One step of gradient descent, in place.

    Parameters
    ----------
    params, grads : pytree of Tensor
        Of one structure; a gradient of None leaves its parameter as it is.
    state : SgdState, optional
        Needed with a momentum; written in place. It starts from zeros, so the first velocity is
        ``(1 - dampening) * grad``.
    lr : float or Tensor
        Learning rate.
    momentum, dampening, weight_decay, nesterov
        As of `torch.optim.SGD`.

    Raises
    ------
    ArgumentError
        If the pytrees do not fit together, or a momentum has no state.

    Examples
    --------
    >>> params = {"w": opweave.ones(2)}
    >>> state = opweave.optim.sgd_init(params)
    >>> opweave.optim.sgd_(params, {"w": opweave.ones(2)}, state, lr=0.5)
    >>> params["w"]
    tensor([0.5000, 0.5000])
    """
    if momentum and state is None:
        raise ArgumentError("sgd_: a momentum needs a state", hint="state = sgd_init(params)")
    velocities = state.velocity if state is not None and momentum else params
    with no_grad():
        for p, g, v in _together("sgd_", params, grads, velocities):
            if weight_decay:
                g = g + p * weight_decay
            if momentum:
                v.mul_(momentum).add_(g, alpha=1 - dampening)
                g = g + v * momentum if nesterov else v
            p.sub_(g * lr)


def adam_(
    params: Any,
    grads: Any,
    state: AdamState,
    *,
    lr: float | Tensor = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 0.0,
) -> None:
    """One step of Adam, in place; weight decay is added to the gradient.

    Parameters
    ----------
    params, grads : pytree of Tensor
        Of one structure; a gradient of None leaves its parameter as it is.
    state : AdamState
        From `adam_init`; written in place.
    lr : float or Tensor
        Learning rate.
    betas, eps, weight_decay
        As of `torch.optim.Adam`.

    Raises
    ------
    ArgumentError
        If the pytrees do not fit together.

    Examples
    --------
    >>> params = {"w": opweave.ones(2)}
    >>> state = opweave.optim.adam_init(params)
    >>> opweave.optim.adam_(params, {"w": opweave.ones(2)}, state, lr=0.1)
    >>> params["w"]
    tensor([0.9000, 0.9000])
    """
    _adam("adam_", params, grads, state, lr, betas, eps, weight_decay, decoupled=False)


def adamw_(
    params: Any,
    grads: Any,
    state: AdamState,
    *,
    lr: float | Tensor = 1e-3,
    betas: tuple[float, float] = (0.9, 0.999),
    eps: float = 1e-8,
    weight_decay: float = 1e-2,
) -> None:
    """One step of AdamW, in place; weights decay by themselves. See `adam_`.

    Examples
    --------
    >>> params = {"w": opweave.ones(2)}
    >>> state = opweave.optim.adam_init(params)
    >>> opweave.optim.adamw_(params, {"w": opweave.ones(2)}, state, lr=0.1)
    >>> bool((params["w"] < 1).all())
    True
    """
    _adam("adamw_", params, grads, state, lr, betas, eps, weight_decay, decoupled=True)


def _adam(
    name: str,
    params: Any,
    grads: Any,
    state: AdamState,
    lr: float | Tensor,
    betas: tuple[float, float],
    eps: float,
    weight_decay: float,
    *,
    decoupled: bool,
) -> None:
    first, second = betas
    with no_grad():
        state.step.add_(1)
        # Of Kingma & Ba, "Adam", 2015: the running means start from zero, which these make up for.
        rate = lr / (1 - first**state.step)
        root = (1 - second**state.step).sqrt()
        for p, g, m, s in _together(name, params, grads, state.mean, state.square):
            if weight_decay and decoupled:
                p.mul_(1 - lr * weight_decay)
            elif weight_decay:
                g = g + p * weight_decay
            m.mul_(first).add_(g, alpha=1 - first)
            s.mul_(second).add_(g * g, alpha=1 - second)
            p.sub_(rate * m / (s.sqrt() / root + eps))


def _together(name: str, params: Any, grads: Any, *others: Any) -> list[tuple[Any, ...]]:
    """The leaves of several pytrees side by side; those without a gradient are left out."""
    leaves, spec = optree.tree_flatten(params)
    rows = [leaves]
    for tree in (grads, *others):
        found, other = optree.tree_flatten(tree, none_is_leaf=True)
        if len(found) != len(leaves):
            raise ArgumentError(
                f"{name}: parameters, gradients and state must have one structure",
                got=f"{spec} and {other}",
                hint="state = adam_init(params), and gradients as opweave.func.grad gives them",
            )
        rows.append(found)
    for p, g in zip(rows[0], rows[1], strict=True):
        if g is not None and g.shape != p.shape:
            raise ArgumentError(f"{name}: a gradient has another shape", got=f"{describe(g)} of {describe(p)}")
    return [row for row in zip(*rows, strict=True) if row[1] is not None]


def __dir__() -> list[str]:
    return sorted(__all__)

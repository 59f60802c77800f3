"""Thirty functions that are no single graph, and how often each breaks in a call; tests and a benchmark run them.

Each takes two tensors of float64, one of which requires grad, and a list to note things in.
"""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import opweave
from opweave import nn
from opweave.nn import functional

Tensor = opweave.Tensor
CASES: list[tuple[Callable[..., Any], int]] = []
_counter = {"calls": 0}
_total = 0.0


def breaks(times: int) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Add a function that breaks so often."""

    def add(function: Callable[..., Any]) -> Callable[..., Any]:
        CASES.append((function, times))
        return function

    return add


@breaks(1)
def prints(x, w, notes):
    y = (x * w).tanh()
    print(f"the sum is {y.sum():.6f}")
    return y.relu() + 1


@breaks(1)
def float_of_a_mean(x, w, notes):
    y = x * w + 1
    scale = float(y.mean())
    return (y * scale).sin()


@breaks(1)
def branch(x, w, notes):
    y = x * w
    if y.sum() > 0:
        return y.exp().clamp(max=5)
    return y.cos() - 1


@breaks(1)
def branch_on_both_sides(x, w, notes):
    y = (x * w).sigmoid()
    z = y * 2 if bool((x > 0).any()) else y * 3
    return z.sqrt(), y


@breaks(1)
def item_in_a_list(x, w, notes):
    loss = ((x * w - 1) ** 2).mean()
    notes.append(loss.item())
    return loss


@breaks(1)
def to_a_list(x, w, notes):
    rows = (x * 2).sum(1).tolist()
    return w * max(rows)


@breaks(1)
def to_an_array(x, w, notes):
    y = x * 3
    array = y.detach().numpy()
    notes.append(float(np.median(array)))
    return w + y.sum()


@breaks(1)
def array_that_is_written(x, w, notes):
    y = x * 3
    y.detach().numpy()[0] = 7
    return y * w


@breaks(1)
def steps_of_a_loop(x, w, notes):
    y = x
    for _ in range(int((x > 0).sum()) % 4):
        y = y * w + 1
    return y


@breaks(3)
def until_it_is_small(x, w, notes):
    y = (x * w).abs() + 2
    y = y / y.max() * 6
    while float(y.max()) > 2:
        y = y / 2
        notes.append("halved")
    return y


@breaks(1)
def rows_that_are_left(x, w, notes):
    kept = (x * w).sum(1) > 0
    total = w.sum()
    for i in kept.nonzero().reshape(-1).tolist():
        total = total + (w[i] * x[i]).sum()
    return total


@breaks(2)
def chosen_elements(x, w, notes):
    y = x * 2
    chosen = y[y > 0] * 3
    notes.append([float(t) for t in chosen[:2]])
    return chosen.sum() + w.sum()


@breaks(1)
def changes_a_dict(x, w, notes):
    _counter["calls"] += 1
    y = x * w * _counter["calls"]
    notes.append(float(y.sum()))
    return y + 1


@breaks(1)
def changes_a_global(x, w, notes):
    global _total
    _total = float((x + 1).sum())
    return w * _total


@breaks(1)
def writes_its_input(x, w, notes):
    x.mul_(2)
    notes.append(float(x.sum()))
    x[0] += 1
    return x * w


@breaks(1)
def writes_a_view(x, w, notes):
    y = x * 1
    row = y[0]
    row.zero_()
    notes.append(float(y.sum()))
    row.add_(5)
    return y * w, row


@breaks(1)
def views_of_what_was_computed_before(x, w, notes):
    y = x * w
    left, right = y.t().chunk(2)
    if y.sum() > 100:
        left = left * 2
    return left + right, y


@breaks(2)
def two_numbers(x, w, notes):
    low, high = float(x.min()), float(x.max())
    return (w - low) / (high - low + 1)


@breaks(2)
def tries(x, w, notes):
    y = x * w
    try:
        y.view(1000)
    except Exception as error:
        notes.append(type(error).__name__)
    notes.append(float(y.sum()))
    return y.exp()


@breaks(1)
def raises_and_goes_on(x, w, notes):
    y = x.abs() + w
    try:
        if y.sum() > -1e9:
            raise ValueError("on purpose")
    except ValueError:
        notes.append("caught")
    return y * 2


@breaks(1)
def without_gradients(x, w, notes):
    with opweave.no_grad():
        scale = (x * w).norm()
        notes.append(scale.item())
    return w / scale


@breaks(1)
def under_autocast(x, w, notes):
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        y = opweave.mm(x.float(), w.float().t())
    notes.append(str(y.dtype))
    notes.append(bool(y.isnan().any()))
    return y.double().sum() * 0 + w.sum()


@breaks(1)
def over_a_batch(x, w, notes):
    y = opweave.vmap(lambda row, weights: (row * weights).sum())(x, w)
    notes.append(y.tolist())
    return y * 2


@breaks(2)
def draws(x, w, notes):
    y = x + opweave.rand_like(x)
    notes.append(float(y.sum()))
    return functional.dropout(y * w, 0.5)


@breaks(1)
def seeds(x, w, notes):
    opweave.manual_seed(4)
    y = opweave.rand(3, dtype=opweave.float64) + x.sum()
    notes.append(float(y[0]))
    return y * w.mean() + opweave.rand(3, dtype=opweave.float64)


def _inner(t: Tensor, notes: list[Any]) -> Tensor:
    u = t.tanh()
    notes.append(float(u.sum()))
    return u * 2


@breaks(2)
def calls_others(x, w, notes):
    return _inner(_inner(x * w, notes) + 1, notes).cos()


class Square(opweave.autograd.Function):
    """A square whose backward looks at data."""

    @staticmethod
    def forward(ctx: Any, t: Tensor) -> Tensor:
        ctx.save_for_backward(t)
        return t * t

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        (grad,) = grad_outputs
        (t,) = ctx.saved_tensors
        return grad * t * (2 if float(grad.abs().sum()) >= 0 else 3)


@breaks(1)
def custom_function(x, w, notes):
    y = Square.apply(x * w)
    notes.append(float(y.sum()))
    return y + 1


@breaks(1)
def gradients_inside(x, w, notes):
    grad: Any = opweave.autograd.grad(((w * x) ** 2).sum(), w)[0]
    notes.append(float(grad.norm()))
    return w - 0.1 * grad


_module = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4)).double()
_parameters: list[Any] = [*_module.parameters()]
for _i, _p in enumerate(_parameters):
    _p.data = (opweave.arange(_p.numel()).reshape(_p.shape) % 5 - 2).double() / 4 + _i


@breaks(1)
def module_with_buffers(x, w, notes):
    y = _module(x * w)
    logging.getLogger("tests.parts").info("mean %s", y.mean())
    notes.append(_module[1].num_batches_tracked.item())
    return y.relu()


@breaks(1)
def warns_and_computes(x, w, notes):
    y = (x * w).sum()
    if not math.isfinite(float(y)):
        warnings.warn("not finite", stacklevel=2)
    return y * w

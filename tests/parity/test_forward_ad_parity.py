"""`opweave.autograd.forward_ad` against PyTorch's: values and tangents, of views and writes too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import torch.autograd.forward_ad as theirs
from oracle import close

import opweave
import opweave.autograd.forward_ad as ours

Case = Callable[[Any, Any], Any]
_RNG = np.random.default_rng(7)
X, V, W = (_RNG.standard_normal(shape) for shape in ((3, 4), (3, 4), (4, 3)))


def _rows(lib: Any, d: Any) -> Any:
    y = lib.zeros(3, 4, dtype=lib.float64)
    last = y[2]
    y[0] = d[1]
    y[1].mul_(3)
    last.add_(d[0])
    return y * y


def _shared(lib: Any, d: Any) -> Any:
    y = d.clone()
    part = y[:, 1:]
    y.mul_(2)
    part.add_(y[:, :3].clone())
    y.t_()
    return y.sin()


def _parts(lib: Any, d: Any) -> Any:
    y = d.clone()
    first, rest = y[:2], y[2:]
    first.mul_(2)
    rest.copy_(rest.exp())
    y.view(12)[3:5].zero_()
    y[:, 1] = 5
    y[y > 4] = d[y > 4]
    y.unsqueeze_(0)
    return y * y


def _through_a_function(lib: Any, d: Any) -> Any:
    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(ctx: Any, x: Any) -> Any:
            ctx.x = x
            return x * x * x

        @staticmethod
        def backward(ctx: Any, grad: Any) -> Any:
            return 3 * ctx.x * ctx.x * grad

        @staticmethod
        def jvp(ctx: Any, v: Any) -> Any:
            return 3 * ctx.x * ctx.x * v

    return Cube.apply(d)


CASES: dict[str, Case] = {
    "product": lambda lib, d: d * d + d,
    "matmul": lambda lib, d: d @ lib.from_numpy(W),
    "linear": lambda lib, d: lib.nn.functional.linear(d, lib.from_numpy(W.T.copy())),
    "softmax": lambda lib, d: lib.softmax(d, -1),
    "view": lambda lib, d: d.t().reshape(-1)[2:].exp(),
    "cat": lambda lib, d: lib.cat([d, d * 2], 0),
    "split": lambda lib, d: d.split(2, 1)[1],
    "max": lambda lib, d: d.max(1).values,
    "sort": lambda lib, d: d.sort(1)[0],
    "layer_norm": lambda lib, d: lib.nn.functional.layer_norm(d, (4,)),
    "attention": lambda lib, d: lib.nn.functional.scaled_dot_product_attention(d[None], d[None], d[None]),
    "einsum": lambda lib, d: lib.einsum("ij,kj->ik", d, d),
    "cross_entropy": lambda lib, d: lib.nn.functional.cross_entropy(d, lib.tensor([0, 1, 2])),
    "index": lambda lib, d: d[lib.tensor([0, 2])],
    "scatter": lambda lib, d: lib.zeros(3, 4, dtype=lib.float64).scatter_(1, lib.tensor([[0, 1, 2, 3]] * 3), d),
    "complex": lambda lib, d: lib.complex(d, d * 2).abs(),
    "svd": lambda lib, d: lib.linalg.svdvals(d),
    "cast": lambda lib, d: d.float().double(),
    "floor": lambda lib, d: d.floor(),
    "detach": lambda lib, d: d.detach(),
    "zeros": lambda lib, d: lib.zeros_like(d),
    "zero": lambda lib, d: d.clone().zero_(),
    "no_grad": lambda lib, d: lib.no_grad()(lambda: d * d)(),
    "batch": lambda lib, d: lib.func.vmap(lambda row: row * row.sum())(d),
    "first write": lambda lib, d: lib.ones(3, 4, dtype=lib.float64).add_(d),
    "relu_": lambda lib, d: lib.nn.functional.relu(d, inplace=True),
    "rows": _rows,
    "shared memory": _shared,
    "Function": _through_a_function,
    "batch norm": lambda lib, d: lib.nn.BatchNorm1d(4).double()(d),
    "instance norm": lambda lib, d: lib.nn.InstanceNorm1d(3, track_running_stats=True).double()(d[None]),
    "parts": _parts,
    "number": lambda lib, d: d.sum().item() * d,
}


def _run(lib: Any, forward: Any, fn: Case) -> tuple[Any, Any]:
    with forward.dual_level():
        primal, tangent = forward.unpack_dual(fn(lib, forward.make_dual(lib.from_numpy(X.copy()), lib.from_numpy(V))))
        return tuple(None if t is None else t.detach().numpy().copy() for t in (primal, tangent))


@pytest.mark.parametrize("name", CASES)
def test_values_and_tangents(name: str) -> None:
    (value, tangent), (expected, along) = _run(opweave, ours, CASES[name]), _run(torch, theirs, CASES[name])
    close(value, expected, "func")
    assert (tangent is None) == (along is None)
    if tangent is not None:
        close(tangent, along, "func")


def test_tangents_have_gradients() -> None:
    def run(lib: Any, forward: Any) -> list[Any]:
        x, v = lib.from_numpy(X.copy()).requires_grad_(), lib.from_numpy(V.copy()).requires_grad_()
        with forward.dual_level():
            dual = forward.make_dual(x, v)
            tangent = forward.unpack_dual((dual.sin() * dual).sum()).tangent
            return [t.numpy() for t in lib.autograd.grad(tangent, (x, v))]

    for found, expected in zip(run(opweave, ours), run(torch, theirs), strict=True):
        close(found, expected, "func")


def _nested(lib: Any, forward: Any) -> None:
    with forward.dual_level():
        pass


ERRORS: dict[str, Callable[[Any, Any, Any], Any]] = {
    "sizes": lambda lib, forward, x: forward.make_dual(x, lib.ones(2)),
    "whole numbers": lambda lib, forward, x: forward.make_dual(lib.ones(3, dtype=lib.int64), x),
    "whole tangent": lambda lib, forward, x: forward.make_dual(x, lib.ones(3, dtype=lib.int64)),
    "dual primal": lambda lib, forward, x: forward.make_dual(forward.make_dual(x, x), x),
    "dual tangent": lambda lib, forward, x: forward.make_dual(x, forward.make_dual(x, x)),
    "level in a level": lambda lib, forward, x: _nested(lib, forward),
    "another level": lambda lib, forward, x: forward.exit_dual_level(level=3),
    "out": lambda lib, forward, x: lib.add(forward.make_dual(x, x), 1, out=lib.empty(3)),
}


@pytest.mark.parametrize("name", ERRORS)
def test_what_is_refused(name: str) -> None:
    with theirs.dual_level(), pytest.raises(Exception) as info:  # noqa: PT011  # its class is what ours is held against
        ERRORS[name](torch, theirs, torch.ones(3))
    with ours.dual_level(), pytest.raises(info.type):
        ERRORS[name](opweave, ours, opweave.ones(3))


def test_outside_of_levels() -> None:
    for lib, forward in ((torch, theirs), (opweave, ours)):
        x = lib.ones(2)
        with pytest.raises(RuntimeError, match="level"):
            forward.make_dual(x, x)
        assert forward.unpack_dual(x).tangent is None
        with forward.dual_level():
            dual = forward.make_dual(x, x)
        assert forward.unpack_dual(dual).tangent is None
        with pytest.raises(RuntimeError):
            forward.exit_dual_level()

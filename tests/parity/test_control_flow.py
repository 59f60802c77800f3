"""Control flow against PyTorch: results and gradients."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import optree
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from oracle import close
from torch._higher_order_ops import associative_scan as torch_associative_scan, scan as torch_scan
from torch._higher_order_ops.map import map as torch_map

import opweave

Case = Callable[[Any, list[Any]], Any]
_CASES: list[Case] = []


class _Torch:
    """PyTorch's functions under one roof."""

    cond, while_loop = staticmethod(torch.cond), staticmethod(torch._higher_order_ops.while_loop)
    scan, map = staticmethod(torch_scan), staticmethod(torch_map)
    associative_scan = staticmethod(torch_associative_scan)

    def __getattr__(self, name: str) -> Any:
        return getattr(torch, name)


def case(fn: Case) -> Case:
    """A function of (the library, inputs) that both libraries must agree on."""
    _CASES.append(fn)
    return fn


def _inputs() -> list[Any]:
    rng = np.random.default_rng(11)
    return [rng.uniform(-1.5, 1.5, shape) for shape in [(4,), (3, 4), (5, 4), (4,), (4, 3)]]


@case
def cond_true(m, v):
    return m.cond((v[0] ** 2).sum() > 0, lambda x, w: x.cos() * w, lambda x, w: x.sin() - w, (v[0], v[3]))


@case
def cond_false(m, v):
    return m.cond((v[0] ** 2).sum() < 0, lambda x, w: x.cos() * w, lambda x, w: x.sin() - w, (v[0], v[3]))


@case
def cond_of_pytrees(m, v):
    def true_fn(d, x):
        return {"a": (d["x"] * x, d["y"].sum()), "b": [x * 2]}

    def false_fn(d, x):
        return {"a": (d["x"] + x, d["y"].mean()), "b": [x * 3]}

    d = {"x": v[0], "y": v[1]}
    return m.cond(v[0][0] > v[0][1], true_fn, false_fn, (d, v[3])), m.cond(
        v[0][0] <= v[0][1], true_fn, false_fn, (d, v[3])
    )


@case
def cond_with_closures(m, v):
    w = v[1].sum(0)
    return m.cond(v[0].max() > 0, lambda x: x * w, lambda x: x - w, (v[0],))


@case
def nested_cond(m, v):
    def inner(x):
        return m.cond(x.max() > 100, lambda x: x * 2, lambda x: x * v[3], (x,))

    return m.cond((v[0] ** 2).sum() > 0, inner, lambda x: x.sin(), (v[0],))


@case
def scan_over_rows(m, v):
    return m.scan(lambda c, x: (c * x + 1, (c * 2).sin() * x), v[0], v[2])


@case
def scan_reversed_over_columns(m, v):
    return m.scan(lambda c, x: (c + x * c, (c.sum() * x)), v[1].sum(1), v[1], dim=1, reverse=True)


@case
def scan_of_pytrees(m, v):
    def step(carry, x):
        return {"h": (carry["h"] * x[0]).tanh(), "n": carry["n"] + x[1]}, (carry["h"] + x[0], carry["n"] * 2)

    return m.scan(step, {"h": v[0], "n": v[0].sum()}, (v[2], v[2].sum(1)))


@case
def scan_with_negative_dim(m, v):
    return m.scan(lambda c, x: (c + x, c - x), v[1].sum(1), v[1], dim=-1)


@case
def scan_with_results_of_fewer_dimensions(m, v):
    return m.scan(lambda c, x: (c + x, x.sum()), v[1].sum(1), v[1], dim=1)


@case
def map_over_rows(m, v):
    return m.map(lambda x, w: (x * w).cumsum(0), v[2], v[3])


@case
def map_of_pytrees(m, v):
    return m.map(lambda d, w: {"y": d["a"] @ w, "z": (d["b"] * 1).sum()}, {"a": v[2], "b": v[2] * 2}, v[4])


@case
def associative_sum(m, v):
    return m.associative_scan(lambda a, b: a + b, v[2], 0, combine_mode="generic")


@case
def associative_scan_reversed(m, v):
    return m.associative_scan(lambda a, b: a * b, v[1], -1, reverse=True, combine_mode="generic")


@case
def associative_recurrence(m, v):
    def combine(a, b):
        return a[0] * b[0], a[1] * b[0] + b[1]

    return m.associative_scan(combine, (v[2], v[2] * 0.5), 0, combine_mode="generic")


def _flat(value: Any) -> list[Any]:
    return list(optree.tree_leaves(value))


@contextmanager
def _quietly() -> Iterator[None]:
    """PyTorch's compiler, which its control flow goes through, warns of what it deprecates itself."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _run(m: Any, make: Callable[[Any], Any], fn: Case, grad: Any) -> tuple[list[Any], list[Any]]:
    inputs = [make(value) for value in _inputs()]
    results = _flat(fn(m, inputs))
    loss = sum(((r * r).sum() + r.sum() for r in results[1:]), (results[0] * results[0]).sum() + results[0].sum())
    return results, list(grad(loss, inputs, allow_unused=True))


@pytest.mark.parametrize("fn", _CASES, ids=lambda fn: fn.__name__)
def test_results_and_gradients_are_those_of_pytorch(fn):
    with _quietly():
        want, want_grads = _run(_Torch(), lambda a: torch.tensor(a, requires_grad=True), fn, torch.autograd.grad)
    got, grads = _run(opweave, lambda a: opweave.tensor(a, requires_grad=True), fn, opweave.autograd.grad)
    assert len(got) == len(want)
    for a, b in zip(got, want, strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        close(a.detach().numpy(), b.detach().numpy(), "control flow")
    for a, b in zip(grads, want_grads, strict=True):
        assert b is None or a is not None or left_out("cond, operands of the branch that did not run")
        left, right = (np.zeros(1) if g is None else g.numpy() for g in (a, b))
        close(*np.broadcast_arrays(left, right), "control flow, gradients")


def _collatz(m: Any, n: Any) -> Any:
    def body(n, steps):
        return m.where(n % 2 == 0, n // 2, 3 * n + 1), steps + 1

    return m.while_loop(lambda n, steps: n > 1, body, (n, n * 0))[1]


@pytest.mark.parametrize("n", [1, 6, 27])
def test_while_loop_runs_as_often_as_in_pytorch(n):
    with torch.no_grad(), _quietly():
        want = _collatz(_Torch(), torch.tensor(n)).item()
    assert _collatz(opweave, opweave.tensor(n)).item() == want
    assert opweave.compile(lambda n: _collatz(opweave, n))(opweave.tensor(n)).item() == want


def test_vmap_of_cond_is_that_of_pytorch():
    def f(m):
        return lambda x: m.cond(x.sum() > 0, lambda x: x.cos(), lambda x: x.sin() * 2, (x,))

    x = np.random.default_rng(3).normal(size=(6, 3))
    want = np.where(x.sum(1, keepdims=True) > 0, np.cos(x), np.sin(x) * 2)
    close(opweave.vmap(f(opweave))(opweave.from_numpy(x)).numpy(), want, "vmap of cond")
    close(torch.vmap(f(_Torch()))(torch.tensor(x)).numpy(), want, "vmap of cond")


@pytest.mark.parametrize("steps", [0, 1, 4])
def test_gradients_of_a_traced_while_loop(steps: int) -> None:
    def loss(lib: Any, loop: Callable[..., Any], x: Any, w: Any, n: Any) -> Any:
        def body(i: Any, y: Any) -> Any:
            return i + 1, (y @ w).tanh() + x

        return (loop(lambda i, y: i < n, body, (n * 0, x * 1))[1] ** 2).sum()

    def python_loop(going: Any, body: Any, carry: Any) -> Any:
        while bool(going(*carry)):
            carry = body(*carry)
        return carry

    draw = np.random.default_rng(0)
    values = [draw.normal(size=(3, 4)), draw.normal(size=(4, 4))]
    leaves = [torch.tensor(value, requires_grad=True) for value in values]
    loss(torch, python_loop, *leaves, torch.tensor(steps)).backward()
    expected = [np.zeros(t.shape) if t.grad is None else t.grad.numpy() for t in leaves]
    given = [*map(opweave.from_numpy, values), opweave.tensor(steps)]
    gradient = opweave.func.grad(lambda x, w, n: loss(opweave, opweave.while_loop, x, w, n), argnums=(0, 1))
    traced = opweave.make_fx(gradient, tracing_mode="symbolic")(*given)
    for run in (gradient, traced, opweave.compile(gradient)):
        for found, wanted in zip(run(*given), expected, strict=True):
            close(found.numpy(), wanted, "control flow in float64")


@pytest.mark.parametrize("value", [True, 3, 0, 0.5, float("nan"), [[-1.0]], [[False]]])
def test_predicates(value: Any) -> None:
    x = np.arange(3.0)
    pred = opweave.tensor(value)
    expected = torch.sin(torch.tensor(x)) if torch.tensor(value) else torch.cos(torch.tensor(x))
    f = lambda p, x: opweave.cond(p, opweave.sin, opweave.cos, (x,))  # noqa: E731
    given = opweave.from_numpy(x)
    for run in (f, opweave.make_fx(f, tracing_mode="fake")(pred, given), opweave.compile(f)):
        close(run(pred, given).numpy(), expected.numpy(), "control flow in float64")

"""Ops on complex numbers: at zero, at infinities, of large tensors, and their gradients, against PyTorch."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import agree, compare, to_torch

import opweave as ow
from opweave.registry.tensor import Tensor, from_numpy


def drawn(*sizes: int, seed: int = 0) -> Tensor:
    rng = np.random.default_rng([seed, *sizes])
    return from_numpy(np.array(rng.normal(size=sizes) + 1j * rng.normal(size=sizes)))


@pytest.mark.parametrize("name", ["var", "std", "var_mean", "std_mean"])
def test_moments(name: str) -> None:
    for options in ({}, {"dim": 1}, {"dim": [0], "keepdim": True}, {"dim": [0, 1], "correction": 0}):
        assert agree(lambda m, x: getattr(m, name)(x, **options), drawn(3, 4), difference="complex", order=2)  # noqa: B023
    assert agree(lambda m, x: getattr(m, name)(x, 0), drawn(300, 400), difference="complex", order=0)
    assert agree(lambda m, x: getattr(m, name)(x, correction=0), drawn(), difference="complex", order=1)


@pytest.mark.parametrize("order", [0, 0.5, 1, 1.5, 2, 3, -1, math.inf, -math.inf])
def test_norms(order: float) -> None:
    for dim in (None, [1], [0, 1]):
        assert agree(
            lambda m, x: m.ops.aten.linalg_vector_norm(x, order, dim), drawn(3, 4), difference="complex",  # noqa: B023
            order=2 if order else 0,
        )  # fmt: skip
    if order >= 0:
        zeros = from_numpy(np.where(np.arange(12).reshape(3, 4) < 6, 0, drawn(3, 4).numpy()))
        assert agree(
            lambda m, x: m.ops.aten.linalg_vector_norm(x, order, [1]),
            zeros,
            difference="complex",
            order=1 if order else 0,
        )


@pytest.mark.parametrize(("source", "dtype"), list(itertools.product(["float32", "float64", "complex64", "complex128"],
                                                                ["float32", "float64", "complex64"])))  # fmt: skip
def test_types_of_norms(source: str, dtype: str) -> None:
    x = (
        drawn(3, 4).to(getattr(ow, source))
        if source.startswith("complex")
        else drawn(3, 4).real.to(getattr(ow, source))
    )
    taken = agree(
        lambda m, x: m.ops.aten.linalg_vector_norm(x, 2, [1], dtype=getattr(m, dtype)), x, difference="complex", order=0
    )
    assert taken == ((source, dtype) in {
        ("float32", "float32"), ("float32", "float64"), ("float64", "float64"), ("complex64", "complex64"),
    })  # fmt: skip


def test_sums_of_exponentials() -> None:
    for dim in (0, 1, [0, 1]):
        assert agree(lambda m, x: m.logsumexp(x, dim), drawn(3, 4), difference="complex", order=2)  # noqa: B023
    least, most = complex(-math.inf, 1), complex(math.inf, 1)
    for values in ([least, complex(-math.inf, 2)], [most, complex(1, 2)], [least, 1j], [complex(math.nan, 0), 1]):
        assert agree(lambda m, x: m.logsumexp(x, 0), from_numpy(np.array(values)), difference="complex", order=0)
    assert agree(lambda m, x, y: m.logaddexp(x, y), drawn(3, 4), drawn(4, seed=1), difference="complex", order=2)
    assert agree(
        lambda m, x, y: m.logaddexp(x, y), drawn(300, 400), drawn(300, 400, seed=1), difference="complex", order=0
    )


def test_sums_of_exponentials_of_special_numbers() -> None:
    reals, imaginary = (0.0, -1.0, math.inf, -math.inf, math.nan, 1000.0, -1000.0), (0.0, 2.0, math.inf, math.nan)
    values = np.array([complex(a, b) for a in reals for b in imaginary])
    x, y = (from_numpy(np.ascontiguousarray(v).reshape(-1)) for v in np.broadcast_arrays(values[:, None], values))
    compare(ow.logaddexp(x, y), torch.logaddexp(to_torch(x), to_torch(y)), "logaddexp")


@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_replaced_numbers(dtype: str) -> None:
    parts = (1.0, -0.0, math.nan, math.inf, -math.inf)
    values = np.array([complex(a, b) for a in parts for b in parts]).astype(dtype)
    for x in (from_numpy(values), from_numpy(np.resize(values, (400, 300))).t()):
        for options in ((), (1.0, 2.0, -3.0), (None, 7.0)):
            compare(ow.nan_to_num(x, *options), torch.nan_to_num(to_torch(x), *options), options)
    # PyTorch has no gradient of it: each part has that of a real number.
    x = from_numpy(values.astype("complex128")).requires_grad_()
    (grad,) = ow.autograd.grad([ow.nan_to_num(x)], [x], [from_numpy(np.full(values.shape, 2 + 3j))])
    np.testing.assert_array_equal(grad.numpy(), 2 * np.isfinite(values.real) + 3j * np.isfinite(values.imag))


@pytest.mark.parametrize("name", ["sigmoid_backward", "tanh_backward", "silu_backward"])
def test_gradients_of_activations(name: str) -> None:
    order = 0 if name == "silu_backward" else 2  # of which PyTorch has no derivative
    for sizes in ((3, 4), (300, 400)):
        assert agree(
            lambda m, g, x: getattr(m.ops.aten, name)(g, x), drawn(*sizes), drawn(*sizes, seed=1), difference="complex",
            order=order if sizes == (3, 4) else 0,
        )  # fmt: skip
    function = name.removesuffix("_backward")
    if order:
        assert agree(lambda m, x: getattr(m, function)(x), drawn(3, 4), difference="complex", order=2)


def test_rms_norm() -> None:
    for dims in ([4], [3, 4]):
        weight = drawn(*dims, seed=1)
        assert agree(lambda m, x, w: m.ops.aten.rms_norm(x, dims, w), drawn(2, 3, 4), weight, difference="complex")  # noqa: B023
        assert agree(lambda m, x: m.ops.aten.rms_norm(x, dims, eps=0.1), drawn(2, 3, 4), difference="complex")  # noqa: B023


CASES: dict[str, Any] = {
    "var": lambda m, x: m.var(x, 1),
    "std": lambda m, x: m.std(x, 0),
    "var_mean": lambda m, x: m.var_mean(x, 1)[1],
    "logsumexp": lambda m, x: m.logsumexp(x, 1),
    "norm": lambda m, x: m.ops.aten.linalg_vector_norm(x, 3, [1]),
    "rms_norm": lambda m, x: m.ops.aten.rms_norm(x, [4]),
    "logaddexp": lambda m, x: m.logaddexp(x, x * 2),
    "sigmoid": lambda m, x: m.sigmoid(x),
    "tanh": lambda m, x: m.tanh(x),
}


@pytest.mark.parametrize("name", CASES)
def test_compiled(name: str) -> None:
    run = ow.compile(lambda x: CASES[name](ow, x))
    assert agree(lambda m, x: run(x) if m is ow else CASES[name](m, x), drawn(3, 4), difference="complex")

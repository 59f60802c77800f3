"""Fractional pooling beside PyTorch's, for the same numbers that the windows follow from."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import agree, compare, to_torch

import opweave as ow

RNG = np.random.default_rng(3)
#: By the sizes of the input: windows, how many.
CASES = [
    ((2, 3, 7, 9), 2, (3, 4)),
    ((2, 3, 7, 9), (3, 1), (5, 9)),
    ((3, 8, 8), 2, 1),
    ((2, 2, 6, 7), 3, (0, 2)),
    ((0, 2, 6, 7), 3, 2),
    ((2, 2, 5, 6, 7), 2, (3, 4, 5)),
    ((2, 5, 6, 7), (1, 2, 3), (4, 2, 1)),
]


def tensor(*sizes: int, dtype: Any = ow.float64) -> ow.Tensor:
    return ow.from_numpy(np.asarray(RNG.standard_normal(sizes))).to(dtype)


def samples(sizes: tuple[int, ...], kernel: Any, dtype: Any = ow.float64) -> ow.Tensor:
    dims = 3 if len(sizes) == 5 or isinstance(kernel, tuple) and len(kernel) == 3 else 2
    batch = sizes[0] if len(sizes) == dims + 2 else 1
    return ow.from_numpy(RNG.random((batch, sizes[-dims - 1], dims))).to(dtype)


@pytest.mark.parametrize(("sizes", "kernel", "wanted"), CASES, ids=str)
def test_values_places_and_gradients(sizes: tuple[int, ...], kernel: Any, wanted: Any) -> None:
    u = samples(sizes, kernel)
    name = f"fractional_max_pool{u.shape[2]}d"

    def call(module: Any, x: Any, u: Any) -> Any:
        pool = getattr(module.nn.functional, name)
        return pool(x, kernel, wanted, return_indices=True, _random_samples=u)

    assert agree(call, tensor(*sizes), u, constants=[1])


@pytest.mark.parametrize("dtype", [ow.float32, ow.float16, ow.bfloat16], ids=str)
def test_windows_begin_where_the_type_says(dtype: Any) -> None:
    """A step is computed in the type itself."""
    x, u = tensor(1, 64, 97, 61, dtype=dtype), samples((1, 64, 97, 61), 2, dtype)
    found = ow.nn.functional.fractional_max_pool2d(x, 2, (33, 29), return_indices=True, _random_samples=u)
    theirs = torch.nn.functional.fractional_max_pool2d(
        to_torch(x), 2, (33, 29), return_indices=True, _random_samples=to_torch(u)
    )
    for mine, other in zip(found, theirs, strict=True):
        compare(mine, other, dtype)


def test_nan_and_equal_elements() -> None:
    values = np.ones((1, 1, 6, 6))
    values[0, 0, 2, 2] = values[0, 0, 3, 3] = np.nan
    x, u = ow.from_numpy(values), ow.zeros(1, 1, 2, dtype=ow.float64)

    def call(module: Any, x: Any, u: Any) -> Any:
        return module.nn.functional.fractional_max_pool2d(x, 3, 3, return_indices=True, _random_samples=u)

    assert agree(call, x, u, constants=[1], order=0)


REFUSED = {
    "no size": lambda module, x, u: module.nn.functional.fractional_max_pool2d(x, 2),
    "three ratios": lambda module, x, u: module.nn.functional.fractional_max_pool2d(x, 2, output_ratio=(0.5, 0.5, 0.5)),
    "large windows": lambda module, x, u: module.nn.functional.fractional_max_pool2d(x, 8, 3),
    "many windows": lambda module, x, u: module.nn.functional.fractional_max_pool2d(x, 2, (7, 8)),
    "few samples": lambda module, x, u: module.nn.functional.fractional_max_pool2d(x, 2, 3, _random_samples=u[:1]),
    "samples of two": lambda module, x, u: module.nn.functional.fractional_max_pool2d(
        x, 2, 3, _random_samples=u[..., :1]
    ),
    "samples of another type": lambda module, x, u: module.nn.functional.fractional_max_pool2d(
        x.float(), 2, 3, _random_samples=u
    ),
    "neither": lambda module, x, u: module.nn.FractionalMaxPool2d(2),
    "both": lambda module, x, u: module.nn.FractionalMaxPool2d(2, 3, 0.5),
    "large ratio": lambda module, x, u: module.nn.FractionalMaxPool3d(2, output_ratio=1.5),
}


@pytest.mark.parametrize("name", REFUSED)
def test_refused(name: str) -> None:
    assert not agree(REFUSED[name], tensor(2, 3, 7, 9), samples((2, 3, 7, 9), 2), constants=[1])


def test_modules_and_compiled() -> None:
    x, u = tensor(2, 3, 7, 9), samples((2, 3, 7, 9), 2)
    module = ow.nn.FractionalMaxPool2d(2, output_ratio=(0.5, 0.6), _random_samples=u)
    theirs = torch.nn.FractionalMaxPool2d(2, output_ratio=(0.5, 0.6), _random_samples=to_torch(u))
    assert repr(module) == repr(theirs)
    assert list(module.state_dict()) == list(theirs.state_dict())
    compare(module(x), theirs(to_torch(x)), "module")
    assert ow.equal(ow.compile(module)(x), module(x))
    volume = ow.nn.FractionalMaxPool3d(2, output_size=2, return_indices=True)
    first, second = (volume(tensor(1, 40, 5, 6, 7))[1] for _ in range(2))
    assert not ow.equal(first, second)

"""`grid_sample` and its gradients beside PyTorch, at places outside, on edges and that are no numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import close

import opweave

FORMS = [
    pytest.param(dims, mode, padding, align, id=f"{dims}d-{mode}-{padding}-{align}")
    for dims, mode, padding, align in itertools.product(
        (2, 3), ("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection"), (False, True)
    )
    if not (dims == 3 and mode == "bicubic")
]


@pytest.mark.parametrize(("dims", "mode", "padding", "align"), FORMS)
def test_results_and_gradients(dims: int, mode: str, padding: str, align: bool) -> None:
    draw = np.random.default_rng(0)
    sizes, places = (5, 7, 4)[:dims], (6, 5, 4)[:dims]
    image, grid = draw.standard_normal((2, 3, *sizes)), draw.uniform(-2.5, 2.5, (2, *places, dims))
    # Places that are exact in both: corners, the middle, far away.
    grid.reshape(-1)[:9] = [-1, 1, 0, -1, 1, 0, 1e6, -1e6, 0.25]
    above = draw.standard_normal((2, 3, *places))

    def step(library: Any) -> list[Any]:
        x, g = (library.tensor(t).requires_grad_() for t in (image, grid))
        y = library.nn.functional.grid_sample(x, g, mode=mode, padding_mode=padding, align_corners=align)
        first = library.autograd.grad(y, (x, g), library.tensor(above), create_graph=mode == "bilinear" and dims == 2)
        return [y, *first]

    for ours, theirs in zip(step(opweave), step(torch), strict=True):
        close(ours.detach().numpy(), theirs.detach().numpy(), "grid_sample, float64")


def test_what_is_no_number() -> None:
    image = np.arange(12.0).reshape(1, 1, 3, 4)
    grid = np.array([[[[np.nan, 0], [0, np.nan], [np.inf, 0], [-np.inf, 0], [np.nan, np.nan]]]])
    for mode, padding in itertools.product(("bilinear", "nearest"), ("zeros", "border")):
        ours, theirs = (
            library.nn.functional.grid_sample(
                library.tensor(image), library.tensor(grid), mode=mode, padding_mode=padding, align_corners=False
            )
            for library in (opweave, torch)
        )
        np.testing.assert_array_equal(ours.numpy(), theirs.numpy(), err_msg=f"{mode} {padding}")

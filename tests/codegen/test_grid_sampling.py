"""Images at the places of a grid in native code: what the ops' bodies give, and their derivatives."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import ops
from opweave.registry import families
from opweave.registry.loading import HAS_NATIVE

aten = ops.aten
pytestmark = pytest.mark.skipif(not HAS_NATIVE, reason="there is no native code on this system")

MODES = {"bilinear": 0, "nearest": 1, "bicubic": 2}
PADDINGS = {"zeros": 0, "border": 1, "reflection": 2}
FORMS = [
    pytest.param(dims, MODES[mode], PADDINGS[padding], align, id=f"{dims}d-{mode}-{padding}-{align}")
    for dims, mode, padding, align in itertools.product((2, 3), MODES, PADDINGS, (False, True))
    if not (dims == 3 and mode == "bicubic")
]


@pytest.fixture
def sampling() -> Any:
    return families.family("grid_sampling")


def op_of(dims: int, suffix: str = "") -> Any:
    return getattr(aten, f"grid_sampler_{dims}d{suffix}").default


def drawn(dims: int, dtype: str = "float64", batch: int = 2, channels: int = 3) -> Any:
    """An image, a grid beyond its borders, with numbers that are none and places on edges, and a gradient."""
    draw = np.random.default_rng(dims)
    sizes, places = (5, 7, 4)[:dims], (4, 3, 3)[:dims]
    image, above = draw.standard_normal((batch, channels, *sizes)), draw.standard_normal((batch, channels, *places))
    grid = draw.uniform(-3, 3, (batch, *places, dims))
    flat = grid.reshape(-1)
    flat[:12] = [-1, 1, 0, -1.5, 1.5, 3, -3, 0.5, 2 / 7 - 1, 1e9, -1e9, 0.2]
    return tuple(opweave.tensor(x).to(getattr(opweave, dtype)) for x in (image, grid, above))


@pytest.mark.parametrize(("dims", "mode", "padding", "align"), FORMS)
def test_native_code_does_what_the_bodies_say(
    dims: int, mode: int, padding: int, align: bool, sampling: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    image, grid, above = drawn(dims)
    grid.reshape(-1)[-1] = float("nan")
    arguments = image, grid, mode, padding, align
    ran: list[bool] = []
    inner = sampling.native.call
    monkeypatch.setattr(sampling.native, "call", lambda *args: ran.append(inner(*args)) or ran[-1])
    found = [op_of(dims)(*arguments), *op_of(dims, "_backward")(above, *arguments, [True, True])]
    assert ran == [True, True]
    monkeypatch.setattr(sampling.native, "call", None)
    expected = [op_of(dims)(*arguments), *op_of(dims, "_backward")(above, *arguments, [True, True])]
    for a, b in zip(found, expected, strict=True):
        assert (a.shape, a.stride(), a.dtype) == (b.shape, b.stride(), b.dtype)
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(("dims", "mode", "padding", "align"), FORMS)
def test_gradients_are_differences(dims: int, mode: int, padding: int, align: bool) -> None:
    image, grid, above = drawn(dims, batch=1, channels=2)
    # Not where a slope jumps: at whole places and at edges.
    grid = opweave.tensor(np.random.default_rng(7).uniform(-1.4, 1.4, grid.shape))
    x, g = image.requires_grad_(), grid.requires_grad_()

    def value(x: Any, g: Any) -> Any:
        return (op_of(dims)(x, g, mode, padding, align) * above).sum()

    of_image, of_grid = opweave.autograd.grad(value(x, g), (x, g))
    step = 1e-6
    for leaf, grad in ((x, of_image), (g, of_grid)):
        direction = opweave.tensor(np.random.default_rng(3).standard_normal(leaf.shape))
        moved = [
            value(*(leaf.detach() + sign * step * direction if t is leaf else t.detach() for t in (x, g))).item()
            for sign in (1, -1)
        ]
        assert grad is not None
        assert (grad * direction).sum().item() == pytest.approx((moved[0] - moved[1]) / (2 * step), rel=1e-5, abs=1e-6)


@pytest.mark.parametrize("dtype", ["bfloat16", "float16", "float32"])
@pytest.mark.parametrize("dims", [2, 3])
def test_types_are_rounded_once(dims: int, dtype: str) -> None:
    image, grid, above = drawn(dims, dtype)
    wide = [t.to(opweave.float32) for t in (image, grid, above)]
    found = [
        op_of(dims)(image, grid, 0, 1, False),
        *op_of(dims, "_backward")(above, image, grid, 0, 1, False, [True, True]),
    ]
    exact = [
        op_of(dims)(*wide[:2], 0, 1, False),
        *op_of(dims, "_backward")(wide[2], *wide[:2], 0, 1, False, [True, True]),
    ]
    for a, b in zip(found, exact, strict=True):
        assert a.dtype == image.dtype
        assert a.reshape(-1).view(opweave.uint8).tolist() == b.to(a.dtype).reshape(-1).view(opweave.uint8).tolist()


def test_layouts_and_threads(sampling: Any) -> None:
    image, grid, _ = drawn(2, "float32", batch=4, channels=9)
    turned = image.permute(2, 3, 0, 1).contiguous().permute(2, 3, 0, 1), grid.flip(-1).flip(-1).transpose(1, 2)
    plain = image, grid.transpose(1, 2).contiguous()
    assert opweave.equal(op_of(2)(*turned, 0, 0, True), op_of(2)(*plain, 0, 0, True))
    image, grid = opweave.randn(3, 5, 40, 40), opweave.rand(3, 200, 200, 2) * 3 - 1.5
    results, threads = [], opweave.get_num_threads()
    try:
        for count in (1, 2, 3):
            opweave.set_num_threads(count)
            found = op_of(2)(image, grid, 0, 0, False)
            results.append([found, *op_of(2, "_backward")(found, image, grid, 0, 0, False, [True, True])])
    finally:
        opweave.set_num_threads(threads)
    for later in results[1:]:
        assert all(opweave.equal(a, b) for a, b in zip(results[0], later, strict=True))


def test_what_is_not_asked_for_and_what_is_empty() -> None:
    image, grid, above = drawn(2)
    first, second = op_of(2, "_backward")(above, image, grid, 0, 0, False, [False, True])
    assert first is None and second.shape == grid.shape
    empty = op_of(2)(image[:, :0], grid, 0, 0, False)
    assert empty.shape == (2, 0, 4, 3)
    none = grid[:, :0]
    found = op_of(2, "_backward")(above[:, :, :0], image, none, 0, 0, False, [True, True])
    assert not found[0].any() and found[1].shape == none.shape
    with pytest.raises(Exception, match="not that of the result"):
        op_of(2, "_backward")(above[:, :2], image, grid, 0, 0, False, [True, True])


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_compiled_steps(mode: int) -> None:
    image, grid, above = drawn(2, "float32")
    grid = grid.clamp(-1.3, 1.3)

    def step(x: Any, g: Any) -> Any:
        y = op_of(2)(x, g, mode, 0, False)
        return y, *opweave.autograd.grad((y * above).sum(), (x, g))

    given = image.requires_grad_(), grid.requires_grad_()
    for a, b in zip(step(*given), opweave.compile(step)(*given), strict=True):
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), rtol=2e-5, atol=2e-5)

"""Images at other sizes and at the places of a grid against PyTorch, with gradients, and what both refuse."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import ops_with_samples
from oracle import check, close, compare, to_torch

import opweave as ow
from opweave.registry.errors import ArgumentError, DTypeError, OpweaveError
from opweave.registry.op import OpOverload
from opweave.registry.ops import resample, resample_filters


def tensor(*sizes: int, seed: int = 0, dtype: Any = ow.float64) -> ow.Tensor:
    values = np.random.default_rng([seed, *sizes]).standard_normal(sizes)
    return ow.from_numpy(np.asarray(values)).to(dtype)


def same(fn: Any, *tensors: ow.Tensor, difference: str = "resample", order: int = 1) -> None:
    """Results and gradients of `fn(module, *tensors)`."""
    found = []
    for module, given in ((ow, tensors), (torch, [to_torch(t) for t in tensors])):
        leaves = [t.detach().requires_grad_(bool(order)) for t in given]
        out = fn(module, *leaves)
        kept = [out.detach()]
        for _ in range(order):
            weight = module.linspace(-1, 2, out.numel(), dtype=out.dtype).reshape(out.shape)
            # Squares, since what is linear has no second derivative. A place that is rounded has no gradient.
            first = module.autograd.grad(
                [(out * out * weight).sum()], leaves, create_graph=order > 1, allow_unused=True, materialize_grads=True
            )
            kept += [t.detach() for t in first]
            out = first[0]
        found.append(kept)
    for mine, other in zip(*found, strict=True):
        compare(mine, other, "resample", difference if mine is found[0][0] else f"{difference}, gradients")


@pytest.mark.parametrize("op", ops_with_samples(resample, resample_filters), ids=str)
def test_samples(op: OpOverload) -> None:
    assert check(op)


SIZES = list(itertools.product([1, 2, 5, 9], repeat=2))


@pytest.mark.parametrize("count", SIZES, ids=str)
@pytest.mark.parametrize("size", [(1, 4), (5, 3), (4, 9)], ids=str)
def test_sizes(size: tuple[int, int], count: tuple[int, int]) -> None:
    x = tensor(2, 3, *size)
    same(lambda m, x: m.ops.aten.upsample_nearest2d.vec(x, list(count), None), x, order=2)
    for corners in (False, True):
        same(lambda m, x: m.ops.aten.upsample_bilinear2d.vec(x, list(count), corners, None), x, order=2)  # noqa: B023


@pytest.mark.parametrize("factors", [(2.0, 2.0), (1.5, 0.7), (0.34, 3.3), (1.1, 1.0), (2.4, 1.9)], ids=str)
@pytest.mark.parametrize("dtype", [ow.float32, ow.float64], ids=repr)
def test_scale_factors(factors: tuple[float, float], dtype: Any) -> None:
    for size in ((5, 4), (7, 9), (3, 11)):
        x = tensor(1, 2, *size, dtype=dtype)
        same(lambda m, x: m.ops.aten.upsample_nearest2d.vec(x, None, list(factors)), x)
        for corners in (False, True):
            same(
                lambda m, x: m.ops.aten.upsample_bilinear2d.vec(x, None, corners, list(factors)),
                x,
                difference="resample, factors",
            )  # noqa: B023


@pytest.mark.parametrize("dtype", [ow.float32, ow.float64, ow.bfloat16], ids=repr)
def test_the_nearest_place_is_found_as_pytorch_finds_it(dtype: Any) -> None:
    """Sizes and factors whose quotient no float holds, in the small images and the large ones that differ there."""
    ours, theirs = ow.ops.aten.upsample_nearest2d, torch.ops.aten.upsample_nearest2d
    for size in (1, 2, 7, 29, 31, 48, 49, 60, 97, 130, 200):
        x = ow.arange(size, dtype=ow.float32).to(dtype).reshape(1, 1, 1, size)
        other = to_torch(x)
        for count in (1, 5, 29, 58, 83, 127, 128, 129, 151, 200, 290):
            for height in (1, 40):
                compare(ours.default(x, [height, count]), theirs.default(other, [height, count]), (size, count, height))
        for factor in (1.1, 0.3, 2.7, 3.3333, 0.77, 1 / 3, 2.05, 1.004, 2.003, 1.0, 2.0):
            if int(size * factor):
                note = size, factor
                compare(ours.vec(x, None, [1.0, factor]), theirs.vec(other, None, [1.0, factor]), note)


@pytest.mark.parametrize("dtype", [ow.float16, ow.bfloat16, ow.uint8], ids=repr)
def test_types(dtype: Any) -> None:
    x = (tensor(2, 3, 5, 4) * 20 + 100).to(dtype)
    same(lambda m, x: m.ops.aten.upsample_nearest2d.default(x, [7, 9]), x, order=0)
    if dtype is ow.uint8:
        for sizes, mode in (((2, 3, 5), "linear"), ((2, 3, 4, 5, 6), "trilinear")):
            with pytest.raises(DTypeError):
                ow.nn.functional.interpolate(ow.zeros(sizes, dtype=dtype), scale_factor=2, mode=mode)
    else:
        same(lambda m, x: m.ops.aten.upsample_bilinear2d.default(x, [7, 9], False), x, order=0)


FILTERS = ["upsample_bicubic2d", "_upsample_bilinear2d_aa", "_upsample_bicubic2d_aa"]
assert left_out("resample, images of width 1")
FILTERED = [
    ((5, 4), (3, 7)),
    ((5, 4), (5, 2)),
    ((16, 11), (2, 3)),
    ((1, 30), (4, 9)),
    ((7, 9), (40, 23)),
    ((3, 2), (3, 2)),
]


@pytest.mark.parametrize("name", FILTERS)
@pytest.mark.parametrize("corners", [False, True])
def test_filters(name: str, corners: bool) -> None:
    for size, count in FILTERED:
        x = tensor(2, 3, *size)
        same(lambda m, x: getattr(m.ops.aten, name).default(x, count, corners), x, order=2)  # noqa: B023
        factors = [count[0] / size[0], (count[1] + 0.5) / size[1]]
        if size[1] != count[1] or not left_out("resample, second derivative by factors of 1"):
            same(lambda m, x: getattr(m.ops.aten, name).vec(x, None, corners, factors), x.float())  # noqa: B023


@pytest.mark.parametrize("name", ["upsample_bilinear2d", *FILTERS])
def test_filters_of_bytes(name: str) -> None:
    """In whole numbers, to the last bit: by PyTorch's kernel for few channels and by that for many."""
    for channels, (size, count), corners in itertools.product((1, 3, 5), FILTERED, (False, True)):
        x = (ow.from_numpy(np.random.default_rng(size).random((2, channels, *size))) * 256).to(ow.uint8)
        theirs = getattr(torch.ops.aten, name)(to_torch(x), count, corners)
        op = getattr(ow.ops.aten, name).default
        for ours in (op(x, count, corners), op.decl.body(x, count, corners)):
            compare(ours, theirs, (name, size, count, corners, channels))


def test_what_is_infinite_stays_where_it_is() -> None:
    values = np.random.default_rng(3).standard_normal((1, 1, 12, 9))
    values[0, 0, 2, 3], values[0, 0, 8, 7] = np.inf, np.nan
    x = ow.from_numpy(values)
    for name in FILTERS[1:]:
        op = getattr(ow.ops.aten, name).default
        theirs = getattr(torch.ops.aten, name)(to_torch(x), (4, 3), False)
        for ours in (op(x, (4, 3), False), op.decl.body(x, (4, 3), False)):
            compare(ours, theirs, name, "resample")


def test_filters_by_name() -> None:
    x = tensor(2, 3, 6, 7)
    for mode, antialias in itertools.product(("bilinear", "bicubic"), (False, True)):
        for options in ({"size": (4, 9)}, {"scale_factor": 0.5}, {"size": (4, 3), "align_corners": True}):
            given = {**options, "mode": mode, "antialias": antialias}
            same(lambda m, x: m.nn.functional.interpolate(x, **given), x)  # noqa: B023


MODES = list(itertools.product([0, 1, 2], [0, 1, 2], [False, True]))


@pytest.mark.parametrize(("mode", "padding", "corners"), MODES)
@pytest.mark.parametrize("size", [(4, 5), (1, 6), (7, 2)], ids=str)
def test_grids(size: tuple[int, int], mode: int, padding: int, corners: bool) -> None:
    for reach in (0.6, 1.2, 4.0):
        x, grid = tensor(2, 3, *size), tensor(2, 4, 3, 2, seed=1) * reach
        same(
            lambda m, *t: m.ops.aten.grid_sampler_2d.default(*t, mode, padding, corners),
            x,
            grid,
            difference="grid_sample",
        )


@pytest.mark.parametrize(("mode", "padding", "corners"), list(itertools.product([0, 1], [0, 1, 2], [False, True])))
@pytest.mark.parametrize("size", [(2, 4, 5), (3, 1, 6), (1, 1, 1)], ids=str)
def test_grids_of_volumes(size: tuple[int, ...], mode: int, padding: int, corners: bool) -> None:
    for reach in (0.6, 1.2, 4.0):
        x, grid = tensor(2, 3, *size), tensor(2, 2, 3, 4, 3, seed=1) * reach
        for given in ((x, grid), (x.transpose(2, 3).contiguous().transpose(2, 3), grid.flip(1))):
            same(
                lambda m, *t: m.ops.aten.grid_sampler_3d.default(*t, mode, padding, corners),
                *given,
                difference="grid_sample",
            )


def test_volumes_by_name() -> None:
    x, grid = tensor(2, 3, 2, 4, 5), tensor(2, 2, 3, 4, 3, seed=1)
    for mode, padding in itertools.product(("bilinear", "nearest"), ("zeros", "border", "reflection")):
        same(
            lambda m, *t: m.nn.functional.grid_sample(*t, mode, padding, False),  # noqa: B023
            x,
            grid,
            difference="grid_sample",
        )
    compiled = ow.compile(lambda x, g: ow.nn.functional.grid_sample(x, g, align_corners=True), fullgraph=True)
    compare(
        compiled(x, grid),
        torch.nn.functional.grid_sample(to_torch(x), to_torch(grid), align_corners=True),
        "compiled",
        "grid_sample",
    )
    for sizes, options in (((2, 3, 2, 4, 5), {"mode": "bicubic"}), ((2, 3, 0, 4, 5), {}), ((1, 3, 2, 4, 5), {})):
        for module, given in ((torch, to_torch(tensor(*sizes))), (ow, tensor(*sizes))):
            places = to_torch(grid) if module is torch else grid
            with pytest.raises(RuntimeError):
                module.nn.functional.grid_sample(given, places, align_corners=False, **options)


@pytest.mark.parametrize(("mode", "padding", "corners"), MODES)
def test_places_on_and_far_beyond_the_borders(mode: int, padding: int, corners: bool) -> None:
    x = ow.arange(1, 21, dtype=ow.float64).reshape(1, 1, 4, 5)
    inside = [-1.0, 1.0, 0.0, -0.5, 0.5, -0.8, 0.75]
    outside = [np.nan, np.inf, -np.inf, 5.0, -7.25, 1000.0] if mode != 2 else [5.0, -7.25, np.nan]
    places = [(a, b) for a in inside + outside for b in inside] + [(b, a) for a in outside for b in inside]
    grid = ow.from_numpy(np.array(places)).reshape(1, 1, len(places), 2)
    same(
        lambda m, *t: m.ops.aten.grid_sampler_2d.default(*t, mode, padding, corners),
        x,
        grid,
        order=0,
        difference="grid_sample",
    )


@pytest.mark.parametrize("dtype", [ow.float32, ow.float16, ow.bfloat16], ids=repr)
def test_grids_of_other_types(dtype: Any) -> None:
    x, grid = tensor(2, 3, 4, 5, dtype=dtype), tensor(2, 4, 3, 2, seed=1, dtype=dtype)
    # Half a place is a large part of a half type's digits.
    same(
        lambda m, *t: m.ops.aten.grid_sampler_2d.default(*t, 0, 0, False),
        x,
        grid,
        order=0,
        difference="grid_sample, half types" if dtype.itemsize == 2 else "grid_sample",
    )


UPSAMPLE = [
    ((3, 6, 6), [3, 3], None), ((1, 3, 6, 6), [3, 3], [2.0, 2.0]), ((1, 3, 6, 6), None, None),
    ((1, 3, 6, 7), [3], None),
    ((1, 3, 6, 7), None, [2.0]), ((1, 3, 6, 7), [0, 3], None), ((1, 0, 6, 7), [2, 3], None),
    ((1, 2, 0, 7), [2, 3], None),
    ((1, 2, 6, 7), None, [0.1, 1.0]), ((1, 2, 6, 7), None, [-1.0, 1.0]),
]  # fmt: skip


@pytest.mark.parametrize("arguments", UPSAMPLE, ids=str)
def test_sizes_that_both_refuse(arguments: Any) -> None:
    sizes, output, factors = arguments
    x = tensor(*sizes)
    for name, middle in (("upsample_nearest2d", ()), ("upsample_bilinear2d", (False,))):
        with pytest.raises(RuntimeError):
            getattr(torch.ops.aten, name).vec(to_torch(x), output, *middle, factors)
        with pytest.raises(RuntimeError) as caught:
            getattr(ow.ops.aten, name).vec(x, output, *middle, factors)
        assert isinstance(caught.value, OpweaveError)


@pytest.mark.parametrize("dtype", [ow.int64, ow.bool], ids=repr)
def test_types_that_both_refuse(dtype: Any) -> None:
    x = ow.ones(1, 2, 4, 4, dtype=dtype)
    for module, given, error in ((torch, to_torch(x), NotImplementedError), (ow, x, OpweaveError)):
        with pytest.raises(error):
            module.ops.aten.upsample_nearest2d.vec(given, [3, 3], None)
        with pytest.raises(error):
            module.ops.aten.upsample_bilinear2d.vec(given, [3, 3], False, None)
        with pytest.raises(error):
            module.ops.aten.grid_sampler_2d(given, given[:, :, :, :2], 0, 0, False)


@pytest.mark.parametrize(
    ("sizes", "grid", "dtype"),
    [
        ((3, 5, 6), (4, 3, 2), ow.float64), ((2, 3, 5, 6), (2, 4, 3, 2), ow.float32),
        ((2, 3, 5, 6), (1, 4, 3, 2), ow.float64),
        ((2, 3, 5, 6), (2, 4, 3, 3), ow.float64), ((1, 3, 0, 6), (1, 4, 3, 2), ow.float64),
    ],
    ids=str,
)  # fmt: skip
def test_grids_that_both_refuse(sizes: Any, grid: Any, dtype: Any) -> None:
    x, places = tensor(*sizes), tensor(*grid, dtype=dtype)
    with pytest.raises(RuntimeError):
        torch.ops.aten.grid_sampler_2d(to_torch(x), to_torch(places), 0, 0, False)
    with pytest.raises(RuntimeError) as caught:
        ow.ops.aten.grid_sampler_2d(x, places, 0, 0, False)
    assert isinstance(caught.value, OpweaveError)


def test_functions() -> None:
    x, grid = tensor(2, 3, 6, 7), tensor(2, 4, 5, 2, seed=1)
    for options in (
        {"size": 3}, {"size": (3, 9)}, {"scale_factor": 1.5}, {"scale_factor": (0.5, 2)},
        {"scale_factor": 1.4, "mode": "bilinear"}, {"size": 4, "mode": "bilinear", "align_corners": True},
        {"scale_factor": 1.4, "mode": "bilinear", "recompute_scale_factor": True},
        {"scale_factor": 1.4, "recompute_scale_factor": True},
    ):  # fmt: skip
        same(lambda m, x: m.nn.functional.interpolate(x, **options), x)  # noqa: B023
    for mode, padding in itertools.product(("bilinear", "nearest", "bicubic"), ("zeros", "border", "reflection")):
        same(
            lambda m, *t: m.nn.functional.grid_sample(*t, mode, padding, align_corners=False),
            x,
            grid,
            difference="grid_sample",  # noqa: B023
        )


def test_what_functions_refuse() -> None:
    f, x = ow.nn.functional, tensor(1, 3, 6, 6)
    for given, error in (
        ({"size": 3, "antialias": True}, ValueError),
        ({}, ValueError), ({"size": 3, "scale_factor": 2}, ValueError), ({"size": [3]}, ValueError),
        ({"scale_factor": [3.0]}, ValueError), ({"size": 3, "align_corners": True}, ValueError),
    ):  # fmt: skip
        with pytest.raises(error) as caught:
            f.interpolate(x, **given)
        assert isinstance(caught.value, OpweaveError)
    with pytest.raises(NotImplementedError):
        f.interpolate(tensor(3, 6), size=3)
    with pytest.raises(ArgumentError):
        f.grid_sample(x, tensor(1, 2, 2, 2), mode="linear")


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "grid"])
def test_compiled_with_sizes_that_change(mode: str) -> None:
    def run(module: Any, x: Any, grid: Any) -> Any:
        f = module.nn.functional
        if mode == "grid":
            return f.grid_sample(x * 2, grid, align_corners=False) + 1
        return f.interpolate(x * 2, size=(7, 5), mode=mode) + 1

    compiled = ow.compile(lambda x, grid: run(ow, x, grid))
    for count, size in ((2, 9), (3, 11), (5, 14)):
        x, grid = tensor(count, 3, size, size + 1), tensor(count, 3, 4, 2, seed=1)
        mine, theirs = x.requires_grad_(), to_torch(x.detach()).requires_grad_()
        found, expected = compiled(mine, grid), run(torch, theirs, to_torch(grid))
        compare(found.detach(), expected.detach(), size, "grid_sample")
        (found * found).sum().backward()
        (wanted,) = torch.autograd.grad((expected * expected).sum(), theirs)
        compare(mine.grad, wanted, size, "grid_sample, compiled gradients")


def test_what_is_infinite_in_a_vector_is_weighted_once() -> None:
    values = [[[float("inf"), float("inf"), 1.0, 2.0, -float("inf"), 3.0]]]
    expected = torch.nn.functional.interpolate(torch.tensor(values), scale_factor=2, mode="linear")
    for requires_grad in (False, True):
        x = ow.tensor(values, requires_grad=requires_grad)
        found = ow.nn.functional.interpolate(x, scale_factor=2, mode="linear")
        np.testing.assert_array_equal(found.detach().numpy(), expected.numpy())


@pytest.mark.parametrize("mode", ["nearest", "bilinear", "linear", "trilinear"])
def test_gradients_of_large_images(mode: str) -> None:
    sizes = {"linear": (3, 5, 900), "trilinear": (2, 3, 9, 20, 21)}.get(mode, (3, 7, 40, 50))
    values = np.random.default_rng(0).standard_normal(sizes).astype(np.float32)
    for factor in (2, 1.5, 0.6):
        ours, theirs = ow.from_numpy(values.copy()).requires_grad_(), torch.from_numpy(values).requires_grad_()
        found = ow.nn.functional.interpolate(ours, scale_factor=factor, mode=mode)
        expected = torch.nn.functional.interpolate(theirs, scale_factor=factor, mode=mode)
        close(found.detach().numpy(), expected.detach().numpy(), "resample, large images")
        (found * found).sum().backward()
        (wanted,) = torch.autograd.grad((expected * expected).sum(), theirs)
        assert ours.grad is not None
        close(ours.grad.numpy(), wanted.numpy(), "resample, large images, gradients")


@pytest.mark.parametrize("align_corners", [False, True])
@pytest.mark.parametrize("sizes", [(5, 4), (1, 7), (32, 3), (2, 2)], ids=str)
def test_gradients_of_bilinear_images(sizes: tuple[int, int], align_corners: bool) -> None:
    for count in ((10, 8), (1, 1), (3, 11), (5, 4), (64, 6), (2, 9), (31, 1)):
        arguments = list(count), align_corners, None, None
        same(lambda m, x, a=arguments: m.ops.aten.upsample_bilinear2d.default(x, *a), tensor(2, 3, *sizes), order=2)


def test_gradients_of_bilinear_images_by_factors() -> None:
    for factors in ((1.5, 1.5), (0.7, 2.3), (3.3, 1.1)):
        sizes = [int(9 * factors[0]), int(7 * factors[1])]
        same(
            lambda m, x, s=sizes, f=factors: m.ops.aten.upsample_bilinear2d.default(x, s, False, *f),
            tensor(2, 3, 9, 7), order=2,
        )  # fmt: skip

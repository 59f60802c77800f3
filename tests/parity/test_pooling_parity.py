"""Pooling and its gradients against PyTorch, over many windows, and what both refuse."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out
from op_samples import ops_with_samples
from oracle import agree, check, compare, to_torch

import opweave as ow
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload
from opweave.registry.ops import adaptive_pooling, pooling


def tensor(*sizes: int, seed: int = 0, dtype: Any = ow.float64) -> ow.Tensor:
    values = np.random.default_rng([seed, *sizes]).standard_normal(sizes)
    return ow.from_numpy(np.asarray(values)).to(dtype)


def same(name: str, x: ow.Tensor, *arguments: Any, order: int = 2, difference: str = "pooling") -> None:
    """Results, and gradients of a weighted sum and of their squares."""
    found = []
    for module, given in ((ow, x), (torch, to_torch(x))):
        leaf = given.detach().requires_grad_() if order else given
        results: Any = getattr(module.ops.aten, name)(leaf, *arguments)
        results = list(results) if isinstance(results, tuple) else [results]
        kept = [t.detach() for t in results]
        out = results[0]
        for _ in range(order):
            if not out.requires_grad:
                kept.append(module.zeros_like(leaf).detach())
                continue  # no difference: zeros are what such a derivative is
            weight = module.linspace(-1, 2, out.numel(), dtype=out.dtype).reshape(out.shape)
            (out,) = module.autograd.grad(
                [(out * weight).sum()], [leaf], create_graph=True, allow_unused=True, materialize_grads=True
            )
            kept.append(out.detach())
            out = out * out
        found.append(kept)
    for mine, other in zip(*found, strict=True):
        compare(mine, other, (name, x, arguments), difference if mine is found[0][0] else "pooling, gradients")


@pytest.mark.parametrize("op", ops_with_samples(pooling, adaptive_pooling), ids=str)
def test_samples(op: OpOverload) -> None:
    assert check(op)


WINDOWS = list(itertools.product([(2, 3), (3, 2)], [(), (1, 2), (3, 3)], [(0, 0), (1, 1)], [False, True]))


@pytest.mark.parametrize(("kernel", "stride", "padding", "ceil_mode"), WINDOWS)
@pytest.mark.parametrize("size", [(3, 7, 6), (2, 2, 8, 9)], ids=str)
def test_windows(size: Any, kernel: Any, stride: Any, padding: Any, ceil_mode: bool) -> None:
    x = tensor(*size)
    for dilation in ((1, 1), (2, 1)):
        same("max_pool2d_with_indices", x, kernel, stride, padding, dilation, ceil_mode)
    for include, divisor in ((True, None), (False, None), (True, 5), (False, -2)):
        same("avg_pool2d", x, kernel, stride, padding, ceil_mode, include, divisor)


@pytest.mark.parametrize(("kernel", "stride", "padding", "ceil_mode"), WINDOWS[::3])
def test_windows_of_volumes(kernel: Any, stride: Any, padding: Any, ceil_mode: bool) -> None:
    x = tensor(2, 5, 6, 7)
    wide = (2, *kernel), (1, *stride) if stride else (), (1, *padding)
    same("max_pool3d_with_indices", x, *wide, (1, 2, 1), ceil_mode)
    for include, divisor in ((True, None), (False, None), (True, 3)):
        same("avg_pool3d", x, *wide, ceil_mode, include, divisor)


@pytest.mark.parametrize("kernel", [1, 2, 3])
@pytest.mark.parametrize("ceil_mode", [False, True])
@pytest.mark.parametrize("include", [False, True])
def test_windows_of_lines(kernel: int, ceil_mode: bool, include: bool) -> None:
    for stride in ([], [1], [2], [4]):
        for padding in {0, kernel // 2}:
            same("avg_pool1d", tensor(2, 3, 9), [kernel], stride, [padding], ceil_mode, include)


@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (2, 2), (4, 3), (7, 6), (9, 13), (0, 2)], ids=str)
def test_windows_for_a_size(sizes: Any) -> None:
    for shape in ((3, 7, 6), (2, 3, 5, 4), (0, 3, 5, 4)):
        nothing = 0 in (*sizes, *shape) and left_out("gradients of an average of nothing")
        same("_adaptive_avg_pool2d", tensor(*shape), list(sizes), order=0 if nothing else 2)
        same("adaptive_avg_pool2d", tensor(*shape), list(sizes), order=0)
    same("adaptive_avg_pool1d", tensor(2, 3, 7), [sizes[1]])
    if 0 not in sizes:
        same("_adaptive_avg_pool3d", tensor(2, 4, 5, 6), [3, *sizes])


@pytest.mark.parametrize("sizes", [(1, 1), (1, 3), (2, 2), (4, 3), (7, 6), (9, 13)], ids=str)
def test_maxima_for_a_size(sizes: Any) -> None:
    for shape in ((3, 7, 6), (2, 3, 5, 4), (0, 3, 5, 4)):
        same("adaptive_max_pool2d", tensor(*shape), list(sizes), order=2 if 0 not in shape else 0)
    same("adaptive_max_pool1d", tensor(2, 3, 7), [sizes[1]])
    same("adaptive_max_pool3d", tensor(2, 4, 5, 6), [3, *sizes])


@pytest.mark.parametrize("number", range(5), ids=["ties", "zeros", "least", "nan", "mixed"])
def test_special_values_in_maxima_for_a_size(number: int) -> None:
    x = ow.from_numpy(special()[number])
    for sizes in ((3, 4), (1, 1), (9, 2)):
        theirs = torch.ops.aten.adaptive_max_pool2d(to_torch(x), sizes)
        op = ow.ops.aten.adaptive_max_pool2d.default
        for ours in (op(x, sizes), ow.compile(lambda x: op(x, sizes))(x)):  # noqa: B023
            for mine, other in zip(ours, theirs, strict=True):
                compare(mine, other, (number, sizes), "pooling")


def test_unpooling_takes_maxima_back() -> None:
    for count, sizes in ((1, (9,)), (2, (7, 6)), (3, (5, 4, 6))):
        for kernel, stride, padding in ((2, None, 0), (3, 2, 1)):

            def call(m: Any, x: Any, count: int = count, windows: Any = (kernel, stride, padding)) -> Any:
                f = m.nn.functional
                best, at = getattr(f, f"max_pool{count}d")(x, *windows, return_indices=True)
                return getattr(f, f"max_unpool{count}d")(best, at, *windows, output_size=x.shape[2:])

            agree(call, tensor(2, 3, *sizes))
    agree(lambda m, x: m.nn.functional.max_unpool2d(x, m.arange(2).reshape(1, 1, 2), 2), tensor(1, 1, 2))
    agree(
        lambda m, x: m.nn.functional.max_unpool2d(x, m.arange(2).reshape(1, 1, 2), 2, output_size=[9, 9]),
        tensor(1, 1, 2),
    )


def test_functions_of_maxima_for_a_size() -> None:
    for count, sizes in ((1, (9,)), (2, (7, 6)), (3, (5, 4, 6))):
        for wanted in (3, [2] * count) + (((None, 2, 3)[:count],) if count > 1 else ()):
            name = f"adaptive_max_pool{count}d"
            agree(lambda m, x: getattr(m.nn.functional, name)(x, wanted), tensor(2, 3, *sizes))  # noqa: B023
            agree(
                lambda m, x: getattr(m.nn.functional, name)(x, wanted, return_indices=True),  # noqa: B023
                tensor(3, *sizes),
            )


@pytest.mark.parametrize("dtype", [ow.float32, ow.float16, ow.bfloat16], ids=repr)
def test_types(dtype: Any) -> None:
    x = tensor(2, 3, 9, 8, dtype=dtype)
    same("max_pool2d_with_indices", x, [3, 2], [2, 2], [1, 1], [1, 1], True, order=1)
    same("avg_pool2d", x, [3, 2], [2, 2], [1, 1], True, False, order=1)
    same("_adaptive_avg_pool2d", x, [4, 3], order=1)
    same("adaptive_max_pool2d", x, [4, 3], order=1)


@pytest.mark.parametrize("dtype", [ow.uint8, ow.int8, ow.int16, ow.int32, ow.int64], ids=repr)
def test_maximum_of_integers(dtype: Any) -> None:
    x = ow.from_numpy(np.random.default_rng(0).integers(-90, 90, (2, 3, 7, 6))).to(dtype)
    same("max_pool2d_with_indices", x, [3, 2], [2, 2], [1, 1], [1, 1], True, order=0)
    same("max_pool3d_with_indices", x, [1, 3, 2], order=0)


@pytest.mark.parametrize("divisor", [None, 3, -4])
def test_average_of_integers_is_rounded_to_zero(divisor: Any) -> None:
    x = ow.from_numpy(np.random.default_rng(0).integers(-9, 9, (2, 3, 7, 6)))
    same("avg_pool2d", x, [3, 2], [2, 2], [1, 1], True, False, divisor, order=0)
    same("avg_pool2d", x, [3, 2], [2, 2], [1, 1], True, True, divisor, order=0)


def special() -> list[np.ndarray]:
    rng = np.random.default_rng(5)
    ties = rng.integers(0, 2, (2, 7, 6)).astype(float)
    signs = np.where(ties > 0, 0.0, -0.0)
    least = np.full((2, 7, 6), -np.inf)
    nans = ties.copy()
    nans[rng.random(nans.shape) < 0.3] = np.nan
    mixed = rng.choice([np.nan, np.inf, -np.inf, 0.0, 1.0], (2, 7, 6))
    return [ties, signs, least, nans, mixed]


@pytest.mark.parametrize("number", range(5), ids=["ties", "zeros", "least", "nan", "mixed"])
@pytest.mark.parametrize("compiled", [False, True])
def test_special_values(number: int, compiled: bool) -> None:
    x = ow.from_numpy(special()[number])
    for arguments in (([2, 2],), ([3, 2], [1, 1], [1, 1]), ([3, 3], [2, 2], [1, 1], [1, 1], True),
                      ([2, 2], [1, 1], [1, 1], [2, 3])):  # fmt: skip
        theirs = torch.ops.aten.max_pool2d_with_indices(to_torch(x), *arguments)
        op = ow.ops.aten.max_pool2d_with_indices.default
        ours = ow.compile(lambda x: op(x, *arguments))(x) if compiled else op(x, *arguments)  # noqa: B023
        for mine, other in zip(ours, theirs, strict=True):
            compare(mine, other, arguments)
        same("avg_pool2d", x, *arguments[:3], order=0)


def test_a_window_beside_the_image() -> None:
    """Its place is not in the image; PyTorch gives the same, and reads other memory in the gradient."""
    for size in (1, 2):
        x = tensor(1, size, size)
        arguments = [2, 2], [1, 1], [1, 1], [size + 1] * 2
        ours = ow.ops.aten.max_pool2d_with_indices.default(x, *arguments)
        theirs = torch.ops.aten.max_pool2d_with_indices.default(to_torch(x), *arguments)
        for mine, other in zip(ours, theirs, strict=True):
            compare(mine, other, size)
        with pytest.raises(IndexError):
            ow.ops.aten.max_pool2d_with_indices_backward.default(ours[0], x, *arguments, False, ours[1])


@pytest.mark.parametrize(
    ("sizes", "arguments"),
    [
        ((6, 6), ([2, 2],)), ((1, 1, 1, 6, 6), ([2, 2],)), ((3, 6, 6), ([2, 2, 2],)), ((3, 6, 6), ([0, 2],)),
        ((3, 6, 6), ([2, 2], [0, 1])), ((3, 6, 6), ([2, 2], [1, 1, 1])), ((3, 6, 6), ([2, 2], [2, 2], [-1, 0])),
        ((3, 6, 6), ([2, 2], [2, 2], [2, 0])), ((3, 1, 6), ([2, 2],)), ((2, 0, 6, 6), ([2, 2],)),
        ((0, 6, 6), ([2, 2],)), ((2, 3, 0, 6), ([2, 2], [1, 1], [1, 1])), ((3, 6, 6), ([3, 3], [1, 1], [2, 0])),
    ],
    ids=str,
)  # fmt: skip
@pytest.mark.parametrize("name", ["max_pool2d_with_indices", "avg_pool2d"])
def test_both_refuse(name: str, sizes: Any, arguments: Any) -> None:
    x = tensor(*sizes)
    with pytest.raises((RuntimeError, IndexError)):
        getattr(torch.ops.aten, name)(to_torch(x), *arguments)
    with pytest.raises(RuntimeError) as caught:
        getattr(ow.ops.aten, name)(x, *arguments)
    assert isinstance(caught.value, OpweaveError)


@pytest.mark.parametrize(
    ("name", "sizes", "arguments", "dtype"),
    [
        ("max_pool2d_with_indices", (3, 6, 6), ([2, 2], [1, 1], [0, 0], [0, 1]), ow.float32),
        ("max_pool2d_with_indices", (3, 6, 6), ([2, 2], [1, 1], [0, 0], [6, 1]), ow.float32),
        ("max_pool2d_with_indices", (3, 6, 6), ([2, 2],), ow.bool), ("avg_pool2d", (3, 6, 6), ([2, 2],), ow.int32),
        ("avg_pool2d", (3, 6, 6), ([2, 2], [], [0, 0], False, True, 0), ow.float32),
        ("avg_pool1d", (6,), ([2],), ow.float32), ("avg_pool1d", (1, 1, 6), ([0],), ow.float32),
        ("avg_pool1d", (1, 1, 1, 6), ([2],), ow.float32), ("_adaptive_avg_pool2d", (6, 6), ([2, 2],), ow.float32),
        ("_adaptive_avg_pool2d", (3, 6, 6), ([-1, 2],), ow.float32),
        ("_adaptive_avg_pool2d", (3, 6, 6), ([2, 2, 2],), ow.float32),
        ("_adaptive_avg_pool2d", (2, 3, 0, 6), ([2, 2],), ow.float32),
        ("_adaptive_avg_pool2d", (3, 6, 6), ([2, 2],), ow.int64), ("adaptive_avg_pool1d", (6,), ([2],), ow.float32),
        ("adaptive_avg_pool1d", (1, 1, 1, 6), ([2],), ow.float32),
    ],
    ids=str,
)  # fmt: skip
def test_both_refuse_this(name: str, sizes: Any, arguments: Any, dtype: Any) -> None:
    x = tensor(*sizes, dtype=dtype)
    with pytest.raises((RuntimeError, NotImplementedError)):
        getattr(torch.ops.aten, name)(to_torch(x), *arguments)
    with pytest.raises(RuntimeError) as caught:
        getattr(ow.ops.aten, name)(x, *arguments)
    assert isinstance(caught.value, OpweaveError)


BACKWARD = [
    ((2, 3, 3, 4), ow.float32, ow.int64, (2, 3, 3, 3)), ((2, 4, 3, 3), ow.float32, ow.int64, (2, 3, 3, 3)),
    ((2, 3, 3, 3), ow.float64, ow.int64, (2, 3, 3, 3)), ((2, 3, 3, 3), ow.float32, ow.int32, (2, 3, 3, 3)),
    ((2, 3, 3, 3), ow.float32, ow.int64, (2, 3, 2, 3)),
]  # fmt: skip


@pytest.mark.parametrize(("sizes", "dtype", "places", "shape"), BACKWARD)
def test_gradients_that_do_not_fit(sizes: Any, dtype: Any, places: Any, shape: Any) -> None:
    x, grad, index = tensor(2, 3, 6, 6, dtype=ow.float32), tensor(*sizes, dtype=dtype), ow.zeros(*shape, dtype=places)
    arguments = [2, 2], [2, 2], [0, 0], [1, 1], False
    with pytest.raises(RuntimeError):
        torch.ops.aten.max_pool2d_with_indices_backward(*map(to_torch, (grad, x)), *arguments, to_torch(index))
    with pytest.raises(OpweaveError):
        ow.ops.aten.max_pool2d_with_indices_backward(grad, x, *arguments, index)
    if places is ow.int64 and shape == (2, 3, 3, 3):
        with pytest.raises(RuntimeError):
            torch.ops.aten.avg_pool2d_backward(*map(to_torch, (grad, x)), *arguments[:3], False, True, None)
        with pytest.raises(OpweaveError):
            ow.ops.aten.avg_pool2d_backward(grad, x, *arguments[:3], False, True, None)


def test_an_adaptive_gradient_of_other_channels_is_refused() -> None:
    """PyTorch reads other memory."""
    for sizes in ((2, 4, 2, 4), (3, 2, 4), (2, 3, 0, 4)):
        with pytest.raises(OpweaveError):
            ow.ops.aten._adaptive_avg_pool2d_backward(tensor(*sizes), tensor(2, 3, 6, 6))


def test_functions() -> None:
    x = tensor(2, 3, 7, 8)
    calls: list[Any] = [
        lambda f, x: f.max_pool2d(x, 2),
        lambda f, x: f.max_pool2d(x, (3, 2), stride=1, padding=1, return_indices=True)[1],
        lambda f, x: f.avg_pool2d(x, 3, ceil_mode=True), lambda f, x: f.avg_pool1d(x[0], 2),
        lambda f, x: f.adaptive_avg_pool2d(x, 3), lambda f, x: f.adaptive_avg_pool2d(x, (None, 2)),
        lambda f, x: f.adaptive_avg_pool1d(x[0], 3), lambda f, x: f.adaptive_avg_pool2d(x, 1),
        lambda f, x: f.max_pool3d(x, 2), lambda f, x: f.avg_pool3d(x, 2, divisor_override=3),
        lambda f, x: f.adaptive_avg_pool3d(x, (2, None, 3)),
    ]  # fmt: skip
    for number, call in enumerate(calls):
        compare(call(ow.nn.functional, x), call(torch.nn.functional, to_torch(x)), number, "pooling")


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d", "adaptive_avg_pool2d"])
def test_compiled_with_sizes_that_change(name: str) -> None:
    def run(module: Any, x: Any) -> Any:
        f = module.nn.functional
        if name == "adaptive_avg_pool2d":
            return f.adaptive_avg_pool2d(x * 2, (3, 4)) + 1
        return getattr(f, name)(x * 2, 3, stride=2, padding=1) + 1

    compiled = ow.compile(lambda x: run(ow, x))
    for count, size in ((2, 9), (3, 11), (5, 14)):
        x = tensor(count, 3, size, size + 1).requires_grad_()
        other = to_torch(x.detach()).requires_grad_()
        found, expected = compiled(x), run(torch, other)
        compare(found.detach(), expected.detach(), size, "pooling")
        (found * found).sum().backward()
        (wanted,) = torch.autograd.grad((expected * expected).sum(), other)
        compare(x.grad, wanted, size, "pooling, compiled gradients")


@pytest.mark.parametrize("name", ["max_pool2d", "avg_pool2d"])
def test_vmap(name: str) -> None:
    x = tensor(4, 2, 3, 6, 5)
    found = ow.vmap(lambda x: getattr(ow.nn.functional, name)(x, 2))(x)
    for i in range(4):
        compare(found[i], getattr(torch.nn.functional, name)(to_torch(x[i]), 2), i, "vmap")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("ceil_mode", [False, True])
def test_windows_with_ties_and_no_numbers(ceil_mode: bool, compiled: bool) -> None:
    """The first of equal elements, the last NaN, and places of windows in which nothing is larger than -inf."""
    draw = np.random.default_rng(0)
    for kernel, stride, padding, dilation in (([2, 2], [2, 2], 0, 1), ([3, 3], [2, 1], 1, 1), ([2, 3], [1, 2], 1, 2)):
        values = draw.integers(-2, 2, (2, 3, 9, 8)).astype(np.float32)
        values[draw.random(values.shape) < 0.1] = np.nan
        values[draw.random(values.shape) < 0.3] = -np.inf
        options = kernel, stride, padding, dilation, ceil_mode

        def pooled(x: ow.Tensor, options: Any = options) -> Any:
            return ow.ops.aten.max_pool2d_with_indices.default(x, *map(_listed, options[:4]), options[4])

        found = (ow.compile(pooled) if compiled else pooled)(ow.from_numpy(values))
        wanted = torch.nn.functional.max_pool2d(torch.from_numpy(values), *options, return_indices=True)
        for have, want in zip(found, wanted, strict=True):
            np.testing.assert_array_equal(have.numpy(), want.numpy())


def _listed(value: Any) -> Any:
    return value if isinstance(value, list) else [value]


@pytest.mark.parametrize(("name", "sizes"), [("max_pool2d", (2, 3, 6, 5)), ("max_pool3d", (2, 4, 4, 5))], ids=str)
@pytest.mark.parametrize("adaptive", [False, True])
def test_second_derivatives_of_maxima(name: str, sizes: Any, adaptive: bool) -> None:
    """By the input they are 0, and there."""

    def call(m: Any, x: Any) -> Any:
        f = m.nn.functional
        y = getattr(f, f"adaptive_{name}")(x, 2) if adaptive else getattr(f, name)(x, 2, ceil_mode=True)
        (grad,) = m.autograd.grad(y.sum(), x, create_graph=True)
        return [grad, *m.autograd.grad((y * y * y).sum(), x, create_graph=True)]

    found = [call(ow, tensor(*sizes).requires_grad_()), call(torch, to_torch(tensor(*sizes)).requires_grad_())]
    for mine, other in zip(*found, strict=True):
        assert mine.requires_grad == other.requires_grad
        compare(mine.detach(), other.detach(), name)
    x = tensor(*sizes).requires_grad_()
    assert ow.autograd.gradgradcheck(lambda x: call(ow, x)[1], (x,)) if adaptive else True

"""Convolution and its gradients against PyTorch, over many shapes, and what both refuse."""

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
from opweave.registry.errors import OpweaveError, UnsupportedError
from opweave.registry.op import OpOverload
from opweave.registry.ops import convolution, windows

#: Sums of many products; their error goes with the size of the terms.

DTYPES = [ow.float32, ow.float64, ow.float16, ow.bfloat16]


def tensor(*sizes: int, seed: int = 0, dtype: Any = ow.float64) -> ow.Tensor:
    values = np.random.default_rng([seed, *sizes]).standard_normal(sizes)
    return ow.from_numpy(np.asarray(values)).to(dtype)


@pytest.mark.parametrize(
    "op",
    [
        op
        for op in ops_with_samples(convolution)
        if op.namespace == "aten" or not left_out("samples, ops that PyTorch does not have")
    ],
    ids=str,
)
def test_samples(op: OpOverload) -> None:
    assert check(op)


def gradients(module: Any, fn: Any, leaves: list[Any]) -> list[Any]:
    """The result, its gradients, and gradients of those."""
    out = fn(*leaves)
    weight = module.linspace(-1, 1, out.numel(), dtype=out.dtype).reshape(out.shape)
    first = list(module.autograd.grad([out], leaves, [weight], create_graph=True))
    parts = [(g * g).sum() for g in first]
    total = sum(parts[1:], parts[0])
    second = module.autograd.grad([total], leaves, allow_unused=True, materialize_grads=True)
    return [out, *first, *second]


def same_gradients(ours: Any, theirs: Any, arguments: list[ow.Tensor]) -> None:
    mine = gradients(ow, ours, [a.detach().requires_grad_() for a in arguments])
    other = gradients(torch, theirs, [to_torch(a).requires_grad_() for a in arguments])
    for a, b in zip(mine, other, strict=True):
        compare(a.detach(), b.detach(), "gradient", "convolution, gradients")


GEOMETRIES = list(itertools.product([1, 2], [0, 1, 3], [1, 2], [1, 2]))  # stride, padding, dilation, groups


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), GEOMETRIES)
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_geometry(spatial: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    sizes, kernel = (7, 6, 5)[:spatial], (3, 2, 2)[:spatial]
    x, w, b = tensor(2, 4, *sizes), tensor(6, 4 // groups, *kernel, seed=1), tensor(6, seed=2)
    options = {"stride": stride, "padding": padding, "dilation": dilation, "groups": groups}
    name = f"conv{spatial}d"
    ours, theirs = getattr(ow.nn.functional, name), getattr(torch.nn.functional, name)
    same_gradients(lambda *t: ours(*t, **options), lambda *t: theirs(*t, **options), [x, w, b])


@pytest.mark.parametrize(("stride", "padding", "dilation", "groups"), GEOMETRIES)
@pytest.mark.parametrize("spatial", [1, 2, 3])
def test_transposed_geometry(spatial: int, stride: int, padding: int, dilation: int, groups: int) -> None:
    sizes, kernel = (6, 5, 5)[:spatial], (3, 4, 3)[:spatial]
    x, w, b = tensor(2, 4, *sizes), tensor(4, 6 // groups, *kernel, seed=1), tensor(6, seed=2)
    for extra in {0, max(stride, dilation) - 1}:
        options = {
            "stride": stride, "padding": padding, "dilation": dilation, "groups": groups, "output_padding": extra,
        }  # fmt: skip
        name = f"conv_transpose{spatial}d"
        ours, theirs = getattr(ow.nn.functional, name), getattr(torch.nn.functional, name)
        same_gradients(lambda *t: ours(*t, **options), lambda *t: theirs(*t, **options), [x, w, b])  # noqa: B023


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("multiplier", [1, 2])
def test_a_filter_for_each_channel(multiplier: int, transposed: bool) -> None:
    x, w = (
        tensor(2, 4, 7, 6),
        tensor(4 if transposed else 4 * multiplier, multiplier if transposed else 1, 3, 3, seed=1),
    )
    name = "conv_transpose2d" if transposed else "conv2d"
    options = {"groups": 4, "stride": (2, 1), "padding": 1}
    ours, theirs = getattr(ow.nn.functional, name), getattr(torch.nn.functional, name)
    same_gradients(lambda *t: ours(*t, **options), lambda *t: theirs(*t, **options), [x, w])


@pytest.mark.parametrize("block", [1, 2000, 40000])
def test_blocks_of_any_size_give_the_same(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(windows, "_BLOCK", block)
    for groups, stride in ((1, 1), (2, 2), (4, 1)):
        options = {"stride": stride, "padding": 1, "groups": groups}
        x, w = tensor(3, 4, 9, 8), tensor(8, 4 // groups, 3, 3, seed=1)
        same_gradients(
            lambda *t: ow.nn.functional.conv2d(*t, **options), lambda *t: torch.nn.functional.conv2d(*t, **options),  # noqa: B023
            [x, w],
        )  # fmt: skip


@pytest.mark.filterwarnings("ignore:Using padding='same'")
@pytest.mark.parametrize("padding", ["same", "valid"])
@pytest.mark.parametrize("kernel", [(3, 3), (4, 2), (1, 5)])
@pytest.mark.parametrize("dilation", [1, 2])
def test_named_padding(kernel: tuple[int, int], dilation: int, padding: str) -> None:
    x, w = tensor(3, 9, 10), tensor(2, 3, *kernel, seed=1)
    ours = ow.nn.functional.conv2d(x, w, padding=padding, dilation=dilation)
    theirs = torch.nn.functional.conv2d(to_torch(x), to_torch(w), padding=padding, dilation=dilation)
    compare(ours, theirs, padding, "convolution")


@pytest.mark.parametrize("dtype", [*DTYPES, ow.int64, ow.int32, ow.uint8], ids=repr)
def test_types(dtype: Any) -> None:
    rng = np.random.default_rng(0)
    x, w, b = (ow.from_numpy(rng.integers(0, 4, sizes)).to(dtype) for sizes in ((2, 3, 6, 5), (4, 3, 3, 3), (4,)))
    compare(ow.nn.functional.conv2d(x, w, b), torch.nn.functional.conv2d(*map(to_torch, (x, w, b))), dtype)


@pytest.mark.parametrize("layout", ["columns first", "strided", "expanded", "weight turned"])
def test_layouts(layout: str) -> None:
    x, w = tensor(2, 3, 7, 6), tensor(4, 3, 3, 3, seed=1)
    if layout == "columns first":
        x = tensor(2, 3, 6, 7).mT
    elif layout == "strided":
        x = tensor(2, 3, 14, 12)[:, :, ::2, ::2]
    elif layout == "expanded":
        x = tensor(2, 1, 7, 6).expand(2, 3, 7, 6)
    else:
        w = tensor(3, 4, 3, 3).transpose(0, 1)
    compare(ow.nn.functional.conv2d(x, w), torch.nn.functional.conv2d(to_torch(x), to_torch(w)), layout, "convolution")


def test_no_examples() -> None:
    x, w = tensor(0, 3, 5, 5), tensor(2, 3, 3, 3)
    same_gradients(ow.nn.functional.conv2d, torch.nn.functional.conv2d, [x, w])


def test_no_channels_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="without channels"):
        ow.nn.functional.conv2d(tensor(2, 0, 5, 5), tensor(2, 0, 3, 3))


@pytest.mark.parametrize("mask", list(itertools.product([False, True], repeat=3)), ids=str)
@pytest.mark.parametrize("transposed", [False, True])
def test_backward_gives_what_the_mask_asks_for(transposed: bool, mask: tuple[bool, ...]) -> None:
    x, w = tensor(2, 4, 6, 5), tensor(4, 2, 3, 3, seed=1)
    options: Any = [2, 1], [1, 0], [1, 1], transposed, [0, 0], 1 if transposed else 2
    g = ow.ops.aten.convolution.default(x, w, None, *options) * 0.5
    ours = ow.ops.aten.convolution_backward.default(g, x, w, None, *options, list(mask))
    theirs = torch.ops.aten.convolution_backward.default(*map(to_torch, (g, x, w)), None, *options, list(mask))
    assert [t is not None for t in ours] == list(mask)
    for a, b in zip(ours, theirs, strict=True):
        if a is not None:
            compare(a, b, mask, "convolution")


def _call(
    x: Any = (2, 4, 5, 5), w: Any = (4, 4, 3, 3), b: Any = None, stride: Any = (1, 1), padding: Any = (0, 0),
    dilation: Any = (1, 1), transposed: bool = False, extra: Any = (0, 0), groups: int = 1, types: Any = (0, 0, 0),
) -> tuple[Any, ...]:  # fmt: skip
    kinds = [ow.float32, ow.float64, ow.bool]
    made = [None if s is None else tensor(*s).to(kinds[t]) for s, t in zip((x, w, b), types, strict=True)]
    return (*made, list(stride), list(padding), list(dilation), transposed, list(extra), groups)


@pytest.mark.parametrize(
    "change",
    [
        {"x": (4, 5, 5)}, {"w": (4, 4)}, {"stride": (1, 1, 1)}, {"stride": ()}, {"stride": (0, 1)},
        {"padding": (-1, 0)}, {"dilation": (0, 1)}, {"groups": 0}, {"groups": 2}, {"groups": 3},
        {"w": (3, 2, 3, 3), "groups": 2}, {"x": (2, 3, 5, 5)}, {"x": (2, 4, 2, 2)}, {"x": (2, 4, 0, 5)},
        {"x": (2, 4, 0, 5), "padding": (2, 2)}, {"w": (0, 4, 3, 3)}, {"w": (4, 4, 0, 3)}, {"b": (5,)}, {"b": (4, 1)},
        {"types": (0, 1, 0)}, {"types": (2, 2, 0)}, {"b": (4,), "types": (0, 0, 1)},
        {"transposed": True, "x": (2, 3, 5, 5)}, {"transposed": True, "extra": (1, 0)},
        {"transposed": True, "extra": (-1, 0)}, {"transposed": True, "x": (2, 4, 1, 1), "padding": (2, 2)},
        {"transposed": True, "b": (5,)}, {"transposed": True, "groups": 3},
    ],
    ids=str,
)  # fmt: skip
def test_both_refuse(change: dict[str, Any]) -> None:
    arguments = _call(**change)
    with pytest.raises((RuntimeError, NotImplementedError)):
        torch.ops.aten.convolution.default(*[to_torch(a) if isinstance(a, ow.Tensor) else a for a in arguments])
    with pytest.raises(RuntimeError) as caught:
        ow.ops.aten.convolution.default(*arguments)
    assert isinstance(caught.value, OpweaveError)


def test_a_gradient_of_another_shape_is_refused() -> None:
    x, w = tensor(2, 4, 5, 5), tensor(4, 4, 3, 3)
    with pytest.raises(OpweaveError, match="gradient must have shape"):
        ow.ops.aten.convolution_backward.default(
            tensor(2, 4, 3, 4), x, w, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True] * 3
        )


@pytest.mark.parametrize(
    ("name", "sizes", "arguments"),
    [
        ("im2col", (2, 3, 2, 5), ([3, 3], [1, 1], [0, 0], [1, 1])),
        ("im2col", (2, 0, 5, 5), ([3, 3], [1, 1], [0, 0], [1, 1])),
        ("im2col", (2, 3, 5, 5), ([3], [1, 1], [0, 0], [1, 1])),
        ("im2col", (2, 3, 5, 5), ([3, 3], [1, 1], [0, 0], [0, 1])),
        ("col2im", (2, 27, 8), ([5, 5], [3, 3], [1, 1], [0, 0], [1, 1])),
        ("col2im", (2, 26, 9), ([5, 5], [3, 3], [1, 1], [0, 0], [1, 1])),
        ("col2im", (2, 27, 9), ([5, 5], [3, 3], [1, 1], [-1, 0], [1, 1])),
        ("col2im", (2, 27, 0), ([5, 5], [3, 3], [1, 1], [0, 0], [1, 1])),
    ],
)  # fmt: skip
def test_columns_that_both_refuse(name: str, sizes: tuple[int, ...], arguments: Any) -> None:
    x = tensor(*sizes)
    with pytest.raises(RuntimeError):
        getattr(torch.ops.aten, name).default(to_torch(x), *arguments)
    with pytest.raises(OpweaveError):
        getattr(ow.ops.aten, name).default(x, *arguments)


def test_autocast_casts_what_pytorch_casts() -> None:
    x, w = tensor(2, 3, 5, 5, dtype=ow.float32), tensor(4, 3, 3, 3, dtype=ow.float32)
    with ow.autocast("cpu", dtype=ow.bfloat16), torch.autocast("cpu", dtype=torch.bfloat16):
        for name, weight in (("conv2d", w), ("conv_transpose2d", w.transpose(0, 1))):
            ours = getattr(ow.nn.functional, name)(x, weight)
            compare(ours, getattr(torch.nn.functional, name)(to_torch(x), to_torch(weight)), name, "autocast")


def test_compiled_with_sizes_that_change() -> None:
    def run(x: ow.Tensor, w: ow.Tensor, b: ow.Tensor) -> ow.Tensor:
        return ow.relu(ow.nn.functional.conv2d(x, w, b, stride=2, padding=1)) * 2

    compiled = ow.compile(run)
    for count, size in ((2, 7), (3, 9), (5, 12)):
        arguments = [tensor(count, 3, size, size + 1), tensor(4, 3, 3, 3, seed=1), tensor(4, seed=2)]
        mine = [a.detach().requires_grad_() for a in arguments]
        other = [a.detach().requires_grad_() for a in arguments]
        compiled(*mine).sum().backward()
        run(*other).sum().backward()
        for a, b in zip(mine, other, strict=True):
            close(a.grad.numpy(), b.grad.numpy(), "indices, gradients")


@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("which", [c for c in itertools.product([False, True], repeat=3) if any(c)], ids=str)
@pytest.mark.filterwarnings("error")
def test_vmap(which: tuple[bool, bool, bool], transposed: bool, groups: int) -> None:
    sizes = (2, 4, 6, 5), (4, 6 // groups, 3, 2) if transposed else (6, 4 // groups, 3, 2), (6,)
    tensors = [tensor(*(s if not b else (*s, 5)), seed=i) for i, (s, b) in enumerate(zip(sizes, which, strict=True))]
    options: Any = [2, 1], [1, 0], [1, 1], transposed, [0, 0], groups
    found = ow.vmap(
        lambda *t: ow.ops.aten.convolution.default(*t, *options), in_dims=tuple([-1 if b else None for b in which])
    )(*tensors)
    for i in range(5):
        each = [to_torch(t.select(-1, i) if b else t) for t, b in zip(tensors, which, strict=True)]
        compare(found[i], torch.ops.aten.convolution.default(*each, *options), i, "convolution, one example")


@pytest.mark.filterwarnings("error")
def test_gradients_of_each_example() -> None:
    x, w = tensor(5, 3, 6, 5), tensor(4, 3, 3, 3, seed=1)

    def loss(w: ow.Tensor, x: ow.Tensor) -> ow.Tensor:
        return (ow.nn.functional.conv2d(x.unsqueeze(0), w, padding=1) ** 2).sum()

    found = ow.vmap(ow.func.grad(loss), in_dims=(None, 0))(w, x)
    for i in range(5):
        other = to_torch(w).requires_grad_()
        total = (torch.nn.functional.conv2d(to_torch(x[i : i + 1]), other, padding=1) ** 2).sum()
        compare(found[i], torch.autograd.grad(total, other)[0], i, "convolution, one example")

"""Native convolutions and their gradients against their definition in float64, on one thread and on several."""

from __future__ import annotations

import ctypes
import itertools
import os
import platform
import random
import subprocess
import sys
from typing import Any

import numpy as np
import pytest
from emulated_tiles import emulated_tiles

import opweave as ow
from opweave.codegen import convolution
from opweave.codegen.native import correlation, llvm, objects, pool
from opweave.registry.errors import DTypeError, ShapeError

aten = ow.ops.aten
Array = np.ndarray[Any, Any]


class Case:
    """A convolution of some sizes, steps and layouts."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        dims = draw.choice([1, 2, 2, 2, 3])
        some = lambda *values: [draw.choice(values) for _ in range(dims)]  # noqa: E731
        self.groups, channels, filters = draw.choice(
            [(1, 5, 33), (1, 17, 8), (2, 3, 7), (3, 8, 16), (4, 1, 1), (7, 1, 2), (1, 1, 9)]
        )
        self.kernel, self.stride = some(1, 1, 2, 3, 3, 5), some(1, 1, 2, 3)
        self.padding, self.dilation = some(0, 1, 2, 6), some(1, 1, 2)
        sizes = [
            max(draw.choice([1, 4, 7, 18] if dims < 3 else [2, 5]) + d * (k - 1) - p, 1)
            for k, d, p in zip(self.kernel, self.dilation, self.padding, strict=True)
        ]
        self.x_sizes = draw.choice([1, 2, 5]), self.groups * channels, *sizes
        self.w_sizes = self.groups * filters, channels, *self.kernel
        counts = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(sizes, self.kernel, self.stride, self.padding, self.dilation, strict=True)
        ]
        self.y_sizes = self.x_sizes[0], self.w_sizes[0], *counts
        self.layouts = [draw.choice(["plain", "plain", "last", "gaps"]) for _ in range(3)]

    def drawn(self, seed: int) -> list[Array]:
        """Input, weight and the gradient of the result."""
        draw = np.random.default_rng(seed)
        return [draw.standard_normal(sizes) for sizes in (self.x_sizes, self.w_sizes, self.y_sizes)]

    def exact(self, x: Array, w: Array, y: Array) -> tuple[Array, Array, Array]:
        """Result, gradient by the input, gradient by the weight: a tap at a time."""
        n, g = x.shape[0], self.groups
        pads = [(0, 0), (0, 0), *((p, p) for p in self.padding)]
        padded = np.pad(x, pads).reshape(n, g, -1, *(s + 2 * p for s, p in zip(x.shape[2:], self.padding, strict=True)))
        grads, filters = y.reshape(n, g, -1, *y.shape[2:]), w.reshape(g, -1, *w.shape[1:])
        out, of_x, of_w = np.zeros(grads.shape), np.zeros(padded.shape), np.zeros(filters.shape)
        for tap in itertools.product(*map(range, self.kernel)):
            at = (..., *(
                slice(t * d, t * d + (c - 1) * s + 1, s)
                for t, d, c, s in zip(tap, self.dilation, y.shape[2:], self.stride, strict=True)
            ))  # fmt: skip
            out += np.einsum("goc,ngc...->ngo...", filters[(..., *tap)], padded[at])
            of_x[at] += np.einsum("goc,ngo...->ngc...", filters[(..., *tap)], grads)
            places = (n, g, -1, grads[0, 0, 0].size)
            seen = padded[at].reshape(n, g, padded.shape[2], -1)
            of_w[(..., *tap)] = np.einsum("ngop,ngcp->goc", grads.reshape(places), seen)
        inside = (..., *(slice(p, p + s) for p, s in zip(self.padding, x.shape[2:], strict=True)))
        return (
            out.reshape(y.shape),
            of_x.reshape(n, -1, *of_x.shape[3:])[inside].reshape(x.shape),
            of_w.reshape(w.shape),
        )

    def laid(self, array: Array, layout: str) -> ow.Tensor:
        """The same numbers in a layout of their own."""
        if layout == "last":
            return ow.from_numpy(np.moveaxis(np.ascontiguousarray(np.moveaxis(array, 1, -1)), -1, 1))
        if layout == "gaps":
            return ow.from_numpy(np.repeat(array, 2, axis=-1)[..., ::2])
        return ow.from_numpy(array)

    def steps(self) -> tuple[list[int], list[int], list[int]]:
        return self.stride, self.padding, self.dilation


TOLERANCE = {"float32": 2e-6, "float64": 2e-14, "float16": 1e-3, "bfloat16": 8e-3}


def close(found: Array, exact: Array, dtype: str) -> None:
    assert found.shape == exact.shape
    if exact.size:
        np.testing.assert_allclose(found, exact, rtol=0, atol=TOLERANCE[dtype] * max(np.abs(exact).max(), 1e-3))


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_results_and_gradients_follow_the_definition(dtype: str) -> None:
    for seed in range(40 if dtype == "float32" else 12):
        case = Case(seed)
        kind = getattr(ow, dtype)
        given = [
            case.laid(array, layout).to(kind) for array, layout in zip(case.drawn(seed), case.layouts, strict=True)
        ]
        x, w, y = given
        bias = ow.from_numpy(np.arange(case.w_sizes[0]) / 8.0).to(kind)
        none = [0] * len(case.kernel)
        wide = [t.to(ow.float64).numpy() for t in given]
        exact = case.exact(*wide)
        added = exact[0] + bias.to(ow.float64).numpy().reshape(-1, *[1] * len(case.kernel))
        out = aten.convolution(x, w, bias, *case.steps(), False, none, case.groups)
        close(out.to(ow.float64).numpy(), added, dtype)
        grads = aten.convolution_backward(y, x, w, None, *case.steps(), False, none, case.groups, [True, True, False])
        for found, right in zip(grads[:2], exact[1:], strict=True):
            close(found.to(ow.float64).numpy(), right, dtype)


@pytest.mark.parametrize("groups", [1, 72], ids=["one group", "depthwise"])
@pytest.mark.parametrize("side", [29, 9])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_results_do_not_depend_on_the_number_of_threads(dtype: str, side: int, groups: int) -> None:
    draw, channels = np.random.default_rng(0), 40 if groups == 1 else groups
    x = draw.standard_normal((3, channels, 31, side), np.float32)
    w, y = (draw.standard_normal(s, np.float32) for s in ((72, channels // groups, 3, 3), (3, 72, 31, side)))
    a, b, g = (ow.from_numpy(array).to(getattr(ow, dtype)) for array in (x, w, y))
    steps = [1, 1], [1, 1], [1, 1]
    found: list[list[Array]] = []
    before = pool.get_num_threads()
    try:
        for threads in (1, 2, 3):
            pool.set_num_threads(threads)
            grads = aten.convolution_backward(g, a, b, None, *steps, False, [0, 0], groups, [True, True, False])
            out = aten.convolution(a, b, None, *steps, False, [0, 0], groups)
            found.append([t.float().numpy() for t in (out, *grads[:2])])
    finally:
        pool.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


def test_filters_whose_channels_are_parted() -> None:
    """Terms of 15 taps and 256 channels do not divide into blocks of whole channels."""
    draw = np.random.default_rng(3)
    y, w = draw.standard_normal((1, 256, 4, 6), np.float32), draw.standard_normal((256, 8, 3, 5), np.float32)
    x = ow.zeros(1, 8, 4, 6)
    case = Case(0)
    case.groups, case.kernel, case.stride, case.padding, case.dilation = 1, [3, 5], [1, 1], [1, 2], [1, 1]
    exact = case.exact(np.zeros((1, 8, 4, 6)), w.astype(np.float64), y.astype(np.float64))[1]
    found = aten.convolution_backward(
        ow.from_numpy(y), x, ow.from_numpy(w), None, *case.steps(), False, [0, 0], 1, [True, False, False]
    )[0]
    close(found.numpy(), exact, "float32")


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_several_channels_side_by_side(dtype: str) -> None:
    """Enough groups of one channel for a register, planes of more rows than are held, steps, layouts."""
    kind = getattr(ow, dtype)
    for seed in range(24 if dtype == "float32" else 8):
        case, draw = Case(seed), random.Random(seed)
        dims = len(case.kernel)
        case.groups, filters = draw.choice([(20, 1), (33, 2), (70, 1), (64, 3)])
        sizes = [
            max(draw.choice([1, 4, 7, 18, 35] if dims < 3 else [2, 5]) + d * (k - 1) - p, 1)
            for k, d, p in zip(case.kernel, case.dilation, case.padding, strict=True)
        ]
        counts = [
            (n + 2 * p - d * (k - 1) - 1) // s + 1
            for n, k, s, p, d in zip(sizes, case.kernel, case.stride, case.padding, case.dilation, strict=True)
        ]
        case.x_sizes, case.w_sizes = (2, case.groups, *sizes), (case.groups * filters, 1, *case.kernel)
        case.y_sizes = 2, case.groups * filters, *counts
        x, w, y = (
            case.laid(array, layout).to(kind) for array, layout in zip(case.drawn(seed), case.layouts, strict=True)
        )
        exact = case.exact(*(t.to(ow.float64).numpy() for t in (x, w, y)))
        none = [0] * dims
        found = [
            aten.convolution(x, w, None, *case.steps(), False, none, case.groups),
            *aten.convolution_backward(y, x, w, None, *case.steps(), False, none, case.groups, [True, True, False])[:2],
        ]
        for one, right in zip(found, exact, strict=True):
            close(one.to(ow.float64).numpy(), right, dtype)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("sizes", "kernel", "stride", "dilation"),
    [((1, 70, 75), (7, 7), 1, 1), ((2, 65, 130), (3, 5), 2, 1), ((1, 90, 61), (3, 3), 1, 9),
     ((1, 2, 900), (2, 5), 3, 2), ((2, 40, 33), (1, 7), 1, 1), ((1, 30, 40), (9, 1), 3, 1)],
)  # fmt: skip
def test_planes_of_more_rows_than_are_held(
    sizes: tuple[int, ...], kernel: tuple[int, int], stride: int, dilation: int, dtype: str
) -> None:
    case, kind, groups = Case(0), getattr(ow, dtype), 34
    case.groups, case.kernel, case.stride, case.dilation = groups, list(kernel), [stride] * 2, [dilation] * 2
    case.padding = [(k - 1) * dilation // 2 for k in kernel]
    case.x_sizes, case.w_sizes = (sizes[0], groups, *sizes[1:]), (groups, 1, *kernel)
    counts = [
        (n + 2 * p - dilation * (k - 1) - 1) // stride + 1
        for n, p, k in zip(sizes[1:], case.padding, kernel, strict=True)
    ]
    case.y_sizes = sizes[0], groups, *counts
    x, w, y = (ow.from_numpy(array).to(kind) for array in case.drawn(1))
    exact = case.exact(*(t.to(ow.float64).numpy() for t in (x, w, y)))
    found = [
        aten.convolution(x, w, None, *case.steps(), False, [0, 0], groups),
        *aten.convolution_backward(y, x, w, None, *case.steps(), False, [0, 0], groups, [True, True, False])[:2],
    ]
    for one, right in zip(found, exact, strict=True):
        close(one.to(ow.float64).numpy(), right, dtype)


def test_calls_of_the_same_sizes_are_planned_by_what_else_there_is() -> None:
    """Types, layouts, steps and the bias belong to a plan."""
    draw = np.random.default_rng(8)
    x, w = (ow.from_numpy(draw.standard_normal(s, np.float32)) for s in ((2, 4, 6, 6), (4, 4, 3, 3)))
    last = x.contiguous(memory_format=ow.channels_last)
    right = ow.conv2d(x, w, padding=1)
    for _ in range(2):
        found = ow.conv2d(last, w, padding=1)
        assert found.stride() == (144, 1, 24, 4)
        np.testing.assert_allclose(found.numpy(), right.numpy(), rtol=1e-5, atol=1e-5)
        assert ow.conv2d(x, w, padding=1).stride() == (144, 36, 6, 1)
        assert ow.conv2d(x, w, padding=1, stride=2).shape == (2, 4, 3, 3)
        assert ow.conv2d(x.double(), w.double(), padding=1).dtype is ow.float64
        for bias in (None, ow.ones(4), ow.full((4,), 2.0)):
            added = 0.0 if bias is None else float(bias[0])
            found = ow.conv2d(x, w, bias, padding=1)
            np.testing.assert_allclose(found.numpy(), right.numpy() + added, rtol=1e-5, atol=1e-5)
        with pytest.raises(DTypeError, match=r"f32\[2, 4, 6, 6\].*f64\[4, 4, 3, 3\]"):
            ow.conv2d(x, w.double(), padding=1)
        with pytest.raises(ShapeError, match=r"f32\[4, 3, 3, 3\]"):
            ow.conv2d(x, w[:, :3], padding=1)


@pytest.mark.parametrize("stride", [1, 2])
def test_channels_side_by_side_take_nothing_from_outside(stride: int) -> None:
    """What is not finite in a filter or a gradient counts only where it meets a number of the input."""
    draw = np.random.default_rng(2)
    x, w = draw.standard_normal((2, 70, 9, 9), np.float32), draw.standard_normal((70, 1, 3, 3), np.float32)
    w[3, 0, 0, 0], w[69, 0, 2, 2] = np.inf, np.nan
    steps = [stride] * 2, [1, 1], [1, 1]
    out = aten.convolution(ow.from_numpy(x), ow.from_numpy(w), None, *steps, False, [0, 0], 70).numpy()
    odd = np.zeros(out.shape, bool)
    odd[:, 3, 1:, 1:] = True
    odd[:, 69, : (9 - 2) // stride + 1, : (9 - 2) // stride + 1] = True
    np.testing.assert_array_equal(~np.isfinite(out), odd)
    y = np.ones_like(out)
    y[0, 5, 0, 0] = np.nan
    grads = aten.convolution_backward(
        *map(ow.from_numpy, (y, x, w)), None, *steps, False, [0, 0], 70, [True, True, False]
    )
    right = np.zeros((70, 1, 3, 3), bool)
    right[5, 0, 1:, 1:] = True
    np.testing.assert_array_equal(~np.isfinite(grads[1].numpy()), right)
    assert (~np.isfinite(grads[0].numpy()[0, 5])).sum() == 4


def test_an_empty_batch_has_no_gradient() -> None:
    for groups, channels in ((1, 4), (4, 1)):
        x, w = ow.zeros(0, 4, 6, 5), ow.ones(8, channels, 3, 3)
        y = aten.convolution(x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], groups)
        assert tuple(y.shape) == (0, 8, 6, 5)
        grads = aten.convolution_backward(
            y, x, w, None, [1, 1], [1, 1], [1, 1], False, [0, 0], groups, [True, True, False]
        )
        assert tuple(grads[0].shape) == (0, 4, 6, 5)
        np.testing.assert_array_equal(grads[1].numpy(), np.zeros(w.shape, np.float32))


def test_compiled_convolutions_take_other_sizes() -> None:
    draw = np.random.default_rng(1)
    w, v = (ow.from_numpy(draw.standard_normal(s, np.float32)) for s in ((6, 3, 3, 3), (6, 4, 4, 4)))

    def function(x: ow.Tensor) -> ow.Tensor:
        y = ow.nn.functional.conv2d(x, w, stride=2, padding=1)
        return ow.nn.functional.conv_transpose2d(ow.relu(y), v, stride=2, padding=1)

    compiled = ow.compile(function, dynamic=True)
    for sizes in ((2, 3, 12, 10), (3, 3, 15, 22), (1, 3, 7, 9)):
        x = ow.from_numpy(draw.standard_normal(sizes, np.float32))
        np.testing.assert_allclose(compiled(x).numpy(), function(x).numpy(), rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float16"])
@pytest.mark.parametrize(
    ("sizes", "filters", "kernel", "stride"),
    [((2, 33, 15, 13), 31, (3, 3), 1), ((1, 70, 9, 17), 100, (3, 5), 2), ((3, 129, 7, 7), 17, (1, 1), 1),
     ((2, 16, 20, 33), 300, (2, 2), 1), ((1, 300, 5, 6), 33, (3, 3), 1), ((1, 21, 41, 83), 24, (3, 3), 2),
     ((2, 31, 23, 64), 20, (3, 3), 1), ((1, 8, 9, 150), 40, (5, 5), 1), ((1, 5, 30, 77), 9, (7, 7), 2),
     ((2, 37, 14, 13), 200, (3, 3), 1), ((1, 20, 9, 9), 302, (1, 1), 1), ((2, 5, 37, 29), 3, (3, 3), 1),
     ((3, 9, 12, 12), 8, (1, 1), 1), ((3, 1, 27, 23), 6, (5, 5), 2)],
)  # fmt: skip
def test_many_channels(sizes: tuple[int, ...], filters: int, kernel: tuple[int, int], stride: int, dtype: str) -> None:
    """Parts of tiles, and several blocks of terms, filters and places."""
    draw, case = np.random.default_rng(5), Case(0)
    case.groups, case.kernel, case.stride, case.dilation = 1, list(kernel), [stride] * 2, [1, 1]
    case.padding = [k // 2 for k in kernel]
    counts = [(n + 2 * p - k) // stride + 1 for n, p, k in zip(sizes[2:], case.padding, kernel, strict=True)]
    kind = getattr(ow, dtype)
    given = [
        ow.from_numpy(draw.standard_normal(each, np.float32)).to(kind)
        for each in (sizes, (filters, sizes[1], *kernel), (sizes[0], filters, *counts))
    ]
    x, w, y = given
    exact = case.exact(*(t.to(ow.float64).numpy() for t in given))
    found = [
        aten.convolution(x, w, None, *case.steps(), False, [0, 0], 1),
        *aten.convolution_backward(y, x, w, None, *case.steps(), False, [0, 0], 1, [True, True, False])[:2],
    ]
    for one, right in zip(found, exact, strict=True):
        close(one.to(ow.float64).numpy(), right, dtype)


def test_what_is_not_finite_stays_in_its_window() -> None:
    draw = np.random.default_rng(6)
    x, w = draw.standard_normal((2, 20, 9, 11), np.float32), draw.standard_normal((35, 20, 3, 3), np.float32)
    x[1, 19, 8, 10], x[0, 3, 0, 0] = np.inf, np.nan
    found = aten.convolution(
        ow.from_numpy(x).bfloat16(), ow.from_numpy(w).bfloat16(), None, [1, 1], [1, 1], [1, 1], False, [0, 0], 1
    )
    odd = ~np.isfinite(found.float().numpy())
    right = np.zeros_like(odd)
    right[1, :, 7:, 9:] = right[0, :, :2, :2] = True
    assert (odd == right).all()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    ("channels", "filters", "size"), [(8, 20, (40, 64)), (37, 200, (14, 13)), (6, 4, (4, 4)), (8, 300, (20, 20))]
)
def test_filters_that_are_not_finite_meet_no_zeros_from_outside(
    channels: int, filters: int, size: tuple[int, int], dtype: str
) -> None:
    kind, draw = getattr(ow, dtype), np.random.default_rng(7)
    w = draw.standard_normal((filters, channels, 3, 3), np.float32)
    w[filters - 1, channels - 1, 0, 0], w[1, 2, 2, 2] = np.nan, np.inf
    x, y = (ow.from_numpy(draw.standard_normal((1, n, *size), np.float32)).to(kind) for n in (channels, filters))
    steps = [1, 1], [1, 1], [1, 1]
    weight = ow.from_numpy(w).to(kind)
    out = aten.convolution(x, weight, None, *steps, False, [0, 0], 1)
    odd = np.zeros((1, filters, *size), bool)
    odd[0, filters - 1, 1:, 1:] = odd[0, 1, :-1, :-1] = True
    np.testing.assert_array_equal(~np.isfinite(out.float().numpy()), odd)
    grad = aten.convolution_backward(y, x, weight, None, *steps, False, [0, 0], 1, [True, False, False])[0]
    odd = np.zeros((1, channels, *size), bool)
    odd[0, channels - 1, :-1, :-1] = odd[0, 2, 1:, 1:] = True
    np.testing.assert_array_equal(~np.isfinite(grad.float().numpy()), odd)


#: Kinds of machines with less than this one may have.
LESS = [
    correlation.Kind("float", 128, 16), correlation.Kind("float", 256, 16), correlation.Kind("bfloat", 256, 16),
    correlation.Kind("bfloat", 512, 32, True), correlation.Kind("bfloat", 512, 32, True, True),
]  # fmt: skip


@pytest.mark.skipif(not llvm.host().streams, reason="registers of other widths")
@pytest.mark.parametrize("kind", LESS, ids=str)
def test_machines_with_less_compute_the_same(kind: correlation.Kind, request: pytest.FixtureRequest) -> None:
    if kind.bits > llvm.host().vector_bits or (kind.paired and "avx512bf16" not in llvm.host().features):
        pytest.skip("this machine has no such registers or instructions")
    dtype = ow.float32 if kind.stored == "float" else ow.bfloat16
    name = convolution.symbol(dtype)
    with emulated_tiles():
        source = correlation.source(kind)
    if kind.tiles:
        request.getfixturevalue("one_thread")
    code = objects.load(
        llvm.compile_object(source, level=objects.PROMOTED), (name,), imports={"opweave_run": pool.run_address()}
    )
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.address(name))

    def operand(x: ow.Tensor) -> convolution.Operand:
        return x.data_ptr(), x.shape, x.stride()

    for seed in range(25):
        case = Case(seed)
        x, w, y = (ow.from_numpy(array).to(dtype) for array in case.drawn(seed))
        exact = case.exact(*(t.to(ow.float64).numpy() for t in (x, w, y)))
        for form, a, b, right in (("forward", x, w, exact[0]), ("input", y, w, exact[1]), ("weight", y, x, exact[2])):
            out = ow.full(right.shape, float("nan"), dtype=dtype)
            parts = operand(out), operand(a), operand(b)
            for words in convolution.words_of(form, dtype, *parts, None, case.groups, case.steps()):
                packed = (ctypes.c_int64 * len(words))(*words)
                assert run(ctypes.addressof(packed)) == 0
            close(out.to(ow.float64).numpy(), right, str(dtype).removeprefix("opweave."))


#: Convolutions whose operands and results the C library hands memory out for that is full of large numbers.
UNWRITTEN = """
import ctypes, itertools
import numpy as np, opweave
filled, c = ctypes.create_string_buffer(8), ctypes.CDLL("libm.so.6")
c.malloc.restype = ctypes.c_void_p
ctypes.memmove(filled, c.malloc(1 << 16), 8)
if filled.raw != b"\\x7f" * 8:
    print("not filled")
    raise SystemExit
opweave.set_num_threads(1)
draw, overflow = np.random.default_rng(0), 8
for kind, last, (n, channels, filters, side, kernel, stride, groups) in itertools.product(
    (opweave.float32, opweave.float64), (False, True),
    [(1, 3, 33, 20, 7, 2, 1), (1, 70, 41, 7, 3, 1, 1), (3, 5, 33, 9, 3, 1, 1), (2, 300, 19, 9, 3, 1, 1),
     (2, 17, 7, 13, 3, 2, 1), (1, 1, 9, 30, 3, 1, 1), (16, 33, 65, 9, 3, 1, 1), (1, 33, 65, 12, 1, 2, 1),
     (2, 40, 70, 11, 5, 3, 1), (2, 32, 2, 64, 1, 1, 1), (2, 19, 19, 17, 3, 2, 19), (4, 40, 40, 14, 3, 1, 40)],
):
    after, padding = (side + kernel // 2 * 2 - kernel) // stride + 1, kernel // 2
    x, w, y = (
        opweave.from_numpy(draw.standard_normal(sizes)).to(kind).contiguous(
            memory_format=opweave.channels_last if last else opweave.contiguous_format)
        for sizes in ((n, channels, side, side), (filters, channels // groups, kernel, kernel),
                      (n, filters, after, after))
    )
    steps = [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups
    for name, call in (
        ("forward", lambda: opweave.ops.aten.convolution(x, w, None, *steps)),
        ("input", lambda: opweave.ops.aten.convolution_backward(y, x, w, None, *steps, [True, False, False])),
        ("weight", lambda: opweave.ops.aten.convolution_backward(y, x, w, None, *steps, [False, True, False])),
    ):
        c.feclearexcept(overflow)
        call()
        assert not c.fetestexcept(overflow), (kind, last, x.shape, w.shape, stride, name)
print("done")
"""


@pytest.mark.skipif(sys.platform != "linux" or platform.machine() != "x86_64", reason="flags of SSE, glibc's settings")
def test_nothing_is_computed_with_what_nobody_has_written() -> None:
    """The time of a product with a subnormal number is that of a hundred others, even where nobody asks for it."""
    done = subprocess.run(
        [sys.executable, "-c", UNWRITTEN], capture_output=True, text=True, check=False,
        env={**os.environ, "GLIBC_TUNABLES": "glibc.malloc.perturb=128"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    if done.stdout.strip() == "not filled":
        pytest.skip("this C library does not fill memory")

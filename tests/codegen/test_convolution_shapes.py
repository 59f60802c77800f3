"""Native convolutions of shapes that are computed in ways of their own, against their definition in float64."""

from __future__ import annotations

import ctypes
import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import pytest
from emulated_tiles import emulated_tiles

import opweave as ow
from opweave.codegen import convolution
from opweave.codegen.native import correlation, llvm, objects, pool

aten = ow.ops.aten
Array = np.ndarray[Any, Any]


class Shape(NamedTuple):
    """Sizes and steps; all spatial dimensions have the same kernel and so on, unless they are given one by one."""

    batch: int
    channels: int
    filters: int
    sizes: tuple[int, ...]
    kernel: int = 3
    stride: int = 1
    padding: int = 1
    dilation: int = 1
    groups: int = 1

    def each(self, value: int) -> list[int]:
        return [value] * len(self.sizes)

    @property
    def counts(self) -> list[int]:
        reach = self.dilation * (self.kernel - 1) + 1
        return [(size + 2 * self.padding - reach) // self.stride + 1 for size in self.sizes]

    @property
    def steps(self) -> tuple[list[int], list[int], list[int]]:
        return self.each(self.stride), self.each(self.padding), self.each(self.dilation)

    def drawn(self, seed: int = 0) -> list[Array]:
        """Input, weight and the gradient of the result."""
        draw = np.random.default_rng(seed)
        filters = self.filters, self.channels // self.groups, *self.each(self.kernel)
        sizes = (self.batch, self.channels, *self.sizes), filters, (self.batch, self.filters, *self.counts)
        return [draw.standard_normal(each) for each in sizes]

    def exact(self, x: Array, w: Array, y: Array) -> list[Array]:
        """Result and gradients by input and weight: a tap at a time, of what it sees."""
        n, g = self.batch, self.groups
        images, grads = x.reshape(n, g, -1, *self.sizes), y.reshape(n, g, -1, *self.counts)
        filters = w.reshape(g, -1, *w.shape[1:])
        found = [np.zeros_like(of) for of in (grads, images, filters)]
        for tap in itertools.product(*map(range, w.shape[2:])):
            ours, theirs = [], []
            for t, size, count in zip(tap, self.sizes, self.counts, strict=True):
                past = t * self.dilation - self.padding
                first = max(0, -(past // self.stride))
                end = max(min(count, (size - 1 - past) // self.stride + 1), first)
                ours.append(slice(first, end))
                begin = first * self.stride + past
                stop = begin + (end - first) * self.stride
                theirs.append(slice(begin, stop, self.stride) if end > first else slice(0))
            at, to, of = (..., *theirs), (..., *ours), (..., *tap)
            seen, given = images[at], grads[to]
            if not seen.size:
                continue
            flat, flat_grads = seen.reshape(*seen.shape[:3], -1), given.reshape(*given.shape[:3], -1)
            found[0][to] += np.einsum("goc,ngcp->ngop", filters[of], flat).reshape(given.shape)
            found[1][at] += np.einsum("goc,ngop->ngcp", filters[of], flat_grads).reshape(seen.shape)
            found[2][of] += np.einsum("ngop,ngcp->goc", flat_grads, flat)
        return [one.reshape(of.shape) for one, of in zip(found, (y, x, w), strict=True)]


#: Long dilations, of which some rows see nothing, with many channels and few.
BLIND = [
    Shape(1, 40, 33, (9, 11), padding=4, dilation=4),
    Shape(2, 70, 17, (7, 7), padding=6, dilation=6),
    Shape(1, 9, 20, (33, 20), padding=18, dilation=18),
    Shape(1, 5, 8, (4, 6, 5), padding=3, dilation=3),
    Shape(2, 6, 9, (1, 1)),
    Shape(1, 300, 12, (40,), padding=20, dilation=20),
    Shape(1, 8, 8, (5, 5), padding=7, dilation=1),
    # Behind, taps of a phase of the gradient by the input see nothing.
    Shape(1, 8, 9, (12, 12), 2, 2, 1, 2),
]
#: Adjoints as one product: strides, few channels, more results than places; parts of a large image, several small ones.
SPREAD = [
    Shape(2, 20, 40, (14, 14), 3, 2, 1),
    Shape(3, 24, 64, (8, 8), 4, 2, 1),
    Shape(9, 33, 32, (4, 4), 2, 2, 0),
    Shape(1, 3, 9, (95, 130), 7, 2, 3),
    Shape(1, 40, 33, (130, 70), 3, 2, 1),
    Shape(1, 1, 12, (3000,), 10, 5, 0),
    Shape(1, 2, 40, (2600,), 31, 1, 15),
    Shape(2, 36, 66, (17, 13), 3, 3, 0),
    Shape(2, 16, 72, (12, 12), 3, 2, 2, 2, 2),
    Shape(1, 10, 32, (6, 8, 10), 3, 2, 1),
    Shape(8, 50, 32, (4, 4), 4, 1, 0),
    Shape(1, 3, 40, (48, 48), 16, 16, 0),
    Shape(1, 300, 300, (6, 6), 3, 2, 1),
    Shape(3, 12, 34, (9, 9), 1, 2, 0),
]
#: One place an image, one tap.
SINGLE = [
    Shape(n, g * c, g * o, (1,) * dims, 1, 1, 0, 1, g)
    for n, c, o, g, dims in [
        (1, 480, 20, 1, 2), (1, 7, 70, 2, 2), (5, 33, 130, 1, 2), (64, 100, 9, 1, 2), (65, 31, 8, 1, 2),
        (2, 1, 1, 3, 2), (3, 64, 65, 1, 1), (1, 16, 64, 1, 3),
    ]
]  # fmt: skip
#: One tap where the channels of a place may lie side by side.
TURNED = [
    Shape(2, 40, 33, (14, 9), 1, 1, 0),
    Shape(1, 302, 7, (5, 30), 1, 1, 0),
    Shape(3, 14, 70, (9, 9), 1, 2, 0, 1, 2),
    Shape(2, 1, 20, (33, 3), 1, 1, 0),
]
#: One tap and few filters, of images as they lie.
FEW = [
    Shape(2, 32, 2, (64, 64), 1, 1, 0),
    Shape(3, 9, 7, (11, 13), 1, 1, 0),
    Shape(2, 20, 16, (3, 5, 7), 1, 1, 0, 1, 2),
    Shape(1, 5, 1, (200,), 1, 1, 0),
]
#: Small images, whose places of all examples are computed together: strides, dilations, one dimension, one place.
SMALL = [
    Shape(33, 40, 33, (4, 4)),
    Shape(5, 20, 48, (7, 7)),
    Shape(8, 64, 40, (8, 8), 3, 1, 4, 4),
    Shape(16, 12, 20, (5, 6), 3, 2, 1),
    Shape(4, 9, 17, (9,), 5, 1, 2),
    Shape(6, 24, 33, (3, 5), 3, 1, 2, 1, 3),
    Shape(17, 8, 16, (1, 1)),
]
#: Windows that do not overlap.
WINDOWS = [
    Shape(2, 3, 20, (16, 25), 4, 4, 0),
    Shape(2, 20, 33, (8, 6), 2, 2, 0),
    Shape(3, 6, 10, (4, 4), 4, 1, 0),
    Shape(2, 8, 12, (8, 8), 4, 4, 0, 1, 2),
    Shape(1, 5, 9, (40,), 8, 8, 0),
    Shape(1, 4, 6, (4, 8, 8), 4, 4, 0),
]
#: Rows of long dilations, in stripes; terms that are put in order tap by tap, of several images and of many taps.
STRIPES = [
    Shape(1, 40, 33, (20, 33), 3, 1, 12, 12),
    Shape(2, 36, 20, (18, 24), 3, 2, 8, 8),
    Shape(2, 40, 33, (7, 6), 3, 1, 0),
    Shape(1, 70, 66, (9, 8), 5, 1, 2),
    Shape(1, 66, 34, (3, 4, 5)),
]
#: One channel a group, of as many as a register has and more; phases of a stride without taps.
LONE = [
    Shape(2, 40, 40, (9, 11), 3, 1, 1, 1, 40),
    Shape(3, 33, 33, (14, 8), 3, 2, 1, 1, 33),
    Shape(1, 70, 70, (12, 10), 2, 3, 0, 1, 70),
    Shape(2, 16, 16, (6, 5), 5, 1, 4, 2, 16),
    Shape(2, 600, 600, (5, 5), 3, 1, 1, 1, 600),
]
#: Many channels of bfloat16, whose tiles lie in rows as they are: with the places between rows, or whole tiles of rows;
#: strides, dilations, groups, channels in parts, many taps, few places.
TILED = [
    Shape(2, 64, 32, (12, 30)),
    Shape(1, 29, 70, (9, 31), 3, 2, 1),
    Shape(2, 160, 80, (14, 15), 3, 1, 2, 2, 2),
    Shape(8, 150, 20, (16, 60)),
    Shape(1, 28, 130, (20, 16), 5, 1, 2),
    Shape(2, 31, 64, (70,)),
    Shape(1, 32, 40, (3, 250), 2, 3, 0),
    Shape(1, 96, 33, (7, 7)),
    Shape(5, 62, 64, (6, 7)),
]
MORE = [*SMALL, *WINDOWS, *STRIPES, *LONE]
TOLERANCE = {"float32": 4e-6, "float64": 4e-14, "float16": 2e-3, "bfloat16": 1e-2}


def name_of(shape: Shape) -> str:
    return "x".join(map(str, (shape.batch, shape.channels, shape.filters, *shape.sizes))) + f" by {shape[4:]}"


def close(found: ow.Tensor, exact: Array, dtype: str) -> None:
    """Close to what is right, and finite where that is."""
    array, there = found.to(ow.float64).numpy(), np.isfinite(exact)
    assert array.shape == exact.shape
    assert (np.isfinite(array) == there).all()
    atol = TOLERANCE[dtype] * max(np.abs(exact[there]).max(initial=0), 1e-3)
    np.testing.assert_allclose(array[there], exact[there], rtol=0, atol=atol)


def wide(tensors: Sequence[ow.Tensor]) -> list[Array]:
    return [t.to(ow.float64).numpy() for t in tensors]


def results_of(shape: Shape, x: ow.Tensor, w: ow.Tensor, y: ow.Tensor) -> list[ow.Tensor]:
    none = shape.each(0)
    out = aten.convolution(x, w, None, *shape.steps, False, none, shape.groups)
    grads = aten.convolution_backward(y, x, w, None, *shape.steps, False, none, shape.groups, [True, True, False])
    return [out, *grads[:2]]


@pytest.mark.parametrize("shape", [*BLIND, *SPREAD, *SINGLE, *FEW, *MORE, *TILED], ids=name_of)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_results_and_gradients_follow_the_definition(dtype: str, shape: Shape) -> None:
    given = [ow.from_numpy(array).to(getattr(ow, dtype)) for array in shape.drawn()]
    for found, exact in zip(results_of(shape, *given), shape.exact(*wide(given)), strict=True):
        close(found, exact, dtype)


FLAT = [shape for shape in MORE if len(shape.sizes) == 2]


@pytest.mark.parametrize(
    "shape", [BLIND[0], *SPREAD[:3], *SPREAD[7:9], SINGLE[2], *TURNED, *FEW[:2], *TILED[:5], *FLAT], ids=name_of
)
@pytest.mark.parametrize("dtype", TOLERANCE)
def test_operands_lie_as_they_like(dtype: str, shape: Shape) -> None:
    given = [ow.from_numpy(array).to(getattr(ow, dtype)) for array in shape.drawn()]
    last = [t.contiguous(memory_format=ow.channels_last) for t in given]
    apart = [ow.repeat_interleave(t, 2, -1)[..., ::2] for t in given]
    for x, w, y in (last, apart, (last[0], given[1], apart[2]), (apart[0], given[1], last[2])):
        for found, exact in zip(results_of(shape, x, w, y), shape.exact(*wide(given)), strict=True):
            close(found, exact, dtype)


@pytest.mark.parametrize("shape", [s for s in SPREAD if s.stride > 1], ids=name_of)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_transposed_convolutions_add_their_bias_once(dtype: str, shape: Shape) -> None:
    kind = getattr(ow, dtype)
    given = [ow.from_numpy(array).to(kind) for array in shape.drawn()]
    bias = ow.from_numpy(np.arange(shape.channels) / 8 - 1).to(kind)
    counts = zip(shape.sizes, shape.counts, strict=True)
    reach = shape.dilation * (shape.kernel - 1) + 1 - 2 * shape.padding
    extra = [size - (count - 1) * shape.stride - reach for size, count in counts]
    found = aten.convolution(given[2], given[1], bias, *shape.steps, True, extra, shape.groups)
    exact = shape.exact(*wide(given))[1] + wide([bias])[0].reshape(-1, *shape.each(1))
    close(found, exact, dtype)


@pytest.mark.parametrize(
    "shape", [*BLIND, *SPREAD[:10], *MORE, Shape(2, 5, 5, (6, 7), padding=1, groups=5)], ids=name_of
)
@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf], ids=str)
def test_nothing_is_multiplied_by_the_zeros_around(value: float, shape: Shape) -> None:
    """Weights that are not finite spoil what has seen something by them, and nothing else; so do results' gradients."""
    x, w, y = (array.astype(np.float32) for array in shape.drawn())
    w.flat[0] = y.flat[-1] = value
    given = [ow.from_numpy(array) for array in (x, w, y)]
    with np.errstate(invalid="ignore"):
        exact = shape.exact(*wide(given))
    for found, right in zip(results_of(shape, *given), exact, strict=True):
        close(found, right, "float32")


@pytest.mark.parametrize("shape", TILED, ids=name_of)
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_tiles_of_what_is_not_finite(value: float, shape: Shape) -> None:
    """What is not finite spoils what sees it: no other place of its row, and no other filter of a tile."""
    arrays = shape.drawn()
    for which, place in ((0, -1), (1, 0), (2, -1), (1, -1)):
        given = [ow.from_numpy(array).bfloat16() for array in arrays]
        given[which].view(-1)[place] = value
        with np.errstate(invalid="ignore"):
            exact = shape.exact(*wide(given))
        for found, right in zip(results_of(shape, *given), exact, strict=True):
            close(found, right, "bfloat16")


@pytest.mark.parametrize("shape", [shape for shape in FLAT if shape.groups in (1, shape.channels)], ids=name_of)
@pytest.mark.parametrize("value", [np.nan, np.inf], ids=str)
def test_channels_side_by_side_see_no_zeros_around(value: float, shape: Shape) -> None:
    x, w, y = (array.astype(np.float32) for array in shape.drawn())
    w.flat[0] = y.flat[-1] = x.flat[-1] = value
    given = [ow.from_numpy(array) for array in (x, w, y)]
    last = [t.contiguous(memory_format=ow.channels_last) for t in given]
    with np.errstate(invalid="ignore"):
        exact = shape.exact(*wide(given))
    for found, right in zip(results_of(shape, *last), exact, strict=True):
        close(found, right, "float32")


@pytest.mark.parametrize("shape", [*BLIND[:4], *SPREAD, *SINGLE[:4], *FEW, *MORE, *TILED], ids=name_of)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_results_do_not_depend_on_the_number_of_threads(dtype: str, shape: Shape) -> None:
    given = [ow.from_numpy(array).to(getattr(ow, dtype)) for array in shape.drawn()]
    found: list[list[Array]] = []
    before = pool.get_num_threads()
    try:
        for threads in (1, 2, 3):
            pool.set_num_threads(threads)
            found.append(wide(results_of(shape, *given)))
    finally:
        pool.set_num_threads(before)
    for others in found[1:]:
        for one, other in zip(found[0], others, strict=True):
            np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("shape", [BLIND[0], SPREAD[1], SINGLE[0], SMALL[0], WINDOWS[0], STRIPES[0]], ids=name_of)
def test_compiled_functions_follow_the_definition(shape: Shape) -> None:
    given = [ow.from_numpy(array).float() for array in shape.drawn()]
    compiled = ow.compile(lambda x, w, y: tuple(results_of(shape, x, w, y)))
    for found, exact in zip(compiled(*given), shape.exact(*wide(given)), strict=True):
        close(found, exact, "float32")


@pytest.mark.parametrize("shape", [SINGLE[0], SINGLE[2], *FEW, *TILED[:5]], ids=name_of)
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_bias_is_added_once(dtype: str, shape: Shape) -> None:
    kind = getattr(ow, dtype)
    given = [ow.from_numpy(array).to(kind) for array in shape.drawn()]
    bias = ow.from_numpy(np.arange(2 * shape.filters) / 8 - 1).to(kind)[::2]
    found = aten.convolution(given[0], given[1], bias, *shape.steps, False, shape.each(0), shape.groups)
    close(found, shape.exact(*wide(given))[0] + wide([bias])[0].reshape(-1, *shape.each(1)), dtype)


def test_a_batch_may_be_empty() -> None:
    for shape in (SPREAD[0]._replace(batch=0), SINGLE[0]._replace(batch=0), BLIND[0]._replace(batch=0)):
        given = [ow.from_numpy(array).float() for array in shape.drawn()]
        out, of_x, of_w = results_of(shape, *given)
        assert out.numel() == of_x.numel() == 0
        assert not of_w.any()


@pytest.mark.skipif(not llvm.host().streams, reason="registers of other widths")
@pytest.mark.parametrize("bits", [128, 256, 512, "pairs", "tiles"])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_machines_with_less_compute_the_same(dtype: str, bits: int | str, request: pytest.FixtureRequest) -> None:
    paired = isinstance(bits, str)
    if paired and dtype == "float32":
        pytest.skip("pairs are of narrow numbers")
    long = bits if isinstance(bits, int) else 512
    if long > llvm.host().vector_bits or (paired and "avx512bf16" not in llvm.host().features):
        pytest.skip("this machine has no such registers")
    kind = getattr(ow, dtype)
    name = convolution.symbol(kind)
    registers = 32 if long == 512 else 16
    machine = correlation.Kind(convolution.STORED[kind], long, registers, paired, bits == "tiles")
    with emulated_tiles():
        source = correlation.source(machine)
    if machine.tiles:
        request.getfixturevalue("one_thread")
    code = objects.load(
        llvm.compile_object(source, level=objects.PROMOTED), (name,), imports={"opweave_run": pool.run_address()}
    )
    run = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p)(code.address(name))
    for shape in (*BLIND, *SPREAD, *SINGLE, *FEW, *MORE):
        x, w, y = (ow.from_numpy(array).to(kind) for array in shape.drawn())
        exact = shape.exact(*wide([x, w, y]))
        for form, a, b, right in (("forward", x, w, exact[0]), ("input", y, w, exact[1]), ("weight", y, x, exact[2])):
            out = ow.full(right.shape, float("nan"), dtype=kind)
            to, of, by = ((t.data_ptr(), t.shape, t.stride()) for t in (out, a, b))
            for words in convolution.words_of(form, kind, to, of, by, None, shape.groups, shape.steps):
                packed = (ctypes.c_int64 * len(words))(*words)
                assert run(ctypes.addressof(packed)) == 0
            close(out, right, dtype)

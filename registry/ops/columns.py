"""The windows of images as columns of a matrix, and their sum back: `im2col` and `col2im`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, check_example, front, joined, parted, wrap
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.convolution import computed, stored, window_counts
from opweave.registry.ops.kinds import extern
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.ops.windows import Windows
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

Sizes = Sequence[int]


def _column_windows(
    op: str, self: Tensor, sizes: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Windows:
    """The windows of an image of these two sizes, after checking the arguments."""
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride, "sizes": sizes}
    for name, values in given.items():
        least = 0 if name == "padding" else 1
        if len(values) != 2 or any(v < least for v in values):
            raise ShapeError(f"{op}: {name} must be two numbers of at least {least}", got=f"{name}={list(values)}")
    if self._dtype.kind not in "fcb":
        raise DTypeError(f"{op}: defined for floating and complex types and bool only", got=describe(self))
    counts = window_counts(op, sizes, kernel_size, stride, padding, dilation)
    return Windows(sizes, counts, kernel_size, stride, padding, dilation)


def _im2col_spec(self: Tensor, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> TensorSpec:
    if self.ndim not in (3, 4) or any(n == 0 for n in self._sizes[-3:]):
        raise ShapeError(
            "im2col: expected (batch, channels, height, width), only the batch may be empty", got=describe(self)
        )
    windows = _column_windows("im2col", self, self._sizes[-2:], kernel_size, dilation, padding, stride)
    rows = self._sizes[-3] * math.prod(windows.kernel)
    return contiguous((*self._sizes[:-3], rows, math.prod(windows.counts)), self._dtype, self._device)


@extern(
    "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    spec=_im2col_spec,
    outs="out",
)
def im2col(self: Tensor, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Tensor:
    """The windows of an image as columns: (batch, channels * kernel, windows)."""
    spec = _im2col_spec(self, kernel_size, dilation, padding, stride)
    windows = _column_windows("im2col", self, self._sizes[-2:], kernel_size, dilation, padding, stride)
    xp = self._device.xp
    if not spec.numel:
        return allocate_like(spec)
    image = self._array.reshape(-1, *self._sizes[-3:])
    return stored(spec, windows.view(xp, windows.pad(xp, image)).reshape(spec.sizes))


def _col2im_spec(
    self: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> TensorSpec:
    if self.ndim not in (2, 3) or any(n == 0 for n in self._sizes[-2:]):
        raise ShapeError(
            "col2im: expected (batch, channels * kernel, windows), only the batch may be empty", got=describe(self)
        )
    windows = _column_windows("col2im", self, output_size, kernel_size, dilation, padding, stride)
    rows, count = self._sizes[-2:]
    taps = math.prod(windows.kernel)
    if rows % taps or count != math.prod(windows.counts):
        raise ShapeError(
            f"col2im: expected a multiple of {taps} rows and {math.prod(windows.counts)} windows", got=describe(self)
        )
    return contiguous((*self._sizes[:-2], rows // taps, *output_size), self._dtype, self._device)


@extern(
    "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding,"
    " int[2] stride) -> Tensor",
    spec=_col2im_spec,
    outs="out",
)
def col2im(
    self: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Tensor:
    """Columns added up where their elements lie in an image: the adjoint of `im2col`.

    Of truth values it is whether any of them is true.
    """
    spec = _col2im_spec(self, output_size, kernel_size, dilation, padding, stride)
    if not spec.numel:
        return allocate_like(spec)
    windows = _column_windows("col2im", self, output_size, kernel_size, dilation, padding, stride)
    columns = computed(self).reshape(-1, spec.sizes[-3], *windows.kernel, *windows.counts)
    padded = self._device.xp.zeros((*columns.shape[:2], *windows.padded), columns.dtype)
    with np.errstate(all="ignore"):
        for tap in windows.taps():
            padded[windows.at(tap)] += columns[(slice(None), slice(None), *tap)]
    return stored(spec, padded[(..., *windows.inside)].reshape(spec.sizes))


def _folded(
    grad: Tensor, self_spec: TensorSpec, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Tensor:
    return ops.aten.col2im.default(grad, list(self_spec.sizes[-2:]), kernel_size, dilation, padding, stride)


def _unfolded(grad: Tensor, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Tensor:
    return ops.aten.im2col.default(grad, kernel_size, dilation, padding, stride)


im2col.backward(self=_folded)
col2im.backward(self=_unfolded)


@im2col.batching
@col2im.batching
def _columns(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    self = values["self"]
    # The examples are the batch, or join it.
    joins = self.ndim == (4 if op.opname == "im2col" else 3)
    values["self"] = joined(self, level) if joins else front(self, level)
    found = call(op, values)
    return wrap(parted(found, level) if joins else found, level)


@im2col.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, 6, 5), [3, 2], [1, 1], [0, 0], [1, 1]), {}
    yield (make(3, 6, 5), [2, 3], [2, 1], [1, 2], [2, 1]), {}
    yield (make(0, 3, 6, 5), [2, 2], [1, 1], [0, 0], [1, 1]), {}


@col2im.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 18, 16), [6, 5], [3, 2], [1, 1], [0, 0], [1, 1]), {}
    yield (make(18, 21), [6, 5], [2, 3], [2, 1], [1, 2], [2, 1]), {}
    yield (make(0, 12, 20), [6, 5], [2, 2], [1, 1], [0, 0], [1, 1]), {}


for _decl in (im2col, col2im):
    _decl.sample_dtypes = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.bool_)

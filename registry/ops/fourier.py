"""Discrete Fourier transforms, with the library of the arrays; real input gives the half that tells the rest.

Results have PyTorch's layouts: the transformed dimensions are innermost in memory.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import along, check_example
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import extern, normalize_axes
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import pointwise_strides
from opweave.registry.spec import TensorSpec
from opweave.registry.symbolic import demand
from opweave.registry.tensor import Tensor, allocate_like, describe

#: The complex type of a real one.
_COMPLEX = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}
_REAL = {wide: real for real, wide in _COMPLEX.items()}

# PyTorch's numbers of what a transform is divided by: nothing, the root of the number of points, the number.
_NORMALIZATIONS = (0, 1, 2)


def _axes(op: str, self: Tensor, dim: Sequence[int], normalization: int, taken: dict[DType, DType]) -> list[int]:
    """The dimensions, after checking the arguments."""
    if self._dtype not in taken:
        names = " or ".join([dtype.name for dtype in taken])
        raise DTypeError(f"{op}: defined for {names}", got=describe(self), hint="convert it first")
    if normalization not in _NORMALIZATIONS:
        raise ShapeError(f"{op}: unknown normalization {normalization}", hint="0, 1 or 2")
    axes = list(normalize_axes(list(dim), self.ndim, op)) if dim else []
    if axes and not self._sizes:
        raise ShapeError(f"{op}: a 0-d tensor has no dimension to transform", got=describe(self))
    for d in axes:
        demand(self._sizes[d] >= 1, f"{op}: no points in dimension {d}, which has size 0", ShapeError)
    return axes


def _given(op: str, self: Tensor, dim: Sequence[int], axes: list[int]) -> list[int]:
    """The dimensions in the order that they were given in."""
    if not axes:
        raise ShapeError(f"{op}: needs a dimension", got=describe(self))
    return [d + self.ndim if d < 0 else d for d in dim]


def _sorted(dims: Iterable[int], strides: Sequence[Any]) -> list[int]:
    """Outermost in memory first; dimensions of one stride stay in their order."""
    return sorted(dims, key=lambda d: strides[d], reverse=True)


def _strides(sizes: Sequence[Any], strides: Sequence[Any], signal: Sequence[int]) -> tuple[Any, ...]:
    """Strides of a result: the rest in the order it had in memory, then the transformed dimensions as they stand."""
    rest = _sorted([d for d in range(len(sizes)) if d not in signal], strides)
    found: list[Any] = [0] * len(sizes)
    step: Any = 1
    for d in [*rest, *signal][::-1]:
        found[d] = step
        step = step * (sizes[d] if sizes[d] > 1 else 1)
    return tuple(found)


def _scaled(array: Any, normalization: int, count: int) -> Any:
    if normalization == 0:
        return array
    return array / (math.sqrt(count) if normalization == 1 else count)


def _points(sizes: Sequence[int], axes: Sequence[int]) -> int:
    return math.prod([sizes[d] for d in axes])


# ---- complex -------------------------------------------------------------------------------------------------------


def _c2c_spec(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> TensorSpec:
    axes = _axes("_fft_c2c", self, dim, normalization, _REAL)
    if not axes:
        return TensorSpec(self._sizes, pointwise_strides(self._sizes, [self]), self._dtype, self._device)
    signal = _sorted(_given("_fft_c2c", self, dim, axes), self._strides)
    return TensorSpec(self._sizes, _strides(self._sizes, self._strides, signal), self._dtype, self._device)


@extern(
    "aten::_fft_c2c(Tensor self, SymInt[] dim, int normalization, bool forward) -> Tensor", spec=_c2c_spec, outs="out"
)
def _fft_c2c(self: Tensor, dim: Sequence[int], normalization: int, forward: bool) -> Tensor:
    """The transform of complex numbers; backwards, it is not divided by the number of points but as is said."""
    out = allocate_like(_c2c_spec(self, dim, normalization, forward))
    out._array[...] = _transformed(self._device.xp, self._array, list(dim), normalization, forward)
    return out


def _transformed(xp: Any, array: Any, axes: Sequence[int], normalization: int, forward: bool) -> Any:
    if not axes or not array.size:
        return array
    count = _points(array.shape, axes)
    with np.errstate(all="ignore"):
        if forward:
            return _scaled(xp.fft.fftn(array, axes=axes), normalization, count)
        return _scaled(xp.fft.ifftn(array, axes=axes, norm="forward"), normalization, count)


_fft_c2c.backward(
    self=lambda grad, dim, normalization, forward: ops.aten._fft_c2c.default(grad, dim, normalization, not forward)
)


# ---- from real numbers ---------------------------------------------------------------------------------------------


def _r2c_spec(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> TensorSpec:
    axes = _axes("_fft_r2c", self, dim, normalization, _COMPLEX)
    order = _given("_fft_r2c", self, dim, axes)
    sizes = list(self._sizes)
    if onesided:
        sizes[order[-1]] = sizes[order[-1]] // 2 + 1
    signal = [*_sorted(order[:-1], self._strides), order[-1]]
    strides = _strides(sizes, self._strides, signal)
    return TensorSpec(tuple(sizes), strides, _COMPLEX[self._dtype], self._device)


@extern(
    "aten::_fft_r2c(Tensor self, int[] dim, int normalization, bool onesided) -> Tensor", spec=_r2c_spec, outs="out"
)
def _fft_r2c(self: Tensor, dim: Sequence[int], normalization: int, onesided: bool) -> Tensor:
    """The transform of real numbers; of the last dimension the first half, where that is enough."""
    out = allocate_like(_r2c_spec(self, dim, normalization, onesided))
    if not out.numel():
        return out
    xp = self._device.xp
    with np.errstate(all="ignore"):
        found = (xp.fft.rfftn if onesided else xp.fft.fftn)(self._array, axes=list(dim))
        out._array[...] = _scaled(found, normalization, _points(self._sizes, list(dim)))
    return out


@_fft_r2c.backward
def _fft_r2c_backward(
    grad: Tensor, self_spec: TensorSpec, dim: Sequence[int], normalization: int, onesided: bool
) -> tuple[Tensor]:
    aten = ops.aten
    if onesided:
        last = dim[-1] % len(self_spec.sizes)
        missing = self_spec.sizes[last] - grad._sizes[last]
        grad = aten.constant_pad_nd.default(grad, [*(0, 0) * (len(self_spec.sizes) - 1 - last), 0, missing])
    return (aten.real.default(aten._fft_c2c.default(grad, dim, normalization, False)),)


# ---- to real numbers -----------------------------------------------------------------------------------------------


def _c2r_spec(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> TensorSpec:
    axes = _axes("_fft_c2r", self, dim, normalization, _REAL)
    *others, last = _given("_fft_c2r", self, dim, axes)
    fits = (last_dim_size >= 1, self._sizes[last] == last_dim_size // 2 + 1)
    message = f"_fft_c2r: {last_dim_size} points come from {last_dim_size // 2 + 1} numbers, not {self._sizes[last]}"
    for condition in fits:
        demand(condition, message, ShapeError)
    strides: Sequence[Any] = self._strides
    if others:
        strides = _strides(self._sizes, strides, _sorted(others, strides))
    sizes = list(self._sizes)
    sizes[last] = last_dim_size
    return TensorSpec(tuple(sizes), _strides(sizes, strides, [last]), _REAL[self._dtype], self._device)


@extern(
    "aten::_fft_c2r(Tensor self, int[] dim, int normalization, SymInt last_dim_size) -> Tensor",
    spec=_c2r_spec,
    outs="out",
)
def _fft_c2r(self: Tensor, dim: Sequence[int], normalization: int, last_dim_size: int) -> Tensor:
    """The real numbers whose transform, of the last dimension its first half, is given."""
    out = allocate_like(_c2r_spec(self, dim, normalization, last_dim_size))
    if not out.numel():
        return out
    xp = self._device.xp
    found = _transformed(xp, self._array, list(dim)[:-1], 0, False)
    with np.errstate(all="ignore"):
        found = xp.fft.irfft(found, n=last_dim_size, axis=dim[-1], norm="forward")
        out._array[...] = _scaled(found, normalization, _points(out._sizes, list(dim)))
    return out


@_fft_c2r.backward
def _fft_c2r_backward(grad: Tensor, dim: Sequence[int], normalization: int) -> tuple[Tensor]:
    aten = ops.aten
    found = aten._fft_r2c.default(grad, dim, normalization, True)
    last = dim[-1] % grad.ndim
    size = found._sizes[last]
    doubled = grad._sizes[last] - size
    # Each number that stands for its conjugate too counts twice.
    place = aten.arange.default(size, device=grad._device)
    twice = aten.logical_and.default(aten.ge.Scalar(place, 1), aten.le.Scalar(place, doubled))
    factor = aten.add.Tensor(aten._to_copy.default(twice, dtype=grad._dtype), 1)
    return (aten.mul.Tensor(found, aten.view.default(factor, [size, *(1,) * (grad.ndim - 1 - last)])),)


@_fft_c2c.batching
@_fft_r2c.batching
@_fft_c2r.batching
def _fft(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    return along("self")(op, level, args, kwargs)


# ---- samples -------------------------------------------------------------------------------------------------------

_DIMS = ([2], [0], [0, 2], [1, 0], [2, 1], [0, 1, 2])


def _inputs(make: Make) -> Iterable[Tensor]:
    yield make(4, 5, 3)
    yield ops.aten.permute.default(make(4, 5, 3), [2, 0, 1])
    yield ops.aten.slice.Tensor(make(4, 10, 3), 1, 0, None, 2)


@_fft_c2c.with_samples
def _(make: Make) -> Samples:
    for x in _inputs(make):
        for i, dim in enumerate(_DIMS):
            yield (x, dim, i % 3, i % 2 == 0), {}
    yield (make(2, 3), [], 0, True), {}
    yield (make(0, 3), [1], 0, True), {}


@_fft_r2c.with_samples
def _(make: Make) -> Samples:
    for x in _inputs(make):
        for i, dim in enumerate(_DIMS):
            yield (x, dim, i % 3, True), {}
            yield (x, dim, i % 3, False), {}
    yield (make(0, 3), [1], 0, True), {}
    yield (make(1), [0], 1, True), {}


@_fft_c2r.with_samples
def _(make: Make) -> Samples:
    for x in _inputs(make):
        for i, dim in enumerate(_DIMS):
            for odd in (0, 1):
                yield (x, dim, i % 3, 2 * x._sizes[dim[-1]] - 2 + odd), {}
    yield (make(0, 3), [1], 0, 4), {}
    yield (make(1), [0], 1, 1), {}


_fft_r2c.sample_dtypes = tuple(_COMPLEX)
for _decl in (_fft_c2c, _fft_c2r):
    _decl.sample_dtypes = tuple(_REAL)

"""Ops that read or write the places an index tensor names.

Every index is checked against its dimension, on every device: a wrong one raises, it never reads other memory.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError, UnsupportedError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.op import ops
from opweave.registry.ops.kinds import (
    InplaceDecl,
    Place,
    Places,
    Scatter,
    composite,
    extern,
    gather as gathering,
    scatter as scattering,
)
from opweave.registry.ops.numeric import as_element
from opweave.registry.ops.pointwise import conjugate
from opweave.registry.promote import broadcast_shapes, pointwise_strides
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, allocate, allocate_like, describe

Make = Callable[..., Tensor]
Samples = Iterable[tuple[tuple[Any, ...], dict[str, Any]]]

_Sizes = tuple[int, ...]

_INDEX_TYPES = (dtypes.int64, dtypes.int32, dtypes.int16, dtypes.int8)
MASK_TYPES = (dtypes.bool_, dtypes.uint8)


# ---- index.Tensor and index_put ------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Operand:
    """What `pointwise_strides` looks at."""

    _sizes: tuple[int, ...]
    _strides: tuple[int, ...]
    ndim: int = 1


def _check_indices(op: str, self: Tensor, indices: Sequence[Tensor | None]) -> None:
    used = 0
    for index in indices:
        if index is None:
            used += 1
            continue
        if index._dtype not in _INDEX_TYPES and index._dtype not in MASK_TYPES:
            raise DTypeError(f"{op}: index tensors must have an integer type or bool", got=describe(index))
        if index._dtype in MASK_TYPES:
            covered = self._sizes[used : used + index.ndim]
            if covered != index._sizes:
                raise OutOfRangeError(
                    f"{op}: the mask {list(index._sizes)} does not fit the dimensions {list(covered)} it covers",
                    got=f"{describe(self)}, {describe(index)}",
                )
        used += index.ndim if index._dtype in MASK_TYPES else 1
    if used > self.ndim:
        raise OutOfRangeError(f"{op}: too many indices for a {self.ndim}-d tensor", got=describe([self, *indices]))


def has_data(t: Tensor) -> bool:
    return t._storage.owner is not None


def _without_masks(op: str, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
    """Index tensors by dimension: a mask becomes the places where it is true."""
    result: list[Tensor | None] = []
    for index in indices:
        if index is None or index._dtype not in MASK_TYPES:
            result.append(index)
            continue
        if not has_data(index):
            count = dynamic_size(op, index, 0, index.numel())
            result += [_Operand((count,), (1,))] * max(index.ndim, 1)  # type: ignore[list-item]  # sizes are all of it
            continue
        if not index.ndim:
            raise ShapeError(f"{op}: a 0-d mask", got=describe(index), hint="use True or False")
        result += [Tensor._from_array(place, index._device) for place in index._device.xp.nonzero(index._array)]
    return result


class _Layout(NamedTuple):
    sizes: tuple[int, ...]  # of the result
    lead: int  # where the dimensions of the index tensors stand in it
    operands: list[_Operand]  # self and the index tensors, as if broadcast


def _layout(op: str, self: Tensor, indices: Sequence[Tensor | None]) -> _Layout:
    given = [d for d, index in enumerate(indices) if index is not None]
    shape = broadcast_shapes(op, *[index._sizes for index in indices if index is not None])
    adjacent = given == list(range(given[0], given[-1] + 1))
    lead = given[0] if adjacent else 0
    rest = [d for d in range(self.ndim) if d not in given]
    before, after = (rest[:lead], rest[lead:]) if adjacent else ([], rest)
    sizes = (*(self._sizes[d] for d in before), *shape, *(self._sizes[d] for d in after))
    strides = (*(self._strides[d] for d in before), *(0,) * len(shape), *(self._strides[d] for d in after))
    operands = [_Operand(sizes, strides)]
    for index in indices:
        if index is not None:
            tail = (1,) * len(after)
            operands.append(_Operand((*index._sizes, *tail), (*index._strides, *(0,) * len(after))))
    return _Layout(sizes, lead, operands)


def _index_spec(self: Tensor, indices: Sequence[Tensor | None]) -> TensorSpec:
    _check_indices("index", self, indices)
    places = _without_masks("index", indices)
    if all(place is None for place in places):
        return contiguous(self._sizes, self._dtype, self._device)
    layout = _layout("index", self, places)
    operands: Any = layout.operands
    return TensorSpec(layout.sizes, pointwise_strides(layout.sizes, operands), self._dtype, self._device)


@functools.lru_cache(maxsize=1024)
def _known_layout(sizes: _Sizes, strides: _Sizes, places: tuple[Any, ...]) -> tuple[_Sizes, _Sizes]:
    """Sizes and strides of an indexed tensor with data, by sizes and strides of it and of the index tensors."""
    operands: list[Any] = [None if place is None else _Operand(place[0], place[1], len(place[0])) for place in places]
    source: Any = _Operand(sizes, strides, len(sizes))
    layout = _layout("index", source, operands)
    of_all: Any = layout.operands
    return layout.sizes, pointwise_strides(layout.sizes, of_all)


def _arrays(op: str, self: Tensor, places: Sequence[Tensor | None]) -> tuple[Any, ...]:
    """A NumPy index, its numbers checked against the sizes."""
    xp = self._device.xp
    index: list[Any] = []
    for d, place in enumerate(places):
        if place is None:
            index.append(slice(None))
            continue
        array = place._array if place._device is self._device else xp.asarray(place._array)
        _check_range(op, array, self._sizes[d], d, lowest=-self._sizes[d])
        index.append(array)
    return tuple(index)


def _check_range(op: str, array: Any, size: int, dim: int, lowest: int) -> None:
    if array.size:
        least, most = int(array.min()), int(array.max())
        if least < lowest or most >= size:
            worst = least if least < lowest else most
            raise OutOfRangeError(f"{op}: index {worst} is out of range for dimension {dim} with size {size}")


def _index_places(self: Tensor, indices: Sequence[Tensor | None]) -> Places | None:
    given = [d for d, index in enumerate(indices) if index is not None]
    present = [index for index in indices if index is not None]
    if not given or any(index._dtype in MASK_TYPES for index in present):
        return None
    count = max(index.ndim for index in present)
    lead = given[0] if given == list(range(given[0], given[-1] + 1)) else 0
    rest = iter([*range(lead), *range(lead + count, count + self.ndim - len(given))])
    at: list[int | Place] = []
    for d in range(self.ndim):
        index = indices[d] if d < len(indices) else None
        at.append(next(rest) if index is None else Place(index, tuple(range(lead + count - index.ndim, lead + count))))
    return Places(self, tuple(at), True)


@gathering(
    "aten::index.Tensor(Tensor self, Tensor?[] indices) -> Tensor",
    spec=_index_spec,
    places=_index_places,
    own_tags="dynamic_output_shape",
    out="Tensor_out",
)
def index_tensor(self: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The elements at index tensors, which broadcast together; None takes a whole dimension."""
    _check_indices("index", self, indices)
    places = _without_masks("index", indices)
    given = [d for d, place in enumerate(places) if place is not None]
    if given:
        described = [None if place is None else (place._sizes, place._strides) for place in places]
        out = allocate(*_known_layout(self._sizes, self._strides, tuple(described)), self._dtype, self._device)
    else:
        out = allocate_like(contiguous(self._sizes, self._dtype, self._device))
    where = _arrays("index", self, places)
    if len(given) == 1 and self._sizes:
        _take(self, where[given[0]], given[0], out)
    else:
        out._array[...] = self._array[where]
    return out


def _take(source: Tensor, places: Any, axis: int, out: Tensor) -> None:
    """Write the elements at numbers along a dimension, which are known to be in range; negative ones count back."""
    array, target = source._array, out._array
    if source._device.is_host and array.flags.c_contiguous and target.flags.c_contiguous:
        # With a check of its own NumPy would write a copy first, and an index expression makes one.
        np.take(array, places, axis=axis, out=target, mode="wrap")
    else:
        target[...] = array[(slice(None),) * axis + (places,)]


def _check_put(op: str, self: Tensor, indices: Sequence[Tensor | None], values: Tensor) -> None:
    _check_indices(op, self, indices)
    if values._dtype is not self._dtype:
        raise DTypeError(f"{op}: the values must have the tensor's type", got=describe([self, values]))


def _put(op: str, self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool) -> None:
    """Write in place."""
    xp = self._device.xp
    places = _without_masks(op, indices)
    source = values._array if values._device is self._device else xp.asarray(values._array)
    where: Any = ...
    sizes = self._sizes
    if any(place is not None for place in places):
        where = _arrays(op, self, places)
        sizes = _layout(op, self, places).sizes
    if broadcast_shapes(op, sizes, values._sizes) != sizes:
        raise ShapeError(f"{op}: values {list(values._sizes)} do not broadcast to {list(sizes)}", got=describe(self))
    if not accumulate:
        self._array[where] = source
    else:
        _add(self, self._array, where, source)


def _index_put_spec(
    self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> TensorSpec:
    _check_put("index_put", self, indices, values)
    return TensorSpec(self._sizes, pointwise_strides(self._sizes, [self]), self._dtype, self._device)


def _index_put_target(
    self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False
) -> Scatter | None:
    places = _index_places(self, indices)
    return None if places is None else Scatter(places, values, accumulate)


@scattering(
    "aten::index_put(Tensor self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor",
    spec=_index_put_spec,
    target=_index_put_target,
    autocast={"cuda": "promote"},
    out=True,
)
def index_put(self: Tensor, indices: Sequence[Tensor | None], values: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with the values at the index tensors; of several values for one place, the last stays."""
    out = allocate_like(_index_put_spec(self, indices, values))
    out._array[...] = self._array
    _put("index_put", out, indices, values, accumulate)
    return out


class IndexPutDecl(InplaceDecl):
    """`index_put_`, which touches only the places it is given."""

    def run(self, *args: Any, **kwargs: Any) -> Tensor:
        target, indices, values, accumulate = self.bind(args, kwargs)
        _check_put("index_put_", target, indices, values)
        self._check(target, target._sizes, target._dtype)
        _put("index_put_", target, indices, values, accumulate)
        return target


index_put_ = IndexPutDecl(
    "aten::index_put_(Tensor(a!) self, Tensor?[] indices, Tensor values, bool accumulate=False) -> Tensor(a!)",
    index_put.op,
)


# ---- along one dimension -------------------------------------------------------------------------------------------


def _index_select_spec(self: Tensor, dim: int, index: Tensor) -> TensorSpec:
    axis = wrap_dim(dim, self.ndim, "index_select")
    if index.ndim > 1:
        raise ShapeError("index_select: the index must be a vector", got=describe(index))
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise DTypeError("index_select: the index must be int32 or int64", got=describe(index))
    if not self._sizes:
        if index.numel() != 1:
            raise ShapeError("index_select: only one index into a 0-d tensor", got=describe(index))
        return contiguous((), self._dtype, self._device)
    sizes = (*self._sizes[:axis], index.numel(), *self._sizes[axis + 1 :])
    return contiguous(sizes, self._dtype, self._device)


def _index_select_places(self: Tensor, dim: int, index: Tensor) -> Places | None:
    if not self.ndim or not index.ndim:
        return None
    axis = wrap_dim(dim, self.ndim, "index_select")
    return Places(self, tuple([Place(index, (d,)) if d == axis else d for d in range(self.ndim)]), False)


@gathering(
    "aten::index_select(Tensor self, int dim, Tensor index) -> Tensor",
    spec=_index_select_spec, places=_index_select_places, out=True
)  # fmt: skip
def index_select(self: Tensor, dim: int, index: Tensor) -> Tensor:
    """The slices of a dimension that a vector of indices names."""
    out = allocate_like(_index_select_spec(self, dim, index))
    axis = wrap_dim(dim, self.ndim, "index_select")
    places = index._array.reshape(-1)
    _check_range("index_select", places, self._sizes[axis] if self._sizes else 1, axis, lowest=0)
    if self._sizes:
        _take(self, places, axis, out)
    else:
        out._array[...] = self._array
    return out


def _gather_spec(self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> TensorSpec:
    axis = wrap_dim(dim, self.ndim, "gather")
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise DTypeError("gather: the index must be int64", got=describe(index))
    if max(index.ndim, 1) != max(self.ndim, 1) and index.numel():
        raise ShapeError("gather: the index must have as many dimensions as the tensor", got=describe([self, index]))
    if self.ndim == index.ndim:
        for d, (size, limit) in enumerate(zip(index._sizes, self._sizes, strict=True)):
            if d != axis and size > limit:
                raise ShapeError(
                    f"gather: the index is larger than the tensor in dimension {d}", got=describe([self, index])
                )
    return contiguous(index._sizes, self._dtype, self._device)


def _gather_places(self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Places | None:
    if not self.ndim or self.ndim != index.ndim:
        return None
    axis = wrap_dim(dim, self.ndim, "gather")
    place = Place(index, tuple(range(index.ndim)))
    return Places(self, tuple([place if d == axis else d for d in range(self.ndim)]), False)


@gathering(
    "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    spec=_gather_spec, places=_gather_places, out=True
)  # fmt: skip
def gather(self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    """`out[i][j] = self[index[i][j]][j]` for dimension 0, and so on."""
    out = allocate_like(_gather_spec(self, dim, index))
    if not out.numel():
        return out
    axis = wrap_dim(dim, self.ndim, "gather")
    source = self._array.reshape(self._sizes or (1,))
    places = index._array.reshape(index._sizes or (1,))
    _check_range("gather", places, source.shape[axis], axis, lowest=0)
    part = tuple(slice(None) if d == axis else slice(0, n) for d, n in enumerate(places.shape))
    out._array[...] = self._device.xp.take_along_axis(source[part], places, axis=axis).reshape(out._sizes)
    return out


@composite("aten::take_along_dim(Tensor self, Tensor indices, int? dim=None) -> Tensor", outs="out")
def take_along_dim(self: Tensor, indices: Tensor, dim: int | None = None) -> Tensor:
    aten = ops.aten
    if dim is None:
        return aten.gather.default(aten.reshape.default(self, [-1]), 0, aten.reshape.default(indices, [-1]))
    if not self.ndim or not indices.ndim:
        raise OutOfRangeError("take_along_dim: a tensor without dimensions", got=f"dim={dim}", hint="leave dim out")
    if self.ndim != indices.ndim:
        raise ShapeError("take_along_dim: tensor and indices differ in dimensions", got=describe([self, indices]))
    axis = wrap_dim(dim, self.ndim, "take_along_dim")
    rest = broadcast_shapes("take_along_dim", *[(*t._sizes[:axis], 1, *t._sizes[axis + 1 :]) for t in (self, indices)])
    wide = [aten.expand.default(t, [*rest[:axis], t._sizes[axis], *rest[axis + 1 :]]) for t in (self, indices)]
    return aten.gather.default(wide[0], axis, wide[1])


def _scatter_spec(self: Tensor, dim: int, index: Tensor, src: Tensor) -> TensorSpec:
    axis = wrap_dim(dim, self.ndim, "scatter")
    if index._dtype not in (dtypes.int64, dtypes.int32) or src._dtype is not self._dtype:
        raise DTypeError("scatter: needs an int64 index and a source of the tensor's type", got=describe([index, src]))
    if index.numel() and not max(self.ndim, 1) == max(index.ndim, 1) == max(src.ndim, 1):
        raise ShapeError("scatter: tensor, index and source differ in dimensions", got=describe([self, index, src]))
    sizes, own = src._sizes or (1,), self._sizes or (1,)  # a number is a vector of one
    for d, size in enumerate((index._sizes or (1,)) if index.numel() else ()):
        if size > sizes[d] or (d != axis and size > own[d]):
            raise ShapeError(f"scatter: the index is too large in dimension {d}", got=describe([self, index, src]))
    return contiguous(self._sizes, self._dtype, self._device)


def _scattered(self: Tensor, dim: int, index: Tensor, src: Tensor, write: Callable[[Any, Any, Any], None]) -> Tensor:
    """A copy, with the source written at the places the index names."""
    out = allocate_like(_scatter_spec(self, dim, index, src))
    out._array[...] = self._array
    if index.numel():
        axis = wrap_dim(dim, self.ndim, "scatter")
        target, places, source = (t._array.reshape(t._sizes or (1,)) for t in (out, index, src))
        _check_range("scatter", places, target.shape[axis], axis, lowest=0)
        part = tuple(slice(0, n) for n in places.shape)
        where = list(self._device.xp.ogrid[part])
        where[axis] = places
        write(target, tuple(where), source[part])
    return out


def _write(target: Any, where: Any, source: Any) -> None:
    target[where] = source


def _scatter_target(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Scatter | None:
    if not self.ndim == index.ndim == src.ndim:
        return None  # numbers beside vectors of one
    places = _gather_places(self, dim, index)
    return None if places is None else Scatter(places, src, False)


def _scatter_add_target(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Scatter | None:
    found = _scatter_target(self, dim, index, src)
    return None if found is None else found._replace(accumulate=True)


@scattering(
    "aten::scatter.src(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    spec=_scatter_spec, target=_scatter_target, out=True, inplace=True
)  # fmt: skip
def scatter(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with `out[index[i][j]][j] = src[i][j]` for dimension 0, and so on."""
    return _scattered(self, dim, index, src, _write)


@scattering(
    "aten::scatter_add(Tensor self, int dim, Tensor index, Tensor src) -> Tensor",
    spec=_scatter_spec, target=_scatter_add_target, autocast={"cuda": "promote"}, out=True, inplace=True
)  # fmt: skip
def scatter_add(self: Tensor, dim: int, index: Tensor, src: Tensor) -> Tensor:
    """A copy with `out[index[i][j]][j] += src[i][j]` for dimension 0, and so on."""
    return _scattered(self, dim, index, src, lambda *parts: _add(self, *parts))


@composite(
    "aten::scatter.value(Tensor self, int dim, Tensor index, Scalar value) -> Tensor", explicit=True, outs="value_out"
)
def scatter_value(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    """A copy with a number at the places that the index names."""
    number = as_element("scatter", value, self._dtype)
    source = ops.aten.new_full.default(self, index._sizes, number)
    return ops.aten.scatter.src(self, dim, index, source)


@composite("aten::scatter_.value(Tensor(a!) self, int dim, Tensor index, Scalar value) -> Tensor(a!)")
def scatter_value_(self: Tensor, dim: int, index: Tensor, value: Any) -> Tensor:
    number = as_element("scatter_", value, self._dtype)
    return ops.aten.scatter_.src(self, dim, index, ops.aten.new_full.default(self, index._sizes, number))


_REDUCES = ("sum", "prod", "mean", "amax", "amin")


def _scatter_reduce_spec(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> TensorSpec:
    if reduce not in _REDUCES:
        raise ShapeError("scatter_reduce: unknown reduction", got=repr(reduce), hint="one of " + ", ".join(_REDUCES))
    unordered = self._dtype.is_complex and reduce in ("amax", "amin") and index.numel()
    if unordered or (self._dtype.kind == "b" and reduce == "mean"):
        raise DTypeError(f"scatter_reduce: {reduce} is not defined for {self._dtype.name}", got=describe(self))
    return _scatter_spec(self, dim, index, src)


def _identity(reduce: str, dtype: dtypes.DType) -> Any:
    """What changes nothing in a reduction."""
    if reduce in ("amax", "amin"):
        lowest = reduce == "amax"
        if dtype.kind == "f":
            return -math.inf if lowest else math.inf
        if dtype.kind == "b":
            return not lowest
        limits = np.iinfo(dtype.numpy)
        return limits.min if lowest else limits.max
    return 1 if reduce == "prod" else 0


_UFUNCS = {"sum": "add", "prod": "multiply", "mean": "add", "amax": "maximum", "amin": "minimum"}
#: With bools, addition is `or` and multiplication `and`.
_BOOL_UFUNCS = {"sum": "logical_or", "prod": "logical_and", "amax": "logical_or", "amin": "logical_and"}


@extern(
    "aten::scatter_reduce.two(Tensor self, int dim, Tensor index, Tensor src, str reduce, *, bool include_self=True)"
    " -> Tensor",
    spec=_scatter_reduce_spec,
    out=True,
    inplace=True,
)
def scatter_reduce(
    self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str, include_self: bool = True
) -> Tensor:
    """A copy in which each place is reduced with all source elements that the index sends there.

    Without `include_self`, the places that get any lose what they had.
    """
    _scatter_reduce_spec(self, dim, index, src, reduce)
    xp = self._device.xp
    dtype = self._dtype
    combine = getattr(xp, (_BOOL_UFUNCS if dtype is dtypes.bool_ else _UFUNCS)[reduce])

    def write(target: Any, where: Any, source: Any) -> None:
        work = target if dtype.compute is dtype else target.astype(dtype.compute.numpy)
        if not include_self:
            work[where] = _identity(reduce, dtype)
        with np.errstate(all="ignore"):
            combine.at(work, where, source.astype(work.dtype))
            if reduce == "mean":
                count = xp.full(work.shape, int(include_self), np.int64)
                xp.add.at(count, where, 1)
                count = xp.maximum(count, 1)
                exact = dtype.kind in "iu"
                if exact:
                    work = (work // count).astype(work.dtype)
                else:
                    work = work / count.astype(work.dtype)
            target[...] = work

    return _scattered(self, dim, index, src, write)


def _add(self: Tensor, target: Any, where: Any, source: Any) -> None:
    """Add at places that may repeat."""
    xp = self._device.xp
    if self._dtype is dtypes.bfloat16:
        wide = target.astype(np.float32)
        xp.add.at(wide, where, source.astype(np.float32))
        target[...] = wide
    else:
        xp.add.at(target, where, source)


# ---- rows of a matrix ----------------------------------------------------------------------------------------------


def _embedding_spec(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> TensorSpec:
    if weight.ndim != 2:
        raise ShapeError("embedding: the weight must be a matrix", got=describe(weight))
    if indices._dtype not in (dtypes.int64, dtypes.int32):
        raise DTypeError("embedding: indices must be int32 or int64", got=describe(indices))
    return contiguous((*indices._sizes, weight._sizes[1]), weight._dtype, weight._device)


def _embedding_places(weight: Tensor, indices: Tensor, *_: Any) -> Places:
    return Places(weight, (Place(indices, tuple(range(indices.ndim))), indices.ndim), False)


@gathering(
    "aten::embedding(Tensor weight, Tensor indices, SymInt padding_idx=-1, bool scale_grad_by_freq=False,"
    " bool sparse=False) -> Tensor",
    spec=_embedding_spec,
    places=_embedding_places,
    out=True,
)
def embedding(
    weight: Tensor, indices: Tensor, padding_idx: int = -1, scale_grad_by_freq: bool = False, sparse: bool = False
) -> Tensor:
    """The rows of a matrix that an index tensor of any shape names."""
    out = allocate_like(_embedding_spec(weight, indices))
    _check_range("embedding", indices._array, weight._sizes[0], 0, lowest=0)
    if indices.numel():
        _take(weight, indices._array, 0, out)
    return out


def _check_rows(op: str, grad_output: Tensor, indices: Tensor) -> None:
    if indices._dtype not in (dtypes.int64, dtypes.int32):
        raise DTypeError(f"{op}: indices must be int32 or int64", got=describe(indices))
    if grad_output.ndim != indices.ndim + 1 or grad_output._sizes[:-1] != indices._sizes:
        raise ShapeError(f"{op}: needs a row of gradients for each index", got=describe([grad_output, indices]))


@composite(
    "aten::embedding_dense_backward(Tensor grad_output, Tensor indices, SymInt num_weights, SymInt padding_idx,"
    " bool scale_grad_by_freq) -> Tensor",
    explicit=True,
    outs="out",
)
def embedding_dense_backward(
    grad_output: Tensor, indices: Tensor, num_weights: int, padding_idx: int, scale_grad_by_freq: bool
) -> Tensor:
    """The gradient of the matrix of an embedding: each row's, added up; none for the row `padding_idx`."""
    aten = ops.aten
    _check_rows("embedding_dense_backward", grad_output, indices)
    width = grad_output._sizes[-1]
    places = aten.reshape.default(indices, [-1])
    # Here a negative number does not count from the end: it is out of range.
    places = aten.where(aten.lt.Scalar(places, 0), num_weights, places)
    grad = aten.reshape.default(grad_output, [places._sizes[0], width])
    if padding_idx >= 0:
        grad = aten.masked_fill.Scalar(grad, aten.unsqueeze.default(aten.eq.Scalar(places, padding_idx), 1), 0)
    if scale_grad_by_freq:
        once = aten.new_ones.default(grad, places._sizes)
        times = aten.index.Tensor(_added_at(once, [num_weights], [places]), [places])
        grad = aten.div.Tensor(grad, aten.unsqueeze.default(times, 1))
    return _added_at(grad, [num_weights, width], [places])


# ---- results whose size depends on data ----------------------------------------------------------------------------


def _nonzero_spec(self: Tensor) -> TensorSpec:
    count = dynamic_size("nonzero", self, 0, self.numel())
    return contiguous((count, self.ndim), dtypes.int64, self._device)


def _masked_select_spec(self: Tensor, mask: Tensor) -> TensorSpec:
    sizes = broadcast_shapes("masked_select", self._sizes, mask._sizes)
    return contiguous((dynamic_size("masked_select", self, 0, math.prod(sizes)),), self._dtype, self._device)


@extern("aten::nonzero(Tensor self) -> Tensor", spec=_nonzero_spec, tags="dynamic_output_shape", out=True)
def nonzero(self: Tensor) -> Tensor:
    """The indices of all elements other than 0, a row for each."""
    xp = self._device.xp
    places = xp.nonzero(self._array.reshape(self._sizes or (1,)))
    found = xp.stack(places[: self.ndim], axis=1) if self._sizes else xp.empty((len(places[0]), 0), np.int64)
    return Tensor._from_array(xp.ascontiguousarray(found.astype(np.int64)), self._device)


@extern(
    "aten::masked_select(Tensor self, Tensor mask) -> Tensor", spec=_masked_select_spec,
    tags="dynamic_output_shape", outs="out"
)  # fmt: skip
def masked_select(self: Tensor, mask: Tensor) -> Tensor:
    """The elements where a mask is true, as a vector."""
    if mask._dtype not in MASK_TYPES:
        raise DTypeError("masked_select: the mask must be bool", got=describe(mask))
    sizes = broadcast_shapes("masked_select", self._sizes, mask._sizes)
    xp = self._device.xp
    wide = xp.broadcast_to(self._array, sizes)
    return Tensor._from_array(wide[xp.broadcast_to(mask._array, sizes) != 0].reshape(-1), self._device)


def _masked_scatter_spec(self: Tensor, mask: Tensor, source: Tensor) -> TensorSpec:
    if mask._dtype is not dtypes.bool_:
        raise DTypeError("masked_scatter: the mask must be bool", got=describe(mask), hint="compare with != 0")
    if source._dtype is not self._dtype:
        raise DTypeError("masked_scatter: the source must have the tensor's type", got=describe([self, source]))
    sizes = broadcast_shapes("masked_scatter", self._sizes, mask._sizes)
    return contiguous(sizes, self._dtype, self._device)


@extern(
    "aten::masked_scatter(Tensor self, Tensor mask, Tensor source) -> Tensor",
    spec=_masked_scatter_spec,
    out=True,
    inplace=True,
)
def masked_scatter(self: Tensor, mask: Tensor, source: Tensor) -> Tensor:
    """A copy in which the places where the mask is true hold the first elements of the source, in order."""
    out = allocate_like(_masked_scatter_spec(self, mask, source))
    xp = self._device.xp
    chosen = xp.broadcast_to(mask._array, out._sizes)
    count = int(chosen.sum())
    if count > source.numel():
        raise ShapeError(
            f"masked_scatter: the mask is true at {count} places, the source has {source.numel()} elements",
            got=describe([mask, source]),
        )
    out._array[...] = self._array
    out._array[chosen] = source._array.reshape(-1)[:count]
    return out


@composite("aten::masked_scatter_backward(Tensor grad_output, Tensor mask, SymInt[] sizes) -> Tensor")
def masked_scatter_backward(grad_output: Tensor, mask: Tensor, sizes: Sequence[int]) -> Tensor:
    """The gradient of the source: what came to the places where the mask is true, in order, and zeros."""
    aten = ops.aten
    count = math.prod(sizes)
    if count == 0 or not grad_output.numel():
        return aten.new_zeros.default(grad_output, list(sizes))
    chosen = aten.reshape.default(aten.expand.default(mask, list(grad_output._sizes)), [-1])
    grad = aten.reshape.default(grad_output, [-1])
    places = aten.sub.Tensor(aten.cumsum.default(chosen, 0), 1)
    # Where it is not true, nothing is added, to the first element.
    places = aten.where.self(chosen, places, aten.zeros_like.default(places))
    grad = aten.where.self(chosen, grad, aten.new_zeros.default(grad, []))
    return aten.view.default(_added_at(grad, [count], [places]), list(sizes))


# ---- gradients -----------------------------------------------------------------------------------------------------


def _added_at(grad: Tensor, sizes: Sequence[int], indices: Sequence[Tensor | None]) -> Tensor:
    """Zeros with a gradient added at the places it came from."""
    return ops.aten.index_put.default(ops.aten.new_zeros.default(grad, sizes), indices, grad, True)


index_tensor.backward(self=lambda grad, self_spec, indices: _added_at(grad, self_spec.sizes, indices))


@index_put.backward
def _index_put_backward(
    grad: Tensor, needs: Sequence[bool], indices: Sequence[Tensor | None], values_spec: TensorSpec, accumulate: bool
) -> tuple[Any, ...]:
    aten = ops.aten
    of_self = of_values = None
    if needs[0]:
        nothing = aten.new_zeros.default(grad, [])
        of_self = grad if accumulate else aten.index_put.default(grad, indices, nothing)
    if needs[-1]:
        of_values = _of_one_value(grad, indices) if not values_spec.sizes else aten.index.Tensor(grad, indices)
    return of_self, None, of_values


def _of_one_value(grad: Tensor, indices: Sequence[Tensor | None]) -> Tensor:
    """The gradient of one number that was written wherever the indices say."""
    masks = [place for place in indices if place is not None]
    if len(indices) == 1 and len(masks) == 1 and masks[0]._dtype.kind == "b" and masks[0]._sizes == grad._sizes:
        # How many places there are depends on data, which a sum over all of them does not.
        return ops.aten.sum.default(ops.aten.where.self(masks[0], grad, ops.aten.new_zeros.default(grad, [])))
    return ops.aten.index.Tensor(grad, indices)


@index_select.backward
def _index_select_backward(grad: Tensor, self_spec: TensorSpec, dim: int, index: Tensor) -> tuple[Any, ...]:
    sizes = self_spec.sizes
    if not sizes:
        return grad, None
    at = wrap_dim(dim, len(sizes), "index_select")
    return _added_at(grad, sizes, [*(None,) * at, ops.aten.reshape.default(index, [-1])]), None


gather.backward(
    self=lambda grad, self_spec, dim, index: ops.aten.scatter_add.default(
        ops.aten.new_zeros.default(grad, self_spec.sizes), dim, index, grad
    )
)


def _gathered(grad: Tensor, dim: int, index: Tensor, src_spec: TensorSpec) -> Tensor:
    """The gradient of a scattered source, which may be larger than the index."""
    return _widened_to(ops.aten.gather.default(grad, dim, index), src_spec.sizes)


def _widened_to(t: Tensor, sizes: Sequence[int]) -> Tensor:
    """The tensor with zeros behind, up to these sizes."""
    for d, (size, used) in enumerate(zip(sizes, t._sizes, strict=False)):
        if size != used:
            t = ops.aten.slice_backward.default(t, (*sizes[: d + 1], *t._sizes[d + 1 :]), d, 0, used, 1)
    return t


scatter.backward(
    self=lambda grad, dim, index: ops.aten.scatter.src(
        grad, dim, index, ops.aten.new_zeros.default(grad, index._sizes)
    ),
    src=_gathered,
)
scatter_add.backward(self=lambda grad: grad, src=_gathered)


scatter_value.backward(self=lambda grad, dim, index: ops.aten.scatter.value(grad, dim, index, 0))


@scatter_reduce.backward
def _scatter_reduce_backward(
    grad: Tensor, needs: Sequence[bool], self: Tensor, dim: int, index: Tensor, src: Tensor, reduce: str,
    include_self: bool, result: Tensor,
) -> tuple[Any, ...]:  # fmt: skip
    aten = ops.aten
    if not index.numel():
        return grad, None, aten.zeros_like.default(src)
    whole, src = src, _first_of(src, index._sizes)

    def at(t: Tensor) -> Tensor:
        return aten.gather.default(t, dim, index)

    def added(t: Tensor) -> Tensor:
        return aten.scatter_add.default(aten.new_zeros.default(grad, self._sizes), dim, index, t)

    if reduce == "sum":
        of_self, of_src = grad, at(grad)
    elif reduce == "mean":
        count = added(aten.ones_like.default(src))
        shared = aten.div.Tensor(grad, aten.clamp_min.default(count + 1 if include_self else count, 1))
        of_self, of_src = shared, at(shared)
    elif reduce == "prod":
        of_self, of_src = _product_gradients(grad, self, dim, index, src, include_self, result, added)
    else:
        own, theirs = aten.eq.Tensor(self, result), aten.eq.Tensor(src, at(result))
        of_type = {"dtype": grad._dtype}
        own, theirs = (aten._to_copy.default(t, **of_type) for t in (own, theirs))
        shared = aten.div.Tensor(grad, aten.add.Tensor(own, added(theirs)))
        of_self, of_src = aten.mul.Tensor(own, shared), aten.mul.Tensor(theirs, at(shared))
    if needs[0] and not include_self:
        of_self = aten.scatter.value(of_self, dim, index, 0)
    return of_self, None, _widened_to(of_src, whole._sizes) if needs[-1] else None


def _product_gradients(
    grad: Tensor, self: Tensor, dim: int, index: Tensor, src: Tensor, include_self: bool, result: Tensor,
    added: Callable[[Tensor], Tensor],
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """For each factor the gradient times the product of all others, which division does not give where one is 0."""
    aten = ops.aten
    reduced = {"include_self": include_self}

    def at(t: Tensor) -> Tensor:
        return aten.gather.default(t, dim, index)

    own_zero, zero = aten.eq.Scalar(self, 0), aten.eq.Scalar(src, 0)
    filled = aten.masked_fill.Scalar(self, own_zero, 1)
    others = aten.scatter_reduce.two(filled, dim, index, src, "prod", **reduced)
    of_self = aten.div.Tensor(aten.mul.Tensor(grad, conjugate(others)), conjugate(filled))
    zeros = added(aten._to_copy.default(zero, dtype=grad._dtype))
    single = aten.logical_and.default(zero, aten.eq.Scalar(at(zeros), 1))
    without = aten.scatter_reduce.two(self, dim, index, aten.masked_fill.Scalar(src, single, 1), "prod", **reduced)
    at_single = at(aten.mul.Tensor(grad, conjugate(without)))
    # Of several zeros for one place, each has another zero among its others.
    slope = aten.div.Tensor(
        at(aten.mul.Tensor(grad, conjugate(result))), conjugate(aten.masked_fill.Scalar(src, zero, 1))
    )
    return of_self, aten.where.self(single, at_single, slope)


def _first_of(t: Tensor, sizes: Sequence[int]) -> Tensor:
    for d, (size, used) in enumerate(zip(t._sizes, sizes, strict=False)):
        if size != used:
            t = ops.aten.slice.Tensor(t, d, 0, used)
    return t


masked_scatter.backward(
    self=lambda grad, mask: ops.aten.masked_fill.Scalar(grad, mask, 0),
    source=lambda grad, mask, source_spec: ops.aten.masked_scatter_backward.default(grad, mask, source_spec.sizes),
)


@embedding.backward
def _embedding_backward(
    grad: Tensor, weight_spec: TensorSpec, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, sparse: bool
) -> tuple[Any, ...]:
    if sparse:
        raise UnsupportedError("embedding: sparse gradients are not supported", hint="pass sparse=False")
    found = ops.aten.embedding_dense_backward.default(
        grad, indices, weight_spec.sizes[0], padding_idx, scale_grad_by_freq
    )
    return found, None


@embedding_dense_backward.backward
def _embedding_dense_backward_backward(
    grad: Tensor, indices: Tensor, padding_idx: int, scale_grad_by_freq: bool, grad_output_spec: TensorSpec
) -> tuple[Any, ...]:
    aten = ops.aten
    found = aten.index.Tensor(grad, [indices])
    if padding_idx >= 0:
        found = aten.masked_fill.Scalar(found, aten.unsqueeze.default(aten.eq.Scalar(indices, padding_idx), -1), 0)
    if scale_grad_by_freq:
        row = aten.reshape.default(indices, [-1])
        times = _added_at(aten.new_ones.default(grad, row._sizes), [grad._sizes[0]], [row])
        found = aten.div.Tensor(found, aten.unsqueeze.default(aten.index.Tensor(times, [indices]), -1))
    return found, None


nonzero.backward()


@masked_select.backward
def _masked_select_backward(grad: Tensor, self_spec: TensorSpec, mask: Tensor) -> tuple[Any, ...]:
    sizes = broadcast_shapes("masked_select", self_spec.sizes, mask._sizes)
    if not sizes:
        return ops.aten.sum.default(grad), None
    return _added_at(grad, sizes, [ops.aten.expand.default(mask, sizes)]), None


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.permute.default(x, [2, 0, 1])


def _sources(make: Make) -> Iterable[Tensor]:
    """Tensors of sizes (4, 5, 3) in three layouts."""
    yield make(4, 5, 3)
    yield _turned(make(5, 3, 4))
    yield ops.aten.slice.Tensor(make(4, 10, 3), 1, 0, None, 2)


def _places(make: Make, *sizes: int, below: int = 3) -> Tensor:
    return make(*sizes, dtype=dtypes.int64, low=0, high=below - 1)


def _index_lists(make: Make) -> Iterable[list[Tensor | None]]:
    row, grid = _places(make, 6), _places(make, 2, 3)
    yield [row]
    yield [None, row]
    yield [None, None, grid]
    yield [row, row]
    yield [None, grid, grid]
    yield [grid, None, grid]
    yield [row, None, _places(make, 2, 1)]
    yield [_places(make)]
    yield [_places(make, 0)]
    yield [ops.aten.transpose.int(grid, 0, 1)]


@index_tensor.with_samples
def _(make: Make) -> Samples:
    for x in _sources(make):
        for indices in _index_lists(make):
            yield (x, indices), {}
    yield (make(3), [make(2, dtype=dtypes.int32, low=-3, high=2)]), {}


for _decl in (index_put, index_put_):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        once = Tensor._from_array(np.array([2, 0, 1]))
        for x in _sources(make):
            yield (x, [once], make(3, 5, 3)), {}
            yield (x, [None, once], make()), {}
            yield (x, [once, None, once], make(5)), {}
            yield (x, [once, once], make(3, 3), True), {}


@index_select.with_samples
def _(make: Make) -> Samples:
    for x in _sources(make):
        for dim in (0, 1, -1):
            yield (x, dim, _places(make, 6)), {}
    yield (make(), 0, _places(make, 1, below=1)), {}
    yield (make(3), 0, _places(make)), {}


@gather.with_samples
def _(make: Make) -> Samples:
    for x in _sources(make):
        for dim in (0, 1, -1):
            yield (x, dim, _places(make, 2, 3, 2)), {}
    yield (make(), 0, _places(make, below=1)), {}
    yield (make(3), 0, _places(make, 7)), {}
    yield (make(3, 4), 0, _places(make, 0, 4)), {}


@take_along_dim.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 4), _places(make, 3, 1), 1), {}
    yield (make(3, 4), _places(make, 2, 1), 0), {}
    yield (make(3, 4), _places(make, 5)), {}


@scatter.with_samples
def _(make: Make) -> Samples:
    order = Tensor._from_array(np.array([[2, 0, 1], [0, 1, 2]]))
    yield (make(2, 3), 1, order, make(2, 3)), {}
    yield (ops.aten.transpose.int(make(4, 3), 0, 1), 0, order, make(3, 3)), {}


@scatter_add.with_samples
def _(make: Make) -> Samples:
    for x in _sources(make):
        yield (x, 1, _places(make, 3, 7, 2), make(4, 7, 2)), {}
    yield (make(), 0, _places(make, below=1), make()), {}
    yield (make(3, 4), 0, _places(make, 0, 4), make(2, 4)), {}


@scatter_value.with_samples
def _(make: Make) -> Samples:
    for x in _sources(make):
        yield (x, 1, _places(make, 3, 7, 2), 2), {}
        yield (x, -1, _places(make, 2, 3, 2), True), {}
    yield (make(), 0, _places(make, below=1), 3), {}
    yield (make(3, 4), 0, _places(make, 0, 4), 1), {}


@scatter_reduce.with_samples
def _(make: Make) -> Samples:
    for reduce in _REDUCES:
        for include_self in (True, False):
            options = {"include_self": include_self}
            for x in _sources(make):
                yield (x, 1, _places(make, 3, 7, 2), make(4, 7, 2), reduce), options
            yield (make(), 0, _places(make, below=1), make(), reduce), options
            yield (make(3, 4), 0, _places(make, 0, 4), make(2, 4), reduce), options


@masked_scatter.with_samples
def _(make: Make) -> Samples:
    for x in _sources(make):
        yield (x, make(4, 5, 3, dtype=dtypes.bool_), make(60)), {}
        yield (x, make(5, 1, dtype=dtypes.bool_), make(7, 10)), {}
    yield (make(3), make(2, 3, dtype=dtypes.bool_), ops.aten.transpose.int(make(2, 4), 0, 1)), {}
    yield (make(), make(dtype=dtypes.bool_), make(1)), {}
    yield (make(0, 3), make(0, 3, dtype=dtypes.bool_), make(0)), {}


@masked_scatter_backward.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 4), make(3, 4, dtype=dtypes.bool_), [2, 6]), {}
    yield (make(3, 4), make(3, 4, dtype=dtypes.bool_), [20]), {}
    yield (make(0, 4), make(0, 4, dtype=dtypes.bool_), [2]), {}


@embedding_dense_backward.with_samples
def _(make: Make) -> Samples:
    for padding_idx, scaled in ((-1, False), (1, False), (-1, True), (2, True)):
        if scaled and make()._dtype is dtypes.float64:
            continue  # PyTorch's second derivative leaves the scale out
        yield (make(2, 4, 3), _places(make, 2, 4), 5, padding_idx, scaled), {}
        yield (ops.aten.transpose.int(make(3, 4), 0, 1), _places(make, 4), 3, padding_idx, scaled), {}
    yield (make(3), _places(make), 4, -1, False), {}
    yield (make(0, 3), _places(make, 0), 4, -1, False), {}


@embedding.with_samples
def _(make: Make) -> Samples:
    for weight in (make(5, 3), ops.aten.transpose.int(make(3, 5), 0, 1)):
        yield (weight, _places(make, 2, 4)), {}
        yield (weight, _places(make)), {}


_DECLS = (index_tensor, index_put, index_put_, index_select, gather, take_along_dim, scatter, embedding)
for _decl in _DECLS:
    _decl.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.bool_, dtypes.complex64)
_ACCUMULATED = (dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.uint8)
for _decl in (index_put, index_put_, scatter_add):
    _decl.sample_dtypes = _ACCUMULATED
for _decl in (scatter_value, masked_scatter):
    _decl.sample_dtypes = (*_ACCUMULATED, dtypes.bool_, dtypes.complex64)
scatter_reduce.sample_dtypes = _ACCUMULATED
masked_scatter_backward.sample_dtypes = embedding_dense_backward.sample_dtypes = (dtypes.float32, dtypes.float64)

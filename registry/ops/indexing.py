"""Elements read and written where index tensors say: `index`, `index_put`, and the same along one dimension.

Every index is checked against its dimension, on every device: a wrong one raises, it never reads other memory.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.op import ops
from opweave.registry.ops.adding import add_at
from opweave.registry.ops.combining import are_within
from opweave.registry.ops.kinds import (
    InplaceDecl,
    Place,
    Places,
    Scatter,
    composite,
    gather as gathering,
    scatter as scattering,
)
from opweave.registry.ops.outer_places import is_large, outer_places
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import broadcast_shapes, pointwise_strides
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, allocate, allocate_like, describe

aten = ops.aten

_ACCUMULATED = (dtypes.float32, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.uint8)

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
            raise DTypeError(
                f"{op}: index tensors must have an integer type or bool", got=describe(index), hint="index.long()"
            )
        if index._dtype in MASK_TYPES:
            covered = self._sizes[used : used + index.ndim]
            if covered != index._sizes:
                raise OutOfRangeError(
                    f"{op}: the mask {list(index._sizes)} does not fit the dimensions {list(covered)} it covers",
                    got=f"{describe(self)}, {describe(index)}",
                    hint="a mask has the sizes of the first dimensions, or of those in whose place it stands",
                )
        used += index.ndim if index._dtype in MASK_TYPES else 1
    if used > self.ndim:
        raise OutOfRangeError(f"{op}: too many indices for a {self.ndim}-d tensor", got=describe([self, *indices]))


def has_data(t: Tensor) -> bool:
    return t._storage.owner is not None


def without_masks(op: str, indices: Sequence[Tensor | None]) -> list[Tensor | None]:
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
    places = without_masks("index", indices)
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
        check_range(op, array, self._sizes[d], d, lowest=-self._sizes[d])
        index.append(array)
    return tuple(index)


def check_range(op: str, array: Any, size: int, dim: int, lowest: int) -> None:
    if array.size:
        # What is expanded has its numbers once.
        array = array[tuple([slice(None) if step else slice(1) for step in array.strides])]
        if are_within(array, lowest, size):
            return
        least, most = int(array.min()), int(array.max())
        if least < lowest or most >= size:
            worst = least if least < lowest else most
            raise OutOfRangeError(
                f"{op}: index {worst} is out of range for dimension {dim} with size {size}",
                got=f"indices from {least} to {most}", hint=f"indices are from {lowest} to {size - 1}",
            )  # fmt: skip


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
    places = without_masks("index", indices)
    given = [d for d, place in enumerate(places) if place is not None]
    if given:
        described = [None if place is None else (place._sizes, place._strides) for place in places]
        out = allocate(*_known_layout(self._sizes, self._strides, tuple(described)), self._dtype, self._device)
    else:
        out = allocate_like(contiguous(self._sizes, self._dtype, self._device))
    where = _arrays("index", self, places)
    if len(given) == 1 and self._sizes:
        take_at(self, where[given[0]], given[0], out)
        return out
    outer = outer_places(where, self._sizes) if self._device.is_host and is_large(out._sizes) else None
    out._array[...] = self._array[where] if outer is None else outer.taken(self._array)
    return out


def take_at(source: Tensor, places: Any, axis: int, out: Tensor) -> None:
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
    places = without_masks(op, indices)
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
        add_at(self, self._array, where, source)


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
        raise ShapeError("index_select: the index must be a vector", got=describe(index), hint="index.long()")
    if index._dtype not in (dtypes.int64, dtypes.int32):
        raise DTypeError("index_select: the index must be int32 or int64", got=describe(index), hint="index.long()")
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
    check_range("index_select", places, self._sizes[axis] if self._sizes else 1, axis, lowest=0)
    if self._sizes:
        take_at(self, places, axis, out)
    else:
        out._array[...] = self._array
    return out


def _gather_spec(self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> TensorSpec:
    axis = wrap_dim(dim, self.ndim, "gather")
    if index._dtype not in (dtypes.int64, dtypes.int32) and 0 not in index._sizes:
        raise DTypeError("gather: the index must be int64", got=describe(index))
    if max(index.ndim, 1) != max(self.ndim, 1) and index.numel():
        raise ShapeError(
            "gather: the index must have as many dimensions as the tensor", got=describe([self, index]),
            hint="index.unsqueeze(-1).expand(...), or take_along_dim, which broadcasts",
        )  # fmt: skip
    if self.ndim == index.ndim:
        for d, (size, limit) in enumerate(zip(index._sizes, self._sizes, strict=True)):
            if d != axis and size > limit:
                raise ShapeError(
                    f"gather: the index is larger than the tensor in dimension {d}", got=describe([self, index])
                )
    return contiguous(index._sizes, self._dtype, self._device)


def gather_places(self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Places | None:
    if not self.ndim or self.ndim != index.ndim:
        return None
    axis = wrap_dim(dim, self.ndim, "gather")
    place = Place(index, tuple(range(index.ndim)))
    return Places(self, tuple([place if d == axis else d for d in range(self.ndim)]), False)


@gathering(
    "aten::gather(Tensor self, int dim, Tensor index, *, bool sparse_grad=False) -> Tensor",
    spec=_gather_spec, places=gather_places, out=True, accuracy="rounded"
)  # fmt: skip
def gather(self: Tensor, dim: int, index: Tensor, sparse_grad: bool = False) -> Tensor:
    """`out[i][j] = self[index[i][j]][j]` for dimension 0, and so on."""
    out = allocate_like(_gather_spec(self, dim, index))
    if not out.numel():
        return out
    axis = wrap_dim(dim, self.ndim, "gather")
    source = self._array.reshape(self._sizes or (1,))
    places = index._array.reshape(index._sizes or (1,))
    check_range("gather", places, source.shape[axis], axis, lowest=0)
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
    if indices._dtype.kind == "i":  # counted from the end where they are negative
        indices = aten.where.self(aten.lt.Scalar(indices, 0), aten.add.Scalar(indices, self._sizes[axis]), indices)
    rest = broadcast_shapes("take_along_dim", *[(*t._sizes[:axis], 1, *t._sizes[axis + 1 :]) for t in (self, indices)])
    wide = [aten.expand.default(t, [*rest[:axis], t._sizes[axis], *rest[axis + 1 :]]) for t in (self, indices)]
    return aten.gather.default(wide[0], axis, wide[1])


# ---- of the flattened tensor ---------------------------------------------------------------------------------------


@composite("aten::take(Tensor self, Tensor index) -> Tensor", outs="out")
def take(self: Tensor, index: Tensor) -> Tensor:
    """Elements of the flattened tensor."""
    if index._dtype is not dtypes.int64:
        raise DTypeError("take: the index must be int64", got=describe(index))
    return aten.index.Tensor(aten.reshape.default(self, [-1]), [index])


@composite("aten::put(Tensor self, Tensor index, Tensor source, bool accumulate=False) -> Tensor")
def put(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    """A copy with elements of the flattened tensor written, or added to."""
    if index._dtype is not dtypes.int64 or source._dtype is not self._dtype:
        raise DTypeError("put: expected an int64 index and a source of one dtype", got=describe([self, index, source]))
    if index.numel() != source.numel():
        raise OutOfRangeError("put: needs a number for each element", got=describe([index, source]))
    flat, at, values = (aten.reshape.default(t, [-1]) for t in (self, index, source))
    return aten.reshape.default(aten.index_put.default(flat, [at], values, accumulate), list(self._sizes))


@composite("aten::put_(Tensor(a!) self, Tensor index, Tensor source, bool accumulate=False) -> Tensor(a!)")
def put_(self: Tensor, index: Tensor, source: Tensor, accumulate: bool = False) -> Tensor:
    return aten.copy_.default(self, put.body(self, index, source, accumulate))


# ---- gradients -----------------------------------------------------------------------------------------------------


def added_at(grad: Tensor, sizes: Sequence[int], indices: Sequence[Tensor | None]) -> Tensor:
    """Zeros with a gradient added at the places it came from."""
    return ops.aten.index_put.default(ops.aten.new_zeros.default(grad, sizes), indices, grad, True)


index_tensor.backward(self=lambda grad, self_spec, indices: added_at(grad, self_spec.sizes, indices))


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
    return added_at(grad, sizes, [*(None,) * at, ops.aten.reshape.default(index, [-1])]), None


def _gather_gradient(grad: Tensor, self_spec: TensorSpec, dim: int, index: Tensor) -> Tensor:
    found = ops.aten.new_zeros.default(grad, self_spec.sizes)
    if index._dtype not in (dtypes.int64, dtypes.int32):
        return found  # an index of another type is empty
    return ops.aten.scatter_add.default(found, dim, index, grad)


gather.backward(self=_gather_gradient)


# ---- functions of the package --------------------------------------------------------------------------------------


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The index along each dimension of elements that are counted in a tensor of this shape.

    Examples
    --------
    >>> opweave.unravel_index(opweave.tensor([4, 1]), (2, 3))
    (tensor([1, 0]), tensor([1, 1]))
    """
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if indices._dtype.kind not in "iu":
        raise DTypeError("unravel_index: expected whole numbers", got=describe(indices))
    if any(n < 0 for n in sizes):
        raise ShapeError("unravel_index: sizes must not be negative", got=f"shape={sizes}")
    found = []
    for n in reversed(sizes):
        found.append(indices % n)
        indices = indices // n
    return tuple(reversed(found))


FUNCTIONS = {"unravel_index": unravel_index}


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.permute.default(x, [2, 0, 1])


def sample_sources(make: Make) -> Iterable[Tensor]:
    """Tensors of sizes (4, 5, 3) in three layouts."""
    yield make(4, 5, 3)
    yield _turned(make(5, 3, 4))
    yield ops.aten.slice.Tensor(make(4, 10, 3), 1, 0, None, 2)


def sample_places(make: Make, *sizes: int, below: int = 3) -> Tensor:
    return make(*sizes, dtype=dtypes.int64, low=0, high=below - 1)


def _index_lists(make: Make) -> Iterable[list[Tensor | None]]:
    row, grid = sample_places(make, 6), sample_places(make, 2, 3)
    yield [row]
    yield [None, row]
    yield [None, None, grid]
    yield [row, row]
    yield [None, grid, grid]
    yield [grid, None, grid]
    yield [row, None, sample_places(make, 2, 1)]
    yield [sample_places(make)]
    yield [sample_places(make, 0)]
    yield [ops.aten.transpose.int(grid, 0, 1)]


@index_tensor.with_samples
def _(make: Make) -> Samples:
    for x in sample_sources(make):
        for indices in _index_lists(make):
            yield (x, indices), {}
    yield (make(3), [make(2, dtype=dtypes.int32, low=-3, high=2)]), {}


for _decl in (index_put, index_put_):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        once = Tensor._from_array(np.array([2, 0, 1]))
        for x in sample_sources(make):
            yield (x, [once], make(3, 5, 3)), {}
            yield (x, [None, once], make()), {}
            yield (x, [once, None, once], make(5)), {}
            yield (x, [once, once], make(3, 3), True), {}


@index_select.with_samples
def _(make: Make) -> Samples:
    for x in sample_sources(make):
        for dim in (0, 1, -1):
            yield (x, dim, sample_places(make, 6)), {}
    yield (make(), 0, sample_places(make, 1, below=1)), {}
    yield (make(3), 0, sample_places(make)), {}


@gather.with_samples
def _(make: Make) -> Samples:
    for x in sample_sources(make):
        for dim in (0, 1, -1):
            yield (x, dim, sample_places(make, 2, 3, 2)), {}
    yield (make(), 0, sample_places(make, below=1)), {}
    yield (make(3), 0, sample_places(make, 7)), {}
    yield (make(3, 4), 0, sample_places(make, 0, 4)), {}


@take_along_dim.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 4), sample_places(make, 3, 1), 1), {}
    yield (make(3, 4), sample_places(make, 2, 1), 0), {}
    yield (make(3, 4), sample_places(make, 5)), {}


for _decl in (index_tensor, index_put, index_put_, index_select, gather, take_along_dim):
    _decl.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.bool_, dtypes.complex64)

for _decl in (index_put, index_put_):
    _decl.sample_dtypes = _ACCUMULATED

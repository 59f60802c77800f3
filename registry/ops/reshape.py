"""Views with other sizes in row-major order or another element type, and windows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import as_view_of, front
from opweave.registry.dtypes import DType
from opweave.registry.errors import ShapeError
from opweave.registry.memory_format import contiguous_format, is_in_format, preserve_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import ViewDecl, composite, view
from opweave.registry.ops.view import Layout, Sizes, sample_layouts, view_samples
from opweave.registry.spec import contiguous_strides
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import is_open, surely_equal
from opweave.registry.tensor import Tensor, as_view, describe

# ---- reshape-like --------------------------------------------------------------------------------------------------


_INT = {int}


def _is_plain(sizes: Sizes) -> bool:
    return {*map(type, sizes)} <= _INT


def infer_size(op: str, sizes: Sizes, wanted: Sizes) -> tuple[int, ...]:
    """The wanted sizes with a -1 resolved.

    Raises
    ------
    ShapeError
        If the number of elements does not fit, or there is more than one -1.
    """
    count = math.prod(sizes)
    if type(count) is int and _is_plain(wanted) and min(wanted, default=0) >= 0 and math.prod(wanted) == count:
        return tuple(wanted)
    known = math.prod(size for size in wanted if size != -1)
    unknown = sum(1 for size in wanted if size == -1)
    if unknown > 1 or any(size < -1 for size in wanted):
        raise ShapeError(
            f"{op}: invalid shape {list(wanted)}",
            got=f"sizes {list(sizes)}",
            hint="at most one size may be -1, none smaller",
        )
    fits = count == known if not unknown else known != 0 and count % known == 0
    if not fits:
        hint = "with a size 0, a -1 is ambiguous" if unknown and known == 0 else "one size may be -1, to be worked out"
        raise ShapeError(
            f"{op}: shape {list(wanted)} does not fit {count} elements", got=f"sizes {list(sizes)}", hint=hint
        )
    return tuple(count // known if size == -1 else size for size in wanted)


def viewed_strides(sizes: Sizes, strides: Sequence[Any], wanted: Sizes) -> tuple[Any, ...] | None:
    """Strides that show the same elements with other sizes, None where only a copy can.

    Runs of dimensions that lie in memory without gaps between them are regrouped, each on its own.
    """
    if not (_is_plain(sizes) and _is_plain(wanted)) and any(map(is_open, (*sizes, *wanted))):
        if all(map(surely_equal, strides, contiguous_strides(sizes))):
            return contiguous_strides(wanted)
    if 0 in sizes:
        return tuple(strides) if tuple(sizes) == tuple(wanted) else contiguous_strides(wanted)
    if not sizes:
        return (1,) * len(wanted)
    result: list[Any] = [0] * len(wanted)
    target = len(wanted) - 1
    base = strides[-1]
    block = filled = 1
    for dim in range(len(sizes) - 1, -1, -1):
        block = block * sizes[dim]
        joined = dim > 0 and (sizes[dim - 1] == 1 or strides[dim - 1] == block * base)
        if joined:
            continue
        while target >= 0 and (filled < block or wanted[target] == 1):
            result[target] = filled * base
            filled = filled * wanted[target]
            target -= 1
        if filled != block:
            return None
        if dim > 0:
            base = strides[dim - 1]
            block = filled = 1
    return tuple(result) if target == -1 else None


def _view(op: str, sizes: Sizes, strides: Sequence[Any], offset: Any, wanted: Sizes) -> Layout:
    full = infer_size(op, sizes, wanted)
    found = viewed_strides(sizes, strides, full)
    if found is None:
        raise ShapeError(
            f"{op}: sizes {list(full)} need a copy, since they join dimensions that are apart in memory",
            got=f"sizes {list(sizes)}, strides {list(strides)}", hint="use .reshape(...)",
        )  # fmt: skip
    return full, found, offset


@view("aten::view(Tensor(a) self, SymInt[] size) -> Tensor(a)", reshape=True)
def view_(sizes: Sizes, strides: Sequence[Any], offset: Any, size: Sizes) -> Layout:
    return _view("view", sizes, strides, offset, size)


@view("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", reshape=True, is_tracked=False, outs="out")
def unsafe_view(sizes: Sizes, strides: Sequence[Any], offset: Any, size: Sizes) -> Layout:
    """As `view`, for a fresh tensor nobody else looks at: no alias to track."""
    return _view("_unsafe_view", sizes, strides, offset, size)


@view_.on_batch
def _(whole: Tensor, sizes: Sizes, size: Sizes) -> Tensor:
    return ops.aten.view.default(whole, [whole._sizes[0], *infer_size("view", sizes, size)])


@unsafe_view.on_batch
def _(whole: Tensor, sizes: Sizes, size: Sizes) -> Tensor:
    return ops.aten._unsafe_view.default(whole, [whole._sizes[0], *infer_size("_unsafe_view", sizes, size)])


for _decl in (view_, unsafe_view):
    _decl.backward(self=lambda grad, self_spec: ops.aten.reshape.default(grad, list(self_spec.sizes)))


@composite("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
def reshape(self: Tensor, shape: Sizes) -> Tensor:
    full = infer_size("reshape", self._sizes, shape)
    if viewed_strides(self._sizes, self._strides, full) is not None:
        return ops.aten.view.default(self, list(full))
    return ops.aten._unsafe_view.default(ops.aten.clone.default(self, memory_format=contiguous_format), list(full))


@composite("aten::to_dense(Tensor self, ScalarType? dtype=None, *, bool? masked_grad=None) -> Tensor")
def to_dense(self: Tensor, dtype: Any = None, *, masked_grad: bool | None = None) -> Tensor:
    """The tensor itself, whose elements are all there, in the dtype that is said."""
    return self if dtype is None or dtype is self._dtype else ops.aten._to_copy.default(self, dtype=dtype)


@composite("aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=contiguous_format) -> Tensor(a)")
def contiguous(self: Tensor, memory_format: Any = contiguous_format) -> Tensor:
    if is_in_format(self._sizes, self._strides, memory_format):
        return self
    if memory_format == preserve_format:
        raise ShapeError("contiguous: there is no layout to preserve", got=f"memory_format={memory_format}")
    return ops.aten.clone.default(self, memory_format=memory_format)


@composite("aten::flatten.using_ints(Tensor(a) self, int start_dim=0, int end_dim=-1) -> Tensor(a)")
def flatten(self: Tensor, start_dim: int = 0, end_dim: int = -1) -> Tensor:
    first, last = (wrap_dim(d, self.ndim, "flatten") for d in (start_dim, end_dim))
    if first > last:
        raise ShapeError("flatten: start_dim comes after end_dim", got=f"start_dim={start_dim}, end_dim={end_dim}")
    if not self._sizes:
        return ops.aten.reshape.default(self, [1])
    if first == last:
        return self
    joined = math.prod(self._sizes[first : last + 1])
    return ops.aten.reshape.default(self, [*self._sizes[:first], joined, *self._sizes[last + 1 :]])


@composite("aten::ravel(Tensor(a) self) -> Tensor(a)")
def ravel(self: Tensor) -> Tensor:
    return ops.aten.view.default(ops.aten.contiguous.default(self), [-1])


@composite("aten::unflatten.int(Tensor(a) self, int dim, SymInt[] sizes) -> Tensor(a)")
def unflatten(self: Tensor, dim: int, sizes: Sizes) -> Tensor:
    at = wrap_dim(dim, self.ndim, "unflatten")
    if not self._sizes or not sizes:
        raise ShapeError("unflatten: needs a dimension and sizes to split it into", got=describe(self))
    inner = infer_size("unflatten", self._sizes[at : at + 1], sizes)
    return ops.aten.view.default(self, [*self._sizes[:at], *inner, *self._sizes[at + 1 :]])


@composite("aten::view_as(Tensor(a) self, Tensor other) -> Tensor(a)")
def view_as(self: Tensor, other: Tensor) -> Tensor:
    return ops.aten.view.default(self, other._sizes)


# ---- other element types -------------------------------------------------------------------------------------------


class ReinterpretDecl(ViewDecl):
    """A view that reads the same bytes as another element type; `rule` returns the dtype too."""

    kind = "extern"
    allocates = True
    is_layout = False
    is_library_call = True
    apart = "library call"
    cost = None
    elementwise = False

    def eager(self, self_: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        sizes, strides, offset, dtype = self.rule(self_, *args, **kwargs)
        result = as_view(self_, sizes, strides, offset)
        result._dtype = dtype
        return result


def _view_dtype(source: Tensor, dtype: DType) -> tuple[Any, ...]:
    sizes, strides, offset = source._sizes, source._strides, source._offset
    old, new = source._dtype.itemsize, dtype.itemsize
    if old == new:
        return sizes, strides, offset, dtype
    if not sizes or (strides[-1] != 1 and sizes[-1] != 1):
        raise ShapeError(
            f"view: elements of {old} and {new} bytes need a last dimension with stride 1", got=describe(source)
        )
    if old > new:
        ratio = old // new
        return (
            (*sizes[:-1], sizes[-1] * ratio), (*(s * ratio for s in strides[:-1]), 1), offset * ratio, dtype,
        )  # fmt: skip
    ratio = new // old
    if sizes[-1] % ratio or offset % ratio or any(s % ratio for s in strides[:-1]):
        raise ShapeError(
            f"view: sizes, strides and offset must be divisible by {ratio} for {dtype.name}", got=describe(source)
        )
    return (*sizes[:-1], sizes[-1] // ratio), (*(s // ratio for s in strides[:-1]), 1), offset // ratio, dtype


view_dtype = ReinterpretDecl("aten::view.dtype(Tensor(a) self, ScalarType dtype) -> Tensor(a)", _view_dtype, False)


@view_dtype.inverted
def _(whole: Tensor, dtype: DType) -> tuple[Any, tuple[Any, ...]]:
    return ops.aten.view.dtype, (whole._dtype,)


view_dtype.backward()


@view_dtype.batching
def _view_dtype_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    t, dtype = args
    whole = front(t, level)
    if not t._sizes and dtype.itemsize != t._dtype.itemsize:
        op.decl.rule(t, dtype)  # raises: the last dimension of the batch is not the example's
    return as_view_of(t, op(whole, dtype), level)


# ---- windows -------------------------------------------------------------------------------------------------------


@view("aten::unfold(Tensor(a) self, int dimension, int size, int step) -> Tensor(a)")
def unfold(sizes: Sizes, strides: Sequence[Any], offset: Any, dimension: int, size: int, step: int) -> Layout:
    """Windows of `size` elements of a dimension, `step` apart, in a new last dimension."""
    d = wrap_dim(dimension, len(sizes), "unfold")
    extent, stride = (sizes[d], strides[d]) if sizes else (1, 1)
    if size < 0 or step < 1 or not size <= extent:
        raise ShapeError(
            "unfold: a window must fit into the dimension, and the step be 1 or more",
            got=f"size={size}, step={step}, dimension {dimension} of size {extent}",
            hint=f"size is at most {extent}",
        )  # fmt: skip
    if not sizes:
        return (size,), (1,), offset
    count = (extent - size) // step + 1
    new_sizes, new_strides = list(sizes), list(strides)
    new_sizes[d], new_strides[d] = count, step * stride
    return (*new_sizes, size), (*new_strides, stride), offset


@composite(
    "aten::unfold_backward(Tensor grad_in, SymInt[] input_sizes, int dim, int size, int step) -> Tensor",
    explicit=True,
    outs="out",
)
def unfold_backward(grad_in: Tensor, input_sizes: Sizes, dim: int, size: int, step: int) -> Tensor:
    """The sum of the gradients of all windows that an element is in."""
    aten = ops.aten
    whole = aten.new_zeros.default(grad_in, list(input_sizes))
    if not input_sizes:
        return aten.sum.default(grad_in) if size else whole
    d = wrap_dim(dim, len(input_sizes), "unfold_backward")
    count = grad_in._sizes[d]
    starts = aten.mul.Tensor(aten.arange.default(count, device=grad_in._device), step)
    places = aten.add.Tensor(aten.unsqueeze.default(starts, 1), aten.arange.default(size, device=grad_in._device))
    # The window's elements beside the windows, as one dimension in place of the input's.
    moved = aten.movedim.int(grad_in, -1, d + 1)
    flat = aten.reshape.default(moved, [*input_sizes[:d], count * size, *input_sizes[d + 1 :]])
    column = aten.view.default(
        aten.reshape.default(places, [-1]), [count * size if n == d else 1 for n in range(len(input_sizes))]
    )
    return aten.scatter_add.default(whole, d, aten.expand.default(column, list(flat._sizes)), flat)


unfold.backward(
    self=lambda grad, self_spec, dimension, size, step: ops.aten.unfold_backward.default(
        grad, self_spec.sizes, dimension, size, step
    )
)

unfold_backward.backward(grad_in=lambda grad, dim, size, step: ops.aten.unfold.default(grad, dim, size, step))


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


def _part(x: Tensor) -> Tensor:
    return ops.aten.slice.Tensor(x, 1, 1, None, 2)


contiguous.with_samples(view_samples(()))

ravel.with_samples(view_samples(()))

flatten.with_samples(view_samples((), (1,), (0, 1), (1, 1)))

unflatten.with_samples(view_samples((2, [2, -1]), (0, [1, 2])))

for _decl in (view_, unsafe_view):

    @_decl.with_samples
    def _(make: Any) -> Iterable[Any]:
        for wanted in ([24], [-1, 4], [2, 3, 4], [2, 1, 3, 2, 2], [1, 24, 1]):
            yield (make(2, 3, 4), wanted), {}
        yield (_turned(make(3, 2, 4)), [2, 3, 2, -1]), {}
        yield (_part(make(2, 6, 4)), [6, 2, -1]), {}
        yield (ops.aten.expand.default(make(1, 4), [3, 4]), [3, 2, 2]), {}
        yield (make(), [1, 1]), {}
        yield (make(1, 1), []), {}
        yield (make(2, 0, 4), [0, 8]), {}
        yield (make(2, 0, 4), [2, 0, 4]), {}


@reshape.with_samples
def _(make: Any) -> Iterable[Any]:
    for x in sample_layouts(make):
        if x.numel():
            for wanted in ([24], [2, -1], [3, 8], [2, 3, 4], [4, 3, 2]):
                yield (x, wanted), {}
    yield (make(2, 0, 4), [0, 3]), {}
    yield (make(), [1]), {}


@view_as.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(2, 3), make(3, 2)), {}


@view_dtype.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(2, 4), dtypes.uint8), {}
    yield (make(2, 8), dtypes.int64), {}
    yield (make(2, 4), dtypes.int32), {}


@unfold.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(7, 3), 0, 3, 2), {}
    yield (_turned(make(4, 3, 6)), -1, 2, 1), {}
    yield (make(5), 0, 5, 1), {}
    yield (make(2, 4), 1, 0, 2), {}
    yield (make(), 0, 1, 1), {}


@unfold_backward.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(3, 3, 3), [7, 3], 0, 3, 2), {}
    yield (make(2, 4, 2), [2, 5], 1, 2, 1), {}

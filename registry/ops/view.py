"""View ops: other sizes and strides over the same memory.

A rule is plain arithmetic on sizes, strides and offset, linear in the last two, so that codegen runs it on symbols to
derive index maps. Only the reshape-like ones (`reshape=True`) compare strides; those keep the row-major order of the
elements instead.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any

from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import ViewDecl, composite, normalize_axes, view
from opweave.registry.spec import contiguous_strides, is_contiguous, span
from opweave.registry.tensor import Tensor, as_view, describe, wrap_dim

Layout = tuple[tuple[int, ...], tuple[Any, ...], Any]
Sizes = Sequence[int]


# ---- reshape-like --------------------------------------------------------------------------------------------------


def infer_size(op: str, sizes: Sizes, wanted: Sizes) -> tuple[int, ...]:
    """The wanted sizes with a -1 resolved.

    Raises
    ------
    ShapeError
        If the number of elements does not fit, or there is more than one -1.
    """
    count = math.prod(sizes)
    known = math.prod(size for size in wanted if size != -1)
    unknown = sum(1 for size in wanted if size == -1)
    if unknown > 1 or any(size < -1 for size in wanted):
        raise ShapeError(f"{op}: invalid shape {list(wanted)}", hint="at most one size may be -1, none smaller")
    fits = count == known if not unknown else known != 0 and count % known == 0
    if not fits:
        hint = "with a size 0, a -1 is ambiguous" if unknown and known == 0 else None
        raise ShapeError(
            f"{op}: shape {list(wanted)} does not fit {count} elements", got=f"sizes {list(sizes)}", hint=hint
        )
    return tuple(count // known if size == -1 else size for size in wanted)


def viewed_strides(sizes: Sizes, strides: Sequence[Any], wanted: Sizes) -> tuple[Any, ...] | None:
    """Strides that show the same elements with other sizes, None where only a copy can.

    Runs of dimensions that lie in memory without gaps between them are regrouped, each on its own.
    """
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


@view("aten::_unsafe_view(Tensor self, SymInt[] size) -> Tensor", reshape=True)
def unsafe_view(sizes: Sizes, strides: Sequence[Any], offset: Any, size: Sizes) -> Layout:
    """As `view`, for a fresh tensor nobody else looks at: no alias to track."""
    return _view("_unsafe_view", sizes, strides, offset, size)


@composite("aten::reshape(Tensor(a) self, SymInt[] shape) -> Tensor(a)")
def reshape(self: Tensor, shape: Sizes) -> Tensor:
    full = infer_size("reshape", self._sizes, shape)
    if viewed_strides(self._sizes, self._strides, full) is not None:
        return ops.aten.view.default(self, full)
    return ops.aten._unsafe_view.default(ops.aten.clone.default(self, memory_format=0), full)


@composite("aten::contiguous(Tensor(a) self, *, MemoryFormat memory_format=0) -> Tensor(a)")
def contiguous(self: Tensor, memory_format: Any = 0) -> Tensor:
    if is_contiguous(self._sizes, self._strides):
        return self
    return ops.aten.clone.default(self, memory_format=0)


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


# ---- order of dimensions -------------------------------------------------------------------------------------------


@view("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)")
def permute(sizes: Sizes, strides: Sequence[Any], offset: Any, dims: Sequence[int]) -> Layout:
    order = [wrap_dim(d, len(sizes), "permute") for d in dims]
    if len(order) != len(sizes) or len(set(order)) != len(order):
        raise ShapeError(
            "permute: dims must name each dimension once", got=f"dims={list(dims)} for a {len(sizes)}-d tensor"
        )
    return tuple(sizes[d] for d in order), tuple(strides[d] for d in order), offset


def _swapped(sizes: Sizes, strides: Sequence[Any], a: int, b: int) -> tuple[tuple[int, ...], tuple[Any, ...]]:
    new_sizes, new_strides = list(sizes), list(strides)
    new_sizes[a], new_sizes[b] = sizes[b], sizes[a]
    new_strides[a], new_strides[b] = strides[b], strides[a]
    return tuple(new_sizes), tuple(new_strides)


@view("aten::transpose.int(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
def transpose(sizes: Sizes, strides: Sequence[Any], offset: Any, dim0: int, dim1: int) -> Layout:
    a, b = (wrap_dim(d, len(sizes), "transpose") for d in (dim0, dim1))
    if not sizes:
        return (), (), offset
    return *_swapped(sizes, strides, a, b), offset


@view("aten::t(Tensor(a) self) -> Tensor(a)")
def t(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    if len(sizes) > 2:
        raise ShapeError(
            f"t: expected at most 2 dimensions, not {len(sizes)}", got=f"sizes {list(sizes)}", hint="use .mT"
        )
    return tuple(sizes[::-1]), tuple(strides[::-1]), offset


def _matrix(op: str, self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise ShapeError(f"{op}: expected a matrix or a batch of matrices", got=describe(self))
    return ops.aten.transpose.int(self, -2, -1)


def _conjugate(value: Tensor) -> Tensor:
    return ops.aten.conj_physical.default(value) if value._dtype.is_complex else value


@composite("aten::numpy_T(Tensor(a) self) -> Tensor(a)")
def numpy_t(self: Tensor) -> Tensor:
    return ops.aten.permute.default(self, range(self.ndim)[::-1])


@composite("aten::mT(Tensor(a) self) -> Tensor(a)")
def mt(self: Tensor) -> Tensor:
    return _matrix("mT", self)


@composite("aten::mH(Tensor(a) self) -> Tensor(a)")
def mh(self: Tensor) -> Tensor:
    return _conjugate(_matrix("mH", self))


@composite("aten::adjoint(Tensor(a) self) -> Tensor(a)")
def adjoint(self: Tensor) -> Tensor:
    return _conjugate(_matrix("adjoint", self))


@composite("aten::matrix_H(Tensor(a) self) -> Tensor(a)")
def matrix_h(self: Tensor) -> Tensor:
    if self.ndim not in (0, 2):
        raise ShapeError("H: expected a matrix", got=describe(self), hint="use .mH for batches")
    return _conjugate(ops.aten.t.default(self))


@composite("aten::swapaxes(Tensor(a) self, int axis0, int axis1) -> Tensor(a)")
def swapaxes(self: Tensor, axis0: int, axis1: int) -> Tensor:
    return ops.aten.transpose.int(self, axis0, axis1)


@composite("aten::swapdims(Tensor(a) self, int dim0, int dim1) -> Tensor(a)")
def swapdims(self: Tensor, dim0: int, dim1: int) -> Tensor:
    return ops.aten.transpose.int(self, dim0, dim1)


@composite("aten::movedim.intlist(Tensor(a) self, int[] source, int[] destination) -> Tensor(a)")
def movedim(self: Tensor, source: Sequence[int], destination: Sequence[int]) -> Tensor:
    sources = [wrap_dim(d, self.ndim, "movedim") for d in source]
    targets = [wrap_dim(d, self.ndim, "movedim") for d in destination]
    if len(sources) != len(targets) or len(set(sources)) != len(sources) or len(set(targets)) != len(targets):
        raise ShapeError(
            "movedim: source and destination must name as many dimensions, each once",
            got=f"source={list(source)}, destination={list(destination)}",
        )
    if not self._sizes:
        return ops.aten.alias.default(self)
    placed = dict(zip(targets, sources, strict=True))
    rest = iter([d for d in range(self.ndim) if d not in sources])
    return ops.aten.permute.default(self, [placed[d] if d in placed else next(rest) for d in range(self.ndim)])


@composite("aten::movedim.int(Tensor(a) self, int source, int destination) -> Tensor(a)")
def movedim_int(self: Tensor, source: int, destination: int) -> Tensor:
    return ops.aten.movedim.intlist(self, [source], [destination])


# ---- number of dimensions ------------------------------------------------------------------------------------------


@view("aten::expand(Tensor(a) self, SymInt[] size, *, bool implicit=False) -> Tensor(a)")
def expand(sizes: Sizes, strides: Sequence[Any], offset: Any, size: Sizes, implicit: bool = False) -> Layout:
    lead = len(size) - len(sizes)
    if lead < 0:
        raise ShapeError(
            f"expand: {list(size)} has fewer dimensions than the tensor", got=f"sizes {list(sizes)}",
            hint="an expanded tensor keeps all dimensions; index or squeeze first",
        )  # fmt: skip
    new_sizes: list[int] = [0] * len(size)
    new_strides: list[Any] = [0] * len(size)
    for d in range(len(size) - 1, -1, -1):
        wanted = size[d]
        if d >= lead:
            have, stride = sizes[d - lead], strides[d - lead]
        else:
            have = 1
            stride = new_sizes[d + 1] * new_strides[d + 1] if d + 1 < len(size) else 1
            if wanted == -1:
                raise ShapeError("expand: -1 is not allowed for a new leading dimension", got=f"size={list(size)}")
        wanted = have if wanted == -1 else wanted
        if wanted != have:
            if have != 1 or wanted < 0:
                raise ShapeError(
                    f"expand: dim {d} has size {have}, not 1, and cannot become {wanted}",
                    got=f"{list(sizes)} to {list(size)}",
                )
            stride = 0
        new_sizes[d], new_strides[d] = wanted, stride
    return tuple(new_sizes), tuple(new_strides), offset


@composite("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    return ops.aten.expand.default(self, other._sizes)


@composite("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
def broadcast_to(self: Tensor, size: Sizes) -> Tensor:
    return ops.aten.expand.default(self, size)


def _without(sizes: Sizes, strides: Sequence[Any], offset: Any, dropped: Iterable[int]) -> Layout:
    gone = {d for d in dropped if sizes and sizes[d] == 1}
    kept = [d for d in range(len(sizes)) if d not in gone]
    return tuple(sizes[d] for d in kept), tuple(strides[d] for d in kept), offset


@view("aten::squeeze(Tensor(a) self) -> Tensor(a)")
def squeeze(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    return _without(sizes, strides, offset, range(len(sizes)))


@view("aten::squeeze.dim(Tensor(a) self, int dim) -> Tensor(a)")
def squeeze_dim(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int) -> Layout:
    return _without(sizes, strides, offset, [wrap_dim(dim, len(sizes), "squeeze")])


@view("aten::squeeze.dims(Tensor(a) self, int[] dim) -> Tensor(a)")
def squeeze_dims(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: Sequence[int]) -> Layout:
    return _without(sizes, strides, offset, normalize_axes(dim, len(sizes), "squeeze") if dim else ())


@view("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
def unsqueeze(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int) -> Layout:
    at = wrap_dim(dim, len(sizes) + 1, "unsqueeze")
    stride = sizes[at] * strides[at] if at < len(sizes) else 1
    return (*sizes[:at], 1, *sizes[at:]), (*strides[:at], stride, *strides[at:]), offset


# ---- parts ---------------------------------------------------------------------------------------------------------


def _in_dim(op: str, sizes: Sizes, dim: int) -> int:
    if not sizes:
        raise OutOfRangeError(f"{op}: a 0-d tensor has no dimension to take from", got=f"dim={dim}")
    return wrap_dim(dim, len(sizes), op)


@view("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)")
def select(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int, index: int) -> Layout:
    at = _in_dim("select", sizes, dim)
    size = sizes[at]
    if not -size <= index < size:
        raise OutOfRangeError(
            f"index {index} is out of range for dimension {at} with size {size}", got=f"sizes {list(sizes)}"
        )
    where = index + size if index < 0 else index
    return (*sizes[:at], *sizes[at + 1 :]), (*strides[:at], *strides[at + 1 :]), offset + where * strides[at]


@view("aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)")
def slice_(
    sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Layout:  # fmt: skip
    at = _in_dim("slice", sizes, dim)
    size = sizes[at]
    if step <= 0:
        raise ShapeError(f"slice: the step must be positive, not {step}", hint="reverse with .flip(dim)")
    first, last = (_clamp(value, size, default) for value, default in ((start, 0), (end, size)))
    last = max(first, last)
    length = (last - first + step - 1) // step
    new_strides = (*strides[:at], strides[at] * step, *strides[at + 1 :])
    return (*sizes[:at], length, *sizes[at + 1 :]), new_strides, offset + first * strides[at]


def _clamp(value: int | None, size: int, default: int) -> int:
    if value is None:
        return default
    return min(max(value + size if value < 0 else value, 0), size)


@composite("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")
def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    at = _in_dim("narrow", self._sizes, dim)
    size = self._sizes[at]
    if length < 0 or not -size <= start <= size:
        raise OutOfRangeError(f"narrow: start {start}, length {length} outside dimension {at} with size {size}")
    first = start + size if start < 0 else start
    if first + length > size:
        raise OutOfRangeError(f"narrow: start {first} + length {length} exceeds dimension {at} with size {size}")
    return ops.aten.slice.Tensor(self, at, first, first + length)


@view("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
def diagonal(
    sizes: Sizes, strides: Sequence[Any], offset: Any, shift: int = 0, dim1: int = 0, dim2: int = 1
) -> Layout:
    a, b = (wrap_dim(d, len(sizes), "diagonal") for d in (dim1, dim2))
    if a == b:
        raise ShapeError("diagonal: dim1 and dim2 name the same dimension", got=f"dim1={dim1}, dim2={dim2}")
    length = max(min(sizes[a], sizes[b] - shift) if shift >= 0 else min(sizes[a] + shift, sizes[b]), 0)
    if length:
        offset = offset + (shift * strides[b] if shift >= 0 else -shift * strides[a])
    rest = [d for d in range(len(sizes)) if d not in (a, b)]
    return (*(sizes[d] for d in rest), length), (*(strides[d] for d in rest), strides[a] + strides[b]), offset


@composite("aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]")
def split_with_sizes(self: Tensor, split_sizes: Sizes, dim: int = 0) -> list[Tensor]:
    at = _in_dim("split", self._sizes, dim)
    if sum(split_sizes) != self._sizes[at] or any(size < 0 for size in split_sizes):
        raise ShapeError(
            f"split: sizes {list(split_sizes)} do not add up to dimension {at} with size {self._sizes[at]}",
            got=describe(self),
        )
    pieces, start = [], 0
    for size in split_sizes:
        pieces.append(ops.aten.slice.Tensor(self, at, start, start + size))
        start = start + size
    return pieces


@composite("aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]")
def split_sizes(self: Tensor, split_size: Sizes, dim: int = 0) -> list[Tensor]:
    return split_with_sizes.body(self, split_size, dim)


@composite("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
def split(self: Tensor, split_size: int, dim: int = 0) -> list[Tensor]:
    at = _in_dim("split", self._sizes, dim)
    size = self._sizes[at]
    if split_size < 0 or (split_size == 0 and size):
        raise ShapeError(f"split: a split size of {split_size} cannot cover dimension {at} with size {size}")
    if not size:
        return [ops.aten.slice.Tensor(self, at, 0, 0)]
    return [ops.aten.slice.Tensor(self, at, s, min(s + split_size, size)) for s in range(0, size, split_size)]


@composite("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
def chunk(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
    at = _in_dim("chunk", self._sizes, dim)
    if chunks <= 0:
        raise ShapeError(f"chunk: the number of chunks must be positive, not {chunks}")
    size = self._sizes[at]
    if not size:
        return [ops.aten.slice.Tensor(self, at, 0, 0) for _ in range(chunks)]
    return split.body(self, -(-size // chunks), at)


@composite("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
def unbind(self: Tensor, dim: int = 0) -> list[Tensor]:
    at = _in_dim("unbind", self._sizes, dim)
    return [ops.aten.select.int(self, at, i) for i in range(self._sizes[at])]


# ---- the same elements ---------------------------------------------------------------------------------------------


@view("aten::alias(Tensor(a) self) -> Tensor(a)")
def alias(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    return tuple(sizes), tuple(strides), offset


@view("aten::detach(Tensor(a) self) -> Tensor(a)")
def detach(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    return tuple(sizes), tuple(strides), offset


class AsStridedDecl(ViewDecl):
    """`as_strided`, which alone can leave the memory of its base."""

    def eager(self, self_: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        result = super().eager(self_, *args, **kwargs)
        needed = (result._offset + span(result._sizes, result._strides)) * result._dtype.itemsize
        if 0 not in result._sizes and needed > self_._storage.nbytes:
            raise OutOfRangeError(
                f"as_strided: sizes {list(result._sizes)}, strides {list(result._strides)} and offset "
                f"{result._offset} reach {needed} bytes into {self_._storage.nbytes}", got=describe(self_),
            )  # fmt: skip
        return result


def _as_strided(
    sizes: Sizes, strides: Sequence[Any], offset: Any, size: Sizes, stride: Sizes, storage_offset: int | None = None
) -> Layout:
    if len(size) != len(stride):
        raise ShapeError("as_strided: size and stride differ in length", got=f"{list(size)} and {list(stride)}")
    if any(s < 0 for s in size) or any(s < 0 for s in stride) or (storage_offset or 0) < 0:
        raise ShapeError("as_strided: negative size, stride or offset", got=f"{list(size)}, {list(stride)}")
    return tuple(size), tuple(stride), offset if storage_offset is None else storage_offset


as_strided = AsStridedDecl(
    "aten::as_strided(Tensor(a) self, SymInt[] size, SymInt[] stride, SymInt? storage_offset=None) -> Tensor(a)",
    _as_strided, False,
)  # fmt: skip


class ReinterpretDecl(ViewDecl):
    """A view that reads the same bytes as another element type; `rule` returns the dtype too."""

    kind = "extern"

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


def _parts(source: Tensor) -> tuple[Any, ...]:
    if not source._dtype.is_complex:
        raise DTypeError("view_as_real: expected a complex tensor", got=describe(source))
    strides = (*(s * 2 for s in source._strides), 1)
    return (*source._sizes, 2), strides, source._offset * 2, source._dtype.to_real()


view_as_real = ReinterpretDecl("aten::view_as_real(Tensor(a) self) -> Tensor(a)", _parts, False)


@composite("aten::real(Tensor(a) self) -> Tensor(a)")
def real(self: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        return self
    return ops.aten.select.int(ops.aten.view_as_real.default(self), -1, 0)


@composite("aten::imag(Tensor(a) self) -> Tensor(a)")
def imag(self: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        raise DTypeError("imag: only complex tensors have an imaginary part", got=describe(self))
    return ops.aten.select.int(ops.aten.view_as_real.default(self), -1, 1)

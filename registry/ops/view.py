"""View ops: other sizes and strides over the same memory.

A rule is plain arithmetic on sizes, strides and offset, linear in the last two, so that codegen runs it on symbols to
derive index maps. Only the reshape-like ones (`reshape=True`) compare strides; those keep the row-major order of the
elements instead.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from opweave.registry.autograd.formula import Derivative
from opweave.registry.autograd.graph import AsStridedNode, attach
from opweave.registry.autograd.record import run_below
from opweave.registry.autograd.views import restrict
from opweave.registry.batched import Level, make_batched
from opweave.registry.batching import as_view_of, bound, front
from opweave.registry.errors import DataDependentError, OutOfRangeError, ShapeError
from opweave.registry.keys import GRAD, state
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import ViewDecl, composite, handler, normalize_axes, view
from opweave.registry.ops.kinds.base import store
from opweave.registry.ops.kinds.view import in_order
from opweave.registry.promote import copied_strides
from opweave.registry.spec import TensorSpec, contiguous_strides, span
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import Symbolic, demand, is_open, larger, smaller, unknown_up_to
from opweave.registry.tensor import Tensor, allocate_like, as_view, describe

Layout = tuple[tuple[int, ...], tuple[Any, ...], Any]
Sizes = Sequence[int]


# ---- order of dimensions -------------------------------------------------------------------------------------------


@view("aten::permute(Tensor(a) self, int[] dims) -> Tensor(a)")
def permute(sizes: Sizes, strides: Sequence[Any], offset: Any, dims: Sequence[int]) -> Layout:
    order = [wrap_dim(d, len(sizes), "permute") for d in dims]
    if len(order) != len(sizes) or len(set(order)) != len(order):
        raise ShapeError(
            "permute: dims must name each dimension once", got=f"dims={list(dims)} for a {len(sizes)}-d tensor"
        )
    return tuple(sizes[d] for d in order), tuple(strides[d] for d in order), offset


@permute.backward
def _permute_backward(grad: Tensor, self_spec: TensorSpec, dims: Sequence[int]) -> tuple[Tensor]:
    ndim = len(self_spec.sizes)
    order = [wrap_dim(d, ndim, "permute") for d in dims]
    return (ops.aten.permute.default(grad, [order.index(d) for d in range(ndim)]),)


@permute.inverted
def _(whole: Tensor, dims: Sequence[int]) -> tuple[Any, tuple[Any, ...]]:
    order = [dim % whole.ndim for dim in dims]
    return ops.aten.permute.default, ([order.index(i) for i in range(len(order))],)


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


transpose.backward(self=lambda grad, dim0, dim1: ops.aten.transpose.int(grad, dim0, dim1))


@view("aten::t(Tensor(a) self) -> Tensor(a)")
def t(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    if len(sizes) > 2:
        raise ShapeError(
            f"t: expected at most 2 dimensions, not {len(sizes)}", got=f"sizes {list(sizes)}", hint="use .mT"
        )
    return tuple(sizes[::-1]), tuple(strides[::-1]), offset


t.backward(self=lambda grad: ops.aten.t.default(grad))


@transpose.inverted
def _(whole: Tensor, dim0: int, dim1: int) -> tuple[Any, tuple[Any, ...]]:
    return ops.aten.transpose.int, (dim0, dim1)


@t.inverted
def _(whole: Tensor) -> tuple[Any, tuple[Any, ...]]:
    return ops.aten.t.default, ()


def _matrix(op: str, self: Tensor) -> Tensor:
    if self.ndim < 2:
        raise ShapeError(f"{op}: expected a matrix or a batch of matrices", got=describe(self))
    return ops.aten.transpose.int(self, -2, -1)


def _conjugate(value: Tensor) -> Tensor:
    return ops.aten.conj_physical.default(value) if value._dtype.is_complex else value


@composite("aten::numpy_T(Tensor(a) self) -> Tensor(a)")
def numpy_t(self: Tensor) -> Tensor:
    return ops.aten.permute.default(self, list(range(self.ndim)[::-1]))


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


# The sum over what was stretched happens by itself.
expand.backward(self=lambda grad: grad)


@composite("aten::expand_as(Tensor(a) self, Tensor other) -> Tensor(a)")
def expand_as(self: Tensor, other: Tensor) -> Tensor:
    return ops.aten.expand.default(self, other._sizes)


@composite("aten::broadcast_to(Tensor(a) self, SymInt[] size) -> Tensor(a)")
def broadcast_to(self: Tensor, size: Sizes) -> Tensor:
    return ops.aten.expand.default(self, size)


def _is_one(size: Any) -> bool:
    """Whether a size is 1; one that depends on data is not, which is verified when the trace runs."""
    one = size == 1
    if is_open(one):
        demand(size != 1, "squeeze: a size that depends on data is 1, but was taken for larger", ShapeError)
        return False
    return bool(one)


def _without(sizes: Sizes, strides: Sequence[Any], offset: Any, dropped: Iterable[int]) -> Layout:
    gone = {d for d in dropped if sizes and _is_one(sizes[d])}
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


for _decl in (squeeze, squeeze_dim, squeeze_dims):
    _decl.backward(self=lambda grad, self_spec: ops.aten.reshape.default(grad, list(self_spec.sizes)))


@view("aten::unsqueeze(Tensor(a) self, int dim) -> Tensor(a)")
def unsqueeze(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int) -> Layout:
    at = wrap_dim(dim, len(sizes) + 1, "unsqueeze")
    stride = sizes[at] * strides[at] if at < len(sizes) else 1
    return (*sizes[:at], 1, *sizes[at:]), (*strides[:at], stride, *strides[at:]), offset


unsqueeze.backward(self=lambda grad, dim: ops.aten.squeeze.dim(grad, dim))


for _op in (squeeze, squeeze_dim, squeeze_dims, unsqueeze):
    _op.inverted(in_order)


# ---- parts ---------------------------------------------------------------------------------------------------------


def _in_dim(op: str, sizes: Sizes, dim: int) -> int:
    if not sizes:
        raise OutOfRangeError(f"{op}: a 0-d tensor has no dimension to take from", got=f"dim={dim}")
    return wrap_dim(dim, len(sizes), op)


@view("aten::select.int(Tensor(a) self, int dim, SymInt index) -> Tensor(a)")
def select(sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int, index: int) -> Layout:
    at = _in_dim("select", sizes, dim)
    size = sizes[at]
    if is_open(index >= -size) or is_open(index < size):
        for inside in (index >= -size, index < size):
            demand(inside, f"an index is out of range for dimension {at}, which depends on data", OutOfRangeError)
    elif not -size <= index < size:
        raise OutOfRangeError(
            f"index {index} is out of range for dimension {at} with size {size}",
            got=f"sizes {list(sizes)}",
            hint=f"expected {-size} <= index < {size}",
        )
    rest = (*sizes[:at], *sizes[at + 1 :]), (*strides[:at], *strides[at + 1 :])
    negative = index < 0
    if is_open(negative):  # from which end it counts shows when the trace runs
        return *rest, unknown_up_to(1 << 62, index)
    where = index + size if negative else index
    return *rest, offset + where * strides[at]


select.backward(
    self=lambda grad, self_spec, dim, index: ops.aten.select_backward.default(grad, self_spec.sizes, dim, index)
)


# Types of bounds that need no thought: a symbolic one may be either way around.
_PLAIN = frozenset({int, type(None)})


@view("aten::slice.Tensor(Tensor(a) self, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1) -> Tensor(a)")
def slice_(
    sizes: Sizes, strides: Sequence[Any], offset: Any, dim: int = 0, start: int | None = None, end: int | None = None,
    step: int = 1,
) -> Layout:  # fmt: skip
    at = _in_dim("slice", sizes, dim)
    size = sizes[at]
    if step == 1 and type(size) is int and type(start) in _PLAIN and type(end) in _PLAIN:
        first, last, _ = slice(start, end).indices(size)
        length = last - first if last > first else 0
        place = offset + first * strides[at]
        return (*sizes[:at], length, *sizes[at + 1 :]), tuple(strides), place
    if step <= 0:
        raise ShapeError(f"slice: the step must be positive, not {step}", hint="reverse with .flip(dim)")
    first, last = (_clamp(value, size, default) for value, default in ((start, 0), (end, size)))
    new_strides = (*strides[:at], strides[at] * step, *strides[at + 1 :])
    if first is None or last is None:
        # Where a bound counts from depends on data: the size, and maybe the offset, are what the op says they are.
        asked = end if last is None else start
        length = unknown_up_to(size, asked, "slice", size, start, end, step)
        place = unknown_up_to(1 << 62, asked) if first is None else offset + first * strides[at]
        return (*sizes[:at], length, *sizes[at + 1 :]), new_strides, place
    if last is size and not (start is None or start < 0):
        # As `size - smaller(start, size)`, in the form that the length of `[:-start]` has.
        length = larger(size - start, 0)
    else:
        length = larger(last, first) - first
    length = (length + step - 1) // step
    return (*sizes[:at], length, *sizes[at + 1 :]), new_strides, offset + first * strides[at]


slice_.backward(
    self=lambda grad, self_spec, dim, start, end, step: ops.aten.slice_backward.default(
        grad, self_spec.sizes, dim, *_bounds(self_spec.sizes, dim, start, end), step
    )
)


def _clamp(value: int | None, size: int, default: int) -> int | None:
    """A bound as a place in [0, size]; None where it depends on data from which end it counts."""
    if value is None:
        return default
    negative = value < 0
    if is_open(negative):
        return None
    return smaller(larger(value + size, 0) if negative else value, size)


def _bounds(sizes: Sizes, dim: int, start: int | None, end: int | None) -> tuple[int, int]:
    size = sizes[wrap_dim(dim, len(sizes), "slice")]
    first, last = _clamp(start, size, 0), _clamp(end, size, size)
    if first is None or last is None:
        raise DataDependentError(
            "slice: from which end a bound counts depends on data", got=f"start={start}, end={end} of {size}",
            hint="say that it is not negative: opweave.check(n >= 0)",
        )  # fmt: skip
    return first, last


@composite("aten::narrow(Tensor(a) self, int dim, SymInt start, SymInt length) -> Tensor(a)")
def narrow(self: Tensor, dim: int, start: int, length: int) -> Tensor:
    at = _in_dim("narrow", self._sizes, dim)
    size = self._sizes[at]
    outside = f"narrow: start {start}, length {length} outside dimension {at} with size {size}"
    demand(length >= 0, outside, OutOfRangeError)
    if is_open(start < 0):
        demand(start >= 0, f"{outside}: a start that depends on data counts from the front", OutOfRangeError)
    demand(start >= -size, outside, OutOfRangeError)
    demand(start <= size, outside, OutOfRangeError)
    first = start + size if start < 0 else start
    exceeding = f"narrow: start {first} + length {length} exceeds dimension {at} with size {size}"
    demand(first + length <= size, exceeding, OutOfRangeError)
    return ops.aten.slice.Tensor(self, at, first, first + length)


@view("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
def diagonal(sizes: Sizes, strides: Sequence[Any], offset: Any, shift: int = 0, dim1: int = 0, dim2: int = 1) -> Layout:
    a, b = (wrap_dim(d, len(sizes), "diagonal") for d in (dim1, dim2))
    if a == b:
        raise ShapeError("diagonal: dim1 and dim2 name the same dimension", got=f"dim1={dim1}, dim2={dim2}")
    length = max(min(sizes[a], sizes[b] - shift) if shift >= 0 else min(sizes[a] + shift, sizes[b]), 0)
    if length:
        offset = offset + (shift * strides[b] if shift >= 0 else -shift * strides[a])
    rest = [d for d in range(len(sizes)) if d not in (a, b)]
    return (*(sizes[d] for d in rest), length), (*(strides[d] for d in rest), strides[a] + strides[b]), offset


diagonal.backward(
    self=lambda grad, self_spec, offset, dim1, dim2: ops.aten.diagonal_backward.default(
        grad, self_spec.sizes, offset, dim1, dim2
    )
)


def _of_one_call(pieces: list[Tensor]) -> list[Tensor]:
    """Views that cannot be written where that is recorded, as PyTorch has it: their gradients are one call's."""
    if pieces and pieces[0]._keys & GRAD and not state.exclude & GRAD:
        restrict(pieces)
    return pieces


@composite("aten::split_with_sizes(Tensor(a -> *) self, SymInt[] split_sizes, int dim=0) -> Tensor(a)[]")
def split_with_sizes(self: Tensor, split_sizes: Sizes, dim: int = 0) -> list[Tensor]:
    at = _in_dim("split", self._sizes, dim)
    total = sum(split_sizes) == self._sizes[at]
    if is_open(total) or any(is_open(size < 0) for size in split_sizes):
        message = f"split: sizes {list(split_sizes)} do not add up to dimension {at} with size {self._sizes[at]}"
        for right in (total, *(size >= 0 for size in split_sizes)):
            demand(right, message, ShapeError)
    elif not total or any(size < 0 for size in split_sizes):
        raise ShapeError(
            f"split: sizes {list(split_sizes)} do not add up to dimension {at} with size {self._sizes[at]}",
            got=describe(self),
        )
    pieces, start = [], 0
    for size in split_sizes:
        pieces.append(ops.aten.slice.Tensor(self, at, start, start + size))
        start = start + size
    return _of_one_call(pieces)


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
        return _of_one_call([ops.aten.slice.Tensor(self, at, 0, 0)])
    # The number of pieces is what a trace depends on, not the size.
    starts = [0]
    while starts[-1] + split_size < size:
        starts.append(starts[-1] + split_size)
    ends = [*starts[1:], size]
    return _of_one_call([ops.aten.slice.Tensor(self, at, a, b) for a, b in zip(starts, ends, strict=True)])


@composite("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
def chunk(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
    at = _in_dim("chunk", self._sizes, dim)
    if chunks <= 0:
        raise ShapeError(f"chunk: the number of chunks must be positive, not {chunks}")
    size = self._sizes[at]
    if not size:
        return _of_one_call([ops.aten.slice.Tensor(self, at, 0, 0) for _ in range(chunks)])
    each = (size + chunks - 1) // chunks
    if isinstance(size, Symbolic) and each * (chunks - 1) < size:
        starts = [each * i for i in range(chunks)]
        ends = [*starts[1:], size]
        return _of_one_call([ops.aten.slice.Tensor(self, at, a, b) for a, b in zip(starts, ends, strict=True)])
    return split.body(self, each, at)


@composite("aten::tensor_split.sections(Tensor(a -> *) self, SymInt sections, int dim=0) -> Tensor(a)[]")
def tensor_split(self: Tensor, sections: int, dim: int = 0) -> list[Tensor]:
    at = _in_dim("tensor_split", self._sizes, dim)
    if sections <= 0:
        raise ShapeError(f"tensor_split: the number of sections must be positive, not {sections}")
    each, rest = self._sizes[at] // sections, self._sizes[at] % sections
    bounds = [i * each + smaller(rest, i) for i in range(sections + 1)]  # the first ones have one more
    return [ops.aten.slice.Tensor(self, at, start, end) for start, end in pairwise(bounds)]


@composite("aten::tensor_split.indices(Tensor(a -> *) self, SymInt[] indices, int dim=0) -> Tensor(a)[]")
def tensor_split_indices(self: Tensor, indices: Sizes, dim: int = 0) -> list[Tensor]:
    at = _in_dim("tensor_split", self._sizes, dim)
    bounds = zip([0, *indices], [*indices, self._sizes[at]], strict=True)
    return [ops.aten.slice.Tensor(self, at, start, end) for start, end in bounds]


@composite("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
def unbind(self: Tensor, dim: int = 0) -> list[Tensor]:
    at = _in_dim("unbind", self._sizes, dim)
    return _of_one_call([ops.aten.select.int(self, at, i) for i in range(self._sizes[at])])


# ---- gradients of parts --------------------------------------------------------------------------------------------


def _placing(part: Callable[..., Layout]) -> Callable[..., Tensor]:
    """The eager kernel of a `..._backward` op: zeros, with the gradient where `part` of them lies."""

    def kernel(grad_output: Tensor, input_sizes: Sizes, *args: int) -> Tensor:
        _check_part(part, grad_output, input_sizes, *args)
        whole = ops.aten.new_zeros.default(grad_output, input_sizes)
        as_view(whole, *part(whole._sizes, whole._strides, 0, *args))._array[...] = grad_output._array
        return whole

    return kernel


def _check_part(part: Callable[..., Layout], grad: Tensor, sizes: Sizes, *args: int) -> None:
    """Refuse a gradient that does not have the sizes of the part it is of."""
    expected = part(tuple(sizes), contiguous_strides(tuple(sizes)), 0, *args)[0]
    if expected != grad._sizes:
        raise ShapeError(
            f"{part.__name__.strip('_')}_backward: the gradient must have the sizes of the part",
            got=f"{describe(grad)}, the part has {list(expected)}",
        )


def _put(grad: Tensor, sizes: Sizes, indices: list[Tensor | None]) -> Tensor:
    aten = ops.aten
    return aten.index_put.default(aten.new_zeros.default(grad, sizes), indices, grad)


@composite(
    "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", explicit=True,
    kernel=_placing(select.rule), outs="out"
)  # fmt: skip
def select_backward(grad_output: Tensor, input_sizes: Sizes, dim: int, index: int) -> Tensor:
    aten = ops.aten
    _check_part(select.rule, grad_output, input_sizes, dim, index)
    at = _in_dim("select", input_sizes, dim)
    size = input_sizes[at]
    places = aten.arange.start_step(0, size, device=grad_output._device)
    chosen = aten.eq.Tensor(places, index + size if index < 0 else index)
    chosen = aten.view.default(chosen, [size, *(1,) * (len(input_sizes) - at - 1)])
    nothing = aten.new_zeros.default(grad_output, [])
    return aten.contiguous.default(aten.where.self(chosen, aten.unsqueeze.default(grad_output, at), nothing))


@composite(
    "aten::slice_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt start, SymInt end, SymInt step)"
    " -> Tensor",
    explicit=True, kernel=_placing(slice_.rule), outs="out"
)  # fmt: skip
def slice_backward(grad_output: Tensor, input_sizes: Sizes, dim: int, start: int, end: int, step: int) -> Tensor:
    aten = ops.aten
    _check_part(slice_.rule, grad_output, input_sizes, dim, start, end, step)
    at = _in_dim("slice", input_sizes, dim)
    size = input_sizes[at]
    first, last = _bounds(input_sizes, dim, start, end)
    last = larger(last, first)
    if step == 1:
        before, after = [
            [aten.new_zeros.default(grad_output, (*input_sizes[:at], gap, *input_sizes[at + 1 :]))]
            if type(gap) is not int or gap else []
            for gap in (first, size - last)
        ]  # fmt: skip
        return aten.cat.default([*before, grad_output, *after], at)
    places = aten.arange.start_step(first, last, step, device=grad_output._device)
    return _put(grad_output, input_sizes, [*(None,) * at, places])


@composite(
    "aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
    explicit=True, kernel=_placing(diagonal.rule), outs="out"
)  # fmt: skip
def diagonal_backward(grad_output: Tensor, input_sizes: Sizes, offset: int, dim1: int, dim2: int) -> Tensor:
    aten = ops.aten
    _check_part(diagonal.rule, grad_output, input_sizes, offset, dim1, dim2)
    ndim = len(input_sizes)
    a, b = (wrap_dim(d, ndim, "diagonal") for d in (dim1, dim2))
    order = [a, b, *(d for d in range(ndim) if d not in (a, b))]
    steps = aten.arange.start_step(0, grad_output._sizes[-1], device=grad_output._device)
    rows, columns = aten.add.Tensor(steps, max(-offset, 0)), aten.add.Tensor(steps, max(offset, 0))
    values = aten.permute.default(grad_output, [ndim - 2, *range(ndim - 2)])
    whole = _put(values, [input_sizes[d] for d in order], [rows, columns])
    return aten.contiguous.default(aten.permute.default(whole, [order.index(d) for d in range(ndim)]))


select_backward.backward(grad_output=lambda grad, dim, index: ops.aten.select.int(grad, dim, index))
slice_backward.backward(
    grad_output=lambda grad, dim, start, end, step: ops.aten.slice.Tensor(grad, dim, start, end, step)
)
diagonal_backward.backward(
    grad_output=lambda grad, offset, dim1, dim2: ops.aten.diagonal.default(grad, offset, dim1, dim2)
)


# ---- copies with another part ----------------------------------------------------------------------------------------


def _like(self: Tensor) -> TensorSpec:
    """A copy keeps the order of dimensions in memory, without gaps."""
    return TensorSpec(self._sizes, copied_strides(self), self._dtype, self._device)


def _replacing(part: Callable[..., Layout]) -> Callable[..., Tensor]:
    """The eager kernel of a `..._scatter` op: a copy of a tensor, with the source where `part` of it lies."""

    def kernel(self: Tensor, src: Tensor, *args: Any) -> Tensor:
        _check_source(part, self, src, *args)
        whole = allocate_like(_like(self))
        whole._array[...] = self._array
        target = as_view(whole, *part(whole._sizes, whole._strides, 0, *args))._array
        with np.errstate(all="ignore"):
            store(handler(self._device.xp), target, src._array, self._dtype)
        return whole

    return kernel


def _check_source(part: Callable[..., Layout], self: Tensor, src: Tensor, *args: Any) -> None:
    expected = part(self._sizes, contiguous_strides(self._sizes), 0, *args)[0]
    if expected != src._sizes:
        raise ShapeError(
            f"{part.__name__.strip('_')}_scatter: the source must have the sizes of the part that it replaces",
            got=f"{describe(src)}, the part has {list(expected)}",
        )


def _replaced(self: Tensor, chosen: Tensor, values: Tensor) -> Tensor:
    """The values where they are chosen, in the layout of a copy of the tensor itself."""
    aten = ops.aten
    # Where the tensor is expanded, the other operands would have a say in the layout.
    like = aten.clone.default(self) if any(stride == 0 for stride in self._strides) else self
    return aten.copy.default(like, aten.where.self(chosen, values, self))


def _of_type(src: Tensor, self: Tensor) -> Tensor:
    return src if src._dtype is self._dtype else ops.aten._to_copy.default(src, dtype=self._dtype)


@composite(
    "aten::select_scatter(Tensor self, Tensor src, int dim, SymInt index) -> Tensor", explicit=True,
    kernel=_replacing(select.rule), outs="out"
)  # fmt: skip
def select_scatter(self: Tensor, src: Tensor, dim: int, index: int) -> Tensor:
    """A copy of a tensor in which another one stands at an index of a dimension."""
    aten = ops.aten
    _check_source(select.rule, self, src, dim, index)
    at = _in_dim("select", self._sizes, dim)
    size = self._sizes[at]
    if not self.numel():
        return aten.clone.default(self)
    places = aten.arange.default(size, device=self._device)
    chosen = aten.eq.Tensor(places, index + size if index < 0 else index)
    chosen = aten.view.default(chosen, [size, *(1,) * (self.ndim - at - 1)])
    return _replaced(self, chosen, aten.unsqueeze.default(_of_type(src, self), at))


@composite(
    "aten::slice_scatter(Tensor self, Tensor src, int dim=0, SymInt? start=None, SymInt? end=None, SymInt step=1)"
    " -> Tensor",
    explicit=True, kernel=_replacing(slice_.rule), tags="view_copy", outs="out"
)  # fmt: skip
def slice_scatter(
    self: Tensor, src: Tensor, dim: int = 0, start: int | None = None, end: int | None = None, step: int = 1
) -> Tensor:
    """A copy of a tensor in which another one stands for a slice of a dimension."""
    aten = ops.aten
    _check_source(slice_.rule, self, src, dim, start, end, step)
    at = _in_dim("slice", self._sizes, dim)
    size, length = self._sizes[at], src._sizes[at]
    if not self.numel() or length == 0:
        return aten.clone.default(self)
    first, last = _bounds(self._sizes, dim, start, end)
    counted = aten.sub.Tensor(aten.arange.default(size, device=self._device), first)
    chosen = aten.logical_and.default(aten.ge.Scalar(counted, 0), aten.lt.Scalar(counted, last - first))
    if step != 1:
        chosen = aten.logical_and.default(chosen, aten.eq.Scalar(aten.remainder.Scalar(counted, step), 0))
        counted = aten.floor_divide.default(counted, step)
    places = aten.clamp.default(counted, 0, length - 1)
    values = aten.index.Tensor(_of_type(src, self), [*(None,) * at, places])
    return _replaced(self, aten.view.default(chosen, [size, *(1,) * (self.ndim - at - 1)]), values)


select_scatter.backward(
    self=lambda grad, src_spec, dim, index: ops.aten.select_scatter.default(
        grad, ops.aten.new_zeros.default(grad, src_spec.sizes), dim, index
    ),
    src=lambda grad, dim, index: ops.aten.select.int(grad, dim, index),
)
slice_scatter.backward(
    self=lambda grad, src_spec, dim, start, end, step: ops.aten.slice_scatter.default(
        grad, ops.aten.new_zeros.default(grad, src_spec.sizes), dim, start, end, step
    ),
    src=lambda grad, dim, start, end, step: ops.aten.slice.Tensor(grad, dim, start, end, step),
)


# ---- the same elements ---------------------------------------------------------------------------------------------


class SameDecl(ViewDecl):
    """A view of all elements as they are."""

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A view of the whole batch, its examples counted by the same dimension."""
        t = args[0]
        whole = self.op(t.value)
        return as_view_of(t, whole, level, t.bdim) if self.is_tracked else make_batched(whole, t.bdim, level)


def _same(sizes: Sizes, strides: Sequence[Any], offset: Any) -> Layout:
    return tuple(sizes), tuple(strides), offset


alias = SameDecl("aten::alias(Tensor(a) self) -> Tensor(a)", _same, False)
alias.backward(self=lambda grad: grad)


#: The same data without the history: for autograd it is no view, so that a write to it is not recorded.
detach = SameDecl("aten::detach(Tensor(a) self) -> Tensor(a)", _same, False, is_tracked=False)
detach.backward()


for _op in (alias, detach):
    _op.inverted(in_order)


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


@as_strided.batching
def _as_strided_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    t = values["self"]
    whole = front(t, level)
    offset = values["storage_offset"]
    found = op(
        whole, [whole._sizes[0], *values["size"]], [whole._strides[0], *values["stride"]],
        whole._offset if offset is None else offset,
    )  # fmt: skip
    return as_view_of(t, found, level)


class _AsStridedDerivative(Derivative):
    """The gradient of `as_strided`: it depends on where both tensors lie in memory, which no argument tells."""

    def make_kernel(self, op: OpOverload, below: Any) -> Callable[..., Tensor]:
        def kernel(*args: Any, **kwargs: Any) -> Tensor:
            result = run_below(below, args, kwargs)
            attach(result, AsStridedNode(args[0], result), 0)
            return result

        return kernel


as_strided.op.derivative = _AsStridedDerivative({})


# ---- views of whole batches ----------------------------------------------------------------------------------------


def _behind(op: str, sizes: Sizes, *dims: int) -> list[int]:
    """Dimensions of an example as those of the batch, which counts the examples first."""
    return [wrap_dim(d, len(sizes), op) + 1 for d in dims]


@permute.on_batch
def _(whole: Tensor, sizes: Sizes, dims: Sequence[int]) -> Tensor | None:
    return ops.aten.permute.default(whole, [0, *_behind("permute", sizes, *dims)]) if sizes else None


@transpose.on_batch
def _(whole: Tensor, sizes: Sizes, dim0: int, dim1: int) -> Tensor | None:
    return ops.aten.transpose.int(whole, *_behind("transpose", sizes, dim0, dim1)) if sizes else None


@t.on_batch
def _(whole: Tensor, sizes: Sizes) -> Tensor | None:
    return ops.aten.transpose.int(whole, 1, len(sizes)) if 0 < len(sizes) <= 2 else None


@expand.on_batch
def _(whole: Tensor, sizes: Sizes, size: Sizes, implicit: bool) -> Tensor | None:
    lead = len(size) - len(sizes)
    if lead < 0 or -1 in size[:lead]:
        return None
    for _ in range(lead):
        whole = ops.aten.unsqueeze.default(whole, 1)
    return ops.aten.expand.default(whole, [whole._sizes[0], *size])


@squeeze.on_batch
def _(whole: Tensor, sizes: Sizes) -> Tensor:
    return ops.aten.squeeze.dims(whole, [d + 1 for d, size in enumerate(sizes) if size == 1])


@squeeze_dim.on_batch
def _(whole: Tensor, sizes: Sizes, dim: int) -> Tensor | None:
    return ops.aten.squeeze.dim(whole, *_behind("squeeze", sizes, dim)) if sizes else None


@squeeze_dims.on_batch
def _(whole: Tensor, sizes: Sizes, dim: Sequence[int]) -> Tensor | None:
    return ops.aten.squeeze.dims(whole, _behind("squeeze", sizes, *dim)) if sizes else None


@unsqueeze.on_batch
def _(whole: Tensor, sizes: Sizes, dim: int) -> Tensor:
    return ops.aten.unsqueeze.default(whole, wrap_dim(dim, len(sizes) + 1, "unsqueeze") + 1)


@select.on_batch
def _(whole: Tensor, sizes: Sizes, dim: int, index: int) -> Tensor | None:
    if not sizes:
        return None
    (at,) = _behind("select", sizes, dim)
    return ops.aten.select.int(whole, at, index) if -sizes[at - 1] <= index < sizes[at - 1] else None


@slice_.on_batch
def _(whole: Tensor, sizes: Sizes, dim: int, start: Any, end: Any, step: int) -> Tensor | None:
    return ops.aten.slice.Tensor(whole, *_behind("slice", sizes, dim), start, end, step) if sizes else None


@diagonal.on_batch
def _(whole: Tensor, sizes: Sizes, shift: int, dim1: int, dim2: int) -> Tensor | None:
    if not sizes:
        return None
    one, other = _behind("diagonal", sizes, dim1, dim2)
    return ops.aten.diagonal.default(whole, shift, one, other) if one != other else None


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


def _part(x: Tensor) -> Tensor:
    return ops.aten.slice.Tensor(x, 1, 1, None, 2)


def sample_layouts(make: Any) -> Iterable[Tensor]:
    """Contiguous, transposed, strided, expanded and empty tensors of 3 dimensions."""
    yield make(2, 3, 4)
    yield _turned(make(3, 2, 4))
    yield _part(make(2, 6, 4))
    yield ops.aten.expand.default(make(2, 1, 4), [2, 3, 4])
    yield make(2, 0, 4)


#: Arguments after the tensor (positional, or a dict for keywords) for tensors of sizes (2, 3, 4).
_ARGUMENTS: dict[ViewDecl | Any, tuple[Any, ...]] = {
    permute: (([2, 0, 1],), ([-1, 1, 0],)),
    transpose: ((0, 1), (-1, 0), (1, 1)),
    numpy_t: ((),),
    mt: ((),),
    mh: ((),),
    adjoint: ((),),
    swapaxes: ((0, 2),),
    swapdims: ((0, -1),),
    movedim: (([0, 1], [2, 0]), ([-1], [0])),
    movedim_int: ((0, 2), (-1, 0)),
    expand: (([2, -1, 4],), ([5, 2, -1, 4],), ([1, 2, -1, 4],)),
    broadcast_to: (([3, 2, -1, 4],),),
    unsqueeze: ((0,), (1,), (-1,), (3,)),
    select: ((0, 1), (-1, -4), (2, 3)),
    slice_: ((), (0, 1), (1, -2, 100), (2, 0, 4, 3), (-1, 3, 1), (0, -100, None)),
    narrow: ((0, 1, 1), (2, -3, 2), (2, 4, 0)),
    diagonal: ((), (1, 0, 2), (-1, 2, 0), (5,)),
    split_with_sizes: (([1, 1], 0), ([1, 0, 3], -1)),
    split_sizes: (([2, 2], 2),),
    split: ((1,), (3, -1), (9, 0)),
    chunk: ((2,), (3, -1), (9, 2)),
    tensor_split: ((2,), (3, -1), (5, 2)),
    tensor_split_indices: (([1, 2], 2), ([1, -1, 9], -1), ([3, 1], 2), ([],)),
    unbind: ((), (2,)),
    alias: ((),),
    detach: ((),),
    squeeze: ((),),
    squeeze_dim: ((0,), (-1,)),
    squeeze_dims: (([0, 1],), ([],)),
}


def view_samples(*arguments: tuple[Any, ...]) -> Any:
    """Samples that give a tensor of sizes (2, 3, 4) in several layouts, and each of these arguments after it."""

    def samples(make: Any) -> Iterable[Any]:
        for x in sample_layouts(make):
            for rest in arguments:
                yield (x, *rest), {}

    return samples


for _decl, _arguments in _ARGUMENTS.items():
    _decl.with_samples(view_samples(*_arguments))


for _decl in (squeeze, squeeze_dim, squeeze_dims):

    @_decl.with_samples
    def _(make: Any, _own: Any = _decl.samples) -> Iterable[Any]:
        yield from _own(make)
        for args, kwargs in _own(make):
            if 0 not in args[0]._sizes:
                yield (ops.aten.slice.Tensor(args[0], 0, 0, 1), *args[1:]), kwargs


for _decl in (t, matrix_h):

    @_decl.with_samples
    def _(make: Any) -> Iterable[Any]:
        yield (make(2, 3),), {}
        yield (_part(make(2, 6)),), {}
        yield (make(),), {}


@t.with_samples
def _(make: Any) -> Iterable[Any]:
    for x in (make(2, 3), _turned(make(2, 3)), make(3), make()):
        yield (x,), {}


@expand_as.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(2, 3), make(2, 3)), {}


@as_strided.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(12), [2, 3], [4, 1], 1), {}
    yield (make(12), [3, 3], [1, 1]), {}
    yield (make(12), [], [], 11), {}
    yield (make(3, 4), [0, 2], [100, 1]), {}


@select_backward.with_samples
def _(make: Any) -> Iterable[Any]:
    for x in (make(2, 4), _turned(make(4, 2)), make(2, 0)):
        yield (x, [2, 3, x._sizes[1]], 1, -1), {}
    yield (make(), [3], 0, 1), {}


@slice_backward.with_samples
def _(make: Any) -> Iterable[Any]:
    for x in (make(2, 3), _turned(make(3, 2))):
        yield (x, [2, 5], 1, 1, 4, 1), {}
        yield (x, [2, 7], -1, 1, 100, 2), {}
        yield (x, [4, 3], 0, -2, 4, 1), {}
    yield (make(0, 3), [4, 3], 0, 3, 2, 2), {}


@diagonal_backward.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(3), [3, 3], 0, 0, 1), {}
    yield (make(4, 2), [2, 4, 3], 1, 0, -1), {}
    yield (_turned(make(2, 4)), [2, 4, 3], -1, 2, 0), {}
    yield (make(0), [3, 3], 5, 0, 1), {}


def _dense_layouts(make: Any) -> Iterable[Tensor]:
    """Those of which a copy has no gaps in PyTorch either."""
    for x in sample_layouts(make):
        if x._strides != (24, 8, 1):
            yield x


@select_scatter.with_samples
def _(make: Any) -> Iterable[Any]:
    for x in _dense_layouts(make):
        yield (x, make(2, x._sizes[1]), 2, 1), {}
        yield (x, make(x._sizes[1], 4), 0, -2), {}
    yield (make(2, 3), ops.aten.select.int(_turned(make(3, 2)), 1, 0), 1, 0), {}


@slice_scatter.with_samples
def _(make: Any) -> Iterable[Any]:
    for x in _dense_layouts(make):
        yield (x, make(2, x._sizes[1], 2), 2, 1, 3), {}
        yield (x, ops.aten.transpose.int(make(2, x._sizes[1], 2), 0, 2), -1, 0, 100, 2), {}
        yield (x, make(1, x._sizes[1], 4)), {"end": -1}
        yield (x, make(2, x._sizes[1], 0), 2, 3, 1), {}
    yield (make(5, 3), make(5, 3)), {}

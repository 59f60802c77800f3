"""Parts of a tensor as views, their gradients, and copies with another part."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.autograd.views import restrict
from opweave.registry.errors import DataDependentError, OutOfRangeError, ShapeError
from opweave.registry.keys import GRAD, state
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite, handler, view
from opweave.registry.ops.kinds.base import store
from opweave.registry.ops.view import dims_behind, sample_layouts, view_samples
from opweave.registry.promote import copied_strides
from opweave.registry.spec import TensorSpec, contiguous_strides
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import Symbolic, demand, is_open, larger, smaller, unknown_up_to
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_like, as_view, describe

Layout = tuple[tuple[int, ...], tuple[Any, ...], Any]
Sizes = Sequence[int]
aten = ops.aten


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
            got=describe(self), hint="an int splits into pieces of that size",
        )  # fmt: skip
    pieces, start = [], 0
    for size in split_sizes:
        pieces.append(ops.aten.slice.Tensor(self, at, start, start + size))
        start = start + size
    return _of_one_call(pieces)


@split_with_sizes.backward
def _(grads: Sequence[Tensor | None], self_spec: TensorSpec, split_sizes: Sizes, dim: int) -> tuple[Tensor]:
    at = wrap_dim(dim, len(self_spec.sizes), "split")
    return (_side_by_side(grads, self_spec, split_sizes, at),)


def _side_by_side(grads: Sequence[Tensor | None], whole: TensorSpec, counts: Sizes, at: int) -> Tensor:
    """The gradient of what was cut along a dimension: those of the pieces in one copy, and zeros for one without."""
    like = next(grad for grad in grads if grad is not None)
    before, behind = whole.sizes[:at], whole.sizes[at + 1 :]
    return aten.cat.default(
        [
            aten.new_zeros.default(like, [*before, count, *behind]) if grad is None else grad
            for grad, count in zip(grads, counts, strict=True)
        ],
        at,
    )


@composite("aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]")
def split_sizes(self: Tensor, split_size: Sizes, dim: int = 0) -> list[Tensor]:
    return ops.aten.split_with_sizes.default(self, split_size, dim)


@composite("aten::split.Tensor(Tensor(a -> *) self, SymInt split_size, int dim=0) -> Tensor(a)[]")
def split(self: Tensor, split_size: int, dim: int = 0) -> list[Tensor]:
    at = _in_dim("split", self._sizes, dim)
    size = self._sizes[at]
    if split_size < 0 or (split_size == 0 and size):
        raise ShapeError(
            f"split: a split size of {split_size} cannot cover dimension {at} with size {size}",
            got=f"split_size={split_size}",
            hint="split(n) makes parts of n rows each",
        )
    if not size:
        return _of_one_call([ops.aten.slice.Tensor(self, at, 0, 0)])
    # The number of pieces is what a trace depends on, not the size.
    starts = [0]
    while starts[-1] + split_size < size:
        starts.append(starts[-1] + split_size)
    ends = [*starts[1:], size]
    return _of_one_call([ops.aten.slice.Tensor(self, at, a, b) for a, b in zip(starts, ends, strict=True)])


@split.backward
def _(grads: Sequence[Tensor | None], self_spec: TensorSpec, split_size: int, dim: int) -> tuple[Tensor]:
    at = wrap_dim(dim, len(self_spec.sizes), "split")
    most = len(grads) - 1
    counts = [*(split_size,) * most, self_spec.sizes[at] - split_size * most]
    return (_side_by_side(grads, self_spec, counts, at),)


@composite("aten::chunk(Tensor(a -> *) self, int chunks, int dim=0) -> Tensor(a)[]")
def chunk(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
    at = _in_dim("chunk", self._sizes, dim)
    if chunks <= 0:
        raise ShapeError(
            f"chunk: the number of chunks must be positive, not {chunks}",
            got=f"chunks={chunks}",
            hint="chunk(n) makes n parts",
        )
    size = self._sizes[at]
    if not size:
        return ops.aten.split_with_sizes.default(self, [0] * chunks, at)
    each = (size + chunks - 1) // chunks
    if isinstance(size, Symbolic) and each * (chunks - 1) < size:
        return ops.aten.split_with_sizes.default(self, [*(each,) * (chunks - 1), size - each * (chunks - 1)], at)
    return ops.aten.split.Tensor(self, each, at)


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


@composite(
    "aten::tensor_split.tensor_indices_or_sections(Tensor(a -> *) self, Tensor tensor_indices_or_sections, int dim=0)"
    " -> Tensor(a)[]"
)
def tensor_split_by(self: Tensor, tensor_indices_or_sections: Tensor, dim: int = 0) -> list[Tensor]:
    """By a number of sections, or by places, that a tensor holds."""
    given = tensor_indices_or_sections
    if given.ndim > 1 or given._dtype is not dtypes.int64 or not given._device.is_host:
        raise ShapeError(
            "tensor_split: sections or places are a number or a vector of int64 in main memory", got=describe(given)
        )
    found = given.tolist()
    return (tensor_split if given.ndim == 0 else tensor_split_indices).body(self, found, dim)


@composite("aten::unbind.int(Tensor(a -> *) self, int dim=0) -> Tensor(a)[]")
def unbind(self: Tensor, dim: int = 0) -> list[Tensor]:
    at = _in_dim("unbind", self._sizes, dim)
    return _of_one_call([ops.aten.select.int(self, at, i) for i in range(self._sizes[at])])


@unbind.backward
def _(grads: Sequence[Tensor | None], dim: int) -> tuple[Tensor]:
    like = next(grad for grad in grads if grad is not None)
    sizes = list(like._sizes)
    return (aten.stack.default([aten.new_zeros.default(like, sizes) if g is None else g for g in grads], dim),)


# ---- gradients of parts --------------------------------------------------------------------------------------------


def placing(part: Callable[..., Layout]) -> Callable[..., Tensor]:
    """The eager kernel of a `..._backward` op: zeros, with the gradient where `part` of them lies."""

    def kernel(grad_output: Tensor, input_sizes: Sizes, *args: int) -> Tensor:
        check_part(part, grad_output, input_sizes, *args)
        whole = ops.aten.new_zeros.default(grad_output, input_sizes)
        as_view(whole, *part(whole._sizes, whole._strides, 0, *args))._array[...] = grad_output._array
        return whole

    return kernel


def check_part(part: Callable[..., Layout], grad: Tensor, sizes: Sizes, *args: int) -> None:
    """Refuse a gradient that does not have the sizes of the part it is of."""
    expected = part(tuple(sizes), contiguous_strides(tuple(sizes)), 0, *args)[0]
    if expected != grad._sizes:
        raise ShapeError(
            f"{part.__name__.strip('_')}_backward: the gradient must have the sizes of the part",
            got=f"{describe(grad)}, the part has {list(expected)}",
        )


def put_at(grad: Tensor, sizes: Sizes, indices: list[Tensor | None]) -> Tensor:
    aten = ops.aten
    return aten.index_put.default(aten.new_zeros.default(grad, sizes), indices, grad)


@composite(
    "aten::select_backward(Tensor grad_output, SymInt[] input_sizes, int dim, SymInt index) -> Tensor", explicit=True,
    kernel=placing(select.rule), outs="out"
)  # fmt: skip
def select_backward(grad_output: Tensor, input_sizes: Sizes, dim: int, index: int) -> Tensor:
    aten = ops.aten
    check_part(select.rule, grad_output, input_sizes, dim, index)
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
    explicit=True, kernel=placing(slice_.rule), outs="out"
)  # fmt: skip
def slice_backward(grad_output: Tensor, input_sizes: Sizes, dim: int, start: int, end: int, step: int) -> Tensor:
    aten = ops.aten
    check_part(slice_.rule, grad_output, input_sizes, dim, start, end, step)
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
    return put_at(grad_output, input_sizes, [*(None,) * at, places])


def _replay_placing(part: Callable[..., Layout]) -> Callable[..., None]:
    """What `placing` does, written down."""

    def replay(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        grad, _, *rest = args
        made = tape.made(result)
        if kwargs or not grad.numel():
            raise NotTaped("no elements")
        tape.map("copied", [np.zeros((), made.dtype)], made)
        sizes, strides, offset = part(made.sizes, made.strides, 0, *rest)
        target = made._replace(sizes=tuple(sizes), strides=tuple(strides), offset=offset * made.dtype.itemsize)
        tape.map("copied", [tape.value(grad)], target)

    return replay


select_backward.replaying(_replay_placing(select.rule))
slice_backward.replaying(_replay_placing(slice_.rule))

select_backward.backward(grad_output=lambda grad, dim, index: ops.aten.select.int(grad, dim, index))

slice_backward.backward(
    grad_output=lambda grad, dim, start, end, step: ops.aten.slice.Tensor(grad, dim, start, end, step)
)


# ---- copies with another part --------------------------------------------------------------------------------------


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


# ---- views of whole batches ----------------------------------------------------------------------------------------


@select.on_batch
def _(whole: Tensor, sizes: Sizes, dim: int, index: int) -> Tensor | None:
    if not sizes:
        return None
    (at,) = dims_behind("select", sizes, dim)
    return ops.aten.select.int(whole, at, index) if -sizes[at - 1] <= index < sizes[at - 1] else None


@slice_.on_batch
def _(whole: Tensor, sizes: Sizes, dim: int, start: Any, end: Any, step: int) -> Tensor | None:
    return ops.aten.slice.Tensor(whole, *dims_behind("slice", sizes, dim), start, end, step) if sizes else None


# ---- in pieces -----------------------------------------------------------------------------------------------------


def _declare_split_along(name: str, least: int, axis: Callable[[Tensor], int]) -> None:
    def checked(self: Tensor) -> int:
        if self.ndim < least:
            raise ShapeError(f"{name}: expected {least} dimensions at least", got=describe(self))
        return axis(self)

    @composite(f"aten::{name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
    def by_count(self: Tensor, sections: int) -> list[Tensor]:
        dim = checked(self)
        if sections < 1 or self._sizes[dim] % sections:
            raise ShapeError(f"{name}: the dimension does not split into {sections}", got=describe(self))
        return aten.tensor_split.sections(self, sections, dim)

    @composite(f"aten::{name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
    def by_places(self: Tensor, indices: Sequence[int]) -> list[Tensor]:
        return aten.tensor_split.indices(self, list(indices), checked(self))


_declare_split_along("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)

_declare_split_along("vsplit", 2, lambda x: 0)

_declare_split_along("dsplit", 3, lambda x: 2)


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


#: Arguments after the tensor, for tensors of sizes (2, 3, 4).
_PART_ARGUMENTS: dict[Any, tuple[Any, ...]] = {
    select: ((0, 1), (-1, -4), (2, 3)),
    slice_: ((), (0, 1), (1, -2, 100), (2, 0, 4, 3), (-1, 3, 1), (0, -100, None)),
    narrow: ((0, 1, 1), (2, -3, 2), (2, 4, 0)),
    split_with_sizes: (([1, 1], 0), ([1, 0, 3], -1)),
    split_sizes: (([2, 2], 2),),
    split: ((1,), (3, -1), (9, 0)),
    chunk: ((2,), (3, -1), (9, 2)),
    tensor_split: ((2,), (3, -1), (5, 2)),
    tensor_split_indices: (([1, 2], 2), ([1, -1, 9], -1), ([3, 1], 2), ([],)),
    unbind: ((), (2,)),
}

for _decl, _arguments in _PART_ARGUMENTS.items():
    _decl.with_samples(view_samples(*_arguments))


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

"""Padding: with a constant, mirrored at the edge, with the edge repeated, or around in a circle.

A padded tensor is a gather at places that are computed from the index, so that padding fuses with what reads it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, ShapeError, UnsupportedError
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import ops
from opweave.registry.ops.copies import format_of, laid_out, rounded, spec_like, widened
from opweave.registry.ops.kinds import CompositeDecl, composite
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import as_element
from opweave.registry.symbolic import demand, is_open, larger, smaller
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_like, describe

# ---- with a constant -----------------------------------------------------------------------------------------------


def _by_dim(op: str, self: Tensor, pad: Sequence[int]) -> list[tuple[int, int]]:
    """What goes before and after each dimension; the list starts with the last dimension."""
    if len(pad) % 2 or len(pad) > 2 * self.ndim:
        raise ShapeError(
            f"{op}: needs two numbers a dimension, for the last dimensions or all",
            got=f"{describe(self)}, {list(pad)}",
            hint="(left, right) pads the last dimension, (left, right, top, bottom) the last two",
        )
    found = [(0, 0)] * (self.ndim - len(pad) // 2)
    return found + [(pad[i], pad[i + 1]) for i in range(len(pad) - 2, -1, -2)]


def _constant_sizes(self: Tensor, pad: Sequence[int]) -> tuple[list[tuple[int, int]], list[int]]:
    """(numbers by dimension, sizes of the result)."""
    around = _by_dim("constant_pad_nd", self, pad)
    sizes = []
    for d, (size, (before, after)) in enumerate(zip(self._sizes, around, strict=True)):
        cut = sum([-p for p in (before, after) if p < 0])
        message = f"constant_pad_nd: the padding ({before}, {after}) cuts more than dimension {d} with size {size} has"
        demand(cut <= size, message, ShapeError)
        sizes.append(size + before + after)
    return around, sizes


def _cut(self: Tensor, around: Sequence[tuple[int, int]]) -> Tensor:
    """The part that negative numbers leave."""
    for d, (before, after) in enumerate(around):
        if before < 0 or after < 0:
            end = self._sizes[d] + after if after < 0 else None
            self = ops.aten.slice.Tensor(self, d, -before if before < 0 else 0, end)
    return self


def _constant_pad_kernel(self: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    around, sizes = _constant_sizes(self, pad)
    number = as_element("constant_pad_nd", value, self._dtype)
    part = _cut(self, around)
    if not any(before > 0 or after > 0 for before, after in around):
        return ops.aten.clone.default(part)
    out = allocate_like(spec_like(self, sizes))
    inside = [slice(max(b, 0), max(b, 0) + n) for (b, _), n in zip(around, part._sizes, strict=True)]
    out._array[...] = number
    out._array[tuple(inside)] = part._array
    return out


@composite(
    "aten::constant_pad_nd(Tensor self, SymInt[] pad, Scalar value=0) -> Tensor", explicit=True,
    kernel=_constant_pad_kernel, outs="out"
)  # fmt: skip
def constant_pad_nd(self: Tensor, pad: Sequence[int], value: Any = 0) -> Tensor:
    """The tensor with a constant around it; negative numbers cut elements off."""
    aten = ops.aten
    around, sizes = _constant_sizes(self, pad)
    number = as_element("constant_pad_nd", value, self._dtype)
    padded = [d for d, (before, after) in enumerate(around) if before > 0 or after > 0]
    if not padded:
        return aten.clone.default(_cut(self, around))
    layout = format_of(self)
    if not self.numel():
        return laid_out(aten.new_full.default(self, sizes, number), layout)
    if any(is_open(size == 0) for size in self._sizes):
        return laid_out(_walled(_cut(self, around), around, number), layout)
    part = _cut(self, [pair if d not in padded else (0, 0) for d, pair in enumerate(around)])
    places: dict[int, Tensor] = {}
    inside: Tensor | None = None
    for d in padded:
        size, (before, _) = self._sizes[d], around[d]
        step = _steps(self, sizes[d], -before)
        counted = _column(step, self.ndim - d - 1)
        within = aten.logical_and.default(aten.ge.Scalar(counted, 0), aten.lt.Scalar(counted, size))
        inside = within if inside is None else aten.logical_and.default(inside, within)
        places[d] = aten.clamp.default(step, 0, size - 1)
    return laid_out(aten.where(inside, _taken(part, places), number), layout)


@constant_pad_nd.replaying
def _replay_pad(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    self, pad, value = constant_pad_nd.bind(args, kwargs)
    around, _ = _constant_sizes(self, pad)
    source, made = tape.value(self), tape.made(result)
    if not result.numel():
        raise NotTaped("no elements")
    number = as_element("constant_pad_nd", value, self._dtype)
    sizes = tuple([n + min(before, 0) + min(after, 0) for n, (before, after) in zip(source.sizes, around, strict=True)])
    if any(before > 0 or after > 0 for before, after in around):
        tape.map("copied", [np.asarray(number, made.dtype)], made)
    begin, target = [max(-before, 0) for before, _ in around], [max(before, 0) for before, _ in around]
    if all(sizes):
        tape.map("copied", [source.part(begin, sizes)], made.part(target, sizes))


def _walled(part: Tensor, around: Sequence[tuple[int, int]], number: Any) -> Tensor:
    """A part, which may have no element to read, with constants put beside it dimension by dimension."""
    for d, (before, after) in enumerate(around):
        walls = [
            ops.aten.new_full.default(part, [*part._sizes[:d], count, *part._sizes[d + 1 :]], number)
            if count > 0
            else None
            for count in (before, after)
        ]
        pieces = [piece for piece in (walls[0], part, walls[1]) if piece is not None]
        part = ops.aten.cat.default(pieces, d) if len(pieces) > 1 else part
    return part


def _steps(self: Tensor, size: int, start: int) -> Tensor:
    steps = ops.aten.arange.default(size, dtype=dtypes.int64, device=self._device)
    return ops.aten.add.Tensor(steps, start)


def _column(vector: Tensor, tail: int) -> Tensor:
    """A vector with dimensions of size 1 behind."""
    return ops.aten.view.default(vector, [vector._sizes[0], *(1,) * tail]) if tail else vector


def _spread(places: dict[int, Tensor], self: Tensor) -> list[Tensor | None]:
    """Index tensors for all dimensions from the first to the last of them, which broadcast to their product."""
    first, last = min(places), max(places)
    found: list[Tensor | None] = [None] * first
    for d in range(first, last + 1):
        place = places[d] if d in places else _steps(self, self._sizes[d], 0)
        found.append(_column(place, last - d))
    return found


def _taken(self: Tensor, places: dict[int, Tensor]) -> Tensor:
    """The elements at these places of some dimensions."""
    return ops.aten.index.Tensor(self, _spread(places, self))


constant_pad_nd.backward(self=lambda grad, pad: ops.aten.constant_pad_nd.default(grad, [-number for number in pad], 0))


# ---- at the edges --------------------------------------------------------------------------------------------------


class _Edge(NamedTuple):
    """How a mode fills what lies outside."""

    place: Callable[[Any, Any, Any, int], Any]
    limited: bool  # whether it needs as many elements as it adds


def _mirrored(minimum: Any, maximum: Any, absolute: Any, size: int) -> Any:
    # The distance from the last element, of the distance from the first.
    return lambda i: (size - 1) - absolute(absolute(i) - (size - 1))


def _held(minimum: Any, maximum: Any, absolute: Any, size: int) -> Any:
    return lambda i: minimum(maximum(i, 0), size - 1)


_EDGES = {"reflection": _Edge(_mirrored, True), "replication": _Edge(_held, False)}


def _edge_sizes(op: str, edge: _Edge, self: Tensor, padding: Sequence[int], count: int) -> list[int]:
    """Sizes of the padded tensor, after checking the arguments."""
    if len(padding) != 2 * count:
        raise ShapeError(f"{op}: needs {2 * count} numbers", got=f"padding={list(padding)}")
    batched = self.ndim == count + 2
    if self.ndim not in (count + 1, count + 2) or any(size == 0 for size in self._sizes[int(batched) :]):
        raise ShapeError(
            f"{op}: expected {count + 1} dimensions, or {count + 2} with a batch, none but the batch empty",
            got=describe(self),
        )
    if self._dtype is dtypes.bool_:
        raise DTypeError(f"{op}: not defined for bool", got=describe(self))
    sizes = list(self._sizes)
    for d in range(self.ndim - count, self.ndim):
        before, after = padding[2 * (self.ndim - 1 - d)], padding[2 * (self.ndim - 1 - d) + 1]
        size = self._sizes[d]
        if edge.limited:
            for number in (before, after):
                demand(number < size, f"{op}: the padding {number} must be less than the size {size}", ShapeError)
        sizes[d] = size + before + after
        # PyTorch lets a result be empty in two or three dimensions.
        least = 1 if count == 1 else 0
        demand(sizes[d] >= least, f"{op}: dimension {d} with size {size} is too small for the padding", ShapeError)
    return sizes


def _edge_places(self: Tensor, padding: Sequence[int], sizes: Sequence[int], edge: _Edge) -> dict[int, Tensor]:
    aten = ops.aten
    found = {}
    for i in range(len(padding) // 2):
        d = self.ndim - 1 - i
        of = edge.place(aten.clamp_max.default, aten.clamp_min.default, aten.abs.default, self._sizes[d])
        found[d] = of(_steps(self, sizes[d], -padding[2 * i]))
    return found


def _edge_arrays(self: Tensor, padding: Sequence[int], sizes: Sequence[int], edge: _Edge) -> dict[int, Any]:
    xp = self._device.xp
    found = {}
    for i in range(len(padding) // 2):
        d = self.ndim - 1 - i
        found[d] = edge.place(xp.minimum, xp.maximum, xp.abs, self._sizes[d])(xp.arange(sizes[d]) - padding[2 * i])
    return found


def _declare_edge(mode: str, count: int, **traits: Unpack[Traits]) -> tuple[CompositeDecl, CompositeDecl]:
    name, edge = f"{mode}_pad{count}d", _EDGES[mode]
    schema = f"SymInt[{2 * count}] padding"
    said: Traits = {"outs": "out", **traits}

    def forward_kernel(self: Tensor, padding: Sequence[int]) -> Tensor:
        sizes = _edge_sizes(name, edge, self, padding, count)
        out = allocate_like(spec_like(self, sizes))
        array = self._array
        for d, places in _edge_arrays(self, padding, sizes, edge).items():
            array = self._device.xp.take(array, places, axis=d)
        out._array[...] = array
        return out

    @composite(f"aten::{name}(Tensor self, {schema}) -> Tensor", explicit=True, kernel=forward_kernel, **said)
    def forward(self: Tensor, padding: Sequence[int]) -> Tensor:
        sizes = _edge_sizes(name, edge, self, padding, count)
        return laid_out(_taken(self, _edge_places(self, padding, sizes, edge)), format_of(self))

    def check(grad_output: Tensor, self: Tensor, padding: Sequence[int]) -> list[int]:
        sizes = _edge_sizes(f"{name}_backward", edge, self, padding, count)
        if tuple(sizes) != grad_output._sizes or grad_output._dtype is not self._dtype:
            raise ShapeError(
                f"{name}_backward: the gradient must be like the padded tensor",
                got=f"{describe(grad_output)}, expected sizes {sizes} and type {self._dtype.name}",
            )
        return sizes

    def backward_kernel(grad_output: Tensor, self: Tensor, padding: Sequence[int]) -> Tensor:
        sizes = check(grad_output, self, padding)
        out = allocate_like(spec_like(self, self._sizes))
        xp = self._device.xp
        array = grad_output._array
        compute = self._dtype.compute
        array = array if compute is self._dtype else array.astype(compute.numpy)
        for d, places in _edge_arrays(self, padding, sizes, edge).items():
            array = _folded(xp, array, d, places, self._sizes[d], padding[2 * (self.ndim - 1 - d)])
        out._array[...] = array
        return out

    @composite(
        f"aten::{name}_backward(Tensor grad_output, Tensor self, {schema}) -> Tensor", explicit=True,
        kernel=backward_kernel, outs="grad_input"
    )  # fmt: skip
    def backward(grad_output: Tensor, self: Tensor, padding: Sequence[int]) -> Tensor:
        aten = ops.aten
        sizes = check(grad_output, self, padding)
        grad = widened(grad_output)
        places = _spread(_edge_places(self, padding, sizes, edge), self)
        found = aten.index_put.default(aten.new_zeros.default(grad, list(self._sizes)), places, grad, True)
        return laid_out(rounded(found, self._dtype), format_of(self))

    forward.backward(self=lambda grad, self, padding: backward(grad, self, padding))
    backward.backward(grad_output=lambda grad, padding: forward(grad, padding))
    return forward, backward


def _folded(xp: Any, array: Any, axis: int, places: Any, size: int, before: int) -> Any:
    """The sums of what was taken from each place of an axis."""
    sizes = list(array.shape)
    sizes[axis] = size
    found = xp.zeros(sizes, array.dtype)
    target, source = xp.moveaxis(found, axis, 0), xp.moveaxis(array, axis, 0)
    first, last = max(before, 0), min(before + size, len(source))
    if first < last:  # what was inside, each element once
        target[first - before : last - before] = source[first:last]
    for i in [*range(min(first, len(source))), *range(max(last, first), len(source))]:
        target[int(places[i])] += source[i]
    return found


reflection_pad1d, reflection_pad1d_backward = _declare_edge("reflection", 1, autocast={"cpu": "fp32"})
reflection_pad2d, reflection_pad2d_backward = _declare_edge("reflection", 2, autocast={"cpu": "fp32"})
reflection_pad3d, reflection_pad3d_backward = _declare_edge("reflection", 3)
replication_pad1d, replication_pad1d_backward = _declare_edge("replication", 1, autocast={"cpu": "fp32"})
replication_pad2d, replication_pad2d_backward = _declare_edge("replication", 2, autocast={"cpu": "fp32"})
replication_pad3d, replication_pad3d_backward = _declare_edge("replication", 3, autocast={"cpu": "fp32"})


# ---- by name -------------------------------------------------------------------------------------------------------


@composite("aten::_pad_circular(Tensor self, SymInt[] pad) -> Tensor")
def _pad_circular(self: Tensor, pad: Sequence[int]) -> Tensor:
    aten = ops.aten
    around = _by_dim("pad", self, pad)
    places: dict[int, Tensor] = {}
    for d in range(self.ndim - len(pad) // 2, self.ndim):
        size, (before, after) = self._sizes[d], around[d]
        start, end = larger(-before, 0), size + smaller(after, 0)
        message = f"pad: the padding ({before}, {after}) cuts more than dimension {d} with size {size} has"
        demand(end >= start, message, ShapeError)
        for number in (before, after):
            message = f"pad: {number} goes more than once around what is left of dimension {d} with size {size}"
            demand(number <= end - start, message, ShapeError)
        if before <= 0 and after <= 0:
            places[d] = _steps(self, end - start, start)
        else:
            turned = aten.remainder.Scalar(_steps(self, size + before + after, -larger(before, 0)), end - start)
            places[d] = aten.add.Tensor(turned, start)
    if not places:
        return aten.clone.default(self, memory_format=contiguous_format)
    return aten.contiguous.default(_taken(self, places))


_FIXED = {"reflect": "reflection", "replicate": "replication"}


@composite('aten::pad(Tensor self, SymInt[] pad, str mode="constant", float? value=None) -> Tensor')
def pad(self: Tensor, pad: Sequence[int], mode: str = "constant", value: float | None = None) -> Tensor:
    """The tensor with its last dimensions padded; `mode` is constant, reflect, replicate or circular."""
    aten = ops.aten
    if mode == "constant":
        return aten.constant_pad_nd.default(self, pad, 0 if value is None else value)
    if value is not None and value != 0:
        raise ShapeError(f"pad: mode {mode!r} takes no value", got=f"value={value}")
    count = len(pad) // 2
    if mode not in (*_FIXED, "circular"):
        raise UnsupportedError("pad: unknown mode", got=repr(mode), hint="constant, reflect, replicate or circular")
    if len(pad) % 2 or count not in (1, 2, 3) or self.ndim not in (count + 1, count + 2):
        raise UnsupportedError(
            f"pad: mode {mode!r} pads the last 1, 2 or 3 dimensions of a tensor with 1 or 2 more",
            got=f"{describe(self)}, pad={list(pad)}",
        )
    if mode == "circular":
        return aten._pad_circular.default(self, pad)
    return getattr(aten, f"{_FIXED[mode]}_pad{count}d").default(self, pad)


# ---- samples -------------------------------------------------------------------------------------------------------

_TYPES = (dtypes.float32, dtypes.float64, dtypes.float16, dtypes.bfloat16, dtypes.int64, dtypes.uint8,
          dtypes.complex64)  # fmt: skip


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, -1)


@constant_pad_nd.with_samples
def _(make: Make) -> Samples:
    for x in (make(3, 4, 5), _turned(make(5, 4, 3)), ops.aten.permute.default(make(3, 5, 4), [0, 2, 1])):
        yield (x, [1, 2]), {}
        yield (x, [1, 0, 0, 2], 1.5), {}
        yield (x, [0, 0, 2, 1]), {}
        yield (x, [0, 1, 0, 0, 1, 0], 3), {}
        yield (x, [-1, 2, 1, -2]), {}
        yield (x, [-1, -1]), {}
        yield (x, [0, 0]), {}
    image = ops.aten.permute.default(make(2, 4, 5, 3), [0, 3, 1, 2])
    yield (image, [1, 1, 2, 0]), {}
    yield (make(2, 0), [1, 2, 1, 0], 2), {}
    yield (make(2, 3), [-3, 2], 2), {}
    yield (make(), []), {}


constant_pad_nd.sample_dtypes = (*_TYPES, dtypes.bool_)

_EDGE_SAMPLES: dict[int, tuple[list[int], ...]] = {
    1: ([1, 2], [3, 0], [-1, 2], [-2, -1]),
    2: ([1, 2, 0, 1], [2, 2, 2, 2], [-1, 1, 2, -2]),
    3: ([1, 0, 1, 2, 2, 1], [-1, 1, 0, 0, 1, 1]),
}


def _edge_inputs(make: Make, count: int) -> Iterable[Tensor]:
    yield make(2, *range(4, 4 - count, -1))
    whole = make(2, 3, *range(4, 4 - count, -1)) if count < 3 else make(1, 2, 4, 3, 3)
    yield whole
    yield ops.aten.transpose.int(ops.aten.contiguous.default(ops.aten.transpose.int(whole, 1, -1)), 1, -1)


def _edge_samples(count: int, padded: CompositeDecl | None = None) -> Callable[[Make], Samples]:
    def samples(make: Make) -> Samples:
        for x in _edge_inputs(make, count):
            for padding in _EDGE_SAMPLES[count]:
                if padded is None:
                    yield (x, padding), {}
                    continue
                sizes = list(x._sizes)
                for i in range(count):
                    sizes[-1 - i] += padding[2 * i] + padding[2 * i + 1]
                yield (make(*sizes), x, padding), {}

    return samples


for _count, _pairs in {
    1: ((reflection_pad1d, reflection_pad1d_backward), (replication_pad1d, replication_pad1d_backward)),
    2: ((reflection_pad2d, reflection_pad2d_backward), (replication_pad2d, replication_pad2d_backward)),
    3: ((reflection_pad3d, reflection_pad3d_backward), (replication_pad3d, replication_pad3d_backward)),
}.items():
    for _forward, _backward in _pairs:
        _forward.with_samples(_edge_samples(_count))
        _backward.with_samples(_edge_samples(_count, _forward))
        _forward.sample_dtypes = _backward.sample_dtypes = _TYPES
        if _count == 3:
            # Mirrored fits, with sizes of 3, where 2 are added.
            _forward.sample_dtypes = _backward.sample_dtypes = _TYPES[:5]


@_pad_circular.with_samples
def _(make: Make) -> Samples:
    for padding in ([1, 2], [3, 0], [-1, 2], [2, 1, 0, 1]):
        yield (make(2, 3, 4), padding), {}
    yield (_turned(make(4, 3, 2)), [1, 1]), {}


@pad.with_samples
def _(make: Make) -> Samples:
    for mode in ("constant", "reflect", "replicate", "circular"):
        yield (make(2, 3, 4), [1, 2], mode), {}
        yield (make(2, 3, 4), [1, 2, 1, 0], mode), {}
    yield (make(2, 3), [1, -1], "constant", 2.0), {}


_pad_circular.sample_dtypes = pad.sample_dtypes = _TYPES

"""Elements in another order, or several times each."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, check_example, flat, front, wrap
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.copies import format_of, laid_out
from opweave.registry.ops.kinds import composite, extern, index_map, normalize_axes
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import copied_strides
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_like, describe

_ALL = dtypes.COMPUTED
aten = ops.aten


# ---- repeating and moving ------------------------------------------------------------------------------------------


@composite("aten::repeat(Tensor self, SymInt[] repeats) -> Tensor", explicit=True, out=True)
def repeat(self: Tensor, repeats: Sequence[int]) -> Tensor:
    lead = len(repeats) - self.ndim
    if lead < 0 or any(r < 0 for r in repeats):
        raise ShapeError(
            "repeat: needs a non-negative count for each dimension", got=f"{list(repeats)} for {describe(self)}",
            hint=f"a count for each dimension: x.repeat({', '.join(['2'] * self.ndim)})",
        )  # fmt: skip
    aten = ops.aten
    sizes = (*(1,) * lead, *self._sizes)
    # Each dimension gets a neighbour of size 1 to be stretched: (s0, s1) is seen as (1, s0, 1, s1).
    spread = self
    for _ in range(lead):
        spread = aten.unsqueeze.default(spread, 0)
    for d in range(len(sizes)):
        spread = aten.unsqueeze.default(spread, 2 * d)
    stretched = aten.expand.default(spread, [n for r, s in zip(repeats, sizes, strict=True) for n in (r, s)])
    copied = aten.clone.default(stretched, memory_format=contiguous_format)
    return aten._unsafe_view.default(copied, [r * s for r, s in zip(repeats, sizes, strict=True)])


@repeat.backward
def _repeat_backward(grad: Tensor, self_spec: TensorSpec, repeats: Sequence[int]) -> tuple[Tensor]:
    sizes = (*(1,) * (len(repeats) - len(self_spec.sizes)), *self_spec.sizes)
    if not sizes:
        return (grad,)
    spread = ops.aten.reshape.default(grad, [n for r, s in zip(repeats, sizes, strict=True) for n in (r, s)])
    return (ops.aten.sum.dim_IntList(spread, list(range(0, 2 * len(sizes), 2))),)


@composite("aten::tile(Tensor self, SymInt[] dims) -> Tensor")
def tile(self: Tensor, dims: Sequence[int]) -> Tensor:
    return ops.aten.repeat.default(self, [*(1,) * (self.ndim - len(dims)), *dims])


def _flip_spec(self: Tensor, dims: Sequence[int]) -> TensorSpec:
    normalize_axes(list(dims), self.ndim, "flip")
    return TensorSpec(self._sizes, copied_strides(self), self._dtype, self._device)


def _flip_origin(index: Sequence[Any], sizes: Sequence[Any], dims: Sequence[int]) -> list[Any]:
    axes = {d % len(sizes) for d in dims} if sizes else set()
    return [part * -1 + (sizes[d] - 1) if d in axes else part for d, part in enumerate(index)]


@index_map("aten::flip(Tensor self, int[] dims) -> Tensor", spec=_flip_spec, origin=_flip_origin, out=True)
def flip(self: Tensor, dims: Sequence[int]) -> Tensor:
    """Reverse the order along dimensions (a copy: strides are never negative)."""
    out = allocate_like(_flip_spec(self, dims))
    axes = normalize_axes(list(dims), self.ndim, "flip") if dims else ()
    index = tuple(slice(None, None, -1) if d in axes else slice(None) for d in range(self.ndim))
    out._array[...] = self._array[index]
    return out


@flip.replaying
def _replay_flip(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    self, dims = flip.bind(args, kwargs)
    source, made = tape.value(self), tape.made(result)
    axes = normalize_axes(list(dims), self.ndim, "flip") if dims else ()
    if not result.numel():
        raise NotTaped("no elements")
    last = sum((source.sizes[d] - 1) * source.strides[d] for d in axes)
    strides = tuple([-stride if d in axes else stride for d, stride in enumerate(source.strides)])
    begin = source.offset + last * source.dtype.itemsize
    tape.map("copied", [source._replace(offset=begin, strides=strides)], made)


@flip.batching
def _flip(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    t, dims = args
    if not t._sizes:
        return wrap(ops.aten.clone.default(front(t, level)), level)
    return wrap(op(front(t, level), [wrap_dim(d, t.ndim, "flip") + 1 for d in dims]), level)


flip.backward(self=lambda grad, dims: ops.aten.flip.default(grad, dims))


def roll_axes(self: Tensor, shifts: Sequence[int], dims: Sequence[int]) -> tuple[int, ...] | None:
    """The dimensions that a roll shifts, checked; None for all elements in a row."""
    if not dims and len(shifts) == 1:
        return None
    if len(shifts) != len(dims) or not shifts:
        raise ShapeError("roll: needs one shift for each dimension", got=f"shifts={list(shifts)}, dims={list(dims)}")
    if not self._sizes:
        raise OutOfRangeError("roll: a 0-d tensor has no dimension", got=f"dims={list(dims)}")
    return tuple(wrap_dim(d, self.ndim, "roll") for d in dims)


def _roll_spec(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> TensorSpec:
    roll_axes(self, shifts, dims)
    return contiguous(self._sizes, self._dtype, self._device)


@extern("aten::roll(Tensor self, SymInt[1] shifts, int[1] dims=[]) -> Tensor", spec=_roll_spec, outs="out")
def roll(self: Tensor, shifts: Sequence[int], dims: Sequence[int] = ()) -> Tensor:
    """Shift elements along dimensions, those beyond the end coming back at the start."""
    axes = roll_axes(self, shifts, dims)
    out = allocate_like(_roll_spec(self, shifts, dims))
    xp = self._device.xp
    out._array[...] = xp.roll(self._array, shifts[0] if axes is None else tuple(shifts), axis=axes)
    return out


@roll.replaying
def _replay_roll(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    self, shifts, dims = roll.bind(args, kwargs)
    source, made = tape.value(self), tape.made(result)
    axes = roll_axes(self, shifts, dims)
    if not result.numel() or (axes is None and source.strides != made.strides):
        raise NotTaped("no elements, or no row of them")
    if axes is None:
        count = result.numel()
        source, made = (v._replace(sizes=(count,), strides=(1,)) for v in (source, made))
        axes = (0,)
    parts = [[(0, 0, size)] for size in source.sizes]
    for axis in set(axes):
        size = source.sizes[axis]
        cut = sum(shift for shift, other in zip(shifts, axes, strict=True) if other == axis) % size
        # Where a run of elements is, where it goes, and how many there are.
        parts[axis] = [(0, cut, size - cut), (size - cut, 0, cut)] if cut else [(0, 0, size)]
    for runs in itertools.product(*parts):
        sizes = tuple([count for _, _, count in runs])
        tape.map("copied", [source.part([begin for begin, _, _ in runs], sizes)],
                 made.part([target for _, target, _ in runs], sizes))  # fmt: skip


@roll.batching
def _roll(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    roll_axes(*op.decl.bind(args, kwargs))
    values = bound(op, args, kwargs)
    t, shifts, dims = values["self"], values["shifts"], values["dims"]
    whole = front(t, level)
    if dims:
        return wrap(op(whole, shifts, [wrap_dim(d, t.ndim, "roll") + 1 for d in dims]), level)
    return wrap(ops.aten.view.default(op(flat(whole), shifts, [1]), list(whole._sizes)), level)


roll.backward(self=lambda grad, shifts, dims: ops.aten.roll.default(grad, [-shift for shift in shifts], dims))


@composite("aten::fliplr(Tensor self) -> Tensor")
def fliplr(self: Tensor) -> Tensor:
    """The columns backwards."""
    if self.ndim < 2:
        raise ShapeError("fliplr: expected two dimensions at least", got=describe(self))
    return aten.flip.default(self, [1])


@composite("aten::flipud(Tensor self) -> Tensor")
def flipud(self: Tensor) -> Tensor:
    """The rows backwards."""
    if self.ndim < 1:
        raise ShapeError("flipud: expected one dimension at least", got=describe(self))
    return aten.flip.default(self, [0])


@composite("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters, from the first of two dimensions towards the second."""
    if len(dims) != 2 or self.ndim < 2:
        raise ShapeError("rot90: expected two dimensions to turn in", got=f"{describe(self)}, dims={list(dims)}")
    first, second = (wrap_dim(d, self.ndim, "rot90") for d in dims)
    if first == second:
        raise ShapeError("rot90: the two dimensions must differ", got=f"dims={list(dims)}")
    quarters = k % 4
    if quarters == 0:
        return aten.clone.default(self, memory_format=contiguous_format)
    if quarters == 2:
        return aten.flip.default(self, [first, second])
    return aten.transpose.int(aten.flip.default(self, [second if quarters == 1 else first]), first, second)


# ---- channels and pixels -------------------------------------------------------------------------------------------


def _image(op: str, self: Tensor) -> tuple[list[Any], Any, Any, Any]:
    if self.ndim < 3:
        raise ShapeError(f"{op}: expected (..., channels, height, width)", got=describe(self))
    *batch, channels, height, width = self._sizes
    return batch, channels, height, width


def _positive(op: str, factor: int) -> None:
    if factor < 1:
        raise ShapeError(f"{op}: the factor must be 1 or more", got=f"{factor}")


@composite("aten::pixel_shuffle(Tensor self, int upscale_factor) -> Tensor", outs="out")
def pixel_shuffle(self: Tensor, upscale_factor: int) -> Tensor:
    """(..., C r², H, W) as (..., C, H r, W r): the channels of a pixel become a square of pixels."""
    r = upscale_factor
    batch, channels, height, width = _image("pixel_shuffle", self)
    _positive("pixel_shuffle", r)
    if channels % (r * r):
        raise ShapeError("pixel_shuffle: the channels must be a multiple of the factor's square", got=describe(self))
    split = aten.reshape.default(self, [*batch, channels // (r * r), r, r, height, width])
    n = len(batch)
    moved = aten.permute.default(split, [*range(n), n, n + 3, n + 1, n + 4, n + 2])
    sizes = [*batch, channels // (r * r), height * r, width * r]
    return laid_out(aten.reshape.default(aten.contiguous.default(moved), sizes), format_of(self))


@composite("aten::pixel_unshuffle(Tensor self, int downscale_factor) -> Tensor", outs="out")
def pixel_unshuffle(self: Tensor, downscale_factor: int) -> Tensor:
    """The inverse of `pixel_shuffle`."""
    r = downscale_factor
    batch, channels, height, width = _image("pixel_unshuffle", self)
    _positive("pixel_unshuffle", r)
    if height % r or width % r:
        raise ShapeError("pixel_unshuffle: height and width must be multiples of the factor", got=describe(self))
    split = aten.reshape.default(self, [*batch, channels, height // r, r, width // r, r])
    n = len(batch)
    moved = aten.permute.default(split, [*range(n), n, n + 2, n + 4, n + 1, n + 3])
    sizes = [*batch, channels * r * r, height // r, width // r]
    return laid_out(aten.reshape.default(aten.contiguous.default(moved), sizes), format_of(self))


@composite("aten::channel_shuffle(Tensor self, SymInt groups) -> Tensor", outs="out")
def channel_shuffle(self: Tensor, groups: int) -> Tensor:
    """The channels of (N, C, ...) dealt out in turn to the groups that they came in."""
    if self.ndim < 3:
        raise ShapeError("channel_shuffle: expected (batch, channels, ...) and more", got=describe(self))
    _positive("channel_shuffle", groups)
    count, channels, *rest = self._sizes
    if channels % groups:
        raise ShapeError("channel_shuffle: the channels must be a multiple of the groups", got=f"{channels}, {groups}")
    split = aten.reshape.default(self, [count, groups, channels // groups, *rest])
    moved = aten.clone.default(aten.transpose.int(split, 1, 2), memory_format=contiguous_format)
    return laid_out(aten.reshape.default(moved, list(self._sizes)), format_of(self))


# ---- repetition ----------------------------------------------------------------------------------------------------


_SIZED = "*, SymInt? output_size=None"


@composite(f"aten::repeat_interleave.self_int(Tensor self, SymInt repeats, int? dim=None, {_SIZED}) -> Tensor")
def repeat_interleave_int(
    self: Tensor, repeats: int, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element of a dimension so often, one after the other; of the flattened tensor without `dim`."""
    x = aten.flatten.using_ints(self) if dim is None else self
    axis = 0 if dim is None else wrap_dim(dim, x.ndim, "repeat_interleave")
    if not x.ndim:
        x = aten.unsqueeze.default(x, 0)
    if repeats < 0:
        raise ShapeError("repeat_interleave: the number of repeats must not be negative", got=f"{repeats}")
    size = x._sizes[axis] * repeats
    if output_size is not None and output_size != size:
        raise ShapeError("repeat_interleave: output_size is wrong", got=f"output_size={output_size}, {size} elements")
    wide = [*x._sizes[: axis + 1], repeats, *x._sizes[axis + 1 :]]
    spread = aten.expand.default(aten.unsqueeze.default(x, axis + 1), wide)
    repeated = aten.clone.default(spread, memory_format=contiguous_format)  # no view of the input
    found = aten.view.default(repeated, [*x._sizes[:axis], size, *x._sizes[axis + 1 :]])
    return found


def _places_spec(repeats: Tensor, output_size: int | None = None) -> TensorSpec:
    if repeats.ndim != 1:
        raise ShapeError("repeat_interleave: the repeats must be a vector", got=describe(repeats))
    if repeats._dtype not in (dtypes.int32, dtypes.int64):
        raise DTypeError("repeat_interleave: the repeats must be int32 or int64", got=describe(repeats))
    count = dynamic_size("repeat_interleave", repeats, 0, None) if output_size is None else output_size
    return contiguous((count,), repeats._dtype, repeats._device)


@extern(
    "aten::repeat_interleave.Tensor(Tensor repeats, *, SymInt? output_size=None) -> Tensor", spec=_places_spec,
    tags="dynamic_output_shape", outs="Tensor_out"
)  # fmt: skip
def repeat_interleave_places(repeats: Tensor, *, output_size: int | None = None) -> Tensor:
    """The place of each number, as often as it says: [2, 0, 1] gives [0, 0, 2]."""
    counts, xp = repeats._array, repeats._device.xp
    size = int(counts.sum()) if counts.ndim == 1 and repeats._dtype.kind == "i" else 0  # what else, the spec says
    spec = _places_spec(repeats, size)
    if bool((counts < 0).any()):
        raise ShapeError("repeat_interleave: the number of repeats must not be negative", got=describe(repeats))
    if output_size is not None and output_size != size:
        raise ShapeError("repeat_interleave: output_size is wrong", got=f"output_size={output_size}, {size} elements")
    places = xp.repeat(xp.arange(len(counts)), counts.tolist() if xp is not np else counts)
    return Tensor._from_array(xp.ascontiguousarray(places.astype(spec.dtype.numpy)), repeats._device)


repeat_interleave_places.backward()


@composite(
    "aten::repeat_interleave.self_Tensor(Tensor self, Tensor repeats, int? dim=None, *, SymInt? output_size=None)"
    " -> Tensor"
)
def repeat_interleave(
    self: Tensor, repeats: Tensor, dim: int | None = None, *, output_size: int | None = None
) -> Tensor:
    """Each element of a dimension as often as its number says, or all as often as the only number says."""
    x = aten.flatten.using_ints(self) if dim is None else self
    axis = 0 if dim is None else wrap_dim(dim, x.ndim, "repeat_interleave")
    if not x.ndim:
        x = aten.unsqueeze.default(x, 0)
    if repeats.ndim > 1 or (repeats.ndim == 1 and repeats._sizes[0] not in (1, x._sizes[axis])):
        raise ShapeError("repeat_interleave: needs a number for each element", got=describe([x, repeats]))
    if repeats.numel() == 1 or not repeats.ndim:
        repeats = aten.expand.default(aten.reshape.default(repeats, [1]), [x._sizes[axis]])
    places = aten.repeat_interleave.Tensor(aten.contiguous.default(repeats), output_size=output_size)
    return aten.index_select.default(x, axis, places)


# ---- samples -------------------------------------------------------------------------------------------------------


def _part(x: Tensor) -> Tensor:
    return ops.aten.slice.Tensor(x, 1, 0, None, 2)


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


@repeat.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [2, 2]), {}
    yield (_turned(make(2, 3)), [2, 1, 3]), {}
    yield (make(3), [0]), {}
    yield (make(), [3]), {}
    yield (make(2, 0), [2, 2]), {}


@tile.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [2]), {}
    yield (make(2, 3), [2, 1, 2]), {}


@flip.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [0]), {}
    yield (_turned(make(2, 3)), [0, -1]), {}
    yield (make(2, 3), []), {}
    yield (_part(make(2, 6)), [1]), {}


@roll.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [1]), {}
    yield (_turned(make(2, 3)), [1], [0]), {}
    yield (make(4, 3), [1, -2], [0, 1]), {}
    yield (make(0, 3), [1], [0]), {}


for _decl in (repeat, tile, flip, roll):
    _decl.sample_dtypes = _ALL


@pixel_shuffle.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 8, 3, 2), 2), {}
    yield (make(9, 2, 1), 3), {}


@pixel_unshuffle.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, 4, 6), 2), {}
    yield (make(1, 3, 6), 3), {}


@channel_shuffle.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 6, 3, 2), 3), {}
    yield (make(2, 4, 3, 2), 1), {}


@repeat_interleave_int.with_samples
def _(make: Make) -> Samples:
    for repeats in (0, 1, 3):
        yield (make(3, 4), repeats), {}
        yield (make(3, 4), repeats, 0), {}
        yield (aten.transpose.int(make(3, 4), 0, 1), repeats, -1), {}
    yield (make(), 2), {}
    yield (make(2, 0, 3), 2, 2), {}


def _counts(make: Make, *sizes: int) -> Tensor:
    return make(*sizes, dtype=dtypes.int64, low=0, high=3)


def _total(counts: Tensor) -> dict[str, int]:
    """With the size of the result, it is known without data."""
    return {"output_size": int(counts._array.sum())}


@repeat_interleave_places.with_samples
def _(make: Make) -> Samples:
    for size in (6, 1):
        counts = _counts(make, size)
        yield (counts,), _total(counts)


@repeat_interleave.with_samples
def _(make: Make) -> Samples:
    counts = _counts(make, 5)
    yield (make(5, 3), counts, 0), _total(counts)
    yield (make(3, 5), counts, -1), _total(counts)
    counts = _counts(make, 6)
    yield (make(2, 3), counts), _total(counts)


repeat_interleave_places.sample_dtypes = (dtypes.float32,)

"""Creation ops: new tensors from sizes, from others, and from Python data."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes, subclasses
from opweave.registry.autograd.graph import reach
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, channels_last, front, wrap
from opweave.registry.device import parse_device
from opweave.registry.dtypes import DType, as_dtype, bool_, get_default_dtype, int64
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.fake_context import LITERAL
from opweave.registry.hooks import Hook
from opweave.registry.kernels import fallthrough_kernel
from opweave.registry.keys import AUTOGRAD_KEYS, OVERRIDDEN, DispatchKey, state
from opweave.registry.memory_format import CHANNELS_LAST, contiguous_format, format_strides, preserve_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.data import as_array, shared
from opweave.registry.ops.kinds import Decl, composite, extern, generator
from opweave.registry.ops.samples import Make
from opweave.registry.promote import as_element, copied_strides, number_dtype
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.storage import Storage
from opweave.registry.symbolic import Symbolic, is_finite, is_float, is_int, whole
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_like

_OPTIONS = "ScalarType? dtype=None, Layout? layout=None, Device? device=None, bool? pin_memory=None"


def sizes_of(op: str, size: Sequence[int]) -> tuple[int, ...]:
    """Sizes of a new tensor, none of them negative."""
    for extent in size:
        if extent < 0:
            raise ShapeError(
                f"{op}: sizes must not be negative", got=f"size={list(size)}", hint="zero makes an empty tensor"
            )
    return tuple(size)


def _new(op: str, size: Sequence[int], dtype: DType | None, device: Any, memory_format: Any = None) -> TensorSpec:
    strides = format_strides(op, sizes_of(op, size), memory_format or contiguous_format)
    return TensorSpec(tuple(size), strides, dtype or get_default_dtype(), parse_device(device))


def layout_like(op: str, self: Tensor, dtype: DType | None, device: Any, memory_format: Any) -> TensorSpec:
    """The layout of an existing tensor; a gappy or overlapping one becomes dense, its dimensions in memory order."""
    target = self._device if device is None else parse_device(device)
    kind = dtype or self._dtype
    if memory_format not in (None, preserve_format):
        return TensorSpec(self._sizes, format_strides(op, self._sizes, memory_format), kind, target)
    return TensorSpec(self._sizes, copied_strides(self), kind, target)


# ---- uninitialised -------------------------------------------------------------------------------------------------


#: Called with the memory of each tensor that is made without being filled, where something wants to know.
when_uninitialised: Hook[[Storage], None] = Hook()


def _uninitialised(spec: TensorSpec) -> Tensor:
    made = allocate_like(spec)
    if when_uninitialised.call is not None:
        when_uninitialised.call(made._storage)
    return made


def _empty_spec(
    size: Sequence[int], dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any = None
) -> TensorSpec:
    return _new("empty", size, dtype, device, memory_format)


@extern(f"aten::empty.memory_format(SymInt[] size, *, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
        spec=_empty_spec, outs="out", is_uninitialised=True)  # fmt: skip
def empty(size: Sequence[int], *, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    return _uninitialised(_new("empty", size, dtype, device, memory_format))


def _empty_strided_spec(size: Any, stride: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    if len(size) != len(stride) or any(step < 0 for step in stride):
        raise ShapeError("empty_strided: one non-negative stride a dimension", got=f"{list(size)}, {list(stride)}")
    sizes = sizes_of("empty_strided", size)
    return TensorSpec(sizes, tuple(stride), dtype or get_default_dtype(), parse_device(device))


@extern(
    f"aten::empty_strided(SymInt[] size, SymInt[] stride, *, {_OPTIONS}) -> Tensor",
    spec=_empty_strided_spec,
    outs="out",
    is_uninitialised=True,
)
def empty_strided(size: Any, stride: Any, *, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> Tensor:
    return _uninitialised(_empty_strided_spec(size, stride, dtype, layout, device, pin_memory))


def _empty_like_spec(
    self: Tensor, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> TensorSpec:
    return layout_like("empty_like", self, dtype, device, memory_format)


@extern(f"aten::empty_like(Tensor self, *, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
        spec=_empty_like_spec, outs="out", is_uninitialised=True)  # fmt: skip
def empty_like(self: Tensor, *, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any) -> Tensor:
    return _uninitialised(layout_like("empty_like", self, dtype, device, memory_format))


empty_like.backward()


# ---- constant ------------------------------------------------------------------------------------------------------


def _fill_dtype(value: Any, dtype: DType | None) -> DType:
    return dtype or number_dtype(value)


def _filling(value: Any, dtype: DType) -> Any:
    """A number as an element."""
    return value if value.__class__ is int and 0 <= value < 128 else as_element("full", value, dtype)


def _replay_memory(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    if when_uninitialised.call is not None:
        raise NotTaped("somebody wants to know")
    tape.made(result)


for _op in (empty, empty_strided, empty_like):
    _op.gives_memory = True
    _op.replaying(_replay_memory)


def _full_spec(size: Any, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    _filling(fill_value, _fill_dtype(fill_value, dtype))
    return _new("full", size, _fill_dtype(fill_value, dtype), device)


@generator(
    f"aten::full(SymInt[] size, Scalar fill_value, *, {_OPTIONS}) -> Tensor",
    spec=_full_spec,
    uniform=True,
    outs="out",
    accuracy="rounded",
)
def full(k: Any, index: Any, size: Any, fill_value: Any, dtype: Any, *_: Any) -> Any:
    found = _fill_dtype(fill_value, dtype)
    return k.const(_filling(fill_value, found), found)


def _full_like_spec(
    self: Tensor, fill_value: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any, memory_format: Any
) -> TensorSpec:
    _filling(fill_value, dtype or self._dtype)
    return layout_like("full_like", self, dtype, device, memory_format)


@generator(
    f"aten::full_like(Tensor self, Scalar fill_value, *, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor",
    spec=_full_like_spec,
    uniform=True,
    outs="out",
    accuracy="rounded",
)
def full_like(k: Any, index: Any, self: Tensor, fill_value: Any, dtype: Any, *_: Any) -> Any:
    return k.const(_filling(fill_value, dtype or self._dtype), dtype or self._dtype)


@composite(f"aten::zeros(SymInt[] size, *, {_OPTIONS}) -> Tensor", outs="out")
def zeros(size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Tensor:
    return full.op._entry(size, 0, dtype=dtype or get_default_dtype(), device=device)


@composite(f"aten::ones(SymInt[] size, *, {_OPTIONS}) -> Tensor", outs="out")
def ones(size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Tensor:
    return full.op._entry(size, 1, dtype=dtype or get_default_dtype(), device=device)


def _constant_like(name: str, value: int) -> None:
    @composite(f"aten::{name}(Tensor self, *, {_OPTIONS}, MemoryFormat? memory_format=None) -> Tensor", outs="out")
    def body(
        self: Tensor, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None,
        memory_format: Any = None,
    ) -> Tensor:  # fmt: skip
        return ops.aten.full_like.default(self, value, dtype=dtype, device=device, memory_format=memory_format)


_constant_like("zeros_like", 0)

_constant_like("ones_like", 1)


def _new_constant(name: str, value: int | None) -> None:
    @composite(f"aten::{name}(Tensor self, SymInt[] size, *, {_OPTIONS}) -> Tensor", outs="out")
    def body(
        self: Tensor, size: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
    ) -> Tensor:
        options = {"dtype": dtype or self._dtype, "device": self._device if device is None else device}
        if value is None:
            return ops.aten.empty.memory_format(size, **options)
        return ops.aten.full.default(size, value, **options)

    body.gives_memory = value is None


_new_constant("new_empty", None)

_new_constant("new_zeros", 0)

_new_constant("new_ones", 1)


@composite(f"aten::new_full(Tensor self, SymInt[] size, Scalar fill_value, *, {_OPTIONS}) -> Tensor", outs="out")
def new_full(
    self: Tensor, size: Any, fill_value: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: Any = None,
) -> Tensor:  # fmt: skip
    device = self._device if device is None else device
    return ops.aten.full.default(size, fill_value, dtype=dtype or self._dtype, device=device)


@composite(f"aten::new_empty_strided(Tensor self, SymInt[] size, SymInt[] stride, *, {_OPTIONS}) -> Tensor", outs="out")
def new_empty_strided(
    self: Tensor, size: Any, stride: Any, *, dtype: Any = None, layout: Any = None, device: Any = None,
    pin_memory: Any = None,
) -> Tensor:  # fmt: skip
    device = self._device if device is None else device
    return ops.aten.empty_strided.default(size, stride, dtype=dtype or self._dtype, device=device)


@composite(f"aten::scalar_tensor(Scalar s, *, {_OPTIONS}) -> Tensor", outs="out")
def scalar_tensor(
    s: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    return ops.aten.full.default([], s, dtype=dtype or get_default_dtype(), device=device)


@full_like.batching
@empty_like.batching
def _like_of_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    example = values["self"]
    values["self"] = front(example, level)
    if values["memory_format"] in CHANNELS_LAST:
        return channels_last(op, level, values, "self", example)
    return wrap(call(op, values), level)


def _new_of_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    values["self"] = front(values["self"], level)
    if "stride" in values:
        span = reach((tuple(values["size"]), tuple(values["stride"]), 0))
        values["stride"] = [span, *values["stride"]]
    values["size"] = [level.size, *values["size"]]
    return wrap(call(op, values), level)


def _batch_new(decl: Decl) -> None:
    """Let an op, which is written with ops that see no tensor, reach its rule."""
    decl.batching(_new_of_batch)
    op = decl.op
    for key in (DispatchKey.AutogradOther, *AUTOGRAD_KEYS.values()):
        op.register(key, fallthrough_kernel, site=op.site)
    op.register(
        DispatchKey.FuncTorchBatched, lambda *args, **kwargs: decl.batch(args[0].level, args, kwargs), site=op.site
    )


for _packet in (
    ops.aten.new_empty,
    ops.aten.new_zeros,
    ops.aten.new_ones,
    ops.aten.new_full,
    ops.aten.new_empty_strided,
):
    _batch_new(_packet.default.decl)


# ---- sequences -----------------------------------------------------------------------------------------------------


def _arange_dtype(values: Sequence[Any], dtype: DType | None) -> DType:
    if dtype is not None:
        return dtype
    return get_default_dtype() if any(map(is_float, values)) else dtypes.int64


def _arange_spec(start: Any, end: Any, step: Any, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    if any(isinstance(value, complex) for value in (start, end, step)):
        raise ArgumentError("arange: bounds must be real numbers", got=f"{start}, {end}, {step}")
    if step == 0:
        raise ArgumentError(
            "arange: step must not be 0",
            got=f"start={start}, end={end}, step={step}",
            hint="the step leads from the start to the end",
        )
    if not all(map(is_finite, (start, end, step))):
        raise ArgumentError("arange: bounds must be finite", got=f"{start}, {end}, {step}")
    if (end - start) * step < 0:
        raise ArgumentError("arange: the bounds lie against the step", got=f"start={start}, end={end}, step={step}")
    found = _arange_dtype((start, end, step), dtype)
    for value in (start, end, step):
        as_element("arange", value, dtypes.int64 if found.kind in "biu" else dtypes.float64)
    if found is dtypes.int64:
        if whole(step) == 0:
            raise ArgumentError("arange: of integers step must not be less than 1", got=str(step))
        start, end, step = whole(start), whole(end), whole(step)  # as PyTorch, for this type alone
    exact = all(map(is_int, (start, end, step)))
    count = -(-(end - start) // step) if exact else math.ceil((end - start) / step)
    return contiguous((whole(count),), found, parse_device(device))


@generator(f"aten::arange.start_step(Scalar start, Scalar end, Scalar step=1, *, {_OPTIONS}) -> Tensor",
           spec=_arange_spec, outs="start_out")  # fmt: skip
def arange(k: Any, index: Any, start: Any, end: Any, step: Any, dtype: Any, *_: Any) -> Any:
    kind = _arange_dtype((start, end, step), dtype)
    counted = type(start) is type(step) is int and (start, step) == (0, 1)
    if kind.kind in "biu":
        return k.cast(index[0] if counted else index[0] * int(step) + int(start), kind)
    # PyTorch computes in float64 for the wide types and in the accumulation type otherwise; float64 holds both.
    at = k.cast(index[0], dtypes.float64)
    return k.cast(at if counted else at * float(step) + float(start), kind)


@composite(f"aten::arange.start(Scalar start, Scalar end, *, {_OPTIONS}) -> Tensor")
def arange_start(
    start: Any, end: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    return ops.aten.arange.start_step(start, end, dtype=dtype, device=device)


@composite(f"aten::arange(Scalar end, *, {_OPTIONS}) -> Tensor", outs="out")
def arange_end(
    end: Any, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None
) -> Tensor:
    return ops.aten.arange.start_step(0, end, dtype=dtype, device=device)


def _spaced_dtype(start: Any, end: Any, dtype: DType | None) -> DType:
    return dtype or (get_default_dtype().to_complex() if complex in (type(start), type(end)) else get_default_dtype())


def _linspace_spec(
    start: Any, end: Any, steps: int, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    found = _spaced_dtype(start, end, dtype)
    for end_point in (start, end)[:steps]:  # as PyTorch, which looks at no more
        as_element("linspace", end_point, found)
    return _new("linspace", (steps,), found, device)


def _spaced(k: Any, index: Any, start: Any, end: Any, steps: int, dtype: DType) -> Any:
    """Numbers between two elements of a type, in float64; counted from both ends, so that the last is `end` itself."""
    bounds = (start, end)[:steps] or (0,)
    first, last = (as_element("linspace", bound, dtype) for bound in (bounds[0], bounds[-1]))
    if isinstance(start, Symbolic) or isinstance(end, Symbolic):
        first, last = float(first), float(last)
    step = (last - first) / max(steps - 1, 1)
    at = k.cast(index[0], dtypes.float64)
    return k.where(index[0] < max(steps // 2, 1), at * step + first, last - (steps - 1 - at) * step)


@generator(
    f"aten::linspace(Scalar start, Scalar end, int steps, *, {_OPTIONS}) -> Tensor", spec=_linspace_spec, outs="out"
)
def linspace(k: Any, index: Any, start: Any, end: Any, steps: int, dtype: Any, *_: Any) -> Any:
    """Evenly spaced numbers; integers between bounds that are cut to integers first."""
    found = _spaced_dtype(start, end, dtype)
    return k.cast(_spaced(k, index, start, end, steps, found), found)


def _eye_spec(n: int, m: int, dtype: Any, layout: Any, device: Any, pin_memory: Any) -> TensorSpec:
    return _new("eye", (n, m), dtype, device)


@generator(f"aten::eye.m(SymInt n, SymInt m, *, {_OPTIONS}) -> Tensor", spec=_eye_spec, outs="m_out")
def eye(k: Any, index: Any, n: int, m: int, dtype: Any, *_: Any) -> Any:
    return k.cast(index[0] == index[1], dtype or get_default_dtype())


@composite(f"aten::eye(SymInt n, *, {_OPTIONS}) -> Tensor", outs="out")
def eye_square(n: int, *, dtype: Any = None, layout: Any = None, device: Any = None, pin_memory: Any = None) -> Tensor:
    return ops.aten.eye.m(n, n, dtype=dtype, device=device)


def _logspace_spec(
    start: Any, end: Any, steps: int, base: float, dtype: Any, layout: Any, device: Any, pin_memory: Any
) -> TensorSpec:
    return _linspace_spec(start, end, steps, dtype, layout, device, pin_memory)


@generator(
    f"aten::logspace(Scalar start, Scalar end, int steps, float base=10., *, {_OPTIONS}) -> Tensor",
    spec=_logspace_spec,
    outs="out",
)
def logspace(k: Any, index: Any, start: Any, end: Any, steps: int, base: float, dtype: Any, *_: Any) -> Any:
    """base to the powers from `start` to `end`, evenly spaced."""
    found = _spaced_dtype(start, end, dtype)
    wide = dtypes.complex128 if found.is_complex else dtypes.float64
    # PyTorch cuts what stands between integers, but not where there is one number alone.
    powers = _spaced(k, index, start, end, steps, found if steps != 1 else wide)
    return k.cast(k.pow(k.const(base, wide), powers), found)


@logspace.with_samples
def _(make: Any) -> Iterable[Any]:
    for start, end, steps, base in ((0, 3, 4, 10.0), (-1.5, 2.5, 7, 2.0), (1, 1, 1, 10.0), (0, 2, 0, 3.0)):
        yield (start, end, steps, base), {}
    yield (0, 1, 5), {"dtype": dtypes.float64}


# ---- from Python data ----------------------------------------------------------------------------------------------


def tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """A new tensor with a copy of the data.

    Parameters
    ----------
    data : number, nested sequence, array or Tensor
        Python floats take the default floating type, integers int64; arrays keep their type.
    dtype : DType, optional
        Wanted element type.
    device : Device or str, optional
        Where to put it; the CPU by default.
    requires_grad : bool
        Whether autograd records what is done with it (an argument of `opweave.tensor`).

    Raises
    ------
    DTypeError, ShapeError
        If the data has no element type here, or is ragged.

    Examples
    --------
    >>> opweave.tensor([[1, 2], [3, 4]])
    tensor([[1, 2],
            [3, 4]])
    >>> opweave.tensor([1.0, 2.0], dtype=opweave.float64)
    tensor([1., 2.], dtype=opweave.float64)
    """
    wanted = None if dtype is None else as_dtype(dtype, "tensor")
    if isinstance(data, Tensor):
        if data._keys & OVERRIDDEN:
            data = subclasses.as_subclass(data, Tensor)  # what is made is no tensor of a subclass
        return ops.aten._to_copy.default(data, dtype=wanted, device=device)
    if state.modes and holds_symbols(data):
        return of_symbols(data, wanted, device)
    array = as_array(data, wanted)
    made = Tensor._from_array(array)
    if state.modes:
        # A mode should see where the data enters; a trace that mutates it later must not change it for its next run.
        made.__dict__[LITERAL] = True
        made = ops.aten.lift_fresh_copy.default(made)
    target = parse_device(device)
    return made if target.is_host else ops.aten._to_copy.default(made, device=target)


def holds_symbols(data: Any) -> bool:
    """Whether numbers, in lists, have some among them that a trace does not fix."""
    return any(map(holds_symbols, data)) if type(data) in (list, tuple) else isinstance(data, Symbolic)


def of_symbols(data: Any, wanted: DType | None, device: Any) -> Tensor:
    """A tensor of numbers among which are some that a trace does not fix."""
    if wanted is None:
        kinds = {
            "float" if is_float(n) else "int" if is_int(n) and type(n) is not bool else "bool" for n in _leaves(data)
        }
        wanted = get_default_dtype() if "float" in kinds else int64 if "int" in kinds else bool_
    if type(data) in (list, tuple):
        return ops.aten.stack.default([of_symbols(item, wanted, device) for item in data])
    return ops.aten.full.default([], data, dtype=wanted, device=device)


def _leaves(data: Any) -> Iterator[Any]:
    if type(data) in (list, tuple):
        for item in data:
            yield from _leaves(item)
    else:
        yield data


def as_tensor(data: Any, *, dtype: Any = None, device: Any = None) -> Tensor:
    """`data` as a tensor, sharing memory where it is a tensor or array of the wanted type and device already.

    Examples
    --------
    >>> opweave.as_tensor([1, 2])
    tensor([1, 2])
    """
    if isinstance(data, np.ndarray):
        if data.flags.writeable and data.dtype.isnative:
            data = Tensor._from_array(data)
    elif not isinstance(data, Tensor) and hasattr(data, "__dlpack__") and not isinstance(data, np.generic):
        data = shared(data)
    if not isinstance(data, Tensor):
        return tensor(data, dtype=dtype, device=device)
    same = dtype is None or as_dtype(dtype) is data._dtype
    if same and (device is None or parse_device(device) is data._device):
        return data
    return ops.aten._to_copy.default(data, dtype=dtype, device=device)


# ---- samples -------------------------------------------------------------------------------------------------------


@full.with_samples
def _(make: Make) -> Iterable[Any]:
    return [(([2, 3], 1.5), {}), (([], 2), {}), (([0, 2], True), {}), (([2], 3), {"dtype": dtypes.float16})]


@full_like.with_samples
def _(make: Make) -> Iterable[Any]:
    return [((make(2, 3), 2), {}), ((ops.aten.transpose.int(make(2, 3), 0, 1), 2), {})]


@arange.with_samples
def _(make: Make) -> Iterable[Any]:
    return [((0, 7, 2), {}), ((0.5, 3, 0.25), {}), ((5, 0, -1), {}), ((0, 0), {}), ((0, 4), {"dtype": dtypes.float32})]


@linspace.with_samples
def _(make: Make) -> Iterable[Any]:
    return [((0, 1, 5), {}), ((-2, 3.5, 10), {}), ((3, 4, 1), {}), ((0, 1, 0), {})]


@eye.with_samples
def _(make: Make) -> Iterable[Any]:
    return [((3, 4), {}), ((2, 0), {}), ((2, 2), {"dtype": dtypes.int32})]

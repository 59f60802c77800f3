"""Copies and casts, and what overwrites a tensor.

`copy_`, `fill_` and `zero_` are the in-place forms of pointwise ops, so a functionalized graph fuses them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import ranked, refuse_write, stretched, wrap
from opweave.registry.device import Device, parse_device
from opweave.registry.dtypes import DType
from opweave.registry.errors import DeviceError, ShapeError
from opweave.registry.memory_format import (
    MemoryFormat,
    as_memory_format,
    contiguous_format,
    format_strides,
    preserve_format,
    suggested_format,
)
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.gradients import zeros
from opweave.registry.ops.kinds import InplaceDecl, PointwiseDecl, handler, pointwise, with_traits
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import as_element, broadcast_shapes, copied_strides, result_type
from opweave.registry.scalar import is_turned
from opweave.registry.spec import TensorSpec
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_like, describe

_ALL = dtypes.COMPUTED


# ---- copies and casts ----------------------------------------------------------------------------------------------


@pointwise("aten::clone(Tensor self, *, MemoryFormat? memory_format=None) -> Tensor",
           promote=lambda x, memory_format=None: (result_type(x), result_type(x)), inplace=False,
           is_cheap=True, is_strict=True, accuracy="rounded")  # fmt: skip
def clone(k: Any, x: Any, memory_format: Any) -> Any:
    return x


clone.gives_memory = True

clone.backward(self=lambda grad: grad)


@pointwise(
    "aten::lift_fresh_copy(Tensor self) -> Tensor", promote=lambda x: (result_type(x), result_type(x)), inplace=False,
    tags="view_copy", outs="out"
)  # fmt: skip
def lift_fresh_copy(k: Any, x: Any) -> Any:
    """A copy of data that came from Python while tracing: each run of the trace starts from its own."""
    return x


lift_fresh_copy.backward(self=lambda grad: grad)


class ToCopyDecl(PointwiseDecl):
    """A cast; also the one pointwise op whose result may be on another device."""

    def spec(self, operands: Any, attributes: dict[str, Any]) -> TensorSpec:
        found = super().spec(operands, attributes)
        device = attributes.get("device")
        return found if device is None else found._replace(device=parse_device(device))

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        if kwargs.get("device") is None:
            result = self.large(args, kwargs)
            if result is not None:
                return result
        (source,), attributes = self.operands(args, kwargs)
        spec = self.spec([source], attributes)
        if spec.device is not source._device:
            if spec.device.type == "meta":
                return allocate_like(spec)
            source = Tensor._from_array(_moved(source, spec.device), spec.device)
        return self.fill([source], attributes, spec, None)

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        source, made = tape.value(args[0]), tape.made(result)
        if made.dtype == source.dtype:
            tape.map("copied", [source], made)
        else:
            tape.map("cast", [source], made)


def _moved(source: Tensor, device: Device) -> Any:
    """The elements as an array of another device's module."""
    if device.is_host:
        return source._device.memory.to_host(source._array)
    return device.memory.from_host(source._array, device.index)


def _to_copy_types(x: Any, dtype: DType | None = None, **_: Any) -> tuple[DType, DType]:
    source = x if isinstance(x, DType) else result_type(x)
    return source, source if dtype is None else dtype


_to_copy = ToCopyDecl(
    "aten::_to_copy(Tensor self, *, ScalarType? dtype=None, Layout? layout=None, Device? device=None, "
    "bool? pin_memory=None, bool non_blocking=False, MemoryFormat? memory_format=None) -> Tensor",
    lambda k, x, **_: x, _to_copy_types,
)  # fmt: skip

with_traits(_to_copy, is_cheap=True, outs="out", accuracy="rounded")


def _to_copy_self(grad: Tensor, self_spec: TensorSpec) -> Tensor:
    # The way back to the dtype is that of every gradient.
    return grad if grad._device is self_spec.device else ops.aten._to_copy.default(grad, device=self_spec.device)


_to_copy.backward(self=_to_copy_self)


def to(
    self: Tensor, *args: Any, dtype: DType | None = None, device: Any = None, non_blocking: bool = False,
    copy: bool = False, memory_format: Any = None,
) -> Tensor:  # fmt: skip
    """The tensor with another dtype or on another device; itself where nothing changes and `copy` is false.

    Parameters
    ----------
    *args
        A dtype, a device, both in either order, or a tensor whose dtype and device are taken.
    dtype, device
        The same by name.
    copy : bool
        Whether the result is new even where nothing changes.
    memory_format : MemoryFormat, optional
        How the result lies in memory; as the tensor does by default.

    Examples
    --------
    >>> opweave.tensor([1, 2]).to(opweave.float32)
    tensor([1., 2.])
    """
    for arg in args:
        if isinstance(arg, Tensor):
            dtype, device = arg._dtype, arg._device
        elif isinstance(arg, bool):
            continue  # PyTorch's positional non_blocking and copy
        elif isinstance(arg, (str, Device, int)):
            device = arg
        elif arg is not None:
            dtype = dtypes.as_dtype(arg, "to")
    target = self._device if device is None else parse_device(device)
    wanted = self._dtype if dtype is None else dtypes.as_dtype(dtype, "to")
    layout = preserve_format if memory_format is None else as_memory_format(memory_format, "to")
    if wanted is self._dtype and target is self._device and not copy:
        if layout == preserve_format or layout == suggested_format(self._sizes, self._strides):
            return self
    attributes: dict[str, Any] = {"dtype": wanted} if wanted is not self._dtype else {}
    if target is not self._device:
        attributes["device"] = target
    if layout != preserve_format:
        attributes["memory_format"] = layout
    return ops.aten._to_copy.default(self, **attributes)


def widened(self: Tensor) -> Tensor:
    """The tensor in the type that its arithmetic is done in: half types become float32."""
    compute = self._dtype.compute
    return self if compute is self._dtype else ops.aten._to_copy.default(self, dtype=compute)


def rounded(self: Tensor, dtype: DType) -> Tensor:
    """The tensor in a given type."""
    return self if self._dtype is dtype else ops.aten._to_copy.default(self, dtype=dtype)


# ---- memory formats ------------------------------------------------------------------------------------------------


def format_of(*tensors: Tensor) -> MemoryFormat:
    """The format of the first operand that lies with its channels innermost; row-major if none does."""
    for t in tensors:
        found = suggested_format(t._sizes, t._strides)
        if found != contiguous_format:
            return found
    return contiguous_format


def spec_like(
    self: Tensor, sizes: Sequence[int], memory_format: MemoryFormat | None = None, dtype: DType | None = None
) -> TensorSpec:
    """The spec of a dense result of these sizes, in a format (that of `self`) and of a type (that of `self`)."""
    found = format_of(self) if memory_format is None else memory_format
    sizes = tuple(sizes)
    return TensorSpec(sizes, format_strides("spec_like", sizes, found), dtype or self._dtype, self._device)


def laid_out(t: Tensor, memory_format: MemoryFormat) -> Tensor:
    """The tensor itself, or a copy in the format."""
    if t._strides == format_strides("laid_out", t._sizes, memory_format):
        return t
    return ops.aten.clone.default(t, memory_format=memory_format)


# ---- overwriting ---------------------------------------------------------------------------------------------------


def assign(k: Any, target: Any, source: Any, dtype: DType) -> None:
    if source.dtype == target.dtype:
        if source.dtype.kind == "V":  # which NumPy copies one by one
            bits = f"u{source.dtype.itemsize}"
            target, source = target.view(bits), source.view(bits)
        if not is_turned(target, source):
            target[...] = source
        return
    with np.errstate(all="ignore"):
        target[...] = k.cast(source, dtype)


def _kept(self: Tensor | DType, value: Any = 0) -> tuple[DType, DType]:
    dtype = self if isinstance(self, DType) else self._dtype
    as_element("fill", value, dtype)
    return dtype.compute, dtype


def _taken(self: Tensor | DType, value: Any, **_: Any) -> tuple[DType, DType]:
    """Computed in the type of the second operand, stored in that of the first."""
    target = self if isinstance(self, DType) else self._dtype
    if isinstance(value, (Tensor, DType)):
        return (value if isinstance(value, DType) else value._dtype).compute, target
    return target.compute, target


@pointwise("aten::fill.Scalar(Tensor self, Scalar value) -> Tensor", promote=_kept, accuracy="rounded")
def fill(k: Any, self: Any, value: Any) -> Any:
    return k.const(value, k.dtype(self))


def _filled(self: Any, value: Any, **_: Any) -> tuple[DType, DType]:
    if isinstance(value, Tensor) and value._sizes:
        raise ShapeError("fill: the value must be a 0-d tensor", got=describe(value))
    return _taken(self, value)


class OverwriteDecl(PointwiseDecl):
    """The second operand in the shape and type of the first, whose elements eager need not look at."""

    def spec(self, operands: Sequence[Any], attributes: dict[str, Any]) -> TensorSpec:
        found, target = super().spec(operands, attributes), operands[0]
        return found._replace(strides=copied_strides(target)) if found.sizes == target._sizes else found

    def fill(self, operands: Sequence[Any], attributes: dict[str, Any], spec: TensorSpec, out: Tensor | None) -> Tensor:
        target = allocate_like(spec) if out is None else out
        xp = target._device.xp
        value = operands[1]
        source = xp.asarray(value._array if isinstance(value, Tensor) else value)
        assign(handler(xp), target._array, source, target._dtype)
        return target

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        operands, _ = self.operands(args, kwargs)
        made, value = tape.made(result), operands[1]
        if not result.numel():
            raise NotTaped("no elements")
        if isinstance(value, Tensor):
            source = tape.value(value)
            tape.map("copied" if source.dtype == made.dtype else "cast", [source], made)
        else:
            tape.map("copied", [np.array(result._array.flat[0], made.dtype)], made)


def _second(k: Any, self: Any, value: Any, non_blocking: bool = False) -> Any:
    return value


fill_tensor = OverwriteDecl("aten::fill.Tensor(Tensor self, Tensor value) -> Tensor", _second, _filled)

with_traits(fill_tensor, outs="Tensor_out", accuracy="rounded")

fill_tensor_ = InplaceDecl("aten::fill_.Tensor(Tensor(a!) self, Tensor value) -> Tensor(a!)", fill_tensor.op)


@fill_tensor.batching
@fill_tensor_.batching
def _fill_batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    t, value = args
    if value._sizes:
        op.decl.types(t, value) if op.opname == "fill" else op.decl.functional.decl.types(t, value)  # raises
    if op.opname == "fill_":
        refuse_write(op, t, level)
        return ops.aten.copy_.default(t, value)
    whole = stretched(t, level)
    return wrap(ops.aten.copy.default(whole, ranked(value, level, t.ndim)), level)


@pointwise("aten::zero(Tensor self) -> Tensor", promote=_kept, accuracy="rounded")
def zero(k: Any, self: Any) -> Any:
    return k.const(0, k.dtype(self))


copy = OverwriteDecl("aten::copy(Tensor self, Tensor src, bool non_blocking=False) -> Tensor", _second, _taken)

with_traits(copy, out=True, accuracy="rounded")


class CopyDecl(InplaceDecl):
    """`copy_`, which alone crosses devices, and reads nothing of what it overwrites."""

    checks_devices = True

    def run(self, *args: Any, **kwargs: Any) -> Tensor:
        target, source = args[0], self._tensor(*args[:2])
        self._check_sizes(target, source)
        xp = target._device.xp
        assign(handler(xp), target._array, _on(source, target, xp), target._dtype)
        return target

    def meta(self, make: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        self._check_sizes(args[0], self._tensor(*args[:2]))
        return args[0]

    def _tensor(self, target: Tensor, source: Any) -> Tensor:
        """The source, a number as a tensor without dimensions."""
        if isinstance(source, Tensor):
            return source
        return ops.aten.full.default([], source, dtype=target._dtype, device=target._device)

    def _check_sizes(self, target: Tensor, source: Tensor) -> None:
        if source._sizes != target._sizes:
            sizes = broadcast_shapes("copy_", target._sizes, source._sizes)
        else:
            sizes = target._sizes
        self._check(target, sizes, target._dtype)


def _on(source: Tensor, target: Tensor, xp: Any) -> Any:
    """The source's elements as an array of the target's device."""
    if source._device is target._device:
        return source._array
    if source.is_meta:
        raise DeviceError("copy_: a meta tensor has no data to copy", got=describe(source))
    return xp.asarray(source.numpy(force=True) if target._device.is_host else source._array)


copy_ = CopyDecl("aten::copy_(Tensor(a!) self, Tensor src, bool non_blocking=False) -> Tensor(a!)", copy.op)


def _returned(grad: Tensor, src_spec: TensorSpec) -> Tensor:
    """The gradient on the device that the copied tensor came from."""
    if grad._device is src_spec.device:
        return grad
    return ops.aten._to_copy.default(grad, device=src_spec.device)


fill.backward(self=zeros)

fill_tensor.backward(self=zeros, value=lambda grad: ops.aten.sum.default(grad))

zero.backward(self=zeros)

copy.backward(self=zeros, src=_returned)


# ---- samples -------------------------------------------------------------------------------------------------------


def _part(x: Tensor) -> Tensor:
    return ops.aten.slice.Tensor(x, 1, 0, None, 2)


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


for _decl in (clone,):
    _decl.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})])


@_to_copy.with_samples
def _(make: Callable[..., Tensor]) -> Iterable[Any]:
    targets = (dtypes.float32, dtypes.float64, dtypes.int32, dtypes.bool_, dtypes.float16)
    return [((make(3, 4, low=0),), {"dtype": dtype}) for dtype in targets]


for _decl in (fill, ops.aten.fill_.Scalar.decl):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        for x in (make(2, 3), _turned(make(2, 3)), _part(make(2, 6)), make(), make(0, 3)):
            yield (x, 1), {}


for _decl in (fill_tensor, fill_tensor_):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield (make(2, 3), make()), {}
        yield (_turned(make(2, 3)), make(dtype=dtypes.float32, low=0, high=3)), {}


for _decl in (zero, ops.aten.zero_.default.decl):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield (make(2, 3),), {}
        yield (_part(make(2, 6)),), {}


for _decl in (copy, copy_):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield (make(2, 3), make(2, 3)), {}
        yield (_turned(make(3, 2)), make(3)), {}
        yield (_part(make(2, 6)), make(2, 1, dtype=dtypes.float32, low=0, high=3)), {}
        yield (make(), make(dtype=dtypes.int64, low=0, high=3)), {}


for _decl in (fill, fill_tensor, zero, copy, copy_):
    _decl.sample_dtypes = _ALL

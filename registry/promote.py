"""Broadcasting, output strides and type promotion: PyTorch's rules in plain arithmetic.

Sizes only meet `==`, `+`, `*` here, so a symbolic size works by duck typing.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.device import Device
from opweave.registry.dtypes import DType, promote_types
from opweave.registry.errors import DeviceError, DTypeError, IntegerRangeError, ShapeError
from opweave.registry.spec import contiguous_strides, is_contiguous, is_dense
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe

Number = bool | int | float | complex

#: The greatest finite value of each floating type.
GREATEST = {
    "float8_e4m3fn": 448.0,
    "float8_e4m3fnuz": 240.0,
    "float8_e5m2": 57344.0,
    "float8_e5m2fnuz": 57344.0,
    "float8_e8m0fnu": math.ldexp(1.0, 127),
    "float16": 65504.0,
    "bfloat16": math.ldexp(255.0, 120),
    "float32": math.ldexp(16777215.0, 104),
    "float64": math.ldexp(9007199254740991.0, 971),
}


def computed(dtype: DType) -> tuple[DType, DType]:
    """The type that arithmetic of a type is done in, and the type itself, that of its results.

    Raises
    ------
    DTypeError
        If there is no arithmetic of it.
    """
    if dtype.is_stored:
        raise not_computed(dtype)
    return dtype.compute, dtype


def not_computed(dtype: DType) -> DTypeError:
    """What is said where arithmetic of a type is asked for that values are only kept in."""
    return DTypeError(
        f"no arithmetic is defined for {dtype.name}, which values are kept in", got=dtype.name,
        hint="convert with .float() first, and with .to(dtype) afterwards",
    )  # fmt: skip


def broadcast_shapes(op: str, *shapes: Sequence[int]) -> tuple[int, ...]:
    """The shape that all broadcast to.

    Parameters
    ----------
    op : str
        Named in the error.
    *shapes : sequence of int
        Aligned at the last dimension; a size of 1 stretches.

    Raises
    ------
    ShapeError
        If two sizes differ and neither is 1.
    """
    first = shapes[0] if shapes else ()
    # Of tuples that differ in length, Python compares elements first: a guard for each pair of symbolic sizes.
    if all(len(shape) == len(first) and shape == first for shape in shapes):
        return tuple(first)
    ndim = max(len(shape) for shape in shapes)
    result = [1] * ndim
    for shape in shapes:
        for i in range(-1, -len(shape) - 1, -1):
            size = shape[i]
            if size == 1:
                continue
            if result[i] == 1:
                result[i] = size
            elif result[i] != size:
                raise ShapeError(
                    f"{op}: cannot broadcast dim {i}: {result[i]} with {size}",
                    got=", ".join(str(list(s)) for s in shapes), hint="unsqueeze or expand explicitly",
                )  # fmt: skip
    return tuple(result)


def expanded_strides(sizes: Sequence[int], strides: Sequence[int], target: Sequence[int]) -> tuple[int, ...]:
    """Strides of a tensor seen with a broadcast shape: 0 where it is stretched."""
    lead = len(target) - len(sizes)
    return (0,) * lead + tuple(
        0 if size == 1 and wanted != 1 else stride
        for size, stride, wanted in zip(sizes, strides, target[lead:], strict=True)
    )


def pointwise_strides(shape: tuple[int, ...], operands: Sequence[Tensor], numbers: bool = False) -> tuple[int, ...]:
    """Strides of a pointwise result, as PyTorch's TensorIterator chooses them.

    A result keeps the order of dimensions in memory that its operands have; ties are broken by the first operand that
    has an opinion. `numbers` says that there are operands without dimensions besides these: then the strides of
    dimensions of size 1 have a say too.
    """
    if numbers and any(t._strides != contiguous_strides(t._sizes) for t in operands):
        return _ordered_strides(shape, operands)
    full = [t for t in operands if len(t._sizes) == len(shape) and t._sizes == shape]
    if len(full) == len(operands) and all(is_contiguous(t._sizes, t._strides) for t in full):
        return contiguous_strides(shape)
    if len(full) == len(operands) and full:
        strides = full[0]._strides
        if all(t._strides == strides for t in full) and is_dense(shape, strides):
            return strides
    return _ordered_strides(shape, operands)


def _ordered_strides(shape: tuple[int, ...], operands: Sequence[Tensor]) -> tuple[int, ...]:
    seen = [expanded_strides(t._sizes, t._strides, shape) for t in operands]
    order = list(range(len(shape)))[::-1]  # fastest first
    for i in range(1, len(order)):
        at = i
        for other in range(i - 1, -1, -1):
            verdict = _compare(order[other], order[at], shape, seen)
            if verdict > 0:
                order[other], order[at] = order[at], order[other]
                at = other
            elif verdict < 0:
                break
    strides_out = [0] * len(shape)
    step = 1
    for dim in order:
        strides_out[dim] = step
        step = step * max(shape[dim], 1)
    return tuple(strides_out)


def copied_strides(t: Tensor) -> tuple[int, ...]:
    """Strides of a copy: those of the tensor where it is dense, else of the same order without gaps."""
    return t._strides if is_dense(t._sizes, t._strides) else pointwise_strides(t._sizes, [t])


def _compare(a: int, b: int, shape: Sequence[int], seen: Sequence[Sequence[int]]) -> int:
    """1 if dimension `a` should be outside `b`, -1 if inside, 0 if no operand tells."""
    for strides in seen:
        stride_a, stride_b = strides[a], strides[b]
        if stride_a == 0 or stride_b == 0:
            continue
        if stride_a != stride_b:
            return -1 if stride_a < stride_b else 1
        if shape[a] > shape[b]:
            return 1
    return 0


def common_device(op: str, operands: Sequence[Any]) -> Device:
    """The device all tensors are on; a 0-d CPU tensor may go with others.

    Raises
    ------
    DeviceError
        If two differ.
    """
    found: Device | None = None
    for t in operands:
        if not isinstance(t, Tensor):
            continue
        device = t._device
        if found is None or found is device:
            found = device
        elif not t._sizes and device.is_host:
            continue
        else:
            others = [o for o in operands if isinstance(o, Tensor)]
            if all(not o._sizes for o in others if o._device is found) and found.is_host:
                found = device
                continue
            raise DeviceError(
                f"{op}: tensors on different devices: {found} and {device}", got=", ".join(map(describe, others)),
                hint=f"move one with .to({str(found)!r})",
            )  # fmt: skip
    assert found is not None, "a pointwise op has a tensor operand"
    return found


def number_dtype(value: Number) -> DType:
    """Type of a Python number on its own."""
    if isinstance(value, Symbolic):
        return {"bool": dtypes.bool_, "int": dtypes.int64, "float": dtypes.get_default_dtype()}[value.kind]
    if isinstance(value, bool):
        return dtypes.bool_
    if isinstance(value, int):
        check_integer(value)
        return dtypes.int64
    if isinstance(value, complex):
        return dtypes.get_default_dtype().to_complex()
    return dtypes.get_default_dtype()


def check_integer(value: int) -> None:
    """Refuse what neither 64 bits with a sign nor 64 bits without one hold.

    Raises
    ------
    IntegerRangeError
        If the number is beyond.
    """
    if not -(2**63) <= value < 2**64:
        raise IntegerRangeError("an integer of more than 64 bits", got=str(value), hint="give it as a float")


def _rank(dtype: DType) -> int:
    return "buifc".index(dtype.kind) if dtype.kind != "u" else 2


def result_type(*operands: Any) -> DType:
    """The type that operands promote to.

    Tensors with dimensions decide first; 0-d tensors, then Python numbers, raise the result only to a higher category
    (bool < integer < float < complex).

    Parameters
    ----------
    *operands : Tensor, DType or number
        A `DType` counts as a tensor with dimensions.

    Examples
    --------
    >>> opweave.result_type(opweave.tensor([1, 2]), 0.5)
    opweave.float32
    """
    groups: list[DType | None] = [None, None, None]
    for operand in operands:
        if isinstance(operand, Tensor):
            level, dtype = (0 if operand._sizes else 1), operand._dtype
        elif isinstance(operand, DType):
            level, dtype = 0, operand
        else:
            level, dtype = 2, number_dtype(operand)
        present = groups[level]
        groups[level] = dtype if present is None else promote_types(present, dtype)
    result: DType | None = None
    for dtype in groups:
        if dtype is None:
            continue
        if result is None:
            result = dtype
        elif _rank(dtype) > _rank(result):
            # A complex number makes a float tensor complex of the same width, and takes any integers.
            if dtype.is_complex:
                result = result.to_complex() if result.is_floating_point else dtype
            else:
                result = promote_types(result, dtype)
    if result is None:
        raise DTypeError("result_type: needs at least one operand")
    return result


def can_cast(source: DType, target: DType) -> bool:
    """Whether results of one type may be written to the other in place (the category must not fall)."""
    return _rank(source) <= _rank(target) or (source.kind in "iu" and target.kind in "iu")


_PLAIN = (int, float)


def _misfit(op: str, value: Any, dtype: DType) -> DTypeError:
    return DTypeError(f"{op}: the value does not fit {dtype.name}", got=repr(value))


def as_element_or_infinity(op: str, value: Any, dtype: DType) -> Any:
    """`as_element`, but a number that is too large for a half type becomes infinite.

    Raises
    ------
    DTypeError
        If the type cannot hold it.
    """
    if dtype in (dtypes.float16, dtypes.bfloat16) and isinstance(value, (int, float)):
        if GREATEST[dtype.name] < abs(value) < math.inf:
            return math.copysign(math.inf, value)
    return as_element(op, value, dtype)


def as_element(op: str, value: Any, dtype: DType) -> Any:
    """A number as an element of the type.

    Raises
    ------
    DTypeError
        If the type cannot hold it.
    """
    if dtype.itemsize > 1 and dtype.kind == "f" and value.__class__ in _PLAIN and -60000 <= value <= 60000:
        return float(value)
    if isinstance(value, Symbolic):
        return value
    if isinstance(value, int):
        check_integer(value)
    if dtype.kind == "b":
        return bool(value)
    if dtype.kind == "c":
        greatest = GREATEST["float32" if dtype is dtypes.complex64 else "float64"]
        if any(greatest < abs(part) < math.inf for part in (complex(value).real, complex(value).imag)):
            raise _misfit(op, value, dtype)
        return value
    if isinstance(value, complex):
        if value.imag:
            raise _misfit(op, value, dtype)
        value = value.real
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize
        most = 2 ** (bits - (dtype.kind == "i")) - 1
        # A negative integer wraps into an unsigned type, a negative float does not.
        least = -most - 1 if dtype.kind == "i" else 0 if isinstance(value, float) else -most
        if not least <= value <= most:  # NaN is in no range
            raise _misfit(op, value, dtype)
        return int(value) % 2**bits if dtype.kind == "u" else int(value)
    if dtype.kind == "f":
        value = float(value)
        if GREATEST[dtype.name] < abs(value) < math.inf:
            raise _misfit(op, value, dtype)
    return value

"""What generated wrappers hold the results of opaque ops to: the layout and sizes that their fake rules promised."""

from __future__ import annotations

from typing import Any

from opweave.registry.containers import is_sequence
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError
from opweave.registry.tensor import Tensor, allocate, describe


def conform(
    value: object, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device, op: str
) -> Tensor:
    """What an opaque op returned, in the layout that compiled code expects; copied if the strides are others.

    Kernels address memory by what the fake rule said, so this stands between a wrong rule and a read out of bounds.

    Raises
    ------
    CompileError
        If sizes, dtype or device are not what the op's fake rule said.
    """
    if not isinstance(value, Tensor):
        raise CompileError(
            f"{op}: returned something else than its fake rule promised",
            got=f"{type(value).__name__}, the fake rule said a tensor",
            hint="correct the function given to register_fake",
        )
    elsewhere = value._device is not device and not _same_place(value._device, device)
    if value._sizes != sizes or value._dtype is not dtype or elsewhere:
        raise CompileError(
            f"{op}: returned something else than its fake rule promised",
            got=f"{describe(value)}, the fake rule said {dtype.short}{list(sizes)} on {device}",
            hint="correct the function given to register_fake",
        )
    if value._strides != strides and any(
        have != want for size, have, want in zip(sizes, value._strides, strides, strict=True) if size > 1
    ):
        copy = allocate(sizes, strides, dtype, value._device)
        copy._array[...] = value._array
        return copy
    return value


def straightened(value: Tensor) -> Tensor:
    """A tensor whose address is a multiple of 16 bytes: the one given, or a copy."""
    if value.data_ptr() % 16 == 0:
        return value
    copy = allocate(value._sizes, value._strides, value._dtype, value._device)
    copy._array[...] = value._array
    return copy


def size_in(value: Any, dim: int, low: int, high: int | None, op: str) -> int:
    """A size that an opaque op chose.

    Raises
    ------
    CompileError
        If there is no such size, or it is not in the range that the op's fake rule gave.
    """
    size = value._sizes[dim] if isinstance(value, Tensor) and dim < len(value._sizes) else None
    if size is None or size < low or (high is not None and size > high):
        raise CompileError(
            f"{op}: returned something else than its fake rule promised",
            got=describe(value) if isinstance(value, Tensor) else type(value).__name__,
            hint=f"the fake rule said that size {dim} is in [{low}, {'inf' if high is None else high}]",
        )
    return size


def _same_place(a: Device, b: Device) -> bool:
    """`cuda` is `cuda:0`."""
    return a.type == b.type and (a.index or 0) == (b.index or 0)


def conform_all(values: Any, count: int, op: str) -> Any:
    """The results of an opaque op, checked to be as many as its fake rule said.

    Raises
    ------
    CompileError
        If they are not.
    """
    if not is_sequence(values) or len(values) != count:
        got = f"{len(values)} tensors" if is_sequence(values) else type(values).__name__
        raise CompileError(
            f"{op}: returned another number of tensors than its fake rule promised",
            got=f"{got}, the fake rule said {count}",
            hint="correct the function given to register_fake",
        )
    return values

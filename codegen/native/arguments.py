"""Parameters of compiled kernels, and arguments as native code takes them."""

from __future__ import annotations

import ctypes
import functools
import struct
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import FrameType
from typing import Any

from numpy.lib.array_utils import byte_bounds

from opweave.registry.containers import is_tuple
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import (
    ArgumentError,
    CompileError,
    DeviceError,
    OpweaveError,
    OutOfRangeError,
    Site,
    is_own_file,
)
from opweave.registry.interrupts import let_through


@dataclass(frozen=True)
class Parameter:
    """One run-time parameter of a compiled kernel.

    Attributes
    ----------
    name : str
        Its name in the kernel, with the position inside a tuple (`shape[1]`).
    type : str
        Triton's type: `*fp32`, `i32`, `u64`, `i1`, `fp16`, `bf16`, `fp32`, `fp64`.
    """

    name: str
    type: str

    @property
    def is_pointer(self) -> bool:
        return self.type.startswith("*")


_TYPE_ALIASES = {"f16": "fp16", "f32": "fp32", "f64": "fp64", "u1": "i1", "nvTmaDesc": "*i8"}
HALVES = {"fp16", "bf16"}
"""What travels as its bits."""
_ELEMENTS = {"fp16": "f16", "bf16": "bf16", "fp32": "f32", "fp64": "f64"}
"""What the code's IR calls types that are not integers."""


def parameters(signature: Mapping[Any, Any]) -> tuple[Parameter, ...]:
    """The run-time parameters of a signature: constants left out, tuples and descriptors spread.

    Parameters
    ----------
    signature : mapping
        Parameter name (or position) to Triton type, as in `CompiledKernel.src.signature`.
    """
    return tuple(leaf for name, kind in signature.items() for leaf in _leaves(str(name), kind))


def _leaves(name: str, kind: Any) -> Iterator[Parameter]:
    if is_tuple(kind):
        for position, inner in enumerate(kind):
            yield from _leaves(f"{name}[{position}]", inner)
    elif kind.startswith("tensordesc"):
        yield from _descriptor_leaves(name, kind)
    elif kind != "constexpr":
        yield Parameter(name, _TYPE_ALIASES.get(kind, str(kind)))


def _descriptor_leaves(name: str, kind: str) -> Iterator[Parameter]:
    """A tensor descriptor as Triton's rewrite to pointers spreads it: shape and strides come twice."""
    element, _, shape = kind.removeprefix("tensordesc<").partition("[")
    rank = shape.partition("]")[0].count(",") + 1
    yield Parameter(f"{name}.base", "*" + element)
    for _ in range(2 * rank):
        yield Parameter(f"{name}.shape", "i64")
    yield Parameter(f"{name}.padding", "i1")
    if _descriptors_round():
        yield Parameter(f"{name}.round_f32_to_tf32", "i1")
    for width in ("i32", "i64"):
        for _ in range(rank):
            yield Parameter(f"{name}.shape", width)


@functools.cache
def _descriptors_round() -> bool:
    """Whether this Triton's descriptors say if numbers are rounded to TF32 (3.7 and later)."""
    from triton.tools.tensor_descriptor import TensorDescriptor

    return "round_f32_to_tf32" in TensorDescriptor.__dataclass_fields__


def agree(name: str, params: Sequence[Parameter], metadata: Any) -> None:
    """Make sure that compiled code reads the parameters that will be passed to it.

    How Triton spreads a descriptor is its own affair, which another release may settle differently.

    Raises
    ------
    CompileError
        If it does not.
    """
    passed = [_ELEMENTS.get(p.type, "ptr" if p.is_pointer else "i" + p.type[1:]) for p in params]
    read = list(getattr(metadata, "parameters", passed))
    if passed != read:
        raise CompileError(
            f"{name}: the code reads other parameters than those that are passed to it",
            got=f"passed: {', '.join(passed)}; read: {', '.join(read)}",
            hint="this is a bug of the CPU backend",
        )


def flatten(signature: Iterable[Any], arguments: Iterable[Any]) -> list[Any]:
    """The argument of each of `parameters(signature)`, from arguments in the kernel's order, constants included."""
    flat: list[Any] = []
    for kind, value in zip(signature, arguments, strict=True):
        if is_tuple(kind):
            flat += flatten(kind, value)
        elif kind.startswith("tensordesc"):
            shape, strides = list(value.shape), list(value.strides)
            rounding = [bool(value.round_f32_to_tf32)] if _descriptors_round() else []
            flat += [value.base, *shape, *strides, value.padding == "nan", *rounding, *shape, *strides]
        elif kind != "constexpr":
            flat.append(value)
    return flat


def integer_range(kind: str) -> tuple[int, int]:
    """What an integer type holds."""
    bits = int(kind[1:])
    return (0, 2**bits - 1) if kind[0] == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)


def half_bits(value: Any, kind: str) -> int:
    """The 16 bits of a number rounded to nearest in `fp16` or `bf16`."""
    if kind == "fp16":
        try:
            return int.from_bytes(struct.pack("<e", value), "little")
        except OverflowError:
            return 0x7C00 if value > 0 else 0xFC00
    (bits,) = struct.unpack("<I", struct.pack("<f", value))
    if bits & 0x7FFFFFFF > 0x7F800000:
        return 0x7FC0
    return (bits + 0x7FFF + (bits >> 16 & 1)) >> 16


def convert(kernel: str, parameter: Parameter, value: Any) -> Any:
    """An argument as the native side takes it.

    Raises
    ------
    ArgumentError
        If it is of the wrong kind.
    OutOfRangeError
        If it is an integer that the parameter's type cannot hold.
    DeviceError
        If it is a tensor of another device.
    """
    what = f"{kernel}: argument {parameter.name!r}"
    if parameter.is_pointer and not isinstance(value, int):
        return address(what, value)
    if parameter.type in ("fp32", "fp64"):
        return checked(what, lambda v: ctypes.c_double(v).value, value, "a number")
    if parameter.type == "i1" and type(value).__name__ in ("bool", "bool_"):  # Python's and NumPy's
        return bool(value)
    number = checked(what, lambda v: v.__index__(), value, "an address" if parameter.is_pointer else "an integer")
    if parameter.type == "i1":
        return bool(number)
    lowest, highest = (0, 0xFFFF) if parameter.type in HALVES else _range_of(parameter)
    if not lowest <= number <= highest:
        hint = f"{lowest} to {highest}"
        raise OutOfRangeError(f"{what} does not fit {parameter.type}", got=str(number), at=caller(), hint=hint)
    return number


def _range_of(parameter: Parameter) -> tuple[int, int]:
    return (0, 2**64 - 1) if parameter.is_pointer else integer_range(parameter.type)


def checked(what: str, make: Callable[[Any], Any], value: Any, wanted: str) -> Any:
    """What `make` gives for an argument, or an error that says what it must be."""
    try:
        return make(value)
    except OpweaveError:
        raise
    except Exception as error:
        let_through(error)
        got = f"{value!r} ({type(value).__name__})"
        raise ArgumentError(f"{what} must be {wanted}", got=got, at=caller()) from None


def address(what: str, value: Any) -> int:
    """The host address behind a pointer argument: an integer, None, a tensor or a NumPy array.

    Parameters
    ----------
    what : str
        The argument, for messages.
    value : object
        Anything with `data_ptr()` and, if it can be elsewhere, `device`.

    Raises
    ------
    DeviceError
        If it lies on another device.
    ArgumentError
        If it is nothing that has an address.
    """
    if value is None:
        return 0
    device = getattr(value, "device", None)
    if device is not None and device not in _HOST_DEVICES:
        if device_kind(device) != "cpu":
            raise DeviceError(
                f"{what} is on {device}, but the kernel runs on the CPU",
                at=caller(),
                hint="all tensors of a launch must be on one device, where kernels can run",
            )
        _HOST_DEVICES.add(device)
    if hasattr(value, "data_ptr"):
        return value.data_ptr()
    if hasattr(value, "__array_interface__"):
        return value.__array_interface__["data"][0]
    if isinstance(value, int):
        return value
    got = f"{value!r} ({type(value).__name__})"
    raise ArgumentError(f"{what} must be a tensor or an address", got=got, at=caller())


def writable(what: str, value: Any) -> None:
    """Refuse an array that a kernel writes to and that must stay as it is.

    Raises
    ------
    ArgumentError
        If it is a read-only array.
    """
    array = value.array if type(value) is HostArray else value
    flags = getattr(array, "flags", None)
    if flags is not None and not getattr(flags, "writeable", True):
        got = f"{type(array).__name__} of {array.dtype}, read-only"
        raise ArgumentError(f"{what} is written by the kernel", got=got, at=caller(), hint="pass a copy")


def caller() -> Site:
    """The line that launched: the innermost that is neither opweave's nor Triton's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        own = is_own_file(frame.f_code.co_filename) or frame.f_globals.get("__name__", "").startswith("triton.")
        if not own:
            return Site(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back
    return Site("<unknown>", 0, "<unknown>")


_HOST_DEVICES: set[Any] = set()  # devices that turned out to be the CPU; interned or few


def device_kind(device: Any) -> str:
    """`cpu`, `cuda`, ... of a device object or a device string."""
    return str(getattr(device, "type", device)).partition(":")[0]


class HostArray:
    """A NumPy array as a kernel argument: `kernel[grid](HostArray(x), ...)`.

    Triton takes objects with `data_ptr()` and `dtype`, which NumPy's arrays lack.
    """

    __slots__ = ("_extent", "_pointer", "array", "dtype")
    device = "cpu"

    def __init__(self, array: Any) -> None:
        self.array = array
        self.dtype = array.dtype
        self._pointer: int = array.__array_interface__["data"][0]
        self._extent: tuple[int, int] | None = None

    def data_ptr(self) -> int:
        """Address of the first element."""
        return self._pointer

    def extent(self) -> tuple[int, int]:
        """Addresses of the first byte of the elements and of the byte behind them."""
        if self._extent is None:
            self._extent = byte_bounds(self.array)
        return self._extent

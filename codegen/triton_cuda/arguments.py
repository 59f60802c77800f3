"""What a launch passes: numbers, addresses and tensor descriptors as the driver library takes them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Iterator, Sequence
from typing import Any

from opweave.codegen.native.arguments import Parameter, flatten, half_bits, parameters
from opweave.codegen.triton_cpu.driver import device_index, device_kind
from opweave.codegen.triton_cuda.library import check, libcuda
from opweave.registry.containers import is_tuple
from opweave.registry.errors import ArgumentError, DeviceError, UnsupportedError

_FORMATS = {"fp64": "<d"} | {
    f"{sign}{8 * size}": "<" + (code.upper() if sign == "u" else code)
    for sign in "iu"
    for size, code in ((1, "b"), (2, "h"), (4, "i"), (8, "q"))
}


def pack(kernel: str, parameter: Parameter, value: Any, device: int | None = None) -> Any:
    """An argument as eight bytes, of which CUDA reads as many as the parameter's type has; or as a tensor map.

    Parameters
    ----------
    kernel : str
        Its name, for messages.
    parameter : Parameter
    value : Any
    device : int, optional
        The device that the kernel runs on.

    Raises
    ------
    ArgumentError
        If the value does not fit the parameter.
    DeviceError
        If it is a tensor outside GPU memory.
    """
    what = f"{kernel}: argument {parameter.name!r}"
    try:
        if parameter.is_pointer:
            return slot(address(what, value, device))
        if parameter.type == _TENSOR_MAP:
            descriptor, about = value
            return encode_tensor_map(what, descriptor, about, device)
        if parameter.type == "fp32":  # beyond its range it is infinite, as C and the CPU have it
            return slot(int.from_bytes(bytes(ctypes.c_float(value)), "little"))
        if parameter.type == "i1":
            return slot(int(bool(value)))
        if parameter.type in ("fp16", "bf16"):
            return slot(half_bits(value, parameter.type))
        raw = struct.pack(_FORMATS[parameter.type], value)
    except (struct.error, TypeError, OverflowError) as error:
        raise ArgumentError(f"{what} does not fit {parameter.type}", got=f"{value!r}: {error}") from None
    return slot(int.from_bytes(raw, "little"))


def slot(bits: int) -> ctypes.c_uint64:
    return ctypes.c_uint64(bits)


def address(what: str, value: Any, home: int | None = None) -> int:
    if value is None:
        return 0
    if isinstance(value, int):
        return value
    if not hasattr(value, "data_ptr"):
        raise ArgumentError(f"{what} must be a tensor or an address", got=f"{value!r} ({type(value).__name__})")
    device = getattr(value, "device", None)
    if device is not None and device_kind(device) != "cuda":
        raise DeviceError(
            f"{what} is on {device}, but the kernel runs on CUDA",
            hint="a launch runs where its first tensor is: move all tensors to one device",
        )
    place = device_index(device)
    if home is not None and place is not None and place != home:
        raise DeviceError(
            f"{what} is on {device}, but the kernel runs on cuda:{home}",
            hint="a launch runs where its first tensor is: move all tensors to one device",
        )
    return value.data_ptr()


# -- tensor descriptors

_TENSOR_MAP = "tensormap"
_MAP_KEYS = frozenset({"swizzle", "elem_size", "elem_type", "block_size", "fp4_padded"})
_MAP_BYTES, _MAP_ALIGNMENT, _MOST_MAP_DIMS = 128, 64, 5
#: The element types of device and driver library, where they have other numbers.
_MAP_TYPES = {8: 10, 9: 8, 10: 9}
_NO_INTERLEAVING, _PROMOTE_128_BYTES = 0, 2


def tensor_maps(metadata: Any) -> list[Any]:
    """How each descriptor of a kernel is to be encoded; none where descriptors were rewritten to pointers."""
    found: list[Any] = list(getattr(metadata, "tensordesc_meta", None) or ())
    for about in found:
        if about is not None and frozenset(about) != _MAP_KEYS:
            raise UnsupportedError(
                f"{metadata.name}: this Triton describes tensor descriptors in another way",
                got=", ".join(sorted(about)), hint=f"known: {', '.join(sorted(_MAP_KEYS))}",
            )  # fmt: skip
    return found


def spread_parameters(signature: Any, maps: Iterator[Any]) -> Iterator[Parameter]:
    """As `parameters`, where descriptors are passed as tensor maps, with shape and strides behind."""
    for name, kind in signature:
        if is_tuple(kind):
            yield from spread_parameters(((f"{name}[{i}]", inner) for i, inner in enumerate(kind)), maps)
        elif not kind.startswith("tensordesc"):
            yield from parameters({name: kind})
        elif next(maps) is None:
            yield from parameters({name: kind})
        else:
            rank = kind.partition("[")[2].partition("]")[0].count(",") + 1
            yield Parameter(str(name), _TENSOR_MAP)
            for width in ("i32", "i64"):
                yield from [Parameter(f"{name}.shape", width)] * rank


def spread(signature: Sequence[Any], arguments: Sequence[Any], maps: Iterator[Any]) -> Iterator[Any]:
    """The argument of each of `spread_parameters`."""
    for kind, value in zip(signature, arguments, strict=True):
        if is_tuple(kind):
            yield from spread(kind, value, maps)
        elif not kind.startswith("tensordesc"):
            yield from flatten((kind,), (value,))
        else:
            about = next(maps)
            if about is None:
                yield from flatten((kind,), (value,))
            else:
                yield (value, about)
                shape = list(value.shape)
                if about["fp4_padded"]:
                    shape[-1] *= 2
                yield from shape
                yield from value.strides


def encode_tensor_map(what: str, descriptor: Any, about: Any, device: int | None) -> Any:
    """A descriptor as the 128 bytes that the hardware reads.

    Raises
    ------
    ArgumentError
        If it is none that the hardware takes.
    """
    rank = len(about["block_size"])
    shape, strides, size = list(descriptor.shape), list(descriptor.strides), about["elem_size"]
    if not 1 <= rank == len(shape) == len(strides) <= _MOST_MAP_DIMS or strides[-1] != 1:
        raise ArgumentError(
            f"{what}: a tensor descriptor has up to {_MOST_MAP_DIMS} dimensions, the last one dense",
            got=f"shape {shape}, strides {strides}, block {list(about['block_size'])}",
        )  # fmt: skip
    if about["fp4_padded"]:
        shape[-1] *= 2
    memory = ctypes.create_string_buffer(_MAP_BYTES + _MAP_ALIGNMENT)
    made = (ctypes.c_char * _MAP_BYTES).from_buffer(memory, -ctypes.addressof(memory) % _MAP_ALIGNMENT)
    steps = [size * stride for stride in reversed(strides[:-1])]
    steps.append(shape[0] * (steps[-1] if steps else size))
    status = libcuda().cuTensorMapEncodeTiled(
        ctypes.byref(made), _MAP_TYPES.get(about["elem_type"], about["elem_type"]), rank,
        ctypes.c_void_p(address(what, descriptor.base, device)), (ctypes.c_uint64 * rank)(*reversed(shape)),
        (ctypes.c_uint64 * rank)(*steps), (ctypes.c_uint32 * rank)(*reversed(about["block_size"])),
        (ctypes.c_uint32 * rank)(*[1] * rank), _NO_INTERLEAVING, about["swizzle"], _PROMOTE_128_BYTES,
        int(descriptor.padding == "nan"),
    )  # fmt: skip
    check(status)
    return made

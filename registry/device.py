"""Devices, and the array module that stands behind each.

Only this module knows that CPU memory is NumPy's and CUDA memory CuPy's: everything else asks `device.xp`.
`meta` tensors have sizes and strides but no memory.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from opweave.registry.errors import DeviceError
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy

_TYPES = ("cpu", "cuda", "meta")


class Device:
    """A device, interned: equal devices are one object.

    Parameters
    ----------
    type : str or Device
        `"cpu"`, `"cuda"`, `"cuda:1"` or `"meta"`.
    index : int, optional
        Ordinal, for `cuda`.
    """

    __slots__ = ("type", "index", "_xp")
    _interned: ClassVar[dict[tuple[str, int | None], Device]] = {}

    type: str
    index: int | None

    def __new__(cls, type: str | Device = "cpu", index: int | None = None) -> Device:
        if isinstance(type, Device):
            return type
        if not isinstance(type, str):
            raise DeviceError("device: expected a string such as 'cpu' or 'cuda:0'", got=repr(type))
        name, _, ordinal = type.partition(":")
        if ordinal:
            if not ordinal.isdigit() or index is not None:
                raise DeviceError("device: malformed device string", got=repr(type), hint="'cpu', 'cuda', 'cuda:0'")
            index = int(ordinal)
        if name not in _TYPES:
            raise DeviceError(
                f"device: unknown device type {name!r}", got=repr(type), hint="one of " + ", ".join(_TYPES)
            )
        if name != "cuda":
            if index not in (None, 0):
                raise DeviceError(f"device: {name} has no index", got=repr(type), hint=f"write {name!r}")
            index = None
        found = cls._interned.get((name, index))
        if found is None:
            found = object.__new__(cls)
            found.type = name
            found.index = index
            found._xp = None
            found = cls._interned.setdefault((name, index), found)
        return found

    _xp: ModuleType | None

    @property
    def xp(self) -> Any:
        """The array module of this device's memory: NumPy or CuPy.

        Raises
        ------
        DeviceError
            For `cuda` where CuPy or a GPU is missing, and for `meta`.
        """
        if self._xp is None:
            self._xp = _array_module(self.type)
        return self._xp

    def __repr__(self) -> str:
        suffix = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{suffix})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[object, ...]:
        return (Device, (self.type, self.index))


def _array_module(kind: str) -> Any:
    if kind == "cpu":
        return np
    if kind == "cuda":
        try:
            cupy = load_heavy("cupy")
            count = cupy.cuda.runtime.getDeviceCount()
        except Exception as error:  # an absent driver raises CuPy's own classes, which cannot be named without it
            let_through(error)
            raise DeviceError(
                "cuda: not available", got=f"{type(error).__name__}: {error}",
                hint="needs an NVIDIA GPU and `pip install opweave[cuda]`; on the CPU drop device='cuda'",
            ) from None  # fmt: skip
        if not count:
            raise DeviceError("cuda: no GPU found")
        return cupy
    raise DeviceError("meta tensors have no data", hint="use a device with memory, such as 'cpu'")


def is_cuda_available() -> bool:
    """Whether `cuda` tensors can be made here."""
    try:
        return Device("cuda").xp is not None
    except DeviceError:
        return False


def parse_device(value: Any) -> Device:
    """Accept a `Device`, a device string, a CUDA ordinal, or None for the CPU; `cuda` means the current GPU."""
    if value is None:
        return cpu
    device = Device("cuda", value) if type(value) is int else Device(value)
    if device.type == "cuda" and device.index is None:
        return Device("cuda", device.xp.cuda.runtime.getDevice())
    return device


cpu = Device("cpu")
meta = Device("meta")

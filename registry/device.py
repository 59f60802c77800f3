"""Devices, and the memory that stands behind each.

Only this module knows that CPU memory is NumPy's and CUDA memory CuPy's: everything else asks `device.memory` or
`device.xp`. A sort of device is one subclass of `Memory`; its dispatch keys stand in `keys`, and what compiles and
launches kernels for it in `opweave.codegen.backends`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from opweave.registry import memory
from opweave.registry.errors import DeviceError
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy


class Memory(ABC):
    """One sort of memory: its arrays, how they are made and how they come here.

    Attributes
    ----------
    numbered : bool
        Whether a device of this sort is one of several (`cuda:1`).
    precise_statistics : bool
        Whether normalisations of half types keep their statistics in the compute type, as PyTorch's GPU kernels do.
    dlpack : int
        DLPack's number of the sort; that of an extension device where it has none.
    """

    numbered: ClassVar[bool] = False
    precise_statistics: ClassVar[bool] = False
    dlpack: ClassVar[int] = 12

    @abstractmethod
    def module(self) -> Any:
        """The array module; `DeviceError` where it or the hardware is missing."""

    @abstractmethod
    def allocate(self, nbytes: int, index: int | None) -> Any:
        """What owns new memory, an array of bytes or a lease; None where there is none."""

    @abstractmethod
    def to_host(self, array: Any) -> np.ndarray:
        """An array of this memory as NumPy's: the same one where NumPy can read it."""

    @abstractmethod
    def from_host(self, array: np.ndarray, index: int | None = None) -> Any:
        """A NumPy array as one of this memory."""

    @abstractmethod
    def random(self, seed: int) -> Any:
        """A generator of random numbers, made here, from 128 bits of seed."""

    def current(self) -> int | None:
        """Which device is meant by the name alone."""
        return None


class HostMemory(Memory):
    """The process's own, which is NumPy's."""

    dlpack = 1

    def module(self) -> Any:
        return np

    def allocate(self, nbytes: int, index: int | None) -> Any:
        return memory.allocate(nbytes)

    def to_host(self, array: Any) -> np.ndarray:
        return array

    def from_host(self, array: np.ndarray, index: int | None = None) -> Any:
        return array

    def random(self, seed: int) -> Any:
        return np.random.Generator(np.random.Philox(seed))


class CudaMemory(Memory):
    """That of NVIDIA's GPUs, which is CuPy's."""

    numbered = True
    precise_statistics = True
    dlpack = 2

    def module(self) -> Any:
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

    def allocate(self, nbytes: int, index: int | None) -> Any:
        with cuda.xp.cuda.Device(index):
            return cuda.xp.empty(max(nbytes, 1), np.uint8)

    def to_host(self, array: Any) -> np.ndarray:
        return cuda.xp.asnumpy(array)

    def from_host(self, array: np.ndarray, index: int | None = None) -> Any:
        with cuda.xp.cuda.Device(index):
            return cuda.xp.asarray(array)

    def random(self, seed: int) -> Any:
        return cuda.xp.random.default_rng(seed & (2**64 - 1))

    def current(self) -> int | None:
        return cuda.xp.cuda.runtime.getDevice()


class NoMemory(Memory):
    """Tensors with sizes and strides, and no data."""

    def module(self) -> Any:
        raise DeviceError("meta tensors have no data", hint="use a device with memory, such as 'cpu'")

    def allocate(self, nbytes: int, index: int | None) -> Any:
        return None

    def to_host(self, array: Any) -> np.ndarray:
        return self.module()

    def from_host(self, array: np.ndarray, index: int | None = None) -> Any:
        return self.module()

    def random(self, seed: int) -> Any:
        return self.module()


class Elsewhere(NoMemory):
    """That of devices which have a name in PyTorch, and are not there: programs compare theirs with them."""

    numbered = True

    def __init__(self, name: str) -> None:
        self.name = name

    def module(self) -> Any:
        raise DeviceError(
            f"device: there is no {self.name} here", got=repr(self.name), hint="one of " + ", ".join(MEMORIES)
        )

    def allocate(self, nbytes: int, index: int | None) -> Any:
        return self.module()

    def current(self) -> int | None:
        return self.module()


MEMORIES: dict[str, Memory] = {"cpu": HostMemory(), "cuda": CudaMemory(), "meta": NoMemory()}


#: Devices that can be named only.
_ELSEWHERE = {
    name: Elsewhere(name)
    for name in ("mps", "xpu", "hpu", "xla", "mtia", "npu", "musa", "mlu", "ipu", "maia", "vulkan", "privateuseone")
}


class Device:
    """A device, interned: equal devices are one object.

    Parameters
    ----------
    type : str or Device
        `"cpu"`, `"cuda"`, `"cuda:1"` or `"meta"`.
    index : int, optional
        Ordinal, for `cuda`.

    Attributes
    ----------
    memory : Memory
        What its memory is.
    is_host : bool
        Whether that is the process's own.

    Examples
    --------
    >>> opweave.device("cpu").type, opweave.ones(2).device
    ('cpu', device(type='cpu'))
    """

    __slots__ = ("type", "index", "memory", "is_host", "_xp")
    _interned: ClassVar[dict[tuple[str, int | None], Device]] = {}

    type: str
    index: int | None
    memory: Memory
    is_host: bool

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
        memory = MEMORIES.get(name) or _ELSEWHERE.get(name)
        if memory is None:
            # Packages read the names of all types from PyTorch's text, which is the second sentence.
            raise DeviceError(
                f"device: unknown device type {name!r}. Expected one of {', '.join(MEMORIES)} device type at start of "
                f"device string: {name}", got=repr(type), hint="'cpu', 'cuda', 'cuda:0'",
            )  # fmt: skip
        if not memory.numbered:
            if index not in (None, 0):
                raise DeviceError(f"device: {name} has no index", got=repr(type), hint=f"write {name!r}")
            index = None
        found = cls._interned.get((name, index))
        if found is None:
            found = object.__new__(cls)
            found.type = name
            found.index = index
            found.memory = memory
            found.is_host = isinstance(found.memory, HostMemory)
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
            self._xp = self.memory.module()
        return self._xp

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's number of the sort of device, and which it is, for libraries that take devices."""
        return self.memory.dlpack, self.index or 0

    def __repr__(self) -> str:
        suffix = "" if self.index is None else f", index={self.index}"
        return f"device(type={self.type!r}{suffix})"

    def __str__(self) -> str:
        return self.type if self.index is None else f"{self.type}:{self.index}"

    def __reduce__(self) -> tuple[object, ...]:
        return (Device, (self.type, self.index))


def is_cuda_available() -> bool:
    """Whether `cuda` tensors can be made here."""
    try:
        return cuda.xp is not None
    except DeviceError:
        return False


def parse_device(value: Any) -> Device:
    """Accept a `Device`, a device string, a CUDA ordinal, or None for the CPU; `cuda` means the current GPU."""
    if value is None:
        return cpu
    device = Device("cuda", value) if type(value) is int else Device(value)
    if device.type in _ELSEWHERE:
        device.memory.module()  # which says so
    if device.index is None and device.memory.numbered:
        return Device(device.type, device.memory.current())
    return device


cpu = Device("cpu")
cuda = Device("cuda")
meta = Device("meta")

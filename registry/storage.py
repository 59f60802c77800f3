"""`Storage`: a span of one device's memory that tensors look into."""

from __future__ import annotations

import os
import weakref
from typing import Any

import numpy as np

from opweave.registry.device import Device, cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import DataDependentError, LibraryError
from opweave.registry.memory import Foreign, Lease

_UINT8 = np.dtype(np.uint8)
_LENT = (Lease, Foreign)


class Storage:
    """A span of one device's memory, shared by views.

    Attributes
    ----------
    device : Device
        Where the memory is.
    nbytes : int
        Its length.
    version : int
        Counts mutations through any tensor on it.
    owner : object
        What keeps the memory alive: a `Lease` of host memory, `Foreign` memory, an array, or None where there is no
        memory (meta, fake).
    saved : bool
        Whether a backward pass has kept a tensor on it: launches of kernels count their writes to it as mutations.
    views : list of weak references or None
        The tensors that were made as views, some of them gone: a recorded write through one changes the others'
        history.
    """

    __slots__ = ("device", "nbytes", "version", "owner", "saved", "views", "_ptr", "_bytes", "__weakref__")

    def __init__(self, device: Device, nbytes: int, owner: Any, ptr: int | None):
        self.device = device
        self.nbytes = nbytes
        self.version = 0
        self.owner = owner
        self.saved = False
        self._ptr = ptr
        self._bytes: Any = None
        self.views: list[weakref.ref[Any]] | None = None

    @property
    def ptr(self) -> int:
        """Address of the first byte on the device."""
        if self._ptr is None:
            if self.owner is None:
                raise DataDependentError(
                    f"data_ptr: a tensor on {self.device} without data has no address",
                    got=f"{self.nbytes} bytes on {self.device}", hint="kernels run on tensors with data: device='cpu'",
                )  # fmt: skip
            self._ptr = address(self.owner)
        return self._ptr

    def apart(self) -> Storage:
        """The same memory, whose mutations are counted apart."""
        return Storage(self.device, self.nbytes, self.owner, self._ptr)

    def note_view(self, view: Any) -> None:
        """Remember a view."""
        views = self.views
        if views is None:
            self.views = [weakref.ref(view)]
            return
        if len(views) >= 16 and not len(views) & (len(views) - 1):
            views[:] = [ref for ref in views if ref() is not None]
        views.append(weakref.ref(view))

    def array(self, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> Any:
        """An array of the device's module over this memory, no copy; `offset` and `strides` in elements."""
        if self.owner is None:
            raise DataDependentError(
                f"this tensor on {self.device} has no data", hint="fake and meta tensors have sizes and types only"
            )
        item = dtype.itemsize
        byte_strides = tuple([stride * item for stride in strides])
        if self.device.is_host:
            if 0 in sizes:
                return np.empty(sizes, dtype.numpy)
            return np.ndarray(sizes, dtype.numpy, self.bytes(), offset * item, byte_strides)
        xp = self.device.xp
        return xp.ndarray(sizes, dtype.numpy, self.owner.data + offset * item, byte_strides)

    def bytes(self) -> Any:
        """The memory as an array of bytes, which keeps it alive."""
        if self._bytes is None:
            owner = self.owner
            self._bytes = owner.array() if type(owner) in _LENT else _byte_view(owner, self.nbytes)
        return self._bytes

    def __repr__(self) -> str:
        return f"Storage(device={self.device}, nbytes={self.nbytes}, version={self.version})"


class UntypedStorage:
    """A storage as PyTorch's callers see it: `Tensor.untyped_storage()`; equal ones are one memory."""

    __slots__ = ("_storage",)

    def __init__(self, storage: Storage):
        self._storage = storage

    @property
    def device(self) -> Device:
        """Where the memory is."""
        return self._storage.device

    def data_ptr(self) -> int:
        """Address of the first byte on the device."""
        return self._storage.ptr

    def nbytes(self) -> int:
        """The length in bytes."""
        return self._storage.nbytes

    size = __len__ = nbytes

    def element_size(self) -> int:
        """Bytes of an element: 1."""
        return 1

    @staticmethod
    def from_file(filename: str, shared: bool = False, nbytes: int = 0) -> UntypedStorage:
        """The first bytes of a file, read when they are asked for.

        Parameters
        ----------
        filename : path
            The file; where `shared`, it is made if it is not there, and as long as is asked for.
        shared : bool
            Whether writes go to the file. They are seen by nobody else otherwise.
        nbytes : int
            How many.

        Raises
        ------
        LibraryError
            If the file is shorter.
        """
        if shared:
            with open(filename, "ab") as file:
                file.truncate(max(file.tell(), nbytes))
        size = os.stat(filename).st_size
        if size < nbytes:
            raise LibraryError(
                f"UntypedStorage.from_file: {filename} is shorter", got=f"{size} bytes for {nbytes}",
                hint="shared=True makes it longer",
            )  # fmt: skip
        mode: Any = "r+" if shared else "c"
        array = np.memmap(filename, np.uint8, mode, shape=(nbytes,)) if nbytes else np.empty(0, np.uint8)
        return UntypedStorage(Storage(cpu, nbytes, array, None))

    @property
    def __array_interface__(self) -> dict[str, Any]:
        if not self._storage.device.is_host or self._storage.owner is None:
            raise AttributeError(f"{self!r} is no memory of the host")
        return self._storage.bytes().__array_interface__

    def __getitem__(self, index: Any) -> Any:
        part = self._storage.bytes()[index]
        if not isinstance(index, slice):
            return int(part)
        if part.strides != (1,):
            raise IndexError("a storage is sliced without steps")
        return UntypedStorage(Storage(self._storage.device, part.nbytes, part, None))

    def untyped(self) -> UntypedStorage:
        """Itself, which has no element type."""
        return self

    _untyped = untyped

    def tolist(self) -> list[int]:
        """The bytes as numbers."""
        return self._storage.device.memory.to_host(self._storage.bytes()).tolist()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, UntypedStorage) and other._key() == self._key()

    def __hash__(self) -> int:
        return self._key()

    def _key(self) -> int:
        """Of the memory: `x.data` looks into that of x."""
        return id(self._storage if self._storage.owner is None else self._storage.owner)

    def __repr__(self) -> str:
        return f"UntypedStorage(device={self.device}, nbytes={self.nbytes()})"


class _Span:
    """Lends an array's memory as bytes: NumPy's interface protocol keeps this object, and so the owner, alive."""

    def __init__(self, owner: Any, nbytes: int):
        data, readonly = owner.__array_interface__["data"]
        self.owner = owner
        self.__array_interface__ = {"data": (data, readonly), "shape": (nbytes,), "typestr": "|u1", "version": 3}


def _byte_view(owner: Any, nbytes: int) -> Any:
    if owner.dtype == _UINT8 and owner.ndim == 1 and owner.flags.c_contiguous:
        return owner
    return np.asarray(_Span(owner, nbytes))


def address(array: Any) -> int:
    """Device address of an array's first element."""
    if isinstance(array, np.ndarray):
        return int(array.__array_interface__["data"][0])
    return array.address if type(array) is Foreign else int(array.data.ptr)

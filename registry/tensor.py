"""`Tensor` over `Storage`: sizes, strides and an offset into memory that views share.

This file holds what a tensor *is*. Its arithmetic, methods and operators are bound from the op declarations in
`registry/ops/` (see `registry.ops.surface`), so that an op is declared in one place.

Sizes and strides are counted in elements. The array behind a tensor (`_array`) is NumPy's on the CPU and CuPy's on
CUDA; it shares the tensor's memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from operator import index
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from opweave.registry import forking, memory, printing
from opweave.registry.device import Device, cpu, meta, parse_device
from opweave.registry.dlpack import relabelled
from opweave.registry.dtypes import DType, as_dtype, from_numpy as dtype_from_numpy, get_default_dtype
from opweave.registry.errors import ArgumentError, AutogradError, DeviceError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.hooks import Hook
from opweave.registry.keys import GRAD, PYTHON_BIT, TENSOR_BITS as _KEY_BITS, VIEW_BIT, WATCHED, need_memory, state
from opweave.registry.spec import TensorSpec, contiguous_strides, span
from opweave.registry.storage import Storage, UntypedStorage
from opweave.registry.strided import Strided

_version_lock = forking.short_lock()
#: Called with a tensor and a method's name where Python looks at data, if somebody wants to know.
when_read: Hook[[Tensor, str], None] = Hook()


class Tensor(Strided):
    """A strided array with a dtype and a device, over a storage that views share.

    Make one with `opweave.tensor`, `opweave.from_numpy`, `opweave.empty` and the like.

    Examples
    --------
    >>> opweave.tensor([[1.0, 2.0], [3.0, 4.0]]).sum(0)
    tensor([4., 6.])
    """

    __slots__ = (
        "_storage", "_sizes", "_strides", "_offset", "_dtype", "_device", "_keys", "_cached", "_view_of",
        "_autograd", "_dims", "__weakref__", "__dict__",
    )  # fmt: skip

    _storage: Storage
    _keys: int
    _cached: Any
    _view_of: Tensor | None
    #: `registry.autograd.graph.AutogradMeta` of a tensor that takes part in autograd.
    _autograd: Any
    #: Sizes and strides as another library was shown them (`codegen/native/exchange.ll`); mostly not there.
    _dims: bytes
    #: What a module keeps it as (`registry.autograd.surface`).
    _role: str | None

    __array_priority__ = 1000.0  # NumPy must leave `ndarray + Tensor` to Tensor.__radd__

    if TYPE_CHECKING:  # `registry.constructor` has it

        def __init__(self, *args: Any, **kwargs: Any) -> None: ...

    def _fill(self, source: Tensor) -> None:
        """Be what another tensor is."""
        _become(self, source)
        self._keys |= subclass_bits(type(self))

    @staticmethod
    def _make_subclass(cls: type[Any], data: Tensor, require_grad: bool = False) -> Any:
        """A tensor of a subclass over the memory of `data`; ops on it go to `__torch_dispatch__` if it has one.

        Parameters
        ----------
        cls : type
            The subclass, in whose `__new__` this is called.
        data : Tensor
            What it shares memory with; its history is left behind.
        require_grad : bool
            Whether gradients flow to it.

        Raises
        ------
        ArgumentError
            If `cls` is no subclass or `data` no tensor.
        """
        _require_subclass(cls, "_make_subclass")
        if not isinstance(data, Tensor):
            raise ArgumentError("_make_subclass: expected a Tensor", got=repr(data), hint="_make_subclass(cls, tensor)")
        t = Tensor.__new__(cls)
        _become(t, make(data._storage, data._sizes, data._strides, data._offset, data._dtype, data._device))
        t._keys |= subclass_bits(cls)
        return t.requires_grad_() if require_grad else t

    @staticmethod
    def _make_wrapper_subclass(
        cls: type[Any], size: Sequence[int], *, strides: Sequence[int] | None = None, storage_offset: int = 0,
        dtype: Any = None, device: Any = None, requires_grad: bool = False,
    ) -> Any:  # fmt: skip
        """A tensor of a subclass without memory of its own; every op on it goes to `__torch_dispatch__`.

        Parameters
        ----------
        cls : type
            The subclass, in whose `__new__` this is called.
        size : sequence of int
            Sizes it shows.
        strides : sequence of int, optional
            Strides it shows; contiguous by default.
        storage_offset : int
            Offset it shows.
        dtype : dtype, optional
            The default dtype where None.
        device : device or str, optional
            Main memory where None.
        requires_grad : bool
            Whether gradients flow to it.

        Raises
        ------
        ArgumentError
            If `cls` is no subclass that defines `__torch_dispatch__`.
        ShapeError
            If sizes or strides are negative, or their numbers differ.
        """
        _require_subclass(cls, "_make_wrapper_subclass")
        if not subclass_bits(cls) & PYTHON_BIT:
            raise ArgumentError(
                "_make_wrapper_subclass: the class must define __torch_dispatch__", got=cls.__name__,
                hint="@classmethod def __torch_dispatch__(cls, func, types, args=(), kwargs=None): ...",
            )  # fmt: skip
        sizes = tuple([index(n) for n in size])
        steps = contiguous_strides(sizes) if strides is None else tuple([index(n) for n in strides])
        if len(steps) != len(sizes) or any(n < 0 for n in (*sizes, *steps, storage_offset)):
            raise ShapeError(
                "_make_wrapper_subclass: sizes and strides must be as many, and not negative",
                got=f"sizes {sizes}, strides {steps}, offset {storage_offset}",
            )
        kind = get_default_dtype() if dtype is None else as_dtype(dtype)
        place = cpu if device is None else parse_device(device)
        storage = Storage(place, (storage_offset + span(sizes, steps)) * kind.itemsize, None, None)
        t = Tensor.__new__(cls)
        _become(t, make(storage, sizes, steps, storage_offset, kind, place))
        t._keys |= PYTHON_BIT
        return t.requires_grad_() if requires_grad else t

    @staticmethod
    def _from_array(array: Any, device: Device = cpu) -> Tensor:
        """Wrap an array of the device's module, sharing its memory."""
        dtype = dtype_from_numpy(array.dtype)
        item = dtype.itemsize
        t = Tensor.__new__(Tensor)
        t._sizes = sizes = array.shape
        if array.flags.c_contiguous:
            t._strides = contiguous_strides(sizes)
            nbytes = array.nbytes
        else:
            strides = []
            for size, stride in zip(sizes, array.strides, strict=True):
                if stride % item or (stride < 0 and size > 1):
                    raise ShapeError(
                        "from_numpy: strides must be non-negative multiples of the item size",
                        got=f"strides {array.strides} for {dtype}", hint="np.ascontiguousarray(a) makes a copy",
                    )  # fmt: skip
                strides.append(max(stride, 0) // item)
            t._strides = tuple(strides)
            nbytes = span(sizes, strides) * item
        t._offset = 0
        t._dtype = dtype
        t._device = device
        t._storage = Storage(device, nbytes, array, None)
        t._keys = _KEY_BITS[device.type]
        t._cached = array
        t._view_of = None
        t._autograd = None
        return t

    # ---- memory ----------------------------------------------------------------------------------------------------

    def untyped_storage(self) -> UntypedStorage:
        """The memory this tensor looks into."""
        need_memory("untyped_storage")
        return UntypedStorage(self._storage)

    @property
    def _version(self) -> int:
        """How often the storage was mutated."""
        return self._storage.version

    @property
    def _base(self) -> Tensor | None:
        """The tensor this one is a view of, None if it is no view."""
        return self._view_of

    def _is_view(self) -> bool:
        return self._view_of is not None

    def _make_view(self, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Tensor:
        """A tensor of the same class over the same storage; subclasses that carry more override it."""
        return make(self._storage, sizes, strides, offset, self._dtype, self._device)

    def _alias(self) -> Self:
        """The same tensor as another object: same class, storage and attributes, no history."""
        kind = type(self)
        made = Tensor.__new__(kind)  # a subclass may have a __new__ that wants arguments
        if kind is Tensor:
            made._storage, made._sizes, made._strides = self._storage, self._sizes, self._strides
            made._offset, made._dtype, made._device = self._offset, self._dtype, self._device
            made._cached = self._cached
        else:
            for owner in kind.__mro__:
                for name in owner.__dict__.get("__slots__", ()):
                    if name not in ("__weakref__", "__dict__") and hasattr(self, name):
                        setattr(made, name, getattr(self, name))
        if self.__dict__:
            made.__dict__.update(self.__dict__)
        made._autograd = None
        made._view_of = None
        made._keys = self._keys & ~GRAD
        return made

    def _show_as(self, view: Tensor) -> None:
        """Take over the place in memory of a view of this tensor, and what a subclass keeps with it, if they differ.

        Raises
        ------
        UnsupportedError
            If it is a subclass with a `__torch_dispatch__` of its own, which does not say how.
        """
        if (view._sizes, view._strides, view._offset) == (self._sizes, self._strides, self._offset):
            return
        need_memory("sizes in place")
        if hasattr(type(self), "__torch_dispatch__"):
            what = f"{type(self).__name__}: its sizes cannot be changed in place"
            raise UnsupportedError(what, got=describe(self), hint="use the functional form, as in x = x.t()")
        take_place(self, view)

    def _bump(self) -> None:
        """Note a mutation."""
        with _version_lock:
            self._storage.version += 1

    # ---- data ------------------------------------------------------------------------------------------------------

    @property
    def _array(self) -> Any:
        """The elements as an array of the device's module, sharing memory."""
        array = self._cached
        if array is None:
            array = self._cached = self._storage.array(self._sizes, self._strides, self._offset, self._dtype)
        return array

    def _look(self, what: str) -> None:
        """Tell active modes that Python looks at the data: a trace would silently keep what was seen."""
        for mode in state.modes:
            mode.data_accessed(self, what)

    def _hand_out(self, what: str) -> None:
        """Tell who watches memory that Python looks at it."""
        if when_read.call is not None and state.include & WATCHED:
            when_read.call(self, what)

    def data_ptr(self) -> int:
        """Device address of the first element, 0 for an empty tensor."""
        need_memory("data_ptr")
        storage = self._storage
        if 0 in self._sizes:
            return 0
        return (storage._ptr or storage.ptr) + self._offset * self._dtype.itemsize

    def numpy(self, *, force: bool = False) -> np.ndarray[Any, Any]:
        """The elements as a NumPy array that shares memory.

        Parameters
        ----------
        force : bool
            Copy to main memory where the data is elsewhere, instead of raising.

        Raises
        ------
        DeviceError
            If the data is not in main memory and `force` is false.
        """
        if state.modes:
            self._look("numpy")
        if when_read.call is not None:
            self._hand_out("numpy")
        if self._keys & GRAD and not state.exclude & GRAD and not force:
            what = "numpy: the tensor requires grad, and NumPy would lose track of it"
            raise AutogradError(what, got=describe(self), hint="use x.detach().numpy()")
        if self._device.is_host:
            return self._array
        if not force or self._device is meta:
            raise DeviceError(f"numpy: the data is on {self._device}", got=describe(self), hint="use .cpu().numpy()")
        return self._device.memory.to_host(self._array)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray[Any, Any]:
        array = self.numpy()
        if dtype is not None and np.dtype(dtype) != array.dtype:
            if copy is False:
                raise ValueError(f"cannot convert {self._dtype} to {dtype} without a copy")
            return array.astype(dtype)
        return array.copy() if copy else array

    def __dlpack__(self, **kwargs: Any) -> Any:
        if self._keys & GRAD and not state.exclude & GRAD:
            raise AutogradError(
                "__dlpack__: the tensor requires grad, and the other library would lose track of it",
                got=describe(self), hint="x.detach()",
            )  # fmt: skip
        if state.modes:
            self._look("__dlpack__")
        if when_read.call is not None:
            self._hand_out("numpy")
        bits = self._dtype.bits
        if bits is None:
            return self._array.__dlpack__(**kwargs)
        return relabelled(self._array.view(bits).__dlpack__(**kwargs), self._dtype.dlpack)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self._array.__dlpack_device__()

    def item(self) -> Any:
        """The single element as a Python number.

        Raises
        ------
        ShapeError
            If there is not exactly one element.
        """
        if state.modes:
            self._look("item")
        if when_read.call is not None:
            self._hand_out("item")
        if self.numel() != 1:
            raise ShapeError("item: only one-element tensors have a Python value", got=describe(self), hint=".tolist()")
        value = self._array.reshape(())[()].item()
        return float(value) if self._dtype.is_floating_point else value

    def tolist(self) -> Any:
        """The elements as nested lists of Python numbers."""
        if state.modes:
            self._look("tolist")
        if when_read.call is not None:
            self._hand_out("tolist")
        found = self._array if self._device.is_host else self.numpy(force=True)
        return (found.astype(np.float32) if self._dtype.bits is not None else found).tolist()

    def __bool__(self) -> bool:
        if self.numel() != 1:
            raise ShapeError(
                "bool: the truth value of a tensor with other than one element is ambiguous", got=describe(self),
                hint="use .any() or .all()",
            )  # fmt: skip
        return bool(self.item())

    def __int__(self) -> int:
        return int(self.item())

    def __float__(self) -> float:
        return float(self.item())

    def __complex__(self) -> complex:
        return complex(self.item())

    def __index__(self) -> int:
        if self._dtype.kind not in "biu":
            raise DTypeError("index: only integer tensors can be used as an index", got=describe(self), hint="int(x)")
        return int(self.item())

    def __len__(self) -> int:
        if not self._sizes:
            raise DTypeError("len: a 0-d tensor has no length", got=describe(self), hint=".numel() is 1; .item()")
        return self._sizes[0]

    def __iter__(self) -> Iterator[Tensor]:
        if not self._sizes:
            raise DTypeError("iter: cannot iterate over a 0-d tensor", got=describe(self), hint="x.reshape(1)")
        return iter(self.unbind(0))

    def __contains__(self, value: Any) -> bool:
        return bool((self == value).any())  # type: ignore[union-attr]  # bound in ops.surface

    def __hash__(self) -> int:
        return id(self)

    def __repr__(self) -> str:
        need_memory("text")
        text = printing.shown(self, "tensor" if type(self) is Tensor else type(self).__name__)
        return f"Parameter containing:\n{text}" if self._role == "parameter" else text

    def __format__(self, spec: str) -> str:
        is_number = not self._sizes and type(self) is Tensor and self._device is not meta and self._role != "parameter"
        return format(self.item(), spec) if is_number else object.__format__(self, spec)


_SLOTS = (
    "_storage", "_sizes", "_strides", "_offset", "_dtype", "_device", "_keys", "_cached", "_view_of", "_autograd",
)  # fmt: skip


#: What a tensor does not take over from a view of it.
_OF_AUTOGRAD = frozenset({"_keys", "_view_of", "_autograd", "__weakref__", "__dict__"})


def take_place(t: Tensor, view: Tensor) -> None:
    """Give a tensor the attributes of another one of its class, but for what autograd knows of it."""
    for owner in type(t).__mro__:
        for name in owner.__dict__.get("__slots__", ()):
            if name not in _OF_AUTOGRAD and hasattr(view, name):
                setattr(t, name, getattr(view, name))


def _become(t: Tensor, source: Tensor) -> None:
    """Give a tensor that was only allocated what another one is."""
    for slot in _SLOTS:
        setattr(t, slot, getattr(source, slot))


def subclass_bits(cls: type) -> int:
    return (PYTHON_BIT if hasattr(cls, "__torch_dispatch__") else 0) | getattr(cls, "_override_bits", 0)


def _require_subclass(cls: Any, what: str) -> None:
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise ArgumentError(f"{what}: expected a subclass of Tensor", got=repr(cls), hint=f"Tensor.{what}(cls, ...)")


def make(
    storage: Storage, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType, device: Device
) -> Tensor:
    """A tensor over an existing storage (strides and offset in elements)."""
    t = Tensor.__new__(Tensor)
    t._storage = storage
    t._sizes = sizes
    t._strides = strides
    t._offset = offset
    t._dtype = dtype
    t._device = device
    t._keys = _KEY_BITS[device.type]
    t._cached = None
    t._view_of = None
    t._autograd = None
    return t


def allocate(sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Tensor:
    """An uninitialised tensor with exactly these sizes and strides."""
    return allocate_bytes(sizes, strides, dtype, device, span(sizes, strides) * dtype.itemsize)


def allocate_bytes(
    sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device, nbytes: int
) -> Tensor:
    """`allocate` for callers that know how many bytes the strides span."""
    storage = _new_storage(Storage)
    storage.device = device
    storage.nbytes = nbytes
    storage.version = 0
    storage.saved = False
    storage._ptr = None
    storage._bytes = None
    storage.views = None
    if device.is_host:
        lease = memory.allocate(nbytes)
        storage.owner = lease
        storage._ptr = lease.span.ptr
    else:
        storage.owner = device.memory.allocate(nbytes, device.index)
    t = _new_tensor(Tensor)
    t._storage = storage
    t._sizes = sizes
    t._strides = strides
    t._offset = 0
    t._dtype = dtype
    t._device = device
    t._keys = _KEY_BITS[device.type]
    t._cached = None
    t._view_of = None
    t._autograd = None
    return t


def key_bits(device: Device) -> int:
    """The dispatch keys of a plain tensor on a device."""
    return _KEY_BITS[device.type]


_new_storage = Storage.__new__
_new_tensor = Tensor.__new__


def wrap_array(array: Any, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Tensor:
    """A tensor over a fresh array whose layout is known."""
    storage = _new_storage(Storage)
    storage.device = device
    storage.nbytes = array.nbytes
    storage.version = 0
    storage.saved = False
    storage.owner = array
    storage._ptr = None
    storage._bytes = None
    storage.views = None
    t = _new_tensor(Tensor)
    t._storage = storage
    t._sizes = sizes
    t._strides = strides
    t._offset = 0
    t._dtype = dtype
    t._device = device
    t._keys = _KEY_BITS[device.type]
    t._cached = array
    t._view_of = None
    t._autograd = None
    return t


def allocate_like(spec: TensorSpec) -> Tensor:
    """An uninitialised tensor of this spec."""
    return allocate(*spec)


def as_view(base: Tensor, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Tensor:
    """A view of `base`: same storage, dtype and device."""
    t = base._make_view(sizes, strides, offset)
    t._view_of = base if base._view_of is None else base._view_of
    if not base._keys & VIEW_BIT:
        t._keys = base._keys  # of an inference tensor
    base._storage.note_view(t)
    return t


def as_alias(base: Tensor, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int) -> Tensor:
    """What `as_view` makes, but for autograd no view: a write to it is none to `base`."""
    t = as_view(base, sizes, strides, offset)
    t._view_of = None
    return t


def describe(value: Any) -> str:
    """A short text of an argument for messages: `f32[2, 3]` for a tensor, its repr otherwise."""
    if isinstance(value, Tensor):
        place = "" if value._device.is_host else f" on {value._device}"
        return f"{value._dtype.short}[{', '.join(map(str, value._sizes))}]{place}"
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(describe(item) for item in value)}]"
    return repr(value)


def from_numpy(array: Any) -> Tensor:
    """A tensor that shares the array's memory.

    Parameters
    ----------
    array : numpy.ndarray
        Any strides that are not negative; read-only arrays are refused, since tensors can be mutated.

    Raises
    ------
    DTypeError
        If it is no array, or opweave has no such element type.
    """
    if not isinstance(array, np.ndarray):
        raise DTypeError(
            "from_numpy: expected a numpy.ndarray", got=type(array).__name__, hint="opweave.tensor(data) takes lists"
        )
    if not array.flags.writeable:
        raise DTypeError("from_numpy: the array is read-only", hint="pass a copy: opweave.tensor(array)")
    if not array.dtype.isnative:
        raise DTypeError(
            "from_numpy: the array has the other byte order, and memory that is shared cannot be converted",
            got=str(array.dtype), hint="array.astype(array.dtype.newbyteorder('=')) is a copy in the machine's",
        )  # fmt: skip
    return Tensor._from_array(array)

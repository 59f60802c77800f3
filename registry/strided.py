"""`Strided`: sizes, strides, dtype and device of a tensor, and what follows from these without its data."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, NoReturn, Self, SupportsIndex, overload

from opweave.registry.device import Device, cuda
from opweave.registry.dtypes import DType
from opweave.registry.errors import DeviceError, OutOfRangeError
from opweave.registry.memory_format import (
    Layout,
    MemoryFormat,
    as_memory_format,
    contiguous_format,
    is_in_format,
    strided,
)
from opweave.registry.spec import TensorSpec

if TYPE_CHECKING:
    # Operators and methods are bound from the ops' declarations; a stub, which `make stubs` writes, says what they are.
    from opweave.registry.methods import Methods

    TensorMeta = type
else:
    from opweave.registry.overridable import TensorMeta

    Methods = object


class Size(tuple[int, ...]):
    """The sizes of a tensor, a tuple.

    Examples
    --------
    >>> size = opweave.ones(2, 3).shape
    >>> size, size.numel()
    (opweave.Size([2, 3]), 6)
    """

    __slots__ = ()

    def __new__(cls, sizes: Iterable[Any] = ()) -> Self:
        found = tuple(sizes)
        if any(type(size) is not int for size in found):
            found = tuple(_as_size(size) for size in found)
        return tuple.__new__(cls, found)

    def numel(self) -> int:
        """Product of the sizes."""
        result = 1
        for size in self:
            result *= size
        return result

    @overload
    def __getitem__(self, index: SupportsIndex) -> int: ...
    @overload
    def __getitem__(self, index: slice) -> Size: ...
    def __getitem__(self, index: SupportsIndex | slice) -> int | Size:
        found: Any = tuple.__getitem__(self, index)
        return size_of(found) if type(index) is slice else found

    def __add__(self, other: Any) -> Size:
        return size_of(tuple.__add__(self, other))

    def __radd__(self, other: Any) -> Size:
        return size_of(tuple.__add__(other, self)) if isinstance(other, tuple) else NotImplemented

    def __mul__(self, times: SupportsIndex) -> Size:
        return size_of(tuple.__mul__(self, times))

    __rmul__ = __mul__

    def __repr__(self) -> str:
        return f"opweave.Size({list(self)})"


def _as_size(value: Any) -> Any:
    """A size as an int; one that is not known yet stays as it is."""
    if isinstance(value, float) or not hasattr(value, "__int__"):
        raise TypeError(f"Size: expected whole numbers; got {value!r}")
    return int(value) if hasattr(value, "__array__") or type(value) is bool else value


#: Sizes that are known to be right, without the Python function in between.
size_of: Callable[[Iterable[int]], Size] = functools.partial(tuple.__new__, Size)


#: A spec without the Python function in between that a named tuple's class has.
_new_spec: Any = tuple.__new__


def wrap_dim(dim: int, ndim: int, op: str) -> int:
    """A dimension counted from the end made non-negative; a 0-d tensor has the dimensions 0 and -1.

    Raises
    ------
    OutOfRangeError
        If there is no such dimension.
    """
    limit = ndim or 1
    if not -limit <= dim < limit:
        raise OutOfRangeError(
            f"{op}: dimension out of range", got=f"dim={dim} for a {ndim}-d tensor",
            hint=f"expected -{limit} <= dim < {limit}",
        )  # fmt: skip
    return dim + limit if dim < 0 else dim


class Strided(Methods, metaclass=TensorMeta):
    """What a tensor is without its data. It has no memory and no slots of its own; `Tensor` adds them."""

    __slots__ = ()

    _sizes: tuple[int, ...]
    _strides: tuple[int, ...]
    _offset: int
    _dtype: DType
    _device: Device

    if TYPE_CHECKING:  # `registry.subclasses` binds it

        @classmethod
        def __torch_function__(
            cls, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: dict[str, Any] | None = None
        ) -> Any: ...

    @property
    def shape(self) -> Size:
        """Sizes of the dimensions."""
        return size_of(self._sizes)

    @overload
    def size(self, dim: None = None) -> Size: ...
    @overload
    def size(self, dim: int) -> int: ...
    def size(self, dim: int | None = None) -> Size | int:
        """All sizes, or the size of one dimension.

        Examples
        --------
        >>> opweave.zeros(2, 3).size(1)
        3
        """
        return size_of(self._sizes) if dim is None else self._sizes[wrap_dim(dim, len(self._sizes), "size")]

    @overload
    def stride(self, dim: None = None) -> tuple[int, ...]: ...
    @overload
    def stride(self, dim: int) -> int: ...
    def stride(self, dim: int | None = None) -> tuple[int, ...] | int:
        """All strides in elements, or the stride of one dimension.

        Examples
        --------
        >>> opweave.zeros(2, 3).stride()
        (3, 1)
        """
        return self._strides if dim is None else self._strides[wrap_dim(dim, len(self._strides), "stride")]

    def storage_offset(self) -> int:
        """Elements between the start of the storage and this tensor's first element.

        Examples
        --------
        >>> opweave.zeros(4)[1:].storage_offset()
        1
        """
        return self._offset

    @property
    def dtype(self) -> DType:
        """Element type."""
        return self._dtype

    @property
    def device(self) -> Device:
        """Where the data is."""
        return self._device

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self._sizes)

    def dim(self) -> int:
        """Number of dimensions.

        Examples
        --------
        >>> opweave.zeros(2, 3).dim()
        2
        """
        return len(self._sizes)

    def numel(self) -> int:
        """Number of elements.

        Examples
        --------
        >>> opweave.zeros(2, 3).numel()
        6
        """
        result = 1
        for size in self._sizes:
            result *= size
        return result

    def element_size(self) -> int:
        """Bytes an element.

        Examples
        --------
        >>> opweave.zeros(2).element_size()
        4
        """
        return self._dtype.itemsize

    @property
    def itemsize(self) -> int:
        """Bytes an element."""
        return self._dtype.itemsize

    @property
    def nbytes(self) -> int:
        """Bytes of the elements, without gaps between them."""
        return self.numel() * self._dtype.itemsize

    def is_contiguous(self, memory_format: MemoryFormat = contiguous_format) -> bool:
        """Whether the elements lie in row-major order, or that of another format, without gaps.

        Examples
        --------
        >>> opweave.zeros(2, 3).t().is_contiguous()
        False
        """
        return is_in_format(self._sizes, self._strides, as_memory_format(memory_format, "is_contiguous"))

    @property
    def is_cuda(self) -> bool:
        """Whether the data is on a GPU."""
        return self._device.memory is cuda.memory

    @property
    def is_cpu(self) -> bool:
        """Whether the data is in main memory."""
        return self._device.is_host

    @property
    def is_meta(self) -> bool:
        """Whether the tensor has no data by design."""
        return self._device.type == "meta"

    def is_floating_point(self) -> bool:
        """Whether elements are real floating numbers.

        Examples
        --------
        >>> opweave.tensor([1.0]).is_floating_point()
        True
        """
        return self._dtype.is_floating_point

    def is_complex(self) -> bool:
        """Whether elements are complex numbers.

        Examples
        --------
        >>> opweave.tensor([1j]).is_complex()
        True
        """
        return self._dtype.is_complex

    @property
    def layout(self) -> Layout:
        """How the elements are held: by strides."""
        return strided

    @property
    def is_sparse(self) -> bool:
        """Whether only some elements are held: never, here."""
        return False

    @property
    def is_mps(self) -> bool:
        """Whether it is on a device, or held in a layout, that PyTorch knows and that is not here: never."""
        return False

    is_xpu = is_xla = is_ipu = is_maia = is_mtia = is_vulkan = is_hpu = is_mkldnn = is_sparse_csr = is_mps

    @property
    def is_quantized(self) -> bool:
        """Whether elements are numbers of a coarse scale: never, here."""
        return False

    @property
    def is_nested(self) -> bool:
        """Whether it is a list of tensors: never, here."""
        return False

    def is_distributed(self) -> bool:
        """Whether it is spread over several processes: never, here.

        Examples
        --------
        >>> opweave.zeros(2).is_distributed()
        False
        """
        return False

    def ndimension(self) -> int:
        """Number of dimensions; another name of `dim`.

        Examples
        --------
        >>> opweave.zeros(2, 3).ndimension()
        2
        """
        return len(self._sizes)

    def nelement(self) -> int:
        """Number of elements; another name of `numel`.

        Examples
        --------
        >>> opweave.zeros(2, 3).nelement()
        6
        """
        return self.numel()

    def get_device(self) -> int:
        """The number of the GPU that the data is on, -1 for main memory.

        Examples
        --------
        >>> opweave.zeros(2).get_device()
        -1
        """
        return -1 if self._device.is_host else self._device.index or 0

    def is_pinned(self, device: Any = None) -> bool:
        """Whether the memory is page-locked for a GPU: never, here.

        Examples
        --------
        >>> opweave.zeros(2).is_pinned()
        False
        """
        return False

    def pin_memory(self, device: Any = None) -> NoReturn:
        """Page-locked memory is not available.

        Raises
        ------
        DeviceError
            Always, as PyTorch's does without a GPU.

        Examples
        --------
        >>> opweave.ones(2).is_pinned()
        False
        """
        raise DeviceError("pin_memory: page-locked memory is not available", hint="leave it out: copies work without")

    @property
    def spec(self) -> TensorSpec:
        """Sizes, strides, dtype and device without the data."""
        return _new_spec(TensorSpec, (self._sizes, self._strides, self._dtype, self._device))

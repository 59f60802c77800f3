"""`finfo` and `iinfo`: the limits of element types, as `torch.finfo` and `torch.iinfo` give them."""

from __future__ import annotations

import math

import numpy as np

from opweave.registry.dtypes import DType, as_dtype, get_default_dtype
from opweave.registry.errors import DTypeError
from opweave.registry.loading import load_heavy


class finfo:
    """Limits of a floating type; of a complex one, those of its parts.

    Parameters
    ----------
    type : DType, optional
        By default the default type.

    Attributes
    ----------
    bits : int
        Of an element.
    eps : float
        From 1 to the next number.
    max, min : float
        The largest and the smallest number.
    tiny, smallest_normal : float
        The smallest positive number of full precision.
    resolution : float
        A power of ten that is about the precision.
    dtype : str
        The type's name.

    Raises
    ------
    DTypeError
        For other types.

    Examples
    --------
    >>> opweave.finfo(opweave.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: DType | None = None) -> None:
        dtype = get_default_dtype() if type is None else as_dtype(type)
        if dtype.kind not in "fc":
            raise DTypeError("finfo: expected a floating or complex type", got=repr(dtype), hint="iinfo")
        part = dtype.to_real() if dtype.kind == "c" else dtype
        found = np.finfo(part.numpy) if part.bits is None else load_heavy("ml_dtypes").finfo(part.numpy)
        self.bits = 8 * part.itemsize
        self.eps, self.max, self.min = float(found.eps), float(found.max), float(found.min)
        self.tiny = self.smallest_normal = float(found.tiny)
        self.resolution = 10.0 ** -int(math.log10(1 / self.eps)) if part.is_stored else 10.0 ** -int(found.precision)
        self.dtype = part.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, finfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, eps={self.eps:g}, "
            f"smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer type.

    Parameters
    ----------
    type : DType
        An integer type.

    Attributes
    ----------
    bits, max, min : int
        Of an element; the largest and the smallest number.
    dtype : str
        The type's name.

    Raises
    ------
    DTypeError
        For other types.

    Examples
    --------
    >>> opweave.iinfo(opweave.int8).max
    127
    """

    def __init__(self, type: DType) -> None:
        dtype = as_dtype(type)
        if dtype.kind not in "iu":
            raise DTypeError("iinfo: expected an integer type", got=repr(dtype), hint="finfo")
        found = np.iinfo(dtype.numpy)
        self.bits, self.max, self.min, self.dtype = int(found.bits), int(found.max), int(found.min), dtype.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, iinfo) and self.dtype == other.dtype

    def __hash__(self) -> int:
        return hash(self.dtype)

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"

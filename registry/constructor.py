"""`Tensor(...)` and `x.new(...)`: PyTorch's older way to make a tensor, where sizes and data look alike.

`Tensor(2, 3)` has two dimensions of no particular elements; `Tensor([2, 3])` has the elements 2 and 3.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry.device import parse_device
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import ArgumentError, DeviceError, DTypeError
from opweave.registry.op import ops
from opweave.registry.ops import creation
from opweave.registry.ops.data import as_array
from opweave.registry.strided import Size
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe


def constructed(name: str, dtype: DType | None, args: Sequence[Any], device: Any = None) -> Tensor:
    """What the arguments of a constructor ask for, on the CPU.

    Parameters
    ----------
    name : str
        Of the constructor, for errors.
    dtype : DType or None
        What it makes; None for the default dtype, and for any dtype where it is given a tensor.
    args : sequence
        Nothing, sizes, a `Size`, a tensor, or a sequence or array of elements.
    device : Device or str, optional
        The CPU.

    Raises
    ------
    ArgumentError
        If they are something else.
    DTypeError
        If the tensor has another dtype.
    DeviceError
        If the device is another one.
    ShapeError
        If a size is negative.
    """
    if device is not None and not parse_device(device).is_host:
        raise DeviceError(
            f"{name}: makes tensors on the CPU", got=repr(device), hint="opweave.empty(sizes, device=...)"
        )
    made, given = dtype or get_default_dtype(), _asked(name, args)
    if isinstance(given, Tensor):
        if dtype is not None and given.dtype is not dtype:
            raise DTypeError(f"{name}: expected a tensor of {dtype}", got=describe(given), hint=f"x.to({dtype})")
        return given.detach()
    if isinstance(given, Size):
        return Tensor._from_array(np.empty(creation.sizes_of(name, given), made.numpy))
    return Tensor._from_array(as_array(given, made))


def _asked(name: str, args: Sequence[Any]) -> Any:
    """The sizes, the tensor, or the elements."""
    if not args or all(map(_is_size, args)):
        return Size([a if isinstance(a, Symbolic) else operator.index(a) for a in args] or [0])
    if len(args) == 1 and isinstance(args[0], (Size, Tensor, list, tuple, range, np.ndarray)):
        return args[0]
    raise ArgumentError(
        f"{name}: expected sizes, or a sequence of elements",
        got=", ".join(f"{a!r} ({type(a).__name__})" for a in args)[:200],
        hint="opweave.tensor(2.5) makes a tensor of a number",
    )


def _is_size(value: Any) -> bool:
    return isinstance(value, (int, np.integer, Symbolic)) and not isinstance(value, (bool, np.bool_))


def new(self: Tensor, *args: Any, device: Any = None) -> Tensor:
    """A tensor of this one's dtype, on its device: of sizes, without particular elements, or of a sequence of elements.

    PyTorch's older form of `new_empty` and `new_tensor`.

    Parameters
    ----------
    *args
        Sizes, or a sequence or array of elements; nothing for an empty tensor.
    device : Device or str, optional
        The tensor's own, if given.

    Raises
    ------
    ArgumentError
        If the arguments are something else.
    DeviceError
        If the device is another one.

    Examples
    --------
    >>> x = opweave.zeros(2, dtype=opweave.int64)
    >>> x.new(2, 3).shape, x.new([2, 3])
    (opweave.Size([2, 3]), tensor([2, 3]))
    """
    if device is not None and parse_device(device) != self.device:
        raise DeviceError("new: the device is that of the tensor", got=f"{device!r} for {self.device}")
    given = _asked("new", args)
    if isinstance(given, Size):
        return ops.aten.new_empty.default(self, list(given))
    if isinstance(given, Tensor):
        return constructed("new", self.dtype, args)
    return creation.tensor(given, dtype=self.dtype, device=self.device)


def initialized(self: Any, *args: Any, device: Any = None, **more: Any) -> None:
    """`Tensor(...)`: sizes, or elements of the default dtype; prefer `opweave.empty` and `opweave.tensor`.

    Parameters
    ----------
    *args
        Nothing, sizes, a `Size`, a tensor, or a sequence or array of elements.
    device : Device or str, optional
        The CPU.
    **more
        `data`, a sequence of elements by name; a subclass's own, where its `__new__` makes the tensor.

    Examples
    --------
    >>> opweave.Tensor(2, 3).shape, opweave.Tensor([2, 3])
    (opweave.Size([2, 3]), tensor([2., 3.]))
    """
    if hasattr(self, "_storage"):  # made by the __new__ of a subclass, which Python hands its arguments on from
        return
    if "data" in more and not args:
        args = (more["data"],)
    self._fill(constructed("Tensor", None, args, device))


def bind() -> None:
    """Give `Tensor` its constructor."""
    setattr(Tensor, "__init__", initialized)  # noqa: B010  # a type checker knows the class's own

"""Tensors of opweave and of PyTorch on one memory, in one process."""

from __future__ import annotations

import importlib
from typing import Any

from opweave.registry.device import cpu, parse_device
from opweave.registry.dtypes import DTYPES, DType
from opweave.registry.errors import ArgumentError, AutogradError, DTypeError, UnsupportedError
from opweave.registry.exchange import from_dlpack
from opweave.registry.interrupts import let_through
from opweave.registry.keys import BATCHED_BIT, GRAD, PYTHON_BIT, state
from opweave.registry.memory_format import MemoryFormat, strided
from opweave.registry.tensor import Tensor, describe, when_read


def pytorch() -> Any:
    """PyTorch itself, imported now.

    Raises
    ------
    UnsupportedError
        If it is not installed, or `opweave.compat.install` stands in its place.
    """
    try:
        torch = importlib.import_module("torch")
    except ModuleNotFoundError as error:
        let_through(error)
        raise UnsupportedError("PyTorch is not installed", hint="pip install torch") from None
    if not hasattr(torch, "_C"):
        raise UnsupportedError(
            "`import torch` gives opweave here: opweave.compat.install() was called", hint="opweave.compat.uninstall()"
        )
    return torch


def from_torch(t: Any) -> Tensor:
    """A tensor that shares the memory of one of PyTorch's.

    Parameters
    ----------
    t : torch.Tensor
        A dense one; any strides. It does not require grad: pass `t.detach()`.

    Returns
    -------
    Tensor
        Of the same sizes, strides, dtype and device. What one library writes the other sees; neither one's autograd
        counts the other's writes.

    Raises
    ------
    ArgumentError
        If it is no tensor of PyTorch's.
    AutogradError
        If it requires grad: its history would be lost.
    UnsupportedError
        If it has no plain memory: sparse, quantized, fake, batched, conjugated lazily.
    DTypeError
        If opweave has no such element type.

    Examples
    --------
    >>> x = opweave.compat.from_torch(torch.ones(3))  # doctest: +SKIP
    """
    torch = pytorch()
    if not isinstance(t, torch.Tensor):
        raise ArgumentError("from_torch: expected a torch.Tensor", got=f"{type(t).__name__}")
    if t.requires_grad:
        raise AutogradError(
            "from_torch: the tensor requires grad, and opweave would lose track of it", got=str(t.shape),
            hint="from_torch(t.detach())",
        )  # fmt: skip
    odd = t.layout is not torch.strided or t.is_quantized or t.is_conj() or t.is_neg() or t.device.type == "meta"
    if odd or isinstance(t, torch._subclasses.FakeTensor) or torch._C._functorch.is_functorch_wrapped_tensor(t):
        raise UnsupportedError(
            "from_torch: the tensor has no plain memory", got=f"{type(t).__name__}, {t.layout}, {t.device}",
            hint="t.to_dense(), t.resolve_conj() and the like make one that has",
        )  # fmt: skip
    dtype = opweave_dtype(t.dtype)
    # Types that DLPack has no number for travel as bytes of their size.
    plain: Any = t
    if dtype.name == "bool" or t.dtype.itemsize == 1:
        plain = t.view(torch.uint8)
    elif dtype.name == "bfloat16":
        plain = t.view(torch.int16)
    found = from_dlpack(plain)
    if found._sizes != tuple(t.shape):
        raise UnsupportedError("from_torch: PyTorch lends the tensor in another shape", got=str(t.shape))
    found._dtype, found._cached = dtype, None
    # DLPack may normalise the strides of dimensions of size 1.
    found._strides = tuple(t.stride())
    return found


def opweave_setting(value: Any) -> Any:
    """A dtype, device, memory format or layout of PyTorch's as opweave's; any other value as it is."""
    torch = pytorch()
    if isinstance(value, torch.dtype):
        return opweave_dtype(value)
    if isinstance(value, torch.device):
        return parse_device(str(value))
    if isinstance(value, torch.memory_format):
        return MemoryFormat[str(value).removeprefix("torch.")]
    return strided if value is torch.strided else value


def to_torch(t: Tensor) -> Any:
    """A tensor of PyTorch's that shares the memory of one of opweave's.

    Parameters
    ----------
    t : Tensor
        It does not require grad: pass `t.detach()`.

    Returns
    -------
    torch.Tensor
        Of the same sizes, strides, dtype and device.

    Raises
    ------
    ArgumentError
        If it is no Tensor.
    AutogradError
        If it requires grad: its history would be lost.
    UnsupportedError
        If it has no data, as a fake or a batched tensor, or its memory may not be written.
    DTypeError
        If PyTorch has no such element type.

    Examples
    --------
    >>> opweave.compat.to_torch(opweave.ones(2))  # doctest: +SKIP
    """
    torch = pytorch()
    given: object = t
    if not isinstance(given, Tensor):
        raise ArgumentError("to_torch: expected a Tensor", got=f"{type(given).__name__}")
    if t._keys & (PYTHON_BIT | BATCHED_BIT):
        raise UnsupportedError("to_torch: the tensor has no plain memory", got=f"{type(t).__name__} {describe(t)}")
    if t._keys & GRAD:
        raise AutogradError(
            "to_torch: the tensor requires grad, and PyTorch would lose track of it", got=describe(t),
            hint="to_torch(t.detach())",
        )  # fmt: skip
    if state.modes:
        t._look("to_torch")
    if when_read.call is not None:
        t._hand_out("numpy")
    dtype = torch_dtype(t._dtype)
    if t._device is not cpu:
        if not t._device.is_host:
            return torch.from_dlpack(t)
        raise UnsupportedError("to_torch: the tensor has no data", got=describe(t))
    if 0 in t._sizes:
        return torch.empty_strided(t._sizes, t._strides, dtype=dtype)
    memory = t._storage.bytes()
    if not memory.flags.writeable:
        raise UnsupportedError("to_torch: the memory is read-only", got=describe(t), hint="to_torch(t.clone())")
    item = t._dtype.itemsize
    whole = torch.from_numpy(memory[: len(memory) - len(memory) % item])
    return whole.view(dtype).as_strided(t._sizes, t._strides, t._offset)


def opweave_dtype(dtype: Any) -> DType:
    """The element type with the name of one of PyTorch's.

    Raises
    ------
    DTypeError
        If there is none.
    """
    found = DTYPES.get(str(dtype).removeprefix("torch."))
    if found is None:
        raise DTypeError("opweave has no such element type", got=str(dtype))
    return found


def torch_dtype(dtype: DType) -> Any:
    """PyTorch's element type of the same name.

    Raises
    ------
    DTypeError
        If it has none.
    """
    found = getattr(pytorch(), dtype.name, None)
    if found is None:
        raise DTypeError("PyTorch has no such element type", got=dtype.name)
    return found

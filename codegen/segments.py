"""What the text of a generated module says of steps that run natively (`codegen.native.segments`)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any

from opweave.codegen import blas, convolution
from opweave.registry import memory
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.loading import load_heavy
from opweave.registry.tensor import Tensor


def native(function: Any) -> Callable[..., None]:
    """The function as one native call, where it can be one.

    Parameters
    ----------
    function : function
        Launches kernels over addresses and sizes; its parameters are annotated.
    """
    return load_heavy("opweave.codegen.native.segments").segment(function)


def product(
    dtype: DType,
    out: blas.Operand,
    a: blas.Operand,
    b: blas.Operand,
    elements: int = 0,
    each: int = 0,
    kernel: Callable[..., None] | None = None,
    grid: Sequence[int] = (),
    arguments: Sequence[int] = (),
) -> None:
    """A matrix product at addresses, and a kernel that follows it.

    Parameters
    ----------
    dtype : DType
        Of all three.
    out, a, b : (int, sizes, strides)
        The result and the operands; see `blas.multiply`.
    elements, each, kernel, grid, arguments
        See `blas.multiply_then`.
    """
    blas.run(dtype, out, a, b, elements, each, kernel, grid, arguments)


def convolution_at(
    form: str,
    dtype: DType,
    out: convolution.Operand,
    a: convolution.Operand,
    b: convolution.Operand,
    bias: convolution.Operand | None,
    groups: int,
    *steps: Sequence[int],
) -> None:
    """A convolution or an adjoint at addresses; see `convolution.words_of`."""
    convolution.run(form, dtype, out, a, b, bias, groups, *steps)


def move_bytes(to: int, of: int, nbytes: int) -> None:
    """Copy memory that may overlap."""
    ctypes.memmove(to, of, nbytes)


def allocator(sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Callable[[], Tensor]:
    """A function that makes uninitialised tensors of one layout."""
    return load_heavy("opweave.codegen.native.allocation").allocator(sizes, strides, dtype, device)


class _Scratch(int):
    """The address of a block of memory, which lives as long."""

    block: memory.Lease


def scratch(nbytes: int) -> int:
    """The address of memory that a function needs until it returns."""
    block = memory.allocate(nbytes)
    found = _Scratch(block.ptr)
    found.block = block
    return found

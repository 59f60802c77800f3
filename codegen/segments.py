"""What the text of a generated module says of steps that run natively (`codegen.native.segments`)."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opweave.codegen import blas, convolution
from opweave.codegen.conform import conform, conform_all
from opweave.registry import memory
from opweave.registry.device import Device, cpu
from opweave.registry.dtypes import DType
from opweave.registry.exchange import adopt
from opweave.registry.loading import load_heavy
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor, allocate, as_alias


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
    packed: tuple[int, bool] = (0, False),
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
    packed : (int, bool)
        Where native code keeps the right operand packed (0: nowhere), and whether it is there by now.
    """
    blas.run(dtype, out, a, b, elements, each, kernel, grid, arguments, packed)


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


class Memory(NamedTuple):
    """A tensor of a call of an op: an address, how it lies there, and the tensor whose memory that is, or None."""

    address: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: DType
    owner: Tensor | None = None

    def here(self) -> Tensor:
        """The memory itself, which may be gone when the segment is over."""
        dims = len(self.sizes)
        return adopt(None, (dims, self.dtype.dlpack, self.address, cpu.memory.dlpack, 0, 0), self.sizes, self.strides)

    def tensor(self) -> Tensor:
        """A tensor that an op may keep: on the owner's memory, else a copy."""
        owner = self.owner
        if owner is None:
            copy = allocate(self.sizes, self.strides, self.dtype, cpu)
            copy._array[...] = self.here()._array
            return copy
        shift = (self.address - owner.data_ptr()) // self.dtype.itemsize
        if not shift and (owner._sizes, owner._strides) == (self.sizes, self.strides):
            return owner
        return as_alias(owner, self.sizes, self.strides, owner._offset + shift)


def tensor_at(
    address: int, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, owner: Tensor | None = None
) -> Memory:
    """A tensor of a call of an op; the parameters are the parts of a `Memory`."""
    return Memory(address, sizes, strides, dtype, owner)


def call_op(op: OpOverload, args: Sequence[Any], results: Sequence[Memory]) -> None:
    """Call an op with memory, and put what it returns into memory.

    Parameters
    ----------
    op : OpOverload
        It returns as many tensors, or arguments that it writes.
    args : sequence
        All of its arguments in the order of the schema; tensors as `Memory`.
    results : sequence of Memory
        Where the results go.
    """
    given = [value.tensor() if isinstance(value, Memory) else value for value in args]
    arguments = op._schema.arguments
    positional = [value for a, value in zip(arguments, given, strict=True) if not a.kwarg_only]
    named = {a.name: value for a, value in zip(arguments, given, strict=True) if a.kwarg_only}
    put(op, op(*positional, **named), results)
    for argument, value, tensor in zip(arguments, args, given, strict=True):
        if argument.is_write and isinstance(value, Memory) and value.owner is None:
            value.here()._array[...] = tensor._array


def put(op: OpOverload, found: Any, results: Sequence[Memory]) -> None:
    """Put what an op returned where it is wanted.

    Raises
    ------
    CompileError
        If it is something else than the op's fake rule said.
    """
    if not results:
        return
    label = str(op).removesuffix(".default")
    values = [found] if len(op._schema.returns) == 1 else conform_all(found, len(results), label)
    for value, wanted in zip(values, results, strict=True):
        made = conform(value, wanted.sizes, wanted.strides, wanted.dtype, cpu, label)
        wanted.here()._array[...] = made._array


def allocator(sizes: tuple[int, ...], strides: tuple[int, ...], dtype: DType, device: Device) -> Callable[[], Tensor]:
    """A function that makes uninitialised tensors of one layout."""
    return load_heavy("opweave.codegen.native.allocation").allocator(sizes, strides, dtype, device)


def bumper() -> Callable[..., None]:
    """A function that notes that tensors were written."""
    return load_heavy("opweave.codegen.native.mutation").bumper()


class _Scratch(int):
    """The address of a block of memory, which lives as long."""

    block: memory.Lease


def scratch(nbytes: int) -> int:
    """The address of memory that a function needs until it returns."""
    block = memory.allocate(nbytes)
    found = _Scratch(block.ptr)
    found.block = block
    return found


def table(*words: int) -> int:
    """The address of whole numbers in a row, which a function needs until it returns."""
    found = scratch(8 * len(words))
    (ctypes.c_uint64 * len(words)).from_address(found)[:] = words
    return found

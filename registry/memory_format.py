"""How the elements of a tensor lie in memory: row-major, or with the channels of each point side by side."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.interrupts import let_through
from opweave.registry.spec import contiguous_strides, is_contiguous


class MemoryFormat(enum.IntEnum):
    """A layout of a tensor's elements, with PyTorch's numbers.

    `channels_last` is for images (N, C, H, W), which lie as (N, H, W, C), and `channels_last_3d` for volumes
    (N, C, D, H, W). `preserve_format` is the layout of the tensor that an op is given.

    Examples
    --------
    >>> x = opweave.ones(1, 2, 3, 3).to(memory_format=opweave.channels_last)
    >>> x.is_contiguous(memory_format=opweave.channels_last)
    True
    """

    contiguous_format = 0
    preserve_format = 1
    channels_last = 2
    channels_last_3d = 3

    def __repr__(self) -> str:
        return f"opweave.{self.name}"

    __str__ = __repr__


contiguous_format, preserve_format, channels_last, channels_last_3d = MemoryFormat


class Layout(enum.IntEnum):
    """How a tensor holds its elements: by strides. There are no sparse tensors.

    Examples
    --------
    >>> opweave.ones(2).layout
    opweave.strided
    """

    strided = 0

    def __repr__(self) -> str:
        return f"opweave.{self.name}"

    __str__ = __repr__


strided = Layout.strided

#: By number of dimensions, those from the outermost in memory to the innermost, channels last.
_ORDERS = {4: (0, 2, 3, 1), 5: (0, 2, 3, 4, 1)}
_BY_RANK = {4: channels_last, 5: channels_last_3d}
CHANNELS_LAST = frozenset(_BY_RANK.values())


def as_memory_format(value: Any, op: str) -> MemoryFormat:
    """A memory format, or the one with a number.

    Raises
    ------
    ArgumentError
        If there is none.
    """
    try:
        return MemoryFormat(value)
    except ValueError as error:
        let_through(error)
        raise ArgumentError(
            f"{op}: unknown memory format", got=repr(value), hint=", ".join(map(repr, MemoryFormat))
        ) from None


def dims_in_memory(op: str, sizes: Sequence[Any], memory_format: MemoryFormat) -> tuple[int, ...]:
    """The dimensions from the outermost in memory to the innermost, of a tensor with its channels last.

    Raises
    ------
    ShapeError
        If the format is for another number of dimensions.
    """
    if _BY_RANK.get(len(sizes)) is not memory_format:
        rank = 4 if memory_format == channels_last else 5
        raise ShapeError(f"{op}: {memory_format.name} needs {rank} dimensions", got=f"sizes {list(sizes)}")
    return _ORDERS[len(sizes)]


def format_strides(op: str, sizes: Sequence[Any], memory_format: MemoryFormat) -> tuple[Any, ...]:
    """The strides of a dense tensor in a format.

    Raises
    ------
    ShapeError
        If the format is for another number of dimensions, or is none (`preserve_format`).
    """
    if memory_format == contiguous_format:
        return contiguous_strides(sizes)
    if memory_format == preserve_format:
        raise ShapeError(f"{op}: there is no layout to preserve", got=f"memory_format={memory_format}")
    order = dims_in_memory(op, sizes, memory_format)
    packed = contiguous_strides([sizes[d] for d in order])
    return tuple([packed[order.index(d)] for d in range(len(sizes))])


def is_in_format(sizes: Sequence[Any], strides: Sequence[Any], memory_format: MemoryFormat) -> bool:
    """Whether elements lie in a format without gaps; False for a format of another number of dimensions."""
    if memory_format not in CHANNELS_LAST:
        return is_contiguous(sizes, strides)
    if _BY_RANK.get(len(sizes)) is not memory_format:
        return False
    expected = 1
    for d in reversed(_ORDERS[len(sizes)]):
        if sizes[d] != 1:
            if strides[d] != expected:
                return False
            expected = expected * sizes[d]
    return True


def suggested_format(sizes: Sequence[Any], strides: Sequence[Any]) -> MemoryFormat:
    """The format that results of a tensor with these strides take, by the order of the strides, gaps or none."""
    found = _BY_RANK.get(len(sizes))
    if found is None:
        return contiguous_format
    least = 0
    for d in reversed(_ORDERS[len(sizes)]):
        if sizes[d] == 0 or strides[d] < least or (d == 1 and strides[d] == 0):
            return contiguous_format
        if d == 0 and least == strides[1]:
            return contiguous_format  # one element an image: either order
        least = strides[d] * sizes[d] if sizes[d] > 1 else strides[d]
    return found

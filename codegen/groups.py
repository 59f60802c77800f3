"""The tables of groups: many small kernels of one form in one launch, as the update of every parameter in an optimizer.

A group's members compute the same on other buffers. Their kernel runs over the blocks of all members: it looks up whose
block it has, and that member's addresses, in tables.

    owners[program]              member whose block it is
    starts[program]              first element of the block
    sizes[member]                elements of the member
    addresses[buffer, member]    made at each call

The first three follow from the sizes and are made once; in a segment the fourth is words of its frame
(`codegen.segments.table`). Buffers that all members read (a learning rate) are passed as
they are. Which kernels these are is decided in `codegen.host.group`.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from opweave.registry.device import Device
from opweave.registry.dtypes import DType, int32, int64
from opweave.registry.tensor import Tensor, allocate


class Place(int):
    """The address of a table, which lives as long."""

    table: Tensor


def tables(sizes: Sequence[int], block: int, device: Device) -> tuple[Place, Place, Place]:
    """Where the owners, starts and sizes of a group are.

    Parameters
    ----------
    sizes : sequence of int
        Elements of each member.
    block : int
        Elements a program computes.
    device : Device
        Where the kernel runs.

    Returns
    -------
    tuple of Place
        Of int32, one entry a program, one a program, one a member.
    """
    blocks = [range(0, size, block) for size in sizes]
    owners = [member for member, starts in enumerate(blocks) for _ in starts]
    starts = [start for starts in blocks for start in starts]
    return _on(device, owners, int32), _on(device, starts, int32), _on(device, sizes, int32)


def addresses(device: Device, *pointers: int) -> Place:
    """A table of addresses, int64."""
    return _on(device, pointers, int64)


def _on(device: Device, values: Iterable[int], dtype: DType) -> Place:
    found: Any = list(values)
    table = allocate((len(found),), (1,), dtype, device)
    table._array[...] = device.xp.asarray(found, dtype=dtype.numpy)
    place = Place(table.data_ptr())
    place.table = table
    return place

"""Groups: many small kernels of one form become one launch, as the update of every parameter in an optimizer.

A group's members compute the same on other buffers. Their kernel runs over the blocks of all members: it looks up whose
block it has, and that member's addresses, in tables.

    owners[program]              member whose block it is
    starts[program]              first element of the block
    sizes[member]                elements of the member
    addresses[buffer, member]    made at each call

The first three follow from the sizes and are made once. Buffers that all members read (a learning rate) are passed as
they are.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from opweave.codegen.loops.nest import LoopNest
from opweave.codegen.loops.schedule import Lane, Schedule
from opweave.codegen.loops.values import Buffer
from opweave.registry.device import Device
from opweave.registry.dtypes import DType, int32, int64
from opweave.registry.tensor import Tensor, allocate
from opweave.tracer.graph import Node
from opweave.tracer.size import INT32_OFFSETS

#: From this many members on a table of addresses costs less than launches.
LEAST = 4


@dataclass(eq=False)
class Member:
    """A kernel that may run as part of a group.

    Attributes
    ----------
    node : Node
        The region's call.
    nest, schedule : LoopNest, Schedule
        What it computes, along one axis.
    text : str
        The same for members of one form.
    """

    node: Node
    nest: LoopNest
    schedule: Schedule
    text: str
    variables: dict[Buffer, str] = field(default_factory=dict)

    @property
    def size(self) -> int:
        """Elements."""
        size = self.schedule.lanes[0].axis.size
        assert isinstance(size, int)
        return size

    @property
    def buffers(self) -> list[Buffer]:
        """Inputs, then outputs."""
        return [*self.nest.inputs, *self.nest.outputs]


def is_flat(nest: LoopNest, schedule: Schedule) -> bool:
    """Whether a kernel runs along one axis of fixed size, a block a program."""
    if nest.reduced or nest.checks() or len(schedule.lanes) != 1 or schedule.scalars or schedule.loops:
        return False
    size = schedule.lanes[0].axis.size
    return isinstance(size, int) and size < INT32_OFFSETS


def in_blocks(member: Member, block: int) -> Schedule:
    """A member's schedule with a block size for the whole group."""
    (lane,) = member.schedule.lanes
    return Schedule((Lane(lane.axis, block, "grid", "i", "BLOCK"),), (), (), None, False)


def shared(members: Sequence[Member]) -> list[int]:
    """Positions of the buffers that all members read from one place, and none writes."""
    written = {member.variables[b] for member in members for b in member.nest.outputs}
    found = []
    for position in range(len(members[0].nest.inputs)):
        names = {member.variables[member.buffers[position]] for member in members}
        if len(names) == 1 and not names & written:
            found.append(position)
    return found


# ---- what generated wrappers call ----------------------------------------------------------------------------------


def tables(sizes: Sequence[int], block: int, device: Device) -> tuple[Tensor, Tensor, Tensor]:
    """Owners, starts and sizes of a group.

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
    tuple of Tensor
        int32, one entry a program, one a program, one a member.
    """
    blocks = [range(0, size, block) for size in sizes]
    owners = [member for member, starts in enumerate(blocks) for _ in starts]
    starts = [start for starts in blocks for start in starts]
    return _on(device, owners, int32), _on(device, starts, int32), _on(device, sizes, int32)


def addresses(device: Device, *pointers: int) -> Tensor:
    """A table of addresses, int64."""
    return _on(device, pointers, int64)


def _on(device: Device, values: Iterable[int], dtype: DType) -> Tensor:
    found: Any = list(values)
    table = allocate((len(found),), (1,), dtype, device)
    table._array[...] = device.xp.asarray(found, dtype=dtype.numpy)
    return table

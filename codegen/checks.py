"""Checks that kernels make while they run: a place outside a tensor, or an integer divided by zero, is an error, as it
is in eager code.

A kernel cannot raise. Where a check fails it writes the check's number to a cell, goes on with a harmless place, and
whoever launched it looks at the cell. Each thread has a cell of its own on each device.
"""

from __future__ import annotations

import threading
from collections.abc import Sequence
from typing import Any

from opweave.registry.device import Device
from opweave.registry.dtypes import int32
from opweave.registry.errors import DivisionByZeroError, OutOfRangeError, Site
from opweave.registry.scalar import DIVISION_BY_ZERO, DIVISION_HINT
from opweave.registry.tensor import Tensor, allocate


class _Cells(threading.local):
    def __init__(self) -> None:
        self.known: dict[Device, Tensor] = {}


_cells = _Cells()


def cell_of(device: Device) -> Tensor:
    """The calling thread's cell on a device; it holds 0."""
    found = _cells.known.get(device)
    # One that holds another was left so by a call that a signal ended, or a handler interrupts the call that uses it.
    if found is None or (device.type == "cpu" and found._cached[0]):
        found = _cells.known[device] = allocate((1,), (1,), int32, device)
        found._array[...] = 0
    return found


def passed(cell: Tensor, checks: Sequence[tuple[str, Sequence[Any] | None]]) -> None:
    """Raise what a kernel found.

    Parameters
    ----------
    cell : Tensor
        What the kernel was given.
    checks : sequence of (str, sequence or None)
        For each of its checks what to say, and the user's file, line and function.

    Raises
    ------
    OutOfRangeError, DivisionByZeroError
        If a check failed; the cell holds 0 again.
    """
    number = cell._array[0]
    if number:
        cell._array[0] = 0
        what, site = checks[int(number) - 1]
        at = None if site is None else Site(*site)
        if what == DIVISION_BY_ZERO:
            raise DivisionByZeroError(what, at=at, hint=DIVISION_HINT)
        raise OutOfRangeError(what, at=at)

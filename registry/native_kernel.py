"""Kernels that a compiled graph calls without Python: functions of the runtime that take memory.

A kernel that has such a form says so by an attribute `native`. What a call of the op in Python sees to besides (keys,
modes, gradients) is done by then: a graph has been traced below all that.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.dispatching import EXPLICIT
from opweave.registry.keys import DispatchKey
from opweave.registry.op import OpOverload


@dataclass(frozen=True)
class Argument:
    """An argument of the op, by its position in the schema."""

    position: int


@dataclass(frozen=True)
class Result:
    """A result of the op, which the function writes."""

    position: int


@dataclass(frozen=True, eq=False)
class NativeKernel:
    """A function, and how it is called.

    Attributes
    ----------
    kernel : callable
        What it is the native form of.
    function : tvm_ffi.Function
        It takes tensors as memory, and returns the op's results unless it writes them.
    call : tuple of Argument, Result or constant
        What it is given.
    result : callable
        Makes the op's result of what the function returned.
    explain : callable or None
        Makes of a TypeError of the function the one that is raised.
    for_cpp : bool
        Whether dtypes and devices cross as libraries of `opweave/library.h` have them.
    """

    kernel: Any
    function: Any
    call: tuple[Any, ...]
    result: Callable[[Any], Any]
    explain: Callable[[TypeError], TypeError] | None = None
    for_cpp: bool = False

    @property
    def writes_results(self) -> bool:
        """Whether it is given memory for the results."""
        return any(isinstance(part, Result) for part in self.call)


def native_kernel(op: OpOverload) -> NativeKernel | None:
    """The native form of what an op runs on plain tensors of the CPU; None where it has none."""
    for key in (DispatchKey.CPU, *EXPLICIT):
        kernel = op.kernels.get(key)
        if kernel is not None and key not in op.disabled:
            found = getattr(kernel, "native", None)
            # What wraps a kernel may have taken over its attributes.
            return found if isinstance(found, NativeKernel) and found.kernel is kernel else None
    return None

"""Arguments of a launch that share memory.

A kernel reads all that a program loads before it writes what the program stores later, in whatever order its own loops
would come upon the elements. Where arguments lead to memory of their own, that costs nothing; what a lowering takes for
granted about that is `Lowered.apart`. A launch for which it does not hold runs another compilation of the kernel, which
takes nothing for granted and goes through buffers.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opweave.codegen.native import llvm, objects
from opweave.codegen.native.arguments import HostArray, Parameter
from opweave.codegen.native.launch import Launcher
from opweave.registry.loading import load_heavy
from opweave.registry.tensor import Tensor

Pairs = tuple[tuple[int, int, bool], ...]


def overlap(values: Sequence[Any], pairs: Iterable[tuple[int, int, bool]]) -> bool:
    """Whether two arguments share memory in a way that the kernel cannot bear.

    Parameters
    ----------
    values : sequence
        The arguments at run time.
    pairs : iterable of (int, int, bool)
        As in `Lowered.apart`.
    """
    for i, j, level in pairs:
        (a, a_end), (b, b_end) = _extent(values[i]), _extent(values[j])
        if a < b_end and b < a_end and not (level and values[i].data_ptr() == values[j].data_ptr()):
            return True
    return False


def _extent(value: Any) -> tuple[int, int]:
    """Where the memory begins that an argument may be a part of, and where it ends; (0, 0) where that is unknown."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]  # a cast would cost as much as the question
    if kind is Tensor:
        storage = value._storage
        start = storage._ptr or storage.ptr
        return start, start + storage.nbytes
    if kind is HostArray:
        return value.extent()
    storage = getattr(value, "_storage", None)
    if storage is not None:  # of a subclass of Tensor
        return storage.ptr, storage.ptr + storage.nbytes
    if hasattr(value, "untyped_storage"):  # PyTorch's
        whole = value.untyped_storage()
        return whole.data_ptr(), whole.data_ptr() + whole.nbytes()
    start = value.data_ptr() if hasattr(value, "data_ptr") else 0
    return start, start + bool(start)


def careful_launcher(name: str, params: Sequence[Parameter], text: str) -> Callable[..., None]:
    """The launch function of a kernel compiled for arguments that share memory.

    Parameters
    ----------
    name : str
        The kernel's, for messages.
    params : sequence of Parameter
        What it takes.
    text : str
        Its TTIR.
    """
    # Launches of kernels from the disk cache do without the lowering.
    lowering = load_heavy("opweave.codegen.triton_cpu.lower")
    lowered = lowering.lower(text, features=lowering.TargetFeatures.of(llvm.host()), distinct=False)
    code = objects.load(llvm.compile_object(lowered.llvm_ir, name=lowered.name), (lowered.name,))
    return Launcher(name, params, code, code.address(lowered.name), lowered.assertions).launch

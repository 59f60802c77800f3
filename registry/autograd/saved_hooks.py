"""Hooks on what nodes save for backward, of a thread: packing, main memory, and refusing them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opweave.registry.device import cpu
from opweave.registry.errors import AutogradError
from opweave.registry.interrupts import surely
from opweave.registry.keys import state
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

#: Holds something once any thread has made hooks, so that nobody need look for this thread's before.
hooks_used: set[bool] = set()


def saved_tensor_hooks() -> tuple[Callable[..., Any], Callable[..., Any]] | None:
    """The innermost `saved_tensors_hooks` of this thread."""
    stack = state.__dict__.get("saved_hooks")
    return stack[-1] if stack else None


class saved_tensors_hooks:
    """Pack what is saved for backward inside the block, and unpack it when it is needed.

    Parameters
    ----------
    pack_hook, unpack_hook : callable
        `pack(tensor) -> anything`, and back.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0], requires_grad=True)
    >>> with opweave.autograd.graph.saved_tensors_hooks(lambda t: t.half(), lambda packed: packed.float()):
    ...     y = x.exp()
    >>> y.sum().backward()
    >>> x.grad
    tensor([ 7.3906, 20.0781])
    """

    def __init__(self, pack_hook: Callable[..., Any], unpack_hook: Callable[..., Any]):
        self.hooks = (pack_hook, unpack_hook)
        hooks_used.add(True)

    def __enter__(self) -> None:
        refused = state.__dict__.get("saved_hooks_refused")
        if refused:
            raise AutogradError(refused[-1], hint="disable_saved_tensors_hooks refuses them until its block ends")
        hooks = state.__dict__.setdefault("saved_hooks", [])
        hooks += [self.hooks]

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            del state.__dict__["saved_hooks"][-1]


class save_on_cpu(saved_tensors_hooks):
    """Keep what is saved for backward in main memory inside the block; those of the CPU stay where they are.

    Parameters
    ----------
    pin_memory : bool
        Has no effect: memory is not pinned.
    device_type : str
        The device that tensors come from.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0], requires_grad=True)
    >>> with opweave.autograd.graph.save_on_cpu():
    ...     y = x * x
    >>> y.sum().backward()
    >>> x.grad
    tensor([4., 6.])
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda"):
        aten = ops.aten

        def pack(t: Tensor) -> tuple[Any, Tensor]:
            return t._device, t if t._device is cpu else aten._to_copy.default(t, device=cpu)

        def unpack(packed: tuple[Any, Tensor]) -> Tensor:
            device, t = packed
            return t if device is cpu else aten._to_copy.default(t, device=device)

        super().__init__(pack, unpack)


def increment_version(tensor: Tensor | Iterable[Tensor]) -> None:
    """Note that something else wrote to tensors: a backward pass that needs what was there raises.

    Examples
    --------
    >>> x = opweave.ones(2)
    >>> before = x._version
    >>> opweave.autograd.graph.increment_version(x)
    >>> x._version - before
    1
    """
    for t in [tensor] if isinstance(tensor, Tensor) else tensor:
        t._bump()


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """Refuse `saved_tensors_hooks` with this message inside the block.

    Examples
    --------
    >>> with opweave.autograd.graph.disable_saved_tensors_hooks("not in this part"):
    ...     try:
    ...         with opweave.autograd.graph.save_on_cpu():
    ...             pass
    ...     except RuntimeError as error:
    ...         print(error.what)
    not in this part
    """
    refused = state.__dict__.setdefault("saved_hooks_refused", [])
    refused.append(error_message)
    try:
        yield
    finally:
        refused.pop()

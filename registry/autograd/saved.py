"""What a node keeps for its backward: tensors as they were, checked for later writes, packed by the user's hooks."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.autograd.graph import Node, alias_of, attach
from opweave.registry.autograd.saved_hooks import hooks_used, saved_tensor_hooks
from opweave.registry.errors import AutogradError
from opweave.registry.keys import GRAD, INFERENCE, VIEW_BIT, state
from opweave.registry.tensor import Tensor, describe, make


class SavedTensor:
    """A tensor kept for backward, with the version that it must still have then.

    Parameters
    ----------
    t : Tensor
        An input (kept as it is) or an output of the node (kept without its history, which would be a cycle).
    output : int or None
        Which output it is.
    """

    tensor: Tensor | None
    version: int
    output: int | None = None
    packed: Any = None
    #: Of an output, in place of a tensor: what one is made of when it is needed.
    place: tuple[Any, ...] | None = None
    unpack_hook: Callable[..., Any] | None = None

    def __init__(self, t: Tensor, output: int | None = None):
        if not t._keys & VIEW_BIT and not state.include & INFERENCE:
            raise AutogradError(
                "an inference tensor cannot be saved for backward",
                got=describe(t),
                hint="make it outside inference_mode, or clone() it there",
            )
        self.version = t._storage.version
        t._storage.saved = True
        if output is not None:
            self.output = output
        hooks = saved_tensor_hooks()
        if hooks is not None:
            pack, self.unpack_hook = hooks
            self.packed = pack(alias_of(t) if output is not None else t)
            self.tensor = None
        else:
            self.tensor = alias_of(t) if output is not None else t

    def get(self, node: Node) -> Tensor:
        """The tensor, as it was.

        Raises
        ------
        AutogradError
            If it was written to since, or dropped after an earlier backward pass.
        """
        if self.unpack_hook is not None:
            t = self.unpack_hook(self.packed)
            if self.output is None:
                return t
            t = alias_of(t)
            attach(t, node, self.output)
            return t
        t = self.tensor
        if t is None and self.place is not None:
            t = make(*self.place[:-1])
            t._keys = self.place[-1]
        if t is None:
            raise AutogradError(
                "backward through the graph a second time",
                got=f"{node.name()}, whose saved tensors were dropped",
                hint="pass retain_graph=True to the first backward or grad call",
            )
        if t._storage.version != self.version:
            raise AutogradError(
                "a tensor needed for backward was modified by an in-place operation",
                got=f"{describe(t)}, saved by {node.name()}, is at version {t._storage.version}; "
                f"expected version {self.version}",
                hint="clone() the tensor before writing to it, or use the functional form of the op",
            )
        if self.output is None:
            return t
        made = t if self.place is not None else alias_of(t)
        if not state.exclude & GRAD or hooks_used:  # where nothing is recorded, nobody asks for its history
            attach(made, node, self.output)
        return made


def saved_as_it_is(t: Tensor) -> SavedTensor:
    """`SavedTensor(t)` of a tensor that may be saved: another one with the same keys was."""
    if hooks_used and saved_tensor_hooks() is not None:
        return SavedTensor(t)
    made = _new(SavedTensor)
    made.tensor = t
    storage = t._storage
    made.version = storage.version
    storage.saved = True
    return made


def saved_result(t: Tensor) -> SavedTensor:
    """`SavedTensor(t, 0)` of a tensor that may be saved: another one with the same keys was."""
    if hooks_used and saved_tensor_hooks() is not None:
        return SavedTensor(t, 0)
    made = _new(SavedResult)
    storage = t._storage
    made.place = storage, t._sizes, t._strides, t._offset, t._dtype, t._device, t._keys & ~GRAD
    made.version = storage.version
    storage.saved = True
    return made


class SavedResult(SavedTensor):
    """Of the first output, which is not kept itself."""

    output = 0
    tensor = None


_new: Any = object.__new__


def save(value: Any) -> Any:
    """A value as a node keeps it: tensors as `SavedTensor`, also inside lists."""
    if isinstance(value, Tensor):
        return SavedTensor(value)
    if isinstance(value, (list, tuple)) and any(isinstance(item, Tensor) for item in value):
        return [save(item) for item in value]
    return value


def restore(value: Any, node: Node) -> Any:
    """What `save` was given."""
    if isinstance(value, SavedTensor):
        return value.get(node)
    if isinstance(value, list) and any(isinstance(item, SavedTensor) for item in value):
        return [restore(item, node) for item in value]
    return value


def drop(value: Any) -> None:
    """Let go of what `save` keeps."""
    if isinstance(value, SavedTensor):
        value.tensor = value.place = None
        if value.unpack_hook is not None:
            value.unpack_hook = value.packed = None
    elif isinstance(value, list):
        for item in value:
            drop(item)

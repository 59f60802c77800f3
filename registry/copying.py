"""Copies and pickles of tensors, as Python's `copy` and `pickle` ask for them.

`copy.copy` gives another tensor on the same memory. Of `copy.deepcopy`, views of one memory stay views of one: copied
memory stands in the memo, as copied tensors do. A parameter is copied by itself, without its gradient, as PyTorch
does. A pickle has the elements of each tensor apart.
"""

from __future__ import annotations

import copy
from typing import Any

from opweave.registry.device import Device
from opweave.registry.dtypes import DTYPES
from opweave.registry.errors import AutogradError
from opweave.registry.fake_context import LITERAL
from opweave.registry.keys import need_memory
from opweave.registry.promote import copied_strides
from opweave.registry.spec import contiguous_strides, span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, allocate, describe, make

_BYTE = DTYPES["uint8"]


def _attributes(t: Tensor) -> dict[str, Any]:
    """What users have set on a tensor."""
    return {name: value for name, value in t.__dict__.items() if name != LITERAL}


def reduced(t: Tensor) -> tuple[Any, ...]:
    """What a pickle of a tensor is made of."""
    about = str(t._device), t.requires_grad, t._role
    attributes = _attributes(t)
    state = (attributes,) if attributes else ()
    if t._strides == contiguous_strides(t._sizes) or not t.numel():
        return (unpickled, (t.numpy(force=True).copy(), *about), *state)
    flat: Any = t.detach()
    flat = flat.as_strided((span(t._sizes, t._strides),), (1,))
    return (unpickled, (flat.numpy(force=True).copy(), *about, t._sizes, t._strides), *state)


def unpickled(
    array: Any, device: str, requires_grad: bool = False, role: str | None = None, sizes: Any = None,
    strides: Any = None,
) -> Tensor:  # fmt: skip
    """A tensor of what `reduced` gave."""
    target = Device(device)
    made = Tensor._from_array(target.memory.from_host(array, target.index), target)
    if sizes is not None:
        made = make(made._storage, sizes, strides, 0, made._dtype, target)
    made._role = role
    return made.requires_grad_() if requires_grad else made


def shallow(t: Tensor) -> Tensor:
    """Another tensor on the same memory, without the history of this one."""
    need_memory("copy.copy")
    made = make(t._storage, t._sizes, t._strides, t._offset, t._dtype, t._device)
    made._role = t._role
    made.__dict__.update(_attributes(t))
    return made.requires_grad_() if t.requires_grad else made


def deep(t: Tensor, memo: dict[Any, Any]) -> Tensor:
    """A tensor on other memory; views of memory that was copied before are views of its copy."""
    if t.requires_grad and not t.is_leaf:
        raise AutogradError("deepcopy: the tensor has a history", got=describe(t), hint="use x.detach().clone()")
    need_memory("deepcopy")
    if t._role == "parameter":
        made = allocate(t._sizes, copied_strides(t), t._dtype, t._device)
        if t._storage.owner is not None:
            made._array[...] = t._array
    else:
        storage = _copied_storage(t._storage, memo)
        made = make(storage, t._sizes, t._strides, t._offset, t._dtype, t._device)
    made._role = t._role
    memo[id(t)] = made
    if t.requires_grad:
        made.requires_grad_()
    if t._role != "parameter":
        if t.requires_grad:
            setattr(made, "grad", copy.deepcopy(t.grad, memo))  # noqa: B010  # a property that autograd adds
        made.__dict__.update(copy.deepcopy(_attributes(t), memo))
    return made


def _copied_storage(storage: Storage, memo: dict[Any, Any]) -> Storage:
    key = "storage", id(storage)
    if key not in memo:
        flat = allocate((storage.nbytes,), (1,), _BYTE, storage.device)
        if storage.owner is not None:
            flat._array[...] = storage.array((storage.nbytes,), (1,), 0, _BYTE)
        # With the one that it is a copy of: while that is there, no other one has its id.
        memo[key] = storage, flat._storage
    found: Storage = memo[key][1]
    return found


def bind() -> None:
    """Give `Tensor` what Python's modules ask for."""
    Tensor.__reduce__ = reduced  # type: ignore[method-assign]
    Tensor.__deepcopy__ = deep  # type: ignore[attr-defined]
    Tensor.__copy__ = shallow  # type: ignore[attr-defined]

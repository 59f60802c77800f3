"""How values cross between Python and C++: each as its schema's type says.

A tensor with data crosses by DLPack's table of C functions and is memory to the other side. Where what it is besides
matters (it requires grad, is batched, fake or traced), it crosses as a `Reference`, an object that C++ hands back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.device import Device, cpu, parse_device
from opweave.registry.dtypes import BY_DLPACK, DType, uint8
from opweave.registry.exchange import from_dlpack
from opweave.registry.keys import BATCHED_BIT, GRAD, PYTHON_BIT, VMAP_MODE_BIT, DispatchKey, state
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.schema import ListType, OptionalType, Type
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, allocate

Convert = Callable[[Any], Any]

#: Tensors with one of these are more than their memory; so is each while the thread includes one.
BEYOND_MEMORY = GRAD | PYTHON_BIT | BATCHED_BIT | VMAP_MODE_BIT | DispatchKey.Meta.bit | DispatchKey.Functionalize.bit


class Reference:
    """A tensor as an object that C++ knows nothing of but what it asks for."""

    __slots__ = ("tensor",)

    def __init__(self, tensor: Tensor) -> None:
        self.tensor = tensor


@functools.cache
def anchor() -> Tensor:
    """A tensor among the arguments of a function: the runtime then makes opweave's tensors of its results."""
    return allocate((0,), (1,), uint8, cpu)


def number(value: Any) -> Any:
    """A number that C++ can have: one that a trace leaves open is fixed by being asked for."""
    if isinstance(value, Symbolic):
        return {"int": int, "float": float, "bool": bool}[value.kind](value)  # type: ignore[call-overload]
    return value


def outgoing(value: Any) -> Any:
    """A value for C++ of whatever type, with tensors as references."""
    if isinstance(value, Tensor):
        return Reference(value)
    if isinstance(value, (list, tuple)):
        return tuple([outgoing(item) for item in value])
    if isinstance(value, dict):
        return tuple([outgoing(part) for item in value.items() for part in item])
    return plain(value)


def plain(value: Any) -> Any:
    """A value for C++, with tensors as they are."""
    if isinstance(value, DType):
        return value.dlpack
    if isinstance(value, Device):
        return str(value)
    if isinstance(value, Symbolic):
        return number(value)
    if isinstance(value, (list, tuple)):
        return tuple([plain(item) for item in value])
    if isinstance(value, dict):
        return tuple([plain(part) for item in value.items() for part in item])
    return value


def given(result: Any) -> Any:
    """A result for C++: tensors that are no more than their memory go as that."""
    if result.__class__ is Tensor:
        if (result._keys | state.include) & BEYOND_MEMORY or result._storage.owner is None:
            return Reference(result)
        return result
    if isinstance(result, Tensor):
        return Reference(result)
    if isinstance(result, (list, tuple)):
        return tuple([given(item) for item in result])
    return plain(result)


def incoming(kind: Type) -> Convert | None:
    """What makes a Python value of one that C++ handed over for a type; None where it is one already."""
    if isinstance(kind, OptionalType):
        inner = incoming(kind.element)
        return None if inner is None else lambda value: None if value is None else inner(value)
    if isinstance(kind, ListType):
        element = incoming(kind.element) or _same
        return lambda value: [element(item) for item in value] if _is_sequence(value) else element(value)
    return _INCOMING.get(str(kind), _any if str(kind) not in ("int", "SymInt", "float", "bool") else None)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _same(value: Any) -> Any:
    return value


def tensor(value: Any) -> Any:
    """The tensor that a reference is one to, or that lies on memory which C++ made."""
    kind = value.__class__
    if kind is Reference:
        return value.tensor
    return from_dlpack(value) if kind.__module__ == "tvm_ffi.core" and kind.__name__ == "Tensor" else value


def _any(value: Any) -> Any:
    if isinstance(value, str):
        return str(value)
    value = tensor(value)
    return [_any(item) for item in value] if _is_sequence(value) else value


_INCOMING: dict[str, Convert] = {
    "Tensor": tensor, "str": str, "ScalarType": lambda word: BY_DLPACK[int(word)],
    "Device": lambda name: parse_device(str(name)), "MemoryFormat": lambda value: MemoryFormat(int(value)),
}  # fmt: skip


def results(kinds: Sequence[Type]) -> Convert:
    """What makes an op's result of what C++ returned: None, a value, or a tuple of several."""
    converts = [incoming(kind) or _same for kind in kinds]
    if not converts:
        return _nothing
    if len(converts) == 1:
        return converts[0]

    def several(values: Any) -> tuple[Any, ...]:
        return tuple([convert(value) for convert, value in zip(converts, values, strict=True)])

    return several


def _nothing(value: Any) -> None:
    del value

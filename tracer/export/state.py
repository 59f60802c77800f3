"""What a traced call leaves changed of modules: buffers are written by the program, all else is put back."""

from __future__ import annotations

import collections
import copy
import types
from collections.abc import Iterable, Iterator
from typing import Any

from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import UnsupportedError, warn_user
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

_CONTAINERS = (list, dict, set, collections.OrderedDict, collections.deque)


def is_module(value: object) -> bool:
    """Whether it is an `opweave.nn.Module`."""
    return hasattr(type(value), "__opweave_module__")


def variables_of(function: types.FunctionType) -> list[tuple[str, Any]]:
    """What the names in a function stand for that it does not define."""
    code = function.__code__
    cells = zip(code.co_freevars, function.__closure__ or (), strict=False)
    found = [(name, cell.cell_contents) for name, cell in cells if cell != types.CellType()]
    return found + [(name, function.__globals__[name]) for name in code.co_names if name in function.__globals__]


def modules_of(fn: Any) -> list[Any]:
    """The modules that a function is, belongs to or names."""
    given: list[Any] = [fn, getattr(fn, "__self__", None)]
    function = getattr(fn, "__func__", fn)
    if isinstance(function, types.FunctionType):
        given += [value for _, value in variables_of(function)]
    found = {id(m): m for value in given if is_module(value) for m in value.modules()}
    return list(found.values())


class ModuleState:
    """Attributes of modules as they are before a call is traced.

    Parameters
    ----------
    modules : iterable of Module
        Each by itself, without those inside of it.
    """

    def __init__(self, modules: Iterable[Any]):
        self._attributes = [(m, dict(m.__dict__)) for m in modules]
        self._contents: list[tuple[Any, Any]] = [
            (value, copy.copy(value))
            for _, attributes in self._attributes
            for value in attributes.values()
            if type(value) in _CONTAINERS
        ]

    def _assigned(self) -> Iterator[tuple[Any, str, Any, Any]]:
        """Buffers that are other tensors now: their module, name, and what they were and are."""
        before = {id(live): saved for live, saved in self._contents}
        for module, attributes in self._attributes:
            old = before.get(id(attributes["_buffers"]), {})
            for name, now in module._buffers.items():
                if name in old and now is not old[name]:
                    yield module, name, old[name], now

    def write(self) -> None:
        """Let the trace write to buffers what was assigned to them.

        Raises
        ------
        UnsupportedError
            If that is no tensor of the same sizes and type.
        """
        for module, name, old, now in self._assigned():
            same = isinstance(old, Tensor) and isinstance(now, Tensor)
            if not same or old._dtype is not now._dtype or tuple(old._sizes) != tuple(now._sizes):
                raise UnsupportedError(
                    f"export: the buffer {name!r} of a {type(module).__name__} is assigned what it cannot hold",
                    got=f"{describe(now)} for {describe(old)}", hint="keep its sizes and type",
                )  # fmt: skip
            with no_grad():
                ops.aten.copy_.default(old, now)
        for module, attributes in self._attributes:
            for name, now in module.__dict__.items():
                if isinstance(now, Tensor) and now is not attributes.get(name):
                    warn_user(
                        f"export: the tensor {name!r} of a {type(module).__name__} is assigned in the traced call, "
                        "which the program does not do; register it by register_buffer"
                    )

    def restore(self) -> None:
        """Put everything back."""
        for module, attributes in self._attributes:
            module.__dict__.clear()
            module.__dict__.update(attributes)
        for live, saved in self._contents:
            live.clear()
            fill: Any = getattr(live, "extend", None) or live.update
            fill(saved)

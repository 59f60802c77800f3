"""Stand-ins for the arguments of a call: as large, laid out and recorded as they were, without holding their memory."""

from __future__ import annotations

import weakref
from typing import Any

from opweave.registry.autograd.graph import grad_fn_of
from opweave.registry.autograd.mode import enable_grad
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError
from opweave.registry.keys import GRAD
from opweave.registry.op import ops
from opweave.registry.spec import TensorSpec, span
from opweave.registry.tensor import Tensor
from opweave.runtime.containers import DICTS, Rebuild, parts, tensors_of
from opweave.runtime.request import Request
from opweave.runtime.sources import is_named_tuple

aten = ops.aten
_VALUES = (int, float, complex, str, bytes, bool, type(None), type(...), DType, Device, type)


@dataclass(frozen=True, slots=True, weakref_slot=True)
class _Tensor:
    """What is kept of a tensor."""

    spec: TensorSpec
    offset: int
    is_view: bool
    requires_grad: bool
    is_leaf: bool

    def made(self) -> Tensor:
        """A tensor like it, with any contents."""
        sizes, strides, dtype, device = self.spec
        if self.is_view or self.offset:
            base = aten.empty.memory_format([self.offset + span(sizes, strides)], dtype=dtype, device=device)
            if self.requires_grad and not self.is_leaf:
                base.requires_grad_()
            t = aten.as_strided.default(base, list(sizes), list(strides), self.offset)
        else:
            t = aten.empty_strided.default(list(sizes), list(strides), dtype=dtype, device=device)
        if self.requires_grad and not t.requires_grad:
            t.requires_grad_()
            t = t if self.is_leaf else t.clone()
        return t


class StandIns:
    """Stand-ins for the arguments of one call.

    Parameters
    ----------
    args, kwargs : tuple, dict
        The arguments, with a `_Tensor` for each tensor, and a weak reference to each object that is no plain value.
    """

    def __init__(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self._args, self._kwargs = args, kwargs

    @staticmethod
    def of(request: Request) -> StandIns | None:
        """For a call; None where an argument is of a sort that nothing can stand for."""
        values = [*request.args, *request.kwargs.values()]
        tensors = {id(t): t for t in tensors_of(values)}
        if len({id(t._storage) for t in tensors.values()}) < len(tensors):
            return None
        if any(type(t) is not Tensor or t.__dict__ for t in tensors.values()):
            return None
        kept: dict[int, Any] = {id(t): _kept(t) for t in tensors.values()}
        for value in values:
            if not _add_objects(value, kept):
                return None
        rebuild = Rebuild(kept)
        return StandIns(tuple(map(rebuild, request.args)), {k: rebuild(v) for k, v in request.kwargs.items()})

    def made(self) -> tuple[tuple[Any, ...], dict[str, Any]]:
        """The stand-ins.

        Raises
        ------
        CompileError
            If an object is gone.
        """
        made: dict[int, Any] = {}
        with enable_grad():
            for value in (*self._args, *self._kwargs.values()):
                _make(value, made)
        rebuild = Rebuild(made)
        return tuple(map(rebuild, self._args)), {k: rebuild(v) for k, v in self._kwargs.items()}


def _kept(t: Tensor) -> _Tensor:
    recorded = bool(t._keys & GRAD)
    leaf = not recorded or grad_fn_of(t) is None
    return _Tensor(t.spec, t._offset, t._view_of is not None, recorded, leaf)


def _add_objects(value: Any, kept: dict[int, Any]) -> bool:
    """Add a weak reference to each object that is no container; whether there is nothing that does not work with."""
    kind: Any = type(value)
    if isinstance(value, (*_VALUES, Tensor)):
        return True
    if kind in (list, tuple, *DICTS) or is_named_tuple(kind):
        return all(_add_objects(part, kept) for part in parts(value))
    if parts(value):
        return False
    try:
        kept[id(value)] = weakref.ref(value)
    except TypeError:
        return False
    return True


def _make(value: Any, made: dict[int, Any]) -> None:
    if isinstance(value, _Tensor):
        if id(value) not in made:
            made[id(value)] = value.made()
    elif isinstance(value, weakref.ref):
        made[id(value)] = value()
        if made[id(value)] is None:
            raise CompileError("compile: an argument that the function was called with is gone, and with it its graph")
    else:
        for part in parts(value):
            _make(part, made)

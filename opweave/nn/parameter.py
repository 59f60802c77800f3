"""`Parameter` and `Buffer`: tensors that a module keeps when they are assigned to it.

Both are the plain class `Tensor`, which ops, guards and compiled code are fastest with. What a tensor is kept as stands
with what autograd knows of it, and `isinstance` reads it there; results of ops are neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

__all__ = ["Buffer", "Parameter"]

aten = ops.aten
PARAMETER, BUFFER, PASSING = "parameter", "buffer", "passing buffer"


class _RoleMeta(type(Tensor)):
    """Classes whose instances are told by what a module keeps them as."""

    _roles: tuple[str, ...] = ()

    def __instancecheck__(cls, instance: Any) -> bool:
        if "_roles" in cls.__dict__:
            return isinstance(instance, Tensor) and instance._role in cls._roles
        return super().__instancecheck__(instance)


def _held(cls: Any, data: Any, requires_grad: bool, role: str) -> Tensor:
    if data is None:
        data = aten.empty.memory_format([0])
    if not isinstance(data, Tensor):
        raise ArgumentError(
            f"{cls.__name__}: expected a tensor", got=type(data).__name__,
            hint=f"{cls.__name__}(opweave.tensor(data))",
        )  # fmt: skip
    plain = "_roles" in cls.__dict__
    made: Tensor = data.detach() if plain else Tensor._make_subclass(cls, data)
    made._view_of = None
    made.requires_grad_(requires_grad)
    made._role = role
    return made


class Parameter(Tensor, metaclass=_RoleMeta):
    """A tensor that a module counts among its parameters; shares memory with `data`.

    Parameters
    ----------
    data : Tensor, optional
        Its elements; none by default.
    requires_grad : bool
        Whether gradients flow to it.

    Notes
    -----
    `type(p)` is `Tensor`; ask with `isinstance(p, Parameter)`. A class derived from this one is a class of its own.

    Examples
    --------
    >>> opweave.nn.Parameter(opweave.ones(2)).requires_grad
    True
    """

    _roles = (PARAMETER,)

    def __new__(cls, data: Any = None, requires_grad: bool = True) -> Any:
        return _held(cls, data, requires_grad, PARAMETER)

    if TYPE_CHECKING:

        def __init__(self, data: Any = None, requires_grad: bool = True) -> None: ...


class Buffer(Tensor, metaclass=_RoleMeta):
    """A tensor that a module keeps and does not train; shares memory with `data`.

    Parameters
    ----------
    data : Tensor, optional
        Its elements; none by default.
    persistent : bool
        Whether it is part of a state dict.

    Examples
    --------
    >>> opweave.nn.Buffer(opweave.ones(2)).requires_grad
    False
    """

    _roles = (BUFFER, PASSING)

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        return _held(cls, data, False, BUFFER if persistent else PASSING)

    if TYPE_CHECKING:

        def __init__(self, data: Any = None, *, persistent: bool = True) -> None: ...


def __dir__() -> list[str]:
    return sorted(__all__)

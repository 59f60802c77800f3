"""`Parameter` and `Buffer`: tensors that a module keeps when they are assigned to it.

Both are the plain class `Tensor`, which ops, guards and compiled code are fastest with. What a tensor is kept as stands
with what autograd knows of it, and `isinstance` reads it there; results of ops are neither.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from opweave.registry.errors import ArgumentError, OpweaveError
from opweave.registry.keys import need_memory, no_modes
from opweave.registry.op import ops
from opweave.registry.overridable import disabled
from opweave.registry.tensor import Tensor

__all__ = ["Buffer", "Parameter", "UninitializedBuffer", "UninitializedParameter"]

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
    __torch_function__ = disabled  # type: ignore[assignment]  # as PyTorch's: results are plain tensors

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
    __torch_function__ = disabled  # type: ignore[assignment]

    def __new__(cls, data: Any = None, *, persistent: bool = True) -> Any:
        return _held(cls, data, False, BUFFER if persistent else PASSING)

    if TYPE_CHECKING:

        def __init__(self, data: Any = None, *, persistent: bool = True) -> None: ...


class UninitializedParameterError(OpweaveError, ValueError, RuntimeError):
    """A use of a parameter or buffer whose sizes are not known yet."""


class UninitializedTensorMixin(Tensor):
    """What parameters and buffers have in common while their sizes are not known: ops refuse them."""

    #: What they are once they have sizes.
    cls_to_become: Any = Tensor

    def materialize(self, shape: Any, device: Any = None, dtype: Any = None) -> None:
        """Have sizes from now on, and elements that are still to be written; the object stays the same.

        Parameters
        ----------
        shape : sequence of int
            The sizes.
        device : Device or str, optional
            Where the elements are; as before by default.
        dtype : DType, optional
            Their type; as before by default.

        Examples
        --------
        >>> weight = opweave.nn.parameter.UninitializedParameter()
        >>> weight.materialize((2, 3))
        >>> weight.shape, type(weight) is opweave.Tensor
        (opweave.Size([2, 3]), True)
        """
        need_memory("materialize")
        with no_modes():
            made = aten.empty.memory_format(
                list(shape), device=self._device if device is None else device, dtype=dtype or self._dtype
            )
        become = type(self).cls_to_become
        self._take(made, Tensor if "_roles" in become.__dict__ else become)

    def _take(self, made: Tensor, kind: Any) -> None:
        """Be a tensor of a class that has the elements of another one; role and gradients stay."""
        role, requires_grad = self._role, self.requires_grad
        self.__class__ = kind
        self._fill(made)
        self.requires_grad_(requires_grad)
        self._role = role

    def _convert(self, function: Any) -> None:
        """Take the type and the device that a function gives a tensor."""
        plain = aten.empty.memory_format([0], device=self._device, dtype=self._dtype)
        self._take(function(plain), type(self))

    @property
    def shape(self) -> Any:
        """There is none yet."""
        raise UninitializedParameterError(
            "Can't access the shape of an uninitialized parameter or buffer", got=repr(self),
            hint="call the module once, on a batch, before; a state dict that has one cannot be loaded into a module"
            " that has sizes",
        )  # fmt: skip

    def detach(self) -> Any:
        """The object itself: there is nothing to share."""
        return self

    def share_memory_(self) -> Any:
        """There is no memory yet."""
        raise UninitializedParameterError(
            "Can't share memory on an uninitialized parameter or buffer", got=repr(self),
            hint="call the module once, on a batch, before module.share_memory()",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def _like(self) -> tuple[Any, ...]:
        return (type(self), (self.requires_grad, str(self._device), self._dtype))

    def __reduce_ex__(self, protocol: Any) -> tuple[Any, ...]:
        return self._like()

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        make, given = self._like()
        memo[id(self)] = made = make(*given)
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None) -> Any:
        raise UninitializedParameterError(
            f"Attempted to use an uninitialized parameter in {func}", got=f"<{cls.__name__}>",
            hint="call the lazy module once, on a batch, to initialize its parameters",
        )  # fmt: skip


def is_lazy(value: Any) -> bool:
    """Whether a parameter or buffer has no sizes yet."""
    return isinstance(value, UninitializedTensorMixin)


class UninitializedParameter(UninitializedTensorMixin):
    """A parameter whose sizes are not known yet, as those of a lazy module before its first call.

    Parameters
    ----------
    requires_grad : bool
        Whether gradients flow to it.
    device : Device or str, optional
        Where its elements will be.
    dtype : DType, optional
        Their type.

    Examples
    --------
    >>> opweave.nn.parameter.UninitializedParameter()
    <UninitializedParameter>
    """

    cls_to_become = Parameter

    def __new__(cls, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> Any:
        return _held(cls, aten.empty.memory_format([0], device=device, dtype=dtype), requires_grad, PARAMETER)

    def __init__(self, requires_grad: bool = True, device: Any = None, dtype: Any = None) -> None: ...


class UninitializedBuffer(UninitializedTensorMixin):
    """A buffer whose sizes are not known yet.

    Parameters
    ----------
    requires_grad : bool
        Whether gradients flow to it.
    device : Device or str, optional
        Where its elements will be.
    dtype : DType, optional
        Their type.
    persistent : bool
        Whether it is part of a state dict.

    Examples
    --------
    >>> opweave.nn.parameter.UninitializedBuffer()
    <UninitializedBuffer>
    """

    cls_to_become = Tensor

    def __new__(
        cls, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> Any:
        role = BUFFER if persistent else PASSING
        return _held(cls, aten.empty.memory_format([0], device=device, dtype=dtype), requires_grad, role)

    def __init__(
        self, requires_grad: bool = False, device: Any = None, dtype: Any = None, persistent: bool = True
    ) -> None: ...


def __dir__() -> list[str]:
    return sorted(__all__)

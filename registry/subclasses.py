"""Subclasses of `Tensor` that are asked by `__torch_function__` (`registry.overriding`), and what they do otherwise."""

from __future__ import annotations

import copy
import functools
import types as python_types
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry.errors import ArgumentError, UnsupportedError
from opweave.registry.keys import OVERRIDDEN, PYTHON_BIT, state
from opweave.registry.op import ops
from opweave.registry.overridable import TensorMeta
from opweave.registry.overriding import (
    BITS,
    DisableTorchFunctionSubclass,
    NoImplementation,
    called,
    overriding,
    when_subclassed,
)
from opweave.registry.tensor import Tensor, describe, subclass_bits


def as_subclass(self: Tensor, cls: Any) -> Any:
    """The same elements, with their history, as a tensor of a subclass.

    Parameters
    ----------
    cls : type
        `Tensor`, or a class derived from it.

    Examples
    --------
    >>> class Image(opweave.Tensor): pass
    >>> image = opweave.ones(2).as_subclass(Image)
    >>> type(image + 1).__name__
    'Image'
    """
    if not isinstance(cls, type) or not issubclass(cls, Tensor):
        raise ArgumentError("as_subclass: expected a subclass of Tensor", got=repr(cls), hint="x.as_subclass(Image)")
    if self._keys & PYTHON_BIT or state.modes and any(getattr(mode, "compiling", False) for mode in state.modes):
        raise UnsupportedError(
            f"as_subclass: a traced tensor, or one with __torch_dispatch__, cannot become a {cls.__name__}",
            got=describe(self), hint="make the subclass outside the function that is compiled",
        )  # fmt: skip
    before = state.exclude
    state.exclude = before | BITS
    try:
        made = ops.aten.alias.default(self)
    finally:
        state.exclude = before
    for name in self.__dict__:
        made.__dict__.pop(name, None)
    made.__class__ = cls
    made._keys &= ~OVERRIDDEN
    made._keys |= subclass_bits(cls)
    return made


def _as(value: Any, cls: type) -> Any:
    """Tensors in a result as tensors of a class."""
    if isinstance(value, Tensor):
        return value if isinstance(value, cls) else as_subclass(value, cls)
    if type(value) in (list, tuple):
        return type(value)([_as(item, cls) for item in value])
    if isinstance(value, tuple) and hasattr(value, "_make"):
        named: Any = value
        return named._make([_as(item, cls) for item in value])
    return value


def torch_function(
    cls: type, func: Callable[..., Any], types: Iterable[type], args: Any = (), kwargs: dict[str, Any] | None = None
) -> Any:
    """What a function is for tensors of a subclass that says nothing else: the same, with results of the subclass.

    Parameters
    ----------
    func : callable
        What is called: a function, a method of `Tensor`, or of an attribute `Tensor.shape.__get__`.
    types : tuple of type
        The classes of the arguments that are asked.
    args, kwargs
        The arguments.

    Returns
    -------
    object
        The result, or NotImplemented where an argument's class is none that this one is derived from.
    """
    if not all(issubclass(cls, kind) for kind in types):
        return NotImplemented
    if cls is Tensor:  # asked by another library
        overriding(args, kwargs or {})
    with DisableTorchFunctionSubclass():
        result = func(*args, **(kwargs or {}))
    return result if cls is Tensor or func in _plain_attributes() else _as(result, cls)


def _plain_attributes() -> tuple[Any, ...]:
    """What gives tensors as they are, whatever they are asked of."""
    return tuple([Tensor.__dict__[name].__get__ for name in ("grad", "_base")])


class _Method:
    """A method of `Tensor` that asks."""

    def __init__(self, of: Any) -> None:
        self.of = of

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return called(self.of, args, kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["of"], name)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self.of
        if state.exclude & OVERRIDDEN:
            return self.of.__get__(instance, owner)
        return python_types.MethodType(self, instance)


class _Operator(_Method):
    """A binary operator of `Tensor` that asks: Python asks the other operand next, where nobody answers."""

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        try:
            return called(self.of, args, kwargs)
        except NoImplementation:
            return NotImplemented


class _Attribute:
    """An attribute of `Tensor` that asks."""

    def __init__(self, of: Any) -> None:
        self.of = of
        self.__doc__ = of.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None:
            return self.of
        if state.exclude & OVERRIDDEN:
            return self.of.__get__(instance, owner)
        return called(self.of.__get__, (instance,), {})

    def __set__(self, instance: Any, value: Any) -> None:
        if state.exclude & OVERRIDDEN:
            self.of.__set__(instance, value)
        else:
            called(self.of.__set__, (instance, value), {})

    def __delete__(self, instance: Any) -> None:
        self.of.__delete__(instance)


#: Special methods of `Tensor` that are of the class or of Python's own protocols, and not calls on tensors.
_OWN = (
    "__new__ __init__ __hash__ __init_subclass__ __subclasshook__ __class_getitem__ __torch_function__ __reduce__ "
    "__copy__ __iter__ __dlpack__ __dlpack_device__ __getattribute__ __setattr__ __delattr__ as_subclass"
).split()


_COMPARISONS = ("__eq__", "__ne__", "__lt__", "__le__", "__gt__", "__ge__")


def _operators() -> set[str]:
    """The binary operators that `Tensor` has, turned and in place too."""
    names = {name for kind in Tensor.__mro__[:-1] for name in vars(kind)}
    turned = [name.removeprefix("__r") for name in names if name.startswith("__r")]
    both = [name for name in turned if f"__{name}" in names]
    return {*_COMPARISONS, *[f"__{prefix}{name}" for name in both for prefix in ("", "r", "i")]}


class _Bits:
    """The bits of tensors of subclasses, which are asked for when one is made.

    It stays what it is: no base of a subclass names the class that has it, so they would not see another attribute.
    """

    asked = False

    def __get__(self, instance: Any, owner: Any = None) -> int:
        if not _Bits.asked:
            _Bits.asked = True
            for function in when_subclassed:
                function()
        return OVERRIDDEN


def has_subclasses() -> bool:
    """Whether there was a tensor of a subclass that is asked."""
    return _Bits.asked


@functools.cache
def asked_members() -> dict[str, Any]:
    """The methods and attributes of `Tensor` that are asked about, by name."""
    found: dict[str, Any] = {}
    for kind in reversed(Tensor.__mro__[:-1]):
        for name, value in vars(kind).items():
            is_public = not name.startswith("_") or name.startswith("__") or name in ("_base", "_version")
            if not is_public or name in _OWN or isinstance(value, (staticmethod, classmethod)):
                continue
            if type(value) is property or callable(value) and hasattr(type(value), "__get__"):
                found[name] = value
    return found


def _make_asking() -> type:
    """The class that stands in front of `Tensor` among the bases of subclasses."""
    table: dict[str, Any] = {"__slots__": (), "_override_bits": _Bits(), "__module__": __name__}
    operators = _operators()
    for name, value in asked_members().items():
        if type(value) is property:
            table[name] = _Attribute(value)
        else:
            table[name] = (_Operator if name in operators else _Method)(value)
    table |= {"__reduce__": _reduce, "__deepcopy__": _deepcopy, "__copy__": _copy}
    table |= {"__iter__": _iterate, "__hash__": Tensor.__hash__}
    return TensorMeta("TensorBase", (Tensor,), table)


def _reduce(self: Any) -> tuple[Any, ...]:
    with DisableTorchFunctionSubclass():
        return _rebuilt, (type(self), Tensor.__reduce__(self)[:2], dict(self.__dict__))


def _rebuilt(cls: type, plain: tuple[Any, ...], attributes: dict[str, Any]) -> Any:
    """A pickled tensor of a subclass."""
    make, given = plain
    data = make(*given)
    made = Tensor._make_subclass(cls, data, data.requires_grad)
    made._role = data._role
    made.__dict__.update(attributes)
    return made


def _deepcopy(self: Any, memo: dict[int, Any]) -> Any:
    with DisableTorchFunctionSubclass():
        data = Tensor.__deepcopy__(self, memo)  # type: ignore[attr-defined]  # bound in copying
        made = memo[id(self)] = Tensor._make_subclass(type(self), data, data.requires_grad)
        made._role, made.grad = data._role, data.grad
        made.__dict__.update(copy.deepcopy(dict(self.__dict__), memo))
    return made


def _copy(self: Any) -> Any:
    with DisableTorchFunctionSubclass():
        data = Tensor.__copy__(self)  # type: ignore[attr-defined]  # bound in copying
        made = Tensor._make_subclass(type(self), data, data.requires_grad)
        made._role = data._role
        made.__dict__.update(self.__dict__)
    return made


def _iterate(self: Any) -> Any:
    return iter(self.unbind(0))  # which asks


def bind() -> None:
    """Give `Tensor` what subclasses are asked by."""
    Tensor._is_root = True  # type: ignore[attr-defined]
    Tensor.__torch_function__ = classmethod(torch_function)  # type: ignore[attr-defined]
    Tensor.as_subclass = as_subclass  # type: ignore[attr-defined]
    TensorMeta.make_asking = _make_asking

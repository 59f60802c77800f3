"""`__torch_function__`: what is asked about calls of functions of tensors, under the names of `torch.overrides`.

    class Image(opweave.Tensor):
        @classmethod
        def __torch_function__(cls, func, types, args=(), kwargs=None):
            print(func.__name__)
            return super().__torch_function__(func, types, args, kwargs)

An object is asked where it is an argument, or an item of a list or tuple that is one: a tensor of a subclass about
functions, methods, operators and attributes, any other object about functions. A mode is asked about all of these, of
plain tensors too. Objects that are no tensors are asked about functions of `nn.functional` by the ops that these are
written with, as long as there is neither a mode nor a tensor of a subclass.
"""

from __future__ import annotations

import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

from opweave.registry.asking import asking_functions
from opweave.registry.loading import load_heavy
from opweave.registry.op import registry
from opweave.registry.ops import surface
from opweave.registry.overriding import (
    DisableTorchFunction,
    DisableTorchFunctionSubclass,
    TorchFunctionMode,
    modes,
    overridden,
    overriding,
)
from opweave.registry.tensor import Tensor

__all__ = [
    "DisableTorchFunction", "DisableTorchFunctionSubclass", "TorchFunctionMode", "get_overridable_functions",
    "handle_torch_function", "has_torch_function", "is_tensor_like", "is_tensor_method_or_property", "resolve_name",
    "wrap_torch_function",
]  # fmt: skip

F = TypeVar("F", bound=Callable[..., Any])


class BaseTorchFunctionMode(TorchFunctionMode):
    """A mode that has each function do what it does."""

    def __torch_function__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call the function."""
        return func(*args, **(kwargs or {}))


def has_torch_function(relevant_args: Iterable[Any]) -> bool:
    """Whether one of some arguments, or a mode, is asked about calls.

    Examples
    --------
    >>> class Image(opweave.Tensor): pass
    >>> image = opweave.ones(2).as_subclass(Image)
    >>> opweave.overrides.has_torch_function((image,)), opweave.overrides.has_torch_function((opweave.ones(2),))
    (True, False)
    """
    return bool(modes() or overriding(relevant_args, {}))


def handle_torch_function(
    public_api: Callable[..., Any], relevant_args: Iterable[Any], *args: Any, **kwargs: Any
) -> Any:
    """What is asked about a call makes of it; for functions of one's own that tensors of subclasses are given.

    Parameters
    ----------
    public_api : callable
        The function that was called.
    relevant_args : iterable
        Those of its arguments that are asked.
    *args, **kwargs
        All its arguments.

    Raises
    ------
    TypeError
        If all decline.

    Examples
    --------
    >>> def area(image):
    ...     if opweave.overrides.has_torch_function((image,)):
    ...         return opweave.overrides.handle_torch_function(area, (image,), image)
    ...     return image.numel()
    >>> class Image(opweave.Tensor): pass
    >>> area(opweave.ones(2, 3).as_subclass(Image))
    6
    """
    return overridden(public_api, overriding(relevant_args, {}), args, kwargs)


def wrap_torch_function(dispatcher: Callable[..., Iterable[Any]]) -> Callable[[F], F]:
    """Decorator: have what `dispatcher` gives of a call's arguments be asked about a function of one's own.

    Parameters
    ----------
    dispatcher : callable
        Takes the arguments of the function, and gives those that are asked.

    Examples
    --------
    >>> @opweave.overrides.wrap_torch_function(lambda image: (image,))
    ... def area(image):
    ...     return image.numel()
    >>> area(opweave.ones(2, 3))
    6
    """

    def decorate(function: F) -> F:
        @functools.wraps(function)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            asked = tuple(dispatcher(*args, **kwargs))
            if has_torch_function(asked):
                return handle_torch_function(wrapped, asked, *args, **kwargs)
            return function(*args, **kwargs)

        return wrapped  # type: ignore[return-value]

    return decorate


def is_tensor_like(inp: Any) -> bool:
    """Whether an object is a tensor, or has `__torch_function__`.

    Examples
    --------
    >>> opweave.overrides.is_tensor_like(opweave.ones(2)), opweave.overrides.is_tensor_like([1.0])
    (True, False)
    """
    return isinstance(inp, Tensor) or hasattr(type(inp), "__torch_function__")


@functools.cache
def _members() -> dict[Any, str]:
    """Methods and attributes of `Tensor`, by which these are asked about, with their names."""
    found: dict[Any, str] = {}
    for kind in reversed(Tensor.__mro__[:-1]):
        for name, value in vars(kind).items():
            if not callable(value) and type(value) is not property or isinstance(value, type):
                continue
            found[value.__get__ if type(value) is property else value] = name
    return found


@functools.cache
def _functions() -> dict[Any, str]:
    """Functions of the package, with their names."""
    found: dict[Any, str] = {}
    for name, value in surface.functions().items():
        if callable(value) and not isinstance(value, type) and not name.endswith("_"):
            found.setdefault(value, f"opweave.{name}")
    return found


def _functionals() -> dict[Any, str]:
    """Those of `nn.functional`."""
    return {function: f"opweave.nn.functional.{function.__name__}" for function in asking_functions()}


def is_tensor_method_or_property(func: Callable[..., Any]) -> bool:
    """Whether a function is a method of `Tensor`, or the `__get__` of an attribute.

    Examples
    --------
    >>> opweave.overrides.is_tensor_method_or_property(opweave.Tensor.shape.__get__)
    True
    """
    return func in _members() or getattr(func, "__name__", "") == "__get__"


def resolve_name(f: Callable[..., Any]) -> str | None:
    """What a function that is asked about is called; None for others.

    Examples
    --------
    >>> opweave.overrides.resolve_name(opweave.Tensor.add_), opweave.overrides.resolve_name(opweave.softmax)
    ('opweave.Tensor.add_', 'opweave.softmax')
    """
    for names in (_functions(), _functionals()):
        if f in names:
            return names[f]
    if f in _members():
        name = _members()[f]
        return f"opweave.Tensor.{name}" + (".__get__" if isinstance(f, types.MethodWrapperType) else "")
    return str(f) if f in registry.packets.values() else None


def get_overridable_functions() -> dict[Any, list[Callable[..., Any]]]:
    """The functions and methods that are asked about, by what they are of.

    Examples
    --------
    >>> opweave.softmax in opweave.overrides.get_overridable_functions()[opweave]
    True
    >>> opweave.nn.functional.relu in opweave.overrides.get_overridable_functions()[opweave.nn.functional]
    True
    """
    functional = load_heavy("opweave.nn.functional")
    members = [member for member in _members() if _is_public(member)]
    return {sys.modules["opweave"]: [*_functions()], functional: [*_functionals()], Tensor: members}


def _is_public(member: Any) -> bool:
    name = _members()[member]
    return not name.startswith("_") or name.startswith("__")


def __dir__() -> list[str]:
    return sorted(__all__)

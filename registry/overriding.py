"""`__torch_function__`: objects and subclasses of `Tensor` that say themselves what a function of tensors is for them.

The protocol is PyTorch's. Plain tensors pay nothing for the question:

- For objects that are no tensors, a function asks where it cannot take its arguments (`registry.packet`).
- A tensor of a subclass has a bit among its keys (`keys.OVERRIDDEN`), so that each op finds an entry of its dispatch
  table that asks (`asking_kernel`). Methods, operators and attributes of it ask before that, with what Python calls
  (`registry.subclasses`).
- A mode (`TorchFunctionMode`) includes a bit for all calls of the thread (`keys.FUNCTION_MODE`).

What is asked calls the function again, with the bits excluded, for what it is on plain tensors.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NoReturn, Self

from opweave.registry import replay
from opweave.registry.errors import ArgumentError
from opweave.registry.interrupts import surely
from opweave.registry.keys import FUNCTION_MODE, OVERRIDDEN, set_mode, state
from opweave.registry.tensor import Tensor

#: What a call excludes that nobody is asked about.
BITS = OVERRIDDEN | FUNCTION_MODE


class DisableTorchFunctionSubclass(set_mode):
    """Have calls inside the block be what they are for plain tensors; modes are still asked."""

    def change(self) -> None:
        """Exclude the bit of subclasses."""
        state.exclude |= OVERRIDDEN


class DisableTorchFunction(set_mode):
    """The same, and modes are not asked either."""

    def change(self) -> None:
        """Exclude both bits."""
        state.exclude |= BITS


class NoImplementation(TypeError):  # the TypeError that PyTorch raises
    """Nobody who was asked about a call answered."""


def overriding(args: Iterable[Any], kwargs: dict[str, Any]) -> list[Any]:
    """The arguments, and items of lists among them, that are asked: one of each class, subclasses first."""
    found: list[Any] = []
    for value in _flat([*args, *kwargs.values()]):
        kind = type(value)
        if isinstance(value, Tensor):
            if not value._keys & OVERRIDDEN & ~state.exclude:
                continue
        elif isinstance(value, type) or not hasattr(kind, "__torch_function__"):
            continue
        elif is_of_pytorch(kind):
            raise_mixed(value)
        if kind in map(type, found):
            continue
        place = next((i for i, other in enumerate(found) if issubclass(kind, type(other))), len(found))
        found.insert(place, value)
    return found


def foreign(args: Iterable[Any], kwargs: dict[str, Any]) -> list[Any]:
    """Those that are asked, if none of them is a tensor: a function asks tensors before it is run."""
    others = overriding(args, kwargs)
    return [] if any(isinstance(value, Tensor) for value in others) else others


def is_of_pytorch(kind: type) -> bool:
    """Whether a class is PyTorch's tensor, or one of its subclasses that leave to it what functions are for them.

    It makes the call again, for which it would be asked again.
    """
    root = getattr(sys.modules.get("torch"), "Tensor", Tensor)
    if root is Tensor or not issubclass(kind, root):
        return False
    owner = next(each for each in kind.__mro__ if "__torch_function__" in vars(each))
    return owner.__module__.partition(".")[0] == "torch"


def raise_mixed(value: Any) -> NoReturn:
    """Refuse a tensor of PyTorch beside opweave's.

    Raises
    ------
    ArgumentError
        Always.
    """
    raise ArgumentError(
        "a tensor of PyTorch among opweave's",
        got=f"{type(value).__name__} of shape {list(value.shape)}, {value.dtype}",
        hint="opweave.from_dlpack(tensor) shares its memory, torch.from_dlpack the other way",
    )


def _flat(values: Iterable[Any]) -> Iterator[Any]:
    for value in values:
        if isinstance(value, (list, tuple)):
            yield from value
        else:
            yield value


def modes() -> list[TorchFunctionMode]:
    """The active modes of this thread, innermost last."""
    return [] if state.exclude & FUNCTION_MODE else state.__dict__.get("function_modes", [])


def overridden(function: Callable[..., Any], others: list[Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """What the innermost mode, else the first of the objects that does not decline, makes of the call.

    Raises
    ------
    TypeError
        If all return NotImplemented.
    """
    kinds = tuple([type(value) for value in others])
    active = modes()
    if active:
        with _Outside(active):
            result = active[-1].__torch_function__(function, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    for value in others:
        result = value.__torch_function__(function, kinds, args, kwargs)
        if result is not NotImplemented:
            return result
    names = ", ".join([type(mode).__name__ for mode in active[-1:]] + [kind.__name__ for kind in kinds])
    raise NoImplementation(f"{function}: no implementation in the __torch_function__ of {names}")


def instead(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Callable[[], Any] | None:
    """What asks the objects among a call's arguments about it, which was not possible; None if there are none."""
    others = foreign(args, kwargs)
    return functools.partial(overridden, function, others, args, kwargs) if others else None


replay.instead.append(instead)


def called_by_function(packet: Any, args: Any, kwargs: dict[str, Any]) -> tuple[Any, bool]:
    """What an op gives to the function that stands for it, and whether that is an object's answer to the function."""
    try:
        return packet.called(args, kwargs), False
    except ArgumentError:
        call = instead(as_called[0](packet), args, kwargs)
        if call is None:
            raise
    return call(), True  # whose own errors have nothing to do with that one


def called(function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
    """A call of a function, of which modes and the arguments are asked."""
    others = overriding(args, kwargs)
    if others or modes():
        return overridden(function, others, args, kwargs)
    return function(*args, **kwargs)


#: Gives what Python calls the op of a packet by; `registry.ops.surface` puts it here.
as_called: list[Callable[[Any], Any]] = []


def asking_kernel(op: Any, bits: int) -> Callable[..., Any]:
    """What a call of an op runs whose keys have one of the bits: the packet is what is asked about."""

    def call(*args: Any, **kwargs: Any) -> Any:
        given, named = op.trim(args, kwargs)
        others = overriding(given, named)
        if others or modes():
            return overridden(as_called[0](op.packet), others, given, named)
        return op._lookup(bits & ~BITS)(*args, **kwargs)

    return call


#: Called with 1 when a mode is entered, with -1 when it is left; and when the first tensor of a subclass is made.
#: `registry.asking` puts functions there.
when_entered: list[Callable[[int], None]] = []
when_subclassed: list[Callable[[], None]] = []


# ---- modes ---------------------------------------------------------------------------------------------------------


class TorchFunctionMode:
    """A context manager whose `__torch_function__` is asked about all functions of tensors called inside the block.

    While it is asked it is not active itself, so the function can be called there.

    Examples
    --------
    >>> class Names(opweave.overrides.TorchFunctionMode):
    ...     def __torch_function__(self, func, types, args=(), kwargs=None):
    ...         print(func.__name__)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = opweave.ones(2) + 1
    ones
    add
    """

    def __torch_function__(
        self, func: Callable[..., Any], types: tuple[type, ...], args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle one call; `types` are the classes of the arguments that would be asked."""
        raise NotImplementedError(f"{type(self).__name__} must define __torch_function__")

    def __enter__(self) -> Self:
        state.function_modes = [*state.__dict__.get("function_modes", ()), self]  # type: ignore[attr-defined]
        state.include |= FUNCTION_MODE
        for function in when_entered:
            function(1)
        return self

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            rest = state.__dict__["function_modes"][:-1]
            state.function_modes = rest  # type: ignore[attr-defined]
            if not rest:
                state.include &= ~FUNCTION_MODE
            for function in when_entered:
                function(-1)


class _Outside:
    """The innermost mode inactive inside the block."""

    def __init__(self, active: list[TorchFunctionMode]) -> None:
        self.active = active

    def __enter__(self) -> None:
        self.include = state.include
        state.function_modes = self.active[:-1]  # type: ignore[attr-defined]
        if len(self.active) == 1:
            state.include &= ~FUNCTION_MODE

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            state.function_modes = self.active  # type: ignore[attr-defined]
            state.include = self.include

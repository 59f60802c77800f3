"""What is asked about by `__torch_function__` besides ops, and costs nothing while nobody is there to ask.

Functions of `nn.functional` are Python functions, and attributes of plain tensors are properties: neither looks for
anybody. So while a mode is active (`TorchFunctionMode`), or once there is a tensor of a subclass that is asked, the
functions have other code, which asks first: they stay the objects that they are, by which a user tells them. And while
a mode is active, `Tensor` has an attribute lookup that asks about what code outside of this library looks up.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import forking
from opweave.registry.dtypes import DType
from opweave.registry.errors import is_own_file
from opweave.registry.keys import FUNCTION_MODE, OVERRIDDEN, state
from opweave.registry.overriding import called, modes, overridden, overriding, when_entered, when_subclassed
from opweave.registry.strided import Size
from opweave.registry.subclasses import asked_members, has_subclasses
from opweave.registry.tensor import Tensor

_lock = forking.lock()


#: Types of arguments that are not asked.
_PLAIN = frozenset({Tensor, Size, DType, type(None), bool, int, float, str, tuple, list})


class _Asked:
    """What a function is while it asks.

    Parameters
    ----------
    function : function
        The function.
        Where PyTorch's is one in C, what is asked gets the arguments as they were written; else parameters with
        defaults are all there, by their names.
    """

    def __init__(self, function: types.FunctionType, is_in_c: bool) -> None:
        self.function = function
        self.code = function.__code__
        self.plain = types.FunctionType(
            self.code, function.__globals__, function.__name__, function.__defaults__, function.__closure__
        )
        self.plain.__kwdefaults__ = function.__kwdefaults__
        self.signature = inspect.signature(function)
        self.is_in_c = is_in_c
        asked, plain = f"_asked_{function.__name__}", f"_plain_{function.__name__}"
        function.__globals__.update({asked: self, plain: self.plain, "_asks_none": _PLAIN.issuperset, "_thread": state})
        cells = self.code.co_freevars
        text = f"def made({', '.join(cells)}):\n    def made(*args, **kwargs):\n"
        text += "".join(f"        {cell}\n" for cell in cells)  # as many as the function has
        text += f"        if _asks_none(map(type, args)) and not _thread.include & {FUNCTION_MODE}:\n"
        text += "            if not kwargs or _asks_none(map(type, kwargs.values())):\n"
        text += f"                return {plain}(*args, **kwargs)\n"
        text += f"        return {asked}(*args, **kwargs)\n    return made"
        space: dict[str, Any] = {}
        exec(text, space)
        self.asking: types.CodeType = space["made"](*cells).__code__.replace(
            co_name=self.code.co_name, co_qualname=self.code.co_qualname, co_filename=self.code.co_filename,
            co_firstlineno=self.code.co_firstlineno,
        )  # fmt: skip

    def switch(self, on: bool) -> None:
        """Have the function ask, or not."""
        if on:
            self.function.__signature__ = self.signature  # type: ignore[attr-defined]
            self.function.__code__ = self.asking
        else:
            self.function.__code__ = self.code
            del self.function.__signature__  # type: ignore[attr-defined]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        others = overriding(args, kwargs)
        if not others and not modes():
            return self.plain(*args, **kwargs)
        if not self.is_in_c:
            args, kwargs = self._by_name(args, kwargs)
        return overridden(self.function, others, args, kwargs)

    def _by_name(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        rest = dict(bound.arguments)
        parameters = self.signature.parameters.values()
        if any(p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters):
            return args, kwargs
        first = [p.name for p in parameters if p.default is p.empty and p.kind is not p.KEYWORD_ONLY]
        return tuple([rest.pop(name) for name in first]), rest


class _Switch:
    """What asks now."""

    def __init__(self) -> None:
        #: The functions, and whether PyTorch's are in C; other code is made for them when somebody asks.
        self.functions: dict[types.FunctionType, bool] = {}
        self.made: dict[types.FunctionType, _Asked] = {}
        #: Active modes, of all threads; and whether there were tensors of subclasses that are asked.
        self.modes = 0
        self.has_subclasses = has_subclasses()

    def add(self, functions: Iterable[types.FunctionType], in_c: frozenset[str]) -> None:
        with _lock:
            new = [function for function in functions if function not in self.functions]
            self.functions.update((function, function.__name__ in in_c) for function in new)
            if self.modes or self.has_subclasses:
                self._functions(True, new)

    def entered(self, by: int) -> None:
        """Modes were entered, or left."""
        with _lock:
            before, self.modes = self.modes, self.modes + by
            if bool(before) is bool(self.modes):
                return
            if not self.has_subclasses:
                self._functions(self.modes > 0, self.functions)
            root: Any = Tensor
            if self.modes:
                root.__getattribute__, root.__setattr__ = _get, _set
            else:
                del root.__getattribute__, root.__setattr__

    def has_subclass(self) -> None:
        """There is a tensor of a subclass that is asked: so it is for good."""
        with _lock:
            if not self.has_subclasses and not self.modes:
                self._functions(True, self.functions)
            self.has_subclasses = True

    def _functions(self, on: bool, functions: Iterable[types.FunctionType]) -> None:
        for function in functions:
            if function not in self.made:
                self.made[function] = _Asked(function, self.functions[function])
            self.made[function].switch(on)


_switch = _Switch()
when_entered.append(_switch.entered)
when_subclassed.append(_switch.has_subclass)


def ask_about(functions: Iterable[types.FunctionType], in_c: frozenset[str]) -> None:
    """Have modes and subclasses be asked about Python functions.

    Parameters
    ----------
    functions : iterable of function
        Each keeps its identity and its signature.
    in_c : frozenset of str
        The names of those that are functions in C in PyTorch.
    """
    _switch.add(functions, in_c)


def listen() -> None:
    """Have these functions ask from now on: nothing tells of objects that are no tensors before they are arguments."""
    _switch.has_subclass()


def asking_functions() -> list[types.FunctionType]:
    """Those functions."""
    return [*_switch.functions]


# ---- attributes of plain tensors, in a mode --------------------------------------------------------------------------


def _is_asked(tensor: Any, name: str) -> Any:
    """The member of `Tensor` that the mode is asked about, where code outside of this library looks a name up."""
    if name.startswith("_") or not state.include & FUNCTION_MODE & ~state.exclude:
        return None
    if object.__getattribute__(tensor, "_keys") & OVERRIDDEN:  # its class asks
        return None
    if is_own_file(sys._getframe(2).f_code.co_filename):
        return None
    member = asked_members().get(name)
    return member if member is None or getattr(type(tensor), name, None) is member else None


def _get(self: Any, name: str) -> Any:
    member = _is_asked(self, name)
    if member is None:
        return object.__getattribute__(self, name)
    if type(member) is property:
        return called(member.__get__, (self,), {})
    return types.MethodType(_Method(member), self)


def _set(self: Any, name: str, value: Any) -> None:
    member = _is_asked(self, name)
    if type(member) is property:
        called(member.__set__, (self, value), {})
    else:
        object.__setattr__(self, name, value)


class _Method:
    """A method that asks."""

    def __init__(self, of: Callable[..., Any]) -> None:
        self.of = of

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        return called(self.of, args, kwargs)

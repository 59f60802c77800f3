"""How PyTorch's functions and methods are called beyond what a schema says.

Its argument parser, and not its schemas, knows these forms; they hold for each function of the package and each method
of `Tensor` that follows from a declared op, and for those that families write as Python functions:

======================================  ===========================================================================
form                                    rule
======================================  ===========================================================================
`softmax(input=x, dim=0)`               the first argument, `self` in schemas, is called `input`
`sum(x, axis=1, keepdims=True)`         an argument has the names that NumPy has for it (`registry.argument_names`)
`x.permute(1, 0)`, `zeros(2, 3)`        where a list of ints is all that an overload takes by position, it may be
                                        written out
`a, b = x.split(2)`                     a list of tensors comes back as a tuple
`x.max(0).values`, `out=(v, i)`         several results have names (`registry.return_types`)
`add(x, y, out=z)`                      is the op's variant; `writing` makes one of a Python function
======================================  ===========================================================================

All of it happens where Python makes a call; what native code replays (`registry.replay`) is told by the names as they
were written.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import cached_property
from typing import Any

from opweave.registry import families, replay
from opweave.registry.argument_names import OTHER_NAMES, respell
from opweave.registry.described import Document, Signed
from opweave.registry.errors import ArgumentError, AutogradError, DTypeError
from opweave.registry.keys import GRAD, PYTHON_BIT, state
from opweave.registry.op import ops
from opweave.registry.overriding import called_by_function
from opweave.registry.packet import OpOverloadPacket
from opweave.registry.promote import can_cast
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.resizing import resize_result
from opweave.registry.return_types import named, names
from opweave.registry.tensor import Tensor, describe

#: How the first argument of a method is written.
_SELF = tuple(
    f"{kind} {name}{end}"
    for kind, name in [
        *((kind, "self") for kind in ("Tensor", "Tensor(a)", "Tensor(a!)", "Tensor(a -> *)")),
        ("Tensor", "condition"),
    ]
    for end in ",)"
)
_INTS = ("int[", "SymInt[")
_SINGLE = ("int ", "SymInt ", "bool ")


def form_of(packet: OpOverloadPacket) -> str:
    """What Python makes of an op, told from the texts of its schemas, in letters: `registry.ops.index` has them.

    ======  =======================================================================================================
    letter  what it says
    ======  =======================================================================================================
    `s`     the first argument is the tensor itself: it is a method, too
    `p`     it makes tensors from nothing, or like another: it takes `requires_grad`
    `l`     a list of tensors, which may be views, is given as a tuple
    `n`     the results have names
    `m`     as a method, an overload takes nothing but a list of ints by position, which may be written out
    `i`     that may be one int: no other overload takes an int, as `x.hsplit(2)`, which is sections, not places
    `f`     as a function, a list of ints may be written out, of one int too
    ======  =======================================================================================================
    """
    first = packet.first.schema_source
    texts = packet.text.splitlines()
    # Only the in-place and out= variants of declared ops make their schema on demand, and those are methods.
    letters = "s" if not isinstance(first, str) or first.startswith(_SELF, first.index("(") + 1) else ""
    letters += "p" * (isinstance(first, str) and "pin_memory" in first)
    if any(map(_gives_list, texts)):
        letters += "l"
    elif names(packet):
        letters += "n"
    several, one = _may_be_written_out(texts, 1)
    letters += "m" * several + "i" * one
    return letters + "f" * _may_be_written_out(texts, 0)[1]


def _positional(source: str) -> list[str]:
    """What a schema's text takes by position, as text."""
    found = source[source.index("(") + 1 : source.rindex(" -> ") - 1]
    parts, depth, start = [], 0, 0
    for at, letter in enumerate(found):
        depth += (letter in "([") - (letter in ")]")
        if letter == "," and not depth:
            parts.append(found[start:at].strip())
            start = at + 1
    parts.append(found[start:].strip())
    return parts[: parts.index("*")] if "*" in parts else parts


def _may_be_written_out(texts: list[str], skipped: int) -> tuple[bool, bool]:
    """Whether an overload takes nothing but a list of ints by position, after the first arguments; whether of one."""
    taken = [_positional(text)[skipped:] for text in texts]
    found = any(len(items) == 1 and items[0].startswith(_INTS) for items in taken)
    return found, found and not any(items and items[0].startswith(_SINGLE) for items in taken)


def _gives_list(text: str) -> bool:
    """Whether a schema gives a list of tensors, which may be views."""
    if not text.endswith("[]"):
        return False
    given = text[text.rindex(") -> ") + 5 :]
    return given == "Tensor[]" or given.startswith("Tensor(")


def method(packet: OpOverloadPacket, form: str) -> Callable[..., Any]:
    """What a method of `Tensor` does by the name of an op, whose form is known (see `form_of`)."""
    function: Any = _given(packet, form)
    if "m" not in form:
        if function is not packet:
            function.is_method = True
        return function
    one = "i" in form

    def written_out(self: Tensor, *items: Any, **kwargs: Any) -> Any:
        if len(items) > 1 or (one and items and not isinstance(items[0], (list, tuple))):
            if all(hasattr(item, "__index__") and type(item) is not bool for item in items):
                return function(self, items, **kwargs)
        return function(self, *items, **kwargs)

    written_out.__name__ = packet.opname
    written_out.packet = packet  # type: ignore[attr-defined]  # for who has to know what it calls
    written_out.op_packet = packet  # type: ignore[attr-defined]
    written_out.is_method = True  # type: ignore[attr-defined]
    return written_out


def function(packet: OpOverloadPacket, form: str) -> Callable[..., Any]:
    """What a function of the package does by the name of an op, whose form is known (see `form_of`)."""
    called = _given(packet, form)
    if "f" not in form:
        return called

    def written_out(*size: Any, **kwargs: Any) -> Any:
        if not size:
            return called(**kwargs)
        if len(size) == 1 and isinstance(size[0], (list, tuple)):
            size = tuple(size[0])
        return called(size, **kwargs)

    written_out.__name__ = packet.opname
    written_out.op_packet = packet  # type: ignore[attr-defined]
    return written_out


def _given(packet: OpOverloadPacket, form: str) -> Callable[..., Any]:
    """The op with its results as functions give them."""
    if "l" not in form:
        return named(packet) if "n" in form else packet

    def tupled(*args: Any, **kwargs: Any) -> Any:
        if type(kwargs.get("out")) in (list, tuple):
            return write(packet.opname, kwargs.pop("out"), packet(*args, **kwargs), args, kwargs)
        found, is_whole = called_by_function(packet, args, kwargs)
        if is_whole:
            return found
        return tuple(found) if type(found) is list else found

    tupled.__name__ = packet.opname
    tupled.op_packet = packet  # type: ignore[attr-defined]  # its signature and its docstring follow from it
    return tupled


class Awaited(replay.Function):
    __doc__: Any = Document(
        """A Python function of a file of `registry/ops` that is run when the function is first called.

    Parameters
    ----------
    family, name : str
        The file, and the function's name there, in `FUNCTIONS` or `METHODS`.
    """
    )
    __signature__ = Signed()

    def __init__(self, family: str, name: str) -> None:
        self.family = family
        self.__name__ = self.__qualname__ = name
        self.__module__ = f"opweave.registry.ops.{family}"

    @cached_property
    def __wrapped__(self) -> Callable[..., Any]:
        tables = vars(families.family(self.family))
        found = tables.get("FUNCTIONS", {}).get(self.__name__)
        return respelling(tables["METHODS"][self.__name__] if found is None else found)

    def __repr__(self) -> str:
        return f"<function {self.__name__}>"


def respelling(function: Callable[..., Any]) -> Callable[..., Any]:
    """A Python function that takes other names for its arguments, too."""
    code = getattr(getattr(function, "__wrapped__", function), "__code__", None)
    if code is None:
        return function
    own = (*code.co_varnames[: code.co_argcount + code.co_kwonlyargcount], "out")

    def respelled(*args: Any, **kwargs: Any) -> Any:
        if kwargs and not OTHER_NAMES.keys().isdisjoint(kwargs):
            kwargs = respell(kwargs, own)
        return function(*args, **kwargs)

    respelled.__name__ = function.__name__
    respelled.__qualname__ = function.__qualname__
    respelled.__doc__ = function.__doc__
    respelled.__wrapped__ = function  # type: ignore[attr-defined]  # its signature is this one's
    return respelled


def writing(function: Callable[..., Any]) -> Callable[..., Any]:
    """A function that takes `out=` besides: a tensor, or one for each of several results."""

    def written(*args: Any, out: Any = None, **kwargs: Any) -> Any:
        if out is None:
            return function(*args, **kwargs)
        return write(function.__name__, out, function(*args, **kwargs), args, kwargs)

    written.__name__ = function.__name__
    written.__qualname__ = function.__qualname__
    written.__doc__ = function.__doc__
    written.__wrapped__ = function  # type: ignore[attr-defined]
    own = inspect.signature(function)
    more = inspect.Parameter("out", inspect.Parameter.KEYWORD_ONLY, default=None, annotation="Tensor | None")
    written.__signature__ = own.replace(parameters=[*own.parameters.values(), more])  # type: ignore[attr-defined]
    return written


def write(name: str, out: Any, found: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None) -> Any:
    """Write what a function gave to the tensors of `out=`, which get its sizes; gives them.

    Parameters
    ----------
    name : str
        Of the function, for messages.
    out : Tensor or sequence of Tensor
        As many as there are results.
    found : Tensor or sequence of Tensor
        The results.
    args, kwargs
        What the function was called with: none of it may be recorded by autograd.

    Raises
    ------
    ArgumentError
        If there are other than as many.
    DTypeError
        If a result cannot be converted.
    AutogradError
        If something requires grad.
    """
    targets = [out] if isinstance(out, Tensor) else list(out)
    results = [found] if isinstance(found, Tensor) else list(found)
    if len(targets) != len(results) or not all(isinstance(t, Tensor) for t in targets):
        raise ArgumentError(f"{name}: out= must be {len(results)} tensor(s)", got=describe(out))
    recorded = not state.exclude & GRAD
    if recorded and any(t._keys & GRAD for t in tensors_in([targets, args, kwargs or {}])):
        raise AutogradError(
            f"{name}: functions with out= do not differentiate, but one of the arguments requires grad",
            got=describe(targets), hint="use the functional form, or no_grad",
        )  # fmt: skip
    for target, result in zip(targets, results, strict=True):
        if not can_cast(result._dtype, target._dtype):
            raise DTypeError(
                f"{name}: result type {result._dtype.name} cannot be written to {target._dtype.name}",
                got=describe(target), hint="use the functional form, or convert the tensor first",
            )  # fmt: skip
        if target._sizes != result._sizes and not state.include and not target._keys & PYTHON_BIT:
            resize_result(name, target, result._sizes)
        ops.aten.copy_.default(target, result)
    return out

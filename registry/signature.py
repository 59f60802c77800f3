"""The parts of an operator's schema: alias annotations, arguments; how they print, and how a call binds to them.

    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]

Use them through `opweave.registry.schema`, which also reads such text.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.types import ListType, OptionalType, Type

# --- schemas

WILDCARD = "*"


@dataclass(frozen=True, slots=True)
class Alias:
    """Which memory a value may share, and whether the op writes to it: the `(a!)` of `Tensor(a!)`.

    Attributes
    ----------
    before, after : tuple of str
        Alias sets before and after the call; `*` is the set of everything. They differ in `(a -> *)`.
    is_write : bool
        Whether the op writes to the value (or, for a list, to its elements).
    contained : Alias or None
        What is said of a list's elements: the `(a!)` of `Tensor(a!)[]`.
    """

    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    is_write: bool = False
    contained: Alias | None = None

    @property
    def is_wildcard(self) -> bool:
        """Whether the value may share memory with anything."""
        return WILDCARD in self.before or WILDCARD in self.after

    @property
    def sets(self) -> frozenset[str]:
        """All sets named here, the elements' included."""
        inner = self.contained.sets if self.contained else frozenset()
        return inner.union(self.before, self.after)

    def __str__(self) -> str:
        if not self.before:
            return ""
        after = "" if self.after == self.before else " -> " + "|".join(self.after)
        return f"({'|'.join(self.before)}{'!' if self.is_write else ''}{after})"


class _Missing:
    def __repr__(self) -> str:
        return "MISSING"


#: The default of an argument that has none.
MISSING = _Missing()


@dataclass(frozen=True, slots=True)
class Argument:
    """One argument or return of a schema.

    Attributes
    ----------
    name : str
        Empty for an unnamed return.
    type : Type
        Its type.
    default : Any
        `MISSING` where there is none. Lists are tuples (or one integer for all elements of an `int[n]`), a `ScalarType`
        is a `DType`, a `MemoryFormat` is one, other enumerations are integers, a `Device` is its name.
    kwarg_only : bool
        Whether it stands after the `*`.
    alias : Alias or None
        Its alias annotation.
    """

    name: str
    type: Type
    default: Any = MISSING
    kwarg_only: bool = False
    alias: Alias | None = None

    @property
    def has_default(self) -> bool:
        """Whether a call may leave it out."""
        return self.default is not MISSING

    @property
    def is_write(self) -> bool:
        """Whether the op writes to it."""
        return self.alias is not None and self.alias.is_write

    def __str__(self) -> str:
        text = _type_text(self.type, self.alias)
        if self.name:
            text += f" {self.name}"
        if self.has_default:
            text += f"={_default_text(self.default, self.type)}"
        return text


@dataclass(frozen=True, repr=False)
class FunctionSchema:
    """What an operator is called, takes and returns.

    Attributes
    ----------
    name : str
        Name with namespace, `aten::add`.
    overload_name : str
        `Tensor` in `aten::add.Tensor`; empty for the default overload.
    arguments : tuple of Argument
        Positional arguments, then keyword-only ones.
    returns : tuple of Argument
        What it returns.
    is_vararg, is_varret : bool
        Whether further arguments may follow (`...`), and whether the returns vary.

    Examples
    --------
    >>> schema = parse_schema("aten::relu_(Tensor(a!) self) -> Tensor(a!)")
    >>> schema.mutated_args, schema.aliased_returns
    (('self',), {0: ('self',)})
    """

    name: str
    overload_name: str
    arguments: tuple[Argument, ...]
    returns: tuple[Argument, ...]
    is_vararg: bool = False
    is_varret: bool = False

    @cached_property
    def full_name(self) -> str:
        """`aten::add.Tensor`."""
        return f"{self.name}.{self.overload_name}" if self.overload_name else self.name

    @cached_property
    def mutated_args(self) -> tuple[str, ...]:
        """Names of the arguments that the op writes to."""
        return tuple(argument.name for argument in self.arguments if argument.is_write)

    @cached_property
    def is_mutable(self) -> bool:
        """Whether the op writes to any of its arguments."""
        return bool(self.mutated_args)

    @cached_property
    def aliased_returns(self) -> dict[int, tuple[str, ...]]:
        """Names of the arguments whose memory a return may share, by the return's index; empty where none may."""
        return {i: names for i, returned in enumerate(self.returns) if (names := self._aliases_of(returned))}

    def _aliases_of(self, returned: Argument) -> tuple[str, ...]:
        if returned.alias is None:
            return ()
        if WILDCARD in returned.alias.sets:
            return tuple(argument.name for argument in self.arguments if argument.type.has_tensor)
        return tuple(a.name for a in self.arguments if a.alias and a.alias.sets & returned.alias.sets)

    def __str__(self) -> str:
        parts: list[str] = []
        for argument in self.arguments:
            if argument.kwarg_only and "*" not in parts:
                parts.append("*")
            parts.append(str(argument))
        if self.is_vararg:
            parts.append("...")
        returns = [str(returned) for returned in self.returns] + ["..."] * self.is_varret
        # A lone return that starts with a parenthesis would be read back as a list of returns.
        lone = len(returns) == 1 and not returns[0].startswith("(")
        result = returns[0] if lone else "(" + ", ".join(returns) + ")"
        return f"{self.full_name}({', '.join(parts)}) -> {result}"

    def __repr__(self) -> str:
        return str(self)

    # -- binding

    @cached_property
    def _positional(self) -> tuple[Argument, ...]:
        return tuple(argument for argument in self.arguments if not argument.kwarg_only)

    @cached_property
    def _positional_defaults(self) -> tuple[Any, ...]:
        return tuple(argument.default for argument in self._positional)

    @cached_property
    def _keyword_defaults(self) -> dict[str, Any]:
        return {argument.name: argument.default for argument in self.arguments if argument.kwarg_only}

    @cached_property
    def _required(self) -> float:
        """How many positional arguments a call without keywords must have; infinite where that cannot be enough."""
        if MISSING in self._keyword_defaults.values():
            return math.inf
        return max((i + 1 for i, default in enumerate(self._positional_defaults) if default is MISSING), default=0)

    @cached_property
    def _positions(self) -> dict[str, int]:
        return {argument.name: i for i, argument in enumerate(self._positional)}

    @cached_property
    def _sized(self) -> tuple[tuple[int | str, int], ...]:
        """Where a single element may stand for a list, and how long the list is."""
        found: list[tuple[int | str, int]] = []
        for i, argument in enumerate(self.arguments):
            kind = argument.type.required
            if isinstance(kind, ListType) and kind.size is not None:
                found.append((argument.name if argument.kwarg_only else i, kind.size))
        return tuple(found)

    def bind(self, args: Sequence[Any], kwargs: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """Put a call's arguments in the schema's order, defaults filled in.

        Parameters
        ----------
        args, kwargs : sequence, mapping
            The call's arguments.

        Returns
        -------
        positional : list
            A value for every argument before the `*`, in order (then those that `...` takes).
        keyword : dict
            A value for every keyword-only argument.

        Raises
        ------
        ArgumentError
            If an argument is missing, unknown or given twice.

        Notes
        -----
        A single element given for a list of known size (`int[2]`) becomes that many copies of it. Types are not
        looked at.
        """
        count = len(args)
        defaults = self._positional_defaults
        keyword = self._keyword_defaults.copy()
        if not kwargs and not self._sized and self._required <= count <= len(defaults):
            return [*args, *defaults[count:]], keyword
        if count > len(defaults) and not self.is_vararg:
            raise self._misfit(f"takes {len(defaults)} positional arguments, {count} were given", args, kwargs)
        positional = [*args, *defaults[count:]]
        for name, value in kwargs.items():
            if name in keyword:
                keyword[name] = value
                continue
            position = self._positions.get(name)
            if position is None:
                raise self._misfit(f"unexpected keyword argument {name!r}", args, kwargs)
            if position < count:
                raise self._misfit(f"multiple values for argument {name!r}", args, kwargs)
            positional[position] = value
        for argument, value in zip(self.arguments, [*positional[: len(defaults)], *keyword.values()], strict=True):
            if value is MISSING:
                raise self._misfit(f"missing argument {argument.name!r}", args, kwargs)
        for where, size in self._sized:
            target: Any = keyword if isinstance(where, str) else positional
            value = target[where]
            if value is not None and not isinstance(value, (list, tuple)):
                target[where] = (value,) * size
        return positional, keyword

    def _misfit(self, what: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> ArgumentError:
        given = [*map(_describe, args), *(f"{name}={_describe(value)}" for name, value in kwargs.items())]
        return ArgumentError(f"{self.full_name}: {what}", got=f"({', '.join(given)})", hint=f"schema: {self}")


def _describe(value: Any) -> str:
    if value is None or isinstance(value, (bool, int, float, str)):
        text = repr(value)
        return text if len(text) <= 40 else text[:37] + "..."
    if isinstance(value, (list, tuple)) and len(value) <= 8:
        return f"[{', '.join(map(_describe, value))}]"
    dtype, shape = getattr(value, "dtype", None), getattr(value, "shape", None)
    if isinstance(dtype, DType) and shape is not None:
        return f"{dtype.short}[{', '.join(map(str, shape))}]"
    return type(value).__name__


# --- printing


def _type_text(kind: Type, alias: Alias | None) -> str:
    """A type with its alias annotations, each behind the part that it is about."""
    if alias is None:
        return str(kind)
    if isinstance(kind, OptionalType):
        return f"{_type_text(kind.element, alias)}?"
    if isinstance(kind, ListType):
        size = "" if kind.size is None else kind.size
        return f"{_type_text(kind.element, alias.contained)}[{size}]{alias}"
    return f"{kind}{alias}"


# Integers that enumerations stand for in printed schemas.
SCALAR_TYPE_CODES = {
    "uint8": 0, "int8": 1, "int16": 2, "int32": 3, "int64": 4, "float16": 5, "float32": 6, "float64": 7,
    "complex64": 9, "complex128": 10, "bool": 11, "bfloat16": 15,
    "float8_e5m2": 23, "float8_e4m3fn": 24, "float8_e5m2fnuz": 25, "float8_e4m3fnuz": 26, "uint16": 27, "uint32": 28,
    "uint64": 29, "float8_e8m0fnu": 44,
}  # fmt: skip


def _default_text(value: Any, kind: Type) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(_default_text(item, kind.base) for item in value)}]"
    if isinstance(value, str):
        return quote(value)
    if isinstance(value, DType):
        return str(SCALAR_TYPE_CODES[value.name])
    if isinstance(value, MemoryFormat):
        return str(int(value))
    if isinstance(value, complex):
        return f"{_float_text(value.real)}{'' if str(value.imag).startswith('-') else '+'}{_float_text(value.imag)}j"
    return _float_text(value) if isinstance(value, float) else str(value)


def _float_text(value: float) -> str:
    # As C++ prints a double at full precision: 17 digits, and `1.` for whole numbers.
    if value.is_integer() and abs(value) < 1e10:
        return f"{value:.0f}."
    return f"{value:.17g}"


_ESCAPES = {"\\": "\\", "'": "'", '"': '"', "\a": "a", "\b": "b", "\f": "f", "\n": "n", "\r": "r", "\t": "t", "\v": "v"}
UNESCAPES = {letter: character for character, letter in _ESCAPES.items()}


def quote(text: str) -> str:
    """A string literal of the schema language, in double quotes; unprintable bytes in octal."""
    parts = []
    for character in text:
        if character in _ESCAPES:
            parts.append("\\" + _ESCAPES[character])
        elif " " <= character <= "~":
            parts.append(character)
        else:
            parts.extend(f"\\{byte:03o}" for byte in character.encode())
    return f'"{"".join(parts)}"'

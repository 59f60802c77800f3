"""Values read out whole: what two values of one type have to have in common so that no code can tell them apart.

Python's `==` is looser than that: `range(0, 10, 3) == range(0, 12, 3)`, `Decimal("1.0") == Decimal("1.00")`,
`np.float32(0.0) == np.float32(-0.0)`, `{1: x} == {True: x}`. A reader gives a tuple of ints, texts and bytes, whose
`==` is exact, as long as the type is compared beside it.
"""

from __future__ import annotations

import array
import datetime
import pathlib
import sys
import types
from collections.abc import Callable
from typing import Any

import numpy as np


def _datetime(value: Any) -> tuple[Any, ...]:
    return value.year, value.month, value.day, value.hour, value.minute, value.second, value.microsecond, value.fold


def _time(value: Any) -> tuple[Any, ...]:
    return value.hour, value.minute, value.second, value.microsecond, value.fold


def _timedelta(value: Any) -> tuple[Any, ...]:
    return value.days, value.seconds, value.microseconds


def _timezone(value: datetime.timezone) -> tuple[Any, ...]:
    return _timedelta(value.utcoffset(None)), value.tzname(None)


def _fraction(value: Any) -> tuple[Any, ...]:
    # The parts may be of any integral type.
    return type(value.numerator).__name__, int(value.numerator), int(value.denominator)


def _memoryview(value: memoryview) -> tuple[Any, ...]:
    return value.format, value.shape, value.strides, value.readonly, value.tobytes()


def _dtype(value: Any) -> tuple[Any, ...]:
    return repr(value), value.byteorder, value.isalignedstruct, repr(value.metadata)


def _number(value: Any) -> tuple[Any, ...]:
    return repr(value.dtype), value.tobytes()


#: The same for classes of modules that few programs load; where one is not loaded, there is no value of its.
_LATER: dict[tuple[str, str], Callable[[Any], Any]] = {
    ("decimal", "Decimal"): lambda v: tuple(v.as_tuple()),
    ("fractions", "Fraction"): _fraction,
    ("uuid", "UUID"): lambda v: v.int,
    ("zoneinfo", "ZoneInfo"): lambda v: (v.key, id(v)),
}


class _Readers(dict[type, Callable[[Any], Any]]):
    def __contains__(self, kind: Any) -> bool:
        return super().__contains__(kind) or self._is_later(kind)

    def _is_later(self, kind: Any) -> bool:
        module, name = kind.__module__, kind.__qualname__
        found = _LATER.get((module, name)) if type(module) is str else None
        if found is None or getattr(sys.modules.get(module), name, None) is not kind:
            return False
        self[kind] = found
        return True


#: Class -> what reads a value of it out. An instance of a subclass is read the same way, besides its attributes.
READERS: dict[type, Callable[[Any], Any]] = _Readers(
    {
        datetime.datetime: _datetime,
        datetime.date: lambda v: (v.year, v.month, v.day),
        datetime.time: _time,
        datetime.timedelta: _timedelta,
        datetime.timezone: _timezone,
        pathlib.PurePath: str,
        range: lambda v: (v.start, v.stop, v.step),
        np.dtype: _dtype,
        np.generic: _number,
        bytearray: bytes,
        array.array: lambda v: (v.typecode, v.tobytes()),
        memoryview: _memoryview,
        int: int.__int__,
        float: float.__repr__,
        complex: complex.__repr__,
        str: str.__str__,
        bytes: lambda v: bytes.__getitem__(v, slice(None)),
    }
)
#: What else of a value of these has to be looked into.
PARTS: dict[Any, tuple[str, ...]] = {
    datetime.datetime: ("tzinfo",),
    datetime.time: ("tzinfo",),
    slice: ("start", "stop", "step"),
    types.GenericAlias: ("__origin__", "__args__"),
    types.UnionType: ("__args__",),
}


def reader_of(kind: type) -> tuple[type, Callable[[Any], Any]] | None:
    """The nearest class of a type's MRO that has a reader, with it."""
    for base in kind.__mro__:
        if base in READERS:
            return base, READERS[base]
    return None


def scalar_token(value: Any) -> Any:
    """Type and exact value of an immutable value without parts; None for any other."""
    kind: Any = type(value)
    if value is None or value is Ellipsis or value is NotImplemented or kind in (bool, int, str, bytes):
        return kind, value
    if kind in (float, complex):
        return kind, repr(value)
    if kind in READERS and kind not in PARTS and kind not in (bytearray, array.array, memoryview):
        return kind, READERS[kind](value)
    found = reader_of(kind) if isinstance(value, (np.generic, np.dtype, pathlib.PurePath)) else None
    if found is not None and kind.__module__.partition(".")[0] in ("numpy", "pathlib"):
        return kind, found[1](value)
    return None

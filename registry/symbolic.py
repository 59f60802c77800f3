"""What the registry knows of symbolic numbers: that there are some. `fake.symbolic` has them."""

from __future__ import annotations

import math
from typing import Any, ClassVar


class Symbolic:
    """Base of the numbers whose value a trace does not fix.

    Attributes
    ----------
    kind : str
        ``"int"``, ``"float"`` or ``"bool"``: which Python number it stands for.
    """

    __slots__ = ()
    kind: ClassVar[str]


def is_int(value: Any) -> bool:
    """Whether a number is an int, symbolic or not."""
    return value.kind == "int" if isinstance(value, Symbolic) else isinstance(value, int)


def is_float(value: Any) -> bool:
    """Whether a number is a float, symbolic or not."""
    return value.kind == "float" if isinstance(value, Symbolic) else isinstance(value, float)


def is_finite(value: Any) -> bool:
    """Whether a number is neither infinite nor NaN; a symbolic one never is."""
    return isinstance(value, Symbolic) or math.isfinite(value)


def whole(value: Any) -> Any:
    """A number cut off to an int; a symbolic int as it is."""
    if isinstance(value, Symbolic) and value.kind == "int":
        return value
    return int(value)  # type: ignore[call-overload]  # symbolic floats and bools have one


def square_root(value: Any) -> Any:
    """The square root of a number that is not negative."""
    if isinstance(value, Symbolic):
        return value**0.5  # type: ignore[operator]  # symbolic numbers have one
    return math.sqrt(value)

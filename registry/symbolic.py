"""What the registry knows of symbolic numbers: that there are some. `fake.symbolic` has them."""

from __future__ import annotations

import math
from typing import Any, ClassVar

from opweave.registry.errors import user_frame


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


def is_open(condition: Any) -> bool:
    """Whether a condition depends on data, so that neither its symbols' ranges nor an example can decide it."""
    return isinstance(condition, Symbolic) and condition.hint is None  # type: ignore[attr-defined]  # SymNumber's


def surely_equal(a: Any, b: Any) -> bool:
    """Whether two numbers are equal whatever their symbols are; no decision is made."""
    for value in (a, b):
        if isinstance(value, Symbolic):
            return bool(value.env.equal(a, b))  # type: ignore[attr-defined]  # SymNumber's
    return bool(a == b)


def smaller(a: Any, b: Any) -> Any:
    """The smaller of two ints, by a decision where there can be one, else as an expression."""
    least = a <= b
    if is_open(least):
        return least.env.binary("min", a, b)
    return a if least else b


def larger(a: Any, b: Any) -> Any:
    """The larger of two ints, by a decision where there can be one, else as an expression."""
    most = a >= b
    if is_open(most):
        return most.env.binary("max", a, b)
    return a if most else b


def demand(condition: Any, message: str, error: type[Exception], **parts: str) -> None:
    """Raise an error if a condition does not hold; what depends on data is verified when the trace runs.

    `parts` are `got` and `hint` of an error of ours.
    """
    if is_open(condition):
        condition.env.check(condition, message)
    elif not condition:
        raise error(message, **parts)


def unknown_up_to(limit: Any, asked: Any, *known: Any) -> Any:
    """A number in [0, limit] that only the op itself can tell, in the trace that `asked` is a number of.

    Where `known` is given, it follows from these, and is the same number for the same ones.
    """
    env = asked.env
    if known:
        # By expression: symbolic numbers that are compared ask for a decision.
        key = tuple([part.expr if hasattr(part, "expr") else part for part in known])
        if key not in env.told:
            env.told[key] = unknown_up_to(limit, asked)
        found = env.told[key]
        return env.wrap(found.expr) if hasattr(found, "expr") else found
    found = env.new_unbacked(0, env.range_of(limit)[1])
    within = found <= limit
    if is_open(within):
        env.assume(within.expr, user_frame(1))
    return found

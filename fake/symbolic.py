"""`SymInt`, `SymFloat`, `SymBool`: numbers that a trace does not fix.

They compute like Python's numbers. Where a decision is needed (`if n > 8:`), the answer that the example at hand gives
is taken, and noted as a guard of the trace in the `ShapeEnv`. A number without an example (a size that depends on data)
has no answer then; that is an error with a hint.

    hint known        n * 2 + 1      SymInt       if n > 8     the example's answer, and a guard
    no hint           n * 2 + 1      SymInt       if n > 8     DataDependentError, unless the range of n tells
"""

from __future__ import annotations

import functools
import math
import operator
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opweave.registry.errors import ArgumentError, ShapeError, is_own_file
from opweave.registry.keys import state
from opweave.registry.symbolic import Symbolic

if TYPE_CHECKING:
    from types import FrameType

    from opweave.fake.shape_env import ShapeEnv


class SymNumber(Symbolic):
    """What the three have in common.

    Attributes
    ----------
    env : ShapeEnv
        Whose symbols it is made of.
    expr : sympy.Expr
        What it is.
    """

    __slots__ = ("env", "expr", "__weakref__")

    def __init__(self, env: ShapeEnv, expr: Any):
        self.env = env
        self.expr = expr

    @property
    def hint(self) -> Any:
        """Its value for the example; None where it depends on data."""
        return self.env.hint_of(self.expr)

    @property
    def __class__(self) -> Any:  # type: ignore[override]  # what `isinstance` asks besides the type
        """The class of Python's number, for code of the user's in a trace that gets compiled."""
        return _CLASSES[self.kind] if _is_kept() else type(self)

    @property
    def plain(self) -> Any:
        """Its number, which becomes fixed."""
        return _CLASSES[self.kind](self)

    def __repr__(self) -> str:
        return repr(self.plain) if _is_kept() else self.env.text(self.expr)

    def __format__(self, spec: str) -> str:
        return format(self.plain, spec) if _is_kept() else format(self.env.text(self.expr), spec)

    def __hash__(self) -> int:
        return hash(self.plain) if _is_kept() else hash(self.expr)

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __reduce__(self) -> Any:
        raise ArgumentError("a symbolic number cannot be pickled: it belongs to a trace", got=repr(self))


_CLASSES: dict[str, Any] = {"int": int, "float": float, "bool": bool}
_TEXTS = frozenset({"__repr__", "__str__", "__format__"})


def _is_kept() -> bool:
    """Whether code of the user's asks for a text, or for a place in a set, in a trace that gets compiled.

    What it gets is the same in all later calls: then it has to be that of the number itself.
    """
    frame: FrameType | None = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_name not in _TEXTS:
            if is_own_file(code.co_filename):
                return False
            if str(frame.f_globals.get("__name__")).partition(".")[0] not in _LIBRARIES:
                return any(getattr(mode, "compiling", False) for mode in state.modes)
        frame = frame.f_back
    return False


#: What stands between who asks and a number: `collections`, say, or `pprint`.
_LIBRARIES = sys.stdlib_module_names - {"__main__"}


def _binary(name: str, swap: bool = False) -> Callable[[Any, Any], Any]:
    def method(self: SymNumber, other: Any) -> Any:
        if not isinstance(other, (int, float, SymNumber)):
            if not hasattr(other, "__index__") or hasattr(other, "shape") and other.shape != ():
                return NotImplemented
            other = other.__index__()
        if isinstance(other, (bool, SymBool)):
            other = int(bool(other))
        return self.env.binary(name, other, self) if swap else self.env.binary(name, self, other)

    return method


def _relation(name: str) -> Callable[[Any, Any], Any]:
    def method(self: SymNumber, other: Any) -> Any:
        if other is self:
            return name in ("eq", "le", "ge")
        if not isinstance(other, (int, float, SymNumber)):
            return NotImplemented
        if isinstance(other, (bool, SymBool)):
            other = int(bool(other))
        return self.env.relation(name, self, other)

    return method


class _Arithmetic(SymNumber):
    __slots__ = ()

    __add__, __radd__ = _binary("add"), _binary("add", True)
    __sub__, __rsub__ = _binary("sub"), _binary("sub", True)
    __mul__, __rmul__ = _binary("mul"), _binary("mul", True)
    __truediv__, __rtruediv__ = _binary("truediv"), _binary("truediv", True)
    __floordiv__, __rfloordiv__ = _binary("floordiv"), _binary("floordiv", True)
    __mod__, __rmod__ = _binary("mod"), _binary("mod", True)
    __pow__, __rpow__ = _binary("pow"), _binary("pow", True)
    __eq__, __ne__ = _relation("eq"), _relation("ne")  # type: ignore[assignment]  # symbolic, as everywhere in the field
    __lt__, __le__ = _relation("lt"), _relation("le")
    __gt__, __ge__ = _relation("gt"), _relation("ge")

    __hash__ = SymNumber.__hash__

    def __neg__(self) -> Any:
        return self.env.binary("mul", self, -1)

    def __pos__(self) -> Any:
        return self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __bool__(self) -> bool:
        return bool(self != 0)

    def __divmod__(self, other: Any) -> tuple[Any, Any]:
        return self // other, self % other


class SymInt(_Arithmetic):
    """An int that a trace does not fix.

    Examples
    --------
    >>> seen = []
    >>> _ = opweave.make_fx(lambda x: seen.append(x.shape[0]) or x + 1, tracing_mode="symbolic")(opweave.ones(3, 4))
    >>> type(seen[0]).__name__
    'SymInt'
    """

    __slots__ = ()
    kind = "int"

    def __int__(self) -> int:
        return self.env.fix(self)

    def __index__(self) -> int:
        return self.env.fix(self)

    def __float__(self) -> float:
        return float(self.env.fix(self))

    def __floor__(self) -> SymInt:
        return self

    __ceil__ = __round__ = __trunc__ = __floor__

    def __and__(self, other: Any) -> Any:
        # The low bits of a number are its remainder.
        if isinstance(other, int) and other >= 0 and not other & (other + 1):
            return self % (other + 1)
        return int(self) & int(other)

    __rand__ = __and__

    def __or__(self, other: Any) -> int:
        # Bits have no expression: `triton.next_power_of_2` fixes the number.
        return int(self) | int(other)

    def __xor__(self, other: Any) -> int:
        return int(self) ^ int(other)

    __ror__, __rxor__ = __or__, __xor__

    def __lshift__(self, other: int) -> Any:
        return self * (1 << int(other))

    def __rshift__(self, other: int) -> Any:
        return self // (1 << int(other))

    def bit_length(self) -> int:
        """Of its value, which becomes fixed."""
        return int(self).bit_length()

    def is_integer(self) -> bool:
        """True, as for Python's own."""
        return True


class SymFloat(_Arithmetic):
    """A float that a trace does not fix.

    Examples
    --------
    >>> issubclass(opweave.SymFloat, opweave.SymInt)
    False
    """

    __slots__ = ()
    kind = "float"

    def __float__(self) -> float:
        return float(self.env.fix(self))

    def __int__(self) -> int:
        return int(float(self))

    def __floor__(self) -> Any:
        return self.env.rounded_down(self)

    def __ceil__(self) -> Any:
        return -self.env.rounded_down(self * -1)

    def __trunc__(self) -> Any:
        return math.floor(self) if self >= 0 else math.ceil(self)


class SymBool(SymNumber):
    """A bool that a trace has not fixed yet; using it in an `if` does.

    Parameters
    ----------
    env, expr
        See `SymNumber`.
    of_size : tuple, optional
        `(relation, number, constant)` where a number that may be a size is compared with 0, 1 or 2.

    Examples
    --------
    >>> traced = opweave.make_fx(lambda x: x.reshape(x.shape[0] * 2, -1), tracing_mode="symbolic")
    >>> len(traced(opweave.ones(3, 4)).graph) > 2
    True
    """

    __slots__ = ("of_size",)
    kind = "bool"

    def __init__(self, env: ShapeEnv, expr: Any, of_size: tuple[str, Any, int] | None = None):
        super().__init__(env, expr)
        self.of_size = of_size

    def __bool__(self) -> bool:
        return self.env.decide(self.expr, self.of_size)

    __hash__ = SymNumber.__hash__

    def __and__(self, other: Any) -> Any:
        return self.env.logical("and", self, other)

    def __or__(self, other: Any) -> Any:
        return self.env.logical("or", self, other)

    __rand__, __ror__ = __and__, __or__

    def __invert__(self) -> Any:
        return self.env.logical("not", self)

    def __eq__(self, other: object) -> Any:
        return bool(self) == bool(other)

    def __ne__(self, other: object) -> Any:
        return bool(self) != bool(other)

    def __int__(self) -> int:
        return int(bool(self))

    __index__ = __int__


def sym_not(value: Any) -> Any:
    """`not value` without deciding it.

    Examples
    --------
    >>> opweave.sym_not(False)
    True
    """
    return ~value if isinstance(value, SymBool) else not value


def _least(*values: Any) -> Any:
    return functools.reduce(sym_min, values) if len(values) > 1 else min(*values)


def _largest(*values: Any) -> Any:
    return functools.reduce(sym_max, values) if len(values) > 1 else max(*values)


#: Functions that decide on numbers, as nodes call them, and what computes with symbolic ones, too.
UNDECIDED: dict[Any, Callable[..., Any]] = {min: _least, max: _largest, operator.not_: sym_not}


def sym_max(a: Any, b: Any) -> Any:
    """The larger of two numbers, symbolic if one is.

    Examples
    --------
    >>> opweave.sym_max(2, 3)
    3
    """
    return _extreme("max", a, b)


def sym_min(a: Any, b: Any) -> Any:
    """The smaller of two numbers, symbolic if one is.

    Examples
    --------
    >>> opweave.sym_min(2, 3)
    2
    """
    return _extreme("min", a, b)


def _extreme(name: str, a: Any, b: Any) -> Any:
    for value in (a, b):
        if isinstance(value, SymNumber):
            return value.env.binary(name, a, b)
    return max(a, b) if name == "max" else min(a, b)


def sym_int(value: Any) -> Any:
    """An int, symbolic if the number is; a float is cut off.

    Examples
    --------
    >>> opweave.sym_int(3.7)
    3
    """
    if isinstance(value, SymFloat):
        return math.trunc(value)
    return value if isinstance(value, SymInt) else int(value)


def sym_float(value: Any) -> Any:
    """A float, symbolic if the number is.

    Examples
    --------
    >>> opweave.sym_float(3)
    3.0
    """
    if isinstance(value, SymInt):
        return value.env.wrap(value.expr, SymFloat)
    return value if isinstance(value, SymFloat) else float(value)


def guard_int(value: Any) -> int:
    """A plain int: for a symbolic one its value in the example, which becomes a guard."""
    return int(value)


def check(condition: Any, message: str | Callable[[], str] | None = None) -> None:
    """Demand a condition on sizes and numbers; code after it may rely on it.

    On plain numbers it is tested at once. In a trace it becomes a guard, or, where it depends on data, an assertion
    that is tested when the trace runs.

    Parameters
    ----------
    condition : bool or SymBool
        What must hold.
    message : str or callable, optional
        Text of the error.

    Raises
    ------
    ShapeError
        If it does not hold.
    ArgumentError
        If the condition is no bool.

    Examples
    --------
    >>> n = mask.nonzero().shape[0]  # doctest: +SKIP
    >>> opweave.check(n >= 2, "needs two points")  # doctest: +SKIP
    """
    if isinstance(condition, SymBool):
        condition.env.check(condition, message)
    elif isinstance(condition, SymNumber) or type(condition).__name__ not in ("bool", "bool_"):
        raise ArgumentError(
            "check: the condition must be a bool",
            got=f"{condition!r} ({type(condition).__name__})",
            hint="check(n > 0); for the elements of a tensor, check(bool((x > 0).all()))",
        )
    elif not condition:
        text = message() if callable(message) else message
        raise ShapeError(text or "check: the condition does not hold")


def check_is_size(value: Any) -> None:
    """Demand that a number can be a size: that it is not negative.

    Examples
    --------
    >>> opweave.check_is_size(3)
    """
    check(value >= 0, lambda: f"{value} cannot be a size")


def statically_known_true(value: Any) -> bool:
    """Whether a condition holds for every value that the symbols may have; no guard is added."""
    return value.env.known(value.expr) is True if isinstance(value, SymBool) else bool(value)

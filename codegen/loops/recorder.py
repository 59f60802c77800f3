"""Runs op bodies to record scalar values: the handler of the scalar vocabulary that codegen uses.

A body such as `x / (1 + k.exp(-x))` is called with a `Recorder` and `Term`s; what comes out is a graph of `Value`s in
which everything is typed, and what the vocabulary can express by simpler functions has been (`sigmoid`, `isnan`,
`remainder`, ...). What remains for a printer is the table `spec.PRIMITIVES`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from opweave.codegen.loops.values import Buffer, Const, Prim, Value, Values
from opweave.fake.symbolic import SymNumber
from opweave.registry import dtypes
from opweave.registry.dtypes import DType, promote_types
from opweave.registry.errors import UnsupportedError
from opweave.registry.ops.kinds.loops import KernelScalars
from opweave.registry.scalar import DIVISION_BY_ZERO, UNARY_FLOAT
from opweave.registry.triton.expression import Expression, NotAMap
from opweave.tracer.loops.element_maps import evaluate
from opweave.tracer.loops.index import ZERO
from opweave.tracer.loops.size import Poly, scalar_of

_COMPARISONS = frozenset(("eq", "ne", "lt", "le", "gt", "ge"))
_SWAPPED = {"lt": "gt", "le": "ge", "gt": "lt", "ge": "le", "eq": "eq", "ne": "ne"}
_IDENTITY_ON_INTEGERS = frozenset(("floor", "ceil", "trunc", "round"))


class Term:
    """A value with the operators that bodies use."""

    __slots__ = ("k", "number", "value")
    __hash__ = None  # type: ignore[assignment]  # `==` makes a value

    def __init__(self, k: Recorder, value: Value, number: float | None = None):
        self.k = k
        self.value = value
        self.number = number

    @property
    def dtype(self) -> DType:
        """Type of the value."""
        return self.value.dtype

    @property
    def constant(self) -> bool | int | float | None:
        """The number that it is; None where that is not known."""
        return self.value.value if isinstance(self.value, Const) else None

    def __add__(self, other: Any) -> Term:
        return self.k.binary("add", self, other)

    def __radd__(self, other: Any) -> Term:
        return self.k.binary("add", other, self)

    def __sub__(self, other: Any) -> Term:
        return self.k.binary("sub", self, other)

    def __rsub__(self, other: Any) -> Term:
        return self.k.binary("sub", other, self)

    def __mul__(self, other: Any) -> Term:
        return self.k.binary("mul", self, other)

    def __rmul__(self, other: Any) -> Term:
        return self.k.binary("mul", other, self)

    def __truediv__(self, other: Any) -> Term:
        return self.k.binary("truediv", self, other)

    def __rtruediv__(self, other: Any) -> Term:
        return self.k.binary("truediv", other, self)

    def __pow__(self, other: Any) -> Term:
        return self.k.pow(self, other)

    def __neg__(self) -> Term:
        return self.k.neg(self)

    def __and__(self, other: Any) -> Term:
        return self.k.binary("and_", self, other)

    def __rand__(self, other: Any) -> Term:
        return self.k.binary("and_", other, self)

    def __or__(self, other: Any) -> Term:
        return self.k.binary("or_", self, other)

    def __ror__(self, other: Any) -> Term:
        return self.k.binary("or_", other, self)

    def __xor__(self, other: Any) -> Term:
        return self.k.binary("xor", self, other)

    def __rxor__(self, other: Any) -> Term:
        return self.k.binary("xor", other, self)

    def __invert__(self) -> Term:
        return self.k.op("invert", self)

    def __lshift__(self, other: Any) -> Term:
        return self.k.shift("lshift", self, other)

    def __rlshift__(self, other: Any) -> Term:
        return self.k.shift("lshift", other, self)

    def __rshift__(self, other: Any) -> Term:
        return self.k.shift("rshift", self, other)

    def __rrshift__(self, other: Any) -> Term:
        return self.k.shift("rshift", other, self)

    def __eq__(self, other: Any) -> Term:  # type: ignore[override]  # a value, not a truth
        return self.k.binary("eq", self, other)

    def __ne__(self, other: Any) -> Term:  # type: ignore[override]  # as `==`
        return self.k.binary("ne", self, other)

    def __lt__(self, other: Any) -> Term:
        return self.k.binary("lt", self, other)

    def __le__(self, other: Any) -> Term:
        return self.k.binary("le", self, other)

    def __gt__(self, other: Any) -> Term:
        return self.k.binary("gt", self, other)

    def __ge__(self, other: Any) -> Term:
        return self.k.binary("ge", self, other)

    def __bool__(self) -> bool:
        raise UnsupportedError("an op's body branched on a value", hint="write it with k.where")


class Recorder(KernelScalars):
    """Builds values; see the module."""

    def __init__(self, values: Values):
        self.values = values
        #: Where what is computed means something; None stands for everywhere.
        self.inside: Value | None = None
        #: Whether kernels report what eager code raises.
        self.checks = True

    # ---- typing ----------------------------------------------------------------------------------------------------

    def term(self, x: Any, like: DType | None = None) -> Term:
        """A term as it is, a Python number as a constant of type `like` (its own type if None)."""
        if isinstance(x, Term):
            return x
        if isinstance(x, (Poly, SymNumber)):
            return self._size(x, like)
        if like is None or (like.kind in "biu" and isinstance(x, float)) or (like.kind == "b" and type(x) is int):
            like = dtypes.bool_ if isinstance(x, bool) else dtypes.int64 if isinstance(x, int) else dtypes.float64
        return Term(self, self.values.const(x, like))

    def _size(self, x: Poly | SymNumber, like: DType | None) -> Term:
        """A number that is known when the kernel is launched."""
        floating = isinstance(x, SymNumber) and x.kind == "float"
        poly = x if isinstance(x, Poly) else scalar_of(x)
        found = Term(self, self.values.number(poly, dtypes.float64 if floating else dtypes.int64))
        if like is None or like.kind == "b" or (like.kind in "iu" and floating):
            return found
        return self.cast(found, like)

    def pair(self, a: Any, b: Any) -> tuple[Term, Term]:
        """Two operands in one type."""
        ta = a if isinstance(a, Term) else self.term(a, self.dtype(b) if isinstance(b, Term) else None)
        tb = b if isinstance(b, Term) else self.term(b, self.dtype(ta))
        if ta.dtype is not tb.dtype:
            common = promote_types(ta.dtype, tb.dtype)
            ta, tb = self.cast(ta, common), self.cast(tb, common)
        return ta, tb

    def op(self, name: str, *args: Term, dtype: DType | None = None) -> Term:
        """A primitive; its type is that of its first operand unless given."""
        return Term(self, self.values.prim(name, [a.value for a in args], dtype or args[0].dtype))

    def extern(self, name: str, args: Iterable[Term], dtype: DType) -> Term:
        """A function of libdevice."""
        return Term(self, self.values.extern(name, [a.value for a in args], dtype))

    def binary(self, name: str, a: Any, b: Any) -> Term:
        """An operator on two operands."""
        ta, tb = self.pair(a, b)
        if ta.dtype.kind == "b":
            # Arithmetic on truth values is logical.
            name = {"add": "or_", "mul": "and_", "sub": "xor"}.get(name, name)
        if name == "truediv" and ta.dtype.kind in "biu":
            ta, tb = self.cast(ta, dtypes.float64), self.cast(tb, dtypes.float64)
        if name in _COMPARISONS:
            if ta.constant is not None and tb.constant is None:
                ta, tb, name = tb, ta, _SWAPPED[name]
            if name == "ne" and tb.constant == 0 and isinstance(ta.value, Prim) and ta.value.name == "cast":
                # `cast(truth) != 0` is the truth itself.
                inner = ta.value.args[0]
                if inner.dtype.kind == "b":
                    return Term(self, inner)
            return self.op(name, ta, tb, dtype=dtypes.bool_)
        return self.op(name, ta, tb)

    def dtype(self, x: Any) -> DType:
        return x.dtype if isinstance(x, Term) else self.term(x).value.dtype

    def number(self, x: Any) -> float | None:
        return x.number if isinstance(x, Term) else super().number(x)

    def operand(self, value: Any, dtype: DType) -> Term:
        """A Python number in a tensor's place, which remembers what it is."""
        if type(value) is float and dtype.kind in "iu":
            return self.cast(self.const(value, dtypes.float64), dtype)  # it may be no whole number
        found = self.const(value, dtype)
        found.number = float(value) if type(value) in (int, float) and dtype.kind == "f" else None
        return found

    def const(self, value: Any, dtype: DType) -> Term:
        if isinstance(value, (Poly, SymNumber)):
            return self.cast(self._size(value, dtype), dtype)
        return Term(self, self.values.const(value, dtype))

    def cast(self, x: Any, dtype: DType) -> Term:
        t = self.term(x, dtype)
        have = t.dtype
        if have is dtype:
            return t
        number = t.constant
        if number is not None and (dtype.kind == "f" or have.kind in "biu"):
            if have.kind == "f" and have.itemsize < 8:
                with np.errstate(all="ignore"):
                    number = float(np.asarray(number).astype(have.numpy))  # the number that the type holds
            return Term(self, self.values.const(number, dtype))
        if dtype.kind == "b":
            return self.binary("ne", t, 0)
        if have.kind == "f" and dtype.kind in "iu":
            # NaN and what is too large become the least integer, as in eager; Triton's conversion saturates.
            t = self.cast(t, have.compute)
            beyond = 2.0 ** (63 if dtype.itemsize == 8 else 31)
            if dtype.kind == "u" and dtype.itemsize >= 4:
                return self._unsigned(t, beyond, dtype)
            t = self.where(t < beyond, t, -beyond)
        return self.op("cast", t, dtype=dtype)

    def _unsigned(self, t: Term, beyond: float, dtype: DType) -> Term:
        """A float as an integer that holds twice as much as a signed one: below zero it wraps."""
        signed = dtypes.int64 if dtype.itemsize == 8 else dtypes.int32
        is_large = self.where(t >= beyond, t < 2 * beyond, False)
        within = self.where(is_large, t - beyond, self.where(t < beyond, t, -beyond))
        whole = self.op("cast", within, dtype=signed)
        return self.op("cast", whole ^ self.where(is_large, self.term(-int(beyond), signed), 0), dtype=dtype)

    def where(self, condition: Any, a: Any, b: Any) -> Term:
        c = self.cast(self.term(condition), dtypes.bool_)
        ta, tb = self.pair(a, b)
        return self.op("where", c, ta, tb, dtype=ta.dtype)

    # ---- functions of one value ------------------------------------------------------------------------------------

    def __getattr__(self, name: str) -> Any:
        if name not in UNARY_FLOAT:
            return super().__getattr__(name)

        def apply(x: Any) -> Term:
            t = self.term(x, dtypes.float32)
            if t.dtype.kind in "biu":
                if name in _IDENTITY_ON_INTEGERS:
                    return t
                t = self.cast(t, dtypes.get_default_dtype())
            return self.op(name, t)

        setattr(self, name, apply)
        return apply

    def sigmoid(self, x: Any) -> Term:
        return 1.0 / (1.0 + self.exp(-self.term(x)))

    def neg(self, x: Any) -> Term:
        t = self.term(x)
        # Triton's unary minus is `0 - x`, which loses the sign of a zero.
        return self.binary("mul", t, -1.0) if t.dtype.kind == "f" else self.op("neg", t)

    def abs(self, x: Any) -> Term:
        t = self.term(x)
        return t if t.dtype.kind in "bu" else self.op("abs", t)

    def reciprocal(self, x: Any) -> Term:
        return 1.0 / self.term(x)

    def sign(self, x: Any) -> Term:
        t = self.term(x)
        kind = t.dtype.kind
        if kind == "b":
            return t
        zero = self.where(t == t, self.const(0, t.dtype), t) if kind == "f" else self.const(0, t.dtype)
        negative = self.where(t < 0, self.const(-1, t.dtype), zero) if kind != "u" else zero
        return self.where(t > 0, self.const(1, t.dtype), negative)

    def _floating(self, x: Any, otherwise: bool) -> tuple[Term, Term | None]:
        t = self.term(x)
        return t, None if t.dtype.kind == "f" else self.const(otherwise, dtypes.bool_)

    def isnan(self, x: Any) -> Term:
        t, known = self._floating(x, False)
        return known if known is not None else t != t

    def isinf(self, x: Any) -> Term:
        t, known = self._floating(x, False)
        return known if known is not None else self.abs(t) == math.inf

    def isfinite(self, x: Any) -> Term:
        t, known = self._floating(x, True)
        return known if known is not None else self.abs(t) < math.inf

    def signbit(self, x: Any) -> Term:
        t = self.term(x)
        if t.dtype.kind == "f":
            return self.op("signbit", t, dtype=dtypes.bool_)
        return t < 0 if t.dtype.kind == "i" else self.const(False, dtypes.bool_)

    def logical_not(self, x: Any) -> Term:
        t = self.term(x)
        return self.op("invert", t) if t.dtype.kind == "b" else t == 0

    # ---- functions of two values -----------------------------------------------------------------------------------

    def maximum(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        return ta | tb if ta.dtype.kind == "b" else self.op("maximum", ta, tb)

    def minimum(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        return ta & tb if ta.dtype.kind == "b" else self.op("minimum", ta, tb)

    def require(self, x: Term, holds: Term, message: str) -> Term:
        """`x`, and a report where it means something but `holds` is false."""
        if not self.checks:
            return x
        if self.inside is not None:
            holds = holds | self.op("invert", Term(self, self.inside))
        return Term(self, self.values.require(x.value, holds.value, message))

    def _divisor(self, b: Term) -> Term:
        """A divisor that is not zero; that it was is reported."""
        one = self.const(1, b.dtype)
        if b.constant is not None:
            return b if b.constant else self.require(one, self.const(False, dtypes.bool_), DIVISION_BY_ZERO)
        nonzero = b != 0
        return self.require(self.where(nonzero, b, one), nonzero, DIVISION_BY_ZERO)

    def trunc_divide(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        own = ta.dtype
        if own.kind == "f":
            quotient = self.cast(ta, own.compute) / self.cast(tb, own.compute)
            return self.cast(self.trunc(self.cast(self.cast(quotient, own), own.compute)), own)
        return self._by_zero(tb, self.op("tdiv", ta, self._divisor(tb)))

    def _by_zero(self, b: Term, result: Term) -> Term:
        """What an integer division gives, or 0 where it was by zero."""
        return result if b.constant else self.where(b == 0, 0, result)

    def fmod(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        if ta.dtype.kind == "f":
            return self.op("fmod", ta, tb)
        return self._by_zero(tb, self.op("tmod", ta, self._divisor(tb)))

    def remainder(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        rest = self.fmod(ta, tb)
        if ta.dtype.kind in "bu":
            return rest
        return self.where((rest != 0) & ((rest < 0) != (tb < 0)), rest + tb, rest)

    def floor_divide(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        if ta.dtype.kind == "f":
            return self._float_floor_divide(ta, tb)
        quotient = self.trunc_divide(ta, tb)
        if ta.dtype.kind == "u":
            return quotient
        rest = ta - quotient * tb
        down = (rest != 0) & ((rest < 0) != (tb < 0))
        if not tb.constant:
            down = down & (tb != 0)
        return self.where(down, quotient - 1, quotient)

    def _float_floor_divide(self, a: Term, b: Term) -> Term:
        # Through the exact remainder: floor(a / b) is off by one where the quotient rounds up to an integer.
        rest = self.op("fmod", a, b)
        quotient = (a - rest) / b
        quotient = self.where((rest != 0) & ((rest < 0) != (b < 0)), quotient - 1, quotient)
        floored = self.floor(quotient)
        floored = self.where(quotient - floored > 0.5, floored + 1, floored)
        floored = self.where(quotient == 0, (a / b) * 0.0, floored)  # a zero has the sign of a / b
        return self.where(b == 0, a / b, floored)

    def philox(self, seed: Any, number: Any, place: Any) -> tuple[Term, Term, Term, Term]:
        given = [self.cast(x, dtypes.int64) for x in (seed, number, place)]
        words = (self.op("philox", *given, self.const(word, dtypes.int32), dtype=dtypes.uint32) for word in range(4))
        first, second, third, fourth = words
        return first, second, third, fourth

    def atan2(self, a: Any, b: Any) -> Term:
        return self.op("atan2", *self.pair(a, b))

    def shift(self, name: str, a: Any, b: Any) -> Term:
        """A shift; by the width or more it gives what an endless shift would."""
        ta, tb = self.pair(a, b)
        width = ta.dtype.itemsize * 8
        if isinstance(tb.constant, int) and 0 <= tb.constant < width:
            return self.op(name, ta, tb)
        inside = (tb >= 0) & (tb < width)
        shifted = self.op(name, ta, self.where(inside, tb, 0))
        keeps_sign = name == "rshift" and ta.dtype.kind == "i"
        beyond: Any = self.where(ta < 0, self.const(-1, ta.dtype), 0) if keeps_sign else 0
        return self.where(inside, shifted, beyond)

    def pow(self, a: Any, b: Any) -> Term:
        ta, tb = self.pair(a, b)
        exponent = tb.constant
        if ta.dtype.kind == "f":
            if exponent is not None and exponent in (0.0, 1.0, 2.0, 3.0, -1.0, 0.5):
                return self._simple_power(ta, float(exponent))
            return self.op("pow", ta, tb)
        if isinstance(exponent, int) and exponent >= 0:
            return self._power_by_squaring(ta, exponent)
        return self._integer_power(ta, tb)

    def _simple_power(self, a: Term, exponent: float) -> Term:
        if exponent == 0.5:
            return self.where(a == -math.inf, math.inf, self.sqrt(a + 0.0))
        if exponent == -1.0:
            return 1.0 / a
        return {0.0: lambda: self.where(a == a, 1.0, self.const(1, a.dtype)), 1.0: lambda: a,
                2.0: lambda: a * a, 3.0: lambda: a * a * a}[exponent]()  # fmt: skip

    def _power_by_squaring(self, a: Term, exponent: int) -> Term:
        result: Term | None = None
        while exponent:
            if exponent & 1:
                result = a if result is None else result * a
            a = a * a
            exponent >>= 1
        return self.const(1, a.dtype) if result is None else result

    def _integer_power(self, a: Term, b: Term) -> Term:
        dtype = a.dtype
        one = self.const(1, dtype)
        result, base = one, a
        for bit in range(dtype.itemsize * 8 - (dtype.kind == "i")):
            result = self.where((b & (1 << bit)) != 0, result * base, result)
            base = base * base
        if dtype.kind == "i":
            odd = self.where((b & 1) != 0, self.const(-1, dtype), one)
            inverse = self.where(a == 1, one, self.where(a == -1, odd, self.const(0, dtype)))
            result = self.where(b < 0, inverse, result)
        return result


def map_objection(expression: Expression, loaded: Mapping[str, DType], numbers: Mapping[str, Any]) -> str:
    """Why what a user's kernel computes cannot be computed in a generated one; empty where it can.

    Parameters
    ----------
    expression : Expression
        What it stores.
    loaded : mapping of str to DType
        Types of what it loads, by pointer.
    numbers : mapping of str to number
        Arguments that it takes as numbers.
    """
    k = Recorder(Values())
    terms = {name: Term(k, k.values.load(Buffer(name, dtype, (), ()), ZERO)) for name, dtype in loaded.items()}
    try:
        evaluate(k, expression, terms, numbers)
    except NotAMap as error:
        return str(error)
    return ""

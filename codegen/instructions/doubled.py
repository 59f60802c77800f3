"""Functions of float32 numbers by way of float64, rounded once.

Some digits are lost on the way, of those that float32 numbers do not have: the results are the nearest numbers but for
one in millions.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable

from opweave.codegen.instructions import formulas64
from opweave.codegen.instructions.arithmetic import F32, F64
from opweave.codegen.instructions.operands import Operand

_TAN_EIGHTH = 0.41421356237309503  # tan(pi / 8)
# (atan(t) / t - 1) / t^2 in t^2 on |t| <= tan(pi / 8), absolute error 4e-14
_ATAN = (
    0.032998707681635556, -0.06029830813552158, 0.07605397159406324, -0.0908417200414473, 0.11110823945883,
    -0.1428570823198382, 0.19999999951168643, -0.3333333333326852,
)  # fmt: skip

#: By their names.
FUNCTIONS: dict[str, Callable[..., Operand]] = {}


def _doubled(formula: Callable[..., Operand]) -> Callable[..., Operand]:
    """Decorator: the formula on float32 numbers."""

    @functools.wraps(formula)
    def single(f: F32, *args: Operand) -> Operand:
        wide = F64(f.em, f.width, f.has_fma)
        given = [f.em.inst(f"fpext {f.type} {x} to {wide.type}") for x in args]
        return f.em.inst(f"fptrunc {wide.type} {formula(wide, *given)} to {f.type}")

    FUNCTIONS[formula.__name__] = single
    return single


def _signed(f: F64, size: Operand, x: Operand) -> Operand:
    """With the sign of x; as small as x itself where it is."""
    tiny = f.compare("olt", f.intrinsic("fabs", x), f.const(2.0**-40))
    return f.select(tiny, x, f.intrinsic("copysign", size, x))


@_doubled
def tan(f: F64, x: Operand) -> Operand:
    return f.div(formulas64.sin(f, x), formulas64.cos(f, x))


@_doubled
def sinh(f: F64, x: Operand) -> Operand:
    grown = formulas64.expm1(f, f.intrinsic("fabs", x))
    # Twice the half: of an infinite one no quotient is taken.
    rest = f.div(grown, f.add(grown, f.const(1.0)))
    rest = f.select(f.compare("oeq", grown, f.const(math.inf)), f.const(1.0), rest)
    return _signed(f, f.mul(f.add(grown, rest), f.const(0.5)), x)


@_doubled
def cosh(f: F64, x: Operand) -> Operand:
    power = formulas64.exp(f, f.intrinsic("fabs", x))
    return f.mul(f.add(power, f.div(f.const(1.0), power)), f.const(0.5))


@_doubled
def asinh(f: F64, x: Operand) -> Operand:
    a, one = f.intrinsic("fabs", x), f.const(1.0)
    root = f.intrinsic("sqrt", f.fma(a, a, one))
    more = f.div(f.mul(a, a), f.add(root, one))
    found = formulas64.log1p(f, f.add(a, more))
    return _signed(f, f.select(f.compare("oeq", a, f.const(math.inf)), a, found), x)


@_doubled
def acosh(f: F64, x: Operand) -> Operand:
    t = f.sub(x, f.const(1.0))
    found = formulas64.log1p(f, f.add(t, f.intrinsic("sqrt", f.mul(t, f.add(t, f.const(2.0))))))
    return f.select(f.compare("olt", t, f.const(0.0)), f.const(math.nan), found)


@_doubled
def atanh(f: F64, x: Operand) -> Operand:
    a, one = f.intrinsic("fabs", x), f.const(1.0)
    return _signed(f, f.mul(formulas64.log1p(f, f.div(f.add(a, a), f.sub(one, a))), f.const(0.5)), x)


def _atan_of_quotient(f: F64, y: Operand, x: Operand) -> Operand:
    """atan(y / x) of numbers that are not negative: of the lesser by the greater, and of that beside a quarter."""
    swapped = f.compare("ogt", y, x)
    over, under = f.select(swapped, x, y), f.select(swapped, y, x)
    # atan(t) is pi / 8 more than that of (t - c) / (1 + c t).
    c = f.const(_TAN_EIGHTH)
    t = f.div(f.sub(over, f.mul(c, under)), f.fma(c, over, under))
    z = f.mul(t, t)
    found = f.add(f.fma(f.mul(t, z), f.polynomial(z, _ATAN), t), f.const(math.pi / 8))
    # What is small is left of a difference, with few digits.
    small = f.compare("olt", over, f.mul(under, f.const(2.0**-10)))
    ratio = f.div(over, under)
    cube = f.mul(f.mul(ratio, ratio), ratio)
    found = f.select(small, f.fma(cube, f.const(-1 / 3), ratio), found)
    return f.select(swapped, f.sub(f.const(math.pi / 2), found), found)


@_doubled
def atan(f: F64, x: Operand) -> Operand:
    a = f.intrinsic("fabs", x)
    found = _atan_of_quotient(f, f.at_most(a, 1e300), f.const(1.0))
    return _signed(f, found, x)


@_doubled
def asin(f: F64, x: Operand) -> Operand:
    a, one = f.intrinsic("fabs", x), f.const(1.0)
    root = f.intrinsic("sqrt", f.mul(f.sub(one, a), f.add(one, a)))
    return _signed(f, _atan_of_quotient(f, a, root), x)


@_doubled
def acos(f: F64, x: Operand) -> Operand:
    a, one = f.intrinsic("fabs", x), f.const(1.0)
    root = f.intrinsic("sqrt", f.mul(f.sub(one, a), f.add(one, a)))
    found = _atan_of_quotient(f, root, a)
    return f.select(f.compare("olt", x, f.const(0.0)), f.sub(f.const(math.pi), found), found)


@_doubled
def atan2(f: F64, y: Operand, x: Operand) -> Operand:
    a, b, inf, zero = f.intrinsic("fabs", y), f.intrinsic("fabs", x), f.const(math.inf), f.const(0.0)
    found = _atan_of_quotient(f, a, b)
    far = f.either(f.compare("oeq", a, inf), f.compare("oeq", b, inf))
    # Of infinities those of ones, of 0 and 0 that of 0 and 1.
    ones = [f.select(f.compare("oeq", v, inf), f.const(1.0), zero) for v in (a, b)]
    of_ends = f.select(f.compare("oeq", ones[0], zero), zero, f.select(
        f.compare("oeq", ones[1], zero), f.const(math.pi / 2), f.const(math.pi / 4)
    ))  # fmt: skip
    found = f.select(far, of_ends, found)
    found = f.select(f.compare("oeq", a, zero), zero, found)
    negative = f.int_compare("slt", f.bits(x), f.int_const(0))
    found = f.select(negative, f.sub(f.const(math.pi), found), found)
    found = f.select(f.compare("uno", x, y), f.const(math.nan), found)
    return f.intrinsic("copysign", found, y)

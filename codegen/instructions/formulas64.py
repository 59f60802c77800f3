"""Elementary functions of float64 numbers, inline.

They are polynomials on the vector, within about a unit in the last place, right at infinities, NaN, zeros and subnormal
results. Where no source is named, coefficients are near-minimax (Chebyshev) fits; the others, and how the parts of
logarithms are added, are those of Sun's fdlibm (1993).
"""

from __future__ import annotations

import math
from collections.abc import Sequence

from opweave.codegen.instructions.arithmetic import F64
from opweave.codegen.instructions.operands import Operand

_LOG2E, _LN2 = 1.4426950408889634, 0.6931471805599453
# The first has 33 bits, so that its product with an exponent is exact.
_LN2_HI, _LN2_LO = 6.93147180369123816490e-01, 1.90821492927058770002e-10
_LN2_REST = 2.3190468138462996e-17
_LOG2E_HI, _LOG2E_LO = 1.44269504072144627571e00, 1.67517131648865118353e-10
_LOG10E_HI, _LOG10E_LO = 4.34294481878168880939e-01, 2.50829467116452752298e-11
_LG2_HI, _LG2_LO = 3.01029995663611771306e-01, 3.69423907715893078616e-13  # log10(2)
#: pi / 2 in three parts.
_PIO2 = (1.5707963267948966, 6.123233995736766e-17, -1.4973849048591698e-33)
#: Up to here the parts are enough.
_MOST_ANGLE = 1e6

# (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2, absolute error of the exponential 6e-19
_EXP = (
    2.0919803002161697e-09, 2.510735451493396e-08, 2.755725868716418e-07, 2.7557250160926953e-06,
    2.4801587340819855e-05, 0.00019841269879035015, 0.0013888888888877397, 0.008333333333324904, 0.04166666666666668,
    0.1666666666666667, 0.5,
)  # fmt: skip
# (log(1 + f) - f + f^2 / 2) / s - f^2 / 2 in s^2, with s = f / (2 + f), on sqrt(1/2) <= 1 + f <= sqrt(2)
_LOG = (
    1.479819860511658591e-01, 1.531383769920937332e-01, 1.818357216161805012e-01, 2.222219843214978396e-01,
    2.857142874366239149e-01, 3.999999999940941908e-01, 6.666666666666735130e-01,
)  # fmt: skip
# sin and cos on |r| <= pi / 4
_SIN = (
    1.58969099521155010221e-10, -2.50507602534068634195e-08, 2.75573137070700676789e-06, -1.98412698298579493134e-04,
    8.33333333332248946124e-03,
)  # fmt: skip
_SIN_FIRST = -1.66666666666666324348e-01
_COS = (
    -1.13596475577881948265e-11, 2.08757232129817482790e-09, -2.75573143513906633035e-07, 2.48015872894767294178e-05,
    -1.38888888888741095749e-03, 4.16666666666666019037e-02,
)  # fmt: skip

_SQRT_HALF = 0x3FE6A09E667F3BCD
_ONE = 0x3FF0000000000000
_FRACTION = (1 << 52) - 1

_MAGIC = 1.5 * 2.0**52
"""Adding it rounds to an integer, which is then in the low bits."""


def _power(f: F64, k: Operand) -> tuple[Operand, Operand]:
    """Two numbers whose product is 2^k, for a whole k: it may be subnormal or beyond the largest number."""
    magic = f.const(_MAGIC + 1023)
    shifted = f.fma(k, f.const(0.5), magic)
    rest = f.add(f.sub(k, f.sub(shifted, magic)), magic)
    first, second = (f.from_bits(f.int_op("shl", f.bits(v), f.int_const(52))) for v in (shifted, rest))
    return first, second


def _exp_parts(f: F64, r: Operand, c: Operand) -> tuple[Operand, Operand]:
    """exp(r + c) - 1, and what it is rounded by; c is small against r."""
    rest = f.fma(f.mul(r, r), f.polynomial(r, _EXP), c)
    head = f.add(r, rest)
    return head, f.sub(rest, f.sub(head, r))


def _reduced(f: F64, x: Operand, more: Operand | None = None) -> tuple[Operand, Operand, Operand]:
    """(k, r, c) with exp(x + more) = 2^k exp(r + c), of which the last is small, as `more` is."""
    magic = f.const(_MAGIC)
    k = f.sub(f.fma(x, f.const(_LOG2E), magic), magic)
    head = f.fma(k, f.const(-_LN2_HI), x)
    low = f.mul(k, f.const(_LN2_LO))
    r = f.sub(head, low)
    c = f.sub(f.sub(head, r), low)
    return k, r, c if more is None else f.add(c, more)


def exp(f: F64, x: Operand, more: Operand | None = None) -> Operand:
    """exp(x + more), where the second is small."""
    k, r, c = _reduced(f, f.at_most(f.at_least(x, -746.0), 710.0), more)
    first, second = _power(f, k)
    return f.mul(f.mul(f.add(_exp_parts(f, r, c)[0], f.const(1.0)), first), second)


def exp2(f: F64, x: Operand) -> Operand:
    x = f.at_most(f.at_least(x, -1076.0), 1025.0)
    magic = f.const(_MAGIC)
    k = f.sub(f.add(x, magic), magic)
    first, second = _power(f, k)
    rest = f.sub(x, k)
    r = f.mul(rest, f.const(_LN2))
    c = f.sub(f.fma(rest, f.const(_LN2), f.neg(r)), f.mul(rest, f.const(-_LN2_REST)))
    return f.mul(f.mul(f.add(_exp_parts(f, r, c)[0], f.const(1.0)), first), second)


def _expm1_parts(f: F64, x: Operand) -> tuple[Operand, Operand]:
    """exp(x) - 1 for -40 <= x <= 700, and what it is rounded by."""
    k, r, c = _reduced(f, x)
    first, second = _power(f, k)
    power = f.mul(first, second)
    head, rest = _exp_parts(f, r, c)
    # 2^k - 1 is greater than what is added, unless it is 0.
    whole, part = f.sub(power, f.const(1.0)), f.mul(power, head)
    total = f.add(whole, part)
    return total, f.fma(power, rest, f.sub(part, f.sub(total, whole)))


def expm1(f: F64, x: Operand) -> Operand:
    head, rest = _expm1_parts(f, f.at_most(f.at_least(x, -40.0), 700.0))
    result = f.select(f.compare("ogt", x, f.const(700.0)), exp(f, x), f.add(head, rest))
    return f.select(f.compare("olt", f.intrinsic("fabs", x), f.const(2.0**-54)), x, result)


def _log_parts(f: F64, x: Operand) -> tuple[Operand, Operand, Operand, Operand]:
    """(e, m, h, c) with log(x) = e ln 2 + m - h + c for positive finite x, where h = m^2 / 2."""
    tiny = f.compare("olt", x, f.const(2.2250738585072014e-308))
    bits = f.bits(f.select(tiny, f.mul(x, f.const(2.0**54)), x))
    # The exponent's step is where the mantissa is sqrt(1/2), so that it is in [sqrt(1/2), sqrt(2)).
    moved = f.int_op("add", bits, f.int_const(_ONE - _SQRT_HALF))
    # As the low bits of 2^52 + n, which is that number: fewer instructions than to convert it.
    exponent = f.int_op("or", f.int_op("lshr", moved, f.int_const(52)), f.int_const(0x4330000000000000))
    e = f.sub(f.from_bits(exponent), f.select(tiny, f.const(2.0**52 + 1077), f.const(2.0**52 + 1023)))
    mantissa = f.int_op("add", f.int_op("and", moved, f.int_const(_FRACTION)), f.int_const(_SQRT_HALF))
    m = f.sub(f.from_bits(mantissa), f.const(1.0))
    s = f.div(m, f.add(m, f.const(2.0)))
    z = f.mul(s, s)
    h = f.mul(f.const(0.5), f.mul(m, m))
    return e, m, h, f.mul(s, f.add(h, f.mul(z, f.polynomial(z, _LOG))))


def _log_ends(f: F64, x: Operand, result: Operand) -> Operand:
    """inf at inf, -inf at 0, NaN below 0 and at NaN."""
    result = f.select(f.compare("oeq", x, f.const(math.inf)), x, result)
    result = f.select(f.compare("oeq", x, f.const(0.0)), f.const(-math.inf), result)
    return f.select(f.compare("uge", x, f.const(0.0)), f.select(f.compare("uno", x, x), x, result), f.const(math.nan))


def _log(f: F64, x: Operand, more: Operand | None) -> Operand:
    """log(x) + `more`, which is small."""
    e, m, h, c = _log_parts(f, x)
    low = f.mul(e, f.const(_LN2_LO))
    low = low if more is None else f.add(low, more)
    return f.sub(f.mul(e, f.const(_LN2_HI)), f.sub(f.sub(h, f.add(c, low)), m))


def log(f: F64, x: Operand) -> Operand:
    return _log_ends(f, x, _log(f, x, None))


def _log_head(f: F64, m: Operand, h: Operand, c: Operand) -> tuple[Operand, Operand]:
    """m - h + c as a number of few bits, and the rest."""
    head = f.from_bits(f.int_op("and", f.bits(f.sub(m, h)), f.int_const(-1 << 32)))
    return head, f.add(f.sub(f.sub(m, head), h), c)


def log2(f: F64, x: Operand) -> Operand:
    e, m, h, c = _log_parts(f, x)
    head, rest = _log_head(f, m, h, c)
    high = f.mul(head, f.const(_LOG2E_HI))
    low = f.add(f.mul(f.add(rest, head), f.const(_LOG2E_LO)), f.mul(rest, f.const(_LOG2E_HI)))
    total = f.add(e, high)
    return _log_ends(f, x, f.add(f.add(low, f.add(f.sub(e, total), high)), total))


def log10(f: F64, x: Operand) -> Operand:
    e, m, h, c = _log_parts(f, x)
    head, rest = _log_head(f, m, h, c)
    high, of_e = f.mul(head, f.const(_LOG10E_HI)), f.mul(e, f.const(_LG2_HI))
    low = f.add(f.mul(e, f.const(_LG2_LO)), f.mul(f.add(rest, head), f.const(_LOG10E_LO)))
    low = f.add(low, f.mul(rest, f.const(_LOG10E_HI)))
    total = f.add(of_e, high)
    return _log_ends(f, x, f.add(f.add(low, f.add(f.sub(of_e, total), high)), total))


def log1p(f: F64, x: Operand) -> Operand:
    """log(u) for u = 1 + x rounded, plus what the rounding lost."""
    one = f.const(1.0)
    u = f.add(x, one)
    large = f.compare("ogt", x, one)
    lost = f.select(large, f.sub(one, f.sub(u, x)), f.sub(x, f.sub(u, one)))
    found = _log_ends(f, u, _log(f, u, f.div(lost, u)))
    return f.select(f.compare("olt", f.intrinsic("fabs", x), f.const(2.0**-54)), x, found)


def tanh(f: F64, x: Operand) -> Operand:
    """t / (t + 2) with t = exp(2 |x|) - 1, in two parts."""
    a = f.at_most(f.intrinsic("fabs", x), 22.0)
    head, rest = _expm1_parts(f, f.add(a, a))
    two = f.const(2.0)
    below = f.add(head, two)
    larger, smaller = (f.select(f.compare("ogt", head, two), v, w) for v, w in ((head, two), (two, head)))
    lost = f.add(f.sub(smaller, f.sub(below, larger)), rest)
    quotient = f.div(head, below)
    # What is left of the dividend beside it, to the first order.
    left = f.sub(f.add(f.fma(f.neg(quotient), below, head), rest), f.mul(quotient, lost))
    found = f.add(quotient, f.div(left, below))
    found = f.select(f.compare("olt", a, f.const(2.0**-28)), a, found)
    return f.intrinsic("copysign", found, x)


def _trigonometric(f: F64, x: Operand, quarter: int, library: str) -> Operand:
    """sin(x + quarter * pi / 2)"""
    magic = f.const(_MAGIC)
    shifted = f.fma(x, f.const(2 / math.pi), magic)
    k = f.sub(shifted, magic)
    n = f.int_op("add", f.bits(shifted), f.int_const(quarter))
    p1, p2, p3 = (f.const(-part) for part in _PIO2)
    head = f.fma(k, p1, x)
    r = f.fma(k, p2, head)
    c = f.fma(k, p3, f.fma(k, p2, f.sub(head, r)))
    z = f.mul(r, r)
    cube = f.mul(z, r)
    inner = f.sub(f.mul(f.const(0.5), c), f.mul(cube, f.polynomial(z, _SIN)))
    sine = f.sub(r, f.sub(f.sub(f.mul(z, inner), c), f.mul(cube, f.const(_SIN_FIRST))))
    half = f.mul(f.const(0.5), z)
    w = f.sub(f.const(1.0), half)
    inner = f.sub(f.mul(f.mul(z, z), f.polynomial(z, _COS)), f.mul(r, c))
    cosine = f.add(w, f.add(f.sub(f.sub(f.const(1.0), w), half), inner))
    odd = f.int_compare("ne", f.int_op("and", n, f.int_const(1)), f.int_const(0))
    sign = f.int_op("shl", f.int_op("and", n, f.int_const(2)), f.int_const(62))
    found: Operand = f.from_bits(f.int_op("xor", f.bits(f.select(odd, cosine, sine)), sign))
    if not quarter:
        found = f.select(f.compare("olt", f.intrinsic("fabs", x), f.const(2.0**-27)), x, found)
    large = f.compare("uge", f.intrinsic("fabs", x), f.const(_MOST_ANGLE if f.has_fma else 0.0))
    return f.by_library(library, large, found, x)


def sin(f: F64, x: Operand) -> Operand:
    return _trigonometric(f, x, 0, "sin")


def cos(f: F64, x: Operand) -> Operand:
    return _trigonometric(f, x, 1, "cos")


# ---- the error function --------------------------------------------------------------------------------------------

# Highest powers first: numerators and denominators of (erf(x) - x) / x in x^2 below 0.84375, of erf(x) - _ERX in x - 1
# up to 1.25, and of log(x exp(x^2) erfc(x)) + 0.5625 in 1 / x^2 up to 1 / 0.35 and beyond.
_ERX = 8.45062911510467529297e-01
_Ratio = tuple[Sequence[float], Sequence[float]]
_ERF_SMALL: _Ratio = (
    (-2.37630166566501626084e-05, -5.77027029648944159157e-03, -2.84817495755985104766e-02, -3.25042107247001499370e-01,
     1.28379167095512558561e-01),
    (-3.96022827877536812320e-06, 1.32494738004321644526e-04, 5.08130628187576562776e-03, 6.50222499887672944485e-02,
     3.97917223959155352819e-01, 1.0),
)  # fmt: skip
_ERF_ONE: _Ratio = (
    (-2.16637559486879084300e-03, 3.54783043256182359371e-02, -1.10894694282396677476e-01, 3.18346619901161753674e-01,
     -3.72207876035701323847e-01, 4.14856118683748331666e-01, -2.36211856075265944077e-03),
    (1.19844998467991074170e-02, 1.36370839120290507362e-02, 1.26171219808761642112e-01, 7.18286544141962662868e-02,
     5.40397917702171048937e-01, 1.06420880400844228286e-01, 1.0),
)  # fmt: skip
_ERF_MID: _Ratio = (
    (-9.81432934416914548592e00, -8.12874355063065934246e01, -1.84605092906711035994e02, -1.62396669462573470355e02,
     -6.23753324503260060396e01, -1.05586262253232909814e01, -6.93858572707181764372e-01, -9.86494403484714822705e-03),
    (-6.04244152148580987438e-02, 6.57024977031928170135e00, 1.08635005541779435134e02, 4.29008140027567833386e02,
     6.45387271733267880336e02, 4.34565877475229228821e02, 1.37657754143519042600e02, 1.96512716674392571292e01, 1.0),
)  # fmt: skip
_ERF_FAR: _Ratio = (
    (-4.83519191608651397019e02, -1.02509513161107724954e03, -6.37566443368389627722e02, -1.60636384855821916062e02,
     -1.77579549177547519889e01, -7.99283237680523006574e-01, -9.86494292470009928597e-03),
    (-2.24409524465858183362e01, 4.74528541206955367215e02, 2.55305040643316442583e03, 3.19985821950859553908e03,
     1.53672958608443695994e03, 3.25792512996573918826e02, 3.03380607434824582924e01, 1.0),
)  # fmt: skip


def _ratio_of(f: F64, condition: Operand, x: Operand, of_x: _Ratio, y: Operand, of_y: _Ratio) -> Operand:
    """One of two quotients by a condition, with one division."""
    above, below = (
        f.select(condition, f.polynomial(x, of_x[i]), f.polynomial(y, of_y[i])) for i in range(2)
    )  # fmt: skip
    return f.div(above, below)


def erf(f: F64, x: Operand) -> Operand:
    em, one = f.em, f.const(1.0)
    a = f.intrinsic("fabs", x)
    is_small = f.compare("ult", a, f.const(0.84375))
    shifted = f.sub(f.at_most(a, 2.0), one)
    near = _ratio_of(f, is_small, f.mul(x, x), _ERF_SMALL, shifted, _ERF_ONE)
    near = f.select(is_small, f.fma(a, near, a), f.add(f.const(_ERX), near))
    out = em.slot(f.type, near)
    beyond = f.compare("oge", a, f.const(1.25))

    def other() -> None:
        b = f.at_most(f.at_least(a, 1.25), 6.0)
        s = f.div(one, f.mul(b, b))
        power = _ratio_of(f, f.compare("olt", b, f.const(1 / 0.35)), s, _ERF_MID, s, _ERF_FAR)
        # exp(-b * b) with b split so that the square of its head is exact.
        head = f.from_bits(f.int_op("and", f.bits(b), f.int_const(-1 << 32)))
        first = f.sub(f.neg(f.mul(head, head)), f.const(0.5625))
        second = f.fma(f.sub(head, b), f.add(head, b), power)
        total = f.add(first, second)
        far = f.sub(one, f.div(exp(f, total, f.sub(second, f.sub(total, first))), b))
        far = f.select(f.compare("olt", a, f.const(6.0)), far, one)
        em.line(f"store {f.type} {f.select(beyond, far, near)}, ptr {out}")

    em.when(f.some(beyond), other)
    return f.intrinsic("copysign", em.inst(f"load {f.type}, ptr {out}"), x)


# ---- division ------------------------------------------------------------------------------------------------------

#: A quotient below this is rounded by less than a half.
_MOST_QUOTIENT = 2.0**51


def fmod(f: F64, a: Operand, b: Operand) -> Operand:
    """C's fmod, exactly: what is left of a multiple of the divisor is a float64 number, if the multiple is the nearest.

    Greater quotients, and what is not finite, are left to the C library.
    """
    x, y = f.intrinsic("fabs", a), f.intrinsic("fabs", b)
    quotient = f.div(x, y)
    rest: Operand = f.intrinsic("fma", f.neg(f.intrinsic("rint", quotient)), y, x)
    rest = f.select(f.compare("olt", rest, f.const(0.0)), f.add(rest, y), rest)
    rest = f.select(f.compare("olt", x, y), x, rest)  # of an infinite divisor too
    rest = f.intrinsic("copysign", rest, a)
    return f.by_library("frem", f.compare("uge", quotient, f.const(_MOST_QUOTIENT)), rest, a, b)

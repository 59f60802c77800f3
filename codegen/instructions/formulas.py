"""Elementary functions of float32 numbers, inline.

They are polynomials on the vector, within 2 ulp, right at infinities, NaN, zeros and subnormal results. The
coefficients are near-minimax (Chebyshev) fits on the interval each comment names.
"""

from __future__ import annotations

from opweave.codegen.instructions import formulas64
from opweave.codegen.instructions.arithmetic import F32, F64, Floats
from opweave.codegen.instructions.emit import splat, vector
from opweave.codegen.instructions.operands import Operand

_INF, _NAN = float("inf"), float("nan")
_LOG2E, _LN2 = 1.4426950408889634, 0.6931471805599453
_LN2_HI, _LN2_LO = 0.693115234375, 3.1946184945309415e-05
_LOG2E_HI, _LOG2E_LO = 1.4426950216293335, 1.925963033500011e-08
_LOG10E_HI, _LOG10E_LO = 0.4342944920063019, -1.0103049952192578e-08
_LG2_HI, _LG2_LO = 0.301025390625, 4.605039066518657e-06  # log10(2); an exponent times the first is exact
_2LN2_HI, _2LN2_LO = 1.38629150390625, 2.8572136406188345e-06
_PIO2 = (1.5707963705062866, -4.371138828673793e-08, -1.7151245100058819e-15)

# (exp(r) - 1 - r) / r^2 on |r| <= ln 2, absolute error 4e-9
_EXP = (2.5035280e-05, 2.0075177e-04, 1.3888325e-03, 8.3327685e-03, 4.1666672e-02, 1.6666670e-01, 0.5)
# (2^r - 1) / r on |r| <= 1, absolute error 9e-10
_EXP2 = (
    1.3358149999476154e-06, 1.5458759662578814e-05, 1.540263183414936e-04, 1.3332259841263294e-03,
    9.618130512535572e-03, 5.550413578748703e-02, 2.4022650718688965e-01, 6.931471824645996e-01,
)  # fmt: skip
# (log(1 + f) - f + f^2 / 2) / f^3 on sqrt(1/2) <= 1 + f <= sqrt(2), absolute error 3e-8
_LOG = (
    0.06971611827611923, -0.11479733884334564, 0.11685419827699661, -0.12425687164068222, 0.14249058067798615,
    -0.1666780263185501, 0.20000715553760529, -0.2499999701976776, 0.3333333134651184,
)  # fmt: skip
# (exp(r) - 1 - r) / r^2 on |r| <= ln(2) / 2, absolute error of the exponential 5e-9
_EXP_NEAR = (0.0013951165676257535, 0.008369279429494675, 0.041666195659426204, 0.16666515580184388, 0.5)
# (tanh(x) / x - 1) / x^2 in x^2 on |x| <= 0.26, error relative to tanh 5e-9
_TANH_SMALL = (-0.05113181308235974, 0.1332194843355816, -0.33333202665438944)
# erf(x) / x - 1 in x^2 on |x| <= 0.92, absolute error 4e-10
_ERF_SMALL = (
    8.387074194615707e-05, -8.147081243805587e-04, 5.2014561370015144e-03, -2.68595889210701e-02,
    1.1283699423074722e-01, -3.7612634897232056e-01, 1.2837916612625122e-01,
)  # fmt: skip
# log(erfc(x)) / x on 0.9 <= x <= 3.95, absolute error 4e-8
_ERF_LARGE = (
    3.2210661515819083e-07, -5.371075076254783e-06, 2.0050068997079507e-05, 2.4262444640044123e-04,
    -3.574123838916421e-03, 2.3855237290263176e-02, -1.0649478435516357e-01, -6.349401473999023e-01,
    -1.128709316253662,
)  # fmt: skip
# (sin(r) / r - 1) / r^2 and (cos(r) - 1 + r^2 / 2) / r^4 in r^2 on |r| <= pi / 4
_SIN = (2.724378191487631e-06, -1.9840039021801203e-04, 8.333331905305386e-03, -1.666666716337204e-01)
_COS = (-2.7295831728224584e-07, 2.48005599132739e-05, -1.38888880610466e-03, 4.16666679084301e-02)


_MAGIC = 1.5 * 2**23 + 127
"""Adding it rounds to an integer whose biased value is then in the low bits: the exponent of a power of two."""


def _two_power(f: F32, x: Operand, log2_of_base_half: float) -> tuple[Operand, Operand]:
    """(k, 2^k) for k = round(x * log2_of_base_half)."""
    shifted = f.fma(x, f.const(log2_of_base_half), f.const(_MAGIC))
    return f.sub(shifted, f.const(_MAGIC)), f.from_bits(f.int_op("shl", f.bits(shifted), f.int_const(23)))


def _reduced_exp(f: F32, x: Operand) -> tuple[Operand, Operand]:
    """(p, s) with exp(x) = (1 + p) s^2; the square reaches the whole range of exponents, subnormal results included."""
    k, s = _two_power(f, x, _LOG2E / 2)
    r = f.fma(k, f.const(-_2LN2_LO), f.fma(k, f.const(-_2LN2_HI), x))
    return f.fma(f.mul(r, r), f.polynomial(r, _EXP), r), s


def exp(f: F32, x: Operand) -> Operand:
    p, s = _reduced_exp(f, f.at_most(f.at_least(x, -104.0), 89.0))
    return f.mul(f.mul(f.add(p, f.const(1.0)), s), s)


def exp2(f: F32, x: Operand) -> Operand:
    x = f.at_most(f.at_least(x, -150.5), 129.0)
    k, s = _two_power(f, x, 0.5)
    r = f.sub(x, f.add(k, k))
    p = f.fma(r, f.polynomial(r, _EXP2), f.const(1.0))
    return f.mul(f.mul(p, s), s)


def expm1(f: F32, x: Operand) -> Operand:
    p, s = _reduced_exp(f, f.at_most(f.at_least(x, -20.0), 89.0))
    square = f.mul(s, s)
    grown = f.mul(f.mul(f.add(p, f.const(1.0)), s), s)
    result = f.fma(square, p, f.sub(square, f.const(1.0)))
    result = f.select(f.compare("ogt", x, f.const(80.0)), grown, result)
    return f.select(f.compare("oeq", x, f.const(0.0)), x, result)


def _log_parts(f: F32, x: Operand) -> tuple[Operand, Operand, Operand]:
    """(e, m, c) with log(x) = e ln 2 + m + c for positive finite x; c is small against m."""
    tiny = f.compare("olt", x, f.const(1.1754943508222875e-38))
    bits = f.bits(f.select(tiny, f.mul(x, f.const(2.0**23)), x))
    # Subtracting the bits of sqrt(1/2) puts the exponent's step there, so that the mantissa is in [sqrt(1/2), sqrt(2)).
    moved = f.int_op("sub", bits, f.int_const(0x3F3504F3))
    exponent = f.int_op("ashr", moved, f.int_const(23))
    mantissa = f.int_op("add", f.int_op("and", moved, f.int_const(0x7FFFFF)), f.int_const(0x3F3504F3))
    e = f.em.inst(f"sitofp {f.int_type} {exponent} to {f.type}")
    e = f.sub(e, f.select(tiny, f.const(23.0), f.const(0.0)))
    m = f.sub(f.from_bits(mantissa), f.const(1.0))
    square = f.mul(m, m)
    c = f.mul(f.mul(m, square), f.polynomial(m, _LOG))
    return e, m, f.fma(square, f.const(-0.5), c)


def _log_ends(f: F32, x: Operand, result: Operand) -> Operand:
    """inf at inf, -inf at 0, NaN below 0 and at NaN."""
    result = f.select(f.compare("oeq", x, f.const(_INF)), x, result)
    result = f.select(f.compare("oeq", x, f.const(0.0)), f.const(-_INF), result)
    return f.select(f.compare("uge", x, f.const(0.0)), f.select(f.compare("uno", x, x), x, result), f.const(_NAN))


def log(f: F32, x: Operand) -> Operand:
    e, m, c = _log_parts(f, x)
    low = f.fma(e, f.const(_LN2_LO), c)
    return _log_ends(f, x, f.fma(e, f.const(_LN2_HI), f.add(m, low)))


def log2(f: F32, x: Operand) -> Operand:
    e, m, c = _log_parts(f, x)
    low = f.fma(m, f.const(_LOG2E_LO), f.mul(c, f.const(_LOG2E_HI)))
    return _log_ends(f, x, f.add(e, f.fma(m, f.const(_LOG2E_HI), low)))


def log10(f: F32, x: Operand) -> Operand:
    e, m, c = _log_parts(f, x)
    low = f.fma(m, f.const(_LOG10E_LO), f.mul(c, f.const(_LOG10E_HI)))
    low = f.fma(e, f.const(_LG2_LO), low)
    return _log_ends(f, x, f.fma(e, f.const(_LG2_HI), f.fma(m, f.const(_LOG10E_HI), low)))


def log1p(f: F32, x: Operand) -> Operand:
    """log(u) for u = 1 + x rounded, plus what the rounding lost."""
    u = f.add(x, f.const(1.0))
    lost = f.sub(x, f.sub(u, f.const(1.0)))
    result = f.add(log(f, u), f.div(lost, u))
    special = f.compare("ueq", u, f.const(_INF))
    result = f.select(f.compare("oeq", u, f.const(0.0)), f.const(-_INF), f.select(special, u, result))
    return f.select(f.compare("olt", f.intrinsic("fabs", x), f.const(2.0**-24)), x, result)


def tanh(f: F32, x: Operand) -> Operand:
    """t / (t + 2) with t = expm1(2 |x|), and a polynomial near 0, where three roundings of that would show."""
    a = f.at_most(f.intrinsic("fabs", x), 9.1)
    k, power = _two_power(f, a, 2 * _LOG2E)
    r = f.fma(k, f.const(-_LN2_LO), f.fma(k, f.const(-_LN2_HI), f.add(a, a)))
    p = f.fma(f.mul(r, r), f.polynomial(r, _EXP_NEAR), r)
    t = f.fma(power, p, f.sub(power, f.const(1.0)))
    far = f.div(t, f.add(t, f.const(2.0)))
    square = f.mul(a, a)
    near = f.fma(f.mul(a, square), f.polynomial(square, _TANH_SMALL), a)
    return f.intrinsic("copysign", f.select(f.compare("olt", a, f.const(0.26)), near, far), x)


def erf(f: F32, x: Operand) -> Operand:
    a = f.at_most(f.intrinsic("fabs", x), 3.95)
    near = f.fma(a, f.polynomial(f.mul(a, a), _ERF_SMALL), a)
    p, s = _reduced_exp(f, f.mul(a, f.polynomial(a, _ERF_LARGE)))
    far = f.sub(f.const(1.0), f.mul(f.mul(f.add(p, f.const(1.0)), s), s))
    return f.intrinsic("copysign", f.select(f.compare("olt", a, f.const(0.92)), near, far), x)


def sin_cos(f: F32, x: Operand, quarter: int) -> Operand:
    """sin(x + quarter * pi / 2); arguments beyond 1e5 are reduced by libm."""
    k = f.intrinsic("rint", f.mul(x, f.const(0.6366197723675814)))
    r = x
    for part in _PIO2:
        r = f.fma(k, f.const(-part), r)
    square = f.mul(r, r)
    sine = f.fma(f.mul(r, square), f.polynomial(square, _SIN), r)
    cosine = f.fma(f.mul(square, square), f.polynomial(square, _COS), f.fma(square, f.const(-0.5), f.const(1.0)))
    # The conversion is only poison for arguments that the caller replaces.
    n = f.em.inst(f"freeze {f.int_type} {f.em.inst(f'fptosi {f.type} {k} to {f.int_type}')}")
    n = f.int_op("add", n, f.int_const(quarter)) if quarter else n
    odd = f.em.inst(f"trunc {f.int_type} {n} to {f.mask}")
    sign = f.int_op("shl", f.int_op("and", n, f.int_const(2)), f.int_const(30))
    value = f.from_bits(f.int_op("xor", f.bits(f.select(odd, cosine, sine)), sign))
    if quarter:
        return value
    return f.select(f.compare("oeq", x, f.const(0.0)), x, value)  # the reduction loses the sign of a zero


def rsqrt(f: Floats, x: Operand) -> Operand:
    return f.div(f.const(1.0), f.intrinsic("sqrt", x))


#: Bits of a float64 that a quotient is cut to the others of: 29 are left, and times 24 of a divisor they are exact.
_LOW_BITS = (1 << 24) - 1
#: How often: a quotient of two float32 numbers has up to 278 bits before the point.
_MOST_TURNS = 10


def fmod(f: F32, a: Operand, b: Operand) -> Operand:
    """C's fmod, exactly: by quotients of float64, of which one is enough unless it is 2^29 or more."""
    em, w = f.em, f.width
    wide, word = Floats(em, "f64", w), vector("i64", w)
    x, y = (em.inst(f"fpext {f.type} {f.intrinsic('fabs', v)} to {wide.type}") for v in (a, b))
    high = splat(~_LOW_BITS, "i64", w)

    def reduced(rest: Operand) -> Operand:
        bits = em.inst(f"bitcast {wide.type} {wide.div(rest, y)} to {word}")
        cut = em.inst(f"bitcast {word} {em.inst(f'and {word} {bits}, {high}')} to {wide.type}")
        return wide.sub(rest, wide.mul(wide.intrinsic("trunc", cut), y))

    rest = em.slot(wide.type, reduced(x))

    def again() -> None:
        em.line(f"store {wide.type} {reduced(em.inst(f'load {wide.type}, ptr {rest}'))}, ptr {rest}")

    too_large: Operand = wide.compare("oge", wide.intrinsic("fabs", em.inst(f"load {wide.type}, ptr {rest}")), y)
    if w > 1:
        lanes = em.inst(f"bitcast {wide.mask} {too_large} to i{w}")
        too_large = em.inst(f"icmp ne i{w} {lanes}, 0")
    em.when(too_large, lambda: em.loop(0, _MOST_TURNS, 1, lambda _: again()))
    found: Operand = em.inst(f"load {wide.type}, ptr {rest}")
    # A quotient just below a whole number may have been rounded to that.
    found = wide.select(wide.compare("olt", found, wide.const(0.0)), wide.add(found, y), found)
    found = wide.select(wide.compare("olt", x, y), x, found)  # of an infinite divisor too
    return f.intrinsic("copysign", em.inst(f"fptrunc {wide.type} {found} to {f.type}"), a)


def _rest(f: F32 | F64, a: Operand, b: Operand) -> Operand:
    return fmod(f, a, b) if isinstance(f, F32) else formulas64.fmod(f, a, b)


def remainder(f: F32 | F64, a: Operand, b: Operand) -> Operand:
    """The rest that has the divisor's sign; a zero has the dividend's."""
    zero = f.const(0.0)
    rest = _rest(f, a, b)
    below = f.both(f.compare("olt", rest, zero), f.compare("ogt", b, zero))
    above = f.both(f.compare("ogt", rest, zero), f.compare("olt", b, zero))
    return f.select(f.either(below, above), f.add(rest, b), rest)


def floor_divide(f: F32 | F64, a: Operand, b: Operand) -> Operand:
    """floor(a / b), as Python has it for floats: by the remainder, since a quotient may round to a whole number."""
    zero, one = f.const(0.0), f.const(1.0)
    rest, quotient = _rest(f, a, b), f.div(a, b)
    below = f.compare("olt", f.mul(f.intrinsic("copysign", one, rest), f.intrinsic("copysign", one, b)), zero)
    exact = f.div(f.sub(a, rest), b)
    inexact = f.em.inst(f"and {f.mask} {below}, {f.compare('one', rest, zero)}")
    exact = f.select(inexact, f.sub(exact, one), exact)
    whole = f.intrinsic("floor", exact)
    whole = f.select(f.compare("ogt", f.sub(exact, whole), f.const(0.5)), f.add(whole, one), whole)
    whole = f.select(f.compare("oeq", exact, zero), f.intrinsic("copysign", zero, quotient), whole)
    return f.select(f.compare("oeq", b, zero), quotient, whole)

"""Special functions in f64, each a function of its own in the module that calls it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from opweave.codegen.instructions.arithmetic import Floats
from opweave.codegen.instructions.emit import Emitter
from opweave.codegen.instructions.operands import DOUBLE, Operand, Register
from opweave.codegen.triton_cpu.context import Context


class F64(Floats):
    """Emits scalar f64 arithmetic into a function of its own."""

    def __init__(self, cx: Context) -> None:
        super().__init__(Emitter(), "f64", 1)
        self.cx = cx
        self.em.declarations, self.em.defined = cx.em.declarations, cx.em.defined

    def call(self, name: str, *args: Operand) -> Register:
        """One of the functions below, or of the C library."""
        return self.em.call(DOUBLE, function(self.cx, name) if name in FUNCTIONS else name, [(DOUBLE, a) for a in args])

    def where(self, predicate: str, a: Operand, b: Operand, yes: Operand, no: Operand) -> Register:
        return self.select(self.compare(predicate, a, b), yes, no)

    def series(self, z: Operand, coefficients: Sequence[float]) -> Operand:
        """A polynomial, lowest power first."""
        return self.polynomial(z, coefficients[::-1])


def function(cx: Context, name: str) -> str:
    """The symbol of one of the functions below, which is defined in the module where it is not yet."""
    symbol = f"opweave.{name}"
    if symbol not in cx.em.defined:
        f = F64(cx)
        result = FUNCTIONS[name](f, Register("%x"))
        lines = "\n".join(["entry:", *f.em.lines, f"  ret double {result}"])
        cx.em.define(symbol, f"define private double @{symbol}(double %x) noinline nounwind {{\n{lines}\n}}")
    return symbol


_SQRT_PI = math.sqrt(math.pi)


def _double_factorials(count: int) -> list[float]:
    """(-1)^k (2k - 1)!!"""
    out = [1.0]
    for k in range(1, count):
        out.append(-out[-1] * (2 * k - 1))
    return out


def erfcx(f: F64, x: Operand) -> Operand:
    """exp(x^2) erfc(x): as it stands up to 10, with what squaring rounds off; beyond, its asymptotic series."""
    square = f.mul(x, x)
    lost = f.fma(x, x, f.neg(square))
    e = f.call("exp", square)
    near = f.mul(f.fma(e, lost, e), f.call("erfc", x))
    far = f.series(f.div(f.const(0.5), square), _double_factorials(16))
    far = f.div(far, f.mul(x, f.const(_SQRT_PI)))
    result = f.where("ogt", x, f.const(10.0), far, near)
    return f.where("olt", x, f.const(-26.7), f.const(math.inf), result)


def _upper_quantile(f: F64, x: Operand) -> Operand:
    """y with erfc(y) = x for 0 < x <= 0.5, by Newton's method on the logarithm."""
    a = 0.147
    log_x = f.call("log", x)
    both = f.add(log_x, f.call("log", f.sub(f.const(2.0), x)))
    half = f.fma(both, f.const(0.5), f.const(2 / (math.pi * a)))
    y = f.intrinsic("sqrt", f.sub(f.intrinsic("sqrt", f.fma(half, half, f.mul(both, f.const(-1 / a)))), half))
    for _ in range(4):
        scaled = f.call("erfcx", y)
        difference = f.sub(f.fma(f.neg(y), y, f.call("log", scaled)), log_x)
        y = f.fma(f.mul(difference, scaled), f.const(_SQRT_PI / 2), y)
    y = f.where("oeq", x, f.const(0.0), f.const(math.inf), y)
    return f.where("olt", x, f.const(0.0), f.const(math.nan), y)


def _central_quantile(f: F64, x: Operand) -> Operand:
    """y with erf(y) = x for |x| <= 0.5, by Halley's method."""
    square = f.mul(x, x)
    y = f.mul(f.mul(x, f.const(_SQRT_PI / 2)), f.fma(square, f.const(math.pi / 12), f.const(1.0)))
    for _ in range(3):
        slope = f.mul(f.const(2 / _SQRT_PI), f.call("exp", f.neg(f.mul(y, y))))
        step = f.div(f.sub(f.call("erf", y), x), slope)
        y = f.sub(y, f.div(step, f.fma(y, step, f.const(1.0))))
    return f.where("oeq", x, f.const(0.0), x, y)


def erfinv(f: F64, x: Operand) -> Operand:
    size = f.intrinsic("fabs", x)
    far = f.intrinsic("copysign", f.call("upper_quantile", f.sub(f.const(1.0), size)), x)
    result = f.where("ole", size, f.const(0.5), f.call("central_quantile", x), far)
    return f.where("ule", size, f.const(1.0), result, f.const(math.nan))


def erfcinv(f: F64, x: Operand) -> Operand:
    middle = f.call("central_quantile", f.sub(f.const(1.0), x))
    low = f.call("upper_quantile", x)
    high = f.neg(f.call("upper_quantile", f.sub(f.const(2.0), x)))
    return f.where("olt", x, f.const(0.5), low, f.where("ogt", x, f.const(1.5), high, middle))


def normcdf(f: F64, x: Operand) -> Operand:
    """erfc(-x / sqrt(2)) / 2, with what the division rounds off."""
    half = math.sqrt(0.5)
    lost_half = -4.833646656726457e-17  # sqrt(1/2) less its f64
    x = f.where("ogt", x, f.const(40.0), f.const(40.0), f.where("olt", x, f.const(-40.0), f.const(-40.0), x))
    t = f.mul(x, f.const(-half))
    lost = f.fma(x, f.const(-half), f.neg(t))
    lost = f.fma(x, f.const(-lost_half), lost)
    slope = f.mul(f.const(-2 / _SQRT_PI), f.call("exp", f.neg(f.mul(t, t))))
    return f.mul(f.const(0.5), f.fma(slope, lost, f.call("erfc", t)))


def normcdfinv(f: F64, x: Operand) -> Operand:
    return f.mul(f.const(-math.sqrt(2.0)), f.call("erfcinv", f.add(x, x)))


def _quarter_turns(f: F64, x: Operand, shift: float) -> Operand:
    """sin(pi (x + shift)): exact reduction to an eighth of a turn."""
    turn = f.sub(x, f.mul(f.const(2.0), f.intrinsic("rint", f.mul(x, f.const(0.5)))))
    quarter = f.intrinsic("rint", f.mul(turn, f.const(2.0)))
    angle = f.mul(f.fma(quarter, f.const(-0.5), turn), f.const(math.pi))
    sine, cosine = f.call("sin", angle), f.call("cos", angle)
    if shift:
        even, odd = cosine, f.neg(sine)
    else:
        even, odd = sine, cosine
    # quarter is -2, -1, 0, 1 or 2
    result = f.where("oeq", f.intrinsic("fabs", quarter), f.const(1.0), f.mul(odd, quarter), even)
    result = f.where("oeq", f.intrinsic("fabs", quarter), f.const(2.0), f.neg(even), result)
    zero = f.const(0.0) if shift else f.intrinsic("copysign", f.const(0.0), x)
    return f.where("oeq", result, f.const(0.0), zero, result)


def _bessel_i(order: int) -> Callable[[F64, Operand], Operand]:
    """The modified Bessel function: its power series up to 20, its asymptotic series beyond."""
    power = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(44)]
    asymptotic = [1.0]
    for k in range(1, 34):
        asymptotic.append(asymptotic[-1] * -(4 * order * order - (2 * k - 1) ** 2) / (8.0 * k))

    def rule(f: F64, x: Operand) -> Operand:
        size = f.intrinsic("fabs", x)
        half = f.mul(size, f.const(0.5))
        near = f.series(f.mul(half, half), power)
        near = f.mul(near, half) if order else near
        grown = f.call("exp", half)
        far = f.div(
            f.series(f.div(f.const(1.0), size), asymptotic), f.intrinsic("sqrt", f.mul(size, f.const(2 * math.pi)))
        )
        far = f.where("oeq", size, f.const(math.inf), size, f.mul(f.mul(grown, far), grown))
        result = f.where("ogt", size, f.const(20.0), far, near)
        return f.intrinsic("copysign", result, x) if order else result

    return rule


FUNCTIONS: dict[str, Callable[[F64, Operand], Operand]] = {
    "erfcx": erfcx, "upper_quantile": _upper_quantile, "central_quantile": _central_quantile, "erfinv": erfinv,
    "erfcinv": erfcinv, "normcdf": normcdf, "normcdfinv": normcdfinv, "cyl_bessel_i0": _bessel_i(0),
    "cyl_bessel_i1": _bessel_i(1), "sinpi": lambda f, x: _quarter_turns(f, x, 0.0),
    "cospi": lambda f, x: _quarter_turns(f, x, 0.5),
}  # fmt: skip

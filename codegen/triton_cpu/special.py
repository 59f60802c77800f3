"""Special functions in f64, each a function of its own in the module that calls it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.emit import Emitter, float_literal


class F64:
    """Emits scalar f64 arithmetic into a function of its own."""

    def __init__(self, cx: Context) -> None:
        self.cx, self.em = cx, Emitter()
        self.em.declarations = cx.em.declarations

    def n(self, x: float) -> str:
        return float_literal(x, "f64")

    def op(self, name: str, a: str, b: str) -> str:
        return self.em.inst(f"{name} double {a}, {b}")

    def add(self, a: str, b: str) -> str:
        return self.op("fadd", a, b)

    def sub(self, a: str, b: str) -> str:
        return self.op("fsub", a, b)

    def mul(self, a: str, b: str) -> str:
        return self.op("fmul", a, b)

    def div(self, a: str, b: str) -> str:
        return self.op("fdiv", a, b)

    def fma(self, a: str, b: str, c: str) -> str:
        return self.call("llvm.fma.f64", a, b, c)

    def neg(self, a: str) -> str:
        return self.em.inst(f"fneg double {a}")

    def call(self, name: str, *args: str) -> str:
        if name in FUNCTIONS:
            return self.em.inst(f"call double @{function(self.cx, name)}({', '.join(f'double {a}' for a in args)})")
        return self.em.call("double", name, [("double", a) for a in args])

    def where(self, predicate: str, a: str, b: str, yes: str, no: str) -> str:
        test = self.em.inst(f"fcmp {predicate} double {a}, {b}")
        return self.em.inst(f"select i1 {test}, double {yes}, double {no}")

    def series(self, z: str, coefficients: Sequence[float]) -> str:
        """Horner's rule, lowest power first."""
        p = self.n(coefficients[-1])
        for c in reversed(coefficients[:-1]):
            p = self.fma(p, z, self.n(c))
        return p

    def abs(self, x: str) -> str:
        return self.call("llvm.fabs.f64", x)

    def sqrt(self, x: str) -> str:
        return self.call("llvm.sqrt.f64", x)


def function(cx: Context, name: str) -> str:
    """The symbol of one of the functions below, which is defined in the module where it is not yet."""
    symbol = f"opweave.{name}"
    if symbol not in cx.em.declarations:
        f = F64(cx)
        result = FUNCTIONS[name](f, "%x")
        lines = "\n".join(["entry:", *f.em.lines, f"  ret double {result}"])
        cx.em.declarations[symbol] = f"define private double @{symbol}(double %x) noinline nounwind {{\n{lines}\n}}"
    return symbol


_SQRT_PI = math.sqrt(math.pi)


def _double_factorials(count: int) -> list[float]:
    """(-1)^k (2k - 1)!!"""
    out = [1.0]
    for k in range(1, count):
        out.append(-out[-1] * (2 * k - 1))
    return out


def erfcx(f: F64, x: str) -> str:
    """exp(x^2) erfc(x): as it stands up to 10, with what squaring rounds off; beyond, its asymptotic series."""
    square = f.mul(x, x)
    lost = f.fma(x, x, f.neg(square))
    e = f.call("exp", square)
    near = f.mul(f.fma(e, lost, e), f.call("erfc", x))
    far = f.series(f.div(f.n(0.5), square), _double_factorials(16))
    far = f.div(far, f.mul(x, f.n(_SQRT_PI)))
    result = f.where("ogt", x, f.n(10.0), far, near)
    return f.where("olt", x, f.n(-26.7), f.n(math.inf), result)


def _upper_quantile(f: F64, x: str) -> str:
    """y with erfc(y) = x for 0 < x <= 0.5, by Newton's method on the logarithm."""
    a = 0.147
    log_x = f.call("log", x)
    both = f.add(log_x, f.call("log", f.sub(f.n(2.0), x)))
    half = f.fma(both, f.n(0.5), f.n(2 / (math.pi * a)))
    y = f.sqrt(f.sub(f.sqrt(f.fma(half, half, f.mul(both, f.n(-1 / a)))), half))
    for _ in range(4):
        scaled = f.call("erfcx", y)
        difference = f.sub(f.fma(f.neg(y), y, f.call("log", scaled)), log_x)
        y = f.fma(f.mul(difference, scaled), f.n(_SQRT_PI / 2), y)
    y = f.where("oeq", x, f.n(0.0), f.n(math.inf), y)
    return f.where("olt", x, f.n(0.0), f.n(math.nan), y)


def _central_quantile(f: F64, x: str) -> str:
    """y with erf(y) = x for |x| <= 0.5, by Halley's method."""
    square = f.mul(x, x)
    y = f.mul(f.mul(x, f.n(_SQRT_PI / 2)), f.fma(square, f.n(math.pi / 12), f.n(1.0)))
    for _ in range(3):
        slope = f.mul(f.n(2 / _SQRT_PI), f.call("exp", f.neg(f.mul(y, y))))
        step = f.div(f.sub(f.call("erf", y), x), slope)
        y = f.sub(y, f.div(step, f.fma(y, step, f.n(1.0))))
    return f.where("oeq", x, f.n(0.0), x, y)


def erfinv(f: F64, x: str) -> str:
    size = f.abs(x)
    far = f.call("llvm.copysign.f64", f.call("upper_quantile", f.sub(f.n(1.0), size)), x)
    result = f.where("ole", size, f.n(0.5), f.call("central_quantile", x), far)
    return f.where("ule", size, f.n(1.0), result, f.n(math.nan))


def erfcinv(f: F64, x: str) -> str:
    middle = f.call("central_quantile", f.sub(f.n(1.0), x))
    low = f.call("upper_quantile", x)
    high = f.neg(f.call("upper_quantile", f.sub(f.n(2.0), x)))
    return f.where("olt", x, f.n(0.5), low, f.where("ogt", x, f.n(1.5), high, middle))


def normcdf(f: F64, x: str) -> str:
    """erfc(-x / sqrt(2)) / 2, with what the division rounds off."""
    half = math.sqrt(0.5)
    lost_half = -4.833646656726457e-17  # sqrt(1/2) less its f64
    x = f.where("ogt", x, f.n(40.0), f.n(40.0), f.where("olt", x, f.n(-40.0), f.n(-40.0), x))
    t = f.mul(x, f.n(-half))
    lost = f.fma(x, f.n(-half), f.neg(t))
    lost = f.fma(x, f.n(-lost_half), lost)
    slope = f.mul(f.n(-2 / _SQRT_PI), f.call("exp", f.neg(f.mul(t, t))))
    return f.mul(f.n(0.5), f.fma(slope, lost, f.call("erfc", t)))


def normcdfinv(f: F64, x: str) -> str:
    return f.mul(f.n(-math.sqrt(2.0)), f.call("erfcinv", f.add(x, x)))


def _quarter_turns(f: F64, x: str, shift: float) -> str:
    """sin(pi (x + shift)): exact reduction to an eighth of a turn."""
    turn = f.sub(x, f.mul(f.n(2.0), f.call("llvm.rint.f64", f.mul(x, f.n(0.5)))))
    quarter = f.call("llvm.rint.f64", f.mul(turn, f.n(2.0)))
    angle = f.mul(f.fma(quarter, f.n(-0.5), turn), f.n(math.pi))
    sine, cosine = f.call("sin", angle), f.call("cos", angle)
    if shift:
        even, odd = cosine, f.neg(sine)
    else:
        even, odd = sine, cosine
    # quarter is -2, -1, 0, 1 or 2
    result = f.where("oeq", f.abs(quarter), f.n(1.0), f.mul(odd, quarter), even)
    result = f.where("oeq", f.abs(quarter), f.n(2.0), f.neg(even), result)
    zero = f.n(0.0) if shift else f.call("llvm.copysign.f64", f.n(0.0), x)
    return f.where("oeq", result, f.n(0.0), zero, result)


def _bessel_i(order: int) -> Callable[[F64, str], str]:
    """The modified Bessel function: its power series up to 20, its asymptotic series beyond."""
    power = [1 / (math.factorial(k) * math.factorial(k + order)) for k in range(44)]
    asymptotic = [1.0]
    for k in range(1, 34):
        asymptotic.append(asymptotic[-1] * -(4 * order * order - (2 * k - 1) ** 2) / (8.0 * k))

    def rule(f: F64, x: str) -> str:
        size = f.abs(x)
        half = f.mul(size, f.n(0.5))
        near = f.series(f.mul(half, half), power)
        near = f.mul(near, half) if order else near
        grown = f.call("exp", half)
        far = f.div(f.series(f.div(f.n(1.0), size), asymptotic), f.sqrt(f.mul(size, f.n(2 * math.pi))))
        far = f.where("oeq", size, f.n(math.inf), size, f.mul(f.mul(grown, far), grown))
        result = f.where("ogt", size, f.n(20.0), far, near)
        return f.call("llvm.copysign.f64", result, x) if order else result

    return rule


FUNCTIONS: dict[str, Callable[[F64, str], str]] = {
    "erfcx": erfcx, "upper_quantile": _upper_quantile, "central_quantile": _central_quantile, "erfinv": erfinv,
    "erfcinv": erfcinv, "normcdf": normcdf, "normcdfinv": normcdfinv, "cyl_bessel_i0": _bessel_i(0),
    "cyl_bessel_i1": _bessel_i(1), "sinpi": lambda f, x: _quarter_turns(f, x, 0.0),
    "cospi": lambda f, x: _quarter_turns(f, x, 0.5),
}  # fmt: skip

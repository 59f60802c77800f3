"""Elementary functions, inline.

Those of f32 and f64 are the formulas of `codegen/instructions/formulas.py` and `formulas64.py`. f16 and bf16 are
computed in f32. What has no formula there calls libm lane by lane.

libdevice functions (`__nv_expf`, `__nv_pow`, ...) are in libdevice.py.
"""

from __future__ import annotations

from collections.abc import Callable

from opweave.codegen.instructions import doubled, formulas, formulas64
from opweave.codegen.instructions.arithmetic import F32, F64, Floats
from opweave.codegen.instructions.operands import I1, Operand
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import cast, from_f32, intrinsic, remainder_of, scalar_calls, widened
from opweave.codegen.triton_cpu.lanes import Lanes
from opweave.codegen.triton_cpu.operations import elementwise
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.triton.ttir import Op


def _trigonometric(quarter: int, libm: str) -> Callable[[Context, F32, Operand], Operand]:
    def rule(cx: Context, f: F32, x: Operand) -> Operand:
        em = cx.em
        value = formulas.sin_cos(f, x, quarter)
        out = em.slot(f.type, value)
        large = f.compare("ugt", f.intrinsic("fabs", x), f.const(1e5))
        some = em.call(I1, f"llvm.vector.reduce.or.v{f.width}i1", [(f.mask, large)]) if f.width > 1 else large

        def by_libm() -> None:
            # An element must not depend on its neighbours in the vector.
            result = f.select(large, scalar_calls(cx, libm, "f32", f.width, [x]), value)
            em.line(f"store {f.type} {result}, ptr {out}")

        em.when(some, by_libm)
        return em.inst(f"load {f.type}, ptr {out}")

    return rule


_F32: dict[str, Callable[..., Operand]] = {
    name: getattr(formulas, name)
    for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "erf", "rsqrt")
} | doubled.FUNCTIONS  # fmt: skip
_F32_BRANCHING = {"sin": _trigonometric(0, "sinf"), "cos": _trigonometric(1, "cosf")}
_F64: dict[str, Callable[[F64, Operand], Operand]] = {
    name: getattr(formulas64, name)
    for name in ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "erf", "sin", "cos")
}  # fmt: skip
_ROUNDING = {
    "sqrt": "sqrt", "fabs": "fabs", "floor": "floor", "ceil": "ceil", "trunc": "trunc", "rint": "rint",
    "nearbyint": "rint", "round": "round", "fma": "fma", "copysign": "copysign", "fmax": "maxnum",
    "fmin": "minnum",
}  # fmt: skip
_LIBM = frozenset({
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh", "pow", "cbrt",
    "erfc", "lgamma", "tgamma", "exp10", "hypot", "remainder", "fdim", "nextafter", "j0", "j1", "y0", "y1",
    "logb", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh", "erf",
})  # fmt: skip

_IN_F64 = frozenset({"erfc"})
"""Functions whose f32 version in the C library is more than 2 ulp off."""


def apply(cx: Context, op: Op, name: str, args: list[Lanes]) -> Lanes:
    """The function `name` of floating-point operands, in their type."""
    wide = widened(cx, args)
    elem = wide[0].elem
    if elem == "f32" and name in _IN_F64:
        wide, elem = [cast(cx, "fpext", x, "f64") for x in wide], "f64"
    if name in _ROUNDING:
        return from_f32(cx, intrinsic(cx, _ROUNDING[name], wide), args[0].elem)
    if name == "fmod":
        return from_f32(cx, remainder_of(cx, wide), args[0].elem)
    w, values = cx.operands(wide)
    if elem == "f32" and name in _F32:
        result = _F32[name](F32(cx.em, w, cx.features.fma), *values)
    elif elem == "f32" and name in _F32_BRANCHING:
        result = _F32_BRANCHING[name](cx, F32(cx.em, w, cx.features.fma), values[0])
    elif elem == "f64" and name in _F64:
        result = _F64[name](F64(cx.em, w, cx.features.fma), values[0])
    elif name == "rsqrt":
        result = formulas.rsqrt(Floats(cx.em, elem, w), values[0])
    elif name in _LIBM:
        result = scalar_calls(cx, name + ("f" if elem == "f32" else ""), elem, w, values)
    else:
        raise unsupported(op, f"no native function for {name!r}")
    whole = cx.like(wide, result, elem)
    if name in _IN_F64 and args[0].elem != "f64":
        whole = cast(cx, "fptrunc", whole, "f32")
    return from_f32(cx, whole, args[0].elem)


_COSTS = {
    "exp": 12, "exp2": 12, "expm1": 20, "log": 14, "log2": 14, "log10": 1, "log1p": 20, "tanh": 14, "erf": 24,
    "sin": 20, "cos": 20, "tan": 1, "rsqrt": 8, "asin": 1, "acos": 1, "atan": 1, "atan2": 1, "sinh": 1, "cosh": 1,
    "asinh": 1, "acosh": 1, "atanh": 1, "cbrt": 1, "powf": 30, "erfc": 1,
}  # fmt: skip


@elementwise(*(f"math.{n}" for n in _COSTS), cost={f"math.{n}": cost for n, cost in _COSTS.items()})
def _math(cx: Context, op: Op, args: list[Lanes]) -> Lanes:
    name = op.name.removeprefix("math.")
    return apply(cx, op, {"powf": "pow"}.get(name, name), args)

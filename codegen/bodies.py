"""Steps of a pointwise body (`registry.ops.kinds.ufunc_plan`) as instructions on vectors of float32 or float64 numbers.

Every step is rounded as NumPy rounds it, so a body that is computed at once gives the bits that its steps give one by
one, but for functions that are formulas here and the C library's there.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.codegen.instructions import doubled, formulas, formulas64
from opweave.codegen.instructions.arithmetic import F32, F64, Floats
from opweave.codegen.instructions.emit import Emitter, splat
from opweave.codegen.instructions.operands import FALSE, TRUE, Operand
from opweave.registry.dataclass import dataclass
from opweave.registry.ops.kinds.fused_steps import Ref
from opweave.registry.ops.kinds.ufunc_plan import UfuncPlan, trace
from opweave.registry.scalar import ArrayScalars, erf_of_array, own_names

_SINGLE, _DOUBLE, _TRUTH = np.dtype(np.float32), np.dtype(np.float64), np.dtype(np.bool_)
_ELEMENTS = {_SINGLE: "f32", _DOUBLE: "f64", _TRUTH: "i1"}
_ARITHMETIC: dict[Any, str] = {np.add: "add", np.subtract: "sub", np.multiply: "mul", np.true_divide: "div"}
_INTRINSICS: dict[Any, str] = {
    np.absolute: "fabs", np.sqrt: "sqrt", np.floor: "floor", np.ceil: "ceil", np.trunc: "trunc", np.rint: "rint",
}  # fmt: skip
_COMPARISONS: dict[Any, str] = {
    np.less: "olt", np.less_equal: "ole", np.greater: "ogt", np.greater_equal: "oge", np.equal: "oeq",
    np.not_equal: "une",
}  # fmt: skip
_OF_TRUTHS: dict[Any, str] = {
    np.logical_and: "and", np.logical_or: "or", np.bitwise_and: "and", np.bitwise_or: "or", np.bitwise_xor: "xor",
}  # fmt: skip
#: Functions that are formulas, besides those with names of their own.
_NAMES: dict[Any, str] = {np.sin: "sin", np.cos: "cos", erf_of_array: "erf"}
#: A body that has more is not worth the time that it takes to compile it.
_MOST_STEPS = 400


@dataclass(frozen=True)
class Body:
    """A body as it is for one type.

    Attributes
    ----------
    name : str
        By which its code is kept: it says which steps there are.
    plan : UfuncPlan
        These.
    """

    name: str
    plan: UfuncPlan


#: By their names.
known: dict[str, Body] = {}


def read(body: Callable[..., Any], name: str, dtype: np.dtype[Any], count: int) -> Body | None:
    """The steps of a body with operands of a type; None where there are others than can be written here.

    Parameters
    ----------
    body : callable
        `body(k, *operands)`.
    name : str
        What it is called.
    dtype : numpy.dtype
        Of its operands.
    count : int
        How many there are.
    """
    k = ArrayScalars(np)
    with np.errstate(all="ignore"):
        plan = trace(lambda *operands: body(k, *operands), [dtype] * count)
    if plan is None or plan.dtype != dtype or not plan.steps or len(plan.steps) > _MOST_STEPS:
        return None
    if not all(_is_written(plan, i) for i in range(len(plan.steps))):
        return None
    told = [(_told(step.function), _args(step.args), str(step.dtype)) for step in plan.steps]
    digest = hashlib.blake2b(repr((told, plan.result)).encode(), digest_size=12).hexdigest()
    found = Body(f"{name} of {dtype} by {digest}", plan)
    return known.setdefault(found.name, found)


def _told(function: Any) -> str:
    return own_names.get(function) or _NAMES.get(function) or function.__name__


def _args(args: Sequence[Any]) -> list[Any]:
    return [tuple(a) if isinstance(a, Ref) else repr(np.asarray(a).item()) for a in args]


def _types(plan: UfuncPlan, number: int) -> list[np.dtype[Any] | None]:
    """Of the operands of a step; None for numbers, which take that of others."""
    return [
        (plan.inputs[a.number] if a.number >= 0 else plan.steps[-1 - a.number].dtype) if isinstance(a, Ref) else None
        for a in plan.steps[number].args
    ]


def _is_written(plan: UfuncPlan, number: int) -> bool:
    step, types = plan.steps[number], _types(plan, number)
    known_types = {t for t in types if t is not None}
    function = step.function
    if step.dtype not in _ELEMENTS or not known_types or not known_types <= set(_ELEMENTS):
        return False
    if function is np.copyto:
        return step.dtype != _TRUTH or known_types == {_TRUTH}
    if function is np.where:
        return types[0] == _TRUTH and step.dtype != _TRUTH and all(t in (step.dtype, None) for t in types[1:])
    if len(known_types) > 1:
        return False
    (of,) = known_types
    if function in _OF_TRUTHS or function in (np.logical_not, np.invert):
        return of == _TRUTH
    if of == _TRUTH:
        return False
    if function in _COMPARISONS or function in (np.isnan, np.isinf, np.isfinite, np.signbit):
        return True
    if step.dtype != of:
        return False
    name = own_names.get(function) or _NAMES.get(function)
    if name is not None:
        return name in known or formula(name, of) is not None
    others = (np.negative, np.maximum, np.minimum, np.clip, np.square, np.sign)
    return function in _ARITHMETIC or function in _INTRINSICS or function in others


class _Writer:
    def __init__(self, em: Emitter, width: int, has_fma: bool) -> None:
        self.em, self.width = em, width
        self.floats: dict[np.dtype[Any], Any] = {_SINGLE: F32(em, width, has_fma), _DOUBLE: F64(em, width, has_fma)}

    def step(self, step: Any, types: list[np.dtype[Any] | None], values: dict[int, Operand]) -> Operand:
        em, function = self.em, step.function
        of = next(t for t in (types[1:] if function is np.where else types) + [step.dtype] if t is not None)
        args = [
            values[a.number]
            if isinstance(a, Ref)
            else self.number(a, _TRUTH if function is np.where and i == 0 else of)
            for i, a in enumerate(step.args)
        ]
        if function is np.copyto:
            return self.converted(args[0], of, step.dtype)
        f: Any = self.floats.get(of)
        if function in _OF_TRUTHS:
            return em.inst(f"{_OF_TRUTHS[function]} {self.floats[_SINGLE].mask} {args[0]}, {args[1]}")
        if function in (np.logical_not, np.invert):
            return em.inst(f"xor {self.floats[_SINGLE].mask} {args[0]}, {splat(TRUE, 'i1', self.width)}")
        if function is np.where:
            return f.select(*args)
        if function in _ARITHMETIC:
            return getattr(f, _ARITHMETIC[function])(*args)
        if function in _INTRINSICS:
            return f.intrinsic(_INTRINSICS[function], *args)
        if function in _COMPARISONS:
            return f.compare(_COMPARISONS[function], *args)
        name = own_names.get(function) or _NAMES.get(function)
        if name is not None:
            return apply(name, f, args)
        return getattr(self, f"apply_{function.__name__}")(f, *args)

    def number(self, value: Any, dtype: np.dtype[Any]) -> Operand:
        if dtype == _TRUTH:
            return splat(TRUE if value else FALSE, "i1", self.width)
        return self.floats[dtype].const(float(value))

    def converted(self, x: Operand, source: np.dtype[Any], target: np.dtype[Any]) -> Operand:
        if source == target:
            return x
        if source == _TRUTH:
            f = self.floats[target]
            return f.select(x, f.const(1.0), f.const(0.0))
        verb = "fpext" if target == _DOUBLE else "fptrunc"
        return self.em.inst(f"{verb} {self.floats[source].type} {x} to {self.floats[target].type}")

    def apply_negative(self, f: Any, x: Operand) -> Operand:
        return f.neg(x)

    def apply_square(self, f: Any, x: Operand) -> Operand:
        return f.mul(x, x)

    def apply_isnan(self, f: Any, x: Operand) -> Operand:
        return f.compare("uno", x, x)

    def apply_isinf(self, f: Any, x: Operand) -> Operand:
        return f.compare("oeq", f.intrinsic("fabs", x), f.const(math.inf))

    def apply_isfinite(self, f: Any, x: Operand) -> Operand:
        return f.compare("olt", f.intrinsic("fabs", x), f.const(math.inf))

    def apply_signbit(self, f: Any, x: Operand) -> Operand:
        return f.int_compare("slt", f.bits(x), f.int_const(0))

    def apply_sign(self, f: Any, x: Operand) -> Operand:
        """0 for both zeros, NaN for NaN."""
        zero = f.const(0.0)
        found = f.select(f.compare("oeq", x, zero), zero, x)
        found = f.select(f.compare("olt", x, zero), f.const(-1.0), found)
        return f.select(f.compare("ogt", x, zero), f.const(1.0), found)

    def apply_maximum(self, f: Any, a: Operand, b: Operand) -> Operand:
        return self.extreme(f, "ogt", a, b)

    def apply_minimum(self, f: Any, a: Operand, b: Operand) -> Operand:
        return self.extreme(f, "olt", a, b)

    def extreme(self, f: Any, predicate: str, a: Operand, b: Operand) -> Operand:
        """The greater or less; NaN where one is NaN, which is neither."""
        return f.select(f.compare("uno", a, a), a, f.select(f.compare(predicate, a, b), a, b))

    def apply_clip(self, f: Any, x: Operand, low: Operand, high: Operand) -> Operand:
        above = f.select(f.compare("olt", x, low), low, x)
        return f.select(f.compare("ogt", above, high), high, above)


def formula(name: str, dtype: np.dtype[Any]) -> Callable[..., Operand] | None:
    """What emits a function of a type; None where that is the C library's."""
    if name in doubled.FUNCTIONS:
        return doubled.FUNCTIONS[name] if dtype == _SINGLE else None
    own = getattr(formulas64, name, None) if dtype == _DOUBLE else None
    return own or getattr(formulas, name, None)


def apply(name: str, f: Floats, args: Sequence[Operand]) -> Operand:
    """Emit a function: a formula by its name, or a body by its own.

    Parameters
    ----------
    name : str
        Of `known`, or of the formulas of the type.
    f : F32 or F64
        The arithmetic of the operands.
    args : sequence of Operand
        These.
    """
    body = known.get(name)
    if body is None:
        emit = formula(name, _SINGLE if isinstance(f, F32) else _DOUBLE)
        assert emit is not None
        return emit(f, *args)
    plan, writer = body.plan, _Writer(f.em, f.width, f.has_fma)
    values: dict[int, Operand] = dict(enumerate(args))
    for i, step in enumerate(plan.steps):
        values[-1 - i] = writer.step(step, _types(plan, i), values)
    return values[plan.result.number]

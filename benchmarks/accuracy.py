"""The error of every mathematical function of the CPU backend, in units of the last place, over its whole domain.

float32 functions of one number are tried at every `--stride`-th bit pattern (1: all 2^32 of them), those of two at
random pairs; the reference is float64, of NumPy or of the C library. float64 ones are compared with 80-bit numbers.
`special values` are the infinities, NaN, zeros, subnormal and extreme numbers.
"""

from __future__ import annotations

import argparse
import ctypes
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from opweave.codegen.native import llvm, objects
from opweave.codegen.triton_cpu.analysis import TargetFeatures
from opweave.codegen.triton_cpu.lower import lower

Array = np.ndarray[Any, Any]
_BLOCK = 1024
_CHUNK = 1 << 20


def _libm(name: str) -> Callable[[Array], Array]:
    """A function of the C library on float64 arrays."""

    @cache
    def entry() -> Any:
        text = f"""declare double @{name}(double)
define void @map(ptr %in, ptr %out, i64 %n) {{
entry:
  br label %step
step:
  %i = phi i64 [ 0, %entry ], [ %next, %step ]
  %p = getelementptr double, ptr %in, i64 %i
  %x = load double, ptr %p
  %y = call double @{name}(double %x)
  %q = getelementptr double, ptr %out, i64 %i
  store double %y, ptr %q
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %step, label %end
end:
  ret void
}}"""
        code = objects.load(llvm.compile_object(text, name=name), ("map",))
        function = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address("map"))
        return function, code

    def apply(x: Array) -> Array:
        x, y = np.ascontiguousarray(x, np.float64), np.empty(len(x))
        entry()[0](x.ctypes.data, y.ctypes.data, len(x))
        return y

    return apply


@dataclass(frozen=True)
class Function:
    """What is measured.

    Attributes
    ----------
    code : str
        TTIR lines that compute `%y` from `%x0` and `%x1`; T stands for the tensor type.
    exact : callable
        The same in a wider type.
    goal : float
        The error that is aimed at in float32; float64 functions are the C library's, for which it is at least 4.
    arity : int
    """

    code: str
    exact: Callable[..., Array]
    goal: float = 2.0
    arity: int = 1


def _op(name: str, arity: int = 1) -> str:
    return f"%y = {name} {', '.join(f'%x{k}' for k in range(arity))} : T"


def _extern(name: str, arity: int = 1) -> str:
    operands, types = ", ".join(f"%x{k}" for k in range(arity)), ", ".join(["T"] * arity)
    attributes = f'{{libname = "", libpath = "", pure = true, symbol = "__nv_{name}F"}}'
    return f"%y = tt.extern_elementwise {operands} {attributes} : ({types}) -> T"


_SIGMOID = """%one = arith.constant dense<1.000000e+00> : T
%zero = arith.constant dense<0.000000e+00> : T
%n = arith.subf %zero, %x0 : T
%e = math.exp %n : T
%d = arith.addf %one, %e : T
%y = arith.divf %one, %d : T"""


def _sigmoid(x: Array) -> Array:
    """As tl.sigmoid spells it: 0 where exp(-x) is beyond the narrower type."""
    e = np.exp(-x)
    return 1 / (1 + np.where(e > (np.finfo(np.float32 if x.dtype == np.float64 else np.float64).max), np.inf, e))


FUNCTIONS: dict[str, Function] = {
    "exp": Function(_op("math.exp"), np.exp),
    "exp2": Function(_op("math.exp2"), np.exp2),
    "exp10": Function(_extern("exp10"), lambda x: np.power(x.dtype.type(10), x)),
    "expm1": Function(_extern("expm1"), np.expm1),
    "log": Function(_op("math.log"), np.log),
    "log2": Function(_op("math.log2"), np.log2),
    "log10": Function(_extern("log10"), np.log10),
    "log1p": Function(_extern("log1p"), np.log1p),
    "sqrt": Function(_op("math.sqrt"), np.sqrt, 0.5),
    "rsqrt": Function(_op("math.rsqrt"), lambda x: 1 / np.sqrt(x)),
    "cbrt": Function(_extern("cbrt"), np.cbrt),
    "rcbrt": Function(_extern("rcbrt"), lambda x: 1 / np.cbrt(x)),
    "sigmoid": Function(_SIGMOID, _sigmoid, 3.0),  # three operations, each of which rounds
    "erf": Function(_op("math.erf"), _libm("erf")),
    "erfc": Function(_extern("erfc"), _libm("erfc")),
    "sin": Function(_op("math.sin"), np.sin),
    "cos": Function(_op("math.cos"), np.cos),
    "tan": Function(_extern("tan"), np.tan, 4.0),
    "asin": Function(_extern("asin"), np.arcsin),
    "acos": Function(_extern("acos"), np.arccos),
    "atan": Function(_extern("atan"), np.arctan),
    "sinh": Function(_extern("sinh"), np.sinh),
    "cosh": Function(_extern("cosh"), np.cosh),
    "tanh": Function(_extern("tanh"), np.tanh),
    "asinh": Function(_extern("asinh"), np.arcsinh),
    "acosh": Function(_extern("acosh"), np.arccosh),
    "atanh": Function(_extern("atanh"), np.arctanh),
    "lgamma": Function(_extern("lgamma"), _libm("lgamma")),
    "tgamma": Function(_extern("tgamma"), _libm("tgamma")),
    "divide": Function(_op("arith.divf", 2), np.divide, 0.5, 2),
    "pow": Function(_extern("pow", 2), np.power, arity=2),
    "atan2": Function(_extern("atan2", 2), np.arctan2, arity=2),
    "hypot": Function(_extern("hypot", 2), np.hypot, arity=2),
    "fmod": Function(_extern("fmod", 2), np.fmod, 0.0, 2),
}
"""By name."""


def compiled(function: Function, elem: str) -> Callable[..., Array]:
    """The function on arrays of float32 (`f32`) or float64 (`f64`), through the backend."""
    n, kind = f"{_BLOCK}x", {"f32": np.float32, "f64": np.float64}[elem]
    names = [f"p{k}" for k in range(function.arity)] + ["out"]
    pointers = f"tensor<{n}!tt.ptr<{elem}>>"
    lines = [
        "%pid = tt.get_program_id x : i32", f"%size = arith.constant {_BLOCK} : i32",
        "%start = arith.muli %pid, %size : i32", f"%first = tt.splat %start : i32 -> tensor<{n}i32>",
        f"%r = tt.make_range {{end = {_BLOCK} : i32, start = 0 : i32}} : tensor<{n}i32>",
        f"%at = arith.addi %first, %r : tensor<{n}i32>",
    ]  # fmt: skip
    for name in names:
        lines += [
            f"%s_{name} = tt.splat %{name} : !tt.ptr<{elem}> -> {pointers}",
            f"%a_{name} = tt.addptr %s_{name}, %at : {pointers}, tensor<{n}i32>",
        ]
    lines += [f"%x{k} = tt.load %a_p{k} : {pointers}" for k in range(function.arity)]
    code = function.code.replace(": T", f": tensor<{n}{elem}>").replace("(T", f"(tensor<{n}{elem}>")
    code = code.replace(", T", f", tensor<{n}{elem}>").replace("> T", f"> tensor<{n}{elem}>")
    lines += [*code.replace('F"', 'f"' if elem == "f32" else '"').splitlines(), f"tt.store %a_out, %y : {pointers}"]
    arguments = ", ".join(f"%{name}: !tt.ptr<{elem}>" for name in names)
    body = "\n".join("    " + line for line in [*lines, "tt.return"])
    text = f"module {{\n  tt.func public @k({arguments}) attributes {{noinline = false}} {{\n{body}\n  }}\n}}\n"
    host = llvm.host()
    lowered = lower(text, features=TargetFeatures(host.vector_bits, host.fma))
    loaded = objects.load(llvm.compile_object(lowered.llvm_ir), ("k",))
    entry = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_int64, ctypes.c_int64, *[ctypes.c_int32] * 3)(
        loaded.address("k")
    )

    def apply(*inputs: Array) -> Array:
        count = len(inputs[0])
        programs = -(-count // _BLOCK)
        arrays = [np.zeros(programs * _BLOCK, kind) for _ in range(len(inputs) + 1)]
        for a, x in zip(arrays, inputs, strict=False):
            a[:count] = x
        slots = np.array([a.ctypes.data for a in arrays], np.uint64)
        entry(slots.ctypes.data, 0, programs, programs, 1, 1)
        assert loaded is not None  # it holds the code
        return arrays[-1][:count]

    return apply


def errors(got: Array, exact: Array) -> Array:
    """Errors in units of the last place; infinite where one is NaN and the other not, or a zero has the wrong sign.

    An infinity counts as the power of two that comes after the largest finite number.
    """
    info = np.finfo(got.dtype)
    wide = exact.dtype.type
    top = wide(2) ** info.maxexp
    with np.errstate(all="ignore"):
        rounded = exact.astype(got.dtype)
        unit = np.spacing(np.minimum(np.abs(rounded), info.max)).astype(exact.dtype)
        error = np.abs(np.clip(got.astype(exact.dtype), -top, top) - np.clip(exact, -top, top)) / unit
        wrong = np.isnan(got) != np.isnan(exact)
        wrong |= (got == 0) & (rounded == 0) & (np.signbit(got) != np.signbit(exact))
        wrong |= np.isinf(exact) & (got != exact)
    return np.where(wrong, np.inf, np.where(np.isnan(exact), 0, error))


def special_values(dtype: Any) -> Array:
    info = np.finfo(dtype)
    ends = [0.0, info.smallest_subnormal, info.tiny - info.smallest_subnormal, info.tiny, 1.0, info.max, math.inf]
    return np.array([*ends, *(-x for x in ends), math.nan], dtype)


def bit_patterns(stride: int) -> Iterator[Array]:
    """float32 numbers, chunk by chunk."""
    for first in range(0, 1 << 32, stride * _CHUNK):
        yield (
            np.arange(first, min(first + stride * _CHUNK, 1 << 32), stride, dtype=np.uint64)
            .astype(np.uint32)
            .view("f4")
        )


def random_pairs(dtype: Any, count: int, rng: np.random.Generator) -> Iterator[tuple[Array, Array]]:
    """Half of them any bits, half of moderate size."""
    kind = np.dtype(f"u{np.dtype(dtype).itemsize}")
    for _ in range(count):
        bits = rng.integers(0, np.iinfo(kind).max, (2, _CHUNK), kind, endpoint=True).view(dtype)
        yield bits[0], bits[1]
        near = rng.standard_normal((2, _CHUNK)) * np.exp2(rng.uniform(-6, 6, (2, _CHUNK)))
        yield near[0].astype(dtype), near[1].astype(dtype)


@dataclass
class Result:
    """What came of one function."""

    tried: int = 0
    worst: float = 0.0
    where: str = ""
    bad: tuple[str, ...] = ()


def measure(function: Function, elem: str, inputs: Iterator[tuple[Array, ...]]) -> Result:
    """The largest error over all inputs, and which special values give something else than they should."""
    apply = compiled(function, elem)
    wide: Any = np.float64 if elem == "f32" else np.longdouble
    result = Result()
    dtype: Any = np.float32 if elem == "f32" else np.float64
    pool = special_values(dtype)
    specials = list(np.array(list(itertools.product(pool, repeat=function.arity)), dtype).T)

    def compare(arguments: Sequence[Array]) -> Array:
        with np.errstate(all="ignore"):
            return errors(apply(*arguments), function.exact(*(a.astype(wide) for a in arguments)))

    error = compare(specials)
    result.bad = tuple(_call(specials, int(k), apply) for k in np.flatnonzero(~(error <= max(function.goal, 2.0))))
    for arguments in inputs:
        error = compare(arguments)
        k = int(np.argmax(error))
        result.tried += len(error)
        if error[k] > result.worst:
            result.worst, result.where = float(error[k]), _call(arguments, k, apply)
    return result


def _call(arguments: Sequence[Array], k: int, apply: Callable[..., Array]) -> str:
    values = [a[k : k + 1] for a in arguments]
    return f"({', '.join(repr(float(v[0])) for v in values)}) = {float(apply(*values)[0])!r}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--stride", type=int, default=61, help="of float32 bit patterns; odd strides vary all bits")
    parser.add_argument("functions", nargs="*", help="names; all by default")
    options = parser.parse_args()
    wrong: list[str] = []
    print(f"{'':14}{'tried':>12}{'max ulp':>9}  where")
    for elem, name in itertools.product(("f32", "f64"), options.functions or FUNCTIONS):
        function, rng = FUNCTIONS[name], np.random.default_rng(0)
        if elem == "f64" and name in ("erf", "erfc", "lgamma", "tgamma"):
            continue  # nothing wider to compare with, and the C library's own
        inputs: Iterator[tuple[Array, ...]]
        if function.arity == 2:
            inputs = random_pairs(np.float32 if elem == "f32" else np.float64, 8 if elem == "f32" else 1, rng)
        elif elem == "f32":
            inputs = ((x,) for x in bit_patterns(options.stride))
        else:
            inputs = ((x,) for pair in random_pairs(np.float64, 1, rng) for x in pair)
        r = measure(function, elem, inputs)
        goal = function.goal if elem == "f32" else max(function.goal, 4.0)
        mark = "" if r.worst <= goal else f"  (goal {goal:g})"
        print(f"{name + ' ' + elem:14}{r.tried:12,}{r.worst:9.2f}  {r.where}{mark}", flush=True)
        wrong += [f"{name} {elem}{text}" for text in r.bad]
    ends = ", ".join(f"{float(x):g}" for x in special_values(np.float32))
    print(f"special values ({ends}; for float64 its own): {'all as they should be' if not wrong else ''}")
    for text in wrong:
        print(f"  wrong: {text}")


if __name__ == "__main__":
    main()

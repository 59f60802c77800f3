"""The closed vocabulary that op bodies are written in.

A pointwise body is one expression over scalars, written against a handler `k`:

    def silu(k, x):
        return x / (1 + k.exp(-x))

and run with several handlers: `ArrayScalars` evaluates it on whole arrays for eager, codegen's printer turns it into
Triton, an analysis may bound or count it. Values support `+ - * /`, unary `-`, comparisons, and `& | ^ ~ << >>` on
integers and bools; everything else is a function of `Scalars`. A body never asks what kind of value it holds except
through `k.dtype`, and all its operands have the op's compute type (float32 for half types).
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from opweave.registry import dtypes, memory
from opweave.registry.dtypes import DType
from opweave.registry.errors import DivisionByZeroError
from opweave.registry.hooks import Hook

Value = Any

#: Functions of one floating argument that mean the same everywhere; complex too where NumPy has it.
UNARY_FLOAT = (
    "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sqrt", "rsqrt", "sin", "cos", "tan", "asin", "acos",
    "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh", "erf", "sigmoid", "floor", "ceil", "trunc", "round",
)  # fmt: skip
#: Functions of one argument of any type.
UNARY_ANY = ("abs", "sign", "neg", "reciprocal", "isnan", "isinf", "isfinite", "signbit", "logical_not")
#: Functions of two arguments of one type.
BINARY = ("maximum", "minimum", "fmod", "remainder", "floor_divide", "trunc_divide", "atan2", "pow")
#: Of complex numbers, which are computed on arrays alone: no kernel is printed for them.
COMPLEX = ("conj", "real", "imag", "complex")
#: Random bits, which follow from three integers.
RANDOM = ("philox",)
VOCABULARY = (*UNARY_FLOAT, *UNARY_ANY, *BINARY, *RANDOM, "where", "cast", "const", "dtype")


#: What is said where an integer is divided by zero, and what to do about it.
DIVISION_BY_ZERO = "integer division by zero"
DIVISION_HINT = "convert to float first, or mask the zeros"


def erfc_power(k: Any, x: Value) -> Value:
    """log(x exp(x²) (1 - erf(x))) + 0.5625 for float64 numbers from 1.25 on (the approximation of `erf`, Sun 1993)."""
    s = 1.0 / (x * x)
    return k.where(x < k.const(1 / 0.35, dtypes.float64), _ratio(_ERF_MID, s), _ratio(_ERF_FAR, s))


def erfc_tail(k: Any, x: Value) -> Value:
    """1 - erf(x) for float64 numbers from 1.25 on, by the handler `k`."""
    power = erfc_power(k, x)
    # exp(-x * x) with x split so that the square of its head is exact.
    head = k.cast(k.cast(x, dtypes.float32), dtypes.float64)
    return k.exp(-head * head - 0.5625) * k.exp((head - x) * (head + x) + power) / x


class Scalars(ABC):
    """A handler. Besides the methods below it has every name of `UNARY_FLOAT`, `UNARY_ANY` and `BINARY`.

    Semantics that handlers must agree on: `round` is half to even; `sign` keeps NaN and maps both zeros to 0;
    `maximum` and `minimum` propagate NaN; `fmod` has the dividend's sign and `remainder` the divisor's; integer
    `floor_divide`, `trunc_divide`, `fmod` and `remainder` by zero raise on the CPU, and give 0 on a GPU; integers wrap.
    """

    def number(self, x: Value) -> float | None:
        """An operand that the caller gave as a Python float, or as an int beside floats; None if it is none.

        For bodies where a number means something else than a tensor that holds it.
        """
        return x if type(x) is float else None

    @abstractmethod
    def where(self, condition: Value, a: Value, b: Value) -> Value:
        """`a` where the bool is true, else `b`."""

    @abstractmethod
    def cast(self, x: Value, dtype: DType) -> Value:
        """Convert; float to integer truncates towards zero, to bool is `x != 0`."""

    @abstractmethod
    def const(self, value: complex, dtype: DType) -> Value:
        """A constant of a given type."""

    @abstractmethod
    def dtype(self, x: Value) -> DType:
        """Type of a value; Python numbers have int64, the default float type or bool."""

    @abstractmethod
    def philox(self, seed: Value, number: Value, place: Value) -> tuple[Value, Value, Value, Value]:
        """Four uint32 numbers of int64 ones, which look like drawn by chance: Philox 4x32 with ten rounds.

        Salmon et al., "Parallel random numbers: as easy as 1, 2, 3" (2011); `seed` is the key, and `place` the low
        half of the counter, `number` the high one.
        """

    def __getattr__(self, name: str) -> Any:
        raise NotImplementedError(f"{type(self).__name__} does not implement scalar function {name!r}")


# Rational approximations of erf by W. J. Cody's scheme with the coefficients of Sun's fdlibm (s_erf.c): below 1 ulp
# of float64 on each interval.
_ERF_SMALL = (
    (1.28379167095512558561e-01, -3.25042107247001499370e-01, -2.84817495755985104766e-02, -5.77027029648944159157e-03,
     -2.37630166566501626084e-05),
    (1.0, 3.97917223959155352819e-01, 6.50222499887672944485e-02, 5.08130628187576562776e-03,
     1.32494738004321644526e-04, -3.96022827877536812320e-06),
)  # fmt: skip
_ERF_ONE = (
    (-2.36211856075265944077e-03, 4.14856118683748331666e-01, -3.72207876035701323847e-01, 3.18346619901161753674e-01,
     -1.10894694282396677476e-01, 3.54783043256182359371e-02, -2.16637559486879084300e-03),
    (1.0, 1.06420880400844228286e-01, 5.40397917702171048937e-01, 7.18286544141962662868e-02,
     1.26171219808761642112e-01, 1.36370839120290507362e-02, 1.19844998467991074170e-02),
)  # fmt: skip
_ERF_MID = (
    (-9.86494403484714822705e-03, -6.93858572707181764372e-01, -1.05586262253232909814e01, -6.23753324503260060396e01,
     -1.62396669462573470355e02, -1.84605092906711035994e02, -8.12874355063065934246e01, -9.81432934416914548592e00),
    (1.0, 1.96512716674392571292e01, 1.37657754143519042600e02, 4.34565877475229228821e02, 6.45387271733267880336e02,
     4.29008140027567833386e02, 1.08635005541779435134e02, 6.57024977031928170135e00, -6.04244152148580987438e-02),
)  # fmt: skip
_ERF_FAR = (
    (-9.86494292470009928597e-03, -7.99283237680523006574e-01, -1.77579549177547519889e01, -1.60636384855821916062e02,
     -6.37566443368389627722e02, -1.02509513161107724954e03, -4.83519191608651397019e02),
    (1.0, 3.03380607434824582924e01, 3.25792512996573918826e02, 1.53672958608443695994e03, 3.19985821950859553908e03,
     2.55305040643316442583e03, 4.74528541206955367215e02, -2.24409524465858183362e01),
)  # fmt: skip
_ERX = 8.45062911510467529297e-01


def _ratio(coefficients: tuple[tuple[float, ...], tuple[float, ...]], x: Any) -> Any:
    def horner(c: tuple[float, ...]) -> Any:
        result = c[-1]
        for a in reversed(c[:-1]):
            result = result * x + a
        return result

    return horner(coefficients[0]) / horner(coefficients[1])


def erf(xp: Any, x: Any) -> Any:
    """The error function on arrays, computed in float64."""
    x = xp.asarray(x)
    wide = x.astype(np.float64)
    a = xp.abs(wide)
    small = wide + wide * _ratio(_ERF_SMALL, xp.minimum(a, 1.0) ** 2)
    one = _ERX + _ratio(_ERF_ONE, xp.minimum(a, 2.0) - 1)
    b = xp.clip(a, 1.0, 6.0)
    s = 1 / (b * b)
    # exp(-b*b) with b split so that the square of its head is exact.
    head = b.astype(np.float32).astype(np.float64)
    power = xp.where(b < 1 / 0.35, _ratio(_ERF_MID, s), _ratio(_ERF_FAR, s))
    tail = 1 - xp.exp(-head * head - 0.5625) * xp.exp((head - b) * (head + b) + power) / b
    magnitude = xp.where(a < 1.25, one, xp.where(a < 6, tail, 1.0))
    result = xp.where(a < 0.84375, small, xp.copysign(magnitude, wide))
    return xp.where(xp.isnan(wide), wide, result).astype(x.dtype)


#: Computes a function that NumPy has none of, of an array's elements; None where it cannot. `opweave` supplies it.
native: Hook[[str, np.ndarray[Any, Any]], np.ndarray[Any, Any] | None] = Hook()


def erf_of_array(x: np.ndarray[Any, Any], out: np.ndarray[Any, Any] | None = None) -> np.ndarray[Any, Any]:
    """`erf` as NumPy's functions are called."""
    found = None if native.call is None else native.call("erf", x)
    found = erf(np, x) if found is None else found
    if out is None:
        return found
    np.copyto(out, found)
    return out


#: Gives NumPy's function of a name with loops of native code for some types; None where there are none. `opweave`
#: supplies it.
ufunc: Hook[[str], np.ufunc | None] = Hook()
#: Functions of NumPy's that are computed by the formulas that kernels have.
OWN = ("exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "tanh")
#: The same by way of float64, of float32 alone.
OWN_SINGLE = ("tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "asinh", "acosh", "atanh")
#: What NumPy calls functions.
RENAMED = {
    "asin": "arcsin", "acos": "arccos", "atan": "arctan", "asinh": "arcsinh", "acosh": "arccosh", "atanh": "arctanh",
    "atan2": "arctan2", "round": "rint", "neg": "negative",
}  # fmt: skip
#: Those of `OWN` of two numbers, of floats as they are.
OWN_BINARY = ("fmod", "remainder", "floor_divide")
#: Their names, of those that were asked for.
own_names: dict[Any, str] = {}


def elementary(name: str) -> np.ufunc:
    """The function of one of `OWN` or `OWN_SINGLE` names: with the bits that kernels give, if there is native code."""
    found = _own(name)
    return getattr(np, RENAMED.get(name, name)) if found is None else found


def _own(name: str) -> np.ufunc | None:
    found = None if ufunc.call is None else ufunc.call(name)
    if found is not None:
        own_names[found] = name
    return found


def of_floats(name: str, a: Any, b: Any) -> np.ufunc | None:
    """The function of one of `OWN_BINARY` names, if that is native code for these operands, one of them an array."""
    types = {x.dtype for x in (a, b) if hasattr(x, "dtype")}
    if len(types) != 1 or not types <= _FLOATS or not all(hasattr(x, "dtype") or type(x) is float for x in (a, b)):
        return None
    return _own(name)


_FLOATS = frozenset({np.dtype(np.float32), np.dtype(np.float64)})
#: Writes the elements of the first array into the second, of another type; False where it cannot.
convert: Hook[[np.ndarray[Any, Any], np.ndarray[Any, Any]], bool] = Hook()
#: Elements from which on `convert` is worth being called.
_FEW = 256
#: Copies an array into another of its type that lies in another order; False where it does not. `opweave` supplies it.
turn: Hook[[np.ndarray[Any, Any], np.ndarray[Any, Any]], bool] = Hook()
#: Elements from which on that is.
_MANY = 1 << 14


def is_many(out: np.ndarray[Any, Any]) -> bool:
    """Whether so many elements of a matrix are worth being copied where they lie in another order."""
    return out.size >= _MANY and out.ndim > 1


def is_turned(out: np.ndarray[Any, Any], x: Any) -> bool:
    """Copy what lies in another order, by native code; whether that was done."""
    if type(out) is not np.ndarray or type(x) is not np.ndarray or not is_many(out):
        return False
    if turn.call is None or x.dtype != out.dtype or x.shape != out.shape or np.may_share_memory(x, out):
        return False
    return turn.call(x, out)


def converted(x: Any, dtype: np.dtype[Any]) -> Any:
    """`x.astype(dtype)`; many elements are left to native code, which does not go one by one as NumPy does.

    Floats become integers as `Scalars.cast` has it.
    """
    found = _natively(x, dtype)
    if found is not None:
        return found
    if type(x) is np.ndarray and x.dtype.kind == "f" and dtype.kind in "iu":
        return _float_to_int(np, x, dtype)
    return x.astype(dtype)


def _natively(x: Any, dtype: np.dtype[Any]) -> np.ndarray[Any, Any] | None:
    """What native code converts; None where it does not."""
    if type(x) is np.ndarray and x.size >= _FEW and _is_real(x.dtype, dtype) and convert.call is not None:
        # Rows, or what is rows when it is turned: the result lies as the source does.
        rows = x if x.flags.c_contiguous else x.T
        if rows.flags.c_contiguous:
            out = memory.empty(rows.shape, dtype)
            if convert.call(rows, out):
                return out if rows is x else out.T
    return None


def convert_into(out: np.ndarray[Any, Any], x: Any) -> None:
    """`np.copyto(out, x)`, converted as casts are."""
    if type(x) is np.ndarray and out.size >= _FEW and _is_real(x.dtype, out.dtype) and convert.call is not None:
        if convert.call(x, out):
            return
    if not is_turned(out, x):
        np.copyto(out, x, casting="unsafe")


def _is_real(source: np.dtype[Any], target: np.dtype[Any]) -> bool:
    """Whether there is code for two types: real numbers, of which bfloat16 alone is none of NumPy's."""
    return source != target and all(d.kind in "biuf" or d.itemsize == 2 and d.kind == "V" for d in (source, target))


#: What a round of Philox multiplies by, and adds to the key.
FACTORS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
STEPS = (np.uint32(0x9E3779B9), np.uint32(0xBB67AE85))
ROUNDS = 10


def _halves(xp: Any, x: Any) -> tuple[Any, Any]:
    """The low and the high 32 bits of integers."""
    wide = xp.asarray(x).astype(np.uint64)
    return wide.astype(np.uint32), (wide >> np.uint64(32)).astype(np.uint32)


class ArrayScalars(Scalars):
    """Evaluates a body on whole arrays of one array module (NumPy or CuPy)."""

    def __init__(self, xp: Any):
        self.xp = xp
        for name in ("sqrt", "sin", "cos", "abs", "neg", "isnan", "isinf", "isfinite", "signbit", "logical_not",
                     "maximum", "minimum"):  # fmt: skip
            setattr(self, name, getattr(xp, RENAMED.get(name, name)))
        self.conj = xp.conjugate

    def __getattr__(self, name: str) -> Any:
        """Functions that native code may compute, which is loaded when one of them is first called for."""
        if name not in OWN and name not in OWN_SINGLE:
            return super().__getattr__(name)
        found = elementary(name) if self.xp is np else getattr(self.xp, RENAMED.get(name, name))
        setattr(self, name, found)
        return found

    def where(self, condition: Value, a: Value, b: Value) -> Value:
        return self.xp.where(condition, a, b)

    def cast(self, x: Value, dtype: DType) -> Value:
        x = x if hasattr(x, "dtype") else self.xp.asarray(x)
        if dtype is dtypes.bool_:
            if x.dtype == np.bool_:
                return x
            return x != 0 if x.dtype.kind != "V" else converted(x, np.dtype(np.bool_))
        if x.dtype.kind not in "biufc" and (x.dtype.itemsize == 1 or dtype.kind in "iu"):
            # NumPy knows of no rules for float8 types, and of none for large bfloat16 numbers.
            x = converted(x, np.dtype(np.float32))
        if x.dtype.kind == "f" and dtype.kind in "iu":
            found = _natively(x, dtype.numpy)
            return _float_to_int(self.xp, x, dtype.numpy) if found is None else found
        if x.dtype.kind == "c" and dtype.kind != "c":
            x = x.real
            return self.cast(x, dtype)
        return narrowed(self.xp, x, dtype) if dtype.is_stored else converted(x, dtype.numpy)

    def const(self, value: complex, dtype: DType) -> Value:
        return (
            self.cast(self.xp.asarray(value), dtype) if dtype.is_stored else self.xp.asarray(value).astype(dtype.numpy)
        )

    def dtype(self, x: Value) -> DType:
        if hasattr(x, "dtype"):
            return dtypes.from_numpy(x.dtype)
        return dtypes.bool_ if isinstance(x, bool) else dtypes.int64 if isinstance(x, int) else dtypes.float32

    def philox(self, seed: Value, number: Value, place: Value) -> tuple[Value, Value, Value, Value]:
        key, counter = _halves(self.xp, seed), [*_halves(self.xp, place), *_halves(self.xp, number)]
        for _ in range(ROUNDS):
            (low_a, high_a), (low_b, high_b) = (
                _halves(self.xp, counter[at].astype(np.uint64) * by) for at, by in zip((0, 2), FACTORS, strict=True)
            )
            counter = [high_b ^ counter[1] ^ key[0], low_b, high_a ^ counter[3] ^ key[1], low_a]
            with np.errstate(over="ignore"):
                key = tuple(part + by for part, by in zip(key, STEPS, strict=True))
        return (counter[0], counter[1], counter[2], counter[3])

    def real(self, x: Value) -> Value:
        return x.real

    def imag(self, x: Value) -> Value:
        return x.imag

    def complex(self, real: Value, imag: Value) -> Value:
        # A sum with a multiple of 1j would make NaN of what is infinite.
        parts = self.xp.broadcast_arrays(self.xp.asarray(real), self.xp.asarray(imag))
        found = self.xp.empty(parts[0].shape, self.xp.result_type(*parts, np.complex64))
        found.real, found.imag = parts
        return found

    def rsqrt(self, x: Value) -> Value:
        return 1 / self.xp.sqrt(x)

    def erf(self, x: Value) -> Value:
        if _is_traced(x):
            return x.computed_by(erf_of_array)
        if native.call is not None and isinstance(x, (np.ndarray, np.generic)):
            found = native.call("erf", np.asarray(x))
            if found is not None:
                return found
        return erf(self.xp, x)

    def sigmoid(self, x: Value) -> Value:
        return 1 / (1 + self.exp(-x))

    def reciprocal(self, x: Value) -> Value:
        return 1 / x

    def sign(self, x: Value) -> Value:
        return x if x.dtype == np.bool_ else self.xp.sign(x)

    def _integral(self, name: str, x: Value) -> Value:
        dtype = x.dtype if hasattr(x, "dtype") else self.xp.asarray(x).dtype
        return x if dtype.kind in "biu" else getattr(self.xp, name)(x)

    def floor(self, x: Value) -> Value:
        return self._integral("floor", x)

    def ceil(self, x: Value) -> Value:
        return self._integral("ceil", x)

    def trunc(self, x: Value) -> Value:
        return self._integral("trunc", x)

    def round(self, x: Value) -> Value:
        return self._integral("rint", x)

    def fmod(self, a: Value, b: Value) -> Value:
        own = self._of_floats("fmod", a, b)
        if own is not None:
            return own(a, b)
        _check_divisor(self.xp, a, b)
        return self.xp.fmod(a, b)

    def _of_floats(self, name: str, a: Value, b: Value) -> np.ufunc | None:
        return of_floats(name, a, b) if self.xp is np else None

    def remainder(self, a: Value, b: Value) -> Value:
        own = self._of_floats("remainder", a, b)
        if own is not None:
            return own(a, b)
        _check_divisor(self.xp, a, b)
        if _kind_of(self.xp, a, b) != "f":
            return self.xp.remainder(a, b)
        # As fmod where that has the divisor's sign; `xp.remainder` gives zeros another sign than PyTorch.
        rest = self.xp.fmod(a, b)
        if type(b) is float:
            return self.xp.where(rest > 0 if b < 0 else rest < 0, rest + b, rest)
        return self.xp.where((rest < 0) & (b > 0) | (rest > 0) & (b < 0), rest + b, rest)

    def floor_divide(self, a: Value, b: Value) -> Value:
        own = self._of_floats("floor_divide", a, b)
        if own is not None:
            return own(a, b)
        _check_divisor(self.xp, a, b)
        result = self.xp.floor_divide(a, b)
        if result.dtype.kind != "f" or self.xp is np:
            return result
        # CuPy follows Python, where x // 0.0 is NaN; IEEE division (PyTorch, NumPy) gives an infinity.
        return self.xp.where(b == 0 if _is_traced(b) else self.xp.asarray(b) == 0, a / b, result)

    def trunc_divide(self, a: Value, b: Value) -> Value:
        if _kind_of(self.xp, a, b) not in "biu":  # bfloat16 has a kind of its own
            return self.xp.trunc(a / b)
        _check_divisor(self.xp, a, b)
        quotient = self.xp.floor_divide(a, b)
        return quotient + ((quotient < 0) & (quotient * b != a))

    def pow(self, a: Value, b: Value) -> Value:
        if self.xp.result_type(a, b).kind in "biu":
            return _integer_power(self.xp, a, b)
        found = self.xp.power(a, b)
        if isinstance(b, np.ndarray) and b.shape != np.shape(a) and (b == 0.5).any():
            # NumPy takes a root where one exponent stands for many; of what has no root the power is another.
            root = b == 0.5
            found = np.where(root & (a == -math.inf), b.dtype.type(math.inf), found)
            found = np.where(root & (a == 0), b.dtype.type(0), found)
        return found


def narrowed(xp: Any, x: Any, dtype: DType) -> Any:
    """Values as elements of a float8 type, by way of float32.

    Where PyTorch and ml_dtypes differ, PyTorch's rule: float8_e4m3fn takes its greatest value for what is beyond, and
    float8_e8m0fnu, powers of two alone, has ties to the greater one and takes no notice of signs.
    """
    wide = x.astype(np.float32)
    if dtype is dtypes.float8_e4m3fn:
        wide = xp.clip(wide, -448.0, 448.0)
    elif dtype is dtypes.float8_e8m0fnu:
        bits = wide.view(np.uint32)
        exponent, mantissa = bits >> 23 & 0xFF, bits & 0x7FFFFF
        up = (mantissa >= 0x400000) & ((mantissa > 0x400000) | (exponent > 0)) & (exponent < 0xFF)
        return (exponent + up).astype(np.uint8).view(dtype.numpy)
    return wide.astype(dtype.numpy)


def _is_traced(value: Any) -> bool:
    """Whether a value only stands for an array."""
    return hasattr(type(value), "computed_by")


def _kind_of(xp: Any, *values: Any) -> str:
    """The kind of the type that values have together."""
    return xp.result_type(*[v.dtype if _is_traced(v) else v for v in values]).kind


def _check_divisor(xp: Any, a: Any, b: Any) -> None:
    """Refuse an integer division by zero on the CPU; on a GPU it would have to wait for the data."""
    if _is_traced(a) and not _is_traced(b):
        a = a.sample
    if xp is np and np.result_type(a, b).kind in "iu" and not np.all(b) and np.size(a) and np.size(b):
        raise DivisionByZeroError(DIVISION_BY_ZERO, hint=DIVISION_HINT)


def _float_to_int(xp: Any, x: Any, target: np.dtype[Any]) -> Any:
    """Truncate as x86 and PyTorch do: NaN and what is out of range become the least int32 (int64); then wrap."""
    kind, bound = (np.int64, 2.0**63) if target.itemsize == 8 else (np.int32, 2.0**31)
    wide = xp.trunc(converted(x, np.dtype(np.float32)) if x.dtype.itemsize < 4 else x)
    if target.kind == "u" and target.itemsize >= 4:  # the type itself holds more
        large = (wide >= bound) & (wide < 2 * bound)
        if large.any():
            small = _float_to_int(xp, xp.where(large, 0, wide), target)
            return xp.where(large, xp.where(large, wide, 0).astype(target), small)
    outside = ~((wide >= -bound) & (wide < bound))
    if outside.any():
        wide = xp.where(outside, -bound, wide)
    return wide.astype(kind).astype(target, copy=False)


def _integer_power(xp: Any, a: Any, b: Any) -> Any:
    """Wrapping integer power; a negative exponent leaves 1 and -1 (and 0 for all other bases), as PyTorch."""
    a, b = xp.asarray(a), xp.asarray(b)
    negative = b < 0
    result = xp.power(a, xp.where(negative, xp.zeros_like(b), b))
    if negative.any():
        odd = (b & 1) != 0
        inverse = xp.where(a == 1, 1, xp.where(a == -1, xp.where(odd, -1, 1), 0)).astype(result.dtype)
        result = xp.where(negative, inverse, result)
    return result

"""Comparisons, logic and bits."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import ArgumentError, DataDependentError, DTypeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import COMPARE, PointwiseDecl, composite, pointwise
from opweave.registry.ops.numbers import first_number, second_number
from opweave.registry.ops.samples import Make, pairs
from opweave.registry.promote import result_type
from opweave.registry.tensor import Tensor, describe

_INTEGERS = (dtypes.int64, dtypes.int32, dtypes.int8, dtypes.uint8)
_FLOATS = (dtypes.float32, dtypes.float64, dtypes.bfloat16, dtypes.float16)
aten = ops.aten


# ---- comparison and logic ------------------------------------------------------------------------------------------


def _comparison(name: str, kinds: str = "buifc") -> Callable[[Callable[..., Any]], PointwiseDecl]:
    schema = f"aten::{name}.Tensor(Tensor self, Tensor other) -> Tensor"
    return pointwise(schema, kinds=kinds, promote=COMPARE, out="Tensor_out", is_cheap=True, rounds_numbers=(0, 1))


@_comparison("eq")
def eq(k: Any, x: Any, y: Any) -> Any:
    return x == y


@_comparison("ne")
def ne(k: Any, x: Any, y: Any) -> Any:
    return x != y


eq.takes_stored = ne.takes_stored = True


@_comparison("lt", kinds="buif")
def lt(k: Any, x: Any, y: Any) -> Any:
    return x < y


@_comparison("le", kinds="buif")
def le(k: Any, x: Any, y: Any) -> Any:
    return x <= y


@_comparison("gt", kinds="buif")
def gt(k: Any, x: Any, y: Any) -> Any:
    return x > y


@_comparison("ge", kinds="buif")
def ge(k: Any, x: Any, y: Any) -> Any:
    return x >= y


@pointwise("aten::logical_and(Tensor self, Tensor other) -> Tensor", promote=COMPARE)
def logical_and(k: Any, x: Any, y: Any) -> Any:
    return k.cast(x, dtypes.bool_) & k.cast(y, dtypes.bool_)


@pointwise("aten::logical_or(Tensor self, Tensor other) -> Tensor", promote=COMPARE)
def logical_or(k: Any, x: Any, y: Any) -> Any:
    return k.cast(x, dtypes.bool_) | k.cast(y, dtypes.bool_)


@pointwise("aten::logical_xor(Tensor self, Tensor other) -> Tensor", promote=COMPARE)
def logical_xor(k: Any, x: Any, y: Any) -> Any:
    return k.cast(x, dtypes.bool_) ^ k.cast(y, dtypes.bool_)


@pointwise("aten::logical_not(Tensor self) -> Tensor", promote=COMPARE)
def logical_not(k: Any, x: Any) -> Any:
    return k.logical_not(x)


def _bitwise_types(*operands: Any) -> tuple[DType, DType]:
    common = result_type(*operands)
    if common.kind not in "biu":
        raise DTypeError(
            "bitwise op: only for integers and bools",
            got=", ".join(map(describe, operands)),
            hint="compare first, (x > 0) & (y > 0), or convert: x.int()",
        )
    return common, common


@pointwise("aten::bitwise_and.Tensor(Tensor self, Tensor other) -> Tensor", promote=_bitwise_types, out="Tensor_out")
def bitwise_and(k: Any, x: Any, y: Any) -> Any:
    return x & y


@pointwise("aten::bitwise_or.Tensor(Tensor self, Tensor other) -> Tensor", promote=_bitwise_types, out="Tensor_out")
def bitwise_or(k: Any, x: Any, y: Any) -> Any:
    return x | y


@pointwise("aten::bitwise_xor.Tensor(Tensor self, Tensor other) -> Tensor", promote=_bitwise_types, out="Tensor_out")
def bitwise_xor(k: Any, x: Any, y: Any) -> Any:
    return x ^ y


@pointwise("aten::bitwise_not(Tensor self) -> Tensor", promote=_bitwise_types)
def bitwise_not(k: Any, x: Any) -> Any:
    return k.logical_not(x) if k.dtype(x) is dtypes.bool_ else ~x


@pointwise("aten::isnan(Tensor self) -> Tensor", promote=COMPARE, inplace=False)
def isnan(k: Any, x: Any) -> Any:
    return x != x


@pointwise("aten::isinf(Tensor self) -> Tensor", promote=COMPARE, inplace=False)
def isinf(k: Any, x: Any) -> Any:
    return k.isinf(x)


@pointwise("aten::isfinite(Tensor self) -> Tensor", promote=COMPARE, inplace=False, out=False)
def isfinite(k: Any, x: Any) -> Any:
    return k.isfinite(x)


isnan.takes_stored = isinf.takes_stored = isfinite.takes_stored = True


@pointwise("aten::signbit(Tensor self) -> Tensor", kinds="buif", promote=COMPARE, inplace=False)
def signbit(k: Any, x: Any) -> Any:
    return k.signbit(x)


@pointwise("aten::isposinf(Tensor self) -> Tensor", kinds="buif", promote=COMPARE, inplace=False)
def isposinf(k: Any, x: Any) -> Any:
    return k.isinf(x) & k.logical_not(k.signbit(x))


@pointwise("aten::isneginf(Tensor self) -> Tensor", kinds="buif", promote=COMPARE, inplace=False)
def isneginf(k: Any, x: Any) -> Any:
    return k.isinf(x) & k.signbit(x)


# ---- shifts: by the width or more, or by a negative count, as an endless shift would -------------------------------


@pointwise("aten::bitwise_left_shift.Tensor(Tensor self, Tensor other) -> Tensor", kinds="ui", out="Tensor_out")
def bitwise_left_shift(k: Any, x: Any, y: Any) -> Any:
    return x << y


@pointwise("aten::bitwise_right_shift.Tensor(Tensor self, Tensor other) -> Tensor", kinds="ui", out="Tensor_out")
def bitwise_right_shift(k: Any, x: Any, y: Any) -> Any:
    return x >> y


# ---- tolerance -----------------------------------------------------------------------------------------------------


@composite(
    "aten::isclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> Tensor"
)
def isclose(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Tensor:
    """Where elements are equal, or finite with `|self - other| <= atol + rtol * |other|`."""
    if self._dtype is not other._dtype:
        raise DTypeError("isclose: expected one dtype", got=describe([self, other]), hint="convert one with .to(dtype)")
    if not (rtol >= 0 and atol >= 0):
        raise ArgumentError("isclose: a tolerance must not be negative", got=f"rtol={rtol}, atol={atol}")
    close = aten.eq.Tensor(self, other)
    if equal_nan and self._dtype.kind in "fc":
        both = aten.logical_and.default(aten.isnan.default(self), aten.isnan.default(other))
        close = aten.logical_or.default(close, both)
    if rtol == 0 and atol == 0:
        return close
    a: Any = self
    b: Any = other
    if self._dtype.kind in "bui":
        b = aten._to_copy.default(b, dtype=get_default_dtype())
        a = aten._to_copy.default(a, dtype=get_default_dtype()) if self._dtype.kind == "b" else a
    allowed = atol + aten.abs.default(b * rtol)
    error = aten.abs.default(a - b)
    near = aten.logical_and.default(aten.isfinite.default(error), aten.le.Tensor(error, allowed))
    return aten.logical_or.default(close, near)


def _truth(found: Any, hint: str) -> bool:
    try:
        return bool(found)
    except DataDependentError as error:
        error.hint = hint  # one that can be traced
        raise


@composite(
    "aten::allclose(Tensor self, Tensor other, float rtol=1e-05, float atol=1e-08, bool equal_nan=False) -> bool",
    tags="data_dependent_output",
)
def allclose(self: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Whether all elements are close, as `isclose` says."""
    found = aten.all.default(isclose.body(self, other, rtol, atol, equal_nan))
    return _truth(found, "isclose(...).all() gives a tensor, which can be traced")


@composite("aten::equal(Tensor self, Tensor other) -> bool", tags=("data_dependent_output", "pointwise"))
def equal(self: Tensor, other: Tensor) -> bool:
    """Whether both have the same sizes and elements; NaN equals nothing."""
    if self._sizes != other._sizes:
        return False
    found = aten.all.default(aten.eq.Tensor(self, other))
    return _truth(found, "(x == y).all() gives a tensor, which can be traced; isclose(x, y).all() with a tolerance")


# ---- numbers in place of tensors -----------------------------------------------------------------------------------


for _name in ("eq", "ne", "lt", "le", "gt", "ge"):
    second_number(_name, inplace_tags=())
for _name in ("bitwise_and", "bitwise_or", "bitwise_xor"):
    second_number(_name)
    first_number(_name)
for _name in ("bitwise_left_shift", "bitwise_right_shift"):
    second_number(_name, "Tensor_Scalar")
    first_number(_name)


# ---- functions of the package --------------------------------------------------------------------------------------


def isclose_function(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> Tensor:  # fmt: skip
    """Where `|input - other| <= atol + rtol * |other|`, or both are equal.

    Parameters
    ----------
    input, other : Tensor
        Of one dtype.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.

    Examples
    --------
    >>> opweave.isclose(opweave.tensor([1.0, 2.0]), opweave.tensor([1.0, 2.1]))
    tensor([ True, False])
    """
    return aten.isclose.default(input, other, rtol, atol, equal_nan)


def allclose_function(
    input: Tensor, other: Tensor, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False
) -> bool:
    """Whether `isclose` holds everywhere; a trace, which does not know, takes `isclose(...).all()`.

    Parameters
    ----------
    input, other : Tensor
        Of one dtype.
    rtol, atol : float
        Relative and absolute tolerance.
    equal_nan : bool
        Whether NaN equals NaN.

    Examples
    --------
    >>> opweave.allclose(opweave.tensor([1.0]), opweave.tensor([1.0001]), rtol=1e-3)
    True
    """
    return aten.allclose.default(input, other, rtol, atol, equal_nan)


def equal_function(input: Tensor, other: Tensor) -> bool:
    """Whether both have the same sizes and elements; NaN equals nothing.

    Parameters
    ----------
    input, other : Tensor

    Examples
    --------
    >>> opweave.equal(opweave.tensor([1, 2]), opweave.tensor([1, 2]))
    True
    """
    return aten.equal.default(input, other)


#: Functions of the package, and methods, that call their first argument `input`.
METHODS: dict[str, Callable[..., Any]] = {
    "isclose": isclose_function,
    "allclose": allclose_function,
    "equal": equal_function,
}


# ---- samples -------------------------------------------------------------------------------------------------------


for _decl in (eq, ne, lt, le, gt, ge, logical_and, logical_or, logical_xor, bitwise_and, bitwise_or, bitwise_xor):
    _decl.with_samples(pairs)

for _decl in (logical_not, bitwise_not, isnan, isinf, isfinite, signbit):
    _decl.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})])


def _shifts(make: Make) -> Iterable[Any]:
    yield (make(3, 4), make(4, low=0)), {}
    yield (make(3, 1), make(low=0)), {}
    yield (make(3), 2), {}
    yield (make(3), make(3, low=0, high=100)), {}


for _decl in (bitwise_left_shift, bitwise_right_shift):
    _decl.with_samples(_shifts)
    _decl.sample_dtypes = _INTEGERS

for _decl in (isposinf, isneginf):
    _decl.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {})])
    _decl.sample_dtypes = (*_FLOATS, dtypes.int64, dtypes.bool_)


@isclose.with_samples
def _(make: Make) -> Iterable[Any]:
    x = make(3, 4)
    yield (x, aten.add.Tensor(x, x) if x._dtype.kind == "b" else x * 1), {}
    yield (x, make(4)), {"rtol": 0.5, "atol": 1.0}
    yield (x, make()), {"rtol": 0.0, "atol": 0.0, "equal_nan": True}
    yield (x, x), {"equal_nan": True}


isclose.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.uint8, dtypes.bool_, dtypes.complex64)

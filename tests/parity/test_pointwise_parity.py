"""Pointwise ops against PyTorch: the declared samples, special values of all types mixed, and Python numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import comparisons
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import of_test
from op_matrix import special
from op_samples import ops_with_samples
from oracle import TOLERANCE, check, to_torch, values_of

from opweave.registry.dtypes import DTYPES, DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import activation, numeric, pointwise
from opweave.registry.tensor import Tensor, from_numpy

REAL = [dtype for dtype in DTYPES.values() if dtype.kind != "c"]
BINARY = [
    ops.aten.add.Tensor, ops.aten.sub.Tensor, ops.aten.mul.Tensor, ops.aten.div.Tensor,
    ops.aten.floor_divide.default, ops.aten.remainder.Tensor, ops.aten.fmod.Tensor, ops.aten.eq.Tensor,
    ops.aten.lt.Tensor, ops.aten.ge.Tensor, ops.aten.maximum.default, ops.aten.minimum.default,
    ops.aten.logical_and.default, ops.aten.bitwise_xor.Tensor, ops.aten.bitwise_left_shift.Tensor,
    ops.aten.bitwise_right_shift.Tensor,
]  # fmt: skip
#: PyTorch's own division of the least integer by -1 traps.
DIVISIONS = {"floor_divide", "remainder", "fmod"}
OPERATORS: list[Callable[[Any, Any], Any]] = [
    operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod, operator.pow,
    operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge, operator.and_, operator.or_,
    operator.xor,
]  # fmt: skip
NUMBERS = (2, 0, -3, 1.5, True, False, 300, 2.0, 0.0, -1.5, float("nan"), float("inf"), 2**40)


@pytest.mark.parametrize("op", ops_with_samples(pointwise, numeric, activation), ids=str)
def test_matches_pytorch(op: OpOverload) -> None:
    assert check(op)


def _agree(ours: Any, theirs: Any, note: Any) -> bool:
    """Compare what two calls gave, or that both refuse; whether there was a result."""
    if isinstance(ours, Exception) or isinstance(theirs, Exception):
        assert isinstance(ours, Exception) == isinstance(theirs, Exception), (note, str(ours), str(theirs))
        return False
    assert ours._dtype.name == str(theirs.dtype).removeprefix("torch."), (note, ours._dtype, theirs.dtype)
    assert ours._sizes == tuple(theirs.shape), note
    mine, other = values_of(ours), values_of(theirs)
    comparisons.note_test()
    tolerance = of_test("pairs of types").rtol * TOLERANCE.get(ours._dtype.name, 0.0)
    np.testing.assert_allclose(mine, other, rtol=tolerance, atol=0, equal_nan=True, err_msg=str(note))
    return True


def _call(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (OpweaveError, RuntimeError, TypeError, ZeroDivisionError) as error:
        return error


def _values(dtype: DType, *, bounded: bool) -> Any:
    values = special(dtype)
    if dtype.kind == "f":
        # PyTorch divides by way of reciprocals in places, which overflow for subnormal values.
        wide = np.abs(values.astype(np.float64))
        values = values[~((wide > 0) & (wide < (1e-4 if dtype.itemsize == 2 else 1e-30)))]
    if bounded and dtype.kind in "iu":
        # PyTorch converts integers to a half type first, which rounds those of more than 8 bits; here that comes last.
        values = values[np.abs(values.astype(np.float64)) <= 256]
    return values


@pytest.mark.parametrize("op", BINARY, ids=str)
def test_all_pairs_of_types(op: OpOverload) -> None:
    theirs = getattr(getattr(torch.ops.aten, op.opname), op.overload)
    results = 0
    for left in REAL:
        for right in REAL:
            a = _values(left, bounded=right.itemsize == 2 and right.kind == "f")
            b = _values(right, bounded=left.itemsize == 2 and left.kind == "f")
            if op.opname in DIVISIONS:
                a, b = (v[np.abs(v.astype(np.float64)) < 1e6] if v.dtype.kind not in "biu" else v for v in (a, b))
            if op.opname in DIVISIONS and left.kind in "iu":
                a = a[a != np.iinfo(a.dtype).min] if left.kind == "i" else a
            for divisors in (b, b[b != 0]) if op.opname in DIVISIONS else (b,):
                x, y = (Tensor._from_array(np.ascontiguousarray(v)) for v in np.broadcast_arrays(a[:, None], divisors))
                found = _call(op, x, y), _call(theirs, to_torch(x), to_torch(y))
                results += _agree(*found, (str(op), left, right))
    assert results


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_numbers_on_either_side(function: Callable[[Any, Any], Any]) -> None:
    results = 0
    for dtype in REAL:
        values = _values(dtype, bounded=True)
        if function in (operator.floordiv, operator.mod) and dtype.kind in "iu":
            values = values[(values != 0) & (values != np.iinfo(values.dtype).min)]
        if function in (operator.pow, operator.mod, operator.floordiv) and dtype.kind == "f":
            # PyTorch's approximations differ where a quotient or a power overflows.
            with np.errstate(all="ignore"):
                values = values[np.abs(values.astype(np.float64)) < 100]
        x = Tensor._from_array(values.copy())
        y = to_torch(x)
        for number in NUMBERS:
            if dtype.name == "float16" and abs(number) > 6e4:
                continue  # as above
            if function is operator.pow and number in (300, 2**40):
                continue  # an exponent that does not fit the type wraps here, and PyTorch refuses it for some types
            note = (function.__name__, dtype, number)
            results += _agree(_call(function, x, number), _call(function, y, number), note)
            results += _agree(_call(function, number, x), _call(function, number, y), (*note, "reflected"))
    assert results


@pytest.mark.parametrize("dtype", REAL, ids=repr)
def test_casts_from_every_type(dtype: DType) -> None:
    for source in REAL:
        values = special(source)
        if source.kind == "f" and dtype.kind in "iu":
            values = values[np.isfinite(values) & (np.abs(values.astype(np.float64)) < 100)]
            values = values[values > -1] if dtype.kind == "u" else values
        x = Tensor._from_array(values.copy())
        _agree(x.to(dtype), to_torch(x).to(getattr(torch, dtype.name)), (source, dtype))


@pytest.mark.parametrize("size", [3, 100_000])
@pytest.mark.parametrize("dtype", ["float32", "float64", "float16"])
def test_zeros_and_nan_at_limits(dtype: str, size: int) -> None:
    values = np.resize(np.array([0.0, -0.0, np.nan, -np.inf, np.inf, 0.5, -0.5]), size).astype(dtype)
    for low, high in ((0.0, 1.0), (-0.0, None), (-1.0, 0.0), (None, -0.0), (0, None), (2.0, -2.0)):
        ours = ops.aten.clamp.default(from_numpy(values.copy()), low, high).numpy()
        theirs = torch.clamp(torch.from_numpy(values.copy()), low, high).numpy()
        np.testing.assert_array_equal(ours, theirs)
        np.testing.assert_array_equal(np.signbit(ours[ours == 0]), np.signbit(theirs[theirs == 0]))

"""Pointwise ops against PyTorch: the declared samples, special values of all types mixed, and Python numbers."""

from __future__ import annotations

import operator
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import comparisons
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from differences import left_out, of_test
from op_matrix import special
from op_samples import ops_with_samples
from oracle import TOLERANCE, check, hold_close, to_torch, values_of

import opweave
from opweave.registry.dtypes import COMPUTED, DType, promote_types
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import activation, arithmetic, comparison, elementary, floats
from opweave.registry.tensor import Tensor, from_numpy

REAL = [dtype for dtype in COMPUTED if dtype.kind != "c"]
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


@pytest.mark.parametrize("op", ops_with_samples(arithmetic, comparison, elementary, floats, activation), ids=str)
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
    allowed = of_test("pairs of types")
    assert allowed.rtol is not None
    hold_close(mine, other, replace(allowed, rtol=allowed.rtol * TOLERANCE.get(ours._dtype.name, 0.0)), note)
    return True


def _call(function: Callable[..., Any], *args: Any) -> Any:
    try:
        return function(*args)
    except (OpweaveError, RuntimeError, TypeError, ZeroDivisionError) as error:
        return error


def _values(dtype: DType, other: DType) -> Any:
    """Special values of a type beside one of another."""
    values = special(dtype)
    rounded = other.kind == "f" and other.itemsize == 2 and dtype.kind in "iu"
    if rounded and left_out("pairs of types, whole numbers beside half types"):
        values = values[np.abs(values.astype(np.float64)) <= 256]
    return values


def _known_quotients(x: Any, y: Any, dtype: DType) -> Any:
    """Of which pairs the quotient is a number, or is not one because the numbers are none."""
    with np.errstate(all="ignore"):
        x, y = (v.astype(dtype.compute.numpy) for v in (x, y))
        return ~(np.isinf(x / y) & np.isfinite(x) & (y != 0))


@pytest.mark.parametrize("op", BINARY, ids=str)
def test_all_pairs_of_types(op: OpOverload) -> None:
    theirs = getattr(getattr(torch.ops.aten, op.opname), op.overload)
    results = 0
    for left in REAL:
        for right in REAL:
            a, b = _values(left, right), _values(right, left)
            if op.opname in DIVISIONS and left.kind == "i":
                a = a[a != np.iinfo(a.dtype).min]  # no difference: the least integer by -1 ends PyTorch's process
            for divisors in (b, b[b != 0]) if op.opname in DIVISIONS else (b,):
                pairs = list(np.broadcast_arrays(a[:, None], divisors))
                common = promote_types(left, right)
                if op.opname in ("remainder", "fmod") and common.kind == "f":
                    known = _known_quotients(pairs[0], pairs[1], common)
                    pairs = [v[known] for v in pairs if left_out("remainder, quotients that overflow")]
                x, y = (Tensor._from_array(np.ascontiguousarray(v)) for v in pairs)
                found = _call(op, x, y), _call(theirs, to_torch(x), to_torch(y))
                results += _agree(*found, (str(op), left, right))
    assert results


@pytest.mark.parametrize("function", OPERATORS, ids=lambda f: f.__name__)
def test_numbers_on_either_side(function: Callable[[Any, Any], Any]) -> None:
    results = 0
    for dtype in REAL:
        values = special(dtype)
        if function in (operator.floordiv, operator.mod) and dtype.kind == "i":
            values = values[values != np.iinfo(values.dtype).min]  # no difference: as above
        for number in NUMBERS:
            beyond = dtype.name == "float16" and type(number) is int and abs(number) > 65504
            if beyond and left_out("pairs of types, whole numbers beside half types"):
                continue
            note = (function.__name__, dtype, number)
            x = Tensor._from_array(values.copy())
            results += _agree(_call(function, x, number), _call(function, to_torch(x), number), note)
            if function is operator.mod and dtype.kind == "f" and left_out("remainder, quotients that overflow"):
                x = Tensor._from_array(values[_known_quotients(np.full(values.shape, number), values, dtype)])
            results += _agree(_call(function, number, x), _call(function, number, to_torch(x)), (*note, "reflected"))
    assert results


@pytest.mark.parametrize("dtype", REAL, ids=repr)
def test_casts_from_every_type(dtype: DType) -> None:
    for source in REAL:
        values = special(source)
        if source.kind == "f" and dtype.kind in "iu":
            # No difference: what a number gives that the type does not hold is another on each machine.
            values = values[np.isfinite(values) & (np.abs(values.astype(np.float64)) < 128)]
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


#: What PyTorch makes a number beside a half tensor an element for, and the number before it for `//`.
_ROUNDING_NUMBERS = {
    "eq": lambda lib, x, y: x == y,
    "lt": lambda lib, x, y: x < y,
    "ge": lambda lib, x, y: x >= y,
    "remainder": lambda lib, x, y: x % y,
    "fmod": lambda lib, x, y: lib.fmod(x, y),
    "rest of the number": lambda lib, x, y: y % x,
    "floor_divide": lambda lib, x, y: x // y,
    "truncated": lambda lib, x, y: lib.div(x, y, rounding_mode="trunc"),
}


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", _ROUNDING_NUMBERS)
def test_numbers_beside_half_types_are_rounded(name: str, dtype: str) -> None:
    op = _ROUNDING_NUMBERS[name]
    for number in (0.1, -0.3, 2.7, 10.01, 3):
        values = (np.random.default_rng(0).standard_normal(80_000) * 4).astype(np.float32)
        values[:40] = number
        x, other = from_numpy(values).to(getattr(opweave, dtype)), torch.from_numpy(values).to(getattr(torch, dtype))
        for size in (100, 80_000):
            theirs = op(torch, other[:size], number).float().numpy()
            found = [op(opweave, x[:size], number), opweave.compile(lambda t, n=number: op(opweave, t, n))(x[:size])]
            if name != "rest of the number":
                found.append(op(opweave, x[:size], opweave.tensor(number)))
            for mine in found:
                np.testing.assert_array_equal(mine.to(opweave.float32).numpy(), theirs)

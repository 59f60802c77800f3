"""Every op's samples, in several layouts and with special values: fake, traced and compiled agree with eager.

The sample calls of an op and dtype are compiled as one function, so that the matrix stays quick. A selection of layouts
and dtypes runs by default, all of them with ``OPWEAVE_FULL_MATRIX=1``.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_matrix import Outcome, calls_of, cases, compare, compiled_dtypes_of, compiled_of, copied, dtypes_of, eagerly
from op_samples import Call, as_list, replace_tensors

import opweave
from opweave.fake.mode import FakeTensorMode
from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor

Accepted = list[tuple[str, Call, Outcome]]


def accepted(op: OpOverload, dtype: DType) -> Accepted:
    """The calls that eager takes, with what it gives."""
    tried = [(note, call, eagerly(op, call)) for note, call in calls_of(op, dtype)]
    return [(note, call, outcome) for note, call, outcome in tried if isinstance(outcome, Outcome)]


#: A trace refuses to change the sizes of its arguments; what it makes itself, below.
TRACED = [op for op in cases() if Tag.inplace_view not in op.tags]
RESHAPING = [op for op in cases() if Tag.inplace_view in op.tags]


def batch(op: OpOverload) -> Callable[[Any], Any]:
    """A function that makes many calls."""

    def run(calls: Any) -> Any:
        return [op(*args, **kwargs) for args, kwargs in calls]

    return run


def check(op: OpOverload, run: Callable[[Any], Any], calls: Accepted, dtype: DType, stage: str) -> int:
    """Make the calls in one batch and compare with eager."""
    arguments = [copied(call) for _, call, _ in calls]
    found = run(arguments)
    for (note, call, expected), result, given in zip(calls, found, arguments, strict=True):
        compare(Outcome(result, given), expected, op, (stage, str(op), dtype, note, call))
    return len(calls)


@pytest.mark.parametrize("op", cases(), ids=str)
def test_fake(op: OpOverload) -> None:
    count = 0
    for dtype in dtypes_of(op):
        for note, (args, kwargs), expected in accepted(op, dtype):
            with FakeTensorMode() as mode:
                fake_args, fake_kwargs = replace_tensors((args, kwargs), mode.from_tensor)
                found = op(*fake_args, **fake_kwargs)
            for fake, real in zip(as_list(found), as_list(expected.result), strict=True):
                if isinstance(real, Tensor):
                    assert fake.spec == real.spec, (str(op), dtype, note, args, kwargs)
            count += 1
    assert count


@pytest.mark.parametrize("op", TRACED, ids=str)
def test_traced(op: OpOverload) -> None:
    count = 0
    for dtype in dtypes_of(op):
        calls = accepted(op, dtype)
        if calls:
            module = opweave.make_fx(batch(op), tracing_mode="fake")([copied(call) for _, call, _ in calls])
            count += check(op, module, calls, dtype, "traced")
    assert count


@pytest.mark.parametrize("op", TRACED, ids=str)
def test_compiled(op: OpOverload) -> None:
    count = 0
    chosen = compiled_dtypes_of(op)
    for dtype in (*chosen, *(dtype for dtype in dtypes_of(op) if dtype not in chosen)):
        if count and dtype not in chosen:
            break  # the others are for ops that take none of those chosen
        calls = accepted(op, dtype)
        if not calls:
            continue
        calls = compiled_of(op, calls, dtype)
        try:
            count += check(op, opweave.compile(batch(op)), calls, dtype, "compiled")
        except OpweaveError:
            for call in calls:  # which one is it?
                try:
                    count += check(op, opweave.compile(batch(op)), [call], dtype, "compiled")
                except OpweaveError as error:
                    raise AssertionError(f"{op}: compile refuses {dtype} {call[0]} {call[1]}") from error
    assert count


@pytest.mark.parametrize("op", RESHAPING, ids=str)
@pytest.mark.parametrize(
    "stage", [opweave.compile, lambda f: lambda *a: opweave.make_fx(f, tracing_mode="fake")(*a)(*a)]
)
def test_reshaping_what_the_trace_made(stage: Any, op: OpOverload) -> None:
    count = 0
    for note, (args, kwargs), _ in accepted(op, opweave.float32):

        def run(x: Tensor, rest: Any = args[1:], kwargs: Any = kwargs) -> Any:
            made = (x + 1).mul_(2)
            seen = made.sum(-1)
            op(made, *rest, **kwargs)
            return made.neg_(), seen, made * 3

        for mine, theirs in zip(stage(run)(args[0]), run(args[0]), strict=True):
            assert mine.stride() == theirs.stride() and mine.shape == theirs.shape, note
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), rtol=1e-6)
        count += 1
    assert count


# ---- what the matrix found, one case each --------------------------------------------------------------------------


def compiled(fn: Callable[..., Any], *args: Any) -> Any:
    return opweave.compile(fn)(*args).numpy()


def test_maximum_of_falsehoods():
    x = opweave.tensor([[False, False, False], [False, True, False]])
    np.testing.assert_array_equal(compiled(lambda x: opweave.amax(x, [1]), x), [False, True])
    np.testing.assert_array_equal(compiled(lambda x: opweave.amin(~x, [1]), x), [True, False])


def test_filled_like_another():
    assert compiled(lambda x: opweave.full_like(x, 2.5), opweave.zeros(3, dtype=opweave.int64)).tolist() == [2, 2, 2]


@pytest.mark.parametrize("source", [opweave.float32, opweave.float64], ids=repr)
@pytest.mark.parametrize(
    ("target", "beyond", "inside"),
    [
        (opweave.int64, -(2**63), [3_000_000_000, 300, -300]),
        (opweave.int32, -(2**31), [-(2**31), 300, -300]),
        (opweave.int8, 0, [0, 44, -44]),
        (opweave.uint8, 0, [0, 44, 212]),
    ],
)
def test_numbers_that_no_integer_can_hold(source, target, beyond, inside):
    """As PyTorch on x86: NaN, infinities and what is too large become the least integer, or its low bits."""
    x = opweave.tensor([math.nan, math.inf, -math.inf, 1e19, -1e19, 3e9, 300.0, -300.0], dtype=source)
    assert x.to(target).tolist() == [beyond] * 5 + inside
    assert compiled(lambda x: x.to(target), x).tolist() == [beyond] * 5 + inside


def test_signs_of_zeros():
    x = opweave.tensor([0.0, -0.0, 4.0, -4.0, 0.0, 1.0])
    y = opweave.tensor([-1.0, 1.0, -2.0, 2.0, -2.0, math.inf])
    for function, signs in (
        (lambda x, y: -x, [True, False, True, False, True, True]),
        (lambda x, y: opweave.remainder(x, y), [False, True, False, True, False, False]),
        (lambda x, y: opweave.floor_divide(x, y), [True, True, True, True, True, False]),
    ):
        assert np.signbit(function(x, y).numpy()).tolist() == signs
        assert np.signbit(compiled(function, x, y)).tolist() == signs


@pytest.mark.parametrize("name", ["argmax", "argmin"])
def test_position_of_the_largest_among_no_rows(name):
    assert getattr(opweave, name)(opweave.zeros(0, 3), 1).shape == (0,)


# ---- integer division by zero ----------------------------------------------------------------------------------------

DIVISIONS = ["floor_divide", "remainder", "fmod", "trunc"]


def division(name: str) -> Callable[..., Any]:
    if name == "trunc":
        return lambda x, y: opweave.div(x, y, rounding_mode="trunc")
    return getattr(opweave, name)


def refusals(function: Callable[..., Any], *args: Any) -> list[str]:
    """What eager and compiled code say, with the line."""
    found = []
    for call in (function, opweave.compile(function)):
        with pytest.raises(ZeroDivisionError) as caught:
            call(*args)
        found.append(str(caught.value))
    return found


@pytest.mark.parametrize("dtype", [opweave.int32, opweave.int64, opweave.uint8], ids=repr)
@pytest.mark.parametrize("name", DIVISIONS)
def test_integer_division_by_zero(name, dtype):
    function = division(name)
    x, y = opweave.tensor([6, 7], dtype=dtype), opweave.tensor([0, 7], dtype=dtype)
    for call in (lambda x, y: function(x, y), lambda x, y: function(x, 0), lambda x, y: function(5, y)):
        eager, kernel = refusals(call, x, y)
        assert eager == kernel and "test_op_matrix.py" in eager
    assert compiled(lambda x, y: function(x, y), x + 1, y + 1).tolist() == function(x + 1, y + 1).tolist()


def test_integer_division_by_zero_of_nothing():
    """Where nothing is divided nothing is wrong."""
    x, y = opweave.zeros(0, 3, dtype=opweave.int64), opweave.tensor([0, 1, 2])
    for function in (lambda x, y: x // y, lambda x, y: (x // 0).sum(0), lambda x, y: opweave.cat([x // y, x + 5])):
        assert compiled(function, x, y).tolist() == function(x, y).tolist()


def test_integer_division_by_zero_in_part_of_a_kernel():
    """Beside each other in one kernel, along a reduction, and in loops; only what is divided is looked at."""
    x, y = opweave.arange(3000).view(3, 1000) + 1, opweave.arange(1000)
    joined = lambda x, y: opweave.cat([y + 1, x[0] // (y + 1)])  # noqa: E731
    assert compiled(joined, x, y).tolist() == joined(x, y).tolist()
    for function in (
        lambda x, y: opweave.cat([y, x[0] // y]),
        lambda x, y: (x // y).sum(1),
        lambda x, y: (x % y).sum() + 1,
        lambda x, y: (x.sum(1) // y[0]) + 1,
        lambda x, y: opweave.where(y == 0, 0, x // y),
        lambda x, y: (x @ opweave.ones(1000, 3, dtype=opweave.int64)) // y[:3],
    ):
        eager, kernel = refusals(function, x, y)
        assert eager == kernel
    again = opweave.compile(lambda x, y: x % y)
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            again(x, y)
        np.testing.assert_array_equal(again(x, y + 1).numpy(), (x % (y + 1)).numpy())


def test_the_least_integer_divided_by_minus_one_wraps():
    x, y = opweave.tensor([-(2**63), -7]), opweave.tensor([-1, -1])
    for function, wanted in ((opweave.floor_divide, [-(2**63), 7]), (opweave.remainder, [0, 0])):
        assert function(x, y).tolist() == wanted
        assert compiled(lambda x, y: function(x, y), x, y).tolist() == wanted  # noqa: B023

"""Every op's samples, in several layouts and with special values: fake, traced and compiled agree with eager.

The sample calls of an op and dtype are compiled as one function, so that the matrix stays quick. A selection of layouts
and dtypes runs by default, all of them with ``OPWEAVE_FULL_MATRIX=1``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from op_matrix import Outcome, calls_of, cases, compare, copied, dtypes_of, eagerly
from op_samples import Call, as_list, replace_tensors

import opweave
from opweave.fake.mode import FakeTensorMode
from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor

Accepted = list[tuple[str, Call, Outcome]]


def accepted(op: OpOverload, dtype: DType) -> Accepted:
    """The calls that eager takes, with what it gives."""
    tried = [(note, call, eagerly(op, call)) for note, call in calls_of(op, dtype)]
    return [(note, call, outcome) for note, call, outcome in tried if isinstance(outcome, Outcome)]


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


@pytest.mark.parametrize("op", cases(), ids=str)
def test_traced(op: OpOverload) -> None:
    count = 0
    for dtype in dtypes_of(op):
        calls = accepted(op, dtype)
        if calls:
            module = opweave.make_fx(batch(op), tracing_mode="fake")([copied(call) for _, call, _ in calls])
            count += check(op, module, calls, dtype, "traced")
    assert count


@pytest.mark.parametrize("op", cases(), ids=str)
def test_compiled(op: OpOverload) -> None:
    count = 0
    for dtype in dtypes_of(op):
        calls = accepted(op, dtype)
        if not calls:
            continue
        try:
            count += check(op, opweave.compile(batch(op)), calls, dtype, "compiled")
        except OpweaveError:
            for call in calls:  # which one is it?
                try:
                    count += check(op, opweave.compile(batch(op)), [call], dtype, "compiled")
                except OpweaveError as error:
                    raise AssertionError(f"{op}: compile refuses {dtype} {call[0]} {call[1]}") from error
    assert count

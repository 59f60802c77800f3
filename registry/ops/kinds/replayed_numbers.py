"""Calls of pointwise ops that are replayed whatever their numbers are: bias corrections, learning rates.

A number that was passed is an operand without dimensions then. The body is traced with something that stands for it and
answers no question but whether it is 0 or 1; so what it does is the same for all numbers but these, which native code
leaves to Python.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError
from opweave.registry.interrupts import let_through
from opweave.registry.ops.kinds.base import differs, handler
from opweave.registry.ops.kinds.operand_values import narrower_type
from opweave.registry.ops.kinds.ufunc_plan import trace
from opweave.registry.tape import MOST_NUMBER, Tape
from opweave.registry.tensor import Tensor

_numpy = handler(np)


def replay_numbers(
    decl: Any, tape: Tape, operands: Sequence[Any], attributes: dict[str, Any], types: tuple[DType, DType],
    into: Tensor,
) -> bool:  # fmt: skip
    """Write down a call of a pointwise op for any numbers, or none of it.

    Parameters
    ----------
    decl : PointwiseEager
        The op.
    tape : Tape
        What is written on.
    operands, attributes
        Of the call.
    types : (DType, DType)
        The compute type and the result's.
    into : Tensor
        The result.

    Returns
    -------
    bool
        Whether it was written down.
    """
    compute, result = types
    if compute not in (dtypes.float32, dtypes.float64) or narrower_type(decl, operands, compute) is not None:
        return False
    dtype, values = compute.numpy, [*operands, *attributes.values()]
    assert dtype is not None
    is_number = [i < len(operands) or name in decl.numbers for i, name in enumerate([*operands, *attributes])]
    free = {
        i: place for i, value in enumerate(values)
        if type(value) is float and is_number[i] and (place := tape.number(value, dtype)) is not None
    }  # fmt: skip
    if not free or not _takes_any(decl, operands, attributes, free, types):
        tape.number_types.clear()
        return False

    def body(*given: Any) -> Any:
        named = dict(zip(attributes, given[len(operands) :], strict=True))
        value = decl.plain_body(_numpy, *given[: len(operands)], **named)
        return _numpy.cast(value, result) if differs(value, result) else value

    defaults = [*(None for _ in operands), *map(decl.numbers.get, attributes)]
    described: list[Any] = [
        dtype
        if isinstance(v, Tensor) or i in free
        else float(v)
        if type(v) is int and is_number[i] and v is not defaults[i] and abs(v) <= MOST_NUMBER
        else v
        for i, v in enumerate(values)
    ]
    others = [
        v for i, v in enumerate(described)
        if is_number[i] and not isinstance(v, np.dtype) and v is not None and v is not defaults[i]
    ]  # fmt: skip
    inputs = [free.get(i, v) for i, v in enumerate(values) if isinstance(described[i], np.dtype)]
    plan = None
    if all(type(v) is float for v in others):
        try:
            with np.errstate(all="ignore"):
                plan = trace(body, described, free)
        except (TypeError, ValueError) as error:  # of who wants a number
            let_through(error)
            plan = None
    # What is computed of numbers alone is computed as Python does, in float64.
    if plan is None or plan.dtype != result.numpy or not plan.reads_in_all_steps(
        [i for i, v in enumerate(inputs) if isinstance(v, Tensor)]
    ):  # fmt: skip
        tape.number_types.clear()
        return False
    taken = [tape.converted(tape.value(v), dtype) if isinstance(v, Tensor) else v for v in inputs if v is not None]
    plan.write(tape, taken, tape.made(into))
    return True


def _takes_any(
    decl: Any, operands: Sequence[Any], attributes: dict[str, Any], free: Container[int], wanted: tuple[DType, DType]
) -> bool:
    """Whether the types are the same for other numbers in some places, small or large, none of them refused."""
    for value in (-MOST_NUMBER, -0.3, 0.3, MOST_NUMBER):
        others = [value if i in free else v for i, v in enumerate([*operands, *attributes.values()])]
        try:
            found = decl.types(*others[: len(operands)], **dict(zip(attributes, others[len(operands) :], strict=True)))
        except OpweaveError:
            return False
        if found != wanted:
            return False
    return True

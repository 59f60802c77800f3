"""One table of special values: every pointwise op in every dtype beside PyTorch, eager and compiled.

A tensor of special values for each operand, each combined with each. PyTorch computes long rows with other code than
single elements, and gives other zeros and NaN there: an element has to agree with one of the two. The compiled calls of
an op are one function. Some dtypes are compiled by default, all of them with ``OPWEAVE_FULL_MATRIX=1``.
"""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import comparisons
from differences import SPECIAL_VALUES, Difference, left_out, of_op
from op_matrix import FULL, copied, special
from op_samples import as_list, maker, replace_tensors
from oracle import REFUSALS, _argument, to_torch, values_of

import opweave
from opweave.registry.dtypes import COMPUTED, DTYPES, DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload, registry
from opweave.registry.tensor import Tensor

Call = tuple[Any, Any]
OPS = [
    op for op in registry.operators.values()
    if op.decl and op.decl.samples and op.decl.kind == "pointwise" and op.namespace == "aten"
]  # fmt: skip
#: PyTorch's process ends where the least integer is divided by -1.
DIVISIONS = frozenset(("floor_divide", "remainder", "fmod", "div"))
#: Relative tolerances of what is finite: functions of other libraries.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-5, "float64": 1e-11, "complex64": 2e-4,
             "complex128": 1e-9}  # fmt: skip
#: In a number's place beside a tensor.
NUMBERS = (True, 0, 1, -1, 3, 64, -0.0, 0.5, -0.5, 2.0, -2.5, math.nan, math.inf, -math.inf, 2**62)
_TINY = {"float16": 2.0**-24, "bfloat16": 2.0**-133, "float32": 2.0**-149, "complex64": 2.0**-149}


def _tensors(value: Any) -> list[Tensor]:
    found: list[Tensor] = []
    replace_tensors(value, lambda t: found.append(t) or t)
    return found


def calls(op: OpOverload, dtype: DType, numbers: Sequence[Any] = NUMBERS) -> Iterator[Call]:
    """The op's samples, one of each kind, with special values; once more where a divisor may be 0; and with numbers."""
    try:
        samples = list(op.decl.samples(maker(dtype)))
    except OpweaveError:
        return
    seen = set()
    for args, kwargs in samples:
        tensors = _tensors((args, kwargs))
        key = repr(replace_tensors((args, kwargs), lambda t: t._dtype))
        if key in seen or not tensors:
            continue  # no difference: the same call again, or nothing to put a value into
        seen.add(key)
        values = [special(t._dtype, few=len(tensors) > 2) for t in tensors]
        divides = op.opname in DIVISIONS and len(values) > 1
        if divides and dtype.kind == "i":
            values[0] = values[0][values[0] != np.iinfo(values[0].dtype).min]
        if divides and dtype.kind in "iu":
            yield _put(args, kwargs, tensors, [values[0], values[1][values[1] != 0]])
        yield _put(args, kwargs, tensors, values)
        if len(tensors) == 1 and dtype.kind == "f":
            # Where all of a block are near, kernels compute some functions in another way.
            near = values[0][np.abs(values[0].astype(np.float64)) <= 100]
            yield _put(args, kwargs, tensors, [near])
    if len(_operands(op)) == 2 and op.opname != "copy" and not divides_integers(op, dtype):
        for number in numbers:
            wide, root = number == 2**62, op.opname == "pow" and number in (0.5, -0.5)
            if wide and dtype.itemsize == 2 and left_out("pairs of types, whole numbers beside half types"):
                continue
            if root and dtype.name == "float16" and left_out("powers of float16 by one half"):
                continue
            x = Tensor._from_array(special(dtype).copy())
            yield (x, number), {}
            yield (number, x), {}


def divides_integers(op: OpOverload, dtype: DType) -> bool:
    """Whether numbers beside tensors would divide the least integer, or by zero; a test of its own has these."""
    return op.opname in DIVISIONS and dtype.kind in "iu"


def _operands(op: OpOverload) -> list[Any]:
    if any(a.kwarg_only and not a.has_default for a in op._schema.arguments):
        return []
    return [a for a in op._schema.arguments if str(a.type) == "Tensor" and not a.kwarg_only]


def _put(args: Any, kwargs: Any, tensors: list[Tensor], values: list[Any]) -> Call:
    whole = tuple(v.size for v in values)
    place = {id(t): i for i, t in enumerate(tensors)}

    def put(t: Tensor) -> Tensor:
        i = place[id(t)]
        shape = [n if d == i else 1 for d, n in enumerate(whole)]
        return Tensor._from_array(np.array(np.broadcast_to(values[i].reshape(shape), whole)))

    return replace_tensors((args, kwargs), put)


def outcome(function: Callable[..., Any], call: Call) -> Any:
    """The results of a call, or what it raises."""
    try:
        return as_list(function(*call[0], **call[1]))
    except (OpweaveError, *REFUSALS) as error:
        return error


def apart(t: torch.Tensor) -> torch.Tensor:
    """The same numbers with gaps between them, which PyTorch goes through one by one."""
    wide = t.new_zeros((*t.shape, 3))
    wide[..., 1] = t
    return wide[..., 1]


def differing(mine: Any, other: Any, name: str, allowed: Difference) -> Any:
    """Which elements disagree: what is not finite, and zeros by their sign, exactly, the others within rounding."""
    if mine.dtype.kind == "c":
        return _differing_pairs(mine, other, name)
    if mine.dtype.kind != "f":
        return mine != other
    with np.errstate(all="ignore"):
        same = (mine == other) | (np.isnan(mine) & np.isnan(other)) | (np.abs(mine - other) <= allowed.atol)
        if not allowed.zeros:
            same &= (np.signbit(mine) == np.signbit(other)) | (other != 0)
        near = np.abs(mine - other) <= TOLERANCE[name] * allowed.scale * np.abs(other) + 2 * _TINY.get(name, 5e-324)
        both = np.isfinite(mine) & np.isfinite(other) & ((mine != 0) | (other != 0))
        if allowed.overflow:  # of a formula, near the largest number
            same |= ~np.isnan(mine) & ~np.isfinite(other)
    return ~(same | (both & near))


def _differing_pairs(mine: Any, other: Any, name: str) -> Any:
    """Of complex numbers: what is NaN or infinite in any part is one and the same, and zeros have no sign."""
    with np.errstate(all="ignore"):
        near = np.abs(mine - other) <= TOLERANCE[name] * np.abs(other) + 2 * _TINY.get(name, 5e-324)
        finite = np.isfinite(mine) & np.isfinite(other)
    return ~((finite & near) | (~np.isfinite(mine) & ~np.isfinite(other)))


def told(note: Any, call: Call, mine: Any, other: Any, bad: Any) -> str:
    """Some elements that disagree, with the operands."""
    lines = [f"{note}: {int(bad.sum())} of {bad.size} differ"]
    operands = [np.broadcast_to(values_of(t), bad.shape) for t in _tensors(call)]
    for at in map(tuple, np.argwhere(bad)[:5]):
        lines.append(f"  {[str(v[at]) for v in operands]}: {mine[at]}, not {other[at]}")
    return "\n".join(lines)


@pytest.mark.parametrize("op", OPS, ids=str)
def test_eager_is_as_pytorch(op: OpOverload) -> None:
    theirs = getattr(getattr(torch.ops.aten, op.opname), op.overload)
    allowed = SPECIAL_VALUES.get(op.opname, Difference(""))
    count = 0
    for dtype in COMPUTED:
        if dtype.name in allowed.uncompared:
            continue  # no difference: the table of these has it
        for call in calls(op, dtype):
            note = (str(op), dtype.name, [v if not isinstance(v, Tensor) else "·" for v in call[0]], call[1])
            function = theirs
            if not isinstance(call[0][0], Tensor) or len(_tensors(call)) < len(_operands(op)):
                function = getattr(torch, op.opname, None) or theirs  # which takes numbers
            given = _argument(replace_tensors(call, to_torch))
            expected = outcome(function, given)
            ours = outcome(op, copied(call))
            if isinstance(ours, ZeroDivisionError) or "ZeroDivisionError" in str(expected):
                assert isinstance(ours, ZeroDivisionError) and isinstance(expected, REFUSALS), (note, ours, expected)
                continue  # no difference: both refuse
            if isinstance(expected, Exception):
                continue  # no difference: what PyTorch refuses, and with what error, is compared by samples
            if isinstance(ours, Exception):
                assert dtype.name in of_op(op.opname, op.overload).refused, (note, ours)
                continue  # no difference: the table of ops has it
            singly = outcome(function, _argument(replace_tensors(call, lambda t: apart(to_torch(t)))))
            for mine, other, single in zip(ours, expected, singly, strict=True):
                assert mine._dtype.name == str(other.dtype).removeprefix("torch."), (note, mine, other)
                values = values_of(mine)
                bad = differing(values, values_of(other), mine._dtype.name, allowed)
                bad &= differing(values, values_of(single), mine._dtype.name, allowed)
                comparisons.note_test()
                assert not bad.any(), told(note, call, values, values_of(other), bad)
            count += 1
    assert count


def compiled_dtypes(op: OpOverload) -> list[DType]:
    """All, or float32, one half type, and another that differs by op."""
    if FULL:
        return list(COMPUTED)
    turn = zlib.crc32(str(op).encode())
    names = ("float16", "int64", "bfloat16", "uint8", "float64", "int32", "int8")
    return [DTYPES["float32"], DTYPES[names[turn % len(names)]]]


def compiled_numbers(op: OpOverload) -> Sequence[Any]:
    """All, or a few that differ by op: each is a kernel of its own."""
    start = zlib.crc32(str(op).encode()) % len(NUMBERS)
    return NUMBERS if FULL else (NUMBERS * 2)[start : start + 4]


@pytest.mark.parametrize("op", OPS, ids=str)
def test_compiled_is_as_eager(op: OpOverload) -> None:
    allowed = SPECIAL_VALUES.get(op.opname, Difference(""))
    taken: list[tuple[str, Call, list[Any]]] = []
    for dtype in compiled_dtypes(op):
        for call in calls(op, dtype, compiled_numbers(op)):
            if not _tensors(call):
                continue  # no difference: nothing to compile
            ours = outcome(op, copied(call))
            if not isinstance(ours, Exception):
                taken.append((dtype.name, call, ours))
    run = opweave.compile(lambda given: [op(*args, **kwargs) for args, kwargs in given])
    for (name, call, expected), found in zip(taken, run([copied(call) for _, call, _ in taken]), strict=True):
        for mine, other in zip(as_list(found), expected, strict=True):
            assert mine._dtype is other._dtype
            bad = differing(values_of(mine), values_of(other), mine._dtype.name, Difference("", zeros=allowed.either))
            assert not bad.any(), told(
                (str(op), name, call[0][1:], call[1]), call, values_of(mine), values_of(other), bad
            )

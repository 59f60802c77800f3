"""Row programs: what an eager kernel computes of each row of a large tensor, in native code that reads it once.

A step of NumPy's goes through all of a tensor, and half types become float32 in memory before it. A row program states
all steps for one row that the cache holds, where they are needed, beside the op that they are of:

    @row_program("rows")
    def _softmax_of_row(k, x):
        powers = k.exp(x - k.max(x))
        return [powers / k.sum(powers)]

A value is either one of the elements of a row or one number of the whole row, which `k.max`, `k.min`, `k.sum` and
`k.prod` make of elements (`k.running_sum` and `k.running_prod` of those up to each); `+ - * /` and `k.exp`, `k.log`,
`k.sqrt`, `k.abs`, `k.finite` (0 for what is not) take any. It is computed in float32 (of bools, as 0 and 1) and rounded
once, where a result is stored. `codegen.rows` makes the code; where there is none, `run` says so and the kernel goes on
in its own way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Literal, NamedTuple

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.hooks import Hook
from opweave.registry.spec import is_contiguous
from opweave.registry.tape import MOST_ELEMENTS, MOST_LARGE, MOST_OPERANDS, Loop, Operand, Tape, Value

#: How an operand lies: an element for each of all rows, one for each row, one for each place in a row, or a Python
#: number. Where one names rows (`"places"`, int64), `"chosen"` operands and all results are in the rows that it names;
#: what a row stored, a later one of the same name reads.
Form = Literal["rows", "each", "columns", "number", "places", "chosen"]

#: A shorter row is no more than a step or two of a loop.
_LEAST_LENGTH = 32
#: Rows side by side that are gone through at a time.
_LEAST_SIDE = 16
#: Of fewer elements NumPy's steps are as fast.
_LEAST_ELEMENTS = 1 << 12


@dataclass(frozen=True)
class RowProgram:
    """What becomes of a row.

    Attributes
    ----------
    name : str
        By which its code is kept.
    forms : tuple of str
        Of the operands.
    body : callable
        `body(k, *operands)` gives the list of results: elements of a row, numbers of a row, or `k.down(x)`, the sums of
        elements over rows.
    """

    name: str
    forms: tuple[Form, ...]
    body: Callable[..., list[Any]]


def row_program(*forms: Form) -> Callable[[Callable[..., list[Any]]], RowProgram]:
    """Decorator: a row program whose operands have these forms."""
    return lambda body: RowProgram(f"{body.__module__}.{body.__qualname__}", forms, body)


class RowCall(NamedTuple):
    """What a replayed call runs of a program: how many rows there are, elements of one, how far these are apart."""

    program: RowProgram
    rows: int
    length: int
    inner: int


def write(
    tape: Tape, program: RowProgram, operands: Sequence[Value | float], outs: Sequence[Value], count: int, length: int,
    inner: int = 1, is_part: bool = False,
) -> bool:  # fmt: skip
    """Write down what `run` does for row-major operands and results of these sizes; whether it is what it does.

    Parameters
    ----------
    tape : Tape
        Where it is written.
    program, count, length, inner, is_part
        As for `run`.
    operands, outs : sequence of Value or float
        What is read and written.
    """
    arrays = [v for v in operands if isinstance(v, Value)]
    total, types = count * length, _computed_as_float32()
    if native.call is None or not is_part and not (are_long(length, inner) and pay(total)):
        return False
    if total > MOST_LARGE or len(arrays) + len(outs) > MOST_OPERANDS or any(out.dtype == np.bool_ for out in outs):
        return False
    if any(v.dtype not in types or not is_contiguous(v.sizes, v.strides) for v in (*arrays, *outs)):
        return False
    with np.errstate(over="ignore"):
        numbers = [int(np.float32(v).view(np.uint32)) for v in operands if not isinstance(v, Value)]
    call = RowCall(program, count, length, inner)
    given = tuple([Operand(v, (0,)) for v in (*arrays, *outs)])
    tape.loops.append(Loop(call, tuple([v.dtype for v in (*arrays, *outs)]), 1, (), (), given, tuple(numbers)))
    return True


#: Runs a program on (operands, results, how many rows there are, how long they are, how far their elements are from one
#: to the next, how far the rows of each operand and result); results that are sums over rows come back as arrays of
#: partial ones. None where there is no code for that. `opweave` supplies it.
native: Hook[[RowProgram, Sequence[Any], Sequence[Any], int, int, int, Sequence[int]], list[Any] | None] = Hook()


def are_enough(count: int) -> bool:
    """Whether so many elements are for row programs, if their rows are, though NumPy take one step."""
    return count > MOST_ELEMENTS and native.call is not None


def are_long(length: int, inner: int) -> bool:
    """Whether rows of a length are, or so many begin side by side (`inner`, as `run` has it) that they are taken so."""
    return inner >= _LEAST_SIDE or inner == 1 and length >= _LEAST_LENGTH


def pay(count: int) -> bool:
    """Whether so many elements are worth a row program of their own where NumPy takes several steps."""
    return count >= _LEAST_ELEMENTS and native.call is not None


def run(
    program: RowProgram, operands: Sequence[Any], outs: Sequence[Any], rows: int, length: int, is_part: bool = False,
    inner: int = 1,
) -> bool:  # fmt: skip
    """Run a program whose results are elements and numbers of rows.

    Parameters
    ----------
    program : RowProgram
        What is computed.
    operands : sequence of numpy.ndarray or float
        In the order of its forms. Rows may be some way apart.
    outs : sequence of numpy.ndarray
        Where its results are written; their sizes say which form they have.
    rows, length : int
        How many rows there are, and elements of one.
    is_part : bool
        Whether these are what is left of a large tensor, however few.
    inner : int
        Sizes behind the dimension that rows run along: how far elements of a row are from one to the next, and how many
        rows begin side by side.

    Returns
    -------
    bool
        Whether it was done. Nothing is written if not: there are few elements, they lie apart, may not be written, or
        have another type.
    """
    return _called(program, operands, outs, rows, length, is_part, inner) is not None


def sums(program: RowProgram, operands: Sequence[Any], outs: Sequence[Any], rows: int, length: int) -> Any:
    """The same for a program whose results, in the end, are also sums over rows: these, in float32, or None."""
    found = _called(program, operands, outs, rows, length, False, 1)
    with np.errstate(all="ignore"):
        return None if found is None else [np.add.reduce(partial, axis=0) for partial in found]


def _called(
    program: RowProgram, operands: Sequence[Any], outs: Sequence[Any], rows: int, length: int, is_part: bool, inner: int
) -> list[Any] | None:
    if native.call is None or not is_part and not (are_long(length, inner) and pay(rows * length)):
        return None
    given = list(zip(operands, program.forms, strict=True))
    if not all(operand.dtype == np.int64 and operand.flags.c_contiguous for operand, f in given if f == "places"):
        return None
    arrays = [operand for operand, form in given if form not in ("number", "places")]
    types = _computed_as_float32()
    if any(type(array) is not np.ndarray or array.dtype not in types for array in (*arrays, *outs)):
        return None
    if any(out.dtype == np.bool_ for out in outs):
        return None
    apart = rows if inner == 1 else 0
    steps = [_row_step(a, apart if f == "rows" else 0, length) if isinstance(a, np.ndarray) else 0 for a, f in given]
    steps += [_row_step(out, apart if out.size == rows * length else 0, length) for out in outs]
    known = [step for step in steps if step is not None]
    if len(known) < len(steps) or not all(out.flags.writeable for out in outs):
        return None
    return native.call(program, operands, outs, rows, length, inner, known)


def _row_step(array: Any, count: int, length: int) -> int | None:
    """How many elements the first of a row is from that of the one before, where there are rows (`count` of them).

    None where elements do not lie side by side, or rows are not as far apart one as another.
    """
    if array.flags.c_contiguous:
        return length
    if not count:
        return None
    item, inside, outside, step = array.itemsize, 1, 1, 0
    for size, stride in zip(reversed(array.shape), reversed(array.strides), strict=True):
        if size == 1:
            continue
        if inside < length:
            if stride != inside * item:
                return None
            inside *= size
        elif not step:
            step, outside = stride, size
        elif stride == step * outside:
            outside *= size
        else:
            return None
    is_apart = step >= length * item and not step % item
    return step // item if inside == length and is_apart else None


_types: list[np.dtype[Any]] = []


def _computed_as_float32() -> list[np.dtype[Any]]:
    if not _types:
        known = (dtypes.float32, dtypes.bfloat16, dtypes.float16, dtypes.bool_)
        _types.extend(t.numpy for t in known if t.numpy is not None)
    return _types

"""A pointwise body as steps: ufunc calls that write where they are told to.

A body such as `x / (1 + k.exp(-x))`, run on arrays, makes a new array at every operator. Run once on `Traced` values it
tells which ufuncs those are; the steps then run over pieces that fit the cache, in memory that is used again, and the
last one writes the result itself. A body of one ufunc is one call for the whole array, which is what NumPy would do.

What cannot be traced (a body that looks at elements, or calls what is neither a ufunc nor `where`) has no steps, and is
evaluated as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

#: Elements of a piece: its temporaries stay in the cache.
PIECE = 1 << 15


class Ref(NamedTuple):
    """The value of an input (first) or of a step."""

    number: int


class Step(NamedTuple):
    """One call.

    Attributes
    ----------
    function : callable
        A ufunc, or `np.where` or `np.copyto` (a conversion), which stand for themselves.
    args : tuple
        Arrays of no dimensions, numbers, and `Ref`s.
    dtype : numpy.dtype
        Of the result.
    """

    function: Callable[..., Any]
    args: tuple[Any, ...]
    dtype: np.dtype[Any]


class _Untraceable(Exception):
    pass


class Traced(NDArrayOperatorsMixin):
    """Stands for an array in a body, and notes what is done with it.

    It carries an array of one element, on which everything is done as well: its type is the type of the result.
    """

    def __init__(self, steps: list[Step], number: int, sample: np.ndarray[Any, Any]):
        self.steps = steps
        self.number = number
        self.sample = sample

    @property
    def dtype(self) -> np.dtype[Any]:
        """As of an array."""
        return self.sample.dtype

    def _note(self, function: Callable[..., Any], args: tuple[Any, ...], sample: Any) -> Traced:
        if not isinstance(sample, np.ndarray) or sample.shape != (1,):
            raise _Untraceable
        found = tuple([Ref(a.number) if isinstance(a, Traced) else a for a in args])
        if any(isinstance(a, np.ndarray) and a.ndim for a in found):
            raise _Untraceable
        self.steps.append(Step(function, found, sample.dtype))
        return Traced(self.steps, -len(self.steps), sample)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Traced:
        if method != "__call__" or kwargs or ufunc.nout != 1 or ufunc.signature is not None:
            raise _Untraceable
        return self._note(ufunc, inputs, ufunc(*_samples(inputs)))

    def __array_function__(self, function: Any, types: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        if function is not np.where or kwargs or len(args) != 3:
            raise _Untraceable
        return self._note(np.where, args, np.where(*_samples(args)))

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        raise _Untraceable

    def __bool__(self) -> bool:
        raise _Untraceable

    def astype(self, dtype: Any) -> Traced:
        """As of an array."""
        return self._note(np.copyto, (self,), self.sample.astype(dtype))

    def __getattr__(self, name: str) -> Any:
        raise _Untraceable


def _samples(values: Sequence[Any]) -> list[Any]:
    return [v.sample if isinstance(v, Traced) else v for v in values]


class Steps(NamedTuple):
    """What a body does.

    Attributes
    ----------
    steps : tuple of Step
        In order; the value of step i is `Ref(-1 - i)`.
    result : Ref
    lives : tuple of tuple of int
        After each step, the steps whose values are not needed any more.
    dtype : numpy.dtype
        Of the result.
    inputs : tuple of numpy.dtype
        Of the arrays; others are converted, piece by piece.
    """

    steps: tuple[Step, ...]
    result: Ref
    lives: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    inputs: tuple[np.dtype[Any], ...]

    def run(self, inputs: Sequence[Any], out: np.ndarray[Any, Any]) -> None:
        """Write the result for flat, contiguous inputs (or numbers) to `out`, which may be one of them."""
        if not self.steps:
            np.copyto(out, inputs[self.result.number], casting="unsafe")
            return
        mixed = any(v.dtype != dtype for v, dtype in zip(inputs, self.inputs, strict=True))
        if len(self.steps) == 1 and not mixed and not _by_pieces(self.steps[0]):
            self._call(self.steps[0], lambda a: inputs[a.number] if isinstance(a, Ref) else a, out, {}, {})
            return
        spare: _Spare = {}
        filled: _Filled = {}
        for start in range(0, out.size, PIECE):
            stop = min(start + PIECE, out.size)
            pieces = [v[start:stop] for v in inputs]
            if mixed:
                pieces = [_converted(v, dtype) for v, dtype in zip(pieces, self.inputs, strict=True)]
            self._piece(pieces, out[start:stop], spare, filled)

    def _piece(self, inputs: list[Any], out: np.ndarray[Any, Any], spare: _Spare, filled: _Filled) -> None:
        values: dict[int, np.ndarray[Any, Any]] = {}
        owned: dict[int, np.ndarray[Any, Any]] = {}

        def value(a: Any) -> Any:
            if not isinstance(a, Ref):
                return a
            return inputs[a.number] if a.number >= 0 else values[-1 - a.number]

        for i, step in enumerate(self.steps):
            if Ref(-1 - i) == self.result and i == len(self.steps) - 1:
                self._call(step, value, out, spare, filled)
                break
            owned[i] = _taken(spare, step.dtype)
            values[i] = owned[i][: out.size]
            self._call(step, value, values[i], spare, filled)
            for dead in self.lives[i]:
                values.pop(dead, None)
                memory = owned.pop(dead, None)
                if memory is not None:
                    spare[memory.dtype].append(memory)
        else:
            np.copyto(out, value(self.result), casting="unsafe")
        for memory in owned.values():
            spare[memory.dtype].append(memory)

    @staticmethod
    def _call(
        step: Step, value: Callable[[Any], Any], out: np.ndarray[Any, Any], spare: _Spare, filled: _Filled
    ) -> None:
        args = [value(a) for a in step.args]
        if step.function is np.copyto:
            np.copyto(out, args[0], casting="unsafe")
        elif step.function is np.where:
            _select(args[0], args[1], args[2], out, spare)
        elif _is_bounded(step):
            full = filled.get(id(step))
            if full is None:
                full = filled[id(step)] = np.full(out.size, args[1], out.dtype)
            step.function(args[0], full[: out.size], out=out)
        else:
            step.function(*args, out=out)


_Spare = dict[np.dtype[Any], list[np.ndarray[Any, Any]]]
#: A number as a piece, by its step: beside a number NumPy leaves its vector loop.
_Filled = dict[int, np.ndarray[Any, Any]]


def _by_pieces(step: Step) -> bool:
    """Whether a step needs temporaries of its own."""
    return step.function is np.where or _is_bounded(step)


def _is_bounded(step: Step) -> bool:
    """Whether it is a maximum or minimum with a number, which NumPy does element by element."""
    return step.function in (np.maximum, np.minimum) and not isinstance(step.args[1], Ref)


def _taken(spare: _Spare, dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    waiting = spare.setdefault(dtype, [])
    return waiting.pop() if waiting else np.empty(PIECE, dtype)


def _converted(piece: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return piece if piece.dtype == dtype else piece.astype(dtype)


def _select(condition: Any, a: Any, b: Any, out: np.ndarray[Any, Any], spare: _Spare) -> None:
    """`where`, on the bits: `np.where` branches at every element, ten times as long where it is in doubt."""
    word = {2: np.dtype("i2"), 4: np.dtype("i4"), 8: np.dtype("i8")}.get(out.dtype.itemsize)
    fits = all(np.ndim(x) == 0 or x.dtype == out.dtype for x in (a, b))
    if (
        word is None
        or out.dtype.kind not in "fiu"
        or not fits
        or np.ndim(condition) == 0
        or condition.dtype != np.bool_
    ):
        np.copyto(out, np.where(condition, a, b), casting="unsafe")
        return
    first, second = (np.asarray(x, out.dtype).view(word) if np.ndim(x) == 0 else x.view(word) for x in (a, b))
    keep, other = (_taken(spare, word) for _ in range(2))
    mask, changed, result = keep[: out.size], other[: out.size], out.view(word)
    np.copyto(mask, condition.view(np.int8))
    if first.ndim == 0 and not first:
        np.bitwise_and(second, np.subtract(mask, 1, out=mask), out=result)
        spare[word] += [keep, other]
        return
    np.negative(mask, out=mask)  # all bits where it is true
    if second.ndim == 0 and not second:
        np.bitwise_and(first, mask, out=result)
    else:
        np.bitwise_xor(first, second, out=changed)
        np.bitwise_and(changed, mask, out=changed)
        np.bitwise_xor(second, changed, out=result)
    spare[word] += [keep, other]


def trace(body: Callable[..., Any], operands: Sequence[Any]) -> Steps | None:
    """The steps of a body, None where it has none.

    Parameters
    ----------
    body : callable
        Of the operands.
    operands : sequence
        Of an array its dtype, numbers and None as they are.
    """
    noted: list[Step] = []
    count, given = 0, []
    for operand in operands:
        if isinstance(operand, np.dtype):
            given.append(Traced(noted, count, np.ones(1, operand)))
            count += 1
        else:
            given.append(operand)
    try:
        result = body(*given)
    except _Untraceable:
        return None
    if not isinstance(result, Traced):
        return None
    last = {ref: i for i, step in enumerate(noted) for ref in (a.number for a in step.args if isinstance(a, Ref))}
    last[result.number] = len(noted)
    lives: list[list[int]] = [[] for _ in noted]
    for i in range(len(noted)):
        end = last.get(-1 - i, i)
        if end < len(noted):
            lives[end].append(i)
    inputs = tuple([operand for operand in operands if isinstance(operand, np.dtype)])
    return Steps(tuple(noted), Ref(result.number), tuple(map(tuple, lives)), result.sample.dtype, inputs)

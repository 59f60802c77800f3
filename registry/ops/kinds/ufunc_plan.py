"""A pointwise body as steps: ufunc calls that write where they are told to.

A body such as `x / (1 + k.exp(-x))`, run on arrays, makes a new array at every operator. Run once on `Traced` values it
tells which ufuncs those are; the steps then run over pieces that fit the cache, in memory that is used again, and the
last one writes the result itself. A body of one ufunc is one call for the whole array, which is what NumPy would do.

What cannot be traced (a body that looks at elements, or calls what is neither a ufunc nor `where`) has no steps, and is
evaluated as it is.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy._core import umath
from numpy.lib.mixins import NDArrayOperatorsMixin

from opweave.registry.errors import DivisionByZeroError
from opweave.registry.interrupts import let_through
from opweave.registry.ops.kinds.fused_steps import Fused, Ref, fused
from opweave.registry.scalar import convert_into, erf_of_array
from opweave.registry.tape import NotTaped, Tape, Value

#: Elements of a piece: its temporaries stay in the cache.
PIECE = 1 << 16


class Step(NamedTuple):
    """One call.

    Attributes
    ----------
    function : callable
        A ufunc, or `np.where`, `np.clip` or `np.copyto` (a conversion), which stand for themselves.
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

    def computed_by(self, function: Callable[..., Any]) -> Traced:
        """The value of a function that NumPy has not, on each element."""
        return self._note(function, (self,), function(self.sample))

    def __getattr__(self, name: str) -> Any:
        raise _Untraceable


class TracedNumber(Traced):
    """Stands for a number in a body, whichever it is: it is neither 0 nor 1, and no other question is answered."""

    def __eq__(self, other: object) -> Any:
        return super().__eq__(other) if type(other) not in (int, float) or other not in (0, 1) else False

    def __ne__(self, other: object) -> Any:
        return super().__ne__(other) if type(other) not in (int, float) or other not in (0, 1) else True

    __hash__ = None  # type: ignore[assignment]


def _samples(values: Sequence[Any]) -> list[Any]:
    return [v.sample if isinstance(v, Traced) else v for v in values]


class UfuncPlan(NamedTuple):
    """What a body does.

    Attributes
    ----------
    steps : tuple of Step
        In order; the value of step i is `Ref(-1 - i)`.
    result : Ref
        The last step's value; an input where there are no steps.
    lives : tuple of tuple of int
        After each step, the steps whose values are not needed any more.
    dtype : numpy.dtype
        Of the result.
    inputs : tuple of numpy.dtype
        Of the arrays; others are converted, piece by piece.
    fused : Fused or None
        What runs all steps in one go, if the elements are many.
    """

    steps: tuple[Step, ...]
    result: Ref
    lives: tuple[tuple[int, ...], ...]
    dtype: np.dtype[Any]
    inputs: tuple[np.dtype[Any], ...]
    fused: Fused | None

    @property
    def is_one_call(self) -> bool:
        """Whether it is a single call on arrays, which may have any layout and broadcast."""
        return not self.steps or len(self.steps) == 1 and self.fused is None and not _by_pieces(self.steps[0])

    def reads_in_all_steps(self, places: Sequence[int]) -> bool:
        """Whether each step depends on one of some inputs."""
        found = set(places)
        for i, step in enumerate(self.steps):
            if not any(a.number in found for a in step.args if isinstance(a, Ref)):
                return False
            found.add(-1 - i)
        return bool(self.steps)

    def call(self, inputs: Sequence[Any], out: np.ndarray[Any, Any]) -> None:
        """Make the single call, for inputs that have their types; `out` is none of them, or as one of them is."""
        if not self.steps or self.steps[0].function is np.copyto:
            convert_into(out, inputs[(self.steps[0].args[0] if self.steps else self.result).number])
            return
        step = self.steps[0]
        step.function(*[inputs[a.number] if isinstance(a, Ref) else a for a in step.args], out=out)

    def run(self, inputs: Sequence[Any], out: np.ndarray[Any, Any]) -> None:
        """Write the result for flat, contiguous inputs (or numbers) to `out`, which may be one of them."""
        if self.fused is not None and self.fused.run(inputs, out):
            return
        if self.is_one_call and (not self.steps or all(map(_has_type, inputs, self.inputs))):
            self.call(inputs, out)
            return

        def pieces() -> Iterator[tuple[list[Any], Any]]:
            for start in range(0, out.size, PIECE):
                yield [v[start : start + PIECE] for v in inputs], out[start : start + PIECE]

        self.run_pieces(pieces(), min(PIECE, out.size), not any(np.may_share_memory(v, out) for v in inputs))

    def run_pieces(self, pieces: Iterable[tuple[Sequence[Any], Any]], size: int, apart: bool) -> None:
        """Write the result piece by piece.

        Parameters
        ----------
        pieces : iterable of (sequence of numpy.ndarray, numpy.ndarray)
            The inputs, of any type, and where the result goes, each with as many elements, one after another.
        size : int
            Elements of the first piece; none has more, and once one has less, so have all behind it.
        apart : bool
            Whether the result shares no memory with the inputs.
        """
        table, calls = self._placed(size, apart)
        result = len(self.inputs)
        # Where an input of another type is converted to, and what it was converted from.
        places: list[Any] = [None] * result
        known: list[Any] = [None] * result
        for inputs, out in pieces:
            if out.size < size:
                size = out.size
                places = [None if place is None else place[:size] for place in places]
                known = [None] * result
                table[result + 1 :] = [
                    v[:size] if isinstance(v, np.ndarray) and v.ndim else v for v in table[result + 1 :]
                ]
            for i, (value, dtype) in enumerate(zip(inputs, self.inputs, strict=True)):
                if _has_type(value, dtype):
                    table[i] = value
                elif known[i] is not value:
                    if places[i] is None:
                        places[i] = np.empty(size, dtype)
                    convert_into(places[i], value)
                    table[i], known[i] = places[i], value
            table[result] = out
            for function, args, place in calls:
                function(*[table[i] for i in args], out=table[place])

    def write(self, tape: Tape, inputs: Sequence[Value], out: Value) -> None:
        """Write the steps down, for inputs that broadcast to the result."""
        if not self.steps:
            tape.map("copied", [inputs[self.result.number]], out)
            return
        if self.fused is not None and self.fused.write(tape, inputs, out):
            return
        made: list[Value] = []
        spare: list[Value] = []  # memory of values that no step needs any more
        for i, step in enumerate(self.steps):
            # As NumPy gives them: a step may be smaller than the result that it is broadcast to.
            given = [(inputs[a.number] if a.number >= 0 else made[-1 - a.number]) if isinstance(a, Ref) else a
                     for a in step.args]  # fmt: skip
            function = _IN_LOOPS.get(step.function, step.function)
            if function is np.copyto:
                (source,) = given
                if not isinstance(source, Value):
                    raise NotTaped("a converted number")
                if i < len(self.steps) - 1:
                    made.append(tape.converted(source, step.dtype))
                    continue
                function = "cast"
            if i == len(self.steps) - 1:
                made.append(out)
            else:
                sizes = np.broadcast_shapes(*[v.sizes for v in given if isinstance(v, Value)])
                place = next((v for v in spare if v.sizes == sizes and v.dtype == step.dtype), None)
                if place is not None:
                    spare.remove(place)
                made.append(tape.scratch(sizes, step.dtype) if place is None else place)
            tape.map(function, given, made[-1])
            spare += [made[dead] for dead in self.lives[i] if made[dead].buffer in tape.fresh and dead != i]

    def _placed(self, size: int, apart: bool) -> tuple[list[Any], list[_Call]]:
        """Where everything is during a run, and the calls, which name their operands and results by these places.

        First come the inputs and the result, which are other memory for each piece, then numbers and temporaries. The
        fewer places, the more stays in the cache: a value takes the place of an operand that is not needed any more,
        and where the result is apart from the inputs, its place serves until it is written.
        """
        count = len(self.inputs)
        table: list[Any] = [None] * (count + 1)
        calls: list[_Call] = []
        spare: dict[np.dtype[Any], list[int]] = {self.dtype: [count]} if apart else {}
        place_of: dict[int, int] = {}

        def put(value: Any) -> int:
            table.append(value)
            return len(table) - 1

        def taken(dtype: np.dtype[Any]) -> int:
            waiting = spare.setdefault(dtype, [])
            return waiting.pop() if waiting else put(np.empty(size, dtype))

        def place(a: Any) -> int:
            if not isinstance(a, Ref):
                return put(a)
            return a.number if a.number >= 0 else place_of[-1 - a.number]

        for i, step in enumerate(self.steps):
            is_result = i == len(self.steps) - 1
            dead = [d for d in self.lives[i] if d != i]
            heir = next((d for d in dead if self.steps[d].dtype == step.dtype), None)
            args = [place(a) for a in step.args]
            place_of[i] = count if is_result else taken(step.dtype) if heir is None else place_of[heir]
            function: Callable[..., Any] = step.function
            if function is np.copyto:
                function = _convert
            elif function is np.where:
                function = _select
                word = _WORDS.get(step.dtype.itemsize)
                if word is not None:
                    extra = [taken(word), taken(word)]
                    args += extra
                    spare[word] += extra
            elif _is_bounded(step):
                table[args[1]] = np.full(size, step.args[1], step.dtype)
            calls.append((function, tuple(args), place_of[i]))
            for d in self.lives[i]:
                if d != heir:
                    spare.setdefault(self.steps[d].dtype, []).append(place_of[d])
        return table, calls


#: What stands for a function in a loop.
_IN_LOOPS: dict[Any, Any] = {np.where: "chosen", np.clip: umath.clip, erf_of_array: "erf"}  # pyright: ignore[reportAttributeAccessIssue]
#: A function with the places of its operands and of its result.
_Call = tuple[Callable[..., Any], tuple[int, ...], int]
#: Integers as wide as elements.
_WORDS = {2: np.dtype("i2"), 4: np.dtype("i4"), 8: np.dtype("i8")}


def _has_type(value: np.ndarray[Any, Any], dtype: np.dtype[Any]) -> bool:
    return value.dtype == dtype


def _convert(value: Any, out: np.ndarray[Any, Any]) -> None:
    convert_into(out, value)


def _by_pieces(step: Step) -> bool:
    """Whether a step needs temporaries of its own."""
    return step.function is np.where or _is_bounded(step)


def _is_bounded(step: Step) -> bool:
    """Whether it is a maximum or minimum with a number, which NumPy does element by element."""
    return step.function in (np.maximum, np.minimum) and not isinstance(step.args[1], Ref)


def _select(condition: Any, a: Any, b: Any, keep: Any = None, other: Any = None, *, out: np.ndarray[Any, Any]) -> None:
    """`where`, on the bits: `np.where` branches at every element, ten times as long where it is in doubt.

    `keep` and `other` are memory for as many integers of the elements' size.
    """
    fits = all(np.ndim(x) == 0 or x.dtype == out.dtype for x in (a, b))
    if (
        keep is None
        or out.dtype.kind not in "fiu"
        or not fits
        or np.ndim(condition) == 0
        or condition.dtype != np.bool_
    ):
        np.copyto(out, np.where(condition, a, b), casting="unsafe")
        return
    word = keep.dtype
    first, second = (np.asarray(x, out.dtype).view(word) if np.ndim(x) == 0 else x.view(word) for x in (a, b))
    result = out.view(word)
    np.copyto(keep, condition.view(np.int8))
    if first.ndim == 0 and not first:
        np.bitwise_and(second, np.subtract(keep, 1, out=keep), out=result)
        return
    np.negative(keep, out=keep)  # all bits where it is true
    if second.ndim == 0 and not second:
        np.bitwise_and(first, keep, out=result)
    else:
        np.bitwise_xor(first, second, out=other)
        np.bitwise_and(other, keep, out=other)
        np.bitwise_xor(second, other, out=result)


def trace(body: Callable[..., Any], operands: Sequence[Any], numbers: Container[int] = ()) -> UfuncPlan | None:
    """The steps of a body, None where it has none.

    Parameters
    ----------
    body : callable
        Of the operands.
    operands : sequence
        Of an array its dtype, numbers and None as they are.
    numbers : container of int
        Where among the operands arrays stand for numbers that are neither 0 nor 1 (`TracedNumber`).
    """
    noted: list[Step] = []
    count, given = 0, []
    for i, operand in enumerate(operands):
        if isinstance(operand, np.dtype):
            kind = TracedNumber if i in numbers else Traced
            given.append(kind(noted, count, np.ones(1, operand)))
            count += 1
        else:
            given.append(operand)
    try:
        result = body(*given)
    except (_Untraceable, DivisionByZeroError) as error:  # by zero is refused where there is something to divide
        let_through(error)
        return None
    if not isinstance(result, Traced):
        return None
    inputs = tuple([operand for operand in operands if isinstance(operand, np.dtype)])
    noted, number = _with_limits(noted, result.number)
    last = {ref: i for i, step in enumerate(noted) for ref in (a.number for a in step.args if isinstance(a, Ref))}
    last[number] = len(noted)
    lives: list[list[int]] = [[] for _ in noted]
    for i in range(len(noted)):
        end = last.get(-1 - i, i)
        if end < len(noted):
            lives[end].append(i)
    whole = fused(noted, number, inputs)
    return UfuncPlan(tuple(noted), Ref(number), tuple(map(tuple, lives)), result.sample.dtype, inputs, whole)


def _keeps_ties() -> bool:
    """Whether `np.clip` gives a zero of the other sign than a limit of zero back as it is, as a comparison would."""
    zeros = np.array([-0.0, 0.0] * 33, np.float32)
    low, high = (np.clip(zeros, np.float32(low), np.float32(high)) for low, high in ((0.0, 1.0), (-1.0, -0.0)))
    return all(np.array_equal(np.signbit(found), np.signbit(zeros)) for found in (low, high))


#: Types that a limit is one call for, with the least and the greatest number of each.
_LIMITS: dict[np.dtype[Any], tuple[Any, Any]] = {
    **({np.dtype(t): (np.dtype(t).type(-np.inf), np.dtype(t).type(np.inf)) for t in "fd"} if _keeps_ties() else {}),
    **{np.dtype(t): (np.dtype(t).type(np.iinfo(t).min), np.dtype(t).type(np.iinfo(t).max)) for t in "bBhHiIqQ"},
}


def _with_limits(noted: list[Step], result: int) -> tuple[list[Step], int]:
    """The steps that the result needs and its number, with `where(x < low, low, x)` and its like as one `np.clip`.

    As comparison and choice a limit takes three times as long. NaN is not below a number, so both keep it.
    """
    uses: dict[int, int] = {result: 1}
    for i, step in reversed(list(enumerate(noted))):
        for a in step.args if -1 - i in uses else ():
            if isinstance(a, Ref):
                uses[a.number] = uses.get(a.number, 0) + 1
    found: list[Step] = []
    became: dict[int, int] = {}  # numbers of steps' values: as noted, and in what is found
    counts: list[int] = []  # uses of what is found
    for i, noted_step in enumerate(noted):
        if -1 - i not in uses:
            continue
        args = tuple([Ref(became.get(a.number, a.number)) if isinstance(a, Ref) else a for a in noted_step.args])
        step = noted_step._replace(args=args)
        limit = _as_limit(step, found[-1], Ref(-len(found))) if found and counts[-1] == 1 else None
        if limit is not None:
            found.pop()
            counts.pop()
            step = limit
            # What is limited below and used for nothing else (comparison and choice read it) may be limited above too.
            if found and counts[-1] == 2 and found[-1].function is np.clip and step.args[0] == Ref(-len(found)):
                below, (low, high) = found[-1].args, _LIMITS[step.dtype]
                if below[2] is high and step.args[1] is low:
                    found.pop()
                    counts.pop()
                    step = Step(np.clip, (below[0], below[1], step.args[2]), step.dtype)
        found.append(step)
        counts.append(uses[-1 - i])
        became[-1 - i] = -len(found)
    return found, became.get(result, result)


def _as_limit(step: Step, before: Step, condition: Ref) -> Step | None:
    """The call of `np.clip` that a choice is, by the comparison that stands before it; else None."""
    if step.function is not np.where or step.args[0] != condition or before.function not in (np.less, np.greater):
        return None
    x, bound = before.args
    if not isinstance(x, Ref) or step.args[2] != x or not isinstance(bound, np.ndarray) or bound.dtype != step.dtype:
        return None
    chosen = step.args[1]
    if step.dtype not in _LIMITS or not isinstance(chosen, np.ndarray) or chosen.dtype != step.dtype:
        return None
    if chosen.tobytes() != bound.tobytes() or bound != bound:
        return None
    low, high = _LIMITS[step.dtype]
    return Step(np.clip, (x, bound, high) if before.function is np.less else (x, low, bound), step.dtype)

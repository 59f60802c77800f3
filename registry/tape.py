"""What a call came to, written down so that native code can do it again (see `registry.replay`).

    x = zeros(3, 4), y = zeros(4)                         x + y
    the call of aten.add.Tensor                           Loop(np.add, 3 times 4 elements of x, y → buffer 0)
    its result                                            buffer 0, a new tensor

A call is made a second time under a mode that sees the ops it leads to, all of them functional ones, and the kind of
each op writes on a `Tape` what it does: `loop`s over strided memory, in NumPy's own inner loops, and views, which are
only other places. What has no tape raises `NotTaped`: there is a way that takes any call.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence
from dataclasses import field
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import dtypes, forking
from opweave.registry.dataclass import dataclass
from opweave.registry.op import OpOverload
from opweave.registry.spec import contiguous_strides, span
from opweave.registry.tensor import Tensor

#: Elements up to which a loop is worth it: Python is no part to speak of in more.
MOST_ELEMENTS = 1 << 16
#: The same of loops that go over elements that lie side by side, and of row programs, which run on the pool.
MOST_LARGE = 1 << 20
#: Of these, bytes from one element to the next, and elements of a row where rows lie apart.
_WORD, _LEAST_INNER = 8, 32
#: Multiplications of a product up to which it is: OpenBLAS makes so many on one thread.
MOST_PRODUCTS = 1 << 18
#: The same of a product on the pool of the kernels: no other thread runs Python meanwhile, for less time than Python
#: lets a thread run anyway.
_MOST_ON_POOL = 1 << 24
#: Loops that stand for the dimensions beyond two, ops that one call may lead to, and bytes of what lies between them.
MOST_CALLS = 48
MOST_SEVERAL, MOST_SCRATCH = 1 << 20, 1 << 23
#: The same before loops are joined, which leaves little of it.
_MOST_UNJOINED = 1 << 27
_MOST_LOOPS, _MOST_FOLDS = 32, 256
#: What a loop reads and writes.
MOST_OPERANDS = 8
#: Elements among which the place of one is found one by one: NumPy looks at many at a time.
_MOST_SEARCHED = 1 << 12
#: Rows that are accumulated, each by a call of its own.
_MOST_ROWS = 256
#: Loops whose first operand are the numbers of places.
AT_PLACES = ("taken", "scattered", "added", "multiplied", "greatest", "least")


#: Up to which numbers may be others in the next call: no type of `number` refuses them, or takes them for infinite.
MOST_NUMBER = 60000.0


class NotTaped(Exception):
    """A call that only Python makes."""


class Value(NamedTuple):
    """Elements in memory.

    Attributes
    ----------
    buffer : int
        The argument (first) or the fresh memory that they lie in, by number.
    offset : int
        Bytes from the first element of the argument, or from the beginning.
    sizes, strides : tuple of int
        In elements.
    dtype : numpy.dtype
        Of the elements.
    """

    buffer: int
    offset: int
    sizes: tuple[int, ...]
    strides: tuple[int, ...]
    dtype: np.dtype[Any]

    def part(self, begin: Sequence[int], sizes: tuple[int, ...]) -> Value:
        """Elements from an index on."""
        far = sum(i * stride for i, stride in zip(begin, self.strides, strict=True))
        return self._replace(offset=self.offset + far * self.dtype.itemsize, sizes=sizes)


#: A number that a loop reads, as an array without dimensions.
Constant = np.ndarray[Any, np.dtype[Any]]


class Operand(NamedTuple):
    """What a loop reads or writes: a value's memory or a constant, and how far to the next element, in bytes."""

    value: Value | Constant
    steps: tuple[int, ...]


class Loop(NamedTuple):
    """One call of an inner loop, or `outer` calls with other places.

    Attributes
    ----------
    function : numpy.ufunc, str or RowProgram
        Whose loop it is; of what is no ufunc its name, `copied`, `cast`, `chosen`, `erf`, `product`, or one of those
        that find elements by numbers, `taken`, `scattered`, `added`, `multiplied`, `greatest` and `least`, or
        look at these, `within`, or numbers of elements, `argmax` and `argmin`. Or what all steps of a body are as a
        row program (`registry.rows`), whose numbers are among the words besides, or a `RowCall`.
    types : tuple of numpy.dtype
        Of the operands.
    outer : int
        How many calls there are.
    counts : tuple of int
        What the loop takes for its dimensions.
    steps : tuple of int
        What it takes for its steps.
    operands : tuple of Operand
        Those read, then the one written; their steps are those between the calls.
    data : tuple of int
        Words that a loop of its own kind reads besides.
    """

    function: Any
    types: tuple[np.dtype[Any], ...]
    outer: int
    counts: tuple[int, ...]
    steps: tuple[int, ...]
    operands: tuple[Operand, ...]
    data: tuple[int, ...] = ()


class Casts(NotTaped):
    """A call that autocast makes another one: what it does depends on more than its arguments."""


#: Threads that write a call down.
recording: set[int] = set()
forking.after_fork_in_child(recording.clear)


def refuse_cast() -> None:
    """Say that autocast casts what is called.

    Raises
    ------
    Casts
        Where this thread writes a call down.
    """
    if recording and threading.get_ident() in recording:
        raise Casts("a cast")


@dataclass
class Tape:
    """What a call does.

    Attributes
    ----------
    inputs : list of Tensor
        The arguments that are tensors, or in a list of them, whose memory are the first buffers.
    calls : list
        (op, arguments, keywords, result or tuple of them) of the ops that it leads to, composites that autograd knows
        among them.
    steps : list
        The same of those that are written down.
    loops : list of Loop
        In order.
    fresh : dict of int to int
        Bytes of the buffers that are no arguments, by number.
    """

    inputs: list[Tensor]
    calls: list[tuple[OpOverload, tuple[Any, ...], dict[str, Any], Any]] = field(default_factory=list)
    steps: list[tuple[OpOverload, tuple[Any, ...], dict[str, Any], Any]] = field(default_factory=list)
    loops: list[Loop] = field(default_factory=list)
    fresh: dict[int, int] = field(default_factory=dict)
    #: Arguments that are floats, whose places are buffers behind those of the tensors.
    numbers: list[float] = field(default_factory=list)
    #: Of those that loops read from there, the type that they have as elements, by place among the numbers.
    number_types: dict[int, np.dtype[Any]] = field(default_factory=dict)
    #: The argument that the call writes to, if it does, and what is written there.
    target: Tensor | None = None
    written: Tensor | None = None
    #: Whether elements of that argument are written where others name them, none of which is read meanwhile.
    is_placed: bool = False
    #: Elements that are the same in each call, by the number of their buffer, which is negative.
    constants: dict[int, np.ndarray[Any, Any]] = field(default_factory=dict)
    #: Values that are converted booleans, and these.
    _truths: dict[Value, Value] = field(default_factory=dict)
    _values: dict[int, Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for number, t in enumerate(self.inputs):
            self._values.setdefault(id(t), Value(number, 0, t._sizes, t._strides, _element(t)))

    # ---- what kinds write --------------------------------------------------------------------------------------------

    def value(self, t: Any) -> Value:
        """Where a tensor that takes part in the call lies."""
        found = self._values.get(id(t))
        if found is None:
            raise NotTaped("a tensor from elsewhere")
        return found

    def number(self, value: Any, dtype: np.dtype[Any]) -> Value | None:
        """Where a number that was passed lies as an element, which may be another one in the next call.

        None where it is none of the arguments themselves, or more than one op looks at it.
        """
        if len(self.calls) != 1 or len(self.steps) != 1:
            return None
        place = next((i for i, number in enumerate(self.numbers) if number is value), None)
        if place is None or not abs(value) <= MOST_NUMBER or value in (0, 1):
            return None
        if self.number_types.setdefault(place, dtype) != dtype:
            return None
        return Value(len(self.inputs) + place, 0, (), (), dtype)

    def scratch(self, sizes: Sequence[int], dtype: np.dtype[Any]) -> Value:
        """Row-major memory for what comes between."""
        return self._new(tuple(sizes), contiguous_strides(tuple(sizes)), dtype)

    def constant(self, array: np.ndarray[Any, Any]) -> Value:
        """Where elements lie that are the same in each call; nobody writes there."""
        number = -2 - len(self.constants)
        array = self.constants[number] = np.ascontiguousarray(array)
        return Value(number, 0, array.shape, contiguous_strides(array.shape), array.dtype)

    def made(self, result: Tensor) -> Value:
        """Memory of its own for the result of an op, or that of the argument that is written."""
        strides = result._strides
        if result is self.written and self.target is not None and result._sizes == self.target._sizes:
            strides = self.target._strides
        found = self._values[id(result)] = self._new(result._sizes, strides, _element(result))
        return found

    def view(self, result: Tensor, base: Tensor) -> None:
        """Say that the result of an op lies in the memory of another tensor."""
        of = self.value(base)
        offset = of.offset + (result._offset - base._offset) * of.dtype.itemsize
        self._values[id(result)] = Value(of.buffer, offset, result._sizes, result._strides, of.dtype)

    def is_result(self, result: Tensor, t: Tensor) -> None:
        """Say that the result of an op is an argument of it."""
        self._values[id(result)] = self.value(t)

    def converted(self, value: Value, dtype: np.dtype[Any]) -> Value:
        """The same elements as another type."""
        if value.dtype == dtype:
            return value
        if dtype.kind == "b" and value in self._truths:
            return self._truths[value]
        made = self.scratch(value.sizes, dtype)
        self.map("cast", [value], made)
        if value.dtype.kind == "b":
            self._truths[made] = value
        return made

    def map(
        self, function: Any, inputs: Sequence[Value | Constant | complex], out: Value, data: tuple[int, ...] = ()
    ) -> None:
        """Write `function` of each element of the inputs, which broadcast.

        Parameters
        ----------
        function : numpy.ufunc, str or RowProgram
            As in `Loop`.
        inputs : sequence of Value, numpy.ndarray or number
            What is read; arrays have no dimensions, and numbers no type of their own.
        out : Value
            What is written: of the type that the function gives, unless NumPy would convert.
        data : tuple of int
            As in `Loop`.
        """
        if function == "cast" and out.dtype.kind == "b":
            (given,) = inputs
            if isinstance(given, Value) and given.dtype.kind in "fiu":  # which NumPy converts number by number
                function, inputs = np.not_equal, [given, np.zeros((), given.dtype)]
        types, taken = self._typed(function, inputs, out)
        if not out.sizes and any(dtype.kind == "c" for dtype in types):
            raise NotTaped("a complex number, with which NumPy computes in another way")
        dims: list[tuple[int, list[int]]] = []
        rows = [_byte_strides(v, out.sizes) for v in (*taken, out)]
        # What is written to again and again is outermost, so that rows lie side by side within it.
        for d in sorted(range(len(out.sizes)), key=lambda d: (out.strides[d] != 0, -out.strides[d])):
            if out.sizes[d] != 1:
                dims.append((out.sizes[d], [row[d] for row in rows]))
        *rest, inner = [_nothing(len(rows))] * 2 + _merged(dims)
        # The order of loops is free; the longest is one call.
        outer = rest.pop(max(range(len(rest)), key=lambda n: rest[n][0]))
        is_along = all(step <= _WORD for step in inner[1]) and (outer[0] == 1 or inner[0] >= _LEAST_INNER)
        if math.prod(out.sizes) > (MOST_LARGE if is_along else MOST_ELEMENTS):
            raise NotTaped("large")
        if math.prod(size for size, _ in rest) > _MOST_LOOPS:
            raise NotTaped("many dimensions")
        for place in np.ndindex(*[size for size, _ in rest]):
            # A dimension beyond two is as many loops, which begin elsewhere.
            far = [sum(i * steps[n] for i, (_, steps) in zip(place, rest, strict=True)) for n in range(len(rows))]
            operands = [
                Operand(v._replace(offset=v.offset + begin) if isinstance(v, Value) else v, (step,))
                for v, begin, step in zip((*taken, out), far, outer[1], strict=True)
            ]
            self.loops.append(Loop(function, types, outer[0], (inner[0],), tuple(inner[1]), tuple(operands), data))

    def accumulate(self, function: np.ufunc, source: Value, axis: int, out: Value) -> None:
        """Write what `function` makes of each element and all before it along a dimension.

        Parameters
        ----------
        function : numpy.ufunc
            What combines two.
        source, out : Value
            What is read and written, of one type and of the same sizes.
        axis : int
            Along which dimension.
        """
        if math.prod(source.sizes) > MOST_ELEMENTS:
            raise NotTaped("large")
        length = source.sizes[axis]
        steps = _bytes(source, axis), _bytes(out, axis)
        first = [v._replace(sizes=_without(v.sizes, axis), strides=_without(v.strides, axis)) for v in (source, out)]
        if math.prod(first[1].sizes) > _MOST_ROWS:
            raise NotTaped("many rows")
        if function is np.add and out.dtype.kind in "fc":  # a sum begins at 0, which -0 added to it leaves
            self.map(function, [first[0], np.zeros((), out.dtype)], first[1])
        else:
            self.map("copied", first[:1], first[1])
        types = (out.dtype,) * 3
        for place in np.ndindex(*first[1].sizes) if length > 1 else ():
            begin = [sum(i * _bytes(v, d) for d, i in enumerate(place)) for v in first]
            before = out._replace(offset=out.offset + begin[1])
            given = source._replace(offset=source.offset + begin[0] + steps[0])
            behind = before._replace(offset=before.offset + steps[1])
            operands = tuple([Operand(v, (0,)) for v in (before, given, behind)])
            self.loops.append(Loop(function, types, 1, (length - 1,), (steps[1], steps[0], steps[1]), operands))

    def fold(self, function: np.ufunc, source: Value, axes: Sequence[int], out: Value, start: Any) -> None:
        """Write the combination of the elements along some axes.

        Parameters
        ----------
        function : numpy.ufunc
            What combines two.
        source, out : Value
            What is read and written; `out` has no such axes, and lies row-major.
        axes : sequence of int
            Of the source.
        start : number or None
            What is combined with the first element; None where that is where it begins.
        """
        types, _ = self._typed(function, [out, source], out)
        item = source.dtype.itemsize
        kept, along = [], []
        for d in sorted(range(len(source.sizes)), key=lambda d: -source.strides[d]):
            if source.sizes[d] != 1:
                (along if d in axes else kept).append((source.sizes[d], [source.strides[d] * item]))
        # Of the result the strides that its dimensions have row by row, in the source's order of dimensions.
        order = [d for d in range(len(source.sizes)) if d not in axes and source.sizes[d] != 1]
        if order != sorted(order, key=lambda d: -source.strides[d]):
            raise NotTaped("another order")
        kept, along = _merged(kept), _merged(along)
        *slow, (count, (step,)) = along or [(1, [0])]
        *outer, (rows, (row,)) = kept or [(1, [0])]
        is_along = row == item < step  # whole rows are combined
        if math.prod(source.sizes) > (MOST_LARGE if is_along else MOST_ELEMENTS):
            raise NotTaped("large")
        if math.prod(size for size, _ in (*outer, *slow)) > (_MOST_FOLDS if is_along else _MOST_LOOPS):
            raise NotTaped("many dimensions")
        for number, place in enumerate(np.ndindex(*[size for size, _ in outer])):
            far = sum(i * stride for i, (_, (stride,)) in zip(place, outer, strict=True))
            to = out._replace(offset=out.offset + number * rows * item)
            for turn, other in enumerate(np.ndindex(*[size for size, _ in slow])):
                begin = far + sum(i * stride for i, (_, (stride,)) in zip(other, slow, strict=True))
                part = source._replace(offset=source.offset + begin)
                self._fold_rows(function, types, part, (rows, row), (count, step), to, start, turn == 0)

    def find(self, name: str, source: Value, axes: Sequence[int], out: Value) -> None:
        """Write where along some axes, counted row by row, the greatest (`argmax`) or least element is (`argmin`).

        Parameters
        ----------
        name : str
            What is looked for.
        source, out : Value
            What is read, and the places, which lie row-major.
        axes : sequence of int
            Of the source: one, or all of what lies row-major.
        """
        if math.prod(source.sizes) > _MOST_SEARCHED:
            raise NotTaped("large")
        dims = [(d, size, [_bytes(source, d)]) for d, size in enumerate(source.sizes) if size != 1]
        kept = _merged([(size, steps) for d, size, steps in dims if d not in axes])
        along = _merged([(size, steps) for d, size, steps in dims if d in axes])
        *outer, (rows, (row,)) = kept or [(1, [0])]
        if len(along) > 1 or math.prod(size for size, _ in outer) > _MOST_LOOPS:
            raise NotTaped("many dimensions")
        (count, (step,)) = (*along, (1, [0]))[0]
        for number, place in enumerate(np.ndindex(*[size for size, _ in outer])):
            far = sum(i * stride for i, (_, (stride,)) in zip(place, outer, strict=True))
            part = source._replace(offset=source.offset + far)
            to = out._replace(offset=out.offset + number * rows * out.dtype.itemsize)
            operands = Operand(part, (row,)), Operand(to, (out.dtype.itemsize,))
            self.loops.append(Loop(name, (source.dtype, out.dtype), rows, (count,), (step, 0), operands))

    def _fold_rows(
        self, function: np.ufunc, types: tuple[np.dtype[Any], ...], source: Value, kept: tuple[int, int],
        along: tuple[int, int], out: Value, start: Any, is_first: bool,
    ) -> None:  # fmt: skip
        """`fold` of the elements `along` of each row that is `kept`: how many there are, and bytes between them.

        What was folded before, unless it is the first, stands in `out`.
        """
        (rows, row), (count, step), item = kept, along, source.dtype.itemsize
        first = 0
        if is_first and start is None:
            self._fill_rows(source, rows, row, out)
            first, count = step, count - 1
        elif is_first:
            self.map("copied", [np.asarray(start, out.dtype)], out._replace(sizes=(rows,), strides=(1,)))
        rest = source._replace(offset=source.offset + first)
        if not count:
            return
        if rows > 1 and row < step:
            loop = (count, (rows,), (item, row, item), (0, step, 0))
        else:
            loop = (rows, (count,), (0, step, 0), (item, row, item))
        outer, counts, steps, between = loop
        operands = tuple([Operand(v, (s,)) for v, s in zip((out, rest, out), between, strict=True)])
        self.loops.append(Loop(function, types, outer, counts, steps, operands))

    def _fill_rows(self, source: Value, rows: int, row: int, out: Value) -> None:
        loop = Loop("copied", (out.dtype, out.dtype), 1, (rows,), (row, out.dtype.itemsize),
                    (Operand(source, (0,)), Operand(out, (0,))))  # fmt: skip
        self.loops.append(loop)

    def multiply(self, a: Value, b: Value, out: Value) -> None:
        """Write the matrix products of `a` and `b` (`np.matmul`), of any number of equal leading dimensions.

        Those of half types and of 8-bit numbers, which are int32, are made by the native code that makes them anyway.
        """
        *lead, m, n = a.sizes
        p = b.sizes[-1]
        total = math.prod(lead) * m * n * p
        if total > _MOST_ON_POOL or not total:
            raise NotTaped("large")
        function: Any = np.matmul if total <= MOST_PRODUCTS else "product"
        is_narrow = a.dtype.itemsize <= 2
        if is_narrow:
            function = "narrow product"
        if (
            not (a.dtype == b.dtype and (is_narrow or a.dtype == out.dtype))
            or list(b.sizes[:-1]) != [*lead, n]
            or out.sizes != (*lead, m, p)
        ):
            raise NotTaped("another product")
        dims = [(size, [_bytes(v, d) for v in (a, b, out)]) for d, size in enumerate(lead) if size != 1]
        dims = _merged(dims)
        if len(dims) > 1:
            raise NotTaped("many dimensions")
        batches, between = (*dims, (1, [0, 0, 0]))[0]
        of_each = [_bytes(v, d) for v in (a, b, out) for d in (-2, -1)]
        operands = tuple([Operand(v, (0,)) for v in (a, b, out)])
        types = (a.dtype,) * 3
        self.loops.append(Loop(function, types, 1, (batches, m, n, p), (*between, *of_each), operands))

    # ---- a whole call ------------------------------------------------------------------------------------------------

    def _new(self, sizes: tuple[int, ...], strides: tuple[int, ...], dtype: np.dtype[Any]) -> Value:
        number = len(self.inputs) + len(self.numbers) + len(self.fresh)
        self.fresh[number] = span(sizes, strides) * dtype.itemsize
        if sum(self.fresh.values()) > _MOST_UNJOINED and len(self.fresh) > 1:
            raise NotTaped("large")
        return Value(number, 0, sizes, strides, dtype)

    def _typed(
        self, function: Any, inputs: Sequence[Value | Constant | complex], out: Value
    ) -> tuple[tuple[np.dtype[Any], ...], list[Value | Constant]]:
        """The types that a loop has, and the operands with numbers made arrays; nothing is converted."""
        if function == "cast":
            (source,) = inputs
            assert isinstance(source, Value)
            types = [source.dtype, out.dtype]
        elif function in AT_PLACES:
            types = [np.dtype(np.int64), out.dtype, out.dtype]
        elif isinstance(function, str):
            types = [*([np.dtype(bool)] if function == "chosen" else []), *[out.dtype] * 3][: len(inputs)] + [out.dtype]
        elif not isinstance(function, np.ufunc):
            types = [v.dtype if isinstance(v, (Value, np.ndarray)) else np.dtype(np.float32) for v in (*inputs, out)]
        else:
            inputs = [np.asarray(v) if isinstance(v, np.generic) else v for v in inputs]
            asked = [v.dtype if isinstance(v, (Value, np.ndarray)) else type(v) for v in inputs]
            try:
                types = list(function.resolve_dtypes((*asked, None)))
            except TypeError:
                raise NotTaped("types that NumPy has no loop for") from None
        taken: list[Value | Constant] = []
        for v, dtype in zip((*inputs, out), types, strict=True):
            if not isinstance(v, (Value, np.ndarray)):
                with np.errstate(all="ignore"):
                    v = np.asarray(v).astype(dtype)
            elif v.dtype != dtype:
                raise NotTaped("a conversion")
            taken.append(v)
        return tuple(types), taken[:-1]


def _element(t: Tensor) -> np.dtype[Any]:
    dtype = t._dtype.numpy
    if dtype is None or dtype.kind not in "biufc" and t._dtype is not dtypes.bfloat16:
        raise NotTaped("elements that NumPy has no loops for")
    return dtype


def _bytes(v: Value, d: int) -> int:
    return v.strides[d] * v.dtype.itemsize


def _without(numbers: tuple[int, ...], place: int) -> tuple[int, ...]:
    return numbers[:place] + numbers[place + 1 :]


def _byte_strides(v: Value | Constant, sizes: tuple[int, ...]) -> list[int]:
    """How far it is in memory to the next element along each dimension of what a value is broadcast to."""
    if not isinstance(v, Value):
        return [0] * len(sizes)
    lead = len(sizes) - len(v.sizes)
    if lead < 0 or any(size not in (1, sizes[lead + d]) for d, size in enumerate(v.sizes)):
        raise NotTaped("sizes that do not broadcast")
    return [0] * lead + [0 if size == 1 else _bytes(v, d) for d, size in enumerate(v.sizes)]


def _merged(dims: list[tuple[int, list[int]]]) -> list[tuple[int, list[int]]]:
    """Dimensions, outer first, where those that lie behind each other in all operands are one."""
    found: list[tuple[int, list[int]]] = []
    for size, steps in dims:
        if found and all(before == step * size for before, step in zip(found[-1][1], steps, strict=True)):
            found[-1] = (found[-1][0] * size, steps)
        else:
            found.append((size, steps))
    return found


def _nothing(width: int) -> tuple[int, list[int]]:
    """A dimension of one element."""
    return 1, [0] * width


def tensors_in(value: Any) -> Sequence[Tensor]:
    """An argument that is a tensor, or those of one that is a list or tuple of nothing else."""
    if type(value) is Tensor:
        return (value,)
    if type(value) in (list, tuple) and value and all(type(item) is Tensor for item in value):
        return value
    return ()


def results_of(result: Any) -> tuple[Any, ...]:
    """The results of an op that has one or several."""
    return tuple(result) if isinstance(result, (tuple, list)) else (result,)

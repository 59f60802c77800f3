"""What oneDNN is to do for a convolution: stages, one after the other, of parts that threads may share.

A part is some images, or some channels of what is made where there are few images, and a thread runs its primitives one
after the other: they put in order what lies otherwise than they want it, and multiply. Weights are put in order in a
stage before. The adjoint in the weight is parted by filters; where these are few, by images, whose sums are added in
order. Which parts there are depends on the sizes alone, so results do not depend on the number of threads.

What a plan says is read by native code (`native/onednn.ll`), and never changes, so threads may run one at a time.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

from opweave.codegen import native
from opweave.codegen.native import launch, objects, pool
from opweave.codegen.onednn import library as c
from opweave.codegen.onednn.library import Handle, Library, NotOffered
from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType

#: The most parts of what is shared out, and the fewest channels of one; the most sums of a weight's adjoint.
_PARTS, _CHANNELS, _SUMS = 16, 32, 4
#: Filters from which on a weight's adjoint is parted by them.
_MANY_FILTERS = 2 * _CHANNELS
#: Where memory is: operands, what all parts read, and what a part has for itself.
A, B, OUT, BIAS, SHARED, OWN = range(6)
_LINE = 64
_BATCH, _CHANNEL = 0, 1
_SYMBOLS = ("opweave_onednn_run", "opweave_onednn")

Layout = tuple[Sequence[int], Sequence[int]]


class Problem(NamedTuple):
    """A convolution or an adjoint; as of `convolution.words_of`, by sizes and strides.

    Attributes
    ----------
    form : str
        Which.
    dtype : DType
        Of all operands.
    out, a, b : (sizes, strides)
        How the result and the operands lie.
    bias : bool
        Whether there is one; it lies in one piece.
    groups : int
        Of channels.
    steps : (stride, padding, dilation)
        By spatial dimension.
    """

    form: str
    dtype: DType
    out: Layout
    a: Layout
    b: Layout
    bias: bool
    groups: int
    steps: tuple[tuple[int, ...], ...]


class _Place(NamedTuple):
    """Memory as a primitive is told of it."""

    about: Handle
    buffer: int
    offset: int = 0


class _Step(NamedTuple):
    primitive: Handle
    arguments: list[tuple[int, _Place]]


@dataclass(frozen=True)
class _Slice:
    """A range of one dimension."""

    dim: int
    start: int
    count: int

    def of(self, layout: Layout, item: int) -> tuple[Layout, int]:
        """That part of a tensor, and where it begins, in bytes."""
        sizes = [self.count if d == self.dim else n for d, n in enumerate(layout[0])]
        return (sizes, layout[1]), self.start * layout[1][self.dim] * item


class _Room:
    """Memory that is asked for piece by piece."""

    def __init__(self) -> None:
        self.nbytes = 0

    def take(self, nbytes: int) -> int:
        """Where so many bytes begin."""
        at = self.nbytes
        self.nbytes += -(-nbytes // _LINE) * _LINE
        return at


class _Part:
    """What one thread does, and its memory."""

    def __init__(self, library: Library, shared: _Room) -> None:
        self.library, self.shared = library, shared
        self.steps: list[_Step] = []
        self.own = _Room()

    def room(self, about: Handle, shared: bool = False) -> _Place:
        """Memory for what is described."""
        room = self.shared if shared else self.own
        return _Place(about, SHARED if shared else OWN, room.take(self.library.size(about)))

    def run(self, described: Handle, *arguments: tuple[int, _Place]) -> None:
        """A primitive."""
        given = list(arguments)
        scratchpad = self.library.scratchpad(described)
        if scratchpad and self.library.size(scratchpad):
            given.append((c.SCRATCHPAD, self.room(scratchpad)))
        self.steps.append(_Step(self.library.primitive(described), given))

    def reordered(self, of: _Place, about: Handle, shared: bool = False) -> _Place:
        """The same as a primitive wants it, which may be as it is."""
        if self.library.alike(of.about, about):
            return of
        to = self.room(about, shared)
        self.put(of, to)
        return to

    def put(self, of: _Place, to: _Place) -> None:
        """Copy, into another order."""
        self.run(self.library.reorder(of.about, to.about), (c.SRC, of), (c.DST, to))


class Plan:
    """What native code is told to do; kept as long as the process.

    Parameters
    ----------
    library : Library
        Whose primitives they are.
    stages : sequence
        The parts of each.
    shared : int
        Bytes of what all parts read.
    """

    def __init__(self, library: Library, stages: Sequence[Sequence[_Part]], shared: int) -> None:
        self._kept: list[object] = []
        stages = [stage for stage in stages if stage]
        own = max((part.own.nbytes for stage in stages for part in stage), default=0)
        found = self._placed(
            word for stage in stages for word in (len(stage), self._placed(self._part(part) for part in stage), 0)
        )
        self._at = self._placed([len(stages), found, shared, own, library.engine, library.stream])
        objects.keep_forever(self)

    def run(self, a: int, b: int, out: int, bias: int) -> None:
        """Make it of what is at addresses; `bias` is 0 where there is none."""
        _native().call(self._at, a, b, out, bias)

    def words(self, a: Any, b: Any, out: Any, bias: Any) -> tuple[Any, ...]:
        """The same for a segment: what the function at `address` is told."""
        return self._at, a, b, out, bias

    def address(self, _: DType) -> int:
        """Of `i32 opweave_onednn(ptr words)`."""
        return _native().address

    def _part(self, part: _Part) -> int:
        return self._placed([len(part.steps), *(word for step in part.steps for word in self._step(step))])

    def _step(self, step: _Step) -> tuple[int, int, int]:
        words = [(arg, place.about, place.buffer, place.offset) for arg, place in step.arguments]
        return step.primitive, len(words), self._placed(word for each in words for word in each)

    def _placed(self, words: Iterable[int]) -> int:
        made = _array(words)
        self._kept.append(made)
        return ctypes.addressof(made)


def _array(words: Iterable[int]) -> ctypes.Array[ctypes.c_int64]:
    given = list(words)
    return (ctypes.c_int64 * max(len(given), 1))(*given)


class _Native(NamedTuple):
    call: Callable[..., None]
    address: int


_CODE = objects.Code(lambda: native.source("onednn", numbers={}), "oneDNN", objects.PROMOTED)


@functools.cache
def _native() -> _Native:
    found = c.library()
    assert found is not None  # a plan is made of its primitives
    loaded = _CODE.load(_SYMBOLS, {"opweave_run": pool.run_address(), **found.addresses()})
    run, address = map(loaded.address, _SYMBOLS)
    return _Native(launch.words_function("convolutions by oneDNN", 5, run, loaded), address)


def plan(library: Library, problem: Problem) -> Plan:
    """How the library makes a convolution.

    Raises
    ------
    NotOffered
        If it has not all of the primitives, or knows no layout such as that of an operand.
    """
    with library.alone():
        try:
            return _Planner(library, problem, as_they_lie=True).plan()
        except NotOffered:
            return _Planner(library, problem, as_they_lie=False).plan()


class _Planner:
    def __init__(self, library: Library, problem: Problem, as_they_lie: bool) -> None:
        self.library, self.problem, self.as_they_lie = library, problem, as_they_lie
        self.shared = _Room()
        self.first: list[_Part] = []
        self._packed: list[tuple[tuple[int, int, Handle], _Place]] = []
        if problem.form != "forward" and problem.bias:
            raise NotOffered("a transposed convolution with a bias")
        for sizes, strides in (problem.out, problem.a, problem.b):
            if 0 in sizes or any(n > 1 and s <= 0 for n, s in zip(sizes, strides, strict=True)):
                raise NotOffered("empty or expanded operands")

    def plan(self) -> Plan:
        make = self._weight if self.problem.form == "weight" else self._data
        last = make()
        return Plan(self.library, [self.first, *last], self.shared.nbytes)

    # ---- a convolution, and its adjoint in the input

    def _data(self) -> list[list[_Part]]:
        images, channels = self.problem.out[0][:2]
        by = _BATCH if images > 1 or self.problem.groups > 1 else _CHANNEL
        return [[self._some(part) for part in _slices(by, images if by == _BATCH else channels)]]

    def _some(self, chosen: _Slice) -> _Part:
        """The part that makes some images, or some channels."""
        problem, item = self.problem, self.problem.dtype.itemsize
        forward = problem.form == "forward"
        part = _Part(self.library, self.shared)
        made, made_at = chosen.of(problem.out, item)
        given, given_at, weight, weight_at = problem.a, 0, problem.b, 0
        if chosen.dim == _BATCH:
            given, given_at = chosen.of(problem.a, item)
        else:
            weight, weight_at = _Slice(0 if forward else 1, chosen.start, chosen.count).of(problem.b, item)
        x, y = (given, made) if forward else (made, given)
        bias = self.library.strided(problem.dtype, made[0][1:2], (1,)) if problem.bias else 0
        described = self._forward(x, weight, bias, y)
        if not forward:
            free = [self._wanted(layout) for layout in (x, y)]
            weights = self._free(self._grouped(weight)[0])
            described = self.library.backward_data(free[0], weights, free[1], problem.steps, described)
        self._check_quick(described)
        wants, makes = (c.SRC_MD, c.DST_MD) if forward else (c.DIFF_DST_MD, c.DIFF_SRC_MD)
        source = _Place(self._strided(given), A, given_at)
        about = self.library.asked(described, wants)
        ordered = (
            part.reordered(source, about)
            if chosen.dim == _BATCH
            else self._once(source, about, self._by_images(problem.a, A))
        )
        filters = _Place(self._strided(self._grouped(weight)), B, weight_at)
        packed = self._once(filters, self.library.asked(described, c.WEIGHTS_MD), self._whole)
        target = _Place(self._strided(made), OUT, made_at)
        about = self.library.asked(described, makes)
        result = target if self.library.alike(about, target.about) else part.room(about)
        names = (c.SRC, c.DST) if forward else (c.DIFF_DST, c.DIFF_SRC)
        arguments = [(names[0], ordered), (c.WEIGHTS, packed), (names[1], result)]
        if problem.bias:
            start = chosen.start * item if chosen.dim == _CHANNEL else 0
            arguments.append((c.BIAS, _Place(bias, BIAS, start)))
        part.run(described, *arguments)
        if result is not target:
            part.put(result, target)
        return part

    def _forward(self, x: Layout, weight: Layout, bias: Handle, y: Layout) -> Handle:
        weights = self._free(self._grouped(weight)[0])
        return self.library.forward(self._wanted(x), weights, bias, self._wanted(y), self.problem.steps)

    # ---- the adjoint in the weight

    def _weight(self) -> list[list[_Part]]:
        problem = self.problem
        filters = problem.out[0][0]
        if problem.groups == 1 and (filters >= _MANY_FILTERS or problem.a[0][0] == 1):
            return [[self._filters(part) for part in _slices(_CHANNEL, filters)]]
        item = problem.dtype.itemsize
        slices = _slices(_BATCH, problem.a[0][0], most=_SUMS)
        parts = [_Part(self.library, self.shared) for _ in slices]
        sums: list[_Place] = []
        for part, chosen in zip(parts, slices, strict=True):
            (y, y_at), (x, x_at) = chosen.of(problem.a, item), chosen.of(problem.b, item)
            sums.append(self._summed(part, x, x_at, y, y_at, problem.out, dtypes.float32, shared=True))
        last = _Part(self.library, self.shared)
        total = sums[0]
        if len(sums) > 1:
            if not all(self.library.alike(total.about, each.about) for each in sums):
                raise NotOffered("sums that lie in several ways")
            described = self.library.sum(total.about, total.about, len(sums))
            total = last.room(total.about)
            last.run(described, *((c.MULTIPLE + i, each) for i, each in enumerate(sums)), (c.DST, total))
        last.put(total, _Place(self._strided(self._grouped(problem.out)), OUT))
        return [parts, [last]]

    def _filters(self, chosen: _Slice) -> _Part:
        """The part that makes some filters' adjoints."""
        problem, item = self.problem, self.problem.dtype.itemsize
        part = _Part(self.library, self.shared)
        y, y_at = chosen.of(problem.a, item)
        out, out_at = _Slice(0, chosen.start, chosen.count).of(problem.out, item)
        made = self._summed(part, problem.b, 0, y, y_at, out, problem.dtype, once=True)
        part.put(made, _Place(self._strided(out), OUT, out_at))
        return part

    def _summed(
        self, part: _Part, x: Layout, x_at: int, y: Layout, y_at: int, out: Layout, dtype: DType,
        *, shared: bool = False, once: bool = False,
    ) -> _Place:  # fmt: skip
        sizes = self._grouped(out)[0]
        hint = self._forward(x, out, 0, y)
        weights = self.library.free(dtype, sizes)
        described = self.library.backward_weights(self._wanted(x), weights, self._wanted(y), self.problem.steps, hint)
        self._check_quick(described)
        source, about = _Place(self._strided(x), B, x_at), self.library.asked(described, c.SRC_MD)
        if once:
            x_ordered = self._once(source, about, self._by_images(x, B))
        else:
            x_ordered = part.reordered(source, about)
        y_ordered = part.reordered(_Place(self._strided(y), A, y_at), self.library.asked(described, c.DIFF_DST_MD))
        made = part.room(self.library.asked(described, c.DIFF_WEIGHTS_MD), shared)
        part.run(described, (c.SRC, x_ordered), (c.DIFF_DST, y_ordered), (c.DIFF_WEIGHTS, made))
        return made

    # ---- layouts

    def _strided(self, layout: Layout) -> Handle:
        return self.library.strided(self.problem.dtype, *layout)

    def _free(self, sizes: Sequence[int]) -> Handle:
        return self.library.free(self.problem.dtype, sizes)

    def _wanted(self, layout: Layout) -> Handle:
        """How the library may have images: as they lie if channels lie side by side, else as it likes."""
        sizes, strides = layout
        beside = sizes[1] > 1 and strides[1] == 1 and math.prod(sizes[2:]) > 1
        return self._strided(layout) if beside and self.as_they_lie else self._free(sizes)

    def _check_quick(self, described: Handle) -> None:
        if self.library.is_slow(described):
            raise NotOffered("a quick primitive")

    def _grouped(self, weight: Layout) -> Layout:
        (filters, *sizes), (stride, *strides) = weight
        groups = self.problem.groups
        if groups == 1:
            return weight
        each = filters // groups
        return (groups, each, *sizes), (each * stride, stride, *strides)

    def _once(self, of: _Place, about: Handle, put: Callable[[_Place, _Place], None]) -> _Place:
        """What all parts read, put in order before them."""
        if self.library.alike(of.about, about):
            return of
        for (buffer, offset, described), place in self._packed:
            if (buffer, offset) == of[1:] and self.library.alike(described, about):
                return place
        to = _Place(about, SHARED, self.shared.take(self.library.size(about)))
        self._packed.append(((of.buffer, of.offset, about), to))
        put(of, to)
        return to

    def _whole(self, of: _Place, to: _Place) -> None:
        part = _Part(self.library, self.shared)
        part.put(of, to)
        self.first.append(part)

    def _by_images(self, layout: Layout, buffer: int) -> Callable[[_Place, _Place], None]:
        def put(of: _Place, to: _Place) -> None:
            for chosen in _slices(_BATCH, layout[0][0]):
                part = _Part(self.library, self.shared)
                some, at = chosen.of(layout, self.problem.dtype.itemsize)
                offsets = [chosen.start, *[0] * (len(some[0]) - 1)]
                about = self.library.part(to.about, some[0], offsets)
                part.put(_Place(self._strided(some), buffer, at), _Place(about, SHARED, to.offset))
                self.first.append(part)

        return put


def _slices(dim: int, count: int, most: int = _PARTS) -> list[_Slice]:
    """Parts of about the same size; channels by the sixteen."""
    each = -(-count // most)
    if dim == _CHANNEL:
        each = max(-(-each // 16) * 16, _CHANNELS)
    return [_Slice(dim, start, min(each, count - start)) for start in range(0, count, each)]

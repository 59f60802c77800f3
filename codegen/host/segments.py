"""Steps that need no Python between them become one native call, and what only they need lies in one block of memory.

    alloc exp: f32[8, 8]                   alloc relu: f32[8, 8]
    launch fused_exp_0: x -> exp      ->   steps_0(x, relu), 256 bytes for exp
    alloc relu: f32[8, 8]                      launch fused_exp_0: x -> exp
    launch fused_relu_1: exp -> relu           launch fused_relu_1: exp -> relu
    free exp

Launches, of groups too, products, convolutions and copies go into a segment, with the views between them; what else
stands there and can wait moves before or behind it. Where each intermediate lies in the block is planned by size: the
largest first, at the lowest place that nothing holds meanwhile (sizes that are not fixed: at the place of one of the
same size that is done with, else at a new one). Where the block is too large for the stack, what is done with before a
result is first written lies in the memory of that result.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any

from opweave.codegen import blas
from opweave.codegen.host import packing
from opweave.codegen.host.operands import Address, Expression, Layout, Local, Number, NumberType, OpaqueType, number_in
from opweave.codegen.host.steps import (
    Alloc,
    Bump,
    Cell,
    Constant,
    Convolve,
    Copy,
    Free,
    Group,
    Launch,
    Move,
    NativeCall,
    Product,
    Program,
    Read,
    Step,
    View,
    locals_in,
)
from opweave.codegen.kernel import KernelSource
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device
from opweave.registry.errors import CompileError
from opweave.registry.interrupts import let_through
from opweave.registry.spec import is_contiguous, span
from opweave.tracer.loops.size import sizes

#: Of each place in a block: a line of the cache.
ALIGNMENT = 64
#: Bytes of a block that is on the stack.
ON_STACK = 1 << 15
_WORK = (Launch, Group, Product, Convolve, Copy, NativeCall)


@dataclass(frozen=True)
class Place:
    """Where a tensor of a segment begins: so many bytes behind the start of another one, or of the block."""

    of: Local
    shift: Number


@dataclass(frozen=True, eq=False)
class Segment(Step):
    """Steps that are one native call.

    Attributes
    ----------
    name : str
        Of the function.
    inputs : tuple of Local
        The tensors that it is given.
    numbers : tuple of Local
        The numbers that it is given.
    memory : Local or None
        The block in which the others lie.
    nbytes : Number
        Its bytes.
    on_stack : bool
        Whether it is part of the call; else it is allocated for it.
    places : mapping of Local to Place
        What is not given but lies in something that is, or in the block.
    layouts : mapping of Local to Layout
        Of the operands of products, convolutions and native calls.
    copied : mapping of Local to Number
        Bytes of what is copied to.
    owners : mapping of Local to Local
        Of tensors that it is given and calls ops with, the name under which it has the tensor itself.
    work : tuple of Step
        Launches, groups, products, convolutions and copies, in their order.
    """

    name: str
    inputs: tuple[Local, ...]
    numbers: tuple[Local, ...]
    memory: Local | None
    nbytes: Number
    on_stack: bool
    places: Mapping[Local, Place]
    layouts: Mapping[Local, Layout]
    copied: Mapping[Local, Number]
    owners: Mapping[Local, Local]
    work: tuple[Step, ...]

    @property
    def writes(self) -> tuple[Local, ...]:
        written = [self.root(local) for step in self.work for local in step.writes]
        return tuple(dict.fromkeys(local for local in written if local is not self.memory))

    @property
    def reads(self) -> tuple[Local, ...]:
        """The tensors that are given with something in them that is read."""
        return self.reads_before(lambda given: given)

    def reads_before(self, memory_of: Callable[[Local], Local]) -> tuple[Local, ...]:
        """Those that are read before anything is written to their memory, which may have several names."""
        found: dict[Local, None] = {}
        written: set[Local] = set()
        for step in self.work:
            outputs = set(step.writes)
            # What follows a product reads what that made, under any name.
            made = self.root(step.out) if isinstance(step, Product) else None
            for local in step.uses:
                given = self.root(local)
                of_product = given is made and isinstance(step, Product) and local not in step.operands
                if local in outputs or of_product or given not in self.inputs:
                    continue
                if memory_of(given) not in written:
                    found[given] = None
            written.update(memory_of(self.root(local)) for local in outputs)
        return tuple(found)

    def root(self, local: Local) -> Local:
        """What a tensor lies in: one that is given, or the block."""
        place = self.places.get(local)
        return local if place is None else place.of


def run(program: Program, device: Device) -> Program:
    """Put a `Segment` in the place of steps that one native call can do."""
    if device.type != "cpu":
        return program
    steps: list[Step] = []
    found: list[Step] = []
    #: Names that only segments know.
    inner: set[Local] = set()
    for number, step in enumerate(program.steps):
        if isinstance(step, Free):
            step = replace(step, locals=tuple(local for local in step.locals if local not in inner))
        if _fits(step, found):
            found.append(step)
        else:
            steps += _segment(found, program, number, inner)
            steps.append(step)
            found = []
    return replace(program, steps=tuple(s for s in (*steps, *found) if not isinstance(s, Free) or s.locals))


# ---- which steps -----------------------------------------------------------------------------------------------------


def _fits(step: Step, before: Sequence[Step]) -> bool:
    """Whether a step can be part of a segment with those before it, or wait until it is over."""
    if isinstance(step, Launch):
        return _is_native(step)
    if isinstance(step, Group):
        return _is_made(step.kernel)
    if isinstance(step, Product):
        then = step.epilogue
        return step.factors is not None or (blas.is_native() and (then is None or _is_native(then.launch)))
    if isinstance(step, Convolve):
        return True
    if isinstance(step, Copy):
        return nbytes_of(step.to) is not None and lie_alike(step.to, step.of)
    if isinstance(step, Alloc):
        return step.layout.device.type == "cpu"
    if isinstance(step, View):
        return all(_is_number(n) for n in (*step.sizes, *step.strides, step.shift))
    if isinstance(step, Read):
        made = {local for earlier in before for local in earlier.defines}
        return step.promise is None and step.of not in made
    return isinstance(step, (Move, Free, Bump, Constant, Cell, NativeCall))


def _is_native(launch: Launch) -> bool:
    if not _is_made(launch.kernel):
        return False
    return all(isinstance(a, (Address, int, float)) or _is_number(a) for a in (*launch.grid, *launch.arguments))


def _is_made(kernel: object) -> bool:
    return isinstance(kernel, KernelSource) and not kernel.later


def _is_number(value: Number) -> bool:
    """Whether it is an integer that is known or can be computed, or a number that is given."""
    if isinstance(value, Local):
        return isinstance(value.type, NumberType) and value.type.kind in ("int", "float")
    if isinstance(value, Expression):
        return value.number.kind == "int" and all(_is_number(local) for local in value.reads.values())
    return isinstance(value, int)


def lie_alike(to: Local, of: Local) -> bool:
    """Whether two tensors lie in memory in one way, without gaps."""
    one, other = to.tensor, of.tensor
    same = one.dtype is other.dtype and sizes(one.sizes) == sizes(other.sizes)
    return same and sizes(one.strides) == sizes(other.strides)


def nbytes_of(local: Local) -> Any | None:
    """Bytes of a tensor's memory, in numbers of the trace; None where its elements do not lie side by side."""
    kind = local.tensor
    item = kind.dtype.itemsize
    if all(type(n) is int for n in (*kind.sizes, *kind.strides)):
        return span(kind.sizes, kind.strides) * item
    total = 1
    for size in kind.sizes:
        total = total * size
    shown: Any = sizes(kind.sizes)
    steps: Any = sizes(kind.strides)
    return total * item if is_contiguous(shown, steps) else None


def dense_nbytes_of(local: Local) -> Any | None:
    """The same where its dimensions may lie in any order."""
    nbytes, kind = nbytes_of(local), local.tensor
    if nbytes is not None:
        return nbytes
    left = [
        (n, s, size) for n, s, size in zip(sizes(kind.sizes), sizes(kind.strides), kind.sizes, strict=True) if n != 1
    ]
    expected: Any = 1
    total = kind.dtype.itemsize
    while left:
        found = next((each for each in left if each[1] == expected), None)
        if found is None:
            return None
        left.remove(found)
        expected, total = expected * found[0], total * found[2]
    return total


# ---- a segment -------------------------------------------------------------------------------------------------------


def _segment(steps: Sequence[Step], program: Program, end: int, inner: set[Local]) -> Sequence[Step]:
    """The steps up to a place, with a segment among them if they do something; its own names are added to `inner`."""
    work = [step for step in steps if isinstance(step, _WORK)]
    if not work:
        return steps
    try:
        maker = _Maker(packing.run(steps, program.names), program, end)
        made = maker.made()
    except CompileError as error:  # a size of a product follows from none that is there
        let_through(error)
        return steps
    inner |= maker.inner
    return made


@dataclass
class Life:
    """Where in a segment some memory is needed: from the step that makes it to the last that uses it.

    It lies so many bytes behind the start of a result, or of the block (None).
    """

    nbytes: Any
    first: int
    last: int
    of: Local | None = None
    place: Number = 0


class _Maker:
    def __init__(self, steps: Sequence[Step], program: Program, end: int) -> None:
        self.steps, self.program = steps, program
        self.work = [step for step in steps if isinstance(step, _WORK)]
        self.base: dict[Local, View | Move] = {s.result: s for s in steps if isinstance(s, (View, Move))}
        self.allocated = {step.result: step for step in steps if isinstance(step, Alloc)}
        self.needed: set[Local] = set()
        #: What is known inside alone, once it is made.
        self.inner: set[Local] = set()
        for step in program.steps[end:]:
            if not isinstance(step, Free):
                self._need(step.uses)
        known = {*program.inputs, *program.captured}
        known.update(local for step in program.steps[:end] for local in step.defines)
        self.symbols = {name: local for name, local in program.symbols.items() if local in known}

    def _need(self, locals: Iterable[Local]) -> None:
        """Python needs these after the segment, and so what they look into."""
        for local in locals:
            self.needed.add(local)
            step = self.base.get(local)
            if step is not None:
                self._need(locals_in((_of(step),)))

    def made(self) -> Sequence[Step]:
        """What comes before, the segment and what comes after it."""
        lives = self._lives()
        total = plan(lives, self._results(), self._number)
        inside = self.inner = {*lives, *(local for local in self.base if local not in self.needed)}
        inside.update(step.result for step in self.work if isinstance(step, Group))
        touched = {local for s in self.steps if not isinstance(s, Free) for local in (*s.uses, *s.defines)}
        freed = [local for step in self.steps if isinstance(step, Free) for local in step.locals]
        idle = [local for local in freed if local not in touched]
        before: list[Step] = (
            [Free(next(s.origin for s in self.steps if isinstance(s, Free)), tuple(idle))] if idle else []
        )
        after: list[Step] = []
        for step in self.steps:
            if isinstance(step, (Constant, Cell, Read)) or (isinstance(step, Alloc) and step.result not in inside):
                before.append(step)
            elif isinstance(step, (View, Move)) and step.result not in inside:
                after.append(step)
            elif isinstance(step, Bump):
                after.append(replace(step, locals=tuple(local for local in step.locals if local not in inside)))
            elif isinstance(step, Free):
                after.append(replace(step, locals=tuple(n for n in step.locals if n in touched and n not in inside)))
        names = self.program.names
        in_block = any(life.of is None for life in lives.values())
        memory = Local(names.fresh("memory"), OpaqueType("memory")) if in_block else None
        places: dict[Local, Place] = {}
        for local, life in lives.items():
            base = life.of or memory
            assert base is not None  # there is a block where something lies in it
            places[local] = Place(base, life.place)
        for step in self.steps:
            if isinstance(step, (View, Move)):
                places[step.result] = self._shown(step, places)
        products = [step for step in self.work if isinstance(step, Product)]
        calls = [step for step in self.work if isinstance(step, NativeCall)]
        layouts = {x: self._layout(x) for step in products for x in (step.out, *step.operands)}
        layouts |= {x: self._layout(x) for step in calls for x in (*step.tensors, *step.results)}
        convolutions = [step for step in self.work if isinstance(step, Convolve)]
        layouts |= {x: self._layout(x) for step in convolutions for x in (step.out, *step.operands)}
        copied = {s.to: self._number(nbytes_of(s.to)) for s in self.work if isinstance(s, Copy)}
        used = {local for step in self.work for local in step.uses}
        places = {local: place for local, place in places.items() if local in used}
        inputs, numbers = self._given(places, memory, layouts, copied)
        handed = {places[x].of if x in places else x for step in calls for x in (*step.tensors, *step.results)}
        owners = {x: Local(names.fresh(f"{x}_itself"), OpaqueType("tensor")) for x in inputs if x in handed}
        segment = Segment(
            self.work[0].origin, names.fresh("steps"), inputs, numbers, memory, total,
            type(total) is int and total <= ON_STACK, places, layouts, copied, owners, tuple(self.work),
        )  # fmt: skip
        return [*before, segment, *_joined(after)]

    def _number(self, value: Any) -> Number:
        return number_in(value, self.symbols)

    def _root(self, local: Local) -> Local:
        while local in self.base:
            local = _of(self.base[local])
        return local

    def _lives(self) -> dict[Local, Life]:
        """Memory that nothing outside needs."""
        needed = {self._root(local) for local in self.needed}
        lives: dict[Local, Life] = {}
        for number, step in enumerate(self.work):
            for local in step.uses:
                root = self._root(local)
                if root in lives:
                    lives[root].last = number
                elif root in self.allocated and root not in needed:
                    nbytes = nbytes_of(root)
                    if nbytes is not None:
                        lives[root] = Life(nbytes, number, number)
        return lives

    def _results(self) -> dict[Local, Life]:
        """Memory that is made for what is needed outside, and when it is first used."""
        needed = {self._root(local) for local in self.needed}
        results: dict[Local, Life] = {}
        for number, step in enumerate(self.work):
            for root in map(self._root, step.uses):
                if root in self.allocated and root in needed and root not in results:
                    nbytes = nbytes_of(root)
                    if nbytes is not None:
                        results[root] = Life(nbytes, number, len(self.work))
        return results

    def _shown(self, step: View | Move, places: dict[Local, Place]) -> Place:
        """Where a view begins."""
        base = _of(step)
        place = places.get(base) or Place(base, 0)
        if isinstance(step, Move) or (type(step.shift) is int and step.shift == 0):
            return place
        item = base.tensor.dtype.itemsize
        return Place(place.of, self._number(_value(place.shift) + _value(step.shift) * item))

    def _given(
        self,
        places: dict[Local, Place],
        memory: Local | None,
        layouts: dict[Local, Layout],
        copied: dict[Local, Number],
    ) -> tuple[tuple[Local, ...], tuple[Local, ...]]:
        """The tensors and numbers that the segment is given."""
        inputs: dict[Local, None] = {}
        numbers: dict[Local, None] = {}
        for step in self.work:
            for local in step.uses:
                if isinstance(local.type, NumberType):
                    numbers[local] = None
                    continue
                place = places.get(local) or Place(local, 0)
                if place.of is not memory:
                    inputs[place.of] = None
                numbers.update(dict.fromkeys(locals_in((place.shift,))))
        numbers.update(dict.fromkeys(locals_in((*layouts.values(), *copied.values()))))
        # Results last; numbers by their names, since expressions name theirs in no order.
        named = sorted(numbers, key=lambda number: (len(number.name), number.name))
        return tuple(sorted(inputs, key=self.allocated.__contains__)), tuple(named)

    def _layout(self, local: Local) -> Layout:
        kind = local.tensor
        sizes, strides = (tuple(map(self._number, values)) for values in (kind.sizes, kind.strides))
        return Layout(sizes, strides, kind.dtype, kind.device)


def _of(step: View | Move) -> Local:
    return step.base if isinstance(step, View) else step.of


def _value(number: Number) -> Any:
    """A number of the program as one of the trace."""
    return number.number if isinstance(number, Expression) else number


def _joined(steps: list[Step]) -> list[Step]:
    """Names that are dropped, or bumped, one after the other are so at once."""
    joined: list[Step] = []
    for step in steps:
        last = joined[-1] if joined else None
        if isinstance(step, (Free, Bump)) and isinstance(last, (Free, Bump)) and type(step) is type(last):
            joined[-1] = replace(last, locals=(*last.locals, *step.locals))
        elif not isinstance(step, Bump) or step.locals:
            joined.append(step)
    return joined


# ---- the block -------------------------------------------------------------------------------------------------------


@dataclass
class _Space:
    """Memory in which others may lie until it is needed itself: that of a result, or the block (None)."""

    of: Local | None
    nbytes: Any
    until: int
    held: list[Life] = field(default_factory=list[Life])

    def place(self, life: Life) -> int | None:
        """The lowest place at which nothing lies meanwhile; None where there is none."""
        size, at = _rounded(life.nbytes), 0
        if life.last >= self.until:
            return None
        for other in sorted((o for o in self.held if _meet(o, life)), key=lambda o: int(_value(o.place))):
            if int(_value(other.place)) - at >= size:
                break
            at = max(at, int(_value(other.place)) + _rounded(other.nbytes))
        return at if self.of is None or at + life.nbytes <= self.nbytes else None

    def put(self, life: Life, place: int) -> None:
        life.of, life.place = self.of, place
        self.held.append(life)


def plan(lives: dict[Local, Life], results: dict[Local, Life], number: Callable[[Any], Number]) -> Number:
    """Give each a place in one block or in a result; the bytes of the block."""
    fixed = sorted((life for life in lives.values() if type(life.nbytes) is int), key=lambda life: -life.nbytes)
    varying = sorted((life for life in lives.values() if type(life.nbytes) is not int), key=lambda life: life.first)
    total: Any = _in_spaces(fixed, [])
    if varying or total > ON_STACK:
        spaces = [_Space(local, r.nbytes, r.first) for local, r in results.items() if type(r.nbytes) is int]
        total = _in_spaces(fixed, sorted(spaces, key=lambda space: space.nbytes))
    # Places of each size that is not fixed, and who had them: a result until it is written.
    open_: dict[str, list[tuple[Life, Life | None]]] = {}
    for local, result in results.items():
        if type(result.nbytes) is int:
            continue  # the fixed ones lie there
        open_.setdefault(str(result.nbytes), []).append((Life(result.nbytes, -1, -1, local), result))
    for life in varying:
        same = open_.setdefault(str(life.nbytes), [])
        done = next((s for s in same if s[0].last < life.first and (s[1] is None or life.last < s[1].first)), None)
        if done is None:
            life.place = number(total)
            total = total + _rounded(life.nbytes)
            same.append((life, None))
        else:
            life.of, life.place = done[0].of, done[0].place
            same[same.index(done)] = (life, done[1])
    return number(total)


def _in_spaces(lives: Sequence[Life], spaces: Sequence[_Space]) -> int:
    """Put each, the largest first, into the first space that has room, else into the block; the bytes of the block."""
    block = _Space(None, None, max((life.last for life in lives), default=0) + 1)
    total = 0
    for life in lives:
        for space in (*spaces, block):
            place = space.place(life)
            if place is not None:
                space.put(life, place)
                break
        if life.of is None:
            total = max(total, int(_value(life.place)) + _rounded(life.nbytes))
    return total


def _meet(a: Life, b: Life) -> bool:
    return a.first <= b.last and b.first <= a.last


def _rounded(nbytes: Any) -> Any:
    return (nbytes + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT

"""Segments: stretches of ops between two breaks of a function that runs in parts, found again by what they call.

The ops of a segment are a path in a tree. An edge is a call: the op, where each tensor operand comes from (an earlier
result, or from outside, with what it looks like), and the constants. What the call gives is worked out without data
once for each edge, and remembered there. At a node where a segment has ended stand its programs, one for each set of
results that is still needed; a segment is run op by op the first time and compiled the second.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from opweave.fake.mode import FakeTensorMode
from opweave.fake.tensor import FakeTensor
from opweave.registry.dataclass import dataclass
from opweave.registry.device import Device, cpu
from opweave.registry.dtypes import DType, float64
from opweave.registry.errors import Site
from opweave.registry.interrupts import let_through
from opweave.registry.keys import no_modes, state
from opweave.registry.memory_format import Layout, MemoryFormat
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import TensorSpec, span
from opweave.registry.storage import Storage
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor, make, wrap_array
from opweave.runtime.context import below_autograd
from opweave.runtime.logging import channel
from opweave.runtime.request import Program
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import trace_flat
from opweave.tracer.proxy import ProxyMode

_log = channel("breaks")

#: Programs of one function; further segments run op by op.
PROGRAM_LIMIT = 64
#: Edges from one node; a call that differs more often than that is made at once, op by op.
FAN_LIMIT = 64


class Ref:
    """A value of the segment, by number; one object for each number, so that keys compare by identity."""

    __slots__ = ("index",)

    def __init__(self, index: int) -> None:
        self.index = index


class Input(tuple[Any, ...]):
    """The first use of a tensor from outside: its number, sizes, strides, offset, dtype, device, and the number of an
    earlier input on the same storage."""

    __slots__ = ()


class Items(tuple[Any, ...]):
    """The items of a list operand."""

    __slots__ = ()


class Mark:
    """Stands in a key for a value that compares equal to others of another type, or is no part of it."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


#: A float: no part of the key, since its value often follows from data.
FLOAT = Mark(None)
TRUE, FALSE = Mark(True), Mark(False)
#: Constants that are part of a key as they are.
PLAIN = frozenset({int, str, type(None), DType, Device, MemoryFormat, Layout})
_refs: list[Ref] = []


def ref(index: int) -> Ref:
    """The object for a number."""
    while len(_refs) <= index:
        _refs.append(Ref(len(_refs)))
    return _refs[index]


@dataclass(slots=True)
class Call:
    """What an edge stands for.

    Attributes
    ----------
    key : tuple
        The op, its positional operands, the names of the others, and those.
    site : Site
        The user's line that called it first.
    specs : list of (TensorSpec, int) or None
        For each result the tensor that is made, with its bytes; None for an argument that is handed back.
    kind : type
        Of the result: Tensor, or the tuple or list that its tensors are in.
    is_view : bool
        Whether its results are views: they are made at once, since that reads no data.
    moves : bool
        Whether its result takes the place of its argument, as that of `_unsafe_view`: the schema tells of no alias.
    written : tuple of (int or str)
        Positions and names of arguments that are written.
    direct : bool
        Whether it cannot be recorded: it is made at once, after everything before it.
    is_plain : bool
        Whether all it does is to give one new tensor.
    """

    key: tuple[Any, ...]
    site: Site
    specs: list[tuple[TensorSpec, int] | None] = field(default_factory=list)
    kind: Any = Tensor
    is_view: bool = False
    moves: bool = False
    written: tuple[int | str, ...] = ()
    direct: bool = False
    is_plain: bool = False


class Point:
    """A node of the tree: the calls that led to it, and what may come next."""

    __slots__ = ("before", "call", "calls", "next", "programs")

    def __init__(self, before: Point | None = None, call: Call | None = None) -> None:
        self.before = before
        self.call = call
        self.calls = 0 if before is None else before.calls + 1
        self.next: dict[tuple[Any, ...], Point] = {}
        #: By the numbers of the results that are needed.
        self.programs: dict[tuple[int, ...], Programs] = {}

    def path(self) -> list[Call]:
        """The calls from the root."""
        found: list[Call] = []
        point: Point | None = self
        while point is not None and point.call is not None:
            found.append(point.call)
            point = point.before
        found.reverse()
        return found


# ---- what a call gives -----------------------------------------------------------------------------------------------


def learn(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any], key: tuple[Any, ...], site: Site) -> Call:
    """Work out what a call gives, without data.

    Parameters
    ----------
    func : OpOverload
        The op.
    args, kwargs : tuple, dict
        Its operands; tensors may be pending.
    key : tuple
        Of the edge.
    site : Site
        The user's line.

    Returns
    -------
    Call
        A direct one where nothing can be told, or the call reads or changes more than the data of its operands.
    """
    call = Call(key, site)
    at_once = Tag.inplace_view in func.tags or func.is_random or func.decl is None or func.decl.is_number
    found = None if at_once else _results(func, args, kwargs)
    if found is None:
        call.direct = True
        return call
    result, given = found
    parts = [result] if isinstance(result, Tensor) else list(result)
    storages = {id(t._storage) for t in given}
    views: list[bool] = []
    for part in parts:
        if any(part is t for t in given):
            call.specs.append(None)
            continue
        views.append(id(part._storage) in storages)
        storages.add(id(part._storage))
        sizes, strides = part._sizes, part._strides
        spec = TensorSpec(sizes, strides, part._dtype, part._device)
        call.specs.append((spec, span(sizes, strides) * part._dtype.itemsize))
    call.kind = Tensor if isinstance(result, Tensor) else type(result)
    call.is_view = any(views)
    call.moves = call.is_view and not func._schema.aliased_returns
    call.direct = call.is_view and (not all(views) or func.is_mutable or (call.moves and len(parts) > 1))
    arguments = func._schema.arguments
    call.is_plain = call.kind is Tensor and not (func.is_mutable or any(views) or call.specs[0] is None)
    call.written = tuple([i if i < len(args) else a.name for i, a in enumerate(arguments) if a.is_write])
    return call


def _results(func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, list[FakeTensor]] | None:
    """What a call gives of fake operands, and those; None where it cannot be told or may not be recorded."""
    mode = FakeTensorMode()
    known: dict[int, FakeTensor] = {}

    def fake(value: Any) -> Any:
        if isinstance(value, Tensor):
            found = known.get(id(value))
            if found is None:
                found = known[id(value)] = mode.fresh(plain(value))
            return found
        return type(value)(map(fake, value)) if type(value) in (list, tuple) else value

    try:
        with below_autograd(), no_modes():
            fakes = tuple(map(fake, args)), {name: fake(value) for name, value in kwargs.items()}
            layouts = [(t._sizes, t._strides, t._offset) for t in known.values()]
            result = mode.dispatch(func, *fakes)
    except Exception as error:  # the call itself says what is wrong, if anything is
        let_through(error)
        return None
    given = list(known.values())
    parts = [result] if isinstance(result, Tensor) else result
    if not isinstance(parts, (list, tuple)) or not all(isinstance(t, FakeTensor) for t in parts):
        return None
    if layouts != [(t._sizes, t._strides, t._offset) for t in given]:
        return None
    if any(type(n) is not int for t in parts for n in (*t._sizes, *t._strides, t._offset)):
        return None
    return result, given


def plain(t: Tensor) -> Tensor:
    """The same memory as a tensor of no history."""
    return make(t._storage, t._sizes, t._strides, t._offset, t._dtype, t._device)


# ---- programs --------------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Built:
    """A program for one segment.

    Attributes
    ----------
    run : callable
        ``(*inputs, *open numbers) -> outputs``.
    fixed : tuple of (int, str)
        The floats that it holds as constants, by position, as text that tells each value.
    opened : tuple of int
        Positions of those that it takes.
    program : Program or None
        What was compiled; None where it runs op by op.
    """

    run: Callable[..., Sequence[Any]]
    fixed: tuple[tuple[int, str], ...]
    opened: tuple[int, ...]
    program: Program | None = None

    def fits(self, numbers: Sequence[float]) -> bool:
        """Whether its constants are these."""
        return all(numbers[i].hex() == text for i, text in self.fixed)


class Programs:
    """The programs of one segment with one set of results.

    Parameters
    ----------
    point : Point
        Where the segment ends.
    alive : tuple of int
        Numbers of the results that are needed.
    """

    def __init__(self, point: Point, alive: tuple[int, ...]) -> None:
        self.calls = point.path()
        self.alive = alive
        self.built: list[Built] = []
        self.times = 0
        #: The floats of the first time, and which have had another value since.
        self._first: list[str] | None = None
        self._varied: set[int] = set()

    def find(self, numbers: Sequence[float]) -> Built | None:
        """A program for a call with these floats; None where there is none yet."""
        for built in self.built:
            if built.fits(numbers):
                return built
        return None

    def note(self, numbers: Sequence[float]) -> bool:
        """Note a call; whether it is worth compiling."""
        self.times += 1
        texts = [number.hex() for number in numbers]
        if self._first is None:
            self._first = texts
        self._varied.update(i for i, (one, other) in enumerate(zip(self._first, texts, strict=True)) if one != other)
        return self.times > 1

    def op_by_op(self, inputs: Sequence[Tensor], places: Sequence[int], numbers: Sequence[float]) -> list[Any]:
        """Run the segment without compiling it."""
        return run_calls(self.calls, inputs, places, numbers, self.alive)

    def compile(
        self,
        name: str,
        compile_graph: Callable[[GraphModule, str], Program],
        inputs: Sequence[Tensor],
        places: Sequence[int],
        numbers: Sequence[float],
    ) -> Built:
        """A program for calls with floats like these; those that varied are left open."""
        opened = tuple(sorted(self._varied))
        fixed = tuple([(i, n.hex()) for i, n in enumerate(numbers) if i not in self._varied])
        calls, alive, held = self.calls, self.alive, list(numbers)

        def op_by_op(*values: Any) -> list[Any]:
            now = list(held)
            for i, value in zip(opened, values[len(places) :], strict=True):
                now[i] = value.item()
            return run_calls(calls, values[: len(places)], places, now, alive)

        try:
            program = self._program(name, compile_graph, inputs, places, held, opened)
        except Exception as error:  # what cannot be compiled runs op by op, as it did the first time
            let_through(error)
            _log.debug("%s: a segment of %d ops runs op by op: %s", name, len(calls), error)
            built = Built(op_by_op, fixed, opened)
        else:
            built = Built(program.run, fixed, opened, program)
        self.built.append(built)
        return built

    def _program(
        self,
        name: str,
        compile_graph: Callable[[GraphModule, str], Program],
        inputs: Sequence[Tensor],
        places: Sequence[int],
        numbers: list[float],
        opened: tuple[int, ...],
    ) -> Program:
        if _writes_twice(self.calls, inputs):
            raise ValueError("it writes memory that more than one element lies in")

        def traced(*values: Any) -> list[Any]:
            now: list[Any] = list(numbers)
            for i, value in zip(opened, values[len(places) :], strict=True):
                now[i] = value.item()
            mode = next(mode for mode in state.modes if isinstance(mode, ProxyMode))
            try:
                return run_calls(self.calls, values[: len(places)], places, now, self.alive, mode)
            finally:
                mode._site = None

        given = [*map(plain, inputs), *(number(numbers[i]) for i in opened)]
        names = [*(f"x{i}" for i in places), *(f"number{i}" for i in opened)]
        fake_mode = FakeTensorMode()
        with no_modes(), below_autograd():
            graph, constants = trace_flat(traced, given, fake_mode, names=names, compiling=True)
            module = GraphModule(constants, graph, name=name)
            module.shape_env = fake_mode.shape_env
            return compile_graph(module, name)


def number(value: float) -> Tensor:
    """A float as a tensor that a program reads it from."""
    return wrap_array(np.array(value, np.float64), (), (), float64, cpu)


def run_calls(
    calls: Sequence[Call],
    inputs: Sequence[Any],
    places: Sequence[int],
    numbers: Sequence[Any],
    alive: Iterable[int],
    traced: ProxyMode | None = None,
) -> list[Any]:
    """Run a segment's calls.

    Parameters
    ----------
    calls : sequence of Call
        In order.
    inputs, places : sequence
        Tensors from outside, and their numbers.
    numbers : sequence of float
        The floats among the operands.
    alive : iterable of int
        Numbers of the results to give.
    traced : ProxyMode, optional
        Is told the user's line of each call.
    """
    values: dict[int, Any] = dict(zip(places, inputs, strict=True))
    floats = iter(numbers)
    count = 0

    def operand(value: Any) -> Any:
        nonlocal count
        kind = type(value)
        if kind is Ref:
            return values[value.index]
        if kind is Input:
            count = max(count, value[0].index + 1)
            return values[value[0].index]
        if kind is Items:
            return [operand(item) for item in value]
        if kind is Mark:
            return next(floats) if value is FLOAT else value.value
        return value

    for call in calls:
        func, positional, names, named = call.key
        args = tuple([operand(value) for value in positional])
        kwargs = {name: operand(value) for name, value in zip(names, named, strict=True)}
        if traced is not None:
            traced._site = call.site
        result = func(*args, **kwargs)
        for spec, part in zip(call.specs, [result] if call.kind is Tensor else result, strict=True):
            if spec is not None:
                values[count] = part
                count += 1
    return [values[i] for i in alive]


def _writes_twice(calls: Sequence[Call], inputs: Sequence[Tensor]) -> bool:
    """Whether anything is written while two inputs, or two elements of one, may lie in one memory."""
    if not any(call.written for call in calls):
        return False
    if len({id(t._storage) for t in inputs}) < len(inputs):
        return True
    return any(step == 0 and size > 1 for t in inputs for size, step in zip(t._sizes, t._strides, strict=True))


class PendingStorage(Storage):
    """Memory whose contents are still to be computed; whoever reads it has them computed first.

    Its `owner` is what computes them. It becomes a plain storage then.
    """

    __slots__ = ()

    @property
    def ptr(self) -> int:
        self.owner.settle()
        return self.ptr

    def array(self, sizes: tuple[int, ...], strides: tuple[int, ...], offset: int, dtype: DType) -> Any:
        self.owner.settle()
        return self.array(sizes, strides, offset, dtype)

    def bytes(self) -> Any:
        self.owner.settle()
        return self.bytes()

    def fill(self, source: Storage) -> None:
        """Take over another storage's memory."""
        self.owner, self._ptr, self._bytes, self.nbytes = source.owner, source._ptr, source._bytes, source.nbytes
        self.__class__ = Storage  # type: ignore[assignment]  # pyright: ignore[reportAttributeAccessIssue]


def tensors_of_call(args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """All tensors among operands."""
    return [*tensors_in(args), *tensors_in(kwargs)]

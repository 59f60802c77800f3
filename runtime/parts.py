"""A function that runs in parts: its Python runs at each call, and the ops between two breaks are one compiled segment.

Where a trace stops at something that depends on data, the function is run as it stands, inside a mode that sees each op
that it calls. An op of which it is known what it gives is not made: its results are tensors of the right sizes, dtype
and history whose memory is still to be computed. Where Python, or an op that cannot wait, asks for values, everything
that waits is computed by one program (`runtime.segments`). So `print`, branches, `.item()` and changes of Python state
mean what they always mean; autograd, autocast and `vmap` work above the mode, on each op.

What is asked for behind the back of the ops is asked at these places: `DispatchMode.data_accessed` (a value, an array),
`DispatchMode.memory_needed` (text, an address), and the memory itself (`PendingStorage`).
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.fake.mode import note_mutation
from opweave.registry import dtypes, forking
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import Site, user_frame
from opweave.registry.interrupts import let_through
from opweave.registry.keys import BATCHED_BIT, PYTHON_BIT, TENSOR_BITS, DispatchMode, no_modes, state
from opweave.registry.memory import Lease
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, allocate, make
from opweave.runtime.context import call_below_autograd
from opweave.runtime.logging import channel
from opweave.runtime.request import Program
from opweave.runtime.segments import (
    FALSE,
    FAN_LIMIT,
    FLOAT,
    PLAIN,
    PROGRAM_LIMIT,
    TRUE,
    Built,
    Call,
    Input,
    Items,
    PendingStorage,
    Point,
    Programs,
    Ref,
    learn,
    number,
    plain,
    ref,
    tensors_of_call,
)
from opweave.tracer.graph_module import GraphModule

_log = channel("breaks")
_ODD = PYTHON_BIT | BATCHED_BIT
#: What is asked for when a function has returned.
END = "the end"
#: Where ops write fewer bytes than this on average, letting them wait takes longer than fusing them saves.
SMALL = 1 << 17
_REMEMBERED = 256


@dataclass
class Break:
    """A place where a function's ops had to be computed before its Python could go on.

    Attributes
    ----------
    site : Site
        The user's line.
    what : str
        What was asked for: a name of a tensor's method, or of an op.
    times : int
        How often.
    tensors, nbytes : int
        What was written to memory there, all times together.
    seconds : float
        Time from there to the values, without what the segment's own programs took.
    """

    site: Site
    what: str
    times: int = 0
    tensors: int = 0
    nbytes: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        each = max(self.times, 1)
        return (
            f"{self.site.short}: {self.what} ({self.times}x; each {self.tensors / each:.3g} tensors, "
            f"{self.nbytes / each:.4g} bytes to memory, {self.seconds / each * 1e6:.0f} us beside the kernels)"
        )


class Parts:
    """A function's segments, and its calls.

    Parameters
    ----------
    name : str
        The function's.
    function : callable
        The user's.
    compile_graph : callable
        ``(GraphModule, name) -> Program``.
    reason : str
        Why it is no single graph.

    Attributes
    ----------
    breaks : dict
        By line and what was asked for.
    compiled : int
        Programs that were compiled.
    small : dict
        By the sizes of a call's arguments, whether such calls run as plain Python, since their tensors are small.
    """

    def __init__(
        self,
        name: str,
        function: Callable[..., Any],
        compile_graph: Callable[[GraphModule, str], Program],
        reason: str,
    ) -> None:
        self.name = name
        self.reason = reason
        self.breaks: dict[tuple[Site, str], Break] = {}
        self.compiled = 0
        self.calls = 0
        self.small: dict[tuple[Any, ...], bool] = {}
        self.roots: dict[Any, Point] = {}
        self.programs = 0
        self.lock = forking.lock()
        self._compile_graph = compile_graph
        self._sees_arrays = _sees_arrays(function)

    def call(self, function: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Call the function."""
        sizes = tuple([value._sizes for value in (*args, *kwargs.values()) if isinstance(value, Tensor)])
        if self.small.get(sizes):
            self.calls += 1
            return function(*args, **kwargs)
        shared = self._sees_arrays or any(isinstance(v, (np.ndarray, bytearray)) for v in (*args, *kwargs.values()))
        mode = PartsMode(self, shared)
        self.calls += 1
        with mode:
            try:
                result = function(*args, **kwargs)
            finally:
                mode.settle(END)
        if sizes not in self.small and len(self.small) < _REMEMBERED:
            self.small[sizes] = mode.nbytes < SMALL * mode.count
        return result

    @property
    def segments(self) -> int:
        """The segments that were met."""
        waiting, count = [*self.roots.values()], 0
        while waiting:
            point = waiting.pop()
            waiting += point.next.values()
            count += bool(point.programs)
        return count

    def root(self) -> Point:
        """Where segments begin."""
        key = dtypes.get_default_dtype()
        found = self.roots.get(key)
        if found is None:
            found = self.roots.setdefault(key, Point())
        return found

    def built(self, programs: Programs, inputs: list[Tensor], places: list[int], numbers: list[float]) -> Built | None:
        """A program for a segment; None where it runs op by op this time."""
        found = programs.find(numbers)
        if found is not None:
            return found
        with self.lock:
            found = programs.find(numbers)
            if found is not None:
                return found
            if not programs.note(numbers) or self.programs >= PROGRAM_LIMIT:
                return None
            self.programs += 1
            made = programs.compile(f"{self.name}_{self.programs}", self._compile_graph, inputs, places, numbers)
            self.compiled += made.program is not None
            return made

    def note(self, site: Site, what: str, tensors: int, nbytes: int, seconds: float) -> None:
        """Count a break."""
        found = self.breaks.get((site, what))
        if found is None:
            found = self.breaks.setdefault((site, what), Break(site, what))
            _log.debug("%s breaks at %s: %s", self.name, site, what)
        found.times += 1
        found.tensors += tensors
        found.nbytes += nbytes
        found.seconds += seconds


class PartsMode(DispatchMode):
    """Lets the ops of one call of a function wait until somebody asks for values.

    Parameters
    ----------
    parts : Parts
        The function's segments.
    shared : bool
        Whether the function's Python can reach arrays that tensors may lie in: ops on such memory do not wait.
    """

    def __init__(self, parts: Parts, shared: bool) -> None:
        self.parts = parts
        self._shared = shared
        self._thread = threading.get_ident()
        #: Storages that an array or another library looks into, by id.
        self._exposed: dict[int, Storage] = {}
        #: How many results waited, and their bytes.
        self.count = self.nbytes = 0
        self._begin()

    def _begin(self) -> None:
        self._at = self._root = self.parts.root()
        #: Numbers of tensors by id, with a reference that tells whether it is that tensor.
        self._known: dict[int, tuple[Any, Ref]] = {}
        self._count = 0
        self._inputs: list[Tensor] = []
        self._metas: list[Input] = []
        self._numbers: list[float] = []
        #: What is made: its storage, its number, its first tensor's layout.
        self._made: list[tuple[Any, int, Call, int]] = []
        #: Where there a storage is, by its id.
        self._made_at: dict[int, int] = {}
        #: Memory from outside that is written, by id, and its first use by an input.
        self._written: dict[int, Storage] = {}
        self._places: dict[int, int] = {}

    # ---- ops -----------------------------------------------------------------------------------------------------

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Make a call of a higher-order op, a launch say, at once; `record` takes all others."""
        return self._directly(func, args, kwargs or {})

    def record(self, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Let an op wait: give results of which it is known what they look like.

        Parameters
        ----------
        op : OpOverload
            What is called.
        args, kwargs : tuple, dict
            With what.
        """
        before = self._count, len(self._inputs), len(self._numbers)
        known, operand = self._known, self._operand
        positional: list[Any] = []
        try:
            for value in args:
                # What most operands are: a tensor that is known, or a plain constant.
                found = known.get(id(value))
                if found is not None and found[0]() is value:
                    positional.append(found[1])
                elif value.__class__ is int or value is None:
                    positional.append(value)
                else:
                    positional.append(operand(value))
            named = tuple([operand(value) for value in kwargs.values()]) if kwargs else ()
        except _UnknownError:
            key = point = None
        else:
            key = op, tuple(positional), tuple(kwargs), named
            point = self._at.next.get(key)
            if point is not None and point.call.is_plain and not self._exposed:  # type: ignore[union-attr]
                self._at = point
                return self._pending(point.call, 0)  # type: ignore[arg-type]
        modes, include = state.modes, state.include
        state.modes = outer = modes[:-1]
        if not outer:
            state.include = include & ~PYTHON_BIT
        try:
            return self._recorded(op, args, kwargs, key, point, before)
        finally:
            state.modes, state.include = modes, include

    def _recorded(
        self,
        op: OpOverload,
        args: tuple[Any, ...],
        kwargs: dict[str, Any],
        key: tuple[Any, ...] | None,
        point: Point | None,
        before: tuple[int, int, int],
    ) -> Any:
        """Handle a call that is more than a new result, with the mode inactive."""
        if op.body is not None:  # a triton_op: what its body calls is seen
            self._forget(before)
            with self:
                return op.body(*args, **kwargs)
        if key is not None and point is None and len(self._at.next) < FAN_LIMIT:
            point = self._at.next.setdefault(key, Point(self._at, learn(op, args, kwargs, key, user_frame())))
        call = None if point is None else point.call
        if (
            point is None
            or call is None
            or call.direct
            or (self._exposed and self._reads_exposed(call, args, kwargs))
            or (call.moves and not self._moved(call, args[0]))
        ):
            self._forget(before)
            return self._directly(op, args, kwargs)
        self._at = point
        if call.is_view:
            return self._viewed(call, op(*args, **kwargs))
        if call.written:
            self._write(op, call, args, kwargs)
        if call.kind is Tensor:
            return _handed_back(op, args, kwargs) if call.specs[0] is None else self._pending(call, 0)
        if None in call.specs:
            return self._mixed(call, args, kwargs)
        return call.kind([self._pending(call, i) for i in range(len(call.specs))])

    def _operand(self, value: Any) -> Any:
        """What stands for an operand in the key of its call."""
        kind = type(value)
        if kind is Tensor or isinstance(value, Tensor):
            known = self._known.get(id(value))
            if known is not None and known[0]() is value:
                return known[1]
            return self._enter(value)
        if kind is float:
            self._numbers.append(value)
            return FLOAT
        if kind is bool:
            return TRUE if value else FALSE
        if kind in PLAIN:
            return value
        if kind is list or kind is tuple:
            return Items([self._operand(item) for item in value])
        raise _UnknownError

    def _enter(self, t: Tensor) -> Input | Ref:
        """Take a tensor from outside; one that autograd kept, and gives back as another object, is what it was."""
        if t._keys & _ODD:
            raise _UnknownError
        storage = t._storage
        if isinstance(storage, PendingStorage) and storage.owner is self:
            return self._again(t)
        place = self._places.setdefault(id(storage), self._count)
        if self._shared and type(storage.owner) is not Lease and not isinstance(storage, PendingStorage):
            self._exposed[id(storage)] = storage
        number = ref(self._count)
        made = Input((number, t._sizes, t._strides, t._offset, t._dtype, t._device, place))
        self._known[id(t)] = weakref.ref(t), number
        self._inputs.append(t)
        self._metas.append(made)
        self._count += 1
        return made

    def _again(self, t: Tensor) -> Ref:
        """What stands for memory that waits, seen through a tensor that is not known."""
        at = self._made_at.get(id(t._storage))
        if at is not None:
            reference, number, call, position = self._made[at]
            made = call.specs[position]
            if reference() is t._storage and made is not None:
                if made[0] == (t._sizes, t._strides, t._dtype, t._device) and not t._offset:
                    self._known[id(t)] = found = weakref.ref(t), ref(number)
                    return found[1]
        raise _UnknownError  # another layout: computed first

    def _forget(self, before: tuple[int, int, int]) -> None:
        """Take back what a call that is not recorded has entered."""
        count, inputs, numbers = before
        for t, meta in zip(self._inputs[inputs:], self._metas[inputs:], strict=True):
            self._known.pop(id(t), None)
            if meta[6] == meta[0].index:
                self._places.pop(id(t._storage), None)
        del self._inputs[inputs:], self._metas[inputs:], self._numbers[numbers:]
        self._count = count

    def _pending(self, call: Call, position: int) -> Tensor:
        """A result whose memory is still to be computed."""
        made = call.specs[position]
        assert made is not None
        (sizes, strides, dtype, device), nbytes = made
        storage = PendingStorage.__new__(PendingStorage)
        storage.device = device
        storage.nbytes = nbytes
        storage.version = 0
        storage.owner = self
        storage.saved = False
        storage._ptr = storage._bytes = storage.views = None
        t = Tensor.__new__(Tensor)
        t._storage = storage
        t._sizes = sizes
        t._strides = strides
        t._offset = 0
        t._dtype = dtype
        t._device = device
        t._keys = TENSOR_BITS[device.type]
        t._cached = t._view_of = t._autograd = None
        count = self._count
        self._made_at[id(storage)] = len(self._made)
        self._made.append((weakref.ref(storage), count, call, position))
        self._known[id(t)] = weakref.ref(t), ref(count)
        self._count = count + 1
        return t

    def _moved(self, call: Call, given: Tensor) -> bool:
        """Let what is made of a pending tensor stand for its memory; whether it is one of this segment."""
        storage = given._storage
        for i in range(len(self._made) - 1, -1, -1):
            reference = self._made[i][0]
            if reference() is storage:
                self._made[i] = reference, self._count, call, 0
                return True
        return False

    def _viewed(self, call: Call, result: Any) -> Any:
        for spec, t in zip(call.specs, [result] if call.kind is Tensor else result, strict=True):
            if spec is not None:
                self._known[id(t)] = weakref.ref(t), ref(self._count)
                self._count += 1
        return result

    def _mixed(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Results of which some are arguments: those that are written, in order."""
        back = iter([args[i] if isinstance(i, int) else kwargs[i] for i in call.written])
        return call.kind([next(back) if s is None else self._pending(call, i) for i, s in enumerate(call.specs)])

    def _write(self, func: OpOverload, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        for at in call.written:
            for t in tensors_in([args[at] if isinstance(at, int) else kwargs.get(at)]):
                storage = t._storage
                if not isinstance(storage, PendingStorage):
                    self._written[id(storage)] = storage
        note_mutation(func, args, kwargs)

    def _reads_exposed(self, call: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        return not call.is_view and any(id(t._storage) in self._exposed for t in tensors_of_call(args, kwargs))

    def _directly(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make a call at once, after what it depends on."""
        if self._at is not self._root and self._has_to_wait(func, args, kwargs):
            self.settle(func.name if isinstance(func, OpOverload) else str(func))
        return func(*args, **kwargs)

    def _has_to_wait(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
        if type(func) is not OpOverload or func.is_mutable or func.decl is None:
            return True
        return any(
            isinstance(t._storage, PendingStorage) or id(t._storage) in self._written
            for t in tensors_of_call(args, kwargs)
        )

    # ---- values ------------------------------------------------------------------------------------------------------

    def data_accessed(self, tensor: Any, what: str) -> None:
        """Compute what waits; an array that is handed out may be read and written from now on."""
        self.settle(what)
        if what not in ("item", "tolist"):
            self._exposed[id(tensor._storage)] = tensor._storage

    def memory_needed(self, what: str) -> None:
        """Compute what waits."""
        self.settle(what)

    def settle(self, what: str = "memory") -> None:
        """Compute everything that waits."""
        if self._at is self._root:
            return
        if threading.get_ident() != self._thread:
            with self.parts.lock:
                self._settle(what)
        else:
            self._settle(what)

    def _settle(self, what: str) -> None:
        start = time.perf_counter()
        site = user_frame() if what is not END else None
        point, numbers, made, written = self._at, self._numbers, self._made, self._written
        inputs, metas = self._inputs, self._metas
        self.count += len(made)
        self.nbytes += sum([spec[1] for _, _, call, at in made if (spec := call.specs[at]) is not None])
        self._begin()
        left = [(storage, number, call, at) for r, number, call, at in made if (storage := r()) is not None]
        if not left and not written:
            return
        alive = tuple([number for _, number, _, _ in left])
        programs = point.programs.get(alive)
        if programs is None:
            programs = point.programs.setdefault(alive, Programs(point, alive))
        places = [meta[0].index for meta in metas]
        given = [_as_entered(t, meta) for t, meta in zip(inputs, metas, strict=True)]
        found_in = time.perf_counter() - start
        built = self.parts.built(programs, given, places, numbers)
        versions = [(storage, storage.version) for storage in written.values()]
        try:
            with no_modes():
                if built is None:
                    found = call_below_autograd(programs.op_by_op, [*map(plain, given)], places, numbers)
                else:
                    opened = [number(numbers[i]) for i in built.opened]
                    found = call_below_autograd(built.run, *given, *opened)
        except BaseException:
            for storage, *_ in left:
                storage.owner = None
                storage.__class__ = Storage
            raise
        ran = time.perf_counter()
        for storage, version in versions:
            storage.version = version
        taken = {id(t._storage.owner) for t in given}
        for (storage, _, call, at), t in zip(left, found, strict=True):
            _fill(storage, t, call.specs[at], taken)
        if site is not None:
            took = found_in + time.perf_counter() - ran
            self.parts.note(site, what, len(left), sum(storage.nbytes for storage, *_ in left), took)


class _UnknownError(Exception):
    """An operand that no key tells."""


def _as_entered(t: Tensor, meta: Input) -> Tensor:
    """A tensor in the layout that it had when it was first used."""
    _, sizes, strides, offset, dtype, device, _ = meta
    if t._sizes is sizes and t._strides is strides and t._offset == offset and t._dtype is dtype:
        return t
    return make(t._storage, sizes, strides, offset, dtype, device)


def _fill(storage: PendingStorage, t: Tensor, made: Any, taken: set[int]) -> None:
    """Give a storage its contents, in the layout that was told."""
    (sizes, strides, dtype, device), _ = made
    owner = t._storage.owner
    if t._offset or t._strides != strides or id(owner) in taken or owner is None:
        copy = allocate(sizes, strides, dtype, device)
        copy._array[...] = t._array
        t, owner = copy, copy._storage.owner
    taken.add(id(owner))
    storage.fill(t._storage)


def _handed_back(func: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """What an op returns that returns what it writes."""
    for i, argument in enumerate(func._schema.arguments):
        if argument.is_write:
            return args[i] if i < len(args) else kwargs[argument.name]
    return args[0]


def _sees_arrays(function: Any) -> bool:
    """Whether a function's variables lead straight to arrays that tensors may lie in."""
    function = getattr(function, "__func__", function)
    code = getattr(function, "__code__", None)
    if code is None:
        return False
    values = [function.__globals__.get(name) for name in code.co_names]
    for cell in function.__closure__ or ():
        try:
            values.append(cell.cell_contents)
        except ValueError as error:  # not assigned yet
            let_through(error)
    return any(isinstance(value, (np.ndarray, bytearray, memoryview)) for value in values)

"""The sanitizer: kernels that look at every access before they make it, and Python exceptions for what they find.

    with opweave.sanitize():
        kernel[grid](x, out, n, BLOCK=128)

Under it the CPU is another device to Triton, so that kernels compiled with and without checks live side by side, and
what is not sanitized pays nothing. The lowering then works element by element and asks `opweave_check` about each
access, with the argument that the address was made from. It is told

* where each argument's memory lies, the whole of what a tensor is a view of;
* which bytes of it were written: memory from `empty` is filled with `POISON`, and a byte that no kernel has written
  and that still holds it has been written by nobody;
* which program of this launch wrote each byte last, and which two read it last. Programs run one after the other, so it
  is found whenever one writes what another one writes or reads, whatever the order; but not between programs that met
  at an atomic before, as with a lock, or by way of others that did.

The lowering itself follows lanes that a mask left out and that nothing was given for (`undefined`), and says where they
come into a result. The first thing found ends the launch.
"""

from __future__ import annotations

import ctypes
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple, cast

import numpy as np

from opweave.codegen.native import pool
from opweave.codegen.native.sanitizing import EVERYWHERE, Settings, enabled, here, settings
from opweave.codegen.triton_cpu.access_check import FOUND, MET, POISON, RANGE, STATE, Ordered, native
from opweave.codegen.triton_cpu.analysis import ONE_OF_THEM, UNKNOWN
from opweave.registry import forking
from opweave.registry.errors import SanitizerError, user_frame
from opweave.registry.interrupts import contextmanager, let_through
from opweave.registry.kernels import watch
from opweave.registry.keys import COMPILED, WATCHED, state
from opweave.registry.op import OpOverload
from opweave.registry.ops.creation import when_uninitialised
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import span
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, describe, when_read


class Site(NamedTuple):
    """An access in a kernel, as the lowering describes it.

    Attributes
    ----------
    place : str
        `file:line`.
    argument : int
        Position of the parameter that it goes through, `ONE_OF_THEM` or `UNKNOWN`.
    size : int
        Bytes of an element.
    dims : tuple of int
        Shape of the block; () for a single element.
    kind : str
        One of `KINDS`.
    source : str
        For lanes that nothing is known of: where they were loaded.
    """

    place: str
    argument: int
    size: int
    dims: tuple[int, ...]
    kind: str = "read"
    source: str = ""


def sites_of(rows: Sequence[Sequence[Any]]) -> list[Site]:
    """The accesses of a compiled kernel (`analysis.Lowered.sites`)."""
    return [Site(place, argument, size, tuple(dims), *rest) for place, argument, size, dims, *rest in rows]


# ---- switching it on -----------------------------------------------------------------------------------------------

STEPS = 10**9
"""Steps that a launch of a stranger's kernel may take: programs, turns of loops and accesses."""
_EDGES = 1 << 21


@contextmanager
def sanitize(enabled: bool = True, *, benign: bool = False) -> Iterator[None]:
    """Check what Triton kernels do to memory, for launches on the CPU within this context.

    It raises `SanitizerError` where a kernel reads or writes outside its arguments' memory or at a misaligned address;
    where one program reads or writes what another one writes, without an atomic between them; where memory from `empty`
    is read that nobody wrote, by a kernel, an op or Python; and where a result depends on lanes that a mask left out of
    a load without `other`. Kernels run much slower, and compiled functions run op by op. `OPWEAVE_SANITIZE=1` switches
    it on for the whole process.

    Parameters
    ----------
    enabled : bool
        False switches it off in a part of a sanitized program.
    benign : bool
        Whether to report two programs that write the same value to one element, too.

    Examples
    --------
    >>> with opweave.sanitize():
    ...     kernel[grid](x, y, n, BLOCK=64)  # doctest: +SKIP
    """
    with _within(Settings(benign=benign) if enabled else False):
        yield


@contextmanager
def strictly(steps: int = STEPS) -> Iterator[None]:
    """Run kernels of strangers within this context: they reach their tensors' elements and nothing else.

    Parameters
    ----------
    steps : int
        Most steps of a launch; a kernel that takes more is stopped.
    """
    with _within(Settings(strict=True, steps=steps)):
        yield


@contextmanager
def _within(what: Settings | Literal[False]) -> Iterator[None]:
    token, compiled, watched = here.set(what), state.exclude & COMPILED, state.include & WATCHED
    _watch()
    state.exclude = state.exclude & ~COMPILED | (COMPILED if what else 0)
    state.include = state.include & ~WATCHED | (WATCHED if what else 0)
    try:
        yield
    finally:
        here.reset(token)
        state.exclude = state.exclude & ~COMPILED | compiled
        state.include = state.include & ~WATCHED | watched


def _watch() -> None:
    when_uninitialised.supply(_poison)
    when_read.supply(_read_by_python)
    watch.supply(_call_watched)


# ---- memory that nobody wrote --------------------------------------------------------------------------------------


class _Empty:
    """What is known of memory from `empty`."""

    def __init__(self, nbytes: int) -> None:
        #: Which bytes kernels and ops have written.
        self.written = np.zeros(nbytes, np.uint8)
        #: The kernel that was last given it to write, and where that stores to it.
        self.kernel, self.place = "", ""


_empty: weakref.WeakKeyDictionary[Storage, _Empty] = weakref.WeakKeyDictionary()


def _poison(storage: Storage) -> None:
    if enabled() and storage.device.type == "cpu" and storage.nbytes:
        ctypes.memset(storage.ptr, POISON, storage.nbytes)
        _empty[storage] = _Empty(storage.nbytes)


def _bytes_of(tensor: Tensor, memory: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The bytes of a tensor's elements, in a last dimension, out of an array with a byte for each of its memory."""
    item = tensor._dtype.itemsize
    strides = [stride * item for stride in tensor._strides]
    return np.ndarray((*tensor._sizes, item), np.uint8, memory, tensor._offset * item, (*strides, 1))


def _first_unwritten(tensor: Tensor, known: _Empty) -> tuple[int, ...] | None:
    """The position of an element that is as `empty` left it."""
    if 0 in tensor._sizes:
        return None
    memory = (ctypes.c_uint8 * tensor._storage.nbytes).from_address(tensor._storage.ptr)
    fresh = (_bytes_of(tensor, np.ctypeslib.as_array(memory)) == POISON).all(-1)
    if not fresh.any():
        return None
    fresh &= (_bytes_of(tensor, known.written) == 0).all(-1)
    return tuple(int(i) for i in np.unravel_index(int(fresh.argmax()), fresh.shape)) if fresh.any() else None


def _require_written(what: str, tensor: Any, *, by_kernel: bool = False) -> None:
    """Raise if a tensor has elements that nobody wrote; `by_kernel`: only where a kernel was given it to write."""
    known = _empty.get(tensor._storage) if type(tensor) is Tensor else None
    if known is None or not enabled() or (by_kernel and not known.kernel):
        return
    at = _first_unwritten(tensor, known)
    if at is None:
        return
    got = f"element {list(at)} of {describe(tensor)}"
    hint = "it comes from `empty`: fill it"
    if known.kernel:
        got += f"; {known.kernel}{f' ({known.place})' if known.place else ''} was to write it"
        hint = "is the grid large enough, and does a mask leave out what it should not?"
    error = SanitizerError(f"{what} memory that nobody has written", got=got, at=user_frame(1), hint=hint)
    error.kernel, error.program, error.index, error.category = known.kernel, (), at, "unwritten"
    raise error


def require_written(what: str, results: Any) -> None:
    """Check that what is returned holds no memory that a kernel was given to write and nobody wrote.

    Raises
    ------
    SanitizerError
    """
    for tensor in tensors_in([results]):
        _require_written(f"{what}: returns", tensor, by_kernel=True)


def _read_by_python(tensor: Tensor, what: str) -> None:
    # An array may be asked for to be filled.
    _require_written(f"{what}: reads", tensor, by_kernel=what == "numpy")


def _call_watched(op: OpOverload, kernel: Callable[..., Any]) -> Callable[..., Any]:
    """An op's kernel that looks at what it is given and notes what it writes."""
    mine = op.decl is None and op.body is None  # somebody's: what happens inside is not seen
    returns = op.decl is None
    copies = op.opname in _COPIES
    looks = not (op.is_view or op.opname.endswith("_like") or op.opname.startswith(("new_", "empty")))
    looks = looks and (mine or (op.body is None and not op.has_composite_implicit))
    written = set(op.mutated_args)
    names = [argument.name for argument in op._schema.arguments]

    def call(*args: Any, **kwargs: Any) -> Any:
        if not _empty:
            return kernel(*args, **kwargs)
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        if looks and not copies:
            for name, value in given.items():
                if name not in written:
                    for tensor in tensors_in([value]):
                        _require_written(f"{op}: reads", tensor)
        result = kernel(*args, **kwargs)
        if looks:
            for name in written:
                for tensor in tensors_in([given.get(name)]):
                    _note_written(tensor, given.get("src", given.get("self")) if copies else None)
        if copies and type(result) is Tensor and not written:
            _note_copied(result, given.get("self"))
        if returns and enabled():
            require_written(str(op), result)
        return result

    return call


_COPIES = frozenset({"clone", "copy_", "_to_copy", "contiguous"})
"""Ops that hand on memory as it is: what nobody wrote stays so."""


def _note_written(tensor: Any, source: Any) -> None:
    known = _empty.get(tensor._storage) if type(tensor) is Tensor else None
    if known is None or (type(source) is Tensor and source._storage in _empty):
        return
    _bytes_of(tensor, known.written)[...] = 1


def _note_copied(tensor: Tensor, source: Any) -> None:
    known = _empty.get(source._storage) if type(source) is Tensor else None
    if known is None or tensor._storage is source._storage or tensor._dtype is not source._dtype:
        return
    if _first_unwritten(source, known) is not None and tensor._storage not in _empty:
        made = _empty[tensor._storage] = _Empty(tensor._storage.nbytes)
        made.kernel, made.place = known.kernel, known.place
        _bytes_of(tensor, made.written)[...] = _bytes_of(source, known.written)


# ---- a launch ------------------------------------------------------------------------------------------------------

_lock = forking.lock()


class _Memory(NamedTuple):
    """The memory behind an argument.

    Attributes
    ----------
    start, nbytes : int
        All of it.
    first, end : int
        What may be touched.
    writable : bool
    empty : _Empty or None
        What is known of it, where it comes from `empty`.
    """

    start: int
    nbytes: int
    first: int
    end: int
    writable: bool
    empty: _Empty | None


@contextmanager
def watching(
    name: str, grid: tuple[int, int, int], sites: Sequence[Site], names: Sequence[str], values: Sequence[Any],
    writes: frozenset[str] | None = None,
) -> Iterator[None]:  # fmt: skip
    """Run one launch of a sanitized kernel within this context; it raises what was found.

    Parameters
    ----------
    name : str
        The kernel's.
    grid : tuple of int
    sites : sequence of Site
        Its accesses.
    names : sequence of str
        Its parameters.
    values : sequence
        The arguments: what has an address, addresses, and numbers.
    writes : frozenset of str, optional
        Parameters that it may write, where that is said.

    Raises
    ------
    SanitizerError
    """
    chosen = settings()
    with _lock:
        memories = [_memory_of(value, chosen.strict) for value in values]
        table, shadows = _table(memories, [writes is None or n in writes for n in names])
        met, edges = np.zeros(MET, np.int32), np.zeros((_EDGES, 2), np.int32)
        maps = np.zeros((1, 3), int)
        if not chosen.strict and any(
            s.argument == UNKNOWN or (s.argument >= 0 and memories[s.argument] is None) for s in sites
        ):
            maps = _mapped()
        row = (ctypes.c_int64 * len(STATE))()
        ordered = Ordered(_order(edges, lambda: row[STATE.index("edge_count")]))
        fields = {
            "ranges": table.ctypes.data, "count": len(memories), "maps": maps.ctypes.data, "map_count": len(maps),
            "met": met.ctypes.data, "edges": edges.ctypes.data, "edge_limit": _EDGES,
            "ordered": ctypes.cast(ordered, ctypes.c_void_p).value or 0, "benign": chosen.benign,
            "steps": chosen.steps,
        }  # fmt: skip
        for field, value in fields.items():
            row[STATE.index(field)] = value
        threads = pool.get_num_threads()
        native().set_state(ctypes.addressof(row))
        pool.set_num_threads(1)
        try:
            yield
        finally:
            native().set_state(0)
            pool.set_num_threads(threads)
        found = {field: int(value) for field, value in zip(STATE, row, strict=True)}
        del shadows
    for site in sites:
        memory = memories[site.argument] if site.argument >= 0 else None
        if memory is not None and memory.empty is not None and site.kind != "read":
            memory.empty.kernel, memory.empty.place = name, site.place
    if found["found"]:
        raise _error(name, grid, sites[found["site"]], names, memories, found, chosen)


def _table(memories: Sequence[_Memory | None], writable: Sequence[bool]) -> tuple[np.ndarray[Any, Any], list[Any]]:
    """What is known of each argument's memory, as native code reads it, and what that refers to."""
    table = np.zeros((max(len(memories), 1), len(RANGE)), np.int64)
    # Tensors of one memory share what is known of it.
    length: dict[int, int] = {}
    for memory in memories:
        if memory is not None:
            length[memory.start] = max(length.get(memory.start, 0), memory.nbytes)
    writers = {start: np.zeros(nbytes, np.int32) for start, nbytes in length.items()}
    readers = {start: np.zeros((nbytes, 2), np.int32) for start, nbytes in length.items()}
    for row, memory, may in zip(table, memories, writable, strict=False):
        if memory is None:
            continue
        if memory.end <= memory.first:
            row[:] = 1, 1, 0, 0, 0, 1  # no bytes: every access is outside
            continue
        skip = memory.first - memory.start
        written = 0 if memory.empty is None else memory.empty.written.ctypes.data + skip
        row[:] = (
            memory.first, memory.end, written, writers[memory.start].ctypes.data + 4 * skip,
            readers[memory.start].ctypes.data + 8 * skip, memory.writable and may,
        )  # fmt: skip
    return table, [writers, readers]


def _order(edges: np.ndarray[Any, Any], count: Callable[[], int]) -> Callable[[int, int], int]:
    """Whether what a program did is done before another one goes on: it met it, or one that had met it."""
    met: dict[int, list[int]] = {}
    seen = 0

    def ordered(program: int, other: int) -> int:
        nonlocal seen
        there = count()
        if there > len(edges):
            return 1  # nobody knows
        for one, two in edges[seen:there].tolist():
            met.setdefault(one, []).append(two)
        seen = there
        waiting, reached = [program], {program}
        while waiting:
            for nearer in met.get(waiting.pop(), ()):
                if nearer == other:
                    return 1
                if nearer not in reached:
                    reached.add(nearer)
                    waiting.append(nearer)
        return 0

    return ordered


def _memory_of(value: Any, strict: bool = False) -> _Memory | None:
    """The memory behind an argument; None for numbers and bare addresses."""
    storage = getattr(value, "_storage", None)
    if isinstance(storage, Storage):
        start = storage.ptr if storage.nbytes else 0
        first, end = start, start + storage.nbytes
        if strict and isinstance(value, Tensor):
            first = start + value._offset * value._dtype.itemsize
            end = first + span(value._sizes, value._strides) * value._dtype.itemsize
        return _Memory(start, storage.nbytes, first, end, True, _empty.get(storage))
    array = getattr(value, "array", value)
    if isinstance(array, np.ndarray):
        whole = cast("np.ndarray[Any, Any]", array)
        while isinstance(whole.base, np.ndarray):
            whole = cast("np.ndarray[Any, Any]", whole.base)
        low, high = np.lib.array_utils.byte_bounds(whole)
        nbytes = high - low if whole.size else 0
        return _Memory(low, nbytes, low, low + nbytes, array.flags.writeable, None)
    if hasattr(value, "untyped_storage"):
        found = value.untyped_storage()
        start, nbytes = found.data_ptr(), found.nbytes()
        return _Memory(start, nbytes, start, start + nbytes, True, None)
    return None


def _mapped() -> np.ndarray[Any, Any]:
    """The process's memory, as rows of start, end and whether it can be written: nothing else may be touched."""
    rows: list[tuple[int, int, bool]] = []
    try:
        with open("/proc/self/maps") as lines:
            for line in lines:
                span, rights = line.split(maxsplit=2)[:2]
                if "r" in rights:
                    low, high = (int(part, 16) for part in span.split("-"))
                    if high < 1 << 63:
                        rows.append((low, high, "w" in rights))
    except OSError as error:
        let_through(error)
        rows.append((4096, (1 << 63) - 1, True))
    return np.array(rows, np.int64)


_SAYS = {
    "outside": ("{doing} outside the memory of {argument}", "mask the access where the block reaches beyond"),
    "misaligned": (
        "{doing} {argument} at an address that is no multiple of {size}",
        "elements lie at multiples of their size; look at casts of pointers",
    ),
    "unwritten": ("reads memory of {argument} that nobody has written", "it comes from `empty`: fill it, or mask"),
    "race": ("{doing} an element of {argument} that another program has written", "use an atomic, or another grid"),
    "stale": (
        "reads an element of {argument} that another program has written",
        "which of them runs first is not said: write to another tensor, or use another launch",
    ),
    "overwritten": (
        "{doing} an element of {argument} that another program has read",
        "which of them runs first is not said: write to another tensor, or use another launch",
    ),
    "benign": ("{doing} the value of {argument} that another program has written too", "let one program write it"),
    "read-only": ("{doing} {argument}, which is read-only", "pass a copy"),
    "endless": ("takes more than {steps} steps", "loops of a stranger's kernel are stopped some time"),
    "undefined": ("{use} lanes that a mask left out of a load", "give the load `other=`"),
    "index": ("gathers from outside a block", "an index of `tl.gather` must lie in the source"),
}
#: What is done with lanes that nothing is known of.
USES = {
    "stored": "stores what depends on", "added": "updates by", "mask": "masks by", "address": "makes an address of",
    "branch": "branches on",
}  # fmt: skip


def _error(
    name: str, grid: tuple[int, int, int], site: Site, names: Sequence[str], memories: Sequence[_Memory | None],
    found: dict[str, int], chosen: Settings,
) -> SanitizerError:  # fmt: skip
    what = FOUND[found["found"]]
    if site.argument >= 0:
        argument = f"argument {names[site.argument]!r}"
    else:
        argument = "the arguments" if site.argument == ONE_OF_THEM else "an address that is no argument's"
    kind = "read" if site.kind == "volatile" else site.kind
    doing = {"read": "reads", "write": "writes", "atomic": "updates"}.get(kind, "")
    program = _program(found["program"], grid)
    index = tuple(int(i) for i in np.unravel_index(found["index"], site.dims)) if site.dims else ()
    block = f"index {index} of a block of {list(site.dims)}, " if site.dims else ""
    where = f"{_element(site, memories, found)}, " if what not in ("endless", "undefined", "index") else ""
    got = f"{where}{block}in program {program}"
    text, hint = _SAYS[what]
    text = text.format(
        doing=doing, argument=argument, size=site.size, steps=chosen.steps, use=USES.get(site.kind, "uses")
    )
    at = site.place
    if what in ("race", "stale", "benign"):
        got += f"; written before in program {_program(found['other'] - 1, grid)}"
    elif what == "overwritten":
        got += f"; read before in program {_program(found['other'] - 1, grid)}"
    elif what == "undefined" and site.source:
        got += f"; used at {site.place}" if site.place else ""
        at = site.source
    error = SanitizerError(f"{name}: {text}", got=got, at=at or None, hint=hint)
    error.kernel, error.program, error.index, error.category = name, program, index, what
    return error


def _program(number: int, grid: tuple[int, int, int]) -> tuple[int, int, int]:
    return number % grid[0], number // grid[0] % grid[1], number // (grid[0] * grid[1])


def _element(site: Site, memories: Sequence[_Memory | None], found: dict[str, int]) -> str:
    row = found["range"]
    memory = memories[row] if 0 <= row < len(memories) else None
    if memory is None:
        return f"address {found['address']:#x}"
    place, count = divmod(found["address"] - memory.start, site.size), memory.nbytes // site.size
    return f"element {place[0]}{f' and {place[1]} bytes' if place[1] else ''} of {count}"


if EVERYWHERE:
    _watch()
    state.include |= WATCHED

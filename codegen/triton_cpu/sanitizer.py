"""The sanitizer: kernels that look at every access before they make it, and Python exceptions for what they find.

    with opweave.sanitize():
        kernel[grid](x, out, n, BLOCK=128)

Under it the CPU is another device to Triton, so that kernels compiled with and without checks live side by side, and
what is not sanitized pays nothing. The lowering then works element by element and asks `opweave_check` about each
access, with the argument that the address was made from. It is told

* where each argument's memory lies, the whole of what a tensor is a view of;
* which bytes of it were written: memory from `empty` is filled with `POISON`, and a byte that no kernel has written
  and that still holds it has been written by nobody;
* which program of this launch wrote each byte last. Programs run one after the other, so it is found whenever two
  programs write one element, whatever the order; but not between programs that met at an atomic before, as with a
  lock.

The first thing found ends the program, and those that follow at their first access.
"""

from __future__ import annotations

import ctypes
import functools
import os
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, NamedTuple

import numpy as np

from opweave.codegen.triton_cpu import jit, pool
from opweave.codegen.triton_cpu.analysis import CHECK, KINDS, ONE_OF_THEM, UNKNOWN
from opweave.registry import forking
from opweave.registry.errors import SanitizerError
from opweave.registry.keys import COMPILED, state
from opweave.registry.ops import creation
from opweave.registry.storage import Storage

POISON = 0xCB
"""What bytes of memory from `empty` hold until somebody writes them."""

_FOUND = ("nothing", "outside", "misaligned", "unwritten", "race", "read-only")
_STATE = ("ranges", "count", "found", "site", "kind", "program", "index", "address", "other", "range", "maps",
          "map_count", "met")  # fmt: skip
_RANGE = ("start", "end", "written", "writers", "writable")


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
    """

    place: str
    argument: int
    size: int
    dims: tuple[int, ...]


# ---- switching it on -----------------------------------------------------------------------------------------------

_here: ContextVar[bool | None] = ContextVar("opweave_sanitize", default=None)
_everywhere = os.environ.get("OPWEAVE_SANITIZE", "0") not in ("", "0")


def enabled() -> bool:
    """Whether launches are sanitized in this context."""
    here = _here.get()
    return _everywhere if here is None else here


@contextmanager
def sanitize(enabled: bool = True) -> Iterator[None]:
    """Check what Triton kernels do to memory, for launches on the CPU within this context.

    A kernel that reads or writes outside its arguments' memory, at a misaligned address, in memory from `empty` that
    nobody wrote, or that writes one element from two programs without an atomic, raises `SanitizerError`. Kernels run
    much slower, and compiled functions run op by op. `OPWEAVE_SANITIZE=1` switches it on for the whole process.

    Parameters
    ----------
    enabled : bool
        False switches it off in a part of a sanitized program.
    """
    token, compiled = _here.set(enabled), state.exclude & COMPILED
    _watch_empty()
    state.exclude = state.exclude & ~COMPILED | (COMPILED if enabled else 0)
    try:
        yield
    finally:
        _here.reset(token)
        state.exclude = state.exclude & ~COMPILED | compiled


def _watch_empty() -> None:
    creation.when_uninitialised = _poison


#: Which bytes of a storage from `empty` kernels have written.
_written: weakref.WeakKeyDictionary[Storage, np.ndarray[Any, Any]] = weakref.WeakKeyDictionary()


def _poison(storage: Storage) -> None:
    if enabled() and storage.device.type == "cpu" and storage.nbytes:
        ctypes.memset(storage.ptr, POISON, storage.nbytes)
        _written[storage] = np.zeros(storage.nbytes, np.uint8)


if _everywhere:
    _watch_empty()


# ---- a launch ------------------------------------------------------------------------------------------------------

_lock = forking.lock()


class _Memory(NamedTuple):
    start: int
    nbytes: int
    writable: bool
    written: np.ndarray[Any, Any] | None


@contextmanager
def watching(
    name: str, grid: tuple[int, int, int], sites: Sequence[Site], names: Sequence[str], values: Sequence[Any]
) -> Iterator[None]:
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

    Raises
    ------
    SanitizerError
    """
    with _lock:
        memories = [_memory_of(value) for value in values]
        table = np.zeros((max(len(memories), 1), len(_RANGE)), np.int64)
        writers: dict[int, np.ndarray[Any, Any]] = {}
        for row, memory in zip(table, memories, strict=False):
            if memory is not None and memory.nbytes:
                if memory.start not in writers or len(writers[memory.start]) < memory.nbytes:
                    writers[memory.start] = np.zeros(memory.nbytes, np.int32)
                written = 0 if memory.written is None else memory.written.ctypes.data
                shadow = writers[memory.start].ctypes.data
                row[:] = memory.start, memory.start + memory.nbytes, written, shadow, memory.writable
            elif memory is not None:
                row[:] = 1, 1, 0, 0, 1  # no bytes: every access is outside
        for row, memory in zip(table, memories, strict=False):  # tensors of one memory share what is known of it
            if memory is not None and memory.nbytes:
                row[3] = writers[memory.start].ctypes.data
        maps = (
            _mapped()
            if any(s.argument == UNKNOWN or (s.argument >= 0 and memories[s.argument] is None) for s in sites)
            else np.zeros((1, 3), int)
        )
        met = np.zeros(1 << 20, np.int32)
        state = (ctypes.c_int64 * len(_STATE))()
        fields = {
            "ranges": table.ctypes.data, "count": len(memories), "maps": maps.ctypes.data, "map_count": len(maps),
            "met": met.ctypes.data,
        }  # fmt: skip
        for field, value in fields.items():
            state[_STATE.index(field)] = value
        threads = pool.get_num_threads()
        native().set_state(ctypes.addressof(state))
        pool.set_num_threads(1)
        try:
            yield
        finally:
            native().set_state(0)
            pool.set_num_threads(threads)
        found = {field: int(value) for field, value in zip(_STATE, state, strict=True)}
    if found["found"]:
        raise _error(name, grid, sites[found["site"]], names, memories, found)


def _memory_of(value: Any) -> _Memory | None:
    """The memory behind an argument; None for numbers and bare addresses."""
    storage = getattr(value, "_storage", None)
    if isinstance(storage, Storage):
        return _Memory(storage.ptr if storage.nbytes else 0, storage.nbytes, True, _written.get(storage))
    array = getattr(value, "array", value)
    if isinstance(array, np.ndarray):
        whole = array
        while isinstance(whole.base, np.ndarray):
            whole = whole.base
        low, high = np.lib.array_utils.byte_bounds(whole)
        return _Memory(low, high - low if whole.size else 0, array.flags.writeable, None)
    if hasattr(value, "untyped_storage"):
        found = value.untyped_storage()
        return _Memory(found.data_ptr(), found.nbytes(), True, None)
    return None


def _mapped() -> np.ndarray[Any, Any]:
    """The process's memory, as rows of start, end and whether it can be written: nothing else may be touched."""
    rows = []
    try:
        with open("/proc/self/maps") as lines:
            for line in lines:
                span, rights = line.split(maxsplit=2)[:2]
                if "r" in rights:
                    low, high = (int(part, 16) for part in span.split("-"))
                    if high < 1 << 63:
                        rows.append((low, high, "w" in rights))
    except OSError:
        rows.append((4096, (1 << 63) - 1, True))
    return np.array(rows, np.int64)


def _error(
    name: str, grid: tuple[int, int, int], site: Site, names: Sequence[str], memories: Sequence[_Memory | None],
    found: dict[str, int],
) -> SanitizerError:  # fmt: skip
    kind, what = KINDS[found["kind"]], _FOUND[found["found"]]
    if site.argument >= 0:
        argument = f"argument {names[site.argument]!r}"
    else:
        argument = "the arguments" if site.argument == ONE_OF_THEM else "an address that is no argument's"
    doing = {"read": "reads", "write": "writes", "atomic": "updates"}[kind]
    where = _element(site, memories, found)
    program = _program(found["program"], grid)
    index = tuple(int(i) for i in np.unravel_index(found["index"], site.dims)) if site.dims else ()
    block = f"index {index} of a block of {list(site.dims)}, " if site.dims else ""
    got = f"{where}, {block}in program {program}"
    text, hint = {
        "outside": (f"{doing} outside the memory of {argument}", "mask the access where the block reaches beyond"),
        "misaligned": (
            f"{doing} {argument} at an address that is no multiple of {site.size}",
            "elements lie at multiples of their size; look at casts of pointers",
        ),
        "unwritten": (f"reads memory of {argument} that nobody has written", "it comes from `empty`: fill it, or mask"),
        "race": (
            f"{doing} an element of {argument} that another program has written",
            "use an atomic, or another grid",
        ),
        "read-only": (f"{doing} {argument}, which is read-only", "pass a copy"),
    }[what]
    if what == "race":
        got += f"; written before in program {_program(abs(found['other']) - 1, grid)}"
    error = SanitizerError(f"{name}: {text}", got=got, at=site.place or None, hint=hint)
    error.kernel, error.program, error.index = name, program, index
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


# ---- the check -----------------------------------------------------------------------------------------------------


class _Native:
    """The check as native code, one a process."""

    def __init__(self) -> None:
        names = (CHECK, "opweave_sanitizer_state")
        code = jit.load(jit.compile_object(_source(), name="sanitizer", level=1), names)
        jit.keep_forever(code)
        self.check = code.address(CHECK)
        self._state = ctypes.c_int64.from_address(code.address("opweave_sanitizer_state"))

    def set_state(self, address: int) -> None:
        """Say where the launch's state is, 0 for none."""
        self._state.value = address


@functools.cache
def native() -> _Native:
    """The check, compiled at first use."""
    return _Native()


def _source() -> str:
    """LLVM IR of the check; `@NAME@` stands for the place of a field in the state, `@r.NAME@` for one of a range."""
    text = _CHECK
    for i, field in enumerate(_STATE):
        text = text.replace(f"@s.{field}@", str(i))
    for i, field in enumerate(_RANGE):
        text = text.replace(f"@r.{field}@", str(i))
    for i, field in enumerate(_FOUND):
        text = text.replace(f"@f.{field}@", str(i))
    return text.replace("@fields@", str(len(_RANGE))).replace("@poison@", str(POISON - 256))


_CHECK = r"""
@opweave_sanitizer_state = global i64 0, align 8

define i1 @opweave_check(
    i64 %address, i64 %size, i64 %kind, i64 %argument, i64 %site, i64 %index, i64 %program) {
entry:
  %state.i = load i64, ptr @opweave_sanitizer_state
  %absent = icmp eq i64 %state.i, 0
  br i1 %absent, label %fine, label %present
present:
  %state = inttoptr i64 %state.i to ptr
  %found.at = getelementptr i64, ptr %state, i64 @s.found@
  %found = load i64, ptr %found.at
  %over = icmp ne i64 %found, 0
  br i1 %over, label %stop, label %begin
begin:
  %ranges.at = getelementptr i64, ptr %state, i64 @s.ranges@
  %ranges = load ptr, ptr %ranges.at
  %count.at = getelementptr i64, ptr %state, i64 @s.count@
  %count = load i64, ptr %count.at
  %last = add i64 %address, %size
  %known = icmp sge i64 %argument, 0
  br i1 %known, label %given, label %search
given:                                         ; the argument that the address was made from
  %given.n = mul i64 %argument, @fields@
  %given.r = getelementptr i64, ptr %ranges, i64 %given.n
  %given.start = load i64, ptr %given.r
  %bare = icmp eq i64 %given.start, 0
  br i1 %bare, label %search, label %given.check
given.check:
  %given.end.at = getelementptr i64, ptr %given.r, i64 @r.end@
  %given.end = load i64, ptr %given.end.at
  %given.low = icmp sge i64 %address, %given.start
  %given.high = icmp sle i64 %last, %given.end
  %given.in = and i1 %given.low, %given.high
  br i1 %given.in, label %row, label %outside

search:                                        ; any of them
  %r = phi i64 [ 0, %begin ], [ 0, %given ], [ %r.next, %next ]
  %more = icmp slt i64 %r, %count
  br i1 %more, label %candidate, label %elsewhere
candidate:
  %c.n = mul i64 %r, @fields@
  %c.r = getelementptr i64, ptr %ranges, i64 %c.n
  %c.start = load i64, ptr %c.r
  %c.end.at = getelementptr i64, ptr %c.r, i64 @r.end@
  %c.end = load i64, ptr %c.end.at
  %c.there = icmp ne i64 %c.start, 0
  %c.low = icmp sge i64 %address, %c.start
  %c.high = icmp sle i64 %last, %c.end
  %c.both = and i1 %c.low, %c.high
  %c.in = and i1 %c.both, %c.there
  br i1 %c.in, label %row, label %next
next:
  %r.next = add i64 %r, 1
  br label %search

elsewhere:                                     ; memory of no argument: it must at least be there
  %chosen = icmp eq i64 %argument, -2
  br i1 %chosen, label %outside, label %anywhere
anywhere:
  %maps.at = getelementptr i64, ptr %state, i64 @s.maps@
  %maps = load ptr, ptr %maps.at
  %map.count.at = getelementptr i64, ptr %state, i64 @s.map_count@
  %map.count = load i64, ptr %map.count.at
  br label %map
map:
  %m = phi i64 [ 0, %anywhere ], [ %m.next, %map.next ]
  %m.more = icmp slt i64 %m, %map.count
  br i1 %m.more, label %map.try, label %outside
map.try:
  %m.n = mul i64 %m, 3
  %m.r = getelementptr i64, ptr %maps, i64 %m.n
  %m.start = load i64, ptr %m.r
  %m.end.at = getelementptr i64, ptr %m.r, i64 1
  %m.end = load i64, ptr %m.end.at
  %m.low = icmp sge i64 %address, %m.start
  %m.high = icmp sle i64 %last, %m.end
  %m.in = and i1 %m.low, %m.high
  br i1 %m.in, label %map.rights, label %map.next
map.next:
  %m.next = add i64 %m, 1
  br label %map
map.rights:
  %m.w.at = getelementptr i64, ptr %m.r, i64 2
  %m.w = load i64, ptr %m.w.at
  %m.reads = icmp eq i64 %kind, 0
  %m.writable = icmp ne i64 %m.w, 0
  %m.ok = or i1 %m.reads, %m.writable
  %m.mask = sub i64 %size, 1
  %m.rest = and i64 %address, %m.mask
  %m.aligned = icmp eq i64 %m.rest, 0
  %m.right = select i1 %m.aligned, i64 @f.read-only@, i64 @f.misaligned@
  %m.fine = and i1 %m.ok, %m.aligned
  br i1 %m.fine, label %fine, label %fail
outside:
  br label %fail

row:                                           ; in the memory of an argument
  %n = phi i64 [ %argument, %given.check ], [ %r, %candidate ]
  %n.n = mul i64 %n, @fields@
  %range = getelementptr i64, ptr %ranges, i64 %n.n
  %start = load i64, ptr %range
  %offset = sub i64 %address, %start
  %mask = sub i64 %size, 1
  %rest = and i64 %address, %mask
  %aligned = icmp eq i64 %rest, 0
  br i1 %aligned, label %rights, label %fail
rights:
  %writable.at = getelementptr i64, ptr %range, i64 @r.writable@
  %writable.i = load i64, ptr %writable.at
  %writable = icmp ne i64 %writable.i, 0
  %reads = icmp eq i64 %kind, 0
  %allowed = or i1 %reads, %writable
  br i1 %allowed, label %content, label %fail
content:
  %written.at = getelementptr i64, ptr %range, i64 @r.written@
  %written.i = load i64, ptr %written.at
  %written = inttoptr i64 %written.i to ptr
  %memory = inttoptr i64 %address to ptr
  %tracked = icmp ne i64 %written.i, 0
  %plain = icmp eq i64 %kind, 1
  %untold = xor i1 %tracked, true
  %skip = or i1 %untold, %plain
  br i1 %skip, label %order, label %bytes
bytes:                                         ; a read of bytes that are all as `empty` left them
  %k = phi i64 [ 0, %content ], [ %k.next, %same ]
  %k.more = icmp slt i64 %k, %size
  br i1 %k.more, label %byte, label %fail
byte:
  %k.o = add i64 %offset, %k
  %w.at = getelementptr i8, ptr %written, i64 %k.o
  %w = load i8, ptr %w.at
  %b.at = getelementptr i8, ptr %memory, i64 %k
  %b = load i8, ptr %b.at
  %w.no = icmp eq i8 %w, 0
  %b.no = icmp eq i8 %b, @poison@
  %fresh = and i1 %w.no, %b.no
  br i1 %fresh, label %same, label %order
same:
  %k.next = add i64 %k, 1
  br label %bytes

order:
  br i1 %reads, label %fine, label %writes
writes:
  %writers.at = getelementptr i64, ptr %range, i64 @r.writers@
  %writers = load ptr, ptr %writers.at
  %met.at = getelementptr i64, ptr %state, i64 @s.met@
  %met = load ptr, ptr %met.at
  %mine.w = add i64 %program, 1
  %mine = trunc i64 %mine.w to i32
  %mine.n = sub i32 0, %mine
  %mark = select i1 %plain, i32 %mine, i32 %mine.n
  br label %cell
cell:
  %j = phi i64 [ 0, %writes ], [ %j.next, %settled ]
  %j.more = icmp slt i64 %j, %size
  br i1 %j.more, label %look, label %fine
look:
  %j.o = add i64 %offset, %j
  %who.at = getelementptr i32, ptr %writers, i64 %j.o
  %who = load i32, ptr %who.at
  %who.neg = sub i32 0, %who
  %by.atomic = icmp slt i32 %who, 0
  %who.abs = select i1 %by.atomic, i32 %who.neg, i32 %who
  %nobody = icmp eq i32 %who, 0
  %myself = icmp eq i32 %who.abs, %mine
  %quiet = or i1 %nobody, %myself
  br i1 %quiet, label %settle, label %another
another:
  %other.i = sub i32 %who.abs, 1
  %other.m = and i32 %other.i, 1048575
  %other.w = zext i32 %other.m to i64
  %met.cell = getelementptr i32, ptr %met, i64 %other.w
  %both.a = xor i1 %plain, true
  %both.atomic = and i1 %both.a, %by.atomic
  br i1 %both.atomic, label %meet, label %conflict
meet:                                          ; what the other did before is done
  store i32 %mine, ptr %met.cell
  br label %settle
conflict:
  %met.last = load i32, ptr %met.cell
  %have.met = icmp eq i32 %met.last, %mine
  br i1 %have.met, label %settle, label %fail
settle:
  store i32 %mark, ptr %who.at
  br i1 %tracked, label %note, label %settled
note:
  %note.at = getelementptr i8, ptr %written, i64 %j.o
  store i8 1, ptr %note.at
  br label %settled
settled:
  %j.next = add i64 %j, 1
  br label %cell

fail:
  %why = phi i64 [ @f.outside@, %outside ], [ %m.right, %map.rights ], [ @f.misaligned@, %row ],
    [ @f.read-only@, %rights ], [ @f.unwritten@, %bytes ], [ @f.race@, %conflict ]
  %which = phi i64 [ %argument, %outside ], [ -1, %map.rights ], [ %n, %row ], [ %n, %rights ], [ %n, %bytes ],
    [ %n, %conflict ]
  %whom = phi i32 [ 0, %outside ], [ 0, %map.rights ], [ 0, %row ], [ 0, %rights ], [ 0, %bytes ], [ %who, %conflict ]
  %whom.w = sext i32 %whom to i64
  store i64 %why, ptr %found.at
  %site.at = getelementptr i64, ptr %state, i64 @s.site@
  store i64 %site, ptr %site.at
  %kind.at = getelementptr i64, ptr %state, i64 @s.kind@
  store i64 %kind, ptr %kind.at
  %program.at = getelementptr i64, ptr %state, i64 @s.program@
  store i64 %program, ptr %program.at
  %index.at = getelementptr i64, ptr %state, i64 @s.index@
  store i64 %index, ptr %index.at
  %address.at = getelementptr i64, ptr %state, i64 @s.address@
  store i64 %address, ptr %address.at
  %other.at = getelementptr i64, ptr %state, i64 @s.other@
  store i64 %whom.w, ptr %other.at
  %range.at = getelementptr i64, ptr %state, i64 @s.range@
  store i64 %which, ptr %range.at
  ret i1 false
stop:
  ret i1 false
fine:
  ret i1 true
}
"""

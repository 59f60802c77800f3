"""Object code to addresses that can be called. Loaded code lives as long as its `LoadedCode`.

What kernels need of the runtime in native code is compiled once and kept by the cache (`Code`), as kernels are: a
process that finds all of it there never loads LLVM.
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import logging
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from opweave.codegen import cache
from opweave.codegen.native import background, linking
from opweave.codegen.native.sealed import opened
from opweave.registry import forking, interrupts
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import CompileError
from opweave.registry.loading import load_heavy

_log = logging.getLogger("opweave.kernels")

#: What LLVM does with code before it chooses instructions. It stays as it is, but for calls that say `alwaysinline`;
#: variables become registers, of what is written as it should run; or also instructions become fewer and cheaper.
AS_IS, PROMOTED, CLEANED = range(3)
#: Attributes of a function that does little but call others: its code is made in a third of the time, and not tuned.
UNTUNED = 'noinline "untuned"'

#: What frees the code that is loaded, by a number: held here, it is never part of a cycle that Python collects, which
#: would free the code a second time.
_owners: dict[int, Any] = {}
#: Numbers of code that nobody has any more; it is freed when code is loaded next.
_gone: deque[int] = deque()
_owner_numbers = itertools.count()


def _free_what_is_gone() -> None:
    while True:
        try:
            number = _gone.popleft()  # one thread gets it
        except IndexError:
            return
        _owners.pop(number).close()


class LoadedCode:
    """Machine code in memory. Addresses are valid as long as this object lives.

    Parameters
    ----------
    addresses : mapping of str to int
        Of its symbols.
    name : str
        What it is, for messages.
    owner : object
        Frees the code by its `close`. Not where this object goes, which may be anywhere: LLVM takes its time, and the
        handler of a signal that came meanwhile would run in a finaliser, where what it raises is lost.
    """

    __slots__ = ("__del__", "_addresses", "name")

    def __init__(self, addresses: Mapping[str, int], name: str, owner: object) -> None:
        self._addresses = addresses
        self.name = name
        number = next(_owner_numbers)
        _owners[number] = owner
        self.__del__: Any = functools.partial(_gone.append, number)

    def address(self, symbol: str) -> int:
        """Address of a symbol that was named when the code was loaded."""
        return self._addresses[symbol]

    def __repr__(self) -> str:
        return f"<LoadedCode {self.name}>"


def load(obj: bytes, symbols: Iterable[str], *, imports: Mapping[str, int] | None = None) -> LoadedCode:
    """Load object code into this process, where gdb and perf find it if it has debug information.

    Parameters
    ----------
    obj : bytes
        From `llvm.compile_object`.
    symbols : iterable of str
        The symbols whose addresses will be asked for.
    imports : mapping of str to int, optional
        Addresses for undefined symbols; the rest is searched in the process (libc, libm, libgcc).

    Raises
    ------
    CompileError
        If the code is damaged, or refers to or lacks a symbol.
    """
    symbols = tuple(symbols)
    name = symbols[0]
    image = opened(obj)
    if image is None:
        raise CompileError(
            f"{name}: its object code is damaged",
            got=f"{len(obj)} bytes whose checksum does not fit",
            hint="a broken file in Triton's cache: remove the cache folder (TRITON_CACHE_DIR, ~/.triton/cache)",
        )
    with interrupts.deferred():
        _free_what_is_gone()
        if b".debug_line" in image:
            addresses, engine = load_heavy("opweave.codegen.native.linking_llvm").load_for_debuggers(
                image, symbols, imports or {}
            )
            return LoadedCode(addresses, name, engine)
        if linking.available():
            try:
                linked = linking.link(image, symbols, imports or {})
            except linking.NotLinked as error:
                _log.debug("%s is linked by LLVM: %s", name, error)
            else:
                return LoadedCode(linked.addresses, name, linked)
        tracker = load_heavy("opweave.codegen.native.linking_llvm").link(image, symbols, imports or {})
        return LoadedCode(tracker, name, tracker)


def keep_forever(value: object) -> None:
    """Never free `value`, not even at exit: for code that threads may be running until the process ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


#: Held while code of the runtime is fetched, by its name, so that no two threads compile one piece.
_fetching: dict[str, Any] = {}


@dataclass(frozen=True)
class Code:
    """Code of the runtime: compiled unless the cache has it, and never freed.

    Parameters
    ----------
    source : callable
        Gives the LLVM IR.
    name, level
        As for `llvm.compile_object`.
    about : str
        What the cache knows it by; where it is empty, by its source, which takes longer.
    """

    source: Callable[[], str]
    name: str
    level: int
    about: str = ""

    def load(self, symbols: Iterable[str], imports: Mapping[str, int] | None = None) -> LoadedCode:
        """Have it in memory; `symbols` and `imports` as for the function `load`."""
        loaded = load(self.fetch(), symbols, imports=imports)
        keep_forever(loaded)
        return loaded

    def fetch(self) -> bytes:
        """Its object code."""

        def make() -> bytes:
            return load_heavy(_LLVM).compile_object(self.source(), name=self.name, level=self.level)

        with background.busily(_fetching.setdefault(self.name, forking.lock())):
            return cache.fetch_object(self._key(), make)

    def is_kept(self) -> bool:
        """Whether the cache has it."""
        return next(iter(cache.entries(self._key())), None) is not None

    def _key(self) -> str:
        return cache.key_of("native", self.about or self.source(), str(self.level))


_LLVM = "opweave.codegen.native.llvm"

"""Object code into memory by LLVM: on machines that `linking` does not know, and where a debugger looks for it."""

from __future__ import annotations

import contextlib
import ctypes
import itertools
import os
import platform
import stat
from collections.abc import Iterator, Mapping
from typing import Any

from opweave.codegen.native import llvm
from opweave.registry import forking
from opweave.registry.errors import CompileError
from opweave.registry.interrupts import let_through

_lock = forking.short_lock()
_library_numbers = itertools.count()


def link(image: bytes, symbols: tuple[str, ...], imports: Mapping[str, int]) -> Any:
    """Load an object file; gives what finds its symbols by name and frees it.

    Raises
    ------
    CompileError
        If it refers to or lacks a symbol.
    """
    linker = llvm.loaded().JITLibraryBuilder().add_object_img(image)
    for symbol, address in imports.items():
        linker.import_symbol(symbol, address)
    linker.add_current_process()
    for symbol in symbols:
        linker.export_symbol(symbol)
    try:
        return linker.link(_linker_session(), f"opweave{next(_library_numbers)}")
    except RuntimeError as error:
        let_through(error)
        raise CompileError(
            f"{symbols[0]}: its object code cannot be loaded",
            got=str(error),
            hint="LLVM names the cause on standard error",
        ) from error


def load_for_debuggers(
    image: bytes, symbols: tuple[str, ...], imports: Mapping[str, int]
) -> tuple[dict[str, int], Any]:
    """Load with LLVM's older linker: it alone tells gdb of the code, with its lines; perf is told of the name.

    Returns
    -------
    addresses : dict of str to int
        Of the symbols.
    engine : object
        Its `close` frees the code.
    """
    ll = llvm.loaded()
    for symbol, address in imports.items():
        ll.add_symbol(symbol, address)
    empty = ll.parse_assembly(f'target triple = "{ll.get_process_triple()}"')
    # An engine closes its target machine, so it gets one of its own.
    engine = ll.create_mcjit_compiler(empty, llvm.new_target_machine())
    code = ll.ObjectFileRef.from_data(image)
    size = sum(section.size() for section in code.sections() if section.is_text())
    engine.add_object_file(code)
    engine.finalize_object()
    addresses = {symbol: engine.get_function_address(symbol) for symbol in symbols}
    missing = [symbol for symbol, address in addresses.items() if not address]
    if missing:
        raise CompileError(f"{symbols[0]}: its object code cannot be loaded", got=f"no symbol {missing[0]}")
    if platform.system() == "Linux":
        _tell_perf(f"{addresses[symbols[0]]:x} {size:x} {symbols[0]}\n")
    return addresses, engine


def _tell_perf(line: str) -> None:
    """Add start, size and name of code that is in no file to the list in which perf looks for it."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
    # The folder is everybody's: a link or a pipe that stands there is somebody's trap.
    with contextlib.suppress(OSError):
        opened = os.open(f"/tmp/perf-{os.getpid()}.map", flags, 0o600)
        try:
            status = os.fstat(opened)
            if stat.S_ISREG(status.st_mode) and status.st_uid == os.geteuid():
                os.write(opened, line.encode())
        finally:
            os.close(opened)


_LOADS_A_SESSION = 64
_session: tuple[Any, Iterator[int]] | None = None


def _linker_session() -> Any:
    """The session that the next code is loaded into.

    A session keeps its books on every library it ever loaded. So each takes a few: it goes, with its books, when the
    last code in it has gone. What runs until the process ends is kept by `keep_forever`, and its session with it.
    """
    global _session
    with _lock:
        if _session is None and platform.system() == "Linux":
            _load_globally("libgcc_s.so.1")
        if _session is None or next(_session[1], None) is None:
            _session = llvm.loaded().create_lljit_compiler(llvm.target_machine()), iter(range(_LOADS_A_SESSION - 1))
        return _session[0]


def _load_globally(library: str) -> None:
    """Make a library's symbols visible to loaded code: half-precision and 128-bit arithmetic may call libgcc."""
    try:
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        let_through(error)
        # nearly no kernel needs it; one that does says which symbol is missing

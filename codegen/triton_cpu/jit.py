"""LLVM IR to object code, and object code to addresses that can be called.

Object code carries a checksum, since it comes back from Triton's disk cache: LLVM aborts the process on a damaged file.
Loaded code lives as long as its `LoadedCode`.

Everything here may be called from any thread (llvmlite serialises its calls, so compilations do not run in parallel).
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import hashlib
import itertools
import logging
import os
import platform
import stat
import sys
from collections import deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from opweave.codegen.triton_cpu import linking
from opweave.codegen.triton_cpu.hidden import hide, hide_from_stores, hide_zeros
from opweave.registry import forking, interrupts
from opweave.registry.errors import CompileError
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy

_MAGIC = b"opweave\x01"
_DIGEST_BYTES = 16
_TRAILER_BYTES = len(_MAGIC) + _DIGEST_BYTES

_log = logging.getLogger("opweave.kernels")
_lock = forking.short_lock()
_library_numbers = itertools.count()


@dataclass(frozen=True)
class Host:
    """The machine that object code is made for.

    Attributes
    ----------
    triple : str
        LLVM target triple of this process.
    cpu : str
        LLVM's name of the CPU (`znver3`).
    features : frozenset of str
        LLVM's names of the CPU features that are present.
    """

    triple: str
    cpu: str
    features: frozenset[str]

    @property
    def vector_bits(self) -> int:
        """Width of the widest vector register: 128, 256 or 512."""
        if "avx512f" in self.features:
            return 512
        return 256 if "avx2" in self.features else 128

    @property
    def hides_masks(self) -> bool:
        """Whether masks of loads have to be hidden from LLVM; see `hidden`."""
        return "avx" in self.features and not {"avx512vl", "avx512bw"} <= self.features

    @property
    def truncates_in_stores(self) -> bool:
        """Whether masks of stores have to be hidden from LLVM; see `hidden`."""
        return "avx512f" in self.features

    @property
    def streams(self) -> bool:
        """Whether there are stores past the caches, which `sfence` orders."""
        return self.triple.startswith("x86_64")

    @property
    def fma(self) -> bool:
        """Whether a fused multiply-add is one instruction."""
        return "fma" in self.features or self.triple.startswith(("aarch64", "arm64"))


@functools.cache
def host() -> Host:
    """The machine this process runs on."""
    ll = _llvm()
    present = {name for name, on in ll.get_host_cpu_features().items() if on}
    return Host(ll.get_process_triple(), ll.get_host_cpu_name(), frozenset(present))


def compile_object(llvm_ir: str, *, name: str = "kernel", level: int = 2) -> bytes:
    """Optimise LLVM IR and make object code of it.

    The vectorisers stay off: kernels come with explicit vectors, and without them the code is as fast and made sooner.
    Unrolling stays on: what is written to memory in a loop of few rounds is then kept in registers.

    Parameters
    ----------
    llvm_ir : str
        A module's text; triple and data layout are filled in.
    name : str
        What is being compiled, for messages.
    level : int
        Optimisation level, 0 to 3.

    Returns
    -------
    bytes
        A relocatable object file followed by its checksum.

    Raises
    ------
    CompileError
        If LLVM rejects the text.
    """
    with interrupts.deferred():
        interrupts.checkpoint()
        with _optimised(llvm_ir, name, level) as module:
            image = _target_machine().emit_object(module)
        interrupts.checkpoint()
    return image + _MAGIC + _digest(image)


def assembly(llvm_ir: str, *, name: str = "kernel", level: int = 2) -> str:
    """The assembly text of what `compile_object` makes, for reading."""
    with interrupts.deferred(), _optimised(llvm_ir, name, level) as module:
        return _target_machine().emit_assembly(module)


def is_intact(obj: bytes) -> bool:
    """Whether `obj` is a whole result of `compile_object`."""
    image, trailer = obj[:-_TRAILER_BYTES], obj[-_TRAILER_BYTES:]
    return trailer == _MAGIC + _digest(image)


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
        From `compile_object`.
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
    if not is_intact(obj):
        raise CompileError(
            f"{name}: its object code is damaged",
            got=f"{len(obj)} bytes whose checksum does not fit",
            hint="a broken file in Triton's cache: remove the cache folder (TRITON_CACHE_DIR, ~/.triton/cache)",
        )
    image = obj[:-_TRAILER_BYTES]
    with interrupts.deferred():
        _free_what_is_gone()
        if b".debug_line" in image:
            return _load_for_debuggers(image, symbols, imports or {})
        if linking.available():
            try:
                linked = linking.link(image, symbols, imports or {})
            except linking.NotLinked as error:
                _log.debug("%s is linked by LLVM: %s", name, error)
            else:
                return LoadedCode(linked.addresses, name, linked)
        return _linked_by_llvm(image, symbols, imports or {})


def _linked_by_llvm(image: bytes, symbols: tuple[str, ...], imports: Mapping[str, int]) -> LoadedCode:
    linker = _llvm().JITLibraryBuilder().add_object_img(image)
    for symbol, address in imports.items():
        linker.import_symbol(symbol, address)
    linker.add_current_process()
    for symbol in symbols:
        linker.export_symbol(symbol)
    try:
        tracker = linker.link(_linker_session(), f"opweave{next(_library_numbers)}")
    except RuntimeError as error:
        let_through(error)
        raise CompileError(
            f"{symbols[0]}: its object code cannot be loaded",
            got=str(error),
            hint="LLVM names the cause on standard error",
        ) from error
    return LoadedCode(tracker, symbols[0], tracker)


def keep_forever(value: object) -> None:
    """Never free `value`, not even at exit: for code that threads may be running until the process ends."""
    ctypes.pythonapi.Py_IncRef(ctypes.py_object(value))


def _digest(image: bytes) -> bytes:
    return hashlib.blake2b(image, digest_size=_DIGEST_BYTES).digest()


@functools.cache
def _llvm() -> Any:
    # Cached twice, since threads may come here at once. LLVM takes an option once, and llvmlite keeps its lock where
    # the handler of a signal ends a call.
    with _lock, interrupts.deferred(patient=False):
        return _loaded_llvm()


@functools.cache
def _loaded_llvm() -> Any:
    ll = load_heavy("llvmlite.binding")
    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    if platform.machine().lower() in ("x86_64", "amd64"):
        # LLVM 22's pass against blocked store forwarding asserts that every access has a known size, which a masked
        # store with a constant mask has not: it would abort the process. Other machines do not know the option.
        ll.set_option("opweave", "-x86-disable-avoid-SFB")
    return ll


def _llvm_lock() -> Any:
    """llvmlite's own lock, held through each call of LLVM; None before it is loaded."""
    ll = sys.modules.get("llvmlite.binding")
    holder = getattr(getattr(getattr(ll, "ffi", None), "lib", None), "_lock", None)
    return getattr(holder, "_lock", None)


forking.guard_library(_llvm_lock)


@functools.cache
def _target_machine() -> Any:
    return _new_target_machine()


def _new_target_machine() -> Any:
    ll = _llvm()
    target = ll.Target.from_triple(ll.get_process_triple())
    return target.create_target_machine(
        cpu=ll.get_host_cpu_name(),
        features=ll.get_host_cpu_features().flatten(),
        opt=2,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def _load_for_debuggers(image: bytes, symbols: tuple[str, ...], imports: Mapping[str, int]) -> LoadedCode:
    """Load with LLVM's older linker: it alone tells gdb of the code, with its lines; perf is told of the name."""
    ll = _llvm()
    for symbol, address in imports.items():
        ll.add_symbol(symbol, address)
    empty = ll.parse_assembly(f'target triple = "{ll.get_process_triple()}"')
    # An engine closes its target machine, so it gets one of its own.
    engine = ll.create_mcjit_compiler(empty, _new_target_machine())
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
    return LoadedCode(addresses, symbols[0], engine)


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
            _session = _llvm().create_lljit_compiler(_target_machine()), iter(range(_LOADS_A_SESSION - 1))
        return _session[0]


def _load_globally(library: str) -> None:
    """Make a library's symbols visible to loaded code: half-precision and 128-bit arithmetic may call libgcc."""
    try:
        ctypes.CDLL(library, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        let_through(error)
        # nearly no kernel needs it; one that does says which symbol is missing


@contextlib.contextmanager
def _optimised(llvm_ir: str, name: str, level: int) -> Iterator[Any]:
    """The optimised module, for the time of the `with` block.

    A module must go before its context. The garbage collector, which gets both where an exception holds on to a frame,
    does not know that; so both are closed here.
    """
    ll = _llvm()
    machine = _target_machine()
    llvm_ir = hide_zeros(llvm_ir)
    if host().truncates_in_stores:
        llvm_ir = hide_from_stores(llvm_ir)
    if host().hides_masks:
        llvm_ir = hide(llvm_ir)
    with ll.create_context() as context:  # its own: type names of modules in the shared one would pile up and clash
        with _checked(llvm_ir, name, context) as module:
            module.triple = ll.get_process_triple()
            module.data_layout = str(machine.target_data)
            builder = _pass_builder(level)
            passes = builder.getModulePassManager()
            passes.run(module, builder)
            # llvmlite's classes inherit in an order by which closing a pass manager does not free it.
            ll.ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
            passes.detach()
            yield module


_RUNS_A_BUILDER = 8
_builders: dict[int, tuple[Any, Iterator[int]]] = {}


def _pass_builder(level: int) -> Any:
    """What the next module is optimised with.

    llvmlite loses 1.6 KiB with each builder, and one that ran often is slow; so each runs a few times.
    """
    with _lock:
        found = _builders.get(level)
        if found is None or next(found[1], None) is None:
            ll = _llvm()
            tuning = ll.create_pipeline_tuning_options(speed_level=level)
            tuning.loop_vectorization = False
            tuning.slp_vectorization = False
            tuning.loop_interleaving = False
            tuning.loop_unrolling = True
            found = ll.create_pass_builder(_target_machine(), tuning), iter(range(_RUNS_A_BUILDER - 1))
            tuning.close()
            _builders[level] = found
        return found[0]


def _checked(llvm_ir: str, name: str, context: Any) -> Any:
    module = None
    try:
        module = _llvm().parse_assembly(llvm_ir, context=context)
        module.verify()
    except RuntimeError as error:
        let_through(error)
        if module is not None:
            module.close()
        raise CompileError(
            f"{name}: LLVM rejects the code made for it",
            got=str(error).strip(),
            hint="this is a bug of the CPU backend",
        ) from error
    return module

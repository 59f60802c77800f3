"""LLVM IR to object code.

Everything here may be called from any thread. llvmlite lets one thread into LLVM at a time; instructions are chosen
outside of that (`_Lane`), which is most of the work, so that two threads compile twice as much.
"""

from __future__ import annotations

import contextlib
import ctypes
import functools
import platform
import re
import sys
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import Any

from opweave.codegen.native import amx
from opweave.codegen.native.hidden import hide, hide_from_stores, hide_zeros
from opweave.codegen.native.objects import AS_IS, CLEANED, PROMOTED, UNTUNED
from opweave.codegen.native.sealed import seal
from opweave.registry import forking, interrupts
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import ArgumentError, CompileError
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy

_lock = forking.short_lock()


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

    def has_tiles(self, stored: str) -> bool:
        """Whether AMX multiplies tiles of numbers `stored` as LLVM's type of this name."""
        feature = {"bfloat": amx.BF16, "i8": amx.INT8}.get(stored, "")
        return {amx.TILES, feature, "avx512f"} <= self.features


#: Levels of x86-64 as psABI has them: each has what the one before has.
_LEVELS = {
    "x86-64-v2": "cx16 sahf popcnt sse sse2 sse3 ssse3 sse4.1 sse4.2",
    "x86-64-v3": "avx avx2 bmi bmi2 f16c fma lzcnt movbe",
    "x86-64-v4": "avx512f avx512bw avx512cd avx512dq avx512vl",
}
#: What object code can be made for on any machine.
TARGETS = ("host", *_LEVELS, "aarch64")


def machine(name: str) -> Host:
    """A machine by its name, one of `TARGETS`.

    Raises
    ------
    ArgumentError
        If there is none of that name.
    """
    if name == "host":
        return host()
    if name == "aarch64":
        return Host("aarch64-unknown-linux-gnu", "generic", frozenset({"neon"}))
    if name not in _LEVELS:
        raise ArgumentError("unknown target", got=repr(name), hint=f"one of {', '.join(map(repr, TARGETS))}")
    levels = list(_LEVELS)
    features = " ".join(_LEVELS[level] for level in levels[: levels.index(name) + 1]).split()
    return Host("x86_64-unknown-linux-gnu", name, frozenset(features))


@functools.cache
def host() -> Host:
    """The machine this process runs on."""
    ll = loaded()
    present = frozenset(name for name, on in ll.get_host_cpu_features().items() if on)
    return Host(ll.get_process_triple(), ll.get_host_cpu_name(), amx.usable(present))


def compile_object(llvm_ir: str, *, name: str = "kernel", level: int = CLEANED) -> bytes:
    """Optimise LLVM IR and make object code of it.

    Kernels come with explicit vectors, and what need not be computed again stands outside of their loops: all that LLVM
    usually does to code makes them no faster, and takes as long as the instructions that are chosen then.

    Parameters
    ----------
    llvm_ir : str
        A module's text; triple and data layout are filled in.
    name : str
        What is being compiled, for messages.
    level : int
        How much is done to it: `objects.AS_IS`, `PROMOTED` or `CLEANED`.

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
            if UNTUNED in llvm_ir:
                _leave_untuned(module)
            image = _emitted(module)
        interrupts.checkpoint()
    return seal(image)


def _leave_untuned(module: Any) -> None:
    """Have code made quickly for functions that say so.

    Not said in the text itself: LLVM writes a line to the terminal for every pass that it leaves out for that.
    """
    apart = _accesses_taken_apart(host())
    for function in module.functions:
        if any(UNTUNED.encode() in attribute for attribute in function.attributes) and not apart.search(str(function)):
            function.add_function_attribute("optnone")  # type: ignore


def _accesses_taken_apart(machine: Host) -> re.Pattern[str]:
    """Masked accesses that LLVM makes branches of, since the machine has no such instructions.

    The branches test bits of the mask. In untuned code of `half` numbers, LLVM 22 writes the highest of 8 bits as a
    negative number, asserts that it is none, and ends the process. Other types are left tuned, too, to be sure.
    """
    short = r"\.v\d+(?:i8|i16|f16|bf16)"
    if "avx512bw" in machine.features:  # which gathers no numbers of 8 and 16 bits
        return re.compile(rf"@llvm\.masked\.(?:gather|scatter){short}")
    types = short if "avx" in machine.features else r"\.v\d+"
    return re.compile(rf"@llvm\.masked\.(?:(?:load|store){types}|gather\.|scatter\.)")


class _Lane:
    """What one thread at a time chooses instructions by: a description of this machine is for one thread.

    Modules in contexts of their own share nothing, so LLVM needs no lock between lanes. A fork waits for all of them:
    what a thread in LLVM holds would be held in the child for good.
    """

    def __init__(self) -> None:
        self.lock = forking.short_lock()

    @functools.cached_property
    def machine(self) -> Any:
        return new_target_machine()

    def emit(self, module: Any) -> bytes:
        """The object file of a module."""
        ffi = loaded().ffi
        with ffi.OutputString() as message:
            buffer = _unlocked("LLVMPY_TargetMachineEmitToMemory")(self.machine, module, 1, message)
            if not buffer:
                raise RuntimeError(str(message))
        try:
            return ctypes.string_at(ffi.lib.LLVMPY_GetBufferStart(buffer), ffi.lib.LLVMPY_GetBufferSize(buffer))
        finally:
            ffi.lib.LLVMPY_DisposeMemoryBuffer(buffer)


_LANES = (_Lane(), _Lane())


def _emitted(module: Any) -> bytes:
    """The object file of a module, by a lane that is free or the first that gets it."""
    lane = next((lane for lane in _LANES if lane.lock.acquire(blocking=False)), None)
    if lane is None:
        lane = _LANES[0]
        lane.lock.acquire()
    try:
        return lane.emit(module)
    finally:
        lane.lock.release()


def _unlocked(name: str) -> Any:
    """A function of the library below llvmlite's binding without the binding's lock, where it can be had."""
    function = getattr(loaded().ffi.lib, name)
    return getattr(function, "_cfn", function)


def assembly(llvm_ir: str, *, name: str = "kernel", level: int = CLEANED) -> str:
    """The assembly text of what `compile_object` makes, for reading."""
    with interrupts.deferred(), _optimised(llvm_ir, name, level) as module:
        return target_machine().emit_assembly(module)


@functools.cache
def loaded() -> Any:
    """llvmlite's binding, ready for this machine."""
    # Cached twice, since threads may come here at once. LLVM takes an option once, and llvmlite keeps its lock where
    # the handler of a signal ends a call.
    with _lock, interrupts.deferred(patient=False):
        return _loaded_once()


@functools.cache
def _loaded_once() -> Any:
    ll = load_heavy("llvmlite.binding")
    ll.initialize_native_target()
    ll.initialize_native_asmprinter()
    ll.initialize_native_asmparser()
    # Loops compute addresses as they are written, and processors order instructions themselves: to choose other
    # addresses, and another order once registers are given, is a fifth of making code, which is not faster then.
    ll.set_option("opweave", "-disable-lsr")
    ll.set_option("opweave", "-post-RA-scheduler=false")
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


def target_machine(of: Host | None = None) -> Any:
    """LLVM's description of a machine, by default this one."""
    return _target_machine(of or host())


@functools.cache
def _target_machine(of: Host) -> Any:
    if of == host():
        return new_target_machine()
    ll = loaded()
    with interrupts.deferred(patient=False):
        ll.initialize_all_targets()
        ll.initialize_all_asmprinters()
    return ll.Target.from_triple(of.triple).create_target_machine(cpu=of.cpu, opt=2, reloc="pic", codemodel="small")


def new_target_machine() -> Any:
    """This machine's, of one's own."""
    ll = loaded()
    target = ll.Target.from_triple(ll.get_process_triple())
    return target.create_target_machine(
        cpu=ll.get_host_cpu_name(),
        features=ll.get_host_cpu_features().flatten(),
        opt=2,
        reloc="pic",
        codemodel="small",
        jit=True,
    )


def join_objects(
    modules: Sequence[tuple[str, str, int]], exported: Iterable[str], *, of: Host
) -> tuple[bytes, tuple[str, ...]]:
    """Make one object file of many modules.

    Parameters
    ----------
    modules : sequence of (str, str, int)
        What it is, for messages; its text; the level at which it is optimised.
    exported : iterable of str
        The symbols that others see.
    of : Host
        The machine.

    Returns
    -------
    bytes
        A relocatable object file.
    tuple of str
        What others must define.

    Raises
    ------
    CompileError
        If LLVM rejects a text.
    """
    seen = frozenset(exported)
    with interrupts.deferred():
        ll, own = loaded(), target_machine(of)
        with ll.create_context() as context:
            with _checked(f'target triple = "{of.triple}"', "artifact", context) as whole:
                whole.data_layout = str(own.target_data)
                for name, text, level in modules:
                    interrupts.checkpoint()
                    part = _checked(_hidden(text, of), name, context)
                    part.triple, part.data_layout = of.triple, str(own.target_data)
                    _optimise(part, level, of)
                    whole.link_in(part)  # which takes it
                for value in (*whole.functions, *whole.global_variables):
                    if not value.is_declaration and value.name not in seen:
                        value.linkage = "internal"
                _run_passes(whole, of, "add_global_dead_code_eliminate_pass")
                declared = [v for v in (*whole.functions, *whole.global_variables) if v.is_declaration]
                wanted = tuple(sorted(v.name for v in declared if not v.name.startswith("llvm.")))
                return own.emit_object(whole), wanted


def _hidden(llvm_ir: str, of: Host) -> str:
    """The text with what this LLVM gets wrong hidden from it."""
    llvm_ir = hide_zeros(llvm_ir)
    if of.truncates_in_stores:
        llvm_ir = hide_from_stores(llvm_ir)
    return hide(llvm_ir) if of.hides_masks else llvm_ir


@contextlib.contextmanager
def _optimised(llvm_ir: str, name: str, level: int) -> Generator[Any]:
    """The optimised module, for the time of the `with` block.

    A module must go before its context. The garbage collector, which gets both where an exception holds on to a frame,
    does not know that; so both are closed here.
    """
    ll = loaded()
    llvm_ir = _hidden(llvm_ir, host())
    with ll.create_context() as context:  # its own: type names of modules in the shared one would pile up and clash
        with _checked(llvm_ir, name, context) as module:
            module.triple = ll.get_process_triple()
            module.data_layout = str(target_machine().target_data)
            _optimise(module, level, host())
            yield module


def _optimise(module: Any, level: int, of: Host) -> None:
    _run_passes(module, of, *_PASSES[level])


def _run_passes(module: Any, of: Host, *names: str) -> None:
    passes = loaded().create_new_module_pass_manager()
    for name in names:
        getattr(passes, name)()
    passes.run(module, _pass_builder(of))
    # llvmlite's classes inherit in an order by which closing a pass manager does not free it.
    loaded().ffi.lib.LLVMPY_DisposeNewModulePassManger(passes)
    passes.detach()


#: What llvmlite calls the passes of each level.
_PASSES = {
    AS_IS: ("add_always_inliner_pass",),
    PROMOTED: ("add_always_inliner_pass", "add_sroa_pass", "add_simplify_cfg_pass"),
    CLEANED: ("add_always_inliner_pass", "add_sroa_pass", "add_instruction_combine_pass", "add_simplify_cfg_pass"),
}
_RUNS_A_BUILDER = 8
_builders: dict[Host, tuple[Any, Iterator[int]]] = {}


def _pass_builder(of: Host) -> Any:
    """What the next module is optimised with.

    llvmlite loses 1.6 KiB with each builder, and one that ran often is slow; so each runs a few times.
    """
    own = target_machine(of)
    with _lock:
        found = _builders.get(of)
        if found is None or next(found[1], None) is None:
            ll = loaded()
            tuning = ll.create_pipeline_tuning_options()
            found = ll.create_pass_builder(own, tuning), iter(range(_RUNS_A_BUILDER - 1))
            tuning.close()
            _builders[of] = found
        return found[0]


def _checked(llvm_ir: str, name: str, context: Any) -> Any:
    module = None
    try:
        module = loaded().parse_assembly(llvm_ir, context=context)
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

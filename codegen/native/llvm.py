"""LLVM IR to object code.

Everything here may be called from any thread (llvmlite serialises its calls, so compilations do not run in parallel).
"""

from __future__ import annotations

import contextlib
import functools
import platform
import sys
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from typing import Any

from opweave.codegen.native.hidden import hide, hide_from_stores, hide_zeros
from opweave.codegen.native.sealed import seal
from opweave.registry import forking, interrupts
from opweave.registry.errors import CompileError
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


@functools.cache
def host() -> Host:
    """The machine this process runs on."""
    ll = loaded()
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
            image = target_machine().emit_object(module)
        interrupts.checkpoint()
    return seal(image)


def assembly(llvm_ir: str, *, name: str = "kernel", level: int = 2) -> str:
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
def target_machine() -> Any:
    """LLVM's description of this machine."""
    return new_target_machine()


def new_target_machine() -> Any:
    """The same, of one's own."""
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


@contextlib.contextmanager
def _optimised(llvm_ir: str, name: str, level: int) -> Generator[Any]:
    """The optimised module, for the time of the `with` block.

    A module must go before its context. The garbage collector, which gets both where an exception holds on to a frame,
    does not know that; so both are closed here.
    """
    ll = loaded()
    machine = target_machine()
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
            ll = loaded()
            tuning = ll.create_pipeline_tuning_options(speed_level=level)
            tuning.loop_vectorization = False
            tuning.slp_vectorization = False
            tuning.loop_interleaving = False
            tuning.loop_unrolling = True
            found = ll.create_pass_builder(target_machine(), tuning), iter(range(_RUNS_A_BUILDER - 1))
            tuning.close()
            _builders[level] = found
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

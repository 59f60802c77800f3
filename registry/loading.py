"""Loads heavy modules when they are first needed: in one thread at a time, and to the end.

Triton's modules import each other in circles, and opweave's backend for the CPU, which Triton loads as a plug-in,
imports Triton: threads that enter the circle at different places would see half-made modules. So would whoever comes
after an import that the handler of a signal ended, and a child that was forked in the middle of one.
"""

from __future__ import annotations

import gc
import importlib
import sys
from collections.abc import Iterator
from types import ModuleType

from opweave.registry import forking
from opweave.registry.errors import MissingTritonError
from opweave.registry.interrupts import contextmanager, deferred, let_through
from opweave.registry.quick_triton import PACKAGE, quick_sources, quicken_generator, without_gluon

#: Held while a heavy module, or one that needs it, is loaded.
loading = forking.short_lock()

#: Held while Python source is parsed to a tree, which Triton does with kernels: up to 3.12, CPython keeps the depth of
#: that in a place that threads share, and fails with a SystemError where two do it at once.
parsing = forking.short_lock()

#: Whether opweave's own native code is used: it knows how objects, calls and numbers are laid out on Linux, and was run
#: nowhere else. Elsewhere ops are NumPy's.
HAS_NATIVE = sys.platform == "linux"

_MODULES = ("triton", "triton.runtime.autotuner", "triton.runtime.jit", "triton.compiler", "triton.backends.compiler")
_loaded: dict[str, ModuleType] = {}
_has_triton = False


#: So many new objects take a millisecond to look through.
_MUCH = 10_000


@contextmanager
def uncollected() -> Iterator[None]:
    """Within the block nobody looks for garbage, nor right after it where it made much: what modules make stays.

    To look through it takes a tenth of the time that it takes to load it. What is frozen and let go again is where it
    would be after that, among what is old, unless somebody keeps objects frozen.
    """
    collects = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collects:
            # To count what is frozen takes a while where that is much, which is not worth it for a small module.
            if gc.get_count()[0] > _MUCH and not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def load_heavy(name: str) -> ModuleType:
    """A module that loads much, or that registers what must not be registered twice."""
    found = _loaded.get(name)
    if found is None:
        with loading, deferred(patient=False), uncollected():
            try:
                if name.partition(".")[0] == "triton":
                    with quick_sources(PACKAGE), without_gluon():
                        found = importlib.import_module(name)
                    quicken_generator()
                else:
                    found = importlib.import_module(name)
            except ModuleNotFoundError as error:
                if (error.name or "").partition(".")[0] != "triton":
                    raise
                raise missing_triton("Triton is not installed, which compiles all kernels", str(error)) from None
            if not name.startswith("opweave."):
                _mend(name.partition(".")[0])
            _loaded[name] = found
    return found


def missing_triton(what: str, why: str) -> MissingTritonError:
    """The error of what needs kernels where none can be compiled."""
    way = "pip install triton" if HAS_NATIVE else "kernels are compiled on Linux, in a container or WSL for example"
    return MissingTritonError(
        what, got=f"{why} on {sys.platform}",
        hint=f"{way}; without them ops run eagerly, functions with opweave.compile(..., backend='eager'), and exported "
        "programs with program.module(compile=False)",
    )  # fmt: skip


def can_compile() -> bool:
    """Whether functions can become kernels here; where they can, Triton is loaded afterwards."""
    try:
        load_heavy("triton")
    except MissingTritonError as error:
        let_through(error)
        return False
    return HAS_NATIVE


def _mend(package: str) -> None:
    """Name a package's modules in those that hold them, as an import does.

    After an import of the user's own that was interrupted, the modules that had been made are found, but no longer
    named in the package, which is made anew.
    """
    within = f"{package}."
    for name, module in [each for each in [*sys.modules.items()] if each[0].startswith(within)]:
        holder, _, last = name.rpartition(".")
        if module is not None and holder in sys.modules:
            vars(sys.modules[holder]).setdefault(last, module)


def load_triton() -> None:
    """Have Triton's modules loaded; call this before an import of any inside a function."""
    global _has_triton
    if not _has_triton:
        for name in _MODULES:
            load_heavy(name)
        _has_triton = True

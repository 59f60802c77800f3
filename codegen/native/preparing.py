"""What every first compilation for the CPU needs of the runtime's native code, compiled beside it on another core.

A process whose cache is empty spends its first compilation on loading Triton and the stages, module after module. LLVM
needs no Python meanwhile.
"""

from __future__ import annotations

import logging
import threading

from opweave.codegen.native import allocation, launch, llvm, objects, pool, segments
from opweave.registry.interrupts import let_through

_log = logging.getLogger("opweave.kernels")
#: In the order in which they are needed.
_CODE: tuple[objects.Code, ...] = (pool.CODE, launch.CODE, allocation.CODE, segments.CODE)
_begun: list[threading.Thread] = []


def begin() -> None:
    """Have a thread compile what the cache does not have; once in a process, which ends no sooner than the thread."""
    if not _begun:
        _begun.append(threading.Thread(target=_prepare, name="opweave: native code"))
        _begun[0].start()


def _prepare() -> None:
    try:
        missing = [code for code in _CODE if not code.is_kept()]
        if missing:
            llvm.loaded()  # before any lock is held
        for code in missing:
            code.fetch()
    except Exception as error:  # who needs it will be told
        let_through(error)
        _log.debug("native code could not be compiled beforehand: %s", error)

"""What every first compilation for the CPU needs of the runtime's native code, compiled beside it on another core.

A process whose cache is empty spends its first compilation on loading Triton and the stages, module after module.
"""

from __future__ import annotations

import functools
import logging

from opweave.codegen.native import allocation, background, launch, llvm, objects, pool, segments
from opweave.registry.interrupts import let_through
from opweave.registry.loading import HAS_NATIVE

_log = logging.getLogger("opweave.kernels")
#: In the order in which it is needed.
_FIRST = (pool.CODE, launch.CODE, allocation.CODE, segments.CODE)
_seen: set[str] = set()


def begin(*more: objects.Code) -> None:
    """Have compiled what the cache does not have, and this too, once."""
    if not HAS_NATIVE:
        return
    for codes, first in ((_FIRST, False), (more, True)):  # what only some programs need takes longest
        new = list({code.name: code for code in codes if code.name not in _seen}.values())
        _seen.update(code.name for code in new)
        background.begin(*[functools.partial(_prepare, code) for code in new], first=first)


def _prepare(code: objects.Code) -> None:
    try:
        if not code.is_kept():
            llvm.loaded()  # before any other lock is held
            code.fetch()
    except Exception as error:  # who needs it will be told
        let_through(error)
        _log.debug("native code could not be compiled beforehand: %s", error)

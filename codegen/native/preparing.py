"""What every first compilation for the CPU needs of the runtime's native code, compiled beside it on another core.

A process whose cache is empty spends its first compilation on loading Triton and the stages, module after module. LLVM
needs no Python meanwhile.
"""

from __future__ import annotations

import logging
import threading
from collections import deque

from opweave.codegen.native import allocation, launch, llvm, objects, pool, segments
from opweave.registry import forking
from opweave.registry.interrupts import let_through
from opweave.registry.loading import HAS_NATIVE

_log = logging.getLogger("opweave.kernels")
#: What is to be compiled, in the order in which it is needed.
_waiting: deque[objects.Code] = deque([pool.CODE, launch.CODE, allocation.CODE, segments.CODE])
_working = forking.lock()
_seen: set[str] = set()


def begin(*more: objects.Code) -> None:
    """Have a thread compile what the cache does not have, and this too, once; the process ends no sooner than it."""
    if not HAS_NATIVE:
        return
    new = [code for code in more if code.name not in _seen]
    _seen.update(code.name for code in new)
    _waiting.extend(new)
    if _waiting:
        try:
            threading.Thread(target=_work, name="opweave: native code").start()
        except RuntimeError as error:  # there are no new threads while the interpreter ends
            let_through(error)


def _work() -> None:
    with _working:
        while _waiting:
            try:
                code = _waiting.popleft()
                if not code.is_kept():
                    llvm.loaded()  # before any other lock is held
                    code.fetch()
            except Exception as error:  # who needs it will be told
                let_through(error)
                _log.debug("native code could not be compiled beforehand: %s", error)

"""Loads Triton when it is first needed, in one thread at a time.

Its modules import each other in circles, and opweave's backend for the CPU, which Triton loads as a plug-in, imports
Triton: threads that enter the circle at different places would see half-made modules.
"""

from __future__ import annotations

import importlib
import threading

#: Held while Triton, or a module that needs it, is loaded.
loading = threading.RLock()

#: Held while Python source is parsed to a tree, which Triton does with kernels: up to 3.12, CPython keeps the depth of
#: that in a place that threads share, and fails with a SystemError where two do it at once.
parsing = threading.RLock()

_MODULES = ("triton", "triton.runtime.autotuner", "triton.runtime.jit", "triton.compiler", "triton.backends.compiler")
_loaded = False


def load_triton() -> None:
    """Have Triton's modules loaded; call this before an import of any inside a function."""
    global _loaded
    if not _loaded:
        with loading:
            for name in _MODULES:
                importlib.import_module(name)
            _loaded = True

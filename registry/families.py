"""The files of `registry/ops` that are run when one of their ops is asked for, and not before.

opweave declares more ops than most programs call. A name of one is all that is needed until somebody looks at the op:
`registry.ops.index` has the names, by the file that declares them, and a packet of `ops.aten` knows from there which
files it waits for (`registry.packet`). To run a file changes nothing that was computed: what it declares was seen by
nobody. So no version counts it, and calls that were written down stay.

    ops.aten.fft_fft.default(x)
      └ the packet has no overloads yet: load("fourier"), which declares them, and others that the same file has

One thread at a time runs such files, and others see an op when its file has been run to the end.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
from collections.abc import Callable
from types import ModuleType

from opweave.registry import forking
from opweave.registry.interrupts import deferred
from opweave.registry.loading import uncollected

_PACKAGE = "opweave.registry.ops"
#: Namespaces of what they declare.
NAMESPACES = ("aten", "opweave")
#: Files of the folder that declare none.
_OTHERS = ("__init__", "index", "surface")

_then: dict[str, Callable[[ModuleType], None]] = {}

#: Held while files are run; whoever holds it takes no other lock.
_lock = forking.short_lock()


class _Declaring:
    """Which thread declares ops of opweave's own, 0 for none; the one that imports opweave begins with it."""

    thread = threading.get_ident()
    depth = 1


def is_declaring() -> bool:
    """Whether this thread declares ops of opweave's own, which nothing was computed from."""
    return _Declaring.thread == threading.get_ident()


def shipped() -> None:
    """What is registered from now on may change what was computed: opweave has been imported."""
    _Declaring.depth = _Declaring.thread = 0


def load(*names: str) -> bool:
    """Run files of `registry/ops`, each once.

    Returns
    -------
    bool
        Whether all have been run to the end, which one is not that asks for others.
    """
    if is_declaring() and all(map(is_run, names)):
        return False
    with _lock, deferred(patient=False), uncollected():
        _Declaring.thread = threading.get_ident()
        _Declaring.depth += 1
        try:
            for name in names:
                importlib.import_module(f"{_PACKAGE}.{name}")
            if _Declaring.depth == 1:
                for name in [name for name in _then if is_run(name)]:
                    _then.pop(name)(sys.modules[f"{_PACKAGE}.{name}"])
        finally:
            _Declaring.depth -= 1
            if not _Declaring.depth:
                _Declaring.thread = 0
        return not _Declaring.depth


def when_run(**functions: Callable[[ModuleType], None]) -> None:
    """Call functions with files of `registry/ops` once these have been run, before anybody sees an op of theirs.

    Parameters
    ----------
    **functions : callable
        By the file, which was not run yet: supplies its hooks, say. It takes no lock, and imports nothing.
    """
    assert not any(map(is_run, functions)) and _then.keys().isdisjoint(functions)
    _then.update(functions)


def family(name: str) -> ModuleType:
    """A file of `registry/ops`, run if it was not yet: for what is no op and is needed elsewhere."""
    load(name)
    return sys.modules[f"{_PACKAGE}.{name}"]


def is_run(name: str) -> bool:
    """Whether a file of `registry/ops` has been run, or is being run."""
    return f"{_PACKAGE}.{name}" in sys.modules


def names() -> list[str]:
    """The files of `registry/ops` that declare ops."""
    files = os.listdir(os.path.join(os.path.dirname(__file__), "ops"))
    return sorted(name[:-3] for name in files if name.endswith(".py") and name[:-3] not in _OTHERS)


def load_unindexed() -> bool:
    """Run all files, for a name that the index does not have; whether there were any that had not been run."""
    files = [name for name in names() if not is_run(name)]
    load(*files)
    return len(files) > 0

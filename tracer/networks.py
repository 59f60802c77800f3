"""networkx, of which most waits until it is asked for.

`import networkx` runs about 300 files of algorithms, generators and formats, a tenth of a second, and a graph needs
those of its class. `load_networkx` runs the package's own `__init__` without the rest; the first name that the package
lacks after that, asked for by whoever, imports the rest, in the order in which the package would have.
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from opweave.registry.interrupts import deferred
from opweave.registry.loading import loading, uncollected

_PACKAGE = "networkx"
#: What `networkx/__init__.py` imports after the classes of graphs, and gives the names of.
_REST = ("convert_matrix", "relabel", "generators", "readwrite", "algorithms", "linalg", "drawing")


def load_networkx() -> ModuleType:
    """The package; nothing is done where it has been imported."""
    found = sys.modules.get(_PACKAGE)
    if found is not None:
        return found
    with loading, deferred(patient=False), uncollected():
        return sys.modules.get(_PACKAGE) or _begin()


def _begin() -> ModuleType:
    """Run the package's `__init__` with empty modules in the places of what waits."""
    waiting = {f"{_PACKAGE}.{name}": ModuleType(f"{_PACKAGE}.{name}") for name in _REST}
    sys.modules.update(waiting)
    try:
        package = importlib.import_module(_PACKAGE)
    finally:
        for name, module in waiting.items():
            if sys.modules.get(name) is module:
                del sys.modules[name]
    for name in _REST:
        vars(package).pop(name, None)
    _Rest(package)
    return package


class _Rest:
    """What a package lacks, behind its `__getattr__`."""

    def __init__(self, package: ModuleType) -> None:
        self.package = package
        self.own: Any = vars(package).get("__getattr__")
        self.is_loading = False
        vars(package).update(__getattr__=self.find, __dir__=self.names)

    def find(self, name: str) -> Any:
        """A name that the package lacks; `from networkx import *` asks for `__all__`."""
        if name.startswith("__") and name != "__all__":
            raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")
        with loading:
            if not self.is_loading and vars(self.package).get("__getattr__") == self.find:
                self.load()
        namespace = vars(self.package)
        if name in namespace:
            return namespace[name]
        if self.own is not None:
            return self.own(name)
        raise AttributeError(f"module {_PACKAGE!r} has no attribute {name!r}")

    def names(self) -> list[str]:
        """All names, for `dir`."""
        getattr(self.package, _REST[-1])
        return sorted(vars(self.package))

    def load(self) -> None:
        """Import the rest; if that fails, the next name tries again."""
        self.is_loading = True
        try:
            with deferred(patient=False), uncollected():
                for name in _REST:
                    importlib.import_module(f"{_PACKAGE}.{name}")
                    exec(f"from {_PACKAGE}.{name} import *", vars(self.package))
        finally:
            self.is_loading = False
        namespace = vars(self.package)
        del namespace["__dir__"]
        if self.own is None:
            del namespace["__getattr__"]
        else:
            namespace["__getattr__"] = self.own

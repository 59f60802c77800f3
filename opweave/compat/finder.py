"""`import torch` where there is no PyTorch: a finder that makes modules of opweave's, and of the tables of names."""

from __future__ import annotations

import importlib
import importlib.abc
import importlib.machinery
import importlib.metadata
import importlib.util
import os
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from opweave.compat.absent import absent
from opweave.compat.names import ABSENT, PLACES, PRESENT, PYTORCH, VERSION
from opweave.registry import asking
from opweave.registry.errors import ArgumentError, OpweaveError, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

_TOP = "torch"
_HOME = Tensor.__module__
#: A module that PyTorch's wheel has beside it.
_BESIDE = "functorch"


class Stand(ModuleType):
    """A module of PyTorch's: names from opweave's module of that name, and from the tables."""

    def __init__(self, name: str, real: ModuleType | None) -> None:
        super().__init__(name, f"`{name}`, which opweave stands for.")
        self.__dict__["_real"] = real
        self.__dict__["_covered"] = {}
        self.__dict__["__path__"] = []
        if name == _TOP:
            self.__version__ = VERSION
        elif real is not None:  # packages look through `vars(torch.nn.modules.activation)`
            names = {*vars(real), *getattr(real, "__all__", ())}  # those that are loaded when asked for, too
            shown = {key: getattr(real, key) for key in names if not key.startswith("_")}
            own = PRESENT.get(name, {})
            self.__dict__.update({k: v for k, v in (shown | own).items() if not _is_read_anew(v)})

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") and name != "__all__" and f"{self.__name__}.{name}" not in PRESENT:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        found = self._found(name)
        if not _is_read_anew(found):
            self.__dict__[name] = found
        return found

    def _found(self, name: str) -> Any:
        own = PRESENT.get(self.__name__, {})
        if name in own:
            return own[name]
        if self.__name__ == _TOP and name in ("ops", _TOP):  # `torch.torch` is there, since PyTorch imports itself
            return Ops(ops, "torch.ops") if name == "ops" else self
        real = self.__dict__["_real"]
        if name == "__all__" and real is not None:  # what a star gives without it
            return sorted({*getattr(real, name, ()), *(key for key in self.__dict__ if not key.startswith("_"))})
        full = f"{self.__name__}.{name}"
        if full in PRESENT or full in ABSENT or full in PYTORCH:
            return importlib.import_module(full)
        if real is not None and name != "__all__" and hasattr(real, name):
            value = getattr(real, name)
            return importlib.import_module(full) if isinstance(value, ModuleType) else value
        if name in ABSENT.get(self.__name__, ()):
            return absent(full)
        if _real_module(full) is not None:
            return importlib.import_module(full)
        home = PYTORCH.get(self.__name__, {}).get(name)
        if home is not None:
            return getattr(importlib.import_module(home), name) if home else absent(full)
        raise AttributeError(f"module {self.__name__!r}, which opweave stands for, has no attribute {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        """Assign a name; opweave's own code calls by it what takes the place of a function, as PyTorch's does."""
        super().__setattr__(name, value)
        real = self.__dict__["_real"]
        if real is not None and isinstance(found := vars(real).get(name), FunctionType):
            self.__dict__["_covered"].setdefault(name, found)
        if name in self.__dict__["_covered"]:
            setattr(real, name, value)

    def __delattr__(self, name: str) -> None:
        super().__delattr__(name)
        covered = self.__dict__["_covered"]
        if name in covered:
            setattr(self.__dict__["_real"], name, covered.pop(name))

    def __dir__(self) -> list[str]:
        real = self.__dict__["_real"]
        own = [*PRESENT.get(self.__name__, ()), *ABSENT.get(self.__name__, ()), *PYTORCH.get(self.__name__, ())]
        inside = f"{self.__name__}."
        places = [place.removeprefix(inside) for table in (PRESENT, PLACES, PYTORCH) for place in table
                  if place.startswith(inside)]  # fmt: skip
        modules = [place for place in places if "." not in place]
        return sorted({*own, *modules, *(dir(real) if real is not None else ())})


def _is_read_anew(value: Any) -> bool:
    """Whether a name is looked up each time: settings may be assigned, and modules are stood for when imported."""
    return isinstance(value, (bool, int, float, ModuleType)) and not isinstance(value, Stand)


class LibraryError(UnsupportedError, OSError):
    """A shared library that cannot be loaded: most are for PyTorch."""


class Ops:
    """`torch.ops`: opweave's ops, and placeholders for those of PyTorch's that packages name and that are not here."""

    def __init__(self, real: Any, place: str) -> None:
        self._real, self._place = real, place

    def load_library(self, path: str | os.PathLike[str]) -> None:
        """Load a library of ops, if it is one for opweave; packages ask whether theirs is there by trying."""
        try:
            self._real.load_library(path)
        except OpweaveError as error:
            raise LibraryError(f"torch.ops.load_library: {error.what}", got=str(path)) from error

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        names = {*ABSENT.get(self._place, ()), *PYTORCH.get(self._place, ())}
        try:
            found = getattr(self._real, name)
        except AttributeError as error:
            let_through(error)
            if name not in names:
                raise
            return absent(f"{self._place}.{name}")  # not kept: it may be registered yet
        place = f"{self._place}.{name}"
        if place in ABSENT or place in PYTORCH:
            found = Ops(found, place)
        self.__dict__[name] = found
        return found

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._real(*args, **kwargs)

    def __dir__(self) -> list[str]:
        return sorted({*dir(self._real), *ABSENT.get(self._place, ())})


def _real_module(name: str) -> ModuleType | None:
    """opweave's module for one of PyTorch's."""
    path = PLACES.get(name, f"opweave{name.removeprefix(_TOP)}" if name.startswith(_TOP) else "opweave.compat.none")
    if path.startswith("opweave.compat"):
        return None
    try:
        if importlib.util.find_spec(path) is None:
            return None
    except (ImportError, ValueError) as error:
        let_through(error)
        return None
    return importlib.import_module(path)


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in (_TOP, _BESIDE):
            return None
        if not any(fullname in table for table in (PRESENT, ABSENT, PYTORCH)) and _real_module(fullname) is None:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return Stand(spec.name, _real_module(spec.name))

    def exec_module(self, module: ModuleType) -> None:
        pass

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterator[importlib.metadata.Distribution]:
        """What `importlib.metadata.version("torch")` asks."""
        if context is None or context.name in (None, _TOP):
            yield _Distribution()


class _Distribution(importlib.metadata.Distribution):
    """The package's metadata: its name and version."""

    def read_text(self, filename: str) -> str | None:
        return f"Metadata-Version: 2.1\nName: {_TOP}\nVersion: {VERSION}\n" if filename == "METADATA" else None

    def locate_file(self, path: str | os.PathLike[str]) -> Path:
        return Path(__file__).parents[2] / path


_finder = _Finder()


def install(*, force: bool = False) -> None:
    """Make `import torch` give opweave, in this process.

    Parameters
    ----------
    force : bool
        Also where PyTorch is installed, and not imported yet.

    Raises
    ------
    ArgumentError
        If PyTorch is imported, or installed and not `force`.

    Examples
    --------
    >>> opweave.compat.install()  # doctest: +SKIP
    >>> import torch  # doctest: +SKIP
    """
    if _finder in sys.meta_path:
        return
    if _TOP in sys.modules:
        raise ArgumentError("compat.install: torch is imported already", got=repr(sys.modules[_TOP]))
    if not force and importlib.util.find_spec(_TOP) is not None:
        raise ArgumentError(
            "compat.install: PyTorch is installed", got="import torch finds it", hint="install(force=True) hides it"
        )
    sys.meta_path.insert(0, _finder)
    asking.listen()
    Tensor.__module__ = _TOP  # packages choose by the module of the class what functions are for a tensor


def uninstall() -> None:
    """Take back what `install` did; modules that imported `torch` keep what they have.

    Examples
    --------
    >>> opweave.compat.uninstall()  # doctest: +SKIP
    """
    if _finder not in sys.meta_path:
        return
    sys.meta_path.remove(_finder)
    Tensor.__module__ = _HOME
    for name in [n for n, m in sys.modules.items() if isinstance(m, Stand)]:
        del sys.modules[name]

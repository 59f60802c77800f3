"""What C++ libraries and Python modules look for in each other. Nothing here loads the runtime."""

from __future__ import annotations

import ctypes
import importlib
import os
import sys

from opweave.registry.errors import RegistrationError
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload

_SYMBOL = "__tvm_ffi_opweave_library"
_seen: set[str] = set()


def new_libraries() -> list[str]:
    """The files of extension modules that register ops, of those that were imported since this was last asked.

    `from . import _C` is how many packages load their ops: the module has nothing for Python, its library registers.
    """
    found: list[str] = []
    if not hasattr(os, "RTLD_NOLOAD"):  # Windows, whose modules are no `.so`
        return found
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if isinstance(path, str) and path.endswith(".so") and path not in _seen:
            _seen.add(path)
            if _has_symbol(path):
                found.append(path)
    return found


def _has_symbol(path: str) -> bool:
    try:
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_LAZY)
    except OSError as error:  # it is not loaded under this name
        let_through(error)
        return False
    return hasattr(library, _SYMBOL)


def import_rules(op: OpOverload) -> None:
    """Import the Python module that a C++ library named for an op whose rule for tensors without data is missing.

    Raises
    ------
    RegistrationError
        If it is not there, or has no rule for the op either.
    """
    if op.python_module is None:
        return
    module, context = op.python_module
    about = f"{op.name}: its C++ library says that its rule for tensors without data is in the Python module {module!r}"
    try:
        importlib.import_module(module)
    except ImportError as error:
        raise RegistrationError(
            f"{about}, which cannot be imported",
            got=str(error),
            at=op.site,
            hint=context or f"install or import {module}",
        ) from None
    if op.fake is None:
        raise RegistrationError(
            f"{about}, which has been imported and registers none", at=op.site,
            hint=context or f"@opweave.library.register_fake({op.name!r}) in {module}",
        )  # fmt: skip

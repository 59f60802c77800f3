"""From generated source to functions: modules are real files, and get what they need from here by injection."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any


def load_module(path: Path, injected: dict[str, Any]) -> ModuleType:
    """Run a generated source file as a module.

    Parameters
    ----------
    path : Path
        The file; Triton reads kernels' source from it, and tracebacks show its lines.
    injected : dict
        Names that its code finds as globals.
    """
    digest = hashlib.sha256(os.fspath(path).encode()).hexdigest()[:16]
    name = f"opweave_generated_{path.stem}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    module.__dict__.update(injected)
    # Triton looks a kernel's module up by name.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module

"""Generated text as modules."""

from __future__ import annotations

import linecache
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

from opweave.registry.errors import note_own_file
from opweave.registry.quick_triton import quick_sources


def load_module(path: Path, text: str, names: Mapping[str, Any]) -> ModuleType:
    """Run a file's text as a module; the file itself is not read.

    Parameters
    ----------
    path : Path
        The file. It need not be there: Triton, tracebacks and `inspect` are given the text.
    text : str
        What it holds.
    names : mapping
        What its code finds as globals.
    """
    file = str(path)
    module = ModuleType(f"opweave_generated_{path.stem}")
    module.__file__ = file
    module.__dict__.update(names)
    note_own_file(file)
    # Without a time of modification an entry is never compared with the file on disk.
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    with quick_sources(file):
        exec(compile(text, file, "exec", dont_inherit=True), module.__dict__)
    return module

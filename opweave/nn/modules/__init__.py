"""The modules, in files by what they do; `opweave.nn` has all names, and hands them on here."""

from __future__ import annotations

import sys
from typing import Any


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(sys.modules["opweave.nn"], name)

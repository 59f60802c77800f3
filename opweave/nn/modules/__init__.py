"""The modules, in files by what they do; `opweave.nn` has all names, and hands them on here."""

from __future__ import annotations

import sys
from typing import Any

from opweave.registry.loading import load_heavy


def __getattr__(name: str) -> Any:
    if name.startswith("_"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    whole: Any = sys.modules["opweave.nn"]
    if name == "lazy" or name in whole._FILES:
        return load_heavy(f"{__name__}.{name}")
    return getattr(whole, name)

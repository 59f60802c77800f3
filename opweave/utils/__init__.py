"""The names of `torch.utils` that opweave has: `cpp_extension`."""

from __future__ import annotations

import importlib
import sys
from pathlib import Path
from typing import Any

#: For `cmake -DCMAKE_PREFIX_PATH=...`: where `find_package(opweave)` finds the headers of C++ op libraries.
cmake_prefix_path = str(Path(sys.modules["opweave"].__path__[0]) / "share" / "cmake")


def __getattr__(name: str) -> Any:
    if name != "cpp_extension":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return importlib.import_module("opweave.utils.cpp_extension")

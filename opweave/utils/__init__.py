"""The names of `torch.utils` that opweave has: `checkpoint`, `cpp_extension`, `data` and others."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from opweave.registry.loading import load_heavy

if TYPE_CHECKING:
    from opweave.utils import (
        checkpoint as checkpoint,
        cpp_extension as cpp_extension,
        data as data,
        dlpack as dlpack,
        flop_counter as flop_counter,
        module_tracker as module_tracker,
    )

__all__ = ["checkpoint", "cmake_prefix_path", "cpp_extension", "data", "dlpack", "flop_counter", "module_tracker"]

#: For `cmake -DCMAKE_PREFIX_PATH=...`: where `find_package(opweave)` finds the headers of C++ op libraries.
cmake_prefix_path = str(Path(sys.modules["opweave"].__path__[0]) / "share" / "cmake")


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return load_heavy(f"opweave.utils.{name}")


def __dir__() -> list[str]:
    return sorted(__all__)

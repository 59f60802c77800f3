"""Code written for PyTorch without PyTorch, and beside it.

`install` makes `import torch` give opweave:

    import opweave.compat

    opweave.compat.install()
    import torch                    # opweave, under PyTorch's names
    from torch import nn

Nothing here happens by itself. Names of PyTorch's that packages touch when they are imported, and that opweave has not,
are there as placeholders: they can be imported, named in annotations, derived from and compared, and say that they are
not there when they are called. A module or a name that is in no table is missing, as anywhere.

Where PyTorch is installed, both work in one process; it is imported by the first use of these:

    x = opweave.compat.from_torch(t)                          # one memory, both ways
    t = opweave.compat.to_torch(x)
    f = torch.compile(f, backend=opweave.compat.backend)      # PyTorch's graphs, opweave's kernels
    opweave.library.to_torch(op)                              # an op of opweave's as torch.ops.<namespace>.<name>
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from opweave.compat.finder import install, uninstall

if TYPE_CHECKING:
    from opweave.compat.dynamo import backend
    from opweave.compat.sharing import from_torch, to_torch

__all__ = ["backend", "from_torch", "install", "to_torch", "uninstall"]
_LATER = {"backend": "dynamo", "from_torch": "sharing", "to_torch": "sharing"}


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'opweave.compat' has no attribute {name!r}")
    globals()[name] = found = getattr(importlib.import_module(f"opweave.compat.{_LATER[name]}"), name)
    return found


def __dir__() -> list[str]:
    return sorted(__all__)

"""Linear algebra: the names, arguments and results of `torch.linalg`, over the ops `aten.linalg_*`.

    L = opweave.linalg.cholesky(A)
    x = opweave.linalg.solve(A, b)
    U, S, Vh = opweave.linalg.svd(A, full_matrices=False)

Matrices are the last two dimensions; all others are a batch. LAPACK does the work, through NumPy (cuSOLVER through
CuPy); factorizations of symmetric indefinite matrices (`ldl_factor`) need SciPy. `help(opweave.linalg.solve)` shows the
schema of each function.
"""

from __future__ import annotations

from typing import Any

from opweave.registry.errors import LinAlgError
from opweave.registry.ops import surface as _surface

_FUNCTIONS = _surface.functions_of("linalg")
globals().update(_FUNCTIONS)

__all__ = ["LinAlgError", *_FUNCTIONS]  # pyright: ignore[reportUnsupportedDunderAll]  # made from the ops


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'opweave.linalg' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

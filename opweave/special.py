"""Special functions: the names, arguments and results of `torch.special`, over the ops `aten.special_*`."""

from __future__ import annotations

from typing import Any

from opweave.registry.ops import surface as _surface

_FUNCTIONS = _surface.functions_of("special")
globals().update(_FUNCTIONS)

__all__ = list(_FUNCTIONS)  # pyright: ignore[reportUnsupportedDunderAll]  # made from the ops


def __getattr__(name: str) -> Any:
    raise AttributeError(f"module 'opweave.special' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(__all__)

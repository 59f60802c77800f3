"""Whether launches are sanitized here, and how strictly: what the sanitizer sets, and what launches without it ask."""

from __future__ import annotations

import os
from contextvars import ContextVar
from typing import NamedTuple

FOREVER = (1 << 63) - 1


class Settings(NamedTuple):
    """What is looked at.

    Attributes
    ----------
    benign : bool
        Whether two programs that write one element are reported if it is the same value.
    strict : bool
        Whether a kernel may touch its tensors' own elements and nothing else: not what they are views of, nor memory
        whose address it was told.
    steps : int
        The most steps of a launch.
    """

    benign: bool = False
    strict: bool = False
    steps: int = FOREVER


here: ContextVar[Settings | bool | None] = ContextVar("opweave_sanitize", default=None)
EVERYWHERE = os.environ.get("OPWEAVE_SANITIZE", "0") not in ("", "0")


def enabled() -> bool:
    """Whether launches are sanitized in this context."""
    found = here.get()
    return EVERYWHERE if found is None else found is not False


def settings() -> Settings:
    """What is looked at in this context."""
    found = here.get()
    return found if isinstance(found, Settings) else Settings()

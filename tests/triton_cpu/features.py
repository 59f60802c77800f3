"""What the installed Triton can do, where its releases from 3.6 to 3.9 differ."""

from __future__ import annotations

import triton

_RELEASE = tuple(int(part) for part in triton.__version__.split(".")[:2])

NO_BLOCK_POINTERS = "Triton 3.9 has no block pointers" if _RELEASE >= (3, 9) else ""
NO_NARROW_HISTOGRAM = "Triton 3.9 counts 32-bit integers only" if _RELEASE >= (3, 9) else ""
MINUS_IS_A_SUBTRACTION = _RELEASE < (3, 8)
"""Whether `-x` is `0 - x`, so that `-(0.0)` is 0.0."""

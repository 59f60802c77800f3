"""Lets the parity tests import what the tests of ops share."""

from __future__ import annotations

import sys
from pathlib import Path

here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent / "registry" / "ops")]

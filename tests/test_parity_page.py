"""The page on parity shows the table that the parity tests take their exceptions from."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_page_is_the_table():
    script = ROOT / "tests" / "parity" / "differences.py"
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert (ROOT / "docs" / "parity.md").read_text() == done.stdout

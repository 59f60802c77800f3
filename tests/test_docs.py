"""What the documents show is what the code says."""

from __future__ import annotations

import inspect
import os
import re
import subprocess
import sys
from pathlib import Path

from opweave.registry.ops import activation

ROOT = Path(__file__).parents[1]


def test_the_walk_through_an_op_is_the_op():
    source = inspect.getsource(activation)
    page = (ROOT / "docs" / "how-to" / "op.md").read_text().partition("## Doing it")[0]
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 5
    for block in blocks:
        assert block in source, block


def test_the_page_on_triton_runs(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "triton_cpu.md").read_text(), re.M | re.S)
    assert len(blocks) == 4
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=dict(os.environ))
    assert not done.returncode, done.stderr

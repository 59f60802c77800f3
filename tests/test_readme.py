"""The Python blocks of the README run, in order, as one program."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import opweave

README = Path(__file__).parent.parent / "README.md"


def test_blocks_run(tmp_path: Path) -> None:
    text = README.read_text()
    blocks = re.findall(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    assert blocks
    # A file of its own, since Triton reads the source of kernels.
    script = tmp_path / "readme.py"
    script.write_text("\n\n".join(blocks))
    done = subprocess.run([sys.executable, str(script)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_files_that_are_named_exist() -> None:
    package = Path(opweave.__path__[0])
    roots = (README.parent, package, package.parent)  # where opweave is installed, its sources are not beside the tests
    guides = [guide for guide in (README.parent / "CONTRIBUTING.md",) if guide.exists()]
    for document in (README, *guides, *(README.parent / "docs").rglob("*.md")):
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", document.read_text()):
            assert any((root / name).exists() for root in roots), f"{document.name}: {name}"

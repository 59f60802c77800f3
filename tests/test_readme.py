"""The Python blocks of the README run, each by itself."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import opweave

README = Path(__file__).parent.parent / "README.md"
BLOCKS = re.findall(r"^```python\n(.*?)^```$", README.read_text(), re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("number", range(len(BLOCKS)))
def test_a_block_runs_alone(number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    script = tmp_path / "block.py"  # a file, since Triton reads the source of kernels
    script.write_text(BLOCKS[number])
    exec(compile(script.read_text(), str(script), "exec"), {"__name__": "block"})


def test_there_are_blocks() -> None:
    assert len(BLOCKS) == 6


def test_files_that_are_named_exist() -> None:
    package = Path(opweave.__path__[0])
    roots = (README.parent, package, package.parent)  # where opweave is installed, its sources are not beside the tests
    guides = [guide for guide in (README.parent / "CONTRIBUTING.md",) if guide.exists()]
    pages = [page for page in (README.parent / "docs").rglob("*.md") if page.parent.name != "reference"]
    for document in (README, *guides, *pages):
        for name in re.findall(r"`([\w/]+(?:\.py|/))`", document.read_text()):
            assert any((root / name).exists() for root in roots), f"{document.name}: {name}"

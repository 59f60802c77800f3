"""Every Python block of the README runs, in order and in one namespace, as a reader would try them."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

README = Path(__file__).parent.parent / "README.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_blocks_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    text = README.read_text()
    blocks = list(BLOCK.finditer(text))
    assert blocks, "the README has no Python blocks"
    # Kernels need their source, so the blocks become a file with the README's line numbers.
    lines = [""] * text.count("\n")
    for block in blocks:
        first = text.count("\n", 0, block.start(1))
        for offset, line in enumerate(block[1].splitlines()):
            lines[first + offset] = line
    script = tmp_path / "readme.py"
    script.write_text("\n".join(lines))
    monkeypatch.chdir(tmp_path)
    namespace = {"__name__": "__main__", "__file__": str(script)}
    exec(compile(script.read_text(), str(script), "exec"), namespace)
    for expected in re.findall(r"#> (.*)$", text, re.MULTILINE):
        assert expected in capsys.readouterr().out

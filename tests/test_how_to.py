"""The pages of `docs/how-to/`, done: a copy of opweave is changed as a page says, and the page's program runs."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import opweave

ROOT = Path(__file__).parents[1]
PAGES = sorted((ROOT / "docs" / "how-to").glob("*.md"))
#: A fence that names a file: Python goes to the file's end, a diff is applied.
BLOCK = re.compile(r"^```(python|diff) (\S+)\n(.*?)^```$", re.M | re.S)
#: The file of a page that is run.
PROGRAM = "program.py"


def patched(text: str, diff: str) -> str:
    """A text in which the lines of a diff, once there as they were, are as they are to be."""
    lines = diff.splitlines(keepends=True)
    before = "".join(line[1:] for line in lines if line[0] != "+")
    assert text.count(before) == 1, f"{text.count(before)} times in the file:\n{before}"
    return text.replace(before, "".join(line[1:] for line in lines if line[0] != "-"))


def follow(page: Path, folder: Path) -> dict[str, str]:
    """Copy opweave into a folder, change the copy as the page says, run its program; the environment of that."""
    shutil.copytree(opweave.__path__[0], folder / "opweave")
    for language, name, code in BLOCK.findall(page.read_text()):
        path = folder / PROGRAM if name == PROGRAM else folder / "opweave" / name.removeprefix("opweave/")
        if language == "diff":
            path.write_text(patched(path.read_text(), code))
        else:
            path.write_text(f"{path.read_text()}\n\n{code}" if path.exists() else code)
    environment = {**os.environ, "PYTHONPATH": str(folder)}
    done = subprocess.run([sys.executable, PROGRAM], cwd=folder, capture_output=True, text=True, env=environment)
    assert done.returncode == 0, done.stderr
    return environment


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_what_a_page_says_works(page, tmp_path):
    environment = follow(page, tmp_path)
    if page.stem == "op":
        # `-P`: this folder's opweave is not on the path.
        command = [sys.executable, "-P", "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", ROOT / "pyproject.toml"]
        tests = [ROOT / "tests" / name for name in ("test_op_matrix.py", "registry/ops/test_declared.py")]
        done = subprocess.run(
            [*command, "--rootdir", ROOT, "--op", "squareplus", *tests],
            cwd=tmp_path, capture_output=True, text=True, env=environment,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout[-4000:]
        assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 4, done.stdout


def test_what_does_not_fit_is_noticed():
    assert patched("a\nb\nc\n", " a\n-b\n+d\n c\n") == "a\nd\nc\n"
    with pytest.raises(AssertionError, match="0 times in the file"):
        patched("a\nc\n", " b\n+d\n")


def test_every_page_is_in_the_guide():
    guide = (ROOT / "CONTRIBUTING.md").read_text()
    assert [page.name for page in PAGES if f"docs/how-to/{page.name}" not in guide] == []

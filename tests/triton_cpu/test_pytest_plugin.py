"""`pytest --opweave-sanitize`, as a project that has Triton kernels runs it."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib.metadata import entry_points
from pathlib import Path

PROJECT = """
import sys
import pytest


def test_nothing_is_imported():
    assert ("opweave" in sys.modules) == ("--opweave-sanitize" in sys.argv)


def load():
    import opweave, triton, triton.language as tl
    @triton.jit
    def double(x, y, n, B: tl.constexpr):
        i = tl.arange(0, B)
        tl.store(y + i, tl.load(x + i) * 2, i < n)  # the load has no mask
    x, y = opweave.ones(6), opweave.empty(6)
    double[(1,)](x, y, 6, B=8)
    assert y.tolist() == [2.0] * 6


def test_unmasked():
    load()


@pytest.mark.opweave_sanitize(False)
def test_left_out():
    load()


@pytest.mark.opweave_sanitize
def test_always():
    load()
"""


def run(folder: Path, *options: str) -> str:
    is_installed = any(entry.value == "pytest_opweave" for entry in entry_points(group="pytest11"))
    named = () if is_installed else ("-p", "pytest_opweave")
    command = [sys.executable, "-m", "pytest", "-q", *named, "-p", "no:cacheprovider", *options]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=dict(os.environ), check=False)
    return done.stdout


def test_a_kernel_that_reads_outside_fails_its_test(tmp_path: Path) -> None:
    (tmp_path / "test_kernels.py").write_text(PROJECT)
    plain = run(tmp_path)
    assert "1 failed, 3 passed" in plain and "test_always" in plain, plain
    told = run(tmp_path, "--opweave-sanitize")
    assert "2 failed, 2 passed" in told and "FAILED test_kernels.py::test_unmasked - opweave" in told, told
    for part in ("SanitizerError", "double", "test_kernels.py:15", "outside"):
        assert part in told, told
    # The test's frames are shown, and none of those between it and the sanitizer's.
    assert ">       load()" in told or ">   load()" in told, told
    assert "sanitizer.py" not in told and "inside opweave left out" in told, told

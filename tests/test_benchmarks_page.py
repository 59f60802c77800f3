"""The page of the benchmarks, from times that no machine needed: what stands in it, and what a second run measures."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

import pytest

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
sys.path.insert(0, str(BENCHMARKS))

import kernels
import products
import results

sys.path.remove(str(BENCHMARKS))
SPEEDS = {"bytes": 2e10, "float32": 1e11, "bfloat16": 2e11}


@pytest.fixture
def run(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Any:
    """Calls the page's main with times of one's own; gives the page and what was measured."""
    measured: list[tuple[str, int]] = []

    def all_of(
        pythons: dict[str, str], threads: int, rounds: int, seconds: float, names: list[str], script: str, *_: Any
    ):
        measured.append((Path(script).name, threads))
        return {name: {each: [2e-3 if each == "torch" else 1e-3] * rounds for each in pythons} for name in names}

    monkeypatch.setattr(kernels, "all_of", all_of)
    monkeypatch.setattr(results, "machine", lambda threads: SPEEDS)
    monkeypatch.setattr(results, "version", lambda library, _: None if library in ("jax", "numba") else "1.0")

    def main(*arguments: str) -> tuple[str, list[tuple[str, int]]]:
        measured.clear()
        kept = ("--kept", str(tmp_path / "kept.json"), "--folder", str(tmp_path))
        monkeypatch.setattr(sys, "argv", ["results.py", "--quick", *kept, *arguments])
        results.main()
        return (tmp_path / "results.md").read_text(), [*measured]

    return main


def test_a_page(run: Any, tmp_path: Path) -> None:
    page, measured = run("--only", "products,kernels")
    assert measured == [("products.py", 1), ("products.py", 2), ("kernels.py", 1), ("kernels.py", 2)]
    row = next(line for line in page.splitlines() if line.startswith("| bfloat16 1024 x 1024 x 1024"))
    # 2 * 1024^3 operations in a millisecond, of 200 billion a second.
    assert row == "| bfloat16 1024 x 1024 x 1024 | 1000.0 | 2000.0 | 2147.5 Gop/s, 10.74 | 2.00 (torch) |"
    assert "jax (not installed) | numba (not installed)" in page
    assert "| int8 8 x 1024 x 1024 | 1000.0 | 2000.0 |  | 2.00 (torch) |" in page  # this machine has no unit for it
    copied = next(line for line in page.splitlines() if line.startswith("| copy |"))
    assert f"{kernels.WORK['copy'][1] / 1e-3 / 1e9:.1f} GB/s" in copied
    assert (tmp_path / "results.svg").read_text().startswith("<svg")


def test_a_run_goes_on_where_it_was(run: Any) -> None:
    assert len(run("--only", "products")[1]) == 2
    page, measured = run("--only", "products,kernels")
    assert measured == [("kernels.py", 1), ("kernels.py", 2)]
    assert re.search("^## Products", page, re.MULTILINE)
    assert len(run("--only", "products", "--fresh")[1]) == 2
    assert len(run("--only", "products", "--rounds", "2")[1]) == 2  # other settings


def test_work_has_costs() -> None:
    assert {*results.PARTS["peers"].costs()} == {*results.PARTS["peers"].names} - {"softmax of 16 x 16", "add of 8"}
    assert {*results.PARTS["products"].costs()} == {*products.WORK}
    for part in results.PARTS.values():
        assert {*part.quick} <= {*part.names}

"""What the caches hold is damaged, or their disk fails: numbers stay right, nothing raises, all is mended."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.append(str(Path(__file__).parent))

import damaged_entries
from damaged_entries import OF_FILES, OF_FOLDERS, Cache


@pytest.fixture(scope="module")
def caches(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Cache]:
    with pytest.MonkeyPatch.context() as patch:
        for name in ("OPWEAVE_CACHE_DIR", "TRITON_CACHE_DIR"):
            patch.setenv(name, "")  # set by each program, and put back
        return damaged_entries.fill(tmp_path_factory.mktemp("damaged"))


@pytest.fixture(autouse=True)
def folders(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPWEAVE_CACHE_DIR", "TRITON_CACHE_DIR"):
        monkeypatch.setenv(name, "")


def test_each_program_leaves_what_the_next_process_uses(caches):
    roots = {name: {entry.parent.name for entry in cache.entries()} for name, cache in caches.items()}
    users = {"launch", "tuned"}  # kernels of users, launched as they are, are in Triton's cache
    assert roots == {name: {"triton"} if name in users else {"opweave"} for name in caches}


def test_damage(caches):
    """A few of all there are; `damaged_entries.py` tries as many as one likes."""
    report = damaged_entries.tried(caches, count=40, seed=1)
    assert report.good, str(report)


@pytest.mark.parametrize(
    ("program", "file"), [("pointwise", "fused_*.py"), ("pointwise", "code.o"), ("launch", "axpy_kernel.obj")]
)
def test_each_sort_of_damage_to_what_is_executed(caches, program, file):
    cache = caches[program]
    (code,) = [code for entry in cache.entries() for code in entry.glob(file)]
    entry = code.parent
    trials = [(cache, "file", kind, code) for kind in OF_FILES] + [
        (cache, "folder", kind, entry) for kind in OF_FOLDERS
    ]
    report = damaged_entries.report_of(trials, seed=2)
    assert report.good, str(report)

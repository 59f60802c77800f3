"""Artifacts on disk: found again, made anew when damaged, safe among processes."""

from __future__ import annotations

import logging
import os
import stat
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from opweave.codegen import cache

FILES = {"wrapper.py": "def call(x):\n    return x\n", "kernel_0.py": "# ä\n"}


@pytest.fixture
def root(tmp_path, monkeypatch):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path))
    monkeypatch.delenv("OPWEAVE_CACHE", raising=False)
    return tmp_path


def never() -> dict[str, str]:
    raise AssertionError("made again")


def test_second_fetch_finds_it(root):
    key = cache.key_of("graph", "name")
    first = cache.fetch(key, lambda: FILES)
    second = cache.fetch(key, never)
    assert (first.hit, second.hit) == (False, True)
    assert first.files == second.files == FILES
    assert first.path == second.path and first.path.is_relative_to(root)
    assert (first.path / "kernel_0.py").read_text() == "# ä\n"


def test_key_covers_parts_and_their_borders():
    keys = {cache.key_of("ab", "c"), cache.key_of("a", "bc"), cache.key_of("abc"), cache.key_of("ab", "c", "")}
    assert len(keys) == 4


def test_environment_names_what_matters():
    text = cache.environment()
    assert cache.source_hash() in text and "triton" in text and sys.version in text and cache.cpu_features() in text


def test_sources_are_files(tmp_path):
    """Of links to folders as well; not locks of editors, which are links to nothing."""
    package, other = tmp_path / "package", tmp_path / "other"
    for folder in (package / "named.py", package / "__pycache__", other):
        folder.mkdir(parents=True)
    for file in (package / "a.py", package / "named.py" / "b.ll", package / "__pycache__" / "c.py", other / "d.py"):
        file.write_text(file.name)
    (package / "e.txt").write_text("no source")
    (package / "stage").symlink_to(other)
    (package / ".#a.py").symlink_to("nobody@nowhere")
    found = {
        os.path.relpath(path, package): cache._content(path, size) for path, size, _ in cache._sources(str(package))
    }
    assert found == {"a.py": b"a.py", "named.py/b.ll": b"b.ll", "stage/d.py": b"d.py"}
    assert cache._content(str(package / "a.py"), 1) == b"a.py"  # it has grown since


@pytest.mark.parametrize("damage", ["flip", "truncate", "delete", "manifest", "not json", "empty manifest"])
def test_damage_is_noticed_and_mended(root, damage, caplog):
    key = cache.key_of("graph")
    path = cache.fetch(key, lambda: FILES).path
    target = path / ("manifest.json" if "manifest" in damage or damage == "not json" else "wrapper.py")
    if damage == "flip":
        data = bytearray(target.read_bytes())
        data[3] ^= 1
        target.write_bytes(data)
    elif damage == "truncate":
        target.write_bytes(target.read_bytes()[:5])
    elif damage in ("delete", "manifest"):
        target.unlink()
    else:
        target.write_text("{" if damage == "not json" else "{}")
    logging.getLogger("opweave").propagate = True
    with caplog.at_level(logging.WARNING, "opweave.kernels"):
        again = cache.fetch(key, lambda: FILES)
    assert not again.hit and again.files == FILES
    assert "making it anew" in caplog.text and str(path) in caplog.text
    assert cache.fetch(key, never).hit


def test_switched_off_keeps_nothing(root, monkeypatch):
    monkeypatch.setenv("OPWEAVE_CACHE", "0")
    artifact = cache.fetch(cache.key_of("graph"), lambda: FILES)
    assert (artifact.path / "wrapper.py").exists()
    assert list(root.iterdir()) == []


def test_unwritable_directory_is_no_error(root, monkeypatch, caplog):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(root / "file" / "below"))
    (root / "file").write_text("")
    artifact = cache.fetch(cache.key_of("graph"), lambda: FILES)
    assert (artifact.path / "wrapper.py").read_text() == FILES["wrapper.py"]


def test_threads_agree(root):
    key = cache.key_of("graph")
    with ThreadPoolExecutor(8) as pool:
        artifacts = list(pool.map(lambda _: cache.fetch(key, lambda: FILES), range(32)))
    assert all(a.files == FILES for a in artifacts)
    left = [p for p in root.iterdir() if p.name != key]
    assert left == []


def test_processes_agree(root):
    code = (
        "from opweave.codegen import cache\n"
        "for i in range(20):\n"
        "    a = cache.fetch(cache.key_of(str(i)), lambda: {'f': 'x' * 1000 + str(i)})\n"
        "    assert a.files['f'] == 'x' * 1000 + str(i) and (a.path / 'f').read_text() == a.files['f']\n"
    )
    workers = [subprocess.Popen([sys.executable, "-c", code], env=os.environ.copy()) for _ in range(3)]
    assert [w.wait() for w in workers] == [0, 0, 0]
    assert not list(root.rglob(".*"))


def test_files_are_private_to_their_directory(root):
    path = cache.fetch(cache.key_of("graph"), lambda: FILES).path
    assert not stat.S_IMODE(path.stat().st_mode) & stat.S_IWOTH


def test_what_could_not_be_kept_is_kept_as_soon_as_it_can(root):
    (root / "blocked").write_text("")
    os.environ["OPWEAVE_CACHE_DIR"] = str(root / "blocked")  # put back by the fixture
    key = cache.key_of("kept later")
    assert not cache.fetch(key, lambda: FILES).hit
    assert cache.fetch(key, never).hit
    (root / "blocked").unlink()
    assert cache.fetch(key, never).path.parent != root / "blocked"
    assert cache.fetch(key, never).path.parent == root / "blocked"

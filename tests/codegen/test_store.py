"""Entries on disk: whose folders are taken, what is read of them, and what happens where they cannot be written."""

from __future__ import annotations

import errno
import json
import logging
import os
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

from opweave.codegen import store
from opweave.codegen.store import Store
from opweave.registry import folders

FILES = {"code.py": b"x = 1\n", "data": bytes(range(256))}
AS_ROOT = os.geteuid() == 0


@pytest.fixture
def said(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> pytest.LogCaptureFixture:
    monkeypatch.setattr(store, "_said", set())
    monkeypatch.setattr(logging.getLogger("opweave"), "propagate", True)
    caplog.set_level(logging.WARNING, "opweave.kernels")
    return caplog


@pytest.fixture
def kept(tmp_path: Path) -> Store:
    return Store(tmp_path / "root", "going on")


def test_round_trip(kept: Store) -> None:
    assert kept.read("a") is None
    assert kept.write("a", FILES)
    assert kept.read("a") == FILES
    assert kept.write("a", {"other": b""}) and kept.read("a") == {"other": b""}
    assert sorted(p.name for p in kept.root.iterdir()) == ["a"]


def test_nobody_else_may_write_there_whatever_the_umask(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        kept = Store(tmp_path / "a" / "b" / "root", "")
        assert kept.write("a", FILES)
    finally:
        os.umask(before)
    paths = [tmp_path / "a", *(tmp_path / "a").rglob("*")]
    assert not [path for path in paths if path.stat().st_mode & 0o077]


# ---- whose folders are taken ---------------------------------------------------------------------------------------


def refused(kept: Store, said: pytest.LogCaptureFixture) -> str:
    """What is said of a store with an entry that must not be taken, once."""
    for _ in range(2):
        assert kept.read("a") is None
        assert not kept.write("a", {})
    (record,) = said.records
    return record.getMessage()


@pytest.mark.parametrize("mode", [0o777, 0o775, 0o722])
@pytest.mark.parametrize("place", ["root", "parent"])
def test_a_folder_that_others_can_write(tmp_path: Path, said: pytest.LogCaptureFixture, mode: int, place: str) -> None:
    kept = Store(tmp_path / "parent" / "root", "going on")
    assert kept.write("a", FILES)
    folder = kept.root if place == "root" else kept.root.parent
    folder.chmod(mode)
    message = refused(kept, said)
    assert message.startswith(f"cache: {folder} can be written by others (mode {mode:o}")
    assert message.endswith("going on")
    folder.chmod(0o755)
    assert kept.read("a") == FILES


def test_sticky_folders_are_as_good_as_those_above_tmp(tmp_path: Path) -> None:
    kept = Store(tmp_path / "parent" / "root", "")
    assert kept.write("a", FILES)
    kept.root.parent.chmod(0o1777)
    assert kept.read("a") == FILES


@pytest.mark.skipif(not AS_ROOT, reason="only root gives files away")
@pytest.mark.parametrize("place", ["root", "parent"])
def test_a_folder_of_somebody_else(tmp_path: Path, said: pytest.LogCaptureFixture, place: str) -> None:
    kept = Store(tmp_path / "parent" / "root", "going on")
    assert kept.write("a", FILES)
    folder = kept.root if place == "root" else kept.root.parent
    os.chown(folder, 12345, 12345)
    assert f"{folder} belongs to user 12345" in refused(kept, said)


def test_links_are_followed_and_what_they_lead_to_is_looked_at(tmp_path: Path, said: pytest.LogCaptureFixture) -> None:
    (tmp_path / "open" / "real").mkdir(parents=True, mode=0o755)
    (tmp_path / "middle").symlink_to(tmp_path / "open" / "real")
    (tmp_path / "link").symlink_to("middle")
    kept = Store(tmp_path / "link", "going on")
    assert kept.write("a", FILES) and kept.read("a") == FILES
    (tmp_path / "open").chmod(0o777)
    assert f"{tmp_path / 'open'} can be written by others" in refused(kept, said)


@pytest.mark.skipif(not AS_ROOT, reason="only root gives links away")
def test_a_link_of_somebody_else(tmp_path: Path, said: pytest.LogCaptureFixture) -> None:
    (tmp_path / "real").mkdir(mode=0o755)
    (tmp_path / "link").symlink_to("real")
    os.lchown(tmp_path / "link", 12345, 12345)
    assert "is a link of user 12345" in refused(Store(tmp_path / "link", ""), said)


# ---- what is read ----------------------------------------------------------------------------------------------------


def test_what_is_given_out_is_what_was_checked(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each file is opened once: there is no second look that could see something else."""
    kept.write("a", FILES)
    opened = []

    class Watching:
        def __getattr__(self, name: str):
            return getattr(os, name)

        def open(self, path, *args, **kwargs):
            opened.append(str(path))
            return os.open(path, *args, **kwargs)

    monkeypatch.setattr(store, "os", Watching())
    assert kept.read("a") == FILES
    assert sorted(opened) == sorted([str(kept.root), "a", "manifest.json", *FILES])


def test_an_entry_is_good_for_its_key_alone(kept: Store, said: pytest.LogCaptureFixture) -> None:
    kept.write("a", FILES)
    (kept.root / "a").rename(kept.root / "b")
    assert kept.read("b") is None
    assert "b is damaged (its manifest is not what was written for it); making it anew" in said.text


def test_a_manifest_names_no_files_elsewhere(kept: Store) -> None:
    kept.write("a", FILES)
    (kept.root / "secret").write_bytes(b"secret")
    os.chmod(kept.root / "secret", 0o600)
    files = {"../secret": [6, store._digest(b"secret")]}
    (kept.root / "a" / "manifest.json").write_text(json.dumps(store._manifest("a", files)))
    assert kept.read("a") is None


def test_damage_is_reported_once(kept: Store, said: pytest.LogCaptureFixture) -> None:
    kept.write("a", FILES)
    (kept.root / "a" / "data").write_bytes(b"")
    assert [kept.read("a") for _ in range(3)] == [None] * 3
    assert len(said.records) == 1 and "size of data" in said.text


# ---- where nothing can be written ------------------------------------------------------------------------------------


@pytest.mark.parametrize("error", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO, errno.EACCES])
@pytest.mark.parametrize("call", ["mkdir", "open", "write", "rename"])
@pytest.mark.parametrize("after", range(3))
def test_a_disk_that_fails(
    kept: Store, said: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, call: str, error: int, after: int
) -> None:
    kept.write("old", FILES)
    left = [after]

    def failing(*args, **kwargs):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(error, os.strerror(error))
        return getattr(os, call)(*args, **kwargs)

    class Failing:
        def __getattr__(self, name: str):
            return failing if name == call else getattr(os, name)

    with monkeypatch.context() as patch:
        patch.setattr(store, "os", Failing())
        results = [kept.write("old", {"new": b"new"}), kept.write("a", FILES), kept.write("b", FILES)]
    assert not all(results)
    (record,) = said.records
    assert f"cannot write {kept.root} ({os.strerror(error)}); going on" in record.getMessage()
    # Nothing half made is left, and what is there is whole.
    found = {p.name for p in kept.root.iterdir()}
    assert {name for name in found if name.startswith(".new")} <= (found if call == "open" else set())
    assert all(kept.read(name) is not None for name in found if not name.startswith("."))
    assert kept.write("a", FILES) and kept.read("a") == FILES


def test_interrupted_while_writing(kept: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    class Interrupting:
        def __getattr__(self, name: str):
            return getattr(os, name)

        def write(self, *args):
            raise KeyboardInterrupt

    monkeypatch.setattr(store, "os", Interrupting())
    with pytest.raises(KeyboardInterrupt):
        kept.write("a", FILES)
    assert list(kept.root.iterdir()) == []


def test_without_a_folder() -> None:
    nowhere = Store(None, "")
    assert nowhere.read("a") is None and not nowhere.write("a", FILES)


# ---- folders that are named ------------------------------------------------------------------------------------------


def test_relative_folders_are_below_the_one_of_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folders, "_started_in", "/start")
    monkeypatch.chdir(tmp_path)
    assert folders.absolute("cache") == Path("/start/cache")
    assert folders.absolute("/cache") == Path("/cache")
    assert folders.absolute("") is None
    monkeypatch.setattr(folders, "_started_in", None)
    assert folders.absolute("cache") is None
    monkeypatch.setenv("HOME", "/home/me")
    assert folders.absolute("~/cache") == Path("/home/me/cache")
    assert folders.absolute("~nobody-of-this-name/cache") is None


def test_a_child_has_a_private_folder_of_its_own(tmp_path: Path) -> None:
    code = textwrap.dedent("""
        import os, sys
        from opweave.codegen import store
        private = store.private()
        assert private.write("a", {"f": b"1"})
        if os.fork() == 0:
            assert store.private().root != private.root and store.private().read("a") is None
            sys.exit(0)
        assert os.wait()[1] == 0
        assert private.read("a") == {"f": b"1"}
        print(private.root)
    """)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert not os.path.exists(done.stdout.strip())

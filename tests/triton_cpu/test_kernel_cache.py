"""Triton's cache: what it reads is what was checked, whatever happens to the files meanwhile."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.backends.compiler import GPUTarget
from triton.runtime.cache import FileCacheManager, get_cache_manager, get_dump_manager, get_override_manager

import opweave
from opweave.codegen import store
from opweave.codegen.native import linking_llvm, llvm
from opweave.codegen.triton_cpu.driver import activate
from opweave.codegen.triton_cpu.kernel_cache import KernelCache, triton_stamp

KEY = "ab" * 32


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "triton"))
    activate()
    return tmp_path / "triton"


@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)


def launched() -> list[float]:
    """What the kernel gives in a process that has nothing but the disk."""
    double.device_caches.clear()
    x = opweave.arange(5, dtype=opweave.float32)
    double[(1,)](x, 5, BLOCK=8)
    return x.tolist()


RIGHT = [0.0, 2.0, 4.0, 6.0, 8.0]


def test_files_that_change_after_the_check_are_not_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert launched() == RIGHT
    get_group = KernelCache.get_group
    groups = []

    def and_then_damage(self: KernelCache, filename: str) -> Any:
        groups.append(get_group(self, filename))
        for path in (p for p in folder.rglob("*") if p.is_file()):
            path.write_bytes(b"damaged")
        return groups[-1]

    monkeypatch.setattr(KernelCache, "get_group", and_then_damage)
    assert launched() == RIGHT
    (group,) = groups
    assert group is not None and {Path(p).read_bytes() for p in group.values()} == {b"damaged"}


def test_files_of_another_thread_are_its_own(folder: Path) -> None:
    """Two compilations at once: the paths may be the same, what they name is not."""
    manager = get_cache_manager(KEY)
    path = manager.put(b"one", "k.obj")
    code = "import threading; t = threading.Thread(target=run); t.start(); t.join()"

    def run() -> None:
        other = get_cache_manager(KEY)
        assert other.put(b"two", "k.obj") == path
        assert triton.compiler.compiler.Path(path).read_bytes() == b"two"

    exec(code, {"run": run})
    assert triton.compiler.compiler.Path(path).read_bytes() == b"one"


def group(manager: Any, **changed: Any) -> None:
    """Keep a group of files, as Triton does."""
    obj = llvm.compile_object("define void @k() { ret void }")
    target = {"backend": "cpu", "arch": "x", "warp_size": 1}
    files = {
        "k.json": json.dumps({"hash": KEY, "name": "k", "target": target} | changed.pop("about", {})),
        "k.obj": obj,
    }
    manager.put_group("k.json", {name: manager.put(data, name) for name, data in (files | changed).items()})


def test_a_group_is_whole_or_not_there(folder: Path) -> None:
    manager = get_cache_manager(KEY)
    assert manager.get_group("k.json") is None
    group(manager)
    found = get_cache_manager(KEY).get_group("k.json")
    assert found is not None and set(found) == {"k.json", "k.obj"}
    (folder / manager.key / "k.obj").unlink()
    assert get_cache_manager(KEY).get_group("k.json") is None


@pytest.mark.parametrize(
    "changed",
    [
        {"about": {"hash": "cd" * 32}}, {"about": {"hash": 5}}, {"about": {"hash": "x"}}, {"about": {"name": None}},
        {"about": {"target": []}}, {"about": {"target": {"backend": "cpu"}}}, {"k.json": "[]"}, {"k.json": "{"},
        {"k.obj": b""}, {"k.obj": b"\x7fELF"},
    ],
)  # fmt: skip
def test_what_no_kernel_can_be_made_of_is_not_given_out(changed: dict[str, Any]) -> None:
    group(get_cache_manager(KEY), **changed)
    assert get_cache_manager(KEY).get_group("k.json") is None


def test_files_by_themselves(folder: Path) -> None:
    """Timings of configurations, which Triton opens by their paths."""
    name = "kernel.autotune.json"
    timings = json.dumps({"configs_timings": [[triton.Config({"BLOCK": 8}).__dict__, [1.0, 1.0, 1.0]]]})
    get_cache_manager(KEY).put(timings, name, binary=False)
    path = get_cache_manager(KEY).get_file(name)
    assert path is not None and Path(path).read_text() == timings
    assert not Path(path).is_relative_to(folder)
    assert os.stat(Path(path).parent).st_mode & 0o077 == 0
    (entry,) = folder.iterdir()
    (entry / name).write_text("[2]")
    assert get_cache_manager(KEY).get_file(name) is None


@pytest.mark.parametrize(
    "content",
    ["[]", "{", '{"configs_timings": []}', '{"configs_timings": [[{}, 1]]}', '{"configs_timings": [[{"x": 1}, 1]]}'],
)
def test_timings_of_another_shape_are_measured_anew(content: str) -> None:
    get_cache_manager(KEY).put(content, "kernel.autotune.json", binary=False)
    assert get_cache_manager(KEY).get_file("kernel.autotune.json") is None


def test_nowhere_to_put_files_by_themselves(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", "/proc/nope")
    monkeypatch.setattr(store, "private", lambda: store.Store(None, ""))
    manager = get_cache_manager(KEY)
    manager.put("[1]", "kernel.autotune.json", binary=False)
    assert get_cache_manager(KEY).get_file("kernel.autotune.json") is None


def test_folders_for_looking_at_and_exchanging_stages_stay_tritons(monkeypatch: pytest.MonkeyPatch, tmp_path) -> None:
    monkeypatch.setenv("TRITON_DUMP_DIR", str(tmp_path / "dump"))
    monkeypatch.setenv("TRITON_OVERRIDE_DIR", str(tmp_path / "override"))
    assert type(get_dump_manager(KEY)) is FileCacheManager and type(get_override_manager(KEY)) is FileCacheManager
    assert type(get_cache_manager(KEY)) is KernelCache and knobs.cache.manager_class is KernelCache


def test_a_manager_of_the_users_stays(tmp_path: Path) -> None:
    code = (
        "import opweave.codegen.triton_cpu.driver as d, triton; d.activate(); print(triton.knobs.cache.manager_class)"
    )
    environment = os.environ | {"TRITON_CACHE_MANAGER": "triton.runtime.cache:FileCacheManager"}
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    assert "FileCacheManager" in done.stdout


def test_perf_is_told_nothing_through_a_link(tmp_path: Path) -> None:
    """The list stands in /tmp, where anybody can put a link of that name."""
    names, trap = Path(f"/tmp/perf-{os.getpid()}.map"), tmp_path / "trap"
    before = names.read_bytes() if names.exists() else None
    names.unlink(missing_ok=True)
    trap.write_text("")
    names.symlink_to(trap)
    try:
        linking_llvm._tell_perf("0 1 name\n")
        assert trap.read_text() == ""
    finally:
        names.unlink()
    linking_llvm._tell_perf("0 1 name\n")
    assert names.read_text() == "0 1 name\n"
    names.unlink()
    if before is not None:
        names.write_bytes(before)


def test_keys_of_the_cpu_do_not_read_all_of_triton(monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    from triton.compiler import compiler
    from triton.runtime import cache

    class Part:
        def __init__(self, backend: str) -> None:
            self.target = GPUTarget(backend, "any", 1)

        def hash(self) -> str:
            return "part"

    monkeypatch.setattr(cache, "triton_key", lambda: "all of Triton")
    keys = [compiler.get_cache_key(Part(name), Part(name), Part(name), {"A": "1"}) for name in ("cpu", "cuda")]
    assert keys == [f"{triton_stamp()}-part-part-part-[('A', '1')]", "all of Triton-part-part-part-[('A', '1')]"]

    (tmp_path / "_C").mkdir()
    library = tmp_path / "_C" / "libtriton.so"
    monkeypatch.setattr(triton, "__file__", str(tmp_path / "__init__.py"))
    stamps = set()
    for content, time in (("one", 1), ("one", 2), ("four", 2), ("four", 2)):
        library.write_text(content)
        os.utime(library, (time, time))
        stamps.add(triton_stamp.__wrapped__())
    assert len(stamps) == 3

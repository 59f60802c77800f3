"""Many threads, forks and compilations, in small; `benchmarks/stress.py` does the same at length."""

from __future__ import annotations

import gc
import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from triton.runtime.driver import driver as triton_driver

import opweave
from opweave.codegen.native import objects
from opweave.codegen.triton_cpu import driver as mux

_SCRIPT = Path(__file__).parents[2] / "benchmarks" / "stress.py"


@pytest.fixture(scope="module")
def stress() -> Iterator[Any]:
    specification = importlib.util.spec_from_file_location("stress", _SCRIPT)
    assert specification is not None and specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    before = triton_driver._active
    yield module
    triton_driver._active = before


@pytest.fixture(autouse=True)
def no_device_of_an_earlier_test() -> None:
    mux._thread.device = None


@pytest.mark.slow
def test_eight_threads_launch_different_kernels(stress: Any) -> None:
    assert stress.launch_from_threads(8, 2.0) >= 8 * 7


def test_a_process_forks_and_both_go_on() -> None:
    """In a process of its own: what other tests left running here does not survive a fork."""
    program = f"import sys; sys.path.insert(0, {str(_SCRIPT.parent)!r}); import stress; stress.launch_after_fork(8)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr


def test_compilations_leave_nothing_behind() -> None:
    """A piece of code keeps 47 KiB where its pass manager is not freed, 9 KiB where its linker session is not, and 1.6
    where it has a pass builder of its own."""
    program = """
import gc, json, sys
sys.path.insert(0, sys.argv[1])
import stress
from opweave.codegen.native import llvm, objects

def once(k):
    text = f"define i32 @f{k}() {{\\n  ret i32 {k}\\n}}\\n"
    objects.load(llvm.compile_object(text, name=f"f{k}"), (f"f{k}",))

sizes = []
for k in range(700):
    if k in (300, 699):
        gc.collect()
        sizes.append(stress.resident())
    once(k)
print(json.dumps(sizes))
"""
    environment = os.environ | {"MALLOC_ARENA_MAX": "1"}
    done = subprocess.run(
        [sys.executable, "-c", program, str(_SCRIPT.parent)],
        capture_output=True,
        text=True,
        timeout=120,
        env=environment,
    )
    assert done.returncode == 0, done.stderr
    before, after = json.loads(done.stdout)
    assert (after - before) * 1024 / 399 < 1.5, f"{before} -> {after} MiB"


@triton.jit
def tripled(x, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(x + i, tl.load(x + i) * 3)


def test_code_goes_with_its_kernel(stress: Any, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    numbers: list[int] = []
    load = objects.load

    def watched(obj: bytes, symbols: tuple[str, ...], **named: Any) -> objects.LoadedCode:
        code = load(obj, symbols, **named)
        if "tripled" in symbols:  # not what launches need once a process
            numbers.append(code.__del__.args[0])
        return code

    mux.activate()
    monkeypatch.setattr(objects, "load", watched)
    x = np.ones(16, np.float32)
    tripled[(1,)](opweave.from_numpy(x), N=16)
    assert (x == 3).all() and numbers and all(number in objects._owners for number in numbers)
    tripled.device_caches.clear()
    gc.collect()
    objects._free_what_is_gone()  # as the next load does
    assert not any(number in objects._owners for number in numbers)

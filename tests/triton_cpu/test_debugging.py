"""What a kernel's author can look at: its forms, its launches, its lines in debug information."""

from __future__ import annotations

import logging
import os
import re
import shutil
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
from opweave.codegen.native import arguments, launch, llvm, objects
from opweave.codegen.triton_cpu import driver as mux
from opweave.registry.errors import CompileError
from opweave.runtime.logging import set_logs


@pytest.fixture(scope="module", autouse=True)
def active() -> Iterator[None]:
    before = triton_driver._active
    mux.activate()
    yield
    triton_driver._active = before


@pytest.fixture(autouse=True)
def fresh(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    mux._thread.device = None
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    doubled.device_caches.clear()
    yield
    set_logs("")


@triton.jit
def squared(x):
    return x * x


@triton.jit
def doubled(x, out, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    value = tl.load(x + i, i < n)
    total = squared(value) * 2
    tl.store(out + i, total, i < n)


def run() -> Any:
    x = np.arange(50, dtype=np.float32)
    out = np.zeros_like(x)
    compiled = doubled[(4,)](opweave.from_numpy(x), opweave.from_numpy(out), 50, N=16)
    np.testing.assert_array_equal(out, x * x * 2)
    return compiled


def messages(caplog: pytest.LogCaptureFixture, name: str) -> list[str]:
    # A logger that did not propagate when a test began has the fixture's handler too, which then gets records twice.
    records = dict.fromkeys(caplog.records)
    return [record.getMessage() for record in records if record.name == f"opweave.{name}"]


@pytest.mark.parametrize(
    ("channel", "text"), [("ttir", "tt.func public @doubled"), ("llvm", "define void @doubled("), ("asm", "doubled:")]
)
def test_each_form_of_a_kernel_can_be_shown(channel: str, text: str, caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("opweave").propagate = True
    caplog.set_level(logging.DEBUG, f"opweave.{channel}")
    run()
    (message,) = messages(caplog, channel)
    assert message.startswith("doubled\n") and text in message
    run()
    assert len(messages(caplog, channel)) == 1, "nothing is compiled a second time"


def test_launches_are_shown_with_grid_and_time(caplog: pytest.LogCaptureFixture) -> None:
    logging.getLogger("opweave").propagate = True
    run()
    assert not messages(caplog, "launches")
    caplog.set_level(logging.DEBUG, "opweave.launches")
    compiled = run()
    (message,) = messages(caplog, "launches")
    assert re.fullmatch(r"doubled grid \(4, 1, 1\): \d+\.\d µs", message)
    x, out = np.ones(16, np.float32), np.zeros(16, np.float32)
    launch.direct_launcher(compiled)(1, 1, 1, x.ctypes.data, out.ctypes.data, 16)
    assert (out == 2).all() and "doubled grid (1, 1, 1)" in messages(caplog, "launches")[1]


def test_debug_information_has_the_lines_of_the_kernel(monkeypatch: pytest.MonkeyPatch) -> None:
    plain = run()
    assert "!dbg" not in plain.asm["llir"] and "DILocation" not in plain.asm["llir"]
    monkeypatch.setenv("OPWEAVE_DEBUG_INFO", "1")
    doubled.device_caches.clear()
    compiled = run()
    text = compiled.asm["llir"]
    assert f'!DIFile(filename: "{os.path.basename(__file__)}", directory: "{os.path.dirname(__file__)}")' in text
    first, inner = doubled.starting_line_number, squared.starting_line_number + 2
    lines = {int(n) for n in re.findall(r"!DILocation\(line: (\d+)", text)}
    assert {first + 2, first + 3, first + 5, inner} <= lines
    # The product stands on its own line, and in the machine code too.
    number = re.search(rf"!(\d+) = !DILocation\(line: {inner},", text)
    assert number is not None and re.search(rf"fmul .*!dbg !{number.group(1)}$", text, re.M)
    assert {first + 3, inner} <= {int(n) for n in re.findall(r"\.loc\t\d+ (\d+) ", llvm.assembly(text))}
    assert b".debug_line" in compiled.asm["obj"] and b".debug_line" not in plain.asm["obj"]


_SCRIPT = """
import opweave
from tests.triton_cpu.test_debugging import doubled
doubled[(4,)](opweave.ones(50), opweave.empty(50), 50, N=16)
"""


@pytest.mark.skipif(
    shutil.which("gdb") is None or not os.environ.get("OPWEAVE_FULL_MATRIX"),
    reason="gdb takes 20 s to read the symbols of LLVM: with OPWEAVE_FULL_MATRIX=1, where it is installed",
)
def test_gdb_stops_at_the_line_of_a_kernel(tmp_path: Path) -> None:
    line = doubled.starting_line_number + 5
    commands = ["set breakpoint pending on", f"break {os.path.basename(__file__)}:{line}", "run", "bt 1", "kill"]
    found = subprocess.run(
        ["gdb", "-q", "-batch", *(f"-ex={c}" for c in commands), "--args", sys.executable, "-c", _SCRIPT],
        env=os.environ | {"OPWEAVE_DEBUG_INFO": "1", "OPWEAVE_NUM_THREADS": "1", "TRITON_CACHE_DIR": str(tmp_path)},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    if "ptrace" in found.stderr:
        pytest.skip("gdb may not run programs here")
    assert re.search(rf"^#0 +doubled \(\) at .*{re.escape(os.path.basename(__file__))}:{line}$", found.stdout, re.M)


@pytest.mark.skipif(sys.platform != "linux", reason="perf is a tool of Linux")
def test_perf_finds_the_names_of_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPWEAVE_DEBUG_INFO", "1")
    code = objects.load(run().asm["obj"], ["doubled"])
    path = Path(f"/tmp/perf-{os.getpid()}.map")
    try:
        start, size, name = path.read_text().splitlines()[-1].split()
    finally:
        path.unlink()
    assert name == "doubled" and int(start, 16) == code.address("doubled") and int(size, 16) > 16


def test_the_interpreter_is_no_secret(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    logging.getLogger("opweave").propagate = True
    monkeypatch.setattr(triton_driver, "_active", None)
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    mux.activate()
    (message,) = messages(caplog, "kernels")
    assert message.startswith("TRITON_INTERPRET=1: ") and "unset it" in message


def test_code_that_reads_other_parameters_is_not_launched() -> None:
    compiled = run()
    parameters = arguments.parameters(compiled.src.signature)
    arguments.agree("doubled", parameters, compiled.metadata)
    for wrong in (parameters[:-1], [*parameters[:-1], arguments.Parameter("n", "fp32")]):
        with pytest.raises(CompileError, match="other parameters"):
            arguments.agree("doubled", wrong, compiled.metadata)

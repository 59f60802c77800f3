"""Generated kernels that the cache has run without Triton and LLVM being loaded."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from tests.helpers import fork_server

PROGRAM = """
import sys
import numpy as np
import opweave

f = opweave.compile(lambda x, y, k: opweave.softmax(x * y, -1) @ y.T + k.half().sum())
x = opweave.from_numpy(np.linspace(-1, 1, 600, dtype=np.float32).reshape(20, 30))
result = f(x, x * 3, x)
expected = opweave.softmax(x * (x * 3), -1) @ (x * 3).T + x.half().sum()
assert np.allclose(result.numpy(), expected.numpy(), rtol=1e-6), "wrong"
print(*[name for name in ("triton", "llvmlite", "sympy") if name in sys.modules])
"""


def run(folder: Path, **environment: str) -> list[str]:
    made = fork_server.python(
        ["-c", PROGRAM],
        env=os.environ | {"OPWEAVE_CACHE_DIR": str(folder / "o"), "TRITON_CACHE_DIR": str(folder / "t")} | environment,
    )  # fmt: skip
    assert made.returncode == 0, made.stderr
    assert "Traceback" not in made.stderr, made.stderr
    return made.stdout.split()


def test_a_second_process_needs_neither_triton_nor_llvm(tmp_path: Path):
    assert run(tmp_path) == ["triton", "llvmlite"]
    assert run(tmp_path) == []


@pytest.mark.parametrize(
    "variable", ["TRITON_KERNEL_DUMP", "MLIR_ENABLE_DIAGNOSTICS", "TRITON_ALWAYS_COMPILE", "OPWEAVE_DEBUG_INFO"]
)
def test_what_triton_is_told_to_do_it_does(tmp_path: Path, variable: str):
    run(tmp_path)
    value = "errors" if variable == "MLIR_ENABLE_DIAGNOSTICS" else "1"
    assert "triton" in run(tmp_path, **{variable: value, "TRITON_DUMP_DIR": str(tmp_path / "dump")})


def test_what_is_damaged_is_compiled_again(tmp_path: Path):
    run(tmp_path)
    entries = [path.parent for path in (tmp_path / "o").glob("*/kernel.json")]
    assert entries
    for number, entry in enumerate(entries):
        about = json.loads((entry / "kernel.json").read_text())
        about["parameters"] = about["parameters"][::-1] if number % 2 else []
        (entry / "kernel.json").write_text(json.dumps(about))
    assert run(tmp_path) == ["triton", "llvmlite"]
    for code in (tmp_path / "o").glob("*/code.o"):
        content = bytearray(code.read_bytes())
        content[len(content) // 2] ^= 1
        code.write_bytes(content)
    assert run(tmp_path) == ["triton", "llvmlite"]
    assert run(tmp_path) == []


def test_nothing_is_kept_where_nothing_may_be(tmp_path: Path):
    run(tmp_path, OPWEAVE_CACHE="0")
    assert not (tmp_path / "o").exists()

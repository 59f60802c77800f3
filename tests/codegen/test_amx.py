"""The permission to use AMX, its instructions, and processes that must do without."""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import opweave
from opweave.codegen.artifact import module
from opweave.codegen.native import amx, llvm, objects
from opweave.export import export

FLAGS = Path("/proc/cpuinfo").read_text() if Path("/proc/cpuinfo").exists() else ""
needs_tiles = pytest.mark.skipif(not amx.granted(), reason="this process may not use AMX")

#: Makes the system refuse the permission: a filter of system calls that fails `arch_prctl(ARCH_REQ_XCOMP_PERM)`.
REFUSED = """
import ctypes, struct
def rule(code, yes, no, k): return struct.pack("HBBI", code, yes, no, k)
rules = b"".join([rule(0x20, 0, 0, 0), rule(0x15, 0, 3, 158), rule(0x20, 0, 0, 16), rule(0x15, 0, 1, 0x1023),
                  rule(0x06, 0, 0, 0x50001), rule(0x06, 0, 0, 0x7fff0000)])
libc, room = ctypes.CDLL(None), ctypes.create_string_buffer(rules)
given = ctypes.create_string_buffer(struct.pack("HxxxxxxQ", 6, ctypes.addressof(room)))
if libc.prctl(38, 1, 0, 0, 0) or libc.prctl(22, 2, given, 0, 0):
    print("no filter")
    raise SystemExit
"""
TOLD = """
import numpy as np, opweave
from opweave.codegen import cache
from opweave.codegen.native import amx, llvm
x = opweave.tensor(np.arange(-60, 60).reshape(8, 15).astype(np.int8))
assert (opweave.ops.aten._int_mm(x, x.t()).numpy() == x.long().numpy() @ x.long().numpy().T).all()
print(amx.granted(), any(name.startswith("amx") for name in llvm.host().features), cache.key_of("one"))
"""


def run(script: str, **environment: str) -> str:
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False,
        env={**os.environ, "OPWEAVE_AMX": "1", **environment},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def refused(script: str) -> str:
    said = run(REFUSED + script)
    if said == "no filter":
        pytest.skip("this process may not filter its system calls")
    return said


def test_it_is_asked_for_where_the_processor_has_it() -> None:
    if sys.platform == "linux" and "amx_tile" in FLAGS and os.environ.get("OPWEAVE_AMX", "1") != "0":
        assert amx.granted()
    assert amx.granted() == any(name.startswith("amx") for name in llvm.host().features) or "amx_tile" not in FLAGS


def test_switched_off() -> None:
    with_it, without = run(TOLD), run(TOLD, OPWEAVE_AMX="0")
    assert without.startswith("False False")
    # What was compiled for the one is not taken by the other.
    assert (with_it.split()[-1] != without.split()[-1]) == with_it.startswith("True")


@pytest.mark.skipif(sys.platform != "linux" or os.uname().machine != "x86_64", reason="Linux's filter for x86-64")
def test_refused_by_the_system() -> None:
    assert refused(TOLD).startswith("False False")


@needs_tiles
def test_an_artifact_asks_too(tmp_path: Path) -> None:
    program = export(lambda x: x + 1, (opweave.ones(3),))
    path = tmp_path / "model.so"
    opweave.export.compile(program, path)
    load = f"import opweave\nprint(opweave.load_compiled({os.fspath(path)!r})(opweave.ones(3)).numpy())"
    assert run(load) == "[2. 2. 2.]"
    assert run(load, OPWEAVE_AMX="0") == "[2. 2. 2.]"
    said = refused(f"""
import opweave
try:
    opweave.load_compiled({os.fspath(path)!r})(opweave.ones(3))
except Exception as error:
    print(error)
""")
    assert "another processor" in said


def test_what_an_artifact_asks_the_processor_for() -> None:
    plain = module._wanted_bits(llvm.machine("x86-64-v4"))
    assert (plain["TILES"], plain["LEAF7_D"]) == (0, 0)
    machine = llvm.Host(
        "x86_64-unknown-linux-gnu", "sapphirerapids", frozenset({"avx", "avx512f", amx.TILES, amx.INT8})
    )
    wanted = module._wanted_bits(machine)
    assert (wanted["TILES"], wanted["LEAF7_D"], wanted["XCR"]) == (1, 3 << 24, 0x600E6)


def test_machines_that_have_tiles() -> None:
    features = frozenset({"avx512f", amx.TILES, amx.BF16})
    machine = llvm.Host("x86_64-unknown-linux-gnu", "sapphirerapids", features)
    assert machine.has_tiles("bfloat") and not machine.has_tiles("i8") and not machine.has_tiles("float")
    assert not llvm.machine("x86-64-v4").has_tiles("bfloat")


def product(stored: str) -> str:
    """LLVM IR of `void go(ptr rows, ptr groups, ptr sums)`."""
    lines = [
        amx.configure(), amx.zero(0), amx.load(4, "%rows", 64), amx.load(6, "%groups", 64), amx.dot(stored, 0, 4, 6),
        amx.store(0, "%sums", 64), amx.release(), "ret void",
    ]  # fmt: skip
    return "\n".join([amx.DECLARATIONS, "define void @go(ptr %rows, ptr %groups, ptr %sums) {", *lines, "}"])


def call(code: objects.LoadedCode, *arrays: np.ndarray) -> None:
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)(code.address("go"))(*(x.ctypes.data for x in arrays))


@needs_tiles
@pytest.mark.parametrize("level", [objects.AS_IS, objects.PROMOTED, objects.CLEANED])
def test_instructions(level: int) -> None:
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, sizes).astype(np.int8) for sizes in ((16, 64), (64, 16)))
    found = np.zeros((16, 16), np.int32)
    groups = np.ascontiguousarray(b.reshape(16, 4, 16).transpose(0, 2, 1))
    call(objects.load(llvm.compile_object(product("i8"), level=level), ("go",)), a, groups, found)
    assert (found == a.astype(int) @ b.astype(int)).all()
    x, y = (opweave.tensor(rng.integers(-9, 9, sizes).astype(np.float32)) for sizes in ((16, 32), (32, 16)))
    bits = [v.bfloat16().view(opweave.int16).numpy() for v in (x, y)]
    groups = np.ascontiguousarray(bits[1].reshape(16, 2, 16).transpose(0, 2, 1))
    sums = np.zeros((16, 16), np.float32)
    call(objects.load(llvm.compile_object(product("bfloat"), level=level), ("go",)), bits[0], groups, sums)
    assert (sums == x.numpy() @ y.numpy()).all()


@needs_tiles
@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_a_forked_child_has_the_permission() -> None:
    said = run("""
import os, numpy as np, opweave
x = opweave.ones(64, 64).bfloat16()
want = (x @ x).float().numpy()
child = os.fork()
if not child:
    os._exit(0 if ((x @ x).float().numpy() == want).all() else 1)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
""")
    assert said == "0"

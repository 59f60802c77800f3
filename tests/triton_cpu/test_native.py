"""The native runtime's files are LLVM IR that assembles, for every processor that has files of its own."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import llvmlite.binding
import numpy as np
import pytest

from opweave.codegen import blas, native
from opweave.codegen.artifact import module
from opweave.codegen.native import (
    allocation,
    calling,
    direct,
    exchange,
    foreign,
    launch,
    llvm,
    mutation,
    objects,
    pool,
    segments,
)
from opweave.codegen.triton_cpu import access_check

PROGRAMS = {
    "pool": pool.source,
    "launch": launch.source,
    "segments": segments.source,
    "products": blas.source,
    "tensors": allocation.source,
    "calls": calling.source,
    "exchange": exchange.source,
    "direct": direct.source,
    "mutation": mutation.source,
    "foreign": lambda: foreign.source(0),
    "sanitizer": access_check.source,
}


def _artifact() -> str:
    machine = llvm.Host(f"{native.machine()}-unknown-linux-gnu", "generic", frozenset({"avx2", "avx"}))
    return module.source(module.Artifact("model", (), (), (), (), b"", True, "{}", machine, False))


PROGRAMS["artifact"] = _artifact
PROGRAMS["oneDNN"] = lambda: native.source("onednn", numbers={})
PROGRAMS["standalone"] = lambda: native.source("standalone", numbers={})
FOLDER = Path(native.__file__).parent


@pytest.mark.parametrize("machine", ["x86_64", "aarch64", "riscv64"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_assembles(program: str, machine: str, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(native, "machine", lambda: machine)
    text = PROGRAMS[program]()
    parsed = llvmlite.binding.parse_assembly(text)
    parsed.verify()
    defined = {f.name for f in parsed.functions if not f.is_declaration}
    assert defined == set(re.findall(r"^define .*?@\"?([\w.]+)\"?\(", text, re.MULTILINE))


def test_each_file_is_part_of_a_program(monkeypatch: pytest.MonkeyPatch):
    read: set[str] = set()
    read_text = Path.read_text

    def noting(path: Path, *args: object, **options: object) -> str:
        read.add(path.name)
        return read_text(path)

    monkeypatch.setattr(Path, "read_text", noting)
    for machine in ("x86_64", "aarch64", "riscv64"):
        monkeypatch.setattr(native, "machine", lambda machine=machine: machine)
        for source in PROGRAMS.values():
            source()
    assert read == {path.name for path in FOLDER.glob("*.ll")}


def test_a_number_that_is_not_given():
    with pytest.raises(KeyError, match="HOLD_NS"):
        native.source(
            "clock", "kernel", "launch", numbers=dict.fromkeys(("CLOCK", "TYPE", "STORAGE", "POINTER", "OFFSET"), 1)
        )


def test_untuned_functions(capfd: pytest.CaptureFixture[str]) -> None:
    """Their code is another, and LLVM says nothing of it."""
    text = """
define i64 @f(ptr %p, i64 %n) ATTRIBUTES {
entry:
  br label %loop
loop:
  %i = phi i64 [ 0, %entry ], [ %next, %loop ]
  %at = getelementptr i64, ptr %p, i64 %i
  %x = load i64, ptr %at
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %n
  br i1 %more, label %loop, label %done
done:
  ret i64 %x
}
"""
    for level in (objects.AS_IS, objects.PROMOTED, objects.CLEANED):
        tuned, untuned = (
            llvm.compile_object(text.replace("ATTRIBUTES", attributes), level=level)
            for attributes in ("noinline", objects.UNTUNED)
        )
        assert tuned != untuned
        loaded = objects.load(untuned, ("f",))
        f = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(loaded.address("f"))
        numbers = (ctypes.c_int64 * 3)(5, 6, 7)
        assert f(ctypes.addressof(numbers), 3) == 7
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(("kind", "places"), [("load", "ptr"), ("gather", "<8 x ptr>")])
def test_untuned_functions_read_under_masks(kind: str, places: str) -> None:
    """Where the machine has no masked loads of `half` numbers, LLVM would end the process."""
    of = "p0" if kind == "load" else "v8p0"
    text = f"""
declare <8 x half> @llvm.masked.{kind}.v8f16.{of}({places}, <8 x i1>, <8 x half>)
define void @f(ptr %p, ptr %q, i8 %bits) {objects.UNTUNED} {{
  %mask = bitcast i8 %bits to <8 x i1>
  %all = getelementptr half, ptr %p, <8 x i64> <i64 0, i64 1, i64 2, i64 3, i64 4, i64 5, i64 6, i64 7>
  %read = call <8 x half> @llvm.masked.{kind}.v8f16.{of}({places} align 2 {"%p" if kind == "load" else "%all"},
                                                        <8 x i1> %mask, <8 x half> zeroinitializer)
  store <8 x half> %read, ptr %q, align 2
  ret void
}}
"""
    loaded = objects.load(llvm.compile_object(text, level=objects.AS_IS), ("f",))
    f = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint8)(loaded.address("f"))
    given, found = (np.arange(1, 9, dtype=np.float16) for _ in range(2))
    f(given.ctypes.data, found.ctypes.data, 0b10010110)
    assert found.tolist() == [0, 2, 3, 0, 5, 0, 0, 8]

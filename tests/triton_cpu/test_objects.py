"""LLVM IR to object code to callable addresses."""

from __future__ import annotations

import ctypes
import gc
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from opweave.codegen.native import llvm, objects
from opweave.codegen.native.sealed import opened
from opweave.registry.errors import CompileError

SQUARE = """
define i64 @square(i64 %x) {
  %r = mul i64 %x, %x
  ret i64 %r
}
"""


def call(code: objects.LoadedCode, symbol: str, *args: float, kind: type = ctypes.c_int64) -> float:
    return ctypes.CFUNCTYPE(kind, *[kind] * len(args))(code.address(symbol))(*args)


def test_compile_load_call():
    code = objects.load(llvm.compile_object(SQUARE, name="square"), ["square"])
    assert call(code, "square", 12) == 144
    assert "square" in repr(code)


def test_host_describes_this_machine():
    host = llvm.host()
    assert host.vector_bits in (128, 256, 512)
    assert host.cpu
    assert llvm.host() is host


def test_assembly_is_text():
    assert "square" in llvm.assembly(SQUARE)


def test_libm_is_found():
    source = """
    declare double @cos(double)
    define double @twice_cos(double %x) {
      %c = call double @cos(double %x)
      %r = fadd double %c, %c
      ret double %r
    }"""
    code = objects.load(llvm.compile_object(source), ["twice_cos"])
    assert call(code, "twice_cos", 0.0, kind=ctypes.c_double) == 2.0


def test_imported_symbols():
    source = """
    declare i64 @elsewhere(i64)
    define i64 @through(i64 %x) {
      %r = call i64 @elsewhere(i64 %x)
      ret i64 %r
    }"""
    callback = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: x + 1)
    address = ctypes.cast(callback, ctypes.c_void_p).value or 0
    code = objects.load(llvm.compile_object(source), ["through"], imports={"elsewhere": address})
    assert call(code, "through", 41) == 42


def test_equal_names_do_not_clash():
    obj = llvm.compile_object(SQUARE)
    other = llvm.compile_object(SQUARE.replace("mul i64 %x, %x", "add i64 %x, %x"))
    first, second = objects.load(obj, ["square"]), objects.load(other, ["square"])
    assert (call(first, "square", 5), call(second, "square", 5)) == (25, 10)


def test_code_lives_as_long_as_its_handle():
    obj = llvm.compile_object(SQUARE)
    kept = objects.load(obj, ["square"])
    for _ in range(50):
        objects.load(obj, ["square"])
    gc.collect()
    assert call(kept, "square", 7) == 49


@pytest.mark.parametrize(
    ("source", "needle"),
    [
        ("define void @f() {\n  call void @nope()\n  ret void\n}", "@nope"),
        ("define i32 @f() {\n  ret i64 0\n}", "error"),
        ("this is not LLVM IR", "expected"),
        ("define i32 @f(i1 %c) {\n  br i1 %c, label %a, label %b\na:\n  %x = add i32 1, 1\n  br label %b\n"
         "b:\n  ret i32 %x\n}", "dominate"),
    ],
)  # fmt: skip
def test_bad_ir_is_rejected(source: str, needle: str):
    with pytest.raises(CompileError) as caught:
        llvm.compile_object(source, name="my_kernel")
    assert "my_kernel: LLVM rejects" in str(caught.value)
    assert needle in str(caught.value)


def test_missing_symbols_are_reported(capfd: pytest.CaptureFixture[str]):
    with pytest.raises(CompileError, match="absent"):
        objects.load(llvm.compile_object(SQUARE), ["absent"])
    undefined = "declare void @no_such_function()\ndefine void @f() {\n  call void @no_such_function()\n  ret void\n}"
    with pytest.raises(CompileError, match="cannot be loaded"):
        objects.load(llvm.compile_object(undefined), ["f"])
    assert "no_such_function" in capfd.readouterr().err


@pytest.mark.parametrize("damage", ["empty", "short", "flipped", "foreign"])
def test_damaged_objects_are_rejected(damage: str):
    obj = llvm.compile_object(SQUARE)
    assert opened(obj) is not None
    broken = {
        "empty": b"",
        "short": obj[:200],
        "flipped": obj[:100] + bytes([obj[100] ^ 1]) + obj[101:],
        "foreign": b"\x7fELF" + bytes(500),
    }[damage]
    assert opened(broken) is None
    with pytest.raises(CompileError, match="damaged"):
        objects.load(broken, ["square"])


def test_threads_compile_and_load():
    start = threading.Barrier(4)

    def work(number: int) -> list[float]:
        start.wait()
        results = []
        for k in range(5):
            factor = 10 * number + k
            source = SQUARE.replace("mul i64 %x, %x", f"mul i64 %x, {factor}")
            results.append(call(objects.load(llvm.compile_object(source), ["square"]), "square", 3) - 3 * factor)
        return results

    with ThreadPoolExecutor(4) as threads:
        assert all(not any(result) for result in threads.map(work, range(4)))

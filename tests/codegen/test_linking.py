"""Object code into memory without LLVM."""

from __future__ import annotations

import ctypes
import random
import struct
from collections.abc import Mapping
from typing import Any

import pytest

from opweave.codegen.native import linking, llvm
from opweave.codegen.native.sealed import opened

pytestmark = pytest.mark.skipif(not linking.available(), reason="other machines' code is linked by LLVM")


def image_of(source: str) -> bytes:
    return opened(llvm.compile_object(source)) or b""


def linked(source: str, *symbols: str, imports: Mapping[str, int] | None = None) -> linking.Linked:
    return linking.link(image_of(source), symbols, imports or {})


def call(code: linking.Linked, symbol: str, *args: Any, kind: Any = ctypes.c_int64) -> Any:
    return ctypes.CFUNCTYPE(kind, *[kind] * len(args))(code.addresses[symbol])(*args)


def test_constants():
    code = linked(
        """
        @table = private constant [4 x i64] [i64 3, i64 5, i64 7, i64 11]
        define i64 @prime(i64 %i) {
          %p = getelementptr i64, ptr @table, i64 %i
          %v = load i64, ptr %p
          ret i64 %v
        }
        define double @scale(double %x) {
          %r = fmul double %x, 0x400921FB54442D18
          ret double %r
        }""",
        "prime", "scale",
    )  # fmt: skip
    assert [call(code, "prime", i) for i in range(4)] == [3, 5, 7, 11]
    assert call(code, "scale", 2.0, kind=ctypes.c_double) == 2 * 3.141592653589793


def test_what_is_written_is_apart_from_what_runs():
    code = linked(
        """
        @start = global i64 40
        @count = global i64 0
        define i64 @next() noinline {
          %c = load i64, ptr @count
          %n = add i64 %c, 1
          store i64 %n, ptr @count
          %s = load i64, ptr @start
          %r = add i64 %s, %n
          ret i64 %r
        }
        define i64 @twice() {
          %a = call i64 @next()
          %b = call i64 @next()
          %r = add i64 %a, %b
          ret i64 %r
        }""",
        "next", "twice", "count",
    )  # fmt: skip
    assert call(code, "next") == 41
    assert call(code, "twice") == 42 + 43
    count = ctypes.c_int64.from_address(code.addresses["count"])
    count.value = 7
    assert call(code, "next") == 48
    assert code.addresses["count"] // 4096 != code.addresses["next"] // 4096


def test_a_table_of_addresses():
    code = linked(
        """
        @all = global [2 x ptr] [ptr @one, ptr @two]
        define i64 @one() { ret i64 1 }
        define i64 @two() { ret i64 2 }
        define i64 @choose(i64 %i) {
          %p = getelementptr ptr, ptr @all, i64 %i
          %f = load ptr, ptr %p
          %r = call i64 %f()
          ret i64 %r
        }""",
        "choose",
    )
    assert [call(code, "choose", i) for i in (0, 1)] == [1, 2]


def test_functions_and_data_from_outside():
    got: list[int] = []
    function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(lambda x: got.append(x) or 2 * x)
    cell = ctypes.c_int64(30)
    code = linked(
        """
        declare i64 @elsewhere(i64)
        @cell = external global i64
        declare double @cos(double)
        define i64 @through(i64 %x) {
          %r = call i64 @elsewhere(i64 %x)
          %c = load i64, ptr @cell
          store i64 %r, ptr @cell
          %s = add i64 %r, %c
          ret i64 %s
        }
        define ptr @place() { ret ptr @elsewhere }
        define double @one() {
          %c = call double @cos(double 0.0)
          ret double %c
        }
        define double @cosine(double %x) {
          %c = call double @cos(double %x)
          %r = fadd double %c, %c
          ret double %r
        }""",
        "through", "place", "cosine",
        imports={"elsewhere": ctypes.cast(function, ctypes.c_void_p).value or 0, "cell": ctypes.addressof(cell)},
    )  # fmt: skip
    assert call(code, "through", 6) == 42
    assert (got, cell.value) == ([6], 12)
    assert call(code, "cosine", 0.0, kind=ctypes.c_double) == 2.0
    # The address may be that of a jump to it.
    place = ctypes.CFUNCTYPE(ctypes.c_void_p)(code.addresses["place"])()
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(place)(4) == 8


def test_half_precision_finds_libgcc():
    code = linked(
        """
        define i64 @quotient(i64 %a, i64 %b) {
          %x = sext i64 %a to i128
          %y = sext i64 %b to i128
          %s = shl i128 %x, 70
          %q = sdiv i128 %s, %y
          %r = lshr i128 %q, 70
          %t = trunc i128 %r to i64
          ret i64 %t
        }""",
        "quotient",
    )
    assert call(code, "quotient", 84, 2) == 42


MISSING = """
    declare i64 @no_such_function()
    define i64 @f() {
      %r = call i64 @no_such_function()
      ret i64 %r
    }"""
OF_A_THREAD = """
    @t = thread_local global i64 1
    define i64 @f() {
      %r = load i64, ptr @t
      ret i64 %r
    }"""
ALL_SORTS = """
    declare i64 @abs(i64)
    @t = global i64 2
    define i64 @f(i64 %x) {
      %a = call i64 @abs(i64 %x)
      %b = load i64, ptr @t
      %r = add i64 %a, %b
      ret i64 %r
    }"""


@pytest.mark.parametrize(
    ("source", "message"),
    [(MISSING, "no_such"), (OF_A_THREAD, "thread's own"), ("define i64 @g() { ret i64 1 }", "no symbol f")],
    ids=["missing", "thread-local", "not there"],
)
def test_what_is_not_linked(source: str, message: str):
    with pytest.raises(linking.NotLinked, match=message):
        linked(source, "f")


def test_files_that_are_something_else():
    image = image_of("define i64 @f() { ret i64 1 }")
    for other in (b"", b"\x7fELF", b"\xcf\xfa\xed\xfe" + image[4:], image[:18] + struct.pack("<H", 183) + image[20:]):
        with pytest.raises(linking.NotLinked):
            linking.link(other, ("f",), {})


def test_damaged_files_are_refused_or_loaded():
    """A checksum keeps them away; without it, the linker itself does no harm."""
    image = bytearray(image_of(ALL_SORTS))
    random_ = random.Random(3)
    refused = 0
    for _ in range(2000):
        damaged = bytearray(image)
        for _ in range(random_.choice((1, 1, 2, 8))):
            at = random_.randrange(len(image))
            damaged[at] = random_.choice((0, 1, 0x7F, 0xFF, random_.randrange(256)))
        try:
            linking.link(bytes(damaged[: random_.choice((len(image), len(image), at))]), ("f",), {}).close()
        except linking.NotLinked:
            refused += 1
    assert 0 < refused < 2000


def test_memory_is_given_back():
    def mappings() -> int:
        """Of executable memory that is no file's; neighbours may be shown as one."""
        with open("/proc/self/maps") as file:
            return sum(1 for line in file if len(line.split()) == 5 and "x" in line.split()[1])

    image = image_of("define i64 @f() { ret i64 1 }")
    before = mappings()
    codes = [linking.link(image, ("f",), {}) for _ in range(200)]
    assert all(call(code, "f") == 1 for code in codes)
    for code in codes:
        code.close()
        code.close()
    assert mappings() <= before
    for _ in range(2000):
        linking.link(image, ("f",), {}).close()
    assert mappings() <= before

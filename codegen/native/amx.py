"""AMX, the units of some x86-64 processors that multiply tiles of bfloat16 and of 8-bit whole numbers.

A *tile* is up to 16 rows of 64 bytes; there are eight. One instruction adds to a tile of sums, 16 by 16 numbers of
float32 or int32, the product of two others: 16 rows of numbers in the order of what is summed over, and 16 rows of
groups of 32 bits (two of bfloat16, four of int8), a row for each group that is summed over and a group for each column.

The system keeps tiles for a process that has asked for permission (`granted`), for all its threads and its forked
children. What tiles look like is said for each thread: code says it where it begins (`configure`) and lets go of it
where it ends (`release`), so that other libraries find the unit as they left it, and a change of threads stays cheap.
LLVM's registers for tiles are named by numbers here; nothing keeps them through a call of a function.

Where an instruction takes bfloat16, numbers below 2^-126 are zero, operands and sums; sums are rounded to the nearest,
ties to even.
"""

from __future__ import annotations

import ctypes
import functools
import os
import platform
import sys
from collections.abc import Sequence

#: LLVM's names of the parts of AMX that are used here.
TILES, BF16, INT8 = "amx-tile", "amx-bf16", "amx-int8"
#: The most rows of a tile, bytes of a row, and tiles.
ROWS, ROW_BYTES, COUNT = 16, 64, 8
#: The type of 8 full tiles' description, and the name that `DECLARATIONS` gives it.
CONFIGURATION = "@amx.configuration"

#: Linux's numbers: the call, what is asked for, and the part of a thread's state that has the tiles.
_ARCH_PRCTL, _ARCH_REQ_XCOMP_PERM, _TILE_DATA = 158, 0x1023, 18
_SWITCHED_OFF = ("0", "off", "false", "no")


@functools.cache
def granted() -> bool:
    """Whether the system lets this process use tiles; it is asked once, unless `OPWEAVE_AMX` is 0."""
    if os.environ.get("OPWEAVE_AMX", "1").lower() in _SWITCHED_OFF:
        return False
    if sys.platform != "linux" or platform.machine() != "x86_64" or sys.maxsize < 1 << 32:
        return False
    number = ctypes.c_long
    # A system that does not know the question, or has no such unit, says so.
    return ctypes.CDLL(None).syscall(number(_ARCH_PRCTL), number(_ARCH_REQ_XCOMP_PERM), number(_TILE_DATA)) == 0


def usable(features: frozenset[str]) -> frozenset[str]:
    """Features of this machine's processor without those that the system keeps from this process."""
    return features if granted() else frozenset(name for name in features if not name.startswith("amx"))


# ---- instructions, as LLVM IR --------------------------------------------------------------------------------------


def description(name: str, shapes: Sequence[tuple[int, int]]) -> str:
    """A constant that says of each tile its rows, and the groups of 32 bits in each."""
    data = bytearray(64)
    data[0] = 1  # the palette
    for tile, (rows, groups) in enumerate(shapes):
        data[16 + 2 * tile] = 4 * groups
        data[48 + tile] = rows
    text = "".join(f"\\{byte:02X}" for byte in data)
    return f'{name} = internal constant [64 x i8] c"{text}", align 64'


DECLARATIONS = f"""\
{description(CONFIGURATION, [(ROWS, ROW_BYTES // 4)] * COUNT)}
declare void @llvm.x86.ldtilecfg(ptr)
declare void @llvm.x86.tilerelease()
declare void @llvm.x86.tilezero(i8 immarg)
declare void @llvm.x86.tileloadd64(i8 immarg, ptr, i64)
declare void @llvm.x86.tilestored64(i8 immarg, ptr, i64)
declare void @llvm.x86.tdpbf16ps(i8 immarg, i8 immarg, i8 immarg)
declare void @llvm.x86.tdpbssd(i8 immarg, i8 immarg, i8 immarg)"""


def configure(name: str = CONFIGURATION) -> str:
    """Make tiles what a description says, and zeros, for this thread."""
    return f"call void @llvm.x86.ldtilecfg(ptr {name})"


def release() -> str:
    """Give the tiles of this thread back."""
    return "call void @llvm.x86.tilerelease()"


def zero(tile: int) -> str:
    """Zeros to a tile."""
    return f"call void @llvm.x86.tilezero(i8 {tile})"


def load(tile: int, place: str, step: object) -> str:
    """Rows in memory, `step` bytes apart (`i64`), to a tile."""
    return f"call void @llvm.x86.tileloadd64(i8 {tile}, ptr {place}, i64 {step})"


def store(tile: int, place: str, step: object) -> str:
    """A tile to rows in memory."""
    return f"call void @llvm.x86.tilestored64(i8 {tile}, ptr {place}, i64 {step})"


def dot(stored: str, sums: int, rows: int, groups: int) -> str:
    """Add to `sums` the products of `rows` and `groups`, of numbers `stored` as "bfloat" or "i8"."""
    name = {"bfloat": "tdpbf16ps", "i8": "tdpbssd"}[stored]
    return f"call void @llvm.x86.{name}(i8 {sums}, i8 {rows}, i8 {groups})"

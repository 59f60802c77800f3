"""The sanitizer's questions as native code: what a sanitized kernel calls before each access and each step.

Its state is a row of 64-bit numbers (`STATE`), set for one launch at a time; of each argument's memory it has a row of
`RANGE`. The code is LLVM IR, since no C compiler is asked for; names between `@` stand for places in these rows.
"""

from __future__ import annotations

import ctypes
import functools

from opweave.codegen import native as native_code
from opweave.codegen.native import objects
from opweave.codegen.triton_cpu.analysis import CHECK, STEP

POISON = 0xCB
"""What bytes of memory from `empty` hold until somebody writes them."""

FOUND = ("nothing", "outside", "misaligned", "unwritten", "race", "read-only", "stale", "overwritten", "benign",
         "endless", "undefined", "index")  # fmt: skip
"""What may be wrong, by number."""

STATE = ("ranges", "count", "found", "site", "kind", "program", "index", "address", "other", "range", "maps",
         "map_count", "met", "edges", "edge_count", "edge_limit", "ordered", "benign", "steps")  # fmt: skip
RANGE = ("start", "end", "written", "writers", "readers", "writable")
MET = 1 << 20
"""Programs that are told apart by whether the present one met them; a power of two."""

Ordered = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64, ctypes.c_int64)
"""`ordered(program, other)`: whether what the other did is done before; both counted from 1."""


class Native:
    """The check as native code, one a process."""

    def __init__(self) -> None:
        code = objects.Code(source, "sanitizer", objects.PROMOTED).load((CHECK, STEP, _STATE))
        #: Addresses of the functions that a sanitized kernel calls.
        self.imports = {CHECK: code.address(CHECK), STEP: code.address(STEP)}
        self._state = ctypes.c_int64.from_address(code.address(_STATE))

    def set_state(self, address: int) -> None:
        """Say where the launch's state is, 0 for none."""
        self._state.value = address


@functools.cache
def native() -> Native:
    """The check, compiled at first use."""
    return Native()


def source() -> str:
    """LLVM IR of the check."""
    places = ((STATE, "s"), (RANGE, "r"), (FOUND, "f"))
    numbers: dict[str, object] = {f"{mark}.{field}": i for names, mark in places for i, field in enumerate(names)}
    return native_code.source("sanitizer", numbers=numbers | {"fields": len(RANGE), "poison": POISON - 256, "met": MET})


_STATE = "opweave_sanitizer_state"

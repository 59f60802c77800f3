"""Whether an instruction stands inside of a `try` whose `except` would go on with what it raises."""

from __future__ import annotations

import dis
import functools
from types import CodeType

_MATCHES = frozenset({"CHECK_EXC_MATCH", "CHECK_EG_MATCH"})


@functools.lru_cache(maxsize=1024)
def _guarded(code: CodeType) -> tuple[tuple[int, int], ...]:
    """The ranges of instructions that an `except` stands for; `finally` and `with` hand exceptions on."""
    found: list[tuple[int, int]] = []
    bytecode = dis.Bytecode(code)
    instructions = list(bytecode)
    places = {instruction.offset: at for at, instruction in enumerate(instructions)}
    for entry in getattr(bytecode, "exception_entries", ()):
        names = [instruction.opname for instruction in instructions[places.get(entry.target, 0) :]]
        if names[:1] != ["PUSH_EXC_INFO"] or names[1:2] == ["WITH_EXCEPT_START"]:
            continue
        end = next((at for at, name in enumerate(names) if name == "RERAISE"), len(names))
        if names[1:2] == ["POP_TOP"] or not _MATCHES.isdisjoint(names[:end]):
            found.append((entry.start, entry.end))
    return tuple(found)


def catches(code: CodeType, offset: int) -> bool:
    """Whether an `except` of this code stands for what the instruction at an offset raises."""
    return any(start <= offset < end for start, end in _guarded(code))

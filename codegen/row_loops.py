"""Row programs of elements as loops that replayed calls run (`registry.tape`), as NumPy calls its own.

All steps of a pointwise body are one pass over its operands then, by the code that large tensors have (`codegen.rows`).
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from opweave.codegen import half_casts
from opweave.codegen.instructions.emit import Emitter
from opweave.codegen.instructions.operands import Operand, Register
from opweave.codegen.native import objects
from opweave.codegen.rows import HEAD, TYPES, Writer
from opweave.registry.interrupts import let_through
from opweave.registry.rows import RowProgram

_LOOP = """
define void @opweave.rows.loop(ptr %places, ptr %count, ptr %steps, ptr %data) {{
entry:
  %args = alloca [{words} x i64], align 8
  call void @llvm.memset.p0.i64(ptr %args, i8 0, i64 {bytes}, i1 false)
  %n = load i64, ptr %count
{lines}
  call void @opweave.rows(ptr %args, i64 0, i64 1, i32 0, i32 0, i32 0)
  ret void
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def _as_loop(program: RowProgram, inputs: int) -> str:
    """What is called as NumPy calls its loops, for one row whose elements lie side by side.

    The numbers behind the inputs are in the words that it takes besides.
    """
    em = Emitter()

    def put(place: int, word: Operand) -> None:
        em.line(f"store i64 {word}, ptr {em.offset(Register('%args'), place, 'i64')}")

    for place, word in enumerate([1, 1, *[Register("%n")] * 3, 1]):
        put(place, word)
    for number, form in enumerate([*program.forms, "rows"]):
        at, source = number, Register("%places")
        if inputs <= number < len(program.forms):
            at, source = number - inputs, Register("%data")
        elif number == len(program.forms):
            at = inputs
        word: Operand = em.inst(f"load i64, ptr {em.offset(source, at, 'i64')}")
        if form == "number" and number < inputs:
            value = em.inst(f"load i32, ptr {em.inst(f'inttoptr i64 {word} to ptr')}")
            word = em.inst(f"zext i32 {value} to i64")
        put(HEAD + number, word)
    words = HEAD + 2 * len(program.forms) + 2
    return _LOOP.format(words=words, bytes=8 * words, lines="\n".join(em.lines))


@functools.cache
def loop_of(program: RowProgram, types: tuple[np.dtype[Any], ...]) -> int | None:
    """The address of the loop of a program of elements; `types` are those of what it reads and writes, but numbers."""
    inputs = len(types) - 1
    kinds = [TYPES.get(dtype) for dtype in types]
    if None in kinds or not all(form in ("rows", "number") for form in program.forms):
        return None
    known = tuple([str(kind) for kind in (*kinds[:-1], *["f4"] * (len(program.forms) - inputs), kinds[-1])])
    name = f"{program.name} of {' '.join(known)} as a loop"

    def source() -> str:
        return Writer(program, known, False).source("opweave.rows") + _as_loop(program, inputs)

    try:
        if "f2" in known and half_casts.loop(np.dtype(np.float16), np.dtype(np.float32)) is None:
            return None
        code = objects.Code(source, name, objects.CLEANED, name)
        return code.load(["opweave.rows.loop"]).address("opweave.rows.loop")
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy's loops are there
        let_through(error)
        return None

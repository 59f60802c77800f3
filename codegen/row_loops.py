"""Row programs as loops that replayed calls run (`registry.tape`), as NumPy calls its own.

All steps of a pointwise body are one pass over its operands then, by the code that large tensors have (`codegen.rows`):
of elements that lie side by side, many on the pool, or of the rows of a `RowCall`.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.codegen import casts
from opweave.codegen.instructions.emit import Emitter
from opweave.codegen.instructions.operands import I32, I64, PTR, Constant, Operand, Register
from opweave.codegen.native import objects, pool
from opweave.codegen.row_plans import planned
from opweave.codegen.rows import HEAD, LANES, TYPES, Writer, shares
from opweave.registry.interrupts import let_through
from opweave.registry.rows import RowCall, RowProgram

#: Elements of a row where elements are many, and rows of a program of them.
_ROW, _ROWS = 1 << 13, 4

_LOOP = """
define void @opweave.rows.loop(ptr %places, ptr %count, ptr %steps, ptr %data) {{
entry:
  %args = alloca [{words} x i64], align 8
  call void @llvm.memset.p0.i64(ptr %args, i8 0, i64 {bytes}, i1 false)
  %all = load i64, ptr %count
{lines}
  ret void
}}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""

#: `data` are how many programs there are, and the arguments but what is in `places`.
_CALL = """
@cost = internal global double 0.0
define void @opweave.rows.loop(ptr %places, ptr %count, ptr %steps, ptr %data) {{
entry:
  %args = alloca [{words} x i64], align 8
  %given = getelementptr i64, ptr %data, i64 1
  call void @llvm.memcpy.p0.p0.i64(ptr %args, ptr %given, i64 {bytes}, i1 false)
{lines}
  %programs = load i64, ptr %data
  %raised = call i32 @opweave_run(ptr @opweave.rows, ptr %args, i64 %programs, i32 0, i32 0, i32 0, ptr @cost)
  ret void
}}
declare i32 @opweave_run(ptr, ptr, i64, i32, i32, i32, ptr)
"""
#: Memory for what programs keep, which no two calls need at once: that of which nothing is written takes none.
_MOST_KEPT = 1 << 22
_kept: Any = None


def _as_loop(program: RowProgram, inputs: int, types: tuple[str, ...], is_large: bool) -> str:
    """What is called as NumPy calls its loops, for elements that lie side by side.

    The numbers behind the inputs are in the words that it takes besides.
    """
    em = Emitter()
    results = len(program.forms)

    def put(place: int, word: Operand) -> None:
        em.line(f"store i64 {word}, ptr {em.offset(Register('%args'), place, 'i64')}")

    def shape(rows: Operand, per: int, length: Operand) -> None:
        for place, word in enumerate([rows, per, *[length] * 3, 1]):
            put(place, word)

    begins: dict[int, Operand] = {}
    for number, form in enumerate([*program.forms, "rows"]):
        at, source = number, Register("%places")
        if inputs <= number < results:
            at, source = number - inputs, Register("%data")
        elif number == results:
            at = inputs
        word: Operand = em.inst(f"load i64, ptr {em.offset(source, at, 'i64')}")
        if form == "number" and number < inputs:
            value = em.inst(f"load i32, ptr {em.inst(f'inttoptr i64 {word} to ptr')}")
            word = em.inst(f"zext i32 {value} to i64")
        elif form == "rows":
            begins[number] = word
        put(HEAD + number, word)
    left: Operand = Register("%all")
    if is_large:
        rows = em.inst(f"udiv i64 {left}, {_ROW}")
        whole = em.mul(rows, _ROW)
        shape(rows, _ROWS, _ROW)
        for number in begins:
            put(HEAD + results + 1 + number, _ROW)
        programs = em.inst(f"udiv i64 {em.add(rows, _ROWS - 1)}, {_ROWS}")
        em.call(I32, "opweave_run", [
            (PTR, Constant("@opweave.rows")), (PTR, Register("%args")), (I64, programs), *[(I32, 0)] * 3,
            (PTR, Constant("@cost")),
        ])  # fmt: skip
        left = em.sub(left, whole)
        for number, word in begins.items():
            put(HEAD + number, em.add(word, em.mul(whole, casts.size(types[number]))))
    shape(1, 1, left)
    em.line("call void @opweave.rows(ptr %args, i64 0, i64 1, i32 0, i32 0, i32 0)")
    words = HEAD + 2 * results + 2
    declared = "@cost = internal global double 0.0\n" + "\n".join(em.declarations.values()) if is_large else ""
    return _LOOP.format(words=words, bytes=8 * words, lines="\n".join(em.lines)) + declared


def _loaded(name: str, source: Callable[[], str], types: Sequence[str], on_pool: bool) -> int | None:
    try:
        if "f2" in types and casts.loop(np.dtype(np.float16), np.dtype(np.float32)) is None:
            return None
        code = objects.Code(source, name, objects.CLEANED, name)
        imports = {"opweave_run": pool.run_address()} if on_pool else {}
        return code.load(["opweave.rows.loop"], imports).address("opweave.rows.loop")
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy's loops are there
        let_through(error)
        return None


@functools.cache
def loop_of(program: RowProgram, types: tuple[np.dtype[Any], ...], is_large: bool) -> int | None:
    """The address of the loop of a program of elements.

    Parameters
    ----------
    program : RowProgram
        What is computed.
    types : tuple of numpy.dtype
        Of what it reads and writes, but numbers.
    is_large : bool
        Whether elements are many.
    """
    inputs = len(types) - 1
    kinds = [TYPES.get(dtype) for dtype in types]
    if None in kinds or not all(form in ("rows", "number") for form in program.forms):
        return None
    known = tuple([str(kind) for kind in (*kinds[:-1], *["f4"] * (len(program.forms) - inputs), kinds[-1])])
    name = f"{program.name} of {' '.join(known)} as a loop{' on the pool' if is_large else ''}"

    def source() -> str:
        return Writer(program, known, False).source("opweave.rows") + _as_loop(program, inputs, known, is_large)

    return _loaded(name, source, known, is_large)


def call_of(call: RowCall, types: Sequence[np.dtype[Any]], numbers: Sequence[int]) -> tuple[int, list[int]] | None:
    """The address of the loop of rows, and the words that it takes besides; None where there is none.

    Parameters
    ----------
    call : RowCall
        What is computed.
    types : sequence of numpy.dtype
        Of operands that are no numbers, and results.
    numbers : sequence of int
        The bits of those that are.
    """
    global _kept
    program, count, length, inner = call
    if 1 < inner < LANES:
        return None
    forms, given, left = program.forms, iter(types), iter(numbers)
    known = tuple([TYPES[np.dtype(np.float32) if form == "number" else next(given)] for form in forms])
    known += tuple([TYPES[dtype] for dtype in given])
    places = [number for number in range(len(known)) if number >= len(forms) or forms[number] != "number"]
    many, per, padded, block = shares(program, count, length, inner)
    programs = -(-many // per)
    plan = planned(program)
    if any(v.kind == "down" for v in plan.results) or 4 * programs * len(plan.kept) * padded > _MOST_KEPT:
        return None
    if plan.kept and _kept is None:
        _kept = ctypes.create_string_buffer(_MOST_KEPT + 64)
        objects.keep_forever(_kept)
    keep = (ctypes.addressof(_kept) + 63) // 64 * 64 if plan.kept else 0
    words = [programs, many, per, length, padded, block, inner, keep, 0]
    words += [0 if number in places else next(left) for number in range(len(known))]
    words += [length if number in places else 0 for number in range(len(known))]
    name = f"{program.name} of {' '.join(known)}{' across' if inner > 1 else ''} as a loop of rows"

    def source() -> str:
        em = Emitter()
        for place, number in enumerate(places):
            word = em.inst(f"load i64, ptr {em.offset(Register('%places'), place, 'i64')}")
            em.line(f"store i64 {word}, ptr {em.offset(Register('%args'), HEAD + number, 'i64')}")
        text = Writer(program, known, inner > 1).source("opweave.rows")
        copy = "" if "@llvm.memcpy.p0.p0.i64(" in text else "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\n"
        size = len(words) - 1
        return text + copy + _CALL.format(words=size, bytes=8 * size, lines="\n".join(em.lines))

    address = _loaded(name, source, known, True)
    return None if address is None else (address, words)

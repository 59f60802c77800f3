"""Operations with effects beyond plain stores: atomics, device assertions, printing."""

from __future__ import annotations

import re
from collections.abc import Callable

from opweave.codegen.instructions.emit import FLOATS, LLVM_FLOATS, LLVM_TYPE, SIZE
from opweave.codegen.instructions.operands import DOUBLE, I32, I64, NULL, PTR, LLVMType, Operand, Typed
from opweave.codegen.triton_cpu.analysis import EXPENSIVE
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import cast, to_f32
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.codegen.triton_cpu.loops import materialize, outer_loops
from opweave.codegen.triton_cpu.materialize import before_write
from opweave.codegen.triton_cpu.memory import scalar_atomic
from opweave.codegen.triton_cpu.operations import root
from opweave.registry.triton.ttir import Op, Value


@root("tt.atomic_rmw", "tt.atomic_cas", writes=True)
def _atomic(cx: Context, op: Op) -> None:
    """Element by element; the old values are kept where they are used."""
    before_write(cx, [op], op.operands)  # loads of its own operands that lie elsewhere in what it writes
    before_write(cx, [op], [])  # loads that are needed afterwards
    result = op.result
    if not result.type.is_tensor:
        cx.scalars[result] = scalar_atomic(cx, op, ())
        return
    materialize(cx, [v for v in op.operands if cx.cost(v) >= EXPENSIVE])
    old = cx.em.buffer(result.type.dims, result.type.elem) if result.users else None

    def element(idx: Indices) -> None:
        x = scalar_atomic(cx, op, idx)
        if old is not None:
            cx.store_buffer(old, x, idx)

    with cx.lanes(1):
        outer_loops(cx, result.type.dims, range(len(result.type.dims)), element)
    if old is not None:
        cx.buffers[result] = old


def _message(op: Op) -> str:
    return re.sub(
        r"(?:\\[0-9A-F]{2})+", lambda m: bytes.fromhex(m[0].replace("\\", "")).decode(errors="replace"), op.message
    )


def _printable(cx: Context, x: Lanes, signed: bool, hexadecimal: bool) -> tuple[str, LLVMType, Operand]:
    """(printf directive, LLVM type, value) after C's default promotions."""
    em = cx.em
    if x.elem == "ptr":
        return "%p", PTR, x.value
    if hexadecimal:
        if x.elem in LLVM_FLOATS:
            x = cast(cx, "bitcast", x, f"i{8 * SIZE[x.elem]}")
        wide = x.value if SIZE[x.elem] == 8 else em.inst(f"zext {LLVM_TYPE[x.elem]} {x.value} to i64")
        return f"0x%0{2 * SIZE[x.elem]}llx", I64, wide
    if x.elem in FLOATS:
        wide = to_f32(cx, x)
        value = wide.value if wide.elem == "f64" else em.inst(f"fpext float {wide.value} to double")
        return "%f", DOUBLE, value
    if x.elem == "i64":
        return ("%lld" if signed else "%llu"), I64, x.value
    extend = "sext" if signed and x.elem != "i1" else "zext"
    return ("%lld" if signed else "%llu"), I64, em.inst(f"{extend} {LLVM_TYPE[x.elem]} {x.value} to i64")


@root("tt.print")
def _print(cx: Context, op: Op) -> None:
    """A line per element: `pid (x, y, z) idx (i, j) prefix: value`, numbered where there are several operands."""
    cx.needs_print = True
    hexadecimal = op.flag("hex")
    signs = op.array_attr("isSigned") or (1,) * len(op.operands)
    prefix = _message(op).replace("%", "%%")
    if not op.operands:
        _print_line(cx, prefix, (), lambda idx: None)
    for k, (v, sign) in enumerate(zip(op.operands, signs, strict=False)):
        materialize(cx, [v] if cx.cost(v) >= EXPENSIVE else [])
        label = f"{prefix}(operand {k}) " if len(op.operands) > 1 else prefix

        def printed(idx: Indices, v: Value = v, sign: int = sign) -> tuple[str, LLVMType, Operand]:
            return _printable(cx, cx.evaluate(v, idx if v.type.is_tensor else ()), bool(sign), hexadecimal)

        with cx.lanes(1):
            dims = v.type.dims
            outer_loops(cx, dims, range(len(dims)), lambda idx, label=label, p=printed: _print_line(cx, label, idx, p))
    cx.em.call(I32, "fflush", [(PTR, NULL)])


def _print_line(
    cx: Context, prefix: str, idx: Indices, printed: Callable[[Indices], tuple[str, LLVMType, Operand] | None]
) -> None:
    args: list[Typed] = [(I32, p) for p in cx.program_id]
    text = "pid (%d, %d, %d) idx (" + ", ".join(["%lld"] * len(idx)) + ")" + prefix
    args += [(I64, i.value) for i in idx]
    found = printed(idx)
    if found is not None:
        directive, t, value = found
        text += directive
        args.append((t, value))
    cx.em.call(I32, "printf", [(PTR, cx.em.string(text + "\n")), *args], variadic=True)


@root("tt.assert")
def _assert(cx: Context, op: Op) -> None:
    """Where it fails, the first to say so leaves its number and program for the launcher, and the program ends.

    What follows in the program may rely on the assertion, so nothing of it may run.
    """
    em = cx.em
    (condition,) = op.operands
    cx.assertions.append(f"{op.loc or ''}\0{_message(op)}")
    number = len(cx.assertions)

    def fail() -> None:
        cell = em.inst(f"load ptr, ptr {cx.assertion_slot}")
        pair = em.inst(f"cmpxchg ptr {cell}, i64 0, i64 {number} seq_cst seq_cst")

        def sign() -> None:
            for k, p in enumerate(cx.program_id):
                em.line(f"store i64 {em.inst(f'zext i32 {p} to i64')}, ptr {em.offset(cell, k + 1, 'i64')}")

        em.when(em.inst(f"extractvalue {{ i64, i1 }} {pair}, 1"), sign)
        em.branch(cx.program_end)
        em.label(em.fresh("never"))

    def element(idx: Indices) -> None:
        holds = cx.evaluate(condition, idx).value
        em.when(em.inst(f"xor i1 {holds}, true"), fail)

    materialize(cx, [condition] if cx.cost(condition) >= EXPENSIVE else [])
    with cx.lanes(1):
        outer_loops(cx, condition.type.dims, range(len(condition.type.dims)), element)

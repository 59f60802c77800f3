"""Operations with effects beyond plain stores: atomics, device assertions, printing."""

from __future__ import annotations

from opweave.codegen.triton_cpu.analysis import EXPENSIVE
from opweave.codegen.triton_cpu.context import Context, Indices, Lanes, root
from opweave.codegen.triton_cpu.elementwise import to_f32
from opweave.codegen.triton_cpu.emit import FLOATS, LLVM_TYPE
from opweave.codegen.triton_cpu.loops import materialize, outer_loops
from opweave.codegen.triton_cpu.materialize import before_write
from opweave.codegen.triton_cpu.memory import scalar_atomic
from opweave.codegen.triton_cpu.ttir import Op, Value


@root("tt.atomic_rmw", "tt.atomic_cas")
def _atomic(cx: Context, op: Op) -> None:
    """Element by element; the old values are kept where they are used."""
    before_write(cx, [op], [])
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
    text = op.attrs[op.attrs.index('"') + 1 :]
    return text[: text.index('"')]


def _printable(cx: Context, x: Lanes, signed: bool) -> tuple[str, str, str]:
    """(printf directive, LLVM type, value) after C's default promotions."""
    em = cx.em
    if x.elem == "ptr":
        return "%p", "ptr", x.value
    if x.elem in FLOATS:
        wide = to_f32(cx, x)
        value = wide.value if wide.elem == "f64" else em.inst(f"fpext float {wide.value} to double")
        return "%f", "double", value
    if x.elem == "i64":
        return ("%lld" if signed else "%llu"), "i64", x.value
    extend = "sext" if signed and x.elem != "i1" else "zext"
    return ("%lld" if signed else "%llu"), "i64", em.inst(f"{extend} {LLVM_TYPE[x.elem]} {x.value} to i64")


@root("tt.print")
def _print(cx: Context, op: Op) -> None:
    """A line per element: `pid (x, y, z) idx (i, j) prefix: value`."""
    cx.needs_print = True
    signs = op.array_attr("isSigned") or (1,) * len(op.operands)
    prefix = _message(op).replace("%", "%%")
    if not op.operands:
        _print_line(cx, prefix, (), None, True)
    for v, sign in zip(op.operands, signs, strict=False):
        materialize(cx, [v] if cx.cost(v) >= EXPENSIVE else [])
        with cx.lanes(1):
            dims = v.type.dims
            outer_loops(
                cx, dims, range(len(dims)), lambda idx, v=v, sign=sign: _print_line(cx, prefix, idx, v, bool(sign))
            )
    cx.em.call("i32", "fflush", [("ptr", "null")])


def _print_line(cx: Context, prefix: str, idx: Indices, v: Value | None, signed: bool) -> None:
    args = [("i32", p) for p in cx.program_id]
    text = "pid (%d, %d, %d) idx (" + ", ".join(["%lld"] * len(idx)) + ")" + prefix
    args += [("i64", i.value) for i in idx]
    if v is not None:
        directive, t, value = _printable(cx, cx.evaluate(v, idx if v.type.is_tensor else ()), signed)
        text += directive
        args.append((t, value))
    cx.em.call("i32", "printf", [("ptr", cx.em.string(text + "\n")), *args], variadic=True)


@root("tt.assert")
def _assert(cx: Context, op: Op) -> None:
    """A failed device assertion names itself on standard error and aborts, as on a GPU."""
    cx.needs_assert = True
    (condition,) = op.operands
    text = f"device assertion failed: {_message(op)}" + (f" ({op.loc})" if op.loc else "") + "\n"

    def fail() -> None:
        size = len(text.encode())
        cx.em.call("i64", "write", [("i32", "2"), ("ptr", cx.em.string(text)), ("i64", str(size))])
        cx.em.call("void", "abort", [])

    def element(idx: Indices) -> None:
        holds = cx.evaluate(condition, idx).value
        cx.em.when(cx.em.inst(f"xor i1 {holds}, true"), fail)

    with cx.lanes(1):
        outer_loops(cx, condition.type.dims, range(len(condition.type.dims)), element)

"""Arithmetic on affine values: base + (origin + lane) * stride.

Each rule gets uniform or affine operands, emits the scalar arithmetic of the base, and returns None where the result
is neither uniform nor affine; the operation is then computed on vectors. A 32-bit offset that only addresses memory is
taken not to wrap within a tensor's extent: it is widened to 64 bits before its lanes are spread.
"""

from __future__ import annotations

from opweave.codegen.instructions.emit import LLVM_TYPE, SIZE
from opweave.codegen.instructions.operands import Operand
from opweave.codegen.triton_cpu.analysis import divisor, nonnegative, range_dims
from opweave.codegen.triton_cpu.context import Context, pointee_size
from opweave.codegen.triton_cpu.lanes import Lanes
from opweave.codegen.triton_cpu.operations import VIEWS, affine
from opweave.registry.triton.ttir import Op, Value

_SAFE_STRIDE = 1 << 20
"""Above this, a constant stride is taken for data (a hash, say) that may wrap, not for an address."""


def _sum(cx: Context, a: Lanes, b: Lanes, op: str) -> Lanes | None:
    stride = _combined_stride(cx, a, b, op)
    if stride is None:
        return None
    if b.value == 0:
        base = a.value
    elif op == "add" and a.value == 0:
        base = b.value
    else:
        base = cx.em.inst(f"{op} {LLVM_TYPE[a.elem]} {a.value}, {b.value}")
    return _lanes(base, a.elem, stride, a.origin or b.origin)


def _lanes(base: Operand, elem: str, stride: Operand, origin: str) -> Lanes:
    return Lanes("uniform", base, elem) if stride == 0 else Lanes("affine", base, elem, stride, origin)


def _combined_stride(cx: Context, a: Lanes, b: Lanes, op: str) -> Operand | None:
    if a.kind == b.kind == "affine" and a.origin != b.origin:
        return None
    if isinstance(a.stride, int) and isinstance(b.stride, int):
        return a.stride + b.stride if op == "add" else a.stride - b.stride
    return cx.em.inst(f"{op} i64 {a.stride}, {b.stride}")


@affine("arith.addi", "arith.subi")
def _add(cx: Context, op: Op, args: list[Lanes]) -> Lanes | None:
    return _sum(cx, args[0], args[1], "add" if op.name == "arith.addi" else "sub") if args[0].elem != "i1" else None


@affine("arith.muli")
def _mul(cx: Context, op: Op, args: list[Lanes]) -> Lanes | None:
    a, b = args if args[0].kind == "affine" else (args[1], args[0])
    if not b.uniform:
        return None
    base = 0 if a.value == 0 else cx.em.inst(f"mul {LLVM_TYPE[a.elem]} {a.value}, {b.value}")
    if isinstance(b.value, int) and isinstance(a.stride, int):
        return _lanes(base, a.elem, a.stride * b.value, a.origin)
    return _lanes(base, a.elem, cx.em.mul(a.stride, cx.em.resize(b.value, b.elem, "i64")), a.origin)


@affine("arith.extsi", "arith.index_cast")
def _cast(cx: Context, op: Op, args: list[Lanes]) -> Lanes | None:
    (x,), elem = args, op.result.type.elem
    if x.elem == "i1" or isinstance(x.stride, int) and abs(x.stride) > _SAFE_STRIDE:
        return None
    if x.kind == "affine" and not _within(x, op.result.type.dims) and not _only_addresses(op.result):
        return None
    return _lanes(cx.em.resize(x.value, x.elem, elem), elem, x.stride, x.origin)


def _within(x: Lanes, dims: tuple[int, ...]) -> bool:
    """Whether no element of an affine value can wrap, its base and stride being known."""
    if not isinstance(x.value, int) or not isinstance(x.stride, int):
        return False
    return abs(x.value) + abs(x.stride) * max(dims) < 1 << (8 * SIZE[x.elem] - 1)


_KEEPS_ADDRESS = VIEWS | {
    "arith.addi", "arith.subi", "arith.muli", "arith.divsi", "arith.remsi", "arith.extsi", "arith.index_cast",
}  # fmt: skip


def _only_addresses(v: Value) -> bool:
    """Whether a number is used in nothing but addresses and their bounds."""
    todo, seen = [v], {v}
    while todo:
        for user in todo.pop().users:
            if user.name in _KEEPS_ADDRESS:
                todo += [r for r in user.results if r not in seen]
                seen.update(user.results)
            elif user.name not in ("tt.addptr", "arith.cmpi"):
                return False
    return True


@affine("tt.addptr")
def _pointer(cx: Context, op: Op, args: list[Lanes]) -> Lanes | None:
    (pointer, offset), em = args, cx.em
    size = pointee_size(op.result.type)
    moved = em.offset(pointer.value, em.mul(em.resize(offset.value, offset.elem, "i64"), size))
    stride = offset.stride * size if isinstance(offset.stride, int) else em.mul(offset.stride, size)
    step = Lanes(offset.kind, 0, "i64", stride, offset.origin)
    combined = _combined_stride(cx, pointer, step, "add")
    return _lanes(moved, "ptr", combined, pointer.origin or offset.origin) if combined is not None else None


@affine("arith.divsi", "arith.remsi")
def _remainder(cx: Context, op: Op, args: list[Lanes]) -> Lanes | None:
    """x // c and x % c, where all lanes of a step share the quotient: c and the first x are multiples of the width."""
    x, c = args
    if x.kind != "affine" or x.stride != 1 or not c.uniform or not isinstance(c.value, int) or not cx.positioned:
        return None
    if c.value <= 0 or c.value % cx.width or divisor(op.operands[0], cx.hints) % cx.width:
        return None
    # A range along another dimension may have any element there, not only its first.
    dims = range_dims(op.operands[0])
    if dims is None or len(dims) > 1:
        return None
    if not nonnegative(op.operands[0]):
        return None
    first, t = cx.position(x), LLVM_TYPE[x.elem]
    if op.name == "arith.divsi":
        return Lanes("uniform", cx.em.inst(f"sdiv {t} {first}, {c.value}"), x.elem)
    rest = cx.em.inst(f"srem {t} {first}, {c.value}")
    return Lanes("affine", rest, x.elem, 1, cx.zero_origin())


@affine("tt.bitcast")
def _bitcast(cx: Context, op: Op, args: list[Lanes]) -> Lanes | None:
    return args[0] if op.result.type.elem == "ptr" else None

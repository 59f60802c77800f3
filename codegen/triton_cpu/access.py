"""What a sanitized kernel asks before each access, at each turn of a loop, and where it found something itself."""

from __future__ import annotations

from collections.abc import Callable

from opweave.codegen.instructions.emit import LLVM_FLOATS, LLVM_TYPE, SIZE, storage
from opweave.codegen.instructions.operands import I1, I64, Operand
from opweave.codegen.triton_cpu.access_check import FOUND
from opweave.codegen.triton_cpu.analysis import CHECK, KINDS, ONE_OF_THEM, STEP, UNKNOWN, pointer_bases
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.registry.triton.ttir import Op, Value


def check_access(
    cx: Context, op: Op, kind: str, pointer: Lanes, mask: Lanes, idx: Indices, elem: str, value: Lanes | None = None
) -> None:
    """Ask about one element's access; where the answer is no, the program ends."""
    assert cx.width == 1, "a sanitized kernel works element by element"
    em, operand = cx.em, op.operands[0]
    argument = argument_of(cx, operand)
    number = _site(cx, op, argument, SIZE[storage(elem)], operand.type.dims, kind)
    address = em.inst(f"ptrtoint ptr {cx.position(pointer)} to i64")
    size, index = SIZE[storage(elem)], _linear(cx, operand.type.dims, idx)
    bits = 0 if value is None else _bits(cx, value)
    _when(cx, mask, lambda: _ask(cx, (address, size, KINDS.index(kind), argument, number, index, cx.program, bits)))


def report(cx: Context, op: Op, what: str, when: Lanes, idx: Indices, kind: str = "read", source: str = "") -> None:
    """Say that something is wrong with an operation at an index, where a condition holds."""
    dims = op.result.type.dims if op.results else op.operands[0].type.dims
    number = _site(cx, op, UNKNOWN, 1, dims, kind, source)
    index, told = _linear(cx, dims, idx), KINDS.index("told")
    _when(cx, when, lambda: _ask(cx, (0, 1, told, UNKNOWN, number, index, cx.program, FOUND.index(what))))


def step(cx: Context, op: Op | None, stop: str = "") -> None:
    """Count a turn of a loop, or a program; where there were too many, go to a label, by default the program's end."""
    if not cx.features.sanitize:
        return
    number = _site(cx, op, UNKNOWN, 1, (), "read")
    fine = cx.em.call(I1, STEP, [(I64, number), (I64, cx.program)])
    _unless(cx, fine, stop or cx.program_end)


def argument_of(cx: Context, pointer: Value) -> int:
    """The position of the parameter that a pointer is made from; `ONE_OF_THEM` or `UNKNOWN` where it is not sure."""
    bases = pointer_bases(pointer)
    if any(base not in cx.parameters for base in bases):
        return UNKNOWN
    return cx.parameters[bases.pop()] if len(bases) == 1 else ONE_OF_THEM


def _site(
    cx: Context, op: Op | None, argument: int, size: int, dims: tuple[int, ...], kind: str, source: str = ""
) -> int:
    site = ((op.loc if op is not None else "") or "", argument, size, tuple(dims), kind, source)
    return cx.sites.setdefault(site, len(cx.sites))


def _linear(cx: Context, dims: tuple[int, ...], idx: Indices) -> Operand:
    index: Operand = 0
    for i, extent in zip(idx, dims, strict=True):
        index = cx.em.add(cx.em.mul(index, extent), i.value)
    return index


def _bits(cx: Context, value: Lanes) -> Operand:
    """A value's bits as an i64."""
    em, elem, x = cx.em, value.elem, cx.position(value)
    if elem in ("ptr", "i64"):
        return em.inst(f"ptrtoint ptr {x} to i64") if elem == "ptr" else x
    whole = f"i{8 * SIZE[elem]}" if elem != "i1" else "i1"
    if SIZE[elem] > 8:
        return 0
    if elem in LLVM_FLOATS:
        x = em.inst(f"bitcast {LLVM_TYPE[elem]} {x} to {whole}")
    return x if SIZE[elem] == 8 else em.inst(f"zext {whole} {x} to i64")


def _ask(cx: Context, numbers: tuple[Operand, ...]) -> None:
    _unless(cx, cx.em.call(I1, CHECK, [(I64, n) for n in numbers]), cx.program_end)


def _unless(cx: Context, fine: Operand, label: str) -> None:
    def stop() -> None:
        cx.em.branch(label)
        cx.em.label(cx.em.fresh("never"))

    cx.em.when(cx.em.inst(f"xor i1 {fine}, true"), stop)


def _when(cx: Context, mask: Lanes, then: Callable[[], None]) -> None:
    if mask.is_true:
        then()
    elif not mask.is_false:
        cx.em.when(cx.position(mask), then)

"""Loads, stores and atomics on the kernel's pointers.

Where the pointer is affine with the element size as its stride, lanes are neighbours in memory and one vector access
does; of every second to fourth element whole vectors are loaded, and lanes picked; other pointers gather and scatter.
A mask that an enclosing region assumes true or false costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opweave.codegen.instructions.emit import (
    FLOATS,
    LLVM_FLOATS,
    LLVM_TYPE,
    SIZE,
    float_literal,
    storage,
    suffix,
    vector,
)
from opweave.codegen.instructions.operands import (
    FALSE,
    I1,
    I16,
    I32,
    NULL,
    PTR,
    TRUE,
    VOID,
    Operand,
    Register,
    Typed,
)
from opweave.codegen.triton_cpu.access import check_access
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import from_f32, select, to_f32
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.codegen.triton_cpu.operations import lazy
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Op, Value

#: Bytes of a line of the caches.
LINE = 64
#: Elements from one lane to the next up to which what lies between is loaded too.
FARTHEST = 4

ALL = Lanes("uniform", TRUE, "i1")
"""The mask of what has none."""


def at(cx: Context, v: Value, idx: Indices) -> Lanes:
    return cx.evaluate(v, idx if v.type.is_tensor else ())


def zero(elem: str) -> Lanes:
    value = float_literal(0.0, elem) if elem in FLOATS else {"ptr": NULL, "i1": FALSE}.get(elem, 0)
    return Lanes("uniform", value, elem)


def _from_memory(cx: Context, x: Operand, elem: str, width: int) -> Operand:
    """Booleans are bytes in memory."""
    return cx.em.inst(f"trunc {vector('i8', width)} {x} to {vector('i1', width)}") if elem == "i1" else x


def _to_memory(cx: Context, x: Lanes) -> Lanes:
    if x.elem != "i1":
        return x
    w, (v,) = cx.operands([x])
    return Lanes(x.kind, cx.em.inst(f"zext {vector('i1', w)} {v} to {vector('i8', w)}"), "i8")


@lazy("tt.load")
def load(cx: Context, v: Value, idx: Indices) -> Lanes:
    assert v.op is not None
    return load_lanes(cx, v.op, idx)


def load_lanes(cx: Context, op: Op, idx: Indices) -> Lanes:
    elem = op.result.type.elem
    if elem not in LLVM_TYPE:
        raise unsupported(op, f"elements of type {elem} are not supported")
    mask = at(cx, op.operands[1], idx) if len(op.operands) > 1 else ALL

    def other() -> Lanes:
        return at(cx, op.operands[2], idx) if len(op.operands) > 2 else zero(elem)

    if mask.is_false:
        return other()
    pointer = at(cx, op.operands[0], idx)
    if cx.features.sanitize:
        check_access(cx, op, "volatile" if op.flag("isVolatile") else "read", pointer, mask, idx, elem)
    if pointer.uniform:
        return _load_uniform(cx, pointer, mask, other, elem)
    if cx.width == 1:
        return _load_one(cx, cx.position(pointer), mask, other, elem)
    return _load_vector(cx, pointer, mask, other, elem)


def _load_vector(cx: Context, pointer: Lanes, mask: Lanes, other: Callable[[], Lanes], elem: str) -> Lanes:
    em, w, mem = cx.em, cx.width, storage(elem)
    t, size = cx.vector(mem), SIZE[mem]
    contiguous = pointer.kind == "affine" and pointer.stride == size
    if contiguous and mask.is_true:
        address = cx.position(pointer)
        if cx.ahead is not None:
            kind = (0, 2, 1)  # a read; kept in the second cache; data
            em.call(VOID, "llvm.prefetch.p0", [(PTR, em.offset(address, cx.ahead)), *((I32, k) for k in kind)])
        x = em.inst(f"load {t}, ptr {address}, align {size}")
        return Lanes("vector", _from_memory(cx, x, elem, w), elem)
    stride = pointer.stride if pointer.kind == "affine" else 0
    if isinstance(stride, int) and stride in range(2 * size, FARTHEST * size + 1, size) and mask.is_true:
        step = stride // size
        return Lanes("vector", _from_memory(cx, _picked(cx, cx.position(pointer), mem, step), elem, w), elem)
    fill = cx.operand(_to_memory(cx, other()))
    if contiguous:
        args: list[Typed] = [
            (PTR, cx.position(pointer)),
            (I32, size),
            (cx.vector("i1"), cx.operand(mask)),
            (t, fill),
        ]
        x = em.call(t, f"llvm.masked.load.{suffix(mem, w)}.p0", args)
    else:
        x = cx.gather(mem, cx.operand(pointer), cx.operand(mask), fill)
    return Lanes("vector", _from_memory(cx, x, elem, w), elem)


def _picked(cx: Context, address: Operand, mem: str, step: int) -> Operand:
    """Elements at equal distances, from vectors that reach from the first to the last of them and no farther."""
    em, w, t = cx.em, cx.width, cx.vector(mem)
    last = (w - 1) * step + 1 - w
    found: Operand = 0
    for number in range(step):
        begin = min(number * w, last)
        part = em.inst(f"load {t}, ptr {em.offset(address, begin * SIZE[mem])}, align {SIZE[mem]}")
        lanes: list[str] = []
        for lane in range(w):
            here = lane * step // w
            of_part = w * (number > 0) + lane * step - begin
            lanes.append(f"i32 {lane if here < number else of_part if here == number else 'poison'}")
        found = found if number else part
        found = em.inst(f"shufflevector {t} {found}, {t} {part}, <{w} x i32> <{', '.join(lanes)}>")
    return found


def _load_uniform(cx: Context, pointer: Lanes, mask: Lanes, other: Callable[[], Lanes], elem: str) -> Lanes:
    """The same address in all lanes; the mask may still differ."""
    if mask.uniform:
        return _load_one(cx, pointer.value, mask, other, elem)
    anyone = cx.operand(mask)
    if cx.width > 1:
        anyone = cx.em.call(I1, f"llvm.vector.reduce.or.v{cx.width}i1", [(cx.vector("i1"), anyone)])
    one = _load_one(cx, pointer.value, Lanes("uniform", anyone, "i1"), lambda: zero(elem), elem)
    return select(cx, mask, one, other())


def _load_one(cx: Context, address: Operand, mask: Lanes, other: Callable[[], Lanes], elem: str) -> Lanes:
    """A scalar load; where it is masked off it reads a dummy instead of branching."""
    em, mem = cx.em, storage(elem)
    kind = "uniform" if mask.uniform else "vector"
    if not mask.is_true:
        address = em.inst(f"select i1 {mask.value}, ptr {address}, ptr {_dummy(cx)}")
    x = em.inst(f"load {LLVM_TYPE[mem]}, ptr {address}, align {SIZE[mem]}")
    result = Lanes(kind, _from_memory(cx, x, elem, 1), elem)
    return result if mask.is_true else select(cx, mask, result, other())


def _dummy(cx: Context) -> Operand:
    if cx.dummy is None:
        cx.dummy = cx.em.buffer((8,), "i64").pointer
    return cx.dummy


@dataclass(frozen=True)
class Store:
    """A store whose operands are evaluated: `value` to `pointer` where `mask` is true.

    Attributes
    ----------
    past : bool
        Whether it may go past the caches: the kernel says so, and it is one span of memory.
    """

    op: Op
    idx: Indices
    pointer: Lanes
    value: Lanes
    mask: Lanes
    past: bool


def prepare_store(cx: Context, op: Op, idx: Indices) -> Store | None:
    """Evaluate what is stored, where, and under which mask. None: nothing to do."""
    mask = at(cx, op.operands[2], idx) if len(op.operands) > 2 else ALL
    if mask.is_false:
        return None
    value = at(cx, op.operands[1], idx)
    pointer = at(cx, op.operands[0], idx)
    span = cx.width > 1 and pointer.kind == "affine" and pointer.stride == SIZE[value.elem] and mask.is_true
    return Store(op, idx, pointer, value, mask, span and cx.goes_past(op))


def emit_store(cx: Context, store: Store, past: bool | None = None) -> None:
    """Store what was prepared; `past` the caches where it may, None: if it is whole lines of them, which is asked."""
    if cx.features.sanitize:
        check_access(cx, store.op, "write", store.pointer, store.mask, store.idx, store.value.elem, store.value)
    value = _to_memory(cx, store.value)
    if past is None and store.past and cx.width * SIZE[value.elem] % LINE == 0:
        cx.em.when(
            at_lines(cx, [store]),
            lambda: _store(cx, store.pointer, value, store.mask, True),
            lambda: _store(cx, store.pointer, value, store.mask, False),
        )
    else:
        _store(cx, store.pointer, value, store.mask, bool(past) and store.past)


def at_lines(cx: Context, stores: Sequence[Store]) -> Register:
    """Whether all of these start at a line of the caches.

    The processor joins stores that go past the caches to whole lines; a part of a line costs many times what is spared.
    """
    em = cx.em
    low: Operand = 0
    for address in [em.inst(f"ptrtoint ptr {cx.position(s.pointer)} to i64") for s in stores]:
        low = address if low == 0 else em.inst(f"or i64 {low}, {address}")
    return em.inst(f"icmp eq i64 {em.inst(f'and i64 {low}, {LINE - 1}')}, 0")


# -- vectors and single elements


def _store(cx: Context, pointer: Lanes, value: Lanes, mask: Lanes, past: bool) -> None:
    """`past` the caches: the address is known to be the start of a register's width, or of a line."""
    em, w, elem = cx.em, cx.width, value.elem
    t, size = LLVM_TYPE[elem], SIZE[elem]
    if w == 1 or (pointer.uniform and value.uniform and mask.uniform):
        address, one = cx.position(pointer), cx.position(value)
        if mask.is_true:
            em.line(f"store {t} {one}, ptr {address}, align {size}")
        else:
            em.when(mask.value, lambda: em.line(f"store {t} {one}, ptr {address}, align {size}"))
        return
    v, lanes = cx.vector(elem), cx.operand(value)
    if pointer.kind == "affine" and pointer.stride == size and mask.is_true:
        cx.streams |= past
        how = f"align {min(w * size, LINE)}, !nontemporal !{{i32 1}}" if past else f"align {size}"
        em.line(f"store {v} {lanes}, ptr {cx.position(pointer)}, {how}")
        return
    name = suffix(elem, w)
    tail: list[Typed] = [(I32, size), (cx.vector("i1"), cx.operand(mask))]
    if pointer.kind == "affine" and pointer.stride == size:
        em.call(VOID, f"llvm.masked.store.{name}.p0", [(v, lanes), (PTR, cx.position(pointer)), *tail])
    else:
        em.call(
            VOID, f"llvm.masked.scatter.{name}.v{w}p0", [(v, lanes), (cx.vector("ptr"), cx.operand(pointer)), *tail]
        )


# -- atomics

_RMW = {
    "add": "add", "fadd": "fadd", "max": "max", "min": "min", "umax": "umax", "umin": "umin", "and": "and", "or": "or",
    "xor": "xor", "exch": "xchg",
}  # fmt: skip


def atomic_rmw(cx: Context, op: Op, pointer: Operand, value: Lanes) -> Lanes:
    """One scalar read-modify-write; returns the old value."""
    kind = op.word
    if kind not in _RMW:
        raise unsupported(op, f"atomic {kind} is not supported")
    em, elem = cx.em, value.elem
    if elem in ("f16", "bf16") and kind == "fadd":
        return _atomic_half(cx, pointer, value)
    text = f"atomicrmw {_RMW[kind]} ptr {pointer}, {LLVM_TYPE[elem]} {value.value} seq_cst, align {SIZE[elem]}"
    return Lanes("uniform", em.inst(text), elem)


def _atomic_half(cx: Context, pointer: Operand, value: Lanes) -> Lanes:
    """f16 and bf16 additions: a compare-and-swap loop on their bits."""
    em, elem = cx.em, value.elem
    t, as_bits = LLVM_TYPE[elem], elem not in LLVM_FLOATS
    variable = em.slot(I16, em.inst(f"load i16, ptr {pointer}"))
    head, end = em.fresh("cas"), em.fresh("swapped")
    em.branch(head)
    em.label(head)
    bits = em.inst(f"load i16, ptr {variable}")
    old = Lanes("uniform", bits if as_bits else em.inst(f"bitcast i16 {bits} to {t}"), elem)
    total = em.inst(f"fadd float {to_f32(cx, old).value}, {to_f32(cx, value).value}")
    new = from_f32(cx, Lanes("uniform", total, "f32"), elem).value
    new_bits = new if as_bits else em.inst(f"bitcast {t} {new} to i16")
    pair = em.inst(f"cmpxchg ptr {pointer}, i16 {bits}, i16 {new_bits} seq_cst seq_cst")
    em.line(f"store i16 {em.inst(f'extractvalue {{ i16, i1 }} {pair}, 0')}, ptr {variable}")
    em.branch_if(em.inst(f"extractvalue {{ i16, i1 }} {pair}, 1"), end, head)
    em.label(end)
    return old


def atomic_cas(cx: Context, pointer: Operand, expected: Lanes, value: Lanes) -> Lanes:
    """One compare-and-swap on the bits; returns the old value."""
    em, elem = cx.em, value.elem
    t, i, as_bits = LLVM_TYPE[elem], f"i{SIZE[elem] * 8}", elem not in LLVM_FLOATS and elem != "ptr"
    bits = [x.value if as_bits else em.inst(f"bitcast {t} {x.value} to {i}") for x in (expected, value)]
    pair = em.inst(f"cmpxchg ptr {pointer}, {i} {bits[0]}, {i} {bits[1]} seq_cst seq_cst")
    old = em.inst(f"extractvalue {{ {i}, i1 }} {pair}, 0")
    return Lanes("uniform", old if as_bits else em.inst(f"bitcast {i} {old} to {t}"), elem)


def scalar_atomic(cx: Context, op: Op, idx: Indices) -> Lanes:
    """The atomic of one element, under its mask; masked-off elements give 0."""
    em, elem = cx.em, op.result.type.elem
    parts = [at(cx, o, idx) for o in op.operands]
    parts = [Lanes("uniform", cx.position(p), p.elem) for p in parts]
    mask = parts[2] if op.name == "tt.atomic_rmw" and len(parts) > 2 else ALL
    if cx.features.sanitize and not mask.is_false:
        check_access(cx, op, "atomic", parts[0], mask, idx, elem)

    def go() -> Lanes:
        if op.name == "tt.atomic_cas":
            return atomic_cas(cx, parts[0].value, parts[1], parts[2])
        return atomic_rmw(cx, op, parts[0].value, parts[1])

    if mask.is_true:
        return go()
    out = em.slot(LLVM_TYPE[elem], zero(elem).value)
    em.when(mask.value, lambda: em.line(f"store {LLVM_TYPE[elem]} {go().value}, ptr {out}"))
    return Lanes("uniform", em.inst(f"load {LLVM_TYPE[elem]}, ptr {out}"), elem)

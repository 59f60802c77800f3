"""Memory that a program needs soon, asked for in the loop that computes most.

A program that goes over a row in several loops waits at the beginning of each: the processor's own prefetchers follow a
row only once it is read, and no further than to the end of a page. The loop that computes most for each element, as one
of exponentials, asks on the way, at the same index, for

- what later loops of the program read or write, and nothing has touched so far;
- what was touched so far, as the next program (in the body of a loop, the next turn) will: that far away from here.

So do the loops that lay out the operands of a product, for those of the next turn.

Where no loop computes much, what is asked for costs as much as it saves. Asking has no effect on results, and addresses
outside of a tensor are never read. An address counts only if it follows
from the kernel's arguments and the program's number by sums and products, which cannot fail.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence

from opweave.codegen.instructions.emit import Emitter
from opweave.codegen.instructions.operands import I32, PTR, VOID, Operand
from opweave.codegen.triton_cpu.analysis import EXPENSIVE, uniform_step
from opweave.codegen.triton_cpu.context import Context, pointee_size, splat_literal
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.codegen.triton_cpu.operations import ROOTS, VIEWS, operation
from opweave.codegen.triton_cpu.strides import Strides
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Block, Op, Value

#: Bytes of a row for which the beginning counts, and which stay in the nearer caches until they are needed.
_SHORTEST, _LONGEST = 1 << 10, 1 << 14
#: Bytes ahead that a loop asks for which only reads and writes past the caches.
_AHEAD = 1 << 11
#: Addresses that one loop asks for.
_MOST = 8
#: Loops behind one that are looked at.
_MOST_LATER = 16
_LINE = 64
_ARITHMETIC = frozenset({"arith.addi", "arith.subi", "arith.muli", "arith.extsi", "arith.index_cast", "tt.addptr"})
_ADDRESSES = VIEWS | _ARITHMETIC | {"tt.make_range", "arith.constant"}


@dataclass(frozen=True)
class Soon:
    """Memory that is asked for.

    Attributes
    ----------
    pointer : Value
        Where this program needs it, at the loop's index.
    following : bool
        Whether it is the next program that needs it, at the place that this is for that one.
    written : bool
        Whether it will be written.
    away : int
        Bytes from there to what is asked for.
    """

    pointer: Value
    following: bool
    written: bool
    away: int = 0


def soon(cx: Context, values: Sequence[Value], stores: Sequence[Op], here: Indices, extent: int) -> tuple[Soon, ...]:
    """What a loop at the index `here`, over `extent` elements of `values` and `stores`, is to ask for."""
    root = cx.root
    if root is None or cx.features.sanitize or cx.width == 1 or not (values or stores):
        return ()
    own = dict(_accesses(cx, values, stores))
    cx.touched.update(own)
    shape = (stores[0].operands[0] if stores else values[0]).type.dims
    if not _is_whole(shape, here, extent) or not _repeats(root.block):
        return ()
    strides = Strides(cx)
    if root.name == "tt.dot":
        # The rows of an operand are short, and too far apart for the processor to see what is read in the next turn.
        # Narrow ones are few lines, for which asking is no faster.
        return tuple(
            Soon(p, True, False) for p in own
            if p.type.dims == shape and pointee_size(p.type) >= 4 and _is_neighbourly(strides, p, here)
            and _drift(cx, Strides.em, p, root.block) not in (0, None)
        )  # fmt: skip
    made = cx.tree([*values, *(op.operands[1] for op in stores)])
    cost = _cost(made)
    if cost < EXPENSIVE:
        return _near(cx, strides, own, stores, shape, here, extent)
    behind = (op for op in root.block.ops if op.pos > root.pos and _reads_tensors(op) and op not in stores)
    later = [*itertools.islice(behind, _MOST_LATER)]
    ahead = {p: w for op in later for p, w in _accesses(cx, op.operands, [op] if op.name == "tt.store" else [])}
    if not ahead or any(_cost(cx.tree(op.operands).keys() - made) > cost for op in later[:-1]):
        return ()
    found = [Soon(p, False, w) for p, w in ahead.items() if p not in cx.touched]
    found += [Soon(p, True, w) for p, w in cx.touched.items() if _drift(cx, Strides.em, p, root.block) not in (0, None)]
    chosen = [s for s in found if s not in cx.asked and _goes_along(cx, strides, s.pointer, shape, here, extent)]
    cx.asked.update(chosen[:_MOST])
    return tuple(chosen[:_MOST])


def _near(
    cx: Context, strides: Strides, own: dict[Value, bool], stores: Sequence[Op], shape: tuple[int, ...], here: Indices,
    extent: int,
) -> tuple[Soon, ...]:  # fmt: skip
    """What a loop that waits for memory alone reads some steps further on, where it writes past the caches."""
    if not any(cx.goes_past(op) for op in stores):
        return ()
    read = (Soon(p, False, False, _AHEAD) for p, written in own.items() if not written and p.type.dims == shape)
    return tuple(s for s in read if _is_address(cx, s.pointer) and _is_neighbourly(strides, s.pointer, here))[:_MOST]


def _accesses(cx: Context, values: Sequence[Value], stores: Sequence[Op]) -> Iterator[tuple[Value, bool]]:
    """Pointers of the loads that evaluating values leads to, and of stores, and whether it is a store."""
    for v in cx.tree([*values, *(op.operands[1] for op in stores)]):
        if v.op is not None and v.op.name == "tt.load":
            yield v.op.operands[0], False
    for op in stores:
        if not cx.goes_past(op):
            yield op.operands[0], True


def _reads_tensors(op: Op) -> bool:
    """Whether an operation evaluates tensors where it stands."""
    return op.name in ROOTS and any(o.type.is_tensor for o in op.operands)


def _cost(values: Iterable[Value]) -> int:
    """Roughly how many instructions a lane of these takes, each without its operands."""
    return sum(operation(v.op).cost for v in values if v.op is not None)


def _is_whole(shape: tuple[int, ...], here: Indices, extent: int) -> bool:
    """Whether the loop's index is one of `shape`, of which no dimensions go together."""
    wide = [d for d, size in enumerate(shape) if size > 1]
    along = [d for d, i in enumerate(here) if i.lane]
    return len(wide) < 3 and len(shape) == len(here) and [shape[d] for d in along] == [extent]


def _repeats(block: Block) -> bool:
    """Whether the block is of a program, or the body of a loop: something that is run again, further on."""
    return block.parent is None or block.parent.name == "scf.for"


def _goes_along(
    cx: Context, strides: Strides, pointer: Value, shape: tuple[int, ...], here: Indices, extent: int
) -> bool:
    """Whether a pointer goes through neighbouring elements of a row with the loop, and can be had before it."""
    size = pointee_size(pointer.type)
    if pointer.type.dims != shape or not _SHORTEST <= extent * size <= _LONGEST or not _is_address(cx, pointer):
        return False
    return _is_neighbourly(strides, pointer, here)


def _is_neighbourly(strides: Strides, pointer: Value, here: Indices) -> bool:
    """Whether a pointer goes through neighbouring elements with the loop."""
    lanes = strides.of(pointer, here)
    return lanes is not None and lanes.kind == "affine" and lanes.stride == pointee_size(pointer.type)


def _is_address(cx: Context, v: Value) -> bool:
    """Whether a value is made of numbers that are there, by arithmetic alone."""
    if not v.type.is_tensor:
        return v in cx.scalars
    return v.op is not None and v.op.name in _ADDRESSES and all(_is_address(cx, o) for o in v.op.operands)


def _drift(cx: Context, em: Emitter, v: Value, block: Block) -> Operand | None:
    """How much more a number is, or how many bytes further a pointer, when the block runs next; None: who knows."""
    found: dict[Value, Operand | None] = {}  # an operand may be had in very many ways

    def of(v: Value) -> Operand | None:
        if v not in found:
            found[v] = none_yet(v)
        return found[v]

    def none_yet(v: Value) -> Operand | None:
        op = v.op
        if op is None:
            if v.block is block and block.parent is not None:
                return _turn(cx, em, block) if v.index == 0 else _step(cx, em, v, block)
            return 0 if v in cx.parameters or block.parent is not None and v in cx.scalars else None
        if block.parent is not None and not _is_within(op, block):
            return 0
        if op.name == "tt.get_program_id":
            return int(op.word == "x")
        parts = [of(o) for o in op.operands]
        if all(part == 0 for part in parts) and not op.regions:
            return 0
        if op.name not in _ADDRESSES or None in parts:
            return None
        return _moved(cx, em, op, [part for part in parts if part is not None])

    return of(v)


def _moved(cx: Context, em: Emitter, op: Op, parts: Sequence[Operand]) -> Operand | None:
    """`_drift` of an operation's result, from those of its operands."""
    if op.name == "arith.addi":
        return em.add(*parts)
    if op.name == "arith.subi":
        return em.sub(*parts)
    if op.name == "tt.addptr":
        return em.add(parts[0], em.mul(parts[1], pointee_size(op.result.type)))
    if op.name == "arith.muli":
        moving = int(parts[0] == 0)
        factor = _uniform(cx, em, op.operands[1 - moving]) if parts[1 - moving] == 0 else None
        return None if factor is None else em.mul(parts[moving], factor)
    return parts[0]


def _turn(cx: Context, em: Emitter, block: Block) -> Operand | None:
    """By how much the number of a loop's turn grows."""
    assert block.parent is not None
    return _uniform(cx, em, block.parent.operands[2])


def _step(cx: Context, em: Emitter, v: Value, block: Block) -> Operand | None:
    """By how much a pointer or an index grows that a loop moves by the same in each turn."""
    step = uniform_step(v, block.yielded[v.index - 1]) if v in cx.inductions else None
    by = None if step is None else _uniform(cx, em, step)
    return None if by is None else em.mul(by, pointee_size(v.type)) if v.type.elem == "ptr" else by


def _uniform(cx: Context, em: Emitter, v: Value) -> Operand | None:
    """The number that all elements of a value are, as an i64."""
    while v.type.is_tensor and v.op is not None and v.op.name in VIEWS:
        v = v.op.operands[0]
    if v.type.is_tensor:
        return splat_literal(v)
    known = cx.scalars.get(v)
    return None if known is None else em.resize(known.value, known.elem, "i64")


def _is_within(op: Op, block: Block) -> bool:
    """Whether an operation stands in a block, or in one inside of it."""
    at = op.block
    while at is not None and at is not block:
        at = at.parent.block if at.parent is not None else None
    return at is block


def addresses(cx: Context, asked: Sequence[Soon], here: Indices) -> list[tuple[Lanes, Soon]]:
    """What is asked for as affine pointers; emitted before the loop."""
    found: list[tuple[Lanes, Soon]] = []
    for s in asked:
        lanes = cx.affine(s.pointer, here)
        assert lanes is not None and cx.root is not None
        away = _drift(cx, cx.em, s.pointer, cx.root.block) if s.following else s.away
        assert away is not None
        found.append((Lanes("affine", cx.em.offset(lanes.value, away), "ptr", lanes.stride, lanes.origin), s))
    return found


def ask(cx: Context, asked: Sequence[tuple[Lanes, Soon]]) -> None:
    """Ask for the lines of one step of the loop."""
    for lanes, s in asked:
        assert isinstance(lanes.stride, int)
        first = cx.position(lanes)
        for begin in range(0, cx.width * lanes.stride, _LINE):
            # For writing or reading; kept in the first cache, or the second until the next program; data.
            kind = (int(s.written), 2 if s.following else 3, 1)
            cx.em.call(VOID, "llvm.prefetch.p0", [(PTR, cx.em.offset(first, begin)), *((I32, k) for k in kind)])

"""Square tiles that are transposed in registers, for values that are read in one direction and needed in another.

A gather costs an access a lane. Read by vectors along the dimension in which its memory is contiguous, a tile of as
many rows as a register has lanes takes log2(lanes) shuffles a row to turn around.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence

from opweave.codegen.instructions.emit import FLOATS, SIZE, Buffer
from opweave.codegen.instructions.operands import LLVMType, Operand, Register
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.lanes import ZERO, Index, Indices, Lanes, key_of, replaced
from opweave.codegen.triton_cpu.loops import contiguous_dimension, everywhere, vector_loop, visited_at
from opweave.codegen.triton_cpu.memory import LINE, Store, at_lines, emit_store, prepare_store
from opweave.codegen.triton_cpu.plan import bounded_everywhere
from opweave.codegen.triton_cpu.strides import UNKNOWN
from opweave.registry.triton.ttir import Op, Value

#: How many bytes of a row before its use a tile is asked for from memory.
AHEAD = 2 * LINE

Widen = Callable[[Lanes], Lanes]


def lanes_of(cx: Context, elem: str) -> int:
    """Side of a tile."""
    return cx.features.vector_bits // 8 // SIZE[elem]


def crossing(cx: Context, v: Value, elem: str) -> tuple[int, int] | None:
    """(dimension that a matrix is contiguous along in memory, the other), where reading it by tiles pays and fits."""
    if len(v.type.dims) != 2 or cx.features.sanitize or SIZE[elem] not in (4, 8) or v.type.elem not in (*FLOATS, "i32"):
        return None
    along = contiguous_dimension(cx, v)
    side = lanes_of(cx, elem)
    if along is None or any(d % side for d in v.type.dims):
        return None
    return along, 1 - along


def read_across(
    cx: Context, v: Value, elem: str, along: int, widen: Widen, store: Callable[[Operand, Operand, Operand], None]
) -> None:
    """Evaluate a matrix by vectors along one dimension, and hand it out by vectors along the other.

    Parameters
    ----------
    elem : str
        Type of the elements after `widen`.
    along : int
        The dimension to read along.
    store : callable
        Gets a position along this dimension, the first position along the other, and the vector.
    """
    em, side, other = cx.em, lanes_of(cx, elem), 1 - along

    def body(idx: Indices) -> None:
        rows: list[Operand] = []
        for j in range(side):
            at = idx[other] if j == 0 else Index(em.add(idx[other].value, j), 0, cx.fresh_key("t"))
            rows.append(cx.operand(widen(cx.evaluate(v, replaced(idx, other, at)))))
        for j, column in enumerate(transposed(cx, rows, elem)):
            store(em.add(idx[along].value, j), idx[other].value, column)

    def row(at: Operand) -> None:
        with cx.scope():
            idx = replaced((ZERO, ZERO), other, Index(at, 0, cx.fresh_key("i")))
            vector_loop(cx, v.type.dims[along], [v], [], idx, along, body)

    with cx.lanes(side):
        em.loop(0, v.type.dims[other], side, row)


def transposed(cx: Context, rows: Sequence[Operand], elem: str) -> list[Operand]:
    """The columns of a square tile of registers: blocks of 1, 2, 4, ... lanes change places with their mirror image."""
    result, side, t = list(rows), len(rows), cx.vector(elem)
    step = side // 2
    while step:
        for i in range(side):
            if i & step:
                continue
            a, b = result[i], result[i | step]
            first = [(k & ~step) + (side if k & step else 0) for k in range(side)]
            second = [(k | step) + (side if k & step else 0) for k in range(side)]
            result[i], result[i | step] = (_shuffle(cx, t, a, b, picked) for picked in (first, second))
        step //= 2
    return result


def _shuffle(cx: Context, t: LLVMType, a: Operand, b: Operand, picked: Sequence[int]) -> Register:
    mask = ", ".join(f"i32 {k}" for k in picked)
    return cx.em.inst(f"shufflevector {t} {a}, {t} {b}, <{len(picked)} x i32> <{mask}>")


def store_across(cx: Context, stores: Sequence[Op], v: Value, along: int, otherwise: Callable[[], None]) -> bool:
    """Stores of what comes from a matrix that is read across their direction: from register to memory, tile by tile.

    Parameters
    ----------
    stores : sequence of Op
        Of one shape, contiguous along the other dimension than the matrix.
    v : Value
        The matrix.
    along : int
        The dimension in which it is contiguous.
    otherwise : callable
        Emits the stores for programs whose masks are not all true.

    Returns
    -------
    bool
        False, and nothing is emitted, where the stores are not of this form.
    """
    em, elem, side, shape = cx.em, v.type.elem, lanes_of(cx, v.type.elem), stores[0].operands[0].type.dims
    values = [s.operands[1] for s in stores]
    keys = [cx.fresh_key("k") for _ in shape]
    places = visited_at(cx, values, v, tuple(Index(UNKNOWN, 0, key) for key in keys))
    if len(shape) != 2 or len(places) != 1 or [i.key for i in next(iter(places))] != keys[::-1]:
        return False
    if not bounded_everywhere(cx, values, stores, shape, keys):
        return False
    with cx.scope():
        conditions, comparisons = everywhere(cx, values, stores, shape, keys)
    # Of the stores' dimensions one is the matrix' own direction, in which a tile's columns are `side` indices.
    own, other = 1 - along, along  # dimensions of the stores: that of the matrix' vectors, that of the stores' vectors
    # Lines of the caches are written whole, two neighbours at once where there are: memory takes them up faster, and
    # half a line would be read first.
    counts = (lines * LINE // (side * SIZE[elem]) for lines in (2, 1))
    count = next((n for n in counts if n and shape[other] % (side * n) == 0), 1)
    whole = count * side * SIZE[elem] % LINE == 0
    steps = {own: side, other: side * count}
    lanes = {own: [cx.fresh_key("v")], other: [cx.fresh_key("v") for _ in range(count)]}
    apart = {dim: [cx.fresh_key("t") for _ in range(step)] for dim, step in steps.items()}
    variants = {key: (*lanes[dim], *apart[dim]) for dim, key in enumerate(keys)}
    assumed = {
        (leaf, tuple(replaced_keys)): True
        for leaf, names in comparisons
        for replaced_keys in itertools.product(*(variants.get(name, (name,)) for name in names))
    }

    def at(dim: int, start: Operand, j: int) -> Index:
        return Index(em.add(start, j), 0, apart[dim][j])

    def tile(first: Operand, second: Operand) -> None:
        """`count` tiles, from `first` of the stores' dimension `own` and `second` of the other one."""
        cx.positioned = True
        cx.origins[lanes[own][0]] = first
        along_matrix = Index(first, 1, lanes[own][0])
        columns: list[list[Operand]] = []
        along_stores: list[Index] = []
        for k, key in enumerate(lanes[other]):
            start = cx.origins[key] = em.add(second, k * side)
            along_stores.append(Index(start, 1, key))
            rows = [_pair(own, along_matrix, at(other, second, k * side + j)) for j in range(side)]
            columns.append(transposed(cx, [cx.operand(cx.evaluate(v, idx[::-1])) for idx in rows], elem))
        ready: list[tuple[int, Store]] = []
        for j, k in itertools.product(range(side), range(count)):
            idx = _pair(own, at(own, first, j), along_stores[k])
            cx.remember(key_of(v, idx[::-1]), Lanes("vector", columns[k][j], elem))
            ready += [(k, store) for s in stores if (store := prepare_store(cx, s, idx))]

        def emit(past: bool) -> None:
            with cx.scope():
                for _, store in ready:
                    emit_store(cx, store, past)

        starts = [store for k, store in ready if k == 0 and store.past]
        if starts and whole:
            em.when(at_lines(cx, starts), lambda: emit(True), lambda: emit(False))
        else:
            emit(False)
        cx.positioned = False

    def inside() -> None:
        saved, cx.assumed = cx.assumed, {**cx.assumed, **assumed}

        def walk(first: Operand) -> None:
            def step(second: Operand) -> None:
                with cx.scope():
                    tile(first, second)

            # Rows of a matrix are too far apart for the processor to see what is read next, up to the tile's end.
            more = em.inst(f"icmp slt i64 {em.add(first, AHEAD // SIZE[elem])}, {shape[own]}")
            cx.ahead = em.inst(f"select i1 {more}, i64 {AHEAD}, i64 0")
            em.loop(0, shape[other], steps[other], step)
            cx.ahead = None

        with cx.scope(), cx.lanes(side):
            em.loop(0, shape[own], side, walk)
        cx.assumed = saved

    if not conditions:
        inside()
        return True
    condition = conditions[0]
    for more in conditions[1:]:
        condition = em.inst(f"and i1 {condition}, {more}")

    def outside() -> None:
        with cx.scope():
            otherwise()

    em.when(condition, inside, outside)
    return True


def _pair(dim: int, index: Index, other: Index) -> Indices:
    """The index with one position in a dimension of two."""
    return (index, other) if dim == 0 else (other, index)


def materialize_across(cx: Context, v: Value, along: int) -> None:
    """Write a matrix to a buffer whose memory is contiguous along the other dimension than its source's."""
    elem = v.type.elem
    buffer = cx.em.buffer(v.type.dims, elem)
    buffer = Buffer(buffer.pointer, buffer.shape, elem, (along, 1 - along))
    count = v.type.dims[1 - along]

    def store(position: Operand, first: Operand, column: Operand) -> None:
        em = cx.em
        pointer = em.offset(buffer.pointer, em.add(em.mul(position, count), first), elem)
        em.line(f"store {cx.vector(elem)} {column}, ptr {pointer}, align {SIZE[elem]}")

    read_across(cx, v, elem, along, lambda x: x, store)
    cx.buffers[v] = buffer

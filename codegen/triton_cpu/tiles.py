"""Square tiles that are transposed in registers, for values that are read in one direction and needed in another.

A gather costs an access a lane. Read by vectors along the dimension in which its memory is contiguous, a tile of as
many rows as a register has lanes takes log2(lanes) shuffles a row to turn around.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from opweave.codegen.triton_cpu.context import ZERO, Context, Index, Indices, Lanes
from opweave.codegen.triton_cpu.emit import FLOATS, SIZE, Buffer
from opweave.codegen.triton_cpu.loops import contiguous_dimension, replaced, vector_loop
from opweave.codegen.triton_cpu.ttir import Value

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
    cx: Context, v: Value, elem: str, along: int, widen: Widen, store: Callable[[str, str, str], None]
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

    def body(idx: Indices) -> bool:
        rows = []
        for j in range(side):
            at = idx[other] if j == 0 else Index(em.add(idx[other].value, str(j)), 0, cx.fresh_key("t"))
            rows.append(cx.operand(widen(cx.evaluate(v, replaced(idx, other, at)))))
        for j, column in enumerate(transposed(cx, rows, elem)):
            store(em.add(idx[along].value, str(j)), idx[other].value, column)
        return True

    def row(at: str) -> None:
        with cx.scope():
            idx = replaced((ZERO, ZERO), other, Index(at, 0, cx.fresh_key("i")))
            vector_loop(cx, v.type.dims[along], [v], [], idx, along, body)

    with cx.lanes(side):
        em.loop("0", str(v.type.dims[other]), str(side), row)


def transposed(cx: Context, rows: Sequence[str], elem: str) -> list[str]:
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


def _shuffle(cx: Context, t: str, a: str, b: str, picked: Sequence[int]) -> str:
    mask = ", ".join(f"i32 {k}" for k in picked)
    return cx.em.inst(f"shufflevector {t} {a}, {t} {b}, <{len(picked)} x i32> <{mask}>")


def materialize_across(cx: Context, v: Value, along: int) -> None:
    """Write a matrix to a buffer whose memory is contiguous along the other dimension than its source's."""
    elem = v.type.elem
    buffer = cx.em.buffer(v.type.dims, elem)
    buffer = Buffer(buffer.pointer, buffer.shape, elem, (along, 1 - along))
    count = v.type.dims[1 - along]

    def store(position: str, first: str, column: str) -> None:
        em = cx.em
        pointer = em.offset(buffer.pointer, em.add(em.mul(position, str(count)), first), elem)
        em.line(f"store {cx.vector(elem)} {column}, ptr {pointer}, align {SIZE[elem]}")

    read_across(cx, v, elem, along, lambda x: x, store)
    cx.buffers[v] = buffer

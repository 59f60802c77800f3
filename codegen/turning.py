"""Copies of arrays that lie in another order: rows of the source are columns of the result.

NumPy goes through one of both in large steps, and where these are powers of two all of them fall on a few places of the
cache. Here tiles are turned in registers: each line of the source is read once, and each of the result written once.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from opweave.codegen.instructions.emit import Emitter, vector
from opweave.codegen.instructions.operands import Operand, Register
from opweave.codegen.native import objects, pool
from opweave.registry.interrupts import let_through

#: Elements of a tile's side, by their bytes.
_SIDES = {2: 16, 4: 16, 8: 8}
#: Elements of a program.
_PROGRAM = 1 << 15

#: Arguments: the source and the result; rows and columns of the result; bytes from one row of the source to the next (a
#: column of the result), and of the result; the same of matrices; rows of a program, and programs of a matrix.
_WORDS = ("in", "out", "rows", "columns", "in.step", "out.step", "in.far", "out.far", "each", "programs")


class _Writer:
    """The LLVM IR for elements of so many bytes."""

    def __init__(self, size: int) -> None:
        self.size, self.side, self.elem = size, _SIDES[size], f"i{8 * size}"
        self.type = vector(self.elem, self.side)
        self.em = Emitter()

    def source(self) -> str:
        em = self.em
        self.given = {
            name: em.inst(f"load i64, ptr {em.offset(Register('%args'), place, 'i64')}")
            for place, name in enumerate(_WORDS)
        }
        em.loop(Register("%start"), Register("%end"), 1, self.program)
        body = "\n".join(["entry:", *em.entry, *em.lines, "  ret void"])
        head = "define void @opweave.turn(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz)"
        return "\n".join([*em.globals, f"{head} {{", body, "}", *em.declarations.values()])

    def program(self, number: Operand) -> None:
        em, given, side = self.em, self.given, self.side
        matrix = em.inst(f"udiv i64 {number}, {given['programs']}")
        within = em.sub(number, em.mul(matrix, given["programs"]))
        self.begins = [em.add(given[name], em.mul(matrix, given[f"{name}.far"])) for name in ("in", "out")]
        first = em.mul(within, given["each"])
        last = em.minimum(em.add(first, given["each"]), given["rows"])
        whole = em.inst(f"and i64 {given['columns']}, {-side}")
        tiles = em.sub(last, em.inst(f"urem i64 {em.sub(last, first)}, {side}"))
        em.loop(first, tiles, side, lambda row: em.loop(0, whole, side, lambda column: self.tile(row, column)))
        em.loop(first, tiles, 1, lambda row: self.one_by_one(row, whole))
        em.loop(tiles, last, 1, lambda row: self.one_by_one(row, 0))

    def at(self, which: int, row: Operand, column: Operand) -> Operand:
        """Where an element of the result is, or is read."""
        em, given = self.em, self.given
        along, step = (row, column) if which == 0 else (column, row), given["in.step" if which == 0 else "out.step"]
        far = em.add(em.mul(along[0], self.size), em.mul(along[1], step))
        return em.inst(f"inttoptr i64 {em.add(self.begins[which], far)} to ptr")

    def tile(self, row: Operand, column: Operand) -> None:
        em, side = self.em, self.side
        lines: list[Operand] = []
        for k in range(side):
            at = self.at(0, row, em.add(column, k))
            lines.append(em.inst(f"load {self.type}, ptr {at}, align {self.size}"))
        half = side // 2
        orders = [[k // 2 + begin + (side if k % 2 else 0) for k in range(side)] for begin in (0, half)]
        for _ in range(side.bit_length() - 1):
            lines = [
                em.inst(f"shufflevector {self.type} {lines[k]}, {self.type} {lines[k + half]}, <{side} x i32> "
                        f"<{', '.join(f'i32 {place}' for place in order)}>")
                for k in range(half) for order in orders
            ]  # fmt: skip
        for k, line in enumerate(lines):
            em.line(f"store {self.type} {line}, ptr {self.at(1, em.add(row, k), column)}, align {self.size}")

    def one_by_one(self, row: Operand, first: Operand) -> None:
        em, one = self.em, vector(self.elem, 1)

        def body(column: Operand) -> None:
            x = em.inst(f"load {one}, ptr {self.at(0, row, column)}, align {self.size}")
            em.line(f"store {one} {x}, ptr {self.at(1, row, column)}, align {self.size}")

        em.loop(first, self.given["columns"], 1, body)


@functools.cache
def _loaded(size: int) -> tuple[int, Any] | None:
    """The address of the code, and the time that a program took, for the pool."""
    name = f"turned copies of {size} bytes"
    try:
        pool.native()
        code = objects.Code(lambda: _Writer(size).source(), name, objects.CLEANED, name).load(["opweave.turn"])
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy goes on
        let_through(error)
        return None
    return code.address("opweave.turn"), ctypes.c_double()


def turn(source: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> bool:
    """Copy an array into another of its shape and type whose elements lie side by side along another dimension.

    Parameters
    ----------
    source, out : numpy.ndarray
        They share no memory.

    Returns
    -------
    bool
        Whether it was done; they may lie alike, or be too small.

    Examples
    --------
    >>> x, out = np.ones((40, 30), np.float32).T, np.empty((30, 40), np.float32)
    >>> turn(x, out), out.min()
    (True, np.float32(1.0))
    """
    size = source.itemsize
    if size not in _SIDES or source.dtype != out.dtype or source.shape != out.shape or not out.flags.writeable:
        return False
    steps = zip(source.shape, source.strides, out.strides, strict=True)
    dims = _merged([(count, step, out_step) for count, step, out_step in steps if count != 1])
    along = [d for d, (_, step, _) in enumerate(dims) if step == size]
    across = [d for d, (_, _, step) in enumerate(dims) if step == size]
    if len(along) != 1 or len(across) != 1 or along == across or len(dims) > 3:
        return False
    rows, _, out_step = dims[along[0]]
    columns, in_step, _ = dims[across[0]]
    matrices, in_far, out_far = next((dim for d, dim in enumerate(dims) if d not in (*along, *across)), (1, 0, 0))
    side = _SIDES[size]
    found = _loaded(size) if min(rows, columns) >= side else None
    if found is None:
        return False
    each = max(side, _PROGRAM // columns // side * side)
    programs = -(-rows // each)
    places = [array.__array_interface__["data"][0] for array in (source, out)]
    words = [*places, rows, columns, in_step, out_step, in_far, out_far, each, programs]
    args = (ctypes.c_int64 * len(words))(*words)
    code, cost = found
    pool.native().run(code, ctypes.addressof(args), programs * matrices, 0, 0, 0, ctypes.byref(cost))
    return True


def _merged(dims: list[tuple[int, int, int]]) -> list[tuple[int, int, int]]:
    """Dimensions (sizes, bytes from one element to the next in both), where those that follow each other are one."""
    found: list[tuple[int, int, int]] = []
    for dim in sorted(dims, key=lambda dim: (-abs(dim[2]), -abs(dim[1]))):
        size, *steps = dim
        if found and all(before == size * step for before, step in zip(found[-1][1:], steps, strict=True)):
            found[-1] = (found[-1][0] * size, steps[0], steps[1])
        else:
            found.append(dim)
    return found

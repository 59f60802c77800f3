"""Distances between the rows of two matrices (`registry.ops.distance`), in native code.

A program is a row of the first matrix. Rows are padded with zeros, so differences are whole vectors, and those that are
padding add nothing. Each distance is computed alone, in an order that follows from the width.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from opweave.codegen.instructions.arithmetic import F32, F64
from opweave.codegen.instructions.emit import Emitter, vector
from opweave.codegen.instructions.operands import Operand, Register
from opweave.codegen.native import llvm, objects, pool
from opweave.registry.interrupts import let_through

_TYPES = {np.dtype(np.float32): ("f32", F32), np.dtype(np.float64): ("f64", F64)}
_SYMBOL = "opweave.distances"


def _source(dtype: np.dtype[Any], p: float) -> str:
    host, em = llvm.host(), Emitter()
    elem, arithmetic = _TYPES[dtype]
    w = host.vector_bits // (8 * dtype.itemsize)
    f: Any = arithmetic(em, w, host.fma)
    one: Any = arithmetic(em, 1, host.fma)
    mine, theirs, out, rows, columns, width = (
        em.inst(f"load {kind}, ptr {em.offset(Register('%args'), i, 'i64')}")
        for i, kind in enumerate(["ptr", "ptr", "ptr", "i64", "i64", "i64"])
    )

    def larger(g: Any, a: Operand, b: Operand) -> Operand:
        """NaN, once there, stays."""
        return g.select(g.compare("ugt", a, b), g.select(g.compare("uno", b, b), b, a), b)

    def folded(g: Any, total: Operand, size: Operand) -> Operand:
        if p == 2:
            return g.fma(size, size, total)
        return larger(g, size, total) if p == float("inf") else g.add(total, size)

    def row(number: Operand) -> None:
        batch = em.inst(f"sdiv i64 {number}, {rows}")
        a = em.offset(mine, em.mul(number, width), elem)
        first = em.mul(batch, columns)

        def pair(j: Operand) -> None:
            b = em.offset(theirs, em.mul(em.add(first, j), width), elem)
            slot = em.slot(f.type, f.const(0.0))

            def step(k: Operand) -> None:
                places = em.offset(a, k, elem), em.offset(b, k, elem)
                x, y = (em.inst(f"load {f.type}, ptr {at}, align {dtype.itemsize}") for at in places)
                size: Operand = f.sub(x, y)
                if p != 2:
                    size = f.intrinsic("fabs", size)
                if p == 0:  # by ceil, so that NaN stays what it is
                    size = f.at_most(f.intrinsic("ceil", size), 1.0)
                em.line(f"store {f.type} {folded(f, em.inst(f'load {f.type}, ptr {slot}'), size)}, ptr {slot}")

            em.loop(0, width, w, step)
            total: Operand = em.inst(f"load {f.type}, ptr {slot}")
            half = w // 2
            while half:
                order = ", ".join(f"i32 {lane ^ half}" for lane in range(w))
                other = em.inst(f"shufflevector {f.type} {total}, {f.type} poison, <{w} x i32> <{order}>")
                total = larger(f, other, total) if p == float("inf") else f.add(total, other)
                half //= 2
            found: Operand = em.inst(f"extractelement {f.type} {total}, i64 0")
            if p == 2:
                found = one.intrinsic("sqrt", found)
            to = em.offset(out, em.add(em.mul(number, columns), j), elem)
            em.line(f"store {vector(elem, 1)} {found}, ptr {to}")

        em.loop(0, columns, 1, pair)

    em.loop(Register("%start"), Register("%end"), 1, row)
    body = "\n".join(["entry:", *em.entry, *em.lines, "  ret void"])
    head = f'define void @"{_SYMBOL}"(ptr %args, i64 %start, i64 %end, i32 %gx, i32 %gy, i32 %gz)'
    return "\n".join([f"{head} {{", body, "}", *em.declarations.values()])


@functools.cache
def _loaded(dtype: np.dtype[Any], p: float) -> tuple[int, Any] | None:
    name = f"distances of {dtype} by the norm of {p}"
    try:
        pool.native()
        code = objects.Code(lambda: _source(dtype, p), name, objects.CLEANED, name)
        return code.load([_SYMBOL]).address(_SYMBOL), ctypes.c_double()
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy goes on
        let_through(error)
        return None


def run(mine: Any, theirs: Any, out: Any, p: float) -> bool:
    """`registry.ops.distance.native`."""
    loaded = _loaded(out.dtype, p) if out.dtype in _TYPES else None
    if loaded is None:
        return False
    address, cost = loaded
    *batch, rows, columns = out.shape
    padded = -(-mine.shape[-1] // 16) * 16

    def laid_out(array: Any) -> Any:
        array = np.broadcast_to(array, (*batch, *array.shape[-2:]))
        if padded == array.shape[-1]:
            return np.ascontiguousarray(array)
        found = np.zeros((*array.shape[:-1], padded), array.dtype)
        found[..., : array.shape[-1]] = array
        return found

    arrays = laid_out(mine), laid_out(theirs), out
    words = [*[array.__array_interface__["data"][0] for array in arrays], rows, columns, padded]
    args = (ctypes.c_int64 * len(words))(*words)
    programs = out.size // columns
    pool.native().run(address, ctypes.addressof(args), programs, 0, 0, 0, ctypes.byref(cost))
    return True

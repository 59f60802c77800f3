"""The greatest or least of the elements up to each along a dimension, and their places (`registry.ops.cumulative`).

A program takes a part of the elements that lie beside the dimension, for one index before it; elements of one line come
in their order, so results do not depend on the number of threads.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

from opweave.codegen.native import objects, pool
from opweave.codegen.native.emitting import Function, Int
from opweave.registry.interrupts import let_through

#: By NumPy's letters: what the elements are in LLVM.
_TYPES = {
    "f4": "float", "f8": "double", "i1": "i8", "u1": "i8", "b1": "i8", "i2": "i16", "i4": "i32", "i8": "i64",
}  # fmt: skip
_SYMBOL = "opweave.running"
_WORDS = ("source", "values", "places", "length", "inner", "part", "parts")
#: Elements beside each other that a program takes.
_PART = 512


def _source(letters: str, larger: bool) -> str:
    kind, size = _TYPES[letters], int(letters[1])
    f = Function("void", _SYMBOL, ["ptr args", "i64 start", "i64 end", "i32 x", "i32 y", "i32 z"])
    w = {name: f.load("%args", place) for place, name in enumerate(_WORDS)}
    source, values, places = (f.pointer(w[name]) for name in ("source", "values", "places"))

    def at(base: str, index: Int, bytes_of_each: int) -> str:
        return f.op(f"getelementptr i8, ptr {base}, i64 {index * bytes_of_each}")

    def replaces(new: str, old: str) -> str:
        """Of equals the last; once there is a NaN, only others replace it."""
        order = "ge" if larger else "le"
        if letters[0] != "f":
            return f.op(f"icmp {'u' if letters[0] in 'ub' else 's'}{order} {kind} {new}, {old}")
        is_nan = f.op(f"fcmp uno {kind} {new}, {new}")
        return f.op(f"or i1 {is_nan}, {f.op(f'fcmp o{order} {kind} {new}, {old}')}")

    with f.loop(f.param("start"), f.param("end"), rolled=False) as program:
        lead, part = program // w["parts"], program % w["parts"]
        first = part * w["part"]
        last = (first + w["part"]).least(w["inner"])
        base = lead * w["length"] * w["inner"]
        single = w["inner"].equals(1)
        with f.when(single):  # what is best is in registers
            best, place = f.room(kind), f.variable(0)
            f.line(f"store {kind} {f.op(f'load {kind}, ptr {at(source, base, size)}')}, ptr {best}")
            with f.loop(0, w["length"], rolled=False) as n:
                new = f.op(f"load {kind}, ptr {at(source, base + n, size)}")
                old = f.op(f"load {kind}, ptr {best}")
                takes = replaces(new, old)
                found = f.op(f"select i1 {takes}, {kind} {new}, {kind} {old}")
                f.line(f"store {kind} {found}, ptr {best}")
                place.set(Int(f, takes).choose(n, place.value))
                f.line(f"store {kind} {found}, ptr {at(values, base + n, size)}")
                f.line(f"store i64 {place.value}, ptr {at(places, base + n, 8)}")
        with f.when(single.denied()):
            with f.loop(first, last, rolled=False) as i:
                value = f.op(f"load {kind}, ptr {at(source, base + i, size)}")
                f.line(f"store {kind} {value}, ptr {at(values, base + i, size)}")
                f.line(f"store i64 0, ptr {at(places, base + i, 8)}")
            with f.loop(1, w["length"], rolled=False) as n:
                line = base + n * w["inner"]
                with f.loop(first, last, rolled=False) as i:
                    here = line + i
                    before = here - w["inner"]
                    new = f.op(f"load {kind}, ptr {at(source, here, size)}")
                    old = f.op(f"load {kind}, ptr {at(values, before, size)}")
                    takes = replaces(new, old)
                    found = f.op(f"select i1 {takes}, {kind} {new}, {kind} {old}")
                    which = Int(f, takes).choose(n, Int(f, f.op(f"load i64, ptr {at(places, before, 8)}")))
                    f.line(f"store {kind} {found}, ptr {at(values, here, size)}")
                    f.line(f"store i64 {which}, ptr {at(places, here, 8)}")
    return "declare i64 @llvm.smin.i64(i64, i64)\n\n" + f.end()


@functools.cache
def _loaded(letters: str, larger: bool) -> tuple[int, Any] | None:
    name = f"running {'greatest' if larger else 'least'} of {letters}"
    try:
        pool.native()
        code = objects.Code(lambda: _source(letters, larger), name, objects.CLEANED, name)
        return code.load([_SYMBOL]).address(_SYMBOL), ctypes.c_double()
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy goes on
        let_through(error)
        return None


def run(larger: bool, source: Any, values: Any, places: Any, length: int, inner: int) -> bool:
    """`registry.ops.cumulative.native`."""
    letters = source.dtype.str[1:]
    loaded = _loaded(letters, larger) if letters in _TYPES else None
    if loaded is None:
        return False
    address, cost = loaded
    parts = -(-inner // _PART)
    words = [array.__array_interface__["data"][0] for array in (source, values, places)]
    words += [length, inner, _PART, parts]
    args = (ctypes.c_int64 * len(words))(*words)
    programs = source.size // (length * inner) * parts
    pool.native().run(address, ctypes.addressof(args), programs, 0, 0, 0, ctypes.byref(cost))
    return True

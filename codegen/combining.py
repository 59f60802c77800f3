"""Elements combined with those at places that an index names (`registry.ops.combining`), in native code.

A program takes a part of the elements that an index has beside the dimension that it counts along: no place is in two
of them, and within one the elements come in the order in which they stand. So results have the same bits for any number
of threads.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.codegen.native import llvm, objects, pool
from opweave.codegen.native.emitting import Function, Int, Number
from opweave.registry.interrupts import let_through

#: By NumPy's letters and sizes: what the elements are in LLVM.
_TYPES = {
    "f4": "float", "f8": "double", "i1": "i8", "u1": "i8", "i2": "i16", "i4": "i32", "i8": "i64",
}  # fmt: skip
#: What a program is given: three addresses, then numbers.
_WORDS = ("target", "index", "source", "count", "inner", "part", "parts", "size")
_STRIDES = tuple([f"{of}.{along}" for of in ("target", "index", "source") for along in ("lead", "step", "inner")])
#: Elements of a program from which on it is worth sharing, and the fewest of one that lie side by side.
_SHARED, _SIDE = 1 << 14, 16


class _Writer:
    """The function that combines elements of one type.

    Parameters
    ----------
    kind : str
        As in `registry.ops.combining`.
    letters : str
        NumPy's for the type.
    """

    def __init__(self, kind: str, letters: str, lanes: int) -> None:
        self.kind, self.element, self.lanes = kind, _TYPES[letters], lanes
        self.bytes, self.is_float, self.is_unsigned = int(letters[1]), letters[0] == "f", letters[0] == "u"

    def text(self) -> str:
        f = self.f = Function(
            "void", "opweave.combine", ["ptr args", "i64 start", "i64 end", "i32 x", "i32 y", "i32 z"]
        )
        self.word = {name: f.load("%args", place) for place, name in enumerate(_WORDS + _STRIDES)}
        w = self.word
        with f.loop(f.param("start"), f.param("end")) as program:
            lead, part = program // w["parts"], program % w["parts"]
            first = part * w["part"]
            last = (first + w["part"]).least(w["inner"])
            target, index, source = (
                f.op(f"getelementptr i8, ptr {f.pointer(w[of])}, i64 {lead * w[f'{of}.lead']}")
                for of in ("target", "index", "source")
            )
            one, rows = w["inner"].equals(1), w["index.inner"].equals(0)
            with f.when(one):
                self.single(target, index, source)
            with f.when(rows.both(one.denied())):
                self.rows(target, index, source, first, last)
            with f.when(rows.denied().both(one.denied())):
                self.elements(target, index, source, first, last)
        return f'{f.end()}\n\n{_within()}\n\n!0 = distinct !{{!0, !1}}\n!1 = !{{!"llvm.loop.unroll.disable"}}\n'

    def place(self, at: str) -> Int:
        """The number at an address, counted from the first element."""
        f = self.f
        number = Int(f, f.op(f"load i64, ptr {at}, align 8"))
        return (number < 0).choose(number + self.word["size"], number)

    def combine(self, to: str, source: str, kind: str, lanes: int) -> None:
        f = self.f
        new = f.op(f"load {kind}, ptr {source}, align {self.bytes}")
        if self.kind != "last":
            new = self.combined(f.op(f"load {kind}, ptr {to}, align {self.bytes}"), new, kind, lanes)
        f.line(f"store {kind} {new}, ptr {to}, align {self.bytes}")

    def combined(self, old: str, new: str, kind: str, lanes: int) -> str:
        f = self.f
        if self.kind in ("add", "multiply"):
            verb = {"add": "add", "multiply": "mul"}[self.kind]
            return f.op(f"{'f' if self.is_float else ''}{verb} {kind} {old}, {new}")
        mask = f"<{lanes} x i1>" if lanes > 1 else "i1"
        order = "ge" if self.kind == "maximum" else "le"
        if not self.is_float:
            keep = f.op(f"icmp {'u' if self.is_unsigned else 's'}{order} {kind} {old}, {new}")
        else:  # NaN, once there, stays
            is_nan = f.op(f"fcmp uno {kind} {old}, {old}")
            keep = f.op(f"or {mask} {is_nan}, {f.op(f'fcmp o{order} {kind} {old}, {new}')}")
        return f.op(f"select {mask} {keep}, {kind} {old}, {kind} {new}")

    def at(self, base: str, far: Int) -> str:
        return self.f.op(f"getelementptr i8, ptr {base}, i64 {far}")

    def single(self, target: str, index: str, source: str) -> None:
        """One element for each number."""
        f, w = self.f, self.word

        def walk(far: Callable[[Int, str, int], str]) -> None:
            with f.loop(0, w["count"]) as n:
                number = self.place(far(n, index, 8))
                self.combine(far(number, target, self.bytes), far(n, source, self.bytes), self.element, 1)

        steps = {target: w["target.step"], index: w["index.step"], source: w["source.step"]}
        dense = steps[target].equals(self.bytes).both(steps[index].equals(8)).both(steps[source].equals(self.bytes))
        with f.when(dense):  # whose places are found by shifts
            walk(lambda n, base, size: self.at(base, n * size))
        with f.when(dense.denied()):
            walk(lambda n, base, _: self.at(base, n * steps[base]))

    def rows(self, target: str, index: str, source: str, first: Int, last: Int) -> None:
        """A row for each number."""
        f, w = self.f, self.word
        dense = w["target.inner"].equals(self.bytes).both(w["source.inner"].equals(self.bytes))
        whole = dense.choose(first + ((last - first) & -self.lanes), first)
        with f.loop(0, w["count"]) as n:
            row = self.at(target, self.place(self.at(index, n * w["index.step"])) * w["target.step"])
            new = self.at(source, n * w["source.step"])
            with f.loop(first, whole, self.lanes) as i:
                places = self.at(row, i * self.bytes), self.at(new, i * self.bytes)
                self.combine(*places, f"<{self.lanes} x {self.element}>", self.lanes)
            with f.loop(whole, last) as i:
                places = self.at(row, i * w["target.inner"]), self.at(new, i * w["source.inner"])
                self.combine(*places, self.element, 1)

    def elements(self, target: str, index: str, source: str, first: Int, last: Int) -> None:
        """A number for each element."""
        f, w = self.f, self.word
        inner = {of: w[f"{of}.inner"] for of in ("target", "index", "source")}

        def walk(target_inner: Number, index_inner: Number, source_inner: Number) -> None:
            with f.loop(0, w["count"]) as n:
                numbers, new = self.at(index, n * w["index.step"]), self.at(source, n * w["source.step"])
                with f.loop(first, last) as i:
                    far = self.place(self.at(numbers, i * index_inner)) * w["target.step"] + i * target_inner
                    self.combine(self.at(target, far), self.at(new, i * source_inner), self.element, 1)

        dense = inner["target"].equals(self.bytes).both(inner["index"].equals(8))
        dense = dense.both(inner["source"].equals(self.bytes))
        with f.when(dense):
            walk(self.bytes, 8, self.bytes)
        with f.when(dense.denied()):
            walk(inner["target"], inner["index"], inner["source"])


def _within() -> str:
    """A function that says whether a number is less than `least`, or not less than `size`, among some side by side."""
    f = Function("i64", "opweave.beyond", ["ptr index", "i64 count", "i64 least", "i64 size"])
    least, width, kind = f.param("least"), 8, "<8 x i64>"

    def wide(value: Int) -> str:
        one = f.op(f"insertelement {kind} poison, i64 {value}, i64 0")
        return f.op(f"shufflevector {kind} {one}, {kind} poison, <8 x i32> zeroinitializer")

    # Counted from the least, what is less is more than all, without a sign.
    low, span = wide(least), wide(f.param("size") - least)
    found = f.room("<8 x i1>")
    f.line(f"store <8 x i1> zeroinitializer, ptr {found}")
    with f.loop(0, f.param("count") & -width, width) as i:
        numbers = f.op(f"load {kind}, ptr {f.at('%index', i)}, align 8")
        off = f.op(f"icmp uge {kind} {f.op(f'sub {kind} {numbers}, {low}')}, {span}")
        f.line(f"store <8 x i1> {f.op(f'or <8 x i1> {off}, ' + f.op(f'load <8 x i1>, ptr {found}'))}, ptr {found}")
    rest = f.variable(0)
    with f.loop(f.param("count") & -width, f.param("count")) as i:
        number = f.load("%index", i)
        off = (number < least).either(number >= f.param("size"))
        rest.set(off.choose(1, rest.value))
    bits = f.op(f"bitcast <8 x i1> {f.op(f'load <8 x i1>, ptr {found}')} to i8")
    return f.end(f"i64 {Int(f, f.op(f'zext i8 {bits} to i64')) | rest.value}")


def source(kind: str, letters: str) -> str:
    """The LLVM IR of `opweave.combine` and `opweave.beyond`."""
    lanes = llvm.host().vector_bits // 8 // int(letters[1])
    declared = "declare i64 @llvm.smin.i64(i64, i64)"
    return f"{declared}\n\n{_Writer(kind, letters, lanes).text()}"


class _Loaded:
    def __init__(self, kind: str, letters: str) -> None:
        name = f"combine {kind} {letters}"
        code = objects.Code(lambda: source(kind, letters), name, objects.CLEANED)
        pool.native()
        found = code.load(["opweave.combine", "opweave.beyond"])
        self.address = found.address("opweave.combine")
        i64, pointer = ctypes.c_int64, ctypes.c_void_p
        self.beyond = ctypes.CFUNCTYPE(i64, pointer, i64, i64, i64)(found.address("opweave.beyond"))
        self.cost = ctypes.c_double()


@functools.cache
def _loaded(kind: str, letters: str) -> _Loaded | None:
    try:
        return _Loaded(kind, letters)
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy goes on
        let_through(error)
        return None


def within(numbers: Any, lowest: int, size: int) -> bool | None:
    """`registry.ops.combining.native_within`."""
    loaded = _loaded("add", "f4")
    return None if loaded is None else not loaded.beyond(_address(numbers), numbers.size, lowest, size)


def run(kind: str, target: Any, index: Any, source: Any, axis: int, lowest: int) -> bool | None:
    """`registry.ops.combining.native`."""
    letters = source.dtype.str[1:]
    if letters not in _TYPES:
        return None
    loaded = _loaded(kind, letters)
    if loaded is None:
        return None
    # What is expanded has its numbers once.
    once = index if all(index.strides) else index[tuple([slice(None) if step else slice(1) for step in index.strides])]
    once = once if once.flags.c_contiguous else np.ascontiguousarray(once)
    size = target.shape[axis]
    if loaded.beyond(_address(once), once.size, lowest, size):
        return False
    outer = _one(index.shape[:axis], [a.strides[:axis] for a in (target, index, source)])
    inner = _one(index.shape[axis + 1 :], [a.strides[axis + 1 :] for a in (target, index, source)])
    if outer is None or inner is None:
        return None
    (many, outer_steps), (length, inner_steps) = outer, inner
    count, chunk = index.shape[axis], length
    if many == 1 and count * length > _SHARED and length >= 2 * _SIDE:
        chunk = max(_SIDE, -(-length * _SHARED // (count * length)))
        chunk = min(length, -(-chunk // _SIDE) * _SIDE)
    chunks = -(-length // chunk)
    words = [_address(a) for a in (target, index, source)]
    words += [count, length, chunk, chunks, size]
    for n, array in enumerate((target, index, source)):
        words += [outer_steps[n], array.strides[axis], inner_steps[n]]
    args = (ctypes.c_int64 * len(words))(*words)
    pool.native().run(loaded.address, ctypes.addressof(args), many * chunks, 0, 0, 0, ctypes.byref(loaded.cost))
    return True


def _address(array: Any) -> int:
    return array.__array_interface__["data"][0]


def _one(sizes: Sequence[int], strides: Sequence[Sequence[int]]) -> tuple[int, list[int]] | None:
    """Dimensions as one: how many elements it has, and how far they are from one to the next in each array."""
    count, steps = 1, [0] * len(strides)
    for d in reversed(range(len(sizes))):
        here = [of[d] for of in strides]
        if sizes[d] == 1:
            continue
        if count == 1:
            count, steps = sizes[d], here
        elif here == [step * count for step in steps]:
            count *= sizes[d]
        else:
            return None
    return count, steps

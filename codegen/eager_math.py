"""Functions of arrays by the formulas that kernels have: eager calls give their bits.

A loop goes over arrays in vectors; what is left at its end is computed in a whole one, too, so an element does not
depend on where it lies. Functions that NumPy has are its ufuncs with such loops for float32 and float64 (`ufunc`): they
are more exact than its own, or faster, and so steps of a body can be one loop (`row_loops`) without other bits. Bodies
of many steps are functions of their own (`of_body`).
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy._core import umath

from opweave.codegen import bodies
from opweave.codegen.instructions.arithmetic import F32, F64
from opweave.codegen.instructions.emit import Emitter, vector
from opweave.codegen.instructions.operands import FALSE, I1, I64, PTR, VOID, Operand, Register
from opweave.codegen.native import llvm, objects
from opweave.registry.interrupts import let_through
from opweave.registry.scalar import RENAMED, own_names

_SINGLE, _DOUBLE = np.dtype(np.float32), np.dtype(np.float64)
_ELEMENTS = {_SINGLE: "f32", _DOUBLE: "f64"}
#: Functions that are formulas, and how many operands they have.
_OPERANDS = {
    "erf": 1, "exp": 1, "exp2": 1, "expm1": 1, "log": 1, "log2": 1, "log10": 1, "log1p": 1, "tanh": 1, "fmod": 2,
    "remainder": 2, "floor_divide": 2, "tan": 1, "asin": 1, "acos": 1, "atan": 1, "atan2": 2, "sinh": 1, "cosh": 1,
    "asinh": 1, "acosh": 1, "atanh": 1,
}  # fmt: skip
#: Those that have other results than NumPy's of the same name, or which NumPy has not.
_OTHERS = ("erf", "remainder")
#: Elements that are gathered where they lie apart.
_GATHERED = 256


def _types(name: str) -> list[np.dtype[Any]]:
    """The types that a function has loops of its own for."""
    return [dtype for dtype in _ELEMENTS if bodies.formula(name, dtype) is not None]


class _Loop:
    """A function's loop in LLVM IR, as NumPy calls its own: places, how many elements, bytes from one to the next."""

    def __init__(self, name: str, dtype: np.dtype[Any], count: int, symbol: str) -> None:
        host = llvm.host()
        self.name, self.elem, self.count, self.symbol = name, _ELEMENTS[dtype], count, symbol
        self.size = dtype.itemsize
        self.width = host.vector_bits // (8 * self.size)
        self.has_fma = host.fma
        self.em = Emitter()

    def source(self) -> str:
        em, args = self.em, range(self.count + 1)

        def word(name: str, kind: str, i: int) -> Register:
            return em.inst(f"load {kind}, ptr {em.offset(Register(name), i, 'i64')}")

        n = word("%count", "i64", 0)
        places, steps = [word("%places", "ptr", i) for i in args], [word("%steps", "i64", i) for i in args]
        dense: Operand = em.inst(f"icmp eq i64 {steps[0]}, {self.size}")
        for step in steps[1:]:
            dense = em.inst(f"and i1 {dense}, {em.inst(f'icmp eq i64 {step}, {self.size}')}")

        def apart() -> None:
            em.loop(0, n, _GATHERED, lambda i: self.piece(places, steps, n, i))

        em.when(dense, lambda: self.run(places, n), apart)
        text = self.function(self.symbol, "ptr %places, ptr %count, ptr %steps, ptr %data", "")
        em.entry, em.lines = [], []
        self.whole()
        inputs = ", ".join(f"ptr %in{i}" for i in range(self.count))
        text += self.function(f"{self.symbol}.dense", f"{inputs}, ptr %out, i64 %n", "internal ")
        return text

    def function(self, symbol: str, args: str, linkage: str) -> str:
        lines = "\n".join(["entry:", *self.em.entry, *self.em.lines, "  ret void"])
        return f'define {linkage}void @"{symbol}"({args}) noinline {{\n{lines}\n}}\n'

    def run(self, places: Sequence[Operand], n: Operand) -> None:
        self.em.line(f'call void @"{self.symbol}.dense"({", ".join(f"ptr {p}" for p in places)}, i64 {n})')

    def piece(self, places: Sequence[Operand], steps: Sequence[Operand], n: Operand, i: Operand) -> None:
        """Some elements that lie apart, or are one: by way of memory where they do not."""
        em, kind = self.em, vector(self.elem, 1)
        some = em.minimum(em.sub(n, i), _GATHERED)
        blocks = [em.buffer((_GATHERED,), self.elem).pointer for _ in places]
        at = [em.offset(p, em.mul(i, s)) for p, s in zip(places, steps, strict=True)]

        def take(j: Operand) -> None:
            for where, step, block in zip(at[:-1], steps, blocks, strict=False):
                x = em.inst(f"load {kind}, ptr {em.offset(where, em.mul(j, step))}, align 1")
                em.line(f"store {kind} {x}, ptr {em.offset(block, j, self.elem)}")

        def give(j: Operand) -> None:
            x = em.inst(f"load {kind}, ptr {em.offset(blocks[-1], j, self.elem)}")
            em.line(f"store {kind} {x}, ptr {em.offset(at[-1], em.mul(j, steps[-1]))}, align 1")

        em.loop(0, some, 1, take)
        self.run(blocks, some)
        em.loop(0, some, 1, give)

    def whole(self) -> None:
        """Elements that lie side by side."""
        em, w, elem = self.em, self.width, self.elem
        kind, n = vector(elem, w), Register("%n")
        f = (F32 if elem == "f32" else F64)(em, w, self.has_fma)
        places = [Register(f"%in{i}") for i in range(self.count)]
        blocks = [em.buffer((w,), elem).pointer for _ in places]
        # One copy of the formula serves for the last elements, too.
        slots = [em.slot(PTR) for _ in range(self.count + 1)]

        def one(i: Operand) -> None:
            left = em.sub(n, i)
            whole = em.inst(f"icmp sge i64 {left}, {w}")
            size = em.mul(left, self.size)
            at = [em.offset(p, i, elem) for p in (*places, Register("%out"))]
            for slot, p in zip(slots, at, strict=True):
                em.line(f"store ptr {p}, ptr {slot}")

            def gather() -> None:
                for block, p, slot in zip(blocks, at, slots, strict=False):
                    em.line(f"store {kind} {f.const(1.0)}, ptr {block}")
                    self.copy(block, p, size)
                    em.line(f"store ptr {block}, ptr {slot}")
                em.line(f"store ptr {blocks[0]}, ptr {slots[-1]}")

            em.when(whole, lambda: None, gather)
            *froms, to = [em.inst(f"load ptr, ptr {slot}") for slot in slots]
            given = [em.inst(f"load {kind}, ptr {p}, align {self.size}") for p in froms]
            em.line(f"store {kind} {bodies.apply(self.name, f, given)}, ptr {to}, align {self.size}")
            em.when(whole, lambda: None, lambda: self.copy(at[-1], blocks[0], size))

        em.loop(0, n, w, one)

    def copy(self, to: Operand, source: Operand, size: Operand) -> None:
        self.em.call(VOID, "llvm.memcpy.p0.p0.i64", [(PTR, to), (PTR, source), (I64, size), (I1, FALSE)])


def _source(name: str, types: Sequence[np.dtype[Any]], count: int) -> str:
    loops = [_Loop(name, dtype, count, _symbol(name, dtype)) for dtype in types]
    text = "".join(loop.source() for loop in loops)
    declared = {key: line for loop in loops for key, line in loop.em.declarations.items()}
    return text + "\n".join(declared.values())


def _symbol(name: str, dtype: np.dtype[Any]) -> str:
    return f"opweave.{'body' if name in bodies.known else name}.{dtype}"


@functools.cache
def _code(name: str, types: tuple[np.dtype[Any], ...], count: int) -> objects.LoadedCode:
    what = f"{name} of arrays"
    code = objects.Code(lambda: _source(name, types, count), what, objects.CLEANED, what)
    return code.load([_symbol(name, dtype) for dtype in types])


def loop(name: str, dtype: np.dtype[Any]) -> int | None:
    """The address of a function's loop, as NumPy calls its own.

    Parameters
    ----------
    name : str
        As for `apply`.
    dtype : numpy.dtype
        Of the elements.

    Returns
    -------
    int or None
        None where there is none.

    Examples
    --------
    >>> loop("sin", np.dtype("f4")) is None
    True
    """
    if name not in _OPERANDS or dtype not in _types(name):
        return None
    return _code(name, tuple(_types(name)), _OPERANDS[name]).address(_symbol(name, dtype))


def apply(name: str, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """A function of each element.

    Parameters
    ----------
    name : str
        `"erf"`, or what `ufunc` has.
    x : numpy.ndarray
        Of float32 or float64.

    Returns
    -------
    numpy.ndarray or None
        Of the same type and shape, row-major; None for another type.
    """
    if x.dtype not in _types(name):
        return None
    function = ufunc(name)
    if function is None:
        return None
    with np.errstate(all="ignore"):
        return function(x, out=np.empty(x.shape, x.dtype))


class Ufunc(ctypes.Structure):
    """The beginning of NumPy's `PyUFuncObject`, behind the head."""

    _fields_ = [
        ("nin", ctypes.c_int),
        ("nout", ctypes.c_int),
        ("nargs", ctypes.c_int),
        ("identity", ctypes.c_int),
        ("functions", ctypes.POINTER(ctypes.c_void_p)),
        ("data", ctypes.POINTER(ctypes.c_void_p)),
        ("ntypes", ctypes.c_int),
        ("reserved", ctypes.c_int),
        ("name", ctypes.c_char_p),
    ]

    @classmethod
    def of(cls, function: np.ufunc) -> Ufunc | None:
        """What a function of NumPy's holds; None where that is not where it is looked for."""
        found = cls.from_address(id(function) + object.__basicsize__)
        told = found.nin, found.nout, found.nargs, found.ntypes
        return found if told == (function.nin, function.nout, function.nargs, function.ntypes) else None


#: Where NumPy's table of C functions has `PyUFunc_FromFuncAndData`, since its first version; it makes a ufunc of loops,
#: what these take besides, types, how many there are, inputs, outputs, no identity, a name and a text.
_FROM_LOOPS = 1
_NO_IDENTITY = -1


@functools.cache
def ufunc(name: str) -> np.ufunc | None:
    """NumPy's function of a name with loops of native code for float32 and float64, and for other types NumPy's own.

    Parameters
    ----------
    name : str
        As bodies have it; or `"erf"`, or `"remainder"` with zeros as PyTorch's, of these types alone.

    Returns
    -------
    numpy.ufunc or None
        None where there is no native code.

    Examples
    --------
    >>> ufunc("exp")(np.float64(0))
    np.float64(1.0)
    """
    try:
        own = {dtype: loop(name, dtype) for dtype in _types(name)}
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy's loops are there
        let_through(error)
        return None
    count = _OPERANDS[name]
    of_own = {(dtype,) * (count + 1): (address, None) for dtype, address in own.items()}
    if name in _OTHERS:
        return _made(name, of_own)
    theirs = getattr(np, RENAMED.get(name, name))
    held = Ufunc.of(theirs)
    if held is None:
        return None
    every = [tuple([np.dtype(c) for c in text.replace("->", "")]) for text in theirs.types]
    return _made(name, {types: of_own.get(types, (held.functions[i], held.data[i])) for i, types in enumerate(every)})


def of_body(body: Callable[..., Any], name: str, dtype: np.dtype[Any], count: int) -> np.ufunc | None:
    """A function of a body's elements for one type: `registry.native_bodies.compiled`."""
    read = bodies.read(body, name, dtype, count)
    if read is None:
        return None
    try:
        address = _code(read.name, (dtype,), count).address(_symbol(read.name, dtype))
    except ModuleNotFoundError as error:
        let_through(error)
        return None
    found = _made(read.name, {(dtype,) * (count + 1): (address, None)})
    own_names[found] = read.name
    return found


def _made(name: str, loops: Mapping[tuple[np.dtype[Any], ...], tuple[int | None, int | None]]) -> np.ufunc:
    """A function like NumPy's of loops, and what these take besides, by their types."""
    count = len(loops)
    functions = (ctypes.c_void_p * count)(*[address for address, _ in loops.values()])
    data = (ctypes.c_void_p * count)(*[given for _, given in loops.values()])
    types = ctypes.create_string_buffer(bytes(dtype.num for of in loops for dtype in of))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(umath._UFUNC_API, None)
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, *[ctypes.c_void_p] * 3, *[ctypes.c_int] * 4, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int
    )(ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))[_FROM_LOOPS])
    called = name.encode()
    objects.keep_forever((functions, data, types, called))
    inputs = len(next(iter(loops))) - 1
    found = make(functions, data, types, count, inputs, 1, _NO_IDENTITY, called, b"", 0)
    objects.keep_forever(found)
    return found

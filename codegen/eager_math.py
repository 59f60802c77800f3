"""Functions of arrays by the formulas that kernels have: eager calls give their bits.

A loop goes over an array in vectors; what is left at its end is computed in a whole one, too, so an element does not
depend on where it lies. Functions that NumPy has are its ufuncs with such loops for float32 (`ufunc`): they are more
exact than its own, and as fast, and so steps of a body can be one loop (`row_loops`) without other bits.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy._core import umath

from opweave.codegen.instructions import formulas
from opweave.codegen.instructions.arithmetic import F32
from opweave.codegen.instructions.emit import Emitter
from opweave.codegen.instructions.operands import DOUBLE, Register
from opweave.codegen.native import llvm, objects
from opweave.registry.interrupts import let_through

#: By name: the formula of float32, and what the C library calls the function of float64, if that is not NumPy's.
_FUNCTIONS: dict[str, tuple[Callable[[F32, Any], Any], str | None]] = {
    "erf": (formulas.erf, "erf"), "exp": (formulas.exp, None), "exp2": (formulas.exp2, None),
    "expm1": (formulas.expm1, None), "log": (formulas.log, None), "log2": (formulas.log2, None),
    "log10": (formulas.log10, None), "log1p": (formulas.log1p, None), "tanh": (formulas.tanh, None),
}  # fmt: skip
#: Elements that are gathered where they lie apart.
_GATHERED = 256

_LOOP = """
define void @opweave.{name}.{type}(ptr %in, ptr %out, i64 %count) {{
entry:
  %block = alloca {vector}, align 64
{entry}  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %left ]
  %left.count = sub i64 %count, %i
  %some = icmp sgt i64 %left.count, 0
  br i1 %some, label %take, label %out.of
take:
  %from = getelementptr {type}, ptr %in, i64 %i
  %to = getelementptr {type}, ptr %out, i64 %i
  %whole = icmp sge i64 %left.count, {width}
  br i1 %whole, label %direct, label %part
part:
  %bytes = mul i64 %left.count, {bytes}
  store {vector} zeroinitializer, ptr %block, align 64
  call void @llvm.memcpy.p0.p0.i64(ptr %block, ptr %from, i64 %bytes, i1 false)
  br label %compute
direct:
  br label %compute
compute:
  %source = phi ptr [ %block, %part ], [ %from, %direct ]
  %x = load {vector}, ptr %source, align {bytes}
{lines}
  br i1 %whole, label %write, label %write.part
write:
  store {vector} {result}, ptr %to, align {bytes}
  br label %left
write.part:
  store {vector} {result}, ptr %block, align 64
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %block, i64 %bytes.left, i1 false)
  br label %left
left:
  %i1 = add i64 %i, {width}
  br label %next
out.of:
  ret void
}}
"""

#: The same as NumPy calls its loops: places, how many elements, bytes from one to the next.
_STRIDED = """
define void @opweave.{name}.{type}.loop(ptr %places, ptr %count, ptr %steps, ptr %data) {{
entry:
  %block = alloca [{gathered} x {type}], align 64
  %n = load i64, ptr %count
  %in = load ptr, ptr %places
  %out.p = getelementptr ptr, ptr %places, i64 1
  %out = load ptr, ptr %out.p
  %in.step = load i64, ptr %steps
  %out.step.p = getelementptr i64, ptr %steps, i64 1
  %out.step = load i64, ptr %out.step.p
  %in.dense = icmp eq i64 %in.step, {bytes}
  %out.dense = icmp eq i64 %out.step, {bytes}
  %dense = and i1 %in.dense, %out.dense
  br i1 %dense, label %whole, label %next
whole:
  call void @opweave.{name}.{type}(ptr %in, ptr %out, i64 %n)
  ret void
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %given ]
  %left = sub i64 %n, %i
  %more = icmp sgt i64 %left, 0
  br i1 %more, label %piece, label %done
piece:
  %some = call i64 @llvm.smin.i64(i64 %left, i64 {gathered})
  %in.far = mul i64 %i, %in.step
  %in.at = getelementptr i8, ptr %in, i64 %in.far
  %out.far = mul i64 %i, %out.step
  %out.at = getelementptr i8, ptr %out, i64 %out.far
  br label %take
take:
  %j = phi i64 [ 0, %piece ], [ %j1, %take ]
  %from.far = mul i64 %j, %in.step
  %from = getelementptr i8, ptr %in.at, i64 %from.far
  %x = load {type}, ptr %from, align 1
  %x.to = getelementptr {type}, ptr %block, i64 %j
  store {type} %x, ptr %x.to
  %j1 = add i64 %j, 1
  %taken = icmp eq i64 %j1, %some
  br i1 %taken, label %compute, label %take
compute:
  call void @opweave.{name}.{type}(ptr %block, ptr %block, i64 %some)
  br label %give
give:
  %k = phi i64 [ 0, %compute ], [ %k1, %give ]
  %y.from = getelementptr {type}, ptr %block, i64 %k
  %y = load {type}, ptr %y.from
  %to.far = mul i64 %k, %out.step
  %to = getelementptr i8, ptr %out.at, i64 %to.far
  store {type} %y, ptr %to, align 1
  %k1 = add i64 %k, 1
  %gave = icmp eq i64 %k1, %some
  br i1 %gave, label %given, label %give
given:
  %i1 = add i64 %i, %some
  br label %next
done:
  ret void
}}
"""


def _source(function: str) -> str:
    """The LLVM IR of a function's loops."""
    host = llvm.host()
    formula, library = _FUNCTIONS[function]
    width = host.vector_bits // 32
    em = Emitter()
    result = formula(F32(em, width, host.fma), Register("%x"))
    text = [
        "declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)\ndeclare i64 @llvm.smin.i64(i64, i64)",
        _loop(function, "float", width, 4, em, result),
    ]
    declarations = dict(em.declarations)
    if library is not None:
        em = Emitter()
        result = em.call(DOUBLE, library, [(DOUBLE, Register("%x"))])
        text.append(_loop(function, "double", 1, 8, em, result))
        declarations |= em.declarations
    return "\n".join([*text, *declarations.values()])


def _loop(name: str, kind: str, width: int, size: int, em: Emitter, result: Any) -> str:
    lines = ["  %bytes.left = mul i64 %left.count, " + str(size), *em.lines]
    strided = _STRIDED.format(name=name, type=kind, bytes=size, gathered=_GATHERED)
    return strided + _LOOP.format(
        name=name, type=kind, vector=kind if width == 1 else f"<{width} x {kind}>", width=width, bytes=size,
        entry="".join(line + "\n" for line in em.entry), lines="\n".join(lines), result=result,
    )  # fmt: skip


_TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}


def _kinds(name: str) -> list[str]:
    """The types that a function has loops of its own for."""
    return list(_TYPES.values())[: 1 if _FUNCTIONS[name][1] is None else 2]


@functools.cache
def _code(name: str) -> objects.LoadedCode:
    what = f"{name} of arrays"
    code = objects.Code(functools.partial(_source, name), what, objects.CLEANED, what)
    names = [f"opweave.{name}.{kind}" for kind in _kinds(name)]
    return code.load([*names, *(f"{name}.loop" for name in names)])


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
    if name not in _FUNCTIONS or _TYPES.get(dtype) not in _kinds(name):
        return None
    return _code(name).address(f"opweave.{name}.{_TYPES[dtype]}.loop")


@functools.cache
def _function(name: str, dtype: np.dtype[Any]) -> Callable[[int, int, int], None]:
    make = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return make(_code(name).address(f"opweave.{name}.{_TYPES[dtype]}"))


def apply(name: str, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """A function of each element.

    Parameters
    ----------
    name : str
        `"erf"`, or what `ufunc` has.
    x : numpy.ndarray
        Of float32 or, of what is no function of NumPy's, float64.

    Returns
    -------
    numpy.ndarray or None
        Of the same type and shape, row-major; None for another type.
    """
    if _TYPES.get(x.dtype) not in _kinds(name):
        return None
    x = np.ascontiguousarray(x).reshape(x.shape)
    out = np.empty_like(x)
    _function(name, x.dtype)(x.ctypes.data, out.ctypes.data, x.size)
    return out


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
    """NumPy's function of a name with a loop of native code for float32, and for other types NumPy's own.

    Parameters
    ----------
    name : str
        As NumPy has it.

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
        own = loop(name, np.dtype(np.float32))
    except ModuleNotFoundError as error:  # without LLVM, and what it compiled before, NumPy's loops are there
        let_through(error)
        return None
    theirs = getattr(np, name)
    held = Ufunc.of(theirs)
    if own is None or held is None:
        return None
    count = held.ntypes
    loops, data = (ctypes.c_void_p * count)(*held.functions[:count]), (ctypes.c_void_p * count)(*held.data[:count])
    place = theirs.types.index("f->f")
    loops[place], data[place] = own, None
    types = ctypes.create_string_buffer(bytes(np.dtype(c).num for text in theirs.types for c in text.replace("->", "")))
    pointer = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)
    address = pointer(("PyCapsule_GetPointer", ctypes.pythonapi))(umath._UFUNC_API, None)
    make = ctypes.PYFUNCTYPE(
        ctypes.py_object, *[ctypes.c_void_p] * 3, *[ctypes.c_int] * 4, ctypes.c_char_p, ctypes.c_char_p, ctypes.c_int
    )(ctypes.cast(address, ctypes.POINTER(ctypes.c_void_p))[_FROM_LOOPS])
    called = name.encode()
    objects.keep_forever((loops, data, types, called))
    found = make(loops, data, types, count, 1, 1, _NO_IDENTITY, called, b"", 0)
    objects.keep_forever(found)
    return found

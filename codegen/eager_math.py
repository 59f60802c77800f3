"""Functions that NumPy has none of, on arrays, by the formulas that kernels have: eager calls give their bits.

A loop goes over an array in vectors; what is left at its end is computed in a whole one, too, so an element does not
depend on where it lies.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.codegen.instructions import formulas
from opweave.codegen.instructions.arithmetic import F32
from opweave.codegen.instructions.emit import Emitter
from opweave.codegen.instructions.operands import DOUBLE, Register
from opweave.codegen.native import llvm, objects

#: By name: the formula of float32, and what the C library calls the function of float64.
_FUNCTIONS: dict[str, tuple[Callable[[F32, Any], Any], str]] = {"erf": (formulas.erf, "erf")}

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
  %i = phi i64 [ 0, %entry ], [ %i1, %one ]
  %left = icmp slt i64 %i, %n
  br i1 %left, label %one, label %done
one:
  %in.far = mul i64 %i, %in.step
  %in.at = getelementptr i8, ptr %in, i64 %in.far
  %out.far = mul i64 %i, %out.step
  %out.at = getelementptr i8, ptr %out, i64 %out.far
  call void @opweave.{name}.{type}(ptr %in.at, ptr %out.at, i64 1)
  %i1 = add i64 %i, 1
  br label %next
done:
  ret void
}}
"""


def source() -> str:
    """The LLVM IR of all loops."""
    host = llvm.host()
    text = ["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)"]
    declarations: dict[str, str] = {}
    for name, (formula, library) in _FUNCTIONS.items():
        width = host.vector_bits // 32
        em = Emitter()
        result = formula(F32(em, width, host.fma), Register("%x"))
        text.append(_loop(name, "float", width, 4, em, result))
        declarations |= em.declarations
        em = Emitter()
        result = em.call(DOUBLE, library, [(DOUBLE, Register("%x"))])
        text.append(_loop(name, "double", 1, 8, em, result))
        declarations |= em.declarations
    return "\n".join([*text, *declarations.values()])


def _loop(name: str, kind: str, width: int, size: int, em: Emitter, result: Any) -> str:
    lines = ["  %bytes.left = mul i64 %left.count, " + str(size), *em.lines]
    strided = _STRIDED.format(name=name, type=kind, bytes=size)
    return strided + _LOOP.format(
        name=name, type=kind, vector=kind if width == 1 else f"<{width} x {kind}>", width=width, bytes=size,
        entry="".join(line + "\n" for line in em.entry), lines="\n".join(lines), result=result,
    )  # fmt: skip


_TYPES = {np.dtype(np.float32): "float", np.dtype(np.float64): "double"}
CODE = objects.Code(source, "functions of arrays", objects.CLEANED, "functions of arrays")


@functools.cache
def _code() -> objects.LoadedCode:
    names = [f"opweave.{name}.{kind}" for name in _FUNCTIONS for kind in _TYPES.values()]
    return CODE.load([*names, *(f"{name}.loop" for name in names)])


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
    if name not in _FUNCTIONS or dtype not in _TYPES:
        return None
    return _code().address(f"opweave.{name}.{_TYPES[dtype]}.loop")


@functools.cache
def _loops() -> dict[tuple[str, np.dtype[Any]], Callable[[int, int, int], None]]:
    names = {(name, dtype): f"opweave.{name}.{kind}" for name in _FUNCTIONS for dtype, kind in _TYPES.items()}
    loaded = _code()
    make = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
    return {key: make(loaded.address(name)) for key, name in names.items()}


def apply(name: str, x: np.ndarray[Any, Any]) -> np.ndarray[Any, Any] | None:
    """A function of each element.

    Parameters
    ----------
    name : str
        `"erf"`.
    x : numpy.ndarray
        float32 or float64.

    Returns
    -------
    numpy.ndarray or None
        Of the same type and shape, row-major; None for another type.
    """
    if x.dtype not in _TYPES:
        return None
    x = np.ascontiguousarray(x).reshape(x.shape)
    out = np.empty_like(x)
    _loops()[name, x.dtype](x.ctypes.data, out.ctypes.data, x.size)
    return out

"""Conversions of real numbers on arrays, as kernels make them: NumPy goes number by number, ml_dtypes bit by bit.

Each is a loop as NumPy's own (`registry.tape`): places, how many elements, bytes from one to the next. Where elements
lie side by side, vectors are converted. Half types are float32 on their way, and rounded once from there. Floats become
integers as `registry.scalar` has it: truncated, NaN and what is out of range the least int32 or int64, then wrapped.
"""

from __future__ import annotations

import ctypes
import functools
from typing import Any

import numpy as np

from opweave.codegen.instructions.emit import Emitter, float_literal, splat, vector
from opweave.codegen.instructions.operands import Operand, Register
from opweave.codegen.native import llvm, objects
from opweave.registry import dtypes

#: By the names of their types in symbols: what they are in LLVM, and in `Emitter`.
ELEMENTS = {
    "bf": "bf16", "f2": "f16", "b1": "i8", "u1": "i8", "u2": "i16", "u4": "i32", "u8": "i64", "i1": "i8", "i2": "i16",
    "i4": "i32", "i8": "i64", "f4": "f32", "f8": "f64",
}  # fmt: skip
_HALVES, _FLOATS = ("bf", "f2"), ("f4", "f8")
_BYTES = {"bf": 2}

_LOOP = """
define void @"opweave.cast.{source}.{target}"(ptr %places, ptr %count, ptr %steps, ptr %data) {{
entry:
  %n = load i64, ptr %count
  %from.start = load ptr, ptr %places
  %to.p = getelementptr ptr, ptr %places, i64 1
  %to.start = load ptr, ptr %to.p
  %from.step = load i64, ptr %steps
  %to.step.p = getelementptr i64, ptr %steps, i64 1
  %to.step = load i64, ptr %to.step.p
  %from.dense = icmp eq i64 %from.step, {from_bytes}
  %to.dense = icmp eq i64 %to.step, {to_bytes}
  %dense = and i1 %from.dense, %to.dense
  %whole.some = and i64 %n, -{width}
  %whole = select i1 %dense, i64 %whole.some, i64 0
  br label %wide
wide:
  %i = phi i64 [ 0, %entry ], [ %i1, %wide.more ]
  %wide.left = icmp slt i64 %i, %whole
  br i1 %wide.left, label %wide.more, label %next
wide.more:
  %wide.from = getelementptr {from_type}, ptr %from.start, i64 %i
  %wide.to = getelementptr {to_type}, ptr %to.start, i64 %i
  %wide.x = load {from_vector}, ptr %wide.from, align 1
{wide}
  store {to_vector} {wide_result}, ptr %wide.to, align 1
  %i1 = add i64 %i, {width}
  br label %wide
next:
  %j = phi i64 [ %whole, %wide ], [ %j1, %more ]
  %left = icmp slt i64 %j, %n
  br i1 %left, label %more, label %out
more:
  %from.far = mul i64 %j, %from.step
  %from = getelementptr i8, ptr %from.start, i64 %from.far
  %to.far = mul i64 %j, %to.step
  %to = getelementptr i8, ptr %to.start, i64 %to.far
  %x = load {from_type}, ptr %from, align 1
{one}
  store {to_type} {one_result}, ptr %to, align 1
  %j1 = add i64 %j, 1
  br label %next
out:
  ret void
}}
"""


def _half_pairs() -> list[tuple[str, str]]:
    """Of which type to which, of what is loaded at once; not from float64 to float16 by float32, which rounds twice."""
    found: list[tuple[str, str]] = []
    for half in _HALVES:
        found += [(half, other) for other in ELEMENTS if other != half and other in ("bf", "f2", "b1", "f4", "f8")]
        found += [(other, half) for other in ELEMENTS if other not in _HALVES and (other, half) != ("f8", "f2")]
    return found


#: Of a byte that says whether the machine converts float16: a process that finds the code need not ask LLVM for it.
_HAS_FLOAT16 = "opweave.cast.has_float16"


def _converts_float16() -> bool:
    host = llvm.host()
    return "f16c" in host.features or host.triple.startswith(("aarch64", "arm64"))


def source() -> str:
    """The LLVM IR of loops for half types; those that the machine has no instruction for do nothing."""
    has_float16 = _converts_float16()
    parts = [f"@{_HAS_FLOAT16} = constant i8 {int(has_float16)}"]
    for source, target in _half_pairs():
        if "f2" not in (source, target) or has_float16:
            parts.append(_loop(source, target))
        else:
            parts.append(f"define void @{_symbol(source, target)}(ptr %a, ptr %b, ptr %c, ptr %d) {{\n  ret void\n}}")
    return "\n".join(parts)


def _symbol(source: str, target: str) -> str:
    return f"opweave.cast.{source}.{target}"


def _loop(source: str, target: str) -> str:
    em, width = Emitter(), llvm.host().vector_bits // 32
    wide = converted(em, Register("%wide.x"), source, target, width)
    wide_lines, em.lines = em.lines, []
    one = converted(em, Register("%x"), source, target, 1)
    from_type, to_type = ELEMENTS[source], ELEMENTS[target]
    return _LOOP.format(
        source=source, target=target, width=width, from_bytes=size(source), to_bytes=size(target),
        from_type=vector(from_type, 1), to_type=vector(to_type, 1), from_vector=vector(from_type, width),
        to_vector=vector(to_type, width), wide="\n".join(wide_lines), wide_result=wide, one="\n".join(em.lines),
        one_result=one,
    )  # fmt: skip


def size(name: str) -> int:
    return _BYTES.get(name) or np.dtype(name).itemsize


def converted(em: Emitter, x: Operand, source: str, target: str, w: int) -> Operand:
    """Numbers of `w` lanes as another type."""
    single, word, half = vector("f32", w), vector("i32", w), vector("i16", w)

    def c(value: int, kind: str = "i32") -> Operand:
        return splat(value, kind, w)

    given, wanted = (vector(ELEMENTS[name], w) for name in (source, target))
    if source == "bf":
        wide = em.inst(f"shl {word} {em.inst(f'zext {half} {x} to {word}')}, {c(16)}")
        x, source, given = em.inst(f"bitcast {word} {wide} to {single}"), "f4", single
    elif source == "f2" or (target in _HALVES and source == "f8"):
        verb = "fpext" if source == "f2" else "fptrunc"
        x, source, given = em.inst(f"{verb} {given} {x} to {single}"), "f4", single
    if target == "b1":
        test = "fcmp une" if source in _FLOATS else "icmp ne"
        is_true = em.inst(
            f"{test} {given} {x}, {splat(float_literal(0.0) if source in _FLOATS else 0, ELEMENTS[source], w)}"
        )
        return em.inst(f"zext {vector('i1', w)} {is_true} to {wanted}")
    if source not in _FLOATS:
        if target not in (*_HALVES, *_FLOATS):
            return _resized(em, x, source, target, w)
        # What becomes a half number is rounded to float32 first.
        to = "f4" if target in _HALVES else target
        verb = "uitofp" if _has_no_sign(source) else "sitofp"
        x, source, given = em.inst(f"{verb} {given} {x} to {vector(ELEMENTS[to], w)}"), to, vector(ELEMENTS[to], w)
    if target == source:
        return x
    if target in ("f8", "f2", "f4"):
        return em.inst(f"{'fpext' if target == 'f8' else 'fptrunc'} {given} {x} to {wanted}")
    if target != "bf":
        return _truncated(em, x, source, target, w)
    bits = em.inst(f"bitcast {single} {x} to {word}")
    top = em.inst(f"lshr {word} {bits}, {c(16)}")
    odd = em.inst(f"and {word} {top}, {c(1)}")
    rounded = em.inst(f"add {word} {em.inst(f'add {word} {bits}, {c(0x7FFF)}')}, {odd}")
    # As ml_dtypes has it: one NaN of either sign.
    none = em.inst(f"or {word} {em.inst(f'and {word} {top}, {c(0x8000)}')}, {c(0x7FC0)}")
    is_nan = em.inst(f"fcmp uno {single} {x}, {x}")
    found = em.inst(f"select {vector('i1', w)} {is_nan}, {word} {none}, {word} "
                    f"{em.inst(f'lshr {word} {rounded}, {c(16)}')}")  # fmt: skip
    return em.inst(f"trunc {word} {found} to {half}")


def _has_no_sign(name: str) -> bool:
    return name[0] in "ub"


def _resized(em: Emitter, x: Operand, source: str, target: str, w: int) -> Operand:
    """Integers of another size, wrapped where they do not fit."""
    if size(source) == size(target):
        return x
    verb = "trunc" if size(target) < size(source) else "zext" if _has_no_sign(source) else "sext"
    return em.inst(f"{verb} {vector(ELEMENTS[source], w)} {x} to {vector(ELEMENTS[target], w)}")


def _truncated(em: Emitter, x: Operand, source: str, target: str, w: int) -> Operand:
    """Floats as integers."""
    elem, kind, flags = ELEMENTS[source], vector(ELEMENTS[source], w), vector("i1", w)
    name = "i8" if size(target) == 8 else "i4"
    whole, bound = vector(ELEMENTS[name], w), 2.0 ** (8 * size(name) - 1)

    def number(value: float) -> Operand:
        return splat(float_literal(value, elem), elem, w)

    zero = number(0.0)

    def within(low: float, high: float, verb: str) -> tuple[Operand, Operand]:
        """Which numbers are, and what they are then; of others an instruction may make anything."""
        above = em.inst(f"fcmp oge {kind} {x}, {number(low)}")
        inside = em.inst(f"and {flags} {above}, {em.inst(f'fcmp olt {kind} {x}, {number(high)}')}")
        safe = em.inst(f"select {flags} {inside}, {kind} {x}, {kind} {zero}")
        return inside, em.inst(f"{verb} {kind} {safe} to {whole}")

    inside, found = within(-bound, bound, "fptosi")
    least = splat(-int(bound), ELEMENTS[name], w)
    found = em.inst(f"select {flags} {inside}, {whole} {found}, {whole} {least}")
    if _has_no_sign(target) and size(target) == size(name):
        large, more = within(bound, 2 * bound, "fptoui")
        found = em.inst(f"select {flags} {large}, {whole} {more}, {whole} {found}")
    return _resized(em, found, name, target, w)


CODE = objects.Code(source, "conversions of half types", objects.CLEANED, "conversions of half types")
_names: dict[np.dtype[Any], str] = {}


def _name(dtype: np.dtype[Any]) -> str | None:
    if not _names:
        _names.update({np.dtype(name): name for name in ELEMENTS if name != "bf"})
        bfloat16 = dtypes.bfloat16.numpy
        assert bfloat16 is not None
        _names[bfloat16] = "bf"
    return _names.get(dtype)


@functools.cache
def _addresses() -> dict[tuple[str, str], int]:
    symbols = {pair: _symbol(*pair) for pair in _half_pairs()}
    loaded = CODE.load([_HAS_FLOAT16, *symbols.values()])
    has_float16 = ctypes.c_int8.from_address(loaded.address(_HAS_FLOAT16)).value
    return {pair: loaded.address(symbol) for pair, symbol in symbols.items() if "f2" not in pair or has_float16}


@functools.cache
def _address(source: str, target: str) -> int | None:
    if (source, target) in _half_pairs():
        return _addresses().get((source, target))
    if source == target or (source, target) == ("f8", "f2"):
        return None
    if source == "f2" and ("f2", "f4") not in _addresses():
        return None
    name = f"conversion from {source} to {target}"
    symbol = _symbol(source, target)
    return objects.Code(lambda: _loop(source, target), name, objects.CLEANED, name).load([symbol]).address(symbol)


def loop(source: np.dtype[Any], target: np.dtype[Any]) -> int | None:
    """The address of the loop that converts.

    Parameters
    ----------
    source, target : numpy.dtype
        Two types.

    Returns
    -------
    int or None
        None where there is none: of complex and float8 numbers, and from float64 to float16.

    Examples
    --------
    >>> import numpy as np
    >>> loop(np.dtype("f4"), np.dtype("c8")) is None
    True
    """
    names = _name(source), _name(target)
    return None if names[0] is None or names[1] is None else _address(*names)


@functools.cache
def _call(source: np.dtype[Any], target: np.dtype[Any]) -> Any:
    address = loop(source, target)
    return None if address is None else ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 4)(address)


_Pair, _One = ctypes.c_int64 * 2, ctypes.c_int64 * 1


def convert(source: np.ndarray[Any, Any], out: np.ndarray[Any, Any]) -> bool:
    """Convert the elements of an array into another of the same shape, if both lie row-major or have one dimension.

    Parameters
    ----------
    source, out : numpy.ndarray
        They share no memory.

    Returns
    -------
    bool
        Whether it was done; another way has to be taken if not.

    Examples
    --------
    >>> import numpy as np
    >>> out = np.empty(2, np.float16)
    >>> convert(np.array([1.5, 65520.0], np.float32), out), out.tolist()
    (True, [1.5, inf])
    """
    call = _call(source.dtype, out.dtype)
    if call is None or source.shape != out.shape:
        return False
    if source.ndim == 1:
        steps = _Pair(source.strides[0], out.strides[0])
    elif source.flags.c_contiguous and out.flags.c_contiguous:
        steps = _Pair(source.itemsize, out.itemsize)
    else:
        return False
    if not out.flags.writeable:
        return False
    places = _Pair(source.__array_interface__["data"][0], out.__array_interface__["data"][0])
    call(places, _One(out.size), steps, None)
    return True

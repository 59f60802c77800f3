"""The 8-bit floating-point formats, as integer arithmetic on vectors.

Widening is exact. Narrowing rounds once, from any width, to nearest even or toward zero. As the conversions of current
GPUs do (`cvt.rn.satfinite`), rounding to nearest saturates: what is too large, infinities included, becomes the largest
finite number, and NaN stays NaN. Rounding toward zero keeps infinity where the format has one, as it does there.
"""

from __future__ import annotations

import struct

from opweave.codegen.instructions.arithmetic import F32
from opweave.codegen.instructions.emit import FLOAT8, Float8, vector
from opweave.codegen.instructions.operands import Operand
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.lanes import Lanes


def decode(cx: Context, x: Lanes) -> Lanes:
    """The exact f32 of 8-bit numbers."""
    w, (v,) = cx.operands([x])
    form, k = FLOAT8[x.elem], F32(cx.em, w)
    n = k.int_const
    byte = k.em.inst(f"zext {vector('i8', w)} {v} to {k.int_type}")
    magnitude = k.int_op("and", byte, n(0x7F))
    # Read as an f32 the bits stand for the number times a power of two, subnormal numbers included.
    scaled = k.from_bits(k.int_op("shl", magnitude, n(23 - form.mantissa)))
    result = k.bits(k.op("fmul", scaled, k.const(2.0 ** (127 - form.bias))))
    if form.unsigned_zero:
        result = k.int_select(k.int_compare("eq", byte, n(0x80)), n(0x7FC00000), result)
    else:
        if form.infinity is not None:
            result = k.int_select(k.int_compare("eq", magnitude, n(form.infinity)), n(0x7F800000), result)
        result = k.int_select(k.int_compare("ugt", magnitude, n(form.infinity or form.largest)), n(0x7FC00000), result)
    sign = k.int_op("shl", k.int_op("and", byte, n(0x80)), n(24))
    return Lanes(x.kind, k.from_bits(k.int_op("or", result, sign)), "f32")


def encode(cx: Context, x: Lanes, elem: str, *, toward_zero: bool = False) -> Lanes:
    """Round f32 to an 8-bit format."""
    w, (v,) = cx.operands([x])
    form, k = FLOAT8[elem], F32(cx.em, w)
    n = k.int_const
    bits = k.bits(v)
    magnitude = k.int_op("and", bits, n(0x7FFFFFFF))
    top = struct.unpack("<I", struct.pack("<f", form.value(form.largest)))[0]
    clamped = k.em.intrinsic("umin", "i32", w, [magnitude, n(top)])
    code = _truncated(k, form, clamped) if toward_zero else _nearest(k, form, clamped)
    if toward_zero and form.infinity is not None:
        code = k.int_select(k.int_compare("eq", magnitude, n(0x7F800000)), n(form.infinity), code)
    sign = k.int_op("and", k.int_op("lshr", bits, n(24)), n(0x80))
    signed = k.int_op("or", code, sign)
    if form.unsigned_zero:
        signed = k.int_select(k.int_compare("eq", code, n(0)), n(0), signed)
    signed = k.int_select(k.int_compare("ugt", magnitude, n(0x7F800000)), n(form.nan), signed)
    return Lanes(x.kind, k.em.inst(f"trunc {k.int_type} {signed} to {vector('i8', w)}"), elem)


def _nearest(k: F32, form: Float8, magnitude: Operand) -> Operand:
    """The code of finite f32 magnitudes, rounded to nearest even."""
    drop, n = 23 - form.mantissa, k.int_const
    odd = k.int_op("and", k.int_op("lshr", magnitude, n(drop)), n(1))
    rounded = k.int_op("add", k.int_op("add", magnitude, odd), n((1 << (drop - 1)) - 1))
    normal = k.int_op("sub", k.int_op("lshr", rounded, n(drop)), n((127 - form.bias) << form.mantissa))
    # Adding a number whose last place is that of the format's subnormal numbers rounds to it.
    magic = 2.0 ** (1 - form.bias - form.mantissa + 23)
    shifted = k.op("fadd", k.from_bits(magnitude), k.const(magic))
    small = k.int_op("sub", k.bits(shifted), k.bits(k.const(magic)))
    return k.int_select(k.int_compare("ult", magnitude, n((128 - form.bias) << 23)), small, normal)


def _truncated(k: F32, form: Float8, magnitude: Operand) -> Operand:
    """The code of finite f32 magnitudes, rounded toward zero."""
    n = k.int_const
    exponents = n((127 - form.bias) << form.mantissa)
    normal = k.int_op("sub", k.int_op("lshr", magnitude, n(23 - form.mantissa)), exponents)
    places = k.op("fmul", k.from_bits(magnitude), k.const(2.0 ** (form.bias - 1 + form.mantissa)))
    small = k.em.inst(f"fptosi {k.type} {places} to {k.int_type}")  # at most 2^32 where it is not used
    small = k.em.inst(f"freeze {k.int_type} {small}")
    return k.int_select(k.int_compare("ult", magnitude, n((128 - form.bias) << 23)), small, normal)

"""The 8-bit floating-point formats, as integer arithmetic on vectors.

Widening is exact. Narrowing rounds once, from any width, to nearest even or toward zero. As the conversions of current
GPUs do (`cvt.rn.satfinite`), rounding to nearest saturates: what is too large, infinities included, becomes the largest
finite number, and NaN stays NaN. Rounding toward zero keeps infinity where the format has one, as it does there.
"""

from __future__ import annotations

import struct

from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.emit import FLOAT8, Float8, float_literal, splat, vector
from opweave.codegen.triton_cpu.lanes import Lanes


class _Bits:
    """Arithmetic on `width` lanes of f32 and of their bits."""

    def __init__(self, cx: Context, width: int) -> None:
        self.em, self.width = cx.em, width
        self.i, self.f, self.m, self.b = (vector(e, width) for e in ("i32", "f32", "i1", "i8"))

    def n(self, value: int) -> str:
        return splat(str(value), "i32", self.width)

    def x(self, value: float) -> str:
        return splat(float_literal(value), "f32", self.width)

    def int_op(self, name: str, a: str, b: str) -> str:
        return self.em.inst(f"{name} {self.i} {a}, {b}")

    def float_op(self, name: str, a: str, b: str) -> str:
        return self.em.inst(f"{name} {self.f} {a}, {b}")

    def test(self, predicate: str, a: str, b: str) -> str:
        return self.em.inst(f"icmp {predicate} {self.i} {a}, {b}")

    def pick(self, mask: str, a: str, b: str) -> str:
        return self.em.inst(f"select {self.m} {mask}, {self.i} {a}, {self.i} {b}")

    def bits(self, x: str) -> str:
        return self.em.inst(f"bitcast {self.f} {x} to {self.i}")

    def floats(self, x: str) -> str:
        return self.em.inst(f"bitcast {self.i} {x} to {self.f}")


def decode(cx: Context, x: Lanes) -> Lanes:
    """The exact f32 of 8-bit numbers."""
    w, (v,) = cx.operands([x])
    form, k = FLOAT8[x.elem], _Bits(cx, w)
    byte = k.em.inst(f"zext {k.b} {v} to {k.i}")
    magnitude = k.int_op("and", byte, k.n(0x7F))
    # Read as an f32 the bits stand for the number times a power of two, subnormal numbers included.
    scaled = k.floats(k.int_op("shl", magnitude, k.n(23 - form.mantissa)))
    result = k.bits(k.float_op("fmul", scaled, k.x(2.0 ** (127 - form.bias))))
    if form.unsigned_zero:
        result = k.pick(k.test("eq", byte, k.n(0x80)), k.n(0x7FC00000), result)
    else:
        if form.infinity is not None:
            result = k.pick(k.test("eq", magnitude, k.n(form.infinity)), k.n(0x7F800000), result)
        result = k.pick(k.test("ugt", magnitude, k.n(form.infinity or form.largest)), k.n(0x7FC00000), result)
    sign = k.int_op("shl", k.int_op("and", byte, k.n(0x80)), k.n(24))
    return Lanes(x.kind, k.floats(k.int_op("or", result, sign)), "f32")


def encode(cx: Context, x: Lanes, elem: str, *, toward_zero: bool = False) -> Lanes:
    """Round f32 to an 8-bit format."""
    w, (v,) = cx.operands([x])
    form, k = FLOAT8[elem], _Bits(cx, w)
    bits = k.bits(v)
    magnitude = k.int_op("and", bits, k.n(0x7FFFFFFF))
    top = struct.unpack("<I", struct.pack("<f", form.value(form.largest)))[0]
    clamped = k.em.intrinsic("umin", "i32", w, [magnitude, k.n(top)])
    code = _truncated(k, form, clamped) if toward_zero else _nearest(k, form, clamped)
    if toward_zero and form.infinity is not None:
        code = k.pick(k.test("eq", magnitude, k.n(0x7F800000)), k.n(form.infinity), code)
    sign = k.int_op("and", k.int_op("lshr", bits, k.n(24)), k.n(0x80))
    signed = k.int_op("or", code, sign)
    if form.unsigned_zero:
        signed = k.pick(k.test("eq", code, k.n(0)), k.n(0), signed)
    signed = k.pick(k.test("ugt", magnitude, k.n(0x7F800000)), k.n(form.nan), signed)
    return Lanes(x.kind, k.em.inst(f"trunc {k.i} {signed} to {k.b}"), elem)


def _nearest(k: _Bits, form: Float8, magnitude: str) -> str:
    """The code of finite f32 magnitudes, rounded to nearest even."""
    drop = 23 - form.mantissa
    odd = k.int_op("and", k.int_op("lshr", magnitude, k.n(drop)), k.n(1))
    rounded = k.int_op("add", k.int_op("add", magnitude, odd), k.n((1 << (drop - 1)) - 1))
    normal = k.int_op("sub", k.int_op("lshr", rounded, k.n(drop)), k.n((127 - form.bias) << form.mantissa))
    # Adding a number whose last place is that of the format's subnormal numbers rounds to it.
    magic = 2.0 ** (1 - form.bias - form.mantissa + 23)
    shifted = k.float_op("fadd", k.floats(magnitude), k.x(magic))
    small = k.int_op("sub", k.bits(shifted), k.bits(k.x(magic)))
    return k.pick(k.test("ult", magnitude, k.n((128 - form.bias) << 23)), small, normal)


def _truncated(k: _Bits, form: Float8, magnitude: str) -> str:
    """The code of finite f32 magnitudes, rounded toward zero."""
    exponents = k.n((127 - form.bias) << form.mantissa)
    normal = k.int_op("sub", k.int_op("lshr", magnitude, k.n(23 - form.mantissa)), exponents)
    places = k.float_op("fmul", k.floats(magnitude), k.x(2.0 ** (form.bias - 1 + form.mantissa)))
    small = k.em.inst(f"fptosi {k.f} {places} to {k.i}")  # at most 2^32 where it is not used
    small = k.em.inst(f"freeze {k.i} {small}")
    return k.pick(k.test("ult", magnitude, k.n((128 - form.bias) << 23)), small, normal)

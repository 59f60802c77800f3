"""Random numbers of eager calls, written into arrays by the formulas that kernels have: both give the same bits.

What the numbers are stands in `registry.ops.philox`. A loop makes a vector of them at a time; what is left at the end
comes out of a whole one.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.codegen.instructions import formulas, formulas64
from opweave.codegen.instructions.arithmetic import F32, F64, Floats
from opweave.codegen.instructions.emit import Emitter, splat, vector
from opweave.codegen.instructions.operands import Operand, Register
from opweave.codegen.native import llvm, objects
from opweave.registry.scalar import FACTORS, ROUNDS, STEPS

_LOOP = """
define void @opweave.draw.{name}(ptr %out, i64 %count, i64 %seed, i64 %number, i32 %drop, double %by, double %plus) {{
entry:
  %block = alloca {vector}, align 64
{entry}  br label %next
next:
  %i = phi i64 [ 0, %entry ], [ %i1, %left ]
  %rest = sub i64 %count, %i
  %some = icmp sgt i64 %rest, 0
  br i1 %some, label %take, label %done
take:
  %to = getelementptr {type}, ptr %out, i64 %i
{lines}
  %whole = icmp sge i64 %rest, {width}
  br i1 %whole, label %write, label %write.part
write:
  store {vector} {result}, ptr %to, align {bytes}
  br label %left
write.part:
  store {vector} {result}, ptr %block, align 64
  %bytes = mul i64 %rest, {bytes}
  call void @llvm.memcpy.p0.p0.i64(ptr %to, ptr %block, i64 %bytes, i1 false)
  br label %left
left:
  %i1 = add i64 %i, {width}
  br label %next
done:
  ret void
}}
"""


class _Draw:
    """The words of some elements, and what is made of them."""

    def __init__(self, em: Emitter, width: int) -> None:
        self.em, self.width = em, width
        self.narrow, self.wide = vector("i32", width), vector("i64", width)
        self.floats = Floats(em, "f64", width, llvm.host().fma)
        self.words = self._words()

    def op(self, name: str, a: Operand, b: Operand | int, kind: Any = None) -> Register:
        second = splat(b, "i64" if kind == self.wide else "i32", self.width) if isinstance(b, int) else b
        return self.em.inst(f"{name} {kind or self.narrow} {a}, {second}")

    def widened(self, x: Operand) -> Register:
        return self.em.inst(f"zext {self.narrow} {x} to {self.wide}")

    def everywhere(self, x: Operand) -> Operand:
        """A number of 64 bits in each lane."""
        return _splatted(self.em, x, "i64", self.width)

    def _words(self) -> list[Register]:
        """All in lanes of 64 bits, of which the low 32 count: a product of two is one instruction then."""
        em, start = self.em, len(self.em.lines)
        number, seed = self.everywhere(Register("%number")), self.everywhere(Register("%seed"))
        key = [seed, self.op("lshr", seed, 32, self.wide)]
        keys: list[list[Any]] = []
        for _ in range(ROUNDS):
            keys.append(key)
            key = [self.op("add", part, int(by), self.wide) for part, by in zip(key, STEPS, strict=True)]
        counter: list[Any] = [None, None, number, self.op("lshr", number, 32, self.wide)]
        em.entry += em.lines[start:]
        del em.lines[start:]
        place = self.everywhere(Register("%i"))
        if self.width > 1:
            lanes = ", ".join(f"i64 {lane}" for lane in range(self.width))
            place = em.inst(f"add {self.wide} {place}, <{lanes}>")
        counter[:2] = place, self.op("lshr", place, 32, self.wide)
        for key in keys:
            low_a, low_b = (self._product(counter[at], int(by)) for at, by in zip((0, 2), FACTORS, strict=True))
            high_a, high_b = (self.op("lshr", low, 32, self.wide) for low in (low_a, low_b))
            first, third = (
                self.op("xor", self.op("xor", high, counter[at], self.wide), part, self.wide)
                for high, at, part in zip((high_b, high_a), (1, 3), key, strict=True)
            )
            counter = [first, low_b, third, low_a]
        return [em.inst(f"trunc {self.wide} {word} to {self.narrow}") for word in counter]

    def _product(self, x: Operand, by: int) -> Register:
        return self.op("mul", self.op("and", x, 0xFFFFFFFF, self.wide), by, self.wide)

    def most_bits(self, high: Operand, low: Operand) -> Register:
        """The highest 53 bits of two words, as a double."""
        left = self.op("shl", self.widened(high), 21, self.wide)
        both = self.op("or", left, self.widened(self.op("lshr", low, 11)), self.wide)
        return self.em.inst(f"uitofp {self.wide} {both} to {self.floats.type}")


def _scaled(f: Floats, x: Operand) -> Register:
    """A number multiplied and moved as the caller says."""
    by, plus = (_number(f, Register(name)) for name in ("%by", "%plus"))
    return f.add(f.mul(x, by), plus)


def _number(f: Floats, x: Operand) -> Operand:
    narrow = f.em.inst(f"fptrunc double {x} to float") if f.elem == "f32" else x
    return _splatted(f.em, narrow, f.elem, f.width)


def _splatted(em: Emitter, x: Operand, elem: str, width: int) -> Operand:
    """A scalar in every lane."""
    if width == 1:
        return x
    kind = vector(elem, width)
    first = em.inst(f"insertelement {kind} poison, {vector(elem, 1)} {x}, i64 0")
    return em.inst(f"shufflevector {kind} {first}, {kind} poison, <{width} x i32> zeroinitializer")


def _uniform(em: Emitter, width: int) -> Operand:
    draw, f = _Draw(em, width), F32(em, width, llvm.host().fma)
    high = draw.op("lshr", draw.words[0], _splatted(em, Register("%drop"), "i32", width))
    return _scaled(f, em.inst(f"sitofp {draw.narrow} {high} to {f.type}"))


def _uniform64(em: Emitter, width: int) -> Operand:
    draw = _Draw(em, width)
    return _scaled(draw.floats, draw.most_bits(draw.words[0], draw.words[1]))


def _normal(em: Emitter, width: int) -> Operand:
    draw, f = _Draw(em, width), F32(em, width, llvm.host().fma)
    above = em.inst(f"uitofp {draw.narrow} {draw.words[0]} to {f.type}")
    above = f.mul(f.add(above, f.const(1.0)), f.const(2.0**-32))
    turn = em.inst(f"sitofp {draw.narrow} {draw.op('lshr', draw.words[1], 8)} to {f.type}")
    turn = f.mul(turn, f.const(_TURN * 2.0**-24))
    radius = f.intrinsic("sqrt", f.mul(formulas.log(f, above), f.const(-2.0)))
    return _scaled(f, f.mul(radius, formulas.sin_cos(f, turn, 1)))


def _normal64(em: Emitter, width: int) -> Operand:
    draw, f = _Draw(em, width), F64(em, width, llvm.host().fma)
    above = f.mul(f.add(draw.most_bits(draw.words[0], draw.words[1]), f.const(1.0)), f.const(2.0**-53))
    turn = f.mul(draw.most_bits(draw.words[2], draw.words[3]), f.const(_TURN * 2.0**-53))
    radius = f.intrinsic("sqrt", f.mul(formulas64.log(f, above), f.const(-2.0)))
    return _scaled(f, f.mul(radius, formulas64.cos(f, turn)))


def _bits(em: Emitter, width: int) -> Operand:
    draw = _Draw(em, width)
    left = draw.op("shl", draw.widened(draw.words[0]), 32, draw.wide)
    return draw.op("or", left, draw.widened(draw.words[1]), draw.wide)


_TURN = 6.283185307179586
#: By distribution and element type: what makes a vector of them, the type as `Emitter` has it, and how many of the
#: lanes of a register that has 32 bits for each.
_DRAWS: dict[tuple[str, str], tuple[Callable[[Emitter, int], Operand], str, int]] = {
    ("uniforms", "float32"): (_uniform, "f32", 1),
    ("uniforms", "float64"): (_uniform64, "f64", 2),
    ("normals", "float32"): (_normal, "f32", 1),
    ("normals", "float64"): (_normal64, "f64", 2),
    ("bits", "int64"): (_bits, "i64", 2),
}  # fmt: skip


def source(distribution: str, kind: str) -> str:
    """The LLVM IR of a loop."""
    make, elem, share = _DRAWS[distribution, kind]
    width = llvm.host().vector_bits // 32 // share
    em = Emitter()
    result = make(em, width)
    text = _LOOP.format(
        name=f"{distribution}.{kind}", type=vector(elem, 1), vector=vector(elem, width), width=width,
        bytes=4 if elem == "f32" else 8, entry="".join(line + "\n" for line in em.entry),
        lines="\n".join(em.lines), result=result,
    )  # fmt: skip
    return "\n".join(["declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)", text, *em.declarations.values()])


@functools.cache
def _loop(distribution: str, dtype: np.dtype[Any]) -> Callable[..., None] | None:
    kind = dtype.name
    if (distribution, kind) not in _DRAWS:
        return None
    name = f"random numbers, {distribution} of {kind}"
    code = objects.Code(lambda: source(distribution, kind), name, objects.CLEANED, name)
    loaded = code.load([symbol := f"opweave.draw.{distribution}.{kind}"])
    make = ctypes.CFUNCTYPE(
        None, ctypes.c_void_p, *[ctypes.c_int64] * 3, ctypes.c_int32, ctypes.c_double, ctypes.c_double
    )
    return make(loaded.address(symbol))


def fill(
    distribution: str, dtype: np.dtype[Any], out: int, count: int, seed: int, number: int, bits: int, scale: float,
    shift: float,
) -> bool:  # fmt: skip
    """Write a draw into memory.

    Parameters
    ----------
    distribution : str
        `"uniforms"` of [0, 1), `"normals"` of variance 1, or `"bits"`.
    dtype : numpy.dtype
        float32 or float64; int64 for `"bits"`.
    out, count : int
        The address, and how many elements.
    seed, number : int
        The key, of 64 bits each.
    bits : int
        How many a uniform number has that is a float32.
    scale, shift : float
        What a number is multiplied by, and what is added then.

    Returns
    -------
    bool
        False where there is no loop for the type.
    """
    loop = _loop(distribution, dtype)
    if loop is None:
        return False
    if distribution == "uniforms":
        scale = scale * 2.0 ** -(53 if dtype.itemsize == 8 else bits)
    loop(out, count, _signed(seed), _signed(number), 32 - bits, scale, shift)
    return True


def _signed(x: int) -> int:
    return x - (1 << 64) if x >> 63 else x

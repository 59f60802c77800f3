"""Floating-point arithmetic of one format and width, instruction by instruction, for formulas that read as such."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.instructions.emit import Emitter, float_literal, splat, vector
from opweave.codegen.instructions.operands import Constant, LLVMType, Operand, Register


class Floats:
    """Emits arithmetic on `width` lanes of `elem`.

    Parameters
    ----------
    has_fma : bool
        Whether the machine has the instruction: without it, it would be a library call on every lane.
    """

    def __init__(self, em: Emitter, elem: str, width: int, has_fma: bool = True) -> None:
        self.em, self.elem, self.width = em, elem, width
        self.has_fma = has_fma
        self._fma = "fma" if has_fma else "fmuladd"
        self.type, self.mask = vector(elem, width), vector("i1", width)

    def const(self, x: float) -> Operand:
        return splat(float_literal(x, self.elem), self.elem, self.width)

    def op(self, name: str, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"{name} {self.type} {a}, {b}")

    def add(self, a: Operand, b: Operand) -> Register:
        return self.op("fadd", a, b)

    def sub(self, a: Operand, b: Operand) -> Register:
        return self.op("fsub", a, b)

    def mul(self, a: Operand, b: Operand) -> Register:
        return self.op("fmul", a, b)

    def div(self, a: Operand, b: Operand) -> Register:
        return self.op("fdiv", a, b)

    def neg(self, a: Operand) -> Register:
        return self.em.inst(f"fneg {self.type} {a}")

    def fma(self, a: Operand, b: Operand, c: Operand) -> Register:
        return self.intrinsic(self._fma, a, b, c)

    def intrinsic(self, name: str, *args: Operand) -> Register:
        return self.em.intrinsic(name, self.elem, self.width, args)

    def compare(self, predicate: str, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"fcmp {predicate} {self.type} {a}, {b}")

    def select(self, mask: Operand, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"select {self.mask} {mask}, {self.type} {a}, {self.type} {b}")

    def at_least(self, x: Operand, bound: float) -> Register:
        """max(x, bound), NaN kept; one instruction on x86."""
        return self.select(self.compare("olt", x, self.const(bound)), self.const(bound), x)

    def at_most(self, x: Operand, bound: float) -> Register:
        return self.select(self.compare("ogt", x, self.const(bound)), self.const(bound), x)

    def polynomial(self, x: Operand, coefficients: Sequence[float]) -> Operand:
        """Horner's rule, highest power first.

        Several registers go through together, so the chain of dependent operations costs less than splitting it would.
        """
        p = self.const(coefficients[0])
        for c in coefficients[1:]:
            p = self.fma(p, x, self.const(c))
        return p

    # -- on the bits

    @property
    def int_elem(self) -> str:
        return "i" + self.elem[1:]

    @property
    def int_type(self) -> LLVMType:
        return vector(self.int_elem, self.width)

    def int_const(self, x: int) -> Operand:
        return splat(x, self.int_elem, self.width)

    def int_op(self, name: str, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"{name} {self.int_type} {a}, {b}")

    def int_compare(self, predicate: str, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"icmp {predicate} {self.int_type} {a}, {b}")

    def int_select(self, mask: Operand, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"select {self.mask} {mask}, {self.int_type} {a}, {self.int_type} {b}")

    def bits(self, x: Operand) -> Register:
        return self.em.inst(f"bitcast {self.type} {x} to {self.int_type}")

    def from_bits(self, x: Operand) -> Register:
        return self.em.inst(f"bitcast {self.int_type} {x} to {self.type}")

    # -- truths

    def both(self, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"and {self.mask} {a}, {b}")

    def either(self, a: Operand, b: Operand) -> Register:
        return self.em.inst(f"or {self.mask} {a}, {b}")

    def some(self, mask: Operand) -> Operand:
        """Whether it is true in any lane."""
        if self.width == 1:
            return mask
        lanes = self.em.inst(f"bitcast {self.mask} {mask} to i{self.width}")
        return self.em.inst(f"icmp ne i{self.width} {lanes}, 0")

    # -- the C library

    def by_library(self, function: str, where: Operand, found: Operand, *args: Operand) -> Operand:
        """What a function of the C library gives where a mask is true, in other lanes what was found.

        `frem` is C's fmod: what LLVM knows of a call of that name is wrong where a divisor is NaN.
        """
        em = self.em
        out = em.slot(self.type, found)

        def call() -> None:
            result: Operand = Constant("poison")
            scalar = vector(self.elem, 1)
            for lane in range(self.width):
                one = [a if self.width == 1 else em.inst(f"extractelement {self.type} {a}, i64 {lane}") for a in args]
                if function == "frem":
                    value = em.inst(f"frem {scalar} {one[0]}, {one[1]}")
                else:
                    value = em.call(scalar, function, [(scalar, x) for x in one])
                if self.width == 1:
                    result = value
                else:
                    result = em.inst(f"insertelement {self.type} {result}, {scalar} {value}, i64 {lane}")
            em.line(f"store {self.type} {self.select(where, result, found)}, ptr {out}")

        em.when(self.some(where), call)
        return em.inst(f"load {self.type}, ptr {out}")


class F32(Floats):
    """f32 arithmetic."""

    def __init__(self, em: Emitter, width: int, has_fma: bool = True) -> None:
        super().__init__(em, "f32", width, has_fma)


class F64(Floats):
    """f64 arithmetic."""

    def __init__(self, em: Emitter, width: int, has_fma: bool = True) -> None:
        super().__init__(em, "f64", width, has_fma)

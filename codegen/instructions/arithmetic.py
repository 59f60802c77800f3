"""Floating-point arithmetic of one format and width, instruction by instruction, for formulas that read as such."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.instructions.emit import Emitter, float_literal, splat, vector
from opweave.codegen.instructions.operands import Operand, Register


class Floats:
    """Emits arithmetic on `width` lanes of `elem`.

    Parameters
    ----------
    has_fma : bool
        Whether the machine has the instruction: without it, it would be a library call on every lane.
    """

    def __init__(self, em: Emitter, elem: str, width: int, has_fma: bool = True) -> None:
        self.em, self.elem, self.width = em, elem, width
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


class F32(Floats):
    """f32 arithmetic, and what works on its bits."""

    def __init__(self, em: Emitter, width: int, has_fma: bool = True) -> None:
        super().__init__(em, "f32", width, has_fma)
        self.int_type = vector("i32", width)

    def int_const(self, x: int) -> Operand:
        return splat(x, "i32", self.width)

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

"""Maxima and minima that a NaN takes over, by the bits of numbers.

`maximum` of two numbers is seven instructions where NaN counts and -0.0 is below 0.0. Of many, three are enough. Taken
for integers, the bits of numbers without a sign are in the numbers' order, with NaN at the end, and those of numbers
with a sign lie above them (unsigned) or below them (signed) in the opposite order. So of all elements

- the signed maximum is the maximum if any has no sign, else the unsigned minimum is;
- the unsigned maximum is the minimum if any has a sign, else the unsigned minimum is;
- the unsigned maximum is NaN if any NaN has a sign, and the signed maximum if any has none.
"""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.instructions.emit import LLVM_TYPE, SIZE, splat, vector
from opweave.codegen.instructions.operands import Register
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import to_f32
from opweave.codegen.triton_cpu.lanes import Lanes
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Op, Value

_INFINITY = {"f16": 0x7C00, "bf16": 0x7F80, "f32": 0x7F800000, "f64": 0x7FF0000000000000}
_KINDS = ("smax", "umax", "umin")


@dataclass(frozen=True)
class Extreme:
    """A reduction of this sort.

    Attributes
    ----------
    elem : str
        The type of the elements that are compared.
    narrow : Value or None
        What the operand is a wider copy of, and is reduced instead.
    most : bool
        Whether it is the maximum.
    """

    elem: str
    narrow: Value | None
    most: bool


def find_extreme(cx: Context, op: Op) -> Extreme | None:
    """What a reduction is the maximum or minimum of; None where it is neither, or the machine has no instructions."""
    region = op.regions[0]
    if len(op.operands) != 1 or len(region) != 1 or len(region[0].ops) != 2 or cx.features.sanitize:
        return None
    block = region[0]
    if block.ops[0].name not in ("arith.maximumf", "arith.minimumf") or {*block.ops[0].operands} != {*block.args}:
        return None
    source, narrow = op.operands[0], None
    if source.op is not None and source.op.name == "arith.extf" and source.type.elem == "f32":
        narrow = source.op.operands[0]
        narrow = narrow if source not in cx.buffers and narrow.type.elem in _INFINITY else None
    elem = (narrow or source).type.elem
    if elem not in _INFINITY or SIZE[elem] == 8 and cx.features.vector_bits < 512:
        return None
    return Extreme(elem, narrow, block.ops[0].name == "arith.maximumf")


class Extremes:
    """What three accumulators, a vector each, have seen."""

    def __init__(self, cx: Context, extreme: Extreme, elem: str) -> None:
        self.cx, self.extreme = cx, extreme
        self.elem, self.result = extreme.elem, elem
        self.bits = f"i{SIZE[self.elem] * 8}"
        self.sign = -1 << SIZE[self.elem] * 8 - 1
        self.type = vector(self.bits, cx.width)
        self.slots = [cx.em.slot(self.type) for _ in _KINDS]

    def begin(self) -> None:
        """Nothing was seen."""
        least = {"smax": self.sign, "umax": 0, "umin": -1}
        for kind, slot in zip(_KINDS, self.slots, strict=True):
            self.cx.em.line(f"store {self.type} {splat(least[kind], self.bits, self.cx.width)}, ptr {slot}")

    def add(self, new: Sequence[Lanes]) -> None:
        """See one more vector."""
        em, x = self.cx.em, self.cx.operand(new[0])
        if LLVM_TYPE[self.elem] != LLVM_TYPE[self.bits]:
            x = em.inst(f"bitcast {self.cx.vector(self.elem)} {x} to {self.type}")
        for kind, slot in zip(_KINDS, self.slots, strict=True):
            seen = em.inst(f"load {self.type}, ptr {slot}")
            em.line(f"store {self.type} {em.intrinsic(kind, self.bits, self.cx.width, [seen, x])}, ptr {slot}")

    def load(self) -> list[Lanes]:
        """The extremes of the lanes, as numbers."""
        cx, em, t = self.cx, self.cx.em, self.type
        smax, umax, umin = (em.inst(f"load {t}, ptr {slot}") for slot in self.slots)
        infinity = _INFINITY[self.elem]

        def preferred(bound: int, compare: str, x: Register, y: Register) -> Register:
            """Of each lane x if it compares so, else y."""
            where = em.inst(f"icmp {compare} {t} {x}, {splat(bound, self.bits, cx.width)}")
            return em.inst(f"select {cx.vector('i1')} {where}, {t} {x}, {t} {y}")

        if self.extreme.most:
            best = preferred(infinity + self.sign, "ugt", umax, preferred(-1, "sgt", smax, umin))
        else:
            best = preferred(infinity, "sgt", smax, preferred(0, "slt", umax, umin))
        if LLVM_TYPE[self.elem] != LLVM_TYPE[self.bits]:
            best = em.inst(f"bitcast {t} {best} to {cx.vector(self.elem)}")
        found = Lanes("vector", best, self.elem)
        return [found if self.result == self.elem else to_f32(cx, found)]

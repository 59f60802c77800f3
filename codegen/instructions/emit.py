"""LLVM IR as text: the instruction stream of one kernel, its allocas, declarations and constants.

Text keeps the lowering free of llvmlite and fast: a kernel is a few hundred lines. Loop variables and accumulators
live in entry-block allocas; LLVM's SROA pass promotes them to registers, so no phi node is ever written here.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from functools import cache

from opweave.codegen.instructions.operands import FALSE, I64, TRUE, VOID, Constant, LLVMType, Operand, Register, Typed
from opweave.registry.dataclass import dataclass


@dataclass(frozen=True)
class Float8:
    """An 8-bit floating-point format.

    Attributes
    ----------
    mantissa, bias : int
        Bits of the fraction, and what the exponent is stored with.
    largest : int
        The code of the largest finite number.
    nan : int
        The code that NaN is rounded to.
    infinity : int or None
        The code of infinity, where the format has one.
    unsigned_zero : bool
        Whether there is no negative zero, its code being NaN.
    """

    mantissa: int
    bias: int
    largest: int
    nan: int
    infinity: int | None = None
    unsigned_zero: bool = False

    def value(self, code: int) -> float:
        """The number a code without its sign bit stands for."""
        if code > self.largest:
            return float("inf") if code == self.infinity else float("nan")
        exponent, fraction = code >> self.mantissa, code & ((1 << self.mantissa) - 1)
        hidden = (1 << self.mantissa) if exponent else 0
        return (hidden + fraction) * 2.0 ** (max(exponent, 1) - self.bias - self.mantissa)

    def code(self, x: float) -> int:
        """The code nearest to x, ties to even; what is too large saturates."""
        if x != x:
            return self.nan
        magnitude = min(abs(x), self.value(self.largest))
        code = min(range(self.largest + 1), key=lambda c: (abs(self.value(c) - magnitude), c & 1))
        negative = math.copysign(1.0, x) < 0 and (code > 0 or not self.unsigned_zero)
        return code | (0x80 if negative else 0)


FLOAT8 = {
    "f8E4M3FN": Float8(3, 7, 0x7E, 0x7F),
    "f8E5M2": Float8(2, 15, 0x7B, 0x7F, infinity=0x7C),
    "f8E4M3FNUZ": Float8(3, 8, 0x7F, 0x80, unsigned_zero=True),
    "f8E5M2FNUZ": Float8(2, 16, 0x7F, 0x80, unsigned_zero=True),
}
_TYPES = {
    **dict.fromkeys(FLOAT8, "i8"),
    "f16": "half", "bf16": "i16", "f32": "float", "f64": "double", "ptr": "ptr", "index": "i64",
    "i1": "i1", "i8": "i8", "i16": "i16", "i32": "i32", "i64": "i64", "i128": "i128",
}  # fmt: skip
SIZE = {
    **dict.fromkeys(FLOAT8, 1),
    "f16": 2, "bf16": 2, "f32": 4, "f64": 8, "ptr": 8, "index": 8, "i1": 1, "i8": 1, "i16": 2, "i32": 4, "i64": 8,
    "i128": 16,
}  # fmt: skip
LLVM_TYPE = {elem: LLVMType(text) for elem, text in _TYPES.items()}
LLVM_FLOATS = frozenset({"f16", "f32", "f64"})
"""Formats that LLVM knows; numbers of the others are kept as their bits."""
FLOATS = LLVM_FLOATS | {"bf16", *FLOAT8}
NARROW = FLOATS - {"f32", "f64"}
"""Types whose arithmetic is done in f32."""
ALIGNMENT = 64
_NOTHING = Register("")
_STACK_LIMIT = 1 << 18
"""Bytes of buffers kept on the stack; what goes beyond comes from one heap block per kernel call."""


def storage(elem: str) -> str:
    """The element type a value has in memory: booleans take a byte."""
    return "i8" if elem == "i1" else elem


def suffix(elem: str, width: int = 1) -> str:
    """How the names of intrinsics spell a type: `v4f32`; formats that LLVM does not know are their bits."""
    bits = LLVM_TYPE[elem] if elem in FLOATS and elem not in LLVM_FLOATS else elem
    return bits if width == 1 else f"v{width}{bits}"


def float_literal(x: float, elem: str = "f32") -> Operand:
    """Exact LLVM literal of x rounded to `elem`."""
    if elem in FLOAT8:
        return FLOAT8[elem].code(x)
    if elem == "f16":
        return Constant(f"0xH{struct.unpack('<H', struct.pack('<e', x))[0]:04X}")
    if elem in ("f32", "bf16"):
        x = _round_to_f32(x)
    if elem == "bf16":
        # To the nearest, and of two to the even one: what is printed with six digits may be less than what is meant.
        bits = struct.unpack("<I", struct.pack("<f", x))[0]
        return bits >> 16 | 0x40 if x != x else bits + 0x7FFF + (bits >> 16 & 1) >> 16
    return Constant(f"0x{struct.unpack('<Q', struct.pack('<d', x))[0]:016X}")


def _round_to_f32(x: float) -> float:
    try:
        return struct.unpack("<f", struct.pack("<f", x))[0]
    except OverflowError:
        return float("inf") if x > 0 else float("-inf")


def literal(text: str, elem: str) -> Operand:
    """A constant as TTIR prints it (`1.0e+00`, `0xFF800000`, `-1`, `true`) as an LLVM literal."""
    if elem not in FLOATS:
        if elem == "i1":
            return TRUE if text in ("true", "1", "-1") else FALSE
        return int(text, 0)
    if not text.startswith("0x"):
        return float_literal(float(text), elem)
    bits = int(text, 16)
    if elem not in LLVM_FLOATS:
        return bits
    if elem == "f16":
        return Constant(f"0xH{bits:04X}")
    if elem == "f32":  # LLVM writes a float as the bits of the double it equals; a NaN keeps its payload
        sign, exponent, mantissa = bits >> 31, bits >> 23 & 0xFF, bits & 0x7FFFFF
        if exponent == 0xFF:
            return Constant(f"0x{sign << 63 | 0x7FF << 52 | mantissa << 29:016X}")
        return float_literal(struct.unpack("<f", struct.pack("<I", bits))[0])
    return Constant(f"0x{bits:016X}")


@cache
def vector(elem: str, width: int) -> LLVMType:
    """LLVM type of `width` lanes of an element type; one lane is a scalar."""
    return LLVM_TYPE[elem] if width == 1 else LLVMType(f"<{width} x {LLVM_TYPE[elem]}>")


def splat(value: Operand, elem: str, width: int) -> Operand:
    """A constant in every lane."""
    return value if width == 1 else Constant(f"splat ({LLVM_TYPE[elem]} {value})")


@dataclass(frozen=True)
class Buffer:
    """Scratch memory that holds a materialised tensor.

    Attributes
    ----------
    order : tuple of int, optional
        Its dimensions as they lie in memory, outermost first; row-major where None.
    """

    pointer: Operand
    shape: tuple[int, ...]
    elem: str
    order: tuple[int, ...] | None = None


class Emitter:
    """Appends instructions; every method that yields a value returns a register or a constant."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.entry: list[str] = []
        self.globals: list[str] = []
        self.declarations: dict[str, str] = {}
        self.defined: set[str] = set()
        """Of these names the ones that the module itself has functions of."""
        self.heap_bytes = 0
        self.place = ""
        """Stands behind each instruction: nothing, or its source line as a reference to debug information."""
        self._stack_bytes = 0
        self._counter = 0

    def fresh(self, prefix: str = "t") -> str:
        self._counter += 1
        return f"{prefix}{self._counter}"

    def inst(self, text: str) -> Register:
        """Emit `%name = text`."""
        self._counter += 1
        name = Register(f"%t{self._counter}")
        self.lines.append(f"  {name} = {text}{self.place}")
        return name

    def line(self, text: str) -> None:
        self.lines.append(f"  {text}{self.place}")

    def label(self, name: str) -> None:
        self.lines.append(name + ":")

    def branch(self, target: str) -> None:
        self.line(f"br label %{target}")

    def branch_if(self, condition: Operand, then: str, otherwise: str) -> None:
        self.line(f"br i1 {condition}, label %{then}, label %{otherwise}")

    # -- memory of the kernel's own

    def slot(self, llvm_type: LLVMType, initial: Operand | None = None) -> Register:
        """A variable: an entry alloca that SROA turns into a register."""
        name = Register("%" + self.fresh("v"))
        self.entry.append(f"  {name} = alloca {llvm_type}")
        if initial is not None:
            self.line(f"store {llvm_type} {initial}, ptr {name}")
        return name

    def buffer(self, shape: tuple[int, ...], elem: str) -> Buffer:
        count = 1
        for d in shape:
            count *= d
        size = -(-count * SIZE[elem] // ALIGNMENT) * ALIGNMENT
        name = Register("%" + self.fresh("b"))
        if self._stack_bytes + size <= _STACK_LIMIT:
            self._stack_bytes += size
            self.entry.append(f"  {name} = alloca [{count} x {LLVM_TYPE[storage(elem)]}], align {ALIGNMENT}")
        else:
            self.entry.append(f"  {name} = getelementptr i8, ptr %heap, i64 {self.heap_bytes}")
            self.heap_bytes += size
        return Buffer(name, shape, elem)

    def constant_array(self, values: Sequence[Operand], elem: str) -> Constant:
        name = Constant("@" + self.fresh("table"))
        t = LLVM_TYPE[storage(elem)]
        body = ", ".join(f"{t} {v}" for v in values)
        self.globals.append(f"{name} = private unnamed_addr constant [{len(values)} x {t}] [{body}], align {ALIGNMENT}")
        return name

    def string(self, text: str) -> Constant:
        """A NUL-terminated global string."""
        data = text.encode() + b"\0"
        name = Constant("@" + self.fresh("str"))
        body = "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in data)
        self.globals.append(f'{name} = private unnamed_addr constant [{len(data)} x i8] c"{body}"')
        return name

    # -- calls

    def define(self, name: str, text: str) -> None:
        """Put a function of its own into the module."""
        self.declarations[name] = text
        self.defined.add(name)

    def call(self, result: LLVMType, name: str, args: Sequence[Typed], *, variadic: bool = False) -> Register:
        """Call a function, declared unless the module defines it; the result of a void one is no register."""
        if name not in self.defined:
            fixed = ", ".join(t for t, _ in args)
            self.declarations[name] = f"declare {result} @{name}({'ptr, ...' if variadic else fixed})"
        kind = f"{result} (ptr, ...)" if variadic else result
        text = f"call {kind} @{name}({', '.join(f'{t} {v}' for t, v in args)})"
        if result is VOID:
            self.line(text)
            return _NOTHING
        return self.inst(text)

    def intrinsic(self, name: str, elem: str, width: int, args: Sequence[Operand]) -> Register:
        """`llvm.name.vNelem` on operands that all have the result's type."""
        t = vector(elem, width)
        return self.call(t, f"llvm.{name}.{suffix(elem, width)}", [(t, a) for a in args])

    # -- integer arithmetic on i64 indices, folding constants

    def add(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, int) and isinstance(b, int):
            return a + b
        return a if b == 0 else b if a == 0 else self.inst(f"add nsw i64 {a}, {b}")

    def sub(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, int) and isinstance(b, int):
            return a - b
        return a if b == 0 else self.inst(f"sub nsw i64 {a}, {b}")

    def mul(self, a: Operand, b: Operand) -> Operand:
        if isinstance(a, int) and isinstance(b, int):
            return a * b
        if a == 0 or b == 0:
            return 0
        return a if b == 1 else b if a == 1 else self.inst(f"mul nsw i64 {a}, {b}")

    def minimum(self, a: Operand, b: Operand) -> Register:
        return self.intrinsic("smin", "i64", 1, [a, b])

    def maximum(self, a: Operand, b: Operand) -> Register:
        return self.intrinsic("smax", "i64", 1, [a, b])

    def resize(self, value: Operand, source: str, target: str) -> Operand:
        """Sign-extend or truncate an integer; literals pass."""
        if SIZE[source] == SIZE[target] or not isinstance(value, Register):
            return value
        op = "sext" if SIZE[target] > SIZE[source] else "trunc"
        return self.inst(f"{op} {LLVM_TYPE[source]} {value} to {LLVM_TYPE[target]}")

    def offset(self, pointer: Operand, elements: Operand, elem: str = "i8") -> Operand:
        """pointer + elements * sizeof(elem)."""
        if elements == 0:
            return pointer
        return self.inst(f"getelementptr {LLVM_TYPE[storage(elem)]}, ptr {pointer}, i64 {elements}")

    # -- control flow

    def loop(self, lo: Operand, hi: Operand, step: Operand, body: Callable[[Operand], None]) -> None:
        """for (i = lo; i < hi; i += step) body(i) of i64. A loop known to run once is written without one."""
        if isinstance(lo, int) and isinstance(hi, int) and isinstance(step, int) and lo < hi <= lo + step:
            body(lo)
            return
        variable = self.slot(I64, lo)
        head, inside, end = self.fresh("head"), self.fresh("body"), self.fresh("end")
        self.branch(head)
        self.label(head)
        i = self.inst(f"load i64, ptr {variable}")
        self.branch_if(self.inst(f"icmp slt i64 {i}, {hi}"), inside, end)
        self.label(inside)
        body(i)
        self.line(f"store i64 {self.inst(f'add nsw i64 {i}, {step}')}, ptr {variable}")
        self.branch(head)
        self.label(end)

    def when(self, condition: Operand, then: Callable[[], None], otherwise: Callable[[], None] | None = None) -> None:
        """if (condition) then() else otherwise()."""
        yes, no, end = self.fresh("then"), self.fresh("else"), self.fresh("endif")
        self.branch_if(condition, yes, no if otherwise else end)
        self.label(yes)
        then()
        self.branch(end)
        if otherwise:
            self.label(no)
            otherwise()
            self.branch(end)
        self.label(end)

"""`tl.inline_asm_elementwise` without a GPU: PTX, instruction by instruction, on vectors.

What computes within an element is done: arithmetic, logic, comparisons and conversions on registers, of pairs of
narrow numbers too. Approximate functions (`ex2.approx`) are the accurate ones of this backend.
Programs that wait for each other on a GPU (`griddepcontrol`) have nothing to wait for here. What asks for other lanes,
for memory or for the machine is refused by its name, and so is a rounding that has no rule here.

Which elements one run of the text gets where it takes several (`pack`) is Triton's choice. Here they are one element,
several times, so that each is computed where it is asked for.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import NoReturn

from opweave.codegen.instructions.emit import LLVM_TYPE, SIZE
from opweave.codegen.triton_cpu.context import Context
from opweave.codegen.triton_cpu.elementwise import (
    binary,
    cast,
    compare,
    constant,
    from_f32,
    round_to_odd,
    select,
)
from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.codegen.triton_cpu.operations import lazy, rule
from opweave.codegen.triton_cpu.ptx import (
    CONSTRAINTS,
    Argument,
    Instruction,
    Literal,
    Name,
    Program,
    PTXError,
    read,
    unescape,
    width_of,
)
from opweave.codegen.triton_cpu.refusal import unsupported
from opweave.codegen.triton_cpu.rules import fail
from opweave.registry.interrupts import let_through
from opweave.registry.triton.ttir import Op, Value

FLOATS = {"f16": "f16", "bf16": "bf16", "f32": "f32", "f64": "f64"}
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
_NOTHING = frozenset({"griddepcontrol", "nanosleep"})

Rule = Callable[["Run", Instruction], None]
RULES: dict[str, Rule] = {}


@functools.lru_cache(256)
def _program(text: str) -> Program:
    return read(unescape(text))


@lazy("tt.elementwise_inline_asm", cost=20)
def _inline_asm(cx: Context, v: Value, idx: Indices) -> Lanes:
    op = v.op
    assert op is not None
    try:
        program = _program(op.message)
    except PTXError as error:
        raise unsupported(op, f"inline assembly that is not read: {error}") from None
    run = Run(cx, op, program, [cx.evaluate(value, at) for value, at in cx.inputs(op, idx)])
    for instruction in program.instructions:
        run.do(instruction)
    return run.result(v)


@rule(
    "tt.elementwise_inline_asm",
    attributes=r'"(?:[^"\\]|\\[0-9A-F]{2}|\\\\)*" '
    r'\{constraints = "[\w=,&~{}]*", packed_element = \d+ : i32, pure = (?:true|false)\}'
    r"(?: %(?:, %)*)?(?: -> \w+(?:, \w+)*)?",
)
def _check(op: Op) -> None:
    for v in (*op.operands, *op.results):
        if v.type.elem not in SIZE:
            fail(op, "numbers")
    try:
        _program(op.message)
    except PTXError:
        fail(op, "PTX that is read")


def whole(bits: int) -> str:
    return f"i{bits}"


def bits_of(elem: str) -> int:
    return 1 if elem == "i1" else SIZE[elem] * 8


class Run:
    """One run of a program: what its registers hold, as whole numbers of their width."""

    def __init__(self, cx: Context, op: Op, program: Program, args: Sequence[Lanes]) -> None:
        self.cx, self.op = cx, op
        self.widths = dict(program.widths)
        self.held: dict[str, Lanes] = {}
        self._results: list[str] = []
        self.pack = op.int_attr("packed_element")
        letters = [part.strip() for part in (op.attr("constraints") or "").split(",")]
        letters = [letter for letter in letters if letter and not letter.startswith("~")]
        elems = [r.type.elem for r in op.results]
        names = iter(range(len(letters)))
        for elem in elems:
            self._results.append(f"${self._take(names, letters, elem)[0]}")
        for x in args:
            taken = self._take(names, letters, x.elem)
            for k in taken:
                self.held[f"${k}"] = self._packed(x, self.widths[f"${k}"])

    def _take(self, names: Iterator[int], letters: list[str], elem: str) -> list[int]:
        """The registers that hold the elements of one operand or result."""
        bits = bits_of(elem)
        together = min(self.pack, 32 // bits) if bits < 32 else 1
        found: list[int] = []
        for _ in range(max(self.pack // together, 1)):
            k = next(names, None)
            if k is None:
                self.refuse("constraints that do not fit the operands")
            letter = letters[k].lstrip("=+&")
            if letter.isdigit() and int(letter) < k:  # the same register as a result
                self.widths[f"${k}"] = self.widths[f"${letter}"]
            elif letter in CONSTRAINTS:
                self.widths[f"${k}"] = CONSTRAINTS[letter]
            else:
                self.refuse(f"constraint {letters[k]!r}")
            found.append(k)
        return found

    def _packed(self, x: Lanes, width: int) -> Lanes:
        """Elements of a register, all of them `x`."""
        bits = bits_of(x.elem)
        value = self.resized(self.as_bits(x), width)
        for _ in range(1, min(self.pack, 32 // bits) if bits < 32 else 1):
            shifted = binary(self.cx, "shl", [value, constant(value.elem, bits)])
            value = binary(self.cx, "or", [shifted, self.resized(self.as_bits(x), width)])
        return value

    def result(self, v: Value) -> Lanes:
        """What an element of the result is."""
        elem = v.type.elem
        name = self._results[v.index]
        held = self.held.get(name) or constant(whole(self.widths[name]), 0)
        return self.as_type(self.resized(held, bits_of(elem)), elem)

    def refuse(self, what: object) -> NoReturn:
        raise unsupported(self.op, f"{what} in inline assembly is not supported by the native CPU backend")

    # -- registers

    def do(self, instruction: Instruction) -> None:
        """Run an instruction."""
        if instruction.name in _NOTHING:
            return
        does = RULES.get(instruction.name)
        if does is None:
            self.refuse(instruction)
        try:
            does(self, instruction)
        except (PTXError, ValueError, KeyError, IndexError) as error:
            let_through(error)
            self.refuse(instruction)

    def bits(self, argument: Argument, width: int) -> Lanes:
        """A register or number as a whole number of some width."""
        if isinstance(argument, Literal):
            value = argument.bits
            if argument.size == 8 and width == 32:
                value = struct.unpack("<I", struct.pack("<f", struct.unpack("<d", struct.pack("<Q", value))[0]))[0]
            value &= (1 << width) - 1
            return constant(whole(width), value - (1 << width) if width > 1 and value >> width - 1 else value)
        if not isinstance(argument, Name) or argument.text not in self.widths:
            self.refuse(f"register {argument.text if isinstance(argument, Name) else argument}")
        held = self.held.get(argument.text) or constant(whole(self.widths[argument.text]), 0)
        return self.resized(held, width)

    def get(self, argument: Argument, type_: str) -> Lanes:
        """A register or number as it is read by an instruction."""
        return self.as_type(self.bits(argument, width_of(type_)), FLOATS.get(type_, whole(width_of(type_))))

    def put(self, instruction: Instruction, value: Lanes, *, signed: bool = False, to: Argument | None = None) -> None:
        """Write to the first argument, or another, where the guard lets it."""
        to = instruction.arguments[0] if to is None else to
        if not isinstance(to, Name) or to.text not in self.widths:
            if isinstance(to, Name) and to.text == "_":
                return
            self.refuse(instruction)
        width = self.widths[to.text]
        new = self.resized(self.as_bits(value), width, signed=signed)
        if instruction.guard is not None:
            old = self.held.get(to.text) or constant(whole(width), 0)
            guard = self.bits(instruction.guard, 1)
            new = select(self.cx, guard, *((old, new) if instruction.unless else (new, old)))
        self.held[to.text] = new

    # -- types

    def plain(self, x: Lanes) -> Lanes:
        """Without the form of an index, which a change of type would lose."""
        _, (value,) = self.cx.operands([x])
        return self.cx.like([x], value, x.elem)

    def as_bits(self, x: Lanes) -> Lanes:
        return self.as_type(x, whole(bits_of(x.elem)))

    def as_type(self, x: Lanes, elem: str) -> Lanes:
        """The same bits as another type of the same size."""
        if x.elem == elem:
            return x
        if LLVM_TYPE[x.elem] == LLVM_TYPE[elem]:
            x = self.plain(x)
            return Lanes(x.kind, x.value, elem)
        return cast(self.cx, "bitcast", x, elem)

    def resized(self, x: Lanes, width: int, *, signed: bool = False) -> Lanes:
        """A whole number with more or fewer bits."""
        bits = bits_of(x.elem)
        if bits == width:
            return x
        return cast(self.cx, "trunc" if width < bits else "sext" if signed else "zext", x, whole(width))

    def halves(self, x: Lanes, bits: int) -> tuple[Lanes, Lanes]:
        """The lower and the higher number of a pair."""
        above = binary(self.cx, "lshr", [x, constant(x.elem, bits)])
        return self.resized(x, bits), self.resized(above, bits)

    def joined(self, low: Lanes, high: Lanes) -> Lanes:
        """A pair of whole numbers."""
        bits = bits_of(low.elem)
        low, high = (self.resized(self.as_bits(x), 2 * bits) for x in (low, high))
        return binary(self.cx, "or", [low, binary(self.cx, "shl", [high, constant(high.elem, bits)])])

    def op2(self, opcode: str, a: Lanes, b: Lanes | int) -> Lanes:
        """An instruction on whole numbers."""
        return binary(self.cx, opcode, [a, b if isinstance(b, Lanes) else constant(a.elem, b)])

    def flushed(self, x: Lanes) -> Lanes:
        """f32 with zero for numbers below the smallest normal one."""
        bits = self.as_bits(x)
        small = compare(self.cx, "eq", self.op2("and", bits, 0x7F800000), constant("i32", 0))
        return self.as_type(select(self.cx, small, self.op2("and", bits, -0x80000000), bits), "f32")

    def narrowed(self, x: Lanes, elem: str) -> Lanes:
        """f32 or f64 rounded once, to nearest even."""
        if x.elem == elem or elem == "f64":
            return x if x.elem == elem else cast(self.cx, "fpext", x, "f64")
        if x.elem == "f64":
            x = cast(self.cx, "fptrunc", x, "f32") if elem == "f32" else round_to_odd(self.cx, x)
        return from_f32(self.cx, x, elem)


def instruction(*names: str) -> Callable[[Rule], Rule]:
    return lambda does: RULES.update(dict.fromkeys(names, does)) or does


def only(instruction: Instruction, modifiers: Sequence[str], *known: str) -> frozenset[str]:
    """The modifiers, of which there are no others than those that have a meaning here."""
    if not set(modifiers) <= set(known):
        raise PTXError(str(instruction))
    return frozenset(modifiers)


def at_least_zero(run: Run, x: Lanes, *, one: bool) -> Lanes:
    """`relu`, or with `one` a number between 0 and 1, which NaN is not."""
    zero, unit = constant(x.elem, 0.0), constant(x.elem, 1.0)
    if not one:
        return select(run.cx, compare(run.cx, "olt", x, zero), zero, x)
    above = select(run.cx, compare(run.cx, "ogt", x, zero), x, zero)
    return select(run.cx, compare(run.cx, "ogt", above, unit), unit, above)

"""Integers, addresses and masks of a kernel, read as polynomials.

A value is read once, from its operation: sums and products become polynomials, blocks keep which dimension a range runs
along, and a value that a loop carries becomes `init + turn * step` where the loop adds the same at each turn:

    p = x + pid * n                     x   pid0*n
    for _ in range(0, n, BLOCK):
        tl.load(p + r)                  x   pid0*n + k0*64 + r0
        p += BLOCK

What cannot be read becomes an `Opaque` leaf, so that there is always an answer.
"""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Callable, Sequence
from dataclasses import replace

from opweave.registry.triton.address import (
    WIDE,
    Address,
    Box,
    Number,
    block_of,
    is_integer,
    moved,
    nbytes,
    parts_of,
    same_but_for_parts,
    width_of,
    with_parts,
)
from opweave.registry.triton.flow import Flow, is_address, returns
from opweave.registry.triton.polynomial import (
    Argument,
    Counter,
    Leaf,
    Loop,
    Opaque,
    Polynomial,
    Program,
    Programs,
    Trips,
    extreme,
    is_within,
    quotient,
    remainder,
)
from opweave.registry.triton.shapes import VIEWS, along, through_view
from opweave.registry.triton.ttir import Block, Function, Op, Value, parse_type, walk

_LARGEST = 1000
"""How many leaves a polynomial is written with at most: a value that takes more is opaque."""
_MOST_OPEN = 6
"""How many values that loops carry are read through each other before one is opaque: each may take two ways."""


class Reader:
    """Reads the values of a function; its calls must be inlined.

    Parameters
    ----------
    function : Function
        The kernel.
    flow : Flow
        Where its addresses come from.
    names : sequence of str
        What to call its parameters.
    """

    def __init__(self, function: Function, flow: Flow, names: Sequence[str]) -> None:
        self._function, self._flow, self._names = function, flow, names
        self._numbers: ChainMap[Value, Number] = ChainMap()
        self._addresses: ChainMap[Value, Address | None] = ChainMap()
        self._opaque: dict[tuple[Value, int], Opaque] = {}
        #: Values that loops carry whose step is being sought, with what stands for them meanwhile.
        self._open: dict[Value, Number | Address] = {}
        self._steps: dict[Value, tuple[Number | Address, tuple[Number, ...]] | None] = {}
        loops = [op for op in walk(function.body) if op.name in ("scf.for", "scf.while")]
        self._loop_numbers = {op: k for k, op in enumerate(loops)}
        self._loops: dict[Op, Loop] = {}

    def read_before(self, v: Value) -> None:
        """Read what a value is made of, in program order: a long chain is no deep recursion then."""
        found: dict[Value, None] = {}
        todo = [v]
        while todo:
            value = todo.pop()
            op = value.op
            if value in found or value in self._numbers or value in self._addresses or value in self._open:
                continue
            if op is not None and not op.regions and (is_address(value) or is_integer(value)):
                found[value] = None
                todo += op.operands
        for value in sorted(found, key=lambda value: value.op.pos if value.op is not None else 0):
            (self.address if is_address(value) else self.number)(value)

    # -- loops

    def loop(self, op: Op) -> Loop:
        """A loop and its bounds."""
        found = self._loops.get(op)
        if found is None:
            outer = tuple(around.number for around in self.loops_around(op.block))
            number = self._loop_numbers[op]
            if op.name == "scf.for":
                signed = op.word != "unsigned"
                bounds = [self.number(v) if signed else self.unsigned(v) for v in op.operands[:3]]
                bits = min(WIDE if signed else width_of(op.operands[0]), *(b.bits for b in bounds))
                lower, upper, step = (b.polynomial for b in bounds)
                found = Loop(number, "for", lower, upper, step, outer, op, bits)
            else:
                found = Loop(number, "while", None, None, None, outer, op)
            if not self._open:
                self._loops[op] = found
        return found

    def loops_around(self, block: Block) -> tuple[Loop, ...]:
        """The loops that a block is in, outermost first."""
        found = []
        parent = block.parent
        while parent is not None:
            if parent in self._loop_numbers:
                found.append(self.loop(parent))
            parent = parent.block.parent
        return tuple(reversed(found))

    def varies(self, polynomial: Polynomial, loop: Loop) -> bool:
        """Whether a polynomial may change from one turn of a loop to the next."""
        for leaf in polynomial.leaves():
            if isinstance(leaf, (Counter, Trips)):
                if isinstance(leaf, Counter) and leaf.loop == loop:
                    return True
                if loop.number in leaf.loop.outer:
                    bounds = (leaf.loop.lower, leaf.loop.upper, leaf.loop.step)
                    if isinstance(leaf, Counter) or any(b is None or self.varies(b, loop) for b in bounds):
                        return True
            elif isinstance(leaf, Opaque):
                home = leaf.value.op.block if leaf.value.op is not None else leaf.value.block
                while home is not None:
                    if home.parent is loop.op:
                        return True
                    home = home.parent.block if home.parent is not None else None
        return False

    # -- numbers

    def number(self, v: Value) -> Number:
        """An integer."""
        standing = self._open.get(v)
        if isinstance(standing, Number):
            return standing
        found = self._numbers.get(v)
        if found is None:
            found = self._numbers[v] = self._number(v)
        return found

    def opaque(self, v: Value, part: int = 0) -> Number:
        """A value as it is."""
        leaf = self._opaque.get((v, part))
        if leaf is None:
            along = tuple(range(len(v.type.dims)))
            leaf = self._opaque[v, part] = Opaque(v, along, part, len(self._opaque))
        return Number(Polynomial.of(leaf))

    def _number(self, v: Value) -> Number:
        if not is_integer(v):
            return self.opaque(v)
        found = self._carried_or_defined(v)
        if not isinstance(found, Number) or found.polynomial.size > _LARGEST:
            return self.opaque(v)
        return found

    def _carried_or_defined(self, v: Value) -> Number | Address | None:
        """A value that a loop, a branch or a call hands on, or that an operation makes."""
        read: Callable[[Value], Number | Address | None] = self.address if is_address(v) else self.number
        op = v.op
        if op is None:
            return self._argument(v, read)
        if op.name == "scf.for":
            return self._after_loop(op, op.regions[0][0].args[v.index + 1])
        if op.name == "scf.while":
            return self._after_while(op, read(op.regions[0][0].terminator.operands[v.index + 1]))
        if op.name in ("scf.if", "opweave.call"):
            regions = [region[-1].yielded for region in op.regions]
            ends = [end.operands for end in returns(op)] if op.name == "opweave.call" else regions
            found = {read(values[v.index]) for values in ends}
            return found.pop() if len(found) == 1 else None
        if op.name == "arith.select":
            first, second = read(op.operands[1]), read(op.operands[2])
            return first if first == second else None
        if is_address(v):
            maker = _ADDRESSES.get(op.name)
            return maker(self, op) if maker is not None else None
        reader = _NUMBERS.get(op.name)
        return reader(self, op) if reader is not None else None

    def _argument(self, v: Value, read: Callable[[Value], Number | Address | None]) -> Number | Address | None:
        """An argument of a block."""
        assert v.block is not None
        parent = v.block.parent
        if v.block is self._function.body[0]:
            return self._parameter(v)
        if parent is None or parent.name not in ("scf.for", "scf.while"):
            return None
        if parent.name == "scf.while" and v.block is parent.regions[1][0]:
            return read(parent.regions[0][0].terminator.operands[v.index + 1])
        loop = self.loop(parent)
        turn = Polynomial.of(Counter(loop))
        if parent.name == "scf.for" and v.index == 0:
            assert loop.lower is not None and loop.step is not None
            return Number(loop.lower + loop.step * turn, loop.bits)
        return self._at_turn(v, turn)

    def _parameter(self, v: Value) -> Number | Address:
        if not is_address(v):
            return Number(Polynomial.of(Argument(v.index, self._names[v.index], v.type.elem)))
        if v.type.elem == "ptr":
            return Address(v, Number(Polynomial()), v.type.pointee or "")
        block = block_of(v)
        rank = len(block.dims)
        rest = self._function.args[v.index + 1 : v.index + 1 + 2 * rank]
        wanted = ["i32"] * rank + ["i64"] * rank
        box = None
        if [a.type.elem for a in rest] == wanted:
            numbers = tuple(self.number(a) for a in rest)
            box = Box(numbers[:rank], numbers[rank:], (Number(Polynomial()),) * rank, block.dims)
        return Address(v, Number(Polynomial()), block.elem, box)

    # -- what loops carry

    def _at_turn(self, v: Value, turn: Polynomial) -> Number | Address | None:
        """A value that a loop carries, in a turn of the loop."""
        found = self._step(v)
        if found is None:
            return None
        first, steps = found
        return moved(first, [Number(s.polynomial * turn, s.bits) for s in steps])

    def _after_loop(self, op: Op, carried: Value) -> Number | Address | None:
        """What a `for` gives in the end."""
        return self._at_turn(carried, Polynomial.of(Trips(self.loop(op))))

    def _after_while(self, op: Op, last: Number | Address | None) -> Number | Address | None:
        """What a `while` gives in the end: what it hands on where its condition fails, after its last turn."""
        loop = self.loop(op)
        end = Polynomial.of(Trips(loop))

        def at_end(leaf: Leaf) -> Polynomial | None:
            return end if leaf == Counter(loop) else None

        if last is None:
            return None
        parts = [Number(p.polynomial.substitute(at_end), p.bits) for p in parts_of(last)]
        if any(self.varies(p.polynomial, loop) for p in parts):
            return None
        return with_parts(last, parts)

    def _step(self, v: Value) -> tuple[Number | Address, tuple[Number, ...]] | None:
        """What a carried value is in a loop's first turn, and what each turn adds to its parts."""
        if v in self._steps:
            return self._steps[v]
        if len(self._open) >= _MOST_OPEN:
            return None
        block = v.block
        assert block is not None and block.parent is not None
        op = block.parent
        loop = self.loop(op)
        is_for = op.name == "scf.for"
        k = v.index - 1 if is_for else v.index
        read: Callable[[Value], Number | Address | None] = self.address if is_address(v) else self.number
        first = read(op.operands[3 + k] if is_for else op.operands[k])
        found = None
        if first is not None:
            marks = [self.opaque(v, part) for part in range(len(parts_of(first)))]
            self._open[v] = standing = with_parts(first, marks)
            # What is read now may hold the marks: it is forgotten.
            self._numbers, self._addresses = self._numbers.new_child(), self._addresses.new_child()
            handed_on = (block if is_for else op.regions[1][0]).yielded[k]
            try:
                self.read_before(handed_on)
                following = read(handed_on)
            finally:
                self._numbers, self._addresses = self._numbers.parents, self._addresses.parents
                del self._open[v]
            if following is not None and same_but_for_parts(standing, following):
                steps = tuple(
                    Number(after.polynomial - mark.polynomial, after.bits)
                    for after, mark in zip(parts_of(following), marks, strict=True)
                )
                if not any(self.varies(s.polynomial, loop) for s in steps):
                    found = first, steps
        if not self._open:
            self._steps[v] = found
        return found

    # -- addresses

    def address(self, v: Value) -> Address | None:
        """A pointer, block pointer or descriptor; None if it may point into several parameters, or elsewhere."""
        standing = self._open.get(v)
        if isinstance(standing, Address):
            return standing
        if v in self._addresses:
            return self._addresses[v]
        only = self._flow.only(v)
        found = None
        if only is not None:
            read = self._carried_or_defined(v)
            found = read if isinstance(read, Address) else None
            if found is None or found.offset.polynomial.size > _LARGEST:
                pointee = parse_type(v.type.pointee) if v.type.elem == "ptr" and v.type.pointee else block_of(v)
                found = Address(only, self.opaque(v), pointee.elem)
        self._addresses[v] = found
        return found

    # -- arithmetic

    def _fitting(self, polynomial: Polynomial, op: Op, *operands: Number) -> Number:
        """A result, and how wide it was computed."""
        bits = min((n.bits for n in operands), default=WIDE)
        width = width_of(op.result)
        fits = is_within(polynomial, -(1 << (width - 1)), (1 << (width - 1)) - 1)
        return Number(polynomial, bits if fits else min(bits, width))

    def unsigned(self, v: Value) -> Number:
        """An integer's bits read without a sign."""
        n = self.number(v)
        whole = 1 << width_of(v)
        return Number(remainder(n.polynomial, Polynomial.of(whole), True), n.bits)

    def _operands(self, op: Op) -> tuple[Number, Number]:
        return self.number(op.operands[0]), self.number(op.operands[1])


# ---- operations on integers ------------------------------------------------------------------------------------------


def _constant(reader: Reader, op: Op) -> Number | None:
    number = int(op.splat == "true") if op.splat in ("true", "false") else op.integer
    return Number(Polynomial.of(number)) if number is not None else None


def _range(reader: Reader, op: Op) -> Number:
    start, end = op.int_attr("start"), op.int_attr("end")
    return Number(along(0, end - start) + start)


def _program(reader: Reader, op: Op) -> Number:
    axis = "xyz".index(op.word)
    return Number(Polynomial.of(Program(axis) if op.name == "tt.get_program_id" else Programs(axis)))


def _view(reader: Reader, op: Op) -> Number | None:
    n = reader.number(op.operands[0])
    p = through_view(op, n.polynomial)
    return Number(p, n.bits) if p is not None else None


def _sum(reader: Reader, op: Op) -> Number | None:
    a, b = reader._operands(op)
    p, q = a.polynomial, b.polynomial
    if op.name == "arith.muli" and len(p.terms) * len(q.terms) > _LARGEST:
        return None
    result = p * q if op.name == "arith.muli" else p - q if op.name == "arith.subi" else p + q
    return reader._fitting(result, op, a, b)


def _shift(reader: Reader, op: Op) -> Number | None:
    by = reader.number(op.operands[1]).polynomial.constant
    if by is None or not 0 <= by < width_of(op.result):
        return None
    if op.name == "arith.shli":
        n = reader.number(op.operands[0])
        return reader._fitting(n.polynomial * (1 << by), op, n)
    n = reader.number(op.operands[0]) if op.name == "arith.shrsi" else reader.unsigned(op.operands[0])
    return reader._fitting(quotient(n.polynomial, Polynomial.of(1 << by), True), op, n)


def _division(reader: Reader, op: Op) -> Number:
    name = op.name.removeprefix("arith.")
    a, b = (reader.unsigned(v) for v in op.operands) if name.endswith("ui") else reader._operands(op)
    p, q = a.polynomial, b.polynomial
    if name.startswith("rem"):
        result = remainder(p, q, name == "remui")
    elif name == "ceildivsi":
        result = quotient(p * -1, q, True) * -1
    else:
        result = quotient(p, q, name in ("divui", "floordivsi"))
    return reader._fitting(result, op, a, b)


def _extreme(reader: Reader, op: Op) -> Number:
    name = op.name.removeprefix("arith.")
    a, b = (reader.unsigned(v) for v in op.operands) if name.endswith("ui") else reader._operands(op)
    return reader._fitting(extreme(name[:3], a.polynomial, b.polynomial), op, a, b)


def _extended(reader: Reader, op: Op) -> Number | None:
    operand = op.operands[0]
    if operand.type.elem == "i1":
        return reader.number(operand) if op.name == "arith.extui" else None
    return reader.unsigned(operand) if op.name == "arith.extui" else reader.number(operand)


def _cut(reader: Reader, op: Op) -> Number | None:
    if op.result.type.elem == "i1":
        return None
    n = reader.number(op.operands[0])
    return reader._fitting(n.polynomial, op, n)


def _masked(reader: Reader, op: Op) -> Number | None:
    """`x & 63` is `mod(x, 64)`, whatever the sign of `x`."""
    for v, mask in (op.operands, op.operands[::-1]):
        bits = reader.number(mask).polynomial.constant
        if bits is not None and bits > 0 and bits & (bits + 1) == 0 and op.result.type.elem != "i1":
            n = reader.number(v)
            return Number(remainder(n.polynomial, Polynomial.of(bits + 1), True), n.bits)
    return None


def _same_bits(reader: Reader, op: Op) -> Number | None:
    same = op.operands[0].type.elem == op.result.type.elem
    return reader.number(op.operands[0]) if same or op.name == "arith.index_cast" else None


_NUMBERS: dict[str, Callable[[Reader, Op], Number | None]] = {
    "arith.constant": _constant,
    "tt.make_range": _range,
    "tt.get_program_id": _program,
    "tt.get_num_programs": _program,
    **dict.fromkeys(VIEWS, _view),
    **dict.fromkeys(("arith.addi", "arith.subi", "arith.muli"), _sum),
    **dict.fromkeys(("arith.shli", "arith.shrsi", "arith.shrui"), _shift),
    **dict.fromkeys(("arith.divsi", "arith.divui", "arith.floordivsi", "arith.ceildivsi"), _division),
    **dict.fromkeys(("arith.remsi", "arith.remui"), _division),
    **dict.fromkeys(("arith.minsi", "arith.minui", "arith.maxsi", "arith.maxui"), _extreme),
    **dict.fromkeys(("arith.extsi", "arith.extui"), _extended),
    "arith.trunci": _cut,
    "arith.andi": _masked,
    **dict.fromkeys(("arith.bitcast", "arith.index_cast", "tt.bitcast"), _same_bits),
}


# ---- operations on addresses -----------------------------------------------------------------------------------------


def _plus(reader: Reader, op: Op) -> Address | None:
    address = reader.address(op.operands[0])
    if address is None:
        return None
    offset = moved(address.offset, [reader.number(op.operands[1])])
    assert isinstance(offset, Number)
    return replace(address, offset=offset)


def _viewed(reader: Reader, op: Op) -> Address | None:
    address = reader.address(op.operands[0])
    if address is None:
        return None
    p = through_view(op, address.offset.polynomial)
    return replace(address, offset=Number(p, address.offset.bits)) if p is not None else None


def _seen_as(reader: Reader, op: Op) -> Address | None:
    """Elements of another type: the distance counts those."""
    address, elem = reader.address(op.operands[0]), op.result.type.pointee
    if address is None or elem is None or address.box is not None:
        return None
    p, old, new = address.offset.polynomial, nbytes(address.elem), nbytes(elem)
    if old is None or new is None:
        return replace(address, elem=elem) if p.constant == 0 or address.elem == elem else None
    if old != new and any(c * old % new for _, c in p.terms):
        return None
    scaled = Polynomial(tuple((product, c * old // new) for product, c in p.terms))
    return replace(address, offset=Number(scaled, address.offset.bits), elem=elem)


def _boxed(reader: Reader, op: Op) -> Address | None:
    """A block pointer or a descriptor: base, shape, strides, and of a block pointer where its block begins."""
    address = reader.address(op.operands[0])
    if address is None:
        return None
    block = block_of(op.result)
    rank = len(block.dims)
    numbers = [reader.number(v) for v in op.operands[1:]]
    zero = Number(Polynomial())
    offsets = numbers[2 * rank : 3 * rank] if op.name == "tt.make_tensor_ptr" else [zero] * rank
    box = Box(tuple(numbers[:rank]), tuple(numbers[rank : 2 * rank]), tuple(offsets), block.dims)
    return replace(address, box=box)


def _advanced(reader: Reader, op: Op) -> Address | None:
    address = reader.address(op.operands[0])
    if address is None or address.box is None:
        return None
    further = moved(address, [Number(Polynomial()), *(reader.number(v) for v in op.operands[1:])])
    return further if isinstance(further, Address) else None


_ADDRESSES: dict[str, Callable[[Reader, Op], Address | None]] = {
    "tt.addptr": _plus,
    **dict.fromkeys(VIEWS, _viewed),
    "tt.bitcast": _seen_as,
    "tt.make_tensor_ptr": _boxed,
    "tt.make_tensor_descriptor": _boxed,
    "tt.advance": _advanced,
}

"""What a kernel does with each of its pointers, read from its TTIR.

    x_ptr    f32[1024]  load        [pid0*1024 + r0]  where pid0*1024 + r0 < n                     kernel.py:12
    out_ptr  f32[1024]  store       [pid0*1024 + r0]  where pid0*1024 + r0 < n                     kernel.py:15
    lock     i32        atomic cas  [0]                                                            kernel.py:16
    p        f32        escapes: chosen among parameters (arith.select), written                   kernel.py:20

A parameter either has all its accesses listed, or reasons why there may be more. An access says where it goes, as a
polynomial (`opweave.registry.triton.polynomial`), under which mask and branches, and in which loops. What is not
followed appears as an opaque leaf or fact, never as nothing.

The analysis takes TTIR as it is given: as `effects.lowered` makes it, or later, so that a pass can ask about the very
text that it changes. Calls are inlined here; Triton's inliner and canonicalizer should have run before, since they drop
branches that a constant rules out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import field, replace

from opweave.registry.dataclass import dataclass
from opweave.registry.interrupts import let_through
from opweave.registry.triton.address import Box, Number
from opweave.registry.triton.flow import ACCESSES, READS, WRITES, Flow, is_address, is_known
from opweave.registry.triton.index import Reader
from opweave.registry.triton.inline import inline_calls
from opweave.registry.triton.masks import UNKNOWN, Fact, facts, guards, unless_certain
from opweave.registry.triton.polynomial import Counter, Loop, Opaque, Polynomial, Trips
from opweave.registry.triton.shapes import along, reshaped
from opweave.registry.triton.ttir import Function, Module, Op, TTIRSyntaxError, Type, Value, parse, walk

_SHORT = 12
"""Up to how many characters a part of an expression is written out wherever it stands."""
_MARGIN = 100
"""Where the lines of the user's source stand, behind all that is no longer than that."""


@dataclass(frozen=True)
class Access:
    """An operation that reads or writes through a parameter, and through no other.

    Attributes
    ----------
    kind : {"load", "store", "atomic"}
        An atomic reads and writes.
    via : {"pointer", "block pointer", "descriptor"}
        What holds the address.
    op : Op
        The operation.
    elem : str
        Type of the elements, as TTIR has it: without a sign.
    shape : tuple of int
        Shape of the block; `()` for a scalar.
    offset : Number
        Distance of a lane's element from the parameter, in elements.
    mask : tuple of Fact
        What has to hold of a lane for it to take part.
    guards : tuple of Fact
        What has to hold for the operation to be run: the conditions of the branches around it.
    loops : tuple of Loop
        The loops around it, outermost first.
    volatile : bool
        Whether a load must be made as often as it is written.
    """

    kind: str
    via: str
    op: Op
    elem: str
    shape: tuple[int, ...]
    offset: Number
    mask: tuple[Fact, ...]
    guards: tuple[Fact, ...]
    loops: tuple[Loop, ...]
    volatile: bool = False

    @property
    def where(self) -> str | None:
        """`file:line` in the user's source, where the module was printed with locations."""
        return self.op.loc

    @property
    def is_followed(self) -> bool:
        """Whether its offset has no opaque leaf."""
        return not any(isinstance(leaf, Opaque) for leaf in self.offset.polynomial.leaves())

    def text(self) -> tuple[str, str, str]:
        """Type, what is done where, and under which conditions."""
        elem = self.elem + (f"[{', '.join(map(str, self.shape))}]" if self.shape else "")
        kind = self.kind
        if kind == "atomic":
            kind += " cas" if self.op.name == "tt.atomic_cas" else f" {self.op.word.removeprefix('f')}"
        bits = f":i{self.offset.bits}" if self.offset.bits < 64 else ""
        conditions = f"[{self.offset.polynomial}]{bits}"
        for word, found in (("where", self.mask), ("if", self.guards)):
            if found:
                conditions += f"  {word} {' and '.join(map(str, found))}"
        if self.via != "pointer":
            conditions += f"  ({self.via})"
        return elem, kind, conditions + ("  volatile" if self.volatile else "")


@dataclass(frozen=True)
class Escape:
    """Why there may be more accesses of a parameter than are listed.

    Attributes
    ----------
    reason : str
        What becomes of its address.
    op : Op or None
        The operation.
    writes : bool
        Whether what the address leads to may be written so.
    """

    reason: str
    op: Op | None
    writes: bool

    @property
    def where(self) -> str | None:
        return self.op.loc if self.op is not None else None


@dataclass(frozen=True)
class Parameter:
    """A pointer or descriptor among a kernel's parameters.

    Attributes
    ----------
    name : str
        As the kernel calls it; `pair[1]` within a tuple.
    index : int
        Place among the TTIR parameters.
    type : Type
        Its type.
    accesses : tuple of Access
        In program order.
    escapes : tuple of Escape
        Why `accesses` may not be all.
    """

    name: str
    index: int
    type: Type
    accesses: tuple[Access, ...]
    escapes: tuple[Escape, ...]

    @property
    def argument(self) -> str:
        """The name of the argument in the launch."""
        return self.name.partition("[")[0]

    @property
    def is_readable(self) -> bool:
        """Whether all that the kernel does with it is listed."""
        return not self.escapes

    @property
    def loads(self) -> tuple[Access, ...]:
        return tuple(a for a in self.accesses if a.kind == "load")

    @property
    def stores(self) -> tuple[Access, ...]:
        return tuple(a for a in self.accesses if a.kind == "store")

    @property
    def atomics(self) -> tuple[Access, ...]:
        return tuple(a for a in self.accesses if a.kind == "atomic")

    @property
    def is_written(self) -> bool:
        """Whether the kernel may write what it points at."""
        return any(a.kind != "load" for a in self.accesses) or any(e.writes for e in self.escapes)


@dataclass(frozen=True)
class KernelAccesses:
    """What a kernel does with each of its pointers.

    Attributes
    ----------
    name : str
        The kernel's function.
    parameters : tuple of Parameter
        Its pointers and descriptors, in order.
    function : Function or None
        Its TTIR, calls inlined; None where the text does not read as TTIR.
    """

    name: str
    parameters: tuple[Parameter, ...]
    function: Function | None = field(default=None, repr=False)

    def __getitem__(self, name: str) -> Parameter:
        return next(p for p in self.parameters if p.name == name)

    @property
    def written(self) -> frozenset[str]:
        """Names of the arguments that a launch may write."""
        return frozenset(p.argument for p in self.parameters if p.is_written)

    def with_escape(self, reason: str, names: Sequence[str] | None = None) -> KernelAccesses:
        """With a reason, besides, why arguments may be written: of all, or of those that are named."""
        more = Escape(reason, None, True)
        parameters = tuple(
            replace(p, escapes=(*p.escapes, more)) if names is None or p.argument in names else p
            for p in self.parameters
        )
        return replace(self, parameters=parameters)

    def text(self) -> str:
        """A line for each access and escape, then what the loops and opaque values are that they name."""
        rows: list[tuple[str, ...]] = []
        for p in self.parameters:
            name = p.name
            for access in p.accesses:
                rows.append((name, *access.text(), access.where or ""))
            for escape in p.escapes:
                reason = escape.reason + (", written" if escape.writes else "")
                rows.append((name, _elem(p.type), "escapes:", reason, escape.where or ""))
            if not p.accesses and not p.escapes:
                rows.append((name, _elem(p.type), "unused", "", ""))
        conditions, shared = _shortened([row[3] for row in rows], self._parts())
        rows = [(*row[:3], text, row[4]) for row, text in zip(rows, conditions, strict=True)]
        widths = [max((len(row[k]) for row in rows), default=0) for k in range(3)]
        left = ["  ".join([*(row[k].ljust(widths[k]) for k in range(3)), row[3]]).rstrip() for row in rows]
        edge = min(_MARGIN, max((len(line) for line in left), default=0))
        lines = [f"{line.ljust(edge)}  {row[4]}".rstrip() for line, row in zip(left, rows, strict=True)]
        return "\n".join([*lines, *shared, *self._legend()])

    def _polynomials(self) -> list[Polynomial]:
        """All that the accesses are about."""
        found: list[Polynomial] = []
        for access in (a for p in self.parameters for a in p.accesses):
            found += [access.offset.polynomial, *(x for f in (*access.mask, *access.guards) for x in (f.left, f.right))]
        return found

    def _parts(self) -> list[str]:
        """Texts of the quotients, remainders and minima in them, the short ones first."""
        leaves = {leaf for p in self._polynomials() for leaf in p.leaves() if leaf.parts()}
        return sorted({leaf.text() for leaf in leaves}, key=lambda text: (len(text), text))

    def _legend(self) -> list[str]:
        """A line for each loop and each opaque value that the lines above name."""
        loops: dict[int, str] = {}
        values: dict[int, str] = {}
        todo = self._polynomials()
        while todo:
            for leaf in todo.pop().leaves():
                if isinstance(leaf, (Counter, Trips)) and leaf.loop.number not in loops:
                    loop = leaf.loop
                    loops[loop.number] = f"{loop.text()}  {loop.op.loc or ''}".rstrip()
                    todo += [p for p in (loop.lower, loop.upper, loop.step) if p is not None]
                elif isinstance(leaf, Opaque) and leaf.number not in values:
                    op = leaf.value.op or (leaf.value.block.parent if leaf.value.block is not None else None)
                    made = f"{op.name}  {op.loc or ''}".rstrip() if op is not None else "an argument of a block"
                    values[leaf.number] = f"{leaf.value.name}: {made}"
        return [*(loops[k] for k in sorted(loops)), *dict.fromkeys(values[k] for k in sorted(values))]

    def __str__(self) -> str:
        return self.text()


def _shortened(texts: list[str], parts: list[str]) -> tuple[list[str], list[str]]:
    """Texts with names for the longer of the parts that stand in them more than once, and a line for each name."""
    lines: list[str] = []
    named: list[tuple[re.Pattern[str], str]] = []
    for part in parts:
        for pattern, name in named:
            part = pattern.sub(name, part)
        pattern = re.compile(r"(?<!\w)" + re.escape(part))
        if len(part) > _SHORT and sum(len(pattern.findall(text)) for text in texts) > 1:
            name = f"q{len(lines)}"
            lines.append(f"{name}: {part}")
            named.append((pattern, name))
            texts = [pattern.sub(name, text) for text in texts]
    return texts, lines


def _elem(type_: Type) -> str:
    return type_.pointee or type_.elem.removeprefix("!tt.")


def analyse(source: str | Module, names: Sequence[str] | None = None, name: str | None = None) -> KernelAccesses:
    """What a kernel does with its pointers.

    Parameters
    ----------
    source : str or Module
        TTIR, printed with locations if the answer should name lines; a parsed module is changed: calls are inlined.
    names : sequence of str, optional
        What to call the TTIR parameters.
    name : str, optional
        The kernel's function, by default the only public one.

    Returns
    -------
    KernelAccesses
        Text that the parser does not read makes all of its pointers escape.

    Raises
    ------
    TTIRSyntaxError
        If not even the kernel's parameters can be read.
    """
    if isinstance(source, str):
        try:
            module = parse(source)
        except (TTIRSyntaxError, ValueError, IndexError, AssertionError, StopIteration) as error:
            let_through(error)
            return _unread(source, names, error)
    else:
        module = source
    function = module.entry(name)
    inline_calls(function, module)
    return _Analysis(function, names or [_plain(a.name) for a in function.args]).run()


def _plain(name: str) -> str:
    return name.lstrip("%")


def _unread(text: str, names: Sequence[str] | None, error: Exception) -> KernelAccesses:
    """All pointers escape."""
    header = next((line for line in text.splitlines() if line.lstrip().startswith("tt.func public")), None)
    if header is None:
        raise TTIRSyntaxError(f"no kernel in the text: {error}") from error
    function = parse(f"module {{\n{header}\n}}\n}}").entry()
    reason = f"the kernel's TTIR is not understood ({error})"
    names = names or [_plain(a.name) for a in function.args]
    parameters = [
        Parameter(names[a.index], a.index, a.type, (), (Escape(reason, None, True),))
        for a in function.args
        if is_address(a)
    ]
    return KernelAccesses(function.name, tuple(parameters))


class _Analysis:
    def __init__(self, function: Function, names: Sequence[str]) -> None:
        self._function, self._names = function, names
        self._flow = Flow(function)
        self._reader = Reader(function, self._flow, names)
        self._pointers = [a for a in function.args if is_address(a)]
        self._accesses: dict[Value, list[Access]] = {a: [] for a in self._pointers}
        self._escapes: dict[Value, dict[Escape, None]] = {a: {} for a in self._pointers}

    def run(self) -> KernelAccesses:
        for op in walk(self._function.body):
            if op.successors and self._flow.turns_back(op):
                for parameter in self._pointers:
                    self._escapes[parameter][Escape("branches make a loop", op, True)] = None
            if op.name in ACCESSES:
                self._access(op)
                for value in op.operands[1:]:
                    if op.name not in READS:
                        self._escape(value, "its address is stored", op, writes=False)
            elif op.name == "tt.ptr_to_int":
                self._escape(op.operands[0], _use_as_integer(op), op, writes=False)
            elif op.name == "tt.print":
                for value in op.operands:
                    self._escape(value, "its address is printed", op, writes=False)
            elif not is_known(op):
                for value in op.operands:
                    self._escape(value, f"given to {op.name}", op, writes=True)
        parameters = [
            Parameter(self._names[a.index], a.index, a.type, tuple(self._accesses[a]), tuple(self._escapes[a]))
            for a in self._pointers
        ]
        return KernelAccesses(self._function.name, tuple(parameters), self._function)

    def _escape(self, value: Value, reason: str, op: Op, *, writes: bool) -> None:
        """Of each parameter that a value may come from; of all where it may come from anywhere and is written to."""
        origins = self._flow.origins(value)
        if writes and None in origins:
            for parameter in self._pointers:
                if parameter not in origins:
                    self._escapes[parameter][Escape(f"an address from anywhere is {reason}", op, True)] = None
        for parameter in origins:
            if parameter is not None:
                self._escapes[parameter][Escape(reason, op, writes)] = None

    def _access(self, op: Op) -> None:
        address = op.operands[0]
        origins = self._flow.origins(address) or frozenset({None})
        writes = op.name not in READS
        if None in origins:
            verb = "written" if writes else "read"
            reason = f"an address from memory or an integer is {verb}"
            for parameter in self._pointers:
                self._escapes[parameter][Escape(reason, op, writes)] = None
        elif len(origins) > 1:
            choice = self._choice(address)
            reason = f"chosen among parameters ({choice.name.replace('opweave.', 'tt.')})"
            for parameter in origins:
                assert parameter is not None
                self._escapes[parameter][Escape(reason, choice, writes)] = None
        else:
            (parameter,) = origins
            assert parameter is not None
            self._accesses[parameter].append(self._read(op))

    def _choice(self, value: Value) -> Op:
        """Where a value that points into several parameters came to do so."""
        seen: set[Value] = set()
        at: Value | None = value
        op = self._function.body[0].ops[0]
        while at is not None:
            seen.add(at)
            made = at.op if at.op is not None else at.block.parent if at.block is not None else None
            if made is None:
                break
            op = made
            at = next((v for v in _sources(op) if len(self._flow.origins(v)) > 1 and v not in seen), None)
        return op

    def _read(self, op: Op) -> Access:
        kind = "load" if op.name in READS else "store" if op.name in WRITES else "atomic"
        moved = self._moved(op)
        for v in (op.operands[0], _mask_of(op)):
            if v is not None:
                self._reader.read_before(v)
        address = self._reader.address(op.operands[0])
        assert address is not None
        via = "descriptor" if op.name.startswith("tt.descriptor") else "pointer"
        mask = _mask_of(op)
        found = facts(self._reader, mask) if mask is not None else ()
        offset = address.offset
        if via == "descriptor" or op.operands[0].type.pointee is None or "tensor<" in op.operands[0].type.pointee:
            via = "descriptor" if via == "descriptor" else "block pointer"
            if address.box is None:
                offset = self._reader.opaque(op.operands[0])
            else:
                offset, found = self._in_box(op, address.offset, address.box, moved.dims)
        return Access(
            kind, via, op, address.elem if address.elem != "i1" else moved.elem, moved.dims, offset, found,
            guards(self._reader, self._flow, op.block), self._reader.loops_around(op.block),
            op.flag("isVolatile"),
        )  # fmt: skip

    def _moved(self, op: Op) -> Type:
        """The block that an access moves."""
        if op.name in WRITES or op.name == "tt.descriptor_reduce":
            return op.operands[-1].type if op.name.startswith("tt.descriptor") else op.operands[1].type
        return op.result.type

    def _in_box(self, op: Op, base: Number, box: Box, shape: tuple[int, ...]) -> tuple[Number, tuple[Fact, ...]]:
        """Offset and mask of an access through a block pointer or a descriptor."""
        reader, rank = self._reader, len(box.block)
        starts = list(box.offsets)
        block = list(box.block)
        lanes = [along(d, n) for d, n in enumerate(block)]
        checked = op.array_attr("boundaryCheck")
        if op.name.startswith("tt.descriptor"):
            values = op.operands[1 : 1 + rank]
            if values[0].type.is_tensor:  # rows that a block of indices names
                block[0], lanes[0] = values[0].type.dims[0], Polynomial()
            starts = [reader.number(v) for v in values]
            checked = tuple(range(rank))
        total, found, bits = base.polynomial, [], base.bits
        for d in range(rank):
            index = starts[d].polynomial + lanes[d]
            total, bits = total + index * box.strides[d].polynomial, min(bits, starts[d].bits, box.strides[d].bits)
            if d in checked:
                narrow = min(starts[d].bits, box.shape[d].bits)
                found += unless_certain(Fact(index, ">=", Polynomial(), starts[d].bits))
                found += unless_certain(Fact(index, "<", box.shape[d].polynomial, narrow))
        if tuple(block) != shape:  # a descriptor may leave out dimensions of size 1
            parts = [reshaped(p, block, shape) for p in (total, *(f.left for f in found))]
            if None in parts:
                return reader.opaque(op.operands[0]), (UNKNOWN,)
            total, *lefts = [p for p in parts if p is not None]
            found = [replace(f, left=left) for f, left in zip(found, lefts, strict=True)]
        return Number(total, bits), tuple(found)


def _sources(op: Op) -> Iterator[Value]:
    yield from op.operands
    for region in op.regions:
        for inner in walk(region):
            if inner.name in ("scf.yield", "scf.condition", "tt.return"):
                yield from inner.operands


def _mask_of(op: Op) -> Value | None:
    place = {"tt.load": 1, "tt.store": 2, "tt.atomic_rmw": 2}.get(op.name)
    return op.operands[place] if place is not None and len(op.operands) > place else None


def _use_as_integer(op: Op) -> str:
    def is_test(user: Op) -> bool:
        return user.name == "arith.cmpi" and any(v.op is not None and v.op.integer == 0 for v in user.operands)

    return "compared with null" if op.result.users and all(map(is_test, op.result.users)) else "made an integer"

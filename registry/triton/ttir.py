"""A small typed IR for TTIR, and the parser of the text that Triton prints.

Triton's Python bindings cannot read dense constants or integer attributes, so what reads kernels starts from the
printed module (`str_nodebug()`, or `str(module)` when source locations are wanted for messages). The result is a plain
object graph: `Module` > `Function` > `Region` (a list of `Block`) > `Op` > `Value`, with use lists.

The custom assembly of an operation decides where its operands and result types stand. Most follow one of a few shapes
(`op a, b : type`, `op a : from to into`, `op a : (ins) -> outs`), handled by `_result_types`; the rest have a reader of
their own in `_READERS`.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import field
from functools import cache
from math import prod

from opweave.registry.dataclass import dataclass

_SSA = re.compile(r"%[\w$.\-]+(?:#\d+)?")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_WORD = re.compile(r"\w*")
_MARK = re.compile(r'"(?:[^"\\]|\\.)*"?|->|[<(\[{}\])>,:]')
_OPENING, _CLOSING = frozenset("<([{"), frozenset(")]}>")
_SYMBOL = r'@(?:"((?:[^"\\]|\\.)*)"|([\w.$]+))'
_PARAMETER = re.compile(r"(%[\w$.\-]+): (.*?)( \{.*?\})?( loc\(.*\))?$")
_TRAILING_LOC = re.compile(r" loc\((#loc\d*|unknown|callsite\(.*\)|\".*)\)$")
_ARGUMENT_LOC = re.compile(r" loc\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")


class TTIRSyntaxError(ValueError):
    """Text that does not read as TTIR."""


@dataclass(frozen=True)
class Type:
    """`elem` is f32, i1, ptr, ...; `shape` is None for a scalar; `pointee` is what a ptr points at."""

    elem: str
    shape: tuple[int, ...] | None = None
    pointee: str | None = None

    @property
    def is_tensor(self) -> bool:
        return self.shape is not None

    @property
    def dims(self) -> tuple[int, ...]:
        return self.shape or ()

    @property
    def numel(self) -> int:
        return prod(self.dims)

    def __str__(self) -> str:
        elem = f"!tt.ptr<{self.pointee}>" if self.elem == "ptr" else self.elem
        return elem if self.shape is None else f"tensor<{''.join(f'{d}x' for d in self.shape)}{elem}>"


@dataclass(eq=False)
class Value:
    """An SSA value; `op` is None for a block argument, whose `block` is then set."""

    name: str
    type: Type
    op: Op | None = None
    index: int = 0
    block: Block | None = None
    users: list[Op] = field(default_factory=list)

    def __repr__(self) -> str:
        return f"{self.name}: {self.type}"


@dataclass(eq=False)
class Op:
    """One operation.

    `attrs` is the raw text between name and type signature, `pos` the place in program order, `number` that of its
    first line among the lines of the text, `location` what stands behind it there.
    """

    name: str
    operands: list[Value]
    results: list[Value]
    attrs: str
    line: str
    block: Block
    pos: int
    regions: list[Region] = field(default_factory=list)
    successors: list[tuple[str, list[Value]]] = field(default_factory=list)
    loc: str | None = None
    number: int = -1
    location: str = ""

    @property
    def result(self) -> Value:
        return self.results[0]

    def attr(self, key: str) -> str | None:
        """The text of attribute `key`, unquoted and without its type, or None."""
        m = re.search(rf'\b{re.escape(key)} = (array<[^>]*>|"[^"]*"|[^\s,}}>]+)', self.attrs)
        return m.group(1).strip('"') if m else None

    def int_attr(self, key: str) -> int:
        text = self.attr(key)
        if text is None:
            raise TTIRSyntaxError(f"{self.name} has no attribute {key!r}: {self.line}")
        return int(text)

    def array_attr(self, key: str) -> tuple[int, ...]:
        text = self.attr(key) or ""
        return tuple(int(x) for x in re.findall(r"-?\d+", text.partition(":")[2]))

    def flag(self, key: str) -> bool:
        """Whether attribute `key` is true."""
        return self.attr(key) == "true"

    @property
    def word(self) -> str:
        """What its attributes begin with: a predicate, what an atomic does, an axis of the grid, `unsigned`."""
        m = _WORD.match(self.attrs)
        return m.group() if m else ""

    @property
    def message(self) -> str:
        """What it says to the user, as bytes and quotes are printed."""
        m = _QUOTED.search(self.attrs)
        if m is None:
            raise TTIRSyntaxError(f"{self.name} has no text: {self.line}")
        return m.group()[1:-1]

    @property
    def splat(self) -> str | None:
        """The number, as it is printed, that all elements of a constant are; None where they are several."""
        return None if self.name != "arith.constant" or "[" in self.attrs or '"' in self.attrs else self.attrs

    @property
    def integer(self) -> int | None:
        """The integer that all elements of a constant are."""
        text = self.splat
        return int(text) if text is not None and text.lstrip("-").isdigit() else None

    def blocks(self) -> Iterator[Block]:
        for region in self.regions:
            yield from region

    def __repr__(self) -> str:
        return self.line


@dataclass(eq=False)
class Block:
    label: str
    args: list[Value] = field(default_factory=list)
    ops: list[Op] = field(default_factory=list)
    parent: Op | None = None

    @property
    def terminator(self) -> Op:
        return self.ops[-1]

    @property
    def yielded(self) -> list[Value]:
        """What the block hands on; a `scf.yield` of nothing is not printed."""
        return self.ops[-1].operands if self.ops and self.ops[-1].name == "scf.yield" else []


Region = list[Block]


@dataclass(eq=False)
class Function:
    """A `tt.func`; `divisibility[k]` is the `tt.divisibility` hint of argument k (1 where there is none).

    `attributes[k]` is the text of all that is said of it.
    """

    name: str
    args: list[Value]
    divisibility: list[int]
    public: bool
    attributes: list[str] = field(default_factory=list[str])
    body: Region = field(default_factory=list)


@dataclass(frozen=True)
class Parameter:
    """A parameter in the header of a `tt.func`, as text."""

    name: str
    type: str
    attributes: str = ""
    location: str = ""

    def __str__(self) -> str:
        return f"{self.name}: {self.type}" + "".join(f" {t}" for t in (self.attributes, self.location) if t)


@dataclass
class Module:
    functions: dict[str, Function]

    def entry(self, name: str | None = None) -> Function:
        """The kernel: the function called `name`, or the only public one."""
        if name is not None:
            return self.functions[name]
        return next(f for f in self.functions.values() if f.public)


def walk(region: Region) -> Iterator[Op]:
    """All operations of a region in program order, nested ones included."""
    for block in region:
        for op in block.ops:
            yield op
            for inner in op.regions:
                yield from walk(inner)


def parameters_of(text: str) -> list[Parameter]:
    """The parameters between the brackets of a header."""
    found: list[Parameter] = []
    for part in split_top(text):
        m = _PARAMETER.match(part)
        if m is None:
            raise TTIRSyntaxError(f"not a parameter: {part}")
        found.append(Parameter(m[1], m[2], (m[3] or "").strip(), (m[4] or "").strip()))
    return found


def callee_of(call: Op) -> str:
    """The name of the function that a `tt.call` calls."""
    m = re.match(_SYMBOL, call.attrs)
    if m is None:
        raise TTIRSyntaxError(f"not a call of a function: {call.line}")
    return m.group(1) or m.group(2)


@cache
def parse_type(text: str) -> Type:
    """Read `f32`, `!tt.ptr<f32>`, `tensor<4x8xf32>`, `tensor<4x!tt.ptr<f32>>`."""
    text = text.strip()
    if text.startswith("tensor<"):
        m = re.match(r"((?:\d+x)*)(.*)$", split_top(text[7:-1])[0])
        assert m is not None
        elem = parse_type(m.group(2))
        return Type(elem.elem, tuple(int(d) for d in m.group(1).split("x") if d), elem.pointee)
    if text.startswith("!tt.ptr<"):
        return Type("ptr", None, split_top(text[8:-1])[0])
    return Type(text)


def _marks(text: str) -> Iterator[tuple[int, str, int]]:
    """(position, what stands there, bracket depth around it) of brackets, `,`, `:` and `->` outside quoted strings."""
    depth = 0
    for m in _MARK.finditer(text):
        mark = m.group()
        if mark in _CLOSING:
            depth -= 1
        if mark[0] != '"':
            yield m.start(), mark, depth
        if mark in _OPENING:
            depth += 1


def split_top(text: str) -> list[str]:
    """Split at commas outside brackets."""
    cuts = [i for i, mark, depth in _marks(text) if mark == "," and depth == 0]
    parts = [text[a + 1 : b].strip() for a, b in zip([-1, *cuts], [*cuts, len(text)], strict=True)]
    return [p for p in parts if p]


def split_signature(text: str) -> tuple[str, str]:
    """Cut at the last top-level ` : `, which starts the type signature."""
    cuts = [i for i, mark, depth in _marks(text) if mark == ":" and depth == 0]
    return (text[: cuts[-1]], text[cuts[-1] + 1 :].strip()) if cuts else (text, "")


def _closing(text: str, start: int) -> int:
    """Position of the bracket that closes the one at `start`."""
    return next(start + i for i, mark, depth in _marks(text[start:]) if i and depth == 0 and mark in _CLOSING)


def _type_list(text: str) -> list[Type]:
    text = text.strip()
    return [parse_type(t) for t in split_top(text[1:-1] if text.startswith("(") else text)]


class Parser:
    """Line-directed recursive descent over one printed module."""

    def __init__(self, text: str) -> None:
        self.locations = dict(re.findall(r"^(#loc\d*) = loc\((.*)\)$", text, re.M))
        numbered = [(s, k) for k, s in enumerate(line.strip() for line in text.splitlines())]
        numbered = [(s, k) for s, k in numbered if s and not s.startswith("#")]
        self.lines, self.numbers = [s for s, _ in numbered], [k for _, k in numbered]
        self.next = 0
        self.pos = 0
        self.scope: dict[str, Value] = {}
        self.closed: str | None = None
        """The location behind the region that was read last: its operation's."""

    def parse(self) -> Module:
        functions: dict[str, Function] = {}
        while self.next < len(self.lines):
            line = self._take()[0]
            if line.startswith("tt.func"):
                f = self._function(line)
                functions[f.name] = f
        return Module(functions)

    # -- lines and names

    def _take(self) -> tuple[str, str | None]:
        if self.next >= len(self.lines):
            raise TTIRSyntaxError("TTIR text ends inside a region")
        line = self.lines[self.next]
        self.next += 1
        m = _TRAILING_LOC.search(line)
        return (line[: m.start()], self._locate(m.group(1))) if m else (line, None)

    def _locate(self, text: str, limit: int = 8) -> str | None:
        """Follow location aliases to `file:line`."""
        for _ in range(limit):
            if m := re.search(r'"([^"]+)":(\d+):\d+', text):
                return f"{m.group(1)}:{m.group(2)}"
            m = re.search(r"#loc\d*", text)
            if m is None or m.group(0) not in self.locations:
                return None
            text = self.locations[m.group(0)]
        return None

    def value(self, name: str) -> Value:
        try:
            return self.scope[name]
        except KeyError:
            raise TTIRSyntaxError(f"{name} is used before its definition") from None

    def values(self, text: str) -> list[Value]:
        return [self.value(n) for n in _SSA.findall(text)]

    def _argument(self, name: str, type_: Type, block: Block) -> None:
        v = Value(name, type_, index=len(block.args), block=block)
        self.scope[v.name] = v
        block.args.append(v)

    def define(self, op: Op, names: list[str], types: list[Type]) -> None:
        """Bind the results: `%r` or `%a, %b` by name, `%r:2` as `%r#0`, `%r#1`."""
        if len(names) == 1 and len(types) > 1:
            names = [f"{names[0]}#{k}" for k in range(len(types))]
        elif len(types) == 1:  # tt.split prints the type of its two results once
            types = types * len(names)
        for k, (name, type_) in enumerate(zip(names, types, strict=True)):
            v = Value(name, type_, op, k)
            self.scope[name] = v
            op.results.append(v)

    # -- structure

    def _function(self, line: str) -> Function:
        m = re.match(r"tt\.func (public |private )?" + _SYMBOL + r"\(", line)
        if m is None:
            raise TTIRSyntaxError(f"not a function header: {line}")
        self.scope = {}
        entry = Block("bb0")
        divisibility: list[int] = []
        attributes: list[str] = []
        for parameter in parameters_of(line[m.end() : _closing(line, m.end() - 1)]):
            attributes.append(parameter.attributes)
            d = re.search(r"tt\.divisibility = (\d+)", parameter.attributes)
            divisibility.append(int(d.group(1)) if d else 1)
            self._argument(parameter.name, parse_type(parameter.type), entry)
        name, public = m.group(2) or m.group(3), m.group(1) != "private "
        function = Function(name, entry.args, divisibility, public, attributes)
        if line.endswith("{"):
            function.body, _ = self._region(None, entry)
        return function

    def _region(self, parent: Op | None, entry: Block | None = None) -> tuple[Region, str]:
        """Read blocks up to the closing line, which is returned too (it may open the next region)."""
        block = entry or Block("bb0")
        block.parent = parent
        region = [block]
        while True:
            line, loc = self._take()
            if line.startswith("}"):
                self.closed = loc
                return region, line
            if line.startswith("^"):
                m = re.match(r"\^(\w+)", line)
                assert m is not None
                if block.ops or len(region) > 1:
                    block = Block(m.group(1), parent=parent)
                    region.append(block)
                block.label = m.group(1)
                head = _ARGUMENT_LOC.sub("", line.partition("//")[0])
                if "(" in head:
                    for arg in split_top(head[head.index("(") + 1 : head.rindex(")")]):
                        name, _, type_text = arg.partition(":")
                        self._argument(name.strip(), parse_type(type_text), block)
                continue
            self._op(line, loc, block)

    def _op(self, line: str, loc: str | None, block: Block) -> None:
        names: list[str] = []
        text = line
        if m := re.match(r"((?:%[\w$.\-]+(?::\d+)?(?:, )?)+) = ", line):
            names = [n.partition(":")[0] for n in m.group(1).split(", ")]
            text = line[m.end() :]
        m = re.match(r'"?([\w.]+)"?', text)
        if m is None:
            raise TTIRSyntaxError(f"not an operation: {line}")
        text = text[m.end() :].strip()
        op = Op(m.group(1), [], [], text, line, block, self.pos, loc=loc, number=self.numbers[self.next - 1])
        op.location = self.lines[self.next - 1][len(line) :]
        self.pos += 1
        block.ops.append(op)
        reader = _READERS.get(op.name)
        if reader is not None:
            reader(self, op, names, text)
        elif text.endswith("{"):
            self._generic_region_op(op, names, text)
        else:
            body, signature = split_signature(text)
            op.operands = self.values(_QUOTED.sub('""', body))  # assembly, say, has names of its own
            if names:
                self.define(op, names, _result_types(op, signature))
        if op.regions and op.loc is None:
            op.loc = self.closed
        for v in {id(v): v for v in [*op.operands, *(v for _, vs in op.successors for v in vs)]}.values():
            v.users.append(op)

    def _generic_region_op(self, op: Op, names: list[str], text: str) -> None:
        """`"tt.reduce"(%a, %b) <{...}> ({ ... }, { ... }) : (ins) -> outs`, the signature on the closing line."""
        op.operands = self.values(
            text[text.index("(") : _closing(text, text.index("("))] if text.startswith("(") else ""
        )
        while True:
            region, line = self._region(op)
            op.regions.append(region)
            if not line.startswith("}, {"):
                break
        if names:
            self.define(op, names, _type_list(line.lstrip("}) :").rpartition("->")[2]))


def _result_types(op: Op, signature: str) -> list[Type]:
    """Result types from a signature in one of the common shapes."""
    if op.name in ("arith.cmpi", "arith.cmpf"):
        return [Type("i1", parse_type(signature).shape)]
    if "->" in signature:
        cut = [i for i, mark, depth in _marks(signature) if mark == "->" and depth == 0]
        return _type_list(signature[cut[-1] + 2 :])
    if " to " in signature:
        return [parse_type(signature.rpartition(" to ")[2])]
    parts = split_top(signature)
    if not parts:
        return [Type("i1")]
    if op.name == "tt.load":
        pointer = parse_type(parts[0])
        return [_pointee(pointer)]
    if op.name in ("tt.make_tensor_ptr", "tt.advance"):
        return [parse_type(f"!tt.ptr{parts[0]}")]
    if op.name == "tt.make_tensor_descriptor":
        return [parse_type(f"!tt.tensordesc{parts[-1]}")]
    if op.name == "tt.unsplat":
        only = parse_type(parts[0])
        return [Type(only.elem, None, only.pointee)]
    return [parse_type(parts[-1] if op.name == "arith.select" else parts[0])]


def _pointee(pointer: Type) -> Type:
    inner = parse_type(pointer.pointee or "")
    return Type(inner.elem, inner.shape if pointer.shape is None else pointer.shape, inner.pointee)


def _read_constant(parser: Parser, op: Op, names: list[str], text: str) -> None:
    if text in ("true", "false"):
        op.attrs = text
        parser.define(op, names, [Type("i1")])
        return
    body, signature = split_signature(re.sub(r"^\{.*?\}\s*", "", text))
    body = body.strip()
    op.attrs = body[6:-1] if body.startswith("dense<") else body
    parser.define(op, names, [parse_type(signature)])


def _carried(parser: Parser, text: str) -> tuple[list[str], list[Value]]:
    """`%a = %x, %b = %y` -> the inner names and the initial values."""
    pairs = [p.split(" = ") for p in split_top(text)]
    return [a for a, _ in pairs], parser.values(", ".join(b for _, b in pairs))


def _read_for(parser: Parser, op: Op, names: list[str], text: str) -> None:
    m = re.match(r"(?:unsigned )?(%\S+) = (\S+) to (\S+) step (\S+)", text)
    if m is None:
        raise TTIRSyntaxError(op.line)
    iv_type = re.search(r" : (\w+) \{$", text)
    bounds = [parser.value(m.group(k)) for k in (2, 3, 4)]
    inner: list[str] = []
    inits: list[Value] = []
    types: list[Type] = []
    if (at := text.find("iter_args(")) >= 0:
        end = _closing(text, at + 9)
        inner, inits = _carried(parser, text[at + 10 : end])
        opened = text.index("(", text.index("->", end))
        types = _type_list(text[opened : _closing(text, opened) + 1])
    op.operands = bounds + inits
    body = Block("bb0")
    iv = parse_type(iv_type.group(1)) if iv_type else Type("i32")
    for name, type_ in zip([m.group(1), *inner], [iv, *types], strict=True):
        parser._argument(name, type_, body)
    op.regions.append(parser._region(op, body)[0])
    parser.define(op, names, types if names else [])


def _read_if(parser: Parser, op: Op, names: list[str], text: str) -> None:
    head, _, outs = text.rstrip("{ ").partition("->")
    op.operands = parser.values(head)
    region, line = parser._region(op)
    op.regions.append(region)
    if "else" in line:
        op.regions.append(parser._region(op)[0])
    parser.define(op, names, _type_list(outs) if names else [])


def _read_while(parser: Parser, op: Op, names: list[str], text: str) -> None:
    before = Block("bb0")
    ins, _, outs = split_signature(text.rstrip("{ "))[1].partition("->")
    if text.startswith("("):
        inner, op.operands = _carried(parser, text[1 : _closing(text, 0)])
        for name, type_ in zip(inner, _type_list(ins), strict=True):
            parser._argument(name, type_, before)
    op.regions.append(parser._region(op, before)[0])
    op.regions.append(parser._region(op)[0])
    parser.define(op, names, _type_list(outs) if names else [])


def _read_branch(parser: Parser, op: Op, names: list[str], text: str) -> None:
    """`cf.br ^bb1(%a : type)` and `cf.cond_br %c, ^bb1(...), ^bb2`."""
    del names
    parts = split_top(re.sub(r"\s*\{[^{}]*\}$", "", text))
    if op.name == "cf.cond_br":
        op.operands = [parser.value(parts.pop(0))]
    for part in parts:
        label, _, args = part.partition("(")
        args = split_signature(args.rstrip(")"))[0]
        op.successors.append((label.strip("^ "), parser.values(args)))


_READERS: dict[str, Callable[[Parser, Op, list[str], str], None]] = {
    "arith.constant": _read_constant,
    "scf.for": _read_for,
    "scf.if": _read_if,
    "scf.while": _read_while,
    "cf.br": _read_branch,
    "cf.cond_br": _read_branch,
}


def parse(text: str) -> Module:
    """Parse the text of a Triton module.

    Parameters
    ----------
    text : str
        TTIR as printed by `str_nodebug()`, or by `str(module)` (operations then carry `loc`).

    Raises
    ------
    TTIRSyntaxError
        If the text does not read as TTIR.
    """
    return Parser(text).parse()

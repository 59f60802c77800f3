"""The rules of TTIR: is text that came from a file a kernel, before anything is made of it?

Triton verifies modules too, but its parser is C++ that trusts whom it reads; this one is Python and trusts nobody. It
knows the operations that the lowering knows, each with the types that it takes (`rules`), and checks values (used where
they are defined), blocks (ended by what ends them), calls (of functions that are there, not of themselves) and sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from opweave.codegen.triton_cpu.operations import operation
from opweave.codegen.triton_cpu.rules import (
    NO_ATTRIBUTES,
    TTIRError,
    attributes_of,
    check_branch,
    check_combine,
    check_type,
    fail,
)
from opweave.registry.errors import ExportError
from opweave.registry.interrupts import let_through
from opweave.registry.triton.ttir import (
    Block,
    Function,
    Module,
    Op,
    Region,
    TTIRSyntaxError,
    Type,
    Value,
    callee_of,
    parse,
    walk,
)

_MOST_TEXT = 4 << 20
_MOST_LINES = 50_000
_MOST_DEPTH = 48
_MOST_OPERATIONS = 100_000
"""Once calls are inlined."""

_LINE = re.compile(
    r"module(?: attributes \{[^{}]*\})? \{"
    r'|tt\.func (?:public|private) @(?:"[^"]+"|[\w.$]+)\([^()]*\)(?: -> [^{}]+)?(?: attributes \{[^{}]*\})? \{'
    r'|[%"].*|(?:tt(?!\.func)|scf|cf|gpu|ttg|llvm\.intr)\.[\w.]+\b.*'
    r"|\^bb\d+.*|\}.*|#loop\w* = #llvm\.loop_\w+<[\w =#,]*>"
)
_PLAIN = re.compile(r"[\t\x20-\x7e\n]*")
_QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
_LABEL = re.compile(r"\^bb\d+(?:\(.*\))?:(?:\s*// (?:pred: \^bb\d+|\d+ preds: (?:\^bb\d+(?:, )?)+|no predecessors))?")


def verify(text: str, name: str) -> Function:
    """The kernel of a module that was read and checked; see `read`."""
    return read(text, name).functions[name]


def read(text: str, name: str) -> Module:
    """Read a kernel with its functions, and check it.

    Parameters
    ----------
    text : str
        A module of TTIR as Triton prints it, without source locations.
    name : str
        The kernel's function.

    Raises
    ------
    TTIRError
        If it breaks a rule.
    """
    _check_text(text)
    try:
        module = parse(text)
    except (TTIRSyntaxError, ValueError, IndexError, AssertionError, StopIteration, RecursionError, KeyError) as error:
        let_through(error)
        raise TTIRError(f"it does not read as TTIR ({type(error).__name__}: {str(error)[:200]})") from None
    if name not in module.functions or not module.functions[name].public:
        raise TTIRError(f"it has no kernel called {name[:80]!r}")
    for function in module.functions.values():
        _Verifier(module, function).run()
    sizes: dict[str, int] = {}
    for function in module.functions:
        _count(module, function, (), sizes)
    return module


def check_text(name: str, text: str, parameters: Sequence[tuple[str, str]]) -> int:
    """Check that text is a kernel with these parameters which keeps the rules of its operations.

    Nothing is compiled, and Triton is not asked. Gives how many operations the kernel has, with calls written out.

    Raises
    ------
    ExportError
        If it is not.
    """
    try:
        module = read(text, name)
        operations = _count(module, name, ())
    except TTIRError as error:
        raise ExportError(f"{name}: the kernel's text breaks the rules", got=str(error)) from None
    _check_parameters(name, module.functions[name].args, parameters)
    return operations


def _check_parameters(name: str, arguments: Sequence[Any], parameters: Sequence[tuple[str, str]]) -> None:
    """The launcher packs arguments by the parameters' types and the code reads them by its own: they must agree."""
    expected = [_mlir_type(kind) for _, kind in parameters]
    found = [_pointee(str(a.type)) for a in arguments]
    if expected != found:
        raise ExportError(
            f"{name}: the parameters that the file names are not those of the kernel",
            got=f"named {', '.join(k for _, k in parameters)}; the kernel takes {', '.join(found)}",
        )


def _pointee(text: str) -> str:
    return text.split(",")[0].rstrip(">") + ">" if text.startswith("!tt.ptr<") else text


_MLIR = {
    "fp8e5": "f8E5M2", "fp8e4nv": "f8E4M3FN", "fp8e4b8": "f8E4M3FNUZ", "fp8e5b16": "f8E5M2FNUZ", "fp16": "f16",
    "bf16": "bf16", "fp32": "f32", "fp64": "f64", "i1": "i1", "u1": "i1",
}  # fmt: skip


def _mlir_type(kind: str) -> str:
    if kind.startswith("*k"):
        kind = "*" + kind[2:]
    if kind.startswith("*"):
        return f"!tt.ptr<{_mlir_type(kind[1:])}>"
    return _MLIR.get(kind, kind.replace("u", "i") if kind[:1] == "u" else kind)


def _check_text(text: str) -> None:
    if len(text) > _MOST_TEXT or not _PLAIN.fullmatch(text):
        raise TTIRError(f"it is no text of at most {_MOST_TEXT} printable characters")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if len(lines) > _MOST_LINES:
        raise TTIRError(f"it has more than {_MOST_LINES} lines")
    depth = modules = 0
    for line in lines:
        label = line.startswith("^")
        returns = line.startswith("tt.func public") and ") -> " in line
        if (
            returns
            or not _LINE.fullmatch(line)
            or (label and not _LABEL.fullmatch(line))
            or ("//" in _QUOTED.sub("", line) and not label)
        ):
            raise TTIRError(f"no line of TTIR: {line[:120]!r}")
        depth += line.endswith("{") - line.startswith("}")
        modules += line.startswith("module")
        if not 0 <= depth <= _MOST_DEPTH or _deepest(line) > _MOST_DEPTH:
            raise TTIRError(f"it is nested more than {_MOST_DEPTH} deep")
    if depth or modules != 1 or not any(lines) or not next(s for s in lines if s[0] != "#").startswith("module"):
        raise TTIRError("it is not one module")


def _deepest(line: str) -> int:
    depth = most = 0
    for c in line:
        depth += (c in "<([{") - (c in ">)]}")
        most = max(most, depth)
    return most


def _count(module: Module, name: str, within: tuple[str, ...], known: dict[str, int] | None = None) -> int:
    """Operations of a function, with those of the functions that it calls: none of them calls itself."""
    sizes: dict[str, int] = {} if known is None else known
    if name in within:
        raise TTIRError(f"@{name[:80]} calls itself")
    if name not in sizes:
        ops = list(walk(module.functions[name].body))
        called = [callee_of(op) for op in ops if op.name == "tt.call"]
        sizes[name] = len(ops) + sum(_count(module, callee, (*within, name), sizes) for callee in called)
    if sizes[name] > _MOST_OPERATIONS:
        raise TTIRError(f"@{name[:80]} has more than {_MOST_OPERATIONS} operations")
    return sizes[name]


def _returned(function: Function) -> list[Type]:
    for op in walk(function.body):
        if op.name == "tt.return":
            return [v.type for v in op.operands]
    return []


class _Verifier:
    """The check of one function."""

    def __init__(self, module: Module, function: Function) -> None:
        self.module, self.function = module, function

    def run(self) -> None:
        function = self.function
        for argument in function.args:
            if argument.type.is_tensor:
                raise TTIRError(f"an argument is a {argument.type}")
            check_type(argument.type)
        if not function.body:
            raise TTIRError(f"@{function.name[:80]} has no body")
        if function.public and _returned(function):
            raise TTIRError("a kernel returns nothing")
        self.region(function.body, None, ("tt.return",))
        for op in walk(function.body):
            if op.name == "tt.return" and [v.type for v in op.operands] != _returned(function):
                fail(op, "results of one kind")

    def region(self, region: Region, parent: Op | None, ends: tuple[str, ...]) -> None:
        """Blocks in each other's reach; what ends them; each operation."""
        labels = [block.label for block in region]
        if len(set(labels)) != len(labels):
            raise TTIRError("two blocks of one name")
        several = len(region) > 1
        for block in region:
            for argument in block.args:
                check_type(argument.type)
            if block.parent is not parent or not block.ops:
                raise TTIRError("an empty block")
            last = block.ops[-1]
            branches = ("cf.br", "cf.cond_br") if several or "tt.return" in ends else ()
            implied = "scf.yield" in ends and not operation(last).ends and not several
            if last.name not in (*ends, *branches) and not implied:
                fail(last, f"a block that ends with {' or '.join((*ends, *branches))}")
        before = dominators(region)
        for block in region:
            there: set[Value] = set()
            for op in block.ops:
                if operation(op).ends:
                    if op is not block.ops[-1]:
                        fail(op, "nothing behind what ends a block")
                for value in [*op.operands, *(v for _, vs in op.successors for v in vs)]:
                    self.visible(op, value, there, before)
                self.operation(op, region)
                there.update(op.results)

    def visible(self, op: Op, value: Value, there: set[Value], before: dict[int, set[int]]) -> None:
        home = value.op.block if value.op is not None else value.block
        if home is op.block:
            if value.op is None or value in there:
                return
            fail(op, f"{value.name[:40]} defined before")
        if home is not None and home.parent is op.block.parent and id(home) in before.get(id(op.block), ()):
            return
        around = op.block.parent
        while around is not None:  # in a block around it, before what it is in
            if home is around.block:
                if value.op is None or value.op.pos < around.pos:
                    return
                break
            region = next((r for r in _regions_around(self.function, around) if around.block in r), None)
            if region is not None and home in region and id(home) in dominators(region).get(id(around.block), ()):
                return
            around = around.block.parent
        fail(op, f"{value.name[:40]} defined where it is used")

    def operation(self, op: Op, region: Region) -> None:
        entry = operation(op)
        if entry.check is None:
            fail(op, "an operation that a kernel in a file may use")
        for value in op.results:
            check_type(value.type)
        attributes = entry.attributes or NO_ATTRIBUTES
        if not attributes.fullmatch(attributes_of(op)):
            fail(op, "attributes of the operation")
        try:
            entry.check(op)
        except (IndexError, ValueError, KeyError, TypeError, AttributeError) as error:
            let_through(error)
            if isinstance(error, TTIRError):
                raise
            fail(op, f"operands and attributes of the operation ({type(error).__name__})")
        if op.name in ("cf.br", "cf.cond_br"):
            check_branch(op, region)
        elif op.name == "tt.call":
            self.call(op)
        elif entry.blocks:
            for inner in op.regions:
                if op.name.startswith("scf.") and len(inner) != 1:
                    fail(op, "one block")
            ends = entry.blocks
            for inner, end in zip(op.regions, ends if len(ends) == len(op.regions) else ends * 2, strict=False):
                self.region(inner, op, (end,))
            if not op.name.startswith("scf."):
                check_combine(op)
        elif op.regions:
            fail(op, "an operation without a body")

    def call(self, op: Op) -> None:
        callee = self.module.functions.get(callee_of(op))
        if callee is None or callee.public:
            fail(op, "a function of the module")
        if [v.type for v in op.operands] != [a.type for a in callee.args]:
            fail(op, "arguments that fit the function")
        if [v.type for v in op.results] != _returned(callee):
            fail(op, "results that fit the function")


def _regions_around(function: Function, op: Op) -> Iterator[Region]:
    parent = op.block.parent
    yield from [function.body] if parent is None else parent.regions


def dominators(region: Region) -> dict[int, set[int]]:
    """For each block of a region, by identity, those that every way to it passes."""
    if len(region) == 1:
        return {}
    labels = {block.label: block for block in region}
    everything = {id(block) for block in region}
    found = {id(block): set(everything) for block in region}
    found[id(region[0])] = {id(region[0])}
    sources: dict[int, list[Block]] = {id(block): [] for block in region}
    for block in region:
        for label, _ in block.ops[-1].successors if block.ops else ():
            if label in labels:
                sources[id(labels[label])].append(block)
    changed = True
    while changed:
        changed = False
        for block in region[1:]:
            ways = [found[id(source)] for source in sources[id(block)]]
            new = {id(block)}.union(set[int].intersection(*ways) if ways else ())
            if new != found[id(block)]:
                found[id(block)], changed = new, True
    return found

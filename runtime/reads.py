"""What a function's code can read from outside itself, found in its bytecode.

A compiled function holds only as long as the things it was traced with stay what they were. `scan` lists the names a
code object reads: global variables and closure cells, with the attribute chain that follows each, and every attribute
name that it mentions at all. It over-approximates (a name that is read on some path counts), which costs a guard too
many and never one too few.
"""

from __future__ import annotations

import dis
import functools
from types import CodeType
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.errors import Site

# With these a program can read any attribute without its name standing in the code.
_REFLECTION = frozenset(
    {"getattr", "hasattr", "vars", "dir", "eval", "exec", "globals", "__dict__", "__getattribute__", "attrgetter",
     "methodcaller"}
)  # fmt: skip
_FORMATS = frozenset({"str", "repr", "format", "ascii"})
_TYPE_TESTS = frozenset({"isinstance", "issubclass", "singledispatch"})
_LOADS_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_LOADS_CELL = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_LOADS_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})
_PUSHES = frozenset({"LOAD_CONST", "LOAD_FAST", *_LOADS_GLOBAL, *_LOADS_CELL})
_CALLS = frozenset({"PRECALL", "CALL"})
_COMPARES = frozenset({"IS_OP", "COMPARE_OP", "CONTAINS_OP"})
_TENSORS = frozenset({"Tensor", "Parameter"})
_NUMBERS = frozenset({"int", "float", "bool"})


@dataclass(frozen=True, slots=True)
class Name:
    """One name read (or written) by a code object.

    Attributes
    ----------
    kind : str
        ``global``, ``cell`` or ``import``.
    path : tuple of str
        The variable, then the attributes read from it at once: ``("np", "random", "rand")``.
    site : Site
        The first line that does so.
    written : bool
        Whether it is assigned or deleted.
    """

    kind: str
    path: tuple[str, ...]
    site: Site
    written: bool = False


@dataclass(frozen=True, slots=True)
class CodeReads:
    """Everything `scan` finds in one code object and the code objects nested in it.

    Attributes
    ----------
    names : tuple of Name
        Variables from outside, read or written.
    attributes : dict
        Every attribute name read -> the first line that does so.
    written : frozenset of str
        Attribute names assigned or deleted.
    strings : frozenset of str
        String constants, which `getattr` may turn into attribute names.
    reflects : bool
        Whether attributes may be read whose names appear nowhere in the code.
    compares_identity : bool
        Whether the code asks `is` of two values (other than None and the like).
    tests_types : bool
        Whether the code asks what class a value is of, which classes may answer by themselves.
    makes_types : bool
        Whether the code may call the class of a value.
    formats : bool
        Whether the code may make text of values.
    uses_super : bool
        Whether the code looks names up behind a class that has them.
    optional : frozenset of str
        Attribute names of which the code asks whether they are there.
    takes_ids : bool
        Whether the code asks for the `id` of a value.
    catches : bool
        Whether the code may go on where a name is not there.
    loose : frozenset of str
        Attribute names read from something other than a variable from outside or `self`.
    asked_type : Site or None
        Where the code compares `type(...)` with a class of tensors.
    asked_number : Site or None
        Where it does with a class of numbers.
    """

    names: tuple[Name, ...]
    attributes: dict[str, Site]
    written: frozenset[str]
    strings: frozenset[str]
    reflects: bool
    compares_identity: bool
    tests_types: bool
    makes_types: bool
    formats: bool
    uses_super: bool
    optional: frozenset[str]
    takes_ids: bool
    catches: bool
    loose: frozenset[str]
    asked_type: Site | None
    asked_number: Site | None


@functools.lru_cache(maxsize=4096)
def scan(code: CodeType) -> CodeReads:
    """List what a code object reads from outside itself.

    Parameters
    ----------
    code : CodeType
        A function's code; functions and comprehensions defined inside it are included.
    """
    found = _Found()
    found.add(code, frozenset())
    return CodeReads(
        tuple(Name(kind, path, site, written) for (kind, path, written), site in found.names.items()),
        found.attributes,
        frozenset(found.written),
        frozenset(found.strings),
        found.reflects,
        found.compares_identity,
        found.tests_types,
        found.makes_types,
        found.formats,
        found.uses_super,
        frozenset(found.optional),
        found.takes_ids,
        found.catches,
        frozenset(found.loose),
        found.asked_type,
        found.asked_number,
    )


class _Found:
    def __init__(self) -> None:
        self.names: dict[tuple[str, tuple[str, ...], bool], Site] = {}
        self.attributes: dict[str, Site] = {}
        self.written: set[str] = set()
        self.strings: set[str] = set()
        self.reflects = False
        self.compares_identity = False
        self.tests_types = False
        self.makes_types = False
        self.formats = False
        self.uses_super = False
        self.optional: set[str] = set()
        self.takes_ids = False
        self.catches = False
        self.loose: set[str] = set()
        self.asked_type: Site | None = None
        self.asked_number: Site | None = None

    def add(self, code: CodeType, inner: frozenset[str]) -> None:
        """`inner`: cells made by an enclosing code object of the same function, so not from outside."""
        inner = inner | frozenset(code.co_cellvars)
        self.catches |= bool(code.co_exceptiontable)
        instructions = [i for i in dis.get_instructions(code) if i.opname not in ("EXTENDED_ARG", "CACHE")]
        line = code.co_firstlineno
        for at, instruction in enumerate(instructions):
            if instruction.positions and instruction.positions.lineno:
                line = instruction.positions.lineno
            site = Site(code.co_filename, line, code.co_name)
            name, op = instruction.argval, instruction.opname
            if op in _LOADS_GLOBAL or op in ("STORE_GLOBAL", "DELETE_GLOBAL"):
                self._variable("global", name, instructions, at, site)
            elif op in _LOADS_CELL or op in ("STORE_DEREF", "DELETE_DEREF"):
                if name not in inner:
                    self._variable("cell", name, instructions, at, site)
            elif op in _LOADS_ATTRIBUTE or op == "LOAD_SUPER_ATTR" or op == "IMPORT_FROM":
                self.attributes.setdefault(name, site)
                self.reflects |= name in _REFLECTION
                self.tests_types |= name in _TYPE_TESTS
                if not _is_owner(code, instructions[at - 1]):
                    self.loose.add(name)
            elif op in ("STORE_ATTR", "DELETE_ATTR"):
                self.written.add(name)
            if op in _COMPARES:
                asked = _asked_types(instructions[max(at - 12, 0) : at])
                if not _TENSORS.isdisjoint(asked):
                    self.asked_type = self.asked_type or site
                if not _NUMBERS.isdisjoint(asked):
                    self.asked_number = self.asked_number or site
            if op == "IS_OP":
                previous = instructions[at - 1]
                self.compares_identity |= previous.opname != "LOAD_CONST" or previous.argval not in (
                    None,
                    True,
                    False,
                    ...,
                )
            elif op == "MATCH_CLASS":
                self.tests_types = True
                self.reflects = True  # its positions are names in __match_args__
            elif op.startswith("FORMAT_"):
                self.formats = True
            elif op == "IMPORT_NAME":
                level = instructions[at - 2].argval if at > 1 else 0
                dots = "." * level if isinstance(level, int) else ""
                self.names.setdefault(("import", (dots + name,), False), site)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.add(constant, inner)
            else:
                self._strings(constant)

    def _strings(self, constant: Any) -> None:
        if isinstance(constant, str):
            self.strings.update(constant.split("."))
        elif isinstance(constant, (tuple, frozenset)):
            for each in constant:
                self._strings(each)

    def _variable(self, kind: str, name: str, instructions: list[dis.Instruction], at: int, site: Site) -> None:
        path = [name]
        for following in instructions[at + 1 :]:
            if following.opname not in _LOADS_ATTRIBUTE:
                break
            path.append(following.argval)
        self.names.setdefault((kind, tuple(path), not instructions[at].opname.startswith("LOAD")), site)
        if kind == "global":
            named = _named_attribute(instructions, at) if name in ("getattr", "hasattr") else None
            if named is not None:
                self.attributes.setdefault(named, site)
                self.loose.add(named)
                self.optional.add(named)
            else:
                self.reflects |= name in _REFLECTION
            self.compares_identity |= name == "id"
            self.takes_ids |= name == "id"
            self.tests_types |= name in _TYPE_TESTS
            self.makes_types |= name == "type"
            self.formats |= name in _FORMATS
            self.uses_super |= name == "super"


def _asked_types(before: list[dis.Instruction]) -> set[str]:
    """The names that stand in a comparison with `type(...)`; none where it has no such call."""
    names = {i.argval for i in before if i.opname in _LOADS_GLOBAL | _LOADS_CELL | _LOADS_ATTRIBUTE}
    return names if "type" in names else set()


def _named_attribute(instructions: list[dis.Instruction], at: int) -> str | None:
    """The name in `getattr(variable.attribute, "name", ...)`; None where it is computed."""
    at += 1
    if at >= len(instructions) or instructions[at].opname not in ("LOAD_FAST", *_LOADS_GLOBAL, *_LOADS_CELL):
        return None
    at += 1
    while at < len(instructions) and instructions[at].opname in _LOADS_ATTRIBUTE:
        at += 1
    if at >= len(instructions) or instructions[at].opname != "LOAD_CONST":
        return None
    name, after = instructions[at].argval, instructions[at + 1 : at + 3]
    if after and after[0].opname in _PUSHES:  # a default
        after = after[1:]
    return name if isinstance(name, str) and after and after[0].opname in _CALLS else None


def _is_owner(code: CodeType, before: dis.Instruction) -> bool:
    """Whether an attribute is read from a variable from outside, whose value is known, or from `self`."""
    if before.opname in _LOADS_GLOBAL or before.opname in _LOADS_CELL:
        return True
    return before.opname.startswith("LOAD_FAST") and before.argval == "self" and code.co_varnames[:1] == ("self",)

"""What a function's code can read from outside itself, found in its bytecode.

A compiled function holds only as long as the things it was traced with stay what they were. `scan` lists the names a
code object reads: global variables and closure cells, with the attribute chain that follows each, and every attribute
name that it mentions at all. It over-approximates (a name that is read on some path counts), which costs a guard too
many and never one too few.
"""

from __future__ import annotations

import dis
import functools
import sys
from dataclasses import dataclass
from types import CodeType

from opweave.registry.errors import Site

# With these a program can read any attribute without its name standing in the code.
_REFLECTION = frozenset({"getattr", "vars", "eval", "exec", "globals", "locals", "__dict__", "__getattribute__"})
_LOADS_ATTRIBUTE = frozenset({"LOAD_ATTR", "LOAD_METHOD"})
_LOADS_CELL = frozenset({"LOAD_DEREF", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_DEREF"})
_LOADS_GLOBAL = frozenset({"LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS"})


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
    """

    names: tuple[Name, ...]
    attributes: dict[str, Site]
    written: frozenset[str]
    strings: frozenset[str]
    reflects: bool
    compares_identity: bool


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
    )


class _Found:
    def __init__(self) -> None:
        self.names: dict[tuple[str, tuple[str, ...], bool], Site] = {}
        self.attributes: dict[str, Site] = {}
        self.written: set[str] = set()
        self.strings: set[str] = set()
        self.reflects = False
        self.compares_identity = False

    def add(self, code: CodeType, inner: frozenset[str]) -> None:
        """`inner`: cells made by an enclosing code object of the same function, so not from outside."""
        inner = inner | frozenset(code.co_cellvars)
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
            elif op in ("STORE_ATTR", "DELETE_ATTR"):
                self.written.add(name)
            elif op == "IS_OP":
                previous = instructions[at - 1]
                self.compares_identity |= previous.opname != "LOAD_CONST" or previous.argval not in (
                    None,
                    True,
                    False,
                    ...,
                )
            elif op == "IMPORT_NAME":
                self.names.setdefault(("import", (name,), False), site)
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                self.add(constant, inner)
            elif isinstance(constant, str):
                self.strings.add(constant)

    def _variable(self, kind: str, name: str, instructions: list[dis.Instruction], at: int, site: Site) -> None:
        path = [name]
        for following in instructions[at + 1 :]:
            if following.opname not in _LOADS_ATTRIBUTE:
                break
            path.append(following.argval)
        self.names.setdefault((kind, tuple(path), not instructions[at].opname.startswith("LOAD")), site)
        if kind == "global":
            self.reflects |= name in _REFLECTION
            self.compares_identity |= name == "id"


_STDLIB = frozenset(sys.stdlib_module_names) | {"builtins", "__future__"}
#: Packages whose functions are taken as they are: their code does not read the user's state behind our back.
_LIBRARIES = frozenset({"opweave", "numpy", "triton", "cupy", "optree", "ml_dtypes", "llvmlite", "networkx", "sympy"})


def is_library(module: str | None) -> bool:
    """Whether a module's functions are guarded by identity alone, without looking at what their code reads."""
    top = (module or "").partition(".")[0]
    return top in _LIBRARIES or (top in _STDLIB and top != "__main__")


#: What these give differs from call to call, so a compiled function would freeze the first answer.
_IMPURE_MODULES = frozenset({"random", "secrets", "time", "numpy.random"})
_IMPURE_NAMES = {
    "datetime": frozenset({"now", "today", "utcnow"}),
    "os": frozenset({"environ", "getenv", "urandom", "getpid"}),
    "uuid": frozenset({"uuid1", "uuid4"}),
    "builtins": frozenset({"input", "open"}),
}


def impure(module: str, attribute: str | None) -> bool:
    """Whether reading `module.attribute` gives something that changes between calls without any guard seeing it."""
    if module in _IMPURE_MODULES:
        return attribute is not None
    return attribute in _IMPURE_NAMES.get(module, ())

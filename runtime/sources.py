"""Where the values of a function come from, and how they are named to a user."""

from __future__ import annotations

import collections
import sys
import types
from collections.abc import Iterable
from dataclasses import field
from typing import Any

from opweave.registry.dataclass import dataclass
from opweave.registry.errors import Site
from opweave.registry.interrupts import let_through
from opweave.registry.loading import load_heavy
from opweave.registry.tensor import Tensor, describe
from opweave.runtime.reads import CodeReads, scan

MISSING: Any = type("_Missing", (), {"__repr__": lambda self: "nothing"})()
#: Where classes registered as pytree nodes are looked up, besides optree's global registry.
PYTREES = "opweave"
#: What optree knows by itself besides tuples.
_PYTREES = (type(None), list, dict, collections.OrderedDict, collections.defaultdict, collections.deque)


@dataclass(eq=False, slots=True)
class Source:
    """Where a value comes from.

    Attributes
    ----------
    load : str
        Expression that fetches it, in names the predicate knows.
    text : str
        The same in the user's words: ``self.weight``.
    site : Site
        The user's line that reads it.
    var : str
        Variable that holds it once `load` has run.
    bound : bool
        Whether `var` is assigned already.
    """

    load: str
    text: str
    site: Site
    var: str
    bound: bool = False


@dataclass(slots=True)
class TensorInput:
    """A tensor the trace may read, as an argument or from outside the function; None once it is compiled.

    Attributes
    ----------
    source : Source
        Where it is read.
    tensor : Tensor or None
        The one of the call that was compiled.
    options : callable, optional
        For a dimension that is left open the keywords of `ShapeEnv.new_size`.
    sizes, strides : tuple
        What the trace took it to have; symbolic where it is left open.
    """

    source: Source
    tensor: Any
    options: Any = None
    sizes: tuple[Any, ...] = ()
    strides: tuple[Any, ...] = ()


@dataclass(slots=True)
class NumberInput:
    """An int argument that is left open.

    Attributes
    ----------
    source : Source
        The parameter.
    value : SymInt
        What stands for it in the trace.
    """

    source: Source
    value: Any
    tensor: None = None


@dataclass
class Scope:
    """What the code walked so far names; grows until no new code is found.

    Attributes
    ----------
    attributes : dict
        Attribute names mentioned anywhere -> the first line.
    functions : dict
        Functions whose code is part of the trace, in the order found.
    reflects : bool
        Whether attributes may be read by computed names.
    compares_identity : bool
        Whether code asks `is` of two values.
    """

    attributes: dict[str, Site] = field(default_factory=dict)
    strings: set[str] = field(default_factory=set)
    functions: dict[types.FunctionType, None] = field(default_factory=dict)
    reflects: bool = False
    compares_identity: bool = False
    tests_types: bool = False
    makes_types: bool = False
    formats: bool = False
    uses_super: bool = False
    optional: set[str] = field(default_factory=set)
    takes_ids: bool = False
    catches: bool = False
    #: Functions that opweave calls back: rules of ops, which may keep books of their own.
    rules: dict[types.FunctionType, None] = field(default_factory=dict)
    #: Whether what is found belongs to those.
    in_rules: bool = False
    #: Attribute names that may be read from a tensor.
    loose: set[str] = field(default_factory=set)
    #: The code that may be part of the trace; None where all that names lead to may.
    ran: set[types.CodeType] | None = None

    def add(self, function: types.FunctionType) -> None:
        """Walk a function's code, once."""
        if function in self.functions or (self.in_rules and function in self.rules):
            return
        if self.ran is not None and function.__code__ not in self.ran:
            return
        if self.in_rules:
            self.rules[function] = None
        else:
            self.functions[function] = None
            if self.rules.pop(function, self) is None:
                return
        self.read(function)

    def read(self, function: types.FunctionType) -> None:
        """Note the names in a function's code."""
        reads: CodeReads = scan(function.__code__)
        for name, site in reads.attributes.items():
            self.attributes.setdefault(name, site)
        self.strings |= reads.strings
        self.reflects |= reads.reflects
        self.compares_identity |= reads.compares_identity
        self.tests_types |= reads.tests_types
        self.makes_types |= reads.makes_types
        self.formats |= reads.formats
        self.uses_super |= reads.uses_super
        self.optional |= reads.optional
        self.takes_ids |= reads.takes_ids
        self.catches |= reads.catches
        self.loose |= reads.loose

    def mention(self, names: Iterable[str], site: Site) -> None:
        """Count attribute names as read."""
        for name in names:
            self.attributes.setdefault(name, site)
            self.loose.add(name)

    @property
    def size(self) -> tuple[int, int, int, int, int, bool, bool, bool, bool, bool, bool, bool, int]:
        """Changes whenever something was added."""
        return (
            len(self.functions),
            len(self.rules),
            len(self.attributes),
            len(self.strings),
            len(self.loose),
            self.reflects,
            self.tests_types,
            self.makes_types,
            self.formats,
            self.uses_super,
            self.takes_ids,
            self.catches,
            len(self.optional),
        )

    @property
    def lacking(self) -> frozenset[str]:
        """Attribute names that may be read where they are not; any other such read would have raised in the trace."""
        return self.names if self.catches or self.reflects else frozenset(self.optional)

    @property
    def names(self) -> frozenset[str]:
        """Attribute names that may be read from an object."""
        return frozenset(self.attributes) | (frozenset(self.strings) if self.reflects else frozenset())

    def reads(self, name: str) -> bool:
        """Whether the code may read an attribute of this name."""
        return name in self.attributes or (self.reflects and not name.startswith("__"))


def code_site(code: types.CodeType) -> Site:
    """Where a function starts."""
    return Site(code.co_filename, code.co_firstlineno, code.co_name)


def is_named_tuple(kind: type) -> bool:
    """Whether a class comes from `NamedTuple` or `namedtuple`."""
    return issubclass(kind, tuple) and hasattr(kind, "_fields")


def is_registered(kind: type) -> bool:
    """Whether optree knows how to take a class apart."""
    if "optree" not in sys.modules and not issubclass(kind, tuple):
        return kind in _PYTREES  # nobody can have registered another one
    return load_heavy("optree").register_pytree_node.get(kind, namespace=PYTREES) is not None


def brief(value: Any) -> str:
    """A short text of any value."""
    if value is MISSING:
        return "nothing"
    if isinstance(value, Tensor):
        return describe(value)
    if isinstance(value, (types.FunctionType, type)):
        site = f" ({code_site(value.__code__).short})" if isinstance(value, types.FunctionType) else ""
        return f"{value.__qualname__}{site}"
    try:
        text = repr(value)
    except Exception as error:  # a user's __repr__ may raise anything, and must not hide the reason being told
        let_through(error)
        text = f"<{type(value).__name__}, whose repr raised {type(error).__name__}>"
    return text if len(text) <= 80 else text[:77] + "..."

"""Schemas in the JIT schema language of ATen: reading them, and writing one for a typed Python function.

    aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor
    aten::split.sizes(Tensor(a -> *) self, SymInt[] split_size, int dim=0) -> Tensor(a)[]

`parse_schema` reads such text by recursive descent and `str(schema)` prints it exactly as PyTorch prints its own, so
that schemas can be copied both ways. `infer_schema` writes one from a signature.
"""

from __future__ import annotations

import math
import re
from dataclasses import replace
from typing import Any, NoReturn

from opweave.registry import dtypes
from opweave.registry.annotations import infer_schema, register_annotation
from opweave.registry.device import parse_device
from opweave.registry.errors import OpweaveError, SchemaError
from opweave.registry.interrupts import let_through
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.signature import (
    MISSING,
    SCALAR_TYPE_CODES,
    UNESCAPES,
    WILDCARD,
    Alias,
    Argument,
    FunctionSchema,
    quote,
)
from opweave.registry.types import (
    BASE_NAMES,
    UNWRITTEN_NAMES,
    BaseType,
    GenericType,
    ListType,
    OptionalType,
    TupleType,
    Type,
    VarType,
    base_type,
)

__all__ = [
    "MISSING", "Alias", "Argument", "BaseType", "FunctionSchema", "GenericType", "ListType", "OptionalType",
    "TupleType", "Type", "VarType", "infer_schema", "parse_schema", "parse_type", "quote", "register_annotation",
]  # fmt: skip

_GENERIC_NAMES = {"Dict": 2, "Future": 1, "Await": 1, "RRef": 1, "Union": None}
_MISSPELT = {
    "double": "float",
    "int64_t": "SymInt or int",
    "Int": "int",
    "String": "str",
    "List": "T[]",
    "Optional": "T?",
}

#: Compiled when a schema is parsed; those of the ops declared here wait until somebody asks for them.
_TOKEN = r"""(?xsa)(?:\s|\#[^\n]*)*(?: (?P<name>[A-Za-z_]\w*) | (?P<fresh>\$\d+)
      | (?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?j?)
      | (?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*') | (?P<sign>->|::|\.\.\.|[()\[\],=*?!|.:+-]) | (?P<end>$) )"""

#: A line's end, or a backslash before what it does not stand before.
_BAD_ESCAPE = r"\n|(?:^|[^\\])(?:\\\\)*(\\[^abfnrtv\\'\"0-7])"

_SCALAR_TYPES = {code: dtypes.DTYPES[name] for name, code in SCALAR_TYPE_CODES.items()}
_MEMORY_FORMATS = {int(found): found for found in MemoryFormat}
_SCALAR_TYPE_NAMES = {
    **SCALAR_TYPE_CODES, "short": 2, "int": 3, "long": 4, "half": 5, "float": 6, "double": 7, "complex": 9,
    "cfloat": 9, "cdouble": 10,
}  # fmt: skip
#: Numbers by name, for any type that has numbers; names of element types are for `ScalarType` alone.
_ENUMERATORS = {"Mean": 1, "strided": 0, "contiguous_format": 0, "long": 4, "float": 6, "complex": 9}
#: What a schema looks like.
_FORM = "'mylib::scale(Tensor x, float by=1.0, *, int[] dims) -> Tensor'; Tensor(a!) is written to"
_CONSTANTS = {"None": None, "True": True, "False": False}
_NOT_FINITE = ("inf", "nan", "infj", "nanj")
_LISTED = frozenset(("int", "SymInt", "float", "complex", "bool", "str", "Scalar", "ScalarType"))
#: No names, as in PyTorch, whose schemas are read by the lexer of TorchScript.
_RESERVED = frozenset((
    "False", "None", "NoneType", "True", "and", "as", "assert", "break", "class", "continue", "def", "del", "elif",
    "else", "for", "global", "if", "import", "in", "is", "not", "or", "pass", "raise", "return", "while", "with",
))  # fmt: skip


def parse_schema(text: str, allow_typevars: bool = True) -> FunctionSchema:
    """Read a schema.

    Parameters
    ----------
    text : str
        Such as `"aten::add.Tensor(Tensor self, Tensor other, *, Scalar alpha=1) -> Tensor"`.
    allow_typevars : bool
        Whether a name in lower case may stand for any type. Ops that users define have no such types.

    Returns
    -------
    FunctionSchema
        The schema, which prints as PyTorch prints its own.

    Raises
    ------
    SchemaError
        If the text is no schema; a caret marks the place.
    """
    return _Parser(text, allow_typevars).schema()


def parse_type(text: str) -> Type:
    """Read a type without alias annotations, such as `Tensor?[]` or `int[2]`."""
    parser = _Parser(text)
    kind, alias = parser.sized_type()
    if alias is not None:
        parser.fail("an alias annotation belongs to an argument, not to a type", 0)
    parser.expect_end()
    return kind


class _Parser:
    """One pass over a schema's tokens, one method a rule of the grammar."""

    def __init__(self, text: str, allow_typevars: bool = True):
        self.text = text
        self.allow_typevars = allow_typevars
        self.fresh = 0
        self.tokens: list[tuple[str, str, int]] = []
        position, token = 0, re.compile(_TOKEN)
        while True:
            match = token.match(text, position)
            if match is None or match.lastgroup is None:
                at = len(text) - len(text[position:].lstrip(" \t\n\r\f\v"))
                self.fail("unterminated string" if text[at] in "\"'" else f"unexpected character {text[at]!r}", at)
            self.tokens.append((match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)))
            if match.lastgroup == "end":
                break
            position = match.end()
        self.index = 0

    # -- tokens

    @property
    def token(self) -> str:
        """The text of the token at hand; empty at the end."""
        return self.tokens[self.index][1]

    @property
    def is_name(self) -> bool:
        return self.tokens[self.index][0] == "name"

    def take(self) -> str:
        token = self.tokens[self.index][1]
        self.index += 1
        return token

    def accept(self, sign: str) -> bool:
        if self.tokens[self.index][1] != sign:
            return False
        self.index += 1
        return True

    def expect(self, sign: str) -> None:
        if not self.accept(sign):
            self.fail(f"expected {sign!r} but found {self.found}")

    def expect_name(self, what: str) -> str:
        if not self.is_name:
            self.fail(f"expected {what} but found {self.found}")
        if self.token in _RESERVED:
            self.fail(f"{self.token!r} is a reserved word, and no {what.partition(' ')[2]}")
        return self.take()

    def expect_end(self) -> None:
        if self.tokens[self.index][0] != "end":
            self.fail(f"expected the end but found {self.found}")

    @property
    def found(self) -> str:
        return "the end" if self.tokens[self.index][0] == "end" else repr(self.token)

    def fail(self, what: str, at: int | None = None, hint: str = _FORM) -> NoReturn:
        """Raise, with a caret under the token at hand or under column `at`."""
        column = self.tokens[self.index][2] if at is None else at
        shown = re.sub(r"\s", " ", self.text)
        raise SchemaError(f"schema: {what}", got=f"{shown}\n        {' ' * column}^ column {column + 1}", hint=hint)

    # -- declarations

    def schema(self) -> FunctionSchema:
        name, overload = self.qualified_name()
        if self.token != "(":
            self.fail(f"expected '(' and the arguments of {name} but found {self.found}")
        arguments, is_vararg = self.arguments()
        self.expect("->")
        returns, is_varret = self.returns()
        self.expect_end()
        return FunctionSchema(name, overload, arguments, returns, is_vararg, is_varret)

    def qualified_name(self) -> tuple[str, str]:
        name = self.expect_name("an operator name")
        if self.accept("::"):
            name += f"::{self.expect_name('an operator name')}"
        overload, at = "", self.index
        if self.accept("."):
            at = self.index
            overload = self.expect_name("an overload name")
        if overload == "default" or overload.startswith("__"):
            self.index = at
            self.fail(f"{overload!r} is not a legal overload name", hint="leave the default overload's name out")
        return name, overload

    def arguments(self) -> tuple[tuple[Argument, ...], bool]:
        self.expect("(")
        found: list[Argument] = []
        names: set[str] = set()
        kwarg_only = is_vararg = False
        while self.token != ")":
            if is_vararg:
                self.fail("'...' must be the last of the arguments")
            at = self.index
            if self.accept("*"):
                kwarg_only = True
            elif self.accept("..."):
                is_vararg = True
            else:
                argument = self.argument(kwarg_only)
                follows = not kwarg_only and not argument.has_default and any(a.has_default for a in found)
                if follows and not isinstance(argument.type, ListType):
                    self.index = at
                    self.fail(f"{argument.name!r} has no default, and stands after one that has")
                if argument.name in names:
                    self.index = at
                    self.fail(f"two arguments are called {argument.name!r}")
                names.add(argument.name)
                found.append(argument)
            self.separate()
        self.expect(")")
        if is_vararg and any(argument.has_default for argument in found):
            self.fail("with '...' no argument can have a default", 0)
        return tuple(found), is_vararg

    def separate(self) -> None:
        if self.token != ")":
            self.expect(",")
            if self.token == ")":
                self.fail("expected something after ','")

    def argument(self, kwarg_only: bool) -> Argument:
        kind, alias = self.sized_type()
        name = self.expect_name("an argument name")
        default = self.default(kind) if self.accept("=") else MISSING
        return Argument(name, kind, default, kwarg_only, alias)

    def returns(self) -> tuple[tuple[Argument, ...], bool]:
        if self.accept("..."):
            return (), True
        if self.token != "(":
            return (self.returned(),), False
        self.take()
        found: list[Argument] = []
        is_varret = False
        while self.token != ")":
            if is_varret:
                self.fail("'...' must be the last of the returns")
            if self.accept("..."):
                is_varret = True
            else:
                found.append(self.returned())
            self.separate()
        self.take()
        return tuple(found), is_varret

    def returned(self) -> Argument:
        kind, alias = self.sized_type()
        return Argument(self.expect_name("a name") if self.is_name else "", kind, alias=alias)

    # -- types

    def sized_type(self) -> tuple[Type, Alias | None]:
        """A type that may end in a list of known size, which only arguments and returns can have."""
        kind, alias = self.type()
        if self.accept("["):
            if not self.token.isdigit():
                self.fail(f"expected a list size or ']' but found {self.found}")
            kind = ListType(kind, int(self.take()))
            self.expect("]")
            alias = self.list_alias(alias)
            if self.accept("?"):
                kind = OptionalType(kind)
        return kind, alias

    def type(self) -> tuple[Type, Alias | None]:
        kind: Type
        alias: Alias | None = None
        if self.token == "(":
            kind = TupleType(self.type_list("a tuple type"))
        elif self.token in _GENERIC_NAMES and self.tokens[self.index + 1][1] == "(":
            at, name = self.index, self.take()
            kind = GenericType(name, self.type_list(name))
            count = _GENERIC_NAMES[name]
            given = len(kind.parameters)
            if given != count if count is not None else given < 2:
                self.index = at
                self.fail(f"{name} takes {count or 'at least 2'} type parameters, not {given}")
            alias = self.alias()
        else:
            kind = self.base_type()
            alias = self.alias()
        while True:
            if self.token == "[" and self.tokens[self.index + 1][1] == "]":
                self.index += 2
                kind, alias = ListType(kind), self.list_alias(alias)
            elif self.accept("?"):
                if kind == base_type("NoneType"):
                    self.fail("NoneType is optional as it is")
                if self.token == "(":
                    self.fail("an alias annotation stands before '?'", hint="Tensor(a)? rather than Tensor?(a)")
                kind = kind if isinstance(kind, OptionalType) else OptionalType(kind)
            else:
                return kind, alias

    def type_list(self, what: str) -> tuple[Type, ...]:
        self.expect("(")
        found: list[Type] = []
        while self.token != ")":
            at = self.index
            kind, alias = self.type()
            if alias is not None:
                self.index = at
                self.fail(f"alias annotations cannot stand inside {what}")
            found.append(kind)
            self.separate()
        self.take()
        return tuple(found)

    def base_type(self) -> Type:
        name = self.token
        if name in BASE_NAMES and (self.allow_typevars or name not in UNWRITTEN_NAMES):
            self.index += 1
            return base_type(name)
        if not self.is_name:
            self.fail(f"expected a type but found {self.found}")
        if name == "__torch__":
            self.fail("TorchScript classes have no counterpart here", hint="take the object apart into typed arguments")
        if name in _MISSPELT:
            self.fail(f"unknown type {name!r}", hint=f"a schema says {_MISSPELT[name]}")
        if self.allow_typevars and name[0].islower():
            self.index += 1
            return VarType(name)
        self.fail(f"unknown type {name!r}", hint="known: " + ", ".join(sorted(BASE_NAMES | _GENERIC_NAMES.keys())))

    # -- alias annotations

    def alias(self) -> Alias | None:
        if self.accept("!"):
            self.fresh += 1
            sets = (f"${self.fresh - 1}",)
            return Alias(sets, sets, is_write=True)
        if not self.accept("("):
            return None
        before = after = self.alias_sets()
        is_write = self.accept("!")
        if self.accept("->"):
            after = self.alias_sets()
        self.expect(")")
        return Alias(before, after, is_write)

    def alias_sets(self) -> tuple[str, ...]:
        found: list[str] = []
        while True:
            if self.token == WILDCARD or (self.allow_typevars and self.tokens[self.index][0] == "fresh"):
                found.append(self.take())
            else:
                found.append(self.expect_name("an alias set"))
            if not self.accept("|"):
                # What may be anything need not be named.
                return (WILDCARD,) if WILDCARD in found else tuple(dict.fromkeys(found))

    def list_alias(self, element: Alias | None) -> Alias | None:
        container = self.alias()
        if element is None:
            return container
        if container is None:
            container = Alias(is_write=element.is_write)
        return replace(container, contained=element)

    # -- defaults

    def default(self, kind: Type) -> Any:
        at = self.index
        value = self.default_value(kind)
        if not kind.fits_default(value) or (str(kind) == "Device" and not _is_device(value)):
            self.index = at
            self.fail(f"{self.found} is no default for an argument of type {kind}")
        inner = kind.required
        if inner is not kind or not isinstance(inner, ListType) or inner.size is None or isinstance(value, tuple):
            return value
        # PyTorch keeps (and prints) one integer for a list of them, but nothing else.
        return value if inner.element == base_type("int") else (value,) * inner.size

    def default_value(self, kind: Type) -> Any:
        element = kind.element if isinstance(kind, ListType) else kind
        if self.token == "[":
            if not isinstance(kind, ListType) or str(element) not in _LISTED:
                self.fail(f"a list is no default for an argument of type {kind}")
            self.take()
            return self.default_list(element)
        token_kind, token, _ = self.tokens[self.index]
        if token_kind == "string":
            return self.string()
        if token in _CONSTANTS:
            return _CONSTANTS[self.take()]
        name = str(element.base)
        if token == "-" or token_kind == "number" or token in _NOT_FINITE:
            # PyTorch makes a float of `1` in `float x=1` but not in `float? x=1`.
            value = self.number(as_float=str(element) in ("float", "SymFloat"))
            return _enumerator(name, value)
        if not isinstance(kind, ListType):
            if name == "ScalarType" and token in _SCALAR_TYPE_NAMES:
                return _enumerator(name, _SCALAR_TYPE_NAMES[self.take()])
            if token in _ENUMERATORS:
                if name in ("float", "complex", "Scalar"):
                    self.fail(f"{token!r} is no default for an argument of type {kind}")
                return _enumerator(name, _ENUMERATORS[self.take()])
        self.fail(f"expected a default value but found {self.found}")

    def string(self) -> str:
        """The text of a literal."""
        wrong = re.search(_BAD_ESCAPE, self.token)
        if wrong is not None:
            self.fail(f"a text cannot have {wrong[wrong.lastindex or 0]!r} in it")
        return _unquote(self.take())

    def default_list(self, element: Type) -> tuple[Any, ...]:
        found: list[Any] = []
        while not self.accept("]"):
            found.append(self.default_value(element))
            if self.token != "]":
                self.expect(",")
                if self.token == "]":
                    self.fail("expected something after ','")
        return tuple(found)

    def number(self, as_float: bool) -> Any:
        sign = -1 if self.accept("-") else 1
        token_kind, token, _ = self.tokens[self.index]
        if token_kind != "number" and token not in _NOT_FINITE:
            self.fail(f"expected a number but found {self.found}")
        if token.isdigit() and not as_float and not -(2**63) <= sign * int(token) < 2**63:
            self.fail(f"{token} does not fit in 64 bits")
        self.take()
        if token.endswith("j"):
            return complex(0.0, sign * float(token[:-1]))
        value = sign * (float(token) if as_float or not token.isdigit() else int(token))
        if value in (math.inf, -math.inf) and token != "inf":
            self.fail(f"{token} is too large", self.tokens[self.index - 1][2])
        follows, imaginary = self.token, self.tokens[min(self.index + 1, len(self.tokens) - 1)][1]
        if follows in ("+", "-") and imaginary.endswith("j"):
            self.index += 2
            return complex(value, float(follows + imaginary[:-1]))
        return value


def _is_device(text: Any) -> bool:
    try:
        parse_device(text)
    except (OpweaveError, TypeError, ValueError) as error:
        let_through(error)
        return False
    return True


def _enumerator(kind: str, value: Any) -> Any:
    """A number as an enumeration's member; as it is where the type is no enumeration, or has no such member."""
    if type(value) is not int:
        return value
    return {"ScalarType": _SCALAR_TYPES, "MemoryFormat": _MEMORY_FORMATS}.get(kind, {}).get(value, value)


def _unquote(literal: str) -> str:
    # By bytes, since an octal escape is one byte of UTF-8.
    return re.sub(rb"\\([0-7]{1,3}|.)", _unescape, literal[1:-1].encode(), flags=re.DOTALL).decode(errors="replace")


def _unescape(match: re.Match[bytes]) -> bytes:
    code = match[1].decode("latin-1")
    return bytes([int(code, 8) & 0xFF]) if code.isdigit() else UNESCAPES.get(code, code).encode("latin-1")

"""Expressions over symbolic sizes as JSON, and back.

    2*s0 + 1    ["add", ["mul", "s0", 2], 1]

An integer or true/false stands for itself, a string is a symbol, a list is an operation and its operands. Reading
builds the expression with the operations of symbolic numbers, one by one: no text is parsed. Since these simplify what
they are given, which may take long for a hostile tree, a tree is refused that is deep or whose product of sums is long.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from opweave.fake.symbolic import SymBool, SymFloat, SymInt, SymNumber
from opweave.registry.containers import is_list
from opweave.registry.errors import OpweaveError, UnsupportedError
from opweave.registry.interrupts import let_through
from opweave.tracer.export.encoding import Reader
from opweave.tracer.export.sizes import ExportEnv

_DEPTH = 24
_MOST_PARTS = 32
_MOST_TERMS = 64
_MOST_DEGREE = 8
_LARGEST = 2**63 - 1
KINDS: dict[str, type[SymNumber]] = {"int": SymInt, "float": SymFloat, "bool": SymBool}
_JOINED = frozenset({"add", "mul", "min", "max", "and", "or"})
_TWO = frozenset({"sub", "floordiv", "mod", "truediv", "pow"})
_RELATIONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_ONE = frozenset({"neg", "not", "floor"})


# ---- writing ---------------------------------------------------------------------------------------------------------


def encode_expression(env: ExportEnv, expr: Any, what: str) -> Any:
    """An expression as JSON.

    Raises
    ------
    UnsupportedError
        If `decode_expression` does not read it: it is too long, or computes with floats.
    """
    try:
        tree = _encode(env, expr, what, 0)
        _measure(Reader(tree, what), {info.name for info in env.symbols.values()}, 0)
    except OpweaveError:
        raise _not_held(env, expr, what) from None
    return tree


def _not_held(env: ExportEnv, expr: Any, what: str) -> UnsupportedError:
    return UnsupportedError(
        f"save: a number of {what} is an expression that a file does not hold",
        got=env.text(expr)[:200],
        hint="have fewer dynamic sizes in one product, and no floats but a quotient of sizes",
    )


def _encode(env: ExportEnv, expr: Any, what: str, depth: int) -> Any:
    if expr.is_Symbol:
        return env.symbols[expr].name
    plain = env.plain(expr)
    if isinstance(plain, (bool, int)):
        return plain
    if depth > _DEPTH or isinstance(plain, float):
        raise _not_held(env, expr, what)
    try:
        name, parts = env.taken_apart(expr)
    except KeyError:
        raise _not_held(env, expr, what) from None
    return [name, *(_encode(env, part, what, depth + 1) for part in parts)]


# ---- reading ---------------------------------------------------------------------------------------------------------


def decode_expression(source: Reader, env: ExportEnv, symbols: Mapping[str, Any]) -> Any:
    """The number that a tree stands for: an int, float or bool, or a symbolic one.

    Parameters
    ----------
    source : Reader
        The tree.
    env : ExportEnv
        Whose symbols.
    symbols : mapping of str to SymInt
        The symbols by name.

    Raises
    ------
    ExportError
        If it is no expression, or one that is too long.
    """
    _, _, kind = _measure(source, symbols.keys(), 0)
    try:
        expr = _build(source.value, env, symbols)
        plain = env.plain(expr)
        if isinstance(plain, (bool, int, float)):
            return float(plain) if kind == "float" else plain
        return KINDS[kind](env, expr) if kind == "bool" else env.wrap(expr, KINDS[kind])
    except (ArithmeticError, ValueError, TypeError, RecursionError, NotImplementedError, AttributeError) as error:
        let_through(error)
        return source.fail(f"an expression ({type(error).__name__})")


def _measure(source: Reader, symbols: Any, depth: int) -> tuple[int, int, str]:
    """Bounds of how many terms an expression has when it is multiplied out, and of their degree; its kind."""
    value = source.value
    if type(value) is bool:
        return 1, 0, "bool"
    if type(value) is int:
        source.integer(-_LARGEST, _LARGEST)
        return 1, 0, "int"
    if type(value) is str:
        if value not in symbols:
            source.fail("a symbol of the program")
        return 1, 1, "int"
    if depth > _DEPTH:
        source.fail("an expression that is nested less deep")
    items = source.items()
    if not 2 <= len(items) <= _MOST_PARTS + 1:
        source.fail(f"an operation with at most {_MOST_PARTS} operands")
    name = items[0].text(20)
    parts = [_measure(item, symbols, depth + 1) for item in items[1:]]
    count = len(parts)
    right = (
        (name in _JOINED and count >= 2)
        or (name in (_TWO | _RELATIONS) and count == 2)
        or (name in _ONE and count == 1)
    )
    if not right:
        items[0].fail("an operation on numbers")
    logical = name in ("and", "or", "not")
    wanted = ("bool",) if logical else ("int", "float") if name in ("truediv", "floor", *_RELATIONS) else ("int",)
    if any(kind not in wanted for _, _, kind in parts):
        source.fail("operands of the operation's type")
    terms, degree = sum(part[0] for part in parts), max(part[1] for part in parts)
    if name == "mul" or name in ("truediv", "floordiv"):
        terms, degree = math.prod(part[0] for part in parts), sum(part[1] for part in parts)
    elif name in ("min", "max"):
        terms *= 4  # they are compared with each other
    elif name == "pow":
        exponent = items[2].value
        if type(exponent) is not int or not 0 <= exponent <= _MOST_DEGREE:
            items[2].fail(f"an exponent from 0 to {_MOST_DEGREE}")
        terms, degree = parts[0][0] ** exponent, parts[0][1] * exponent
    if terms > _MOST_TERMS or degree > _MOST_DEGREE:
        source.fail("an expression with fewer terms")
    return terms, degree, "bool" if logical or name in _RELATIONS else "float" if name == "truediv" else "int"


def _build(tree: Any, env: ExportEnv, symbols: Mapping[str, Any]) -> Any:
    x = env._x
    if type(tree) is str:
        return symbols[tree].expr
    if not is_list(tree):
        return x.number(tree)
    name = tree[0]
    parts = [_build(part, env, symbols) for part in tree[1:]]
    if name == "neg":
        return x.sympy.expand(-parts[0])
    if name == "floor":
        return x.sympy.floor(parts[0])
    if name == "not":
        return env._relations.negated(parts[0])
    if name in _RELATIONS:
        relation = x.RELATIONS[name](*parts)
        # Relations between integers have one form.
        return env._relations.canonical(relation) if all(part.is_integer for part in parts) else relation
    if name in ("floordiv", "mod", "truediv") and parts[1].is_zero:
        raise ZeroDivisionError
    result = parts[0]
    for part in parts[1:]:
        result = env._form.joined(name, result, part) if name in ("and", "or") else x.BINARY[name](result, part)
    return result

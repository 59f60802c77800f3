"""Symbolic sizes: their ranges, the guards, and the numbers that are made of them."""

from __future__ import annotations

import re
from typing import Any

from opweave.fake.constraints import Guard, SymbolInfo
from opweave.fake.symbolic import SymBool, SymInt
from opweave.tracer.export.encoding import Numbers, Reader
from opweave.tracer.export.expressions import KINDS, decode_expression, encode_expression
from opweave.tracer.export.records.places import decode_site, encode_site, one_line
from opweave.tracer.export.sizes import Asked, ExportEnv, end_site

_SYMBOL = re.compile(r"[su](0|[1-9]\d{0,5})", re.ASCII)
_MOST_SYMBOLS = 1000
_LARGEST = 2**63 - 1


class SymbolicNumbers(Numbers):
    """Symbolic numbers of a program's environment.

    Attributes
    ----------
    env : ExportEnv
    symbols : dict of str to SymInt
        What was read, by name.
    """

    def __init__(self, env: ExportEnv, symbols: dict[str, Any]):
        self.env = env
        self.symbols = symbols

    def encode(self, value: Any, what: str) -> Any:
        if value.env is not self.env:
            return super().encode(value, what)
        if not all(symbol.is_integer for symbol in value.expr.free_symbols):
            return None  # a float that depends on data, or a condition on one: what computes it is in the graph
        tree = encode_expression(self.env, value.expr, what)
        # A float that is whole for all sizes, `n * 2.0`, is read as an int otherwise.
        return ["truediv", tree, 1] if value.kind == "float" and value.expr.is_integer else tree

    def decode(self, source: Reader) -> Any:
        kind = "int"
        if isinstance(source.value, dict):
            kind = source["number"].text(10)
            unknown = self.unknown(source, lambda: self.env)
            if unknown is not None:
                return unknown
            source = source["value"]
        found = decode_expression(source, self.env, self.symbols)
        plain = {"int": int, "float": float, "bool": bool}.get(kind)
        if plain is None or not isinstance(found, (plain, KINDS[kind])) or (kind == "int" and type(found) is bool):
            source.fail(f"an expression of the kind {kind[:10]}")
        return found


def encode_constraints(env: ExportEnv | None) -> dict[str, Any]:
    """Ranges of symbols, and guards."""
    if env is None:
        return {"range_constraints": {}, "guards": []}
    found: dict[str, Any] = {}
    for symbol, info in env.symbols.items():
        if not symbol.is_integer:
            continue  # no size is made of it
        asked = env.asked.get(symbol)
        found[info.name] = {
            "hint": info.hint, "low": info.low, "high": info.high, "places": list(info.sources),
            "label": asked.label if asked else "", "kind": asked.kind if asked else "",
            "least": bool(asked and asked.least), "site": encode_site(info.site),
            "low_site": encode_site(end_site(env, info, 1)), "high_site": encode_site(end_site(env, info, 2)),
        }  # fmt: skip
    guards: list[Any] = []
    for symbol, guard in env.equations.items():
        value = encode_expression(env, env.replacements[symbol], "a guard")
        guards.append({"replaces": env.symbols[symbol].name, "value": value, "site": encode_site(guard.site)})
    for expr, guard in env.facts.items():
        if any(env.symbols[s].hint is None for s in expr.free_symbols):
            continue  # the graph checks it
        value = encode_expression(env, expr, "a guard")
        guards.append({"replaces": None, "value": value, "site": encode_site(guard.site)})
    return {"range_constraints": found, "guards": guards}


def decode_symbols(source: Reader) -> SymbolicNumbers:
    """Read the symbols; makes an environment of them."""
    env = ExportEnv({}, ())
    found: dict[str, Any] = {}
    members = source.members()
    if len(members) > _MOST_SYMBOLS:
        source.fail(f"at most {_MOST_SYMBOLS} symbols")
    for name, item in members:
        if not _SYMBOL.fullmatch(name):
            source.fail("names of symbols")
        item.keys("hint", "low", "high", "label", "kind", "least", "places", "site", "low_site", "high_site")
        low = item["low"].integer(-_LARGEST - 1 if name.startswith("u") else 0)
        high = None if item["high"].value is None else item["high"].integer(low)
        hint = None if item["hint"].value is None else item["hint"].integer(low, _LARGEST if high is None else high)
        places = [one_line(place) for place in item["places"].items()]
        if (hint is None) != name.startswith("u") or (hint is not None and not places):
            item.fail("an example of a size that does not depend on data, and where it stands")
        info = SymbolInfo(name, hint, low, high, places, decode_site(item["site"]))
        symbol = env._declare(info)
        env.asked[symbol] = Asked(one_line(item["label"]), one_line(item["kind"]), item["least"].flag())
        found[name] = env.wrap(symbol)
        for key, relation, end in (("low_site", "ge", low), ("high_site", "le", high)):
            if item[key].value is not None and end is not None:
                expr = env._relations.canonical(env._x.RELATIONS[relation](symbol, env._x.number(end)))
                info.bounded.append(Guard(expr, decode_site(item[key])))
    env.frozen = True
    return SymbolicNumbers(env, found)


def decode_guards(source: Reader, numbers: Numbers) -> None:
    """Read what sizes must fulfil into the environment of their symbols."""
    if not isinstance(numbers, SymbolicNumbers):
        return None if not source.items() else source.fail("no guards: sizes are fixed")
    env = numbers.env
    equations: list[tuple[Any, Any, Guard]] = []
    for item in source.items():
        item.keys("replaces", "value", "site")
        found = decode_expression(item["value"], env, numbers.symbols)
        site = decode_site(item["site"])
        if item["replaces"].value is None:
            if not isinstance(found, SymBool):
                item["value"].fail("a relation that sizes may fulfil or not")
            env.facts[found.expr] = Guard(found.expr, site)
            continue
        replaced = numbers.symbols.get(item["replaces"].text())
        if replaced is None or not isinstance(found, (int, SymInt)) or type(found) is bool:
            item.fail("a symbol and its value")
        equal = found.expr if isinstance(found, SymInt) else env._x.number(found)
        equations.append((replaced.expr, equal, Guard(env._x.RELATIONS["eq"](replaced.expr, equal), site)))
    symbols = {symbol for symbol, _, _ in equations}
    if len(symbols) != len(equations) or any(equal.free_symbols & symbols for _, equal, _ in equations):
        source.fail("symbols that are replaced once, by others")
    for symbol, equal, guard in equations:
        env.equations[symbol], env.replacements[symbol] = guard, equal

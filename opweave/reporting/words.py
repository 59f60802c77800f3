"""Guards in words: what a version depends on, as one would say it.

A guard is a Python expression over names of its version. The names of values are replaced by what these are called, or
by the values themselves; then each clause that has a form known here is said. What has none stays as it is.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from opweave.registry.keys import GRAD
from opweave.runtime.guards import Guard
from opweave.runtime.modules import is_module
from opweave.runtime.sources import brief

_FETCHED = re.compile(r"\((_ow_e\d+_\w+) := ((?:[^()]|\((?:[^()]|\([^()]*\))*\))*)\)")
_CONSTANT = re.compile(r"_ow_e\d+_c\d+\b")
_OWN = re.compile(r"_ow_e\d+_[vms]\d*\b")
#: A size that is not fixed, where it is read first, or where it stands again.
_OPEN = re.compile(r"\w+\._sizes\[\d+\]|\bs\d+\b")
_LACKS = re.compile(r"not \(\w+ := .*\['(\w+)'\]\)")
_LONGEST = 80
#: Forms of clauses, over `it`, and how they are said; empty where another clause says it.
_CLAUSES: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(form), said)
    for form, said in (
        (r"type\(it\) is ([aeiouAEIO].*)", r"is an \1"),
        (r"type\(it\) is (.+)", r"is a \1"),
        (r"len\(it\._sizes\) == (\d+)", r"of \1 dimensions"),
        (r"it\._sizes == \((.*?),?\)", r"sizes [\1]"),
        (r"it\._strides == \((.*?),?\)", r"strides [\1]"),
        (r"it\._offset == (.+)", r"begins at element \1 of its memory"),
        (r"it\._dtype is (.+)", r"\1"),
        (r"it\.__code__ is .+", r"is unchanged"),
        (r"it is None", r"is None"),
        (r"it is not (.+)", r"is another object than \1"),
        (r"it is .+", r"is the same object"),
        (r"it == (.+)", r"is \1"),
        (r"operator\.itemgetter\((.+?)\)?\(\w+\.__dict__\) == (.+)", r"has \1 = \2"),
        (r"(?:type\(|\[\*map\(type, )m\)\]? (?:is|==) .+", r""),
        (r"repr\(it\) == '(.+)'", r"is \1"),
        (r"it (>=|<=|<|>) (.+)", r"\1 \2"),
        (r"len\(it\) == 1", r"has 1 item"),
        (r"len\(it\) == (\d+)", r"has \1 items"),
        (r"\[\*it\] == (.+)", r"has the keys \1"),
        (r"\{\*map\(type, it\)\} == (.+)", r""),
        (r"not it", r"has none"),
        (r"\(.+\[0\] == .+\[0\] or .+\(\)\)", r"has the same methods"),
        (r".+\.isdisjoint\(it\.__dict__\)", r"has no attributes of its own that hide others"),
        (r"it\.keys\(\)\.isdisjoint\(.+\)", r"are not hidden by globals"),
    )
)


def in_words(guard: Guard, constants: Mapping[str, Any]) -> str:
    """What a guard asks of what it is about.

    Parameters
    ----------
    guard : Guard
        One of a version.
    constants : mapping of str to object
        The names in its test.
    """
    test, var = guard.test, guard.source.var
    if test.startswith("len({id("):
        return "are different objects"
    if test == "True":
        return "may be any"
    said = [_said(clause, var, constants) for clause in test.split(" and ")]
    text = ", ".join(dict.fromkeys(part for part in said if part))
    return text if len(text) <= 4 * _LONGEST else text[: 4 * _LONGEST - 1] + "…"


def in_full(guard: Guard, constants: Mapping[str, Any]) -> str:
    """A guard on one line: what it is about, what it asks, and the user's line that reads it."""
    return f"{subject(guard, constants)}: {in_words(guard, constants)}  ({guard.source.site.short})"


def subject(guard: Guard, constants: Mapping[str, Any]) -> str:
    """What a guard is about, as the user names it; a module by its class."""
    text = guard.source.text
    for shown, name in {repr(v): type(v).__name__ for v in constants.values() if is_module(type(v))}.items():
        text = text.replace(shown, name)
    return " ".join(text.split())


def _said(clause: str, var: str, constants: Mapping[str, Any]) -> str:
    lacks = _LACKS.fullmatch(clause)
    if lacks:
        return f"has no {lacks[1]}"
    # Where it is fetched it is bound to its name, too.
    for name, expression in _FETCHED.findall(clause):
        shown = "it" if name == var else _text(expression, constants)
        clause = clause.replace(f"({name} := {expression})", shown)
    clause = re.sub(rf"(?<![\w.]){re.escape(var)}\b", "it", clause)
    clause = _text(clause, constants)
    keys = re.fullmatch(r"it\._keys == (\d+)", clause)
    if keys:
        return "requires grad" if int(keys[1]) & GRAD else "requires no grad"
    for form, said in _CLAUSES:
        found = form.fullmatch(clause)
        if found is not None:
            return _OPEN.sub("any", found.expand(said))
    return clause


def _text(text: str, constants: Mapping[str, Any]) -> str:
    """A text with values in place of their names."""

    def value(match: re.Match[str]) -> str:
        found = constants.get(match[0])
        if isinstance(found, type):
            return found.__name__
        shown = " ".join(brief(found).split()) if match[0] in constants else match[0]
        return shown if len(shown) <= _LONGEST else shown[: _LONGEST - 1] + "…"

    return _OWN.sub(lambda match: match[0].rpartition("_")[2], _CONSTANT.sub(value, text))

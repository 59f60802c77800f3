"""The user's lines: numbers for places, and the parts of files that a function ran through."""

from __future__ import annotations

import ast
import linecache
from collections.abc import Iterable

from opweave.registry.errors import Site, is_own_file
from opweave.registry.interrupts import let_through
from opweave.registry.loading import parsing
from opweave.reporting.model import FileRow
from opweave.tracer.node import Node

#: Lines around a place where the function that it is in is not found.
_AROUND = 6


class Sites:
    """Numbers for places in sources.

    Parameters
    ----------
    caller : Site, optional
        What stands for places in opweave, and for none, where no line of the user's computes anything: the call.
    """

    def __init__(self, caller: Site | None = None) -> None:
        self.known: dict[Site, int] = {}
        self.caller = caller

    def number(self, site: Site | None) -> int:
        """Of a place; -1 where it is none."""
        if site is not None and is_own_file(site.file):
            site = self.caller
        if site is None or not site.line:
            return -1
        return self.known.setdefault(site, len(self.known))

    def of(self, node: Node) -> list[int]:
        """Of a node: the user's frames that led to it, innermost first; on the way back those of its forward."""
        found = [*(node.meta.get("stack") or node.meta.get("forward_stack") or ())] or [node.meta.get("site")]
        numbers = list(dict.fromkeys(n for n in map(self.number, found) if n >= 0))
        return numbers if numbers or self.caller is None else [self.number(self.caller)]

    def rows(self) -> list[tuple[str, int, str]]:
        """All of them."""
        return [(site.file, site.line, site.function) for site in self.known]


def files(sites: Iterable[Site]) -> list[FileRow]:
    """The functions that places are in, file by file, in the order in which these were met."""
    lines: dict[str, set[int]] = {}
    for site in sites:
        lines.setdefault(site.file, set()).add(site.line)
    texts = {path: linecache.getlines(path) for path in lines}
    return [FileRow(path, _parts(text, lines[path])) for path, text in texts.items() if text]


def _parts(text: list[str], wanted: set[int]) -> list[tuple[int, list[str]]]:
    chosen: list[tuple[int, int]] = []
    functions = _functions("".join(text))
    for line in sorted(wanted):
        around = [(first, last) for first, last in functions if first <= line <= last]
        chosen.append(min(around) if around else (max(line - _AROUND, 1), line + _AROUND))
    joined: list[tuple[int, int]] = []
    for first, last in sorted(chosen):
        if joined and first <= joined[-1][1] + 1:
            joined[-1] = joined[-1][0], max(last, joined[-1][1])
        else:
            joined.append((first, last))
    return [(first, [line.rstrip("\n") for line in text[first - 1 : last]]) for first, last in joined]


def _functions(text: str) -> list[tuple[int, int]]:
    """First and last line of each function, decorators included."""
    try:
        with parsing:
            tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError) as error:  # it may be no Python at all, or changed since
        let_through(error)
        return []
    found: list[tuple[int, int]] = []
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found.append((first, node.end_lineno or node.lineno))
    return found

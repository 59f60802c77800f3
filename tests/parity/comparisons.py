"""Counts the comparisons with PyTorch that a test run makes.

A comparison is one call of one op, with one sample of arguments of one dtype, whose outcome was held against PyTorch's:
values, dtype, sizes and strides of each result, or derivatives, or the class of the error where both refuse.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterable

#: What is counted, in the order it is told in.
KINDS = {
    "sample": "results of sample calls",
    "refusal": "classes of errors on samples that both refuse",
    "gradient": "first and second derivatives of samples",
    "written": "gradients of programs that write in place, one op and one form each",
    "test": "results compared by a test of their own",
}

#: By kind and name of the op (of the test's file, where a test compares on its own).
counts: Counter[tuple[str, str]] = Counter()


def note(kind: str, name: str) -> None:
    """One comparison more."""
    assert kind in KINDS
    counts[kind, name] += 1


def note_test() -> None:
    """One comparison more, of the test that runs."""
    note("test", os.environ.get("PYTEST_CURRENT_TEST", "").partition("::")[0].rpartition("/")[2])


def packed(found: Counter[tuple[str, str]]) -> list[list[object]]:
    """The counts in a form that pytest-xdist can send."""
    return [[kind, name, number] for (kind, name), number in found.items()]


def unpacked(rows: Iterable[Iterable[object]]) -> Counter[tuple[str, str]]:
    """What `packed` made of them."""
    return Counter({(str(kind), str(name)): int(str(number)) for kind, name, number in rows})


def summary(found: Counter[tuple[str, str]], by_name: bool = False) -> list[str]:
    """Lines that tell the counts; `by_name` adds one for each op."""
    ops = {name for kind, name in found if kind != "test"}
    lines = [f"{found.total()} comparisons with PyTorch, {len(ops)} ops by their samples"]
    for kind, meaning in KINDS.items():
        number = sum(n for (other, _), n in found.items() if other == kind)
        lines.append(f"{number:8} {meaning}")
    if by_name:
        for name in sorted({name for _, name in found}):
            parts = [f"{kind} {found[kind, name]}" for kind in KINDS if found[kind, name]]
            lines.append(f"  {name}: {', '.join(parts)}")
    return lines

"""Lets the parity tests import what the tests of ops share, and tells how much they compared."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

here = Path(__file__).parent
sys.path[:0] = [str(here), str(here.parent / "registry" / "ops")]

import comparisons


def pytest_sessionfinish(session: pytest.Session) -> None:
    """A worker of pytest-xdist hands its counts over."""
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["comparisons"] = comparisons.packed(comparisons.counts)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: Any) -> None:
    """Adds up what the workers counted."""
    comparisons.counts.update(comparisons.unpacked(getattr(node, "workeroutput", {}).get("comparisons", ())))


def pytest_terminal_summary(terminalreporter: Any) -> None:
    """The number of comparisons; with `-v`, of each op."""
    if comparisons.counts:
        terminalreporter.section("parity")
        for line in comparisons.summary(comparisons.counts, by_name=terminalreporter.config.option.verbose > 0):
            terminalreporter.write_line(line)

"""Guards on what a process has besides its objects: settings, contexts, the environment."""

from __future__ import annotations

import importlib
import os
import warnings
from collections.abc import Callable
from typing import Any

from opweave.runtime.draws import StandIn
from opweave.runtime.guards import GuardSet
from opweave.runtime.sources import Source, brief


class WorldGuards(GuardSet):
    """Guards of what code reads without a variable leading to it."""

    def __init__(self, scope: Any, prefix: str) -> None:
        super().__init__(scope, prefix)
        #: What is guarded once however often it is met.
        self._once: set[tuple[Any, Any]] = set()

    def world(self, source: Source, read: Callable[[], str], text: str) -> None:
        """What operations on values of a type read besides them."""
        if ("world", text) in self._once:
            return
        self._once.add(("world", text))
        old = read()
        test = f"{self.constant(read)}() == {self.constant(old)}"
        self.require(test, source, lambda now: f"{text} {brief(old)} → {brief(read())}")

    def draw(self, source: Source, space: dict[str, Any], name: str, stand_in: StandIn) -> None:
        """Guard a function that draws random numbers, which a trace finds something else for."""
        self.draws.append((space, name, stand_in))
        self.same(source, stand_in.function)

    def decimals(self, source: Source) -> None:
        """Arithmetic on decimals depends on the thread's context."""
        self.world(source, _decimal_state, "decimal context")

    def environment(self, source: Source) -> None:
        """The variables of the environment, all of them; a trace must leave them as they are."""
        data: Any = vars(os.environ)["_data"]
        if id(data) in self.seen:
            return
        name = self.constant(data)
        where = self.source(name, "os.environ", source.site)
        self.seen[id(data)] = data, where
        known = dict(data)

        def explain(now: Any) -> str:
            keys = [key for key in {**known, **now} if known.get(key) != now.get(key)]
            return f"os.environ[{os.fsdecode(keys[0])!r}] changed" if keys else "os.environ changed"

        self.require(f"{self.get(where)} == {self.constant(known)}", where, explain)


def warning_filters() -> str:
    return repr(warnings.filters)


def _decimal_state() -> str:
    return repr(importlib.import_module("decimal").getcontext())

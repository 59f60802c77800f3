"""What the compiler tells about its work, on the standard `logging` module.

``OPWEAVE_LOGS=graph,fusion`` (or `set_logs`) turns channels on; each is the logger ``opweave.<channel>``, so an
application can also attach handlers of its own. A channel that is off costs one integer comparison: guard any message
that takes work to build with ``if channel.isEnabledFor(DEBUG)``, or pass the work as `lazily`.
"""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry.errors import ArgumentError, close_names

CHANNELS: dict[str, str] = {
    "graph": "the graph as captured, runnable as it stands",
    "passes": "the graph after every pass that changed it, and how long the pass took",
    "guards": "what a compiled function depends on, a line each",
    "recompiles": "why a function is compiled again",
    "breaks": "where a function that runs in parts breaks",
    "fusion": "which nodes became one kernel, which did not, and why",
    "loops": "each kernel as loops, after every step that changed it, and how it runs",
    "host": "what happens on the host at each call, step by step",
    "code": "the generated Triton source and the wrapper that launches it",
    "kernels": "each kernel as it is compiled or found in a cache",
    "ttir": "each kernel that is compiled for the CPU, in Triton's own form",
    "lowering": "how its loops are laid out: lanes, masks, what is evaluated before them, what is kept in buffers",
    "llvm": "the same kernel as LLVM IR",
    "asm": "the same kernel as assembly",
    "launches": "each launch of a kernel on the CPU: its grid and its time",
}

DEBUG = logging.DEBUG
WARNING = logging.WARNING


class lazily:
    """A message argument that is computed only if the record is really written."""

    __slots__ = ("_make",)

    def __init__(self, make: Callable[[], str]) -> None:
        self._make = make

    def __str__(self) -> str:
        return self._make()


def channel(name: str) -> logging.Logger:
    """The logger of one channel.

    Parameters
    ----------
    name : str
        A key of `CHANNELS`.
    """
    return logging.getLogger(f"opweave.{name}")


def set_logs(channels: str | Iterable[str]) -> None:
    """Turn exactly these channels on.

    Parameters
    ----------
    channels : str or iterable of str
        Names from `CHANNELS`, comma separated or one by one; ``"all"`` turns every channel on, ``""`` none.

    Raises
    ------
    ArgumentError
        For a name that is no channel.
    """
    names = [n.strip() for n in (channels.split(",") if isinstance(channels, str) else channels)]
    names = [n for n in names if n]
    if "all" in names:
        names = list(CHANNELS)
    for name in names:
        if name not in CHANNELS:
            close = close_names(name, CHANNELS, 1)
            raise ArgumentError(
                f"OPWEAVE_LOGS: no channel named {name!r}",
                got=",".join(names),
                hint=f"did you mean {close[0]!r}?" if close else f"channels: {', '.join(CHANNELS)}, all",
            )
    for name in CHANNELS:
        channel(name).setLevel(DEBUG if name in names else WARNING)
    root = logging.getLogger("opweave")
    if names and not any(isinstance(h, _StderrHandler) for h in root.handlers):
        handler = _StderrHandler()
        handler.setFormatter(logging.Formatter("[%(name)s] %(message)s"))
        root.addHandler(handler)
        root.propagate = False


class _StderrHandler(logging.StreamHandler):  # type: ignore[type-arg]
    """Writes to whatever `sys.stderr` is at that moment, so that output capture sees it."""

    def __init__(self) -> None:
        logging.Handler.__init__(self)

    @property
    def stream(self) -> Any:  # type: ignore[override]
        return sys.stderr


set_logs(os.environ.get("OPWEAVE_LOGS", ""))

"""What tuning found, kept for the next process.

Winners are entries of the cache's store, for this machine and these versions of everything. A file that
`OPWEAVE_TUNING` names is asked before it, and gets what it does not have. It is meant to be read, edited, and kept with
a program: the choices in it are those of every machine.

    {
     "softmax_kernel 3f0c1d...": {
      "key": [4096],
      "winner": "BLOCK=1024, num_warps=8",
      "milliseconds": {"BLOCK=1024, num_warps=8": 0.211, "BLOCK=512, num_warps=4": 0.243, "unfused": 0.397}
     }
    }
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from dataclasses import field
from pathlib import Path
from typing import Any

from opweave.codegen import cache, store
from opweave.registry import forking
from opweave.registry.dataclass import dataclass
from opweave.registry.folders import absolute
from opweave.registry.interrupts import let_through

_FILE = "winner.json"
_lock = forking.short_lock()


def _stores() -> list[store.Store]:
    return cache.stores()


@dataclass(frozen=True)
class Winner:
    """What was found best.

    Attributes
    ----------
    name : str
        Of the candidate.
    config : int or None
        Which of the kernel's configurations was best where it ran by itself.
    times : dict of str to float
        Milliseconds by candidate.
    """

    name: str
    config: int | None = None
    times: dict[str, float] = field(default_factory=dict[str, float])


@dataclass(frozen=True)
class Contest:
    """What was to be decided.

    Attributes
    ----------
    kernel : str
        Name of the user's kernel.
    key : tuple
        What the user tunes by.
    candidates : tuple of str
        Their names.
    digest : str
        What tells their kernels from others.
    device : str
        What they run on, as far as the cache's keys do not say it.
    """

    kernel: str
    key: tuple[Any, ...]
    candidates: tuple[str, ...]
    digest: str
    device: str = ""

    @property
    def parts(self) -> tuple[str, ...]:
        return ("winner", self.digest, repr(self.key), repr(self.candidates))

    @property
    def entry(self) -> str:
        """What the stores have it under."""
        return cache.key_of(self.device, *self.parts)

    @property
    def name(self) -> str:
        """What the user's file has it under."""
        return f"{self.kernel} {hashlib.sha256(repr(self.parts).encode()).hexdigest()[:40]}"

    def find(self) -> Winner | None:
        """What was kept."""
        fixed = _read_file().get(self.name)
        if fixed is not None:
            return self._winner(fixed)
        entry = self.entry
        for place in _stores():
            found = place.read(entry)
            if found is None:
                continue
            try:
                winner = self._winner(json.loads(found[_FILE]))
            except store.DAMAGE as error:
                let_through(error)
                place.report_damage(entry, error)
                continue
            if winner is not None:
                self._write_file(winner)
                return winner
        return None

    def keep(self, winner: Winner) -> None:
        """Keep what was found."""
        self._write_file(winner)
        content = json.dumps(self._told(winner)).encode()
        for place in _stores():
            if place.write(self.entry, {_FILE: content}):
                return

    def _told(self, winner: Winner) -> dict[str, Any]:
        told = {"key": list(self.key), "winner": winner.name, "milliseconds": winner.times}
        return told if winner.config is None else {**told, "config": winner.config}

    def _winner(self, told: dict[str, Any]) -> Winner | None:
        """What an entry says; None where it names no candidate."""
        config = told.get("config")
        if told["winner"] not in self.candidates or not (config is None or type(config) is int):
            return None
        return Winner(told["winner"], config)

    def _write_file(self, winner: Winner) -> None:
        path = _file()
        if path is None:
            return
        with _lock:
            known = {**_read_file(), self.name: self._told(winner)}
            fresh = path.with_name(f"{path.name}.{os.getpid()}")
            try:
                fresh.write_text(json.dumps(known, indent=1, sort_keys=True) + "\n")
                os.replace(fresh, path)
            except OSError as error:
                let_through(error)
                store.warn_once(str(path), "tuning", f"cannot write {path} ({error.strerror}); choices are not fixed")
                with contextlib.suppress(OSError):
                    fresh.unlink()


def _file() -> Path | None:
    """The user's file."""
    name = os.environ.get("OPWEAVE_TUNING")
    return absolute(name) if name else None


def _read_file() -> dict[str, Any]:
    path = _file()
    if path is None or not path.exists():
        return {}
    try:
        known = json.loads(path.read_text())
        return {name: about for name, about in known.items() if isinstance(about, dict) and "winner" in about}
    except store.DAMAGE as error:
        let_through(error)
        store.warn_once(str(path), "tuning", f"{path} is no file of tuning results ({error}); it is written anew")
        return {}

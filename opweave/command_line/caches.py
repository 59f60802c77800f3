"""`opweave cache`: the folders in which compiled code is kept."""

from __future__ import annotations

import argparse
import json
import os
import shutil
from pathlib import Path
from typing import Any

from opweave.codegen import cache, store
from opweave.registry.folders import absolute
from opweave.registry.interrupts import let_through
from opweave.reporting.text import size


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    action = "clear" if given.clear else given.action
    for what, folder in _folders():
        entries = _entries(folder)
        nbytes = sum(_bytes(entry) for entry in entries) if action != "where" else 0
        if action == "where":
            print(folder)
        elif action == "size":
            print(f"{nbytes}\t{folder}")
        elif action == "clear":
            left = [entry for entry in entries if not _removed(entry)]
            print(f"{folder}: {len(entries) - len(left)} entries removed, {size(nbytes)}")
            if left:
                print(f"  {len(left)} could not be removed")
        else:
            print(f"{what}: {folder}\n  {len(entries)} entries, {size(nbytes)}")
    if action is None and not cache.is_enabled():
        print("OPWEAVE_CACHE switches it off here")
    return 0


def _folders() -> list[tuple[str, Path]]:
    """Where code is kept: graphs and objects, and Triton's kernels, of which opweave's are the ones counted."""
    triton = os.environ.get("TRITON_CACHE_DIR") or os.path.join(os.environ.get("TRITON_HOME", "~"), ".triton", "cache")
    found = [("programs", cache.directory()), ("kernels", absolute(triton))]
    return [(what, folder) for what, folder in found if folder is not None]


def _entries(folder: Path) -> list[Path]:
    """The folders in it that are entries of a store: nothing else that may be there is touched."""
    try:
        return [
            Path(item.path) for item in os.scandir(folder) if item.is_dir(follow_symlinks=False) and _is_entry(item)
        ]
    except FileNotFoundError:
        return []


def _is_entry(item: os.DirEntry[str]) -> bool:
    try:
        about: Any = json.loads(Path(item.path, store.MANIFEST).read_bytes())
    except (*store.DAMAGE,) as error:
        let_through(error)
        return False
    return isinstance(about, dict) and about.get("key") == item.name


def _bytes(entry: Path) -> int:
    return sum(item.stat(follow_symlinks=False).st_size for item in os.scandir(entry))


def _removed(entry: Path) -> bool:
    shutil.rmtree(entry, ignore_errors=True)
    return not entry.exists()

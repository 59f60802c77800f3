"""Damage to what the caches hold: no program gives a wrong number or raises, and the next one finds the cache whole.

    python tests/runtime/damaged_entries.py --count 2000 --seed 0

Programs of `cached_programs` fill a cache each. Then, again and again, one file or folder of one entry is damaged in
one way, and the program runs as in a new process: with nothing but the disk to start from.
"""

from __future__ import annotations

import argparse
import builtins
import collections
import errno
import itertools
import json
import logging
import os
import random
import shutil
import sys
import tempfile
import time
import unittest.mock
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace
from typing import Any

sys.path.append(str(Path(__file__).parent))

import numpy as np
from cached_programs import PROGRAMS, Results

from opweave.codegen import store

HOSTILE = b"\nimport builtins\nbuiltins.opweave_was_here = True\nraise SystemExit('executed')\n"
STRANGER = 12345
AS_ROOT = os.geteuid() == 0


# ---- damage to a file ------------------------------------------------------------------------------------------------


def flip(path: Path, draw: random.Random, bits: int = 1) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(bits if data else 0):
        data[draw.randrange(len(data))] ^= 1 << draw.randrange(8)
    path.write_bytes(data)


def cut(path: Path, draw: random.Random) -> None:
    data = path.read_bytes()
    path.write_bytes(data[: draw.randrange(len(data) or 1)])


def other_number(path: Path, draw: random.Random) -> None:
    """A digit that is another one: text that is as good as the right one."""
    data = bytearray(path.read_bytes())
    digits = [i for i, byte in enumerate(data) if chr(byte).isdigit()]
    if digits:
        i = draw.choice(digits)
        data[i] = ord("0") + (data[i] - ord("0") + draw.randrange(1, 10)) % 10
    path.write_bytes(data)


def swap_inside(path: Path, draw: random.Random) -> None:
    """The content of another file of the entry."""
    path.write_bytes(draw.choice([p for p in path.parent.iterdir() if p.is_file()]).read_bytes())


def swap_across(path: Path, draw: random.Random) -> None:
    """A file of the same sort from another entry."""
    alike = path.parent.parent.parent.parent.glob(f"*/{path.parent.parent.name}/*/*{path.suffix}")
    path.write_bytes(draw.choice([p for p in alike if p.is_file()]).read_bytes())


def replaced(make: Callable[[Path], object]) -> Callable[[Path, random.Random], None]:
    def damage(path: Path, draw: random.Random) -> None:
        path.unlink()
        make(path)

    return damage


def aside(path: Path, draw: random.Random) -> None:
    """A link to where the same bytes are."""
    kept = path.parent.parent.parent / "aside"
    path.rename(kept)
    path.symlink_to(kept)


def huge(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(1 << 40)


def shaped(value: Any) -> Callable[[Path, random.Random], None]:
    return lambda path, draw: (
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode()) and None
    )


def sealed(path: Path, draw: random.Random) -> None:
    """A file of the wrong shape that the manifest names with its right digest."""
    if path.name == "manifest.json":
        files: Any = draw.choice(
            [[], "files", {"../outside": [1, "0"]}, {"x": 5}, {"x": ["1", 2]}, {"x": [-1, ""]}, {}]
        )
        path.write_text(json.dumps(store._manifest(path.parent.name, files)))
        return
    shapes: list[Any] = [
        [],
        {},
        None,
        5,
        {"kernels": 7},
        {"names": {"x": ["function", "os", "system"]}},
        {"target": []},
    ]
    content = json.dumps(draw.choice(shapes)).encode() if path.suffix == ".json" else b"\xff\xfe damaged ("
    if path.suffix in (".py", ".source", ".ttir", ".llir"):
        return  # text that nobody else could have put there is run, whatever it is
    path.write_bytes(content)
    manifest = path.parent / "manifest.json"
    files = json.loads(manifest.read_bytes())["files"]
    files[path.name] = [len(content), store._digest(content)]
    manifest.write_text(json.dumps(store._manifest(path.parent.name, files)))


OF_FILES: dict[str, Callable[[Path, random.Random], None]] = {
    "one bit": flip,
    "some bits": lambda path, draw: flip(path, draw, 20),
    "cut off": cut,
    "empty": lambda path, draw: path.write_bytes(b"") and None,
    "text behind": lambda path, draw: path.write_bytes(path.read_bytes() + HOSTILE) and None,
    "text before": lambda path, draw: path.write_bytes(HOSTILE + path.read_bytes()) and None,
    "another number": other_number,
    "another file's content": swap_inside,
    "another entry's file": swap_across,
    "gone": lambda path, draw: path.unlink(),
    "a folder": replaced(Path.mkdir),
    "a pipe": replaced(lambda path: os.mkfifo(path)),
    "a link to nothing": replaced(lambda path: path.symlink_to("/nowhere/at/all")),
    "a link to itself": replaced(lambda path: path.symlink_to(path.name)),
    "a link to a device": replaced(lambda path: path.symlink_to("/dev/zero")),
    "a link aside": aside,
    "huge": replaced(huge),
    "zeros": lambda path, draw: path.write_bytes(bytes(path.stat().st_size)) and None,
    "another encoding": lambda path, draw: (
        path.write_bytes(path.read_bytes().decode("latin1").encode("utf-16")) and None
    ),
    "a list": shaped([]),
    "null": shaped(None),
    "a number of many digits": shaped(b"[" + b"9" * 100_000 + b"]"),
    "nested deeply": shaped(b"[" * 200_000),
    "files of the wrong sort": shaped({"format": 2, "key": 1, "files": [1, 2], "digest": None}),
    "sealed, of another shape": sealed,
    "writable by others": lambda path, draw: path.chmod(0o666),
    "not readable": lambda path, draw: path.chmod(0),
}
if AS_ROOT:
    OF_FILES["somebody else's"] = lambda path, draw: os.chown(path, STRANGER, STRANGER)
    OF_FILES["a device"] = replaced(lambda path: os.mknod(path, 0o20600, os.makedev(1, 5)))


# ---- damage to the folder of an entry --------------------------------------------------------------------------------


def exchanged(path: Path, draw: random.Random) -> None:
    """Another entry under this one's key."""
    other = draw.choice([p for p in path.parent.parent.parent.glob(f"*/{path.parent.name}/*") if p.is_dir()])
    kept = path.parent.parent / "kept"
    shutil.copytree(other, kept)
    shutil.rmtree(path)
    kept.rename(path)


def instead(make: Callable[[Path], object]) -> Callable[[Path, random.Random], None]:
    def damage(path: Path, draw: random.Random) -> None:
        shutil.rmtree(path)
        make(path)

    return damage


def linked(path: Path, draw: random.Random) -> None:
    kept = path.parent.parent / "aside"
    path.rename(kept)
    path.symlink_to(kept)


def more(path: Path, draw: random.Random) -> None:
    """Files that nobody put there, with names that something might look for."""
    (path / "__init__.py").write_bytes(HOSTILE)
    (path / "numpy.py").write_bytes(HOSTILE)
    (path / "kernel.obj").write_bytes(b"\0" * 100)
    (path / "folder").mkdir()


OF_FOLDERS: dict[str, Callable[[Path, random.Random], None]] = {
    "another entry": exchanged,
    "a file": instead(lambda path: path.write_text("file")),
    "nothing": instead(lambda path: None),
    "an empty folder": instead(Path.mkdir),
    "a pipe": instead(lambda path: os.mkfifo(path)),
    "a link to nothing": instead(lambda path: path.symlink_to("/nowhere/at/all")),
    "a link to itself": instead(lambda path: path.symlink_to(path.name)),
    "a link aside": linked,
    "more files": more,
    "writable by others": lambda path, draw: path.chmod(0o777),
    "without permissions": lambda path, draw: path.chmod(0),
}
if AS_ROOT:
    OF_FOLDERS["somebody else's"] = lambda path, draw: os.chown(path, STRANGER, STRANGER)


# ---- a disk that fails -----------------------------------------------------------------------------------------------

FAILURES = (errno.ENOSPC, errno.EIO, errno.EROFS, errno.EDQUOT, errno.EACCES, errno.EMFILE, errno.ESTALE)


class Failing:
    """`os` for the store, of which one call fails, or all from there on.

    Parameters
    ----------
    calls : tuple of str
        Which functions count.
    after : int
        How many of their calls go well.
    error : int
        What the others raise.
    lasting : bool
        Whether all of them fail.
    """

    def __init__(self, calls: tuple[str, ...], after: int, error: int, lasting: bool) -> None:
        self.calls, self.left, self.error, self.lasting = calls, after, error, lasting

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        if name not in self.calls:
            return found

        def call(*args: Any, **kwargs: Any) -> Any:
            self.left -= 1
            if self.left == -1 or (self.lasting and self.left < 0):
                raise OSError(self.error, os.strerror(self.error))
            return found(*args, **kwargs)

        return call


WRITES = ("mkdir", "open", "write", "rename", "close")
READS = ("open", "read", "stat", "lstat", "fstat")


# ---- trials ----------------------------------------------------------------------------------------------------------


@dataclass
class Cache:
    """What one program left on disk."""

    name: str
    folder: Path
    expected: Results
    used: set[str] = field(default_factory=set)

    def entries(self) -> list[Path]:
        """What a process reads that finds everything whole."""
        found = (p for root in ("opweave", "triton") for p in (self.folder / root).iterdir())
        return sorted(p for p in found if p.name in self.used)

    def restore(self) -> None:
        """Everything as the program left it."""
        for root in ("opweave", "triton"):
            shutil.rmtree(self.folder / root, ignore_errors=True)
            shutil.copytree(self.folder / "whole" / root, self.folder / root)
        for left in ("aside", "kept"):
            shutil.rmtree(self.folder / left, ignore_errors=True)
            (self.folder / left).unlink(missing_ok=True)

    def run(self) -> Results:
        os.environ["OPWEAVE_CACHE_DIR"] = str(self.folder / "opweave")
        os.environ["TRITON_CACHE_DIR"] = str(self.folder / "triton")
        return PROGRAMS[self.name]()


@dataclass
class Report:
    """What happened."""

    trials: collections.Counter[str] = field(default_factory=collections.Counter)
    wrong: list[str] = field(default_factory=list)
    raised: list[str] = field(default_factory=list)
    executed: list[str] = field(default_factory=list)
    not_mended: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether nothing happened that should not."""
        return not (self.wrong or self.raised or self.executed or self.not_mended)

    def __str__(self) -> str:
        kinds = "\n".join(f"    {count:4d}  {kind}" for kind, count in sorted(self.trials.items()))
        bad = [*self.wrong, *self.raised, *self.executed, *self.not_mended]
        return "\n".join(
            [
                kinds,
                f"{self.trials.total()} damaged: {len(self.wrong)} wrong, {len(self.raised)} raised, "
                f"{len(self.executed)} executed, {len(self.not_mended)} not mended",
                *bad,
            ]
        )


def fill(folder: Path) -> dict[str, Cache]:
    """Have every program fill its cache."""
    caches = {}
    for name in PROGRAMS:
        cache = Cache(name, folder / name, [])
        cache.folder.mkdir(parents=True)
        cache.expected = cache.run()
        for root in ("opweave", "triton"):  # launches leave nothing in the one, compiled functions in the other
            (cache.folder / root).mkdir(exist_ok=True)
        with unittest.mock.patch.object(store.Store, "read", autospec=True, side_effect=store.Store.read) as read:
            again = cache.run()
        cache.used = {call.args[1] for call in read.call_args_list}
        assert all(np.array_equal(a, b) for a, b in zip(cache.expected, again, strict=True)), name
        for root in ("opweave", "triton"):
            shutil.copytree(cache.folder / root, cache.folder / "whole" / root)
        caches[name] = cache
    return caches


def damages() -> Iterator[tuple[str, str]]:
    """Kinds of damage, each for a file, a folder or the disk."""
    yield from (("file", kind) for kind in OF_FILES)
    yield from (("folder", kind) for kind in OF_FOLDERS)
    failures = ("a write fails", "writes fail", "a read fails", "reads fail")
    yield from (("disk", kind) for kind in failures for _ in range(5))  # each time at another call


def trials(caches: dict[str, Cache], count: int, seed: int) -> Iterator[tuple[Cache, str, str, Path]]:
    """Files and folders with each sort of damage, in an order in which the first few are of all sorts."""
    draw = random.Random(seed)
    every = []
    for cache in caches.values():
        for entry in cache.entries():
            for what, kind in damages():
                places = sorted(entry.iterdir()) if what == "file" else [entry]
                every += [(cache, what, kind, place) for place in places]
    draw.shuffle(every)
    yield from itertools.islice(itertools.cycle(every), count)


def attempt(cache: Cache, what: str, kind: str, place: Path, draw: random.Random, report: Report) -> None:
    """Damage, run, compare, and see whether the cache is whole again."""
    label = f"{cache.name}: {place.relative_to(cache.folder)}: {what}: {kind}"
    report.trials[f"{what}: {kind}"] += 1
    cache.restore()
    store._said.clear()
    failing: Any = os
    if what == "file":
        OF_FILES[kind](place, draw)
    elif what == "folder":
        OF_FOLDERS[kind](place, draw)
    else:
        if "write" in kind:
            shutil.rmtree(place)  # so that there is something to write
        calls = WRITES if "write" in kind else READS
        after = draw.randrange(60)
        failing = Failing(calls, after, draw.choice(FAILURES), "fail" == kind.split()[-1])
        label += f" (call {after}, {errno.errorcode[failing.error]})"
    try:
        store.os = failing
        found = cache.run()
    except BaseException as error:
        report.raised.append(f"raised: {label}: {type(error).__name__}: {error}")
        return
    finally:
        store.os = os
    if not all(np.array_equal(a, b) for a, b in zip(found, cache.expected, strict=True)):
        report.wrong.append(f"wrong: {label}")
    if builtins.__dict__.pop("opweave_was_here", None):
        report.executed.append(f"executed: {label}")
    if (
        what != "disk"
        and store.Store(place.parent if what == "folder" else place.parent.parent, "").read(
            place.name if what == "folder" else place.parent.name
        )
        is None
    ):
        report.not_mended.append(f"not mended: {label}")


def report_of(chosen: Iterable[tuple[Cache, str, str, Path]], seed: int) -> Report:
    """Make these trials."""
    logging.disable(logging.WARNING)  # each damage is reported
    try:
        report, draw = Report(), random.Random(seed)
        for trial in chosen:
            attempt(*trial, draw, report)
        return report
    finally:
        logging.disable(logging.NOTSET)


def tried(caches: dict[str, Cache], count: int, seed: int) -> Report:
    """As many trials as asked for, of all sorts."""
    return report_of(trials(caches, count, seed), seed)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--count", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    chosen: SimpleNamespace = parser.parse_args(namespace=SimpleNamespace())
    start = time.perf_counter()
    with tempfile.TemporaryDirectory(prefix="opweave-damaged-") as folder:
        report = tried(fill(Path(folder)), chosen.count, chosen.seed)
    print(report)
    print(f"{time.perf_counter() - start:.0f} s")
    return not report.good


if __name__ == "__main__":
    sys.exit(main())

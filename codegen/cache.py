"""Compiled artifacts on disk, so that a second process starts warm.

An artifact is a directory of text files under ``OPWEAVE_CACHE_DIR`` (default ``~/.cache/opweave``), named by a hash of
everything that went into it: the graph with all its types and layouts, the options, opweave's own sources, the versions
of Python, NumPy, Triton and LLVM, and the machine. It is an entry of a `codegen.store.Store`: what was damaged, or can
be written by others, is made anew. ``OPWEAVE_CACHE=0`` keeps artifacts in a directory that ends with the process; there
they go, too, when this one cannot be used.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import logging
import os
import platform
import sys
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

from opweave.codegen import store
from opweave.codegen.native import amx
from opweave.codegen.native.sealed import opened
from opweave.registry.dataclass import dataclass
from opweave.registry.folders import absolute
from opweave.registry.interrupts import let_through

_log = logging.getLogger("opweave.kernels")
#: Endings of what decides about generated code.
_SOURCES = (".py", ".ll")
_FORMAT = 2
_OBJECT = "code.o"


@dataclass(frozen=True, slots=True)
class Artifact:
    """Files of one compilation.

    Attributes
    ----------
    path : Path
        The directory they are in. What runs is `files`; those in the directory are for people and debuggers.
    files : dict of str to str
        Name -> content.
    hit : bool
        Whether they were there already.
    """

    path: Path
    files: dict[str, str]
    hit: bool


def is_enabled() -> bool:
    """Whether artifacts are kept for other processes."""
    return os.environ.get("OPWEAVE_CACHE", "1").lower() not in ("0", "off", "false", "no")


def directory() -> Path | None:
    """Where artifacts are; None where no such folder is known.

    A relative `OPWEAVE_CACHE_DIR` is below the folder in which the process started.
    """
    return absolute(os.environ.get("OPWEAVE_CACHE_DIR") or "~/.cache/opweave")


def key_of(*parts: str) -> str:
    """A name for an artifact made from these texts, by this software, on this machine."""
    digest = hashlib.sha256(environment().encode())
    for part in parts:
        # Lengths keep ("ab", "c") and ("a", "bc") apart.
        digest.update(f"\n{len(part)}\n{part}".encode())
    return digest.hexdigest()[:40]


@functools.cache
def environment() -> str:
    """Everything outside the graph that a generated artifact depends on."""
    versions = [f"{name} {_version(name)}" for name in ("numpy", "triton", "llvmlite")]
    machine = (platform.machine(), cpu_features(), f"amx {amx.granted()}")
    return "\n".join([f"format {_FORMAT}", sys.version, *machine, source_hash(), *versions])


def _version(package: str) -> str:
    """The version of an installed package, which the folder of its metadata is named by."""
    start, end = f"{package}-", ".dist-info"
    for folder in sys.path:
        try:
            names = os.listdir(folder or ".")
        except OSError as error:  # not a folder
            let_through(error)
            continue
        found = next((name for name in names if name.startswith(start) and name.endswith(end)), None)
        if found is not None:
            return found[len(start) : -len(end)]
    # Its loading takes longer than all the rest of a start.
    metadata = importlib.import_module("importlib.metadata")
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "none"


@functools.cache
def cpu_features() -> str:
    """The instruction sets of this machine's processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError as error:
        let_through(error)
        return platform.processor()
    lines = sorted(
        {line for line in text.splitlines() if line.startswith(("flags", "Features", "model name", "CPU part"))}
    )
    return "\n".join(lines)


@functools.cache
def source_hash() -> str:
    """A hash of opweave's own source; kept under the files' sizes and times, since reading them all takes its time."""
    # The stages are links in a source tree and folders of an installed package: by this name it has them all.
    package = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    sources = sorted(_sources(package))
    stamp = hashlib.sha256(package.encode())
    for source in sources:
        stamp.update("\n{} {} {}".format(*source).encode())
    key = f"source-{stamp.hexdigest()[:32]}"
    places = stores()
    for place in places:
        files = place.read(key)
        if files is not None and set(files) == {"hash"}:
            return files["hash"].decode(errors="replace")
    digest = hashlib.sha256()
    for path, size, _ in sources:
        digest.update(b"%s\0%s\0" % (path[len(package) + 1 :].encode(), _content(path, size)))
    found = digest.hexdigest()
    any(place.write(key, {"hash": found.encode()}) for place in places)
    return found


def _sources(folder: str) -> Iterator[tuple[str, int, int]]:
    """Each source file below a folder: its path, size and time."""
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir():
                if entry.name != "__pycache__":
                    yield from _sources(entry.path)
            elif entry.name.endswith(_SOURCES) and not entry.name.startswith("."):  # which may be an editor's lock
                status = entry.stat()
                yield entry.path, status.st_size, status.st_mtime_ns


def _content(path: str, size: int) -> bytes:
    """What a file holds, of about such a size; without the objects of `open`, which take half of the time."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        found = b""
        while part := os.read(descriptor, size + 1):
            found += part
        return found
    finally:
        os.close(descriptor)


def stores() -> list[store.Store]:
    """Where artifacts are kept; the last place is this process's own."""
    places = [store.Store(directory(), "compiled code is kept for this process only")] if is_enabled() else []
    return [*places, store.private()]


def fetch(key: str, make: Callable[[], Mapping[str, str]], *, anew: bool = False) -> Artifact:
    """The artifact of this name, made if it is not there or damaged.

    Parameters
    ----------
    key : str
        From `key_of`.
    make : callable
        Gives the files, name -> text.
    anew : bool
        Make it whatever is there: it turned out to be of no use.
    """
    found = None if anew else find(key)
    if found is not None:
        return found
    return keep(key, make())


def find(key: str) -> Artifact | None:
    """The artifact of this name, if there is one that is whole.

    Parameters
    ----------
    key : str
        From `key_of`.
    """
    for place, found in entries(key):
        try:
            files = {name: content.decode() for name, content in found.items()}
        except UnicodeDecodeError as error:
            place.report_damage(key, error)
            continue
        mend(key, place, found)
        _log.debug("found %s/%s", place.root, key)
        return Artifact(_folder(place, key), files, True)
    return None


def entries(key: str) -> Iterator[tuple[store.Store, dict[str, bytes]]]:
    """The entry of this name in each place that has one, and the place; tell `mend` of the one that is taken."""
    for place in stores():
        found = place.read(key)
        if found is not None:
            yield place, found


def mend(key: str, place: store.Store, files: Mapping[str, bytes]) -> None:
    """Put an entry that was taken where it should have been: it could not be kept there, or was damaged since."""
    first = stores()[0]
    if place.root != first.root:
        first.write(key, files)


def keep(key: str, files: Mapping[str, str]) -> Artifact:
    """Keep an artifact under this name, instead of one that is there.

    Parameters
    ----------
    key : str
        From `key_of`.
    files : mapping of str to str
        Name -> text.
    """
    places = stores()
    encoded = {name: text.encode() for name, text in files.items()}
    kept = next((place for place in places if place.write(key, encoded)), places[-1])
    return Artifact(_folder(kept, key), dict(files), False)


def fetch_object(key: str, make: Callable[[], bytes]) -> bytes:
    """Sealed object code of this name, made if it is not there or damaged.

    Parameters
    ----------
    key : str
        From `key_of`.
    make : callable
        Gives it.
    """
    for place, found in entries(key):
        if opened(found.get(_OBJECT, b"")) is not None:
            mend(key, place, found)
            return found[_OBJECT]
        place.report_damage(key, ValueError("checksum of the object code"))
    made = make()
    any(place.write(key, {_OBJECT: made}) for place in stores())
    return made


def _folder(place: store.Store, key: str) -> Path:
    """Where an artifact's files are; a name that no file has where they are in memory only."""
    return (place.root or Path("<opweave>")) / key

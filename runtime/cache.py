"""Compiled artifacts on disk, so that a second process starts warm.

An artifact is a directory of text files under ``OPWEAVE_CACHE_DIR`` (default ``~/.cache/opweave``), named by a hash of
everything that went into it: the graph with all its types and layouts, the options, opweave's own sources, the versions
of Python, NumPy, Triton and LLVM, and the machine. It appears by one rename, so a reader sees all of it or nothing; a
checksum finds what was damaged later, which is then made anew. ``OPWEAVE_CACHE=0`` keeps artifacts in a directory that
ends with the process.
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import json
import os
import platform
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

from opweave.registry import forking
from opweave.runtime.logging import channel

_log = channel("kernels")
_MANIFEST = "manifest.json"
_FORMAT = 1


@dataclass(frozen=True, slots=True)
class Artifact:
    """Files of one compilation.

    Attributes
    ----------
    path : Path
        The directory they are in.
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


def directory() -> Path:
    """Where artifacts are."""
    if not is_enabled():
        return _process_directory()
    configured = os.environ.get("OPWEAVE_CACHE_DIR")
    return Path(configured) if configured else Path.home() / ".cache" / "opweave"


def _process_directory() -> Path:
    return _directory_of(os.getpid())


@functools.cache
def _directory_of(process: int) -> Path:
    return Path(forking.temporary_folder("opweave-"))


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
    return "\n".join([f"format {_FORMAT}", sys.version, platform.machine(), cpu_features(), source_hash(), *versions])


def _version(package: str) -> str:
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return "none"


@functools.cache
def cpu_features() -> str:
    """The instruction sets of this machine's processor."""
    try:
        text = Path("/proc/cpuinfo").read_text()
    except OSError:
        return platform.processor()
    lines = sorted(
        {line for line in text.splitlines() if line.startswith(("flags", "Features", "model name", "CPU part"))}
    )
    return "\n".join(lines)


@functools.cache
def source_hash() -> str:
    """A hash of opweave's own source."""
    digest = hashlib.sha256()
    root = Path(__file__).resolve().parent.parent
    for stage in ("registry", "fake", "tracer", "passes", "codegen", "runtime", "opweave"):
        # Beside this file in a source tree, and in the package when installed.
        for path in sorted((root / stage).rglob("*.py")):
            digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    for path in sorted(root.glob("*.py")):
        digest.update(path.name.encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()


def fetch(key: str, make: Callable[[], Mapping[str, str]]) -> Artifact:
    """The artifact of this name, made if it is not there or damaged.

    Parameters
    ----------
    key : str
        From `key_of`.
    make : callable
        Gives the files, name -> text.
    """
    path = directory() / key[:2] / key
    files = _read(path)
    if files is not None:
        _log.debug("found %s", path)
        return Artifact(path, files, True)
    files = dict(make())
    return Artifact(_write(path, files), files, False)


def _read(path: Path) -> dict[str, str] | None:
    try:
        manifest = json.loads((path / _MANIFEST).read_bytes())
        files = {}
        for name, digest in manifest["files"].items():
            content = (path / name).read_bytes()
            if hashlib.sha256(content).hexdigest() != digest:
                raise ValueError(f"checksum of {name}")
            files[name] = content.decode()
        return files
    except FileNotFoundError as error:
        if not path.exists():
            return None
        _log.warning("cache: %s is incomplete (%s); making it anew", path, error.filename)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        _log.warning("cache: %s is damaged (%s); making it anew", path, error)
    return None


def _write(path: Path, files: dict[str, str]) -> Path:
    """Put the files in place by one rename; somewhere else if the cache cannot be written."""
    hashes = {name: hashlib.sha256(text.encode()).hexdigest() for name, text in files.items()}
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=path.parent))
    except OSError as error:
        _log.warning("cache: cannot write %s (%s); keeping this artifact for this process only", path, error)
        path = _process_directory() / path.name
        path.parent.mkdir(parents=True, exist_ok=True)
        fresh = Path(tempfile.mkdtemp(prefix=".new-", dir=path.parent))
    for name, text in files.items():
        (fresh / name).write_bytes(text.encode())
    (fresh / _MANIFEST).write_text(json.dumps({"files": hashes}, indent=1))
    try:
        os.rename(fresh, path)
    except OSError:
        # Another process was faster, or what stands there is damaged.
        if _read(path) == files:
            shutil.rmtree(fresh, ignore_errors=True)
        else:
            damaged = Path(tempfile.mkdtemp(prefix=".old-", dir=path.parent))
            try:
                os.rename(path, damaged / path.name)
                os.rename(fresh, path)
            except OSError:  # a third process replaces it at this moment; the fresh copy is as good
                return fresh
            shutil.rmtree(damaged, ignore_errors=True)
    return path

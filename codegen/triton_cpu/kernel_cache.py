"""Triton's disk cache, of which nothing is run that was not checked first.

`KernelCache` is a cache manager for Triton (`knobs.cache.manager_class`). A compiled kernel with all its stages is one
entry of a `Store` in Triton's own folder. Triton asks a manager for paths and then reads the files by itself; here the
paths name memory. What `CompiledKernel` reads under them is what was checked, or what this process compiled, so a disk
that is full or that lies is no matter. A manager that the user configured stays.
"""

from __future__ import annotations

import base64
import functools
import hashlib
import json
import os
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import triton
from triton import knobs
from triton.runtime.cache import CacheManager, FileCacheManager

from opweave.codegen import store
from opweave.codegen.native.sealed import opened
from opweave.registry.folders import absolute

_OTHERWISE = "Triton keeps its kernels for this process only"
_TIMINGS = ".autotune.json"
_NO_GROUP = (_TIMINGS, ".so")
"""What Triton keeps by itself, without a group of files: timings of configurations, compiled C for CUDA."""

_in_memory = threading.local()  # .files: path -> content, of the compilation that this thread is at


class KernelCache(CacheManager):
    """What Triton keeps under one key.

    Parameters
    ----------
    key : str
        Triton's hash of a kernel and all that it is compiled with, in base 32.
    override, dump : bool
        The folders in which a user exchanges or looks at stages; they are Triton's own affair.
    """

    def __new__(cls, key: str, override: bool = False, dump: bool = False) -> Any:
        return FileCacheManager(key, override, dump) if override or dump else super().__new__(cls)

    def __init__(self, key: str, override: bool = False, dump: bool = False) -> None:
        self.key = key
        self._store = store.Store(absolute(knobs.cache.dir or ""), _OTHERWISE)
        self._made: dict[str, bytes] = {}
        _in_memory.files = {}

    def get_group(self, filename: str) -> dict[str, str] | None:
        """The paths of an entry that was found intact, or None."""
        files = self._store.read(self.key)
        if files is None:
            return None
        try:
            _check(self.key, filename, files)
        except store.DAMAGE as error:
            self._store.report_damage(self.key, error)
            return None
        return {name: self._named(name, content) for name, content in files.items()}

    def put(self, data: Any, filename: str, binary: bool = True) -> str:
        """Take a file in; the path under which Triton finds it."""
        content = data if isinstance(data, bytes) else str(data).encode(errors="surrogateescape")
        if not filename.endswith(_NO_GROUP):
            self._made[filename] = content
            return self._named(filename, content)
        self._store.write(self._single(filename), {filename: content})
        return self._on_disk(filename, content) or self._named(filename, content)

    def put_group(self, filename: str, group: Mapping[str, str]) -> None:
        """Keep what was put before as one entry."""
        self._store.write(self.key, {name: self._made[name] for name in group})

    def get_file(self, filename: str) -> str | None:
        """The path of one file, which is on disk since it will be opened by name."""
        if filename in self._made:
            return self._on_disk(filename, self._made[filename])
        found = self._store.read(self._single(filename))
        if found is None:
            return None
        try:
            content = found[filename]
            if filename.endswith(_TIMINGS):
                _check_timings(content)
        except store.DAMAGE as error:
            self._store.report_damage(self._single(filename), error)
            return None
        return self._on_disk(filename, content)

    def _single(self, filename: str) -> str:
        return f"{self.key}.{filename}"

    def _named(self, filename: str, content: bytes) -> str:
        path = str((self._store.root or Path("/opweave")) / self.key / filename)
        _in_memory.files[path] = content
        return path

    def _on_disk(self, filename: str, content: bytes) -> str | None:
        """The path of a copy in a folder that is this process's own."""
        private = store.private()
        key = self._single(filename)
        return f"{private.root}/{key}/{filename}" if private.write(key, {filename: content}) else None


class _CheckedPath(type(Path())):
    """A path under which memory is read, if it names any."""

    def read_bytes(self) -> bytes:
        found = getattr(_in_memory, "files", {}).get(str(self))
        return super().read_bytes() if found is None else found

    def read_text(self, *args: Any, **kwargs: Any) -> str:
        found = getattr(_in_memory, "files", {}).get(str(self))
        return super().read_text(*args, **kwargs) if found is None else found.decode(errors="surrogateescape")


def install() -> None:
    """Have Triton use `KernelCache`, unless the user chose a manager, and keys that are quickly made."""
    from triton.compiler import compiler

    _quicken_keys(compiler)
    if knobs.cache.manager_class is None:
        knobs.cache.manager_class = KernelCache  # pyright: ignore[reportAttributeAccessIssue]
        # There is no other way to have it read memory: it makes plain paths of whatever a manager gives it.
        compiler.Path = _CheckedPath


def _quicken_keys(compiler: Any) -> None:
    """Have Triton name the CPU's kernels by `triton_stamp` where it would read all of its library first.

    Kernels of other devices keep the keys that they have without opweave.
    """
    original: Callable[..., str] = compiler.get_cache_key
    if getattr(original, "by_stamp", False):
        return

    @functools.wraps(original)
    def get_cache_key(src: Any, backend: Any, backend_options: Any, env_vars: Mapping[str, str]) -> str:
        if backend.target.backend != "cpu":
            return original(src, backend, backend_options, env_vars)
        parts = (triton_stamp(), src.hash(), backend.hash(), backend_options.hash(), sorted(env_vars.items()))
        return "-".join(map(str, parts))

    get_cache_key.by_stamp = True  # type: ignore[attr-defined]
    compiler.get_cache_key = get_cache_key


@functools.cache
def triton_stamp() -> str:
    """Triton's version, and the sizes and times of what it compiles with.

    Triton reads these files, a third of a second's worth, where this looks at the folders. A file that was changed by
    hand has another time; a cache that came with an installation, as in a container, stays good.
    """
    root = Path(triton.__file__).parent
    digest = hashlib.sha256(triton.__version__.encode())
    for part in ("compiler", "backends", "language", "runtime", "_C"):
        found = [
            os.path.join(folder, name)
            for folder, _, names in os.walk(root / part)
            for name in names
            if name.endswith((".py", ".so"))
        ]
        for path in sorted(found):
            status = os.stat(path)
            digest.update(f"\n{os.path.relpath(path, root)} {status.st_size} {status.st_mtime_ns}".encode())
    return f"{triton.__version__}-{digest.hexdigest()}"


def _check(key: str, filename: str, files: Mapping[str, bytes]) -> None:
    """Make sure that Triton can make a kernel of an entry."""
    metadata = json.loads(files[filename])
    target = metadata["target"]
    if not {"backend", "arch", "warp_size"} <= target.keys() or not isinstance(metadata["name"], str):
        raise ValueError("its metadata say nothing of a kernel")
    if base64.b32encode(bytes.fromhex(metadata["hash"])).decode().rstrip("=") != key:
        raise ValueError("its metadata are those of another kernel")
    if target["backend"] == "cpu" and opened(files[Path(filename).with_suffix(".obj").name]) is None:
        raise ValueError("checksum of the object code")


def _check_timings(content: bytes) -> None:
    """Make sure that an autotuner can choose a configuration by what it kept."""
    from triton.runtime.autotuner import Config

    timings = {Config(**config): timing for config, timing in json.loads(content)["configs_timings"]}
    min(timings, key=lambda config: timings[config])

"""Compiling C++ (and CUDA) to a shared library, again only where something changed.

An object file is kept with the digests of all that it was made of: the command, the source, and each header that the
compiler read. It is used again where they are the same.
"""

from __future__ import annotations

import hashlib
import json
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from opweave.registry import folders
from opweave.registry.errors import CompileError, Site, UnsupportedError
from opweave.registry.interrupts import let_through

try:
    import fcntl
except ImportError:  # Windows
    fcntl: Any = None

#: What nvcc is given with every source, as PyTorch does: operators of halves are those of `c10::Half` alone.
CUDA_FLAGS = (
    "-std=c++17", "-D__CUDA_NO_HALF_OPERATORS__", "-D__CUDA_NO_HALF_CONVERSIONS__", "-D__CUDA_NO_HALF2_OPERATORS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__", "--expt-relaxed-constexpr",
)  # fmt: skip
_CUDA_SUFFIXES = (".cu", ".cuh")


class Job(NamedTuple):
    """What is to be compiled.

    Parameters
    ----------
    name : str
        Of the library.
    sources : sequence of Path
        C++ and CUDA files.
    cflags, cuda_cflags, ldflags : sequence of str
        For the compiler, for nvcc, for linking.
    include_paths, library_paths : sequence of str
        Folders of headers and of libraries.
    site : Site
        Who wants it, for messages.
    verbose : bool
        Whether to print the commands.
    """

    name: str
    sources: Sequence[Path]
    cflags: Sequence[str]
    cuda_cflags: Sequence[str]
    ldflags: Sequence[str]
    include_paths: Sequence[str]
    library_paths: Sequence[str]
    site: Site
    verbose: bool = False

    @property
    def has_cuda(self) -> bool:
        """Whether one of the sources is CUDA's."""
        return any(path.suffix in _CUDA_SUFFIXES for path in self.sources)


def compiler() -> list[str]:
    """The C++ compiler: `CXX`, else the first of c++, g++ and clang++ that is there.

    Raises
    ------
    UnsupportedError
        If there is none.
    """
    named = os.environ.get("CXX")
    if named:
        return shlex.split(named)
    for name in ("c++", "g++", "clang++"):
        if found := shutil.which(name):
            return [found]
    raise UnsupportedError(
        "cpp_extension: there is no C++ compiler",
        got="neither $CXX, c++, g++ nor clang++",
        hint="install g++ or clang++",
    )


def cuda_compiler() -> str:
    """nvcc, of `CUDA_HOME` or on the path.

    Raises
    ------
    UnsupportedError
        If there is none.
    """
    home = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
    found = shutil.which("nvcc", path=os.path.join(home, "bin")) if home else shutil.which("nvcc")
    if found is None:
        raise UnsupportedError("cpp_extension: CUDA sources need nvcc", got="it is not on the path, nor in $CUDA_HOME")
    return found


def cuda_link_flags() -> list[str]:
    """What a library with CUDA code is linked with."""
    home = Path(cuda_compiler()).resolve().parents[1]
    folders_of_libraries = [home / "lib64", home / "targets" / "x86_64-linux" / "lib"]
    return [*[f"-L{path}" for path in folders_of_libraries if path.is_dir()], "-lcudart"]


def root() -> Path:
    """Where libraries are built that name no folder: `OPWEAVE_EXTENSIONS_DIR`, else in the user's cache."""
    named = folders.absolute(os.environ.get("OPWEAVE_EXTENSIONS_DIR", ""))
    if named is not None:
        return named
    cache = folders.absolute(os.environ.get("XDG_CACHE_HOME", "")) or Path.home() / ".cache"
    return cache / "opweave" / "extensions"


def build(job: Job, folder: Path) -> Path:
    """Compile and link what has changed.

    Returns
    -------
    Path
        The shared library. One that is built anew has another name, since one that is loaded must not be written to.

    Raises
    ------
    CompileError
        If the compiler or the linker refuses; with what it says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    with _only_one(folder):
        tasks = [_Task(job, source, folder, number) for number, source in enumerate(job.sources)]
        stale = [task for task in tasks if not task.is_current()]
        with ThreadPoolExecutor(max_workers=max(1, os.cpu_count() or 1)) as pool:
            list(pool.map(_Task.run, stale))
        objects = [str(task.object) for task in tasks]
        command = [*compiler(), "-shared", *objects]
        command += [f"-L{path}" for path in job.library_paths] + list(job.ldflags)
        command += cuda_link_flags() if job.has_cuda else []
        digest = _digest(" ".join(command), *[task.digest() for task in tasks])
        library = folder / f"{job.name}-{digest[:16]}.so"
        if not library.exists():
            fresh = library.with_suffix(f".{os.getpid()}.new")
            _run([*command, "-o", str(fresh)], job, "linking")
            os.replace(fresh, library)
        return library


class _Task:
    """One object file."""

    def __init__(self, job: Job, source: Path, folder: Path, number: int) -> None:
        self.job, self.source = job, source
        self.object = folder / f"{source.stem}-{number}.o"
        self.facts = self.object.with_suffix(".json")
        self.dependencies = self.object.with_suffix(".d")
        includes = [f"-I{path}" for path in job.include_paths]
        if source.suffix in _CUDA_SUFFIXES:
            flags = [*job.cuda_cflags, "-Xcompiler", "-fPIC", "-MD", "-MF", str(self.dependencies)]
            self.command = [cuda_compiler(), "-c", *includes, *flags, str(source)]
        else:
            flags = [*job.cflags, "-fPIC", "-MD", "-MF", str(self.dependencies)]
            self.command = [*compiler(), "-c", *includes, *flags, str(source)]

    def is_current(self) -> bool:
        """Whether the object file is what the command would make."""
        try:
            facts = json.loads(self.facts.read_text())
            return (
                self.object.exists()
                and facts["command"] == self.command
                and all(_file_digest(Path(path)) == digest for path, digest in facts["files"].items())
            )
        except (OSError, ValueError, KeyError, TypeError) as error:
            let_through(error)
            return False

    def run(self) -> None:
        """Compile."""
        self.facts.unlink(missing_ok=True)
        _run([*self.command, "-o", str(self.object)], self.job, f"compiling {self.source.name}")
        text = self.dependencies.read_text().replace("\\\n", " ").partition(": ")[2]
        files = {str(path): _file_digest(Path(path)) for path in shlex.split(text)}
        self.facts.write_text(json.dumps({"command": self.command, "files": files}))

    def digest(self) -> str:
        """Of the object file."""
        return _file_digest(self.object)


def _digest(*texts: str) -> str:
    return hashlib.sha256("\0".join(texts).encode()).hexdigest()


def _file_digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _run(command: list[str], job: Job, what: str) -> None:
    if job.verbose:
        print(shlex.join(command), flush=True)
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if job.verbose and done.stderr:
        print(done.stderr, flush=True)
    if done.returncode:
        said = (done.stderr or done.stdout).strip()
        raise CompileError(
            f"cpp_extension: {what} of {job.name!r} failed", got=f"{shlex.join(command)}\n{said}", at=job.site
        )


@contextmanager
def _only_one(folder: Path) -> Iterator[None]:
    """One process at a time builds in a folder."""
    if fcntl is None:
        raise UnsupportedError(
            "cpp_extension: libraries cannot be built on this system", got=sys.platform, hint="build them on Linux"
        )
    with open(folder / "lock", "w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield

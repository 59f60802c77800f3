"""A shared object of an object file: by the linker that is there, else by the one that `opweave[link]` brings."""

from __future__ import annotations

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from opweave.codegen.native import llvm
from opweave.codegen.native.llvm import Host
from opweave.registry.errors import CompileError, UnsupportedError

_EMULATIONS = {"x86_64": "elf_x86_64", "aarch64": "aarch64linux"}


def shared_object(image: bytes, name: str, machine: Host, libraries: Sequence[str]) -> bytes:
    """Link an object file.

    Parameters
    ----------
    image : bytes
        The object file.
    name : str
        Of the artifact.
    machine : Host
        What it is for.
    libraries : sequence of str
        Further libraries that it needs, as `-l` names them.

    Raises
    ------
    UnsupportedError
        If there is no linker.
    CompileError
        If the linker fails.
    """
    with tempfile.TemporaryDirectory() as folder:
        obj, out = Path(folder, f"{name}.o"), Path(folder, f"{name}.so")
        obj.write_bytes(image)
        failed: list[str] = []
        for command in _commands(machine):
            # Threads of the pool sleep in its code: it must stay.
            flags = [
                "-shared",
                "-z",
                "nodelete",
                "-z",
                "noexecstack",
                "--no-undefined-version",
                "-soname",
                f"{name}.so",
            ]
            said = subprocess.run([*command, *flags, "-o", str(out), str(obj), *libraries], capture_output=True)
            if said.returncode == 0:
                return out.read_bytes()
            failed.append(f"{' '.join(command)}: {said.stderr.decode(errors='replace').strip()[:500]}")
    if failed:
        raise CompileError("compile: the artifact cannot be linked", got="\n".join(failed))
    raise UnsupportedError(
        "compile: there is no linker for a shared object", got=f"{name}.so",
        hint="pip install 'opweave[link]'; or name the file .o, and link it where it is to run",
    )  # fmt: skip


def _commands(machine: Host) -> Iterator[list[str]]:
    processor = machine.triple.partition("-")[0]
    emulation = ["-m", _EMULATIONS[processor]] if processor in _EMULATIONS else []
    own = processor == llvm.host().triple.partition("-")[0]
    wanted = os.environ.get("OPWEAVE_LD")
    if wanted:
        yield [*wanted.split(), *emulation]
        return
    for linker in ("ld.lld", "ld") if own else ("ld.lld",):
        found = shutil.which(linker)
        if found:
            yield [found, *emulation]
    if importlib.util.find_spec("ziglang") is not None:
        yield [sys.executable, "-m", "ziglang", "ld.lld", *emulation]

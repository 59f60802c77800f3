"""The native runtime: what runs compiled kernels, without Triton, and where a cache has them without LLVM.

====================  ==================================================================
`llvm`                LLVM IR to object code
`objects`             object code to addresses: `linking` by itself, else `linking_llvm`
`background`          what LLVM does beside Python, the code of every first compilation (`preparing`) before all
`launch`, `pool`      from Python values to native arguments; running the programs of a launch
`calls`               eager calls that are replayed: `written` makes words of them, `calling` is the code
`correlation`         convolutions: what makes their code, by `emitting`
`foreign`, `direct`   kernels of C++ libraries: called by segments, and from Python
`exchange`            tensors to other libraries and from them, by DLPack's table of C functions
====================  ==================================================================

Its own code is LLVM IR in this folder. A file `name.machine.ll` is what stands in place of `name.ll` on such a
processor. `@NAME@` in a file is a number that Python decides (`source` puts it in); the names of LLVM's own globals are
never written so.
"""

from __future__ import annotations

import platform
import re
from collections.abc import Mapping
from pathlib import Path

_FOLDER = Path(__file__).parent
#: Processors under the name that files here have.
_MACHINES = {"arm64": "aarch64", "AMD64": "x86_64"}
_NUMBER = r"@([\w.-]+)@"


def machine() -> str:
    """The processor, as names of files here have it."""
    return _MACHINES.get(platform.machine(), platform.machine())


def source(*names: str, numbers: Mapping[str, object], of: str | None = None) -> str:
    """The text of files, one after the other.

    Parameters
    ----------
    *names : str
        Of the files, without their endings.
    numbers : mapping of str to number
        What stands for `@NAME@`.
    of : str, optional
        The processor; this machine's by default.

    Raises
    ------
    KeyError
        If a number is missing.
    """
    own = of or machine()
    files = [_FOLDER / f"{name}.{own}.ll" for name in names]
    found = [file if file.exists() else _FOLDER / f"{name}.ll" for name, file in zip(names, files, strict=True)]
    text = "\n".join(file.read_text() for file in found)
    return re.sub(_NUMBER, lambda match: str(numbers[match[1]]), text)

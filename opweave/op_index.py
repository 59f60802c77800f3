"""The index of the files that declare ops: which has which names, for who asks for one (`registry.families`).

    python -m opweave.op_index           # writes `registry/ops/index.py`
    python -m opweave.op_index --check   # says whether it is as it would be written

What declares an op, and that nothing else changes it, is watched in another process, which runs all files.
"""

from __future__ import annotations

import argparse
import importlib
import subprocess
import sys
import textwrap
from pathlib import Path
from types import FrameType
from typing import Any

PATH = Path(__file__).parent / "registry" / "ops" / "index.py"
_FOLDER = "opweave.registry.ops."

_TEXT = '''\
"""Names of ops and functions by the file of this folder that declares them; `python -m opweave.op_index` writes it.

A name is followed by the letters of its form (`registry.binding.form_of`), and has its namespace where that is not
`aten`. A name is of several files where each has overloads of it.
"""

# fmt: off
PACKETS = {packets}

#: Functions of the package that are no ops.
FUNCTIONS = {functions}

#: Methods of `Tensor` that are no ops, which are functions of the package, too.
METHODS = {methods}
'''

#: Functions that tell of an op that something was declared or changed: where they find it.
_TELLING = {"_add": "op", "changed": "self", "batching": "decl", "replaying": "decl"}


def _watch(declared: dict[str, str], frame: FrameType, event: str) -> None:
    """Note the file of ops that is being run, innermost, where an op is declared.

    Raises
    ------
    RuntimeError
        If it is declared twice, or another one changes it.
    """
    code = frame.f_code
    if event != "call" or code.co_name not in _TELLING or "/registry/" not in code.co_filename:
        return
    given = frame.f_locals.get(_TELLING[code.co_name], frame.f_locals.get("self"))
    op: Any = getattr(given, "op", given)
    outer: FrameType | None = frame
    while outer is not None:
        name = outer.f_globals.get("__name__", "")
        if outer.f_code.co_name == "<module>" and name.startswith(_FOLDER):
            file = name.removeprefix(_FOLDER)
            if code.co_name == "_add" and op.name in declared:
                raise RuntimeError(f"{op} is declared twice, in {declared[op.name]} and {file}")
            if declared.setdefault(op.name, file) != file:
                raise RuntimeError(f"{op} of {declared[op.name]} is changed in {file}, which may not be run with it")
            return
        outer = outer.f_back


def _index() -> str:
    """The text of the file; in a process that has not loaded opweave."""
    declared: dict[str, str] = {}
    sys.setprofile(lambda frame, event, _: _watch(declared, frame, event))
    binding, families, op = (
        importlib.import_module(f"opweave.registry.{name}") for name in ("binding", "families", "op")
    )
    modules = {name: families.family(name) for name in families.names()}
    sys.setprofile(None)
    packets: dict[str, list[str]] = {}
    for full, file in dict.fromkeys((name.partition(".")[0], file) for name, file in declared.items()):
        form = binding.form_of(op.registry.packets[full])
        packets.setdefault(file, []).append(full.removeprefix("aten::") + f"/{form}" * bool(form))
    tables = {
        which: {name: list(vars(module)[which]) for name, module in modules.items() if which in vars(module)}
        for which in ("FUNCTIONS", "METHODS")
    }
    return _TEXT.format(
        packets=_table(packets), functions=_table(tables["FUNCTIONS"]), methods=_table(tables["METHODS"])
    )


def _table(words: dict[str, list[str]]) -> str:
    """A dict of words by file, as Python's source."""
    lines = ["{"]
    for name in sorted(words):
        parts = textwrap.wrap(" ".join(words[name]), 109, break_long_words=False, break_on_hyphens=False)
        texts = [repr(part + " " * (part is not parts[-1])).replace("'", '"') for part in parts]
        if len(texts) == 1 and len(name) + len(texts[0]) < 111:
            lines.append(f'    "{name}": {texts[0]},')
        elif len(texts) == 1:
            lines.append(f'    "{name}": (\n        {texts[0]}\n    ),')
        else:
            lines += [f'    "{name}": (', *(f"        {text}" for text in texts), "    ),"]
    return "\n".join([*lines, "}"])


def index() -> str:
    """The text of the index as it has to be."""
    program = f"import sys; sys.path.insert(0, {str(PATH.parents[3])!r}); import runpy; " + (
        f"print(runpy.run_path({__file__!r})['_index'](), end='')"
    )
    return subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True).stdout


def main() -> int:
    """Write the index, or check it."""
    parser = argparse.ArgumentParser(description="The index of the files that declare ops.")
    parser.add_argument("--check", action="store_true", help="only say whether it is as it would be written")
    options = parser.parse_args()
    text = index()
    if options.check:
        if PATH.read_text() != text:
            print(f"{PATH}: not as it would be written")
            return 1
        return 0
    PATH.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main())

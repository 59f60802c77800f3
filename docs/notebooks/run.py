"""Run the notebooks of this folder with plain Python, as Jupyter would.

    python docs/notebooks/run.py                    # do the cells give what is stored?
    python docs/notebooks/run.py --write first_steps.ipynb

What a cell gives is stored with it, but for cells with the tag `machine`, whose times and sizes are another machine's
tomorrow; the site (`docs/conf.py`) shows what its own run of them gave.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import json
import linecache
import os
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).resolve().parent
#: Cells whose outputs depend on the machine.
MACHINE = "machine"
_FENCE = "`" * 6


def _lines(text: str) -> list[str]:
    return text.splitlines(keepends=True)


def _shown(value: Any, count: int) -> dict[str, Any]:
    """A value as a notebook shows it: as HTML where it has that form, and as text."""
    data = {"text/plain": _lines(repr(value))}
    if hasattr(value, "_repr_html_"):
        data["text/html"] = _lines(value._repr_html_())
    return {"data": data, "execution_count": count, "metadata": {}, "output_type": "execute_result"}


def _run_cell(source: str, name: str, count: int, names: dict[str, Any]) -> list[dict[str, Any]]:
    # What looks for the source of a function, as Triton does, finds it in `linecache`.
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    tree = ast.parse(source, name)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed, outputs = io.StringIO(), []
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, name, "exec"), names)
        value = None if last is None else eval(compile(ast.Expression(last.value), name, "eval"), names)
    if printed.getvalue():
        outputs.append({"name": "stdout", "output_type": "stream", "text": _lines(printed.getvalue())})
    if value is not None and not source.rstrip().endswith(";"):
        outputs.append(_shown(value, count))
    return outputs


def run(notebook: dict[str, Any]) -> list[list[dict[str, Any]]]:
    """What each cell of a notebook gives, in a folder of its own.

    Parameters
    ----------
    notebook : dict
        As it is stored; it is left as it is.
    """
    names: dict[str, Any] = {"__name__": "__main__"}
    found: list[list[dict[str, Any]]] = []
    before = os.getcwd()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        try:
            count = 0
            for cell in notebook["cells"]:
                count += cell["cell_type"] == "code"
                code = cell["cell_type"] == "code"
                found.append(_run_cell("".join(cell["source"]), f"cell_{count}.py", count, names) if code else [])
        finally:
            os.chdir(before)
    return found


def stored(cell: dict[str, Any], outputs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Those outputs of a cell that are stored with it."""
    return [] if MACHINE in cell["metadata"].get("tags", ()) else outputs


def differences(notebook: dict[str, Any], found: Sequence[list[dict[str, Any]]]) -> list[str]:
    """For each cell that gives something else than what is stored with it: its number, and both."""
    wrong = []
    for number, (cell, outputs) in enumerate(zip(notebook["cells"], found, strict=True)):
        now = stored(cell, outputs)
        if cell["cell_type"] == "code" and cell["outputs"] != now:
            wrong.append(f"cell {number}: gives\n{_text(now)}\nstored is\n{_text(cell['outputs'])}")
    return wrong


def _text(outputs: list[dict[str, Any]]) -> str:
    return "".join("".join(o.get("text") or o["data"]["text/plain"]) for o in outputs)


def page(notebook: dict[str, Any], found: Sequence[list[dict[str, Any]]], name: str) -> str:
    """A notebook with what its cells gave, as a page of the site."""
    parts = []
    for cell, outputs in zip(notebook["cells"], found, strict=True):
        source = "".join(cell["source"])
        if cell["cell_type"] == "markdown":
            parts.append(source.replace(".ipynb)", ".md)"))  # a link leads to the other's page
            continue
        parts.append(f"{_FENCE}python\n{source}\n{_FENCE}")
        for output in outputs:
            data = output.get("data", {"text/plain": output.get("text")})
            kind, text = ("{raw} html", data["text/html"]) if "text/html" in data else ("text", data["text/plain"])
            parts.append(f"{_FENCE}{kind}\n{''.join(text).rstrip()}\n{_FENCE}")
    parts.insert(1, f"{{download}}`The notebook <{name}>`.")
    return "\n\n".join(parts) + "\n"


def read(path: Path) -> dict[str, Any]:
    """A notebook, as it is stored."""
    return json.loads(path.read_text())


def write(path: Path, notebook: dict[str, Any], found: Sequence[list[dict[str, Any]]]) -> None:
    """Store a notebook with what its cells gave."""
    count = 0
    for cell, outputs in zip(notebook["cells"], found, strict=True):
        if cell["cell_type"] == "code":
            count += 1
            cell["outputs"], cell["execution_count"] = stored(cell, outputs), count
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Check or store what the notebooks give."""
    parser = argparse.ArgumentParser(description="Run the notebooks of the documentation.")
    parser.add_argument("names", nargs="*", help="which ones; all by default")
    parser.add_argument("--write", action="store_true", help="store what the cells give")
    options = parser.parse_args(argv)
    failed = 0
    for path in [FOLDER / name for name in options.names] or sorted(FOLDER.glob("*.ipynb")):
        notebook = read(path)
        found = run(notebook)
        if options.write:
            write(path, notebook, found)
        for each in differences(notebook, found):
            failed += 1
            print(f"{path.name}, {each}")
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())

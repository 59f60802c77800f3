"""What the documents show is what the code says."""

from __future__ import annotations

import inspect
import os
import platform
import re
import runpy
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opweave
from opweave.registry.ops import activation
from opweave.utils import compiling, cpp_extension

ROOT = Path(__file__).parents[1]


def test_the_walk_through_an_op_is_the_op():
    source = inspect.getsource(activation)
    page = (ROOT / "docs" / "how-to" / "op.md").read_text().partition("## Doing it")[0]
    blocks = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    assert len(blocks) == 5
    for block in blocks:
        assert block in source, block


def test_the_page_on_triton_runs(tmp_path):
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "triton_cpu.md").read_text(), re.M | re.S)
    assert len(blocks) == 4
    script = tmp_path / "page.py"
    script.write_text("\n".join(blocks))
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, env=dict(os.environ))
    assert not done.returncode, done.stderr


def test_the_page_on_training_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "training.md").read_text(), re.M | re.S)
    assert len(blocks) == 7
    script = tmp_path / "training.py"  # a file, so that errors and traces have lines to show
    script.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    exec(compile(script.read_text(), str(script), "exec"), {"__name__": "training"})


def test_the_page_on_reports_runs(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / "report.md").read_text(), re.M | re.S)
    assert len(blocks) == 2
    script = tmp_path / "attend.py"
    script.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    exec(compile(script.read_text(), str(script), "exec"), {"__name__": "attend"})
    written = {path.name for path in tmp_path.iterdir()}
    assert written == {"attend.py", "attend.html", "attend.json", "attend.svg", "attend.graphml"}


@pytest.mark.parametrize("page", ["tutorial", "operators", "porting", "compile", "debugging"])
def test_a_page_runs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```$", (ROOT / "docs" / f"{page}.md").read_text(), re.M | re.S)
    assert blocks
    script = tmp_path / f"{page}.py"
    script.write_text("\n".join(blocks))
    monkeypatch.chdir(tmp_path)
    names: dict[str, Any] = {"__name__": page}
    exec(compile(script.read_text(), str(script), "exec"), names)
    for sample in names.get("SAMPLES", ()):
        names["test_transposed"](sample)


def test_every_environment_variable_is_on_its_page() -> None:
    """Those that the code asks for are those of the table."""
    package = Path(opweave.__path__[0])
    walked = os.walk(package, followlinks=True)
    files = [Path(folder) / name for folder, _, names in walked for name in names if name.endswith(".py")]
    asked = re.compile(r"""environ(?:\.get\(|\[)\s*"(OPWEAVE_\w+)\"""")
    read = {name for path in files for name in asked.findall(path.read_text())}
    page = (ROOT / "docs" / "environment.md").read_text()
    assert len(read) >= 12 and read == set(re.findall(r"^\| `(OPWEAVE_\w+)`", page, re.M))


def test_the_page_on_deploying_runs(tmp_path: Path) -> None:
    """Its files, run one after the other; the static program in a folder that it takes for the whole system."""
    text = (ROOT / "docs" / "deploying.md").read_text()
    blocks = re.findall(r"^```(\w+)\n(?:(?:#|//) (\w+\.\w+)\n)?(.*?)^```$", text, re.M | re.S)
    files = {name: body for _, name, body in blocks if name}
    assert set(files) == {"train.py", "serve.py", "main.c"}
    for name, body in files.items():
        (tmp_path / name).write_text(body)

    def run(*command: str | Path, **options: object) -> str:
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, **options)
        assert not done.returncode, done.stderr
        return done.stdout

    assert "classifier.so" in run(sys.executable, "train.py")
    assert run(sys.executable, "serve.py") == "16 requests, 4 processes\n"
    if platform.machine() != "x86_64":
        return
    cc = [sys.executable, "-m", "ziglang", "cc"]
    dynamic, static = (body.split() for language, _, body in blocks if language == "sh")
    run(*cc, *dynamic[1:])
    assert run(tmp_path / "classify") == "1\n0\n1\n"
    run(*cc, "-target", "x86_64-linux-musl", *static[1:])
    assert b"ld-musl" not in (tmp_path / "classify").read_bytes()  # no interpreter: it needs no other file
    assert run(tmp_path / "classify", env={}) == "1\n0\n1\n"


@pytest.mark.skipif(not any(map(shutil.which, ("c++", "g++", "clang++"))), reason="there is no C++ compiler")
def test_the_page_on_cpp_libraries_runs(tmp_path: Path) -> None:
    """Its files: an op library, the script that uses it, and a program without Python."""
    pytest.importorskip("tvm_ffi", reason="op libraries in C++ need apache-tvm-ffi")
    text = (ROOT / "docs" / "cpp_libraries.md").read_text()
    files = re.findall(r"^```(?:cpp|python)\n(?://|#) (\w+\.\w+)\n(.*?)^```$", text, re.M | re.S)
    assert [name for name, _ in files] == ["ops.cpp", "page.py", "main.cpp"]
    for name, body in files:
        (tmp_path / name).write_text(body)
    env = dict(os.environ, OPWEAVE_EXTENSIONS_DIR=str(tmp_path / "built"), CXX="c++ -O0" if shutil.which("c++") else "")
    done = subprocess.run([sys.executable, "page.py"], cwd=tmp_path, capture_output=True, text=True, env=env)
    assert not done.returncode, done.stderr
    flags = [f"-I{p}" for p in cpp_extension.include_paths()] + [f"-L{p}" for p in cpp_extension.library_paths()]
    flags += ["-ltvm_ffi", "-ldl", f"-Wl,-rpath,{cpp_extension.library_paths()[0]}"]
    command = [*compiling.compiler(), "-std=c++17", "-O0", "main.cpp", "-o", "main", *flags]
    subprocess.run(command, cwd=tmp_path, check=True)
    (library,) = (tmp_path / "built" / "page").glob("*.so")
    done = subprocess.run([tmp_path / "main", library], capture_output=True, text=True, env={})
    assert done.stdout == "1.999\n", done.stderr


def test_a_cell_that_gives_something_else_than_is_stored_is_told() -> None:
    notebooks = runpy.run_path(str(ROOT / "docs" / "notebooks" / "run.py"))
    machine: dict[str, Any] = {"tags": ["machine"]}
    sources = (("markdown", "# A page", {}), ("code", "x = 2\nprint(x)\nx + 1", {}), ("code", "x * 5", machine))
    cells = [
        {"cell_type": kind, "source": text.splitlines(keepends=True), "metadata": tags, "outputs": []}
        for kind, text, tags in sources
    ]
    found = notebooks["run"]({"cells": cells})
    assert "gives\n2\n3" in "".join(notebooks["differences"]({"cells": cells}, found))
    cells[1]["outputs"] = found[1]
    assert not notebooks["differences"]({"cells": cells}, found)  # what depends on the machine is not stored
    page = notebooks["page"]({"cells": cells}, found, "a.ipynb")
    assert page.startswith("# A page") and "```text\n10\n" in page and "```python\nx * 5\n" in page


def test_notebooks_store_no_machine_noise() -> None:
    paths = sorted((ROOT / "docs" / "notebooks").glob("*.ipynb"))
    assert len(paths) == 4
    for path in paths:
        text = path.read_text()
        assert not re.search(r"0x[0-9a-f]{6,}|/tmp/|/home/|\d [mµ]s\b", text), path
        assert "text/html" in text or "graph" not in text, path

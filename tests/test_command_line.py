"""The command line: what it prints, and how it ends."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import opweave
from opweave.command_line import main
from opweave.runtime import progress

SCRIPT = """
import sys
import opweave

def step(x, n=2):
    return (x * n).relu().sum(-1)

def nothing():
    return opweave.ones(3) + 1

nothing.example = ()
word = "no function"

@opweave.compile
def compiled(x):
    return x + 1

if __name__ == "__main__":
    compiled(opweave.ones(4))
    print("ran", sys.argv[1:])
    sys.exit(3)
"""


@pytest.fixture
def script(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "a_script.py"
    path.write_text(SCRIPT)
    return path


@pytest.fixture(autouse=True)
def _modules():
    yield
    sys.modules.pop("a_script", None)


def test_explain(script: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["explain", f"{script}:step", "--args", "ones(8, 64), n=3"]) == 0
    shown = capsys.readouterr().out
    assert shown.startswith("step: 1 version") and "a_script.py:6" in shown and "ran" not in shown
    assert main(["explain", f"{script}:nothing"]) == 0


def test_report_of_a_function(script: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    page, trace = tmp_path / "p.html", tmp_path / "t.json"
    code = main(
        ["report", f"{script}:compiled", "--args", "ones(8)", "-o", str(page), "--trace", str(trace), "--no-measure"]
    )
    assert code == 0 and page.read_text().startswith("<!doctype html>")
    assert "traceEvents" in json.loads(trace.read_text())
    assert str(page) in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["explain", "{}:step"], "takes x"),
        (["explain", "{}:missing"], "it has step, nothing, compiled"),
        (["explain", "{}:word"], "word is no function"),
        (["explain", "{}"], "which function?"),
        (["explain", "nowhere.py:f"], "no such file"),
        (["explain", "{}:step", "--args", "ones("], "not what stands in a call"),
        (["report", "nowhere.py"], "no such file"),
        (["report", "{}", "--trace", "t.json"], "is for one function"),
        (["run", "nowhere.py"], "no such file"),
        (["show", "{}"], "no exported program"),
        (["show", "nowhere.opweave"], "cannot be read"),
    ],
)
def test_mistakes(arguments: list[str], said: str, script: Path, capsys: pytest.CaptureFixture[str]):
    assert main([word.format(script) for word in arguments]) == 1
    shown = capsys.readouterr().err
    assert said in shown and shown.startswith(f"opweave {arguments[0]}: ") and "Traceback" not in shown


def test_a_wrong_command_line_exits_with_2(capsys: pytest.CaptureFixture[str]):
    for words in ([], ["nonsense"], ["cache", "burn"]):
        with pytest.raises(SystemExit) as caught:
            main(words)
        assert caught.value.code == 2
    with pytest.raises(SystemExit) as caught:
        main(["--version"])
    assert not caught.value.code and capsys.readouterr().out.startswith("opweave ")


def test_scripts_run_as_they_do_alone(script: Path, tmp_path: Path):
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    command = [sys.executable, "-m", "opweave", "report", str(script), "-o", str(tmp_path / "pages"), "--", "--epochs"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 3 and "ran ['--epochs']" in done.stdout, done.stderr
    (page,) = (tmp_path / "pages").iterdir()
    assert page.name == "compiled.html" and str(page) in done.stdout
    script.write_text("import os, sys; print(os.environ['OPWEAVE_SANITIZE'], __name__, sys.argv[1:]); sys.exit(4)")
    command = [sys.executable, "-m", "opweave", "run", "--sanitize", str(script), "-o", "x"]
    done = subprocess.run(command, capture_output=True, text=True, env=environment)
    assert done.returncode == 4 and done.stdout == "1 __main__ ['-o', 'x']\n"


def test_the_cache_is_counted_and_cleared_and_nothing_else_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    place, kernels = tmp_path / "programs", tmp_path / "kernels"
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(place))
    monkeypatch.setenv("TRITON_CACHE_DIR", str(kernels))
    assert main(["cache"]) == 0 and "0 entries" in capsys.readouterr().out
    compiled: Any = opweave.compile(lambda x: x * 3 + 1)
    compiled(opweave.ones(5))
    mine = place / "my thesis"
    mine.mkdir()
    (mine / "manifest.json").write_text('{"key": "another"}')
    (place / "notes.txt").write_text("keep")
    assert main(["cache", "where"]) == 0 and capsys.readouterr().out.splitlines() == [str(place), str(kernels)]
    assert main(["cache", "size"]) == 0
    size = int(capsys.readouterr().out.split()[0])
    entries = [path for path in place.iterdir() if path.is_dir() and path != mine]
    assert size == sum(file.stat().st_size for entry in entries for file in entry.iterdir()) > 0
    assert main(["cache", "--clear"]) == 0 and f"{len(entries)} entries removed" in capsys.readouterr().out
    assert sorted(path.name for path in place.iterdir()) == ["my thesis", "notes.txt"]
    assert compiled(opweave.ones(5)).tolist() == [4] * 5


def test_show_tells_of_a_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    w = opweave.rand(8, 2)

    def f(x: Any, scale: float = 2.0) -> Any:
        return (x @ w * scale).softmax(-1)

    batch = opweave.export.Dim("batch", min=2, max=64)
    program = opweave.export.export(f, (opweave.rand(4, 8),), dynamic_shapes={"x": {0: batch}})
    opweave.export.save(program, tmp_path / "f.opweave")
    assert main(["show", str(tmp_path / "f.opweave"), "--graph", "--draw", str(tmp_path / "f.svg")]) == 0
    shown = capsys.readouterr().out
    assert "x: f32[s0, 8]" in shown and "s0: 2 to 64" in shown and "64 B" in shown and "f32[8, 2]" in shown
    assert "1 ops.aten.mm.default" in shown and "def forward" in shown
    assert (tmp_path / "f.svg").read_text().startswith("<svg")


def test_progress_is_shown_on_a_terminal_alone(monkeypatch: pytest.MonkeyPatch):
    class Terminal:
        def __init__(self, tty: bool) -> None:
            self.tty, self.text = tty, ""

        def isatty(self) -> bool:
            return self.tty

        def write(self, text: str) -> None:
            self.text += text

        def flush(self) -> None:
            pass

    monkeypatch.setattr(progress, "FIRST", 0.0)
    for tty, wanted, shows in ((True, "1", True), (False, "1", False), (True, "0", False)):
        terminal = Terminal(tty)
        monkeypatch.setattr(sys, "stderr", terminal)
        monkeypatch.setenv("OPWEAVE_PROGRESS", wanted)
        with progress.shown("step"):
            progress.now("fuse")
            while shows and "fuse" not in terminal.text:
                pass
        assert ("compiling step" in terminal.text) is shows
        assert not shows or terminal.text.endswith("\r\x1b[2K")  # nothing is left of it

"""Threads, processes, interruptions, caches that cannot be used, and programs of unusual size."""

import os
import subprocess
import sys
import threading
import traceback

import numpy as np
import pytest
from mistakes import fresh_op

import opweave
from opweave import pipeline
from opweave.library import custom_op
from opweave.registry.keys import state
from tests.helpers import fork_server

X = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
PROGRAM = """
import numpy as np, opweave
x = opweave.from_numpy(np.arange(6, dtype=np.float32))
y = opweave.compile(lambda x: (x * 2 + 1).sin())(x)
np.testing.assert_allclose(y.numpy(), np.sin(np.arange(6) * 2 + 1), rtol=1e-5)
print("fine")
"""


#: No file may grow: a full disk everywhere, whoever runs the tests.
FULL = """
import resource, signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
"""
#: A kernel of the user's; Triton is given its source as text, since a program from the command line is in no file.
LAUNCH = """
import linecache, numpy as np, opweave, triton, triton.language as tl
text = '''
@triton.jit
def double(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)
'''
linecache.cache["double.py"] = len(text), None, text.splitlines(True), "double.py"
exec(compile(text, "double.py", "exec"))
z = opweave.ones(6)
for i in range(3):
    double[(1,)](z, 6, BLOCK=8)
assert z.tolist() == [8.0] * 6
"""


def start(without=(), cwd=None, program=PROGRAM, **variables):
    env = {name: value for name, value in os.environ.items() if name not in without} | variables
    return subprocess.Popen(
        [sys.executable, "-c", program], env=env, cwd=cwd, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(without=(), **variables):
    """What a process says on stderr, having succeeded."""
    # `import opweave` reads neither.
    if not without and set(variables) <= {"OPWEAVE_CACHE_DIR", "TRITON_CACHE_DIR"}:
        done = fork_server.python(["-c", PROGRAM], env=os.environ | variables)
        out, err, code = done.stdout, done.stderr, done.returncode
    else:
        process = start(without, **variables)
        (out, err), code = process.communicate(), process.returncode
    assert code == 0 and out == "fine\n", err
    return err


# ---- caches --------------------------------------------------------------------------------------------------------


def test_switched_off(tmp_path):
    assert run(OPWEAVE_CACHE="0", OPWEAVE_CACHE_DIR=str(tmp_path)) == ""
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("place", ["/proc/nope", "file"])
def test_folders_that_cannot_be_written(tmp_path, place):
    if place == "file":
        (tmp_path / "file").write_text("")
        place = str(tmp_path / "file")
    said = run(OPWEAVE_CACHE_DIR=place, TRITON_CACHE_DIR=place, program=LAUNCH + PROGRAM)
    assert f"cache: cannot write {place}" in said and "Triton keeps its kernels for this process only" in said


def test_no_home_that_can_be_written():
    said = run(("OPWEAVE_CACHE_DIR", "TRITON_CACHE_DIR"), HOME="/proc/nohome")
    assert "cache: cannot write /proc/nohome" in said


@pytest.mark.parametrize("variables", [{"TMPDIR": "/proc/nope"}, {"TMPDIR": "nowhere", "OPWEAVE_CACHE": "0"}])
def test_odd_folders_for_temporary_files(tmp_path, variables):
    assert run(OPWEAVE_CACHE_DIR=str(tmp_path / "a"), TRITON_CACHE_DIR=str(tmp_path / "b"), **variables) == ""


def test_no_home_at_all(tmp_path):
    """A user whom the system does not know, with no HOME: `~` is nowhere."""
    (tmp_path / "sitecustomize.py").write_text("import os\nos.path.expanduser = lambda path: path\n")
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    without = ("OPWEAVE_CACHE_DIR", "TRITON_CACHE_DIR", "HOME")
    said = run(without, PYTHONPATH=path, cwd=str(tmp_path), program=LAUNCH + PROGRAM)
    assert said.count("there is no folder to write to") == said.count("\n") == 2
    assert sorted(p.name for p in tmp_path.iterdir() if p.name != "__pycache__") == ["sitecustomize.py"]


def test_a_full_disk(tmp_path):
    """Nothing at all can be written to a file: not to the caches, not to a temporary folder."""
    places = {"OPWEAVE_CACHE_DIR": str(tmp_path / "a"), "TRITON_CACHE_DIR": str(tmp_path / "b")}
    said = run(**places, program=FULL + LAUNCH + PROGRAM)
    assert f"cannot write {tmp_path / 'a'} (File too large)" in said
    assert f"cannot write {tmp_path / 'b'} (File too large)" in said and said.count("\n") == 3


@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_folders_that_others_can_write(tmp_path, mode):
    places = {"OPWEAVE_CACHE_DIR": str(tmp_path / "a"), "TRITON_CACHE_DIR": str(tmp_path / "b")}
    assert run(**places, program=LAUNCH + PROGRAM) == ""
    for place in places.values():
        os.chmod(place, mode)
    said = run(**places, program=LAUNCH + PROGRAM)
    assert said.count("can be written by others") == 2 and said.count("\n") == 2


def test_folders_do_not_follow_the_process(tmp_path):
    for name in ("start", "elsewhere"):
        (tmp_path / name).mkdir()
    moved = f"import opweave, os; os.chdir({str(tmp_path / 'elsewhere')!r})\n"
    places = {"OPWEAVE_CACHE_DIR": "a", "TRITON_CACHE_DIR": "./b", "cwd": str(tmp_path / "start")}
    assert run(**places, program=moved + LAUNCH + PROGRAM) == ""
    assert list((tmp_path / "elsewhere").iterdir()) == []
    assert sorted(p.name for p in (tmp_path / "start").iterdir()) == ["a", "b"]


def test_damaged_files(tmp_path):
    folders = {"OPWEAVE_CACHE_DIR": str(tmp_path / "a"), "TRITON_CACHE_DIR": str(tmp_path / "b")}
    assert run(**folders) == ""
    for damage in (lambda data: data[: len(data) // 2], lambda data: b"\x80\xffgarbage"):
        for path in tmp_path.rglob("*"):
            if path.is_file():
                path.write_bytes(damage(path.read_bytes()))
        assert "making it anew" in run(**folders)


def test_processes_that_compile_the_same(tmp_path):
    folders = {"OPWEAVE_CACHE_DIR": str(tmp_path / "a"), "TRITON_CACHE_DIR": str(tmp_path / "b")}
    processes = [start(**folders) for _ in range(3)]
    for process in processes:
        out, err = process.communicate()
        assert (process.returncode, out, err) == (0, "fine\n", "")


# ---- threads and interruptions -------------------------------------------------------------------------------------


def in_threads(count, work):
    failures = []

    def guarded(index):
        try:
            work(index)
        except BaseException:
            failures.append(traceback.format_exc())

    threads = [threading.Thread(target=guarded, args=(i,)) for i in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[0]


def test_threads_compile_and_register():
    shared = opweave.compile(lambda x: (x * 2 + 1).sin())

    def work(index):
        for size in (2, 3):
            y = opweave.ones(size) * index
            np.testing.assert_allclose(shared(y).numpy(), np.sin(y.numpy() * 2 + 1), rtol=1e-5)
            own = fresh_op(lambda x: x + 1, opweave.empty_like)
            assert opweave.compile(lambda x: own(x) * 2)(y).tolist() == ((y + 1) * 2).tolist()
            again = custom_op("mistakes::shared", lambda x: x + 1, mutates_args=(), schema="(Tensor x) -> Tensor")
            again.register_fake(opweave.empty_like)
            assert again(y).tolist() == (y + 1).tolist()

    in_threads(6, work)


def test_threads_compile_one_function_once():
    c = opweave.compile(lambda x: (x * 3 + 1).cos())
    in_threads(8, lambda _: c(X))
    assert len(c.entries) == 1


def test_an_interruption_while_tracing():
    interrupt = [True]

    def f(x):
        if interrupt[0]:
            raise KeyboardInterrupt
        return x * 7

    c = opweave.compile(f)
    with pytest.raises(KeyboardInterrupt):
        c(X)
    assert not state.modes and not state.include and not c.entries
    interrupt[0] = False
    assert c(X).tolist() == (X * 7).tolist()


def test_an_interruption_while_compiling(monkeypatch):
    def stop(graph):
        raise KeyboardInterrupt

    c = opweave.compile(lambda x: x * 8)
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "PASSES", (*pipeline.PASSES[:3], ("stop", stop)))
        with pytest.raises(KeyboardInterrupt):
            c(X)
    assert not c.entries
    assert c(X).tolist() == (X * 8).tolist()


# ---- unusual sizes -------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_chain_of_2000_ops():
    def f(x):
        for _ in range(2000):
            x = x + 1
        return x

    assert opweave.compile(f)(X).tolist() == (X + 2000).tolist()
    assert opweave.make_fx(f)(X)(X).tolist() == (X + 2000).tolist()


def test_a_chain_of_many_kernels():
    eye = opweave.eye(3)

    def f(x):
        for _ in range(300):
            x = (x @ eye).relu()
        return x

    assert opweave.compile(f)(X).tolist() == X.tolist()


def test_a_hundred_inputs_and_outputs():
    inputs = [opweave.ones(8) * i for i in range(100)]
    assert opweave.compile(lambda *xs: sum(xs))(*inputs).tolist() == [4950.0] * 8
    assert [y[0].item() for y in opweave.compile(lambda *xs: [x + 1 for x in xs])(*inputs)] == [*range(1, 101)]

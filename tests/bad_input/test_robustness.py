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

X = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
PROGRAM = """
import numpy as np, opweave
x = opweave.from_numpy(np.arange(6, dtype=np.float32))
y = opweave.compile(lambda x: (x * 2 + 1).sin())(x)
np.testing.assert_allclose(y.numpy(), np.sin(np.arange(6) * 2 + 1), rtol=1e-5)
print("fine")
"""


def start(without=(), **variables):
    env = {name: value for name, value in os.environ.items() if name not in without} | variables
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def run(without=(), **variables):
    """What a process says on stderr, having succeeded."""
    process = start(without, **variables)
    out, err = process.communicate()
    assert process.returncode == 0 and out == "fine\n", err
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
    said = run(OPWEAVE_CACHE_DIR=place, TRITON_CACHE_DIR=place)
    assert f"cache: cannot write {place}" in said and "Triton keeps its kernels for this process only" in said


def test_no_home_that_can_be_written():
    said = run(("OPWEAVE_CACHE_DIR", "TRITON_CACHE_DIR"), HOME="/proc/nohome")
    assert "cache: cannot write /proc/nohome" in said


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

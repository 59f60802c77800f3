"""What LLVM makes beside Python: in order, once, and by whoever asks where the thread has not come to it."""

from __future__ import annotations

import os
import threading
import time
from typing import Any

import pytest

import opweave
from opweave.codegen.native import background, llvm


def test_in_order_and_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_cores", lambda: 2)
    made: list[int] = []

    def work(i: int) -> int:
        made.append(i)
        return i * i

    tasks = background.begin(*[lambda i=i: work(i) for i in range(5)])
    assert [task.result() for task in tasks] == [0, 1, 4, 9, 16] == [task.result() for task in tasks]
    assert sorted(made) == [0, 1, 2, 3, 4]


def test_who_asks_does_it_where_nobody_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_cores", lambda: 2)
    go, threads = threading.Event(), []
    first, second = background.begin(go.wait, lambda: threads.append(threading.current_thread()))
    second.result()
    assert threads == [threading.current_thread()]
    go.set()
    assert first.result() is True


def test_an_error_is_told_to_all_who_ask(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_cores", lambda: 2)

    def fail() -> None:
        raise ValueError("no")

    bad, good = background.begin(fail, lambda: 1)
    assert good.result() == 1
    for _ in range(2):
        with pytest.raises(ValueError, match="no"):
            bad.result()


def test_one_core_has_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_cores", lambda: 1)
    (task,) = background.begin(threading.current_thread)
    time.sleep(0.01)
    assert task.result() is threading.current_thread()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.process
def test_a_forked_child_does_what_the_thread_was_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_cores", lambda: 2)
    begun, go = threading.Event(), threading.Event()

    def slow() -> int:
        begun.set()
        go.wait()
        return os.getpid()

    slowly, later = background.begin(slow, os.getpid)
    assert begun.wait(10)
    child = os.fork()
    if not child:
        go.set()
        fine = slowly.result() == later.result() == os.getpid()
        fine = fine and background.begin(os.getpid)[0].result() == os.getpid()
        os._exit(0 if fine else 1)
    go.set()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert slowly.result() == later.result() == os.getpid()


def test_kernels_of_a_graph_are_compiled_in_the_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "_cores", lambda: 2)
    monkeypatch.setenv("OPWEAVE_CACHE", "0")
    names: list[str] = []
    compile_object: Any = llvm.compile_object

    def watched(text: str, **about: Any) -> bytes:
        names.append(about["name"])
        return compile_object(text, **about)

    monkeypatch.setattr(llvm, "compile_object", watched)
    x = opweave.randn(37, 53)
    compiled = opweave.compile(lambda x: (x.sum(0) * 1.75, x.softmax(1) - 0.375))
    for found, wanted in zip(compiled(x), (x.sum(0) * 1.75, x.softmax(1) - 0.375), strict=True):
        assert opweave.allclose(found, wanted, rtol=1e-6, atol=1e-6)
    assert len([name for name in names if name.startswith("fused_")]) == 2

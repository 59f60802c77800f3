"""What is printed of an exception that nobody caught, and what an exception from inside an op tells."""

import sys
import threading
import traceback

import numpy as np
import pytest
from mistakes import fresh_op

import opweave
from opweave.registry import tracebacks
from opweave.registry.errors import ShapeError

X = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))


def broken(x):
    raise KeyError("no such column")


def inverse(x):
    return opweave.from_numpy(np.linalg.inv(x.numpy()))


def adds(x):
    return x + opweave.ones(5)


def raised_by(f, *args):
    with pytest.raises(BaseException) as caught:  # noqa: PT011
        f(*args)
    return caught.value


def names(trace):
    return [frame.name for frame in traceback.extract_tb(trace)]


def own(trace):
    return [frame.name for frame in traceback.extract_tb(trace) if frame.filename == __file__]


@pytest.mark.parametrize("wrap", [lambda f: f, opweave.compile])
@pytest.mark.parametrize(("body", "last"), [(broken, "broken"), (inverse, "inv")])
def test_frames_of_opweave_are_left_out_and_counted(body, last, wrap):
    op = fresh_op(body, opweave.empty_like)
    error = raised_by(wrap(lambda x: op(x * 2) + 1), X)
    whole = error.__traceback__
    before = list(error.__notes__)
    with tracebacks.shown_short(error):
        shown = names(error.__traceback__)
        note = error.__notes__[-1]
    assert not any("_ow__" in name or name == "__call__" for name in shown) and body.__name__ in shown
    # NumPy's own frames, in which the error is, stay.
    assert [name for name in shown if last in name]
    left_out = len(names(whole)) - len(shown)
    assert left_out > 0 and note == f"({left_out} frames inside opweave left out: OPWEAVE_TRACEBACK=full shows them)"
    assert error.__traceback__ is whole and error.__notes__ == before


def test_an_error_of_opweave_ends_at_the_users_line():
    error = raised_by(adds, X)
    assert isinstance(error, ShapeError)
    with tracebacks.shown_short(error):
        assert names(error.__traceback__) == ["raised_by", "adds"]


def test_an_error_inside_opweave_that_it_did_not_mean_keeps_its_frames(monkeypatch):
    def fails(*args):
        raise RuntimeError("a mistake of opweave's")

    fails.__code__ = fails.__code__.replace(co_filename=tracebacks.__file__)
    error = raised_by(fails)
    with tracebacks.shown_short(error):
        assert names(error.__traceback__) == ["raised_by", "fails"] and not hasattr(error, "__notes__")


def test_what_an_error_came_from_is_shortened_too():
    def wrapper():
        try:
            adds(X)
        except ShapeError as error:
            raise ValueError("mine") from error

    error = raised_by(wrapper)
    cause = error.__cause__
    with tracebacks.shown_short(error):
        assert names(cause.__traceback__) == ["wrapper", "adds"]
        assert "left out" in error.__notes__[-1]
    assert len(names(cause.__traceback__)) > 2 and not hasattr(error, "__notes__")


def test_hooks(monkeypatch):
    printed = []
    monkeypatch.setattr(sys, "excepthook", lambda kind, error, trace: printed.append((error, names(trace))))
    monkeypatch.setattr(
        threading, "excepthook", lambda args: printed.append((args.exc_value, names(args.exc_traceback)))
    )
    tracebacks.install()
    error = raised_by(adds, X)
    sys.excepthook(type(error), error, error.__traceback__)
    thread = threading.Thread(target=adds, args=(X,))
    thread.start()
    thread.join()
    monkeypatch.setenv("OPWEAVE_TRACEBACK", "full")
    sys.excepthook(type(error), error, error.__traceback__)
    (first, short), (_, of_thread), (again, full) = printed
    assert first is again is error and short == ["raised_by", "adds"] and of_thread[-1] == "adds"
    assert full == names(error.__traceback__) and len(full) > 2


def test_what_ipython_asks_for(monkeypatch):
    error = raised_by(adds, X)
    lines = error._render_traceback_()
    assert sum(line.lstrip().startswith("File") for line in lines) == 2 and "left out" in lines[-1]
    monkeypatch.setenv("OPWEAVE_TRACEBACK", "full")
    assert sum(line.lstrip().startswith("File") for line in error._render_traceback_()) > 2


HOW = [
    (lambda f: f, "called at test_tracebacks.py:"),
    (opweave.compile, "compiled, in the call at test_tracebacks.py:"),
]


@pytest.mark.parametrize(("wrap", "where"), HOW)
def test_an_exception_inside_an_op_names_the_op_and_the_users_line(wrap, where):
    op = fresh_op(broken, opweave.empty_like)

    def model(x):
        y = x * 2
        return op(y) + 1  # here

    error = raised_by(wrap(model), X)
    assert type(error) is KeyError and error.args == ("no such column",)
    (note,) = error.__notes__
    line = model.__code__.co_firstlineno + 2
    assert note.startswith(f"in the op {op._opoverload}(f32[2, 3]), called at test_tracebacks.py:{line}"), note
    assert where in note

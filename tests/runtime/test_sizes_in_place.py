"""Compiled functions that change the sizes of their arguments in place; `tests/parity` has more, beside PyTorch."""

from __future__ import annotations

import os
import sys
import threading
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import no_grad
from opweave.registry.errors import AutogradError, UnsupportedError
from tests.helpers import fork_server

CHANGES = {
    "t_": (lambda x: x.t_(), (2, 3)),
    "transpose_": (lambda x: x.transpose_(0, -1), (2, 4, 3)),
    "swapaxes_": (lambda x: x.swapaxes_(1, 2), (2, 4, 3)),
    "swapdims_": (lambda x: x.swapdims_(0, 1), (2, 4, 3)),
    "unsqueeze_": (lambda x: x.unsqueeze_(-1), (2, 3)),
    "squeeze_": (lambda x: x.squeeze_(), (2, 1, 3, 1)),
    "squeeze_ dim": (lambda x: x.squeeze_(1), (2, 1, 3, 1)),
    "squeeze_ dims": (lambda x: x.squeeze_([0, -1]), (1, 2, 3, 1)),
    "as_strided_": (lambda x: x.as_strided_((2, 2), (3, 1), 1), (2, 3)),
    "nothing": (lambda x: x.squeeze_(), (2, 3)),
    "no elements": (lambda x: x.t_(), (0, 3)),
    "a number": (lambda x: x.unsqueeze_(0), ()),
}


def numbers(*sizes: int) -> Any:
    return opweave.arange(int(np.prod(sizes, dtype=int)), dtype=opweave.float32).reshape(sizes).clone()


def told(t: Any) -> Any:
    return tuple(t.shape), t.stride(), t.storage_offset(), t._version, t.detach().tolist()


@pytest.mark.parametrize("dynamic", [None, False, True])
@pytest.mark.parametrize("mode", [None, no_grad, opweave.inference_mode])
@pytest.mark.parametrize("name", CHANGES)
def test_the_argument_is_as_after_an_eager_call(name, mode, dynamic):
    change, sizes = CHANGES[name]

    def f(x):
        y = change(x)
        assert y is x
        return x, x * 2

    compiled, expected, found = opweave.compile(f, dynamic=dynamic), numbers(*sizes), numbers(*sizes)
    storage, kept = found._storage, found.detach()
    for _ in range(3):
        outcomes = []
        for fn, x in ((f, expected), (compiled, found)):
            with mode() if mode is not None else no_grad():
                same, doubled = fn(x)
            assert same is x
            outcomes.append((told(x), told(doubled)[:3], doubled.tolist()))
        assert outcomes[0] == outcomes[1]
        assert found._storage is storage and tuple(kept.shape) == sizes


def test_each_layout_has_a_version_that_is_used_again():
    f = opweave.compile(lambda x: x.t_() * 1, dynamic=False)
    x = numbers(2, 3)
    for _ in range(6):
        f(x)
    assert len(f.entries) == 2 and x.shape == (2, 3)
    square = opweave.compile(lambda x: x.t_()[0] * 1, dynamic=False)
    y = numbers(2, 2)
    assert [square(y).tolist() for _ in range(4)] == [[0, 2], [0, 1]] * 2
    assert len(square.entries) == 2


def test_one_tensor_as_two_arguments_and_two_on_one_memory():
    def f(x, y):
        x.t_()
        y[0] += 10
        return x * 2, y * 3

    compiled = opweave.compile(f, dynamic=False)
    for make in (
        lambda: [numbers(3, 3), numbers(3, 3)],
        lambda: [numbers(3, 3)] * 2,
        lambda: (lambda t: [t, t[:]])(numbers(3, 3)),
        lambda: (lambda t: [t[1:], t[:2].t()])(numbers(3, 2)),
    ):
        expected, found = make(), make()
        results = f(*expected), compiled(*found)
        assert [told(t)[:3] for t in expected] == [told(t)[:3] for t in found]
        assert [t.tolist() for t in (*expected, *results[0])] == [t.tolist() for t in (*found, *results[1])]


def test_an_argument_in_a_container_and_as_another_name():
    def f(given):
        given["a"].t_()
        return given["a"] + given["b"][0], given["b"][0].shape

    compiled = opweave.compile(f)
    for make in (lambda a: {"a": a, "b": [a.clone()]}, lambda a: {"a": a, "b": [a]}):
        expected, found = make(numbers(2, 2)), make(numbers(2, 2))
        for _ in range(2):
            a, b = f(expected), compiled(found)
            assert a[0].tolist() == b[0].tolist() and a[1] == b[1]
            assert told(expected["a"]) == told(found["a"])


def test_a_tensor_that_is_read_from_elsewhere_too_is_refused():
    held = numbers(2, 3)

    def f(x):
        x.t_()
        return held * 2

    compiled = opweave.compile(f, fullgraph=True)
    assert compiled(numbers(2, 3)).shape == (2, 3)
    with pytest.raises(UnsupportedError, match="reads it from elsewhere too"):
        compiled(held)
    assert held.shape == (2, 3)


def test_what_is_saved_for_the_backward_keeps_its_sizes():
    def f(x, w):
        y = x.t() * w  # keeps x as it was
        return y

    def g(x, w):
        x.transpose_(0, 1)
        return (x * w).exp() * x

    for fn in (f, g):
        slopes = []
        for run in (fn, opweave.compile(fn)):
            x, w = numbers(2, 3) / 8, opweave.ones(3, 2, requires_grad=True)
            slopes.append(opweave.autograd.grad(run(x, w).sum(), w)[0].numpy())
        np.testing.assert_allclose(slopes[1], slopes[0], rtol=1e-6)

    def late(x, w):
        y = x * w
        x.t_()
        return y

    for run in (late, opweave.compile(late)):
        w = opweave.ones(2, 3, requires_grad=True)
        y = run(numbers(2, 3), w)
        with pytest.raises(AutogradError, match="modified by an in-place operation"):
            y.sum().backward()


def test_histories():
    def slope(run, make):
        leaf, x = make()
        y = run(x)
        assert x.requires_grad and told(x)[3] > 0
        return [
            *(opweave.autograd.grad(t.sum(), leaf, retain_graph=True)[0].tolist() for t in (y, (x * x)[0])),
            told(x)[:3],
        ]

    def result():
        leaf = numbers(3, 2).requires_grad_()
        return leaf, leaf * 3

    def view():
        leaf = numbers(3, 2).requires_grad_()
        return leaf, (leaf * 3)[1:]

    def shown(x):
        x.t_()
        return x * x

    def written(x):
        x.t_()
        x.mul_(2)
        return x[0] * x[1]

    def undone(x):
        x.t_().t_()
        return x * x

    for run, make in ((shown, result), (shown, view), (written, result), (undone, result), (undone, view)):
        assert slope(opweave.compile(run, fullgraph=True), make) == slope(run, make)

    compiled = opweave.compile(written, fullgraph=True)
    compiled(result()[1])
    with pytest.raises(UnsupportedError, match="a view that is written too"):
        compiled(view()[1])
    with pytest.raises(UnsupportedError, match="by as_strided_"):
        opweave.compile(lambda x: x.as_strided_((2,), (1,)) * 1, fullgraph=True)(result()[1])


def test_earlier_views_of_an_argument_with_a_history():
    def f(x):
        return x.t_() * 1

    def g(x):
        return x.t_().mul_(2)

    for run in (f, g):
        seen = []
        for fn in (run, opweave.compile(run)):
            leaf = numbers(2, 3).requires_grad_()
            x = leaf * 5
            row = x[1]
            fn(x)
            seen.append((row.tolist(), opweave.autograd.grad((row * row).sum(), leaf)[0].tolist()))
        assert seen[0] == seen[1]


def test_leaves():
    x = numbers(2, 3).requires_grad_()
    for fn in (lambda t: t.t_() * 1, opweave.compile(lambda t: t.t_() * 1, fullgraph=True)):
        with pytest.raises(AutogradError, match="a leaf that requires grad cannot be written in place"):
            fn(x)
    with no_grad():
        opweave.compile(lambda t: t.t_() * 1, fullgraph=True)(x)
    assert x.shape == (3, 2) and x.requires_grad and x.is_leaf

    def f(t, w):
        with no_grad():
            w.t_()
        return t * w

    with pytest.raises(UnsupportedError, match="a leaf"):
        opweave.compile(f, fullgraph=True)(numbers(2, 3), x)
    assert x.shape == (3, 2)


def test_functions_of_control_flow_and_traces_refuse():
    x = numbers(2, 3)

    def branch(p, x):
        return opweave.cond(p, lambda a: a.t_() * 1, lambda a: a.t() * 2, (x,))

    def closing(p, x):
        return opweave.cond(p, lambda: x.t_() * 1, lambda: x.t() * 2, ())

    def loop(p, x):
        return opweave.while_loop(lambda i, a: i < 2, lambda i, a: (i + 1, a.t_().t_().t_() * 1), (p.long(), x))

    for f in (branch, closing, loop):
        with pytest.raises(UnsupportedError, match=r"changes the sizes|sizes of a tensor cannot"):
            opweave.compile(f, fullgraph=True)(opweave.tensor(True), x)
    with pytest.raises(UnsupportedError, match="changes the sizes of its argument x_1 in place"):
        opweave.make_fx(lambda x: x.t_() * 1)(x)
    with pytest.raises(UnsupportedError, match="changes the sizes of its argument x in place"):
        opweave.export.export(lambda x: x.t_() * 1, (x,))
    assert x.shape == (2, 3)


def test_the_functions_own_error_is_raised():
    def f(x):
        x.t_()
        raise KeyError("mine")

    for trace in (opweave.compile(f), opweave.make_fx(f)):
        with pytest.raises(KeyError, match="mine"):
            trace(numbers(2, 3))


def test_inside_other_compiled_functions():
    inner = opweave.compile(lambda x: x.t_() + 1)

    def outer(x):
        y = inner(x)
        return y * x, inner(y)

    expected, found = numbers(2, 3), numbers(2, 3)
    results = outer(expected), opweave.compile(outer, fullgraph=True)(found)
    assert [t.tolist() for t in results[0]] == [t.tolist() for t in results[1]] and told(expected) == told(found)


def test_classes_are_filled_after_the_change():
    import dataclasses

    @dataclasses.dataclass
    class Pair:
        whole: Any
        sizes: Any

    def f(x):
        x.t_()
        return Pair(x, tuple(x.shape))

    x = numbers(2, 3)
    found = opweave.compile(f)(x)
    assert found.whole is x and found.sizes == (3, 2) == tuple(x.shape)


def test_threads_change_tensors_of_their_own():
    f, failures = opweave.compile(lambda x: x.t_() + 1, dynamic=False), []

    def work():
        x = numbers(4, 5)
        for k in range(200):
            y = f(x)
            if not x.shape == y.shape == ((5, 4), (4, 5))[k % 2]:
                failures.append((k, x.shape))

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


_PROGRAM = """
import opweave
from opweave.codegen import cache

found, fetch = [], cache.fetch
def noting(*args, **kwargs):
    artifact = fetch(*args, **kwargs)
    found.append(artifact.hit)
    return artifact
cache.fetch = noting

@opweave.compile
def f(x, w):
    x.t_()
    x.add_(1)
    return x * w

x, w = opweave.arange(6.0).reshape(2, 3).clone(), opweave.ones(3, 2, requires_grad=True)
y = f(x, w)
y.sum().backward()
print(found, tuple(x.shape), x.stride(), x._version, x.tolist(), y.tolist(), w.grad.tolist())
"""


def test_a_second_process_starts_from_the_disk(tmp_path):
    environment = {**os.environ, "OPWEAVE_CACHE_DIR": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)}
    environment.pop("OPWEAVE_CACHE", None)
    told = [fork_server.python(["-c", _PROGRAM], check=True, env=environment).stdout for _ in range(2)]
    assert told[0] == "[False, False] (3, 2) (1, 3) 2 [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]] " + (
        "[[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]] [[1.0, 4.0], [2.0, 5.0], [3.0, 6.0]]\n"
    )
    assert told[1] == told[0].replace("False", "True")

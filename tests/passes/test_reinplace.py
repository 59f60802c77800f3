"""Reinplacing: no copy where none is needed, one where it is, and a reason for each that stays."""

from __future__ import annotations

import triton
import triton.language as tl
from pass_checks import check, tensor

import opweave
from opweave.passes import functionalize, reinplace
from opweave.tracer.graph import Graph


@triton.jit
def halve_and_add(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    live = i < n
    tl.store(out + i, tl.load(out + i, live) * 0.5 + tl.load(x + i, live), live)


@opweave.library.custom_op("test_reinplace::accumulate", mutates_args=("out",))
def accumulate(out: opweave.Tensor, x: opweave.Tensor) -> None:
    out.numpy()[...] += x.numpy()[::-1]


def launch(x, out):
    opweave.library.wrap_triton(halve_and_add)[(1,)](x, out, x.numel(), BLOCK=16)


def run(graph: Graph) -> Graph:
    return reinplace.run(functionalize.run(graph))


def copies(graph: Graph) -> list[str]:
    return graph.graph["copies"]


def test_fresh_buffers_are_written_directly():
    def f(x):
        out = x * 2
        launch(x, out)
        y = x + 1
        accumulate(y, x)
        return out + y

    graph = check(run, f, tensor(8))
    assert copies(graph) == [] and "clone" not in str(graph)


def test_inputs_are_written_directly_once_their_old_contents_are_read():
    def f(x, y):
        z = x * 2
        launch(y, x)
        accumulate(y, z)
        return x + y, x.view(-1)

    graph = check(run, f, tensor(8), tensor(8, seed=1))
    assert copies(graph) == [] and "copy_" not in str(graph)
    assert functionalize.written_inputs(graph) == (0, 1)


def test_a_tensor_read_again_is_copied():
    def f(x):
        y = x * 2
        out = y.clone()
        accumulate(out, y)
        launch(y, y_copy := y.clone())
        return out + y + y_copy

    assert copies(check(run, f, tensor(8))) == []

    def g(x):
        y = x * 2
        z = y.view(2, 4)
        accumulate(y, x)
        return y + 1, z

    check(run, g, tensor(8))


def test_op_on_a_tensor_and_its_clone_stays_two_buffers():
    def f(x):
        accumulate(x.clone(), x)
        y = x.clone()
        accumulate(y, x)
        return y

    check(run, f, tensor(8))


def test_old_contents_read_later_keep_the_copy_and_say_why():
    def f(x):
        old = x * 1
        accumulate(x, old)
        return old + x

    assert copies(check(run, f, tensor(8))) == []

    def g(x):
        y = x + 1
        accumulate(y, x)
        return y

    def reorder(graph: Graph) -> Graph:
        """As a scheduler might: the reader of the old contents comes last."""
        graph = functionalize.run(graph)
        mul = next(n for n in graph if "mul" in n.name)
        graph.output_node().prev.prev.append(mul)  # type: ignore[union-attr]
        return reinplace.run(graph)

    def h(x):
        unused = x * 3
        accumulate(x, x + 1)
        return unused

    graph = check(reorder, h, tensor(8))
    (reason,) = copies(graph)
    assert reason.startswith("copy of x_1: its old contents are read later by mul; test_reinplace.py:")
    check(run, g, tensor(8))


@triton.jit
def add_then_double(a, b, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    live = i < n
    tl.store(a + i, tl.load(a + i, live) + 1.0, live)
    tl.store(b + i, tl.load(b + i, live) * 2.0, live)


def both(a, b):
    opweave.library.wrap_triton(add_then_double)[(1,)](a, b, a.numel(), BLOCK=16)


def test_a_tensor_that_a_launch_gets_twice_stays_one():
    def reads_it_too(x):
        y = x + 1
        launch(y, y)
        return y

    def writes_it_twice(x):
        y = x + 1
        both(y, y)
        return y * 1

    def an_input(x):
        both(x, x)
        return x + 1

    def read_before_and_after(x):
        y = x + 1
        z = y * 3
        both(y, y)
        return y + z, z

    def different_ones(x):
        y, z = x + 1, x + 2
        both(y, z)
        return y, z

    for f in (reads_it_too, writes_it_twice, an_input, read_before_and_after, different_ones):
        check(functionalize.run, f, tensor(8))
        check(run, f, tensor(8))


def test_a_tensor_that_a_compiled_launch_gets_twice():
    def f(x):
        both(x, x)
        return x + 1.0

    x, y = tensor(8), tensor(8)
    assert opweave.compile(f)(x).tolist() == f(y).tolist()
    assert x.tolist() == y.tolist()


def test_a_view_that_is_returned_does_not_lie_in_an_input_that_ends_as_something_else():
    @opweave.library.custom_op("test_reinplace::doubled", mutates_args=("x",))
    def doubled(x: opweave.Tensor) -> None:
        x.numpy()[...] *= 2

    def f(x):
        y = x * 1
        doubled(x)
        y.view(-1)[1:3] = 7
        return y.view(6)

    x, other = opweave.arange(6.0).view(2, 3).clone(), opweave.arange(6.0).view(2, 3).clone()
    wanted, found = f(x), opweave.compile(f)(other)
    assert found.tolist() == wanted.tolist() == [0.0, 7.0, 7.0, 3.0, 4.0, 5.0]
    assert other.tolist() == x.tolist() and found._storage is not other._storage


def test_an_input_gets_what_it_is_to_hold_not_what_a_copy_of_it_became():
    def f(x, i):
        x.index_put_([i], x[i] * 2, True)
        y = x * 1
        y[0] = 7
        return y

    def g(x, i):
        x.mul_(2)
        y = x * 1
        y[0] = 7
        return y

    for fn in (f, g):
        x, other, i = opweave.ones(4), opweave.ones(4), opweave.tensor([1, 2])
        wanted, found = fn(x, i), opweave.compile(fn)(other, i)
        assert found.tolist() == wanted.tolist() and other.tolist() == x.tolist()

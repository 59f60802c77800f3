"""Programs that mutate: random ones, and the known traps; compiled code does what eager does, or refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))

import mutation_ops as m
import mutation_programs

import opweave
from opweave.registry.errors import UnsupportedError

pytestmark = pytest.mark.property

BACKENDS = ("opweave", "eager")


def tensor(*sizes: int, dtype: str = "float32") -> opweave.Tensor:
    count = int(np.prod(sizes))
    return opweave.arange(count).reshape(sizes).to(getattr(opweave, dtype)) + 1


def same(function: Any, *make: Any, backend: str = "opweave", dynamic: bool = False) -> Any:
    """Check that a compiled function does to new arguments what the function does; the compiled function."""
    compiled = opweave.compile(function, backend=backend, dynamic=dynamic)

    def inputs(seed: int) -> tuple[list[Any], list[Any]]:
        return [one() for one in make], []

    def listed(call: Any) -> Any:
        return lambda *given: list(call(*given))

    for _ in range(2):
        expected = mutation_programs.observe(listed(function), inputs, 0)
        got = mutation_programs.observe(listed(compiled), inputs, 0)
        assert expected.error is None and got.error is None, (expected.error, got.error)
        assert mutation_programs.difference(expected, got) is None
    return compiled


@pytest.mark.parametrize("block", range(6))
def test_random_programs(block):
    kinds = []
    for seed in range(block * 40, block * 40 + 40):
        outcome, script = mutation_programs.failure(seed)
        assert not script, script
        kinds.append(outcome.kind)
    assert kinds.count("equal") > 20


def test_a_failing_program_is_made_short():
    program = mutation_programs.Maker(3).make()
    assert len(program.body) > 2
    short = mutation_programs.minimised(program, lambda p: len(p.body) >= 1)
    assert len(short.body) == 1 and not short.results
    text = mutation_programs.script(short, "opweave", False, "an example")
    compile(text, "script", "exec")
    assert text.startswith("# an example\n")


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("equal", ["x.clone()", "x * 1", "x + 0", "x.t().t() * 1"])
def test_a_mutating_op_on_a_tensor_and_its_equal_has_two_buffers(backend, equal):
    def first(x):
        y = eval_equal(x)
        m.accumulate(y, x)
        return [y]

    def second(x):
        m.accumulate(x, eval_equal(x))
        return [x.sum()]

    def launched(x):
        y = eval_equal(x)
        m.launch(x, y)
        m.launch(y, x)
        return [y]

    forms = {
        "x.clone()": lambda x: x.clone(), "x * 1": lambda x: x * 1, "x + 0": lambda x: x + 0,
        "x.t().t() * 1": lambda x: x.t().t() * 1,
    }  # fmt: skip
    eval_equal = forms[equal]
    for function in (first, second, launched):
        same(function, lambda: tensor(3, 3), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mutation_after_the_last_read_of_an_alias(backend):
    def f(x):
        y = x * 2
        v = y[1:]
        total = v.sum()
        y.add_(1)
        v.mul_(3)
        return [total, y]

    def g(x):
        v = x[0]
        total = v * 2
        m.bump(x, 3)
        return [total]

    same(f, lambda: tensor(3, 4), backend=backend)
    same(g, lambda: tensor(3, 4), backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("dynamic", [False, True])
def test_a_view_made_before_a_mutation_and_read_after_it(backend, dynamic):
    def f(x, y):
        views = [x[1:], x.t(), x.view(-1), x.diagonal(), x[:, ::2]]
        x.copy_(y)
        x[0].add_(1)
        return [v * 2 for v in views]

    same(f, lambda: tensor(4, 4), lambda: tensor(4, 4) * 3, backend=backend, dynamic=dynamic)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_mutation_through_an_alias_of_an_input(backend):
    def f(x):
        x.t()[1:].view(-1, 2, 2)[..., 0].mul_(5) if False else x.t()[1:].unsqueeze(0).mul_(5)
        m.accumulate(x.diagonal(), x.clone().diagonal())
        return [x[0]]

    same(f, lambda: tensor(3, 3), backend=backend)


def test_a_custom_op_that_writes_overlapping_elements_is_refused():
    def expanded(x):
        m.accumulate(x[0].expand(3, 4), x)
        return x

    def overlapping(x):
        m.accumulate(x.as_strided((3, 2), (1, 1)), opweave.zeros(3, 2))
        return x

    def launched(x):
        m.launch(x, x[0].expand(3, 4))
        return x

    for function in (expanded, overlapping, launched):
        with pytest.raises(UnsupportedError) as caught:
            opweave.compile(function, fullgraph=True)(tensor(3, 4))
        assert "overlap" in str(caught.value) and "clone" in str(caught.value)


@pytest.mark.parametrize("change", [lambda x, y: x.set_(y), lambda x, y: x.resize_(4)])
def test_other_memory_is_refused(change):
    def f(x, y):
        change(x, y)
        return x

    with pytest.raises(UnsupportedError, match="keeps its memory"):
        opweave.compile(f)(tensor(3), tensor(4))


def test_a_leaf_that_requires_grad_may_be_written_under_no_grad_only():
    def f(x):
        with opweave.no_grad():
            x.mul_(2)
        return []

    def g(x):
        x.mul_(2)
        return []

    for backend in BACKENDS:
        x = tensor(3).requires_grad_()
        opweave.compile(f, backend=backend)(x)
        np.testing.assert_array_equal(x.detach().numpy(), [2, 4, 6])
        assert x.requires_grad and x.is_leaf
        with pytest.raises(Exception, match=r"leaf that requires grad|in place"):
            opweave.compile(g, backend=backend)(x)
        np.testing.assert_array_equal(x.detach().numpy(), [2, 4, 6])


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_of_a_mutated_input_that_starts_inside_its_memory(backend):
    def f(x):
        x.mul_(3)
        v = x.unsqueeze(0).view(2, 2, 2)
        m.shift_all([v], 2)
        x[0] = 7
        return [v, x[1:]]

    same(f, lambda: tensor(4, 4)[2:], backend=backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_as_strided_counts_from_the_start_of_the_memory(backend):
    def f(x):
        v = x.as_strided((2, 2), (4, 1), 5)
        x.add_(1)
        v.mul_(10)
        w = x.as_strided((3,), (1,))
        x[0].zero_()
        return [v, w, w * 1, v * 1]

    compiled = same(f, lambda: tensor(4, 4)[1:], backend=backend)
    whole, expected = tensor(5, 4)[:3], tensor(5, 4)[:3]  # same sizes and strides, another start
    for got, want in zip(compiled(whole), f(expected), strict=True):
        np.testing.assert_array_equal(got.numpy(), want.numpy())
    np.testing.assert_array_equal(whole.numpy(), expected.numpy())


def test_as_strided_that_reaches_past_a_mutated_tensor_is_refused():
    def f(x):
        v = x.as_strided((4,), (1,), 0)
        x.add_(1)
        return v * 1

    with pytest.raises(UnsupportedError, match="reaches past a tensor that is mutated"):
        opweave.compile(f, fullgraph=True)(tensor(4, 4)[2:])


def test_disjoint_views_of_one_tensor_may_be_passed_together():
    def f(x):
        even, odd = x[:, ::2], x[:, 1::2]
        m.swap(even, odd)
        return [even * 1]

    same(f, lambda: tensor(3, 4))


def test_what_runs_below_autograd_is_not_recorded():
    def f(x):
        v = x.detach()
        v.add_(1)
        return [x.sum().detach()]

    for backend in BACKENDS:
        leaf = tensor(3).requires_grad_()
        x = leaf * 2
        (total,) = opweave.compile(f, backend=backend)(x)
        assert not total.requires_grad and x.requires_grad
        np.testing.assert_array_equal(x.detach().numpy(), [3, 5, 7])


@pytest.mark.parametrize("backend", BACKENDS)
def test_open_sizes_of_a_replaced_part(backend):
    def f(x):
        x[1:, ::2] = 3
        x.t()[0].add_(1)
        return [x.sum()]

    compiled = opweave.compile(f, dynamic=True, backend=backend)
    for sizes in ((3, 4), (5, 6), (4, 3)):
        x, y = tensor(*sizes), tensor(*sizes)
        np.testing.assert_array_equal(compiled(x)[0].numpy(), f(y)[0].numpy())
        np.testing.assert_array_equal(x.numpy(), y.numpy())


@pytest.mark.parametrize("backend", BACKENDS)
def test_inputs_that_share_memory_see_each_other_s_writes(backend):
    def f(x, y, z):
        x.add_(1)
        total = y * 2
        y[0] = 9
        m.bump(x[1], 5)
        return [total, x.sum(), y, y.t(), x * 1 + z]

    compiled = opweave.compile(f, backend=backend)

    def shared(kind: str) -> list[opweave.Tensor]:
        whole = tensor(4, 4)
        return {
            "rows": [whole[:3], whole[1:], tensor(3, 4)],
            "part": [whole[:3], whole[:3, :2].t().t()[:, :1].expand(3, 4).clone(), tensor(3, 4)],
            "same place": [whole[:3], whole.view(16)[:12].view(3, 4), tensor(3, 4)],
            "apart": [whole[:3], tensor(3, 4), tensor(3, 4)],
            "swapped": [whole[1:], whole[:3], tensor(3, 4)],
        }[kind]

    for kind in ("rows", "apart", "part", "same place", "swapped", "rows", "apart"):
        given, expected = shared(kind), shared(kind)
        got, want = compiled(*given), f(*expected)
        for one, other in zip([*got, *given], [*want, *expected], strict=True):
            np.testing.assert_array_equal(one.numpy(), other.numpy(), kind)
        assert got[2] is given[1] and got[3]._storage is given[1]._storage
    assert len(compiled.entries) == 4


def test_inputs_that_share_memory_with_other_types_are_refused_where_written():
    data = np.zeros(4, np.float32)

    def f(x, y):
        x.add_(1)
        return y * 1

    x, y = opweave.from_numpy(data), opweave.from_numpy(data[:2])
    if x._storage is not y._storage:
        with pytest.raises(UnsupportedError, match="shares memory with"):
            opweave.compile(f, fullgraph=True)(x, y)


def test_a_part_from_chunk_is_read_before_the_whole_is_written():
    def f(x):
        _, last = x.split([x.shape[0] - 1, 1], 0)
        x.add_(last)
        return [last * 1]

    same(f, lambda: tensor(3, 3))
    same(f, lambda: tensor(1025, 33))


@pytest.mark.parametrize("backend", BACKENDS)
def test_views_of_an_input_that_a_kernel_overwrites(backend):
    def f(x):
        x.mul_(2)
        v = x[1:]
        m.accumulate(v, v.clone())
        return [v * 1, x.t()]

    same(f, lambda: tensor(5, 4)[2:], backend=backend)


def test_gradients_that_turn_out_to_be_zeros_are_zeros():
    """What flows through an empty slice, and into a value that is overwritten, is zero and not None."""

    def run(a, b):
        b[:2] = a[:2]
        a.copy_(opweave.cat([b[1:], a[:1]]))
        return a

    def gradients(call):
        leaves = [opweave.ones(1).requires_grad_() for _ in range(2)]
        result = call(*[leaf * 2 for leaf in leaves])
        return [g.tolist() for g in opweave.autograd.grad([result], leaves, [opweave.ones(1)], allow_unused=True)]

    assert gradients(run) == gradients(opweave.compile(run)) == [[2.0], [0.0]]

"""What is saved for the backward and what is computed again, and that neither shows in the numbers."""

import numpy as np
import pytest

import opweave
from opweave.nn import functional as F
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.op import OpOverload


def leaf(*sizes, seed=0):
    values = np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)
    return opweave.from_numpy(values).requires_grad_()


def differentiated(f, leaves, **options):
    """Partition of a compiled function, after its gradients were compared with the function's own."""
    compiled = opweave.compile(f, **options)
    expected = opweave.autograd.grad(f(*leaves), leaves)
    found = opweave.autograd.grad(compiled(*leaves), leaves)
    for one, other in zip(found, expected, strict=True):
        # Sums of products cancel: they are as exact as the largest of them.
        scale = max(1.0, float(np.abs(other.numpy()).max(initial=0.0)))
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=2e-4, atol=2e-5 * scale)
    return compiled.entries[0].partition


def repeated(partition):
    return sorted({node.target.opname for node in partition.recomputed})


def targets(graph):
    return [node.target.opname for node in graph if isinstance(node.target, OpOverload)]


def test_a_chain_of_pointwise_ops_saves_its_input_alone():
    x = leaf(64, 8)
    partition = differentiated(lambda x: x.sin().exp().tanh().sum(), (x,))
    assert partition.saved == ["x"] and partition.saved_bytes == 64 * 8 * 4
    assert {"sin", "exp", "tanh"} <= set(repeated(partition))


def test_matrix_products_run_once():
    x, w, v = leaf(16, 8), leaf(8, 32, seed=1), leaf(32, 4, seed=2)
    partition = differentiated(lambda x, w, v: ((x @ w).relu() @ v).sum(), (x, w, v))
    assert "mm" not in repeated(partition)
    assert targets(partition.forward).count("mm") == 2


def test_a_reduction_is_saved_rather_than_repeated():
    x = leaf(64, 128)
    partition = differentiated(lambda x: (x.softmax(-1) * x).sum(), (x,))
    assert not {"amax", "sum", "mean"} & set(repeated(partition))
    assert partition.saved_bytes <= 64 * 128 * 4 + 3 * 64 * 4


def test_a_view_is_made_again_from_its_base():
    x, w = leaf(6, 8), leaf(8, 6, seed=1)
    partition = differentiated(lambda x, w: (x.t() * w).sin().sum(), (x, w))
    assert set(partition.saved) <= {"x", "w", "mul"}


def test_random_numbers_are_drawn_once():
    x = leaf(32, 8)

    def f(x):
        return F.dropout(x.sin(), 0.5).sum()

    compiled = opweave.compile(f)
    opweave.manual_seed(3)
    expected = opweave.autograd.grad(f(x), (x,))[0]
    opweave.manual_seed(3)
    found = opweave.autograd.grad(compiled(x), (x,))[0]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    partition = compiled.entries[0].partition
    # What is drawn follows from the key, and may be computed again from it.
    drawn = [
        n
        for n in (*partition.forward, *partition.backward)
        if n.op == "call_function" and "philox_key" in str(n.target)
    ]
    assert len(drawn) == 1


def test_an_input_that_is_overwritten_is_not_read_again():
    def f(x, b):
        y = (b * 2).sin().exp()  # would be computed again from b
        out = (x * y).tanh()
        b.add_(1.0)
        return out.sum()

    x = leaf(5)
    b, c = opweave.ones(5), opweave.ones(5)
    expected = opweave.autograd.grad(f(x, b), (x,))[0]
    found = opweave.autograd.grad(opweave.compile(f)(x, c), (x,))[0]
    np.testing.assert_allclose(found.numpy(), expected.numpy(), rtol=1e-5)
    assert b.tolist() == c.tolist()


@pytest.mark.parametrize("budget", [0.0, 0.3, 0.6, 1.0])
def test_a_memory_budget_is_kept(budget):
    leaves = leaf(16, 32), leaf(32, 64, seed=1), leaf(64, 32, seed=2)

    def f(x, w, v):
        for _ in range(3):
            x = x + F.gelu(x @ w * 0.2) @ v * 0.2
        return (x * x).sum()

    full = differentiated(f, leaves)
    part = differentiated(f, leaves, options={"memory_budget": budget})
    least = differentiated(f, leaves, options={"memory_budget": 0.0})
    assert part.saved_bytes <= max(budget * full.saved_bytes, least.saved_bytes)
    assert least.saved_bytes < 0.6 * full.saved_bytes
    assert "mm" in repeated(least)


def test_a_budget_must_be_a_part():
    with pytest.raises(ArgumentError, match="memory_budget must be a number from 0 to 1"):
        opweave.compile(lambda x: x, options={"memory_budget": 2})


def test_sizes_left_open_are_saved_as_numbers():
    compiled = opweave.compile(lambda x: x.mean(0).sum() * x.shape[0], dynamic=True)
    for rows in (3, 5, 9):
        x = leaf(rows, 4)
        grad = opweave.autograd.grad(compiled(x), (x,))[0]
        np.testing.assert_allclose(grad.numpy(), np.ones((rows, 4)), rtol=1e-6)
    assert len(compiled.entries) == 1
    assert compiled.entries[0].partition.saved_bytes == 0


def test_explain_tells_what_is_saved():
    text = str(opweave.explain(lambda x: x.sin().sum())(leaf(4)))
    assert "saves 1 values, 16 bytes; computes again: cos" in text


# ---- checkpoint ----------------------------------------------------------------------------------------------------


def layer(x, w):
    return F.dropout((x @ w).sin(), 0.25).exp()


def both(f, *leaves):
    opweave.manual_seed(7)
    grads = opweave.autograd.grad(f(*leaves), leaves)
    return [*(g.numpy() for g in grads), opweave.rand(3).numpy()]


def test_checkpoint_changes_no_number():
    kept = opweave.checkpoint(layer)
    plain = both(lambda x, w: (layer(layer(x, w), w) * x).sum(), leaf(4, 4), leaf(4, 4, seed=1))
    for f in (
        lambda x, w: (kept(kept(x, w), w) * x).sum(),
        opweave.compile(lambda x, w: (kept(kept(x, w), w) * x).sum()),
    ):
        for one, other in zip(both(f, leaf(4, 4), leaf(4, 4, seed=1)), plain, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)


def test_checkpoint_runs_the_function_again_and_keeps_its_inputs_alone():
    calls = []

    @opweave.checkpoint
    def f(x):
        calls.append(1)
        return x.sin().exp().sum()

    x = leaf(8)
    loss = f(x)
    assert len(calls) == 1
    loss.backward()
    assert len(calls) == 2
    np.testing.assert_allclose(x.grad.numpy(), np.cos(x.detach().numpy()) * np.exp(np.sin(x.detach().numpy())), 1e-5)


def test_checkpoint_in_a_compiled_function_repeats_products():
    kept = opweave.checkpoint(lambda x, w: ((x @ w).relu() @ w).sin())
    leaves = leaf(16, 16), leaf(16, 16, seed=1)
    partition = differentiated(lambda x, w: (kept(x, w) * 2).sum(), leaves)
    assert "mm" in repeated(partition)
    assert set(partition.saved) <= {"x", "w"}


def test_checkpoint_without_gradients_just_calls():
    kept = opweave.checkpoint(layer)
    with opweave.no_grad():
        assert not kept(leaf(4, 4), leaf(4, 4)).requires_grad


def test_checkpoint_refuses_what_it_cannot_repeat():
    x = leaf(4)
    b = opweave.ones(4)
    loss = opweave.checkpoint(lambda x, b: (x * b).sin().sum())(x, b)
    b.add_(1)
    with pytest.raises(AutogradError, match="an input was modified by an in-place operation"):
        loss.backward()
    state = []

    def forgetful(x):
        state.append(1)
        return x.sin().sum() if len(state) == 1 else x.sin().cos().sum()

    with pytest.raises(AutogradError, match="saved something else the second time"):
        opweave.checkpoint(forgetful)(x).backward()
    with pytest.raises(ArgumentError, match="expected a function"):
        opweave.checkpoint(3)


def test_checkpoint_refuses_a_second_derivative():
    x = leaf(4)
    (first,) = opweave.autograd.grad(opweave.checkpoint(lambda x: x.sin().sum())(x), (x,), create_graph=True)
    with pytest.raises(AutogradError, match="a second derivative through checkpoint"):
        first.sum().backward()

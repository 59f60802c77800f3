"""Many values that are saved for the backward become parts of one, and that does not show in the numbers."""

import numpy as np
import pytest

import opweave
from opweave.passes.fuse import MAX_PIECES

STEPS = MAX_PIECES + 4


def leaf(*sizes, seed=0):
    values = np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)
    return opweave.from_numpy(values / np.float32(4)).requires_grad_()


def recurrent(h, w, x):
    """A state whose every step is saved."""
    found = []
    for k in range(x.shape[0]):
        h = (h @ w + x[k]).tanh()
        found.append(h.sum())
    return sum(found)


def gradients(f, leaves):
    return [g.numpy() for g in opweave.autograd.grad(f(*leaves), leaves)]


def compared(f, leaves, **options):
    """The partition of a compiled function, after its gradients were compared with the function's own."""
    compiled = opweave.compile(f, **options)
    for one, other in zip(gradients(compiled, leaves), gradients(f, leaves), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-5)
    return compiled.entries[0].partition


def test_states_of_a_loop_are_saved_as_one_tensor():
    leaves = leaf(8, 16), leaf(16, 16, seed=1), leaf(STEPS, 8, 16, seed=2)
    partition = compared(recurrent, leaves)
    assert partition.saved == [name for name in partition.saved if name.startswith("cat") or name in ("h", "w")]
    whole = [node for node in partition.forward.output_node().args[0] if node.name in partition.saved]
    assert [tuple(n.meta["val"].shape) for n in whole if n.name.startswith("cat")] == [(8 * STEPS, 16)]
    assert partition.saved_bytes >= STEPS * 8 * 16 * 4
    assert [p.name for p in partition.backward.placeholders()][: len(partition.saved)] == partition.saved


def test_sizes_and_types_of_their_own_make_bundles_of_their_own():
    def f(x, y, w):
        total = x.sum() * 0 + y.sum() * 0
        for k in range(STEPS):
            x, y = (x @ w).tanh(), (y @ w[:16, :16] + k).cos()
            total = total + x.sum() + y.sum()
        return total

    leaves = leaf(8, 32), leaf(4, 16, seed=1), leaf(32, 32, seed=2)
    partition = compared(f, leaves)
    bundles = [n for n in partition.forward.output_node().args[0] if n.target is opweave.ops.aten.cat.default]
    assert {tuple(n.meta["val"].shape)[1] for n in bundles} == {16, 32}


@pytest.mark.parametrize("steps", [2, MAX_PIECES])
def test_a_few_are_saved_each_by_itself(steps):
    leaves = leaf(8, 16), leaf(16, 16, seed=1), leaf(steps, 8, 16, seed=2)
    partition = compared(recurrent, leaves)
    assert not any(node.target is opweave.ops.aten.cat.default for node in partition.forward)


def test_what_is_a_result_too_stays_what_it_is():
    def f(h, w, x):
        states = []
        for k in range(STEPS):
            h = (h @ w + x[k]).tanh()
            states.append(h)
        return states

    leaves = leaf(8, 16), leaf(16, 16, seed=1), leaf(STEPS, 8, 16, seed=2)
    compiled = opweave.compile(f)
    found, expected = compiled(*leaves), f(*leaves)
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_allclose(one.detach().numpy(), other.detach().numpy(), rtol=1e-5, atol=1e-6)
        assert one.untyped_storage().nbytes() == 8 * 16 * 4
    partition = compiled.entries[0].partition
    assert not any(node.target is opweave.ops.aten.cat.default for node in partition.forward)
    one = gradients(lambda *leaves: sum(h.sum() for h in compiled(*leaves)), leaves)
    other = gradients(lambda *leaves: sum(h.sum() for h in f(*leaves)), leaves)
    for a, b in zip(one, other, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-4, atol=1e-5)


def test_the_gradient_of_a_part_of_the_results_and_a_second_walk():
    def f(h, w, x):
        return recurrent(h, w, x), (x * w[0]).sum()

    leaves = leaf(8, 16), leaf(16, 16, seed=1), leaf(STEPS, 8, 16, seed=2)
    compiled = opweave.compile(f)
    for k in (0, 1):
        one, two = (opweave.autograd.grad(g(*leaves)[k], leaves[1]) for g in (compiled, f))
        np.testing.assert_allclose(one[0].numpy(), two[0].numpy(), rtol=1e-4, atol=1e-5)
    total = compiled(*leaves)[0]
    first, second = (opweave.autograd.grad(total, leaves[1], retain_graph=True)[0].numpy() for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("options", [{"dynamic": True}, {"options": {"memory_budget": 0.5}}], ids=["dynamic", "budget"])
def test_other_ways_to_compile(options):
    leaves = leaf(8, 16), leaf(16, 16, seed=1), leaf(STEPS, 8, 16, seed=2)
    compared(recurrent, leaves, **options)


def test_backends_of_others_are_given_what_is_saved_as_it_is():
    seen = []

    def backend(module, inputs):
        seen.append([node.target for node in module.graph])
        return module

    leaves = leaf(8, 16), leaf(16, 16, seed=1), leaf(STEPS, 8, 16, seed=2)
    compared(recurrent, leaves, backend=backend)
    assert seen and not any(opweave.ops.aten.cat.default in targets for targets in seen)


def test_views_of_what_is_saved_begin_where_it_lies():
    """A product reads a view at its place in memory, which its value says."""

    def f(h, w, u):
        total = h.sum() * 0
        for k in range(STEPS):
            h = (h @ w).tanh()
            total = total + (h.view(2, 4, 16)[1] @ u[k]).square().sum() + (h.view(16, 8).t() @ u[k]).sum()
        return total

    leaves = leaf(8, 16), leaf(16, 16, seed=1), leaf(STEPS, 16, 5, seed=2)
    partition = compared(f, leaves)
    assert any(node.target is opweave.ops.aten.cat.default for node in partition.forward)

"""Replayed calls whose results have a history: nodes, what they save and gradients are those that Python makes."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_samples import calls as sample_calls, maker
from test_calls import Watch, copied, functional_ops, method, stands_behind, told

import opweave
from opweave import nn, ops
from opweave.codegen.native import calls
from opweave.registry import dtypes, replay
from opweave.registry.autograd.graph import nodes_from
from opweave.registry.errors import AutogradError
from opweave.registry.op import registry
from opweave.registry.tensor import Tensor

aten = ops.aten
pytestmark = pytest.mark.skipif(not calls.install(True), reason="native code cannot know the layout of objects here")


@pytest.fixture(autouse=True)
def _as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of the process changed built-in ops, and changed them back."""
    monkeypatch.setattr(registry, "shipped_version", registry.builtin_version)


def f32(*sizes: int, seed: int = 0) -> Tensor:
    return maker(dtypes.float32, seed)(*sizes)


def leaf(*sizes: int, seed: int = 0) -> Tensor:
    return f32(*sizes, seed=seed).requires_grad_()


def names(t: Tensor) -> list[str]:
    """Of the nodes behind a tensor."""
    return [] if t.grad_fn is None else [node.name() for node in nodes_from([t.grad_fn])]


x, w, b, square = leaf(4, 6), leaf(3, 6, seed=1), leaf(3, seed=2), leaf(6, 6, seed=3)
cube = leaf(2, 4, 6, seed=4)
FORMS: dict[str, tuple[Any, Callable[[], Tensor]]] = {
    "linear": (aten.linear.default, lambda: nn.functional.linear(x, w, b)),
    "linear of data": (aten.linear.default, lambda: nn.functional.linear(x.detach(), w, b)),
    "linear of frozen weights": (aten.linear.default, lambda: nn.functional.linear(x, w.detach(), b)),
    "linear without bias": (aten.linear.default, lambda: nn.functional.linear(x, w)),
    "x[1:, 2]": (method("__getitem__"), lambda: x[1:, 2]),
    "x[1][None, ::2]": (method("__getitem__"), lambda: square[1:][None, ::2]),
    "softmax": (aten.softmax.int, lambda: aten.softmax.int(x, -1)),
    "log_softmax over columns": (aten.log_softmax.int, lambda: aten.log_softmax.int(square, 0)),
    "square @ square": (method("__matmul__"), lambda: square @ square),
    # What lies between is saved, or the result is a view of it.
    "linear of batches": (aten.linear.default, lambda: nn.functional.linear(cube, w, b)),
    "attention": (aten.scaled_dot_product_attention.default, lambda: nn.functional.scaled_dot_product_attention(
        cube, cube, cube, is_causal=True)),
    "mse_loss": (aten.mse_loss.default, lambda: nn.functional.mse_loss(square, square * 2)),
    "rms_norm": (aten.rms_norm.default, lambda: nn.functional.rms_norm(x, [6])),
    "gelu": (aten.gelu.default, lambda: nn.functional.gelu(x)),
    "gelu of columns": (aten.gelu.default, lambda: nn.functional.gelu(square[:, ::2])),
    "mean of rows": (aten.mean.dim, lambda: aten.mean.dim(x, [1])),
    "std": (aten.std.correction, lambda: aten.std.correction(x)),
    "copy of a turned one": (aten.reshape.default, lambda: aten.reshape.default(cube.transpose(0, 1), [4, 12])),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_the_nodes_are_those_of_python(name: str) -> None:
    function, call = FORMS[name]
    leaves = (x, w, b, square)

    def seen(result: Tensor) -> Any:
        grads = opweave.autograd.grad(result, leaves, opweave.ones_like(result), allow_unused=True, retain_graph=True)
        twice = [g for g in opweave.autograd.grad(result, leaves, f32(*result.shape, seed=5), allow_unused=True,
                                                  create_graph=True) if g is not None]  # fmt: skip
        return told(result), names(result), told(list(grads)), [names(g) if g.grad_fn else None for g in twice]

    call()  # an op is known from its first call on
    stands_behind(function).head.wait = 1 << 40
    replay.forget()
    expected = seen(call())
    watch = Watch(function)
    for _ in range(4):
        assert seen(call()) == expected
    assert watch.made >= 3


@pytest.mark.parametrize("part", range(4))
def test_gradients_of_all_ops_samples(part: int) -> None:
    made = 0
    for op in functional_ops()[part::4]:
        for i, (_, (args, kwargs)) in enumerate(sample_calls(op)):
            if i > 4 or not any(isinstance(v, Tensor) and v._dtype.kind == "f" for v in args):
                break
            expected = attempt(op, args, kwargs, learn=False)
            for _ in range(2):
                assert attempt(op, args, kwargs, learn=True) == expected, (op, args, kwargs)
            made += bool(id(op) in calls.known and stands_behind(op).calls)
    assert made > 30


def attempt(op: Any, args: tuple[Any, ...], kwargs: dict[str, Any], *, learn: bool) -> Any:
    """The result of a call, the nodes behind it and the gradients, or what is raised."""
    if id(op) in calls.known:  # from its first call on
        stands_behind(op).head.wait = 0 if learn else 1 << 40
    if not learn:
        replay.forget()
    given = copied(args)
    leaves = [v.requires_grad_() for v in given if isinstance(v, Tensor) and v._dtype.kind == "f"]
    try:
        found = op(*given, **kwargs)
        if not isinstance(found, Tensor) or not found.requires_grad:
            return told(found)
        grads = opweave.autograd.grad(found, leaves, opweave.full_like(found, 0.5), allow_unused=True)
    except Exception as error:
        return type(error), str(error).partition("\n")[0]
    return told(found), names(found), told(list(grads))


def test_what_was_written_down_of_one_tensor_that_stands_twice_is_for_two() -> None:
    data, weight = leaf(5, 5), leaf(5, 5, seed=1)
    nn.functional.linear(data, data)
    watch = Watch(aten.linear.default)
    for _ in range(3):
        nn.functional.linear(data, data)
    made = watch.made
    grads = opweave.autograd.grad(nn.functional.linear(data, weight).sum(), (data, weight))
    assert watch.made == made + 1
    ones = np.ones((5, 5), np.float32)
    np.testing.assert_allclose(grads[0].numpy(), ones @ weight.detach().numpy(), rtol=1e-6)
    np.testing.assert_allclose(grads[1].numpy(), ones @ data.detach().numpy(), rtol=1e-6)


def test_a_write_to_a_weight_is_noticed_where_its_transpose_was_saved() -> None:
    data, weight = leaf(4, 6), leaf(3, 6, seed=1)
    nn.functional.linear(data, weight)
    watch = Watch(aten.linear.default)
    for _ in range(3):
        nn.functional.linear(data, weight)
    result = nn.functional.linear(data, weight)
    assert watch.made >= 2
    with opweave.no_grad():
        weight.add_(1)
    with pytest.raises(AutogradError, match="modified by an in-place operation"):
        result.sum().backward()


# ---- products on the pool --------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sizes", [(70, 70, 70), (32, 128, 128), (3, 40, 80, 50), (65, 4100, 1)])
def test_products_that_the_pool_makes(dtype: Any, sizes: tuple[int, ...]) -> None:
    """Larger than what BLAS makes on one thread: first in Python, then replayed, with the bits of `out=`."""
    draw = np.random.default_rng(0)
    *batch, m, k, n = sizes
    one = draw.standard_normal((*batch, m, k)).astype(dtype)
    other = draw.standard_normal((*batch, n, k)).astype(dtype).swapaxes(-1, -2)
    first, second = opweave.from_numpy(one), opweave.from_numpy(other)
    out = opweave.empty(*batch, m, n, dtype=first.dtype)
    (opweave.bmm if batch else opweave.mm)(first, second, out=out)
    exact = one.astype(np.float64) @ other.astype(np.float64)
    magnitude = np.abs(one.astype(np.float64)) @ np.abs(other.astype(np.float64))
    watch = Watch(method("__matmul__"))
    for _ in range(4):
        found = (first @ second).numpy()
        assert found.tobytes() == out.numpy().tobytes()
        assert np.all(np.abs(found - exact) <= k * np.finfo(dtype).eps * magnitude)
    assert watch.made >= 3


def test_large_products_do_not_depend_on_the_number_of_threads() -> None:
    draw = np.random.default_rng(0)
    one, other = (opweave.from_numpy(draw.standard_normal((300, 300)).astype(np.float32)) for _ in range(2))
    before = opweave.get_num_threads()
    found = []
    try:
        for threads in (1, 2, 3):
            opweave.set_num_threads(threads)
            found.append((one @ other).numpy().tobytes())
    finally:
        opweave.set_num_threads(before)
    assert len(set(found)) == 1


# ---- gradients that are taken as they are ----------------------------------------------------------------------------


def test_a_weights_gradient_lies_as_the_weight_and_is_its_own() -> None:
    model = nn.Sequential(nn.Linear(6, 5), nn.ReLU(), nn.Linear(5, 3))
    data = f32(4, 6)
    kept = []

    def keep(grad: Tensor) -> None:
        kept.append((grad, grad.clone()))

    model[0].weight.register_hook(keep)
    for _ in range(2):
        model.zero_grad()
        model(data).square().sum().backward()
    for parameter in model.parameters():
        grad = parameter.grad
        assert grad.stride() == parameter.stride() and grad._view_of is None and grad.storage_offset() == 0
    # A hook that keeps the gradient sees no later write to it.
    model(data).square().sum().backward()
    model[0].weight.grad.zero_()
    for grad, before in kept:
        np.testing.assert_array_equal(grad.numpy(), before.numpy())


def test_what_cannot_be_written_down_keeps_no_result_alive() -> None:
    large = opweave.ones(1 << 17).requires_grad_()
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            Watch(aten.exp)  # asks for the call to be written down
            result = large.exp()
            node = weakref.ref(result.grad_fn)
            del result
            assert node() is None
    finally:
        gc.enable()

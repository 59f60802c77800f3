"""Sizes and numbers that depend on data: eager, traced, compiled and exported code agree, or all of them refuse."""

from __future__ import annotations

import contextlib
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import optree
import pytest
from hypothesis import given, settings, strategies as st

import opweave
from opweave import Tensor, export, make_fx
from opweave.nn import functional as F
from opweave.registry.errors import DataDependentError, OpweaveError

INPUTS = [
    [[1.0, -1, 2, -2], [3, 4, -3, -4]], [[1.0, 1, 1, -1], [1, 1, -1, 1]], [[-1.0] * 4] * 2,
    [[-1.0, -1, -1, 1], [-1.0] * 4], [[1.0] * 4] * 2,
]  # fmt: skip


def count(x: Tensor) -> Any:
    return (x > 0).sum().item()


def ways(f: Callable[[Tensor], Any], path: str | None = None) -> Iterator[tuple[str, Callable[..., Any]]]:
    """The function as each stage makes it of the first input."""
    x = opweave.tensor(INPUTS[0])
    yield "fake", make_fx(f, tracing_mode="fake")(x)
    yield "symbolic", make_fx(f, tracing_mode="symbolic")(x)
    yield "compiled", opweave.compile(f)
    yield "dynamic", opweave.compile(f, dynamic=True)
    program = export.export(f, (x,))
    yield "exported", program.module()
    if path is not None:
        export.save(program, path)
        yield "loaded", export.load(path).module()


def run(f: Callable[..., Any], x: Any) -> Any:
    """The leaves of a result; the error where there is one."""
    try:
        return optree.tree_leaves(f(opweave.tensor(x)))
    except (OpweaveError, IndexError, ZeroDivisionError) as error:
        return error


def check(f: Callable[[Tensor], Any], path: str | None = None, narrow: bool = False) -> None:
    """Compare on all inputs; `narrow` says that traced code may refuse sizes 0 and 1."""
    for name, made in ways(f, path):
        for x in INPUTS:
            expected, found = run(f, x), run(made, x)
            if isinstance(expected, Exception):
                assert isinstance(found, Exception), (name, x, expected, found)
                continue
            if isinstance(found, OpweaveError) and narrow:
                assert "depends on data" in str(found), (name, x, found)
                continue
            assert not isinstance(found, Exception), (name, x, found)
            assert len(found) == len(expected), (name, x)
            for one, other in zip(found, expected, strict=True):
                assert type(one) is type(other), (name, x, one, other)
                a, b = (t.numpy() if isinstance(t, Tensor) else t for t in (one, other))
                np.testing.assert_allclose(a, b, rtol=1e-5, err_msg=f"{name} {x}")


AGREE: dict[str, Callable[[Tensor], Any]] = {
    "nonzero": lambda x: x.nonzero(), "mask": lambda x: x[x > 0] * 2, "a size": lambda x: x[x > 0].shape[0],
    "sizes": lambda x: (lambda n: (n * 2 + 1, n / 2, n // 2, n % 3, -n, {"n": [n]}))(x[x > 0].shape[0]),
    "unfold": lambda x: x[x > 0].unfold(-1, 2, 1), "unfold 1": lambda x: x[x > 0].unfold(-1, 1, 2),
    "narrow": lambda x: x[x > 0].narrow(0, 1, 2), "select": lambda x: x[x > 0].select(0, 1),
    "last": lambda x: x[x > 0][-1], "slice": lambda x: x[x > 0][1:3], "view": lambda x: x[x > 0].view(2, -1),
    "reshape": lambda x: x[x > 0].reshape(-1, 2), "fixed reshape": lambda x: x[x > 0].reshape(2, 2),
    "split": lambda x: x[x > 0].split([2, 2]), "stack": lambda x: opweave.stack([x[x > 0], x[x < 0]]),
    "mm": lambda x: x[x > 0].unsqueeze(0) @ opweave.ones(4, 3), "cat": lambda x: opweave.cat([x[x > 0], x.flatten()]),
    "mm with a size": lambda x: x[x > 0].unsqueeze(0) @ x.flatten().unsqueeze(1),
    "dot": lambda x: opweave.dot(x[x > 0], x[x > 0]), "outer": lambda x: x[x > 0].unsqueeze(1) + x[x > 0],
    "parts": lambda x: opweave.cat([x[x.sum(1) > 0], x[x.sum(1) <= 0]]) + x, "amax": lambda x: x[x > 0].amax(),
    "cat of others": lambda x: opweave.cat([x[x.sum(1) > 0], x], 1), "softmax": lambda x: x[x > 0].softmax(0),
    "layer norm": lambda x: F.layer_norm(x[x.sum(1) > 0], (4,)), "topk": lambda x: x[x > 0].topk(2),
    "equal calls": lambda x: (x[x > 100].sum(), x[x > 100] * 2),
    "view of a count": lambda x: opweave.ones(8).view(count(x), -1),
    "item": lambda x: x * count(x), "float item": lambda x: (lambda v: (x * v + v**2, v, v > 2))(x.mean().item()),
    "bool item": lambda x: x * (x.sum() > 0).item(), "list": lambda x: opweave.zeros((x > 0).sum(1).tolist()[0] + 1),
    "start": lambda x: x.flatten()[count(x) :], "end": lambda x: x.flatten()[: count(x)],
    "place": lambda x: x.flatten()[count(x)], "from the end": lambda x: x.flatten()[-count(x)],
    "narrow by": lambda x: x.flatten().narrow(0, count(x), 2), "repeat": lambda x: x.repeat(count(x), 1),
    "full": lambda x: opweave.full((2, count(x)), x.sum().item()), "arange": lambda x: opweave.arange(1, count(x), 2),
    "tensor of it": lambda x: opweave.tensor([count(x), 2]) * x.shape[0], "power": lambda x: x ** count(x),
    "constant": lambda x: x * opweave.tensor(3).item() + int(opweave.tensor([1, 2]).sum()),
    "constant branch": lambda x: x if opweave.tensor(3) > 2 else -x, "written": lambda x: x * written_constant(),
    "repeat_interleave": lambda x: opweave.repeat_interleave(x.flatten(), (x.flatten() > 0).long()),
    "diff": lambda x: opweave.diff(x[x > 0]), "assigned": lambda x: shifted(x[x > 0]),
    "unique": lambda x: opweave.unique(x), "masked_select": lambda x: opweave.masked_select(x, x > 0).sum(),
    "cond on a size": lambda x: opweave.cond(x[x > 0].shape[0] > 2, opweave.sin, opweave.cos, (x,)),
    "cond on an item": lambda x: opweave.cond(x.sum().item() > 0.5, opweave.sin, opweave.cos, (x,)),
    "cond on a number": lambda x: opweave.cond(x.sum(), opweave.sin, opweave.cos, (x,)),
    "cond and a size outside": lambda x: (
        lambda n, v: opweave.cond(x.sum() > 0, lambda x: x * n - v, lambda x: x[:, :1] - n + x, (x,))
    )(count(x), x.max().item()),
    "loops and a size outside": lambda x: (
        lambda n: opweave.while_loop(lambda i, y: i < n, lambda i, y: (i + 1, y * 2 + n), (opweave.tensor(0), x))[1]
    )(count(x)),
}  # fmt: skip


def shifted(x: Tensor) -> Tensor:
    x[1:] = x[:-1].clone()
    return x


def written_constant() -> Any:
    t = opweave.tensor([1, 2])
    u = t[0]
    t.add_(5)
    return t[0].item() * 10 + u.item()


@pytest.mark.parametrize("name", AGREE)
def test_stages_agree(name: str, tmp_path: Any) -> None:
    check(AGREE[name], str(tmp_path / "program.zip"))


#: Their sizes are longer expressions than a file holds.
UNSAVED: dict[str, Callable[[Tensor], Any]] = {
    "parts": lambda x: x[x > 0].tensor_split(3), "a part's diff": lambda x: opweave.diff(x[x > 0].tensor_split(2)[0]),
}  # fmt: skip


@pytest.mark.parametrize("name", UNSAVED)
def test_unsaved_stages_agree(name: str) -> None:
    check(UNSAVED[name])


def test_what_was_traced_is_traced_again() -> None:
    """The least of two numbers that depend on data is not decided when a graph is traced again."""
    f = UNSAVED["parts"]
    traced = make_fx(f, tracing_mode="symbolic")(opweave.tensor(INPUTS[0]))
    exported = export.export(f, (opweave.tensor(INPUTS[0]),)).module(compile=False)
    for made in (opweave.compile(traced), opweave.compile(exported)):
        for x in INPUTS:
            assert [t.shape for t in made(opweave.tensor(x))] == [t.shape for t in f(opweave.tensor(x))], x


#: Traced code takes the sizes to be 2 or more where they decide, and says so where they are not.
NARROWER: dict[str, Callable[[Tensor], Any]] = {
    "broadcast": lambda x: x[x > 0] + opweave.ones(4), "with a size": lambda x: x[x > 0] + x.flatten(),
    "with each other": lambda x: x[x > 0] + x[x < 0], "expand": lambda x: x[x > 0].expand(4),
    "squeeze": lambda x: x[x > 0].squeeze(0), "pad": lambda x: F.pad(x, (count(x), 0)),
}  # fmt: skip


@pytest.mark.parametrize("name", NARROWER)
def test_stages_agree_or_say_which_size_they_refuse(name: str) -> None:
    check(NARROWER[name], narrow=True)


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[x > 0].split(2), lambda x: x[x > 0].chunk(2), lambda x: x if count(x) > 2 else -x,
        lambda x: x if (x.sum() > 0).item() else -x, lambda x: x * 2 if x.sum().item() > 0.5 else x,
        lambda x: opweave.zeros(int((x > 0).sum())), lambda x: list(range(count(x))),
    ],
)  # fmt: skip
def test_what_would_have_to_be_known_is_refused(f: Callable[[Tensor], Any]) -> None:
    x = opweave.tensor(INPUTS[0])
    for trace in (
        lambda: make_fx(f, tracing_mode="fake")(x), lambda: make_fx(f, tracing_mode="symbolic")(x),
        lambda: opweave.compile(f, fullgraph=True)(x),
        lambda: export.export(f, (x,)),
    ):  # fmt: skip
        with pytest.raises(DataDependentError, match="test_data_dependent"):
            trace()


def test_a_check_names_the_line_that_needs_it() -> None:
    def f(x: Tensor) -> Tensor:
        y = x[x > 0]
        return y.unfold(-1, 1, 2) * 2

    line = f.__code__.co_firstlineno + 2
    compiled = opweave.compile(f)
    compiled(opweave.tensor(INPUTS[0]))
    module = make_fx(f, tracing_mode="fake")(opweave.tensor(INPUTS[0]))
    for made in (f, compiled, module):
        with pytest.raises(OpweaveError, match="a window must fit into the dimension") as caught:
            made(opweave.tensor(INPUTS[2]))
        assert made is not module or f"test_data_dependent.py:{line}" in module.code, caught.value


# ---- gradients -------------------------------------------------------------------------------------------------------

GRADIENTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "sum": lambda x, w: x[x > 0].sum(), "square": lambda x, w: (x[x > 0] ** 2).sum(),
    "nonzero": lambda x, w: (x * w).flatten()[x.flatten().nonzero().squeeze(1)].sin().sum(),
    "masked_select": lambda x, w: opweave.masked_select(x * w, x > 0).exp().sum(),
    "rows": lambda x, w: (x[x.sum(1) > 0] @ w.t()).tanh().sum(),
    "outer": lambda x, w: (x[x > 0].unsqueeze(1) * x[x > 0]).sum(),
    "broadcast": lambda x, w: (x[x > 0].unsqueeze(1) * w.flatten()).sum(),
    "expand": lambda x, w: (x[x > 0].expand(3, -1) ** 2).sum(), "both": lambda x, w: (x[x > 0] * w[x > 0]).sum(),
    "repeats": lambda x, w: (opweave.repeat_interleave(x.flatten(), (x.flatten() > 0).long()) ** 2).sum(),
    "items": lambda x, w: (x * w.detach().sum().item() * (w > 0).sum().item() + w).pow(2).sum(),
    "softmax": lambda x, w: (x[x > 0].softmax(0) * 3).exp().sum(),
    "cat": lambda x, w: opweave.cat([x[x > 0], w[0]]).pow(2).sum(),
    "slice": lambda x, w: x[x > 0][2:],
}  # fmt: skip


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_op_by_op(name: str) -> None:
    """As where anomalies are looked for, or a mode is active."""
    compiled = opweave.compile(GRADIENTS[name])
    weight = np.random.default_rng(0).normal(size=(2, 4))
    for x in INPUTS:
        found = []
        for watched in (False, True):
            leaves = [opweave.tensor(np.array(value)).requires_grad_() for value in (x, weight)]
            result = compiled(*leaves)
            with opweave.autograd.detect_anomaly() if watched else contextlib.nullcontext():
                opweave.autograd.backward([result], [opweave.ones_like(result)])
            found.append([leaf.grad for leaf in leaves])
        for one, other in zip(*found, strict=True):
            assert (one is None) == (other is None)
            if one is not None and other is not None:
                np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(name: str) -> None:
    f = GRADIENTS[name]
    compiled = opweave.compile(f)
    weight = np.random.default_rng(0).normal(size=(2, 4))
    for x in INPUTS:
        found = []
        for g in (f, compiled):
            leaves = [opweave.tensor(np.array(value)).requires_grad_() for value in (x, weight)]
            opweave.autograd.backward([found_in := g(*leaves)], [opweave.ones_like(found_in)])
            found.append([np.zeros(t.shape) if t.grad is None else t.grad.numpy() for t in leaves])
        for one, other in zip(*found, strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12, err_msg=f"{x}")


# ---- random programs -------------------------------------------------------------------------------------------------

STEPS: list[Callable[[Any, Any, int], Any]] = [
    lambda y, x, k: y * 2 + k, lambda y, x, k: y[k:], lambda y, x, k: y[: k + 1], lambda y, x, k: y.narrow(0, k, 1),
    lambda y, x, k: y.unfold(0, k + 1, 1).sum(1), lambda y, x, k: opweave.cat([y, x.flatten()[:k]]),
    lambda y, x, k: y.view(-1, k + 1).sum(1), lambda y, x, k: y[y > k - 1], lambda y, x, k: y.flip(0).cumsum(0),
    lambda y, x, k: y * y.shape[0] - y.shape[0] // (k + 1), lambda y, x, k: y + opweave.ones(k + 2),
    lambda y, x, k: opweave.stack([y, y * k]).amax(0), lambda y, x, k: y - y[k], lambda y, x, k: y.repeat(k),
    lambda y, x, k: y * y.sum().item(), lambda y, x, k: x.flatten()[: (y > k).sum().item()],
    lambda y, x, k: y.unsqueeze(0).expand(k + 1, -1).reshape(-1), lambda y, x, k: y.split([k, 2])[1],
    lambda y, x, k: (y.unsqueeze(1) @ y.unsqueeze(0)).sum(k % 2), lambda y, x, k: opweave.zeros(y.shape[0] + k) + k,
    lambda y, x, k: opweave.cond(operator.gt(y.shape[0], k), opweave.sin, opweave.cos, (y,)),
]  # fmt: skip


@settings(max_examples=12, deadline=None, derandomize=True)
@given(st.lists(st.tuples(st.sampled_from(range(len(STEPS))), st.integers(0, 3)), min_size=1, max_size=5))
def test_random_programs(steps: list[tuple[int, int]]) -> None:
    def f(x: Tensor) -> Tensor:
        y = x[x > 0]
        for step, k in steps:
            y = STEPS[step](y, x, k)
        return y

    try:
        check(f, narrow=True)
    except OpweaveError:  # no trace: what is demanded can never hold, or has to be known
        pass


@pytest.mark.parametrize("rows", [[True, False, True], [False, False, True], [True] * 3])
def test_masks_stand_beside_index_tensors(rows: list[bool]) -> None:
    x, mask = opweave.arange(12.0).view(3, 4), opweave.tensor(rows)
    columns = opweave.arange(4)[: sum(rows)] if sum(rows) > 1 else opweave.arange(4)  # one row goes with all
    fullgraph = opweave.compile(lambda x, mask: x[mask, columns] * 2, fullgraph=True)
    assert fullgraph(x, mask).tolist() == (x[mask, columns] * 2).tolist()

    def write(x: Tensor, mask: Tensor) -> Tensor:
        x[mask, columns] = 5.0
        return x.sum()

    eager, compiled = x.clone(), x.clone()
    assert opweave.compile(write)(compiled, mask).item() == write(eager, mask).item()
    assert compiled.tolist() == eager.tolist()


def test_masks_of_all_examples_of_a_batch_compile() -> None:
    x, mask = opweave.arange(12.0).view(3, 4), opweave.tensor([True, False, True])
    found = opweave.compile(lambda x, mask: opweave.vmap(lambda row: row[mask] * 2, in_dims=1)(x))(x, mask)
    assert found.tolist() == (x.t()[:, mask] * 2).tolist()

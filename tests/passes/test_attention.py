"""Attention as one kernel: which graphs have it, and what it computes beside NumPy."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import opweave as ow
from opweave.codegen.attention import attention_of, parts_of, print_attention
from opweave.codegen.kernel import compile_source
from opweave.passes import attention
from opweave.pipeline import lower
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.graph import Graph
from opweave.tracer.make_fx import make_fx

F = ow.nn.functional
DRAW = np.random.default_rng(0)
OPS = (ow.ops.opweave.attention.default, ow.ops.opweave.attention_backward.default)
M, N = 33, 70


@pytest.fixture(autouse=True)
def always(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a kernel of the smallest attention, too."""
    monkeypatch.setattr(attention, "pays", lambda *args, **options: True)


def real(*sizes: int, dtype: str = "float64") -> Tensor:
    return from_numpy(DRAW.standard_normal(sizes).astype(dtype))


def below(m: int, n: int) -> Tensor:
    return ow.ones(m, n, dtype=ow.bool).tril()


def lowered(function: Callable[..., Any], *args: Tensor) -> Graph:
    return lower(make_fx(function)(*args).graph)


def count(graph: Graph) -> int:
    return sum(node.target in OPS for node in graph)


SHOWN = from_numpy(DRAW.random((2, 3, M, N)) > 0.3)
TERM = real(2, 1, M, N)
#: With whether the graph has the op.
CASES: dict[str, tuple[Callable[..., Any], bool]] = {
    "sdpa": (F.scaled_dot_product_attention, True),
    "causal": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True), True),
    "mask": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, SHOWN), True),
    "term": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, TERM), True),
    "written": (lambda q, k, v: (q @ k.mT / math.sqrt(7)).softmax(-1) @ v, True),
    "both scaled": (lambda q, k, v: (q * 0.4 @ (k.mT * 0.5)).softmax(-1) @ v, True),
    "triangle": (lambda q, k, v: (q @ k.mT).masked_fill(~below(M, N), -math.inf).softmax(-1) @ v, True),
    "where": (lambda q, k, v: ow.where(SHOWN, q @ k.mT * 0.3, -9.0).softmax(-1) @ v, True),
    "scaled after": (lambda q, k, v: ((q @ k.mT + TERM).masked_fill(SHOWN, -math.inf) * 0.3).softmax(-1) @ v, True),
    "weights": (lambda q, k, v: (lambda w: (w @ v).sum() + w.sum())((q @ k.mT).softmax(-1)), False),
    "scores": (lambda q, k, v: (lambda s: (s.softmax(-1) @ v).sum() + s.sum())(q @ k.mT), False),
    "dropout": (lambda q, k, v: F.scaled_dot_product_attention(q, k, v, dropout_p=0.5), False),
    "over queries": (lambda q, k, v: (q @ k.mT).softmax(-2) @ v, False),
    "negative scale": (lambda q, k, v: (q @ k.mT * -1.0).masked_fill(SHOWN, -math.inf).softmax(-1) @ v, False),
}


@pytest.mark.parametrize("name", CASES)
def test_which_graphs_have_it(name: str) -> None:
    function, wanted = CASES[name]
    q, k, v = real(2, 3, M, 16), real(2, 3, N, 16), real(2, 3, N, 16)
    assert count(lowered(function, q, k, v)) == wanted


@pytest.mark.parametrize("name", ["causal", "mask", "where", "scaled after"])
def test_results_and_gradients_are_those_of_eager(name: str) -> None:
    function, _ = CASES[name]
    values = real(2, 3, M, 16), real(2, 3, N, 16), real(2, 3, N, 16)
    given = real(2, 3, M, 16)
    found: list[list[Any]] = []
    for call in (ow.compile(function, fullgraph=True), function):
        own = [t.clone().requires_grad_() for t in values]
        result = call(*own)
        gradients: Any = ow.autograd.grad(result, own, given)
        found.append([result.detach().numpy(), *(g.numpy() for g in gradients)])
    for got, expected in zip(*found, strict=True):
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)


def softmax(s: Any) -> Any:
    w = np.exp(s - s.max(-1, keepdims=True))
    return w / w.sum(-1, keepdims=True)


@pytest.mark.parametrize(
    ("m", "n", "width", "depth", "dtype"),
    [
        (1, 17, 64, 64, "float64"),
        (130, 200, 1, 3, "float32"),
        (130, 200, 40, 16, "float32"),
        (90, 70, 3, 128, "float64"),
    ],
)
def test_sizes(m: int, n: int, width: int, depth: int, dtype: str) -> None:
    q, k, v = real(1, 2, m, width, dtype=dtype), real(1, 2, n, width, dtype=dtype), real(1, 2, n, depth, dtype=dtype)
    got = ow.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, is_causal=True))(q, k, v)
    a, b, c = (t.numpy().astype("float64") for t in (q, k, v))
    scores = np.where(np.tri(m, n, dtype=bool), a @ np.swapaxes(b, -1, -2) / math.sqrt(width), -np.inf)
    tolerance = 2e-6 if dtype == "float32" else 1e-14
    np.testing.assert_allclose(got.numpy(), softmax(scores) @ c, rtol=tolerance, atol=tolerance)


def test_rows_that_are_hidden_entirely() -> None:
    """Zeros of `scaled_dot_product_attention`, whose gradients are numbers; NaN of what is written out."""
    shown = ow.ones(M, N, dtype=ow.bool)
    shown[3] = False
    q, k, v = (t.requires_grad_() for t in (real(1, 1, M, 8), real(1, 1, N, 8), real(1, 1, N, 8)))
    result = ow.compile(lambda q, k, v: F.scaled_dot_product_attention(q, k, v, shown))(q, k, v)
    assert (result[0, 0, 3] == 0).all() and not result.isnan().any()
    gradients: Any = ow.autograd.grad(result.sum(), (q, k, v))
    assert all(g.isfinite().all() for g in gradients)
    written = ow.compile(lambda q, k, v: ow.where(shown, q @ k.mT, -math.inf).softmax(-1) @ v)(q, k, v)
    assert written[0, 0, 3].isnan().all() and written.isnan().sum() == 8


def test_heads_that_were_repeated_are_read_where_they_are() -> None:
    def grouped(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, enable_gqa=True)

    q, k, v = real(2, 6, M, 8), real(2, 2, N, 8), real(2, 2, N, 8)
    graph = lowered(grouped, q, k, v)
    (node,) = [node for node in graph if node.target in OPS]
    assert [operand.meta["val"].shape[1] for operand in node.args[:3]] == [6, 2, 2]
    np.testing.assert_allclose(ow.compile(grouped)(q, k, v).numpy(), grouped(q, k, v).numpy(), rtol=1e-12, atol=1e-13)


def test_lengths_that_are_not_fixed() -> None:
    def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return (q @ k.mT * 0.3).masked_fill(~below(q.shape[1], k.shape[1]), -math.inf).softmax(-1) @ v

    call = ow.compile(causal)
    for m, n in ((20, 30), (65, 31), (200, 140)):
        q, k, v = real(2, m, 8), real(2, n, 8), real(2, n, 8)
        np.testing.assert_allclose(call(q, k, v).numpy(), causal(q, k, v).numpy(), rtol=1e-12, atol=1e-13)


def test_parts_of_the_keys_add_up() -> None:
    """One head of many keys: its backward is more programs than one."""
    q, k, v = (t.requires_grad_() for t in (real(1, 1, 70, 8), real(1, 1, 600, 8), real(1, 1, 600, 8)))

    def causal(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    results: list[Any] = [ow.autograd.grad(f(q, k, v).sum(), (q, k, v)) for f in (ow.compile(causal), causal)]
    for got, expected in zip(*results, strict=True):
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-11, atol=1e-13)


def test_a_width_is_powers_of_two() -> None:
    assert [part.size for part in parts_of(80)] == [64, 16]
    assert [(part.begin, part.size, part.is_whole) for part in parts_of(72)] == [(0, 64, True), (64, 16, False)]


def test_the_text_compiles_for_a_gpu(tmp_path: Path) -> None:
    x = real(1, 1, 16, 16, dtype="float32")
    (node,) = [node for node in lowered(F.scaled_dot_product_attention, x, x, x) if node.target in OPS]
    found = attention_of(node)
    assert found is not None
    compiled = compile_source(print_attention(found, 0), tmp_path, "sm_90")
    assert "ld.global" in compiled.asm["ptx"]


def test_small_attention_stays_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.undo()
    x = real(1, 1, 8, 8)
    assert count(lowered(F.scaled_dot_product_attention, x, x, x)) == 0

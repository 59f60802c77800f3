"""Functions whose names lead to code that nothing can guard: from the second call on what calls run is followed."""

from __future__ import annotations

import collections
import ctypes
import dataclasses
import inspect
import os
import time
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import nn
from opweave.registry.errors import UnsupportedError

Tensor = opweave.Tensor


class Settings:
    def __init__(self) -> None:
        self.timed = False
        self.scale = 2.0


settings = Settings()


def clock() -> float:
    return time.time()


def scaled(x: Tensor) -> Tensor:
    if settings.timed:
        x = x + clock() * 0 + 1
    return x * settings.scale


def compiled_after_a_call(f: Any, *args: Any) -> Any:
    """`f` compiled, after the call that shows what it runs."""
    made = opweave.compile(f)
    made(*args)
    assert made.parts is not None
    assert not made.entries
    return made


def test_code_that_does_not_run_is_in_nobodys_way() -> None:
    x = opweave.arange(4.0)
    f = compiled_after_a_call(scaled, x)
    np.testing.assert_array_equal(f(x).numpy(), [0, 2, 4, 6])
    assert f.parts is None
    assert len(f.entries) == 1
    try:
        settings.scale = 3.0
        np.testing.assert_array_equal(f(x).numpy(), [0, 3, 6, 9])
        assert len(f.entries) == 2
        settings.timed = True  # the other branch, of which nothing can be kept
        np.testing.assert_array_equal(f(x).numpy(), [3, 6, 9, 12])
        np.testing.assert_array_equal(f(x + 1).numpy(), [6, 9, 12, 15])
        settings.timed = False
        np.testing.assert_array_equal(f(x).numpy(), [0, 3, 6, 9])
    finally:
        settings.__init__()


def test_code_that_runs_is_guarded_as_ever(monkeypatch) -> None:
    class Layer:
        factor = 2.0

        def helper(self, x: Tensor) -> Tensor:
            return x * self.factor

        def other(self, x: Tensor) -> Tensor:
            return x * clock()

        def call(self, x: Tensor, how: str = "helper") -> Tensor:
            return getattr(self, how)(x) + inspect.signature(self.call).parameters["how"].default.count("h")

    layer = Layer()
    x = opweave.ones(3)
    f = compiled_after_a_call(layer.call, x)
    assert f(x).tolist() == [3.0] * 3
    assert len(f.entries) == 1
    Layer.factor = 4.0
    assert f(x).tolist() == [5.0] * 3
    layer.factor = 5.0
    assert f(x).tolist() == [6.0] * 3
    monkeypatch.setattr(Layer, "helper", lambda self, x: x - 1)
    assert f(x).tolist() == [1.0] * 3
    f(x, "other")
    assert f(x).tolist() == [1.0] * 3


def test_the_environment_is_guarded(monkeypatch) -> None:
    monkeypatch.setenv("OPWEAVE_TEST_SCALE", "2")

    @opweave.compile(fullgraph=True)
    def f(x: Tensor) -> Tensor:
        return x * float(os.environ.get("OPWEAVE_TEST_SCALE", "1")) + len(os.getenv("OPWEAVE_TEST_MORE") or "")

    x = opweave.ones(2)
    assert f(x).tolist() == [2.0, 2.0]
    assert len(f.entries) == 1
    monkeypatch.setenv("OPWEAVE_TEST_SCALE", "3")
    monkeypatch.setenv("OPWEAVE_TEST_MORE", "abc")
    assert f(x).tolist() == [6.0, 6.0]
    assert len(f.entries) == 2
    assert "os.environ" in f.entries[0].reasons[0]

    @opweave.compile(fullgraph=True)
    def writes(x: Tensor) -> Tensor:
        os.environ["OPWEAVE_TEST_SCALE"] = "7"
        return x + 1

    with pytest.raises(UnsupportedError, match=r"os\.environ"):
        writes(x)
    assert os.environ["OPWEAVE_TEST_SCALE"] == "3"


def test_one_graph_is_what_calls_run() -> None:
    x = opweave.arange(4.0)
    f = opweave.compile(scaled, fullgraph=True)
    np.testing.assert_array_equal(f(x).numpy(), [0, 2, 4, 6])
    assert len(f.entries) == 1
    np.testing.assert_array_equal(f(x).numpy(), [0, 2, 4, 6])
    assert len(f.entries) == 1
    try:
        settings.scale = 3.0
        np.testing.assert_array_equal(f(x).numpy(), [0, 3, 6, 9])
        assert len(f.entries) == 2
        settings.timed = True
        for _ in range(2):
            with pytest.raises(UnsupportedError, match=r"time\.time"):
                f(x)
        settings.timed = False
        np.testing.assert_array_equal(f(x).numpy(), [0, 3, 6, 9])
    finally:
        settings.__init__()


def test_one_graph_is_differentiated() -> None:
    f = opweave.compile(scaled, fullgraph=True)
    for _ in range(3):
        x = opweave.ones(3, requires_grad=True)
        f(x).sum().backward()
        assert x.grad is not None
        assert x.grad.tolist() == [2.0] * 3
    assert len(f.entries) == 1


def test_what_certainly_runs_is_refused_before_it_does() -> None:
    counted = []

    def f(x: Tensor) -> Tensor:
        counted.append(1)
        return x * time.time()

    with pytest.raises(UnsupportedError, match=r"time\.time"):
        opweave.compile(f, fullgraph=True)(opweave.ones(2))
    assert not counted


kept: list[Tensor] = []


def fills(x: Tensor) -> Tensor:
    if not kept:
        kept.append(x * 0 + 5)
    return x + kept[0]


def fills_or_scales(x: Tensor, fill: bool) -> Tensor:
    return fills(x) if fill else scaled(x)


@pytest.mark.parametrize("fullgraph", [False, True])
def test_a_trace_leaves_nothing_where_it_was_not_followed(fullgraph: bool) -> None:
    x = opweave.ones(2)
    f = opweave.compile(fills_or_scales, fullgraph=fullgraph)
    try:
        for _ in range(2):
            assert f(x, False).tolist() == [2.0, 2.0]
        for _ in range(2):
            assert f(x, True).tolist() == [6.0, 6.0]
        assert [t.tolist() for t in kept] == [[5.0, 5.0]]
        assert f(x, False).tolist() == [2.0, 2.0]
    finally:
        kept.clear()


class Plain(ctypes.c_int):
    """Its metaclass is written in C, and has no module."""

    factor = 3.0


def test_a_class_made_by_a_metaclass_of_c_is_read() -> None:
    f = opweave.compile(lambda x: x * Plain.factor, fullgraph=True)
    assert f(opweave.ones(2)).tolist() == [3.0, 3.0]


@dataclasses.dataclass
class Output(collections.OrderedDict[str, Any]):  # as transformers' results are
    loss: Any = None
    logits: Any = None

    def __post_init__(self) -> None:
        for field in dataclasses.fields(self):
            if getattr(self, field.name) is not None:
                super().__setitem__(field.name, getattr(self, field.name))

    def __reduce__(self) -> Any:
        raise AssertionError("nobody copies it")


class Cache:
    def __init__(self) -> None:
        self.layers: list[Any] = []
        self.kind = Cache

    def __setattr__(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)


class Rows(list[Any]):
    note: str


class Model(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)

    def forward(self, x: Tensor) -> Any:
        y = self.linear(x)
        cache = Cache()
        cache.layers.append(cache_of := Cache())
        cache_of.keys = y  # type: ignore[attr-defined]
        rows = Rows([y, cache])
        rows.note = "two"
        return Output(loss=y.square().mean(), logits=y), cache, rows


def test_objects_that_a_trace_makes_are_made_at_each_call() -> None:
    model = Model()
    compiled: Any = opweave.compile(model, fullgraph=True)
    found = []
    for x in (opweave.ones(2, 3), opweave.arange(6.0).reshape(2, 3)):
        wanted, (out, cache, rows) = model(x)[0], compiled(x)
        assert type(out) is Output
        assert list(out) == ["loss", "logits"]
        assert out["loss"] is out.loss
        assert out.logits is cache.layers[0].keys
        np.testing.assert_allclose(out.loss.detach().numpy(), wanted.loss.detach().numpy(), rtol=1e-6)
        assert type(cache) is Cache
        assert cache.kind is Cache
        assert type(rows) is Rows
        assert rows[0] is out.logits
        assert rows[1] is cache
        assert rows.note == "two"
        model.zero_grad()
        wanted.loss.backward()
        weight: Any = model.linear.weight
        gradient = weight.grad
        model.zero_grad()
        out.loss.backward()
        np.testing.assert_allclose(weight.grad.numpy(), gradient.numpy(), rtol=1e-5)
        model.zero_grad()  # names are computed, so whether there are gradients is guarded
        found.append(cache)
    assert found[0] is not found[1]
    assert len(compiled.__dict__["function"].entries) == 1


def test_objects_that_contain_themselves_are_refused() -> None:
    @opweave.compile(fullgraph=True)
    def f(x: Tensor) -> Any:
        cache = Cache()
        cache.layers.append(cache)
        return cache

    with pytest.raises(UnsupportedError, match="Cache"):
        f(opweave.ones(2))

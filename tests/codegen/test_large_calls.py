"""Replayed calls of many elements: loops and programs of rows, on the pool, with the bits that Python gives."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from test_calls import Watch as OfAll, method

import opweave
from opweave import ops
from opweave.codegen.native import calls
from opweave.codegen.native.written import Refused
from opweave.registry import replay
from opweave.registry.op import registry
from opweave.registry.tensor import Tensor

aten = ops.aten
pytestmark = pytest.mark.skipif(not calls.install(True), reason="native code cannot know the layout of objects here")


@pytest.fixture(autouse=True)
def _as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of the process changed built-in ops, and changed them back."""
    monkeypatch.setattr(registry, "shipped_version", registry.builtin_version)


class Watch(OfAll):
    """Counts from now on."""

    def __init__(self, function: Any) -> None:
        super().__init__(function)
        self.known._set([])

    @property
    def made(self) -> int:
        return sum(call.hits for call in self.known.calls if not isinstance(call, Refused))


def large(*sizes: int, seed: int = 0) -> Tensor:
    x = np.random.default_rng(seed).standard_normal(sizes).astype(np.float32)
    x.reshape(-1)[:5] = np.nan, np.inf, -np.inf, -0.0, 1e-42
    return opweave.from_numpy(x)


x, matrix, row = large(70_001), large(700, 131), large(131, seed=1)
plain = large(700, 131)
plain[0] = 0.5
cube = plain.view(7, 100, 131)
half = plain.bfloat16()
FORMS: dict[str, tuple[Any, Callable[[], Any]]] = {
    "add": (method("__add__"), lambda: x + x),
    "mul number": (method("__mul__"), lambda: x * 0.37),
    "silu": (aten.silu, lambda: aten.silu(x)),
    "leaky_relu": (aten.leaky_relu, lambda: aten.leaky_relu(x, 0.1)),
    "gelu": (aten.gelu, lambda: aten.gelu(x)),
    "greater": (method("__gt__"), lambda: x > 0.1),
    "row": (method("__add__"), lambda: matrix + row),
    "to bfloat16": (method("bfloat16"), lambda: x.bfloat16()),
    "sum": (aten.sum, lambda: opweave.sum(plain)),
    "sum of whole pieces": (aten.sum, lambda: opweave.sum(plain.view(-1)[: 5 << 14])),
    "product": (aten.prod, lambda: opweave.prod(plain)),
    "maximum": (aten.amax, lambda: opweave.amax(matrix)),
    "sum of rows": (aten.sum, lambda: opweave.sum(plain, -1)),
    "sum in the middle": (aten.sum, lambda: opweave.sum(cube, 1)),
    "sum of columns": (aten.sum, lambda: opweave.sum(plain, 0)),
    "mean of columns": (aten.mean, lambda: opweave.mean(plain, 0)),
    "maxima of columns": (aten.amax, lambda: opweave.amax(matrix, 0)),
    "mean of half rows": (aten.mean, lambda: opweave.mean(half, 1)),
    "softmax": (aten.softmax, lambda: opweave.softmax(plain, -1)),
    "softmax of columns": (aten.softmax, lambda: opweave.softmax(plain, 0)),
    "log_softmax": (aten.log_softmax, lambda: opweave.log_softmax(half, 1)),
    "small sum": (aten.sum, lambda: opweave.sum(plain[:40])),
    "small sum of rows": (aten.sum, lambda: opweave.sum(plain[:40], 1)),
    "small sum of short rows": (aten.sum, lambda: opweave.sum(plain[:40].reshape(-1, 10), 1)),
    "small sum beside few": (aten.sum, lambda: opweave.sum(plain[:40].reshape(-1, 131, 10), 1)),
    "small sum of columns": (aten.sum, lambda: opweave.sum(half[:40], 0)),
    "small softmax": (aten.softmax, lambda: opweave.softmax(half[:40], 1)),
    "small softmax of a turned one": (aten.softmax, lambda: opweave.softmax(plain[:40].t(), 1)),
    "cumsum": (aten.cumsum, lambda: aten.cumsum(plain[:400], 1)),
    "cumsum of columns": (aten.cumsum, lambda: aten.cumsum(plain[:40], 0)),
    "cumsum of a turned one": (aten.cumsum, lambda: aten.cumsum(plain[:40].t(), 1)),
    "cumsum of ints": (aten.cumsum, lambda: aten.cumsum(opweave.arange(5000), 0)),
    "to bool": (method("bool"), lambda: matrix.bool()),
    "small to bool": (method("bool"), lambda: x[:100].bool()),
    "layer_norm": (aten.layer_norm, lambda: aten.layer_norm(plain, [131], row, row)),
}  # fmt: skip


#: What native code does not do, for which rows of half types are added in another way than by NumPy.
_IN_PYTHON = ("small sum of columns", "small softmax of a turned one", "cumsum of a turned one")


@pytest.mark.parametrize("name", FORMS)
def test_calls_have_the_bits_of_python(name: str) -> None:
    function, call = FORMS[name]
    watch = Watch(function)
    function_in_python = stands_in_python(function, call)
    found = [call() for _ in range(4)][-1]
    assert watch.made >= 2 or name in _IN_PYTHON
    assert found._dtype is function_in_python._dtype and found._strides == function_in_python._strides
    np.testing.assert_array_equal(found.double().numpy(), function_in_python.double().numpy())


def stands_in_python(function: Any, call: Callable[[], Any]) -> Any:
    """What a call gives without native code."""
    watch = Watch(function)
    watch.known.head.wait = 1 << 40
    try:
        result = call()
        assert not watch.made
        return result
    finally:
        watch.known.head.wait = 0


@pytest.mark.parametrize("name", ["silu", "sum", "softmax", "softmax of columns", "layer_norm"])
def test_the_number_of_threads_makes_no_difference(name: str) -> None:
    function, call = FORMS[name]
    before = opweave.get_num_threads()
    try:
        found = []
        for count in (1, 2, 5):
            opweave.set_num_threads(count)
            watch = Watch(function)
            found.append([call() for _ in range(20)][-1].numpy())
            assert watch.made
    finally:
        opweave.set_num_threads(before)
    for other in found[1:]:
        np.testing.assert_array_equal(found[0], other)


def test_in_place() -> None:
    y = large(70_001, seed=2)
    y[:5] = 1.0
    expected = y.numpy().copy()
    watch = Watch(method("mul_"))
    for _ in range(4):
        y.mul_(0.5)
        expected *= np.float32(0.5)
    assert watch.made >= 2 and y._storage.version >= 4
    np.testing.assert_array_equal(y.numpy(), expected)


@pytest.mark.parametrize("count", [1 << 20, (1 << 20) + 1])
def test_what_is_larger_still_is_left_to_python(count: int) -> None:
    y = opweave.ones(count)
    watch = Watch(aten.silu)
    found = [aten.silu(y) for _ in range(3)][-1]
    assert bool(watch.made) == (count <= 1 << 20)
    assert opweave.equal(found, aten.silu(opweave.ones(1)).expand(count))


def test_a_handler_may_call_what_is_replayed() -> None:
    """Loops that run long let a signal's handler run between them: what it calls does not change what they make."""
    expected, seen = opweave.sum(opweave.softmax(plain, -1), -1).numpy(), []

    def handler(number: int, frame: Any) -> None:
        seen.append(opweave.softmax(plain, -1))

    old = signal.signal(signal.SIGALRM, handler)
    signal.setitimer(signal.ITIMER_REAL, 0.002, 0.002)
    try:
        replay.forget()
        for _ in range(100):
            np.testing.assert_array_equal(opweave.sum(opweave.softmax(plain, -1), -1).numpy(), expected)
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, old)

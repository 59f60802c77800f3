"""Tracing for the tests of passes: a function becomes a graph, a pass changes it, both are run and compared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer.graph import Graph
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import make_fx


def tensor(*sizes: int, seed: int = 0, dtype: Any = np.float32) -> Tensor:
    """Random numbers, the same at each call."""
    values = np.random.default_rng(seed).normal(size=sizes) * 3
    return from_numpy(values.astype(dtype))


def copies(tensors: tuple[Tensor, ...]) -> list[Tensor]:
    """Independent copies with the same strides."""
    return [from_numpy(np.copy(t.numpy(), order="K")) for t in tensors]


def trace(fn: Callable[..., Any], *tensors: Tensor) -> GraphModule:
    """The graph of a function."""
    return make_fx(fn, tracing_mode="fake")(*tensors)


def lines(graph: Graph) -> list[str]:
    """The body of a printed graph without comments and type annotations."""
    found = []
    for line in str(graph).splitlines()[1:]:
        code = line.partition("#")[0].strip()
        if code:
            name, colon, rest = code.partition(': "')
            found.append(name + rest.partition('"')[2] if colon else code)
    return found


def check(run: Callable[[Graph], Graph], fn: Callable[..., Any], *tensors: Tensor, tolerance: float = 0.0) -> Graph:
    """Apply a pass to a traced function and compare results and mutated inputs with the function itself."""
    module = trace(fn, *tensors)
    module.graph = run(module.graph)
    module.graph.lint()
    module.recompile()
    given, expected_inputs = copies(tensors), copies(tensors)
    expected, got = fn(*expected_inputs), module(*given)
    compare(got, expected, tolerance)
    compare(given, expected_inputs, tolerance)
    return module.graph


def compare(got: Any, expected: Any, tolerance: float = 0.0) -> None:
    """Same structure, types, sizes and numbers (NaN equals NaN, -0.0 differs from 0.0 where exact)."""
    if isinstance(expected, (tuple, list)):
        assert len(got) == len(expected)
        for a, b in zip(got, expected, strict=True):
            compare(a, b, tolerance)
    elif isinstance(expected, dict):
        assert list(got) == list(expected)
        compare(list(got.values()), list(expected.values()), tolerance)
    elif isinstance(expected, Tensor):
        assert got.dtype is expected.dtype and got.shape == expected.shape
        a, b = got.numpy(), expected.numpy()
        if tolerance:
            np.testing.assert_allclose(a, b, rtol=tolerance, atol=tolerance)
        else:
            np.testing.assert_array_equal(a, b)
            if a.dtype.kind == "f":
                np.testing.assert_array_equal(np.signbit(a), np.signbit(b))
    else:
        assert got == expected


def before_and_after(run: Callable[[Graph], Graph], fn: Callable[..., Any], *tensors: Tensor) -> str:
    """The text of a traced function and of what a pass makes of it, which computes the same."""
    return "\n".join([*lines(trace(fn, *tensors).graph), "->", *lines(check(run, fn, *tensors))])

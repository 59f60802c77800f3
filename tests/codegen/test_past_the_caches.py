"""Results too large for the caches are written past them: the same numbers, at every place and no other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from compiling import tensor, traced

import opweave
from opweave.codegen.backends import CPU
from opweave.codegen.wrapper import generate
from opweave.pipeline import lower as run_passes
from opweave.registry.op import ops
from opweave.tracer.make_fx import make_fx

aten = ops.aten
assert CPU.past is not None
MANY = CPU.past // 4 + 9
ROWS = MANY // 1000 + 1


def sources(f: Callable[..., Any], *like: Any) -> str:
    return "\n".join(kernel.source for kernel in generate(traced(f, *like)).kernels)


FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[tuple[int, ...], ...]]] = {
    "all elements": (lambda x, y: opweave.relu(x + y), ((MANY,), (MANY,))),
    "rows": (lambda x, y: opweave.relu(x + y), ((ROWS, 1000), (1000,))),
    "rows that begin anywhere": (lambda x, y: x * y, ((ROWS, 1001), (1001,))),
    "reduced rows": (lambda x, y: opweave.softmax(x, -1) + y, ((ROWS, 1001), (1001,))),
    "two results": (lambda x, y: (x + y, x > y), ((ROWS, 1000), (1000,))),
    "turned": (lambda x, y: x.t() + y, ((1504, ROWS), (1504,))),
    "turned, at no line": (lambda x, y: x.t() + y, ((1501, ROWS), (1501,))),
    "a part": (lambda x, y: opweave.cat([y.expand(ROWS, 1000), x * 2], 1), ((ROWS, 1000), (1000,))),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "float64"])
@pytest.mark.parametrize("name", FUNCTIONS)
def test_as_eager(name: str, dtype: str) -> None:
    f, sizes = FUNCTIONS[name]
    args = [opweave.randn(*size, dtype=getattr(opweave, dtype)) for size in sizes]
    got, want = opweave.compile(f)(*args), f(*args)
    for g, w in zip(*((x,) if isinstance(x, opweave.Tensor) else x for x in (got, want)), strict=True):
        opweave.testing.assert_close(g, w)


def test_sizes_that_are_not_fixed() -> None:
    """What is made for a large example runs with small ones, whose results stay in the caches."""
    f = opweave.compile(lambda x: opweave.relu(x) - 1, dynamic=True)
    for count in (MANY, 3, MANY + 5, 4096):
        x = opweave.randn(count)
        np.testing.assert_array_equal(f(x).numpy(), np.maximum(x.numpy(), 0) - 1)


def test_what_goes_past() -> None:
    past = 'cache_modifier=".cs"'
    many = tensor(MANY)
    assert past in sources(lambda x: aten.relu.default(x), many)
    assert past not in sources(lambda x: aten.relu.default(x), tensor(MANY // 2))
    # What is read, and written in its place, is in the caches already.
    assert past not in sources(lambda x: aten.relu_.default(x), many)
    graph = run_passes(make_fx(lambda x: aten.relu.default(x), tracing_mode="symbolic")(many).graph)
    assert past not in "\n".join(kernel.source for kernel in generate(graph).kernels)

"""Launches of Triton kernels in traces with symbolic sizes: one graph for many sizes."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave.library import triton_op, wrap_triton
from opweave.registry.errors import ArgumentError, OutOfRangeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy
from opweave.registry.triton.effects import written_pointers
from opweave.tracer.make_fx import make_fx


@triton.jit
def scaled(x, out, n, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * factor, i < n)


def tensor(*sizes: int, seed: int = 0) -> Tensor:
    return from_numpy(np.random.default_rng(seed).standard_normal(sizes, dtype=np.float32))


def launch(x: Tensor, kernel: Any = scaled, factor: float = 2.0, **options: Any) -> Tensor:
    out = opweave.zeros_like(x)
    n = x.numel()
    wrap_triton(kernel)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n, factor, **options)
    return out


@triton_op("launches::doubled", mutates_args=())
def doubled(x: Tensor) -> Tensor:
    return launch(x, BLOCK=16)


def check_sizes(module: Any, function: Any, *shapes: tuple[int, ...]) -> None:
    for shape in shapes:
        x = tensor(*shape, seed=shape[0])
        np.testing.assert_array_equal(module(x).numpy(), function(x).numpy())


def guards_of(module: Any) -> list[str]:
    return [module.shape_env.text(guard.expr) for guard in module.shape_env.guards()]


SHAPES = (4, 6), (40, 6), (3, 7), (16, 16), (1, 3), (5, 1), (0, 6)


def test_one_graph_for_many_sizes() -> None:
    module = make_fx(doubled, tracing_mode="symbolic")(tensor(4, 6))
    (node,) = module.graph.find_nodes(target=ops.triton_kernel_wrapper_mutation)
    ((x, y, z),) = node.kwargs["grid"]
    assert (str(x.meta["val"]), y, z) == ("(s0*s1 + 15) // 16", 1, 1)
    assert str(node.kwargs["kwargs"]["n"].meta["val"]) == "s0*s1"
    assert guards_of(module) == []
    check_sizes(module, lambda x: x * 2, *SHAPES)


def test_the_example_leaves_no_mark() -> None:
    """A size of the example that is a multiple of 16, or large, is nothing special later."""
    check_sizes(make_fx(doubled, tracing_mode="symbolic")(tensor(16, 64)), lambda x: x * 2, *SHAPES)


def test_the_printed_graph_reads_back() -> None:
    module = make_fx(doubled, tracing_mode="symbolic")(tensor(4, 6))
    text = str(module.graph)
    assert re.search(r"grid=\[\(floordiv, 1, 1\)\]", text) and "'n': mul" in text


@pytest.mark.parametrize(
    ("grid", "expected"),
    [
        (lambda n: -(-n // 16), None),
        (lambda n: (n // 16 + 1, 2), None),
        (lambda n: [(n + 15) >> 4], None),
        (lambda n: (triton.cdiv(n, 16), 1, n // n), None),
    ],
)
def test_forms_of_grids(grid: Any, expected: Any) -> None:
    def function(x: Tensor) -> Tensor:
        out = opweave.zeros_like(x)
        wrap_triton(scaled)[grid(x.numel())](x, out, x.numel(), 2.0, BLOCK=16)
        return out

    check_sizes(make_fx(function, tracing_mode="symbolic")(tensor(4, 6)), lambda x: x * 2, *SHAPES[:5])


def test_a_symbolic_float_argument() -> None:
    def function(x: Tensor) -> Tensor:
        return launch(x, factor=x.shape[0] / 4, BLOCK=16)

    check_sizes(make_fx(function, tracing_mode="symbolic")(tensor(4, 6)), function, *SHAPES[:5])


def test_a_size_as_a_constant_of_the_kernel_is_a_guard() -> None:
    @triton.jit
    def rows(x, out, COLUMNS: tl.constexpr, BLOCK: tl.constexpr):
        i = tl.program_id(0) * COLUMNS + tl.arange(0, BLOCK)
        keep = tl.arange(0, BLOCK) < COLUMNS
        tl.store(out + i, tl.load(x + i, keep) + 1, keep)

    def function(x: Tensor) -> Tensor:
        out = opweave.zeros_like(x)
        wrap_triton(rows)[(x.shape[0],)](x, out, COLUMNS=x.shape[1], BLOCK=8)
        return out

    module = make_fx(function, tracing_mode="symbolic")(tensor(4, 6))
    (node,) = module.graph.find_nodes(target=ops.triton_kernel_wrapper_mutation)
    assert node.kwargs["kwargs"]["COLUMNS"] == 6
    assert module.graph.placeholders()[0].meta["val"]._sizes[1] == 6
    check_sizes(module, lambda x: x + 1, (4, 6), (9, 6), (1, 6))


def test_a_block_as_large_as_a_size_is_a_guard() -> None:
    def function(x: Tensor) -> Tensor:
        return launch(x, BLOCK=triton.next_power_of_2(x.numel()))

    module = make_fx(function, tracing_mode="symbolic")(tensor(25))
    assert module.graph.placeholders()[0].meta["val"]._sizes == (25,)
    check_sizes(module, lambda x: x * 2, (25,))


def test_an_autotuned_kernel_has_a_grid_for_each_configuration() -> None:
    configs = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64})]
    tuned = triton.autotune(configs, key=["n"])(scaled)

    def function(x: Tensor) -> Tensor:
        return launch(x, tuned)

    module = make_fx(function, tracing_mode="symbolic")(tensor(4, 6))
    (node,) = module.graph.find_nodes(target=ops.triton_kernel_wrapper_mutation)
    grids = [str(grid[0].meta["val"]) for grid in node.kwargs["grid"]]
    assert grids == ["(s0*s1 + 15) // 16", "(s0*s1 + 63) // 64"]
    check_sizes(module, lambda x: x * 2, (4, 6), (40, 6), (1, 3))


@triton.jit
def even_or_not(x, out, n, EVEN: tl.constexpr, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    if EVEN:
        tl.store(out + i, tl.load(x + i) * 2)
    else:
        tl.store(out + i, tl.load(x + i, i < n) * 2, i < n)


def heuristic(x: Tensor) -> Tensor:
    rules = {"BLOCK": lambda args: 16, "EVEN": lambda args: args["n"] % args["BLOCK"] == 0}
    out = opweave.zeros_like(x)
    n = x.numel()
    wrap_triton(triton.heuristics(rules)(even_or_not))[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    return out


@pytest.mark.parametrize("count", [48, 50])
def test_what_a_heuristic_decides_is_a_guard(count: int) -> None:
    """The grid may use what a heuristic gives; the launch asks it again."""
    module = make_fx(heuristic, tracing_mode="symbolic")(tensor(count))
    assert guards_of(module) == ["s0 % 16 == 0" if count == 48 else "s0 % 16 != 0"]
    check_sizes(module, lambda x: x * 2, (48,), (50,), (160,), (7,))


def test_a_heuristic_that_asks_for_no_argument() -> None:
    kernel = triton.heuristics({"BLOCK": lambda args: args["m"]})(scaled)
    with pytest.raises(ArgumentError, match="heuristic for BLOCK asks for 'm'"):
        make_fx(lambda x: launch(x, kernel), tracing_mode="symbolic")(tensor(20))


def test_in_a_branch_on_a_size_that_is_computed() -> None:
    """The branch sees only a tensor of 2*s0 + 3 rows; the number of its elements is computed from that."""

    def function(x: Tensor, p: Tensor) -> Tensor:
        joined = opweave.cat([x, x, opweave.ones(3, 6)])
        return opweave.cond(p, lambda t: doubled(t), lambda t: t * t.numel(), (joined,))

    module = make_fx(function, tracing_mode="symbolic")(tensor(4, 6), opweave.tensor(True))
    for rows in (2, 5, 40):
        for p in (True, False):
            x, flag = tensor(rows, 6), opweave.tensor(p)
            np.testing.assert_array_equal(module(x, flag).numpy(), function(x, flag).numpy())


def test_a_grid_is_checked_when_the_sizes_are_known() -> None:
    def function(x: Tensor) -> Tensor:
        out = opweave.zeros_like(x)
        wrap_triton(scaled)[(x.shape[0] - 10,)](x, out, x.numel(), 2.0, BLOCK=16)
        return out

    module = make_fx(function, tracing_mode="symbolic")(tensor(20))
    with pytest.raises(OutOfRangeError, match="grid"):
        module(tensor(5))


def test_a_grid_that_is_no_number() -> None:
    def function(x: Tensor) -> Tensor:
        out = opweave.zeros_like(x)
        wrap_triton(scaled)[(x.shape[0] / 2,)](x, out, x.numel(), 2.0, BLOCK=16)
        return out

    with pytest.raises(ArgumentError, match="integers"):
        make_fx(function, tracing_mode="symbolic")(tensor(20))


@triton.jit
def by_width(a, b, n):
    if n.dtype == tl.int64:
        tl.store(a, n)
    else:
        tl.store(b, n)


def test_writes_are_those_of_all_widths_of_a_size() -> None:
    found: list[Any] = []

    def function(x: Tensor) -> Tensor:
        found.append(written_pointers(by_width, (x, x, x.shape[0])))
        return x + 1

    make_fx(function, tracing_mode="symbolic")(tensor(20))
    assert found == [{"a", "b"}]
    assert written_pointers(by_width, (tensor(3), tensor(3), 5)) == {"b"}

"""What becomes of launches of users' kernels: pointwise ops, regions, and the same unfused, as text."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable
from typing import Any

import triton
import triton.language as tl
from expecttest import assert_expected_inline
from pass_checks import compare, lines, tensor, trace

import opweave
from opweave import Tensor, pipeline
from opweave.passes import dce, functionalize, fuse, lift, reinplace, unfuse
from opweave.tracer.graph import Graph
from opweave.tracer.launches import UNFUSED


@triton.jit
def scale_kernel(x, out, factor, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) * factor, i < n)


@triton.jit
def total_kernel(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    row = tl.program_id(0)
    v = tl.load(x + row * n + i, i < n, 0.0)
    tl.store(out + row * n + i, v / tl.sum(v, 0), i < n)


tuned_kernel = triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 16})], key=["n"])(total_kernel)


def scaled(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    scale_kernel[(1,)](x, out, 2.0, x.numel(), BLOCK=8)
    return out


def shares(x: Tensor, kernel: Any = total_kernel, **options: Any) -> Tensor:
    out = opweave.empty_like(x)
    kernel[(x.shape[0],)](x, out, x.shape[1], **options)
    return out


def functional(function: Callable[..., Any], *tensors: Tensor) -> Graph:
    compare(opweave.compile(function)(*tensors), function(*tensors), 1e-6)
    return dce.run(functionalize.run(trace(function, *tensors).graph))


def shown(*graphs: list[str]) -> str:
    """Texts of graphs; the numbers of kernels depend on what else has run."""
    return re.sub("_idx=[0-9]+", "_idx=N", "\n->\n".join(map("\n".join, graphs)))


def before_and_after(run: Callable[[Graph], Graph], graph: Graph) -> str:
    return shown(lines(graph), lines(run(graph)))


def test_lift_makes_a_pointwise_op_of_a_launch() -> None:
    graph = functional(lambda x: scaled(x + 1).sqrt(), tensor(5).abs())
    run = functools.partial(lift.run, read=pipeline.read_launch, objection=pipeline.map_objection)
    assert_expected_inline(
        before_and_after(run, graph),
        """\
add = ops.aten.add.Tensor(x_1, 1)
empty_like = ops.aten.empty_like.default(add)
triton_kernel_wrapper_functional = ops.triton_kernel_wrapper_functional(kernel_idx=N, constant_args_idx=N, grid=[(1, 1, 1)], kwargs={'x': add, 'out': empty_like, 'factor': 2.0, 'n': 5, 'BLOCK': 8}, tensors_to_clone=['out'])
getitem = operator.getitem(triton_kernel_wrapper_functional, 'out')
sqrt = ops.aten.sqrt.default(getitem)
return (sqrt,)
->
add = ops.aten.add.Tensor(x_1, 1)
empty_like = ops.aten.empty_like.default(add)
scale_kernel = ops.triton_kernel.scale_kernel.default(add)
sqrt = ops.aten.sqrt.default(scale_kernel)
return (sqrt,)""",  # noqa: E501
    )


def test_absorb_takes_the_kernels_next_to_a_launch_into_a_region() -> None:
    graph = functional(lambda x: shares(x + 1, BLOCK=8).sqrt(), tensor(2, 5).abs())
    run = functools.partial(fuse.run, objection=pipeline.launch_objection)
    assert_expected_inline(
        before_and_after(run, graph),
        """\
add = ops.aten.add.Tensor(x_1, 1)
empty_like = ops.aten.empty_like.default(add)
triton_kernel_wrapper_functional = ops.triton_kernel_wrapper_functional(kernel_idx=N, constant_args_idx=N, grid=[(2, 1, 1)], kwargs={'x': add, 'out': empty_like, 'n': 5, 'BLOCK': 8}, tensors_to_clone=['out'])
getitem = operator.getitem(triton_kernel_wrapper_functional, 'out')
sqrt = ops.aten.sqrt.default(getitem)
return (sqrt,)
->
def region(x_1):
add = ops.aten.add.Tensor(x_1, 1)
empty_strided = ops.aten.empty_strided.default([2, 5], [5, 1], dtype=opweave.float32, device=opweave.device("cpu"))
triton_kernel_wrapper_functional = ops.triton_kernel_wrapper_functional(kernel_idx=N, constant_args_idx=N, grid=[(2, 1, 1)], kwargs={'x': add, 'out': empty_strided, 'n': 5, 'BLOCK': 8}, tensors_to_clone=['out'])
getitem = operator.getitem(triton_kernel_wrapper_functional, 'out')
sqrt = ops.aten.sqrt.default(getitem)
return (sqrt,)
kernel_0 = region(x_1)
sqrt = operator.getitem(kernel_0, 0)
return (sqrt,)""",  # noqa: E501
    )


def test_unfuse_keeps_what_does_the_same_with_the_launch_alone() -> None:
    graph = functional(lambda x: shares(x + 1, tuned_kernel).sqrt(), tensor(2, 5).abs())
    graph = reinplace.run(fuse.run(graph, objection=pipeline.launch_objection))
    graph = unfuse.run(graph, passes=(fuse.run, reinplace.run))
    (region,) = [node.target for node in graph if isinstance(node.target, Graph)]
    assert_expected_inline(
        shown(lines(region), lines(region.graph[UNFUSED])),
        """\
add = ops.aten.add.Tensor(x_1, 1)
empty_strided = ops.aten.empty_strided.default([2, 5], [5, 1], dtype=opweave.float32, device=opweave.device("cpu"))
triton_kernel_wrapper_functional = ops.triton_kernel_wrapper_functional(kernel_idx=N, constant_args_idx=N, grid=[(2, 1, 1), (2, 1, 1)], kwargs={'x': add, 'out': empty_strided, 'n': 5}, tensors_to_clone=['out'])
getitem = operator.getitem(triton_kernel_wrapper_functional, 'out')
sqrt = ops.aten.sqrt.default(getitem)
return (sqrt,)
->
def region(x_1):
add = ops.aten.add.Tensor(x_1, 1)
return (add,)
def region_1(getitem):
sqrt = ops.aten.sqrt.default(getitem)
return (sqrt,)
kernel_0 = region(x_1)
add = operator.getitem(kernel_0, 0)
empty_strided = ops.aten.empty_strided.default([2, 5], [5, 1], dtype=opweave.float32, device=opweave.device("cpu"))
triton_kernel_wrapper_mutation = ops.triton_kernel_wrapper_mutation(kernel_idx=N, constant_args_idx=N, grid=[(2, 1, 1), (2, 1, 1)], kwargs={'x': add, 'out': empty_strided, 'n': 5})
kernel_1 = region_1(empty_strided)
sqrt = operator.getitem(kernel_1, 0)
return (sqrt,)""",  # noqa: E501
    )

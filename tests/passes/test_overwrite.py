"""Which results go straight to the inputs that they are written to, as text."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from expecttest import assert_expected_inline
from pass_checks import compare, copies, lines, tensor, trace

import opweave
from opweave.passes import dce, functionalize, fuse, overwrite
from opweave.registry.tensor import Tensor


def overwritten(function: Callable[..., Any], *tensors: Tensor) -> str:
    """The graph before and after, and why a copy stays. Kernels that store into inputs run compiled alone."""
    graph = fuse.run(dce.run(functionalize.run(trace(function, *tensors).graph)))
    before = lines(graph)
    found = overwrite.run(graph)
    found.lint()
    expected, given = copies(tensors), copies(tensors)
    compare(opweave.compile(function)(*given), function(*expected))
    compare(given, expected)
    return "\n".join([*before, "->", *lines(found), *(why.partition(";")[0] for why in found.graph.get("copies", ()))])


def test_a_kernel_stores_into_the_input() -> None:
    def f(x, y):
        x.mul_(2).add_(y)

    assert_expected_inline(
        overwritten(f, tensor(3), tensor(3, seed=1)),
        """\
def region(x_1, y_1: "f32[3]"):
mul = ops.aten.mul.Tensor(x_1, 2)
add = ops.aten.add.Tensor(mul, y_1)
return (add,)
kernel_0 = region(x_1, y_1)
add = operator.getitem(kernel_0, 0)
copy_ = ops.aten.copy_.default(x_1, add)
return ()
->
def region(x_1, y_1: "f32[3]"):
mul = ops.aten.mul.Tensor(x_1, 2)
add = ops.aten.add.Tensor(mul, y_1)
return (add,)
kernel_0 = region(x_1, y_1, into=((0, x_1),))
return ()""",
    )


def test_an_input_of_which_the_kernel_reads_other_elements_keeps_the_copy() -> None:
    def f(x):
        x.copy_(x.flip(0) * 2)

    assert_expected_inline(
        overwritten(f, tensor(3)),
        """\
def region(x_1):
flip = ops.aten.flip.default(x_1, (0,))
mul = ops.aten.mul.Tensor(flip, 2)
copy = ops.aten.copy.default(x_1, mul)
return (copy,)
kernel_0 = region(x_1)
copy = operator.getitem(kernel_0, 0)
copy__1 = ops.aten.copy_.default(x_1, copy)
return ()
->
def region(x_1):
flip = ops.aten.flip.default(x_1, (0,))
mul = ops.aten.mul.Tensor(flip, 2)
copy = ops.aten.copy.default(x_1, mul)
return (copy,)
kernel_0 = region(x_1)
copy = operator.getitem(kernel_0, 0)
copy__1 = ops.aten.copy_.default(x_1, copy)
return ()
copy into x_1: the kernel reads other elements of it""",
    )


def test_what_is_computed_from_the_result_reads_the_input() -> None:
    def f(x):
        y = x.view(3, 1)
        x.copy_(x.sin())
        return (x @ y) * 1

    assert_expected_inline(
        overwritten(f, tensor(3)),
        """\
def region(x_1):
sin = ops.aten.sin.default(x_1)
copy = ops.aten.copy.default(x_1, sin)
return (copy,)
def region_1(mm):
squeeze = ops.aten.squeeze.dim(mm, 0)
mul = ops.aten.mul.Tensor(squeeze, 1)
return (mul,)
kernel_0 = region(x_1)
copy = operator.getitem(kernel_0, 0)
unsqueeze = ops.aten.unsqueeze.default(copy, 0)
view_1 = ops.aten.view.default(copy, (3, 1))
mm = ops.aten.mm.default(unsqueeze, view_1)
kernel_1 = region_1(mm)
mul = operator.getitem(kernel_1, 0)
copy__1 = ops.aten.copy_.default(x_1, copy)
return (mul,)
->
def region(x_1):
sin = ops.aten.sin.default(x_1)
copy = ops.aten.copy.default(x_1, sin)
return (copy,)
def region_1(mm):
squeeze = ops.aten.squeeze.dim(mm, 0)
mul = ops.aten.mul.Tensor(squeeze, 1)
return (mul,)
kernel_0 = region(x_1, into=((0, x_1),))
unsqueeze = ops.aten.unsqueeze.default(x_1, 0)
view_1 = ops.aten.view.default(x_1, (3, 1))
mm = ops.aten.mm.default(unsqueeze, view_1)
kernel_1 = region_1(mm)
mul = operator.getitem(kernel_1, 0)
return (mul,)""",
    )

"""Host programs: what each pass makes of the steps, the rules that they keep, and programs that are ready to print."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from compiling import tensor, traced
from expecttest import assert_expected_inline

import opweave
from opweave.codegen.host import epilogue, group, lifetimes, reuse, spec
from opweave.codegen.host.build import build
from opweave.codegen.host.operands import Local
from opweave.codegen.host.python import Printer
from opweave.codegen.host.steps import Alloc, Call, Free, Launch, Product, Program, Return, Step, View
from opweave.codegen.host.text import text
from opweave.codegen.wrapper import host_program
from opweave.library import wrap_triton
from opweave.pipeline import lower
from opweave.registry.device import cpu
from opweave.registry.errors import HostError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.make_fx import make_fx
from tests.codegen.launch_programs import softmax_kernel

aten = ops.aten


def lines(shown: str) -> str:
    """Text without the users' lines."""
    text = "\n".join(line.partition("  # ")[0].rstrip() for line in shown.splitlines())
    return re.sub(r"\.py:\d+", ".py", text)


def built(function: Callable[..., Any], *tensors: Tensor) -> Program:
    return build(traced(function, *tensors), "call", cpu)


def shown(program: Program) -> str:
    return lines(text(program))


def whole(function: Callable[..., Any], *tensors: Tensor) -> str:
    return shown(host_program(traced(function, *tensors), "call", cpu))


def linear(x: Tensor, w: Tensor) -> Tensor:
    return aten.relu.default(aten.mm.default(aten.exp.default(x), w))


# ---- passes --------------------------------------------------------------------------------------------------------


def test_build() -> None:
    program = built(linear, tensor(8, 8), tensor(8, 8))
    assert_expected_inline(
        shown(program),
        """\
def call(x_1: f32[8, 8], w_1: f32[8, 8]):
    alloc exp: f32[8, 8] strides [8, 1] cpu
    launch <exp> [1, 1, 1]: x_1 -> exp; &x_1, &exp
    alloc mm: f32[8, 8] strides [8, 1] cpu
    product mm = exp @ w_1
    alloc relu: f32[8, 8] strides [8, 1] cpu
    launch <relu> [1, 1, 1]: mm -> relu; &mm, &relu
    return (relu,)""",
    )


def test_epilogue() -> None:
    program = built(lambda x, w: aten.relu.default(aten.mm.default(x, w)), tensor(512, 64), tensor(64, 256))
    assert_expected_inline(
        shown(epilogue.run(program)),
        """\
def call(x_1: f32[512, 64], w_1: f32[64, 256]):
    alloc mm: f32[512, 256] strides [256, 1] cpu
    alloc relu: f32[512, 256] strides [256, 1] cpu
    product mm = x_1 @ w_1, 8192 elements 1 program
        launch <relu> [16, 1, 1]: mm -> relu; &mm, &relu
    return (relu,)""",
    )


def test_of_two_products_the_later_is_followed() -> None:
    def both(x: Tensor, w: Tensor) -> Tensor:
        return aten.add.Tensor(aten.mm.default(x, w), aten.mm.default(w, x))

    found = epilogue.run(built(both, tensor(8, 8), tensor(8, 8)))
    products = [step for step in found.steps if isinstance(step, Product)]
    assert [(step.out.name, step.epilogue is not None) for step in products] == [("mm", False), ("mm_1", True)]


def scattered(x: Tensor, i: Tensor, y: Tensor) -> Tensor:
    return aten.scatter.src(aten.exp.default(x), 0, i, y)


def test_reuse() -> None:
    args = tensor(8), tensor(4, dtype=np.int64), tensor(4)
    assert_expected_inline(
        shown(reuse.run(built(scattered, *args))),
        """\
def call(x_1: f32[8], i_1: i64[4], y_1: f32[4]):
    alloc exp: f32[8] strides [1] cpu
    launch <exp> [1, 1, 1]: x_1 -> exp; &x_1, &exp
    move exp as scatter
    cell cell on cpu
    launch <scatter> [1, 1, 1]: exp, i_1, y_1 -> scatter; &exp, &i_1, &y_1, &scatter, &cell
    check cell: scatter: an index is out of range for dimension 0 with size 8 (test_host.py)
    return (scatter,)""",
    )


def test_what_others_read_is_not_reused() -> None:
    def kept(x: Tensor, i: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        base = aten.exp.default(x)
        return aten.scatter.src(base, 0, i, y), base

    program = built(kept, tensor(8), tensor(4, dtype=np.int64), tensor(4))
    assert reuse.run(program).steps == program.steps


def many(a: Tensor, b: Tensor, c: Tensor, d: Tensor, y: Tensor) -> tuple[Tensor, ...]:
    return tuple(aten.mul.Tensor(x, y) for x in (a, b, c, d))


def test_group() -> None:
    args = tensor(5), tensor(6), tensor(7), tensor(9000), tensor()
    assert_expected_inline(
        shown(group.run(built(many, *args), cpu)),
        """\
def call(a_1: f32[5], b_1: f32[6], c_1: f32[7], d_1: f32[9000], y_1: f32[]):
    alloc mul: f32[5] strides [1] cpu
    alloc mul_1: f32[6] strides [1] cpu
    alloc mul_2: f32[7] strides [1] cpu
    alloc mul_3: f32[9000] strides [1] cpu
    group <mul group> sizes [5, 6, 7, 9000] by 8192: a_1, b_1, c_1, d_1; all y_1 -> mul, mul_1, mul_2, mul_3
    return (mul, mul_1, mul_2, mul_3)""",
    )


def test_lifetimes() -> None:
    program = built(lambda x: aten.sum.default(aten.exp.default(x).view(-1)), tensor(1 << 10, 1 << 10))
    assert_expected_inline(
        shown(lifetimes.run(program)),
        """\
def call(x_1: f32[1024, 1024]):
    alloc sum_1: f32[] strides [] cpu
    alloc kernel_0_part0: f32[16] strides [1] cpu
    launch <exp sum parts> [16, 1, 1]: x_1 -> kernel_0_part0; &x_1, &kernel_0_part0
    launch <exp sum> [1, 1, 1]: kernel_0_part0 -> sum_1; &kernel_0_part0, &sum_1
    free kernel_0_part0
    return (sum_1,)""",
    )


# ---- whole programs ------------------------------------------------------------------------------------------------


def test_pointwise() -> None:
    assert_expected_inline(
        whole(lambda x: aten.sin.default(aten.add.Tensor(x, 1)), tensor(4, 4)),
        """\
def call(x_1: f32[4, 4]):
    alloc sin: f32[4, 4] strides [4, 1] cpu
    segment steps: x_1, sin
        launch fused_add_sin_0 [1, 1, 1]: x_1 -> sin; &x_1, &sin
    return (sin,)""",
    )


def test_a_product_with_an_epilogue() -> None:
    assert_expected_inline(
        whole(linear, tensor(8, 8), tensor(8, 8)),
        """\
def call(x_1: f32[8, 8], w_1: f32[8, 8]):
    alloc relu: f32[8, 8] strides [8, 1] cpu
    segment steps: x_1, w_1, relu, memory is 512 bytes on the stack
        exp at memory + 0
        mm at memory + 256
        launch fused_exp_0 [1, 1, 1]: x_1 -> exp; &x_1, &exp
        product mm = exp @ w_1, 0 elements 1 program
            launch fused_relu_1 [1, 1, 1]: mm -> relu; &mm, &relu
    return (relu,)""",
    )


def test_a_launch_of_a_users_kernel() -> None:
    def function(x: Tensor) -> Tensor:
        h = aten.mul.Tensor(x, 2)
        out = aten.empty_like.default(h)
        wrap_triton(softmax_kernel)[(8,)](out, h, 32, 32, 32, BLOCK=32)
        return aten.add.Tensor(out, 1)

    assert_expected_inline(
        whole(function, tensor(8, 32)),
        """\
def call(x_1: f32[8, 32]):
    alloc add: f32[8, 32] strides [32, 1] cpu
    segment steps: x_1, add
        launch fused_softmax_kernel_mul_add_0 [8, 1, 1]: x_1 -> add; 32, &x_1, &add
    return (add,)""",
    )


def test_sizes_that_are_not_fixed() -> None:
    def function(x: Tensor) -> Tensor:
        return aten.relu.default(aten.add.Tensor(x, aten.sum.dim_IntList(x, [0], True)))

    module = make_fx(function, tracing_mode="symbolic")(tensor(7, 9))
    assert_expected_inline(
        shown(host_program(lower(module.graph), "call", cpu)),
        """\
def call(x_1: f32[s0, s1]):
    read s0 = size 0 of x_1
    read s1 = size 1 of x_1
    alloc relu: f32[s0, s1] strides [s1, 1] cpu
    segment steps: x_1, relu, s0, s1
        launch fused_sum_add_relu_0 [(s1 + 255) // 256, 1, 1]: x_1 -> relu; &x_1, &relu, s1, s0
    return (relu,)""",
    )


def test_views_are_returned() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        return aten.slice.Tensor(x, 0, 2, 6), aten.select.int(aten.exp.default(x), 0, 3)

    assert_expected_inline(
        whole(function, tensor(9, 4)),
        """\
def call(x_1: f32[9, 4]):
    alloc exp: f32[9, 4] strides [4, 1] cpu
    segment steps: x_1, exp
        launch fused_exp_0 [1, 1, 1]: x_1 -> exp; &x_1, &exp
    view slice_1: f32[4, 4] strides [4, 1] of x_1 + 8
    view select: f32[4] strides [1] of exp + 12
    free exp
    return (slice_1, select)""",
    )


def test_in_place_on_an_argument() -> None:
    assert_expected_inline(
        whole(lambda x, y: aten.mul_.Tensor(x, y), tensor(4), tensor(4)),
        """\
def call(x_1: f32[4], y_1: f32[4]):
    segment steps: x_1, y_1
        launch fused_mul_0 [1, 1, 1]: x_1, y_1 -> x_1; &x_1, &y_1, &x_1
    bump x_1
    return (x_1,)""",
    )


def test_checks_and_opaque_calls() -> None:
    def function(x: Tensor, i: Tensor) -> Tensor:
        values, _ = aten.sort.default(aten.index_select.default(x, 0, i))
        return aten.neg.default(values)

    assert_expected_inline(
        whole(function, tensor(8), tensor(4, dtype=np.int64)),
        """\
def call(x_1: f32[8], i_1: i64[4]):
    alloc index_select: f32[4] strides [1] cpu
    cell cell on cpu
    segment steps: x_1, i_1, cell, index_select
        launch fused_index_select_0 [1, 1, 1]: x_1, i_1 -> index_select; &x_1, &i_1, &index_select, &cell
    check cell: index_select: an index is out of range for dimension 0 with size 8 (test_host.py)
    call sort = aten.sort(index_select)
    free index_select
    item getitem = sort[0]
    free sort
    alloc neg: f32[4] strides [1] cpu
    segment steps_: getitem, neg
        launch fused_neg_1 [1, 1, 1]: getitem -> neg; &getitem, &neg
    free getitem
    return (neg,)""",
    )


def test_a_function_that_is_an_operand() -> None:
    def function(x: Tensor) -> Tensor:
        return opweave.cond(x.sum() > 0, lambda x: x.sin(), lambda x: x.cos(), (x,))

    assert_expected_inline(
        whole(function, tensor(4)),
        """\
def call(x_1: f32[4]):
    alloc gt: b8[] strides [] cpu
    segment steps: x_1, gt
        launch fused_sum_gt_0 [1, 1, 1]: x_1 -> gt; &x_1, &gt
    def true_graph_0(x_1: f32[4]):
        conform x_1: f32[4] strides [1] cpu by true_graph_0
        alloc sin: f32[4] strides [1] cpu
        segment steps_: x_1, sin
            launch fused_sin_1 [1, 1, 1]: x_1 -> sin; &x_1, &sin
        return (sin,)
    def false_graph_0(x_1: f32[4]):
        conform x_1: f32[4] strides [1] cpu by false_graph_0
        alloc cos: f32[4] strides [1] cpu
        segment steps__: x_1, cos
            launch fused_cos_2 [1, 1, 1]: x_1 -> cos; &x_1, &cos
        return (cos,)
    call cond = cond(gt, true_graph_0, false_graph_0, (x_1,))
    count cond: 1 by cond
    conform cond: f32[4] strides [1] cpu by cond
    free gt
    item getitem = cond[0]
    free cond
    return (getitem,)""",
    )


def test_the_log(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, "opweave.host"):
        logging.getLogger("opweave").propagate = True
        opweave.compile(lambda x: x + 1)(tensor(4))
    assert "alloc add: f32[4] strides [1] cpu" in caplog.text


def test_the_printer_says_what_the_steps_say() -> None:
    """A program whose steps are changed by hand is printed so: nothing of the graph is asked for any more."""
    program = host_program(traced(linear, tensor(8, 8), tensor(8, 8)), "call", cpu)
    program = replace(program, name="other", steps=tuple(s for s in program.steps if not isinstance(s, Free)))
    printed = Printer().module(program)
    assert "\ndef other(x_1, w_1):\n" in printed and "del " not in printed


# ---- rules ---------------------------------------------------------------------------------------------------------


def broken(change: Callable[[list[Step]], list[Step]], **stage: bool) -> str:
    """What the spec says of a program whose steps are changed."""
    program = lifetimes.run(built(linear, tensor(8, 8), tensor(8, 8)))
    spec.verify(program, freed=True)
    with pytest.raises(HostError) as caught:
        spec.verify(replace(program, steps=tuple(change([*program.steps]))), **stage)
    return str(caught.value)


def of(steps: list[Step], kind: type[Step]) -> Any:
    return next(step for step in steps if isinstance(step, kind))


def without(kind: type[Step]) -> Callable[[list[Step]], list[Step]]:
    def change(steps: list[Step]) -> list[Step]:
        return [step for step in steps if step is not of(steps, kind)]

    return change


def test_memory_is_allocated_before_use() -> None:
    assert "exp is used before it is defined" in broken(without(Alloc))


def test_memory_is_written_before_it_is_read() -> None:
    message = broken(without(Launch))
    assert "exp is read before it is written" in message and "product mm = exp @ w_1, of mm" in message


def test_memory_is_freed_once_and_not_used_after() -> None:
    assert "exp is used after it was freed" in broken(lambda steps: [*steps[:3], of(steps, Free), *steps[3:]])
    assert "used after it was freed" in broken(lambda steps: [*steps[:-1], of(steps, Free), steps[-1]])
    assert "neither freed nor returned: exp" in broken(without(Free), freed=True)


def test_inputs_are_not_freed() -> None:
    def change(steps: list[Step]) -> list[Step]:
        last = steps[-1]
        return [*steps[:-1], Free(last.origin, (of(steps, Product).b,)), last]

    assert "w_1 is not the program's to free" in broken(change)


def test_names_are_defined_once() -> None:
    assert "exp is defined twice" in broken(lambda steps: [steps[0], *steps])


def test_programs_return_at_their_end() -> None:
    assert "does not return" in broken(lambda steps: steps[:-1])
    assert "returns before its end" in broken(lambda steps: [*steps, replace(steps[-1])])


def test_operands_are_typed() -> None:
    def change(steps: list[Step]) -> list[Step]:
        launch = of(steps, Launch)
        return [replace(s, grid=(launch.inputs[0], 1, 1)) if s is launch else s for s in steps]

    assert "x_1 is no number" in broken(change)


def test_kernels_are_made() -> None:
    assert "the kernel is not made" in broken(lambda steps: steps, made=True)


def test_steps_say_what_they_use() -> None:
    program = built(lambda x: aten.select.int(aten.exp.default(x), 0, 3), tensor(9, 4))
    names = {type(step): ([x.name for x in step.defines], [*map(str, step.uses)]) for step in program.steps}
    assert names[View] == (["select"], ["exp"]) and names[Return] == ([], ["select"])
    assert all(isinstance(local, Local) for step in program.steps for local in step.uses)
    assert Call not in names

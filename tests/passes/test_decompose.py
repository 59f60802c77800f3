"""What composite ops are written with, as text."""

from __future__ import annotations

from expecttest import assert_expected_inline
from pass_checks import before_and_after, tensor

import opweave
from opweave.passes import decompose


def test_the_body_of_an_op() -> None:
    def f(x):
        return opweave.softmax(x, -1)

    assert_expected_inline(
        before_and_after(decompose.run, f, tensor(2, 3)),
        """\
_softmax = ops.aten._softmax.default(x_1, -1, False)
return (_softmax,)
->
amax = ops.aten.amax.default(x_1, [1], True)
sub = ops.aten.sub.Tensor(x_1, amax)
exp = ops.aten.exp.default(sub)
sum_1 = ops.aten.sum.dim_IntList(exp, [1], True)
div = ops.aten.div.Tensor(exp, sum_1)
return (div,)""",
    )


def test_an_op_of_several_results() -> None:
    def f(x):
        found, total = opweave.var_mean(x, 1)
        return found + total

    assert_expected_inline(
        before_and_after(decompose.run, f, tensor(2, 3)),
        """\
var_mean = ops.aten.var_mean.correction(x_1, [1])
getitem = operator.getitem(var_mean, 0)
getitem_1 = operator.getitem(var_mean, 1)
add = ops.aten.add.Tensor(getitem, getitem_1)
return (add,)
->
mean = ops.aten.mean.dim(x_1, [1], True)
sub = ops.aten.sub.Tensor(x_1, mean)
mul = ops.aten.mul.Tensor(sub, sub)
sum_1 = ops.aten.sum.dim_IntList(mul, [1])
div = ops.aten.div.Tensor(sum_1, 2)
squeeze = ops.aten.squeeze.dims(mean, [1])
add = ops.aten.add.Tensor(div, squeeze)
return (add,)""",
    )

"""What no result needs, and what stays for what it does, as text."""

from __future__ import annotations

from expecttest import assert_expected_inline
from pass_checks import before_and_after, tensor

import opweave
from opweave.passes import dce


def test_what_nobody_reads_goes_but_not_a_write() -> None:
    def f(x):
        x.cos().view(3, 1)
        x.exp().mul_(2)
        return x.sin()

    assert_expected_inline(
        before_and_after(dce.run, f, tensor(3)),
        """\
cos = ops.aten.cos.default(x_1)
view = ops.aten.view.default(cos, (3, 1))
exp = ops.aten.exp.default(x_1)
mul_ = ops.aten.mul_.Tensor(exp, 2)
sin = ops.aten.sin.default(x_1)
return (sin,)
->
exp = ops.aten.exp.default(x_1)
mul_ = ops.aten.mul_.Tensor(exp, 2)
sin = ops.aten.sin.default(x_1)
return (sin,)""",
    )


def test_a_random_draw_stays() -> None:
    def f(x):
        opweave.rand(3)
        return x + 1

    assert_expected_inline(
        before_and_after(dce.run, f, tensor(3)),
        """\
rand = ops.aten.rand.default((3,))
add = ops.aten.add.Tensor(x_1, 1)
return (add,)
->
rand = ops.aten.rand.default((3,))
add = ops.aten.add.Tensor(x_1, 1)
return (add,)""",
    )

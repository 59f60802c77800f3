"""What constant folding computes, as text."""

from __future__ import annotations

from expecttest import assert_expected_inline
from pass_checks import before_and_after, tensor

import opweave
from opweave.passes import fold


def test_what_has_one_value_everywhere_becomes_that() -> None:
    def f(x):
        return x + (opweave.ones(2, 3) * 3).exp().sqrt()

    assert_expected_inline(
        before_and_after(fold.run, f, tensor(2, 3)),
        """\
full = ops.aten.full.default((2, 3), 1, dtype=opweave.float32)
mul = ops.aten.mul.Tensor(full, 3)
exp = ops.aten.exp.default(mul)
sqrt = ops.aten.sqrt.default(exp)
add = ops.aten.add.Tensor(x_1, sqrt)
return (add,)
->
full = ops.aten.full.default((2, 3), 1, dtype=opweave.float32)
full_1 = ops.aten.full.default([2, 3], 3.0, dtype=opweave.float32, device=opweave.device("cpu"))
full_2 = ops.aten.full.default([2, 3], 20.08553695678711, dtype=opweave.float32, device=opweave.device("cpu"))
full_3 = ops.aten.full.default([2, 3], 4.481688976287842, dtype=opweave.float32, device=opweave.device("cpu"))
add = ops.aten.add.Tensor(x_1, full_3)
return (add,)""",
    )


def test_what_is_returned_or_not_finite_stays() -> None:
    def f(x):
        return opweave.zeros(3) + 1, x * (opweave.ones(3) / 0)

    assert_expected_inline(
        before_and_after(fold.run, f, tensor(3)),
        """\
full = ops.aten.full.default((3,), 0, dtype=opweave.float32)
add = ops.aten.add.Tensor(full, 1)
full_1 = ops.aten.full.default((3,), 1, dtype=opweave.float32)
div = ops.aten.div.Tensor(full_1, 0)
mul = ops.aten.mul.Tensor(x_1, div)
return (add, mul)
->
full = ops.aten.full.default((3,), 0, dtype=opweave.float32)
add = ops.aten.add.Tensor(full, 1)
full_1 = ops.aten.full.default((3,), 1, dtype=opweave.float32)
div = ops.aten.div.Tensor(full_1, 0)
mul = ops.aten.mul.Tensor(x_1, div)
return (add, mul)""",
    )

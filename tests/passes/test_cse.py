"""What is computed once instead of twice, as text."""

from __future__ import annotations

from expecttest import assert_expected_inline
from pass_checks import before_and_after, tensor

from opweave.passes import cse


def test_equal_calls_become_one_but_not_what_the_caller_tells_apart() -> None:
    def f(x):
        return x.sin() + x.sin(), x * 1.0, x * 1, x.neg(), x.neg()

    assert_expected_inline(
        before_and_after(cse.run, f, tensor(3)),
        """\
sin = ops.aten.sin.default(x_1)
sin_1 = ops.aten.sin.default(x_1)
add = ops.aten.add.Tensor(sin, sin_1)
mul = ops.aten.mul.Tensor(x_1, 1.0)
mul_1 = ops.aten.mul.Tensor(x_1, 1)
neg = ops.aten.neg.default(x_1)
neg_1 = ops.aten.neg.default(x_1)
return (add, mul, mul_1, neg, neg_1)
->
sin = ops.aten.sin.default(x_1)
add = ops.aten.add.Tensor(sin, sin)
mul = ops.aten.mul.Tensor(x_1, 1.0)
mul_1 = ops.aten.mul.Tensor(x_1, 1)
neg = ops.aten.neg.default(x_1)
neg_1 = ops.aten.neg.default(x_1)
return (add, mul, mul_1, neg, neg_1)""",
    )


def test_copies_are_memory_of_their_own() -> None:
    def f(x):
        return x.clone() + x.clone()

    assert_expected_inline(
        before_and_after(cse.run, f, tensor(3)),
        """\
clone = ops.aten.clone.default(x_1)
clone_1 = ops.aten.clone.default(x_1)
add = ops.aten.add.Tensor(clone, clone_1)
return (add,)
->
clone = ops.aten.clone.default(x_1)
clone_1 = ops.aten.clone.default(x_1)
add = ops.aten.add.Tensor(clone, clone_1)
return (add,)""",
    )

"""What canonicalize makes of ops that change nothing, as text."""

from __future__ import annotations

from expecttest import assert_expected_inline
from pass_checks import before_and_after, tensor

import opweave
from opweave.passes import canonicalize


def test_an_identity_goes_and_two_views_become_one() -> None:
    def f(x):
        return (x * 1).view(6).view(3, 2) + 2

    assert_expected_inline(
        before_and_after(canonicalize.run, f, tensor(2, 3)),
        """\
mul = ops.aten.mul.Tensor(x_1, 1)
view = ops.aten.view.default(mul, (6,))
view_1 = ops.aten.view.default(view, (3, 2))
add = ops.aten.add.Tensor(view_1, 2)
return (add,)
->
view = ops.aten.view.default(x_1, (6,))
view_2 = ops.aten.view.default(x_1, (3, 2))
add = ops.aten.add.Tensor(view_2, 2)
return (add,)""",
    )


def test_a_cast_through_a_type_that_holds_all_of_it() -> None:
    def f(x):
        return x.to(opweave.float64).to(opweave.float32) + 0, x + (-0.0)

    assert_expected_inline(
        before_and_after(canonicalize.run, f, tensor(3)),
        """\
_to_copy = ops.aten._to_copy.default(x_1, dtype=opweave.float64)
_to_copy_1 = ops.aten._to_copy.default(_to_copy, dtype=opweave.float32)
add = ops.aten.add.Tensor(_to_copy_1, 0)
add_1 = ops.aten.add.Tensor(x_1, -0.0)
return (add, add_1)
->
_to_copy = ops.aten._to_copy.default(x_1, dtype=opweave.float64)
add = ops.aten.add.Tensor(x_1, 0)
add_1 = ops.aten.add.Tensor(x_1, -0.0)
return (add, add_1)""",
    )


def test_memory_for_a_tensor_needs_its_sizes_alone() -> None:
    def f(x):
        return opweave.empty_like(x * 2).fill_(1)

    assert_expected_inline(
        before_and_after(canonicalize.run, f, tensor(3)),
        """\
mul = ops.aten.mul.Tensor(x_1, 2)
empty_like = ops.aten.empty_like.default(mul)
fill_ = ops.aten.fill_.Scalar(empty_like, 1)
return (fill_,)
->
mul = ops.aten.mul.Tensor(x_1, 2)
empty_strided = ops.aten.empty_strided.default([3], [1], dtype=opweave.float32, device=opweave.device("cpu"))
fill_ = ops.aten.fill_.Scalar(empty_strided, 1)
return (fill_,)""",
    )


def test_what_is_filled_is_not_tied_to_a_layout_and_ones_go() -> None:
    def f(x):
        y = (x * 3).exp()
        grad = opweave.ones_like(y.sum())
        return (
            (x * grad).relu(),
            opweave.full_like(y, 2) + x,
            (x / grad.expand(2, 3)).exp(),
            (x * opweave.ones_like(y, dtype=opweave.float64)).exp(),
        )

    assert_expected_inline(
        before_and_after(canonicalize.run, f, tensor(2, 3)),
        """\
mul = ops.aten.mul.Tensor(x_1, 3)
exp = ops.aten.exp.default(mul)
sum_1 = ops.aten.sum.default(exp)
full_like = ops.aten.full_like.default(sum_1, 1)
mul_1 = ops.aten.mul.Tensor(x_1, full_like)
relu = ops.aten.relu.default(mul_1)
full_like_1 = ops.aten.full_like.default(exp, 2)
add = ops.aten.add.Tensor(full_like_1, x_1)
expand = ops.aten.expand.default(full_like, (2, 3))
div = ops.aten.div.Tensor(x_1, expand)
exp_1 = ops.aten.exp.default(div)
full_like_2 = ops.aten.full_like.default(exp, 1, dtype=opweave.float64)
mul_2 = ops.aten.mul.Tensor(x_1, full_like_2)
exp_2 = ops.aten.exp.default(mul_2)
return (relu, add, exp_1, exp_2)
->
mul = ops.aten.mul.Tensor(x_1, 3)
exp = ops.aten.exp.default(mul)
sum_1 = ops.aten.sum.default(exp)
full = ops.aten.full.default([], 1, dtype=opweave.float32, device=opweave.device("cpu"))
relu = ops.aten.relu.default(x_1)
full_1 = ops.aten.full.default([2, 3], 2, dtype=opweave.float32, device=opweave.device("cpu"))
add = ops.aten.add.Tensor(full_1, x_1)
expand = ops.aten.expand.default(full, (2, 3))
exp_1 = ops.aten.exp.default(x_1)
full_2 = ops.aten.full.default([2, 3], 1, dtype=opweave.float64, device=opweave.device("cpu"))
mul_2 = ops.aten.mul.Tensor(x_1, full_2)
exp_2 = ops.aten.exp.default(mul_2)
return (relu, add, exp_1, exp_2)""",
    )


def test_what_is_filled_and_returned_is_memory_of_its_own() -> None:
    x, turned = tensor(2, 3), tensor(3, 2).t()

    def f(x, turned):
        return opweave.ones_like(x), x * opweave.ones_like(x), opweave.full_like(turned, 2.5), opweave.ones_like(x)

    found = opweave.compile(f)(x, turned)
    for one, other in zip(found, f(x, turned), strict=True):
        assert (one == other).all() and one.stride() == other.stride() and one.dtype is other.dtype
    assert len({t.data_ptr() for t in (*found, x)}) == 5


def test_what_is_filled_may_be_of_any_size() -> None:
    compiled = opweave.compile(lambda x: (opweave.full_like(x, 2) * x + opweave.ones_like(x) * x).sum(0), dynamic=True)
    for rows in (2, 3, 5):
        x = tensor(rows, 4)
        assert (compiled(x) == (2 * x + x).sum(0)).all()
    assert len(compiled.entries) == 1

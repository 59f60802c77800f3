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

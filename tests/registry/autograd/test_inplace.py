"""Writes in place: gradients are those of the same program without a write, and what would be wrong is refused.

The first part is generated: an op, then a write to its result, for every op with samples. `tests/parity` does the same
beside PyTorch, for more programs.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))

from inplace_programs import (
    FORMS,
    TARGETS,
    functional_in_form,
    functional_of,
    functional_ops,
    inplace_ops,
    is_random,
    sample_calls,
    visit,
    write_in_form,
    write_to_result,
)
from op_samples import Call, as_list

import opweave as ow
from opweave import library
from opweave.registry.autograd.function import Function
from opweave.registry.errors import AutogradError, OpweaveError, ShapeError, UnsupportedError
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor

#: Why a program has no gradient: the op keeps its result for it, or has none.
REFUSED = "modified by an in-place operation|has no autograd formula|have no gradient"
FULL = bool(os.environ.get("OPWEAVE_FULL_MATRIX"))


def with_leaves(call: Call) -> tuple[Call, list[Tensor]]:
    leaves: list[Tensor] = []

    def leaf(t: Tensor) -> Tensor:
        made = t.clone().detach()
        if t._dtype.kind in "fc":
            leaves.append(made.requires_grad_())
        return made

    return (visit(call[0], leaf), visit(call[1], leaf)), leaves


def close(found: list[Any], expected: list[Any], note: str) -> None:
    for a, b in zip(found, expected, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8, err_msg=note)


@pytest.mark.parametrize("op", [op for op in functional_ops() if not op._schema.aliased_returns], ids=str)
def test_written_results(op: OpOverload) -> None:
    for _, n, call in sample_calls(op, FULL):
        (args, kwargs), leaves = with_leaves(call)
        try:
            results = as_list(op(*args, **kwargs))
        except OpweaveError:
            continue
        position = next((i for i, t in enumerate(results) if isinstance(t, Tensor) and t.requires_grad), None)
        if position is None or any(results[position] is t for t in args):
            continue
        base = results[position]._base
        assert base is None or base.requires_grad, "a link from below autograd"
        for form in FORMS if FULL else ("mul_ by a tensor", "comparison", "zero_ of a part", "mul_ of a view"):
            mine, leaves = with_leaves(call)
            try:
                found = write_to_result(ow, op, mine, leaves, form, position, from_leaves=False)
            except AutogradError as error:
                if not re.search(REFUSED, str(error)):
                    raise
                continue
            mine, leaves = with_leaves(call)
            expected = write_to_result(ow, op, mine, leaves, form, position, from_leaves=False, functional=True)
            close(found.gradients, expected.gradients, f"{op} sample {n}, {form}")


def _is_computed(op: OpOverload) -> bool:
    """Whether an op writes numbers that its functional form gives, into memory that keeps its shape."""
    known = functional_of(op) is not None and "inplace_view" not in op.tags
    return known and not is_random(op) and not op.opname.startswith("bitwise_") and "dropout" not in op.opname


@pytest.mark.parametrize("op", [op for op in inplace_ops() if _is_computed(op)], ids=str)
def test_inplace_forms(op: OpOverload) -> None:
    functional = functional_of(op)
    assert functional is not None
    for _, n, call in sample_calls(op, FULL):
        if call[0][0]._dtype.kind not in "fc":
            continue
        for kind in TARGETS[1:]:
            mine, leaves = with_leaves(call)
            try:
                found = write_in_form(ow, op, mine, leaves, kind)
            except AutogradError as error:
                if not re.search(REFUSED, str(error)):
                    raise
                continue
            mine, leaves = with_leaves(call)
            close(found.gradients, functional_in_form(ow, functional, mine, leaves, kind), f"{op} sample {n}, {kind}")
        mine, _ = with_leaves(call)
        with pytest.raises(AutogradError, match="a leaf that requires grad cannot be written"):
            op(*mine[0], **mine[1])


#: Compiled by default; with ``OPWEAVE_FULL_MATRIX=1`` all are.
COMPILED = {"add.Tensor", "exp.default", "repeat.default", "t.default", "slice.Tensor", "cat.default", "index.Tensor",
            "var_mean.correction", "native_group_norm.default", "mm.default"}  # fmt: skip
COMPILED_FORMS = ("mul_ by a tensor", "comparison", "mul_ of a part", "transpose_, then mul_")


def _outcome(run: Any, call: Call) -> Any:
    """Values and gradients; None where there are none, the error where the call itself raises."""
    (args, kwargs), leaves = with_leaves(call)
    if not leaves:
        return None
    given = visit(args, lambda t: t * 1 if t.requires_grad else t)
    try:
        results = run(list(given), kwargs)
        outputs = [t for t in (*results, *given) if isinstance(t, Tensor) and t.requires_grad]
        grads = ow.autograd.grad([t.sum() if t._dtype.kind == "f" else t.abs().sum() for t in outputs], leaves,
                                 allow_unused=True, materialize_grads=True)  # fmt: skip
    except AutogradError:
        return None
    except ShapeError as error:  # elements of the result share memory, as those of an expanded tensor
        return error
    return [t.detach().numpy() for t in (*results, *grads)]


def _compiled() -> list[OpOverload]:
    found = []
    for op in functional_ops():
        if FULL or f"{op.opname}.{op.overload}" in COMPILED:
            found.append(op)
    return found


@pytest.mark.parametrize("op", _compiled(), ids=str)
def test_compiled_writes(op: OpOverload) -> None:
    """Compiled, a write to a result gives what it gives eagerly, unless it is refused."""
    for _, n, call in sample_calls(op, False):
        try:
            position = next(i for i, t in enumerate(as_list(op(*call[0], **call[1]))) if t._dtype.kind in "fc")
        except (OpweaveError, StopIteration):
            continue
        for form in FORMS if FULL else COMPILED_FORMS:

            def run(args: Any, kwargs: Any, form: str = form, position: int = position) -> Any:
                results = as_list(op(*args, **kwargs))
                FORMS[form].write(ow, results[position], ow.full_like(results[position], 1.5))
                return results

            expected, found = _outcome(run, call), _outcome(ow.compile(run), call)
            if expected is None or found is None:
                # Compiled code computes a result anew that eager code keeps; some of its views may not be written.
                continue
            if isinstance(expected, ShapeError) or isinstance(found, ShapeError):
                assert type(expected) is type(found), (expected, found)
                continue
            close(found, expected, f"{op} sample {n}, {form}")


# ---- the rule, case by case ----------------------------------------------------------------------------------------


def leaf() -> Tensor:
    return ow.tensor([1.0, 2.0, 3.0, 4.0], requires_grad=True)


def slope(y: Tensor, x: Tensor) -> list[float]:
    (found,) = ow.autograd.grad(y.sum(), x, materialize_grads=True)
    return found.tolist()


@pytest.mark.parametrize("name", ["repeat", "tile"])
def test_composites_give_tensors_of_their_own(name):
    x = leaf()
    y = getattr(x, name)(2)
    assert y._base is None and not getattr(x.detach(), name)(2)._is_view()
    assert slope(y.mul_(2), x) == [4.0] * 4


@pytest.mark.parametrize(
    "write",
    [
        lambda y: y.lt_(5), lambda y: y.eq_(y.detach()), lambda y: y.logical_not_(),
        lambda y: y.logical_and_(y.detach()), lambda y: y.zero_(), lambda y: y.fill_(3.0), lambda y: y.normal_(),
        lambda y: y.uniform_(), lambda y: y.floor_(),
        lambda y: y.sign_(), lambda y: y.bernoulli_(0.5), lambda y: y.copy_(ow.ones(4)),
    ],
)  # fmt: skip
def test_what_does_not_depend_on_the_old_values_has_gradient_zero(write):
    x = leaf()
    y = x * 1
    write(y)
    assert y.requires_grad and slope(y, x) == [0.0] * 4
    y = x * 1
    write(y[1:3]) if "ones" not in write.__code__.co_names else write(y)
    assert slope(y, x)[1:3] == [0.0, 0.0]
    with pytest.raises(AutogradError, match="leaf"):
        write(leaf())


def test_writes_through_views_of_parts_of_complex_numbers():
    x = ow.tensor([1 + 2j, 3 - 1j], requires_grad=True)
    y = x * 1
    ow.view_as_real(y)[:, 1].mul_(3.0)
    (found,) = ow.autograd.grad(ow.view_as_real(y).sum(), x)
    assert found.tolist() == [1 + 3j, 1 + 3j]
    r = ow.tensor([[1.0, 2.0], [3.0, 4.0]], requires_grad=True)
    z = r * 1
    ow.view_as_complex(z).mul_(2j)
    assert z.tolist() == [[-4.0, 2.0], [-8.0, 6.0]]
    (found,) = ow.autograd.grad((z * ow.tensor([[1.0, 10.0], [100.0, 1000.0]])).sum(), r)
    assert found.tolist() == [[20.0, -2.0], [2000.0, -200.0]]


def exp_views(x: Tensor) -> Tensor:
    return x.exp().view(2, 2)


def check_own(make: Any) -> None:
    x = leaf()
    y = make(x * 1)
    assert y._base is None
    y.mul_(3)
    np.testing.assert_allclose(slope(y, x), 3 * np.exp([1.0, 2.0, 3.0, 4.0]), rtol=1e-6)


def exp_backward(ctx, grad):
    return grad.reshape(4) * ctx.saved_tensors[0].exp()


def keep_input(ctx, inputs, output):
    ctx.save_for_backward(inputs[0])


def test_ops_of_users_may_return_views_of_their_temporaries():
    lib = library.Library("inplace_rule", "DEF")
    lib.define("op(Tensor x) -> Tensor")
    lib.impl("op", exp_views, "CompositeExplicitAutograd")
    library.register_autograd("inplace_rule::op", exp_backward, setup_context=keep_input, lib=lib)
    check_own(ow.ops.inplace_rule.op)
    for make in (library.custom_op, library.triton_op):
        made = make(f"inplace_rule::{make.__name__}", exp_views, mutates_args=())
        made.register_autograd(exp_backward, setup_context=keep_input)
        check_own(made)
    several = library.custom_op("inplace_rule::several", lambda x: [x.exp().view(2, 2), x.exp()[1:]], mutates_args=(),
                                schema="(Tensor x) -> Tensor[]")  # fmt: skip
    assert [t._base for t in several(ow.ones(4))] == [None, None]


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x)
        return x.exp().view(2, 2)

    @staticmethod
    def backward(ctx, grad):
        return grad.reshape(4) * ctx.saved_tensors[0].exp()


def test_a_function_may_return_a_view_of_its_temporary():
    check_own(Exp.apply)


def test_function_outputs_that_share_memory_are_not_written():
    class Halves(Function):
        @staticmethod
        def forward(ctx, x):
            t = x * 2
            return t[:2], t[2:]

        @staticmethod
        def backward(ctx, a, b):
            return ow.cat([a, b]) * 2

    class Same(Function):
        @staticmethod
        def forward(ctx, x):
            return x.detach()

        @staticmethod
        def backward(ctx, grad):
            return grad

    for y in (Halves.apply(leaf())[0], Same.apply(leaf() * 1)):
        with pytest.raises(AutogradError, match="shares memory with another tensor"):
            y.mul_(2)


def test_a_dirty_view_behind_another_argument():
    class Scaled(Function):
        @staticmethod
        def forward(ctx, factor, x):
            ctx.mark_dirty(x)
            ctx.save_for_backward(factor)
            return x.mul_(factor)

        @staticmethod
        def backward(ctx, grad):
            return None, grad * ctx.saved_tensors[0]

    x = leaf()
    y = x * 1
    Scaled.apply(ow.tensor(3.0), y[:2])
    assert slope(y, x) == [3.0, 3.0, 1.0, 1.0]


def test_what_is_refused():
    y = leaf() * 1
    with pytest.raises(AutogradError, match="one of several views that one call made"):
        y.split(2)[0].mul_(2)
    with pytest.raises(AutogradError, match="one of several views"):
        y.chunk(2)[0][:1].mul_(2)
    with pytest.raises(AutogradError, match="one of several views"):
        next(iter(y.view(2, 2))).mul_(2)
    with ow.no_grad():
        hidden = y.view(2, 2)
    with pytest.raises(AutogradError, match="made without recording"):
        hidden.mul_(2)
    first, _ = y.split(2)
    y.mul_(2)
    for view in (first, hidden):
        with pytest.raises(AutogradError, match="lost its history"):
            view * 1
    with pytest.raises(AutogradError, match="view of a leaf"):
        leaf()[1:].zero_()
    plain = ow.zeros(4)
    view = plain.view(2, 2).requires_grad_()
    with pytest.raises(AutogradError, match="leaf"):
        view.mul_(2)
    y = leaf() * 1
    view = y.view(2, 2)
    y.detach_()
    with pytest.raises(AutogradError, match="detached"):
        view.mul_(2)
    with ow.inference_mode():
        made = ow.ones(3)
    with pytest.raises(AutogradError, match="inference"):
        made.mul_(2)
    with pytest.raises(AutogradError, match="inference"):
        made.view(3, 1).zero_()


def test_gradients_that_are_kept_are_those_of_what_a_tensor_is_now():
    for written in ("itself", "view", "base"):
        x = leaf()
        y = x * 1
        v = y.view(2, 2)
        y.retain_grad()
        v.retain_grad()
        {"itself": y, "view": v, "base": y}[written].mul_(2)
        (y * 5 + v.view(4) * 7).sum().backward()
        assert y.grad.tolist() == [12.0] * 4
        assert v.grad.tolist() == [[7.0] * 2] * 2
        assert x.grad.tolist() == [24.0] * 4


def test_saved_tensors_notice_every_write():
    for write in (
        lambda e: e.add_(1), lambda e: e.detach().add_(1), lambda e: e.view(2, 2).zero_(), lambda e: e[:1].fill_(0),
        lambda e: e.lt_(0), lambda e: e.unsqueeze_(0),
    ):  # fmt: skip
        x = leaf()
        e = x.exp()
        y = x * e
        with ow.no_grad() if "unsqueeze_" not in write.__code__.co_names else ow.enable_grad():
            write(e)
        with pytest.raises(AutogradError, match="modified by an in-place operation"):
            y.sum().backward()


def test_sizes_changed_in_place():
    x = leaf()
    y = x * 1
    other = y.view(4)
    y.unsqueeze_(0).transpose_(0, 1).squeeze_(1)
    assert y.shape == (4,) and y._version == 3
    y.as_strided_([2, 2], [2, 1], 0).t_()
    y.mul_(ow.tensor([[1.0, 10.0], [100.0, 1000.0]]))
    assert other.tolist() == [1.0, 200.0, 30.0, 4000.0]
    assert slope(other + y.t().reshape(4), x) == [2.0, 200.0, 20.0, 2000.0]
    with pytest.raises(AutogradError, match="leaf"):
        leaf().unsqueeze_(0)
    with pytest.raises(AutogradError, match="without recording"), ow.no_grad():
        y.unsqueeze_(0)
    w = leaf()
    with ow.no_grad():
        assert w.unsqueeze_(0).shape == (1, 4) and w.is_leaf

    def swapped(r):
        return (r * 2).unsqueeze_(0).mul_(3)

    assert ow.vmap(swapped)(ow.ones(2, 3)).tolist() == [[[6.0] * 3]] * 2
    assert ow.func.grad(lambda r: (swapped(r) * r).sum())(ow.ones(3)).tolist() == [12.0] * 3


def test_functional_transforms_of_programs_that_write():
    def f(x):
        y = x * 1
        y[1:].mul_(y[:-1].clone())
        y.view(2, 2)[0] += x[2:]
        return y

    x = ow.tensor([1.0, 2.0, 3.0, 4.0], dtype=ow.float64)

    def g(x):
        first = ow.cat([x[:1], x[1:] * x[:-1]])
        return first + ow.cat([x[2:], ow.zeros(2, dtype=x.dtype)])

    assert f(x).tolist() == g(x).tolist()
    jacobians = [ow.func.jacrev(one)(x) for one in (f, g)]
    assert jacobians[0].tolist() == jacobians[1].tolist() == ow.func.jacfwd(f)(x).tolist()
    batch = ow.stack([x, x * 2])
    found = ow.vmap(ow.func.grad(lambda x: f(x).square().sum()))(batch)
    assert found.tolist() == ow.vmap(ow.func.grad(lambda x: g(x).square().sum()))(batch).tolist()
    twice = [ow.func.grad(lambda x, one=one: ow.func.grad(lambda x: one(x).pow(3).sum())(x).sum())(x) for one in (f, g)]
    np.testing.assert_allclose(twice[0].numpy(), twice[1].numpy())
    leafy = x.clone().requires_grad_()
    ow.checkpoint(f)(leafy).sum().backward()
    assert leafy.grad.tolist() == jacobians[0].sum(0).tolist()


def test_index_fill_counts_an_element_once():
    x, value = ow.zeros(3, 2, requires_grad=True), ow.tensor(2.0, requires_grad=True)
    y = x.index_fill(0, ow.tensor([2, 0, 2, -1]), value)
    y.sum().backward()
    assert value.grad.item() == 4.0 and x.grad.tolist() == [[0.0, 0.0], [1.0, 1.0], [0.0, 0.0]]


def test_subclasses_that_dispatch_do_not_change_their_sizes():
    class Logged(Tensor):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return Tensor._make_subclass(cls, func(*(a.plain if isinstance(a, Logged) else a for a in args)))

    t = Tensor._make_subclass(Logged, ow.ones(2, 3))
    t.plain = ow.ones(2, 3)
    with pytest.raises(UnsupportedError, match="sizes"):
        t.t_()

"""`make_fx` with decomposition tables, before dispatch, and inside itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from expecttest import assert_expected_inline

import opweave
from opweave import Tensor, make_fx, ops
from opweave.export import Dim, export
from opweave.library import Library, custom_op
from opweave.registry.errors import ArgumentError, ShapeError, TraceError, UnsupportedError
from opweave.registry.keys import PRE_DISPATCH_BIT, state
from opweave.tracer.parsing import parse

F = opweave.nn.functional
aten = ops.aten
MODES = ("real", "fake", "symbolic")


def tensor(*sizes: int, seed: int = 0) -> Tensor:
    return opweave.from_numpy(np.random.default_rng(seed).standard_normal(sizes, dtype=np.float32))


def text(module: Any) -> str:
    return "\n".join(line.partition("  #")[0].rstrip() for line in module.code.splitlines())


def targets(module: Any) -> list[str]:
    return [str(node.target) for node in module.graph.nodes if node.op == "call_function"]


def guards(module: Any) -> list[str]:
    return [module.shape_env.guard_text(guard) for guard in module.shape_env.guards()]


# ---- tables --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_table_replaces_ops_and_what_replaces_them(mode: str) -> None:
    table = {
        aten.silu: lambda x: x * aten.sigmoid(x),
        aten.sigmoid.default: lambda x: aten.reciprocal(aten.add(aten.exp(aten.neg(x)), 1)),
    }
    f = lambda x: F.silu(x) + 1  # noqa: E731
    module = make_fx(f, tracing_mode=mode, decomposition_table=table)(tensor(3, 4))
    names = ["neg.default", "exp.default", "add.Tensor", "reciprocal.default", "mul.Tensor", "add.Tensor"]
    assert targets(module) == [f"aten.{name}" for name in names]
    x = tensor(3, 4, seed=1)
    np.testing.assert_allclose(module(x).numpy(), f(x).numpy(), rtol=1e-6)
    assert "silu" in make_fx(f, tracing_mode=mode)(tensor(3, 4)).code


@pytest.mark.parametrize("mode", MODES)
def test_a_table_replaces_an_op_that_is_written_with_others(mode: str) -> None:
    table = {aten.linear.default: lambda x, w, b=None: aten.mm(x, w.t()) * 2}
    module = make_fx(lambda x, w: F.linear(x, w) + x.reshape(-1)[0], tracing_mode=mode, decomposition_table=table)(
        tensor(3, 4), tensor(5, 4)
    )
    assert "linear" not in module.code and "aten.mul.Tensor" in targets(module)
    x, w = tensor(3, 4, seed=1), tensor(5, 4, seed=2)
    np.testing.assert_allclose(module(x, w).numpy(), 2 * x.numpy() @ w.numpy().T + x.numpy()[0, 0], rtol=1e-5)
    assert not state.include & PRE_DISPATCH_BIT


def test_a_table_with_a_custom_op() -> None:
    @custom_op("tables::halve", mutates_args=())
    def halve(x: Tensor) -> Tensor:
        return x / 2

    halve.register_fake(lambda x: opweave.empty_like(x))
    for key in (halve, ops.tables.halve, ops.tables.halve.default):
        module = make_fx(lambda x: halve(x) + 1, tracing_mode="fake", decomposition_table={key: lambda x: x * 0.5})(
            tensor(3)
        )
        assert targets(module) == ["aten.mul.Tensor", "aten.add.Tensor"]


def test_an_entry_may_leave_a_call_as_it_is() -> None:
    def gelu(x: Tensor, approximate: str = "none") -> Any:
        return x * 0.5 if approximate == "tanh" else NotImplemented

    f = lambda x: F.gelu(x) + F.gelu(x, approximate="tanh")  # noqa: E731
    module = make_fx(f, tracing_mode="fake", decomposition_table={aten.gelu: gelu})(tensor(3))
    assert targets(module) == ["aten.gelu.default", "aten.mul.Tensor", "aten.add.Tensor"]


def test_a_decomposition_that_calls_its_op_on_less() -> None:
    def total(x: Tensor, dim: Any, keepdim: bool = False, *, dtype: Any = None) -> Any:
        if len(dim) < 2:
            return NotImplemented
        return aten.sum.dim_IntList(aten.sum.dim_IntList(x, dim[1:], True), dim[:1], keepdim)

    module = make_fx(
        lambda x: x.sum((0, 1, 2)), tracing_mode="fake", decomposition_table={aten.sum.dim_IntList: total}
    )(tensor(2, 3, 4))
    assert targets(module) == ["aten.sum.dim_IntList"] * 3
    x = tensor(2, 3, 4, seed=1)
    np.testing.assert_allclose(module(x).numpy(), x.numpy().sum(), rtol=1e-5)


def test_a_decomposition_without_end_is_refused() -> None:
    with pytest.raises(TraceError, match="without end"):
        make_fx(lambda x: F.silu(x), decomposition_table={aten.silu: lambda x: aten.silu(x)})(tensor(3))


def test_a_table_holds_in_branches_and_gradients() -> None:
    table = {aten.silu.default: lambda x: x * aten.sigmoid(x)}

    def branch(x: Tensor) -> Tensor:
        return opweave.cond(x.sum() > 0, lambda y: F.silu(y), lambda y: y + 1, (x,))

    module = make_fx(branch, tracing_mode="fake", decomposition_table=table)(tensor(3))
    assert "silu" not in module.code and "sigmoid" in module.code
    grad = make_fx(opweave.func.grad(lambda x: F.silu(x).sum()), tracing_mode="fake", decomposition_table=table)(
        tensor(3)
    )
    assert "aten.silu.default" not in targets(grad)
    x = tensor(3, seed=1)
    np.testing.assert_allclose(
        grad(x).numpy(), opweave.func.grad(lambda x: F.silu(x).sum())(x).numpy(), rtol=1e-5
    )  # fmt: skip


@pytest.mark.parametrize("table", [{"aten::silu": abs}, {aten.silu: 3}])
def test_a_wrong_table_is_refused(table: dict[Any, Any]) -> None:
    with pytest.raises(ArgumentError, match="decomposition table"):
        make_fx(lambda x: x, decomposition_table=table)


# ---- before dispatch -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_composite_ops_are_recorded_as_they_are_called(mode: str) -> None:
    def f(x: Tensor, w: Tensor) -> Tensor:
        return F.linear(x, w).reshape(-1) + x.contiguous().sum() + opweave.matmul(x, w.t()).flatten()

    module = make_fx(f, tracing_mode=mode, pre_dispatch=True)(tensor(3, 4), tensor(5, 4))
    names = ["linear.default", "reshape.default", "contiguous.default", "sum.default", "add.Tensor", "t.default"]
    names += ["matmul.default", "flatten.using_ints", "add.Tensor"]
    assert targets(module) == [f"aten.{name}" for name in names]
    for sizes in ((3, 4, 5), (2, 6, 3)) if mode == "symbolic" else ((3, 4, 5),):
        x, w = tensor(*sizes[:2], seed=1), tensor(*sizes[2:], sizes[1], seed=2)
        np.testing.assert_allclose(module(x, w).numpy(), f(x, w).numpy(), rtol=1e-5)
    assert str(parse(module.code)) == str(module.graph)
    assert not state.include & PRE_DISPATCH_BIT
    assert "linear" not in make_fx(f, tracing_mode=mode)(tensor(3, 4), tensor(5, 4)).code


def test_a_users_composite_op_is_recorded_too() -> None:
    lib = Library("tables", "FRAGMENT")
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x + x, "CompositeImplicitAutograd")
    module = make_fx(lambda x: ops.tables.twice(x), tracing_mode="fake", pre_dispatch=True)(tensor(3))
    assert targets(module) == ["tables.twice.default"]


def test_a_result_that_is_the_argument_is_a_node_of_its_own() -> None:
    def f(x: Tensor) -> tuple[Tensor, Tensor]:
        y = x.clone()
        z = y.contiguous()
        y.add_(1)
        z.mul_(2)
        return y, z

    module = make_fx(f, tracing_mode="fake", pre_dispatch=True)(tensor(3))
    x = tensor(3, seed=1)
    for found, expected in zip(module(x), f(x), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())


def test_a_table_before_dispatch() -> None:
    table = {aten.linear.default: lambda x, w, b=None: aten.matmul(x, w.t())}
    module = make_fx(lambda x, w: F.linear(x, w), tracing_mode="fake", pre_dispatch=True, decomposition_table=table)(
        tensor(3, 4), tensor(5, 4)
    )
    assert targets(module) == ["aten.t.default", "aten.matmul.default"]


def test_what_is_seen_from_below_is_recorded_from_below() -> None:
    batched = make_fx(opweave.vmap(lambda row: F.linear(row, row[None]).sum()), tracing_mode="fake", pre_dispatch=True)
    x = tensor(3, 2)
    np.testing.assert_allclose(batched(x)(x).numpy(), (x * x).sum(1).numpy(), rtol=1e-6)

    def cast(x: Tensor) -> Tensor:
        with opweave.autocast("cpu"):
            return opweave.matmul(x, x.t()) + 0

    module = make_fx(cast, tracing_mode="fake", pre_dispatch=True)(x)
    assert module(x).dtype is opweave.bfloat16
    np.testing.assert_array_equal(module(x).float().numpy(), cast(x).float().numpy())


def test_tensors_that_require_grad_before_dispatch() -> None:
    x = tensor(3, 4)
    x.requires_grad_()
    module = make_fx(lambda x: F.linear(x, x).sum(), tracing_mode="fake", pre_dispatch=True)(x)
    assert targets(module) == ["aten.linear.default", "aten.sum.default"]
    with pytest.raises(UnsupportedError, match="computes no values"):
        make_fx(lambda x: F.linear(x, x).sum(), tracing_mode="real", pre_dispatch=True)(x)
    with pytest.raises(TraceError, match="not part of this trace"):
        make_fx(opweave.func.grad(lambda x: F.linear(x, x).sum()), tracing_mode="fake", pre_dispatch=True)(tensor(3, 4))


@pytest.mark.parametrize("change", [opweave.no_grad, opweave.inference_mode])
def test_a_change_of_grad_mode_is_refused_before_dispatch(change: Callable[[], Any]) -> None:
    def f(x: Tensor) -> Tensor:
        with change():
            y = x * 2
        return x * y

    x = tensor(3)
    make_fx(f, tracing_mode="fake", pre_dispatch=True)(x)  # nothing to lose
    x.requires_grad_()
    with pytest.raises(UnsupportedError, match="grad mode") as caught:
        make_fx(f, tracing_mode="fake", pre_dispatch=True)(x)
    assert "test_make_fx_tables.py" in str(caught.value) and "detach" in str(caught.value)
    with opweave.no_grad():
        make_fx(lambda x: x * 2, tracing_mode="fake", pre_dispatch=True)(x)


# ---- inside itself -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("outer", MODES)
@pytest.mark.parametrize("inner", MODES)
def test_a_trace_inside_a_trace(outer: str, inner: str) -> None:
    seen = []

    def f(x: Tensor) -> Tensor:
        module = make_fx(lambda y: y * y.shape[0] + 1, tracing_mode=inner)(x)
        seen.append(len(module.graph))
        return module(x) * 2

    module = make_fx(f, tracing_mode=outer)(tensor(3, 4))
    assert seen == [5 if outer == "symbolic" else 4]
    assert [name for name in targets(module) if "sym_size" not in name] == [
        "aten.mul.Tensor", "aten.add.Tensor", "aten.mul.Tensor",
    ]  # fmt: skip
    x = tensor(5, 4, seed=1) if outer == "symbolic" else tensor(3, 4, seed=1)
    np.testing.assert_array_equal(module(x).numpy(), ((x * x.shape[0] + 1) * 2).numpy())


def test_an_inner_trace_of_an_outer_tensor_is_refused() -> None:
    with pytest.raises(TraceError, match="not part of this trace"):
        make_fx(lambda x: make_fx(lambda y: y + x)(x)(x), tracing_mode="fake")(tensor(3))


# ---- a program traced again ----------------------------------------------------------------------------------------


def test_an_exported_program_is_traced_again_with_open_sizes() -> None:
    rows, columns = Dim("rows", min=2, max=64), Dim("columns", min=2)
    program = export(
        lambda x, y: (x[:, 1:] @ y, x.view(-1) * x.shape[0]), (tensor(8, 6), tensor(5, 7)),
        dynamic_shapes=({0: rows, 1: columns + 1}, {0: columns}),
    )  # fmt: skip
    module = make_fx(program.module(), tracing_mode="symbolic")(tensor(9, 4), tensor(3, 7))
    assert_expected_inline(
        text(module),
        """\
def forward(self, args_1: "f32[s0, s1]", args_2: "f32[s1 - 1, 7]"):
    slice_1: "f32[s0, s1 - 1]" = ops.aten.slice.Tensor(args_1, 1, 1)
    mm: "f32[s0, 7]" = ops.aten.mm.default(slice_1, args_2)
    view: "f32[s0*s1]" = ops.aten.view.default(args_1, (-1,))
    sym_size: "Sym(s0)" = ops.aten.sym_size.int(args_1, 0)
    mul: "f32[s0*s1]" = ops.aten.mul.Tensor(view, sym_size)
    return (mm, view)""".replace("(mm, view)", "(mm, mul)"),
    )
    assert guards(module) == ["s2 == s1 - 1", "s3 == 7", "s0 <= 64", "s1 >= 3"]
    x, y = tensor(5, 9, seed=1), tensor(8, 7, seed=2)
    for found, expected in zip(module(x, y), program.module()(x, y), strict=True):
        np.testing.assert_array_equal(found.numpy(), expected.numpy())
    with pytest.raises(ShapeError, match="dim 1 of x"):
        make_fx(program.module(), tracing_mode="symbolic")(tensor(9, 4), tensor(4, 7))
    with pytest.raises(ShapeError, match="outside of"):
        make_fx(program.module(), tracing_mode="symbolic")(tensor(99, 4), tensor(3, 7))


def test_an_exported_program_with_divisible_sizes_is_traced_again() -> None:
    program = export(lambda x: x.view(-1, 4) + 1, (tensor(8),), dynamic_shapes=({0: 4 * Dim("n", min=2)},))
    module = make_fx(program.module(), tracing_mode="symbolic")(tensor(12))
    assert guards(module) == ["s0 >= 8", "s0 % 4 == 0"]
    np.testing.assert_array_equal(module(tensor(20)).numpy(), (tensor(20).view(5, 4) + 1).numpy())


def test_a_decomposed_program_uses_the_same_table() -> None:
    program = export(lambda x: F.silu(x), (tensor(3),)).run_decompositions(
        {aten.silu: lambda x: x * aten.sigmoid(x), aten.sigmoid: lambda x: aten.reciprocal(aten.exp(-x) + 1)}
    )
    names = [str(node.target) for node in program.graph.nodes if node.op == "call_function"]
    assert names == [f"aten.{name}" for name in ("neg.default", "exp.default", "add.Tensor", "reciprocal.default",
                                                 "mul.Tensor")]  # fmt: skip
    with pytest.raises(ArgumentError, match="decomposition table"):
        program.run_decompositions({"aten::silu": abs})  # type: ignore[dict-item]

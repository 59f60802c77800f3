"""Numbers that follow from sizes of inputs are operands, and checks come before what relies on them, as text."""

from __future__ import annotations

import re

from expecttest import assert_expected_inline
from pass_checks import compare, lines, tensor

import opweave
from opweave.passes import dce, sizes
from opweave.tracer.make_fx import make_fx


def test_sizes_become_operands_and_nodes_again() -> None:
    def f(x):
        return x.view(x.shape[0] * x.shape[1]) + x.shape[0]

    module = make_fx(f, tracing_mode="symbolic")(tensor(2, 3))
    before = lines(module.graph)
    plain = dce.run(sizes.run(module.graph))
    found = [*before, "->", *lines(plain)]
    sizes.spell(plain, module.shape_env)
    module.recompile()
    assert (module(tensor(4, 5)) == f(tensor(4, 5))).all().item()
    assert_expected_inline(
        "\n".join([*found, "->", *lines(plain)]),
        """\
sym_size = ops.aten.sym_size.int(x_1, 0)
sym_size_1 = ops.aten.sym_size.int(x_1, 1)
mul = operator.mul(sym_size, sym_size_1)
view = ops.aten.view.default(x_1, [mul])
add = ops.aten.add.Tensor(view, sym_size)
return (add,)
->
view = ops.aten.view.default(x_1, [s0*s1])
add = ops.aten.add.Tensor(view, s0)
return (add,)
->
sym_size = ops.aten.sym_size.int(x_1, 0)
sym_size_2 = ops.aten.sym_size.int(x_1, 1)
mul = operator.mul(sym_size, sym_size_2)
view = ops.aten.view.default(x_1, [mul])
add = ops.aten.add.Tensor(view, sym_size)
return (add,)""",
    )


def test_a_check_moves_to_where_its_number_is_known() -> None:
    def f(x, n):
        y = x * 2
        found = opweave.nonzero(n)
        z = y * 3
        return z, found.view(2, 1)

    module = make_fx(f, tracing_mode="symbolic")(tensor(3), opweave.tensor([4, 0, 1]))
    before = lines(module.graph)
    sizes.hoist(module.graph)
    module.graph.lint()
    module.recompile()
    compare(module(tensor(3), opweave.tensor([4, 0, 1])), f(tensor(3), opweave.tensor([4, 0, 1])))
    assert_expected_inline(
        re.sub("'.*'", "...", "\n".join([*before, "->", *lines(module.graph)])),
        """\
mul = ops.aten.mul.Tensor(x_1, 2)
nonzero = ops.aten.nonzero.default(n_1)
mul_1 = ops.aten.mul.Tensor(mul, 3)
sym_size = ops.aten.sym_size.int(nonzero, 0)
eq = operator.eq(sym_size, 2)
_assert_scalar = ops.aten._assert_scalar.default(eq, ...)
view = ops.aten.view.default(nonzero, (2, 1))
return (mul_1, view)
->
mul = ops.aten.mul.Tensor(x_1, 2)
nonzero = ops.aten.nonzero.default(n_1)
sym_size = ops.aten.sym_size.int(nonzero, 0)
eq = operator.eq(sym_size, 2)
_assert_scalar = ops.aten._assert_scalar.default(eq, ...)
mul_1 = ops.aten.mul.Tensor(mul, 3)
view = ops.aten.view.default(nonzero, (2, 1))
return (mul_1, view)""",
    )

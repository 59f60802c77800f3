"""`export`: the program that a function becomes, its signature, what it checks, and how it is saved."""

from __future__ import annotations

import copy
import io
import pickle
import re
from collections import namedtuple
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline

import opweave
from opweave.export import Dim, ExportedProgram, InputKind, export, load, save
from opweave.library import custom_op, triton_op, wrap_triton
from opweave.registry import dtypes
from opweave.registry.errors import (
    ArgumentError,
    DataDependentError,
    DeviceError,
    DTypeError,
    GraphError,
    ShapeError,
    UnsupportedError,
)
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten


def tensor(*sizes: int, seed: int = 0) -> Tensor:
    return from_numpy(np.random.default_rng(seed).standard_normal(sizes, dtype=np.float32))


def same(a: Any, b: Any) -> bool:
    return np.array_equal(a.numpy(), b.numpy())


def again(program: ExportedProgram) -> ExportedProgram:
    """Saved and loaded; saving what was loaded gives the same bytes."""
    file = io.BytesIO()
    save(program, file)
    loaded = load(io.BytesIO(file.getvalue()))
    second = io.BytesIO()
    save(loaded, second)
    assert second.getvalue() == file.getvalue()
    assert _numberless(loaded) == _numberless(program)
    return loaded


def _numberless(program: ExportedProgram) -> str:
    """The text without what a file changes: a kernel's number, and grids of configurations that were not kept."""
    return re.sub(r"kernel_idx=\d+|grid=\[[^]]*\]", "", str(program))


@custom_op("export_test::np_sin", mutates_args=())
def np_sin(x: Tensor) -> Tensor:
    return from_numpy(np.sin(x.numpy()))


@np_sin.register_fake
def _(x: Tensor) -> Tensor:
    return opweave.empty_like(x)


@custom_op("export_test::halves", mutates_args=())
def halves(x: Tensor, *, by: float = 2.0) -> tuple[Tensor, list[Tensor]]:
    a = x.numpy()
    return from_numpy(a / by), [from_numpy(a / 4), from_numpy(a / 8)]


@halves.register_fake
def _(x: Tensor, *, by: float = 2.0) -> tuple[Tensor, list[Tensor]]:
    return opweave.empty_like(x), [opweave.empty_like(x), opweave.empty_like(x)]


@custom_op("export_test::fill_ones", mutates_args=("x",))
def fill_ones(x: Tensor) -> None:
    x.numpy()[...] = 1


@triton.jit
def scaled_sum_kernel(x, y, out, n, scale, flag, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    total = tl.load(x + i, live, 0.0) * scale + tl.load(y + i, live, 0.0)
    if flag:
        total = total + 1.0
    tl.store(out + i, total, live)


@triton_op("export_test::scaled_sum", mutates_args=())
def scaled_sum(x: Tensor, y: Tensor, scale: float = 2.0, flag: bool = False) -> Tensor:
    out = opweave.empty_like(x)
    n = out.numel()
    wrap_triton(scaled_sum_kernel)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, y, out, n, scale, flag, BLOCK=16)
    return out.relu()


@triton.jit
def increment_kernel(x, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) + 1, i < n)


@triton_op("export_test::increment", mutates_args=("x",))
def increment(x: Tensor) -> None:
    wrap_triton(increment_kernel)[(1,)](x, x.numel(), BLOCK=64)


@triton.autotune([triton.Config({"BLOCK": 8}), triton.Config({"BLOCK": 32})], key=["n"])
@triton.heuristics({"EVEN": lambda arguments: arguments["n"] % 8 == 0})
@triton.jit
def negate_kernel(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, -tl.load(x + i, i < n), i < n)


@triton_op("export_test::negate", mutates_args=())
def negate(x: Tensor) -> Tensor:
    out = opweave.empty_like(x)
    n = x.numel()
    wrap_triton(negate_kernel)[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
    return out


@triton.jit
def flip_kernel(x, out, n, flip, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n) != flip, i < n)


@triton_op("export_test::flipped", mutates_args=())
def flipped(x: Tensor, flip: bool) -> Tensor:
    out = opweave.empty_like(x)
    wrap_triton(flip_kernel)[(1,)](x, out, x.numel(), flip, BLOCK=64)
    return out


class TestPrograms:
    def test_the_printed_program(self) -> None:
        w, count = tensor(3, 4), opweave.zeros(1)

        def f(x: Tensor, options: dict[str, Any], *, scale: float = 1.0) -> dict[str, Any]:
            count.add_(1)
            return {"sum": scaled_sum(x, w), "rest": [np_sin(options["a"]) * scale, 7]}

        program = export(f, (tensor(3, 4), {"a": tensor(2)}), {"scale": 3.0})
        text = "\n".join(line.split("  # ")[0].rstrip() for line in str(program).splitlines())
        assert_expected_inline(
            text,
            """\
def forward(self, b_count: "f32[1]", c_w: "f32[3, 4]", x: "f32[3, 4]", options_a: "f32[2]", scale: "float"):
    add_: "f32[1]" = ops.aten.add_.Tensor(b_count, 1)
    scaled_sum: "f32[3, 4]" = ops.export_test.scaled_sum.default(x, c_w)
    np_sin: "f32[2]" = ops.export_test.np_sin.default(options_a)
    mul: "f32[2]" = ops.aten.mul.Tensor(np_sin, 3.0)
    return (mul, 7, scaled_sum)

# inputs
#   b_count: BUFFER target='count'
#   c_w: CONSTANT_TENSOR target='w'
#   x: USER_INPUT
#   options_a: USER_INPUT
#   scale: USER_INPUT

# outputs
#   mul: USER_OUTPUT
#   output_1: USER_OUTPUT
#   scaled_sum: USER_OUTPUT

# written in place
#   b_count""",
        )

    def test_values_structure_and_state_are_those_of_the_function(self) -> None:
        w, count = tensor(3, 4, seed=1), opweave.zeros(1)

        def f(x: Tensor, pair: tuple[Tensor, None], *, scale: float) -> dict[str, Any]:
            count.add_(1)
            first, (second, third) = halves(pair[0])
            return {"z": [scaled_sum(x, w) * scale, None, 3], "a": (first, second + third + count)}

        x, pair = tensor(3, 4, seed=2), (tensor(5, seed=3), None)
        program = export(f, (x, pair), {"scale": 0.5})
        assert count.item() == 0, "exporting runs nothing"
        for each in (program, program.run_decompositions(), again(program), again(program.run_decompositions())):
            start = each.state_dict["count"].item()
            got = each.module()(x, pair, scale=0.5)
            assert each.state_dict["count"].item() == start + 1
            count.fill_(start)
            want = f(x, pair, scale=0.5)
            assert list(got) == list(want) and got["z"][1:] == [None, 3]
            assert same(got["z"][0], want["z"][0]) and same(got["a"][0], want["a"][0])
            assert same(got["a"][1], want["a"][1])

    def test_a_function_without_tensors_among_its_arguments(self) -> None:
        a, b = tensor(2, seed=1), tensor(2, seed=2)
        program = export(lambda: (a - b, b), ())
        got = again(program).module()()
        assert same(got[0], a - b) and same(got[1], b)
        assert program.graph_signature.lifted_tensor_constants == ("a", "b")

    def test_names_of_attributes(self) -> None:
        class Layer:
            def __init__(self) -> None:
                self.weight = tensor(4, 4).requires_grad_()
                self.parts = [tensor(4, seed=1)]

            def __call__(self, x: Tensor) -> Tensor:
                return x @ self.weight + self.parts[0]

        layer = Layer()
        program = export(layer, (tensor(2, 4),))
        assert program.graph_signature.parameters == ("weight",)
        assert list(program.constants) == ["parts.0"]
        assert program.graph_signature.inputs_to_parameters == {"p_weight": "weight"}
        loaded = again(program)
        assert loaded.state_dict["weight"].requires_grad
        assert same(loaded.module()(tensor(2, 4)).detach(), layer(tensor(2, 4)).detach())
        result = loaded.module()(tensor(2, 4)).sum()
        result.backward()
        want = layer(tensor(2, 4)).sum()
        want.backward()
        assert same(loaded.state_dict["weight"].grad, layer.weight.grad)

    def test_a_program_is_compiled(self, caplog: pytest.LogCaptureFixture) -> None:
        ops_seen: list[str] = []

        class Watch(opweave.TorchDispatchMode):
            def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
                ops_seen.append(str(func))
                return func(*args, **(kwargs or {}))

        module = again(export(lambda x: (x * 2 + 1).sum(0), (tensor(4, 8),))).module()
        x = tensor(4, 8)
        np.testing.assert_allclose(module(x).numpy(), (x * 2 + 1).sum(0).numpy(), rtol=1e-6)
        assert module._compiled is not None and module._compiles and not caplog.records
        with Watch():  # which is to see all ops
            module(x)
        assert ops_seen == ["aten.mul.Tensor", "aten.add.Tensor", "aten.sum.dim_IntList"]

    def test_gradients_reach_the_arguments(self) -> None:
        program = again(export(lambda x: (x * x).sum(), (tensor(3),)))
        x = tensor(3).requires_grad_()
        program.module()(x).backward()
        assert same(x.grad, (x * 2).detach())

    def test_a_written_input_is_written(self) -> None:
        def f(x: Tensor, y: Tensor) -> Tensor:
            x[1].mul_(2)
            fill_ones(y[0])
            increment(x)
            return x + y

        program = export(f, (tensor(2, 3), tensor(2, 3)))
        assert program.graph_signature.user_inputs_to_mutate == {"x": "x", "y": "y"}
        for each in (program, program.run_decompositions(), again(program), again(program.run_decompositions())):
            assert each.graph_signature.mutated == ("x", "y")
            given, expected = ([tensor(2, 3, seed=1), tensor(2, 3, seed=2)] for _ in range(2))
            given, expected = [t.clone() for t in given], [t.clone() for t in expected]
            assert same(each.module()(*given), f(*expected))
            assert same(given[0], expected[0]) and same(given[1], expected[1])

    def test_constants_that_share_memory_still_do(self) -> None:
        base = tensor(4, 4)
        column, tail = base[:, 1], base.view(-1)[5:]

        def f(x: Tensor) -> Tensor:
            column.add_(1)
            return x + tail

        program = again(export(f, (tensor(11),)))
        assert program.constants["tail"]._storage is program.state_dict["column"]._storage
        assert same(program.module()(tensor(11)), f(tensor(11)))

    @pytest.mark.parametrize("dtype", list(dtypes.DTYPES))
    def test_constants_of_every_dtype(self, dtype: str) -> None:
        kind = dtypes.DTYPES[dtype]
        values = from_numpy(np.array([0, 1, 3, 100, 1])).to(kind)
        empty = opweave.zeros(0, 3, dtype=kind)
        program = again(export(lambda: (values[1:].clone(), empty), ()))
        got = program.module()()
        assert got[0].dtype is kind and same(got[0].view(dtypes.uint8), values[1:].view(dtypes.uint8))
        assert got[1].shape == (0, 3) and got[1].dtype is kind

    def test_operands_of_every_kind(self) -> None:
        def f(x: Tensor) -> list[Any]:
            return [
                opweave.full((2,), float("-inf")), opweave.full((2,), float("nan")), x.to(dtypes.complex64) * (1 + 2j),
                x.to(dtypes.bfloat16), opweave.zeros(2, device="cpu"), x[1:3, None], x.sum((0,), keepdim=True),
                opweave.cat([x, x]), x * 2**40, opweave.clamp(x, min=-0.0),
            ]  # fmt: skip

        x = tensor(5)
        for got, want in zip(again(export(f, (x,))).module(compile=False)(x), f(x), strict=True):
            assert got.dtype is want.dtype
            np.testing.assert_array_equal(got.view(dtypes.uint8).numpy(), want.view(dtypes.uint8).numpy())

    def test_strided_inputs(self) -> None:
        x = tensor(4, 6).t()
        program = again(export(lambda x: x.reshape(-1) * 2, (x,)))
        assert same(program.module()(x), x.reshape(-1) * 2)


class TestTritonOps:
    def test_decomposition_gives_launches(self) -> None:
        program = export(lambda x: scaled_sum(x, x, 3.0), (tensor(40),)).run_decompositions()
        names = [node.name for node in program.graph]
        assert names == ["x", "empty_like", "triton_kernel_wrapper_mutation", "relu", "output"]
        launch = program.graph.named("triton_kernel_wrapper_mutation")
        assert launch is not None and launch.kwargs["grid"] == [(3, 1, 1)]

    def test_a_table_of_decompositions(self) -> None:
        def gelu(x: Tensor, *, approximate: str = "none") -> Tensor:
            return x * opweave.sigmoid(x * 1.702)

        program = export(lambda x: opweave.nn.functional.gelu(x) + 1, (tensor(4),))
        simpler = program.run_decompositions({aten.gelu.default: gelu})
        assert [node.name for node in simpler.graph] == ["x", "mul", "sigmoid", "mul_1", "add", "output"]
        assert same(again(simpler).module()(tensor(4)), gelu(tensor(4)) + 1)

    def test_results_in_lists_decompose(self) -> None:
        program = export(lambda x: halves(x)[1][1] + 1, (tensor(4),))
        simpler = program.run_decompositions({ops.export_test.halves.default: lambda x: (x / 2, [x / 4, x / 8])})
        assert same(simpler.module()(tensor(4)), tensor(4) / 8 + 1)

    def test_an_autotuned_kernel_keeps_one_configuration(self) -> None:
        x = tensor(37)
        loaded = again(export(lambda x: negate(x), (x,)).run_decompositions())
        (launch,) = loaded.graph.find_nodes(target=ops.triton_kernel_wrapper_mutation)
        assert launch.kwargs["grid"] == [(5, 1, 1)], "of the first one: nothing was tuned yet"
        assert same(loaded.module()(x), -x)

    def test_one_tensor_given_twice(self) -> None:
        x = tensor(20)
        loaded = again(export(lambda x: scaled_sum(x, x, flag=True), (x,)).run_decompositions())
        assert same(loaded.module()(x), scaled_sum(x, x, flag=True))

    def test_an_unaligned_argument(self) -> None:
        """The kernel was not told that addresses are multiples of 16."""
        memory = tensor(65)
        loaded = again(export(lambda x: scaled_sum(x, x), (memory[:64],)).run_decompositions())
        assert same(loaded.module()(memory[1:]), scaled_sum(memory[1:], memory[1:]))

    @pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64", "int8", "uint8", "int64"])
    def test_kernels_of_other_types(self, dtype: str) -> None:
        x = from_numpy(np.arange(30)).to(dtypes.DTYPES[dtype])
        loaded = again(export(lambda x: negate(x), (x,)).run_decompositions())
        assert same(loaded.module()(x).to(dtypes.float64), negate(x).to(dtypes.float64))

    def test_a_kernel_on_bools(self) -> None:
        x = from_numpy(np.random.default_rng(0).random(50) > 0.5)
        loaded = again(export(lambda x: flipped(x, True), (x,)).run_decompositions())
        assert same(loaded.module()(x), ~x) and same(flipped(x, True), ~x)

    def test_a_launch_with_another_number_is_refused(self) -> None:
        program = again(export(lambda x: scaled_sum(x, x, 3.0), (tensor(40),)).run_decompositions())
        (launch,) = program.graph.find_nodes(target=ops.triton_kernel_wrapper_mutation)
        launch.update_kwarg("kwargs", {**launch.kwargs["kwargs"], "BLOCK": 32})
        with pytest.raises(ArgumentError, match="exported with BLOCK=16"):
            program.module()(tensor(40))

    def test_a_number_that_is_no_constant_of_the_kernel_may_change(self) -> None:
        program = again(export(lambda x: scaled_sum(x, x, 3.0), (tensor(40),)).run_decompositions())
        (launch,) = program.graph.find_nodes(target=ops.triton_kernel_wrapper_mutation)
        launch.update_kwarg("kwargs", {**launch.kwargs["kwargs"], "scale": 5.0})
        assert same(again(program).module()(tensor(40)), scaled_sum(tensor(40), tensor(40), 5.0))


class TestChecks:
    @pytest.fixture
    def program(self) -> ExportedProgram:
        return export(lambda x, d, scale: (x * scale, d["k"][0]), (tensor(2, 3), {"k": [tensor(4)]}, 2.0))

    @pytest.mark.parametrize("is_loaded", [False, True])
    @pytest.mark.parametrize(
        ("change", "error", "match"),
        [
            (lambda x, k: (x, {"k": [k, k]}, 2.0), ArgumentError, "another structure"),
            (lambda x, k: (x, {"k": [k]}), ArgumentError, "another structure"),
            (lambda x, k: (x, {"k": [k]}, 3.0), ArgumentError, "scale=2.0"),
            (lambda x, k: (x, {"k": [k]}, 2), ArgumentError, "scale=2.0"),
            (lambda x, k: (1.0, {"k": [k]}, 2.0), ArgumentError, "x must be a tensor"),
            (lambda x, k: (x.double(), {"k": [k]}, 2.0), DTypeError, "x of float32, not float64"),
            (lambda x, k: (x, {"k": [opweave.empty(4, device="meta")]}, 2.0), DeviceError, r"d\['k'\]\[0\] on cpu"),
            (lambda x, k: (x, {"k": [k[:3]]}, 2.0), ShapeError, r"d\['k'\]\[0\] whose dim 0 is 4, not 3"),
            (lambda x, k: (x[0], {"k": [k]}, 2.0), ShapeError, "x with 2 dimensions, not 1"),
            (lambda x, k: (x.t().contiguous().t(), {"k": [k]}, 2.0), ShapeError, "stride in dim 0 is 3, not 1"),
        ],
    )
    def test_arguments(self, program: ExportedProgram, is_loaded: bool, change: Any, error: Any, match: str) -> None:
        module = (again(program) if is_loaded else program).module()
        with pytest.raises(error, match=match):
            module(*change(tensor(2, 3), tensor(4)))
        assert same(module(tensor(2, 3), {"k": [tensor(4)]}, 2.0)[1], tensor(4))

    def test_a_program_is_no_function(self, program: ExportedProgram) -> None:
        with pytest.raises(UnsupportedError, match="module"):
            program(tensor(2, 3))

    def test_an_input_that_the_signature_lacks(self, program: ExportedProgram) -> None:
        with program.graph.inserting_before(None):
            program.graph.placeholder("extra")
        with pytest.raises(GraphError, match="not those of its signature"):
            program.module()(tensor(2, 3), {"k": [tensor(4)]}, 2.0)
        with pytest.raises(GraphError, match="not those of its signature"):
            save(program, io.BytesIO())

    def test_an_edited_graph_runs_as_edited(self, program: ExportedProgram) -> None:
        (mul,) = program.graph.find_nodes(target=aten.mul.Tensor)
        mul.target = aten.add.Tensor
        for each in (program, again(program)):
            assert same(each.module()(tensor(2, 3), {"k": [tensor(4)]}, 2.0)[0], tensor(2, 3) + 2.0)

    def test_the_flat_module(self, program: ExportedProgram) -> None:
        flat = program.graph_module(tensor(2, 3), tensor(4), 2.0)
        assert same(flat[0], tensor(2, 3) * 2)

    def test_compiled(self) -> None:
        w = tensor(3, seed=1)
        program = again(export(lambda x: (scaled_sum(x, w) * 2).sin(), (tensor(3),)))
        compiled = opweave.compile(lambda x: program.module()(x))
        np.testing.assert_allclose(compiled(tensor(3)).numpy(), (scaled_sum(tensor(3), w) * 2).sin().numpy(), rtol=1e-6)

    def test_another_default_dtype(self) -> None:
        program = again(export(lambda x: x + opweave.ones(3), (tensor(3),)))
        before = opweave.get_default_dtype()
        opweave.set_default_dtype(opweave.float64)
        try:
            with pytest.raises(DTypeError, match="default dtype float32"):
                program.module()(tensor(3))
        finally:
            opweave.set_default_dtype(before)

    def test_a_triton_op_that_is_called_otherwise(self) -> None:
        program = export(lambda x: scaled_sum(x, x, 3.0), (tensor(40),))
        (node,) = program.graph.find_nodes(target=ops.export_test.scaled_sum.default)
        node.update_arg(2, 4.0)
        for each in (program, program.run_decompositions()):
            assert same(each.module()(tensor(40)), scaled_sum(tensor(40), tensor(40), 4.0))

    def test_copies(self, program: ExportedProgram) -> None:
        with pytest.raises(UnsupportedError, match="save"):
            copy.deepcopy(program)
        with pytest.raises(UnsupportedError, match="save"):
            pickle.dumps(program)


class TestRefusals:
    def test_values(self) -> None:
        with pytest.raises(DataDependentError):
            export(lambda x: x * 2 if x.sum() > 0 else x, (tensor(3),))

    def test_arguments(self) -> None:
        with pytest.raises(ArgumentError, match="tuple"):
            export(lambda x: x, tensor(3))  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="function"):
            export(3, ())  # type: ignore[arg-type]

    def test_backward(self) -> None:
        w = tensor(3).requires_grad_()

        def f(x: Tensor) -> Tensor:
            (x * w).sum().backward()
            return x

        with pytest.raises((UnsupportedError, DataDependentError), match="backward"):
            export(f, (tensor(3),))
        assert w.grad is None

    @pytest.mark.parametrize("spec", [None, {"x": None}, {"x": {0: 3}}, ((Dim.STATIC, None),), [[3, 4]], {}])
    def test_static_sizes(self, spec: Any) -> None:
        program = export(lambda x: x, (tensor(3, 4),), dynamic_shapes=spec)
        assert program.range_constraints == {}

    @pytest.mark.parametrize(
        ("spec", "error"),
        [({"y": None}, ArgumentError), ((None, None), ArgumentError), ({"x": {0: 4}}, ShapeError),
         ({"x": {2: 3}}, ArgumentError), ({"x": (3,)}, ArgumentError), ({"x": {0: "3"}}, ArgumentError),
         (3, ArgumentError)],
    )  # fmt: skip
    def test_wrong_descriptions_of_sizes(self, spec: Any, error: Any) -> None:
        with pytest.raises(error):
            export(lambda x: x, (tensor(3, 4),), dynamic_shapes=spec)

    def test_dims(self) -> None:
        assert repr(Dim("b", min=1)) == "Dim('b', min=1)"
        with pytest.raises(ArgumentError):
            Dim("no name")
        with pytest.raises(ArgumentError):
            Dim("b", min=3, max=2)

    def test_what_a_file_cannot_hold(self) -> None:
        pair = namedtuple("pair", "a b")
        with pytest.raises(UnsupportedError, match="pair"):
            save(export(lambda p: p.a, (pair(tensor(2), tensor(2)),)), io.BytesIO())
        with pytest.raises(UnsupportedError, match="object"):
            save(export(lambda x, o: x, (tensor(2), object())), io.BytesIO())
        with pytest.raises(ArgumentError, match="ExportedProgram"):
            save(3, io.BytesIO())  # type: ignore[arg-type]
        with pytest.raises(ArgumentError, match="path"):
            save(export(lambda x: x, (tensor(2),)), 3)

    def test_a_python_function(self) -> None:
        program = export(lambda x: x + 1, (tensor(2),))
        (add,) = program.graph.find_nodes(target=aten.add.Tensor)
        add.target = np.add
        with pytest.raises(UnsupportedError, match="cannot name"):
            save(program, io.BytesIO())


def test_input_kinds_follow_from_use() -> None:
    a, b, c = tensor(2), tensor(2).requires_grad_(), opweave.zeros(2)

    def f(x: Tensor) -> Tensor:
        c.copy_(x)
        return x + a + b

    specs = export(f, (tensor(2),)).graph_signature.input_specs
    kinds = {spec.target: spec.kind for spec in specs}
    assert kinds == {
        "a": InputKind.CONSTANT_TENSOR, "b": InputKind.PARAMETER, "c": InputKind.BUFFER, None: InputKind.USER_INPUT,
    }  # fmt: skip


class Accumulating(opweave.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", opweave.zeros(3))
        self.calls, self.seen, self.last = 0, [], opweave.zeros(3)

    def forward(self, x: Any) -> Any:
        self.calls += 1
        self.seen.append(x)
        self.total = self.total + x
        return self.total * 1


def test_assigned_buffers_are_written_and_the_module_stays_as_it_is() -> None:
    module = Accumulating()
    before = module.total
    file = io.BytesIO()
    save(export(module, (opweave.ones(3),)), file)
    file.seek(0)
    program = load(file).module()
    assert [program(opweave.ones(3)).tolist() for _ in range(3)] == [[1] * 3, [2] * 3, [3] * 3]
    assert module.total is before and before.tolist() == [0] * 3 and module.calls == 0 and module.seen == []


def test_what_a_buffer_cannot_hold_is_refused() -> None:
    class Grows(Accumulating):
        def forward(self, x: Any) -> Any:
            self.total = opweave.cat([self.total, x])
            return x

    module = Grows()
    with pytest.raises(UnsupportedError, match="buffer 'total' of a Grows"):
        export(module, (opweave.ones(3),))
    assert module.total.tolist() == [0] * 3


def test_other_assigned_tensors_are_told_of() -> None:
    class Keeps(Accumulating):
        def forward(self, x: Any) -> Any:
            self.last = x * 2
            return self.last

    module = Keeps()
    with pytest.warns(UserWarning, match="the tensor 'last' of a Keeps is assigned"):
        program = export(module, (opweave.ones(3),))
    assert program.module()(opweave.ones(3)).tolist() == [2] * 3 and module.last.tolist() == [0] * 3

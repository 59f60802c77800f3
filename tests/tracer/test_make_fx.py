"""`make_fx`: what is recorded, and what is refused."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import pytest
from expecttest import assert_expected_inline

import opweave.registry.ops.surface  # noqa: F401
from opweave.fake.mode import FakeTensorMode
from opweave.fake.tensor import FakeTensor
from opweave.registry import dtypes
from opweave.registry.autograd import engine
from opweave.registry.autograd.mode import no_grad
from opweave.registry.custom_op import custom_op
from opweave.registry.errors import ArgumentError, DataDependentError, FakeTensorError, TraceError
from opweave.registry.keys import DispatchMode
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy
from opweave.registry.triton_op import triton_op, wrap_triton
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.make_fx import inline, make_fx, trace_flat
from opweave.tracer.parsing import parse

aten = ops.aten
MODES = ["real", "fake"]
HERE = Path(__file__).name


def tensor(*sizes: int, seed: int = 0) -> Tensor:
    return from_numpy(np.random.default_rng(seed).standard_normal(sizes, dtype=np.float32))


def same(a: Any, b: Any) -> bool:
    return np.array_equal(a.numpy(), b.numpy())


@custom_op("make_fx::np_sin", mutates_args=())
def np_sin(x: Tensor) -> Tensor:
    return from_numpy(np.sin(x.numpy()))


@np_sin.register_fake
def _(x: Tensor) -> Tensor:
    return aten.clone.default(x)


@custom_op("make_fx::halves", mutates_args=())
def halves(x: Tensor) -> tuple[Tensor, list[Tensor]]:
    a = x.numpy()
    return from_numpy(a / 2), [from_numpy(a / 4), from_numpy(a / 8)]


@halves.register_fake
def _(x: Tensor) -> tuple[Tensor, list[Tensor]]:
    return aten.clone.default(x), [aten.clone.default(x), aten.clone.default(x)]


@custom_op("make_fx::fill_ones", mutates_args=("x",))
def fill_ones(x: Tensor) -> None:
    x.numpy()[...] = 1


@custom_op("make_fx::no_fake", mutates_args=())
def no_fake(x: Tensor) -> Tensor:
    return from_numpy(x.numpy()[:2].copy())


def softened(x: Tensor, w: Tensor) -> Tensor:
    y = aten.add.Tensor(aten.mul.Tensor(x, w), 1)
    return aten.softmax.int(np_sin(y), -1)


def text_without_lines(module: GraphModule) -> str:
    """The code with this file's line numbers left out, so that edits above do not show in expected text."""
    lines = [line.partition(f"  # {HERE}")[0].rstrip() for line in module.code.splitlines()]
    return "\n".join(lines)


@pytest.mark.parametrize("mode", MODES)
def test_records_ops_and_gives_the_same_result(mode: str) -> None:
    x, w = tensor(4, 8), tensor(8)
    module = make_fx(softened, tracing_mode=mode)(x, w)
    assert isinstance(module.graph, nx.MultiDiGraph)
    assert_expected_inline(
        text_without_lines(module),
        """\
def forward(self, x_1: "f32[4, 8]", w_1: "f32[8]"):
    mul: "f32[4, 8]" = ops.aten.mul.Tensor(x_1, w_1)
    add: "f32[4, 8]" = ops.aten.add.Tensor(mul, 1)
    np_sin: "f32[4, 8]" = ops.make_fx.np_sin.default(add)
    _softmax: "f32[4, 8]" = ops.aten._softmax.default(np_sin, -1, False)
    return (_softmax,)""",
    )
    assert same(module(x, w), softened(x, w))
    other = tensor(4, 8, seed=1)
    assert same(module(other, w), softened(other, w))
    assert str(parse(module.code)) == module.code
    module.graph.lint()


@pytest.mark.parametrize("mode", MODES)
def test_nodes_know_value_place_and_stack(mode: str) -> None:
    module = make_fx(lambda x, w: softened(x, w), tracing_mode=mode)(tensor(4, 8), tensor(8))
    (node,) = module.graph.find_nodes(target=aten.mul.Tensor)
    assert isinstance(node.meta["val"], FakeTensor) and node.meta["val"].shape == (4, 8)
    site = node.meta["site"]
    first = softened.__code__.co_firstlineno
    assert (Path(site.file).name, site.line, site.function) == (HERE, first + 1, "softened")
    stack = list(node.meta["stack"])
    assert [frame.function for frame in stack] == ["softened", "<lambda>"] and len(node.meta["stack"]) == 2
    assert stack[0] == site and f"line {first + 1}, in softened" in str(node.meta["stack"])
    (soft,) = module.graph.find_nodes(target=aten._softmax.default)
    assert soft.meta["site"].line == first + 2


@pytest.mark.parametrize("mode", MODES)
def test_pytrees(mode: str) -> None:
    class Pair(NamedTuple):
        a: Tensor
        b: Any

    def f(pair: Pair, /, *rest: Tensor, options: dict[str, Any], scale: float = 2.0) -> Any:
        total = aten.mul.Tensor(pair.a, scale)
        for t in rest:
            total = aten.add.Tensor(total, t)
        return {"total": total, "same": [pair.b, None, 3], "pair": Pair(options["z"], (options["a"],))}

    x = [tensor(3, seed=i) for i in range(6)]
    args = (Pair(x[0], x[1]), x[2], x[3])
    module = make_fx(f, tracing_mode=mode)(*args, options={"z": x[4], "a": x[5]}, scale=0.5)
    names = [node.name for node in module.graph.placeholders()]
    assert names == ["pair_1", "pair_2", "rest_1", "rest_2", "options_1", "options_2", "scale_1"]
    result = module(*args, options={"a": x[5], "z": x[4]}, scale=0.5)
    expected = f(*args, options={"z": x[4], "a": x[5]}, scale=0.5)
    assert same(result["total"], expected["total"]) and result["same"][1:] == [None, 3]
    assert type(result["pair"]) is Pair and result["pair"].a is x[4] and result["same"][0] is x[1]
    with pytest.raises(ArgumentError, match="another structure than it was traced with"):
        module(*args, options={"a": x[5]}, scale=0.5)
    with pytest.raises(ArgumentError, match=r"traced with scale_1=0\.5, which is part of the graph now\n  got:  0.25"):
        module(*args, options={"z": x[4], "a": x[5]}, scale=0.25)


@pytest.mark.parametrize("mode", MODES)
def test_tensors_brought_along_are_constants(mode: str) -> None:
    w, unused = tensor(4), tensor(4, seed=1)

    def f(x: Tensor) -> Any:
        y = aten.mul.Tensor(x, w)
        return aten.add.Tensor(y, w), unused

    x = tensor(3, 4)
    module = make_fx(f, tracing_mode=mode)(x)
    assert_expected_inline(
        text_without_lines(module),
        """\
def forward(self, x_1: "f32[3, 4]"):
    _tensor_constant0: "f32[4]" = self._tensor_constant0
    mul: "f32[3, 4]" = ops.aten.mul.Tensor(x_1, _tensor_constant0)
    add: "f32[3, 4]" = ops.aten.add.Tensor(mul, _tensor_constant0)
    _tensor_constant1: "f32[4]" = self._tensor_constant1
    return (add, _tensor_constant1)""",
    )
    assert module._tensor_constant0 is w and list(module.constants) == ["_tensor_constant0", "_tensor_constant1"]
    assert same(module(x)[0], f(x)[0]) and module(x)[1] is unused
    with pytest.raises(AttributeError, match="no attribute or constant '_tensor_constant2'"):
        _ = module._tensor_constant2


@pytest.mark.parametrize("mode", MODES)
def test_in_place_ops(mode: str) -> None:
    def f(x: Tensor) -> Any:
        y = aten.clone.default(x)
        row = aten.select.int(y, 0, 0)
        aten.add_.Tensor(y, 1)
        aten.mul_.Tensor(row, 3)
        fill_ones(aten.select.int(y, 0, 1))
        return aten.neg.default(y)

    x = tensor(3, 4)
    expected = f(x)
    module = make_fx(f, tracing_mode=mode)(x)
    assert_expected_inline(
        text_without_lines(module),
        """\
def forward(self, x_1: "f32[3, 4]"):
    clone: "f32[3, 4]" = ops.aten.clone.default(x_1)
    select: "f32[4]" = ops.aten.select.int(clone, 0, 0)
    add_: "f32[3, 4]" = ops.aten.add_.Tensor(clone, 1)
    mul_: "f32[4]" = ops.aten.mul_.Tensor(select, 3)
    select_1: "f32[4]" = ops.aten.select.int(add_, 0, 1)
    fill_ones = ops.make_fx.fill_ones.default(select_1)
    neg: "f32[3, 4]" = ops.aten.neg.default(add_)
    return (neg,)""",
    )
    assert same(module(x), expected)


@pytest.mark.parametrize("mode", MODES)
def test_several_results(mode: str) -> None:
    def f(x: Tensor) -> Any:
        a, (b, _) = halves(x)
        values, _ = aten.max.dim(x, 1)
        return aten.add.Tensor(a, b), values, aten.cat.default([a, x])

    x = tensor(3, 4)
    module = make_fx(f, tracing_mode=mode)(x)
    assert_expected_inline(
        text_without_lines(module),
        """\
def forward(self, x_1: "f32[3, 4]"):
    halves: "(f32[3, 4], (f32[3, 4], f32[3, 4]))" = ops.make_fx.halves.default(x_1)
    getitem: "f32[3, 4]" = operator.getitem(halves, 0)
    getitem_1: "(f32[3, 4], f32[3, 4])" = operator.getitem(halves, 1)
    getitem_2: "f32[3, 4]" = operator.getitem(getitem_1, 0)
    max_1: "(f32[3], i64[3])" = ops.aten.max.dim(x_1, 1)
    getitem_4: "f32[3]" = operator.getitem(max_1, 0)
    add: "f32[3, 4]" = ops.aten.add.Tensor(getitem, getitem_2)
    cat: "f32[6, 4]" = ops.aten.cat.default([getitem, x_1])
    return (add, getitem_4, cat)""",
    )
    for got, expected in zip(module(x), f(x), strict=True):
        assert same(got, expected)


@pytest.mark.parametrize("mode", MODES)
def test_one_tensor_given_twice_stays_two_inputs(mode: str) -> None:
    def f(x: Tensor, y: Tensor) -> Tensor:
        return aten.sub.Tensor(x, y)

    x = tensor(3)
    module = make_fx(f, tracing_mode=mode)(x, x)
    assert same(module(x, tensor(3, seed=1)), f(x, tensor(3, seed=1)))


@pytest.mark.parametrize("mode", MODES)
def test_python_values_among_arguments(mode: str) -> None:
    def f(x: Tensor, n: int, flag: bool, dtype: Any) -> Tensor:
        for _ in range(n):
            x = aten.neg.default(x) if flag else x
        return aten.add.Tensor(x, float("inf"))

    x = tensor(3)
    module = make_fx(f, tracing_mode=mode)(x, 2, True, dtypes.float32)
    assert len(module.graph.find_nodes(target=aten.neg.default)) == 2
    assert same(module(x, 2, True, dtypes.float32), f(x, 2, True, None))
    with pytest.raises(ArgumentError, match="traced with flag_1=True"):
        module(x, 2, 1, dtypes.float32)


def test_input_names() -> None:
    def names(fn: Any, *args: Any) -> list[str]:
        return [node.name for node in make_fx(fn, tracing_mode="fake")(*args).graph.placeholders()]

    x = tensor(3)
    assert names(aten.add.Tensor, x, x) == ["self_1", "other_1"]
    assert names(np_sin, x) == ["x_1"]
    assert names(lambda *xs: xs, x, [x, x]) == ["xs_1", "xs_2", "xs_3"]
    assert names(lambda a, *, lam=None: a, {"k": x, "j": (x,)}) == ["a_1", "a_2"]
    assert names(make_fx(np_sin)(x), x) == ["args_1"]


class TestTriton:
    @pytest.fixture
    def add_one(self) -> Any:
        triton: Any = pytest.importorskip("triton")
        tl: Any = triton.language

        @triton.jit
        def kernel(x_ptr, out_ptr, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(out_ptr + i, tl.load(x_ptr + i, i < n) + 1, i < n)

        @triton_op("make_fx::add_one", mutates_args=())
        def add_one(x: Tensor) -> Tensor:
            out = aten.clone.default(x)
            wrap_triton(kernel)[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](x, out, x.numel(), BLOCK=16)
            return out

        return add_one

    def test_triton_op_is_traced_through(self, add_one: Any) -> None:
        module = make_fx(lambda x: aten.neg.default(add_one(x)), tracing_mode="fake")(tensor(40))
        (launch,) = module.graph.find_nodes(target=ops.triton_kernel_wrapper_mutation)
        (x,), (clone,) = module.graph.placeholders(), module.graph.find_nodes(target=aten.clone.default)
        assert launch.kwargs["grid"] == [(3, 1, 1)]
        assert launch.kwargs["kwargs"] == {"x_ptr": x, "out_ptr": clone, "n": 40, "BLOCK": 16}
        assert set(clone.users[launch]) == {("kwargs", "out_ptr")}
        assert [node.name for node in module.graph.nodes] == [
            "x_1", "clone", "triton_kernel_wrapper_mutation", "neg", "output",
        ]  # fmt: skip
        assert module.graph.find_nodes(target=ops.make_fx.add_one.default) == []
        assert clone.meta["val"]._version == 1 and launch.meta["val"] is None
        assert launch.meta["site"].function == "add_one"

    def test_dtype_that_triton_lacks(self, add_one: Any) -> None:
        x = from_numpy(np.ones(4, np.complex64))
        with pytest.raises(TypeError, match=r"Triton has no element type complex64\n.*\n.*\n  hint: pass the real"):
            make_fx(add_one, tracing_mode="fake")(x)


class TestRefusals:
    @pytest.mark.parametrize("mode", MODES)
    @pytest.mark.parametrize(
        ("look", "what", "hint"),
        [
            (lambda x: 1 if x else 2, "bool", "opweave.where"),
            (lambda x: int(x), "int", "0-d tensor"),
            (lambda x: np.asarray(x), "conversion to a NumPy array", "custom_op"),
            (lambda x: x.numpy(), "numpy", "custom_op"),
            (lambda x: x.data_ptr(), "data_ptr", "wrap_triton"),
            (lambda x: range(x), "use as an index or a size", "0-d tensor"),
            (lambda x: complex(x), "complex", "0-d tensor"),
            (lambda x: float(x), "float", "0-d tensor"),
            (lambda x: x.__dlpack__(), "__dlpack__", "custom_op"),
        ],
    )
    def test_looking_at_values(self, mode: str, look: Any, what: str, hint: str) -> None:
        with pytest.raises(DataDependentError) as caught:
            make_fx(lambda x: look(aten.mul.Tensor(x, 2)), tracing_mode=mode)(from_numpy(np.ones((), np.float32)))
        text = str(caught.value)
        assert text.startswith(
            f"{what}: this tensor's values are not known while tracing\n  got:  f32[]\n  at:   {HERE}:"
        )
        assert hint in text and getattr(caught.value.at, "line", 0) == look.__code__.co_firstlineno

    def test_values_of_constants_may_be_looked_at_in_real_mode(self) -> None:
        factor = from_numpy(np.full((), 3, np.float32))
        module = make_fx(lambda x: aten.mul.Tensor(x, factor.item()))(tensor(3))
        assert module.graph.find_nodes(op="call_function")[0].args[1] == 3.0

    @pytest.mark.parametrize("mode", MODES)
    def test_fake_tensor_from_elsewhere(self, mode: str) -> None:
        stray = FakeTensorMode().from_tensor(tensor(3))
        with pytest.raises(TraceError, match=r"a fake tensor that is not part of this trace\n  got:  f32.3."):
            make_fx(lambda x: aten.add.Tensor(x, stray), tracing_mode=mode)(tensor(3))
        kept: list[Tensor] = []
        make_fx(lambda x: kept.append(aten.neg.default(x)), tracing_mode=mode)(tensor(3))
        with pytest.raises(TraceError, match="not part of this trace"):
            make_fx(lambda x: aten.add.Tensor(x, kept[0]), tracing_mode=mode)(tensor(3))

    def test_op_without_fake_rule(self) -> None:
        x = tensor(3)
        assert make_fx(no_fake)(x).graph.find_nodes(target=ops.make_fx.no_fake.default)[0].meta["val"].shape == (2,)
        with pytest.raises(FakeTensorError) as caught:
            make_fx(no_fake, tracing_mode="fake")(x)
        assert "@opweave.library.register_fake('make_fx::no_fake')\n      def _(x):" in str(caught.value)

    @pytest.mark.parametrize("mode", MODES)
    def test_returning_what_a_graph_cannot_hold(self, mode: str) -> None:
        with pytest.raises(TraceError, match="the traced function returns a value that a graph cannot hold: object"):
            make_fx(lambda x: object(), tracing_mode=mode)(tensor(3))

    def test_modes(self) -> None:
        with pytest.raises(ArgumentError, match="unknown tracing_mode"):
            make_fx(softened, tracing_mode="fast")

    def test_op_that_returns_a_number(self) -> None:
        @custom_op("make_fx::count", mutates_args=())
        def count(x: Tensor) -> int:
            return int((x.numpy() > 0).sum())

        with pytest.raises(DataDependentError, match="returns a Python number, which the graph would silently keep"):
            make_fx(lambda x: aten.add.Tensor(x, count(x)))(tensor(3))

    @pytest.mark.parametrize("mode", MODES)
    def test_an_error_leaves_no_mode_behind(self, mode: str) -> None:
        from opweave.registry.keys import state

        with pytest.raises(ZeroDivisionError):
            make_fx(lambda x: 1 // 0, tracing_mode=mode)(tensor(3))
        assert state.modes == [] and same(aten.neg.default(tensor(3)), aten.neg.default(tensor(3)))


def test_real_mode_has_the_effects_of_running() -> None:
    x = from_numpy(np.zeros(3, np.float32))
    make_fx(lambda x: aten.add_.Tensor(x, 1), tracing_mode="fake")(x)
    assert x.tolist() == [0, 0, 0]
    make_fx(lambda x: aten.add_.Tensor(x, 1), tracing_mode="real")(x)
    assert x.tolist() == [1, 1, 1]


def test_fake_inputs_bring_their_mode() -> None:
    mode = FakeTensorMode()
    x = mode.from_tensor(tensor(4, 8))
    module = make_fx(softened)(x, mode.from_tensor(tensor(8)))
    assert module.graph.outputs[0].meta["val"].fake_mode is mode
    with mode:
        again = make_fx(softened)(x, mode.from_tensor(tensor(8)))
    assert text_without_lines(module) == text_without_lines(again)
    assert same(module(tensor(4, 8), tensor(8)), softened(tensor(4, 8), tensor(8)))


def test_traced_module_can_be_traced_again() -> None:
    x, w = tensor(4, 8), tensor(8)
    module = make_fx(softened, tracing_mode="fake")(x, w)
    again = make_fx(module, tracing_mode="fake")(x, w)
    assert [n.target for n in again.graph.find_nodes(op="call_function")] == [
        n.target for n in module.graph.find_nodes(op="call_function")
    ]


def test_outer_modes_are_left_alone() -> None:
    class Log(DispatchMode):
        def __init__(self) -> None:
            self.seen: list[str] = []

        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            self.seen.append(str(func))
            return func(*args, **(kwargs or {}))

    with Log() as log:
        module = make_fx(softened, tracing_mode="fake")(tensor(4, 8), tensor(8))
        assert log.seen == []
        aten.neg.default(tensor(2))
    assert log.seen == ["aten.neg.default"] and len(module.graph.find_nodes(op="call_function")) == 4


def test_threads_trace_independently() -> None:
    results: dict[int, str] = {}

    def work(number: int) -> None:
        def f(x: Tensor) -> Tensor:
            for i in range(200):
                x = aten.add.Tensor(x, number) if i % 2 else aten.mul.Tensor(x, number)
            return x

        results[number] = make_fx(f, tracing_mode="fake" if number % 2 else "real")(tensor(3)).code

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [results[n].count(f", {n})") for n in range(4)] == [200] * 4


def test_trace_flat_and_inline() -> None:
    mode = FakeTensorMode()
    x = mode.from_tensor(tensor(3))
    module = make_fx(lambda x: aten.neg.default(aten.silu.default(x)), tracing_mode="fake", fake_mode=mode)(tensor(3))
    (silu,) = module.graph.find_nodes(target=aten.silu.default)
    body, constants = trace_flat(
        lambda x: [aten.mul.Tensor(x, aten.sigmoid.default(x))], [x], mode, site=silu.meta["site"]
    )
    assert constants == {}
    with module.graph.inserting_before(silu):
        (result,) = inline(module.graph, body, [silu.args[0]])
    silu.replace_all_uses_with(result)
    module.graph.erase_node(silu)
    assert_expected_inline(
        text_without_lines(module),
        """\
def forward(self, x_1: "f32[3]"):
    sigmoid: "f32[3]" = ops.aten.sigmoid.default(x_1)
    mul: "f32[3]" = ops.aten.mul.Tensor(x_1, sigmoid)
    neg: "f32[3]" = ops.aten.neg.default(mul)
    return (neg,)""",
    )
    assert result.meta["site"] is silu.meta["site"]
    t = tensor(3)
    assert np.allclose(module(t).numpy(), aten.neg.default(aten.silu.default(t)).numpy())


def test_long_traces_are_linear() -> None:
    import time

    def seconds(n: int) -> float:
        def f(x: Tensor) -> Tensor:
            for _ in range(n):
                x = aten.add.Tensor(x, 1)
            return x

        start = time.perf_counter()
        make_fx(f, tracing_mode="fake")(tensor(3))
        return time.perf_counter() - start

    seconds(100)
    assert min(seconds(2000) for _ in range(3)) < 30 * min(seconds(200) for _ in range(3))


class TestGradients:
    """The ops of a backward pass are recorded like any other."""

    @pytest.mark.parametrize("mode", MODES)
    def test_of_an_input(self, mode):
        x = tensor(3).requires_grad_()
        graph = make_fx(lambda x: engine.grad(x.sin().sum(), x)[0], tracing_mode=mode)(x)
        assert {node.target for node in graph.graph.find_nodes(op="call_function")} >= {aten.sin.default}
        np.testing.assert_allclose(graph(x).detach().numpy(), np.cos(x.detach().numpy()), rtol=1e-6)
        other = tensor(3, seed=1)
        np.testing.assert_allclose(graph(other).numpy(), np.cos(other.numpy()), rtol=1e-6)
        assert x.grad is None

    @pytest.mark.parametrize("mode", MODES)
    def test_of_a_tensor_made_inside(self, mode):
        def f(x):
            y = x.detach().requires_grad_()
            return engine.grad((y.sin() * y).sum(), y)[0]

        x = tensor(3)
        np.testing.assert_allclose(make_fx(f, tracing_mode=mode)(x)(x).numpy(), f(x).numpy(), rtol=1e-6)

    @pytest.mark.parametrize("mode", MODES)
    def test_of_an_outside_tensor(self, mode):
        w = tensor(3).requires_grad_()
        x = tensor(3, seed=1)
        graph = make_fx(lambda x: engine.grad((x * w).sum(), w)[0], tracing_mode=mode)(x)
        other = tensor(3, seed=2)
        assert graph(other).tolist() == other.tolist() and w.grad is None

    def test_inputs_require_grad_as_given(self):
        seen = []
        make_fx(lambda x, y: seen.append((x.requires_grad, y.requires_grad)) or x, tracing_mode="fake")(
            tensor(3).requires_grad_(), tensor(3)
        )
        assert seen == [(True, False)]

    def test_an_input_requires_no_grad_inside_no_grad(self):
        def f(x):
            with no_grad():
                return x.sin()

        x = tensor(3).requires_grad_()
        assert make_fx(f, tracing_mode="fake")(x)(x).requires_grad  # the graph is run where calls are recorded

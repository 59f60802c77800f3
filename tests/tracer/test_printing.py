"""Graphs as text, and text as graphs."""

from __future__ import annotations

import math
import operator
from typing import Any

import networkx as nx
import pytest
from expecttest import assert_expected_inline
from hypothesis import HealthCheck, given, settings, strategies as st

from opweave.fake.mode import FakeTensorMode
from opweave.registry import dtypes
from opweave.registry.device import Device, cpu
from opweave.registry.errors import GraphError, Site
from opweave.registry.op import registry
from opweave.registry.spec import contiguous
from opweave.registry.triton_op import triton_kernel_wrapper_functional
from opweave.tracer import printing
from opweave.tracer.graph import Graph, Node
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.parsing import parse

scale = registry.define("printing::scale.Tensor(Tensor self, Scalar by, *, ScalarType? dtype=None) -> Tensor")


def helper(x: Any) -> Any:
    return -x


def example() -> Graph:
    mode = FakeTensorMode()
    f32, i64 = (mode.make(contiguous((4, 8), dtype, cpu)) for dtype in (dtypes.float32, dtypes.int64))
    graph = Graph()
    x = graph.placeholder("x_1")
    x.meta["val"] = f32
    n = graph.placeholder("n_1")
    n.meta["val"] = 3
    w = graph.get_attr("_tensor_constant0")
    w.meta["val"] = i64
    half = graph.call_function(scale, (x, 0.5), {"dtype": dtypes.float16})
    half.meta.update(val=f32, site=Site("/home/user/model.py", 12, "forward"))
    odd = graph.call_function(operator.concat, ([half, w, -math.inf], {"a": (math.nan, 1 - 2j)}))
    mixed = graph.call_function(operator.concat, (slice(None, x, 2), Device("cuda", 0), (1,), ...))
    odd.meta.update(val=(f32, 3))
    region = Graph(name="fused")
    a = region.placeholder("a")
    region.output((region.call_function(helper, (a,)),))
    call = graph.call_function(region, (half,))
    out = graph.call_function(operator.getitem, (call, 0))
    launch = graph.call_function(triton_kernel_wrapper_functional, (), {"kernel_idx": 0, "kwargs": {"x": out}})
    graph.output((out, odd, mixed, launch, None))
    graph.lint()
    return graph


def test_printed_graph() -> None:
    assert_expected_inline(
        str(example()),
        """\
def forward(self, x_1: "f32[4, 8]", n_1: "int"):
    def fused(a):
        helper = functions.helper(a)
        return (helper,)

    _tensor_constant0: "i64[4, 8]" = self._tensor_constant0
    scale: "f32[4, 8]" = ops.printing.scale.Tensor(x_1, 0.5, dtype=opweave.float16)  # model.py:12
    concat: "(f32[4, 8], int)" = operator.concat([scale, _tensor_constant0, -inf], {'a': (nan, complex(1.0, -2.0))})
    concat_1 = operator.concat(slice(None, x_1, 2), opweave.device("cuda:0"), (1,), ...)
    fused_out = fused(scale)
    getitem = operator.getitem(fused_out, 0)
    triton_kernel_wrapper_functional = ops.triton_kernel_wrapper_functional(kernel_idx=0, kwargs={'x': getitem})
    return (getitem, concat, concat_1, triton_kernel_wrapper_functional, None)""",
    )


def test_parse_gives_the_same_text_and_structure() -> None:
    graph = example()
    back = parse(str(graph), {"helper": helper})
    back.lint()
    assert str(back) == str(graph)
    assert [(a.name, a.op) for a in back.nodes] == [(a.name, a.op) for a in graph.nodes]
    assert [a.target for a in back.nodes if not printing.is_graph(a.target)] == [
        a.target for a in graph.nodes if not printing.is_graph(a.target)
    ]
    assert nx.is_isomorphic(graph, back)
    assert str(back.find_nodes(target=scale)[0].meta["site"]) == "model.py:12 in "


def test_long_header_is_broken() -> None:
    graph = Graph()
    for i in range(12):
        graph.placeholder(f"argument_number_{i}")
    graph.output(())
    assert str(graph).splitlines()[:3] == ["def forward(", "    self,", "    argument_number_0,"]
    assert str(parse(str(graph))) == str(graph)


def test_same_region_called_twice_is_printed_once() -> None:
    graph, region = Graph(), Graph(name="f")
    region.output((region.placeholder("a"),))
    x = graph.placeholder("f")
    first = graph.call_function(region, (x,))
    other = Graph(name="f")
    other.output((other.placeholder("b"),))
    graph.output((first, graph.call_function(region, (x,)), graph.call_function(other, (x,))))
    assert_expected_inline(
        str(graph),
        """\
def forward(self, f):
    def f_1(a):
        return (a,)

    def f_2(b):
        return (b,)

    f_out = f_1(f)
    f_out_1 = f_1(f)
    f_out_2 = f_2(f)
    return (f_out, f_out_1, f_out_2)""",
    )
    back = parse(str(graph))
    assert str(back) == str(graph)
    assert len({id(node.target) for node in back.find_nodes(op="call_function")}) == 2
    assert GraphModule({}, graph).forward(5) == ((5,), (5,), (5,))


def test_format_node_is_the_printed_line() -> None:
    graph = example()
    node = graph.find_nodes(target=scale)[0]
    assert node.format_node() == (
        'scale: "f32[4, 8]" = ops.printing.scale.Tensor(x_1, 0.5, dtype=opweave.float16)  # model.py:12'
    )
    assert graph.placeholders()[1].format_node() == 'n_1: "int"'


def test_unfinished_graphs_print() -> None:
    graph = Graph()
    assert str(graph) == "def forward(self):\n    pass"
    assert str(parse(str(graph))) == str(graph)


# ---- random graphs ---------------------------------------------------------------------------------------------------

constants = st.one_of(
    st.integers(-5, 5),
    st.booleans(),
    st.none(),
    st.floats(),
    st.text(max_size=4),
    st.binary(max_size=3),
    st.complex_numbers(),
    st.sampled_from(list(dtypes.DTYPES.values())),
    st.sampled_from([Device("cpu"), Device("cuda", 1), Ellipsis]),
)
TARGETS = (operator.add, operator.getitem, math.sqrt, scale, triton_kernel_wrapper_functional, helper)


def nests(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.text(max_size=2) | st.integers(0, 3)
    return st.one_of(
        st.lists(inner, max_size=3),
        st.tuples(inner),
        st.tuples(inner, inner),
        st.dictionaries(keys, inner, max_size=2),
        st.builds(slice, inner, inner, inner),
    )


@st.composite
def graphs(draw: st.DrawFn, depth: int = 1) -> Graph:
    graph = Graph(name=draw(st.sampled_from(["fused", "region", "add"])))
    inputs = draw(st.lists(st.sampled_from(["x", "y_1", "sum"]), max_size=3))
    nodes: list[Node] = [graph.placeholder(name) for name in inputs]
    leaves = constants | st.deferred(lambda: st.sampled_from(nodes)) if nodes else constants
    operands = st.recursive(
        leaves,
        nests,
        max_leaves=5,
    )
    for _ in range(draw(st.integers(0, 5))):
        if draw(st.integers(0, 5)) == 0:
            nodes.append(graph.get_attr(draw(st.sampled_from(["w", "_tensor_constant0"]))))
            continue
        target: Any = draw(st.sampled_from(TARGETS))
        if depth and draw(st.integers(0, 4)) == 0:
            target = draw(graphs(depth=depth - 1))
        args = tuple(draw(st.lists(operands, max_size=3)))
        kwargs = draw(st.dictionaries(st.sampled_from(["alpha", "out", "dim"]), operands, max_size=2))
        position = draw(st.sampled_from(nodes)) if nodes and draw(st.booleans()) else None
        used = [*args, *kwargs.values()]
        if position is not None and not used and position.op != "placeholder":
            with graph.inserting_before(position):
                node = graph.call_function(target, args, kwargs)
        else:
            node = graph.call_function(target, args, kwargs)
        if draw(st.booleans()):
            file = draw(st.sampled_from(["model.py", "<stdin>", "a b.py"]))
            node.meta["site"] = Site(file, draw(st.integers(1, 99)), "f")
        if draw(st.booleans()):
            node.meta["type"] = draw(st.sampled_from(["f32[2, 3]", "(i64[], f16[0] cuda:0)", "Sym(s0)"]))
        nodes.append(node)
    graph.output(draw(operands) if draw(st.booleans()) else tuple(nodes))
    return graph


@settings(suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example])
@given(graphs())
def test_parse_inverts_print(graph: Graph) -> None:
    graph.lint()
    back = parse(str(graph), {"helper": helper})
    back.lint()
    assert str(back) == str(graph)
    assert [n.name for n in back.nodes] == [n.name for n in graph.nodes]
    assert sorted(str(edge) for edge in back.edges(keys=True)) == sorted(str(edge) for edge in graph.edges(keys=True))
    assert str(graph.clone()) == str(graph)
    compile(str(graph), "<graph>", "exec")


# ---- bad text --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("x = (", "parse: not Python"),
        ("import os", "expected an assignment, a function or return\n  got:  line 2: import os"),
        ("y = eval('1')", "unknown function eval\n  got:  line 2: y = eval"),
        ("y = ops.os.system.default('ls')", "no op os::system is registered"),
        ("y = ops.printing.scale.Nope(x)", "has no overload 'Nope'"),
        ("y = x + 1", "expected a call or a constant of self"),
        ("y = operator.add(x, z)", "z is not defined before\n  got:  line 2: y = operator.add"),
        ("y = operator.add(x, [a for a in x])", "cannot read"),
        ("y = operator.add(x, opweave.secret)", "cannot read opweave.secret"),
        ("y = operator.add(x, **x)", "not allowed here"),
        ("y = operator.add(-x)", "cannot read -x"),
        ("y = operator.add(x, {**x})", "not allowed here"),
        ("x = operator.add(x, 1)", "x is assigned twice"),
        ("sum = operator.add(x, 1)", "sum cannot name a node"),
        ("y, z = operator.add(x, 1)", "expected a name on the left"),
        ("y = operator.nonsense(x)", "has no attribute 'nonsense'"),
    ],
)
def test_what_is_not_a_printed_graph(body: str, message: str) -> None:
    with pytest.raises(GraphError, match=message):
        parse(f"def forward(self, x):\n    {body}\n    return (x,)")


def test_one_function_only() -> None:
    with pytest.raises(GraphError, match="expected one function"):
        parse("x = 1")


def test_two_functions_of_one_name() -> None:
    graph = Graph()
    x = graph.placeholder("x")
    graph.output(graph.call_function(lambda x: x, (x,)))
    with pytest.raises(GraphError, match="has no name of its own\n  got:  <lambda>"):
        printing.foreign_functions(graph)

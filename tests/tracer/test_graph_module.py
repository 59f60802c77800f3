"""`GraphModule` and `Interpreter`: graphs that run."""

from __future__ import annotations

import copy
import gc
import linecache
import operator
import traceback
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

import opweave.registry.ops.surface  # noqa: F401
from opweave.registry.errors import ArgumentError, GraphError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy
from opweave.tracer import printing
from opweave.tracer.graph import Graph, Node
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.interpreter import Interpreter, Transformer
from opweave.tracer.make_fx import make_fx

aten = ops.aten


def arrays(*values: float) -> Tensor:
    return from_numpy(np.array(values, np.float32))


def module() -> GraphModule:
    w = arrays(1, 2, 3)
    return make_fx(lambda x: aten.add.Tensor(aten.mul.Tensor(x, w), 1), tracing_mode="fake")(arrays(0, 0, 0))


def test_a_changed_graph_is_compiled_again() -> None:
    m = module()
    x = arrays(1, 1, 1)
    assert m(x).tolist() == [2, 3, 4]
    (add,) = m.graph.find_nodes(target=aten.add.Tensor)
    add.update_arg(1, 10)
    assert m(x).tolist() == [11, 12, 13]
    add.target = aten.sub.Tensor
    assert m(x).tolist() == [-9, -8, -7]


def test_code_runs_given_the_namespace() -> None:
    m = module()
    scope = printing.namespace()
    exec(m.code, scope)
    assert scope["forward"](m, arrays(1, 1, 1))[0].tolist() == [2, 3, 4]


def test_traceback_shows_the_line_of_the_graph() -> None:
    m = module()
    m.recompile()
    with pytest.raises(Exception, match="cannot broadcast") as caught:
        m(arrays(1, 2))
    text = "".join(traceback.format_exception(caught.value))
    assert 'mul: "f32[3]" = ops.aten.mul.Tensor(x_1, _tensor_constant0)' in text


def test_compiled_source_is_forgotten_with_the_module() -> None:
    gc.collect()
    before = {name for name in linecache.cache if name.startswith("<opweave graph")}
    m = module()
    m(arrays(1, 1, 1))
    m.recompile()
    assert len({name for name in linecache.cache if name.startswith("<opweave graph")} - before) == 1
    del m
    gc.collect()
    assert {name for name in linecache.cache if name.startswith("<opweave graph")} <= before


def test_missing_constant() -> None:
    m = module()
    del m.constants["_tensor_constant0"]
    with pytest.raises(GraphError, match="the module has no constant '_tensor_constant0'"):
        m(arrays(1, 1, 1))


def test_broken_graph_is_not_run() -> None:
    m = module()
    m.graph.erase_node(m.graph.output_node())
    with pytest.raises(GraphError, match="the graph has no output"):
        m(arrays(1, 1, 1))


def test_deepcopy_is_independent() -> None:
    m = module()
    other = copy.deepcopy(m)
    other.graph.find_nodes(target=aten.add.Tensor)[0].update_arg(1, 5)
    assert m(arrays(1, 1, 1)).tolist() == [2, 3, 4] and other(arrays(1, 1, 1)).tolist() == [6, 7, 8]


def test_functions_and_regions_run() -> None:
    def double(x: Any) -> Any:
        return x * 2

    inner = Graph(name="twice")
    a = inner.placeholder("a")
    inner.output((inner.call_function(double, (a,)), a))
    graph = Graph()
    x = graph.placeholder("x")
    call = graph.call_function(inner, (x,))
    graph.output(graph.call_function(operator.getitem, (call, 0)))
    m = GraphModule({}, graph)
    assert m(21) == 42 and Interpreter(m).run(21) == 42
    assert repr(m) == "<GraphModule forward: 4 nodes>" and str(m) == m.code


def test_print_readable(capsys: pytest.CaptureFixture[str]) -> None:
    m = module()
    assert m.print_readable() == m.code == m.graph.print_readable(print_output=False)
    assert capsys.readouterr().out == m.code + "\n"


class TestInterpreter:
    def test_runs_like_the_module(self) -> None:
        m = module()
        (result,) = Interpreter(m).run(arrays(1, 1, 1))
        assert result.tolist() == [2, 3, 4]
        assert Interpreter(m.graph, m.constants).run(arrays(1, 1, 1))[0].tolist() == [2, 3, 4]

    def test_overriding(self) -> None:
        seen = []

        class Negated(Interpreter):
            def call_function(self, target: Any, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
                seen.append((self.node.name, target))
                return aten.neg.default(super().call_function(target, args, kwargs))

        (result,) = Negated(module()).run(arrays(1, 1, 1))
        assert result.tolist() == [0, 1, 2] and seen == [("mul", aten.mul.Tensor), ("add", aten.add.Tensor)]

    def test_values_are_freed_after_their_last_use(self) -> None:
        alive = []

        class Count(Interpreter):
            def run_node(self, node: Node) -> Any:
                alive.append(len(self.env))
                return super().run_node(node)

        m = make_fx(lambda x: [x := aten.neg.default(x) for _ in range(10)][-1], tracing_mode="fake")(arrays(1, 1))
        Count(m).run(arrays(1, 1))
        assert max(alive) <= 2

    def test_errors(self) -> None:
        m = module()
        with pytest.raises(ArgumentError, match="the graph takes 1 inputs\n  got:  2 inputs"):
            Interpreter(m).run(arrays(1), arrays(1))
        with pytest.raises(GraphError, match="no constant '_tensor_constant0'"):
            Interpreter(m.graph).run(arrays(1))


class TestTransformer:
    def test_copies_by_default(self) -> None:
        graph = module().graph
        copied = Transformer(graph).transform()
        copied.lint()
        assert str(copied) == str(graph) and not set(copied.nodes) & set(graph.nodes)

    def test_replacing_a_call(self) -> None:
        class MulToSub(Transformer):
            def call_function(self, node: Node, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> Any:
                if node.target is aten.mul.Tensor:
                    return self.emit(aten.sub.Tensor, args, val=node.meta["val"])
                return super().call_function(node, args, kwargs)

        m = module()
        changed = MulToSub(m.graph).transform()
        changed.lint()
        assert GraphModule(m.constants, changed, m.in_spec, m.out_spec)(arrays(1, 1, 1)).tolist() == [1, 0, -1]
        (sub,) = changed.find_nodes(target=aten.sub.Tensor)
        assert sub.meta["site"] == m.graph.find_nodes(target=aten.mul.Tensor)[0].meta["site"] and "val" in sub.meta

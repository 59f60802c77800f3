"""The calls of control flow in an exported program: which of their operands are graphs, and what these are given.

    cond(pred, true_graph, false_graph, operands)          both graphs: operands -> results
    while_loop(cond_graph, body_graph, carried, extra)     carried, extra -> (going,); -> carried
    scan(combine_graph, init, xs, extra)                   init, rows of xs, extra -> init, rows of results
    map_impl(graph, xs, args)                              rows of xs, args -> rows of results

`associative_scan` is no op of its own: a trace has the ops that it calls.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NoReturn, TypeGuard, cast

from opweave.registry.containers import is_sequence, is_tuple
from opweave.registry.control_flow.operators import (
    cond_op,
    map_op,
    scan_op,
    while_loop_op,
    while_loop_stack_output_op,
)
from opweave.registry.dtypes import DType
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node

_OPS = (cond_op, while_loop_op, while_loop_stack_output_op, scan_op, map_op)
#: The ops by name.
OPERATORS: dict[str, Any] = {op.name: op for op in _OPS}

#: What each operand is: a predicate, a graph, tensors, or tensors that are gone through row by row.
OPERANDS: dict[str, str] = {
    "cond": "pggt", "while_loop": "ggtt", "while_loop_stack_output": "ggtt", "scan": "gtrt", "map_impl": "grt",
}  # fmt: skip

#: Of a tensor: dtype, and number of dimensions.
_Kind = tuple[DType, int | None]


def is_control_flow(target: Any) -> bool:
    """Whether a node's target is one of the ops."""
    return target in OPERATORS.values()


def operands_of(node: Node) -> list[Node]:
    """The tensors that the graphs of a call are given, in the order of their inputs."""
    found: list[Node] = []
    for kind, value in zip(OPERANDS[node.target.name], node.args, strict=False):
        if kind in "tr" and is_sequence(value):
            found += value
    return found


def check_call(node: Node, fail: Callable[[str], NoReturn]) -> None:
    """Check that graphs, operands and results of a call fit together, as far as types and numbers of dimensions go.

    Parameters
    ----------
    node : Node
        A call whose node has its fake value.
    fail : callable
        Takes what was expected, and raises.
    """
    kinds = OPERANDS[node.target.name]
    if len(node.args) != len(kinds) or node.kwargs:
        fail(f"{len(kinds)} operands")
    graphs: list[Graph] = []
    given: list[_Kind] = []
    for kind, value in zip(kinds, node.args, strict=True):
        if (kind == "g") != isinstance(value, Graph):
            fail("graphs where the op takes functions")
        if kind == "p" and not _is_tensor(value):
            fail("a predicate that is a tensor")
        if kind in "tr" and not _are_tensors(value):
            fail("a tuple of tensors")
        if isinstance(value, Graph):
            graphs.append(value)
        elif kind in "tr":
            given += [_kind(source.meta["val"], 1 if kind == "r" else 0) for source in value]
    for graph in graphs:
        inputs: list[Any] = [inner.meta.get("val") for inner in graph.placeholders()]
        if not all(isinstance(value, Tensor) for value in inputs) or [_kind(value) for value in inputs] != given:
            fail("graphs whose inputs are like the operands")
        if not is_tuple(graph.outputs) or not all(map(_is_tensor, graph.outputs)):
            fail("graphs that return a tuple of tensors")
    _check_results(node, graphs, fail)


def _check_results(node: Node, graphs: list[Graph], fail: Callable[[str], NoReturn]) -> None:
    results = node.meta["val"]
    if not is_tuple(results) or not all(isinstance(value, Tensor) for value in results):
        fail("results that are a tuple of tensors")
    name = node.target.name
    found = [_kind(value) for value in results]
    returned = [[_kind(value.meta["val"]) for value in graph.outputs] for graph in graphs]
    if name.startswith("while_loop"):
        if len(returned[0]) != 1:
            fail("a condition that returns one tensor")
        del returned[0]
    carried = len(node.args[1]) if name == "scan" else 0
    if name in ("scan", "map_impl"):
        rows = [(dtype, None if dims is None else dims + 1) for dtype, dims in returned[0][carried:]]
        returned = [returned[0][:carried] + rows]
    if name in ("scan", "while_loop", "while_loop_stack_output"):
        start = [_kind(source.meta["val"]) for source in node.args[1 if name == "scan" else 2]]
        if returned[0][: len(start)] != start:
            fail("steps that keep what is carried as it is")
    if name == "while_loop_stack_output":
        returned = [[*returned[0], *[(dtype, None if dims is None else dims + 1) for dtype, dims in returned[0]]]]
    if any(one != found for one in returned):
        fail("results like those of the graphs")


def _is_tensor(value: Any) -> bool:
    return isinstance(value, Node) and isinstance(value.meta.get("val"), Tensor)


def _are_tensors(value: Any) -> TypeGuard[tuple[Node, ...]]:
    return type(value) is tuple and all(map(_is_tensor, cast("tuple[Any, ...]", value)))


def _kind(value: Tensor, less: int = 0) -> _Kind:
    """What does not depend on sizes: None stands for a tensor that has no rows."""
    dims = len(value._sizes) - less
    return value._dtype, dims if dims >= 0 else None

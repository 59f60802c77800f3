"""Sizes: what computes symbolic numbers goes into the operands, and offsets get a width.

A trace has nodes that compute sizes (`sym_size`, `mul`, ...). Those that follow from sizes of inputs alone are taken
out: an operand becomes the symbolic number itself, which generated code writes as an expression. Numbers that depend on
data stay nodes, since they are not there before something was run.

`limit` decides, once for all kernels of a graph, whether offsets are computed in 32 bits.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from opweave.fake.shape_env import ShapeEnv
from opweave.fake.symbolic import SymNumber, statically_known_true
from opweave.registry.containers import is_sequence
from opweave.registry.errors import Site
from opweave.registry.nested import leaves
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.registry.triton_op import triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation
from opweave.tracer.declared import declared
from opweave.tracer.emission import map_nodes, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launches import launch_of
from opweave.tracer.loops.size import INT32_OFFSETS, Poly, Size, hint, less, number_of, product, sizes
from opweave.tracer.numbers import Numbers
from opweave.tracer.operands import map_operands
from opweave.tracer.printing import operand_graphs
from opweave.tracer.sites import UNKNOWN


def run(graph: Graph) -> Graph:
    """Put numbers that follow from sizes of inputs in the place of the nodes that compute them."""
    numbers = [node for node in graph if node.op == "call_function" and _is_backed(value_of(node))]
    if not numbers:
        return graph
    known = set(numbers)

    def plain(node: Node) -> Any:
        return value_of(node) if node in known else node

    for node in graph:
        if any(operand in known for operand in node.all_input_nodes):
            node.set_operands(map_nodes(node.args, plain), map_nodes(node.kwargs, plain))
    for node in reversed(numbers):
        graph.erase_node(node)
    return graph


def spell(graph: Graph, env: ShapeEnv | None) -> Graph:
    """The reverse: nodes that compute the symbolic numbers among the operands, for what runs a graph node by node."""
    if env is None:
        return graph
    numbers = Numbers(graph, env)

    def computed(value: Any) -> Any:
        return numbers.node(value) if isinstance(value, SymNumber) else value

    for node in list(graph):
        with graph.inserting_before(node):
            numbers.site = node.meta.get("site")
            node.set_operands(map_operands(node.args, computed), map_operands(node.kwargs, computed))
        numbers.bind(value_of(node), node)
    return graph


def spelled(graph: Graph) -> Graph:
    """`spell`, by the environment of the symbolic numbers that are among the operands."""
    operands = (value for node in graph for value in leaves((node.args, node.kwargs)))
    return spell(graph, next((value.env for value in operands if isinstance(value, SymNumber)), None))


def hoist(graph: Graph) -> Graph:
    """Move checks of numbers that depend on data to where these are first known.

    A kernel is made for what was demanded anywhere, so it must not run, and read memory, before the check.
    """
    for node in list(graph):
        for inner in operand_graphs(node):
            hoist(inner)
        if node.target is not ops.aten._assert_scalar.default:
            continue
        chain, waiting = [node], [node]
        while waiting:
            for operand in waiting.pop().all_input_nodes:
                if operand not in chain and _is_arithmetic(operand):
                    chain.append(operand)
                    waiting.append(operand)
        place = {other: i for i, other in enumerate(graph.nodes)}
        sources = [operand for one in chain for operand in one.all_input_nodes if operand not in chain]
        last = max(sources, key=place.__getitem__, default=None)
        if last is None:
            continue
        if last.op == "placeholder":
            last = graph.placeholders()[-1]
        # A number that others read as well only moves forwards.
        for one in sorted(chain, key=place.__getitem__):
            if place[one] > place[last]:
                last.append(one)
                last = one
    return graph


def _is_arithmetic(node: Node) -> bool:
    """Whether a node computes a number from numbers and sizes, and looks at no data."""
    if node.op != "call_function" or isinstance(value_of(node), Tensor):
        return False
    return (
        getattr(node.target, "__module__", "") in ("_operator", "operator", "builtins", "math")
        and (node.target is not operator.getitem)
        or node.target in _READS
    )


_READS = (ops.aten.sym_size.int, ops.aten.sym_stride.int, ops.aten.sym_storage_offset.default)


def _is_backed(value: Any) -> bool:
    if not isinstance(value, SymNumber):
        return False
    # What a number that depends on data was checked to equal is not what it was read as.
    return all(value.env.symbols[symbol].hint is not None for symbol in value.expr.free_symbols)


def limit(graph: Graph) -> Graph:
    """Note whether offsets need 64 bits; if not, that becomes a guard."""
    found: dict[Size, Tensor] = {}
    for value in _tensors(graph):
        if any(type(number) is not int for number in (*value._sizes, *value._strides)):
            # Of the layout, and of its elements alone: a stretched operand is small, what is computed with it is not.
            strides = sizes(value._strides)
            reach: Size = 1
            for size, stride in zip(sizes(value._sizes), strides, strict=True):
                reach = reach + (size - 1) * stride
            found.setdefault(reach, value)
            found.setdefault(product(sizes(value._sizes)), value)
    number: Any
    for number in _launched(graph):
        # The kernel takes it as it is in the example: with 32 bits.
        if number.hint is not None and -(1 << 31) <= number.hint < 1 << 31:
            for condition in (number < 1 << 31, number >= -(1 << 31)):
                if isinstance(condition, SymNumber) and not statically_known_true(condition):
                    condition.env.assume(condition.env.canonical(condition.expr), _site(graph), of_code=True)
    if any(hint(reach) >= INT32_OFFSETS for reach in found):
        graph.graph["wide"] = True
        return graph
    largest = [a for a in found if not any(a is not b and a != b and less(a, b + 1) for b in found)]
    for reach in largest:
        if isinstance(reach, Poly) and not less(reach, INT32_OFFSETS):
            condition = number_of(reach) < INT32_OFFSETS
            if isinstance(condition, SymNumber) and _is_backed(condition):
                condition.env.assume(condition.env.canonical(condition.expr), _site(graph), of_code=True)
            elif isinstance(condition, SymNumber):
                graph.graph["wide"] = True
    return graph


def _tensors(graph: Graph) -> Iterator[Tensor]:
    for node in graph:
        value = value_of(node)
        for part in value if is_sequence(value) else (value,):
            if isinstance(part, Tensor):
                yield part
        for inner in (*operand_graphs(node), *([node.target] if isinstance(node.target, Graph) else [])):
            yield from _tensors(inner)


def _launched(graph: Graph) -> Iterator[SymNumber]:
    """The numbers that users' kernels are given, launched, joined with what stands around them, or turned into ops."""
    for node in graph:
        launch = node if node.target in _LAUNCHES else launch_of(node.target)
        given = [] if launch is None else [*leaves(launch.kwargs["kwargs"])]
        if (decl := declared(node)) is not None:
            given += getattr(decl, "numbers", {}).values()
        for operand in given:
            value = value_of(operand) if isinstance(operand, Node) else operand
            if isinstance(value, SymNumber) and value.kind == "int":
                yield value
        for inner in (*operand_graphs(node), *([node.target] if isinstance(node.target, Graph) else [])):
            yield from _launched(inner)


_LAUNCHES = (triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation)


def _site(graph: Graph) -> Site:
    return next((node.meta["site"] for node in graph if node.meta.get("site") is not None), UNKNOWN)

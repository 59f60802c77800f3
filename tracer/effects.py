"""What a node does besides giving its result: the one place where passes ask.

An op says it in its schema and tags, a higher-order op by its traits (`HigherOrderOperator`), a graph by its nodes.
"""

from __future__ import annotations

import operator
from collections.abc import Iterator
from typing import Any

from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.op import OpOverload
from opweave.registry.signature import Argument
from opweave.registry.triton_op import launch_effects, triton_kernel_wrapper_mutation
from opweave.tracer.declared import declared
from opweave.tracer.export.control import is_control_flow, operands_of
from opweave.tracer.graph import Graph, Node, nodes_in
from opweave.tracer.printing import operand_graphs

#: A user's op with this tag promises the same result for the same arguments, and nothing else.
PURE_TAG = "pure"


def mutates(node: Node) -> bool:
    """Whether a call writes memory that it is given."""
    return node.op == "call_function" and bool(getattr(node.target, "is_mutable", False))


def copies_what_it_writes(node: Node) -> bool:
    """Whether a call runs a mutation on copies of its operands."""
    return isinstance(node.target, HigherOrderOperator) and node.target.writes_copies


def is_random(node: Node) -> bool:
    """Whether a call gives something else each time: it draws from the generator, or its bits may vary."""
    target = node.target
    return isinstance(target, OpOverload) and any(str(tag).startswith("nondeterministic") for tag in target.tags)


def has_effect(node: Node) -> bool:
    """Whether running a node changes anything besides giving its result."""
    if node.op != "call_function":
        return node.op != "get_attr"
    if isinstance(node.target, OpOverload):
        # A draw moves the generator on; an op that returns nothing can only be there for its effect.
        return mutates(node) or is_random(node) or not node.target._schema.returns
    calls = (inner for graph in operand_graphs(node) for inner in graph if inner.op == "call_function")
    return any(map(has_effect, calls)) or mutates(node)


def is_pure(node: Node) -> bool:
    """Whether equal operands give equal results, and a shared result cannot be told from two."""
    target = node.target
    if node.op != "call_function":
        return False
    if target is operator.getitem:
        return True
    if not isinstance(target, OpOverload) or mutates(node) or is_random(node):
        return False
    decl = declared(node)
    return PURE_TAG in target.tags if decl is None else not decl.gives_memory


def is_repeatable(node: Node) -> bool:
    """Whether running a node a second time gives the same, and does nothing else."""
    if has_effect(node):
        return False
    return not isinstance(node.target, OpOverload) or declared(node) is not None or is_pure(node)


def is_ordered(node: Node) -> bool:
    """Whether a call may do something that others depend on in a way that no operand tells."""
    if isinstance(node.target, OpOverload):
        return is_random(node) or declared(node) is None
    return isinstance(node.target, HigherOrderOperator) and not node.target.is_pure


# ---- which operands --------------------------------------------------------------------------------------------------


def mutated_inputs(graph: Graph) -> tuple[str, ...]:
    """Names of the placeholders that a graph writes, directly or through views.

    What an op writes and what its results may share memory with follows from its schema, so this holds for ops that
    are not registered, too. It may name too many: which part of a tensor a view shows plays no role.
    """
    written, _ = _inputs(graph)
    return tuple(node.name for node in graph.placeholders() if node in written)


def _inputs(graph: Graph) -> tuple[set[Node], frozenset[Node]]:
    """The inputs that a graph writes, and those whose memory its results may be in."""
    roots: dict[Node, frozenset[Node]] = {}
    written: set[Node] = set()
    kept: frozenset[Node] = frozenset()
    for node in graph.nodes:
        if node.op == "placeholder":
            roots[node] = frozenset((node,))
        elif node.op == "output":
            kept = frozenset[Node]().union(*(roots.get(source, frozenset()) for source in node.all_input_nodes))
        elif node.op == "call_function":
            writes, shares = _operands(node)
            for target in writes:
                written |= roots.get(target, frozenset())
            roots[node] = frozenset().union(*(roots.get(source, frozenset()) for source in shares))
    return written, kept


def _operands(node: Node) -> tuple[list[Node], list[Node]]:
    """The operands that a node writes, and those whose memory its results may be in."""
    if not is_control_flow(node.target):
        return list(_written(node)), list(_shared(node))
    writes: list[Node] = []
    shares: list[Node] = []
    for inner in operand_graphs(node):
        written, kept = _inputs(inner)
        pairs = list(zip(inner.placeholders(), operands_of(node), strict=False))
        writes += [source for name, source in pairs if name in written]
        shares += [source for name, source in pairs if name in kept]
    return writes, shares


def _written(node: Node) -> Iterator[Node]:
    target = node.target
    if isinstance(target, Graph):
        written, _ = _inputs(target)
        yield from (
            source
            for inner, source in zip(target.placeholders(), node.args, strict=False)
            if inner in written and isinstance(source, Node)
        )
    elif target is triton_kernel_wrapper_mutation:
        operands = node.kwargs["kwargs"]
        values = {name: v.meta.get("val") if isinstance(v, Node) else v for name, v in operands.items()}
        for name in launch_effects(node.kwargs["kernel_idx"], node.kwargs["constant_args_idx"], values):
            yield from nodes_in([operands.get(name)])
    elif isinstance(target, OpOverload):
        yield from (n for argument, n in _bound(node) if argument.is_write)


def _shared(node: Node) -> Iterator[Node]:
    """Operands whose memory a result may be in."""
    target = node.target
    if isinstance(target, OpOverload):
        names = {name for shared in target._schema.aliased_returns.values() for name in shared}
        yield from (source for argument, source in _bound(node) if argument.name in names)
    elif target is operator.getitem or isinstance(target, Graph):
        yield from node.all_input_nodes


def _bound(node: Node) -> Iterator[tuple[Argument, Node]]:
    """Each operand node with the schema's argument that it goes to."""
    arguments = node.target._schema.arguments
    positional = [argument for argument in arguments if not argument.kwarg_only]
    named = {argument.name: argument for argument in arguments}
    given: list[tuple[Argument, Any]] = [*zip(positional, node.args, strict=False)]
    given += [(named[name], value) for name, value in node.kwargs.items() if name in named]
    for argument, value in given:
        for source in nodes_in([value]):
            yield argument, source

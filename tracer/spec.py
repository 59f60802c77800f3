"""What a graph may hold at each of its levels, checked between passes.

    traced       as recorded: reads and writes through views, composite ops
    functional   no writes but, at the end, those that put new contents into inputs
    fused        regions, which compute and do nothing else, between calls that may write

Each level is a table of rules; a rule looks at a node and says what is wrong with it. `Graph.lint` checks what holds of
any graph, always; a spec is checked where `OPWEAVE_VERIFY=1` asks for it, as the tests do.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Callable

from opweave.registry.containers import is_sequence, is_tuple
from opweave.registry.errors import GraphError
from opweave.registry.op import OpOverload, ops
from opweave.registry.tensor import Tensor
from opweave.tracer.aliasing import view_source
from opweave.tracer.declared import declared
from opweave.tracer.effects import has_effect, is_random, mutates
from opweave.tracer.graph import Graph, Node
from opweave.tracer.printing import operand_graphs

#: Whether what each level allows is checked between the steps that lead from one to the next.
verifying = os.environ.get("OPWEAVE_VERIFY", "0") not in ("", "0")

#: What is wrong with a node; empty where nothing is.
Rule = Callable[[Node], str]


def verify(graph: Graph, level: str) -> None:
    """Check that a graph, and what it calls and hands on, is at a level.

    Parameters
    ----------
    graph : Graph
        Whose nodes have their values.
    level : str
        A key of `LEVELS`.

    Raises
    ------
    GraphError
        If a node is not allowed there; names it and says why.
    """
    rules = LEVELS[level]
    for node in graph:
        for rule in rules:
            if reason := rule(node):
                raise GraphError(
                    f"{node.name}: {reason} in a {level} graph", got=graph.format_node(node), at=node.meta.get("site")
                )


# ---- every level -----------------------------------------------------------------------------------------------------


def has_value(node: Node) -> str:
    """What a node gives is known without running it."""
    return "" if "val" in node.meta or node.op == "output" else "no value"


def picks_a_part(node: Node) -> str:
    """`getitem` takes one of several results."""
    if node.target is not operator.getitem:
        return ""
    source, key = node.args
    if not isinstance(source, Node):
        return "an item of what is no node"
    value = source.meta.get("val")
    if isinstance(value, dict):
        return "" if key in value else "an item that is not there"
    if not is_sequence(value):
        return "an item of a single result"
    return "" if isinstance(key, int) and -len(value) <= key < len(value) else "an item that is not there"


def shares_memory(node: Node) -> str:
    """Where in memory a view begins is read off its value, so that begins where what it is of does, or within."""
    source = view_source(node)
    if source is None:
        return ""
    own, whole = node.meta.get("val"), source.meta.get("val")
    if not isinstance(own, Tensor) or not isinstance(whole, Tensor) or own._storage is whole._storage:
        return ""
    begins = type(whole._offset) is int and not whole._offset
    return "" if begins else "a view whose value lies in other memory than what it is of"


def calls_no_region(node: Node) -> str:
    """Regions come with fusion."""
    return "a region" if node.op == "call_function" and isinstance(node.target, Graph) else ""


# ---- functional ------------------------------------------------------------------------------------------------------


def writes_back_only(node: Node) -> str:
    """Writes are `copy_` into inputs and constants, whose old contents nobody reads afterwards."""
    if not mutates(node):
        return ""
    if node.target is not ops.aten.copy_.default:
        return "a call that writes"
    target = node.args[0]
    return "" if target.op in ("placeholder", "get_attr") else "a write to what is no input"


# ---- fused -----------------------------------------------------------------------------------------------------------


def is_region_or_call(node: Node) -> str:
    """A region is given what its inputs are, gives a tuple and is read item by item."""
    region = node.target
    if node.op != "call_function" or not isinstance(region, Graph):
        return ""
    inputs, outputs = region.placeholders(), region.outputs
    if len(node.args) != len(inputs) or not all(isinstance(operand, Node) for operand in node.args):
        return "a region with other operands than inputs"
    if not is_tuple(outputs) or not all(isinstance(output, Node) for output in outputs):
        return "a region that gives no tuple"
    value = node.meta.get("val")
    if not is_tuple(value) or len(value) != len(outputs):
        return "a region with another number of results"
    if any(user.target is not operator.getitem for user in node.users):
        return "a region whose results are used as a whole"
    return next((f"{inner.name} is {reason}" for inner in region if (reason := _in_region(inner))), "")


def stores_into_memory(node: Node) -> str:
    """A result of a region that goes to memory that is there (`into`) is one of its results, each once."""
    if not isinstance(node.target, Graph) or not node.kwargs:
        return ""
    if set(node.kwargs) != {"into"}:
        return "a region with operands by name"
    numbers = [number for number, _ in node.kwargs["into"]]
    if len({*numbers}) != len(numbers) or not {*numbers} <= {*range(len(node.meta["val"]))}:
        return "a region that stores what it does not compute"
    tensors = all(isinstance(target.meta.get("val"), Tensor) for _, target in node.kwargs["into"])
    return "" if tensors else "a region that stores to no tensor"


def is_decomposed(node: Node) -> str:
    """Composite ops are gone: their parts are in regions."""
    kind = declared(node)
    return "a composite op" if kind is not None and kind.is_composite else ""


def _in_region(node: Node) -> str:
    if node.op in ("placeholder", "output"):
        return ""
    if node.op != "call_function" or isinstance(node.target, Graph) or operand_graphs(node):
        return "a graph or a constant in a region"
    if has_effect(node) or is_random(node):
        return "an effect in a region"
    return "an opaque op in a region" if isinstance(node.target, OpOverload) and declared(node) is None else ""


_ANY: tuple[Rule, ...] = (has_value, picks_a_part, shares_memory)
#: By level, what holds of each node.
LEVELS: dict[str, tuple[Rule, ...]] = {
    "traced": (*_ANY, calls_no_region),
    "functional": (*_ANY, calls_no_region, writes_back_only),
    "fused": (*_ANY, is_region_or_call, stores_into_memory, is_decomposed),
}

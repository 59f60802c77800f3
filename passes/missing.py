"""Missing: a way back without the gradients that did not come.

Where a result takes no part in what is differentiated, no gradient comes for it, and eager code never gets to the
formulas behind it. With zeros in its place compiled code would compute them: slower, and wrong where a formula divides
(zero times infinity is NaN) or is a user's, who may do anything with a gradient. So

- a formula all of whose gradients are missing is not computed: what it gives is missing too,
- of a sum of gradients with a missing one the other is left,
- a formula that gets one gradient and misses another has zeros for that, as a `Function` gets them.
"""

from __future__ import annotations

from collections.abc import Set

from opweave.fake.symbolic import SymNumber
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.tracer.emission import Emitter, nodes_in, relocate, value_of
from opweave.tracer.graph import Graph, Node

aten = ops.aten
#: The `meta` key of nodes that were traced on the way back: the formula that they belong to, by a number.
FORMULA = "formula"


def run(graph: Graph, tangents: int, missing: Set[int]) -> Graph:
    """Take the missing gradients out of a way back, in place.

    Parameters
    ----------
    graph : Graph
        A backward (`passes.partition`): saved values, then gradients of results -> gradients of inputs.
    tangents : int
        How many of its inputs, the last ones, are gradients of results.
    missing : set of int
        Which of those do not come. They stay inputs, which nothing reads; gradients that are missing are None.
    """
    inputs = graph.placeholders()
    given = inputs[len(inputs) - tangents :]
    absent = {node for k, node in enumerate(given) if k in missing}
    present = set(given) - absent
    useless: set[Node] = set()
    reading = _reading(graph, given)
    emit = Emitter(graph)
    output = graph.output_node()
    for node in list(graph):
        gone = [n for n in node.all_input_nodes if n in absent]
        have = [n for n in node.all_input_nodes if n in present]
        if node is output or node.op == "placeholder" or not (gone or have) or _is_number(node):
            continue
        # What a formula reads from outside decides for all of it; a node of none decides for itself.
        if not any(n in present for n in reading.get(node.meta.get(FORMULA), have)):
            absent.add(node)
            continue
        present.add(node)
        rest = _rest(node, gone)
        if rest is not None:
            relocate(emit, node, rest)
            useless.add(node)
            continue
        for n in gone:
            with graph.inserting_before(node):
                node.replace_input_with(n, _zeros(emit, n))
    output.args = (tuple([None if value in absent else value for value in output.args[0]]),)
    for node in reversed(list(graph)):
        if node in useless or (node in absent and node.op != "placeholder"):
            graph.erase_node(node)
    return graph


def _reading(graph: Graph, tangents: list[Node]) -> dict[object, set[Node]]:
    """By formula the gradients that it gets."""
    gradients = set(tangents)
    found: dict[object, set[Node]] = {}
    for node in graph:
        for operand in node.all_input_nodes:
            if operand in gradients:
                gradients.add(node)
                formula = node.meta.get(FORMULA)
                if formula is not None and operand.meta.get(FORMULA) != formula:
                    found.setdefault(formula, set()).add(operand)
    return found


def _is_number(node: Node) -> bool:
    """Whether a node tells a size, which a missing gradient has as well."""
    return isinstance(value_of(node), (SymNumber, int))


def _rest(node: Node, gone: list[Node]) -> Node | None:
    """What a sum is without the missing one of its terms; None for what is no such sum."""
    if node.target is not aten.add.Tensor or len(gone) != 1 or len(node.args) != 2 or node.kwargs:
        return None
    rest = [n for n in nodes_in(node.args) if n is not gone[0]]
    if len(rest) != 1:
        return None
    have, want = value_of(rest[0]), value_of(node)
    same = have._sizes == want._sizes and have._strides == want._strides and have._dtype is want._dtype
    return rest[0] if same else None


def _zeros(emit: Emitter, node: Node) -> Node:
    value = value_of(node)
    assert isinstance(value, Tensor)
    return emit.call(aten.zeros.default, list(value._sizes), dtype=value._dtype, device=value._device, like=node)

"""Local rewrites: rules that look at one node and what is near it, applied until none fits.

A pass that is a table of rules says which a node has; `rewrite` does the rest. What a rule makes is looked at too, and
so is what reads it.
"""

from __future__ import annotations

import operator
from collections import deque
from collections.abc import Callable, Iterable
from typing import Any

from opweave.tracer.emission import Emitter, relocate
from opweave.tracer.graph import Graph, Node

#: Gives what to use instead of a node: a node, perhaps a new one, or a list of what its parts are; None where it does
#: not fit. It may also change what is near the node by itself, and give None.
Rule = Callable[[Node, Emitter], "Node | list[Any] | None"]


def rewrite(
    graph: Graph,
    rules_of: Callable[[Node], Iterable[Rule]],
    *,
    moves: bool = False,
    last_first: bool = False,
) -> Graph:
    """Apply rules to the calls of a graph until none fits.

    Parameters
    ----------
    graph : Graph
        Changed in place.
    rules_of : callable
        The rules that a node has, in the order in which they are tried.
    moves : bool
        Whether what is used instead may lie elsewhere in memory, so that its views have to be told.
    last_first : bool
        Whether the last node is looked at first, and what is new before what is not.
    """
    emit = Emitter(graph)
    waiting = deque(graph)
    take = waiting.pop if last_first else waiting.popleft
    while waiting:
        node = take()
        if node.op != "call_function" or node not in graph:
            continue
        for rule in rules_of(node):
            emit.made.clear()
            with graph.inserting_before(node):
                new = rule(node, emit)
            waiting.extend(emit.made)
            if new is not None:
                waiting.extend(_replace(emit, node, new, moves))
                break
    return graph


def _replace(emit: Emitter, node: Node, new: Node | list[Any], moves: bool) -> list[Node]:
    """Use something in the place of a node; what reads it then."""
    users = list(node.users)
    if isinstance(new, list):
        for item in [user for user in users if user.target is operator.getitem]:
            users += item.users
            item.replace_all_uses_with(new[item.args[1]])
            emit.graph.erase_node(item)
    elif moves:
        relocate(emit, node, new)
    else:
        node.replace_all_uses_with(new)
    emit.graph.erase_node(node)
    return users

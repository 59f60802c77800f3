"""Give each region with a tuned launch a graph that does the same unfused, so that tuning can choose that as well.

    kernel_0   mul, softmax_kernel, add          kernel 0   mul
                                         beside  a launch of softmax_kernel, which Triton tunes
                                                 kernel 1   add

The inputs of that graph are what the region reads and what its kernel writes in place, under the names that these have
outside; it writes the latter, and returns the other results. It is made when it is settled what is written in place.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.op import ops
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launches import UNFUSED, take_apart

Pass = Callable[[Graph], Graph]


def run(graph: Graph, passes: Sequence[Pass]) -> Graph:
    """Note the graph in the `graph` of each such region, under `UNFUSED`.

    Parameters
    ----------
    graph : Graph
        With regions; changed in nothing else.
    passes : sequence of callable
        What makes kernels of a graph whose launches are to stay alone.
    """
    for node in graph.nodes:
        launch = take_apart(node.target) if isinstance(node.target, Graph) else None
        if launch is not None and launch.tuning is not None:
            made = _unfused(node)
            for run_pass in passes:
                made = run_pass(made)
            made.lint()
            node.target.graph[UNFUSED] = made
    return graph


def _unfused(node: Node) -> Graph:
    region: Any = node.target
    launch = take_apart(region)
    assert launch is not None
    into: dict[int, Node] = dict(node.kwargs.get("into", ()))
    made = Graph()
    made.graph["fuse_launches"] = False
    inputs: dict[Node, Node] = {}
    for outer in dict.fromkeys([*node.args, *into.values()]):
        assert isinstance(outer, Node)
        inputs[outer] = made.placeholder(outer.name)
        inputs[outer].meta.update({key: outer.meta[key] for key in ("val", "site") if key in outer.meta})
    mapping = {p: inputs[outer] for p, outer in zip(region.placeholders(), node.args, strict=True)}
    # What the kernel changes in place has its old contents there.
    there = {
        launch.operands[name]: inputs[into[number]]
        for name, number in launch.kept.items()
        if number in into and launch.operands[name] in mapping and name not in launch.apart
    }
    for inner in region.nodes:
        if inner.op == "call_function":
            given = {**mapping, **there} if inner is launch.node else mapping
            mapping[inner] = made.node_copy(inner, given.__getitem__)
    results: Sequence[Node] = region.output_node().args[0]
    for number, target in into.items():
        write = made.call_function(ops.aten.copy_.default, (inputs[target], mapping[results[number]]))
        write.meta.update(mapping[results[number]].meta)
        write.meta["val"] = inputs[target].meta["val"]
    rest = tuple(mapping[result] for number, result in enumerate(results) if number not in into)
    made.output(rest).meta["val"] = tuple(result.meta["val"] for result in rest)
    return made

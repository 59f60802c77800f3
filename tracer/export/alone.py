"""A graph by itself as JSON: one that calls built-in ops, with sizes that are fixed and no constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.registry.errors import UnsupportedError
from opweave.registry.op import OpOverload, registry
from opweave.registry.triton_op import triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation
from opweave.tracer.export.encoding import Numbers, Reader
from opweave.tracer.export.records.graphs import GraphReader, GraphWriter
from opweave.tracer.export.records.kernels import KernelRecords
from opweave.tracer.export.records.ops import OpRecords
from opweave.tracer.export.records.places import Entries
from opweave.tracer.graph import Graph
from opweave.tracer.printing import operand_graphs


def encode(graph: Graph, marks: Sequence[str] = ()) -> dict[str, Any]:
    """A graph as plain values.

    Parameters
    ----------
    graph : Graph
    marks : sequence of str
        The keys of `meta` to keep besides values and places; what is there is a number or text.

    Raises
    ------
    UnsupportedError
        If it calls what has no name, or holds what has no text.
    """
    if _launches(graph) or any(node.op == "get_attr" for node in graph):
        raise UnsupportedError("a graph that launches kernels or reads constants cannot stand by itself")
    record = GraphWriter(Numbers(), OpRecords(), KernelRecords(Entries({}))).graph(graph)
    marked = {key: {node.name: node.meta[key] for node in graph if key in node.meta} for key in marks}
    return {"graph": record, "marks": marked}


def _launches(graph: Graph) -> bool:
    """Whether it launches kernels, which it would take Triton to write down."""
    return any(
        node.target in (triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation)
        or any(map(_launches, operand_graphs(node)))
        for node in graph
    )


def decode(record: Any) -> Graph:
    """A graph from `encode`.

    Raises
    ------
    ExportError
        If the record is damaged.
    """
    source = Reader(record, "graph").keys("graph", "marks")
    called = [item.value.get("target") for item in source["graph"]["nodes"].items()]
    ops: dict[str, OpOverload] = {name: registry.operators[name] for name in called if name in registry.operators}
    graph = GraphReader(FakeTensorMode(), Numbers(), ops, []).graph(source["graph"])
    for key, item in source["marks"].members():
        for name, value in item.members():
            node = graph.named(name)
            if node is None:
                item.fail("names of nodes")
            node.meta[key] = value.value
    graph.lint()
    return graph

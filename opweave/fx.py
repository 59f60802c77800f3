"""Graphs: the intermediate representation that tracing makes and passes rewrite."""

from opweave.tracer.graph import Graph, Node
from opweave.tracer.graph_module import GraphModule
from opweave.tracer.interpreter import Interpreter

__all__ = ["Graph", "GraphModule", "Interpreter", "Node"]


def __dir__() -> list[str]:
    return sorted(__all__)

"""Graphs: the intermediate representation that tracing makes and passes rewrite."""

from opweave.nn.traced import GraphModule
from opweave.tracer.graph import Graph, Node
from opweave.tracer.interpreter import Interpreter

__all__ = ["Graph", "GraphModule", "Interpreter", "Node"]


def __dir__() -> list[str]:
    return sorted(__all__)

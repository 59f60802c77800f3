"""The graph of a triton_op's body, which stands for a call with the arguments that it was traced for."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.registry.errors import GraphError
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node
from opweave.tracer.make_fx import trace_flat
from opweave.tracer.operands import map_operands
from opweave.tracer.printing import operand_text


def call_text(node: Node, names: Sequence[str]) -> str:
    """The operands of a call as text, its operand nodes under other names."""
    renamed = {source: _Name(name) for source, name in zip(node.all_input_nodes, names, strict=True)}

    def rename(value: Any) -> Any:
        return renamed.get(value, value)

    return operand_text([map_operands(node.args, rename), map_operands(node.kwargs, rename)])


class _Name:
    """Prints as a name."""

    def __init__(self, text: str):
        self.text = text

    def __repr__(self) -> str:
        return self.text


def require_current(node: Node, body: Graph) -> None:
    """Check that a triton_op is still called as when its body was traced: the arguments are part of the body.

    Raises
    ------
    GraphError
        If it is not.
    """
    if not is_current(node, body):
        raise GraphError(
            f"{node.name}: {node.target} is called with other arguments than it was exported with",
            got=f"{operand_text(list(node.args))} {operand_text(dict(node.kwargs))}",
            hint="its body was traced for the arguments of the export: import the module that defines the op, "
            "and it is called instead",
        )


def is_current(node: Node, body: Graph) -> bool:
    """Whether a triton_op is still called as when its body was traced."""
    names = [inner.name for inner in body.placeholders()]
    return len(names) == len(node.all_input_nodes) and call_text(node, names) == body.graph.get("call")


def trace_body(node: Node, mode: FakeTensorMode, function: Callable[..., Any]) -> tuple[Graph, dict[str, Tensor]]:
    """What a function does with the operands of a call.

    Parameters
    ----------
    node : Node
        The call.
    mode : FakeTensorMode
        The mode of its fake values.
    function : callable
        Takes the call's arguments.

    Returns
    -------
    graph : Graph
        Has an input for each operand node, once, and returns `(result,)`; `graph.graph["call"]` is the call's text.
    constants : dict of str to Tensor
        What it brings along.
    """
    sources = node.all_input_nodes

    def flat(*values: Any) -> list[Any]:
        given = dict(zip(sources, values, strict=True))

        def value(operand: Any) -> Any:
            return given[operand] if isinstance(operand, Node) else operand

        return [function(*map_operands(node.args, value), **map_operands(node.kwargs, value))]

    unknown = next((source for source in sources if "val" not in source.meta), None)
    if unknown is not None:
        raise GraphError(
            f"{node.name}: nothing is known of its operand {unknown.name}",
            got="no meta['val']",
            hint="give nodes that you add a fake value: node.meta['val'] = fake_mode.from_tensor(...)",
        )
    inputs = [source.meta["val"] for source in sources]
    graph, constants = trace_flat(flat, inputs, mode, names=[s.name for s in sources], site=node.meta.get("site"))
    graph.graph["call"] = call_text(node, [inner.name for inner in graph.placeholders()])
    return graph, constants

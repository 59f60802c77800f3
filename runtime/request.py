"""A call of a function that is to be compiled: the function, what it is called with, and what to do with its graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any

from opweave.registry.dataclass import dataclass
from opweave.runtime.dynamic import Openness
from opweave.runtime.entry import Parameters
from opweave.runtime.watching import Known

if TYPE_CHECKING:
    from opweave.passes.partition import Partition
    from opweave.tracer.graph import Graph
    from opweave.tracer.graph_module import GraphModule


def _as_captured(captured: Graph) -> dict[str, str]:
    return {"captured": str(captured)}


@dataclass
class Program:
    """What a graph became.

    Attributes
    ----------
    run : callable
        Takes the graph's inputs, returns the tuple of its outputs.
    written : tuple of int
        Positions of inputs it writes.
    stages : callable
        From the graph as captured to its printed forms by stage (``captured``, names of passes, ``code``); they are
        made again when asked for, so that a compilation does not pay for them.
    key : str or None
        The name under which another process finds what `run` runs; None where it would not.
    device : str
        Where its kernels run.
    constants : mapping of str to Tensor
        What the `get_attr` nodes of the graph read.
    """

    run: Callable[..., Any]
    written: tuple[int, ...] = ()
    stages: Callable[[Graph], dict[str, str]] = _as_captured
    key: str | None = None
    device: str = "cpu"
    constants: Mapping[str, Any] = field(default_factory=dict)


@dataclass
class Request:
    """One call.

    Attributes
    ----------
    function : callable
        The user's function.
    name : str
        What generated code calls it.
    index : int
        Counts the versions of the function.
    parameters : Parameters
        The function's.
    args, kwargs : tuple, dict
        What it is called with.
    arguments : dict of str to object
        The same by parameter.
    openness : Openness
        Which sizes are left open.
    also : Known
        What earlier traces of the function were seen to do besides.
    compile_graph : callable
        ``(GraphModule, name) -> Program``.
    split : callable
        ``(joint graph, number of results) -> Partition``.
    settings : str or None
        What decides about the program beside the graph, as text; None where no text tells.
    """

    function: Callable[..., Any]
    name: str
    index: int
    parameters: Parameters
    args: tuple[Any, ...]
    kwargs: dict[str, Any]
    arguments: dict[str, Any]
    openness: Openness
    compile_graph: Callable[[GraphModule, str], Program]
    split: Callable[[Graph, int], Partition]
    settings: str | None = None
    also: Known = field(default_factory=Known)

    @property
    def prefix(self) -> str:
        """Start of the names in the version's generated code."""
        return f"_ow_e{self.index}_"

    def caller(self) -> Callable[[dict[str, Any]], Any]:
        """Calls the function with bound arguments by name."""
        function, parameters = self.function, self.parameters
        namespace = {"function": function, "__name__": __name__}
        unpack = "\n".join(f"    {name} = bound[{name!r}]" for name in parameters.names)
        text = f"def call(bound):\n{unpack}\n    positional, named = {parameters.passed}\n    return positional, named"
        exec(text, namespace)
        split: Any = namespace["call"]

        def call(bound: dict[str, Any]) -> Any:
            positional, named = split(bound)
            return function(*positional, **named)

        return call

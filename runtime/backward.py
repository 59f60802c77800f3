"""`Backward`: how the outputs of a compiled graph are differentiated.

Made while the function is traced (`runtime.gradients`), completed when its graph is cut in two, compiled when gradients
first come by (`runtime.recording`): for each set of results that got none, a graph without what stands behind them.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

from opweave.registry import forking
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import CompileError, OpweaveError, ShapeError
from opweave.registry.interrupts import deferred, let_through
from opweave.registry.keys import BATCHED_BIT, PYTHON_BIT
from opweave.registry.loading import load_heavy
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import TensorSpec
from opweave.runtime.context import compilable
from opweave.runtime.request import Program
from opweave.runtime.sources import NumberInput, TensorInput

if TYPE_CHECKING:
    from opweave.tracer.graph import Graph


@dataclass
class Backward:
    """How the outputs of a compiled graph are differentiated.

    Attributes
    ----------
    name : str
        The function's, for messages.
    outputs : int
        How many of the forward's outputs are the function's; the others are kept for the backward.
    written : int
        How many of those, the last ones, are inputs that were written, and get a history by that.
    rewritten : list of Tensor
        These inputs; made positions among the graph's inputs by `place`.
    relaid : list of Tensor
        The inputs whose sizes change in place; made positions by `place`, of those that are inputs of the graph.
    shown : set of int
        Which of `rewritten` are not written, but changed in their sizes alone.
    attached : list of int
        The outputs that gradients flow from.
    sources : list of Tensor
        The tensors that they flow to; made positions among the graph's inputs by `place`.
    specs : list of TensorSpec
        The layouts that gradients of `attached` come in.
    problem : OpweaveError or None
        Why there is no way back.
    saved_outputs : list of (int or None)
        For each value that is saved, which of `attached` it is.
    graph : Graph
        From what is saved and the gradients of `attached` to those of `sources`.
    constants : mapping
        What its `get_attr` nodes read.
    depends : list of frozenset of int
        For each of `sources` the gradients of `attached` that its own depends on.
    compile : callable
        Makes what runs a graph, the first time it is needed.
    again : callable
        Traces the function again for the graph, of a version that another process traced; raises CompileError where
        the function would now become another one.
    stored : callable
        Gives that graph as the other process wrote it down.
    kept : callable
        Gives by the numbers of the gradients that do not come what runs the graph without them, where another process
        made that; None where none did.
    note : callable
        Told those numbers, and the program that was made for them.
    compiled : dict
        By the numbers of the gradients that do not come what runs the graph without them.
    """

    name: str
    outputs: int
    attached: list[int]
    sources: list[Any]
    specs: list[TensorSpec]
    problem: OpweaveError | None = None
    written: int = 0
    saved_outputs: list[int | None] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    rewritten: list[Any] = field(default_factory=list)
    relaid: list[Any] = field(default_factory=list)
    shown: set[int] = field(default_factory=set)
    graph: Graph | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    depends: list[frozenset[int]] = field(default_factory=list)
    compile: Callable[[Graph], Program] | None = None
    again: Callable[[], Backward] | None = None
    stored: Callable[[], Graph] | None = None
    kept: Callable[[frozenset[int]], Callable[..., Any] | None] | None = None
    note: Callable[[frozenset[int], Program], None] | None = None
    compiled: dict[frozenset[int], Callable[..., Any]] = field(default_factory=dict)
    _lock: Any = field(default_factory=forking.lock)

    def run(self, missing: frozenset[int], *values: Any) -> Any:
        """The gradients of `sources`; those of `attached` that are missing are zeros among the values."""
        if not compilable() or any(t._keys & (PYTHON_BIT | BATCHED_BIT) for t in tensors_in(values)):
            # Batched or traced: op by op, as the function itself.
            return self._interpreted(missing)(*values)
        found = self.compiled.get(missing)
        if found is None:
            with self._lock, deferred():
                found = self.compiled.get(missing)
                if found is None:
                    found = self.compiled[missing] = self._made(missing)
        return found(*values)

    def _interpreted(self, missing: frozenset[int]) -> Callable[..., Any]:
        graph = self._graph(missing)
        graph = load_heavy("opweave.passes.sizes").spelled(graph)
        return load_heavy("opweave.tracer.interpreter").Interpreter(graph, self.constants).run

    def _graph(self, missing: frozenset[int]) -> Graph:
        if self.graph is None:
            self.graph = self._recalled()
        graph = self.graph.clone()
        if missing:
            graph = load_heavy("opweave.passes.missing").run(graph, len(self.attached), missing)
        return graph

    def _recalled(self) -> Graph:
        """The graph of a version that another process traced."""
        assert self.again is not None and self.stored is not None
        try:
            traced = self.again()
        except CompileError as error:  # what the function reads is not what it was when it was called
            let_through(error)
            return self.stored()
        assert traced.graph is not None
        self.constants, self.compile = traced.constants, traced.compile
        return traced.graph

    def _made(self, missing: frozenset[int]) -> Callable[..., Any]:
        found = None if self.kept is None else self.kept(missing)
        if found is not None:
            return found
        graph = self._graph(missing)
        if self.compile is None:
            return self._interpreted(missing)
        try:
            program = self.compile(graph)
        except ShapeError as error:
            if not self.is_open:
                raise
            # It would add to what the version depends on, which is called already.
            let_through(error)
            return self._interpreted(missing)
        if self.note is not None:
            self.note(missing, program)
        return program.run

    def split(self, forward: Graph, graph: Graph, constants: Mapping[str, Any]) -> None:
        """Take over the way back, and find which of the saved values are results themselves."""
        self.graph, self.constants = graph, constants
        # What flows some way may have turned out to be zeros, which eager code hands on.
        found = _dependencies(graph, len(self.attached))
        self.depends = [on | ways for on, ways in zip(found, self.depends, strict=True)]
        values = forward.output_node().args[0]
        numbers = {values[i]: k for k, i in enumerate(self.attached)}
        self.saved_outputs = [numbers.get(value) for value in values[self.outputs :]]

    @property
    def is_open(self) -> bool:
        """Whether sizes of the outputs are not fixed."""
        return any(type(size) is not int for spec in self.specs for size in spec[0])

    def place(self, inputs: Sequence[TensorInput | NumberInput]) -> None:
        """Find the sources among the inputs of the graph."""
        found = {id(t.tensor): i for i, t in enumerate(inputs) if t.tensor is not None}
        # One that is no input has no influence on the outputs.
        self.positions = [found.get(id(t), -1) for t in self.sources]
        self.rewritten = [found[id(t)] for t in self.rewritten]
        self.relaid = [found[id(t)] for t in self.relaid if id(t) in found]
        self.sources = []


def _dependencies(graph: Graph, tangents: int) -> list[frozenset[int]]:
    """For each output of a way back the tangents, which are its last inputs, that it depends on."""
    known: dict[Any, frozenset[int]] = {}
    inputs = graph.placeholders()
    for k, node in enumerate(inputs[len(inputs) - tangents :]):
        known[node] = frozenset([k])
    for node in graph:
        if node not in known:
            known[node] = frozenset[int]().union(*[known[operand] for operand in node.all_input_nodes])
    outputs = graph.output_node().args[0]
    return [known[value] if value is not None else frozenset() for value in outputs]

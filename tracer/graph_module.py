"""`GraphModule`: a graph that can be called."""

from __future__ import annotations

import copy
import itertools
import linecache
import weakref
from collections.abc import Callable, Iterator, Mapping
from typing import Any, cast

import optree

from opweave.fake.shape_env import ShapeEnv
from opweave.registry.errors import ArgumentError, GraphError
from opweave.registry.interrupts import deferred
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor, describe
from opweave.tracer import printing
from opweave.tracer.graph import Graph
from opweave.tracer.module_tree import ModuleTree

_serial = itertools.count()


class GraphModule(ModuleTree):
    """A graph with its constants, callable as the function it was traced from.

    The functions of control flow are modules in it, by the names of their graphs, and its constants are attributes: a
    tensor that is set as an attribute is one more.

    Parameters
    ----------
    constants : mapping of str to Tensor
        What the graph's `get_attr` nodes read; they are attributes of the module.
    graph : Graph
        May be changed later: the next call compiles it again.
    in_spec, out_spec : optree.PyTreeSpec, optional
        Structure of `(args, kwargs)` and of the result. Without them the module takes and returns what the graph does.
    name : str
        Name of the printed function.

    Examples
    --------
    >>> traced = opweave.make_fx(lambda x: x + 1)(opweave.ones(2))
    >>> type(traced).__name__, traced(opweave.zeros(2)).tolist()
    ('GraphModule', [1.0, 1.0])
    """

    def __init__(
        self,
        constants: Mapping[str, Any],
        graph: Graph,
        in_spec: Any = None,
        out_spec: Any = None,
        name: str = "forward",
    ):
        self.constants: dict[str, Any] = dict(constants)
        self.graph = graph
        self.in_spec = in_spec
        self.out_spec = out_spec
        self.name = name
        self._compiled: Callable[..., Any] | None = None
        self._version = -1
        self._nested: list[Graph] = []
        self._submodules: dict[str, GraphModule] = {}
        #: Inputs that were no tensors when traced: their value is part of the graph.
        self._fixed: list[tuple[int, str, Any]] = []
        self._forget_source: Callable[[], Any] | None = None
        #: Of a trace with symbolic sizes: what they are, and the guards that the graph depends on.
        self.shape_env: ShapeEnv | None = None

    def __getattr__(self, name: str) -> Any:
        state = self.__dict__
        if name in state.get("constants", ()):
            return state["constants"][name]
        if "graph" in state and not name.startswith("__"):
            for child, module in self.named_children():
                if child == name:
                    return module
        raise AttributeError(f"GraphModule has no attribute or constant {name!r}")

    def __setattr__(self, name: str, value: Any) -> None:
        if isinstance(value, Tensor):
            self.constants[name] = value
            return
        if name == "graph":
            self.__dict__["_compiled"] = None  # versions of two graphs say nothing about each other
        self.__dict__[name] = value

    def __delattr__(self, name: str) -> None:
        if name in self.constants:
            del self.constants[name]
        else:
            object.__delattr__(self, name)

    # ---- what it has in it -------------------------------------------------------------------------------------------

    def named_children(self) -> Iterator[tuple[str, GraphModule]]:
        """The functions of control flow, and the regions that the graph calls, by name."""
        for inner in dict.fromkeys(printing.nested_graphs(self.graph)):
            module = self._submodules.get(inner.name)
            if module is None or module.graph is not inner:
                module = self._submodules[inner.name] = GraphModule({}, inner, name=inner.name)
                module.constants = self.constants
            yield inner.name, module

    def tensors_of(self) -> Mapping[str, Tensor]:
        return {name: t for name, t in self.constants.items() if isinstance(t, Tensor)}

    # ---- text --------------------------------------------------------------------------------------------------------

    @property
    def code(self) -> str:
        """The graph as Python; runs given the names of `printing.namespace()`."""
        # An AttributeError of a signal's handler would be taken for that of a missing attribute.
        with deferred():
            return printing.print_graph(self.graph, self.name)

    def print_readable(self, print_output: bool = True) -> str:
        """The code as text; also written to standard output unless told otherwise."""
        text = self.code
        if print_output:
            print(text)
        return text

    def _repr_html_(self) -> str:
        return self.graph._repr_html_()

    def __repr__(self) -> str:
        return f"<GraphModule {self.name}: {len(self.graph)} nodes>"

    def __str__(self) -> str:
        return self.code

    # ---- running -----------------------------------------------------------------------------------------------------

    def recompile(self) -> None:
        """Compile the printed code; a call does so by itself after the graph changed.

        Raises
        ------
        GraphError
            If the graph breaks its rules, or reads a constant that is not there.
        """
        graph = self.graph
        graph.lint()
        for node in graph.nodes:
            if node.op == "get_attr" and node.target not in self.constants:
                raise GraphError(f"{node.name}: the module has no constant {node.target!r}")
        code = self.code
        filename = f"<opweave graph {next(_serial)}>"
        scope = printing.namespace(printing.foreign_functions(graph))
        exec(compile(code, filename, "exec"), scope)
        if self._forget_source is not None:
            self._forget_source()
        # So that a traceback shows the lines of the graph.
        linecache.cache[filename] = (len(code), None, code.splitlines(keepends=True), filename)
        self._forget_source = weakref.finalize(self, linecache.cache.pop, filename, None)
        self._compiled = scope[self.name]
        self._fixed = [
            (index, node.name, node.meta["val"])
            for index, node in enumerate(graph.placeholders())
            if "val" in node.meta and not isinstance(node.meta["val"], (Tensor, Symbolic))
        ]
        self._nested = list(printing.nested_graphs(graph, deep=True))
        self._version = self._present_version()

    def _present_version(self) -> int:
        """Grows with every change to the graph or the functions in it."""
        return self.graph.version + sum([inner.version for inner in self._nested])

    def run_flat(self, *flat: Any) -> Any:
        """Run the graph on its inputs one by one; gives what its output node returns."""
        if self._compiled is None or self._version != self._present_version():
            self.recompile()
        assert self._compiled is not None
        return self._compiled(self, *flat)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call it as the function it was traced from; the same as `forward`."""
        return self.forward(*args, **kwargs)

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call it as the function it was traced from.

        Raises
        ------
        ArgumentError
            If the arguments have another structure, or a number that the graph was traced with has another value.
        """
        if self.in_spec is None:
            return self.run_flat(*args)
        leaves, spec = optree.tree_flatten(cast(Any, (args, kwargs)))
        if spec != self.in_spec:
            raise ArgumentError(
                f"{self.name}: arguments of another structure than it was traced with", got=str(spec),
                hint=f"expected {self.in_spec}",
            )  # fmt: skip
        if self._compiled is None or self._version != self._present_version():
            self.recompile()
        for index, name, value in self._fixed:
            given = leaves[index]
            if given is not value and (isinstance(given, Tensor) or type(given) is not type(value) or given != value):
                raise ArgumentError(
                    f"{self.name}: traced with {name}={value!r}, which is part of the graph now", got=describe(given),
                    hint="trace again for another value, or pass it as a 0-d tensor",
                )  # fmt: skip
        result = self.run_flat(*leaves)
        return result if self.out_spec is None else optree.tree_unflatten(self.out_spec, result)

    # ---- copying -----------------------------------------------------------------------------------------------------

    def _copied(self, graph: Graph, constants: Mapping[str, Any]) -> GraphModule:
        made = GraphModule(constants, graph, self.in_spec, self.out_spec, self.name)
        made.shape_env = self.shape_env
        return made

    def __copy__(self) -> GraphModule:
        """Another module of the same graph and tensors."""
        return self._copied(self.graph, self.constants)

    def __deepcopy__(self, memo: dict[int, Any]) -> GraphModule:
        """With a graph and tensors of its own; fake values and symbols are shared."""
        made = memo[id(self)] = self._copied(self.graph.clone(), copy.deepcopy(self.constants, memo))
        return made

    def __reduce__(self) -> Any:
        """Pickled are graph, tensors and structure; fake values and symbols are not, which belong to a trace."""
        return _unpickled, (self.constants, self.graph, self.in_spec, self.out_spec, self.name)


def _unpickled(constants: Any, graph: Graph, in_spec: Any, out_spec: Any, name: str) -> GraphModule:
    return GraphModule(constants, graph, in_spec, out_spec, name)

"""`Graph`: a program as a `networkx.MultiDiGraph`.

Its nodes are `Node` objects, in program order; an edge goes from an operand to its user and its key says where the
operand stands: `(0,)` is the first positional operand, `(0, 2)` the third element of a list that is the first operand,
`("dim",)` a keyword operand. So any networkx algorithm applies as it is:

    nx.ancestors(graph, node)                   all that a node depends on
    list(nx.topological_sort(graph))            an order to run it in
    nx.is_isomorphic(graph, other)              same structure

Change it through the methods here and on `Node`, which keep edges and operands in step; `lint` checks that they are.
networkx's own `copy()`, `subgraph()` and `reverse()` give graphs over the *same* nodes, to look at; `clone()` gives a
copy that can be changed.
"""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Callable, Container, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, cast

from opweave.registry.errors import GraphError
from opweave.registry.loading import load_heavy
from opweave.tracer import pickling, printing
from opweave.tracer.networks import load_networkx
from opweave.tracer.node import OPS, Node
from opweave.tracer.operands import map_operands, operand_paths
from opweave.tracer.order import Cell, OrderedNodes

__all__ = ["Graph", "Node"]

_NUMBERED = re.compile(r"(.*?)_(\d+)$")
_NOT_NAME = re.compile(r"\W+")
# Printed code uses these names itself.
_RESERVED = frozenset({*keyword.kwlist, *keyword.softkwlist, *dir(builtins), *printing.GLOBAL_NAMES, "self"})


if TYPE_CHECKING:
    from pathlib import Path

    import networkx as nx

    _MultiDiGraph = nx.MultiDiGraph[Node]  # generic in its stubs alone
else:
    _MultiDiGraph = load_networkx().MultiDiGraph


class Graph(_MultiDiGraph):
    """A program: inputs, constants, calls and one output, in order.

    Examples
    --------
    >>> from opweave import ops
    >>> graph = Graph()
    >>> x = graph.placeholder("x")
    >>> y = graph.call_function(ops.aten.mul.Tensor, (x, 2))
    >>> _ = graph.output((y,))
    >>> print(graph)
    def forward(self, x):
        mul = ops.aten.mul.Tensor(x, 2)
        return (mul,)
    """

    node_dict_factory = OrderedNodes
    node_attr_dict_factory = Cell
    _node: Any
    _succ: Any
    _pred: Any

    def __init__(self, incoming_graph_data: Any = None, multigraph_input: bool | None = None, **attr: Any):
        self._names: dict[str, Node] = {}
        self._counts: dict[str, int] = {}
        made: tuple[Any, ...] = (incoming_graph_data, multigraph_input)
        super().__init__(*made, **attr)  # pyright: ignore[reportUnknownMemberType]  # networkx has no types here

    # ---- making nodes ------------------------------------------------------------------------------------------------

    def create_node(
        self,
        op: str,
        target: Any,
        args: tuple[Any, ...] | list[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Node:
        """A new node at the insertion point (the end, unless `inserting_before` or `inserting_after` is active).

        Parameters
        ----------
        op : str
            See `Node`.
        target : Any
            What it calls or reads.
        args, kwargs : tuple, mapping
            Operands: constants and nodes of this graph, nested in lists, tuples, dicts and slices.
        name : str, optional
            Wanted name; made from the target where not given, and made unique.
        """
        if op not in OPS:
            raise GraphError(f"a node cannot be a {op!r}", hint="one of " + ", ".join(sorted(OPS)))
        node = Node(self, self._unique_name(name if name is not None else printing.base_name(op, target)), op, target)
        self.add_node(node, op=op, target=target)
        self._names[node.name] = node
        if args or kwargs:
            try:
                node.set_operands(args, kwargs or {})
            except GraphError:
                self.remove_node(node)
                raise
        return node

    def placeholder(self, name: str) -> Node:
        """A new input."""
        node = self.create_node("placeholder", name, name=name)
        node.target = node.name
        return node

    def get_attr(self, name: str) -> Node:
        """A node that reads a constant of the graph module."""
        return self.create_node("get_attr", name)

    def call_function(
        self,
        target: Any,
        args: tuple[Any, ...] | list[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        name: str | None = None,
    ) -> Node:
        """A new call of an op, a higher-order op, a Python function or a `Graph`."""
        return self.create_node("call_function", target, args, kwargs, name)

    def output(self, args: Any) -> Node:
        """The node that returns `args`, nested like an operand."""
        return self.create_node("output", "output", (args,))

    def _unique_name(self, wanted: str) -> str:
        name = _NOT_NAME.sub("_", wanted) or "_"
        if name[0].isdigit():
            name = f"_{name}"
        if name not in self._names and name not in _RESERVED:
            return name
        numbered = _NUMBERED.match(name)
        base, number = (numbered[1], int(numbered[2])) if numbered else (name, 0)
        number = max(self._counts.get(base, 0), number)
        while True:
            number += 1
            name = f"{base}_{number}"
            if name not in self._names and name not in _RESERVED:
                self._counts[base] = number
                return name

    def rename(self, node: Node, name: str) -> None:
        """Give a node another name, made unique."""
        del self._names[node.name]
        node.name = self._unique_name(name)
        self._names[node.name] = node
        if node.op == "placeholder":
            node.target = node.name
        self.touch()

    def inserting_before(self, node: Node | None = None) -> AbstractContextManager[None]:
        """Within the block new nodes go before `node` (None: first), in the order they are made."""
        order = self.node_order
        return _InsertionPoint(order, order.end.after if node is None else order.cell(node))

    def inserting_after(self, node: Node | None = None) -> AbstractContextManager[None]:
        """Within the block new nodes go after `node` (None: last), in the order they are made."""
        order = self.node_order
        return _InsertionPoint(order, order.end if node is None else order.cell(node).after)

    # ---- taking away -------------------------------------------------------------------------------------------------

    def erase_node(self, node: Node) -> None:
        """Remove a node that nothing uses.

        Raises
        ------
        GraphError
            If it has users.
        """
        if node.users:
            raise GraphError(
                f"erase_node: {node.name} is still used", got="by " + ", ".join(user.name for user in node.users),
                hint="replace its uses first: node.replace_all_uses_with(...)",
            )  # fmt: skip
        self.remove_node(node)

    def remove_node(self, n: Any) -> None:
        """networkx's own: removes a node and its edges, whether it is used or not."""
        super().remove_node(n)
        if isinstance(n, Node) and self._names.get(n.name) is n:
            del self._names[n.name]

    def clear(self) -> None:
        """networkx's own: removes everything."""
        super().clear()
        self._names.clear()
        self._counts.clear()

    # ---- looking -----------------------------------------------------------------------------------------------------

    @property
    def node_order(self) -> OrderedNodes:
        """The nodes in program order, and the means to change it."""
        return self._node

    @property
    def version(self) -> int:
        """Grows with every change."""
        return self._node.version

    def touch(self) -> None:
        """Note a change."""
        order = self._node
        if type(order) is OrderedNodes:
            order.version += 1

    def succ_of(self, node: Node) -> dict[Node, Any]:
        """Users of a node (see `Node.users`)."""
        return self._succ[node]

    def named(self, name: str) -> Node | None:
        """The node of that name."""
        return self._names.get(name)

    def find_nodes(self, *, op: str | None = None, target: Any = None) -> list[Node]:
        """Nodes of a kind, or with a target, in program order."""
        return [
            node
            for node in self.nodes
            if (op is None or node.op == op) and (target is None or node.target is target or node.target == target)
        ]

    def placeholders(self) -> list[Node]:
        """The inputs in order."""
        return [node for node in self.nodes if node.op == "placeholder"]

    def output_node(self) -> Node:
        """The output.

        Raises
        ------
        GraphError
            If there is none yet.
        """
        for node in reversed(self.node_order):
            if node.op == "output":
                return node
        raise GraphError("the graph has no output", hint="call graph.output(...)")

    @property
    def outputs(self) -> Any:
        """What the output node returns."""
        return self.output_node().args[0]

    # ---- copying -----------------------------------------------------------------------------------------------------

    def node_copy(self, node: Node, transform: Callable[[Node], Any]) -> Node:
        """Copy a node of any graph to the insertion point.

        Parameters
        ----------
        node : Node
            What to copy; meta is copied too, a `Graph` that is called or an operand is cloned.
        transform : callable
            Gives for each operand node its counterpart in this graph.
        """

        def counterpart(value: Any) -> Any:
            if isinstance(value, Graph):
                return value.clone()
            return transform(value) if isinstance(value, Node) else value

        target = node.target.clone() if isinstance(node.target, Graph) else node.target
        args = map_operands(node.args, counterpart)
        copy = self.create_node(node.op, target, args, map_operands(node.kwargs, counterpart), node.name)
        if node.op == "placeholder":
            copy.target = copy.name
        copy.meta = dict(node.meta)
        return copy

    def copy_nodes(self, source: Graph, mapping: dict[Node, Any]) -> Any:
        """Copy another graph's calls to the insertion point.

        Parameters
        ----------
        source : Graph
            What to copy. Its output node is left out.
        mapping : dict of Node to Any
            What stands for its nodes here. Must have its placeholders, unless they are to be copied as well; every copy
            is added.

        Returns
        -------
        Any
            What the source's output returns, with its nodes replaced.
        """
        for node in list(source.nodes):
            if node.op == "output":
                return map_operands(node.args[0], lambda value: mapping[value] if isinstance(value, Node) else value)
            if node not in mapping:
                mapping[node] = self.node_copy(node, mapping.__getitem__)
        return None

    def clone(self) -> Graph:
        """An independent copy with the same names; called graphs are cloned, tensors and fake values shared."""
        copy = Graph()
        copy.graph.update(self.graph)
        mapping: dict[Node, Any] = {}
        outputs = copy.copy_nodes(self, mapping)
        for node in self.nodes:
            if node.op == "output":
                copy.output(outputs).meta = dict(node.meta)
        return copy

    def __deepcopy__(self, memo: object) -> Graph:
        return self.clone()

    def __reduce__(self) -> Any:
        return _unpickled, (pickling.rows_of(self), dict(self.graph))

    # ---- checking ----------------------------------------------------------------------------------------------------

    def lint(self) -> None:
        """Check that the graph keeps its rules; called graphs too.

        Raises
        ------
        GraphError
            If operands come from elsewhere or later, edges and operands differ, names are not unique identifiers, a
            target cannot be called, inputs are not first or there is not exactly one output at the end.
        """
        seen: dict[str, Node] = {}
        done: set[Node] = set()
        last: Node | None = None
        for node in cast("Iterable[Any]", self.nodes):
            if not isinstance(node, Node):
                raise GraphError("a graph's nodes must be Node objects", got=repr(node))
            if last is not None and last.op == "output":
                raise GraphError(f"{node.name}: stands after the output")
            if node.op == "placeholder" and last is not None and last.op != "placeholder":
                raise GraphError(f"{node.name}: an input must stand before everything else", got=f"after {last.name}")
            self._lint_node(node, seen, done)
            seen[node.name] = node
            done.add(node)
            last = node
        if last is None or last.op != "output":
            raise GraphError("the graph has no output", hint="call graph.output(...)")

    def _lint_node(self, node: Node, seen: Mapping[str, Node], done: set[Node]) -> None:
        if node.graph is not self:
            raise GraphError(f"{node.name}: belongs to another graph")
        if not node.name.isidentifier() or node.name in _RESERVED:
            raise GraphError(f"{node.name!r}: not a usable name for a node")
        if node.name in seen:
            raise GraphError(f"{node.name}: two nodes have this name")
        if node.op == "call_function" and isinstance(node.target, Graph):
            node.target.lint()
        elif node.op == "call_function" and not callable(node.target):
            raise GraphError(f"{node.name}: the target cannot be called", got=repr(node.target))
        for inner in printing.operand_graphs(node):
            inner.lint()
        expected = [*operand_paths(node.args, Node), *operand_paths(node.kwargs, Node)]
        for path, source in expected:
            if source not in done:
                where = "comes later" if source in self else "is not in the graph"
                raise GraphError(f"{node.name}: operand {source.name} at {printing.path_text(path)} {where}")
        edges = {(source, path) for source, _, path in self.in_edges(node, keys=True)}
        if edges != {(source, path) for path, source in expected}:
            raise GraphError(
                f"{node.name}: edges and operands differ",
                hint="change operands through node.args and node.kwargs, not through networkx's edges",
            )
        printing.check_operands(node)

    # ---- text --------------------------------------------------------------------------------------------------------

    def __str__(self) -> str:
        return printing.print_graph(self)

    def __repr__(self) -> str:
        name = f" {self.name!r}" if self.name else ""
        return f"<Graph{name}: {len(self)} nodes>"

    def format_node(self, node: Node) -> str:
        """The line that stands for a node."""
        return printing.node_line(node)

    def print_readable(self, print_output: bool = True) -> str:
        """The graph as runnable Python; also written to standard output unless told otherwise."""
        text = str(self)
        if print_output:
            print(text)
        return text

    # ---- pictures and other forms ------------------------------------------------------------------------------------

    def draw(self, path: str | Path | None = None) -> str:
        """The graph as a picture: layers from top to bottom, each node below all that it reads.

        Parameters
        ----------
        path : str or Path, optional
            A file that ends in `.svg`, to be written.

        Returns
        -------
        str
            The SVG.

        Raises
        ------
        ArgumentError
            If the file has another ending.
        """
        return load_heavy("opweave.tracer.drawing").draw(self, path)

    def to_networkx(self) -> Any:
        """A plain `networkx.MultiDiGraph` of text alone, which every exporter of networkx takes.

        Its nodes are the names; their attributes are `op`, `kind`, `label`, `type`, `text` and `site`. The key of an
        edge, and its attribute `operand`, say where the operand stands.

        Examples
        --------
        >>> nx.write_graphml(graph.to_networkx(), "g.graphml")  # doctest: +SKIP
        >>> nx.node_link_data(graph.to_networkx(), edges="edges")  # doctest: +SKIP
        >>> nx.nx_pydot.write_dot(graph.to_networkx(), "g.dot")  # doctest: +SKIP
        """
        return load_heavy("opweave.tracer.drawing").to_networkx(self)

    def _repr_html_(self) -> str:
        return load_heavy("opweave.tracer.drawing").html(self)


class _InsertionPoint(AbstractContextManager[None]):
    def __init__(self, order: OrderedNodes, cell: Cell):
        self.node_order = order
        self.cell = cell

    def __enter__(self) -> None:
        self.saved = self.node_order.cursor
        self.node_order.cursor = self.cell

    def __exit__(self, *_: object) -> None:
        cell = self.saved
        # What new nodes went before may have been erased meanwhile.
        while cell.number is None:
            cell = cell.after
        self.node_order.cursor = cell


def nodes_in(values: Any) -> Iterable[Node]:
    """Nodes among nested operands, in order, with repetition."""
    return (node for _, node in operand_paths(values, Node))


def computed_from(nodes: Iterable[Node], among: Container[Node] | None = None) -> set[Node]:
    """The nodes that read others, or read what reads them; all of them among some."""
    found, waiting = set[Node](), list(nodes)
    while waiting:
        for user in waiting.pop().users:
            if user not in found and (among is None or user in among):
                found.add(user)
                waiting.append(user)
    return found


def needed_for(nodes: Iterable[Node], among: Container[Node] | None = None) -> set[Node]:
    """Nodes and what they are computed from; all of them among some."""
    found, waiting = set[Node](), list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found and (among is None or node in among):
            found.add(node)
            waiting += node.all_input_nodes
    return found


def _unpickled(rows: list[pickling.Row], attributes: dict[str, Any]) -> Graph:
    graph = Graph()
    pickling.fill(graph, rows, attributes)
    return graph

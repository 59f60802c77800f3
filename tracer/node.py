"""`Node`: one step of a graph."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from opweave.registry.errors import GraphError
from opweave.tracer.operands import ATOMS, ImmutableDict, map_operands, operand_paths

if TYPE_CHECKING:
    from opweave.tracer.graph import Graph

#: What a node can be.
OPS = frozenset({"placeholder", "call_function", "get_attr", "output"})


class Node:
    """One step of a graph; made by the graph's own methods. Nodes compare by identity, `<` is program order.

    Attributes
    ----------
    graph : Graph
        The graph it belongs to.
    name : str
        Unique in the graph, a Python identifier.
    op : str
        `placeholder` (an input), `get_attr` (a constant of the graph module), `call_function`, `output`.
    meta : dict
        `val`: its fake value; `site`: the user's line that made it; `stack`: the user's lines that led there;
        `forward_stack`: on the way back the lines of the op that is differentiated.

    Examples
    --------
    >>> traced = opweave.make_fx(lambda x: x + 1)(opweave.ones(2))
    >>> [(node.op, node.name) for node in traced.graph.nodes]
    [('placeholder', 'x_1'), ('call_function', 'add'), ('output', 'output')]
    """

    __slots__ = ("graph", "name", "op", "_target", "_args", "_kwargs", "meta", "__weakref__")

    graph: Graph
    name: str
    op: str
    meta: dict[str, Any]
    _target: Any
    _args: tuple[Any, ...]
    _kwargs: ImmutableDict

    def __init__(self, graph: Graph, name: str, op: str, target: Any):
        self.graph = graph
        self.name = name
        self.op = op
        self._target = target
        self._args = ()
        self._kwargs = _NO_KWARGS
        self.meta = {}

    # ---- what it does ------------------------------------------------------------------------------------------------

    @property
    def target(self) -> Any:
        """An op, a higher-order op, `operator.getitem` or a `Graph` to call; the name of an input or constant."""
        return self._target

    @target.setter
    def target(self, target: Any) -> None:
        self._target = target
        self.graph.nodes[self]["target"] = target
        self.graph.touch()

    @property
    def args(self) -> tuple[Any, ...]:
        """Positional operands, with nodes inside; assigning keeps the graph's edges in step."""
        return self._args

    @args.setter
    def args(self, args: tuple[Any, ...]) -> None:
        self.set_operands(args, self._kwargs)

    @property
    def kwargs(self) -> ImmutableDict:
        """Operands by name; assigning keeps the graph's edges in step."""
        return self._kwargs

    @kwargs.setter
    def kwargs(self, kwargs: Mapping[str, Any]) -> None:
        self.set_operands(self._args, kwargs)

    def set_operands(self, args: tuple[Any, ...] | list[Any], kwargs: Mapping[str, Any]) -> None:
        """Replace all operands.

        Raises
        ------
        GraphError
            If a node among them belongs to another graph.
        """
        graph = self.graph
        edges: list[tuple[tuple[Any, ...], Node]] = []
        frozen: list[Any] = []
        for index, value in enumerate(args):
            kind = value.__class__
            if kind is Node:
                edges.append(((index,), value))
            elif kind not in ATOMS:
                value = map_operands(value, _same)
                edges += operand_paths(value, Node, (index,))
            frozen.append(value)
        new_args = tuple(frozen)
        new_kwargs = _NO_KWARGS
        if kwargs:
            new_kwargs = map_operands(dict(kwargs), _same)
            edges += operand_paths(new_kwargs, Node)
        for _, source in edges:
            if source not in graph:
                raise GraphError(
                    f"{self.name}: operand {source.name} belongs to another graph",
                    hint="copy the node into this graph first: graph.node_copy(...)",
                )
        if self._args or self._kwargs:
            graph.remove_edges_from(list(graph.in_edges(self, keys=True)))
        self._args = new_args
        self._kwargs = new_kwargs
        for path, source in edges:
            graph.add_edge(source, self, path)
        graph.touch()

    def update_arg(self, index: int, value: Any) -> None:
        """Replace one positional operand."""
        args = list(self._args)
        args[index] = value
        self.args = tuple(args)

    def update_kwarg(self, name: str, value: Any) -> None:
        """Replace (or add) one operand by name."""
        self.kwargs = {**self._kwargs, name: value}

    # ---- neighbours --------------------------------------------------------------------------------------------------

    @property
    def users(self) -> Mapping[Node, Mapping[tuple[Any, ...], Any]]:
        """Nodes that have this one as operand, each with the operand positions; a live view."""
        return MappingProxyType(self.graph.succ_of(self))

    @property
    def all_input_nodes(self) -> list[Node]:
        """Nodes among the operands, each once, in the order of first use."""
        return list(self.graph.predecessors(self))

    def replace_all_uses_with(
        self, new: Any, where: Callable[[Node], bool] | None = None, *, propagate_meta: bool = False
    ) -> list[Node]:
        """Put another value (a node, or a constant) in this node's place in all its users.

        Parameters
        ----------
        new : Node or Any
            What users get instead; where it is itself a user, it is left alone.
        where : callable, optional
            Only users for which this holds.
        propagate_meta : bool
            Copy this node's meta entries that `new` lacks.

        Returns
        -------
        list of Node
            The users that changed.
        """
        changed = [user for user in list(self.users) if user is not new and (where is None or where(user))]
        for user in changed:
            user.replace_input_with(self, new)
        if propagate_meta and isinstance(new, Node):
            new.meta = {**self.meta, **new.meta}
        return changed

    def replace_input_with(self, old: Node, new: Any) -> None:
        """Put `new` wherever `old` stands among this node's operands."""

        def swap(value: Any) -> Any:
            return new if value is old else value

        self.set_operands(map_operands(self._args, swap), map_operands(self._kwargs, swap))

    # ---- place -------------------------------------------------------------------------------------------------------

    @property
    def next(self) -> Node | None:
        """The node after this one, None after the last."""
        return self.graph.node_order.cell(self).after.key

    @property
    def prev(self) -> Node | None:
        """The node before this one, None before the first."""
        return self.graph.node_order.cell(self).before.key

    def prepend(self, node: Node) -> None:
        """Move a node of the same graph to just before this one."""
        order = self.graph.node_order
        order.move(node, order.cell(self))

    def append(self, node: Node) -> None:
        """Move a node of the same graph to just after this one."""
        order = self.graph.node_order
        if node is not self:
            order.move(node, order.cell(self).after)

    def __lt__(self, other: Node) -> bool:
        order = self.graph.node_order
        return order.number(self) < order.number(other)

    # ---- text --------------------------------------------------------------------------------------------------------

    def __repr__(self) -> str:
        return self.name

    def format_node(self) -> str:
        """The line that the printed graph has for this node."""
        return self.graph.format_node(self)

    def __deepcopy__(self, memo: object) -> Node:
        # A node is part of its graph; only the graph can be copied.
        return self


def _same(value: Any) -> Any:
    return value


_NO_KWARGS = ImmutableDict()

"""Which nodes can share one iteration space, and at which index each of them is evaluated there.

A kernel runs over *kept* axes (one result each) and *reduced* axes. Starting from a result and walking against the
data flow, every node is *demanded* at an index expressed in those axes: a pointwise op demands its operands at its own
index (0 in stretched dimensions), a view at the index that its rule maps to, a reduction at its own index plus the
reduced axes, tensors that lie side by side at the index less where each begins, *guarded*: outside its piece a value
does not count, and must not be read. Views therefore cost nothing, and any chain of broadcasts, transposes and
regroupings is one expression.

The fusion pass grows groups with this analysis, codegen replays it on the region it gets.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import field

from opweave.registry.dataclass import dataclass
from opweave.registry.op import OpOverload
from opweave.registry.ops.kinds.base import Kind
from opweave.registry.ops.kinds.loops import Call, Demand
from opweave.registry.tensor import Tensor
from opweave.tracer.declared import declared, kind_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.loops.calls import NodeCall, NodeOperand
from opweave.tracer.loops.index import Axis, Digit, Index, linearize, regroup, row_major
from opweave.tracer.loops.size import Size, divide, hint, product, sizes as sizes_from


def sizes_of(node: Node) -> tuple[Size, ...]:
    """Sizes of a node's tensor value."""
    return sizes_from(node.meta["val"]._sizes)


def numel_of(node: Node) -> int:
    """Number of elements of a node's tensor value, in the example."""
    return hint(product(sizes_of(node)))


def classify(node: Node) -> tuple[Kind | None, str]:
    """(kind of op, "") of a node that can be part of a kernel, (None, reason) of one that cannot."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload):
        return None, "no operator" if node.op == "call_function" else node.op
    if target.decl is None:
        return None, "opaque: custom_op"
    kind = declared(node)
    if kind is None:
        return None, "opaque: another kernel is registered"
    if kind.apart:
        return None, kind.apart
    value = node.meta.get("val")
    if not isinstance(value, Tensor):
        return None, "result is not one tensor"
    tensors = [value]
    for operand in node.all_input_nodes:
        tensor = operand.meta.get("val")
        if not isinstance(tensor, Tensor):
            return None, "operand is not a tensor"
        tensors.append(tensor)
    for tensor in tensors:
        if tensor._dtype.triton is None:
            return None, f"dtype {tensor._dtype.name} has no Triton type"
        if 0 in sizes_from(tensor._sizes):
            return None, "no elements"
        if tensor._device is not value._device:
            return None, f"operand on {tensor._device}"
    reason = kind.objection(NodeCall(node))
    return (None, reason) if reason else (kind, "")


def is_scatter(node: Node) -> bool:
    """Whether a node is a call of a scatter."""
    kind = kind_of(node)
    return kind is not None and kind.scatters


def reads_memory(user: Node, operand: Node) -> bool:
    """Whether a node reads elements of an operand that are known only when it runs, or is a scatter into it."""
    kind = kind_of(user)
    return kind is not None and kind.takes_places and kind.reads_memory(NodeCall(user), NodeOperand(operand))


def scatter_source(node: Node) -> Node:
    """What a scatter writes to a copy of."""
    return _scattered_to(node)[0]


def is_only_scattered_to(source: Node) -> bool:
    """Whether what a region's scatter writes to a copy of is not read there in any other way."""
    (user,) = source.users if len(source.users) == 1 else (None,)
    return user is not None and is_scatter(user) and _scattered_to(user) == (source, True)


def _scattered_to(node: Node) -> tuple[Node, bool]:
    call = NodeCall(node)
    operand, is_all = call.kind.scattered_to(call)
    assert isinstance(operand, NodeOperand)
    return operand.node, is_all


@dataclass
class IterationSpace:
    """Axes of a kernel and the index of every node evaluated in it.

    Attributes
    ----------
    kept, reduced : list of Axis
        Axes of the results, and axes that reductions run over.
    demands : dict of Node to list of Demand
        Distinct indices of each member.
    frames : dict
        Shapes that results have, with their index: where another result of that shape can go.
    origin : Demand
        Where the node is evaluated that the space was made for.
    scatters : bool
        Whether that is a scatter; it is then the only result.
    """

    kept: list[Axis] = field(default_factory=list[Axis])
    reduced: list[Axis] = field(default_factory=list[Axis])
    demands: dict[Node, list[Demand]] = field(default_factory=dict[Node, list[Demand]])
    frames: dict[tuple[Size, ...], tuple[Index, ...]] = field(default_factory=dict[tuple[Size, ...], tuple[Index, ...]])
    inputs_of_reductions: dict[Node, tuple[Index, ...]] = field(default_factory=dict[Node, tuple[Index, ...]])
    origin: Demand = field(default_factory=lambda: Demand((), True))
    scatters: bool = False
    _calls: dict[Node, NodeCall] = field(default_factory=dict[Node, NodeCall], repr=False)

    @staticmethod
    def of(node: Node) -> IterationSpace:
        """The space whose kept axes are the dimensions of a node.

        That of a scatter has those of what is written: along the ones that index tensors have, places may repeat, so
        these are reduced axes, which a kernel runs through in order.
        """
        call = NodeCall(node)
        sizes, in_order = call.kind.extent(call)
        axes = [Axis(f"i{d}", size) for d, size in enumerate(sizes)]
        space = IterationSpace()
        space.kept = [axis for d, axis in enumerate(axes) if axis.size != 1 and d not in in_order]
        space.reduced = [axis for d, axis in enumerate(axes) if axis.size != 1 and d in in_order]
        space.scatters = call.kind.scatters
        space.origin = Demand(tuple([Index.of(axis) for axis in axes]), not space.scatters)
        space.frames[tuple(sizes)] = space.origin.index
        return space

    def call(self, node: Node) -> NodeCall:
        """A node as kinds see it."""
        found = self._calls.get(node)
        if found is None:
            found = self._calls[node] = NodeCall(node)
        return found

    def demand_of(self, node: Node, users: Iterable[Node]) -> list[Demand]:
        """All distinct indices at which members need `node`; what a gather reads lies in memory."""
        result: list[Demand] = []
        operand = self.call(node).result
        for user in users:
            if user not in self.demands:
                continue
            call = self.call(user)
            for demand in self.demands[user]:
                for found in call.kind.demands(call, operand, demand, self):
                    if not any(found.same(other) for other in result):
                        result.append(found)
        return result

    def covers(self, node: Node, demand: Demand) -> bool:
        """Whether the index runs over all elements of a node, each once for the kept axes or for all axes."""
        return self.runs_over(self.call(node).result.sizes, demand)

    def runs_over(self, sizes: Sequence[Size], demand: Demand) -> bool:
        """`covers` for a tensor of these sizes."""
        if demand.guards:
            return False
        axes = demand.axes
        if axes != frozenset(self.kept) and axes != frozenset([*self.kept, *self.reduced]):
            return False
        if product(axis.size for axis in axes) != product(sizes):
            return False
        return demand.exact or _is_mixed_radix(linearize(demand.index, row_major(sizes)))

    def would_cover(self, node: Node, demand: Demand) -> bool:
        """Whether it would cover the node if the axes that the index leaves out were reduced ones."""
        axes = demand.axes
        sizes = sizes_of(node)
        return (
            not self.reduced
            and not demand.guards
            and axes < frozenset(self.kept)
            and product(axis.size for axis in axes) == product(sizes)
            and _is_mixed_radix(linearize(demand.index, row_major(sizes)))
        )

    def keep_only(self, demand: Demand) -> None:
        """Make the axes that an index leaves out reduced ones, so that its value is a result of a row."""
        axes = demand.axes
        self.reduced = [axis for axis in self.kept if axis not in axes]
        self.kept = [axis for axis in self.kept if axis in axes]

    def take_apart(self, demands: Sequence[Demand]) -> list[Demand]:
        """Make axes of the parts of kept ones that indices ask for, as of `c // 8` a group and a place in it.

        Returns
        -------
        list of Demand
            The same demands in the new axes.
        """
        parts: dict[Axis, Index] = {}
        for digit in [digit for demand in demands for index in demand.index for digit in index.digits()]:
            found = _axis_of(digit)
            length = divide(found.size, digit.divisor) if found is not None else None
            if found is None or length is None or found not in self.kept or found in parts or digit.modulus is not None:
                continue
            group, place = Axis(f"{found.name}a", length), Axis(f"{found.name}b", digit.divisor)
            parts[found] = Index.of(group) * digit.divisor + Index.of(place)
            at = self.kept.index(found)
            self.kept[at : at + 1] = [axis for axis in (group, place) if axis.size != 1]
        if not parts:
            return list(demands)

        def renamed(index: tuple[Index, ...]) -> tuple[Index, ...]:
            return tuple([part.substitute(parts) for part in index])

        def again(demand: Demand) -> Demand:
            guards = tuple([guard._replace(position=guard.position.substitute(parts)) for guard in demand.guards])
            return Demand(renamed(demand.index), demand.exact, guards)

        self.demands = {node: [again(demand) for demand in found] for node, found in self.demands.items()}
        self.frames = {sizes: renamed(index) for sizes, index in self.frames.items()}
        self.inputs_of_reductions = {node: renamed(index) for node, index in self.inputs_of_reductions.items()}
        self.origin = again(self.origin)
        return [again(demand) for demand in demands]

    def add_reduced(self, sizes: Sequence[Size]) -> None:
        """Run over more axes, of these sizes, for each of the kept ones."""
        self.reduced = [Axis(f"r{d}", size) for d, size in enumerate(sizes)]

    def reduced_index(self, sizes: Sequence[Size]) -> Sequence[Index]:
        """The reduced axes as an index into dimensions of these sizes."""
        index, have = [Index.of(axis) for axis in self.reduced], [axis.size for axis in self.reduced]
        return index if have == sizes else regroup(index, have, sizes)

    def join(self, call: Call, demands: Sequence[Demand], source: tuple[Index, ...] | None = None) -> None:
        """Make a call a member, needed at the demands; a reduction needs its operand at `source`."""
        self.demands[call.node] = list(demands)
        if source is not None:
            self.inputs_of_reductions[call.node] = source

    def source_of(self, call: Call) -> tuple[Index, ...]:
        """Where a reduction that is a member needs its operand."""
        return self.inputs_of_reductions[call.node]

    def admit(self, node: Node, demands: list[Demand]) -> str:
        """Make a node a member at these indices; a reason if it does not fit."""
        call = self.call(node)
        return call.kind.admit(call, demands, self)

    def root_demand(self, node: Node) -> Demand | None:
        """Where a result that no member needs can be evaluated: at the index of a member of the same shape."""
        call = self.call(node)
        index = self.frames.get(call.result.sizes)
        if index is None:
            index = call.kind.place(call, self)
        if index is None:
            return None
        return Demand(index, self.covers(node, Demand(index, False)))


def _axis_of(digit: Digit) -> Axis | None:
    """The axis that a digit is a part of, if it is one of a whole axis."""
    terms = list(digit.base.terms.items())
    if len(terms) != 1 or digit.base.const or terms[0][1] != 1 or not isinstance(terms[0][0], Axis):
        return None
    return terms[0][0]


def _is_mixed_radix(index: Index) -> bool:
    """Whether an expression counts from 0 upwards without gaps or repeats as its axes run."""
    if index.const or not all(isinstance(atom, Axis) for atom in index.terms):
        return False
    expected: Size = 1
    for atom, coefficient in sorted(index.terms.items(), key=lambda item: hint(item[1])):
        if coefficient != expected:
            return False
        expected = expected * (atom.top + 1)
    return True


def analyse(region: Graph, results: Sequence[Node]) -> IterationSpace:
    """The iteration space of a fused region.

    Parameters
    ----------
    region : Graph
        Placeholders, fusible nodes and an output.
    results : sequence of Node
        Nodes whose values leave the region.

    Raises
    ------
    ValueError
        With a reason, if the nodes do not fit one space.
    """
    return space_of([node for node in region.nodes if node.op == "call_function"], results)


def space_of(nodes: Sequence[Node], results: Collection[Node]) -> IterationSpace:
    """The iteration space of fusible nodes, in program order; see `analyse`."""
    space: IterationSpace | None = None
    for node in reversed(nodes):
        demands = space.demand_of(node, node.users) if space is not None else []
        if not demands:
            if node not in results:
                continue
            if space is None:
                space = IterationSpace.of(node)
                demands = [space.origin]
            else:
                found = space.root_demand(node)
                if found is None:
                    raise ValueError(f"{node.name}: no place for a result of shape {sizes_of(node)}")
                demands = [found]
        assert space is not None
        if space.call(node).kind.reduces:
            demands = space.take_apart(demands)
        reason = space.admit(node, demands)
        if reason:
            raise ValueError(f"{node.name}: {reason}")
        if node in results and not space.scatters and not any(space.covers(node, demand) for demand in demands):
            rows = next((demand for demand in demands if space.would_cover(node, demand)), None)
            if rows is not None:
                space.keep_only(rows)
                continue
            raise ValueError(f"{node.name}: not evaluated once for every element")
    if space is None:
        raise ValueError("an empty region")
    return space

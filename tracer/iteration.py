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

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from opweave.fake.symbolic import statically_known_true
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload
from opweave.registry.ops.kinds.gather import Place, Places, Scatter
from opweave.registry.ops.kinds.reduction import COMBINES
from opweave.registry.tensor import Tensor
from opweave.tracer.declared import declared
from opweave.tracer.graph import Graph, Node
from opweave.tracer.index import ZERO, Axis, Index, groups, linearize, regroup, row_major
from opweave.tracer.size import Size, hint, product, size_of, sizes as sizes_from

FUSIBLE = ("pointwise", "map", "view", "reduction", "generator", "gather", "scatter", "pieces", "move", "scan")
#: Elements of a row up to which a program holds it whole, as running totals need.
MAX_SCAN = 4096


class Guard(NamedTuple):
    """Where a piece lies: `start <= position < stop`."""

    position: Index
    start: Size
    stop: Size


@dataclass(frozen=True, slots=True)
class Demand:
    """An index at which a node's value is needed where all guards hold; `exact` if all its elements are, each once."""

    index: tuple[Index, ...]
    exact: bool
    guards: tuple[Guard, ...] = ()

    def at(self, index: tuple[Index, ...], exact: bool = False) -> Demand:
        """What an operand is needed at, under the same guards."""
        return Demand(index, exact and not self.guards, self.guards)

    def same(self, other: Demand) -> bool:
        """Whether the same elements are needed at the same points."""
        return self.index == other.index and self.guards == other.guards


def sizes_of(node: Node) -> tuple[Size, ...]:
    """Sizes of a node's tensor value."""
    return sizes_from(node.meta["val"]._sizes)


def numel_of(node: Node) -> int:
    """Number of elements of a node's tensor value, in the example."""
    return hint(product(sizes_of(node)))


def classify(node: Node) -> tuple[str | None, str]:
    """(kind, "") of a node that can be part of a kernel, (None, reason) of one that cannot."""
    target = node.target
    if node.op != "call_function" or not isinstance(target, OpOverload):
        return None, "no operator" if node.op == "call_function" else node.op
    if target.decl is None:
        return None, "opaque: custom_op"
    decl = declared(node)
    if decl is None:
        return None, "opaque: another kernel is registered"
    if decl.kind not in FUSIBLE:
        return None, {"extern": "library call"}.get(decl.kind, f"{decl.kind} op")
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
    if decl.kind == "view":
        if value._dtype is not tensors[1]._dtype:
            return None, "view changes the element type"
        if not decl.reshape and not _is_linear(node):
            return None, "view of the storage, not of the tensor"
        if decl.reshape and not _regroups(node):
            return None, "view between sizes that are not known to be equal"
    if decl.kind == "reduction" and _may_be_undefined(node):
        return None, "the reduced dimensions may be empty"
    if decl.kind == "scan":
        _, dim = decl.params(node.args, node.kwargs, value.ndim)
        size = value._sizes[dim] if value.ndim else 1
        if not (type(size) is int and 1 < size <= MAX_SCAN):
            return None, f"library call: a running total of {size} elements"
    if decl.kind == "gather" and places_of(node) is None:
        return None, "library call"
    if decl.kind == "scatter":
        reason = _unscatterable(node)
        if reason:
            return None, reason
    return decl.kind, ""


def _view_rule(node: Node, strides: tuple[int, ...]) -> tuple[tuple[Size, ...], tuple[Size, ...], Size]:
    decl = node.target.decl  # type: ignore[union-attr]  # callers have classified the node
    bound = decl.bind(node.args, node.kwargs)
    sizes, strides, offset = decl.rule(bound[0].meta["val"]._sizes, strides, 0, *bound[1:])
    return sizes_from(sizes), tuple([size_of(stride, 0) for stride in strides]), size_of(offset, 0)


def _is_linear(node: Node) -> bool:
    sizes, strides, offset = _view_rule(node, (0,) * len(sizes_of(node.all_input_nodes[0])))
    # What stride a dimension of size 1 has says nothing.
    return offset == 0 and not any(stride != 0 for size, stride in zip(sizes, strides, strict=True) if size != 1)


def _regroups(node: Node) -> bool:
    try:
        groups(sizes_of(node), sizes_of(node.all_input_nodes[0]))
    except ValueError as error:
        let_through(error)
        return False
    return True


def _may_be_undefined(node: Node) -> bool:
    """Whether a reduction without identity may run over no elements, which only a call finds out and refuses."""
    decl: Any = node.target.decl  # type: ignore[union-attr]
    sizes = node.all_input_nodes[0].meta["val"]._sizes
    if COMBINES[decl.combine] is not None or all(type(size) is int for size in sizes):
        return False
    _, dims, _, _ = decl.params(node.args, node.kwargs, len(sizes))
    return any(not statically_known_true(sizes[d] > 0) for d in dims)


def view_index(node: Node, index: Sequence[Index]) -> tuple[Index, ...]:
    """The element of a view's base that the view shows at `index`."""
    base = sizes_of(node.all_input_nodes[0])
    if node.target.decl.reshape:  # type: ignore[union-attr]
        return regroup(index, sizes_of(node), base)
    maps = node.meta.get("view_map")
    if maps is None:
        # The rule is linear in the strides: a unit stride for one dimension tells how that dimension is indexed.
        maps = []
        for d in range(len(base)):
            _, strides, offset = _view_rule(node, tuple(int(d == e) for e in range(len(base))))
            maps.append((strides, offset))
        node.meta["view_map"] = maps
    return tuple(linearize(index, strides) + offset for strides, offset in maps)


def broadcast_index(index: Sequence[Index], sizes: Sequence[Size], out: Sequence[Size]) -> tuple[Index, ...]:
    """The element of an operand of these sizes that belongs to an element of a result."""
    lead = len(out) - len(sizes)
    return tuple([
        # A size that is no number may be held to 1 by a guard: it was stretched if the result is larger.
        ZERO if size == 1 or (hint(size) == 1 and hint(whole) != 1) else part
        for size, whole, part in zip(sizes, out[lead:], index[lead:], strict=True)
    ])  # fmt: skip


def moved_index(node: Node, index: Sequence[Index]) -> tuple[Index, ...]:
    """The element of a move's operand that is at `index` of its result."""
    decl: Any = node.target.decl  # type: ignore[union-attr]
    return tuple(decl.origin(index, sizes_of(node), *decl.bind(node.args, node.kwargs)[1:]))


def runs_backwards(axis: Axis, part: Index) -> bool | None:
    """Whether a dimension's index counts down as an axis counts up, None if it does neither."""
    if part == Index.of(axis):
        return False
    return True if part == Index.of(axis) * -1 + (axis.size - 1) else None


@dataclass(frozen=True)
class _Given:
    """What an op's rule sees of a tensor."""

    node: Node

    @property
    def ndim(self) -> int:
        return len(self.node.meta["val"]._sizes)

    @property
    def _dtype(self) -> Any:
        return self.node.meta["val"]._dtype


def _given(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_given(item) for item in value]
    return _Given(value) if isinstance(value, Node) else value


def places_of(node: Node) -> Places | None:
    """Which element each element of a gather is, in nodes; None where a kernel cannot say."""
    decl: Any = node.target.decl  # type: ignore[union-attr]
    found = decl.places(*_given(decl.bind(node.args, node.kwargs)))
    return None if found is None else _in_nodes(found)


def _in_nodes(places: Places) -> Places:
    at = tuple([Place(part.index.node, part.dims) if isinstance(part, Place) else part for part in places.at])
    return Places(places.source.node, at, places.wraps)


def scatter_of(node: Node) -> Scatter | None:
    """Where the elements of a scatter go, in nodes; None where a kernel cannot say."""
    decl: Any = node.target.decl  # type: ignore[union-attr]
    found = decl.target(*_given(decl.bind(node.args, node.kwargs)))
    return None if found is None else Scatter(_in_nodes(found.places), found.values.node, found.accumulate)


def pieces_of(node: Node) -> list[tuple[Node, int, Size, Size]]:
    """Of tensors side by side each one, the dimension, and where its piece starts and stops there."""
    decl: Any = node.target.decl  # type: ignore[union-attr]
    found = decl.pieces(*_given(decl.bind(node.args, node.kwargs)))
    result, start = [], 0
    for part in found.parts:
        stop = start + sizes_of(part.node)[found.dim]
        result.append((part.node, found.dim, start, stop))
        start = stop
    return result


def piece_demand(demand: Demand, dim: int, start: Size, stop: Size) -> Demand:
    """Where a piece is needed."""
    index = list(demand.index)
    guard = Guard(index[dim], start, stop)
    index[dim] = index[dim] + -1 * start
    return Demand(tuple(index), False, (*demand.guards, guard))


def is_scatter(node: Node) -> bool:
    """Whether a node is a call of a scatter."""
    return node.op == "call_function" and getattr(getattr(node.target, "decl", None), "kind", "") == "scatter"


def _unscatterable(node: Node) -> str:
    found = scatter_of(node)
    if found is None:
        return "library call"
    value = node.meta["val"]
    if not value._device.is_host:
        return "library call"
    if found.accumulate and value._dtype.name in ("bool", "bfloat16"):
        return f"library call: sums of {value._dtype.name}"
    # The index tensors may be smaller than the tensor in the other dimensions, the values larger than both.
    sizes, counted = scattered_sizes(found), sizes_of(found.values)
    fits = len(counted) <= len(sizes) and all(
        have in (1, want) for have, want in zip(counted, sizes[len(sizes) - len(counted) :], strict=True)
    )
    return "" if fits else "library call: the values are larger than the index"


def scattered_sizes(scatter: Scatter) -> tuple[Size, ...]:
    """Sizes of what a scatter writes: values, broadcast."""
    whole: dict[int, Size] = {}
    indexed: dict[int, Size] = {}
    for part, size in zip(scatter.places.at, sizes_of(scatter.places.source), strict=True):
        if not isinstance(part, Place):
            whole[part] = size
            continue
        for d, extent in zip(part.dims, sizes_of(part.index), strict=True):
            if extent != 1 or d not in indexed:
                indexed[d] = extent
    # A dimension that both count (in `scatter_add`) is as long as the index is.
    sizes = whole | indexed
    return tuple([sizes[d] for d in range(len(sizes))])


def reads_memory(user: Node, operand: Node) -> bool:
    """Whether a node reads elements of an operand that are known only when it runs, or is a scatter into it."""
    kind = getattr(getattr(user.target, "decl", None), "kind", "") if user.op == "call_function" else ""
    if kind == "gather":
        found = places_of(user)
        return found is not None and found.source is operand
    if kind == "scatter":
        scatter = scatter_of(user)
        return scatter is not None and scatter.places.source is operand
    return False


def is_only_scattered_to(source: Node) -> bool:
    """Whether what a region's scatter writes to a copy of is not read there in any other way."""
    (user,) = source.users if len(source.users) == 1 else (None,)
    if user is None or not is_scatter(user):
        return False
    scatter = scatter_of(user)
    assert scatter is not None
    read = [scatter.values, *(part.index for part in scatter.places.at if isinstance(part, Place))]
    return scatter.places.source is source and all(node is not source for node in read)


def index_at(place: Place, index: Sequence[Index]) -> tuple[Index, ...]:
    """The element of a place's index tensor that belongs to an element of the result."""
    sizes = sizes_of(place.index)
    return tuple([ZERO if size == 1 else index[d] for size, d in zip(sizes, place.dims, strict=True)])


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

    kept: list[Axis] = field(default_factory=list)
    reduced: list[Axis] = field(default_factory=list)
    demands: dict[Node, list[Demand]] = field(default_factory=dict)
    frames: dict[tuple[Size, ...], tuple[Index, ...]] = field(default_factory=dict)
    inputs_of_reductions: dict[Node, tuple[Index, ...]] = field(default_factory=dict)
    origin: Demand = Demand((), True)
    scatters: bool = False

    @staticmethod
    def of(node: Node) -> IterationSpace:
        """The space whose kept axes are the dimensions of a node.

        That of a scatter has those of what is written: along the ones that index tensors have, places may repeat, so
        these are reduced axes, which a kernel runs through in order.
        """
        space = IterationSpace()
        if is_scatter(node):
            scatter = scatter_of(node)
            assert scatter is not None
            sizes = scattered_sizes(scatter)
            axes = [Axis(f"i{d}", size) for d, size in enumerate(sizes)]
            space.kept = [a for d, a in enumerate(axes) if a.size != 1 and d in scatter.places.at]
            space.reduced = [a for d, a in enumerate(axes) if a.size != 1 and d not in scatter.places.at]
            space.scatters = True
        else:
            sizes = sizes_of(node)
            axes = [Axis(f"i{d}", size) for d, size in enumerate(sizes)]
            space.kept = [axis for axis in axes if axis.size != 1]
        space.origin = Demand(tuple([Index.of(axis) for axis in axes]), not space.scatters)
        space.frames[sizes] = space.origin.index
        return space

    def demand_from(self, user: Node, operand: Node) -> list[Demand]:
        """Where a member's evaluation needs one of its operands; a gather's source lies in memory."""
        result: list[Demand] = []
        decl = user.target.decl  # type: ignore[union-attr]
        sizes, out = sizes_of(operand), sizes_of(user)
        same = product(sizes) == product(out)
        if decl.kind in ("gather", "scatter"):
            scatter = scatter_of(user) if decl.kind == "scatter" else None
            places = places_of(user) if scatter is None else scatter.places
            assert places is not None
            for demand in self.demands[user]:
                indices = [index_at(p, demand.index) for p in places.at if isinstance(p, Place) and p.index is operand]
                if scatter is not None and scatter.values is operand:
                    lead = len(demand.index) - len(sizes)
                    indices.append(tuple([
                        ZERO if size == 1 else part for size, part in zip(sizes, demand.index[lead:], strict=True)
                    ]))  # fmt: skip
                _add(result, [demand.at(index) for index in indices])
            return result
        if decl.kind == "pieces":
            for part, dim, start, stop in pieces_of(user):
                if part is operand:
                    _add(result, [piece_demand(demand, dim, start, stop) for demand in self.demands[user]])
            return result
        for demand in self.demands[user]:
            if decl.kind == "view":
                found = demand.at(view_index(user, demand.index), demand.exact and same)
            elif decl.kind == "move":
                found = demand.at(moved_index(user, demand.index), demand.exact)
            elif decl.kind == "reduction":
                index = self.inputs_of_reductions[user]
                found = Demand(index, self.covers(operand, Demand(index, demand.exact)))
            else:
                found = demand.at(broadcast_index(demand.index, sizes, out), demand.exact and same)
            _add(result, [found])
        return result

    def demand_of(self, node: Node, users: Iterable[Node]) -> list[Demand]:
        """All distinct indices at which members need `node`."""
        result: list[Demand] = []
        for user in users:
            if user in self.demands:
                _add(result, self.demand_from(user, node))
        return result

    def covers(self, node: Node, demand: Demand) -> bool:
        """Whether the index runs over all elements of a node, each once for the kept axes or for all axes."""
        if demand.guards:
            return False
        axes = frozenset[Axis]().union(*[part.axes() for part in demand.index])
        if axes != frozenset(self.kept) and axes != frozenset([*self.kept, *self.reduced]):
            return False
        sizes = sizes_of(node)
        if product(axis.size for axis in axes) != product(sizes):
            return False
        return demand.exact or _is_mixed_radix(linearize(demand.index, row_major(sizes)))

    def would_cover(self, node: Node, demand: Demand) -> bool:
        """Whether it would cover the node if the axes that the index leaves out were reduced ones."""
        axes = frozenset[Axis]().union(*[part.axes() for part in demand.index])
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
        axes = frozenset[Axis]().union(*[part.axes() for part in demand.index])
        self.reduced = [axis for axis in self.kept if axis not in axes]
        self.kept = [axis for axis in self.kept if axis in axes]

    def admit_reduction(self, node: Node, demands: Sequence[Demand]) -> str:
        """Make a reduction a member, fixing the reduced axes if it is the first; a reason if it does not fit."""
        if len(demands) != 1:
            return "reduction needed at several indices"
        demand = demands[0]
        axes_used = frozenset[Axis]().union(*[part.axes() for part in demand.index])
        if axes_used & frozenset(self.reduced):
            return "reduces along another axis"
        source = node.all_input_nodes[0]
        sizes = sizes_of(source)
        _, dims, keepdim, _ = node.target.decl.params(node.args, node.kwargs, len(sizes))  # type: ignore[union-attr]
        extent = [sizes[d] for d in dims if sizes[d] != 1]
        count = product(extent)
        missing = [axis for axis in self.kept if axis not in axes_used]
        if count != 1:
            if self.reduced:
                if missing:
                    return "reduction is broadcast along a kept axis"
                if product(axis.size for axis in self.reduced) != count:
                    return "reduces over another number of elements"
            elif missing:
                if product(axis.size for axis in missing) != count:
                    return "iteration spaces differ"
                self.reduced = missing
                self.kept = [axis for axis in self.kept if axis in axes_used]
            else:
                self.reduced = [Axis(f"r{d}", size) for d, size in enumerate(extent)]
        reduced = [Index.of(axis) for axis in self.reduced]
        have = [axis.size for axis in self.reduced]
        inner = iter(reduced if have == extent or count == 1 else regroup(reduced, have, extent))
        outer = iter(part for d, part in enumerate(demand.index) if not (keepdim and d in dims))
        full = tuple((ZERO if sizes[d] == 1 else next(inner)) if d in dims else next(outer) for d in range(len(sizes)))
        self.inputs_of_reductions[node] = full
        self.demands[node] = [demand]
        if self.covers(source, Demand(full, False)):
            self.frames.setdefault(sizes, full)
        self.frames.setdefault(sizes_of(node), demand.index)
        return ""

    def admit_scan(self, node: Node, demands: list[Demand]) -> str:
        """Make a running total a member: the axis that it runs along becomes a reduced one."""
        if len(demands) != 1 or not self.covers(node, demands[0]):
            return "running totals needed at several indices, or not of every element"
        index = demands[0].index
        _, dim = node.target.decl.params(node.args, node.kwargs, len(index))  # type: ignore[union-attr]
        axis = next(iter(index[dim].axes()), None)
        if axis is None or runs_backwards(axis, index[dim]) is None:
            return "running totals needed at a regrouped index"
        if self.reduced not in ([], [axis]):
            return "runs along another axis"
        self.kept = [other for other in self.kept if other is not axis]
        self.reduced = [axis]
        self.demands[node] = demands
        self.frames.setdefault(sizes_of(node), index)
        return ""

    def admit(self, node: Node, demands: list[Demand]) -> str:
        """Make a node a member at these indices; a reason if it does not fit."""
        if node.target.decl.kind in ("reduction", "gather", "scan") and any(demand.guards for demand in demands):  # type: ignore[union-attr]
            return "one of several pieces"
        if node.target.decl.kind == "reduction":  # type: ignore[union-attr]
            return self.admit_reduction(node, demands)
        if node.target.decl.kind == "scan":  # type: ignore[union-attr]
            return self.admit_scan(node, demands)
        self.demands[node] = demands
        if is_scatter(node):
            return ""  # its demand is of what it writes, not of its result
        if sizes_of(node) not in self.frames:
            for demand in demands:
                if self.covers(node, demand):
                    self.frames[sizes_of(node)] = demand.index
        return ""

    def root_demand(self, node: Node) -> Demand | None:
        """Where a result that no member needs can be evaluated: at the index of a member of the same shape."""
        sizes = sizes_of(node)
        index = self.frames.get(sizes)
        if index is None and node.target.decl.kind == "reduction":  # type: ignore[union-attr]
            source = sizes_of(node.all_input_nodes[0])
            whole = self.frames.get(source)
            if whole is None or self.reduced:
                return None
            _, dims, keepdim, _ = node.target.decl.params(node.args, node.kwargs, len(source))  # type: ignore[union-attr]
            index = tuple(ZERO if d in dims else part for d, part in enumerate(whole) if keepdim or d not in dims)
        if index is None:
            return None
        return Demand(index, self.covers(node, Demand(index, False)))


def _add(demands: list[Demand], more: Iterable[Demand]) -> None:
    """Put in what is not there yet."""
    for demand in more:
        if not any(demand.same(other) for other in demands):
            demands.append(demand)


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
    space: IterationSpace | None = None
    for node in reversed([n for n in region.nodes if n.op == "call_function"]):
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


def is_tensor_node(value: Any) -> bool:
    """Whether an argument is a node with a tensor value."""
    return isinstance(value, Node) and isinstance(value.meta.get("val"), Tensor)

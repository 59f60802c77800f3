"""Partition a functional graph into regions that become one kernel each.

Nodes are visited from the results backwards. A node joins the group of its users when it can be evaluated in that
group's iteration space (`tracer.loops.iteration`), when nothing outside the group stands between the two (else the
group would wait for itself), and when joining pays. In particular

* pointwise ops, views and generators join their users; views and generators join every user, since they cost nothing;
* a reduction joins users that need its result once per kept index, so that softmax or layer_norm are one kernel;
* a value that several groups need is stored by one of them, or recomputed in each where that saves memory traffic;
* a running total joins users that need every element of it once, and holds a row in a program;
* what a gather reads from lies in memory, so it is never computed in the gather's own kernel;
* tensors side by side are a kernel where one of them is computed in it, or where it computes more: copies alone are a
  call, and so are many tensors, since a kernel asks of each element in which of them it lies;
* a scatter ends its kernel, which runs through its values in order: only what is cheap is computed there;
* results of one shape that read the same input share a kernel, and in the end kernels that read the same do
  (`passes.merge`).

Calls that draw random numbers, and those that nothing is known of, keep the program's order: what they do besides
their results may depend on it.

A node that stays alone says why: `graph.graph["fusion"]` holds a `Decision` for every group, call and refusal.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from dataclasses import field
from itertools import pairwise
from typing import Any

from opweave.passes.merge import merge
from opweave.passes.regions import Decision, describe, kahn, label, region_of
from opweave.registry.dataclass import dataclass
from opweave.registry.loading import load_heavy
from opweave.registry.ops.kinds.base import Kind
from opweave.registry.tensor import Tensor
from opweave.registry.triton_op import triton_kernel_wrapper_functional
from opweave.tracer.declared import kind_of
from opweave.tracer.effects import is_ordered
from opweave.tracer.emission import nodes_in
from opweave.tracer.graph import Graph, Node
from opweave.tracer.loops.calls import NodeCall
from opweave.tracer.loops.index import Axis
from opweave.tracer.loops.iteration import (
    Demand,
    IterationSpace,
    classify,
    is_scatter,
    numel_of,
    reads_memory,
    sizes_of,
)
from opweave.tracer.loops.size import hint, product, sizes as sizes_from

#: A kernel's members and buffers; beyond that compile time and register pressure grow faster than traffic shrinks.
MAX_MEMBERS = 160
MAX_BUFFERS = 40
#: Elements of a reduced axis up to which one program may hold or re-read a whole row.
MAX_ROW = 1 << 17
#: Kept elements below which a long reduction is better split over programs than fused with full-size work.
MIN_ROWS = 32
#: Elements of a strided (outer) reduced axis up to which full-size work after the reduction finds it in the cache.
MAX_STRIDED = 512
#: A stretched operand is recomputed per program; expensive ones only up to this factor.
MAX_RECOMPUTE = 8

#: Indices at which one kernel may need a cheap value, and operations that it may compute more than once an element.
MAX_DEMANDS = 4
MAX_REPEATED = 24
#: Tensors side by side that a kernel tells apart for each element.
MAX_PIECES = 8
#: Elements of the innermost axis that one program holds at least.
HELD = 1024


@dataclass(eq=False)
class _Group:
    number: int
    space: IterationSpace
    members: list[Node] = field(default_factory=list[Node])
    results: list[Node] = field(default_factory=list[Node])
    reads: set[Node] = field(default_factory=set[Node])
    outer_reduction: bool = False
    #: Operations that are computed for an element at more than one index.
    repeated: int = 0

    @property
    def bit(self) -> int:
        return 1 << self.number


@dataclass
class _Unit:
    """Something that runs as one step: a group or a single call."""

    position: int
    nodes: list[Node]
    group: Any = None  # a _Group, or a launch with what it takes in


class _Partition:
    def __init__(self, graph: Graph):
        self.graph = graph
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self.groups: list[_Group] = []
        self.homes: dict[Node, list[_Group]] = {}
        #: Nodes that exist as a value outside kernels, by the group that stores them (None: a call of its own).
        self.stored_by: dict[Node, _Group | None] = {}
        #: Bits of all groups and calls that a group or call leads to.
        self.reach: dict[int, int] = {}
        self.call_bit: dict[Node, int] = {}
        self.led_to = 0
        self.counter = 0
        self.decisions: list[Decision] = []
        self.calls: dict[Node, Decision] = {}
        #: Calls that keep the program's order, the last one first.
        self.ordered: list[Node] = []
        #: What kind of op a node in a kernel would be; None, with a reason, for one that is a call of its own.
        self.kinds: dict[Node, tuple[Kind | None, str]] = {}
        self.leaves: dict[Node, tuple[frozenset[Node], int] | None] = {}

    # ---- reachability ----------------------------------------------------------------------------------------------

    def new_bit(self) -> int:
        number = self.counter
        self.counter += 1
        self.reach[number] = 0
        return number

    def units_of_users(self, node: Node) -> int:
        """Bits of all steps that read a node's stored value."""
        bits = 0
        for user in node.users:
            for group in self.homes.get(user, ()):
                bits |= group.bit
            number = self.call_bit.get(user)
            if number is not None:
                bits |= 1 << number
        return bits

    def closure(self, bits: int) -> int:
        """The steps and everything they lead to."""
        result = bits
        rest = bits
        while rest:
            low = rest & -rest
            result |= self.reach[low.bit_length() - 1]
            rest ^= low
        return result

    def would_cycle(self, node: Node, group: _Group) -> bool:
        others = self.units_of_users(node) & ~group.bit
        return bool(self.closure(others) & group.bit)

    def extend_reach(self, number: int, more: int) -> None:
        bit = 1 << number
        more &= ~bit
        if more & ~self.reach[number]:
            self.reach[number] |= more
            # Walking backwards, most steps are new here: nothing leads to them yet.
            if self.led_to & bit:
                for other, reach in self.reach.items():
                    if reach & bit:
                        self.reach[other] = reach | more
            self.led_to |= more

    # ---- the walk --------------------------------------------------------------------------------------------------

    def run(self) -> None:
        nodes = list(self.order)
        for node in nodes:
            self.kinds[node] = classify(node)
            self._note_leaves(node)
        for node in reversed(nodes):
            kind, reason = self.kinds[node]
            if node.op in ("output", "placeholder", "get_attr") or kind is None:
                self._call(node, reason)
            elif kind.copies_only and not self._is_more_than_copies(node):
                self._call(node, "library call: copies only")
            else:
                self._place(node, kind)

    def _is_more_than_copies(self, node: Node) -> bool:
        """Whether something is computed with what lies side by side, or before it is laid there."""
        value, parts = node.meta["val"], list(nodes_in(node.args))
        fixed = all(type(size) is int for size in value._sizes)
        if fixed and len(parts) > MAX_PIECES:
            return False
        read = any(user in self.homes and not reads_memory(user, node) for user in node.users)
        stored = not read or self._needed_outside(node)
        if fixed and stored and value._device.is_host and self._has_own_kernel(parts, value):
            return False
        if read:
            return True
        for part in node.all_input_nodes:
            kind = self.kinds[part][0]
            while kind is not None and kind.is_layout:
                part = part.all_input_nodes[0]
                kind = self.kinds[part][0]
            computes = kind is not None and (kind.copies_only or kind.elementwise and kind.cost)
            # What has other users is likely to be in memory anyway.
            if computes and len(part.users) == 1 and not _expensive(part):
                return True
        return False

    def _has_own_kernel(self, parts: list[Node], value: Tensor) -> bool:
        """Whether pieces of one form are all computed, so that one kernel may store each where it belongs."""
        forms = {(part.meta["val"]._sizes, part.meta["val"]._dtype, value._dtype) for part in parts}
        kinds = [self.kinds[part][0] for part in parts]
        computed = all(kind is not None and kind.elementwise and kind.cost for kind in kinds)
        return computed and len(forms) == 1 and len({*forms.pop()[1:]}) == 1 and len(set(parts)) == len(parts) > 1

    def _call(self, node: Node, reason: str) -> None:
        number = self.new_bit()
        self.call_bit[node] = number
        self.stored_by[node] = None
        after = self.units_of_users(node)
        if is_ordered(node):
            if self.ordered:
                after |= 1 << self.call_bit[self.ordered[-1]]
            self.ordered.append(node)
        self.extend_reach(number, self.closure(after))
        if node.op == "call_function" and node.target is not operator.getitem:
            if node.target is triton_kernel_wrapper_functional:
                reason = f"a user's kernel, which writes {', '.join(node.kwargs['tensors_to_clone']) or 'nothing'}"
            self.calls[node] = decision = Decision(label(node), "extern", reason, node.meta.get("site"), node.name)
            self.decisions.append(decision)

    def _needed_outside(self, node: Node) -> bool:
        """Whether something reads the node from memory: a step other than a kernel, a gather or scatter."""
        return any(user in self.call_bit or reads_memory(user, node) for user in node.users)

    def _place(self, node: Node, kind: Kind) -> None:
        takers: list[tuple[_Group, list[Demand]]] = []
        for group in dict.fromkeys(g for user in node.users for g in self.homes.get(user, ())):
            users = [user for user in node.users if group in self.homes.get(user, ())]
            if any(reads_memory(user, node) for user in users):
                continue
            takers.append((group, group.space.demand_of(node, users)))
        outside = self._needed_outside(node)
        if kind.is_layout:
            for group, demands in takers:
                self._join(node, group, demands)
            if outside:
                self._view_call(node)
            return
        if kind.cost == 0 or self._recomputable(node, takers, outside):
            refused = False
            for group, demands in takers:
                if len(group.members) < MAX_MEMBERS:
                    self._join(node, group, demands)
                else:
                    refused = True
            if not outside and not refused:
                return
            for group, demands in takers:
                covered = not group.space.scatters and any(group.space.covers(node, demand) for demand in demands)
                if covered and not refused and not self.would_cycle(node, group):
                    self._store(node, group)
                    return
            takers = []
        self._place_stored(node, takers, outside)

    def _place_stored(self, node: Node, takers: list[tuple[_Group, list[Demand]]], outside: bool) -> None:
        shared = outside or len(takers) > 1
        for group, demands in takers:
            if self._reduces(node):
                demands = group.space.take_apart(demands)
            reason = self._objection(node, group, demands, shared)
            if not reason:
                reason = self._join(node, group, demands)
            if not reason:
                if shared:
                    if not any(group.space.covers(node, demand) for demand in demands):
                        group.space.keep_only(demands[0])
                    self._store(node, group)
                return
            self.decisions.append(Decision(label(node), "apart", reason, node.meta.get("site"), node.name))
        group = None if takers or is_scatter(node) else self._sibling(node)
        if group is None:
            group = _Group(self.new_bit(), IterationSpace.of(node))
            self.groups.append(group)
            reason = self._join(node, group, [group.space.origin])
            assert not reason, f"{node.name} does not fit its own space: {reason}"
        self._store(node, group)

    def _view_call(self, node: Node) -> None:
        number = self.new_bit()
        self.call_bit[node] = number
        self.stored_by[node] = None
        self.extend_reach(number, self.closure(self.units_of_users(node)))
        self.calls[node] = decision = Decision(label(node), "view", "metadata only", node.meta.get("site"), node.name)
        self.decisions.append(decision)

    def _join(self, node: Node, group: _Group, demands: list[Demand]) -> str:
        reason = group.space.admit(node, demands)
        if reason:
            return reason
        if len(demands) > 2:
            group.repeated += self._cost(node) * len(demands)
        group.members.append(node)
        self.homes.setdefault(node, []).append(group)
        group.reads.discard(node)
        group.reads.update(node.all_input_nodes)
        if self._reduces(node):
            group.outer_reduction |= _is_outer(node)
        return ""

    def _store(self, node: Node, group: _Group) -> None:
        group.results.append(node)
        self.stored_by[node] = group
        self.extend_reach(group.number, self.closure(self.units_of_users(node) & ~group.bit))

    # ---- whether it pays -------------------------------------------------------------------------------------------

    def _reduces(self, node: Node) -> bool:
        kind = self.kinds[node][0]
        return kind is not None and kind.reduces

    def _cost(self, node: Node) -> int:
        kind = self.kinds[node][0]
        return kind.cost or 0 if kind is not None else 0

    def _spans(self, node: Node) -> bool:
        kind = self.kinds[node][0]
        return kind is not None and kind.spans

    def _objection(self, node: Node, group: _Group, demands: list[Demand], shared: bool) -> str:
        if len(group.members) >= MAX_MEMBERS:
            return f"kernel has {MAX_MEMBERS} ops already"
        if len(group.reads) + len(group.results) >= MAX_BUFFERS:
            return f"kernel has {MAX_BUFFERS} buffers already"
        if self.would_cycle(node, group):
            return "another step stands between it and its user"
        space = group.space
        if is_scatter(node):
            return "what is scattered to is read from memory"
        if space.scatters and (shared or self._spans(node) or _expensive(node)):
            return "too much for the loop of a scatter, which runs in order"
        if _expensive(node) and any(demand.guards for demand in demands):
            return "one of several pieces, and computed for the others too"
        if shared and not any(space.covers(node, d) or self._is_row_value(node, group, d) for d in demands):
            return "also needed elsewhere, and not evaluated once for every element here"
        if self._reduces(node):
            return self._reduction_objection(node, group, demands)
        if len(demands) > MAX_DEMANDS or (len(demands) > 1 and _expensive(node)):
            return f"needed at {len(demands)} different indices"
        if len(demands) > 2 and group.repeated + self._cost(node) * len(demands) > MAX_REPEATED:
            return f"needed at {len(demands)} different indices, and more than {MAX_REPEATED} operations are by now"
        times = self._repeats(node, space, demands) if _expensive(node) else 1
        if times > MAX_RECOMPUTE and self._reduction_before(node) is None:
            return f"would be recomputed {times} times"
        return ""

    def _repeats(self, node: Node, space: IterationSpace, demands: list[Demand]) -> int:
        """How often programs would compute a stretched value again."""
        used = frozenset[Axis]().union(*[part.axes() for d in demands for part in d.index])
        missing = [axis for axis in space.kept if axis not in used]
        if not missing:
            return 1
        # Along the innermost axis a program holds many elements and computes the value once for them.
        held = min(hint(missing[-1].size), HELD) if missing[-1] is space.kept[-1] else 1
        return hint(product(axis.size for axis in missing)) // held

    def _reduction_before(self, node: Node) -> Node | None:
        """The reduction whose result a node only finishes (as the logarithm in log_softmax); it may join as well."""
        for _ in range(4):
            operands = [o for o in node.all_input_nodes if numel_of(o) >= numel_of(node)]
            if len(operands) != 1:
                return None
            node = operands[0]
            kind = self.kinds[node][0]
            if kind is None:
                return None
            if kind.reduces:
                return node
        return None

    def _is_row_value(self, node: Node, group: _Group, demand: Demand) -> bool:
        """Whether it can be stored once a row, a row being what a reduction before it will reduce in this group."""
        if not group.space.would_cover(node, demand):
            return False
        source = node if self._reduces(node) else self._reduction_before(node)
        if source is None:
            return False
        used = frozenset[Axis]().union(*[part.axes() for part in demand.index])
        missing = product(axis.size for axis in group.space.kept if axis not in used)
        whole, rows = product(sizes_of(source.all_input_nodes[0])), product(sizes_of(source))
        return rows * missing == whole and not self._reduction_objection(source, group, [demand])

    def _reduction_objection(self, node: Node, group: _Group, demands: list[Demand]) -> str:
        space = group.space
        used = frozenset[Axis]().union(*[part.axes() for part in demands[0].index])
        missing = [axis for axis in space.kept if axis not in used]
        full_size_work = bool(missing) or bool(space.reduced)
        if not full_size_work:
            return ""
        count = numel_of(node.all_input_nodes[0]) // max(numel_of(node), 1)
        rows = numel_of(node)
        if space.reduced and group.outer_reduction != _is_outer(node):
            return "reduces an axis of another stride"
        if count > MAX_ROW and rows < MIN_ROWS:
            return f"{rows} rows of {count}: split over programs instead"
        if missing and _is_outer(node) and count > MAX_STRIDED:
            return f"column of {count} does not stay in the cache for the work after it"
        return ""

    def objection_to_both(self, first: _Group, other: _Group, space: IterationSpace) -> str:
        """Why two groups are better apart than in a space that has room for both."""
        joined = _Group(first.number, space, outer_reduction=first.outer_reduction)
        reductions = [node for node in space.demands if self._reduces(node)]
        if len({_is_outer(node) for node in reductions}) > 1:
            return "reduce axes of different strides"
        joined.outer_reduction = any(map(_is_outer, reductions))
        if len(space.demands) > MAX_MEMBERS:
            return f"together they have more than {MAX_MEMBERS} ops"
        if len({*first.reads, *other.reads, *first.results, *other.results}) > MAX_BUFFERS // 2:
            return f"together they have more than {MAX_BUFFERS // 2} buffers"
        return next(filter(None, (self._reduction_objection(n, joined, space.demands[n]) for n in reductions)), "")

    def _note_leaves(self, node: Node) -> None:
        """Materialised inputs and cost of cheap chains, None for what is not cheap to compute again."""
        kind = self.kinds[node][0]
        if kind is None:
            value = node.meta.get("val")
            self.leaves[node] = (frozenset([node]), 0) if isinstance(value, Tensor) else None
            return
        self.leaves[node] = None
        if kind.cost is None or _expensive(node):
            return
        sources: frozenset[Node] = frozenset()
        cost = kind.cost
        for operand in node.all_input_nodes:
            known = self.leaves[operand]
            if known is None:
                return
            sources |= known[0]
            cost += known[1]
        if cost <= 4 and len(sources) <= 4:
            self.leaves[node] = (sources, cost)

    def _recomputable(self, node: Node, takers: list[tuple[_Group, list[Demand]]], outside: bool) -> bool:
        """Whether computing it again in each kernel moves no more memory than storing and loading it."""
        if len(takers) + outside < 2:
            return False
        known = self.leaves[node]
        if known is None or any(len(demands) > 2 for _, demands in takers):
            return False
        groups = [group for group, _ in takers]
        fresh = [n for n in known[0] if not all(n in g.reads for g in groups)]
        return sum(_nbytes(n) for n in fresh) <= _nbytes(node)

    def _sibling(self, node: Node) -> _Group | None:
        """A recent group that reads one of the node's inputs and has a place for a result of its shape."""
        inputs = frozenset(node.all_input_nodes)
        for group in reversed(self.groups[-8:]):
            if len(group.members) >= MAX_MEMBERS or len(group.reads) + len(group.results) >= MAX_BUFFERS // 2:
                continue
            if not inputs & group.reads or group.space.scatters or self.would_cycle(node, group):
                continue
            # It is computed there already, or read there from memory.
            if group in self.homes.get(node, ()) or node in group.reads:
                continue
            is_reduction = self._reduces(node)
            if is_reduction and group.space.reduced and group.outer_reduction != _is_outer(node):
                continue
            demand = group.space.root_demand(node)
            if demand is None:
                continue
            if not group.space.covers(node, demand) and not (is_reduction and self._is_row_value(node, group, demand)):
                continue
            if is_reduction and self._reduction_objection(node, group, [demand]):
                continue
            if not self._join(node, group, [demand]):
                return group
        return None


def _expensive(node: Node) -> bool:
    kind = kind_of(node)
    return kind is not None and kind.is_expensive


def _nbytes(node: Node) -> int:
    return numel_of(node) * node.meta["val"]._dtype.itemsize


def _is_outer(node: Node) -> bool:
    """Whether a reduction leaves its input's fastest dimension in place."""
    call, source = NodeCall(node), node.all_input_nodes[0]
    dims, value = call.kind.reduced_dims(call), source.meta["val"]
    layout = enumerate(zip(sizes_of(source), sizes_from(value._strides), strict=True))
    live = [(hint(stride), -d) for d, (size, stride) in layout if size != 1]
    return bool(live) and -min(live)[1] not in dims


# ---- emission ------------------------------------------------------------------------------------------------------


def fuse(graph: Graph, objection: Callable[[Graph], str] | None = None) -> Graph:
    """Replace groups of nodes by region nodes.

    Parameters
    ----------
    graph : Graph
        Without mutations; dead code removed.
    objection : callable, optional
        Says why a region with a launch of a user's kernel in it cannot be one kernel. Without it launches stay alone.

    Returns
    -------
    Graph
        A new graph. A region is a node whose target is a `Graph`; its value is a tuple that users index with
        `operator.getitem`. `graph["fusion"]` lists the decisions.
    """
    launches = any(node.target is triton_kernel_wrapper_functional for node in graph.nodes)
    allowed = launches and bool(graph.graph.get("fuse_launches", True))
    if allowed:
        load_heavy("opweave.passes.absorb").renew(graph)
    partition = _Partition(graph)
    partition.run()
    merge(partition.groups, partition.order, partition.reach, partition.objection_to_both)
    if allowed and objection is not None:
        _absorb(partition, objection)
    result = Graph()
    mapping: dict[Node, Node] = {}
    numbering = 0
    kernels: list[Decision] = []
    for unit in _ordered_units(partition):
        if unit.group is None:
            node = unit.nodes[0]
            mapping[node] = result.node_copy(node, mapping.__getitem__)
            continue
        region, inputs, results = region_of(partition.order, unit.group.members, unit.group.results)
        call = result.call_function(region, tuple(mapping[n] for n in inputs), {}, name=f"kernel_{numbering}")
        call.meta["val"] = tuple(n.meta["val"] for n in results)
        call.meta["site"] = results[-1].meta.get("site")
        kernels.append(describe(numbering, region, inputs, results))
        numbering += 1
        for i, node in enumerate(results):
            item = result.call_function(operator.getitem, (call, i), {}, name=node.name)
            item.meta.update(node.meta)
            mapping[node] = item
    result.graph.update({key: value for key, value in graph.graph.items() if key not in result.graph})
    result.graph["fusion"] = kernels + partition.decisions[::-1] + result.graph.pop("lifted", [])
    return result


run = fuse


def _ordered_units(partition: _Partition) -> list[_Unit]:
    """Steps in an order in which every value is stored before it is read, close to program order."""
    order = partition.order
    units = [_Unit(order[node], [node]) for node in partition.call_bit]
    units += [_Unit(max(order[n] for n in g.members), g.members, g) for g in partition.groups]
    makers: dict[Node, _Unit] = {}
    for unit in units:
        for node in unit.group.results if unit.group is not None else unit.nodes:
            makers[node] = unit
    before: dict[int, set[int]] = {}
    index = {id(unit): i for i, unit in enumerate(units)}
    for i, unit in enumerate(units):
        own = set(unit.nodes)
        needs = {o for node in unit.nodes for o in node.all_input_nodes} - own
        before[i] = {index[id(makers[n])] for n in needs}
    for later, earlier in pairwise(partition.ordered):
        before[index[id(makers[later])]].add(index[id(makers[earlier])])
    users: dict[int, list[int]] = {i: [] for i in before}
    for i, needs_of in before.items():
        for j in needs_of:
            users[j].append(i)
    waiting = {i: len(needs_of) for i, needs_of in before.items()}
    return [units[i] for i in kahn(waiting, users, [unit.position for unit in units])]


def _absorb(partition: _Partition, objection: Callable[[Graph], str]) -> None:
    """Make launches of users' kernels groups, with what they take in."""
    absorb = load_heavy("opweave.passes.absorb")

    def made_of(members: Sequence[Node], results: Sequence[Node]) -> Graph:
        return region_of(partition.order, members, results)[0]

    absorber = absorb.Absorber(
        partition.order, partition.groups, partition.call_bit, partition.ordered, made_of, objection
    )
    absorber.run()
    for region in absorber.found:
        for node in region.own:
            partition.call_bit.pop(node, None)
            gone = partition.calls.pop(node, None)
            partition.decisions = [d for d in partition.decisions if d is not gone]
    partition.groups += absorber.found
    partition.decisions += [
        Decision(label(node), "apart", reason, node.meta.get("site"), node.name) for node, reason in absorber.refusals
    ]

"""Partition: a joint graph of forward and backward becomes one graph each, and what the backward reads is saved.

    joint      inputs, tangents -> results, gradients
    forward    inputs           -> results, saved
    backward   saved, tangents  -> gradients

A value that the backward needs is saved or computed again from what is. Which, is a minimum cut: nodes are pipes whose
width is their size in bytes, the source feeds inputs and what must not be computed twice, and all that depends on a
tangent drains into the sink. The narrowest cut is the least memory held between the two. Views and pointwise ops may be
computed again, since they fuse with what reads them; matrix products, reductions, random draws and opaque calls may
not.

`checkpoint` regions are computed again as a whole. A memory budget below 1 lets more be computed again, the largest
first, until what is saved is at most that part of what it would be.
"""

from __future__ import annotations

import operator
from dataclasses import field
from typing import Any

from opweave.fake.symbolic import SymNumber
from opweave.passes.cut import Network
from opweave.registry.dataclass import dataclass
from opweave.registry.nested import leaves
from opweave.registry.op import OpOverload, ops
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor
from opweave.tracer.declared import declared, is_layout
from opweave.tracer.effects import has_effect, is_repeatable
from opweave.tracer.emission import Emitter, nodes_in, value_of
from opweave.tracer.graph import Graph, Node, computed_from, needed_for
from opweave.tracer.loops.size import hint, product, sizes

aten = ops.aten
#: The `meta` key of nodes that were traced in a `checkpoint`: which one.
CHECKPOINT = "checkpoint"
#: The `meta` key of placeholders that stand for the gradient of a result.
TANGENT = "tangent"
#: The `meta` key of nodes that were traced on the way back: what they draw or change belongs there.
WAY_BACK = "way_back"


@dataclass
class Partition:
    """Both halves of a joint graph.

    Attributes
    ----------
    forward, backward : Graph
        See the module. The forward's results come first among its outputs, saved values among the backward's inputs.
    saved : list of str
        Names of what is saved.
    saved_bytes : int
        How much that is, in the example; inputs that are saved count, numbers do not.
    recomputed : list of Node
        Calls of the forward that the backward repeats, views left out.
    """

    forward: Graph
    backward: Graph
    saved: list[str]
    saved_bytes: int
    recomputed: list[Node] = field(default_factory=list[Node])

    def __str__(self) -> str:
        again = ", ".join(dict.fromkeys(node.target.opname for node in self.recomputed)) or "nothing"
        return f"saves {len(self.saved)} values, {self.saved_bytes} bytes; computes again: {again}"


def run(joint: Graph, results: int, *, budget: float = 1.0) -> Partition:
    """Partition a joint graph.

    Parameters
    ----------
    joint : Graph
        Functional but for the write-back of inputs. Placeholders with `TANGENT` in their meta stand for gradients.
    results : int
        How many of its outputs are the function's; the others are gradients.
    budget : float
        From 0, which computes again all that can be, to 1.
    """
    _keep_overwritten(joint)
    problem = _Problem(joint, results)
    saved = problem.solve()
    if budget < 1.0:
        saved = problem.within(budget, saved)
    return problem.cut(saved)


def _keep_overwritten(joint: Graph) -> None:
    """Copy inputs that the forward writes, where the backward reads what they held before."""
    emit = Emitter(joint)
    after = computed_from([node for node in joint.placeholders() if TANGENT in node.meta]) - {joint.output_node()}
    written = {
        node.args[0]
        for node in joint
        if node.target is aten.copy_.default and node.args[0].op == "placeholder"
        if node not in after and WAY_BACK not in node.meta
    }
    for node in written:
        readers = [user for user in node.users if user in after and user.target is not aten.copy_.default]
        if readers:
            with joint.inserting_after(joint.placeholders()[-1]):
                copy = emit.call(aten.clone.default, node, like=node)
            for user in readers:
                user.replace_input_with(node, copy)


class _Problem:
    def __init__(self, joint: Graph, results: int) -> None:
        self.joint = joint
        outputs = joint.output_node().args[0]
        self.outputs, self.gradients = outputs[:results], outputs[results:]
        self.tangents = [node for node in joint.placeholders() if TANGENT in node.meta]
        #: What can only run once the gradients of the results are there.
        written = [node for node in joint if node.op == "call_function" and has_effect(node)]
        roots = [*self.tangents, *(node for node in written if WAY_BACK in node.meta)]
        self.backward = {*roots, *computed_from(roots)} - {joint.output_node()}
        self.effects = [node for node in written if node not in self.backward]
        #: What the forward has to compute in any case.
        self.forward = needed_for([*nodes_in(self.outputs), *self.effects])
        self.needed = needed_for([*nodes_in(self.gradients), *(n for n in written if n in self.backward)])
        #: Inputs that the backward is not to have as they are; what it writes itself, it has to have so.
        self.overwritten = {node.args[0] for node in self.effects if node.target is aten.copy_.default}
        self.fixed = {node for node in self.needed - self.backward if self._only_once(node)}

    def _only_once(self, node: Node) -> bool:
        """Whether a node must not be computed a second time."""
        if node.op != "call_function":
            return node.op == "placeholder"
        if not is_repeatable(node):
            return True
        if CHECKPOINT in node.meta or node.target is operator.getitem or isinstance(value_of(node), SymNumber):
            return False
        kind = declared(node)
        return kind is None or not (kind.elementwise or kind.is_number)

    def _width(self, node: Node) -> float:
        """Bytes of a node's value; infinite where it cannot be saved."""
        value = value_of(node)
        if isinstance(value, SymNumber):
            return 1.0 if node.op == "placeholder" or isinstance(node.target, OpOverload) else float("inf")
        if not isinstance(value, Tensor) or node in self.overwritten:
            return float("inf")
        if node.op == "get_attr":
            return 0.0  # there in any case
        if is_layout(node):
            return float("inf")  # it would keep its base
        if CHECKPOINT in node.meta and is_repeatable(node):
            return float("inf")
        size = float(max(_nbytes(value), 1))
        # The caller mostly holds on to inputs anyway.
        return size / 2 if node.op == "placeholder" else size

    def solve(self, lifted: frozenset[Node] = frozenset()) -> list[Node]:
        """What to save, in order; `lifted` may be computed again although it should not."""
        network = Network()
        nodes = [node for node in self.joint if node in self.needed and node not in self.backward]
        returned = set(nodes_in(self.gradients))
        for node in nodes:
            fed = node in self.fixed and node not in lifted
            if fed:
                network.add("source", (node, 0))
            width = self._width(node)
            network.add((node, 0), (node, 1), width)
            for user in node.users:
                if user in self.backward and user in self.needed:
                    network.add((node, 1), "sink")
                elif user in self.needed and user not in self.backward:
                    network.add((node, 1), (user, 0))
            if node in returned:
                network.add((node, 1), "sink")
        near = network.near("source", "sink")
        if near is None:
            # Something can be neither saved nor computed again, as a view of what is overwritten: copy what is read.
            return [self._copied(n) for n in nodes if any(u in self.backward for u in n.users) or n in returned]
        return [node for node in nodes if (node, 0) in near and (node, 1) not in near]

    def _copied(self, node: Node) -> Node:
        """A copy of a value, for the backward to read."""
        if not isinstance(value_of(node), Tensor):
            return node
        with self.joint.inserting_after(node if node.op != "placeholder" else self.joint.placeholders()[-1]):
            copy = Emitter(self.joint).call(aten.clone.default, node, like=node)
        for user in [user for user in node.users if user in self.backward]:
            user.replace_input_with(node, copy)
        self.gradients = tuple([copy if value is node else value for value in self.gradients])
        self.needed.add(copy)
        return copy

    def within(self, budget: float, saved: list[Node]) -> list[Node]:
        """What to save if no more than a part of the bytes of `saved` may be."""
        limit = budget * _bytes_of(saved)
        order = [n for n in self.fixed if n.op == "call_function" and is_repeatable(n)]
        order.sort(key=lambda node: -self._width(node) if self._width(node) != float("inf") else 0.0)
        low, high = 0, len(order)
        best = self.solve(frozenset(order))
        while low < high:
            middle = (low + high) // 2
            found = self.solve(frozenset(order[:middle]))
            if _bytes_of(found) <= limit:
                best, high = found, middle
            else:
                low = middle + 1
        return best

    def cut(self, saved: list[Node]) -> Partition:
        """Both graphs, for what is saved."""
        have = set(saved)
        repeated: set[Node] = set()
        waiting = [*nodes_in(self.gradients)]
        waiting += [n for node in self.backward & self.needed for n in node.all_input_nodes]
        while waiting:
            node = waiting.pop()
            if node not in have and node not in self.backward and node not in repeated:
                repeated.add(node)
                waiting += node.all_input_nodes
        saved = [*saved, *self._symbols_of(self.backward & self.needed | repeated, have)]
        have = set(saved)

        forward = Graph()
        first = self.forward | needed_for(saved)
        mapping: dict[Node, Node] = {}
        for node in self.joint:
            if node.op == "placeholder" and TANGENT not in node.meta:
                mapping[node] = forward.node_copy(node, mapping.__getitem__)
            elif node in first and node.op != "output":
                mapping[node] = forward.node_copy(node, mapping.__getitem__)
        forward.output((*_mapped(self.outputs, mapping), *(mapping[node] for node in saved)))

        backward = Graph()
        mapping = {}
        for node in (*saved, *self.tangents):
            mapping[node] = backward.placeholder(node.name)
            mapping[node].meta.update({key: node.meta[key] for key in ("val", "site", "stack") if key in node.meta})
        second = (self.backward & self.needed) | repeated
        for node in self.joint:
            if node in second and node not in mapping:
                mapping[node] = backward.node_copy(node, mapping.__getitem__)
        backward.output(_mapped(self.gradients, mapping))
        for graph in (forward, backward):
            graph.graph.update({key: value for key, value in self.joint.graph.items() if key not in graph.graph})
        again = [n for n in self.joint if n in repeated and n.op == "call_function" and _computes(n)]
        return Partition(forward, backward, [node.name for node in saved], _bytes_of(saved), again)

    def _symbols_of(self, nodes: set[Node], saved: set[Node]) -> list[Node]:
        """Numbers to save as well, so that the backward can tell every size that it uses."""
        told = {s for node in (*saved, *self.tangents) for s in _told(value_of(node))}
        wanted = {s for node in nodes for s in _symbols(value_of(node))} | {
            s for node in saved for s in _symbols(value_of(node))
        }
        found: list[Node] = []
        for symbol in sorted(wanted - told, key=str):
            order = [*self.joint.placeholders(), *(node for node in self.joint if node in self.forward)]
            where = next(((node, d) for node in order for d, s in _dims(value_of(node)) if s == symbol), None)
            if where is None:
                continue
            node, d = where
            with self.joint.inserting_after(node if node.op != "placeholder" else self.joint.placeholders()[-1]):
                read = self.joint.call_function(aten.sym_size.int, (node, d), {})
            read.meta.update(val=value_of(node)._sizes[d], site=node.meta.get("site"))
            found.append(read)
        return found


def _mapped(values: Any, mapping: dict[Node, Node]) -> tuple[Any, ...]:
    return tuple([mapping[value] if isinstance(value, Node) else value for value in values])


def _computes(node: Node) -> bool:
    kind = declared(node)
    return isinstance(node.target, OpOverload) and (kind is None or not (kind.is_layout or kind.is_number))


def _nbytes(value: Tensor) -> int:
    return hint(product(sizes(value._sizes))) * value._dtype.itemsize


def _bytes_of(nodes: list[Node]) -> int:
    return sum(_nbytes(value_of(node)) for node in nodes if isinstance(value_of(node), Tensor))


def _dims(value: Any) -> list[tuple[int, Any]]:
    if not isinstance(value, Tensor):
        return []
    return [(d, s.expr) for d, s in enumerate(value._sizes) if isinstance(s, SymNumber) and s.expr.is_Symbol]


def _told(value: Any) -> set[Any]:
    """Symbols that can be read from a value."""
    if isinstance(value, SymNumber):
        return {value.expr} if value.expr.is_Symbol else set()
    return {symbol for _, symbol in _dims(value)}


def _symbols(value: Any) -> set[Any]:
    """Symbols that a value's sizes are made of."""
    parts = list(leaves(value))
    numbers = [*parts, *(n for t in tensors_in(parts) for n in (*t._sizes, *t._strides, t._offset))]
    found = (number.env.simplify(number.expr) for number in numbers if isinstance(number, SymNumber))
    return {symbol for expr in found for symbol in expr.free_symbols}

"""Reinplace: mutate directly where a copy proves needless, after fusion has fixed the order in which everything runs.

Functionalization makes every mutating op and Triton launch work on copies, and every write through a view a copy of the
whole tensor. A copy is needless where nothing reads the old contents afterwards, neither the tensor itself nor a view
of its memory: of a buffer that this graph made, or of an input that is overwritten in the end anyway. The call then
writes the memory itself; what put its result back into the whole, and the write-back of the input, go. All other copies
become explicit `clone` nodes, and `graph.graph["copies"]` says why each stays.
"""

from __future__ import annotations

import operator
from typing import Any

from opweave.fake.symbolic import SymNumber
from opweave.passes.functional_ops import (
    auto_functionalized,
    copy_laid_out,
    mutate_views,
    put_views,
    write_view,
)
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.tensor import Tensor
from opweave.registry.triton_op import triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation
from opweave.tracer.aliasing import held_in, is_owned, makes_memory, may_overlap, members_of, root_of
from opweave.tracer.emission import Emitter, map_nodes, relocate, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launches import launch_of, take_apart

aten = ops.aten


def run(graph: Graph) -> Graph:
    """Turn functional forms of mutation back into mutation."""
    rules = {
        triton_kernel_wrapper_functional: _Reinplacing.launch,
        auto_functionalized: _Reinplacing.call,
        mutate_views: _Reinplacing.call_on_views,
        write_view: _Reinplacing.place,
    }
    found = [node for node in graph if node.op == "call_function" and _rule(node, rules) is not None]
    if not found:
        return graph
    state = _Reinplacing(graph)
    for node in found:
        if node in graph:  # a write_view may be gone with the call that it belonged to
            with graph.inserting_before(node):
                rule = _rule(node, rules)
                assert rule is not None
                rule(state, node)
    return graph


def _rule(node: Node, rules: dict[Any, Any]) -> Any:
    if isinstance(node.target, Graph):
        return _Reinplacing.region if launch_of(node.target) is not None else None
    return rules.get(node.target)


class _Reinplacing:
    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.emit = Emitter(graph)
        self.copies: list[str] = []
        graph.graph["copies"] = self.copies

    # ---- the calls

    def launch(self, node: Node) -> None:
        """A Triton kernel."""
        arguments = dict(node.kwargs)
        names = arguments.pop("tensors_to_clone")
        # One tensor given twice stays one tensor.
        buffers: dict[Node, Node] = {}
        for name in names:
            operand = arguments["kwargs"][name]
            if operand not in buffers:
                buffers[operand] = self._buffer(node, operand, _items(node, name))
            self._redirect(_items(node, name), buffers[operand])
        tensors = map_nodes(arguments["kwargs"], lambda n: buffers.get(n, n))
        self.emit.call(triton_kernel_wrapper_mutation, like=node, val=(), **{**arguments, "kwargs": tensors})
        self.graph.erase_node(node)

    def region(self, node: Node) -> None:
        """A Triton kernel with other ops in it."""
        region: Graph = node.target
        launch = take_apart(region)
        assert launch is not None
        outer = dict(zip(region.placeholders(), node.args, strict=True))
        into: dict[int, Node] = {}
        for name, number in launch.kept.items():
            inner: Any = launch.operands[name]
            if inner in outer and name not in launch.apart:
                alone = set(inner.users) == {launch.node} and list(launch.operands.values()).count(inner) == 1
                reason = None if alone else "the kernel reads its old contents too"
                into[number] = self._buffer(node, outer[inner], _items(node, number), reason)
        if into:
            for number, buffer in into.items():
                self._redirect(_items(node, number), buffer)
            node.set_operands(node.args, {"into": tuple(into.items())})

    def call(self, node: Node) -> None:
        """A custom op."""
        op = registry.find(node.args[0])
        count = len(op._schema.returns)
        buffers: dict[Node, Node] = {}
        written: list[tuple[Node, list[Node]]] = []
        for i, name in enumerate(op.mutated_args, count):
            value = node.kwargs[name]
            if isinstance(value, Node):
                written.append((value, _items(node, i)))
            elif value is not None:
                lists = _items(node, i)
                written += [(v, [item for at in lists for item in _items(at, j)]) for j, v in enumerate(value)]
        for operand, items in written:
            # One tensor given twice stays one tensor.
            if operand not in buffers:
                buffers[operand] = self._buffer(node, operand, items)
            self._redirect(items, buffers[operand])
        self._replace(node, op, map_nodes(dict(node.kwargs), lambda n: buffers.get(n, n)), count)

    def call_on_views(self, node: Node) -> None:
        """A call that gets memory in several ways."""
        name, bases, views, arguments = node.args
        count = len(value_of(node)) - len(bases)
        buffers: list[Node] = [self._buffer(node, base, _items(node, count + i)) for i, base in enumerate(bases)]
        for i, buffer in enumerate(buffers):
            self._redirect(_items(node, count + i), buffer)
        made: list[Node] = []
        places: list[tuple[int, Any, Any, Any, Any]] = views
        for k, size, stride, offset, _ in places:
            start = value_of(buffers[k])._offset + offset
            made.append(self.emit.call(aten.as_strided.default, buffers[k], size, stride, start, like=node))
            made[-1].meta["relative"] = True
        target: Any = registry.higher_order.get(name) or registry.find(name)
        self._replace(node, target, put_views(arguments, views, made), count)

    def _replace(self, node: Node, target: Any, arguments: dict[str, Any], count: int) -> None:
        """Call an op or launch itself; its results become those of the node."""
        result = self.emit.insert(target, (), arguments, node, _returned(node, count))
        for i in range(count):
            items = _items(node, i)
            if count > 1 and items:
                self._redirect(items, self.emit.call(operator.getitem, result, i, like=node, val=value_of(items[0])))
            else:
                self._redirect(items, result)
        for user in list(node.users):  # the lists themselves
            self.graph.erase_node(user)
        self.graph.erase_node(node)

    def place(self, node: Node) -> None:
        """A tensor with a part of it replaced."""
        base, value, size, stride, offset, _ = node.args
        reason = None if _same_layout(value_of(base), value_of(node)) else "its result has another layout"
        if reason is None and root_of(value) is root_of(base):
            reason = "what is written is a part of it"
        reason = reason or self._why_not(node, base, [node])
        if reason is not None:
            self._note(node, base, reason)
            return
        start = value_of(base)._offset
        part = self.emit.call(aten.as_strided.default, base, list(size), list(stride), start + offset, like=node)
        part.meta["relative"] = True
        self.emit.call(aten.copy_.default, part, value, like=node, val=value_of(part))
        self._become(node, base)

    # ---- what may be written

    def _buffer(self, node: Node, operand: Node, results: list[Node], reason: str | None = None) -> Node:
        """What the call may write: the operand itself, or a copy of it, as where there is a `reason`."""
        reason = reason or self._why_not(node, operand, results)
        if reason is None:
            return operand
        self._note(node, operand, reason)

        def call(op: OpOverload, *args: Any) -> Node:
            made = self.emit.call(op, *args, like=node)
            made.meta["relative"] = True
            return made

        return copy_laid_out(operand, call, value_of(operand))

    def _note(self, node: Node, operand: Node, reason: str) -> None:
        site = node.meta.get("site")
        self.copies.append(f"copy of {operand.name}: {reason}" + (f"; {site.short}" if site is not None else ""))

    def _why_not(self, node: Node, operand: Node, results: list[Node]) -> str | None:
        """Why a call may not write an operand; None if nothing can tell.

        Parameters
        ----------
        node : Node
            The call.
        operand : Node
            What it would write.
        results : list of Node
            What stands for the operand's contents after the call.
        """
        root = root_of(operand)
        end = None
        if root.op != "call_function":
            end = next(
                (u for u in root.users if u.target is aten.copy_.default and u.args[0] is root and u > node), None
            )
            if end is None:
                return "the input itself must keep its contents"
            kept = [r for r in results if r is not end.args[1] and _read_after(r, end)]
            if kept:
                # Saved for a backward; other results are the final contents.
                return f"{kept[0].name} is kept, and the input holds something else in the end"
        elif not is_owned(root):
            return "it may share memory with something else"
        if any(not _same_layout(value_of(operand), value_of(r)) and not self._only_put_back(r) for r in results):
            return "its copy has another layout"
        for member in members_of(root):
            if not may_overlap(operand, member):
                continue
            if member is not operand and member in node.all_input_nodes and node.target is not write_view:
                return f"its memory is also passed as {member.name}"
            for user in member.users:
                if isinstance(user.target, HigherOrderOperator) and not makes_memory(user):
                    return f"results of {user.name} may share its memory"
                is_view = held_in(user) is not None and not _copies_from(user, member)
                if not user > node or is_view or self._puts_back(user, operand, results):
                    continue
                if end is not None and (user is end or user > end):
                    continue  # wants the final contents
                return f"its old contents are read later by {user.name}"
        return None

    def _puts_back(self, user: Node, operand: Node, results: list[Node]) -> bool:
        """Whether a node does nothing but replace the operand, a part of its base, by the call's result."""
        if user.target is not write_view or user.args[1] not in results:
            return False
        base, _, size, stride, offset, _ = user.args
        if root_of(base) is not root_of(operand) or not _same_layout(value_of(base), value_of(user)):
            return False
        part = value_of(operand)
        return (
            _same(size, part._sizes)
            and _same(stride, part._strides)
            and _same([offset], [part._offset - value_of(base)._offset])
        )

    def _only_put_back(self, result: Node) -> bool:
        """Whether nothing reads a result but what puts it back into its base."""
        return all(user.target is write_view and user.args[1] is result for user in result.users)

    # ---- changes

    def _redirect(self, results: list[Node], new: Node) -> None:
        for result in results:
            putting = [u for u in result.users if self._puts_back(u, new, [result])]
            self._become(result, new)
            for user in putting:
                self._become(user, user.args[0])

    def _become(self, old: Node, new: Node) -> None:
        """Use one node for another that holds the same, perhaps elsewhere in memory; drop write-backs to itself."""
        relocate(self.emit, old, new)
        self.graph.erase_node(old)
        for member in members_of(root_of(new)):
            for user in list(member.users):
                if user.target is aten.copy_.default and user.args[1] is member and root_of(new) is user.args[0]:
                    if _same_place(value_of(member), value_of(user.args[0])):
                        user.replace_all_uses_with(user.args[0])
                        self.graph.erase_node(user)
                        return  # an input is written back once


# ---- memory ----------------------------------------------------------------------------------------------------------


def _copies_from(user: Node, node: Node) -> bool:
    """Whether a node is a `copy_` of another one into something else, which reads it."""
    return user.target is aten.copy_.default and user.args[1] is node


def _read_after(node: Node, end: Node) -> bool:
    """Whether a value is returned, or read behind another node, itself or through a view."""
    waiting = [node]
    while waiting:
        for user in waiting.pop().users:
            if user.op == "output":
                return True
            if user.target is not aten.copy_.default and held_in(user) is not None:
                waiting.append(user)
            elif user > end:
                return True
    return False


def _items(node: Node, key: Any) -> list[Node]:
    return [u for u in node.users if u.target is operator.getitem and u.args[1] == key]


def _returned(node: Node, count: int) -> Any:
    results = value_of(node)[:count]
    return results[0] if count == 1 else tuple(results)


def _same(one: Any, other: Any) -> bool:
    """Whether numbers are equal; asks nothing of symbolic ones, which would make it a guard."""
    return len(one) == len(other) and all(map(_equal, one, other))


def _equal(a: Any, b: Any) -> bool:
    if type(a) is int and type(b) is int:
        return a == b
    return isinstance(a, SymNumber) and isinstance(b, SymNumber) and bool(a.expr == b.expr)


def _same_layout(one: Tensor, other: Tensor) -> bool:
    return _same(one._sizes, other._sizes) and _same(one._strides, other._strides) and one._dtype is other._dtype


def _same_place(one: Tensor, other: Tensor) -> bool:
    return _same_layout(one, other) and _same([one._offset], [other._offset])

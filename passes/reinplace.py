"""Reinplace: mutate directly where a copy proves needless, after fusion has fixed the order in which everything runs.

Functionalization makes every mutating op and Triton launch work on copies. A copy of a tensor that nothing else reads
(an output buffer just allocated for the kernel) is needless; so is that of an input that is only to be overwritten with
the result, once all other reads of it are done. All other copies become explicit `clone` nodes, and
`graph.graph["copies"]` says why each stays.
"""

from __future__ import annotations

import operator
from typing import Any

from opweave.passes.emission import Emitter, map_nodes, nodes_in, value_of
from opweave.passes.functionalize import auto_functionalized
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.triton_op import triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation
from opweave.tracer.graph import Graph, Node

aten = ops.aten


def run(graph: Graph) -> Graph:
    """Turn functional forms of mutating calls back into mutation."""
    rules = {triton_kernel_wrapper_functional: _launch, auto_functionalized: _call}
    if not any(node.op == "call_function" and node.target in rules for node in graph):
        return graph
    emit = Emitter(graph)
    graph.graph["copies"] = copies = []
    for node in [n for n in graph if n.target in rules]:
        with graph.inserting_before(node):
            rules[node.target](node, emit, copies)
    return graph


def _launch(node: Node, emit: Emitter, copies: list[str]) -> None:
    arguments = dict(node.kwargs)
    names = arguments.pop("tensors_to_clone")
    # One tensor given twice stays one tensor.
    buffers: dict[Node, Node] = {}
    for name in names:
        operand = arguments["kwargs"][name]
        if operand not in buffers:
            buffers[operand] = _buffer(node, operand, _item(node, name), emit, copies)
    tensors = map_nodes(arguments["kwargs"], lambda n: buffers.get(n, n))
    emit.call(triton_kernel_wrapper_mutation, like=node, val=(), **{**arguments, "kwargs": tensors})
    for name in names:
        _redirect(node, name, tensors[name])
    emit.graph.erase_node(node)


def _call(node: Node, emit: Emitter, copies: list[str]) -> None:
    op = registry.find(node.args[0])
    arguments = dict(node.kwargs)
    count = len(op._schema.returns)
    if any(not isinstance(arguments[name], Node) for name in op.mutated_args):
        return  # lists of tensors keep their copies
    for i, name in enumerate(op.mutated_args, count):
        operand = arguments[name]
        buffer = _buffer(node, operand, _item(node, i), emit, copies)
        # One tensor given twice stays one tensor.
        arguments = map_nodes(arguments, lambda n, operand=operand, buffer=buffer: buffer if n is operand else n)
    result = emit.insert(op, (), arguments, node, _returned(node, count))
    for i in range(count):
        if count == 1:
            _redirect(node, i, result)
        elif (item := _item(node, i)) is not None:
            _redirect(node, i, emit.call(operator.getitem, result, i, like=node, val=value_of(item)))
    for i, name in enumerate(op.mutated_args, count):
        _redirect(node, i, arguments[name])
    emit.graph.erase_node(node)


def _returned(node: Node, count: int) -> Any:
    results = value_of(node)[:count]
    return results[0] if count == 1 else tuple(results)


def _item(node: Node, key: Any) -> Node | None:
    return next((user for user in node.users if user.target is operator.getitem and user.args[1] == key), None)


def _redirect(node: Node, key: Any, new: Node) -> None:
    for user in [u for u in node.users if u.target is operator.getitem and u.args[1] == key]:
        user.replace_all_uses_with(new)
        node.graph.erase_node(user)


def _buffer(node: Node, operand: Node, result: Node | None, emit: Emitter, copies: list[str]) -> Node:
    """What the call may write: the operand itself, or a copy of it."""
    reason = _why_not_fresh(node, operand)
    if reason is None:
        return operand
    if operand.op in ("placeholder", "get_attr") and result is not None:
        write_back = [u for u in result.users if u.target is aten.copy_.default and u.args == (operand, result)]
        reason = _why_not_last(node, operand) if write_back else "the input itself must keep its contents"
        if reason is None:
            for copy in write_back:
                copy.replace_all_uses_with(operand)
                emit.graph.erase_node(copy)
            return operand
    site = node.meta.get("site")
    copies.append(f"copy of {operand.name}: {reason}" + (f"; {site.short}" if site is not None else ""))
    return emit.call(aten.clone.default, operand, like=node)


def _why_not_fresh(node: Node, operand: Node) -> str | None:
    """Why a tensor may not be overwritten although it is no input; None if nothing can tell."""
    if operand.op != "call_function":
        return "it is an input"
    if list(nodes_in((node.args, node.kwargs))).count(operand) > 1:
        return "it is passed twice"
    others = [user.name for user in operand.users if user is not node]
    if others:
        return f"also read by {', '.join(others)}"
    if isinstance(operand.target, OpOverload):
        return "it is a view" if operand.target.is_view or operand.target.is_mutable else None
    if operand.target is not operator.getitem:
        return None
    source = operand.args[0]
    if isinstance(source.target, OpOverload):
        return "it is a view" if source.target.is_view or source.target.is_mutable else None
    twins = [u for u in source.users if u.target is operator.getitem and u.args[1] == operand.args[1]]
    return "also read under another name" if len(twins) > 1 else None


def _why_not_last(node: Node, operand: Node) -> str | None:
    """Why an input may not be overwritten yet; None if nothing after the call reads it, itself or through a view."""
    if list(nodes_in((node.args, node.kwargs))).count(operand) > 1:
        return "it is passed twice"
    waiting, seen = [operand], set()
    while waiting:
        for user in waiting.pop().users:
            if user is node or user in seen:
                continue
            seen.add(user)
            writes_back = user.target is aten.copy_.default and user.args[0] is operand
            if user > node and not writes_back and not _reads_final(user, operand):
                return f"its old contents are read later by {user.name}"
            if isinstance(user.target, OpOverload) and user.target.is_view:
                waiting.append(user)
    return None


def _reads_final(user: Node, operand: Node) -> bool:
    """Whether a later reader comes after the write-back, and so wants the new contents anyway."""
    return any(u.target is aten.copy_.default and u.args[0] is operand and u < user for u in operand.users)

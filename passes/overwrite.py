"""Overwrite: a kernel stores its result right into the input that the result is to be written to.

`x.mul_(2)` leaves a kernel that makes a new value and a copy of that into `x`. The copy goes, and with it the buffer,
where the kernel may write `x` itself: nothing reads the old contents later, and the kernel reads each element of `x`,
if at all, only to compute that very element. The guards of a compiled function see to it that no other input shares
memory with `x`. A kernel that writes inputs has them as `into`: pairs of a result's number and the node it goes to.
"""

from __future__ import annotations

import operator

from opweave.registry.op import ops
from opweave.tracer.aliasing import sources, view_source
from opweave.tracer.declared import declared
from opweave.tracer.emission import Emitter, nodes_in, relocate, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launches import launch_of
from opweave.tracer.loops.iteration import IterationSpace, analyse, is_only_scattered_to, reads_memory
from opweave.tracer.loops.size import sizes

aten = ops.aten


def run(graph: Graph) -> Graph:
    """Let kernels write inputs where that is safe; `graph["copies"]` says why a copy stays."""
    writes = [node for node in graph if node.target is aten.copy_.default and node.args[0].op == "placeholder"]
    kept: list[str] = []
    for node in writes:
        reason = _redirect(graph, node)
        if reason:
            site = node.meta.get("site")
            kept.append(f"copy into {node.args[0].name}: {reason}" + (f"; {site.short}" if site is not None else ""))
    if kept:
        graph.graph["copies"] = [*graph.graph.get("copies", ()), *kept]
    return graph


def _redirect(graph: Graph, write: Node) -> str:
    """Make the kernel behind a copy write its target; a reason if it may not."""
    target, source = write.args[:2]
    if (
        len(write.args) != 2
        or declared(write) is None
        or not isinstance(source, Node)
        or source.target is not operator.getitem
    ):
        return "its source is no result of a kernel"
    kernel, number = source.args
    if not isinstance(kernel.target, Graph):
        return "its source is no result of a kernel"
    old, new = value_of(target), value_of(source)
    layouts = [(sizes(value._sizes), sizes(value._strides), value._dtype) for value in (old, new)]
    if layouts[0] != layouts[1] or old._device is not new._device:
        return "its layout is another"
    if any(user.op == "output" for user in source.users):
        return "its source is returned as well"
    if sum(user.target is aten.copy_.default and user.args[0] is target for user in target.users) > 1:
        return "it is written several times"
    late = _later_reader(target, kernel, write)
    if late is not None:
        return f"its old contents are read later by {late.name}"
    reason = _order(kernel, number, target)
    if reason:
        return reason
    write.replace_all_uses_with(target)
    graph.erase_node(write)
    relocate(Emitter(graph), source, target)  # views of it now start where the input does
    graph.erase_node(source)
    into = (*kernel.kwargs.get("into", ()), (number, target))
    kernel.set_operands(kernel.args, {"into": into})
    return ""


def _later_reader(target: Node, kernel: Node, write: Node) -> Node | None:
    """A step behind the kernel that reads what an input held before, itself or through a view."""
    waiting, seen = [target], {kernel, write}
    while waiting:
        for user in waiting.pop().users:
            if user in seen:
                continue
            seen.add(user)
            if view_source(user) is not None:
                waiting.append(user)
            if kernel < user < write:
                return user
    return None


def _order(kernel: Node, number: int, target: Node) -> str:
    """Why a kernel must not write an input that it reads; empty if it may."""
    region: Graph = kernel.target
    inner = [p for p, operand in zip(region.placeholders(), kernel.args, strict=True) if operand is target]
    views = [n for n in kernel.args if isinstance(n, Node) and n is not target and target in sources(n)]
    if views:
        return f"the kernel reads it through {views[0].name}"
    if not inner or all(not p.users for p in inner):
        return ""
    if launch_of(region) is not None:
        return "a user's kernel may read other elements of it"
    results = list(nodes_in(region.output_node().args))
    space: IterationSpace = analyse(region, results)
    if space.reduced and not space.scatters:
        return "the kernel reduces, and reads it more than once"
    node = results[number]
    stored = None if space.scatters else next(d.index for d in space.demands[node] if space.covers(node, d))
    for placeholder in inner:
        if space.scatters and not is_only_scattered_to(placeholder):
            return "the kernel writes other elements of it"
        if not space.scatters and any(reads_memory(user, placeholder) for user in placeholder.users):
            return "the kernel reads other elements of it"
        for demand in space.demand_of(placeholder, placeholder.users):
            if demand.index != stored:
                return "the kernel reads other elements of it"
    return ""

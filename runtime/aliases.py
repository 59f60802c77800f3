"""Inputs that share memory, of a function that writes: one input for all of them, of which they are views.

Traced as tensors of their own, a write to one would not be seen through the others. So the graph gets the stretch of
memory that they lie in, and makes each from it with `as_strided`; functionalization then knows what a write reaches.
The version is guarded to be used for inputs that lie in one memory in just this way.
"""

from __future__ import annotations

import functools

from opweave.registry.keys import GRAD
from opweave.registry.op import ops
from opweave.registry.overlap import disjoint
from opweave.registry.spec import span
from opweave.registry.tensor import Tensor, as_view
from opweave.runtime.capture import Captured
from opweave.runtime.sources import Source, TensorInput
from opweave.tracer.effects import mutates
from opweave.tracer.emission import value_of
from opweave.tracer.graph import Graph, Node


def join(captured: Captured) -> dict[int, TensorInput]:
    """Make one input of those that share memory, where the graph writes at all.

    Parameters
    ----------
    captured : Captured
        Its graph, inputs and guards are changed.

    Returns
    -------
    dict of int to TensorInput
        By `id` of each input that is now a view of another one, that one.
    """
    graph = captured.module.graph
    gets_history = captured.backward is not None and captured.backward.written
    if gets_history or not any(map(mutates, graph)):
        return {}
    nodes = dict(zip(map(id, captured.inputs), graph.placeholders(), strict=False))
    joined: dict[int, TensorInput] = {}
    for group in _groups([t for t in captured.inputs if isinstance(t, TensorInput)]):
        whole = _whole_of(captured, group)
        _replace(graph, [(nodes[id(t)], t) for t in group], whole)
        at = next(i for i, t in enumerate(captured.inputs) if t is group[0])
        captured.inputs[at] = whole
        captured.inputs = [t for t in captured.inputs if all(t is not member for member in group)]
        joined.update((id(t), whole) for t in group)
    return joined


def _groups(inputs: list[TensorInput]) -> list[list[TensorInput]]:
    """Inputs whose memory overlaps; only those that can be described as views of one stretch of it."""
    found: list[list[TensorInput]] = []
    for t in inputs:
        near = [g for g in found if any(not disjoint((t.tensor,), (other.tensor,)) for other in g)]
        found = [g for g in found if all(g is not other for other in near)]
        found.append([*(other for g in near for other in g), t])
    order = {id(t): i for i, t in enumerate(inputs)}
    return [sorted(g, key=lambda t: order[id(t)]) for g in found if len(g) > 1 and _can_join(g)]


def _can_join(group: list[TensorInput]) -> bool:
    first = group[0].tensor
    return all(
        t.options is None
        and t.tensor._storage is first._storage
        and t.tensor._dtype is first._dtype
        and t.tensor._keys == first._keys
        and not t.tensor._keys & GRAD
        for t in group
    )


def _stretch(t: Tensor, size: int, start: int) -> Tensor:
    return as_view(t, (size,), (1,), start)


def _whole_of(captured: Captured, group: list[TensorInput]) -> TensorInput:
    """The input for a group, and the guard that says where its members lie."""
    guards = captured.guards
    first = group[0]
    start = min(t.tensor._offset for t in group)
    end = max(t.tensor._offset + span(t.tensor._sizes, t.tensor._strides) for t in group)
    tests = [f"{first.source.var}._offset == {first.tensor._offset}"]
    for t in group[1:]:
        tests.append(f"{t.source.var}._storage is {first.source.var}._storage")
        tests.append(f"{t.source.var}._offset == {t.tensor._offset}")
    names = ", ".join(t.source.text for t in group)
    guards.require(" and ".join(tests), first.source, lambda now: f"{names} share memory in another way")
    make = guards.constant(functools.partial(_stretch, size=end - start, start=start))
    text = f"{make}({first.source.var})"
    return TensorInput(Source(text, names, first.source.site, text, True), _stretch(first.tensor, end - start, start))


def _replace(graph: Graph, members: list[tuple[Node, TensorInput]], whole: TensorInput) -> None:
    first = members[0][0]
    with graph.inserting_before(first):
        stretch = graph.placeholder("shared")
    stretch.meta.update(first.meta)
    stretch.meta["val"] = _stretch(value_of(first), whole.tensor._sizes[0], whole.tensor._offset)
    after = next(node for node in graph if node.op != "placeholder")
    with graph.inserting_before(after):
        for node, t in members:
            place = list(t.tensor._sizes), list(t.tensor._strides), t.tensor._offset
            view = graph.call_function(ops.aten.as_strided.default, (stretch, *place), {})
            view.meta.update(node.meta)
            node.replace_all_uses_with(view)
            graph.erase_node(node)

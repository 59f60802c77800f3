"""Bundle what is saved for the backward: many tensors of one kind become parts of one.

    forward    ... -> results, a, b            forward    ..., saved = cat([a, b]) -> results, saved
    backward   a, b, tangents -> ...      ->   backward   saved, tangents, a = saved[0:8], b = saved[8:16], ... -> ...

An unrolled recurrent network saves some tensors a step. Each is an object that is made, kept, handed on and dropped at
a call, which takes as long as a small kernel. What is computed is made in its place in the bundle, so that nothing is
copied but what also lies in another.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise

from opweave.passes.fuse import MAX_PIECES
from opweave.passes.partition import Partition
from opweave.registry.op import ops
from opweave.registry.spec import contiguous_strides
from opweave.registry.tensor import Tensor
from opweave.tracer.emission import Emitter, nodes_in, relocate, value_of
from opweave.tracer.graph import Graph, Node

aten = ops.aten
#: The largest tensors that go into a bundle, in bytes: of larger ones the objects cost little beside the work.
LARGEST = 1 << 20
#: Bytes of which the parts' sizes are multiples, so that all begin where vectors are loaded fast.
_LINE = 64

_Kind = tuple[object, ...]


def run(partition: Partition) -> Partition:
    """Bundle the saved values of a partition, whose graphs are changed.

    Parameters
    ----------
    partition : Partition
        As it was cut.

    Returns
    -------
    Partition
        With fewer saved values.
    """
    forward, backward = partition.forward, partition.backward
    outputs = forward.output_node().args[0]
    results = len(outputs) - len(partition.saved)
    returned = set(nodes_in(outputs[:results]))
    bundles: dict[_Kind, list[int]] = {}
    for k, node in enumerate(outputs[results:]):
        kind = _kind(node) if node not in returned else None
        if kind is not None:
            bundles.setdefault(kind, []).append(k)
    chosen = [places for places in bundles.values() if len(places) > MAX_PIECES]
    if not chosen:
        return partition
    inputs = backward.placeholders()
    names, kept = list(partition.saved), list(outputs[results:])
    for places in chosen:
        whole = _joined(forward, [outputs[results + k] for k in places])
        _taken_apart(backward, [inputs[k] for k in places], whole)
        names[places[0]], kept[places[0]] = whole.name, whole
    gone = {k for places in chosen for k in places[1:]}
    output = forward.output_node()
    output.args = ((*outputs[:results], *(node for k, node in enumerate(kept) if k not in gone)),)
    return replace(partition, saved=[name for k, name in enumerate(names) if k not in gone])


def _kind(node: Node) -> _Kind | None:
    """What tensors of one bundle have in common; None where a value goes into none."""
    value = value_of(node)
    if node.op != "call_function" or not isinstance(value, Tensor) or not value._device.is_host:
        return None
    sizes = value._sizes
    if not sizes or any(type(n) is not int for n in (*sizes, *value._strides, value._offset)):
        return None
    count = value._dtype.itemsize
    for size in sizes:
        count *= size
    if not count or count % _LINE or count > LARGEST or value._strides != contiguous_strides(sizes):
        return None
    return value._dtype, value._device, sizes[1:]


def _joined(forward: Graph, parts: list[Node]) -> Node:
    with forward.inserting_before(forward.output_node()):
        return Emitter(forward).call(aten.cat.default, parts, 0, like=parts[0])


def _taken_apart(backward: Graph, parts: list[Node], whole: Node) -> None:
    """Replace inputs by slices of one that stands in the first one's place."""
    first = parts[0]
    with backward.inserting_before(first):
        given = backward.placeholder(whole.name)
    given.meta.update({key: whole.meta[key] for key in ("val", "site", "stack") if key in whole.meta})
    emit = Emitter(backward)
    ends = [0, *accumulate(value_of(part)._sizes[0] for part in parts)]
    with backward.inserting_after(backward.placeholders()[-1]):
        for part, (start, end) in zip(parts, pairwise(ends), strict=True):
            relocate(emit, part, emit.call(aten.slice.Tensor, given, 0, start, end, like=part))
    for part in parts:
        backward.erase_node(part)

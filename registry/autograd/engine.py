"""Walking the graph back: `backward` and `grad`.

A node runs once all gradients that reach it are there, the one recorded last first; leaves' accumulators before any
other node that is ready, so that their gradients are let go early.
"""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from typing import Any

from opweave.registry import forking
from opweave.registry.autograd import anomaly
from opweave.registry.autograd.gradient_edges import BackwardPass, GradientEdge
from opweave.registry.autograd.graph import (
    AccumulateGrad,
    Edge,
    Grads,
    Node,
    edge_of,
    grad_fn_of,
    meta_of,
    validated,
)
from opweave.registry.autograd.record import OpNode
from opweave.registry.autograd.tangents import note_gradient
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.hooks import Hook
from opweave.registry.interrupts import surely
from opweave.registry.keys import ANOMALY, DUAL, FUNCTION_MODE, GRAD, OVERRIDDEN, state
from opweave.registry.op import ops
from opweave.registry.overridable import TensorMeta
from opweave.registry.tensor import Tensor, describe

Tensors = Tensor | GradientEdge | Sequence[Tensor | GradientEdge]

#: Threads that run backward at once take turns at the leaves they share.
_accumulating = forking.lock()


def _listed(value: Any, what: str) -> list[Any]:
    if isinstance(value, (Tensor, GradientEdge)) or value is None:
        return [value]
    if isinstance(value, (list, tuple)):
        return list(value)
    raise ArgumentError(f"{what}: expected tensors", got=type(value).__name__)


def _initial(outputs: list[Tensor], grads: Any, what: str) -> list[Tensor | None]:
    given = [None] * len(outputs) if grads is None else _listed(grads, what)
    if len(given) != len(outputs):
        raise ArgumentError(f"{what}: {len(outputs)} outputs and {len(given)} gradients for them")
    found: list[Tensor | None] = []
    for output, grad in zip(outputs, given, strict=True):
        if isinstance(output, GradientEdge):
            if not isinstance(grad, Tensor):
                raise ArgumentError(f"{what}: an edge as output needs a gradient of its own", got=type(grad).__name__)
            found.append(grad)
            continue
        if not output._keys & GRAD and grad_fn_of(output) is None:
            raise AutogradError(
                f"{what}: the tensor does not require grad, and nothing that made it does",
                got=describe(output),
                hint="call .requires_grad_() on the inputs before the computation, outside no_grad",
            )
        if grad is None:
            if output.numel() != 1:
                raise AutogradError(
                    f"{what}: only a one-element output has the gradient 1 by itself",
                    got=describe(output),
                    hint="pass a gradient of the output's shape, or reduce it: y.sum().backward()",
                )
            if output._dtype.is_complex:
                raise AutogradError(f"{what}: a complex output needs an explicit gradient", got=describe(output))
            grad = ops.aten.ones_like.default(output if not output._keys & GRAD else output.detach())
        elif not isinstance(grad, Tensor):
            raise ArgumentError(f"{what}: gradients must be tensors or None", got=type(grad).__name__)
        elif grad._sizes != output._sizes:
            raise AutogradError(
                f"{what}: a gradient must have the shape of its output",
                got=f"{describe(grad)} for {describe(output)}",
                hint="opweave.ones_like(y), for instance",
            )
        elif grad._dtype.is_complex and not output._dtype.is_complex:
            raise AutogradError(f"{what}: the gradient of a real output must be real", got=describe(grad))
        elif grad._device is not output._device:
            raise AutogradError(
                f"{what}: a gradient must be on the device of its output",
                got=f"{describe(grad)} for {describe(output)}",
            )
        elif grad._dtype is not output._dtype:
            grad = ops.aten._to_copy.default(grad, dtype=output._dtype)
        found.append(grad)
    return found


class GradModeFor:
    """Record what a backward pass does, or not."""

    def __init__(self, create_graph: bool):
        self.create_graph = create_graph

    def __enter__(self) -> None:
        self.before = state.exclude
        state.exclude = state.exclude & ~GRAD if self.create_graph else state.exclude | GRAD

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            state.exclude = self.before


def _dependencies(roots: Sequence[Node], wanted: set[int] | None) -> tuple[dict[int, int], set[int] | None]:
    """(how many edges lead to each node, the nodes from which a wanted one is reached)."""
    counts: dict[int, int] = {}
    order = list({id(node): node for node in roots}.values())
    seen = set(map(id, order))
    for node in order:  # which grows
        for edge in node.edges:
            if edge is not None:
                target = edge[0]
                key = id(target)
                counts[key] = counts.get(key, 0) + 1
                if key not in seen:
                    seen.add(key)
                    order.append(target)
    if wanted is None:
        return counts, None
    # From the earliest recorded on: what a node leads to was recorded before it.
    useful = set(wanted)
    for node in sorted(order, key=_age):
        if any(edge is not None and id(edge[0]) in useful for edge in node.edges):
            useful.add(id(node))
    return counts, useful


def _age(node: Node) -> int:
    return -1 if isinstance(node, AccumulateGrad) else node.sequence


def run(
    roots: Sequence[Edge],
    grads: Sequence[Tensor | None],
    *,
    retain_graph: bool,
    create_graph: bool,
    captures: Sequence[Edge] = (),
    accumulate: bool = False,
) -> list[Tensor | None]:
    """Run the graph from `roots` back.

    Parameters
    ----------
    captures : sequence of edges
        Whose gradients are returned; only what leads to them is run.
    accumulate : bool
        Add the gradients of captured leaves to their `grad` too, as is done for all leaves without `captures`.
    """
    wanted: dict[int, set[int]] = {}
    for node, number in captures:
        wanted.setdefault(id(node), set()).add(number)
    counts, useful = _dependencies([node for node, _ in roots], set(wanted) if captures else None)
    captured: dict[tuple[int, int], Tensor | None] = {}
    buffers: dict[int, list[Tensor | None]] = {}
    ready: list[tuple[int, int, Node]] = []
    waiting: dict[int, Node] = {}

    def push(node: Node) -> None:
        heapq.heappush(ready, (-node.sequence, id(node), node))

    drop = buffers.pop
    watched = state.include & ANOMALY
    before, outer = state.exclude, state.__dict__.get("backward_pass")
    state.exclude = before & ~GRAD if create_graph else before | GRAD
    if TensorMeta.asking is not None or state.include & FUNCTION_MODE:
        state.exclude |= OVERRIDDEN | FUNCTION_MODE  # formulas are no calls of the user's
    state.__dict__["backward_pass"] = BackwardPass(roots, counts, useful)
    try:  # and no `with`, whose end the handler of a signal could prevent
        for (node, number), grad in zip(roots, grads, strict=True):
            _add(buffers, node, number, grad)
            waiting[id(node)] = node
        for key in list(waiting):
            if not counts.get(key):
                push(waiting.pop(key))
        while ready:
            node = heapq.heappop(ready)[2]
            buffer = drop(id(node), None) or [None]
            if useful is not None and id(node) not in useful:
                continue
            if node.pre_hooks or node.retained:
                _hook_tensors(node, buffer)
            if wanted:
                for number in wanted.get(id(node), ()):
                    captured[id(node), number] = buffer[number] if number < len(buffer) else None
            incoming = _hook_node(node, buffer) if node.pre_hooks else tuple(buffer)
            del buffer
            if useful is not None and not any(e is not None and id(e[0]) in useful for e in node.edges):
                if not (accumulate and isinstance(node, AccumulateGrad)):
                    continue
                captured.pop((id(node), 0), None)  # the leaf may have the gradient to itself
            if isinstance(node, AccumulateGrad):
                with _accumulating:
                    _accumulate(node, incoming)
                continue
            edges = node.edges
            asked: tuple[Any, ...] = ()
            if useful is not None and isinstance(node, OpNode):
                asked = (tuple([e is not None and id(e[0]) in useful for e in edges]),)
            found = list(anomaly.apply(node, incoming, *asked) if watched else node.apply(incoming, *asked))
            if len(found) < len(edges):
                raise AutogradError(
                    f"{node.name()}: returned {len(found)} gradients for {len(edges)} inputs",
                    hint="return one for each argument of forward, None where there is none",
                )
            specs, plain = node.input_specs, node.summed_levels is None
            for i, edge in enumerate(edges):
                grad = found[i]
                if grad is None:
                    continue
                if edge is None:
                    found[i] = None
                    continue
                spec = specs[i]
                if plain and spec is not None:
                    sizes, _, dtype, device = spec
                    # Equal integers; symbolic ones are the same objects, or `validated` looks at them.
                    if grad._sizes is sizes and grad._dtype is dtype and grad._device is device:
                        continue
                found[i] = validated(grad, node, i)
            grad = None  # the engine must not be one more that holds it
            if node.post_hooks:
                found = _hook_result(node, found, incoming)
            if not retain_graph:
                node.release()
            del incoming
            for i, edge in enumerate(edges):
                if edge is None:
                    continue
                target, number = edge
                key = id(target)
                if key not in buffers and target.output_count == 1 and not number:
                    buffers[key] = [found[i]]
                else:
                    _add(buffers, target, number, found[i])
                found[i] = None
                counts[key] = left = counts[key] - 1
                if not left:
                    waiting.pop(key, None)
                    push(target)
    finally:
        state.exclude = before
        state.__dict__["backward_pass"] = outer
    found = [captured.get((id(node), number)) for node, number in captures]
    if state.include & DUAL:
        for grad in found:
            note_gradient(grad)
    return found


def _accumulate(node: AccumulateGrad, incoming: Grads) -> None:
    node.apply(incoming)
    if state.include & DUAL:
        note_gradient(meta_of(node.variable).grad)
    if node.post_hooks:
        _hook_result(node, [], incoming)


def _add(buffers: dict[int, list[Tensor | None]], node: Node, number: int, grad: Tensor | None) -> None:
    buffer = buffers.get(id(node))
    if buffer is None:
        buffer = buffers[id(node)] = [None] * max(number + 1, node.output_count)
    elif len(buffer) <= number:
        buffer += [None] * (number + 1 - len(buffer))
    if grad is not None:
        before = buffer[number]
        buffer[number] = grad if before is None else ops.aten.add.Tensor(before, grad)


def _hook_tensors(node: Node, buffer: list[Tensor | None]) -> None:
    """Run the hooks on a node's outputs, in place; those of `retain_grad` see what the others made of the gradient."""
    for number, registered in list((node.pre_hooks or {}).items()):
        if number == -1 or number >= len(buffer):
            continue
        for hook in list(registered.values()):
            before = buffer[number]
            if before is None:
                break
            changed = hook(before)
            if changed is not None:
                buffer[number] = _checked(changed, before, "a tensor's hook")
    for number, reference in (node.retained or {}).items():
        t, grad = reference(), buffer[number] if number < len(buffer) else None
        if t is not None and grad is not None:
            meta = meta_of(t)
            # A copy: the gradient goes on from here, and `grad` is the user's to write to.
            meta.grad = ops.aten.clone.default(grad) if meta.grad is None else ops.aten.add.Tensor(meta.grad, grad)
            if state.include & DUAL:
                note_gradient(meta.grad)


def _hook_node(node: Node, buffer: list[Tensor | None]) -> Grads:
    """The gradients of a node's outputs after the hooks on the node."""
    for hook in list((node.pre_hooks or {}).get(-1, {}).values()):
        changed = hook(tuple(buffer))
        if changed is not None:
            buffer = _replaced(changed, buffer, f"{node.name()}: a pre-hook")
    return tuple(buffer)


def _hook_result(node: Node, found: list[Tensor | None], incoming: Grads) -> list[Tensor | None]:
    """The gradients of a node's inputs after the hooks that run behind it."""
    for hook in list((node.post_hooks or {}).values()):
        changed = hook(tuple(found), incoming)
        if changed is not None:
            found = _replaced(changed, found, f"{node.name()}: a hook")
    return found


def _replaced(changed: Any, before: Sequence[Tensor | None], what: str) -> list[Tensor | None]:
    """What a hook on a node returned, in place of the gradients it was given."""
    after = list(changed) if isinstance(changed, (tuple, list)) else [changed]
    if len(after) != len(before):
        raise AutogradError(f"{what} returned {len(after)} gradients in place of {len(before)}")
    return [
        new if new is None or old is None else _checked(new, old, what) for new, old in zip(after, before, strict=True)
    ]


def _checked(changed: Any, before: Tensor, what: str) -> Tensor:
    """What a hook returned, if it can take the place of the gradient it was given."""
    if not isinstance(changed, Tensor):
        raise AutogradError(f"{what} must return a tensor or None", got=type(changed).__name__)
    if changed._sizes != before._sizes or changed._dtype is not before._dtype or changed._device is not before._device:
        raise AutogradError(
            f"{what} changed the gradient's shape, dtype or device", got=f"{describe(changed)} for {describe(before)}"
        )
    return changed


def backward(
    tensors: Tensors,
    grad_tensors: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add the gradients of `tensors` to the `grad` of the leaves that they come from.

    Parameters
    ----------
    tensors : Tensor or sequence of Tensor
        What to differentiate.
    grad_tensors : Tensor or sequence of Tensor, optional
        Gradient of something with respect to each tensor; 1 for a one-element tensor by default.
    retain_graph : bool, optional
        Keep what was saved, for another backward pass; as `create_graph` by default.
    create_graph : bool
        Record the backward pass itself, so that its results can be differentiated.
    inputs : Tensor or sequence of Tensor, optional
        The only tensors whose `grad` is added to.

    Raises
    ------
    AutogradError
        If a tensor does not require grad, the graph was freed, or a saved tensor was written to.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0], requires_grad=True)
    >>> opweave.autograd.backward((x * x).sum())
    >>> x.grad
    tensor([4., 6.])
    """
    outputs = _listed(tensors, "backward")
    grads = _initial(outputs, grad_tensors, "backward")
    roots = [_edge(t) for t in outputs]
    retain = create_graph if retain_graph is None else retain_graph
    if inputs is None:
        run(roots, grads, retain_graph=retain, create_graph=create_graph)
        return
    targets = _listed(inputs, "backward")
    if not targets:
        raise AutogradError("backward: inputs must not be empty")
    edges = [_target(t, "backward") for t in targets]
    for t in targets:
        if isinstance(t, GradientEdge) and not isinstance(t.node, AccumulateGrad):
            raise AutogradError(
                "backward: an edge keeps no gradient but that of a leaf",
                got=f"{t.node!r}",
                hint="autograd.grad gives it, or pass the tensor itself",
            )
        if isinstance(t, Tensor) and grad_fn_of(t) is not None and not meta_of(t).retains:
            t.retain_grad()  # type: ignore[attr-defined]  # bound by `surface`
    run(roots, grads, retain_graph=retain, create_graph=create_graph, captures=edges, accumulate=True)


def _edge(t: Tensor | GradientEdge) -> Edge:
    if isinstance(t, GradientEdge):
        return t[:2]
    edge = edge_of(t)
    assert edge is not None
    return edge


def _target(t: Tensor | GradientEdge, what: str) -> Edge:
    if isinstance(t, GradientEdge):
        return t[:2]
    edge = edge_of(t)
    if edge is None:
        raise AutogradError(
            f"{what}: one of the inputs does not require grad", got=describe(t), hint="call x.requires_grad_() first"
        )
    return edge


def grad(
    outputs: Tensors,
    inputs: Tensors,
    grad_outputs: Any = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    only_inputs: bool = True,
    allow_unused: bool | None = None,
    is_grads_batched: bool = False,
    materialize_grads: bool = False,
) -> tuple[Tensor | None, ...]:
    """The gradients of the sum of outputs with respect to inputs.

    Parameters
    ----------
    outputs, inputs : Tensor or sequence of Tensor
        What to differentiate, and with respect to what.
    grad_outputs : Tensor or sequence of Tensor, optional
        The vector of the vector-Jacobian product; 1 for a one-element output by default.
    retain_graph, create_graph : bool
        As in `backward`.
    allow_unused : bool
        Give None for an input that the outputs do not depend on, instead of raising.
    is_grads_batched : bool
        `grad_outputs` have a leading dimension; the results have it too, one vector-Jacobian product each.
    materialize_grads : bool
        Zeros instead of None for unused inputs.

    Raises
    ------
    AutogradError
        If an input does not require grad or is not used, or the graph was freed.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0], requires_grad=True)
    >>> opweave.autograd.grad((x * x).sum(), x)
    (tensor([4., 6.]),)
    """
    if not only_inputs:
        raise ArgumentError("grad: only_inputs=False has no meaning any more", hint="use backward")
    if materialize_grads and allow_unused is False:
        raise ArgumentError("grad: materialize_grads=True needs allow_unused to be True or left out")
    results, targets = _listed(outputs, "grad"), _listed(inputs, "grad")
    retain = create_graph if retain_graph is None else retain_graph
    edges = [_target(t, "grad") for t in targets]
    if is_grads_batched:
        found = _batched(results, edges, grad_outputs, retain, create_graph)
    else:
        vectors = _initial(results, grad_outputs, "grad")
        roots = [_edge(t) for t in results]
        found = run(roots, vectors, retain_graph=retain, create_graph=create_graph, captures=edges)
    for i, (t, value) in enumerate(zip(targets, found, strict=True)):
        if value is None:
            if materialize_grads and isinstance(t, Tensor):
                found[i] = ops.aten.zeros_like.default(t.detach())
            elif not allow_unused:
                raise AutogradError(
                    f"grad: input {i} is not used by the outputs",
                    got=describe(t) if isinstance(t, Tensor) else f"{t.node!r}",
                    hint="pass allow_unused=True to get None for it, or materialize_grads=True to get zeros",
                )
    return tuple(found)


#: How `is_grads_batched` runs one backward pass for many vectors; `registry.vmap` supplies it.
over_examples: Hook[..., Any] = Hook()


def _batched(
    outputs: list[Tensor], edges: list[Edge], vectors: Any, retain: bool, create_graph: bool
) -> list[Tensor | None]:
    given = _listed(vectors, "grad")
    roots = [_edge(t) for t in outputs]
    assert over_examples.call is not None, "registry.vmap is imported with the ops"
    return over_examples.call(
        lambda batch: run(roots, batch, retain_graph=retain, create_graph=create_graph, captures=edges), given
    )

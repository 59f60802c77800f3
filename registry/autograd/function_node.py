"""The node behind the results of a forward that the user wrote, and the context that forward and backward share.

`Function` and `RegisteredBackward` run a forward without recording; `finish` puts one `FunctionNode` behind its results
and saves what the context asked for.
"""

from __future__ import annotations

import copy
import weakref
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Any

from opweave.registry.autograd.graph import Edge, Grads, Node, attach, edge_of
from opweave.registry.autograd.record import note_levels
from opweave.registry.autograd.saved import SavedTensor
from opweave.registry.autograd.views import rebase
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.keys import BATCHED_BIT, GRAD, state
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe


class FunctionCtx:
    """What a forward leaves for its backward.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        Which arguments of the forward need a gradient.
    """

    needs_input_grad: tuple[Any, ...] = ()
    _to_save: tuple[Tensor | None, ...] = ()
    _saved: Sequence[Any] = ()
    #: The same for `jvp`.
    _to_save_forward: tuple[Tensor | None, ...] = ()
    _saved_forward: Sequence[Any] = ()
    #: Weak, since the node holds the context.
    _node: weakref.ref[FunctionNode] | None = None
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    _freed = False
    #: Of a registered op: the last arguments, those that a call may leave out; True for tensors.
    _given: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for the backward, checked there for later writes. Once; a second call replaces the first."""
        _only_tensors("save_for_backward", tensors)
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for `jvp`, whose `ctx.saved_tensors` they are."""
        _only_tensors("save_for_forward", tensors)
        self._to_save_forward = tensors

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept.

        Raises
        ------
        AutogradError
            If the graph was freed, or a tensor was written to since.
        """
        if self._node is None:
            return self._to_save
        node = self._node()
        assert node is not None, "the graph keeps the node while its backward may run"
        if self._freed:
            raise AutogradError(
                "backward through the graph a second time",
                got=f"{node.name()}, whose saved tensors were dropped",
                hint="pass retain_graph=True to the first backward or grad call",
            )
        return tuple(None if value is None else value.get(node) for value in self._saved)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs the forward wrote to; each must be returned too."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether outputs without a gradient get zeros in the backward (the default) or None."""
        self._materialize = value


def _only_tensors(what: str, tensors: Sequence[Any]) -> None:
    for t in tensors:
        if t is not None and not isinstance(t, Tensor):
            raise ArgumentError(
                f"{what}: only tensors can be saved",
                got=f"{t!r} ({type(t).__name__})",
                hint="keep other values as attributes: ctx.n = n",
            )


class FunctionNode(Node):
    """A call of a `Function`, or of an op with a registered backward."""

    #: The user's formula of the outputs' tangents, where there is one.
    jvp: Callable[..., Any] | None = None
    #: Inputs that the forward wrote to.
    dirty: Container[int] = ()
    #: Outputs that share memory with another tensor, whose history a write to them would not change.
    shared: frozenset[int] = frozenset()

    def __init__(self, ctx: FunctionCtx, backward: Callable[..., Any], inputs: Sequence[Any], label: str):
        super().__init__(
            tuple([edge_of(t) if isinstance(t, Tensor) else None for t in inputs]),
            tuple([t.spec if isinstance(t, Tensor) else None for t in inputs]),
        )
        self.ctx = ctx
        self.backward = backward
        self.label = label

    def name(self) -> str:
        return self.label

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        ctx = self.ctx
        if all(grad is None for grad in grads) and ctx._materialize:
            return (None,) * len(self.edges)
        filled: list[Any] = list(grads)
        if ctx._materialize:
            for i, grad in enumerate(filled):
                spec = self.output_specs[i] if i < len(self.output_specs) else None
                if grad is None and spec is not None:
                    filled[i] = _zeros(spec)
        if ctx._node is None:
            ctx._node = weakref.ref(self)
        if self.jvp is not None and state.__dict__.get("pushing"):
            return self._transposed(filled)
        found = self.backward(ctx, *filled)
        return self.checked(found)

    def _transposed(self, grads: Sequence[Tensor | None]) -> list[Tensor | None]:
        """Stand-ins of the inputs' gradients: of numbers nobody asks for, and whose derivatives are the tangents."""
        node = TransposedNode(self, grads)
        made: list[Tensor | None] = []
        for i, (edge, spec) in enumerate(zip(self.edges, self.input_specs, strict=True)):
            if edge is None or spec is None:
                made.append(None)
                continue
            zeros = _zeros(spec)
            attach(zeros, node, i)
            made.append(zeros)
        return made

    def checked(self, found: Any) -> list[Tensor | None]:
        """The gradients as a list, one for each input."""
        grads = list(found) if isinstance(found, (tuple, list)) else [found]
        count = len(self.edges)
        if len(grads) > count and all(grad is None for grad in grads[count:]):
            grads = grads[:count]
        if len(grads) != count:
            raise AutogradError(
                f"{self.label}: backward returned {len(grads)} gradients for {count} inputs",
                got=describe(list(grads)),
                hint="return one for each argument of forward, None where there is none",
            )
        for i, (grad, edge) in enumerate(zip(grads, self.edges, strict=True)):
            if grad is not None and not isinstance(grad, Tensor):
                raise AutogradError(
                    f"{self.label}: gradient {i} must be a tensor or None",
                    got=f"{type(grad).__name__}",
                    hint="return a tensor of the shape of the input, or None where it has no gradient",
                )
            if grad is not None and edge is None and self.input_specs[i] is None:
                raise AutogradError(
                    f"{self.label}: backward returned a gradient for argument {i}, which is no tensor",
                    got=describe(grad),
                    hint="return None in that place",
                )
        return grads

    def release(self) -> None:
        self.ctx._freed = bool(self.ctx._saved or self.ctx._saved_forward)
        self.ctx._saved = self.ctx._saved_forward = ()


class TransposedNode(Node):
    """The backward of a `Function` as a function of its outputs' gradients, which is linear: J^T.

    Its own backward, J, is the `jvp` of the user's.
    """

    def __init__(self, owner: FunctionNode, grads: Sequence[Tensor | None]):
        super().__init__(
            tuple([None if g is None else edge_of(g) for g in grads]),
            tuple([None if g is None else g.spec for g in grads]),
        )
        self.owner = owner
        self.output_count = len(owner.input_specs)
        self.output_specs = [*owner.input_specs]

    def name(self) -> str:
        return f"{self.owner.label}Transposed"

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        owner = self.owner
        tangents: list[Any] = []
        for i, spec in enumerate(owner.input_specs):
            tangent = grads[i] if i < len(grads) else None
            if tangent is None and spec is not None and spec.dtype.kind in "fc" and owner.ctx._materialize:
                tangent = _zeros(spec)
            elif tangent is not None and i in owner.dirty:  # the formula may write as the forward did
                tangent = ops.aten.clone.default(tangent)
            tangents.append(tangent)
        ctx = copy.copy(owner.ctx)
        ctx._saved = owner.ctx._saved_forward
        assert owner.jvp is not None
        found = owner.jvp(ctx, *tangents)
        return self._checked(list(found) if isinstance(found, (tuple, list)) else [found])

    def _checked(self, found: list[Any]) -> list[Tensor | None]:
        label, count = self.owner.label.removesuffix("Backward"), len(self.edges)
        if len(found) != count:
            raise AutogradError(
                f"{label}: jvp returned {len(found)} tangents for {count} outputs", got=describe(found),
                hint="return one for each output of forward, None where there is none",
            )  # fmt: skip
        for i, (tangent, spec) in enumerate(zip(found, self.input_specs, strict=True)):
            if tangent is not None and not isinstance(tangent, Tensor):
                raise AutogradError(
                    f"{label}: tangent {i} of jvp must be a tensor or None", got=type(tangent).__name__,
                    hint="return a tensor of the shape of the output",
                )  # fmt: skip
            if tangent is not None and spec is not None and tangent._sizes != spec.sizes:
                raise AutogradError(
                    f"{label}: tangent {i} of jvp has another shape than the output", got=describe(tangent),
                    hint=f"the output has shape {list(spec.sizes)}",
                )  # fmt: skip
        return found


def _zeros(spec: Any) -> Tensor:
    return ops.aten.zeros.default(list(spec.sizes), dtype=spec.dtype, device=spec.device)


def finish(node: FunctionNode, ctx: FunctionCtx, inputs: Sequence[Any], outputs: list[Any], label: str) -> list[Any]:
    """Put the node behind the outputs and save what the context asked for."""
    dirty = {id(t) for t in ctx._dirty}
    plain = {id(t) for t in ctx._non_differentiable}
    given = {id(t): t for t in inputs if isinstance(t, Tensor)}
    for t in ctx._dirty:
        if not any(t is output for output in outputs):
            raise AutogradError(
                f"{label}: an input marked dirty must be returned", got=describe(t), hint="return it from forward"
            )
    node.output_count = len(outputs)
    node.output_specs = [t.spec if isinstance(t, Tensor) else None for t in outputs]
    if any(t._keys & BATCHED_BIT for t in given.values()):
        note_levels(node, inputs, outputs)
    memory = _memory(inputs, outputs)
    finished = []
    for i, t in enumerate(outputs):
        if isinstance(t, Tensor) and id(t) in dirty:
            if t._dtype.kind in "fc":
                rebase(t, node, i, next(k for k, value in enumerate(inputs) if value is t))
        elif isinstance(t, Tensor) and t._dtype.kind in "fc" and id(t) not in plain:
            is_shared = memory[id(t._storage)] > 1
            if is_shared or id(t) in given or t._keys & GRAD:
                t = t._alias()
                node.shared |= {i}
            else:
                t._view_of = None  # of a temporary of forward
            attach(t, node, i)
        elif isinstance(t, Tensor) and (t._keys & GRAD or id(t) in plain and id(t) in given):
            t = t.detach()
        finished.append(t)
    node.dirty = [k for k, t in enumerate(inputs) if id(t) in dirty]
    if ctx._to_save or ctx._to_save_forward:
        pairs = zip(outputs, finished, strict=True)
        keep(node, ctx, given, {id(before): after for before, after in pairs if isinstance(before, Tensor)}, finished)
    ctx._node = weakref.ref(node)
    return finished


def _memory(inputs: Sequence[Any], outputs: Sequence[Any]) -> Counter[int]:
    """How many of the tensors lie in each storage; an input counts for more than itself."""
    found = Counter(id(t._storage) for t in outputs if isinstance(t, Tensor))
    for t in inputs:
        if isinstance(t, Tensor):
            found[id(t._storage)] += 2
    return found


def keep(
    node: FunctionNode, ctx: FunctionCtx, given: Container[int], by_id: dict[int, Tensor], finished: Sequence[Any]
) -> None:
    """Save what the context asked for.

    Parameters
    ----------
    given : container of int
        The ids of the inputs.
    by_id : dict of int to Tensor
        What became of each output.
    finished : sequence
        All of them, in order.
    """
    ctx._saved = _kept(ctx._to_save, node, given, by_id, finished)
    if node.jvp is not None:
        ctx._saved_forward = _kept(ctx._to_save_forward, node, given, by_id, finished)
    ctx._to_save = ctx._to_save_forward = ()
    ctx._node = weakref.ref(node)


def _kept(
    tensors: Sequence[Tensor | None], node: FunctionNode, given: Container[int], by_id: dict[int, Tensor],
    finished: Sequence[Any],
) -> list[SavedTensor | None]:  # fmt: skip
    saved: list[SavedTensor | None] = []
    for t in tensors:
        if t is None:
            saved.append(None)
        elif id(t) in by_id and id(t) not in given:
            after = by_id[id(t)]
            position = next(i for i, made in enumerate(finished) if made is after)
            saved.append(SavedTensor(after, position if after._keys & GRAD else None))
        elif t._keys & GRAD or id(t) in given:
            saved.append(SavedTensor(t))
        else:
            saved.append(SavedTensor(_intermediate(t, node)))
    return saved


_INTERMEDIATE = (
    "its backward uses a tensor that forward computed and saved, which is neither an input nor an output: how that "
    "depends on the inputs is not known, so its second derivative would be wrong",
    "return the intermediate as an output, or save the inputs and compute it anew in backward",
)


def _intermediate(t: Tensor, node: FunctionNode) -> Tensor:
    """A tensor that the forward computed and kept: neither input nor output, so its own dependence on the inputs is
    not recorded. Differentiating a backward that uses it would silently leave that dependence out, so it is refused.
    """
    if t._dtype.kind not in "fc":
        return t
    made = t._alias()
    attach(made, IntermediateNode(node.label, node.edges), 0)
    return made


class IntermediateNode(Node):
    """Refuses a second derivative that would be wrong.

    Parameters
    ----------
    label : str
        Whose it is.
    edges : sequence of edges
        To what its tensor may depend on, so that a backward pass to any of these comes by.
    message, hint : str
        Why, and what to do.
    """

    def __init__(
        self, label: str, edges: Sequence[Edge | None], message: str = _INTERMEDIATE[0], hint: str = _INTERMEDIATE[1]
    ):
        kept = tuple([edge for edge in edges if edge is not None])
        super().__init__(kept, (None,) * len(kept))
        self.label, self.message, self.hint = label, message, hint

    def name(self) -> str:
        return self.label

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        if all(grad is None for grad in grads):
            return (None,) * len(self.edges)
        raise AutogradError(f"{self.label}: {self.message}", hint=self.hint)

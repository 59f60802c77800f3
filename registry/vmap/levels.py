"""The `vmap` calls that are active, and the way into and out of a batch.

`add_batch_dim` and `remove_batch_dim` are recorded. The backward of each is the other, and depends on nothing but the
gradient's own levels, so that it may run long after the `vmap` has returned.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opweave.registry import batched
from opweave.registry.autograd import engine, views
from opweave.registry.autograd.graph import Edge, Grads, Node, attach, edge_of, grad_fn_of
from opweave.registry.autograd.record import run_below
from opweave.registry.autograd.tangents import set_tangent, tangent_of
from opweave.registry.batched import BatchedTensor, Level, add_level, levels_of, remove_level
from opweave.registry.errors import ArgumentError, AutogradError, ShapeError
from opweave.registry.interrupts import contextmanager
from opweave.registry.keys import BATCHED_BIT, DUAL, GRAD, VMAP_MODE_BIT, state
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe


def active() -> list[Level]:
    """The levels of this thread's active `vmap` calls, the outermost first."""
    return state.__dict__.setdefault("vmap", [])


@contextmanager
def entered(level: Level) -> Iterator[Level]:
    """Make a level active inside the block."""
    before = active()
    was_on = state.include & VMAP_MODE_BIT
    state.__dict__["vmap"] = [*before, level]
    state.include |= VMAP_MODE_BIT
    try:
        yield level
    finally:
        state.__dict__["vmap"] = before
        state.include = (state.include & ~VMAP_MODE_BIT) | was_on


@contextmanager
def left() -> Iterator[None]:
    """Make the innermost active level inactive inside the block: what is below it sees the calls around it only."""
    before = active()
    was_on = state.include & VMAP_MODE_BIT
    state.__dict__["vmap"] = before[:-1]
    if len(before) <= 1:
        state.include &= ~VMAP_MODE_BIT
    try:
        yield
    finally:
        state.__dict__["vmap"] = before
        state.include = (state.include & ~VMAP_MODE_BIT) | was_on


# ---- in and out, with history --------------------------------------------------------------------------------------


class AddBatchDim(Node):
    """Into a batch: the gradient, batched at the level or not, goes back as a whole."""

    __slots__ = ("dim", "level")

    def __init__(self, t: Tensor, dim: int, level: Level):
        super().__init__((edge_of(t),), (t.spec,))
        self.dim, self.level = dim, level

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        if grads[0] is None:
            return (None,)
        whole = remove_batch_dim(grads[0], self.level)
        return (whole if self.dim == 0 else ops.aten.movedim.int(whole, 0, self.dim),)


class RemoveBatchDim(Node):
    """Out of a batch: the gradient is split among the examples."""

    __slots__ = ("level",)

    def __init__(self, edge: Edge | None, t: Tensor, level: Level):
        super().__init__((edge,), (t.spec,))
        self.level = level

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        return (None if grads[0] is None else add_batch_dim(grads[0], 0, self.level),)


def is_recorded(t: Tensor) -> bool:
    """Whether what is done with a tensor becomes part of the graph."""
    return bool(t._keys & GRAD) and not state.exclude & GRAD


def add_batch_dim(t: Tensor, dim: int, level: Level) -> BatchedTensor:
    """A tensor with one of its dimensions made the examples of a level."""
    plain = t._alias() if t._keys & GRAD else t
    made = add_level(plain, dim, level)
    if is_recorded(t):
        node = AddBatchDim(t, dim, level)
        node.output_specs = [made.spec]
        attach(made, node, 0)
    if state.include & DUAL and (tangent := tangent_of(t)) is not None:
        set_tangent(made, add_batch_dim(tangent, dim, level) if isinstance(tangent, Tensor) else tangent)
    return made


def remove_batch_dim(t: Tensor, level: Level) -> Tensor:
    """A tensor with the examples of a level as its first dimension; one that is not batched at it is stretched."""
    made = _without_level(t, level)
    if state.include & DUAL and (tangent := tangent_of(t)) is not None:
        set_tangent(made, remove_batch_dim(tangent, level) if isinstance(tangent, Tensor) else tangent)
    return made


def _without_level(t: Tensor, level: Level) -> Tensor:
    if level not in levels_of(t):
        return ops.aten.expand.default(t, [level.size, *t._sizes])
    # An object of its own: the batch itself has no history.
    made = run_below(remove_level, (t, level), {})._alias()
    if is_recorded(t):
        node = RemoveBatchDim(edge_of(t), t, level)
        node.output_specs = [made.spec]
        attach(made, node, 0)
    return made


batched.leave.supply(remove_batch_dim)


def lift(t: Tensor) -> Tensor:
    """The tensor batched at every active level, so that its gradient is one for each example."""
    for level in active():
        if level not in levels_of(t):
            t = add_batch_dim(ops.aten.expand.default(t, [level.size, *t._sizes]), 0, level)
    return t


def note_writes(t: Tensor, made: BatchedTensor, dim: int, level: Level) -> None:
    """Give a tensor the history of what was written, inside `vmap`, to the batch made of it.

    Raises
    ------
    AutogradError
        If the tensor's own history cannot take it: it is a leaf, or a view.
    """
    if not is_recorded(made):
        return
    node = grad_fn_of(made)
    if node is None or isinstance(node, AddBatchDim) and node.level == level:
        return
    views.check_write("vmap", t)
    if t._view_of is not None:
        raise AutogradError(
            "vmap: a view was written in place inside, which is not recorded",
            got=describe(t),
            hint="clone() it first, or return the new values",
        )
    whole = remove_batch_dim(made, level)
    if dim:
        whole = ops.aten.movedim.int(whole, 0, dim)
    edge = edge_of(whole)
    assert edge is not None
    attach(t, *edge)


def note_alias(t: Tensor, given: Sequence[Tensor]) -> None:
    """Make a result that shares the memory of an input a view of it, which it is."""
    for base in given:
        if base._storage is t._storage and base is not t and base._dtype is t._dtype:
            t._view_of = base if base._view_of is None else base._view_of
            t._storage.note_view(t)
            return


# ---- many vectors at once through one backward pass ----------------------------------------------------------------


def over_examples(run: Callable[[list[Any]], list[Tensor | None]], given: Sequence[Tensor | None]) -> list[Any]:
    """Call `run` with tensors that stand for their slices along the first dimension, and stack what it returns.

    Raises
    ------
    ArgumentError, ShapeError
        If there is no tensor among them, or their first dimensions differ.
    """
    present = [t for t in given if t is not None]
    if not present:
        raise ArgumentError("grad: is_grads_batched needs grad_outputs", hint="one for each output, with a batch first")
    sizes = {t._sizes[:1] for t in present}
    if len(sizes) != 1 or () in sizes:
        raise ShapeError(
            "grad: batched grad_outputs must have one leading size",
            got=describe(list(given)),
            hint="(batch, *output.shape) each",
        )
    with entered(Level.fresh(present[0]._sizes[0])) as level:
        found = run([None if t is None else add_batch_dim(t, 0, level) for t in given])
        return [None if t is None else remove_batch_dim(t, level) for t in found]


engine.over_examples.supply(over_examples)


def top_level(tensors: Iterator[Tensor]) -> Level | None:
    """The innermost level that any of the tensors is batched at."""
    found: Level | None = None
    for t in tensors:
        if t._keys & BATCHED_BIT and isinstance(t, BatchedTensor) and (found is None or t.level > found):
            found = t.level
    return found

"""In-place ops under autograd: what may be written, and whose history a write changes (see `registry.results`).

A write through a view changes its base and, through the base, every other view of it: the base gets a `CopySlices`
node, and each view's `grad_fn` is made anew from the base when it is next asked for (`graph.grad_fn_of`).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.autograd.graph import (
    AsStridedNode,
    CopySlices,
    Node,
    attach,
    grad_fn_of,
    keep_retaining,
    meta_of,
    same_reals,
)
from opweave.registry.errors import AutogradError, UnsupportedError
from opweave.registry.keys import GRAD, VIEW_BIT, state
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor, describe

#: Why a view may not be written; what has been done with it since is unknown, or would have to be undone.
ONE_OF_SEVERAL = "one of several views that one call made"
UNRECORDED = "a view that was made without recording, of a tensor that requires grad,"
SHARED = "a result of a Function, or of compiled code, that shares memory with another tensor"


def check_write(op: OpOverload | str, t: Tensor) -> None:
    """Refuse writes that would lose a gradient.

    Raises
    ------
    AutogradError
        If the tensor is a leaf that requires grad, a view of one, a view that has no history of its own, or was made
        in inference mode.
    """
    base = t._view_of
    meta = t._autograd
    if meta is not None and meta.restriction is not None:
        raise AutogradError(
            f"{op}: {meta.restriction} cannot be written in place",
            got=describe(t),
            hint="clone() it first, or use the functional form of the op",
        )
    if base is not None and base._keys & GRAD and grad_fn_of(base) is None:
        raise AutogradError(
            f"{op}: a view of a leaf that requires grad cannot be written in place",
            got=describe(t),
            hint="write under opweave.no_grad(), or clone() first",
        )
    if base is not None and t._keys & GRAD and not base._keys & GRAD and grad_fn_of(t) is not None:
        raise AutogradError(
            f"{op}: a view of a tensor that was detached cannot be written in place",
            got=describe(t),
            hint="clone() it first, or detach() the tensor before the view is made",
        )
    if t._keys & GRAD and grad_fn_of(t) is None:
        raise AutogradError(
            f"{op}: a leaf that requires grad cannot be written in place",
            got=describe(t),
            hint="write under opweave.no_grad(), or use the functional form",
        )
    if not t._keys & VIEW_BIT:
        raise AutogradError(
            f"{op}: a tensor of inference mode cannot be written where that is recorded",
            got=describe(t),
            hint="clone() it outside of inference_mode",
        )
    if base is not None and t._dtype.kind in "fc" and not same_reals(base, t):
        raise AutogradError(
            f"{op}: an in-place write through a view of another element type cannot be differentiated",
            got=f"{describe(t)} of {describe(base)}",
            hint="write to the base, or use functional ops",
        )
    for owner in (t, base):
        node = None if owner is None else grad_fn_of(owner)
        if owner is not None and meta_of(owner).output in getattr(node, "shared", ()):
            raise AutogradError(
                f"{op}: {SHARED} cannot be written in place",
                got=describe(owner),
                hint="clone() it first, or return a copy from forward",
            )


def restrict(results: Sequence[Any]) -> None:
    """Note that these views were made by one call, whose gradient needs all of them together."""
    for t in results:
        meta_of(t).restriction = ONE_OF_SEVERAL


def inherit(view: Tensor, given: Tensor) -> None:
    """A view of a view that may not be written may not be written either."""
    meta = given._autograd
    if meta is not None and meta.restriction is not None:
        meta_of(view).restriction = meta.restriction


def views_of(owner: Tensor) -> list[Tensor]:
    """The views of a tensor that can have a gradient."""
    found = [ref() for ref in owner._storage.views or ()]
    return [t for t in found if t is not None and t._view_of is owner and t._dtype.kind in "fc"]


def rebase(t: Tensor, node: Node, output: int, at: int = 0, views: Sequence[Tensor] | None = None) -> None:
    """Make a node the history of a tensor that was written in place.

    Its views get histories too: those there are, or the given ones, if others were made after the write.

    Parameters
    ----------
    t : Tensor
        What was written.
    node : Node
        Of the op.
    output : int
        Which of the node's outputs `t` is now.
    at : int
        Which of its inputs `t` was.
    views : sequence of Tensor, optional
        The other tensors on the memory of `t`.
    """
    base = t._view_of
    owner = t if base is None else base
    recorded = owner._keys & GRAD
    if base is None:
        _renew(t, node, output)
    else:
        _renew(base, CopySlices(base, t, node, output, at), 0)
        _renew(t, AsStridedNode(base, t), 0)
    for view in views_of(owner) if views is None else views:
        if not view._keys & GRAD:
            if recorded:
                meta_of(view).restriction = UNRECORDED
            view._keys |= GRAD
            meta_of(view)


def show_as(op: OpOverload, t: Tensor, make: Callable[[], Tensor]) -> Tensor:
    """Let a tensor be a view of itself from now on: its sizes, strides and offset, and the history of that.

    Raises
    ------
    AutogradError
        Where a write is refused, and where the gradient would go on as if nothing had happened.
    UnsupportedError
        If another tensor stands for it, as in a trace that it comes from outside of.
    """
    recorded = t._keys & GRAD and not state.exclude & GRAD
    if recorded:
        check_write(op, t)
    elif t._keys & GRAD and grad_fn_of(t) is not None:
        raise AutogradError(
            f"{op}: the sizes of a tensor with a history cannot be changed without recording",
            got=describe(t),
            hint="call it where gradients are recorded, or detach() the tensor",
        )
    view = make()
    if type(view) is not type(t):
        raise UnsupportedError(
            f"{op}: the sizes of this tensor cannot be changed in place",
            got=f"{describe(t)} ({type(t).__name__})",
            hint=f"use the functional form: x = x.{op.opname.rstrip('_')}(...)",
        )
    t._show_as(view)
    t._bump()
    if recorded:
        meta = meta_of(view)
        assert meta.grad_fn is not None
        _renew(t, meta.grad_fn, meta.output)
    return t


def _renew(t: Tensor, node: Node, output: int) -> None:
    keep_retaining(t, node, output)
    attach(t, node, output)

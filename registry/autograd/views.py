"""In-place ops under autograd: what may be written, and whose history a write changes.

A write through a view changes its base and, through the base, every other view of it: the base gets a `CopySlices`
node, and each view's `grad_fn` is made anew from the base when it is next asked for (`graph.grad_fn_of`).
"""

from __future__ import annotations

from collections.abc import Sequence

from opweave.registry.autograd.graph import AsStridedNode, CopySlices, Node, attach, grad_fn_of, meta_of
from opweave.registry.errors import AutogradError
from opweave.registry.keys import GRAD
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor, describe


def check_write(op: OpOverload | str, t: Tensor) -> None:
    """Refuse writes that would lose a gradient.

    Raises
    ------
    AutogradError
        If the tensor is a leaf that requires grad, or a view of one.
    """
    base = t._view_of
    if t._keys & GRAD and grad_fn_of(t) is None and base is None:
        raise AutogradError(
            f"{op}: a leaf that requires grad cannot be written in place", got=describe(t),
            hint="write under opweave.no_grad(), or use the functional form",
        )  # fmt: skip
    if base is not None and base._keys & GRAD and grad_fn_of(base) is None:
        raise AutogradError(
            f"{op}: a view of a leaf that requires grad cannot be written in place", got=describe(t),
            hint="write under opweave.no_grad(), or clone() first",
        )  # fmt: skip


def views_of(owner: Tensor) -> list[Tensor]:
    """The views of a tensor that can have a gradient."""
    found = [ref() for ref in owner._storage.views or ()]
    return [t for t in found if t is not None and t._view_of is owner and t._dtype.kind in "fc"]


def rebase(t: Tensor, node: Node, output: int, views: Sequence[Tensor] | None = None) -> None:
    """Make `node` the history of a tensor that was written in place.

    Its views get histories too: those there are, or the given ones, if others were made after the write.
    """
    meta = t._autograd
    retains = meta is not None and meta.retains and meta.grad_fn is not None
    if meta is not None and meta.grad_fn is not None and retains:  # `retain_grad` is for the tensor as it is now
        (meta.grad_fn.retained or {}).pop(meta.output, None)
        meta.retains = False
    base = t._view_of
    if base is None or base._dtype is not t._dtype:
        attach(t, node, output)
    else:
        attach(base, CopySlices(base, t, node), 0)
        attach(t, AsStridedNode(base, t), 0)
    owner = t if base is None else base
    for view in views_of(owner) if views is None else views:
        view._keys |= GRAD
        meta_of(view)
    if retains:
        t.retain_grad()

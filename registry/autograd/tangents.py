"""Which tensors have a tangent, in the level of forward-mode differentiation that a thread is in.

A tangent stands with what autograd knows of its tensor, beside the level that it is of: when the level ends, no tensor
has one any more. While there is a level, the bit `DUAL`, which is no key, is included in every call's set.
"""

from __future__ import annotations

import weakref
from typing import Any

from opweave.registry.autograd.graph import meta_of
from opweave.registry.errors import AutogradError
from opweave.registry.keys import DUAL, GRAD, state
from opweave.registry.tensor import Tensor


class Level:
    """A level of forward-mode differentiation.

    Attributes
    ----------
    records : bool
        Whether a recorded result has had a tangent: of a gradient that is computed from now on the tangent is unknown.
    """

    records = False

    def __init__(self) -> None:
        #: Tensors that were given a tangent.
        self.holders: list[weakref.ref[Tensor]] = []

    def end(self) -> None:
        """Let go of the tangents."""
        for reference in self.holders:
            t = reference()
            if t is not None and t._autograd is not None:
                t._autograd.tangent = None


class Unknown:
    """In the place of a tangent, where there may be one that nobody has computed."""


UNKNOWN = Unknown()


def current_level() -> Level | None:
    """The level that this thread is in.

    Raises
    ------
    AutogradError
        If it was entered in a block that ended before it, such as that of `no_grad`.
    """
    level: Level | None = state.__dict__.get("dual_level")
    if level is not None and not state.include & DUAL:
        raise AutogradError(
            "forward_ad: the level was entered inside a block that has ended, or is left for a while",
            hint="enter and leave a level in the same block; `with dual_level():` does",
        )
    return level


def tangent_of(t: Any) -> Tensor | Unknown | None:
    """A tensor's tangent in this thread's level; None where it has none."""
    if not isinstance(t, Tensor):
        return None
    meta = t._autograd
    if meta is None or meta.tangent is None:
        return None
    level, tangent = meta.tangent
    return tangent if level is state.__dict__.get("dual_level") else None


def set_tangent(t: Tensor, tangent: Tensor | Unknown) -> None:
    """Give a tensor a tangent in this thread's level."""
    level = state.__dict__.get("dual_level")
    if level is not None:
        meta_of(t).tangent = level, tangent
        level.holders.append(weakref.ref(t))
        if not level.records and t._keys & GRAD:
            level.records = True


def note_gradient(t: Tensor | None) -> None:
    """Where a gradient may have a tangent that no one computes, say so."""
    level = state.__dict__.get("dual_level")
    if level is not None and level.records and t is not None:
        set_tangent(t, UNKNOWN)

"""Arguments whose sizes the function changes in place.

The graph has one more output for each, a view of the argument as it is in the end, and the entry lets the argument be
that view when the code has run.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence

from opweave.fake.tensor import FakeTensor
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import UnsupportedError
from opweave.registry.keys import GRAD
from opweave.registry.op import ops as operators
from opweave.registry.tensor import Tensor, describe
from opweave.runtime.backward import Backward
from opweave.runtime.guards import GuardSet
from opweave.runtime.sources import TensorInput, brief
from opweave.tracer.proxy import ProxyMode


@dataclass(slots=True)
class Relaid:
    """An argument whose sizes were changed in place.

    Attributes
    ----------
    given : TensorInput
    fake : FakeTensor
        What stands for it.
    moved : bool
        Whether its sizes, strides or offset are others in the end.
    written : bool
        Whether there were writes to its memory, too.
    strided : bool
        Whether there was a view of it that may have any of its elements.
    """

    given: TensorInput
    fake: FakeTensor
    moved: bool
    written: bool
    strided: bool


def relaid_among(mode: ProxyMode, pairs: Sequence[tuple[TensorInput, Tensor]], name: str) -> list[Relaid]:
    """The arguments whose sizes were changed in place.

    Raises
    ------
    UnsupportedError
        If the function reads one in another way too, where the change is not seen.
    """
    known = {id(fake): given for given, fake in pairs}
    changes = [(fake, moved) for fake, moved in mode.relaid() if id(fake) in known]
    counted = collections.Counter[int]()
    for fake, _ in changes:
        counted[id(fake._storage)] += fake._relaid
    outside = {id(real) for real, _ in mode.lifted()}
    strided = {id(node.meta["val"]._storage) for node in mode.graph if node.target is operators.aten.as_strided.default}
    found = []
    for fake, moved in changes:
        given = known[id(fake)]
        if id(given.tensor) in outside:
            raise UnsupportedError(
                f"compile: {name} changes the sizes of {given.source.text} in place, and reads it from elsewhere too",
                got=brief(given.tensor),
                at=given.source.site,
                hint="use the functional form, as in x = x.t()",
            )
        written = fake._storage.version != counted[id(fake._storage)]
        found.append(Relaid(given, fake, moved, written, id(fake._storage) in strided))
    return found


def note_relaid(backward: Backward, changed: Sequence[Relaid], written: Sequence[Tensor], guards: GuardSet) -> None:
    """Tell a way back which inputs change their sizes; `written` are those that get another history.

    Raises
    ------
    UnsupportedError
        If one is a leaf, whose gradient has the sizes of before; gets a history together with what it is a view of; or
        may not have all of its elements any more, of which other views are.
    """
    for each in changed:
        given, fake = each.given, each.fake
        at = next((k for k, t in enumerate(written) if t is fake), None)
        owned = given.tensor._view_of is not None
        if not each.moved or not fake._keys & GRAD:
            why = None
        elif at is None:
            why = "a leaf"
        elif owned and each.written:
            why = "a view that is written too"
        else:
            why = "by as_strided_" if each.strided else None
        if why is not None:
            raise UnsupportedError(
                f"compile: {backward.name} changes the sizes of {given.source.text} in place where gradients are "
                "recorded",
                got=f"{describe(given.tensor)} → {describe(fake)}, {why}",
                at=given.source.site,
                hint="use the functional form, as in x = x.t(), or call the uncompiled function",
            )
        if each.moved:
            backward.relaid.append(given.tensor)
        if at is not None and not each.written:
            backward.shown.add(at)
        elif at is not None and each.moved:
            var, text = given.source.var, given.source.text
            guards.require(f"{var}._view_of is None", given.source, lambda now, text=text: f"{text} became a view")


def show_as(t: Tensor, view: Tensor) -> None:
    t._show_as(view)

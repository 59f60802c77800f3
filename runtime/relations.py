"""What a version depends on of how its inputs share memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from opweave.registry.errors import UnsupportedError
from opweave.registry.keys import GRAD, state
from opweave.registry.overlap import disjoint
from opweave.runtime.guards import GuardSet
from opweave.runtime.sources import NumberInput, TensorInput, brief


def relate(
    name: str,
    guards: GuardSet,
    inputs: Sequence[TensorInput | NumberInput],
    written: Sequence[int],
    *,
    relaid: bool = False,
    joined: Mapping[int, TensorInput] | None = None,
) -> None:
    """Guard how inputs share memory, where it makes a difference.

    Parameters
    ----------
    name : str
        The function's.
    guards : GuardSet
        Gets the guards.
    inputs : sequence of TensorInput or NumberInput
        Of the graph.
    written : sequence of int
        Which of them it writes.
    relaid : bool
        Whether it changes the sizes of any in place.
    joined : mapping of int to TensorInput, optional
        By `id` of each input that is a view of another one, that one.

    Raises
    ------
    UnsupportedError
        If one that is written shares memory with another one.
    """
    found = [t for t in (inputs[i] for i in written) if isinstance(t, TensorInput)]
    if found or relaid or guards.scope.compares_identity:
        guards.distinct()
    if not found:
        return
    if not state.exclude & GRAD:
        for w in found:
            # A write through a view that autograd does not know of is refused.
            var, bit = w.source.var, GRAD
            test = f"({var}._view_of is None or {var}._keys & {bit} or not {var}._view_of._keys & {bit})"
            guards.require(test, w.source, lambda now: "a view made without recording")
    # Those that are views of one input lie where a guard says. What the graph does not read may share the memory:
    # the write is seen there as it is in eager code.
    read = {id(t) for t in inputs}
    known = [(joined or {}).get(id(t), t) for t in guards.tensors]
    tensors = [*{id(t): t for t in known if id(t) in read}.values()]
    guards.disjoint(found, tensors)
    for w in found:
        for other in tensors:
            if other is not w and not disjoint((w.tensor,), (other.tensor,)):
                raise UnsupportedError(
                    f"compile: {name} writes {w.source.text}, which shares memory with {other.source.text}",
                    got=f"{brief(w.tensor)} and {brief(other.tensor)} on one storage",
                    at=w.source.site,
                    hint=f"pass {other.source.text}.clone(), or call the uncompiled function for this case",
                )

"""From a fused region to kernels that can be printed, as a script.

`OPWEAVE_LOGS=loops` prints the nest after each step that changed it, and each kernel as it is planned. With
`OPWEAVE_VERIFY=1` every step is checked (`codegen.loops.spec`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from opweave.codegen.backends import Target
from opweave.codegen.loops import axes, spec
from opweave.codegen.loops.lowering import record
from opweave.codegen.loops.nest import LoopNest
from opweave.codegen.loops.parts import find_parts, in_parts
from opweave.codegen.loops.schedule import Schedule, choose
from opweave.codegen.loops.values import Buffer
from opweave.tracer.graph import Graph

_log = logging.getLogger("opweave.loops")

#: What becomes of a nest's axes, in this order.
STEPS: tuple[Callable[[LoopNest], LoopNest], ...] = (
    axes.merge,  # axes that no index tells apart are one
    axes.split,  # a part of an axis that an index needs is an axis
    axes.merge,  # parts that every index has side by side are one again
    axes.order,  # loops run in the order of memory
)


def lower(region: Graph, *, wide: bool = False) -> LoopNest:
    """Turn a fused region into a loop nest.

    Parameters
    ----------
    region : Graph
        Placeholders, nodes of fusible kinds, and an output that is a tuple.
    wide : bool
        Whether sizes that are not fixed may make offsets that do not fit in 32 bits.

    Raises
    ------
    CompileError
        If the region does not fit one iteration space, or an op cannot be computed in a kernel.
    """
    nest = _checked("record", record(region, wide=wide))
    for step in STEPS:
        nest = _checked(step.__name__, step(nest), nest)
    return nest


def plan(nest: LoopNest, target: Target, again: frozenset[Buffer] = frozenset()) -> list[tuple[LoopNest, Schedule]]:
    """Kernels, in order, that compute a nest.

    Parameters
    ----------
    nest : LoopNest
        What to compute.
    target : Target
        The device's numbers.
    again : frozenset of Buffer
        Outputs whose memory is an input's.

    Returns
    -------
    list of (LoopNest, Schedule)
        One kernel, or two where a long reduction is split over programs; then the first one's outputs are inputs of the
        second.
    """
    kernels = [(nest, *choose(nest, target, again))]
    parts = find_parts(nest, kernels[0][2], target)
    if parts is not None:
        kernels = [(_checked("parts", half), *choose(half, target, again)) for half in in_parts(nest, *parts)]
    for half, stage, schedule in kernels:
        _checked("join", stage, half)
        if spec.checks:
            spec.verify_schedule(stage, schedule)
        _log.debug("plan: %s", schedule)
    return [(stage, schedule) for _, stage, schedule in kernels]


def _checked(name: str, nest: LoopNest, before: LoopNest | None = None) -> LoopNest:
    """What a step left, as it has to be."""
    if nest is not before:
        if spec.checks:
            spec.verify(nest)
        if _log.isEnabledFor(logging.DEBUG) and (before is None or str(before) != str(nest)):
            _log.debug("%s: %s", name, nest)
    return nest

"""Inputs from the first element on that a kernel reads, so that kernels which read other parts of a tensor are one.

    load x[i0 * 512 + i1 + 7424]   and   load x[i0 * 512 + i1 + 7296]   become   load x[i0 * 512 + i1]

of two views of x. A loop that is unrolled, as over the steps of a recurrent network, has one kernel for all turns then,
instead of one for each that is compiled, and fetched, by itself.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from opweave.codegen.loops.nest import LoopNest
from opweave.codegen.loops.values import Buffer, Load, Read, Value, Values


def rebase(nest: LoopNest) -> tuple[LoopNest, Mapping[Buffer, int]]:
    """The nest over views of its inputs, and how many elements behind the start of an input its view begins."""
    least: dict[Buffer, int] = {}
    for value in nest.values():
        if isinstance(value, Read):
            const = value.offset.const
            begin = const if isinstance(value, Load) and type(const) is int else 0
            least[value.buffer] = min(begin, least.get(value.buffer, begin))
    shifts = {buffer: begin for buffer, begin in least.items() if begin > 0 and buffer in nest.inputs}
    if not shifts or nest.scatters:
        return nest, {}
    values = Values()
    known: dict[Value, Value] = {}
    for value in nest.values():
        args = [known[arg] for arg in value.args]
        if isinstance(value, Load) and value.buffer in shifts:
            values.label, values.site = value.label, value.site
            known[value] = values.load(value.buffer, value.offset + -shifts[value.buffer], *args)
        else:
            known[value] = values.again(value, args, None, nest.reduced)
    stores = tuple([replace(store, value=known[store.value]) for store in nest.stores])
    return replace(nest, stores=stores), shifts

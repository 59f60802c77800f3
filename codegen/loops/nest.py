"""What one kernel computes, as loops: axes, buffers, and scalar values computed from loads and stored.

    amax
      read x: f32[4096, 1024]
      write out: f32[4096]
      for i0 < 4096, reduce r0 < 1024:
        t0: f32 = load x[i0 * 1024 + r0]
        t1: f32 = max(t0)                                                       # amax  model.py:12
        out[i0] = t1

Views leave nothing behind but a different offset in a load.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property

from opweave.codegen.loops.printing import print_nest
from opweave.codegen.loops.values import Buffer, Gather, Require, Scan, Value, Values, topological
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import Site
from opweave.tracer.loops.index import Axis, Index
from opweave.tracer.loops.size import INT32_OFFSETS, hint


@dataclass(frozen=True)
class Store:
    """`buffer[offset] = value`, or a scatter: `buffer[offset + more] = value` where that is `inside` the buffer.

    Attributes
    ----------
    more, inside : Value or None
        Of a scatter. The buffer holds a copy of what is scattered to.
    message : str
        What to say of a place outside.
    accumulate : bool
        Whether the value is added to what is there.
    """

    buffer: Buffer
    offset: Index
    value: Value
    label: str
    site: Site | None
    more: Value | None = None
    inside: Value | None = None
    message: str = ""
    accumulate: bool = False

    @property
    def operands(self) -> list[Value]:
        """The values that it needs."""
        return [self.value] if self.more is None or self.inside is None else [self.value, self.more, self.inside]

    @property
    def axes(self) -> frozenset[Axis]:
        """What it runs over."""
        return self.offset.axes() if self.more is None else self.offset.axes() | self.more.axes


@dataclass(frozen=True)
class Check:
    """What must hold wherever it is computed, and what to say, of which line, where it does not."""

    inside: Value
    message: str
    site: Site | None


@dataclass(frozen=True, eq=False)
class LoopNest:
    """What one kernel computes, before any choice of how.

    Attributes
    ----------
    names : tuple of str
        Ops in it, for the kernel's name.
    kept, reduced : tuple of Axis
        Loops; outermost first.
    inputs, outputs : tuple of Buffer
        Parameters.
    stores : tuple of Store
        The results, from which all else follows.
    wide : bool
        Whether sizes that are not fixed may make offsets that do not fit in 32 bits.
    """

    names: tuple[str, ...]
    kept: tuple[Axis, ...]
    reduced: tuple[Axis, ...]
    inputs: tuple[Buffer, ...]
    outputs: tuple[Buffer, ...]
    stores: tuple[Store, ...]
    wide: bool = False

    def values(self) -> Sequence[Value]:
        """All values, operands before users."""
        return self._values

    @cached_property
    def _values(self) -> Sequence[Value]:
        return tuple(topological([value for store in self.stores for value in store.operands]))

    @property
    def scatters(self) -> bool:
        """Whether its reduced axes have to be run through in order."""
        return any(store.more is not None for store in self.stores)

    @property
    def scans(self) -> bool:
        """Whether it has running totals along its reduced axes, outermost first."""
        return any(isinstance(value, Scan) for value in self.values())

    def indices(self) -> list[Index]:
        """Every index expression."""
        found = [store.offset for store in self.stores]
        for value in self.values():
            found.extend(value.indices())
        return found

    def checks(self) -> list[Check]:
        """What is to be checked, each once."""
        found: dict[Value, Check] = {}
        for value in self.values():
            match value:
                case Gather():
                    message = f"{value.label}: {value.where}"
                    found.setdefault(value.inside, Check(value.inside, message, value.site))
                case Require():
                    found.setdefault(value.holds, Check(value.holds, value.message, value.site))
                case _:
                    pass
        for store in self.stores:
            if store.inside is not None:
                found.setdefault(store.inside, Check(store.inside, f"{store.label}: {store.message}", store.site))
        return list(found.values())

    def __str__(self) -> str:
        return print_nest(self)


def rewrite(nest: LoopNest, mapping: Mapping[Axis, Index], kept: Sequence[Axis], reduced: Sequence[Axis]) -> LoopNest:
    """Rebuild every index with axes replaced by expressions."""
    values = Values()
    known: dict[Value, Value] = {}
    for value in nest.values():
        known[value] = values.again(value, [known[arg] for arg in value.args], mapping, reduced)
    stores = [
        replace(
            s, offset=s.offset.substitute(mapping), value=known[s.value], more=s.more and known[s.more],
            inside=s.inside and known[s.inside],
        )
        for s in nest.stores
    ]  # fmt: skip
    return replace(nest, kept=tuple(kept), reduced=tuple(reduced), stores=tuple(stores))


def needs_int64(nest: LoopNest) -> bool:
    """Whether offsets do not fit in 32 bits."""
    if nest.wide:
        return True
    return any(max(abs(hint(bound)) for bound in index.bounds()) >= INT32_OFFSETS for index in nest.indices())

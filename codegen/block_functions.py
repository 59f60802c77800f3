"""Prints a pointwise region as a `@triton.jit` function of one block, for a kernel that has the block already.

A kernel that stores `B` calls the function of what is done with `B`, one that loads `X` that of what computes `X`:

    def after_out(value, place, i0, i1, live, w, out):
        t0 = tl.load(w + i1, live)
        tl.store(out + place, value * t0, live)                             # mul        model.py:12

    def before_x(place, live, other, p0):
        t0 = tl.load(p0 + place, live)
        result = t0 * t0                                                    # mul        model.py:11
        return tl.where(live, result, other)

`place` is the distance of each element of the block from the beginning of `B` or `X`, the numbers `i0, i1` its index
along each dimension.
"""

from __future__ import annotations

from collections.abc import Sequence

from opweave.codegen.loops.nest import LoopNest, needs_int64
from opweave.codegen.loops.schedule import Schedule
from opweave.codegen.loops.steps import lower
from opweave.codegen.loops.values import Buffer, Load, Value
from opweave.codegen.triton_printer import Printer, numbers_of
from opweave.codegen.triton_scalars import ATOM, TYPE
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import Site
from opweave.tracer.graph import Graph
from opweave.tracer.loops.index import Axis, Index, linearize
from opweave.tracer.loops.size import Size, Variable, hint, product

_UNSPLIT = Schedule((), (), (), None, False)
"""No axis of the function is its own affair: the kernel that calls it has chosen the block."""


class Unfit(Exception):
    """Why a region cannot be a function of one block."""


@dataclass(frozen=True)
class Frame:
    """What the block is of: the dimensions of a dense tensor, outermost first."""

    axes: tuple[Axis, ...]
    strides: tuple[Size, ...]

    @property
    def sizes(self) -> tuple[Size, ...]:
        return tuple(axis.size for axis in self.axes)


@dataclass(frozen=True)
class BlockFunction:
    """A function as text.

    Attributes
    ----------
    name : str
        Its name.
    source : str
        A whole Python module.
    buffers : tuple of Buffer
        What it reads and writes: pointers behind its other parameters, in order.
    numbers : tuple of (Variable, str)
        The numbers behind those, with their types as Triton names them.
    sites : dict of int to Site
        The user's lines, by lines of the text.
    """

    name: str
    source: str
    buffers: tuple[Buffer, ...]
    numbers: tuple[tuple[Variable, str], ...]
    sites: dict[int, Site]


@dataclass(frozen=True)
class Before:
    """What a kernel loads, as a region."""

    nest: LoopNest
    frame: Frame
    wide: bool

    @staticmethod
    def of(region: Graph, *, wide: bool = False) -> Before:
        """Read a region with one result.

        Raises
        ------
        Unfit
            If its elements are not computed one by one.
        """
        nest = lower(region, wide=wide)
        _check(nest)
        (store,) = nest.stores
        frame = _frame(nest, store.offset, store.buffer)
        return Before(nest, frame, needs_int64(nest))

    def function(self, name: str, *, masked: bool, padded: bool) -> BlockFunction:
        """The function for a load with or without a mask and a value for the other elements."""
        printer = _Function(self.nest, self.frame, ["live"] * masked + ["other"] * padded)
        printer.emit(printer.order)
        (store,) = self.nest.stores
        text, kind = printer.names[store.value][0], TYPE[store.buffer.dtype.name]
        text = f"({text}).to({kind})" if store.value.axes else f"tl.full(place.shape, {text}, {kind})"
        printer.line(f"result = {text}", store.label, store.site)
        if masked:
            printer.line(f"return tl.where(live, result, {'other' if padded else '0'})")
        else:
            printer.line("return result")
        return printer.function(name, [], self.nest.inputs)


@dataclass(frozen=True)
class After:
    """What is done with what a kernel stores, as a region."""

    nest: LoopNest
    frame: Frame
    given: Load
    wide: bool

    @staticmethod
    def of(region: Graph, number: int, *, wide: bool = False) -> After:
        """Read a region.

        Parameters
        ----------
        region : Graph
            What reads the tensor that the kernel stores to.
        number : int
            Which of its inputs that is.
        wide : bool
            Whether offsets may not fit in 32 bits.

        Raises
        ------
        Unfit
            If it does not read each element of the tensor once, to compute one of each result.
        """
        nest = lower(region, wide=wide)
        _check(nest)
        buffer = nest.inputs[number]
        reads = [value for value in nest.values() if isinstance(value, Load) and value.buffer is buffer]
        if len(reads) != 1 or reads[0].inside is not None:
            raise Unfit("its elements are read at several places")
        return After(nest, _frame(nest, reads[0].offset, buffer), reads[0], needs_int64(nest))

    def function(self, name: str, *, masked: bool) -> BlockFunction:
        """The function for a store with or without a mask."""
        printer = _Function(self.nest, self.frame, ["live"] * masked, self.given)
        printer.emit(printer.order)
        for store in self.nest.stores:
            printer.store(store)
        buffers = [*(b for b in self.nest.inputs if b is not self.given.buffer), *self.nest.outputs]
        return printer.function(name, ["value"], buffers)


def _check(nest: LoopNest) -> None:
    if nest.reduced or nest.scatters or nest.scans:
        raise Unfit("it computes more than one element from one element")
    if nest.checks():
        raise Unfit("it checks what it reads")


def _frame(nest: LoopNest, offset: Index, buffer: Buffer) -> Frame:
    """The axes as dimensions of a dense buffer, all of which the offset runs through once."""
    strides = {axis: offset.stride(axis) for axis in nest.kept}
    axes = sorted(nest.kept, key=lambda axis: -hint(strides[axis] or 0))
    if offset.const != 0 or any(not stride for stride in strides.values()) or any(offset.digits()):
        raise Unfit("it shows its elements in another order")
    need: Size = 1
    for axis in reversed(axes):
        if strides[axis] != need:
            raise Unfit("it is not dense, or not all of it is read")
        need = need * axis.size
    if need != product(buffer.sizes):
        raise Unfit("not all of it is read, or some of it more than once")
    if not axes:
        raise Unfit("it has one element")
    return Frame(tuple(axes), tuple(strides[axis] or 1 for axis in axes))


class _Function(Printer):
    def __init__(self, nest: LoopNest, frame: Frame, rest: Sequence[str], given: Value | None = None) -> None:
        super().__init__(nest, _UNSPLIT, False)
        self.taken -= {*self.parameters.values(), *self.numbers.values()}
        self.taken |= {"live", "other", "value", "result"}
        self.parameters = {b: self.fresh(b.name) for b in (*nest.inputs, *nest.outputs)}
        self.numbers = {
            v: self.fresh(v.text if v.text.isidentifier() else f"n{i}")
            for i, v in enumerate(numbers_of(nest, _UNSPLIT))
        }
        self.rest = rest
        self.frame = frame
        self.place = self.fresh("place")
        self.whole = linearize([Index.of(axis) for axis in frame.axes], frame.strides)
        self.sites: dict[int, Site] = {}
        self.axis_names = dict.fromkeys(frame.axes, self.place)
        if len(frame.axes) > 1:
            self.axis_names = {axis: self.fresh(f"i{k}") for k, axis in enumerate(frame.axes)}
        if given is not None:
            self.names[given] = ("value", ATOM)

    def mask(self, axes: frozenset[Axis]) -> str:
        return "live" if axes and "live" in self.rest else ""

    def index(self, index: Index) -> str:
        return self.place if index == self.whole else super().index(index)

    def line(self, text: str, label: str = "", site: Site | None = None) -> None:
        if site is not None:
            self.sites[len(self.lines)] = site
        super().line(text, label, site)

    def function(self, name: str, first: Sequence[str], buffers: Sequence[Buffer]) -> BlockFunction:
        numbers = tuple((v, self.number_type(v)) for v in self.numbers)
        pointers = [self.parameters[b] for b in buffers]
        index = dict.fromkeys([self.place, *self.axis_names.values()])
        head = [*first, *index, *self.rest, *pointers, *self.numbers.values()]
        top = ["import triton", "import triton.language as tl"]
        if self.libdevice:
            top.append("from triton.language.extra import libdevice")
        if self.combines:
            top += ["", f"from opweave.codegen.combine import {', '.join(sorted(self.combines))}"]
        top += ["", "", "@triton.jit", f"def {name}({', '.join(head)}):"]
        sites = {len(top) + 1 + number: site for number, site in self.sites.items()}
        return BlockFunction(name, "\n".join([*top, *self.lines, ""]), tuple(buffers), numbers, sites)

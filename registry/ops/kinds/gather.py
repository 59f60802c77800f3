"""Gathers and scatters: elements are read or written at places that other tensors name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple, Unpack

import numpy as np

from opweave.registry.ops.kinds.composite import ExternDecl
from opweave.registry.ops.kinds.loops import Call, Demand, Index, Operand, Point, Size, Space
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.spec import TensorSpec
from opweave.registry.tape import NotTaped, Tape, Value
from opweave.registry.tensor import Tensor


class Place(NamedTuple):
    """A number from an index tensor.

    Attributes
    ----------
    index : Tensor
        An argument of the op.
    dims : tuple of int
        For each of its dimensions the result's that counts it; where its size is 1, it is not counted.
    """

    index: Any
    dims: tuple[int, ...]

    def at(self, index: Sequence[Index], zero: Index) -> tuple[Index, ...]:
        """The element of the index tensor (an `Operand`) that belongs to an element of the result."""
        return tuple([zero if size == 1 else index[d] for size, d in zip(self.index.sizes, self.dims, strict=True)])


class Places(NamedTuple):
    """Which element of a tensor each element of the result is.

    Attributes
    ----------
    source : Tensor
        The argument that is read.
    at : tuple of int or Place
        For each dimension of the source the result's dimension that counts it, or where its number comes from.
    wraps : bool
        Whether negative numbers count from the end.
    """

    source: Any
    at: tuple[int | Place, ...]
    wraps: bool

    def demands(self, operand: Operand, demand: Demand, zero: Index) -> list[Demand]:
        """Where an operand's numbers are needed."""
        places = [part for part in self.at if isinstance(part, Place) and part.index == operand]
        return [demand.at(place.at(demand.index, zero)) for place in places]

    def written(self, tape: Tape, moved: Value, sizes: Sequence[int], result: Sequence[int]) -> _Written:
        """How native code finds the elements of `moved`, which lies as the source does, at an index of the result.

        Raises
        ------
        NotTaped
            If there is more than one index tensor.
        """
        axes = [d for d, part in enumerate(self.at) if isinstance(part, Place)]
        if len(axes) != 1 or len(sizes) != len(self.at):
            raise NotTaped("not one index tensor")
        (axis,) = axes
        strides, steps = [0] * len(result), [0] * len(result)
        for d, part in enumerate(self.at):
            if not isinstance(part, Place):
                strides[part] = moved.strides[d]
        place = self.at[axis]
        assert isinstance(place, Place)
        numbers = tape.value(place.index)
        if numbers.dtype.kind != "i":
            raise NotTaped("no numbers of places")
        numbers = tape.converted(numbers, np.dtype(np.int64))
        for d, size, stride in zip(place.dims, numbers.sizes, numbers.strides, strict=True):
            steps[d] = 0 if size == 1 else stride
        whole = tuple(result)
        return _Written(
            numbers._replace(sizes=whole, strides=tuple(steps)), moved._replace(sizes=whole, strides=tuple(strides)),
            (moved.strides[axis] * moved.dtype.itemsize, sizes[axis], int(self.wraps)),
        )  # fmt: skip

    def evaluate(self, call: Call, point: Point) -> list[Any]:
        """The place in each dimension of the source, for an element of the result."""
        demand, zero = point.demand, call.indices.ZERO
        return [
            point.value(part.index, demand.at(part.at(demand.index, zero))) if isinstance(part, Place)
            else demand.index[part]
            for part in self.at
        ]  # fmt: skip


class _Written(NamedTuple):
    """What a loop over places takes: their numbers, the memory that they are in, and what the loop reads besides."""

    numbers: Value
    memory: Value
    data: tuple[int, ...]


class Scatter(NamedTuple):
    """Where the elements of a scatter go.

    Attributes
    ----------
    places : Places
        Of the tensor that is written to a copy of, by the dimensions of what is written.
    values : Tensor
        The argument that is written; it broadcasts.
    accumulate : bool
        Whether it is added. If not, the last of several values for one place stays.
    """

    places: Places
    values: Any
    accumulate: bool

    @property
    def sizes(self) -> tuple[Size, ...]:
        """Sizes of what is written: values, broadcast."""
        return self.sizes_by(lambda operand: operand.sizes)

    def sizes_by(self, sizes_of: Callable[[Any], Sequence[Size]]) -> tuple[Size, ...]:
        """The same, by the sizes of each operand."""
        whole: dict[int, Size] = {}
        indexed: dict[int, Size] = {}
        for part, size in zip(self.places.at, sizes_of(self.places.source), strict=True):
            if not isinstance(part, Place):
                whole[part] = size
                continue
            for d, extent in zip(part.dims, sizes_of(part.index), strict=True):
                if extent != 1 or d not in indexed:
                    indexed[d] = extent
        # A dimension that both count (in `scatter_add`) is as long as the index is.
        found = whole | indexed
        return tuple([found[d] for d in range(len(found))])

    def write(self, tape: Tape, whole: Value, values: Value, function: str) -> None:
        """Have native code write values, of which there are as many or which broadcast, in memory that is a copy."""
        sizes = self.sizes_by(lambda t: t._sizes)
        if not math.prod(sizes) or len(values.sizes) > len(sizes):
            raise NotTaped("nothing to write, or more than that")
        numbers, memory, data = self.places.written(tape, whole, whole.sizes, sizes)
        # Elements for one place have to come in their order.
        if sum(size > 1 and not stride for size, stride in zip(sizes, memory.strides, strict=True)) > 1:
            raise NotTaped("places in several dimensions")
        lead = len(sizes) - len(values.sizes)
        steps = [0 if size == 1 else stride for size, stride in zip(values.sizes, values.strides, strict=True)]
        if any(size not in (1, n) and size < n for size, n in zip(values.sizes, sizes[lead:], strict=True)):
            raise NotTaped("values that do not broadcast")
        values = values._replace(sizes=sizes, strides=(*(0,) * lead, *steps))
        tape.map(function, [numbers, values], memory, data)

    def written(self, call: Call, demand: Demand) -> Demand:
        """The values' element that is written at an index."""
        zero, sizes = call.indices.ZERO, self.values.sizes
        index = demand.index[len(demand.index) - len(sizes) :]
        return demand.at(tuple([zero if n == 1 else part for n, part in zip(sizes, index, strict=True)]))


class GatherDecl(ExternDecl):
    """A call into a library that a kernel can stand in for.

    Attributes
    ----------
    places : callable
        `places(*args) -> Places`, or None where a kernel cannot say what the op does. Of a tensor it looks at the
        dtype and at `ndim`.
    """

    kind = "gather"
    is_library_call = False
    takes_places = True
    apart = ""

    def __init__(
        self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec],
        places: Callable[..., Places | None],
    ):  # fmt: skip
        super().__init__(schema, body, spec)
        self.places = places

    def objection(self, call: Call) -> str:
        return "library call" if self.places(*call.arguments()) is None else ""

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        """The numbers; what is read with them lies in memory."""
        places = self.places(*call.arguments())
        assert places is not None, "a call without places is no part of a kernel"
        return places.demands(operand, demand, call.indices.ZERO)

    def admit(self, call: Call, demands: Sequence[Demand], space: Space) -> str:
        if any(demand.guards for demand in demands):
            return "one of several pieces"
        return super().admit(call, demands, space)

    def evaluate(self, call: Call, point: Point) -> Any:
        places = self.places(*call.arguments())
        assert places is not None, "a call without places is no part of a kernel"
        return point.gather(places.source, places.evaluate(call, point), places.wraps)

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        places = self.places(*self.bind(args, kwargs))
        if places is None or not result.numel():
            raise NotTaped(str(self.op))
        source = tape.value(places.source)
        numbers, memory, data = places.written(tape, source, source.sizes, result._sizes)
        tape.map("taken", [numbers, memory], tape.made(result), data)

    def reads_memory(self, call: Call, operand: Operand) -> bool:
        places = self.places(*call.arguments())
        return places is not None and places.source == operand


class ScatterDecl(ExternDecl):
    """A call into a library that a kernel can stand in for.

    Attributes
    ----------
    target : callable
        `target(*args) -> Scatter`, or None where a kernel cannot say what the op does. Of a tensor it looks at the
        dtype and at `ndim`.
    """

    kind = "scatter"
    is_library_call = False
    takes_places = True
    apart = ""
    scatters = True

    def __init__(
        self, schema: str, body: Callable[..., Any], spec: Callable[..., TensorSpec],
        target: Callable[..., Scatter | None],
    ):  # fmt: skip
        super().__init__(schema, body, spec)
        self.target = target

    def objection(self, call: Call) -> str:
        found, result = self.target(*call.arguments()), call.result
        if found is None or not result._device.is_host:
            return "library call"
        # In a kernel each value would be added to what is in memory, and rounded.
        if found.accumulate and (result._dtype.kind == "b" or result._dtype.compute is not result._dtype):
            return f"library call: sums of {result._dtype.name}"
        # The index tensors may be smaller than the tensor in the other dimensions, the values larger than both.
        sizes, counted = found.sizes, found.values.sizes
        fits = len(counted) <= len(sizes) and all(
            have in (1, want) for have, want in zip(counted, sizes[len(sizes) - len(counted) :], strict=True)
        )
        return "" if fits else "library call: the values are larger than the index"

    def extent(self, call: Call) -> tuple[Sequence[Size], frozenset[int]]:
        """What is written; along the dimensions that index tensors have, places may repeat."""
        found = self._found(call)
        return found.sizes, frozenset(range(len(found.sizes))).difference(
            part for part in found.places.at if not isinstance(part, Place)
        )

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        found = self._found(call)
        result = found.places.demands(operand, demand, call.indices.ZERO)
        if found.values == operand:
            result.append(found.written(call, demand))
        return result

    def admit(self, call: Call, demands: Sequence[Demand], space: Space) -> str:
        space.join(call, demands)  # they are of what it writes, not of its result
        return ""

    def evaluate(self, call: Call, point: Point) -> None:
        found = self._found(call)
        value = point.k.cast(point.value(found.values, found.written(call, point.demand)), call.result._dtype)
        point.scatter(value, found.places.evaluate(call, point), found.places.wraps, found.accumulate)

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        found = self.target(*self.bind(args, kwargs))
        if found is None:
            raise NotTaped(str(self.op))
        source, values = tape.value(found.places.source), tape.value(found.values)
        made = whole = tape.made(result)
        adds = found.accumulate
        if adds and made.dtype != result._dtype.compute.numpy:
            whole = tape.scratch(made.sizes, np.dtype(np.float32))
            values = tape.converted(values, whole.dtype)
        if values.dtype != whole.dtype:
            raise NotTaped(str(self.op))
        tape.map("copied" if source.dtype == whole.dtype else "cast", [source], whole)
        found.write(tape, whole, values, "added" if adds else "scattered")
        if made is not whole:
            tape.map("cast", [whole], made)

    def reads_memory(self, call: Call, operand: Operand) -> bool:
        found = self.target(*call.arguments())
        return found is not None and found.places.source == operand

    def scattered_to(self, call: Call) -> tuple[Operand, bool]:
        found = self._found(call)
        source = found.places.source
        read = [found.values, *(part.index for part in found.places.at if isinstance(part, Place))]
        return source, all(operand != source for operand in read)

    def _found(self, call: Call) -> Scatter:
        found = self.target(*call.arguments())
        assert found is not None, "a call without a target is no part of a kernel"
        return found


def scatter(
    schema: str, *, spec: Callable[..., TensorSpec], target: Callable[..., Scatter | None], **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], ScatterDecl]:
    """Declare an op that copies a tensor and writes to places in it; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> ScatterDecl:
        return with_traits(ScatterDecl(schema, body, spec, target), **traits)

    return declare


def gather(
    schema: str, *, spec: Callable[..., TensorSpec], places: Callable[..., Places | None], **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], GatherDecl]:
    """Declare an op that reads the places that index tensors name; the decorated function is its eager kernel."""

    def declare(body: Callable[..., Any]) -> GatherDecl:
        return with_traits(GatherDecl(schema, body, spec, places), **traits)

    return declare

"""Records what a fused region computes: its nodes' values, at the indices where they are needed.

Each node's kind evaluates it (`Kind.evaluate`), with a handler that records values (`codegen.loops.recorder`), at the
indices that `tracer.loops.iteration` found. How a kernel does what kinds ask for stands here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.codegen.loops.nest import LoopNest, Store
from opweave.codegen.loops.recorder import Recorder, Term
from opweave.codegen.loops.values import Buffer, Load, Value, Values
from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.errors import CompileError
from opweave.registry.interrupts import let_through
from opweave.registry.ops.kinds.loops import Call, Demand, Guard, Operand
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node
from opweave.tracer.loops.calls import NodeOperand
from opweave.tracer.loops.index import Index, linearize, row_major
from opweave.tracer.loops.iteration import IterationSpace, analyse, is_scatter, sizes_of
from opweave.tracer.loops.size import INT32_OFFSETS, Size, hint, product, sizes as sizes_from


def record(region: Graph, *, wide: bool = False) -> LoopNest:
    """Compute a region's results in loops over the axes that `tracer.loops.iteration` found.

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
    results = _results(region)
    try:
        space = analyse(region, results)
    except ValueError as error:
        let_through(error)
        raise CompileError(f"a region cannot be one kernel: {error}", at="codegen.loops") from None
    inputs = {node: _buffer(node, node.name) for node in region.placeholders()}
    outputs = [_buffer(node, "out" if len(results) == 1 else f"out{i}") for i, node in enumerate(results)]
    lowering = Lowering(space, Values(), inputs, dict(zip(results, outputs, strict=True)), [], wide)
    nodes = [node for node in region.nodes if node.op == "call_function"]
    for node in nodes:
        for demand in () if is_scatter(node) else space.demands.get(node, ()):
            lowering.evaluate(node, demand)
    for node, buffer in zip(results, outputs, strict=True):
        if space.scatters:
            lowering.compute(node, space.origin)
            continue
        demand = next(d for d in space.demands[node] if space.covers(node, d))
        value = lowering.evaluate(node, Demand(demand.index, False))
        offset = linearize(demand.index, buffer.strides)
        lowering.stores.append(Store(buffer, offset, value, label_of(node), node.meta.get("site")))
    names = tuple(dict.fromkeys(label_of(node) for node in nodes if not space.call(node).kind.is_layout))
    kept, reduced, stores = tuple(space.kept), tuple(space.reduced), tuple(lowering.stores)
    return LoopNest(names, kept, reduced, tuple(inputs.values()), tuple(outputs), stores, wide)


def _results(region: Graph) -> Sequence[Node]:
    output = region.output_node()
    return list(output.args[0])


def _buffer(node: Node, name: str) -> Buffer:
    value = node.meta["val"]
    assert isinstance(value, Tensor)
    return Buffer(name, value._dtype, sizes_of(node), sizes_from(value._strides))


# ---- nodes ---------------------------------------------------------------------------------------------------------


@dataclass
class Lowering:
    """Evaluates the nodes of a region at indices.

    Attributes
    ----------
    space : IterationSpace
        Where each node is needed.
    values : Values
        Makes the results.
    inputs, outputs : dict of Node to Buffer
        What the region's placeholders and results stand for.
    stores : list of Store
        What has been stored.
    wide : bool
        Whether sizes that are not fixed may not fit in 32 bits.
    """

    space: IterationSpace
    values: Values
    inputs: dict[Node, Buffer]
    outputs: dict[Node, Buffer]
    stores: list[Store]
    wide: bool = False

    def __post_init__(self) -> None:
        self.memo: dict[tuple[Node, tuple[Index, ...], tuple[Guard, ...]], Value] = {}
        self.k = Recorder(self.values)

    def evaluate(self, node: Node, demand: Demand) -> Value:
        """The value of a node at an index; its operands have been evaluated where it needs them.

        Where a guard does not hold it means nothing, and nothing is read for it.
        """
        key = (node, demand.index, demand.guards)
        found = self.memo.get(key)
        if found is None:
            if node.op == "placeholder":
                buffer = self.inputs[node]
                found = self.values.load(buffer, linearize(demand.index, buffer.strides), self.inside(demand.guards))
            else:
                found = self.compute(node, demand).value
            self.memo[key] = found
        return found

    def compute(self, node: Node, demand: Demand) -> Term:
        """What the node's kind says."""
        call = self.space.call(node)
        self.turn_to(node, demand.guards)
        return call.kind.evaluate(call, _Point(self, call, Demand(demand.index, False, demand.guards)))

    def turn_to(self, node: Node, guards: Sequence[Guard]) -> None:
        """What is recorded from here on belongs to a node, where guards hold."""
        self.values.label, self.values.site = label_of(node), node.meta.get("site")
        self.k.inside = self.inside(guards) if guards else None
        self.k.checks = node.meta["val"]._device.is_host  # as in eager code: on a GPU one would have to wait

    def inside(self, guards: Sequence[Guard]) -> Value | None:
        """Whether all guards hold; None if they always do."""
        found: Term | None = None
        for guard in guards:
            for term in self.bounds(guard):
                found = term if found is None else found & term
        return None if found is None else found.value

    def bounds(self, guard: Guard) -> list[Term]:
        """What must hold for a guard to do so."""
        low, high = guard.position.bounds()
        narrow = dtypes.int64 if self.wide or hint(high) >= INT32_OFFSETS else dtypes.int32
        position = Term(self.k, self.values.position(guard.position, narrow))
        found = [] if low == guard.start else [position >= guard.start]
        return found if high + 1 == guard.stop else [*found, position < guard.stop]


@dataclass(frozen=True)
class _Point:
    """What a kind computes a call with; see `Point` in `registry.ops.kinds.loops`."""

    lowering: Lowering
    call: Call
    demand: Demand

    @property
    def k(self) -> Recorder:
        return self.lowering.k

    @property
    def space(self) -> IterationSpace:
        return self.lowering.space

    def value(self, operand: Operand, demand: Demand, /) -> Term:
        value = self.lowering.evaluate(_node(operand), demand)
        self.lowering.turn_to(self.call.node, self.demand.guards)
        return Term(self.k, value)

    def number(self, value: Any, dtype: DType, /) -> Term:
        return self.k.operand(value, dtype)

    def position(self, index: Index, /) -> Term:
        return Term(self.k, self.k.values.position(index))

    def gather(self, source: Operand, at: Sequence[Index | Term], wraps: bool, /) -> Term:
        buffer = self.lowering.inputs[_node(source)]
        return Term(self.k, self.k.values.gather(buffer, *self._place(buffer, at, wraps)))

    def scatter(self, value: Term, at: Sequence[Index | Term], wraps: bool, accumulate: bool, /) -> None:
        node: Node = self.call.node
        buffer = self.lowering.outputs[node]
        offset, more, inside, message = self._place(buffer, at, wraps)
        label, site = label_of(node), node.meta.get("site")
        store = Store(buffer, offset, value.value, label, site, more, inside, message, accumulate)
        self.lowering.stores.append(store)

    def _place(self, buffer: Buffer, at: Sequence[Index | Term], wraps: bool) -> tuple[Index, Value, Value, str]:
        """A place in a buffer: a fixed part, what to add, whether it is inside, what to say if not."""
        k, steps = self.k, zip(buffer.sizes, buffer.strides, strict=True)
        wide = self.lowering.wide or sum((hint(size) - 1) * hint(stride) for size, stride in steps) >= INT32_OFFSETS
        offsets = dtypes.int64 if wide else dtypes.int32
        fixed: list[Index] = []
        strides: list[Size] = []
        numbers: list[str] = []
        more, inside = k.const(0, offsets), k.const(True, dtypes.bool_)
        for d, (size, stride, part) in enumerate(zip(buffer.sizes, buffer.strides, at, strict=True)):
            if isinstance(part, Index):
                fixed.append(part)
                strides.append(stride)
                continue
            t = k.cast(part, offsets) if part.dtype.itemsize < offsets.itemsize else part
            if wraps:
                t = k.where(t < 0, t + size, t)
            here = (t >= 0) & (t < size)
            inside = here if inside.constant is not None else inside & here
            place = k.cast(k.where(here, t, 0), offsets) * stride
            more = place if more.constant is not None else more + place
            numbers.append(f"dimension {d}" + (f" with size {size}" if isinstance(size, int) else ""))
        message = f"an index is out of range for {', '.join(numbers)}"
        return linearize(fixed, strides), more.value, inside.value, message

    def select(self, pieces: Sequence[tuple[Term, Demand]], /) -> Term:
        filled = [(t, demand) for t, demand in pieces if not _is_zero(t.constant)]
        if not filled:
            return pieces[0][0]
        (t, demand), *others = filled
        if not others and isinstance(t.value, Load) and t.value.inside is not None:
            if t.value.inside is self.lowering.inside(demand.guards):
                return t  # a load is 0 outside its piece
        result = pieces[-1][0]
        for t, demand in reversed(pieces[:-1]):
            guard = demand.guards[-1]
            before = self.lowering.bounds(Guard(guard.position, guard.position.bounds()[0], guard.stop))
            result = self.k.where(before[0], t, result) if before else t
        return result

    def reduce(self, combine: str, value: Term, along: Sequence[tuple[Index, Size]], /) -> Term:
        k, values, over = self.k, self.k.values, self.space.reduced
        sizes = [size for _, size in along]
        count = product(sizes)
        if combine == "argmax" or combine == "argmin":
            narrow = dtypes.int32 if hint(count) < 1 << 31 and not self.lowering.wide else dtypes.int64
            position = values.position(linearize([index for index, _ in along], row_major(sizes)), narrow)
            if count == 1:
                return Term(k, position)
            if value.dtype.itemsize < 4 or value.dtype.kind == "b":
                value = k.cast(value, dtypes.int32)
            return Term(k, values.reduce(combine, (value.value, position), narrow, over))
        if combine in ("any", "all") or (combine in ("max", "min") and value.dtype.kind == "b"):
            # Truth values are reduced as numbers: a maximum or minimum of 0 and 1.
            value = k.cast(k.cast(value, dtypes.bool_), dtypes.int32)
        if count == 1:
            return value
        number: Any = {"any": "max", "all": "min"}.get(combine, combine)
        found = Term(k, values.reduce(number, (value.value,), value.dtype, over))
        # Over no elements it is the least int.
        return found > 0 if combine == "any" and not isinstance(count, int) else found

    def scan(self, combine: str, value: Term, backwards: bool, /) -> Term:
        assert combine in ("sum", "prod")
        return Term(self.k, self.k.values.scan(combine, backwards, value.value, value.dtype, self.space.reduced))


def _node(operand: Operand) -> Node:
    """The node that makes an operand."""
    assert isinstance(operand, NodeOperand)
    return operand.node


def _is_zero(constant: object) -> bool:
    """Whether a constant is what a load gives where it does not happen."""
    return repr(constant) in ("0", "0.0", "False")


def label_of(node: Node) -> str:
    """The op a node comes from, as the user wrote it where that is known (passes note a decomposed op as origin)."""
    return str(node.meta.get("origin") or node.target.opname)

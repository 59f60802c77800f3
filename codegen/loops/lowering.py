"""Records what a fused region computes: its nodes' values, at the indices where they are needed.

Every op's body runs with a handler that records values (`codegen.loops.recorder`), at the indices that
`tracer.iteration` found.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from opweave.codegen.loops.element_maps import evaluate
from opweave.codegen.loops.nest import LoopNest, Store
from opweave.codegen.loops.recorder import Recorder, Term
from opweave.codegen.loops.values import Buffer, Load, Value, Values
from opweave.registry import dtypes
from opweave.registry.errors import CompileError
from opweave.registry.interrupts import let_through
from opweave.registry.ops.kinds.gather import Place, Places
from opweave.registry.ops.kinds.loops import Demand, Guard
from opweave.registry.ops.kinds.scan import wide_type
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node
from opweave.tracer.index import ZERO, Index, broadcast, linearize, row_major, runs_backwards
from opweave.tracer.iteration import (
    IterationSpace,
    analyse,
    index_at,
    is_scatter,
    operand_index,
    pieces_of,
    places_of,
    scatter_of,
    sizes_of,
)
from opweave.tracer.maps import MapDecl
from opweave.tracer.size import INT32_OFFSETS, Size, hint, product, sizes as sizes_from


def record(region: Graph, *, wide: bool = False) -> LoopNest:
    """Compute a region's results in loops over the axes that `tracer.iteration` found.

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
    buffers = {node: _buffer(node, node.name) for node in region.placeholders()}
    lowering = Lowering(space, Values(), buffers, wide)
    nodes = [node for node in region.nodes if node.op == "call_function"]
    for node in nodes:
        for demand in () if is_scatter(node) else space.demands.get(node, ()):
            lowering.evaluate(node, demand.index, demand.guards)
    outputs: list[Buffer] = []
    stores: list[Store] = []
    for i, node in enumerate(results):
        buffer = _buffer(node, "out" if len(results) == 1 else f"out{i}")
        outputs.append(buffer)
        if space.scatters:
            stores.append(_scatter(lowering, node, space.origin.index, buffer))
            continue
        demand = next(d for d in space.demands[node] if space.covers(node, d))
        value = lowering.evaluate(node, demand.index)
        offset = linearize(demand.index, buffer.strides)
        stores.append(Store(buffer, offset, value, label_of(node), node.meta.get("site")))
    names = tuple(dict.fromkeys(label_of(node) for node in nodes if not _decl(node).is_layout))
    kept, reduced, inputs = tuple(space.kept), tuple(space.reduced), tuple(buffers.values())
    return LoopNest(names, kept, reduced, inputs, tuple(outputs), tuple(stores), wide)


def _scatter(lowering: Lowering, node: Node, index: tuple[Index, ...], buffer: Buffer) -> Store:
    value, (offset, more, inside, message) = lowering.scatter(node, index, buffer)
    scatter = scatter_of(node)
    assert scatter is not None
    site = node.meta.get("site")
    return Store(buffer, offset, value, label_of(node), site, more, inside, message, scatter.accumulate)


def _results(region: Graph) -> Sequence[Node]:
    output = region.output_node()
    return list(output.args[0])  # type: ignore[arg-type]


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
    buffers : dict of Node to Buffer
        What the region's placeholders stand for.
    wide : bool
        Whether sizes that are not fixed may not fit in 32 bits.
    """

    space: IterationSpace
    values: Values
    buffers: dict[Node, Buffer]
    wide: bool = False

    def __post_init__(self) -> None:
        self.memo: dict[tuple[Node, tuple[Index, ...], tuple[Guard, ...]], Value] = {}
        self.k = Recorder(self.values)
        self.guards: tuple[Guard, ...] = ()

    def evaluate(self, node: Node, index: tuple[Index, ...], guards: tuple[Guard, ...] = ()) -> Value:
        """The value of a node at an index; its operands have been evaluated where it needs them.

        Where a guard does not hold it means nothing, and nothing is read for it.
        """
        key = (node, index, guards)
        found = self.memo.get(key)
        if found is None:
            outer, self.guards = self.guards, guards
            if node.op == "placeholder":
                buffer = self.buffers[node]
                found = self.values.load(buffer, linearize(index, buffer.strides), self._inside(guards))
            else:
                self._turn_to(node)
                found = self._RULES[_decl(node).kind](self, node, index).value
            self.guards = outer
            self.memo[key] = found
        return found

    def _inside(self, guards: Sequence[Guard]) -> Value | None:
        """Whether all guards hold; None if they always do."""
        found: Term | None = None
        for guard in guards:
            for term in self._bounds(guard):
                found = term if found is None else found & term
        return None if found is None else found.value

    def _bounds(self, guard: Guard) -> list[Term]:
        low, high = guard.position.bounds()
        narrow = dtypes.int64 if self.wide or hint(high) >= INT32_OFFSETS else dtypes.int32
        position = Term(self.k, self.values.position(guard.position, narrow))
        found = [] if low == guard.start else [position >= guard.start]
        return found if high + 1 == guard.stop else [*found, position < guard.stop]

    def _operand(self, node: Node, user: Node, index: tuple[Index, ...]) -> Term:
        value = self.evaluate(node, index, self.guards)
        self._turn_to(user)
        return Term(self.k, value)

    def _turn_to(self, node: Node) -> None:
        """What is recorded from here on belongs to a node."""
        self.values.label, self.values.site = label_of(node), node.meta.get("site")
        self.k.inside = self._inside(self.guards) if self.guards else None

    def _pointwise(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl = _decl(node)
        self.k.checks = node.meta["val"]._device.type == "cpu"  # as in eager code: on a GPU one would have to wait
        operands, attributes = decl.operands(node.args, node.kwargs)
        fakes = [o.meta["val"] if isinstance(o, Node) else o for o in operands]
        compute, result = decl.types(*fakes, **attributes)
        terms: list[Any] = []
        for operand in operands:
            if isinstance(operand, Node):
                at = broadcast(index, sizes_of(operand), sizes_of(node))
                terms.append(self.k.cast(self._operand(operand, node, at), compute))
            else:
                terms.append(None if operand is None else self.k.operand(operand, compute))
        return self.k.cast(decl.body(self.k, *terms, **attributes), result)

    def _map(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl: MapDecl = _decl(node)
        loaded: dict[str, Term] = {}
        for name, operand in zip(decl.expression.loads, node.args, strict=True):
            at = broadcast(index, sizes_of(operand), sizes_of(node))
            loaded[name] = self._operand(operand, node, at)
        return self.k.cast(evaluate(self.k, decl.expression, loaded, decl.numbers), node.meta["val"]._dtype)

    def _elsewhere(self, node: Node, index: tuple[Index, ...]) -> Term:
        return self._operand(node.all_input_nodes[0], node, operand_index(node, index))

    def _reduction(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl = _decl(node)
        source = node.all_input_nodes[0]
        sizes = sizes_of(source)
        dims: list[int]
        _, dims, _, attributes = decl.params(node.args, node.kwargs, len(sizes))
        compute, result = decl.types(source.meta["val"]._dtype, **attributes)
        full = self.space.inputs_of_reductions[node]
        t = self.k.cast(self._operand(source, node, full), compute)
        if decl.map is not None:
            t = self.k.term(decl.map(self.k, t), compute)
        count = product(sizes[d] for d in dims)
        combine: Any = decl.combine
        if combine in ("any", "all") or (combine in ("max", "min") and t.dtype.kind == "b"):
            # Truth values are reduced as numbers: a maximum or minimum of 0 and 1.
            t = self.k.cast(self.k.cast(t, dtypes.bool_), dtypes.int32)
            combine = {"any": "max", "all": "min"}.get(combine, combine)
        if combine in ("argmax", "argmin"):
            strides = row_major([sizes[d] for d in dims])
            narrow = dtypes.int32 if hint(count) < 1 << 31 and not self.wide else dtypes.int64
            position = self.values.position(linearize([full[d] for d in dims], strides), narrow)
            if t.dtype.itemsize < 4 or t.dtype.kind == "b":
                t = self.k.cast(t, dtypes.int32)
            args = (t.value, position)
            t = Term(self.k, self.values.reduce(combine, args, narrow, self.space.reduced) if count != 1 else position)
        elif count != 1:
            t = Term(self.k, self.values.reduce(combine, (t.value,), t.dtype, self.space.reduced))
            if decl.combine == "any" and not isinstance(count, int):
                t = t > 0  # over no elements it is the least int
        done = decl.finalize(self.k, t, count) if decl.finalize is not None else t
        return self.k.cast(done, result)

    def _scan(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl = _decl(node)
        dim: int
        source, dim = decl.params(node.args, node.kwargs, len(index))
        result = node.meta["val"]._dtype
        wide = wide_type(result)
        t = self.k.cast(self._operand(source, node, index), wide)
        (axis,) = self.space.reduced
        backwards = bool(runs_backwards(axis, index[dim]))
        combine = decl.combine.removeprefix("cum")
        return self.k.cast(Term(self.k, self.values.scan(combine, backwards, t.value, wide, [axis])), result)

    def _gather(self, node: Node, index: tuple[Index, ...]) -> Term:
        places = places_of(node)
        assert places is not None
        buffer = self.buffers[places.source]
        return Term(self.k, self.values.gather(buffer, *self._place(node, places, index, buffer)))

    def scatter(
        self, node: Node, index: tuple[Index, ...], buffer: Buffer
    ) -> tuple[Value, tuple[Index, Value, Value, str]]:
        """What a scatter writes of its values' element at an index, and where in the buffer of its result."""
        scatter = scatter_of(node)
        assert scatter is not None
        sizes = sizes_of(scatter.values)
        lead = len(index) - len(sizes)
        at = tuple([ZERO if size == 1 else part for size, part in zip(sizes, index[lead:], strict=True)])
        value = self.k.cast(self._operand(scatter.values, node, at), buffer.dtype).value
        return value, self._place(node, scatter.places, index, buffer)

    def _place(
        self, node: Node, places: Places, index: tuple[Index, ...], buffer: Buffer
    ) -> tuple[Index, Value, Value, str]:
        """An element's place in a buffer: a fixed part, what to add, whether it is inside, what to say if not."""
        steps = zip(buffer.sizes, buffer.strides, strict=True)
        wide = self.wide or sum((hint(size) - 1) * hint(stride) for size, stride in steps) >= INT32_OFFSETS
        offsets = dtypes.int64 if wide else dtypes.int32
        fixed: list[Index] = []
        strides: list[Size] = []
        numbers: list[str] = []
        more, inside = self.k.const(0, offsets), self.k.const(True, dtypes.bool_)
        for d, (size, stride, part) in enumerate(zip(buffer.sizes, buffer.strides, places.at, strict=True)):
            if not isinstance(part, Place):
                fixed.append(index[part])
                strides.append(stride)
                continue
            t = self._operand(part.index, node, index_at(part, index))
            if t.dtype.itemsize < offsets.itemsize:
                t = self.k.cast(t, offsets)
            if places.wraps:
                t = self.k.where(t < 0, t + size, t)
            here = (t >= 0) & (t < size)
            inside = here if inside.constant is not None else inside & here
            place = self.k.cast(self.k.where(here, t, 0), offsets) * stride
            more = place if more.constant is not None else more + place
            numbers.append(f"dimension {d}" + (f" with size {size}" if isinstance(size, int) else ""))
        message = f"an index is out of range for {', '.join(numbers)}"
        return linearize(fixed, strides), more.value, inside.value, message

    def _pieces(self, node: Node, index: tuple[Index, ...]) -> Term:
        dtype, here = node.meta["val"]._dtype, Demand(index, False, self.guards)
        found: list[tuple[Term, Value | None, Guard]] = []
        for part, dim, start, stop in pieces_of(node):
            demand = here.within(dim, start, stop)
            value = self.evaluate(part, demand.index, demand.guards)
            inside = self._inside(demand.guards)
            self._turn_to(node)
            found.append((self.k.cast(Term(self.k, value), dtype), inside, demand.guards[-1]))
        filled = [(t, inside) for t, inside, _ in found if not _is_zero(t.constant)]
        if not filled:
            return found[0][0]
        (t, inside), *others = filled
        if not others and isinstance(t.value, Load) and inside is not None and t.value.inside is inside:
            return t  # a load is 0 outside its piece
        result = found[-1][0]
        for t, _, guard in reversed(found[:-1]):
            before = self._bounds(Guard(guard.position, guard.position.bounds()[0], guard.stop))
            result = self.k.where(before[0], t, result) if before else t
        return result

    def _generator(self, node: Node, index: tuple[Index, ...]) -> Term:
        decl = _decl(node)
        values = [v.meta["val"] if isinstance(v, Node) else v for v in decl.bind(node.args, node.kwargs)]
        positions = tuple(Term(self.k, self.values.position(part)) for part in index)
        return self.k.cast(decl.body(self.k, positions, *values), node.meta["val"]._dtype)

    #: By kind of op; a scatter is evaluated where it stores.
    _RULES: ClassVar[Mapping[str, Callable[..., Term]]] = {
        "pointwise": _pointwise,
        "map": _map,
        "view": _elsewhere,
        "move": _elsewhere,
        "reduction": _reduction,
        "scan": _scan,
        "gather": _gather,
        "pieces": _pieces,
        "generator": _generator,
    }


def _decl(node: Node) -> Any:
    """The declaration of the op that a node of a region calls."""
    return node.target.decl  # type: ignore[union-attr]


def _is_zero(constant: object) -> bool:
    """Whether a constant is what a load gives where it does not happen."""
    return repr(constant) in ("0", "0.0", "False")


def label_of(node: Node) -> str:
    """The op a node comes from, as the user wrote it where that is known (passes note a decomposed op as origin)."""
    return str(node.meta.get("origin") or node.target.opname)  # type: ignore[union-attr]

"""A fused region as loops: axes, buffers, and scalar values computed from loads and stored.

`lower` evaluates a region's results at the indices that `tracer.iteration` found, running every op's body with a
handler that records values. Equal values are one object, so common subexpressions vanish and views leave nothing
behind but a different offset in a load. Axes are then split where an index needs a part of one, and merged where no
index tells two apart.

    for i0 < 4096, reduce r0 < 1024:
      t0 = load x[i0*1024 + r0]
      t1 = max(t0)                  # amax  model.py:12
      ...
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from opweave.codegen.recorder import Lowering, label_of
from opweave.codegen.values import Buffer, Value, Values, indices_of, load_parts, topological
from opweave.registry.errors import CompileError, Site
from opweave.registry.interrupts import let_through
from opweave.registry.tensor import Tensor
from opweave.tracer.graph import Graph, Node
from opweave.tracer.index import Axis, Digit, Index, linearize, row_major
from opweave.tracer.iteration import analyse, is_scatter, scatter_of, sizes_of
from opweave.tracer.size import Size, divide, hint, sizes as sizes_from


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


@dataclass
class LoopNest:
    """What one kernel computes, before any choice of how.

    Attributes
    ----------
    names : list of str
        Ops in it, for the kernel's name.
    kept, reduced : list of Axis
        Loops; outermost first.
    inputs, outputs : list of Buffer
        Parameters.
    stores : list of Store
        The results, from which all else follows.
    wide : bool
        Whether sizes that are not fixed may make offsets that do not fit in 32 bits.
    """

    names: list[str]
    kept: list[Axis]
    reduced: list[Axis]
    inputs: list[Buffer]
    outputs: list[Buffer]
    stores: list[Store]
    wide: bool = False

    def values(self) -> list[Value]:
        """All values, operands before users."""
        return topological([value for store in self.stores for value in store.operands])

    @property
    def scatters(self) -> bool:
        """Whether its reduced axes have to be run through in order."""
        return any(store.more is not None for store in self.stores)

    @property
    def scans(self) -> bool:
        """Whether it has running totals along its reduced axes, outermost first."""
        return any(value.op == "scan" for value in self.values())

    def indices(self) -> list[Index]:
        """Every index expression."""
        found = [store.offset for store in self.stores]
        for value in self.values():
            found.extend(indices_of(value))
        return found

    def sizes(self) -> list[Size]:
        """Every size that its code depends on."""
        found = [axis.size for axis in (*self.kept, *self.reduced)]
        for index in self.indices():
            found.extend(index.sizes())
        return found

    def checks(self) -> list[Check]:
        """What is to be checked, each once."""
        found: dict[Value, Check] = {}
        for value in self.values():
            if value.op == "gather":
                where = value.detail[2]  # type: ignore[index]
                found.setdefault(value.args[1], Check(value.args[1], f"{value.label}: {where}", value.site))
            elif value.op == "require":
                found.setdefault(value.args[1], Check(value.args[1], str(value.detail), value.site))
        for store in self.stores:
            if store.inside is not None:
                found.setdefault(store.inside, Check(store.inside, f"{store.label}: {store.message}", store.site))
        return list(found.values())

    def __str__(self) -> str:
        names = {value: f"t{i}" for i, value in enumerate(v for v in self.values() if v.op not in ("const", "index"))}
        loops = ", ".join(f"{axis!r}" for axis in self.kept) or "once"
        if self.reduced:
            loops += " reduce " + ", ".join(f"{axis!r}" for axis in self.reduced)
        lines = [*map(str, self.inputs), *map(str, self.outputs), f"for {loops}:"]
        for value in self.values():
            if value in names:
                lines.append(f"  {names[value]}: {value.dtype.short} = {_describe(value, names)}")
        for store in self.stores:
            more = "" if store.more is None else f" + {_operand(store.more, names)}"
            sign = "+=" if store.accumulate else "="
            lines.append(f"  {store.buffer.name}[{store.offset!r}{more}] {sign} {_operand(store.value, names)}")
        return "\n".join(lines)


def _operand(value: Value, names: Mapping[Value, str]) -> str:
    return names.get(value) or (repr(value.detail))


def _describe(value: Value, names: Mapping[Value, str]) -> str:
    args = ", ".join(_operand(arg, names) for arg in value.args)
    note = f"    # {value.label} {value.site.short}" if value.site is not None else ""
    if value.op == "load":
        buffer, offset = load_parts(value)
        inside = f" if {args}" if value.args else ""
        return f"load {buffer.name}[{offset!r}]{inside}{note}"
    if value.op == "gather":
        buffer, offset = load_parts(value)
        return f"load {buffer.name}[{offset!r} + {_operand(value.args[0], names)}]{note}"
    if value.op in ("reduce", "scan"):
        return f"{value.detail}({args}){note}"
    return f"{value.op}({args}){note}"


# ---- region -> loop nest -------------------------------------------------------------------------------------------


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
    results = _results(region)
    try:
        space = analyse(region, results)
    except ValueError as error:
        let_through(error)
        raise CompileError(f"a region cannot be one kernel: {error}", at="codegen.loopnest") from None
    buffers = {node: _buffer(node, node.name) for node in region.placeholders()}
    lowering = Lowering(space, Values(), buffers, wide)
    nodes = [node for node in region.nodes if node.op == "call_function"]
    for node in nodes:
        for demand in () if is_scatter(node) else space.demands.get(node, ()):
            lowering.evaluate(node, demand.index, demand.guards)
    outputs, stores = [], []
    for i, node in enumerate(results):
        buffer = _buffer(node, "out" if len(results) == 1 else f"out{i}")
        outputs.append(buffer)
        if space.scatters:
            stores.append(_scatter(lowering, node, space.origin.index, buffer))
            continue
        demand = next(d for d in space.demands[node] if space.covers(node, d))
        value = lowering.evaluate(node, demand.index)
        label = str(node.meta.get("origin") or node.target.opname)  # type: ignore[union-attr]
        stores.append(Store(buffer, linearize(demand.index, buffer.strides), value, label, node.meta.get("site")))
    names = list(dict.fromkeys(
        str(n.meta.get("origin") or n.target.opname) for n in nodes if n.target.decl.kind != "view"  # type: ignore[union-attr]
    ))  # fmt: skip
    nest = LoopNest(names, space.kept, space.reduced, list(buffers.values()), outputs, stores, wide)
    return simplify_axes(nest)


def _scatter(lowering: Lowering, node: Node, index: tuple[Index, ...], buffer: Buffer) -> Store:
    value, (offset, more, inside, message) = lowering.scatter(node, index, buffer)
    scatter = scatter_of(node)
    assert scatter is not None
    label, site = label_of(node), node.meta.get("site")
    return Store(buffer, offset, value, label, site, more, inside, message, scatter.accumulate)


def _results(region: Graph) -> Sequence[Node]:
    output = region.output_node()
    return list(output.args[0])  # type: ignore[arg-type]


def _buffer(node: Node, name: str) -> Buffer:
    value = node.meta["val"]
    assert isinstance(value, Tensor)
    return Buffer(name, value._dtype, sizes_of(node), sizes_from(value._strides))


# ---- axes ----------------------------------------------------------------------------------------------------------


def simplify_axes(nest: LoopNest) -> LoopNest:
    """Split axes at the digits that indices need, merge neighbours that no index tells apart, and order them."""
    nest = _merge_all(nest)
    for _ in range(16):
        found = _find_split(nest)
        if found is None:
            break
        axis, inner_size = found
        outer_size = divide(axis.size, inner_size)
        assert outer_size is not None
        outer, inner = Axis(axis.name + "o", outer_size), Axis(axis.name + "i", inner_size)
        nest = substitute(nest, {axis: (outer, inner)})
    nest = _merge_all(nest)
    nest.kept = _by_stride(nest, nest.kept)
    if not nest.scatters and not nest.scans:
        nest.reduced = _by_stride(nest, nest.reduced)
    return nest


def _merge_all(nest: LoopNest) -> LoopNest:
    while True:
        pair = _find_merge(nest)
        if pair is None:
            return nest
        nest = _merge(nest, *pair)


def _find_split(nest: LoopNest) -> tuple[Axis, Size] | None:
    for index in nest.indices():
        for digit in index.digits():
            for point in (digit.divisor, digit.divisor * (1 if digit.modulus is None else digit.modulus)):
                found = _split_at(digit, point)
                if found is not None:
                    return found
    return None


def _split_at(digit: Digit, point: Size) -> tuple[Axis, Size] | None:
    for atom, coefficient in digit.base.terms.items():
        if isinstance(atom, Axis) and hint(coefficient) > 0:
            inner = divide(point, coefficient)
            if inner is not None and inner != 1 and divide(atom.size, inner) not in (None, 1):
                return atom, inner
    return None


def substitute(nest: LoopNest, parts: Mapping[Axis, tuple[Axis, ...]]) -> LoopNest:
    """Replace axes by several, outermost first."""
    mapping: dict[Axis, Index] = {}
    for axis, pieces in parts.items():
        strides = row_major([p.size for p in pieces])
        mapping[axis] = linearize([Index.of(p) for p in pieces], strides)
    kept = [p for axis in nest.kept for p in parts.get(axis, (axis,)) if p.size != 1]
    reduced = [p for axis in nest.reduced for p in parts.get(axis, (axis,)) if p.size != 1]
    return rewrite(nest, mapping, kept, reduced)


def rewrite(nest: LoopNest, mapping: Mapping[Axis, Index], kept: list[Axis], reduced: list[Axis]) -> LoopNest:
    """Rebuild every index with axes replaced by expressions."""
    values = Values()
    known: dict[Value, Value] = {}
    for value in nest.values():
        args = tuple(known[arg] for arg in value.args)
        values.label, values.site = value.label, value.site
        if value.op == "load":
            buffer, offset = load_parts(value)
            known[value] = values.load(buffer, offset.substitute(mapping), *args)
        elif value.op == "gather":
            buffer, offset, where = value.detail  # type: ignore[misc]
            known[value] = values.gather(buffer, offset.substitute(mapping), args[0], args[1], where)
        elif value.op == "index":
            assert isinstance(value.detail, Index)
            known[value] = values.index(value.detail.substitute(mapping), value.dtype)
        elif value.op == "reduce":
            known[value] = values.reduce(str(value.detail), args, value.dtype, reduced)
        elif value.op == "scan":
            known[value] = values.scan(str(value.detail), args[0], value.dtype, reduced)
        else:
            known[value] = values.make(value.op, args, value.dtype, value.detail)
    stores = [
        replace(
            s, offset=s.offset.substitute(mapping), value=known[s.value], more=s.more and known[s.more],
            inside=s.inside and known[s.inside],
        )
        for s in nest.stores
    ]  # fmt: skip
    return replace(nest, kept=kept, reduced=reduced, stores=stores)


def _find_merge(nest: LoopNest) -> tuple[bool, Axis, Axis] | None:
    indices = nest.indices()
    for is_reduced, axes in ((False, nest.kept), (True, nest.reduced)):
        for outer in axes:
            for inner in axes:
                if outer is not inner and all(_mergeable(index, outer, inner) for index in indices):
                    return is_reduced, outer, inner
    return None


def _mergeable(index: Index, outer: Axis, inner: Axis) -> bool:
    if index.terms.get(outer, 0) != inner.size * index.terms.get(inner, 0):
        return False
    return all(_mergeable(atom.base, outer, inner) for atom in index.terms if isinstance(atom, Digit))


def _merge(nest: LoopNest, is_reduced: bool, outer: Axis, inner: Axis) -> LoopNest:
    merged = Axis(outer.name, outer.size * inner.size)
    axes = nest.reduced if is_reduced else nest.kept
    combined = [merged if axis is inner else axis for axis in axes if axis is not outer]
    # outer * s + inner is the merged axis wherever the two stand together, which is everywhere.
    mapping = {outer: Index(None, 0), inner: Index.of(merged)}
    kept, reduced = (nest.kept, combined) if is_reduced else (combined, nest.reduced)
    return rewrite(nest, mapping, kept, reduced)


def _by_stride(nest: LoopNest, axes: list[Axis]) -> list[Axis]:
    """Outermost first: by the strides of the stores, then of the loads."""
    offsets = [store.offset for store in nest.stores]
    offsets += [load_parts(value)[1] for value in nest.values() if value.op in ("load", "gather")]

    def weight(axis: Axis) -> tuple[int, ...]:
        strides = [offset.stride(axis) for offset in offsets]
        return tuple(-abs(hint(stride)) for stride in strides if stride)[:4] or (0,)

    return sorted(axes, key=lambda axis: weight(axis)[0])

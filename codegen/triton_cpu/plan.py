"""How a vector loop is laid out, decided of TTIR before any of it is emitted.

A mask `offs < n` is true for all lanes up to a bound known before the loop, mixed in at most one step, and false
beyond. A condition that does not vary holds in all lanes or in none. So a loop is split by them, and its hot part has
no masks. What does not depend on the loop's position is evaluated before it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from opweave.codegen.instructions.emit import SIZE, Buffer
from opweave.codegen.instructions.operands import FALSE
from opweave.codegen.triton_cpu.context import Context, splat_literal
from opweave.codegen.triton_cpu.lanes import Index, Indices, Key, key_of
from opweave.codegen.triton_cpu.operations import INDEX_OPS, MADE, REARRANGES, VIEWS
from opweave.codegen.triton_cpu.prefetch import Soon, soon
from opweave.codegen.triton_cpu.strides import UNKNOWN, Strides
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Op, Value

_UPPER = {"slt": 0, "sle": 1}
_SWAPPED = {"sgt": "slt", "sge": "sle"}
Place = tuple[Value, Indices]


@dataclass(frozen=True)
class Plan:
    """How one vector loop is laid out.

    Attributes
    ----------
    values : tuple of Value
        What is evaluated in it.
    stores : tuple of Op
        The stores in it.
    dim, rank, extent, width : int
        The dimension it goes along, of how many, its elements, and the lanes of one step.
    hoisted : tuple of Place
        What is evaluated before it.
    parts : tuple of (Place, bool)
        What splits the loop, and whether it is a comparison that is true below a bound; else it is a condition that
        holds everywhere or nowhere.
    nothing_else : bool
        Whether the stores are all that it does, so that there is no loop where all of them are masked off.
    idle_beyond : bool
        Whether that is so beyond the bounds.
    soon : tuple of Soon
        Memory that it asks for ahead.
    """

    values: tuple[Value, ...]
    stores: tuple[Op, ...]
    dim: int
    rank: int
    extent: int
    width: int
    hoisted: tuple[Place, ...]
    parts: tuple[tuple[Place, bool], ...]
    nothing_else: bool
    idle_beyond: bool
    soon: tuple[Soon, ...] = ()

    def __str__(self) -> str:
        done = [f"{op.name} {_names(op.operands)}" for op in self.stores] or [_names(self.values) or "buffers"]
        along = f"along dimension {self.dim} of {self.rank}" if self.rank > 1 else "in a row"
        lines = [f"{'; '.join(done)}: {self.width} of {self.extent} elements at a time, {along}"]
        bounds, gates = ([v for (v, _), bound in self.parts if bound is wanted] for wanted in (True, False))
        for what, found in (
            ("before the loop", [v for v, _ in self.hoisted]), ("true below a bound", bounds),
            ("everywhere or nowhere", gates),
        ):  # fmt: skip
            if found:
                lines.append(f"  {what}: {_names(found)}")
        if self.idle_beyond:
            lines.append("  beyond the bound: nothing")
        for what, following in (("asks for", False), ("asks for, for the next program", True)):
            if any(s.following is following for s in self.soon):
                lines.append(f"  {what}: {_names([s.pointer for s in self.soon if s.following is following])}")
        return "\n".join(lines)


@dataclass(frozen=True)
class Kept:
    """Values that a loop nest writes to buffers."""

    values: tuple[Value, ...]
    buffers: tuple[Buffer, ...]

    def __str__(self) -> str:
        return "\n".join(
            f"{v.name} is kept in a buffer of {'x'.join(map(str, b.shape))} {b.elem}"
            for v, b in zip(self.values, self.buffers, strict=True)
        )


def _names(values: Sequence[Value]) -> str:
    return ", ".join(dict.fromkeys(v.name for v in values))


def plan_loop(
    cx: Context, values: Sequence[Value], stores: Sequence[Op], here: Indices, dim: int, extent: int,
    nothing_else: bool,
) -> Plan:  # fmt: skip
    """Lay out a loop that evaluates `values` and `stores` at the index `here`, whose lanes are in dimension `dim`."""
    strides = Strides(cx)
    hoisted = _hoisted(cx, strides, [*values, *(o for op in stores for o in op.operands)], here)
    parts = tuple(mask_parts(cx, strides, values, stores, here))
    nothing_else = nothing_else and bool(stores)
    beyond = {key_of(*place): False for place, bound in parts if bound}
    return Plan(
        tuple(values), tuple(stores), dim, len(here), extent, cx.width, tuple(hoisted), parts, nothing_else,
        idle_beyond=nothing_else and bool(beyond) and masked_off(cx, stores, here, beyond),
        soon=soon(cx, values, stores, here, extent),
    )  # fmt: skip


def _hoisted(cx: Context, strides: Strides, values: Sequence[Value], here: Indices) -> list[Place]:
    """What evaluating values at an index evaluates and does not depend on its position, the largest parts."""
    found: list[Place] = []
    seen: set[Key] = set()

    def visit(v: Value, idx: Indices) -> None:
        key = key_of(v, idx)
        if not v.type.is_tensor or key in seen or key in cx.assumed:
            return
        seen.add(key)
        op = v.op
        if v in cx.buffers:
            if not any(i.lane or i.key in cx.unknown for i in idx):
                found.append((v, idx))
        elif op is not None and op.name in MADE:
            return
        elif strides.of(v, idx) is not None:
            found.append((v, idx))
        elif v in cx.inductions:
            visit(cx.inductions[v].initial, idx)
        elif op is not None and op.name not in REARRANGES:
            for o, i in cx.inputs(op, idx):
                visit(o, i)

    for v in values:
        visit(v, here)
    return found


# -- masks


def mask_parts(
    cx: Context, strides: Strides, values: Sequence[Value], stores: Sequence[Op], idx: Indices
) -> Iterator[tuple[Place, bool]]:
    """The parts of all masks that split a loop, and whether each is a comparison that is true below a bound."""
    seen: set[Key] = set()
    for mask, at, gating in masks(cx, values, stores, idx):
        for leaf, i in leaves(cx, mask, at):
            key = key_of(leaf, i)
            if key in seen or key in cx.assumed or any(x.key in cx.unknown for x in i):
                continue
            if any(x.lane for x in i):
                if is_bound(cx, strides, leaf, i):
                    seen.add(key)
                    yield (leaf, i), True
            elif gating and (leaf.op is None or leaf.op.name != "arith.constant"):
                seen.add(key)
                yield (leaf, i), False


def bounded_everywhere(
    cx: Context, values: Sequence[Value], stores: Sequence[Op], shape: tuple[int, ...], keys: Sequence[str]
) -> bool:
    """Whether all masks in a nest are true below a bound along one dimension each, or do not vary."""
    unknown, strides = cx.unknown, Strides(cx)
    try:
        for d in range(len(shape)):
            here = tuple(Index(UNKNOWN, int(k == d), key) for k, key in enumerate(keys))
            cx.unknown = unknown | {key for k, key in enumerate(keys) if k != d}
            for mask, at, _ in masks(cx, values, stores, here):
                for leaf, i in leaves(cx, mask, at):
                    if not any(x.lane for x in i) or key_of(leaf, i) in cx.assumed:
                        continue
                    if any(x.key in cx.unknown for x in i) or not is_bound(cx, strides, leaf, i):
                        return False
    finally:
        cx.unknown = unknown
    return True


def masks(
    cx: Context, values: Sequence[Value], stores: Sequence[Op], idx: Indices
) -> list[tuple[Value, Indices, bool]]:
    """Masks of accesses, which also gate the unmasked region, and conditions of selects, which only bound it."""
    found: list[tuple[Value, Indices, bool]] = []
    seen: set[Key] = set()

    def visit(v: Value, at: Indices) -> None:
        key, op = key_of(v, at), v.op
        if key in seen or not v.type.is_tensor or v in cx.buffers or v in cx.inductions or op is None:
            return
        seen.add(key)
        if op.name in REARRANGES or op.name in MADE:
            return
        inputs = cx.inputs(op, at)
        if op.name == "tt.load" and len(inputs) > 1:
            found.append((*inputs[1], True))
        if op.name == "arith.select":
            found.append((*inputs[0], False))
        if op.name in VIEWS or op.name not in INDEX_OPS:
            for o, i in inputs:
                visit(o, i)

    for v in values:
        visit(v, idx)
    found += [(op.operands[2], idx, True) for op in stores if len(op.operands) > 2]
    return found


def leaves(cx: Context, mask: Value, idx: Indices) -> list[Place]:
    """The conjuncts of a mask, each at its own index."""
    if not mask.type.is_tensor or mask in cx.buffers or mask.op is None:
        return []
    if any(i.lane for i in idx):
        if mask.op.name == "arith.andi" or mask.op.name in VIEWS:
            return [leaf for o, i in cx.inputs(mask.op, idx) for leaf in leaves(cx, o, i)]
    return [(mask, idx)]


def comparison(cx: Context, leaf: Value, idx: Indices) -> tuple[Place, Place, int] | None:
    """(x, b, d) for a comparison x < b + d, where d is 0 or 1."""
    op = leaf.op
    if op is None or op.name != "arith.cmpi":
        return None
    predicate = op.word
    x, b = cx.inputs(op, idx)
    if predicate in _SWAPPED:
        predicate, x, b = _SWAPPED[predicate], b, x
    return (x, b, _UPPER[predicate]) if predicate in _UPPER else None


def is_bound(cx: Context, strides: Strides, leaf: Value, idx: Indices) -> bool:
    """Whether a mask is x < b with x = base + position, so that from some position on it is false."""
    compared = comparison(cx, leaf, idx)
    if compared is None:
        return False
    position, bound = strides.of(*compared[0]), strides.of(*compared[1])
    if position is None or bound is None or position.kind != "affine" or position.stride != 1 or not bound.uniform:
        return False
    return not isinstance(position.value, int) or position.value <= largest_base(leaf, position.elem)


def largest_base(leaf: Value, elem: str) -> int:
    """The largest base of a position that does not wrap around in its type."""
    return (1 << (8 * SIZE[elem] - 1)) - max(leaf.type.dims)


def masked_off(cx: Context, stores: Sequence[Op], here: Indices, assumed: Mapping[Key, bool]) -> bool:
    """Whether all stores at an index are known to do nothing."""
    return all(len(op.operands) > 2 and _is_false(cx, op.operands[2], here, assumed) for op in stores)


def _is_false(cx: Context, mask: Value, idx: Indices, assumed: Mapping[Key, bool]) -> bool:
    op = mask.op
    if not mask.type.is_tensor:
        return cx.scalars[mask].is_false
    if key_of(mask, idx) in assumed:
        return not assumed[key_of(mask, idx)]
    if mask in cx.buffers or op is None:
        return False
    if op.name == "arith.constant":
        return splat_literal(mask) == FALSE
    if op.name == "arith.andi" or op.name in VIEWS:
        return any(_is_false(cx, o, i, assumed) for o, i in cx.inputs(op, idx))
    return False

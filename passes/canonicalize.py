"""Canonicalize: replace ops that change nothing by their operand, and chains of casts or views by one.

Tensors that are only allocated or filled (`empty_like(h)`, `ones_like(h)`) no longer name the tensor whose layout they
have: the gradient that a loss begins with would wait for the loss.

Only identities that hold for every value are used: `x * 1` is `x`, while `x + 0` is not (it turns -0.0 into 0.0), `x *
0` is not 0 (NaN, infinity), and a cast there and back keeps the value only through a type that holds all of it.
"""

from __future__ import annotations

from typing import Any

from opweave.fake.symbolic import SymNumber, statically_known_true
from opweave.registry.op import OpOverload, ops
from opweave.registry.spec import contiguous_strides
from opweave.registry.tensor import Tensor
from opweave.tracer.aliasing import escaping
from opweave.tracer.declared import declared, is_layout
from opweave.tracer.emission import Emitter, is_told, value_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.rewrite import Rule, rewrite

aten = ops.aten


def run(graph: Graph) -> Graph:
    """Apply the rules until none fits."""
    kept = escaping(graph)

    def rules_of(node: Node) -> tuple[Rule, ...]:
        if not isinstance(node.target, OpOverload):
            return ()
        rules = RULES.get(f"{node.target.namespace}.{node.target.opname}", ())
        rules = tuple(rule for rule in rules if rule in (untied, filled) or node not in kept)
        return rules if rules and declared(node) is not None else ()

    return rewrite(graph, rules_of, moves=True)


def _same_spec(one: Tensor, other: Tensor) -> bool:
    return (
        one._dtype is other._dtype
        and one._device is other._device
        and _same(one._sizes, other._sizes)
        and _same(one._strides, other._strides)
    )


def _same(one: tuple[Any, ...], other: tuple[Any, ...]) -> bool:
    """Whether numbers are equal for all values of their symbols: no guard is worth what is saved here."""
    return len(one) == len(other) and all(statically_known_true(a == b) for a, b in zip(one, other, strict=True))


def _operand_if_same(node: Node, operand: Any) -> Node | None:
    """The operand, if the node's value has its sizes, strides and type."""
    if (
        isinstance(operand, Node)
        and isinstance(value_of(operand), Tensor)
        and _same_spec(value_of(operand), value_of(node))
    ):
        return operand
    return None


def _is_number(value: Any, number: float) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and value == number


def _is_one(value: Any) -> bool:
    """Whether it is the number, or a tensor that has it everywhere."""
    while isinstance(value, Node) and is_layout(value) and isinstance(value.args[0], Node):
        if value_of(value)._dtype is not value_of(value.args[0])._dtype:
            return False
        value = value.args[0]
    if isinstance(value, Node):
        return value.target is aten.full.default and value_of(value)._dtype.kind != "c" and _is_number(value.args[1], 1)
    return _is_number(value, 1)


def _alpha(node: Node) -> Any:
    return node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)


def times_one(node: Node, emit: Emitter) -> Node | None:
    """`x * 1`, `1 * x`."""
    a, b = node.args[:2]
    if value_of(node)._dtype.kind == "c":
        return None  # it changes signs of zeros
    same = _operand_if_same(node, a) if _is_one(b) else None
    return _operand_if_same(node, b) if same is None and _is_one(a) else same


def over_one(node: Node, emit: Emitter) -> Node | None:
    """`x / 1` (true division, no rounding mode)."""
    a, b = node.args[:2]
    exact = _is_one(b) and node.kwargs.get("rounding_mode") is None and len(node.args) == 2
    exact &= value_of(node)._dtype.kind != "c"
    return _operand_if_same(node, a) if exact else None


def minus_zero(node: Node, emit: Emitter) -> Node | None:
    """`x - 0`: exact for every float (-0.0 - 0.0 is -0.0), as is `x + 0` for integers only."""
    a, b = node.args[:2]
    if not _is_number(b, 0) or _alpha(node) != 1 or str(b).startswith("-") or value_of(node)._dtype.kind == "c":
        return None
    return _operand_if_same(node, a)


def plus_zero(node: Node, emit: Emitter) -> Node | None:
    """`x + 0` of integers, `x + (-0.0)` of floats."""
    a, b = node.args[:2]
    if not _is_number(b, 0) or _alpha(node) != 1:
        return None
    exact = value_of(node)._dtype.kind in "iu" or str(b).startswith("-")
    return _operand_if_same(node, a) if exact else None


def to_power_one(node: Node, emit: Emitter) -> Node | None:
    """`x ** 1`."""
    return _operand_if_same(node, node.args[0]) if _is_number(node.args[1], 1) else None


def twice_negated(node: Node, emit: Emitter) -> Node | None:
    """`-(-x)`."""
    inner = node.args[0]
    twice = isinstance(inner, Node) and inner.target is node.target and _alone(inner)
    return _operand_if_same(node, inner.args[0]) if twice else None


def cast(node: Node, emit: Emitter) -> Node | None:
    """A cast to the type it has; a cast of a widening cast."""
    source = node.args[0]
    if len(node.args) != 1 or set(node.kwargs) - {"dtype"}:
        return None
    inner = source.target if isinstance(source, Node) else None
    if inner is node.target and len(source.args) == 1 and not set(source.kwargs) - {"dtype"}:
        first, middle = value_of(source.args[0]), value_of(source)
        if _holds(first._dtype, middle._dtype) and _same(middle._strides, first._strides):
            if _same_spec(first, value_of(node)):
                return source.args[0]
            return emit.call(node.target, source.args[0], like=node, **node.kwargs)
    return _operand_if_same(node, source)


def _holds(small: Any, large: Any) -> bool:
    """Whether every value of one type is a value of the other."""
    if small is large:
        return True
    if small.kind == large.kind or (small.kind == "u" and large.kind == "i"):
        mixed = small.kind != large.kind or {small.name, large.name} == {"float16", "bfloat16"}
        return small.itemsize < large.itemsize or (small.itemsize == large.itemsize and not mixed)
    if small.kind == "b":
        return True
    return small.kind in "iu" and large.kind == "f" and small.itemsize * 2 <= large.itemsize and large.itemsize >= 4


def same_view(node: Node, emit: Emitter) -> Node | None:
    """A view that changes neither sizes nor strides nor offset."""
    source = node.args[0]
    same = _operand_if_same(node, source)
    return same if same is not None and _same((value_of(same)._offset,), (value_of(node)._offset,)) else None


def same_detached(node: Node, emit: Emitter) -> Node | None:
    """`detach`, unless it can be seen in a result: a write to the one is none to the other's history."""
    reached, seen = list(node.users), {node}
    while reached:
        user = reached.pop()
        if user.op == "output":
            return None
        if user not in seen and is_layout(user):
            seen.add(user)
            reached += user.users
    return same_view(node, emit)


def view_of_view(node: Node, emit: Emitter) -> Node | None:
    """`x.view(a).view(b)`: one view, where `x` can be viewed so directly."""
    source = node.args[0]
    if not isinstance(source, Node) or source.target is not node.target:
        return same_view(node, emit)
    origin = value_of(source.args[0])
    if not origin.is_contiguous() or origin._dtype is not value_of(node)._dtype:
        return same_view(node, emit)
    return emit.call(node.target, source.args[0], *node.args[1:], like=node)


def permuted_twice(node: Node, emit: Emitter) -> Node | None:
    """`permute` of `permute`."""
    source = node.args[0]
    if not isinstance(source, Node) or source.target is not node.target:
        return same_view(node, emit)
    inner = source.args[1]
    dims = [inner[d] % len(inner) for d in node.args[1]]
    if dims == list(range(len(dims))):
        return source.args[0]
    return emit.call(node.target, source.args[0], dims, like=node)


def transposed_twice(node: Node, emit: Emitter) -> Node | None:
    """`x.t().t()`, `x.transpose(a, b).transpose(a, b)`."""
    source = node.args[0]
    same = isinstance(source, Node) and source.target is node.target and source.args[1:] == node.args[1:]
    return source.args[0] if same else None


def untied(node: Node, emit: Emitter) -> Node | None:
    """`empty_like(h)` needs the sizes of `h`, and not `h`, which need not be computed for it then."""
    made = value_of(node)
    if any(isinstance(number, SymNumber) and not is_told(number) for number in (*made._sizes, *made._strides)):
        return None
    return emit.call(
        aten.empty_strided.default, list(made._sizes), list(made._strides), like=node, dtype=made._dtype,
        device=made._device,
    )  # fmt: skip


def filled(node: Node, emit: Emitter) -> Node | None:
    """`full_like(h, 1)` likewise, where it lies row-major."""
    made = value_of(node)
    if any(isinstance(number, SymNumber) and not is_told(number) for number in made._sizes):
        return None
    if not _same(made._strides, contiguous_strides(made._sizes)):
        return None
    return emit.call(
        aten.full.default, list(made._sizes), node.args[1], like=node, dtype=made._dtype, device=made._device
    )


def _alone(node: Node) -> bool:
    return len(node.args) == 1 and not node.kwargs


RULES: dict[str, tuple[Rule, ...]] = {
    "aten.mul": (times_one,),
    "aten.div": (over_one,),
    "aten.sub": (minus_zero,),
    "aten.add": (plus_zero,),
    "aten.pow": (to_power_one,),
    "aten.neg": (twice_negated,),
    "aten._to_copy": (cast,),
    "aten.view": (view_of_view,),
    "aten.permute": (permuted_twice,),
    "aten.transpose": (transposed_twice,),
    "aten.t": (transposed_twice,),
    "aten.expand": (same_view,),
    "aten.slice": (same_view,),
    "aten.alias": (same_view,),
    "aten.detach": (same_detached,),
    "aten.empty_like": (untied,),
    "aten.new_empty": (untied,),
    "aten.full_like": (filled,),
}

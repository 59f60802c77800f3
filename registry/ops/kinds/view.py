"""Views: other sizes and strides over the same memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Unpack

from opweave.registry.batched import Level
from opweave.registry.batching import as_view_of, front
from opweave.registry.op import ops
from opweave.registry.ops.kinds.base import Decl, Maker
from opweave.registry.ops.kinds.loops import Call, Demand, Operand, Point, Size, Space
from opweave.registry.ops.kinds.traits import Traits
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, as_alias, as_view

BatchRule = Callable[..., Tensor | None]
#: `rule(whole, *args) -> (op, arguments after the first)`: the view that turns a view of `whole` back.
Inverse = Callable[..., tuple[Any, tuple[Any, ...]]]


def in_order(whole: Tensor, *_: Any) -> tuple[Any, tuple[Any, ...]]:
    """Of a view with the same elements in the same order."""
    return ops.aten.view.default, (list(whole._sizes),)


class ViewDecl(Decl):
    """New sizes, strides and offset over the same memory.

    Attributes
    ----------
    rule : callable
        `rule(sizes, strides, offset, *args) -> (sizes, strides, offset)`, linear in the strides and offset, so that it
        also runs on symbols. `args` are the schema's arguments after the first, with defaults.
    reshape : bool
        Whether the op only regroups dimensions in row-major order (its rule looks at stride values).
    is_tracked : bool
        Whether autograd takes the result for a view, so that a write to it is one to the argument.
    inverse : callable or None
        The view that undoes it, where it shows all elements.
    """

    kind = "view"
    is_layout = True
    cost = 0
    elementwise = True

    def __init__(self, schema: str, rule: Callable[..., Any], reshape: bool, is_tracked: bool = True):
        super().__init__(schema, rule)
        self.rule = rule
        self.reshape = reshape
        self.is_tracked = is_tracked
        self.batch_rule: BatchRule | None = None
        self.inverse: Inverse | None = in_order if reshape else None
        self._make = as_view if is_tracked else as_alias
        self._run_by(self.eager)

    def eager(self, self_: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Make the view."""
        sizes, strides, offset = self.rule(self_._sizes, self_._strides, self_._offset, *args, **kwargs)
        return self._make(self_, tuple(sizes), tuple(strides), offset)

    def replay(self, tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        base, *rest = self.bind(args, kwargs)
        if type(self).eager is not ViewDecl.eager:
            raise NotTaped(str(self.op))
        sizes, strides, offset = self.rule(base._sizes, (0,) * base.ndim, 0, *rest) if not self.reshape else ((), (), 0)
        if _is_fixed(sizes, strides, offset):
            raise NotTaped("a view of the storage, not of the tensor")
        tape.view(result, base)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        values = self.bind(args, kwargs)
        return self.eager(values[0], *values[1:])

    def on_batch(self, rule: BatchRule) -> BatchRule:
        """Decorator: `rule(whole, sizes, *args)` is the view of a batch, examples first, that views each of them.

        `sizes` are an example's; None is to be had by the op's own rule.
        """
        self.batch_rule = rule
        return rule

    def inverted(self, rule: Inverse) -> Inverse:
        """Decorator: the view that undoes it."""
        self.inverse = rule
        return rule

    def batch(self, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """A view of the whole batch."""
        t, whole, rest = args[0], front(args[0], level), self.bind(args, kwargs)[1:]
        found = None if self.batch_rule is None else self.batch_rule(whole, t._sizes, *rest)
        if found is None:
            # By its own rule on one example's layout, which also says what is wrong with the arguments.
            sizes, strides, offset = self.rule(whole._sizes[1:], whole._strides[1:], whole._offset, *rest)
            found = ops.aten.as_strided.default(
                whole, [whole._sizes[0], *sizes], [whole._strides[0], *strides], offset
            )  # fmt: skip
        return as_view_of(t, found, level)

    def objection(self, call: Call) -> str:
        base = call.operands[0]
        if call.result._dtype is not base._dtype:
            return "view changes the element type"
        if self.reshape:
            regroups = call.indices.can_regroup(call.result.sizes, base.sizes)
            return "" if regroups else "view between sizes that are not known to be equal"
        fixed = _is_fixed(*self._layout(call, (0,) * base.ndim))
        return "view of the storage, not of the tensor" if fixed else ""

    def demands(self, call: Call, operand: Operand, demand: Demand, space: Space) -> Iterable[Demand]:
        sizes, base = call.result.sizes, operand.sizes
        if self.reshape:
            index = call.indices.regroup(demand.index, sizes, base)
        else:
            index = tuple([call.indices.linearize(demand.index, s) + offset for s, offset in self._by_dimension(call)])
        return [demand.at(index, demand.exact and math.prod(sizes) == math.prod(base))]

    def evaluate(self, call: Call, point: Point) -> Any:
        operand = call.operands[0]
        (demand,) = self.demands(call, operand, point.demand, point.space)
        return point.value(operand, demand)

    def _by_dimension(self, call: Call) -> Sequence[tuple[Sequence[Size], Size]]:
        """For each dimension of the base the strides and the offset that lead to its index."""
        found = call.memo.get("view_map")
        if found is None:
            # The rule is linear in the strides: a unit stride for one dimension tells how that dimension is indexed.
            rank = call.operands[0].ndim
            found = [self._layout(call, tuple(int(d == e) for e in range(rank)))[1:] for d in range(rank)]
            call.memo["view_map"] = found
        return found

    def _layout(self, call: Call, strides: tuple[int, ...]) -> tuple[Sequence[Size], Sequence[Size], Size]:
        """Sizes, strides and offset of the view of a base with such strides."""
        arguments = self.bind(call.args, call.kwargs)[1:]
        sizes, found, offset = self.rule(call.operands[0]._sizes, strides, 0, *arguments)
        return [call.size(size) for size in sizes], [call.size(s, 0) for s in found], call.size(offset, 0)


def _is_fixed(sizes: Sequence[Size], strides: Sequence[Size], offset: Size) -> bool:
    """Whether a view of a tensor whose strides and offset are 0 has others, which then follow from nothing in it."""
    # What stride a dimension of size 1 has says nothing.
    return offset != 0 or any(stride != 0 for size, stride in zip(sizes, strides, strict=True) if size != 1)


def view(
    schema: str, *, reshape: bool = False, is_tracked: bool = True, **traits: Unpack[Traits]
) -> Callable[[Callable[..., Any]], ViewDecl]:
    """Declare a view op; the decorated function is its rule on sizes, strides and offset. See `ViewDecl`."""

    def declare(rule: Callable[..., Any]) -> ViewDecl:
        return with_traits(ViewDecl(schema, rule, reshape, is_tracked), **traits)

    return declare

"""Views: other sizes and strides over the same memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.ops.kinds.base import Decl, Maker
from opweave.registry.tensor import Tensor, as_alias, as_view


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
    """

    kind = "view"

    def __init__(self, schema: str, rule: Callable[..., Any], reshape: bool, is_tracked: bool = True):
        super().__init__(schema, rule)
        self.rule = rule
        self.reshape = reshape
        self.is_tracked = is_tracked
        self._make = as_view if is_tracked else as_alias
        self._run_by(self.eager)

    def eager(self, self_: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        """Make the view."""
        sizes, strides, offset = self.rule(self_._sizes, self_._strides, self_._offset, *args, **kwargs)
        return self._make(self_, tuple(sizes), tuple(strides), offset)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        values = self.bind(args, kwargs)
        return self.eager(values[0], *values[1:])


def view(schema: str, *, reshape: bool = False, is_tracked: bool = True) -> Callable[[Callable[..., Any]], ViewDecl]:
    """Declare a view op; the decorated function is its rule on sizes, strides and offset. See `ViewDecl`."""

    def declare(rule: Callable[..., Any]) -> ViewDecl:
        return ViewDecl(schema, rule, reshape, is_tracked)

    return declare

"""In-place ops on what a tensor shows: `t_`, `transpose_`, `unsqueeze_`, `squeeze_`, `as_strided_` and their aliases.

Each makes the view that the functional op makes, and lets the tensor itself be that from then on: its sizes, strides
and offset, and its history. The memory stays as it is, and so do other tensors on it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry.autograd.views import show_as
from opweave.registry.errors import UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import CompositeDecl, composite
from opweave.registry.tensor import Tensor, describe


def _inplace(arguments: str, functional: str) -> CompositeDecl:
    """Declare the in-place form of a view op."""
    name, _, overload = functional.partition(".")
    op = getattr(getattr(ops.aten, name), overload or "default")

    def body(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
        return show_as(made.op, self, lambda: op(self, *args, **kwargs))

    overload = f".{overload}" if overload in ("dim", "dims") else ""
    made = composite(f"aten::{name}_{overload}(Tensor(a!) self{arguments}) -> Tensor(a!)", tags="inplace_view")(body)
    return made


t_ = _inplace("", "t")
transpose_ = _inplace(", int dim0, int dim1", "transpose.int")
swapaxes_ = _inplace(", int axis0, int axis1", "swapaxes")
swapdims_ = _inplace(", int dim0, int dim1", "swapdims")
unsqueeze_ = _inplace(", int dim", "unsqueeze")
squeeze_ = _inplace("", "squeeze")
squeeze_dim_ = _inplace(", int dim", "squeeze.dim")
squeeze_dims_ = _inplace(", int[] dim", "squeeze.dims")
as_strided_ = _inplace(", SymInt[] size, SymInt[] stride, SymInt? storage_offset=None", "as_strided")


@composite(
    "aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)",
    tags="inplace_view",
)
def resize_(self: Tensor, size: Sequence[int], *, memory_format: Any = None) -> Tensor:
    """Refused: views, graphs and what autograd saved rely on a tensor's memory and sizes."""
    raise UnsupportedError(
        "resize_: a tensor keeps its memory and its sizes", got=describe(self),
        hint="make another: x = x.new_empty(sizes)"
    )  # fmt: skip


def _samples(make: Any) -> Sequence[tuple[tuple[Any, ...], dict[str, Any]]]:
    return [((make(3, 4),), {}), ((make(5),), {})]


t_.with_samples(_samples)
for _decl in (transpose_, swapaxes_, swapdims_):
    _decl.with_samples(lambda make: [((make(2, 3, 4), 0, -1), {}), ((make(2, 3), 1, 0), {})])
unsqueeze_.with_samples(lambda make: [((make(2, 3), 0), {}), ((make(2, 3), -1), {}), ((make(), 0), {})])
squeeze_.with_samples(lambda make: [((make(2, 1, 3, 1),), {}), ((make(2, 3),), {})])
squeeze_dim_.with_samples(lambda make: [((make(2, 1, 3), 1), {}), ((make(2, 1, 3), 0), {})])
squeeze_dims_.with_samples(lambda make: [((make(2, 1, 1), [1, 2]), {}), ((make(2, 1, 3), [0, -2]), {})])
as_strided_.with_samples(lambda make: [((make(3, 4), [2, 2], [4, 1], 1), {}), ((make(6), [2, 3], [3, 1]), {})])

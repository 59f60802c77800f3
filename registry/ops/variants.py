"""`op_` and `out=` variants of ops that are not pointwise (those are declared with theirs).

A variant computes what its functional op does and writes that into memory it is given; nothing is resized.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry.errors import UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite, declare_inplace, declare_out
from opweave.registry.tensor import Tensor, describe

#: By op, for each overload that of its `out=` variant.
OUT = {
    "sum": {"default": "out", "dim_IntList": "IntList_out"},
    "mean": {"default": "dtype_out", "dim": "out"},
    "prod": {"default": "out", "dim_int": "int_out"},
    "var": {"correction": "correction_out"},
    "std": {"correction": "correction_out"},
    "amax": {"default": "out"},
    "amin": {"default": "out"},
    "max": {"default": "unary_out"},
    "min": {"default": "unary_out"},
    "argmax": {"default": "out"},
    "argmin": {"default": "out"},
    "any": {"default": "all_out", "dim": "out", "dims": "dims_out"},
    "all": {"default": "all_out", "dim": "out", "dims": "dims_out"},
    "cumsum": {"default": "out"},
    "mm": {"default": "out"},
    "bmm": {"default": "out"},
    "addmm": {"default": "out"},
    "cat": {"default": "out"},
    "flip": {"default": "out"},
    "repeat": {"default": "out"},
    "index": {"Tensor": "Tensor_out"},
    "index_put": {"default": "out"},
    "index_select": {"default": "out"},
    "gather": {"default": "out"},
    "embedding": {"default": "out"},
    "scatter": {"src": "src_out"},
    "scatter_reduce": {"two": "two_out"},
    "masked_scatter": {"default": "out"},
    "scatter_add": {"default": "out"},
    "nonzero": {"default": "out"},
    "full": {"default": "out"},
    "arange": {"default": "out"},
    "isnan": {"default": "out"},
    "isinf": {"default": "out"},
    "clamp": {"Tensor": "Tensor_out"},
    "div": {"Tensor_mode": "out_mode"},
    "copy": {"default": "out"},
    "full_like": {"default": "out"},
    "_softmax": {"default": "out"},
    "_log_softmax": {"default": "out"},
}

#: By op, for each overload that of its in-place variant.
INPLACE = {
    "cumsum": {"default": "default"},
    "addmm": {"default": "default"},
    "scatter": {"src": "src"},
    "scatter_reduce": {"two": "two"},
    "masked_scatter": {"default": "default"},
    "scatter_add": {"default": "default"},
}

for _table, _declare in ((OUT, declare_out), (INPLACE, declare_inplace)):
    for _name, _overloads in _table.items():
        for _overload, _variant in _overloads.items():
            _declare(getattr(getattr(ops.aten, _name), _overload), _variant)


@composite("aten::resize_(Tensor(a!) self, SymInt[] size, *, MemoryFormat? memory_format=None) -> Tensor(a!)")
def resize_(self: Tensor, size: Sequence[int], *, memory_format: Any = None) -> Tensor:
    """Refused: views, graphs and what autograd saved rely on a tensor's memory and sizes."""
    raise UnsupportedError(
        "resize_: a tensor keeps its memory and its sizes", got=describe(self),
        hint="make another: x = x.new_empty(sizes)",
    )  # fmt: skip

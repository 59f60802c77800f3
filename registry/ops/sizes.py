"""Ops between tensors and numbers, with which a graph computes the sizes that vary from call to call.

They stand in graphs alone. A trace does not record that a size was read; where a symbolic number is an operand of an
op, the tracer adds what computes it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opweave.registry.errors import ShapeError
from opweave.registry.fake_context import dynamic_number, dynamic_size
from opweave.registry.memory_format import MemoryFormat, is_in_format
from opweave.registry.ops.kinds.base import Decl, Maker
from opweave.registry.ops.kinds.writing import with_traits
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor


class NumberDecl(Decl):
    """An op that gives a Python number, or nothing; `body(*args)` and, where data is needed, `rule(*args)` without."""

    kind = "number"
    is_number = True
    apart = "number op"

    def __init__(self, schema: str, body: Callable[..., Any], rule: Callable[..., Any] | None = None):
        super().__init__(schema, body)
        self.rule = rule or body
        self._run_by(body)

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        return self.rule(*self.bind(args, kwargs))


def _size(self: Tensor, dim: int) -> int:
    """Size of a dimension."""
    return self._sizes[dim]


def _stride(self: Tensor, dim: int) -> int:
    """Stride of a dimension, in elements."""
    return self._strides[dim]


def _numel(self: Tensor) -> int:
    """Number of elements."""
    return math.prod(self._sizes)


def _is_contiguous(self: Tensor, memory_format: MemoryFormat) -> Any:
    """Whether the elements lie in row-major order, or that of another format, without gaps."""
    return is_in_format(self._sizes, self._strides, memory_format)


def _offset(self: Tensor) -> int:
    """Elements from the start of the storage."""
    return self._offset


def _item(self: Tensor) -> Any:
    return self.item()


def _unknown_item(self: Tensor) -> Any:
    dtype = self._dtype
    if dtype.kind in "iu":
        bits = 8 * dtype.itemsize - (dtype.kind == "i")
        return dynamic_size("item", self, -(1 << bits) if dtype.kind == "i" else 0, (1 << bits) - 1)
    return dynamic_number("item", self, "bool" if dtype.kind == "b" else "float")


def _assert(condition: Any, message: str) -> None:
    if isinstance(condition, Symbolic):
        condition.env.check(condition, message)  # type: ignore[attr-defined]  # symbolic numbers belong to one
    elif not condition:
        raise ShapeError(message)


sym_size = NumberDecl("aten::sym_size.int(Tensor self, int dim) -> SymInt", _size)
sym_stride = NumberDecl("aten::sym_stride.int(Tensor self, int dim) -> SymInt", _stride)
sym_storage_offset = NumberDecl("aten::sym_storage_offset(Tensor self) -> SymInt", _offset)
sym_numel = NumberDecl("aten::sym_numel(Tensor self) -> SymInt", _numel)
sym_is_contiguous = NumberDecl(
    "aten::sym_is_contiguous(Tensor self, MemoryFormat memory_format=0) -> SymBool", _is_contiguous
)
local_scalar_dense = with_traits(
    NumberDecl("aten::_local_scalar_dense(Tensor self) -> Scalar", _item, _unknown_item), tags="data_dependent_output"
)
assert_scalar = NumberDecl("aten::_assert_scalar(Scalar self, str assert_msg) -> ()", _assert)

for _decl in (sym_size, sym_stride, sym_storage_offset, sym_numel, sym_is_contiguous, local_scalar_dense):
    _decl.backward()

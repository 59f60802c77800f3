"""Results in the memory format of an operand: images that lie with their channels innermost stay so."""

from __future__ import annotations

from collections.abc import Sequence

from opweave.registry.dtypes import DType
from opweave.registry.memory_format import MemoryFormat, contiguous_format, format_strides, suggested_format
from opweave.registry.op import ops
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor


def format_of(*tensors: Tensor) -> MemoryFormat:
    """The format of the first operand that lies with its channels innermost; row-major if none does."""
    for t in tensors:
        found = suggested_format(t._sizes, t._strides)
        if found != contiguous_format:
            return found
    return contiguous_format


def spec_like(
    self: Tensor, sizes: Sequence[int], memory_format: MemoryFormat | None = None, dtype: DType | None = None
) -> TensorSpec:
    """The spec of a dense result of these sizes, in a format (that of `self`) and of a type (that of `self`)."""
    found = format_of(self) if memory_format is None else memory_format
    sizes = tuple(sizes)
    return TensorSpec(sizes, format_strides("spec_like", sizes, found), dtype or self._dtype, self._device)


def laid_out(t: Tensor, memory_format: MemoryFormat) -> Tensor:
    """The tensor itself, or a copy in the format."""
    if t._strides == format_strides("laid_out", t._sizes, memory_format):
        return t
    return ops.aten.clone.default(t, memory_format=memory_format)

"""How elementwise ops of Python code choose types: `torch._prims_common`, over the rules of the registry."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.memory_format import channels_last, channels_last_3d, contiguous_format
from opweave.registry.promote import result_type
from opweave.registry.spec import contiguous_strides
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor


class ELEMENTWISE_TYPE_PROMOTION_KIND(enum.Enum):  # PyTorch's name
    """What the result of an elementwise op is, of the type that its arguments promote to."""

    DEFAULT = (0,)
    NO_OPMATH = (1,)
    INT_TO_FLOAT = (2,)
    ALWAYS_BOOL = (3,)
    COMPLEX_TO_FLOAT = (4,)
    BOOL_TO_LONG = (5,)


class REDUCTION_OUTPUT_TYPE_KIND(enum.Enum):  # PyTorch's name
    """The same of reductions."""

    SAME = (0,)
    COMPLEX_TO_FLOAT = (1,)
    KEEP_PROMOTED_TYPE = (2,)
    ALWAYS_BOOL = (3,)


def get_computation_dtype(dtype: DType) -> DType:
    """The type that arithmetic of a type is done in."""
    return dtype.compute


def elementwise_dtypes(*args: Any, type_promotion_kind: ELEMENTWISE_TYPE_PROMOTION_KIND) -> tuple[DType, DType]:
    """The type that an op computes in, and that of its result.

    Parameters
    ----------
    *args : Tensor, number or None
        The op's arguments.
    type_promotion_kind : ELEMENTWISE_TYPE_PROMOTION_KIND
        Of the op.
    """
    kinds = ELEMENTWISE_TYPE_PROMOTION_KIND
    common = result_type(*[arg for arg in args if arg is not None])
    if type_promotion_kind is kinds.NO_OPMATH:
        return common, common
    if type_promotion_kind is kinds.INT_TO_FLOAT and common.kind in "biu":
        common = dtypes.get_default_dtype()
    if type_promotion_kind is kinds.BOOL_TO_LONG and common is dtypes.bool_:
        return dtypes.int64, dtypes.int64
    if type_promotion_kind is kinds.COMPLEX_TO_FLOAT:
        return common.compute, common.to_real()
    return common.compute, dtypes.bool_ if type_promotion_kind is kinds.ALWAYS_BOOL else common


def canonicalize_dims(rank: int, indices: Any, wrap_scalar: bool = True) -> Any:
    """Dimensions as numbers from 0 on."""
    least = max(rank, 1) if wrap_scalar else rank
    if isinstance(indices, int):
        return wrap_dim(indices, least, "canonicalize_dims")
    return tuple(wrap_dim(i, least, "canonicalize_dims") for i in indices)


def suggest_memory_format(x: Tensor) -> Any:
    """The memory format that a tensor's strides are of."""
    for rank, form in ((4, channels_last), (5, channels_last_3d)):
        if x.ndim == rank and x.is_contiguous(memory_format=form) and not x.is_contiguous():
            return form
    return contiguous_format


def _strides(shape: Sequence[int], row_major: bool = True) -> tuple[int, ...]:
    found = contiguous_strides(tuple(max(n, 1) for n in shape))
    if row_major or len(shape) < 2:
        return found
    return (*found[:-2], 1, max(shape[-2], 1))


NAMES: dict[str, Any] = {
    "ELEMENTWISE_TYPE_PROMOTION_KIND": ELEMENTWISE_TYPE_PROMOTION_KIND,
    "REDUCTION_OUTPUT_TYPE_KIND": REDUCTION_OUTPUT_TYPE_KIND,
    "get_computation_dtype": get_computation_dtype, "elementwise_dtypes": elementwise_dtypes,
    "canonicalize_dims": canonicalize_dims, "make_contiguous_strides_for": _strides,
    "suggest_memory_format": suggest_memory_format,
    "is_boolean_dtype": lambda dtype: dtype is dtypes.bool_, "is_integer_dtype": lambda dtype: dtype.kind in "biu",
    "is_float_dtype": lambda dtype: dtype.is_floating_point, "is_complex_dtype": lambda dtype: dtype.is_complex,
    "is_contiguous_or_false": lambda x: x.is_contiguous(),
}  # fmt: skip

"""Runs a sample call in PyTorch and compares: values, dtype, sizes, strides, and what was written in place."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from op_samples import as_list, calls, replace_tensors

from opweave.registry.dtypes import DType
from opweave.registry.errors import OpweaveError
from opweave.registry.op import OpOverload
from opweave.registry.spec import span
from opweave.registry.tensor import Tensor

#: Relative tolerances by dtype; two ulp for half types, rounding of a long sum for the others.
TOLERANCE = {
    "float16": 2e-3,
    "bfloat16": 1.6e-2,
    "float32": 2e-6,
    "float64": 1e-12,
    "complex64": 5e-6,
    "complex128": 1e-12,
}


def to_torch(t: Tensor) -> torch.Tensor:
    """A copy with the same sizes and strides."""
    flat = t._storage.array((span(t._sizes, t._strides),), (1,), t._offset, t._dtype).copy()
    kind = getattr(torch, t._dtype.name)
    found = torch.from_numpy(flat.view(np.int16)).view(kind) if t._dtype.name == "bfloat16" else torch.from_numpy(flat)
    return found.as_strided(t._sizes, t._strides)


def _argument(value: Any) -> Any:
    if isinstance(value, DType):
        return getattr(torch, value.name)
    if isinstance(value, dict):
        return {key: _argument(entry) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return type(value)(_argument(entry) for entry in value)
    return value


def values_of(t: Any) -> Any:
    """Elements in float64 (complex128, or as they are for integers)."""
    if isinstance(t, torch.Tensor):
        t = t.detach().cpu().resolve_conj()
        return values_of_array(t.float().numpy() if t.dtype == torch.bfloat16 else t.numpy())
    return values_of_array(t.numpy())


def values_of_array(array: Any) -> Any:
    if array.dtype.kind in "biu":
        return array
    return array.astype(np.complex128 if array.dtype.kind == "c" else np.float64)


def compare(ours: Tensor, theirs: torch.Tensor, note: Any, *, strides: bool = True, scale: float = 1.0) -> None:
    """Fail unless dtype, sizes, strides (where there is more than one element to tell) and values agree."""
    assert ours._dtype.name == str(theirs.dtype).removeprefix("torch."), (note, ours._dtype, theirs.dtype)
    assert ours._sizes == tuple(theirs.shape), (note, ours._sizes, tuple(theirs.shape))
    if strides and ours.numel():
        assert ours._strides == theirs.stride(), (note, ours._strides, theirs.stride())
    mine, other = values_of(ours), values_of(theirs)
    if ours._dtype.kind in "biu":
        np.testing.assert_array_equal(mine, other, err_msg=str(note))
        return
    relative = TOLERANCE[ours._dtype.name] * scale
    finite = np.abs(other[np.isfinite(other)])
    absolute = relative * min(1.0, float(finite.max())) if finite.size else 0.0
    np.testing.assert_allclose(mine, other, rtol=relative, atol=absolute, equal_nan=True, err_msg=str(note))


def check(op: OpOverload, *, strides: bool = True, scale: float = 1.0) -> int:
    """Compare all sample calls of an op; the number that PyTorch takes."""
    target = getattr(getattr(torch.ops.aten, op.opname), op.overload)
    count = 0
    for dtype, (args, kwargs) in calls(op):
        theirs_args, theirs_kwargs = _argument(replace_tensors((args, kwargs), to_torch))
        note = (str(op), dtype, args, kwargs)
        try:
            theirs = target(*theirs_args, **theirs_kwargs)
        except (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError):
            continue  # what PyTorch refuses is tested on its own
        try:
            ours = op(*args, **kwargs)
        except OpweaveError as error:
            raise AssertionError(f"{note}: PyTorch takes this") from error
        results, expected = as_list(ours), as_list(theirs)
        assert len(results) == len(expected), note
        for mine, other in zip(results, expected, strict=True):
            compare(mine, other, note, strides=strides, scale=scale)
        if op.is_mutable:
            compare(args[0], theirs_args[0], note)
        count += 1
    assert count, f"PyTorch took no sample of {op}"
    return count

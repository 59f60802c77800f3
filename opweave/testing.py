"""Comparing tensors in tests."""

from __future__ import annotations

from typing import Any

import numpy as np

from opweave.registry.dtypes import promote_types
from opweave.registry.tensor import Tensor, describe

__all__ = ["assert_close"]

# PyTorch's default tolerances (rtol, atol) by dtype; exact for everything else.
_TOLERANCES = {
    "float16": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5), "float32": (1.3e-6, 1e-5), "float64": (1e-7, 1e-7),
    "complex64": (1.3e-6, 1e-5), "complex128": (1e-7, 1e-7),
}  # fmt: skip


def assert_close(
    actual: Any,
    expected: Any,
    *,
    rtol: float | None = None,
    atol: float | None = None,
    equal_nan: bool = False,
    check_dtype: bool = True,
    check_device: bool = True,
    check_stride: bool = False,
) -> None:
    """Raise AssertionError unless the tensors (or sequences of them) agree.

    Parameters
    ----------
    actual, expected : Tensor, number, or sequences of these
        What to compare.
    rtol, atol : float, optional
        Relative and absolute tolerance; both or neither. By default as the dtype allows.
    equal_nan : bool
        Whether NaN equals NaN.
    check_dtype, check_device, check_stride : bool
        What has to agree besides shape and values.

    Examples
    --------
    >>> opweave.testing.assert_close(opweave.ones(2), opweave.ones(2) + 1e-7)
    """
    if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
        assert len(actual) == len(expected), f"{len(actual)} items, expected {len(expected)}"
        for i, (a, b) in enumerate(zip(actual, expected, strict=True)):
            try:
                assert_close(
                    a,
                    b,
                    rtol=rtol,
                    atol=atol,
                    equal_nan=equal_nan,
                    check_dtype=check_dtype,
                    check_device=check_device,
                    check_stride=check_stride,
                )
            except AssertionError as error:
                raise AssertionError(f"item {i}: {error}") from None
        return
    a, b = (value if isinstance(value, Tensor) else Tensor._from_array(np.array(value)) for value in (actual, expected))
    assert (rtol is None) == (atol is None), "give both rtol and atol, or neither"
    assert a._sizes == b._sizes, f"shapes differ: {describe(a)} and {describe(b)}"
    both_tensors = isinstance(actual, Tensor) and isinstance(expected, Tensor)
    if both_tensors:
        assert not check_dtype or a._dtype is b._dtype, f"dtypes differ: {describe(a)} and {describe(b)}"
        assert not check_device or a._device is b._device, f"devices differ: {describe(a)} and {describe(b)}"
        assert not check_stride or a._strides == b._strides, f"strides differ: {a._strides} and {b._strides}"
    if rtol is None or atol is None:
        pairs = [_TOLERANCES.get(t._dtype.name, (0.0, 0.0)) for t in (a, b)]
        rtol, atol = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
    common = promote_types(a._dtype, b._dtype)
    wide = common.compute.numpy
    left, right = a.numpy(force=True).astype(wide), b.numpy(force=True).astype(wide)
    close = np.isclose(left, right, rtol, atol, equal_nan)
    if not close.all():
        wrong = np.argwhere(~close)
        where = tuple(int(i) for i in wrong[0])
        with np.errstate(all="ignore"):
            distance = np.abs(np.subtract(left, right, dtype=wide if common.kind in "fc" else object))
        raise AssertionError(
            f"{len(wrong)} of {close.size} elements differ (rtol={rtol}, atol={atol})\n"
            f"  first at {list(where)}: {left[where]} and {right[where]}\n"
            f"  greatest difference: {np.nanmax(distance.astype(np.float64))}"
        )


def __dir__() -> list[str]:
    return sorted(__all__)

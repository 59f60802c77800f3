"""Comparing tensors in tests."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import promote_types
from opweave.registry.errors import DomainError
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
    check_layout: bool = True,
    allow_subclasses: bool = True,
    msg: str | Callable[[str], str] | None = None,
) -> None:
    """Raise AssertionError unless the tensors (or sequences, or mappings, of them) agree.

    Parameters
    ----------
    actual, expected : Tensor, number, None, or sequences or mappings of these
        What to compare.
    rtol, atol : float, optional
        Relative and absolute tolerance; both or neither. By default as the dtype allows.
    equal_nan : bool
        Whether NaN equals NaN.
    check_dtype, check_device, check_stride : bool
        What has to agree besides shape and values.
    check_layout : bool
        For the signature's sake: all tensors are strided.
    allow_subclasses : bool
        Whether two tensors may be of two classes, one of which is the other's.
    msg : str or callable, optional
        What the error says; a function is given what it would say.

    Raises
    ------
    AssertionError
        If they do not agree.
    ValueError
        If one of the tolerances is given without the other.

    Examples
    --------
    >>> opweave.testing.assert_close(opweave.ones(2), opweave.ones(2) + 1e-7)
    """
    if (rtol is None) != (atol is None):
        raise DomainError("assert_close: give both rtol and atol, or neither", got=f"rtol={rtol}, atol={atol}")
    checks = _Checks(rtol, atol, equal_nan, check_dtype, check_device, check_stride, allow_subclasses)
    try:
        checks.compare(actual, expected)
    except AssertionError as error:
        if msg is None:
            raise
        raise AssertionError(msg if isinstance(msg, str) else msg(str(error))) from None


@dataclass
class _Checks:
    """What agrees, and how closely."""

    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_dtype: bool
    check_device: bool
    check_stride: bool
    allow_subclasses: bool

    def compare(self, actual: Any, expected: Any) -> None:
        """Raise AssertionError unless they agree."""
        if isinstance(actual, (list, tuple)) and isinstance(expected, (list, tuple)):
            assert len(actual) == len(expected), f"{len(actual)} items, expected {len(expected)}"
            self.items("item", {i: (a, b) for i, (a, b) in enumerate(zip(actual, expected, strict=True))})
        elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
            lacking = [key for key in expected if key not in actual], [key for key in actual if key not in expected]
            assert not any(lacking), f"keys differ: {lacking[0]} are missing, {lacking[1]} are not expected"
            self.items("item", {key: (actual[key], expected[key]) for key in expected})
        elif actual is None or expected is None:
            assert actual is expected, f"None and {describe(expected if actual is None else actual)}"
        else:
            self.tensors(actual, expected)

    def items(self, what: str, pairs: dict[Any, tuple[Any, Any]]) -> None:
        """Compare each, and say where they differ."""
        for key, (a, b) in pairs.items():
            try:
                self.compare(a, b)
            except AssertionError as error:
                raise AssertionError(f"{what} {key!r}: {error}") from None

    def tensors(self, actual: Any, expected: Any) -> None:
        """Compare tensors, arrays or numbers."""
        a, b = (t if isinstance(t, Tensor) else Tensor._from_array(np.array(t)) for t in (actual, expected))
        assert a._sizes == b._sizes, f"shapes differ: {describe(a)} and {describe(b)}"
        both_tensors = isinstance(actual, Tensor) and isinstance(expected, Tensor)
        if both_tensors:
            assert self.allow_subclasses or type(actual) is type(expected), f"{type(actual)} and {type(expected)}"
            assert not self.check_dtype or a._dtype is b._dtype, f"dtypes differ: {describe(a)} and {describe(b)}"
            assert not self.check_device or a._device is b._device, f"devices differ: {describe(a)} and {describe(b)}"
            assert not self.check_stride or a._strides == b._strides, f"strides differ: {a._strides} and {b._strides}"
        rtol, atol = self.rtol, self.atol
        if rtol is None or atol is None:
            pairs = [_TOLERANCES.get(t._dtype.name, (0.0, 0.0)) for t in (a, b)]
            rtol, atol = max(pair[0] for pair in pairs), max(pair[1] for pair in pairs)
        common = promote_types(a._dtype, b._dtype)
        wide = common.compute.numpy
        left, right = a.numpy(force=True).astype(wide), b.numpy(force=True).astype(wide)
        close = np.isclose(left, right, rtol, atol, self.equal_nan)
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

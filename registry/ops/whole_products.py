"""Products of matrices of whole numbers, by products of float64, which BLAS makes: those are exact up to 2^53.

    a = a0 + 2^w a1 + ...,  b likewise             digits so small that sums of their products stay below 2^53
    a @ b = a0 @ b0 + 2^w (a0 @ b1 + a1 @ b0) + ...  modulo 2^64, as whole numbers wrap

Small numbers are one digit, so there is one product.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

#: What float64 holds exactly, and bits of the widest type.
_EXACT, _BITS = 53, 64
Product = Callable[[Any, Any], Any]


def whole_product(a: Any, b: Any, multiply: Product = np.matmul) -> Any:
    """`a @ b` of arrays of whole numbers, as int64 modulo 2^64.

    Parameters
    ----------
    a, b : numpy.ndarray
        Integers, as `numpy.matmul` takes them; none is empty.
    multiply : callable
        The product of float64.

    Examples
    --------
    >>> whole_product(np.array([[2**62, 3]]), np.array([[4], [5]]))
    array([[15]])
    """
    of_sum = (a.shape[-1] - 1).bit_length()
    most = [max(abs(int(x.min())), abs(int(x.max()))).bit_length() for x in (a, b)]
    if most[0] + most[1] + of_sum <= _EXACT:
        return multiply(a.astype(np.float64), b.astype(np.float64)).astype(np.int64)
    width = (_EXACT - of_sum) // 2 + 1
    left, right = (_digits(x.astype(np.int64), bits, width) for x, bits in zip((a, b), most, strict=True))
    total: Any = 0
    for i, first in enumerate(left):
        for j, second in enumerate(right):
            if width * (i + j) < _BITS:
                part = multiply(first, second).astype(np.int64)
                total = total + (part << (width * (i + j)))
    return total


def _digits(x: Any, bits: int, width: int) -> list[Any]:
    """Numbers of up to `bits` bits by digits with signs, the least first; what int64 has not is 0 modulo 2^64."""
    found = []
    half = 1 << (width - 1)
    while bits >= 0 and len(found) * width < _BITS:
        digit = ((x + half) & (2 * half - 1)) - half
        found.append(digit.astype(np.float64))
        x = (x - digit) >> width
        bits -= width - 1
    return found

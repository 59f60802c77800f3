"""Where an array of several dimensions is not 0."""

from __future__ import annotations

from typing import Any

import numpy as np

#: Elements from which on it is worth its calls; of fewer NumPy finds the indices at once.
MANY = 1 << 10


def nonzero_places(array: Any) -> Any:
    """The indices of all elements other than 0, a row for each; those of outer dimensions are found once for each line.

    Examples
    --------
    >>> import numpy as np
    >>> nonzero_places(np.eye(2)).tolist()
    [[0, 0], [1, 1]]
    """
    if array.dtype.itemsize == 2 and array.dtype.kind not in "iu":  # half types, whose zeros may have a sign
        array = array.view(np.uint16) << 1
    is_some = array if array.dtype == np.bool_ else array != 0
    length = array.shape[-1]
    lines = is_some.reshape(-1, length) if length else is_some.reshape(0, 1)
    counts, flat = np.count_nonzero(lines, axis=1), np.flatnonzero(lines)
    found = np.empty((len(flat), array.ndim), np.int64)
    begins = np.arange(len(lines))
    np.subtract(flat, np.repeat(begins * length, counts), out=found[:, -1])
    if len(flat):
        for d, outer in enumerate(np.unravel_index(begins, array.shape[:-1])):
            found[:, d] = np.repeat(outer, counts)
    return found

"""`searchsorted` under vmap: sequences, values and sorters of examples, or shared, without a loop over them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import opweave

_DRAW = np.random.default_rng(0)
_RAW = _DRAW.random((3, 6))
_ROWS = np.sort(_DRAW.random((3, 2, 6)), -1)


@pytest.mark.parametrize(
    ("bounds", "values", "sorter"),
    [
        (np.sort(_RAW), _DRAW.random((3, 4)), None), (np.sort(_RAW), _DRAW.random(3), None),
        (np.sort(_RAW), _DRAW.random((3, 2, 5)), None), (_ROWS, _DRAW.random((3, 2, 4)), None),
        (_RAW, _DRAW.random((3, 4)), np.argsort(_RAW)), (np.sort(_RAW), np.zeros((3, 0)), None),
    ],
    ids=["rows", "numbers", "matrices", "sequences in rows", "sorter", "nothing"],
)  # fmt: skip
@pytest.mark.parametrize("dims", [(0, 0), (None, 0), (0, None)], ids=str)
def test_each_example_is_as_alone(bounds: Any, values: Any, sorter: Any, dims: tuple[Any, Any]) -> None:
    given = [bounds, values] + ([] if sorter is None else [sorter])
    along = [*dims, *([] if sorter is None else [dims[0]])]
    given = [array if dim == 0 else array[0] for array, dim in zip(given, along, strict=True)]

    def search(bounds: Any, values: Any, sorter: Any = None) -> Any:
        return opweave.searchsorted(bounds, values, right=True, sorter=sorter, out_int32=True)

    def of(i: int) -> Any:
        return search(*[opweave.tensor(a[i] if dim == 0 else a) for a, dim in zip(given, along, strict=True)])

    with warnings.catch_warnings():
        warnings.simplefilter("error")  # it is not run for one example after the other
        found = opweave.vmap(search, in_dims=tuple(along))(*map(opweave.tensor, given))
    wanted = np.stack([of(i).numpy() for i in range(3)])
    assert found.dtype is opweave.int32 and found.shape == wanted.shape
    np.testing.assert_array_equal(found.numpy(), wanted)

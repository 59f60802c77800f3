"""`resize_` under vmap, where examples lie one after the other; elsewhere their memory is not theirs alone."""

from __future__ import annotations

import pytest

import opweave
from opweave.registry.errors import UnsupportedError


def test_examples_in_one_piece_are_resized() -> None:
    batch = opweave.arange(24.0).reshape(2, 3, 4)
    wanted = [batch[i].clone().resize_([2, 5]).tolist() for i in range(2)]
    assert opweave.vmap(lambda x: x.clone().resize_([2, 5]))(batch).tolist() == wanted
    other = opweave.zeros(5, 2)
    assert opweave.vmap(lambda x: x.clone().resize_as_(other))(batch).reshape(2, 2, 5).tolist() == wanted


@pytest.mark.parametrize("dim", [1, 2])
def test_other_examples_are_not(dim: int) -> None:
    with pytest.raises(UnsupportedError, match="under vmap each example must lie in one piece"):
        opweave.vmap(lambda x: x.clone().resize_([2, 2]), in_dims=dim)(opweave.zeros(2, 3, 4))

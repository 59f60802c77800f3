"""Some of all ops as artifacts; the others with `OPWEAVE_FULL_MATRIX=1`."""

from __future__ import annotations

import os

import pytest
from artifact_samples import check, ops

EVERY = 1 if os.environ.get("OPWEAVE_FULL_MATRIX") else 41
OPS = ops()[::EVERY]


@pytest.mark.slow
@pytest.mark.parametrize("first", range(0, len(OPS), 20), ids=lambda first: f"from {OPS[first]}")
def test_an_artifact_gives_what_eager_code_gives(first: int) -> None:
    found = check(OPS[first : first + 20])
    assert not found.wrong
    assert found.counts["equal"]

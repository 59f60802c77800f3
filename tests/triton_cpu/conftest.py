"""What the tests of this folder share: modules that they import, and Triton's driver."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from triton.runtime.driver import driver as triton_driver

from opweave.codegen.triton_cpu import driver as mux

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(scope="module")
def active() -> Iterator[mux.OpweaveDriver]:
    """opweave's driver, as Triton's active one."""
    before = triton_driver._active
    yield mux.activate()
    triton_driver._active = before


@pytest.fixture
def no_device_of_an_earlier_test() -> None:
    mux._thread.device = None

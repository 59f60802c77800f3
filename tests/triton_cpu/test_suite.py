"""Every kernel of the shared suite, compiled natively and launched through stock Triton."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import suite
from triton.runtime.driver import driver as triton_driver

import opweave
from opweave.codegen.triton_cpu import driver as mux
from opweave.codegen.triton_cpu.launch import HostArray

for _module in pkgutil.iter_modules(suite.__path__):
    importlib.import_module(f"suite.{_module.name}")


@pytest.fixture(scope="module", autouse=True)
def active() -> Iterator[None]:
    before = triton_driver._active
    mux.activate()
    yield
    triton_driver._active = before


@pytest.fixture(autouse=True)
def no_device_of_an_earlier_test() -> None:
    mux._thread.device = None


def wrap(array: np.ndarray[Any, Any]) -> Any:
    """What is launched: a tensor, or where tensors have no such dtype the array with its address."""
    return HostArray(array) if array.dtype.name in ("uint16", "uint32", "uint64") else opweave.from_numpy(array)


@pytest.mark.parametrize("name", sorted(suite.CASES))
def test_a_kernel_of_the_suite(name: str) -> None:
    if suite.CASES[name].missing:
        pytest.skip(suite.CASES[name].missing)
    with np.errstate(all="ignore"):  # what overflows in a reference is wanted
        suite.run(suite.CASES[name], wrap)

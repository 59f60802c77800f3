"""Every kernel of the shared suite, compiled natively and launched through stock Triton."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import numpy as np
import pytest
import suite

import opweave
from opweave.codegen.native.arguments import HostArray

for _module in pkgutil.iter_modules(suite.__path__):
    importlib.import_module(f"suite.{_module.name}")


pytestmark = pytest.mark.usefixtures("active", "no_device_of_an_earlier_test")


def wrap(array: np.ndarray[Any, Any]) -> Any:
    """What is launched: a tensor, or where tensors have no such dtype the array with its address."""
    return HostArray(array) if array.dtype.name in ("uint16", "uint32", "uint64") else opweave.from_numpy(array)


@pytest.mark.parametrize("name", sorted(suite.CASES))
def test_a_kernel_of_the_suite(name: str) -> None:
    if suite.CASES[name].missing:
        pytest.skip(suite.CASES[name].missing)
    with np.errstate(all="ignore"):  # what overflows in a reference is wanted
        suite.run(suite.CASES[name], wrap)

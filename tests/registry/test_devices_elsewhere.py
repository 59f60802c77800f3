"""Devices that have a name in PyTorch, and are not here: they can be compared with, and nothing else."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opweave
from opweave.registry.errors import DeviceError

elsewhere = opweave.device("mps")


def test_they_are_named_and_compared() -> None:
    assert (str(elsewhere), elsewhere.type, elsewhere.index) == ("mps", "mps", None)
    assert elsewhere == opweave.device("mps") != opweave.ones(2).device
    assert str(opweave.device("xpu:1")) == "xpu:1"
    with pytest.raises(DeviceError, match="unknown device type 'tpu'"):
        opweave.device("tpu")


@pytest.mark.parametrize(
    "use",
    [
        lambda: opweave.zeros(2, device=elsewhere), lambda: opweave.zeros(2, device="mps"),
        lambda: opweave.ones(2).to(elsewhere), lambda: opweave.tensor([1.0], device=elsewhere),
        lambda: opweave.ops.aten.zeros.default([2], device=elsewhere), lambda: opweave.rand(2, device=elsewhere),
        lambda: opweave.empty_like(opweave.ones(2), device=elsewhere),
        lambda: opweave.nn.Linear(2, 2, device=elsewhere),
        lambda: opweave.Generator(device=elsewhere),
        lambda: opweave.compile(lambda x: x.to(elsewhere))(opweave.ones(2)),
    ],
)  # fmt: skip
def test_nothing_is_on_them(use: Callable[[], Any]) -> None:
    with pytest.raises(DeviceError, match="there is no mps here"):
        use()

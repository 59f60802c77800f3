"""Counts of operations by module and op beside PyTorch's."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode as TorchCounter

import opweave
from opweave.utils.flop_counter import FlopCounterMode, flop_registry, register_flop_formula


def products(lib: Any) -> None:
    a, b = lib.randn(2, 3, 4), lib.randn(2, 4, 5)
    _ = a @ b
    lib.einsum("bij,bjk->bik", a, b)
    lib.addmm(lib.ones(2), lib.ones(3, 4), lib.ones(4, 2))
    lib.baddbmm(lib.ones(1), a, b)


def images(lib: Any) -> None:
    nn = lib.nn
    model = nn.Sequential(
        nn.Conv2d(4, 8, 3, padding=1, groups=2), nn.ReLU(), nn.ConvTranspose2d(8, 4, 2, stride=2), nn.Flatten(),
        nn.Linear(4 * 16 * 16, 5),
    )  # fmt: skip
    model(lib.randn(3, 4, 8, 8).requires_grad_()).sum().backward()


def inference(lib: Any) -> None:
    model = lib.nn.Sequential(lib.nn.Conv1d(3, 6, 5, stride=2, dilation=2), lib.nn.Conv1d(6, 2, 1))
    with lib.no_grad():
        model(lib.randn(2, 3, 40))


def nested(lib: Any) -> None:
    inner = lib.nn.Sequential(lib.nn.Linear(4, 4), lib.nn.Tanh(), lib.nn.Linear(4, 4))
    model = lib.nn.Sequential(inner, lib.nn.Linear(4, 2))
    for _ in range(2):
        model(lib.randn(3, 4)).sum().backward()


@pytest.mark.parametrize("program", [products, images, inference, nested], ids=lambda f: f.__name__)
def test_counts(program: Callable[[Any], None]) -> None:
    with FlopCounterMode(display=False) as ours:
        program(opweave)
    with TorchCounter(display=False) as theirs:
        program(torch)

    def named(counts: Any) -> Any:
        return {module: {str(op): count for op, count in each.items()} for module, each in counts.items()}

    assert named(ours.get_flop_counts()) == named(theirs.get_flop_counts())
    assert ours.get_total_flops() == theirs.get_total_flops() > 0


def test_the_table(capsys: pytest.CaptureFixture[str]) -> None:
    with FlopCounterMode(depth=2):
        opweave.nn.Sequential(opweave.nn.Linear(4, 4), opweave.nn.Linear(4, 1))(opweave.ones(3, 4))
    assert capsys.readouterr().out == (
        "Module          FLOP  % Total\n"
        "--------------  ----  -------\n"
        "Sequential       120  100.00%\n"
        " - aten.addmm    120  100.00%\n"
        " Sequential.0     96   80.00%\n"
        "  - aten.addmm    96   80.00%\n"
        " Sequential.1     24   20.00%\n"
        "  - aten.addmm    24   20.00%\n"
    )
    with FlopCounterMode(display=False) as counter:
        opweave.ones(2) + 1
    assert counter.get_table().splitlines()[2:] == ["Global     0       0%"]


def test_formulas_of_ones_own() -> None:
    add = opweave.ops.aten.add
    with FlopCounterMode(display=False, custom_mapping={add: lambda a, b, **_: a[0]}) as counter:
        opweave.ones(7) + opweave.ones(7)
    assert counter.get_flop_counts() == {"Global": {add: 7}}

    @register_flop_formula(add, get_raw=True)
    def of_add(a: Any, b: Any, out_val: Any, **_: Any) -> int:
        return out_val.numel()

    try:
        with FlopCounterMode(display=False) as counter:
            opweave.ones(3, 3) + opweave.ones(3)
        assert counter.get_total_flops() == 9
        with pytest.raises(TypeError, match="has a formula"):
            register_flop_formula(add)(of_add)
    finally:
        del flop_registry[add]
    with pytest.raises(TypeError, match="expected an op"):
        register_flop_formula("aten.add")(of_add)

"""What tl.device_print writes to standard output."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from native import launch


@triton.jit
def talk(x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.device_print("here")
    tl.device_print("value", v, i.to(tl.uint8) + 254)
    tl.device_print("bits", v, i.to(tl.int16) - 1, hex=True)
    if tl.program_id(0) == 1:
        tl.device_print('100% "sure"', tl.program_id(0) - 3)


def test_device_print(capfd: pytest.CaptureFixture[str]) -> None:
    launch(talk, (2,), np.array([1.5, -2.0], "f4"), N=2)
    common = [
        "pid ({p}, 0, 0) idx () here",
        "pid ({p}, 0, 0) idx (0) value: (operand 0) 1.500000",
        "pid ({p}, 0, 0) idx (1) value: (operand 0) -2.000000",
        "pid ({p}, 0, 0) idx (0) value: (operand 1) 254",
        "pid ({p}, 0, 0) idx (1) value: (operand 1) 255",
        "pid ({p}, 0, 0) idx (0) bits: (operand 0) 0x3fc00000",
        "pid ({p}, 0, 0) idx (1) bits: (operand 0) 0xc0000000",
        "pid ({p}, 0, 0) idx (0) bits: (operand 1) 0xffff",
        "pid ({p}, 0, 0) idx (1) bits: (operand 1) 0x0000",
    ]
    expected = [line.format(p=p) for p in (0, 1) for line in common]
    assert capfd.readouterr().out.splitlines() == [*expected, 'pid (1, 0, 0) idx () 100% "sure": -2']

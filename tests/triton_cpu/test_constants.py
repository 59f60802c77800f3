"""Constants of kernels, as TTIR prints them."""

from __future__ import annotations

import numpy as np

import opweave
from opweave.codegen.instructions.emit import literal


def test_bfloat16_constants_are_what_is_printed_rounded_to_the_nearest():
    bits = np.arange(1 << 16, dtype=np.uint32)
    values = (bits << 16).view(np.float32)
    for number, value in zip(bits[np.isfinite(values)], values[np.isfinite(values)], strict=True):
        # TTIR prints constants with six digits, which may be less than the constant.
        assert literal(f"{value:.6e}", "bf16") == number
    x = opweave.tensor([float("inf"), -float("inf"), float("nan"), 1.0]).to(opweave.bfloat16)
    compiled = opweave.compile(lambda x: x.nan_to_num())(x)
    assert compiled.tolist() == x.nan_to_num().tolist()

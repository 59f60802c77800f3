"""What the lowering refuses, and what it says about itself."""

from __future__ import annotations

import numpy as np
import pytest
import triton
import triton.language as tl
from native import compiled, launch, ttir

from opweave.codegen.triton_cpu.analysis import TargetFeatures
from opweave.codegen.triton_cpu.lower import lower
from opweave.codegen.triton_cpu.refusal import UnsupportedTritonOp


@triton.jit
def assembly(x_ptr, N: tl.constexpr):
    i = tl.arange(0, N)
    x = tl.inline_asm_elementwise("nop $0, $1;", "=r,r", [tl.load(x_ptr + i)], tl.int32, True, 1)
    tl.store(x_ptr + i, x)


def test_refusals_name_the_operation() -> None:
    x = np.zeros(16, np.float32)
    with pytest.raises(UnsupportedTritonOp) as error:
        launch(assembly, (1,), x.astype(np.int32), N=16)
    assert error.value.op == "tt.elementwise_inline_asm"


def test_a_refusal_names_the_users_line_where_locations_are_printed() -> None:
    text = ttir(assembly, {"x_ptr": "*i32", "N": "constexpr"}, {"N": 16}, locations=True)
    with pytest.raises(UnsupportedTritonOp) as error:
        lower(text, features=TargetFeatures())
    line = assembly.starting_line_number + 3
    assert error.value.loc == f"{__file__}:{line}"


@triton.jit
def talkative(x_ptr, n, scale, N: tl.constexpr):
    tl.device_assert(n > 0, "n must be positive")
    tl.device_print("x", tl.load(x_ptr + tl.arange(0, N)) * scale)


def test_lowered_describes_the_kernel(capfd: pytest.CaptureFixture[str]) -> None:
    x = np.arange(2, dtype=np.float32)
    _, _, lowered = compiled(talkative, x, 3, 0.5, N=2)
    assert lowered.params == ("ptr", "i32", "f32")
    assert lowered.assertions == ("\0n must be positive",) and lowered.needs_print
    assert f"define void @{lowered.name}(" in lowered.llvm_ir
    launch(talkative, (1,), x, 3, 0.5, N=2)
    assert capfd.readouterr().out.splitlines() == [
        "pid (0, 0, 0) idx (0) x: 0.000000",
        "pid (0, 0, 0) idx (1) x: 0.500000",
    ]

"""The table of special values in a user's Triton kernel on the CPU: `tl` and libdevice beside PyTorch."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import comparisons
from differences import KERNELS, Difference
from op_matrix import special
from oracle import to_torch, values_of
from test_special_values import apart, differing

import opweave
from opweave.registry.dtypes import DTYPES
from opweave.registry.tensor import Tensor

#: Triton's text, and PyTorch's for the same.
FUNCTIONS = {
    **{f"tl.{n}(x)": f"torch.{n}(x)" for n in (
        "exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "floor", "ceil", "erf", "abs", "sigmoid")},
    **{f"libdevice.{n}(x)": f"torch.{n}(x)" for n in (
        "expm1", "log10", "log1p", "tan", "asin", "acos", "atan", "sinh", "cosh", "tanh", "asinh", "acosh", "atanh",
        "trunc", "erfc", "lgamma", "erfinv")},
    "libdevice.rint(x)": "torch.round(x)",
    "0.0 - x": "0.0 - x", "x + 1": "x + 1", "x * x": "x * x",
}  # fmt: skip
PAIRS = {
    "x + y": "x + y", "x - y": "x - y", "x * y": "x * y", "x / y": "x / y", "x % y": "torch.fmod(x, y)",
    "libdevice.fmod(x, y)": "torch.fmod(x, y)", "libdevice.pow(x, y)": "torch.pow(x, y)",
    "libdevice.atan2(x, y)": "torch.atan2(x, y)", "libdevice.hypot(x, y)": "torch.hypot(x, y)",
    "libdevice.copysign(x, y)": "torch.copysign(x, y)", "libdevice.nextafter(x, y)": "torch.nextafter(x, y)",
    "tl.maximum(x, y, propagate_nan=tl.PropagateNan.ALL)": "torch.maximum(x, y)",
    "tl.minimum(x, y, propagate_nan=tl.PropagateNan.ALL)": "torch.minimum(x, y)",
    "tl.maximum(x, y)": "torch.fmax(x, y)", "tl.minimum(x, y)": "torch.fmin(x, y)",
    "tl.where(x < y, x, y)": "torch.where(x < y, x, y)",
    "tl.where(x == y, 1.0, 0.0).to(x.dtype)": "(x == y).to(x.dtype)",
}  # fmt: skip
#: Of numbers, which Triton takes for float32.
NARROW = {
    "libdevice.fmod(x, float('nan'))": "torch.fmod(x, float('nan'))",
    "libdevice.pow(x, 0.5)": "torch.pow(x, torch.tensor(0.5))",
    "libdevice.pow(x, -0.5)": "torch.pow(x, torch.tensor(-0.5))",
}
INTEGERS = {
    "x + y": "x + y", "x - y": "x - y", "x * y": "x * y", "x & y": "x & y", "x | y": "x | y", "x ^ y": "x ^ y",
    "~x": "~x", "tl.abs(x)": "torch.abs(x)", "tl.maximum(x, y)": "torch.maximum(x, y)",
    "tl.minimum(x, y)": "torch.minimum(x, y)", "x.to(tl.float32).to(x.dtype, bitcast=False) * 0 + x": "x",
    "tl.where(x < y, x, y)": "torch.where(x < y, x, y)",
}  # fmt: skip


def module(name: str, texts: list[str], folder: Path) -> ModuleType:
    """A kernel that stores each function's results, one row after the other."""
    lines = ["import triton", "import triton.language as tl", "from triton.language.extra import libdevice", "", "",
             "@triton.jit", "def kernel(a, b, out, count, BLOCK: tl.constexpr):",
             "    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)", "    live = i < count",
             "    x = tl.load(a + i, live)", "    y = tl.load(b + i, live)"]  # fmt: skip
    lines += [f"    tl.store(out + {k} * count + i, {text}, live)" for k, text in enumerate(texts)]
    path = folder / f"{name}.py"
    path.write_text("\n".join(lines) + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    found = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(found)
    return found


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "bfloat16", "int8", "uint8", "int32", "int64"])
def test_functions_of_kernels(dtype: str, tmp_path: Path) -> None:
    table = INTEGERS if DTYPES[dtype].kind in "iu" else {**FUNCTIONS, **PAIRS}
    if dtype == "float32":
        table |= NARROW
    elif dtype in ("float16", "bfloat16"):  # functions are of the wide types alone
        table = {text: theirs for text, theirs in PAIRS.items() if "libdevice" not in text}
    values = special(DTYPES[dtype])
    a, b = (np.ascontiguousarray(v).reshape(-1) for v in np.broadcast_arrays(values[:, None], values))
    x, y = (Tensor._from_array(v) for v in (a, b))
    kernel: Any = module(f"special_{dtype}", list(table), tmp_path).kernel
    out = opweave.empty(len(table), a.size, dtype=DTYPES[dtype])
    kernel[(-(-a.size // 256),)](x, y, out, a.size, BLOCK=256)
    wrong = []
    for row, (text, theirs) in enumerate(table.items()):
        names = {"torch": torch, "x": to_torch(x), "y": to_torch(y)}
        try:
            expected = eval(theirs, names)
        except (RuntimeError, NotImplementedError):
            continue  # no difference: PyTorch has no kernel for the type
        mine, other = values_of(out)[row], values_of(expected.to(getattr(torch, dtype)))
        allowed = KERNELS.get(text, Difference(""))
        bad = differing(mine, other, dtype, allowed)
        singly = eval(theirs, {**names, "x": apart(names["x"]), "y": apart(names["y"])})
        bad &= differing(mine, values_of(singly.to(getattr(torch, dtype))), dtype, allowed)
        comparisons.note_test()
        if bad.any():
            at = np.flatnonzero(bad)[:4]
            wrong.append(f"{text}: {bad.sum()} differ: {[(str(a[i]), str(b[i]), mine[i], other[i]) for i in at]}")
    assert not wrong, "\n".join(wrong)

"""libdevice as a whole: every function that Triton knows is there and compiles. suite/library.py has the values."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from triton.language.extra.cuda import libdevice

from opweave.codegen.native import llvm, objects
from opweave.codegen.triton_cpu.analysis import TargetFeatures
from opweave.codegen.triton_cpu.libdevice import SYMBOLS
from opweave.codegen.triton_cpu.lower import lower
from opweave.codegen.triton_cpu.refusal import UnsupportedTritonOp

_ENTRY = re.compile(r'\(((?:core\.dtype\("\w+"\),? ?)+)\s*\):\s*\("__nv_(\w+)", core\.dtype\("(\w+)"\)\)', re.S)
_ELEMENT = {"int32": "i32", "uint32": "i32", "int64": "i64", "uint64": "i64", "fp32": "f32", "fp64": "f64"}


def _signatures() -> dict[str, tuple[list[str], str]]:
    """symbol -> (operand types, result type), read from Triton's own table."""
    text = re.sub(r"\s+", " ", Path(libdevice.__file__ or "").read_text())
    found = {}
    for operands, symbol, result in _ENTRY.findall(text):
        found[symbol] = ([_ELEMENT[t] for t in re.findall(r'"(\w+)"', operands)], _ELEMENT[result])
    return found


def _kernel(symbols: dict[str, tuple[list[str], str]]) -> str:
    """A kernel in TTIR that loads operands, calls every function, and stores what it gives."""
    elements = ["i32", "i64", "f32", "f64"]
    lines = ["  %r = tt.make_range {end = 16 : i32, start = 0 : i32} : tensor<16xi32>"]
    for e in elements:
        p = f"tensor<16x!tt.ptr<{e}>>"
        lines += [
            f"  %s_{e} = tt.splat %{e} : !tt.ptr<{e}> -> {p}",
            f"  %p_{e} = tt.addptr %s_{e}, %r : {p}, tensor<16xi32>",
            f"  %x_{e} = tt.load %p_{e} : {p}",
        ]
    for symbol, (operands, result) in symbols.items():
        values, types = (", ".join(x.format(o) for o in operands) for x in ("%x_{}", "tensor<16x{}>"))
        attributes = f'{{libname = "", libpath = "", pure = true, symbol = "__nv_{symbol}"}}'
        lines += [
            f"  %v_{symbol} = tt.extern_elementwise {values} {attributes} : ({types}) -> tensor<16x{result}>",
            f"  tt.store %p_{result}, %v_{symbol} : tensor<16x!tt.ptr<{result}>>",
        ]
    arguments = ", ".join(f"%{e}: !tt.ptr<{e}>" for e in elements)
    body = "\n".join(lines)
    head = f"tt.func public @k({arguments}) attributes {{noinline = false}} {{"
    return f"module {{\n  {head}\n{body}\n  tt.return\n  }}\n}}"


def test_every_function_is_known() -> None:
    known = set(re.findall(r'"__nv_(\w+)"', Path(libdevice.__file__ or "").read_text()))
    assert len(known) > 300
    assert not known - set(SYMBOLS)


@pytest.mark.parametrize("part", range(4))
def test_every_function_compiles(part: int) -> None:
    signatures = _signatures()
    assert len(signatures) > 300
    chosen = dict(list(signatures.items())[part::4])
    lowered = lower(_kernel(chosen), features=TargetFeatures())
    objects.load(llvm.compile_object(lowered.llvm_ir, name="k", level=0), ["k"])


def test_other_libraries_are_refused() -> None:
    text = _kernel({"sinf": (["f32"], "f32")}).replace("__nv_sinf", "my_sin")
    with pytest.raises(UnsupportedTritonOp, match="'my_sin' is not available"):
        lower(text, features=TargetFeatures())

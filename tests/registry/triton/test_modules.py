"""Contexts that kernels share: they say nothing of each other, and a forked child has its own."""

from __future__ import annotations

import os
from typing import Any

import pytest

triton = pytest.importorskip("triton", reason="needs Triton")
tl: Any = pytest.importorskip("triton.language")

from opweave.codegen import aot
from opweave.codegen.aot import as_ttir, function_source
from opweave.codegen.triton_cpu.compiler import CPUBackend
from opweave.codegen.triton_cpu.host import host_target
from opweave.registry.errors import CompileError
from opweave.registry.loading import parsing
from opweave.registry.triton import modules


@triton.jit
def scale(x, out, by, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * by)


@triton.jit
def total(x, out, BLOCK: tl.constexpr):
    tl.store(out, tl.sum(tl.load(x + tl.arange(0, BLOCK)), 0))


@triton.jit
def mistaken(x, out, BLOCK: tl.constexpr):
    tl.store(out + tl.arange(0, BLOCK), tl.load(x + tl.arange(0, 2 * BLOCK)))


def texts() -> list[str]:
    found = []
    for block in (16, 32):
        for kind in ("fp32", "fp16"):
            pointers = {"x": f"*{kind}", "out": f"*{kind}"}
            found.append(as_ttir(function_source(scale, {**pointers, "by": kind}, {"BLOCK": block}), {}))
            found.append(as_ttir(function_source(total, pointers, {"BLOCK": block}), {}))
    return found


def test_a_kernel_is_what_it_is_in_a_context_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    shared = texts()
    monkeypatch.setattr(aot, "shared_context", modules.new_context)
    assert texts() == shared and len(set(shared)) == len(shared)


def test_a_kernel_that_does_not_compile_leaves_nothing() -> None:
    before = texts()
    for _ in range(2):
        with pytest.raises(CompileError, match="mistaken"):
            as_ttir(function_source(mistaken, {"x": "*fp32", "out": "*fp32"}, {"BLOCK": 16}), {})
    assert texts() == before


def test_a_context_serves_so_many_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(modules, "_shared", {})
    backend = CPUBackend(host_target())
    with parsing:
        made = [modules.shared_context(backend) for _ in range(2 * modules._MOST_KERNELS)]
    half = modules._MOST_KERNELS
    assert all(context is made[0] for context in made[:half])
    assert all(context is made[half] for context in made[half:]) and made[half] is not made[0]


@pytest.mark.process
def test_a_forked_child_has_its_own() -> None:
    before = texts()
    assert modules._shared
    child = os.fork()
    if not child:
        code = 1
        try:
            code = 2 if modules._shared else 0 if texts() == before and modules._shared else 3
        finally:
            os._exit(code)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert modules._shared and texts() == before

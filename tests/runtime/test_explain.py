"""`explain` tells what was captured, what it depends on, and why versions do not fit."""

from __future__ import annotations

import opweave


def f(x: opweave.Tensor, n: int) -> opweave.Tensor:
    return opweave.softmax(x * n, -1).sum()


def test_of_a_function() -> None:
    found = opweave.explain(f)(opweave.ones(4, 6), 2)
    (version,) = found.versions
    assert version.op_count == 3 and version.kernel_count == 2 and version.misfit is None
    assert any("n" in guard and "test_explain.py" in guard for guard in found.guards)
    text = str(found)
    assert text.startswith("f: 1 version\n") and "3 ops, 2 kernels; fits this call" in text
    assert "ops.aten._softmax.default" in text and "@triton.jit" in version.code
    assert found.recompiled and not found.recompile_reasons


def test_of_a_compiled_function_says_why_versions_do_not_fit() -> None:
    compiled = opweave.compile(f)
    compiled(opweave.ones(4, 6), 2)
    compiled(opweave.ones(4, 6), 3)
    found = opweave.explain(compiled)(opweave.ones(5, 6), 3)
    assert len(found.versions) == len(found.graphs) == 3 and found.recompiled
    first, second = found.recompile_reasons
    assert "2 → 3" in first or "n" in first
    assert "4" in second and "5" in second and "test_explain.py" in second
    again = opweave.explain(compiled)(opweave.ones(5, 6), 3)
    assert not again.recompiled and len(again.versions) == 3

"""A few random programs of views, in-place ops, dtypes and special values, beside PyTorch (`torch_programs.py`)."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import torch_programs
from comparisons import note_test

#: Programs in a part, each of which may run in a process of its own.
PART = 40


@pytest.mark.parametrize("part", range(6))
def test_programs_do_what_pytorch_does(part: int, tmp_path, monkeypatch) -> None:
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path))
    for seed in range(part * PART, (part + 1) * PART):
        outcome, program = torch_programs.failure(seed)
        assert outcome.kind != "failed", f"seed {seed}: {outcome.why}\n{program}"
        note_test()


def test_the_search_finds_what_differs(monkeypatch) -> None:
    import opweave

    monkeypatch.setattr(opweave.Tensor, "sqrt", lambda self: self * 0.5)
    program = torch_programs.Program(
        (torch_programs.Input("a", "float32", (2,), (1.0, 4.0)),), ("v1 = a.sqrt()",), ("v1",)
    )
    outcome = torch_programs.attempt(program, {"a": 0.0, "v1": 0.0}, dynamic=False)
    assert outcome.kind == "failed"
    assert "result 0: values" in outcome.why

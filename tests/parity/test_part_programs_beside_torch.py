"""Functions in parts beside PyTorch's eager calls (`part_programs_beside_torch.py`)."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import numpy as np
import part_programs_beside_torch as programs
import torch
from comparisons import note_test

import opweave


def test_programs_in_parts_do_what_pytorch_does(tmp_path, monkeypatch):
    monkeypatch.setenv("OPWEAVE_CACHE_DIR", str(tmp_path))
    seen = set()
    for seed in range(8):
        outcome, program = programs.failure(seed)
        assert outcome.kind != "failed", f"seed {seed}: {outcome.why}\n{program}"
        seen.add(outcome.kind)
        note_test()
    assert "equal" in seen


def test_the_thirty_functions_do_what_pytorch_does(monkeypatch):
    ours, theirs = programs.functions(opweave, "opweave"), programs.functions(torch, "torch")
    compared = 0
    with programs.asking():
        for (function, _), (other, _) in zip(ours.CASES, theirs.CASES, strict=True):
            if function.__name__ in programs.OTHERWISE:
                continue  # no difference: other numbers are drawn
            compiled = opweave.compile(function)
            for seed in (1, 2):
                got, wanted = (programs.outcome_of(space, f, seed) for space, f in ((ours, compiled), (theirs, other)))
                for name, want in wanted.items():
                    assert same(got[name], want), f"{function.__name__}, call {seed}: {name}: {got[name]} for {want}"
            compared += 1
            note_test()
    assert compared == 28


def same(have, want) -> bool:
    """Whether two values are equal, arrays and floats but for rounding."""
    if isinstance(want, (list, tuple)):
        return len(have) == len(want) and all(same(a, b) for a, b in zip(have, want, strict=True))
    if isinstance(want, (float, np.ndarray)):
        return np.shape(have) == np.shape(want) and np.allclose(have, want, 1e-10, 1e-10)
    return have == want

"""`docs/parity.md` lists the names of PyTorch's modules that are missing: all of them, and no others."""

from __future__ import annotations

import importlib
import inspect

import pytest

import opweave

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from missing_names import MISSING


@pytest.mark.parametrize("name", MISSING)
def test_all_names_that_are_missing_are_listed(name: str) -> None:
    theirs, ours = importlib.import_module(f"torch.{name}"), opweave
    for part in name.split("."):
        ours = getattr(ours, part)
    names = getattr(theirs, "__all__", None) or dir(theirs)
    if name == "nn":
        names = dir(theirs)  # its __all__ has the modules' names alone
    public = [each for each in names if not each.startswith("_") and not inspect.ismodule(getattr(theirs, each))]
    missing = {each for each in public if not hasattr(ours, each)}
    listed = [each for names in MISSING[name].values() for each in names.split()]
    assert sorted(missing) == sorted(listed)

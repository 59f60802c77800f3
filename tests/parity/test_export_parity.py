"""Exported programs against `torch.export`: names, kinds and order of inputs, the ops, and the attributes there are."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.export import Dim, ExportedProgram, ExportGraphSignature, export

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")


class Ours:
    def __init__(self) -> None:
        self.n = opweave.zeros(1)
        self.w = opweave.ones(3).requires_grad_()
        self.c = opweave.full((3,), 2.0)

    def __call__(self, x: Any, options: Any, *, scale: float) -> Any:
        self.n.add_(1)
        x.mul_(scale)
        return [x * self.w + self.c, (options["k"] + self.n, None), 3]


class Theirs(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.w = torch.nn.Parameter(torch.ones(3))
        self.register_buffer("n", torch.zeros(1))
        self.c = torch.full((3,), 2.0)

    forward = Ours.__call__


@pytest.fixture(scope="module")
def programs() -> tuple[ExportedProgram, Any]:
    """The same program, by both."""
    ours = export(Ours(), (opweave.ones(3), {"k": opweave.ones(1)}), {"scale": 2.0})
    theirs = torch.export.export(Theirs(), (torch.ones(3), {"k": torch.ones(1)}), {"scale": 2.0})
    return ours, theirs


def test_inputs(programs: tuple[ExportedProgram, Any]) -> None:
    ours, theirs = ([(s.kind.name, s.arg.name, s.target) for s in p.graph_signature.input_specs] for p in programs)
    assert ours == theirs


def test_nodes(programs: tuple[ExportedProgram, Any]) -> None:
    ours, theirs = ([(n.op, n.name, str(n.target)) for n in p.graph.nodes] for p in programs)
    assert ours == theirs


@pytest.mark.parametrize(
    "name",
    ["user_inputs", "user_outputs", "parameters", "buffers", "lifted_tensor_constants", "inputs_to_parameters",
     "inputs_to_buffers", "inputs_to_lifted_tensor_constants"],
)  # fmt: skip
def test_the_signature(programs: tuple[ExportedProgram, Any], name: str) -> None:
    ours, theirs = (getattr(p.graph_signature, name) for p in programs)
    if name == "user_outputs":
        theirs = tuple(value for value in theirs if value is not None)  # part of the structure here
    assert ours == theirs


def test_mutations_are_those_of_the_functional_program(programs: tuple[ExportedProgram, Any]) -> None:
    ours, theirs = programs[0].graph_signature, programs[1].run_decompositions().graph_signature
    assert list(ours.buffers_to_mutate.values()) == list(theirs.buffers_to_mutate.values())
    assert list(ours.user_inputs_to_mutate) == list(theirs.user_inputs_to_mutate.values())


def test_values(programs: tuple[ExportedProgram, Any]) -> None:
    results = []
    for library, program in zip((opweave, torch), programs, strict=True):
        x = library.ones(3)
        with library.no_grad():
            found = program.module()(x, {"k": library.ones(1)}, scale=2.0)
        assert found[1][1] is None and found[2] == 3
        results.append([t.detach().numpy() for t in (x, found[0], found[1][0])])
    for one, other in zip(*results, strict=True):
        np.testing.assert_array_equal(one, other)


def test_attributes_have_their_names() -> None:
    for ours, theirs in (
        (ExportedProgram, torch.export.ExportedProgram),
        (ExportGraphSignature, torch.export.ExportGraphSignature),
    ):
        known = {*dir(theirs), *inspect.signature(theirs).parameters}
        own = {"check_inputs", "run_flat", "tensors", "print_readable", "mutated"}
        assert {name for name in dir(ours) if not name.startswith("_")} - own <= known
    assert {"AUTO", "DYNAMIC", "STATIC"} <= set(dir(Dim)) & set(dir(torch.export.Dim))

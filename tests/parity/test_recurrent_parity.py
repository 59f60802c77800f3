"""LSTM and GRU beside PyTorch's, with first and second derivatives, eager, compiled and exported."""

from __future__ import annotations

from typing import Any

import numpy as np
import oracle
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import opweave

SIZES = {"input_size": 5, "hidden_size": 7, "num_layers": 2, "batch_first": True}


def _both(kind: str, bidirectional: bool) -> tuple[Any, Any]:
    theirs = getattr(torch.nn, kind)(**SIZES, bidirectional=bidirectional).double()
    ours = getattr(opweave.nn, kind)(**SIZES, bidirectional=bidirectional).double()
    state = {name: opweave.from_numpy(t.detach().numpy().copy()) for name, t in theirs.state_dict().items()}
    ours.load_state_dict(state)
    return theirs, ours


def _derivatives(lib: Any, module: Any, x: Any) -> list[Any]:
    """Results, gradients and gradients of these, which go through every result."""
    out, state = module(x)
    states = state if isinstance(state, tuple) else (state,)
    total = (out * out).sum() + sum((t**3).sum() for t in states)
    given = [x, *module.parameters()]
    first = lib.autograd.grad(total, given, create_graph=True)
    second = lib.autograd.grad(sum((t**2).sum() for t in first), given)
    return [t.detach().numpy() for t in (out, *states, *first, *second)]


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_derivatives_are_pytorchs(kind: str, bidirectional: bool) -> None:
    theirs, ours = _both(kind, bidirectional)
    values = np.random.default_rng(0).standard_normal((3, 6, 5))
    expected = _derivatives(torch, theirs, torch.from_numpy(values.copy()).requires_grad_())
    x = opweave.from_numpy(values.copy()).requires_grad_()
    for _ in range(4):  # the first in Python, the others replayed
        for found, wanted in zip(_derivatives(opweave, ours, x), expected, strict=True):
            oracle.close(found, wanted, "recurrent")


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_compiled_and_exported_they_give_the_same(kind: str) -> None:
    _, ours = _both(kind, False)
    x = opweave.randn(3, 6, 5, dtype=opweave.float64)
    expected = ours(x)[0].detach().numpy()
    compiled = opweave.compile(lambda x: ours(x)[0])
    oracle.close(compiled(x).detach().numpy(), expected, "recurrent, compiled")
    program = opweave.export.export(ours, (x,))
    oracle.close(program.module()(x)[0].detach().numpy(), expected, "recurrent, compiled")


@pytest.mark.parametrize("kind", ["LSTM", "GRU"])
def test_under_autocast_the_state_keeps_its_type(kind: str) -> None:
    theirs, ours = _both(kind, False)
    theirs, ours = theirs.float(), ours.float()
    values = np.random.default_rng(0).standard_normal((3, 6, 5)).astype(np.float32)
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        found = ours(opweave.from_numpy(values))[0]
    expected = theirs(torch.from_numpy(values))[0].detach().numpy()
    oracle.close(found.detach().float().numpy(), expected, "recurrent, autocast")


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("kind", ["LSTM", "GRU", "RNN"])
def test_without_biases_and_without_steps(kind: str, batch_first: bool) -> None:
    options = {**SIZES, "batch_first": batch_first, "bias": False, "bidirectional": True}
    theirs, ours = (getattr(lib.nn, kind)(**options).double() for lib in (torch, opweave))
    ours.load_state_dict({name: opweave.from_numpy(t.detach().numpy()) for name, t in theirs.state_dict().items()})
    values = np.random.default_rng(0).standard_normal((3, 4, 5))
    expected = theirs(torch.from_numpy(values))[0].detach().numpy()
    for f in (ours, opweave.compile(ours)):
        oracle.close(f(opweave.from_numpy(values))[0].detach().numpy(), expected, "recurrent")
        for lib, module in ((torch, theirs), (opweave, f)):
            with pytest.raises(RuntimeError, match="sequence length to be larger than 0"):
                module(lib.zeros(*((3, 0, 5) if batch_first else (0, 3, 5)), dtype=lib.float64))


#: Layers whose steps go through all that compiled code has for them: operands that are packed once, products in parts.
LAYERS: dict[str, dict[str, Any]] = {
    "LSTM": {"kind": "LSTM"},
    "GRU": {"kind": "GRU"},
    "RNN": {"kind": "RNN"},
    "two directions": {"kind": "LSTM", "bidirectional": True, "num_layers": 2, "batch_first": True},
    "GRU, two directions": {"kind": "GRU", "bidirectional": True, "num_layers": 2},
    "projected": {"kind": "LSTM", "proj_size": 48},
}


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_many_steps_on_any_number_of_threads(name: str, dtype: str) -> None:
    options = dict(LAYERS[name])
    kind = options.pop("kind")
    theirs, ours = (getattr(lib.nn, kind)(64, 128, **options).double() for lib in (torch, opweave))
    ours.load_state_dict({name: opweave.from_numpy(t.detach().numpy()) for name, t in theirs.state_dict().items()})
    theirs, ours = (module.to(getattr(lib, dtype)) for lib, module in ((torch, theirs), (opweave, ours)))
    values = np.random.default_rng(0).standard_normal((24, 24, 64))

    def run(lib: Any, module: Any, function: Any) -> list[np.ndarray]:
        x = lib.from_numpy(values.copy()).to(getattr(lib, dtype)).requires_grad_()
        module.zero_grad()
        out, last = function(x)
        (out * out).sum().backward()
        states = last if isinstance(last, tuple) else (last,)
        found = [out, *states, x.grad, *(p.grad for p in module.parameters())]
        return [t.detach().to(lib.float64).numpy() for t in found]

    threads, compiled = opweave.get_num_threads(), opweave.compile(lambda x: ours(x))
    try:
        found = []
        for count in (1, 2, 3):
            opweave.set_num_threads(count)
            found.append(run(opweave, ours, compiled))
    finally:
        opweave.set_num_threads(threads)
    for others in found[1:]:
        for have, want in zip(others, found[0], strict=True):
            np.testing.assert_array_equal(have, want)
    eager = run(opweave, ours, ours)
    expected = run(torch, theirs, theirs)
    # A step rounds to the type, and 24 of them follow each other.
    far = {"float64": 1e-9, "float32": 2e-4, "bfloat16": 0.1}[dtype]
    for have, want, theirs_ in zip(found[0], eager, expected, strict=True):
        size = np.abs(theirs_).max() + 1e-3
        assert np.abs(have - want).max() <= far * size
        assert np.abs(have - theirs_).max() <= far * size

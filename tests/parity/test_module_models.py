"""Models written for PyTorch, run with the import replaced.

From the same weights, through a safetensors file, they give the same results and gradients; trained 20 steps compiled,
the same losses.
"""

from __future__ import annotations

import copy
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import model_zoo
from oracle import close

import opweave


def _replaced() -> types.ModuleType:
    """The zoo, with opweave for torch."""
    path = Path(model_zoo.__file__)
    text = (
        path.read_text()
        .replace("import torch.nn", "import opweave.nn")
        .replace("import torch\n", "import opweave as torch\n")
    )
    assert "import torch" not in text
    module = types.ModuleType("opweave_model_zoo")
    module.__file__ = str(path)
    exec(compile(text, str(path), "exec"), vars(module))
    return module


ours = _replaced()
draw = np.random.default_rng(0)  # begun anew by each test


def _numbers(count: int, *sizes: int) -> np.ndarray:
    return draw.integers(0, count, sizes)


def _normal(*sizes: int) -> np.ndarray:
    return draw.normal(size=sizes).astype(np.float32)


INPUTS = {
    "GPT": lambda: (_numbers(17, 3, 8), _numbers(17, 3, 8)),
    "Llama": lambda: (_numbers(17, 3, 8), _numbers(17, 3, 8)),
    "Bert": lambda: (np.where(np.arange(8) < [[8], [5], [6]], _numbers(16, 3, 8) + 1, 0), _numbers(3, 3)),
    "ResNet": lambda: (_normal(4, 3, 32, 32), _numbers(5, 4)),
    "UNet": lambda: (_normal(2, 1, 8, 8), _numbers(2, 2, 1, 8, 8).astype(np.float32)),
    "VAE": lambda: (draw.random((4, 1, 8, 8)).astype(np.float32), _normal(4, 3)),
    "Tagger": lambda: (_numbers(17, 3, 5), _numbers(4, 3, 5)),
    "MLP": lambda: (_normal(9, 6), _numbers(5, 9)),
    "GraphNet": lambda: (_normal(7, 5), _numbers(7, 2, 15), _numbers(3, 7)),
    "ViT": lambda: (_normal(3, 3, 8, 8), _numbers(5, 3)),
    "Diffusion": lambda: (_normal(3, 1, 8, 8), _numbers(10, 3), _normal(3, 1, 8, 8)),
}


def _tensors(lib: Any, arrays: tuple[np.ndarray, ...], wide: bool = False) -> list[Any]:
    made = [lib.from_numpy(array.copy()) for array in arrays]
    return [t.double() if wide and t.is_floating_point() else t for t in made]


def _optimizers(mine: Any, theirs: Any) -> tuple[Any, Any]:
    return opweave.optim.AdamW(mine.parameters(), 1e-3), torch.optim.AdamW(theirs.parameters(), 1e-3)


@pytest.mark.parametrize("name", INPUTS)
def test_a_model_trains_as_in_pytorch(name: str, tmp_path: Path) -> None:
    global draw
    draw = np.random.default_rng(0)
    torch.manual_seed(0)
    opweave.manual_seed(0)
    theirs, mine = getattr(model_zoo, name)(), getattr(ours, name)()
    weights = {key: opweave.from_numpy(value.detach().numpy().copy()) for key, value in theirs.state_dict().items()}
    sizes = [(key, tuple(t.shape)) for key, t in weights.items()]
    assert [(key, tuple(t.shape)) for key, t in mine.state_dict().items()] == sizes
    opweave.safetensors.save_file(weights, tmp_path / "weights.safetensors")
    mine.load_state_dict(opweave.safetensors.load_file(tmp_path / "weights.safetensors"))
    assert repr(mine).replace("opweave", "torch") == repr(theirs)

    arrays = INPUTS[name]()
    wide = copy.deepcopy(mine).double(), copy.deepcopy(theirs).double()
    losses = [m.loss(*_tensors(lib, arrays, True)) for m, lib in zip(wide, (opweave, torch), strict=True)]
    close(losses[0].item(), losses[1].item(), "models")
    for loss in losses:
        loss.backward()
    pairs = zip(wide[0].named_parameters(), wide[1].named_parameters(), strict=True)
    for (key, one), (other_key, other) in pairs:
        assert key == other_key
        close(one.grad.numpy(), other.grad.numpy(), "models", key)
    for one, other in zip(wide[0].buffers(), wide[1].buffers(), strict=True):
        close(one.numpy(), other.numpy(), "models")

    # In double precision, since training magnifies what is rounded: PyTorch's own float32 losses of ResNet are up to a
    # tenth away from these.
    step, optimizers = opweave.compile(wide[0].loss), _optimizers(*wide)
    calls = (step, wide[1].loss)
    found = [0.0, 0.0]
    for i in range(20):
        for k, (call, optimizer, lib) in enumerate(zip(calls, optimizers, (opweave, torch), strict=True)):
            optimizer.zero_grad()
            loss = call(*_tensors(lib, arrays, True))
            loss.backward()
            optimizer.step()
            found[k] = loss.item()
        close(found[0], found[1], "models, losses in training", f"step {i}")
    assert len(step.entries) == 1
    assert found[0] < losses[0].item()

    # In single precision each step begins where PyTorch is.
    step, (_, optimizer) = opweave.compile(mine.loss), _optimizers(mine, theirs)
    for i in range(5):
        mine.load_state_dict({key: opweave.from_numpy(t.numpy().copy()) for key, t in theirs.state_dict().items()})
        mine.zero_grad()
        optimizer.zero_grad()
        found = [call(*_tensors(lib, arrays)) for call, lib in ((step, opweave), (theirs.loss, torch))]
        close(found[0].item(), found[1].item(), "models in float32", f"step {i}")
        for loss in found:
            loss.backward()
        for (key, one), other in zip(mine.named_parameters(), theirs.parameters(), strict=True):
            largest = other.grad.abs().max().item()
            # Parts of the largest, since what should be 0 is what was rounded.
            pair = one.grad.numpy() / largest, other.grad.numpy() / largest
            close(*pair, "models, gradients in float32", f"step {i}, {key}")
        optimizer.step()
    assert len(step.entries) == 1

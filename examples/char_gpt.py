"""Train a small transformer, character by character, on a text that ships with Python: `make examples`.

Its activation is a Triton kernel of our own. Registered once, with a gradient, it fuses with its neighbours when the
training step is compiled, and the compiled loss falls as the eager one does.
"""

from __future__ import annotations

import time
from pydoc_data.topics import topics

import numpy as np
import triton
import triton.language as tl

import opweave
from opweave import Tensor, optim
from opweave.nn import functional as F

Parameters = dict[str, Tensor]
LAYERS, HEADS, WIDTH, LENGTH, BATCH = 2, 4, 64, 48, 16
STEPS, SHOWN, COMPARED = 150, 25, 5


# ---- an op of our own ------------------------------------------------------------------------------------------------


@triton.jit
def squared_relu_kernel(x, out, n, BLOCK: tl.constexpr):  # Triton reads the body, not the types
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    value = tl.maximum(tl.load(x + i, live), 0.0)
    tl.store(out + i, value * value, live)


@opweave.library.triton_op("char_gpt::squared_relu", mutates_args=())
def squared_relu(x: Tensor) -> Tensor:
    """`relu(x) ** 2`, of So et al., "Primer", 2021."""
    out = opweave.empty_like(x)
    n = x.numel()
    opweave.library.wrap_triton(squared_relu_kernel)[(triton.cdiv(n, 1024),)](x, out, n, BLOCK=1024)
    return out


def _keep_input(ctx, inputs, output) -> None:
    ctx.save_for_backward(inputs[0])


def _gradient(ctx, grad: Tensor) -> Tensor:
    (x,) = ctx.saved_tensors
    return grad * F.relu(x) * 2


squared_relu.register_autograd(_gradient, setup_context=_keep_input)


# ---- the model -------------------------------------------------------------------------------------------------------


def initial(letters: int) -> Parameters:
    """Parameters; matrices have a standard deviation of 1 / sqrt(inputs)."""

    def matrix(inputs: int, outputs: int) -> Tensor:
        return opweave.randn(inputs, outputs) * inputs**-0.5

    params = {"letters": opweave.randn(letters, WIDTH) * 0.1, "places": opweave.randn(LENGTH, WIDTH) * 0.1}
    for layer in range(LAYERS):
        params[f"qkv{layer}"] = matrix(WIDTH, 3 * WIDTH)
        params[f"mix{layer}"] = matrix(WIDTH, WIDTH)
        params[f"up{layer}"] = matrix(WIDTH, 4 * WIDTH)
        params[f"down{layer}"] = matrix(4 * WIDTH, WIDTH)
    params["out"] = matrix(WIDTH, letters)
    return params


def attention(x: Tensor, qkv: Tensor, mix: Tensor) -> Tensor:
    """Causal attention; x is float32[batch, length, width]."""
    batch, length, width = x.shape
    q, k, v = [
        part.reshape(batch, length, HEADS, width // HEADS).transpose(1, 2) for part in (x @ qkv).split(width, dim=-1)
    ]
    scores = q @ k.transpose(-2, -1) * (width // HEADS) ** -0.5
    seen = opweave.ones(length, length, dtype=opweave.bool).tril()
    weights = opweave.where(seen, scores, float("-inf")).softmax(-1)
    return (weights @ v).transpose(1, 2).reshape(batch, length, width) @ mix


def loss_of(params: Parameters, text: Tensor) -> Tensor:
    """Cross entropy of each next character; text is int64[batch, length + 1]."""
    x = F.embedding(text[:, :-1], params["letters"]) + params["places"]
    for layer in range(LAYERS):
        x = x + attention(F.layer_norm(x, [WIDTH]), params[f"qkv{layer}"], params[f"mix{layer}"])
        x = x + squared_relu(F.layer_norm(x, [WIDTH]) @ params[f"up{layer}"]) @ params[f"down{layer}"]
    scores = F.layer_norm(x, [WIDTH]) @ params["out"]
    return F.cross_entropy(scores.reshape(-1, scores.shape[-1]), text[:, 1:].reshape(-1))


def step(params: Parameters, state: optim.AdamState, text: Tensor) -> Tensor:
    """One step of training, in place."""
    grads, loss = opweave.func.grad_and_value(loss_of)(params, text)
    optim.adamw_(params, grads, state, lr=3e-3)
    return loss


compiled_step = opweave.compile(step)


def main() -> list[float]:
    """Train; gives the losses."""
    text = "".join(topics.values())
    letters = sorted(set(text))
    numbers = np.array([letters.index(letter) for letter in text])
    draw = np.random.default_rng(0)
    batches = [
        opweave.from_numpy(np.stack([numbers[i : i + LENGTH + 1] for i in draw.integers(0, len(text) - LENGTH, BATCH)]))
        for _ in range(STEPS)
    ]
    opweave.manual_seed(0)
    params = initial(len(letters))
    copies = {name: value.clone() for name, value in params.items()}
    state, other = optim.adam_init(params), optim.adam_init(copies)
    losses = []
    started = time.perf_counter()
    for i, batch in enumerate(batches):
        losses.append(compiled_step(params, state, batch).item())
        if i < COMPARED:
            eager = step(copies, other, batch).item()
            assert abs(eager - losses[-1]) < 1e-3, (eager, losses[-1])
            print(f"step {i + 1:4}   loss {losses[-1]:.5f}   eager {eager:.5f}")
        elif i % SHOWN == SHOWN - 1:
            print(f"step {i + 1:4}   loss {np.mean(losses[-SHOWN:]):.5f}")
    print(f"{time.perf_counter() - started:.1f} s; {compiled_step}")
    return losses


if __name__ == "__main__":
    found = main()
    assert np.mean(found[-SHOWN:]) < 0.7 * found[0]

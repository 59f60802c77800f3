"""Whole models, each written once for both libraries: the same weights give the same results and gradients.

Each is run eagerly, compiled for one batch size, and compiled for any.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import close

import opweave

Weights = dict[str, Any]


class Draw:
    """Makes weights of a given size, by name."""

    def __init__(self) -> None:
        self.generator = np.random.default_rng(0)
        self.made: dict[str, np.ndarray] = {}

    def __call__(self, name: str, *sizes: int, mean: float = 0.0) -> None:
        scale = 1 / math.sqrt(max(math.prod(sizes[1:]), 1)) if len(sizes) > 1 else 0.1
        self.made[name] = (self.generator.normal(mean, scale, sizes)).astype(np.float64)


# ---- a residual network --------------------------------------------------------------------------------------------


def resnet_weights(draw: Draw) -> None:
    draw("stem", 8, 3, 7, 7)
    for name, width, out, size in (
        ("stem_bn", 8, 8, 0), ("a1", 8, 8, 3), ("a2", 8, 8, 3), ("b1", 8, 16, 3), ("b2", 16, 16, 3), ("b0", 8, 16, 1),
    ):  # fmt: skip
        if size:
            draw(name, out, width, size, size)
        for part, mean in (("gain", 1.0), ("bias", 0.0), ("mean", 0.0), ("var", 1.0)):
            draw(f"{name}_{part}", out, mean=mean)
    draw("head", 10, 16)
    draw("head_bias", 10)


def resnet(lib: Any, p: Weights, x: Any) -> Any:
    F = lib.nn.functional

    def normal(x: Any, name: str) -> Any:
        statistics = p[f"{name}_mean"].detach(), p[f"{name}_var"].detach().abs()
        return F.batch_norm(x, *statistics, p[f"{name}_gain"], p[f"{name}_bias"])

    def block(x: Any, name: str, stride: int) -> Any:
        y = F.relu(normal(F.conv2d(x, p[f"{name}1"], None, stride, 1), f"{name}1"))
        y = normal(F.conv2d(y, p[f"{name}2"], None, 1, 1), f"{name}2")
        short = x if stride == 1 else normal(F.conv2d(x, p[f"{name}0"], None, stride), f"{name}0")
        return F.relu(y + short)

    x = F.relu(normal(F.conv2d(x, p["stem"], None, 2, 3), "stem_bn"))
    x = F.max_pool2d(x, 3, 2, 1)
    x = block(block(x, "a", 1), "b", 2)
    return F.linear(F.adaptive_avg_pool2d(x, (1, 1)).flatten(1), p["head"], p["head_bias"])


# ---- transformers --------------------------------------------------------------------------------------------------

WIDTH, HEADS, LENGTH, WORDS = 16, 4, 6, 11


def gpt_weights(draw: Draw) -> None:
    draw("words", WORDS, WIDTH)
    draw("places", LENGTH, WIDTH)
    for i in range(2):
        for name, out, width in (("qkv", 3 * WIDTH, WIDTH), ("out", WIDTH, WIDTH), ("up", 4 * WIDTH, WIDTH),
                                 ("down", WIDTH, 4 * WIDTH)):  # fmt: skip
            draw(f"{name}{i}", out, width)
            draw(f"{name}{i}_bias", out)
        for name in ("first", "second"):
            draw(f"{name}{i}", WIDTH, mean=1.0)
            draw(f"{name}{i}_bias", WIDTH)
    draw("last", WIDTH, mean=1.0)
    draw("last_bias", WIDTH)


def gpt(lib: Any, p: Weights, words: Any) -> Any:
    F = lib.nn.functional
    batch = words.shape[0]
    x = F.embedding(words, p["words"]) + p["places"]
    for i in range(2):
        y = F.layer_norm(x, (WIDTH,), p[f"first{i}"], p[f"first{i}_bias"])
        qkv = F.linear(y, p[f"qkv{i}"], p[f"qkv{i}_bias"])
        q, k, v = (t.reshape(batch, LENGTH, HEADS, WIDTH // HEADS).transpose(1, 2) for t in qkv.split(WIDTH, 2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + F.linear(y.transpose(1, 2).reshape(batch, LENGTH, WIDTH), p[f"out{i}"], p[f"out{i}_bias"])
        y = F.layer_norm(x, (WIDTH,), p[f"second{i}"], p[f"second{i}_bias"])
        y = F.gelu(F.linear(y, p[f"up{i}"], p[f"up{i}_bias"]), approximate="tanh")
        x = x + F.linear(y, p[f"down{i}"], p[f"down{i}_bias"])
    scores = F.linear(F.layer_norm(x, (WIDTH,), p["last"], p["last_bias"]), p["words"])
    return F.cross_entropy(scores[:, :-1].reshape(-1, WORDS), words[:, 1:].reshape(-1)) * scores.mean(2)


def llama_weights(draw: Draw) -> None:
    draw("words", WORDS, WIDTH)
    draw("head", WORDS, WIDTH)
    for i in range(2):
        for name, out, width in (("q", WIDTH, WIDTH), ("k", WIDTH // 2, WIDTH), ("v", WIDTH // 2, WIDTH),
                                 ("o", WIDTH, WIDTH), ("gate", 24, WIDTH), ("up", 24, WIDTH),
                                 ("down", WIDTH, 24)):  # fmt: skip
            draw(f"{name}{i}", out, width)
        draw(f"first{i}", WIDTH, mean=1.0)
        draw(f"second{i}", WIDTH, mean=1.0)
    draw("last", WIDTH, mean=1.0)


def llama(lib: Any, p: Weights, words: Any) -> Any:
    F = lib.nn.functional
    batch, size = words.shape[0], WIDTH // HEADS
    place = lib.arange(LENGTH, dtype=lib.float64)
    speed = 1.0 / 10000.0 ** (lib.arange(0, size, 2, dtype=lib.float64) / size)
    angles = (place.unsqueeze(1) * speed).repeat(1, 2)
    cosine, sine = angles.cos(), angles.sin()
    hidden = lib.ones(LENGTH, LENGTH, dtype=lib.bool).triu(1)

    def turned(x: Any) -> Any:
        half = size // 2
        return x * cosine + lib.cat([-x[..., half:], x[..., :half]], -1) * sine

    def heads(x: Any, weight: Any, count: int) -> Any:
        return F.linear(x, weight).view(batch, LENGTH, count, size).transpose(1, 2)

    x = F.embedding(words, p["words"])
    for i in range(2):
        y = F.rms_norm(x, (WIDTH,), p[f"first{i}"], 1e-6)
        q, k = turned(heads(y, p[f"q{i}"], HEADS)), turned(heads(y, p[f"k{i}"], HEADS // 2))
        k, v = (
            t[:, :, None].expand(batch, HEADS // 2, 2, LENGTH, size).reshape(batch, HEADS, LENGTH, size)
            for t in (k, heads(y, p[f"v{i}"], HEADS // 2))
        )
        scores = (q @ k.transpose(2, 3) / math.sqrt(size)).masked_fill(hidden, -math.inf)
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(batch, LENGTH, WIDTH)
        x = x + F.linear(y, p[f"o{i}"])
        y = F.rms_norm(x, (WIDTH,), p[f"second{i}"], 1e-6)
        x = x + F.linear(F.silu(F.linear(y, p[f"gate{i}"])) * F.linear(y, p[f"up{i}"]), p[f"down{i}"])
    return F.linear(F.rms_norm(x, (WIDTH,), p["last"], 1e-6), p["head"])


# ---- a U-net -------------------------------------------------------------------------------------------------------


def unet_weights(draw: Draw) -> None:
    for name, out, width in (("in", 8, 3), ("down", 16, 8), ("mid", 16, 16), ("up", 8, 24), ("out", 2, 8)):
        draw(name, out, width, 3, 3)
        draw(f"{name}_bias", out)
        draw(f"{name}_gain", out, mean=1.0)
        draw(f"{name}_shift", out)


def unet(lib: Any, p: Weights, x: Any) -> Any:
    F = lib.nn.functional

    def layer(x: Any, name: str) -> Any:
        y = F.conv2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), p[name], p[f"{name}_bias"])
        return F.silu(F.group_norm(y, 2, p[f"{name}_gain"], p[f"{name}_shift"]))

    wide = layer(x, "in")
    deep = layer(layer(F.avg_pool2d(wide, 2), "down"), "mid")
    up = F.interpolate(deep, scale_factor=2, mode="nearest") + F.interpolate(
        deep, scale_factor=2, mode="bilinear", align_corners=False
    )
    return layer(layer(lib.cat([up, wide], 1), "up"), "out")


MODELS = {
    "resnet": (resnet, resnet_weights, lambda draw, n: draw.random((n, 3, 20, 20))),
    "gpt": (gpt, gpt_weights, lambda draw, n: draw.integers(0, WORDS, (n, LENGTH))),
    "llama": (llama, llama_weights, lambda draw, n: draw.integers(0, WORDS, (n, LENGTH))),
    "unet": (unet, unet_weights, lambda draw, n: draw.random((n, 3, 8, 8))),
}


def results(lib: Any, run: Any, weights: dict[str, np.ndarray], batch: np.ndarray) -> list[np.ndarray]:
    """The result, and the gradients of all weights."""
    p = {name: lib.from_numpy(value.copy()).requires_grad_() for name, value in weights.items()}
    out = run(p, lib.from_numpy(batch))
    vector = lib.from_numpy(np.random.default_rng(3).random(tuple(out.shape)))
    used = [t for name, t in p.items() if not name.endswith(("_mean", "_var"))]
    gradients = (opweave.autograd.grad if lib is opweave else torch.autograd.grad)(
        (out * vector).sum(), used, allow_unused=True
    )
    return [out.detach().numpy(), *(np.zeros(()) if g is None else g.numpy() for g in gradients)]


@pytest.mark.parametrize("name", MODELS)
def test_model(name):
    model, declare, inputs = MODELS[name]
    draw = Draw()
    declare(draw)
    compiled = {
        dynamic: opweave.compile(lambda p, x: model(opweave, p, x), dynamic=dynamic) for dynamic in (False, None)
    }
    for size in (3, 2, 5):
        batch = inputs(np.random.default_rng(size), size)
        wanted = results(torch, lambda p, x: model(torch, p, x), draw.made, batch)  # noqa: B023
        ways = {"eager": lambda p, x: model(opweave, p, x), "compiled": compiled[False], "any size": compiled[None]}
        for way, run in ways.items():
            found = results(opweave, run, draw.made, batch)
            for i, (one, other) in enumerate(zip(found, wanted, strict=True)):
                close(one, other, "models", f"{way}, batch {size}, {i}")
    # The first size was taken as fixed, the second version serves all.
    assert len(compiled[None].entries) == 2

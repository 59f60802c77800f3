"""Code as users write it, in which a type checker must find nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np

import opweave as torch
from opweave import Tensor, nn
from opweave.nn import functional as F


@dataclass
class Config:
    width: int = 32
    heads: int = 4
    rate: float = 0.1
    dtype: torch.dtype = torch.float32
    device: torch.device | str = "cpu"


class Block(nn.Module):
    def __init__(self, config: Config) -> None:
        super().__init__()
        self.config = config
        self.first = nn.Linear(config.width, 4 * config.width)
        self.second = nn.Linear(4 * config.width, config.width)
        self.norm = nn.LayerNorm(config.width)
        self.scale = nn.Parameter(torch.ones(config.width))
        self.register_buffer("steps", torch.zeros(1, dtype=torch.int64))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        batch, length, width = x.shape
        heads = x.view(batch, length, self.config.heads, -1).transpose(1, 2)
        scores = heads @ heads.mT / width**0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        mixed = (scores.softmax(dim=-1) @ heads).transpose(1, 2).reshape(batch, length, width)
        return x + self.scale * self.second(F.gelu(self.first(self.norm(mixed)), approximate="tanh"))


@torch.library.custom_op("typed::scaled", mutates_args=())
def scaled(x: Tensor, factor: float = 2.0) -> Tensor:
    return torch.from_numpy(np.asarray(x.numpy() * factor))


@scaled.register_fake
def _(x: Tensor, factor: float = 2.0) -> Tensor:
    return torch.empty_like(x)


@torch.compile
def fused(x: Tensor, bias: Tensor, *, negate: bool = False) -> Tensor:
    y = (x + bias).relu() * 2 - 1 / (1 + x.abs())
    return -y if negate else y


@torch.compile(dynamic=True, options={"recompile_limit": 4})
def normal(x: Tensor) -> tuple[Tensor, Tensor]:
    return x.mean(-1, keepdim=True), x.std(dim=-1, keepdim=True)


@torch.no_grad()
def evaluate(model: nn.Module, batches: Iterator[tuple[Tensor, Tensor]]) -> float:
    right = 0
    for inputs, targets in batches:
        right += int((model(inputs).argmax(dim=-1) == targets).sum().item())
    return right / 10


def batches(count: int, config: Config) -> Iterator[tuple[Tensor, Tensor]]:
    generator = torch.Generator().manual_seed(0)
    for _ in range(count):
        x = torch.randn(4, 8, config.width, generator=generator, dtype=config.dtype, device=config.device)
        yield x, torch.randint(0, config.width, (4, 8), generator=generator)


def train(config: Config) -> list[float]:
    model = torch.compile(Block(config))
    optimizer = torch.optim.AdamW(model.parameters(), lr=config.rate)
    losses: list[float] = []
    for inputs, targets in batches(3, config):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs).flatten(0, 1), targets.flatten())
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses


def names() -> Tensor:
    x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
    values, indices = x.topk(2, dim=1)
    best = x.max(dim=1)
    parts = torch.cat([values, best.values.unsqueeze(1)], dim=1)
    x[0, 1:3] = 5.0
    x[:, -1] += 1
    x[x > 3] = 0
    rows = x[indices[:, 0]]
    left, right = x.chunk(2, dim=1)
    total = torch.sum(x, axis=0) + x.mean(1, keepdims=True).sum() + torch.where(x > 0, x, 0.0).sum()
    joined = torch.stack([row * 2 for row in x]).permute(1, 0).contiguous().to("cpu", torch.float64)
    eigenvalues, _ = torch.linalg.eigh(x @ x.T)
    u, s, vh = torch.linalg.svd(x, full_matrices=False)
    sizes: tuple[int, ...] = (*x.shape, x.size(0), x.numel())
    torch.add(x, 1, out=torch.empty(sizes[:2]))
    x.clamp_(min=0).mul_(2.0)
    print(x.tolist(), x.dtype.itemsize, np.asarray(x).sum(), float(x.sum()), f"{x.mean():.3f}", x.type(torch.float64))
    spectrum = eigenvalues.sum() + s.sum() + (u @ vh).sum()
    return parts.sum() + rows.sum() + left @ right.T + total + joined.sum() + spectrum


def transforms(loss: Callable[[Tensor, Tensor], Tensor], w: Tensor, x: Tensor) -> Tensor:
    gradient = torch.func.grad(loss)(w, x)
    per_example = torch.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x)
    jacobian = torch.func.jacrev(lambda v: v.sin())(x)
    output, vjp = torch.func.vjp(lambda v: v * 2, x)
    kept = torch.checkpoint(loss)(w, x) + torch.utils.checkpoint.checkpoint(loss, w, x, use_reentrant=False)
    with torch.inference_mode(), torch.autocast("cpu", dtype=torch.bfloat16):
        half = fused(x, w, negate=True) + scaled(x) + scaled(x, factor=3.0) + normal(x)[0]
    return gradient + per_example.sum(0) + jacobian.sum() + output + vjp(x)[0] + kept + half


@torch.no_grad
def plain(x: Tensor) -> Tensor:
    with torch.no_grad(), torch.enable_grad(), torch.set_grad_enabled(False):
        return x.detach()


@torch.inference_mode
def inferred(x: Tensor, scale: float) -> Tensor:
    return plain(x) * scale


@torch.inference_mode()
def called(x: Tensor) -> Tensor:
    return inferred(x, 2.0)

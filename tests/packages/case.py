"""A case: an op of a package that was written for PyTorch and Triton, and a plain formula for the same.

It is run twice: `plain` by PyTorch in float64, and the package's op by opweave in float32, forward and backward.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Make = Callable[[np.random.Generator], np.ndarray]


def normal(*sizes: int, scale: float = 1.0) -> Make:
    return lambda rng: np.asarray(rng.standard_normal(sizes) * scale, np.float32)


def uniform(*sizes: int, low: float = 0.0, high: float = 1.0) -> Make:
    return lambda rng: rng.uniform(low, high, sizes).astype(np.float32)


def integers(*sizes: int, high: int) -> Make:
    return lambda rng: rng.integers(0, high, sizes)


def unit(*sizes: int) -> Make:
    def made(rng: np.random.Generator) -> np.ndarray:
        x = rng.standard_normal(sizes)
        return (x / np.linalg.norm(x, axis=-1, keepdims=True)).astype(np.float32)

    return made


@dataclass(frozen=True)
class Case:
    """One op.

    Attributes
    ----------
    where : str
        `module:name`; an autograd function is applied.
    inputs : dict of str to callable
        Make the arguments from a generator of numbers.
    plain : callable
        `plain(torch, **inputs)`: the same in plain operations.
    call : callable
        `call(op, torch, **inputs)`, where the op takes them otherwise than in order.
    constant : tuple of str
        Floating inputs that have no gradient.
    backward : bool
        Whether gradients are compared.
    slow : bool
        Whether its kernels take many seconds to compile; then it is not run inside `compile` as well.
    breaks : str
        Why it is no single graph, if so; else it is run with `fullgraph=True` too.
    gradient : bool
        Whether the op is itself the backward of another.
    tolerance : float
        Of results and gradients, relative to their greatest.
    """

    where: str
    inputs: dict[str, Make]
    plain: Callable[..., Any]
    call: Callable[..., Any] | None = None
    constant: tuple[str, ...] = ()
    backward: bool = True
    slow: bool = False
    breaks: str = ""
    gradient: bool = False
    tolerance: float = 2e-4
    label: str = ""

    @property
    def name(self) -> str:
        return self.where + (f"[{self.label}]" if self.label else "")

    @property
    def package(self) -> str:
        return self.where.partition(":")[0].partition(".")[0]

    def arrays(self) -> dict[str, np.ndarray]:
        rng = np.random.default_rng(zlib.crc32(self.name.encode()))
        return {name: make(rng) for name, make in self.inputs.items()}


#: Arguments that many ops take.
ROWS = {"x": normal(6, 48)}
PAIR = {"x": normal(6, 48), "y": normal(6, 48)}
NORM = {"x": normal(6, 64), "weight": normal(64)}
LABELLED = {"logits": normal(8, 100), "target": integers(8, high=100)}
LINEAR = {"x": normal(16, 32), "weight": normal(64, 32, scale=0.3), "target": integers(16, high=64)}

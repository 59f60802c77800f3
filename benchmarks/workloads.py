"""What is timed: functions written once for opweave and PyTorch, whose names are the same, and their inputs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, np.dtype[Any]]


@dataclass(frozen=True)
class Workload:
    """One thing to time.

    Attributes
    ----------
    name : str
        How the tables call it.
    make : callable
        Takes the library (`opweave` or `torch`), returns the function.
    shapes : tuple of tuple of int
        Shapes of its float32 inputs.
    bytes_moved : int
        What a perfect kernel reads and writes, for the GB/s column.
    """

    name: str
    make: Callable[[Any], Callable[..., Any]]
    shapes: tuple[tuple[int, ...], ...]
    bytes_moved: int

    def inputs(self) -> list[Array]:
        """Normally distributed arrays, the same each time."""
        generator = np.random.default_rng(0)
        return [generator.standard_normal(shape, dtype=np.float32) for shape in self.shapes]


def _chain(lib: Any) -> Callable[..., Any]:
    F = lib.nn.functional
    return lambda x, a, b, y: F.gelu(x * a + b, approximate="tanh") * F.silu(y)


def _softmax(lib: Any) -> Callable[..., Any]:
    return lambda x: lib.softmax(x, -1)


def _layer_norm(lib: Any) -> Callable[..., Any]:
    F = lib.nn.functional
    return lambda x, weight, bias: F.layer_norm(x, (1024,), weight, bias)


def _sum(dim: int) -> Callable[[Any], Callable[..., Any]]:
    return lambda lib: lambda x: lib.sum(x, dim)


def _bias_relu(lib: Any) -> Callable[..., Any]:
    return lambda x, bias: lib.relu(x + bias)


_MB4 = 4 << 20  # elements of the large arrays
_ROWS = (4096, 1024)

STEADY = (
    Workload("gelu_tanh(x*a+b)*silu(y), 4M", _chain, ((_MB4,),) * 4, 5 * 4 * _MB4),
    Workload("softmax 4096x1024", _softmax, (_ROWS,), 2 * 4 * _MB4),
    Workload("layer_norm 4096x1024", _layer_norm, (_ROWS, (1024,), (1024,)), 2 * 4 * _MB4),
    Workload("sum last axis 4096x1024", _sum(-1), (_ROWS,), 4 * _MB4),
    Workload("sum first axis 4096x1024", _sum(0), (_ROWS,), 4 * _MB4),
    Workload("bias+relu 4096x1024", _bias_relu, (_ROWS, (1024,)), 2 * 4 * _MB4),
)

TINY = Workload("add, 8 elements", lambda lib: lambda x, y: x + y, ((8,), (8,)), 3 * 4 * 8)

"""A generated kernel: its source, how it is compiled, and how often it runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from opweave.registry.dtypes import DType


@dataclass(frozen=True)
class KernelSource:
    """A kernel as text.

    Attributes
    ----------
    name : str
        Name of the function.
    source : str
        A whole Python module; it must be a file when Triton compiles it.
    parameters : tuple of (str, DType)
        Pointers it takes, in order, with what they point to.
    constexprs : mapping of str to int
        Its compile-time parameters.
    grid : tuple of int
        Programs in each dimension.
    num_warps : int
        Warps a program has on CUDA.
    """

    name: str
    source: str
    parameters: tuple[tuple[str, DType], ...]
    constexprs: Mapping[str, int]
    grid: tuple[int, int, int]
    num_warps: int = 4
    workspaces: tuple[tuple[int, DType], ...] = field(default=())

    @property
    def signature(self) -> dict[str, str]:
        """Parameter types as Triton names them."""
        types = {name: f"*{dtype.triton}" for name, dtype in self.parameters}
        return types | dict.fromkeys(self.constexprs, "constexpr")

"""What codegen makes of a graph: text, and what the text names."""

from __future__ import annotations

from dataclasses import field
from typing import Any

from opweave.codegen.kernel import KernelSource
from opweave.registry.dataclass import dataclass


@dataclass
class Generated:
    """A compiled graph as text.

    Attributes
    ----------
    source : str
        A Python module that defines `name`.
    name : str
        The function to call, with the graph's inputs; returns what the graph returns.
    kernels : list of KernelSource
        What it launches; each under its own name, as `launch(gx, gy, gz, *addresses)`.
    names : dict
        Objects that the source finds as globals.
    attributes : list of str
        Constants of the graph module that it finds as globals.
    """

    source: str
    name: str
    kernels: list[KernelSource]
    names: dict[str, Any] = field(default_factory=dict[str, Any])
    attributes: list[str] = field(default_factory=list[str])

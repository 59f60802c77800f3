"""Tensors of an artifact: what is said of those that it is given and makes, and those that it brings along."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

import numpy as np

from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.errors import Site
from opweave.registry.tensor import Tensor


@dataclass(frozen=True)
class Described:
    """A tensor that is given to an entry, or that it makes.

    Attributes
    ----------
    name : str
        What the user calls it.
    dtype : DType
        Of its elements.
    sizes, strides : tuple of int or str
        A size that is not fixed is an expression of symbols.
    place : int
        Of its address in the frame; behind that of an input are its sizes and its strides.
    written : bool
        Whether the entry writes it though it is an input.
    dims : tuple of int
        Where in the frame the sizes of a result are, and after them its strides.
    """

    name: str
    dtype: DType
    sizes: tuple[int | str, ...]
    strides: tuple[int | str, ...]
    place: int
    written: bool = False
    dims: tuple[int, ...] = ()


@dataclass
class Weights:
    """Tensors that an artifact brings along, one behind the other."""

    places: dict[int, int] = field(default_factory=dict[int, int])
    parts: list[bytes] = field(default_factory=list[bytes])
    size: int = 0
    _keep: list[Tensor] = field(default_factory=list[Tensor])

    def place(self, tensor: Tensor) -> int:
        """How many bytes behind the start its first element is."""
        found = self.places.get(id(tensor))
        if found is None:
            found = self.places[id(tensor)] = self.size
            self._keep.append(tensor)
            data = _memory_of(tensor)
            data += bytes(-len(data) % 64)
            self.parts.append(data)
            self.size += len(data)
        return found

    @property
    def data(self) -> bytes:
        """All of them."""
        return b"".join(self.parts)


def _memory_of(tensor: Tensor) -> bytes:
    """The elements where its strides have them."""
    array = tensor._array
    span = 1 + sum((n - 1) * abs(s) for n, s in zip(tensor._sizes, tensor._strides, strict=True)) if array.size else 0
    flat = np.zeros(span, array.dtype)
    steps = [step * array.itemsize for step in tensor._strides]
    np.lib.stride_tricks.as_strided(flat, array.shape, steps)[...] = array
    return flat.tobytes()


@dataclass(frozen=True)
class Dynamic:
    """What is known of sizes that are not fixed.

    Attributes
    ----------
    ranges : mapping of str to (int, int or None)
        The least and largest value of each symbol.
    names : mapping of str to str
        What the user calls them.
    demands : sequence of (ShapeEnv, object, Site or None)
        Relations that must hold, and the lines that ask for them.
    """

    ranges: Mapping[str, tuple[int, int | None]] = field(default_factory=dict[str, tuple[int, "int | None"]])
    names: Mapping[str, str] = field(default_factory=dict[str, str])
    demands: Sequence[tuple[Any, Any, Site | None]] = ()

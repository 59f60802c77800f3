"""Tensors as text, as PyTorch prints them, and the options of that.

All elements of a tensor have one format, chosen by the largest and the smallest: whole numbers with a dot, a number of
decimals, or a power of ten.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import get_default_dtype
from opweave.registry.errors import ArgumentError


@dataclass
class _Options:
    precision: int = 4
    threshold: float = 1000
    edgeitems: int = 3
    linewidth: int = 80
    sci_mode: bool | None = None


_options = _Options()
_PROFILES: dict[str, dict[str, Any]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}
#: Beyond these, a power of ten stands with each number.
_RATIO, _LARGE, _SMALL = 1e3, 1e8, 1e-4


def set_printoptions(
    precision: int | None = None, threshold: float | None = None, edgeitems: int | None = None,
    linewidth: int | None = None, profile: str | None = None, sci_mode: bool | None = None,
) -> None:  # fmt: skip
    """Say how tensors are printed; what is not given stays as it is, but for `sci_mode`.

    Parameters
    ----------
    precision : int, optional
        Number of decimals, 4 at first.
    threshold : float, optional
        Tensors of more elements, 1000 at first, are shown in part.
    edgeitems : int, optional
        How many elements of each dimension are shown of these, 3 at first, at the beginning and at the end.
    linewidth : int, optional
        Characters in a line, 80 at first.
    profile : str, optional
        `"default"`, `"short"` (two decimals, two items) or `"full"` (all elements); other arguments override it.
    sci_mode : bool, optional
        Whether numbers are printed with a power of ten; None, which is also the default, leaves it to the numbers.

    Raises
    ------
    ArgumentError
        If there is no such profile.

    Examples
    --------
    >>> opweave.set_printoptions(precision=4)
    """
    if profile is not None:
        if profile not in _PROFILES:
            raise ArgumentError("set_printoptions: unknown profile", got=repr(profile), hint=f"one of {[*_PROFILES]}")
        for name, value in _PROFILES[profile].items():
            setattr(_options, name, value)
    given = {"precision": precision, "threshold": threshold, "edgeitems": edgeitems, "linewidth": linewidth}
    for name, value in given.items():
        if value is not None:
            setattr(_options, name, value)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options in force, as arguments of `set_printoptions`.

    Examples
    --------
    >>> opweave.get_printoptions()["precision"]
    4
    """
    return asdict(_options)


class _Format:
    """The format of all elements, from those that are shown."""

    def __init__(self, values: np.ndarray[Any, Any]):
        self.width = 1
        self.spec: str | None = None  # of format(); None for whole numbers
        self.dot = False
        flat = values.reshape(-1)
        if flat.dtype.kind in "biu":
            self.width = max((len(str(value)) for value in flat.tolist()), default=1)
            return
        self.spec, self.dot = ".0f", True
        shown = flat[np.isfinite(flat) & (flat != 0)]
        if not shown.size:
            return
        sizes = np.abs(shown)
        low, high = float(sizes.min()), float(sizes.max())
        if _options.sci_mode if _options.sci_mode is not None else high / low > _RATIO or high > _LARGE or low < _SMALL:
            self.spec, self.dot = f".{_options.precision}e", False
        elif (shown != np.ceil(shown)).any():
            self.spec, self.dot = f".{_options.precision}f", False
        self.width = max(len(format(value, self.spec)) for value in shown.tolist()) + self.dot

    def __call__(self, value: Any) -> str:
        text = str(value) if self.spec is None else format(value, self.spec)
        if self.dot and math.isfinite(value):
            text += "."
        return text.rjust(self.width)


class _Pair:
    """The format of complex numbers: one for the real parts and one for the imaginary ones."""

    def __init__(self, values: np.ndarray[Any, Any]):
        self.real, self.imag = _Format(values.real), _Format(values.imag)
        self.width = self.real.width + self.imag.width + 1  # and a j

    def __call__(self, value: complex) -> str:
        imaginary = self.imag(value.imag).lstrip()
        sign = "" if imaginary[0] in "+-" else "+"
        return f"{self.real(value.real)}{sign}{imaginary}j"


def _edges(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The elements that are shown of a tensor shown in part."""
    edge = _options.edgeitems
    if not edge:  # nothing is shown; a vector's elements decide on the format all the same
        return array if array.ndim == 1 else array[:0]
    for axis, size in enumerate(array.shape):
        if size > 2 * edge:
            array = np.take(array, [*range(edge), *range(size - edge, size)], axis)
    return array


def _lines(array: np.ndarray[Any, Any], indent: int, partly: bool, write: _Format | _Pair) -> str:
    if not array.ndim:
        return write(array.item())
    edge = _options.edgeitems
    cut = partly and array.shape[0] > 2 * edge
    kept: Iterable[int] = [*range(edge), *range(array.shape[0] - edge, array.shape[0])] if cut else range(len(array))
    if array.ndim == 1:
        parts = [write(value) for value in array[list(kept)].tolist()]
        if cut:
            parts.insert(edge, " ..." if edge else "...")
        count = max(1, (_options.linewidth - indent) // (write.width + 2))
        rows = [", ".join(parts[i : i + count]) for i in range(0, len(parts), count)]
        return "[" + f",\n{' ' * (indent + 1)}".join(rows) + "]"
    parts = [_lines(array[i], indent + 1, partly, write) for i in kept]
    if cut:
        parts.insert(edge, "...")
    return "[" + f",{chr(10) * (array.ndim - 1)}{' ' * (indent + 1)}".join(parts) + "]"


def elements(array: np.ndarray[Any, Any], indent: int) -> str:
    """The elements as nested lists.

    Parameters
    ----------
    array : numpy.ndarray
        Of bools, integers, floating or complex numbers that NumPy has.
    indent : int
        Characters that stand before it in its line.
    """
    if not array.size:
        return "[]"
    partly = array.size > _options.threshold
    shown = _edges(array) if partly else array
    return _lines(array, indent, partly, _Pair(shown) if array.dtype.kind == "c" else _Format(shown))


def hides_all() -> bool:
    """Whether no elements of a large tensor are shown."""
    return not _options.edgeitems


def joined(prefix: str, body: str, notes: Sequence[str]) -> str:
    """`prefix(body, note, ...)`, with lines broken before notes that would not fit."""
    text = f"{prefix}({body}"
    # As PyTorch counts, which adds one for the comma.
    used = len(text) - text.rfind("\n") + 1
    for note in notes:
        if used + len(note) + 2 > _options.linewidth:
            text += f",\n{' ' * (len(prefix) + 1)}{note}"
            used = len(prefix) + 1 + len(note)
        else:
            text += f", {note}"
            used += len(note) + 2
    return f"{text})"


def shown(t: Any, prefix: str) -> str:
    """A tensor's `repr`."""
    notes = [] if t._device.is_host else [f"device='{t._device}'"]
    default = get_default_dtype()
    wide = "complex128" if default.name == "float64" else "complex64"
    if t._storage.owner is None:
        body, known = "...", t._dtype is default
        notes.append(f"size={tuple(t._sizes)}")
    elif not t.numel():
        body, known = "[]", t._dtype is default
        if t.ndim != 1:
            notes.append(f"size={tuple(t._sizes)}")
    else:
        # Not through numpy(): showing a tensor in a message is no use of its data.
        array = t._device.memory.to_host(t._array)
        body = elements(array if t._dtype.kind != "f" else array.astype(np.float64), len(prefix) + 1)
        known = t._dtype is default or t._dtype.name in ("int64", "bool", wide)
        if hides_all():
            notes.append(f"size={tuple(t._sizes)}")
    if not known:
        notes.append(f"dtype={t._dtype!r}")
    node: Any = getattr(t, "grad_fn", None)  # a property that autograd adds
    if node is not None:
        notes.append(f"grad_fn=<{node.name()}>")
    elif t.requires_grad:
        notes.append("requires_grad=True")
    return joined(prefix, body, notes)

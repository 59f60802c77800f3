"""Recurrent layers over packed sequences, by the ops that make all steps of equal batches.

The batches of a packed sequence get smaller from step to step. Stretches of steps are padded to the batch of their
first one, as long as that does not twice the rows, and each is one call. What pads keeps an LSTM's cell as it is, and
any state finite; no result depends on it otherwise. Backwards, each sequence is turned around by itself, which leaves
the batches as they are.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from opweave.registry import families
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, from_numpy

aten = ops.aten
_layers: Any = families.family("recurrent_layers")
#: Rows of a stretch with what pads it over those without, at most.
_WASTE = 2.0


class Stretch(NamedTuple):
    """Steps that are one call.

    Attributes
    ----------
    begin, end : int
        Its rows.
    steps, batch : int
        How many there are, and sequences at the first one.
    after : int
        Sequences that go on behind it.
    padded : ndarray or None
        Which of its rows each row of equal batches is; one past the last is none. None if batches are equal.
    kept : ndarray or None
        Of equal batches, which rows there are.
    """

    begin: int
    end: int
    steps: int
    batch: int
    after: int
    padded: NDArray[np.int64] | None
    kept: NDArray[np.int64] | None


@functools.lru_cache(maxsize=64)
def stretches(counts: tuple[int, ...]) -> tuple[Stretch, ...]:
    """The stretches of steps of such batches."""
    found: list[Stretch] = []
    first = begin = 0
    while first < len(counts):
        batch, rows, last = counts[first], 0, first
        while last < len(counts) and batch * (last + 1 - first) <= _WASTE * (rows + counts[last]):
            rows += counts[last]
            last += 1
        own = np.asarray(counts[first:last])
        is_there = np.arange(batch) < own[:, None]
        padded = kept = None
        if not is_there.all():
            numbers = np.full(is_there.shape, rows)
            numbers[is_there] = np.arange(rows)
            padded, kept = numbers.ravel(), np.flatnonzero(is_there)
        after = counts[last] if last < len(counts) else 0
        found.append(Stretch(begin, begin + rows, last - first, batch, after, padded, kept))
        first, begin = last, begin + rows
    return tuple(found)


@functools.lru_cache(maxsize=64)
def _turned(counts: tuple[int, ...]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Of each row that which has its place when sequences are turned around; of each sequence its last row."""
    batches = np.asarray(counts)
    steps = np.repeat(np.arange(len(counts)), batches)
    begins = np.cumsum(batches) - batches
    sequences = np.arange(batches.sum()) - begins[steps]
    lengths = (batches[:, None] > np.arange(counts[0])).sum(0)
    turned = begins[lengths[sequences] - 1 - steps] + sequences
    return turned, begins[lengths - 1] + np.arange(counts[0])


def layer(
    mode: str, products: Tensor, weight: Tensor, bias: Tensor | None, state: tuple[Tensor, ...],
    counts: tuple[int, ...], reverse: bool,
) -> tuple[Tensor, tuple[Tensor, ...]]:  # fmt: skip
    """(outputs, last state) of a layer in one direction.

    Parameters
    ----------
    mode, weight, bias, reverse
        As of `registry.ops.recurrent_layers.layer`.
    products : Tensor
        (rows, gates · width), packed.
    state : tuple of Tensor
        (batch, width) each.
    counts : tuple of int
        The batches, which do not get larger.
    """
    turned, ends = _turned(counts)
    if reverse:
        products = _chosen(products, turned)
    found: list[Tensor] = []
    cells: list[Tensor] = []
    for each in stretches(counts):
        part = _rows(products, each.begin, each.end)
        if each.padded is not None:
            part = _chosen(aten.cat.default([part, _pad(mode, products)]), each.padded)
        part = aten.view.default(part, [each.steps, each.batch, products._sizes[1]])
        outputs, last = _layers.layer(mode, part, weight, bias, state, False)
        outputs = aten.view.default(outputs, [each.steps * each.batch, weight._sizes[1]])
        if each.kept is not None:
            outputs = _chosen(outputs, each.kept)
        found.append(outputs)
        cells += [_rows(t, each.after, each.batch) for t in last[1:]]
        state = tuple([_rows(t, 0, each.after) for t in last])
    outputs = aten.cat.default(found) if len(found) > 1 else found[0]
    last = [_chosen(outputs, ends)]
    last += [aten.cat.default(cells[::-1]) if len(cells) > 1 else cells[0]] if cells else []
    if reverse:
        outputs = _chosen(outputs, turned)
    return outputs, tuple(last)


def _pad(mode: str, products: Tensor) -> Tensor:
    """A row of products behind the end of a sequence: it keeps the cell of an LSTM, and what goes through relu is 0."""
    width = products._sizes[1]
    row = np.zeros((1, width), products._dtype.numpy)
    if mode == "LSTM":
        row[:, : width // 4], row[:, width // 4 : width // 2] = -np.inf, np.inf
    elif mode == "RNN_RELU":
        row[:] = -np.inf
    return from_numpy(row)


def _chosen(t: Tensor, rows: NDArray[np.int64]) -> Tensor:
    return aten.index_select.default(t, 0, from_numpy(rows))


def _rows(t: Tensor, begin: int, end: int) -> Tensor:
    return t if begin == 0 and end == t._sizes[0] else aten.slice.Tensor(t, 0, begin, end)

"""Sequences of different lengths in one tensor: padded, or packed step by step."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe, from_numpy

__all__ = [
    "PackedSequence", "invert_permutation", "pack_padded_sequence", "pack_sequence", "pad_packed_sequence",
    "pad_sequence", "unpack_sequence", "unpad_sequence",
]  # fmt: skip

_ = _surface  # declares the ops
aten = ops.aten


class PackedSequence(NamedTuple):
    """Sequences, longest first, step by step: at each step the elements of those that are not over.

    Attributes
    ----------
    data : Tensor
        (elements, ...).
    batch_sizes : Tensor
        int64: how many sequences there are at each step.
    sorted_indices, unsorted_indices : Tensor or None
        How sequences were sorted by length, and the way back.

    Examples
    --------
    >>> packed = opweave.nn.utils.rnn.pack_sequence([opweave.ones(3), opweave.ones(2)])
    >>> packed.data.shape, packed.batch_sizes
    (opweave.Size([5]), tensor([2, 2, 1]))
    """

    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None = None
    unsorted_indices: Tensor | None = None

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """The same with the elements moved or converted."""
        return self._replace(data=self.data.to(*args, **kwargs))  # type: ignore[attr-defined]

    @property
    def is_cuda(self) -> bool:
        """Whether the elements are on a CUDA device."""
        return self.data._device.type == "cuda"


def _lengths(lengths: Any) -> np.ndarray[Any, Any]:
    found = np.asarray(lengths.tolist() if isinstance(lengths, Tensor) else list(lengths), dtype=np.int64)
    if found.ndim != 1 or (found <= 0).any():
        raise ArgumentError("pack_padded_sequence: lengths must be positive numbers", got=f"{found.tolist()}")
    return found


def pack_padded_sequence(
    input: Tensor, lengths: Any, batch_first: bool = False, enforce_sorted: bool = True
) -> PackedSequence:
    """Pack sequences that are padded to one length.

    Parameters
    ----------
    input : Tensor
        (length, batch, ...), or with `batch_first` (batch, length, ...).
    lengths : sequence of int, or Tensor
        Of each sequence.
    batch_first : bool
        Which dimension comes first.
    enforce_sorted : bool
        Whether the sequences must be sorted, longest first; else they are sorted here.

    Raises
    ------
    ShapeError
        If there are not as many lengths as sequences, or one is too long.
    RuntimeError
        If the sequences are not sorted and must be.

    Examples
    --------
    >>> x = opweave.ones(3, 2, 4)
    >>> opweave.nn.utils.rnn.pack_padded_sequence(x, opweave.tensor([3, 2])).batch_sizes
    tensor([2, 2, 1])
    """
    if input.ndim < 2:
        raise ShapeError("pack_padded_sequence: expected (length, batch, ...)", got=describe(input))
    batch, length = input._sizes[:2] if batch_first else input._sizes[1::-1]
    count = _lengths(lengths)
    if len(count) != batch or count.max(initial=0) > length:
        raise ShapeError(
            "pack_padded_sequence: lengths do not fit the input", got=f"{count.tolist()}, {describe(input)}"
        )
    order = None
    if enforce_sorted:
        if (np.diff(count) > 0).any():
            raise RuntimeError(
                "`lengths` array must be sorted in decreasing order when `enforce_sorted` is True. "
                "You can pass `enforce_sorted=False` to pack_padded_sequence to sidestep this requirement"
            )
    else:
        order = np.argsort(-count, kind="stable")
        count = count[order]
    is_there = count > np.arange(count.max(initial=0))[:, None]
    step, sequence = np.nonzero(is_there)
    sequence = sequence if order is None else order[sequence]
    rows = sequence * length + step if batch_first else step * batch + sequence
    flat = aten.reshape.default(input, [batch * length, *input._sizes[2:]])
    packed = PackedSequence(
        aten.index_select.default(flat, 0, from_numpy(rows)), from_numpy(is_there.sum(1).astype(np.int64))
    )
    if order is None:
        return packed
    return packed._replace(sorted_indices=from_numpy(order), unsorted_indices=from_numpy(np.argsort(order)))


def pad_packed_sequence(
    sequence: PackedSequence, batch_first: bool = False, padding_value: float = 0.0, total_length: int | None = None
) -> tuple[Tensor, Tensor]:
    """`pack_padded_sequence` taken back: the padded sequences, and their lengths in int64.

    Raises
    ------
    ValueError
        If `total_length` is too short.

    Examples
    --------
    >>> packed = opweave.nn.utils.rnn.pack_sequence([opweave.ones(3), opweave.ones(2)])
    >>> opweave.nn.utils.rnn.pad_packed_sequence(packed, batch_first=True)
    (tensor([[1., 1., 1.],
            [1., 1., 0.]]), tensor([3, 2]))
    """
    sizes = np.asarray(sequence.batch_sizes.tolist(), dtype=np.int64)
    longest = len(sizes)
    if total_length is not None and total_length < longest:
        raise ValueError(
            "Expected total_length to be at least the length of the longest sequence in input, "
            f"but got total_length={total_length} and max sequence length being {longest}"
        )
    data, batch = sequence.data, int(sizes[0])
    is_there = np.arange(batch) < sizes[:, None]
    # Behind the elements there is one more, which pads.
    rows = np.full((total_length or longest, batch), data._sizes[0])
    rows[:longest][is_there] = np.arange(data._sizes[0])
    if not is_there.all() or len(is_there) < (total_length or longest):
        data = aten.cat.default([data, aten.new_full.default(data, [1, *data._sizes[1:]], padding_value)])
    padded = aten.index_select.default(data, 0, from_numpy(rows.ravel()))
    padded = aten.view.default(padded, [*rows.shape, *data._sizes[1:]])
    padded = aten.transpose.int(padded, 0, 1) if batch_first else padded
    lengths = from_numpy((sizes[None, :] > np.arange(int(sizes[0]))[:, None]).sum(1).astype(np.int64))
    if sequence.unsorted_indices is not None:
        padded = aten.index_select.default(padded, 0 if batch_first else 1, sequence.unsorted_indices)
        lengths = aten.index_select.default(lengths, 0, sequence.unsorted_indices)
    return padded, lengths


def pad_sequence(
    sequences: Sequence[Tensor], batch_first: bool = False, padding_value: float = 0.0, padding_side: str = "right"
) -> Tensor:
    """Sequences (length, ...) of different lengths in one tensor (longest, batch, ...).

    Examples
    --------
    >>> opweave.nn.utils.rnn.pad_sequence([opweave.ones(3), opweave.ones(2)], batch_first=True)
    tensor([[1., 1., 1.],
            [1., 1., 0.]])
    """
    if padding_side not in ("left", "right"):
        raise ValueError(f"padding_side must be 'left' or 'right', got {padding_side!r}")
    given = list(sequences)
    longest = max(t._sizes[0] for t in given)
    rows = []
    for t in given:
        if t._sizes[0] < longest:
            fill = aten.new_full.default(t, [longest - t._sizes[0], *t._sizes[1:]], padding_value)
            t = aten.cat.default([t, fill] if padding_side == "right" else [fill, t])
        rows.append(t)
    return aten.stack.default(rows, 0 if batch_first else 1)


def unpad_sequence(padded_sequences: Tensor, lengths: Tensor, batch_first: bool = False) -> list[Tensor]:
    """`pad_sequence` taken back.

    Examples
    --------
    >>> padded = opweave.nn.utils.rnn.pad_sequence([opweave.ones(3), opweave.ones(2)])
    >>> [part.shape for part in opweave.nn.utils.rnn.unpad_sequence(padded, opweave.tensor([3, 2]))]
    [opweave.Size([3]), opweave.Size([2])]
    """
    batch = padded_sequences if batch_first else aten.transpose.int(padded_sequences, 0, 1)
    found = zip(aten.unbind.int(batch, 0), lengths.tolist(), strict=True)
    return [aten.slice.Tensor(t, 0, 0, int(n)) for t, n in found]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Pack sequences (length, ...) of different lengths.

    Examples
    --------
    >>> opweave.nn.utils.rnn.pack_sequence([opweave.ones(3), opweave.ones(2)]).batch_sizes
    tensor([2, 2, 1])
    """
    lengths = [t._sizes[0] for t in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The sequences of a packed one, each of its length.

    Examples
    --------
    >>> packed = opweave.nn.utils.rnn.pack_sequence([opweave.ones(3), opweave.ones(1)])
    >>> opweave.nn.utils.rnn.unpack_sequence(packed)
    [tensor([1., 1., 1.]), tensor([1.])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that takes another one back; None for None.

    Examples
    --------
    >>> opweave.nn.utils.rnn.invert_permutation(opweave.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    if permutation is None:
        return None
    places = aten.arange.default(permutation.numel(), dtype=permutation._dtype, device=permutation._device)
    return aten.scatter.src(aten.empty_like.default(permutation), 0, permutation, places)


def __dir__() -> list[str]:
    return sorted(__all__)

"""`BlockMask`: which blocks of a matrix of scores are computed, and by what function their elements are masked."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from typing import Any

from opweave.registry.dtypes import bool_, int8, int32
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten

#: (batch, head, query index, key index) -> whether the score counts, of one element.
MaskMod = Callable[[Any, Any, Any, Any], Any]
DEFAULT_BLOCK_SIZE = 128
#: Of a mask that leaves nothing out, for any lengths.
LARGE_BLOCK_SIZE = 1 << 30


def noop_mask(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """A `mask_mod` that leaves nothing out.

    Examples
    --------
    >>> zero = opweave.tensor(0)
    >>> opweave.nn.attention.flex_attention.noop_mask(zero, zero, zero, zero)
    tensor(True)
    """
    return batch.new_ones((), dtype=bool_)


def sliced_mask_mod(batch: Any, head: Any, token_q: Any, token_kv: Any) -> Any:
    """Stands for the `mask_mod` of a part of a mask, whose indices begin anew."""
    raise _Sliced(
        "Cannot use mask_mod from a sliced BlockMask", got="a mask that was indexed",
        hint="part.mask_mod = a function that adds the offset to the indices of whole.mask_mod",
    )  # fmt: skip


class _Sliced(UnsupportedError, RuntimeError):
    """A mask that was indexed, without a function of its own."""


def ordered(dense: Tensor) -> tuple[Tensor, Tensor]:
    """(how many blocks of each row count, their columns and behind them the others)."""
    dense = aten._to_copy.default(dense, dtype=int32)
    count = aten.sum.dim_IntList(dense, [-1])
    columns = aten.argsort.stable(dense, stable=True, dim=-1, descending=True)
    return aten._to_copy.default(count, dtype=int32), aten._to_copy.default(columns, dtype=int32)


def dense(count: Tensor, columns: Tensor) -> Tensor:
    """Back from `ordered`: 1 where a block counts, for each row and column."""
    total = columns._sizes[-1]
    numbers = aten.arange.default(total, device=columns._device)
    counts = aten.lt.Tensor(numbers, aten.unsqueeze.default(count, -1))
    made = aten.new_zeros.default(columns, [*columns._sizes[:-1], total], dtype=int32)
    places = aten._to_copy.default(columns, dtype=aten.arange.default(0)._dtype)
    return aten.scatter_add.default(made, -1, places, aten._to_copy.default(counts, dtype=int32))


def pair(size: int | tuple[int, int]) -> tuple[int, int]:
    """Rows and columns; one number is both."""
    return (size, size) if isinstance(size, int) else tuple(size)  # type: ignore[return-value]


class BlockMask:
    """Which blocks of a matrix of scores are computed: some whole, some by a function of their elements' indices.

    `create_block_mask` makes one. Blocks are listed row by row: `kv_indices[b, h, i, :kv_num_blocks[b, h, i]]` are the
    columns of those in row i whose elements `mask_mod` decides on, and `full_kv_indices` of those that count whole.

    Parameters
    ----------
    seq_lengths : tuple of int
        How many queries and keys there are.
    kv_num_blocks, kv_indices : Tensor
        The blocks that `mask_mod` decides on.
    full_kv_num_blocks, full_kv_indices : Tensor, optional
        The blocks that count whole.
    q_num_blocks, q_indices, full_q_num_blocks, full_q_indices : Tensor, optional
        The same, column by column.
    BLOCK_SIZE : tuple of int
        Rows and columns of a block.
    mask_mod : callable
        Of indices, see `create_block_mask`.

    Examples
    --------
    >>> flex = opweave.nn.attention.flex_attention
    >>> mask = flex.create_block_mask(lambda b, h, q, kv: q >= kv, 1, 1, 4, 4, BLOCK_SIZE=2)
    >>> mask.to_dense()[0, 0]
    tensor([[1, 0],
            [1, 1]], dtype=opweave.int32)
    """

    _TENSORS = (
        "kv_num_blocks", "kv_indices", "full_kv_num_blocks", "full_kv_indices", "q_num_blocks", "q_indices",
        "full_q_num_blocks", "full_q_indices",
    )  # fmt: skip

    def __init__(
        self, seq_lengths: tuple[int, int], kv_num_blocks: Tensor, kv_indices: Tensor,
        full_kv_num_blocks: Tensor | None, full_kv_indices: Tensor | None, q_num_blocks: Tensor | None,
        q_indices: Tensor | None, full_q_num_blocks: Tensor | None, full_q_indices: Tensor | None,
        BLOCK_SIZE: tuple[int, int] = (DEFAULT_BLOCK_SIZE, DEFAULT_BLOCK_SIZE), mask_mod: MaskMod = noop_mask,
    ) -> None:  # fmt: skip
        if kv_indices.ndim < 2:
            raise ShapeError("BlockMask must have at least 2 dimensions", got=describe(kv_indices))
        pairs = {"full_kv": (full_kv_num_blocks, full_kv_indices), "full_q": (full_q_num_blocks, full_q_indices)}
        for name, (count, indices) in pairs.items():
            if (count is None) != (indices is None):
                raise ArgumentError(
                    f"BlockMask: {name}_num_blocks and {name}_indices must be both provided or omitted",
                    got=f"{name}_num_blocks {'left out' if count is None else 'given'}",
                )
        self.seq_lengths = seq_lengths
        self.kv_num_blocks, self.kv_indices = kv_num_blocks, kv_indices
        self.full_kv_num_blocks, self.full_kv_indices = full_kv_num_blocks, full_kv_indices
        self.q_num_blocks, self.q_indices = q_num_blocks, q_indices
        self.full_q_num_blocks, self.full_q_indices = full_q_num_blocks, full_q_indices
        self.BLOCK_SIZE = BLOCK_SIZE
        self.mask_mod = mask_mod

    @classmethod
    def from_kv_blocks(
        cls, kv_num_blocks: Tensor, kv_indices: Tensor, full_kv_num_blocks: Tensor | None = None,
        full_kv_indices: Tensor | None = None, BLOCK_SIZE: int | tuple[int, int] = DEFAULT_BLOCK_SIZE,
        mask_mod: MaskMod | None = None, seq_lengths: tuple[int, int] | None = None, compute_q_blocks: bool = True,
    ) -> BlockMask:  # fmt: skip
        """A mask of the blocks of each row; those of each column follow.

        Parameters
        ----------
        kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices : Tensor
            Of the blocks.
        BLOCK_SIZE : int or tuple of int
            Rows and columns of a block.
        mask_mod : callable, optional
            Nothing is left out of a block without.
        seq_lengths : tuple of int, optional
            Whole blocks by default.
        compute_q_blocks : bool
            Whether the blocks of each column are listed.
        """
        if kv_indices.ndim < 2:
            raise ShapeError("BlockMask must have at least 2 dimensions", got=describe(kv_indices))
        size = pair(BLOCK_SIZE)
        columns: list[Tensor | None] = [None] * 4
        if compute_q_blocks:
            columns[:2] = ordered(aten.mT.default(dense(kv_num_blocks, kv_indices)))
            if full_kv_num_blocks is not None and full_kv_indices is not None:
                columns[2:] = ordered(aten.mT.default(dense(full_kv_num_blocks, full_kv_indices)))
        if seq_lengths is None:
            seq_lengths = kv_indices._sizes[-2] * size[0], kv_indices._sizes[-1] * size[1]
        return cls(
            seq_lengths, kv_num_blocks, kv_indices, full_kv_num_blocks, full_kv_indices, *columns, BLOCK_SIZE=size,
            mask_mod=noop_mask if mask_mod is None else mask_mod,
        )  # fmt: skip

    def as_tuple(self, flatten: bool = True) -> tuple[Any, ...]:
        """The lengths, the lists of blocks, the size of a block and the function.

        Parameters
        ----------
        flatten : bool
            Whether lengths and sizes stand by themselves.
        """
        lengths, size = self.seq_lengths, self.BLOCK_SIZE
        lists = [getattr(self, name) for name in self._TENSORS]
        if flatten:
            return *lengths, *lists, *size, self.mask_mod
        return lengths, *lists, size, self.mask_mod

    @property
    def shape(self) -> tuple[int, ...]:
        """Of the scores."""
        return *self.kv_indices._sizes[:-2], *self.seq_lengths

    def numel(self) -> int:
        """How many scores there are."""
        return math.prod(self.shape)

    def sparsity(self) -> float:
        """How many percent of the scores are in no block that is computed."""
        blocks = self.kv_num_blocks.sum()  # type: ignore[attr-defined]  # bound from the declarations
        if self.full_kv_num_blocks is not None:
            blocks = blocks + self.full_kv_num_blocks.sum()  # type: ignore[attr-defined]
        return 100 * (1 - blocks.item() * self.BLOCK_SIZE[0] * self.BLOCK_SIZE[1] / self.numel())

    def to_dense(self) -> Tensor:
        """1 for each block that is computed, 0 for the others."""
        found = dense(self.kv_num_blocks, self.kv_indices)
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            found = aten.bitwise_or.Tensor(found, dense(self.full_kv_num_blocks, self.full_kv_indices))
        return found

    def elements(self, decided: Tensor) -> Tensor:
        """Which scores count, where `mask_mod` has decided on each of them.

        Parameters
        ----------
        decided : Tensor
            bool, (batch, heads, queries, keys).
        """
        rows, columns = decided._sizes[-2:]
        found = aten.logical_and.default(
            decided, self._spread(dense(self.kv_num_blocks, self.kv_indices), rows, columns)
        )
        if self.full_kv_num_blocks is not None and self.full_kv_indices is not None:
            whole = self._spread(dense(self.full_kv_num_blocks, self.full_kv_indices), rows, columns)
            found = aten.logical_or.default(found, whole)
        return found

    def _spread(self, blocks: Tensor, rows: int, columns: int) -> Tensor:
        """A number for each block as one for each of its elements."""
        for dim, (size, count) in enumerate(zip(self.BLOCK_SIZE, (rows, columns), strict=True), -2):
            place = aten.div.Tensor_mode(aten.arange.default(count, device=blocks._device), size, rounding_mode="floor")
            blocks = aten.index_select.default(blocks, dim, place)
        return blocks

    def __getitem__(self, index: Any) -> BlockMask:
        """The mask of some batches, heads and rows of blocks, without a `mask_mod`: its indices begin anew."""
        given = index if isinstance(index, tuple) else (index,)
        parts = (*given, slice(None), slice(None), slice(None))[:3]
        sizes = self.kv_num_blocks._sizes
        # Of a number a part of size 1, so that no dimension is lost.
        places = tuple(
            slice(i % n, i % n + 1) if isinstance(i, int) and -n <= i < n else i
            for i, n in zip(parts, sizes, strict=False)
        )
        lists: list[Any] = [self.kv_num_blocks, self.kv_indices, self.full_kv_num_blocks, self.full_kv_indices]
        cut: list[Any] = [None if t is None else t[places] for t in lists]
        return BlockMask.from_kv_blocks(
            *cut, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=sliced_mask_mod,
            seq_lengths=self.seq_lengths, compute_q_blocks=self.q_indices is not None,
        )  # fmt: skip

    def _adjust(self, new_q_len: int, new_kv_len: int) -> BlockMask:
        """The upper left corner, for fewer queries and keys."""
        rows, columns = (
            -(-length // size) for length, size in zip((new_q_len, new_kv_len), self.BLOCK_SIZE, strict=True)
        )

        def cut(count: Any, indices: Any) -> tuple[Any, Any]:
            if count is None:
                return None, None
            return ordered(dense(count, indices)[..., :rows, :columns])

        return BlockMask.from_kv_blocks(
            *cut(self.kv_num_blocks, self.kv_indices), *cut(self.full_kv_num_blocks, self.full_kv_indices),
            BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod, seq_lengths=(new_q_len, new_kv_len),
            compute_q_blocks=self.q_indices is not None,
        )  # fmt: skip

    def to(self, device: Any) -> BlockMask:
        """The same mask on another device."""
        lists: list[Any] = [getattr(self, name) for name in self._TENSORS]
        moved: list[Any] = [None if t is None else t.to(device) for t in lists]
        return BlockMask(self.seq_lengths, *moved, BLOCK_SIZE=self.BLOCK_SIZE, mask_mod=self.mask_mod)

    def to_string(self, grid_size: int | tuple[int, int] = (20, 20), limit: int = 4) -> str:
        """A picture: full where all blocks are computed, empty where none is.

        Parameters
        ----------
        grid_size : int or tuple of int
            The largest number of rows and columns; -1 for all.
        limit : int
            The largest number of batches and heads.
        """
        blocks: Any = self.to_dense()
        *batch, rows, columns = blocks._sizes
        most = (rows, columns) if grid_size == -1 else pair(grid_size)
        steps = max(1, -(-rows // most[0])), max(1, -(-columns // most[1]))
        pictures: list[str] = []
        for number, place in enumerate(itertools.product(*map(range, batch))):
            if number == limit:
                pictures += [
                    "...", "To print out more, set BlockMask.to_string(limit=N)",
                    "You can also index (BlockMask[batch, head]) to choose a specific batch or head",
                ]  # fmt: skip
                break
            lines = [f"{place}"]
            for r in range(0, rows, steps[0]):
                parts = [
                    blocks[place][r : r + steps[0], c : c + steps[1]].float().mean().item()
                    for c in range(0, columns, steps[1])
                ]
                lines.append("".join(("█" if part == 1 else " " if part == 0 else "░") * 2 for part in parts))
            pictures.append("\n".join(lines) + "\n")
        return "\n".join(pictures)

    def __str__(self) -> str:
        return f"BlockMask(shape={self.shape}, sparsity={self.sparsity():.2f}%, \n{self.to_string().strip()}\n)"

    def __repr__(self) -> str:
        def size(t: Tensor | None) -> Any:
            return None if t is None else t.shape

        lists = "".join(f"    {name}={size(getattr(self, name))},\n" for name in self._TENSORS)
        name = getattr(self.mask_mod, "__name__", self.mask_mod)
        return (
            f"BlockMask(\n{lists}    BLOCK_SIZE={self.BLOCK_SIZE},\n    shape={self.shape},\n"
            f"    sparsity={self.sparsity():.2f}%,\n    mask_mod={name}\n)"
        )


def blocks_of(mask: Tensor, size: tuple[int, int], separate_full_blocks: bool) -> tuple[Tensor, Tensor | None]:
    """(blocks that have elements which count, those of which all do), of a mask of elements."""
    if mask._dtype is not bool_:
        raise DTypeError(
            "create_block_mask: mask_mod must give truth values", got=describe(mask), hint="q_idx >= kv_idx"
        )
    rows, columns = mask._sizes[-2:]
    tall, wide = (-(-count // each) for count, each in zip((rows, columns), size, strict=True))
    mask = aten.constant_pad_nd.default(mask, [0, wide * size[1] - columns, 0, tall * size[0] - rows], 0)
    mask = aten.reshape.default(mask, [*mask._sizes[:-2], tall, size[0], wide, size[1]])
    count = aten.sum.dim_IntList(aten._to_copy.default(mask, dtype=int32), [-3, -1])
    some = aten.gt.Scalar(count, 0)
    if not separate_full_blocks:
        return aten._to_copy.default(some, dtype=int8), None
    full = aten.eq.Scalar(count, size[0] * size[1])
    partial = aten.logical_and.default(some, aten.logical_not.default(full))
    return aten._to_copy.default(partial, dtype=int8), aten._to_copy.default(full, dtype=int8)

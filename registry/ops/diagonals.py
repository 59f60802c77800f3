"""Diagonals and triangles of matrices."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes, rows
from opweave.registry.errors import OutOfMemoryError, ShapeError
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import ops
from opweave.registry.ops.creation import tensor
from opweave.registry.ops.kinds import composite, view
from opweave.registry.ops.samples import Make
from opweave.registry.ops.slicing import check_part, placing, put_at
from opweave.registry.ops.view import dims_behind, view_samples
from opweave.registry.spec import contiguous, is_contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, allocate_like, describe

Layout = tuple[tuple[int, ...], tuple[Any, ...], Any]
Sizes = Sequence[int]
aten = ops.aten


# ---- as views ------------------------------------------------------------------------------------------------------


@view("aten::diagonal(Tensor(a) self, int offset=0, int dim1=0, int dim2=1) -> Tensor(a)")
def diagonal(sizes: Sizes, strides: Sequence[Any], offset: Any, shift: int = 0, dim1: int = 0, dim2: int = 1) -> Layout:
    a, b = (wrap_dim(d, len(sizes), "diagonal") for d in (dim1, dim2))
    if a == b:
        raise ShapeError("diagonal: dim1 and dim2 name the same dimension", got=f"dim1={dim1}, dim2={dim2}")
    length = max(min(sizes[a], sizes[b] - shift) if shift >= 0 else min(sizes[a] + shift, sizes[b]), 0)
    if length:
        offset = offset + (shift * strides[b] if shift >= 0 else -shift * strides[a])
    rest = [d for d in range(len(sizes)) if d not in (a, b)]
    return (*(sizes[d] for d in rest), length), (*(strides[d] for d in rest), strides[a] + strides[b]), offset


diagonal.backward(
    self=lambda grad, self_spec, offset, dim1, dim2: ops.aten.diagonal_backward.default(
        grad, self_spec.sizes, offset, dim1, dim2
    )
)


@composite(
    "aten::diagonal_backward(Tensor grad_output, SymInt[] input_sizes, int offset, int dim1, int dim2) -> Tensor",
    explicit=True, kernel=placing(diagonal.rule), outs="out"
)  # fmt: skip
def diagonal_backward(grad_output: Tensor, input_sizes: Sizes, offset: int, dim1: int, dim2: int) -> Tensor:
    aten = ops.aten
    check_part(diagonal.rule, grad_output, input_sizes, offset, dim1, dim2)
    ndim = len(input_sizes)
    a, b = (wrap_dim(d, ndim, "diagonal") for d in (dim1, dim2))
    order = [a, b, *(d for d in range(ndim) if d not in (a, b))]
    steps = aten.arange.start_step(0, grad_output._sizes[-1], device=grad_output._device)
    at, columns = aten.add.Tensor(steps, max(-offset, 0)), aten.add.Tensor(steps, max(offset, 0))
    values = aten.permute.default(grad_output, [ndim - 2, *range(ndim - 2)])
    whole = put_at(values, [input_sizes[d] for d in order], [at, columns])
    return aten.contiguous.default(aten.permute.default(whole, [order.index(d) for d in range(ndim)]))


diagonal_backward.backward(
    grad_output=lambda grad, offset, dim1, dim2: ops.aten.diagonal.default(grad, offset, dim1, dim2)
)


# ---- views of whole batches ----------------------------------------------------------------------------------------


@diagonal.on_batch
def _(whole: Tensor, sizes: Sizes, shift: int, dim1: int, dim2: int) -> Tensor | None:
    if not sizes:
        return None
    one, other = dims_behind("diagonal", sizes, dim1, dim2)
    return ops.aten.diagonal.default(whole, shift, one, other) if one != other else None


# ---- triangles -----------------------------------------------------------------------------------------------------


def _triangle(op: str, self: Tensor, diagonal: int, lower: bool) -> Tensor:
    aten = ops.aten
    if len(self._sizes) < 2:
        raise ShapeError(f"{op}: needs at least 2 dimensions", got=describe(self))
    row, columns = (aten.arange.start_step(0, size, device=self._device) for size in self._sizes[-2:])
    edge = aten.unsqueeze.default(row, -1)
    edge = edge if diagonal == 0 else aten.add.Tensor(edge, diagonal)
    kept = aten.le.Tensor(columns, edge) if lower else aten.ge.Tensor(columns, edge)
    if not is_contiguous(self._sizes, self._strides):
        self = aten.clone.default(self, memory_format=contiguous_format)
    return aten.where.self(kept, self, False if self._dtype.kind == "b" else 0)


#: Rows of a block, of which all but a square is kept whole or not at all.
_BLOCK = 64


def _triangle_of_large(self: Tensor, diagonal: int, lower: bool) -> Tensor | None:
    if self.ndim < 2 or not self._device.is_host or not rows.are_enough(self.numel()):
        return None
    out = allocate_like(contiguous(self._sizes, self._dtype, self._device))
    source, target = self._array, out._array
    if (bits := f"u{self._dtype.itemsize}") != "u16":  # which NumPy copies faster than some types
        source, target = source.view(bits), target.view(bits)
    count, width = self._sizes[-2:]
    for first in range(0, count, _BLOCK):
        last = min(first + _BLOCK, count)
        # Of the first row and the last one of a block, the place behind which it is another part.
        edges = [min(max(row + diagonal + lower, 0), width) for row in (first, last - 1)]
        block = (..., slice(first, last))
        square = (*block, slice(*edges))
        whole, none = slice(0, edges[0]), slice(edges[1], width)
        if not lower:
            whole, none = none, whole
        target[(*block, whole)] = source[(*block, whole)]
        target[(*block, none)] = 0
        target[square] = 0
        places, ends = np.arange(*edges), np.arange(first, last)[:, None] + diagonal
        np.copyto(target[square], source[square], where=places <= ends if lower else places >= ends)
    return out


def _declare_triangle(name: str) -> None:
    lower = name == "tril"

    def of_large(self: Tensor, diagonal: int = 0) -> Tensor | None:
        return _triangle_of_large(self, diagonal, lower)

    @composite(
        f"aten::{name}(Tensor self, SymInt diagonal=0) -> Tensor", explicit=True, of_rows=of_large, outs="out",
        accuracy="rounded"
    )  # fmt: skip
    def triangle(self: Tensor, diagonal: int = 0) -> Tensor:
        return _triangle(name, self, diagonal, lower)

    op = triangle.op
    triangle.backward(self=lambda grad, diagonal: op(grad, diagonal))

    @composite(f"aten::{name}_(Tensor(a!) self, SymInt diagonal=0) -> Tensor(a!)")
    def _(self: Tensor, diagonal: int = 0) -> Tensor:
        return aten.copy_.default(self, op(self, diagonal))


for _name in ("tril", "triu"):
    _declare_triangle(_name)


# ---- as copies -----------------------------------------------------------------------------------------------------


@composite("aten::diag_embed(Tensor self, int offset=0, int dim1=-2, int dim2=-1) -> Tensor")
def diag_embed(self: Tensor, offset: int = 0, dim1: int = -2, dim2: int = -1) -> Tensor:
    """The last dimension as a diagonal of matrices of zeros in two new ones."""
    count = self.ndim + 1
    if not self.ndim:
        raise ShapeError("diag_embed: expected one dimension at least", got=describe(self))
    first, second = (wrap_dim(d, count, "diag_embed") for d in (dim1, dim2))
    if first == second:
        raise ShapeError("diag_embed: the two dimensions must differ", got=f"dim1={dim1}, dim2={dim2}")
    wide = self._sizes[-1] + abs(offset)
    rest = iter(self._sizes[:-1])
    sizes = [wide if d in (first, second) else next(rest) for d in range(count)]
    return aten.diagonal_backward.default(self, sizes, offset, first, second)


@composite("aten::diagflat(Tensor self, int offset=0) -> Tensor")
def diagflat(self: Tensor, offset: int = 0) -> Tensor:
    """A matrix of zeros with all elements on a diagonal."""
    return diag_embed.body(aten.reshape.default(self, [-1]), offset)


@composite("aten::diag(Tensor self, int diagonal=0) -> Tensor", outs="out")
def diag(self: Tensor, diagonal: int = 0) -> Tensor:
    """The diagonal of a matrix, or a matrix of zeros with a vector as its diagonal."""
    if self.ndim == 1:
        return diag_embed.body(self, diagonal)
    if self.ndim != 2:
        raise ShapeError("diag: expected a vector or a matrix", got=describe(self))
    return aten.clone.default(aten.diagonal.default(self, diagonal))


@composite("aten::diagonal_scatter(Tensor self, Tensor src, int offset=0, int dim1=0, int dim2=1) -> Tensor")
def diagonal_scatter(self: Tensor, src: Tensor, offset: int = 0, dim1: int = 0, dim2: int = 1) -> Tensor:
    """A copy with another diagonal."""
    where = aten.diagonal.default(self, offset, dim1, dim2)
    if where._sizes != src._sizes:
        raise ShapeError("diagonal_scatter: expected a tensor of the diagonal's shape", got=describe([where, src]))
    place = list(self._sizes), offset, dim1, dim2
    mask = aten.diagonal_backward.default(aten.ones_like.default(src, dtype=dtypes.bool_), *place)
    spread = aten.diagonal_backward.default(aten._to_copy.default(src, dtype=self._dtype), *place)
    return aten.where.self(mask, spread, self)


@composite("aten::trace(Tensor self) -> Tensor", autocast={"cpu": "fp32"})
def trace(self: Tensor) -> Tensor:
    """The sum of the diagonal of a matrix."""
    if self.ndim != 2:
        raise ShapeError("trace: expected a matrix", got=describe(self))
    return aten.sum.default(aten.diagonal.default(self))


def _indices(name: str, pick: Callable[..., Any]) -> None:
    @composite(
        f"aten::{name}(int row, int col, int offset=0, *, ScalarType? dtype=long, Layout? layout=None,"
        " Device? device=None, bool? pin_memory=None) -> Tensor"
    )
    def body(row: int, col: int, offset: int = 0, *, dtype: Any = None, device: Any = None, **_: Any) -> Tensor:
        if row < 0 or col < 0:
            raise ShapeError(f"{name}: sizes must not be negative", got=f"row={row}, col={col}")
        try:
            found = np.stack(pick(row, col, offset))
        except MemoryError as error:
            raise OutOfMemoryError(f"{name}: no memory for so many indices", got=f"row={row}, col={col}") from error
        return tensor(found, dtype=dtype or dtypes.int64, device=device)


def _counted(op: str, counts: Sequence[tuple[int, int, int]]) -> None:
    """Refuse more indices than memory can hold, before NumPy tries; of rows (how many, in the first, more in each)."""
    total = sum(rows * first + more * rows * (rows - 1) // 2 for rows, first, more in counts)
    if total >= 2**63 // 16:
        raise OutOfMemoryError(f"{op}: too many indices", got=str(total))


def _tril(row: int, col: int, offset: int) -> tuple[Any, Any]:
    """Rows and columns of what lies on and below a diagonal."""
    first = max(0, -offset)  # the first row that has any
    growing = max(0, min(row, col - offset) - first)  # rows that do not reach the last column yet
    whole = max(0, row - first - growing)
    _counted("tril_indices", [(growing, first + offset + 1, 1), (whole, col, 0)])
    lengths = np.concatenate([np.arange(growing, dtype=np.int64) + first + offset + 1, np.full(whole, col)])
    return _spread(lengths, first, np.zeros_like(lengths))


def _triu(row: int, col: int, offset: int) -> tuple[Any, Any]:
    """Rows and columns of what lies on and above a diagonal."""
    whole = max(0, min(row, 1 - offset))  # rows that start with the first column
    falling = max(0, min(row, col - offset) - whole)
    _counted("triu_indices", [(whole, col, 0), (falling, col - whole - offset, -1)])
    starts = np.concatenate([np.zeros(whole, np.int64), np.arange(falling, dtype=np.int64) + whole + offset])
    return _spread(col - starts, 0, starts)


def _spread(lengths: Any, first: int, starts: Any) -> tuple[Any, Any]:
    """Rows of some lengths from `first` on, and columns from where each starts."""
    ends = np.cumsum(lengths)
    total = int(ends[-1]) if ends.size else 0
    rows = np.repeat(np.arange(lengths.size, dtype=np.int64), lengths)
    columns = np.arange(total, dtype=np.int64) - (ends - lengths - starts)[rows]
    return rows + first, columns


_indices("tril_indices", _tril)

_indices("triu_indices", _triu)


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


diagonal.with_samples(view_samples((), (1, 0, 2), (-1, 2, 0), (5,)))


@diagonal_backward.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(3), [3, 3], 0, 0, 1), {}
    yield (make(4, 2), [2, 4, 3], 1, 0, -1), {}
    yield (_turned(make(2, 4)), [2, 4, 3], -1, 2, 0), {}
    yield (make(0), [3, 3], 5, 0, 1), {}


for _decl in (ops.aten.tril.default.decl, ops.aten.triu.default.decl):

    @_decl.with_samples
    def _(make: Make) -> Iterable[Any]:
        yield (make(3, 4),), {}
        yield (make(2, 4, 3), 1), {}
        yield (ops.aten.transpose.int(make(3, 4), 0, 1), -1), {}
        yield (make(0, 2),), {}

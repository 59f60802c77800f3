"""Tensors put together, turned and taken apart: composites of views, pieces and gathers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, OutOfMemoryError, ShapeError
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import ops
from opweave.registry.ops.creation import tensor
from opweave.registry.ops.kinds import composite, declare_copied_back
from opweave.registry.promote import as_element, broadcast_shapes, result_type
from opweave.registry.strided import wrap_dim
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


# ---- at least so many dimensions -----------------------------------------------------------------------------------


@composite("aten::atleast_1d(Tensor self) -> Tensor", own_tags="maybe_aliasing_or_mutating")
def atleast_1d(self: Tensor) -> Tensor:
    """A number as a vector of one."""
    return self if self.ndim else aten.reshape.default(self, [1])


@composite("aten::atleast_2d(Tensor self) -> Tensor", own_tags="maybe_aliasing_or_mutating")
def atleast_2d(self: Tensor) -> Tensor:
    """A vector as a row, a number as a matrix of one."""
    return self if self.ndim > 1 else aten.unsqueeze.default(atleast_1d.body(self), 0)


@composite("aten::atleast_3d(Tensor self) -> Tensor", own_tags="maybe_aliasing_or_mutating")
def atleast_3d(self: Tensor) -> Tensor:
    """With a last dimension of 1 for a matrix, a first one too for a vector."""
    return self if self.ndim > 2 else aten.unsqueeze.default(atleast_2d.body(self), -1)


def _each(schema: str, op: Any) -> None:
    @composite(schema)
    def body(tensors: list[Tensor]) -> list[Tensor]:
        return [op(t) for t in tensors]


for _count in (1, 2, 3):
    _op = getattr(aten, f"atleast_{_count}d").default
    _each(f"aten::atleast_{_count}d.Sequence(Tensor[] tensors) -> Tensor[]", _op)


# ---- pieces --------------------------------------------------------------------------------------------------------


def _declare_split(name: str, least: int, axis: Callable[[Tensor], int]) -> None:
    def checked(self: Tensor) -> int:
        if self.ndim < least:
            raise ShapeError(f"{name}: expected {least} dimensions at least", got=describe(self))
        return axis(self)

    @composite(f"aten::{name}.int(Tensor(a -> *) self, int sections) -> Tensor(a)[]")
    def by_count(self: Tensor, sections: int) -> list[Tensor]:
        dim = checked(self)
        if sections < 1 or self._sizes[dim] % sections:
            raise ShapeError(f"{name}: the dimension does not split into {sections}", got=describe(self))
        return aten.tensor_split.sections(self, sections, dim)

    @composite(f"aten::{name}.array(Tensor(a -> *) self, int[] indices) -> Tensor(a)[]")
    def by_places(self: Tensor, indices: Sequence[int]) -> list[Tensor]:
        return aten.tensor_split.indices(self, list(indices), checked(self))


_declare_split("hsplit", 1, lambda x: 0 if x.ndim == 1 else 1)

_declare_split("vsplit", 2, lambda x: 0)

_declare_split("dsplit", 3, lambda x: 2)


@composite("aten::column_stack(Tensor[] tensors) -> Tensor")
def column_stack(tensors: list[Tensor]) -> Tensor:
    """Side by side, vectors as columns."""
    return aten.hstack.default([t if t.ndim > 1 else aten.reshape.default(t, [-1, 1]) for t in tensors])


@composite("aten::row_stack(Tensor[] tensors) -> Tensor")
def row_stack(tensors: list[Tensor]) -> Tensor:
    """One above the other, vectors as rows."""
    return aten.vstack.default(tensors)


@composite("aten::block_diag(Tensor[] tensors) -> Tensor")
def block_diag(tensors: list[Tensor]) -> Tensor:
    """Matrices along the diagonal, 0 elsewhere."""
    if any(t.ndim > 2 for t in tensors):
        raise ShapeError("block_diag: expected two dimensions at most", got=describe(tensors))
    blocks = [atleast_2d.body(t) for t in tensors]
    if not blocks:
        return aten.empty.memory_format([1, 0])
    total, before, rows = sum(t._sizes[1] for t in blocks), 0, []
    for t in blocks:
        rows.append(aten.constant_pad_nd.default(t, [before, total - before - t._sizes[1]]))
        before += t._sizes[1]
    return aten.cat.default(rows)


@composite("aten::meshgrid.indexing(Tensor[] tensors, *, str indexing) -> Tensor[]")
def meshgrid_indexing(tensors: list[Tensor], *, indexing: str) -> list[Tensor]:
    """Views of each vector over the grid of all; `"xy"` swaps the first two dimensions."""
    if indexing not in ("ij", "xy"):
        raise ShapeError("meshgrid: indexing is 'ij' or 'xy'", got=repr(indexing))
    if not tensors or any(t.ndim > 1 for t in tensors):
        raise ShapeError("meshgrid: expected vectors or numbers", got=describe(tensors))
    if len({t._dtype for t in tensors}) > 1:
        raise DTypeError("meshgrid: expected one dtype", got=describe(tensors))
    lines = list(tensors)
    swap = indexing == "xy" and len(lines) > 1
    if swap:
        lines[0], lines[1] = lines[1], lines[0]
    sizes = [t.numel() for t in lines]
    found = [
        aten.expand.default(aten.view.default(t, [n if d == k else 1 for k in range(len(lines))]), sizes)
        for d, (t, n) in enumerate(zip(lines, sizes, strict=True))
    ]
    if swap:
        found[0], found[1] = found[1], found[0]
    return found


@composite("aten::meshgrid(Tensor[] tensors) -> Tensor[]")
def meshgrid(tensors: list[Tensor]) -> list[Tensor]:
    return meshgrid_indexing.body(tensors, indexing="ij")


@composite("aten::cartesian_prod(Tensor[] tensors) -> Tensor", own_tags="maybe_aliasing_or_mutating")
def cartesian_prod(tensors: list[Tensor]) -> Tensor:
    """All choices of an element of each vector, a row for each."""
    if any(t.ndim != 1 for t in tensors):
        raise ShapeError("cartesian_prod: expected vectors", got=describe(tensors))
    if len(tensors) == 1:
        return tensors[0]
    return aten.stack.default([aten.flatten.using_ints(t) for t in meshgrid.body(tensors)], 1)


@composite("aten::combinations(Tensor self, int r=2, bool with_replacement=False) -> Tensor")
def combinations(self: Tensor, r: int = 2, with_replacement: bool = False) -> Tensor:
    """All choices of r elements, in their order, a row for each."""
    if self.ndim != 1 or r < 0:
        raise ShapeError("combinations: expected a vector, and r from 0 up", got=f"{describe(self)}, r={r}")
    if r == 0:
        return aten.new_empty.default(self, [0])
    choose = itertools.combinations_with_replacement if with_replacement else itertools.combinations
    places = np.array(list(choose(range(int(self._sizes[0])), r)), np.int64).reshape(-1, r)
    return aten.index.Tensor(self, [tensor(places, device=self._device)])


# ---- turned --------------------------------------------------------------------------------------------------------


@composite("aten::fliplr(Tensor self) -> Tensor")
def fliplr(self: Tensor) -> Tensor:
    """The columns backwards."""
    if self.ndim < 2:
        raise ShapeError("fliplr: expected two dimensions at least", got=describe(self))
    return aten.flip.default(self, [1])


@composite("aten::flipud(Tensor self) -> Tensor")
def flipud(self: Tensor) -> Tensor:
    """The rows backwards."""
    if self.ndim < 1:
        raise ShapeError("flipud: expected one dimension at least", got=describe(self))
    return aten.flip.default(self, [0])


@composite("aten::rot90(Tensor self, int k=1, int[] dims=[0, 1]) -> Tensor")
def rot90(self: Tensor, k: int = 1, dims: Sequence[int] = (0, 1)) -> Tensor:
    """Turned by k quarters, from the first of two dimensions towards the second."""
    if len(dims) != 2 or self.ndim < 2:
        raise ShapeError("rot90: expected two dimensions to turn in", got=f"{describe(self)}, dims={list(dims)}")
    first, second = (wrap_dim(d, self.ndim, "rot90") for d in dims)
    if first == second:
        raise ShapeError("rot90: the two dimensions must differ", got=f"dims={list(dims)}")
    quarters = k % 4
    if quarters == 0:
        return aten.clone.default(self, memory_format=contiguous_format)
    if quarters == 2:
        return aten.flip.default(self, [first, second])
    return aten.transpose.int(aten.flip.default(self, [second if quarters == 1 else first]), first, second)


# ---- diagonals -----------------------------------------------------------------------------------------------------


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


@composite("aten::diag(Tensor self, int diagonal=0) -> Tensor")
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


# ---- by number -----------------------------------------------------------------------------------------------------


# A number would do for a tensor too, so this form is looked at first.


@composite(
    "aten::isin.Tensor_Scalar(Tensor elements, Scalar test_element, *, bool assume_unique=False, bool invert=False)"
    " -> Tensor"
)
def isin_number(elements: Tensor, test_element: Any, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    return (aten.ne if invert else aten.eq).Scalar(elements, test_element)


@composite(
    "aten::isin.Tensor_Tensor(Tensor elements, Tensor test_elements, *, bool assume_unique=False, bool invert=False)"
    " -> Tensor"
)
def isin(elements: Tensor, test_elements: Tensor, *, assume_unique: bool = False, invert: bool = False) -> Tensor:
    """Whether each element is among others."""
    tested = aten.reshape.default(test_elements, [-1])
    found = aten.any.dim(aten.eq.Tensor(aten.unsqueeze.default(elements, -1), tested), -1)
    return aten.logical_not.default(found) if invert else found


# ---- sums of products ----------------------------------------------------------------------------------------------


@composite("aten::kron(Tensor self, Tensor other) -> Tensor")
def kron(self: Tensor, other: Tensor) -> Tensor:
    """A block for each element of the first: its product with the second."""
    count = max(self.ndim, other.ndim)
    a, b = ([1] * (count - t.ndim) + list(t._sizes) for t in (self, other))
    left = aten.reshape.default(self, [n for size in a for n in (size, 1)])
    right = aten.reshape.default(other, [n for size in b for n in (1, size)])
    return aten.reshape.default(aten.mul.Tensor(left, right), [m * n for m, n in zip(a, b, strict=True)])


@composite(
    "aten::tensordot(Tensor self, Tensor other, int[] dims_self, int[] dims_other) -> Tensor",
    autocast={"cuda": "promote"},
)
def tensordot(self: Tensor, other: Tensor, dims_self: Sequence[int], dims_other: Sequence[int]) -> Tensor:
    """The sum of products over pairs of dimensions; the other dimensions of the first, then of the second."""
    if len(dims_self) != len(dims_other):
        raise ShapeError("tensordot: expected pairs of dimensions", got=f"{list(dims_self)}, {list(dims_other)}")
    first = [wrap_dim(d, self.ndim, "tensordot") for d in dims_self]
    second = [wrap_dim(d, other.ndim, "tensordot") for d in dims_other]
    x, y = self, other
    for i, j in zip(first, second, strict=True):
        if self._sizes[i] == other._sizes[j]:
            continue
        # A dimension of 1 goes with all elements of the other.
        if other._sizes[j] == 1:
            x = aten.sum.dim_IntList(x, [i], True, dtype=x._dtype)
        elif self._sizes[i] == 1:
            y = aten.sum.dim_IntList(y, [j], True, dtype=y._dtype)
        else:
            raise ShapeError("tensordot: the sizes of a pair differ", got=describe([self, other]))
    own = [d for d in range(x.ndim) if d not in first]
    rest = [d for d in range(y.ndim) if d not in second]
    common = math.prod(x._sizes[d] for d in first)
    rows, columns = [x._sizes[d] for d in own], [y._sizes[d] for d in rest]
    left = aten.reshape.default(aten.permute.default(x, [*own, *first]), [math.prod(rows), common])
    right = aten.reshape.default(aten.permute.default(y, [*second, *rest]), [common, math.prod(columns)])
    return aten.reshape.default(aten.mm.default(left, right), [*rows, *columns])


@composite("aten::inner(Tensor self, Tensor other) -> Tensor")
def inner(self: Tensor, other: Tensor) -> Tensor:
    """The sums of products over the last dimensions."""
    if not self.ndim or not other.ndim:
        return aten.mul.Tensor(self, other)
    if self._sizes[-1] != other._sizes[-1]:
        raise ShapeError("inner: the last sizes differ", got=describe([self, other]))
    return tensordot.body(self, other, [-1], [-1])


@composite("aten::vdot(Tensor self, Tensor other) -> Tensor", autocast={"cuda": "promote"})
def vdot(self: Tensor, other: Tensor) -> Tensor:
    """The sum of products of two vectors, the first conjugated."""
    return aten.dot.default(aten.conj_physical.default(self) if self._dtype.kind == "c" else self, other)


@composite("aten::ger(Tensor self, Tensor vec2) -> Tensor")
def ger(self: Tensor, vec2: Tensor) -> Tensor:
    """All products of two vectors' elements."""
    return aten.outer.default(self, vec2)


@composite("aten::cross(Tensor self, Tensor other, int? dim=None) -> Tensor", autocast={"cuda": "promote"})
def cross(self: Tensor, other: Tensor, dim: int | None = None) -> Tensor:
    """The product of vectors in space, in the first dimension of 3 elements if none is named."""
    if self.ndim != other.ndim:
        raise ShapeError("cross: expected tensors with as many dimensions", got=describe([self, other]))
    sizes = broadcast_shapes("cross", self._sizes, other._sizes)
    found = next((d for d, n in enumerate(sizes) if n == 3), None) if dim is None else wrap_dim(dim, self.ndim, "cross")
    if found is None or self._sizes[found] != 3 or other._sizes[found] != 3:
        raise ShapeError("cross: expected 3 elements in the dimension", got=f"dim={dim} of {describe([self, other])}")
    a, b = (aten.expand.default(t, list(sizes)) for t in (self, other))

    def turned(t: Tensor, by: int) -> Tensor:
        return aten.roll.default(t, [-by], [found])

    return aten.sub.Tensor(
        aten.mul.Tensor(turned(a, 1), turned(b, 2)), aten.mul.Tensor(turned(a, 2), turned(b, 1))
    )  # fmt: skip


@composite("aten::vander(Tensor x, int? N=None, bool increasing=False) -> Tensor")
def vander(x: Tensor, N: int | None = None, increasing: bool = False) -> Tensor:
    """The powers of each element, a row for each, the highest first."""
    count = x._sizes[0] if N is None and x.ndim == 1 else N
    if x.ndim != 1 or count is None or count < 0:
        raise ShapeError("vander: expected a vector, and N from 0 up", got=f"{describe(x)}, N={N}")
    dtype = dtypes.int64 if x._dtype.kind in "biu" else x._dtype
    wide = aten.expand.default(aten.unsqueeze.default(aten._to_copy.default(x, dtype=dtype), 1), [x._sizes[0], count])
    ones = aten.ones_like.default(aten.slice.Tensor(wide, 1, 0, 1))
    powers = aten.cumprod.default(aten.cat.default([ones, aten.slice.Tensor(wide, 1, 1)], 1), 1)
    return powers if increasing else aten.flip.default(powers, [1])


def _combined(op: str, self: Any, product: Any, beta: Any, alpha: Any) -> Tensor:
    dtype = result_type(self, product)
    beta, alpha = as_element(op, beta, dtype), as_element(op, alpha, dtype)
    scaled = product if alpha == 1 else product * alpha
    if beta == 0:
        return aten.expand.default(scaled, list(broadcast_shapes("add", self._sizes, scaled._sizes)))
    return (self if beta == 1 else self * beta) + scaled


@composite(
    "aten::addr(Tensor self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    autocast={"cuda": "lower_precision_fp"},
)
def addr(self: Tensor, vec1: Tensor, vec2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta x + alpha v wᵀ; where beta is 0, x does not count."""
    return _combined("addr", self, aten.outer.default(vec1, vec2), beta, alpha)


@composite(
    "aten::addbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    autocast="lower_precision_fp",
)
def addbmm(self: Tensor, batch1: Tensor, batch2: Tensor, *, beta: Any = 1, alpha: Any = 1) -> Tensor:
    """beta x + alpha Σ a b over a batch; where beta is 0, x does not count."""
    return _combined("addbmm", self, aten.sum.dim_IntList(aten.bmm.default(batch1, batch2), [0]), beta, alpha)


for _schema, _decl in (
    ("addr_(Tensor(a!) self, Tensor vec1, Tensor vec2, *, Scalar beta=1, Scalar alpha=1)", addr),
    ("addbmm_(Tensor(a!) self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1)", addbmm),
):  # fmt: skip
    declare_copied_back(f"aten::{_schema} -> Tensor(a!)", _decl)


# ---- as functions of the package -----------------------------------------------------------------------------------


def _listed(tensors: tuple[Any, ...]) -> list[Tensor]:
    """Tensors written out, or in one list."""
    return list(tensors[0]) if len(tensors) == 1 and isinstance(tensors[0], (list, tuple)) else list(tensors)


def _all_or_one(packet: Any) -> Callable[..., Any]:
    def function(*tensors: Any) -> Any:
        if len(tensors) == 1 and isinstance(tensors[0], Tensor):
            return packet.default(tensors[0])
        return tuple(packet.default(t) for t in _listed(tensors))

    function.__name__ = packet.opname
    return function


def _written_out(packet: Any) -> Callable[..., Tensor]:
    def function(*tensors: Any) -> Tensor:
        return packet.default(_listed(tensors))

    function.__name__ = packet.opname
    return function


def meshgrid_function(*tensors: Any, indexing: str = "ij") -> tuple[Tensor, ...]:
    """Views of each vector over the grid of all; `"xy"` swaps the first two dimensions."""
    return tuple(aten.meshgrid.indexing(_listed(tensors), indexing=indexing))


def broadcast_tensors(*tensors: Any) -> tuple[Tensor, ...]:
    """The tensors as views of their common shape."""
    return tuple(aten.broadcast_tensors.default(_listed(tensors)))


def broadcast_shapes_function(*shapes: Any) -> tuple[int, ...]:
    """The shape that tensors of these shapes have together; an int is a shape of one size."""
    sizes: tuple[int, ...] = ()
    for shape in shapes:
        sizes = broadcast_shapes("broadcast_shapes", sizes, (shape,) if isinstance(shape, int) else tuple(shape))
    return sizes


def tensordot_function(a: Tensor, b: Tensor, dims: Any = 2) -> Tensor:
    """The sum of products over the last dimensions of one and the first of the other, or over pairs of them.

    Parameters
    ----------
    a, b : Tensor
    dims : int or (list of int, list of int)
        How many, or which of each.
    """
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, (list, tuple)):
        first, second = ([d] if isinstance(d, int) else list(d) for d in dims)
        return aten.tensordot.default(a, b, first, second)
    if not 0 <= dims <= min(a.ndim, b.ndim):
        raise ShapeError("tensordot: more dimensions than there are", got=f"dims={dims}, {describe([a, b])}")
    return aten.tensordot.default(a, b, list(range(a.ndim - dims, a.ndim)), list(range(dims)))


def unravel_index(indices: Any, shape: Any) -> tuple[Tensor, ...]:
    """The index along each dimension of elements that are counted in a tensor of this shape."""
    sizes = [shape] if isinstance(shape, int) else list(shape)
    if indices._dtype.kind not in "iu":
        raise DTypeError("unravel_index: expected whole numbers", got=describe(indices))
    if any(n < 0 for n in sizes):
        raise ShapeError("unravel_index: sizes must not be negative", got=f"shape={sizes}")
    found = []
    for n in reversed(sizes):
        found.append(indices % n)
        indices = indices // n
    return tuple(reversed(found))


#: What takes its tensors written out, or has another signature than the op.
FUNCTIONS: dict[str, Any] = {
    **{name: _all_or_one(getattr(aten, name)) for name in ("atleast_1d", "atleast_2d", "atleast_3d")},
    **{name: _written_out(getattr(aten, name)) for name in ("block_diag", "cartesian_prod")},
    "meshgrid": meshgrid_function, "broadcast_tensors": broadcast_tensors, "tensordot": tensordot_function,
    "broadcast_shapes": broadcast_shapes_function, "unravel_index": unravel_index,
}  # fmt: skip

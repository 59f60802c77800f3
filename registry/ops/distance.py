"""Norms, and distances: between tensors, vectors and the rows of matrices.

NaN in a row makes its distances NaN, in each norm (PyTorch's `cdist` leaves it out where p is infinite).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.hooks import Hook
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded
from opweave.registry.ops.kinds import composite, normalize_axes
from opweave.registry.ops.kinds.reduced_rows import reduced
from opweave.registry.ops.reduction import dims_of, kept_dims, shared_out
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import as_element, broadcast_shapes, result_type
from opweave.registry.rows import RowProgram, are_enough, row_program
from opweave.registry.spec import contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
aten = ops.aten


# ---- norms ---------------------------------------------------------------------------------------------------------


@row_program("rows")
def _squares_of_row(k: Any, x: Any) -> list[Any]:
    return [k.sum(x * x)]


@row_program("rows")
def _sizes_of_row(k: Any, x: Any) -> list[Any]:
    return [k.sum(k.abs(x))]


@row_program("rows")
def _largest_of_row(k: Any, x: Any) -> list[Any]:
    return [k.max(k.abs(x))]


#: By order: the program of a row, how parts are combined, and what is done in the end.
_NORMS_OF_ROWS: dict[float, tuple[RowProgram, str, Any]] = {
    2: (_squares_of_row, "sum", np.sqrt), 1: (_sizes_of_row, "sum", np.positive),
    math.inf: (_largest_of_row, "max", np.positive),
}  # fmt: skip


def _vector_norm_of_rows(
    self: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor | None:
    known = _NORMS_OF_ROWS.get(ord) if type(ord) in (int, float) else None
    if known is None or not are_enough(self.numel()) or self._dtype.kind != "f" or dtype not in (None, self._dtype):
        return None
    program, combine, finish = known
    axes = normalize_axes(dim, self.ndim, "linalg_vector_norm")
    return reduced(program, combine, [self], axes, keepdim, self._dtype, finish)


@composite(
    "aten::linalg_vector_norm(Tensor self, Scalar ord=2, int[1]? dim=None, bool keepdim=False, *,"
    " ScalarType? dtype=None) -> Tensor",
    explicit=True,
    of_rows=_vector_norm_of_rows,
    tags="reduction",
    autocast={"cuda": "fp32_set_opt_dtype"},
    outs="out",
)
def linalg_vector_norm(
    self: Tensor, ord: float = 2, dim: Any = None, keepdim: bool = False, dtype: DType | None = None
) -> Tensor:
    if self._dtype.kind not in "fc":
        raise DTypeError("linalg_vector_norm: expected a floating or complex type", got=describe(self))
    if dtype is not None and (dtype.kind != self._dtype.kind or result_type(self._dtype, dtype) is not dtype):
        raise DTypeError(
            f"linalg_vector_norm: {self._dtype.name} does not become {dtype.name} without loss", got=describe(self),
            hint="dtype is a type as wide as the input's, real or complex as that is",
        )  # fmt: skip
    ord = as_element("linalg_vector_norm", ord, dtypes.float64)
    wide = (dtype or self._dtype).compute
    result = (dtype or self._dtype).to_real()
    axes = list(normalize_axes(dim, self.ndim, "linalg_vector_norm"))
    size = ops.aten.abs.default(rounded(self, wide))
    if math.isinf(ord):
        return rounded((ops.aten.amax if ord > 0 else ops.aten.amin).default(size, axes, keepdim), result)
    if ord == 0:
        nonzero = rounded(ops.aten.ne(size, 0), result.compute)
        return rounded(ops.aten.sum.dim_IntList(nonzero, axes, keepdim), result)
    if ord == 1:
        return rounded(ops.aten.sum.dim_IntList(size, axes, keepdim), result)
    powers = ops.aten.mul.Tensor(size, size) if ord == 2 else ops.aten.pow(size, ord)
    total = ops.aten.sum.dim_IntList(powers, axes, keepdim)
    root = ops.aten.sqrt.default(total) if ord == 2 else ops.aten.pow(total, 1 / ord)
    return rounded(root, result)


@composite("aten::dist(Tensor self, Tensor other, Scalar p=2) -> Tensor", autocast={"cuda": "fp32"})
def dist(self: Tensor, other: Tensor, p: Any = 2) -> Tensor:
    """The p-norm of the difference."""
    difference = aten.sub.Tensor(self, other)
    if difference._dtype.kind == "c":
        difference = aten.abs.default(difference)
    return aten.linalg_vector_norm.default(difference, p)


def norm(
    input: Tensor, p: float | str | None = "fro", dim: Any = None, keepdim: bool = False, out: Tensor | None = None,
    dtype: DType | None = None,
) -> Tensor:  # fmt: skip
    """The p-norm of all elements, or of those in some dimensions.

    Parameters
    ----------
    input : Tensor
    p : float or str, optional
        A number, `"fro"`, which is 2, or `"nuc"`, the sum of the singular values of the matrices in two dimensions.
    dim : int or sequence of int, optional
        All by default.
    keepdim : bool
        Keep these dimensions, of size 1.
    out : Tensor, optional
        Where to write the result.
    dtype : DType, optional
        The type to convert to first.

    Raises
    ------
    ArgumentError
        If p is another string.

    Examples
    --------
    >>> opweave.norm(opweave.tensor([3.0, 4.0]))
    tensor(5.)
    """
    if isinstance(p, str) and p not in ("fro", "nuc"):
        raise ArgumentError("norm: p is a number, 'fro' or 'nuc'", got=f"p={p!r}")
    x = input
    if p == "nuc":
        dims = [0, 1] if dim is None else dims_of(dim)
        made = {"dtype": dtype} if out is None else {"dtype": dtype, "out": out}
        matrix_norm = aten.linalg_matrix_norm
        return (matrix_norm.str_ord if out is None else matrix_norm.str_ord_out)(x, "nuc", dims, keepdim, **made)
    order = 2 if p is None or isinstance(p, str) else p
    if x._dtype.kind == "c":
        x = aten.abs.default(x if dtype is None else aten._to_copy.default(x, dtype=dtype))
        dtype = None
    if out is not None:
        return aten.linalg_vector_norm.out(x, order, dims_of(dim), keepdim, dtype=dtype, out=out)
    return aten.linalg_vector_norm.default(x, order, dims_of(dim), keepdim, dtype=dtype)


# ---- distances of vectors ------------------------------------------------------------------------------------------


@composite("aten::pairwise_distance(Tensor x1, Tensor x2, float p=2, float eps=1e-06, bool keepdim=False) -> Tensor")
def pairwise_distance(x1: Tensor, x2: Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False) -> Tensor:
    """The p-norm of x1 - x2 + eps over the last dimension."""
    difference = aten.add.Scalar(aten.sub.Tensor(x1, x2), eps)
    if difference._dtype.kind == "c":
        difference = aten.abs.default(difference)
    return aten.linalg_vector_norm.default(difference, p, [-1], keepdim)


@composite(
    "aten::cosine_similarity(Tensor x1, Tensor x2, int dim=1, float eps=1e-08) -> Tensor", autocast={"cuda": "fp32"}
)
def cosine_similarity(x1: Tensor, x2: Tensor, dim: int = 1, eps: float = 1e-8) -> Tensor:
    """x1 · x2 / (|x1| |x2|) over a dimension; a norm below eps counts as eps, and is differentiated as it is."""
    dtype = result_type(x1, x2)
    if dtype.kind != "f":
        raise DTypeError("cosine_similarity: expected floating types", got=describe([x1, x2]))
    sized = []
    for x in aten.broadcast_tensors.default([rounded(x1, dtype), rounded(x2, dtype)]):
        norm = aten.linalg_vector_norm.default(x, 2, [dim], True)
        # Of a norm that overflows nothing is missing.
        missing = aten.detach.default(aten.clamp_min.default(aten.rsub.Scalar(norm, eps), 0))
        sized.append(aten.div.Tensor(x, aten.add.Tensor(norm, missing)))
    return aten.sum.dim_IntList(aten.mul.Tensor(*sized), [dim])


#: Writes the distances of rows of arrays, in the norm of 0, 1, 2 or infinity; False where there is no code for that.
#: `opweave` supplies it.
native: Hook[[Any, Any, Any, float], bool] = Hook()
#: Elements of differences from which on it is worth being asked.
_LEAST = 1 << 10
#: Elements of a difference that the eager kernels hold at a time.
_AT_ONCE = 1 << 20


def _check(op: str, p: float, *tensors: Tensor) -> None:
    for t in tensors:
        if t._dtype not in (dtypes.float32, dtypes.float64) or t._dtype is not tensors[0]._dtype:
            raise DTypeError(f"{op}: expected float32 or float64, one type for all", got=describe(list(tensors)))
    if not p >= 0:
        raise ShapeError(f"{op}: p must not be negative", got=f"p={p}")


# ---- norms of differences ------------------------------------------------------------------------------------------


def _norm(difference: Tensor, p: float) -> Tensor:
    """The p-norm over the last dimension; for p = 0 the number of elements other than 0."""
    aten = ops.aten
    if difference._sizes[-1] == 0:
        return aten.new_zeros.default(difference, list(difference._sizes[:-1]))
    size = aten.abs.default(difference)
    if p == 0:
        # By ceil, so that NaN stays what it is.
        return aten.sum.dim_IntList(aten.clamp_max.default(aten.ceil.default(size), 1), [-1])
    if math.isinf(p):
        return aten.amax.default(size, [-1])
    if p == 1:
        return aten.sum.dim_IntList(size, [-1])
    if p == 2:
        return aten.sqrt.default(aten.sum.dim_IntList(aten.mul.Tensor(size, size), [-1]))
    return aten.pow(aten.sum.dim_IntList(aten.pow(size, p), [-1]), 1 / p)


def _norm_of_arrays(xp: Any, mine: Any, theirs: Any, p: float) -> Any:
    with np.errstate(all="ignore"):
        size = mine - theirs
        xp.abs(size, out=size)
        if p == 0:
            return xp.minimum(xp.ceil(size), 1).sum(axis=-1)
        if math.isinf(p):
            return size.max(axis=-1)
        if p == 1:
            return size.sum(axis=-1)
        if p == 2:
            return xp.sqrt(xp.einsum("...i,...i->...", size, size))
        return xp.power(xp.power(size, p).sum(axis=-1), 1 / p)


def _slope(difference: Tensor, norm: Tensor, p: float) -> Tensor:
    """The derivative of the norm by each element of the difference; where the norm is 0, it counts as 0."""
    aten = ops.aten
    norm = aten.unsqueeze.default(norm, -1)
    if p == 0:
        return aten.zeros_like.default(difference)
    sign = aten.sign.default(difference)
    if p == 1:
        return sign
    size = aten.abs.default(difference)
    if math.isinf(p):
        return aten.masked_fill.Scalar(sign, aten.ne.Tensor(size, norm), 0)
    nothing = aten.eq.Scalar(norm, 0)
    if p == 2:
        return aten.masked_fill.Scalar(aten.div.Tensor(difference, norm), nothing, 0)
    slope = aten.div.Tensor(aten.mul.Tensor(sign, aten.pow(size, p - 1)), aten.pow(norm, p - 1))
    if p < 1:
        nothing = aten.logical_or.default(nothing, aten.eq.Scalar(difference, 0))
    return aten.masked_fill.Scalar(slope, nothing, 0)


# ---- between two sets of rows --------------------------------------------------------------------------------------


def _check_pair(op: str, x1: Tensor, x2: Tensor, p: float) -> tuple[int, ...]:
    """Sizes of the batch."""
    _check(op, p, x1, x2)
    if x1.ndim < 2 or x2.ndim < 2 or x1._sizes[-1] != x2._sizes[-1]:
        raise ShapeError(f"{op}: expected matrices, or batches of them, with as many columns", got=describe([x1, x2]))
    return broadcast_shapes(op, x1._sizes[:-2], x2._sizes[:-2])


def _check_mode(op: str, compute_mode: int | None) -> None:
    if compute_mode not in (None, 0, 1, 2):
        raise ShapeError(f"{op}: compute_mode is 0, 1 or 2", got=repr(compute_mode))


def _cdist_kernel(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    batch = _check_pair("cdist", x1, x2, p)
    _check_mode("cdist", compute_mode)
    (rows, width), columns = x1._sizes[-2:], x2._sizes[-2]
    out = allocate_like(contiguous((*batch, rows, columns), x1._dtype, x1._device))
    if not width:
        out._array[...] = 0
        return out
    if not out.numel():
        return out
    xp = x1._device.xp
    step = max(1, _AT_ONCE // (math.prod(batch) * columns * width))
    if p in (0, 1, 2, math.inf) and native.call is not None and out._device is cpu:
        if out.numel() * width >= _LEAST and native.call(x1._array, x2._array, out._array, p):
            return out
    theirs = x2._array[..., None, :, :]
    for start in range(0, rows, step):
        mine = x1._array[..., start : start + step, None, :]
        out._array[..., start : start + step, :] = _norm_of_arrays(xp, mine, theirs, p)
    return out


@composite(
    "aten::_cdist_forward(Tensor x1, Tensor x2, float p, int? compute_mode) -> Tensor", explicit=True,
    kernel=_cdist_kernel, outs="out"
)  # fmt: skip
def _cdist_forward(x1: Tensor, x2: Tensor, p: float, compute_mode: int | None) -> Tensor:
    """The distance of each row of one matrix from each row of another; always from the differences themselves."""
    batch = _check_pair("cdist", x1, x2, p)
    _check_mode("cdist", compute_mode)
    found = _norm(_differences(x1, x2), p)
    return ops.aten.contiguous.default(ops.aten.expand.default(found, [*batch, x1._sizes[-2], x2._sizes[-2]]))


def _differences(x1: Tensor, x2: Tensor) -> Tensor:
    return ops.aten.sub.Tensor(ops.aten.unsqueeze.default(x1, -2), ops.aten.unsqueeze.default(x2, -3))


@composite(
    "aten::_cdist_backward(Tensor grad, Tensor x1, Tensor x2, float p, Tensor cdist) -> Tensor",
    explicit=True,
    outs="out",
)
def _cdist_backward(grad: Tensor, x1: Tensor, x2: Tensor, p: float, cdist: Tensor) -> Tensor:
    """The gradient of the first matrix, from that of the distances."""
    aten = ops.aten
    batch = _check_pair("_cdist_backward", x1, x2, p)
    if x1._sizes[-1] == 0 or x2._sizes[-2] == 0:
        return aten.new_zeros.default(x1, [*batch, *x1._sizes[-2:]])
    slope = _slope(_differences(x1, x2), cdist, p)
    return aten.sum.dim_IntList(aten.mul.Tensor(aten.unsqueeze.default(grad, -1), slope), [-2])


def _turned(t: Tensor) -> Tensor:
    return ops.aten.transpose.int(t, -2, -1)


_cdist_forward.backward(
    x1=lambda grad, x1, x2, p, result: ops.aten._cdist_backward.default(grad, x1, x2, p, result),
    x2=lambda grad, x1, x2, p, result: ops.aten._cdist_backward.default(_turned(grad), x2, x1, p, _turned(result)),
)


@composite("aten::cdist(Tensor x1, Tensor x2, float p=2, int? compute_mode=None) -> Tensor", autocast="fp32")
def cdist(x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: int | None = None) -> Tensor:
    return ops.aten._cdist_forward.default(x1, x2, p, compute_mode)


# ---- between the rows of one matrix --------------------------------------------------------------------------------


def _check_rows(op: str, self: Tensor, p: float) -> int:
    """How many pairs of rows there are."""
    _check(op, p, self)
    if self.ndim != 2:
        raise ShapeError(f"{op}: expected a matrix", got=describe(self))
    rows = self._sizes[0]
    return rows * (rows - 1) // 2


def _pdist_kernel(self: Tensor, p: float = 2.0) -> Tensor:
    count = _check_rows("pdist", self, p)
    out = allocate_like(contiguous((count,), self._dtype, self._device))
    rows, width = self._sizes
    if not width:
        out._array[...] = 0
        return out
    start = 0
    for i in range(rows - 1):
        end = start + rows - 1 - i
        out._array[start:end] = _norm_of_arrays(self._device.xp, self._array[i], self._array[i + 1 :], p)
        start = end
    return out


def _pairs(self: Tensor, count: int) -> tuple[Tensor, Tensor]:
    """The two rows of each pair, in the order (0, 1), (0, 2), ... (1, 2), ..."""
    aten = ops.aten
    rows = self._sizes[0]
    pair = aten.arange.default(count, dtype=dtypes.int64, device=self._device)
    # Row r starts at r (2 n - r - 1) / 2; its inverse by a square root is off by one row at most.
    wide = aten._to_copy.default(pair, dtype=dtypes.float64)
    middle = 2 * rows - 1
    under = aten.clamp_min.default(aten.add.Tensor(aten.mul.Tensor(wide, -8), middle * middle), 0)
    guess = aten.mul.Tensor(aten.add.Tensor(aten.neg.default(aten.sqrt.default(under)), middle), 0.5)
    first = aten._to_copy.default(aten.floor.default(guess), dtype=dtypes.int64)

    def start(row: Tensor) -> Tensor:
        twice = aten.mul.Tensor(row, aten.add.Tensor(aten.neg.default(row), middle))
        return aten.floor_divide.default(twice, 2)

    too_far = aten._to_copy.default(aten.gt.Tensor(start(first), pair), dtype=dtypes.int64)
    first = aten.sub.Tensor(first, too_far)
    too_near = aten.le.Tensor(start(aten.add.Tensor(first, 1)), pair)
    first = aten.add.Tensor(first, aten._to_copy.default(too_near, dtype=dtypes.int64))
    second = aten.add.Tensor(aten.add.Tensor(aten.sub.Tensor(pair, start(first)), first), 1)
    return first, second


def _pair_differences(self: Tensor, first: Tensor, second: Tensor) -> Tensor:
    aten = ops.aten
    return aten.sub.Tensor(aten.index.Tensor(self, [first]), aten.index.Tensor(self, [second]))


@composite("aten::_pdist_forward(Tensor self, float p=2) -> Tensor", explicit=True, kernel=_pdist_kernel, outs="out")
def _pdist_forward(self: Tensor, p: float = 2.0) -> Tensor:
    """The distance of each row from each after it."""
    count = _check_rows("pdist", self, p)
    if self._sizes[0] < 2 or self._sizes[1] == 0:
        return ops.aten.new_zeros.default(self, [count])
    return _norm(_pair_differences(self, *_pairs(self, count)), p)


@composite(
    "aten::_pdist_backward(Tensor grad, Tensor self, float p, Tensor pdist) -> Tensor", explicit=True, outs="out"
)  # fmt: skip
def _pdist_backward(grad: Tensor, self: Tensor, p: float, pdist: Tensor) -> Tensor:
    aten = ops.aten
    count = _check_rows("_pdist_backward", self, p)
    nothing = aten.new_zeros.default(self, list(self._sizes))
    if self._sizes[0] < 2 or self._sizes[1] == 0:
        return nothing
    first, second = _pairs(self, count)
    share = aten.mul.Tensor(aten.unsqueeze.default(grad, -1), _slope(_pair_differences(self, first, second), pdist, p))
    found = aten.index_put.default(nothing, [first], share, True)
    return aten.index_put.default(found, [second], aten.neg.default(share), True)


_pdist_forward.backward(self=lambda grad, self, p, result: ops.aten._pdist_backward.default(grad, self, p, result))


@composite("aten::pdist(Tensor self, float p=2) -> Tensor", autocast={"cuda": "fp32"})
def pdist(self: Tensor, p: float = 2.0) -> Tensor:
    return ops.aten._pdist_forward.default(ops.aten.contiguous.default(self), p)


# ---- gradients -----------------------------------------------------------------------------------------------------


@linalg_vector_norm.backward
def _norm_backward(
    grad: Tensor, self: Tensor, result: Tensor, ord: float, dim: Any, keepdim: bool
) -> tuple[Tensor | None]:
    aten = ops.aten
    if ord == 0:
        return (None,)
    axes = list(normalize_axes(dim, self.ndim, "linalg_vector_norm"))
    grad, norm = (kept_dims(t, self._sizes, axes, keepdim) for t in (grad, result))
    self = rounded(self, norm._dtype.to_complex() if self._dtype.is_complex else norm._dtype)
    sign = (aten.sgn if self._dtype.is_complex else aten.sign).default(self)
    if ord == 1:
        return (aten.mul.Tensor(grad, sign),)
    if math.isinf(ord):
        size = aten.abs.default(self)
        chosen = aten.logical_or.default(aten.eq.Tensor(size, norm), aten.isnan.default(size))
        return (aten.mul.Tensor(shared_out(grad, chosen, axes), sign),)
    is_zero = aten.eq.Scalar(norm, 0)
    if ord == 2:
        slope = aten.masked_fill.Scalar(aten.div.Tensor(self, norm), is_zero, 0)
    else:
        powers = aten.pow(aten.abs.default(self), ord - 1)
        if ord < 1:
            powers = aten.masked_fill.Scalar(powers, aten.eq.Scalar(self, 0), 0)
        slope = aten.div.Tensor(aten.mul.Tensor(sign, powers), aten.pow(norm, ord - 1))
        slope = aten.masked_fill.Scalar(slope, is_zero, 0)
    return (aten.mul.Tensor(grad, slope),)


# ---- functions of the package --------------------------------------------------------------------------------------


_COMPUTE_MODES: dict[Any, int | None] = {
    "use_mm_for_euclid_dist_if_necessary": None, "use_mm_for_euclid_dist": 1, "donot_use_mm_for_euclid_dist": 2,
}  # fmt: skip


def cdist_function(
    x1: Tensor, x2: Tensor, p: float = 2.0, compute_mode: str | int | None = "use_mm_for_euclid_dist_if_necessary"
) -> Tensor:
    """The distance of each row of one matrix from each of the other.

    Parameters
    ----------
    x1, x2 : Tensor
        (..., rows, n) and (..., others, n)
    p : float
        Of the norm.
    compute_mode : str, int or None
        How PyTorch may compute it, or the number that its op has for that; here there is one way.

    Examples
    --------
    >>> opweave.cdist(opweave.tensor([[0.0, 0.0]]), opweave.tensor([[3.0, 4.0]]))
    tensor([[5.]])
    """
    mode: Any = _COMPUTE_MODES.get(compute_mode, compute_mode)
    if isinstance(mode, str):
        raise ArgumentError(
            f"cdist: {compute_mode} is not a valid value for compute_mode", hint=", ".join(_COMPUTE_MODES)
        )
    return aten.cdist.default(x1, x2, p, mode)


#: A function of the package, and method, that is more than its op.
METHODS: dict[str, Callable[..., Any]] = {"norm": norm}
#: A function of the package whose op takes a number for a name.
FUNCTIONS: dict[str, Callable[..., Any]] = {"cdist": cdist_function}


# ---- samples -------------------------------------------------------------------------------------------------------


for _decl in (linalg_vector_norm,):
    _decl.sample_dtypes = (*_FLOATING, dtypes.complex64)


@linalg_vector_norm.with_samples
def _(make: Make) -> Samples:
    for order in (2, 1, 0, math.inf, -math.inf, 3):
        yield (make(4, 5), order), {}
        yield (make(4, 5), order, [1], True), {}
    x = make(4, 5)
    yield (x, 2, [0]), {"dtype": dtypes.complex128 if x._dtype.is_complex else dtypes.float64}


@pairwise_distance.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 4), make(3, 4, low=0.5, high=2.0)), {}
    yield (make(2, 3, 4), make(4), 1.0, 1e-6, True), {}
    yield (make(4), make(4, low=0.5, high=2.0), 3.0), {}


@cosine_similarity.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 4), make(3, 4, low=0.5, high=2.0)), {}
    yield (make(2, 3, 4), make(3, 4), -1), {}
    yield (make(3, 4), make(3, 4, low=0.5, high=2.0), 0, 20.0), {}


for _decl in (pairwise_distance, cosine_similarity):
    _decl.sample_dtypes = _FLOATING

_TYPES = (dtypes.float32, dtypes.float64)

_ORDERS = (2.0, 0.0, 1.0, 1.5, 3.0, math.inf)


@_cdist_forward.with_samples
def _(make: Make) -> Samples:
    for p in _ORDERS:
        yield (make(4, 3), make(5, 3), p, None), {}
        yield (make(2, 4, 3), make(5, 3), p, 2), {}
    yield (make(2, 1, 4, 3), make(3, 5, 3), 2.0, 1), {}
    yield (make(4, 0), make(5, 0), 2.0, None), {}
    yield (make(0, 3), make(5, 3), 1.0, None), {}


@cdist.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3), make(5, 3)), {}
    yield (make(2, 4, 3), _turned(make(3, 5)), 1.0), {}


@_pdist_forward.with_samples
def _(make: Make) -> Samples:
    for p in _ORDERS:
        yield (make(5, 3), p), {}
    for sizes in ((1, 3), (4, 0), (2, 1)):  # no rows at all end PyTorch's process in the gradient
        yield (make(*sizes),), {}


@pdist.with_samples
def _(make: Make) -> Samples:
    yield (make(5, 3),), {}
    yield (_turned(make(3, 5)), 1.0), {}


@_cdist_backward.with_samples
def _(make: Make) -> Samples:
    for p in _ORDERS if make()._dtype in _TYPES else ():
        x1, x2 = make(4, 3), make(5, 3)
        yield (make(4, 5), x1, x2, p, _cdist_forward(x1, x2, p, None)), {}


@_pdist_backward.with_samples
def _(make: Make) -> Samples:
    for p in _ORDERS if make()._dtype in _TYPES else ():
        x = make(5, 3)
        yield (make(10), x, p, _pdist_forward(x, p)), {}


for _decl in (_cdist_forward, _cdist_backward, cdist, _pdist_forward, _pdist_backward, pdist):
    _decl.sample_dtypes = _TYPES

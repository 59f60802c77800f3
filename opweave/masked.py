"""Reductions and normalizations of the elements that a mask leaves: the functions of `torch.masked`.

    opweave.masked.mean(x, 1, mask=x > 0)

A mask is a bool tensor that broadcasts to the input; where it is false an element takes no part. Reductions of nothing
give what the operation begins with (0 for `sum`, -inf for `amax`), normalizations NaN or 0. Without a mask all elements
take part.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.dtypes import DType, bool_, int64
from opweave.registry.errors import DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.ops.kinds import normalize_axes
from opweave.registry.tensor import Tensor, describe

__all__ = [
    "amax", "amin", "argmax", "argmin", "cumprod", "cumsum", "log_softmax", "logaddexp", "logsumexp", "mean", "median",
    "norm", "normalize", "prod", "softmax", "softmin", "std", "sum", "var",
]  # fmt: skip

_ = _surface  # declares the ops
aten = ops.aten
Dims = int | Sequence[int] | None


def _mask(op: str, input: Tensor, mask: Tensor | None) -> Any:
    """The mask with the input's sizes; None where all elements take part."""
    if mask is None:
        return None
    if mask._dtype is not bool_:
        raise DTypeError(f"masked.{op}: mask must be a bool tensor", got=describe(mask))
    if mask.ndim > input.ndim:
        raise ShapeError(f"masked.{op}: the mask has more dimensions than the input", got=describe([input, mask]))
    return aten.expand.default(mask, list(input._sizes))


def _filled(input: Any, mask: Any, value: float) -> Any:
    return input if mask is None else aten.where.ScalarOther(mask, input, value)


def _dims(op: str, input: Tensor, dim: Dims) -> list[int]:
    given = None if dim is None else list(dim) if isinstance(dim, (list, tuple)) else [dim]
    return list(normalize_axes(given or None, input.ndim, f"masked.{op}"))


def _cast(input: Tensor, dtype: DType | None) -> Any:
    return input if dtype is None else aten._to_copy.default(input, dtype=dtype)


def _integral(input: Tensor, dtype: DType | None) -> DType:
    return dtype or (int64 if input._dtype.kind in "bui" else input._dtype)


def _lowest(dtype: DType, sign: int) -> Any:
    """What no element of a type is less than (sign 1), or greater than (-1)."""
    if dtype.kind == "f":
        return -sign * math.inf
    if dtype.kind == "b":
        return sign < 0
    bits = 8 * dtype.itemsize
    low, high = (0, 2**bits - 1) if dtype.kind == "u" else (-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    return low if sign > 0 else high


# ---- reductions ----------------------------------------------------------------------------------------------------


def sum(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
        mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The sum over dimensions, by default all.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.sum(x, 0, mask=mask)
    tensor(3.)
    """
    kept = _mask("sum", input, mask)
    dims = _dims("sum", input, dim)
    x = _filled(_cast(input, _integral(input, dtype)), kept, 0)
    return aten.sum.dim_IntList(x, dims, keepdim) if dims else aten.clone.default(x)


def prod(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The product over dimensions, by default all.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.prod(x, 0, mask=mask)
    tensor(2.)
    """
    x = _filled(_cast(input, _integral(input, dtype)), _mask("prod", input, mask), 1)
    for d in sorted(_dims("prod", input, dim), reverse=True):
        x = aten.prod.dim_int(x, d, keepdim)
    return x


def _extreme(op: str, sign: int, input: Tensor, dim: Dims, keepdim: bool, dtype: Any, mask: Any) -> Tensor:
    x = _filled(_cast(input, dtype), _mask(op, input, mask), _lowest(dtype or input._dtype, sign))
    dims = _dims(op, input, dim)
    return (aten.amax if sign > 0 else aten.amin).default(x, dims, keepdim)


def amax(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The largest element over dimensions, by default all.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.amax(x, 0, mask=mask)
    tensor(2.)
    """
    return _extreme("amax", 1, input, dim, keepdim, dtype, mask)


def amin(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The smallest element over dimensions, by default all.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.amin(x, 0, mask=mask)
    tensor(1.)
    """
    return _extreme("amin", -1, input, dim, keepdim, dtype, mask)


def argmax(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None,
           mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The place of the largest element, as a number of `dtype`: by default the input's, as in PyTorch.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.argmax(x, 0, mask=mask)
    tensor(1.)
    """
    x = _filled(_cast(input, dtype), _mask("argmax", input, mask), _lowest(dtype or input._dtype, 1))
    return _cast(aten.argmax.default(x, dim, keepdim), dtype or input._dtype)


def argmin(input: Tensor, dim: int | None = None, *, keepdim: bool = False, dtype: DType | None = None,
           mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The place of the smallest element, as a number of `dtype`: by default the input's, as in PyTorch.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.argmin(x, 0, mask=mask)
    tensor(0.)
    """
    x = _filled(_cast(input, dtype), _mask("argmin", input, mask), _lowest(dtype or input._dtype, -1))
    return _cast(aten.argmin.default(x, dim, keepdim), dtype or input._dtype)


def _count(x: Tensor, kept: Any, dims: list[int], keepdim: bool) -> Any:
    ones = aten.ones_like.default(x, dtype=int64) if kept is None else aten._to_copy.default(kept, dtype=int64)
    return aten.sum.dim_IntList(ones, dims, keepdim) if dims else ones


def mean(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
         mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The mean over dimensions, by default all; NaN where nothing takes part.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.mean(x, 0, mask=mask)
    tensor(1.5000)
    """
    wanted = dtype or input._dtype
    if wanted.kind not in "fc":
        raise ShapeError("masked.mean: expected a floating or complex type", got=describe(input))
    kept, dims = _mask("mean", input, mask), _dims("mean", input, dim)
    total = sum(input, dims, keepdim=keepdim, dtype=wanted, mask=mask)
    return aten.div.Tensor(total, _count(input, kept, dims, keepdim))


def median(input: Tensor, dim: int = -1, *, keepdim: bool = False, dtype: DType | None = None,
           mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The median along a dimension; NaN where nothing takes part, or a NaN does.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.median(x, 0, mask=mask)
    tensor(1.)
    """
    wanted = dtype or input._dtype
    if wanted.kind != "f":
        raise ShapeError("masked.median: expected a floating type", got=describe(input))
    x, kept = _cast(input, dtype), _mask("median", input, mask)
    found = aten.nanmedian.dim(_filled(x, kept, math.nan), dim, keepdim)[0]
    has_nan = aten.isnan.default(x)
    if kept is not None:
        has_nan = aten.logical_and.default(has_nan, kept)
    return aten.masked_fill.Scalar(found, aten.any.dim(has_nan, dim, keepdim), math.nan)


def norm(input: Tensor, ord: float | None = 2.0, dim: Dims = None, *, keepdim: bool = False,
         dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The norm over dimensions, by default all.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 4.0, 5.0])
    >>> opweave.masked.norm(x, 2.0, 0, mask=opweave.tensor([True, True, False]))
    tensor(5.)
    """
    order = 2.0 if ord is None else float(ord)
    x = _filled(_cast(input, dtype), _mask("norm", input, mask), math.inf if order < 0 else 0)
    if x._dtype.kind == "c":
        x = aten.abs.default(x)
    return aten.linalg_vector_norm.default(x, order, _dims("norm", input, dim), keepdim)


def _variance(
    op: str, input: Tensor, dim: Dims, unbiased: bool | None, correction: Any, keepdim: bool, dtype: DType | None,
    mask: Tensor | None,
) -> Tensor:  # fmt: skip
    if unbiased is not None and correction is not None:
        raise ShapeError(f"masked.{op}: unbiased and correction are two ways to say one thing", got="both")
    correction = (1 if unbiased is None else int(unbiased)) if correction is None else correction
    wanted = dtype or input._dtype
    wanted = wanted if wanted.kind in "fc" else aten.mul.Scalar(aten.zeros.default([], dtype=wanted), 1.0)._dtype
    kept, dims = _mask(op, input, mask), _dims(op, input, dim)
    x: Any = _cast(input, wanted)
    count: Any = _count(input, kept, dims, True)
    total = sum(x, dims, keepdim=True, mask=mask)
    off = x - aten.div.Tensor(total, count)
    square = off * off if wanted.kind != "c" else aten.real.default(off * aten.conj_physical.default(off))
    whole = sum(square, dims, keepdim=keepdim, mask=mask)
    if not keepdim:
        count = aten.reshape.default(count, list(whole._sizes))
    found = aten.div.Tensor(whole, aten.clamp_min.default(aten.sub.Scalar(count, correction), 0))
    return aten.sqrt.default(found) if op == "std" else found


def var(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
        keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The variance over dimensions, by default all.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.var(x, 0, unbiased=False, mask=mask)
    tensor(0.2500)
    """
    return _variance("var", input, dim, unbiased, correction, keepdim, dtype, mask)


def std(input: Tensor, dim: Dims = None, unbiased: bool | None = None, *, correction: float | None = None,
        keepdim: bool = False, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The standard deviation over dimensions, by default all.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.std(x, 0, unbiased=False, mask=mask)
    tensor(0.5000)
    """
    return _variance("std", input, dim, unbiased, correction, keepdim, dtype, mask)


def logsumexp(input: Tensor, dim: Dims = None, *, keepdim: bool = False, dtype: DType | None = None,
              mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """log Σ exp over dimensions, by default all, as a number of `dtype`: by default the input's, as in PyTorch.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.logsumexp(x, 0, mask=mask)
    tensor(2.3133)
    """
    wanted = dtype or input._dtype
    x = _cast(input, dtype)
    if x._dtype.kind not in "fc":
        x = aten.mul.Scalar(x, 1.0)
    filled = _filled(x, _mask("logsumexp", input, mask), -math.inf)
    found = aten.logsumexp.default(filled, _dims("logsumexp", input, dim), keepdim)
    return found if found._dtype is wanted else _cast(found, wanted)


def logaddexp(input: Tensor, other: Tensor, *, dtype: DType | None = None, input_mask: Tensor | None = None,
              other_mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """log(exp(x) + exp(y)), each where its mask is true.

    Examples
    --------
    >>> x = opweave.zeros(2)
    >>> mask = opweave.tensor([True, False])
    >>> opweave.masked.logaddexp(x, x, input_mask=mask, other_mask=mask)
    tensor([0.6931,   -inf])
    """
    a, b = _cast(input, dtype), _cast(other, dtype)
    return aten.logaddexp.default(
        _filled(a, _mask("logaddexp", input, input_mask), -math.inf),
        _filled(b, _mask("logaddexp", other, other_mask), -math.inf),
    )


# ---- along a dimension ---------------------------------------------------------------------------------------------


def cumsum(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Sums of the elements so far.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.cumsum(x, 0, mask=mask)
    tensor([1., 3., 3.])
    """
    return aten.cumsum.default(_filled(_cast(input, dtype), _mask("cumsum", input, mask), 0), dim)


def cumprod(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """Products of the elements so far.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.cumprod(x, 0, mask=mask)
    tensor([1., 2., 2.])
    """
    return aten.cumprod.default(_filled(_cast(input, dtype), _mask("cumprod", input, mask), 1), dim)


def _normalized(op: str, function: Callable[..., Tensor], fill: float, input: Tensor, dim: int, dtype: Any,
                mask: Any) -> Tensor:  # fmt: skip
    x = _cast(input, dtype)
    return function(_filled(x, _mask(op, input, mask), fill), dim)


def softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the elements that take part; NaN where none does.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.softmax(x, 0, mask=mask)
    tensor([0.2689, 0.7311, 0.0000])
    """
    return _normalized("softmax", aten.softmax.int, -math.inf, input, dim, dtype, mask)


def log_softmax(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The logarithm of the softmax.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.log_softmax(x, 0, mask=mask)
    tensor([-1.3133, -0.3133,    -inf])
    """
    return _normalized("log_softmax", aten.log_softmax.int, -math.inf, input, dim, dtype, mask)


def softmin(input: Tensor, dim: int, *, dtype: DType | None = None, mask: Tensor | None = None) -> Tensor:
    """The softmax of the negated elements.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> mask = opweave.tensor([True, True, False])
    >>> opweave.masked.softmin(x, 0, mask=mask)
    tensor([0.7311, 0.2689, 0.0000])
    """

    def function(x: Tensor, dim: int) -> Tensor:
        return aten.softmax.int(aten.neg.default(x), dim)

    return _normalized("softmin", function, math.inf, input, dim, dtype, mask)


def normalize(input: Tensor, ord: float, dim: int, *, eps: float = 1e-12, dtype: DType | None = None,
              mask: Tensor | None = None) -> Tensor:  # fmt: skip
    """The elements over their norm along a dimension.

    Examples
    --------
    >>> x = opweave.tensor([3.0, 4.0, 5.0])
    >>> opweave.masked.normalize(x, 2.0, 0, mask=opweave.tensor([True, True, False]))
    tensor([0.6000, 0.8000, 0.0000])
    """
    if input._dtype.kind not in "fc" and dtype is None:
        raise UnsupportedError("masked.normalize: expected a floating or complex type", got=describe(input))
    x = _filled(_cast(input, dtype), _mask("normalize", input, mask), 0)
    length = norm(input, ord, dim, keepdim=True, dtype=dtype, mask=mask)
    return aten.div.Tensor(x, aten.clamp_min.default(length, eps))


def __dir__() -> list[str]:
    return sorted(__all__)

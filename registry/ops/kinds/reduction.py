"""Reductions: a combine over axes, a map before and a finish after."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry.dtypes import DType
from opweave.registry.errors import ShapeError
from opweave.registry.ops.kinds.base import Decl, Maker, differs, handler
from opweave.registry.spec import contiguous
from opweave.registry.tensor import Tensor, describe, wrap_dim

#: The combines, with what an empty axis gives (None: an error).
COMBINES: dict[str, Any] = {
    "sum": 0, "prod": 1, "max": None, "min": None, "any": False, "all": True, "argmax": None, "argmin": None,
}  # fmt: skip


def normalize_axes(dim: Any, ndim: int, op: str) -> tuple[int, ...]:
    """Axes as sorted non-negative numbers; None or an empty list means all.

    Raises
    ------
    OutOfRangeError, ShapeError
        For a dimension that is not there, or is named twice.
    """
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return tuple(range(ndim))
    axes = [wrap_dim(d, ndim, op) for d in (dim if isinstance(dim, (list, tuple)) else [dim])]
    if len(set(axes)) != len(axes):
        raise ShapeError(f"{op}: a dimension appears twice", got=f"dim={list(dim)}")
    return () if not ndim else tuple(sorted(axes))


def reduced_sizes(sizes: Sequence[int], axes: Sequence[int], keepdim: bool) -> tuple[int, ...]:
    """Sizes after reducing over the axes."""
    if keepdim:
        return tuple(1 if d in axes else size for d, size in enumerate(sizes))
    return tuple(size for d, size in enumerate(sizes) if d not in axes)


class ReductionDecl(Decl):
    """`finalize(combine over axes of map(x))`.

    The schema has `self`, `dim` (missing or None: all), `keepdim` (missing: False) and attributes.

    Attributes
    ----------
    combine : str
        A key of `COMBINES`.
    map, finalize : callable or None
        `map(k, x)` before, `finalize(k, accumulated, count)` after, on values of the compute type.
    """

    kind = "reduction"
    #: Whether an empty list of dimensions means all of them.
    empty_is_all = True

    def __init__(
        self, schema: str, body: Callable[..., Any], combine: str, types: Callable[..., tuple[DType, DType]],
        map: Callable[..., Any] | None, finalize: Callable[..., Any] | None,
    ):  # fmt: skip
        super().__init__(schema, body)
        self.combine = combine
        self.types = types
        self.map = map
        self.finalize = finalize
        self._run_by(self.eager)

    def params(
        self, args: Sequence[Any], kwargs: dict[str, Any], ndim: int
    ) -> tuple[Any, tuple[int, ...], bool, dict[str, Any]]:
        """(input, axes, keepdim, attributes) of a call; the input may be anything, it is not looked at."""
        names = [a.name for a in self.op._schema.arguments]
        bound = dict(zip(names, self.bind(args, kwargs), strict=True))
        source = bound.pop("self")
        dim = bound.pop("dim", None)
        nothing = isinstance(dim, (list, tuple)) and not dim and not self.empty_is_all
        axes = () if nothing else normalize_axes(dim, ndim, self.op.opname)
        return source, axes, bool(bound.pop("keepdim", False)), bound

    def meta(self, make: Maker, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Tensor:
        source = args[0] if args else kwargs["self"]
        source, axes, keepdim, attributes = self.params(args, kwargs, source.ndim)
        self._check_nonempty(source, axes)
        result = self.types(source._dtype, **attributes)[1]
        return make(contiguous(reduced_sizes(source._sizes, axes, keepdim), result, source._device))

    def _check_nonempty(self, source: Tensor, axes: tuple[int, ...]) -> None:
        if COMBINES[self.combine] is None and any(source._sizes[d] == 0 for d in axes):
            raise ShapeError(
                f"{self.op.opname}: cannot reduce over an empty dimension, it has no identity", got=describe(source)
            )

    def eager(self, *args: Any, **kwargs: Any) -> Tensor:
        """Evaluate on the input's array module."""
        source, axes, keepdim, attributes = self.params(args, kwargs, args[0].ndim)
        self._check_nonempty(source, axes)
        compute, result = self.types(source._dtype, **attributes)
        xp = source._device.xp
        k = handler(xp)
        array = source._array
        count = math.prod(source._sizes[d] for d in axes)
        with np.errstate(all="ignore"):
            if differs(array, compute):
                array = k.cast(array, compute)
            if self.map is not None:
                array = self.map(k, array)
            reduced = _combine(xp, self.combine, array, axes)
            if self.finalize is not None:
                reduced = self.finalize(k, reduced, count)
            sizes = reduced_sizes(source._sizes, axes, keepdim)
            reduced = xp.asarray(reduced).reshape(sizes)
            if reduced.dtype != result.numpy:
                reduced = k.cast(reduced, result)
        return Tensor._from_array(xp.ascontiguousarray(reduced).reshape(sizes), source._device)


def _combine(xp: Any, combine: str, array: Any, axes: tuple[int, ...]) -> Any:
    if combine in ("argmax", "argmin"):
        lead = array.transpose([*(d for d in range(array.ndim) if d not in axes), *axes])
        outer = array.ndim - len(axes)
        lead = lead.reshape(*lead.shape[:outer], math.prod(lead.shape[outer:]))
        return getattr(xp, combine)(lead, axis=-1)
    if not axes:
        return array.copy()
    if combine in ("any", "all"):
        return getattr(xp, combine)(array, axis=axes)
    if combine == "sum":
        return _sum(xp, array, axes)
    reduce = {"prod": xp.prod, "max": xp.max, "min": xp.min}[combine]
    if combine == "prod":
        return reduce(array, axis=axes, dtype=array.dtype)
    return reduce(array, axis=axes)


def _sum(xp: Any, array: Any, axes: tuple[int, ...]) -> Any:
    """Sum in the array's type; long outer axes in two levels, since NumPy adds those one by one and errors add up."""
    if array.dtype.kind == "f":
        for axis in axes:
            size = array.shape[axis]
            if axis != array.ndim - 1 and size >= 256:
                whole = size // 64 * 64
                split = array[(slice(None),) * axis + (slice(0, whole),)]
                split = split.reshape(*array.shape[:axis], whole // 64, 64, *array.shape[axis + 1 :])
                partial = split.sum(axis=axis + 1)
                rest = array[(slice(None),) * axis + (slice(whole, None),)]
                array = xp.concatenate([partial, rest.sum(axis=axis, keepdims=True)], axis=axis)
    return xp.sum(array, axis=axes, dtype=array.dtype)


def reduction(
    schema: str, *, combine: str, types: Callable[..., tuple[DType, DType]], map: Callable[..., Any] | None = None,
    finalize: Callable[..., Any] | None = None,
) -> Callable[[Callable[..., Any]], ReductionDecl]:  # fmt: skip
    """Declare a reduction; the decorated function carries its docstring.

    Parameters
    ----------
    combine : str
        A key of `COMBINES`.
    types : callable
        `types(dtype, **attributes) -> (compute type, result type)`.
    map, finalize : callable, optional
        See `ReductionDecl`.
    """

    def declare(body: Callable[..., Any]) -> ReductionDecl:
        return ReductionDecl(schema, body, combine, types, map, finalize)

    return declare

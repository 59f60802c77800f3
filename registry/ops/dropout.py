"""Dropout: of elements, of whole channels, and so that mean and variance stay; composites of random numbers."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.copies import widened
from opweave.registry.ops.kinds import before_write, composite
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
_SEEDED = "nondeterministic_seeded"
#: The negative of what a scaled exponential unit gives far below 0 (Klambauer et al. 2017): λ α.
_SATURATION = 1.6732632423543772 * 1.0507009873554805


@composite(
    "aten::dropout(Tensor input, float p, bool train) -> Tensor",
    tags=_SEEDED,
    own_tags="maybe_aliasing_or_mutating",
)
def dropout(input: Tensor, p: float, train: bool) -> Tensor:
    if not 0 <= p <= 1:
        raise ArgumentError(f"dropout: the probability must be between 0 and 1, not {p}")
    if not train or p == 0 or not input.numel():
        return input
    if p == 1:
        return aten.mul.Tensor(input, 0.0)
    kept = aten.lt(aten.rand_like.default(input, dtype=dtypes.float32), 1 - p)
    return aten.mul.Tensor(aten.mul.Tensor(input, kept), 1 / (1 - p))


@composite(
    "aten::native_dropout(Tensor input, float p, bool? train) -> (Tensor, Tensor)",
    tags=_SEEDED,
    outs=("out", "out0", "out1"),
)
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """(input with elements dropped and the others scaled, which are kept)."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"native_dropout: the probability must be between 0 and 1, not {p}")
    if train is False or not input.numel():
        return aten.clone.default(input), aten.ones_like.default(input, dtype=dtypes.bool_)
    kept = aten.lt.Scalar(aten.rand_like.default(input, dtype=dtypes.float32), 1 - p)
    return aten.mul.Tensor(aten.mul.Tensor(input, kept), 0.0 if p == 1 else 1 / (1 - p)), kept


def _drops(op: str, input: Tensor, p: float, train: bool) -> bool:
    """Whether there is anything to do."""
    if not 0 <= p <= 1:
        raise ArgumentError(f"{op}: the probability must be between 0 and 1, not {p}")
    return bool(train and p != 0 and input.numel())


def _kept(input: Tensor, p: float, channels: bool, op: str) -> Tensor:
    """Which elements stay, or for (batch, channels, ...) which channels."""
    if channels and input.ndim < 2:
        raise ShapeError(f"{op}: expected (batch, channels, ...)", got=describe(input))
    sizes = [*input._sizes[:2], *[1] * (input.ndim - 2)] if channels else list(input._sizes)
    return aten.lt.Scalar(aten.rand.default(sizes, dtype=dtypes.float32, device=input._device), 1 - p)


def _plain(op: str, channels: bool) -> Callable[[Tensor, float, bool], Tensor]:
    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        if not _drops(op, input, p, train):
            return input
        if p == 1:
            return aten.mul.Tensor(input, 0.0)
        factor = aten._to_copy.default(_kept(input, p, channels, op), dtype=input._dtype)
        return aten.mul.Tensor(input, aten.mul.Tensor(factor, 1 / (1 - p)))

    return drop


def _keeping_moments(op: str, channels: bool) -> Callable[[Tensor, float, bool], Tensor]:
    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        """a x + a λα p where it stays, a λα (p - 1) where it is dropped, of a for which the variance stays 1."""
        if not _drops(op, input, p, train):
            return input
        if p == 1:
            return aten.mul.Tensor(input, 0.0)
        a = 1 / math.sqrt((_SATURATION**2 * p + 1) * (1 - p))
        kept = aten._to_copy.default(_kept(input, p, channels, op), dtype=input._dtype)
        shift = aten.mul.Tensor(aten.sub.Scalar(kept, 1 - p), _SATURATION * a)
        return aten.add.Tensor(aten.mul.Tensor(input, aten.mul.Tensor(kept, a)), shift)

    return drop


def _declare(name: str, drop: Callable[[Tensor, float, bool], Tensor]) -> None:
    @composite(
        f"aten::{name}(Tensor input, float p, bool train) -> Tensor",
        tags=_SEEDED,
        own_tags="maybe_aliasing_or_mutating",
    )
    def functional(input: Tensor, p: float, train: bool) -> Tensor:
        return drop(input, p, train)


def _declare_written(name: str, functional: OpOverload) -> None:
    @composite(f"aten::{name}_(Tensor(a!) self, float p, bool train) -> Tensor(a!)", tags=_SEEDED)
    def written(self: Tensor, p: float, train: bool) -> Tensor:
        found = functional(self, p, train)
        return self if found is self else aten.copy_.default(self, found)


for _name, _made in (
    ("feature_dropout", _plain("feature_dropout", True)),
    ("alpha_dropout", _keeping_moments("alpha_dropout", False)),
    ("feature_alpha_dropout", _keeping_moments("feature_alpha_dropout", True)),
):
    _declare(_name, _made)
    _declare_written(_name, getattr(aten, _name).default)
_declare_written("dropout", dropout.op)

dropout.with_samples(lambda make: [((make(3, 4), 0.5, False), {}), ((make(3, 4), 1.0, True), {})])
native_dropout.with_samples(lambda make: [((make(3, 4), 0.5, False), {})])
for _decl in (dropout, native_dropout):
    _decl.sample_dtypes = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


# ---- rows that are not too long ------------------------------------------------------------------------------------


def _shrinking(norms: Tensor, limit: Any) -> Tensor:
    """The factors that bring norms to a limit, 1 where they are within."""
    factor = aten.div.Tensor(aten.full_like.default(norms, limit), aten.add.Scalar(norms, 1e-7))
    return aten.where(aten.gt.Scalar(norms, limit), factor, 1.0)


def _check_norm(op: str, p: Any, maxnorm: Any) -> None:
    if isinstance(p, complex) or not p > 0 or not maxnorm >= 0:
        raise ArgumentError(f"{op}: the norm must be positive, and the limit not negative", got=f"{p}, {maxnorm}")


@composite(
    "aten::renorm(Tensor self, Scalar p, int dim, Scalar maxnorm) -> Tensor", autocast={"cuda": "fp32"}, outs="out"
)
def renorm(self: Tensor, p: Any, dim: int, maxnorm: Any) -> Tensor:
    """The slices along a dimension, made smaller where their p-norm is above the limit."""
    _check_norm("renorm", p, maxnorm)
    if self.ndim < 2:
        raise ShapeError("renorm: expected 2 dimensions at least", got=describe(self))
    at = dim + self.ndim if dim < 0 else dim
    rest = [d for d in range(self.ndim) if d != at]
    norms = aten.linalg_vector_norm.default(widened(self), p, rest, True)
    return aten._to_copy.default(aten.mul.Tensor(self, _shrinking(norms, maxnorm)), dtype=self._dtype)


@composite("aten::renorm_(Tensor(a!) self, Scalar p, int dim, Scalar maxnorm) -> Tensor(a!)")
def renorm_(self: Tensor, p: Any, dim: int, maxnorm: Any) -> Tensor:
    return aten.copy_.default(self, aten.renorm.default(before_write(self), p, dim, maxnorm))


@composite("aten::embedding_renorm_(Tensor(a!) self, Tensor indices, float max_norm, float norm_type) -> Tensor(a!)")
def embedding_renorm_(self: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """The rows at the indices made smaller in place, where their norm is above the limit."""
    _check_norm("embedding_renorm_", norm_type, max_norm)
    if self.ndim != 2 or indices._dtype not in (dtypes.int32, dtypes.int64):
        raise ShapeError("embedding_renorm_: expected a matrix and int32 or int64 rows", got=describe([self, indices]))
    places = aten.reshape.default(indices, [-1])
    rows = aten.index.Tensor(self, [places])
    norms = aten.linalg_vector_norm.default(widened(rows), norm_type, [1], True)
    shrunk = aten._to_copy.default(aten.mul.Tensor(rows, _shrinking(norms, max_norm)), dtype=self._dtype)
    # A row that is named twice is written twice, with the same numbers.
    return aten.index_put_.default(self, [places], shrunk)

"""Random ops that draw each element of a tensor anew: exponential, Cauchy, log-normal and so on, and in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.ops.gradients import zeros
from opweave.registry.ops.kinds import InplaceDecl, extern
from opweave.registry.ops.random import SEEDED, WRITES, check_floating, check_range, filled, like, normals
from opweave.registry.promote import GREATEST, broadcast_shapes
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, describe


def _declare_fill(
    name: str, numbers: str, check: Callable[..., None], draw: Callable[..., Any], overload: str = ""
) -> None:
    """An op that gives a tensor like another with elements `draw(source, spec, *numbers)`, and its in-place form.

    `check(op, self, *numbers)` refuses what does not fit.
    """
    count = numbers.count(",")
    suffix = f".{overload}" if overload else ""

    def spec_of(self: Tensor, *rest: Any) -> TensorSpec:
        check(name, self, *rest[:count])
        return like(self)

    @extern(
        f"aten::{name}{suffix}(Tensor self{numbers}, *, Generator? generator=None) -> Tensor", spec=spec_of,
        tags=SEEDED, outs=f"{overload}_out" if overload else "out"
    )  # fmt: skip
    def drawn(self: Tensor, *rest: Any, generator: Any = None) -> Tensor:
        spec = spec_of(self, *rest)
        return filled(spec, lambda source, _: draw(source, spec, *rest), generator)

    drawn.backward(self=zeros)
    InplaceDecl(f"aten::{name}_{suffix}(Tensor(a!) self{numbers}, *, {WRITES}", drawn.op)


def _check_scale(scale: str) -> Callable[..., None]:
    def check(op: str, self: Tensor, *numbers: float) -> None:
        check_floating(op, self._dtype)
        if not numbers[-1] > 0:
            raise ArgumentError(f"{op}: {scale} must be positive", got=f"{scale}={numbers[-1]}")

    return check


def _check_trials(op: str, self: Tensor, p: float) -> None:
    if self._dtype.kind in "bc":
        raise DTypeError(f"{op}: only integers and floating types", got=repr(self._dtype))
    if not 0 < p < 1:
        raise ArgumentError(f"{op}: p must be between 0 and 1", got=f"p={p}")


def _exponential(source: Any, spec: TensorSpec, rate: float) -> Any:
    kind = spec.dtype.compute.numpy
    least = 0.0 if math.isinf(rate) else np.finfo(kind).tiny  # not 0: its logarithm is taken
    return np.maximum(source.standard_exponential(spec.sizes, dtype=kind) / rate, least)


def _cauchy(source: Any, spec: TensorSpec, median: float, sigma: float) -> Any:
    return np.tan((source.random(spec.sizes, dtype=np.float64) - 0.5) * np.pi) * sigma + median


_declare_fill("exponential", ", float lambd=1.", _check_scale("lambd"), _exponential)
_declare_fill("cauchy", ", float median=0., float sigma=1.", _check_scale("sigma"), _cauchy)
_declare_fill(
    "log_normal", ", float mean=1., float std=2.", _check_scale("std"),
    lambda source, spec, mean, std: np.exp(normals(source, spec) * std + mean),
)  # fmt: skip
_declare_fill(
    "geometric", ", float p", _check_trials, lambda source, spec, p: source.geometric(p, spec.sizes)
)  # fmt: skip

#: Up to where every whole number is of the type.
_WHOLE = {"float16": 1 << 11, "bfloat16": 1 << 8, "float32": 1 << 24, "float64": 1 << 53, "bool": 1}


def _last(dtype: DType) -> int:
    return _WHOLE.get(dtype.name) or (1 << (dtype.itemsize * 8 - (dtype.kind == "i"))) - 1


def _check_whole(op: str, self: Tensor, low: int = 0, high: int | None = None) -> None:
    if self._dtype.kind == "c":
        raise DTypeError(f"{op}: not defined for complex numbers", got=repr(self._dtype))
    greatest = GREATEST.get(self._dtype.name)
    if greatest is not None and not (-greatest <= low and (high or 0) - 1 <= greatest):
        raise ArgumentError(f"{op}: the range does not fit {self._dtype.name}", got=f"from={low}, to={high}")
    check_range(op, low, _last(self._dtype) + 1 if high is None else high, self._dtype)


def _whole(source: Any, spec: TensorSpec, low: int = 0, high: int | None = None) -> Any:
    last = _last(spec.dtype) if high is None else high - 1
    return source.integers(low, last, spec.sizes, dtype=np.int64, endpoint=True)


_declare_fill("random", ", int from, int? to", _check_whole, _whole, "from")
_declare_fill(
    "random", ", int to", lambda op, self, to: _check_whole(op, self, 0, to),
    lambda source, spec, to: _whole(source, spec, 0, to), "to",
)  # fmt: skip
_declare_fill("random", "", _check_whole, _whole)


def _check_chances(op: str, self: Tensor, p: Tensor) -> None:
    if not p._dtype.is_floating_point:
        raise DTypeError(f"{op}: probabilities have a floating type", got=describe(p))
    if broadcast_shapes(op, self._sizes, p._sizes) != self._sizes:
        raise ShapeError(f"{op}: the probabilities do not fit", got=describe([self, p]))
    if p._storage.owner is not None and not bool(((p._array >= 0) & (p._array <= 1)).all()):
        raise ArgumentError(f"{op}: the elements are probabilities", hint="each has to lie in [0, 1]")


def _chances_spec(self: Tensor, p: Tensor, generator: Any = None) -> TensorSpec:
    _check_chances("bernoulli", self, p)
    return like(self)


@extern("aten::bernoulli.Tensor(Tensor self, Tensor p, *, Generator? generator=None) -> Tensor", spec=_chances_spec,
        tags=SEEDED, outs="Tensor_out")  # fmt: skip
def bernoulli_of(self: Tensor, p: Tensor, *, generator: Any = None) -> Tensor:
    """1 with the probability that stands in `p`, else 0."""
    return filled(_chances_spec(self, p), lambda s, _: s.random(self._sizes) < p._array, generator)


bernoulli_of.backward(self=zeros, p=zeros)
InplaceDecl(f"aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, {WRITES}", bernoulli_of.op)

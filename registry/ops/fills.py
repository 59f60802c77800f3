"""Random ops that draw each element of a tensor anew: exponential, Cauchy, log-normal and so on, and in place."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.gradients import zeros
from opweave.registry.ops.kinds import InplaceDecl, extern
from opweave.registry.ops.philox import SEEDED, Distribution, drawn, fill
from opweave.registry.ops.random import (
    WRITES,
    chances,
    check_floating,
    check_range,
    filled,
    happens,
    like,
    within,
)
from opweave.registry.promote import GREATEST, broadcast_shapes
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


def _declare_fill(
    name: str, numbers: str, check: Callable[..., None], draw: Callable[..., Any], overload: str = "",
    distribution: Distribution | None = None,
) -> None:  # fmt: skip
    """An op that gives a tensor like another, and its in-place form.

    Its elements are `draw(drawn, spec, *numbers)` of a tensor of a distribution, which is written with ops, or without
    one `draw(source, spec, *numbers)` by the array module's generator. `check(op, self, *numbers)` refuses what does
    not fit.
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
    def made(self: Tensor, *rest: Any, generator: Any = None) -> Tensor:
        spec = spec_of(self, *rest)
        if distribution is None:
            return filled(spec, lambda source, _: draw(source, spec, *rest), generator)
        return draw(fill(_wide(spec, distribution), distribution, generator), spec, *rest)

    if distribution is not None:

        @made.in_kernels
        def made_in_kernels(self: Tensor, *rest: Any) -> Tensor:
            *values, generator = rest
            spec = spec_of(self, *values)
            return draw(drawn(_wide(spec, distribution), distribution, generator), spec, *values)

    made.backward(self=zeros)
    InplaceDecl(f"aten::{name}_{suffix}(Tensor(a!) self{numbers}, *, {WRITES}", made.op)


def _wide(spec: TensorSpec, distribution: Distribution) -> TensorSpec:
    """What to draw for elements of a type: integers of 64 bits, or floats that are computed with."""
    return spec._replace(dtype=dtypes.int64 if distribution == "bits" else spec.dtype.compute)


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


def _exponential(uniform: Tensor, spec: TensorSpec, rate: float) -> Tensor:
    least = 0.0 if math.isinf(rate) else float(np.finfo(uniform._dtype.numpy).tiny)  # not 0: its logarithm is taken
    waits = aten.div.Tensor(aten.neg.default(aten.log1p.default(aten.neg.default(uniform))), rate)
    return aten._to_copy.default(aten.clamp_min.default(waits, least), dtype=spec.dtype)


def _cauchy(uniform: Tensor, spec: TensorSpec, median: float, sigma: float) -> Tensor:
    found = aten.tan.default(aten.mul.Tensor(aten.sub.Tensor(uniform, 0.5), math.pi))
    return aten._to_copy.default(aten.add.Tensor(aten.mul.Tensor(found, sigma), median), dtype=spec.dtype)


def _log_normal(normal: Tensor, spec: TensorSpec, mean: float, std: float) -> Tensor:
    found = aten.exp.default(aten.add.Tensor(aten.mul.Tensor(normal, std), mean))
    return aten._to_copy.default(found, dtype=spec.dtype)


_declare_fill("exponential", ", float lambd=1.", _check_scale("lambd"), _exponential, "", "uniforms")
_declare_fill("cauchy", ", float median=0., float sigma=1.", _check_scale("sigma"), _cauchy, "", "uniforms")
_declare_fill("log_normal", ", float mean=1., float std=2.", _check_scale("std"), _log_normal, "", "normals")
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


def _whole(bits: Tensor, spec: TensorSpec, low: int = 0, high: int | None = None) -> Tensor:
    return within(bits, low, _last(spec.dtype) + 1 if high is None else high, spec.dtype)


_declare_fill("random", ", int from, int? to", _check_whole, _whole, "from", "bits")
_declare_fill(
    "random", ", int to", lambda op, self, to: _check_whole(op, self, 0, to),
    lambda bits, spec, to: _whole(bits, spec, 0, to), "to", "bits",
)  # fmt: skip
_declare_fill("random", "", _check_whole, _whole, "", "bits")


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
    _check_chances("bernoulli", self, p)
    return happens(fill(chances(self), "uniforms", generator), p, self._dtype)


bernoulli_of.backward(self=zeros, p=zeros)
InplaceDecl(f"aten::bernoulli_.Tensor(Tensor(a!) self, Tensor p, *, {WRITES}", bernoulli_of.op)

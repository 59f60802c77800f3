"""Special functions that SciPy computes: Bessel, Airy and zeta functions, incomplete gamma functions, quantiles; and
orthogonal polynomials by their recurrences. Computed in float64, and rounded once.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, ranked, wrap
from opweave.registry.dtypes import get_default_dtype
from opweave.registry.errors import ArgumentError, DTypeError, UnsupportedError
from opweave.registry.loading import load_heavy
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import ExternDecl, before_write, composite, extern
from opweave.registry.promote import broadcast_shapes, pointwise_strides, result_type
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten


def _scipy(name: str) -> Any:
    try:
        return load_heavy("scipy.special")
    except ImportError:
        raise UnsupportedError(f"{name}: is computed by SciPy, which is not there", hint="pip install scipy") from None


def _spec(name: str, *operands: Tensor) -> TensorSpec:
    dtype = result_type(*operands)
    if dtype.kind == "c":
        raise DTypeError(f"{name}: not defined for complex numbers", got=describe(list(operands)))
    if dtype.kind != "f":
        dtype = get_default_dtype()
    shape = tuple(broadcast_shapes(name, *[t._sizes for t in operands]))
    return TensorSpec(shape, pointwise_strides(shape, list(operands)), dtype, operands[0]._device)


def _elementwise(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    rank = max(v.ndim for v in values.values() if isinstance(v, Tensor))
    return wrap(call(op, {k: ranked(v, level, rank) if isinstance(v, Tensor) else v for k, v in values.items()}), level)


def _declare(schema: str, name: str, compute: Callable[..., Any]) -> ExternDecl:
    """An op whose elements follow from one element of each operand; `compute` is given arrays of float64."""

    def spec(*operands: Tensor) -> TensorSpec:
        return _spec(name, *operands)

    @extern(schema, spec=spec, tags="pointwise", outs="out")
    def elementwise(*operands: Tensor) -> Tensor:
        out = allocate_like(spec(*operands))
        with np.errstate(all="ignore"):
            out._array[...] = compute(*[t._array.astype(np.float64) for t in operands])
        return out

    elementwise.batching(_elementwise)
    return elementwise


# ---- one argument --------------------------------------------------------------------------------------------------


def _of_scipy(name: str, function: str) -> Callable[..., Any]:
    return lambda *arrays: getattr(_scipy(name), function)(*arrays)


def _airy(x: Any) -> Any:
    return _scipy("special.airy_ai").airy(x)[0]


def _spherical(x: Any) -> Any:
    return np.where(np.isinf(x), 0.0, np.where(np.abs(x) < 1e-4, 1 - x * x / 6, np.sin(x) / np.where(x == 0, 1, x)))


for _name, _compute in (
    ("airy_ai", _airy),
    ("bessel_j0", _of_scipy("special.bessel_j0", "j0")),
    ("bessel_j1", _of_scipy("special.bessel_j1", "j1")),
    ("bessel_y0", _of_scipy("special.bessel_y0", "y0")),
    ("bessel_y1", _of_scipy("special.bessel_y1", "y1")),
    ("modified_bessel_i0", _of_scipy("special.modified_bessel_i0", "i0")),
    ("modified_bessel_i1", _of_scipy("special.modified_bessel_i1", "i1")),
    ("modified_bessel_k0", _of_scipy("special.modified_bessel_k0", "k0")),
    ("modified_bessel_k1", _of_scipy("special.modified_bessel_k1", "k1")),
    ("scaled_modified_bessel_k0", _of_scipy("special.scaled_modified_bessel_k0", "k0e")),
    ("scaled_modified_bessel_k1", _of_scipy("special.scaled_modified_bessel_k1", "k1e")),
    ("spherical_bessel_j0", _spherical),
):
    _argument = "self" if _name.startswith(("bessel", "modified")) else "x"
    _decl = _declare(f"aten::special_{_name}(Tensor {_argument}) -> Tensor", f"special.{_name}", _compute)
    _decl.backward()


special_ndtri = _declare(
    "aten::special_ndtri(Tensor self) -> Tensor", "special.ndtri", _of_scipy("special.ndtri", "ndtri")
)
special_ndtri.backward(
    self=lambda grad, result: grad * aten.exp.default(result * result * 0.5) * math.sqrt(2 * math.pi)
)
special_ndtri.with_samples(lambda make: [((make(3, 4, low=0.1, high=0.9),), {})])
special_ndtri.sample_dtypes = (dtypes.float32, dtypes.float64)


# ---- two arguments -------------------------------------------------------------------------------------------------


def _number_as_tensor(value: Any, like: Tensor) -> Tensor:
    dtype = like._dtype if like._dtype.kind == "f" else get_default_dtype()
    return aten.scalar_tensor.default(value, dtype=dtype, device=like._device)


def _declare_numbers(name: str, first: str, second: str, overloads: tuple[str, str]) -> None:
    """The forms of an op of two tensors with a number as one of them."""
    packet = getattr(aten, name)

    @composite(
        f"aten::{name}.{overloads[0]}(Scalar {first}, Tensor {second}) -> Tensor", tags="pointwise",
        outs=f"{overloads[0]}_out",
    )  # fmt: skip
    def with_first(number: Any, t: Tensor) -> Tensor:
        return packet.default(_number_as_tensor(number, t), t)

    @composite(
        f"aten::{name}.{overloads[1]}(Tensor {first}, Scalar {second}) -> Tensor", tags="pointwise",
        outs=f"{overloads[1]}_out",
    )  # fmt: skip
    def with_second(t: Tensor, number: Any) -> Tensor:
        return packet.default(t, _number_as_tensor(number, t))


def _zeta(x: Any, q: Any) -> Any:
    library = _scipy("special.zeta")
    found = library.zeta(x, q)
    found = np.where((q <= 0) & (q == np.floor(q)), np.inf, found)
    return np.where(
        x == 1, np.inf, np.where((x < 1) | ((q < 0) & (q != np.floor(q)) & (x != np.floor(x))), np.nan, found)
    )


special_zeta = _declare("aten::special_zeta(Tensor self, Tensor other) -> Tensor", "special.zeta", _zeta)
special_zeta.backward(
    other=lambda grad, self, other: grad * -self * aten.special_zeta.default(aten.add.Tensor(self, 1.0), other)
)
_declare_numbers("special_zeta", "self", "other", ("self_scalar", "other_scalar"))


def _density(grad: Any, self: Any, other: Any) -> Any:
    """x^(a - 1) exp(-x) / Γ(a)."""
    logs = (self - 1) * aten.log.default(other) - other - aten.lgamma.default(self)
    return grad * aten.exp.default(logs)


def _floats_only(name: str, function: str) -> Callable[..., Any]:
    def compute(a: Any, x: Any) -> Any:
        library = _scipy(name)
        found = getattr(library, function)(a, x)
        return np.where((a < 0) | (x < 0), np.nan, found)

    return compute


igamma = _declare("aten::igamma(Tensor self, Tensor other) -> Tensor", "igamma", _floats_only("igamma", "gammainc"))
igammac = _declare(
    "aten::igammac(Tensor self, Tensor other) -> Tensor", "igammac", _floats_only("igammac", "gammaincc")
)
igamma.backward(other=_density)
igammac.backward(other=lambda grad, self, other: -_density(grad, self, other))


@composite("aten::igamma_(Tensor(a!) self, Tensor other) -> Tensor(a!)", tags="pointwise")
def igamma_(self: Tensor, other: Tensor) -> Tensor:
    return aten.copy_.default(self, aten.igamma.default(before_write(self, other), other))


@composite("aten::igammac_(Tensor(a!) self, Tensor other) -> Tensor(a!)", tags="pointwise")
def igammac_(self: Tensor, other: Tensor) -> Tensor:
    return aten.copy_.default(self, aten.igammac.default(before_write(self, other), other))


@composite("aten::mvlgamma(Tensor self, int p) -> Tensor", tags="pointwise", outs="out")
def mvlgamma(self: Tensor, p: int) -> Tensor:
    """log Γ_p(x) = p (p - 1) / 4 log π + Σ log Γ(x - j / 2) for j = 0 ... p - 1."""
    if p < 1:
        raise ArgumentError("mvlgamma: p has to be greater than or equal to 1", got=f"p={p}")
    if self._dtype.kind == "c" or self._dtype is dtypes.bool_:
        raise DTypeError("mvlgamma: not defined for this type", got=describe(self))
    total = aten.add.Scalar(aten.lgamma.default(self), p * (p - 1) * math.log(math.pi) / 4)
    for j in range(1, p):
        total = aten.add.Tensor(total, aten.lgamma.default(aten.sub.Scalar(self, j / 2)))
    return total


@composite("aten::mvlgamma_(Tensor(a!) self, int p) -> Tensor(a!)", tags="pointwise")
def mvlgamma_(self: Tensor, p: int) -> Tensor:
    return aten.copy_.default(self, mvlgamma.body(before_write(self), p))


# ---- orthogonal polynomials ----------------------------------------------------------------------------------------


#: Up to which polynomials are computed: each degree takes a pass over the elements.
_MOST_DEGREES = 100_000


def _recurrence(first: Callable[[Any], Any], following: Callable[[Any, int, Any, Any], Any]) -> Callable[..., Any]:
    """Polynomials p_n(x) from p_0 = 1, `first(x)` and `following(x, k, p_k, p_(k-1))`, which is p_(k+1)."""

    def compute(x: Any, n: Any) -> Any:
        x, n = np.broadcast_arrays(x, np.trunc(n))
        if n.size and not n.max() <= _MOST_DEGREES:
            raise UnsupportedError(
                "special: a polynomial of this degree", got=f"n={n.max()}", hint=f"n <= {_MOST_DEGREES}"
            )
        found = np.where(n < 0, 0.0, np.where(n == 0, 1.0, np.nan))
        before, now = np.ones_like(x), np.asarray(first(x))
        most = int(n.max(initial=0)) if n.size else 0
        k = 1
        while k <= most:
            found = np.where(n == k, now, found)
            before, now = now, following(x, k, now, before)
            k += 1
        return found

    return compute


def _chebyshev(x: Any, k: int, now: Any, before: Any) -> Any:
    return 2 * x * now - before


def _shifted(first: Callable[[Any], Any]) -> Callable[..., Any]:
    plain = _recurrence(first, _chebyshev)
    return lambda x, n: plain(2 * x - 1, n)


_FIRST: dict[str, Callable[[Any], Any]] = {
    "t": lambda x: x,
    "u": lambda x: 2 * x,
    "v": lambda x: 2 * x - 1,
    "w": lambda x: 2 * x + 1,
}
_POLYNOMIALS = {
    **{f"chebyshev_polynomial_{kind}": _recurrence(first, _chebyshev) for kind, first in _FIRST.items()},
    **{f"shifted_chebyshev_polynomial_{kind}": _shifted(first) for kind, first in _FIRST.items()},
    "hermite_polynomial_h": _recurrence(lambda x: 2 * x, lambda x, k, now, before: 2 * x * now - 2 * k * before),
    "hermite_polynomial_he": _recurrence(lambda x: x, lambda x, k, now, before: x * now - k * before),
    "laguerre_polynomial_l": _recurrence(
        lambda x: 1 - x, lambda x, k, now, before: ((2 * k + 1 - x) * now - k * before) / (k + 1)
    ),
    "legendre_polynomial_p": _recurrence(
        lambda x: x, lambda x, k, now, before: ((2 * k + 1) * x * now - k * before) / (k + 1)
    ),
}

for _name, _compute in _POLYNOMIALS.items():
    _decl = _declare(f"aten::special_{_name}(Tensor x, Tensor n) -> Tensor", f"special.{_name}", _compute)
    _decl.backward()
    _declare_numbers(f"special_{_name}", "x", "n", ("x_scalar", "n_scalar"))

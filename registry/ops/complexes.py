"""Complex numbers and their parts."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import as_view_of, front, wrap
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import composite, extern, pointwise, with_traits
from opweave.registry.ops.reshape import ReinterpretDecl
from opweave.registry.promote import pointwise_strides, result_type
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten


# ---- angles --------------------------------------------------------------------------------------------------------


def _parts_type(*operands: Any) -> tuple[DType, DType]:
    common = result_type(*operands)
    if common.kind in "bui":
        common = get_default_dtype()
    return common.compute, common.to_real() if common.kind == "c" else common


@pointwise("aten::angle(Tensor self) -> Tensor", promote=_parts_type, inplace=False)
def angle(k: Any, x: Any) -> Any:
    """The angle of complex numbers, between -π and π; π for negative real numbers, and 0 for others."""
    dtype = k.dtype(x)
    if dtype.kind == "c":
        return k.atan2(k.imag(x), k.real(x))
    zero = k.const(0.0, dtype)
    return k.where(x != x, x, k.where(x < zero, k.const(math.pi, dtype), zero))


@angle.backward
def _angle_backward(grad: Any, self: Any) -> tuple[Tensor]:
    if self._dtype.kind != "c":
        return (aten.zeros_like.default(grad),)
    size = aten.abs.default(self)
    zero = aten.eq.Scalar(size, 0)
    turned = self * (grad / aten.masked_fill.Scalar(size * size, zero, 1)) * 1j
    return (aten.masked_fill.Scalar(turned, zero, 0),)


def _pair_type(op: str) -> Callable[..., tuple[DType, DType]]:
    def types(first: Any, second: Any) -> tuple[DType, DType]:
        dtypes_of = {t._dtype if isinstance(t, Tensor) else result_type(t) for t in (first, second)}
        dtype = dtypes_of.pop()
        if dtypes_of or dtype not in (dtypes.float32, dtypes.float64):
            raise DTypeError(f"{op}: expected two of float32 or two of float64", got=describe([first, second]))
        return dtype, dtype.to_complex()

    return types


@pointwise("aten::complex(Tensor real, Tensor imag) -> Tensor", promote=_pair_type("complex"), inplace=False)
def complex_(k: Any, real: Any, imag: Any) -> Any:
    """Complex numbers of their parts."""
    return k.complex(real, imag)


complex_.backward(
    real=lambda grad: aten.real.default(grad), imag=lambda grad: aten.imag.default(grad)
)  # fmt: skip


@pointwise(
    "aten::polar(Tensor abs, Tensor angle) -> Tensor",
    promote=_pair_type("polar"),
    inplace=False,
    autocast={"cpu": "fp32"},
)
def polar(k: Any, abs: Any, angle: Any) -> Any:
    """Complex numbers of their absolute values and angles."""
    return k.complex(abs * k.cos(angle), abs * k.sin(angle))


def _along(grad: Any, direction: Any) -> Tensor:
    return aten.real.default(aten.conj_physical.default(grad) * direction)


polar.backward(
    # Not by the sign of the result, which is another where `abs` is negative, and none where it is 0.
    abs=lambda grad, angle: _along(grad, aten.complex.default(aten.cos.default(angle), aten.sin.default(angle))),
    angle=lambda grad, result: _along(grad, result * 1j),
)


@composite("aten::isreal(Tensor self) -> Tensor")
def isreal(self: Tensor) -> Tensor:
    """Whether the imaginary part is 0."""
    if self._dtype.kind == "c":
        return aten.eq.Scalar(aten.imag.default(self), 0)
    return aten.ones_like.default(self, dtype=dtypes.bool_)


# ---- parts ---------------------------------------------------------------------------------------------------------


def _parts(source: Tensor) -> tuple[Any, ...]:
    if not source._dtype.is_complex:
        raise DTypeError("view_as_real: expected a complex tensor", got=describe(source))
    strides = (*(s * 2 for s in source._strides), 1)
    return (*source._sizes, 2), strides, source._offset * 2, source._dtype.to_real()


view_as_real = ReinterpretDecl("aten::view_as_real(Tensor(a) self) -> Tensor(a)", _parts, False)


def _of_pairs(source: Tensor) -> tuple[Any, ...]:
    sizes, strides, offset = source._sizes, source._strides, source._offset
    dtype = _COMPLEX.get(source._dtype)
    if dtype is None:
        raise DTypeError("view_as_complex: expected a float32 or float64 tensor", got=describe(source))
    if not sizes or sizes[-1] != 2:
        raise ShapeError("view_as_complex: the last dimension must have size 2", got=describe(source))
    if strides[-1] != 1 or offset % 2 or any(stride % 2 for stride in strides[:-1]):
        raise ShapeError(
            "view_as_complex: the last stride must be 1, all others and the offset even",
            got=f"strides {list(strides)}, offset {offset}", hint="call .contiguous() first",
        )  # fmt: skip
    return sizes[:-1], tuple(stride // 2 for stride in strides[:-1]), offset // 2, dtype


_COMPLEX = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}

view_as_complex = ReinterpretDecl("aten::view_as_complex(Tensor(a) self) -> Tensor(a)", _of_pairs, False)

with_traits(view_as_complex, autocast={"cpu": "fp32"})


@view_as_real.inverted
def _(whole: Tensor) -> tuple[Any, tuple[Any, ...]]:
    return ops.aten.view_as_complex.default, ()


@view_as_complex.inverted
def _(whole: Tensor) -> tuple[Any, tuple[Any, ...]]:
    return ops.aten.view_as_real.default, ()


view_as_real.backward(self=lambda grad: ops.aten.view_as_complex.default(_packed(grad)))

view_as_complex.backward(self=lambda grad: ops.aten.view_as_real.default(grad))


def _packed(t: Tensor) -> Tensor:
    """A tensor that `view_as_complex` takes: itself, or a copy without an offset."""
    fits = t._strides[-1] == 1 and not t._offset % 2 and not any(stride % 2 for stride in t._strides[:-1])
    return t if fits else ops.aten.clone.default(t, memory_format=contiguous_format)


@extern(
    "aten::conj_physical(Tensor self) -> Tensor",
    spec=lambda self: TensorSpec(self._sizes, pointwise_strides(self._sizes, [self]), self._dtype, self._device),
    own_tags="maybe_aliasing_or_mutating",
    tags=("pointwise",),
    outs="out",
    inplace=True,
)
def conj_physical(self: Tensor) -> Tensor:
    """The complex conjugate, as a new tensor."""
    out = allocate_like(conj_physical.spec(self))
    out._array[...] = self._device.xp.conj(self._array)
    return out


conj_physical.backward(self=lambda grad: ops.aten.conj_physical.default(grad))


@composite("aten::real(Tensor(a) self) -> Tensor(a)")
def real(self: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        return self
    return ops.aten.select.int(ops.aten.view_as_real.default(self), -1, 0)


@composite("aten::imag(Tensor(a) self) -> Tensor(a)")
def imag(self: Tensor) -> Tensor:
    if not self._dtype.is_complex:
        raise DTypeError("imag: only complex tensors have an imaginary part", got=describe(self))
    return ops.aten.select.int(ops.aten.view_as_real.default(self), -1, 1)


@conj_physical.batching
@view_as_real.batching
@view_as_complex.batching
def _each_element(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    t = args[0]
    found = op(front(t, level))
    return as_view_of(t, found, level) if op.is_view else wrap(found, level)


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, 1)


def _part(x: Tensor) -> Tensor:
    return ops.aten.slice.Tensor(x, 1, 1, None, 2)


angle.with_samples(lambda make: [((make(3, 4),), {}), ((make(),), {}), ((make(0, 2),), {})])

angle.sample_dtypes = (dtypes.float32, dtypes.bfloat16, dtypes.int64, dtypes.bool_, dtypes.complex64)

for _decl in (complex_, polar):
    # Not negative, where PyTorch's gradient of `polar` has another sign than its result says.
    _decl.with_samples(lambda make: [((make(3, 4, low=0.1), make(3, 4)), {}), ((make(2, 1, low=0.1), make(3)), {})])
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64)

for _decl in (view_as_real, real, imag, conj_physical):
    _decl.sample_dtypes = (dtypes.complex64, dtypes.complex128)

    @_decl.with_samples
    def _(make: Any) -> Iterable[Any]:
        yield (make(2, 3),), {}
        yield (_part(make(2, 6)),), {}
        yield (make(),), {}


@view_as_complex.with_samples
def _(make: Any) -> Iterable[Any]:
    yield (make(3, 2),), {}
    yield (_turned(make(3, 4, 2)),), {}
    yield (ops.aten.slice.Tensor(make(4, 2), 0, 1),), {}
    yield (make(2),), {}
    yield (make(0, 2),), {}


view_as_complex.sample_dtypes = (dtypes.float32, dtypes.float64)

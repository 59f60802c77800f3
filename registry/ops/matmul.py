"""Matrix products, by the BLAS behind the device's array module.

Operands must share a dtype. Half types are multiplied in float32 and rounded once, on the CPU by native code of their
own; a transposed or row-strided operand goes to BLAS as it is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.hooks import Hook
from opweave.registry.op import ops
from opweave.registry.ops import matmul_batching
from opweave.registry.ops.kinds import extern
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.ops.whole_products import whole_product
from opweave.registry.promote import as_element, broadcast_shapes, common_device
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.symbolic import surely_equal
from opweave.registry.tape import MOST_PRODUCTS, NotTaped, Tape, Value
from opweave.registry.tensor import Tensor, allocate_like, describe

TYPES = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int64, dtypes.int32, dtypes.uint8)

#: Writes a product of narrow numbers on the CPU: the result, the operands, what is added or None, and factors of both.
#: `opweave` supplies it.
narrow: Hook[[Tensor, Tensor, Tensor, Tensor | None, float, float], None] = Hook()
_HALVES = (dtypes.float16, dtypes.bfloat16)
_NARROW = (*_HALVES, dtypes.int8)


# ---- rules ---------------------------------------------------------------------------------------------------------


def _check(op: str, ndims: Sequence[int], *operands: Tensor) -> None:
    """Operands have these numbers of dimensions and one dtype, which has a product."""
    for t, ndim in zip(operands, ndims, strict=True):
        if t.ndim != ndim:
            raise ShapeError(
                f"{op}: expected {' and '.join(f'{n}-d' for n in ndims)} tensors", got=described(operands),
                hint="matmul takes any number of dimensions",
            )  # fmt: skip
    _check_types(op, *operands)


def _check_types(op: str, *operands: Tensor) -> None:
    first = operands[0]._dtype
    if any(t._dtype is not first for t in operands):
        raise DTypeError(
            f"{op}: operands must have the same dtype", got=described(operands), hint="convert one with .to(dtype)"
        )
    if first is dtypes.bool_:
        raise DTypeError(f"{op}: not defined for bool", got=described(operands))
    common_device(op, operands)


def described(operands: Sequence[Tensor]) -> str:
    return ", ".join(map(describe, operands))


def _check_inner(op: str, a: Tensor, b: Tensor) -> None:
    inner = b._sizes[-2] if b.ndim > 1 else b._sizes[0]
    if a._sizes[-1] != inner or (a.ndim == 3 and a._sizes[0] != b._sizes[0]):
        raise ShapeError(
            f"{op}: cannot multiply {list(a._sizes)} by {list(b._sizes)}", got=described((a, b)),
            hint="the inner sizes must be equal; .mT swaps the last two dimensions",
        )  # fmt: skip


def _product_spec(op: str, ndims: tuple[int, int]) -> Callable[[Tensor, Tensor], TensorSpec]:
    def spec(a: Tensor, b: Tensor) -> TensorSpec:
        _check(op, ndims, a, b)
        _check_inner(op, a, b)
        return contiguous((*a._sizes[:-1], *b._sizes[max(b.ndim - 1, 1) :]), a._dtype, a._device)

    return spec


def _scaled_spec(op: str, ndims: tuple[int, int]) -> Callable[..., TensorSpec]:
    product = _product_spec(op, ndims)

    def spec(self: Tensor, a: Tensor, b: Tensor, beta: Any = 1, alpha: Any = 1) -> TensorSpec:
        result = product(a, b)
        _check_types(op, self, a)
        if broadcast_shapes(op, self._sizes, result.sizes) != result.sizes:
            raise ShapeError(
                f"{op}: {list(self._sizes)} does not broadcast to the product {list(result.sizes)}",
                got=described((self, a, b)),
            )
        for factor in (beta, alpha):
            as_element(op, factor, result.dtype.compute)
        return result

    return spec


# ---- kernels -------------------------------------------------------------------------------------------------------


def _for_blas(xp: Any, array: Any) -> Any:
    """The array, copied only where no dimension of its matrices has unit stride (NumPy would leave BLAS)."""
    if array.ndim < 2 or array.dtype.kind in "biu" or 0 in array.shape:
        return array
    item = array.itemsize
    rows, columns = array.strides[-2:]
    by_rows = columns == item and rows % item == 0 and rows >= array.shape[-1] * item
    by_columns = rows == item and columns % item == 0 and columns >= array.shape[-2] * item
    return array if by_rows or by_columns else xp.ascontiguousarray(array)


#: Writes the product of matrices or batches of them, of one type in `LARGE`, which are on the CPU: result and operands.
large: Hook[[Tensor, Tensor, Tensor], None] = Hook()
LARGE = (dtypes.float32, dtypes.float64)


def _is_large(out: Tensor, a: Tensor, b: Tensor) -> bool:
    """Whether BLAS would use threads of its own for a product, or many products are worth more than one thread."""
    sizes, of_b = a._sizes, b._sizes
    if not a._device.is_host or a._dtype not in LARGE or len(sizes) != len(of_b) or not 2 <= len(sizes) <= 4:
        return False
    return math.prod(sizes) * of_b[-1] > MOST_PRODUCTS


def _multiply(a: Tensor, b: Tensor, out: Tensor | None) -> Any:
    """`a @ b` in the compute type; None where it was written to `out`, which has that type."""
    if large.call is not None and out is not None and _is_large(out, a, b):
        large.call(out, a, b)
        return None
    xp = a._device.xp
    compute = a._dtype.compute
    left, right = a._array, b._array
    if compute is not a._dtype:
        left, right = left.astype(compute.numpy), right.astype(compute.numpy)
    if xp is np and compute.kind in "iu" and a.numel() * b._sizes[-1] >= _MANY and b.numel():
        return whole_product(left, right, _multiply_wide)
    left, right = _for_blas(xp, left), _for_blas(xp, right)
    with np.errstate(all="ignore"):
        if out is not None and out._dtype is compute and out._sizes:
            xp.matmul(left, right, out=out._array)
            return None
        return xp.matmul(left, right)


#: Multiplications of whole numbers from which on they are worth being converted.
_MANY = 1 << 13


def _multiply_wide(left: Any, right: Any) -> Any:
    """The product of arrays of float64."""
    if min(left.ndim, right.ndim) < 2:
        return np.matmul(left, right)
    a, b = (Tensor._from_array(np.ascontiguousarray(x), cpu) for x in (left, right))
    out = allocate_like(contiguous((*a._sizes[:-1], b._sizes[-1]), dtypes.float64, cpu))
    found = _multiply(a, b, out)
    return out._array if found is None else found


def _product(spec: Callable[..., TensorSpec]) -> Callable[..., Tensor]:
    def kernel(a: Tensor, b: Tensor, *order: Sequence[int]) -> Tensor:
        out = allocate_like(spec(a, b, *order))
        if narrow.call is not None and out._dtype in _NARROW and a._device.is_host and 1 < a.ndim < 5:
            narrow.call(out, a, b, None, 1, 1)
            return out
        found = _multiply(a, b, out)
        if found is not None:
            with np.errstate(all="ignore"):
                out._array[...] = found
        return out

    return kernel


def _scaled(spec: Callable[..., TensorSpec]) -> Callable[..., Tensor]:
    def kernel(self: Tensor, a: Tensor, b: Tensor, beta: Any = 1, alpha: Any = 1) -> Tensor:
        out = allocate_like(spec(self, a, b, beta, alpha))
        xp = a._device.xp
        beta, alpha = (as_element("addmm", factor, out._dtype.compute) for factor in (beta, alpha))
        if narrow.call is not None and out._dtype in _HALVES and a._device.is_host:
            narrow.call(out, a, b, None if beta == 0 else self, alpha, beta)
            return out
        found = _multiply(a, b, out)
        total = out._array if found is None else found
        with np.errstate(all="ignore"):
            if alpha != 1:
                xp.multiply(total, total.dtype.type(alpha), out=total)
            if beta != 0:
                # With beta 0, NaN in `self` does not count: BLAS's rule.
                term = self._array.astype(total.dtype)
                total += term if beta == 1 else term * total.dtype.type(beta)
            if total is not out._array:
                out._array[...] = total
        return out

    return kernel


_mm_spec, _bmm_spec = _product_spec("mm", (2, 2)), _product_spec("bmm", (3, 3))
_mv_spec, _dot_spec = _product_spec("mv", (2, 1)), _product_spec("dot", (1, 1))
_addmm_spec, _baddbmm_spec = _scaled_spec("addmm", (2, 2)), _scaled_spec("baddbmm", (3, 3))
_addmv_spec = _scaled_spec("addmv", (2, 1))

mm = extern("aten::mm(Tensor self, Tensor mat2) -> Tensor", spec=_mm_spec, autocast="lower_precision_fp", out=True)(
    _product(_mm_spec)
)
bmm = extern("aten::bmm(Tensor self, Tensor mat2) -> Tensor", spec=_bmm_spec, autocast="lower_precision_fp", out=True)(
    _product(_bmm_spec)
)
mv = extern(
    "aten::mv(Tensor self, Tensor vec) -> Tensor", spec=_mv_spec, autocast={"cuda": "lower_precision_fp"}, outs="out"
)(_product(_mv_spec))
dot = extern(
    "aten::dot(Tensor self, Tensor tensor) -> Tensor", spec=_dot_spec, autocast={"cuda": "promote"}, outs="out"
)(_product(_dot_spec))
addmm = extern(
    "aten::addmm(Tensor self, Tensor mat1, Tensor mat2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    spec=_addmm_spec,
    autocast="lower_precision_fp",
    out=True,
    inplace=True,
)(_scaled(_addmm_spec))
addmv = extern(
    "aten::addmv(Tensor self, Tensor mat, Tensor vec, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    spec=_addmv_spec,
    autocast={"cuda": "lower_precision_fp"},
    outs="out",
    inplace=True,
)(_scaled(_addmv_spec))
baddbmm = extern(
    "aten::baddbmm(Tensor self, Tensor batch1, Tensor batch2, *, Scalar beta=1, Scalar alpha=1) -> Tensor",
    spec=_baddbmm_spec,
    autocast="lower_precision_fp",
    outs="out",
    inplace=True,
)(_scaled(_baddbmm_spec))


def _column(x: Value) -> Value:
    """A vector, or a number, as a matrix of one column."""
    return x._replace(sizes=(*x.sizes, 1), strides=(*x.strides, 1))


def _turned(x: Value) -> Value:
    return x._replace(sizes=x.sizes[::-1], strides=x.strides[::-1])


@mm.replaying
@bmm.replaying
@mv.replaying
@dot.replaying
def replay_product(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    a, b = args
    left, right, made = tape.value(a), tape.value(b), tape.made(result)
    if len(right.sizes) == 1:
        if len(left.sizes) == 1:
            if a._dtype in _NARROW:
                raise NotTaped("a sum that is no product of matrices")
            left, made = (x._replace(sizes=(1, *x.sizes), strides=(1, *x.strides)) for x in (left, made))
        if math.prod(left.sizes) > MOST_PRODUCTS:
            raise NotTaped("as many as BLAS takes several threads for")
        right, made = _column(right), _column(made)
    if narrow.call is not None and a._dtype in _NARROW and result._device.is_host:
        if result._dtype is not (dtypes.int32 if a._dtype is dtypes.int8 else a._dtype):
            raise NotTaped("sums of another type")
        if made.sizes[-1] == 1:
            if len(made.sizes) > 2 or made.strides[0] != 1:
                raise NotTaped("a column that no row is like")
            left, right, made = _turned(right), _turned(left), _turned(made)
    elif a._dtype.kind not in "fc" or a._dtype.compute is not a._dtype:
        raise NotTaped("a product that is no library call")
    elif any(_for_blas(np, t._array) is not t._array for t in args):
        raise NotTaped("a copy")
    tape.multiply(left, right, made)


@addmm.replaying
@addmv.replaying
def _replay_scaled(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    term, a, b, *factors = args
    if any(factor != 1 for factor in (*factors, *kwargs.values())):
        raise NotTaped("factors")
    if a._dtype in _NARROW:
        raise NotTaped("a sum that is rounded once")
    replay_product(tape, (a, b), {}, result)
    made = tape.value(result)
    tape.map(np.add, [made, tape.value(term)], made)


def _batched_spec(self: Tensor, mat2: Tensor, order: Sequence[int]) -> TensorSpec:
    _check_types("batched_mm", self, mat2)
    if self.ndim != mat2.ndim or self.ndim < 3 or self._sizes[:-2] != mat2._sizes[:-2]:
        raise ShapeError("batched_mm: expected two batches of equal dimensions", got=described((self, mat2)))
    if self._sizes[-1] != mat2._sizes[-2]:
        raise ShapeError(
            f"batched_mm: cannot multiply {list(self._sizes)} by {list(mat2._sizes)}", got=described((self, mat2))
        )
    if sorted(order) != list(range(self.ndim)) or order[-1] != self.ndim - 1:
        raise ShapeError(
            f"batched_mm: order must be a permutation of {self.ndim} dimensions that ends with the last", got=str(order)
        )
    sizes = (*self._sizes[:-1], mat2._sizes[-1])
    inner = contiguous([sizes[d] for d in order], self._dtype, self._device).strides
    strides = dict(zip(order, inner, strict=True))
    return TensorSpec(sizes, tuple([strides[d] for d in range(self.ndim)]), self._dtype, self._device)


#: Matrix products over any number of batch dimensions; the result's dimensions lie in memory in this order.
batched_mm = extern("opweave::batched_mm(Tensor self, Tensor mat2, int[] order) -> Tensor", spec=_batched_spec)(
    _product(_batched_spec)
)


# ---- gradients -----------------------------------------------------------------------------------------------------


def _conj(x: Tensor) -> Tensor:
    return ops.aten.conj_physical.default(x) if x._dtype.is_complex else x


def _adjoint(x: Tensor) -> Tensor:
    return _conj(ops.aten.transpose.int(x, -2, -1))


def _times(x: Tensor, factor: Any) -> Tensor:
    """`x` times the conjugate of a number."""
    factor = factor.conjugate() if isinstance(factor, complex) else factor
    return x if factor == 1 else ops.aten.mul.Tensor(x, factor)


def _is_by_columns(spec: TensorSpec) -> bool:
    """Whether a matrix lies column by column, as a weight does that was transposed: its gradient is to lie so, too."""
    (rows, _), (row, column) = spec.sizes, spec.strides
    return type(row) is int and row == 1 and surely_equal(column, rows) and not surely_equal(rows, 1)


def _left_gradient(grad: Tensor, mat2: Tensor, spec: TensorSpec) -> Tensor:
    """Of a product's first matrix."""
    aten = ops.aten
    if _is_by_columns(spec):
        return aten.t.default(aten.mm.default(_conj(mat2), aten.t.default(grad)))
    return aten.mm.default(grad, _adjoint(mat2))


def _right_gradient(grad: Tensor, mat1: Tensor, spec: TensorSpec) -> Tensor:
    """Of a product's second matrix."""
    aten = ops.aten
    if _is_by_columns(spec):
        return aten.t.default(aten.mm.default(aten.t.default(grad), _conj(mat1)))
    return aten.mm.default(_adjoint(mat1), grad)


mm.backward(
    self=lambda grad, mat2, self_spec: _left_gradient(grad, mat2, self_spec),
    mat2=lambda grad, self, mat2_spec: _right_gradient(grad, self, mat2_spec),
)
bmm.backward(
    self=lambda grad, mat2: ops.aten.bmm.default(grad, _adjoint(mat2)),
    mat2=lambda grad, self: ops.aten.bmm.default(_adjoint(self), grad),
)
batched_mm.backward(
    self=lambda grad, mat2: ops.opweave.batched_mm.default(grad, _adjoint(mat2), list(range(grad.ndim))),
    mat2=lambda grad, self: ops.opweave.batched_mm.default(_adjoint(self), grad, list(range(grad.ndim))),
)
mv.backward(
    self=lambda grad, vec: ops.aten.outer.default(grad, _conj(vec)),
    vec=lambda grad, self: ops.aten.mv.default(_adjoint(self), grad),
)
dot.backward(
    self=lambda grad, tensor: ops.aten.mul.Tensor(grad, _conj(tensor)),
    tensor=lambda grad, self: ops.aten.mul.Tensor(grad, _conj(self)),
)
addmm.backward(
    self=lambda grad, beta: _times(grad, beta),
    mat1=lambda grad, mat2, alpha, mat1_spec: _times(_left_gradient(grad, mat2, mat1_spec), alpha),
    mat2=lambda grad, mat1, alpha, mat2_spec: _times(_right_gradient(grad, mat1, mat2_spec), alpha),
)
addmv.backward(
    self=lambda grad, beta: _times(grad, beta),
    mat=lambda grad, vec, alpha: _times(ops.aten.outer.default(grad, _conj(vec)), alpha),
    vec=lambda grad, mat, alpha: _times(ops.aten.mv.default(_adjoint(mat), grad), alpha),
)
baddbmm.backward(
    self=lambda grad, beta: _times(grad, beta),
    batch1=lambda grad, batch2, alpha: _times(ops.aten.bmm.default(grad, _adjoint(batch2)), alpha),
    batch2=lambda grad, batch1, alpha: _times(ops.aten.bmm.default(_adjoint(batch1), grad), alpha),
)


# ---- samples -------------------------------------------------------------------------------------------------------


def _flipped(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, -2, -1)


@mm.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 5), make(5, 3)), {}
    yield (_flipped(make(5, 4)), _flipped(make(3, 5))), {}
    yield (ops.aten.slice.Tensor(make(4, 10), 1, 0, None, 2), make(5, 3)), {}
    yield (ops.aten.expand.default(make(1, 5), [4, 5]), make(5, 1)), {}
    yield (make(0, 5), make(5, 3)), {}
    yield (make(4, 0), make(0, 3)), {}
    yield (make(33, 65), make(65, 17)), {}


@batched_mm.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 4, 5), make(2, 5, 3), [0, 1, 2]), {}
    yield (make(2, 3, 4, 5), make(2, 3, 5, 6), [0, 2, 1, 3]), {}
    yield (_flipped(make(2, 3, 5, 4)), _flipped(make(2, 3, 6, 5)), [1, 2, 0, 3]), {}
    yield (make(2, 0, 4), make(2, 4, 3), [1, 0, 2]), {}


@bmm.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 4, 5), make(2, 5, 3)), {}
    yield (_flipped(make(2, 5, 4)), ops.aten.permute.default(make(5, 2, 3), [1, 0, 2])), {}
    yield (make(0, 4, 5), make(0, 5, 3)), {}
    yield (make(2, 4, 0), make(2, 0, 3)), {}


@mv.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 5), make(5)), {}
    yield (_flipped(make(5, 4)), ops.aten.slice.Tensor(make(10), 0, 0, None, 2)), {}
    yield (make(4, 0), make(0)), {}


@dot.with_samples
def _(make: Make) -> Samples:
    yield (make(7), make(7)), {}
    yield (make(0), make(0)), {}


@addmm.with_samples
def _(make: Make) -> Samples:
    yield (make(3), make(4, 5), make(5, 3)), {}
    yield (make(4, 1), make(4, 5), _flipped(make(3, 5))), {"beta": 2, "alpha": 3}
    yield (make(4, 3), make(4, 0), make(0, 3)), {"beta": 0}
    yield (make(), make(4, 5), make(5, 3)), {}


@addmv.with_samples
def _(make: Make) -> Samples:
    yield (make(4), make(4, 5), make(5)), {"alpha": 2}


@baddbmm.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 4, 3), make(2, 4, 5), make(2, 5, 3)), {"beta": 2}
    yield (make(3), make(2, 4, 5), make(2, 5, 3)), {}


for _decl in (mm, bmm, batched_mm, mv, dot, addmm, addmv, baddbmm):
    _decl.sample_dtypes = TYPES

for _decl in (mm, batched_mm, bmm, mv, dot, addmm, addmv, baddbmm):
    _decl.batching(getattr(matmul_batching, _decl.__name__))

"""What the families of linear algebra share: checks, layouts, triangles, errors of LAPACK, batches.

Matrices are the last two dimensions. The library of the arrays factors them (LAPACK through NumPy, cuSOLVER through
CuPy), for a whole batch at once where it does not fail.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, is_at, ranked, wrap
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, LinAlgError, ShapeError
from opweave.registry.interrupts import let_through
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.gradients import conjugate
from opweave.registry.promote import broadcast_shapes
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten

#: Types that LAPACK has, and the types that samples are made in.
TYPES = (dtypes.float32, dtypes.float64, dtypes.complex64, dtypes.complex128)
SAMPLED = (dtypes.float32, dtypes.float64, dtypes.complex128)


# ---- checks --------------------------------------------------------------------------------------------------------


def check_matrix(op: str, *operands: Tensor) -> None:
    """Matrices or batches of them, of one type that LAPACK has.

    Raises
    ------
    ShapeError
        If one has fewer than two dimensions.
    DTypeError
        If the types differ or are others.
    """
    for t in operands:
        if t.ndim < 2:
            raise ShapeError(
                f"{op}: The input tensor must have at least 2 dimensions",
                got=describe(t),
                hint="matrices are the last two",
            )
        if t._dtype not in TYPES:
            raise DTypeError(
                f"{op}: Expected a floating point or complex tensor as input (float32, float64 or complex)",
                got=describe(t), hint="x.to(opweave.float32)",
            )  # fmt: skip
        if t._dtype is not operands[0]._dtype:
            raise DTypeError(f"{op}: Expected tensors of one dtype", got=describe(list(operands)))


def check_square(op: str, *operands: Tensor) -> None:
    """`check_matrix`, and the first one square."""
    check_matrix(op, *operands)
    rows, columns = operands[0]._sizes[-2:]
    if rows != columns:
        raise ShapeError(
            f"{op}: A must be batches of square matrices",
            got=f"{rows} by {columns} matrices",
            hint="the last two sizes must be equal; linalg.pinv and linalg.lstsq take other matrices",
        )


def batch_of(op: str, *operands: Tensor) -> tuple[int, ...]:
    """The batch dimensions of several operands, which broadcast."""
    return tuple(broadcast_shapes(op, *[t._sizes[:-2] for t in operands]))


def spec_of(sizes: Sequence[int], dtype: DType, like: Tensor) -> TensorSpec:
    """Of a result on the device of a tensor."""
    return contiguous(tuple(sizes), dtype, like._device)


def columns_of(sizes: Sequence[int], dtype: DType, like: Tensor) -> TensorSpec:
    """Of matrices that lie by columns, as LAPACK writes them; in PyTorch too."""
    if len(sizes) < 2:
        return spec_of(sizes, dtype, like)
    *batch, m, n = sizes
    rows = contiguous((*batch, n, m), dtype, like._device)
    *strides, column, row = rows.strides
    return TensorSpec(tuple(sizes), (*strides, row, column), dtype, like._device)


def made(spec: TensorSpec, array: Any) -> Tensor:
    """A result with these elements."""
    out = allocate_like(spec)
    out._array[...] = array
    return out


def real_type(t: Tensor) -> DType:
    """The type of magnitudes."""
    return t._dtype.to_real() if t._dtype.kind == "c" else t._dtype


# ---- LAPACK, matrix by matrix where it fails -----------------------------------------------------------------------


def each(
    compute: Callable[..., Any], failed: Callable[..., tuple[Any, int]], info: Any, array: Any, *others: Any
) -> Any:
    """What `compute` gives for a batch; where it fails, matrix by matrix, with what `failed` says of those.

    Parameters
    ----------
    compute : callable
        Of a batch of matrices; raises `numpy.linalg.LinAlgError`.
    failed : callable
        Of one matrix that it fails for: what stands in the result instead, and its number in `info`.
    info : array
        Written where it fails.
    array, others : array
        Batches of one shape.
    """
    try:
        return compute(array, *others)
    except Exception as error:
        let_through(error)
        if type(error).__name__ != "LinAlgError":
            raise
    shape = array.shape[:-2]
    flat = [a.reshape(-1, *a.shape[len(shape) :]) for a in (array, *others)]
    codes = info.reshape(-1)
    results = []
    for k, matrices in enumerate(zip(*flat, strict=True)):
        try:
            results.append(compute(*matrices))
        except Exception as error:
            let_through(error)
            if type(error).__name__ != "LinAlgError":
                raise
            value, codes[k] = failed(*matrices)
            results.append(value)
    info[...] = codes.reshape(info.shape)
    first = results[0]
    if isinstance(first, tuple):
        return tuple([_stacked(parts, shape) for parts in zip(*results, strict=True)])
    return _stacked(results, shape)


def _stacked(parts: Sequence[Any], shape: tuple[int, ...]) -> Any:
    whole = parts[0][None].repeat(len(parts), 0)
    for k, part in enumerate(parts):
        whole[k] = part
    return whole.reshape(*shape, *whole.shape[1:])


def raise_errors(op: str, info: Any, problem: str) -> None:
    """Raise for the first matrix of which LAPACK says that something is wrong.

    Raises
    ------
    LinAlgError
        Its place in the batch, and what is wrong, with `{info}` in the text.
    """
    codes = info._array.reshape(-1).tolist()
    for k, code in enumerate(codes):
        if code:
            place = f"(Batch element {k}): " if info.ndim else ""
            raise LinAlgError(
                f"{op}: {place}{problem.format(info=code)}", got=f"info={code}",
                hint=f"opweave.{op}_ex tells it by a number; linalg.lstsq and linalg.pinv take such matrices"
                if op in ("linalg.inv", "linalg.solve")
                else "look at the matrix; adding a small multiple of opweave.eye(n) may help",
            )  # fmt: skip


# ---- parts ---------------------------------------------------------------------------------------------------------


def mT(t: Tensor) -> Any:
    """The transposed matrices."""
    return aten.transpose.int(t, -2, -1)


def mH(t: Tensor) -> Any:
    """The conjugate transposed matrices."""
    return conjugate(mT(t))


def tril(t: Tensor, k: int = 0) -> Any:
    return aten.tril.default(t, k)


def triu(t: Tensor, k: int = 0) -> Any:
    return aten.triu.default(t, k)


def diagonal(t: Tensor) -> Any:
    return aten.diagonal.default(t, 0, -2, -1)


def diag_embed(t: Tensor) -> Any:
    return aten.diag_embed.default(t)


def halved_diagonal(t: Any) -> Any:
    """The matrix with half of its diagonal."""
    return t - diag_embed(diagonal(t)) * 0.5


def columns(t: Tensor, start: Any, end: Any) -> Any:
    return aten.slice.Tensor(t, -1, start, end)


def rows(t: Tensor, start: Any, end: Any) -> Any:
    return aten.slice.Tensor(t, -2, start, end)


def identity_like(t: Tensor, size: int) -> Any:
    return aten.eye.default(size, dtype=t._dtype, device=t._device)


def without_imaginary(t: Any, like: Tensor) -> Any:
    """The real part where the gradient is of a real tensor."""
    return aten.real.default(t) if t._dtype.kind == "c" and like._dtype.kind != "c" else t


def zero_or(grad: Any, like: Tensor) -> Any:
    """A gradient, or zeros where there is none."""
    return aten.zeros_like.default(like) if grad is None else grad


# ---- batches of `vmap` ---------------------------------------------------------------------------------------------


#: What the operands are called that have a vector for each matrix.
_VECTORS = ("pivots", "LU_pivots", "tau")


def batch_matrices(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """One more batch dimension in front, of every operand; the batches of several broadcast."""
    values = bound(op, args, kwargs)
    tensors = {name: t for name, t in values.items() if isinstance(t, Tensor)}
    rank = max(t.ndim + (name in _VECTORS) for name, t in tensors.items())
    for name, t in tensors.items():
        lacking = rank - (name in _VECTORS) - t.ndim
        value = ranked(t, level, t.ndim + lacking)
        if not is_at(t, level) and len(tensors) > 1:
            value = aten.expand.default(t, [level.size, *[1] * lacking, *t._sizes])
        values[name] = value
    return wrap(with_a_batch(call(op, values), level), level)


def with_a_batch(results: Any, level: Level) -> Any:
    """Results, of which those that were not asked for are a vector of nothing: so for each example."""
    if isinstance(results, Tensor):
        return results
    return tuple([aten.expand.default(t, [level.size, 0]) if t._sizes == (0,) else t for t in results])


# ---- samples -------------------------------------------------------------------------------------------------------


def well(make: Callable[..., Tensor], *sizes: int) -> Any:
    """Matrices far from singular ones."""
    x: Any = make(*sizes)
    n = min(sizes[-2:])
    eye = aten.eye.m(sizes[-2], sizes[-1], dtype=x._dtype, device=x._device)
    return aten.add.Tensor(aten.mul.Scalar(x, 0.3), aten.mul.Scalar(eye, n + 1.0))


def positive(make: Callable[..., Tensor], *sizes: int) -> Any:
    """Hermitian positive definite matrices with different eigenvalues."""
    x: Any = make(*sizes)
    n = sizes[-1]
    spread = aten.diag_embed.default(aten.arange.start(1, n + 1, dtype=x._dtype, device=x._device))
    small = aten.mul.Scalar(x, 0.2)
    return aten.add.Tensor(aten.add.Tensor(small, mH(small)), aten.mul.Scalar(spread, 2.0))

"""Discrete Fourier transforms: the names, arguments and results of `torch.fft`.

    spectrum = opweave.fft.rfft(signal, dim=0, norm="ortho")
    assert opweave.allclose(opweave.fft.irfft(spectrum, n=signal.shape[0], dim=0, norm="ortho"), signal)

All are written with the ops `_fft_c2c`, `_fft_r2c` and `_fft_c2r`, so they trace, differentiate and batch as these do.
`n` and `s` cut the input or fill it with zeros; `norm` is `"backward"` (the default: the inverse is divided by the
number of points), `"ortho"` (both by its root) or `"forward"`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry import binding as _binding, dtypes
from opweave.registry.device import Device
from opweave.registry.dtypes import DType, get_default_dtype
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import demand
from opweave.registry.tensor import Tensor, describe

__all__ = [
    "fft", "fft2", "fftfreq", "fftn", "fftshift", "hfft", "hfft2", "hfftn", "ifft", "ifft2", "ifftn", "ifftshift",
    "ihfft", "ihfft2", "ihfftn", "irfft", "irfft2", "irfftn", "rfft", "rfft2", "rfftfreq", "rfftn",
]  # fmt: skip

_ = _surface  # declares the ops
Dims = int | Sequence[int] | None

_COMPLEX = {dtypes.float32: dtypes.complex64, dtypes.float64: dtypes.complex128}
# What a transform is divided by, as the ops count it: nothing, the root of the number of points, the number.
_FORWARD = {None: 0, "backward": 0, "ortho": 1, "forward": 2}
_BACKWARD = {None: 2, "backward": 2, "ortho": 1, "forward": 0}
_LAST_TWO = (-2, -1)


# ---- arguments -----------------------------------------------------------------------------------------------------


def _norm(op: str, norm: str | None, forward: bool) -> int:
    table = _FORWARD if forward else _BACKWARD
    if norm not in table:
        raise ShapeError(f"{op}: unknown norm", got=f"norm={norm!r}", hint="'backward', 'ortho' or 'forward'")
    return table[norm]


def _promoted(op: str, input: Tensor, complex: bool) -> Tensor:
    """The input in a type that there are transforms of."""
    dtype = input._dtype
    if dtype.kind not in "fc":
        dtype = get_default_dtype()
    if dtype not in _COMPLEX and dtype.kind != "c":
        raise DTypeError(f"{op}: not defined for {dtype.name}", got=describe(input), hint="convert to float32 first")
    wanted = _COMPLEX[dtype] if complex and dtype.kind == "f" else dtype
    return input if wanted is input._dtype else ops.aten._to_copy.default(input, dtype=wanted)


def _real(op: str, input: Tensor) -> None:
    if input._dtype.kind == "c":
        raise DTypeError(f"{op}: expected real numbers", got=describe(input), hint=f"{op.replace('r', '')} takes them")


def _dim(op: str, input: Tensor, dim: int) -> int:
    if not input.ndim:
        raise OutOfRangeError(f"{op}: a 0-d tensor has no dimension to transform", got=f"dim={dim}")
    return wrap_dim(dim, input.ndim, op)


def _demand_points(op: str, count: Any) -> None:
    demand(count >= 1, f"{op}: the number of points must be 1 or more, not {count}", ShapeError)


def _resized(input: Tensor, dims: Sequence[int], sizes: Sequence[Any]) -> Tensor:
    """The input cut to these sizes, or filled up with zeros."""
    missing = [0] * (2 * input.ndim)
    for d, size in zip(dims, sizes, strict=True):
        there = input._sizes[d]
        if there < size:
            missing[2 * (input.ndim - d) - 1] = size - there
        elif there > size:
            input = ops.aten.slice.Tensor(input, d, 0, size)
    return ops.aten.constant_pad_nd.default(input, missing) if any(missing) else input


def _shape_and_dims(op: str, input: Tensor, s: Any, dim: Dims) -> tuple[list[Any], list[int]]:
    """The number of points in each transformed dimension, and the dimensions; a size of -1 is the input's."""
    sizes = None if s is None else list(s) if isinstance(s, (list, tuple)) else [s]
    if dim is not None:
        given = list(dim) if isinstance(dim, (list, tuple)) else [dim]
        dims = [_dim(op, input, d) for d in given]  # type: ignore[arg-type]
        if len(set(dims)) < len(dims):
            raise ShapeError(f"{op}: a dimension is given twice", got=f"dim={given}")
        if sizes is not None and len(sizes) != len(dims):
            raise ShapeError(f"{op}: s and dim have different lengths", got=f"s={sizes}, dim={given}")
    elif sizes is not None:
        if len(sizes) > input.ndim:
            raise ShapeError(f"{op}: more sizes than dimensions", got=f"s={sizes} for {describe(input)}")
        dims = list(range(input.ndim - len(sizes), input.ndim))
    else:
        dims = list(range(input.ndim))
    if sizes is None:
        sizes = [-1] * len(dims)
    sizes = [input._sizes[d] if isinstance(n, int) and n == -1 else n for d, n in zip(dims, sizes, strict=True)]
    for n in sizes:
        _demand_points(op, n)
    return sizes, dims


# ---- one dimension -------------------------------------------------------------------------------------------------


def _line(op: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool, half: bool) -> Tensor:
    """A transform to complex numbers: of real input, `half` gives what tells the rest."""
    real = input._dtype.kind != "c"
    x = _promoted(op, input, False)
    d = _dim(op, x, dim)
    count = x._sizes[d] if n is None else n
    _demand_points(op, count)
    if n is not None:
        x = _resized(x, [d], [n])
    if not real:
        return ops.aten._fft_c2c.default(x, [d], _norm(op, norm, forward), forward)
    found = ops.aten._fft_r2c.default(x, [d], _norm(op, norm, forward), half)
    return found if forward else ops.aten.conj_physical.default(found)


def _line_to_real(op: str, input: Tensor, n: int | None, dim: int, norm: str | None, forward: bool) -> Tensor:
    x = _promoted(op, input, True)
    d = _dim(op, x, dim)
    count = 2 * (x._sizes[d] - 1) if n is None else n
    _demand_points(op, count)
    if n is not None:
        x = _resized(x, [d], [n // 2 + 1])
    if forward:
        x = ops.aten.conj_physical.default(x)
    return ops.aten._fft_c2r.default(x, [d], _norm(op, norm, forward), count)


def fft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The transform of a dimension: X[k] = Σ x[j] exp(-2πi jk / n).

    Parameters
    ----------
    input : Tensor
        Real or complex; whole numbers become the default dtype. There are no transforms of half types.
    n : int, optional
        Number of points: the input is cut to it, or filled with zeros.
    dim : int
        The dimension.
    norm : str, optional
        `"backward"` (no factor), `"ortho"` (1/√n) or `"forward"` (1/n).

    Returns
    -------
    Tensor
        Complex, of the input's precision.

    Raises
    ------
    DTypeError
        If there is no transform of the type.
    ShapeError
        If there are no points, or `norm` is unknown.
    OutOfRangeError
        If there is no such dimension.

    Examples
    --------
    >>> opweave.fft.fft(opweave.tensor([1.0, 2.0]))
    tensor([ 3.+0.j, -1.+0.j])
    """
    return _line("fft", input, n, dim, norm, True, False)


def ifft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `fft`: Σ X[k] exp(2πi jk / n), divided by n unless `norm` says otherwise.

    Examples
    --------
    >>> opweave.fft.ifft(opweave.tensor([3.0, -1.0]))
    tensor([1.-0.j, 2.-0.j])
    """
    return _line("ifft", input, n, dim, norm, False, False)


def rfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """`fft` of real numbers: its first n // 2 + 1 elements, of which the others are the conjugates.

    Examples
    --------
    >>> opweave.fft.rfft(opweave.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])
    """
    _real("rfft", input)
    return _line("rfft", input, n, dim, norm, True, True)


def irfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `rfft`: real numbers, `n` of them, 2 (m - 1) if not given.

    Examples
    --------
    >>> opweave.fft.irfft(opweave.tensor([10.0, -2.0, -2.0]))
    tensor([1., 3., 3., 3.])
    """
    return _line_to_real("irfft", input, n, dim, norm, False)


def hfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The real `fft` of a signal that is Hermitian in time, given by its first half.

    Examples
    --------
    >>> opweave.fft.hfft(opweave.tensor([1.0, 2.0]))
    tensor([ 3., -1.])
    """
    return _line_to_real("hfft", input, n, dim, norm, True)


def ihfft(input: Tensor, n: int | None = None, dim: int = -1, norm: str | None = None) -> Tensor:
    """The inverse of `hfft`: the first half of a signal that is Hermitian in time.

    Examples
    --------
    >>> opweave.fft.ihfft(opweave.tensor([1.0, 2.0]))
    tensor([ 1.5000-0.j, -0.5000-0.j])
    """
    _real("ihfft", input)
    return _line("ihfft", input, n, dim, norm, False, True)


# ---- several dimensions --------------------------------------------------------------------------------------------


def _several(op: str, input: Tensor, s: Any, dim: Dims, norm: str | None, forward: bool) -> Tensor:
    sizes, dims = _shape_and_dims(op, input, s, dim)
    x = _resized(_promoted(op, input, True), dims, sizes)
    return ops.aten._fft_c2c.default(x, dims, _norm(op, norm, forward), forward)


def _at_least_one(op: str, dims: Sequence[int]) -> None:
    if not dims:
        raise ShapeError(f"{op}: needs a dimension to transform", got="dim=()")


def _several_to_real(op: str, input: Tensor, s: Any, dim: Dims, norm: str | None) -> tuple[Tensor, list[int], Any, int]:
    """(input with the sizes that are read, dimensions, size of the last in the result, norm)."""
    sizes, dims = _shape_and_dims(op, input, s, dim)
    _at_least_one(op, dims)
    last = s[-1] if isinstance(s, (list, tuple)) else s
    if last is None or (isinstance(last, int) and last == -1):
        last = 2 * (input._sizes[dims[-1]] - 1)
    _demand_points(op, last)
    x = _resized(_promoted(op, input, True), dims, [*sizes[:-1], last // 2 + 1])
    return x, dims, last, _norm(op, norm, op.startswith("h"))


def fftn(input: Tensor, s: Any = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """`fft` of several dimensions, all by default; `s` has the number of points of each, -1 for the input's.

    Examples
    --------
    >>> opweave.fft.fftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 4])
    """
    return _several("fftn", input, s, dim, norm, True)


def ifftn(input: Tensor, s: Any = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of `fftn`.

    Examples
    --------
    >>> opweave.fft.ifftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 4])
    """
    return _several("ifftn", input, s, dim, norm, False)


def rfftn(input: Tensor, s: Any = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """`fftn` of real numbers: in the last dimension the first half.

    Examples
    --------
    >>> opweave.fft.rfftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 3])
    """
    _real("rfftn", input)
    sizes, dims = _shape_and_dims("rfftn", input, s, dim)
    _at_least_one("rfftn", dims)
    x = _resized(_promoted("rfftn", input, False), dims, sizes)
    return ops.aten._fft_r2c.default(x, dims, _norm("rfftn", norm, True), True)


def irfftn(input: Tensor, s: Any = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of `rfftn`; the last number of `s` tells whether there was an odd number of points.

    Examples
    --------
    >>> opweave.fft.irfftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 6])
    """
    x, dims, last, normalization = _several_to_real("irfftn", input, s, dim, norm)
    return ops.aten._fft_c2r.default(x, dims, normalization, last)


def hfftn(input: Tensor, s: Any = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """`hfft` of several dimensions.

    Examples
    --------
    >>> opweave.fft.hfftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 6])
    """
    x, dims, last, normalization = _several_to_real("hfftn", input, s, dim, norm)
    if len(dims) > 1:
        x = ops.aten._fft_c2c.default(x, dims[:-1], normalization, True)
    return ops.aten._fft_c2r.default(ops.aten.conj_physical.default(x), dims[-1:], normalization, last)


def ihfftn(input: Tensor, s: Any = None, dim: Dims = None, norm: str | None = None) -> Tensor:
    """The inverse of `hfftn`.

    Examples
    --------
    >>> opweave.fft.ihfftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 3])
    """
    _real("ihfftn", input)
    sizes, dims = _shape_and_dims("ihfftn", input, s, dim)
    _at_least_one("ihfftn", dims)
    x = _resized(_promoted("ihfftn", input, False), dims, sizes)
    normalization = _norm("ihfftn", norm, False)
    found = ops.aten.conj_physical.default(ops.aten._fft_r2c.default(x, dims[-1:], normalization, True))
    return ops.aten._fft_c2c.default(found, dims[:-1], normalization, False) if len(dims) > 1 else found


def fft2(input: Tensor, s: Any = None, dim: Dims = _LAST_TWO, norm: str | None = None) -> Tensor:
    """`fftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.fft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 4])
    """
    return fftn(input, s, dim, norm)


def ifft2(input: Tensor, s: Any = None, dim: Dims = _LAST_TWO, norm: str | None = None) -> Tensor:
    """`ifftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.ifft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 4])
    """
    return ifftn(input, s, dim, norm)


def rfft2(input: Tensor, s: Any = None, dim: Dims = _LAST_TWO, norm: str | None = None) -> Tensor:
    """`rfftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.rfft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 3])
    """
    return rfftn(input, s, dim, norm)


def irfft2(input: Tensor, s: Any = None, dim: Dims = _LAST_TWO, norm: str | None = None) -> Tensor:
    """`irfftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.irfft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 6])
    """
    return irfftn(input, s, dim, norm)


def hfft2(input: Tensor, s: Any = None, dim: Dims = _LAST_TWO, norm: str | None = None) -> Tensor:
    """`hfftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.hfft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 6])
    """
    return hfftn(input, s, dim, norm)


def ihfft2(input: Tensor, s: Any = None, dim: Dims = _LAST_TWO, norm: str | None = None) -> Tensor:
    """`ihfftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.ihfft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 3])
    """
    return ihfftn(input, s, dim, norm)


# ---- frequencies ---------------------------------------------------------------------------------------------------


def _spaced(places: Tensor, n: int, d: float, requires_grad: bool) -> Tensor:
    found = ops.aten.mul.Tensor(places, 1.0 / (n * d))
    return found.requires_grad_() if requires_grad else found


def _frequency_type(dtype: DType | None) -> DType:
    wanted = get_default_dtype() if dtype is None else dtype
    if wanted.kind not in "fc":
        raise DTypeError("fftfreq: frequencies are floating point or complex numbers", got=f"dtype={wanted!r}")
    return wanted


def fftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the elements of an `fft` of n points, d apart: 0, 1, ..., then the negative ones, over n d.

    Examples
    --------
    >>> opweave.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])
    """
    kind = _frequency_type(dtype)
    first = ops.aten.arange.start_step(0, n - n // 2, 1, dtype=kind, device=device)
    second = ops.aten.arange.start_step(-(n // 2), 0, 1, dtype=kind, device=device)
    return _spaced(ops.aten.cat.default([first, second]), n, d, requires_grad)


def rfftfreq(
    n: int,
    d: float = 1.0,
    *,
    dtype: DType | None = None,
    device: Device | str | None = None,
    requires_grad: bool = False,
) -> Tensor:
    """The frequencies of the elements of an `rfft` of n points, d apart: 0, 1, ..., n // 2, over n d.

    Examples
    --------
    >>> opweave.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])
    """
    kind = _frequency_type(dtype)
    return _spaced(ops.aten.arange.start_step(0, n // 2 + 1, 1, dtype=kind, device=device), n, d, requires_grad)


def _shifted(input: Tensor, dim: Dims, back: int) -> Tensor:
    given = range(input.ndim) if dim is None else dim if isinstance(dim, (list, tuple)) else [dim]
    dims = [wrap_dim(d, input.ndim, "fftshift") for d in given]  # type: ignore[arg-type]
    return ops.aten.roll.default(input, [(input._sizes[d] + back) // 2 for d in dims], dims)


def fftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The dimensions (all by default) turned, so that frequency 0 of an `fft` stands in the middle.

    Examples
    --------
    >>> opweave.fft.fftshift(opweave.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _shifted(input, dim, 0)


def ifftshift(input: Tensor, dim: Dims = None) -> Tensor:
    """The inverse of `fftshift`.

    Examples
    --------
    >>> opweave.fft.ifftshift(opweave.arange(4))
    tensor([2, 3, 0, 1])
    """
    return _shifted(input, dim, 1)


def _bind() -> None:
    """Let each transform be called as PyTorch's are: `fft(input=x, axis=0, out=y)`."""
    for name in __all__:
        if not name.endswith(("freq", "shift")):
            globals()[name] = _binding.respelling(_binding.writing(globals()[name]))


_bind()


def __dir__() -> list[str]:
    return sorted(__all__)

"""Functions of `opweave.fft`.

Written by `python -m opweave.typing_stubs` from the declarations of the ops; see there."""

from builtins import bool as _bool, float as _float, int as _int, str as _str
from collections.abc import Sequence
from typing import Any, overload
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.tensor import Tensor

@overload
def fft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def fft(input: Tensor, n: _int | None = None, axis: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
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

    Examples
    --------
    >>> opweave.fft.fft(opweave.tensor([1.0, 2.0]))
    tensor([ 3.+0.j, -1.+0.j])"""
    ...
@overload
def fft2(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def fft2(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`fftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.fft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 4])"""
    ...
def fftfreq(n: _int, d: _float = 1.0, *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False) -> Tensor:
    """The frequencies of the elements of an `fft` of n points, d apart: 0, 1, ..., then the negative ones, over n d.

    Examples
    --------
    >>> opweave.fft.fftfreq(4)
    tensor([ 0.0000,  0.2500, -0.5000, -0.2500])"""
    ...
@overload
def fftn(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def fftn(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`fft` of several dimensions, all by default; `s` has the number of points of each, -1 for the input's.

    Examples
    --------
    >>> opweave.fft.fftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 4])"""
    ...
def fftshift(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """The dimensions (all by default) turned, so that frequency 0 of an `fft` stands in the middle.

    Examples
    --------
    >>> opweave.fft.fftshift(opweave.arange(4))
    tensor([2, 3, 0, 1])"""
    ...
@overload
def hfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def hfft(input: Tensor, n: _int | None = None, axis: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The real `fft` of a signal that is Hermitian in time, given by its first half.

    Examples
    --------
    >>> opweave.fft.hfft(opweave.tensor([1.0, 2.0]))
    tensor([ 3., -1.])"""
    ...
@overload
def hfft2(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def hfft2(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`hfftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.hfft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 6])"""
    ...
@overload
def hfftn(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def hfftn(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`hfft` of several dimensions.

    Examples
    --------
    >>> opweave.fft.hfftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 6])"""
    ...
@overload
def ifft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def ifft(input: Tensor, n: _int | None = None, axis: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fft`: Σ X[k] exp(2πi jk / n), divided by n unless `norm` says otherwise.

    Examples
    --------
    >>> opweave.fft.ifft(opweave.tensor([3.0, -1.0]))
    tensor([1.-0.j, 2.-0.j])"""
    ...
@overload
def ifft2(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def ifft2(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`ifftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.ifft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 4])"""
    ...
@overload
def ifftn(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def ifftn(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `fftn`.

    Examples
    --------
    >>> opweave.fft.ifftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 4])"""
    ...
def ifftshift(input: Tensor, dim: _int | Sequence[_int] | None = None) -> Tensor:
    """The inverse of `fftshift`.

    Examples
    --------
    >>> opweave.fft.ifftshift(opweave.arange(4))
    tensor([2, 3, 0, 1])"""
    ...
@overload
def ihfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def ihfft(input: Tensor, n: _int | None = None, axis: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `hfft`: the first half of a signal that is Hermitian in time.

    Examples
    --------
    >>> opweave.fft.ihfft(opweave.tensor([1.0, 2.0]))
    tensor([ 1.5000-0.j, -0.5000-0.j])"""
    ...
@overload
def ihfft2(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def ihfft2(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`ihfftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.ihfft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 3])"""
    ...
@overload
def ihfftn(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def ihfftn(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `hfftn`.

    Examples
    --------
    >>> opweave.fft.ihfftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 3])"""
    ...
@overload
def irfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def irfft(input: Tensor, n: _int | None = None, axis: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `rfft`: real numbers, `n` of them, 2 (m - 1) if not given.

    Examples
    --------
    >>> opweave.fft.irfft(opweave.tensor([10.0, -2.0, -2.0]))
    tensor([1., 3., 3., 3.])"""
    ...
@overload
def irfft2(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def irfft2(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`irfftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.irfft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 6])"""
    ...
@overload
def irfftn(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def irfftn(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """The inverse of `rfftn`; the last number of `s` tells whether there was an odd number of points.

    Examples
    --------
    >>> opweave.fft.irfftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 6])"""
    ...
@overload
def rfft(input: Tensor, n: _int | None = None, dim: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def rfft(input: Tensor, n: _int | None = None, axis: _int = -1, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`fft` of real numbers: its first n // 2 + 1 elements, of which the others are the conjugates.

    Examples
    --------
    >>> opweave.fft.rfft(opweave.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([10.+0.j, -2.+2.j, -2.+0.j])"""
    ...
@overload
def rfft2(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def rfft2(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = ..., norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`rfftn` of the last two dimensions.

    Examples
    --------
    >>> opweave.fft.rfft2(opweave.ones(4, 4)).shape
    opweave.Size([4, 3])"""
    ...
def rfftfreq(n: _int, d: _float = 1.0, *, dtype: DType | None = None, device: Device | _str | None = None, requires_grad: _bool = False) -> Tensor:
    """The frequencies of the elements of an `rfft` of n points, d apart: 0, 1, ..., n // 2, over n d.

    Examples
    --------
    >>> opweave.fft.rfftfreq(4)
    tensor([0.0000, 0.2500, 0.5000])"""
    ...
@overload
def rfftn(input: Tensor, s: Any = None, dim: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor: ...
@overload
def rfftn(input: Tensor, s: Any = None, axis: _int | Sequence[_int] | None = None, norm: _str | None = None, *, out: Tensor | None = None) -> Tensor:
    """`fftn` of real numbers: in the last dimension the first half.

    Examples
    --------
    >>> opweave.fft.rfftn(opweave.ones(4, 4)).shape
    opweave.Size([4, 3])"""
    ...

__all__ = ['fft', 'fft2', 'fftfreq', 'fftn', 'fftshift', 'hfft', 'hfft2', 'hfftn', 'ifft', 'ifft2', 'ifftn', 'ifftshift', 'ihfft', 'ihfft2', 'ihfftn', 'irfft', 'irfft2', 'irfftn', 'rfft', 'rfft2', 'rfftfreq', 'rfftn']

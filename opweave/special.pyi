"""Functions of `opweave.special`.

Written by `python -m opweave.typing_stubs` from the declarations of the ops; see there."""

from collections.abc import Sequence
from typing import overload
from opweave.registry.argument_types import Bool, DTypeLike, Float, Int, Number
from opweave.registry.tensor import Tensor

def airy_ai(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Airy function Ai of each element.

    Parameters
    ----------
    x : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.airy_ai(x)
    tensor([0.5356, 0.2317, 0.0349])"""
    ...
def bessel_j0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind and order 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.bessel_j0(x)
    tensor([0.7652, 0.9385, 0.2239])"""
    ...
def bessel_j1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the first kind and order 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.bessel_j1(x)
    tensor([-0.4401,  0.2423,  0.5767])"""
    ...
def bessel_y0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind and order 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.bessel_y0(x)
    tensor([-0.9316, -0.4445,  0.0883])"""
    ...
def bessel_y1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The Bessel function of the second kind and order 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.bessel_y1(x)
    tensor([-2.7041, -1.4715, -0.7812])"""
    ...
@overload
def chebyshev_polynomial_t(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def chebyshev_polynomial_t(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def chebyshev_polynomial_t(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the first kind and degree n at x.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.chebyshev_polynomial_t(x, y)
    tensor([ 1., -1.,  2.])"""
    ...
@overload
def chebyshev_polynomial_u(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def chebyshev_polynomial_u(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def chebyshev_polynomial_u(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the second kind and degree n at x.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.chebyshev_polynomial_u(x, y)
    tensor([ 3., -1.,  4.])"""
    ...
@overload
def chebyshev_polynomial_v(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def chebyshev_polynomial_v(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def chebyshev_polynomial_v(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the third kind and degree n at x.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.chebyshev_polynomial_v(x, y)
    tensor([ 5., -1.,  3.])"""
    ...
@overload
def chebyshev_polynomial_w(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def chebyshev_polynomial_w(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def chebyshev_polynomial_w(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the fourth kind and degree n at x.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.chebyshev_polynomial_w(x, y)
    tensor([ 1., -1.,  5.])"""
    ...
def digamma(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of log Γ(x).

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.digamma(x)
    tensor([-4.2275, -1.9635, -0.5772])"""
    ...
def entr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """-x log(x), 0 at 0, and -inf for negative numbers.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.entr(x)
    tensor([0.3466, 0.3466, -0.0000])"""
    ...
def erf(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The error function of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.erf(x)
    tensor([-0.8427,  0.5205,  0.9953])"""
    ...
def erfc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 - erf(x), of which nothing is lost where erf is near 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.erfc(x)
    tensor([1.8427, 0.4795, 0.0047])"""
    ...
def erfcx(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x²) (1 - erf(x)), which neither overflows nor vanishes where x is large.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.erfcx(x)
    tensor([5.0090, 0.6157, 0.2554])"""
    ...
def erfinv(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number whose error function each element is.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> opweave.special.erfinv(x)
    tensor([0.1791, 0.4769, 1.1631])"""
    ...
def exp2(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """2 to the power of each element.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.exp2(x)
    tensor([0.5000, 1.4142, 4.0000])"""
    ...
def expit(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """1 / (1 + exp(-x)) for each element; another name of `sigmoid`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.expit(x)
    tensor([0.2689, 0.6225, 0.8808])"""
    ...
def expm1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) - 1, of which nothing is lost where x is small.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.expm1(x)
    tensor([-0.6321,  0.6487,  6.3891])"""
    ...
def gammainc(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The lower incomplete gamma function, divided by Γ: the share below x for each pair (a, x).

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([1.0, 1.0])
    >>> opweave.special.gammainc(x, y)
    tensor([0.6321, 0.2642])"""
    ...
def gammaincc(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """The upper incomplete gamma function, divided by Γ: the share above x for each pair (a, x).

    Parameters
    ----------
    input : Tensor
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> y = opweave.tensor([1.0, 1.0])
    >>> opweave.special.gammaincc(x, y)
    tensor([0.3679, 0.7358])"""
    ...
def gammaln(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log |Γ(x)|; another name of `lgamma`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.gammaln(x)
    tensor([1.2880, 0.5724, 0.0000])"""
    ...
@overload
def hermite_polynomial_h(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def hermite_polynomial_h(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def hermite_polynomial_h(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Hermite polynomial H of degree n at x (the physicists').

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.hermite_polynomial_h(x, y)
    tensor([ 2., -5.,  4.])"""
    ...
@overload
def hermite_polynomial_he(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def hermite_polynomial_he(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def hermite_polynomial_he(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Hermite polynomial He of degree n at x (the probabilists').

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.hermite_polynomial_he(x, y)
    tensor([ 0.0000, -1.3750,  2.0000])"""
    ...
def i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.i0(x)
    tensor([1.2661, 1.0635, 2.2796])"""
    ...
def i0e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|x|) I0(x).

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.i0e(x)
    tensor([0.4658, 0.6450, 0.3085])"""
    ...
def i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.i1(x)
    tensor([-0.5652,  0.2579,  1.5906])"""
    ...
def i1e(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(-|x|) I1(x).

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.i1e(x)
    tensor([-0.2079,  0.1564,  0.2153])"""
    ...
@overload
def laguerre_polynomial_l(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def laguerre_polynomial_l(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def laguerre_polynomial_l(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Laguerre polynomial of degree n at x.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.laguerre_polynomial_l(x, y)
    tensor([ 3.5000, -0.1458, -1.0000])"""
    ...
@overload
def legendre_polynomial_p(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def legendre_polynomial_p(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def legendre_polynomial_p(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Legendre polynomial of degree n at x.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.legendre_polynomial_p(x, y)
    tensor([ 1.0000, -0.4375,  2.0000])"""
    ...
def log1p(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """log(1 + x), of which nothing is lost where x is small.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.log1p(x)
    tensor([0.2231, 0.4055, 0.6931])"""
    ...
def log_ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the normal distribution, log((1 + erf(x / √2)) / 2), exact far below 0 too.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is the argument's; elements have the promoted type of the arguments, for whole numbers
        the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.log_ndtr(x)
    tensor([-1.8410, -0.3689, -0.0230])"""
    ...
@overload
def log_softmax(input: Tensor, dim: Int, *, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def log_softmax(input: Tensor, axis: Int, *, dtype: DTypeLike | None = None) -> Tensor:
    """The logarithm of `softmax` along a dimension, without overflow.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    dtype : dtype, optional
        The element type of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.special.log_softmax(x, 0)
    tensor([-2.4076, -1.4076, -0.4076])"""
    ...
def logit(input: Tensor, eps: Float | None = None, *, out: Tensor | None = None) -> Tensor:
    """log(x / (1 - x)), of x that is brought into [eps, 1 - eps] first.

    Parameters
    ----------
    input : Tensor
        The tensor.
    eps : float, optional
        A small number that keeps divisors off 0.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 0.75])
    >>> opweave.special.logit(x)
    tensor([-1.0986,  0.0000,  1.0986])"""
    ...
@overload
def logsumexp(input: Tensor, dim: Int | Sequence[Int], keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor: ...
@overload
def logsumexp(input: Tensor, axis: Int | Sequence[Int], keepdim: Bool = False, *, out: Tensor | None = None, keepdims: Bool = False) -> Tensor:
    """log(Σ exp(x)) over dimensions, without overflow.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int or sequence of int
        The dimension, counted from the end where negative.
    keepdim : bool, default False
        Whether reduced dimensions stay, with size 1.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.special.logsumexp(x, 0)
    tensor(3.4076)"""
    ...
def modified_bessel_i0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.modified_bessel_i0(x)
    tensor([1.2661, 1.0635, 2.2796])"""
    ...
def modified_bessel_i1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the first kind and order 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.modified_bessel_i1(x)
    tensor([-0.5652,  0.2579,  1.5906])"""
    ...
def modified_bessel_k0(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.modified_bessel_k0(x)
    tensor([1.5415, 0.9244, 0.4210])"""
    ...
def modified_bessel_k1(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The modified Bessel function of the second kind and order 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.modified_bessel_k1(x)
    tensor([3.7470, 1.6564, 0.6019])"""
    ...
def multigammaln(input: Tensor, p: Int, *, out: Tensor | None = None) -> Tensor:
    """The logarithm of the multivariate gamma function of p dimensions.

    Parameters
    ----------
    input : Tensor
        The tensor.
    p : int
        The p of the norm.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0])
    >>> opweave.special.multigammaln(x, 2)
    tensor([0.4516, 1.5502])"""
    ...
def ndtr(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The share of a normal distribution that is less: erfc(-x / √2) / 2.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.ndtr(x)
    tensor([0.1587, 0.6915, 0.9772])"""
    ...
def ndtri(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The number below which a share of a normal distribution is.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> opweave.special.ndtri(x)
    tensor([-0.8416,  0.0000,  1.2816])"""
    ...
def polygamma(n: Int, input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The n-th derivative of `digamma` at each element.

    Parameters
    ----------
    n : int
        A whole number.
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> opweave.special.polygamma(1, x)
    tensor([1.6449, 0.6449])"""
    ...
def psi(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The derivative of log Γ(x); another name of `digamma`.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.psi(x)
    tensor([-4.2275, -1.9635, -0.5772])"""
    ...
def round(input: Tensor, *, decimals: Int = 0, out: Tensor | None = None) -> Tensor:
    """The nearest whole number, or number of so many decimals; half goes to even.

    Parameters
    ----------
    input : Tensor
        The tensor.
    decimals : int, default 0
        How many decimals; negative numbers round before the point.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.round(x)
    tensor([-1.,  0.,  2.])"""
    ...
def scaled_modified_bessel_k0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) times the modified Bessel function of the second kind and order 0.

    Parameters
    ----------
    x : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.scaled_modified_bessel_k0(x)
    tensor([1.9793, 1.5241, 1.1445])"""
    ...
def scaled_modified_bessel_k1(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """exp(x) times the modified Bessel function of the second kind and order 1.

    Parameters
    ----------
    x : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.25, 0.5, 1.0])
    >>> opweave.special.scaled_modified_bessel_k1(x)
    tensor([4.8113, 2.7310, 1.6362])"""
    ...
@overload
def shifted_chebyshev_polynomial_t(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def shifted_chebyshev_polynomial_t(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def shifted_chebyshev_polynomial_t(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the first kind and degree n at 2 x - 1.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.shifted_chebyshev_polynomial_t(x, y)
    tensor([17., -0.,  3.])"""
    ...
@overload
def shifted_chebyshev_polynomial_u(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def shifted_chebyshev_polynomial_u(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def shifted_chebyshev_polynomial_u(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the second kind and degree n at 2 x - 1.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.shifted_chebyshev_polynomial_u(x, y)
    tensor([35., -0.,  6.])"""
    ...
@overload
def shifted_chebyshev_polynomial_v(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def shifted_chebyshev_polynomial_v(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def shifted_chebyshev_polynomial_v(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the third kind and degree n at 2 x - 1.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.shifted_chebyshev_polynomial_v(x, y)
    tensor([41.,  1.,  5.])"""
    ...
@overload
def shifted_chebyshev_polynomial_w(x: Tensor, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def shifted_chebyshev_polynomial_w(x: Number, n: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def shifted_chebyshev_polynomial_w(x: Tensor, n: Number, *, out: Tensor | None = None) -> Tensor:
    """The Chebyshev polynomial of the fourth kind and degree n at 2 x - 1.

    Parameters
    ----------
    x : Tensor or number
        The tensor.
    n : Tensor or number
        A whole number.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.shifted_chebyshev_polynomial_w(x, y)
    tensor([29., -1.,  7.])"""
    ...
def sinc(input: Tensor, *, out: Tensor | None = None) -> Tensor:
    """sin(πx) / (πx), 1 at 0.

    Parameters
    ----------
    input : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([0.2, 0.5, 0.9])
    >>> opweave.special.sinc(x)
    tensor([0.9355, 0.6366, 0.1093])"""
    ...
@overload
def softmax(input: Tensor, dim: Int, dtype: DTypeLike | None = None) -> Tensor: ...
@overload
def softmax(input: Tensor, axis: Int, dtype: DTypeLike | None = None) -> Tensor:
    """exp(x) divided by its sum along a dimension, so that the results are positive and add up to 1.

    Parameters
    ----------
    input : Tensor
        The tensor.
    dim : int
        The dimension, counted from the end where negative.
    dtype : dtype, optional
        The element type of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0, 3.0])
    >>> opweave.special.softmax(x, 0)
    tensor([0.0900, 0.2447, 0.6652])"""
    ...
def spherical_bessel_j0(x: Tensor, *, out: Tensor | None = None) -> Tensor:
    """The spherical Bessel function of the first kind and order 0: sin(x) / x.

    Parameters
    ----------
    x : Tensor
        The tensor.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> opweave.special.spherical_bessel_j0(x)
    tensor([0.8415, 0.9589, 0.4546])"""
    ...
def xlog1py(input: Tensor | Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """x log(1 + y), 0 where x is.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        Its shape is that of the arguments, broadcast; elements have the promoted type of the arguments,
        for whole numbers the default floating type.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.xlog1py(x, y)
    tensor([-1.0986,  0.6931,  1.3863])"""
    ...
@overload
def xlogy(input: Tensor, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def xlogy(input: Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor:
    """x log(y), 0 where x is.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([-1.0, 0.5, 2.0])
    >>> y = opweave.tensor([2.0, 3.0, 1.0])
    >>> opweave.special.xlogy(x, y)
    tensor([-0.6931,  0.5493,  0.0000])"""
    ...
@overload
def zeta(input: Tensor, other: Tensor, *, out: Tensor | None = None) -> Tensor: ...
@overload
def zeta(input: Number, other: Tensor | Number, *, out: Tensor | None = None) -> Tensor: ...
@overload
def zeta(input: Tensor, other: Number, *, out: Tensor | None = None) -> Tensor:
    """The Hurwitz zeta function: Σ 1 / (k + other)^input.

    Parameters
    ----------
    input : Tensor or number
        The tensor.
    other : Tensor or number
        The other tensor; shapes broadcast.
    out : Tensor, optional
        A tensor, or one for each result, to write to; gets the sizes of the result.

    Returns
    -------
    Tensor
        A new tensor.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0])
    >>> y = opweave.tensor([1.0, 1.0])
    >>> opweave.special.zeta(x, y)
    tensor([1.6449, 1.2021])"""
    ...

__all__ = ['airy_ai', 'bessel_j0', 'bessel_j1', 'bessel_y0', 'bessel_y1', 'chebyshev_polynomial_t', 'chebyshev_polynomial_u', 'chebyshev_polynomial_v', 'chebyshev_polynomial_w', 'digamma', 'entr', 'erf', 'erfc', 'erfcx', 'erfinv', 'exp2', 'expit', 'expm1', 'gammainc', 'gammaincc', 'gammaln', 'hermite_polynomial_h', 'hermite_polynomial_he', 'i0', 'i0e', 'i1', 'i1e', 'laguerre_polynomial_l', 'legendre_polynomial_p', 'log1p', 'log_ndtr', 'log_softmax', 'logit', 'logsumexp', 'modified_bessel_i0', 'modified_bessel_i1', 'modified_bessel_k0', 'modified_bessel_k1', 'multigammaln', 'ndtr', 'ndtri', 'polygamma', 'psi', 'round', 'scaled_modified_bessel_k0', 'scaled_modified_bessel_k1', 'shifted_chebyshev_polynomial_t', 'shifted_chebyshev_polynomial_u', 'shifted_chebyshev_polynomial_v', 'shifted_chebyshev_polynomial_w', 'sinc', 'softmax', 'spherical_bessel_j0', 'xlog1py', 'xlogy', 'zeta']

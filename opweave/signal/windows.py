"""Windows: the names and arguments of `torch.signal.windows`.

Each function gives M points. With `sym` they are symmetric, as filters want them; without it they are the first M of
M + 1, one period, as spectra want them. `dtype` is float32 or float64, by default the default type.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

from opweave.registry.device import Device
from opweave.registry.dtypes import DType, float32, float64, get_default_dtype
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor

__all__ = [
    "bartlett", "blackman", "cosine", "exponential", "gaussian", "general_cosine", "general_hamming", "hamming", "hann",
    "kaiser", "nuttall",
]  # fmt: skip

_ = _surface  # declares the ops
aten = ops.aten
Place = Device | str | None


def _made(
    op: str, M: int, dtype: DType | None, device: Place, requires_grad: bool, values: Callable[[Any], Any],
    constant: bool = True,
) -> Tensor:  # fmt: skip
    """The values at 0 ... M - 1; a window of one point is 1 where it is `constant`."""
    dtype = dtype or get_default_dtype()
    if M < 0:
        raise ShapeError(f"{op}: requires non-negative window length, got M={M}")
    if dtype not in (float32, float64):
        raise DTypeError(f"{op}: expects float32 or float64", got=f"dtype={dtype!r}")
    if M == 0:
        found = aten.empty.memory_format([0], dtype=dtype, device=device)
    elif M == 1 and constant:
        found = aten.ones.default([1], dtype=dtype, device=device)
    else:
        points = aten.arange.default(M, dtype=dtype, device=device)
        found = values(points)
    return found.requires_grad_() if requires_grad else found


def _period(M: int, sym: bool) -> int:
    return M - 1 if sym or M <= 1 else M


def general_cosine(
    M: int, *, a: Iterable[float], sym: bool = True, dtype: DType | None = None, layout: Any = None,
    device: Place = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """Σ (-1)^i a_i cos(2π i n / N) for n = 0 ... M - 1.

    Examples
    --------
    >>> opweave.signal.windows.general_cosine(4, a=[0.46, 0.23, 0.31])
    tensor([0.5400, 0.4200, 0.4200, 0.5400])
    """
    if not isinstance(a, Iterable):
        raise ArgumentError("general_cosine: Coefficients must be a list/tuple", got=repr(a))
    weights = list(a)
    if not weights:
        raise ShapeError("general_cosine: Coefficients cannot be empty")

    def values(n: Any) -> Any:
        found: Any = None
        for i, weight in enumerate(weights):
            term = aten.cos.default(n * (2 * math.pi * i / _period(M, sym))) * ((-1) ** i * weight)
            found = term if found is None else found + term
        return found

    return _made("general_cosine", M, dtype, device, requires_grad, values)


def general_hamming(
    M: int, *, alpha: float = 0.54, sym: bool = True, dtype: DType | None = None, layout: Any = None,
    device: Place = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """alpha - (1 - alpha) cos(2π n / N).

    Examples
    --------
    >>> opweave.signal.windows.general_hamming(4)
    tensor([0.0800, 0.7700, 0.7700, 0.0800])
    """
    return general_cosine(M, a=[alpha, 1.0 - alpha], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hamming(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None, device: Place = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """0.54 - 0.46 cos(2π n / N).

    Examples
    --------
    >>> opweave.signal.windows.hamming(4)
    tensor([0.0800, 0.7700, 0.7700, 0.0800])
    """
    return general_hamming(M, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def hann(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None, device: Place = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """(1 - cos(2π n / N)) / 2.

    Examples
    --------
    >>> opweave.signal.windows.hann(4)
    tensor([0.0000, 0.7500, 0.7500, 0.0000])
    """
    return general_hamming(M, alpha=0.5, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def blackman(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None, device: Place = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """0.42 - 0.5 cos(2π n / N) + 0.08 cos(4π n / N).

    Examples
    --------
    >>> opweave.signal.windows.blackman(4)
    tensor([-1.4901e-08,  6.3000e-01,  6.3000e-01, -1.4901e-08])
    """
    return general_cosine(M, a=[0.42, 0.5, 0.08], sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def nuttall(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None, device: Place = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """The minimum 4-term window of Blackman and Harris, by Nuttall (1981).

    Examples
    --------
    >>> opweave.signal.windows.nuttall(4)
    tensor([3.6280e-04, 5.2923e-01, 5.2923e-01, 3.6280e-04])
    """
    a = [0.3635819, 0.4891775, 0.1365995, 0.0106411]
    return general_cosine(M, a=a, sym=sym, dtype=dtype, device=device, requires_grad=requires_grad)


def bartlett(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None, device: Place = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """1 - |2 n / N - 1|.

    Examples
    --------
    >>> opweave.signal.windows.bartlett(4)
    tensor([0.0000, 0.6667, 0.6667, 0.0000])
    """

    def values(n: Any) -> Any:
        return 1 - aten.abs.default(n * (2 / _period(M, sym)) - 1)

    return _made("bartlett", M, dtype, device, requires_grad, values)


def cosine(
    M: int, *, sym: bool = True, dtype: DType | None = None, layout: Any = None, device: Place = None,
    requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """sin(π (n + 1/2) / N), where N is M, or one more without `sym`.

    Examples
    --------
    >>> opweave.signal.windows.cosine(4)
    tensor([0.3827, 0.9239, 0.9239, 0.3827])
    """

    def values(n: Any) -> Any:
        return aten.sin.default((n + 0.5) * (math.pi / (M + 1 if not sym and M > 1 else M)))

    return _made("cosine", M, dtype, device, requires_grad, values, constant=False)


def exponential(
    M: int, *, center: float | None = None, tau: float = 1.0, sym: bool = True, dtype: DType | None = None,
    layout: Any = None, device: Place = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """exp(-|n - center| / tau); the center is the middle, if it is not given.

    Examples
    --------
    >>> opweave.signal.windows.exponential(4)
    tensor([0.2231, 0.6065, 0.6065, 0.2231])
    """
    if tau <= 0:
        raise ShapeError(f"exponential: Tau must be positive, got: {tau} instead.")
    if sym and center is not None:
        raise ShapeError("exponential: Center must be None for symmetric windows", got=f"center={center}")
    middle = _period(M, sym) / 2 if center is None else center

    def values(n: Any) -> Any:
        return aten.exp.default(-aten.abs.default((n - middle) / tau))  # type: ignore[operator]  # bound by the surface

    return _made("exponential", M, dtype, device, requires_grad, values, constant=False)


def gaussian(
    M: int, *, std: float = 1.0, sym: bool = True, dtype: DType | None = None, layout: Any = None,
    device: Place = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """exp(-(n - N / 2)² / (2 std²)).

    Examples
    --------
    >>> opweave.signal.windows.gaussian(4)
    tensor([0.3247, 0.8825, 0.8825, 0.3247])
    """
    if std <= 0:
        raise ShapeError(f"gaussian: Standard deviation must be positive, got: {std} instead.")

    def values(n: Any) -> Any:
        return aten.exp.default(-(((n - _period(M, sym) / 2) / (std * math.sqrt(2))) ** 2))

    return _made("gaussian", M, dtype, device, requires_grad, values, constant=False)


def kaiser(
    M: int, *, beta: float = 12.0, sym: bool = True, dtype: DType | None = None, layout: Any = None,
    device: Place = None, requires_grad: bool = False,
) -> Tensor:  # fmt: skip
    """I0(beta √(1 - (2 n / N - 1)²)) / I0(beta).

    Examples
    --------
    >>> opweave.signal.windows.kaiser(4)
    tensor([5.2773e-05, 5.1884e-01, 5.1884e-01, 5.2773e-05])
    """
    if beta < 0:
        raise ShapeError(f"kaiser: beta must be non-negative, got: {beta} instead.")

    def values(n: Any) -> Any:
        inside = aten.clamp_min.default(1 - (n * (2 / _period(M, sym)) - 1) ** 2, 0.0)
        peak = aten.i0.default(aten.full_like.default(aten.select.int(n, 0, 0), beta))
        return aten.i0.default(aten.sqrt.default(inside) * beta) / peak  # type: ignore[operator]

    return _made("kaiser", M, dtype, device, requires_grad, values)


def __dir__() -> list[str]:
    return sorted(__all__)

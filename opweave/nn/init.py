"""Initial values of weights, written in place, under the names of `torch.nn.init`.

Every function gives the tensor that it wrote; none is recorded for gradients.
"""

from __future__ import annotations

import math
import warnings
from typing import Any

import numpy as np

from opweave.registry.autograd.mode import no_grad
from opweave.registry.dtypes import float64, int64
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe, from_numpy

__all__ = [
    "calculate_gain", "constant_", "dirac_", "eye_", "kaiming_normal_", "kaiming_uniform_", "normal_",
    "ones_", "orthogonal_", "sparse_", "trunc_normal_", "uniform_", "xavier_normal_", "xavier_uniform_",
    "zeros_",
]  # fmt: skip

_ = _surface  # declares the ops
aten = ops.aten
_GAINS = {
    "linear": 1.0, "conv1d": 1.0, "conv2d": 1.0, "conv3d": 1.0, "conv_transpose1d": 1.0, "conv_transpose2d": 1.0,
    "conv_transpose3d": 1.0, "sigmoid": 1.0, "tanh": 5.0 / 3, "relu": math.sqrt(2.0), "selu": 0.75,
}  # fmt: skip


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """The factor that keeps the variance through an activation.

    Parameters
    ----------
    nonlinearity : str
        `"linear"`, `"sigmoid"`, `"tanh"`, `"relu"`, `"leaky_relu"`, `"selu"`, or the name of a convolution.
    param : float, optional
        The slope of `"leaky_relu"`; 0.01 by default.

    Raises
    ------
    ValueError
        If there is no such activation.

    Examples
    --------
    >>> round(opweave.nn.init.calculate_gain("relu"), 4)
    1.4142
    """
    if nonlinearity == "leaky_relu":
        if param is None:
            slope = 0.01
        elif isinstance(param, (int, float)) and not isinstance(param, bool):
            slope = param
        else:
            raise ValueError(f"negative_slope {param} not a valid number")
        return math.sqrt(2.0 / (1 + slope**2))
    if nonlinearity not in _GAINS:
        raise ValueError(f"Unsupported nonlinearity {nonlinearity}")
    return _GAINS[nonlinearity]


def uniform_(tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Any = None) -> Tensor:
    """Numbers from [a, b), each as likely.

    Examples
    --------
    >>> opweave.nn.init.uniform_(opweave.empty(2, 2), -1.0, 1.0).shape
    opweave.Size([2, 2])
    """
    with no_grad():
        return aten.uniform_.default(tensor, a, b, generator=generator)


def normal_(tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Any = None) -> Tensor:
    """Normal numbers.

    Examples
    --------
    >>> opweave.nn.init.normal_(opweave.empty(2, 2), std=0.1).shape
    opweave.Size([2, 2])
    """
    with no_grad():
        return aten.normal_.default(tensor, mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, a: float = -2.0, b: float = 2.0, generator: Any = None
) -> Tensor:
    """Normal numbers of which none is outside [a, b], by the inverse of the distribution function.

    Examples
    --------
    >>> opweave.nn.init.trunc_normal_(opweave.empty(2, 2), std=0.1).shape
    opweave.Size([2, 2])
    """

    def below(x: float) -> float:
        return (1.0 + math.erf((x - mean) / std / math.sqrt(2.0))) / 2.0

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn("trunc_normal_: the mean is more than 2 std from [a, b]; the distribution may be wrong")
    with no_grad():
        aten.uniform_.default(tensor, 2 * below(a) - 1, 2 * below(b) - 1, generator=generator)
        aten.erfinv_.default(tensor)
        aten.mul_.Scalar(tensor, std * math.sqrt(2.0))
        aten.add_.Scalar(tensor, mean)
        return aten.clamp_.default(tensor, a, b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One number everywhere.

    Examples
    --------
    >>> opweave.nn.init.constant_(opweave.empty(2, 2), 0.5)
    tensor([[0.5000, 0.5000],
            [0.5000, 0.5000]])
    """
    with no_grad():
        return aten.fill_.Scalar(tensor, val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones.

    Examples
    --------
    >>> opweave.nn.init.ones_(opweave.empty(2, 2))
    tensor([[1., 1.],
            [1., 1.]])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros.

    Examples
    --------
    >>> opweave.nn.init.zeros_(opweave.empty(2, 2))
    tensor([[0., 0.],
            [0., 0.]])
    """
    return constant_(tensor, 0.0)


def _write(tensor: Tensor, values: np.ndarray[Any, Any]) -> Tensor:
    with no_grad():
        return aten.copy_.default(tensor, from_numpy(np.ascontiguousarray(values)))


def eye_(tensor: Tensor) -> Tensor:
    """The identity, in a matrix.

    Examples
    --------
    >>> opweave.nn.init.eye_(opweave.empty(2, 2))
    tensor([[1., 0.],
            [0., 1.]])
    """
    if tensor.ndim != 2:
        raise ShapeError("eye_: only tensors with 2 dimensions", got=describe(tensor))
    return _write(tensor, np.eye(*tensor._sizes, dtype=np.float32))


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The weight of a convolution that gives each group's channels back, as far as there are as many outputs.

    Examples
    --------
    >>> opweave.nn.init.dirac_(opweave.empty(1, 1, 3))
    tensor([[[0., 1., 0.]]])
    """
    if tensor.ndim not in (3, 4, 5):
        raise ShapeError("dirac_: only tensors with 3, 4 or 5 dimensions", got=describe(tensor))
    sizes = tuple(tensor._sizes)
    if sizes[0] % groups:
        raise ShapeError("dirac_: the first size must be divisible by groups", got=f"{describe(tensor)}, {groups}")
    out, values = sizes[0] // groups, np.zeros(sizes, np.float32)
    for group in range(groups):
        for d in range(min(out, sizes[1])):
            values[(group * out + d, d, *(n // 2 for n in sizes[2:]))] = 1
    return _write(tensor, values)


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ShapeError(
            "Fan in and fan out can not be computed for tensor with fewer than 2 dimensions", got=describe(tensor)
        )
    sizes = tensor.shape  # of what is no tensor, too, but has sizes
    field = math.prod(sizes[2:])
    return sizes[1] * field, sizes[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(f"Mode {mode} not supported, please use one of {list(modes)}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Uniform numbers whose standard deviation is gain sqrt(2 / (fan_in + fan_out)) (Glorot & Bengio 2010).

    Examples
    --------
    >>> opweave.nn.init.xavier_uniform_(opweave.empty(2, 2)).shape
    opweave.Size([2, 2])
    """
    bound = math.sqrt(3.0) * gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Any = None) -> Tensor:
    """Normal numbers whose standard deviation is gain sqrt(2 / (fan_in + fan_out)) (Glorot & Bengio 2010).

    Examples
    --------
    >>> opweave.nn.init.xavier_normal_(opweave.empty(2, 2)).shape
    opweave.Size([2, 2])
    """
    return normal_(tensor, 0.0, gain * math.sqrt(2.0 / sum(_calculate_fan_in_and_fan_out(tensor))), generator)


def kaiming_uniform_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Uniform numbers whose standard deviation is gain / sqrt(fan) (He et al. 2015).

    Parameters
    ----------
    tensor : Tensor
        Written in place.
    a : float
        Slope of a leaky_relu behind it.
    mode : str
        `"fan_in"` keeps the variance forwards, `"fan_out"` backwards.
    nonlinearity : str
        Of `calculate_gain`.
    generator : Generator, optional
        Where numbers come from.

    Examples
    --------
    >>> opweave.nn.init.kaiming_uniform_(opweave.empty(2, 2), nonlinearity="relu").shape
    opweave.Size([2, 2])
    """
    if 0 in tensor._sizes:
        warnings.warn("Initializing zero-element tensors is a no-op")
        return tensor
    bound = math.sqrt(3.0) * calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor, a: float = 0, mode: str = "fan_in", nonlinearity: str = "leaky_relu", generator: Any = None
) -> Tensor:
    """Normal numbers whose standard deviation is gain / sqrt(fan) (He et al. 2015); see `kaiming_uniform_`.

    Examples
    --------
    >>> opweave.nn.init.kaiming_normal_(opweave.empty(2, 2), nonlinearity="relu").shape
    opweave.Size([2, 2])
    """
    if 0 in tensor._sizes:
        warnings.warn("Initializing zero-element tensors is a no-op")
        return tensor
    std = calculate_gain(nonlinearity, a) / math.sqrt(_calculate_correct_fan(tensor, mode))
    return normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Any = None) -> Tensor:
    """A matrix with orthonormal rows or columns, times gain (Saxe et al. 2014); dimensions behind the first are one.

    Examples
    --------
    >>> w = opweave.nn.init.orthogonal_(opweave.empty(2, 2))
    >>> opweave.testing.assert_close(w @ w.T, opweave.eye(2))
    """
    if tensor.ndim < 2:
        raise ShapeError("orthogonal_: only tensors with 2 or more dimensions", got=describe(tensor))
    if not tensor.numel():
        return tensor
    rows = tensor._sizes[0]
    columns = tensor.numel() // rows
    sizes = [max(rows, columns), min(rows, columns)]
    drawn = aten.normal_.default(aten.empty.memory_format(sizes, dtype=float64), generator=generator)
    q, r = np.linalg.qr(drawn.numpy())
    q = q * np.sign(np.diag(r))  # each orthogonal matrix as likely
    q = q.T if rows < columns else q
    return _write(tensor, gain * q.reshape(tuple(tensor._sizes)))


def sparse_(tensor: Tensor, sparsity: float, std: float = 0.01, generator: Any = None) -> Tensor:
    """Normal numbers, of which in each column a part is 0 (Martens 2010).

    Examples
    --------
    >>> (opweave.nn.init.sparse_(opweave.empty(2, 2), 0.5) == 0).sum(0)
    tensor([1, 1])
    """
    if tensor.ndim != 2:
        raise ShapeError("sparse_: only tensors with 2 dimensions", got=describe(tensor))
    if not 0 <= sparsity <= 1:
        raise ArgumentError("sparse_: sparsity is from 0 to 1", got=f"{sparsity}")
    rows, columns = tensor._sizes
    count = math.ceil(sparsity * rows)
    normal_(tensor, 0, std, generator)
    with no_grad():
        for column in range(columns):
            chosen = aten.randperm.default(rows, dtype=int64)
            tensor[chosen[:count], column] = 0
    return tensor


def __dir__() -> list[str]:
    return sorted(__all__)

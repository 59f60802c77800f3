"""Activations as modules; each says in `functional` what it computes."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.attention import MultiheadAttention as MultiheadAttention
from opweave.nn.modules.linear import empty
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.errors import ShapeError
from opweave.registry.tensor import Tensor, describe


class _Inplace(Module):
    def __init__(self, inplace: bool = False) -> None:
        super().__init__()
        self.inplace = inplace

    def extra_repr(self) -> str:
        """Settings."""
        return "inplace=True" if self.inplace else ""


class ReLU(_Inplace):
    """max(x, 0).

    Examples
    --------
    >>> opweave.nn.ReLU()(opweave.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.relu(input, self.inplace)


class SiLU(_Inplace):
    """x sigmoid(x).

    Examples
    --------
    >>> opweave.nn.SiLU()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.silu(input, self.inplace)


class Mish(_Inplace):
    """x tanh(softplus(x)).

    Examples
    --------
    >>> opweave.nn.Mish()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.mish(input, self.inplace)


class Hardswish(_Inplace):
    """x hardsigmoid(x).

    Examples
    --------
    >>> opweave.nn.Hardswish()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.3333,  1.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.hardswish(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class Hardsigmoid(_Inplace):
    """relu6(x + 3) / 6.

    Examples
    --------
    >>> opweave.nn.Hardsigmoid()(opweave.tensor([-1.0, 2.0]))
    tensor([0.3333, 0.8333])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.hardsigmoid(input, self.inplace)

    def extra_repr(self) -> str:
        """Nothing, as in PyTorch."""
        return ""


class SELU(_Inplace):
    """Scaled elu (Klambauer et al. 2017).

    Examples
    --------
    >>> opweave.nn.SELU()(opweave.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.selu(input, self.inplace)


class Hardtanh(Module):
    """x limited to [min_val, max_val].

    Examples
    --------
    >>> opweave.nn.Hardtanh()(opweave.tensor([-1.0, 2.0]))
    tensor([-1.,  1.])
    """

    def __init__(self, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        if not max_val > min_val:
            raise AssertionError(f"Hardtanh: max_val must exceed min_val, got {min_val} and {max_val}")
        self.min_val = min_val
        self.max_val = max_val
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.hardtanh(input, self.min_val, self.max_val, self.inplace)

    def extra_repr(self) -> str:
        """Settings."""
        return f"min_val={self.min_val}, max_val={self.max_val}{', inplace=True' if self.inplace else ''}"


class ReLU6(Hardtanh):
    """x limited to [0, 6].

    Examples
    --------
    >>> opweave.nn.ReLU6()(opweave.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """

    def __init__(self, inplace: bool = False) -> None:
        super().__init__(0.0, 6.0, inplace)

    def extra_repr(self) -> str:
        """Settings."""
        return "inplace=True" if self.inplace else ""


class ELU(Module):
    """x where positive, else alpha (exp(x) - 1).

    Examples
    --------
    >>> opweave.nn.ELU()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def __init__(self, alpha: float = 1.0, inplace: bool = False) -> None:
        super().__init__()
        self.alpha = alpha
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.elu(input, self.alpha, self.inplace)

    def extra_repr(self) -> str:
        """Settings."""
        return f"alpha={self.alpha}{', inplace=True' if self.inplace else ''}"


class CELU(ELU):
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)).

    Examples
    --------
    >>> opweave.nn.CELU()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.celu(input, self.alpha, self.inplace)


class LeakyReLU(Module):
    """x where positive, else negative_slope x.

    Examples
    --------
    >>> opweave.nn.LeakyReLU()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.0100,  2.0000])
    """

    def __init__(self, negative_slope: float = 1e-2, inplace: bool = False) -> None:
        super().__init__()
        self.negative_slope = negative_slope
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.leaky_relu(input, self.negative_slope, self.inplace)

    def extra_repr(self) -> str:
        """Settings."""
        return f"negative_slope={self.negative_slope}{', inplace=True' if self.inplace else ''}"


class RReLU(Module):
    """leaky_relu with a slope that is drawn in training.

    Examples
    --------
    >>> opweave.nn.RReLU()(opweave.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """

    def __init__(self, lower: float = 1.0 / 8, upper: float = 1.0 / 3, inplace: bool = False) -> None:
        super().__init__()
        self.lower = lower
        self.upper = upper
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.rrelu(input, self.lower, self.upper, self.training, self.inplace)

    def extra_repr(self) -> str:
        """Settings."""
        return f"lower={self.lower}, upper={self.upper}{', inplace=True' if self.inplace else ''}"


class Threshold(Module):
    """x where it exceeds the threshold, else the value.

    Examples
    --------
    >>> opweave.nn.Threshold(0.5, 9.0)(opweave.tensor([-1.0, 2.0]))
    tensor([9., 2.])
    """

    def __init__(self, threshold: float, value: float, inplace: bool = False) -> None:
        super().__init__()
        self.threshold = threshold
        self.value = value
        self.inplace = inplace

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.threshold(input, self.threshold, self.value, self.inplace)

    def extra_repr(self) -> str:
        """Settings."""
        return f"threshold={self.threshold}, value={self.value}{', inplace=True' if self.inplace else ''}"


class GELU(Module):
    """x Φ(x) (Hendrycks & Gimpel 2016).

    Examples
    --------
    >>> opweave.nn.GELU()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """

    def __init__(self, approximate: str = "none") -> None:
        super().__init__()
        self.approximate = approximate

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.gelu(input, approximate=self.approximate)

    def extra_repr(self) -> str:
        """Settings."""
        return f"approximate={self.approximate!r}"


class Sigmoid(Module):
    """1 / (1 + exp(-x)).

    Examples
    --------
    >>> opweave.nn.Sigmoid()(opweave.tensor([-1.0, 2.0]))
    tensor([0.2689, 0.8808])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.sigmoid(input)


class Tanh(Module):
    """Hyperbolic tangent.

    Examples
    --------
    >>> opweave.nn.Tanh()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.7616,  0.9640])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.tanh(input)


class LogSigmoid(Module):
    """log(sigmoid(x)).

    Examples
    --------
    >>> opweave.nn.LogSigmoid()(opweave.tensor([-1.0, 2.0]))
    tensor([-1.3133, -0.1269])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.logsigmoid(input)


class Softsign(Module):
    """x / (1 + |x|).

    Examples
    --------
    >>> opweave.nn.Softsign()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.5000,  0.6667])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.softsign(input)


class Tanhshrink(Module):
    """x - tanh(x).

    Examples
    --------
    >>> opweave.nn.Tanhshrink()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.tanhshrink(input)


class Softplus(Module):
    """log(1 + exp(beta x)) / beta; x where beta x exceeds the threshold.

    Examples
    --------
    >>> opweave.nn.Softplus()(opweave.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """

    def __init__(self, beta: float = 1.0, threshold: float = 20.0) -> None:
        super().__init__()
        self.beta = beta
        self.threshold = threshold

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.softplus(input, self.beta, self.threshold)

    def extra_repr(self) -> str:
        """Settings."""
        return f"beta={self.beta}, threshold={self.threshold}"


class _Shrink(Module):
    def __init__(self, lambd: float = 0.5) -> None:
        super().__init__()
        self.lambd = lambd

    def extra_repr(self) -> str:
        """Settings."""
        return f"{self.lambd}"


class Hardshrink(_Shrink):
    """0 from -lambd to lambd, x elsewhere.

    Examples
    --------
    >>> opweave.nn.Hardshrink()(opweave.tensor([-1.0, 2.0]))
    tensor([-1.,  2.])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.hardshrink(input, self.lambd)


class Softshrink(_Shrink):
    """x nearer to 0 by lambd, and 0 where that goes past it.

    Examples
    --------
    >>> opweave.nn.Softshrink()(opweave.tensor([-1.0, 2.0]))
    tensor([-0.5000,  1.5000])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.softshrink(input, self.lambd)


class GLU(Module):
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2016).

    Examples
    --------
    >>> opweave.nn.GLU()(opweave.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """

    def __init__(self, dim: int = -1) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, input: Tensor) -> Tensor:
        """Half the dimension."""
        return F.glu(input, self.dim)

    def extra_repr(self) -> str:
        """Settings."""
        return f"dim={self.dim}"


class PReLU(Module):
    """x where positive, else weight x, with one weight for all or one for each channel (He et al. 2015).

    Examples
    --------
    >>> opweave.nn.PReLU()(opweave.tensor([-1.0, 2.0])).detach()
    tensor([-0.2500,  2.0000])
    """

    weight: Parameter

    def __init__(self, num_parameters: int = 1, init: float = 0.25, device: Any = None, dtype: Any = None) -> None:
        super().__init__()
        self.num_parameters = num_parameters
        self.init = init
        self.weight = empty(num_parameters, device=device, dtype=dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """The first weights."""
        init.constant_(self.weight, self.init)

    def forward(self, input: Tensor) -> Tensor:
        """Element by element."""
        return F.prelu(input, self.weight)

    def extra_repr(self) -> str:
        """Settings."""
        return f"num_parameters={self.num_parameters}"


class _AlongDim(Module):
    dim: Any

    def __init__(self, dim: int | None = None) -> None:
        super().__init__()
        self.dim = dim

    def _along(self, input: Tensor) -> int:
        """The dimension; without one, the channels of a batch, as early versions of PyTorch chose."""
        return (0 if input.ndim in (0, 1, 3) else 1) if self.dim is None else self.dim

    def extra_repr(self) -> str:
        """Settings."""
        return f"dim={self.dim}"


class Softmax(_AlongDim):
    """exp(x) normalised to sum 1 along a dimension.

    Examples
    --------
    >>> opweave.nn.Softmax(0)(opweave.tensor([1.0, 2.0]))
    tensor([0.2689, 0.7311])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Of the input's sizes."""
        return F.softmax(input, self._along(input))


class Softmin(_AlongDim):
    """softmax(-x).

    Examples
    --------
    >>> opweave.nn.Softmin(0)(opweave.tensor([1.0, 2.0]))
    tensor([0.7311, 0.2689])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Of the input's sizes."""
        return F.softmin(input, self._along(input))


class LogSoftmax(_AlongDim):
    """log(softmax(x)).

    Examples
    --------
    >>> opweave.nn.LogSoftmax(0)(opweave.tensor([1.0, 2.0]))
    tensor([-1.3133, -0.3133])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Of the input's sizes."""
        return F.log_softmax(input, self._along(input))


class Softmax2d(Module):
    """softmax over the channels of (N, C, H, W) or (C, H, W).

    Examples
    --------
    >>> opweave.nn.Softmax2d()(opweave.zeros(2, 1, 1))
    tensor([[[0.5000]],
    <BLANKLINE>
            [[0.5000]]])
    """

    def forward(self, input: Tensor) -> Tensor:
        """Of the input's sizes."""
        if input.ndim not in (3, 4):
            raise ShapeError("Softmax2d: expected 3D or 4D input", got=describe(input))
        return F.softmax(input, -3)

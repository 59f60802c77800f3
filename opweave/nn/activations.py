"""Activations and softmaxes, under the names of `torch.nn.functional`."""

from __future__ import annotations

from opweave.registry.dtypes import DType
from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor

_ = _surface  # declares the ops
aten = ops.aten


_SELU = (1.6732632423543772, 1.0507009873554805, 1)


def relu(input: Tensor, inplace: bool = False) -> Tensor:
    """max(x, 0).

    Examples
    --------
    >>> opweave.nn.functional.relu(opweave.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return ops.aten.relu_.default(input) if inplace else ops.aten.relu.default(input)


def gelu(input: Tensor, approximate: str = "none") -> Tensor:
    """x Φ(x) (Hendrycks & Gimpel 2016); `approximate="tanh"` for the paper's approximation.

    Examples
    --------
    >>> opweave.nn.functional.gelu(opweave.tensor([-1.0, 2.0]))
    tensor([-0.1587,  1.9545])
    """
    return ops.aten.gelu.default(input, approximate=approximate)


def silu(input: Tensor, inplace: bool = False) -> Tensor:
    """x sigmoid(x).

    Examples
    --------
    >>> opweave.nn.functional.silu(opweave.tensor([-1.0, 2.0]))
    tensor([-0.2689,  1.7616])
    """
    return ops.aten.silu_.default(input) if inplace else ops.aten.silu.default(input)


def leaky_relu(input: Tensor, negative_slope: float = 0.01, inplace: bool = False) -> Tensor:
    """x where positive, else negative_slope x.

    Examples
    --------
    >>> opweave.nn.functional.leaky_relu(opweave.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    op = ops.aten.leaky_relu_ if inplace else ops.aten.leaky_relu
    return op.default(input, negative_slope)


def elu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """x where positive, else alpha (exp(x) - 1).

    Examples
    --------
    >>> opweave.nn.functional.elu(opweave.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    op = ops.aten.elu_ if inplace else ops.aten.elu
    return op.default(input, alpha)


def hardtanh(input: Tensor, min_val: float = -1.0, max_val: float = 1.0, inplace: bool = False) -> Tensor:
    """x limited to [min_val, max_val].

    Examples
    --------
    >>> opweave.nn.functional.hardtanh(opweave.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    op = ops.aten.hardtanh_ if inplace else ops.aten.hardtanh
    return op.default(input, min_val, max_val)


def relu6(input: Tensor, inplace: bool = False) -> Tensor:
    """x limited to [0, 6].

    Examples
    --------
    >>> opweave.nn.functional.relu6(opweave.tensor([-1.0, 9.0]))
    tensor([0., 6.])
    """
    return ops.aten.relu6_.default(input) if inplace else ops.aten.relu6.default(input)


def hardsigmoid(input: Tensor, inplace: bool = False) -> Tensor:
    """The sigmoid in three straight pieces: relu6(x + 3) / 6.

    Examples
    --------
    >>> opweave.nn.functional.hardsigmoid(opweave.tensor([-1.0, 2.0]))
    tensor([0.3333, 0.8333])
    """
    return ops.aten.hardsigmoid_.default(input) if inplace else ops.aten.hardsigmoid.default(input)


def hardswish(input: Tensor, inplace: bool = False) -> Tensor:
    """x hardsigmoid(x).

    Examples
    --------
    >>> opweave.nn.functional.hardswish(opweave.tensor([-1.0, 2.0]))
    tensor([-0.3333,  1.6667])
    """
    return ops.aten.hardswish_.default(input) if inplace else ops.aten.hardswish.default(input)


def mish(input: Tensor, inplace: bool = False) -> Tensor:
    """x tanh(softplus(x)).

    Examples
    --------
    >>> opweave.nn.functional.mish(opweave.tensor([-1.0, 2.0]))
    tensor([-0.3034,  1.9440])
    """
    return ops.aten.mish_.default(input) if inplace else ops.aten.mish.default(input)


def selu(input: Tensor, inplace: bool = False) -> Tensor:
    """elu with the two constants that keep mean 0 and variance 1 (Klambauer et al. 2017).

    Examples
    --------
    >>> opweave.nn.functional.selu(opweave.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return ops.aten.elu_.default(input, *_SELU) if inplace else ops.aten.selu.default(input)


def celu(input: Tensor, alpha: float = 1.0, inplace: bool = False) -> Tensor:
    """max(0, x) + min(0, alpha (exp(x / alpha) - 1)).

    Examples
    --------
    >>> opweave.nn.functional.celu(opweave.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return ops.aten.elu_.default(input, alpha, 1.0, 1.0 / alpha) if inplace else ops.aten.celu.default(input, alpha)


def written(input: Tensor, result: Tensor, inplace: bool) -> Tensor:
    """A result, in the place of the input where that is asked for."""
    return ops.aten.copy_.default(input, result) if inplace else result


def prelu(input: Tensor, weight: Tensor) -> Tensor:
    """x where positive, else weight x, with one weight for all or one for each channel (He et al. 2015).

    Examples
    --------
    >>> opweave.nn.functional.prelu(opweave.tensor([-1.0, 2.0]), opweave.tensor([0.5]))
    tensor([-0.5000,  2.0000])
    """
    return ops.aten.prelu.default(input, weight)


def glu(input: Tensor, dim: int = -1) -> Tensor:
    """The first half of a dimension times the sigmoid of the second (Dauphin et al. 2016).

    Examples
    --------
    >>> opweave.nn.functional.glu(opweave.tensor([1.0, 2.0, 0.0, 0.0]))
    tensor([0.5000, 1.0000])
    """
    return ops.aten.glu.default(input, dim)


def hardshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """0 from -lambd to lambd, x elsewhere.

    Examples
    --------
    >>> opweave.nn.functional.hardshrink(opweave.tensor([-1.0, 0.2]))
    tensor([-1.,  0.])
    """
    return ops.aten.hardshrink.default(input, lambd)


def softshrink(input: Tensor, lambd: float = 0.5) -> Tensor:
    """x nearer to 0 by lambd, and 0 where that goes past it.

    Examples
    --------
    >>> opweave.nn.functional.softshrink(opweave.tensor([-1.0, 0.2]))
    tensor([-0.5000,  0.0000])
    """
    if not lambd >= 0:
        raise ShapeError("softshrink: lambd must not be negative", got=f"lambd={lambd}")
    return ops.aten.softshrink.default(input, lambd)


def tanhshrink(input: Tensor) -> Tensor:
    """x - tanh(x).

    Examples
    --------
    >>> opweave.nn.functional.tanhshrink(opweave.tensor([-1.0, 2.0]))
    tensor([-0.2384,  1.0360])
    """
    return aten.sub.Tensor(input, aten.tanh.default(input))


def softsign(input: Tensor) -> Tensor:
    """x / (1 + |x|).

    Examples
    --------
    >>> opweave.nn.functional.softsign(opweave.tensor([-1.0, 3.0]))
    tensor([-0.5000,  0.7500])
    """
    return aten.div.Tensor(input, aten.add.Scalar(aten.abs.default(input), 1))


def rrelu(
    input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False, inplace: bool = False
) -> Tensor:
    """leaky_relu with a slope drawn for each element from [lower, upper); outside training the middle (Xu 2015).

    Examples
    --------
    >>> opweave.nn.functional.rrelu(opweave.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    if not training:
        return leaky_relu(input, (lower + upper) / 2, inplace)
    slope = aten.add.Scalar(aten.mul.Tensor(aten.rand_like.default(input), upper - lower), lower)
    return written(input, aten.where.self(aten.ge.Scalar(input, 0), input, aten.mul.Tensor(input, slope)), inplace)


def logsigmoid(input: Tensor) -> Tensor:
    """log(sigmoid(x)), computed without overflow.

    Examples
    --------
    >>> opweave.nn.functional.logsigmoid(opweave.tensor([-1.0, 2.0]))
    tensor([-1.3133, -0.1269])
    """
    return ops.aten.log_sigmoid.default(input)


def gumbel_softmax(logits: Tensor, tau: float = 1, hard: bool = False, eps: float = 1e-10, dim: int = -1) -> Tensor:
    """softmax of logits with Gumbel noise, over tau; `hard` is 1 at the largest, with the softmax's gradient.

    Jang et al. 2017. `eps` is not used.

    Examples
    --------
    >>> opweave.nn.functional.gumbel_softmax(opweave.zeros(2, 3)).shape
    opweave.Size([2, 3])
    """
    # -log of a number with the exponential distribution; 1 - u of [0, 1) is never 0.
    drawn = aten.neg.default(aten.log1p.default(aten.neg.default(aten.rand_like.default(logits))))
    least = 2.0**-24 if logits._dtype.itemsize == 2 else 2.0**-60
    noise = aten.neg.default(aten.log.default(aten.clamp_min.default(drawn, least)))
    soft = aten.softmax.int(aten.div.Tensor(aten.add.Tensor(logits, noise), tau), dim)
    if not hard:
        return soft
    at = aten.argmax.default(soft, dim, True)
    sharp = aten.scatter.value(aten.zeros_like.default(logits), dim, at, 1.0)
    return aten.add.Tensor(aten.sub.Tensor(sharp, aten.detach.default(soft)), soft)


def threshold(input: Tensor, threshold: float, value: float, inplace: bool = False) -> Tensor:
    """x where it exceeds the threshold, else the value.

    Examples
    --------
    >>> opweave.nn.functional.threshold(opweave.tensor([-1.0, 2.0]), 0.5, 9.0)
    tensor([9., 2.])
    """
    op = ops.aten.threshold_ if inplace else ops.aten.threshold
    return op.default(input, threshold, value)


def softplus(input: Tensor, beta: float = 1, threshold: float = 20) -> Tensor:
    """log(1 + exp(beta x)) / beta; x where beta x exceeds the threshold.

    Examples
    --------
    >>> opweave.nn.functional.softplus(opweave.tensor([-1.0, 2.0]))
    tensor([0.3133, 2.1269])
    """
    return ops.aten.softplus.default(input, beta, threshold)


def sigmoid(input: Tensor) -> Tensor:
    """1 / (1 + exp(-x)).

    Examples
    --------
    >>> opweave.nn.functional.sigmoid(opweave.tensor([-1.0, 2.0]))
    tensor([0.2689, 0.8808])
    """
    return ops.aten.sigmoid.default(input)


def tanh(input: Tensor) -> Tensor:
    """Hyperbolic tangent.

    Examples
    --------
    >>> opweave.nn.functional.tanh(opweave.tensor([-1.0, 2.0]))
    tensor([-0.7616,  0.9640])
    """
    return ops.aten.tanh.default(input)


def softmin(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """softmax(-x).

    Examples
    --------
    >>> opweave.nn.functional.softmin(opweave.tensor([1.0, 2.0]), 0)
    tensor([0.7311, 0.2689])
    """
    return ops.aten.softmax.int(aten.neg.default(input), dim, dtype)


def softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """exp(x) normalised to sum 1 along `dim`.

    Examples
    --------
    >>> opweave.nn.functional.softmax(opweave.tensor([1.0, 2.0]), 0)
    tensor([0.2689, 0.7311])
    """
    return ops.aten.softmax.int(input, dim, dtype)


def log_softmax(input: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    """log(softmax(x)) along `dim`, computed without overflow.

    Examples
    --------
    >>> opweave.nn.functional.log_softmax(opweave.tensor([1.0, 2.0]), 0)
    tensor([-1.3133, -0.3133])
    """
    return ops.aten.log_softmax.int(input, dim, dtype)


def relu_(input: Tensor) -> Tensor:
    """`relu` in place.

    Examples
    --------
    >>> opweave.nn.functional.relu_(opweave.tensor([-1.0, 2.0]))
    tensor([0., 2.])
    """
    return relu(input, inplace=True)


def elu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`elu` in place.

    Examples
    --------
    >>> opweave.nn.functional.elu_(opweave.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return elu(input, alpha, inplace=True)


def celu_(input: Tensor, alpha: float = 1.0) -> Tensor:
    """`celu` in place.

    Examples
    --------
    >>> opweave.nn.functional.celu_(opweave.tensor([-1.0, 2.0]))
    tensor([-0.6321,  2.0000])
    """
    return celu(input, alpha, inplace=True)


def selu_(input: Tensor) -> Tensor:
    """`selu` in place.

    Examples
    --------
    >>> opweave.nn.functional.selu_(opweave.tensor([-1.0, 2.0]))
    tensor([-1.1113,  2.1014])
    """
    return selu(input, inplace=True)


def leaky_relu_(input: Tensor, negative_slope: float = 0.01) -> Tensor:
    """`leaky_relu` in place.

    Examples
    --------
    >>> opweave.nn.functional.leaky_relu_(opweave.tensor([-1.0, 2.0]), 0.1)
    tensor([-0.1000,  2.0000])
    """
    return leaky_relu(input, negative_slope, inplace=True)


def hardtanh_(input: Tensor, min_val: float = -1.0, max_val: float = 1.0) -> Tensor:
    """`hardtanh` in place.

    Examples
    --------
    >>> opweave.nn.functional.hardtanh_(opweave.tensor([-2.0, 0.5]))
    tensor([-1.0000,  0.5000])
    """
    return hardtanh(input, min_val, max_val, inplace=True)


def threshold_(input: Tensor, threshold: float, value: float) -> Tensor:
    """x where it exceeds the threshold, else the value, in place.

    Examples
    --------
    >>> opweave.nn.functional.threshold_(opweave.tensor([-1.0, 2.0]), 0.5, 9.0)
    tensor([9., 2.])
    """
    return aten.threshold_.default(input, threshold, value)


def rrelu_(input: Tensor, lower: float = 1.0 / 8, upper: float = 1.0 / 3, training: bool = False) -> Tensor:
    """`rrelu` in place.

    Examples
    --------
    >>> opweave.nn.functional.rrelu_(opweave.tensor([1.0, 2.0]))
    tensor([1., 2.])
    """
    return rrelu(input, lower, upper, training, inplace=True)

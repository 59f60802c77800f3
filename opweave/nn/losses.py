"""The losses of `torch.nn.functional`, over the ops.

`reduction` is `"mean"`, `"sum"` or `"none"`; `size_average` and `reduce` are its older form, which PyTorch still takes.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence

from opweave.registry.errors import ArgumentError, DomainError, ShapeError, user_frame
from opweave.registry.keys import BATCHED_BIT, PYTHON_BIT, state
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.promote import broadcast_shapes
from opweave.registry.tensor import Tensor, describe

__all__ = [
    "binary_cross_entropy", "binary_cross_entropy_with_logits", "cosine_embedding_loss", "cross_entropy",
    "ctc_loss", "gaussian_nll_loss", "hinge_embedding_loss", "huber_loss", "kl_div", "l1_loss", "margin_ranking_loss",
    "mse_loss", "multilabel_soft_margin_loss", "nll_loss",
    "poisson_nll_loss", "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    "triplet_margin_with_distance_loss",
]  # fmt: skip

_ = _surface  # declares the ops
aten = ops.aten
_REDUCTIONS = {"none": 0, "mean": 1, "sum": 2}


def reduction_number(name: str, size_average: bool | None = None, reduce: bool | None = None) -> int:
    """PyTorch's number of a reduction."""
    if size_average is not None or reduce is not None:
        if reduce is False:
            return _REDUCTIONS["none"]
        return _REDUCTIONS["sum" if size_average is False else "mean"]
    if name not in _REDUCTIONS:
        raise ShapeError("unknown reduction", got=repr(name), hint="one of " + ", ".join(map(repr, _REDUCTIONS)))
    return _REDUCTIONS[name]


def reduced(loss: Tensor, reduction: int) -> Tensor:
    return loss if not reduction else (aten.mean if reduction == 1 else aten.sum).default(loss)


def _expanded(op: str, *tensors: Tensor) -> list[Tensor]:
    """Views of one shape."""
    sizes: tuple[int, ...] = ()
    for t in tensors:
        if not isinstance(t, Tensor):
            raise ArgumentError(
                f"{op}: input and target must be tensors", got=f"{t!r} ({type(t).__name__})",
                hint="opweave.tensor(...), or full_like(input, number)",
            )  # fmt: skip
        sizes = broadcast_shapes(op, sizes, t._sizes)
    if tensors[0]._sizes != tensors[1]._sizes and not state.modes:
        warnings.warn(
            f"{op}: the target's shape {list(tensors[1]._sizes)} is not the input's {list(tensors[0]._sizes)}: they "
            f"are broadcast to {list(sizes)}, which is rarely meant. At {user_frame()}: reshape one of them",
            UserWarning, stacklevel=3,
        )  # fmt: skip
    return [t if t._sizes == sizes else aten.expand.default(t, list(sizes)) for t in tensors]


def _weighted(op: str, loss: Tensor, weight: Tensor, reduction: int) -> Tensor:
    """The loss of each element times its weight; the mean is over the sum of the weights."""
    if weight._sizes != loss._sizes:
        raise ShapeError(f"{op}: the weight needs the input's shape", got=describe([loss, weight]))
    loss = aten.mul.Tensor(loss, weight)
    if reduction == _REDUCTIONS["mean"]:
        return aten.div.Tensor(aten.sum.default(loss), aten.sum.default(weight))
    return reduced(loss, reduction)


# ---- differences ---------------------------------------------------------------------------------------------------


def mse_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean (or sum, or each) squared difference, or its mean by weights.

    Examples
    --------
    >>> opweave.nn.functional.mse_loss(opweave.tensor([1.0, 2.0]), opweave.tensor([2.0, 4.0]))
    tensor(2.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    a, b = _expanded("mse_loss", input, target)
    if weight is None:
        return aten.mse_loss.default(a, b, number)
    return _weighted("mse_loss", aten.mse_loss.default(a, b, 0), weight, number)


def l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    weight: Tensor | None = None,
) -> Tensor:
    """Mean (or sum, or each) magnitude of the difference, or its mean by weights.

    Examples
    --------
    >>> opweave.nn.functional.l1_loss(opweave.tensor([1.0, 2.0]), opweave.tensor([2.0, 4.0]))
    tensor(1.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    a, b = _expanded("l1_loss", input, target)
    if weight is None:
        return aten.l1_loss.default(a, b, number)
    return _weighted("l1_loss", aten.l1_loss.default(a, b, 0), weight, number)


def smooth_l1_loss(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    beta: float = 1.0,
) -> Tensor:
    """d² / (2 beta) for a difference d below beta, d - beta / 2 beyond (Girshick 2015).

    Examples
    --------
    >>> opweave.nn.functional.smooth_l1_loss(opweave.tensor([0.0, 0.0]), opweave.tensor([0.5, 3.0]))
    tensor(1.3125)
    """
    number = reduction_number(reduction, size_average, reduce)
    return aten.smooth_l1_loss.default(*_expanded("smooth_l1_loss", input, target), number, beta)


def huber_loss(
    input: Tensor, target: Tensor, reduction: str = "mean", delta: float = 1.0, weight: Tensor | None = None
) -> Tensor:
    """d² / 2 for a difference d up to delta, delta (d - delta / 2) beyond (Huber 1964).

    Examples
    --------
    >>> opweave.nn.functional.huber_loss(opweave.tensor([0.0, 0.0]), opweave.tensor([0.5, 3.0]))
    tensor(1.3125)
    """
    number = reduction_number(reduction)
    a, b = _expanded("huber_loss", input, target)
    if weight is None:
        return aten.huber_loss.default(a, b, number, delta)
    if weight._sizes != input._sizes:
        raise ShapeError("huber_loss: the weight needs the input's shape", got=describe([input, weight]))
    # A plain mean, in PyTorch too.
    return reduced(aten.mul.Tensor(aten.huber_loss.default(a, b, 0, delta), weight), number)


# ---- classes -------------------------------------------------------------------------------------------------------


def nll_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The negative log-probability of the target class.

    Parameters
    ----------
    input : Tensor
        Log-probabilities, (C), (N, C) or (N, C, ...).
    target : Tensor
        int64 numbers of classes, of the input's shape without C.
    weight : Tensor, optional
        (C), how much each class counts.
    size_average, reduce : bool, optional
        The older form of `reduction`.
    ignore_index : int
        A target that does not count.
    reduction : str
        The mean is over the weights of the targets.

    Raises
    ------
    ShapeError
        If the shapes do not fit.
    DomainError
        If a target is no class.

    Examples
    --------
    >>> opweave.nn.functional.nll_loss(opweave.tensor([[-1.0, -0.5]]), opweave.tensor([1]))
    tensor(0.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    if not input.ndim:
        raise ShapeError("nll_loss: expected (C), (N, C) or (N, C, ...)", got=describe([input, target]))
    return aten.nll_loss_nd.default(input, target, weight, number, ignore_index)


def cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    ignore_index: int = -100,
    reduce: bool | None = None,
    reduction: str = "mean",
    label_smoothing: float = 0.0,
) -> Tensor:
    """Negative log likelihood of `target` under softmax(input); `input` holds unnormalised scores.

    Parameters
    ----------
    input : Tensor
        Scores, (C), (N, C) or (N, C, ...).
    target : Tensor
        int64 numbers of classes, of the input's shape without C, or probabilities of the input's shape.
    weight : Tensor, optional
        (C), how much each class counts.
    size_average, reduce : bool, optional
        The older form of `reduction`.
    ignore_index : int
        A number of a class that does not count.
    reduction : str
        The mean is over the weights of the targets; of probabilities, over the rows.
    label_smoothing : float
        This part of the probability is spread over all classes (Szegedy et al. 2016).

    Examples
    --------
    >>> opweave.nn.functional.cross_entropy(opweave.tensor([[2.0, 0.0], [0.0, 2.0]]), opweave.tensor([0, 1]))
    tensor(0.1269)
    """
    number = reduction_number(reduction, size_average, reduce)
    return aten.cross_entropy_loss.default(input, target, weight, number, ignore_index, label_smoothing)


def multilabel_soft_margin_loss(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the last dimension of `binary_cross_entropy_with_logits`.

    Examples
    --------
    >>> opweave.nn.functional.multilabel_soft_margin_loss(opweave.zeros(1, 2), opweave.tensor([[1.0, 0.0]]))
    tensor(0.6931)
    """
    number = reduction_number(reduction, size_average, reduce)
    hit = aten.mul.Tensor(target, aten.log_sigmoid.default(input))
    miss = aten.mul.Tensor(aten.rsub.Scalar(target, 1), aten.log_sigmoid.default(aten.neg.default(input)))
    loss = aten.neg.default(aten.add.Tensor(hit, miss))
    if weight is not None:
        loss = aten.mul.Tensor(loss, weight)
    classes = input._sizes[-1]
    return reduced(aten.div.Tensor(aten.sum.dim_IntList(loss, [-1]), classes), number)


# ---- probabilities -------------------------------------------------------------------------------------------------


def _probabilities(name: str, t: Tensor) -> None:
    """Refuse what is not from 0 to 1, where that can be seen without waiting for a device."""
    if state.modes or t._keys & (PYTHON_BIT | BATCHED_BIT) or not t._device.is_host or t._storage.owner is None:
        return
    array = t._array
    if not array.size or (array.min() >= 0 and array.max() <= 1):
        return
    raise DomainError(
        f"binary_cross_entropy: all elements of {name} should be between 0 and 1",
        got=f"{describe(t)}, from {float(array.min()):g} to {float(array.max()):g}",
        hint="binary_cross_entropy_with_logits takes scores; or apply sigmoid" if name == "input"
        else "targets are 0 and 1, or probabilities",
    )  # fmt: skip


def _same_shape(op: str, input: Tensor, target: Tensor) -> None:
    for t in (input, target):
        if not isinstance(t, Tensor):
            raise ArgumentError(
                f"{op}: input and target must be tensors", got=f"{t!r} ({type(t).__name__})",
                hint="opweave.tensor(...)",
            )  # fmt: skip
    if input._sizes != target._sizes:
        raise ShapeError(
            f"{op}: the target needs the input's shape", got=describe([input, target]),
            hint="target.unsqueeze(1), target.expand_as(input), or input.squeeze(1)",
        )  # fmt: skip


def binary_cross_entropy(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """-(t log(x) + (1 - t) log(1 - x)) of probabilities x, with logarithms of -100 or more.

    Raises
    ------
    DomainError
        If the input or the target is not from 0 to 1, in main memory and uncompiled: elsewhere that gives NaN.

    Examples
    --------
    >>> opweave.nn.functional.binary_cross_entropy(opweave.tensor([0.2, 0.9]), opweave.tensor([0.0, 1.0]))
    tensor(0.1643)
    """
    number = reduction_number(reduction, size_average, reduce)
    _same_shape("binary_cross_entropy", input, target)
    _probabilities("input", input)
    _probabilities("target", target)
    if weight is not None:
        sizes = broadcast_shapes("binary_cross_entropy", target._sizes, weight._sizes)
        weight = aten.expand.default(weight, list(sizes))
    return aten.binary_cross_entropy.default(input, target, weight, number)


def binary_cross_entropy_with_logits(
    input: Tensor,
    target: Tensor,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    pos_weight: Tensor | None = None,
) -> Tensor:
    """`binary_cross_entropy` of sigmoid(x), without overflow; `pos_weight` counts targets of 1 so often.

    Examples
    --------
    >>> opweave.nn.functional.binary_cross_entropy_with_logits(opweave.tensor([-2.0, 3.0]), opweave.tensor([0.0, 1.0]))
    tensor(0.0878)
    """
    number = reduction_number(reduction, size_average, reduce)
    _same_shape("binary_cross_entropy_with_logits", input, target)
    return aten.binary_cross_entropy_with_logits.default(input, target, weight, pos_weight, number)


def kl_div(
    input: Tensor,
    target: Tensor,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
    log_target: bool = False,
) -> Tensor:
    """t (log(t) - x) of log-probabilities x; `"batchmean"` is the sum over the number of rows.

    Examples
    --------
    >>> opweave.nn.functional.kl_div(opweave.tensor([0.5, 0.5]).log(), opweave.tensor([0.25, 0.75]), reduction="sum")
    tensor(0.1308)
    """
    if reduction == "batchmean" and size_average is None and reduce is None:
        total = aten.kl_div.default(input, target, _REDUCTIONS["sum"], log_target=log_target)
        return total if not input.ndim else aten.div.Tensor(total, input._sizes[0])
    return aten.kl_div.default(input, target, reduction_number(reduction, size_average, reduce), log_target=log_target)


def poisson_nll_loss(
    input: Tensor,
    target: Tensor,
    log_input: bool = True,
    full: bool = False,
    size_average: bool | None = None,
    eps: float = 1e-8,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """exp(x) - t x (or x - t log(x + eps)); `full` adds Stirling's approximation of log(t!).

    Examples
    --------
    >>> opweave.nn.functional.poisson_nll_loss(opweave.tensor([0.0, 1.0]), opweave.tensor([1.0, 2.0]))
    tensor(0.8591)
    """
    number = reduction_number(reduction, size_average, reduce)
    return aten.poisson_nll_loss.default(input, target, log_input, full, eps, number)


def gaussian_nll_loss(
    input: Tensor, target: Tensor, var: Tensor | float, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Tensor:
    """(log(var) + (x - t)² / var) / 2, with a variance of at least eps, for each element or for each row.

    Examples
    --------
    >>> opweave.nn.functional.gaussian_nll_loss(opweave.zeros(2), opweave.ones(2), opweave.ones(2))
    tensor(0.5000)
    """
    number = reduction_number(reduction)
    if not isinstance(var, Tensor) and var < 0:
        raise ShapeError("gaussian_nll_loss: a variance is not negative", got=f"var={var}", hint="var=1.0")
    spread = var if isinstance(var, Tensor) else aten.full_like.default(input, var)
    if spread._sizes != input._sizes:
        different = [(a, b) for a, b in zip(input._sizes, spread._sizes, strict=False) if a != b]
        if spread._sizes == input._sizes[:-1]:
            spread = aten.unsqueeze.default(spread, -1)
        elif spread.ndim != input.ndim or [b for _, b in different] != [1]:
            raise ShapeError("gaussian_nll_loss: the variance does not fit", got=describe([input, spread]))
    missing = aten.sub.Tensor(aten.clamp_min.default(spread, eps), spread)
    # The limit has no part in the gradient.
    limited = aten.add.Tensor(spread, aten.detach.default(missing))
    error = aten.sub.Tensor(input, target)
    square = aten.div.Tensor(aten.mul.Tensor(error, error), limited)
    loss = aten.mul.Tensor(aten.add.Tensor(aten.log.default(limited), square), 0.5)
    if full:
        loss = aten.add.Scalar(loss, 0.5 * math.log(2 * math.pi))
    return reduced(loss, number)


# ---- margins -------------------------------------------------------------------------------------------------------


def hinge_embedding_loss(
    input: Tensor,
    target: Tensor,
    margin: float = 1.0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """x where t is 1, max(0, margin - x) where it is -1.

    Examples
    --------
    >>> opweave.nn.functional.hinge_embedding_loss(opweave.tensor([0.5, 0.5]), opweave.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    return aten.hinge_embedding_loss.default(input, target, margin, number)


def soft_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """log(1 + exp(-t x)).

    Examples
    --------
    >>> opweave.nn.functional.soft_margin_loss(opweave.tensor([1.0]), opweave.tensor([1.0]))
    tensor(0.3133)
    """
    return aten.soft_margin_loss.default(input, target, reduction_number(reduction, size_average, reduce))


def margin_ranking_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, -t (x1 - x2) + margin).

    Examples
    --------
    >>> opweave.nn.functional.margin_ranking_loss(opweave.tensor([1.0]), opweave.tensor([2.0]), opweave.tensor([1.0]))
    tensor(1.)
    """
    number = reduction_number(reduction, size_average, reduce)
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError("margin_ranking_loss: expected as many dimensions", got=describe([input1, input2, target]))
    return aten.margin_ranking_loss.default(input1, input2, target, margin, number)


def cosine_embedding_loss(
    input1: Tensor,
    input2: Tensor,
    target: Tensor,
    margin: float = 0,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """1 - cos(x1, x2) where t is 1, max(0, cos(x1, x2) - margin) where it is -1.

    Examples
    --------
    >>> opweave.nn.functional.cosine_embedding_loss(opweave.eye(2), opweave.ones(2, 2), opweave.tensor([1.0, -1.0]))
    tensor(0.5000)
    """
    number = reduction_number(reduction, size_average, reduce)
    return aten.cosine_embedding_loss.default(input1, input2, target, margin, number)


def triplet_margin_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    margin: float = 1.0,
    p: float = 2,
    eps: float = 1e-6,
    swap: bool = False,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + |a - p| - |a - n|), by p-norms (Balntas et al. 2016).

    Examples
    --------
    >>> anchor, near, far = opweave.tensor([[0.0]]), opweave.tensor([[1.0]]), opweave.tensor([[3.0]])
    >>> opweave.nn.functional.triplet_margin_loss(anchor, near, far)
    tensor(0.)
    """
    if margin <= 0:
        raise ShapeError("triplet_margin_loss: the margin must be positive", got=f"margin={margin}")
    number = reduction_number(reduction, size_average, reduce)
    return aten.triplet_margin_loss.default(anchor, positive, negative, margin, p, eps, swap, number)


def triplet_margin_with_distance_loss(
    anchor: Tensor,
    positive: Tensor,
    negative: Tensor,
    *,
    distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
    margin: float = 1.0,
    swap: bool = False,
    reduction: str = "mean",
) -> Tensor:
    """max(0, margin + d(a, p) - d(a, n)), by a distance of one's own; `swap` takes the nearer of a and p to n.

    Examples
    --------
    >>> a, p, n = opweave.zeros(1, 2), opweave.zeros(1, 2), opweave.ones(1, 2)
    >>> opweave.nn.functional.triplet_margin_with_distance_loss(a, p, n)
    tensor(0.)
    """
    number = reduction_number(reduction)
    if not margin > 0:
        raise ShapeError("triplet_margin_with_distance_loss: the margin must be positive", got=f"margin={margin}")
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            "triplet_margin_with_distance_loss: expected tensors with as many dimensions",
            got=describe([anchor, positive, negative]),
        )
    distance = distance_function or aten.pairwise_distance.default
    near, far = distance(anchor, positive), distance(anchor, negative)
    if swap:
        far = aten.minimum.default(far, distance(positive, negative))
    return reduced(aten.clamp_min.default(aten.sub.Tensor(aten.add.Scalar(near, margin), far), 0), number)


# ---- sequences -----------------------------------------------------------------------------------------------------


def ctc_loss(
    log_probs: Tensor,
    targets: Tensor,
    input_lengths: Tensor | Sequence[int],
    target_lengths: Tensor | Sequence[int],
    blank: int = 0,
    reduction: str = "mean",
    zero_infinity: bool = False,
) -> Tensor:
    """The negative log-likelihood of targets, by all ways to lay them in time (Graves et al. 2006).

    Parameters
    ----------
    log_probs : Tensor
        (time, batch, classes), or (time, classes): float32 or float64 logarithms of probabilities.
    targets : Tensor
        (batch, longest) or all in a row: int32 or int64 classes other than the blank.
    input_lengths, target_lengths : Tensor or sequence of int
        For each sequence.
    blank : int
        The class between labels.
    reduction : str
        `"mean"` is over the batch, of losses over their target's length.
    zero_infinity : bool
        Whether a target that does not fit counts 0, and its gradient too.

    Examples
    --------
    >>> x, one = opweave.zeros(3, 1, 2).log_softmax(2), opweave.tensor([1])
    >>> opweave.nn.functional.ctc_loss(x, one.view(1, 1), opweave.tensor([3]), one)
    tensor(0.2877)
    """
    rest = blank, reduction_number(reduction), zero_infinity
    return aten.ctc_loss(log_probs, targets, input_lengths, target_lengths, *rest)

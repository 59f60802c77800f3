"""`linear_cross_entropy` of `torch.nn.functional`: the cross entropy of scores that are a product, in pieces."""

from __future__ import annotations

import math
from typing import Any

from opweave.nn.losses import cross_entropy, reduction_number
from opweave.registry import dtypes
from opweave.registry.autograd.checkpoint import checkpoint
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

__all__ = ["LinearCrossEntropyOptions", "linear_cross_entropy"]

aten = ops.aten
_POLICIES = ("auto", "accurate", "balanced", "compact")


@dataclass(frozen=True)
class LinearCrossEntropyOptions:
    """How `linear_cross_entropy` cuts its batch into pieces, each of which has its scores to itself.

    Parameters
    ----------
    allow_retain_graph : bool
        For the signature's sake: gradients are computed again each time.
    batch_chunk_size : int, optional
        Examples of a piece.
    chunking_method : str, optional
        `"aspect_ratio"` makes the scores of a piece as large as the input, `"aspect_ratio:n"` a n-th of that; `"auto"`
        is `"aspect_ratio:2"` where there is no `batch_chunk_size`; None takes the batch whole.
    acc_policy, acc_dtype
        For the signature's sake: products of half types are added up in float32.

    Raises
    ------
    ArgumentError
        If an argument is none of these.

    Examples
    --------
    >>> opweave.nn.LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    allow_retain_graph: bool = False
    batch_chunk_size: int | None = None
    chunking_method: str | None = "auto"
    acc_policy: str = "auto"
    acc_dtype: Any = None

    def __post_init__(self) -> None:
        if self.acc_policy not in _POLICIES:
            raise ArgumentError(
                "LinearCrossEntropyOptions: unknown acc_policy", got=repr(self.acc_policy), hint=", ".join(_POLICIES)
            )
        size = self.batch_chunk_size
        if size is not None and (not isinstance(size, int) or size < 1):
            raise ArgumentError("LinearCrossEntropyOptions: batch_chunk_size must be a positive int", got=repr(size))
        if self.chunking_method not in (None, "auto"):
            _divisor(self.chunking_method)

    def examples(self, batch: int, features: int, classes: int) -> int:
        """How many examples a piece has.

        Parameters
        ----------
        batch, features, classes : int
            Sizes of the input, and of the scores.

        Raises
        ------
        ArgumentError
            If the method gives another number than `batch_chunk_size`.

        Examples
        --------
        >>> opweave.nn.LinearCrossEntropyOptions(batch_chunk_size=64).examples(256, 32, 1000)
        64
        """
        size, method = self.batch_chunk_size, self.chunking_method
        if method == "auto":
            method = "aspect_ratio:2" if size is None else None
        if method is None:
            return batch if size is None else max(min(size, batch), 1)
        wanted = -(-batch // max(-(-classes // max(features, 1)), 1))
        found = max(min((1 << max(wanted - 1, 0).bit_length()) // _divisor(method), batch), 1)
        if size is not None and size != found:
            raise ArgumentError(
                "LinearCrossEntropyOptions: batch_chunk_size and chunking_method differ",
                got=f"{size}, and {found} by {method!r}", hint="give one of them",
            )  # fmt: skip
        return found


def _divisor(method: str | None) -> int:
    name, _, factor = str(method).partition(":")
    if name != "aspect_ratio" or not (factor or "1").isdigit() or int(factor or "1") < 1:
        raise ArgumentError(
            "LinearCrossEntropyOptions: unknown chunking_method", got=repr(method),
            hint="'auto', 'aspect_ratio', 'aspect_ratio:2', ... or None",
        )  # fmt: skip
    return int(factor or "1")


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: Any = None,
) -> Tensor:
    """`cross_entropy` of the scores `linear(input, linear_weight, linear_bias)`.

    Parameters
    ----------
    input : Tensor
        (features) or (N, features).
    linear_weight : Tensor
        (C, features), or (C, ..., features) for a loss of more dimensions.
    target : Tensor
        int64 numbers of classes, (), (N) or (N, ...), or probabilities of the shape of the scores, (N, C, ...).
    linear_bias : Tensor, optional
        (C, ...), added to the scores.
    weight : Tensor, optional
        (C), how much each class counts.
    reduction : str
        `"mean"`, `"sum"` or `"none"`.
    ignore_index : int, optional
        A number of a class that does not count, -100 by default.
    label_smoothing : float
        This part of the probability is spread over all classes.
    options : LinearCrossEntropyOptions, optional
        Have the scores of few examples at a time, and again for the gradient: less memory where there are many
        classes. For numbers of classes (C) alone; other losses are taken whole.

    Examples
    --------
    >>> x, w = opweave.tensor([[2.0, 0.0]]), opweave.eye(2)
    >>> opweave.nn.functional.linear_cross_entropy(x, w, opweave.tensor([0]))
    tensor(0.1269)
    """
    op = "linear_cross_entropy"
    if input.ndim not in (1, 2) or linear_weight.ndim < 2 or input._sizes[-1] != linear_weight._sizes[-1]:
        raise ShapeError(
            f"{op}: expected an input (N, features) and a weight (C, features)", got=describe([input, linear_weight])
        )
    classes, *more = linear_weight._sizes[:-1]
    if linear_bias is not None and linear_bias._sizes != linear_weight._sizes[:-1]:
        raise ShapeError(f"{op}: linear_bias must have shape {[classes, *more]}", got=describe(linear_bias))
    if more and input.ndim == 1:
        raise ShapeError(
            f"{op}: a loss of several dimensions needs a batch, (N, features)", got=describe([input, linear_weight])
        )
    scores = [*input._sizes[:-1], classes, *more]
    if target._sizes == tuple(scores) and ignore_index is not None:
        raise ArgumentError(f"{op}: probabilities have no ignore_index", got=f"ignore_index={ignore_index}")
    ignored = -100 if ignore_index is None else ignore_index
    reduction_number(reduction)
    in_pieces = input.ndim == 2 and not more and not label_smoothing
    if options is not None and in_pieces and target._dtype is dtypes.int64 and target._sizes == input._sizes[:1]:
        size = options.examples(input._sizes[0], input._sizes[1], classes)
        if size < input._sizes[0]:
            return _in_pieces((input, linear_weight, target, linear_bias, weight), size, reduction, ignored)
    if more:
        linear_weight = aten.reshape.default(linear_weight, [math.prod(scores[1:]), input._sizes[-1]])
        linear_bias = None if linear_bias is None else aten.reshape.default(linear_bias, [-1])
    logits = aten.reshape.default(aten.linear.default(input, linear_weight, linear_bias), scores)
    return cross_entropy(
        logits, target, weight, reduction=reduction, ignore_index=ignored, label_smoothing=label_smoothing
    )


def _in_pieces(given: tuple[Any, ...], size: int, reduction: str, ignored: int) -> Tensor:
    """The losses of some examples after the others, of which backward has the inputs alone."""
    input, linear_weight, target, linear_bias, weight = given

    def piece(x: Tensor, labels: Tensor, matrix: Tensor, bias: Tensor | None) -> Tensor:
        how = "none" if reduction == "none" else "sum"
        return cross_entropy(aten.linear.default(x, matrix, bias), labels, weight, reduction=how, ignore_index=ignored)

    kept = checkpoint(piece)
    pairs = zip(aten.split.Tensor(input, size), aten.split.Tensor(target, size), strict=True)
    losses = [kept(x, labels, linear_weight, linear_bias) for x, labels in pairs]
    if reduction == "none":
        return aten.cat.default(losses)
    total = losses[0]
    for loss in losses[1:]:
        total = aten.add.Tensor(total, loss)
    if reduction == "sum":
        return total
    counts = aten.ne.Scalar(target, ignored)
    if weight is None:
        return aten.div.Tensor(total, aten.sum.default(counts))
    each = aten.index.Tensor(weight, [aten.where.ScalarOther(counts, target, 0)])
    return aten.div.Tensor(total, aten.sum.default(aten.where.ScalarOther(counts, each, 0)))

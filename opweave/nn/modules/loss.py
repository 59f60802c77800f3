"""Losses as modules; each says in `functional` what it computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.nn import functional as F
from opweave.nn.modules.arranging import PairwiseDistance
from opweave.nn.modules.module import Module
from opweave.registry.errors import ArgumentError, DomainError
from opweave.registry.tensor import Tensor


def _reduced(size_average: bool | None, reduce: bool | None, reduction: str) -> str:
    """The reduction that two early arguments stood for."""
    if size_average is None and reduce is None:
        return reduction
    return "none" if reduce is False else "sum" if size_average is False else "mean"


class _Loss(Module):
    reduction: str

    def __init__(self, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean") -> None:
        super().__init__()
        self.reduction = _reduced(size_average, reduce, reduction)


class _WeightedLoss(_Loss):
    weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)


class L1Loss(_Loss):
    """|x - y|.

    Examples
    --------
    >>> opweave.nn.L1Loss()(opweave.tensor([0.2, 0.9]), opweave.tensor([0.0, 1.0]))
    tensor(0.1500)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.l1_loss(input, target, reduction=self.reduction)


class MSELoss(_Loss):
    """(x - y)².

    Examples
    --------
    >>> opweave.nn.MSELoss()(opweave.tensor([0.2, 0.9]), opweave.tensor([0.0, 1.0]))
    tensor(0.0250)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.mse_loss(input, target, reduction=self.reduction)


class SmoothL1Loss(_Loss):
    """Squares near 0, absolute values beyond beta (Girshick 2015).

    Examples
    --------
    >>> opweave.nn.SmoothL1Loss()(opweave.tensor([0.2, 0.9]), opweave.tensor([0.0, 1.0]))
    tensor(0.0125)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        beta: float = 1.0,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.beta = beta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.smooth_l1_loss(input, target, reduction=self.reduction, beta=self.beta)


class HuberLoss(_Loss):
    """Squares near 0, absolute values beyond delta (Huber 1964).

    Examples
    --------
    >>> opweave.nn.HuberLoss()(opweave.tensor([0.2, 0.9]), opweave.tensor([0.0, 1.0]))
    tensor(0.0125)
    """

    def __init__(self, reduction: str = "mean", delta: float = 1.0) -> None:
        if not isinstance(delta, (float, int)):
            raise ArgumentError("delta must be a float or int", got=f"{delta!r}", hint="nn.HuberLoss(delta=1.0)")
        super().__init__(reduction=reduction)
        self.delta = delta

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.huber_loss(input, target, reduction=self.reduction, delta=self.delta)


class CrossEntropyLoss(_WeightedLoss):
    """Cross entropy of scores and classes, or probabilities.

    Parameters
    ----------
    weight : Tensor, optional
        Of each class.
    ignore_index : int
        A class that does not count.
    reduction : str
        `"mean"`, `"sum"` or `"none"`.
    label_smoothing : float
        How much of a target is spread over all classes.

    Examples
    --------
    >>> opweave.nn.CrossEntropyLoss()(opweave.tensor([[2.0, 0.0]]), opweave.tensor([0]))
    tensor(0.1269)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
        label_smoothing: float = 0.0,
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index
        self.label_smoothing = label_smoothing

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.cross_entropy(
            input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction,
            label_smoothing=self.label_smoothing,
        )  # fmt: skip


class NLLLoss(_WeightedLoss):
    """Minus the log-probability of the class.

    Examples
    --------
    >>> opweave.nn.NLLLoss()(opweave.tensor([[-1.0, -0.5]]), opweave.tensor([1]))
    tensor(0.5000)
    """

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        ignore_index: int = -100,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        self.ignore_index = ignore_index

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.nll_loss(input, target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


class BCELoss(_WeightedLoss):
    """Cross entropy of probabilities of two classes.

    Examples
    --------
    >>> opweave.nn.BCELoss()(opweave.tensor([0.2, 0.9]), opweave.tensor([0.0, 1.0]))
    tensor(0.1643)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy(input, target, weight=self.weight, reduction=self.reduction)


class BCEWithLogitsLoss(_Loss):
    """`BCELoss` of the sigmoid, computed without overflow.

    Examples
    --------
    >>> opweave.nn.BCEWithLogitsLoss()(opweave.tensor([0.2, 0.9]), opweave.tensor([0.0, 1.0]))
    tensor(0.5696)
    """

    weight: Tensor | None
    pos_weight: Tensor | None

    def __init__(
        self,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        pos_weight: Tensor | None = None,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.register_buffer("weight", weight)
        self.register_buffer("pos_weight", pos_weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.binary_cross_entropy_with_logits(
            input, target, self.weight, pos_weight=self.pos_weight, reduction=self.reduction
        )


class KLDivLoss(_Loss):
    """y (log y - x), for x that is a logarithm.

    Examples
    --------
    >>> opweave.nn.KLDivLoss(reduction='sum')(opweave.tensor([0.5, 0.5]).log(), opweave.tensor([0.25, 0.75]))
    tensor(0.1308)
    """

    def __init__(
        self,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
        log_target: bool = False,
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_target = log_target

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.kl_div(input, target, reduction=self.reduction, log_target=self.log_target)


class PoissonNLLLoss(_Loss):
    """Minus the log-likelihood of counts with a Poisson distribution.

    Examples
    --------
    >>> opweave.nn.PoissonNLLLoss()(opweave.tensor([0.2, 0.9]), opweave.tensor([0.0, 1.0]))
    tensor(1.3905)
    """

    def __init__(
        self,
        log_input: bool = True,
        full: bool = False,
        size_average: bool | None = None,
        eps: float = 1e-8,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.log_input = log_input
        self.full = full
        self.eps = eps

    def forward(self, log_input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.poisson_nll_loss(
            log_input, target, log_input=self.log_input, full=self.full, eps=self.eps, reduction=self.reduction
        )


class GaussianNLLLoss(_Loss):
    """Minus the log-likelihood of numbers with a normal distribution.

    Examples
    --------
    >>> opweave.nn.GaussianNLLLoss()(opweave.tensor([1.0]), opweave.tensor([2.0]), opweave.tensor([1.0]))
    tensor(0.5000)
    """

    def __init__(self, *, full: bool = False, eps: float = 1e-6, reduction: str = "mean") -> None:
        super().__init__(reduction=reduction)
        self.full = full
        self.eps = eps

    def forward(self, input: Tensor, target: Tensor, var: Any) -> Tensor:
        """The loss."""
        return F.gaussian_nll_loss(input, target, var, full=self.full, eps=self.eps, reduction=self.reduction)


class HingeEmbeddingLoss(_Loss):
    """x for the class 1, max(0, margin - x) for -1.

    Examples
    --------
    >>> opweave.nn.HingeEmbeddingLoss()(opweave.tensor([0.5, 0.5]), opweave.tensor([1.0, -1.0]))
    tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 1.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.hinge_embedding_loss(input, target, margin=self.margin, reduction=self.reduction)


class SoftMarginLoss(_Loss):
    """log(1 + exp(-y x)).

    Examples
    --------
    >>> opweave.nn.SoftMarginLoss()(opweave.tensor([1.0]), opweave.tensor([1.0]))
    tensor(0.3133)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.soft_margin_loss(input, target, reduction=self.reduction)


class MultiLabelMarginLoss(_Loss):
    """A hinge between each class that is there and each that is not.

    Examples
    --------
    >>> opweave.nn.MultiLabelMarginLoss()(opweave.tensor([[0.1, 0.9]]), opweave.tensor([[1, -1]]))
    tensor(0.1000)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.multilabel_margin_loss(input, target, reduction=self.reduction)


class MultiLabelSoftMarginLoss(_WeightedLoss):
    """Cross entropy of each class by itself.

    Examples
    --------
    >>> opweave.nn.MultiLabelSoftMarginLoss()(opweave.tensor([[0.1, 0.9]]), opweave.tensor([[0.0, 1.0]]))
    tensor(0.5428)
    """

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.multilabel_soft_margin_loss(input, target, weight=self.weight, reduction=self.reduction)


class MultiMarginLoss(_WeightedLoss):
    """A hinge between the class and each other.

    Examples
    --------
    >>> opweave.nn.MultiMarginLoss()(opweave.tensor([[0.1, 0.9]]), opweave.tensor([1]))
    tensor(0.1000)
    """

    def __init__(
        self,
        p: int = 1,
        margin: float = 1.0,
        weight: Tensor | None = None,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(weight, size_average, reduce, reduction)
        if p not in (1, 2):
            raise DomainError("only p == 1 and p == 2 supported", got=f"p={p}", hint="p=1, or p=2 for squares")
        self.p = p
        self.margin = margin

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.multi_margin_loss(
            input, target, p=self.p, margin=self.margin, weight=self.weight, reduction=self.reduction
        )


class CosineEmbeddingLoss(_Loss):
    """1 - cos for pairs that belong together, max(0, cos - margin) for others.

    Examples
    --------
    >>> opweave.nn.CosineEmbeddingLoss()(opweave.eye(2), opweave.ones(2, 2), opweave.tensor([1.0, -1.0]))
    tensor(0.5000)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.cosine_embedding_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class MarginRankingLoss(_Loss):
    """max(0, -y (x1 - x2) + margin).

    Examples
    --------
    >>> opweave.nn.MarginRankingLoss()(opweave.tensor([1.0]), opweave.tensor([2.0]), opweave.tensor([1.0]))
    tensor(1.)
    """

    def __init__(
        self,
        margin: float = 0.0,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        self.margin = margin

    def forward(self, input1: Tensor, input2: Tensor, target: Tensor) -> Tensor:
        """The loss."""
        return F.margin_ranking_loss(input1, input2, target, margin=self.margin, reduction=self.reduction)


class TripletMarginLoss(_Loss):
    """How much nearer the one that belongs is than the one that does not, up to a margin.

    Examples
    --------
    >>> opweave.nn.TripletMarginLoss()(opweave.tensor([[0.0]]), opweave.tensor([[1.0]]), opweave.tensor([[3.0]]))
    tensor(0.)
    """

    def __init__(
        self,
        margin: float = 1.0,
        p: float = 2.0,
        eps: float = 1e-6,
        swap: bool = False,
        size_average: bool | None = None,
        reduce: bool | None = None,
        reduction: str = "mean",
    ) -> None:
        super().__init__(size_average, reduce, reduction)
        if margin <= 0:
            raise DomainError(
                f"TripletMarginLoss: expected margin to be greater than 0, got {margin} instead",
                got=f"margin={margin}",
                hint="margin=1.0, for one",
            )
        self.margin = margin
        self.p = p
        self.eps = eps
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss."""
        return F.triplet_margin_loss(
            anchor, positive, negative, margin=self.margin, p=self.p, eps=self.eps, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class TripletMarginWithDistanceLoss(_Loss):
    """`TripletMarginLoss` for any distance.

    Examples
    --------
    >>> anchor, near, far = opweave.tensor([[0.0]]), opweave.tensor([[1.0]]), opweave.tensor([[1.5]])
    >>> opweave.nn.TripletMarginWithDistanceLoss()(anchor, near, far)
    tensor(0.5000)
    """

    def __init__(
        self,
        *,
        distance_function: Callable[[Tensor, Tensor], Tensor] | None = None,
        margin: float = 1.0,
        swap: bool = False,
        reduction: str = "mean",
    ) -> None:
        super().__init__(reduction=reduction)
        if margin <= 0:
            raise DomainError(
                f"expected margin to be greater than 0, got {margin} instead",
                got=f"margin={margin}",
                hint="margin=1.0, for one",
            )
        self.distance_function = distance_function if distance_function is not None else PairwiseDistance()
        self.margin = margin
        self.swap = swap

    def forward(self, anchor: Tensor, positive: Tensor, negative: Tensor) -> Tensor:
        """The loss."""
        return F.triplet_margin_with_distance_loss(
            anchor, positive, negative, distance_function=self.distance_function, margin=self.margin, swap=self.swap,
            reduction=self.reduction,
        )  # fmt: skip


class CTCLoss(_Loss):
    """Minus the log-probability of a text in any alignment (Graves et al. 2006).

    Examples
    --------
    >>> x, one = opweave.zeros(3, 1, 2).log_softmax(2), opweave.tensor([1])
    >>> opweave.nn.CTCLoss()(x, one.view(1, 1), opweave.tensor([3]), one)
    tensor(0.2877)
    """

    def __init__(self, blank: int = 0, reduction: str = "mean", zero_infinity: bool = False) -> None:
        super().__init__(reduction=reduction)
        self.blank = blank
        self.zero_infinity = zero_infinity

    def forward(self, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any) -> Tensor:
        """The loss."""
        return F.ctc_loss(
            log_probs, targets, input_lengths, target_lengths, self.blank, self.reduction, self.zero_infinity
        )

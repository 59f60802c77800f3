"""A softmax over very many classes of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opweave.nn import functional as F
from opweave.nn.modules.container import ModuleList, Sequential
from opweave.nn.modules.linear import Linear
from opweave.nn.modules.module import Module
from opweave.registry.errors import DomainError, OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


class ASMoutput(NamedTuple):
    """`output`, the logarithm of the probability of each target, and `loss`, their mean with the other sign."""

    output: Tensor
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """The logarithms of a softmax whose rare classes stand in clusters (Grave et al. 2017).

    The head has the frequent classes, and a number for each cluster. What a cluster's classes have is multiplied from
    fewer features, and is computed for the rows whose target is there.

    Parameters
    ----------
    in_features : int
        Features of a row.
    n_classes : int
        Classes, those that are more frequent first.
    cutoffs : sequence of int
        Where clusters begin, in rising order.
    div_value : float
        A cluster's features are so many times fewer than those of the one before.
    head_bias : bool
        Whether the head has a bias.

    Raises
    ------
    DomainError
        If cutoffs do not rise, or are not between 1 and n_classes - 1.

    Examples
    --------
    >>> softmax = opweave.nn.AdaptiveLogSoftmaxWithLoss(8, 10, [4, 6], div_value=2.0)
    >>> softmax(opweave.ones(3, 8), opweave.tensor([0, 5, 9])).output.shape, softmax.log_prob(opweave.ones(3, 8)).shape
    (opweave.Size([3]), opweave.Size([3, 10]))
    """

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise DomainError("AdaptiveLogSoftmaxWithLoss: there must be a cutoff", got="cutoffs=[]")
        if (
            any(int(c) != c for c in cutoffs)
            or sorted(set(cutoffs)) != cutoffs
            or not 0 < cutoffs[0] <= cutoffs[-1] < n_classes
        ):
            raise DomainError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs must be whole numbers that rise, between 1 and n_classes - 1",
                got=f"cutoffs={cutoffs}, n_classes={n_classes}",
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        options: dict[str, Any] = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **options)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            features = int(in_features // div_value ** (i + 1))
            classes = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, features, bias=False, **options),
                    Linear(features, classes, bias=False, **options),
                )
            )

    def reset_parameters(self) -> None:
        """Draw the weights anew."""
        self.head.reset_parameters()
        for layer in self.tail.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> ASMoutput:
        """The logarithm of each target's probability, and the loss.

        Parameters
        ----------
        input_ : Tensor
            Sizes (N, in_features), or (in_features,).
        target_ : Tensor
            Sizes (N,), or (): classes.

        Raises
        ------
        ShapeError
            If the sizes do not go together.
        OutOfRangeError
            If a target is no class.
        """
        if (input_.ndim, target_.ndim) not in ((2, 1), (1, 0)) or input_.shape[:-1] != target_.shape:
            raise ShapeError(
                "AdaptiveLogSoftmaxWithLoss: expected an input (N, in_features) with a target (N,), or one row with a "
                "number",
                got=f"{describe(input_)}, {describe(target_)}",
            )
        if input_.ndim == 1:
            output, loss = self(input_.unsqueeze(0), target_.unsqueeze(0))
            return ASMoutput(output.squeeze(0), loss)
        outside = (target_ < 0) | (target_ >= self.n_classes)
        if bool(outside.any()):
            raise OutOfRangeError(
                f"AdaptiveLogSoftmaxWithLoss: target values should be in the range [0, {self.n_classes - 1}]",
                got=f"values from {int(target_.min())} to {int(target_.max())}",
            )
        # Of a row whose target is in a cluster, the head tells of the cluster.
        shown, output = target_, aten.zeros_like.default(target_, dtype=input_.dtype)
        for i, cluster in enumerate(self.tail):
            low, high = self.cutoffs[i], self.cutoffs[i + 1]
            rows = ((target_ >= low) & (target_ < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            logs = F.log_softmax(cluster(input_.index_select(0, rows)), dim=1)
            own = logs.gather(1, (target_.index_select(0, rows) - low).unsqueeze(1)).squeeze(1)
            output = output.index_copy(0, rows, own)
            shown = shown.index_fill(0, rows, self.shortlist_size + i)
        output = output + F.log_softmax(self.head(input_), dim=1).gather(1, shown.unsqueeze(1)).squeeze(1)
        return ASMoutput(output, (-output).mean())

    def log_prob(self, input: Tensor) -> Tensor:
        """Logarithms of the probabilities of all classes: (N, n_classes) for an input (N, in_features)."""
        head = F.log_softmax(self.head(input), dim=1)
        parts = [head[:, : self.shortlist_size]]
        for i, cluster in enumerate(self.tail):
            at = self.shortlist_size + i
            parts.append(F.log_softmax(cluster(input), dim=1) + head[:, at : at + 1])
        return aten.cat.default(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """Each row's most probable class, (N,); clusters that need not be known are not computed."""
        head = self.head(input)
        found = head.argmax(dim=1)
        rows = (found >= self.shortlist_size).nonzero().squeeze(1)
        if rows.numel() == 0:
            return found
        return found.index_copy(0, rows, self.log_prob(input.index_select(0, rows)).argmax(dim=1))

"""Losses of `torch.nn.functional` that want a margin between the right classes and the others."""

from __future__ import annotations

from opweave.nn.losses import reduced, reduction_number
from opweave.registry.dtypes import int64
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

__all__ = ["multi_margin_loss", "multilabel_margin_loss"]

aten = ops.aten


def _rows(op: str, input: Tensor, target: Tensor, fits: bool) -> Tensor:
    """The input as (batch, classes); a number is that of the only class."""
    if input.ndim > 2 or (input.ndim and not input._sizes[-1]) or not fits:
        raise ShapeError(
            f"{op}: expected (batch, classes) or (classes), and targets for it", got=describe([input, target])
        )
    return input if input.ndim == 2 else aten.reshape.default(input, [1, -1])


def multi_margin_loss(
    input: Tensor,
    target: Tensor,
    p: int = 1,
    margin: float = 1.0,
    weight: Tensor | None = None,
    size_average: bool | None = None,
    reduce: bool | None = None,
    reduction: str = "mean",
) -> Tensor:
    """The mean over the other classes j of max(0, margin - x[t] + x[j])^p, times the weight of the class t.

    Examples
    --------
    >>> opweave.nn.functional.multi_margin_loss(opweave.tensor([[0.1, 0.9]]), opweave.tensor([1]))
    tensor(0.1000)
    """
    number = reduction_number(reduction, size_average, reduce)
    if p not in (1, 2):
        raise ShapeError("multi_margin_loss: p is 1 or 2", got=f"p={p}")
    single = input.ndim < 2 and target.ndim == 0
    fits = single or target._sizes == (input._sizes[:-1] or (1,))
    x = _rows("multi_margin_loss", input, target, fits)
    at = aten.reshape.default(target, [-1, 1])
    if weight is not None and weight._sizes != x._sizes[1:]:
        raise ShapeError("multi_margin_loss: needs a weight for each class", got=describe([input, weight]))
    if target._dtype is not int64 or (weight is not None and weight._dtype is not input._dtype):
        raise DTypeError(
            "multi_margin_loss: targets are int64, and weights have the input's dtype",
            got=describe([input, target] if weight is None else [input, target, weight]),
            hint="target.long(), weight.to(input.dtype)",
        )  # fmt: skip
    loss = aten.clamp_min.default(aten.add.Scalar(aten.sub.Tensor(x, aten.gather.default(x, 1, at)), margin), 0)
    if p == 2:
        loss = aten.mul.Tensor(loss, loss)
    if weight is not None:
        loss = aten.mul.Tensor(loss, aten.index.Tensor(weight, [at]))
    loss = aten.scatter.value(loss, 1, at, 0)
    loss = aten.div.Tensor(aten.sum.dim_IntList(loss, [1]), x._sizes[1])
    return reduced(aten.squeeze.dim(loss, 0) if single else loss, number)


def multilabel_margin_loss(
    input: Tensor, target: Tensor, size_average: bool | None = None, reduce: bool | None = None, reduction: str = "mean"
) -> Tensor:
    """Σ max(0, 1 - x[t] + x[j]) / classes over targets t and classes j that are none.

    The targets of a row are its classes up to the first negative number.

    Examples
    --------
    >>> opweave.nn.functional.multilabel_margin_loss(opweave.tensor([[0.1, 0.9, 0.2]]), opweave.tensor([[1, -1, 0]]))
    tensor(0.1667)
    """
    number = reduction_number(reduction, size_average, reduce)
    single = input.ndim < 2
    fits = target._sizes == input._sizes or (single and input.numel() == 1 and target._sizes in ((), (1,)))
    x = _rows("multilabel_margin_loss", input, target, fits)
    labels = aten.reshape.default(target, list(x._sizes))
    named = aten.eq.Scalar(aten.cumsum.default(aten.lt.Scalar(labels, 0), 1), 0)
    labels = aten.where(named, labels, 0)
    ones = aten._to_copy.default(named, dtype=x._dtype)
    wanted = aten.gt.Scalar(aten.scatter_add.default(aten.zeros_like.default(x), 1, labels, ones), 0)
    chosen = aten.unsqueeze.default(aten.gather.default(x, 1, labels), 2)
    loss = aten.clamp_min.default(aten.rsub.Scalar(aten.sub.Tensor(chosen, aten.unsqueeze.default(x, 1)), 1), 0)
    counted = aten.logical_and.default(
        aten.unsqueeze.default(named, 2), aten.unsqueeze.default(aten.logical_not.default(wanted), 1)
    )
    loss = aten.div.Tensor(aten.sum.dim_IntList(aten.where(counted, loss, 0.0), [1, 2]), x._sizes[1])
    return reduced(aten.squeeze.dim(loss, 0) if single else loss, number)

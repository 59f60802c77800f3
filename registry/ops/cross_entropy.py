"""Losses of class numbers: the negative log-likelihood and cross entropy.

Each op is a composite of traceable ops. Where `explicit=True` an eager call computes in one go instead.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.errors import AutogradError, DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.kinds.base import IGNORED, reset_errors, set_errors
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.spec import contiguous, row_major
from opweave.registry.tape import NotTaped, Tape
from opweave.registry.tensor import Tensor, allocate_like, describe, wrap_array

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_NONE, _MEAN, _SUM = 0, 1, 2


def _class_places(op: str, self: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> Any:
    """(whether a row counts, its class, its weight in the compute type), after checking that the arguments fit."""
    aten = ops.aten
    if self.ndim not in (1, 2) or target._sizes != self._sizes[:-1]:
        raise ShapeError(
            f"{op}: expected input (N, C) or (C) and target (N) or ()", got=describe([self, target]),
            hint="the target has one class number for each row: target.squeeze(1), or target.argmax(1) of one-hot",
        )  # fmt: skip
    if target._dtype not in (dtypes.int64, dtypes.uint8):
        raise DTypeError(
            f"{op}: the target must be int64 class numbers", got=describe(target),
            hint="target.long(); probabilities of classes need the input's shape, in cross_entropy",
        )  # fmt: skip
    if weight is not None and weight._sizes != self._sizes[-1:]:
        raise ShapeError(
            f"{op}: needs a weight for each class", got=describe([self, weight]),
            hint=f"a weight of shape [{self._sizes[-1]}]",
        )  # fmt: skip
    if weight is not None and weight._dtype is not self._dtype:
        raise DTypeError(
            f"{op}: the weights need the input's dtype", got=describe([self, weight]), hint="weight.to(input.dtype)"
        )
    valid = aten.ne(target, ignore_index)
    place = rounded(aten.where(valid, target, 0), dtypes.int64)
    if weight is not None:
        counts = aten.gather.default(widened(weight), 0, aten.view.default(place, [-1]))
        counts = aten.view.default(counts, list(target._sizes))
    else:
        counts = rounded(valid, self._dtype.compute)
    return valid, place, aten.where(valid, counts, 0.0)


class _Classes(NamedTuple):
    """Scores of rows and the number of each row's class, as arrays."""

    scores: Any
    #: The type that it is computed in.
    compute: Any
    rows: Any
    #: 0 for rows that do not count.
    places: Any
    #: Whether a row counts, and the weight that it has; None where all rows count as one.
    counting: Any
    weights: Any

    @property
    def total(self) -> Any:
        """The sum of the rows' weights."""
        kind = self.compute.type
        return kind(len(self.places)) if self.weights is None else self.weights.sum(dtype=kind)


def _classes(self: Tensor, target: Tensor, weight: Tensor | None, ignore_index: int) -> _Classes | None:
    """What NumPy reads, of a call that is right; else None: the ops that it is written with say what is wrong."""
    fits = self.ndim in (1, 2) and target._sizes == self._sizes[:-1] and self._device is cpu is target._device
    if not fits or target._dtype not in (dtypes.int64, dtypes.uint8):
        return None
    if weight is not None and (
        weight._sizes != self._sizes[-1:] or weight._dtype is not self._dtype or weight._device is not cpu
    ):
        return None
    compute = self._dtype.compute.numpy
    scores, places = self._array, target._array
    if self.ndim == 1:
        scores, places = scores[None], places[None]
    if places.dtype != np.int64:
        places = places.astype(np.int64)
    classes = self._sizes[-1]
    counting = weights = None
    if 0 <= ignore_index < classes or not _are_below(places, classes):
        counting = places != ignore_index
        places = np.where(counting, places, 0)
        if not _are_below(places, classes):
            return None
        weights = counting.astype(compute)
    if weight is not None:
        weights = weight._array.astype(compute)[places] if classes else weights
        if weights is not None and counting is not None:
            weights = np.where(counting, weights, compute.type(0))
    return _Classes(scores, compute, np.arange(len(places)), places, counting, weights)


def _are_below(places: Any, count: int) -> bool:
    """Whether all are from 0 to less than `count`: as numbers without sign the negative ones are large."""
    return not places.size or bool(np.maximum.reduce(places.view(np.uint64)) < count)


def _stored(value: Any, like: Tensor, sizes: tuple[int, ...] = ()) -> Tensor:
    """An array, or a number, as a tensor of another one's type."""
    array = np.asarray(value, like._dtype.numpy).reshape(sizes)
    return wrap_array(array, sizes, row_major(sizes), like._dtype, cpu)


def _nll_loss_forward_kernel(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    known = _classes(self, target, weight, ignore_index)
    if known is None or (not self._sizes[-1] and known.places.size):
        return nll_loss_forward.body(self, target, weight, reduction, ignore_index)
    token = set_errors(IGNORED)
    try:
        losses = -known.scores[known.rows, known.places].astype(known.compute, copy=False)
        if known.weights is not None:
            losses *= known.weights
        if known.counting is not None:
            losses[~known.counting] = 0
        divisor = known.total
        if reduction == _NONE:
            return _stored(losses, self, target._sizes), _stored(divisor * 0, self)
        total = np.add.reduce(losses)
        return _stored(total / divisor if reduction == _MEAN else total, self), _stored(divisor, self)
    finally:
        reset_errors(token)


def _nll_loss_backward_kernel(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int,
    total_weight: Tensor,
) -> Tensor:  # fmt: skip
    known = _classes(self, target, weight, ignore_index)
    wanted = target._sizes if reduction == _NONE else ()
    if known is None or grad_output._sizes != wanted or grad_output._device is not cpu or not self._sizes[-1]:
        return nll_loss_backward.body(grad_output, self, target, weight, reduction, ignore_index, total_weight)
    compute = self._dtype.compute.numpy
    out = allocate_like(contiguous(self._sizes, self._dtype, cpu))
    token = set_errors(IGNORED)
    try:
        grad = -grad_output._array.astype(compute)
        if reduction == _MEAN:
            grad = grad / total_weight._array.astype(compute)
        if known.weights is not None:
            grad = grad * known.weights
        if known.counting is not None:
            grad = np.where(known.counting, grad, 0)
        written = out._array
        written.view(np.uint8).fill(0)  # NumPy converts a number for each element of bfloat16
        (written[None] if self.ndim == 1 else written)[known.rows, known.places] = grad
    finally:
        reset_errors(token)
    return out


@composite(
    "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index)"
    " -> (Tensor output, Tensor total_weight)",
    explicit=True,
    kernel=_nll_loss_forward_kernel,
)
def nll_loss_forward(
    self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int
) -> tuple[Tensor, Tensor]:
    aten = ops.aten
    valid, place, counts = _class_places("nll_loss", self, target, weight, ignore_index)
    try:
        picked = aten.neg.default(_taken(widened(self), place))
    except OutOfRangeError as error:
        classes = self._sizes[-1]
        raise OutOfRangeError(
            f"nll_loss: a target is no class: the input has {classes} classes, 0 to {classes - 1}",
            got=f"{describe(target)}, {error.what.partition(': ')[2]}",
            hint=f"targets that do not count have the number ignore_index ({ignore_index})",
        ) from None
    losses = aten.where(valid, aten.mul.Tensor(picked, counts), 0.0)
    if reduction == _NONE:
        return rounded(losses, self._dtype), rounded(aten.sum.default(aten.mul.Tensor(counts, 0.0)), self._dtype)
    total, divisor = aten.sum.default(losses), aten.sum.default(counts)
    output = aten.div.Tensor(total, divisor) if reduction == _MEAN else total
    return rounded(output, self._dtype), rounded(divisor, self._dtype)


@nll_loss_forward.replaying
def _replay_nll_loss(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], results: tuple[Tensor, ...]) -> None:
    """`_nll_loss_forward_kernel` of rows without class weights."""
    self, target, weight, reduction, ignore_index = nll_loss_forward.bind(args, kwargs)
    if weight is not None or reduction == _NONE or self.ndim != 2 or not self.numel() or target._dtype.kind != "i":
        raise NotTaped("not the usual loss")
    compute = self._dtype.compute.numpy
    assert compute is not None
    loss, total = (tape.made(t) for t in results)
    scores, places = tape.value(self), tape.value(target)
    (rows,) = places.sizes
    number = np.dtype(np.int64)
    counting = tape.scratch((rows,), np.dtype(bool))
    tape.map(np.not_equal, [places, np.asarray(ignore_index, number)], counting)
    safe, picked = tape.scratch((rows,), number), tape.scratch((rows,), scores.dtype)
    tape.map("chosen", [counting, places, np.asarray(0, number)], safe)
    along = scores._replace(sizes=(rows,), strides=scores.strides[:1])
    tape.map("taken", [safe, along], picked, (scores.strides[1] * scores.dtype.itemsize, scores.sizes[1], 0))
    losses, weights = tape.converted(picked, compute), tape.scratch((rows,), compute)
    tape.map(np.negative, [losses], losses)
    tape.map("chosen", [counting, losses, np.asarray(0, compute)], losses)
    tape.map("cast", [counting], weights)
    sums = [tape.scratch((), compute) for _ in range(2)]
    for source, out in zip((losses, weights), sums, strict=True):
        tape.fold(np.add, source, (0,), out, 0)
    if reduction == _MEAN:
        tape.map(np.true_divide, sums, sums[0])
    for source, out in zip(sums, (loss, total), strict=True):
        tape.map("copied" if out.dtype == compute else "cast", [source], out)


def _taken(scores: Tensor, place: Tensor) -> Tensor:
    """The score of each row's class."""
    aten = ops.aten
    if scores.ndim == 1:
        return aten.squeeze.dim(aten.gather.default(scores, 0, aten.unsqueeze.default(place, 0)), 0)
    return aten.squeeze.dim(aten.gather.default(scores, 1, aten.unsqueeze.default(place, 1)), 1)


@composite(
    "aten::nll_loss_backward(Tensor grad_output, Tensor self, Tensor target, Tensor? weight, int reduction,"
    " SymInt ignore_index, Tensor total_weight) -> Tensor",
    explicit=True,
    kernel=_nll_loss_backward_kernel,
    outs="grad_input",
)
def nll_loss_backward(
    grad_output: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int,
    total_weight: Tensor,
) -> Tensor:  # fmt: skip
    """The gradient of the log-probabilities: the negative weight in the place of each row's class, zero elsewhere."""
    aten = ops.aten
    valid, place, counts = _class_places("nll_loss_backward", self, target, weight, ignore_index)
    grad = widened(grad_output)
    if reduction == _MEAN:
        grad = aten.div.Tensor(grad, widened(total_weight))
    scaled = aten.neg.default(aten.mul.Tensor(counts, grad))
    classes = aten.arange.default(self._sizes[-1], device=self._device)
    chosen = aten.logical_and(aten.eq(classes, aten.unsqueeze.default(place, -1)), aten.unsqueeze.default(valid, -1))
    return rounded(aten.where(chosen, aten.unsqueeze.default(scaled, -1), 0.0), self._dtype)


def _no_weight_gradient(grad: Tensor) -> Tensor:
    raise AutogradError(
        "nll_loss: the class weights have no gradient",
        hint="detach() them, or write the loss with gather and log_softmax",
    )


nll_loss_forward.backward(
    differentiable=(0,),
    self=lambda grad, self, target, weight, reduction, ignore_index, result1: ops.aten.nll_loss_backward.default(
        grad, self, target, weight, reduction, ignore_index, result1
    ),
    weight=_no_weight_gradient,
)


@composite(
    "aten::nll_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100)"
    " -> Tensor",
    autocast="fp32",
    outs="out",
)
def nll_loss(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = _MEAN, ignore_index: int = -100
) -> Tensor:
    return ops.aten.nll_loss_forward.default(self, target, weight, reduction, ignore_index)[0]


@composite(
    "aten::nll_loss_nd(Tensor self, Tensor target, Tensor? weight=None, int reduction=1, SymInt ignore_index=-100)"
    " -> Tensor"
)
def nll_loss_nd(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = _MEAN, ignore_index: int = -100
) -> Tensor:
    """`nll_loss` of scores (C), (N, C) or (N, C, ...), and class numbers of the same shape without C."""
    aten = ops.aten
    if self.ndim < 3:
        return aten.nll_loss.default(self, target, weight, reduction, ignore_index)
    sizes = [self._sizes[0], *self._sizes[2:]]
    if list(target._sizes) != sizes:
        raise ShapeError("nll_loss: the target needs the input's shape without classes", got=describe([self, target]))
    rows = aten.reshape.default(aten.movedim.int(self, 1, -1), [-1, self._sizes[1]])
    loss = aten.nll_loss.default(rows, aten.reshape.default(target, [-1]), weight, reduction, ignore_index)
    return aten.view.default(loss, sizes) if reduction == _NONE else loss


@composite(
    "aten::cross_entropy_loss(Tensor self, Tensor target, Tensor? weight=None, int reduction=1,"
    " SymInt ignore_index=-100, float label_smoothing=0.) -> Tensor",
    autocast={"cpu": "fp32"},
)
def cross_entropy_loss(
    self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = _MEAN, ignore_index: int = -100,
    label_smoothing: float = 0.0,
) -> Tensor:  # fmt: skip
    """-log(softmax(x)) at the class numbers, or weighted by the probabilities of the classes."""
    aten = ops.aten
    if not self.ndim:
        raise ShapeError("cross_entropy_loss: expected scores (C), (N, C) or (N, C, ...)", got=describe(self))
    if not 0 <= label_smoothing <= 1:
        raise ShapeError("cross_entropy_loss: label_smoothing is from 0 to 1", got=f"label_smoothing={label_smoothing}")
    axis = 0 if self.ndim == 1 else 1
    scores = aten.log_softmax.int(self, axis)
    if target._sizes == self._sizes:
        if target._dtype.kind != "f":
            raise DTypeError("cross_entropy_loss: probabilities of classes must be floating", got=describe(target))
        if ignore_index >= 0:
            raise ShapeError(
                "cross_entropy_loss: ignore_index is for class numbers", got=f"ignore_index={ignore_index}"
            )
        return _of_probabilities(scores, target, weight, reduction, label_smoothing, axis)
    loss = aten.nll_loss_nd.default(scores, target, weight, reduction, ignore_index)
    if not label_smoothing:
        return loss
    classes = self._sizes[axis]
    spread = _spread_over_classes(scores, target, weight, reduction, ignore_index, axis)
    return aten.add.Tensor(
        aten.mul.Tensor(loss, 1 - label_smoothing), aten.mul.Tensor(spread, label_smoothing / classes)
    )


def _by_class(weight: Tensor, like: Tensor, axis: int) -> Tensor:
    """The weights of classes, of which there must be as many as classes, along their dimension."""
    if weight._sizes != (like._sizes[axis],):
        raise ShapeError("cross_entropy_loss: needs a weight for each class", got=describe([like, weight]))
    return ops.aten.view.default(weight, [like._sizes[axis] if d == axis else 1 for d in range(like.ndim)])


def _of_probabilities(
    scores: Tensor, target: Tensor, weight: Tensor | None, reduction: int, label_smoothing: float, axis: int
) -> Tensor:
    aten = ops.aten
    classes = scores._sizes[axis]
    if label_smoothing:
        target = aten.add.Scalar(aten.mul.Tensor(target, 1 - label_smoothing), label_smoothing / classes)
    terms = aten.mul.Tensor(scores, target)
    if weight is not None:
        terms = aten.mul.Tensor(terms, _by_class(weight, scores, axis))
    if reduction == _NONE:
        return aten.neg.default(aten.sum.dim_IntList(terms, [axis]))
    total = aten.neg.default(aten.sum.default(terms))
    if reduction == _SUM:
        return total
    count = scores.numel()
    if count == 0:  # a mean of nothing
        return aten.mul.Tensor(total, math.nan)
    return aten.div.Tensor(total, count / classes)


def _spread_over_classes(
    scores: Tensor, target: Tensor, weight: Tensor | None, reduction: int, ignore_index: int, axis: int
) -> Tensor:
    """The part of a smoothed loss that all classes have: the sum of their losses, where the target is not ignored."""
    aten = ops.aten
    weighted = scores if weight is None else aten.mul.Tensor(scores, _by_class(weight, scores, axis))
    loss = aten.neg.default(aten.sum.dim_IntList(weighted, [axis]))
    ignored = aten.eq.Scalar(target, ignore_index)
    loss = aten.masked_fill.Scalar(loss, ignored, 0)
    if reduction == _NONE:
        return loss
    total = aten.sum.default(loss)
    if reduction == _SUM:
        return total
    counts = rounded(aten.logical_not.default(ignored), loss._dtype)
    if weight is not None:
        place = rounded(aten.reshape.default(aten.where(ignored, 0, target), [-1]), dtypes.int64)
        counts = aten.mul.Tensor(aten.reshape.default(counts, [-1]), aten.gather.default(weight, 0, place))
    return aten.div.Tensor(total, aten.sum.default(counts))


# ---- samples -------------------------------------------------------------------------------------------------------


for _decl in (nll_loss_forward, nll_loss):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        target = make(4, dtype=dtypes.int64, low=0, high=4)
        for reduction in (0, 1, 2):
            # Log-probabilities: all negative, so that a sum of them does not cancel.
            yield (make(4, 5, low=-3, high=-1), target, None, reduction, -100), {}
            yield (make(4, 5, low=-3, high=-1), target, make(5, low=1, high=2), reduction, 2), {}
        yield (make(5), make(dtype=dtypes.int64, low=0, high=4), None, 1, -100), {}


@nll_loss_backward.with_samples
def _(make: Make) -> Samples:
    target = make(4, dtype=dtypes.int64, low=0, high=4)
    total = make(low=1.0, high=2.0)
    for reduction in (0, 1, 2):
        grad = make(4) if reduction == _NONE else make()
        yield (grad, make(4, 5), target, None, reduction, -100, total), {}
        yield (grad, make(4, 5), target, make(5, low=1, high=2), reduction, 2, total), {}
    yield (make(), make(5), make(dtype=dtypes.int64, low=0, high=4), None, 1, -100, total), {}


@cross_entropy_loss.with_samples
def _(make: Make) -> Samples:
    target = make(4, dtype=dtypes.int64, low=0, high=4)
    yield (make(4, 5), target), {}
    yield (make(4, 5), target, make(5, low=1, high=2), 2, 1), {}
    for weight in (None, make(5, low=1, high=2)):
        for reduction in (0, 1, 2):
            yield (make(4, 5), target, weight, reduction, 1, 0.25), {}
            yield (make(4, 5), make(4, 5, low=0, high=1), weight, reduction, -100, 0.25), {}
            yield (make(2, 5, 3), make(2, 3, dtype=dtypes.int64, low=0, high=4), weight, reduction, 2, 0.25), {}
    yield (make(2, 5, 3), make(2, 3, dtype=dtypes.int64, low=0, high=4)), {}
    yield (make(5), make(5, low=0, high=1)), {}


@nll_loss_nd.with_samples
def _(make: Make) -> Samples:
    target = make(2, 3, 4, dtype=dtypes.int64, low=0, high=4)
    for reduction in (0, 1, 2):
        yield (make(2, 5, 3, 4, low=-3, high=-1), target, make(5, low=1, high=2), reduction, 2), {}
    yield (make(2, 5, 4, low=-3, high=-1), make(2, 4, dtype=dtypes.int64, low=0, high=4)), {}
    yield (make(5, low=-3, high=-1), make(dtype=dtypes.int64, low=0, high=4)), {}


for _decl in (nll_loss_forward, nll_loss, nll_loss_backward, cross_entropy_loss, nll_loss_nd):
    _decl.sample_dtypes = _FLOATING

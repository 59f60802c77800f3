"""Losses of pairs of tensors, written with other ops.

`reduction` is PyTorch's number: 0 leaves the loss of each element, 1 takes the mean, 2 the sum. Half types are computed
in float32 where PyTorch's kernel does that, and rounded once.
"""

from __future__ import annotations

import math
from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.kinds.reduced_rows import reduced
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import result_type
from opweave.registry.rows import are_enough, row_program
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_NONE, _MEAN, _SUM = 0, 1, 2


def _reduced(loss: Tensor, reduction: int) -> Tensor:
    if reduction == _NONE:
        return loss
    return (aten.mean if reduction == _MEAN else aten.sum).default(loss)


def _at_least_zero(x: Tensor) -> Tensor:
    return aten.clamp_min.default(x, 0)


def _kernel(op: str, *tensors: Tensor) -> tuple[Any, list[Tensor]]:
    """(result type, the tensors in the type that is computed in), of an op that PyTorch has a kernel for."""
    dtype = result_type(*tensors)
    if dtype.kind != "f":
        raise DTypeError(f"{op}: defined for floating types only", got=describe(list(tensors)))
    return dtype, [widened(rounded(t, dtype)) for t in tensors]


# ---- differences ---------------------------------------------------------------------------------------------------


@composite("aten::l1_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", autocast="fp32")
def l1_loss(self: Tensor, target: Tensor, reduction: int = _MEAN) -> Tensor:
    """|x - y|."""
    return _reduced(aten.abs.default(aten.sub.Tensor(self, target)), reduction)


@composite(
    "aten::smooth_l1_loss(Tensor self, Tensor target, int reduction=1, float beta=1.) -> Tensor",
    autocast="fp32",
    outs="out",
)
def smooth_l1_loss(self: Tensor, target: Tensor, reduction: int = _MEAN, beta: float = 1.0) -> Tensor:
    """d² / (2 beta) for a difference d below beta, d - beta / 2 beyond (Girshick 2015)."""
    if beta < 0:
        raise ShapeError("smooth_l1_loss: beta must not be negative", got=f"beta={beta}")
    if beta == 0:
        return aten.l1_loss.default(self, target, reduction)
    dtype, (a, b) = _kernel("smooth_l1_loss", self, target)
    size = aten.abs.default(aten.sub.Tensor(a, b))
    square = aten.div.Tensor(aten.mul.Tensor(aten.mul.Tensor(size, 0.5), size), beta)
    loss = aten.where.self(aten.lt.Scalar(size, beta), square, aten.sub.Scalar(size, 0.5 * beta))
    return _rounded_and_reduced(loss, dtype, reduction)


@composite(
    "aten::huber_loss(Tensor self, Tensor target, int reduction=1, float delta=1.) -> Tensor",
    autocast="fp32",
    outs="out",
)
def huber_loss(self: Tensor, target: Tensor, reduction: int = _MEAN, delta: float = 1.0) -> Tensor:
    """d² / 2 for a difference d up to delta, delta (d - delta / 2) beyond (Huber 1964)."""
    if not delta > 0:
        raise ShapeError("huber_loss: delta must be positive", got=f"delta={delta}")
    _, (a, b) = _kernel("huber_loss", self, target)
    size = aten.abs.default(aten.sub.Tensor(a, b))
    square = aten.mul.Tensor(aten.mul.Tensor(size, 0.5), size)
    straight = aten.mul.Tensor(aten.sub.Scalar(size, 0.5 * delta), delta)
    loss = aten.where.self(aten.le.Scalar(size, delta), square, straight)
    return _rounded_and_reduced(loss, self._dtype, reduction)  # of the input's type, whatever the target's is


def _rounded_and_reduced(loss: Tensor, dtype: Any, reduction: int) -> Tensor:
    return _reduced(rounded(loss, dtype), reduction)


@row_program("rows", "rows")
def _squares_of_row(k: Any, x: Any, y: Any) -> list[Any]:
    difference = k.stored(x - y, x)
    return [k.sum(k.stored(difference * difference, x))]


def _mse_loss_of_rows(self: Tensor, target: Tensor, reduction: int = _MEAN) -> Tensor | None:
    if reduction == _NONE or not are_enough(self.numel()) or self._dtype is not target._dtype:
        return None
    count = self.numel() if reduction == _MEAN else 1
    return reduced(
        _squares_of_row, "sum", [self, target], range(self.ndim), False, self._dtype, lambda total: total / count
    )


@composite(
    "aten::mse_loss(Tensor self, Tensor target, int reduction=1) -> Tensor",
    explicit=True,
    of_rows=_mse_loss_of_rows,
    autocast="fp32",
    outs="out",
)
def mse_loss(self: Tensor, target: Tensor, reduction: int = _MEAN) -> Tensor:
    # Of a float and a bool too, which have no difference by themselves.
    common = result_type(self, target)
    difference = ops.aten.sub.Tensor(rounded(self, common), rounded(target, common))
    return _reduced(ops.aten.mul.Tensor(difference, difference), reduction)


# ---- probabilities -------------------------------------------------------------------------------------------------


@composite(
    "aten::binary_cross_entropy(Tensor self, Tensor target, Tensor? weight=None, int reduction=1) -> Tensor",
    explicit=True,
    autocast={"cpu": "fp32", "cuda": "banned"},
    outs="out",
)
def binary_cross_entropy(self: Tensor, target: Tensor, weight: Tensor | None = None, reduction: int = _MEAN) -> Tensor:
    """-(t log(x) + (1 - t) log(1 - x)), with logarithms of -100 or more; NaN where x is no probability."""
    if self._sizes != target._sizes:
        raise ShapeError("binary_cross_entropy: the target needs the input's shape", got=describe([self, target]))
    if self._dtype is not target._dtype:
        raise DTypeError(
            "binary_cross_entropy: the target needs the input's dtype", got=describe([self, target]),
            hint="target.to(input.dtype)",
        )  # fmt: skip
    dtype, (x, t) = _kernel("binary_cross_entropy", self, target)
    log, other = (
        aten.clamp_min.default(f, -100) for f in (aten.log.default(x), aten.log1p.default(aten.neg.default(x)))
    )
    loss = aten.sub.Tensor(aten.mul.Tensor(aten.sub.Scalar(t, 1), other), aten.mul.Tensor(t, log))
    loss = rounded(loss, dtype)
    return _reduced(loss if weight is None else rounded(aten.mul.Tensor(loss, weight), dtype), reduction)


@binary_cross_entropy.backward
def _binary_cross_entropy_backward(
    grad: Tensor, self: Tensor, target: Tensor, weight: Tensor | None, reduction: int
) -> tuple[Any, ...]:
    # Not through the logarithms: where they are cut off, the slope is large rather than 0 times infinity.
    dtype, (x, t, g) = _kernel("binary_cross_entropy", self, target, grad)
    spread = aten.clamp_min.default(aten.mul.Tensor(aten.rsub.Scalar(x, 1), x), 1e-12)
    if weight is not None:
        g = aten.mul.Tensor(g, widened(weight))
    if reduction == _MEAN:
        g = aten.div.Tensor(g, x.numel())
    of_input = aten.mul.Tensor(g, aten.div.Tensor(aten.sub.Tensor(x, t), spread))
    log, other = aten.log.default(x), aten.log.default(aten.rsub.Scalar(x, 1))
    of_target = aten.mul.Tensor(g, aten.sub.Tensor(other, log))
    return rounded(of_input, dtype), rounded(of_target, dtype), None


@composite(
    "aten::binary_cross_entropy_with_logits(Tensor self, Tensor target, Tensor? weight=None,"
    " Tensor? pos_weight=None, int reduction=1) -> Tensor",
    autocast="fp32",
    outs="out",
)
def binary_cross_entropy_with_logits(
    self: Tensor, target: Tensor, weight: Tensor | None = None, pos_weight: Tensor | None = None,
    reduction: int = _MEAN,
) -> Tensor:  # fmt: skip
    """`binary_cross_entropy` of sigmoid(x), without overflow; `pos_weight` counts targets of 1 so often."""
    if target._dtype.kind != "f":
        raise DTypeError(
            "binary_cross_entropy_with_logits: the loss has the target's dtype, which must be a floating one",
            got=describe([self, target]), hint="target.to(input.dtype)",
        )  # fmt: skip
    log = aten.log_sigmoid.default(self)
    if pos_weight is not None:
        log = aten.mul.Tensor(aten.add.Tensor(aten.mul.Tensor(aten.sub.Tensor(pos_weight, 1), target), 1), log)
    loss = aten.sub.Tensor(aten.mul.Tensor(aten.rsub.Scalar(target, 1), self), log)
    loss = loss if weight is None else aten.mul.Tensor(loss, weight)
    return _rounded_and_reduced(loss, target._dtype, reduction)


@composite(
    "aten::kl_div(Tensor self, Tensor target, int reduction=1, *, bool log_target=False) -> Tensor", autocast="fp32"
)
def kl_div(self: Tensor, target: Tensor, reduction: int = _MEAN, *, log_target: bool = False) -> Tensor:
    """t (log(t) - x), of log-probabilities x; of t = 0 it is 0."""
    if not (self._dtype.kind == "f" and target._dtype.kind == "f"):
        raise DTypeError("kl_div: defined for floating types only", got=describe([self, target]), hint="target.float()")
    if log_target:
        loss = aten.mul.Tensor(aten.exp.default(target), aten.sub.Tensor(target, self))
    else:
        loss = aten.sub.Tensor(aten.xlogy.Tensor(target, target), aten.mul.Tensor(target, self))
    return _reduced(loss, reduction)


@composite(
    "aten::poisson_nll_loss(Tensor input, Tensor target, bool log_input, bool full, float eps, int reduction)"
    " -> Tensor",
    autocast="fp32",
)
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool, full: bool, eps: float, reduction: int) -> Tensor:
    """exp(x) - t x (or x - t log(x + eps)); `full` adds Stirling's approximation of log(t!) where t exceeds 1."""
    if log_input:
        loss = aten.sub.Tensor(aten.exp.default(input), aten.mul.Tensor(target, input))
    else:
        loss = aten.sub.Tensor(input, aten.mul.Tensor(target, aten.log.default(aten.add.Scalar(input, eps))))
    if full:
        half = aten.mul.Tensor(aten.log.default(aten.mul.Tensor(target, 2 * math.pi)), 0.5)
        stirling = aten.add.Tensor(aten.sub.Tensor(aten.mul.Tensor(target, aten.log.default(target)), target), half)
        loss = aten.add.Tensor(loss, aten.masked_fill.Scalar(stirling, aten.le.Scalar(target, 1), 0))
    return _reduced(loss, reduction)


@composite("aten::soft_margin_loss(Tensor self, Tensor target, int reduction=1) -> Tensor", autocast="fp32", outs="out")
def soft_margin_loss(self: Tensor, target: Tensor, reduction: int = _MEAN) -> Tensor:
    """log(1 + exp(-t x))."""
    power = aten.exp.default(aten.mul.Tensor(aten.neg.default(self), target))
    return _rounded_and_reduced(aten.log.default(aten.add.Scalar(power, 1)), self._dtype, reduction)


# ---- margins -------------------------------------------------------------------------------------------------------


@composite(
    "aten::hinge_embedding_loss(Tensor self, Tensor target, float margin=1., int reduction=1) -> Tensor",
    autocast="fp32",
)
def hinge_embedding_loss(self: Tensor, target: Tensor, margin: float = 1.0, reduction: int = _MEAN) -> Tensor:
    """x where t is 1, max(0, margin - x) where it is -1, and the sum of both where it is neither."""
    zero = aten.zeros_like.default(self)
    far = aten.where.self(aten.ne.Scalar(target, 1), _at_least_zero(aten.rsub.Scalar(self, margin)), zero)
    near = aten.where.self(aten.ne.Scalar(target, -1), self, zero)
    return _reduced(aten.add.Tensor(far, near), reduction)


@composite(
    "aten::margin_ranking_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1)"
    " -> Tensor",
    autocast="fp32",
)
def margin_ranking_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = _MEAN
) -> Tensor:
    """max(0, -t (x1 - x2) + margin)."""
    if not input1.ndim == input2.ndim == target.ndim:
        raise ShapeError(
            "margin_ranking_loss: expected tensors with as many dimensions", got=describe([input1, input2, target])
        )
    loss = aten.mul.Tensor(aten.neg.default(target), aten.sub.Tensor(input1, input2))
    return _reduced(_at_least_zero(aten.add.Scalar(loss, margin)), reduction)


@composite(
    "aten::triplet_margin_loss(Tensor anchor, Tensor positive, Tensor negative, float margin=1., float p=2.,"
    " float eps=1e-06, bool swap=False, int reduction=1) -> Tensor",
    autocast="fp32",
)
def triplet_margin_loss(
    anchor: Tensor, positive: Tensor, negative: Tensor, margin: float = 1.0, p: float = 2.0, eps: float = 1e-6,
    swap: bool = False, reduction: int = _MEAN,
) -> Tensor:  # fmt: skip
    """max(0, margin + |a - p| - |a - n|), by p-norms; `swap` takes the nearer of a and p to the negative."""
    if not anchor.ndim == positive.ndim == negative.ndim:
        raise ShapeError(
            "triplet_margin_loss: expected tensors with as many dimensions", got=describe([anchor, positive, negative])
        )
    near = aten.pairwise_distance.default(anchor, positive, p, eps)
    far = aten.pairwise_distance.default(anchor, negative, p, eps)
    if swap:
        far = aten.minimum.default(far, aten.pairwise_distance.default(positive, negative, p, eps))
    return _reduced(_at_least_zero(aten.sub.Tensor(aten.add.Scalar(near, margin), far)), reduction)


@composite(
    "aten::cosine_embedding_loss(Tensor input1, Tensor input2, Tensor target, float margin=0., int reduction=1)"
    " -> Tensor",
    autocast="fp32",
)
def cosine_embedding_loss(
    input1: Tensor, input2: Tensor, target: Tensor, margin: float = 0.0, reduction: int = _MEAN
) -> Tensor:
    """1 - cos(x1, x2) where t is 1, max(0, cos(x1, x2) - margin) where it is -1."""
    if target.ndim not in (0, 1) or not target.ndim + 1 == input1.ndim == input2.ndim:
        raise ShapeError(
            "cosine_embedding_loss: expected two vectors and a number, or two matrices and a vector",
            got=describe([input1, input2, target]),
        )
    tiny = 1e-12  # as PyTorch has it: no norm is 0
    dot, *squares = (
        aten.sum.dim_IntList(aten.mul.Tensor(a, b), [target.ndim])
        for a, b in ((input1, input2), (input1, input1), (input2, input2))
    )
    first, second = (aten.add.Scalar(s, tiny) for s in squares)
    cosine = aten.div.Tensor(dot, aten.sqrt.default(aten.mul.Tensor(first, second)))
    zero = aten.zeros_like.default(cosine)
    near = aten.where.self(aten.eq.Scalar(target, 1), aten.rsub.Scalar(cosine, 1), zero)
    far = aten.where.self(aten.eq.Scalar(target, -1), _at_least_zero(aten.sub.Scalar(cosine, margin)), zero)
    return _reduced(aten.add.Tensor(near, far), reduction)


# ---- classes -------------------------------------------------------------------------------------------------------


@composite("aten::one_hot(Tensor self, int num_classes=-1) -> Tensor", tags="dynamic_output_shape")
def one_hot(self: Tensor, num_classes: int = -1) -> Tensor:
    """A new last dimension of zeros with a 1 in the place of each number; -1 takes the largest number's place."""
    if self._dtype is not dtypes.int64:
        raise ShapeError("one_hot: expected int64 numbers of classes", got=describe(self))
    if num_classes == -1:
        if not self.numel():
            raise ShapeError("one_hot: no number tells how many classes there are", hint="give num_classes")
        num_classes = int(aten.max.default(self).item()) + 1
    if num_classes < 1:
        raise ShapeError(f"one_hot: the number of classes must be 1 or more, not {num_classes}")
    zero = aten.zeros.default([*self._sizes, num_classes], dtype=dtypes.int64, device=self._device)
    try:
        return aten.scatter.value(zero, -1, aten.unsqueeze.default(self, -1), 1)
    except OutOfRangeError as error:
        raise ShapeError(
            f"one_hot: a number is no class from 0 to {num_classes - 1}", got=error.got, hint="raise num_classes"
        ) from error


# ---- samples -------------------------------------------------------------------------------------------------------


_PAIRS: tuple[Any, ...] = (
    (l1_loss, [{}]), (smooth_l1_loss, [{}, {"beta": 0.5}, {"beta": 0.0}]), (huber_loss, [{}, {"delta": 0.4}]),
    (soft_margin_loss, [{}]), (kl_div, [{}, {"log_target": True}]), (hinge_embedding_loss, [{}, {"margin": 2.0}]),
    (binary_cross_entropy_with_logits, [{}]),
)  # fmt: skip

for _decl, _options in _PAIRS:

    @_decl.with_samples
    def _(make: Make, options: Any = _options, decl: Any = _decl) -> Samples:
        for given in options:
            for reduction in (_NONE, _MEAN, _SUM):
                yield (make(3, 4), make(3, 4, low=0.25, high=2.0)), {**given, "reduction": reduction}
            if decl not in (smooth_l1_loss, huber_loss):  # of which PyTorch's gradient takes another mean
                yield (make(4, 3), make(1, 3, low=0.25, high=2.0)), given
            yield (make(), make(low=1.0, high=1.0)), given


@binary_cross_entropy.with_samples
def _(make: Make) -> Samples:
    for reduction in (_NONE, _MEAN, _SUM):
        yield (make(3, 4, low=0.05, high=0.95), make(3, 4, low=0.1, high=0.9), None, reduction), {}
        yield (
            (make(3, 4, low=0.05, high=0.95), make(3, 4, low=0.1, high=0.9), make(4, low=0.5, high=2.0), reduction),
            {},
        )


@poisson_nll_loss.with_samples
def _(make: Make) -> Samples:
    for log_input in (False, True):
        for full in (False, True):
            yield (make(3, 4, low=0.5, high=3.0), make(3, 4, low=0.5, high=4.0), log_input, full, 1e-8, _NONE), {}
    yield (make(3, 4, low=0.5, high=3.0), make(3, 4, low=0.5, high=4.0), True, False, 1e-8, _MEAN), {}


def _signs(make: Make, *sizes: int) -> Tensor:
    ones = aten.ones.default(list(sizes), dtype=make()._dtype)
    if ones._dtype.kind in "bu":
        return ones
    return aten.where.self(make(*sizes, dtype=dtypes.bool_), ones, aten.neg.default(ones))


@margin_ranking_loss.with_samples
def _(make: Make) -> Samples:
    for reduction in (_NONE, _MEAN):
        yield (make(4), make(4, low=0.0, high=2.0), _signs(make, 4), 0.5, reduction), {}


@triplet_margin_loss.with_samples
def _(make: Make) -> Samples:
    a, p, n = make(3, 4), make(3, 4, low=0.5, high=2.0), make(3, 4, low=-2.0, high=0.5)
    yield (a, p, n), {}
    yield (a, p, n, 3.0, 1.0, 1e-6, True, _NONE), {}


@cosine_embedding_loss.with_samples
def _(make: Make) -> Samples:
    for reduction in (_NONE, _MEAN):
        yield (make(5, 4), make(5, 4, low=0.5, high=2.0), _signs(make, 5), -0.5, reduction), {}
    yield (make(4), make(4, low=0.5, high=2.0), _signs(make)), {}


@one_hot.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, dtype=dtypes.int64, low=0, high=4), 5), {}
    yield (make(dtype=dtypes.int64, low=0, high=4), 6), {}
    yield (make(0, 2, dtype=dtypes.int64), 3), {}


one_hot.sample_dtypes = (dtypes.float32,)

for _decl in (
    l1_loss,
    smooth_l1_loss,
    huber_loss,
    soft_margin_loss,
    kl_div,
    hinge_embedding_loss,
    binary_cross_entropy_with_logits,
    binary_cross_entropy,
    poisson_nll_loss,
    margin_ranking_loss,
    triplet_margin_loss,
    cosine_embedding_loss,
):
    _decl.sample_dtypes = _FLOATING


@mse_loss.with_samples
def _(make: Make) -> Samples:
    for reduction in (0, 1, 2):
        yield (make(3, 4), make(3, 4), reduction), {}


for _decl in (mse_loss,):
    _decl.sample_dtypes = _FLOATING

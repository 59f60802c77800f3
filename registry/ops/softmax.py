"""Softmax, and what is made with it: cross entropy and attention.

Each op is a composite of traceable ops. Where `explicit=True` an eager call computes in one go instead.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batching import along
from opweave.registry.dtypes import DType
from opweave.registry.errors import AutogradError, DTypeError, OutOfRangeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.spec import contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import is_open, square_root
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_NONE, _MEAN, _SUM = 0, 1, 2


# ---- softmax -------------------------------------------------------------------------------------------------------


def _softmax_types(op: str, self: Tensor, dim: int, half_to_float: bool) -> tuple[int, DType]:
    """(dimension, result type)."""
    if self._dtype.kind != "f":
        raise DTypeError(f"{op}: defined for floating types only", got=describe(self), hint="pass dtype=")
    if half_to_float and self._dtype is not dtypes.float16:
        raise DTypeError(f"{op}: half_to_float is for float16 inputs", got=describe(self))
    return wrap_dim(dim, self.ndim, op), dtypes.float32 if half_to_float else self._dtype


def _shifted(self: Tensor, axis: int) -> Tensor:
    """The row-major input in the compute type, minus its maximum, so that no exponential overflows."""
    wide = widened(ops.aten.contiguous.default(self))
    if self._sizes and is_open(self._sizes[axis] == 0):
        # Nothing has no largest element, so one is put behind it.
        behind = [0, 0] * (len(self._sizes) - 1 - axis) + [0, 1]
        padded = ops.aten.constant_pad_nd.default(wide, behind, -math.inf)
        return ops.aten.sub.Tensor(wide, ops.aten.amax.default(padded, [axis], True))
    return ops.aten.sub.Tensor(wide, ops.aten.amax.default(wide, [axis], True)) if self.numel() else wide


def _softmax_kernel(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    axis, result = _softmax_types("_softmax", self, dim, half_to_float)
    out = allocate_like(contiguous(self._sizes, result, self._device))
    if not self.numel():
        return out
    xp = self._device.xp
    work, total = _exponentials(xp, self, out, axis)
    with np.errstate(all="ignore"):
        xp.divide(work, total, out=work)
        if work is not out._array:
            out._array[...] = work
    return out


def _exponentials(xp: Any, self: Tensor, out: Tensor, axis: int) -> tuple[Any, Any]:
    """(exp(x - max), their sums), the first in the result's memory where it has the compute type."""
    source = self._array
    compute = self._dtype.compute
    if compute is not self._dtype:
        source = source.astype(compute.numpy)
    at = axis if self._sizes else None
    work = out._array if out._dtype is compute else xp.empty(self._sizes, compute.numpy)
    with np.errstate(all="ignore"):
        xp.subtract(source, xp.max(source, axis=at, keepdims=True), out=work)
        xp.exp(work, out=work)
        return work, xp.sum(work, axis=at, keepdims=True)


@composite(
    "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    explicit=True,
    kernel=_softmax_kernel,
    out=True,
)
def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    axis, result = _softmax_types("_softmax", self, dim, half_to_float)
    powers = ops.aten.exp.default(_shifted(self, axis))
    total = ops.aten.sum.dim_IntList(powers, [axis], True)
    return rounded(ops.aten.div.Tensor(powers, total), result)


def _log_softmax_kernel(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    axis, result = _softmax_types("_log_softmax", self, dim, half_to_float)
    out = allocate_like(contiguous(self._sizes, result, self._device))
    if not self.numel():
        return out
    xp = self._device.xp
    source = self._array
    if self._dtype.compute is not self._dtype:
        source = source.astype(self._dtype.compute.numpy)
    at = axis if self._sizes else None
    with np.errstate(all="ignore"):
        shifted = xp.subtract(source, xp.max(source, axis=at, keepdims=True))
        total = xp.sum(xp.exp(shifted), axis=at, keepdims=True)
        out._array[...] = xp.subtract(shifted, xp.log(total))
    return out


@composite(
    "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    explicit=True,
    kernel=_log_softmax_kernel,
    out=True,
)
def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    axis, result = _softmax_types("_log_softmax", self, dim, half_to_float)
    shifted = _shifted(self, axis)
    total = ops.aten.sum.dim_IntList(ops.aten.exp.default(shifted), [axis], True)
    return rounded(ops.aten.sub.Tensor(shifted, ops.aten.log.default(total)), result)


def _with_dtype(op: Any, self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    return op(self if dtype is None else rounded(self, dtype), dim, False)


def _wide_pair(op: str, grad_output: Tensor, output: Tensor, dim: int) -> tuple[Tensor, Tensor, int]:
    """(gradient, forward's result, dimension), row-major and in the compute type."""
    if grad_output._sizes != output._sizes:
        raise ShapeError(f"{op}: the gradient and the result must have one shape", got=describe([grad_output, output]))
    grad, result = (widened(ops.aten.contiguous.default(t)) for t in (grad_output, output))
    return grad, result, wrap_dim(dim, output.ndim, op)


@composite(
    "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    explicit=True,
    outs=("out", "grad_input"),
)
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """The gradient of `_softmax` from its result: `output * (grad - sum(grad * output))`."""
    aten = ops.aten
    grad, powers, axis = _wide_pair("_softmax_backward_data", grad_output, output, dim)
    weighted = aten.mul.Tensor(grad, powers)
    total = aten.sum.dim_IntList(weighted, [axis], True)
    return rounded(aten.sub.Tensor(weighted, aten.mul.Tensor(powers, total)), input_dtype)


@composite(
    "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    explicit=True,
    outs="out",
)
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """The gradient of `_log_softmax` from its result: `grad - exp(output) * sum(grad)`."""
    aten = ops.aten
    grad, logs, axis = _wide_pair("_log_softmax_backward_data", grad_output, output, dim)
    total = aten.sum.dim_IntList(grad, [axis], True)
    return rounded(aten.sub.Tensor(grad, aten.mul.Tensor(aten.exp.default(logs), total)), input_dtype)


_softmax.backward(
    self=lambda grad, result, dim, self_spec: ops.aten._softmax_backward_data.default(
        grad, result, dim, self_spec.dtype
    )
)

_log_softmax.backward(
    self=lambda grad, result, dim, self_spec: ops.aten._log_softmax_backward_data.default(
        grad, result, dim, self_spec.dtype
    )
)


@composite(
    "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    autocast={"cuda": "fp32_set_opt_dtype"},
    outs="int_out",
)
def softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    return _with_dtype(ops.aten._softmax.default, self, dim, dtype)


@composite(
    "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    autocast={"cuda": "fp32_set_opt_dtype"},
    outs="int_out",
)
def log_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    return _with_dtype(ops.aten._log_softmax.default, self, dim, dtype)


for _decl in (_softmax, _log_softmax):
    _decl.batching(along("self"))

for _decl in (_softmax_backward_data, _log_softmax_backward_data):
    _decl.batching(along("grad_output", "output"))


# ---- losses --------------------------------------------------------------------------------------------------------


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
    valid = aten.ne(target, ignore_index)
    place = rounded(aten.where(valid, target, 0), dtypes.int64)
    if weight is not None:
        counts = aten.gather.default(widened(weight), 0, aten.view.default(place, [-1]))
        counts = aten.view.default(counts, list(target._sizes))
    else:
        counts = rounded(valid, self._dtype.compute)
    return valid, place, aten.where(valid, counts, 0.0)


@composite(
    "aten::nll_loss_forward(Tensor self, Tensor target, Tensor? weight, int reduction, SymInt ignore_index)"
    " -> (Tensor output, Tensor total_weight)",
    explicit=True,
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


# ---- attention -----------------------------------------------------------------------------------------------------


@composite(
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None,"
    " float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    tags="nondeterministic_seeded",
    autocast="lower_precision_fp",
)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """`softmax(query @ key.T * scale + mask) @ value`; a row that the mask leaves empty gives zeros."""
    aten = ops.aten
    if is_causal and attn_mask is not None:
        raise ShapeError(
            "scaled_dot_product_attention: is_causal is a mask; there can be no other", got=describe(attn_mask),
            hint="put both into attn_mask",
        )  # fmt: skip
    if min(query.ndim, key.ndim, value.ndim) < 2 or not query._dtype is key._dtype is value._dtype:
        raise ShapeError(
            "scaled_dot_product_attention: expected (..., length, width) tensors of one dtype",
            got=describe([query, key, value]),
        )
    if enable_gqa:
        key, value = (_repeated_heads(query, t) for t in (key, value))
    factor = 1 / square_root(max(query._sizes[-1], 1)) if scale is None else scale
    wide_key = aten.transpose.int(widened(key), -2, -1)
    scores = aten.matmul.default(aten.mul.Tensor(widened(query), factor), wide_key)
    if is_causal:
        rows, columns = scores._sizes[-2:]
        steps = {"dtype": dtypes.int64, "device": query._device}
        row = aten.unsqueeze.default(aten.arange.default(rows, **steps), 1)
        attn_mask = aten.ge(row, aten.arange.default(columns, **steps))
    if attn_mask is not None and attn_mask._dtype is dtypes.bool_:
        scores = aten.where(attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = aten.add.Tensor(scores, widened(attn_mask))
    if attn_mask is None or type(key._sizes[-2]) is int and not key._sizes[-2]:
        weights = aten._softmax.default(scores, -1, False)
    else:
        # Rows that are hidden entirely are kept from the softmax too: its NaN there would be that of their gradient.
        hidden = aten.eq(aten.amax.default(scores, [-1], True), -math.inf)
        weights = aten._softmax.default(aten.where(hidden, 0.0, scores), -1, False)
        weights = aten.where(hidden, 0.0, weights)
    weights = aten.dropout.default(weights, dropout_p, True)
    return rounded(aten.matmul.default(weights, widened(value)), query._dtype)


def _repeated_heads(query: Tensor, t: Tensor) -> Tensor:
    """Each head of the keys or values as often as the query has heads for it."""
    if min(query.ndim, t.ndim) < 3 or not t._sizes[-3] or query._sizes[-3] % t._sizes[-3]:
        raise ShapeError(
            "scaled_dot_product_attention: the query's heads must be a multiple of the keys' and the values'",
            got=describe([query, t]),
        )
    times = query._sizes[-3] // t._sizes[-3]
    if times == 1:
        return t
    sizes = [*t._sizes[:-2], times, *t._sizes[-2:]]
    wide = ops.aten.expand.default(ops.aten.unsqueeze.default(t, -3), sizes)
    return ops.aten.reshape.default(wide, [*t._sizes[:-3], t._sizes[-3] * times, *t._sizes[-2:]])


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, -1)


for _decl in (_softmax, _log_softmax):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        for x in (make(3, 4, 5), _turned(make(3, 4, 5)), ops.aten.expand.default(make(1, 5), [3, 5]), make(1, 700)):
            yield (x, -1, False), {}
            yield (x, 0, False), {}
        yield (make(), 0, False), {}
        yield (make(0, 3), 1, False), {}
        yield (make(3, 0), 1, False), {}


for _decl in (softmax, log_softmax):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield (make(3, 5), 1), {}
        yield (make(3, 5), 0, dtypes.float64), {}


for _decl in (_softmax_backward_data, _log_softmax_backward_data):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        for dim in (-1, 0):
            grad = make(3, 4, 5)
            output = make(3, 4, 5, low=0.0, high=1.0)
            yield (grad, output, dim, grad._dtype), {}
            yield (_turned(grad), _turned(output), dim, grad._dtype), {}
        yield (make(), make(), 0, grad._dtype), {}
        yield (make(0, 3), make(0, 3), 1, grad._dtype), {}


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


@scaled_dot_product_attention.with_samples
def _(make: Make) -> Samples:
    q, kv = make(2, 3, 4, 8), make(2, 3, 6, 8)
    yield (q, kv, kv), {}
    yield (q, kv, kv, None, 0.0, True), {}
    yield (q, kv, kv, make(4, 6)), {}
    yield (q, kv, kv, make(4, 6, dtype=dtypes.bool_)), {"scale": 0.5}
    yield (make(2, 6, 4, 8), kv, kv, None, 0.0, True), {"enable_gqa": True}


for _decl in (
    _softmax,
    _log_softmax,
    softmax,
    log_softmax,
    _softmax_backward_data,
    _log_softmax_backward_data,
    nll_loss_forward,
    nll_loss,
    nll_loss_backward,
    cross_entropy_loss,
    nll_loss_nd,
    scaled_dot_product_attention,
):
    _decl.sample_dtypes = _FLOATING

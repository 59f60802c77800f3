"""Connectionist temporal classification: the likelihood of labels whose places in a sequence are not known.

The recursions over time go through all sequences and all places of labels at once (Graves et al. 2006), in float64.
Between the labels, before and behind them stand blanks, so that `n` labels have `2 n + 1` places.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import DTypeError, OutOfRangeError, ShapeError
from opweave.registry.fake_context import dynamic_size
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten
_NONE, _MEAN, _SUM = 0, 1, 2
_PLACES = (dtypes.int64, dtypes.int32)


def _check(log_probs: Tensor, targets: Tensor, blank: int) -> None:
    got = describe([log_probs, targets])
    if log_probs.ndim != 3 or targets.ndim not in (1, 2):
        raise ShapeError(
            "ctc_loss: expected log-probabilities (time, batch, classes), and targets (batch, length) or in a row",
            got=got,
        )
    if log_probs._dtype not in (dtypes.float32, dtypes.float64) or targets._dtype not in _PLACES:
        raise DTypeError("ctc_loss: expected float32 or float64, and int32 or int64 targets", got=got)
    if not 0 <= blank < log_probs._sizes[2]:
        raise ShapeError("ctc_loss: the blank is no class", got=f"blank={blank} of {log_probs._sizes[2]} classes")
    if targets.ndim == 2 and targets._sizes[0] != log_probs._sizes[1]:
        raise ShapeError("ctc_loss: needs targets for each sequence", got=got)


def _specs_of(log_probs: Tensor, places: Any) -> tuple[TensorSpec, TensorSpec]:
    time, batch, _ = log_probs._sizes
    dtype, device = log_probs._dtype, log_probs._device
    return contiguous((batch,), dtype, device), contiguous((batch, time, places), dtype, device)


def _specs(
    log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    _check(log_probs, targets, blank)
    if not len(input_lengths) == len(target_lengths) == log_probs._sizes[1]:
        raise ShapeError(
            "ctc_loss: needs two lengths for each sequence",
            got=f"{describe(log_probs)}, {len(input_lengths)} and {len(target_lengths)} lengths",
        )
    return _specs_of(log_probs, 2 * max(target_lengths, default=0) + 1)


def _tensor_specs(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    zero_infinity: bool = False, longest: int | None = None,
) -> tuple[TensorSpec, ...]:  # fmt: skip
    _check(log_probs, targets, blank)
    lengths = [input_lengths, target_lengths]
    if any(t._dtype not in _PLACES for t in lengths):
        raise DTypeError("ctc_loss: lengths must be int32 or int64", got=describe(lengths))
    if any(t._sizes != (log_probs._sizes[1],) for t in lengths):
        raise ShapeError("ctc_loss: needs two lengths for each sequence", got=describe([log_probs, *lengths]))
    room: Any = longest
    if targets.ndim == 2:
        room = targets._sizes[1]
    elif longest is None:
        room = dynamic_size("ctc_loss", target_lengths, 0, None)
    return _specs_of(log_probs, 2 * room + 1)


@dataclass(frozen=True)
class _Problem:
    """Sequences and labels as arrays: `log_p` of (time, batch, places), `labels` of (batch, places)."""

    xp: Any
    log_p: Any
    labels: Any
    times: Any
    ends: Any

    @property
    def skips(self) -> Any:
        """Whether a place can follow the one before the last, without a blank between."""
        return self.labels[:, 2:] != self.labels[:, :-2]

    @property
    def inside(self) -> Any:
        """The places up to the blank behind the last label."""
        return self.xp.arange(self.labels.shape[1]) <= self.ends[:, None]


def _problem(log_probs: Tensor, targets: Tensor, times: Any, lengths: Any, blank: int, places: int) -> _Problem:
    xp = log_probs._device.xp
    times, lengths = (xp.asarray(n, dtype=np.int64) for n in (times, lengths))
    time, batch, classes = log_probs._sizes
    if batch and (int(times.min()) < 0 or int(times.max()) > time):
        raise ShapeError(f"ctc_loss: input lengths are from 0 to {time}", got=f"{times.tolist()[:8]}")
    room = targets._sizes[-1]
    total = int(lengths.sum())
    if batch and int(lengths.min()) < 0:
        raise ShapeError("ctc_loss: target lengths must not be negative", got=f"{lengths.tolist()[:8]}")
    if targets.ndim == 1 and total != room:
        raise ShapeError(f"ctc_loss: the lengths of targets in a row add up to {room}", got=f"they add up to {total}")
    if targets.ndim == 2 and batch and int(lengths.max()) > room:
        raise ShapeError(f"ctc_loss: a target is longer than {room}", got=f"{lengths.tolist()[:8]}")
    labels = xp.full((batch, places), blank, np.int64)
    count = places // 2
    used = xp.arange(count) < lengths[:, None]
    if count:
        if targets.ndim == 2:
            wide = xp.zeros((batch, count), np.int64)
            wide[:, : min(count, room)] = targets._array[:, :count]
        else:
            wide = xp.zeros((batch, count), np.int64)
            wide[used] = targets._array
        chosen = wide[used]
        if chosen.size and (int(chosen.min()) < 0 or int(chosen.max()) >= classes):
            raise OutOfRangeError(f"ctc_loss: a target is no class of {classes}", got=f"{wide.tolist()[:4]}")
        labels[:, 1::2] = xp.where(used, wide, blank)
    log_p = xp.take_along_axis(log_probs._array.astype(np.float64), labels[None], axis=2)
    return _Problem(xp, log_p, labels, times, 2 * lengths)


def _sum_of(xp: Any, terms: Sequence[Any]) -> Any:
    """log Σ exp, -inf of nothing."""
    largest = terms[0]
    for t in terms[1:]:
        largest = xp.maximum(largest, t)
    base = xp.where(xp.isneginf(largest), 0.0, largest)
    total = xp.exp(terms[0] - base)
    for t in terms[1:]:
        total = total + xp.exp(t - base)
    return xp.log(total) + base


def _shifted(xp: Any, row: Any, by: int, allowed: Any = None) -> Any:
    """A row of (batch, places) with what stands `by` places before, -inf where there is none."""
    moved = xp.full(row.shape, -np.inf)
    to, source = (slice(by, None), slice(None, -by)) if by > 0 else (slice(None, by), slice(-by, None))
    moved[:, to] = row[:, source]
    if allowed is not None:
        moved[:, to] = xp.where(allowed, moved[:, to], -np.inf)
    return moved


def _forward(p: _Problem) -> Any:
    """Log-probabilities (time, batch, places) of all paths to a place."""
    xp = p.xp
    found = xp.full(p.log_p.shape, -np.inf)
    for t in range(len(found)):
        if not t:
            row = xp.full(p.labels.shape, -np.inf)
            row[:, :2] = 0.0
        else:
            last = found[t - 1]
            row = _sum_of(xp, [last, _shifted(xp, last, 1), _shifted(xp, last, 2, p.skips)])
        found[t] = xp.where(p.inside, row + p.log_p[t], -np.inf)
    return found


def _backward(p: _Problem) -> Any:
    """Log-probabilities (time, batch, places) of all paths from a place to the end."""
    xp = p.xp
    found = xp.full(p.log_p.shape, -np.inf)
    places = xp.arange(p.labels.shape[1])
    last_two = p.inside & (places >= p.ends[:, None] - 1)
    for t in reversed(range(len(found))):
        row = xp.full(p.labels.shape, -np.inf)
        if t + 1 < len(found):
            after = found[t + 1]
            row = _sum_of(xp, [after, _shifted(xp, after, -1), _shifted(xp, after, -2, p.skips)])
        row = xp.where((p.times == t + 1)[:, None], xp.where(last_two, 0.0, -np.inf), row)
        found[t] = xp.where(p.inside & (t < p.times)[:, None], row + p.log_p[t], -np.inf)
    return found


def _computed(
    log_probs: Tensor, targets: Tensor, times: Any, lengths: Any, blank: int, specs: Sequence[TensorSpec]
) -> tuple[Tensor, Tensor]:
    loss, alphas = (allocate_like(spec) for spec in specs)
    with np.errstate(all="ignore"):
        p = _problem(log_probs, targets, times, lengths, blank, specs[1].sizes[2])
        xp = p.xp
        found = _forward(p)
        rows = xp.arange(len(p.times))
        if len(found):
            final = found[xp.maximum(p.times - 1, 0), rows]
            ends = [final[rows, p.ends], xp.where(p.ends > 0, final[rows, xp.maximum(p.ends - 1, 0)], -np.inf)]
            value = -_sum_of(xp, ends)
        else:
            value = xp.full(p.times.shape, np.inf)
        # No time has room for no labels alone.
        loss._array[...] = xp.where(p.times == 0, xp.where(p.ends == 0, 0.0, np.inf), value)
        alphas._array[...] = xp.moveaxis(found, 0, 1)
    return loss, alphas


def _gradient(
    grad: Tensor, log_probs: Tensor, targets: Tensor, times: Any, lengths: Any, loss: Tensor, log_alpha: Tensor,
    blank: int, zero_infinity: bool,
) -> Tensor:  # fmt: skip
    out = allocate_like(contiguous(log_probs._sizes, log_probs._dtype, log_probs._device))
    with np.errstate(all="ignore"):
        p = _problem(log_probs, targets, times, lengths, blank, log_alpha._sizes[2])
        xp = p.xp
        time, batch, classes = log_probs._sizes
        nll = loss._array.astype(np.float64)[:, None]
        both = xp.moveaxis(log_alpha._array.astype(np.float64), 1, 0) + _backward(p)
        # The share of all paths that a place has at a time.
        share = xp.where(xp.isneginf(both), 0.0, xp.exp(both - p.log_p + nll))
        cells = xp.arange(time * batch).reshape(time, batch, 1) * classes + p.labels
        count = xp.bincount(cells.reshape(-1), weights=share.reshape(-1), minlength=time * batch * classes)
        logs = log_probs._array.astype(np.float64)
        found = xp.exp(logs) - count.reshape(time, batch, classes)
        # As the quotients of PyTorch's formula are.
        found = xp.where(xp.isneginf(logs) | xp.isinf(nll)[None], np.nan, found)
        found = found * grad._array.astype(np.float64)[None, :, None]
        if zero_infinity:
            found = xp.where(xp.isinf(nll)[None], 0.0, found)
        live = xp.arange(time)[:, None, None] < p.times[None, :, None]
        out._array[...] = xp.where(live, found, 0.0)
    return out


# ---- the ops -------------------------------------------------------------------------------------------------------


@extern(
    "aten::_ctc_loss(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0,"
    " bool zero_infinity=False) -> (Tensor, Tensor)",
    spec=_specs,
    tags="dynamic_output_shape",
)
def _ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """(the negative log-likelihood of each sequence's targets, log-probabilities of the paths to each place)."""
    specs = _specs(log_probs, targets, input_lengths, target_lengths, blank)
    return _computed(log_probs, targets, list(input_lengths), list(target_lengths), blank, specs)


@extern(
    "aten::_ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths,"
    " int blank=0, bool zero_infinity=False) -> (Tensor, Tensor)",
    spec=_tensor_specs,
    tags="dynamic_output_shape",
)
def _ctc_loss_tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    zero_infinity: bool = False,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    lengths = target_lengths._array
    longest = int(lengths.max()) if lengths.size else 0
    specs = _tensor_specs(log_probs, targets, input_lengths, target_lengths, blank, longest=longest)
    return _computed(log_probs, targets, input_lengths._array, lengths, blank, specs)


def _like_input(grad: Tensor, log_probs: Tensor, *_: Any) -> TensorSpec:
    return contiguous(log_probs._sizes, log_probs._dtype, log_probs._device)


@extern(
    "aten::_ctc_loss_backward(Tensor grad, Tensor log_probs, Tensor targets, int[] input_lengths,"
    " int[] target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False)"
    " -> Tensor",
    spec=_like_input,
)
def _ctc_loss_backward(
    grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int],
    neg_log_likelihood: Tensor, log_alpha: Tensor, blank: int, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    times, lengths = list(input_lengths), list(target_lengths)
    return _gradient(
        grad, log_probs, targets, times, lengths, neg_log_likelihood, log_alpha, blank, zero_infinity
    )  # fmt: skip


@extern(
    "aten::_ctc_loss_backward.Tensor(Tensor grad, Tensor log_probs, Tensor targets, Tensor input_lengths,"
    " Tensor target_lengths, Tensor neg_log_likelihood, Tensor log_alpha, int blank, bool zero_infinity=False)"
    " -> Tensor",
    spec=_like_input,
)
def _ctc_loss_backward_tensor(
    grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor,
    neg_log_likelihood: Tensor, log_alpha: Tensor, blank: int, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    times, lengths = input_lengths._array, target_lengths._array
    return _gradient(
        grad, log_probs, targets, times, lengths, neg_log_likelihood, log_alpha, blank, zero_infinity
    )  # fmt: skip


def _slope(op: Any) -> Any:
    def of_log_probs(
        grad: Tensor, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int,
        zero_infinity: bool, result0: Tensor, result1: Tensor,
    ) -> Tensor:  # fmt: skip
        rest = result0, result1, blank, zero_infinity
        return op(grad, log_probs, targets, input_lengths, target_lengths, *rest)

    return of_log_probs


_ctc_loss.backward(differentiable=(0,), log_probs=_slope(_ctc_loss_backward.op))
_ctc_loss_tensor.backward(differentiable=(0,), log_probs=_slope(_ctc_loss_backward_tensor.op))


def _loss(
    op: Any, log_probs: Tensor, targets: Tensor, input_lengths: Any, target_lengths: Any, blank: int, reduction: int,
    zero_infinity: bool,
) -> Tensor:  # fmt: skip
    batched = log_probs.ndim == 3
    wide = log_probs if batched else aten.unsqueeze.default(log_probs, 1)
    loss = op(wide, targets, input_lengths, target_lengths, blank, zero_infinity)[0]
    if zero_infinity:
        loss = aten.where(aten.eq.Scalar(loss, float("inf")), 0.0, loss)
    if reduction == _MEAN:
        lengths = target_lengths
        if not isinstance(lengths, Tensor):
            lengths = aten.stack.default(
                [aten.scalar_tensor.default(n, dtype=loss._dtype, device=loss._device) for n in lengths]
            )
        lengths = aten._to_copy.default(aten.clamp_min.default(lengths, 1), dtype=loss._dtype)
        return aten.mean.default(aten.div.Tensor(loss, lengths))
    if reduction == _SUM:
        return aten.sum.default(loss)
    return loss if batched else aten.squeeze.dim(loss, 0)


@composite(
    "aten::ctc_loss.IntList(Tensor log_probs, Tensor targets, int[] input_lengths, int[] target_lengths, int blank=0,"
    " int reduction=1, bool zero_infinity=False) -> Tensor",
    autocast={"cpu": "fp32"},
)
def ctc_loss(
    log_probs: Tensor, targets: Tensor, input_lengths: Sequence[int], target_lengths: Sequence[int], blank: int = 0,
    reduction: int = _MEAN, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    """The negative log-likelihood of targets, by all ways to lay them in time."""
    rest = blank, reduction, zero_infinity
    return _loss(_ctc_loss.op, log_probs, targets, list(input_lengths), list(target_lengths), *rest)


@composite(
    "aten::ctc_loss.Tensor(Tensor log_probs, Tensor targets, Tensor input_lengths, Tensor target_lengths, int blank=0,"
    " int reduction=1, bool zero_infinity=False) -> Tensor",
    autocast={"cpu": "fp32"},
)
def ctc_loss_tensor(
    log_probs: Tensor, targets: Tensor, input_lengths: Tensor, target_lengths: Tensor, blank: int = 0,
    reduction: int = _MEAN, zero_infinity: bool = False,
) -> Tensor:  # fmt: skip
    times, lengths = (t if t.ndim else aten.reshape.default(t, [1]) for t in (input_lengths, target_lengths))
    return _loss(_ctc_loss_tensor.op, log_probs, targets, times, lengths, blank, reduction, zero_infinity)


# ---- samples -------------------------------------------------------------------------------------------------------


@_ctc_loss.with_samples
def _(make: Make) -> Samples:
    # All of one length, since PyTorch leaves the rest of its second result as the memory was.
    targets = make(2, 3, dtype=dtypes.int64, low=1, high=4)
    yield (make(6, 2, 5, low=-4.0, high=-0.5), targets, [6, 6], [3, 3]), {}
    yield (make(6, 2, 5, low=-4.0, high=-0.5), make(4, dtype=dtypes.int64, low=0, high=3), [6, 6], [2, 2], 4), {}


_ctc_loss.sample_dtypes = (dtypes.float32, dtypes.float64)

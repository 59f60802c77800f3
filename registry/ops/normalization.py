"""Group and batch normalisation, written with other ops.

Half types are computed in float32 and rounded once at the end. The native ops stay one node in a trace, except those of
batch normalisation that write running statistics; their bodies are what a compiler fuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError
from opweave.registry.keys import state
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import ops
from opweave.registry.ops.copies import format_of, laid_out, rounded, widened
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.layer_normalization import plus
from opweave.registry.ops.normalized_rows import gradient, moments, normalized, products, scaled
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.rows import are_enough
from opweave.registry.scalar import convert_into
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


# ---- group normalisation -------------------------------------------------------------------------------------------


def _statistics_type(op: str, input: Tensor, *others: Tensor | None) -> DType:
    """The type of the statistics, after checking the types: float32 parameters may go with half inputs."""
    if input._dtype.kind != "f":
        raise DTypeError(f"{op}: defined for floating types only", got=describe(input))
    mixed = False
    for t in others:
        if t is not None and t._dtype is not input._dtype:
            if t._dtype is not dtypes.float32 or input._dtype.compute is not dtypes.float32:
                raise DTypeError(f"{op}: parameters must have the input's type or float32", got=describe([input, t]))
            mixed = True
    return input._dtype.compute if mixed else input._dtype


def _grouped(
    op: str, input: Tensor, weight: Tensor | None, bias: Tensor | None, sizes: tuple[int, int, int], group: int
) -> DType:
    """Check the arguments of a group normalisation; the type of its statistics."""
    n, c, hw = sizes
    if group <= 0 or c % group:
        raise ArgumentError(f"{op}: the {c} channels must be divisible into {group} groups", got=describe(input))
    if input.numel() != n * c * hw:
        raise ShapeError(f"{op}: the input must have N * C * HxW = {n} * {c} * {hw} elements", got=describe(input))
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._sizes != (c,):
            raise ShapeError(f"{op}: {name} must have shape [{c}]", got=describe(t))
    return _statistics_type(op, input, weight, bias)


def _per_channel(parameter: Tensor, sizes: tuple[int, int, int], group: int) -> Tensor:
    """A parameter of the channels, in the shape of (N, group, C / group, HxW)."""
    return ops.aten.view.default(widened(ops.aten.contiguous.default(parameter)), [1, group, sizes[1] // group, 1])


def _is_for_rows(*tensors: Tensor | None) -> bool:
    """Whether tensors, the first of which is what is normalised, are large and row-major."""
    given = [t for t in tensors if t is not None]
    return (
        are_enough(given[0].numel()) and given[0]._dtype.compute is dtypes.float32
        and all(t._device is cpu and t._array.flags.c_contiguous for t in given)
        and format_of(given[0]) is contiguous_format
    )  # fmt: skip


def _array_of(t: Tensor | None, *sizes: int) -> Any:
    return None if t is None else t._array.astype(np.float32).reshape(sizes)


def _stored(value: Any, sizes: Sequence[int], dtype: DType) -> Tensor:
    out = allocate_like(contiguous(tuple(sizes), dtype, cpu))
    with np.errstate(all="ignore"):
        convert_into(out._array, np.asarray(value, np.float32).reshape(out._sizes))
    return out


def _group_norm_of_rows(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor] | None:
    if not _is_for_rows(input, weight, bias):
        return None
    statistics = _grouped("native_group_norm", input, weight, bias, (N, C, HxW), group)
    out = allocate_like(contiguous(input._sizes, input._dtype, cpu))
    x, channels = input._array, C // group
    if weight is None and bias is None:
        mean, rstd = (allocate_like(contiguous((N, group), statistics, cpu)) for _ in range(2))
        outs = [t._array for t in (out, mean, rstd)]
        return (out, mean, rstd) if normalized(x, [None, None], eps, outs, N * group, channels * HxW) else None
    found = moments(x, (N, group), (), channels * HxW)
    if found is None:
        return None
    average, scale = found[0], _scale_of(found[1], eps)
    parameters = [_array_of(t, group, channels) for t in (weight, bias)]
    if not scaled(x, average[..., None], scale[..., None], parameters, out._array, (N, group, channels), HxW):
        return None
    return out, _stored(average, (N, group), statistics), _stored(scale, (N, group), statistics)


def _summed(part: Any) -> Any:
    """What rows of the same channel in all examples came to."""
    with np.errstate(all="ignore"):
        return part.sum(0)


def _scale_of(variance: Any, eps: float) -> Any:
    with np.errstate(all="ignore"):
        return 1 / np.sqrt(variance + eps)


@composite(
    "aten::native_group_norm(Tensor input, Tensor? weight, Tensor? bias, SymInt N, SymInt C, SymInt HxW, int group,"
    " float eps) -> (Tensor, Tensor, Tensor)",
    explicit=True,
    of_rows=_group_norm_of_rows,
    outs=("out", "out0", "out1", "out2"),
)
def native_group_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, N: int, C: int, HxW: int, group: int, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(result, mean, 1 / standard deviation), the last two of shape (N, group)."""
    aten = ops.aten
    statistics = _grouped("native_group_norm", input, weight, bias, (N, C, HxW), group)
    wide = aten.view.default(widened(aten.contiguous.default(input)), [N, group, C // group, HxW])
    mean = aten.mean.dim(wide, [2, 3], True)
    centred = aten.sub.Tensor(wide, mean)
    variance = aten.mean.dim(aten.mul.Tensor(centred, centred), [2, 3], True)
    rstd = aten.rsqrt.default(aten.add.Tensor(variance, eps))
    result = aten.mul.Tensor(centred, rstd)
    if weight is not None:
        result = aten.mul.Tensor(result, _per_channel(weight, (N, C, HxW), group))
    if bias is not None:
        result = aten.add.Tensor(result, _per_channel(bias, (N, C, HxW), group))
    mean, rstd = (rounded(aten.view.default(t, [N, group]), statistics) for t in (mean, rstd))
    result = rounded(aten.view.default(result, list(input._sizes)), input._dtype)
    return laid_out(result, format_of(input)), mean, rstd


def _group_norm_backward_of_rows(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, N: int, C: int, HxW: int,
    group: int, output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None] | None:  # fmt: skip
    if not _is_for_rows(input, grad_out, mean, rstd, weight) or grad_out._sizes != input._sizes:
        return None
    statistics = _grouped("native_group_norm_backward", input, weight, None, (N, C, HxW), group)
    if not mean.numel() == rstd.numel() == N * group:
        return None
    grad, x, sizes = grad_out._array, input._array, (N, group, C // group)
    average, scale = (_array_of(t, N, group, 1) for t in (mean, rstd))
    found = products(grad, x, average, scale, sizes, HxW)
    if found is None:
        return None
    factor = 1.0 if weight is None else _array_of(weight, group, C // group)
    out = None
    if output_mask[0]:
        out = allocate_like(contiguous(input._sizes, input._dtype, cpu))
        with np.errstate(all="ignore"):
            averages = [np.mean(part * factor, 2, keepdims=True) / HxW for part in found]
        if not gradient(grad, x, (average, scale, factor, *averages), out._array, sizes, HxW):
            return None
    parameter = statistics if weight is None else weight._dtype
    of_bias, of_weight = (
        _stored(_summed(part), (C,), parameter) if wanted else None
        for part, wanted in zip(found, (output_mask[2], output_mask[1]), strict=True)
    )
    return out, of_weight, of_bias


@composite(
    "aten::native_group_norm_backward(Tensor grad_out, Tensor input, Tensor mean, Tensor rstd, Tensor? weight,"
    " SymInt N, SymInt C, SymInt HxW, int group, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    explicit=True,
    of_rows=_group_norm_backward_of_rows,
    outs=("out", "out0", "out1", "out2"),
)
def native_group_norm_backward(
    grad_out: Tensor, input: Tensor, mean: Tensor, rstd: Tensor, weight: Tensor | None, N: int, C: int, HxW: int,
    group: int, output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    """The gradients of input, weight and bias; None for what `output_mask` leaves out."""
    aten = ops.aten
    statistics = _grouped("native_group_norm_backward", input, weight, None, (N, C, HxW), group)
    if grad_out._sizes != input._sizes:
        raise ShapeError(
            "native_group_norm_backward: the gradient and the input must have one shape",
            got=describe([grad_out, input]),
        )
    sizes = [N, group, C // group, HxW]
    grad, wide = (aten.view.default(widened(aten.contiguous.default(t)), sizes) for t in (grad_out, input))
    centre, scale = (aten.view.default(widened(aten.contiguous.default(t)), [N, group, 1, 1]) for t in (mean, rstd))
    normal = aten.mul.Tensor(aten.sub.Tensor(wide, centre), scale)
    parameter = statistics if weight is None else weight._dtype
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        inner = grad if weight is None else aten.mul.Tensor(grad, _per_channel(weight, (N, C, HxW), group))
        average = aten.mean.dim(inner, [2, 3], True)
        along = aten.mean.dim(aten.mul.Tensor(inner, normal), [2, 3], True)
        rest = aten.sub.Tensor(aten.sub.Tensor(inner, average), aten.mul.Tensor(normal, along))
        of_input = rounded(aten.view.default(aten.mul.Tensor(rest, scale), list(input._sizes)), input._dtype)
    if output_mask[1]:
        total = aten.sum.dim_IntList(aten.mul.Tensor(grad, normal), [0, 3])
        of_weight = rounded(aten.view.default(total, [C]), parameter)
    if output_mask[2]:
        of_bias = rounded(aten.view.default(aten.sum.dim_IntList(grad, [0, 3]), [C]), parameter)
    return of_input, of_weight, of_bias


@native_group_norm.backward
def _(
    grads: Sequence[Tensor | None], needs: Sequence[bool], input: Tensor, weight: Tensor | None, result1: Tensor,
    result2: Tensor, N: int, C: int, HxW: int, group: int,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    aten = ops.aten
    found: list[Tensor | None] = [None, None, None]
    if grads[0] is not None:
        found = list(
            aten.native_group_norm_backward.default(
                grads[0], input, result1, result2, weight, N, C, HxW, group, list(needs)
            )
        )
    if needs[0] and (grads[1] is not None or grads[2] is not None):
        # Mean and scale are results too: their gradients are those of the second derivative, which goes through them.
        count = C // group * HxW
        at = [N, group, 1, 1]
        part: Tensor | None = None
        if grads[1] is not None:
            even = aten.view.default(aten.div.Tensor(widened(grads[1]), count), at)
            part = aten.expand.default(even, [N, group, C // group, HxW])
        if grads[2] is not None:
            scale = widened(result2)
            cube = aten.mul.Tensor(aten.mul.Tensor(scale, scale), scale)
            factor = aten.view.default(aten.div.Tensor(aten.mul.Tensor(widened(grads[2]), cube), -count), at)
            wide = aten.view.default(widened(aten.contiguous.default(input)), [N, group, C // group, HxW])
            centred = aten.sub.Tensor(wide, aten.view.default(widened(result1), at))
            part = plus(part, aten.mul.Tensor(centred, factor))
        assert part is not None
        found[0] = plus(found[0], aten.reshape.default(part, list(input._sizes)))
    return tuple(found)


@composite(
    "aten::group_norm(Tensor input, int num_groups, Tensor? weight=None, Tensor? bias=None, float eps=1e-05,"
    " bool cudnn_enabled=True) -> Tensor",
    autocast={"cuda": "fp32"},
)
def group_norm(
    input: Tensor, num_groups: int, weight: Tensor | None = None, bias: Tensor | None = None, eps: float = 1e-5,
    cudnn_enabled: bool = True,
) -> Tensor:  # fmt: skip
    if input.ndim < 2:
        raise ShapeError("group_norm: expected at least 2 dimensions, (N, C, ...)", got=describe(input))
    n, c, *rest = input._sizes
    return ops.aten.native_group_norm.default(input, weight, bias, n, c, math.prod(rest), num_groups, eps)[0]


# ---- batch normalisation -------------------------------------------------------------------------------------------


def _batch_types(
    op: str, input: Tensor, weight: Tensor | None, bias: Tensor | None, mean: Tensor | None, variance: Tensor | None
) -> DType:
    """Check the arguments of a batch normalisation; the type of its statistics."""
    if input.ndim < 2:
        raise ShapeError(f"{op}: expected at least 2 dimensions, (N, C, ...)", got=describe(input))
    channels = (input._sizes[1],)
    named = {"weight": weight, "bias": bias, "running_mean": mean, "running_var": variance}
    for name, t in named.items():
        if t is not None and t._sizes != channels:
            raise ShapeError(f"{op}: {name} must have shape {list(channels)}", got=describe(t))
    found = _statistics_type(op, input, *named.values())
    return input._dtype.compute if input._device.memory.precise_statistics else found  # as PyTorch's kernels keep them


def _along(parameter: Tensor, input: Tensor) -> Tensor:
    """A parameter of the channels, in the shape of the input."""
    sizes = [1, input._sizes[1], *(1,) * (input.ndim - 2)]
    return ops.aten.view.default(widened(ops.aten.contiguous.default(parameter)), sizes)


def _dense(input: Tensor) -> Tensor:
    """The input in its memory format, wide enough to compute with."""
    return widened(ops.aten.contiguous.default(input, memory_format=format_of(input)))


def _affine(input: Tensor, normal: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    aten = ops.aten
    if weight is not None:
        normal = aten.mul.Tensor(normal, _along(weight, input))
    if bias is not None:
        normal = aten.add.Tensor(normal, _along(bias, input))
    return laid_out(rounded(normal, input._dtype), format_of(input))


def _batch_statistics(op: str, input: Tensor) -> tuple[Tensor, Tensor, Tensor, int]:
    """(centred input, mean, variance, how many elements a channel has), with all dimensions."""
    aten = ops.aten
    axes = [d for d in range(input.ndim) if d != 1]
    count = math.prod(input._sizes[d] for d in axes)
    wide = _dense(input)
    mean = aten.mean.dim(wide, axes, True)
    centred = aten.sub.Tensor(wide, mean)
    return centred, mean, aten.mean.dim(aten.mul.Tensor(centred, centred), axes, True), count


def _batch_norm_of_rows(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor] | None:
    if input.ndim < 3 or not _is_for_rows(input, weight, bias):
        return None
    statistics = _batch_types("_native_batch_norm_legit", input, weight, bias, None, None)
    n, c, length = input._sizes[0], input._sizes[1], math.prod(input._sizes[2:])
    found = moments(input._array, (n, c), 0, length)
    if found is None:
        return None
    mean, scale = found[0], _scale_of(found[1], eps)
    out = _batch_scaled(input, mean, scale, weight, bias)
    return None if out is None else (out, _stored(mean, (c,), statistics), _stored(scale, (c,), statistics))


def _batch_scaled(input: Tensor, mean: Any, scale: Any, weight: Tensor | None, bias: Tensor | None) -> Tensor | None:
    n, c = input._sizes[:2]
    out = allocate_like(contiguous(input._sizes, input._dtype, cpu))
    parameters = [_array_of(t, c) for t in (weight, bias)]
    done = scaled(input._array, mean, scale, parameters, out._array, (n, c), math.prod(input._sizes[2:]))
    return out if done else None


def _batch_norm_no_training_of_rows(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor] | None:  # fmt: skip
    if input.ndim < 3 or not _is_for_rows(input, weight, bias, running_mean, running_var):
        return None
    statistics = _batch_types("_native_batch_norm_legit_no_training", input, weight, bias, running_mean, running_var)
    mean, variance = (t._array.astype(np.float64) for t in (running_mean, running_var))
    out = _batch_scaled(input, mean, _scale_of(variance, eps), weight, bias)
    nothing = contiguous((0,), statistics, cpu)
    return None if out is None else (out, allocate_like(nothing), allocate_like(nothing))


def _of_population(input: Tensor) -> tuple[Tensor, Tensor, int]:
    """`_batch_statistics` without the input, by rows where nobody is watching."""
    if not state.modes and type(input) is Tensor and input.ndim > 2 and _is_for_rows(input):
        n, c, length = input._sizes[0], input._sizes[1], math.prod(input._sizes[2:])
        known = moments(input._array, (n, c), 0, length)
        if known is not None:
            mean, variance = (_stored(value, (c,), dtypes.float32) for value in known)
            return mean, variance, n * length
    return _batch_statistics("_native_batch_norm_legit", input)[1:]


@composite(
    "aten::_native_batch_norm_legit.no_stats(Tensor input, Tensor? weight, Tensor? bias, bool training, float momentum,"
    " float eps) -> (Tensor, Tensor, Tensor)",
    explicit=True,
    of_rows=_batch_norm_of_rows,
    outs=("no_stats_out", "out", "save_mean", "save_invstd"),
)
def batch_norm_no_stats(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, training: bool, momentum: float, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    """(result, mean, 1 / standard deviation) by the statistics of the batch."""
    aten = ops.aten
    statistics = _batch_types("_native_batch_norm_legit", input, weight, bias, None, None)
    centred, mean, variance, _ = _batch_statistics("_native_batch_norm_legit", input)
    rstd = aten.rsqrt.default(aten.add.Tensor(variance, eps))
    result = _affine(input, aten.mul.Tensor(centred, rstd), weight, bias)
    mean, rstd = (aten.view.default(t, [input._sizes[1]]) for t in (mean, rstd))
    return result, rounded(mean, statistics), rounded(rstd, statistics)


def _batch_norm_backward_of_rows(
    grad_out: Tensor, input: Tensor, weight: Tensor | None, bias_dtype: DType | None, eps: float,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None] | None:  # fmt: skip
    if input.ndim < 3 or grad_out._sizes != input._sizes or not _is_for_rows(input, grad_out, weight):
        return None
    n, c, length = input._sizes[0], input._sizes[1], math.prod(input._sizes[2:])
    grad, x, sizes = grad_out._array, input._array, (n, c)
    known = moments(x, sizes, 0, length)
    if known is None:
        return None
    mean, scale = known[0], _scale_of(known[1], eps)
    found = products(grad, x, mean, scale, sizes, length)
    if found is None:
        return None
    factor = 1.0 if weight is None else _array_of(weight, c)
    out = None
    if output_mask[0]:
        out = allocate_like(contiguous(input._sizes, input._dtype, cpu))
        with np.errstate(all="ignore"):
            averages = [part.mean(0) * factor / length for part in found]
        if not gradient(grad, x, (mean, scale, factor, *averages), out._array, sizes, length):
            return None
    of_weight = of_bias = None
    if output_mask[1] and weight is not None:
        of_weight = _stored(_summed(found[1]), (c,), weight._dtype)
    if output_mask[2] and bias_dtype is not None:
        of_bias = _stored(_summed(found[0]), (c,), bias_dtype)
    return out, of_weight, of_bias


@composite(
    "opweave::batch_norm_backward(Tensor grad_out, Tensor input, Tensor? weight, ScalarType? bias_dtype, float eps,"
    " bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    explicit=True,
    of_rows=_batch_norm_backward_of_rows,
)
def batch_norm_backward(
    grad_out: Tensor, input: Tensor, weight: Tensor | None, bias_dtype: DType | None, eps: float,
    output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    """The gradients of input, weight and bias; None for what `output_mask` leaves out.

    The statistics are computed again, since those that are results are rounded.
    """
    aten = ops.aten
    axes = [d for d in range(input.ndim) if d != 1]
    centred, _, variance, _ = _batch_statistics("batch_norm_backward", input)
    scale = aten.rsqrt.default(aten.add.Tensor(variance, eps))
    grad = widened(aten.contiguous.default(grad_out, memory_format=format_of(input)))
    normal = aten.mul.Tensor(centred, scale)
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        inner = grad if weight is None else aten.mul.Tensor(grad, _along(weight, input))
        average = aten.mean.dim(inner, axes, True)
        along = aten.mean.dim(aten.mul.Tensor(inner, normal), axes, True)
        rest = aten.sub.Tensor(aten.sub.Tensor(inner, average), aten.mul.Tensor(normal, along))
        of_input = laid_out(rounded(aten.mul.Tensor(rest, scale), input._dtype), format_of(input))
    if output_mask[1] and weight is not None:
        of_weight = rounded(aten.sum.dim_IntList(aten.mul.Tensor(grad, normal), axes), weight._dtype)
    if output_mask[2] and bias_dtype is not None:
        of_bias = rounded(aten.sum.dim_IntList(grad, axes), bias_dtype)
    return of_input, of_weight, of_bias


def _batch_norm_gradients(
    grads: Sequence[Tensor | None], needs: Sequence[bool], input: Tensor, weight: Tensor | None,
    bias_spec: TensorSpec | None, eps: float,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    if grads[0] is None:
        return None, None, None
    dtype = None if bias_spec is None else bias_spec.dtype
    return ops.opweave.batch_norm_backward.default(grads[0], input, weight, dtype, eps, list(needs))


batch_norm_no_stats.backward(_batch_norm_gradients, differentiable=(0,))  # the statistics have none, as in PyTorch


@composite(
    "aten::_native_batch_norm_legit_no_training(Tensor input, Tensor? weight, Tensor? bias, Tensor running_mean,"
    " Tensor running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    explicit=True,
    of_rows=_batch_norm_no_training_of_rows,
    outs=("out", "out0", "out1", "out2"),
)
def batch_norm_no_training(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(result by the running statistics, and two tensors without elements)."""
    aten = ops.aten
    statistics = _batch_types("_native_batch_norm_legit_no_training", input, weight, bias, running_mean, running_var)
    centred = aten.sub.Tensor(_dense(input), _along(running_mean, input))
    rstd = aten.rsqrt.default(aten.add.Tensor(_along(running_var, input), eps))
    result = _affine(input, aten.mul.Tensor(centred, rstd), weight, bias)
    nothing = [aten.new_empty.default(input, [0], dtype=statistics) for _ in range(2)]
    return result, nothing[0], nothing[1]


@composite(
    "aten::_native_batch_norm_legit(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean,"
    " Tensor(b!) running_var, bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    outs=("out", "out", "save_mean", "save_invstd"),
)
def native_batch_norm_legit(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(result, mean, 1 / standard deviation); in training the running statistics are brought up to date."""
    aten = ops.aten
    if not training:
        return aten._native_batch_norm_legit_no_training.default(
            input, weight, bias, running_mean, running_var, momentum, eps
        )
    _batch_types("_native_batch_norm_legit", input, weight, bias, running_mean, running_var)
    if not input.numel():
        raise ShapeError("_native_batch_norm_legit: no element has a mean", got=describe(input))
    found = aten._native_batch_norm_legit.no_stats(input, weight, bias, True, momentum, eps)
    mean, variance, count = _of_population(aten.detach.default(input))
    # The running variance is that of the population, estimated without bias.
    unbiased = aten.mul.Tensor(variance, count / max(count - 1, 1))
    for running, new in ((running_mean, mean), (running_var, unbiased)):
        old = aten.mul.Tensor(widened(running), 1 - momentum)
        new = aten.mul.Tensor(aten.view.default(new, [input._sizes[1]]), momentum)
        aten.copy_.default(running, aten.add.Tensor(old, new))
    return found


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, -1)


@native_group_norm.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 6, 5), make(6), make(6), 2, 6, 5, 3, 1e-5), {}
    yield (make(2, 4, 3, 2), None, make(4), 2, 4, 6, 1, 1e-3), {}
    yield (_turned(make(5, 4, 2)), make(4), None, 2, 4, 5, 4, 1e-5), {}
    wide = make(1)._dtype.compute
    yield (make(2, 6, 5), make(6, dtype=wide), make(6, dtype=wide), 2, 6, 5, 3, 1e-5), {}


@native_group_norm_backward.with_samples
def _(make: Make) -> Samples:
    for group in (1, 3):
        statistics = make(2, group, low=-0.5, high=0.5), make(2, group, low=0.5, high=1.5)
        yield (make(2, 6, 5), make(2, 6, 5), *statistics, make(6), 2, 6, 5, group, [True] * 3), {}


@group_norm.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 6, 5), 3, make(6), make(6)), {}
    yield (make(2, 4), 2), {}


@batch_norm_no_stats.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3, 5), make(3), make(3), True, 0.1, 1e-5), {}
    yield (_turned(make(5, 3, 4)), None, make(3), True, 0.1, 1e-3), {}
    yield (make(2, 3, 4, 2), make(3), None, True, 0.1, 1e-5), {}
    yield (make(6, 3), None, None, True, 0.1, 1e-5), {}


@batch_norm_backward.with_samples
def _(make: Make) -> Samples:
    for sizes in ((4, 3, 5), (6, 3)):
        yield (make(*sizes), make(*sizes), make(3), make(1)._dtype, 1e-3, [True] * 3), {}
        yield (make(*sizes), make(*sizes), None, None, 1e-3, [True, False, False]), {}


@batch_norm_no_training.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3, 5), make(3), make(3), make(3), make(3, low=0.5, high=1.5), 0.1, 1e-5), {}
    yield (make(6, 3), None, None, make(3), make(3, low=0.5, high=1.5), 0.1, 1e-5), {}
    yield (make(2, 3, 4, 2), None, make(3), make(3), make(3, low=0.5, high=1.5), 0.1, 1e-5), {}


for _decl in (
    native_group_norm, native_group_norm_backward,
    group_norm, batch_norm_no_stats, batch_norm_backward, batch_norm_no_training,
):  # fmt: skip
    _decl.sample_dtypes = _FLOATING

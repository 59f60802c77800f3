"""Normalisation of the last dimensions: to mean 0 and variance 1, or to a mean square of 1.

Half types are computed in float32 and rounded once at the end. The native ops stay one node in a trace; their bodies
are what a compiler fuses.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, front, is_at, wrap
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import CompositeDecl, composite
from opweave.registry.ops.normalized_rows import DifferentiatedRows, normalized, write_normalized
from opweave.registry.ops.row_pieces import pieces_of_rows
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.rows import are_enough, pay
from opweave.registry.scalar import convert_into, converted
from opweave.registry.spec import contiguous, contiguous_strides
from opweave.registry.tape import NotTaped, Tape, Value
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


# ---- layer normalisation -------------------------------------------------------------------------------------------


def _normalized(
    op: str, input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None,
    kinds: str = "f",
) -> tuple[list[int], DType]:  # fmt: skip
    """(axes, type of the statistics), after checking that the arguments fit."""
    wanted = tuple(normalized_shape)
    if not wanted or input._sizes[-len(wanted) :] != wanted:
        raise ShapeError(
            f"{op}: the input must end in normalized_shape {list(wanted)}", got=describe(input),
            hint="normalized_shape is x.shape[-n:]",
        )  # fmt: skip
    if input._dtype.kind not in kinds:
        raise DTypeError(f"{op}: defined for floating types only", got=describe(input))
    for name, t in (("weight", weight), ("bias", bias)):
        if t is not None and t._sizes != wanted:
            raise ShapeError(f"{op}: {name} must have shape {list(wanted)}", got=describe(t))
        if (
            t is not None
            and t._dtype is not input._dtype
            and (t._dtype is not dtypes.float32 or input._dtype.compute is not dtypes.float32)
        ):
            raise DTypeError(f"{op}: {name} must have the input's type or float32", got=describe(t))
    axes = list(range(input.ndim - len(wanted), input.ndim))
    mixed = any(t is not None and t._dtype is dtypes.float32 for t in (weight, bias))
    # PyTorch: a GPU keeps statistics in the compute type, a CPU only where the affine parameters have it.
    statistics = input._dtype.compute if mixed or input._device.memory.precise_statistics else input._dtype
    return axes, statistics


def _layer_norm_kernel(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    axes, statistics = _normalized("native_layer_norm", input, normalized_shape, weight, bias)
    sizes = input._sizes
    outer, inner = sizes[: axes[0]], tuple(sizes[axes[0] :])
    out = allocate_like(contiguous(sizes, input._dtype, input._device))
    kept = (*outer, *(1,) * len(inner))
    averages, scales = (allocate_like(contiguous(kept, statistics, input._device)) for _ in range(2))
    rows, length = math.prod(outer), math.prod(inner)
    if input._device is cpu and pay(rows * length):
        given = [None if t is None else t._array for t in (weight, bias)]
        outs = [t._array for t in (out, averages, scales)]
        if normalized(input._array, given, eps, outs, rows, length):
            return out, averages, scales
    parameters = [None if t is None else t._array.reshape(1, -1).astype(input._dtype.compute.numpy)
                  for t in (weight, bias)]  # fmt: skip
    source, target = input._array.reshape(rows, length), out._array.reshape(rows, length)
    mean, rstd = averages._array.reshape(rows, 1), scales._array.reshape(rows, 1)
    for part in pieces_of_rows(rows, length) if input._device.is_host else [slice(None)]:
        _normalize_rows(input._device.xp, input._dtype.compute.numpy, source[part], parameters, eps,
                        (target[part], mean[part], rstd[part]))  # fmt: skip
    return out, averages, scales


def _normalize_rows(
    xp: Any, compute: np.dtype[Any], rows: Any, parameters: Sequence[Any], eps: float, outs: tuple[Any, Any, Any]
) -> None:
    """Write rows with mean 0 and variance 1, their means and what they are multiplied by."""
    result, mean, rstd = outs
    count = compute.type(max(rows.shape[1], 1))
    source = rows if rows.dtype == compute else converted(rows, compute)
    with np.errstate(all="ignore"):
        average = xp.add.reduce(source, axis=1, keepdims=True) / count
        work = result if result.dtype == compute else xp.empty(rows.shape, compute)
        xp.subtract(source, average, out=work)
        scale = 1 / xp.sqrt(xp.add.reduce(xp.multiply(work, work), axis=1, keepdims=True) / count + compute.type(eps))
        xp.multiply(work, scale, out=work)
        for function, parameter in zip((xp.multiply, xp.add), parameters, strict=True):
            if parameter is not None:
                function(work, parameter, out=work)
        if work is not result:
            convert_into(result, work)
        mean[...] = average
        rstd[...] = scale


@composite(
    "aten::native_layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight, Tensor? bias, float eps)"
    " -> (Tensor, Tensor, Tensor)",
    explicit=True, kernel=_layer_norm_kernel, autocast={"cuda": "fp32"}, outs=("out", "out0", "out1", "out2")
)  # fmt: skip
def native_layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None, bias: Tensor | None, eps: float
) -> tuple[Tensor, Tensor, Tensor]:
    aten = ops.aten
    axes, statistics = _normalized("native_layer_norm", input, normalized_shape, weight, bias)
    wide = widened(aten.contiguous.default(input))
    mean = aten.mean.dim(wide, axes, True)
    centred = aten.sub.Tensor(wide, mean)
    variance = aten.mean.dim(aten.mul.Tensor(centred, centred), axes, True)
    rstd = aten.rsqrt.default(aten.add.Tensor(variance, eps))
    result = aten.mul.Tensor(centred, rstd)
    if weight is not None:
        result = aten.mul.Tensor(result, widened(weight))
    if bias is not None:
        result = aten.add.Tensor(result, widened(bias))
    return rounded(result, input._dtype), rounded(mean, statistics), rounded(rstd, statistics)


@native_layer_norm.replaying
def _replay_layer_norm(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], results: tuple[Tensor, ...]) -> None:
    """`_normalize_rows` of all rows."""
    input, wanted, weight, bias, eps = native_layer_norm.bind(args, kwargs)
    compute = input._dtype.compute.numpy
    length = math.prod(wanted)
    rows = input.numel() // max(length, 1)
    out, mean, rstd = (tape.made(t) for t in results)
    given = tape.value(input)
    if pay(rows * length):
        parameters = [None if t is None else tape.value(t) for t in (weight, bias)]
        if write_normalized(tape, given, parameters, eps, (out, mean, rstd), rows, length):
            return
    if not input.numel() or given.strides != out.strides:
        raise NotTaped("another layout")
    source = tape.converted(given, compute)
    source = source._replace(sizes=(rows, length), strides=(length, 1))
    work = tape.scratch((rows, length), compute) if out.dtype != compute else out._replace(
        sizes=(rows, length), strides=(length, 1))  # fmt: skip
    square = tape.scratch((rows, length), compute)
    average, scale = (tape.scratch((rows, 1), compute) for _ in range(2))
    one = (rows,)

    def line(value: Value) -> Value:
        return value._replace(sizes=one, strides=(1,))

    count = compute.type(length)
    tape.fold(np.add, source, (1,), line(average), 0)
    tape.map(np.true_divide, [average, count], average)
    tape.map(np.subtract, [source, average], work)
    tape.map(np.multiply, [work, work], square)
    tape.fold(np.add, square, (1,), line(scale), 0)
    tape.map(np.true_divide, [scale, count], scale)
    tape.map(np.add, [scale, compute.type(eps)], scale)
    tape.map(np.sqrt, [scale], scale)
    tape.map(np.true_divide, [compute.type(1), scale], scale)
    tape.map(np.multiply, [work, scale], work)
    for function, parameter in ((np.multiply, weight), (np.add, bias)):
        if parameter is not None:
            factor = tape.converted(tape.value(parameter), compute)
            if factor.strides != contiguous_strides(factor.sizes):
                raise NotTaped("another layout")
            tape.map(function, [work, factor._replace(sizes=(length,), strides=(1,))], work)
    for made, found in ((out, work), (mean, average), (rstd, scale)):
        if made.buffer != found.buffer:
            found = found._replace(sizes=made.sizes, strides=made.strides)
            tape.map("copied" if made.dtype == compute else "cast", [found], made)


def _layer_norm_backward_of_rows(
    grad_out: Tensor, input: Tensor, normalized_shape: Sequence[int], mean: Tensor, rstd: Tensor,
    weight: Tensor | None, bias: Tensor | None, output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None] | None:  # fmt: skip
    given = [grad_out, input, mean, rstd]
    if not are_enough(input.numel()) or not all(t is None or t._device is cpu for t in (*given, weight, bias)):
        return None
    _normalized("native_layer_norm_backward", input, normalized_shape, weight, bias)
    length = math.prod(normalized_shape)
    count = input.numel() // length
    if grad_out._sizes != input._sizes or not mean.numel() == rstd.numel() == count:
        return None
    of_input, of_weight, of_bias = (
        allocate_like(contiguous(t._sizes, t._dtype, cpu)) if t is not None and wanted else None
        for t, wanted in zip((input, weight, bias), output_mask, strict=True)
    )
    mask = (of_input is not None, of_weight is not None, of_bias is not None)
    grad, x, average, scale = (t._array for t in given)
    factor, out = (None if t is None else t._array for t in (weight, of_input))
    sums = DifferentiatedRows(grad, x, average, scale, factor, count, length).run(mask, out)
    if sums is None:
        return None
    for t, total in zip([t for t in (of_weight, of_bias) if t is not None], sums, strict=True):
        convert_into(t._array, total.reshape(t._sizes))
    return of_input, of_weight, of_bias


@composite(
    "aten::native_layer_norm_backward(Tensor grad_out, Tensor input, SymInt[] normalized_shape, Tensor mean,"
    " Tensor rstd, Tensor? weight, Tensor? bias, bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    explicit=True,
    of_rows=_layer_norm_backward_of_rows,
    outs=("out", "out0", "out1", "out2"),
)
def native_layer_norm_backward(
    grad_out: Tensor, input: Tensor, normalized_shape: Sequence[int], mean: Tensor, rstd: Tensor,
    weight: Tensor | None, bias: Tensor | None, output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    """The gradients of input, weight and bias; None for what `output_mask` leaves out, or what was not there."""
    aten = ops.aten
    axes, _ = _normalized("native_layer_norm_backward", input, normalized_shape, weight, bias)
    if grad_out._sizes != input._sizes:
        raise ShapeError(
            "native_layer_norm_backward: the gradient and the input must have one shape",
            got=describe([grad_out, input]),
        )
    outer = list(range(axes[0]))
    grad, scale = widened(aten.contiguous.default(grad_out)), widened(rstd)
    centred = aten.sub.Tensor(widened(aten.contiguous.default(input)), widened(mean))
    of_input = of_weight = of_bias = None
    normal = aten.mul.Tensor(centred, scale) if output_mask[0] or output_mask[1] else centred
    if output_mask[0]:
        inner = grad if weight is None else aten.mul.Tensor(grad, widened(weight))
        average = aten.mean.dim(inner, axes, True)
        along = aten.mean.dim(aten.mul.Tensor(inner, normal), axes, True)
        rest = aten.sub.Tensor(aten.sub.Tensor(inner, average), aten.mul.Tensor(normal, along))
        of_input = rounded(aten.mul.Tensor(rest, scale), input._dtype)
    if output_mask[1] and weight is not None:
        of_weight = rounded(_outer_sum(aten.mul.Tensor(grad, normal), outer), weight._dtype)
    if output_mask[2] and bias is not None:
        of_bias = rounded(_outer_sum(grad, outer), bias._dtype)
    return of_input, of_weight, of_bias


def _outer_sum(x: Tensor, axes: list[int]) -> Tensor:
    # Without dimensions to sum over there is one example; the op would sum over all of them.
    return ops.aten.sum.dim_IntList(x, axes) if axes else x


@native_layer_norm.backward
def _(
    grads: Sequence[Tensor | None], needs: Sequence[bool], input: Tensor, normalized_shape: Sequence[int],
    result1: Tensor, result2: Tensor, weight: Tensor | None, bias: Tensor | None,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    aten = ops.aten
    found: list[Tensor | None] = [None, None, None]
    if grads[0] is not None:
        found = list(
            aten.native_layer_norm_backward.default(
                grads[0], input, normalized_shape, result1, result2, weight, bias, list(needs)
            )
        )
    if needs[0]:
        # Mean and scale are results too: their gradients are those of the second derivative, which goes through them.
        count = math.prod(normalized_shape)
        if grads[1] is not None:
            found[0] = plus(found[0], aten.expand.default(aten.div.Tensor(widened(grads[1]), count), input._sizes))
        if grads[2] is not None:
            scale = widened(result2)
            cube = aten.mul.Tensor(aten.mul.Tensor(scale, scale), scale)
            factor = aten.div.Tensor(aten.mul.Tensor(widened(grads[2]), cube), -count)
            centred = aten.sub.Tensor(widened(input), widened(result1))
            found[0] = plus(found[0], aten.mul.Tensor(centred, factor))
    return tuple(found)


def plus(a: Tensor | None, b: Tensor) -> Tensor:
    """The sum of what may be missing and what is not."""
    return b if a is None else ops.aten.add.Tensor(a, b)


@composite(
    "aten::layer_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, Tensor? bias=None,"
    " float eps=1e-05, bool cudnn_enable=True) -> Tensor",
    autocast={"cuda": "fp32"},
)
def layer_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, bias: Tensor | None = None,
    eps: float = 1e-5, cudnn_enable: bool = True,
) -> Tensor:  # fmt: skip
    return ops.aten.native_layer_norm.default(input, normalized_shape, weight, bias, eps)[0]


@composite(
    "aten::rms_norm(Tensor input, SymInt[] normalized_shape, Tensor? weight=None, float? eps=None) -> Tensor",
    autocast={"cuda": "fp32"},
)
def rms_norm(
    input: Tensor, normalized_shape: Sequence[int], weight: Tensor | None = None, eps: float | None = None
) -> Tensor:
    aten = ops.aten
    axes, _ = _normalized("rms_norm", input, normalized_shape, None, None, "fc")
    if weight is not None and weight._sizes != tuple(normalized_shape):
        raise ShapeError(f"rms_norm: weight must have shape {list(normalized_shape)}", got=describe(weight))
    wide = widened(aten.contiguous.default(input))
    if eps is None:
        # The machine epsilon of the type it is computed in.
        eps = float(np.finfo(wide._dtype.numpy).eps)
    power = aten.mean.dim(aten.mul.Tensor(wide, wide), axes, True)
    result = aten.mul.Tensor(wide, aten.rsqrt.default(aten.add.Tensor(power, eps)))
    if weight is not None:
        result = aten.mul.Tensor(result, widened(weight))
    return rounded(result, input._dtype)


@native_layer_norm.batching
def _layer_norm(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    values = bound(op, args, kwargs)
    t, wanted = values["input"], tuple(values["normalized_shape"])
    late = is_at(values["weight"], level) or is_at(values["bias"], level)
    if late or not wanted or t._sizes[t.ndim - len(wanted) :] != wanted:  # and sizes that do not fit are refused there
        return CompositeDecl.batch(native_layer_norm, level, args, kwargs)
    values["input"] = front(t, level)
    return wrap(call(op, values), level)


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, -1)


for _decl in (native_layer_norm, layer_norm):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield (make(3, 4, 5), [5], make(5), make(5), 1e-5), {}
        yield (make(3, 4, 5), [4, 5], make(4, 5), None, 1e-3), {}
        yield (_turned(make(6, 4)), [6], None, None, 1e-5), {}
        x = make(3, 6)
        wide = x._dtype.compute
        yield (x, [6], make(6, dtype=wide), make(6, dtype=wide), 1e-5), {}
        yield (make(0, 6), [6], make(6), make(6), 1e-5), {}
        yield (make(2, 700), [700], make(700), make(700), 1e-5), {}


@native_layer_norm_backward.with_samples
def _(make: Make) -> Samples:
    for sizes, inner in (((3, 4, 5), 1), ((3, 4, 5), 2), ((4, 5), 2)):
        shape = list(sizes[-inner:])
        kept = (*sizes[:-inner], *(1,) * inner)
        statistics = make(*kept, low=-0.5, high=0.5), make(*kept, low=0.5, high=1.5)
        yield (make(*sizes), make(*sizes), shape, *statistics, make(*shape), make(*shape), [True] * 3), {}


rms_norm.with_samples(lambda make: [((make(3, 4, 5), [5], make(5)), {}), ((_turned(make(6, 4)), [6], None, 1e-5), {})])

for _decl in (native_layer_norm, native_layer_norm_backward, layer_norm, rms_norm):
    _decl.sample_dtypes = _FLOATING

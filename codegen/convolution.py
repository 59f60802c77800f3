"""Convolutions on the CPU as correlations, which native code computes (`codegen/native/correlation.py`).

There are three: a convolution; its adjoint in the input, which is transposed convolution too, as a correlation for each
phase of the stride; and its adjoint in the weight. Each is a few words that say where operands lie, and nothing is
copied first. All results are the same with any number of threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any, NamedTuple

#: What native code does with the words (`correlation.CORRELATE` and so on).
_CORRELATE, _WEIGHT, _DEPTHWISE, _DEPTHWISE_WEIGHT = range(4)
#: The most filters of each channel that are correlated one by one.
_FEW = 4
#: The address of a tensor, its sizes and its strides; whole numbers, or what stands for them.
Operand = tuple[Any, Sequence[Any], Sequence[Any]]


class Steps(NamedTuple):
    """How windows lie: a number for each spatial dimension, at most three of them."""

    stride: Sequence[int]
    padding: Sequence[int]
    dilation: Sequence[int]


class _Axis(NamedTuple):
    """One dimension of a correlation.

    The taps of place `i` see `u = i * step + t * dstep`; the input has them at `first + u * of` if `low <= u < high`.
    Results lie at `begin + i * to`, weights at `least + t * by`.
    """

    count: Any
    step: int
    taps: int
    dstep: int
    low: Any
    high: Any
    of: Any
    to: Any
    by: Any
    first: Any = 0
    begin: Any = 0
    least: Any = 0


_LONE = _Axis(1, 1, 1, 1, 0, 1, 0, 0, 0)


def _forward(count: Any, size: Any, kernel: Any, steps: tuple[int, int, int], of: Any, to: Any, by: Any) -> _Axis:
    stride, padding, dilation = steps
    if kernel == 1:
        # Between the windows nothing is seen.
        low, high = -(-padding // stride), (size + (padding - 1)) // stride + 1
        return _Axis(count, 1, 1, 1, low, high, of * stride, to, by, of * -padding)
    return _Axis(count, stride, kernel, dilation, padding, size + padding, of, to, by, of * -padding)


def _phases(count: Any, size: Any, kernel: int, steps: tuple[int, int, int], of: Any, to: Any, by: Any) -> list[_Axis]:
    """The places of each phase of the stride, and the taps that see something there; `size` is that of the result."""
    stride, padding, dilation = steps
    found: list[_Axis] = []
    for phase in range(stride):
        places = (size + (stride - 1 - phase)) // stride
        taps = [t for t in reversed(range(kernel)) if (phase + padding - t * dilation) % stride == 0]
        begin, apart = to * phase, to * stride
        if not taps:
            found.append(_Axis(places, 1, 0, 0, 0, 0, of, apart, by, 0, begin, 0))
            continue
        last = (phase + padding - taps[0] * dilation) // stride
        each = taps[0] - taps[1] if len(taps) > 1 else 1
        found.append(
            _Axis(
                places, 1, len(taps), each * dilation // stride, -last, count - last, of, apart, by * -each,
                of * last, begin, by * taps[0],
            )  # fmt: skip
        )
    return found


def correlations(item: int, out: Operand, x: Operand, w: Operand, bias: Any, groups: int, steps: Steps) -> list[Any]:
    """A convolution: (n, c, *sizes) with (o, c / groups, *kernel) to (n, o, *counts).

    Parameters
    ----------
    item : int
        Bytes of an element.
    out, x, w : Operand
        The result, the input and the weight.
    bias : int
        The address of the bias, or 0.
    groups, steps
        As for `aten.convolution`.

    Returns
    -------
    list of tuple
        The words of each correlation.
    """
    axes = [
        _forward(count, size, kernel, each, of, to, by)
        for count, size, kernel, each, of, to, by in zip(
            out[1][2:], x[1][2:], w[1][2:], zip(*steps, strict=True), x[2][2:], out[2][2:], w[2][2:], strict=True
        )
    ]
    o, c = _each(w[1][0], groups), w[1][1]
    return [_words(_kind(_CORRELATE, o, c, groups), item, x, w, out, bias, groups, o, c, o, w[2][0], w[2][1], axes)]


def adjoints(item: int, out: Operand, y: Operand, w: Operand, bias: Any, groups: int, steps: Steps) -> list[Any]:
    """The adjoint of a convolution in its input: (n, o, *counts) with (o, c / groups, *kernel) to (n, c, *sizes).

    Parameters and result are those of `correlations`.
    """
    phases = [
        _phases(count, size, kernel, each, of, to, by)
        for count, size, kernel, each, of, to, by in zip(
            y[1][2:], out[1][2:], w[1][2:], zip(*steps, strict=True), y[2][2:], out[2][2:], w[2][2:], strict=True
        )
    ]
    o, c = _each(w[1][0], groups), w[1][1]
    kind = _kind(_CORRELATE, c, o, groups)
    return [
        _words(kind, item, y, w, out, bias, groups, c, o, o, w[2][1], w[2][0], axes)
        for axes in itertools.product(*phases)
    ]


def weight_adjoints(item: int, out: Operand, y: Operand, x: Operand, groups: int, steps: Steps) -> list[Any]:
    """The adjoint in the weight: (n, o, *counts) and (n, c, *sizes) to (o, c / groups, *kernel), as `correlations`."""
    axes = [
        _forward(count, size, kernel, each, of, to, by)
        for count, size, kernel, each, of, to, by in zip(
            y[1][2:], x[1][2:], out[1][2:], zip(*steps, strict=True), x[2][2:], y[2][2:], out[2][2:], strict=True
        )
    ]
    o, c = _each(out[1][0], groups), out[1][1]
    return [_words(_kind(_WEIGHT, o, c, groups), item, x, out, y, 0, groups, o, c, o, out[2][0], out[2][1], axes)]


def _each(channels: Any, groups: int) -> Any:
    return channels if groups == 1 else channels // groups


def _kind(kind: int, rows: Any, channels: Any, groups: int) -> int:
    lone = groups > 1 and type(channels) is int and channels == 1 and type(rows) is int and rows <= _FEW
    return kind + _DEPTHWISE if lone else kind


def _words(
    kind: int, item: int, x: Operand, w: Operand, out: Operand, bias: Any, groups: int, rows: Any, channels: Any,
    filters: Any, w_row: Any, w_channel: Any, axes: Sequence[_Axis],
) -> tuple[Any, ...]:  # fmt: skip
    """The words of `correlation.FIELDS`; a group has `filters` of the weight."""
    first = begin = least = 0
    for axis in axes:
        first, begin, least = first + axis.first, begin + axis.begin, least + axis.least
    words: list[Any] = [
        kind, x[0] + first * item, w[0] + least * item, out[0] + begin * item, bias, 0, x[1][0], groups, rows, channels,
        x[2][0], x[2][1] * channels, x[2][1], w[2][0] * filters, w_row, w_channel, out[2][0], out[2][1] * rows, out[2][1],
    ]  # fmt: skip
    for axis in (*[_LONE] * (3 - len(axes)), *axes):
        words += axis[:9]
    return tuple(words)

"""Normalisations of large tensors and their gradients by row programs (`registry.rows`).

What is normalised together is a row: the elements of an example, of a group, or of a channel in an example. Where more
rows than one are, their means and sums of squares are put together in float64.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from opweave.registry import rows
from opweave.registry.rows import Form, RowProgram, row_program
from opweave.registry.tape import Tape, Value

_SINGLE = np.dtype(np.float32)


def _parameter_forms(form: Form, has_weight: bool, has_bias: bool) -> tuple[Form, ...]:
    return (form,) * (has_weight + has_bias)


@functools.cache
def _normalizing(has_weight: bool, has_bias: bool) -> RowProgram:
    """Rows with mean 0 and variance 1, by a weight and a bias for each place; their means, 1 / standard deviations."""

    def body(k: Any, x: Any, count: Any, eps: Any, *parameters: Any) -> list[Any]:
        given = list(parameters)
        mean = k.sum(x) / count
        centred = x - mean
        scale = 1.0 / k.sqrt(k.sum(centred * centred) / count + eps)
        result = centred * scale
        if has_weight:
            result = result * given.pop(0)
        if has_bias:
            result = result + given.pop(0)
        return [result, mean, scale]

    forms = _parameter_forms("columns", has_weight, has_bias)
    return RowProgram(f"{__name__}.normalizing {has_weight} {has_bias}", ("rows", "number", "number", *forms), body)


def normalized(x: Any, parameters: Sequence[Any], eps: float, outs: Sequence[Any], count: int, length: int) -> bool:
    """Write rows with mean 0 and variance 1, their means, and what they are multiplied by; whether it was done."""
    program, given = _normalizing_by(x, parameters, eps, length)
    return rows.run(program, given, outs, count, length)


def write_normalized(
    tape: Tape, x: Value, parameters: Sequence[Value | None], eps: float, outs: Sequence[Value], count: int, length: int
) -> bool:
    """Write down what `normalized` does; whether it does."""
    program, given = _normalizing_by(x, parameters, eps, length)
    return rows.write(tape, program, given, outs, count, length)


def _normalizing_by(x: Any, parameters: Sequence[Any], eps: float, length: int) -> tuple[RowProgram, list[Any]]:
    weight, bias = parameters
    given = [p for p in parameters if p is not None]
    return _normalizing(weight is not None, bias is not None), [x, float(length), float(eps), *given]


@functools.cache
def _differentiating(mask: tuple[bool, bool, bool], has_weight: bool) -> RowProgram:
    """The gradients of what was normalised, and of weight and bias as sums over rows."""

    def body(k: Any, grad: Any, x: Any, mean: Any, scale: Any, count: Any, *weight: Any) -> list[Any]:
        normal = (x - mean) * scale
        found: list[Any] = []
        if mask[0]:
            inner = grad * weight[0] if has_weight else grad
            average, along = k.sum(inner) / count, k.sum(inner * normal) / count
            found.append((inner - average - normal * along) * scale)
        if mask[1]:
            found.append(k.down(grad * normal))
        if mask[2]:
            found.append(k.down(grad))
        return found

    forms = ("rows", "rows", "each", "each", "number", *_parameter_forms("columns", has_weight, False))
    return RowProgram(f"{__name__}.differentiating {mask} {has_weight}", forms, body)


class DifferentiatedRows(NamedTuple):
    """Rows that were normalised, and the gradients of that: what `run` reads."""

    grad: Any
    x: Any
    mean: Any
    scale: Any
    weight: Any
    many: int
    length: int

    def run(self, mask: tuple[bool, bool, bool], out: Any) -> list[Any] | None:
        """Write the gradient of the rows to `out`, if `mask` has it; the sums for weight and bias that it has."""
        if not any(mask):
            return []
        has_weight = self.weight is not None and mask[0]
        given = [self.grad, self.x, self.mean, self.scale, float(self.length), *([self.weight] if has_weight else [])]
        outs = [out] if mask[0] else []
        return rows.sums(_differentiating(mask, has_weight), given, outs, self.many, self.length)


# ---- rows that belong together -------------------------------------------------------------------------------------


@row_program("rows", "number")
def _moments_of_row(k: Any, x: Any, count: Any) -> list[Any]:
    mean = k.sum(x) / count
    return [mean, k.sum((x - mean) * (x - mean))]


def moments(x: Any, sizes: tuple[int, ...], axes: int | tuple[int, ...], length: int) -> tuple[Any, Any] | None:
    """(mean, variance) of rows, in float64.

    Parameters
    ----------
    x : numpy.ndarray
        The elements.
    sizes : tuple of int
        How many rows there are, in the dimensions that say which belong together.
    axes : int or tuple of int
        Of these the dimensions that go.
    length : int
        Elements of a row.
    """
    means, squares = np.empty(sizes, _SINGLE), np.empty(sizes, _SINGLE)
    if not rows.run(_moments_of_row, [x, float(length)], [means, squares], means.size, length):
        return None
    with np.errstate(all="ignore"):
        wide = means.astype(np.float64)
        mean = wide.mean(axes, keepdims=True)
        among = ((wide - mean) ** 2).mean(axes, keepdims=True)
        within = squares.astype(np.float64).mean(axes, keepdims=True) / length
    return np.squeeze(mean, axes), np.squeeze(among + within, axes)


@functools.cache
def _scaling(has_weight: bool, has_bias: bool) -> RowProgram:
    def body(k: Any, x: Any, mean: Any, scale: Any, *parameters: Any) -> list[Any]:
        given = list(parameters)
        result = (x - mean) * scale
        if has_weight:
            result = result * given.pop(0)
        if has_bias:
            result = result + given.pop(0)
        return [result]

    forms = _parameter_forms("each", has_weight, has_bias)
    return RowProgram(f"{__name__}.scaling {has_weight} {has_bias}", ("rows", "each", "each", *forms), body)


def scaled(
    x: Any, mean: Any, scale: Any, parameters: Sequence[Any], out: Any, sizes: tuple[int, ...], length: int
) -> bool:
    """Write `(x - mean) * scale * weight + bias` of rows, for each of which there is one of these."""
    weight, bias = parameters
    given = [_for_rows(p, sizes) for p in (mean, scale, *parameters) if p is not None]
    program = _scaling(weight is not None, bias is not None)
    return rows.run(program, [x, *given], [out], given[0].size, length)


@row_program("rows", "rows", "each", "each")
def _products_of_row(k: Any, grad: Any, x: Any, mean: Any, scale: Any) -> list[Any]:
    return [k.sum(grad), k.sum(grad * ((x - mean) * scale))]


def products(grad: Any, x: Any, mean: Any, scale: Any, sizes: tuple[int, ...], length: int) -> tuple[Any, Any] | None:
    """(sums of the gradients of rows, sums of these by what was normalised), in float64."""
    found = np.empty(sizes, _SINGLE), np.empty(sizes, _SINGLE)
    given = [grad, x, _for_rows(mean, sizes), _for_rows(scale, sizes)]
    if not rows.run(_products_of_row, given, found, found[0].size, length):
        return None
    return found[0].astype(np.float64), found[1].astype(np.float64)


@row_program("rows", "rows", "each", "each", "each", "each", "each")
def _gradient_of_row(
    k: Any, grad: Any, x: Any, mean: Any, scale: Any, weight: Any, average: Any, along: Any
) -> list[Any]:
    return [(grad * weight - average - (x - mean) * scale * along) * scale]


def gradient(grad: Any, x: Any, each: Sequence[Any], out: Any, sizes: tuple[int, ...], length: int) -> bool:
    """Write the gradient of rows, for each of which there is a mean, a scale, a weight and two averages (`each`)."""
    given = [_for_rows(value, sizes) for value in each]
    return rows.run(_gradient_of_row, [grad, x, *given], [out], given[0].size, length)


def _for_rows(value: Any, sizes: tuple[int, ...]) -> Any:
    """One number for each row, in float32; a number that does not fit is infinite there."""
    with np.errstate(all="ignore"):
        return np.ascontiguousarray(np.broadcast_to(value, sizes), _SINGLE)

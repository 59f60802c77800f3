"""Fractional pooling, under the names of `torch.nn.functional`: maxima of windows that begin at uneven steps.

The steps follow from a number u in [0, 1) for each image, channel and dimension: of n windows, the i-th begins at
⌊α(i + u)⌋ − ⌊αu⌋ with α = (size − kernel) / (n − 1), and the last where it just fits (Graham, arXiv 1412.6071).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from opweave.registry.dtypes import int64
from opweave.registry.errors import DomainError, DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten
Sizes = int | Sequence[int]


def _each(value: Any, count: int) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value] * count


def _wanted(what: str, input: Tensor, count: int, output_size: Any, output_ratio: Any) -> list[int]:
    if output_size is not None:
        return _each(output_size, count)
    if output_ratio is None:
        raise DomainError(
            f"{what} requires specifying either an output_size or an output_ratio", got="neither",
            hint="output_ratio=0.7, for instance",
        )  # fmt: skip
    ratios = _each(output_ratio, count)
    if len(ratios) != count:
        raise DomainError(
            f"{what} requires output_ratio to be a number, or one for each of {count} dimensions",
            got=repr(output_ratio), hint=f"({', '.join(['0.7'] * count)})",
        )  # fmt: skip
    return [int(size * ratio) for size, ratio in zip(input._sizes[-count:], ratios, strict=True)]


def _check(what: str, input: Tensor, kernel: list[int], wanted: list[int], samples: Tensor | None) -> None:
    count = len(kernel)
    if input.ndim not in (count + 1, count + 2):
        raise ShapeError(f"{what}: expected {count + 1} or {count + 2} dimensions", got=describe(input))
    if input._dtype.kind != "f":
        raise DTypeError(f"{what}: expected a floating type", got=describe(input), hint="x.float()")
    if len(wanted) != count:
        raise ShapeError(f"{what}: expected an output size for each dimension", got=repr(wanted))
    for size, window, out in zip(input._sizes[-count:], kernel, wanted, strict=True):
        if window < 1 or out < 0 or out + window - 1 > size:
            raise ShapeError(
                f"{what}: windows of {window} are too large for {out} of them in {size} elements",
                got=f"{describe(input)}, kernel_size {kernel}, output_size {wanted}",
                hint="output_size + kernel_size - 1 is at most the size",
            )
    if samples is None:
        return
    if samples._dtype is not input._dtype:
        raise DTypeError(f"{what}: _random_samples must have the type of the input", got=describe([samples, input]))
    batch = 1 if input.ndim == count + 1 else input._sizes[0]
    rest = (input._sizes[-count - 1], count)
    if samples.ndim != 3 or samples._sizes[0] < batch or tuple(samples._sizes[1:]) != rest:
        raise ShapeError(
            f"{what}: _random_samples has a number for each image, channel and dimension",
            got=describe([samples, input]), hint=f"sizes [{batch}, {input._sizes[-count - 1]}, {count}]",
        )  # fmt: skip


def _places(u: Tensor, size: int, kernel: int, out: int) -> Tensor:
    """Where the elements of each window lie: (images, channels, windows, elements)."""
    last = aten.new_full.default(u, [*u._sizes, min(out, 1)], size - kernel)
    starts = last
    if out > 1:
        # In the type of the numbers, each step of it, as a window may begin elsewhere in another.
        spaces, gaps = (aten.new_full.default(u, [], n) for n in (size - kernel, out - 1))
        alpha = aten.div.Tensor(spaces, gaps)
        numbers = aten.arange.default(out - 1, dtype=u._dtype, device=u._device)
        steps = aten.add.Tensor(numbers, aten.unsqueeze.default(u, -1))
        first = aten.unsqueeze.default(aten.trunc.default(aten.mul.Tensor(u, alpha)), -1)
        starts = aten.cat.default([aten.sub.Tensor(aten.trunc.default(aten.mul.Tensor(steps, alpha)), first), last], -1)
    begin = aten.unsqueeze.default(aten._to_copy.default(starts, dtype=int64), -1)
    return aten.add.Tensor(begin, aten.arange.default(kernel, device=u._device))


def _largest(windows: Tensor) -> Tensor:
    """Which element of each window, in the last dimension, is the largest; of several NaN the last."""
    is_nan = aten.isnan.default(windows)
    first = aten.argmax.default(aten.masked_fill.Scalar(windows, is_nan, float("-inf")), -1)
    numbers = aten.arange.default(windows._sizes[-1], device=windows._device)
    nan = aten.amax.default(aten.where.ScalarOther(is_nan, numbers, -1), [-1])
    return aten.where.self(aten.ge.Scalar(nan, 0), nan, first)


def _pooled(
    what: str, input: Tensor, kernel_size: Any, output_size: Any, output_ratio: Any, samples: Tensor | None, count: int
) -> tuple[Tensor, Tensor]:
    kernel = _each(kernel_size, count)
    wanted = _wanted(what, input, count, output_size, output_ratio)
    _check(what, input, kernel, wanted, samples)
    is_single = input.ndim == count + 1
    x = aten.unsqueeze.default(input, 0) if is_single else input
    batch, channels, sizes = x._sizes[0], x._sizes[1], x._sizes[2:]
    if samples is None:
        samples = aten.rand.default([batch, channels, count], dtype=x._dtype, device=x._device)
    samples = aten.slice.Tensor(samples, 0, 0, batch)
    flat: Any = None
    for d in range(count):
        # An image has its numbers from the last dimension on, a volume from the first.
        u = aten.select.int(samples, 2, d if count == 3 else count - 1 - d)
        place = _places(u, sizes[d], kernel[d], wanted[d])
        shape = [batch, channels] + [1] * (2 * count)
        shape[2 + d], shape[2 + count + d] = wanted[d], kernel[d]
        place = aten.reshape.default(place, shape)
        flat = place if flat is None else aten.add.Tensor(aten.mul.Scalar(flat, sizes[d]), place)
    elements, count_of_windows = math.prod(kernel), math.prod(wanted)
    flat = aten.reshape.default(flat, [batch, channels, count_of_windows * elements])
    x = aten.reshape.default(x, [batch, channels, math.prod(sizes)])
    split = [batch, channels, count_of_windows, elements]
    windows = aten.reshape.default(aten.gather.default(x, 2, flat), split)
    flat = aten.reshape.default(flat, split)
    chosen = aten.unsqueeze.default(_largest(aten.detach.default(windows)), -1)
    result, indices = aten.gather.default(windows, 3, chosen), aten.gather.default(flat, 3, chosen)
    shape = [*([] if is_single else [batch]), channels, *wanted]
    return aten.reshape.default(result, shape), aten.reshape.default(indices, shape)


def fractional_max_pool2d_with_indices(
    input: Tensor, kernel_size: Sizes, output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The largest element of each of unevenly spaced windows of an image, and its place there.

    Parameters
    ----------
    input : Tensor
        (N, C, H, W) or (C, H, W).
    kernel_size : int or sequence of int
        Of the windows.
    output_size : int or sequence of int, optional
        How many windows there are.
    output_ratio : float or sequence of float, optional
        The same as a fraction of the size.
    return_indices : bool
        For the signature's sake.
    _random_samples : Tensor, optional
        (N, C, 2), numbers in [0, 1) that the windows follow from, for the columns and the rows; drawn by default.

    Raises
    ------
    DomainError, DTypeError, ShapeError
        If the windows do not fit, or numbers are not floats.

    Examples
    --------
    >>> x, u = opweave.arange(16.0).view(1, 1, 4, 4), opweave.zeros(1, 1, 2)
    >>> opweave.nn.functional.fractional_max_pool2d_with_indices(x, 2, output_size=2, _random_samples=u)[1]
    tensor([[[[ 5,  7],
              [13, 15]]]])
    """
    return _pooled("fractional_max_pool2d", input, kernel_size, output_size, output_ratio, _random_samples, 2)


def fractional_max_pool2d(
    input: Tensor, kernel_size: Sizes, output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The largest element of each of unevenly spaced windows of an image; see `fractional_max_pool2d_with_indices`.

    Parameters
    ----------
    return_indices : bool
        Give the places, too.

    Examples
    --------
    >>> x, u = opweave.arange(16.0).view(1, 1, 4, 4), opweave.zeros(1, 1, 2)
    >>> opweave.nn.functional.fractional_max_pool2d(x, 2, output_size=2, _random_samples=u)
    tensor([[[[ 5.,  7.],
              [13., 15.]]]])
    """
    found = fractional_max_pool2d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )  # fmt: skip
    return found if return_indices else found[0]


def fractional_max_pool3d_with_indices(
    input: Tensor, kernel_size: Sizes, output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The largest element of each of unevenly spaced windows of a volume, and its place there.

    Parameters
    ----------
    input : Tensor
        (N, C, T, H, W) or (C, T, H, W).
    kernel_size, output_size, output_ratio, return_indices
        As in `fractional_max_pool2d_with_indices`.
    _random_samples : Tensor, optional
        (N, C, 3), numbers in [0, 1) that the windows follow from, for each dimension; drawn by default.

    Examples
    --------
    >>> x, u = opweave.arange(27.0).view(1, 1, 3, 3, 3), opweave.zeros(1, 1, 3)
    >>> opweave.nn.functional.fractional_max_pool3d_with_indices(x, 2, output_size=1, _random_samples=u)[1]
    tensor([[[[[26]]]]])
    """
    return _pooled("fractional_max_pool3d", input, kernel_size, output_size, output_ratio, _random_samples, 3)


def fractional_max_pool3d(
    input: Tensor, kernel_size: Sizes, output_size: Sizes | None = None,
    output_ratio: float | Sequence[float] | None = None, return_indices: bool = False,
    _random_samples: Tensor | None = None,
) -> Any:  # fmt: skip
    """The largest element of each of unevenly spaced windows of a volume; see `fractional_max_pool3d_with_indices`.

    Parameters
    ----------
    return_indices : bool
        Give the places, too.

    Examples
    --------
    >>> x, u = opweave.arange(27.0).view(1, 1, 3, 3, 3), opweave.zeros(1, 1, 3)
    >>> opweave.nn.functional.fractional_max_pool3d(x, 2, output_size=1, _random_samples=u)
    tensor([[[[[26.]]]]])
    """
    found = fractional_max_pool3d_with_indices(
        input, kernel_size, output_size, output_ratio, True, _random_samples
    )  # fmt: skip
    return found if return_indices else found[0]

"""Products with the windows of an input, on arrays: what convolutions are where native code has none.

`correlate` multiplies the windows by filters, `spread` is its adjoint in the input (transposed convolution too) and
`correlate_weight` its adjoint in the filters. Windows are copied to columns block by block, as many as a cache holds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

Sizes = Sequence[int]

#: Bytes of the columns made at once.
_BLOCK = 1 << 22


class Windows:
    """Where the windows of a convolution lie in its input.

    Attributes
    ----------
    kernel, stride, padding, dilation : tuple of int
        By spatial dimension.
    sizes : tuple of int
        Of the input, without padding.
    counts : tuple of int
        How many windows there are.
    """

    def __init__(self, sizes: Sizes, counts: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes):
        self.sizes = tuple(sizes)
        self.counts = tuple(counts)
        self.kernel = tuple(kernel)
        self.stride = tuple(stride)
        self.padding = tuple(padding)
        self.dilation = tuple(dilation)

    @property
    def padded(self) -> tuple[int, ...]:
        """Sizes with padding on both sides."""
        return tuple(size + 2 * p for size, p in zip(self.sizes, self.padding, strict=True))

    @property
    def inside(self) -> tuple[slice, ...]:
        """The input in its padded form."""
        return tuple(slice(p, p + size) for size, p in zip(self.sizes, self.padding, strict=True))

    @property
    def is_identity(self) -> bool:
        """Whether a window is one element and they follow one another."""
        return set(self.kernel) | set(self.stride) == {1} and not any(self.padding)

    def pad(self, xp: Any, array: Any) -> Any:
        """An array (..., *sizes) with zeros around it."""
        if not any(self.padding):
            return array
        lead = array.shape[: array.ndim - len(self.sizes)]
        padded = xp.zeros((*lead, *self.padded), array.dtype)
        padded[(..., *self.inside)] = array
        return padded

    def taps(self) -> Iterator[tuple[int, ...]]:
        """The places in a window, the last dimension fastest."""
        return itertools.product(*map(range, self.kernel))

    def at(self, tap: Sizes, start: int = 0, stop: int | None = None) -> tuple[Any, ...]:
        """Index of a padded array's elements that a place of windows has, from row `start` to `stop` of them."""
        counts = (self.counts[0] if stop is None else stop - start, *self.counts[1:])
        first = (start * self.stride[0], *(0,) * (len(counts) - 1))
        return (
            ...,
            *(
                slice(f + t * d, f + t * d + (n - 1) * s + 1, s)
                for f, t, d, n, s in zip(first, tap, self.dilation, counts, self.stride, strict=True)
            ),
        )

    def view(self, xp: Any, padded: Any) -> Any:
        """All windows of a padded array (n, channels, *padded) as (n, channels, *kernel, *counts), without a copy."""
        steps = padded.strides[2:]
        return xp.lib.stride_tricks.as_strided(
            padded,
            (*padded.shape[:2], *self.kernel, *self.counts),
            (
                *padded.strides[:2],
                *(step * d for step, d in zip(steps, self.dilation, strict=True)),
                *(step * s for step, s in zip(steps, self.stride, strict=True)),
            ),
        )

    def blocks(self, images: int, row_bytes: int) -> Iterator[tuple[slice, int, int]]:
        """(images, first and last row of windows) to work on together, given the bytes that one row of them takes."""
        rows = self.counts[0]
        if rows * row_bytes <= _BLOCK:
            step = max(1, _BLOCK // max(rows * row_bytes, 1))
            for start in range(0, images, step):
                yield slice(start, min(start + step, images)), 0, rows
            return
        step = max(1, _BLOCK // row_bytes)
        for image in range(images):
            for start in range(0, rows, step):
                yield slice(image, image + 1), start, min(start + step, rows)


def correlate(xp: Any, out: Any, x: Any, w: Any, groups: int, windows: Windows) -> None:
    """(n, c, *sizes) and (o, c / groups, *kernel) to `out`, (n, o, *counts): each window times each filter, summed."""
    n, c = x.shape[:2]
    o = w.shape[0]
    places, taps, rest = math.prod(windows.counts), math.prod(windows.kernel), math.prod(windows.counts[1:])
    if not n * places * w.size:
        out[...] = 0
        return
    filters = w.reshape(groups, o // groups, -1)
    by_place = out.reshape(n, groups, o // groups, places)
    if windows.is_identity:
        xp.matmul(filters, x.reshape(n, groups, c // groups, places), out=by_place)
        return
    padded = windows.pad(xp, x)
    if c == o == groups:
        out[...] = 0
        for tap in windows.taps():
            out += padded[windows.at(tap)] * w[(slice(None), 0, *tap)].reshape(1, -1, *(1,) * len(tap))
        return
    view = windows.view(xp, padded)
    for images, start, stop in windows.blocks(n, c * taps * rest * x.itemsize):
        part = view[(images, slice(None), *(slice(None),) * len(windows.kernel), slice(start, stop))]
        columns = part.reshape(len(part), groups, c // groups * taps, -1)
        by_place[images, :, :, start * rest : stop * rest] = xp.matmul(filters, columns)


def correlate_innermost(xp: Any, out: Any, x: Any, w: Any, windows: Windows) -> None:
    """`correlate` of one group with the channels last: (n, *sizes, c) and (o, c, *kernel) to `out`, (n, *counts, o)."""
    n, c = x.shape[0], x.shape[-1]
    taps, rest = math.prod(windows.kernel), math.prod(windows.counts[1:])
    if not out.size or not w.size:
        out[...] = 0
        return
    spatial = len(windows.kernel)
    by_place = out.reshape(n, -1, out.shape[-1])
    # Of columns and filters the smaller one is brought into the order of the other.
    channels_first = w.flags.c_contiguous and w.size > by_place.shape[0] * by_place.shape[1] * taps * c
    filters = (w if channels_first else xp.moveaxis(w, 1, -1)).reshape(-1, taps * c).T
    if windows.is_identity:
        xp.matmul(x.reshape(n, -1, c), filters, out=by_place)
        return
    padded = x
    if any(windows.padding):
        padded = xp.zeros((n, *windows.padded, c), x.dtype)
        padded[(slice(None), *windows.inside)] = x
    view = windows.view(xp, xp.moveaxis(padded, -1, 1))  # (n, c, *kernel, *counts)
    kernel = range(2, 2 + spatial)
    view = view.transpose(0, *range(2 + spatial, 2 + 2 * spatial), *((1, *kernel) if channels_first else (*kernel, 1)))
    for images, start, stop in windows.blocks(n, c * taps * rest * x.itemsize):
        columns = view[images, start:stop].reshape(-1, (stop - start) * rest, taps * c)
        by_place[images, start * rest : stop * rest] = xp.matmul(columns, filters)


def spread(xp: Any, out: Any, y: Any, w: Any, groups: int, windows: Windows) -> None:
    """(n, o, *counts) and (o, c / groups, *kernel) to `out`, (n, c, *sizes): `_correlate`'s adjoint in the input."""
    n, o = y.shape[:2]
    c = w.shape[1] * groups
    places, taps, rest = math.prod(windows.counts), math.prod(windows.kernel), math.prod(windows.counts[1:])
    if not n * places * w.size:
        out[...] = 0
        return
    padded = xp.zeros((n, c, *windows.padded), y.dtype)
    if c == o == groups:
        for tap in windows.taps():
            padded[windows.at(tap)] += y * w[(slice(None), 0, *tap)].reshape(1, c, *(1,) * len(tap))
        out[...] = padded[(..., *windows.inside)]
        return
    filters = w.reshape(groups, o // groups, -1).swapaxes(1, 2)
    columns_of = y.reshape(n, groups, o // groups, places)
    for images, start, stop in windows.blocks(n, c * taps * rest * y.itemsize):
        columns = xp.matmul(filters, columns_of[images, :, :, start * rest : stop * rest])
        columns = columns.reshape(len(columns), c, *windows.kernel, stop - start, *windows.counts[1:])
        target = padded[images]
        for tap in windows.taps():
            target[windows.at(tap, start, stop)] += columns[(slice(None), slice(None), *tap)]
    out[...] = padded[(..., *windows.inside)]


def correlate_weight(xp: Any, y: Any, x: Any, groups: int, windows: Windows) -> Any:
    """(n, o, *counts) and (n, c, *sizes) to (o, c / groups, *kernel): the adjoint of `_correlate` in the weight."""
    n, c = x.shape[:2]
    o = y.shape[1]
    places, taps, rest = math.prod(windows.counts), math.prod(windows.kernel), math.prod(windows.counts[1:])
    total = xp.zeros((groups, o // groups, c // groups * taps), x.dtype)
    if not n * places * total.size:
        return total.reshape(o, c // groups, *windows.kernel)
    padded = windows.pad(xp, x)
    spatial = len(windows.kernel)
    if c == o == groups:
        for number, tap in enumerate(windows.taps()):
            total[:, 0, number] = (y * padded[windows.at(tap)]).sum(axis=(0, *range(2, y.ndim)))
        return total.reshape(o, 1, *windows.kernel)
    view = windows.view(xp, padded)
    # The images join the places that are summed over, so that a block is one product.
    view = view.transpose(*range(1, 2 + spatial), 0, *range(2 + spatial, 2 + 2 * spatial))
    grads = y.reshape(n, o, places).swapaxes(0, 1)
    for images, start, stop in windows.blocks(n, c * taps * rest * x.itemsize):
        part = view[(slice(None), *(slice(None),) * spatial, images, slice(start, stop))]
        columns = part.reshape(groups, c // groups * taps, -1)
        rows = grads[:, images, start * rest : stop * rest].reshape(groups, o // groups, -1)
        total += xp.matmul(rows, columns.swapaxes(1, 2))
    return total.reshape(o, c // groups, *windows.kernel)

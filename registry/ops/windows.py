"""Products with the windows of an input, on arrays: what convolution and its adjoints compute.

`correlate` multiplies the windows by filters, `spread` is its adjoint in the input (transposed convolution too) and
`correlate_weight` its adjoint in the filters. Windows are copied to columns block by block, as many as a cache holds.
With groups the products are small, and what they cost is the copying: there the columns are runs (`Runs`), and `spread`
is one correlation for each phase of its result.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

Sizes = Sequence[int]

#: Bytes of the columns made at once.
_BLOCK = 1 << 22
#: The same where the products are small, so that what is copied must be near.
_NEAR = 1 << 20


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


class Runs:
    """Windows as runs: the input lies so that each place of all windows is one stretch of memory.

    A row of `counts` windows goes on into the next one: past its end come places that belong to no window, which are
    computed and dropped, and in return nothing is done row by row. With a stride, the elements `stride` apart lie side
    by side: every phase of the input has a stretch of its own.

    Attributes
    ----------
    rows : tuple of int
        Cells of a phase by spatial dimension.
    steps : tuple of int
        How far apart neighbours are in a phase, by spatial dimension.
    length : int
        Of a run.
    """

    def __init__(
        self, sizes: Sizes, counts: Sizes, kernel: Sizes, begin: Sizes, stride: Sizes, dilation: Sizes
    ) -> None:
        self.counts, self.kernel = tuple(counts), tuple(kernel)
        self.rows = tuple(n + (k - 1) * d // s for n, k, d, s in zip(counts, kernel, dilation, stride, strict=True))
        self.steps = tuple(math.prod(self.rows[i + 1 :]) for i in range(len(self.rows)))
        self.length = sum((n - 1) * step for n, step in zip(counts, self.steps, strict=True)) + 1
        self.dilated = tuple(d * step for d, step in zip(dilation, self.steps, strict=True))
        numbers: dict[tuple[int, ...], int] = {}
        self.taps: list[tuple[int, int]] = []  # (phase, first element of the run)
        for tap in itertools.product(*map(range, kernel)):
            places = [divmod(t * d, s) for t, d, s in zip(tap, dilation, stride, strict=True)]
            phase = numbers.setdefault(tuple(p for _, p in places), len(numbers))
            self.taps.append((phase, sum(q * step for (q, _), step in zip(places, self.steps, strict=True))))
        self.phases = [
            tuple(_overlap(n, b + p, s, r) for n, b, p, s, r in zip(sizes, begin, at, stride, self.rows, strict=True))
            for at in numbers
        ]

    @property
    def is_dense(self) -> bool:
        """Whether most of what is computed belongs to a window."""
        return self.length <= 2 * math.prod(self.counts)

    def room(self, *lead: int, dtype: Any) -> Any:
        """(*lead, phases, *rows) of zeros, for `fill`."""
        return np.zeros((*lead, len(self.phases), *self.rows), dtype)

    def fill(self, room: Any, x: Any) -> None:
        """Copy (*lead, *sizes) to where the runs expect it; what lies outside the input stays zero."""
        for number, at in enumerate(self.phases):
            room[(..., number, *(cells for cells, _ in at))] = x[(..., *(elements for _, elements in at))]

    def views(self, room: Any, start: int, stop: int) -> list[tuple[Any, Any]]:
        """Pairs (index of taps, view of a filled room), together (*lead, *kernel, stop - start): a part of all runs."""
        lead = room.shape[: -len(self.rows) - 1]
        strides, size = room.strides[: len(lead)], room.itemsize
        flat = room.reshape(*lead, len(self.phases), -1)
        if len(self.phases) > 1:
            kernel = itertools.product(*map(range, self.kernel))
            return [
                ((..., *tap, slice(None)), flat[..., phase, first + start : first + stop])
                for tap, (phase, first) in zip(kernel, self.taps, strict=True)
            ]
        # The one phase has the first tap at its start, and all others are as many elements on as its index says.
        first, last = self.taps[0][1], self.taps[-1][1]
        source = flat[..., 0, first + start : last + stop]
        shape = (*lead, *self.kernel, stop - start)
        apart = self._apart()
        return [(..., np.lib.stride_tricks.as_strided(source, shape, (*strides, *(a * size for a in apart), size)))]

    def _apart(self) -> tuple[int, ...]:
        """Elements between the runs of neighbouring taps, where there is one phase."""
        span = [1] * len(self.kernel)
        for i in reversed(range(len(self.kernel) - 1)):
            span[i] = span[i + 1] * self.kernel[i + 1]
        return tuple(
            self.taps[by][1] - self.taps[0][1] if k > 1 else 0 for by, k in zip(span, self.kernel, strict=True)
        )

    def windows(self, values: Any) -> Any:
        """The values of windows, (..., *counts), in (..., length) without a copy."""
        size = values.itemsize
        return np.lib.stride_tricks.as_strided(
            values, (*values.shape[:-1], *self.counts), (*values.strides[:-1], *(step * size for step in self.steps))
        )

    def blocks(self, images: int, groups: int, rows: int, itemsize: int) -> Iterator[tuple[slice, slice]]:
        """(images, groups) whose columns, `rows` of them in a group, fit in the cache together."""
        step = max(1, _NEAR // max(rows * self.length * itemsize, 1))
        some = min(step, groups)
        step = max(1, step // groups)
        for image in range(0, images, step):
            for group in range(0, groups, some):
                yield slice(image, min(image + step, images)), slice(group, min(group + some, groups))

    def columns(self, room: Any, rows: int) -> list[tuple[int, int, Any, list[tuple[Any, Any]]]]:
        """How the columns of a room are made, a part of the runs at a time, of which `rows` fit in the cache.

        Each is (start, stop, columns (*lead, rows, stop - start), pairs of what to write to and what to write there).
        """
        count = max(1, -(-rows * self.length * room.itemsize // _NEAR))
        longest = -(-self.length // count)
        lead = room.shape[: -len(self.rows) - 1]
        memory = np.empty((*lead[:-1], rows, longest), room.dtype)
        found = []
        for start in range(0, self.length, longest):
            stop = min(start + longest, self.length)
            piece = memory[..., : stop - start]
            by_tap = piece.reshape(*lead, *self.kernel, stop - start)
            parts = [(by_tap[index], view) for index, view in self.views(room, start, stop)]
            found.append((start, stop, piece, parts))
        return found


def _overlap(size: int, begin: int, stride: int, cells: int) -> tuple[slice, slice]:
    """Of `cells`, which hold an element each `stride` from `begin` on: those inside (0, size), and these elements."""
    first = max(0, -(begin // stride))
    stop = max(first, min(cells, (size - 1 - begin) // stride + 1))
    if first == stop:
        return slice(0, 0), slice(0, 0)
    start = begin + first * stride
    return slice(first, stop), slice(start, start + (stop - first - 1) * stride + 1, stride)


def _correlate_runs(out: Any, x: Any, filters: Any, runs: Runs) -> None:
    """(n, groups, c, *sizes) and (groups, o, c, *kernel) to `out`, (n, groups, o, *counts)."""
    n, groups, c = x.shape[:3]
    taps = len(runs.taps)
    rows, o = c * taps, filters.shape[1]
    filters = filters.reshape(groups, o, rows)
    made: dict[tuple[int, int], tuple[Any, ...]] = {}
    for images, some in runs.blocks(n, groups, rows, x.itemsize):
        lead = images.stop - images.start, some.stop - some.start
        if lead not in made:
            room, found = runs.room(*lead, c, dtype=x.dtype), np.empty((*lead, o, runs.length), x.dtype)
            made[lead] = room, runs.columns(room, rows), found, runs.windows(found)
        room, columns, found, windows = made[lead]
        runs.fill(room, x[images, some])
        for start, stop, piece, parts in columns:
            for target, view in parts:
                target[...] = view
            np.matmul(filters[some], piece, out=found[..., start:stop])
        out[images, some] = windows


def _spread_runs(out: Any, y: Any, w: Any, groups: int, windows: Windows) -> bool:
    """`_spread` as one correlation of `y` for each phase of the result; whether it was worth while, and done."""
    n, o = y.shape[:2]
    c = w.shape[1]
    found = out.reshape(n, groups, c, *windows.sizes)
    y = y.reshape(n, groups, o // groups, *windows.counts)
    filters = w.reshape(groups, o // groups, c, *windows.kernel).swapaxes(1, 2)
    # By dimension and phase: (cells of the result, taps in reverse, first element of `y`, dilation).
    each = [
        [_phase(p, *numbers) for p in range(numbers[-2])]
        for numbers in zip(windows.kernel, windows.padding, windows.stride, windows.dilation, strict=True)
    ]  # fmt: skip
    todo = []
    for parts in itertools.product(*each):
        target = found[(..., *(part[0] for part in parts))]
        if not target.size:
            continue
        some = filters[(..., *(part[1] for part in parts))]
        if not some.size:
            todo.append((target, some, None))
            continue
        counts, kernel = target.shape[3:], some.shape[3:]
        begin, dilation = [part[2] for part in parts], [part[3] for part in parts]
        runs = Runs(windows.counts, counts, kernel, begin, [1] * len(counts), dilation)
        if not runs.is_dense:
            return False
        todo.append((target, some, runs))
    for target, some, runs in todo:
        if runs is None:
            target[...] = 0
        else:
            _correlate_runs(target, y, np.ascontiguousarray(some), runs)
    return True


def _phase(phase: int, kernel: int, padding: int, stride: int, dilation: int) -> tuple[slice, slice, int, int]:
    """Along one dimension, the elements of a spread result that are `phase` modulo `stride` in its padded form.

    Returns the elements, the taps that reach them, in reverse, the place in `y` that the last of these taps takes the
    first element from, and how far apart in `y` two neighbouring taps are.
    """
    apart = math.gcd(stride, dilation)
    cell = max(0, -((phase - padding) // stride))  # the first whose element is not padding
    elements = slice(cell * stride + phase - padding, None, stride)
    taps = [t for t in range(kernel) if (t * dilation - phase) % stride == 0]
    if not taps:
        return elements, slice(0, 0), 0, 1
    before = taps[0] - stride // apart
    last = (taps[-1] * dilation - phase) // stride
    return elements, slice(taps[-1], None if before < 0 else before, -(stride // apart)), cell - last, dilation // apart


def _weight_runs(total: Any, y: Any, x: Any, runs: Runs) -> None:
    """(n, groups, o, *counts) and (n, groups, c, *sizes) to `total`, (groups, o, c, *kernel)."""
    n, groups, c = x.shape[:3]
    o, taps = y.shape[2], len(runs.taps)
    alone = o == c == 1
    # Alone, a channel needs no columns: each place of the windows is a scalar product of two runs.
    rows = 1 if alone else c * taps
    flat = total.reshape(groups, o, c * taps)
    made: dict[tuple[int, int], tuple[Any, ...]] = {}
    for images, some in runs.blocks(n, groups, rows, x.itemsize):
        lead = images.stop - images.start, some.stop - some.start
        if lead not in made:
            room, grads = runs.room(*lead, c, dtype=x.dtype), np.zeros((*lead, o, runs.length), x.dtype)
            columns = _tap_views(runs, room, grads) if alone else runs.columns(room, rows)
            made[lead] = room, columns, grads, runs.windows(grads)
        room, columns, grads, windows = made[lead]
        runs.fill(room, x[images, some])
        windows[...] = y[images, some]
        if alone:
            products = np.empty((*lead, *runs.kernel), x.dtype)
            for index, row, column in columns:
                products[index] = np.matmul(row, column)[..., 0, 0]
            flat[some, 0] += products.reshape(*lead, taps).sum(axis=0)
            continue
        for start, stop, piece, parts in columns:
            for target, view in parts:
                target[...] = view
            flat[some] += np.matmul(grads[..., start:stop], piece.swapaxes(-1, -2)).sum(axis=0)


def _tap_views(runs: Runs, room: Any, grads: Any) -> list[tuple[Any, Any, Any]]:
    """(index of taps, gradients as a row, run as a column), for rooms of one channel in a group."""
    found = []
    for index, view in runs.views(room[:, :, 0], 0, runs.length):
        around = (1,) * (view.ndim - 3)
        row = grads.reshape(*grads.shape[:2], *around, 1, runs.length)
        found.append((index if index is ... else index[:-1], row, view[..., None]))
    return found


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
    if _takes_runs(xp, x, groups):
        begin = [-p for p in windows.padding]
        runs = Runs(windows.sizes, windows.counts, windows.kernel, begin, windows.stride, windows.dilation)
        if runs.is_dense:
            each = groups, o // groups, c // groups, *windows.kernel
            grouped = x.reshape(n, groups, c // groups, *windows.sizes)
            _correlate_runs(out.reshape(n, groups, o // groups, *windows.counts), grouped, w.reshape(each), runs)
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


def _takes_runs(xp: Any, x: Any, groups: int) -> bool:
    """Whether `Runs` may serve: with groups the products are small and columns of short rows cost more than they do."""
    return xp is np and groups > 1 and x.dtype.kind in "fc"


def spread(xp: Any, out: Any, y: Any, w: Any, groups: int, windows: Windows) -> None:
    """(n, o, *counts) and (o, c / groups, *kernel) to `out`, (n, c, *sizes): `_correlate`'s adjoint in the input."""
    n, o = y.shape[:2]
    c = w.shape[1] * groups
    places, taps, rest = math.prod(windows.counts), math.prod(windows.kernel), math.prod(windows.counts[1:])
    if not n * places * w.size:
        out[...] = 0
        return
    # Runs take zeros from around `y`, which must not meet an infinite weight.
    if _takes_runs(xp, y, groups) and np.isfinite(w).all() and _spread_runs(out, y, w, groups, windows):
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
    if _takes_runs(xp, x, groups):
        begin = [-p for p in windows.padding]
        runs = Runs(windows.sizes, windows.counts, windows.kernel, begin, windows.stride, windows.dilation)
        if runs.is_dense:
            grads = y.reshape(n, groups, o // groups, *windows.counts)
            grouped = x.reshape(n, groups, c // groups, *windows.sizes)
            _weight_runs(total, grads, grouped, runs)
            # Between the windows a run has zeros for `y`, which may have met an infinite `x`.
            if np.isfinite(total).all():
                return total.reshape(o, c // groups, *windows.kernel)
            total[...] = 0
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

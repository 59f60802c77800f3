"""Convolution and its adjoints, by matrix products over the windows of the input.

Three kernels do all of it: the product with the windows (`_correlate`), its adjoint in the input (`_spread`, which is
transposed convolution too) and its adjoint in the weight (`_correlate_weight`). Each is linear in both operands and the
derivative of one is the others, so second derivatives need nothing more. Windows are copied to columns block by block,
as many as a cache holds; half types are computed in float32 and rounded once.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.pointwise import conjugate
from opweave.registry.promote import common_device
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

Make = Callable[..., Tensor]
Samples = Iterable[tuple[tuple[Any, ...], dict[str, Any]]]
Sizes = Sequence[int]

_TYPES = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
#: Bytes of the columns made at once.
_BLOCK = 1 << 22


# ---- windows -------------------------------------------------------------------------------------------------------


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


def _correlate(xp: Any, x: Any, w: Any, groups: int, windows: Windows) -> Any:
    """(n, c, *sizes) and (o, c / groups, *kernel) to (n, o, *counts): each window times each filter, summed."""
    n, c = x.shape[:2]
    o = w.shape[0]
    places, taps, rest = math.prod(windows.counts), math.prod(windows.kernel), math.prod(windows.counts[1:])
    if not n * places * w.size:
        return xp.zeros((n, o, *windows.counts), x.dtype)
    filters = w.reshape(groups, o // groups, -1)
    if windows.is_identity:
        return xp.matmul(filters, x.reshape(n, groups, c // groups, places)).reshape(n, o, *windows.counts)
    padded = windows.pad(xp, x)
    if c == o == groups:
        return _correlate_each(xp, padded, w, windows)
    out = xp.empty((n, groups, o // groups, places), x.dtype)
    view = windows.view(xp, padded)
    for images, start, stop in windows.blocks(n, c * taps * rest * x.itemsize):
        part = view[(images, slice(None), *(slice(None),) * len(windows.kernel), slice(start, stop))]
        columns = part.reshape(len(part), groups, c // groups * taps, -1)
        out[images, :, :, start * rest : stop * rest] = xp.matmul(filters, columns)
    return out.reshape(n, o, *windows.counts)


def _spread(xp: Any, y: Any, w: Any, groups: int, windows: Windows) -> Any:
    """(n, o, *counts) and (o, c / groups, *kernel) to (n, c, *sizes): the adjoint of `_correlate` in the input."""
    n, o = y.shape[:2]
    c = w.shape[1] * groups
    places, taps, rest = math.prod(windows.counts), math.prod(windows.kernel), math.prod(windows.counts[1:])
    padded = xp.zeros((n, c, *windows.padded), y.dtype)
    if not n * places * w.size:
        return padded[(..., *windows.inside)]
    if c == o == groups:
        for tap in windows.taps():
            padded[windows.at(tap)] += y * w[(slice(None), 0, *tap)].reshape(1, c, *(1,) * len(tap))
        return padded[(..., *windows.inside)]
    filters = w.reshape(groups, o // groups, -1).swapaxes(1, 2)
    columns_of = y.reshape(n, groups, o // groups, places)
    for images, start, stop in windows.blocks(n, c * taps * rest * y.itemsize):
        columns = xp.matmul(filters, columns_of[images, :, :, start * rest : stop * rest])
        columns = columns.reshape(len(columns), c, *windows.kernel, stop - start, *windows.counts[1:])
        target = padded[images]
        for tap in windows.taps():
            target[windows.at(tap, start, stop)] += columns[(slice(None), slice(None), *tap)]
    return padded[(..., *windows.inside)]


def _correlate_weight(xp: Any, y: Any, x: Any, groups: int, windows: Windows) -> Any:
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


def _correlate_each(xp: Any, padded: Any, w: Any, windows: Windows) -> Any:
    """`_correlate` with a filter for each channel: one multiplication and addition for each place of a window."""
    out = xp.zeros((*padded.shape[:2], *windows.counts), padded.dtype)
    for tap in windows.taps():
        out += padded[windows.at(tap)] * w[(slice(None), 0, *tap)].reshape(1, -1, *(1,) * len(tap))
    return out


# ---- rules ---------------------------------------------------------------------------------------------------------


def _spatial(op: str, name: str, values: Sizes, count: int, least: int) -> tuple[int, ...]:
    """A number for each spatial dimension; one stands for all."""
    if len(values) not in (1, count):
        raise ShapeError(f"{op}: {name} must be one number or {count}", got=f"{name}={list(values)}")
    if any(v < least for v in values):
        raise ShapeError(f"{op}: {name} must be at least {least}", got=f"{name}={list(values)}")
    return tuple(values) * (count if len(values) == 1 else 1)


def _counts(op: str, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> tuple[int, ...]:
    """How many windows fit in the padded input."""
    found = []
    for size, k, s, p, d in zip(sizes, kernel, stride, padding, dilation, strict=True):
        reach = d * (k - 1) + 1
        if size + 2 * p < reach:
            raise ShapeError(
                f"{op}: a window of {reach} is larger than the padded input of {size + 2 * p}",
                got=f"sizes={list(sizes)}, kernel={list(kernel)}, padding={list(padding)}, dilation={list(dilation)}",
                hint="use a smaller kernel or more padding",
            )  # fmt: skip
        found.append((size + 2 * p - reach) // s + 1)
    return tuple(found)


def _check_operands(op: str, *operands: Tensor | None) -> None:
    present = [t for t in operands if t is not None]
    first = present[0]._dtype
    if any(t._dtype is not first for t in present):
        raise DTypeError(
            f"{op}: operands must have the same dtype", got=describe(present), hint="convert with .to(dtype)"
        )
    if first is dtypes.bool_:
        raise DTypeError(f"{op}: not defined for bool", got=describe(present))
    common_device(op, present)


def _geometry(
    op: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Sizes, dilation: Sizes,
    transposed: bool, output_padding: Sizes, groups: int,
) -> Windows:  # fmt: skip
    """The windows that the arguments describe, after checking them."""
    spatial = weight.ndim - 2
    operands = [input, weight] if bias is None else [input, weight, bias]
    if spatial < 1:
        raise ShapeError(f"{op}: the weight needs at least one spatial dimension", got=describe(operands))
    if input.ndim != weight.ndim:
        raise ShapeError(
            f"{op}: a {weight.ndim}-d weight needs a {weight.ndim}-d input", got=describe(operands),
            hint="unsqueeze(0) adds a batch dimension",
        )  # fmt: skip
    _check_operands(op, *operands)
    stride, padding = _spatial(op, "stride", stride, spatial, 1), _spatial(op, "padding", padding, spatial, 0)
    dilation = _spatial(op, "dilation", dilation, spatial, 1)
    output_padding = _spatial(op, "output_padding", output_padding, spatial, 0)
    kernel, sizes = weight._sizes[2:], input._sizes[2:]
    if groups < 1:
        raise ShapeError(f"{op}: groups must be at least 1", got=f"groups={groups}")
    if weight._sizes[0] < groups or weight._sizes[0] % groups:
        raise ShapeError(f"{op}: {groups} groups do not divide dimension 0 of the weight", got=describe(operands))
    if any(k == 0 for k in kernel):
        raise ShapeError(f"{op}: the kernel is empty", got=describe(operands))
    wanted = weight._sizes[0] if transposed else weight._sizes[1] * groups
    if input._sizes[1] != wanted:
        raise ShapeError(
            f"{op}: with groups={groups} this weight needs {wanted} input channels, not {input._sizes[1]}",
            got=describe(operands),
        )
    if wanted == 0:
        # PyTorch gives such a result no channels, which is not what the filters say.
        raise UnsupportedError(f"{op}: an input without channels", got=describe(operands))
    channels = weight._sizes[1] * groups if transposed else weight._sizes[0]
    if bias is not None and bias._sizes != (channels,):
        raise ShapeError(f"{op}: the bias must have shape [{channels}]", got=describe(operands))
    if any(size == 0 for size in sizes):
        raise ShapeError(f"{op}: only the batch may be empty", got=describe(operands))
    if not transposed:
        counts = _counts(op, sizes, kernel, stride, padding, dilation)
        return Windows(sizes, counts, kernel, stride, padding, dilation)
    found = []
    for size, k, s, p, d, extra in zip(sizes, kernel, stride, padding, dilation, output_padding, strict=True):
        if extra >= s and extra >= d:
            raise ShapeError(
                f"{op}: output_padding must be smaller than stride or dilation",
                got=f"output_padding={list(output_padding)}, stride={list(stride)}, dilation={list(dilation)}",
            )
        found.append((size - 1) * s - 2 * p + d * (k - 1) + extra + 1)
        if found[-1] < 1:
            raise ShapeError(f"{op}: the result would have size {found[-1]}", got=f"padding={list(padding)}")
    return Windows(found, sizes, kernel, stride, padding, dilation)


# ---- convolution ---------------------------------------------------------------------------------------------------


def _convolution_spec(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Sizes, dilation: Sizes,
    transposed: bool, output_padding: Sizes, groups: int,
) -> TensorSpec:  # fmt: skip
    windows = _geometry(
        "convolution", input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    n = input._sizes[0]
    if transposed:
        return contiguous((n, weight._sizes[1] * groups, *windows.sizes), input._dtype, input._device)
    return contiguous((n, weight._sizes[0], *windows.counts), input._dtype, input._device)


def _computed(t: Tensor) -> Any:
    """The array in the type that it is computed in."""
    compute = t._dtype.compute
    return t._array if compute is t._dtype else t._array.astype(compute.numpy)


def _stored(spec: TensorSpec, values: Any) -> Tensor:
    out = allocate_like(spec)
    with np.errstate(all="ignore"):
        out._array[...] = values
    return out


@extern(
    "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding,"
    " SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    spec=_convolution_spec,
)
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Sizes, dilation: Sizes,
    transposed: bool, output_padding: Sizes, groups: int,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (n, channels, *sizes) with filters; transposed: its adjoint."""
    arguments = input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    spec = _convolution_spec(*arguments)
    windows = _geometry("convolution", *arguments)
    xp = input._device.xp
    with np.errstate(all="ignore"):
        run = _spread if transposed else _correlate
        found = run(xp, _computed(input), xp.ascontiguousarray(_computed(weight)), groups, windows)
        if bias is not None:
            found += _computed(bias).reshape(-1, *(1,) * len(windows.kernel))
    return _stored(spec, found)


def _weight_spec(
    grad_output: Tensor, input: Tensor, weight_sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> TensorSpec:
    _check_operands("convolution_weight", grad_output, input)
    return contiguous(weight_sizes, input._dtype, input._device)


@extern(
    "opweave::convolution_weight(Tensor grad_output, Tensor input, SymInt[] weight_sizes, SymInt[] stride,"
    " SymInt[] padding, SymInt[] dilation, SymInt groups) -> Tensor",
    spec=_weight_spec,
)
def convolution_weight(
    grad_output: Tensor, input: Tensor, weight_sizes: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes, groups: int
) -> Tensor:
    """The adjoint of a convolution (not transposed) in its weight."""
    spec = _weight_spec(grad_output, input, weight_sizes, stride, padding, dilation, groups)
    windows = Windows(input._sizes[2:], grad_output._sizes[2:], weight_sizes[2:], stride, padding, dilation)
    with np.errstate(all="ignore"):
        found = _correlate_weight(input._device.xp, _computed(grad_output), _computed(input), groups, windows)
    return _stored(spec, found)


def _missing(sizes: Sizes, counts: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes) -> list[int]:
    """The output_padding with which a transposed convolution of `counts` gives `sizes`."""
    return [
        size - ((n - 1) * s - 2 * p + d * (k - 1) + 1)
        for size, n, k, s, p, d in zip(sizes, counts, kernel, stride, padding, dilation, strict=True)
    ]


def _first_windows(x: Tensor, sizes: Sizes) -> Tensor:
    """The first places of each spatial dimension: output_padding beyond the stride makes room for more windows."""
    for d in range(2, x.ndim):
        if x._sizes[d] != sizes[d]:
            x = ops.aten.slice.Tensor(x, d, 0, sizes[d])
    return x


@composite(
    "aten::convolution_backward(Tensor grad_output, Tensor input, Tensor weight, SymInt[]? bias_sizes,"
    " SymInt[] stride, SymInt[] padding, SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups,"
    " bool[3] output_mask) -> (Tensor, Tensor, Tensor)",
    explicit=True,
)
def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Sizes | None, stride: Sizes, padding: Sizes,
    dilation: Sizes, transposed: bool, output_padding: Sizes, groups: int, output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    """The gradients of input, weight and bias; None for what `output_mask` leaves out."""
    op = "convolution_backward"
    windows = _geometry(op, input, weight, None, stride, padding, dilation, transposed, output_padding, groups)
    channels = weight._sizes[1] * groups if transposed else weight._sizes[0]
    wanted = (input._sizes[0], channels, *(windows.sizes if transposed else windows.counts))
    _check_operands(op, input, grad_output)
    if input._dtype.kind not in "fc":
        raise DTypeError(f"{op}: defined for floating and complex types only", got=describe([grad_output, input]))
    if grad_output._sizes != wanted:
        raise ShapeError(f"{op}: the gradient must have shape {list(wanted)}", got=describe([grad_output]))
    aten = ops.aten
    steps = list(windows.stride), list(windows.padding), list(windows.dilation)
    none = [0] * len(windows.kernel)
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        extra = none if transposed else _missing(windows.sizes, windows.counts, windows.kernel, *steps)
        filters = conjugate(weight)
        of_input = aten.convolution.default(grad_output, filters, None, *steps, not transposed, extra, groups)
        of_input = _first_windows(of_input, input._sizes)
    if output_mask[1]:
        x, y = conjugate(input), grad_output
        pair = (x, y) if transposed else (y, x)
        of_weight = ops.opweave.convolution_weight.default(*pair, list(weight._sizes), *steps, groups)
    if output_mask[2]:
        of_bias = aten.sum.dim_IntList(grad_output, [0, *range(2, grad_output.ndim)])
    return of_input, of_weight, of_bias


@convolution.backward
def _(
    grad: Tensor, needs: Sequence[bool], input: Tensor, weight: Tensor, bias_spec: TensorSpec | None, stride: Sizes,
    padding: Sizes, dilation: Sizes, transposed: bool, output_padding: Sizes, groups: int,
) -> tuple[Tensor | None, ...]:  # fmt: skip
    found = ops.aten.convolution_backward.default(
        grad, input, weight, None if bias_spec is None else list(bias_spec.sizes), stride, padding, dilation,
        transposed, output_padding, groups, list(needs),
    )  # fmt: skip
    return tuple(found)


def _weight_of_grad_output(
    grad: Tensor, grad_output_spec: TensorSpec, input: Tensor, stride: Sizes, padding: Sizes, dilation: Sizes,
    groups: int,
) -> Tensor:  # fmt: skip
    steps = list(stride), list(padding), list(dilation)
    found = ops.aten.convolution.default(conjugate(input), grad, None, *steps, False, [0] * len(stride), groups)
    return _first_windows(found, grad_output_spec.sizes)


def _weight_of_input(
    grad: Tensor, grad_output: Tensor, input_spec: TensorSpec, weight_sizes: Sizes, stride: Sizes, padding: Sizes,
    dilation: Sizes, groups: int,
) -> Tensor:  # fmt: skip
    steps = list(stride), list(padding), list(dilation)
    extra = _missing(input_spec.sizes[2:], grad_output._sizes[2:], weight_sizes[2:], *steps)
    return ops.aten.convolution.default(conjugate(grad_output), grad, None, *steps, True, extra, groups)


convolution_weight.backward(grad_output=_weight_of_grad_output, input=_weight_of_input)


# ---- the windows themselves ----------------------------------------------------------------------------------------


def _column_windows(
    op: str, self: Tensor, sizes: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Windows:
    """The windows of an image of these two sizes, after checking the arguments."""
    given = {"kernel_size": kernel_size, "dilation": dilation, "padding": padding, "stride": stride, "sizes": sizes}
    for name, values in given.items():
        least = 0 if name == "padding" else 1
        if len(values) != 2 or any(v < least for v in values):
            raise ShapeError(f"{op}: {name} must be two numbers of at least {least}", got=f"{name}={list(values)}")
    if self._dtype.kind not in "fc":
        raise DTypeError(f"{op}: defined for floating and complex types only", got=describe(self))
    counts = _counts(op, sizes, kernel_size, stride, padding, dilation)
    return Windows(sizes, counts, kernel_size, stride, padding, dilation)


def _im2col_spec(self: Tensor, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> TensorSpec:
    if self.ndim not in (3, 4) or any(n == 0 for n in self._sizes[-3:]):
        raise ShapeError(
            "im2col: expected (batch, channels, height, width), only the batch may be empty", got=describe(self)
        )
    windows = _column_windows("im2col", self, self._sizes[-2:], kernel_size, dilation, padding, stride)
    rows = self._sizes[-3] * math.prod(windows.kernel)
    return contiguous((*self._sizes[:-3], rows, math.prod(windows.counts)), self._dtype, self._device)


@extern(
    "aten::im2col(Tensor self, int[2] kernel_size, int[2] dilation, int[2] padding, int[2] stride) -> Tensor",
    spec=_im2col_spec,
)
def im2col(self: Tensor, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Tensor:
    """The windows of an image as columns: (batch, channels * kernel, windows)."""
    spec = _im2col_spec(self, kernel_size, dilation, padding, stride)
    windows = _column_windows("im2col", self, self._sizes[-2:], kernel_size, dilation, padding, stride)
    xp = self._device.xp
    if not spec.numel:
        return allocate_like(spec)
    image = self._array.reshape(-1, *self._sizes[-3:])
    return _stored(spec, windows.view(xp, windows.pad(xp, image)).reshape(spec.sizes))


def _col2im_spec(
    self: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> TensorSpec:
    if self.ndim not in (2, 3) or any(n == 0 for n in self._sizes[-2:]):
        raise ShapeError(
            "col2im: expected (batch, channels * kernel, windows), only the batch may be empty", got=describe(self)
        )
    windows = _column_windows("col2im", self, output_size, kernel_size, dilation, padding, stride)
    rows, count = self._sizes[-2:]
    taps = math.prod(windows.kernel)
    if rows % taps or count != math.prod(windows.counts):
        raise ShapeError(
            f"col2im: expected a multiple of {taps} rows and {math.prod(windows.counts)} windows", got=describe(self)
        )
    return contiguous((*self._sizes[:-2], rows // taps, *output_size), self._dtype, self._device)


@extern(
    "aten::col2im(Tensor self, SymInt[2] output_size, int[2] kernel_size, int[2] dilation, int[2] padding,"
    " int[2] stride) -> Tensor",
    spec=_col2im_spec,
)
def col2im(
    self: Tensor, output_size: Sizes, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Tensor:
    """Columns added up where their elements lie in an image: the adjoint of `im2col`."""
    spec = _col2im_spec(self, output_size, kernel_size, dilation, padding, stride)
    if not spec.numel:
        return allocate_like(spec)
    windows = _column_windows("col2im", self, output_size, kernel_size, dilation, padding, stride)
    columns = _computed(self).reshape(-1, spec.sizes[-3], *windows.kernel, *windows.counts)
    padded = self._device.xp.zeros((*columns.shape[:2], *windows.padded), columns.dtype)
    with np.errstate(all="ignore"):
        for tap in windows.taps():
            padded[windows.at(tap)] += columns[(slice(None), slice(None), *tap)]
    return _stored(spec, padded[(..., *windows.inside)].reshape(spec.sizes))


def _folded(
    grad: Tensor, self_spec: TensorSpec, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes
) -> Tensor:
    return ops.aten.col2im.default(grad, list(self_spec.sizes[-2:]), kernel_size, dilation, padding, stride)


def _unfolded(grad: Tensor, kernel_size: Sizes, dilation: Sizes, padding: Sizes, stride: Sizes) -> Tensor:
    return ops.aten.im2col.default(grad, kernel_size, dilation, padding, stride)


im2col.backward(self=_folded)
col2im.backward(self=_unfolded)


# ---- by number of dimensions ---------------------------------------------------------------------------------------


def _with_batch(op: str, input: Tensor, weight: Tensor, spatial: int, run: Callable[[Tensor], Tensor]) -> Tensor:
    """Run on a batch; an image without one is a batch of one."""
    if weight.ndim != spatial + 2 or input.ndim not in (spatial + 1, spatial + 2):
        raise ShapeError(
            f"{op}: expected (channels, ...) or (batch, channels, ...) with {spatial} spatial dimensions, and a weight"
            f" of {spatial + 2} dimensions",
            got=describe([input, weight]),
        )
    if input.ndim == spatial + 2:
        return run(input)
    return ops.aten.squeeze.dim(run(ops.aten.unsqueeze.default(input, 0)), 0)


def _declare(spatial: int) -> None:
    """`conv1d` and so on, also with a padding that is a word, and their adjoints."""
    name, sizes = f"conv{spatial}d", f"SymInt[{spatial}]"
    none = [0] * spatial

    @composite(
        f"aten::{name}(Tensor input, Tensor weight, Tensor? bias=None, {sizes} stride=1, {sizes} padding=0,"
        f" {sizes} dilation=1, SymInt groups=1) -> Tensor"
    )
    def direct(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = (1,), padding: Sizes = (0,),
        dilation: Sizes = (1,), groups: int = 1,
    ) -> Tensor:  # fmt: skip
        steps = list(stride), list(padding), list(dilation)
        run = ops.aten.convolution.default
        return _with_batch(name, input, weight, spatial, lambda x: run(x, weight, bias, *steps, False, none, groups))

    @composite(
        f"aten::{name}.padding(Tensor input, Tensor weight, Tensor? bias=None, {sizes} stride=1,"
        f' str padding="valid", {sizes} dilation=1, SymInt groups=1) -> Tensor'
    )
    def named(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = (1,), padding: str = "valid",
        dilation: Sizes = (1,), groups: int = 1,
    ) -> Tensor:  # fmt: skip
        if padding not in ("valid", "same"):
            raise ArgumentError(f"{name}: unknown padding", got=repr(padding), hint="'valid', 'same' or numbers")
        _with_batch(name, input, weight, spatial, lambda x: x)
        sides = none
        if padding == "same":
            if any(s != 1 for s in stride):
                raise ShapeError(f"{name}: padding='same' needs stride 1", got=f"stride={list(stride)}")
            spread = _spatial(name, "dilation", dilation, spatial, 1)
            totals = [d * (k - 1) for d, k in zip(spread, weight._sizes[2:], strict=True)]
            sides = [total // 2 for total in totals]
            if any(total % 2 for total in totals):
                # What cannot be halved goes behind, as in PyTorch.
                behind = [n for total in reversed(totals) for n in (0, total % 2)]
                input = ops.aten.constant_pad_nd.default(input, behind)
        return direct.body(input, weight, bias, stride, sides, dilation, groups)

    adjoint = f"conv_transpose{spatial}d"
    overload = "" if spatial == 1 else ".input"

    @composite(
        f"aten::{adjoint}{overload}(Tensor input, Tensor weight, Tensor? bias=None, {sizes} stride=1,"
        f" {sizes} padding=0, {sizes} output_padding=0, SymInt groups=1, {sizes} dilation=1) -> Tensor"
    )
    def transposed(
        input: Tensor, weight: Tensor, bias: Tensor | None = None, stride: Sizes = (1,), padding: Sizes = (0,),
        output_padding: Sizes = (0,), groups: int = 1, dilation: Sizes = (1,),
    ) -> Tensor:  # fmt: skip
        steps = list(stride), list(padding), list(dilation)
        extra = list(output_padding)
        run = ops.aten.convolution.default
        return _with_batch(adjoint, input, weight, spatial, lambda x: run(x, weight, bias, *steps, True, extra, groups))

    image, filters = (2, 4, 7, 6, 5)[: spatial + 2], (3, 2, 2)[:spatial]

    @direct.with_samples
    def _(make: Make) -> Samples:
        yield (make(*image), make(6, 2, *filters), make(6), [2], [1], [1], 2), {}
        yield (make(*image[1:]), make(6, 4, *filters)), {}

    @named.with_samples
    def _(make: Make) -> Samples:
        yield (make(*image), make(6, 4, *filters), None, [1], "same", [1]), {}
        yield (make(*image[1:]), make(6, 4, *filters), make(6), [2], "valid"), {}

    @transposed.with_samples
    def _(make: Make) -> Samples:
        yield (make(*image), make(4, 3, *filters), make(6), [2], [1], [1], 2), {}
        # Few terms an element: PyTorch adds some of these up in half types.
        yield (make(2, *image[2:]), make(2, 3, *filters), None, [2]), {}

    for decl in (direct, named, transposed):
        decl.sample_dtypes = _TYPES


for _count in (1, 2, 3):
    _declare(_count)


# ---- samples -------------------------------------------------------------------------------------------------------


def _cases() -> Iterator[tuple[Any, ...]]:
    """(input sizes, weight sizes, bias, stride, padding, dilation, transposed, output_padding, groups)."""
    yield (2, 3, 6, 5), (4, 3, 3, 2), 4, [1, 1], [0, 0], [1, 1], False, [0, 0], 1
    yield (2, 3, 6, 5), (3, 2, 3, 2), 2, [2, 1], [1, 0], [1, 1], True, [1, 0], 1
    yield (2, 4, 7, 6), (6, 2, 3, 3), None, [2, 1], [1, 2], [2, 1], False, [0, 0], 2
    yield (1, 4, 3, 4), (4, 3, 2, 3), 6, [2, 3], [1, 1], [1, 2], True, [1, 1], 2
    yield (2, 3, 5), (4, 3, 1), None, [1], [0], [1], False, [0], 1
    yield (2, 3, 8), (3, 1, 3), 3, [2], [1], [1], False, [0], 3
    yield (2, 3, 4), (3, 1, 3), 3, [2], [1], [1], True, [1], 3
    yield (1, 2, 4, 3, 4), (3, 2, 2, 2, 3), 3, [1, 1, 2], [0, 1, 1], [1, 1, 1], False, [0, 0, 0], 1
    yield (0, 3, 5, 5), (2, 3, 3, 3), 2, [1, 1], [1, 1], [1, 1], False, [0, 0], 1


@convolution.with_samples
def _(make: Make) -> Samples:
    for x, w, bias, *rest in _cases():
        yield (make(*x), make(*w), None if bias is None else make(bias), *rest), {}


@convolution_backward.with_samples
def _(make: Make) -> Samples:
    for x, w, bias, *rest in _cases():
        operands = make(*x), make(*w)
        sizes = _convolution_spec(*operands, None, *rest).sizes
        yield (make(*sizes), *operands, None if bias is None else [bias], *rest, [True, True, True]), {}


@convolution_weight.with_samples
def _(make: Make) -> Samples:
    for x, w, _, stride, padding, dilation, transposed, extra, groups in _cases():
        if not transposed:
            spec = _convolution_spec(make(*x), make(*w), None, stride, padding, dilation, False, extra, groups)
            yield (make(*spec.sizes), make(*x), list(w), stride, padding, dilation, groups), {}


@im2col.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3, 6, 5), [3, 2], [1, 1], [0, 0], [1, 1]), {}
    yield (make(3, 6, 5), [2, 3], [2, 1], [1, 2], [2, 1]), {}
    yield (make(0, 3, 6, 5), [2, 2], [1, 1], [0, 0], [1, 1]), {}


@col2im.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 18, 16), [6, 5], [3, 2], [1, 1], [0, 0], [1, 1]), {}
    yield (make(18, 21), [6, 5], [2, 3], [2, 1], [1, 2], [2, 1]), {}
    yield (make(0, 12, 20), [6, 5], [2, 2], [1, 1], [0, 0], [1, 1]), {}


for _decl in (convolution, convolution_backward, convolution_weight, im2col, col2im):
    _decl.sample_dtypes = _TYPES

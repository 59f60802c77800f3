"""Convolution and its adjoints, as products of the windows of the input.

There are three: the product with the windows, its adjoint in the input, which is transposed convolution too, and its
adjoint in the weight. Each is linear in both operands and the derivative of one is the others, so second derivatives
need nothing more. On the CPU native code has them (`native`); what it has not, `registry/ops/windows.py` computes by
products of arrays. Half types are computed in float32 and rounded once.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level, make_batched
from opweave.registry.batching import bound, call, check_example, is_at, joined, one_by_one, parted, stretched, wrap
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import ArgumentError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.hooks import Hook
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.copies import format_of, laid_out, spec_like
from opweave.registry.ops.gradients import conjugate
from opweave.registry.ops.kinds import composite, extern
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.ops.windows import Windows, correlate, correlate_innermost, correlate_weight, spread
from opweave.registry.promote import common_device
from opweave.registry.scalar import converted
from opweave.registry.spec import TensorSpec, contiguous, is_contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

Sizes = Sequence[int]

#: Writes a convolution or an adjoint on the CPU: form, result, operands, bias, groups and windows. `opweave` supplies
#: it. It has no other types than `_TYPES`, and three spatial dimensions at most.
native: Hook[[str, Tensor, Tensor, Tensor, Tensor | None, int, Sizes, Sizes, Sizes], None] = Hook()

_TYPES = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)
_WHOLE = frozenset({int})


# ---- rules ---------------------------------------------------------------------------------------------------------


def _spatial(op: str, name: str, values: Sizes, count: int, least: int) -> tuple[int, ...]:
    """A number for each spatial dimension; one stands for all."""
    if len(values) not in (1, count):
        raise ShapeError(f"{op}: {name} must be one number or {count}", got=f"{name}={list(values)}")
    if any(v < least for v in values):
        raise ShapeError(f"{op}: {name} must be at least {least}", got=f"{name}={list(values)}")
    return tuple(values) * (count if len(values) == 1 else 1)


def window_counts(
    op: str, sizes: Sizes, kernel: Sizes, stride: Sizes, padding: Sizes, dilation: Sizes
) -> tuple[int, ...]:
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
    if [t for t in present if t._dtype is not first]:
        raise DTypeError(
            f"{op}: operands must have the same dtype", got=describe(present), hint="convert with .to(dtype)"
        )
    if first is dtypes.bool_:
        raise DTypeError(f"{op}: not defined for bool", got=describe(present))
    if [t for t in present if t._device is not present[0]._device]:
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
            hint="in_channels of the layer is the size of dimension 1 of the input, (batch, channels, ...)",
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
        counts = window_counts(op, sizes, kernel, stride, padding, dilation)
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
    found = (weight._sizes[1] * groups, *windows.sizes) if transposed else (weight._sizes[0], *windows.counts)
    return spec_like(input, (input._sizes[0], *found), format_of(input, weight))


class _Given:
    """What is known of an operand without its numbers; in messages it looks like a tensor."""

    __slots__ = ("_device", "_dtype", "_sizes", "_strides", "ndim")

    def __init__(self, sizes: Sizes, strides: Sizes, dtype: DType, device: Device) -> None:
        self._sizes, self._strides, self._dtype, self._device, self.ndim = sizes, strides, dtype, device, len(sizes)

    def __repr__(self) -> str:
        place = "" if self._device.is_host else f" on {self._device}"
        return f"{self._dtype.short}[{', '.join(map(str, self._sizes))}]{place}"


def _outline(t: Tensor) -> tuple[Any, ...]:
    return t._sizes, t._strides, t._dtype, t._device


@functools.lru_cache(maxsize=1024)
def _known(op: str, outlines: tuple[Any, ...], *steps: Any) -> tuple[TensorSpec, Windows]:
    """The result of tensors with data, and its windows, by what is known of the operands."""
    operands: list[Any] = [None if outline is None else _Given(*outline) for outline in outlines]
    windows = _geometry(op, *operands, *steps)
    input, weight, *_ = operands
    transposed, groups = steps[3], steps[5]
    found = (weight._sizes[1] * groups, *windows.sizes) if transposed else (weight._sizes[0], *windows.counts)
    return spec_like(input, (input._sizes[0], *found), format_of(input, weight)), windows


def _planned(
    op: str, input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Sizes, dilation: Sizes,
    transposed: bool, output_padding: Sizes, groups: int,
) -> tuple[TensorSpec, Windows]:  # fmt: skip
    """`_known`, of the same arguments as `_geometry`."""
    steps = tuple(stride), tuple(padding), tuple(dilation), transposed, tuple(output_padding), groups
    device = input._device
    if weight._device is not device or (bias is not None and bias._device is not device):
        _geometry(op, input, weight, bias, *steps)  # which refuses them
    return _known(op, (_outline(input), _outline(weight), None if bias is None else _outline(bias)), *steps)


def computed(t: Tensor) -> Any:
    """The array in the type that it is computed in."""
    compute = t._dtype.compute
    return t._array if compute is t._dtype else converted(t._array, compute.numpy)


def stored(spec: TensorSpec, values: Any) -> Tensor:
    out = allocate_like(spec)
    with np.errstate(all="ignore"):
        out._array[...] = values
    return out


def _is_native(t: Tensor, windows: Windows) -> bool:
    return t._device.type == "cpu" and t._dtype in _TYPES and len(windows.kernel) <= 3


@extern(
    "aten::convolution(Tensor input, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding,"
    " SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor",
    spec=_convolution_spec,
    autocast={"cuda": "lower_precision_fp"},
    outs="out",
)
def convolution(
    input: Tensor, weight: Tensor, bias: Tensor | None, stride: Sizes, padding: Sizes, dilation: Sizes,
    transposed: bool, output_padding: Sizes, groups: int,
) -> Tensor:  # fmt: skip
    """Cross-correlation of (n, channels, *sizes) with filters; transposed: its adjoint."""
    spec, windows = _planned(
        "convolution", input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )
    if native.call is not None and _is_native(input, windows):
        out = allocate_like(spec)
        form = "input" if transposed else "forward"
        native.call(form, out, input, weight, bias, groups, windows.stride, windows.padding, windows.dilation)
        return out
    xp = input._device.xp
    with np.errstate(all="ignore"):
        out = allocate_like(spec)
        compute = spec.dtype.compute
        x, w = computed(input), computed(weight)
        innermost = not is_contiguous(spec.sizes, spec.strides)
        found = out._array
        if compute is not spec.dtype or innermost and (transposed or groups > 1):
            found = xp.empty(spec.sizes, compute.numpy)
            innermost = False
        if innermost:
            correlate_innermost(xp, xp.moveaxis(found, 1, -1), xp.moveaxis(x, 1, -1), w, windows)
        else:
            (spread if transposed else correlate)(xp, found, x, xp.ascontiguousarray(w), groups, windows)
        if bias is not None:
            found += computed(bias).reshape(-1, *(1,) * len(windows.kernel))
        if found is not out._array:
            out._array[...] = found
    return out


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
    if native.call is not None and _is_native(input, windows):
        out = allocate_like(spec)
        native.call("weight", out, grad_output, input, None, groups, windows.stride, windows.padding, windows.dilation)
        return out
    with np.errstate(all="ignore"):
        found = correlate_weight(input._device.xp, computed(grad_output), computed(input), groups, windows)
    return stored(spec, found)


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
    outs=("out", "out0", "out1", "out2"),
)
def convolution_backward(
    grad_output: Tensor, input: Tensor, weight: Tensor, bias_sizes: Sizes | None, stride: Sizes, padding: Sizes,
    dilation: Sizes, transposed: bool, output_padding: Sizes, groups: int, output_mask: Sequence[bool],
) -> tuple[Tensor | None, Tensor | None, Tensor | None]:  # fmt: skip
    """The gradients of input, weight and bias; None for what `output_mask` leaves out."""
    op = "convolution_backward"
    steps = stride, padding, dilation, transposed, output_padding, groups
    if _WHOLE.issuperset(map(type, (*input._sizes, *weight._sizes))):
        _, windows = _planned(op, input, weight, None, *steps)
    else:
        windows = _geometry(op, input, weight, None, *steps)
    channels = weight._sizes[1] * groups if transposed else weight._sizes[0]
    wanted = (input._sizes[0], channels, *(windows.sizes if transposed else windows.counts))
    _check_operands(op, input, grad_output)
    if input._dtype.kind not in "fc":
        raise DTypeError(f"{op}: defined for floating and complex types only", got=describe([grad_output, input]))
    if grad_output._sizes != wanted:
        raise ShapeError(f"{op}: the gradient must have shape {list(wanted)}", got=describe([grad_output]))
    aten, layout = ops.aten, format_of(input, weight)
    steps = list(windows.stride), list(windows.padding), list(windows.dilation)
    none = [0] * len(windows.kernel)
    of_input = of_weight = of_bias = None
    if output_mask[0]:
        extra = none if transposed else _missing(windows.sizes, windows.counts, windows.kernel, *steps)
        filters = conjugate(weight)
        of_input = aten.convolution.default(grad_output, filters, None, *steps, not transposed, extra, groups)
        of_input = laid_out(_first_windows(of_input, input._sizes), layout)
    if output_mask[1]:
        x, y = conjugate(input), grad_output
        pair = (x, y) if transposed else (y, x)
        of_weight = ops.opweave.convolution_weight.default(*pair, list(weight._sizes), *steps, groups)
        of_weight = laid_out(of_weight, layout)
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


@convolution.batching
def _convolution(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    x, weight, bias = values["input"], values["weight"], values["bias"]
    if not level.size:
        return one_by_one(op, level, args, kwargs)
    aten = ops.aten
    late = is_at(weight, level) or is_at(bias, level)
    values["bias"] = None if late else bias
    if is_at(weight, level):
        # The examples are groups of channels of one convolution.
        values["input"] = _as_channels(x, level)
        values["weight"] = joined(weight, level)
        values["groups"] = values["groups"] * level.size
        found = call(op, values)
        count, channels = found._sizes[:2]
        shape = [count, level.size, channels // level.size, *found._sizes[2:]]
        result = make_batched(aten.view.default(found, shape), 1, level)
    elif is_at(x, level):
        values["input"] = joined(x, level)
        result = wrap(parted(call(op, values), level), level)
    else:
        result = call(op, values)
    if late and bias is not None:
        result = aten.add.Tensor(result, aten.view.default(bias, [-1, *[1] * (x.ndim - 2)]))
    return result


def _as_channels(t: Tensor, level: Level) -> Tensor:
    """Examples and channels of an image as one dimension."""
    whole = ops.aten.movedim.int(stretched(t, level), 0, 1)
    return ops.aten.reshape.default(whole, [t._sizes[0], level.size * t._sizes[1], *t._sizes[2:]])


@convolution_weight.batching
def _convolution_weight(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    if not level.size:
        return one_by_one(op, level, args, kwargs)
    values = bound(op, args, kwargs)
    for name in ("grad_output", "input"):
        values[name] = _as_channels(values[name], level)
    rows, *rest = values["weight_sizes"]
    values["weight_sizes"] = [rows * level.size, *rest]
    values["groups"] = values["groups"] * level.size
    return wrap(parted(call(op, values), level), level)


# ---- by number of dimensions ---------------------------------------------------------------------------------------


def _with_batch(op: str, input: Tensor, weight: Tensor, spatial: int, run: Callable[[Tensor], Tensor]) -> Tensor:
    """Run on a batch; an image without one is a batch of one."""
    if weight.ndim != spatial + 2 or input.ndim not in (spatial + 1, spatial + 2):
        raise ShapeError(
            f"{op}: expected (channels, ...) or (batch, channels, ...) with {spatial} spatial dimensions, and a weight"
            f" of {spatial + 2} dimensions",
            got=describe([input, weight]),
            hint="x.unsqueeze(0) adds a dimension",
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
        f" {sizes} dilation=1, SymInt groups=1) -> Tensor",
        autocast="lower_precision_fp",
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
        f' str padding="valid", {sizes} dilation=1, SymInt groups=1) -> Tensor',
        autocast={"cpu": "lower_precision_fp"},
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
            spacing = _spatial(name, "dilation", dilation, spatial, 1)
            totals = [d * (k - 1) for d, k in zip(spacing, weight._sizes[2:], strict=True)]
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
        f" {sizes} padding=0, {sizes} output_padding=0, SymInt groups=1, {sizes} dilation=1) -> Tensor",
        autocast="lower_precision_fp",
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


for _decl in (convolution, convolution_backward, convolution_weight):
    _decl.sample_dtypes = _TYPES

"""Convolutions on the CPU as correlations, which native code computes (`codegen/native/correlation.py`).

There are three: a convolution; its adjoint in the input, which is transposed convolution too, as a correlation for each
phase of the stride; and its adjoint in the weight. Each is a few words that say where operands lie, and nothing is
copied first. All results are the same with any number of threads.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from opweave.registry import dtypes
from opweave.registry.dtypes import DType
from opweave.registry.loading import load_heavy
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

if TYPE_CHECKING:
    from opweave.tracer.graph import Node

#: What is computed natively, and LLVM's name of it.
STORED = {
    dtypes.float32: "float", dtypes.float64: "double", dtypes.float16: "half", dtypes.bfloat16: "bfloat",
}  # fmt: skip
#: The most spatial dimensions.
_DIMS = 3

#: What native code does with the words (`correlation.CORRELATE` and so on).
_CORRELATE, _WEIGHT, _DEPTHWISE, _DEPTHWISE_WEIGHT, _DEPTHWISE_ADJOINT, _SPREAD = range(6)
#: The most filters of each channel that are correlated one by one.
_FEW = 4
#: The fewest filters whose products are worth to be added up after, for few channels and for others, twice as many
#: where a stride is so long that results are stored one by one; the fewest channels for a correlation; the most taps.
_THIN, _THICK, _LONG, _NARROW, _WIDE = 8, 32, 3, 4, 1024
#: How many results a place has, for each of them to have fewer products by places than by results.
_MORE = 1.3
#: The fewest images whose places lie side by side while they are correlated, the fewest numbers that a place of all of
#: them has, and the most places of an image: what their taps do not see is left out (`correlation.turning`).
_MANY, _WORK, _SMALL = 4, 2048, 256
#: The address of a tensor, its sizes and its strides; whole numbers, or what stands for them.
Operand = tuple[Any, Sequence[Any], Sequence[Any]]


#: Stride, padding and dilation: each a number for each spatial dimension, at most three of them.
Steps = Sequence[Sequence[int]]


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
    stride, padding, _ = steps
    if kernel == 1:
        # Between the windows nothing is seen.
        low, high = -(-padding // stride), (size + (padding - 1)) // stride + 1
        return _Axis(count, 1, 1, 1, low, high, of * stride, to, by, of * -padding)
    return _whole(count, size, kernel, steps, of, to, by)


def _whole(count: Any, size: Any, kernel: Any, steps: tuple[int, int, int], of: Any, to: Any, by: Any) -> _Axis:
    stride, padding, dilation = steps
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
        low, high = -last, count - last
        first, least = of * last, by * taps[0]
        found.append(
            _Axis(
                places, 1, len(taps), each * dilation // stride, low, high, of, apart, by * -each, first, begin, least
            )
        )
    return found


def _seen(axis: _Axis) -> _Axis:
    """The same without the first and the last taps that see nothing from any place."""
    count, step, taps, dstep, low, high = axis[:6]
    if taps <= 1 or any(type(n) is not int for n in (count, low, high)):
        return axis

    def sees(tap: int) -> bool:
        place = max(-((tap * dstep - low) // step), 0)
        return place < count and place * step + tap * dstep < high

    found = [tap for tap in range(taps) if sees(tap)] or [0]
    first = found[0]
    gone = first * dstep
    return axis._replace(
        taps=found[-1] + 1 - first, low=low - gone, high=high - gone, first=axis.first + axis.of * gone,
        least=axis.least + axis.by * first,
    )  # fmt: skip


def correlations(
    item: int, out: Operand, x: Operand, w: Operand, bias: Operand | None, groups: int, steps: Steps
) -> list[Any]:
    """A convolution: (n, c, *sizes) with (o, c / groups, *kernel) to (n, o, *counts).

    Parameters
    ----------
    item : int
        Bytes of an element.
    out, x, w : Operand
        The result, the input and the weight.
    bias : Operand or None
        What is added to each channel.
    groups, steps
        As for `aten.convolution`.

    Returns
    -------
    list of tuple
        The words of each correlation.
    """
    axes = [
        _seen(_forward(count, size, kernel, each, of, to, by))
        for count, size, kernel, each, of, to, by in zip(
            out[1][2:], x[1][2:], w[1][2:], zip(*steps, strict=True), x[2][2:], out[2][2:], w[2][2:], strict=True
        )
    ]
    o, c = _each(w[1][0], groups), w[1][1]
    return [_words(_kind(_CORRELATE, o, c, groups), item, x, w, out, bias, groups, o, c, o, w[2][0], w[2][1], axes)]


def adjoints(
    item: int, out: Operand, y: Operand, w: Operand, bias: Operand | None, groups: int, steps: Steps
) -> list[Any]:
    """The adjoint of a convolution in its input: (n, o, *counts) with (o, c / groups, *kernel) to (n, c, *sizes).

    Parameters and result are those of `correlations`.
    """
    o, c = _each(w[1][0], groups), w[1][1]
    lone = _kind(_CORRELATE, o, c, groups) == _DEPTHWISE
    # Channels that lie side by side are correlated for each phase where they are.
    beside = all(type(each[2][1]) is int and each[2][1] == 1 for each in (out, y))
    if lone and not beside and len(steps[0]) < _DIMS and any(stride > 1 for stride in steps[0]):
        axes = [
            _whole(count, size, kernel, each, of, to, by)
            for count, size, kernel, each, of, to, by in zip(
                y[1][2:], out[1][2:], w[1][2:], zip(*steps, strict=True), out[2][2:], y[2][2:], w[2][2:], strict=True
            )
        ]
        given = out, w, y, bias, groups, o, c, o, w[2][0], w[2][1], axes
        return [_words(_DEPTHWISE_ADJOINT, item, *given)]
    if not lone and _is_spread(w, o, c, steps, _is_more(out[1][0], o * math.prod(w[1][2:]), out[1][2:], y[1][2:])):
        axes = [
            _whole(count, size, kernel, each, of, to, 0)._replace(first=0)
            for count, size, kernel, each, of, to in zip(
                y[1][2:], out[1][2:], w[1][2:], zip(*steps, strict=True), y[2][2:], out[2][2:], strict=True
            )
        ]
        return [_words(_SPREAD, item, y, w, out, bias, groups, c, o, o, w[2][1], w[2][0], axes)]
    phases = [
        [_seen(axis) for axis in _phases(count, size, kernel, each, of, to, by)]
        for count, size, kernel, each, of, to, by in zip(
            y[1][2:], out[1][2:], w[1][2:], zip(*steps, strict=True), y[2][2:], out[2][2:], w[2][2:], strict=True
        )
    ]
    kind = _kind(_CORRELATE, c, o, groups)
    return [
        _words(kind, item, y, w, out, bias, groups, c, o, o, w[2][1], w[2][0], axes)
        for axes in itertools.product(*phases)
    ]


def _is_more(n: Any, terms: Any, sizes: Sequence[Any], counts: Sequence[Any]) -> bool:
    if any(type(size) is not int for size in (n, terms, *sizes, *counts)):
        return False
    if n >= _MANY and n * terms >= _WORK and math.prod(sizes) <= _SMALL:
        return False
    return math.prod(sizes) > _MORE * math.prod(counts)


def _is_spread(w: Operand, filters: Any, channels: Any, steps: Steps, more: bool) -> bool:
    """Whether an adjoint is one product: for phases, few channels or more results (`more`), of filters in order."""
    if type(filters) is not int or type(channels) is not int:
        return False
    if all(stride == 1 for stride in steps[0]) and channels >= _NARROW and not more:
        return False
    side = 1
    for size, stride in zip(reversed(w[1][1:]), reversed(w[2][1:]), strict=True):
        if type(stride) is not int or (size != 1 and stride != side):
            return False
        side *= size
    least = _THIN if channels < _NARROW else 2 * _THICK if steps[0][-1] >= _LONG else _THICK
    return filters >= least and side // channels <= _WIDE


def weight_adjoints(item: int, out: Operand, y: Operand, x: Operand, groups: int, steps: Steps) -> list[Any]:
    """The adjoint in the weight: (n, o, *counts) and (n, c, *sizes) to (o, c / groups, *kernel), as `correlations`."""
    axes = [
        _forward(count, size, kernel, each, of, to, by)
        for count, size, kernel, each, of, to, by in zip(
            y[1][2:], x[1][2:], out[1][2:], zip(*steps, strict=True), x[2][2:], y[2][2:], out[2][2:], strict=True
        )
    ]
    o, c = _each(out[1][0], groups), out[1][1]
    return [_words(_kind(_WEIGHT, o, c, groups), item, x, out, y, None, groups, o, c, o, out[2][0], out[2][1], axes)]


def _each(channels: Any, groups: int) -> Any:
    return channels if groups == 1 else channels // groups


def _kind(kind: int, rows: Any, channels: Any, groups: int) -> int:
    lone = groups > 1 and type(channels) is int and channels == 1 and type(rows) is int and rows <= _FEW
    return kind + _DEPTHWISE if lone else kind


def _words(
    kind: int, item: int, x: Operand, w: Operand, out: Operand, bias: Operand | None, groups: int, rows: Any,
    channels: Any, filters: Any, w_row: Any, w_channel: Any, axes: Sequence[_Axis],
) -> tuple[Any, ...]:  # fmt: skip
    """The words of `correlation.FIELDS`; a group has `filters` of the weight."""
    first = begin = least = 0
    added, apart = (0, 0) if bias is None else (bias[0], bias[2][0])
    for axis in axes:
        first, begin, least = first + axis.first, begin + axis.begin, least + axis.least
    words: list[Any] = [
        kind, x[0] + first * item, w[0] + least * item, out[0] + begin * item, added, apart, x[1][0], groups, rows,
        channels, x[2][0], x[2][1] * channels, x[2][1], w[2][0] * filters, w_row, w_channel, out[2][0],
        out[2][1] * rows, out[2][1],
    ]  # fmt: skip
    for axis in (*[_LONE] * (3 - len(axes)), *axes):
        words += axis[:9]
    return tuple(words)


# ---- calls ---------------------------------------------------------------------------------------------------------


def _weight_adjoints(item: int, out: Operand, y: Operand, x: Operand, _: Any, groups: int, steps: Steps) -> list[Any]:
    return weight_adjoints(item, out, y, x, groups, steps)


_WORDS = 46
_FORMS: dict[str, Callable[..., list[Any]]] = {
    "forward": correlations,
    "input": adjoints,
    "weight": _weight_adjoints,
}


def words_of(
    form: str, dtype: DType, out: Operand, a: Operand, b: Operand, bias: Operand | None, groups: int, steps: Steps
) -> list[tuple[Any, ...]]:
    """A convolution or an adjoint as native code is told of it.

    Parameters
    ----------
    form : {"forward", "input", "weight"}
        `correlations` of `a` and a weight `b`, `adjoints` of them, or `weight_adjoints` of results `a` and an input.
    dtype : DType
        One of `STORED`.
    out, a, b, bias, groups, steps
        As there.
    """
    return _FORMS[form](dtype.itemsize, out, a, b, bias, groups, steps)


def takes(dtype: DType, dims: int) -> bool:
    """Whether native code has it, of so many spatial dimensions."""
    return dtype in STORED and 1 <= dims <= _DIMS


def convolve(
    form: str, out: Tensor, a: Tensor, b: Tensor, bias: Tensor | None, groups: int, *steps: Sequence[int]
) -> None:
    """Write a convolution or an adjoint; see `words_of`. Tensors are on the CPU."""
    operands = (out._sizes, out._strides), (a._sizes, a._strides), (b._sizes, b._strides)
    apart = None if bias is None else bias._strides
    places, added = (out.data_ptr(), a.data_ptr(), b.data_ptr()), 0 if bias is None else bias.data_ptr()
    known = form, out._dtype, (*operands, apart), groups, tuple(map(tuple, steps))
    plan = _plan(*known)
    if plan is not None:
        plan.run(places[1], places[2], places[0], added)
        return
    function = _native(STORED[out._dtype]).call
    for kind, (x, w, y), first, least, begin, _, *rest in _offsets(*known):
        function(kind, places[x] + first, places[w] + least, places[y] + begin, added, *rest)


def run(
    form: str, dtype: DType, out: Operand, a: Operand, b: Operand, bias: Operand | None, groups: int,
    *steps: Sequence[int],
) -> None:  # fmt: skip
    """`convolve` of what is at addresses."""
    planned = plan_of(form, dtype, out, a, b, bias, groups, steps)
    if planned is not None:
        planned.run(a[0], b[0], out[0], 0 if bias is None else bias[0])
    else:
        _make(form, dtype, out, a, b, bias, groups, steps)


def _make(
    form: str, dtype: DType, out: Operand, a: Operand, b: Operand, bias: Operand | None, groups: int, steps: Steps
) -> None:
    function = _native(STORED[dtype]).call
    for words in words_of(form, dtype, out, a, b, bias, groups, steps):
        function(*words)


@functools.lru_cache(maxsize=1024)
def _offsets(form: str, dtype: DType, operands: tuple[Any, ...], groups: int, steps: Steps) -> list[Any]:
    """The words of operands that begin at 0, and which of them input, weight and output of a correlation are."""
    out, a, b = ((0, *operand) for operand in operands[:3])
    bias = None if operands[3] is None else (0, (), operands[3])
    found: list[Any] = []
    for kind, *rest in words_of(form, dtype, out, a, b, bias, groups, steps):
        roles = (2, 0, 1) if form == "weight" else (0, 2, 1) if kind == _DEPTHWISE_ADJOINT else (1, 2, 0)
        found.append((kind, roles, *rest))
    return found


def plan_of(
    form: str, dtype: DType, out: Operand, a: Operand, b: Operand, bias: Operand | None, groups: int, steps: Steps
) -> Any:
    """The plan of oneDNN (`onednn.Plan`) that a convolution is made by; None where native code of one's own makes it.

    The parameters are those of `words_of`; sizes may be symbols.
    """
    if not _has_library():
        return None
    layouts = [(tuple(sizes), tuple(strides)) for _, sizes, strides in (out, a, b)]
    apart = None if bias is None else tuple(bias[2])
    if any(type(n) is not int for n in itertools.chain(*itertools.chain(*layouts), apart or ())):
        return None
    return _plan(form, dtype, (*layouts, apart), groups, tuple(map(tuple, steps)))


def _multiplications(form: str, out: Sequence[int], a: Sequence[int], b: Sequence[int]) -> int:
    """Of a convolution or an adjoint: each number of a weight and each place that it is at."""
    weight, places = (out, a) if form == "weight" else (b, out if form == "forward" else a)
    return math.prod(weight) * places[0] * math.prod(places[2:])


@functools.cache
def _has_library() -> bool:
    return load_heavy("opweave.codegen.onednn").where() is not None


@functools.lru_cache(maxsize=1024)
def _plan(form: str, dtype: DType, operands: tuple[Any, ...], groups: int, steps: tuple[tuple[int, ...], ...]) -> Any:
    if not _has_library():
        return None
    out, a, b, bias = operands
    if bias is not None and bias != (1,):
        return None

    onednn = load_heavy("opweave.codegen.onednn.choice")

    def ours(problem: Any, a_at: int, b_at: int, out_at: int, bias_at: int) -> None:
        added = (bias_at, problem.out[0][1:2], (1,)) if problem.bias else None
        given = (out_at, *problem.out), (a_at, *problem.a), (b_at, *problem.b)
        _make(form, dtype, given[0], given[1], given[2], added, groups, steps)

    problem = onednn.Problem(form, dtype, out, a, b, bias is not None, groups, steps)
    return onednn.plan_of(problem, _multiplications(form, out[0], a[0], b[0]), ours)


def address(dtype: DType) -> int:
    """Of `i32 convolve(ptr words)`."""
    return _native(STORED[dtype]).address


def symbol(dtype: DType) -> str:
    """The name of the same."""
    return f"opweave_convolve_{STORED[dtype]}"


class _Native(NamedTuple):
    call: Callable[..., None]
    address: int


@functools.cache
def _native(stored: str) -> _Native:
    launch, pool = (load_heavy(f"opweave.codegen.native.{name}") for name in ("launch", "pool"))
    name = f"opweave_convolve_{stored}"
    loaded = _code(stored).load((name, f"{name}_run"), {"opweave_run": pool.run_address()})
    return _Native(
        launch.words_function("convolutions", _WORDS, loaded.address(f"{name}_run"), loaded), loaded.address(name)
    )


def source(dtype: DType, machine: Any) -> str:
    """The LLVM IR of `address` for a machine (`llvm.Host`)."""
    correlation = load_heavy("opweave.codegen.native.correlation")
    return correlation.source(correlation.Kind.of(STORED[dtype], machine))


def code(dtype: DType) -> Any:
    """The native code of a type (`objects.Code`)."""
    return _code(STORED[dtype])


@functools.cache
def _code(stored: str) -> Any:
    def text() -> str:
        return load_heavy("opweave.codegen.native.correlation").source_for_host(stored)

    name = f"convolutions of {stored}"
    objects = load_heavy("opweave.codegen.native.objects")
    return objects.Code(text, name, objects.PROMOTED, name)


# ---- nodes ---------------------------------------------------------------------------------------------------------


class Convolution(NamedTuple):
    """What a call of a graph computes.

    Attributes
    ----------
    form : str
        As of `words_of`.
    a, b, bias
        Its operands.
    groups : int
        Of channels.
    stride, padding, dilation : tuple of int
        By spatial dimension.
    """

    form: str
    a: Any
    b: Any
    bias: Any
    groups: int
    stride: tuple[int, ...]
    padding: tuple[int, ...]
    dilation: tuple[int, ...]


def convolution_of(node: Node) -> Convolution | None:
    """What a call computes, if it is a convolution that native code makes."""
    value: Any = node.meta.get("val")
    if node.target is ops.aten.convolution.default:
        a, b, bias, stride, padding, dilation, transposed, _, groups = node.args
        form = "input" if transposed else "forward"
    elif node.target is ops.opweave.convolution_weight.default:
        a, b, _, stride, padding, dilation, groups = node.args
        form, bias = "weight", None
    else:
        return None
    dims = len(value._sizes) - 2
    if value._device.type != "cpu" or not takes(value._dtype, dims):
        return None
    steps = [tuple(values) * (dims if len(values) == 1 else 1) for values in (stride, padding, dilation)]
    if any(type(n) is not int for values in (*steps, (groups,)) for n in values):
        return None
    kernel = value._sizes[2:] if form == "weight" else b.meta["val"]._sizes[2:]
    if any(type(n) is not int for n in kernel):
        return None
    return Convolution(form, a, b, bias, groups, *steps)

"""Softmax, and attention, which is made with it.

Each op is a composite of traceable ops. Where `explicit=True` an eager call computes in one go instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from opweave.registry import dtypes, rows
from opweave.registry.batching import along
from opweave.registry.device import cpu
from opweave.registry.dtypes import DType
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded, widened
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.kinds.base import handler
from opweave.registry.ops.row_pieces import pieces_of_rows
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.rows import RowProgram, row_program
from opweave.registry.scalar import convert_into, converted, elementary
from opweave.registry.spec import contiguous, is_contiguous
from opweave.registry.strided import wrap_dim
from opweave.registry.symbolic import is_open, square_root
from opweave.registry.tape import NotTaped, Tape, Value
from opweave.registry.tensor import Tensor, allocate_like, describe

_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


# ---- softmax -------------------------------------------------------------------------------------------------------


def _softmax_types(op: str, self: Tensor, dim: int, half_to_float: bool) -> tuple[int, DType]:
    """(dimension, result type)."""
    if self._dtype.kind != "f":
        raise DTypeError(f"{op}: defined for floating types only", got=describe(self), hint="pass dtype=")
    if half_to_float and self._dtype is not dtypes.float16:
        raise DTypeError(f"{op}: half_to_float is for float16 inputs", got=describe(self))
    return wrap_dim(dim, self.ndim, op), dtypes.float32 if half_to_float else self._dtype


def _shifted(self: Tensor, axis: int) -> Tensor:
    """The row-major input in the compute type, minus its maximum, so that no exponential overflows."""
    wide = widened(ops.aten.contiguous.default(self))
    if self._sizes and is_open(self._sizes[axis] == 0):
        # Nothing has no largest element, so one is put behind it.
        behind = [0, 0] * (len(self._sizes) - 1 - axis) + [0, 1]
        padded = ops.aten.constant_pad_nd.default(wide, behind, -math.inf)
        return ops.aten.sub.Tensor(wide, ops.aten.amax.default(padded, [axis], True))
    return ops.aten.sub.Tensor(wide, ops.aten.amax.default(wide, [axis], True)) if self.numel() else wide


@row_program("rows")
def _softmax_of_row(k: Any, x: Any) -> list[Any]:
    powers = k.exp(x - k.max(x))
    return [powers / k.sum(powers)]


@row_program("rows")
def _log_softmax_of_row(k: Any, x: Any) -> list[Any]:
    shifted = x - k.max(x)
    return [shifted - k.log(k.sum(k.exp(shifted)))]


def _run_rows(program: RowProgram, given: Sequence[Tensor], out: Tensor, axis: int) -> bool:
    """Run a program on tensors of one shape, whose rows are along a dimension."""
    count = out.numel()
    if not rows.pay(count) or not all(t._device is cpu for t in given):
        return False
    length, inner = out._sizes[axis], math.prod(out._sizes[axis + 1 :])
    arrays = [ops.aten.contiguous.default(t)._array for t in given]
    return rows.run(program, arrays, [out._array], count // length, length, inner=inner)


def _softmax_kernel(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    axis, result = _softmax_types("_softmax", self, dim, half_to_float)
    out = allocate_like(contiguous(self._sizes, result, self._device))
    if not self.numel() or _run_rows(_softmax_of_row, [self], out, axis):
        return out
    for source, target, at in _in_pieces(self, out, axis):
        _softmax_of_array(self._device.xp, self._dtype.compute.numpy, source, target, at)
    return out


def _in_pieces(self: Tensor, out: Tensor, axis: int) -> Iterable[tuple[Any, Any, int | None]]:
    """Parts of the elements and of the result, with the dimension of their rows: whole arrays, or a few rows."""
    source, target = self._array, out._array
    if not self._sizes:
        return [(source, target, None)]
    if not self._device.is_host or axis != self.ndim - 1 or not source.flags.c_contiguous:
        return [(source, target, axis)]
    lines, results = (array.reshape(-1, self._sizes[-1]) for array in (source, target))
    return ((lines[part], results[part], 1) for part in pieces_of_rows(*lines.shape))


def _softmax_of_array(xp: Any, compute: Any, source: Any, out: Any, axis: int | None) -> None:
    with np.errstate(all="ignore"):
        if source.dtype != compute:
            source = converted(source, compute)
        work = out if out.dtype == compute else xp.empty(source.shape, compute)
        xp.subtract(source, xp.max(source, axis=axis, keepdims=True), out=work)
        handler(xp).exp(work, out=work)
        xp.divide(work, xp.sum(work, axis=axis, keepdims=True), out=work)
        if work is not out:
            convert_into(out, work)


@composite(
    "aten::_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    explicit=True,
    kernel=_softmax_kernel,
    out=True,
)
def _softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    axis, result = _softmax_types("_softmax", self, dim, half_to_float)
    powers = ops.aten.exp.default(_shifted(self, axis))
    total = ops.aten.sum.dim_IntList(powers, [axis], True)
    return rounded(ops.aten.div.Tensor(powers, total), result)


def _log_softmax_kernel(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    axis, result = _softmax_types("_log_softmax", self, dim, half_to_float)
    out = allocate_like(contiguous(self._sizes, result, self._device))
    if not self.numel() or _run_rows(_log_softmax_of_row, [self], out, axis):
        return out
    for source, target, at in _in_pieces(self, out, axis):
        _log_softmax_of_array(self._device.xp, self._dtype.compute.numpy, source, target, at)
    return out


def _log_softmax_of_array(xp: Any, compute: Any, source: Any, out: Any, axis: int | None) -> None:
    with np.errstate(all="ignore"):
        if source.dtype != compute:
            source = converted(source, compute)
        shifted = xp.subtract(source, xp.max(source, axis=axis, keepdims=True))
        k = handler(xp)
        total = xp.sum(k.exp(shifted), axis=axis, keepdims=True)
        if out.dtype == compute:
            xp.subtract(shifted, k.log(total), out=out)
        else:
            convert_into(out, xp.subtract(shifted, k.log(total)))


@composite(
    "aten::_log_softmax(Tensor self, int dim, bool half_to_float) -> Tensor",
    explicit=True,
    kernel=_log_softmax_kernel,
    out=True,
)
def _log_softmax(self: Tensor, dim: int, half_to_float: bool) -> Tensor:
    axis, result = _softmax_types("_log_softmax", self, dim, half_to_float)
    shifted = _shifted(self, axis)
    total = ops.aten.sum.dim_IntList(ops.aten.exp.default(shifted), [axis], True)
    return rounded(ops.aten.sub.Tensor(shifted, ops.aten.log.default(total)), result)


def _row_steps(tape: Tape, args: tuple[Any, ...], result: Tensor) -> tuple[Value, Value, int, Value]:
    """(the input, the maxima of its rows, their dimension, the result's memory), of a kernel in NumPy's steps."""
    self, dim, _ = args
    compute = self._dtype.compute
    if compute.numpy is None or not self.numel() or not self._sizes:
        raise NotTaped("a softmax of nothing")
    axis = wrap_dim(dim, self.ndim, "softmax")
    source, made = tape.converted(tape.value(self), compute.numpy), tape.made(result)
    if made.dtype != source.dtype:  # and rounded in the end
        made = tape.scratch(made.sizes, source.dtype)
    largest = _rows(tape, source, axis)
    tape.fold(np.maximum, source, (axis,), largest, None)
    return source, _beside(largest, axis), axis, made


def _rounded(tape: Tape, computed: Value, result: Tensor) -> None:
    made = tape.value(result)
    if made != computed:
        tape.map("cast", [computed], made)


def _rows(tape: Tape, source: Value, axis: int) -> Value:
    return tape.scratch((*source.sizes[:axis], *source.sizes[axis + 1 :]), source.dtype)


def _beside(rows: Value, axis: int) -> Value:
    """One value for each row, broadcast along it."""
    sizes, strides = ((*of[:axis], one, *of[axis:]) for of, one in ((rows.sizes, 1), (rows.strides, 0)))
    return rows._replace(sizes=sizes, strides=strides)


def _is_row_call(tape: Tape, program: RowProgram, given: Sequence[Tensor], dim: int, result: Tensor) -> bool:
    """Write down what `_run_rows` does for many elements; whether it is what the kernel does."""
    if not result._sizes or not rows.pay(result.numel()):
        return False
    axis, count = wrap_dim(dim, result.ndim, "softmax"), result.numel()
    length, inner = result._sizes[axis], math.prod(result._sizes[axis + 1 :])
    values = [tape.value(t) for t in given]
    if not all(is_contiguous(v.sizes, v.strides) for v in values):
        raise NotTaped("a copy")
    return rows.write(tape, program, values, [tape.made(result)], count // length, length, inner)


@_softmax.replaying
def _(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    if _is_row_call(tape, _softmax_of_row, args[:1], args[1], result):
        return
    source, largest, axis, made = _row_steps(tape, args, result)
    tape.map(np.subtract, [source, largest], made)
    tape.map(elementary("exp"), [made], made)
    total = _rows(tape, made, axis)
    tape.fold(np.add, made, (axis,), total, 0)
    tape.map(np.divide, [made, _beside(total, axis)], made)
    _rounded(tape, made, result)


@_log_softmax.replaying
def _(tape: Tape, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
    if _is_row_call(tape, _log_softmax_of_row, args[:1], args[1], result):
        return
    source, largest, axis, made = _row_steps(tape, args, result)
    shifted, powers = (tape.scratch(made.sizes, made.dtype) for _ in range(2))
    tape.map(np.subtract, [source, largest], shifted)
    tape.map(elementary("exp"), [shifted], powers)
    total = _rows(tape, powers, axis)
    tape.fold(np.add, powers, (axis,), total, 0)
    tape.map(elementary("log"), [total], total)
    tape.map(np.subtract, [shifted, _beside(total, axis)], made)
    _rounded(tape, made, result)


def _with_dtype(op: Any, self: Tensor, dim: int, dtype: DType | None) -> Tensor:
    return op(self if dtype is None else rounded(self, dtype), dim, False)


def _wide_pair(op: str, grad_output: Tensor, output: Tensor, dim: int) -> tuple[Tensor, Tensor, int]:
    """(gradient, forward's result, dimension), row-major and in the compute type."""
    if grad_output._sizes != output._sizes:
        raise ShapeError(f"{op}: the gradient and the result must have one shape", got=describe([grad_output, output]))
    grad, result = (widened(ops.aten.contiguous.default(t)) for t in (grad_output, output))
    return grad, result, wrap_dim(dim, output.ndim, op)


@row_program("rows", "rows")
def _softmax_backward_of_row(k: Any, grad: Any, powers: Any) -> list[Any]:
    return [powers * (grad - k.sum(grad * powers))]


@row_program("rows", "rows")
def _log_softmax_backward_of_row(k: Any, grad: Any, logs: Any) -> list[Any]:
    return [grad - k.exp(logs) * k.sum(grad)]


def _backward_by(program: RowProgram) -> Callable[..., Tensor | None]:
    def of_rows(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor | None:
        if grad_output._sizes != output._sizes or not rows.are_enough(output.numel()):
            return None
        out = allocate_like(contiguous(output._sizes, input_dtype, output._device))
        axis = wrap_dim(dim, output.ndim, program.name)
        return out if _run_rows(program, [grad_output, output], out, axis) else None

    return of_rows


@composite(
    "aten::_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    explicit=True,
    of_rows=_backward_by(_softmax_backward_of_row),
    outs=("out", "grad_input"),
)
def _softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """The gradient of `_softmax` from its result: `output * (grad - sum(grad * output))`."""
    aten = ops.aten
    grad, powers, axis = _wide_pair("_softmax_backward_data", grad_output, output, dim)
    weighted = aten.mul.Tensor(grad, powers)
    total = aten.sum.dim_IntList(weighted, [axis], True)
    return rounded(aten.sub.Tensor(weighted, aten.mul.Tensor(powers, total)), input_dtype)


@composite(
    "aten::_log_softmax_backward_data(Tensor grad_output, Tensor output, int dim, ScalarType input_dtype) -> Tensor",
    explicit=True,
    of_rows=_backward_by(_log_softmax_backward_of_row),
    outs="out",
)
def _log_softmax_backward_data(grad_output: Tensor, output: Tensor, dim: int, input_dtype: DType) -> Tensor:
    """The gradient of `_log_softmax` from its result: `grad - exp(output) * sum(grad)`."""
    aten = ops.aten
    grad, logs, axis = _wide_pair("_log_softmax_backward_data", grad_output, output, dim)
    total = aten.sum.dim_IntList(grad, [axis], True)
    return rounded(aten.sub.Tensor(grad, aten.mul.Tensor(aten.exp.default(logs), total)), input_dtype)


_softmax.backward(
    self=lambda grad, result, dim, self_spec: ops.aten._softmax_backward_data.default(
        grad, result, dim, self_spec.dtype
    )
)

_log_softmax.backward(
    self=lambda grad, result, dim, self_spec: ops.aten._log_softmax_backward_data.default(
        grad, result, dim, self_spec.dtype
    )
)


@composite(
    "aten::softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    autocast={"cuda": "fp32_set_opt_dtype"},
    outs="int_out",
)
def softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    return _with_dtype(ops.aten._softmax.default, self, dim, dtype)


@composite(
    "aten::log_softmax.int(Tensor self, int dim, ScalarType? dtype=None) -> Tensor",
    autocast={"cuda": "fp32_set_opt_dtype"},
    outs="int_out",
)
def log_softmax(self: Tensor, dim: int, dtype: DType | None = None) -> Tensor:
    return _with_dtype(ops.aten._log_softmax.default, self, dim, dtype)


for _decl in (_softmax, _log_softmax):
    _decl.batching(along("self"))

for _decl in (_softmax_backward_data, _log_softmax_backward_data):
    _decl.batching(along("grad_output", "output"))


# ---- attention -----------------------------------------------------------------------------------------------------


@composite(
    "aten::scaled_dot_product_attention(Tensor query, Tensor key, Tensor value, Tensor? attn_mask=None,"
    " float dropout_p=0., bool is_causal=False, *, float? scale=None, bool enable_gqa=False) -> Tensor",
    tags="nondeterministic_seeded",
    autocast="lower_precision_fp",
)
def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, attn_mask: Tensor | None = None, dropout_p: float = 0.0,
    is_causal: bool = False, scale: float | None = None, enable_gqa: bool = False,
) -> Tensor:  # fmt: skip
    """`softmax(query @ key.T * scale + mask) @ value`; a row that the mask leaves empty gives zeros."""
    aten = ops.aten
    if is_causal and attn_mask is not None:
        raise ShapeError(
            "scaled_dot_product_attention: is_causal is a mask; there can be no other", got=describe(attn_mask),
            hint="put both into attn_mask",
        )  # fmt: skip
    if min(query.ndim, key.ndim, value.ndim) < 2 or not query._dtype is key._dtype is value._dtype:
        raise ShapeError(
            "scaled_dot_product_attention: expected (..., length, width) tensors of one dtype",
            got=describe([query, key, value]),
        )
    if enable_gqa:
        key, value = (_repeated_heads(query, t) for t in (key, value))
    factor = 1 / square_root(max(query._sizes[-1], 1)) if scale is None else scale
    wide_key = aten.transpose.int(widened(key), -2, -1)
    scores = aten.matmul.default(aten.mul.Tensor(widened(query), factor), wide_key)
    if is_causal:
        rows, columns = scores._sizes[-2:]
        steps = {"dtype": dtypes.int64, "device": query._device}
        row = aten.unsqueeze.default(aten.arange.default(rows, **steps), 1)
        attn_mask = aten.ge(row, aten.arange.default(columns, **steps))
    if attn_mask is not None and attn_mask._dtype is dtypes.bool_:
        scores = aten.where(attn_mask, scores, -math.inf)
    elif attn_mask is not None:
        scores = aten.add.Tensor(scores, widened(attn_mask))
    if attn_mask is None or type(key._sizes[-2]) is int and not key._sizes[-2]:
        weights = aten._softmax.default(scores, -1, False)
    else:
        # Rows that are hidden entirely are kept from the softmax too: its NaN there would be that of their gradient.
        hidden = aten.eq(aten.amax.default(scores, [-1], True), -math.inf)
        weights = aten._softmax.default(aten.where(hidden, 0.0, scores), -1, False)
        weights = aten.where(hidden, 0.0, weights)
    weights = aten.dropout.default(weights, dropout_p, True)
    return rounded(aten.matmul.default(weights, widened(value)), query._dtype)


def _repeated_heads(query: Tensor, t: Tensor) -> Tensor:
    """Each head of the keys or values as often as the query has heads for it."""
    if min(query.ndim, t.ndim) < 3 or not t._sizes[-3] or query._sizes[-3] % t._sizes[-3]:
        raise ShapeError(
            "scaled_dot_product_attention: the query's heads must be a multiple of the keys' and the values'",
            got=describe([query, t]),
        )
    times = query._sizes[-3] // t._sizes[-3]
    if times == 1:
        return t
    sizes = [*t._sizes[:-2], times, *t._sizes[-2:]]
    wide = ops.aten.expand.default(ops.aten.unsqueeze.default(t, -3), sizes)
    return ops.aten.reshape.default(wide, [*t._sizes[:-3], t._sizes[-3] * times, *t._sizes[-2:]])


# ---- samples -------------------------------------------------------------------------------------------------------


def _turned(x: Tensor) -> Tensor:
    return ops.aten.transpose.int(x, 0, -1)


for _decl in (_softmax, _log_softmax):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        for x in (make(3, 4, 5), _turned(make(3, 4, 5)), ops.aten.expand.default(make(1, 5), [3, 5]), make(1, 700)):
            yield (x, -1, False), {}
            yield (x, 0, False), {}
        yield (make(), 0, False), {}
        yield (make(0, 3), 1, False), {}
        yield (make(3, 0), 1, False), {}


for _decl in (softmax, log_softmax):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        yield (make(3, 5), 1), {}
        yield (make(3, 5), 0, dtypes.float64), {}


for _decl in (_softmax_backward_data, _log_softmax_backward_data):

    @_decl.with_samples
    def _(make: Make) -> Samples:
        for dim in (-1, 0):
            grad = make(3, 4, 5)
            output = make(3, 4, 5, low=0.0, high=1.0)
            yield (grad, output, dim, grad._dtype), {}
            yield (_turned(grad), _turned(output), dim, grad._dtype), {}
        yield (make(), make(), 0, grad._dtype), {}
        yield (make(0, 3), make(0, 3), 1, grad._dtype), {}


@scaled_dot_product_attention.with_samples
def _(make: Make) -> Samples:
    q, kv = make(2, 3, 4, 8), make(2, 3, 6, 8)
    yield (q, kv, kv), {}
    yield (q, kv, kv, None, 0.0, True), {}
    yield (q, kv, kv, make(4, 6)), {}
    yield (q, kv, kv, make(4, 6, dtype=dtypes.bool_)), {"scale": 0.5}
    yield (make(2, 6, 4, 8), kv, kv, None, 0.0, True), {"enable_gqa": True}


for _decl in (
    _softmax,
    _log_softmax,
    softmax,
    log_softmax,
    _softmax_backward_data,
    _log_softmax_backward_data,
    scaled_dot_product_attention,
):
    _decl.sample_dtypes = _FLOATING

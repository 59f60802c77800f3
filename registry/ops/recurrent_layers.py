"""Recurrent networks behind the product of their inputs: all steps of a layer in one direction as one op.

The bodies call `recurrent`'s steps, and make their products with the state. Gradients go the other way, from what the
gates were, which is kept; that of the weight is one product over all steps. On tensors of the CPU all steps are one
native call (`codegen.recurrent`).

    products   (steps, batch, gates · width): what was read, times its weight
    weight     (gates · width, width), bias (gates · width) or None: of the state
    hidden     (batch, width) before the first step, and so `cell`
    outputs    (steps, batch, width): the state after each step; `last` is it behind the last one
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.device import cpu
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.hooks import Hook
from opweave.registry.keys import GRAD, INFERENCE, TENSOR_BITS, state
from opweave.registry.op import ops, registry
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.spec import contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

aten = ops.aten

#: Modes, and how many times as wide as the state the gates are.
GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
#: `native(mode, backwards, tensors, reverse)` fills memory as `codegen.recurrent` says; False where it has no code for
#: that. `opweave` supplies it.
native: Hook[[str, bool, dict[str, Tensor | None], bool], bool] = Hook()
_TYPES = (dtypes.float32, dtypes.float64)
#: Keys of a call on plain tensors that no mode, level or subclass sees.
_PLAIN = TENSOR_BITS["cpu"] | GRAD | INFERENCE


def takes(*given: Tensor | None) -> bool:
    """Whether the ops of this file are quicker than their bodies for what layers are given, and may be called.

    They may where all ops of the steps would run one by one: not for a trace or another mode, a level of a function
    transform, autocasting, tensors with tangents or of subclasses; nor if somebody changed ops.
    """
    if native.call is None or registry.builtin_version != registry.shipped_version or registry.fallbacks:
        return False
    bits = state.include & ~state.exclude
    tensors = [t for t in given if t is not None]
    for t in tensors:
        bits |= t._keys
    dtype = tensors[0]._dtype
    return not bits & ~_PLAIN and dtype in _TYPES and all(t._dtype is dtype and 0 not in t._sizes for t in tensors)


def _check(op: str, gates: int, products: Tensor, weight: Tensor, bias: Tensor | None, *states: Tensor) -> None:
    hidden = states[0]
    given = [t for t in (products, weight, bias, *states) if t is not None]
    width = hidden._sizes[-1] if hidden.ndim == 2 else None
    fits = (
        width is not None
        and products.ndim == 3
        and products._sizes[1:] == (hidden._sizes[0], gates * width)
        and weight._sizes == (gates * width, width)
        and (bias is None or bias._sizes == (gates * width,))
        and all(t._sizes == hidden._sizes for t in states)
    )
    if not fits or products._sizes[0] == 0:
        raise ShapeError(
            f"{op}: expected products (steps, batch, {gates} · width) of a step at least, a weight ({gates} · width,"
            f" width), a bias ({gates} · width) and states (batch, width)",
            got=describe(given),
        )
    if any(t._dtype is not products._dtype for t in given):
        raise DTypeError(f"{op}: all must have one type", got=describe(given))


def _order(steps: int, reverse: bool) -> range:
    return range(steps - 1, -1, -1) if reverse else range(steps)


def _steps(t: Tensor | None, count: int) -> Sequence[Tensor | None]:
    return [None] * count if t is None else aten.unbind.int(t, 0)


def _linear(hidden: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    return aten.linear.default(hidden, weight, bias)


def _plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else aten.add.Tensor(a, b)


def _sure(t: Tensor | None, like: Tensor) -> Tensor:
    """A row-major gradient, as native code gives it; zeros where there is none."""
    return aten.contiguous.default(aten.zeros_like.default(like) if t is None else t)


def _before(outputs: Tensor, first: Tensor, reverse: bool) -> Tensor:
    """What the state was before each step, (steps, batch, width)."""
    count = outputs._sizes[0]
    start = aten.unsqueeze.default(first, 0)
    if reverse:
        return aten.cat.default([aten.slice.Tensor(outputs, 0, 1, count), start])
    return aten.cat.default([start, aten.slice.Tensor(outputs, 0, 0, count - 1)])


def _of_parameters(
    grad: Tensor, outputs: Tensor, hidden: Tensor, bias: Any, reverse: bool, needs: Sequence[bool]
) -> tuple[Tensor | None, Tensor | None]:
    """The gradients of weight and bias from those of the products with the state, at all steps together."""
    rows = aten.reshape.default(grad, [-1, grad._sizes[-1]])
    of_weight = None
    if needs[1]:
        states = aten.reshape.default(_before(outputs, hidden, reverse), [-1, hidden._sizes[-1]])
        of_weight = aten.mm.default(aten.t.default(rows), states)
    return of_weight, aten.sum.dim_IntList(rows, [0]) if bias is not None and needs[2] else None


def _made(like: Tensor, *sizes: tuple[int, ...]) -> list[Tensor]:
    return [allocate_like(contiguous(each, like._dtype, like._device)) for each in sizes]


def _quick(*given: Tensor | None) -> bool:
    """Whether native code may do it, the arguments being right."""
    tensors = [t for t in given if t is not None]
    dtype = tensors[0]._dtype
    return native.call is not None and dtype in _TYPES and all(
        type(t) is Tensor and t._device is cpu and t._dtype is dtype and 0 not in t._sizes for t in tensors
    )  # fmt: skip


def _native(mode: str, backwards: bool, reverse: bool, names: Sequence[str], *tensors: Tensor | None) -> bool:
    assert native.call is not None
    return native.call(mode, backwards, dict(zip(names, tensors, strict=True)), reverse)


#: What native code is given, and what it fills.
_STATE = ("products", "weight", "bias", "hidden")
_LSTM = (*_STATE, "cell", "outputs", "last")
_LSTM_GRADS = ("grad_outputs", "grad_last", "grad_last_cell", "cells", "used", "weight", "cell")
_GRU_GRADS = ("grad_outputs", "grad_last", "outputs", "used", "from_hidden", "weight", "hidden")
_RNN, _RNN_GRADS = (*_STATE, "outputs", "last"), ("grad_outputs", "grad_last", "outputs", "weight")


# ---- long short-term memory ----------------------------------------------------------------------------------------


def _lstm_kernel(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, cell: Tensor, reverse: bool
) -> tuple[Tensor, ...]:
    given = products, weight, bias, hidden, cell
    _check("lstm_layer", 4, *given)
    if _quick(*given):
        sizes, steps = hidden._sizes, products._sizes[0]
        made = _made(products, (steps, *sizes), sizes, (steps, *sizes), sizes, products._sizes)
        if _native("LSTM", False, reverse, (*_LSTM, "cells", "last_cell", "used"), *given, *made):
            return tuple(made)
    return lstm_layer.body(*given, reverse)


@composite(
    "opweave::lstm_layer(Tensor products, Tensor weight, Tensor? bias, Tensor hidden, Tensor cell, bool reverse)"
    " -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    explicit=True, kernel=_lstm_kernel,
)  # fmt: skip
def lstm_layer(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, cell: Tensor, reverse: bool
) -> tuple[Tensor, ...]:
    """(outputs, last, cells, last cell, gates as they are used) of a layer; cells and gates of each step."""
    _check("lstm_layer", 4, products, weight, bias, hidden, cell)
    count = products._sizes[0]
    found: list[Any] = [None] * count
    inputs = aten.unbind.int(products, 0)
    for at in _order(count, reverse):
        gates = aten.add.Tensor(inputs[at], _linear(hidden, weight, bias))
        hidden, cell, used = ops.opweave.lstm_cell.default(gates, cell)
        found[at] = hidden, cell, used
    outputs, cells, used = (aten.stack.default(list(each)) for each in zip(*found, strict=True))
    return outputs, aten.contiguous.default(hidden), cells, aten.contiguous.default(cell), used


def _lstm_outputs_kernel(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, cell: Tensor, reverse: bool
) -> tuple[Tensor, ...]:
    given = products, weight, bias, hidden, cell
    _check("lstm_layer_outputs", 4, *given)
    if _quick(*given):
        made = _made(products, (products._sizes[0], *hidden._sizes), hidden._sizes, hidden._sizes)
        if _native("LSTM", False, reverse, (*_LSTM, "last_cell"), *given, *made):
            return tuple(made)
    return lstm_layer_outputs.body(*given, reverse)


@composite(
    "opweave::lstm_layer_outputs(Tensor products, Tensor weight, Tensor? bias, Tensor hidden, Tensor cell,"
    " bool reverse) -> (Tensor, Tensor, Tensor)",
    explicit=True, kernel=_lstm_outputs_kernel,
)  # fmt: skip
def lstm_layer_outputs(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, cell: Tensor, reverse: bool
) -> tuple[Tensor, ...]:
    """(outputs, last, last cell) of `lstm_layer`: where nothing is differentiated, nothing else is kept."""
    outputs, last, _, last_cell, _ = ops.opweave.lstm_layer.default(products, weight, bias, hidden, cell, reverse)
    return outputs, last, last_cell


def _lstm_backward_kernel(
    grad_outputs: Tensor | None, grad_last: Tensor | None, grad_cells: Tensor | None, grad_last_cell: Tensor | None,
    grad_used: Tensor | None, cells: Tensor, used: Tensor, weight: Tensor, cell: Tensor, reverse: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    given = grad_outputs, grad_last, grad_last_cell, cells, used, weight, cell
    if grad_cells is None and grad_used is None and _quick(*given):
        made = _made(used, used._sizes, cell._sizes, cell._sizes)
        if _native("LSTM", True, reverse, (*_LSTM_GRADS, "of_products", "of_hidden", "of_cell"), *given, *made):
            return tuple(made)
    grads = grad_outputs, grad_last, grad_cells, grad_last_cell, grad_used
    return lstm_layer_backward.body(*grads, cells, used, weight, cell, reverse)


@composite(
    "opweave::lstm_layer_backward(Tensor? grad_outputs, Tensor? grad_last, Tensor? grad_cells, Tensor? grad_last_cell,"
    " Tensor? grad_used, Tensor cells, Tensor used, Tensor weight, Tensor cell, bool reverse)"
    " -> (Tensor, Tensor, Tensor)",
    explicit=True, kernel=_lstm_backward_kernel,
)  # fmt: skip
def lstm_layer_backward(
    grad_outputs: Tensor | None, grad_last: Tensor | None, grad_cells: Tensor | None, grad_last_cell: Tensor | None,
    grad_used: Tensor | None, cells: Tensor, used: Tensor, weight: Tensor, cell: Tensor, reverse: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients of products, hidden and cell from those of the results of `lstm_layer`, which may be missing."""
    count = used._sizes[0]
    of_outputs, of_cells, of_used = (_steps(t, count) for t in (grad_outputs, grad_cells, grad_used))
    gates, after = aten.unbind.int(used, 0), aten.unbind.int(cells, 0)
    before = aten.unbind.int(_before(cells, cell, reverse), 0)
    of_hidden, of_cell = grad_last, grad_last_cell
    found: list[Any] = [None] * count
    for at in _order(count, not reverse):
        grads = _plus(of_hidden, of_outputs[at]), _plus(of_cell, of_cells[at]), of_used[at]
        found[at], of_cell = ops.opweave.lstm_cell_backward.default(*grads, gates[at], before[at], after[at])
        of_hidden = aten.mm.default(found[at], weight)
    return aten.stack.default(found), _sure(of_hidden, cell), _sure(of_cell, cell)


@lstm_layer.backward
def _(
    grads: Sequence[Tensor | None], weight: Tensor, bias: Any, hidden: Tensor, cell: Tensor, reverse: bool,
    result: Tensor, result2: Tensor, result4: Tensor, needs: Sequence[bool],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    of_products, of_hidden, of_cell = ops.opweave.lstm_layer_backward.default(
        *grads, result2, result4, weight, cell, reverse
    )
    of_weight, of_bias = _of_parameters(of_products, result, hidden, bias, reverse, needs)
    return of_products, of_weight, of_bias, of_hidden, of_cell


# ---- gated recurrent units -----------------------------------------------------------------------------------------


def _gru_kernel(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, reverse: bool
) -> tuple[Tensor, ...]:
    given = products, weight, bias, hidden
    _check("gru_layer", 3, *given)
    if _quick(*given):
        sizes, steps = hidden._sizes, products._sizes[0]
        made = _made(products, (steps, *sizes), sizes, products._sizes, products._sizes)
        if _native("GRU", False, reverse, (*_RNN, "used", "from_hidden"), *given, *made):
            return tuple(made)
    return gru_layer.body(*given, reverse)


@composite(
    "opweave::gru_layer(Tensor products, Tensor weight, Tensor? bias, Tensor hidden, bool reverse)"
    " -> (Tensor, Tensor, Tensor, Tensor)",
    explicit=True, kernel=_gru_kernel,
)  # fmt: skip
def gru_layer(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, reverse: bool
) -> tuple[Tensor, ...]:
    """(outputs, last, gates as they are used, products with the state) of a layer; the last two of each step."""
    _check("gru_layer", 3, products, weight, bias, hidden)
    count = products._sizes[0]
    found: list[Any] = [None] * count
    inputs = aten.unbind.int(products, 0)
    for at in _order(count, reverse):
        product = _linear(hidden, weight, bias)
        hidden, used = ops.opweave.gru_cell.default(inputs[at], product, hidden)
        found[at] = hidden, used, product
    outputs, used, kept = (aten.stack.default(list(each)) for each in zip(*found, strict=True))
    return outputs, aten.contiguous.default(hidden), used, kept


def _gru_outputs_kernel(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, reverse: bool
) -> tuple[Tensor, ...]:
    given = products, weight, bias, hidden
    _check("gru_layer_outputs", 3, *given)
    if _quick(*given):
        made = _made(products, (products._sizes[0], *hidden._sizes), hidden._sizes)
        if _native("GRU", False, reverse, _RNN, *given, *made):
            return tuple(made)
    return gru_layer_outputs.body(*given, reverse)


@composite(
    "opweave::gru_layer_outputs(Tensor products, Tensor weight, Tensor? bias, Tensor hidden, bool reverse)"
    " -> (Tensor, Tensor)",
    explicit=True, kernel=_gru_outputs_kernel,
)  # fmt: skip
def gru_layer_outputs(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, reverse: bool
) -> tuple[Tensor, ...]:
    """(outputs, last) of `gru_layer`: where nothing is differentiated, nothing else is kept."""
    outputs, last, _, _ = ops.opweave.gru_layer.default(products, weight, bias, hidden, reverse)
    return outputs, last


def _gru_backward_kernel(
    grad_outputs: Tensor | None, grad_last: Tensor | None, grad_used: Tensor | None, grad_from_hidden: Tensor | None,
    outputs: Tensor, used: Tensor, from_hidden: Tensor, weight: Tensor, hidden: Tensor, reverse: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    given = grad_outputs, grad_last, outputs, used, from_hidden, weight, hidden
    if grad_used is None and grad_from_hidden is None and _quick(*given):
        made = _made(used, used._sizes, used._sizes, hidden._sizes)
        if _native("GRU", True, reverse, (*_GRU_GRADS, "of_products", "of_from_hidden", "of_hidden"), *given, *made):
            return tuple(made)
    grads = grad_outputs, grad_last, grad_used, grad_from_hidden
    return gru_layer_backward.body(*grads, outputs, used, from_hidden, weight, hidden, reverse)


@composite(
    "opweave::gru_layer_backward(Tensor? grad_outputs, Tensor? grad_last, Tensor? grad_used, Tensor? grad_from_hidden,"
    " Tensor outputs, Tensor used, Tensor from_hidden, Tensor weight, Tensor hidden, bool reverse)"
    " -> (Tensor, Tensor, Tensor)",
    explicit=True, kernel=_gru_backward_kernel,
)  # fmt: skip
def gru_layer_backward(
    grad_outputs: Tensor | None, grad_last: Tensor | None, grad_used: Tensor | None, grad_from_hidden: Tensor | None,
    outputs: Tensor, used: Tensor, from_hidden: Tensor, weight: Tensor, hidden: Tensor, reverse: bool,
) -> tuple[Tensor, ...]:  # fmt: skip
    """The gradients of both products and of the state from those of the results of `gru_layer`; some may be missing."""
    count = used._sizes[0]
    of_outputs, of_used, of_kept = (_steps(t, count) for t in (grad_outputs, grad_used, grad_from_hidden))
    gates, kept = aten.unbind.int(used, 0), aten.unbind.int(from_hidden, 0)
    before = aten.unbind.int(_before(outputs, hidden, reverse), 0)
    of_hidden = grad_last
    found: list[Any] = [None] * count
    for at in _order(count, not reverse):
        of_input, of_product, through = ops.opweave.gru_cell_backward.default(
            _plus(of_hidden, of_outputs[at]), of_used[at], gates[at], kept[at], before[at]
        )
        of_product = _sure(_plus(of_product, of_kept[at]), of_product)
        found[at] = of_input, of_product
        of_hidden = aten.add.Tensor(through, aten.mm.default(of_product, weight))
    of_products, of_from_hidden = (aten.stack.default(list(each)) for each in zip(*found, strict=True))
    return of_products, of_from_hidden, _sure(of_hidden, hidden)


@gru_layer.backward
def _(
    grads: Sequence[Tensor | None], weight: Tensor, bias: Any, hidden: Tensor, reverse: bool, result: Tensor,
    result2: Tensor, result3: Tensor, needs: Sequence[bool],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    of_products, of_from_hidden, of_hidden = ops.opweave.gru_layer_backward.default(
        *grads, result, result2, result3, weight, hidden, reverse
    )
    of_weight, of_bias = _of_parameters(of_from_hidden, result, hidden, bias, reverse, needs)
    return of_products, of_weight, of_bias, of_hidden


# ---- Elman networks ------------------------------------------------------------------------------------------------


def _rnn_mode(relu: bool) -> str:
    return "RNN_RELU" if relu else "RNN_TANH"


def _rnn_kernel(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, relu: bool, reverse: bool
) -> tuple[Tensor, ...]:
    given = products, weight, bias, hidden
    _check("rnn_layer", 1, *given)
    if _quick(*given):
        made = _made(products, products._sizes, hidden._sizes)
        if _native(_rnn_mode(relu), False, reverse, _RNN, *given, *made):
            return tuple(made)
    return rnn_layer.body(*given, relu, reverse)


@composite(
    "opweave::rnn_layer(Tensor products, Tensor weight, Tensor? bias, Tensor hidden, bool relu, bool reverse)"
    " -> (Tensor, Tensor)",
    explicit=True, kernel=_rnn_kernel,
)  # fmt: skip
def rnn_layer(
    products: Tensor, weight: Tensor, bias: Tensor | None, hidden: Tensor, relu: bool, reverse: bool
) -> tuple[Tensor, ...]:
    """(outputs, last) of a layer of tanh (or relu) of the sum of both products (Elman 1990)."""
    _check("rnn_layer", 1, products, weight, bias, hidden)
    count = products._sizes[0]
    found: list[Any] = [None] * count
    inputs = aten.unbind.int(products, 0)
    bend: Callable[[Tensor], Tensor] = aten.relu.default if relu else aten.tanh.default
    for at in _order(count, reverse):
        found[at] = hidden = bend(aten.add.Tensor(inputs[at], _linear(hidden, weight, bias)))
    return aten.stack.default(found), aten.contiguous.default(hidden)


def _rnn_backward_kernel(
    grad_outputs: Tensor | None, grad_last: Tensor | None, outputs: Tensor, weight: Tensor, relu: bool, reverse: bool
) -> tuple[Tensor, ...]:
    given = grad_outputs, grad_last, outputs, weight
    if _quick(*given):
        made = _made(outputs, outputs._sizes, outputs._sizes[1:])
        if _native(_rnn_mode(relu), True, reverse, (*_RNN_GRADS, "of_products", "of_hidden"), *given, *made):
            return tuple(made)
    return rnn_layer_backward.body(*given, relu, reverse)


@composite(
    "opweave::rnn_layer_backward(Tensor? grad_outputs, Tensor? grad_last, Tensor outputs, Tensor weight, bool relu,"
    " bool reverse) -> (Tensor, Tensor)",
    explicit=True, kernel=_rnn_backward_kernel,
)  # fmt: skip
def rnn_layer_backward(
    grad_outputs: Tensor | None, grad_last: Tensor | None, outputs: Tensor, weight: Tensor, relu: bool, reverse: bool
) -> tuple[Tensor, ...]:
    """The gradients of products and state from those of the results of `rnn_layer`, of which one may be missing."""
    count = outputs._sizes[0]
    of_outputs, after = _steps(grad_outputs, count), aten.unbind.int(outputs, 0)
    of_hidden = grad_last
    found: list[Any] = [None] * count
    for at in _order(count, not reverse):
        grad = _sure(_plus(of_hidden, of_outputs[at]), after[at])
        if relu:
            found[at] = aten.threshold_backward.default(grad, after[at], 0)
        else:
            found[at] = aten.tanh_backward.default(grad, after[at])
        of_hidden = aten.mm.default(found[at], weight)
    return aten.stack.default(found), _sure(of_hidden, after[0])


@rnn_layer.backward
def _(
    grads: Sequence[Tensor | None], weight: Tensor, bias: Any, hidden: Tensor, relu: bool, reverse: bool,
    result: Tensor, needs: Sequence[bool],
) -> tuple[Tensor | None, ...]:  # fmt: skip
    of_products, of_hidden = ops.opweave.rnn_layer_backward.default(*grads, result, weight, relu, reverse)
    of_weight, of_bias = _of_parameters(of_products, result, hidden, bias, reverse, needs)
    return of_products, of_weight, of_bias, of_hidden


def layer(
    mode: str, products: Tensor, weight: Tensor, bias: Tensor | None, state: tuple[Tensor, ...], reverse: bool
) -> tuple[Tensor, tuple[Tensor, ...]]:
    """(outputs, last state) of a layer in one direction."""
    if mode == "LSTM":
        outputs, *last = ops.opweave.lstm_layer_outputs.default(products, weight, bias, *state, reverse)
        return outputs, tuple(last)
    if mode == "GRU":
        outputs, last = ops.opweave.gru_layer_outputs.default(products, weight, bias, *state, reverse)
        return outputs, (last,)
    relu = mode == "RNN_RELU"
    outputs, last = ops.opweave.rnn_layer.default(products, weight, bias, *state, relu, reverse)
    return outputs, (last,)


# ---- samples -------------------------------------------------------------------------------------------------------


@lstm_layer_outputs.with_samples
@lstm_layer.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 2, 20), make(20, 5), make(20), make(2, 5), make(2, 5), False), {}
    yield (make(2, 3, 8), make(8, 2), None, make(3, 2), make(3, 2), True), {}


@gru_layer_outputs.with_samples
@gru_layer.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 2, 15), make(15, 5), make(15), make(2, 5), False), {}
    yield (make(2, 3, 6), make(6, 2), None, make(3, 2), True), {}


@rnn_layer.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 2, 5), make(5, 5), make(5), make(2, 5), False, False), {}
    yield (make(2, 3, 4), make(4, 4), None, make(3, 4), True, True), {}


@lstm_layer_backward.with_samples
def _(make: Make) -> Samples:
    kept = (make(3, 2, 4), make(3, 2, 16, low=0.1, high=0.9), make(16, 4), make(2, 4))
    yield (make(3, 2, 4), make(2, 4), None, make(2, 4), None, *kept, False), {}
    yield (None, None, make(3, 2, 4), None, make(3, 2, 16), *kept, True), {}
    yield (make(3, 2, 4), None, None, None, None, *kept, True), {}


@gru_layer_backward.with_samples
def _(make: Make) -> Samples:
    kept = (make(3, 2, 4), make(3, 2, 12, low=0.1, high=0.9), make(3, 2, 12), make(12, 4), make(2, 4))
    yield (make(3, 2, 4), make(2, 4), None, None, *kept, False), {}
    yield (None, None, make(3, 2, 12), make(3, 2, 12), *kept, True), {}
    yield (None, make(2, 4), None, None, *kept, True), {}


@rnn_layer_backward.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 2, 4), make(2, 4), make(3, 2, 4), make(4, 4), False, False), {}
    yield (make(3, 2, 4), None, make(3, 2, 4), make(4, 4), True, True), {}


_decls: Any = (
    lstm_layer, lstm_layer_outputs, lstm_layer_backward, gru_layer, gru_layer_outputs, gru_layer_backward, rnn_layer,
    rnn_layer_backward,
)  # fmt: skip
for _decl in _decls:
    _decl.sample_dtypes = _TYPES

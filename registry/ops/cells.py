"""One step of recurrent networks with its products (`recurrent` has what is behind them); and `bilinear`."""

from __future__ import annotations

from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.kinds.traits import CastPolicy
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
_CAST: dict[str, CastPolicy] = {"cuda": "lower_precision_fp"}
_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


def step(mode: str, from_input: Tensor, from_hidden: Tensor, state: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """The state after a step, from the two products."""
    if mode == "LSTM":
        hidden, cell, _ = ops.opweave.lstm_cell.default(aten.add.Tensor(from_input, from_hidden), state[1])
        return hidden, cell
    if mode == "GRU":
        return (ops.opweave.gru_cell.default(from_input, from_hidden, state[0])[0],)
    total = aten.add.Tensor(from_input, from_hidden)
    return (aten.relu.default(total) if mode == "RNN_RELU" else aten.tanh.default(total),)


def _cell(
    mode: str, gates: int, input: Tensor, state: Any, w_ih: Tensor, w_hh: Tensor, b_ih: Any, b_hh: Any
) -> tuple[Tensor, ...]:
    hidden = state[0]
    rows = gates * hidden._sizes[-1]
    if w_ih._sizes != (rows, input._sizes[-1]) or w_hh._sizes != (rows, hidden._sizes[-1]):
        raise ShapeError(
            f"{mode.lower()}_cell: the weights are ({rows}, {input._sizes[-1]}) and ({rows}, {hidden._sizes[-1]})",
            got=describe([w_ih, w_hh]),
        )
    products = aten.linear.default(input, w_ih, b_ih), aten.linear.default(hidden, w_hh, b_hh)
    return step(mode, *products, tuple(state))


@composite(
    "aten::lstm_cell(Tensor input, Tensor[] hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None)"
    " -> (Tensor, Tensor)",
    autocast=_CAST,
)
def lstm_cell(
    input: Tensor, hx: list[Tensor], w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> tuple[Tensor, ...]:
    if len(hx) != 2:
        raise ShapeError("lstm_cell: the state is two tensors", got=describe(list(hx)))
    return _cell("LSTM", 4, input, hx, w_ih, w_hh, b_ih, b_hh)


_ONE_STATE = "(Tensor input, Tensor hx, Tensor w_ih, Tensor w_hh, Tensor? b_ih=None, Tensor? b_hh=None) -> Tensor"


@composite(f"aten::gru_cell{_ONE_STATE}", autocast=_CAST)
def gru_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    return _cell("GRU", 3, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@composite(f"aten::rnn_tanh_cell{_ONE_STATE}", autocast=_CAST)
def rnn_tanh_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    return _cell("RNN_TANH", 1, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@composite(f"aten::rnn_relu_cell{_ONE_STATE}", autocast=_CAST)
def rnn_relu_cell(
    input: Tensor, hx: Tensor, w_ih: Tensor, w_hh: Tensor, b_ih: Tensor | None = None, b_hh: Tensor | None = None
) -> Tensor:
    return _cell("RNN_RELU", 1, input, (hx,), w_ih, w_hh, b_ih, b_hh)[0]


@composite(
    "aten::bilinear(Tensor input1, Tensor input2, Tensor weight, Tensor? bias=None) -> Tensor",
    autocast={"cuda": "promote"},
)
def bilinear(input1: Tensor, input2: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    if weight.ndim != 3 or input1._sizes[:-1] != input2._sizes[:-1]:
        raise ShapeError(
            "bilinear: expected (..., in1), (..., in2) and (out, in1, in2)", got=describe([input1, input2, weight])
        )
    out, first, second = weight._sizes
    if input1._sizes[-1] != first or input2._sizes[-1] != second:
        raise ShapeError("bilinear: the widths do not fit the weight", got=describe([input1, input2, weight]))
    batch = list(input1._sizes[:-1])
    rows = aten.reshape.default(input1, [-1, first])
    wide = aten.matmul.default(rows, aten.reshape.default(aten.permute.default(weight, [1, 0, 2]), [first, -1]))
    wide = aten.reshape.default(wide, [*batch, out, second])
    found = aten.squeeze.dim(aten.matmul.default(wide, aten.unsqueeze.default(input2, -1)), -1)
    return found if bias is None else aten.add.Tensor(found, bias)


# ---- samples -------------------------------------------------------------------------------------------------------


@lstm_cell.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), [make(2, 4), make(2, 4)], make(16, 3), make(16, 4), make(16), make(16)), {}
    yield (make(2, 3), [make(2, 4), make(2, 4)], make(16, 3), make(16, 4)), {}


for _decl, _gates in ((gru_cell, 3), (rnn_tanh_cell, 1), (rnn_relu_cell, 1)):

    @_decl.with_samples
    def _(make: Make, rows: int = 4 * _gates) -> Samples:
        yield (make(2, 3), make(2, 4), make(rows, 3), make(rows, 4), make(rows), make(rows)), {}
        yield (make(2, 3), make(2, 4), make(rows, 3), make(rows, 4)), {}


@bilinear.with_samples
def _(make: Make) -> Samples:
    yield (make(2, 3), make(2, 4), make(5, 3, 4), make(5)), {}
    yield (make(6, 2, 3), make(6, 2, 4), make(5, 3, 4)), {}


for _decl in (lstm_cell, gru_cell, rnn_tanh_cell, rnn_relu_cell, bilinear):
    _decl.sample_dtypes = _FLOATING

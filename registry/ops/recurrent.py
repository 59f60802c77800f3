"""Steps of recurrent networks behind their products: what becomes of the gates and of the state.

    lstm: i, f, o = sigmoid, g = tanh of the gates' parts     cell' = f cell + i g        hidden' = o tanh(cell')
    gru:  r, z = sigmoid(x + h), n = tanh(x + r h)            hidden' = n + z (hidden - n)

Both give what they made of the gates, too, which their gradients are written with.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry import dtypes
from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


def _check(op: str, count: int, state: Tensor, *gates: Tensor) -> None:
    wanted = (*state._sizes[:-1], count * state._sizes[-1]) if state._sizes else None
    if any(t._sizes != wanted for t in gates):
        raise ShapeError(f"{op}: the gates must be {count} times as wide as the state", got=describe([*gates, state]))


def _from_sigmoid(grad: Tensor, result: Tensor) -> Tensor:
    return aten.mul.Tensor(grad, aten.mul.Tensor(result, aten.rsub.Scalar(result, 1)))


def _from_tanh(grad: Tensor, result: Tensor) -> Tensor:
    return aten.mul.Tensor(grad, aten.rsub.Scalar(aten.mul.Tensor(result, result), 1))


def _plus(a: Tensor | None, b: Tensor | None) -> Tensor | None:
    return b if a is None else a if b is None else aten.add.Tensor(a, b)


def _times(a: Tensor | None, b: Tensor) -> Tensor | None:
    return None if a is None else aten.mul.Tensor(a, b)


# ---- long short-term memory ----------------------------------------------------------------------------------------


@composite("opweave::lstm_cell(Tensor gates, Tensor cell) -> (Tensor, Tensor, Tensor)", explicit=True)
def lstm_cell(gates: Tensor, cell: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """(hidden state, cell, gates as they are used) after a step of Hochreiter & Schmidhuber, 1997, with forget gates.

    Parameters
    ----------
    gates : Tensor
        The sums of both products: those of the input, forget, cell and output gate side by side.
    cell : Tensor
        Before the step.
    """
    _check("lstm_cell", 4, cell, gates)
    i, f, g, o = aten.chunk.default(gates, 4, -1)
    i, f, g, o = aten.sigmoid.default(i), aten.sigmoid.default(f), aten.tanh.default(g), aten.sigmoid.default(o)
    new = aten.add.Tensor(aten.mul.Tensor(f, cell), aten.mul.Tensor(i, g))
    return aten.mul.Tensor(o, aten.tanh.default(new)), new, aten.cat.default([i, f, g, o], -1)


@composite(
    "opweave::lstm_cell_backward(Tensor? grad_hidden, Tensor? grad_cell, Tensor? grad_used, Tensor used, Tensor cell,"
    " Tensor new_cell) -> (Tensor, Tensor)",
    explicit=True,
)
def lstm_cell_backward(
    grad_hidden: Tensor | None, grad_cell: Tensor | None, grad_used: Tensor | None, used: Tensor, cell: Tensor,
    new_cell: Tensor,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """The gradients of gates and cell from those of the results of `lstm_cell`, which may be missing."""
    _check("lstm_cell_backward", 4, cell, used)
    i, f, g, o = aten.chunk.default(used, 4, -1)
    of_used: Sequence[Tensor | None] = [None] * 4 if grad_used is None else aten.chunk.default(grad_used, 4, -1)
    bent = aten.tanh.default(new_cell)
    total = grad_cell
    if grad_hidden is not None:
        total = _plus(_from_tanh(aten.mul.Tensor(grad_hidden, o), bent), total)
    parts = [_times(total, g), _times(total, cell), _times(total, i), _times(grad_hidden, bent)]
    found: list[Tensor] = []
    for part, more, result, bend in zip(
        parts, of_used, (i, f, g, o), (_from_sigmoid, _from_sigmoid, _from_tanh, _from_sigmoid), strict=True
    ):
        grad = _plus(part, more)
        found.append(aten.zeros_like.default(cell) if grad is None else bend(grad, result))
    before = _times(total, f)
    return aten.cat.default(found, -1), aten.zeros_like.default(cell) if before is None else before


@lstm_cell.backward
def _(grads: Sequence[Tensor | None], cell: Tensor, result1: Tensor, result2: Tensor) -> tuple[Tensor, Tensor]:
    return ops.opweave.lstm_cell_backward.default(*grads, result2, cell, result1)


# ---- gated recurrent units -----------------------------------------------------------------------------------------


@composite("opweave::gru_cell(Tensor from_input, Tensor from_hidden, Tensor hidden) -> (Tensor, Tensor)", explicit=True)
def gru_cell(from_input: Tensor, from_hidden: Tensor, hidden: Tensor) -> tuple[Tensor, Tensor]:
    """(hidden state, gates as they are used) after a step of Cho et al., 2014, with the reset gate behind the product.

    Parameters
    ----------
    from_input, from_hidden : Tensor
        The products: those of the reset, update and new gate side by side.
    hidden : Tensor
        Before the step.
    """
    _check("gru_cell", 3, hidden, from_input, from_hidden)
    r_x, z_x, n_x = aten.chunk.default(from_input, 3, -1)
    r_h, z_h, n_h = aten.chunk.default(from_hidden, 3, -1)
    r = aten.sigmoid.default(aten.add.Tensor(r_x, r_h))
    z = aten.sigmoid.default(aten.add.Tensor(z_x, z_h))
    n = aten.tanh.default(aten.add.Tensor(n_x, aten.mul.Tensor(r, n_h)))
    return aten.add.Tensor(n, aten.mul.Tensor(z, aten.sub.Tensor(hidden, n))), aten.cat.default([r, z, n], -1)


@composite(
    "opweave::gru_cell_backward(Tensor? grad_hidden, Tensor? grad_used, Tensor used, Tensor from_hidden, Tensor hidden)"
    " -> (Tensor, Tensor, Tensor)",
    explicit=True,
)
def gru_cell_backward(
    grad_hidden: Tensor | None, grad_used: Tensor | None, used: Tensor, from_hidden: Tensor, hidden: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """The gradients of both products and of the state from those of the results of `gru_cell`, which may be missing."""
    _check("gru_cell_backward", 3, hidden, used, from_hidden)
    r, z, n = aten.chunk.default(used, 3, -1)
    n_h = aten.chunk.default(from_hidden, 3, -1)[2]
    of_r = of_z = of_n = None
    if grad_used is not None:
        of_r, of_z, of_n = aten.chunk.default(grad_used, 3, -1)
    of_z = _plus(_times(grad_hidden, aten.sub.Tensor(hidden, n)), of_z)
    of_n = _plus(_times(grad_hidden, aten.rsub.Scalar(z, 1)), of_n)
    zero = aten.zeros_like.default(hidden) if grad_hidden is None and grad_used is None else None
    new = zero if of_n is None else _from_tanh(of_n, n)
    assert new is not None
    of_r = _plus(aten.mul.Tensor(new, n_h), of_r)
    assert of_r is not None
    reset, update = _from_sigmoid(of_r, r), zero if of_z is None else _from_sigmoid(of_z, z)
    assert update is not None
    before = aten.zeros_like.default(hidden) if grad_hidden is None else aten.mul.Tensor(grad_hidden, z)
    return (
        aten.cat.default([reset, update, new], -1),
        aten.cat.default([reset, update, aten.mul.Tensor(new, r)], -1),
        before,
    )


@gru_cell.backward
def _(
    grads: Sequence[Tensor | None], from_hidden: Tensor, hidden: Tensor, result1: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    return ops.opweave.gru_cell_backward.default(*grads, result1, from_hidden, hidden)


# ---- samples -------------------------------------------------------------------------------------------------------


@lstm_cell.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 20), make(3, 5)), {}
    yield (make(2, 3, 8), make(2, 3, 2)), {}
    yield (make(8), make(2)), {}


@gru_cell.with_samples
def _(make: Make) -> Samples:
    yield (make(3, 15), make(3, 15), make(3, 5)), {}
    yield (make(6), make(6), make(2)), {}


@lstm_cell_backward.with_samples
def _(make: Make) -> Samples:
    for missing in ((), (0,), (1,), (2,), (0, 1), (1, 2)):
        grads = [None if i in missing else make(3, 20 if i == 2 else 5) for i in range(3)]
        yield (*grads, make(3, 20, low=0.1, high=0.9), make(3, 5), make(3, 5)), {}


@gru_cell_backward.with_samples
def _(make: Make) -> Samples:
    for missing in ((), (0,), (1,)):
        grads = [None if i in missing else make(3, 15 if i else 5) for i in range(2)]
        yield (*grads, make(3, 15, low=0.1, high=0.9), make(3, 15), make(3, 5)), {}


_decls: Any = (lstm_cell, lstm_cell_backward, gru_cell, gru_cell_backward)
for _decl in _decls:
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64)

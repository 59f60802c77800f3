"""Recurrent networks: an Elman network, LSTM and GRU, as layers over sequences and as cells."""

from __future__ import annotations

import math
from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules import packed
from opweave.nn.modules.linear import empty
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.nn.utils.rnn import PackedSequence
from opweave.registry import families
from opweave.registry.autocast import is_on
from opweave.registry.errors import ArgumentError, DomainError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
step: Any = families.family("cells").step
_layers: Any = families.family("recurrent_layers")
#: Rows of weights for each hidden number.
_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}


class RNNBase(Module):
    """What `RNN`, `LSTM` and `GRU` have in common; parameters as of `LSTM`.

    Examples
    --------
    >>> [name for name, _ in opweave.nn.LSTM(3, 4).named_parameters()]
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if mode not in _GATES:
            raise ValueError(f"Unrecognized RNN mode: {mode}")
        for name, value, kind in (
            ("input_size", input_size, int), ("hidden_size", hidden_size, int), ("bias", bias, bool),
            ("batch_first", batch_first, bool),
        ):  # fmt: skip
            if not isinstance(value, kind):
                raise ArgumentError(
                    f"{name} should be of type {kind.__name__}", got=f"{type(value).__name__}: {value!r}",
                    hint=f"the arguments are input_size, hidden_size, num_layers, ...: name those behind, as {name}=",
                )  # fmt: skip
        for name, value in (("input_size", input_size), ("hidden_size", hidden_size), ("num_layers", num_layers)):
            if value <= 0:
                raise DomainError(
                    f"{name} must be greater than zero", got=f"{name}={value}",
                    hint=f"nn.{mode.partition('_')[0]}(32, 64, num_layers=2), for one",
                )  # fmt: skip
        if isinstance(dropout, bool) or not isinstance(dropout, (int, float)) or not 0 <= dropout <= 1:
            raise DomainError(
                "dropout should be a number in range [0, 1], the probability of an element being zeroed",
                got=f"dropout={dropout!r}",
                hint="0.0 zeroes nothing",
            )
        if proj_size < 0 or proj_size >= hidden_size:
            raise DomainError(
                "proj_size has to be a positive integer, smaller than hidden_size, or zero",
                got=f"proj_size={proj_size}, hidden_size={hidden_size}",
                hint="0 leaves the projection out",
            )
        if proj_size and mode != "LSTM":
            raise DomainError(
                "proj_size argument is only supported for LSTM, not RNN or GRU",
                got=f"proj_size={proj_size}",
                hint="leave it out, and put an nn.Linear behind it",
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size
        rows = _GATES[mode] * hidden_size
        out = proj_size or hidden_size
        for layer in range(num_layers):
            width = input_size if layer == 0 else out * (2 if bidirectional else 1)
            for suffix in self._suffixes(layer):
                sizes = {"weight_ih": (rows, width), "weight_hh": (rows, out)}
                sizes |= {"bias_ih": (rows,), "bias_hh": (rows,)} if bias else {}
                sizes |= {"weight_hr": (proj_size, hidden_size)} if proj_size else {}
                for name, each in sizes.items():
                    self.register_parameter(f"{name}{suffix}", empty(*each, device=device, dtype=dtype))
        self.reset_parameters()

    def _suffixes(self, layer: int) -> list[str]:
        return [f"_l{layer}", f"_l{layer}_reverse"] if self.bidirectional else [f"_l{layer}"]

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The parameters of each layer and direction."""
        return [[p for p in own if p is not None] for own in self._weights().values()]

    def _weights(self) -> dict[str, tuple[Any, ...]]:
        """(weight_ih, weight_hh, bias_ih, bias_hh, weight_hr) of each layer and direction, None where there is none.

        They are attributes, which may be made of other parameters each time (`nn.utils.parametrize`).
        """
        wanted = {"weight_ih": True, "weight_hh": True, "bias_ih": self.bias, "bias_hh": self.bias,
                  "weight_hr": self.proj_size > 0}  # fmt: skip
        return {
            suffix: tuple([getattr(self, f"{name}{suffix}") if is_there else None for name, is_there in wanted.items()])
            for layer in range(self.num_layers)
            for suffix in self._suffixes(layer)
        }

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniform within ±1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def flatten_parameters(self) -> None:
        """Nothing: weights need not lie together in memory."""

    # ---- running -----------------------------------------------------------------------------------------------------

    def _zeros(self, batch: int, like: Tensor) -> tuple[Tensor, ...]:
        count = self.num_layers * (2 if self.bidirectional else 1)
        widths = [self.proj_size or self.hidden_size] + ([self.hidden_size] if self.mode == "LSTM" else [])
        options = {"dtype": like._dtype, "device": like._device}
        return tuple([aten.zeros.default([count, batch, width], **options) for width in widths])

    def _checked(self, state: tuple[Tensor, ...], batch: int) -> tuple[Tensor, ...]:
        count = self.num_layers * (2 if self.bidirectional else 1)
        widths = (self.proj_size or self.hidden_size, self.hidden_size)
        for t, width in zip(state, widths, strict=False):
            if tuple(t._sizes) != (count, batch, width):
                raise ShapeError(
                    f"{type(self).__name__}: the first state must be f32[{count}, {batch}, {width}]", got=describe(t)
                )
        return state

    def _check_dtype(self, input: Tensor, weight: Tensor) -> None:
        if input._dtype is not weight._dtype and not is_on(input._device.type):
            raise DomainError(
                f"RNN input dtype ({input._dtype}) does not match weight dtype ({weight._dtype})", got=describe(input),
                hint=f"Convert input: input.to({weight._dtype}), or convert model: model.to({input._dtype})",
            )  # fmt: skip

    def _check_width(self, input: Tensor) -> None:
        if input._sizes[-1] != self.input_size:
            raise ShapeError(
                f"{type(self).__name__}: input.size(-1) must be equal to input_size. Expected {self.input_size}",
                got=describe(input), hint=f"nn.{type(self).__name__}({input._sizes[-1]}, {self.hidden_size})",
            )  # fmt: skip

    def _layer(
        self, steps: list[Tensor], joined: Tensor, own: tuple[Any, ...], state: tuple[Tensor, ...], reverse: bool
    ) -> tuple[list[Tensor], tuple[Tensor, ...]]:
        """One layer in one direction: what it gives at each step, and the last state; `joined` has all steps' rows.

        Batches may get smaller from step to step, as in a packed sequence: state of those that end is kept.
        """
        w_ih, weight, b_ih, b_hh, projection = own
        if self.mode != "GRU" and b_ih is not None:
            # Only the sum of both is ever used: added at the steps, it takes no pass over all products.
            b_ih, b_hh = None, aten.add.Tensor(b_ih, b_hh)
        counts = [t._sizes[0] for t in steps]
        products = F.linear(joined, w_ih, b_ih)
        from_input = aten.split_with_sizes.default(products, counts)
        found: list[Any] = [None] * len(steps)
        begin = state
        count = counts[-1 if reverse else 0]
        now: tuple[Any, ...] = tuple([_rows(t, 0, count) for t in begin])
        ended: list[tuple[Tensor, ...]] = []
        for at in range(len(steps))[:: -1 if reverse else 1]:
            if counts[at] < count:
                ended.append(tuple([_rows(t, counts[at], count) for t in now]))
                now = tuple([_rows(t, 0, counts[at]) for t in now])
            elif counts[at] > count:
                later = [_rows(t, count, counts[at]) for t in begin]
                now = tuple([aten.cat.default([t, more]) for t, more in zip(now, later, strict=True)])
            count = counts[at]
            now = step(self.mode, from_input[at], F.linear(now[0], weight, b_hh), now)
            if projection is not None:
                now = (F.linear(now[0], projection), *now[1:])
            found[at] = now[0]
        last: list[Any] = [now, *reversed(ended)]
        return found, tuple([aten.cat.default(list(parts)) if ended else parts[0] for parts in zip(*last, strict=True)])

    def _run(
        self, steps: list[Tensor], joined: Tensor, state: tuple[Tensor, ...], weights: dict[str, tuple[Any, ...]]
    ) -> tuple[list[Tensor], tuple[Tensor, ...]]:
        """All layers over steps, whose rows `joined` has; `state` is (layers · directions, batch, width) each."""
        last: list[Any] = []
        for layer in range(self.num_layers):
            found: list[Any] = []
            for suffix in self._suffixes(layer):
                first = tuple([aten.select.int(t, 0, len(last)) for t in state])
                outputs, end = self._layer(steps, joined, weights[suffix], first, suffix.endswith("_reverse"))
                found.append(outputs)
                last.append(end)
            pairs: list[Any] = list(zip(*found, strict=True))
            steps = [aten.cat.default(list(p), -1) if len(p) > 1 else p[0] for p in pairs]
            if self.dropout and self.training and layer < self.num_layers - 1:
                steps = [F.dropout(t, self.dropout) for t in steps]
            if layer < self.num_layers - 1:
                joined = aten.cat.default(steps)
        return steps, tuple([aten.stack.default(list(parts)) for parts in zip(*last, strict=True)])

    def _run_joined(
        self, joined: Tensor, counts: tuple[int, ...], state: tuple[Tensor, ...], weights: dict[str, tuple[Any, ...]]
    ) -> tuple[Tensor, tuple[Tensor, ...]]:
        """`_run` over steps of such batches, by ops of many steps.

        Outputs are one tensor: of equal batches (steps, batch, width), else of rows as they are packed.
        """
        equal = counts[-1] == counts[0]
        last: list[Any] = []
        found: Any = None
        for layer in range(self.num_layers):
            outputs: list[Tensor] = []
            for suffix in self._suffixes(layer):
                first = tuple([aten.select.int(t, 0, len(last)) for t in state])
                w_ih, w_hh, b_ih, b_hh, _ = weights[suffix]
                if self.mode != "GRU" and b_ih is not None:
                    b_ih, b_hh = None, aten.add.Tensor(b_ih, b_hh)
                products = F.linear(joined, w_ih, b_ih)
                reverse = suffix.endswith("_reverse")
                if equal:
                    products = aten.view.default(products, [len(counts), -1, products._sizes[-1]])
                    output, end = _layers.layer(self.mode, products, w_hh, b_hh, first, reverse)
                else:
                    output, end = packed.layer(self.mode, products, w_hh, b_hh, first, counts, reverse)
                outputs.append(output)
                last.append(end)
            found = aten.cat.default(outputs, -1) if len(outputs) > 1 else outputs[0]
            if layer == self.num_layers - 1:
                # What the op gave is kept for its gradient, and users may write to what they get.
                found = aten.clone.default(found) if len(outputs) == 1 and found.requires_grad else found
            else:
                if self.dropout and self.training:
                    # Step by step, as ever, for the same numbers.
                    rows = aten.view.default(found, [-1, found._sizes[-1]])
                    steps = aten.split_with_sizes.default(rows, list(counts))
                    found = aten.cat.default([F.dropout(t, self.dropout) for t in steps])
                joined = aten.view.default(found, [-1, found._sizes[-1]])
        return found, tuple([aten.stack.default(list(parts)) for parts in zip(*last, strict=True)])

    def forward(self, input: Any, hx: Any = None) -> tuple[Any, Any]:
        """The outputs of the last layer at each step, and the last state of each layer.

        Parameters
        ----------
        input : Tensor or PackedSequence
            (length, batch, input_size), with `batch_first` (batch, length, input_size), or without a batch.
        hx : Tensor or tuple of Tensor, optional
            The first state (layers · directions, batch, hidden_size); of an LSTM a pair. Zeros by default.
        """
        state = None if hx is None else tuple(hx) if isinstance(hx, (tuple, list)) else (hx,)
        if state is not None and len(state) != (2 if self.mode == "LSTM" else 1):
            raise ArgumentError(
                f"{type(self).__name__}: the first state must be "
                + ("a pair of tensors" if self.mode == "LSTM" else "a tensor"),
                got=f"{len(state)} tensors",
            )
        if isinstance(input, PackedSequence):
            return self._packed(input, state)
        if input.ndim not in (2, 3):
            raise ShapeError(f"{type(self).__name__}: expected input of 2 or 3 dimensions", got=describe(input))
        self._check_width(input)
        if input._sizes[1 if self.batch_first and input.ndim == 3 else 0] == 0:
            raise ShapeError(
                f"{type(self).__name__}: Expected sequence length to be larger than 0 in RNN", got=describe(input)
            )
        weights = self._weights()
        self._check_dtype(input, weights["_l0"][0])
        alone = input.ndim == 2
        if alone:
            input = aten.unsqueeze.default(input, 1)
            state = None if state is None else tuple([aten.unsqueeze.default(t, 1) for t in state])
        elif self.batch_first:
            input = aten.transpose.int(input, 0, 1)
        batch = input._sizes[1]
        state = self._zeros(batch, input) if state is None else self._checked(state, batch)
        joined = aten.reshape.default(input, [-1, self.input_size])
        turned = self.batch_first and not alone
        if not self.proj_size and _layers.takes(joined, *state, *(t for own in weights.values() for t in own)):
            output, last = self._run_joined(joined, (batch,) * input._sizes[0], state, weights)
            output = aten.contiguous.default(aten.transpose.int(output, 0, 1)) if turned else output
        else:
            steps, last = self._run(list(aten.unbind.int(input, 0)), joined, state, weights)
            output = aten.stack.default(steps, 1 if turned else 0)
        if alone:
            output, last = aten.squeeze.dim(output, 1), tuple([aten.squeeze.dim(t, 1) for t in last])
        return output, last if self.mode == "LSTM" else last[0]

    def _packed(self, input: PackedSequence, state: tuple[Tensor, ...] | None) -> tuple[Any, Any]:
        self._check_width(input.data)
        counts = [int(n) for n in input.batch_sizes.tolist()]
        if state is None:
            state = self._zeros(counts[0], input.data)
        elif input.sorted_indices is not None:
            state = tuple([aten.index_select.default(t, 1, input.sorted_indices) for t in state])
        self._checked(state, counts[0])
        weights = self._weights()
        self._check_dtype(input.data, weights["_l0"][0])
        if not self.proj_size and _layers.takes(input.data, *state, *(t for own in weights.values() for t in own)):
            output, last = self._run_joined(input.data, tuple(counts), state, weights)
            output = aten.view.default(output, [-1, output._sizes[-1]]) if output.ndim == 3 else output
        else:
            steps = list(aten.split_with_sizes.default(input.data, counts))
            steps, last = self._run(steps, input.data, state, weights)
            output = aten.cat.default(steps)
        if input.unsorted_indices is not None:
            last = tuple([aten.index_select.default(t, 1, input.unsorted_indices) for t in last])
        return input._replace(data=output), last if self.mode == "LSTM" else last[0]

    def extra_repr(self) -> str:
        """Sizes and settings."""
        text = f"{self.input_size}, {self.hidden_size}"
        for name, usual in (
            ("proj_size", 0), ("num_layers", 1), ("bias", True), ("batch_first", False), ("dropout", 0.0),
            ("bidirectional", False),
        ):  # fmt: skip
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


def _rows(t: Tensor, begin: int, end: int) -> Tensor:
    return t if begin == 0 and end == t._sizes[0] else aten.slice.Tensor(t, 0, begin, end)


class RNN(RNNBase):
    """Layers of h = tanh(W x + b + V h + c) (Elman 1990); parameters as of `LSTM`, and `nonlinearity`.

    Examples
    --------
    >>> opweave.nn.RNN(2, 3)(opweave.ones(4, 1, 2))[0].shape
    opweave.Size([4, 1, 3])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise DomainError(
                f"Unknown nonlinearity '{nonlinearity}'. Select from 'tanh' or 'relu'.",
                got=f"nonlinearity={nonlinearity!r}",
                hint="'tanh' or 'relu'",
            )
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, 0, device, dtype,
        )  # fmt: skip
        self.nonlinearity = nonlinearity


class LSTM(RNNBase):
    """Layers of long short-term memory (Hochreiter & Schmidhuber 1997).

    Parameters
    ----------
    input_size, hidden_size : int
        Widths of the input and of the state.
    num_layers : int
        One on the other.
    bias : bool
        Whether two vectors are added to each gate.
    batch_first : bool
        (batch, length, width) rather than (length, batch, width); states are not affected.
    dropout : float
        Between layers, in training.
    bidirectional : bool
        Whether a second network goes backwards.
    proj_size : int
        Project the outputs to this width; 0 for not at all.

    Examples
    --------
    >>> opweave.nn.LSTM(2, 3)(opweave.ones(4, 1, 2))[0].shape
    opweave.Size([4, 1, 3])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, proj_size, device,
            dtype,
        )  # fmt: skip


class GRU(RNNBase):
    """Layers of gated recurrent units (Cho et al. 2014); parameters as of `LSTM`.

    Examples
    --------
    >>> opweave.nn.GRU(2, 3)(opweave.ones(4, 1, 2))[0].shape
    opweave.Size([4, 1, 3])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout, bidirectional, 0, device, dtype
        )


class RNNCellBase(Module):
    """One step of a recurrent network.

    Examples
    --------
    >>> [name for name, _ in opweave.nn.GRUCell(3, 4).named_parameters()]
    ['weight_ih', 'weight_hh', 'bias_ih', 'bias_hh']
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool, num_chunks: int, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        rows = num_chunks * hidden_size
        self.weight_ih = empty(rows, input_size, device=device, dtype=dtype)
        self.weight_hh = empty(rows, hidden_size, device=device, dtype=dtype)
        for name in ("bias_ih", "bias_hh"):
            self.register_parameter(name, empty(rows, device=device, dtype=dtype) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draw the parameters anew, uniform within ±1 / sqrt(hidden_size)."""
        bound = 1.0 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def _step(self, mode: str, input: Tensor, state: tuple[Tensor, ...] | None) -> tuple[Tensor, ...]:
        if input.ndim not in (1, 2):
            raise ShapeError(f"{type(self).__name__}: Expected input to be 1D or 2D", got=describe(input))
        for t in state or ():
            if t.ndim not in (1, 2):
                raise ShapeError(f"{type(self).__name__}: Expected hidden to be 1D or 2D", got=describe(t))
        alone = input.ndim == 1
        if alone:
            input = aten.unsqueeze.default(input, 0)
            state = None if state is None else tuple([aten.unsqueeze.default(t, 0) for t in state])
        if state is None:
            sizes = [input._sizes[0], self.hidden_size]
            zeros = aten.zeros.default(sizes, dtype=input._dtype, device=input._device)
            state = (zeros, zeros) if mode == "LSTM" else (zeros,)
        products = F.linear(input, self.weight_ih, self.bias_ih), F.linear(state[0], self.weight_hh, self.bias_hh)
        found = step(mode, *products, state)
        return tuple([aten.squeeze.dim(t, 0) for t in found]) if alone else found

    def extra_repr(self) -> str:
        """Sizes and settings."""
        text = f"{self.input_size}, {self.hidden_size}"
        text += "" if self.bias else f", bias={self.bias}"
        chosen = getattr(self, "nonlinearity", "tanh")
        return text if chosen == "tanh" else f"{text}, nonlinearity={chosen}"


class RNNCell(RNNCellBase):
    """tanh(W x + b + V h + c).

    Examples
    --------
    >>> opweave.nn.RNNCell(2, 3)(opweave.ones(1, 2)).shape
    opweave.Size([1, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, nonlinearity: str = "tanh", device: Any = None,
        dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        if nonlinearity not in ("tanh", "relu"):
            raise DomainError(
                f"Unknown nonlinearity: {nonlinearity}", got=f"nonlinearity={nonlinearity!r}", hint="'tanh' or 'relu'"
            )
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        return self._step(f"RNN_{self.nonlinearity.upper()}", input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM.

    Examples
    --------
    >>> opweave.nn.LSTMCell(2, 3)(opweave.ones(1, 2))[0].shape
    opweave.Size([1, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None) -> tuple[Tensor, Tensor]:
        """The next state, a pair."""
        hidden, cell = self._step("LSTM", input, None if hx is None else tuple(hx))
        return hidden, cell


class GRUCell(RNNCellBase):
    """One step of a GRU.

    Examples
    --------
    >>> opweave.nn.GRUCell(2, 3)(opweave.ones(1, 2)).shape
    opweave.Size([1, 3])
    """

    def __init__(
        self, input_size: int, hidden_size: int, bias: bool = True, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        """The next state."""
        return self._step("GRU", input, None if hx is None else (hx,))[0]

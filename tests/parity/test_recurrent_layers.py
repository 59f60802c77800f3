"""Eager recurrent layers, whose steps are one native call, beside PyTorch's and beside their steps one by one."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import oracle
import pytest
from hypothesis import given, settings, strategies as st

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import close

import opweave
from opweave.nn.modules import rnn
from opweave.registry.errors import DTypeError, ShapeError

layers: Any = rnn._layers
KINDS: dict[str, dict[str, Any]] = {
    "LSTM": {"kind": "LSTM"},
    "GRU": {"kind": "GRU"},
    "tanh": {"kind": "RNN"},
    "relu": {"kind": "RNN", "nonlinearity": "relu"},
}


@pytest.fixture
def native_calls() -> Iterator[list[dict[str, Any]]]:
    """What native code was called with, if it did something."""
    made: list[dict[str, Any]] = []
    before = layers.native.call

    def noted(mode: str, backwards: bool, tensors: dict[str, Any], reverse: bool) -> bool:
        done = before(mode, backwards, tensors, reverse)
        made.extend([tensors] if done else [])
        return done

    layers.native.call = noted
    yield made
    layers.native.call = before


def _pair(name: str, dtype: str, width: int, hidden: int, **options: Any) -> tuple[Any, Any]:
    options = {**KINDS[name], **options}
    kind = options.pop("kind")
    theirs, ours = (getattr(lib.nn, kind)(width, hidden, **options) for lib in (torch, opweave))
    theirs, ours = theirs.to(getattr(torch, dtype)), ours.to(getattr(opweave, dtype))
    ours.load_state_dict({n: opweave.from_numpy(t.detach().numpy().copy()) for n, t in theirs.state_dict().items()})
    return theirs, ours


def _states(last: Any) -> tuple[Any, ...]:
    return last if isinstance(last, tuple) else (last,)


def _run(
    lib: Any, module: Any, x: np.ndarray, first: list[np.ndarray], what: str, *, second: bool = False
) -> list[Any]:
    """Results, and gradients of what comes out: outputs, last states or both; of these gradients, too, if asked for."""
    given = [lib.from_numpy(a.copy()).requires_grad_() for a in (x, *first)]
    state = given[1:]
    out, last = module(given[0], *([tuple(state) if len(state) > 1 else state[0]] if state else []))
    total = (out * out).sum() if what != "states" else 0
    total = total + sum((t**3).sum() for t in _states(last)) if what != "outputs" else total
    wanted = [*given, *module.parameters()]
    grads = lib.autograd.grad(total, wanted, create_graph=second)
    found = [out, *_states(last), *grads]
    if second:
        found += lib.autograd.grad(sum((t**2).sum() for t in grads), wanted)
    return [t.detach().numpy() for t in found]


def _one_by_one(run: Callable[[], Any]) -> Any:
    before = layers.native.call
    layers.native.call = None
    try:
        return run()
    finally:
        layers.native.call = before


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([*KINDS]), sizes=st.tuples(*[st.integers(1, n) for n in (6, 5, 9, 35)]),
    count=st.integers(1, 3), bidirectional=st.booleans(), batch_first=st.booleans(), bias=st.booleans(),
    has_state=st.booleans(), what=st.sampled_from(["outputs", "states", "both"]),
    dtype=st.sampled_from(["float32", "float64"]), seed=st.integers(0, 99),
)  # fmt: skip
def test_layers_are_pytorchs_and_their_steps(
    name: str, sizes: tuple[int, ...], count: int, bidirectional: bool, batch_first: bool, bias: bool,
    has_state: bool, what: str, dtype: str, seed: int,
) -> None:  # fmt: skip
    steps, batch, width, hidden = sizes
    options = {"num_layers": count, "bidirectional": bidirectional, "batch_first": batch_first, "bias": bias}
    theirs, ours = _pair(name, dtype, width, hidden, **options)
    draw = np.random.default_rng(seed)
    x = draw.standard_normal((batch, steps, width) if batch_first else (steps, batch, width)).astype(dtype)
    first = [
        draw.standard_normal((count * (1 + bidirectional), batch, hidden)).astype(dtype)
        for _ in range((1 + (name == "LSTM")) * has_state)
    ]
    found = _run(opweave, ours, x, first, what)
    expected = _run(torch, theirs, x, first, what)
    stepwise = _one_by_one(lambda: _run(opweave, ours, x, first, what))
    for have, want, other in zip(found, expected, stepwise, strict=True):
        scale = np.abs(want).max(initial=0.0) + 1
        for each in (want, other):
            close(have / scale, each / scale, f"recurrent layers, {dtype}")
        assert have.flags.c_contiguous == other.flags.c_contiguous


def _run_packed(
    lib: Any, module: Any, x: np.ndarray, lengths: list[int], first: list[np.ndarray], batch_first: bool, total: int
) -> list[Any]:
    """Padded results, last states, and gradients of all that comes out, a way through a packed sequence."""
    given = [lib.from_numpy(a.copy()).requires_grad_() for a in (x, *first)]
    pack, pad = lib.nn.utils.rnn.pack_padded_sequence, lib.nn.utils.rnn.pad_packed_sequence
    packed = pack(
        given[0], lib.tensor(lengths), batch_first=batch_first, enforce_sorted=lengths == sorted(lengths)[::-1]
    )
    state = given[1:]
    out, last = module(packed, *([tuple(state) if len(state) > 1 else state[0]] if state else []))
    padded, found = pad(out, batch_first=batch_first, padding_value=-2.5, total_length=total)
    assert found.tolist() == lengths
    scale = lib.arange(padded.numel(), dtype=padded.dtype).reshape(padded.shape) / padded.numel()
    wanted = [*given, *module.parameters()]
    grads = lib.autograd.grad((scale * padded**2).sum() + sum((t**3).sum() for t in _states(last)), wanted)
    strides = lib.tensor([*out.data.stride(), *padded.stride()])
    return [t.detach().numpy() for t in (out.data, out.batch_sizes, padded, strides, *_states(last), *grads)]


@settings(max_examples=60, deadline=None)
@given(
    name=st.sampled_from([*KINDS]), lengths=st.lists(st.integers(1, 12) | st.just(40), min_size=1, max_size=9),
    sizes=st.tuples(st.integers(1, 5), st.integers(1, 20)), count=st.integers(1, 2), bidirectional=st.booleans(),
    batch_first=st.booleans(), has_state=st.booleans(), is_sorted=st.booleans(), longer=st.integers(0, 2),
    dtype=st.sampled_from(["float32", "float64"]),
)  # fmt: skip
def test_packed_sequences_are_pytorchs_and_their_steps(
    name: str, lengths: list[int], sizes: tuple[int, int], count: int, bidirectional: bool, batch_first: bool,
    has_state: bool, is_sorted: bool, longer: int, dtype: str,
) -> None:  # fmt: skip
    lengths = sorted(lengths)[::-1] if is_sorted else lengths
    width, hidden = sizes
    theirs, ours = _pair(
        name, dtype, width, hidden, num_layers=count, bidirectional=bidirectional, batch_first=batch_first
    )
    draw = np.random.default_rng(len(lengths) + width)
    steps, batch = max(lengths), len(lengths)
    x = draw.standard_normal((batch, steps, width) if batch_first else (steps, batch, width)).astype(dtype)
    first = [
        draw.standard_normal((count * (1 + bidirectional), batch, hidden)).astype(dtype)
        for _ in range((1 + (name == "LSTM")) * has_state)
    ]
    given = x, lengths, first, batch_first, steps + longer
    found, expected = _run_packed(opweave, ours, *given), _run_packed(torch, theirs, *given)
    stepwise = _one_by_one(lambda: _run_packed(opweave, ours, *given))
    for have, want, other in zip(found, expected, stepwise, strict=True):
        scale = np.abs(want).max(initial=0.0) + 1
        for each in (want, other):
            close(have / scale, each / scale, f"recurrent layers, {dtype}")


@pytest.mark.parametrize("name", KINDS)
def test_stretches_of_packed_sequences(name: str, native_calls: list[Any]) -> None:
    """Padding no more than twice the rows; a long tail of a few sequences is not padded for all of them."""
    _, ours = _pair(name, "float64", 3, 4)
    for lengths, calls in (([5, 5, 5], 1), ([6, 5, 4, 3], 1), ([60, 4, 3, 3, 2], 2), ([100, 50, 1, 1, 1, 1, 1, 1], 2)):
        x = opweave.randn(max(lengths), len(lengths), 3, dtype=opweave.float64)
        native_calls.clear()
        ours(opweave.nn.utils.rnn.pack_padded_sequence(x, lengths))
        assert len(native_calls) == calls
        rows = sum(tensors["outputs"]._sizes[0] * tensors["outputs"]._sizes[1] for tensors in native_calls)
        assert rows <= 2 * sum(lengths)


def test_packed_sequences_of_another_width() -> None:
    _, ours = _pair("GRU", "float32", 3, 4)
    packed = opweave.nn.utils.rnn.pack_padded_sequence(opweave.randn(5, 2, 7), [5, 2])
    with pytest.raises(ShapeError, match=r"GRU: input.size\(-1\) must be equal to input_size. Expected 3"):
        ours(packed)


def test_packed_sequences_beside_inference_mode() -> None:
    _, ours = _pair("LSTM", "float32", 3, 4, bidirectional=True)
    packed = opweave.nn.utils.rnn.pack_padded_sequence(opweave.randn(5, 3, 3), [5, 3, 2])
    with opweave.inference_mode():
        expected = ours(packed)[0].data.clone()
    out, _ = ours(packed)
    out.data.sum().backward()
    assert (out.data == expected).all()


@pytest.mark.parametrize("bidirectional", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_second_derivatives(name: str, bidirectional: bool, native_calls: list[Any]) -> None:
    theirs, ours = _pair(name, "float64", 3, 18, num_layers=2, bidirectional=bidirectional)
    x = np.random.default_rng(1).standard_normal((4, 3, 3))
    found = _run(opweave, ours, x, [], "both", second=True)
    assert native_calls
    for have, want in zip(found, _run(torch, theirs, x, [], "both", second=True), strict=True):
        oracle.close(have, want, "recurrent")


@pytest.mark.parametrize("name", KINDS)
def test_gradcheck(name: str) -> None:
    _, ours = _pair(name, "float64", 2, 3, bidirectional=True)
    x = opweave.randn(3, 2, 2, dtype=opweave.float64, requires_grad=True)
    assert opweave.autograd.gradcheck(lambda t: ours(t)[0], (x,))
    assert opweave.autograd.gradgradcheck(lambda t: ours(t)[0], (x,))


@pytest.mark.parametrize("name", KINDS)
def test_where_native_code_runs(name: str, native_calls: list[Any]) -> None:
    """And where steps run one by one: wherever somebody sees or changes what each op does."""
    _, ours = _pair(name, "float32", 3, 4, num_layers=2)
    x = opweave.randn(5, 2, 3)

    def count(run: Callable[[], Any]) -> int:
        native_calls.clear()
        run()
        return len(native_calls)

    assert count(lambda: ours(x)) == 2
    assert count(lambda: ours(x)[0].sum().backward()) == 4
    # Its backward may be differentiated again.
    assert count(lambda: opweave.func.grad(lambda t: ours(t)[0].sum())(x)) == 2
    with opweave.no_grad():
        assert count(lambda: ours(x)) == 2
        assert not {"used", "cells"} & native_calls[0].keys()
    with opweave.inference_mode():
        assert count(lambda: ours(x)) == 2
        assert ours(x)[0].is_inference()
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        assert count(lambda: ours(x)) == 0
    with opweave.FakeTensorMode(allow_non_fake_inputs=True) as mode:
        assert count(lambda: ours(mode.from_tensor(x))) == 0
    assert count(lambda: opweave.vmap(lambda t: ours(t)[0])(opweave.stack([x, x]))) == 0
    assert count(lambda: opweave.compile(lambda t: ours(t)[0])(x)) == 0
    with opweave.autograd.forward_ad.dual_level():
        dual = opweave.autograd.forward_ad.make_dual(x, x)
        assert count(lambda: ours(dual)) == 0
    graph = opweave.make_fx(lambda t: ours(t)[0])(x).graph
    assert not any("_layer" in str(node.target) for node in graph.nodes)
    assert count(lambda: ours.double()(x.double())) == 2
    assert count(lambda: ours.bfloat16()(x.bfloat16())) == 0


@pytest.mark.parametrize("name", KINDS)
def test_dropout_draws_what_steps_draw(name: str) -> None:
    _, ours = _pair(name, "float64", 3, 4, num_layers=3, dropout=0.5, bidirectional=True)
    x = opweave.randn(5, 2, 3, dtype=opweave.float64)

    def drawn() -> list[np.ndarray]:
        opweave.manual_seed(7)
        return [ours(x)[0].detach().numpy(), opweave.rand(3).numpy()]

    for have, want in zip(drawn(), _one_by_one(drawn), strict=True):
        oracle.close(have, want, "recurrent")


@pytest.mark.parametrize("batch_first", [False, True])
@pytest.mark.parametrize("name", KINDS)
def test_what_is_written_between_forward_and_backward(name: str, batch_first: bool) -> None:
    _, ours = _pair(name, "float64", 3, 4, batch_first=batch_first)
    for sizes in ((5, 2, 3), (1, 2, 3), (5, 1, 3), (1, 1, 3)):
        x = opweave.randn(*sizes, dtype=opweave.float64)
        out, last = ours(x)
        ours.zero_grad()
        (out * 2.0).sum().backward()
        expected = [p.grad.numpy().copy() for p in ours.parameters()]
        ours.zero_grad()
        out, last = ours(x)
        for t in _states(last):
            t.mul_(5.0)
        out.mul_(2.0)
        out.sum().backward()
        for p, want in zip(ours.parameters(), expected, strict=True):
            oracle.close(p.grad.numpy(), want, "recurrent")
    for weight in (ours.weight_hh_l0, ours.weight_ih_l0):
        total = ours(x.requires_grad_())[0].sum()
        with opweave.no_grad():
            weight.mul_(2.0)
        with pytest.raises(RuntimeError, match="modified by an in-place operation"):
            total.backward()


@pytest.mark.parametrize("name", KINDS)
def test_what_is_kept_goes_after_backward(name: str, native_calls: list[Any]) -> None:
    _, ours = _pair(name, "float32", 3, 4)
    out = ours(opweave.randn(5, 2, 3))[0].sum()
    kept = [weakref.ref(native_calls[0][key]._storage) for key in ("outputs", "used") if key in native_calls[0]]
    native_calls.clear()
    assert all(ref() is not None for ref in kept)
    out.backward()
    native_calls.clear()
    gc.collect()
    assert all(ref() is None for ref in kept)
    with pytest.raises(RuntimeError, match="second time"):
        out.backward()


@pytest.mark.parametrize("name", KINDS)
def test_results_do_not_depend_on_threads(name: str) -> None:
    _, ours = _pair(name, "float32", 64, 96, num_layers=2)
    x = np.random.default_rng(0).standard_normal((12, 24, 64)).astype(np.float32)
    threads, found = opweave.get_num_threads(), []
    try:
        for count in (1, 2, 3):
            opweave.set_num_threads(count)
            found.append(_run(opweave, ours, x, [], "both"))
    finally:
        opweave.set_num_threads(threads)
    for others in found[1:]:
        for have, want in zip(others, found[0], strict=True):
            np.testing.assert_array_equal(have, want)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("name", KINDS)
def test_special_values_stay_in_their_row(name: str, dtype: str) -> None:
    theirs, ours = _pair(name, dtype, 2, 17)
    x = np.random.default_rng(0).standard_normal((3, 6, 2)).astype(dtype)
    x[0, :5, 0] = np.nan, np.inf, -np.inf, 1e30, -1e30
    with torch.no_grad(), opweave.no_grad():
        expected, found = theirs(torch.from_numpy(x))[0].numpy(), ours(opweave.from_numpy(x))[0].numpy()
    close(found, expected, "recurrent layers, special values")


@pytest.mark.parametrize("name", KINDS)
def test_parameters_and_states_in_other_layouts(name: str, native_calls: list[Any]) -> None:
    theirs, ours = _pair(name, "float64", 3, 5)
    with opweave.no_grad():
        for key in ("weight_ih_l0", "weight_hh_l0"):
            turned = getattr(ours, key).detach().t().contiguous().t()
            setattr(ours, key, opweave.nn.Parameter(turned))
    draw = np.random.default_rng(0)
    x = draw.standard_normal((2, 4, 3))
    first = [draw.standard_normal((5, 4, 1)) for _ in range(1 + (name == "LSTM"))]
    found = []
    for lib, module in ((opweave, ours), (torch, theirs)):
        state: Any = tuple(lib.from_numpy(a).permute(2, 1, 0) for a in first)
        out, last = module(lib.from_numpy(x), state if len(state) > 1 else state[0])
        out[..., ::2].sum().backward()
        found.append([out, *_states(last), *(p.grad for p in module.parameters())])
    assert len(native_calls) == 2
    for have, want in zip(*found, strict=True):
        oracle.close(have.detach().numpy(), want.detach().numpy(), "recurrent")


@pytest.mark.parametrize("name", KINDS)
def test_weights_made_of_other_parameters(name: str, native_calls: list[Any]) -> None:
    """By a parametrization, and by whoever puts a tensor in the place of a parameter."""
    theirs, ours = _pair(name, "float64", 3, 5, num_layers=2)
    x = np.random.default_rng(0).standard_normal((2, 4, 3))
    found = []
    for lib, module in ((opweave, ours), (torch, theirs)):
        lib.nn.utils.parametrizations.weight_norm(module, "weight_hh_l0")
        raw = module.weight_hh_l1
        del module._parameters["weight_hh_l1"]
        module.register_parameter("raw", raw)
        module.weight_hh_l1 = raw * 0.5
        out, last = module(lib.from_numpy(x))
        (out * out).sum().backward()
        grads = {key: p.grad for key, p in module.named_parameters()}
        found.append([out, *_states(last), *[grads[key] for key in sorted(grads)]])
    assert len(native_calls) == 4
    for have, want in zip(*found, strict=True):
        oracle.close(have.detach().numpy(), want.detach().numpy(), "recurrent")


def test_a_parametrization_runs_once_a_call() -> None:
    ours, count = opweave.nn.GRU(3, 4), []

    class Noted(opweave.nn.Module):
        def forward(self, weight: Any) -> Any:
            count.append(1)
            return weight * 2

    opweave.nn.utils.parametrize.register_parametrization(ours, "weight_ih_l0", Noted())
    count.clear()
    ours(opweave.randn(5, 2, 3))
    assert len(count) == 1
    assert [t.shape for t in ours.all_weights[0]] == [(12, 3), (12, 4), (12,), (12,)]


def test_what_does_not_fit_is_refused() -> None:
    ops = opweave.ops.opweave
    products, weight, state = opweave.randn(3, 2, 20), opweave.randn(20, 5), opweave.randn(2, 5)
    with pytest.raises(ShapeError, match="lstm_layer: expected products"):
        ops.lstm_layer.default(products, weight, None, state, opweave.randn(2, 4), False)
    with pytest.raises(ShapeError, match="gru_layer_outputs: expected products"):
        ops.gru_layer_outputs.default(products, weight, None, state, False)
    with pytest.raises(ShapeError, match="of a step at least"):
        ops.lstm_layer_outputs.default(products[:0], weight, None, state, state, False)
    with pytest.raises(DTypeError, match="rnn_layer: all must have one type"):
        ops.rnn_layer.default(opweave.randn(3, 2, 5), weight[:5].double(), None, state, True, False)

"""Ops that native code replays by loops of its own, or with several results, on made-up inputs beside PyTorch.

Each call is made several times: the first are Python's, the others native code's.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import oracle
import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from hypothesis import given, settings, strategies as st

import opweave
from opweave.codegen.native import calls
from opweave.registry import replay
from opweave.registry.errors import AutogradError
from opweave.registry.op import registry

assert calls.install(True), "native code cannot know the layout of objects here"
TYPES = ("float32", "bfloat16", "float64", "float16", "int64", "int32", "uint8", "bool")
FLOATING = ("float32", "bfloat16", "float64")
TURNS = 4


@pytest.fixture(autouse=True)
def _as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    """Other tests of the process changed built-in ops, and changed them back."""
    monkeypatch.setattr(registry, "shipped_version", registry.builtin_version)


class Drawn:
    """Random tensors, the same for both libraries."""

    def __init__(self, seed: int, dtype: str) -> None:
        self.draw, self.dtype = np.random.default_rng(seed), dtype

    def number(self, low: int, high: int) -> int:
        """From `low` to less than `high`."""
        return int(self.draw.integers(low, high))

    def sizes(self, least: int = 0) -> tuple[int, ...]:
        return tuple(self.number(least, 6) for _ in range(self.number(1, 4)))

    def pair(self, sizes: tuple[int, ...], dtype: str = "", special: bool = True) -> tuple[Any, Any]:
        """One tensor, as PyTorch's and as ours; in any layout, with NaN and zeros of both signs if special."""
        dtype = dtype or self.dtype
        values: Any = self.draw.integers(-4, 5, sizes) * 1.0
        if dtype in TYPES[:4] and special:
            kind = self.draw.random(sizes)
            values = np.where(kind < 0.1, math.nan, np.where(kind < 0.25, -0.0, values))
        values = values > 0 if dtype == "bool" else abs(values) if dtype == "uint8" else values
        turned = len(sizes) > 1 and self.draw.random() < 0.3
        found = []
        for lib in (torch, opweave):
            order = range(len(sizes) - 1, -1, -1) if turned else range(len(sizes))
            t = lib.from_numpy(np.ascontiguousarray(values.transpose(*order))).to(getattr(lib, dtype))
            found.append(t.permute(*order) if turned else t)
        return found[0], found[1]

    def index(self, size: int, sizes: tuple[int, ...], negative: bool = False) -> tuple[Any, Any]:
        places = self.draw.integers(-size if negative else 0, size, sizes)
        return torch.from_numpy(places.copy()), opweave.from_numpy(places.copy())


#: From what is drawn the two calls, or None where there is none to make.
Form = Callable[[Drawn], "tuple[Callable[[], Any], Callable[[], Any]] | None"]


def both(call: Callable[..., Any], *pairs: tuple[Any, Any]) -> tuple[Callable[[], Any], Callable[[], Any]]:
    theirs, ours = ([pair[i] for pair in pairs] for i in range(2))
    return lambda: call(torch, *theirs), lambda: call(opweave, *ours)


def _joined(d: Drawn, name: str) -> Any:
    sizes = d.sizes()
    others = [d.pair(sizes, TYPES[d.number(0, 8)] if d.number(0, 2) else "") for _ in range(d.number(1, 4))]
    dim, kind = d.number(-len(sizes), len(sizes)), (list, tuple)[d.number(0, 2)]
    return both(lambda lib, *given: getattr(lib, name)(kind(given), dim), *others)


def _flip(d: Drawn) -> Any:
    sizes = d.sizes()
    dims = list({d.number(0, len(sizes)) for _ in range(2)})
    return both(lambda lib, x: x.flip(dims), d.pair(sizes))


def _roll(d: Drawn) -> Any:
    sizes = d.sizes()
    shifts, dims = [d.number(-7, 8), d.number(-7, 8)], [d.number(0, len(sizes)) for _ in range(2)]
    row = d.number(0, 3) == 0
    return both(lambda lib, x: x.roll(shifts[0]) if row else x.roll(shifts, dims), d.pair(sizes))


def _pad(d: Drawn) -> Any:
    sizes = d.sizes(1)
    pad = [d.number(-1, 4) for _ in range(2 * d.number(1, len(sizes) + 1))]
    value = d.number(0, 2)
    return both(lambda lib, x: lib.nn.functional.pad(x, pad, value=value), d.pair(sizes))


def _cumsum(d: Drawn) -> Any:
    sizes, dim = d.sizes(1), 0
    return None if d.dtype == "bool" else both(lambda lib, x: x.cumsum(dim), d.pair(sizes, special=False))


def _index_select(d: Drawn) -> Any:
    sizes = d.sizes(1)
    dim = d.number(-len(sizes), len(sizes))
    index = d.index(sizes[dim], (d.number(0, 5),))
    return both(lambda lib, x, i: x.index_select(dim, i), d.pair(sizes), index)


def _gather(d: Drawn) -> Any:
    sizes = d.sizes(1)
    dim = d.number(-len(sizes), len(sizes))
    of_index = [d.number(1, n + 1) for n in sizes]
    of_index[dim] = d.number(1, 7)
    return both(lambda lib, x, i: x.gather(dim, i), d.pair(sizes), d.index(sizes[dim], tuple(of_index)))


def _subscript(d: Drawn) -> Any:
    sizes = d.sizes(1)
    return both(lambda lib, x, i: x[i], d.pair(sizes), d.index(sizes[0], d.sizes(1)[:2], negative=True))


def _index_add(d: Drawn, name: str) -> Any:
    sizes = d.sizes(1)
    dim, count, alpha = d.number(-len(sizes), len(sizes)), d.number(1, 5), d.number(1, 3)
    of_source = list(sizes)
    of_source[dim] = count
    if d.dtype in ("bool", "float16"):
        return None
    pairs = d.pair(sizes), d.index(sizes[dim], (count,)), d.pair(tuple(of_source), special=False)
    return both(lambda lib, x, i, y: getattr(x.clone(), name)(dim, i, y, alpha=alpha), *pairs)


def _scatter(d: Drawn, name: str) -> Any:
    sizes = d.sizes(1)
    dim = d.number(-len(sizes), len(sizes))
    of_index = [d.number(1, n + 1) for n in sizes]
    index = np.argsort(d.draw.random(of_index), axis=dim)  # of which none is there twice
    if name == "scatter_add":
        if d.dtype in ("bool", "float16"):
            return None
        of_index[dim] = d.number(1, 7)
        index = d.draw.integers(0, sizes[dim], of_index)
    places = torch.from_numpy(index.copy()), opweave.from_numpy(index.copy())
    return both(lambda lib, x, i, y: getattr(x, name)(dim, i, y), d.pair(sizes), places, d.pair(tuple(of_index)))


def _extreme(d: Drawn, name: str) -> Any:
    sizes = d.sizes(1)
    dim, keepdim = d.number(-len(sizes), len(sizes)), bool(d.number(0, 2))
    x = d.pair(sizes)
    if d.dtype == "bool" and name.startswith("arg"):
        return None
    if name.startswith("arg") and d.number(0, 3) == 0:
        return both(lambda lib, x: getattr(x, name)(), x)
    return both(lambda lib, x: tuple_of(getattr(x, name)(dim, keepdim)), x)


def _one_hot(d: Drawn) -> Any:
    return both(lambda lib, i: lib.nn.functional.one_hot(i, 6), d.index(6, d.sizes(1)))


def tuple_of(found: Any) -> Any:
    return tuple(found) if isinstance(found, tuple) else found


FORMS: dict[str, Form] = {
    "cat": lambda d: _joined(d, "cat"), "stack": lambda d: _joined(d, "stack"), "flip": _flip, "roll": _roll,
    "pad": _pad, "cumsum": _cumsum, "index_select": _index_select, "gather": _gather, "x[i]": _subscript,
    "index_add": lambda d: _index_add(d, "index_add"), "index_add_": lambda d: _index_add(d, "index_add_"),
    "scatter": lambda d: _scatter(d, "scatter"), "scatter_add": lambda d: _scatter(d, "scatter_add"),
    "max": lambda d: _extreme(d, "max"), "min": lambda d: _extreme(d, "min"), "argmax": lambda d: _extreme(d, "argmax"),
    "argmin": lambda d: _extreme(d, "argmin"), "one_hot": _one_hot,
}  # fmt: skip


#: What may give a zero of either sign where there are both, or begins with a zero that takes the sign away.
EITHER_ZERO = ("max", "min", "cumsum")


def same(ours: Any, theirs: Any, either_zero: bool = False) -> None:
    """Values, with the signs of zeros, sizes, and strides where they say something."""
    if isinstance(theirs, tuple):
        for a, b in zip(ours, theirs, strict=True):
            same(a, b, either_zero)
        return
    assert tuple(ours.shape) == tuple(theirs.shape)
    assert str(ours.dtype).rpartition(".")[2] == str(theirs.dtype).rpartition(".")[2]
    if theirs.numel() > 1:
        steps = [[s for s, n in zip(t.stride(), t.shape, strict=True) if n != 1] for t in (ours, theirs)]
        assert steps[0] == steps[1]
    a, b = ours.detach().to(opweave.float64).numpy(), theirs.detach().to(torch.float64).numpy()
    np.testing.assert_array_equal(a, b)
    if not either_zero:
        np.testing.assert_array_equal(np.signbit(a) & (a == a), np.signbit(b) & (b == b))


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 1 << 32), dtype=st.sampled_from(TYPES))
def test_replayed_calls_give_what_pytorch_gives(form: str, seed: int, dtype: str) -> None:
    made = FORMS[form](Drawn(seed, dtype))
    if made is None:
        return
    theirs, ours = made
    try:
        expected = theirs()
    except (RuntimeError, IndexError):
        for _ in range(TURNS):
            with pytest.raises((RuntimeError, IndexError, ValueError, TypeError)):
                ours()
        return
    for _ in range(TURNS):
        same(ours(), expected, form in EITHER_ZERO)


# ---- with gradients --------------------------------------------------------------------------------------------------


def _images(d: Drawn) -> tuple[Any, Any]:
    return d.pair((2, 4, d.number(3, 7), d.number(3, 7)), special=False)


GRADIENTS: dict[str, tuple[Callable[..., Any], Callable[[Drawn], list[tuple[Any, Any]]]]] = {
    "cat": (lambda lib, x, y: lib.cat([x, y], 1), lambda d: [d.pair((3, 4)), d.pair((3, 2))]),
    "cat of one twice": (lambda lib, x: lib.cat((x, x * 2, x)), lambda d: [d.pair((3, 4))]),
    "stack": (lambda lib, x, y: lib.stack([x, y], -1), lambda d: [d.pair((3, 4)), d.pair((3, 4))]),
    "x[i]": (lambda lib, x: x[lib.tensor([0, 2, 0])], lambda d: [d.pair((3, 4))]),
    "x[i] of a product": (lambda lib, x: (x * 3)[lib.tensor([0, 2, 0])], lambda d: [d.pair((3, 4))]),
    "layer_norm": (
        lambda lib, x, w, b: lib.nn.functional.layer_norm(x, (5,), w, b),
        lambda d: [d.pair((3, 5)), d.pair((5,)), d.pair((5,))]),
    "native_layer_norm": (
        lambda lib, x, w: lib.native_layer_norm(x, (5,), w, None, 1e-5)[0], lambda d: [d.pair((3, 5)), d.pair((5,))]),
    "group_norm": (lambda lib, x: lib.nn.functional.group_norm(x, 2), lambda d: [_images(d)]),
    "batch_norm": (
        lambda lib, x: lib.nn.functional.batch_norm(x, None, None, training=True), lambda d: [_images(d)]),
    "max_pool2d": (lambda lib, x: lib.nn.functional.max_pool2d(x, 2, 1, 1), lambda d: [_images(d)]),
    "max_pool2d with indices": (
        lambda lib, x: lib.nn.functional.max_pool2d(x, 2, return_indices=True), lambda d: [_images(d)]),
    "max_pool2d, dilated": (
        lambda lib, x: lib.nn.functional.max_pool2d(x, 2, 1, 1, 2, ceil_mode=True), lambda d: [_images(d)]),
    "avg_pool2d": (
        lambda lib, x: lib.nn.functional.avg_pool2d(x, 2, 1, 1, count_include_pad=False), lambda d: [_images(d)]),
    "avg_pool2d, ceil": (lambda lib, x: lib.nn.functional.avg_pool2d(x, 2, ceil_mode=True), lambda d: [_images(d)]),
    "max": (lambda lib, x: x.max(1), lambda d: [d.pair((3, 5))]),
    "cross_entropy": (
        lambda lib, x: lib.nn.functional.cross_entropy(x, lib.tensor([1, -100, 4])), lambda d: [d.pair((3, 5))]),
    "nll_loss": (
        lambda lib, x: lib.nn.functional.nll_loss(x, lib.tensor([1, 0, 4]), reduction="sum"),
        lambda d: [d.pair((3, 5))]),
}  # fmt: skip


@pytest.mark.parametrize("form", GRADIENTS)
@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 1 << 32), dtype=st.sampled_from(("float32", "float64")))
def test_replayed_calls_have_pytorchs_gradients(form: str, seed: int, dtype: str) -> None:
    call, draw = GRADIENTS[form]
    draw_from = Drawn(seed, dtype)
    pairs = draw(draw_from)
    values = [draw_from.draw.standard_normal(theirs.shape) for theirs, _ in pairs]
    theirs, ours = ([lib.from_numpy(v.copy()).to(getattr(lib, dtype)).requires_grad_() for v in values]
                    for lib in (torch, opweave))  # fmt: skip

    def gradients(lib: Any, given: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
        found = call(lib, *given)
        found = [t for t in (found if isinstance(found, tuple) else (found,)) if t.is_floating_point()]
        total = sum((t * t * t).sum() for t in found)
        first = lib.autograd.grad(total, given, create_graph=True)
        again = sum((t * t).sum() for t in first)
        second = lib.autograd.grad(again, given, allow_unused=True) if again.requires_grad else []
        return found, list(first), [t for t in second if t is not None]

    expected = gradients(torch, theirs)
    for _ in range(TURNS):
        for got, wanted in zip(gradients(opweave, ours), expected, strict=True):
            for a, b in zip(got, wanted, strict=True):
                scale = 1 + float(b.detach().abs().max()) if b.numel() else 1
                oracle.close(a.detach().numpy() / scale, b.detach().numpy() / scale, f"replayed, {dtype}")


# ---- what only Python answers ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("bad", [5, -6])
def test_a_number_that_names_no_place_is_refused_after_others_were_replayed(bad: int) -> None:
    x, good, wrong = opweave.randn(5, 3), opweave.tensor([0, 4]), opweave.tensor([0, bad])
    forms: list[Callable[[Any], Any]] = [
        lambda i: x[i], lambda i: x.index_select(0, i), lambda i: x.gather(0, i.unsqueeze(1)),
        lambda i: opweave.nn.functional.one_hot(i, 5), lambda i: opweave.nn.functional.embedding(i, x),
        lambda i: x.index_add(0, i, x[:2]), lambda i: x.clone().index_add_(0, i, x[:2]),
        lambda i: x.scatter_add(0, i.unsqueeze(1), x[:2]),
        lambda i: opweave.nn.functional.nll_loss(x[:2], opweave.where(i == 4, 2, i)),
    ]  # fmt: skip
    before = x.tolist()
    for form in forms:
        for _ in range(TURNS):
            form(good)
        with pytest.raises((IndexError, RuntimeError)):
            form(wrong)
        form(good)
    assert x.tolist() == before


def test_a_list_of_another_length_type_or_layout_is_another_call() -> None:
    x = opweave.arange(6.0).view(2, 3)
    for _ in range(TURNS):
        assert opweave.cat([x, x]).tolist() == x.tolist() * 2
    assert opweave.cat([x, x, x]).tolist() == x.tolist() * 3
    assert opweave.cat((x, x)).tolist() == x.tolist() * 2
    assert opweave.cat([x, x.t().contiguous().t()]).tolist() == x.tolist() * 2
    assert opweave.cat([x, x.double()]).dtype is opweave.float64
    with pytest.raises((TypeError, RuntimeError)):
        opweave.cat([x, 1])  # type: ignore[list-item]


def test_a_source_that_is_the_target_itself() -> None:
    index = opweave.tensor([1, 0, 1])
    for _ in range(TURNS):
        x = opweave.ones(3, 2)
        x.index_add_(0, index, x)
        assert x.tolist() == [[2.0, 2.0], [3.0, 3.0], [1.0, 1.0]]
        assert x._version == 1


def test_a_result_that_was_saved_and_overwritten_is_seen() -> None:
    x, w = opweave.randn(3, 5).requires_grad_(), opweave.randn(5).requires_grad_()
    for _ in range(TURNS):
        out, mean, _ = opweave.native_layer_norm(x, (5,), w, None, 1e-5)
        with opweave.no_grad():
            mean.add_(1)
        with pytest.raises(AutogradError, match="in-place"):
            out.sum().backward()


def test_results_of_one_call_are_differentiated_one_by_one() -> None:
    x = opweave.randn(3, 5).requires_grad_()
    found: list[list[list[list[float]]]] = []
    for _ in range(TURNS):
        results = opweave.native_layer_norm(x, (5,), None, None, 1e-5)
        assert [t.grad_fn is not None for t in results] == [True] * 3
        gradients = [opweave.autograd.grad((t**2).sum(), x, retain_graph=True)[0] for t in results]
        found.append([grad.tolist() for grad in gradients if grad is not None])
    assert all(other == found[0] for other in found)  # the first are Python's
    assert found[0][0] != found[0][1] != found[0][2]


def test_native_code_makes_these_calls() -> None:
    x = opweave.randn(4, 6)
    i = opweave.tensor([0, 2])
    forms: dict[Any, Callable[[], Any]] = {
        opweave.ops.aten.cat: lambda: opweave.cat([x, x]), opweave.ops.aten.stack: lambda: opweave.stack((x, x)),
        vars(opweave.Tensor)["max"]: lambda: x.max(1), opweave.ops.aten.gather: lambda: x.gather(1, i.expand(4, 2)),
        opweave.ops.aten.max_pool2d.default: lambda: opweave.nn.functional.max_pool2d(x[None], 2),
    }  # fmt: skip
    for function, call in forms.items():
        call()  # from then on the op is known
        known = calls.known[id(function)]
        known.head.wait = 0
        replay.forget()
        for _ in range(3):
            call()
        assert sum(written.hits for written in known.calls) >= 1, function


def test_calls_that_only_python_makes_do_not_keep_others_from_native_code() -> None:
    x = opweave.rand(4, 6)
    function = vars(opweave.Tensor)["__pow__"]
    known = calls.known[id(function)]
    known.head.wait = 0
    replay.forget()
    for _ in range(2):
        _ = x**x  # which looks at elements
    failed = known.failed
    for _ in range(20):
        _ = x**x
    assert known.failed == failed
    known.head.wait = 0
    for _ in range(3):
        assert (x**2).tolist() == (x * x).tolist()
    assert sum(written.hits for written in known.calls[:1]) >= 1

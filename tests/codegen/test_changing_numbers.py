"""Calls whose numbers change, and calls under autocast, that native code replays."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from test_calls import Watch

import opweave
from opweave import ops
from opweave.codegen.native import calls
from opweave.registry import replay
from opweave.registry.errors import DTypeError, OpweaveError
from opweave.registry.op import registry
from opweave.registry.tape import MOST_NUMBER
from opweave.registry.tensor import Tensor

aten = ops.aten
pytestmark = pytest.mark.skipif(not calls.install(True), reason="native code cannot know the layout of objects here")


@pytest.fixture(autouse=True)
def _as_shipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "shipped_version", registry.builtin_version)


def drawn(*sizes: int, seed: int = 0) -> Tensor:
    return opweave.from_numpy(np.random.default_rng(seed).standard_normal(sizes).astype(np.float32))


x, y, z = drawn(5, 7), drawn(5, 7, seed=1), drawn(5, 7, seed=2).abs() + 0.5
half, double = x.to(opweave.bfloat16), x.to(opweave.float64)
#: Calls with a number, and whether other numbers are replayed.
FORMS: dict[str, tuple[Callable[[float], Tensor], object, bool]] = {
    "mul": (lambda v: aten.mul.Tensor(x, v), aten.mul.Tensor, True),
    "mul of float64": (lambda v: aten.mul.Tensor(double, v), aten.mul.Tensor, True),
    "mul of bfloat16": (lambda v: aten.mul.Tensor(half, v), aten.mul.Tensor, True),
    "add": (lambda v: aten.add.Tensor(x, y, alpha=v), aten.add.Tensor, True),
    "sub": (lambda v: aten.sub.Tensor(v, x), aten.sub.Tensor, True),
    "div": (lambda v: aten.div.Tensor(x, v), aten.div.Tensor, True),
    "addcdiv": (lambda v: aten.addcdiv.default(x, y, z, value=v), aten.addcdiv.default, True),
    "addcmul": (lambda v: aten.addcmul.default(x, y, z, value=v), aten.addcmul.default, True),
    "addcdiv_": (lambda v: aten.addcdiv_.default(x.clone(), y, z, value=v), aten.addcdiv_.default, True),
    "mul_": (lambda v: aten.mul_.Tensor(x.clone(), v), aten.mul_.Tensor, True),
    # These look at the number.
    "lerp": (lambda v: aten.lerp.Scalar(x, y, v), aten.lerp.Scalar, False),
    "clamp": (lambda v: aten.clamp.default(x, v), aten.clamp.default, False),
    "pow": (lambda v: aten.pow.Tensor_Scalar(z, v), aten.pow.Tensor_Scalar, False),
}
NUMBERS = (
    0.3, -1.7, 1e-30, 1e-320, 0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, MOST_NUMBER, -MOST_NUMBER, 70000.0, 1e20, 3e38,
    1e300, math.inf, -math.inf, math.nan,
)  # fmt: skip


def outcome(call: Callable[[float], Tensor], value: float) -> object:
    try:
        found = call(value)
    except OpweaveError as error:
        return type(error), str(error).splitlines()[0]
    return found.dtype, found.stride(), found.to(opweave.float64).numpy().tobytes()


@pytest.mark.parametrize("name", FORMS)
def test_a_call_with_another_number_is_what_python_makes_of_it(name: str) -> None:
    call, function, is_free = FORMS[name]
    replay.forget()
    wanted = [outcome(call, value) for value in NUMBERS]  # nothing was noted so far: the first of each is Python's
    watch = Watch(function)
    for value in (0.1, 0.2):
        call(value)
    before = watch.made
    assert [outcome(call, value) for value in NUMBERS] == wanted
    if is_free:
        assert watch.made >= before + 5
        noted = watch.known.written
        for i in range(50):
            call(0.4 + i / 64)
        assert watch.known.written == noted


def test_the_number_of_a_call_is_that_of_its_gradient() -> None:
    leaf = x.clone().requires_grad_()
    watch = Watch(aten.mul.Tensor)
    for value in (0.3, 0.7, -2.5, 11.0):
        (found,) = opweave.autograd.grad(aten.mul.Tensor(leaf, value).sum(), leaf)
        assert found is not None
        np.testing.assert_array_equal(found.numpy(), np.full((5, 7), value, np.float32))
    assert watch.made >= 2


def test_one_number_in_two_places_need_not_be_one_the_next_time() -> None:
    v = 0.3
    for _ in range(3):
        aten.add.Tensor(x, v, alpha=v)
    found = aten.add.Tensor(x, 0.5, alpha=0.7)
    np.testing.assert_array_equal(found.numpy(), x.numpy() + np.float32(0.5 * 0.7))


def test_ints_and_floats_are_told_apart() -> None:
    whole = opweave.tensor([1, 2, 3])
    for _ in range(3):
        assert aten.mul.Tensor(whole, 0.5).dtype is opweave.float32
    assert aten.mul.Tensor(whole, 2).dtype is opweave.int64
    assert aten.mul.Tensor(whole, 0.25).tolist() == [0.25, 0.5, 0.75]
    with pytest.raises(DTypeError):
        aten.add.Tensor(whole, whole, alpha=0.5)


@pytest.mark.parametrize("name", ["SGD", "Adam", "AdamW", "NAdam", "RMSprop"])
def test_optimizers_make_the_same_steps_replayed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def trained() -> list[bytes]:
        parameter = x.clone().requires_grad_()
        step = getattr(opweave.optim, name)([parameter], lr=1e-2)
        found = []
        for i in range(8):
            parameter.grad = y * float(i % 3 - 1) + x
            step.step()
            found.append(parameter.detach().numpy().tobytes())
        return found

    once = trained()
    assert trained() == once
    with opweave.autograd.graph.saved_tensors_hooks(lambda t: t, lambda t: t):  # another way
        assert trained() == once


# ---- autocast --------------------------------------------------------------------------------------------------------


def test_what_autocast_does_not_cast_is_replayed_in_it() -> None:
    aten.exp.default(x)
    watch = Watch(aten.exp.default)
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        found = [aten.exp.default(x) for _ in range(3)]
    assert watch.made >= 1
    assert found[-1].dtype is opweave.float32


def test_a_cast_follows_the_type_of_the_block() -> None:
    w = drawn(7, 7, seed=3)
    for _ in range(3):
        for dtype in (opweave.bfloat16, opweave.float16):
            with opweave.autocast("cpu", dtype=dtype):
                for _ in range(3):
                    assert aten.mm.default(x, w).dtype is dtype
                    assert opweave.nn.functional.linear(x, w).dtype is dtype
                    # A function that casts nothing of what it is given, but would in another block.
                    assert (half @ w.to(opweave.bfloat16)).dtype is dtype
        assert aten.mm.default(x, w).dtype is opweave.float32


def test_products_of_a_block_are_made_of_what_it_casts() -> None:
    w = drawn(7, 7, seed=3)
    wanted = aten.mm.default(x.to(opweave.bfloat16), w.to(opweave.bfloat16)).to(opweave.float32).numpy()
    with opweave.autocast("cpu", dtype=opweave.bfloat16):
        for _ in range(5):
            np.testing.assert_array_equal(aten.mm.default(x, w).to(opweave.float32).numpy(), wanted)
            with opweave.autocast("cpu", enabled=False):
                assert aten.mm.default(x, w).dtype is opweave.float32

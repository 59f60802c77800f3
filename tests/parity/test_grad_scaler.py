"""`GradScaler` and `CyclicLR` beside PyTorch's: losses, scales, rates, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import opweave

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")


def steps(lib: Any, dtype: str) -> Any:
    """Six steps, of which the fourth has an infinite gradient and every other clips."""
    p = lib.tensor([0.5, -1.0, 2.0], dtype=getattr(lib, dtype), requires_grad=True)
    optimizer = lib.optim.SGD([p], 0.125)
    scaler = lib.amp.GradScaler("cpu", init_scale=16.0, growth_interval=2)
    seen = []
    for k in range(6):
        optimizer.zero_grad()
        loss = (p * float("inf")).sum() if k == 3 else (p**2).sum()
        scaler.scale(loss).backward()
        if k % 2:
            scaler.unscale_(optimizer)
            lib.nn.utils.clip_grad_value_([p], 0.5)
        seen.append((scaler.step(optimizer), scaler.get_scale(), p.grad.tolist()))
        scaler.update()
    return p.tolist(), seen, scaler.state_dict()


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_scaled_steps(dtype: str) -> None:
    assert repr(steps(opweave, dtype)) == repr(steps(torch, dtype))


def _scaler(lib: Any) -> Any:
    return lib.amp.GradScaler("cpu", init_scale=4.0)


def _optimizer(lib: Any, dtype: str = "float32") -> Any:
    p = lib.ones(2, dtype=getattr(lib, dtype), requires_grad=True)
    p.grad = lib.ones(2, dtype=getattr(lib, dtype))
    return lib.optim.SGD([p], 0.5)


def _twice(name: str) -> Callable[[Any], Any]:
    def run(lib: Any) -> None:
        scaler, optimizer = _scaler(lib), _optimizer(lib)
        getattr(scaler, name)(optimizer)
        getattr(scaler, name)(optimizer)

    return run


REFUSED: dict[str, Callable[[Any], Any]] = {
    "update without a step": lambda lib: _scaler(lib).update(),
    "unscale_ twice": _twice("unscale_"),
    "step twice": _twice("step"),
    "float16 gradients": lambda lib: _scaler(lib).unscale_(_optimizer(lib, "float16")),
    "a closure": lambda lib: _scaler(lib).step(_optimizer(lib), closure=lambda: 1),
    "a number": lambda lib: _scaler(lib).scale(3),
    "an empty state": lambda lib: _scaler(lib).load_state_dict({}),
}


@pytest.mark.parametrize("call", REFUSED.values(), ids=REFUSED)
def test_what_a_scaler_refuses(call: Callable[[Any], Any]) -> None:
    for lib in (torch, opweave):
        with pytest.raises((RuntimeError, ValueError, AssertionError, TypeError)):
            call(lib)


def test_what_is_scaled() -> None:
    for lib in (torch, opweave):
        scaler = _scaler(lib)
        half = scaler.scale(lib.tensor(3.0, dtype=lib.float16))
        assert half.item() == 12.0 and half.dtype is lib.float32
        several = scaler.scale([lib.ones(1), (lib.ones(2),)])
        assert several[0].tolist() == [4.0] and several[1][0].tolist() == [4.0, 4.0]
        off = lib.amp.GradScaler("cpu", enabled=False)
        assert off.scale(half) is half and off.get_scale() == 1.0 and off.state_dict() == {}
        other = _scaler(lib)
        other.scale(half)
        other.update(8.0)
        scaler.load_state_dict(other.state_dict())
        assert scaler.get_scale() == 8.0


SCHEDULES: list[dict[str, Any]] = [
    {"step_size_up": 2},
    {"step_size_up": 3, "step_size_down": 1, "mode": "triangular2"},
    {"step_size_up": 2, "mode": "exp_range", "gamma": 0.5},
    {"step_size_up": 2, "scale_fn": lambda x: 1 / x, "cycle_momentum": False},
]


def rates(lib: Any, settings: dict[str, Any]) -> list[Any]:
    optimizer = lib.optim.SGD([lib.ones(1, requires_grad=True)], 0.5, momentum=0.9)
    schedule = lib.optim.lr_scheduler.CyclicLR(optimizer, 0.125, 1.0, **settings)
    found = []
    for _ in range(8):
        optimizer.step()
        schedule.step()
        found.append((schedule.get_last_lr(), optimizer.param_groups[0]["momentum"]))
    return found


@pytest.mark.parametrize("settings", SCHEDULES, ids=lambda settings: "-".join(settings))
def test_cyclic_rates(settings: dict[str, Any]) -> None:
    assert rates(opweave, settings) == rates(torch, settings)

"""Optimizer classes and schedules beside PyTorch's: parameters, states and rates after each step."""

from __future__ import annotations

import copy
import warnings
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.registry.errors import UnsupportedError

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

from oracle import close

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.3, "maximize": True}),
    ("Adam", {"lr": 0.01}),
    ("Adam", {"lr": 0.01, "amsgrad": True, "weight_decay": 0.1, "maximize": True}),
    ("AdamW", {"lr": 0.01}),
    ("Adamax", {"lr": 0.01}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True}),
    ("RAdam", {"lr": 0.01, "weight_decay": 0.1}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9, "centered": True}),
    ("Adadelta", {"weight_decay": 0.1}),
    ("Rprop", {"lr": 0.1, "step_sizes": (0.02, 0.15)}),
    ("ASGD", {"lr": 0.1, "weight_decay": 0.1, "lambd": 0.1}),
    ("ASGD", {"t0": 2.0, "maximize": True}),
    ("Adafactor", {}),
    ("Adafactor", {"lr": 0.5, "weight_decay": 0.1, "d": 1.5, "eps": (1e-3, 1e-2), "maximize": True}),
]


def parameters(lib: Any, arrays: list[np.ndarray]) -> list[Any]:
    return [lib.nn.Parameter(lib.from_numpy(a.copy())) for a in arrays]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(("name", "options"), CASES)
def test_steps(name: str, options: dict[str, Any], compiled: bool) -> None:
    if compiled and name not in ("Adam", "NAdam", "RMSprop", "Rprop", "ASGD", "Adafactor"):
        pytest.skip("compiled ones are a few")  # no difference: they take the same formulas
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(size).astype(np.float32) for size in ((4, 3), (7,), (2,))]
    made = parameters(opweave, arrays), parameters(torch, arrays)
    groups = [[{"params": ps[:1], "lr": 0.02}, {"params": ps[1:]}] for ps in made]
    ours, theirs = getattr(opweave.optim, name)(groups[0], **options), getattr(torch.optim, name)(groups[1], **options)
    step = ours.step
    if compiled:
        ours.init_state()
        step = opweave.compile(ours.step)
    for i in range(7):
        for ps, lib in zip(made, (opweave, torch), strict=True):
            for p, a in zip(ps[:2], arrays, strict=False):
                p.grad = lib.from_numpy((a * np.float32(np.cos(i)) + np.float32(0.1)).copy())
        step()
        theirs.step()
        for one, other in zip(*made, strict=True):
            close(one.detach().numpy(), other.detach().numpy(), "optim")
    states = ours.state_dict(), theirs.state_dict()
    assert [sorted(g) for g in states[0]["param_groups"]] == [sorted(g) for g in states[1]["param_groups"]]
    if compiled:
        assert len(step.entries) == 1
        return
    assert states[0]["state"].keys() == states[1]["state"].keys() or name == "Adagrad"
    for key, kept in states[1]["state"].items():
        assert list(states[0]["state"][key]) == list(kept)
        for part, value in kept.items():
            close(states[0]["state"][key][part].numpy(), value.numpy(), "optim")
    # A fresh optimizer goes on from the state.
    again = getattr(opweave.optim, name)([{"params": made[0][:1]}, {"params": made[0][1:]}], lr=9.0)
    again.load_state_dict(copy.deepcopy(states[0]))
    again.step()
    theirs.step()
    for one, other in zip(*made, strict=True):
        close(one.detach().numpy(), other.detach().numpy(), "optim")


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize(
    "options",
    [
        {"lr": 0.1},
        {"lr": 0.1, "nesterov": False, "weight_decay": 0.0, "adjust_lr_fn": "match_rms_adamw", "ns_steps": 3},
    ],
    ids=["usual", "others"],
)
def test_steps_of_muon(options: dict[str, Any], compiled: bool) -> None:
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(size).astype(np.float32) for size in ((4, 3), (3, 7), (2, 2))]
    ours, theirs = parameters(opweave, arrays), parameters(torch, arrays)
    one, other = opweave.optim.Muon(ours, **options), torch.optim.Muon(theirs, **options)
    assert one.state_dict()["param_groups"] == other.state_dict()["param_groups"]
    step: Any = one.step
    if compiled:
        one.init_state()
        step = opweave.compile(one.step)
    for i in range(4):
        for ps, lib in ((ours, opweave), (theirs, torch)):
            for p, a in zip(ps, arrays, strict=True):
                p.grad = lib.from_numpy((a * np.float32(np.cos(i)) + np.float32(0.1)).copy())
        step()
        other.step()
        for p, q in zip(ours, theirs, strict=True):
            # Directions are computed in bfloat16.
            close(p.detach().numpy(), q.detach().numpy(), "Muon")
    for key, kept in other.state_dict()["state"].items():
        close(one.state_dict()["state"][key]["momentum_buffer"].numpy(), kept["momentum_buffer"].numpy(), "optim")


def averaged_models(lib: Any, options: dict[str, Any]) -> list[Any]:
    """What a model that is averaged over five steps gives, its state, and the rates."""
    model = lib.nn.Sequential(lib.nn.Linear(3, 4), lib.nn.BatchNorm1d(4), lib.nn.Linear(4, 2))
    with lib.no_grad():
        for i, p in enumerate(model.parameters()):
            p.copy_(lib.linspace(-1.0, 1.0, p.numel()).reshape(p.shape) * (i + 1))
    swa = lib.optim.swa_utils
    options = dict(options)
    make = options.pop("how", None)
    if make is not None:
        options[make[0]] = getattr(swa, make[1])(*make[2:])
    averaged = swa.AveragedModel(model, **options)
    optimizer = lib.optim.SGD(model.parameters(), lr=0.01)
    schedule = swa.SWALR(optimizer, swa_lr=0.002, anneal_epochs=3, anneal_strategy="linear" if make else "cos")
    batches = [lib.linspace(-1.0, 1.0, 12).reshape(4, 3).sin() * (k + 1) for k in range(5)]
    rates = []
    for x in batches:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        averaged.update_parameters(model)
        schedule.step()
        rates.append(schedule.get_last_lr()[0])
    state = {name: t.detach().numpy().copy() for name, t in averaged.state_dict().items()}
    swa.update_bn([(x, 0) for x in batches], averaged)
    averaged.eval()
    after = [t.numpy().copy() for name, t in averaged.state_dict().items() if "running" in name]
    return [state, after, averaged(batches[0]).detach().numpy(), np.array(rates)]


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"how": ("multi_avg_fn", "get_ema_multi_avg_fn", 0.9)},
        {"how": ("avg_fn", "get_ema_avg_fn", 0.9)},
        {"how": ("multi_avg_fn", "get_swa_multi_avg_fn")},
        {"how": ("avg_fn", "get_swa_avg_fn"), "use_buffers": True},
    ],
    ids=["plain", "ema, many", "ema", "swa, many", "swa, buffers"],
)
def test_averages_of_weights(options: dict[str, Any]) -> None:
    ours, theirs = averaged_models(opweave, options), averaged_models(torch, options)
    assert list(ours[0]) == list(theirs[0])
    for name, value in theirs[0].items():
        assert ours[0][name].dtype == value.dtype
        close(ours[0][name], value, "optim")
    for one, other in zip(ours[1], theirs[1], strict=True):
        close(one, other, "optim")
    close(ours[2], theirs[2], "beside PyTorch")
    close(ours[3], theirs[3], "optim")


def test_averages_of_whole_numbers() -> None:
    found: list[list[Any]] = [[], []]
    for lib, results in zip((opweave, torch), found, strict=True):
        swa = lib.optim.swa_utils
        for average in (None, swa.get_ema_multi_avg_fn(0.75), swa.get_swa_multi_avg_fn()):
            model: Any = lib.nn.BatchNorm1d(2)
            averaged = swa.AveragedModel(model, use_buffers=True, multi_avg_fn=average)
            for count in (0, 7, 9, -20):
                model.num_batches_tracked.fill_(count)
                try:
                    averaged.update_parameters(model)
                    results.append(averaged.module.num_batches_tracked.item())
                except RuntimeError:
                    results.append("refused")
    assert found[0] == found[1]
    assert "refused" in found[0]


def test_there_are_no_sparse_gradients() -> None:
    with pytest.raises(UnsupportedError, match="sparse"):
        opweave.optim.SparseAdam([opweave.nn.Parameter(opweave.ones(1))])


def test_closures_of_lbfgs():
    found = []
    for lib in (opweave, torch):
        p = lib.nn.Parameter(lib.tensor([-1.2, 1.0, 0.5], dtype=lib.float64))
        optimizer = lib.optim.LBFGS([p], lr=0.1, max_iter=25, history_size=5)

        def closure(optimizer=optimizer, p=p):
            optimizer.zero_grad()
            loss = (1 - p[0]) ** 2 + 100 * (p[1] - p[0] ** 2) ** 2 + (p[2] * 3 - 1) ** 2
            loss.backward()
            return loss

        losses = [optimizer.step(closure).item() for _ in range(3)]
        found.append([*losses, *p.tolist()])
    close(found[0], found[1], "optim")


def test_wrong_arguments_are_refused_as_in_pytorch():
    for lib in (opweave, torch):
        p, q = lib.nn.Parameter(lib.ones(1)), lib.nn.Parameter(lib.ones(1))
        for wrong, error in (
            (lambda lib, p, q: lib.optim.SGD([], 0.1), ValueError),
            (lambda lib, p, q: lib.optim.SGD(p, 0.1), TypeError),
            (lambda lib, p, q: lib.optim.SGD([p], -0.1), ValueError),
            (lambda lib, p, q: lib.optim.SGD([p * 2], 0.1), ValueError),
            (lambda lib, p, q: lib.optim.SGD([3.0], 0.1), TypeError),
            (lambda lib, p, q: lib.optim.SGD([p], 0.1, nesterov=True), ValueError),
            (lambda lib, p, q: lib.optim.SGD([{"params": [p]}, {"params": [p, q]}], 0.1), ValueError),
            (lambda lib, p, q: lib.optim.Adam([p], betas=(1.0, 0.9)), ValueError),
            (lambda lib, p, q: lib.optim.SGD([p], 0.1).load_state_dict(
                lib.optim.SGD([p, q], 0.1).state_dict()), ValueError),
        ):  # fmt: skip
            with pytest.raises(error):
                wrong(lib, p, q)


SCHEDULES: dict[str, Any] = {
    "lambda": lambda s, o: s.LambdaLR(o, lambda e: 0.9**e),
    "multiplicative": lambda s, o: s.MultiplicativeLR(o, lambda e: 0.9),
    "step": lambda s, o: s.StepLR(o, 3, 0.5),
    "multistep": lambda s, o: s.MultiStepLR(o, [2, 2, 5], 0.3),
    "constant": lambda s, o: s.ConstantLR(o, 0.3, 4),
    "line": lambda s, o: s.LinearLR(o, 0.3, 0.9, 4),
    "exponential": lambda s, o: s.ExponentialLR(o, 0.8),
    "polynomial": lambda s, o: s.PolynomialLR(o, 6, 2.0),
    "cosine": lambda s, o: s.CosineAnnealingLR(o, 4, 0.01),
    "restarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 3, 2, 0.01),
    "one cycle": lambda s, o: s.OneCycleLR(o, [1.0, 2.0], total_steps=13),
    "cycles": lambda s, o: s.CyclicLR(o, 0.1, [1.0, 2.0], 3, 2),
    "smaller cycles": lambda s, o: s.CyclicLR(o, [0.1, 0.2], 1.0, 2, mode="triangular2", cycle_momentum=False),
    "shrinking cycles": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 2, mode="exp_range", gamma=0.9),
    "scaled cycles": lambda s, o: s.CyclicLR(o, 0.1, 1.0, 2, scale_fn=lambda i: 0.8**i, scale_mode="iterations"),
    "three phases": lambda s, o: s.OneCycleLR(
        o, 1.0, epochs=13, steps_per_epoch=1, three_phase=True, anneal_strategy="linear"
    ),
    "sequence": lambda s, o: s.SequentialLR(
        o, [s.LinearLR(o, 0.1, 1.0, 3), s.CosineAnnealingLR(o, 5), s.ExponentialLR(o, 0.5)], [3, 8]
    ),
    "chain": lambda s, o: s.ChainedScheduler([s.ConstantLR(o, 0.1, 4), s.ExponentialLR(o, 0.9)]),
}


@pytest.mark.parametrize("name", SCHEDULES)
@pytest.mark.parametrize("kind", ["SGD", "Adam"])
def test_schedules(name: str, kind: str) -> None:
    warnings.simplefilter("ignore")  # PyTorch's, on the order of calls
    found = []
    for lib in (opweave, torch):
        first, second = (lib.nn.Parameter(lib.ones(2)) for _ in range(2))
        options = {"momentum": 0.9} if kind == "SGD" else {}
        optimizer = getattr(lib.optim, kind)([{"params": [first]}, {"params": [second], "lr": 0.5}], lr=0.1, **options)
        schedule = SCHEDULES[name](lib.optim.lr_scheduler, optimizer)
        rates = []
        for i in range(12):
            rates.append([(g["lr"], g.get("momentum"), g.get("betas")) for g in optimizer.param_groups])
            schedule.step()
            if i == 5:
                schedule.load_state_dict(copy.deepcopy(schedule.state_dict()))
        found.append((rates, schedule.get_last_lr()))
    assert found[0] == found[1]


def test_rates_fall_on_a_plateau_and_tensors_of_rates_are_written():
    found = []
    for lib in (opweave, torch):
        optimizer = lib.optim.SGD([lib.nn.Parameter(lib.ones(2))], lr=0.1)
        schedule = lib.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1, cooldown=1, factor=0.5, min_lr=0.01)
        draw = np.random.default_rng(0)
        rates = []
        for _ in range(30):
            schedule.step(draw.random())
            rates.append(optimizer.param_groups[0]["lr"])
        found.append(rates)
    assert found[0] == found[1]
    rate = opweave.tensor(0.1)
    optimizer = opweave.optim.SGD([opweave.nn.Parameter(opweave.ones(2))], lr=rate)
    opweave.optim.lr_scheduler.ExponentialLR(optimizer, 0.5).step()
    assert optimizer.param_groups[0]["lr"] is rate and rate.item() == float(np.float32(0.1) / 2)


def hooked(lib: Any) -> list[Any]:
    """What hooks of an optimizer see whose step is a subclass's own, and of one of the library's."""

    class Own(lib.optim.Optimizer):
        def __init__(self, params: Any) -> None:
            super().__init__(params, {"lr": 0.5})

        @lib.no_grad()
        def step(self, scale: float = 1.0) -> None:
            for group in self.param_groups:
                for p in group["params"]:
                    p.add_(p.grad, alpha=-group["lr"] * scale)

        def __setstate__(self, state: Any) -> None:
            super().__setstate__(state)
            for group in self.param_groups:
                group.setdefault("newer", 7)

    log: list[Any] = []
    for kind in (lib.optim.SGD, Own):
        p = lib.nn.Parameter(lib.ones(2))
        optimizer = kind([p])
        p.grad = lib.ones(2)
        handles = [
            optimizer.register_step_pre_hook(lambda o, args, kwargs: log.append((len(args), sorted(kwargs)))),
            optimizer.register_step_post_hook(lambda o, args, kwargs: log.append("after")),
            optimizer.register_state_dict_pre_hook(lambda o: log.append("before state")),
            optimizer.register_state_dict_post_hook(lambda o, found: {**found, "more": 1}),
            optimizer.register_load_state_dict_pre_hook(lambda o, found: log.append(sorted(found))),
            optimizer.register_load_state_dict_post_hook(lambda o: log.append("loaded")),
        ]
        optimizer.step()
        if kind is Own:
            handles.append(optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o, 2.0), {})))
            optimizer.step(scale=1.0)
        state = optimizer.state_dict()
        optimizer.load_state_dict(state)
        log.append([sorted(optimizer.param_groups[0]) if kind is Own else None, p.tolist()])
        for handle in handles:
            handle.remove()
        optimizer.step()
        log.append(p.tolist())
    return log


def test_hooks_of_steps_and_states() -> None:
    assert hooked(opweave) == hooked(torch)


def test_a_step_that_calls_its_bases_is_one_step() -> None:
    class Half(opweave.optim.SGD):
        def step(self, closure: Any = None) -> Any:
            seen.append("step")
            return super().step(closure)

    seen: list[str] = []
    p = opweave.nn.Parameter(opweave.ones(2))
    p.grad = opweave.ones(2)
    optimizer = Half([p], lr=0.5)
    optimizer.register_step_pre_hook(lambda *args: seen.append("before"))
    optimizer.register_step_post_hook(lambda *args: seen.append("after"))
    optimizer.step()
    assert (seen, p.tolist()) == (["before", "step", "after"], [0.5, 0.5])


def test_hooks_of_all_optimizers() -> None:
    from opweave.optim import optimizer as module

    seen: list[str] = []
    handles = [
        module.register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append(f"before {type(o).__name__}")),
        module.register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append(f"after {type(o).__name__}")),
    ]
    p = opweave.nn.Parameter(opweave.ones(2))
    p.grad = opweave.ones(2)
    for kind in (opweave.optim.SGD, opweave.optim.Adam):
        kind([p]).step()
    for handle in handles:
        handle.remove()
    opweave.optim.SGD([p]).step()
    assert seen == ["before SGD", "after SGD", "before Adam", "after Adam"]


def test_a_group_that_is_given_is_the_group() -> None:
    for lib in (opweave, torch):
        group = {"params": [lib.nn.Parameter(lib.ones(2))], "lr": 1.0}
        optimizer = lib.optim.SGD([group], momentum=0.5)
        group["lr"] = 0.25
        assert optimizer.param_groups[0] is group
        assert group["momentum"] == 0.5

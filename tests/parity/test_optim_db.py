"""PyTorch's own settings of its optimizers (`optim_db`): parameters, states, schedules and errors beside PyTorch's."""

from __future__ import annotations

import re
import types
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
import opinfo
import pytest
import torch
from oracle import close
from torch.testing._internal.common_optimizers import OptimizerErrorEnum, optim_db

import opweave

#: Those that take sparse gradients alone are not there.
DATABASE = [info for info in optim_db if not info.only_supports_sparse_grads]
STEPS = 5

#: Errors of PyTorch's that are none here: one way of two cannot do what the other can, and here is one way.
ALLOWED = re.compile(r"as a Tensor is not supported for capturable=False|betas must be either both floats or both")


def name_of(info: Any) -> str:
    return info.optim_cls.__name__


def ours_of(info: Any) -> Any:
    return getattr(opweave.optim, name_of(info))


def converted(value: Any, known: dict[int, Any]) -> Any:
    """Settings and parameters of opweave's: a parameter that stands in two places stays one."""
    if isinstance(value, torch.Tensor):
        if id(value) not in known:
            made = opinfo.to_opweave(value.detach())
            known[id(value)] = opweave.nn.Parameter(made) if isinstance(value, torch.nn.Parameter) else made
        return known[id(value)]
    if isinstance(value, (list, tuple)):
        return type(value)(converted(each, known) for each in value)
    if isinstance(value, dict):
        return {key: converted(each, known) for key, each in value.items()}
    return value


def hold(ours: Any, theirs: Any, difference: str, note: str) -> None:
    """Fail unless nested values agree."""
    if isinstance(theirs, torch.Tensor):
        assert isinstance(ours, opweave.Tensor), note
        assert ours.dtype.name == str(theirs.dtype).removeprefix("torch."), note
        assert ours.shape == theirs.shape, note
        close(ours.detach().numpy(), theirs.detach().numpy(), difference, note)
    elif isinstance(theirs, dict):
        assert set(ours) == set(theirs), note
        for key, value in theirs.items():
            hold(ours[key], value, difference, f"{note}, {key}")
    elif isinstance(theirs, (list, tuple)):
        assert len(ours) == len(theirs), note
        for i, (one, other) in enumerate(zip(ours, theirs, strict=True)):
            hold(one, other, difference, f"{note}, {i}")
    elif isinstance(theirs, float):
        close(ours, theirs, difference, note)
    elif not callable(theirs):
        assert ours == theirs, note


def _plain(value: Any) -> Any:
    return [float(each) for each in value] if isinstance(value, list) else float(value)


def settings(info: Any, dtype: torch.dtype) -> Iterator[dict[str, Any]]:
    for given in info.optim_inputs_func(device="cpu", dtype=dtype):
        yield given.kwargs


def sizes_of(info: Any) -> list[tuple[int, ...]]:
    return [(5, 4), (3, 6)] if name_of(info) == "Muon" else [(5, 4), (3,), (), (2, 2)]


def trained(info: Any, options: dict[str, Any], values: list[Any], grads: list[list[Any]], lib: Any) -> tuple[Any, Any]:
    """An optimizer and its parameters after some steps, in one of which a parameter has no gradient."""
    known: dict[int, Any] = {}

    def own(value: Any) -> Any:
        return converted(value, known) if lib is opweave else value

    made = [lib.nn.Parameter(opinfo.to_opweave(v) if lib is opweave else v.clone()) for v in values]
    optimizer = (ours_of(info) if lib is opweave else info.optim_cls)(made, **own(options))
    targets = [own(v) for v in values]

    def closure() -> Any:
        optimizer.zero_grad()
        parts = [(p - t - 1).abs().pow(2).sum() + p.abs().pow(4).sum() for p, t in zip(made, targets, strict=True)]
        loss: Any = sum(parts[1:], parts[0])
        loss.backward()
        return loss

    for i in range(STEPS):
        if info.step_requires_closure:
            optimizer.step(closure)
            continue  # no difference: the step evaluates the gradients
        for parameter, grad in zip(made, grads[i], strict=True):
            parameter.grad = own(grad)
        if i == STEPS - 2:
            made[0].grad = None
        optimizer.step()
    return optimizer, made


@pytest.mark.parametrize("dtype", [torch.float64, torch.complex128], ids=str)
@pytest.mark.parametrize("info", DATABASE, ids=name_of)
def test_steps(info: Any, dtype: torch.dtype) -> None:
    if dtype.is_complex and not info.supports_complex:
        with pytest.raises(RuntimeError, match="does not support complex parameters"):
            trained(info, {}, [torch.ones(2, 2, dtype=dtype)], [[torch.ones(2, 2, dtype=dtype)]] * STEPS, opweave)
        return  # no difference: both refuse
    torch.manual_seed(0)
    sizes = sizes_of(info)
    values = [torch.randn(size, dtype=dtype) for size in sizes]
    grads = [[torch.randn(size, dtype=dtype) for size in sizes] for _ in range(STEPS)]
    for options in settings(info, dtype):
        ours, theirs = (trained(info, options, values, grads, lib) for lib in (opweave, torch))
        # PyTorch's Muon takes a rate that is a tensor as the float32 number that it is, in float32.
        difference = "optim" if name_of(info) == "Muon" else "models"
        hold(ours[1], theirs[1], difference, f"{options}")
        states = ours[0].state_dict(), theirs[0].state_dict()
        for kept in states[1]["state"].values():
            kept.pop("al", None)  # a list to compute with, which no later step reads
        if name_of(info) == "LBFGS":  # PyTorch keeps some numbers as tensors
            for kept in states[1]["state"].values():
                kept.update({name: _plain(value) for name, value in kept.items() if name in ("ro", "t", "H_diag")})
        hold(*states, difference, f"{options}")
        assert repr(ours[0]).replace("opweave", "torch") == repr(theirs[0])


@pytest.mark.parametrize("info", [info for info in DATABASE if "differentiable" in info.supported_impls], ids=name_of)
def test_gradients_of_steps(info: Any) -> None:
    """Steps that are recorded: derivatives by what the parameters begin as and by their gradients, beside differences.

    Not beside PyTorch's: it detaches the first velocity of SGD.
    """
    draw = np.random.default_rng(0)
    leaves = [opweave.from_numpy(draw.normal(size=(2, 2))).requires_grad_() for _ in range(4)]
    for options in settings(info, torch.float64):
        if any(isinstance(value, torch.Tensor) for value in (options.get("lr"), *options.get("betas", ()))):
            continue  # no difference: what is a tensor has a test of its own

        def stepped(start: Any, *grads: Any, options: Any = options) -> Any:
            parameter = start.clone()
            optimizer = ours_of(info)([parameter], **options, differentiable=True)
            for grad in grads:
                parameter.grad = grad
                optimizer.step()
            return parameter

        values = [leaf.detach().numpy() for leaf in leaves]
        theirs = torch.nn.Parameter(torch.from_numpy(values[0].copy()))
        optimizer = info.optim_cls([theirs], **options)
        for grad in values[1:]:
            theirs.grad = torch.from_numpy(grad)
            optimizer.step()
        close(stepped(*leaves).detach().numpy(), theirs.detach().numpy(), "models", f"{options}")
        assert opweave.autograd.gradcheck(stepped, tuple(leaves)), options


@pytest.mark.parametrize(
    ("kind", "options"),
    [("SGD", {"momentum": 0.9}), ("Adam", {"weight_decay": 0.1}), ("AdamW", {}), ("RMSprop", {}), ("Adagrad", {})],
)
def test_the_rate_of_recorded_steps_has_a_gradient(kind: str, options: dict[str, Any]) -> None:
    def stepped(rate: Any) -> Any:
        w = opweave.arange(4, dtype=opweave.float64)
        optimizer = getattr(opweave.optim, kind)([w], lr=rate, differentiable=True, **options)
        for i in range(3):
            w.grad = opweave.arange(4, dtype=opweave.float64) * 0.3 - i
            optimizer.step()
        return w

    rate = opweave.tensor(0.1, dtype=opweave.float64, requires_grad=True)
    assert opweave.autograd.gradcheck(stepped, (rate,))
    found: Any
    (found,) = opweave.autograd.grad((stepped(rate) ** 2).sum(), [rate])
    assert found.item() != 0


@pytest.mark.parametrize("info", DATABASE, ids=name_of)
def test_errors(info: Any) -> None:
    kind, tried = ours_of(info), 0
    for error in info.optim_error_inputs_func("cpu", torch.float64):
        given = error.optimizer_error_input
        # A parameter that stands twice in a group is stepped twice by PyTorch, with a warning.
        wanted = ValueError if error.error_type is UserWarning else error.error_type
        known: dict[int, Any] = {}
        params = [torch.nn.Parameter(torch.ones(2, 3))] if given.params is None else given.params
        text = error.error_regex if wanted is error.error_type else "parameter group with duplicate parameters"

        def made(params: Any = params, given: Any = given, known: Any = known, error: Any = error) -> None:
            optimizer = kind(converted(params, known), **converted(given.kwargs, known))
            for group in optimizer.param_groups:
                for parameter in group["params"]:
                    parameter.grad = opweave.ones_like(parameter)
            if error.error_on == OptimizerErrorEnum.STEP_ERROR:
                optimizer.step()

        if ALLOWED.search(text):
            made()
            continue  # no difference: here one way does what either of two of PyTorch does
        with pytest.raises(wanted) as caught:
            made()
        tried += 1
        if name_of(info) not in ("Adafactor", "Muon"):  # which have texts of their own
            plain = [re.sub(r"\W|_", "", each.lower()) for each in (text.split(".")[0], str(caught.value))]
            assert plain[0][:12] in plain[1], text
    assert tried > 5


@pytest.mark.parametrize("info", DATABASE, ids=name_of)
def test_schedules(info: Any) -> None:
    for makers in info.scheduler_inputs:
        rates = []
        for lib in (opweave, torch):
            parameter = lib.nn.Parameter(lib.ones(3, 2))
            optimizer = (ours_of(info) if lib is opweave else info.optim_cls)([parameter], lr=0.1)
            schedules = [_rewritten(maker, lib)(optimizer) for maker in makers]
            found = []
            for i in range(25):
                parameter.grad = lib.full((3, 2), 0.1 + i)
                optimizer.step((lambda lib=lib: lib.ones(())) if info.step_requires_closure else None)
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    for schedule in schedules:
                        plateau = isinstance(schedule, lib.optim.lr_scheduler.ReduceLROnPlateau)
                        schedule.step(*((1.0,) if plateau else ()))
                found.append(float(optimizer.param_groups[0]["lr"]))
            rates.append(found)
        close(rates[0], rates[1], "models", name_of(info))


def _rewritten(maker: Any, lib: Any) -> Any:
    """A maker of a schedule that makes opweave's."""
    if lib is torch:
        return maker
    names = {name: getattr(opweave.optim.lr_scheduler, name, value) for name, value in maker.__globals__.items()}
    return types.FunctionType(maker.__code__, names, maker.__name__, maker.__defaults__, maker.__closure__)

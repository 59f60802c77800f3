"""Modules whose first call says how large their parameters are."""

from __future__ import annotations

import copy
import io
import pickle
from typing import Any

import pytest

import opweave
from opweave import nn
from opweave.nn.modules.lazy import LazyModuleMixin, is_lazy
from opweave.nn.parameter import (
    Buffer,
    Parameter,
    UninitializedBuffer,
    UninitializedParameter,
    UninitializedParameterError,
)
from opweave.registry.errors import DomainError, ShapeError, TraceError

#: A lazy module, its usual twin, and what it is called with.
FORMS: dict[str, tuple[Any, Any, tuple[int, ...]]] = {
    "LazyLinear": (lambda: nn.LazyLinear(3), lambda: nn.Linear(5, 3), (2, 5)),
    **{
        f"LazyConv{d}d": (
            lambda d=d: getattr(nn, f"LazyConv{d}d")(6, 3, stride=2, padding=1, groups=2),
            lambda d=d: getattr(nn, f"Conv{d}d")(4, 6, 3, stride=2, padding=1, groups=2), (2, 4, *(5,) * d))
        for d in (1, 2, 3)
    },
    **{
        f"LazyConvTranspose{d}d": (
            lambda d=d: getattr(nn, f"LazyConvTranspose{d}d")(6, 3, 2, bias=False),
            lambda d=d: getattr(nn, f"ConvTranspose{d}d")(4, 6, 3, 2, bias=False), (2, 4, *(3,) * d))
        for d in (1, 2, 3)
    },
    **{
        f"Lazy{kind}Norm{d}d": (
            lambda d=d, kind=kind: getattr(nn, f"Lazy{kind}Norm{d}d")(eps=0.1),
            lambda d=d, kind=kind: getattr(nn, f"{kind}Norm{d}d")(
                4, eps=0.1, affine=True, track_running_stats=True), (3, 4, *(5,) * d))
        for kind in ("Batch", "Instance") for d in (1, 2, 3)
    },
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_the_first_call_makes_the_usual_module(name: str) -> None:
    make, usual, sizes = FORMS[name]
    module, x = make(), opweave.randn(*sizes)
    parameters = dict(module.named_parameters())
    assert all(is_lazy(p) and isinstance(p, Parameter) and p.requires_grad for p in parameters.values())
    assert type(module).__name__ == name and isinstance(module, LazyModuleMixin) and parameters
    opweave.manual_seed(0)
    found = module(x)
    opweave.manual_seed(0)
    twin = usual()
    assert type(module) is type(twin) and repr(module) == repr(twin)
    assert {n: t.tolist() for n, t in module.state_dict().items() if "running" not in n and "num" not in n} == {
        n: t.tolist() for n, t in twin.state_dict().items() if "running" not in n and "num" not in n
    }
    assert opweave.equal(found, twin(x))
    assert all(parameters[n] is p and type(p) is opweave.Tensor for n, p in module.named_parameters())
    assert not hasattr(module, "_initialize_hook") and not module._forward_pre_hooks
    found.sum().backward()
    assert all(p.grad is not None for p in module.parameters())


def test_optimizers_hold_the_parameters_from_before() -> None:
    model = nn.Sequential(nn.LazyLinear(8), nn.ReLU(), nn.LazyLinear(1))
    optimizer = opweave.optim.SGD(model.parameters(), lr=0.1)
    x = opweave.randn(4, 3)
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    assert model(x).square().mean() < loss


def test_states_go_in_and_out() -> None:
    lazy = nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d())
    state = lazy.state_dict()
    assert {n for n, t in state.items() if is_lazy(t)} == {
        "0.weight", "0.bias", "1.weight", "1.bias", "1.running_mean", "1.running_var"}  # fmt: skip
    for way in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        again: Any = way(lazy)
        assert all(map(is_lazy, again.parameters())) and again(opweave.ones(2, 4)).shape == (2, 3)
    lazy.load_state_dict(state)  # what has no sizes leaves it so
    assert is_lazy(lazy[0].weight)
    usual = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3))
    assert usual.load_state_dict(copy.deepcopy(usual).state_dict()).missing_keys == []
    lazy.load_state_dict(usual.state_dict())
    assert not is_lazy(lazy[0].weight) and opweave.equal(lazy[0].weight, usual[0].weight)
    x = opweave.randn(5, 4)
    assert opweave.equal(lazy.eval()(x), usual.eval()(x)) and type(lazy[0]) is nn.Linear and lazy[0].in_features == 4
    with pytest.raises(RuntimeError, match="uninitialized parameter"):
        usual.load_state_dict(nn.Sequential(nn.LazyLinear(3), nn.LazyBatchNorm1d()).state_dict())
    other = nn.LazyLinear(3)
    other.load_state_dict(nn.Linear(4, 3).state_dict())
    with pytest.raises(ShapeError, match="for 4 features"):
        other(opweave.ones(1, 5))


def test_states_in_files() -> None:
    file = io.BytesIO()
    opweave.save(nn.Sequential(nn.LazyBatchNorm1d(dtype=opweave.float64)).state_dict(), file)
    file.seek(0)
    state = opweave.load(file)
    assert type(state["0.weight"]) is UninitializedParameter and type(state["0.running_mean"]) is UninitializedBuffer
    assert state["0.weight"].dtype == opweave.float64 and state["0.weight"].requires_grad


def test_types_before_the_first_call() -> None:
    model = nn.Sequential(nn.LazyConv2d(3, 1), nn.LazyBatchNorm2d(dtype=opweave.float32)).double()
    assert all(is_lazy(p) and p.dtype == opweave.float64 for p in model.parameters())
    assert model(opweave.ones(2, 3, 4, 4, dtype=opweave.float64)).dtype == opweave.float64
    assert {b.dtype for b in model.buffers()} == {opweave.float64, opweave.int64}
    frozen = nn.LazyLinear(2).requires_grad_(False)
    frozen(opweave.ones(1, 2))
    assert not any(p.requires_grad for p in frozen.parameters())
    assert (
        nn.LazyLinear(2, dtype=opweave.bfloat16)(opweave.ones(1, 2, dtype=opweave.bfloat16)).dtype == opweave.bfloat16
    )


def test_what_has_no_sizes_is_refused() -> None:
    weight, kept = UninitializedParameter(), UninitializedBuffer()
    later: Any = kept
    assert repr(weight) == "<UninitializedParameter>" and isinstance(kept, Buffer)
    for use in (
        lambda: weight + 1, lambda: opweave.zeros(2) @ weight, lambda: weight.sum(), lambda: nn.functional.relu(weight),
        lambda: weight[0], lambda: kept.fill_(1), lambda: nn.init.zeros_(weight),
    ):  # fmt: skip
        with pytest.raises(ValueError, match="Attempted to use an uninitialized parameter in"):
            use()
    for ask in (lambda: weight.shape, lambda: weight.share_memory_()):
        with pytest.raises(RuntimeError, match="Can't"):
            ask()
    weight.materialize([2, 3], dtype=opweave.float64)
    assert weight.shape == (2, 3) and weight.dtype == opweave.float64 and isinstance(weight, Parameter)
    assert weight.requires_grad and weight.is_leaf and weight.detach().fill_(1).sum() == 6
    later.materialize((2,))
    assert type(kept) is opweave.Tensor and isinstance(kept, Buffer)
    with pytest.raises(ShapeError, match="LazyConv2d"):
        nn.LazyConv2d(3, 1)(opweave.ones(2, 3))
    with pytest.raises(DomainError, match="divisible"):
        nn.LazyConv2d(4, 1, groups=2)(opweave.ones(1, 3, 4, 4))


def test_modules_of_ones_own() -> None:
    class Scale(LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = UninitializedParameter()

        def initialize_parameters(self, x: Any, *, times: float = 1.0) -> None:
            if self.has_uninitialized_params():
                self.weight.materialize((x.shape[-1],))
                nn.init.constant_(self.weight, times)

        def forward(self, x: Any, *, times: float = 1.0) -> Any:
            return x * self.weight

    module = Scale()
    assert module(opweave.ones(2, 3), times=2.0).tolist() == [[2.0] * 3] * 2
    assert type(module) is Scale and not module.has_uninitialized_params()

    class Half(LazyModuleMixin, nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = UninitializedParameter()

        def initialize_parameters(self, x: Any) -> None: ...

    with pytest.raises(UninitializedParameterError, match="module Half has not been fully initialized"):
        Half()(opweave.ones(1))


def test_compiled_after_the_first_call() -> None:
    model = nn.Sequential(nn.LazyConv2d(4, 3), nn.LazyBatchNorm2d(), nn.Flatten(), nn.LazyLinear(2))
    x = opweave.randn(3, 2, 5, 5)
    model(x)
    model.eval()
    compiled = opweave.compile(model, fullgraph=True)
    opweave.testing.assert_close(compiled(x), model(x))


def test_compiled_before_the_first_call() -> None:
    opweave.manual_seed(0)
    model = nn.Sequential(nn.LazyLinear(4), nn.ReLU(), nn.LazyLinear(2))
    x = opweave.randn(3, 5)
    compiled = opweave.compile(model)
    found = compiled(x)
    assert type(model[0]) is nn.Linear and model[2].weight.shape == (2, 4)
    opweave.testing.assert_close(found, model(x))
    opweave.testing.assert_close(compiled(x), model(x))


def test_one_graph_is_no_first_call() -> None:
    model = nn.LazyLinear(2)
    with pytest.raises(TraceError, match="initialized by its first call"):
        opweave.compile(model, fullgraph=True)(opweave.ones(1, 2))
    assert type(model) is nn.LazyLinear and is_lazy(model.weight)
    assert model(opweave.ones(1, 2)).shape == (1, 2)

"""Hooks of all modules beside PyTorch's: what is called, in which order, with what, eager and compiled."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="the oracle of parity tests is PyTorch, which is not installed")

import opweave
from opweave import nn


@pytest.fixture(autouse=True)
def without_hooks() -> Iterator[None]:
    """PyTorch keeps which kind of backward hooks there was, for good."""
    torch.nn.modules.module._global_is_full_backward_hook = None
    yield
    torch.nn.modules.module._global_is_full_backward_hook = None
    assert not opweave.nn.Module._hooked


def name(module: Any) -> str:
    return type(module).__name__


def numbers(value: Any) -> Any:
    return None if value is None else [round(each, 2) for each in value.flatten().tolist()]


def net_of(lib: Any) -> Any:
    class Net(lib.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.first = lib.nn.Linear(2, 3)
            self.rest = lib.nn.Sequential(lib.nn.ReLU(), lib.nn.LayerNorm(3))

        def forward(self, x: Any, *, k: int = 1) -> Any:
            return self.rest(self.first(x)) * k

    net = Net()
    with lib.no_grad():
        net.first.weight.copy_(lib.tensor([[1.0, 2.0], [3.0, -4.0], [0.5, 0.25]]))
        net.first.bias.zero_()
    return net


def training(lib: Any, wrap: Callable[[Any], Any]) -> list[Any]:
    """Three steps with hooks of all sorts, of which some go after two."""
    of, log = lib.nn.modules.module, []
    net = net_of(lib)
    handles = [
        of.register_module_forward_pre_hook(lambda m, args: log.append(("pre", name(m), len(args)))),
        of.register_module_forward_hook(lambda m, args, out: log.append(("after", name(m), numbers(out)))),
        of.register_module_forward_hook(lambda m, a, k, out: log.append((name(m), sorted(k))), with_kwargs=True),
        of.register_module_forward_hook(lambda m, args, out: out * 2 if name(m) == "ReLU" else None),
        of.register_module_full_backward_pre_hook(lambda m, grads: log.append(("back", name(m), numbers(grads[0])))),
        of.register_module_full_backward_hook(
            lambda m, inputs, outputs: log.append((name(m), [numbers(g) for g in (*inputs, *outputs)]))
        ),
        of.register_module_full_backward_hook(lambda m, inputs, _: (inputs[0] * 10,) if name(m) == "ReLU" else None),
    ]
    net.register_forward_hook(lambda *_: log.append("own"))
    net.first.register_forward_pre_hook(lambda *_: log.append("own, before"))
    net.first.register_full_backward_hook(lambda *_: log.append("own, back"))
    net.first.register_full_backward_pre_hook(lambda *_: log.append("own, before back"))
    x = lib.tensor([[1.0, 2.0]], requires_grad=True)
    call = wrap(net)
    for step in range(3):
        (call(x, k=2) * lib.tensor([[1.0, 2.0, 3.0]])).sum().backward()
        log += [numbers(x.grad), numbers(net.first.weight.grad)]
        if step == 1:
            handles[5].remove()
            handles[0].remove()
    with pytest.raises(RuntimeError):
        of.register_module_backward_hook(lambda *_: None)
    for handle in handles:
        handle.remove()
    count = len(log)
    lib.nn.ReLU()(x)
    assert len(log) == count
    return log


def compiled_in_place(net: Any) -> Any:
    net.compile()
    return net


@pytest.mark.parametrize(
    "wrap", [lambda net: net, opweave.compile, compiled_in_place], ids=["eager", "compiled", "own"]
)
def test_hooks_of_all_modules_are_called_as_pytorchs_are(wrap):
    assert training(opweave, wrap) == training(torch, lambda net: net)


def errors(lib: Any) -> list[Any]:
    of, log = lib.nn.modules.module, []
    x = lib.tensor([1.0, -2.0])
    fails = lib.nn.Identity()
    fails.forward = lambda x: 1 / 0

    def wrong(*_: Any) -> None:
        raise KeyError("of a hook")

    with of.register_module_forward_hook(lambda m, a, out: log.append((name(m), numbers(out))), always_call=True):
        with of.register_module_forward_hook(wrong, always_call=True), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with pytest.raises(ZeroDivisionError):
                lib.nn.Sequential(fails)(x)
        with of.register_module_forward_hook(lambda *_: log.append("not called")), pytest.raises(ZeroDivisionError):
            fails(x)
    with of.register_module_forward_hook(wrong), of.register_module_forward_hook(
        lambda m, a, out: log.append(numbers(out)), always_call=True
    ), pytest.raises(KeyError):  # fmt: skip
        lib.nn.ReLU()(x)
    return log


def test_hooks_after_errors_are_called_as_pytorchs_are():
    assert errors(opweave) == errors(torch)


def at_nodes(lib: Any, make: Callable[[Any], Any]) -> list[Any]:
    of, log, module = lib.nn.modules.module, [], make(lib.nn)
    module.register_backward_hook(lambda *_: log.append("own"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with of.register_module_backward_hook(
            lambda m, inputs, outputs: log.append((name(m), [numbers(g) for g in (*inputs, *outputs)]))
        ):
            x = lib.tensor([1.0, -2.0], requires_grad=True)
            module(x * 1).square().sum().backward()
            with pytest.raises(RuntimeError):
                of.register_module_full_backward_hook(lambda *_: None)
    with pytest.raises(RuntimeError):
        module.register_full_backward_hook(lambda *_: None)
    return [*log, numbers(x.grad), sorted({each.category.__name__ for each in caught})]


AT_NODES: dict[str, Callable[[Any], Any]] = {
    "one op": lambda nn: nn.ReLU(),
    "two ops": lambda nn: nn.Sequential(nn.Sigmoid(), nn.Tanh()),
    "softmax": lambda nn: nn.Softmax(0),
}


@pytest.mark.parametrize("make", AT_NODES.values(), ids=AT_NODES)
def test_backward_hooks_of_the_older_kind_are_called_as_pytorchs_are(make):
    assert at_nodes(opweave, make) == at_nodes(torch, make)


MADE = """nn.Linear(2, 3)
nn.Linear(2, 3, bias=False)
nn.Bilinear(2, 3, 4)
nn.Conv2d(2, 4, 3)
nn.ConvTranspose1d(2, 4, 3)
nn.BatchNorm2d(3)
nn.BatchNorm1d(3, affine=False)
nn.BatchNorm1d(3, track_running_stats=False)
nn.LayerNorm(3)
nn.EmbeddingBag(3, 2)
nn.LSTM(2, 4, 2, bidirectional=True, proj_size=2)
nn.GRUCell(2, 3)
nn.MultiheadAttention(4, 2, kdim=3, vdim=5, add_bias_kv=True)
nn.Transformer(4, 2, 1, 1)
nn.Sequential(nn.ReLU(), nn.Linear(1, 1))
nn.ModuleDict({'a': nn.ReLU()})
nn.ParameterList([nn.Parameter(nn.Linear(1, 1).weight)])
nn.CrossEntropyLoss()
nn.NLLLoss(nn.Linear(1, 2).bias.detach())
nn.utils.parametrizations.weight_norm(nn.Linear(2, 3))
nn.utils.spectral_norm(nn.Linear(2, 3))
assigned(nn)""".splitlines()


def assigned(nn: Any) -> Any:
    module, value = nn.Module(), nn.Linear(1, 1).weight
    module.a = value
    module.a = None
    module.b = nn.ReLU()
    module.b = None
    module.register_buffer("c", None)
    module.c = value.detach()
    module.c = None
    module.register_parameter("d", None)
    module.add_module("e", None)
    module.f = nn.Buffer(value.detach())
    return module


@pytest.mark.parametrize("made", MADE)
def test_what_is_kept_is_told_as_by_pytorch(made):
    def told(lib: Any) -> list[Any]:
        of, log = lib.nn.modules.module, []

        def tell(module: Any, key: str, value: Any) -> None:
            log.append((name(module), key, tuple(value.shape) if isinstance(value, lib.Tensor) else name(value)))

        with (
            of.register_module_parameter_registration_hook(tell),
            of.register_module_buffer_registration_hook(tell),
            of.register_module_module_registration_hook(tell),
        ):
            eval(made, {"nn": lib.nn, "assigned": assigned})
        count = len(log)
        lib.nn.Linear(1, 1)
        assert count and len(log) == count
        return log

    assert told(opweave) == told(torch)


def test_what_hooks_return_is_kept():
    def kept(lib: Any) -> list[Any]:
        of = lib.nn.modules.module
        with (
            of.register_module_parameter_registration_hook(lambda m, n, v: lib.nn.Parameter(v.detach() * 0 + 2)),
            of.register_module_buffer_registration_hook(lambda m, n, v: None if v is None else v + 3),
            of.register_module_module_registration_hook(lambda m, n, v: lib.nn.Tanh()),
        ):
            module = lib.nn.Sequential(lib.nn.ReLU())
            module.register_parameter("w", lib.nn.Parameter(lib.zeros(1)))
            module.register_buffer("b", lib.zeros(1))
            module.b = lib.ones(1)
            module.last = lib.nn.ReLU()
        return [repr(module), module.w.tolist(), module.b.tolist()]

    assert kept(opweave) == kept(torch)


def test_compiled_code_sees_hooks_come_and_go():
    x = opweave.tensor([-2.0, 3.0])
    module = nn.Sequential(nn.LeakyReLU(0.5))
    call = opweave.compile(lambda t: module(t) + 1, fullgraph=True)
    assert call(x).tolist() == [0.0, 4.0]
    of: Any = nn.modules.module
    handle = of.register_module_forward_hook(lambda m, args, out: out * 3)
    assert call(x).tolist() == [-8.0, 28.0]
    with of.register_module_forward_pre_hook(lambda m, args: (args[0] + 2,)):
        assert call(x).tolist() == [19.0, 64.0] == (module(x) + 1).tolist()
    assert call(x).tolist() == [-8.0, 28.0]
    handle.remove()
    assert call(x).tolist() == [0.0, 4.0]
    assert len(call.entries) == 3

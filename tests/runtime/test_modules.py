"""Modules and optimizers in compiled functions: what changes in them is seen at the next call."""

from __future__ import annotations

import copy
import types
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import nn, optim
from opweave.nn.modules.states import StateError
from opweave.registry.errors import ArgumentError, AutogradError, UnsupportedError


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 6)
        self.norm = nn.BatchNorm1d(6)
        self.layers = nn.ModuleList([nn.Linear(6, 6)])
        self.scale = nn.Parameter(opweave.ones(6))
        self.factor = 2

    def forward(self, x):
        x = self.norm(self.first(x)).relu()
        for layer in self.layers:
            x = x + layer(x) * self.factor
        return x * self.scale


@pytest.fixture
def net() -> Net:
    opweave.manual_seed(0)
    return Net()


def held(call: Any, net: Net, *args: Any) -> None:
    """A compiled call gives what the module as it is now gives, and writes the same buffers."""
    reference = copy.deepcopy(net)
    found, expected = call(*args), reference(args[-1])
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5, atol=1e-6)
    for one, other in zip(net.buffers(), reference.buffers(), strict=True):
        np.testing.assert_allclose(one.numpy(), other.numpy(), rtol=1e-5, atol=1e-6)


def test_every_change_of_a_module_is_seen(net):
    x = opweave.randn(5, 4)
    call = opweave.compile(lambda t: net(t))

    def changed(change: Any, versions: int) -> None:
        change()
        held(call, net, x)
        assert len(call.entries) == versions

    changed(lambda: None, 1)
    changed(net.eval, 2)
    changed(net.train, 2)
    changed(lambda: setattr(net, "scale", nn.Parameter(opweave.full((6,), 3.0))), 2)
    changed(lambda: net.load_state_dict({k: v + 0.1 for k, v in net.state_dict().items()}), 2)
    changed(lambda: net.load_state_dict({k: v * 2 for k, v in net.state_dict().items()}, assign=True), 2)
    changed(lambda: setattr(net.first.weight, "data", opweave.randn(6, 4)), 2)
    changed(lambda: net._parameters.update(scale=nn.Parameter(opweave.full((6,), 4.0))), 2)
    changed(lambda: net.layers.__setitem__(0, nn.Linear(6, 6)), 2)
    changed(lambda: setattr(net, "factor", 3), 3)
    handles: list[Any] = []
    changed(lambda: handles.append(net.first.register_forward_hook(lambda m, a, out: out * 2)), 4)
    changed(lambda: handles[0].remove(), 5)
    changed(lambda: net.layers.append(nn.Linear(6, 6)), 6)
    changed(lambda: setattr(net.layers[0], "forward", lambda t: t * 5), 7)
    changed(lambda: setattr(net.norm, "eps", 0.5), 8)


def test_other_forms_of_compiling_a_module(net):
    x = opweave.randn(5, 4)

    @opweave.compile
    def called(module: Any, t: Any) -> Any:
        return module(t)

    held(opweave.compile(net.forward), net, x)
    held(called, net, net, x)
    other = Net()
    held(called, other, other, x)
    assert len(called.entries) == 1
    compiled = opweave.compile(net)
    held(compiled, net, x)
    assert isinstance(compiled, nn.Module)
    assert next(iter(compiled.state_dict())) == "_orig_mod.scale"
    with pytest.raises(StateError, match=r"hint: the names are those of a compiled module: save its \._orig_mod"):
        Net().load_state_dict(compiled.state_dict())
    with pytest.raises(StateError, match=r"hint: the names are those of a module that is not compiled"):
        compiled.load_state_dict(net.state_dict())
    assert next(iter(compiled.parameters())) is net.scale
    assert compiled.factor == 2
    compiled.eval()
    assert not net.training and not compiled.training
    held(compiled, net, x)
    assert len(compiled.entries) == 2
    assert "aten.addmm" in str(compiled.last_graph)
    copied = copy.deepcopy(compiled)
    copied.scale.data.zero_()
    assert copied(x).abs().max().item() == 0 < compiled(x).abs().max().item()
    inner = opweave.compile(lambda t: compiled(t) + 1)
    np.testing.assert_allclose(inner(x).detach().numpy(), (net(x) + 1).detach().numpy(), rtol=1e-5, atol=1e-6)


def test_parameters_are_inputs_and_not_constants(net):
    compiled = opweave.compile(net.eval())
    compiled(opweave.randn(5, 4))
    assert not compiled.last_graph.find_nodes(op="get_attr")


def test_a_module_that_writes_its_attributes_is_refused(net):
    class Counts(nn.Module):
        def forward(self, x):
            self.calls = x
            return x

    for module in (Counts(), nn.Sequential(Counts())):
        with pytest.raises(UnsupportedError, match="changes"):
            opweave.compile(module, fullgraph=True)(opweave.ones(2))

    class Keeps(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("kept", opweave.zeros(2))

        def forward(self, x):
            self.kept = x + 1
            return x

    keeps = Keeps()
    with pytest.raises(UnsupportedError, match="changes"):
        opweave.compile(keeps, fullgraph=True)(opweave.ones(2))
    assert keeps.kept.tolist() == [0, 0]


def test_a_class_derived_from_a_layer():
    class Scaled(nn.LeakyReLU):
        def __init__(self):
            super().__init__(0.5)
            self.times, self.history = 2.0, object()  # nothing could guard the latter

        def forward(self, x):
            return super().forward(x) * self.times

    module, x = Scaled(), opweave.tensor([-1.0, 2.0])
    compiled = opweave.compile(module)
    assert compiled(x).tolist() == [-1, 4]
    module.negative_slope = 0.25
    assert compiled(x).tolist() == [-0.5, 4]
    module.times = 4.0
    assert compiled(x).tolist() == [-1, 8]


@pytest.mark.parametrize("name", ["SGD", "Adam"])
def test_a_compiled_training_step_is_the_eager_one(name):
    opweave.manual_seed(0)
    eager = Net().eval()  # a batch norm hides the bias before it, whose gradient is noise then, which Adam magnifies
    compiled = copy.deepcopy(eager)
    x, y = opweave.randn(8, 4), opweave.randn(8, 6)
    options = {"momentum": 0.9} if name == "SGD" else {}
    optimizers = [getattr(optim, name)(m.parameters(), lr=opweave.tensor(0.05), **options) for m in (eager, compiled)]
    optimizers[1].init_state()
    forward, step = opweave.compile(compiled), opweave.compile(optimizers[1].step)
    for i in range(4):
        for m, o, s in ((eager, optimizers[0], optimizers[0].step), (forward, optimizers[1], step)):
            o.zero_grad()
            (m(x) - y).square().mean().backward()
            o.param_groups[0]["lr"].fill_(0.05 / (i + 1))
            s()
    for one, other in zip(eager.state_dict().values(), compiled.state_dict().values(), strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy(), rtol=2e-4, atol=2e-5)
    assert len(step.entries) == 1 and len(forward.entries) == 1


def test_a_whole_step_in_one_function(net):
    x = opweave.randn(8, 4)
    reference = copy.deepcopy(net)

    def step(module: Any) -> Any:
        loss = module(x).square().mean()
        parameters = list(module.parameters())
        with opweave.no_grad():
            for p, g in zip(parameters, opweave.autograd.grad(loss, parameters), strict=True):
                p.sub_(g, alpha=0.1)
        return loss

    compiled = opweave.compile(step)
    for _ in range(3):
        assert compiled(net).item() == pytest.approx(step(reference).item(), rel=1e-4)
    assert len(compiled.entries) == 1


def test_what_compiled_code_would_not_do_is_refused(net):
    optimizer = optim.Adam(net.parameters())
    net(opweave.randn(3, 4)).sum().backward()
    with pytest.raises(UnsupportedError, match="init_state"):
        opweave.compile(optimizer.step, fullgraph=True)()
    assert not optimizer.state
    opweave.compile(optimizer.zero_grad)()
    assert net.scale.grad is None


def test_checkpointed_modules():
    layers = [nn.Linear(3, 3), nn.Tanh(), nn.Linear(3, 3)]
    x = opweave.randn(2, 3)
    found = []
    for call in (
        lambda: nn.Sequential(*layers)(x),
        lambda: opweave.utils.checkpoint.checkpoint(nn.Sequential(*layers), x, use_reentrant=False),
        lambda: opweave.utils.checkpoint.checkpoint_sequential(layers, 2, x),
    ):
        layers[0].zero_grad()
        call().square().sum().backward()
        found.append(layers[0].weight.grad.numpy())
    np.testing.assert_allclose(found[1], found[0])
    np.testing.assert_allclose(found[2], found[0])


def test_memory_of_a_parameter_is_replaced():
    p = nn.Parameter(opweave.ones(3))
    (p * 2).sum().backward()
    p.data = opweave.zeros(3)
    assert p.tolist() == [0, 0, 0] and p.requires_grad and p.is_leaf and p.grad.tolist() == [2, 2, 2]
    assert isinstance(p, nn.Parameter) and not isinstance(p, nn.Buffer) and not isinstance(p.detach(), nn.Parameter)
    assert repr(p).startswith("Parameter containing:\ntensor(")
    for wrong, error in ((3, ArgumentError), (opweave.zeros(3, dtype=opweave.int64), AutogradError)):
        with pytest.raises(error):
            p.data = wrong
    with pytest.raises(AutogradError):
        opweave.ones(3)[:2].data = opweave.ones(2)
    a, b = opweave.ones(2), opweave.full((2,), 5.0)
    a.data = b
    assert (a + a).tolist() == [10, 10] and a.data_ptr() == b.data_ptr()


def test_an_exported_module_names_its_parts(net, tmp_path):
    net.eval().first.bias.requires_grad_(False)
    program = opweave.export.export(net, (opweave.randn(5, 4),), dynamic_shapes={"x": {0: opweave.export.Dim("n")}})
    signature = program.graph_signature
    assert set(signature.parameters) == {name for name, _ in net.named_parameters()}
    assert set(signature.buffers) == {"norm.running_mean", "norm.running_var"}
    assert signature.user_inputs == ("x",)
    opweave.export.save(program, tmp_path / "net.opweave")
    loaded = opweave.export.load(tmp_path / "net.opweave")
    x = opweave.randn(7, 4)
    np.testing.assert_allclose(loaded.module()(x).detach().numpy(), net(x).detach().numpy(), rtol=1e-5, atol=1e-6)
    assert not loaded.state_dict["first.bias"].requires_grad
    trains = opweave.export.export(net.train(), (opweave.randn(5, 4),))
    assert "norm.num_batches_tracked" in trains.graph_signature.buffers_to_mutate.values()


def test_modules_load_when_they_are_asked_for():
    assert isinstance(nn, types.ModuleType)
    with pytest.raises(AttributeError, match="Linnear"):
        _ = nn.Linnear
    assert {"Linear", "functional", "Parameter"} <= set(dir(nn))


def test_a_hook_of_another_kind_is_seen() -> None:
    module, x = nn.Linear(3, 2), opweave.ones(1, 3)
    module.register_forward_pre_hook(lambda m, args: None)
    compiled = opweave.compile(module)
    before = compiled(x)
    module.register_forward_hook(lambda m, args, out: out + 100)
    assert opweave.allclose(compiled(x), before + 100)


def test_a_module_compiles_its_own_calls() -> None:
    module, x = nn.Sequential(nn.Linear(3, 4), nn.ReLU()), opweave.randn(5, 3)
    expected, seen = module(x), []

    def backend(graph: Any, inputs: Any) -> Any:
        seen.append(len(inputs))
        return graph

    assert module.compile(backend=backend) is None
    assert opweave.allclose(module(x), expected)
    assert len(seen) == 1
    assert list(module.state_dict()) == ["0.weight", "0.bias"]
    copied = copy.deepcopy(module)
    assert opweave.allclose(copied(x), expected)
    assert len(seen) == 1  # the copy is not compiled
    with opweave.no_grad():
        module[0].weight.zero_()
        module[0].bias.fill_(2.0)
    assert opweave.equal(module(x), opweave.full((5, 4), 2.0))
    handle = module.register_forward_hook(lambda m, args, out: out + 1)
    assert opweave.equal(module(x), opweave.full((5, 4), 3.0))
    handle.remove()
    assert opweave.equal(module(x), opweave.full((5, 4), 2.0))
    module(x).sum().backward()
    assert module[0].bias.grad.tolist() == [5.0] * 4
    assert opweave.allclose(opweave.compile(lambda t: module(t) * 2)(x), opweave.full((5, 4), 4.0))

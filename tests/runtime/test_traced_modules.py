"""Traced graphs as `nn.Module`: parameters, states, modules in them, copies, and hooks."""

from __future__ import annotations

import copy
import pickle
from typing import Any

import numpy as np
import pytest

import opweave
from opweave import fx, nn
from opweave.registry.errors import ArgumentError


def traced(seed: int = 0) -> tuple[Any, Any, Any]:
    """A net, its graph, and what both are called with."""
    opweave.manual_seed(seed)
    net = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
    shift = opweave.full((2,), 0.5)
    x = opweave.randn(4, 3)
    return net, opweave.make_fx(lambda x: net(x) + shift)(x), x


def test_it_is_a_module() -> None:
    net, gm, x = traced()
    assert isinstance(gm, nn.Module) and isinstance(gm, fx.GraphModule) and type(gm) is fx.GraphModule
    parameters = dict(gm.named_parameters())
    assert [id(p) for p in parameters.values()] == [id(p) for p in net.parameters()]
    assert all(isinstance(p, nn.Parameter) for p in gm.parameters())
    (buffer,) = gm.buffers()
    assert buffer.tolist() == [0.5, 0.5]
    assert set(gm.constants) == {*parameters, *dict(gm.named_buffers())}
    assert opweave.equal(gm(x), net(x) + 0.5) and opweave.equal(gm.forward(x), gm(x))
    gm(x).sum().backward()
    assert all(p.grad is not None for p in net.parameters())
    assert gm.training and not gm.eval().training
    model = nn.Sequential(gm, nn.Linear(2, 1))
    assert len(list(model.parameters())) == 4 and model(x).shape == (4, 1)
    seen = []
    gm.register_forward_hook(lambda module, args, result: seen.append(module is gm))
    gm(x)
    assert seen == [True]


def test_states() -> None:
    net, gm, x = traced()
    _, other, _ = traced(1)
    assert not opweave.equal(gm(x), other(x))
    other.load_state_dict(gm.state_dict())
    assert opweave.equal(gm(x), other(x)) and other.load_state_dict(gm.state_dict()).missing_keys == []
    with pytest.raises(RuntimeError, match="Missing key"):
        other.load_state_dict({})
    optimizer = opweave.optim.SGD(gm.parameters(), lr=0.1)
    before = gm(x)
    gm(x).sum().backward()
    optimizer.step()
    assert not opweave.equal(gm(x), before) and opweave.equal(gm(x), net(x) + 0.5)


def test_types_are_changed_for_the_graph() -> None:
    _, gm, x = traced()
    expected = gm(x)
    gm.double()
    found = gm(x.double())
    assert found.dtype == opweave.float64
    np.testing.assert_allclose(found.detach().numpy(), expected.detach().numpy(), rtol=1e-5)


def test_copies_and_pickles() -> None:
    _, gm, x = traced()
    gm.eval()
    gm.add_submodule("head", nn.Linear(2, 1))
    for way in (copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))):
        again = way(gm)
        assert type(again) is fx.GraphModule and not again.training and again.code == gm.code
        assert opweave.equal(again(x), gm(x)) and isinstance(again.head, nn.Linear)
        with opweave.no_grad():
            for p in again.parameters():
                p.zero_()
        assert not opweave.equal(again(x), gm(x))
    shared = copy.copy(gm)
    assert shared.graph is gm.graph and next(shared.parameters()) is next(gm.parameters())


def test_modules_in_it() -> None:
    _, gm, _ = traced()
    assert gm.add_submodule("a.b.linear", nn.Linear(2, 1)) and isinstance(gm.get_submodule("a.b"), nn.Module)
    assert [name for name, _ in gm.named_modules()] == ["", "a", "a.b", "a.b.linear"]
    assert "a.b.linear.weight" in gm.state_dict() and [name for name, _ in gm.named_children()] == ["a"]
    assert gm.delete_submodule("a.b.linear") and not gm.delete_submodule("a.b.linear")
    assert not gm.delete_submodule("none.at.all")
    gm.delete_all_unused_submodules()
    assert not list(gm.children())
    gm.extra = nn.ReLU()
    assert dict(gm.named_children())["extra"] is gm.extra


def test_functions_of_control_flow() -> None:
    weight = nn.Parameter(opweave.full((3,), 2.0))
    gm = opweave.make_fx(lambda x: opweave.cond(x.sum() > 0, lambda a: a * weight, lambda a: a - 1, (x,)))(
        opweave.ones(3)
    )
    names = [name for name, _ in gm.named_children()]
    assert len(names) == 2 and all(isinstance(module, nn.Module) for module in gm.modules())
    assert [id(p) for p in gm.parameters()] == [id(weight)] and len(gm.state_dict()) == 1
    assert gm(opweave.ones(3)).tolist() == [2, 2, 2] and gm(-opweave.ones(3)).tolist() == [-2, -2, -2]
    gm.train(False)
    assert not any(module.training for module in gm.modules())


def test_graphs_that_are_changed() -> None:
    _, gm, x = traced()
    (add,) = gm.graph.find_nodes(target=opweave.ops.aten.add.Tensor)
    add.target = opweave.ops.aten.sub.Tensor
    gm.recompile()
    plain = gm(x)
    gm.graph = gm.graph.clone()
    assert opweave.equal(gm(x), plain) and "sub.Tensor" in gm.code
    gm.more = opweave.ones(2)
    assert "more" in gm.constants and "more" in dict(gm.named_buffers())
    del gm.more
    assert "more" not in gm.constants and not hasattr(gm, "more")


def test_made_of_a_module_and_a_graph() -> None:
    net, gm, x = traced()
    root = nn.Module()
    for name, value in gm.constants.items():
        root.register_parameter(name, value) if isinstance(value, nn.Parameter) else root.register_buffer(name, value)
    flat = [x]
    again = fx.GraphModule(root, gm.graph, "Mine")
    assert again._get_name() == "Mine" and opweave.equal(again(*flat)[0], gm(x))
    assert [id(p) for p in again.parameters()] == [id(p) for p in net.parameters()]
    by_name = fx.GraphModule(dict(gm.constants), gm.graph)
    assert opweave.equal(by_name(*flat)[0], gm(x))

    class Own(fx.GraphModule):
        def __init__(self) -> None:
            super().__init__(root, gm.graph)
            self.scale = 2

    own = Own()
    assert isinstance(own, nn.Module) and own.scale == 2 and opweave.equal(own(*flat)[0], gm(x))
    with pytest.raises(ArgumentError, match="needs a graph"):
        fx.GraphModule(root)


def test_compiled_and_handed_to_backends() -> None:
    _, gm, x = traced()
    opweave.testing.assert_close(opweave.compile(gm)(x), gm(x))
    given: list[Any] = []

    def backend(module: Any, inputs: Any) -> Any:
        given.append(module)
        return module

    weight = nn.Parameter(opweave.ones(3))
    compiled = opweave.compile(lambda x: x * weight, backend=backend)
    assert compiled(opweave.ones(3)).tolist() == [1, 1, 1]
    assert isinstance(given[0], fx.GraphModule) and isinstance(given[0], nn.Module)

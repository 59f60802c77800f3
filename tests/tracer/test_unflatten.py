"""Exported modules as modules again."""

import pytest

import opweave
from opweave import nn
from opweave.registry.errors import ArgumentError


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 3)
        self.bn = nn.BatchNorm1d(3)

    def forward(self, x):
        return self.bn(self.fc(x))


class Whole(nn.Module):
    def __init__(self):
        super().__init__()
        self.block = Block()
        self.out = nn.Linear(3, 2)
        self.register_buffer("scale", opweave.full((2,), 0.5))

    def forward(self, x):
        return self.out(self.block(x)) * self.scale


def steps(model, x):
    optimizer = opweave.optim.SGD(model.parameters(), lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (model(x) ** 2).sum().backward()
        optimizer.step()
    return {name: t.detach().clone() for name, t in model.state_dict().items()}


def test_an_exported_module_is_trained_as_the_module_is(tmp_path):
    opweave.manual_seed(0)
    model, x = Whole(), opweave.randn(5, 3)
    program = opweave.export.export(model, (x,))
    opweave.export.save(program, tmp_path / "model.ow")
    start = {name: t.detach().clone() for name, t in model.state_dict().items()}
    wanted = steps(model, x)
    for source in (program, opweave.export.load(tmp_path / "model.ow")):
        found = opweave.export.unflatten(source, compile=False)
        assert isinstance(found.block.fc.weight, nn.Parameter) and found.state_dict().keys() == start.keys()
        assert {name for name, _ in found.named_modules()} == {"", "block", "block.fc", "block.bn", "out"}
        found.load_state_dict(start)
        trained = steps(found, x)
        for name, t in wanted.items():
            assert opweave.allclose(trained[name], t, atol=1e-5), name
        found.out.bias = nn.Parameter(opweave.full((2,), 7.0))
        assert not opweave.allclose(found(x), model(x))


def test_what_is_no_program_is_refused():
    with pytest.raises(ArgumentError, match="ExportedProgram"):
        opweave.export.unflatten(Whole())

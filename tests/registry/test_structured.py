"""Custom ops with structured parameters and results."""

import enum
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypedDict

import numpy as np
import pytest

import opweave
from opweave import Tensor
from opweave.registry.custom_op import custom_op
from opweave.registry.errors import ArgumentError, SchemaError


class Mode(enum.Enum):
    SUM = 1
    DIFFERENCE = 2


@dataclass
class Config:
    scale: float
    mode: Mode
    offsets: list[int]


class Pair(NamedTuple):
    first: Tensor
    second: Tensor


class Named(TypedDict):
    total: Tensor
    largest: Tensor


@dataclass
class Nested:
    pair: Pair
    config: Config


X, Y = opweave.tensor([1.0, 2.0, 3.0]), opweave.tensor([5.0, 7.0, 9.0])


@custom_op("structured::combine", mutates_args=())
def combine(pair: Pair, config: Config) -> Pair:
    """Adds or subtracts."""
    sign = 1 if config.mode is Mode.SUM else -1
    return Pair((pair.first + pair.second * sign) * config.scale, pair.second + sum(config.offsets))


@combine.register_fake
def _(pair, config):
    return Pair(opweave.empty_like(pair.first), opweave.empty_like(pair.second))


def test_dataclass_namedtuple_and_enum():
    made = combine(Pair(X, Y), Config(2.0, Mode.DIFFERENCE, [1, 2]))
    assert isinstance(made, Pair)
    assert made.first.tolist() == [-8.0, -10.0, -12.0] and made.second.tolist() == [8.0, 10.0, 12.0]
    assert str(combine._opoverload._schema) == (
        "structured::combine(Tensor pair_first, Tensor pair_second, float config_scale, str config_mode, "
        "SymInt[] config_offsets) -> (Tensor, Tensor)"
    )
    flat = opweave.ops.structured.combine(X, Y, 2.0, "SUM", [0])
    assert flat[0].tolist() == [12.0, 18.0, 24.0]


def test_traced_and_compiled():
    def f(x, y):
        made = combine(Pair(x * 2, y), Config(0.5, Mode.SUM, [1]))
        return made.first + made.second

    expected = f(X, Y).tolist()
    assert opweave.compile(f)(X, Y).tolist() == expected
    traced = opweave.make_fx(f)(X, Y)
    assert traced(X, Y).tolist() == expected
    assert sum("structured" in str(node.target) for node in traced.graph.nodes) == 1


def test_structures_in_structures():
    @custom_op("structured::nested", mutates_args=())
    def nested(value: Nested) -> Tensor:
        return value.pair.first * value.config.scale + (1 if value.config.mode is Mode.SUM else 0)

    assert nested(Nested(Pair(X, Y), Config(3.0, Mode.SUM, []))).tolist() == [4.0, 7.0, 10.0]


def test_dicts_and_lists_of_lists():
    @custom_op("structured::sums", mutates_args=())
    def sums(named: dict[str, Tensor], rows: list[list[Tensor]], weights: dict[str, float]) -> Named:
        total = opweave.zeros(3)
        for name, t in named.items():
            total = total + t * weights[name]
        return Named(total=total, largest=opweave.stack([opweave.stack(row).amax() for row in rows if row]))

    made = sums({"a": X, "b": Y}, [[X, Y], [], [X]], {"b": 1.0, "a": 10.0})
    assert made["total"].tolist() == [15.0, 27.0, 39.0] and made["largest"].tolist() == [9.0, 3.0]


def test_mutated_members():
    @custom_op("structured::fill", mutates_args=("state",))
    def fill(state: dict[str, Tensor], value: float) -> None:
        for t in state.values():
            t.numpy()[...] = value

    a, b = opweave.zeros(2), opweave.zeros(3)
    versions = a._version, b._version
    fill({"a": a, "b": b}, 4.0)
    assert a.tolist() == [4.0, 4.0] and b.tolist() == [4.0, 4.0, 4.0]
    assert (a._version, b._version) == (versions[0] + 1, versions[1] + 1)
    assert str(fill._opoverload._schema).startswith(
        "structured::fill(str[] state_keys, Tensor(a1!)[] state_values, float value)"
    )


def test_defaults_and_keywords():
    @custom_op("structured::default", mutates_args=())
    def f(x: Tensor, *, mode: Mode = Mode.SUM, sizes: Sequence[int] = (1, 2)) -> Tensor:
        return x + mode.value + sum(sizes)

    assert f(X).tolist() == [5.0, 6.0, 7.0]
    assert f(X, mode=Mode.DIFFERENCE, sizes=[0]).tolist() == [3.0, 4.0, 5.0]


def test_gradients_of_flat_arguments():
    @custom_op("structured::product", mutates_args=())
    def product(pair: Pair, mode: Mode) -> Tensor:
        return pair.first * pair.second

    def setup_context(ctx, inputs, output):
        first, second, mode = inputs
        assert mode == "SUM"
        ctx.save_for_backward(first, second)

    product.register_autograd(
        lambda ctx, grad: (grad * ctx.saved_tensors[1], grad * ctx.saved_tensors[0], None), setup_context=setup_context
    )
    x = opweave.tensor([1.0, 2.0, 3.0]).requires_grad_()
    product(Pair(x, Y), Mode.SUM).sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), Y.numpy())


@pytest.mark.parametrize(
    ("args", "what"),
    [
        ((Pair(X, Y), "SUM"), "argument 'config' must be a Config"),
        (((X, Y), Config(1.0, Mode.SUM, [])), "argument 'pair' must be a Pair"),
        ((Pair(X, Y), Config(1.0, "SUM", [])), "argument 'config'.mode must be a Mode"),
        ((Pair(X, Y),), "missing a required argument: 'config'"),
    ],
)
def test_values_of_another_type(args, what):
    with pytest.raises(ArgumentError, match=what):
        combine(*args)


def test_a_dict_result_is_refused():
    with pytest.raises(SchemaError, match="keys that a trace cannot know"):

        @custom_op("structured::bad", mutates_args=())
        def bad(x: Tensor) -> dict[str, Tensor]:
            return {"x": x + 1}


def test_a_field_without_a_schema_type_is_refused():
    @dataclass
    class Odd:
        x: Tensor
        what: object

    def f(odd: Odd) -> Tensor:
        return odd.x

    with pytest.raises(SchemaError, match="f: parameter 'odd': field 'what' of Odd has no schema type"):
        custom_op("structured::odd", f, mutates_args=())

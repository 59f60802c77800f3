"""Guards: each kind holds, fails when it should, and says why in the user's words."""

from __future__ import annotations

import collections
import dataclasses
import datetime
import enum
import fractions
import functools
import inspect
import math
import random
import time
import types
from typing import Any, NamedTuple

import numpy as np
import optree
import pytest

from opweave.registry import dtypes
from opweave.registry.errors import UnsupportedError
from opweave.registry.overlap import disjoint
from opweave.registry.tensor import Tensor, from_numpy
from opweave.runtime.dependencies import find_dependencies
from opweave.runtime.entry import Entry, Parameters, build


def t(*sizes: int, dtype: Any = np.float32) -> Tensor:
    return from_numpy(np.zeros(sizes, dtype))


class Guarded:
    """The guards of one call, with a predicate like that of a compiled function."""

    def __init__(self, fn, *args, **kwargs):
        self.parameters = Parameters.of(fn)
        bound = inspect.signature(fn).bind(*args, **kwargs)
        bound.apply_defaults()
        self.guards = find_dependencies(fn, dict(bound.arguments), "_ow_e0_")
        self.entry = Entry(0, self.guards, self.guards.tensors, "'hit'", lambda *tensors: tensors, {}, None)
        self.call = build("f", self.parameters, [self.entry], lambda args, kwargs: "miss")
        assert self.holds(*args, **kwargs), self.why(*args, **kwargs)

    def holds(self, *args, **kwargs) -> bool:
        hit = self.call(*args, **kwargs) == "hit"
        assert hit == (self.entry.mismatch(self.parameters, args, kwargs) is None)
        return hit

    def why(self, *args, **kwargs) -> str:
        reason = self.entry.mismatch(self.parameters, args, kwargs)
        return "" if reason is None else reason.rpartition(" (")[0]


class Point(NamedTuple):
    x: Any
    y: Any


class Colour(enum.Enum):
    RED = 1
    BLUE = 2


@dataclasses.dataclass
class Config:
    width: int
    weight: Any = None


class Box:
    """Registered with optree."""

    def __init__(self, content, label):
        self.content = content
        self.label = label


optree.register_pytree_node(
    Box, lambda b: ((b.content,), b.label), lambda label, children: Box(children[0], label), namespace="opweave"
)


def identity(x):
    return x


# ---- arguments -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("now", "reason"),
    [
        (t(5, 4), "x.size(0) 3 → 5"),
        (t(5, 6), "x.size(0) 3 → 5, x.size(1) 4 → 6"),
        (t(3, 4, 1), "x.dim() 2 → 3"),
        (t(3, 4, dtype=np.float64), "x.dtype float32 → float64"),
        (from_numpy(np.zeros((4, 3), np.float32).T), "x.stride() (4, 1) → (1, 3)"),
        (np.zeros((3, 4), np.float32), "type(x) Tensor → ndarray"),
        (None, "type(x) Tensor → NoneType"),
    ],
)
def test_tensor_metadata(now, reason):
    g = Guarded(identity, t(3, 4))
    assert g.holds(t(3, 4))
    assert not g.holds(now) and g.why(now) == reason


@pytest.mark.parametrize(
    ("then", "now", "reason"),
    [
        (2, 3, "x 2 → 3"),
        (1, True, "type(x) int → bool"),
        (True, 1, "x True → 1"),
        (True, False, "x True → False"),
        (1, 1.0, "type(x) int → float"),
        (0.0, -0.0, "x 0.0 → -0.0"),
        (math.nan, 1.0, "x nan → 1.0"),
        (math.inf, -math.inf, "x inf → -inf"),
        (1 + 2j, 1 - 2j, "x (1+2j) → (1-2j)"),
        ("a", "b", "x 'a' → 'b'"),
        (b"a", b"b", "x b'a' → b'b'"),
        (None, 0, "x None → 0"),
        (dtypes.float32, dtypes.float64, "x opweave.float32 → opweave.float64"),
        (Colour.RED, Colour.BLUE, "x <Colour.RED: 1> → <Colour.BLUE: 2>"),
        (slice(1), slice(2), "x.stop 1 → 2"),
        (range(2), range(3), "x range(0, 2) → range(0, 3)"),
        (fractions.Fraction(1, 2), fractions.Fraction(1, 3), "x Fraction(1, 2) → Fraction(1, 3)"),
        (datetime.date(2020, 1, 1), datetime.date.max, "x datetime.date(2020, 1, 1) → datetime.date(9999, 12, 31)"),
        (np.float32(1), np.float32(2), "x np.float32(1.0) → np.float32(2.0)"),
        (frozenset({1}), frozenset({2}), "x frozenset({1}) → frozenset({2})"),
        (types.SimpleNamespace, dict, "x SimpleNamespace → dict"),
    ],
)
def test_python_values(then, now, reason):
    g = Guarded(identity, then)
    assert g.holds(then)
    assert not g.holds(now) and g.why(now) == reason


def test_nan_equals_nan():
    assert Guarded(identity, math.nan).holds(float("nan"))
    assert not Guarded(identity, 0.0).holds(-0.0)


@pytest.mark.parametrize(
    ("then", "now", "reason"),
    [
        ([1, 2], [1, 2, 3], "len(x) 2 → 3"),
        ([1, 2], (1, 2), "type(x) list → tuple"),
        ((1, (2, 3)), (1, (2, 4)), "x[1][1] 3 → 4"),
        (Point(1, 2), Point(1, 3), "x.y 2 → 3"),
        (Point(1, 2), (1, 2), "type(x) Point → tuple"),
        ({"a": 1}, {"b": 1}, "keys of x ['a'] → ['b']"),
        ({"a": 1, "b": 2}, {"b": 2, "a": 1}, "keys of x ['a', 'b'] → ['b', 'a']"),
        ({"a": {"b": 1}}, {"a": {"b": 2}}, "x['a']['b'] 1 → 2"),
        ({"a": 1}, collections.OrderedDict(a=1), "type(x) dict → OrderedDict"),
        (collections.deque([1]), collections.deque([2]), "x[0] 1 → 2"),
        ({1, 2}, {1, 3}, "x {1, 2} → {1, 3}"),
        (Config(1), Config(2), "x.width 1 → 2"),
        (Config(1, {"k": 2}), Config(1, {"k": 3}), "x.weight['k'] 2 → 3"),
        (functools.partial(identity, 1), functools.partial(identity, 2), "x.args[0] 1 → 2"),
        (Box(1, "a"), Box(1, "b"), "structure of x changed"),
    ],
)
def test_structures(then, now, reason):
    g = Guarded(identity, then)
    assert not g.holds(now) and g.why(now) == reason


def test_tensors_in_structures():
    g = Guarded(identity, {"w": [t(2), Config(1, t(3))]})
    assert [i.source.text for i in g.guards.tensors] == ["x['w'][0]", "x['w'][1].weight"]
    assert g.why({"w": [t(2), Config(1, t(4))]}) == "x['w'][1].weight.size(0) 3 → 4"
    assert Guarded(identity, Box(t(2), "a")).why(Box(t(3), "a")) == "x.0.size(0) 2 → 3"


def test_parameters_of_every_kind():
    def f(a, /, b, *rest, c=1, d, **more):
        return a

    g = Guarded(f, 1, 2, 3, 4, d=5, e=6)
    assert g.holds(1, 2, 3, 4, d=5, e=6, c=1) and g.holds(1, 2, 3, 4, c=1, d=5, e=6)
    assert g.why(1, 2, 3, d=5, e=6) == "len(rest) 2 → 1"
    assert g.why(1, 2, 3, 4, d=5, e=7) == "more['e'] 6 → 7"
    with pytest.raises(TypeError, match=r"f\(\) missing 1 required keyword-only argument: 'd'"):
        g.call(1, 2)


def test_parameters_named_like_builtins():
    def f(type, len=2):
        return type

    g = Guarded.__new__(Guarded)
    g.parameters = Parameters.of(f)
    g.guards = find_dependencies(f, {"args": (1,), "kwargs": {}}, "_ow_e0_")
    g.entry = Entry(0, g.guards, [], "'hit'", lambda: (), {}, None)
    g.call = build("f", g.parameters, [g.entry], lambda args, kwargs: "miss")
    assert g.holds(1) and not g.holds(1, len=2)


def test_same_tensor_twice():
    def f(x, y):
        return x

    x = t(2)
    g = Guarded(f, x, x)
    other = t(2)
    assert g.holds(other, other)
    assert g.why(other, t(2)) == "y is x True → False"


def test_tensors_stay_distinct_where_it_matters():
    def f(x, y):
        return x

    g = Guarded(f, t(2), t(2))
    g.guards.distinct()
    x = t(2)
    g.entry._why = None
    assert g.why(x, x) == "y is x False → True" and g.why(t(2), x) == ""


def test_disjoint():
    base = np.zeros(10, np.float32)
    whole, low, high = from_numpy(base), from_numpy(base[:5]), from_numpy(base[5:])
    assert disjoint((low,), (high,)) and disjoint((low, high), ())
    assert not disjoint((low,), (whole,)) and not disjoint((whole, high), ())
    assert disjoint((t(3),), (whole, low, high))
    assert not disjoint((low,), (high, from_numpy(base[4:6])))


# ---- what the function closes over -----------------------------------------------------------------------------------

SCALE = 2.0
SETTINGS: dict[str, Any] = {"eps": 1e-5, "sizes": [1, 2]}
WEIGHT = t(4)


def helper(x):
    return x * SCALE


def other_helper(x):
    return x


def test_global_numbers(monkeypatch):
    g = Guarded(lambda x: x * SCALE, t(2))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert g.why(t(2)) == "SCALE 2.0 → 3.0"
    monkeypatch.delitem(globals(), "SCALE")
    assert g.why(t(2)) == "type(SCALE) float → nothing"


def test_functions_called_are_followed(monkeypatch):
    g = Guarded(lambda x: helper(x), t(2))
    monkeypatch.setitem(globals(), "SCALE", 3.0)
    assert g.why(t(2)) == "SCALE 2.0 → 3.0"
    monkeypatch.setitem(globals(), "SCALE", 2.0)
    assert g.holds(t(2))
    monkeypatch.setitem(globals(), "helper", other_helper)
    assert "helper helper (test_guards.py:" in g.why(t(2)) and "→ other_helper" in g.why(t(2))


def test_global_containers(monkeypatch):
    g = Guarded(lambda x: x + SETTINGS["eps"], t(2))
    monkeypatch.setitem(SETTINGS, "eps", 1e-6)
    assert g.why(t(2)) == "SETTINGS['eps'] 1e-05 → 1e-06"
    monkeypatch.setitem(SETTINGS, "eps", 1e-5)
    SETTINGS["sizes"].append(3)
    assert g.why(t(2)) == "len(SETTINGS['sizes']) 2 → 3"
    SETTINGS["sizes"].pop()


def test_closed_over_tensors_are_inputs(monkeypatch):
    g = Guarded(lambda x: x + WEIGHT, t(4))
    assert [i.source.text for i in g.guards.tensors] == ["x", "WEIGHT"]
    monkeypatch.setitem(globals(), "WEIGHT", t(4))
    assert g.holds(t(4))
    monkeypatch.setitem(globals(), "WEIGHT", t(1))
    assert g.why(t(4)) == "WEIGHT.size(0) 4 → 1"


def test_cells():
    scale, inner = 2, 5

    def g_function(x):
        return x + inner

    def f(x):
        return g_function(x) * scale

    g = Guarded(f, 1)
    assert g.holds(1)
    scale = 3
    assert g.why(1) == "scale 2 → 3"
    scale, inner = 2, 6
    assert g.why(1) == "inner 5 → 6"


def test_default_values(monkeypatch):
    g = Guarded(lambda x: with_default(x), 1)
    monkeypatch.setattr(with_default, "__defaults__", (4,))
    assert g.why(1) == "with_default.__defaults__[0] 3 → 4"


def with_default(x, n=3):
    return x * n


def test_shadowed_builtin(monkeypatch):
    g = Guarded(lambda x: max(x, 2), 1)
    monkeypatch.setitem(globals(), "max", min)
    assert g.why(1) == "a builtin is shadowed by a new global variable"


def test_module_attributes(monkeypatch):
    module = types.ModuleType("settings_of_user")
    module.rate = 0.5  # type: ignore[attr-defined]
    module.sub = types.ModuleType("settings_of_user.sub")  # type: ignore[attr-defined]
    module.sub.deep = 1
    monkeypatch.setitem(globals(), "user_module", module)
    g = Guarded(lambda x: x * user_module.rate + user_module.sub.deep, 1)  # type: ignore[name-defined]  # noqa: F821
    module.rate = 0.25  # type: ignore[attr-defined]
    assert g.why(1) == "user_module.rate 0.5 → 0.25"
    module.rate, module.sub.deep = 0.5, 2  # type: ignore[attr-defined]
    assert g.why(1) == "user_module.sub.deep 1 → 2"


class Layer:
    rate = 0.5

    def __init__(self, n):
        self.w = t(n)
        self.steps = 0
        self.unrelated = object()
        self.parts = [Config(1, t(2))]

    def __call__(self, x):
        return self.forward(x)

    def forward(self, x):
        return x * self.scaled() + self.parts[0].weight

    def scaled(self):
        return self.w * self.rate


def test_objects_by_the_attributes_that_code_names(monkeypatch):
    layer = Layer(3)
    g = Guarded(layer.forward, 1)
    assert [i.source.text for i in g.guards.tensors] == ["self.w", "self.parts[0].weight"]
    layer.unrelated = None
    assert g.holds(1)
    layer.rate = 0.25
    assert "type(self)" not in g.why(1)
    del layer.rate
    layer.w = t(4)
    assert g.why(1) == "self.w.size(0) 3 → 4"
    layer.w = t(3)
    monkeypatch.setattr(Layer, "rate", 0.75)
    assert g.why(1) == "Layer.rate 0.5 → 0.75"


def test_method_replaced(monkeypatch):
    layer = Layer(3)
    g = Guarded(lambda x: layer(x), 1)
    monkeypatch.setattr(Layer, "scaled", lambda self: self.w)
    assert g.why(1).startswith("Layer.scaled Layer.scaled (test_guards.py:")


def test_self_is_an_argument_like_any():
    g = Guarded(Layer.forward, Layer(3), 1)
    assert g.holds(Layer(3), 1)
    assert g.why(Layer(4), 1) == "self.w.size(0) 3 → 4"


def test_cyclic_objects():
    parent, child = types.SimpleNamespace(v=1), types.SimpleNamespace(v=2)
    parent.child, child.parent = child, parent
    g = Guarded(lambda x: x.child.parent.v, parent)
    assert g.holds(parent)
    child.parent = types.SimpleNamespace(v=1, child=child)
    assert g.why(parent) == "x.child.parent is x True → False"


def test_small_arrays_by_content():
    table = np.arange(4.0)
    g = Guarded(lambda x: x * table[1], 1)
    table[1] = 7
    assert g.why(1) == "content of table changed"


# ---- what cannot be guarded ------------------------------------------------------------------------------------------


def error_of(fn, *args) -> UnsupportedError:
    with pytest.raises(UnsupportedError) as caught:
        Guarded(fn, *args)
    return caught.value


def test_large_arrays_are_refused():
    big = np.zeros(1000)
    error = error_of(lambda x: x + big, 1)
    assert "big is a NumPy array" in str(error) and "big = opweave.from_numpy(big)" in str(error)
    assert "float64[1000]" in str(error) and "test_guards.py:" in str(error)


def test_unguardable_state_names_the_variable_and_the_line():
    generator = iter([1, 2])
    line = inspect.currentframe().f_lineno + 1  # type: ignore[union-attr]
    error = error_of(lambda x: next(generator), 1)
    assert "generator cannot be guarded" in str(error)
    assert f"test_guards.py:{line}" in str(error)


def test_what_differs_at_each_call_is_refused():
    for function in (
        lambda x: x * random.Random(x).random(),
        lambda x: x * np.random.default_rng(x).random(),
        lambda x: x + time.time(),
        lambda x: datetime.datetime.now(),
    ):
        assert "another value at each call" in str(error_of(function, 1))
    assert "open inside a compiled function" in str(error_of(lambda x: open(x), "f"))

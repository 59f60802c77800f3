"""Edits between calls: compiled code notices each, and does not compile anew where nothing that it reads changed."""

from __future__ import annotations

import collections
import dataclasses
import decimal
import enum
import os
import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest

sys.path.append(str(Path(__file__).parent))

import edits

import opweave
from opweave.registry.errors import UnrecordedError, UnsupportedError
from opweave.runtime import classes

TENSOR: Any = opweave.Tensor
X = opweave.arange(3.0) + 1


def compiled(function: Any, **options: Any) -> Any:
    return opweave.compile(function, backend="eager", **options)


# ---- generated -----------------------------------------------------------------------------------------------------

KINDS = list(dict.fromkeys(case.kind for case in edits.all_cases()))


@pytest.mark.parametrize("kind", KINDS)
def test_a_kind_of_edit(kind):
    """One or two cases of each kind; all with OPWEAVE_FULL_MATRIX=1, as `edits.py` runs them."""
    cases = [case for case in edits.all_cases() if case.kind == kind]
    if os.environ.get("OPWEAVE_FULL_MATRIX") != "1":
        first = KINDS.index(kind) * 7 % len(cases)
        cases = (cases * 2)[first : first + min(len(cases), 1 if kind in edits.VALUES else 2)]
    for case in cases:
        outcome = edits.attempt(case, opweave, edits.opweave_compile)
        assert outcome.kind not in ("stale", "refused"), f"{case.place}: {outcome.why}"


def test_cases_are_many_and_do_something():
    assert len(edits.all_cases()) > 1900 and len(KINDS) > 100
    assert len({(case.kind, case.place, case.setup) for case in edits.all_cases()}) == len(edits.all_cases())


# ---- the table of what went unseen ---------------------------------------------------------------------------------


def sees(function: Any, edit: Any, *arguments: Any) -> None:
    """A compiled function gives what the function gives, before and after an edit."""
    c = compiled(function)
    assert c(X, *arguments).tolist() == function(X, *arguments).tolist()
    before = function(X, *arguments).tolist()
    edit()
    assert c(X, *arguments).tolist() == function(X, *arguments).tolist() != before


def test_absence():
    class K:
        w = 3.0

        def scale(self):
            return self.w

    class L(K):
        pass

    o, p, q = K(), L(), L()
    sees(lambda x: x * o.w, lambda: setattr(o, "w", 9.0))
    sees(lambda x: x * q.scale(), lambda: setattr(q, "scale", lambda: 7.0))
    sees(lambda x: x * p.w, lambda: setattr(L, "w", 5.0))


@pytest.mark.parametrize(
    ("then", "now", "read"),
    [
        (range(0, 10, 3), range(0, 12, 3), lambda v: v.stop),
        (decimal.Decimal("1.0"), decimal.Decimal("1.00"), lambda v: len(str(v))),
        (np.float32(0.0), np.float32(-0.0), lambda v: 1 + np.signbit(v)),
        ({1: 2.0}, {True: 2.0}, lambda v: 1 + sum(type(k) is bool for k in v)),
        ({1}, {True}, lambda v: 1 + sum(type(k) is bool for k in v)),
    ],
)
def test_values_that_are_equal_and_not_the_same(then, now, read):
    c = compiled(lambda x, v: x * float(read(v)))
    assert then == now
    assert c(X, then).tolist() == (X * float(read(then))).tolist()
    assert c(X, now).tolist() == (X * float(read(now))).tolist() != (X * float(read(then))).tolist()


def test_state_behind_an_identity():
    def g():
        pass

    g.k = 2.0  # type: ignore[attr-defined]

    class Colour(enum.Enum):
        RED = 1

    class Descriptor:
        def __get__(self, owner, kind):
            return 2.0

    class K:
        d = Descriptor()

    Colour.RED.k = 2.0  # type: ignore[attr-defined]
    o = K()
    sees(lambda x: x * g.k, lambda: setattr(g, "k", 3.0))  # type: ignore[attr-defined]
    sees(lambda x: x * Colour.RED.k, lambda: setattr(Colour.RED, "k", 3.0))  # type: ignore[attr-defined]
    sees(lambda x: x * o.d, lambda: setattr(Descriptor, "__get__", lambda self, owner, kind: 3.0))


def test_metadata_read_as_numbers():
    whole = opweave.arange(12.0)
    c = compiled(lambda x: x * x.storage_offset())
    for start in (2, 3):
        part = whole[start : start + 4]
        assert c(part).tolist() == (part * start).tolist()


def test_patched_libraries(monkeypatch):
    c = compiled(lambda x: opweave.sin(x) + x.exp())
    c(X)
    monkeypatch.setattr(opweave, "sin", opweave.cos)
    assert c(X).tolist() == (X.cos() + X.exp()).tolist()
    monkeypatch.setattr(TENSOR, "exp", TENSOR.neg)
    assert c(X).tolist() == (X.cos() - X).tolist()


def test_reads_of_the_world(tmp_path):
    c = compiled(lambda x: x * (2 if os.path.exists(tmp_path / "file") else 3))
    assert c(X).tolist() == (X * 3).tolist()
    (tmp_path / "file").touch()
    assert c(X).tolist() == (X * 2).tolist()
    assert not c.entries
    with pytest.raises(UnrecordedError, match=r"what os\.path\.exists gives") as caught:
        compiled(lambda x: x * os.path.exists(tmp_path), fullgraph=True)(X)
    assert "test_edits.py" in str(caught.value.at) and "outside of the compiled function" in str(caught.value.hint)


def test_what_a_rule_closes_over():
    scale = [2.0]

    @opweave.library.custom_op("test_edits::scaled", mutates_args=())
    def scaled(x: opweave.Tensor) -> opweave.Tensor:
        return x * 1

    scaled.register_fake(lambda x: opweave.empty_like(x))
    scaled.register_autograd(lambda ctx, grad: grad * scale[0])
    c, leaf = compiled(lambda x: scaled(x)), opweave.ones(3, requires_grad=True)
    for scale[0] in (2.0, 5.0):
        (grad,) = opweave.autograd.grad(c(leaf).sum(), leaf)
        assert grad is not None and grad.tolist() == [scale[0]] * 3


def test_what_cannot_be_recorded_runs_in_parts():
    import itertools

    counter = itertools.count(1)
    with pytest.raises(UnsupportedError, match="cannot be guarded"):
        compiled(lambda x: x * next(counter), fullgraph=True)(X)
    c = compiled(lambda x: x * next(counter))
    assert c(X).tolist() == (X * 1).tolist()
    assert c(X).tolist() == (X * 2).tolist()


# ---- nothing is compiled anew without need -------------------------------------------------------------------------


@dataclasses.dataclass
class Config:
    width: int
    parts: list[Any] = dataclasses.field(default_factory=lambda: [1, 2])


class Layer:
    calls = 0

    def __init__(self):
        self.w, self.seen = opweave.ones(3), 0

    def forward(self, x):
        return x * self.w


@pytest.mark.parametrize(
    "make",
    [
        lambda: [1, 2, "a"], lambda: {"a": 1, 2: (3, 4.0)}, lambda: {1, 2}, lambda: Config(3), lambda: range(0, 6, 2),
        lambda: decimal.Decimal("1.50"), lambda: np.array([1.0, 2.0]), lambda: np.float32(2), lambda: slice(0, 2),
        lambda: collections.deque([1], 3), lambda: collections.OrderedDict(a=1), lambda: types.SimpleNamespace(a=1),
        lambda: collections.Counter("ab"), lambda: b"ab", lambda: bytearray(b"ab"), lambda: frozenset({"a"}),
        lambda: collections.namedtuple, lambda: opweave.ones(2), lambda: [opweave.ones(2), {"w": opweave.ones(3)}],
    ],
)  # fmt: skip
def test_new_objects_of_equal_content(make):
    c = compiled(lambda x, v: x + 1)
    for _ in range(3):
        c(X, make())
    assert len(c.entries) == 1


def test_what_the_code_does_not_read(monkeypatch):
    layer = Layer()
    c = compiled(lambda x: layer.forward(x))
    c(X)
    for change in (
        lambda: setattr(layer, "seen", 5),
        lambda: setattr(layer, "other", 5),
        lambda: setattr(Layer, "calls", 7),
        lambda: setattr(Layer, "unrelated", lambda self: 3),
        lambda: setattr(layer, "w", opweave.ones(3) * 2),
        lambda: monkeypatch.setattr(opweave, "cos", opweave.sin),
        lambda: monkeypatch.setitem(globals(), "UNREAD", 3),
        lambda: monkeypatch.setattr(TENSOR, "cos", TENSOR.sin),
    ):
        change()
        assert c(X).tolist() == layer.forward(X).tolist()
    assert len(c.entries) == 1


def test_a_class_that_changes_back():
    class K:
        w = 2.0

    o = K()
    c = compiled(lambda x: x * o.w)
    for value in (2.0, 3.0, 2.0, 3.0, 2.0):
        K.w = value
        assert c(X).tolist() == (X * value).tolist()
    assert len(c.entries) == 2


def test_classes_are_compared_by_name_where_they_have_no_version(monkeypatch):
    monkeypatch.setattr(classes, "_tag_offset", lambda: None)

    class K:
        w = 2.0

    o = K()
    c = compiled(lambda x: x * o.w)
    for value in (2.0, 3.0):
        K.w = value
        assert c(X).tolist() == (X * value).tolist()
        assert c(X).tolist() == (X * value).tolist()
    o.w = 4.0
    assert c(X).tolist() == (X * 4).tolist()


def test_the_version_of_a_class_is_found():
    if sys.implementation.name != "cpython":
        pytest.skip("only CPython numbers the states of a class")
    assert classes._tag_offset() is not None
    kind: Any = type("K", (), {"a": 1})
    facts = classes.ClassFacts(kind, ["a", "b"], lambda value: False)
    kind().a  # noqa: B018
    assert facts.holds() and facts.tag[0] == facts.known[0]
    kind.c = 1
    assert facts.tag[0] != facts.known[0] and facts.holds()
    kind.b = 1
    assert facts.difference() == "K.b nothing → 1" and not facts.holds()


# ---- code that no name leads to ------------------------------------------------------------------------------------

FACTOR = 2.0


def test_code_that_only_running_shows(monkeypatch):
    class Shown:
        def __repr__(self):
            return "a" * int(FACTOR)

    shown = Shown()
    c = compiled(lambda x: x * len(str(shown)))
    assert c(X).tolist() == (X * 2).tolist()
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert c(X).tolist() == (X * 3).tolist()
    (entry, *_) = c.entries
    assert any(guard.source.text == "FACTOR" for guard in entry.guards.guards)


def test_a_tracer_that_is_set_goes_on():
    seen = []

    def traced(x):
        return x + 1

    def tracer(frame, event, argument):
        seen.append(frame.f_code.co_name)

    before = sys.gettrace()
    sys.settrace(tracer)
    try:
        compiled(traced)(X)
        assert sys.gettrace() is tracer
    finally:
        sys.settrace(before)
    assert "traced" in seen


def test_books_that_rules_keep():
    seen: list[Any] = []

    @opweave.library.custom_op("test_edits::counted", mutates_args=())
    def counted(x: opweave.Tensor) -> opweave.Tensor:
        return x * 1

    @counted.register_fake
    def _(x):
        seen.append(x.shape)
        return opweave.empty_like(x)

    c = compiled(lambda x: counted(x))
    assert c(X).tolist() == X.tolist() and c(X).tolist() == X.tolist()
    assert len(c.entries) == 1 and seen

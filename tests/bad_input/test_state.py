"""Python state around compiled functions: what changes is noticed, what would be lost is refused."""

import itertools
import logging
import time
import warnings

import numpy as np
import pytest
from mistakes import refused

import opweave
from opweave.registry.errors import UnsupportedError

X = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))
LOG = logging.getLogger("mistakes")
COUNT = 0
LIST = []
DICT = {}
ARRAY = np.zeros(3)
COUNTER = itertools.count()


class Thing:
    scale = 2.0

    def __init__(self):
        self.n = 0
        self.history = []

    def counts(self, x):
        self.n += 1
        return x + 1

    def remembers(self, x):
        self.last = x
        return x + 1

    def appends(self, x):
        self.history.append(x)
        return x + 1

    def sets_class(self, x):
        Thing.scale = 3.0
        return x

    def scales(self, x):
        return x * self.scale


def global_count(x):
    global COUNT
    COUNT += 1
    return x + 1


def global_append(x):
    LIST.append(x)
    return x + 1


def global_item(x):
    DICT["a"] = x
    return x + 1


def class_attribute(x):
    Thing.last = x
    return x + 1


def array_item(x):
    ARRAY[0] += 1
    return x + 1


def mutable_default(x, seen=[]):
    seen.append(1)
    return x + len(seen)


@pytest.mark.parametrize(
    ("f", "named"),
    [
        (global_count, "global COUNT"),
        (global_append, "LIST"),
        (global_item, "DICT"),
        (class_attribute, "class Thing"),
        (array_item, "ARRAY"),
        (mutable_default, "seen"),
        (Thing().counts, "self"),
        (Thing().remembers, "self"),
        (Thing().appends, "self.history"),
        (Thing().sets_class, "class Thing"),
    ],
)
def test_effects_are_refused_and_undone(f, named):
    with refused(UnsupportedError, f"changes {named}, which compiled code would not do", __file__):
        opweave.compile(f, fullgraph=True)(X)
    assert (COUNT, LIST, DICT, ARRAY.tolist(), Thing.scale) == (0, [], {}, [0, 0, 0], 2.0)
    assert not hasattr(Thing, "last") and mutable_default.__defaults__ == ([],)


def test_effects_on_arguments_and_cells():
    n = 0

    def cell(x):
        nonlocal n
        n += 1
        return x

    def argument(x, seen):
        seen.append(x)
        return x

    with refused(UnsupportedError, "changes a nonlocal variable", __file__):
        opweave.compile(cell, fullgraph=True)(X)
    seen = []
    with refused(UnsupportedError, "changes seen", __file__):
        opweave.compile(argument, fullgraph=True)(X, seen)
    assert n == 0 and seen == []


def test_state_is_restored_when_the_function_raises():
    def f(x, seen):
        seen.append(1)
        raise ValueError("mine")

    seen = []
    with pytest.raises(ValueError, match="mine"):
        opweave.compile(f, fullgraph=True)(X, seen)
    assert seen == []


def speaks(x):
    print("hello", x.shape)
    return x + 1


def logs(x):
    LOG.warning("hello")
    return x + 1


def hides_it(x):
    try:
        print("hello")
    except Exception:
        x = x + 1
    return x


@pytest.mark.parametrize("f", [speaks, logs, hides_it])
def test_output_is_not_lost(f, capsys):
    with refused(UnsupportedError, "would come only when it is traced", __file__):
        opweave.compile(f, fullgraph=True)(X)
    assert capsys.readouterr().out == ""


def test_output_that_is_not_reached_is_no_obstacle(capsys):
    def f(x, verbose=False):
        if verbose:
            print("hello")
        LOG.debug("hello")
        return x + 1

    assert opweave.compile(f)(X).tolist() == (X + 1).tolist()


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * time.time(),
        lambda x: x * len(open("/etc/hosts").read()),  # noqa: SIM115
        lambda x: x + next(COUNTER),
    ],
)
def test_what_changes_by_itself(f):
    with refused(UnsupportedError, "compile:", __file__):
        opweave.compile(f, fullgraph=True)(X)


# ---- what changes between calls ------------------------------------------------------------------------------------


class Settings:
    factor = 2.0


class Helper:
    @staticmethod
    def scale(x):
        return x * 2

    @classmethod
    def shift(cls, x):
        return x + 2


def helper(x):
    return x * 2


def test_closures():
    k = 2.0

    def f(x):
        return x * k

    c = opweave.compile(f)
    assert c(X).tolist() == (X * 2).tolist()
    k = 3.0
    assert c(X).tolist() == (X * 3).tolist()


@pytest.mark.parametrize(
    ("f", "owner", "name", "value"),
    [
        (lambda x: x * Settings.factor, Settings, "factor", 5.0),
        (lambda x: Thing().scales(x), Thing, "scale", 5.0),
        (lambda x: Helper.scale(x), Helper, "scale", staticmethod(lambda x: x * 5)),
        (lambda x: Helper.shift(x), Helper, "shift", classmethod(lambda cls, x: x * 5)),
        (lambda x: helper(x), helper, "__code__", (lambda x: x * 5).__code__),
    ],
)
def test_attributes_of_classes_and_functions(f, owner, name, value):
    c = opweave.compile(f)
    assert c(X).tolist() == f(X).tolist()
    before = vars(owner)[name] if isinstance(owner, type) else getattr(owner, name)
    setattr(owner, name, value)
    try:
        assert c(X).tolist() == (X * 5).tolist()
    finally:
        setattr(owner, name, before)
    assert c(X).tolist() == f(X).tolist()


def test_the_code_of_the_function_itself():
    def f(x):
        return x * 2

    c = opweave.compile(f)
    c(X)
    f.__code__ = (lambda x: x * 7).__code__
    assert c(X).tolist() == (X * 7).tolist()


def test_contents_of_containers_arrays_and_defaults():
    numbers, names, array = [[1.0], [2.0]], {"a"}, np.ones(3, np.float32)

    def f(x, k=[3.0]):
        return x * numbers[1][0] * len(names) * k[0] * opweave.from_numpy(array)

    c = opweave.compile(f)
    assert c(X).tolist() == (X * 6).tolist()
    numbers[1][0], f.__defaults__[0][0], array[:] = 1.0, 1.0, 5
    names.add("b")
    assert c(X).tolist() == (X * 10).tolist()


def test_a_storm_of_recompilations_ends_with_a_warning_at_the_users_line():
    c = opweave.compile(lambda x, n: x * n, dynamic=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for n in range(12):
            assert c(X, n).tolist() == (X * n).tolist()
    (warning,) = caught
    assert "8 compiled versions reached" in str(warning.message) and "n (8 times)" in str(warning.message)
    assert len(c.entries) == 8
    assert warning.filename == __file__

"""Looking at values that are not there yet: under `compile`, `make_fx` and `FakeTensorMode`."""

import math

import numpy as np
import pytest
from mistakes import fresh_op, refused

import opweave
from opweave.registry.errors import ArgumentError, DataDependentError, TraceError, UnsupportedError

X = opweave.from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))


def branch(x):
    return x if (x > 0).all() else -x


def negation(x):
    return not x


def chained(x):
    return 0 < x < 3


def item(x):
    return x * x.sum().item()


def integer(x):
    return x * int(x.sum())


def floating(x):
    return x * math.sqrt(x.sum())


def loop_over_values(x):
    return [v.item() for v in x[0]]


def as_range(x):
    return list(range(x.sum()))


def as_index(x):
    return [1, 2, 3][x.argmax()]


def as_list(x):
    return x.tolist()


def numpy_function(x):
    return np.sin(x)


def as_array(x):
    return np.sin(x.numpy())


def ordered(x):
    return sorted(x[0])


def member(x):
    return 3 in x


def assigned(x):
    y = x.clone()
    y[0] = float(x.sum())
    return y


def swallowed(x):
    try:
        return x * float(x.sum())
    except Exception:
        return x


LOOKS = [
    branch, negation, chained, integer, floating, as_range, as_index,
    numpy_function, as_array, ordered, member, assigned,
]  # fmt: skip


def by_compile(f):
    return opweave.compile(f, fullgraph=True)(X)


def by_make_fx(f):
    return opweave.make_fx(f)(X)


def by_fake_make_fx(f):
    return opweave.make_fx(f, tracing_mode="fake")(X)


def by_fake_mode(f):
    with opweave.FakeTensorMode() as mode:
        return f(mode.from_tensor(X))


@pytest.mark.parametrize("how", [by_compile, by_make_fx, by_fake_make_fx, by_fake_mode])
@pytest.mark.parametrize("f", LOOKS)
def test_values_are_not_known(f, how):
    with refused(DataDependentError, "values are not known", __file__):
        how(f)


@pytest.mark.parametrize("how", [by_compile, by_make_fx, by_fake_make_fx])
def test_catching_the_error_does_not_make_the_other_path_right(how):
    with refused(DataDependentError, "float", __file__):
        how(swallowed)


def test_an_op_without_fake_rule_cannot_be_caught_either():
    op = fresh_op(lambda x: x + 1)

    def f(x):
        try:
            return op(x)
        except Exception:
            return x

    with refused(UnsupportedError, "stands in a `try`", __file__):
        opweave.compile(f, fullgraph=True)(X)


@pytest.mark.parametrize("f", [item, loop_over_values, as_list])
def test_numbers_of_values(f):
    with refused(DataDependentError, "values are not known", __file__):  # values are there, and would be kept
        by_make_fx(f)
    for made in (opweave.compile(f), by_fake_make_fx(f)):
        for x in (X, -X, X * 3):
            found, expected = made(x), f(x)
            assert (found if isinstance(found, list) else found.tolist()) == (
                expected if isinstance(expected, list) else expected.tolist()
            )


@pytest.mark.parametrize("f", [lambda x: x[x > 2], lambda x: x.nonzero()])
def test_sizes_that_depend_on_data(f):
    assert "u0" in str(by_fake_mode(f).shape)
    traced = by_fake_make_fx(f)
    for x in (X, -X, X * 3):
        assert traced(x).tolist() == f(x).tolist()


@pytest.mark.parametrize("f", [lambda x: x[x > 2], lambda x: x.nonzero()])
def test_sizes_that_depend_on_data_compile(f):
    compiled = opweave.compile(f)
    for x in (X, -X, X * 3):
        assert compiled(x).tolist() == f(x).tolist()
    assert len(compiled.entries) == 1


@pytest.mark.parametrize("f", [lambda x: f"{x.sum():.2f}", lambda x: str(x), lambda x: "%s" % x])
def test_text_of_a_tensor_is_not_baked_in(f):
    with refused(DataDependentError, "text", __file__):
        opweave.compile(f, fullgraph=True)(X)


def test_repr_stays_for_messages():
    with pytest.raises(ValueError, match="FakeTensor"):
        opweave.compile(reject, fullgraph=True)(X)


def reject(x):
    raise ValueError(f"not this: {x!r}")


def test_a_numpy_method_names_the_users_line():
    with refused(ArgumentError, "no overload", __file__):
        opweave.compile(lambda x: np.std(x), fullgraph=True)(X)


def test_what_a_graph_cannot_hold():
    with refused(TraceError, "cannot hold: object", __file__):
        opweave.make_fx(lambda x: object())(X)
    with refused(ArgumentError, "expected a function", __file__, got="3 (int)"):
        opweave.make_fx(3)
    with refused(ArgumentError, "unknown tracing_mode", __file__):
        opweave.make_fx(branch, tracing_mode="quick")

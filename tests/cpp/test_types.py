"""Every type of a schema in and out of C++, tensors there, and ops called from there."""

import threading
import time

import numpy as np
import pytest

import opweave
from opweave.registry.dtypes import DTYPES
from opweave.testing import assert_close


@pytest.fixture(scope="module")
def t(ops):
    return ops("types.cpp", "cpptypes")


def test_numbers_and_text(t):
    assert t.scalars(3, 1.5, True, "é", 2) == "é:3:3:yes:02"
    assert t.scalars(3, 1, False, "a much longer text than fits a word", 2.5).endswith(":no:12")


def test_options(t):
    x = opweave.ones(2)
    assert t.optionals(None, None, None, None, None, None) == 0
    assert t.optionals(1, 2.0, x, "s", [1], 4) == 63
    assert t.optionals(None, None, x, None, None, None) == 4


def test_a_result_and_a_list(t):
    x = opweave.tensor([[0.0, 0.0], [1.0, 2.0], [0.9, 2.9]])
    found, wanted = t.counted(x), opweave.histogramdd(x, [2, 3])
    assert found[0].tolist() == wanted[0].tolist() and found[0].sum().item() == 3
    assert [edges.tolist() for edges in found[1]] == [edges.tolist() for edges in wanted[1]]


def test_ops_on_lists(t):
    given = [opweave.tensor([4.0, 1.5]), opweave.tensor([1.0])]
    assert [x.tolist() for x in t.foreach(given)] == [[3.0, 2.0], [2.0]]
    assert [x.tolist() for x in given] == [[9.0, 4.0], [4.0]]


def test_lists(t):
    x = opweave.ones(2)
    assert t.lists([1, 2], [0.5], [True, False, True], ["a"], [x, x], [x, None]) == [2, 1, 3, 1, 2, 1]
    assert t.lists([], [], [], [], [], []) == [-1, 0, 0, 0, 0, 0]
    assert t.fixed([1, 2]) == 12 and t.fixed(3) == 33


@pytest.mark.parametrize("name", sorted(DTYPES))
def test_dtypes(t, name):
    dtype = DTYPES[name]
    found, device = t.kinds(dtype, "cpu", opweave.contiguous_format)
    assert found is dtype and str(device) == "cpu"
    made = t.make(dtype)
    assert made.dtype is dtype
    assert np.array_equal(made.to(opweave.complex128).numpy(), [{"bool": 1, "float8_e8m0fnu": 4}.get(name, 3)] * 2)


def test_several_results_are_as_the_schema_has_them(t):
    x = opweave.randn(2, 3)
    first, count, many, none = t.several(x)
    assert count == 6 and none is None and isinstance(many, list) and len(many) == 2
    for copy in (first, *many):
        assert np.array_equal(copy.numpy(), x.numpy()) and type(copy) is opweave.Tensor
    assert t.nothing(x) is None
    assert t.sym(3, [1, 2]) == 5
    assert np.array_equal(t.dict({"a": x, "b": x}).numpy(), 2 * x.numpy())


def test_written_arguments_are_returned_themselves(t):
    x, y = opweave.zeros(3), opweave.ones(3)
    before = x._version
    assert t.write_(x, y) is x and x.tolist() == [1, 1, 1] and x._version > before


def test_a_result_is_memory_of_its_own(t):
    x = opweave.randn(2, 3)
    result = t.itself(x)
    assert result is not x and result.data_ptr() != x.data_ptr() and np.array_equal(result.numpy(), x.numpy())
    transposed = t.itself(x.t())
    assert np.array_equal(transposed.numpy(), x.numpy().T)


def test_keywords_and_defaults(t):
    x = opweave.randn(2)
    assert_close(t.by_value(x), x * 2)
    assert_close(t.by_value(x, scale=3.0), x * 3)
    assert t.draw(4).shape == (4,)
    opweave.manual_seed(0)
    a = t.draw(4)
    opweave.manual_seed(0)
    assert a.tolist() == t.draw(4).tolist()


def test_what_a_tensor_looks_like(t):
    x = opweave.randn(3, 4)
    assert t.looks(x) == [2, 12, 1, 4, 48, 1, 0, 3, 4, 4, 1]
    assert t.looks(x.t()) == [2, 12, 0, 4, 48, 1, 0, 4, 3, 1, 4]
    assert t.looks(x[1:, 2]) == [1, 2, 0, 4, 8, 1, 0, 2, 4]
    assert t.looks(opweave.zeros(0, 3)) == [2, 0, 1, 4, 0, 1, 0, 0, 3, 3, 1]
    assert_close(t.trace(x.t()), float(x.numpy().T.trace()))


@pytest.mark.parametrize(
    "name", ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64"]
)
def test_elements_of_all_types(t, name):
    x = opweave.tensor([1, 2, 3]).to(DTYPES[name])
    assert t.sum_any(x) == 6.0
    with pytest.raises(NotImplementedError, match=r'"sum_any" not implemented for .Bool'):
        t.sum_any(opweave.tensor([True]))


def test_ops_are_called_from_cpp(t):
    a, b = opweave.randn(3, 4), opweave.randn(3, 4)
    x = a * b + a.relu() - 1
    expected = 2 * (opweave.where(x > 0, x, -x) / (b.abs() + 1.0) + a)
    result = t.through_ops(a, b)
    assert result.dtype is opweave.float64
    assert_close(result.to(opweave.float32), expected)
    assert_close(t.by_name(a), a * a)
    assert t.options(a).shape == (3, 2) and t.options(a).dtype is opweave.int64 and t.options(a).tolist()[0] == [12, 12]


def test_indexing_as_python_has_it(t):
    x = opweave.arange(6).to(opweave.float32).view(2, 3)
    last, swapped, written = t.indexed(x)
    assert last.tolist() == [2, 5] and swapped.tolist() == [[3, 4, 5], [0, 1, 2]]
    assert written.tolist() == [[3, 4, 5], [3, 7, 7]]


def test_parallel_loops_run_on_the_pool(t):
    x = opweave.randn(100_000, dtype=opweave.float64)
    assert abs(t.parallel_sum(x) - 2 * float(x.sum())) < 1e-6
    assert t.parallel_sum(opweave.zeros(0, dtype=opweave.float64)) == 0


def test_the_interpreter_runs_while_a_kernel_does(t):
    started, done = threading.Event(), threading.Event()

    def work():
        started.set()
        t.spin(300)
        done.set()

    thread = threading.Thread(target=work)
    thread.start()
    started.wait()
    turns = 0
    while not done.is_set():
        turns += 1
        time.sleep(0.001)
    thread.join()
    assert turns > 5


def test_eight_threads_call_at_once(t):
    x = opweave.randn(64)
    wrong = []

    def work():
        for _ in range(200):
            if t.itself(x).tolist() != x.tolist() or t.scalars(1, 2.0, True, "s", 1) != "s:1:4:yes:01":
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_generators_of_ones_own(t):
    g, other = opweave.Generator().manual_seed(7), opweave.Generator().manual_seed(7)
    x, y = opweave.empty(5), opweave.empty(5)
    t.uniform_(x, g)
    y.uniform_(generator=other)
    assert x.tolist() == y.tolist()
    before, after, back = t.seeds(g, -3)
    assert (before, after) == (7, -3) and back is g and g.initial_seed() == 2**64 - 3
    made = t.source(7)
    assert type(made) is opweave.Generator and made.initial_seed() == 7
    t.uniform_(y, made)
    assert x.tolist() == y.tolist()
    opweave.manual_seed(3)
    t.uniform_(x, None)
    opweave.manual_seed(3)
    assert x.tolist() == opweave.empty(5).uniform_().tolist()


def test_complex_numbers(t):
    assert t.negated(1 + 2j) == -1 - 2j and type(t.negated(2j)) is complex and t.negated(3) == -3
    x = opweave.tensor([1 + 2j, -0.5j, 3.0], dtype=opweave.complex128)
    assert np.array_equal(t.times(x, 1 - 2j).numpy(), (x * (1 - 2j)).numpy())
    assert np.array_equal(t.times(x, 2, 1j).numpy(), (x * 2j).numpy())
    assert np.array_equal(t.times(opweave.ones(2), 1j).numpy(), [1j, 1j])
    with pytest.raises(ValueError, match="a complex number was asked for as a real one"):
        t.real(1j)
    assert t.real(2 + 0j) == 2


def test_halves_are_compared_with_numbers(t):
    assert t.halves(1.5, 2.0) == [True, False, True, False, False, False, True]
    assert t.halves(3.0, -1.0) == [False, False, True, True, False, True, False]

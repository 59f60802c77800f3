"""How a call finds its kernel, and what it says when it finds none."""

import copy
import pickle
import threading

import numpy as np
import pytest

from opweave.registry import dtypes
from opweave.registry.device import meta
from opweave.registry.errors import ArgumentError, DispatchError, RegistrationError
from opweave.registry.keys import DispatchKey, DispatchKeySet, DispatchMode, state
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.schema import parse_schema
from opweave.registry.tensor import Tensor, allocate, from_numpy


def tensor(*values):
    return from_numpy(np.array(values, np.float32))


@pytest.fixture
def define():
    made = []

    def make(schema, **kernels):
        op = registry.define(schema)
        made.append(op)
        for key, kernel in kernels.items():
            op.register(DispatchKey[key], kernel)
        return op

    yield make
    for op in made:
        registry.remove(op)


class Log(DispatchMode):
    def __init__(self):
        self.calls = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.calls.append((str(func), args, kwargs))
        return func(*args, **(kwargs or {}))


def test_entry_binds_like_the_schema(define):
    op = define("t::f(Tensor a, int n=3, *, float s=0.5, str? m=None) -> Tensor", CPU=lambda *a, **k: (a, k))
    x = tensor(1)
    assert op(x) == ((x, 3), {"s": 0.5, "m": None})
    assert op(x, n=4, s=2, m="q") == ((x, 4), {"s": 2.0, "m": "q"})
    assert isinstance(op(x, s=2)[1]["s"], float)
    assert op(x, np.int64(7)) == ((x, 7), {"s": 0.5, "m": None})


def test_a_list_belongs_to_the_call(define):
    """What a backward or a graph reads later must not change with the caller's list."""
    op = define("t::l(Tensor a, int[] n, int[2]? m, Tensor[] x) -> Tensor", CPU=lambda *a: a)
    x = tensor(1)
    given = [1, 2], [3, 4], [x]
    got = op(x, *given)
    for mine, theirs in zip(given, got[1:], strict=True):
        assert list(theirs) == mine
        mine.append(mine[0])
        assert len(theirs) == len(mine) - 1


def test_a_list_that_changes_leaves_gradients_alone():
    x = from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3)).requires_grad_()
    dims = [0]
    flipped = ops.aten.flip.default(x, dims)
    dims[0] = 1
    ops.aten.sum.default(flipped * from_numpy(np.arange(6, dtype=np.float32).reshape(2, 3))).backward()
    np.testing.assert_array_equal(x.grad.numpy(), [[3, 4, 5], [0, 1, 2]])


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        ((), {}, "missing 1 required positional argument: 'a'"),
        ((1,), {}, "expected a Tensor"),
        (("x", 1.5), {}, "argument 'n' must be int"),
        (("x",), {"s": "no"}, "argument 's' must be float"),
        (("x", 1, 2), {}, "positional argument"),
        (("x",), {"bogus": 1}, "unexpected keyword argument 'bogus'"),
    ],
)
def test_bad_arguments_name_what_is_wrong(define, args, kwargs, message):
    op = define("t::g(Tensor a, int n=3, *, float s=0.5) -> Tensor", CPU=lambda a, n, *, s: a)
    args = tuple(tensor(1) if a == "x" else a for a in args)
    with pytest.raises(ArgumentError, match=message) as caught:
        op(*args, **kwargs)
    assert caught.value.at.file == __file__


def test_errors_inside_a_kernel_pass_unchanged(define):
    def kernel(a):
        return len(5)

    op = define("t::h(Tensor a) -> Tensor", CPU=kernel)
    with pytest.raises(TypeError, match="object of type 'int' has no len") as caught:
        op(tensor(1))
    assert not isinstance(caught.value, ArgumentError)


def test_kernel_choice_by_device_and_alias(define):
    op = define("t::k(Tensor a) -> Tensor", CPU=lambda a: "cpu")
    op.register(DispatchKey.CompositeExplicitAutograd, lambda a: "any")
    on_meta = allocate((2,), (1,), dtypes.float32, meta)
    assert op(tensor(1)) == "cpu" and op(on_meta) == "any"
    op.register_fake_rule(lambda a: "fake")
    assert op(on_meta) == "fake"


def test_no_kernel_says_what_there_is(define):
    op = define("t::none(Tensor a) -> Tensor", CUDA=lambda a: a)
    with pytest.raises(DispatchError, match=r"no kernel for CPU") as caught:
        op(tensor(1))
    assert "kernels: CUDA" in str(caught.value) and "register_kernel('t::none', 'cpu')" in str(caught.value)


def test_a_new_registration_takes_effect_at_once(define):
    op = define("t::again(Tensor a) -> Tensor", CPU=lambda a: 1)
    assert op(tensor(1)) == 1
    with pytest.raises(RegistrationError, match="CPU already has a kernel"):
        op.register(DispatchKey.CPU, lambda a: 2)
    before, overall = op.version, registry.version
    op.register(DispatchKey.CPU, lambda a: 2, override=True)
    assert op(tensor(1)) == 2 and op.version > before and registry.version > overall


def test_defining_twice_names_both_places(define):
    define("t::dup(Tensor a) -> Tensor")
    with pytest.raises(RegistrationError, match="already defined") as caught:
        registry.define("t::dup(Tensor a) -> Tensor")
    assert "test_op.py" in caught.value.got and "test_op.py" in str(caught.value.at)


def test_modes_nest_and_see_trimmed_calls(define):
    op = define("t::m(Tensor a, int n=3, *, float s=0.5) -> Tensor", CPU=lambda a, n, *, s: (n, s))
    x, outer, inner = tensor(1), Log(), Log()
    with outer, inner:
        assert op(x, 3, s=0.5) == (3, 0.5)
        op(x, 4)
    assert inner.calls == outer.calls == [("t.m.default", (x,), {}), ("t.m.default", (x, 4), {})]
    assert not state.modes and op(x) == (3, 0.5) and len(outer.calls) == 2


def test_modes_are_per_thread_and_restored_after_errors(define):
    def fail(a):
        raise KeyError("inside")

    op = define("t::e(Tensor a) -> Tensor", CPU=fail)
    log, seen = Log(), []
    with log:
        with pytest.raises(KeyError):
            op(tensor(1))
        thread = threading.Thread(target=lambda: seen.append(len(state.modes)))
        thread.start()
        thread.join()
        assert state.modes == [log]
    assert seen == [0] and state.include == 0


def test_composites_are_decomposed_before_modes_look(define):
    inner = define("t::inner(Tensor a) -> Tensor", CPU=lambda a: a)
    define("t::outer(Tensor a) -> Tensor", CompositeImplicitAutograd=lambda a: inner(a))
    with Log() as log:
        ops.t.outer(tensor(1))
    assert [name for name, _, _ in log.calls] == ["t.inner.default"]


def test_mutation_counts_versions_also_in_lists(define):
    op = define("t::w(Tensor(a!) a, Tensor(b!)[] bs, *, Tensor(c!)? c=None) -> ()", CPU=lambda a, bs, *, c: None)
    a, b, c = tensor(1), tensor(2), tensor(3)
    op(a, [b, b], c=c)
    assert (a._version, b._version, c._version) == (1, 2, 1) and op.mutated_args == ("a", "bs", "c")


def test_subclasses_with_torch_dispatch_take_over(define):
    op = define("t::s(Tensor a) -> Tensor", CPU=lambda a: "kernel")

    class Loud(Tensor):
        __slots__ = ()

        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return (str(func), types)

    x = Loud([1.0])
    x._keys |= DispatchKey.Python.bit
    assert op(x) == ("t.s.default", (Loud,))


def test_packets_choose_by_types(define):
    define("t::p.Tensor(Tensor a, Tensor b) -> Tensor", CPU=lambda a, b: "Tensor")
    define("t::p.Scalar(Tensor a, Scalar b) -> Tensor", CPU=lambda a, b: "Scalar")
    define("t::p.list(Tensor a, int[] b, bool flag=False) -> Tensor", CPU=lambda a, b, flag: "list")
    x = tensor(1)
    assert ops.t.p(x, x) == "Tensor" and ops.t.p(x, 2) == "Scalar" and ops.t.p(x, [1], flag=True) == "list"
    assert ops.t.p.overloads() == ["Tensor", "Scalar", "list"]
    with pytest.raises(ArgumentError, match="no overload takes these") as caught:
        ops.t.p(x, "s")
    assert "t::p.Scalar(Tensor a, Scalar b) -> Tensor" in caught.value.hint
    with pytest.raises(AttributeError, match="no overload 'nope'"):
        _ = ops.t.p.nope
    with pytest.raises(AttributeError, match="no op t::missing"):
        _ = ops.t.missing


def test_names_and_schema(define):
    op = define("t::n.x(Tensor(a) a) -> Tensor(a)")
    assert (op.name, str(op), op.overload, op.is_view) == ("t::n.x", "t.n.x", "x", True)
    assert registry.find("t::n.x") is op and isinstance(op, OpOverload)
    with pytest.raises(RegistrationError, match="no op 't::zzz'"):
        registry.find("t::zzz")


def test_key_sets():
    keys = DispatchKeySet([DispatchKey.CPU, DispatchKey.Python])
    assert list(keys) == [DispatchKey.Python, DispatchKey.CPU] and keys.highest() is DispatchKey.Python
    assert keys.has(DispatchKey.CPU) and DispatchKey.CUDA not in keys
    assert keys | DispatchKeySet(DispatchKey.Meta) == DispatchKeySet([DispatchKey.Meta, *keys])


def test_keyword_arguments_that_are_python_keywords(define):
    op = define("t::kw(Tensor a, int lambda=2) -> Tensor", CPU=lambda a, lambda_: lambda_)
    assert op(tensor(1)) == 2 and op(tensor(1), 5) == 5


def test_lists_accept_one_number_where_sized(define):
    op = define("t::l(Tensor a, int[2] k, int[] d=[], float[]? f=None) -> Tensor", CPU=lambda a, k, d, f: (k, d, f))
    assert op(tensor(1), 3) == ([3, 3], [], None)
    assert op(tensor(1), (1, 2), [np.int32(4)], [1, 2.5]) == ([1, 2], [4], [1.0, 2.5])
    with pytest.raises(ArgumentError, match="'d' must be int"):
        op(tensor(1), 3, 5)


def test_names_copy_and_pickle_as_themselves():
    for thing in (ops, ops.aten, ops.aten.add, ops.aten.add.Tensor):
        assert copy.deepcopy(thing) is thing and pickle.loads(pickle.dumps(thing)) is thing


def test_every_declared_schema_parses_and_prints_as_written():
    for op in registry.operators.values():
        assert op._schema.full_name == op.name
        if op.decl is not None and isinstance(op.schema_source, str):
            assert parse_schema(str(op._schema)) == op._schema

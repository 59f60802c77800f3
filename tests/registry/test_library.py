"""`Library` and the functions of `opweave.library`: what is registered, which kernel runs, and what is taken back."""

import gc
import itertools
import threading

import numpy as np
import pytest

import opweave
from opweave import Tensor
from opweave.library import Library, define, fallthrough_kernel, get_kernel, impl
from opweave.registry import library
from opweave.registry.custom_op import definitions
from opweave.registry.errors import ArgumentError, DispatchError, OpweaveError, RegistrationError, SchemaError
from opweave.registry.keys import (
    DispatchKey,
    DispatchKeySet,
    DispatchMode,
    after_autograd_keyset,
    exclude_keys,
    include_keys,
)
from opweave.registry.op import ops, registry

_serial = itertools.count()


def tensor(*values):
    return opweave.tensor([float(v) for v in values])


X = tensor(1, 2)


@pytest.fixture
def ns():
    """A namespace of a test's own; nothing is left of it afterwards."""
    name = f"test_library_{next(_serial)}"
    libraries = len(library._forever)
    gc.freeze()  # what is there already takes longest to look through, from here on
    yield name
    del library._forever[libraries:]
    gc.collect()
    for qualified in [q for q in registry.operators if q.startswith(f"{name}::")]:
        definitions.pop(qualified, None)
        registry.remove(registry.operators[qualified])


def returns(value):
    """A kernel that can be told by what it gives."""
    return lambda x, *rest: tensor(value)


def value(t):
    return t.tolist()[0]


def snapshot():
    """Everything that the registry knows."""
    return (
        {name: id(op) for name, op in registry.operators.items()},
        {name: dict(op.kernels) for name, op in registry.operators.items() if op.decl is None},
        {name: (op.fake, op.derivative, op.batch_rule, op.dispatch_rules, op.autocast_rules, op.disabled)
         for name, op in registry.operators.items() if op.decl is None},
        {name: list(packet._overloads) for name, packet in registry.packets.items()},
        dict(registry.fallbacks), set(definitions), registry.redefining, list(registry.implementations.waiting),
    )  # fmt: skip


# ---- kinds and lifetime --------------------------------------------------------------------------------------------


def test_a_library_defines_and_implements_and_takes_all_of_it_back(ns):
    lib = Library(ns, "DEF")
    assert lib.define("f(Tensor x) -> Tensor") == "f"
    assert lib.define("f.twice(Tensor x, int n) -> Tensor") == "f"  # as PyTorch says it
    lib.impl("f", lambda x: x + 1, "CPU")
    lib.impl("f.twice", lambda x, n: x * n, "CPU")
    space = getattr(ops, ns)
    assert space.f(X).tolist() == [2, 3] and space.f(X, 5).tolist() == [5, 10]
    assert sorted(space.f.overloads()) == ["default", "twice"]
    op = space.f.default
    del lib, space
    gc.collect()
    assert f"{ns}::f" not in registry.operators and f"{ns}::f" not in registry.packets
    assert not hasattr(getattr(ops, ns), "f")
    assert registry.operators.get(op.name) is None
    lib = Library(ns, "DEF")  # the namespace is free again
    lib.define("f(Tensor x) -> Tensor[]")
    assert str(getattr(ops, ns).f.default._schema) == f"{ns}::f(Tensor x) -> Tensor[]"


def test_fragments_and_implementations_of_others(ns):
    owner, more, kernels = Library(ns, "DEF"), Library(ns, "FRAGMENT"), Library(ns, "IMPL", "CPU")
    owner.define("f(Tensor x) -> Tensor")
    more.define("g(Tensor x) -> Tensor")
    kernels.impl("f", returns(1))
    kernels.impl(f"{ns}::g", returns(2))
    space = getattr(ops, ns)
    assert (value(space.f(X)), value(space.g(X))) == (1, 2)
    del kernels
    gc.collect()
    for op in (space.f, space.g):
        with pytest.raises(DispatchError, match="no kernel for CPU"):
            op(X)
    del more
    gc.collect()
    assert hasattr(space, "f") and not hasattr(space, "g")


def test_an_overload_goes_and_the_others_stay(ns):
    one, two = Library(ns, "DEF"), Library(ns, "FRAGMENT")
    one.define("f(Tensor x) -> Tensor")
    two.define("f.n(Tensor x, int n) -> Tensor")
    one.impl("f", returns(1), "CPU")
    two.impl("f.n", returns(2), "CPU")
    packet = getattr(ops, ns).f
    assert value(packet(X, 3)) == 2
    del two
    gc.collect()
    assert packet.overloads() == ["default"] and value(packet(X)) == 1
    with pytest.raises(TypeError):
        packet(X, 3)


def test_two_libraries_cannot_define_one_namespace(ns):
    first = Library(ns, "DEF")
    with pytest.raises(RegistrationError, match="has a library that defines it") as caught:
        Library(ns, "DEF")
    assert "test_library.py" in caught.value.got and caught.value.at.file == __file__
    del first
    gc.collect()
    Library(ns, "DEF")


def test_earlier_kernels_come_back_in_any_order(ns):
    owner = Library(ns, "DEF")
    owner.define("f(Tensor x) -> Tensor")
    owner.impl("f", returns(1), "CPU")
    f = getattr(ops, ns).f
    a, b = Library(ns, "IMPL"), Library(ns, "IMPL")
    a.impl("f", returns(2), "CPU", allow_override=True)
    assert value(f(X)) == 2
    b.impl("f", returns(3), "CPU", allow_override=True)
    assert value(f(X)) == 3
    del a  # from the middle: the one in use stays
    gc.collect()
    assert value(f(X)) == 3
    del b
    gc.collect()
    assert value(f(X)) == 1


def test_every_kind_of_registration_is_taken_back(ns):
    owner = Library(ns, "DEF")
    owner.define("f(Tensor x) -> Tensor")
    owner.impl("f", returns(1), "CPU")
    op = getattr(ops, ns).f.default
    kernels = dict(op.kernels)
    lib = Library(ns, "IMPL")

    class Mode(DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            return func(*args, **(kwargs or {}))

    opweave.library.register_fake(op, lambda x: opweave.empty_like(x), lib=lib)
    opweave.library.register_kernel(op, "cpu", returns(2), lib=lib)
    opweave.library.register_autograd(op, lambda ctx, grad: grad, lib=lib)
    opweave.library.register_vmap(op, lambda info, dims, x: (x, dims[0]), lib=lib)
    opweave.library.register_autocast(op, "cpu", opweave.bfloat16, lib=lib)
    opweave.library.register_torch_dispatch(op, Mode, lambda mode, func, types, args, kwargs: tensor(9), lib=lib)
    assert value(op(X)) == 2 and op.fake and op.derivative and op.batch_rule and op.autocast_rules and op.dispatch_rules
    with Mode():
        assert value(op(X)) == 9
    del lib
    gc.collect()
    assert (op.fake, op.derivative, op.batch_rule, op.autocast_rules, op.dispatch_rules) == (None, None, None, {}, {})
    assert op.kernels == kernels and value(op(X)) == 1
    with Mode():
        assert value(op(X)) == 1


def test_without_a_library_a_registration_is_for_good(ns):
    define(f"{ns}::f", "(Tensor x) -> Tensor")
    impl(f"{ns}::f", "cpu", returns(1))
    gc.collect()
    assert value(getattr(ops, ns).f(X)) == 1


def test_a_library_that_other_threads_use(ns):
    owner = Library(ns, "DEF")
    owner.define("f(Tensor x) -> Tensor")
    owner.impl("f", returns(1), "CPU")
    f, seen, stop = getattr(ops, ns).f, set(), threading.Event()

    def call():
        while not stop.is_set():
            seen.add(value(f(X)))

    threads = [threading.Thread(target=call) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(50):
        lib = Library(ns, "IMPL")
        lib.impl("f", returns(2), "CPU", allow_override=True)
        del lib
        gc.collect(0)
    stop.set()
    for thread in threads:
        thread.join()
    assert seen <= {1, 2} and value(f(X)) == 1


def test_what_a_library_shows():
    assert repr(Library("aten", "IMPL")) == "Library(kind='IMPL', ns='aten')"
    assert repr(Library("aten", "IMPL", "CPU")) == "Library(kind='IMPL', ns='aten', dispatch_key='CPU')"


# ---- define and impl, in every form --------------------------------------------------------------------------------

DEFINES = {
    "by name": lambda ns, lib: define(f"{ns}::f", "(Tensor x) -> Tensor"),
    "by name, owned": lambda ns, lib: define(f"{ns}::f", "(Tensor x) -> Tensor", lib=lib),
    "a method": lambda ns, lib: lib.define("f(Tensor x) -> Tensor"),
    "a method with the namespace": lambda ns, lib: lib.define(f"{ns}::f(Tensor x) -> Tensor"),
    "conservative": lambda ns, lib: lib.define("f(Tensor x) -> Tensor", "CONSERVATIVE"),
    "the earlier form": lambda ns, lib: define(lib, "f(Tensor x) -> Tensor"),
}
IMPLS = {
    "decorator": lambda ns, lib, fn: impl(f"{ns}::f", "cpu")(fn),
    "function": lambda ns, lib, fn: impl(f"{ns}::f", "cpu", fn),
    "owned decorator": lambda ns, lib, fn: impl(f"{ns}::f", "cpu", lib=lib)(fn),
    "owned function": lambda ns, lib, fn: impl(f"{ns}::f", "cpu", fn, lib=lib),
    "several devices": lambda ns, lib, fn: impl(f"{ns}::f", ("cpu", "cuda"))(fn),
    "a list of devices": lambda ns, lib, fn: impl(f"{ns}::f", ["cuda", "cpu"], fn),
    "a key": lambda ns, lib, fn: impl(f"{ns}::f", "CPU", fn),
    "default": lambda ns, lib, fn: impl(f"{ns}::f", "default", fn),
    "with the overload": lambda ns, lib, fn: impl(f"{ns}::f.default", "cpu", fn),
    "the op": lambda ns, lib, fn: impl(getattr(ops, ns).f.default, "cpu", fn),
    "a method": lambda ns, lib, fn: lib.impl("f", fn, "CPU"),
    "a method without a key": lambda ns, lib, fn: lib.impl("f", fn),
    "a method of the op": lambda ns, lib, fn: lib.impl(getattr(ops, ns).f.default, fn, "CPU"),
    "the earlier form": lambda ns, lib, fn: impl(lib, "f", "CPU")(fn),
    "the earlier form without a key": lambda ns, lib, fn: impl(lib, "f")(fn),
    "register_kernel": lambda ns, lib, fn: opweave.library.register_kernel(f"{ns}::f", "cpu", fn),
    "register_kernel for all": lambda ns, lib, fn: opweave.library.register_kernel(f"{ns}::f", None)(fn),
}


@pytest.mark.parametrize("implement", IMPLS.values(), ids=IMPLS)
@pytest.mark.parametrize("declare", DEFINES.values(), ids=DEFINES)
def test_forms(ns, declare, implement):
    lib = Library(ns, "FRAGMENT")
    declare(ns, lib)

    def kernel(x):
        return x * 3

    assert implement(ns, lib, kernel) in (None, kernel)
    assert getattr(ops, ns).f(X).tolist() == [3, 6]
    assert get_kernel(f"{ns}::f", "CPU")(X).tolist() == [3, 6]


def test_the_earlier_define_is_a_decorator(ns):
    lib = Library(ns, "DEF")

    @define(lib, "f(Tensor x) -> Tensor")
    def f(x):
        return x + 1

    assert f(X).tolist() == getattr(ops, ns).f(X).tolist() == [2, 3]
    assert getattr(ops, ns).f.default.has_composite_implicit


def test_decorators_inside_the_decorator(ns):
    def plus_one(fn):
        return lambda *args, **kwargs: fn(*args, **kwargs) + 1

    define(f"{ns}::f", "(Tensor x) -> Tensor")

    @impl(f"{ns}::f", ("cpu", "cuda"))
    @plus_one
    @plus_one
    def f(x):
        return x * 10

    assert getattr(ops, ns).f(X).tolist() == f(X).tolist() == [12, 22]


def test_one_function_for_several_keys_is_one_kernel_each(ns, device):
    define(f"{ns}::f", "(Tensor x) -> Tensor")
    impl(f"{ns}::f", ["cpu", "cuda"], lambda x: x + 1)
    assert getattr(ops, ns).f(X.to(device)).tolist() == [2, 3]
    assert set(registry.find(f"{ns}::f").kernels) == {DispatchKey.CPU, DispatchKey.CUDA}


def test_kernels_by_device(ns, device):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1, "CPU")
    lib.impl("f", lambda x: x + 2, "CUDA")
    assert getattr(ops, ns).f(X.to(device)).tolist() == ([2, 3] if device == "cpu" else [3, 4])


# ---- which kernel runs ---------------------------------------------------------------------------------------------

CHOICE = ["CPU", "CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd", "CompositeImplicitAutograd"]


@pytest.mark.parametrize("present", [c for n in (1, 2, 3, 4) for c in itertools.combinations(range(4), n)])
@pytest.mark.parametrize("order", [1, -1])
def test_backend_before_explicit_before_implicit(ns, present, order):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    for at in present[::order]:
        lib.impl("f", returns(at), CHOICE[at])
    expected = min(present)
    if 3 in present and not {0, 2} & set(present):
        expected = 3  # at the autograd keys, where a kernel for functional use does not count as one of a backend
    assert value(getattr(ops, ns).f(X)) == expected


AUTOGRAD = ["AutogradCPU", "CompositeImplicitAutograd", "Autograd"]


@pytest.mark.parametrize("present", [c for n in (1, 2, 3) for c in itertools.combinations(range(3), n)])
def test_autograd_keys_before_the_composite_before_the_alias(ns, present):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    for at in present:
        lib.impl("f", returns(at), AUTOGRAD[at])
    for x in (X, X.clone().requires_grad_()):  # autograd keys are of every tensor, whether it needs a gradient or not
        assert value(getattr(ops, ns).f(x)) == min(present)


def test_an_autograd_kernel_runs_before_the_backend_and_a_composite_gives_way_to_both(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", returns(1), "CPU")
    lib.impl("f", returns(2), "CompositeImplicitAutograd")
    f = getattr(ops, ns).f
    assert value(f(X)) == 1
    lib.impl("f", returns(3), "Autograd")
    assert value(f(X)) == 3
    lib.impl("f", returns(4), "AutogradCUDA")
    assert value(f(X)) == 3
    lib.impl("f", returns(5), "AutogradCPU")
    assert value(f(X)) == 5
    with exclude_keys(DispatchKey.AutogradCPU):
        assert value(f(X)) == 1


@pytest.mark.parametrize("key", ["ADInplaceOrView", "Python", "FuncTorchBatched", "AutocastCPU", "BackendSelect"])
def test_a_key_runs_its_kernel_where_it_is_included(ns, key):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", returns(1), "CPU")
    lib.impl("f", returns(2), key)
    f = getattr(ops, ns).f
    assert value(f(X)) == (2 if key == "ADInplaceOrView" else 1)  # every tensor has that key
    with include_keys(DispatchKey[key]):
        assert value(f(X)) == 2
        with exclude_keys(DispatchKey[key]):
            assert value(f(X)) == 1


def test_the_order_of_keys(ns):
    order = ["AutocastCPU", "AutogradCPU", "ADInplaceOrView", "FuncTorchBatched", "Python", "BackendSelect", "CPU"]
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    seen = []

    def handing_on(name):
        def kernel(keys, x):
            seen.append(name)
            rest = keys.below(DispatchKey[name])
            return tensor(2, 3) if name == "CPU" else registry.find(f"{ns}::f").redispatch(rest, x)

        return kernel

    for name in order[::-1]:
        lib.impl("f", handing_on(name), name, with_keyset=True)
    with include_keys(*(DispatchKey[name] for name in order)):
        assert getattr(ops, ns).f(X).tolist() == [2, 3]
    assert seen == order


def test_a_meta_kernel_is_the_rule_for_tensors_without_data(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x.new_empty(7), "Meta")
    lib.impl("f", returns(1), "CPU")
    f = getattr(ops, ns).f
    assert f(opweave.empty(3, device="meta")).shape == (7,) and value(f(X)) == 1
    with opweave.FakeTensorMode() as mode:
        assert f(mode.from_tensor(X)).shape == (7,)
    with pytest.raises(RegistrationError, match="already has a rule"):
        lib.impl("f", lambda x: x.new_empty(8), "Meta")
    lib.impl("f", lambda x: x.new_empty(8), "Meta", allow_override=True)
    assert f(opweave.empty(3, device="meta")).shape == (8,)


def test_a_meta_kernel_of_a_composite_op_is_refused(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda x: x + 1)
    with pytest.raises(RegistrationError, match="written with other ops"):
        lib.impl("f", lambda x: x, "Meta")


def test_a_backend_select_kernel_chooses_for_a_factory(ns):
    lib = Library(ns, "DEF")
    lib.define("make(int n, Device? device=None) -> Tensor")
    lib.impl("make", lambda n, device=None: opweave.full((n,), 1.0), "CPU")
    make = getattr(ops, ns).make
    assert make(2).tolist() == [1, 1]
    with include_keys(DispatchKey.BackendSelect):
        lib.impl("make", lambda n, device=None: opweave.full((n,), 5.0), "BackendSelect")
        assert make(2).tolist() == [5, 5]


def test_a_composite_is_seen_through_by_modes_and_gradients(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x, Tensor y) -> Tensor")
    lib.impl("f", lambda x, y: x @ y)
    seen = []

    class Log(DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            seen.append(str(func))
            return func(*args, **(kwargs or {}))

    a, b = opweave.tensor([[1.0, 2.0]]), opweave.tensor([[3.0], [4.0]])
    with Log():
        assert getattr(ops, ns).f(a, b).tolist() == [[11]]
    assert "aten.mm.default" in seen and f"{ns}.f.default" not in seen
    a.requires_grad_()
    getattr(ops, ns).f(a, b).backward(opweave.ones(1, 1))
    assert a.grad.tolist() == [[3, 4]]


# ---- redispatch, guards, fallthrough, fallbacks --------------------------------------------------------------------


def test_redispatch_below_autograd(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x, float s=2.) -> Tensor")
    keys_seen = []

    def at_autograd(keys, x, s=2.0):
        keys_seen.append(keys)
        return getattr(ops, ns).f.default.redispatch(keys & after_autograd_keyset, x, s) + 100

    lib.impl("f", at_autograd, "AutogradCPU", with_keyset=True)
    lib.impl("f", lambda x, s=2.0: x * s, "CPU")
    assert getattr(ops, ns).f(X, 3).tolist() == [103, 106] and getattr(ops, ns).f(X).tolist() == [102, 104]
    assert all(isinstance(keys, DispatchKeySet) and DispatchKey.CPU in keys for keys in keys_seen)
    assert all(keys.highest() is DispatchKey.AutogradCPU for keys in keys_seen)


def test_the_key_set_says_what_the_tensors_are(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    seen = []
    lib.impl("f", lambda keys, x: seen.append(keys) or x.clone(), "CPU", with_keyset=True)
    getattr(ops, ns).f(X)
    assert DispatchKey.CPU in seen[0] and DispatchKey.AutogradCPU in seen[0] and DispatchKey.CUDA not in seen[0]


def test_exclude_and_include_are_of_the_thread_and_end_with_the_block(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", returns(1), "CPU")
    lib.impl("f", returns(2), "AutogradCPU")
    f = getattr(ops, ns).f
    elsewhere = []
    with exclude_keys(DispatchKeySet([DispatchKey.AutogradCPU])):
        assert value(f(X)) == 1
        thread = threading.Thread(target=lambda: elsewhere.append(value(f(X))))
        thread.start()
        thread.join()
    with pytest.raises(KeyError), exclude_keys(DispatchKey.AutogradCPU):
        raise KeyError
    assert elsewhere == [2] and value(f(X)) == 2

    @exclude_keys(DispatchKey.AutogradCPU)
    def decorated():
        return value(f(X))

    assert decorated() == 1


def test_fallthrough(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", returns(1), "CPU")
    lib.impl("f", returns(2), "Autograd")
    f = getattr(ops, ns).f
    assert value(f(X)) == 2
    lib.impl("f", fallthrough_kernel, "AutogradCPU")
    assert value(f(X)) == 1
    with pytest.raises(NotImplementedError):
        fallthrough_kernel()


def test_fallthrough_takes_a_fallback_or_an_alias_out(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", returns(1), "CPU")
    every = Library("_", "IMPL", "AutocastCPU")
    every.fallback(lambda op, *args, **kwargs: tensor(7))
    f = getattr(ops, ns).f
    with include_keys(DispatchKey.AutocastCPU):
        assert value(f(X)) == 7
        lib.impl("f", fallthrough_kernel, "AutocastCPU")
        assert value(f(X)) == 1
    del every
    gc.collect()


def test_fallback_of_a_key(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x, int n=1) -> Tensor")
    lib.impl("f", lambda x, n=1: opweave.from_numpy(x.numpy() + n), "CPU")
    every, seen = Library("_", "IMPL"), []
    f = getattr(ops, ns).f

    def fallback(keys, op, *args, **kwargs):
        seen.append((str(op), keys.highest(), args[1:], kwargs))
        return op.redispatch(keys.below(DispatchKey.Functionalize), *args, **kwargs)

    every.fallback(fallback, "Functionalize", with_keyset=True)
    with include_keys(DispatchKey.Functionalize):
        lib.impl("f", fallthrough_kernel, "Functionalize")
        assert f(X, 2).tolist() == [3, 4] and not seen
        lib.define("g(Tensor x, int n=1) -> Tensor")
        lib.impl("g", lambda x, n=1: opweave.from_numpy(x.numpy() + n), "CPU")
        assert getattr(ops, ns).g(X, 2).tolist() == [3, 4]
        assert seen == [(f"{ns}.g.default", DispatchKey.AutogradCPU, (2,), {})]
    with pytest.raises(RegistrationError, match="already has a fallback"):
        Library("_", "IMPL").fallback(fallback, "Functionalize")
    assert DispatchKey.Functionalize in registry.fallbacks
    del every
    gc.collect()
    assert DispatchKey.Functionalize not in registry.fallbacks


def test_a_fallback_gets_the_op_and_holds_for_ops_defined_later(ns):
    every = Library("_", "IMPL", "AutocastCPU")
    seen = []

    def fallback(op, *args, **kwargs):
        seen.append((str(op), args, kwargs))
        with exclude_keys(DispatchKey.AutocastCPU):
            return op(*args, **kwargs)

    every.fallback(fallback)
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x, *, int n=1) -> Tensor")
    lib.impl("f", lambda x, n=1: x + n, "CPU")
    with include_keys(DispatchKey.AutocastCPU):
        assert getattr(ops, ns).f(X, n=4).tolist() == [5, 6]
    assert seen == [(f"{ns}.f.default", (X,), {"n": 4})]
    lib.impl("f", lambda x, n=1: tensor(3), "AutocastCPU")  # a kernel of its own comes first
    with include_keys(DispatchKey.AutocastCPU):
        assert value(getattr(ops, ns).f(X)) == 3
    assert len(seen) == 1
    del every
    gc.collect()


# ---- get_kernel ----------------------------------------------------------------------------------------------------


def test_get_kernel_keeps_what_was_there(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x, int n=2, *, int m=0) -> Tensor")
    lib.impl("f", lambda x, n=2, *, m=0: x * n + m, "CPU")
    before = get_kernel(f"{ns}::f", "CPU")
    lib.impl("f", lambda x, n=2, *, m=0: -before.call_boxed(DispatchKeySet(DispatchKey.CPU), x, n, m=m), "CPU",
             allow_override=True)  # fmt: skip
    f = getattr(ops, ns).f
    assert f(X, m=1).tolist() == [-3, -5]
    keys = DispatchKeySet([DispatchKey.CPU])
    assert before.call_boxed(keys, X).tolist() == before(X).tolist() == [2, 4]
    assert before.call_boxed(keys, X, n=5, m=1).tolist() == [6, 11]
    for target in (f.default, f, f"{ns}::f.default"):
        assert get_kernel(target, DispatchKey.CPU)(X).tolist() == [-2, -4]


def test_get_kernel_hands_a_key_set_on(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", lambda keys, x: opweave.tensor([float(len(list(keys)))]), "CPU", with_keyset=True)
    keys = DispatchKeySet([DispatchKey.CPU, DispatchKey.AutogradCPU])
    assert get_kernel(f"{ns}::f", "CPU").call_boxed(keys, X).tolist() == [2]


def test_get_kernel_of_a_built_in_op_and_of_none(ns):
    kernel = get_kernel("aten::add.Tensor", "CPU")
    assert kernel.call_boxed(DispatchKeySet(DispatchKey.CPU), X, X, alpha=2).tolist() == [3, 6]
    define(f"{ns}::f", "(Tensor x) -> Tensor")
    with pytest.raises(DispatchError, match="no kernel at CPU"):
        get_kernel(f"{ns}::f", "CPU")
    with pytest.raises(ArgumentError, match="no dispatch key 'Nope'"):
        get_kernel("aten::add.Tensor", "Nope")
    with pytest.raises(RegistrationError, match="name one of the overloads"):
        get_kernel(ops.aten.add, "CPU")


# ---- built-in ops --------------------------------------------------------------------------------------------------


def test_a_kernel_of_a_built_in_op(ns):
    lib = Library("aten", "IMPL")
    expected = X.sin().tolist()
    compiled = opweave.compile(lambda x: opweave.sin(x) * 2)
    before = compiled(X).tolist()
    opweave.library.register_kernel("aten::sin", "cpu", lambda self: self + 10, lib=lib)
    assert X.sin().tolist() == opweave.sin(X).tolist() == [11, 12]
    assert compiled(X).tolist() == [22, 24]  # compiled code calls it, too
    del lib
    gc.collect()
    assert X.sin().tolist() == expected and compiled(X).tolist() == before


def test_a_fake_rule_of_a_built_in_op_is_replaced_on_purpose_only():
    lib = Library("aten", "IMPL")
    with pytest.raises(RegistrationError, match="already has a fake rule"):
        opweave.library.register_fake("aten::sin", lambda self: self.new_empty(9), lib=lib)
    opweave.library.register_fake("aten::sin", lambda self: self.new_empty(9), lib=lib, allow_override=True)
    with opweave.FakeTensorMode() as mode:
        assert opweave.sin(mode.from_tensor(X)).shape == (9,)
    del lib
    gc.collect()
    with opweave.FakeTensorMode() as mode:
        assert opweave.sin(mode.from_tensor(X)).shape == (2,)


def test_fragments_of_built_in_namespaces(ns):
    lib = Library("aten", "FRAGMENT")
    lib.define(f"{ns}(Tensor x) -> Tensor")
    lib.impl(ns, returns(4), "CPU")
    assert value(getattr(ops.aten, ns)(X)) == 4
    with pytest.raises(RegistrationError, match="'aten' is built in"):
        Library("aten", "DEF")
    del lib
    gc.collect()
    assert not hasattr(ops.aten, ns)


# ---- set_kernel_enabled --------------------------------------------------------------------------------------------


def switched(ns):
    @opweave.library.custom_op(f"{ns}::f", mutates_args=())
    def f(x: Tensor) -> Tensor:
        return tensor(1)

    return f


def test_a_kernel_switched_off_and_on(ns):
    f = switched(ns)
    f.register_kernel("cpu", lambda x: tensor(2))
    assert value(f(X)) == 2
    f.set_kernel_enabled("cpu", enabled=False)
    assert value(f(X)) == 1
    f.set_kernel_enabled("cpu", enabled=False)  # once is enough
    with f.set_kernel_enabled("cpu", enabled=True):
        assert value(f(X)) == 2
    assert value(f(X)) == 1
    f.set_kernel_enabled("cpu")
    assert value(f(X)) == 2
    with pytest.raises(KeyError), f.set_kernel_enabled("cpu", False):
        raise KeyError
    assert value(f(X)) == 2


def test_a_kernel_registered_while_switched_off_stays_off(ns):
    f = switched(ns)
    with f.set_kernel_enabled("cpu", enabled=False):
        f.register_kernel("cpu", lambda x: tensor(2))
        assert value(f(X)) == 1
    assert value(f(X)) == 2


def test_without_its_only_kernel_an_op_is_the_function_that_it_was_made_of(ns):
    f = opweave.library.custom_op(
        f"{ns}::f", lambda x: tensor(1), mutates_args=(), schema="(Tensor x) -> Tensor", device_types="cpu"
    )
    with f.set_kernel_enabled("cpu", enabled=False):
        assert value(f(X)) == 1
        f.register_kernel("cpu", lambda x: tensor(2))
        assert value(f(X)) == 1
    assert value(f(X)) == 2


def test_a_batching_rule_takes_defaults_or_does_without(ns):
    seen = []

    def whole(info, in_dims, x, n, y, *, k):
        seen.append((in_dims, n, y, k))
        return x * n * k, in_dims[0]

    def short(info, in_dims, x):
        seen.append(in_dims)
        return x * 2, in_dims[0]

    for rule, expected in ((whole, ((0, None, None), 2, None, 1.0)), (short, (0,))):
        f = opweave.library.custom_op(
            f"{ns}::f", lambda x, n=2, y=None, *, k=1.0: x * n * k, mutates_args=(),
            schema="(Tensor x, int n=2, Tensor? y=None, *, float k=1.0) -> Tensor",
        )  # fmt: skip
        f.register_vmap(rule)
        assert opweave.vmap(f)(opweave.ones(3, 2)).tolist() == [[2, 2]] * 3
        assert seen.pop() == expected
    with pytest.raises(TypeError):
        opweave.vmap(lambda x: f(x, 3))(opweave.ones(3, 2))


def test_compiled_code_sees_the_switch(ns):
    f = switched(ns)
    f.register_fake(lambda x: x.new_empty(1))
    f.register_kernel("cpu", lambda x: tensor(2))
    compiled = opweave.compile(lambda x: f(x) * 10)
    assert value(compiled(X)) == 20
    with f.set_kernel_enabled("cpu", enabled=False):
        assert value(compiled(X)) == 10
    assert value(compiled(X)) == 20


# ---- modes and tensor subclasses -----------------------------------------------------------------------------------


class Logged(Tensor):
    """Wraps a tensor and notes the ops that are called on it."""

    seen: list[str] = []

    @staticmethod
    def __new__(cls, inner, requires_grad=False):
        t = Tensor._make_wrapper_subclass(
            cls, inner.size(), strides=inner.stride(), dtype=inner.dtype, device=inner.device,
            requires_grad=requires_grad,
        )  # fmt: skip
        t.inner = inner
        return t

    def __init__(self, inner, requires_grad=False):
        self.noted = True

    def __repr__(self):
        return f"Logged({self.inner})"

    @classmethod
    def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
        cls.seen.append(str(func))
        assert all(issubclass(kind, Logged) for kind in types)
        plain = [a.inner if isinstance(a, Logged) else a for a in args]
        result = func(*plain, **(kwargs or {}))
        return cls(result) if isinstance(result, Tensor) else result


@pytest.fixture
def seen():
    Logged.seen = []
    return Logged.seen


def test_a_wrapper_subclass_sees_every_op(seen):
    x = Logged(opweave.ones(2, 3))
    y = (x + 1).exp()
    assert type(y) is Logged and y.inner.tolist() == opweave.full((2, 3), 2.0).exp().tolist()
    assert seen == ["aten.add.Tensor", "aten.exp.default"]
    assert x.noted and x.shape == (2, 3) and x.stride() == (3, 1) and x.dtype is opweave.float32
    assert (1 - x).inner.tolist() == [[0, 0, 0]] * 2 and type(opweave.ones(2, 3) + x) is Logged
    with pytest.raises(RuntimeError, match="no data"):
        x.numpy()


def test_gradients_of_a_wrapper_subclass_are_of_its_class(seen):
    x = Logged(opweave.tensor([[1.0, 2.0]]), requires_grad=True)
    assert x.requires_grad and x.is_leaf
    y = x @ Logged(opweave.tensor([[3.0], [4.0]]))
    assert type(y) is Logged and y.requires_grad and not y.inner.requires_grad
    y.backward(Logged(opweave.ones(1, 1)))
    assert type(x.grad) is Logged and x.grad.inner.tolist() == [[3, 4]]


def test_a_subclass_over_memory(seen):
    class Kept(Tensor):
        def __new__(cls, data, requires_grad=False):
            return Tensor._make_subclass(cls, data, requires_grad)

    data = opweave.tensor([1.0, 2.0])
    x = Kept(data)
    data += 1
    assert type(x) is Kept and x.tolist() == [2, 3] and not x.requires_grad and (x + 1).tolist() == [3, 4]
    assert Kept(data, True).requires_grad and not data.requires_grad
    x[0] = 9
    assert data.tolist() == [9, 3]

    class Doubling(Kept):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            with exclude_keys(DispatchKey.Python):
                return func(*args, **(kwargs or {})) * 2

    assert (Doubling(data) + 1).tolist() == [20, 8]


def test_a_subclass_without_new_is_made_of_data():
    class Plain(Tensor):
        pass

    x = Plain([1, 2])
    assert type(x) is Plain and x.tolist() == [1, 2] and (x * 2).tolist() == [2, 4]


@pytest.mark.parametrize(
    ("call", "kind"),
    [
        (lambda: Tensor._make_subclass(int, X), ArgumentError),
        (lambda: Tensor._make_subclass(Logged, 3), ArgumentError),
        (lambda: Tensor._make_wrapper_subclass(Tensor, (2,)), ArgumentError),
        (lambda: Tensor._make_wrapper_subclass(int, (2,)), ArgumentError),
        (lambda: Tensor._make_wrapper_subclass(Logged, (-2,)), ValueError),
        (lambda: Tensor._make_wrapper_subclass(Logged, (2, 3), strides=(1,)), ValueError),
        (lambda: Tensor._make_wrapper_subclass(Logged, (2,), dtype="x"), TypeError),
        (lambda: Tensor._make_wrapper_subclass(Logged, (2,), dtype=opweave.int64, requires_grad=True), RuntimeError),
    ],
)
def test_subclasses_that_cannot_be_made(call, kind):
    with pytest.raises(kind) as caught:
        call()
    assert isinstance(caught.value, OpweaveError)


def test_a_wrapper_shows_what_it_is_told():
    t = Tensor._make_wrapper_subclass(
        Logged, (2, 3), strides=(1, 2), storage_offset=4, dtype=opweave.float64, device="meta"
    )
    assert t.stride() == (1, 2) and t.storage_offset() == 4 and t.dtype is opweave.float64 and t.is_meta
    assert Tensor._make_wrapper_subclass(Logged, (2,)).dtype is opweave.get_default_dtype()


def test_a_rule_for_a_subclass(ns, seen):
    f = switched(ns)

    @f.register_torch_dispatch(Logged)
    def rule(cls, func, types, args, kwargs):
        assert cls is Logged and func is f._opoverload and types == (Logged,) and kwargs == {}
        return Logged(args[0].inner * 7)

    assert f(Logged(X)).inner.tolist() == [7, 14] and not seen and value(f(X)) == 1
    f.register_torch_dispatch(Logged, lambda cls, func, types, args, kwargs: 5)  # the latest of a custom op holds
    assert f(Logged(X)) == 5
    lib = Library(ns, "FRAGMENT")
    lib.define("g(Tensor x) -> Tensor")
    opweave.library.register_torch_dispatch(f"{ns}::g", Logged, rule, lib=lib)
    with pytest.raises(RegistrationError, match="Logged already has a rule"):
        opweave.library.register_torch_dispatch(f"{ns}::g", Logged, rule)


def test_a_rule_for_a_mode_and_modes_inside_of_it(ns):
    f = switched(ns)

    class Mode(DispatchMode):
        def __init__(self, name):
            self.name = name

        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((self.name, str(func)))
            return func(*args, **(kwargs or {}))

    order = []

    @opweave.library.register_torch_dispatch(f, Mode)
    def _(mode, func, types, args, kwargs):
        order.append((mode.name, "rule"))
        return func(*args, **kwargs) + 5

    with Mode("outer"), Mode("inner"):
        assert value(f(X)) == 11
    assert order == [("inner", "rule"), ("outer", "rule"), ("outer", "aten.add.Tensor")]
    assert value(f(X)) == 1


@pytest.mark.parametrize("kind", [int, Tensor, 3, None, opweave.ones(1), type("Plain", (Tensor,), {})])
def test_rules_are_for_modes_and_subclasses(ns, kind):
    with pytest.raises(ArgumentError, match="tensor subclass with __torch_dispatch__ or a dispatch mode"):
        switched(ns).register_torch_dispatch(kind, lambda *args: None)


def test_modes_come_before_subclasses(seen):
    order = []

    class Mode(DispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            order.append((str(func), types))
            return func(*args, **(kwargs or {}))

    with Mode():
        Logged(X) + 1
    assert order[0] == ("aten.add.Tensor", (Logged,)) and seen == ["aten.add.Tensor"]


def test_a_subclass_can_decline(seen):
    class Shy(Logged):
        @classmethod
        def __torch_dispatch__(cls, func, types, args=(), kwargs=None):
            return NotImplemented

    with pytest.raises((TypeError, NotImplementedError), match="no __torch_dispatch__ handled"):
        Shy(X) + 1


# ---- tags ----------------------------------------------------------------------------------------------------------


def test_tags(ns):
    Tag = opweave.library.Tag
    lib = Library(ns, "DEF")
    lib.define("one(Tensor x) -> Tensor", tags=Tag.pointwise)
    lib.define("two(Tensor x) -> Tensor", tags=(Tag.pt2_compliant_tag, Tag.nondeterministic_seeded))
    lib.define("none(Tensor x) -> Tensor")
    define(f"{ns}::text", "(Tensor x) -> Tensor", tags="core")
    op = opweave.library.custom_op(
        f"{ns}::op", lambda x: x.clone(), mutates_args=(), schema="(Tensor x) -> Tensor", tags=[Tag.needs_exact_strides]
    )
    space = getattr(ops, ns)
    assert space.one.default.tags == [Tag.pointwise] and Tag.core in space.text.default.tags
    assert set(space.two.default.tags) == {Tag.pt2_compliant_tag, Tag.nondeterministic_seeded}
    assert Tag.needs_exact_strides in op._opoverload.tags and not space.none.default.tags
    for bad in ("nope", 3, ["core", "nope"]):
        with pytest.raises(ArgumentError):
            lib.define("bad(Tensor x) -> Tensor", tags=bad)
    assert not hasattr(space, "bad")


# ---- redefinition --------------------------------------------------------------------------------------------------


def test_redefinition_is_refused_and_names_both_places(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", returns(1), "CPU")
    for again, first in (
        (lambda: lib.define("f(Tensor x) -> Tensor"), "already defined"),
        (lambda: define(f"{ns}::f", "(Tensor x, int n) -> Tensor"), "already defined"),
        (lambda: lib.impl("f", returns(2), "CPU"), "CPU already has a kernel"),
        (lambda: impl(f"{ns}::f", "cpu", returns(2)), "CPU already has a kernel"),
    ):
        with pytest.raises(RegistrationError, match=first) as caught:
            again()
        assert "test_library.py:" in caught.value.got and caught.value.at.file == __file__
    assert value(getattr(ops, ns).f(X)) == 1


def test_allow_redefinition(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.impl("f", returns(1), "CPU")
    f, overload = getattr(ops, ns).f, getattr(ops, ns).f.default
    compiled = opweave.compile(lambda x: getattr(ops, ns).f(x) * 10)
    opweave.library.register_fake(f"{ns}::f", lambda x: x.new_empty(1), lib=lib)
    assert value(compiled(X)) == 10
    with opweave.library.allow_redefinition():
        lib.impl("f", returns(2), "CPU")
    assert value(f(X)) == 2 and value(compiled(X)) == 20
    with opweave.library.allow_redefinition():
        again = Library(ns, "DEF")
        again.define("f(Tensor x, int n=3) -> Tensor")
        again.impl("f", lambda x, n=3: tensor(n), "CPU")
        opweave.library.register_fake(f"{ns}::f", lambda x, n=3: x.new_empty(1), lib=again)
    assert value(f(X)) == value(overload(X)) == 3 and value(f(X, 4)) == 4
    assert value(compiled(X)) == 30
    with pytest.raises(RegistrationError), opweave.library.allow_redefinition():
        raise RegistrationError("inside")
    with pytest.raises(RegistrationError, match="already"):
        lib.impl("f", returns(5), "CPU")


def test_a_definition_imported_elsewhere_sees_the_new_one(ns):
    def declare(by):
        @opweave.library.custom_op(f"{ns}::f", mutates_args=())
        def f(x: Tensor) -> Tensor:
            return x + by

        f.register_fake(lambda x: opweave.empty_like(x))
        return f

    imported = declare(1)
    overload, packet = imported._opoverload, getattr(ops, ns).f
    compiled = opweave.compile(lambda x: imported(x) * 10)
    assert value(compiled(X)) == 20
    latest = declare(2)
    for each in (imported, latest, overload, packet, getattr(ops, ns).f.default):
        assert each(X).tolist() == [3, 4]
    assert value(compiled(X)) == 30


# ---- what fails changes nothing ------------------------------------------------------------------------------------


class NoMode(DispatchMode):
    pass


FAILING = {
    "schema": lambda ns, lib: lib.define("g(Tensr x) -> Tensor"),
    "no return": lambda ns, lib: lib.define("g(Tensor x)"),
    "other namespace": lambda ns, lib: lib.define("other::g(Tensor x) -> Tensor"),
    "twice": lambda ns, lib: lib.define("f(Tensor x) -> Tensor"),
    "alias analysis": lambda ns, lib: lib.define("g(Tensor x) -> Tensor", "PURE_FUNCTION"),
    "no text": lambda ns, lib: lib.define(3),
    "tag": lambda ns, lib: lib.define("g(Tensor x) -> Tensor", tags="nope"),
    "define without namespace": lambda ns, lib: define("g", "(Tensor x) -> Tensor"),
    "define with the name twice": lambda ns, lib: define(f"{ns}::g", "g(Tensor x) -> Tensor"),
    "define in another's library": lambda ns, lib: define("other::g", "(Tensor x) -> Tensor", lib=lib),
    "define owned by none": lambda ns, lib: define(f"{ns}::g", "(Tensor x) -> Tensor", lib=3),
    "define a number": lambda ns, lib: define(3, "(Tensor x) -> Tensor"),
    "impl unknown": lambda ns, lib: lib.impl("g", returns(1), "Meta"),
    "impl elsewhere": lambda ns, lib: lib.impl("aten::sin", returns(1), "CPU"),
    "impl of another's op": lambda ns, lib: lib.impl(ops.aten.sin.default, returns(1), "CPU"),
    "impl key": lambda ns, lib: lib.impl("f", returns(1), "Nope"),
    "impl taken": lambda ns, lib: lib.impl("f", returns(1), "CPU"),
    "impl no function": lambda ns, lib: lib.impl("f", 3, "CUDA"),
    "impl wrong parameters": lambda ns, lib: lib.impl("f", lambda: None, "CUDA"),
    "impl device": lambda ns, lib: impl(f"{ns}::f", "tpu", returns(1)),
    "impl second device": lambda ns, lib: impl(f"{ns}::f", ["cuda", "tpu"], returns(1)),
    "impl second device taken": lambda ns, lib: impl(f"{ns}::f", ["cuda", "cpu"], returns(1)),
    "impl no device": lambda ns, lib: impl(f"{ns}::f", [], returns(1)),
    "impl owned by none": lambda ns, lib: impl(f"{ns}::f", "cuda", returns(1), lib=3),
    "fallback here": lambda ns, lib: lib.fallback(returns(1), "AutocastCPU"),
    "fallback without key": lambda ns, lib: Library("_", "IMPL").fallback(returns(1)),
    "fallback no function": lambda ns, lib: Library("_", "IMPL").fallback(3, "AutocastCPU"),
    "kind": lambda ns, lib: Library(ns, "NOPE"),
    "namespace": lambda ns, lib: Library("a b", "FRAGMENT"),
    "library key": lambda ns, lib: Library(ns, "IMPL", "Nope"),
    "second definer": lambda ns, lib: Library(ns, "DEF"),
    "define through IMPL": lambda ns, lib: Library(ns, "IMPL").define("g(Tensor x) -> Tensor"),
    "kernel device": lambda ns, lib: opweave.library.register_kernel(f"{ns}::f", "tpu", returns(1)),
    "kernel second device": lambda ns, lib: opweave.library.register_kernel(f"{ns}::f", ["cuda", "tpu"], returns(1)),
    "kernel owned by none": lambda ns, lib: opweave.library.register_kernel(f"{ns}::f", "cuda", returns(1), lib=3),
    "fake owned by none": lambda ns, lib: opweave.library.register_fake(f"{ns}::f", returns(1), lib=3),
    "fake wrong parameters": lambda ns, lib: opweave.library.register_fake(f"{ns}::f", lambda: None),
    "backward no function": lambda ns, lib: opweave.library.register_autograd(f"{ns}::f", 3),
    "setup_context": lambda ns, lib: opweave.library.register_autograd(f"{ns}::f", returns(1), setup_context=lambda: 1),
    "backward owned by none": lambda ns, lib: opweave.library.register_autograd(f"{ns}::f", returns(1), lib=3),
    "backward of a write": lambda ns, lib: opweave.library.register_autograd(f"{ns}::w", returns(1)),
    "vmap of a write": lambda ns, lib: opweave.library.register_vmap(f"{ns}::w", returns(1)),
    "vmap no function": lambda ns, lib: opweave.library.register_vmap(f"{ns}::f", 3),
    "autocast device": lambda ns, lib: opweave.library.register_autocast(f"{ns}::f", "meta", opweave.float16),
    "autocast dtype": lambda ns, lib: opweave.library.register_autocast(f"{ns}::f", "cpu", opweave.int64),
    "dispatch class": lambda ns, lib: opweave.library.register_torch_dispatch(f"{ns}::f", int, returns(1)),
    "dispatch no function": lambda ns, lib: opweave.library.register_torch_dispatch(f"{ns}::f", NoMode, 3),
    "dispatch owned by none": lambda ns, lib: opweave.library.register_torch_dispatch(
        f"{ns}::f", NoMode, returns(1), lib=3
    ),
    "custom_op tag": lambda ns, lib: opweave.library.custom_op(
        f"{ns}::g", returns(1), mutates_args=(), schema="(Tensor x) -> Tensor", tags="nope"
    ),
    "custom_op of a defined op": lambda ns, lib: opweave.library.custom_op(
        f"{ns}::f", returns(1), mutates_args=(), schema="(Tensor x) -> Tensor"
    ),
}


@pytest.mark.parametrize("fail", FAILING.values(), ids=FAILING)
def test_a_registration_that_fails_changes_nothing(ns, fail):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    lib.define("w(Tensor(a!) x) -> ()")
    lib.impl("f", returns(1), "CPU")
    getattr(ops, ns).f(X)
    gc.collect()
    before, undo, forever = snapshot(), len(lib._undo), len(library._forever)
    with pytest.raises(OpweaveError) as caught:
        fail(ns, lib)
    assert caught.value.at.file == __file__, caught.value
    del caught
    gc.collect()
    assert snapshot() == before and len(lib._undo) == undo and len(library._forever) == forever
    assert value(getattr(ops, ns).f(X)) == 1


def test_schema_errors_point_into_the_text(ns):
    with pytest.raises(SchemaError) as caught:
        Library(ns, "DEF").define("g(Tensr x) -> Tensor")
    assert "^" in caught.value.got and "Tensr" in caught.value.got


# ---- calls ---------------------------------------------------------------------------------------------------------


def test_a_library_kernel_is_trusted_with_aliases(ns):
    lib = Library(ns, "DEF")
    lib.define("f(Tensor(a) x) -> Tensor(a)")
    lib.impl("f", lambda x: x[1:], "CPU")
    x = tensor(1, 2, 3)
    f = getattr(ops, ns).f
    f(x).numpy()[0] = 9
    assert x.tolist() == [1, 9, 3] and f.default.is_view


def test_a_write_counts_the_version(ns):
    lib = Library(ns, "DEF")
    lib.define("w(Tensor(a!) x, Tensor(b!)[] others) -> ()")

    def w(x, others):
        x.numpy()[...] = 1
        for other in others:
            other.numpy()[...] = 2

    lib.impl("w", w, "CPU")
    x, others = tensor(0), [tensor(0), tensor(0)]
    getattr(ops, ns).w(x, others)
    assert [t._version for t in (x, *others)] == [1, 1, 1]
    assert [t.tolist() for t in (x, *others)] == [[1], [2], [2]]


def test_no_kernel_and_what_to_do(ns):
    define(f"{ns}::f", "(Tensor x) -> Tensor")
    with pytest.raises(DispatchError) as caught:
        getattr(ops, ns).f(X)
    assert "register_kernel" in caught.value.hint and f"{ns}::f" in caught.value.hint
    with pytest.raises(DispatchError, match="meta"):
        getattr(ops, ns).f(opweave.empty(2, device="meta"))


def test_library_ops_are_compiled(ns):
    lib = Library(ns, "DEF")
    lib.define("opaque(Tensor x) -> Tensor")
    lib.impl("opaque", lambda x: opweave.from_numpy(np.sin(x.numpy())), "CPU")
    opweave.library.register_fake(f"{ns}::opaque", lambda x: opweave.empty_like(x), lib=lib)
    lib.define("composite(Tensor x) -> Tensor")
    lib.impl("composite", lambda x: x * 2 + 1)
    space = getattr(ops, ns)
    compiled = opweave.compile(lambda x: space.composite(space.opaque(x)) * 3)
    expected = (np.sin(X.numpy()) * 2 + 1) * 3
    np.testing.assert_allclose(compiled(X).numpy(), expected, rtol=1e-6)
    lib.impl("opaque", lambda x: x * 0, "CPU", allow_override=True)
    np.testing.assert_allclose(compiled(X).numpy(), [3, 3])


# ---- kernels of ops that are not defined yet -------------------------------------------------------------------------


def test_a_kernel_waits_for_its_definition(ns):
    early = Library(ns, "IMPL", "CPU")
    early.impl("f", returns(1))
    impl(f"{ns}::f.default", "CompositeExplicitAutograd", returns(2), lib=early)
    with pytest.raises(
        AttributeError, match=f"no op {ns}::f is registered; a kernel for it waits .* from test_library"
    ):
        _ = getattr(ops, ns).f
    with pytest.raises(RegistrationError, match="CPU already has a kernel, which waits"):
        early.impl("f", returns(3))
    lib = Library(ns, "DEF")
    lib.define("f(Tensor x) -> Tensor")
    assert getattr(ops, ns).f(X).tolist() == returns(1)(X).tolist()
    with pytest.raises(RegistrationError, match="CPU already has a kernel"):
        lib.impl("f", returns(3), "CPU")
    early._destroy()
    with pytest.raises(DispatchError):
        getattr(ops, ns).f(X)
    known = registry.implementations
    assert f"{ns}::f" not in known.waiting and f"{ns}::f" not in known.registered


def test_a_kernel_that_does_not_fit_refuses_the_definition(ns):
    early, lib = Library(ns, "IMPL"), Library(ns, "DEF")
    early.impl("f", lambda x: x, "CPU")
    early.impl("f", lambda x, y: x, "CUDA")
    before = snapshot()
    with pytest.raises(RegistrationError, match="cannot be called with the op's arguments"):
        lib.define("f(Tensor x) -> Tensor")
    assert snapshot() == before
    lib.define("f.other(Tensor x) -> Tensor")  # another op
    early._destroy()
    lib.define("f(Tensor x) -> Tensor")
    assert not getattr(ops, ns).f.default.kernels


def test_a_kernel_outlives_its_op(ns):
    first, early = Library(ns, "DEF"), Library(ns, "IMPL")
    first.define("f(Tensor x) -> Tensor")
    early.impl("f", lambda x: x + 1, "CPU")
    f = getattr(ops, ns).f.default
    first._destroy()
    assert f.kernels == {} and not hasattr(getattr(ops, ns), "f")
    second = Library(ns, "DEF")
    second.define("f(Tensor x) -> Tensor")
    assert getattr(ops, ns).f(X).tolist() == (X + 1).tolist()
    second._destroy()
    third = Library(ns, "DEF")
    third.define("f(Tensor x, Tensor y) -> Tensor")  # another one of the name: what does not fit goes on waiting
    assert not getattr(ops, ns).f.default.kernels


def test_libraries_of_waiting_kernels_are_collected(ns):
    early = Library(ns, "IMPL")
    early.impl("f", lambda x: x, "CPU")
    del early
    gc.collect()
    assert f"{ns}::f" not in registry.implementations.waiting

"""Ops of C++ libraries are called in native code where all is as usual, and through the dispatcher where not."""

import ctypes
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.library import Library, register_autograd, register_kernel
from opweave.registry import replay
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.keys import DispatchKey, DispatchKeySet


@pytest.fixture(scope="module")
def c(ops: Callable[[str, str], Any]) -> Any:
    """The ops of `sources/compiled.cpp`."""
    return ops("compiled.cpp", "cppcompiled")


def is_direct(op: Any) -> bool:
    """Whether the interpreter finds native code where it calls an op."""
    return bool(ctypes.c_void_p.from_address(id(op) + replay.CODE_AT).value)


needs_native = pytest.mark.skipif(replay.direct is None, reason="OPWEAVE_REPLAY=0")
x = opweave.tensor([[1.0, -2.0, 3.0], [0.5, 0.0, -0.0]])


@needs_native
def test_the_first_call_finds_the_kernel(c: Any) -> None:
    for name, args in (("same", (x,)), ("scale_", (x.clone(), 2.0)), ("odd", (x, 0)), ("rows", (x,))):
        op = getattr(c, name).default
        op(*args)
        assert is_direct(op)
    assert not is_direct(c.plus.default)  # it has keywords


def test_arguments(c: Any) -> None:
    odd, refuse = c.odd.default, c.refuse.default
    for _ in range(2):
        assert odd(x, 0).tolist() == (x * 2).tolist() == odd(x, how=0).tolist()
        assert odd(x, True).shape == (2, 3) and odd(x, np.int64(0)).shape == (2, 3)
        for args in ((x,), (x, 0, 1), (None, 0), (x, "a"), (1.0, 0), ([x], 0)):
            with pytest.raises(ArgumentError):
                odd(*args)
        with pytest.raises(ArgumentError, match=r"missing|required"):
            odd()
        with pytest.raises(ValueError, match="a value of 6"):
            refuse(x, "value")
        with pytest.raises(IndexError, match="a place"):
            refuse(x, "range")
        assert refuse(x, "none").tolist() == (x * 3).tolist()
    assert c.same.default(x.t()).tolist() == x.t().tolist()
    assert odd(x[:0], 0).shape == (0, 3)


def test_writes_are_counted_and_return_the_argument(c: Any) -> None:
    op = c.scale_.default
    for _ in range(3):
        y = x.clone()
        assert op(y, 2.0) is y and y._version == 1 and y.tolist() == (x * 2).tolist()
        view = y[0]
        assert op(view, 0.5) is view and y._version == 2 and y[0].tolist() == x[0].tolist()
    with opweave.no_grad():
        y = x.clone()
        assert op(y, 3.0) is y and y._version == 1


def test_gradients_are_recorded_and_hidden_views_refused(c: Any) -> None:
    same, scale = c.same.default, c.scale_.default
    lib = Library("cppcompiled", "FRAGMENT")
    try:
        same(x)
        register_autograd("cppcompiled::same", lambda ctx, g: g * 5, lib=lib)
        leaf = x.clone().requires_grad_()
        same(leaf).sum().backward()
        assert leaf.grad.tolist() == [[5.0] * 3] * 2
        with opweave.no_grad():
            assert not same(leaf).requires_grad
        base = opweave.ones(3, requires_grad=True) * 1
        with opweave.no_grad():
            hidden = base[1:]
        with pytest.raises(AutogradError, match="view made without recording"):
            scale(hidden, 2.0)
        with opweave.inference_mode():
            made = same(x)
        assert made.is_inference() and same(made).tolist() == x.tolist()
    finally:
        lib._destroy()


def test_what_changes_is_noticed(c: Any) -> None:
    op = c.same.default
    assert op(x).tolist() == x.tolist()
    lib, every = Library("cppcompiled", "IMPL"), Library("_", "IMPL", "AutogradCPU")
    try:
        register_kernel("cppcompiled::same", "cpu", lambda x: x + 1, lib=lib)
        assert op(x).tolist() == (x + 1).tolist() == op(x).tolist()
    finally:
        lib._destroy()
    assert op(x).tolist() == x.tolist()
    seen = []
    try:

        def fallback(keys: Any, op: Any, *args: Any, **kwargs: Any) -> Any:
            seen.append(op.name)
            return op.redispatch(DispatchKeySet(DispatchKey.CPU), *args, **kwargs)

        every.fallback(fallback, with_keyset=True)
        op(x)
        assert seen == ["cppcompiled::same"]
    finally:
        every._destroy()
    op(x)
    assert len(seen) == 1


@pytest.mark.filterwarnings("ignore:.*no batching rule")
def test_modes_subclasses_and_batches_see_the_call(c: Any) -> None:
    op, seen = c.same.default, []
    op(x)

    class Mode(opweave.DispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.name)
            return func(*args, **(kwargs or {}))

    class Own(opweave.Tensor):
        @classmethod
        def __torch_dispatch__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append("own")
            return 7

    with Mode():
        op(x)
    assert op(opweave.Tensor._make_subclass(Own, x)) == 7 and seen == ["cppcompiled::same", "own"]
    assert opweave.vmap(op)(x).tolist() == x.tolist()


def test_many_calls_on_eight_threads(c: Any) -> None:
    op, wrong = c.scale_.default, []

    def work(n: int) -> None:
        y = opweave.full((5,), float(n))
        for _ in range(500):
            op(y, 2.0)
            op(y, 0.5)
        if y.tolist() != [float(n)] * 5 or y._version != 1000:
            wrong.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong

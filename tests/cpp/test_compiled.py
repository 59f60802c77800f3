"""Compiled graphs call kernels of C++ and of tvm-ffi libraries without Python, and all comes out as it does eagerly."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.codegen.host import natives
from opweave.codegen.native import foreign
from opweave.library import Library, register_autograd, register_fake, register_ffi, register_kernel
from opweave.registry.errors import ArgumentError, CompileError, RegistrationError, ShapeError
from opweave.registry.native_kernel import native_kernel

NAMES = ("plus", "halves", "rows", "scale_", "fill", "keep", "same", "through", "refuse", "odd")


@pytest.fixture(scope="session")
def c(ops: Callable[[str, str], Any]) -> Any:
    """The ops of `sources/compiled.cpp`, with rules for tensors without data."""
    found = ops("compiled.cpp", "cppcompiled")
    for name in ("plus", "keep", "same", "through", "refuse", "odd"):
        register_fake(f"cppcompiled::{name}", lambda x, *args, **kwargs: opweave.empty_like(x))
    register_fake("cppcompiled::halves", lambda x: (opweave.empty_like(x), opweave.empty_like(x)))
    register_fake("cppcompiled::rows", lambda x: x.new_empty(x.shape[0]))
    register_fake("cppcompiled::scale_", lambda x, by: x)
    register_fake("cppcompiled::fill", lambda x, out: None)
    return found


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The ops of whose results, or errors, Python was asked."""
    seen: list[str] = []

    def answer(self: foreign.Call, returned: int, made: int) -> None:
        seen.append(self.op.name)
        return original(self, returned, made)

    original = foreign.Call.answer
    monkeypatch.setattr(foreign.Call, "answer", answer)
    return seen


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    return opweave.compile(function, fullgraph=True)


def check(function: Callable[..., Any], *args: Any, native: int = 1) -> Any:
    """Call a function eagerly and compiled, on copies; the values must be the same bits, and ops native."""
    calls: list[Any] = []
    of = foreign.Call.of
    first, second = ([a.clone() if isinstance(a, opweave.Tensor) else a for a in args] for _ in range(2))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(foreign.Call, "of", staticmethod(lambda op: calls.append(op) or of(op)))
        made = compiled(function)
        found = made(*second)
    assert len(calls) == native
    wanted = function(*first)
    for a, b in zip(_leaves((wanted, first)), _leaves((found, second)), strict=True):
        assert a.shape == b.shape and a.dtype is b.dtype and a.numpy().tobytes() == b.numpy().tobytes()
    return made


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, opweave.Tensor):
        return [value]
    return [t for item in value for t in _leaves(item)] if isinstance(value, (list, tuple)) else []


@contextmanager
def scoped(kind: str) -> Iterator[Library]:
    """A library that is gone afterwards."""
    lib = Library("cppcompiled", kind)
    try:
        yield lib
    finally:
        lib._destroy()


x = opweave.tensor(np.random.default_rng(0).normal(size=(3, 4)).astype(np.float32))


def test_all_have_a_native_form(c: Any) -> None:
    assert all(native_kernel(getattr(c, name).default) is not None for name in NAMES)
    assert native_kernel(opweave.ops.aten.mul.Tensor) is None


def test_arguments_of_all_sorts(c: Any) -> None:
    check(lambda x: c.plus(x * 2, None, 1.5) * 2, x)
    check(lambda x: c.plus(x, x + 1, 2, 3, how="much", shift=[5, 7], t=opweave.int64, twice=True, s=4) - 1, x)
    check(lambda x: c.plus(x.t(), None, 0.5, s=1.5), x)
    check(lambda x, n: c.plus(x[1:, :2] * 1, None, 0.5, n), x, 3)


def test_results_of_all_sorts(c: Any) -> None:
    check(lambda x: (a := c.halves(x * 2))[0] + a[1], x)
    check(lambda x: c.halves(x)[1] * 2, x)
    check(lambda x: c.rows(x * 2) + c.rows(x.t()).sum(), x, native=2)
    check(lambda x: c.same(x * 2) + c.same(x), x, native=2)
    check(lambda x: c.through(x * 2) + x, x)
    check(lambda x: c.same(x[:0] * 2) + 1, x)


def test_what_is_written(c: Any) -> None:
    def inside(x: Any) -> Any:
        y = x * 2
        c.scale_(y, 3.0)
        return c.scale_(y, 0.5) + 1

    def outside(x: Any, out: Any) -> Any:
        c.scale_(x, 3.0)
        c.fill(x * 2, out)
        return x + out

    check(inside, x, native=2)
    made = check(outside, x, opweave.zeros(3, 4), native=2)
    y, out = x.clone(), opweave.zeros(3, 4)
    versions = y._version, out._version
    made(y, out)
    assert y._version > versions[0] and out._version > versions[1]


def test_much_memory_is_taken_over_rather_than_copied(c: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    check(lambda x: c.same(x * 2) + 1, opweave.ones(natives.MOST_COPIED // 4 + 1), native=0)
    check(lambda x: c.scale_(x * 2, 2.0).sum(), opweave.ones(natives.MOST_COPIED // 4 + 1))


def test_sizes_that_are_not_fixed(c: Any) -> None:
    made = opweave.compile(lambda x: c.rows(c.plus(x * 2, x, 1.0)) * x.shape[0], fullgraph=True, dynamic=True)
    for n in (3, 5, 9, 2):
        y = opweave.randn(n, 4)
        assert made(y).numpy().tobytes() == (c.rows(c.plus(y * 2, y, 1.0)) * n).numpy().tobytes()
    assert len(made.entries) == 1


def test_gradients(c: Any) -> None:
    with scoped("FRAGMENT") as lib:
        register_autograd(
            "cppcompiled::through", lambda ctx, g: c.through(g) * ctx.saved_tensors[0],
            setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]), lib=lib,
        )  # fmt: skip
        function = compiled(lambda x: (c.through(x * 2) * 3).sum())
        a, b = x.clone().requires_grad_(), x.clone().requires_grad_()
        function(a).backward()
        (c.through(b * 2) * 3).sum().backward()
        assert a.grad.numpy().tobytes() == b.grad.numpy().tobytes()


# ---- libraries of others ---------------------------------------------------------------------------------------------


def test_functions_of_other_libraries(norm: Any, asked: list[str]) -> None:
    o, w = opweave.ops.ffi_norm, opweave.randn(4)
    check(lambda x: o.rms(x * 2, w) + 1, x)
    check(lambda x: o.scale_(y := x * 2, 3.0) or o.scaled_(y, by=2.0) * 2, x, native=2)
    check(lambda x: o.scaled(x * 2, 3.0) + 1, x, native=0)  # its rule makes a copy: that is Python's
    check(lambda x: o.rms(x * 2, w) + 1, opweave.ones(natives.MOST_COPIED // 4 + 1, 4))  # nothing is copied
    leaf, other = (x.clone().requires_grad_() for _ in range(2))
    compiled(lambda x: (o.rms(x * 2, w) * 3).sum())(leaf).backward()
    (o.rms(other * 2, w) * 3).sum().backward()
    np.testing.assert_allclose(leaf.grad.numpy(), other.grad.numpy(), rtol=1e-5)
    assert not asked
    with pytest.raises(ValueError, match="w has 4 elements, x 3 columns"):
        compiled(lambda x: o.rms(x * 2, w) + 1)(x.t().contiguous())


def test_what_a_function_does_not_take_is_told_with_its_schema(library: Any) -> None:
    with scoped("FRAGMENT") as lib:
        register_ffi(library, {"cppcompiled::wrong(Tensor(a!) x, str by) -> ()": "scale"}, lib=lib)
        with pytest.raises(ArgumentError, match="scale takes other arguments than its schema says"):
            compiled(lambda x: opweave.ops.cppcompiled.wrong(y := x * 2, "a") or y)(x)


# ---- what goes wrong, and what changes -------------------------------------------------------------------------------


def test_errors_come_with_their_types(c: Any) -> None:
    made = compiled(lambda x, kind: c.refuse(x * 2, kind) + 1)
    assert made(x, "none").tolist() == (c.refuse(x * 2, "none") + 1).tolist()
    for kind, wanted, text in (("value", ValueError, "a value of 12"), ("range", IndexError, "a place")):
        with pytest.raises(wanted, match=text) as found:
            made(x, kind)
        with pytest.raises(wanted) as eager:
            c.refuse(x * 2, kind)
        assert type(found.value) is type(eager.value) and str(found.value) == str(eager.value)
    with pytest.raises(ShapeError):
        made(x, "python")
    assert made(x, "none").tolist() == (c.refuse(x * 2, "none") + 1).tolist()


def test_results_are_held_to_what_the_fake_rule_said(c: Any, asked: list[str]) -> None:
    check(lambda x: c.odd(x, 0) + 1, x)
    assert not asked
    check(lambda x: c.odd(x, 1) + 1, x)
    assert asked == ["cppcompiled::odd"]
    for how in (2, 3):
        with pytest.raises(CompileError, match="odd: returned something else than its fake rule promised"):
            compiled(lambda x, how=how: c.odd(x * 2, how) + 1)(x)


def test_a_kernel_may_keep_what_it_is_given(c: Any) -> None:
    made = compiled(lambda x: c.keep(x * 2) + c.scale_(x * 5, 2.0))
    made(x)
    assert c.kept().tolist() == (x * 2).tolist()
    y = x.clone()
    compiled(lambda y: c.keep(y[1:]) + 1)(y)
    y.mul_(3)
    assert c.kept().tolist() == y[1:].tolist()
    del y
    assert opweave.ones(3, 4).shape == (3, 4)  # what lay there would be overwritten
    assert c.kept().tolist() == (x * 3)[1:].tolist()
    c.forget()


def test_another_kernel_is_noticed(c: Any) -> None:
    made = compiled(lambda x: c.same(x * 2) + 1)
    program = opweave.export.export(lambda x: c.same(x * 2) + 1, (x,)).module()
    loss = compiled(lambda x: c.same(x * x).sum())
    with scoped("FRAGMENT") as lib:
        register_autograd("cppcompiled::same", lambda ctx, g: c.same(g) * 1, lib=lib)
        leaf = x.clone().requires_grad_()
        loss(leaf).backward()
        late = loss(leaf)  # its backward is compiled, and runs when the kernel has changed
        for function in (made, program):
            assert function(x).tolist() == (x * 2 + 1).tolist()
        with scoped("IMPL") as other:
            register_kernel("cppcompiled::same", "cpu", lambda x: x + 100, lib=other)
            for function in (made, program):
                assert function(x).tolist() == (x * 2 + 100 + 1).tolist()
            leaf.grad = None
            late.backward()
            assert leaf.grad is not None
            np.testing.assert_allclose(leaf.grad.numpy(), 101 * 2 * x.numpy(), rtol=1e-6)
        for function in (made, program):
            assert function(x).tolist() == (x * 2 + 1).tolist()


def test_a_mode_sees_the_calls(c: Any) -> None:
    program = opweave.export.export(lambda x: c.same(x * 2) + 1, (x,)).module()
    seen = []

    class Mode(opweave.DispatchMode):
        def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
            seen.append(func.name)
            return func(*args, **(kwargs or {}))

    with Mode():
        program(x)
    assert "cppcompiled::same" in seen


def test_eight_threads(c: Any) -> None:
    made = compiled(lambda x: c.through(c.plus(x * 2, x, 1.0)) + c.halves(x)[0])
    inputs = [opweave.randn(3, 4) for _ in range(8)]
    wanted = [made(y).tolist() for y in inputs]
    wrong: list[int] = []

    def work(i: int) -> None:
        wrong.extend(i for _ in range(300) if made(inputs[i]).tolist() != wanted[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(8)]
    [thread.start() for thread in threads]
    [thread.join() for thread in threads]
    assert not wrong


def test_kernels_wait_for_the_definition_of_their_op(c: Any) -> None:
    lib = Library("cppwaiting", "DEF")
    try:
        with pytest.raises(
            RegistrationError, match="float as one of its arguments, where the schema has str"
        ) as caught:
            lib.define("half(Tensor x, str by) -> Tensor")
        assert "compiled.cpp:" in str(caught.value) and not hasattr(opweave.ops.cppwaiting, "half")
        lib.define("half(Tensor x, float by) -> Tensor")
        assert opweave.ops.cppwaiting.half(x, 1.0).tolist() == (x * 0.5 + 1).tolist()
    finally:
        lib._destroy()

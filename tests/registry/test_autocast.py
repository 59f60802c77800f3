"""Autocast: blocks, the casts that are kept, rules of user ops, Functions. What each op does is compared with PyTorch
in tests/parity/test_autocast.py."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import opweave as ow
from opweave import Tensor
from opweave.library import custom_op, register_autocast
from opweave.registry.autocast import thread
from opweave.registry.errors import ArgumentError, AutogradError, DeviceError, UnsupportedError
from opweave.registry.keys import AUTOCAST_MASK, DispatchMode, state
from opweave.registry.op import registry


@pytest.fixture(autouse=True)
def left_clean() -> Iterator[None]:
    yield
    assert not state.include & AUTOCAST_MASK
    assert not state.exclude & AUTOCAST_MASK
    assert not thread.blocks
    assert not thread.casts
    assert thread.cache_enabled
    assert ow.get_autocast_dtype("cpu") is ow.bfloat16
    assert ow.get_autocast_dtype("cuda") is ow.float16


def ones(*sizes: int) -> Tensor:
    return ow.ones(*sizes)


class Seen(DispatchMode):
    """The names of the ops that are called."""

    def __init__(self) -> None:
        self.names: list[str] = []

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names.append(func.opname)
        return func(*args, **(kwargs or {}))


def test_products_are_cast_inside_a_block_only() -> None:
    x = ones(2, 2)
    assert (x @ x).dtype is ow.float32
    with ow.autocast("cpu"):
        assert (x @ x).dtype is ow.bfloat16
        assert (x + x).dtype is ow.float32
    assert (x @ x).dtype is ow.float32


def test_dtype_is_the_one_of_the_block_at_the_time_of_the_call() -> None:
    x = ones(2, 2)
    for dtype in (ow.bfloat16, ow.float16, ow.bfloat16):
        with ow.autocast("cpu", dtype):
            assert ow.get_autocast_dtype("cpu") is dtype
            assert (x @ x).dtype is dtype


def test_float64_integers_and_other_devices_are_left_alone() -> None:
    with ow.autocast("cpu"):
        assert (x := ones(2, 2).double()).mm(x).dtype is ow.float64
        assert (x := ones(2, 2).long()).mm(x).dtype is ow.int64
        meta = ow.empty(2, 2, device="meta")
        assert meta.mm(meta).dtype is ow.float32


def test_nested_blocks() -> None:
    x = ones(2, 2)
    with ow.autocast("cpu"):
        with ow.autocast("cpu", enabled=False):
            assert not ow.is_autocast_enabled("cpu")
            assert (x @ x).dtype is ow.float32
            with ow.autocast("cpu", ow.float16):
                assert (x @ x).dtype is ow.float16
            assert (x @ x).dtype is ow.float32
        assert ow.is_autocast_enabled("cpu")
        assert (x @ x).dtype is ow.bfloat16


def test_block_ends_with_an_exception() -> None:
    with pytest.raises(ZeroDivisionError), ow.autocast("cpu"), ow.autocast("cpu", enabled=False):
        raise ZeroDivisionError
    with pytest.raises(ow.registry.errors.OpweaveError), ow.autocast("cpu"):
        ones(2, 3) @ ones(2, 3)


def test_grad_mode_set_inside_a_block_outlives_it() -> None:
    with ow.autocast("cpu"):
        ow.set_grad_enabled(False)
    assert not ow.is_grad_enabled()
    ow.set_grad_enabled(True)


def test_decorated_functions_and_generators() -> None:
    x = ones(2, 2)

    @ow.autocast("cpu")
    def product() -> Tensor:
        return x @ x

    @ow.autocast("cpu")
    def products() -> Iterator[Tensor]:
        yield x @ x
        yield x @ x

    assert product().dtype is ow.bfloat16
    for t in products():
        assert t.dtype is ow.bfloat16
        assert (x @ x).dtype is ow.float32
    with pytest.raises(ArgumentError, match="expected a function"):
        ow.autocast("cpu")(3)  # type: ignore[arg-type]


def test_each_thread_has_its_own_state() -> None:
    x = ones(2, 2)
    block = ow.autocast("cpu")
    found: list[Any] = []

    def work(inside: bool) -> None:
        if inside:
            with block:
                found.append((x @ x).dtype)
        else:
            found.append((x @ x).dtype)

    with block:
        for inside in (False, True):
            worker = threading.Thread(target=work, args=(inside,))
            worker.start()
            worker.join()
        assert (x @ x).dtype is ow.bfloat16
    assert found == [ow.float32, ow.bfloat16]


def test_arguments_are_checked() -> None:
    with pytest.raises(DeviceError, match="no autocast for device type 'meta'"):
        ow.autocast("meta")
    with pytest.raises(DeviceError, match="without an index"):
        ow.autocast("cuda:0")
    with pytest.raises(ArgumentError, match="must be a string"):
        ow.autocast(ow.float16)  # type: ignore[arg-type]
    with pytest.raises(ArgumentError, match="floating dtype"):
        ow.autocast("cpu", ow.int64)
    with pytest.raises(ArgumentError, match="floating dtype"):
        ow.set_autocast_dtype("cpu", ow.int64)
    with pytest.warns(UserWarning, match="bfloat16 or float16"), ow.autocast("cpu", ow.float32):
        assert not ow.is_autocast_enabled("cpu")


def test_binary_cross_entropy_is_refused_on_cuda() -> None:
    op = registry.operators.get("aten::binary_cross_entropy")
    op = op or registry.find("aten::mse_loss")
    from_table = ow.registry.autocast._banned(op)
    with pytest.raises(UnsupportedError, match="not run inside autocast"):
        from_table(ones(2), ones(2))


def test_dtypes_are_part_of_the_dispatch_state() -> None:
    """Compiled code compares them."""
    before = state.__dict__.get("autocast_dtypes")
    with ow.autocast("cpu"):
        outer = state.__dict__["autocast_dtypes"]
        with ow.autocast("cpu", ow.float16):
            inner = state.__dict__["autocast_dtypes"]
        assert outer == {"cpu": ow.bfloat16, "cuda": ow.float16}
        assert inner == {"cpu": ow.float16, "cuda": ow.float16}
        assert state.__dict__["autocast_dtypes"] == outer
    assert state.__dict__.get("autocast_dtypes") == before


# ---- casts that are kept -------------------------------------------------------------------------------------------


def casts_of(w: Tensor, calls: int = 2) -> int:
    """How many casts calls with the same parameter make."""
    x = ones(2, 2).bfloat16()
    seen = []
    for _ in range(calls):
        before = len(seen)
        result = x.mm(w)
        node = result.grad_fn
        seen.append(node.next_functions[1][0] if node is not None else before)
    return len({id(node) for node in seen})


def test_parameter_is_cast_once_in_a_block() -> None:
    w = ones(2, 2).requires_grad_()
    with ow.autocast("cpu"):
        assert casts_of(w) == 1
        with ow.autocast("cpu"):
            assert casts_of(w) == 1
        assert len(thread.casts) == 1
        with ow.autocast("cpu", cache_enabled=False):
            assert casts_of(w) == 2
        ow.amp.clear_autocast_cache()
        assert not thread.casts


def test_only_leaves_that_require_grad_are_kept() -> None:
    x = ones(2, 2)
    with ow.autocast("cpu"):
        x @ x
        x.requires_grad_().mm(x.detach()).float().mm(x.detach())
        assert [reference() for reference, _, _ in thread.casts.values()] == [x]


def test_cast_without_gradient_is_not_used_with_one() -> None:
    w = ones(2, 2).requires_grad_()
    with ow.autocast("cpu"):
        with ow.no_grad():
            assert not (w @ w).requires_grad
        assert (w @ w).requires_grad


def test_parameter_written_to_is_cast_anew() -> None:
    w = ones(2, 2).requires_grad_()
    x = ones(2, 2)
    with ow.autocast("cpu"):
        assert x.mm(w).tolist() == [[2.0, 2.0], [2.0, 2.0]]
        with ow.no_grad():
            w.mul_(3)
        assert x.mm(w).tolist() == [[6.0, 6.0], [6.0, 6.0]]


def test_id_used_again_is_another_parameter() -> None:
    x = ones(1, 1)
    with ow.autocast("cpu"):
        for value in range(1, 50):
            w = ow.full((1, 1), float(value)).requires_grad_()
            assert x.mm(w).item() == value
            del w
            gc.collect(0)


def test_traces_keep_no_casts() -> None:
    w = ones(2, 2).requires_grad_()
    with ow.autocast("cpu"):
        with Seen() as seen:
            ones(2, 2).mm(w)
            ones(2, 2).mm(w)
        assert seen.names.count("_to_copy") == 4
        assert not thread.casts


# ---- tracing -------------------------------------------------------------------------------------------------------


def test_trace_records_the_casts() -> None:
    def product(x: Tensor, y: Tensor) -> Tensor:
        with ow.autocast("cpu"):
            return x @ y

    x, y = ow.rand(2, 3), ow.rand(3, 2)
    traced = ow.make_fx(product)(x, y)
    assert "_to_copy" in str(traced.graph)
    result = traced(x, y)
    assert result.dtype is ow.bfloat16
    assert result.tolist() == product(x, y).tolist()


# ---- ops of users --------------------------------------------------------------------------------------------------


@custom_op("test_autocast::scale", mutates_args=())
def scale(xs: list[Tensor], factor: Tensor, index: Tensor) -> Tensor:
    return (xs[0] @ xs[1]) * factor


def test_registered_rule_casts_and_switches_autocast_off() -> None:
    inside = []

    @custom_op("test_autocast::rule", mutates_args=())
    def rule(xs: list[Tensor], factor: Tensor, index: Tensor, *, extra: Tensor | None = None) -> Tensor:
        everything = [*xs, factor, index, *([extra] if extra is not None else [])]
        inside.append(([t.dtype for t in everything], ow.is_autocast_enabled("cpu")))
        return xs[0] * factor

    op = registry.find("test_autocast::rule")
    x, index = ones(2), ow.zeros(1).long()
    with ow.autocast("cpu"):
        op([x, x.double()], x, index)
    register_autocast("test_autocast::rule", "cpu", ow.float16)
    op([x, x.double()], x, index)
    with ow.autocast("cpu"):
        result = op([x, x.double()], x.bfloat16(), index, extra=x)
        assert ow.is_autocast_enabled("cpu")
    with ow.autocast("cpu", enabled=False):
        op([x, x.double()], x, index)
    plain = [ow.float32, ow.float64, ow.float32, ow.int64]
    cast = [ow.float16, ow.float64, ow.float16, ow.int64, ow.float16]
    assert inside == [(plain, True), (plain, False), (cast, False), (plain, False)]
    assert result.dtype is ow.float16


def test_op_without_a_rule_runs_inside_autocast() -> None:
    x = ones(2, 2)
    with ow.autocast("cpu"):
        assert scale([x, x], ones(1).bfloat16(), ow.zeros(1).long()).dtype is ow.bfloat16


# ---- Functions -----------------------------------------------------------------------------------------------------


def make_function(cast_inputs: Any, seen: list[Any]) -> Any:
    class Product(ow.autograd.Function):
        @staticmethod
        @ow.amp.custom_fwd(device_type="cpu", cast_inputs=cast_inputs)
        def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
            seen.append((x.dtype, ow.is_autocast_enabled("cpu")))
            ctx.save_for_backward(x, y)
            return x @ y

        @staticmethod
        @ow.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, grad: Tensor) -> Any:
            x, y = ctx.saved_tensors
            seen.append((ow.is_autocast_enabled("cpu"), ow.get_autocast_dtype("cpu")))
            return grad @ y.t(), x.t() @ grad

    return Product


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("cast_inputs", [None, ow.float32])
def test_function_runs_backward_as_it_ran_forward(cast_inputs: Any, inside: bool) -> None:
    seen: list[Any] = []
    function = make_function(cast_inputs, seen)
    x, y = ones(2, 2).requires_grad_(), ones(2, 2).half()
    with ow.autocast("cpu", ow.float16, enabled=inside):
        result = function.apply(x, y.float() if not inside else y)
    lower = inside and cast_inputs is None
    assert result.dtype is (ow.float16 if lower else ow.float32)
    result.backward(ones(2, 2).to(result.dtype))
    assert seen == [(ow.float32, lower), (lower, ow.float16)]
    assert x.grad is not None
    assert x.grad.dtype is ow.float32
    np.testing.assert_array_equal(x.grad.numpy(), np.full((2, 2), 2.0))


def test_decorators_of_functions_check_their_use() -> None:
    with pytest.raises(DeviceError):
        ow.amp.custom_fwd(device_type="tpu")
    with pytest.raises(ArgumentError, match="floating dtype"):
        ow.amp.custom_fwd(device_type="cpu", cast_inputs=ow.int64)

    @ow.amp.custom_fwd(device_type="cpu")
    def forward(x: Tensor) -> Tensor:
        return x

    with pytest.raises(ArgumentError, match="context of a Function"):
        forward(ones(2))

    @ow.amp.custom_bwd(device_type="cpu")
    def backward(ctx: Any, grad: Tensor) -> Tensor:
        return grad

    with pytest.raises(ArgumentError, match="forward was not decorated"):
        backward(ow.registry.autograd.function.FunctionCtx(), ones(2))


# ---- gradients -----------------------------------------------------------------------------------------------------


def test_gradient_has_the_dtype_of_the_parameter() -> None:
    w = ones(2, 2).requires_grad_()
    x = ow.from_numpy(np.array([[1.0, 2.0], [3.0, 4.0]], np.float32))
    with ow.autocast("cpu"):
        first, second = x.mm(w), x.mm(w)
    # One cast for both; walking one graph back leaves the other whole.
    first.backward(ones(2, 2).bfloat16())
    second.backward(ones(2, 2).bfloat16())
    assert w.grad is not None
    assert w.grad.dtype is ow.float32
    assert w.grad.tolist() == [[8.0, 8.0], [12.0, 12.0]]
    with pytest.raises(AutogradError):
        second.backward(ones(2, 2).bfloat16())

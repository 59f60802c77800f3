"""`out=` variants write what the functional op gives into the tensor they are given, and return that."""

from __future__ import annotations

import numpy as np
import pytest
from op_samples import as_list, maker

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError, AutogradError, DTypeError, OpweaveError, ShapeError, UnsupportedError
from opweave.registry.op import OpOverload, registry
from opweave.registry.ops.kinds import OutDecl, OutsDecl
from opweave.registry.tensor import Tensor, allocate


def variants() -> list[OpOverload]:
    found = [op for op in registry.operators.values() if isinstance(op.decl, OutDecl)]
    return [op for op in found if op.decl.functional.decl.samples is not None]


def variants_of_several() -> list[OpOverload]:
    found = [op for op in registry.operators.values() if isinstance(op.decl, OutsDecl)]
    return [op for op in found if op.decl.functional.decl.samples is not None]


def poisoned(like: Tensor) -> Tensor:
    """Memory for a result, in other strides, that holds something else."""
    sizes = tuple(reversed(like._sizes))
    strides = [1]
    for size in sizes[:0:-1]:
        strides.insert(0, strides[0] * max(size, 1))
    made = allocate(sizes, tuple(strides) if sizes else (), like._dtype, like._device)
    made._array[...] = 1
    return opweave.permute(made, list(range(len(sizes)))[::-1])


@pytest.mark.parametrize("op", variants(), ids=str)
def test_out_is_written_and_returned(op):
    functional, count = op.decl.functional, 0
    for dtype in op.decl.functional.decl.sample_dtypes or (dtypes.float32, dtypes.int64):
        for args, kwargs in functional.decl.samples(maker(dtype)):
            try:
                (wanted,) = as_list(functional(*args, **kwargs))
            except OpweaveError:
                continue
            out = poisoned(wanted)
            version = out._version
            found = op(*args, **kwargs, out=out)
            assert found is out and out._version > version
            wide = np.complex128 if wanted._dtype.kind == "c" else np.float64
            np.testing.assert_array_equal(out.numpy().astype(wide), wanted.numpy().astype(wide))
            count += 1
    assert count


@pytest.mark.parametrize("op", variants(), ids=str)
def test_another_shape_is_resized(op):
    for args, kwargs in op.decl.functional.decl.samples(maker(dtypes.float64)):
        try:
            (wanted,) = as_list(op.decl.functional(*args, **kwargs))
        except OpweaveError:
            continue
        larger = opweave.ones(*wanted.shape, 2, dtype=wanted.dtype)
        at = larger.data_ptr()
        if wanted.numel():
            with pytest.warns(UserWarning, match="An output with one or more elements was resized"):
                assert op(*args, **kwargs, out=larger) is larger
            assert larger.data_ptr() == at  # it had enough memory
            np.testing.assert_array_equal(larger.numpy(), wanted.numpy())
        empty = opweave.empty(0, 7, dtype=wanted.dtype)
        op(*args, **kwargs, out=empty)
        assert empty.shape == wanted.shape and empty.is_contiguous()
        np.testing.assert_array_equal(empty.numpy(), wanted.numpy())
        return


def test_what_shares_memory_is_not_given_other_memory():
    x = opweave.arange(12.0)
    whole = opweave.zeros(4)
    part = whole[:2]
    for out in (part, whole):
        with pytest.raises(ShapeError, match="needs more memory"):
            opweave.exp(x, out=out)
    del part
    with pytest.warns(UserWarning, match="was resized since it had shape \\[4\\]"):
        opweave.exp(x, out=whole)
    np.testing.assert_array_equal(whole.numpy(), x.exp().numpy())
    with pytest.raises(DTypeError, match="cannot be written to int64"):
        opweave.exp(x, out=opweave.zeros(0, dtype=opweave.int64))
    with pytest.raises(ShapeError, match="does not fit the tensor written to"):
        opweave.exp(x.to("meta"), out=opweave.zeros(0, device="meta"))


def test_a_compiled_function_does_not_resize():
    compiled = opweave.compile(lambda x, out: opweave.exp(x, out=out), fullgraph=True)
    with pytest.raises(ShapeError, match="does not fit the tensor written to"):
        compiled(opweave.ones(3), opweave.zeros(0))


@pytest.mark.parametrize("op", variants_of_several(), ids=str)
def test_each_result_is_written_and_returned(op):
    functional, count = op.decl.functional, 0
    for dtype in functional.decl.sample_dtypes or (dtypes.float32, dtypes.int64):
        for args, kwargs in functional.decl.samples(maker(dtype)):
            try:
                opweave.manual_seed(0)
                wanted = as_list(functional(*args, **kwargs))
            except OpweaveError:
                continue
            if any(result is None for result in wanted):
                continue
            outs = [poisoned(result) for result in wanted]
            left_out = ("dtype", "layout", "device", "pin_memory") if op.decl.is_factory else ()
            rest = {name: value for name, value in kwargs.items() if name not in left_out}
            targets = dict(zip(op.decl.targets, outs, strict=True))
            opweave.manual_seed(0)
            found = as_list(op(*args, **rest, **targets))
            assert len(found) == len(outs) and all(a is b for a, b in zip(found, outs, strict=True))
            for one, other in zip(outs, wanted, strict=True):
                np.testing.assert_array_equal(one.numpy().astype(np.complex128), other.numpy().astype(np.complex128))
            count += 1
    assert count


def test_nothing_is_written_where_one_of_several_does_not_fit():
    x = opweave.arange(12.0).reshape(3, 4)
    memory = opweave.zeros(2, dtype=opweave.int64)
    values, places = opweave.zeros(3), memory[:]
    with pytest.raises(ShapeError, match="needs more memory than the tensor written to has"):
        opweave.max(x, 1, out=(values, places))
    with pytest.raises(ShapeError, match="does not fit the tensor written to"):
        opweave.max(x.to("meta"), 1, out=(values.to("meta"), places.to("meta")))
    with pytest.raises(DTypeError, match="cannot be written to int64"):
        opweave.max(x, 1, out=(places.new_zeros(3), values.to(opweave.int64)))
    with pytest.raises(ArgumentError, match="not as many tensors"):
        opweave.max(x, 1, out=(values, places, places))
    assert not values.any() and not places.any()
    with pytest.raises(AutogradError, match="cannot be differentiated"):
        opweave.max(x.requires_grad_(), 1, out=(values, places))


def test_a_result_that_is_not_computed_is_refused():
    x, grad = opweave.ones(2, 3, 4), opweave.ones(2, 3, 4)
    _, mean, scale = opweave.ops.aten.native_layer_norm.default(x, [4], None, None, 1e-5)
    outs = {"out0": opweave.empty(2, 3, 4), "out1": opweave.empty(4), "out2": opweave.empty(4)}
    with pytest.raises(UnsupportedError, match="out1 would not be computed"):
        opweave.ops.aten.native_layer_norm_backward.out(
            grad, x, [4], mean, scale, None, None, [True, False, False], **outs
        )


@pytest.mark.parametrize("dtype", [opweave.float64, opweave.float16, opweave.int32], ids=str)
def test_what_makes_tensors_takes_the_type_of_the_tensor_written_to(dtype):
    x = opweave.arange(6.0).reshape(2, 3)
    made = {
        "full": lambda **how: opweave.full((2, 3), 3, **how),
        "ones": lambda **how: opweave.ones(2, 3, **how),
        "arange": lambda **how: opweave.arange(1, 7, **how),
        "eye": lambda **how: opweave.eye(3, **how),
        "zeros_like": lambda **how: opweave.ops.aten.zeros_like(x, **how),
        "_to_copy": lambda **how: opweave.ops.aten._to_copy(x, **how),
    }
    if dtype.is_floating_point:
        made["rand"] = lambda **how: opweave.rand(2, 3, **how)
        made["randn"] = lambda **how: opweave.randn(2, 3, **how)
    for name, make in made.items():
        opweave.manual_seed(1)
        wanted = make(dtype=dtype)
        opweave.manual_seed(1)
        out = poisoned(wanted)
        assert make(out=out) is out, name
        assert out.dtype is dtype and bool((out == wanted).all()), name


def test_batched_results_are_written_to_batched_tensors():
    x = opweave.arange(24.0).reshape(2, 3, 4).sin()
    values, places = opweave.zeros(2, 3), opweave.zeros(2, 3, dtype=opweave.int64)
    opweave.vmap(lambda x, *out: opweave.max(x, 1, out=out))(x, values, places)
    np.testing.assert_array_equal(values.numpy(), x.numpy().max(2))
    np.testing.assert_array_equal(places.numpy(), x.numpy().argmax(2))
    with pytest.raises(UnsupportedError):
        opweave.vmap(lambda x: opweave.max(x, 1, out=(values[0], places[0])).values)(x)
    drawn = opweave.zeros(2, 3)
    opweave.vmap(lambda out: opweave.rand(3, out=out), randomness="different")(drawn)
    assert len(set(drawn.numpy().ravel())) == 6
    opweave.vmap(lambda out: opweave.rand(3, out=out), randomness="same")(drawn)
    assert bool((drawn[0] == drawn[1]).all())


def test_compiled_with_several_results():
    def run(x, values, places):
        opweave.max(x * 2, 1, out=(values, places))
        return values + places

    x = opweave.arange(12.0).reshape(3, 4).cos()
    outs = [(opweave.zeros(3), opweave.zeros(3, dtype=opweave.int64)) for _ in range(2)]
    eager, compiled = run(x, *outs[0]), opweave.compile(run)(x, *outs[1])
    np.testing.assert_allclose(compiled.numpy(), eager.numpy())
    for one, other in zip(*outs, strict=True):
        np.testing.assert_allclose(other.numpy(), one.numpy())
        assert one.abs().sum().item() > 0


@pytest.mark.parametrize("fn", [
    lambda x, out: opweave.sum(x, 0, out=out) * 2,
    lambda x, out: opweave.mm(x.t(), x[:, :1], out=out.unsqueeze(1)).sum(),
    lambda x, out: opweave.amax(x, 0, out=out),
    lambda x, out: opweave.cat([x[0, :2], x[1, 2:]], out=out),
    lambda x, out: opweave.index_select(x, 0, opweave.tensor([1]), out=out.unsqueeze(0)),
])  # fmt: skip
def test_compiled(fn):
    x, outs = opweave.arange(12.0).reshape(3, 4), [opweave.zeros(4), opweave.zeros(4)]
    results = [call(x, out) for call, out in zip((fn, opweave.compile(fn)), outs, strict=True)]
    np.testing.assert_allclose(results[1].numpy(), results[0].numpy())
    np.testing.assert_allclose(outs[1].numpy(), outs[0].numpy())
    assert outs[0].abs().sum().item() > 0

"""Pointwise bodies as steps give, bit for bit, what the bodies give on whole arrays."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from op_samples import maker

import opweave
from opweave.registry import dtypes
from opweave.registry.errors import DivisionByZeroError, OpweaveError, ShapeError
from opweave.registry.op import registry
from opweave.registry.ops.kinds import PointwiseDecl, handler, ufunc_plan as module
from opweave.registry.ops.kinds.ufunc_plan import Ref, Step, trace
from opweave.registry.rows import RowProgram
from opweave.registry.scalar import elementary
from opweave.registry.tape_recorder import record
from opweave.registry.tensor import Tensor, from_numpy

K = handler(np)
OPS = [op for op in registry.operators.values() if isinstance(op.decl, PointwiseDecl) and op.decl.samples]
TYPES = (dtypes.float32, dtypes.float64, dtypes.int64, dtypes.uint8, dtypes.bool_)


def arrays_of(decl: PointwiseDecl, args: Any, kwargs: Any) -> tuple[list[Any], dict[str, Any], Any] | None:
    """The operands of a sample as flat arrays of one size and the compute type, attributes, and the result type."""
    operands, attributes = decl.operands(args, kwargs)
    compute, result = decl.types(*operands, **attributes)
    if compute.numpy is None:
        return None
    draw = np.random.default_rng(0)
    special = np.array([0.0, -0.0, np.nan, np.inf, -np.inf, 1.0, -1.5, 1e-40]) if compute.kind == "f" else np.arange(8)
    found = []
    for operand in operands:
        if isinstance(operand, Tensor):
            values = draw.standard_normal(700) * 4 if compute.kind == "f" else draw.integers(0, 100, 700)
            values[:64] = np.resize(draw.permutation(special), 64)
            found.append(values.astype(compute.numpy))
        else:
            found.append(float(operand) if compute.kind == "f" and isinstance(operand, int | float) else operand)
    return found, attributes, result


@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_steps_equal_the_body(op: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 256)
    decl = op.decl
    for dtype in TYPES:
        try:
            samples = list(decl.samples(maker(dtype)))
        except Exception:  # samples of other types
            continue
        for args, kwargs in samples[:3]:
            try:
                case = arrays_of(decl, args, kwargs)
            except Exception:  # not defined for this type
                continue
            if case is None:
                continue
            given, attributes, result = case
            described = [v.dtype if isinstance(v, np.ndarray) else v for v in given]
            with np.errstate(all="ignore"):
                found = trace(lambda *x, a=attributes: decl.body(K, *x, **a), described)
                if found is None or found.dtype != result.numpy:
                    continue
                want = np.asarray(decl.body(K, *given, **attributes))
                out = np.empty(700, found.dtype)
                found.run([v for v in given if isinstance(v, np.ndarray)], out)
                assert out.dtype == want.dtype
                np.testing.assert_array_equal(out.view(np.uint8), np.broadcast_to(want, 700).copy().view(np.uint8))
                # In place: over the first operand, where it has the result's type.
                arrays = [v.copy() for v in given if isinstance(v, np.ndarray)]
                if arrays and arrays[0].dtype == found.dtype:
                    found.run(arrays, arrays[0])
                    np.testing.assert_array_equal(arrays[0].view(np.uint8), out.view(np.uint8))


LARGE = {
    "add": lambda x, y: x + y,
    "add a multiple": lambda x, y: opweave.add(x, y, alpha=3),
    "a number": lambda x, y: x + 2.5,
    "relu": lambda x, y: x.relu(),
    "clamp": lambda x, y: x.clamp(-0.5, 0.0),
    "clamp below": lambda x, y: x.clamp(min=0.0),
    "maximum": lambda x, y: opweave.maximum(x, y),
    "where": lambda x, y: opweave.where(x > 0, x, y),
    "where of integers": lambda x, y: opweave.where(x > 0, (x * 10).to(opweave.int64), 7),
    "where of numbers": lambda x, y: opweave.where(x > y, 1.0, 0.0),
    "where not zero": lambda x, y: opweave.where((x * 2).to(opweave.int64).to(opweave.bool), x, -0.0),
    "compared": lambda x, y: x <= y,
    "to float64": lambda x, y: x.to(opweave.float64),
    "to float16": lambda x, y: x.to(opweave.float16),
    "to integers": lambda x, y: (x * 100).to(opweave.int32),
    "several types": lambda x, y: x.to(opweave.float64) * y,
    "silu": lambda x, y: opweave.nn.functional.silu(x),
    "gelu": lambda x, y: opweave.nn.functional.gelu(x, approximate="tanh"),
    "threshold": lambda x, y: opweave.nn.functional.threshold(x, 0.1, -3.0),
    "in place": lambda x, y: x.clone().add_(y),
    "relu in place": lambda x, y: x.clone().relu_(),
    "onto itself": lambda x, y: (lambda z: z.mul_(z))(x.clone()),
    "masked": lambda x, y: x.masked_fill(y > 0, -1.0),
    "transposed": lambda x, y: (x.reshape(-1, 7).t() * 2 - 1).t().reshape(-1),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_tensors_are_as_their_parts(name: str) -> None:
    """Small tensors go another way, so that one holds the other to the same bits."""
    draw = np.random.default_rng(0)
    x, y = (draw.standard_normal(140_000).astype(np.float32) for _ in range(2))
    x[:4], y[:4] = [np.nan, -0.0, 0.0, np.inf], [1.0, 0.0, -0.0, np.nan]
    whole = LARGE[name](from_numpy(x), from_numpy(y)).numpy()
    parts = [
        LARGE[name](from_numpy(a), from_numpy(b)).numpy() for a, b in zip(np.split(x, 20), np.split(y, 20), strict=True)
    ]
    want = np.concatenate(parts)
    assert whole.dtype == want.dtype
    # The bits, but NaN for NaN: which of two NaNs an operation hands on is the processor's affair.
    nan = want != want
    np.testing.assert_array_equal(whole != whole, nan)
    np.testing.assert_array_equal(whole[~nan].view(np.uint8), want[~nan].view(np.uint8))


@pytest.mark.parametrize("name", ["add", "mul", "relu", "clamp", "sigmoid", "where", "maximum", "lt"])
def test_common_ops_have_steps(name: str) -> None:
    x = opweave.randn(70_000)
    calls = {"relu": (x,), "sigmoid": (x,), "clamp": (x, -1, 1), "where": (x > 0, x, x), "lt": (x, 1.0)}
    getattr(opweave, name)(*calls.get(name, (x, x)))
    found = [op.decl._ufunc_plans for op in OPS if op.opname == name]
    assert any(steps is not None for known in found for steps in known.values())


def test_what_is_traced() -> None:
    f8 = np.dtype("f8")
    found = trace(lambda x, y: (x + y) * 2.0, [f8, f8])
    assert found is not None
    assert found.steps == (Step(np.add, (Ref(0), Ref(1)), f8), Step(np.multiply, (Ref(-1), 2.0), f8))
    assert found.result == Ref(-2) and found.lives == ((), (0,))


def test_what_cannot_be_traced() -> None:
    f8 = np.dtype("f8")
    assert trace(lambda x: x if x.any() else -x, [f8]) is None
    assert trace(lambda x: np.cumsum(x), [f8]) is None
    assert trace(lambda x: x + np.ones(3), [f8]) is None
    assert trace(lambda x: np.asarray(x), [f8]) is None
    assert trace(lambda x: 1.0, [f8]) is None


def test_many_temporaries_share_memory() -> None:
    made = 0

    def chain(x: Any) -> Any:
        for i in range(20):
            x = x * 1.5 + i
        return x

    found = trace(chain, [np.dtype("f4")])
    assert found is not None
    empty = np.empty

    def counted(*args: Any, **kwargs: Any) -> Any:
        nonlocal made
        made += 1
        return empty(*args, **kwargs)

    x, out = np.arange(100_000, dtype=np.float32), np.zeros(100_000, np.float32)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(module.np, "empty", counted)
        found.run([x], out)
    np.testing.assert_array_equal(out, chain(x))
    assert made <= 3


def bits(array: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    return np.ascontiguousarray(array).view(np.uint8)


ZERO, ONE = (np.array(v, np.float32) for v in (0, 1))
LIMITED: dict[str, tuple[Any, str]] = {
    "relu": (lambda x: K.where(x < np.float32(0), np.zeros((), np.float32), x), "clip"),
    "both": (lambda x: opweave.clamp.default.decl.body(K, x, -0.5, 0.5), "clip"),
    "at zero": (lambda x: opweave.clamp.default.decl.body(K, x, 0.0, 1.0), "clip"),
    "below minus zero": (lambda x: opweave.clamp.default.decl.body(K, x, -1.0, -0.0), "clip"),
    "crossed": (lambda x: opweave.clamp.default.decl.body(K, x, 2.0, -2.0), "clip"),
    "below": (lambda x: opweave.clamp.default.decl.body(K, x, 0.25, None), "clip"),
    "above": (lambda x: opweave.clamp.default.decl.body(K, x, None, 0.25), "clip"),
    "of a sum": (lambda x: opweave.clamp.default.decl.body(K, x + x, -1.0, 1.0), "add clip"),
    "used twice": (
        lambda x: (lambda low: K.where(low > ONE, ONE, low) + low)(K.where(x < ZERO, ZERO, x)),
        "clip clip add",
    ),
    "another bound": (lambda x: K.where(x < ONE, ZERO, x), "less where"),
    "the other way": (lambda x: K.where(x > ZERO, x, ZERO), "greater where"),
    "NaN": (lambda x: K.where(x < np.array(np.nan, np.float32), np.array(np.nan, np.float32), x), "less where"),
    "comparison used": (lambda x: (lambda c: K.where(c, ZERO, x) * c)(x < ZERO), "less where multiply"),
    "another operand": (lambda x: K.where(x < ZERO, ZERO, x * ONE), "less multiply where"),
    "a wider bound": (lambda x: K.where(x < np.zeros(()), np.zeros(()), x), "clip"),
}


@pytest.mark.parametrize("name", LIMITED)
def test_limits_are_one_call(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 64)
    body, functions = LIMITED[name]
    special = [np.nan, -np.nan, 0.0, -0.0, np.inf, -np.inf, 0.5, -0.5, 1e-45, -1e-45]
    x = np.resize(np.array([*special, *np.random.default_rng(0).standard_normal(13)], np.float32), 1003)
    with np.errstate(all="ignore"):
        found = trace(body, [x.dtype])
        assert found is not None
        want = body(x)
        out = np.empty(x.shape, found.dtype)
        found.run([x], out)
    if name != "relu":
        assert " ".join(step.function.__name__ for step in found.steps) == functions
    np.testing.assert_array_equal(bits(out), bits(want))


@pytest.mark.parametrize("dtype", ["i1", "u1", "i4", "i8", "f8"])
def test_limits_of_other_types(dtype: str) -> None:
    x = np.arange(256).astype(dtype)
    found = trace(lambda v: opweave.clamp.default.decl.body(K, v, 3, 100), [x.dtype])
    assert found is not None and [step.function for step in found.steps] == [np.clip]
    out = np.empty_like(x)
    found.run([x], out)
    np.testing.assert_array_equal(out, np.minimum(np.maximum(x, x.dtype.type(3)), x.dtype.type(100)))
    below = trace(lambda v: opweave.clamp.default.decl.body(K, v, 3, None), [x.dtype])
    assert below is not None
    below.run([x], out)
    np.testing.assert_array_equal(out, np.maximum(x, x.dtype.type(3)))


@pytest.mark.parametrize("size", [1, 3, 70_000, 100_000])
def test_a_zero_at_a_limit_of_zero_keeps_its_sign(size: int) -> None:
    for zero in (0.0, -0.0):
        x = from_numpy(np.full(size, zero, np.float32))
        for found in (
            x.clamp(0, 1),
            x.clamp(min=-0.0),
            x.clamp(-1, 0),
            x.clamp(max=-0.0),
            x.relu(),
            x.clone().clamp_(0, 1),
        ):
            np.testing.assert_array_equal(np.signbit(found.numpy()), np.signbit(x.numpy()))


COUNT = 70_000


def large(seed: int = 0, count: int = COUNT, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    return (np.random.default_rng(seed).standard_normal(count) * 10).astype(dtype)


def test_numbers_that_are_equal_are_told_apart() -> None:
    a, i = large(), large(dtype=np.int64)
    x, n = from_numpy(a), from_numpy(i)
    zero = from_numpy(np.zeros(COUNT, np.float32))
    for _ in range(2):
        assert not np.signbit((zero * 0.0).numpy()).any() and np.signbit((zero * -0.0).numpy()).all()
        assert not np.signbit((zero.mul(0.0)).numpy()).any() and np.signbit((zero.mul(-0.0)).numpy()).all()
        assert (n * 1).dtype is dtypes.int64 and (n * 1.0).dtype is dtypes.float32 and (n * True).dtype is dtypes.int64
        assert (n > 0).dtype is dtypes.bool_
        np.testing.assert_array_equal((x + 1).numpy(), a + np.float32(1))
        np.testing.assert_array_equal((x + 2).numpy(), a + np.float32(2))
        np.testing.assert_array_equal(opweave.add(x, x, alpha=2).numpy(), a + a * np.float32(2))
        np.testing.assert_array_equal(opweave.add(x, x).numpy(), a + a)
        np.testing.assert_array_equal((n + 3).numpy(), i + 3)
        np.testing.assert_array_equal((n + 4).numpy(), i + 4)
        np.testing.assert_array_equal((n - (-200)).numpy(), i + 200)
        np.testing.assert_array_equal(opweave.where(x > 0, 2.0, x).numpy(), np.where(a > 0, np.float32(2), a))
        np.testing.assert_array_equal(opweave.lerp(x, x + 1, 0.25).numpy(), a + np.float32(0.25) * ((a + 1) - a))


def test_the_default_type_is_no_part_of_what_is_remembered() -> None:
    n = from_numpy(large(dtype=np.int32))
    assert n.sqrt().dtype is dtypes.float32 and (n / 2).dtype is dtypes.float32
    assert opweave.zeros(3).dtype is opweave.full((3,), 1.0).dtype is dtypes.float32
    try:
        dtypes.set_default_dtype(dtypes.float64)
        assert n.sqrt().dtype is dtypes.float64 and (n / 2).dtype is dtypes.float64
        assert opweave.zeros(3).dtype is opweave.full((3,), 1.0).dtype is dtypes.float64
    finally:
        dtypes.set_default_dtype(dtypes.float32)
    assert n.sqrt().dtype is dtypes.float32 and opweave.zeros(3).dtype is dtypes.float32


def test_an_integer_divided_by_zero_is_refused_each_time() -> None:
    n = from_numpy(large(dtype=np.int64))
    for _ in range(2):
        with pytest.raises(DivisionByZeroError):
            opweave.floor_divide(n, 0)
    np.testing.assert_array_equal((n // 3).numpy(), n.numpy() // 3)


def test_in_place_reads_before_it_writes() -> None:
    for _ in range(2):
        a = large(count=COUNT + 1)
        x = from_numpy(a.copy())
        x[1:].add_(x[:-1])
        np.testing.assert_array_equal(x.numpy(), np.concatenate([a[:1], a[1:] + a[:-1]]))
        # Two storages over one array, by one call and by pieces.
        b = a.copy()
        from_numpy(b[1:]).add_(from_numpy(b[:-1]))
        np.testing.assert_array_equal(b, x.numpy())
        c = a.copy()
        from_numpy(c[1:]).add_(from_numpy(c[:-1]), alpha=2)
        np.testing.assert_array_equal(c[1:], a[1:] + a[:-1] * np.float32(2))
        d = a.copy()
        opweave.add(from_numpy(d[:-1]), from_numpy(d[:-1]), alpha=2, out=from_numpy(d[1:]))
        np.testing.assert_array_equal(d[1:], a[:-1] + a[:-1] * np.float32(2))
        e = a.reshape(-1)[:COUNT].reshape(250, 280).copy()
        t = from_numpy(e.copy())
        t.add_(t[0])
        np.testing.assert_array_equal(t.numpy(), e + e[0])


def test_in_place_counts_and_refuses() -> None:
    x = from_numpy(large())
    version = x._version
    for _ in range(2):
        x.add_(1.0)
        x.mul_(x)
    assert x._version == version + 4
    for _ in range(2):
        with pytest.raises(OpweaveError):
            from_numpy(large(dtype=np.int64)).add_(1.5)
        with pytest.raises(ShapeError):
            opweave.zeros(1, COUNT).expand(3, COUNT).add_(1.0)
        with pytest.raises(ShapeError):
            x.add_(opweave.zeros(2, COUNT))


def test_layouts_of_large_operands() -> None:
    a, row = large(count=90_000).reshape(300, 300), large(3, 300)
    x, r = from_numpy(a), from_numpy(row)
    for _ in range(2):
        for got, want in (
            (x.t() + x.t(), (a + a).T), (x + x.t(), a + a.T), (x + r, a + row), (x * r.unsqueeze(1), a * row[:, None]),
            (x[::2, 1:] + 1.0, a[::2, 1:] + np.float32(1)), (x.t().to(opweave.float64), a.T.astype(np.float64)),
            (x[:, ::2].clone(), a[:, ::2]), (x.t().clone(), a.T), (x.t().relu(), np.maximum(a.T, np.float32(0))),
            (x.t()[:, 3:].sigmoid(), 1 / (1 + elementary("exp")(-a.T[:, 3:]))),
            (r.expand(300, 300).clone(), np.broadcast_to(row, a.shape)),
        ):  # fmt: skip
            np.testing.assert_array_equal(got.numpy(), want)
        part = from_numpy(a.copy())
        part[:, 1:].mul_(2.0)
        np.testing.assert_array_equal(part.numpy(), np.concatenate([a[:, :1], a[:, 1:] * 2], 1))
    assert (x.t() + x.t()).stride() == (1, 300) and (x + x.t()).stride() == (300, 1)
    assert x.t().clone().stride() == (1, 300)
    assert x.t().clone(memory_format=0).stride() == (300, 1)


def test_copies_share_nothing() -> None:
    for count in (5, COUNT):
        x = from_numpy(large(count=count))
        for _ in range(3):
            y = x.clone()
            assert y.data_ptr() != x.data_ptr()
            y.zero_()
        np.testing.assert_array_equal(x.numpy(), large(count=count))
    results = [x + x for _ in range(3)]
    assert len({t.data_ptr() for t in results}) == 3


CAST_TO = [
    dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64, dtypes.int8, dtypes.uint8, dtypes.int64,
    dtypes.bool_, dtypes.complex64,
]  # fmt: skip


@pytest.mark.parametrize("target", CAST_TO, ids=repr)
@pytest.mark.parametrize("source", ["f4", "f8", "f2", "i4", "u1", "?"])
def test_casts_of_large_tensors_are_as_their_parts(source: str, target: dtypes.DType) -> None:
    a = large(dtype=np.float64)
    a[:8] = [np.nan, np.inf, -np.inf, -0.0, 1e300, -1e300, 3e9, 300.7]
    with np.errstate(all="ignore"):
        a = a.astype(source)
    whole = from_numpy(a).to(target)
    parts = [from_numpy(part).to(target) for part in np.split(a, 7)]
    assert whole.dtype is target
    np.testing.assert_array_equal(bits(whole._array), np.concatenate([bits(part._array) for part in parts]))


BODIES = {
    "unused": lambda x, y: (x * y, x - y, x + y)[1],
    "an input": lambda x, y: (x * y, y)[1],
    "chain": lambda x, y: ((x + y) * x - y) / (y + x) * x,
    "all alive": lambda x, y: (lambda a, b, c: (a * b - c) * (b * c - a) + a * c)(x + y, x - y, x * y),
    "square": lambda x, y: (lambda a: a * a)(x + y),
    "chosen": lambda x, y: np.where(x > y, x + y, x - y) * np.where(x < y, y * x, 1.0),
    "chosen of one": lambda x, y: (lambda a, b: np.where(a > b, a, b))(x + y, y * y),
    "chosen zero": lambda x, y: np.where(x > y, 0.0, x + y) - np.where(x > y, x * y, 0.0),
    "compared": lambda x, y: (x + y > y) & (x * y < x) | ~(x == y),
    "converted": lambda x, y: ((x + y).astype(np.float64) * 3).astype(np.float32) - x,
    "bounded": lambda x, y: np.minimum(np.maximum(x + y, 0.0), 3.0) * np.maximum(x, -0.0),
}


FLOATING = ("chosen", "chosen zero", "converted", "bounded")
CASES = [
    (name, dtype, inputs)
    for name in BODIES
    for dtype in ("f4", "f8", "i4", "i8", "i2", "u1")
    for inputs in ("apart", "first", "second", "both", "converted")
    if dtype[0] == "f" or (name not in FLOATING and inputs != "converted")
]


@pytest.mark.parametrize(("name", "dtype", "inputs"), CASES)
def test_values_stay_apart(name: str, dtype: str, inputs: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "PIECE", 100)
    body = BODIES[name]
    x, y = (large(seed, 777, dtype) for seed in (1, 2))
    if inputs == "both":
        y = x
    with np.errstate(all="ignore"):
        found = trace(body, [x.dtype, y.dtype])
        assert found is not None
        given = [x, y.copy() if inputs == "apart" else y]
        out = np.empty(777, found.dtype)
        if inputs == "converted":
            given[0] = x.astype("f4").astype({"f4": "f8", "f8": "f4"}[dtype])
        elif inputs != "apart" and found.dtype == x.dtype:
            out = given[0] if inputs in ("first", "both") else given[1]
        want = np.asarray(body(given[0].astype(dtype), y)).astype(found.dtype)
        kept = [v.copy() for v in given]
        found.run(given, out)
    np.testing.assert_array_equal(bits(out), bits(want))
    for value, before in zip(given, kept, strict=True):
        if value is not out:
            np.testing.assert_array_equal(value, before)


def repeated(value: Any, count: int) -> Any:
    """A sample's argument for as many samples at once; tensors without dimensions stay as they are."""
    if not isinstance(value, Tensor) or not value._sizes:
        return value
    return from_numpy(np.broadcast_to(value.numpy(), (count, *value._sizes)).copy())


@pytest.mark.parametrize("least", [1500, 70_000], ids=["replayed", "large"])
@pytest.mark.parametrize("op", OPS, ids=lambda op: op.name)
def test_every_op_does_the_same_to_large_tensors(op: Any, least: int) -> None:
    inplace = getattr(opweave.ops.aten, f"{op.opname}_", None)
    for dtype in (dtypes.float32, dtypes.int64, dtypes.uint8):
        try:
            samples = list(op.decl.samples(maker(dtype)))
        except Exception:  # samples of other types
            continue
        for args, kwargs in samples[:3]:
            tensors = [a for a in (*args, *kwargs.values()) if isinstance(a, Tensor) and a._sizes]
            if (
                not tensors
                or len({t._sizes for t in tensors}) > 1
                or any(t.dtype.numpy.name == "bfloat16" for t in tensors)
            ):
                continue
            try:
                want = op(*args, **kwargs)
            except OpweaveError:
                continue
            count = least // max(tensors[0].numel(), 1) + 1
            for _ in range(3):
                many = [repeated(a, count) for a in args]
                given = [a.numpy().copy() if isinstance(a, Tensor) else None for a in many]
                found = op(*many, **{name: repeated(a, count) for name, a in kwargs.items()})
                assert found.dtype is want.dtype
                expected = np.broadcast_to(want._array, found._sizes)
                np.testing.assert_array_equal(bits(found._array), bits(expected))
                for value, before in zip(many, given, strict=True):
                    if isinstance(value, Tensor):
                        np.testing.assert_array_equal(value.numpy(), before)
                if inplace is not None and want.dtype is many[0].dtype and want._sizes == args[0]._sizes:
                    try:
                        inplace(*many, **{name: repeated(a, count) for name, a in kwargs.items()})
                    except OpweaveError:
                        continue
                    np.testing.assert_array_equal(bits(many[0]._array), bits(expected))


@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_replayed_steps_are_one_loop(dtype: str) -> None:
    """From 1024 elements on that lie alike; special values, numbers and what is in place too."""
    special = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 1e-38, -3.0, 3.0, 65504.0, -1e-45], np.float32)
    base = np.concatenate([special, np.random.default_rng(0).standard_normal(2038).astype(np.float32) * 4])
    x = from_numpy(base).to(getattr(dtypes, dtype)).reshape(32, 64)
    functions: dict[str, Callable[[Any], Any]] = {
        "leaky_relu": lambda x: opweave.nn.functional.leaky_relu(x, 0.1),
        "sign": lambda x: x.sign(),
        "remainder": lambda x: x % 0.7,
        "hardswish": opweave.nn.functional.hardswish,
        "threshold": lambda x: opweave.nn.functional.threshold(x, 0.5, -1.0),
        "addcmul": lambda x: opweave.addcmul(x, x, x, value=0.5),
        "lerp": lambda x: opweave.lerp(x, x * 0 + 1, 0.3),
        "nan_to_num": lambda x: opweave.nan_to_num(x),
    }
    for name, function in functions.items():
        parts = opweave.cat([function(row.clone()) for row in x])
        for t in (x, x.t().contiguous().t()):
            for _ in range(3):
                found = function(t.clone())
                np.testing.assert_array_equal(bits(found.contiguous()._array.reshape(-1)), bits(parts._array), name)
    y = [x.clone() for _ in range(3)]
    for t in y:
        opweave.nn.functional.leaky_relu_(t, 0.1)
        np.testing.assert_array_equal(bits(t._array), bits(functions["leaky_relu"](x)._array))
    if dtype == "float32" and registry.builtin_version == registry.shipped_version and not registry.fallbacks:
        tape, _ = record(opweave.ops.aten.leaky_relu.default, (x, 0.1), {})
        assert [type(loop.function) for loop in tape.loops] == [RowProgram]


def test_large_tensors_go_by_steps():
    """They are found by the layout, which was switched off once without any result being another."""
    x, y = opweave.rand(300, 300), opweave.rand(300, 300)
    for op, args in ((opweave.ops.aten.add.Tensor, (x, y)), (opweave.ops.aten.sigmoid.default, (x,))):
        op.decl.forget()
        op(*args)
        op(*[t.t() for t in args])
        assert [type(plan).__name__ for plan in (*op.decl._plans.values(), *op.decl._large.values())].count(
            "_Large"
        ) == 2
        assert op.decl._ufunc_plans

"""Row programs: what eager kernels of large tensors compute of each row in native code, beside float64 and NumPy."""

from __future__ import annotations

import signal
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import opweave
from opweave.codegen import rows as native_rows
from opweave.nn import functional as F
from opweave.registry import rows
from opweave.registry.loading import HAS_NATIVE
from opweave.registry.ops.outer_places import add_rows

pytestmark = pytest.mark.skipif(not HAS_NATIVE, reason="there is no native code on this system")

DTYPES = ["float32", "bfloat16", "float16"]
#: Of a result with a magnitude of 1: roundings of float32 and of the type.
TOLERANCE = {"float32": 4e-6, "bfloat16": 4.5e-3, "float16": 6e-4}
#: Even rows, rows that end within a vector, long ones, short ones.
SIZES = [(128, 1024), (201, 701), (2, 70001), (3000, 33)]
Op = Callable[..., Any]
ATEN = opweave.ops.aten


def drawn(*sizes: int, dtype: str = "float32", seed: int = 0, scale: float = 2.0) -> opweave.Tensor:
    values = np.random.default_rng(seed).standard_normal(sizes) * scale
    return opweave.from_numpy(np.asarray(values, np.float32)).to(getattr(opweave, dtype))


def wide(t: Any) -> np.ndarray:
    return t.detach().to(opweave.float64).numpy()


def bits(t: Any) -> bytes:
    return t.detach().reshape(-1).view(opweave.uint8).numpy().tobytes()


def by_numpy(monkeypatch: pytest.MonkeyPatch, call: Callable[[], Any]) -> Any:
    """What the way without native code gives."""
    with monkeypatch.context() as patch:
        patch.setattr(rows.native, "call", None)
        return call()


@pytest.fixture
def ran(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the programs that ran."""
    names: list[str] = []
    inner = rows.native.call
    assert inner is not None

    def call(program: Any, *args: Any) -> Any:
        names.append(program.name)
        return inner(program, *args)

    monkeypatch.setattr(rows.native, "call", call)
    return names


ALONG_ROWS: dict[str, Op] = {
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(-1),
    "logsumexp": lambda x: x.logsumexp(-1),
    "sum": lambda x: x.sum(-1),
    "mean": lambda x: x.mean(-1, keepdim=True),
    "prod": lambda x: (x * 0.001 + 1).prod(-1),
    "amax": lambda x: x.amax(-1),
    "amin": lambda x: x.amin(-1),
    "norm": lambda x: opweave.linalg.vector_norm(x, dim=-1),
    "norm 1": lambda x: opweave.linalg.vector_norm(x, 1, dim=-1),
    "norm inf": lambda x: opweave.linalg.vector_norm(x, float("inf"), dim=-1),
    "layer_norm": lambda x: F.layer_norm(x, x.shape[1:]),
    "sum of all": lambda x: x.sum(),
    "mean of all": lambda x: x.mean(),
    "amax of all": lambda x: x.amax(),
    "norm of all": lambda x: opweave.linalg.vector_norm(x),
}


@pytest.mark.parametrize("sizes", SIZES, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ALONG_ROWS)
def test_results_are_those_of_float64(name: str, dtype: str, sizes: tuple[int, ...], ran: list[str]) -> None:
    op = ALONG_ROWS[name]
    x = drawn(*sizes, dtype=dtype)
    found = op(x)
    assert ran
    wanted = wide(op(x.to(opweave.float64)))
    assert found.dtype is x.dtype and found.shape == wanted.shape
    # What cancels is as exact as the sizes of what is added up.
    size = np.abs(wide(x)).sum(-1).max() if "sum" in name else 1.0
    size = max(size, np.sqrt(x.numel())) if name in ("sum of all", "mean of all") else size
    close = TOLERANCE[dtype]
    if name == "prod":  # of what was rounded before
        wanted, close = np.prod(wide(x * 0.001 + 1), -1), close + sizes[-1] ** 0.5 * 1.2e-7
    if dtype == "float16":
        wanted = np.where(np.abs(wanted) > 65519, np.inf, wanted)
    np.testing.assert_allclose(wide(found), wanted, rtol=close, atol=1e-6 * size + (6e-8 if dtype == "float16" else 0))


def test_a_sum_of_many_is_as_exact_as_pairwise() -> None:
    values = np.random.default_rng(1).random((2, 3_000_000), np.float32)
    x = opweave.from_numpy(values)
    exact = values.astype(np.float64)
    np.testing.assert_allclose(wide(x.sum(-1)), exact.sum(-1), rtol=5e-7)
    np.testing.assert_allclose(wide(x.sum()), exact.sum(), rtol=5e-7)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "logsumexp", "sum", "amax", "amin", "norm", "layer_norm"])
def test_what_is_not_finite_in_a_row_stays_there(name: str, dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = drawn(130, 701, dtype=dtype)
    inf, nan = float("inf"), float("nan")
    x[1, 5] = nan
    x[2, 700] = nan
    x[3, 3] = inf
    x[4, 3] = -inf
    x[5, :] = -inf
    x[6, 0], x[6, 699] = inf, -inf
    x[7, :] = -0.0
    op = ALONG_ROWS[name]
    found, wanted = wide(op(x)), wide(by_numpy(monkeypatch, lambda: op(x)))
    np.testing.assert_allclose(found, wanted, rtol=2 * TOLERANCE[dtype], atol=1e-3)
    np.testing.assert_array_equal(np.signbit(found[7]), np.signbit(wanted[7]))


@pytest.mark.parametrize("dtype", DTYPES)
def test_sums_over_rows_are_those_of_float64(dtype: str) -> None:
    for sizes, dims in (((300, 701), [0]), ((20, 30, 257), [0, 1])):
        x = drawn(*sizes, dtype=dtype)
        wanted = wide(x).sum(tuple(dims))
        np.testing.assert_allclose(wide(x.sum(dims)), wanted, rtol=TOLERANCE[dtype], atol=2e-4)


# ---- gradients and normalisations ----------------------------------------------------------------------------------


def _image(dtype: str) -> opweave.Tensor:
    return drawn(4, 6, 61, 67, dtype=dtype)


def _channels(dtype: str, seed: int) -> opweave.Tensor:
    return drawn(6, dtype=dtype, seed=seed)


DIFFERENTIATED: dict[str, tuple[Op, Op]] = {
    "softmax": (lambda d: [drawn(128, 701, dtype=d)], lambda x: x.softmax(-1)),
    "log_softmax": (lambda d: [drawn(128, 701, dtype=d)], lambda x: x.log_softmax(-1)),
    "layer_norm": (
        lambda d: [drawn(128, 701, dtype=d), drawn(701, dtype=d, seed=1), drawn(701, dtype=d, seed=2)],
        lambda x, w, b: F.layer_norm(x, (701,), w, b),
    ),
    "layer_norm without a bias": (
        lambda d: [drawn(16, 8, 701, dtype=d), drawn(8, 701, dtype=d, seed=1)],
        lambda x, w: F.layer_norm(x, (8, 701), w),
    ),
    "plain layer_norm": (lambda d: [drawn(128, 701, dtype=d)], lambda x: F.layer_norm(x, (701,))),
    "group_norm": (lambda d: [_image(d), _channels(d, 1), _channels(d, 2)], lambda x, w, b: F.group_norm(x, 3, w, b)),
    "plain group_norm": (lambda d: [_image(d)], lambda x: F.group_norm(x, 2)),
    "batch_norm": (
        lambda d: [_image(d), _channels(d, 1), _channels(d, 2)],
        lambda x, w, b: F.batch_norm(x, None, None, w, b, training=True),
    ),
    "batch_norm without a weight": (
        lambda d: [_image(d), _channels(d, 2)], lambda x, b: F.batch_norm(x, None, None, None, b, training=True),
    ),
    "mse_loss": (lambda d: [drawn(300, 701, dtype=d), drawn(300, 701, dtype=d, seed=1)], F.mse_loss),
}  # fmt: skip


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", DIFFERENTIATED)
def test_gradients_are_those_of_float64(name: str, dtype: str) -> None:
    make, op = DIFFERENTIATED[name]

    def results(given: list[Any]) -> list[np.ndarray]:
        leaves = [t.detach().requires_grad_() for t in given]
        found = op(*leaves)
        up = drawn(*found.shape, seed=7, scale=1.0).to(found.dtype)
        return [wide(found), *(wide(g) for g in opweave.autograd.grad(found, leaves, up))]

    given = make(dtype)
    found, wanted = results(given), results([t.to(opweave.float64) for t in given])
    with opweave.no_grad():
        plain = wide(op(*given))
    np.testing.assert_allclose(plain, wanted[0], atol=8 * TOLERANCE[dtype] * max(1, np.abs(wanted[0]).max() / 8))
    for got, exact in zip(found, wanted, strict=True):
        assert np.abs(got - exact).max() <= 4 * TOLERANCE[dtype] * max(np.abs(exact).max(), 1e-4)


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", [name for name in DIFFERENTIATED if "norm" in name])
def test_what_is_infinite_is_no_warning(name: str) -> None:
    make, op = DIFFERENTIATED[name]
    given = [t.requires_grad_() for t in make("float32")]
    with opweave.no_grad():
        given[0][0, 1], given[0][1, 1] = float("inf"), -float("inf")
    found = op(*given)
    gradients = opweave.autograd.grad(found, given, opweave.ones_like(found))
    assert np.isnan(wide(found)).any() and all(np.isnan(wide(g)).any() for g in gradients[:1])


@pytest.mark.parametrize("dtype", DTYPES)
def test_running_statistics_normalise_images(dtype: str, ran: list[str]) -> None:
    x, mean, weight, bias = _image(dtype), _channels(dtype, 1), _channels(dtype, 2), _channels(dtype, 3)
    variance = _channels(dtype, 4).abs() + 0.5

    def call(*given: Any) -> Any:
        return F.batch_norm(given[0], given[1], given[2], given[3], given[4])

    given = x, mean, variance, weight, bias
    found = call(*given)
    assert ran
    wanted = wide(call(*(t.to(opweave.float64) for t in given)))
    np.testing.assert_allclose(wide(found), wanted, atol=4 * TOLERANCE[dtype] * np.abs(wanted).max())


def test_an_image_far_from_zero_keeps_its_variance() -> None:
    x = drawn(4, 3, 100, 100) + 3000.0
    found = F.batch_norm(x, None, None, training=True)
    wanted = F.batch_norm(x.to(opweave.float64), None, None, training=True)
    np.testing.assert_allclose(wide(found), wide(wanted), atol=2e-3)


# ---- where they run ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["softmax", "sum", "sum of all", "norm of all", "layer_norm"])
def test_the_number_of_threads_changes_no_bit(name: str) -> None:
    x, op = drawn(700, 701, dtype="bfloat16"), ALONG_ROWS[name]
    image = drawn(16, 6, 40, 40).requires_grad_()
    before, found = opweave.get_num_threads(), []
    try:
        for count in (1, 2, 5):
            opweave.set_num_threads(count)
            total = F.group_norm(image, 2).square().sum()
            found.append((bits(op(x)), bits(opweave.autograd.grad(total, [image])[0])))
    finally:
        opweave.set_num_threads(before)
    assert len(set(found)) == 1


def test_other_layouts_types_and_sizes_go_another_way(ran: list[str]) -> None:
    x = drawn(400, 701)
    for y in (x.t(), x[:, ::2], x.to(opweave.float64), x[:5], x.reshape(-1, 1)):
        np.testing.assert_allclose(wide(y.sum(-1)), wide(y).sum(-1), atol=1e-3)
    assert not ran
    assert opweave.zeros(0, 70000).sum(-1).shape == (0,) and opweave.zeros(70000, 0).softmax(-1).numel() == 0
    assert not ran


#: Rows along a dimension that is not the last: behind it are 16 at least, and not a multiple of that.
ACROSS = [((16, 64, 32, 33), 1), ((1400, 3, 17), 1), ((2, 3000, 19), 1), ((128, 1024), 0), ((5, 7, 301, 16), 2)]


@pytest.mark.parametrize(("sizes", "dim"), ACROSS, ids=str)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("name", ["softmax", "log_softmax", "amax", "prod", "sum", "norm", "norm inf"])
def test_rows_across_memory_are_as_those_along_it(
    name: str, dtype: str, sizes: tuple[int, ...], dim: int, ran: list[str]
) -> None:
    x = drawn(*sizes, dtype=dtype)
    turned = x.transpose(dim, -1)
    across: dict[str, Op] = {
        "softmax": lambda x: x.softmax(dim), "log_softmax": lambda x: x.log_softmax(dim), "amax": lambda x: x.amax(dim),
        "prod": lambda x: (x * 0.001 + 1).prod(dim), "sum": lambda x: x.sum(dim),
        "norm": lambda x: opweave.linalg.vector_norm(x, dim=dim),
        "norm inf": lambda x: opweave.linalg.vector_norm(x, float("inf"), dim=dim),
    }  # fmt: skip
    found = across[name](x)
    wanted = ALONG_ROWS[name](turned.to(opweave.float64))
    if wanted.ndim == x.ndim:
        wanted = wanted.transpose(dim, -1)
    elif dim < x.ndim - 1:  # the last dimension stands where the one that went was
        wanted = wanted.movedim(dim, -1)
    assert ran or dtype == "float32" and not dim
    wanted, close = wide(wanted), TOLERANCE[dtype]
    if name == "prod":  # of what was rounded before
        wanted, close = np.prod(wide(x * 0.001 + 1), dim), close + sizes[dim] ** 0.5 * 1.2e-7
    size = np.abs(wide(x)).sum(dim).max() if name == "sum" else 1.0
    np.testing.assert_allclose(wide(found), wanted, rtol=close, atol=1e-6 * size + 1e-7)


def test_what_is_not_finite_across_memory_stays_in_its_row() -> None:
    x = drawn(30, 40, 65)
    x[0, 3, 5], x[1, 2, 64], x[2, 1, 17] = float("nan"), float("inf"), -float("inf")
    with np.errstate(invalid="ignore"):
        powers = np.exp(wide(x) - wide(x).max(1, keepdims=True))
        np.testing.assert_allclose(wide(x.softmax(1)), powers / powers.sum(1, keepdims=True), atol=1e-6)
    assert np.array_equal(wide(x.amax(1)), wide(x).max(1), equal_nan=True)


def test_gradients_of_rows_across_memory() -> None:
    for op in (lambda x: x.softmax(1), lambda x: x.log_softmax(1)):
        x = drawn(16, 64, 70).requires_grad_()
        weight = drawn(16, 64, 70, seed=1)
        exact = x.detach().to(opweave.float64).requires_grad_()
        (op(x) * weight).sum().backward()
        (op(exact) * weight).sum().backward()
        np.testing.assert_allclose(wide(x.grad), wide(exact.grad), rtol=1e-5, atol=2e-6)


@pytest.mark.parametrize(("sizes", "dim"), [((300, 401), 1), ((2, 70001), 1), *ACROSS], ids=str)
@pytest.mark.parametrize("dtype", [*DTYPES, "bool"])
def test_running_totals_are_those_of_float64(sizes: tuple[int, ...], dim: int, dtype: str, ran: list[str]) -> None:
    x = drawn(*sizes)
    x.reshape(-1)[5], x.reshape(-1)[-3] = float("inf"), float("nan")
    x = x.to(getattr(opweave, dtype))
    for op in (opweave.cumsum, opweave.cumprod):
        found = op(x, dim, dtype=opweave.float32 if dtype == "bool" else x.dtype)
        exact = op(x.to(opweave.float64), dim)
        close = 1.2e-7 if found.dtype is opweave.float32 else 0  # half types are rounded once
        np.testing.assert_allclose(wide(found), wide(exact.to(found.dtype)), rtol=close, atol=1.2e-7)
    assert len(ran) >= 1
    assert not np.signbit(wide(opweave.full((70000,), -0.0).cumsum(0))).any()


def test_out_takes_the_result() -> None:
    x = drawn(256, 701, dtype="bfloat16")
    for name, op in (("softmax", ATEN._softmax), ("log_softmax", ATEN._log_softmax)):
        out = opweave.empty(256, 701, dtype=opweave.bfloat16)
        assert op.out(x, -1, False, out=out) is out, name
        assert bits(out) == bits(getattr(x, name)(-1))
    total = opweave.empty(256, dtype=opweave.bfloat16)
    opweave.sum(x, -1, out=total)
    assert bits(total) == bits(x.sum(-1))


def test_batches_and_traces_give_the_same() -> None:
    x = drawn(8, 64, 701, dtype="bfloat16")
    wanted = x.softmax(-1)
    assert bits(opweave.func.vmap(lambda y: y.softmax(-1))(x)) == bits(wanted)
    compiled = opweave.compile(lambda y: y.softmax(-1))(x)
    np.testing.assert_allclose(wide(compiled), wide(wanted), rtol=1e-2)


class _FromHandler(Exception):
    pass


def _again_and_again(call: Callable[[], Any]) -> None:
    for _ in range(1000):
        call()


def test_what_a_signal_handler_raises_arrives() -> None:
    x = drawn(4000, 4001, dtype="bfloat16")
    x.log_softmax(-1)

    def handler(number: int, frame: object) -> None:
        raise _FromHandler

    before = signal.signal(signal.SIGALRM, handler)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(_FromHandler):
            _again_and_again(lambda: x.log_softmax(-1))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)
    np.testing.assert_allclose(wide(x[:2].float().log_softmax(-1).exp().sum(-1)), 1, rtol=1e-4)


# ---- pointwise ops -------------------------------------------------------------------------------------------------

#: Each is exact: the steps round as NumPy's do.
EXACT: dict[str, Op] = {
    "add": lambda x, y: x + y, "sub": lambda x, y: x - y, "mul": lambda x, y: x * y, "div": lambda x, y: x / y,
    "add number": lambda x, y: x + 0.3, "alpha": lambda x, y: opweave.add(x, y, alpha=-0.7),
    "rsub": lambda x, y: 1 - x, "neg": lambda x, y: -x, "abs": lambda x, y: x.abs(), "square": lambda x, y: x**2,
    "maximum": lambda x, y: opweave.maximum(x, y), "minimum": lambda x, y: opweave.minimum(x, y),
    "clamp": lambda x, y: x.clamp(-1, 0), "clamp_min": lambda x, y: x.clamp_min(0.0), "relu": lambda x, y: x.relu(),
    "leaky_relu": lambda x, y: F.leaky_relu(x, 0.1), "sign": lambda x, y: x.sign(), "floor": lambda x, y: x.floor(),
    "round": lambda x, y: x.round(), "sqrt": lambda x, y: x.sqrt(), "rsqrt": lambda x, y: x.rsqrt(),
    "reciprocal": lambda x, y: x.reciprocal(), "addcmul": lambda x, y: opweave.addcmul(x, x, y, value=0.5),
    "hardtanh": lambda x, y: F.hardtanh(x), "lerp": lambda x, y: opweave.lerp(x, y, 0.3),
    "hardswish": lambda x, y: F.hardswish(x),
    "threshold": lambda x, y: F.threshold(x, 0.1, 20.0),
}  # fmt: skip
#: These have formulas of the kernels'.
NEAR: dict[str, Op] = {
    "exp": lambda x, y: x.exp(), "exp2": lambda x, y: x.exp2(), "expm1": lambda x, y: x.expm1(),
    "log": lambda x, y: x.log(), "log2": lambda x, y: x.log2(), "log10": lambda x, y: x.log10(),
    "log1p": lambda x, y: x.log1p(), "tanh": lambda x, y: x.tanh(), "erf": lambda x, y: x.erf(),
    "sigmoid": lambda x, y: x.sigmoid(), "silu": lambda x, y: F.silu(x), "gelu": lambda x, y: F.gelu(x),
    "gelu tanh": lambda x, y: F.gelu(x, approximate="tanh"), "softplus": lambda x, y: F.softplus(x),
    "elu": lambda x, y: F.elu(x), "mish": lambda x, y: F.mish(x),
}  # fmt: skip


def _all_halves(dtype: str) -> tuple[opweave.Tensor, opweave.Tensor]:
    """All numbers of a half type, beside others."""
    every = np.arange(1 << 16, dtype=np.uint16)
    given = np.concatenate([every, every[:77]]), np.concatenate([every[::-1] * np.uint16(7919), every[:77]])
    x, y = (opweave.from_numpy(v.astype(np.uint16).view(np.int16)).view(getattr(opweave, dtype)) for v in given)
    return x, y


def _same(found: Any, wanted: Any, ulps: int) -> None:
    """NaN in the same places, and numbers as near as some units in the last place."""
    none = np.isnan(wide(wanted))
    np.testing.assert_array_equal(np.isnan(wide(found)), none)
    a, b = (t.view(opweave.int16 if t.element_size() == 2 else opweave.int32).numpy()[~none] for t in (found, wanted))
    least = np.iinfo(a.dtype).min
    a, b = (np.where(v < 0, np.int64(least) - v.astype(np.int64), v.astype(np.int64)) for v in (a, b))
    assert np.abs(a - b).max(initial=0) <= ulps


@pytest.mark.parametrize("dtype", ["bfloat16", "float16"])
@pytest.mark.parametrize("name", [*EXACT, *NEAR])
def test_half_types_are_rounded_once(name: str, dtype: str, ran: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    op = EXACT.get(name) or NEAR[name]
    x, y = _all_halves(dtype)
    found = op(x, y)
    assert ran
    wanted = by_numpy(monkeypatch, lambda: op(x, y))
    if name == "gelu tanh":  # where 1 + tanh cancels, all of it is what either rounds
        np.testing.assert_allclose(wide(found), wide(wanted), rtol=TOLERANCE[dtype], atol=4e-6)
    else:
        _same(found, wanted, 0 if name in EXACT else 1)


@pytest.mark.parametrize("name", [*EXACT, *NEAR])
def test_float32_has_the_bits_that_small_tensors_have(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    op = EXACT.get(name) or NEAR[name]
    x, y = drawn(100_003), drawn(100_003, seed=1)
    special = [0.0, -0.0, float("nan"), float("inf"), -float("inf"), 1e-40]
    x[: len(special)], y[3 : 3 + len(special)] = (opweave.tensor(special) for _ in range(2))
    _same(op(x, y), by_numpy(monkeypatch, lambda: op(x, y)), 0)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_and_columns_broadcast(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    x = drawn(40, 50, 67, dtype=dtype)
    for sizes in ((67,), (50, 67), (40, 1, 1), (40, 50, 1), (1, 50, 1), (1,), ()):
        y = drawn(*sizes, dtype=dtype, seed=1)
        for op in (lambda a, b: opweave.add(a, b, alpha=0.3), lambda a, b: b * a, opweave.maximum):
            _same(op(x, y), by_numpy(monkeypatch, lambda op=op, y=y: op(x, y)), 0)


def test_writes_in_place_read_what_was_there(monkeypatch: pytest.MonkeyPatch) -> None:
    x = drawn(300, 701, dtype="bfloat16")
    for op in (lambda t: t.mul_(0.3), lambda t: t.add_(t), lambda t: t.sigmoid_(), lambda t: t.add_(t[0], alpha=2)):
        found, wanted = x.clone(), x.clone()
        version = found._version
        op(found)
        by_numpy(monkeypatch, lambda op=op, t=wanted: op(t))
        _same(found, wanted, 1)
        assert found._version == version + 1
    overlapping = drawn(100_001, dtype="bfloat16")
    wanted = (wide(overlapping)[1:] + wide(overlapping)[:-1]).astype(np.float32)
    overlapping[1:].add_(overlapping[:-1])
    np.testing.assert_allclose(wide(overlapping)[1:], wanted, rtol=4.5e-3, atol=1e-6)


def test_another_number_needs_no_other_code() -> None:
    x = drawn(100_003, dtype="bfloat16")
    assert x.mul(0.5).numel()
    before = native_rows._loaded.cache_info().misses
    for number in (0.25, 3.0, -1e-3):
        np.testing.assert_allclose(wide(x * number), wide(x) * np.float32(number), rtol=4.5e-3)
    assert native_rows._loaded.cache_info().misses == before


def test_turned_tensors_stay_turned(monkeypatch: pytest.MonkeyPatch) -> None:
    x = drawn(300, 701, dtype="bfloat16").t()
    found = x.sigmoid()
    assert found.stride() == x.stride()
    _same(found.t(), by_numpy(monkeypatch, lambda: x.sigmoid()).t(), 1)


VIEWS: dict[str, Op] = {
    "columns": lambda x: x[:, 3:640],
    "rows apart": lambda x: x[::2],
    "parts of a dimension": lambda x: x[:, :600].reshape(300, 2, 300)[:, :1],
    "every other": lambda x: x[:, ::2],
    "turned": lambda x: x.t(),
    "a row again": lambda x: x[:1].expand(300, 701),
    "a number again": lambda x: x[0, 0].expand(300, 701),
    "a column again": lambda x: x[:, :1].expand(300, 701),
}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
@pytest.mark.parametrize("name", VIEWS)
def test_views_give_the_bits_of_their_copies(name: str, dtype: str) -> None:
    x, y = (VIEWS[name](drawn(300, 701, dtype=dtype, seed=seed)) for seed in (0, 1))
    full = drawn(*x.shape, dtype=dtype, seed=2)
    for op in (lambda a, b: a + b * 2, opweave.add, opweave.maximum, lambda a, b: opweave.where(a > b, a, b)):
        for other in (y, full):
            found, wanted = op(x, other), op(x.contiguous(), other.contiguous())
            assert bits(found.contiguous()) == bits(wanted)
    grown = full.clone()
    grown.add_(x)
    assert bits(grown) == bits(full + x.contiguous())


def test_a_mask_broadcasts(ran: list[str]) -> None:
    scores = drawn(6, 4, 70, 80)
    scores.reshape(-1)[:3] = opweave.tensor([float("nan"), -0.0, float("inf")])
    for mask in (drawn(70, 80), drawn(6, 4, 70, 1), drawn(6, 1, 1, 1), drawn(6, 4, 70, 80)):
        kept = mask > 0
        found = opweave.where(kept, scores, -float("inf"))
        wanted = np.where(kept.numpy(), scores.numpy(), np.float32(-np.inf))
        assert found.numpy().tobytes() == wanted.tobytes()
        assert (
            scores.masked_fill(kept, 2.0).numpy().tobytes() == np.where(kept.numpy(), np.float32(2), scores).tobytes()
        )
    assert ran


def test_remainders_of_float32_are_exact() -> None:
    draw = np.random.default_rng(0)
    any_bits = draw.integers(0, 1 << 32, (2, 1 << 17), dtype=np.uint32).view(np.float32)
    divisors = draw.integers(1, 1 << 24, 1 << 17).astype(np.float32) * np.float32(2) ** draw.integers(-20, 20, 1 << 17)
    multiples = (divisors * draw.integers(1, 1 << 20, 1 << 17)).astype(np.float32)
    near = (multiples.view(np.int32) + draw.integers(-1, 2, 1 << 17)).astype(np.int32).view(np.float32)
    edges = np.array([0, -0.0, 1, -3, np.inf, -np.inf, np.nan, 1e-45, 3.4e38, -1e-40], np.float32)
    pairs = np.tile(np.stack([g.ravel() for g in np.meshgrid(edges, edges)]), 700)
    for a, b in (any_bits, (near, divisors.astype(np.float32)), pairs):
        x, y = (opweave.from_numpy(np.ascontiguousarray(v, np.float32)) for v in (a, b))
        with np.errstate(all="ignore"):
            rest, floored = np.fmod(x.numpy(), y.numpy()), np.floor_divide(x.numpy(), y.numpy())
            turned = np.where((rest != 0) & ((rest < 0) != (y.numpy() < 0)), rest + y.numpy(), rest)
        for op, wanted in ((opweave.fmod, rest), (opweave.floor_divide, floored), (opweave.remainder, turned)):
            for function in (op, opweave.compile(op)):
                found = function(x, y).numpy()
                np.testing.assert_array_equal(found, wanted)
                np.testing.assert_array_equal(np.signbit(found[found == 0]), np.signbit(wanted[wanted == 0]))


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_rows_are_added_in_their_order(dtype: str, ran: list[str]) -> None:
    x, source = drawn(30, 400, dtype=dtype), drawn(300, 400, dtype=dtype, seed=1)
    places = np.random.default_rng(2).integers(0, 30, 300)
    wanted = x.to(opweave.float32).numpy().copy()
    np.add.at(wanted, places, source.to(opweave.float32).numpy())
    found = x.clone()
    assert found.index_add_(0, opweave.from_numpy(places), source) is found
    assert bits(found) == bits(opweave.from_numpy(wanted).to(x.dtype))
    target = x.to(opweave.float32).numpy().copy()
    add_rows(target, places, source.to(opweave.float32).numpy())
    assert ran and target.tobytes() == wanted.tobytes()
    assert bits(x.index_add(0, opweave.from_numpy(places), source)) == bits(found)

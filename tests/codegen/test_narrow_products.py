"""Products of bfloat16, float16 and int8 by native code, beside NumPy in float64 and in whole numbers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
from emulated_tiles import emulated_tiles

import opweave
from opweave.codegen import narrow_products
from opweave.codegen.host.steps import Product
from opweave.codegen.native import launch, llvm, narrow_products as native, objects, pool
from opweave.codegen.wrapper import host_program
from opweave.passes import products as products_pass
from opweave.registry import dtypes, replay
from opweave.registry.device import Device
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.tensor import Tensor
from opweave.testing import assert_close

aten = opweave.ops.aten
HALVES = (opweave.bfloat16, opweave.float16)
#: Rows, summands, columns: parts of groups, of registers, of panels, of blocks of rows, and several blocks of summands.
SIZES = [
    (1, 1, 1), (3, 5, 7), (16, 32, 16), (17, 33, 65), (100, 64, 130), (200, 513, 70), (1, 300, 200), (5, 0, 4),
    (0, 3, 3), (33, 1100, 17), (6, 64, 48), (97, 3, 1), (15, 31, 257), (127, 129, 63), (300, 192, 40), (5, 640, 901),
    (32, 1024, 512),
]  # fmt: skip
#: How an operand lies: in order, transposed, every other row, every other column.
LAYOUTS = ("plain", "turned", "rows", "columns")
rng = np.random.default_rng(0)


def laid(values: np.ndarray, dtype: Any, layout: str) -> Tensor:
    """A tensor with these values that lies in memory as it is called."""
    x = opweave.from_numpy(values).to(dtype)
    if layout == "turned":
        return x.mT.contiguous().mT
    if layout == "plain":
        return x
    sizes = list(x.shape)
    dim = -2 if layout == "rows" else -1
    sizes[dim] *= 2
    wide = opweave.empty(sizes, dtype=dtype)
    view = wide[..., ::2, :] if layout == "rows" else wide[..., ::2]
    view.copy_(x)
    return view


def numbers(*sizes: int) -> np.ndarray:
    return rng.standard_normal(sizes).astype(np.float32)


def whole(x: Tensor) -> np.ndarray:
    return x.double().numpy()


def check(found: Tensor, exact: np.ndarray, absolute: np.ndarray) -> None:
    """Within the type's rounding and that of float32 sums."""
    step = 2.0**-8 if found.dtype is opweave.bfloat16 else 2.0**-11
    error = np.abs(whole(found) - exact)
    assert found.shape == exact.shape
    assert (error <= step * np.abs(exact) + 1e-5 * absolute + 1e-7).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_half_types(dtype: Any) -> None:
    for (m, k, n), layouts in zip(SIZES * 2, itertools.cycle(itertools.product(LAYOUTS, LAYOUTS)), strict=False):
        a, b = laid(numbers(m, k), dtype, layouts[0]), laid(numbers(k, n), dtype, layouts[1])
        check(aten.mm(a, b), whole(a) @ whole(b), np.abs(whole(a)) @ np.abs(whole(b)))


def test_8_bit_numbers_are_summed_exactly() -> None:
    for (m, k, n), layouts in zip(SIZES * 2, itertools.cycle(itertools.product(LAYOUTS, LAYOUTS)), strict=False):
        values = [rng.integers(-128, 128, sizes).astype(np.int8) for sizes in ((m, k), (k, n))]
        a, b = (laid(x, opweave.int8, layout) for x, layout in zip(values, layouts, strict=True))
        exact = values[0].astype(np.int64) @ values[1].astype(np.int64)
        assert (aten._int_mm(a, b).numpy() == exact).all()
        assert (aten.mm(a, b).numpy() == exact.astype(np.int8)).all()


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_what_is_added(dtype: Any) -> None:
    a, b = (laid(numbers(*sizes), dtype, "plain") for sizes in ((20, 40), (40, 70)))
    exact, absolute = whole(a) @ whole(b), np.abs(whole(a)) @ np.abs(whole(b))
    column = laid(numbers(20, 1), dtype, "plain")
    for term in (laid(numbers(70), dtype, "plain"), column, laid(numbers(20, 70), dtype, "turned"), column[0, 0]):
        found = aten.addmm(term, a, b, beta=2, alpha=0.5)
        check(found, 0.5 * exact + 2 * whole(term), absolute + 8)
    vector = laid(numbers(40, 2), dtype, "plain")[:, 1]
    check(aten.addmv(column[:, 0], a, vector), whole(a) @ whole(vector) + whole(column)[:, 0], absolute[:, 0] + 8)
    nan = opweave.full((70,), float("nan"), dtype=dtype)
    check(aten.addmm(nan, a, b, beta=0), exact, absolute)


def test_batches() -> None:
    a = laid(numbers(3, 2, 120, 30), opweave.bfloat16, "plain")
    b = laid(numbers(2, 3, 30, 20), opweave.bfloat16, "turned").transpose(0, 1)
    exact, absolute = whole(a) @ whole(b), np.abs(whole(a)) @ np.abs(whole(b))
    check(opweave.ops.opweave.batched_mm(a, b, [0, 2, 1, 3]), exact, absolute)
    check(aten.bmm(a[1], b[1]), exact[1], absolute[1])
    expanded = a[:1, 0].expand(3, 120, 30)
    check(aten.bmm(expanded, b[:, 0]), whole(expanded) @ whole(b[:, 0]), absolute[:1, 0] + 10)
    term = laid(numbers(3, 1, 20), opweave.bfloat16, "plain")
    check(aten.baddbmm(term, a[:, 0], b[:, 0]), exact[:, 0] + whole(term), absolute[:, 0] + 8)
    five = opweave.ops.opweave.batched_mm(a[None], b[None], [0, 1, 2, 3, 4])
    assert_close(five[0], aten.bmm(a.flatten(0, 1), b.flatten(0, 1)).view(3, 2, 120, 20), rtol=1e-2, atol=1e-2)


def test_few_rows() -> None:
    for m, k, n in ((1, 300, 70), (2, 131, 5), (1, 64, 4)):
        a, b = laid(numbers(m, k), opweave.bfloat16, "plain"), laid(numbers(k, n), opweave.bfloat16, "turned")
        check(aten.mm(a, b), whole(a) @ whole(b), np.abs(whole(a)) @ np.abs(whole(b)))
        check(aten.mm(b.mT, a.mT), whole(b.mT) @ whole(a.mT), np.abs(whole(b.mT)) @ np.abs(whole(a.mT)))
        whole_a, whole_b = (rng.integers(-128, 128, sizes).astype(np.int8) for sizes in ((m, k), (k, n)))
        found = aten._int_mm(opweave.from_numpy(whole_a), laid(whole_b, opweave.int8, "turned"))
        assert (found.numpy() == whole_a.astype(np.int64) @ whole_b).all()


@pytest.mark.parametrize("dtype", [*HALVES, opweave.int8], ids=str)
def test_calls_that_are_like_one_before(dtype: Any) -> None:
    """Native code makes later calls' products: the same, whatever the layout, of whatever it is given."""

    def drawn(*sizes: int) -> np.ndarray:
        return rng.integers(-128, 128, sizes) / (1 if dtype is opweave.int8 else 64)

    for (m, k, n), layouts in zip(SIZES, itertools.cycle(itertools.product(LAYOUTS, LAYOUTS)), strict=False):
        for product in [aten._int_mm] if dtype is opweave.int8 else [aten.mm, aten.bmm, aten.addmm]:
            lead = (3,) if product is aten.bmm else ()
            for _ in range(4):
                a, b = laid(drawn(*lead, m, k), dtype, layouts[0]), laid(drawn(*lead, k, n), dtype, layouts[1])
                term = [laid(drawn(n), dtype, "plain")] if product is aten.addmm else []
                wide = [x.double() for x in (*term, a, b)]
                exact = whole(wide[-2]) @ whole(wide[-1]) + (whole(term[0]) if term else 0)
                check(product(*term, a, b), exact, np.abs(whole(wide[-2])) @ np.abs(whole(wide[-1])) + 2)
    if dtype is not opweave.int8:  # rounded once, at the end
        one, step = opweave.ones(2, 2, dtype=dtype), 2.0 ** (-8 if dtype is opweave.bfloat16 else -11)
        near = opweave.tensor([[1, step], [0, 0]], dtype=dtype)
        for _ in range(4):
            assert aten.addmm(one * 0 - 1, near, one)[0, 0].item() == step


def test_threads_do_not_show() -> None:
    operands = [laid(numbers(300, 700), opweave.bfloat16, "plain"), laid(numbers(700, 200), opweave.bfloat16, "turned")]
    threads = opweave.get_num_threads()
    found = []
    try:
        for count in (1, 2, 3):
            opweave.set_num_threads(count)
            found.append(aten.mm(*operands).float().numpy())
    finally:
        opweave.set_num_threads(threads)
    assert all((x == found[0]).all() for x in found)


def test_numbers_that_are_not_finite() -> None:
    a = opweave.tensor([[float("inf"), 1.0, 0.0], [float("nan"), 1.0, 0.0], [-0.0, 0.0, 0.0], [3e38, 3e38, 0.0]])
    b = opweave.tensor([[1.0, 0.0], [1.0, 1.0], [0.0, 0.0]])
    found = aten.mm(a.bfloat16(), b.bfloat16()).float().numpy()
    np.testing.assert_array_equal(found[:3, 0], [np.inf, np.nan, 0.0])
    assert np.isnan(found[0, 1])  # inf times 0
    assert np.isinf(found[3, 0])


def test_gradients() -> None:
    x, w, bias = (laid(numbers(*s), opweave.bfloat16, "plain") for s in ((50, 33), (20, 33), (20,)))
    for t in (x, w, bias):
        t.requires_grad_()
    out = opweave.nn.functional.linear(x, w, bias)
    g = laid(numbers(50, 20), opweave.bfloat16, "plain")
    out.backward(g)
    for found, left, right in ((x.grad, whole(g), whole(w.detach())), (w.grad, whole(g).T, whole(x.detach()))):
        assert found is not None
        check(found, left @ right, np.abs(left) @ np.abs(right))


def test_compiled_is_eager() -> None:
    def function(x: Tensor, w: Tensor, bias: Tensor) -> Tensor:
        return opweave.relu(opweave.nn.functional.linear(x, w, bias)) @ w

    compiled = opweave.compile(function, dynamic=True)
    w, bias = laid(numbers(24, 40), opweave.bfloat16, "plain"), laid(numbers(24), opweave.bfloat16, "plain")
    for rows in (7, 130):
        x = laid(numbers(rows, 40), opweave.bfloat16, "plain")
        np.testing.assert_array_equal(whole(compiled(x, w, bias)), whole(function(x, w, bias)))


def test_batches_are_read_where_they_lie() -> None:
    def function(q: Tensor, k: Tensor) -> Tensor:
        return q.transpose(1, 2) @ k.permute(0, 2, 3, 1)

    q, k = (laid(numbers(2, 9, 3, 16), opweave.bfloat16, "plain") for _ in range(2))
    report = str(opweave.explain(function)(q, k))
    assert "opweave.batched_mm" in report and "0 kernels" in report, report
    np.testing.assert_array_equal(whole(opweave.compile(function)(q, k)), whole(function(q, k)))


def test_whole_numbers_compiled() -> None:
    def function(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
        return aten._int_mm(x, w.t()) * scale

    x, w = (opweave.from_numpy(rng.integers(-128, 128, s).astype(np.int8)) for s in ((20, 64), (48, 64)))
    scale = opweave.from_numpy(numbers(48))
    np.testing.assert_array_equal(opweave.compile(function)(x, w, scale).numpy(), function(x, w, scale).numpy())


def test_what_a_graph_calls() -> None:
    def function(term: Tensor, a: Tensor, b: Tensor) -> Tensor:
        return aten.addmm(term, a, b, beta=2) + aten.mm(a, b)

    a, b = (laid(numbers(8, 8), opweave.bfloat16, "plain") for _ in range(2))
    graph = products_pass.run(opweave.make_fx(function)(a[0], a, b).graph)
    steps = host_program(graph, "f", Device("cpu"), segmented=False).steps
    found = [step for step in steps if isinstance(step, Product)]
    assert [(step.term is None, step.factors) for step in found] == [(False, (1, 2)), (True, (1, 1))]


@pytest.mark.parametrize(("level", "dtype"), [("x86-64-v2", dtypes.int8), ("aarch64", dtypes.bfloat16)])
def test_other_machines(level: str, dtype: dtypes.DType) -> None:
    machine = llvm.machine(level)
    text = narrow_products.source(dtype, machine)
    assert "llvm.x86" not in text
    exported = [narrow_products.symbol(dtype)]
    code, wanted = llvm.join_objects([("products", text, llvm.PROMOTED)], exported, of=machine)
    assert code and "opweave_run" in wanted


#: Kinds of machines with less than this one may have.
LESS = [
    native.Kind(stored, bits, bits // 16, size)
    for stored, pair in (("bfloat", 2), ("i8", 4)) for bits, size in ((256, 1), (512, 1), (512, pair))
] + [native.Kind(stored, 512, 32, pair, True) for stored, pair in (("bfloat", 2), ("i8", 4))]  # fmt: skip


@pytest.mark.parametrize("kind", LESS, ids=str)
def test_machines_without_units(
    monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest, kind: native.Kind
) -> None:
    """The same code for groups of one number, registers of 256 bits, and without tiles; and with them, in memory."""
    stored = kind.stored
    feature = {1: "avx2", 2: "avx512bf16", 4: "avx512vnni"}[kind.size]
    if llvm.host().vector_bits < kind.bits or feature not in llvm.host().features:
        pytest.skip("another machine's registers or instructions")
    name = f"opweave_multiply_{stored}"
    with emulated_tiles():
        source = native.source(kind)
    if kind.tiles:
        request.getfixturevalue("one_thread")
    code = objects.Code(lambda: source, f"narrow {kind}, emulated", llvm.PROMOTED)
    loaded = code.load((name, f"{name}_run", f"{name}_loop"), {"opweave_run": pool.run_address()})
    call = launch.words_function("products", len(native.FIELDS), loaded.address(f"{name}_run"), loaded)
    made = narrow_products._Native(call, loaded.address(name), loaded.address(f"{name}_loop"))
    monkeypatch.setattr(narrow_products, "_native", lambda _: made)
    replay.forget()  # calls that this machine's code was recorded for
    try:
        if stored == "i8":
            test_8_bit_numbers_are_summed_exactly()
        else:
            test_half_types(opweave.bfloat16)
            a = opweave.tensor([[2.0**-130]]).bfloat16()  # no unit of pairs takes it as zero
            assert aten.mm(a, a.new_ones(1, 1)).item() == (2.0**-130 if kind.size == 1 else 0)
    finally:
        replay.forget()


def test_errors() -> None:
    a, b = opweave.ones(2, 3, dtype=opweave.int8), opweave.ones(2, 3, dtype=opweave.int8)
    with pytest.raises(ShapeError, match=r"_int_mm: cannot multiply \[2, 3\] by \[2, 3\]"):
        aten._int_mm(a, b)
    with pytest.raises(DTypeError, match="_int_mm: operands must be int8"):
        aten._int_mm(a.float(), b.float())
    with pytest.raises(ShapeError, match="expected 2-d"):
        aten._int_mm(a[0], b)


def test_words() -> None:
    assert len(native.FIELDS) == narrow_products._WORDS


def test_what_is_not_finite_stays_in_its_row_and_column() -> None:
    """Beyond the last row, column and summand nothing is multiplied by it."""
    for m, k, n in ((17, 33, 47), (5, 67, 301), (40, 130, 70)):
        for layout in ("plain", "turned"):
            x, y = numbers(m, k), numbers(k, n)
            x[m - 1, k - 1], x[2, 0], y[k - 1, n - 1], y[0, 1] = np.inf, np.nan, -np.inf, np.nan
            a, b = laid(x, opweave.bfloat16, "plain"), laid(y, opweave.bfloat16, layout)
            found = whole(aten.mm(a, b))
            with np.errstate(invalid="ignore"):
                exact = whole(a) @ whole(b)
            assert (np.isnan(found) == np.isnan(exact)).all()
            rest = np.isfinite(exact)
            assert (found[~rest & ~np.isnan(exact)] == exact[~rest & ~np.isnan(exact)]).all()
            assert np.abs(found[rest] - exact[rest]).max() < 0.5


def test_rows_that_part_lines_of_the_cache() -> None:
    a, b = laid(numbers(70, 260), opweave.bfloat16, "plain"), laid(numbers(260, 90), opweave.bfloat16, "turned")
    for first, last in ((1, 260), (3, 259), (32, 256), (0, 31)):
        left, right = a[1:, first:last], b[first:last, 1:]
        check(aten.mm(left, right), whole(left) @ whole(right), np.abs(whole(left)) @ np.abs(whole(right)))
        few = left[:5]
        check(aten.mm(few, right), whole(few) @ whole(right), np.abs(whole(few)) @ np.abs(whole(right)))


def test_sums_are_rounded_to_the_nearest() -> None:
    a = opweave.zeros(20, 64, dtype=opweave.bfloat16)
    a[:, 0], a[:, 2] = 4096, 1
    b = a.clone()
    for last, total in ((1.0, 2.0**24), (3.0, 2.0**24 + 4), (-1.0, 2.0**24 - 1)):
        b[:, 2] = last
        # What is near 0 shows the bits of the sum.
        found = aten.addmm(opweave.full((20, 20), -(2.0**24), dtype=opweave.bfloat16), a, b.t())
        assert (found.float().numpy() == total - 2.0**24).all()


def test_results_below_the_smallest_normal_number() -> None:
    """Rounding keeps them, whatever the unit that multiplies does."""
    term = opweave.tensor(np.linspace(-5, 5, 40).astype(np.float32) * 2.0**-128).bfloat16()
    zeros = opweave.zeros(3, 8, dtype=opweave.bfloat16)
    found = aten.addmm(term, zeros, opweave.zeros(8, 40, dtype=opweave.bfloat16))
    assert (found.float().numpy() == term.float().numpy()).all() and (found != 0).sum() > 100


@pytest.mark.parametrize("sizes", [(160, 1100, 96), (256, 512, 512), (48, 64, 16), (129, 600, 64), (64, 70, 40)])
def test_whole_numbers_where_they_belong(sizes: tuple[int, int, int]) -> None:
    """Full tiles of sums are the result, between numbers that stay as they are; others are put there."""
    m, k, n = sizes
    rng = np.random.default_rng(0)
    a, b = (rng.integers(-128, 128, s).astype(np.int8) for s in ((m, k), (k, n)))
    whole = opweave.full((m, n + 24), 7, dtype=opweave.int32)
    for right in (b, np.ascontiguousarray(b.T).T):
        out = whole[:, 8 : n + 8]
        narrow_products.multiply(out, opweave.from_numpy(a), opweave.from_numpy(right))
        assert (out.numpy() == a.astype(np.int32) @ b.astype(np.int32)).all()
        assert (whole[:, :8].numpy() == 7).all() and (whole[:, n + 8 :].numpy() == 7).all()

"""Launches of users' kernels that are pointwise ops: what they join, which bits come out, what is none."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline
from triton.language.extra import libdevice

import opweave
from opweave import Tensor
from opweave.codegen.wrapper import generate
from opweave.library import wrap_triton
from opweave.pipeline import lower
from opweave.registry.interrupts import let_through
from tests.codegen.launch_programs import differences, map_kernel, program_of, softmax_kernel, two_kernel

SPECIAL = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -3.25, 1e-30, 3e38, float("inf"), float("-inf"), float("nan"), 100.0, -1e-40]


def rand(*sizes: int, seed: int = 0) -> Tensor:
    return opweave.from_numpy(np.random.default_rng(seed).standard_normal(sizes).astype(np.float32))


def report(function: Callable[..., Any], *args: Tensor) -> list[str]:
    text = str(opweave.explain(opweave.compile(function))(*[x.clone() for x in args]))
    return [line.strip() for line in text.splitlines()]


def launches(function: Callable[..., Any], *args: Tensor) -> int:
    with opweave.profile() as profile:
        function(*[x.clone() for x in args])
    return sum(kernel.launches for kernel in profile.kernels)


def compared(function: Callable[..., Any], *args: Tensor, exact: bool = True, **options: Any) -> tuple[int, int]:
    """Launches unfused and fused, where results and arguments are equal bit for bit; those of eager code are near."""
    apart = opweave.compile(function, options={"fuse_launches": False}, **options)
    fused = opweave.compile(function, **options)
    copies = [[x.clone() for x in args] for _ in range(3)]
    results = [f(*given) for f, given in zip((function, apart, fused), copies, strict=True)]
    for one in zip(*[r if isinstance(r, tuple) else (r,) for r in results], strict=True):
        assert len({(tuple(r.shape), r.stride(), r.dtype) for r in one}) == 1
        eager, unfused, made = (r.detach().double().numpy() for r in one)
        if exact:
            np.testing.assert_array_equal(made, unfused)
            assert np.array_equal(np.signbit(made)[made == 0], np.signbit(unfused)[made == 0])
        np.testing.assert_allclose(made, eager, rtol=1e-5, atol=1e-5)
    for given in zip(*copies, strict=True):
        for other in given[1:]:
            np.testing.assert_array_equal(other.detach().numpy(), given[0].detach().numpy())
    return launches(apart, *args), launches(fused, *args)


def curve(x: Tensor, out: Tensor | None = None, kernel: Any = map_kernel) -> Tensor:
    out = opweave.empty_like(x) if out is None else out
    kernel[(triton.cdiv(x.numel(), 64),)](x, out, 1.25, x.numel(), BLOCK=64)
    return out


def softmax(x: Tensor) -> Tensor:
    out, n = opweave.empty_like(x), x.shape[1]
    softmax_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return out


# ---- what it joins ---------------------------------------------------------------------------------------------------


def test_it_joins_a_reduction_as_a_pointwise_op() -> None:
    assert compared(lambda x: opweave.softmax(curve(x * 2 - 0.5), -1), rand(37, 100)) == (3, 1)
    assert compared(lambda x: curve(x.exp()).sum(1), rand(37, 100)) == (3, 1)
    assert compared(lambda x: curve(x / x.sum(1, keepdim=True)), rand(9, 100)) == (2, 1)


def test_it_joins_another_launch() -> None:
    assert compared(lambda x: softmax(curve(x)), rand(33, 100)) == (2, 1)
    assert compared(lambda x: curve(softmax(x)), rand(33, 100)) == (2, 1)
    assert compared(lambda x: curve(curve(curve(x))), rand(33, 100)) == (3, 1)
    assert compared(lambda x: curve(softmax(curve(x * x)) * 2), rand(33, 100)) == (5, 1)


def test_operands_in_rows_columns_and_views_need_no_division() -> None:
    def function(x: Tensor, w: Tensor, c: Tensor) -> tuple[Tensor, Tensor]:
        y = curve(x)
        return y * w + c, y.t().exp()

    lines = report(function, rand(40, 100), rand(100), rand(40, 1, seed=1))
    assert any(line.startswith("kernel 0  fused: map_kernel") for line in lines)
    assert compared(function, rand(40, 100), rand(100), rand(40, 1, seed=1))[1] <= 2
    (line,) = [line for line in lines if line.startswith("lifted")]
    assert "launch of map_kernel" in line and "a pointwise op of x; test_lifted_launches.py:" in line


def test_tensors_of_other_sizes_that_lie_alike_are_one() -> None:
    def flat(x: Tensor) -> Tensor:
        out = opweave.empty(x.numel())
        return curve(x * 2, out).view(x.shape[0], -1).sum(1)

    assert compared(flat, rand(12, 50)) == (3, 1)

    def columns(x: Tensor) -> Tensor:
        h = (x * 2).t()
        return curve(h, opweave.empty_strided(h.shape, h.stride())) + 1

    assert compared(columns, rand(12, 50)) == (3, 1)

    def turned(x: Tensor) -> Tensor:
        h = (x * 2).t()
        return curve(h, opweave.empty(h.shape)) + 1

    assert compared(turned, rand(12, 50)) == (3, 1)


def test_both_results_and_those_that_nobody_reads() -> None:
    def both(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        one, two = opweave.empty_like(x), opweave.empty_like(x)
        two_kernel[(triton.cdiv(x.numel(), 32),)](x * 2, y, one, two, x.numel(), BLOCK=32)
        return one.sum(1), two.exp()

    assert compared(both, rand(9, 40), rand(9, 40, seed=1))[1] <= 2
    assert compared(lambda x, y: both(x, y)[1], rand(9, 40), rand(9, 40, seed=1)) == (3, 1)


@triton.jit
def in_place(x, scale_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(x + i, v * tl.load(scale_ptr) + v, i < n)


def test_what_is_written_in_place_and_one_element_for_all() -> None:
    def function(x: Tensor, s: Tensor) -> Tensor:
        h = x.abs()
        in_place[(triton.cdiv(h.numel(), 64),)](h, s, h.numel(), BLOCK=64)
        return h.sum(0)

    assert compared(function, rand(5, 77), rand(1)) == (3, 1)
    assert compared(function, rand(5, 77), rand(1, 1, 1)) == (3, 1)
    assert compared(lambda x, s: function(x, s.exp()), rand(5, 77), rand(1, 1, 1)) == (4, 1)

    def argument(x: Tensor, s: Tensor) -> Tensor:
        in_place[(triton.cdiv(x.numel(), 64),)](x, s.exp(), x.numel(), BLOCK=64)
        return x.sum(0)

    compared(argument, rand(5, 77), rand(1))


@pytest.mark.parametrize("sizes", [(9, 40), (1, 7), (33, 64)])
def test_open_sizes(sizes: tuple[int, int]) -> None:
    function = opweave.compile(lambda x, w: softmax(curve(x * w)) + curve(x).sum(1, keepdim=True), dynamic=True)
    for seed, (n, m) in enumerate([sizes, (sizes[0] + 3, sizes[1] + 5)]):
        x, w = rand(n, m, seed=seed), rand(m, seed=9)
        h = (x.numpy() * w.numpy()).astype("d") * 1.25
        h = np.exp(h / (1 + np.abs(h)))
        y = x.numpy().astype("d") * 1.25
        expected = h / h.sum(1, keepdims=True) + (y / (1 + np.abs(y))).sum(1, keepdims=True)
        np.testing.assert_allclose(function(x, w).numpy(), expected, rtol=1e-4, atol=1e-5)


@triton.jit
def with_numbers(x, y, n, scale, flag, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(y + i, v / n + tl.where(flag > 2, scale, -scale), i < n)


def test_numbers_are_operands_also_open_ones() -> None:
    def function(x: Tensor) -> Tensor:
        y = opweave.empty_like(x)
        with_numbers[(triton.cdiv(x.numel(), 64),)](x * 1, y, x.numel(), 0.1, 3, BLOCK=64)
        return y.amax(0)

    assert compared(function, rand(9, 40)) == (3, 1)
    function = opweave.compile(function, dynamic=True)
    for n in (9, 14):
        x = rand(n, 40, seed=n)
        np.testing.assert_allclose(function(x).numpy(), (x.numpy() / (40 * n) + 0.1).max(0), rtol=1e-5)


def test_a_tuned_kernel_is_not_timed() -> None:
    def bench(call: Callable[[], Any], quantiles: Any) -> list[float]:
        raise AssertionError("timed")

    blocks = [triton.Config({"BLOCK": 16}), triton.Config({"BLOCK": 64})]
    kernel = triton.autotune(blocks, key=["n"], do_bench=bench)(map_kernel)

    def function(x: Tensor) -> Tensor:
        out, n = opweave.empty_like(x), x.numel()
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x * 2, out, 1.25, n)
        return out.sum(1)

    x = rand(9, 40)
    h = x.numpy().astype("d") * 2.5
    np.testing.assert_allclose(opweave.compile(function)(x).numpy(), (h / (1 + np.abs(h))).sum(1), rtol=1e-5)
    assert launches(opweave.compile(function), x) == 1


def test_gradients_and_saved_programs(tmp_path: Path) -> None:
    @opweave.library.triton_op("lifted::curve", mutates_args=())
    def op(x: Tensor) -> Tensor:
        out = opweave.empty_like(x)
        wrap_triton(map_kernel)[(triton.cdiv(x.numel(), 64),)](x, out, 1.25, x.numel(), BLOCK=64)
        return out

    def setup(ctx: Any, inputs: Any, output: Any) -> None:
        ctx.save_for_backward(*inputs)

    op.register_autograd(lambda ctx, g: g * 1.25 / (1 + (ctx.saved_tensors[0] * 1.25).abs()) ** 2, setup_context=setup)

    def function(x: Tensor) -> Tensor:
        return (op(x * x) * x).sum()

    x = rand(7, 30).requires_grad_()
    y = rand(7, 30).requires_grad_()
    function(x).backward()
    opweave.compile(function)(y).backward()
    assert x.grad is not None and y.grad is not None
    np.testing.assert_allclose(y.grad.numpy(), x.grad.numpy(), rtol=1e-5, atol=1e-6)
    given = rand(7, 30)
    program = opweave.export.export(lambda x: op(x * x).sum(1), (given,))
    opweave.export.save(program, tmp_path / "p.ow")
    loaded = opweave.export.load(tmp_path / "p.ow")
    made = opweave.compile(loaded.module())
    np.testing.assert_array_equal(made(given).numpy(), opweave.compile(lambda x: op(x * x).sum(1))(given).numpy())
    assert launches(made, given) == 1


def test_it_can_be_switched_off() -> None:
    def function(x: Tensor) -> Tensor:
        out = opweave.empty_like(x)
        wrap_triton(map_kernel, fused=False)[(triton.cdiv(x.numel(), 64),)](x, out, 1.25, x.numel(), BLOCK=64)
        return out.sum(1)

    assert compared(function, rand(9, 40)) == (2, 2)
    assert any("wrap_triton(..., fused=False) says so" in line for line in report(function, rand(9, 40)))


def test_alone_it_stays_the_launch_that_it_is() -> None:
    lines = report(lambda x: curve(x), rand(9, 40))
    assert [line.split()[0] for line in lines if "launch of map_kernel" in line] == ["extern"]


def test_it_prints_as_triton_one_could_have_written() -> None:
    graph = opweave.explain(opweave.compile(lambda x: curve(x * x).sum(1)))(rand(9, 40)).graphs[0]
    (source,) = generate(lower(graph)).kernels
    lines = [re.sub(r"test_lifted_launches.py:\d+$", "", line).rstrip() for line in source.text.splitlines()]
    assert_expected_inline(
        "\n".join(lines),
        """\
import triton
import triton.language as tl


@triton.jit
def fused_mul_map_kernel_sum_0(x, out, ROWS: tl.constexpr, COLS: tl.constexpr):
    r = tl.arange(0, ROWS)[:, None]
    live_r = r < 9
    c = tl.arange(0, COLS)[None, :]
    live_c = c < 40
    t0 = tl.load(x + r * 40 + c, live_r & live_c)
    t1 = t0 * t0                                                                  # mul
    t2 = t1 * 1.25                                                                # map_kernel
    t3 = t2 / (tl.abs(t2) + 1.0)                                                  # map_kernel
    t4 = tl.sum(tl.where(live_c, t3, 0.0), 1, keep_dims=True)                     # sum
    tl.store(out + r, t4, live_r)                                                 # sum""",
    )


# ---- which bits ------------------------------------------------------------------------------------------------------

#: Expressions of v (the first operand), w (the second) and s, a number.
FLOATS = [
    "v + w", "v - w", "v * w", "v / w", "v * w + s", "v * w - v * s", "s - v * v", "-v", "tl.exp(v)", "tl.exp2(v)",
    "tl.log(tl.abs(v))", "tl.log2(v)", "tl.sin(v)", "tl.cos(v)", "tl.sqrt(v)", "tl.rsqrt(v)", "tl.floor(v)",
    "tl.ceil(v)", "tl.erf(v)", "tl.abs(v)", "tl.sigmoid(v)", "tl.maximum(v, w)", "tl.minimum(v, w)",
    "tl.maximum(v, w, propagate_nan=tl.PropagateNan.ALL)", "tl.minimum(v, 0.0, propagate_nan=tl.PropagateNan.ALL)",
    "tl.clamp(v, -0.5, 0.5)", "tl.clamp(v, -0.5, 0.5, propagate_nan=tl.PropagateNan.ALL)", "tl.fma(v, w, s)",
    "tl.sqrt_rn(v)", "tl.div_rn(v, w)", "tl.where(v > w, v, -w)", "tl.where(v != w, s, w)",
    "tl.where((v < w) | (w >= 0.5), 1.0, v)", "tl.where(not (v <= w), v, s)", "(v > 0).to(tl.float32) * w",
    "v.to(tl.int32).to(tl.float32)", "v.to(tl.float16).to(tl.float32) + w", "v.to(tl.bfloat16).to(tl.float32) + w",
    "v.to(tl.int32, bitcast=True).to(tl.float32)", "(v.to(tl.int32, bitcast=True) ^ 5).to(tl.float32, bitcast=True)",
    "libdevice.tanh(v)", "libdevice.pow(v, w)", "libdevice.fast_expf(v)", "libdevice.rint(v)", "libdevice.atan2(v, w)",
    "libdevice.fma_rn(v, w, v)", "libdevice.expm1(v)", "v + 0.1", "v * 3.4e38 + 1e-40", "v * s * s + (s + s)",
    "tl.where(i < n, v, 7.0)", "tl.where((i < n) & (v > 0), v, 7.0)", "v / n + n", "v * float('inf')",
]  # fmt: skip
HALVES = [
    "v + w", "v * w + v", "v / w", "tl.maximum(v, w)", "tl.where(v > 0, 0.0, v)", "tl.exp(v.to(tl.float32))", "v * s",
    "tl.abs(v)", "-v", "v.to(tl.float32) * w", "v > w",
]  # fmt: skip
INTEGERS = [
    "v + w", "v - w", "v * w", "v // (w | 1)", "v % (w | 1)", "v & w", "v | w", "v ^ w", "~v", "v << 3", "v >> 2",
    "tl.maximum(v, w)", "tl.minimum(v, w)", "tl.where(v > w, v, 3)", "tl.where(v == w, 1, 0)", "tl.abs(v)",
    "v.to(tl.float32) / 3", "v.to(tl.int8).to(tl.int32) + w", "v.to(tl.int64) * w", "(v > w) ^ (w > 3)", "v + n", "-v",
    "v * 1.5",
]  # fmt: skip

TEMPLATE = """
@triton.jit
def kernel(x_ptr, w_ptr, out_ptr, s, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x_ptr + i, i < n)
    w = tl.load(w_ptr + i, i < n)
    tl.store(out_ptr + i, {expression}, i < n)
"""
CASES = [
    *(("float32", "float32", e) for e in FLOATS),
    *(("float64", "float64", e) for e in ("v * w + s", "tl.exp(v)", "v / w", "libdevice.tanh(v)", "v * 0.1", "-v")),
    *((t, t, e) for t in ("float16", "bfloat16") for e in HALVES if (t, e) != ("bfloat16", "tl.maximum(v, w)")),
    *((t, t, e) for t in ("int32", "int64", "int8", "uint8") for e in INTEGERS),
    *(("float32", t, e) for t in ("float16", "bfloat16", "int32", "int8") for e in ("v * w", "v")),
    *((t, "float32", e) for t in ("uint8", "int16", "int64") for e in ("v * w", "v")),
]


def _numbers(dtype: str, seed: int) -> Tensor:
    rng = np.random.default_rng(seed)
    if "float" in dtype:
        numbers = [*SPECIAL, *rng.standard_normal(50)]
    else:
        numbers = [0, 1, 2, 3, 127, 100, *rng.integers(0, 100, 58)]
        numbers = [n if k % 2 or dtype == "uint8" else -n for k, n in enumerate(numbers)]
    numbers = [numbers[k] for k in rng.permutation(len(numbers))]
    return opweave.tensor(numbers).to(getattr(opweave, dtype))


def _made(expression: str, folder: Path) -> Any:
    path = folder / "kernels.py"
    path.write_text(TEMPLATE.format(expression=expression))
    scope = {"triton": triton, "tl": tl, "libdevice": libdevice, "__name__": "kernels"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["kernel"]


@pytest.mark.parametrize(("source", "target", "expression"), CASES)
def test_every_operation_gives_the_bits_of_the_launch(
    source: str, target: str, expression: str, tmp_path: Path
) -> None:
    kernel, dtype = _made(expression, tmp_path), getattr(opweave, target)

    def function(x: Tensor, w: Tensor) -> Tensor:
        out = opweave.empty(x.shape, dtype=dtype)
        kernel[(2,)](x.clone(), w.clone(), out, 0.3, x.numel(), BLOCK=32)
        return out.view(8, 8).t().contiguous()

    x, w = _numbers(source, 0), _numbers(source, 1)
    apart = opweave.compile(function, options={"fuse_launches": False})(x, w)
    try:
        compiled = opweave.compile(function)
        fused = compiled(x, w)
    except Exception as error:
        let_through(error)
        raise AssertionError(f"{expression}: {error}") from error
    lines = report(function, x, w)
    assert any(line.startswith("lifted") for line in lines), lines
    bits = {1: np.uint8, 2: np.uint16, 4: np.uint32, 8: np.uint64}[fused.dtype.itemsize]
    made, wanted = ((t.view(opweave.int16) if t.dtype is opweave.bfloat16 else t).numpy() for t in (fused, apart))
    nans = np.isnan(wanted) if wanted.dtype.kind == "f" else np.zeros(wanted.shape, bool)
    np.testing.assert_array_equal(np.isnan(made) if made.dtype.kind == "f" else nans, nans)
    np.testing.assert_array_equal(made.view(bits)[~nans], wanted.view(bits)[~nans])


@pytest.mark.parametrize("shape", ["map", "two outputs", "carried pointer", "softmax"])
@pytest.mark.parametrize("seed", range(20, 24))
def test_random_programs(shape: str, seed: int) -> None:
    wrong, before, after = differences(program_of(shape, seed), dynamic=True if seed == 23 else None)
    assert not wrong
    assert after <= before


# ---- what is none ----------------------------------------------------------------------------------------------------


def kernel_of(body: str, folder: Path) -> Any:
    path = folder / "kernels.py"
    text = "@triton.jit\ndef kernel(x, y, n, BLOCK: tl.constexpr):\n    p = tl.program_id(0)\n"
    path.write_text(text + "".join(f"    {line}\n" for line in body.strip().splitlines()))
    scope = {"triton": triton, "tl": tl, "__name__": "kernels"}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    return scope["kernel"]


PLACE = "i = p * BLOCK + tl.arange(0, BLOCK)\n"
OTHERS = {
    "it computes with its place": PLACE + "tl.store(y + i, tl.load(x + i, i < n) + i, i < n)",
    "at another place": PLACE + "tl.store(y + i, tl.load(x + n - 1 - i, i < n), i < n)",
    "what a mask leaves out": PLACE + "tl.store(y + i, tl.load(x + i, i < n - 1, other=5.0), i < n)",
    "may not reach all of it": PLACE + "tl.store(y + i, tl.load(x + i, i < n), i < n - 1)",
    "by several operations": PLACE
    + "v = tl.load(x + i, i < n)\ntl.store(y + i, v, i < n)\ntl.store(y + i, v + 1, v > 0)",
    "tt.reduce": PLACE + "v = tl.load(x + i, i < n)\ntl.store(y + i, v - tl.max(v, 0), i < n)",
    "what a scf.for makes": PLACE
    + "v = tl.load(x + i, i < n)\nfor _ in range(n):\n    v = v * 0.5\ntl.store(y + i, v, i < n)",
    "atomic": PLACE + "tl.atomic_add(x + i, 0.0, i < n)\ntl.store(y + i, tl.load(x + i, i < n), i < n)",
    "tt.print": PLACE + "v = tl.load(x + i, i < n)\ntl.device_print('v', v)\ntl.store(y + i, v, i < n)",
    "computed from no tensor": PLACE + "tl.store(y + i, 1.5, i < n)",
}


@pytest.mark.parametrize("reason", OTHERS)
def test_what_is_no_pointwise_op_stays_a_launch(reason: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    kernel = kernel_of(OTHERS[reason], tmp_path)

    def function(x: Tensor) -> Tensor:
        h = x * 2
        y = opweave.zeros_like(h)
        kernel[(triton.cdiv(h.numel(), 32),)](h, y, h.numel(), BLOCK=32)
        return y.view(10, 10).sum(1)

    x = rand(100)
    compared(function, x)
    lines = [line for line in report(function, x) if "not pointwise" in line or line.startswith("lifted")]
    assert len(lines) == 1 and lines[0].startswith("launch ") and reason in lines[0], lines


@triton.jit
def turned_tile(x, y, N: tl.constexpr):
    r = tl.arange(0, N)
    tile = r[:, None] * N + r[None, :]
    tl.store(y + tile, tl.trans(tl.load(x + tile)))


@triton.jit
def row_on_rows(x, y, N: tl.constexpr):
    r = tl.arange(0, N)
    row = tl.load(x + r)
    tl.store(y + r[:, None] * N + r[None, :], tl.broadcast_to(row[:, None], (N, N)))


@triton.jit
def where_positive(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    wanted = tl.load(x + i, i < n, other=0.0) > 0
    tl.store(x + i, tl.load(y + i, i < n), (i < n) & wanted)


@triton.jit
def twice_in_place(x, n, BLOCK: tl.constexpr):
    # Programs share elements: each is doubled twice.
    i = (tl.program_id(0) // 2) * BLOCK + tl.arange(0, BLOCK)
    tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)


def test_elements_that_move_between_lanes_or_are_computed_twice() -> None:
    def turned(x: Tensor) -> Tensor:
        y = opweave.empty_like(x)
        turned_tile[(1,)](x * 2, y, N=16)
        return y + 1

    compared(turned, rand(16, 16))

    def rows(x: Tensor) -> Tensor:
        y = opweave.empty(16, 16)
        row_on_rows[(1,)](x * 2, y, N=16)
        return y + 1

    compared(rows, rand(16))

    def twice(x: Tensor) -> Tensor:
        h = x * 3
        twice_in_place[(8,)](h, h.numel(), BLOCK=32)
        return h + 1

    eager = twice(rand(128)).numpy()
    np.testing.assert_array_equal(eager, rand(128).numpy() * np.float32(12) + 1)
    np.testing.assert_array_equal(opweave.compile(twice)(rand(128)).numpy(), eager)


def test_what_it_holds_says_where_it_is_stored_to() -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        h = x * 2
        where_positive[(4,)](h, y * 3, 100, BLOCK=32)
        return h + 1

    x, y = rand(100), rand(100, seed=1)
    compared(function, x, y)
    expected = np.where(x.numpy() > 0, y.numpy() * 3, x.numpy() * 2) + 1
    np.testing.assert_allclose(opweave.compile(function)(x, y).numpy(), expected, rtol=1e-6)


def test_one_tensor_under_two_names_that_is_written() -> None:
    def function(x: Tensor) -> Tensor:
        h = x * 2
        map_kernel[(2,)](h, h, 1.25, h.numel(), BLOCK=64)
        return h.sum()

    x = rand(100)
    np.testing.assert_allclose(opweave.compile(function)(x).numpy(), function(x).numpy(), rtol=1e-5)


@triton.jit
def times_kernel(x, o, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + i, mask=i < n) * factor, mask=i < n)


@triton.jit
def turned_kernel(x, o, n, factor, B: tl.constexpr):
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.load(x + n - 1 - i, mask=i < n) * factor, mask=i < n)


@pytest.mark.parametrize("fuse", [True, False])
@pytest.mark.parametrize("kernel", [times_kernel, turned_kernel], ids=["lifted", "fused"])
def test_numbers_that_are_open_may_need_64_bits(kernel: Any, fuse: bool) -> None:
    @opweave.compile(options={"fuse_launches": fuse})
    def f(x: Tensor, factor: int) -> Tensor:
        out = opweave.zeros_like(x)
        kernel[(1,)](x + 1, out, x.numel(), factor, B=16)
        return out * 2

    for factor in (3, 5, 2**33, 2**31, -(2**31) - 1, 5):
        assert f(opweave.ones(2, dtype=opweave.float64), factor).tolist() == [4.0 * factor] * 2

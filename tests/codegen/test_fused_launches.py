"""Launches of users' kernels with what stands around them in one kernel: how many launches, which numbers, why not."""

from __future__ import annotations

import logging
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl
from expecttest import assert_expected_inline

import opweave
from opweave import Tensor, pipeline
from opweave.codegen.aot import compile_kernel
from opweave.codegen.kernel import compile_source
from opweave.codegen.wrapper import generate
from opweave.library import wrap_triton
from opweave.pipeline import lower
from opweave.registry.errors import ArgumentError, SanitizerError
from tests.codegen.launch_programs import (
    KERNELS,
    differences,
    layer_norm_kernel,
    map_kernel,
    matmul_kernel,
    program_of,
    rope_kernel,
    softmax_kernel,
    two_kernel,
)


@pytest.fixture(autouse=True)
def unlifted(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here launches stay launches, also those of kernels that are pointwise."""
    monkeypatch.setattr(pipeline, "PASSES", tuple(entry for entry in pipeline.PASSES if entry[0] != "lift"))


PARTLY = "the stores may not reach all of it"


def rand(*sizes: int, seed: int = 0) -> Tensor:
    return opweave.from_numpy(np.random.default_rng(seed).standard_normal(sizes).astype(np.float32))


def launches(function: Callable[..., Any], *args: Tensor) -> int:
    with opweave.profile() as profile:
        function(*args)
    return sum(kernel.launches for kernel in profile.kernels)


def compared(function: Callable[..., Any], *args: Tensor, **options: Any) -> tuple[int, int]:
    """Launches unfused and fused; the results are equal bit for bit, also what is done to the arguments."""
    apart = opweave.compile(function, options={"fuse_launches": False}, **options)
    fused = opweave.compile(function, **options)
    copies = [[x.clone() for x in args] for _ in range(3)]
    results = [f(*given) for f, given in zip((function, apart, fused), copies, strict=True)]
    for one in zip(*[r if isinstance(r, tuple) else (r,) for r in results], strict=True):
        last = 2.0**-7 if one[0].dtype is opweave.bfloat16 else 1e-5  # the last place of a rounded result
        eager, unfused, made = (r.float().numpy() for r in one)
        np.testing.assert_array_equal(made, unfused)
        np.testing.assert_allclose(made, eager, rtol=last, atol=1e-5)
    for eager, unfused, made in zip(*copies, strict=True):
        np.testing.assert_array_equal(made.numpy(), unfused.numpy())
        np.testing.assert_array_equal(made.numpy(), eager.numpy())
    return launches(apart, *args), launches(fused, *args)


def reasons(function: Callable[..., Any], *args: Tensor) -> str:
    """What the report says of launches that took something in not."""
    report = str(opweave.explain(opweave.compile(function))(*[x.clone() for x in args]))
    return "\n".join(line for line in report.splitlines() if line.strip().startswith("apart"))


def curve(x: Tensor, out: Tensor | None = None, kernel: Any = map_kernel) -> Tensor:
    out = opweave.empty_like(x) if out is None else out
    kernel[(triton.cdiv(x.numel(), 64),)](x, out, 1.25, x.numel(), BLOCK=64)
    return out


def softmax(x: Tensor) -> Tensor:
    out, n = opweave.empty_like(x), x.shape[1]
    softmax_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), n, BLOCK=triton.next_power_of_2(n))
    return out


def product(a: Tensor, b: Tensor) -> Tensor:
    c = opweave.empty((a.shape[0], b.shape[1]))
    grid = (triton.cdiv(a.shape[0], 16) * triton.cdiv(b.shape[1], 16),)
    strides = (*a.stride(), *b.stride(), *c.stride())
    matmul_kernel[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], *strides, BM=16, BN=16, BK=16)
    return c


def rotate(q: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    rows, heads, width = q.shape
    rope_kernel[(rows,)](q, cos, sin, q.stride(0), heads, width // 2, heads, width // 2)
    return q


# ---- how many launches -----------------------------------------------------------------------------------------------


def test_a_map_takes_in_both_sides() -> None:
    assert compared(lambda x, w: curve(x * x).abs().sqrt() * w, rand(7, 100), rand(100)) == (3, 1)


def test_softmax_takes_in_both_sides() -> None:
    args = rand(33, 100), rand(100), rand(100, seed=1), rand(33, 100, seed=2), rand(33, 100, seed=3)
    assert compared(lambda x, w, b, m, r: softmax(x * w + b) * m * 1.1 + r, *args) == (3, 1)


@pytest.mark.parametrize("sizes", [(50, 40, 70), (64, 64, 64)])
def test_a_product_takes_in_bias_activation_and_cast(sizes: tuple[int, int, int]) -> None:
    m, k, n = sizes
    gelu = opweave.nn.functional.gelu

    def function(a: Tensor, b: Tensor, s: Tensor) -> Tensor:
        return gelu(product(a.relu(), b) + s, approximate="tanh").to(opweave.bfloat16)

    a, b, s = rand(m, k), rand(k, n, seed=1), rand(n, seed=2)
    assert compared(lambda *x: function(*x), a, b, s) == (3, 1)
    h = (np.maximum(a.numpy(), 0).astype(np.float64) @ b.numpy() + s.numpy()).astype(np.float32)
    wanted = 0.5 * h * (1 + np.tanh(np.sqrt(2 / np.pi) * (h + 0.044715 * h**3)))
    np.testing.assert_allclose(opweave.compile(function)(a, b, s).float().numpy(), wanted, rtol=1e-2, atol=1e-2)


def test_a_kernel_in_place_reads_one_tensor_and_writes_another() -> None:
    args = rand(9, 4, 8), rand(9, 4), rand(9, 4, seed=1)
    assert compared(lambda q, c, s: rotate(q.clone(), c, s), *args) == (2, 1)
    assert compared(lambda q, c, s: rotate(q * 2, c, s) + q, *args) == (3, 1)
    assert compared(lambda q, c, s: rotate(q, c, s) * 2, *args) == (2, 2)  # the argument itself is to change


@triton.jit
def doubled_thrice(q, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(3):
        tl.store(q + i, tl.load(q + i, i < n) * 2, i < n)


def test_a_loop_in_place_reads_what_its_turns_before_have_written() -> None:
    def function(x: Tensor) -> Tensor:
        y = x.clone()
        doubled_thrice[(triton.cdiv(x.numel(), 32),)](y, x.numel(), BLOCK=32)
        return y + 1

    compared(function, rand(100))
    x = rand(100)
    np.testing.assert_allclose(opweave.compile(function)(x).numpy(), x.numpy() * 8 + 1, rtol=1e-6)


def test_several_consumers_and_a_result_that_is_returned() -> None:
    def function(x: Tensor) -> tuple[Tensor, ...]:
        y = curve(x + 1)
        return y, y * 2, y.relu()

    before, after = compared(function, rand(5, 50))
    assert (before, after) == (3, 1)


def test_a_view_is_returned_and_read_in_a_kernel() -> None:
    def function(x: Tensor) -> tuple[Tensor, Tensor]:
        shown = curve(x * 2).reshape(10, 10)
        return shown, shown * 3

    assert compared(function, rand(100)) == (3, 1)


@pytest.mark.parametrize(
    "shown",
    [
        lambda x: x.reshape(-1),
        lambda x: x.view(2, -1, 5),
        lambda x: x.unsqueeze(1).permute(2, 0, 1),
        lambda x: x.t(),
        lambda x: x.t().contiguous().view(-1, 4),
    ],
)
def test_what_is_loaded_through_a_view_is_computed_there(shown: Callable[[Tensor], Tensor]) -> None:
    assert compared(lambda x, w: curve(shown(x * w)) + 1, rand(10, 20), rand(20)) == (3, 1)
    compared(lambda x, w: curve(shown(x * w)) + 1, rand(10, 20), rand(20), dynamic=True)


def test_a_view_that_something_else_reads_keeps_what_it_shows_in_memory() -> None:
    def function(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        h = x * w
        shown = h.view(-1)
        return curve(shown) + 1, shown

    assert compared(function, rand(10, 20), rand(20)) == (3, 2)
    compared(lambda x, w: (curve((h := x * w).view(-1)) + 1, h.sum(0)), rand(10, 20), rand(20))
    compared(lambda x, w: curve((h := x * w).view(-1)).view(10, 20) + h.t().reshape(10, 20), rand(10, 20), rand(20))
    compared(lambda x, w: curve(h := (x * w).view(-1)) - curve(h * 2), rand(10, 20), rand(20))
    compared(lambda x, w: curve((h := x * w)[5:]) + curve(h[:5]), rand(10, 20), rand(20))


def test_a_part_of_what_is_computed_is_not_computed_in_the_launch() -> None:
    def parts(x: Tensor) -> Tensor:
        return curve((x * 2)[5:].view(-1))

    assert compared(parts, rand(10, 20)) == (2, 2)
    assert "a view shows a part of what is computed" in reasons(parts, rand(10, 20))


@pytest.mark.parametrize("after", [lambda y: y.tanh() * 2, lambda y: y / 3 + 1, lambda y: -0.5 * y])
def test_what_is_not_written_stays_indefinite_when_it_is_scaled(after: Callable[[Tensor], Tensor]) -> None:
    def function(x: Tensor) -> Tensor:
        return after(simply(first_half, x, opweave.empty_like(x)))

    x = rand(100)
    fused, apart = opweave.compile(function), opweave.compile(function, options={"fuse_launches": False})
    np.testing.assert_array_equal(fused(x).numpy()[:50], apart(x).numpy()[:50])
    assert launches(fused, x) == 1


def test_a_kernel_in_place_reads_through_a_view() -> None:
    args = rand(36, 8), rand(9, 4), rand(9, 4, seed=1)
    assert compared(lambda q, c, s: rotate((q * 2).view(9, 4, 8), c, s) + 1, *args) == (3, 1)
    compared(lambda q, c, s: rotate((h := q * 2).view(9, 4, 8), c, s).view(36, 8) + h, *args)


def test_a_kernel_that_makes_something_else_too_stays_apart() -> None:
    compared(lambda x, y: (curve(x) * y, y * 3), rand(100), rand(100, seed=1))


def test_what_a_later_launch_took_in_is_still_read_from_memory() -> None:
    def function(x: Tensor, w: Tensor) -> tuple[Tensor, ...]:
        first = curve(x + 1)
        h = first * w
        second = curve(h)
        return second - first, first.sum(), h.exp()

    compared(function, rand(100), rand(100, seed=1))


def test_chains_do_what_stands_between_at_one_of_them() -> None:
    assert compared(lambda x: softmax(curve(x * 2) + 1) * 3, rand(20, 40)) == (5, 2)


def test_memory_that_a_kernel_fills_is_not_filled_before() -> None:
    assert compared(lambda x: curve(x, opweave.full_like(x, 3.0)) + 1, rand(100)) == (3, 1)


def test_tuples_and_two_outputs() -> None:
    def function(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:
        first, second = opweave.empty_like(x), opweave.empty_like(x)
        two_kernel[(triton.cdiv(x.numel(), 32),)](x * 2, y + 1, first, second, x.numel(), BLOCK=32)
        return first.tanh(), second * 3

    assert compared(function, rand(90), rand(90, seed=1)) == (5, 1)


@pytest.mark.parametrize("rows", [1, 6])
def test_statistics_that_nobody_reads_are_stored_all_the_same(rows: int) -> None:
    def function(x: Tensor, w: Tensor, b: Tensor) -> Tensor:
        y, mean, rstd = opweave.empty_like(x), opweave.empty(rows), opweave.zeros(rows)
        layer_norm_kernel[(rows,)](x, y, w, b, mean, rstd, x.stride(0), 40, 1e-5, BLOCK=64)
        return y * 2

    before, after = compared(function, rand(rows, 40), rand(40), rand(40, seed=1))
    assert after < before


@pytest.mark.parametrize("sizes", [[(64, 100), (33, 77)], [(8, 16), (100, 3)]])
def test_sizes_that_are_not_fixed(sizes: list[tuple[int, int]]) -> None:
    fused = opweave.compile(lambda x, w: curve(x * w).sqrt() * w, dynamic=True)
    apart = opweave.compile(lambda x, w: curve(x * w).sqrt() * w, dynamic=True, options={"fuse_launches": False})
    for m, n in sizes:
        x, w = rand(m, n), rand(n)
        np.testing.assert_array_equal(fused(x, w).numpy(), apart(x, w).numpy())
    assert len(fused.entries) == 1
    assert launches(fused, rand(5, 9), rand(9)) == 1


def test_the_backward_of_a_compiled_function() -> None:
    @opweave.library.triton_op("tests::fused_curve", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return curve(x)

    def setup(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    def backward(ctx: Any, grad: Tensor) -> Tensor:
        (x,) = ctx.saved_tensors
        return softmax((grad / (1 + x.abs())).reshape(10, 5)).reshape(50)

    opweave.library.register_autograd("tests::fused_curve", backward, setup_context=setup)
    gradients = []
    for options in ({"fuse_launches": False}, {}):
        x = rand(50).requires_grad_()
        function = opweave.compile(lambda x: (op(x * 2).tanh() * 3).sum(), options=options)
        function(x).backward()
        gradients.append(x.grad.numpy())
    np.testing.assert_array_equal(*gradients)
    x = rand(50).requires_grad_()
    (op(x * 2).tanh() * 3).sum().backward()
    np.testing.assert_allclose(gradients[0], x.grad.numpy(), rtol=1e-5, atol=1e-6)


def test_an_exported_launch_fuses_without_its_source(tmp_path: Path) -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        return curve(x * x) * w

    x, w = rand(6, 50), rand(50)
    opweave.export.save(opweave.export.export(function, (x, w)), tmp_path / "program.ow")
    loaded = opweave.compile(opweave.export.load(tmp_path / "program.ow").module())
    np.testing.assert_array_equal(loaded(x, w).numpy(), opweave.compile(function)(x, w).numpy())
    assert launches(loaded, x, w) == 1


FULL = bool(os.environ.get("OPWEAVE_FULL_MATRIX"))
TILES = [(128, 128, 64), (64, 64, 32), (128, 64, 32), (64, 128, 64)]
GPU_CASES = [
    (dtype, tile, sides)
    for dtype in ("float16", "bfloat16", "float32")
    for tile in TILES
    for sides in ("before", "after", "both")
    if FULL or (dtype, tile, sides) == ("float16", TILES[0], "both")
]


@pytest.mark.parametrize("target", ["sm_80", "sm_90"])
@pytest.mark.parametrize(("dtype", "tile", "sides"), GPU_CASES)
def test_a_product_keeps_its_pipeline_on_a_gpu(target: str, dtype: str, tile: tuple[int, int, int], sides: str) -> None:
    blocks, kind = dict(zip(("BM", "BN", "BK"), tile, strict=True)), getattr(opweave, dtype)

    def function(a: Tensor, b: Tensor, s: Tensor) -> Tensor:
        c = opweave.empty((512, 512), dtype=a.dtype, device=a.device)
        strides = (*a.stride(), *b.stride(), *c.stride())
        a = a.relu() if sides != "after" else a
        matmul_kernel[(512 // tile[0] * 512 // tile[1],)](a, b, c, 512, 512, 512, *strides, **blocks)
        return (c + s).sigmoid() if sides != "before" else c

    def made(*sizes: int) -> Tensor:
        return opweave.empty(sizes, dtype=kind, device="cuda:0")

    with opweave.FakeTensorMode():
        args = made(512, 512), made(512, 512), made(512)
    graph = lower(opweave.make_fx(function, tracing_mode="fake")(*args).graph)
    (fused,) = generate(graph, device="cuda").kernels
    pointers = dict.fromkeys("abc", f"*{kind.triton}")
    numbers = dict.fromkeys(["M", "N", "K", "am", "bk", "cm"], "i32")
    signature = {**pointers, **numbers}
    alone = compile_kernel(
        matmul_kernel, signature, {"ak": 1, "bn": 1, "cn": 1, **blocks}, dict.fromkeys(signature, 16), target=target
    )
    counts = [
        [len(re.findall(word, kernel.asm["ptx"])) for word in (r"wgmma\.mma_async", r"mma\.sync", r"cp\.async")]
        for kernel in (alone, compile_source(fused, Path("unused"), target))
    ]
    assert counts[0] == counts[1]
    assert counts[0][2] > 0


# ---- refusals --------------------------------------------------------------------------------------------------------


@triton.jit
def first_half(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n // 2), i < n // 2)


@triton.jit
def added(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def where_positive(x, out, n, BLOCK: tl.constexpr):
    if tl.program_id(0) % 2 == 0:
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def until(x, out, n, BLOCK: tl.constexpr):
    start = tl.program_id(0) * 0
    while start < n:
        i = start + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n), i < n)
        start += BLOCK


@triton.jit
def overlapping(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * (BLOCK - 8) + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)


@triton.jit
def back_again(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n), i < n)
    tl.store(out + i, tl.load(out + i, i < n) * 2, i < n)


@triton.jit
def watched(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, i < n, volatile=True), i < n)


def simply(kernel: Any, x: Tensor, out: Tensor) -> Tensor:
    kernel[(triton.cdiv(x.numel(), 32),)](x, out, x.numel(), BLOCK=32)
    return out


@pytest.mark.parametrize(
    ("kernel", "reason"),
    [
        (first_half, PARTLY),
        (added, "the kernel changes, by atomics, it too"),
        (where_positive, PARTLY),
        (back_again, "the kernel reads it too"),
    ],
)
def test_what_was_there_before_shows_where_stores_do_not_reach(kernel: Any, reason: str) -> None:
    x = rand(100)

    def function(x: Tensor) -> Tensor:
        return simply(kernel, x, opweave.full_like(x, 3.0)).clamp(-1.0, 1.0)

    compared(function, x)
    assert reason in reasons(function, x)
    wanted = {first_half: np.concatenate([x.numpy()[:50], np.full(50, 3)]), added: x.numpy() + 3}
    if kernel in wanted:
        np.testing.assert_array_equal(opweave.compile(function)(x).numpy(), wanted[kernel].clip(-1, 1))


@pytest.mark.parametrize("hide", [lambda y, m: opweave.where(m > 0, y, 0.0), lambda y, m: y * m, lambda y, m: y * 0])
def test_a_consumer_may_hide_what_was_never_written(hide: Callable[[Tensor, Tensor], Tensor]) -> None:
    m = opweave.from_numpy(np.repeat([1.0, 0.0], 50).astype(np.float32))

    def function(x: Tensor, m: Tensor) -> Tensor:
        out = opweave.empty_like(x)
        return hide(simply(first_half, x, out), m)

    fused = opweave.compile(function)
    np.testing.assert_array_equal(fused(rand(100), m).numpy()[50:], np.zeros(50, np.float32))
    assert PARTLY in reasons(function, rand(100), m)


@pytest.mark.parametrize("kernel", [until, overlapping])
def test_elements_that_several_programs_write_are_right_all_the_same(kernel: Any) -> None:
    compared(lambda x: simply(kernel, x * 2, opweave.empty_like(x)).exp(), rand(100))


def test_one_buffer_under_two_names() -> None:
    def function(x: Tensor) -> Tensor:
        y = x * 2
        two_kernel[(4,)](x, x, y, y, 100, BLOCK=32)
        return y + 1

    compared(function, rand(100))
    assert "another name" in reasons(function, rand(100))


@triton.jit
def repeated(a, b, c, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    for _ in range(3):
        tl.store(a + i, tl.load(b + i, i < n) * 2 + tl.load(c + i, i < n), i < n)


@pytest.mark.parametrize("copies", [True, False])
def test_what_is_written_under_one_name_is_read_under_another(copies: bool) -> None:
    def function(x: Tensor, y: Tensor) -> Tensor:
        y = y.clone() if copies else y
        repeated[(4,)](y, y, x * 3, 100, BLOCK=32)
        return y * 1

    compared(function, rand(100), rand(100, seed=1))
    assert "another name" in reasons(function, rand(100), rand(100, seed=1))


@triton.jit(noinline=True)
def fetched(x, i, n):
    return tl.load(x + i, i < n)


@triton.jit
def through_a_call(x, out, n, BLOCK: tl.constexpr):
    for i in range(tl.program_id(0) * BLOCK, tl.program_id(0) * BLOCK + BLOCK):
        tl.store(out + i, fetched(x, i, n), i < n)


def test_loads_in_functions_that_are_not_inlined_stay() -> None:
    def function(x: Tensor) -> Tensor:
        return simply(through_a_call, x * 2, opweave.empty_like(x)) + 1

    assert compared(function, rand(100)) == (3, 3)
    assert "a function that is not inlined" in reasons(function, rand(100))


@triton.jit
def changed(x, out, n, BLOCK: tl.constexpr, CHANGE: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, CHANGE(tl.load(x + i, i < n)), i < n)


def test_functions_that_a_kernel_is_given_are_part_of_it() -> None:
    def doubled(v):
        return v * 2

    def tripled(v):
        return v * 3

    tripled.__qualname__ = doubled.__qualname__  # they print alike
    x, results = rand(64), []
    for change in map(triton.jit, (doubled, tripled)):

        def function(x: Tensor, change: Any = change) -> Tensor:
            out = opweave.empty_like(x)
            changed[(2,)](x, out, 64, BLOCK=32, CHANGE=change)
            return out + 1

        results.append(opweave.compile(function)(x).numpy())
    np.testing.assert_allclose(results, [x.numpy() * 2 + 1, x.numpy() * 3 + 1], rtol=1e-6)


@triton.jit
def one_by_one(x, out, n):
    at = tl.program_id(0)
    if at < n:
        tl.store(out + at, tl.load(x + at) + 1)


def test_scalar_loads_and_stores() -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        y = (x * w).contiguous()
        out = opweave.empty_like(y)
        one_by_one[(y.numel(),)](y, out, y.numel())
        return out.exp() * w

    assert compared(function, rand(5, 7), rand(7)) == (3, 1)


@pytest.mark.parametrize("n", [96, 100])
def test_a_constant_and_a_scalar_are_loaded(n: int) -> None:
    def function(x: Tensor, s: Tensor) -> Tensor:
        out = opweave.empty(n)
        two_kernel[(triton.cdiv(n, 32),)](x.new_full((n,), 3.0), (s * 2).expand(n).clone(), out, x * 1, n, BLOCK=32)
        return out * x

    assert compared(function, rand(n), rand(1))[1] <= 2


@triton.jit
def permuted(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + (i.to(tl.int64) * 5000003) % n, i < n), i < n)


def test_indices_that_leave_32_bits_on_the_way() -> None:
    def function(x: Tensor, w: Tensor) -> Tensor:
        return simply(permuted, (x * w).reshape(-1), opweave.empty(1400)).exp()

    assert compared(function, rand(14, 100), rand(100))[1] <= 2
    compared(function, rand(14, 100), rand(100), dynamic=True)


def test_a_sine_does_not_depend_on_its_neighbours() -> None:
    x = rand(64).numpy() * 50
    mixed = x.copy()
    mixed[::7] = [1e7, np.nan, -3e8, np.inf, 2e5, 1e30, 4e6, np.nan, 1e9, 5e5]
    kept = np.abs(mixed) < 1e5
    for name in ("sin", "cos"):
        function = opweave.compile(lambda x, name=name: getattr(x, name)())
        alone, beside = (function(opweave.from_numpy(values)).numpy() for values in (x, mixed))
        np.testing.assert_array_equal(beside[kept], alone[kept])
        with np.errstate(invalid="ignore"):
            wanted = getattr(np, name)(mixed.astype(np.float64))
        np.testing.assert_allclose(beside, wanted, rtol=1e-6, atol=1e-7)


def test_a_volatile_load_stays() -> None:
    compared(lambda x: simply(watched, x * 2, opweave.empty_like(x)), rand(100))
    assert "volatile" in reasons(lambda x: simply(watched, x * 2, opweave.empty_like(x)), rand(100))


def both(x: Tensor, y: Tensor, combine: Callable[[Tensor, Tensor], Tensor]) -> Tensor:
    first, second = opweave.empty_like(x), opweave.empty_like(x)
    two_kernel[(4,)](x, y, first, second, 100, BLOCK=32)
    return combine(first, second)


@pytest.mark.parametrize(
    ("function", "reason"),
    [
        (lambda x, y: both(x, y, lambda a, b: a * b), "reads another result of the launch"),
        (lambda x, y: both(x, y, lambda a, b: a * opweave.sort(b)[0]), "needs something that comes after the launch"),
        (lambda x, y: curve(x + y).sum(), "what reads it is more than pointwise"),
        (lambda x, y: curve((h := x + y).contiguous()) * h.sum(), "it is needed elsewhere too"),
        (lambda x, y: curve(x.reshape(10, 10)) + curve(x.reshape(10, 10)).t(), ""),
        (lambda x, y: curve(x).reshape(100, 1) + y, "it shows its elements in another order"),
        (lambda x, y: curve(x)[:50] + 1, "not all of it is read"),
    ],
)
def test_neighbours_that_stay_apart(function: Callable[..., Any], reason: str) -> None:
    compared(function, rand(100), rand(100, seed=1))
    assert reason in reasons(function, rand(100), rand(100, seed=1))


def test_kernels_that_are_hooked_stay_apart() -> None:
    seen: list[int] = []

    @triton.jit
    def hooked(x, out, n, BLOCK: tl.constexpr):
        i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
        tl.store(out + i, tl.load(x + i, i < n), i < n)

    hooked.add_pre_run_hook(lambda *args, **kwargs: seen.append(1))
    assert "a hook runs before each launch" in reasons(lambda x: simply(hooked, x * 2, opweave.zeros_like(x)), rand(64))
    assert seen


def test_an_option_and_a_launch_may_say_no() -> None:
    x = rand(100)
    with pytest.raises(ArgumentError, match="fuse_launches"):
        opweave.compile(curve, options={"fuse_launches": 1})

    def function(x: Tensor) -> Tensor:
        return curve(x * 2, kernel=wrap_triton(map_kernel, fused=False)) + 1

    assert compared(function, x) == (3, 3)
    assert "wrap_triton(..., fused=False)" in reasons(function, x)


@triton.jit
def beyond(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i), i < n)


def test_the_sanitizer_names_the_users_line() -> None:
    function = opweave.compile(lambda x: simply(beyond, x * 2, opweave.empty_like(x)) + 1)
    with opweave.sanitize(), pytest.raises(SanitizerError, match=r"reads outside the memory") as error:
        function(rand(100))
    assert f"{Path(__file__).name}:{beyond.starting_line_number + 3}" in str(error.value)


def test_another_process_finds_other_kernels_with_the_same_graph() -> None:
    # Two kernels whose launches print alike must not share code.
    def made(kernel: Any) -> Tensor:
        return opweave.compile(lambda x: simply(kernel, x * 2, opweave.empty_like(x)) + 1)(rand(100))

    assert not np.array_equal(made(until).numpy(), made(back_again).numpy())


# ---- text ------------------------------------------------------------------------------------------------------------


def test_the_functions_read_as_triton(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="opweave.code"):
        opweave.compile(lambda x, w: curve(x * x).exp() * w)(rand(7, 101), rand(101))
    text = caplog.records[-1].getMessage()
    lines = [line.partition("  #")[0].rstrip() for line in text[text.index("@triton.jit") :].splitlines()]
    assert_expected_inline(
        "\n".join(lines),
        """\
@triton.jit
def before_x(place, live, x):
    t0 = tl.load(x + place, live)
    result = (t0 * t0).to(tl.float32)
    return tl.where(live, result, 0)


@triton.jit
def after_out(value, place, i0, i1, live, w, out):
    t0 = tl.exp(value)
    t1 = tl.load(w + i1, live)
    tl.store(out + place, t0 * t1, live)""",
    )


@pytest.mark.parametrize("shape", KERNELS)
@pytest.mark.parametrize("seed", range(4))
def test_random_programs(shape: str, seed: int) -> None:
    wrong, before, after = differences(program_of(shape, seed), dynamic=True if seed == 3 else None)
    assert not wrong
    assert after <= before

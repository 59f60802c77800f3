"""Launches of autotuned kernels with what stands around them: each configuration, what the user asked for."""

from __future__ import annotations

import json
import logging
import os
import random
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import triton
import triton.language as tl

import opweave
from opweave import Tensor, pipeline
from opweave.codegen import tuning, winners
from opweave.codegen.kernel import compile_source
from opweave.codegen.winners import Contest, Winner
from opweave.codegen.wrapper import generate
from opweave.library import wrap_triton
from opweave.pipeline import lower
from opweave.registry.errors import CompileError, SanitizerError
from tests.codegen import launch_programs
from tests.codegen.launch_programs import (
    KERNELS,
    differences,
    map_kernel,
    matmul_kernel,
    program_of,
    rope_kernel,
    softmax_kernel,
    two_kernel,
)
from tests.helpers import fork_server

BLOCKS = [triton.Config({"BLOCK": 16}, num_warps=1), triton.Config({"BLOCK": 64}), triton.Config({"BLOCK": 256})]
NAMES = ["BLOCK=16, num_warps=1", "BLOCK=64, num_warps=4", "BLOCK=256, num_warps=4"]


class Bench:
    """A benchmark that runs its call twice and says that the best was at one of its turns; how many it had.

    Triton comes first, with the launch by itself in each configuration; then the fused kernels; then all unfused.
    """

    def __init__(self, best: int = 0) -> None:
        self.best, self.count = best, 0

    def __call__(self, call: Callable[[], Any], quantiles: Sequence[float]) -> list[float]:
        call()
        call()
        self.count += 1
        return [1.0 if self.count == self.best else 2.0] * len(quantiles)


@pytest.fixture(autouse=True)
def _nothing_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # Nor do launches of pointwise kernels become ops, which nobody tunes.
    monkeypatch.setattr(pipeline, "PASSES", tuple(entry for entry in pipeline.PASSES if entry[0] != "lift"))
    monkeypatch.setattr(winners, "_stores", list)
    monkeypatch.delenv("OPWEAVE_TUNING", raising=False)


def rand(*sizes: int, seed: int = 0) -> Tensor:
    return opweave.from_numpy(np.random.default_rng(seed).standard_normal(sizes).astype(np.float32))


def tuned(kernel: Any = map_kernel, configs: Any = BLOCKS, key: Sequence[str] = ("n",), **options: Any) -> Any:
    return triton.autotune(configs, key=list(key), **{"do_bench": Bench(), **options})(kernel)


def curve(kernel: Any, x: Tensor, **options: Any) -> Tensor:
    out, n = opweave.empty_like(x), x.numel()
    kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, 1.25, n, **options)
    return out


def around(kernel: Any) -> Callable[[Tensor, Tensor], Tensor]:
    return lambda x, w: curve(kernel, x * x).abs().sqrt() * w


def wanted(x: Tensor, w: Tensor) -> np.ndarray[Any, Any]:
    v = x.numpy() ** 2 * np.float32(1.25)
    return np.sqrt(np.abs(v / (1 + np.abs(v)))) * w.numpy()


def offered(monkeypatch: pytest.MonkeyPatch, choose: Callable[[list[str]], str]) -> list[list[str]]:
    """Have this choose among the candidates; the candidates of each contest."""
    found: list[list[str]] = []
    original = tuning._Trial.winner

    def winner(self: Any, candidates: Any) -> Winner:
        found.append([*candidates])
        timed = original(self, candidates)
        return Winner(choose(found[-1]), timed.config)

    monkeypatch.setattr(tuning._Trial, "winner", winner)
    return found


def launches(function: Callable[..., Any], *args: Tensor) -> int:
    with opweave.profile() as profile:
        function(*args)
    return sum(kernel.launches for kernel in profile.kernels)


def report(function: Callable[..., Any], *args: Tensor) -> str:
    return str(opweave.explain(opweave.compile(function))(*[x.clone() for x in args]))


def agree(function: Callable[..., Any], *args: Tensor, **options: Any) -> Any:
    """The fused function, which gives the bits of the unfused one, and changes its arguments as that does."""
    apart = opweave.compile(function, options={"fuse_launches": False}, **options)
    fused = opweave.compile(function, **options)
    apart(*[x.clone() for x in args])  # tuned in place by Triton, the first call may give anything
    for _ in range(2):
        copies = [[x.clone() for x in args] for _ in range(2)]
        results = [f(*given) for f, given in zip((apart, fused), copies, strict=True)]
        for one in zip(*[r if isinstance(r, tuple) else (r,) for r in results], strict=True):
            np.testing.assert_array_equal(one[1].numpy(), one[0].numpy())
        for unfused, made in zip(*copies, strict=True):
            np.testing.assert_array_equal(made.numpy(), unfused.numpy())
    return fused


# ---- what runs -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("choice", [*NAMES, "unfused"])
def test_whatever_is_chosen_gives_the_same_bits(choice: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(monkeypatch, lambda names: choice)
    x, w = rand(7, 100), rand(100)
    fused = agree(around(tuned()), x, w)
    np.testing.assert_allclose(fused(x, w).numpy(), wanted(x, w), rtol=1e-5)
    assert found == [[*NAMES, "unfused"]]
    assert launches(fused, x, w) == (3 if choice == "unfused" else 1)


@pytest.mark.parametrize("choice", [0, 1, 2])
@pytest.mark.parametrize("sizes", [(50, 40, 70), (64, 64, 64)])
def test_a_product_with_a_grid_for_each_configuration(
    sizes: tuple[int, int, int], choice: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(monkeypatch, lambda names: names[choice])
    configs = [
        triton.Config({"BM": 16, "BN": 16, "BK": 16}),
        triton.Config({"BM": 32, "BN": 16, "BK": 32}, num_stages=2),
    ]
    kernel = tuned(matmul_kernel, configs, ["M", "N", "K"])

    def function(a: Tensor, b: Tensor, s: Tensor) -> Tensor:
        a, (m, k), n = a.relu(), a.shape, b.shape[1]
        c = opweave.empty((m, n))

        def grid(meta: Any) -> tuple[Any]:
            return (triton.cdiv(m, meta["BM"]) * triton.cdiv(n, meta["BN"]),)

        kernel[grid](a, b, c, m, n, k, *a.stride(), *b.stride(), *c.stride())
        return (c + s).tanh()

    m, k, n = sizes
    a, b, s = rand(m, k), rand(k, n, seed=1), rand(n, seed=2)
    fused = agree(function, a, b, s)
    exact = np.tanh(np.maximum(a.numpy(), 0).astype(np.float64) @ b.numpy() + s.numpy())
    np.testing.assert_allclose(fused(a, b, s).numpy(), exact, rtol=1e-4, atol=1e-4)
    assert launches(fused, a, b, s) == (3 if choice == 2 else 1)


@pytest.mark.parametrize("outside", [True, False])
def test_heuristics_beside_the_tuner(outside: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, lambda names: names[1])
    rules = {"BLOCK": lambda given: triton.next_power_of_2(given["n"])}
    configs = [triton.Config({}, num_warps=k) for k in (1, 2)]
    kernel: Any = tuned(triton.heuristics(rules)(softmax_kernel), configs) if not outside else None
    kernel = kernel or triton.heuristics(rules)(tuned(softmax_kernel, configs))

    def function(x: Tensor, b: Tensor) -> Tensor:
        x = x + b
        out = opweave.empty_like(x)
        kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), x.shape[1])
        return out * 2

    assert launches(agree(function, rand(9, 50), rand(50)), rand(9, 50), rand(50)) == 1


@pytest.mark.parametrize("choice", range(4))
def test_several_results_and_one_that_is_returned(choice: int, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, lambda names: names[choice])
    kernel = tuned(two_kernel)

    def function(x: Tensor, y: Tensor) -> tuple[Tensor, ...]:
        first, second, n = opweave.empty_like(x), opweave.empty_like(x), x.numel()
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x * 2, y + 1, first, second, n)
        return first.tanh(), second * 3, second

    assert launches(agree(function, rand(90), rand(90, seed=1)), rand(90), rand(90)) == (5 if choice == 3 else 1)


@pytest.mark.parametrize("choice", [0, 1, 2])
@pytest.mark.parametrize("copies", [True, False])
def test_what_is_changed_in_place_is_changed_once(choice: int, copies: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, lambda names: names[choice])
    configs = [triton.Config({"PD": 8}), triton.Config({"PD": 4})]
    kernel = tuned(rope_kernel, configs, ["stride"], restore_value=["q"])

    def function(q: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
        q = q * 2 if copies else q
        kernel[(9,)](q, cos, sin, q.stride(0), 4, 4, PH=4)
        return q * 3

    args = rand(9, 4, 8), rand(9, 4), rand(9, 4, seed=1)
    agree(function, *args)
    q, fused = args[0].clone(), opweave.compile(function)
    fused(q, *args[1:])
    exact = args[0].numpy() * (2 if copies else 1)
    a, b, c, s = exact[..., :4], exact[..., 4:], args[1].numpy()[:, None], args[2].numpy()[:, None]
    rotated = np.concatenate([a * c - b * s, b * c + a * s], -1)
    np.testing.assert_allclose(q.numpy(), args[0].numpy() if copies else rotated, rtol=1e-5, atol=1e-6)


@triton.jit
def added(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out + i, tl.load(x + i, i < n), i < n)


@pytest.mark.parametrize("choice", range(4))
def test_sums_into_zeros(choice: int, monkeypatch: pytest.MonkeyPatch) -> None:
    offered(monkeypatch, lambda names: names[choice])
    kernel = tuned(added, reset_to_zero=["out"])

    def function(x: Tensor) -> Tensor:
        out, n = opweave.zeros_like(x), x.numel()
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x * 2, out, n)
        return out

    fused = opweave.compile(function)
    for x in (rand(100), rand(100, seed=1)):
        np.testing.assert_array_equal(fused(x).numpy(), x.numpy() * 2)


@pytest.mark.parametrize("choice", range(4))
@pytest.mark.parametrize("dynamic", [False, True])
def test_an_argument_that_is_added_to_is_added_to_once(
    choice: int, dynamic: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = offered(monkeypatch, lambda names: names[choice])
    kernel = tuned(added)

    def function(x: Tensor, out: Tensor) -> Tensor:
        n = x.numel()
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x * 2, out, n)
        return out + 1

    fused = opweave.compile(function, dynamic=dynamic)
    for seed in range(2):
        x, out = rand(100, seed=seed), rand(100, seed=2)
        exact = out.numpy() + x.numpy() * 2
        np.testing.assert_array_equal(fused(x, out).numpy(), exact + 1)
        np.testing.assert_array_equal(out.numpy(), exact)
    assert len(found) == 1


@pytest.mark.parametrize("choice", range(4))
def test_a_result_is_stored_into_an_argument(choice: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(monkeypatch, lambda names: names[choice])
    kernel = tuned()

    def into_another(x: Tensor, w: Tensor, out: Tensor) -> Tensor:
        out.copy_(around(kernel)(x, w))
        return out.exp()

    def into_one_that_is_read(x: Tensor, w: Tensor) -> Tensor:
        x.copy_(around(kernel)(x, w))
        return x * 2

    agree(into_another, rand(7, 100), rand(100), rand(7, 100, seed=1))
    agree(into_one_that_is_read, rand(7, 100), rand(100))
    assert len(found) == 2


@pytest.mark.parametrize("shape", KERNELS)
@pytest.mark.parametrize("seed", [20, 23])
def test_random_programs(shape: str, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    rng = random.Random(f"{shape} {seed}")
    offered(monkeypatch, rng.choice)
    configs = [triton.Config({}, num_warps=k) for k in (1, 2)]
    for name, kernel in vars(launch_programs).items():
        if isinstance(kernel, triton.runtime.JITFunction):
            numbers = [number for number in kernel.arg_names if number in ("n", "stride", "M")]
            given = {"restore_value": ["q"]} if name == "rope_kernel" else {}
            monkeypatch.setattr(launch_programs, name, tuned(kernel, configs, numbers, **given))
    wrong, _, _ = differences(program_of(shape, seed), dynamic=True if seed == 23 else None)
    assert not [text for text in wrong if "launches instead of" not in text]  # what is unfused may share less


@pytest.mark.parametrize("choice", range(4))
def test_sizes_that_are_not_fixed_are_tuned_one_by_one(choice: int, monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(monkeypatch, lambda names: names[choice])
    function = around(tuned())
    fused = opweave.compile(function, dynamic=True)
    for m, n in [(64, 100), (33, 77), (64, 100), (33, 77)]:
        x, w = rand(m, n), rand(n)
        np.testing.assert_allclose(fused(x, w).numpy(), wanted(x, w), rtol=1e-5)
    assert len(fused.entries) == 1
    assert len(found) == 2


def test_the_backward_of_a_compiled_function() -> None:
    kernel = tuned(do_bench=Bench(5))

    @opweave.library.triton_op("tests::tuned_curve", mutates_args=())
    def op(x: Tensor) -> Tensor:
        return curve(kernel, x)

    def setup(ctx: Any, inputs: Any, output: Tensor) -> None:
        ctx.save_for_backward(*inputs)

    opweave.library.register_autograd(
        "tests::tuned_curve", lambda ctx, grad: curve(kernel, grad * ctx.saved_tensors[0]) + 1, setup_context=setup
    )
    gradients = []
    for options in ({"fuse_launches": False}, {}):
        x = rand(50).requires_grad_()
        opweave.compile(lambda x: (op(x * 2).tanh() * 3).sum(), options=options)(x).backward()
        gradients.append(x.grad.numpy())
    np.testing.assert_array_equal(*gradients)


@pytest.mark.parametrize("best", [5, 7])
def test_an_exported_launch_has_the_best_configuration(best: int, tmp_path: Path) -> None:
    kernel = tuned(do_bench=Bench(best))
    function = around(kernel)
    x, w = rand(6, 50), rand(50)
    compiled = opweave.compile(function)(x, w)
    assert kernel.best_config is BLOCKS[1 if best == 5 else 0]
    opweave.export.save(opweave.export.export(function, (x, w)), tmp_path / "program.ow")
    loaded = opweave.compile(opweave.export.load(tmp_path / "program.ow").module())
    np.testing.assert_array_equal(loaded(x, w).numpy(), compiled.numpy())
    assert launches(loaded, x, w) == 1


def test_each_kernel_has_the_options_of_its_configuration_on_a_gpu() -> None:
    blocks = [{"BM": 128, "BN": 128, "BK": 64}, {"BM": 64, "BN": 64, "BK": 32}]
    options = [{"num_warps": 8, "num_stages": 3}, {"num_warps": 4, "num_stages": 4}]
    configs = [triton.Config(b, **o) for b, o in zip(blocks, options, strict=True)]
    kernel = tuned(matmul_kernel, configs, ["M", "N", "K"])

    def function(a: Tensor, b: Tensor, s: Tensor) -> Tensor:
        a, c = a.relu(), opweave.empty((512, 512), dtype=a.dtype, device=a.device)

        def grid(meta: Any) -> tuple[Any]:
            return (triton.cdiv(512, meta["BM"]) * triton.cdiv(512, meta["BN"]),)

        kernel[grid](a, b, c, 512, 512, 512, *a.stride(), *b.stride(), *c.stride())
        return (c + s).sigmoid()

    with opweave.FakeTensorMode():
        a, b, s = (opweave.empty(n, dtype=opweave.float16, device="cuda:0") for n in ((512, 512), (512, 512), (512,)))
    generated = generate(lower(opweave.make_fx(function, tracing_mode="fake")(a, b, s).graph), device="cuda")
    fused = [one for one in generated.kernels if one.language == "ttir"]
    assert [one.name in generated.source for one in generated.kernels] == [True] * 4
    for one, wanted, programs in zip(fused, options, (16, 64), strict=True):
        assert f"{one.name}({programs}, 1, 1," in generated.source
        compiled = compile_source(one, Path("unused"), "sm_90")
        assert {name: getattr(compiled.metadata, name) for name in wanted} == wanted
        assert "wgmma" in compiled.asm["ptx"]


# ---- what is timed ---------------------------------------------------------------------------------------------------


def test_nothing_is_timed_twice() -> None:
    bench = Bench(5)
    kernel = tuned(do_bench=bench)
    fused = opweave.compile(around(kernel))
    for _ in range(3):
        fused(rand(7, 100), rand(100))
    # Three fused, three by Triton for the launch by itself, and that with what is around it.
    assert bench.count == 7
    assert kernel.best_config is BLOCKS[1]
    opweave.compile(around(kernel), options={"fuse_launches": False})(rand(7, 100), rand(100))
    assert bench.count == 7


def test_one_configuration_is_not_timed() -> None:
    bench = Bench()
    one = tuned(configs=BLOCKS[1:2], do_bench=bench)
    pruned = tuned(prune_configs_by={"early_config_prune": lambda configs, named, **rest: configs[2:]}, do_bench=bench)
    for kernel in (one, pruned):
        fused, (x, w) = opweave.compile(around(kernel)), (rand(7, 100), rand(100))
        np.testing.assert_allclose(fused(x, w).numpy(), wanted(x, w), rtol=1e-5)
        assert launches(fused, x, w) == 1
    assert bench.count == 0


def test_the_users_functions_are_asked_as_by_triton() -> None:
    asked: list[Any] = []

    def prune(configs: Any, named: Any, **rest: Any) -> Any:
        asked.append((
            "prune", configs, {k: getattr(v, "shape", v) for k, v in named.items()}, [named["x"].numpy().copy()],
            {k: v for k, v in rest.items() if k != "grid"}, [rest["grid"](c.all_kwargs())[0] for c in configs],
        ))  # fmt: skip
        return configs[:2]

    def model(**given: Any) -> float:
        asked.append(("model", sorted(given), given["n"], given["BLOCK"]))
        return -given["BLOCK"]

    by = {"early_config_prune": prune, "perf_model": model, "top_k": 1}
    calls = []
    x, w = rand(7, 100), rand(100)
    for compile in (lambda f: f, opweave.compile):
        compile(around(tuned(prune_configs_by=by)))(x, w)
        calls.append(asked[:])
        asked.clear()
    eager, fused = calls
    assert [call[0] for call in fused] == [call[0] for call in eager] == ["prune", "model", "model"]
    np.testing.assert_array_equal(fused[0][3], eager[0][3])  # what is computed for the launch, too
    assert [*fused[0][:3], *fused[0][4:]] == [*eager[0][:3], *eager[0][4:]]
    assert fused[1:] == eager[1:]


def test_a_configuration_that_was_pruned_is_no_candidate(monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(monkeypatch, lambda names: names[0])
    count: list[int] = []

    def prune(configs: Any, named: Any, **rest: Any) -> Any:
        count.append(1)
        return configs[1:]

    opweave.compile(around(tuned(prune_configs_by={"early_config_prune": prune})))(rand(7, 100), rand(100))
    assert found == [[*NAMES[1:], "unfused"]]
    assert len(count) == 1


def test_a_candidate_that_does_not_run_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    original = tuning._Trial._time

    def time(self: Any, run: Any) -> Any:
        if run is not self.tuned.fused[2]:
            raise CompileError("too large")
        return original(self, run)

    monkeypatch.setattr(tuning._Trial, "_time", time)
    kernel = tuned()
    opweave.compile(around(kernel))(rand(7, 100), rand(100))
    assert kernel.best_config is BLOCKS[2]
    monkeypatch.setattr(tuning._Trial, "_time", lambda self, run: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        opweave.compile(around(tuned()))(rand(7, 101), rand(101))


def test_an_error_of_the_users_function_is_that_of_the_launch() -> None:
    kernel = tuned(prune_configs_by={"early_config_prune": lambda configs, named, **rest: []})
    for options in ({}, {"fuse_launches": False}):
        with pytest.raises(CompileError, match="should return at least one config"):
            opweave.compile(around(kernel), options=options)(rand(7, 100), rand(100))


@triton.jit
def beyond(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) * 2, i < n)


def test_the_sanitizer_looks_at_each_candidate() -> None:
    kernel = tuned(beyond)

    def function(x: Tensor) -> Tensor:
        x = x * 2
        out, n = opweave.empty_like(x), x.numel()
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x, out, n)
        return out + 1

    with opweave.sanitize(), pytest.raises(SanitizerError, match="reads outside the memory"):
        opweave.compile(function)(rand(100))


@pytest.mark.parametrize("dynamic", [None, True])
@pytest.mark.parametrize("choice", range(4))
def test_launches_in_functions_of_control_flow(
    choice: int, dynamic: bool | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    offered(monkeypatch, lambda names: names[choice])
    kernel = tuned()

    def either(x: Tensor) -> Tensor:
        return opweave.cond(x.sum() > 0, lambda x: curve(kernel, x * 2) + 1, lambda x: curve(kernel, x * 3) - 1, (x,))

    def thrice(x: Tensor) -> Tensor:
        start = opweave.tensor(0), x
        return opweave.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, curve(kernel, x * 2) * 3), start)[1]

    agree(either, rand(7, 100), dynamic=dynamic)
    agree(thrice, rand(7, 100), dynamic=dynamic)


def test_what_wins_is_told(caplog: pytest.LogCaptureFixture) -> None:
    from triton import knobs

    x, w = rand(7, 100), rand(100)
    kernel = tuned(do_bench=Bench(5))
    assert (
        "launch of map_kernel; before x mul; after out abs, sqrt, mul; tuned when it runs: unfused, or one of 3 of 3"
        in (report(around(kernel), x, w))
    )
    with knobs.autotuning.scope(), caplog.at_level(logging.DEBUG, logger="opweave.fusion"):
        knobs.autotuning.print = False
        opweave.compile(around(tuned(do_bench=Bench(5))))(x, w)
    text = caplog.records[-1].getMessage()
    assert "launch of map_kernel, key (700,): BLOCK=64, num_warps=4, the fastest" in text
    assert "BLOCK=64, num_warps=4: 1.0000 ms" in text


# ---- what is kept ----------------------------------------------------------------------------------------------------

PROGRAM = """
import sys
import numpy as np, triton, triton.language as tl, opweave

calls = []
def bench(call, quantiles):
    call()
    calls.append(1)
    return [float(len(calls) != {best})] * 3

@triton.autotune([triton.Config({{"BLOCK": b}}) for b in (16, 64)], key=["n"], do_bench=bench)
@triton.jit
def doubled(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.where(i < 1000, tl.load(x + i, i < n) * 2, 0.0), i < n)  # it is no pointwise op

@opweave.compile
def function(x):
    h = x + 1
    out = opweave.empty_like(h)
    doubled[lambda meta: (triton.cdiv(x.numel(), meta["BLOCK"]),)](h, out, x.numel())
    return out * 3

x = opweave.from_numpy(np.arange(100, dtype=np.float32))
np.testing.assert_array_equal(function(x).numpy(), (x.numpy() + 1) * 6)
with opweave.profile() as profile:
    function(x)
print(len(calls), sum(kernel.launches for kernel in profile.kernels))
"""


def process(folder: Path, best: int, **environment: str) -> list[int]:
    """How often a process timed something, and how many launches its function has."""
    (folder / "program.py").write_text(PROGRAM.format(best=best))
    own = {"OPWEAVE_CACHE_DIR": str(folder / "cache"), "OPWEAVE_LOGS": "", **environment}
    done = fork_server.python([folder / "program.py"], env={**os.environ, **own})
    assert done.returncode == 0, done.stderr
    return [*map(int, done.stdout.split())]


@pytest.mark.parametrize(("best", "count", "again"), [(4, 1, 0), (5, 3, 0)])
def test_another_process_finds_the_winner(best: int, count: int, again: int, tmp_path: Path) -> None:
    assert process(tmp_path, best) == [5, count]
    assert process(tmp_path, 1) == [again, count]


def test_a_file_of_the_users_fixes_choices(tmp_path: Path) -> None:
    kept = {"OPWEAVE_TUNING": str(tmp_path / "tuning.json"), "OPWEAVE_CACHE": "0"}
    assert process(tmp_path, 4, **kept) == [5, 1]
    assert process(tmp_path, 5, **kept) == [0, 1]
    ((name, about),) = json.loads((tmp_path / "tuning.json").read_text()).items()
    assert name.startswith("doubled ")
    assert about["key"] == [100]
    assert about["winner"] == "BLOCK=64"
    assert [*about["milliseconds"]] == ["BLOCK=16", "BLOCK=64", "unfused"]
    changed = {name: {**about, "winner": "unfused"}}
    (tmp_path / "tuning.json").write_text(json.dumps(changed))
    assert process(tmp_path, 4, **kept)[1] == 3


def test_a_file_that_is_of_no_use_is_written_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "tuning.json"
    monkeypatch.setenv("OPWEAVE_TUNING", str(file))
    contest = Contest("doubled", (100,), ("BLOCK=16", "unfused"), "0" * 40)
    assert contest.find() is None
    contest.keep(Winner("unfused", 0, {"BLOCK=16": 2.0, "unfused": 1.0}))
    kept = file.read_text()
    assert contest.find() == Winner("unfused", 0)
    assert Contest("doubled", (101,), contest.candidates, contest.digest).find() is None
    for text in ("no json", "[]", "7", '{"a": 1}', kept.replace('"winner": "unfused"', '"winner": "BLOCK=7"')):
        file.write_text(text)
        assert contest.find() is None
    contest.keep(Winner("unfused", 0, {"BLOCK=16": 2.0, "unfused": 1.0}))
    assert file.read_text() == kept


# ---- what is left out, and what stays apart --------------------------------------------------------------------------


def test_a_configuration_whose_grid_misses_is_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    found = offered(monkeypatch, lambda names: names[0])
    kernel = tuned(configs=BLOCKS[:2])

    def function(x: Tensor) -> Tensor:
        out = opweave.full_like(x, 3.0)
        kernel[(2,)](x * 2, out, 1.25, 100)
        return out + 1

    x = rand(100)
    fused = opweave.compile(function)
    v = x.numpy() * 2 * np.float32(1.25)
    np.testing.assert_allclose(fused(x).numpy(), v / (1 + np.abs(v)) + 1, rtol=1e-5)
    assert found == [[NAMES[1], "unfused"]]
    told = report(function, x)
    assert "one of 1 of 2 configurations" in told
    assert "not BLOCK=16, num_warps=1 (the stores may not reach all of it)" in told


def test_a_launch_of_which_no_configuration_fits_stays_apart() -> None:
    kernel = tuned(configs=BLOCKS[:2])

    def function(x: Tensor) -> Tensor:
        out = opweave.full_like(x, 3.0)
        kernel[(1,)](x, out, 1.25, 100)
        return out + 1

    assert "after out: the stores may not reach all of it (BLOCK=16, num_warps=1)" in report(function, rand(100))


def _zero(kernel_arguments: Any, *rest: Any, **more: Any) -> None:
    kernel_arguments["out"].zero_()


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({"pre_hook": _zero}, "a hook may write its arguments"),
        ({"post_hook": _zero}, "a hook may write its arguments"),
        (
            {"configs": [triton.Config({"BLOCK": k}, pre_hook=_zero) for k in (16, 64)]},
            "a hook may write its arguments",
        ),
        ({"key": ["x"]}, "the kernel is tuned by x, which is a tensor"),
    ],
)
def test_launches_that_stay_apart(options: Any, reason: str) -> None:
    kernel = tuned(**options)
    assert reason in report(lambda x: curve(kernel, x * 2) + 1, rand(100))
    agree(lambda x: curve(kernel, x * 2) + 1, rand(100))


def test_zeroing_that_shows_stays() -> None:
    kernel = tuned(added, reset_to_zero=["out"])

    def function(x: Tensor, out: Tensor) -> Tensor:
        out, n = out * 1, x.numel()
        kernel[lambda meta: (triton.cdiv(n, meta["BLOCK"]),)](x * 2, out, n)
        return out

    assert "tuning sets out to zero (reset_to_zero)" in report(function, rand(100), rand(100))


def test_two_tuners_stay_apart() -> None:
    kernel = tuned(tuned(configs=BLOCKS[:2]), [triton.Config({}, num_warps=k) for k in (1, 2)])
    assert "several autotuners" in report(lambda x: curve(kernel, x * 2) + 1, rand(100))


def test_an_option_and_a_launch_may_say_no() -> None:
    x, w = rand(7, 100), rand(100)
    kernel = tuned()
    assert launches(opweave.compile(around(wrap_triton(kernel, fused=False))), x, w) > 3  # tuned by Triton
    function = opweave.compile(around(kernel), options={"fuse_launches": False})
    function(x, w)
    assert launches(function, x, w) == 3

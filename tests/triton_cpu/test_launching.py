"""Ways to launch a kernel on the CPU: tuning, heuristics, hooks, tuples, descriptors; and what ends in an exception."""

from __future__ import annotations

import os
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pytest
import triton
import triton.language as tl
from triton import knobs
from triton.compiler.errors import CompilationError
from triton.tools.tensor_descriptor import TensorDescriptor

from opweave import from_numpy
from opweave.codegen.native.arguments import HostArray
from opweave.codegen.triton_cpu.refusal import UnsupportedTritonOp
from opweave.registry.errors import ArgumentError, DeviceAssertionError

pytestmark = pytest.mark.usefixtures("active", "no_device_of_an_earlier_test")


# -- tuning

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block, warps in ((16, 1), (64, 4), (256, 8))]
KEPT: list[int] = []


def keep_small(configs: list[triton.Config], named: dict[str, Any], **kwargs: Any) -> list[triton.Config]:
    kept = [c for c in configs if c.kwargs["BLOCK"] <= named["n"]]
    KEPT.append(len(kept))
    return kept


@triton.autotune(
    CONFIGS,
    key=["n"],
    reset_to_zero=["total"],
    restore_value=["x"],
    prune_configs_by={"early_config_prune": keep_small},
)
@triton.jit
def tuned(x, total, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    live = i < n
    v = tl.load(x + i, live, 0)
    tl.store(x + i, v + 1, live)
    tl.atomic_add(total, tl.sum(v))


def test_autotuning_leaves_the_arguments_as_one_launch_does() -> None:
    def grid(meta: dict[str, Any]) -> tuple[int]:
        return (triton.cdiv(n, meta["BLOCK"]),)

    for n, kept in ((100, 2), (300, 3)):
        x, total = np.arange(n), np.zeros(1, np.int64)
        tuned[grid](from_numpy(x), from_numpy(total), n)
        np.testing.assert_array_equal(x, np.arange(n) + 1)
        assert total[0] == np.arange(n).sum()
        assert KEPT[-1] == kept
    assert len(tuned.cache) == 2
    before = len(KEPT)
    tuned[grid](from_numpy(x), from_numpy(total), n)
    assert len(KEPT) == before, "what was tuned is not tuned again"
    assert tuned.best_config in CONFIGS


def test_tuning_results_are_kept_on_disk(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import numpy as np, triton, triton.language as tl
        from triton.runtime import autotuner
        from opweave import from_numpy
        from opweave.codegen.triton_cpu.driver import activate
        activate()
        configs = [triton.Config({"BLOCK": b}) for b in (16, 64)]

        @triton.autotune(configs, key=["n"], cache_results=True)
        @triton.jit
        def double(x, n, BLOCK: tl.constexpr):
            i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
            tl.store(x + i, tl.load(x + i, i < n) * 2, i < n)

        benchmarks = []
        measure = autotuner.Autotuner._bench
        autotuner.Autotuner._bench = lambda self, *a, **k: benchmarks.append(1) or measure(self, *a, **k)
        x = np.ones(100, np.float32)
        double[lambda meta: (triton.cdiv(100, meta["BLOCK"]),)](from_numpy(x), 100)
        print(len(benchmarks), set(np.log2(x)) != set())
        """)
    )
    environment = {"TRITON_CACHE_DIR": str(tmp_path / "cache"), "PATH": "/usr/bin:/bin", "HOME": str(tmp_path)}
    counts = []
    for _ in range(2):
        done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment)
        assert done.returncode == 0, done.stderr
        counts.append(int(done.stdout.split()[0]))
    assert counts == [2, 0]


@triton.heuristics({"BLOCK": lambda args: triton.next_power_of_2(args["n"]), "EVEN": lambda args: args["n"] % 2 == 0})
@triton.jit
def heuristic(x, out, n, BLOCK: tl.constexpr, EVEN: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(out + i, v * 2 if EVEN else -v, i < n)


@pytest.mark.parametrize("n", [6, 33])
def test_heuristics(n: int) -> None:
    x, out = np.arange(n), np.zeros(n, np.int64)
    heuristic[(1,)](from_numpy(x), from_numpy(out), n)
    np.testing.assert_array_equal(out, x * 2 if n % 2 == 0 else -x)


def test_benchmarks_measure_milliseconds() -> None:
    x, out = np.arange(64), np.zeros(64, np.int64)
    call = lambda: heuristic[(1,)](from_numpy(x), from_numpy(out), 64)  # noqa: E731
    low, middle, high = triton.testing.do_bench(call, warmup=1, rep=5, quantiles=[0.2, 0.5, 0.8])
    assert 0 < low <= middle <= high < 1000


# -- arguments


class Pair(NamedTuple):
    """Two pointers."""

    left: Any
    right: Any


@triton.jit
def takes_tuples(pair, table, out, N: tl.constexpr):
    i = tl.arange(0, N)
    total = tl.load(pair.left + i) * table[0] - tl.load(pair.right + i)
    for k in tl.static_range(len(table[1])):
        total += tl.load(table[1][k] + i) * (k + 1)
    tl.store(out + i, total)


def test_tuples_of_pointers_and_numbers() -> None:
    a, b, c, d = np.random.default_rng(0).integers(-9, 9, (4, 32))
    out = np.zeros(32, np.int64)
    takes_tuples[(1,)](Pair(from_numpy(a), from_numpy(b)), (7, (from_numpy(c), from_numpy(d))), from_numpy(out), N=32)
    np.testing.assert_array_equal(out, a * 7 - b + c + 2 * d)


@triton.jit
def through_descriptors(source, target, rows, cols, M: tl.constexpr, N: tl.constexpr):
    r, c = tl.program_id(0) * M, tl.program_id(1) * N
    target.store([r, c], source.load([r, c]) + 1)


@pytest.mark.parametrize("padding", ["zero", "nan"])
def test_descriptors_made_by_the_caller(padding: str) -> None:
    x = np.random.default_rng(0).standard_normal((20, 40)).astype(np.float32)
    out = np.zeros((24, 64), np.float32)
    shapes = ([20, 40], [40, 1]), ([24, 64], [64, 1])
    source, target = (
        TensorDescriptor(from_numpy(a), *shape, [8, 32], padding=p)  # type: ignore[arg-type]
        for a, shape, p in zip((x, out), shapes, (padding, "zero"), strict=True)
    )
    through_descriptors[(3, 2)](source, target, 20, 40, M=8, N=32)
    want = np.pad(x, ((0, 4), (0, 24)), constant_values=0 if padding == "zero" else np.nan) + 1
    np.testing.assert_array_equal(out, want)


# -- what ends in an exception


@triton.jit
def guarded(index, x, out, n, N: tl.constexpr):
    i = tl.program_id(0) * N + tl.arange(0, N)
    at = tl.load(index + i)
    tl.device_assert((at >= 0) & (at < n), "index outside")
    tl.store(out + i, tl.load(x + at))


def test_a_failed_assertion_is_an_exception_with_its_place_and_program() -> None:
    index, x, out = np.arange(64) % 16, np.arange(16), np.full(64, -1)
    guarded[(4,)](*map(from_numpy, (index, x, out)), 16, N=16, debug=True)
    np.testing.assert_array_equal(out, index)
    index[37], out[:] = 1 << 40, -1  # would be a crash if it were read
    with pytest.raises(DeviceAssertionError) as error:
        guarded[(4,)](*map(from_numpy, (index, x, out)), 16, N=16, debug=True)
    line = guarded.starting_line_number + 4
    assert "guarded: device assertion failed: index outside" in str(error.value)
    assert "program (2, 0, 0)" in str(error.value) and f"test_launching.py:{line}" in str(error.value)
    assert (out[32:48] == -1).all(), "nothing of a program runs after its assertion"
    index[37] = 5
    guarded[(4,)](*map(from_numpy, (index, x, out)), 16, N=16, debug=True)
    np.testing.assert_array_equal(out, index)


@triton.jit
def guarded_in_a_loop(x, out, n, limit):
    total = tl.zeros([], tl.int64)
    for k in range(n):
        v = tl.load(x + k)
        if v > 0:
            tl.device_assert(v < limit, "too large")
            total += v
    tl.store(out, total)


def test_an_assertion_in_a_loop_leaves_the_program() -> None:
    x, out = np.array([1, -5, 7, 9]), np.zeros(1, np.int64)
    guarded_in_a_loop[(1,)](from_numpy(x), from_numpy(out), 4, 10, debug=True)
    assert out[0] == 17
    out[0] = 0
    with pytest.raises(DeviceAssertionError, match="too large"):
        guarded_in_a_loop[(1,)](from_numpy(x), from_numpy(out), 4, 8, debug=True)
    assert out[0] == 0


def test_assertions_of_several_threads_reach_their_own_callers() -> None:
    x = np.array([1, 2, 3, 4])

    def work(limit: int) -> int:
        out = np.zeros(1, np.int64)
        try:
            guarded_in_a_loop[(1,)](from_numpy(x), from_numpy(out), 4, limit, debug=True)
        except DeviceAssertionError:
            return -1
        return int(out[0])

    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(work, [10, 3] * 100))
    assert results == [10, -1] * 100


def test_without_debug_an_assertion_is_not_compiled() -> None:
    x, out = np.array([1, 2]), np.zeros(1, np.int64)
    guarded_in_a_loop[(1,)](from_numpy(x), from_numpy(out), 2, 0)
    assert out[0] == 3


@triton.jit
def increment(x, out, N: tl.constexpr):
    i = tl.arange(0, N)
    tl.store(out + i, tl.load(x + i) + 1)


def test_a_read_only_array_is_not_written() -> None:
    x, out = np.arange(16), np.zeros(16, np.int64)
    x.flags.writeable = False
    increment[(1,)](HostArray(x), HostArray(out), 16)
    np.testing.assert_array_equal(out, x + 1)
    with pytest.raises(ArgumentError, match=r"argument 'out' is written by the kernel[\s\S]*read-only"):
        increment[(1,)](HostArray(out), HostArray(x), 16)
    np.testing.assert_array_equal(x, np.arange(16))


@pytest.mark.parametrize(("size", "message"), [(17, "power of 2"), (0, "positive|greater|power"), (2**21, "exceeds")])
def test_impossible_blocks(size: int, message: str) -> None:
    x = np.zeros(16, np.int64)
    with pytest.raises((CompilationError, ValueError), match=message):
        increment[(1,)](from_numpy(x), from_numpy(x), size)


def test_blocks_that_memory_does_not_hold(tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        textwrap.dedent("""
        import resource
        import numpy as np, triton, triton.language as tl
        from opweave import from_numpy
        from opweave.codegen.triton_cpu.driver import activate
        from opweave.registry.errors import OutOfMemoryError
        activate()

        @triton.jit
        def sums(x, out, N: tl.constexpr):
            i = tl.arange(0, N)
            s = tl.cumsum(tl.load(x + i), 0)
            tl.store(out + i, tl.cumsum(s * 2, 0) + s)

        n = 2**19
        x, out = np.arange(n) % 7, np.zeros(n, np.int64)
        sums[(2,)](from_numpy(x), from_numpy(out), n)
        s = np.cumsum(x)
        assert (out == np.cumsum(2 * s) + s).all()
        now = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (now + (1 << 20), resource.RLIM_INFINITY))
        try:
            sums[(2,)](from_numpy(x), from_numpy(out), n)
        except OutOfMemoryError as error:
            print("sums: no memory for the blocks" in str(error))
        """)
    )
    # What the compiler has freed must not be at hand: blocks of that size come from the system.
    environment = os.environ | {"MALLOC_MMAP_THRESHOLD_": str(1 << 20)}
    done = subprocess.run([sys.executable, str(program)], capture_output=True, text=True, env=environment)
    assert (done.returncode, done.stdout.strip()) == (0, "True"), done.stderr


@triton.jit
def assembly(x, N: tl.constexpr):
    i = tl.arange(0, N)
    v = tl.load(x + i)
    tl.store(x + i, tl.inline_asm_elementwise("nop $0, $1;", "=r,r", [v], tl.int32, True, 1))


def test_a_refusal_names_the_line() -> None:
    with pytest.raises(UnsupportedTritonOp) as error:
        assembly[(1,)](from_numpy(np.zeros(16, np.int32)), 16)
    assert f"test_launching.py:{assembly.starting_line_number + 4}" in str(error.value)


@triton.jit(noinline=True)
def factorial(n):
    result = 1
    if n > 1:
        result = n * factorial(n - 1)
    return result


@triton.jit
def recursive(out, n):
    tl.store(out, factorial(n))


def test_recursion_is_refused() -> None:
    with pytest.raises((UnsupportedTritonOp, CompilationError, RecursionError)):
        recursive[(1,)](from_numpy(np.zeros(1, np.int32)), 5)


def test_hooks_of_a_kernel_run_around_it() -> None:
    seen: list[str] = []
    x, out = np.arange(16), np.zeros(16, np.int64)

    def enter(metadata: Any) -> None:
        seen.append(f"enter {metadata.get()['name']} {out[3]}")

    def leave(metadata: Any) -> None:
        seen.append(f"exit {out[3]}")

    increment.add_pre_run_hook(lambda *args, **kwargs: seen.append("pre"))
    knobs.runtime.launch_enter_hook.add(enter)
    knobs.runtime.launch_exit_hook.add(leave)
    try:
        increment[(1,)](from_numpy(x), from_numpy(out), 16)
    finally:
        knobs.runtime.launch_enter_hook.remove(enter)
        knobs.runtime.launch_exit_hook.remove(leave)
        increment.pre_run_hooks.clear()
    assert seen == ["pre", "enter increment 0", "exit 4"]


def test_a_compiled_kernel_runs_by_itself() -> None:
    x, out = np.arange(16), np.zeros(16, np.int64)
    made = increment.warmup(from_numpy(x), from_numpy(out), N=16, grid=(1,))
    made[(1, 1, 1)](from_numpy(x), from_numpy(out), 16)
    np.testing.assert_array_equal(out, x + 1)
    increment.run(from_numpy(out), from_numpy(out), 16, grid=(1,), warmup=False)
    np.testing.assert_array_equal(out, x + 2)


@triton.jit
def reverse(x, out, n, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n)
    tl.store(out + (n - 1 - i), v * 2, i < n)


@triton.jit
def transpose(x, out, N: tl.constexpr):
    i, j = tl.arange(0, N)[:, None], tl.arange(0, N)[None, :]
    tl.store(out + i * N + j, tl.load(x + j * N + i))


def test_one_array_for_what_is_read_and_what_is_written() -> None:
    x = np.random.default_rng(0).integers(-99, 99, 200)
    for start, stop in ((0, 0), (0, 3), (5, 0)):  # the same place, and views that lie askew
        both = x.copy()
        want = both.copy()
        want[stop : stop + 190] = both[start : start + 190][::-1] * 2
        tensor = from_numpy(both)
        reverse[(1,)](tensor[start:], tensor[stop:], 190, BLOCK=256)
        np.testing.assert_array_equal(both, want)
    square = np.random.default_rng(0).integers(-99, 99, (32, 32))
    want = square.T.copy()
    transpose[(1,)](HostArray(square), HostArray(square), 32)
    np.testing.assert_array_equal(square, want)
    out = np.zeros(200, np.int64)
    reverse[(1,)](from_numpy(x), from_numpy(out), 200, BLOCK=256)
    np.testing.assert_array_equal(out, x[::-1] * 2)


# -- memory that arguments share


@triton.jit
def _copied(x, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i) + 1)


@pytest.mark.parametrize("shift", [-100, -1, 1, 7, 100])
def test_arrays_that_overlap_in_part(shift: int) -> None:
    """A program's loads come before its stores, whatever memory its arguments share."""
    for wrap in (HostArray, from_numpy):
        memory = np.arange(1300, dtype=np.float32)
        expected = memory[100:1124] + 1
        _copied[(1,)](wrap(memory[100:1124]), wrap(memory[100 + shift : 1124 + shift]), BLOCK=1024)
        np.testing.assert_array_equal(memory[100 + shift : 1124 + shift], expected)

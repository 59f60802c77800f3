"""What this machine can do: bytes from memory, and operations of each type in registers, in a second; prints JSON.

    python benchmarks/machine.py --threads 2

A copy and a sum of squares of arrays beyond the caches give the bytes, counted as those that must move. Multiplications
and sums of vectors that stay in registers give the operations: of float32, and of bfloat16 and int8 by AMX, or by
AVX512-BF16 and VNNI, where there are such instructions. The best of several rounds counts.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import ctypes
import json
import time
from collections.abc import Callable

import numpy as np

from opweave.codegen.native import amx, llvm, objects

ELEMENTS = 1 << 24
STEPS, SUMS, TILES = 100_000, 12, 4


def kernels(machine: llvm.Host) -> dict[str, tuple[str, float]]:
    """LLVM IR of functions that stay in registers or tiles, and operations of all sums' steps, by type."""
    lanes = machine.vector_bits // 32
    fma = f"call <{lanes} x float> @llvm.fma.v{lanes}f32(<{lanes} x float> %x, <{lanes} x float> %x, {{}})"
    one = f"<{lanes} x float>"
    found = {"float32": (_loop(one, one, f"@llvm.fma.v{lanes}f32", fma), 2.0 * lanes * SUMS)}
    for name, feature, kind, sums, dot, each in (
        ("bfloat16", "avx512bf16", "<32 x bfloat>", "<16 x float>", "llvm.x86.avx512bf16.dpbf16ps.512", 4),
        ("int8", "avx512vnni", "<16 x i32>", "<16 x i32>", "llvm.x86.avx512.vpdpbusd.512", 8),
    ):
        stored = "bfloat" if name == "bfloat16" else "i8"
        if machine.has_tiles(stored):
            found[name] = (_tile_loop(stored), amx.ROWS * 16 * 16.0 * each * TILES)
        elif machine.vector_bits == 512 and feature in machine.features:
            call = f"call {sums} @{dot}({{}}, {kind} %x, {kind} %x)"
            found[name] = (_loop(kind, sums, f"@{dot}", call), 16.0 * each * SUMS)
    return found


def _tile_loop(stored: str) -> str:
    dots = [amx.dot(stored, tile, TILES, TILES + 1) for tile in range(TILES)]
    return "\n".join([
        amx.DECLARATIONS, "define void @steps(ptr %in, ptr %out, i64 %n) {", "entry:", amx.configure(),
        "  br label %loop", "loop:", "  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]", *dots, "  %k1 = add i64 %k, 1",
        "  %more = icmp slt i64 %k1, %n", "  br i1 %more, label %loop, label %done", "done:", amx.release(),
        "  ret void", "}",
    ])  # fmt: skip


def _loop(kind: str, sums: str, name: str, call: str) -> str:
    first = f"{kind}, {kind}, {sums}" if "fma" in name else f"{sums}, {kind}, {kind}"
    phis = [f"  %s{i} = phi {sums} [ zeroinitializer, %entry ], [ %t{i}, %loop ]" for i in range(SUMS)]
    steps = [f"  %t{i} = {call.format(f'{sums} %s{i}')}" for i in range(SUMS)]
    stores = [f"  store {sums} %t{i}, ptr %out, align 4" for i in range(SUMS)]
    return "\n".join([
        f"declare {sums} {name}({first})",
        "define void @steps(ptr %in, ptr %out, i64 %n) {", "entry:", f"  %x = load {kind}, ptr %in, align 4",
        "  br label %loop", "loop:", "  %k = phi i64 [ 0, %entry ], [ %k1, %loop ]", *phis, *steps,
        "  %k1 = add i64 %k, 1", "  %more = icmp slt i64 %k1, %n", "  br i1 %more, label %loop, label %done", "done:",
        *[line.replace("store", "store volatile") for line in stores], "  ret void", "}",
    ])  # fmt: skip


def best(work: Callable[[int], object], threads: int, rounds: int = 60) -> float:
    """Seconds in which all threads are through, at best."""
    times: list[float] = []
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        for _ in range(rounds):
            started = time.perf_counter()
            list(pool.map(work, range(threads)))
            times.append(time.perf_counter() - started)
    return min(times)


def measured(threads: int) -> dict[str, float]:
    """Bytes of memory a second, and operations a second by type."""
    xs = [np.ones(ELEMENTS, np.float32) for _ in range(threads)]
    ys = [np.ones(ELEMENTS, np.float32) for _ in range(threads)]
    copied = best(lambda i: ctypes.memmove(ys[i].ctypes.data, xs[i].ctypes.data, xs[i].nbytes), threads)
    read = best(lambda i: np.dot(xs[i], xs[i]), threads)
    found = {"bytes": 4.0 * ELEMENTS * threads * max(2 / copied, 1 / read)}
    for name, (text, operations) in kernels(llvm.host()).items():
        code = objects.load(llvm.compile_object(text, name=name), ["steps"])
        steps = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)(code.address("steps"))
        rooms = [np.zeros(64, np.float32) for _ in range(2 * threads)]
        seconds = best(
            lambda i, steps=steps, rooms=rooms: steps(rooms[2 * i].ctypes.data, rooms[2 * i + 1].ctypes.data, STEPS),
            threads,
        )
        found[name] = operations * STEPS * threads / seconds
    return found


def main() -> None:
    """Print JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--threads", type=int, default=1)
    print(json.dumps(measured(parser.parse_args().threads)))


if __name__ == "__main__":
    main()

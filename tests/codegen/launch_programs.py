"""Random programs around launches of kernels as users write them, fused beside unfused.

    python tests/codegen/launch_programs.py --count 400 --seed 0

Kernels of ten shapes (a map, softmax, layer norm, a tiled product, attention, rotation in place, a scan, a gather, two
outputs, a persistent loop that carries its pointer) get inputs that random pointwise ops compute, and their results go
through more of them: with row, column, scalar and whole operands, changes of type, views, several consumers, results
that are returned as well, and chains of two kernels. The compiled program must give, bit for bit, what it gives with
`fuse_launches` off, change the same inputs, launch no more kernels, and be close to the uncompiled one.
"""

from __future__ import annotations

import argparse
import random
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import triton
import triton.language as tl

import opweave
from opweave import Tensor


@triton.jit
def map_kernel(x, out, scale, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    v = tl.load(x + i, i < n) * scale
    tl.store(out + i, v / (1 + tl.abs(v)), i < n)


@triton.jit
def softmax_kernel(out, x, out_stride, x_stride, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * x_stride + c, mask=c < n, other=-float("inf"))
    e = tl.exp(v - tl.max(v, 0))
    tl.store(out + row * out_stride + c, e / tl.sum(e, 0), mask=c < n)


@triton.jit
def layer_norm_kernel(x, y, w, b, mean, rstd, stride, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    c = tl.arange(0, BLOCK)
    v = tl.load(x + row * stride + c, mask=c < n, other=0.0)
    m = tl.sum(v, 0) / n
    d = tl.where(c < n, v - m, 0.0)
    r = 1 / tl.sqrt(tl.sum(d * d, 0) / n + eps)
    tl.store(mean + row, m)
    tl.store(rstd + row, r)
    out = d * r * tl.load(w + c, mask=c < n, other=0.0) + tl.load(b + c, mask=c < n, other=0.0)
    tl.store(y + row * stride + c, out, mask=c < n)


@triton.jit
def matmul_kernel(a, b, c, M, N, K, am, ak, bk, bn, cm, cn, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr):
    pid = tl.program_id(0)
    across = tl.cdiv(N, BN)
    group = 2 * across
    first = (pid // group) * 2
    height = min(tl.cdiv(M, BM) - first, 2)
    pm, pn = first + (pid % group) % height, (pid % group) // height
    om, on, ok = (pm * BM + tl.arange(0, BM)) % M, (pn * BN + tl.arange(0, BN)) % N, tl.arange(0, BK)
    left, right = a + om[:, None] * am + ok[None, :] * ak, b + ok[:, None] * bk + on[None, :] * bn
    acc = tl.zeros((BM, BN), tl.float32)
    for k in range(tl.cdiv(K, BK)):
        x = tl.load(left, mask=ok[None, :] < K - k * BK, other=0.0)
        acc = tl.dot(x, tl.load(right, mask=ok[:, None] < K - k * BK, other=0.0), acc)
        left += BK * ak
        right += BK * bk
    im, jn = pm * BM + tl.arange(0, BM), pn * BN + tl.arange(0, BN)
    tl.store(c + cm * im[:, None] + cn * jn[None, :], acc, mask=(im[:, None] < M) & (jn[None, :] < N))


@triton.jit
def attention_kernel(q, k, v, out, n, D: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    i, d = tl.program_id(0) * BM + tl.arange(0, BM), tl.arange(0, D)
    base = tl.program_id(1) * n * D
    x = tl.load(q + base + i[:, None] * D + d[None, :], mask=i[:, None] < n, other=0.0)
    best, total = tl.full((BM,), -float("inf"), tl.float32), tl.zeros((BM,), tl.float32)
    acc = tl.zeros((BM, D), tl.float32)
    for start in range(0, n, BN):
        j = start + tl.arange(0, BN)
        y = tl.load(k + base + j[None, :] * D + d[:, None], mask=j[None, :] < n, other=0.0)
        s = tl.where(j[None, :] < n, tl.dot(x, y), -float("inf"))
        new = tl.maximum(best, tl.max(s, 1))
        p, shrink = tl.exp(s - new[:, None]), tl.exp(best - new)
        z = tl.load(v + base + j[:, None] * D + d[None, :], mask=j[:, None] < n, other=0.0)
        acc = acc * shrink[:, None] + tl.dot(p, z)
        total, best = total * shrink + tl.sum(p, 1), new
    tl.store(out + base + i[:, None] * D + d[None, :], acc / total[:, None], mask=i[:, None] < n)


@triton.jit
def rope_kernel(q, cos, sin, stride, heads: tl.constexpr, half: tl.constexpr, PH: tl.constexpr, PD: tl.constexpr):
    row, o, h = tl.program_id(0), tl.arange(0, PD), tl.arange(0, PH)
    c = tl.load(cos + row * half + o, mask=o < half, other=0)
    s = tl.load(sin + row * half + o, mask=o < half, other=0)
    place = q + row * stride + h[:, None] * (2 * half) + o[None, :]
    live = (h[:, None] < heads) & (o[None, :] < half)
    a, b = tl.load(place, mask=live, other=0), tl.load(place + half, mask=live, other=0)
    tl.store(place, a * c - b * s, mask=live)
    tl.store(place + half, b * c + a * s, mask=live)


@triton.jit
def scan_kernel(x, out, n, BLOCK: tl.constexpr):
    c = tl.arange(0, BLOCK)
    at = tl.program_id(0) * n + c
    tl.store(out + at, tl.cumsum(tl.load(x + at, mask=c < n, other=0.0), 0), mask=c < n)


@triton.jit
def gather_kernel(table, index, out, n, BLOCK: tl.constexpr):
    row, c = tl.program_id(0), tl.arange(0, BLOCK)
    at = tl.load(index + row)
    tl.store(out + row * n + c, tl.load(table + at * n + c, mask=c < n), mask=c < n)


@triton.jit
def two_kernel(x, y, first, second, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    a, b = tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n)
    tl.store(first + i, a + b, mask=i < n)
    tl.store(second + i, tl.maximum(a, b), mask=i < n)


@triton.jit
def carried_kernel(x, out, n, PROGRAMS: tl.constexpr, BLOCK: tl.constexpr):
    pid, lane = tl.program_id(0), tl.arange(0, BLOCK)
    source = x + pid * BLOCK + lane
    for tile in range(pid, tl.cdiv(n, BLOCK), PROGRAMS):
        i = tile * BLOCK + lane
        tl.store(out + i, tl.load(source, mask=i < n) * 0.5, mask=i < n)
        source += PROGRAMS * BLOCK


Op = Callable[[Tensor, Sequence[Tensor]], Tensor]


@dataclass
class Program:
    """A function and its arguments.

    Attributes
    ----------
    shape : str
        The kernel's.
    steps : list of str
        What it is made of, for messages.
    inputs : list of ndarray
        Its arguments.
    ends_in_sum : bool
        Whether the last result is a sum of many numbers, whose order is the compiler's affair.
    """

    shape: str
    rng: random.Random
    steps: list[str] = field(default_factory=list)
    inputs: list[np.ndarray[Any, Any]] = field(default_factory=list)
    ends_in_sum: bool = False
    run: Callable[..., Any] = lambda *args: args

    def given(self, *sizes: int) -> int:
        """An input of these sizes; its number."""
        seed = self.rng.randrange(1 << 30)
        self.inputs.append(np.random.default_rng(seed).standard_normal(sizes).astype(np.float32))
        return len(self.inputs) - 1

    def ops(self, sizes: tuple[int, ...], most: int = 4) -> Op:
        """Random pointwise ops on a tensor of these sizes."""
        made: list[Op] = []
        for _ in range(self.rng.randint(0, most)):
            name = self.rng.choice(sorted(_OPS))
            made.append(_OPS[name](self, sizes))
            self.steps.append(name)

        def run(x: Tensor, args: Sequence[Tensor]) -> Tensor:
            for op in made:
                x = op(x, args)
            return x

        return run


def _plain(f: Callable[[Tensor], Tensor]) -> Callable[[Program, tuple[int, ...]], Op]:
    return lambda program, sizes: lambda x, args: f(x)


def _operand(shape_of: Callable[[tuple[int, ...]], tuple[int, ...]], f: Callable[[Tensor, Tensor], Tensor]) -> Any:
    def make(program: Program, sizes: tuple[int, ...]) -> Op:
        number = program.given(*shape_of(sizes))
        return lambda x, args: f(x, args[number])

    return make


_OPS: dict[str, Callable[[Program, tuple[int, ...]], Op]] = {
    "scale": _plain(lambda x: x * 1.5 + 0.25),
    "relu": _plain(lambda x: x.relu()),
    "tanh": _plain(lambda x: x.tanh()),
    "sqrt": _plain(lambda x: (x.abs() + 1).sqrt()),
    "clamp": _plain(lambda x: x.clamp(-1.0, 1.5)),
    "where": _plain(lambda x: opweave.where(x > 0, x, x * 0.1)),
    "bfloat16": _plain(lambda x: x.to(opweave.bfloat16).to(opweave.float32)),
    "float64": _plain(lambda x: (x.to(opweave.float64) / 3).to(opweave.float32)),
    "reshape": _plain(lambda x: x.reshape(-1).mul(2.0).reshape(x.shape)),
    "transpose": _plain(lambda x: (x.transpose(0, -1) - 0.5).transpose(0, -1)),
    "row": _operand(lambda sizes: sizes[-1:], lambda x, y: x * y),
    "column": _operand(lambda sizes: (*sizes[:-1], 1), lambda x, y: x + y),
    "scalar": _operand(lambda sizes: (1,), lambda x, y: x - y),
    "whole": _operand(lambda sizes: sizes, lambda x, y: x * y),
}


def _empty(rng: random.Random, x: Tensor, *sizes: int) -> Callable[[Tensor], Tensor]:
    del x
    kind = rng.choice(["empty_like", "empty", "zeros", "full"])
    if kind == "empty_like":
        return lambda like: opweave.empty_like(like)
    if kind == "empty":
        return lambda like: opweave.empty(like.shape)
    return (lambda like: opweave.zeros(like.shape)) if kind == "zeros" else (lambda like: opweave.full(like.shape, 7.0))


def _rows(rng: random.Random) -> tuple[int, int]:
    return rng.choice([1, 3, 17, 64]), rng.choice([1, 5, 32, 100, 257])


Launched = tuple[tuple[int, ...], Callable[[Tensor, Sequence[Tensor]], tuple[Tensor, ...]]]


def _map(p: Program, sizes: tuple[int, ...]) -> Launched:
    block = p.rng.choice([16, 64, 256])
    new = _empty(p.rng, None)  # type: ignore[arg-type]

    def run(x: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        out, n = new(x), x.numel()
        map_kernel[(triton.cdiv(n, block),)](x, out, 1.25, n, BLOCK=block)
        return (out,)

    return sizes, run


def _softmax(p: Program, sizes: tuple[int, ...]) -> Launched:
    def run(x: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        out, n = opweave.empty_like(x), x.shape[-1]
        block = triton.next_power_of_2(n)
        softmax_kernel[(x.shape[0],)](out, x, out.stride(0), x.stride(0), n, BLOCK=block)
        return (out,)

    return sizes, run


def _layer_norm(p: Program, sizes: tuple[int, ...]) -> Launched:
    w, b = p.given(sizes[-1]), p.given(sizes[-1])
    change = p.ops((sizes[-1],), 1)

    def run(x: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        y, mean, rstd = opweave.empty_like(x), opweave.empty(x.shape[0]), opweave.empty(x.shape[0])
        block = triton.next_power_of_2(x.shape[1])
        layer_norm_kernel[(x.shape[0],)](
            x, y, change(args[w], args), args[b], mean, rstd, x.stride(0), x.shape[1], 1e-5, BLOCK=block
        )
        return y, mean, rstd

    return sizes, run


def _matmul(p: Program, sizes: tuple[int, ...]) -> Launched:
    other = p.given(sizes[1], n := p.rng.choice([1, 8, 33, 70]))
    change = p.ops((sizes[1], n), 2)

    def run(a: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        b = change(args[other], args)
        c = opweave.empty((a.shape[0], b.shape[1]))
        grid = (triton.cdiv(a.shape[0], 16) * triton.cdiv(b.shape[1], 16),)
        strides = (*a.stride(), *b.stride(), *c.stride())
        matmul_kernel[grid](a, b, c, a.shape[0], b.shape[1], a.shape[1], *strides, BM=16, BN=16, BK=16)
        return (c,)

    return (sizes[0], n), run


def _attention(p: Program, sizes: tuple[int, ...]) -> Launched:
    sizes = (2, sizes[0], 16)
    k, v = p.given(*sizes), p.given(*sizes)
    change = p.ops(sizes, 2)

    def run(x: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        out, n = opweave.empty_like(x), x.shape[1]
        attention_kernel[(triton.cdiv(n, 16), 2)](x, args[k], change(args[v], args), out, n, D=16, BM=16, BN=16)
        return (out,)

    return sizes, run


def _rope(p: Program, sizes: tuple[int, ...]) -> Launched:
    heads, half = p.rng.choice([1, 3, 4]), p.rng.choice([4, 5])
    sizes = (sizes[0], heads, 2 * half)
    cos, sin = p.given(sizes[0], half), p.given(sizes[0], half)
    copies = p.rng.random() < 0.7

    def run(x: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        q = x.clone() if copies else x.contiguous()
        pads = triton.next_power_of_2(heads), triton.next_power_of_2(half)
        rope_kernel[(q.shape[0],)](q, args[cos], args[sin], q.stride(0), heads, half, *pads)
        return (q,)

    return sizes, run


def _scan(p: Program, sizes: tuple[int, ...]) -> Launched:
    def run(x: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        out = opweave.empty_like(x)
        scan_kernel[(x.shape[0],)](x, out, x.shape[1], BLOCK=triton.next_power_of_2(x.shape[1]))
        return (out,)

    return sizes, run


def _gather(p: Program, sizes: tuple[int, ...]) -> Launched:
    count = p.rng.choice([1, 4, 40])
    p.inputs.append(np.random.default_rng(p.rng.randrange(1 << 30)).integers(0, sizes[0], count))
    number = len(p.inputs) - 1

    def run(table: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        out, n = opweave.empty((count, table.shape[1])), table.shape[1]
        gather_kernel[(count,)](table, args[number], out, n, BLOCK=triton.next_power_of_2(n))
        return (out,)

    return (count, sizes[1]), run


def _two(p: Program, sizes: tuple[int, ...]) -> Launched:
    other = p.given(*sizes)
    change = p.ops(sizes, 2)

    def run(x: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        first, second, n = opweave.empty_like(x), opweave.zeros_like(x), x.numel()
        two_kernel[(triton.cdiv(n, 32),)](x, change(args[other], args), first, second, n, BLOCK=32)
        return first, second

    return sizes, run


def _carried(p: Program, sizes: tuple[int, ...]) -> Launched:
    programs = p.rng.choice([1, 3, 8])

    def run(x: Tensor, args: Sequence[Tensor]) -> tuple[Tensor, ...]:
        out = opweave.empty_like(x)
        carried_kernel[(programs,)](x, out, x.numel(), PROGRAMS=programs, BLOCK=32)
        return (out,)

    return sizes, run


KERNELS = {
    "map": _map, "softmax": _softmax, "layer norm": _layer_norm, "matmul": _matmul, "attention": _attention,
    "rope": _rope, "scan": _scan, "gather": _gather, "two outputs": _two, "carried pointer": _carried,
}  # fmt: skip
#: Those that take a matrix and give one, which chains are made of.
_CHAINED = ("map", "softmax", "scan", "carried pointer")


def program_of(shape: str, seed: int) -> Program:
    """A random program with a kernel of a shape."""
    p = Program(shape, random.Random(f"{shape} {seed}"))
    rng = p.rng
    sizes: tuple[int, ...] = _rows(rng)
    first = KERNELS[shape](p, sizes)
    start = {"attention": first[0], "rope": first[0]}.get(shape, sizes)
    x = p.given(*start)
    before, shared = p.ops(start), rng.random() < 0.2
    stages = [first]
    between: list[Op] = []
    if len(first[0]) == 2 and rng.random() < 0.35:
        between.append(p.ops(first[0], 2))
        stages.append(KERNELS[rng.choice(_CHAINED)](p, first[0]))
        p.steps.append("chain")
    end = stages[-1][0]
    after = [p.ops(end) for _ in range(rng.choice([1, 1, 2, 3]))]
    small = p.ops((1,), 1)
    keep, writes, late = rng.random() < 0.3, rng.random() < 0.25, rng.random() < 0.2

    def run(*args: Tensor) -> Any:
        h = before(args[x], args).contiguous()
        results: list[Tensor] = []
        if shared:
            results.append(h * 2)
        made = stages[0][1](h, args)
        for op, (_, launch) in zip(between, stages[1:], strict=True):
            made = launch(op(made[0], args).contiguous(), args)
        results += [op(made[0], args) for op in after]
        results += [small(extra.reshape(-1, 1), args) for extra in made[1:]]
        if keep:
            results.append(made[0])
        if late:
            results.append(h.sum())
        if writes:
            args[x].mul_(0.5)
        return tuple(results)

    p.run, p.ends_in_sum = run, late
    return p


def differences(p: Program, *, dynamic: bool | None = None) -> tuple[list[str], int, int]:
    """What is wrong with a program, and its launches unfused and fused."""
    wrong: list[str] = []
    found, written, counts = [], [], []
    makers = [
        lambda f: f,
        lambda f: opweave.compile(f, dynamic=dynamic, options={"fuse_launches": False}),
        lambda f: opweave.compile(f, dynamic=dynamic),
    ]
    for make in makers:
        function = make(p.run)
        args = [opweave.from_numpy(a.copy()) for a in p.inputs]
        found.append([r.numpy() for r in function(*args)])
        written.append([a.numpy() for a in args])
        with opweave.profile() as profile:
            function(*[opweave.from_numpy(a.copy()) for a in p.inputs])
        counts.append(sum(kernel.launches for kernel in profile.kernels))
    for k, (eager, apart, fused) in enumerate(zip(*found, strict=True)):
        if fused.dtype != apart.dtype or fused.shape != apart.shape or fused.strides != apart.strides:
            wrong.append(f"result {k}: laid out otherwise")
        same = np.array_equal(fused, apart, equal_nan=True)
        if p.ends_in_sum and k == len(found[0]) - 1:
            same = np.allclose(fused, apart, rtol=1e-5, atol=1e-4)
        if not same:
            wrong.append(f"result {k}: differs from unfused by {np.nanmax(np.abs(fused - apart))}")
        if not np.allclose(fused, eager, rtol=2e-3, atol=2e-3, equal_nan=True):
            wrong.append(f"result {k}: differs from eager by {np.nanmax(np.abs(fused - eager))}")
    for k, (apart, fused) in enumerate(zip(*written[1:], strict=True)):
        if not np.array_equal(fused, apart):
            wrong.append(f"input {k}: changed otherwise")
    if counts[2] > counts[1]:
        wrong.append(f"{counts[2]} launches instead of {counts[1]}")
    return wrong, counts[1], counts[2]


def main(count: int, seed: int) -> int:
    """Run programs; how many are wrong."""
    launches: dict[str, Counter[str]] = {shape: Counter() for shape in KERNELS}
    failed = 0
    for k in range(count):
        shape = [*KERNELS][k % len(KERNELS)]
        dynamic = True if k % 7 == 3 else None
        program = program_of(shape, seed + k)
        try:
            wrong, before, after = differences(program, dynamic=dynamic)
        except Exception as error:
            wrong, before, after = [f"{type(error).__name__}: {error}"], 0, 0
        if wrong:
            failed += 1
            print(f"{shape}, seed {seed + k}, dynamic={dynamic}: {'; '.join(wrong)}\n    {', '.join(program.steps)}")
        launches[shape].update(programs=1, before=before, after=after)
    for shape, counted in launches.items():
        print(f"{shape:<16}  {counted['programs']:4} programs  launches {counted['before']:5} -> {counted['after']:5}")
    print(f"{count} programs, {failed} wrong")
    return failed


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--count", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    sys.exit(1 if main(given.count, given.seed) else 0)

"""Compiled functions beside torch.compile, jax.jit and numba: what models are made of, as one would write it.

    python benchmarks/peers.py --jax-python /path/python      of an interpreter that has JAX, and numba perhaps
    python benchmarks/peers.py --only softmax --rounds 5

One library a process; the processes work in turns, as in `kernels.py`. Ratios are of the best other library's time over
opweave's: above 1, opweave is first. Inputs are alike in all libraries, and results are compared with NumPy's in 64
bits before anything is timed.
"""

from __future__ import annotations

import argparse
import functools
import importlib
import math
import statistics
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
from kernels import Calls, all_of, over, processor, serve

Array = Any
Sizes = tuple[int, ...]
#: A function of a library (`Names`) and arrays, and the sizes of the arrays; one of a single number holds classes.
Work = tuple[Callable[..., Any], tuple[Sizes, ...]]

CLASSES = 8192
EPS = 1e-6


class Names:
    """The few functions that the workloads are written with, of one library."""

    def __init__(self, library: str) -> None:
        self.library = library
        self.m: Any = importlib.import_module({"jax": "jax.numpy", "numpy": "numpy"}.get(library, library))
        self.keep = {"keepdims" if library in ("jax", "numpy") else "keepdim": True}

    def sqrt(self, x: Array) -> Array:
        return self.m.sqrt(x)

    def silu(self, x: Array) -> Array:
        return x / (1 + self.m.exp(-x))

    def gelu(self, x: Array) -> Array:
        return 0.5 * x * (1 + self.m.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x * x * x)))

    def relu(self, x: Array) -> Array:
        return self.m.maximum(x, 0) if self.library in ("jax", "numpy") else self.m.relu(x)

    def softmax(self, x: Array) -> Array:
        if self.library in ("jax", "numpy"):
            e = self.m.exp(x - x.max(-1, **self.keep))
            return e / e.sum(-1, **self.keep)
        return self.m.softmax(x, -1)

    def normed(self, x: Array) -> Array:
        x = x - x.mean(-1, **self.keep)
        return x / self.m.sqrt((x * x).mean(-1, **self.keep) + EPS)

    def loss(self, x: Array, t: Array) -> Array:
        """Cross entropy."""
        if self.library in ("jax", "numpy"):
            top = x.max(-1, **self.keep)
            rest = self.m.log(self.m.exp(x - top).sum(-1)) + top[:, 0]
            return (rest - self.m.take_along_axis(x, t[:, None], 1)[:, 0]).mean()
        return self.m.nn.functional.cross_entropy(x, t)

    def heads(self, x: Array) -> Array:
        return x.reshape(*x.shape[:-1], 8, -1).swapaxes(-2, -3)


def attention(lib: Names, q: Array, k: Array, v: Array) -> Array:
    return lib.softmax(q @ k.swapaxes(-1, -2) * q.shape[-1] ** -0.5) @ v


def block(lib: Names, x: Array, w: Array, o: Array, up: Array, down: Array) -> Array:
    d = x.shape[-1]
    qkv = lib.normed(x) @ w
    y = attention(lib, *(lib.heads(qkv[..., i * d : (i + 1) * d]) for i in range(3)))
    x = x + y.swapaxes(-2, -3).reshape(x.shape) @ o
    return x + lib.gelu(lib.normed(x) @ up) @ down


def adam(lib: Names, *arrays: Array) -> list[Array]:
    """In place, as optimizers are, where a library's arrays can be written."""
    found = []
    for p, g, m, v in zip(*(arrays[i::4] for i in range(4)), strict=True):
        if lib.library in ("jax", "numpy"):
            m, v = m * 0.9 + g * 0.1, v * 0.999 + g * g * 0.001
            p = p - 1e-3 * m / (lib.sqrt(v) + 1e-8)
        else:
            m.mul_(0.9).add_(g * 0.1)
            v.mul_(0.999).add_(g * g * 0.001)
            p.sub_(1e-3 * m / (lib.sqrt(v) + 1e-8))
        found += [p, m, v]
    return found


def mlp(lib: Names, x: Array, a: Array, b: Array) -> Array:
    return lib.relu(x @ a) @ b


ROWS, WIDE = (4096, 1024), (1024,)
WORK: dict[str, Work] = {
    "add": (lambda lib, x, y: x + y, ((1_000_000,),) * 2),
    "gelu(x a + b) silu(y)": (lambda lib, x, a, b, y: lib.gelu(x * a + b) * lib.silu(y), ((1 << 22,),) * 4),
    "bias, relu": (lambda lib, x, b: lib.relu(x + b), (ROWS, WIDE)),
    "sum of rows": (lambda lib, x: x.sum(-1), (ROWS,)),
    "sum of columns": (lambda lib, x: x.sum(0), (ROWS,)),
    "softmax": (lambda lib, x: lib.softmax(x), (ROWS,)),
    "layer norm": (lambda lib, x, w, b: lib.normed(x) * w + b, (ROWS, WIDE, WIDE)),
    "rms norm, residual": (
        lambda lib, x, r, w: (lambda h: (h, h / lib.sqrt((h * h).mean(-1, **lib.keep) + EPS) * w))(x + r),
        (ROWS, ROWS, WIDE),
    ),
    "cross entropy": (lambda lib, x, t: lib.loss(x, t), ((2048, CLASSES), (2048,))),
    "cross entropy, gradient": (lambda lib, x, t: lib.loss(x, t), ((2048, CLASSES), (2048,))),
    "Adam, 20 of 100,000": (adam, ((100_000,),) * 80),
    "two layers": (mlp, ((256, 512), (512, 2048), (2048, 512))),
    "two layers, gradient": (lambda lib, x, a, b: mlp(lib, x, a, b).mean(), ((256, 512), (512, 2048), (2048, 512))),
    "attention": (attention, ((4, 8, 256, 64),) * 3),
    "transformer block": (block, ((4, 256, 512), (512, 1536), (512, 512), (512, 2048), (2048, 512))),
    "transpose, add, relu": (lambda lib, x, y: lib.relu(x.T + y), ((2048, 2048),) * 2),
    "softmax of 16 x 16": (lambda lib, x: lib.softmax(x * 2), ((16, 16),)),
    "add of 8": (lambda lib, x, y: x + y, ((8,),) * 2),
}  # fmt: skip
SMALL = ("softmax of 16 x 16", "add of 8")


def costs() -> dict[str, tuple[str, float]]:
    """Of each piece of work, but the small ones: what bounds it, and so many bytes that must move or operations."""
    rows, found = ROWS[0] * ROWS[1], {}
    # Numbers of float32 that are read or written.
    for name, count in {
        "add": 3 * 1_000_000, "gelu(x a + b) silu(y)": 5 << 22, "bias, relu": 2 * rows, "sum of rows": rows,
        "sum of columns": rows, "softmax": 2 * rows, "layer norm": 2 * rows, "rms norm, residual": 4 * rows,
        "cross entropy": 2048 * CLASSES, "cross entropy, gradient": 2 * 2048 * CLASSES,
        "Adam, 20 of 100,000": 7 * 20 * 100_000, "transpose, add, relu": 3 * 2048 * 2048,
    }.items():  # fmt: skip
        found[name] = ("bytes", 4.0 * count)
    layers = 4.0 * 256 * 512 * 2048
    batch, length, width = 4, 256, 512
    weighed = 4.0 * batch * length * length
    found |= {
        "two layers": ("float32", layers), "two layers, gradient": ("float32", 3 * layers),
        "attention": ("float32", weighed * width),
        "transformer block": ("float32", 2.0 * batch * length * 12 * width * width + weighed * width),
    }  # fmt: skip
    return found


def inputs(name: str) -> list[Any]:
    """Arrays for a piece of work, the same each time."""
    draw = np.random.default_rng(0)
    found: list[Any] = []
    for i, sizes in enumerate(WORK[name][1]):
        if sizes == (2048,):
            found.append(draw.integers(0, CLASSES, sizes))
            continue
        x = draw.standard_normal(sizes, dtype=np.float32)
        if name.startswith("Adam") and i % 4 == 3:
            x = abs(x)
        found.append(x if len(sizes) != 2 or sizes[0] == 4096 else x / np.float32(math.sqrt(sizes[0])))
    return found


def checked(name: str, found: Any) -> None:
    """Compare results with NumPy's in 64 bits."""
    f = WORK[name][0]
    arrays = [x.astype(np.float64) if x.dtype == np.float32 else x for x in inputs(name)]
    exact = f(Names("numpy"), *arrays)
    many = isinstance(exact, (list, tuple))
    for one, other in zip(found if many else [found], exact if many else [exact], strict=True):
        np.testing.assert_allclose(np.asarray(one), other, rtol=1e-3, atol=1e-4, err_msg=name)


def of(library: str) -> Calls:
    """What a library compiles."""
    found: Calls = {}
    if library == "numba":
        return _of_numba()
    names = Names({"torch.compile": "torch"}.get(library, library))
    if library == "torch.compile":
        # All workloads are of one class to it, of which it would compile eight.
        importlib.import_module("torch._dynamo").config.recompile_limit = 8 * len(WORK)
    for name, (f, _) in WORK.items():
        gradient = name.endswith("gradient")
        if library == "jax":
            jax = importlib.import_module("jax")
            function = functools.partial(f, names)
            if gradient:
                function = jax.value_and_grad(function, tuple(range(max(len(WORK[name][1]) - 1, 1))))
            arrays = [jax.numpy.asarray(x) for x in inputs(name)]
            found[name] = functools.partial(_ready, jax, jax.jit(function), arrays)
        else:
            arrays = [names.m.from_numpy(x) for x in inputs(name)]
            leaves = [x for x in arrays if x.dtype is names.m.float32][: max(len(arrays) - 1, 1)] if gradient else []
            compiled = names.m.compile(functools.partial(f, names))
            for leaf in leaves:
                leaf.requires_grad_()
            found[name] = (_with_gradient if gradient else _plain)(compiled, arrays, leaves)
        result = found[name]()
        checked(name, result[0] if gradient and library == "jax" else result)
    return found


def _ready(jax: Any, compiled: Callable[..., Any], arrays: list[Any]) -> Any:
    return jax.block_until_ready(compiled(*arrays))


def _plain(compiled: Callable[..., Any], arrays: list[Any], _: list[Any]) -> Callable[[], Any]:
    return lambda: compiled(*arrays)


def _with_gradient(compiled: Callable[..., Any], arrays: list[Any], leaves: list[Any]) -> Callable[[], Any]:
    def call() -> Any:
        for leaf in leaves:
            leaf.grad = None
        loss = compiled(*arrays)
        loss.backward()
        return loss.detach()

    return call


def _of_numba() -> Calls:
    numba: Any = importlib.import_module("numba")
    parallel = numba.njit(parallel=True)

    @parallel
    def step(p: Any, g: Any, m: Any, v: Any) -> None:
        for i in numba.prange(p.size):
            m[i] = m[i] * np.float32(0.9) + g[i] * np.float32(0.1)
            v[i] = v[i] * np.float32(0.999) + g[i] * g[i] * np.float32(0.001)
            p[i] -= np.float32(1e-3) * m[i] / (np.sqrt(v[i]) + np.float32(1e-8))

    @parallel
    def norm(x: Any, r: Any, w: Any, h: Any, out: Any) -> None:
        for i in numba.prange(x.shape[0]):
            total = np.float32(0)
            for j in range(x.shape[1]):
                h[i, j] = x[i, j] + r[i, j]
                total += h[i, j] * h[i, j]
            scale = np.float32(1) / np.sqrt(total / np.float32(x.shape[1]) + np.float32(EPS))
            for j in range(x.shape[1]):
                out[i, j] = h[i, j] * scale * w[j]

    calls: Calls = {}
    if "Adam, 20 of 100,000" in WORK:
        arrays = inputs("Adam, 20 of 100,000")
        parts = [arrays[i : i + 4] for i in range(0, len(arrays), 4)]
        calls["Adam, 20 of 100,000"] = lambda: [step(*part) for part in parts]
    if "rms norm, residual" in WORK:
        x, r, w = inputs("rms norm, residual")
        h, out = np.empty_like(x), np.empty_like(x)
        calls["rms norm, residual"] = lambda: norm(x, r, w, h, out)
    return calls


LIBRARIES = ("opweave", "torch.compile", "jax", "numba")


def page(found: dict[int, dict[str, dict[str, list[float]]]]) -> str:
    """The results as Markdown."""
    lines = [
        "# Compiled functions beside others", "",
        f"`python benchmarks/peers.py` on {processor()}; microseconds, medians over rounds in which the libraries take",
        "turns, without page faults. *Best other* is its time over opweave's.",
    ]  # fmt: skip
    for threads, times in sorted(found.items()):
        present = [library for library in LIBRARIES if any(library in row for row in times.values())]
        lines += ["", f"## {threads} thread{'s' * (threads > 1)}", "", f"| | {' | '.join(present)} | best other |"]
        lines.append("|---" * (len(present) + 2) + "|")
        ratios: dict[str, list[float]] = {library: [] for library in present[1:]}
        for name, row in times.items():
            cells = [f"{statistics.median(row[each]) * 1e6:.1f}" if each in row else "" for each in present]
            others = {each: over(row[each], row["opweave"]) for each in row if each != "opweave"}
            for each, ratio in others.items():
                if name not in SMALL:
                    ratios[each].append(ratio)
            lines.append(f"| {name} | {' | '.join(cells)} | {min(others.values(), default=1.0):.2f} |")
        means = [f"{each} {statistics.geometric_mean(r):.2f}" for each, r in ratios.items() if len(r) > 5]
        lines += ["", f"Geometric mean of the ratios, without those of small arrays: {', '.join(means)}."]
    return "\n".join(lines) + "\n"


def main() -> None:
    """Print a page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=LIBRARIES, help="serve one in this process")
    parser.add_argument("--jax-python", help="an interpreter that has JAX, and numba perhaps")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=0.1, help="for each piece of work in each round")
    parser.add_argument("--only", default="", help="parts of names of the work to measure, with | between")
    parser.add_argument("--threads", default="1,2")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="with commas between")
    options = parser.parse_args()
    for name in [name for name in WORK if not any(part in name for part in options.only.split("|"))]:
        del WORK[name]
    if options.library:
        serve(of(options.library))
        return
    pythons = {"opweave": sys.executable, "torch.compile": sys.executable}
    pythons |= dict.fromkeys(("jax", "numba"), options.jax_python) if options.jax_python else {}
    pythons = {each: python for each, python in pythons.items() if each in options.libraries.split(",")}
    counts = map(int, options.threads.split(","))
    print(
        page(
            {
                n: all_of(pythons, n, options.rounds, options.seconds, [*WORK], __file__, ("--only", options.only))
                for n in counts
            }
        )
    )


if __name__ == "__main__":
    main()

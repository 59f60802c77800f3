"""Time of Triton kernels run natively on the CPU, beside the same work in other libraries: `make kernels`.

One library a process, since their threads would stand in each other's way, and the processes work in turns, a tenth of
a second each: the speed of a machine that others use as well changes within seconds. `--page` writes `kernels.md` and
`kernels.svg` beside this file. Sizes are in `WORK`, with the bytes that must move or the operations that must be done,
so that times become fractions of what the machine can do.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

# glibc keeps freed memory instead of giving it back: no page is touched for the first time twice.
NO_FAULTS = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "34359738368",
    "MALLOC_TOP_PAD_": "268435456",
    "MALLOC_ARENA_MAX": "1",
}

#: Work that only moves memory.
STREAMS = ("copy", "vector add", "transpose")

#: Seconds until the threads of the library before have stopped to wait in loops for more work.
PAUSE = 0.1

Calls = dict[str, Callable[[], Any]]
DRAW = np.random.default_rng(0)
VECTOR, SIDE = 1 << 24, 4096
ROWS, COLUMNS, CLASSES = 4096, 1024, 8192
CHAIN = 1 << 22
SIZES = (512, 1024, 2048)
BATCH, HEADS, LENGTH, WIDTH = 2, 8, 1024, 64

#: For each piece of work the bytes that must move, or the operations that must be done.
WORK: dict[str, tuple[str, float]] = {
    "copy": ("bytes", 8 * VECTOR),
    "vector add": ("bytes", 12 * VECTOR),
    "transpose": ("bytes", 8 * SIDE * SIDE),
    "softmax": ("bytes", 8 * ROWS * COLUMNS),
    "layer norm": ("bytes", 8 * ROWS * COLUMNS),
    "gelu chain": ("bytes", 12 * CHAIN),
    "cross entropy": ("bytes", 4 * (ROWS // 2) * CLASSES),
    **{f"matmul {n}": ("operations", 2.0 * n**3) for n in SIZES},
    "attention": ("operations", 4.0 * BATCH * HEADS * LENGTH * LENGTH * WIDTH),
}


def real(*sizes: int) -> Any:
    return DRAW.standard_normal(sizes).astype(np.float32)


def data() -> dict[str, Any]:
    """The arrays, equal in every process."""
    return {
        "x": real(VECTOR), "y": real(VECTOR), "square": real(SIDE, SIDE), "rows": real(ROWS, COLUMNS),
        "w": real(COLUMNS), "b": real(COLUMNS), "u": real(CHAIN), "v": real(CHAIN),
        "scores": real(ROWS // 2, CLASSES), "labels": DRAW.integers(0, CLASSES, ROWS // 2),
        "q": real(BATCH, HEADS, LENGTH, WIDTH), "k": real(BATCH, HEADS, LENGTH, WIDTH),
        "value": real(BATCH, HEADS, LENGTH, WIDTH),
        **{f"a{n}": real(n, n) for n in SIZES}, **{f"b{n}": real(n, n) for n in SIZES},
    }  # fmt: skip


def of_triton() -> Calls:
    import triton_attention as attention
    import triton_speed as speed

    import opweave

    d = {name: opweave.from_numpy(array) for name, array in data().items()}
    out, square, rows = (opweave.zeros_like(d[name]) for name in ("x", "square", "rows"))
    losses = opweave.zeros(ROWS // 2)
    chained, seen = opweave.zeros_like(d["u"]), opweave.zeros_like(d["q"])
    products = {n: opweave.zeros_like(d[f"a{n}"]) for n in SIZES}
    lse = opweave.zeros(BATCH, HEADS, LENGTH)
    found: Calls = {
        "copy": lambda: speed.copy(d["x"], out),
        "vector add": lambda: speed.add(d["x"], d["y"], out),
        "transpose": lambda: speed.transpose(d["square"], square),
        "softmax": lambda: speed.softmax(d["rows"], rows),
        "layer norm": lambda: speed.layer_norm(d["rows"], d["w"], d["b"], rows),
        "gelu chain": lambda: speed.gelu_chain(d["u"], d["v"], chained),
        "cross entropy": lambda: speed.cross_entropy(d["scores"], d["labels"], losses),
        "attention": lambda: attention.attention(d["q"], d["k"], d["value"], seen, lse, False, 256, 256),
    }
    for n in SIZES:
        found[f"matmul {n}"] = lambda n=n: speed.matmul(d[f"a{n}"], d[f"b{n}"], products[n])
    return found


def _functions(F: Any, tanh: Any) -> dict[str, Any]:
    """The fused ones in the names that the array libraries share."""
    return {
        "gelu chain": lambda u, v: F.gelu(u * 0.7 + 0.1, approximate="tanh") * F.silu(v),
        "cross entropy": lambda s, t: F.cross_entropy(s, t, reduction="none"),
    }


def of_torch(compiled: bool) -> Calls:
    import torch

    torch.set_num_threads(int(os.environ.get("OMP_NUM_THREADS", str(os.cpu_count()))))
    F = torch.nn.functional
    d = {name: torch.from_numpy(array) for name, array in data().items()}
    wrap = torch.compile if compiled else (lambda f: f)
    own = _functions(F, torch.tanh)
    softmax, norm = wrap(lambda x: torch.softmax(x, -1)), wrap(lambda x, w, b: F.layer_norm(x, (COLUMNS,), w, b))
    chain, loss = wrap(own["gelu chain"]), wrap(own["cross entropy"])
    attention = wrap(lambda q, k, v: F.scaled_dot_product_attention(q, k, v))
    add, transpose, copy = wrap(lambda x, y: x + y), wrap(lambda x: x.t().contiguous()), wrap(lambda x: x.clone())
    found: Calls = {
        "copy": lambda: copy(d["x"]), "vector add": lambda: add(d["x"], d["y"]),
        "transpose": lambda: transpose(d["square"]), "softmax": lambda: softmax(d["rows"]),
        "layer norm": lambda: norm(d["rows"], d["w"], d["b"]), "gelu chain": lambda: chain(d["u"], d["v"]),
        "cross entropy": lambda: loss(d["scores"], d["labels"]),
        "attention": lambda: attention(d["q"], d["k"], d["value"]),
    }  # fmt: skip
    for n in () if compiled else SIZES:
        found[f"matmul {n}"] = lambda n=n: d[f"a{n}"] @ d[f"b{n}"]
    return found


def of_jax() -> Calls:
    import jax
    import jax.numpy as jnp

    d = {name: jnp.asarray(array) for name, array in data().items()}

    def norm(x: Any, w: Any, b: Any) -> Any:
        centered = x - x.mean(-1, keepdims=True)
        return centered * jax.lax.rsqrt((centered**2).mean(-1, keepdims=True) + 1e-5) * w + b

    def loss(s: Any, t: Any) -> Any:
        return -jnp.take_along_axis(jax.nn.log_softmax(s, -1), t[:, None], 1)[:, 0]

    def attention(q: Any, k: Any, v: Any) -> Any:
        return jax.nn.softmax(q @ jnp.swapaxes(k, -1, -2) * WIDTH**-0.5, -1) @ v

    functions: dict[str, tuple[Any, tuple[str, ...]]] = {
        "copy": (lambda x: x + 0.0, ("x",)),
        "vector add": (lambda x, y: x + y, ("x", "y")),
        "transpose": (lambda x: x.T + 0.0, ("square",)),
        "softmax": (lambda x: jax.nn.softmax(x, -1), ("rows",)),
        "layer norm": (norm, ("rows", "w", "b")),
        "gelu chain": (lambda u, v: jax.nn.gelu(u * 0.7 + 0.1, approximate=True) * jax.nn.silu(v), ("u", "v")),
        "cross entropy": (loss, ("scores", "labels")),
        "attention": (attention, ("q", "k", "value")),
        **{f"matmul {n}": (lambda a, b: a @ b, (f"a{n}", f"b{n}")) for n in SIZES},
    }
    compiled = {name: (jax.jit(f), [d[a] for a in names]) for name, (f, names) in functions.items()}
    return {name: lambda f=f, args=args: jax.block_until_ready(f(*args)) for name, (f, args) in compiled.items()}


def of_numpy() -> Calls:
    d = data()
    out, square = np.empty_like(d["x"]), np.empty_like(d["square"])
    found: Calls = {
        "copy": lambda: np.copyto(out, d["x"]),
        "vector add": lambda: np.add(d["x"], d["y"], out=out),
        "transpose": lambda: np.copyto(square, d["square"].T),
    }
    for n in SIZES:
        found[f"matmul {n}"] = lambda n=n: np.matmul(d[f"a{n}"], d[f"b{n}"], out=square[:n, :n])
    return found


def of_numba() -> Calls:
    import numba
    from numba import njit, prange

    numba.set_num_threads(int(os.environ.get("NUMBA_NUM_THREADS", str(os.cpu_count()))))
    d = data()
    jit = njit(parallel=True, fastmath=True)

    @jit
    def copy(x: Any, out: Any) -> None:
        for i in prange(x.size):
            out[i] = x[i]

    @jit
    def add(x: Any, y: Any, out: Any) -> None:
        for i in prange(x.size):
            out[i] = x[i] + y[i]

    @jit
    def transpose(x: Any, out: Any) -> None:
        n = x.shape[0]
        for block in prange(n // 32):
            for c in range(0, n, 32):
                for i in range(block * 32, block * 32 + 32):
                    for j in range(c, c + 32):
                        out[i, j] = x[j, i]

    @jit
    def softmax(x: Any, out: Any) -> None:
        for r in prange(x.shape[0]):
            most = np.float32(-np.inf)
            for c in range(x.shape[1]):
                most = max(most, x[r, c])
            total = np.float32(0)
            for c in range(x.shape[1]):
                out[r, c] = math.exp(x[r, c] - most)
                total += out[r, c]
            for c in range(x.shape[1]):
                out[r, c] /= total

    @jit
    def norm(x: Any, w: Any, b: Any, out: Any) -> None:
        n = x.shape[1]
        for r in prange(x.shape[0]):
            mean = np.float32(0)
            for c in range(n):
                mean += x[r, c]
            mean /= n
            var = np.float32(0)
            for c in range(n):
                var += (x[r, c] - mean) ** 2
            scale = np.float32(1) / math.sqrt(var / n + np.float32(1e-5))
            for c in range(n):
                out[r, c] = (x[r, c] - mean) * scale * w[c] + b[c]

    @jit
    def chain(u: Any, v: Any, out: Any) -> None:
        for i in prange(u.size):
            x = u[i] * np.float32(0.7) + np.float32(0.1)
            inner = np.float32(0.7978845608) * (x + np.float32(0.044715) * x * x * x)
            gelu = np.float32(0.5) * x * (np.float32(1) + math.tanh(inner))
            out[i] = gelu * v[i] / (np.float32(1) + math.exp(-v[i]))

    @jit
    def loss(s: Any, t: Any, out: Any) -> None:
        for r in prange(s.shape[0]):
            most = np.float32(-np.inf)
            for c in range(s.shape[1]):
                most = max(most, s[r, c])
            total = np.float32(0)
            for c in range(s.shape[1]):
                total += math.exp(s[r, c] - most)
            out[r] = most + math.log(total) - s[r, t[r]]

    out, square, rows = (np.empty_like(d[name]) for name in ("x", "square", "rows"))
    chained, losses = np.empty_like(d["u"]), np.empty(ROWS // 2, np.float32)
    return {
        "copy": lambda: copy(d["x"], out), "vector add": lambda: add(d["x"], d["y"], out),
        "transpose": lambda: transpose(d["square"], square), "softmax": lambda: softmax(d["rows"], rows),
        "layer norm": lambda: norm(d["rows"], d["w"], d["b"], rows),
        "gelu chain": lambda: chain(d["u"], d["v"], chained),
        "cross entropy": lambda: loss(d["scores"], d["labels"], losses),
    }  # fmt: skip


LIBRARIES: dict[str, Callable[[], Calls]] = {
    "opweave": of_triton,
    "torch": lambda: of_torch(False),
    "torch.compile": lambda: of_torch(True),
    "jax": of_jax,
    "numba": of_numba,
    "numpy": of_numpy,
}


def available(library: str) -> bool:
    """Whether a library can be imported here."""
    module = {"opweave": "opweave", "torch.compile": "torch"}.get(library, library)
    return importlib.util.find_spec(module) is not None


def measured(call: Callable[[], Any], seconds: float, clock: Callable[[], float] = time.perf_counter) -> float:
    """Median seconds of a call, after one that is not counted."""
    call()
    times: list[float] = []
    until = time.perf_counter() + seconds
    while len(times) < 3 or (time.perf_counter() < until and len(times) < 1000):
        started = clock()
        call()
        times.append(clock() - started)
    return statistics.median(times)


def serve(calls: Calls, clock: Callable[[], float] = time.perf_counter) -> None:
    """Measure what standard input names, a line each (`seconds work`), and answer with seconds by a clock."""
    print(json.dumps([*calls]), flush=True)
    for line in sys.stdin:
        seconds, _, name = line.strip().partition(" ")
        print(measured(calls[name], float(seconds), clock), flush=True)


class Worker:
    """A process that has one library, and waits to be asked."""

    def __init__(
        self, library: str, python: str, threads: int, script: str = __file__, arguments: Sequence[str] = ()
    ) -> None:
        names = ("OMP", "MKL", "OPENBLAS", "OPWEAVE", "NUMBA")
        environment = {**os.environ, **NO_FAULTS, **{f"{name}_NUM_THREADS": str(threads) for name in names}}
        command = [python, script, "--library", library, *arguments]
        if threads == 1 and shutil.which("taskset"):
            command = ["taskset", "-c", "0", *command]  # JAX takes what cores it sees
        self._process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.work: list[str] = json.loads(self._line())

    def _line(self) -> str:
        assert self._process.stdout
        for line in self._process.stdout:
            if line[0] in "[0123456789":  # and not what a library has to say
                return line
        raise SystemExit(f"{' '.join(self._process.args)} ended with {self._process.wait()}")

    def seconds(self, name: str, seconds: float) -> float:
        assert self._process.stdin
        self._process.stdin.write(f"{seconds} {name}\n")
        self._process.stdin.flush()
        return float(self._line())

    def close(self) -> None:
        self._process.communicate()


#: Of each piece of work, of each library: seconds in each round.
Times = dict[str, dict[str, list[float]]]


def processor() -> str:
    """The processor's name as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def all_of(
    pythons: dict[str, str], threads: int, rounds: int, seconds: float, names: list[str], script: str = __file__,
    arguments: Sequence[str] = (),
) -> Times:  # fmt: skip
    """Seconds of each piece of work in each library; the libraries take turns, each for `seconds` at a time."""
    workers = {library: Worker(library, python, threads, script, arguments) for library, python in pythons.items()}
    times: Times = {name: {} for name in names}
    for turn in range(rounds):
        for name, row in times.items():
            able = [library for library, worker in workers.items() if name in worker.work]
            first = turn % len(able)
            for library in able[first:] + able[:first]:
                time.sleep(PAUSE)
                row.setdefault(library, []).append(workers[library].seconds(name, seconds))
    for worker in workers.values():
        worker.close()
    return times


def over(times: list[float], others: list[float]) -> float:
    """Median over the rounds of the time of one as a multiple of another's: a slow spell of the machine hits both."""
    return statistics.median(a / b for a, b in zip(times, others, strict=True))


def rate(name: str, seconds: float) -> str:
    """What is reached, as GB/s or GFLOP/s."""
    kind, amount = WORK[name]
    return f"{amount / seconds / 1e9:.1f} {'GB/s' if kind == 'bytes' else 'GFLOP/s'}"


def page(found: dict[int, Times]) -> str:
    """The results as Markdown."""
    lines = [
        "# Triton kernels on the CPU", "",
        f"`make kernels` on {processor()}, {os.cpu_count()} cores; milliseconds, medians over rounds in which the",
        "libraries take turns, without page faults. The kernels are those of `examples/triton_speed.py` and",
        "`examples/triton_attention.py`. *Reached* counts the bytes that must move (not those that a store reads",
        "before it writes) or the operations; *best other* is the time of the best other library over opweave's, so",
        "that above 1 opweave is first.", "",
        "![milliseconds with two threads](kernels.svg)",
    ]  # fmt: skip
    for threads, times in sorted(found.items(), reverse=True):
        libraries = [library for library in LIBRARIES if any(library in row for row in times.values())]
        lines += ["", f"## {threads} thread{'s' * (threads > 1)}", ""]
        lines += [f"| | {' | '.join(libraries)} | reached | best other |", "|---" * (len(libraries) + 3) + "|"]
        for name, row in times.items():
            median = {library: statistics.median(row[library]) for library in row}
            cells = [f"{median[library] * 1e3:.2f}" if library in row else "" for library in libraries]
            ratio = min((over(row[library], row["opweave"]) for library in row if library != "opweave"), default=1.0)
            lines.append(f"| {name} | {' | '.join(cells)} | {rate(name, median['opweave'])} | {ratio:.2f} |")
        if all(name in times for name in STREAMS):
            part = [
                f"{n} {over(times['copy']['opweave'], times[n]['opweave']) * WORK[n][1] / WORK['copy'][1]:.2f}"
                for n in STREAMS[1:]
            ]
            told = ", ".join(part)
            lines += ["", f"Of the bytes that opweave's copy moves in a second: {told}."]
    return "\n".join(lines) + "\n"


def plot(times: Times) -> str:
    """Bars of the time of each library over opweave's, as SVG."""
    colours = dict(zip(LIBRARIES, ("#c0392b", "#7f8c8d", "#2c3e50", "#2980b9", "#27ae60", "#d35400"), strict=True))
    bar, gap, left, unit, most = 11, 14, 120, 110, 5.0
    parts, y = [], 40
    for i, (library, colour) in enumerate(colours.items()):
        parts.append(f'<rect x="{left + i * 110}" y="10" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{left + i * 110 + 15}" y="19">{library}</text>')
    for name, row in times.items():
        parts.append(f'<text x="{left - 8}" y="{y + bar * len(row) / 2 + 4}" text-anchor="end">{name}</text>')
        for library in (library for library in LIBRARIES if library in row):
            ratio = over(row[library], row["opweave"])
            width = min(ratio, most) * unit
            parts.append(f'<rect x="{left}" y="{y}" width="{width:.1f}" height="{bar - 2}" fill="{colours[library]}"/>')
            parts.append(f'<text x="{left + width + 4:.1f}" y="{y + bar - 3}" font-size="9">{ratio:.2f}</text>')
            y += bar
        y += gap
    line = f'<line x1="{left + unit}" x2="{left + unit}" y1="32" y2="{y}" stroke="#c0392b" stroke-dasharray="3 3"/>'
    size = f'width="{left + int(most * unit) + 60}" height="{y + 10}"'
    style = 'font-family="sans-serif" font-size="12"'
    return "\n".join([f'<svg xmlns="http://www.w3.org/2000/svg" {size} {style}>', *parts, line, "</svg>", ""])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--library", choices=LIBRARIES, help="serve one in this process")
    parser.add_argument("--page", action="store_true", help="write kernels.md and kernels.svg")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--numba-python", default=sys.executable, help="an interpreter that has numba")
    parser.add_argument("--seconds", type=float, default=0.1, help="for each piece of work in each round")
    parser.add_argument("--only", default="", help="a part of the name of the work to measure")
    parser.add_argument("--libraries", default=",".join(LIBRARIES), help="beside opweave, with commas between")
    options = parser.parse_args()
    if options.library:
        serve(LIBRARIES[options.library]())
        return
    asked = ["opweave", *options.libraries.split(",")]
    pythons = {library: sys.executable for library in LIBRARIES if library in asked and available(library)}
    if options.numba_python != sys.executable and "numba" in asked:
        pythons["numba"] = options.numba_python
    names = [name for name in WORK if options.only in name]
    found = {n: all_of(pythons, n, options.rounds, options.seconds, names) for n in (1, 2)}
    text = page(found)
    print(text)
    if options.page:
        Path(__file__).with_suffix(".md").write_text(text)
        Path(__file__).with_suffix(".svg").write_text(plot(found[2]))


if __name__ == "__main__":
    main()

"""Compares opweave with PyTorch on the CPU: `make costs`, or `python benchmarks/run.py --only steady --rounds 5`.

Every figure is a median over alternating rounds of one run on one machine, so ratios mean more than times. Nothing is
asserted of the times. Steady kernels are run twice: with the allocator's page faults out of the way for everyone, which
compares the kernels, and as users run them; in several processes each, since where memory lies is drawn anew in each.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from workloads import STEADY

import opweave

HERE = Path(__file__).parent
PARTS = (
    "steady",
    "cold",
    "overhead",
    "guards",
    "dispatch",
    "eager",
    "tracing",
    "training",
    "saved",
    "import",
    "interpreter",
)

# glibc keeps freed memory instead of giving it back: no page is touched for the first time twice.
NO_FAULTS = {
    "MALLOC_MMAP_MAX_": "0",
    "MALLOC_TRIM_THRESHOLD_": "34359738368",
    "MALLOC_TOP_PAD_": "268435456",
    "MALLOC_ARENA_MAX": "1",
}
ENVIRONMENTS: dict[str, dict[str, str]] = {"without page faults": NO_FAULTS, "plain environment": {}}


#: Processes that steady calls are measured in: each gets other pages, on which what fits the caches depends.
PROCESSES = 5


def threads_environment(threads: int) -> dict[str, str]:
    """Variables that give every library this many threads."""
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "OPWEAVE_NUM_THREADS")
    return dict.fromkeys(names, str(threads))


def caches_environment(folder: Path) -> dict[str, str]:
    """Variables that put every on-disk cache into a folder."""
    names = ("OPWEAVE_CACHE_DIR", "TRITON_CACHE_DIR", "TORCHINDUCTOR_CACHE_DIR")
    return {name: str(folder / name.lower()) for name in names}


def run(arguments: Sequence[str], environment: Mapping[str, str]) -> str:
    """Standard output of a Python process; its errors are shown, and end the run."""
    command = [sys.executable, *arguments]
    done = subprocess.run(command, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True, check=False)
    if done.returncode:
        sys.exit(f"{' '.join(command)}: exit status {done.returncode}")
    return done.stdout


def run_json(arguments: Sequence[str], environment: Mapping[str, str]) -> dict[str, Any]:
    """The JSON object on the last line that a benchmark prints."""
    return json.loads(run(arguments, environment).strip().splitlines()[-1])


def table(title: str, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print a table, first column to the left and the others to the right."""
    widths = [max(len(row[i]) for row in (header, *rows)) for i in range(len(header))]
    line = [name.ljust(widths[0]) if i == 0 else name.rjust(widths[i]) for i, name in enumerate(header)]
    print(f"\n{title}\n{'  '.join(line)}\n{'  '.join('-' * width for width in widths)}")
    for row in rows:
        print("  ".join(cell.ljust(widths[0]) if i == 0 else cell.rjust(widths[i]) for i, cell in enumerate(row)))
    sys.stdout.flush()


def steady(rounds: int) -> dict[str, Any]:
    """Compiled calls, for every environment and number of threads."""
    found: dict[str, Any] = {}
    for label, environment in ENVIRONMENTS.items():
        for threads in (1, 2):
            with tempfile.TemporaryDirectory() as folder:
                variables = environment | threads_environment(threads) | caches_environment(Path(folder))
                arguments = [str(HERE / "steady.py"), "--threads", str(threads)]
                arguments += ["--rounds", str(-(-rounds // PROCESSES))]
                runs = [run_json(arguments, variables) for _ in range(PROCESSES)]
                times = {
                    workload.name: {
                        name: statistics.median(run[workload.name][name] for run in runs)
                        for name in runs[0][workload.name]
                    }
                    for workload in STEADY
                }
            found[f"{label}, {threads} threads"] = times
            rows = []
            for workload in STEADY:
                row = times[workload.name]
                ours = row["opweave"]
                rows.append([
                    workload.name,
                    *(f"{row[name] * 1e6:.0f}" for name in ("torch eager", "torch.compile", "opweave")),
                    f"{workload.bytes_moved / ours / 1e9:.1f}",
                    f"{ours / row['torch.compile']:.2f}",
                    f"{ours / row['torch eager']:.2f}",
                ])  # fmt: skip
            header = (
                "µs a call",
                "torch eager",
                "torch.compile",
                "opweave",
                "GB/s",
                "/ torch.compile",
                "/ torch eager",
            )
            table(f"Steady state, {label}, {threads} thread{'s' * (threads > 1)}", header, rows)
    return found


def cold(rounds: int) -> dict[str, Any]:
    """First call of a compiled function: a fresh process each, with empty caches and then with filled ones."""
    found: dict[str, Any] = {}
    for _ in range(rounds):
        for library in ("torch", "opweave"):
            folder = Path(tempfile.mkdtemp())
            try:
                for state in ("empty caches", "filled caches"):
                    times = run_json(
                        [str(HERE / "cold.py"), library], threads_environment(2) | caches_environment(folder)
                    )
                    for name, seconds in times.items():
                        found.setdefault(f"{name}, {state}", {}).setdefault(library, []).append(seconds)
            finally:
                shutil.rmtree(folder)
    medians = {name: {k: statistics.median(v) for k, v in row.items()} for name, row in found.items()}
    rows = [
        [name, f"{row['torch']:.3f}", f"{row['opweave']:.3f}", f"{row['opweave'] / row['torch']:.2f}"]
        for name, row in medians.items()
        if not name.startswith("second")
    ]
    table(f"From a fresh process to softmax(x * 2 + y), median of {rounds}", ("s", "torch", "opweave", "ratio"), rows)
    return medians


def overhead(rounds: int) -> dict[str, Any]:
    """What a compiled call costs when there is nothing to compute."""
    with tempfile.TemporaryDirectory() as folder:
        variables = threads_environment(1) | caches_environment(Path(folder))
        arguments = [str(HERE / "steady.py"), "--threads", "1", "--rounds", str(rounds), "--tiny"]
        times = run_json(arguments, variables)
    (row,) = times.values()
    rows = [[name, f"{row[name] * 1e6:.2f}", f"{row[name] / row['torch.compile']:.2f}"] for name in row]
    table("Adding 8 elements", ("contestant", "µs a call", "/ torch.compile"), rows)
    return row


def beside_torch(title: str, times: Mapping[str, Mapping[str, float]], unit: str, scale: float) -> None:
    """A table of seconds of both libraries, in a unit of which `scale` are one."""
    rows = [
        [
            name,
            *(f"{row[library] * scale:.2f}" for library in ("torch", "opweave")),
            f"{row['opweave'] / row['torch']:.2f}",
        ]
        for name, row in times.items()
    ]
    table(title, (unit, "torch", "opweave", "ratio"), rows)


def guards(rounds: int) -> dict[str, Any]:
    """What calling compiled code with many tensors costs."""
    times = run_json([str(HERE / "guards.py"), "--rounds", str(rounds)], threads_environment(1))
    beside_torch("Guards of a compiled call", times, "µs a call", 1e6)
    return times


def dispatch(rounds: int) -> dict[str, Any]:
    """What an eager call costs beside the work."""
    times = run_json([str(HERE / "dispatch.py"), "--rounds", str(rounds)], threads_environment(1))
    beside_torch("One eager call, 8 elements", times, "µs a call", 1e6)
    return times


def eager(rounds: int) -> dict[str, Any]:
    """Ops on a million elements, one by one."""
    times = run_json([str(HERE / "eager.py"), "--rounds", str(rounds)], NO_FAULTS | threads_environment(1))
    libraries = ("numpy", "torch", "opweave")
    rows = [
        [name, *(f"{row[k] * 1e6:.0f}" for k in libraries), f"{row['opweave'] / row['numpy']:.2f}"]
        for name, row in times.items()
    ]
    table("Eager ops, a million float32, one thread", ("µs a call", *libraries, "/ numpy"), rows)
    return times


def tracing() -> dict[str, Any]:
    """Making a graph of a chain of pointwise ops, without data and with symbolic sizes too."""
    times = run_json([str(HERE / "tracing.py")], threads_environment(1))
    beside_torch("make_fx", times, "ms", 1e3)
    return times


def training(rounds: int) -> dict[str, Any]:
    """Whole training steps."""
    times = run_json([str(HERE / "training.py"), "--rounds", str(rounds)], NO_FAULTS)
    libraries = list(dict.fromkeys(library for row in times.values() for library in row))
    rows = [
        [name, *(f"{row[k] * 1e3:.2f}" for k in libraries), f"{row['opweave'] / row['torch.compile']:.2f}"]
        for name, row in times.items()
    ]
    table("Training steps, without page faults", ("ms", *libraries, "ratio"), rows)
    return times


def saved() -> dict[str, Any]:
    """What a transformer's forward keeps for its backward."""
    found = run_json([str(HERE / "saved_bytes.py")], {})
    rows = [[name, str(count), f"{count / found['torch min-cut']:.2f}"] for name, count in found.items()]
    table("Saved for the backward of a transformer", ("partitioner", "bytes", "/ torch min-cut"), rows)
    return found


def imports(rounds: int) -> dict[str, Any]:
    """What an import costs a fresh process."""
    code = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"
    times: dict[str, list[float]] = {"numpy": [], "opweave": [], "torch": []}
    bytecode = {"PYTHONDONTWRITEBYTECODE": ""}  # as installed: compiled once
    for name in times:
        run(["-c", code.format(name)], bytecode)
    for _ in range(rounds):
        for name, values in times.items():
            values.append(float(run(["-c", code.format(name)], bytecode)))
    medians = {name: statistics.median(values) for name, values in times.items()}
    rows = [[name, f"{value * 1e3:.0f}", f"{value / medians['numpy']:.2f}"] for name, value in medians.items()]
    table(f"Import, median of {rounds} fresh processes", ("module", "ms", "/ numpy"), rows)
    return medians


def interpreter() -> dict[str, Any]:
    """Triton's tutorial kernels, natively and in Triton's own interpreter."""
    native = run_json([str(HERE / "interpreter.py")], {})
    slow = run_json([str(HERE / "interpreter.py")], {"TRITON_INTERPRET": "1"})
    rows = [
        [name, f"{native[name] * 1e3:.3f}", f"{slow[name] * 1e3:.0f}", f"{slow[name] / native[name]:.0f}"]
        for name in native
    ]
    table("Triton's tutorials", ("ms a launch", "native", "interpreter", "times faster"), rows)
    return {name: {"native": native[name], "interpreter": slow[name]} for name in native}


def processor() -> str:
    """The processor's name as the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor()
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), platform.machine())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"comma-separated parts, of {', '.join(PARTS)}", default=",".join(PARTS))
    parser.add_argument("--rounds", type=int, default=21, help="rounds of steady calls (fewer for what takes seconds)")
    parser.add_argument("--json", type=Path, help="also write the medians, in seconds, to this file")
    options = parser.parse_args()
    parts = options.only.split(",")
    if unknown := set(parts) - set(PARTS):
        parser.error(f"--only: no part named {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")

    print(f"{processor()}, {os.cpu_count()} cores; Python {platform.python_version()}")
    versions = ", ".join(f"{name} {importlib.metadata.version(name)}" for name in ("torch", "triton", "numpy"))
    print(f"opweave {opweave.__version__}, {versions}", flush=True)
    few = max(1, min(options.rounds, 5))
    runners = {
        "steady": lambda: steady(options.rounds),
        "cold": lambda: cold(few),
        "overhead": lambda: overhead(options.rounds),
        "guards": lambda: guards(options.rounds),
        "dispatch": lambda: dispatch(options.rounds),
        "eager": lambda: eager(options.rounds),
        "tracing": tracing,
        "training": lambda: training(min(few, 3)),
        "saved": saved,
        "import": lambda: imports(max(few, min(options.rounds, 15))),
        "interpreter": interpreter,
    }
    results = {part: runners[part]() for part in PARTS if part in parts}
    if options.json:
        options.json.write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()

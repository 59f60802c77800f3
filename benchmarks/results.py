"""All benchmarks beside their peers, as one page: `make bench`; writes `results.md` and `results.svg` beside this file.

    python benchmarks/results.py --jax-python /path/python     of an interpreter that has JAX, and numba perhaps
    python benchmarks/results.py --quick                       a part of the work in few rounds: at most ten minutes
    python benchmarks/results.py --only products,models        parts, of peers, models, products and kernels

The libraries take turns, one a process, with one thread and with two (`kernels.all_of`). What is measured is kept in a
file, part by part, so a run that was ended goes on where it was; `--fresh` begins anew. A roofline figure says which
part of the machine's speed a time is, of the bytes that must come from memory or of the operations, as
`machine.py` measures them; what stays in the caches may have more than all of the bytes.
"""

from __future__ import annotations

import argparse
import functools
import json
import os
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import kernels
import models
import peers
import products

HERE = Path(__file__).parent
KEPT = HERE.parent / "build" / "results.json"
THREADS = (1, 2)
#: Modules by the names of libraries, where they differ.
MODULES = {"torch.compile": "torch"}
FLOAT32 = "float32"


@dataclass(frozen=True)
class Part:
    """What one of the scripts measures.

    Attributes
    ----------
    title, script : str
        Of the section of the page; the file that serves a library.
    libraries : tuple of str
        opweave and its peers.
    names : tuple of str
        The work.
    quick : tuple of str
        What of it a quick run has.
    seconds : float
        For each piece of work in each round.
    costs : callable
        Of some work: what bounds it (`bytes` or a type), and so many bytes or operations; it may know only some.
    mark : str
        What stands between names in the script's `--only`; nothing where it takes none.
    labels : dict
        Names of the work as people know it.
    """

    title: str
    script: str
    libraries: tuple[str, ...]
    names: tuple[str, ...]
    quick: tuple[str, ...]
    seconds: float
    costs: Callable[[], dict[str, tuple[str, float]]]
    mark: str = ""
    labels: dict[str, str] | None = None


def _of_products() -> dict[str, tuple[str, float]]:
    return {name: (dtype, 2.0 * m * k * n) for name, (dtype, m, k, n) in products.WORK.items()}


def _of_kernels() -> dict[str, tuple[str, float]]:
    return {name: ("bytes" if kind == "bytes" else FLOAT32, cost) for name, (kind, cost) in kernels.WORK.items()}


def _of_models() -> dict[str, tuple[str, float]]:
    """As PyTorch counts the operations of products and convolutions."""
    command = [sys.executable, str(HERE / "models.py"), "--operations"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return {name: (FLOAT32, count) for name, count in json.loads(done.stdout.splitlines()[-1]).items() if count}


PARTS = {
    "peers": Part(
        "Compiled functions", "peers.py", peers.LIBRARIES, tuple(peers.WORK),
        ("add", "softmax", "layer norm", "Adam, 20 of 100,000", "two layers", "transformer block"), 0.1, peers.costs,
        "|",
    ),
    "models": Part(
        "Training steps of models, compiled", "models.py", models.LIBRARIES, tuple(models.WORK), ("GPT", "ResNet"), 0.5,
        _of_models, ",", models.NAMES,
    ),
    "products": Part(
        "Products through aten", "products.py", products.LIBRARIES, tuple(products.WORK),
        tuple(name for name in products.WORK if "1024 x 1024" in name), 0.1, _of_products, ",",
    ),
    "kernels": Part(
        "Triton kernels", "kernels.py", tuple(kernels.LIBRARIES), tuple(kernels.WORK),
        ("copy", "softmax", "layer norm", "matmul 1024", "attention"), 0.1, _of_kernels,
    ),
}  # fmt: skip


@functools.cache
def version(library: str, python: str) -> str | None:
    """The version of a library that an interpreter has, None where it has none."""
    code = "import importlib.metadata as m, sys; print(m.version(sys.argv[1]))"
    done = subprocess.run(
        [python, "-c", code, MODULES.get(library, library)], capture_output=True, text=True, check=False
    )
    return done.stdout.strip() or None


class Interpreters:
    """Which interpreter runs a library."""

    def __init__(self, jax_python: str | None) -> None:
        self.jax_python = jax_python

    def of(self, library: str, script: str) -> str:
        """The kernels of JAX need this interpreter's PyTorch for nothing, but all scripts import opweave or NumPy."""
        needs_other = self.jax_python is not None and version(library, sys.executable) is None
        return self.jax_python if needs_other and self.jax_python else sys.executable

    def present(self, part: Part) -> dict[str, str]:
        """The interpreters of a part's libraries that are installed."""
        found = {library: self.of(library, part.script) for library in part.libraries}
        return {library: python for library, python in found.items() if version(library, python) is not None}


def facts(interpreters: Interpreters) -> dict[str, str]:
    """The machine and the versions."""
    found = {"processor": kernels.processor(), "cores": str(os.cpu_count()), "python": platform.python_version()}
    for library in ("opweave", "torch", "jax", "numba", "numpy", "triton", "llvmlite"):
        found[library] = version(library, interpreters.of(library, "")) or "not installed"
    return found


class Kept:
    """What has been measured, in a file."""

    def __init__(self, path: Path, settings: dict[str, Any], fresh: bool) -> None:
        self.path = path
        self.found: dict[str, Any] = {"settings": settings, "parts": {}, "costs": {}, "machine": {}}
        if not fresh and path.exists():
            before = json.loads(path.read_text())
            if before["settings"] == settings:
                self.found = before

    def get(self, kind: str, key: str, make: Callable[[], Any]) -> Any:
        """What is there already, or is made now."""
        if key not in self.found[kind]:
            self.found[kind][key] = make()
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.write_text(json.dumps(self.found, indent=1))
        return self.found[kind][key]


def machine(threads: int) -> dict[str, float]:
    """What the machine can do, in a process of its own."""
    command = [sys.executable, str(HERE / "machine.py"), "--threads", str(threads)]
    return json.loads(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def roofline(cost: Sequence[Any] | None, seconds: float, speeds: dict[str, float]) -> str:
    """What is reached in a second, and which part of the machine's speed that is."""
    if cost is None or cost[0] not in speeds:
        return ""
    kind, amount = cost
    reached = amount / seconds
    return f"{reached / 1e9:.1f} {'GB/s' if kind == 'bytes' else 'Gop/s'}, {reached / speeds[kind]:.2f}"


def section(
    part: Part, threads: int, kept: dict[str, Any], costs: dict[str, Any], speeds: dict[str, float]
) -> list[str]:
    """A table of the page."""
    times, present = kept["times"], kept["libraries"]
    unit, scale = ("ms", 1e3) if part.seconds > 0.2 else ("µs", 1e6)
    heads = [each if each in present else f"{each} (not installed)" for each in part.libraries]
    lines = [
        f"### {threads} thread{'s' * (threads > 1)}",
        "",
        f"| {unit} | {' | '.join(heads)} | roofline | best peer |",
    ]
    lines.append("|---" * (len(heads) + 3) + "|")
    ratios: dict[str, list[float]] = {}
    for name, row in times.items():
        median = {library: statistics.median(row[library]) for library in row}
        cells = [f"{median[each] * scale:.1f}" if each in row else "" for each in part.libraries]
        beside = {each: kernels.over(row[each], row["opweave"]) for each in row if each != "opweave"}
        for each, ratio in beside.items():
            ratios.setdefault(each, []).append(ratio)
        first = min(beside, key=lambda each: beside[each], default=None)
        best = "" if first is None else f"{beside[first]:.2f} ({first})"
        reached = roofline(costs.get(name), median["opweave"], speeds)
        lines.append(f"| {(part.labels or {}).get(name, name)} | {' | '.join(cells)} | {reached} | {best} |")
    means = [f"{each} {statistics.geometric_mean(found):.2f}" for each, found in ratios.items()]
    return [*lines, "", f"Geometric means of the ratios: {', '.join(means)}.", ""]


def page(found: dict[str, Any], told: dict[str, str], quick: bool) -> str:
    """The results as Markdown."""
    versions = ", ".join(f"{name} {value}" for name, value in told.items() if name not in ("processor", "cores"))
    command = "make bench ARGS=--quick" if quick else "make bench"
    lines = [
        "# Benchmarks", "",
        f"`{command}` on {told['processor']}, {told['cores']} cores: {versions}.", "",
        "Medians over rounds in which the libraries take turns, one a process, without page faults. *Best peer* is the",
        "time of the best other library over opweave's, so that above 1 opweave is first; *roofline* is what opweave",
        "reaches of the bytes that must come from memory, or of the operations, and which part that is of what the",
        "machine was measured to do (`benchmarks/machine.py`): what stays in the caches may have more than all of the",
        "bytes.", "",
        "| | GB/s | float32 Gop/s | bfloat16 Gop/s | int8 Gop/s |", "|---|---|---|---|---|",
    ]  # fmt: skip
    for threads, speeds in found["machine"].items():
        cells = [f"{speeds[kind] / 1e9:.0f}" if kind in speeds else "no unit" for kind in
                 ("bytes", "float32", "bfloat16", "int8")]  # fmt: skip
        lines.append(f"| {threads} thread{'s' * (threads != '1')} | {' | '.join(cells)} |")
    lines += ["", "![times of the libraries over opweave's](results.svg)", ""]
    for key, part in PARTS.items():
        tables = [
            section(part, n, found["parts"][f"{key} {n}"], found["costs"].get(key, {}), found["machine"][str(n)])
            for n in THREADS
            if f"{key} {n}" in found["parts"]
        ]
        if tables:
            lines += [f"## {part.title}", "", f"`benchmarks/{part.script}`", "", *[line for t in tables for line in t]]
    return "\n".join(lines).rstrip() + "\n"


def plotted(found: dict[str, Any]) -> str:
    """Bars for all work with the most threads that were measured."""
    times: kernels.Times = {}
    for key, part in PARTS.items():
        for n in reversed(THREADS):
            if f"{key} {n}" in found["parts"]:
                rows = found["parts"][f"{key} {n}"]["times"]
                times |= {f"{(part.labels or {}).get(name, name)}"[:22]: row for name, row in rows.items()}
                break
    return kernels.plot(times)


def main() -> None:
    """Measure what is not there yet, and write the page."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jax-python", help="an interpreter that has JAX, and numba perhaps")
    parser.add_argument("--quick", action="store_true", help="a part of the work, in three rounds")
    parser.add_argument("--fresh", action="store_true", help="measure anew what is kept")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas between")
    parser.add_argument("--work", default="", help="only work whose name has this in it")
    parser.add_argument("--rounds", type=int, help="3 for a quick run, else 7")
    parser.add_argument("--kept", type=Path, default=KEPT, help="where times are kept between runs")
    parser.add_argument("--folder", type=Path, default=HERE, help="where results.md and results.svg go")
    options = parser.parse_args()
    asked = options.only.split(",")
    if unknown := set(asked) - set(PARTS):
        parser.error(f"--only: no part named {', '.join(sorted(unknown))}; there are {', '.join(PARTS)}")
    interpreters = Interpreters(options.jax_python)
    told = facts(interpreters)
    rounds = options.rounds or (3 if options.quick else 7)
    settings = {**told, "rounds": rounds, "quick": options.quick, "work": options.work}
    kept = Kept(options.kept, settings, options.fresh)
    for n in THREADS:
        kept.get("machine", str(n), functools.partial(machine, n))
    for key in asked:
        part = PARTS[key]
        names = [name for name in (part.quick if options.quick else part.names) if options.work in name]
        if not names:
            continue
        kept.get("costs", key, part.costs)
        for n in THREADS:
            pythons = interpreters.present(part)
            print(f"{part.title}, {n} threads: {', '.join(pythons)}", file=sys.stderr, flush=True)
            arguments = ("--only", part.mark.join(names)) if part.mark else ()

            def measure(
                part: Part = part, n: int = n, pythons: dict[str, str] = pythons, names: list[str] = names,
                arguments: Sequence[str] = arguments,
            ) -> dict[str, Any]:  # fmt: skip
                seconds = part.seconds / (2 if options.quick else 1)
                script = str(HERE / part.script)
                times = kernels.all_of(pythons, n, rounds, seconds, names, script, arguments)
                return {"libraries": [*pythons], "times": times}

            kept.get("parts", f"{key} {n}", measure)
            (options.folder / "results.md").write_text(page(kept.found, told, options.quick))
            (options.folder / "results.svg").write_text(plotted(kept.found))


if __name__ == "__main__":
    main()

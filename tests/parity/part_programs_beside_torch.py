"""Functions that run in parts beside PyTorch's eager calls: random programs, and the thirty functions of the tests.

    python tests/parity/part_programs_beside_torch.py --count 5000 --seed 0

A program is one of `torch_programs`, with lines between its own that ask for values: branches, numbers, lists, arrays,
loops over rows, sizes that depend on data. They read exact values alone, so that both libraries go the same way.
"""

from __future__ import annotations

import argparse
import collections
import contextlib
import io
import os
import random
import sys
import tempfile
import time
import types
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

import numpy as np
import torch
import torch_programs
from torch_programs import Family, Outcome, Program

import opweave
from opweave.registry.errors import AutogradError
from opweave.runtime import parts

#: Lines that ask for values, and make a tensor of them.
ASKS = """
T.tensor({x}.tolist(), dtype={x}.dtype) | {z} * int(({x} > 0).sum()) | {z} + ({x} > {c}).sum().item()
{z} * 2 if bool(({x} > 0).any()) else {z} + 1 | {z} - float(({x} != 0).sum()) | {x}[{x} > {c}] | {x}.nonzero() + 1
T.stack([row * 2 for row in {x}]) | T.tensor([bool(v) for v in {x}.reshape(-1)]) | {x}[{x} > 0].sum() * 0 + {z}
T.from_numpy({x}.detach().numpy().copy()) | {x}.clone() if len({x}.nonzero()) % 2 else {x} * 3
{z}[: int(({x} > 0).sum()) + 1] | {z}.reshape(-1)[int(({x} > 0).sum()) - 1] | {x} * len({x}.unique())
T.zeros(int(({x} > 0).sum())) | T.tensor({x}.shape) * bool(({x} == {x}).all()) | {x}.masked_select({m})
"""
#: Those that write by what they find.
ASKING_WRITES = """
{x}.add_(1) if bool(({z} > {c}).any()) else {x}.mul_(2) | [{x}.mul_(2) for _ in range(int(({z} > 0).sum()) % 3)]
{x}.fill_(({z} > 0).sum().item()) | [row.add_(i) for i, row in enumerate({x})]
{x}.view(-1)[:1].fill_(len({z}.nonzero()))
{x}[{z} > 0] = {c} | {x}.add_(({z} == 0).sum().item()) | {x}.detach().numpy()[...] = 3
{x}.copy_({z}) if float(({z} > 0).sum()) > 1 else {x}.zero_() | {x}.neg_() if ({x} > 0).sum() > 1 else {x}.square_()
"""
FAMILIES = (
    *torch_programs.FAMILIES,
    Family(torch_programs._texts(ASKS), 10, jumps=True),
    Family(torch_programs._texts(ASKING_WRITES), 5, jumps=True, writes=True),
)


@contextlib.contextmanager
def asking() -> Iterator[None]:
    """Let programs have such lines, and small tensors wait."""
    before = torch_programs.FAMILIES, parts.SMALL
    torch_programs.FAMILIES, parts.SMALL = FAMILIES, 0
    try:
        yield
    finally:
        torch_programs.FAMILIES, parts.SMALL = before


def attempt(program: Program, rough: dict[str, float], times: int) -> Outcome:
    """Run a program in PyTorch, eagerly and in parts, and compare the last of some calls with PyTorch's."""
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        expected = torch_programs.observe(program, torch)
        eager = torch_programs.observe(program, opweave)
        got = torch_programs.observe(program, opweave, compiled=True, times=times)
        if isinstance(eager.error, AttributeError):
            return Outcome("refused", f"no name: {eager.error}")
        if isinstance(got.error, AutogradError) and "gradients" in expected.facts:
            return Outcome("raises")  # sooner than eagerly
        if "Autograd not support dtype" in str(expected.error):
            return Outcome("refused", "PyTorch alone refuses a comparison that is written to a view of whole numbers")
        found = torch_programs.difference(expected, eager, rough, program)
        if found is not None:
            return Outcome("failed", f"eager: {found}")
        found = torch_programs.difference(expected, got, rough, program)
    if found is not None and "depends on data" in f"{found} {got.facts.get('gradients')}":
        return Outcome("refused", "the backward needs a size that depends on data")
    if found is not None and "modified by an in-place" in f"{got.facts.get('gradients')}":
        return Outcome("refused", "gradients of an argument that is written twice, which nobody asked for")
    if isinstance(expected.error, RuntimeError) and "ZeroDivision" in str(expected.error) and got.error is None:
        return Outcome("refused", "a division by zero of which nothing is used")
    if found is not None:
        return Outcome("failed", f"in parts: {found}")
    return Outcome("raises" if expected.error else "equal")


def failure(seed: int) -> tuple[Outcome, Program]:
    """What became of the program of a seed; made short where it failed."""
    times = 1 + seed % 3
    with asking():
        program, rough = torch_programs.Maker.of(seed)
        outcome = attempt(program, rough, times)
        if outcome.kind == "failed":
            short = torch_programs.shortened(program, outcome, lambda p: attempt(p, rough, times))
            return torch_programs.explained(attempt(short, rough, times), short), short
    return outcome, program


# ---- the thirty functions --------------------------------------------------------------------------------------------

_SOURCE = Path(__file__).parents[1] / "runtime" / "break_functions.py"
#: Other numbers are drawn.
OTHERWISE = {"draws", "seeds"}


def functions(module: Any, name: str) -> types.ModuleType:
    """The functions of the tests, with the names of one of the libraries."""
    text = _SOURCE.read_text()
    text = text.replace("import opweave\n", f"import {name} as opweave\n").replace("from opweave", f"from {name}")
    space = types.ModuleType(f"break_functions_{name}")
    exec(compile(text, str(_SOURCE), "exec"), vars(space))
    space.module = module  # type: ignore[attr-defined]
    return space


def outcome_of(space: Any, function: Any, seed: int) -> dict[str, Any]:
    """All that a call of one of the functions does, in one of the libraries."""
    module = space.module
    draw = np.random.default_rng(seed)
    x, w = (module.from_numpy(draw.standard_normal((6, 4))) for _ in range(2))
    w.requires_grad_()
    notes: list[Any] = []
    with contextlib.redirect_stdout(io.StringIO()):
        results = function(x, w, notes)
    results = results if isinstance(results, tuple) else (results,)
    loss: Any = sum((t * t).sum() for t in results)
    if loss.requires_grad:
        loss.backward()
    # dtypes by their names, and opweave's error by the class that it is one of
    noted = [n.rpartition(".")[2].replace("ShapeError", "RuntimeError") if isinstance(n, str) else n for n in notes]
    return {
        "results": [t.detach().numpy() for t in results], "x": x.numpy(), "noted": noted,
        "grad": None if w.grad is None else w.grad.numpy(), "global": space._total, "state": dict(space._counter),
        "buffers": [t.numpy().copy() for t in space._module.buffers()],
        "requires grad": [t.requires_grad for t in results], "strides": [t.stride() for t in results],
    }  # fmt: skip


def main() -> int:
    """Search, and print totals and failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=500)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 30))
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    torch.set_num_threads(1)
    kinds: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    with tempfile.TemporaryDirectory() as folder:
        os.environ["OPWEAVE_CACHE_DIR"] = folder
        for seed in range(options.seed, options.seed + options.count):
            outcome, program = failure(seed)
            kinds[outcome.kind] += 1
            if outcome.kind == "failed":
                print(f"# seed {seed}: {outcome.why[:400]}\n{program}", flush=True)
            if time.monotonic() - start > options.seconds:
                break
    print(f"from {options.seed}: {dict(kinds)}")
    return 1 if kinds["failed"] else 0


if __name__ == "__main__":
    raise SystemExit(main())

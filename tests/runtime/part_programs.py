"""Random programs that ask for values, print, and change Python state between views and mutation: eager and in parts.

    python tests/runtime/part_programs.py --count 5000 --seed 0

A program is one of `mutation_programs`, with lines that a compiled function has to break at. What is compared is all
that is compared there, and what the lines have noted.
"""

from __future__ import annotations

import argparse
import collections
import sys
import time
import warnings
from pathlib import Path
from typing import Any

sys.path.append(str(Path(__file__).parent))

import mutation_programs as programs
import numpy as np
from mutation_programs import Line, Maker, Outcome, Program, Seen

import opweave
from opweave.registry.tensor import Tensor

#: What the lines of a program note; it is emptied before each call.
noted: list[Any] = []
programs._SPACE["noted"] = noted


def _values(m: Maker) -> Line | None:
    """Values that go to Python."""
    a = m.any()
    t: Tensor = m.space[a]
    fits = ["float({0}.sum())", "{0}.detach().numpy().copy()", "{0}.tolist()", "repr({0}.detach())", "{0}.sum().item()"]
    fits += ["bool(({0} > 0).any())", "int({0}.sum())", "[float(row.sum()) for row in {0}]" if t.ndim else "{0}.item()"]
    fits += ["{0}", "{0} * 1", "[p for p in {0}.reshape(-1)][:2]"]
    return Line(f"noted.append({m.draw.choice(fits).format(a)})", (), (a,))


def _branch(m: Maker) -> Line | None:
    a, b = m.any(), m.any()
    k, name = m.number(), m.name()
    fits = [Line(f"if float({a}.sum()) > {k}: {b}.add_(1)", (), (a, b))]
    fits += [Line(f"{name} = {b} + 1 if ({a} > {k}).any() else {b} * 2", (name,), (a, b))]
    fits += [Line(f"for _ in range(int(({a} > 0).sum()) % 3): {b}.add_(1)", (), (a, b))]
    fits += [Line(f"if {a}.sum() > {k}: noted.append({b}.sum())", (), (a, b))]
    return m.draw.choice(fits)


def _number(m: Maker) -> Line | None:
    a, b, name = m.any(), m.any(), m.name()
    fits = [f"{b} * float({a}.sum())", f"{b} + {a}.sum().item()", f"{b} * (int({a}.sum()) % 3)", f"{b} + len(noted)"]
    return Line(f"{name} = {m.draw.choice(fits)}", (name,), (a, b))


def _sizes(m: Maker) -> Line | None:
    a, name = m.any(), m.name()
    t: Tensor = m.space[a]
    fits = [f"{a}.nonzero()", f"{a}[{a} > 0]", f"opweave.masked_select({a}, {a} != 0)"]
    # No line that is to come may rely on the size that it has now.
    text = f"{name} = {m.draw.choice(fits)}; noted.append({name} * 2 + len({name}))"
    return Line(text, (), (a,)) if t.ndim else None


def _arrays(m: Maker) -> Line | None:
    """Arrays that Python writes through, and memory that changes hands."""
    a, b = m.any(), m.like(m.any())
    t: Tensor = m.space[a]
    if not t.ndim or t.dtype is opweave.bool:
        return None
    name = m.name()
    fits = [Line(f"{name}_a = {a}.detach().numpy(); {name} = {a} * 2; {name}_a += 1", (name,), (a,))]
    fits += [Line(f"{name}_a = np.array({a}.tolist()); {name} = opweave.from_numpy({name}_a); {name}_a += 1",
                  (name,), (a,))]  # fmt: skip
    fits += [Line(f"{name} = {a} + 1; {name}.detach().numpy()[...] = 3", (name,), (a,))]
    if b is not None and not t.requires_grad and m.space[b].dtype is t.dtype:
        fits.append(Line(f"{name} = {a} * 1; {name}.data = {b} * 2", (name,), (a, b)))
    return m.draw.choice(fits)


def _random(m: Maker) -> Line | None:
    a, name = m.any(), m.name()
    sizes = tuple(m.space[a].shape)
    fits = [f"opweave.rand({sizes})", f"{a} + opweave.randint(0, 3, {sizes})"]
    if m.space[a].is_floating_point():
        fits += [f"opweave.rand_like({a})", f"opweave.nn.functional.dropout({a}, 0.5)"]
    if m.draw.random() < 0.2:
        return Line(f"opweave.manual_seed({m.number() + 5})", (), ())
    return Line(f"{name} = {m.draw.choice(fits)}", (name,), (a,))


def _caught(m: Maker) -> Line | None:
    a = m.any()
    return Line(f"noted.append(caught(lambda: {a}.view(7, 5)))", (), (a,))


def caught(call: Any) -> str:
    try:
        call()
    except Exception as error:
        return type(error).__name__
    return "nothing"


programs._SPACE["caught"] = caught
BREAKS = (_values,) * 5 + (_branch,) * 4 + (_number,) * 2 + (_sizes,) * 2 + (_arrays,) + (_random,) * 2 + (_caught,)


def make(seed: int) -> Program:
    """The program of a seed."""
    before = programs.STEPS
    programs.STEPS = before + BREAKS * 2
    try:
        return Maker(seed).make()
    finally:
        programs.STEPS = before


def observe(run: Any, inputs: Any, seed: int) -> Seen:
    """`mutation_programs.observe`, with what was noted and the state of the generator."""
    noted.clear()
    opweave.manual_seed(seed)
    seen = programs.observe(run, inputs, seed)
    for i, value in enumerate(noted):
        value = value.detach().numpy().copy() if isinstance(value, Tensor) else value
        if type(value) is list and value and isinstance(value[0], Tensor):
            value = np.array([t.detach().numpy() for t in value])
        if isinstance(value, float | int | list) and type(value) is not bool:
            value = np.array(value, np.float64)
        seen.facts[f"noted {i}"] = value
    seen.facts["noted"] = len(noted)
    seen.facts["generator"] = float(opweave.rand(1))
    return seen


def attempt(program: Program, backend: str = "opweave", calls: int = 4) -> Outcome:
    """Run a program eagerly and in parts, some times on other values."""
    inputs, run = program.build()
    compiled = opweave.compile(run, backend=backend)
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        for seed in range(1, calls + 1):
            expected = observe(run, inputs, seed)
            try:
                got = observe(compiled, inputs, seed)
            except Exception as error:
                return Outcome("failed", f"compiled raises {programs.one_line(error)}")
            if (expected.error is None) != (got.error is None):
                error = expected.error or got.error
                assert error is not None
                who = "eager" if expected.error is not None else "compiled"
                if who == "compiled" and compiled.parts is None:
                    return Outcome("refused")  # by what is one graph: `mutation_programs` looks into that
                return Outcome("failed", f"only {who} raises {programs.one_line(error)}")
            if expected.error is not None:
                assert got.error is not None
                if not isinstance(got.error, type(expected.error)):
                    return Outcome("failed", f"{programs.one_line(expected.error)} / {programs.one_line(got.error)}")
                return Outcome("raises")
            if "gradients" in got.facts and "gradients" not in expected.facts and compiled.parts is None:
                return Outcome("refused")
            found = programs.difference(expected, got)
            if found is not None:
                return Outcome("failed", f"call {seed}: {found}")
    return Outcome("parts" if compiled.parts is not None else "whole")


def failure(seed: int) -> tuple[Outcome, str]:
    """What became of the program of a seed; its text, made short, where it failed."""
    program = make(seed)
    backend = "eager" if seed % 2 else "opweave"
    outcome = attempt(program, backend)
    if outcome.kind != "failed":
        return outcome, ""
    program = programs.minimised(program, lambda p: attempt(p, backend).kind == "failed")
    return outcome, f"# seed {seed}, {backend}: {attempt(program, backend).why}\n{program}"


def main() -> int:
    """Search, and print totals and failures."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=float("inf"))
    options = parser.parse_args()
    kinds: collections.Counter[str] = collections.Counter()
    start = time.monotonic()
    for seed in range(options.seed, options.seed + options.count):
        outcome, text = failure(seed)
        kinds[outcome.kind] += 1
        if text:
            print(text, flush=True)
        if time.monotonic() - start > options.seconds:
            break
    print(dict(kinds))
    return int(kinds["failed"] > 0)


if __name__ == "__main__":
    sys.exit(main())

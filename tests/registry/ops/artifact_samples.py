"""Samples of ops as artifacts: each call, exported and compiled, gives what eager code gives, or is refused.

python tests/registry/ops/artifact_samples.py --first 0 --count 150
"""

from __future__ import annotations

import argparse
import collections
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from op_matrix import Outcome, calls_of, cases, copied, dtypes_of, eagerly
from op_samples import as_list, replace_tensors

import opweave
from opweave.artifact import _Maker
from opweave.codegen.native.llvm import host
from opweave.registry import dtypes
from opweave.registry.errors import OpweaveError, UnsupportedError
from opweave.registry.op import OpOverload
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor

#: Calls of each op.
MOST = 5


@dataclass
class Found:
    """How many calls there were of each sort, and what was wrong."""

    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    wrong: list[str] = field(default_factory=list)


@dataclass
class Case:
    """A call as a function of its tensors, and what eager code gives."""

    label: str
    run: Callable[..., Any]
    tensors: list[Tensor]
    expected: list[Tensor]


def ops() -> list[OpOverload]:
    """Those whose results follow from their arguments."""
    random = (Tag.inplace_view, Tag.nondeterministic_seeded)
    return [op for op in cases() if not any(tag in op.tags for tag in random)]


def calls(op: OpOverload) -> Iterator[Case]:
    """The calls of an op that an artifact may make."""
    known = dtypes_of(op)
    dtype = next((d for d in (dtypes.float32, dtypes.int64) if d in known), known[0])
    tried = [(note, call, eagerly(op, call)) for note, call in calls_of(op, dtype)]
    accepted = [(note, call, outcome) for note, call, outcome in tried if isinstance(outcome, Outcome)]
    for note, (args, kwargs), outcome in accepted[:MOST]:
        tensors: list[Tensor] = []
        replace_tensors((args, kwargs), lambda t, tensors=tensors: tensors.append(t) or t)
        expected = [t for t in as_list(outcome.result) if isinstance(t, Tensor)]
        if not expected or any(t.dtype.is_complex for t in (*tensors, *expected)):
            continue

        def run(*given: Tensor, args: Any = args, kwargs: Any = kwargs) -> list[Tensor]:
            rest = iter(given)
            own, named = replace_tensors((args, kwargs), lambda _: next(rest))
            return [t for t in as_list(op(*own, **named)) if isinstance(t, Tensor)]

        yield Case(f"{op} {dtype} {note}", run, [copied(((t,), {}))[0][0] for t in tensors], expected)


def check(chosen: Sequence[OpOverload]) -> Found:
    """Compile all calls of some ops into one artifact, and make them."""
    found, programs, known = Found(), dict[str, Any](), dict[str, Case]()
    with tempfile.TemporaryDirectory() as folder:
        for case in (case for op in chosen for case in calls(op)):
            name = f"call_{len(known)}"
            try:
                with opweave.no_grad():
                    program = opweave.export.export(case.run, tuple(copied(((t,), {}))[0][0] for t in case.tensors))
                _Maker(name, host(), by_blas=False).make({name: program})  # all but the object file
            except OpweaveError as error:
                kind = "refused" if isinstance(error, UnsupportedError) else "not exported"
                found.counts[kind] += 1
                continue
            programs[name], known[name] = program, case
        if not programs:
            return found
        opweave.export.compile(programs, Path(folder, "all.so"), name="samples")
        model = opweave.load_compiled(Path(folder, "all.so"))
        for name, case in known.items():
            try:
                given = as_list(model.entries[name](*case.tensors))
            except OpweaveError as error:
                found.wrong.append(f"{case.label}: {error}")
                continue
            same = all(map(_equal, given, case.expected)) and len(given) == len(case.expected)
            found.counts["equal"] += same
            if not same:
                found.wrong.append(f"{case.label}: {given}, expected {case.expected}")
    return found


def _equal(one: Tensor, other: Tensor) -> bool:
    if one.shape != other.shape or one.dtype is not other.dtype:
        return False
    a, b = (t.to(dtypes.float64).numpy() for t in (one, other))
    return np.allclose(a, b, rtol=1e-3, atol=1e-4, equal_nan=True)  # sums in another order


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", type=int, default=0)
    parser.add_argument("--count", type=int, default=10_000)
    options = parser.parse_args()
    everything = ops()[options.first : options.first + options.count]
    total = Found()
    for start in range(0, len(everything), 50):
        part = check(everything[start : start + 50])
        total.counts += part.counts
        total.wrong += part.wrong
    print(f"{len(everything)} ops: {dict(total.counts)}, {len(total.wrong)} wrong")
    print("\n".join(total.wrong))
    raise SystemExit(bool(total.wrong))

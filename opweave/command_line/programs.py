"""`opweave show`: an exported program, as its file has it. Nothing of it runs."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator
from typing import Any

from opweave.export import ExportedProgram, InputKind, load
from opweave.registry.triton_op import kernels, name_of
from opweave.reporting.text import size
from opweave.tracer.drawing import type_of
from opweave.tracer.printing import target_text


def run(given: argparse.Namespace) -> int:
    """Run the command."""
    program = load(given.file)
    print("\n".join(lines(program)))
    if given.graph:
        print(f"\n{program.graph_module.code}")
    if given.draw:
        program.graph.draw(given.draw)
        print(f"\n{given.draw}")
    return 0


def lines(program: ExportedProgram) -> Iterator[str]:
    """What there is to say of a program."""
    nodes = {node.name: node for node in program.graph.nodes}
    yield f"{program.name}: {len(nodes)} nodes, exported under {program.default_dtype.name}"
    yield from _section("inputs", [
        f"{spec.path or spec.arg.name}: {type_of(nodes[spec.arg.name])}"
        for spec in program.graph_signature.input_specs
        if spec.kind is InputKind.USER_INPUT and spec.arg.name in nodes
    ])  # fmt: skip
    outputs: Any = program.graph.outputs
    yield from _section("outputs", [type_of(value) if hasattr(value, "meta") else repr(value) for value in outputs])
    yield from _section("sizes", [
        f"{symbol}: {low} to {'any' if high is None else high}"
        for symbol, (low, high) in program.range_constraints.items()
    ])  # fmt: skip
    calls = Counter(target_text(node.target) for node in program._all_nodes() if node.op == "call_function")
    yield from _section("ops", [f"{count:4} {name}" for name, count in calls.most_common()])
    launched = [
        name_of(kernels[node.kwargs["kernel_idx"]]) for node in program._all_nodes() if "kernel_idx" in node.kwargs
    ]
    yield from _section("kernels", [f"{count:4} {name}" for name, count in Counter(launched).most_common()])
    tensors = program.tensors
    total = sum(t.numel() * t._dtype.itemsize for t in tensors.values())
    yield from _section(f"tensors, {size(total)}", [
        f"{name}: {t._dtype.short}[{', '.join(map(str, t._sizes))}]" for name, t in tensors.items()
    ])  # fmt: skip


def _section(title: str, rows: list[str]) -> Iterator[str]:
    if rows:
        yield title
        yield from (f"  {row}" for row in rows)

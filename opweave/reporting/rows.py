"""Rows of a report made of graphs and host programs: nodes, stages, steps, memory, lines."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from opweave.codegen.host import steps as host
from opweave.codegen.host.operands import Local, TensorType
from opweave.codegen.host.spec import _read
from opweave.codegen.host.steps import Program, Step
from opweave.codegen.host.text import describe
from opweave.codegen.kernel import KernelSource
from opweave.passes.regions import Decision
from opweave.registry.nested import leaves
from opweave.registry.tensor import Tensor
from opweave.reporting.launches import is_launch
from opweave.reporting.machine import bandwidth_at
from opweave.reporting.measuring import Measured
from opweave.reporting.model import BufferRow, LineRow, MachineRow, NodeRow, ProgramRow, Stage, StepRow
from opweave.reporting.sources import Sites
from opweave.tracer.drawing import kind_of, label_of, type_of
from opweave.tracer.graph import Graph
from opweave.tracer.loops.iteration import reads_memory
from opweave.tracer.node import Node
from opweave.tracer.printing import is_graph, node_line

_KERNEL = re.compile(r"kernel (\d+)")
#: How steps are called in a report.
KINDS: dict[type[Step], str] = {
    host.Launch: "kernel", host.Group: "kernel", host.Product: "product", host.Convolve: "convolve",
    host.Call: "call", host.NativeCall: "call", host.Tuned: "tuned", host.Copy: "copying", host.Align: "copying",
    host.Alloc: "memory", host.Free: "memory", host.View: "view", host.Move: "view", host.Return: "return",
}  # fmt: skip
#: Flops from which a rate says something.
_MANY = 1 << 20
#: Of these it is known what they write.
_COMPARED = (host.Launch, host.Group, host.Product, host.Convolve)
#: What fusion says of what is no part of a kernel, or of fewer than there could be.
_APART = ("apart", "extern", "launch")
WORKING = ("kernel", "product", "convolve", "call", "tuned", "copying")


# ---- stages ----------------------------------------------------------------------------------------------------------


class Stages:
    """The graphs that passes leave, as rows; those of passes that changed nothing are left out."""

    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self.found: list[Stage] = []
        self._texts: dict[str, str] = {}

    def add(self, name: str, graph: Graph, seconds: float) -> None:
        """Note a graph."""
        nodes = [self._row(node) for node in graph.nodes]
        texts = {row.name: "\n".join([row.text, *(inner.text for inner in row.inner)]) for row in nodes}
        before = self._texts
        added = [key for key in texts if key not in before]
        gone = {key: text for key, text in before.items() if key not in texts}
        changed = [key for key, text in texts.items() if key in before and before[key] != text]
        if self.found and not (added or gone or changed):
            return
        first = not self.found
        self.found.append(
            Stage(name, seconds * 1e3, nodes, [] if first else added, [*gone], [] if first else changed, gone)
        )
        self._texts = texts

    def _row(self, node: Node) -> NodeRow:
        inner: list[NodeRow] = []
        sites = self.sites.of(node)
        if is_graph(node.target):
            inner = [self._row(part) for part in node.target.nodes]
            # A kernel's node knows one line; what it computes knows the calls that led there.
            sites = next((row.sites for row in reversed(inner) if row.sites and row.kind == "op"), sites)
        inputs = [source.name for source in node.all_input_nodes]
        return NodeRow(node.name, kind_of(node), label_of(node), type_of(node), node_line(node), inputs, sites, inner)


# ---- steps -----------------------------------------------------------------------------------------------------------


def steps(
    program: Program,
    graph: Graph,
    decisions: Sequence[Decision],
    sites: Sites,
    found: Measured | None,
    machine: MachineRow | None,
) -> list[StepRow]:
    """What happens on the host, in order; with times where it was measured."""
    reasons = _reasons(decisions)
    made: list[StepRow] = []
    for number, step in enumerate(program.steps):
        node = graph.named(step.origin.name)
        row = StepRow(number, KINDS.get(type(step), "other"), _label(step, node), describe(step), step.origin.name)
        row.kernel = _kernel_of(step)
        if is_launch(node) and isinstance(step, host.Call):
            row.kind, row.kernel = "kernel", row.label
        row.product = step.out.name if isinstance(step, host.Product) else ""
        row.detail = _detail(step, node)
        if row.kind in WORKING:
            nodes = nodes_of(step, graph)
            row.reason = "; ".join(dict.fromkeys(why for each in nodes for why in _why(each, reasons)))
            row.ops = [label_of(part) for each in nodes for part in parts_of(each)]
            row.sites = list(dict.fromkeys(number for each in nodes for number in _sites_of(each, sites)))
            row.reads = list(dict.fromkeys(str(local) for local in _read(step) if _is_tensor(local)))
            row.writes = list(dict.fromkeys(str(local) for local in step.writes if _is_tensor(local)))
            _count(row, step, node, number, found)
        if found is not None:
            row.seconds = found.seconds[number]
            row.start, row.took = found.timeline[number]
            if machine is not None:
                _compare(row, step, machine)
        made.append(row)
    return made


def nodes_of(step: Step, graph: Graph) -> list[Node]:
    """The nodes of the fused graph that a step is for: of a product with a kernel behind it, both."""
    names = [step.origin.name]
    if isinstance(step, host.Product):
        names.insert(0, step.out.name)
    return [node for node in map(graph.named, dict.fromkeys(names)) if node is not None]


def parts_of(node: Node) -> list[Node]:
    """What a node computes: the ops of a kernel, or the one that it is."""
    if is_graph(node.target):
        return [part for part in node.target.nodes if kind_of(part) in ("op", "kernel")]
    return [node] if node.op == "call_function" else []


def _is_tensor(local: Local) -> bool:
    return isinstance(local.type, TensorType)


def _label(step: Step, node: Node | None) -> str:
    if isinstance(step, host.Product):
        return f"{step.a} @ {step.b}"
    if isinstance(step, host.Convolve):
        return f"{step.form} of {step.a}, {step.b}"
    if isinstance(step, host.Call):
        return str(step.target) if node is None or node.op != "call_function" else label_of(node)
    if isinstance(step, host.NativeCall):
        return step.label
    return _kernel_of(step) or type(step).__name__.lower()


def _detail(step: Step, node: Node | None) -> str:
    if isinstance(step, (host.Product, host.Convolve)):
        kernel = _kernel_of(step)
        return f"{step.a.type} and {step.b.type} to {step.out.type}" + (f", then {kernel}" if kernel else "")
    made = "" if node is None or not isinstance(step, (host.Call, host.NativeCall)) else type_of(node)
    return "" if made == "()" else made


def _kernel_of(step: Step) -> str:
    if isinstance(step, host.Product) and step.epilogue is not None:
        step = step.epilogue.launch
    kernel = getattr(step, "kernel", None)
    return kernel.name if isinstance(kernel, KernelSource) else ""


def _reasons(decisions: Sequence[Decision]) -> dict[str, list[Decision]]:
    found: dict[str, list[Decision]] = {}
    for decision in decisions:
        kernel = _KERNEL.fullmatch(decision.verdict)
        found.setdefault(f"kernel_{kernel[1]}" if kernel else decision.at, []).append(decision)
        if decision.node.startswith("launch of "):
            found.setdefault(decision.node, []).append(decision)
    return found


def _why(node: Node, reasons: Mapping[str, list[Decision]]) -> Iterable[str]:
    """Why a step is one of its own: said of the node, or of what is in its kernel."""
    # A launch that writes in place is another node than the one that fusion saw.
    said = reasons.get(f"launch of {label_of(node)}", ()) if is_launch(node) else ()
    for decision in (*reasons.get(node.name, ()), *said):
        if decision.verdict in _APART:
            yield decision.reason
    if is_graph(node.target):
        for part in node.target.nodes:
            for decision in reasons.get(part.name, ()) if part.op == "call_function" else ():
                if decision.verdict in _APART:
                    yield f"{decision.node} is not in one kernel with what reads it: {decision.reason}"


def _sites_of(node: Node, sites: Sites) -> list[int]:
    return [number for part in parts_of(node) for number in sites.of(part)[:1]] or sites.of(node)[:1]


def _count(row: StepRow, step: Step, node: Node | None, number: int, found: Measured | None) -> None:
    """Bytes and flops."""
    seen = {} if found is None or number >= len(found.tensors) else found.tensors[number]

    def sizes(local: Local) -> tuple[int, ...] | None:
        if local.name in seen:
            return seen[local.name].sizes
        known = local.tensor.sizes
        return known if all(type(n) is int for n in known) else None

    def nbytes(local: Local) -> int:
        if local.name in seen:
            return seen[local.name].nbytes
        known, steps = sizes(local), local.tensor.strides
        if known is None or 0 in known:
            return 0
        live = [n for n, step in zip(known, steps, strict=True) if type(step) is not int or step]
        return math.prod(live) * local.tensor.dtype.itemsize

    looked_up = _looked_up(node)
    reads = {local.name: local for local in _read(step) if _is_tensor(local)}
    row.read = sum(min(nbytes(local), looked_up.get(name, 1 << 62)) for name, local in reads.items())
    row.written = sum(nbytes(local) for local in {o.name: o for o in step.writes if _is_tensor(o)}.values())
    if isinstance(step, host.Call) and node is not None:
        made = [value for value in leaves(node.meta.get("val")) if isinstance(value, Tensor)]
        row.written = sum(
            math.prod(value._sizes) * value._dtype.itemsize
            for value in made
            if all(type(n) is int for n in value._sizes)
        )
    if isinstance(step, host.Product):
        out, a = sizes(step.out), sizes(step.a)
        row.flops = 2 * math.prod(out) * a[-1] if out is not None and a is not None else 0
    elif isinstance(step, host.Convolve):
        shapes = [sizes(local) for local in (step.out, step.a, step.b)]
        if all(shape is not None for shape in shapes):
            row.flops = _convolution_flops(step.form, *shapes)


def _looked_up(node: Node | None) -> dict[str, int]:
    """Of what a kernel reads at places that it is told the bytes that it can read at most."""
    if node is None or not is_graph(node.target):
        return {}
    region: Graph = node.target
    names = [source.name for source in node.args if isinstance(source, Node)]
    found: dict[str, int] = {}
    for inner, name in zip(region.placeholders(), names, strict=False):
        users = [user for user in inner.users if user.op == "call_function"]
        if users and all(reads_memory(user, inner) for user in users):
            values = [user.meta["val"] for user in users]
            if all(type(n) is int for value in values for n in value._sizes):
                found[name] = sum(math.prod(value._sizes) * value._dtype.itemsize for value in values)
    return found


def _convolution_flops(form: str, out: Any, a: Any, b: Any) -> int:
    """Each element of the image of channels, by each of the weights that reach it: the same for all three forms."""
    image, weight = {"forward": (out, b), "weight": (a, out)}.get(form, (a, b))
    return 2 * math.prod(image) * math.prod(weight[1:]) if len(weight) > 1 else 0


def _compare(row: StepRow, step: Step, machine: MachineRow) -> None:
    """Beside what the machine could do."""
    moved = row.read + row.written
    if not isinstance(step, _COMPARED) or not row.seconds or not moved:
        return
    # What is smaller takes as long as its launch, on any machine.
    least = {"memory": moved / bandwidth_at(machine, moved)} if moved >= machine.bandwidth[0][0] else {}
    if row.flops >= _MANY:
        out = next(iter(step.writes))
        rate = machine.flops.get(out.tensor.dtype.name) or max(machine.flops.values())
        least["arithmetic"] = row.flops / rate
    if not least:
        return
    row.bound = max(least, key=lambda key: least[key])
    row.share = least[row.bound] / row.seconds


# ---- memory ----------------------------------------------------------------------------------------------------------


def buffers(program: Program, found: Measured | None) -> list[BufferRow]:
    """Tensors that have memory of their own, and the steps between which it is needed."""
    last = len(program.steps) - 1
    rows: dict[Local, BufferRow] = {}
    root: dict[Local, Local] = {}

    def add(local: Local, kind: str, number: int) -> None:
        if _is_tensor(local):
            rows[local] = BufferRow(local.name, str(local.type), kind, _bytes_of(local, number, found), number, number)

    for local in program.inputs:
        add(local, "input", 0)
    for number, step in enumerate(program.steps):
        if isinstance(step, host.Alloc):
            add(step.result, "own", number)
        elif isinstance(step, host.Constant):
            add(step.result, "constant", number)
        elif isinstance(step, (host.View, host.Move, host.Align)):
            base = step.base if isinstance(step, host.View) else step.of
            root[step.result] = root.get(base, base)
        elif isinstance(step, (host.Call, host.Item)):
            add(step.result, "of a call", number)
        if isinstance(step, host.Free):
            continue
        for local in step.uses:
            row = rows.get(root.get(local, local))
            if row is not None:
                row.last = number
                if isinstance(step, host.Return):
                    row.kind = "result" if row.kind == "own" else row.kind
    for row in rows.values():
        if row.kind in ("input", "constant"):
            row.first, row.last = 0, last
    return [*rows.values()]


def _bytes_of(local: Local, number: int, found: Measured | None) -> int:
    seen = {} if found is None or number >= len(found.tensors) else found.tensors[number]
    if local.name in seen:
        return seen[local.name].whole
    known = local.tensor.sizes
    return math.prod(known) * local.tensor.dtype.itemsize if all(type(n) is int for n in known) else 0


# ---- lines -----------------------------------------------------------------------------------------------------------


def lines(row: ProgramRow, graph: Graph, decisions: Sequence[Decision], sites: Sites) -> list[LineRow]:
    """By the user's line what came of it. The time of a kernel is shared evenly by the ops in it.

    A product has what the kernel behind it does not take.
    """
    made: dict[int, LineRow] = {}

    def line(site: int) -> LineRow:
        return made.setdefault(site, LineRow(site, 0.0, 0.0, [], [], []))

    for node in row.stages[0].nodes:
        if node.kind == "op" and node.sites:
            line(node.sites[0]).ops.append(node.label)
    for step in row.steps:
        if step.kind not in WORKING:
            continue
        for part, share in _shares(row, step, graph):
            where = sites.of(part)
            for site in where:
                line(site).total += share
            if where:
                line(where[0]).seconds += share
                if step.index not in line(where[0]).steps:
                    line(where[0]).steps.append(step.index)
    for decision in decisions:
        number = sites.number(decision.site)
        if number >= 0 and decision.verdict in (*_APART, "lifted"):
            reason = f"{decision.node}: {decision.reason}"
            if reason not in line(number).reasons:
                line(number).reasons.append(reason)
    return sorted(made.values(), key=lambda found: found.site)


def _shares(row: ProgramRow, step: StepRow, graph: Graph) -> Iterable[tuple[Node, float]]:
    """The nodes that a step computes, and what each takes of its time."""
    own = graph.named(step.node)
    whole, node = step.seconds or 0.0, graph.named(step.product) if step.product else None
    if node is not None and node is not own:
        kernel = next((k for k in row.kernels if k.name == step.kernel and k.seconds and k.launches), None)
        behind = 0.0 if kernel is None else min((kernel.seconds or 0.0) / (kernel.launches or 1.0), whole)
        yield node, whole - behind
        whole = behind
    parts = [] if own is None else parts_of(own)
    for part in parts:
        yield part, whole / len(parts)

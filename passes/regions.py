"""Regions of a fused graph: nodes as a graph of their own, and what is said of why they are together, or apart."""

from __future__ import annotations

import heapq
import operator
from collections.abc import Iterable, Mapping, Sequence

from opweave.registry.dataclass import dataclass
from opweave.registry.errors import Site
from opweave.registry.triton_op import kernels, name_of, triton_kernel_wrapper_functional
from opweave.tracer.declared import kind_of
from opweave.tracer.graph import Graph, Node
from opweave.tracer.launches import Tuning, is_empty, take_apart


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a node, for `OPWEAVE_LOGS=fusion`.

    Attributes
    ----------
    node : str
        The op, or `fused: ` and the ops of a kernel.
    verdict : str
        `"kernel 0"`, `"extern"`, `"view"` or `"apart"` (fusible, but not with its user); of a launch of a user's kernel
        `"lifted"` (it is a pointwise op) or `"launch"` (it is none).
    reason : str
        Why, or what the kernel reads and writes.
    site : Site or None
        The user's line.
    at : str
        Name of the node in the graph that it is about; `kernel_0` of a kernel.
    """

    node: str
    verdict: str
    reason: str
    site: Site | None
    at: str = ""

    def __str__(self) -> str:
        place = f"; {self.site.short}" if self.site is not None else ""
        return f"{self.verdict:<8}  {self.node:<38}  {self.reason}{place}"


def label(node: Node) -> str:
    if node.target is triton_kernel_wrapper_functional:
        return f"launch of {name_of(kernels[node.kwargs['kernel_idx']])}"
    return str(node.target).removesuffix(".default") if node.op == "call_function" else node.name


def region_of(
    order: Mapping[Node, int], chosen: Sequence[Node], stored: Sequence[Node]
) -> tuple[Graph, list[Node], list[Node]]:
    """Nodes as a graph of their own, its inputs and its results, each in program order."""
    members = sorted(set(chosen), key=order.__getitem__)
    inside = set(members)
    inputs = list(dict.fromkeys(o for node in members for o in node.all_input_nodes if o not in inside))
    results = sorted(stored, key=order.__getitem__)
    region = Graph()
    mapping: dict[Node, Node] = {}
    for node in inputs:
        mapping[node] = region.placeholder(node.name)
        mapping[node].meta.update({key: node.meta[key] for key in ("val", "site") if key in node.meta})
    for node in members:
        mapping[node] = region.node_copy(node, mapping.__getitem__)
    output = region.output(tuple(mapping[n] for n in results))
    output.meta["val"] = tuple(n.meta["val"] for n in results)
    return region, inputs, results


def kahn(waiting: dict[int, int], users: dict[int, list[int]], position: list[int]) -> list[int]:
    ready = [(position[i], i) for i, count in waiting.items() if not count]
    heapq.heapify(ready)
    result: list[int] = []
    while ready:
        _, i = heapq.heappop(ready)
        result.append(i)
        for user in users[i]:
            waiting[user] -= 1
            if not waiting[user]:
                heapq.heappush(ready, (position[user], user))
    assert len(result) == len(position), "fusion made a cycle"
    return result


def _ops(nodes: Iterable[Node]) -> list[str]:
    """What nodes compute, each op once."""
    calls = [n for n in nodes if n.op == "call_function" and n.target is not operator.getitem and not is_empty(n)]
    kinds = {n: kind_of(n) for n in calls}
    return list(dict.fromkeys(_name(n) for n, kind in kinds.items() if kind is None or not kind.is_layout))


def _name(node: Node) -> str:
    if node.target is triton_kernel_wrapper_functional:
        return name_of(kernels[node.kwargs["kernel_idx"]])
    return str(node.meta.get("origin") or node.target.opname)


def _tuned(tuning: Tuning) -> str:
    """What is tuned, and with what."""
    labels = tuning.labels
    text = f"tuned when it runs: unfused, or one of {len(tuning.numbers)} of {len(labels)} configurations"
    refused: dict[str, list[str]] = {}
    for number, reason in tuning.refused:
        refused.setdefault(reason, []).append(labels[number])
    return ", ".join([text, *(f"not {' or '.join(names)} ({reason})" for reason, names in refused.items())])


def describe(number: int, region: Graph, inputs: list[Node], results: list[Node]) -> Decision:
    names = _ops(region)
    sites = list(dict.fromkeys(n.meta["site"].short for n in region.nodes if n.meta.get("site") is not None))
    where = ", ".join(sites[:3]) + (", ..." if len(sites) > 3 else "")
    text = f"reads {len(inputs)} buffer{'s' * (len(inputs) != 1)}, writes {len(results)}"
    launch = take_apart(region)
    if launch is not None:
        sides = [(f"before {name}", [part]) for name, part in launch.before.items()]
        sides += [(f"after {name}", parts) for name, parts in launch.after.items()]
        taken = [f"{side} {', '.join(_ops(n for part in parts for n in part.graph))}" for side, parts in sides]
        taken += [f"{name} is read in one place and written in another" for name in sorted(launch.apart)]
        if launch.tuning is not None:
            taken.append(_tuned(launch.tuning))
        text = "; ".join([f"launch of {_name(launch.node)}", *taken, text])
    return Decision(f"fused: {', '.join(names)}", f"kernel {number}", text + (f"; {where}" if where else ""), None)

"""Graphs as pictures, and as plain networkx graphs that other libraries can write."""

from __future__ import annotations

import itertools
import operator
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from opweave.registry.errors import ArgumentError
from opweave.registry.op import OpOverload
from opweave.registry.triton_op import kernels, name_of
from opweave.tracer.layout import Box, Layout, layered
from opweave.tracer.networks import load_networkx
from opweave.tracer.node import Node
from opweave.tracer.printing import is_graph, node_line, path_text, target_text, type_text

#: Pixels of a character and of a line of text.
_CHARACTER, _LINE = 6.7, 15.0
_LONGEST = 44
#: Ops of a fused kernel that are named in its box.
_NAMED = 8
#: Nodes up to which a notebook shows a picture beside the text.
_PICTURED = 150

_STYLE = """\
text{font:11px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#1f2328}
.t{fill:#656d76}
rect{stroke:#8c959f;fill:#fff;rx:4}
.input rect{fill:#ddf4ff;stroke:#54aeff}.constant rect{fill:#fff8c5;stroke:#d4a72c}
.kernel rect{fill:#dafbe1;stroke:#4ac26b}.output rect{fill:#eaeef2}
path{fill:none;stroke:#8c959f;marker-end:url(#a)}"""

_CLASSES = {"placeholder": "input", "get_attr": "constant", "output": "output"}


def kind_of(node: Node) -> str:
    """What sort of box a node is drawn as: `input`, `constant`, `output`, `kernel`, `item` or `op`."""
    if node.op == "call_function":
        if is_graph(node.target):
            return "kernel"
        return "item" if node.target is operator.getitem else "op"
    return _CLASSES[node.op]


def label_of(node: Node) -> str:
    """What a node does, in a word."""
    if node.op != "call_function":
        return node.name if node.op != "output" else node.op
    if isinstance(node.target, OpOverload):
        name = node.target.opname
        return name if node.target.namespace == "aten" else f"{node.target.namespace}.{name}"
    if "kernel_idx" in node.kwargs:  # a launch
        return name_of(kernels[node.kwargs["kernel_idx"]])
    return node.name if is_graph(node.target) else target_text(node.target).removeprefix("functions.")


def type_of(node: Node) -> str:
    """The type of a node's value as it is printed; empty where it has none."""
    value = node.meta.get("val")
    return "" if value is None else type_text(value)


def ops_in(region: Any) -> list[str]:
    """What a fused kernel computes, an op after the other."""
    return [label_of(node) for node in region.nodes if kind_of(node) in ("op", "kernel")]


def lines_of(node: Node) -> list[str]:
    """The lines of a node's box, the last of them its type."""
    lines = [label_of(node)]
    if is_graph(node.target):
        names = ops_in(node.target)
        lines += names[:_NAMED] + ([f"… {len(names) - _NAMED} more"] if len(names) > _NAMED else [])
    lines.append(type_of(node))
    return [line if len(line) <= _LONGEST else line[: _LONGEST - 1] + "…" for line in lines]


def to_networkx(graph: Any) -> Any:
    """A copy that holds text alone; see `Graph.to_networkx`."""
    plain = load_networkx().MultiDiGraph(name=str(graph.name or "graph"))
    for node in graph.nodes:
        site = node.meta.get("site")
        plain.add_node(
            node.name, op=node.op, kind=kind_of(node), label=label_of(node), type=type_of(node),
            text=node_line(node), site=str(site) if site is not None else "",
        )  # fmt: skip
    for source, user, path in graph.edges(keys=True):
        plain.add_edge(source.name, user.name, key=path_text(path), operand=path_text(path))
    return plain


def draw(graph: Any, path: str | Path | None = None) -> str:
    """A graph as SVG; see `Graph.draw`."""
    if path is not None and Path(path).suffix.lower() != ".svg":
        raise ArgumentError(
            "draw: a graph is drawn as SVG", got=f"path={str(path)!r}",
            hint="name a file that ends in .svg; for other forms networkx writes graph.to_networkx()",
        )  # fmt: skip
    text = _svg(graph)
    if path is not None:
        Path(path).write_text(text, encoding="utf-8")
    return text


def _svg(graph: Any) -> str:
    nodes: Sequence[Node] = [*graph.nodes]
    lines = {node: lines_of(node) for node in nodes}
    sizes = {
        node: (max(len(line) for line in text) * _CHARACTER + 16, len(text) * _LINE + 8) for node, text in lines.items()
    }
    layout = layered(graph, sizes)
    parts = [_edge(layout, a, b) for a, b in dict.fromkeys(graph.edges())]
    parts += [_box(node, layout.boxes[node], lines[node]) for node in nodes]
    width, height = round(layout.width), round(layout.height)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}">'
        f"<style>{_STYLE}</style><defs><marker id='a' viewBox='0 0 8 8' refX='7' refY='4' markerWidth='7' "
        "markerHeight='7' orient='auto'><path d='M0 0L8 4L0 8z' style='fill:#8c959f;stroke:none;marker-end:none'/>"
        f"</marker></defs>\n{chr(10).join(parts)}\n</svg>\n"
    )


def _edge(layout: Layout, a: Node, b: Node) -> str:
    start, end = layout.boxes[a], layout.boxes[b]
    points = [
        (start.x, start.y + start.height / 2), *layout.bends.get((a, b), ()), (end.x, end.y - end.height / 2),
    ]  # fmt: skip
    text = f"M{points[0][0]:.0f} {points[0][1]:.0f}"
    for (x0, y0), (x1, y1) in itertools.pairwise(points):
        middle = (y0 + y1) / 2
        text += f"C{x0:.0f} {middle:.0f} {x1:.0f} {middle:.0f} {x1:.0f} {y1:.0f}"
    return f'<path d="{text}"/>'


def _box(node: Node, box: Box, lines: Sequence[str]) -> str:
    left, top = box.x - box.width / 2, box.y - box.height / 2
    texts = "".join(
        f'<text x="{left + 8:.0f}" y="{top + 15 + at * _LINE:.0f}"{" class=" + chr(34) + "t" + chr(34) if at else ""}>'
        f"{_xml(line)}</text>"
        for at, line in enumerate(lines)
    )
    rect = f'<rect x="{left:.0f}" y="{top:.0f}" width="{box.width:.0f}" height="{box.height:.0f}"/>'
    return f'<g class="{kind_of(node)}"><title>{_xml(node_line(node))}</title>{rect}{texts}</g>'


def _xml(text: str) -> str:
    """Text that may stand in XML: what it has no form for is shown as a question mark."""
    return escape("".join(c if c >= " " or c in "\t\n" else "?" for c in text).encode("utf-8", "replace").decode())


def html(graph: Any) -> str:
    """A graph for a notebook: its text, and a picture unless it is large."""
    calls = sum(node.op == "call_function" for node in graph.nodes)
    text = f"<pre style='font-size:12px;overflow:auto;max-height:28em'>{_xml(str(graph))}</pre>"
    head = f"<b>Graph</b>: {len(graph)} nodes, {calls} calls"
    picture = f"<div style='overflow:auto;max-height:40em'>{_svg(graph)}</div>" if len(graph) <= _PICTURED else ""
    parts = [f"<details open><summary>text</summary>{text}</details>"]
    if picture:
        parts.append(f"<details><summary>picture</summary>{picture}</details>")
    return f"<div>{head}{''.join(parts)}</div>"

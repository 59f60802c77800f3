"""Regions with a launch of a user's kernel in them, taken apart.

    def kernel_0(x, w):
        mul = ops.aten.mul.Tensor(x, x)                                    before: what the kernel loads as `x_ptr`
        out = ops.aten.empty_strided.default(...)                          memory that it fills
        launch = triton_kernel_wrapper_functional(kernel_idx=0, ..., kwargs={'x_ptr': mul, 'out_ptr': out, 'n': 4096})
        item = launch['out_ptr']
        sqrt = ops.aten.sqrt.default(item)                                 after: what is done with what it stores
        return (sqrt,)

The fusion pass makes them, codegen turns each into one kernel.
"""

from __future__ import annotations

import operator
from collections.abc import Iterable, Sequence

from opweave.registry.dataclass import dataclass
from opweave.registry.op import ops
from opweave.registry.triton_op import triton_kernel_wrapper_functional
from opweave.tracer.graph import Graph, Node

ELEMENTS = {
    "float16": "f16", "bfloat16": "bf16", "float32": "f32", "float64": "f64", "int8": "i8", "int16": "i16",
    "int32": "i32", "int64": "i64", "uint8": "i8",
}  # fmt: skip
"""Types as TTIR has them, which knows no signs: those whose tensors kernels load and store as they are."""


APART = "apart"
"""What the `meta` of a launch has `Launch.apart` under."""
TUNED = "tuned"
"""The same of `Launch.tuning`."""
UNFUSED = "unfused"
"""What the `graph` of a region has the graph under that does the same by a launch of its own."""


@dataclass(frozen=True)
class Tuning:
    """Which configurations of a tuned kernel a launch's region is made for.

    Attributes
    ----------
    labels : tuple of str
        What to call each of the kernel's configurations.
    numbers : tuple of int
        Those that can take in what stands around the launch.
    refused : tuple of (int, str)
        The others, and why they cannot.
    """

    labels: tuple[str, ...]
    numbers: tuple[int, ...]
    refused: tuple[tuple[int, str], ...] = ()


@dataclass(frozen=True)
class Part:
    """What is computed before or after a launch, as a graph of its own.

    Attributes
    ----------
    graph : Graph
        Its output is a tuple.
    operands : tuple of Node
        What stands for its placeholders in the region: placeholders there, and of an `after` what the kernel stored.
    results : tuple of int
        Which of the region's results its own are; none of a `before`.
    """

    graph: Graph
    operands: tuple[Node, ...]
    results: tuple[int, ...] = ()


@dataclass(frozen=True)
class Launch:
    """A region with a launch in it.

    Attributes
    ----------
    node : Node
        The launch.
    before : dict of str to Part
        By operand of the launch, what computes it.
    after : dict of str to tuple of Part
        By operand that the kernel writes, what is done with it.
    fresh : frozenset of str
        Operands whose memory nothing is in before.
    kept : dict of str to int
        Operands that are results of the region, with their place among those.
    apart : frozenset of str
        Operands that the kernel writes in place, and that may be read in one place and written in another.
    tuning : Tuning or None
        Of a kernel with several configurations.
    """

    node: Node
    before: dict[str, Part]
    after: dict[str, tuple[Part, ...]]
    fresh: frozenset[str]
    kept: dict[str, int]
    apart: frozenset[str]
    tuning: Tuning | None = None

    @property
    def written(self) -> Sequence[str]:
        """Names of the operands that the kernel writes."""
        return self.node.kwargs["tensors_to_clone"]

    @property
    def operands(self) -> dict[str, object]:
        """The operands by name."""
        return self.node.kwargs["kwargs"]

    @property
    def stored(self) -> list[str]:
        """The operands that the kernel writes and that have to be in memory."""
        return [name for name in self.written if name in self.kept or name not in self.after]


def launch_of(region: object) -> Node | None:
    """The launch in a region."""
    if not isinstance(region, Graph):
        return None
    return next((node for node in region.nodes if node.target is triton_kernel_wrapper_functional), None)


def is_empty(node: Node) -> bool:
    """Whether a call makes memory with nothing in it."""
    return node.target in (ops.aten.empty.memory_format, ops.aten.empty_strided.default)


def take_apart(region: Graph) -> Launch | None:
    """What a region's launch has around it; None for a region without a launch."""
    node = launch_of(region)
    if node is None:
        return None
    results: Sequence[Node] = region.output_node().args[0]
    operands = {name: value for name, value in node.kwargs["kwargs"].items() if isinstance(value, Node)}
    before = {
        name: _part([value], region.placeholders())
        for name, value in operands.items()
        if value.op != "placeholder" and not is_empty(value)
    }
    kept: dict[str, int] = {}
    after: dict[str, tuple[Part, ...]] = {}
    for name in node.kwargs["tensors_to_clone"]:
        items = [user for user in node.users if user.target is operator.getitem and user.args[1] == name]
        below = _reached(items)
        own = [(i, result) for i, result in enumerate(results) if result in below]
        kept.update((name, i) for i, result in own if result in items)
        done = [(i, result) for i, result in own if result not in items]
        if done:
            part = _part([result for _, result in done], [*region.placeholders(), *items])
            after[name] = (Part(part.graph, part.operands, tuple(i for i, _ in done)),)
    fresh = frozenset(name for name, value in operands.items() if is_empty(value))
    return Launch(node, before, after, fresh, kept, frozenset(node.meta.get(APART, ())), node.meta.get(TUNED))


def separated(part: Part) -> tuple[Part, ...]:
    """A part with several results as one for each."""
    nodes = part.graph.output_node().args[0]
    back = dict(zip(part.graph.placeholders(), part.operands, strict=True))
    parts = [_part([node], part.graph.placeholders()) for node in nodes]
    return tuple(
        Part(p.graph, tuple(back[o] for o in p.operands), (i,)) for p, i in zip(parts, part.results, strict=True)
    )


def _part(results: Sequence[Node], ends: Iterable[Node]) -> Part:
    """What computes nodes, from the nodes that it may not look behind."""
    stop, needed = set(ends), set[Node]()
    waiting = list(results)
    while waiting:
        node = waiting.pop()
        if node not in needed:
            needed.add(node)
            waiting += [] if node in stop else node.all_input_nodes
    order = [node for node in results[0].graph.nodes if node in needed]
    graph = Graph()
    mapping: dict[Node, Node] = {}
    operands = [node for node in order if node in stop]
    for node in operands:
        mapping[node] = graph.placeholder(node.name)
        mapping[node].meta.update({key: node.meta[key] for key in ("val", "site") if key in node.meta})
    for node in order:
        if node not in mapping:
            mapping[node] = graph.node_copy(node, mapping.__getitem__)
    output = graph.output(tuple(mapping[node] for node in results))
    output.meta["val"] = tuple(node.meta["val"] for node in results)
    return Part(graph, tuple(operands))


def _reached(nodes: Iterable[Node]) -> set[Node]:
    """Nodes and all that is computed from them."""
    found: set[Node] = set()
    waiting = list(nodes)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += node.users
    return found

"""opweave from scratch, with nothing but NumPy: what an op is, and how calls of ops become one kernel.

Read from top to bottom; each section needs only those above it and names the folder in which the real thing stands.

    eager call ──► dispatch ──► kernel
    compile(fn) ──► trace (ops of one call, over fake tensors) ──► graph ──► fuse ──► Triton

`python examples/weave.py` takes the model at the end through every stage. NumPy runs the Triton text here; a GPU or
opweave's CPU backend runs it as it is. All tensors are contiguous float32: layouts and types add cases, not ideas.
"""

from __future__ import annotations

import ast
import inspect
import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import cache
from graphlib import CycleError, TopologicalSorter
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np

Shape = tuple[int, ...]

# --- 1. Tensors, and the keys by which a call finds its kernel (registry/)


class Key(IntEnum):
    """What a call is about. A call has several keys; the highest for which there is a kernel decides."""

    CPU = 0  # there are numbers: compute
    FAKE = 1  # there are sizes alone: say what would come out
    TRACE = 2  # a trace is running: write the call down and go on below
    COMPOSITE = 3  # the op is written with other ops: call those


class Tensor:
    """Numbers, or with a shape in their place a fake."""

    def __init__(self, data: Any = None, shape: Shape | None = None) -> None:
        self.data: Any = None if shape is not None else np.asarray(data, np.float32)
        self.shape: Shape = shape if shape is not None else self.data.shape
        self.key = Key.CPU if shape is None else Key.FAKE


# --- 2. Ops: a schema says how one is called, a table what runs (registry/schema.py, registry/op.py)

_SCHEMA = re.compile(r"(\w+)\((.*)\) -> Tensor")
_ARGUMENT = re.compile(r"(Tensor|float) (\w+)(?:=(\S+))?")


def parse_schema(text: str) -> tuple[str, inspect.Signature]:
    """Name and signature of `norm(Tensor x, float eps=1e-5) -> Tensor`. A number may stand for a tensor."""
    schema = _SCHEMA.fullmatch(text)
    found = [_ARGUMENT.fullmatch(part) for part in schema[2].split(", ")] if schema else [None]
    if not schema or not all(found):
        raise ValueError(f"not a schema: {text!r}; one looks like 'norm(Tensor x, float eps=1e-5) -> Tensor'")
    kind, none = inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.empty
    arguments = [(argument[2], float(argument[3]) if argument[3] else none) for argument in found if argument]
    return schema[1], inspect.Signature([inspect.Parameter(name, kind, default=value) for name, value in arguments])


class Op:
    """Something to call. `text` prints it in a kernel; an op without it is opaque, and no kernel takes it in."""

    def __init__(self, schema: str) -> None:
        self.name, self.signature = parse_schema(schema)
        self.table: dict[Key, Callable[..., Tensor]] = {}
        self.text: Callable[..., Text] | None = None
        self.reduces = False
        if hasattr(ops, self.name):
            raise ValueError(f"there is an op {self.name!r} already")
        setattr(ops, self.name, self)

    def register(self, key: Key) -> Callable[[Callable[..., Tensor]], None]:
        return lambda kernel: self.table.update({key: kernel})

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        keys = {Key.COMPOSITE, *(arg.key for arg in bound.args if isinstance(arg, Tensor))}
        return self.dispatch(keys | {Key.TRACE} if traces else keys, bound.args)

    def dispatch(self, keys: set[Key], args: Sequence[Any]) -> Tensor:
        """From the highest key down: a kernel of the op's own, else what the key does with any op, else the next."""
        for key in sorted(keys, reverse=True):
            if key in self.table:
                return self.table[key](*args)
            if key is Key.TRACE:
                result = self.dispatch(keys - {key}, args)
                traces[-1].steps.append(traces[-1].add(self.name, result, self, args))
                return result
        raise NotImplementedError(f"{self.name} has no kernel for {[key.name for key in keys if key < Key.TRACE]}")


ops = SimpleNamespace()  # the registry: every op by its name
traces: list[Graph] = []  # those that are running, the innermost last


# --- 3. Kinds: an op says once what it computes; all that follows comes from its kind (registry/ops/kinds/)


def pointwise(schema: str) -> Callable[[Callable[..., Any]], Op]:
    """An op on each element. Its body computes with NumPy for `k`, and prints Triton with `Vocabulary` for `k`."""

    def declare(body: Callable[..., Any]) -> Op:
        op = Op(schema)
        op.table[Key.CPU] = lambda *args: Tensor(body(np, *(getattr(a, "data", a) for a in args)))
        op.table[Key.FAKE] = lambda *args: Tensor(shape=np.broadcast_shapes(*(getattr(a, "shape", ()) for a in args)))
        op.text = lambda *args: body(Vocabulary(), *args)
        return op

    return declare


def reduction(schema: str, compute: Callable[..., Any], printed: str, neutral: str) -> None:
    """An op that makes one number of each row, the last dimension; lanes beyond a row's end must not count."""
    op = Op(schema)
    op.table[Key.CPU] = lambda x: Tensor(compute(x.data, axis=-1, keepdims=True))
    op.table[Key.FAKE] = lambda x: Tensor(shape=(*x.shape[:-1], 1))
    op.text = lambda x: Text(f"{printed}(tl.where(mask, {x}, {neutral}), 0)")
    op.reduces = True


def composite(schema: str) -> Callable[[Callable[..., Tensor]], None]:
    """An op that is written with other ops, which is all that any stage sees of it."""
    return Op(schema).register(Key.COMPOSITE)


class Text(str):
    """An expression of a kernel: computing with it prints the computation."""

    def __neg__(self) -> Text:
        return Text(f"(-{self})")


class Vocabulary:
    """`k.exp(x)`, `k.where(c, x, y)`: what NumPy and Triton have under one name."""

    def __getattr__(self, name: str) -> Callable[..., Text]:
        return lambda *args: Text(f"tl.{name}({', '.join(map(str, args))})")


# --- 4. The ops, each in one place (registry/ops/)


def _operator(name: str, method: str, sign: str, body: Callable[..., Any]) -> None:
    op = pointwise(f"{name}(Tensor self, Tensor other) -> Tensor")(lambda k, x, y: body(x, y))
    setattr(Tensor, f"__{method}__", lambda a, b: op(a, b))
    setattr(Tensor, f"__r{method}__", lambda a, b: op(b, a))
    setattr(Text, f"__{method}__", lambda a, b: Text(f"({a} {sign} {b})"))
    setattr(Text, f"__r{method}__", lambda a, b: Text(f"({b} {sign} {a})"))


_operator("add", "add", "+", operator.add)
_operator("sub", "sub", "-", operator.sub)
_operator("mul", "mul", "*", operator.mul)
_operator("div", "truediv", "/", operator.truediv)
pointwise("exp(Tensor self) -> Tensor")(lambda k, x: k.exp(x))
pointwise("sqrt(Tensor self) -> Tensor")(lambda k, x: k.sqrt(x))
pointwise("silu(Tensor self) -> Tensor")(lambda k, x: x / (1 + k.exp(-x)))
reduction("sum(Tensor self) -> Tensor", np.sum, "tl.sum", "0.0")
reduction("amax(Tensor self) -> Tensor", np.max, "tl.max", "float('-inf')")


@composite("softmax(Tensor self) -> Tensor")
def softmax(x: Tensor) -> Tensor:
    e = ops.exp(x - ops.amax(x))
    return e / ops.sum(e)


mm = Op("mm(Tensor self, Tensor mat2) -> Tensor")  # opaque: a library multiplies better than a kernel of ours
mm.register(Key.CPU)(lambda x, y: Tensor(x.data @ y.data))
mm.register(Key.FAKE)(lambda x, y: Tensor(shape=(x.shape[0], y.shape[1])))


# --- 5. A trace: the ops of one call, as a graph (fake/, tracer/)


class Node:
    """One value: of a call of an op or, where `op` is None, an input or a tensor that the function brought along."""

    def __init__(self, name: str, value: Tensor, op: Op | None = None, args: Sequence[Any] = ()) -> None:
        self.name, self.value, self.op, self.args = name, value, op, args
        self.inputs = [arg for arg in args if isinstance(arg, Node)]
        self.outputs = [self]

    def __str__(self) -> str:
        return self.name

    def call(self) -> str:
        return f"ops.{self.op.name}({', '.join(map(str, self.args))})  # {list(self.value.shape)}" if self.op else ""

    def loop(self) -> Shape:
        """The sizes over which the node runs; none where no kernel can hold it."""
        held = self.op and self.op.text
        return (self.inputs[0] if held and self.op.reduces else self).value.shape if held else ()


@dataclass
class Graph:
    """Steps in the order in which they run: nodes, or once the graph is fused, regions of nodes too."""

    inputs: list[Node] = field(default_factory=list)
    steps: list[Node | Region] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)
    of: dict[int, Node] = field(default_factory=dict)  # by the identity of a tensor, the node whose value it is

    def add(self, name: str, value: Tensor, op: Op | None = None, args: Sequence[Any] = ()) -> Node:
        operands, taken = [self.operand(arg) for arg in args], {node.name for node in self.of.values()}
        free = next(n for i in count() if (n := f"{name}_{i}" if i else name) not in taken)
        return self.of.setdefault(id(value), Node(free, value, op, operands))

    def operand(self, value: Any) -> Any:
        """What stands for an argument in a node: a node for a tensor, anything else as it is."""
        return (self.of.get(id(value)) or self.add("constant", value)) if isinstance(value, Tensor) else value

    def __str__(self) -> str:
        body = [f"{', '.join(map(str, step.outputs))} = {step.call()}" for step in self.steps]
        head, last = f"def forward({', '.join(map(str, self.inputs))}):", ", ".join(map(str, self.outputs))
        return "\n    ".join([head, *body, f"return {last}"])

    def __call__(self, *inputs: Tensor) -> Any:
        values = {node: node.value for node in self.of.values()} | dict(zip(self.inputs, inputs, strict=True))
        for step in self.steps:
            if isinstance(step, Region):
                values |= zip(step.outputs, run_kernel(step, [values[node] for node in step.inputs]), strict=True)
            elif step.op:
                values[step] = step.op(*(values[arg] if isinstance(arg, Node) else arg for arg in step.args))
        results = [values[node] for node in self.outputs]
        return results[0] if len(results) == 1 else tuple(results)


def trace(function: Callable[..., Any], *examples: Tensor) -> Graph:
    """Call the function with fakes like the examples, and write down what it calls."""
    graph, fakes = Graph(), [Tensor(shape=example.shape) for example in examples]
    graph.inputs = [*map(graph.add, inspect.signature(function).parameters, fakes)]
    traces.append(graph)
    try:
        results = function(*fakes)
    finally:
        traces.pop()
    graph.outputs = [graph.operand(r) for r in (results if isinstance(results, tuple) else (results,))]
    return graph


# --- 6. A pass: what can share a loop over rows becomes one region (passes/fuse.py)


@dataclass(eq=False)
class Region:
    """Nodes that one kernel computes. A program of it is a row of `space`: all of the last dimension at once."""

    name: str
    space: Shape
    nodes: list[Node] = field(default_factory=list)
    inputs: list[Node] = field(default_factory=list)
    outputs: list[Node] = field(default_factory=list)

    def call(self) -> str:
        return f"{self.name}({', '.join(map(str, self.inputs))})  # {', '.join(n.op.name for n in self.nodes if n.op)}"


def in_order(home: Mapping[Node, Node | Region]) -> list[Node | Region]:
    """The steps in which the nodes are at home, each after those that it needs; `CycleError` if there is no order."""
    needs: dict[Any, dict[Any, None]] = {}
    for node, step in home.items():
        around = [home[o] for o in node.inputs if o in home and home[o] is not step]
        needs.setdefault(step, {}).update(dict.fromkeys(around))
    return [*TopologicalSorter(needs).static_order()]


def fuse(graph: Graph) -> Graph:
    """The same function in fewer steps: each node joins the region of one of its operands if its loop is the same."""
    home: dict[Node, Node | Region] = {node: node for step in graph.steps for node in step.outputs}
    regions: list[Region] = []
    for node in home:
        for region in dict.fromkeys(home.get(o) for o in node.inputs):
            # A number for each element of a row, or one for the row.
            if isinstance(region, Region) and node.loop() in (region.space, (*region.space[:-1], 1)):
                try:
                    in_order({**home, node: region})
                except CycleError:  # the node waits for something that waits for the region
                    continue
                break
        else:
            if math.prod(node.loop()[-1:]) == 1:  # a number has no row, and what is opaque no loop
                continue
            regions.append(region := Region(f"fused_{len(regions)}", node.loop()))
        home[node] = region
        region.nodes.append(node)
    for region in regions:
        used = {o for node in home if home[node] is not region for o in node.inputs}.union(graph.outputs)
        region.inputs = [*dict.fromkeys(o for n in region.nodes for o in n.inputs if home.get(o) is not region)]
        region.outputs = [node for node in region.nodes if node in used]
    return Graph(graph.inputs, in_order(home), graph.outputs, graph.of)


# --- 7. A region's text, in Triton (codegen/)


def triton_text(region: Region) -> str:
    """A kernel of which each program loads the elements of its row as one block, computes, and stores them."""
    pointers = [f"{node}_ptr" for node in (*region.inputs, *region.outputs)]
    lines = [f"def {region.name}({', '.join(pointers)}, BLOCK: tl.constexpr):", "row = tl.program_id(0)"]
    lines += ["col = tl.arange(0, BLOCK)", f"mask = col < {region.space[-1]}"]
    for node in region.inputs:
        place, mask = _place(node.value.shape, region.space)
        lines.append(f"{node} = tl.load({node}_ptr + {place}{mask})")
    for node in region.nodes:
        args = (Text(arg.name) if isinstance(arg, Node) else arg for arg in node.args)
        lines.append(f"{node} = {node.op.text(*args)}")  # type: ignore
    for node in region.outputs:
        place, mask = _place(node.value.shape, region.space)
        lines.append(f"tl.store({node}_ptr + {place}, {node}{mask})")
    # Printed again from what is parsed, text loses the parentheses that say nothing.
    return ast.unparse(ast.parse("@triton.jit\n" + "\n    ".join(lines)))


def _place(shape: Shape, space: Shape) -> tuple[str, str]:
    """Where a row's elements lie in a tensor that is broadcast to `space`, and the mask where they are many."""
    sizes, terms = (1,) * (len(space) - len(shape)) + shape, []
    for d, size in enumerate(sizes):
        below = f"row // {math.prod(space[d + 1 : -1])}" + (f" % {space[d]}" if d else "")
        if size > 1:
            terms.append(f"{'col' if d == len(space) - 1 else below} * {math.prod(sizes[d + 1 :])}")
    return re.sub(r" (//|\*) 1\b", "", " + ".join(terms)) or "0", ", mask" if sizes[-1:] > (1,) else ""


# --- 8. Running it: Triton's language in NumPy, one program at a time (codegen/triton_cpu/, runtime/)


@dataclass
class Pointer:
    """An array and places in it."""

    array: Any
    places: Any = 0

    def __add__(self, offset: Any) -> Pointer:
        return Pointer(self.array, self.places + offset)

    def load(self, mask: Any = True) -> Any:
        return self.array[np.where(mask, self.places, 0)]

    def store(self, value: Any, mask: Any = True) -> None:
        places, values = np.broadcast_arrays(self.places, value)
        self.array[places[mask]] = values[mask]


def run_kernel(region: Region, inputs: Sequence[Tensor]) -> list[Tensor]:
    """Compile the region's text and run each of its programs."""
    tl = SimpleNamespace(**{**vars(np), "constexpr": None, "load": Pointer.load, "store": Pointer.store})
    names: dict[str, Any] = {"tl": tl, "triton": SimpleNamespace(jit=lambda function: function)}
    exec(triton_text(region), names)
    results = [Tensor(np.empty(node.value.shape, np.float32)) for node in region.outputs]
    pointers = [Pointer(tensor.data.reshape(-1)) for tensor in (*inputs, *results)]
    for row in range(math.prod(region.space[:-1])):
        tl.program_id = lambda axis, row=row: row
        names[region.name](*pointers, BLOCK=1 << (region.space[-1] - 1).bit_length())
    return results


def compile(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function, traced and fused when it first sees a combination of sizes."""
    compiled = cache(lambda *shapes: fuse(trace(function, *(Tensor(shape=shape) for shape in shapes))))
    return lambda *args: compiled(*(arg.shape for arg in args))(*args)


# --- An op of one's own, and a model


@pointwise("gate(Tensor self, Tensor other, float sharpness=2.0) -> Tensor")
def gate(k: Any, x: Any, y: Any, sharpness: Any) -> Any:
    return x / (1 + k.exp(-sharpness * y))


def model(x: Tensor, w: Tensor, scale: Tensor) -> Tensor:
    norm = x / ops.sqrt(ops.sum(x * x) / x.shape[-1] + 1e-5) * scale
    return ops.softmax(ops.silu(ops.mm(ops.gate(norm, x), w)) * 0.5)


def main() -> None:
    rng = np.random.default_rng(0)
    x, w, scale = (Tensor(rng.standard_normal(shape)) for shape in ((3, 6), (6, 5), (6,)))
    fused = fuse(graph := trace(model, x, w, scale))
    print(graph, fused, *(triton_text(step) for step in fused.steps if isinstance(step, Region)), sep="\n\n")
    np.testing.assert_allclose(compile(model)(x, w, scale).data, model(x, w, scale).data, rtol=1e-5)
    print("\nWhat the kernels compute is what the eager calls compute.")


if __name__ == "__main__":
    main()

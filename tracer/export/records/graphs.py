"""Graphs: nodes, their operands and values."""

from __future__ import annotations

import math
import operator
from operator import getitem as _getitem
from typing import Any, NoReturn

from opweave.fake.mode import FakeTensorMode
from opweave.registry.containers import is_dict, is_tuple
from opweave.registry.errors import OpweaveError, UnsupportedError
from opweave.registry.op import OpOverload
from opweave.registry.symbolic import Symbolic, is_int
from opweave.registry.tensor import Tensor
from opweave.registry.triton_op import kernels, triton_kernel_wrapper_functional, triton_kernel_wrapper_mutation
from opweave.tracer.export import control
from opweave.tracer.export.encoding import Numbers, Reader, decode_operand, decode_value, encode_operand, encode_value
from opweave.tracer.export.kernels import TextKernel, as_text
from opweave.tracer.export.linking import BODY
from opweave.tracer.export.records.kernels import KernelRecords
from opweave.tracer.export.records.ops import OpRecords
from opweave.tracer.export.records.places import decode_site, encode_site
from opweave.tracer.graph import Graph, Node

_MOST_PROGRAMS = 2**31 - 1
# How deep graphs may be nested.
_MOST_LEVELS = 16
#: What nodes may call that compute with sizes.
FUNCTIONS: dict[str, Any] = {
    **{name.rstrip("_"): getattr(operator, name) for name in (
        "add", "sub", "mul", "floordiv", "mod", "truediv", "pow", "neg", "eq", "ne", "lt", "le", "gt", "ge",
        "and_", "or_", "not_",
    )},
    "min": min, "max": max, "floor": math.floor,
}  # fmt: skip
_LAUNCHES = {True: triton_kernel_wrapper_functional, False: triton_kernel_wrapper_mutation}


class GraphWriter:
    """Writes graphs; notes the ops and kernels that they call."""

    def __init__(self, numbers: Numbers, ops: OpRecords, kernels: KernelRecords):
        self._numbers = numbers
        self._ops = ops
        self._kernels = kernels

    def graph(self, graph: Graph) -> dict[str, Any]:
        """The record of a graph."""
        nodes = [node for node in graph.nodes if node.op not in ("placeholder", "output")]
        return {
            "inputs": [{"name": n.name, "val": self._value(n), **self._site(n)} for n in graph.placeholders()],
            "nodes": [self._node(node) for node in nodes],
            "outputs": encode_operand(graph.outputs, "the result"),
        }

    def _value(self, node: Node) -> Any:
        return encode_value(node.meta.get("val"), node.name, self._numbers)

    def _site(self, node: Node) -> dict[str, Any]:
        site = node.meta.get("site")
        return {} if site is None else {"site": encode_site(site)}

    def _node(self, node: Node) -> Any:
        made: dict[str, Any] = {"name": node.name}
        target = node.target
        if node.op == "get_attr":
            made |= {"kind": "tensor", "target": target}
        elif target in _LAUNCHES.values():
            made |= self._launch(node)
        elif isinstance(target, OpOverload):
            made |= {"kind": "op", "target": target.name, **self._operands(node)}
            self._ops.note(target)
            if BODY in node.meta:
                body: Graph = node.meta[BODY]
                made["body"] = {"call": body.graph.get("call", ""), "graph": self.graph(body)}
        elif control.is_control_flow(target):
            args = [self._inner_graph(a) if isinstance(a, Graph) else encode_operand(a, node.name) for a in node.args]
            control.check_call(node, lambda expected: _refuse_call(node, expected))
            made |= {"kind": "control", "target": target.name, "args": args}
        elif target is _getitem:
            made |= {"kind": "getitem", **self._operands(node)}
        elif node.op == "call_function" and _name_of(target) is not None:
            made |= {"kind": "number", "target": _name_of(target), **self._operands(node)}
        else:
            raise UnsupportedError(
                f"save: {node.name} calls {target!r}, which a file cannot name",
                at=node.meta.get("site"),
                hint="a program that is saved calls ops: make it one with opweave.library.custom_op",
            )
        return {**made, "val": self._value(node), **self._site(node)}

    def _operands(self, node: Node) -> dict[str, Any]:
        kwargs = {name: encode_operand(value, node.name) for name, value in node.kwargs.items()}
        return {"args": [encode_operand(value, node.name) for value in node.args], "kwargs": kwargs}

    def _inner_graph(self, graph: Graph) -> Any:
        return {"graph": {"name": graph.name, **self.graph(graph)}}

    def _launch(self, node: Node) -> dict[str, Any]:
        operands = node.kwargs
        arguments = operands["kwargs"]
        values = {k: v.meta.get("val") if isinstance(v, Node) else v for k, v in arguments.items()}
        kernel, choice, bindings = as_text(operands["kernel_idx"], operands["constant_args_idx"], values)
        grid = operands["grid"][choice if len(operands["grid"]) > 1 else 0]
        known = {name for name, _ in kernel.parameters}
        spread = {name: value if operand is None else arguments[operand] for name, (operand, value) in bindings.items()}
        arguments = {**arguments, **spread}
        made = {
            "kind": "launch",
            "kernel": self._kernels.number(kernel),
            "grid": [encode_operand(size, node.name) for size in grid],
            "kwargs": {k: encode_operand(v, node.name) for k, v in arguments.items() if k in known},
        }
        if node.target is triton_kernel_wrapper_functional:
            saved = {operand: name for name, (operand, _) in reversed(bindings.items()) if operand is not None}
            made["clones"] = [saved.get(name, name) for name in operands["tensors_to_clone"]]
        return made


def _refuse_call(node: Node, expected: str) -> NoReturn:
    raise UnsupportedError(
        f"save: {node.name} is no call of {node.target.name} that a file can hold",
        got=f"expected {expected}",
        at=node.meta.get("site"),
    )


def _name_of(target: Any) -> str | None:
    return next((name for name, function in FUNCTIONS.items() if function is target), None)


class GraphReader:
    """Reads graphs, whose nodes get fake values.

    Parameters
    ----------
    mode : FakeTensorMode
    numbers : Numbers
        Reads symbolic numbers.
    ops : dict of str to OpOverload
        What they may call.
    kernels : list of int
        What they may launch: for each kernel of the file its index among `registry.triton_op.kernels`.
    """

    def __init__(self, mode: FakeTensorMode, numbers: Numbers, ops: dict[str, OpOverload], kernels: list[int]):
        self._mode = mode
        self._numbers = numbers
        self._ops = ops
        self._kernels = kernels

    def graph(self, source: Reader, depth: int = 0, *, in_body: bool = False) -> Graph:
        """A graph, which stands in `depth` others."""
        source.keys("inputs", "nodes", "outputs", optional=("name",) if depth else ())
        if depth > _MOST_LEVELS:
            source.fail(f"at most {_MOST_LEVELS} graphs in each other")
        graph = Graph()
        if source.has("name"):
            graph.name = source["name"].identifier()
        nodes: dict[str, Node] = {}
        for item in source["inputs"].items():
            item.keys("name", "val", optional=("site",))
            self._add(graph, nodes, item, "placeholder", item["name"].value)
        for item in source["nodes"].items():
            self._node(graph, nodes, item, depth, in_body)
        outputs = decode_operand(source["outputs"], nodes)
        if not is_tuple(outputs) or not (depth or all(map(_is_leaf, outputs))):
            source["outputs"].fail("a tuple of outputs")
        graph.output(outputs)
        return graph

    def _node(self, graph: Graph, nodes: dict[str, Node], item: Reader, depth: int, in_body: bool) -> None:
        kind = item["kind"].value if isinstance(item.value, dict) and item.has("kind") else item.fail("a node")
        always = ("name", "kind", "val")
        if kind == "tensor":
            item.keys(*always, "target", optional=("site",))
            self._add(graph, nodes, item, "get_attr", item["target"].text())
        elif kind == "op":
            item.keys(*always, "target", "args", "kwargs", optional=("site", "body"))
            target = self._ops.get(item["target"].text())
            if target is None:
                return item["target"].fail("an op whose schema is in the manifest")
            node = self._add(graph, nodes, item, "call_function", target, *self._operands(item, nodes))
            self._check_call(item, target, node)
            if item.has("body"):
                if in_body:
                    item["body"].fail("no body inside a body")
                self._body(item["body"].keys("call", "graph"), node, depth)
        elif kind == "control":
            item.keys(*always, "target", "args", optional=("site",))
            target = control.OPERATORS.get(item["target"].text()) or item["target"].fail("an op of control flow")
            operands = tuple(self._graph_or_operand(value, nodes, depth, in_body) for value in item["args"].items())
            node = self._add(graph, nodes, item, "call_function", target, operands)
            control.check_call(node, item.fail)
        elif kind == "getitem":
            item.keys(*always, "args", "kwargs", optional=("site",))
            args, kwargs = self._operands(item, nodes)
            if kwargs or len(args) != 2 or not isinstance(args[0], Node) or type(args[1]) not in (int, str):
                item.fail("a node and an index")
            self._add(graph, nodes, item, "call_function", _getitem, args, kwargs)
        elif kind == "number":
            item.keys(*always, "target", "args", "kwargs", optional=("site",))
            function = FUNCTIONS.get(item["target"].text()) or item["target"].fail("a function of numbers")
            args, kwargs = self._operands(item, nodes)
            count = 1 if function in (operator.neg, operator.not_, math.floor) else 2
            if kwargs or len(args) != count or not all(map(_is_number, args)):
                item["args"].fail("numbers")
            if function is FUNCTIONS["pow"] and (type(args[1]) is not int or not 0 <= args[1] <= 8):
                item["args"].fail("a small power")
            self._add(graph, nodes, item, "call_function", function, args, kwargs)
        elif kind == "launch":
            item.keys(*always, "kernel", "grid", "kwargs", optional=("site", "clones"))
            functional = item.has("clones")
            operands = self._launch(item, nodes)
            self._add(graph, nodes, item, "call_function", _LAUNCHES[functional], (), operands)
        else:
            item["kind"].fail("a kind of node")

    def _add(
        self,
        graph: Graph,
        nodes: dict[str, Node],
        item: Reader,
        op: str,
        target: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Node:
        name = item["name"].identifier()
        node = graph.create_node(op, target, args, kwargs, name)
        if node.name != name:
            item["name"].fail("a name that is not used yet, nor one of Python's")
        node.meta["val"] = decode_value(item["val"], self._mode, self._numbers)
        if item.has("site"):
            node.meta["site"] = decode_site(item["site"])
        nodes[name] = node
        return node

    def _graph_or_operand(self, source: Reader, nodes: dict[str, Node], depth: int, in_body: bool) -> Any:
        if not is_dict(source.value) or "graph" not in source.value:
            return decode_operand(source, nodes)
        return self._linted(self.graph(source.keys("graph")["graph"], depth + 1, in_body=in_body), source)

    def _linted(self, graph: Graph, source: Reader) -> Graph:
        try:
            graph.lint()
        except OpweaveError as error:
            source.fail(f"a graph that keeps its rules ({error.what})")
        return graph

    def _operands(self, item: Reader, nodes: dict[str, Node]) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args = tuple(decode_operand(value, nodes) for value in item["args"].items())
        return args, {_keyword(item, key): decode_operand(value, nodes) for key, value in item["kwargs"].members()}

    def _check_call(self, item: Reader, op: OpOverload, node: Node) -> None:
        try:
            op._schema.bind(node.args, node.kwargs)
        except OpweaveError as error:
            item.fail(f"a call that fits {op._schema} ({error.what})")

    def _body(self, source: Reader, node: Node, depth: int) -> None:
        body = self.graph(source["graph"], depth + 1, in_body=True)
        inputs = [inner.meta["val"] for inner in body.placeholders()]
        # Whether what the call is given looks like them is checked when it runs.
        if len(inputs) != len(node.all_input_nodes) or not all(isinstance(t, (Tensor, Symbolic)) for t in inputs):
            source.fail("inputs for the call's tensors")
        if not is_tuple(body.outputs) or len(body.outputs) != 1:
            source.fail("one result")
        self._linted(body, source)
        body.graph["call"] = source["call"].text(1_000_000)
        node.meta[BODY] = body

    def _launch(self, item: Reader, nodes: dict[str, Node]) -> dict[str, Any]:
        number = item["kernel"].integer(0, len(self._kernels) - 1)
        grid = tuple(_grid_size(size, nodes) for size in item["grid"].items())
        if len(grid) != 3:
            item["grid"].fail("three sizes")
        index = self._kernels[number]
        kernel: TextKernel = kernels[index]
        arguments = {key: decode_operand(value, nodes) for key, value in item["kwargs"].members()}
        for name, kind in kernel.parameters:
            given = arguments.get(name)
            if kind == "constexpr":
                right = not isinstance(given, Node)
            elif kind.startswith("*"):
                right = isinstance(given, Node) and isinstance(given.meta["val"], Tensor)
            else:
                right = _is_number(given)
            if not right:
                item["kwargs"].fail(f"a {kind} for {name}")
        if not {name for name, _ in kernel.parameters} >= arguments.keys():
            item["kwargs"].fail("the kernel's parameters")
        made: dict[str, Any] = {"kernel_idx": index, "constant_args_idx": 0, "grid": [grid], "kwargs": arguments}
        if item.has("clones"):
            clones = [clone.text() for clone in item["clones"].items()]
            if not set(clones) <= {name for name, kind in kernel.parameters if kind.startswith("*")}:
                item["clones"].fail("names of tensors")
            if not kernel.writes <= set(clones):
                item["clones"].fail("all that the kernel writes")
            made["tensors_to_clone"] = clones
        return made


def _grid_size(source: Reader, nodes: dict[str, Node]) -> Any:
    if not is_dict(source.value):
        return source.integer(0, _MOST_PROGRAMS)
    found = decode_operand(source, nodes)
    if not isinstance(found, Node) or not is_int(found.meta["val"]) or type(found.meta["val"]) is bool:
        source.fail("a node that computes an integer")
    return found


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, (list, tuple, dict))


def _is_number(value: Any) -> bool:
    """Whether an operand is a number or a node that computes one."""
    if isinstance(value, Node):
        value = value.meta["val"]
    return isinstance(value, (bool, int, float, Symbolic))


def _keyword(item: Reader, key: str) -> str:
    return Reader(key, item.place).identifier()

"""Printed graphs read back: `parse(str(graph))` prints the same and calls the same ops.

Only what `printing` writes is understood; nothing is executed.
"""

from __future__ import annotations

import ast
import io
import math
import operator
import tokenize
from collections.abc import Mapping
from typing import Any, NoReturn

from opweave.registry import dtypes
from opweave.registry.device import Device
from opweave.registry.errors import GraphError, Site
from opweave.registry.interrupts import let_through
from opweave.registry.loading import parsing
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.op import ops, registry
from opweave.tracer.graph import Graph, Node

_CONSTANTS = {"inf": math.inf, "nan": math.nan}
_MODULES = {"operator": operator, "math": math}


def parse(text: str, functions: Mapping[str, Any] | None = None) -> Graph:
    """Read a printed graph.

    Parameters
    ----------
    text : str
        What `str(graph)` gave: one function.
    functions : mapping of str to callable, optional
        Functions called that are no ops (see `printing.foreign_functions`).

    Returns
    -------
    Graph
        With the same names, targets and operands. `meta` has `type` (the annotation) and `site` (file name and line of
        the comment) instead of fake values.

    Raises
    ------
    GraphError
        If the text is not a printed graph, or calls an op that is not registered; names the line.
    """
    try:
        with parsing:
            module = ast.parse(text)
    except SyntaxError as error:
        raise GraphError(f"parse: not Python: {error.msg}", got=f"line {error.lineno}: {error.text}") from None
    functions_found = [item for item in module.body if isinstance(item, ast.FunctionDef)]
    if len(module.body) != 1 or len(functions_found) != 1:
        raise GraphError("parse: expected one function", got=f"{len(module.body)} statements")
    return _Reader(text, functions or {}).function(functions_found[0], {})


class _Reader:
    def __init__(self, text: str, functions: Mapping[str, Any]):
        self.lines = text.splitlines()
        self.functions = functions
        self.sites = _sites(text)
        #: The functions that can be named where the reader is.
        self.regions: Mapping[str, Graph] = {}

    def fail(self, item: ast.AST, what: str) -> NoReturn:
        line = getattr(item, "lineno", 0)
        source = self.lines[line - 1].strip() if 0 < line <= len(self.lines) else ""
        raise GraphError(f"parse: {what}", got=f"line {line}: {source}")

    # ---- statements --------------------------------------------------------------------------------------------------

    def function(self, source: ast.FunctionDef, regions: Mapping[str, Graph]) -> Graph:
        graph = Graph()
        regions = dict(regions)
        around, self.regions = self.regions, regions
        nodes: dict[str, Node] = {}
        for argument in source.args.args:
            if argument.arg != "self":
                self.add(graph, nodes, argument, argument.arg, "placeholder", argument.arg)
                self.annotate(nodes[argument.arg], argument.annotation, None)
        for statement in source.body:
            if isinstance(statement, ast.FunctionDef):
                region = self.function(statement, regions)
                region.name = statement.name
                regions[statement.name] = region
            elif isinstance(statement, ast.Return):
                value = ast.Constant(None) if statement.value is None else statement.value
                node = graph.output(self.operand(value, nodes))
                self.annotate(node, None, statement)
            elif isinstance(statement, (ast.Assign, ast.AnnAssign)):
                self.assignment(statement, graph, nodes, regions)
            elif not isinstance(statement, ast.Pass):
                self.fail(statement, "expected an assignment, a function or return")
        self.regions = around
        return graph

    def assignment(
        self, statement: ast.Assign | ast.AnnAssign, graph: Graph, nodes: dict[str, Node], regions: Mapping[str, Graph]
    ) -> None:
        target = statement.target if isinstance(statement, ast.AnnAssign) else statement.targets[0]
        value = statement.value
        if not isinstance(target, ast.Name):
            self.fail(statement, "expected a name on the left")
        if isinstance(value, ast.Attribute) and isinstance(value.value, ast.Name) and value.value.id == "self":
            self.add(graph, nodes, statement, target.id, "get_attr", value.attr)
        elif isinstance(value, ast.Call):
            if any(item.arg is None for item in value.keywords):
                self.fail(statement, "** is not allowed here")
            args = tuple(self.operand(item, nodes) for item in value.args)
            kwargs = {str(item.arg): self.operand(item.value, nodes) for item in value.keywords}
            called = self.target(value.func, regions)
            self.add(graph, nodes, statement, target.id, "call_function", called, args, kwargs)
        else:
            self.fail(statement, "expected a call or a constant of self")
        self.annotate(nodes[target.id], getattr(statement, "annotation", None), statement)

    def add(
        self, graph: Graph, nodes: dict[str, Node], source: ast.AST, name: str, op: str, target: Any,
        args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        if name in nodes:
            self.fail(source, f"{name} is assigned twice")
        node = graph.create_node(op, target, args, kwargs, name)
        if node.name != name:
            self.fail(source, f"{name} cannot name a node")
        nodes[name] = node

    def annotate(self, node: Node, annotation: ast.expr | None, statement: ast.AST | None) -> None:
        if isinstance(annotation, ast.Constant):
            node.meta["type"] = annotation.value
        site = self.sites.get(getattr(statement, "end_lineno", 0) or 0)
        if site is not None:
            node.meta["site"] = site

    # ---- expressions -------------------------------------------------------------------------------------------------

    def target(self, item: ast.expr, regions: Mapping[str, Graph]) -> Any:
        path: list[str] = []
        inner = item
        while isinstance(inner, ast.Attribute):
            path.insert(0, inner.attr)
            inner = inner.value
        if not isinstance(inner, ast.Name):
            self.fail(item, "expected the name of an op")
        root = inner.id
        if not path and root in regions:
            return regions[root]
        if root == "functions" and len(path) == 1 and path[0] in self.functions:
            return self.functions[path[0]]
        if root == "ops" and len(path) == 1 and path[0] in registry.higher_order:
            return registry.higher_order[path[0]]
        try:
            if root == "ops" and len(path) == 3:
                return getattr(getattr(getattr(ops, path[0]), path[1]), path[2])
            if root in _MODULES and len(path) == 1:
                return getattr(_MODULES[root], path[0])
        except AttributeError as error:
            let_through(error)
            self.fail(item, str(error))
        return self.fail(item, f"unknown function {ast.unparse(item)}")

    def operand(self, item: ast.expr, nodes: Mapping[str, Node]) -> Any:
        if isinstance(item, ast.Constant):
            return item.value
        if isinstance(item, ast.Name):
            if item.id in nodes:
                return nodes[item.id]
            if item.id in _CONSTANTS:
                return _CONSTANTS[item.id]
            if item.id in self.regions:
                return self.regions[item.id]
            self.fail(item, f"{item.id} is not defined before")
        if isinstance(item, ast.UnaryOp) and isinstance(item.op, ast.USub):
            value = self.operand(item.operand, nodes)
            return -value if isinstance(value, int | float) else self.fail(item, f"cannot read {ast.unparse(item)}")
        if isinstance(item, ast.List):
            return [self.operand(element, nodes) for element in item.elts]
        if isinstance(item, ast.Tuple):
            return tuple(self.operand(element, nodes) for element in item.elts)
        if isinstance(item, ast.Dict):
            if None in item.keys:
                self.fail(item, "** is not allowed here")
            keys = [self.operand(key, nodes) for key in item.keys if key is not None]
            return dict(zip(keys, [self.operand(value, nodes) for value in item.values], strict=True))
        if isinstance(item, ast.Attribute) and isinstance(item.value, ast.Name) and item.value.id == "opweave":
            if item.attr in dtypes.DTYPES:
                return dtypes.DTYPES[item.attr]
            if item.attr in MemoryFormat.__members__:
                return MemoryFormat[item.attr]
        if isinstance(item, ast.Call):
            return self.made(item, nodes)
        return self.fail(item, f"cannot read {ast.unparse(item)}")

    def made(self, item: ast.Call, nodes: Mapping[str, Node]) -> Any:
        values = [self.operand(value, nodes) for value in item.args]
        match ast.unparse(item.func):
            case "slice" if len(values) == 3:
                return slice(*values)
            case "complex" if len(values) == 2:
                return complex(*values)
            case "opweave.device" if len(values) == 1:
                return Device(values[0])
            case _:
                return self.fail(item, f"cannot read {ast.unparse(item)}")


def _sites(text: str) -> dict[int, Site]:
    """Comments `# file.py:12` by line."""
    found: dict[int, Site] = {}
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            file, _, line = token.string.lstrip("# ").rpartition(":")
            if file and line.isdigit():
                found[token.start[0]] = Site(file, int(line), "")
    return found

"""Graphs as readable Python that runs.

    def forward(self, x_1: "f32[4096, 1024]", w_1: "f32[1024]"):
        mul: "f32[4096, 1024]" = ops.aten.mul.Tensor(x_1, w_1)  # model.py:12
        return (mul,)

A `Graph` that is called, or is an operand, is a function inside the function. The names that such text needs are
`namespace()`. `parsing` reads it back.
"""

from __future__ import annotations

import builtins
import math
import operator
from collections.abc import Iterator, Mapping
from types import SimpleNamespace
from typing import Any

from opweave.fake.symbolic import UNDECIDED
from opweave.registry import dtypes
from opweave.registry.containers import is_dict, is_list, is_sequence, is_tuple
from opweave.registry.device import Device
from opweave.registry.dtypes import DType
from opweave.registry.errors import GraphError
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.memory_format import MemoryFormat
from opweave.registry.op import OpOverload, ops
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor
from opweave.tracer.node import Node

#: Names that printed code takes from outside.
GLOBAL_NAMES = ("ops", "opweave", "operator", "math", "functions", "inf", "nan", "slice", "complex")

_INDENT = "    "
_WIDTH = 120
# Comments stand in one column, unless a line is longer than this.
_COMMENT_COLUMN = 88
_MODULES = {"_operator": "operator", "operator": "operator", "math": "math"}


_operator = SimpleNamespace(
    **{name: UNDECIDED.get(f, f) for name, f in vars(operator).items() if not name.startswith("__")}
)


def namespace(functions: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """What printed code needs to run, by name; `functions` are those of `foreign_functions`."""
    public = SimpleNamespace(device=Device, **dtypes.DTYPES, **MemoryFormat.__members__)
    own = SimpleNamespace(**{name: UNDECIDED.get(f, f) for name, f in (functions or {}).items()})
    return {
        "ops": ops, "opweave": public, "operator": _operator, "math": math, "inf": math.inf, "nan": math.nan,
        "slice": slice, "complex": complex, "functions": own, "__builtins__": builtins,
    }  # fmt: skip


def is_graph(target: Any) -> bool:
    """Whether a target is a graph (a fused region) and not a function."""
    return hasattr(target, "succ_of")


def operand_graphs(node: Node) -> list[Any]:
    """The graphs among a node's operands (the functions of control flow), in order."""
    found: list[Any] = []
    for value in (*node.args, *node.kwargs.values()):
        if is_graph(value):
            found.append(value)
    return found


def nested_graphs(graph: Any, *, deep: bool = False) -> Iterator[Any]:
    """The graphs that a graph's nodes call or hand on, in order; with `deep` also those in them."""
    for node in graph.nodes:
        for inner in (*([node.target] if is_graph(node.target) else ()), *operand_graphs(node)):
            yield inner
            if deep:
                yield from nested_graphs(inner, deep=True)


# ---- whole graphs ----------------------------------------------------------------------------------------------------


def print_graph(graph: Any, name: str = "forward", *, takes_self: bool = True) -> str:
    """The text of a graph.

    Parameters
    ----------
    graph : Graph
        What to print; it may be unfinished.
    name : str
        Name of the function.
    takes_self : bool
        Whether the function is a method; constants are read from `self`.
    """
    return "\n".join(_function(graph, name, takes_self, {}))


def _function(graph: Any, name: str, takes_self: bool, regions: dict[int, str]) -> list[str]:
    nodes = [node for node in graph.nodes if isinstance(node, Node)]
    lines = _header(name, [n for n in nodes if n.op == "placeholder"], takes_self)
    taken = {node.name for node in nodes} | {*regions.values(), name}
    regions = dict(regions)
    body: list[tuple[str, str]] = []
    for node in nodes:
        for target in (*([node.target] if is_graph(node.target) else []), *operand_graphs(node)):
            if id(target) not in regions:
                regions[id(target)] = _free_name(target.name or "region", taken)
                inner = _function(target, regions[id(target)], False, regions)
                lines += [_INDENT + line if line else line for line in inner] + [""]
    for node in nodes:
        if node.op != "placeholder":
            site = node.meta.get("site")
            body.append((_statement(node, regions), site.short if site is not None else ""))
    if not body:
        body.append(("pass", ""))
    column = max((len(text) for text, site in body if site and len(text) <= _COMMENT_COLUMN), default=0)
    for text, site in body:
        lines.append(_INDENT + (f"{text:<{column}}  # {site}" if site else text))
    return lines


def _header(name: str, inputs: list[Node], takes_self: bool) -> list[str]:
    parameters = ["self"] if takes_self else []
    parameters += [node.name + _annotation(node) for node in inputs]
    line = f"def {name}({', '.join(parameters)}):"
    if len(line) <= _WIDTH:
        return [line]
    return [f"def {name}(", *(f"{_INDENT}{parameter}," for parameter in parameters), "):"]


def _free_name(wanted: str, taken: set[str]) -> str:
    name, number = wanted, 0
    while name in taken:
        number += 1
        name = f"{wanted}_{number}"
    taken.add(name)
    return name


def node_line(node: Node) -> str:
    """The line that stands for a node, with its types and its place."""
    if node.op == "placeholder":
        return f"{node.name}{_annotation(node)}"
    site = node.meta.get("site")
    return _statement(node, {}) + (f"  # {site.short}" if site is not None else "")


def _statement(node: Node, regions: Mapping[int, str]) -> str:
    if node.op == "output":
        return f"return {operand_text(node.args[0])}"
    if node.op == "get_attr":
        return f"{node.name}{_annotation(node)} = self.{node.target}"
    values = [_argument(value, regions) for value in node.args]
    values += [f"{key}={_argument(value, regions)}" for key, value in node.kwargs.items()]
    return f"{node.name}{_annotation(node)} = {target_text(node.target, regions)}({', '.join(values)})"


def _argument(value: Any, regions: Mapping[int, str]) -> str:
    return target_text(value, regions) if is_graph(value) else operand_text(value)


# ---- targets ---------------------------------------------------------------------------------------------------------


def base_name(op: str, target: Any) -> str:
    """What a node is named after when nobody says."""
    if op != "call_function":
        return str(target)
    if isinstance(target, OpOverload):
        return target.opname
    if is_graph(target):
        # The function printed for the graph has the graph's own name.
        return f"{target.name or 'region'}_out"
    return _function_name(target)


def target_text(target: Any, regions: Mapping[int, str] | None = None) -> str:
    """How a call names its target."""
    if isinstance(target, OpOverload):
        return f"ops.{target.namespace}.{target.opname}.{target.overload}"
    if isinstance(target, HigherOrderOperator):
        return f"ops.{target.name}"
    if is_graph(target):
        return (regions or {}).get(id(target), target.name or "region")
    return f"{_MODULES.get(getattr(target, '__module__', ''), 'functions')}.{_function_name(target)}"


def _function_name(target: Any) -> str:
    return getattr(target, "__name__", None) or type(target).__name__


def foreign_functions(graph: Any) -> dict[str, Any]:
    """Functions a graph calls that are no ops, by name: what `functions` must have for the printed code to run.

    Raises
    ------
    GraphError
        If two have the same name, or one has no usable name.
    """
    found: dict[str, Any] = {}
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        for graph_operand in operand_graphs(node):
            _gather(found, node, foreign_functions(graph_operand))
        if is_graph(node.target):
            inner = foreign_functions(node.target)
        elif target_text(node.target).startswith("functions."):
            inner = {_function_name(node.target): node.target}
        else:
            continue
        _gather(found, node, inner)
    return found


def _gather(found: dict[str, Any], node: Node, inner: Mapping[str, Any]) -> None:
    for name, function in inner.items():
        if not name.isidentifier() or found.setdefault(name, function) is not function:
            raise GraphError(
                f"{node.name}: the function it calls has no name of its own", got=name,
                hint="register it as an op: opweave.library.custom_op",
            )  # fmt: skip


# ---- operands --------------------------------------------------------------------------------------------------------


def operand_text(value: Any) -> str:
    """A constant or a node (or a nest of them) as an expression."""
    kind = value.__class__
    if kind is Node:
        return value.name
    if kind is float:
        return _float_text(value)
    if kind is complex:
        return f"complex({_float_text(value.real)}, {_float_text(value.imag)})"
    if kind in (int, bool, str, bytes) or value is None:
        return repr(value)
    if value is Ellipsis:
        return "..."
    if isinstance(value, (DType, MemoryFormat)):
        return repr(value)
    if isinstance(value, Device):
        return f'opweave.device("{value}")'
    if is_list(value):
        return f"[{', '.join(map(operand_text, value))}]"
    if is_tuple(value):
        return f"({', '.join(map(operand_text, value))}{',' if len(value) == 1 else ''})"
    if is_dict(value):
        return f"{{{', '.join(f'{operand_text(key)}: {operand_text(item)}' for key, item in value.items())}}}"
    if kind is slice:
        return f"slice({', '.join(operand_text(item) for item in (value.start, value.stop, value.step))})"
    # A subclass, such as an enumeration or a NumPy number.
    base = next((base for base in (bool, int, float, str) if isinstance(value, base)), None)
    if base is not None:
        return operand_text(base(value))
    return repr(value)


def _float_text(value: float) -> str:
    if math.isnan(value):
        return "nan"
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return repr(value)


def path_text(path: tuple[Any, ...]) -> str:
    """An edge key as one would write it: `args[0][2]`."""
    kind = "args" if path and isinstance(path[0], int) else "kwargs"
    return kind + "".join(f"[{key!r}]" for key in path)


_PRINTABLE = (Node, bool, int, float, complex, str, bytes, type(None), type(Ellipsis), DType, Device, Symbolic)


def check_operands(node: Node) -> None:
    """Check that a node's operands can be printed and read back.

    Raises
    ------
    GraphError
        If one is a tensor, or an object without a printed form.
    """
    _check(node, [value for value in node.args if not is_graph(value)])
    _check(node, {key: value for key, value in node.kwargs.items() if not is_graph(value)})
    for key in node.kwargs:
        if not str(key).isidentifier():
            raise GraphError(f"{node.name}: {key!r} cannot name an operand")


def _check(node: Node, value: Any) -> None:
    if is_sequence(value):
        for item in value:
            _check(node, item)
    elif is_dict(value):
        for key, item in value.items():
            _check(node, key)
            _check(node, item)
    elif type(value) is slice:
        _check(node, (value.start, value.stop, value.step))
    elif not isinstance(value, _PRINTABLE):
        hint = "make it a constant of the graph module and read it with get_attr" if isinstance(value, Tensor) else None
        raise GraphError(f"{node.name}: an operand has no printed form", got=f"{type(value).__name__}", hint=hint)


# ---- types -----------------------------------------------------------------------------------------------------------


def type_text(value: Any) -> str:
    """A value's type as printed behind a name: `f32[2, 3]`, with the device where it is not the CPU."""
    if isinstance(value, Tensor):
        device = "" if value._device.is_host else f" {value._device}"
        return f"{value._dtype.short}[{', '.join(map(str, value._sizes))}]{device}"
    if is_sequence(value):
        return f"({', '.join(map(type_text, value))}{',' if len(value) == 1 else ''})"
    if is_dict(value):
        return f"{{{', '.join(f'{key}: {type_text(item)}' for key, item in value.items())}}}"
    if isinstance(value, Symbolic):
        return f"Sym({value})"
    return type(value).__name__


def _annotation(node: Node) -> str:
    if "val" in node.meta:
        value = node.meta["val"]
        return "" if value is None else f': "{type_text(value)}"'
    text = node.meta.get("type")
    return f': "{text}"' if text else ""

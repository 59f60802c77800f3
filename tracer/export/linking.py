"""From the ops that a program names to the ops that are registered here.

A program out of a file may call ops that this process does not know. Such a node's target is an `OpOverload` that is
in no registry: it has a name and a schema, prints like any op, and cannot run. What a node calls is therefore looked up
by name each time the registry has changed, so a program runs as soon as its ops are registered.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from opweave.registry.errors import ExportError, Site
from opweave.registry.op import OpOverload, registry
from opweave.registry.schema import FunctionSchema, parse_schema
from opweave.tracer.graph import Graph, Node
from opweave.tracer.printing import operand_graphs

#: The key of `Node.meta` under which a triton_op's call keeps the graph of its body.
BODY = "body"

_NOWHERE = Site("<exported program>", 0, "<exported program>")


def detached(schema: str) -> OpOverload:
    """An op that is not registered here."""
    parsed = parse_schema(schema)
    return OpOverload(parsed.full_name, parsed, (), _NOWHERE)


def registered(op: OpOverload) -> OpOverload | None:
    """The op of that name that is registered here."""
    return registry.operators.get(op.name)


def accepts(new: FunctionSchema, old: FunctionSchema) -> bool:
    """Whether a call written for the schema `old` means the same under `new`: it may have more defaulted arguments."""
    if (new.name, new.overload_name, new.returns, new.is_vararg, new.is_varret) != (
        old.name,
        old.overload_name,
        old.returns,
        old.is_vararg,
        old.is_varret,
    ):
        return False
    positional = [[a for a in schema.arguments if not a.kwarg_only] for schema in (new, old)]
    keyword = [{a.name: a for a in schema.arguments if a.kwarg_only} for schema in (new, old)]
    count = len(positional[1])
    if [str(a) for a in positional[0][:count]] != [str(a) for a in positional[1]]:
        return False
    if any(str(keyword[0].get(name)) != str(argument) for name, argument in keyword[1].items()):
        return False
    gained = positional[0][count:] + [a for name, a in keyword[0].items() if name not in keyword[1]]
    return all(a.has_default and a.alias is None for a in gained)


def check_schemas(ops: Iterable[OpOverload]) -> None:
    """Check that what is registered under the names of these ops takes their calls.

    Raises
    ------
    ExportError
        If any has another schema; shows both of each.
    """
    differing: list[tuple[OpOverload, OpOverload]] = []
    for op in ops:
        found = registered(op)
        if found is not None and found is not op and not accepts(found._schema, op._schema):
            differing.append((op, found))
    if differing:
        lines = [f"exported:   {old._schema}\n    registered: {new._schema}" for old, new in differing]
        raise ExportError(
            "the exported program calls ops that are registered with other schemas: "
            + ", ".join(old.name for old, _ in differing),
            got="\n    ".join(["", *lines]),
            hint="register the ops that the program was exported with, or export it again",
        )


def inner_graphs(node: Node) -> list[Graph]:
    """The graphs that a node calls or hands to an op; without a triton_op's body."""
    return [*([node.target] if isinstance(node.target, Graph) else []), *operand_graphs(node)]


def graphs_in(graph: Graph) -> Iterator[Graph]:
    """A graph and all inner ones; without the bodies of triton_ops."""
    yield graph
    for node in graph.nodes:
        for inner in inner_graphs(node):
            yield from graphs_in(inner)


def ops_in(graph: Graph, *, bodies: bool = True) -> dict[str, OpOverload]:
    """All ops that a graph calls, by name; those of inner graphs, and if wanted of triton_ops' bodies, too."""
    return {node.target.name: node.target for node in calls(graph, bodies=bodies)}


Find = Callable[[OpOverload], OpOverload | None]


def calls(graph: Graph, *, bodies: bool = True, find: Find = registered) -> Iterator[Node]:
    """The nodes that call ops, those of inner graphs too; `bodies`: also those of ops that `find` does not."""
    for node in graph.nodes:
        if node.op != "call_function":
            continue
        for inner in inner_graphs(node):
            yield from calls(inner, bodies=bodies, find=find)
        if isinstance(node.target, OpOverload):
            yield node
            if bodies and BODY in node.meta and find(node.target) is None:
                yield from calls(node.meta[BODY], find=find)


def link(graph: Graph, find: Find = registered) -> dict[OpOverload, Any]:
    """What to call for each op of a graph that is not itself registered.

    Parameters
    ----------
    graph : Graph
    find : callable
        Gives the registered op that may be called for one.

    Returns
    -------
    dict of OpOverload to OpOverload
        Without the triton_ops that are not registered: their bodies run.

    Raises
    ------
    ExportError
        If ops are missing; lists all of them with their schemas. If one is registered with another schema.
    """
    found: dict[OpOverload, Any] = {}
    missing: dict[str, OpOverload] = {}
    used: dict[OpOverload, None] = {}
    for node in calls(graph, find=find):
        op = node.target
        here = find(op)
        if here is None and BODY not in node.meta:
            missing[op.name] = op
        elif here is not None and here is not op:
            used[op] = None
            found[op] = here
    barred = sorted(name for name, op in missing.items() if registered(op) is not None)
    if barred:
        raise ExportError(
            f"a stranger's program calls ops that were not allowed: {', '.join(barred)}",
            got="it would choose their arguments",
            hint=f"load(..., allow={barred!r}) if that does no harm",
        )
    if missing:
        raise ExportError(
            f"the exported program calls {len(missing)} op{'s' if len(missing) > 1 else ''} "
            "that nothing is registered for",
            got="\n    ".join(["", *sorted(str(op._schema) for op in missing.values())]),
            hint="import the module that defines them, or define them with opweave.library.custom_op",
        )
    check_schemas(used)
    return found

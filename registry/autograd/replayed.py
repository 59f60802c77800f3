"""The nodes of a call that native code replays: what `record` puts behind the results of the ops that it leads to.

    f(x, w) = addmm(b, x, t(w))              written down: t, whose result is a view of w; addmm
    finish(result, x, w, b)                  a node for t with w's edge, one for addmm with those of b, x and that node

What lies between and is saved is a tensor that native code makes, too, and hands over behind the arguments. Which nodes
there are follows from the arguments' sizes, types and keys, which are those of the call that was written down; so
`finish` is compiled from it once.
"""

from __future__ import annotations

import weakref
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from opweave.registry.autograd import views
from opweave.registry.autograd.graph import AccumulateGrad, AutogradMeta, Node, edge_of, next_sequence
from opweave.registry.autograd.record import OpNode, Plan, tensors_at
from opweave.registry.autograd.saved import saved_as_it_is, saved_result
from opweave.registry.entry import compile_function
from opweave.registry.keys import GRAD
from opweave.registry.op import OpOverload
from opweave.registry.tensor import Tensor, as_alias, as_view


class Unlike(Exception):
    """A history that takes more than this."""


class _Recorded(NamedTuple):
    """A call that has a node."""

    plan: Plan
    values: dict[int | str, Any]
    #: Of each tensor argument: that of a given tensor as `t0`, the call before that gave it, or None without gradient.
    ways: list[str | int | None]
    specs: list[Any]
    sources: list[tuple[str, int | str | None, bool]]


#: (op, arguments, keywords, result), in order.
Calls = Sequence[tuple[OpOverload, tuple[Any, ...], dict[str, Any], Tensor]]


class _Writer:
    """Writes the function.

    Parameters
    ----------
    calls : sequence
        What the call led to.
    given : sequence
        Its arguments.
    node : OpNode
        What stands behind its result.
    """

    def __init__(self, calls: Calls, given: Sequence[Any], node: OpNode | None, is_tracked: bool) -> None:
        self.given, self.is_tracked = given, is_tracked
        #: Tensors that native code makes besides the result, by the number of the call that gives them.
        self.kept: dict[int, str] = {}
        self.numbers = {id(value): i for i, value in reversed(list(enumerate(given))) if isinstance(value, Tensor)}
        self.floats = {id(value): i for i, value in enumerate(given) if type(value) is float}
        self.calls = calls
        self.results = [result for *_, result in calls]
        self.bases = [args[0] if op.is_view and isinstance(args[0], Tensor) else None for op, args, _, _ in calls]
        self.recorded: dict[int, _Recorded] = {}
        self.made_by: dict[int, int] = {}
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "new": OpNode.__new__, "OpNode": OpNode, "edge_of": edge_of, "next_sequence": next_sequence, "GRAD": GRAD,
            "AutogradMeta": AutogradMeta, "inherit": views.inherit, "saved_result": saved_result, "as_view": as_view,
            "as_alias": as_alias,
            "saved_as_it_is": saved_as_it_is, "AccumulateGrad": AccumulateGrad, "ref": weakref.ref,
        }  # fmt: skip
        self.made: set[int] = set()
        for number, (op, args, kwargs, result) in enumerate(calls):
            self._take(number, op, args, kwargs, result)
        self.last = len(calls) - 1
        #: The call whose result the native code makes for that of the last one, which is a view of it.
        self.root = self.last if self._viewed(self.last) is not None else self._root(self.last)
        if node is not None:
            self._compare(self.last, node)
        else:
            self.recorded.clear()

    def _take(self, number: int, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], result: Tensor) -> None:
        bound, named = op._schema.bind(args, kwargs)  # some of them were left out
        values: dict[int | str, Any] = {**dict(enumerate(bound)), **named}
        tensors = [value for value in values.values() if isinstance(value, Tensor)]
        self.made_by[id(result)] = number
        if not any(self._way(t) is not None for t in tensors) or result._dtype.kind not in "fc":
            return
        plan = Plan(op, op.derivative_source()[1])
        if not plan.is_simple:
            raise Unlike
        ways: list[str | int | None] = []
        specs, wanted = [], []
        for position, sources in tensors_at(plan):
            t = bound[position]
            way = self._way(t) if isinstance(t, Tensor) else None
            ways.append(way)
            specs.append(t.spec if isinstance(t, Tensor) else None)
            wanted += (sources or plan.joint_sources if not wanted else sources) if way is not None else ()
        self.recorded[number] = _Recorded(plan, values, ways, specs, wanted)

    def _way(self, t: Tensor) -> str | int | None:
        if id(t) in self.numbers:
            return f"t{self.numbers[id(t)]}" if t._keys & GRAD else None
        number = self.made_by.get(id(t))
        return number if number in self.recorded else None

    def _compare(self, number: int, node: Node | None) -> None:
        """The nodes that the call got when it was made in Python are those that this one would make."""
        call = self.recorded.get(number)
        if call is None or type(node) is not OpNode or node.plan.op is not call.plan.op or not node.plan.is_simple:
            raise Unlike
        for way, edge in zip(call.ways, node.edges, strict=True):
            if (way is None) != (edge is None):
                raise Unlike
            if isinstance(way, int):
                assert edge is not None
                self._compare(way, edge[0])
        call = call._replace(plan=node.plan)
        self.recorded[number] = call

    # ---- text --------------------------------------------------------------------------------------------------------

    def write(self) -> Finish:
        final = self._made(self.last) if self.last not in self.recorded else ""
        for number in self.recorded:
            self._write(number)
        final = final or self._made(self.last)
        made = ["result", *(f"t{i}" for i in range(len(self.given))), *self.kept.values()]
        lines = [f"def $call({', '.join(made)}):", *self.lines, f"    return {final}"]
        label = f"<opweave nodes {self.calls[self.last][0].name}>"
        return Finish(
            compile_function(label, lines, self.names), self.results[self.root], [self.results[n] for n in self.kept]
        )

    def _write(self, number: int) -> None:
        plan, values, ways, specs, wanted = self.recorded[number]
        edges = ""
        for place, way in enumerate(ways):
            if isinstance(way, str):
                edge = f"edge{number}_{place}"
                self.lines += [line.format(t=way, edge=edge) for line in _EDGE]
                edges += f"{edge}, "
            else:
                edges += "None, " if way is None else f"(node{way}, 0), "
        self.names |= {f"specs{number}": tuple(specs), f"plan{number}": plan, f"counts{number}": [None] * len(specs)}
        node = f"node{number}"
        self.lines += [
            f"    {node} = $new($OpNode)",
            f"    {node}.edges = ({edges})",
            f"    {node}.input_specs, {node}.sequence = $specs{number}, $next_sequence()",
            f"    {node}.plan, {node}.counts = $plan{number}, $counts{number}",
        ]
        if number == self.last:
            final = self._made(number)
            whose = self._viewed(number)
            if plan.op.is_view and whose is not None:
                self.lines += [
                    f"    meta = t{whose}._autograd",
                    "    if meta is not None and meta.restriction is not None:",
                    f"        $inherit({final}, t{whose})",
                ]
        settled: dict[str, Any] = {}
        saving: list[str] = []
        for name, where, is_spec in wanted:
            value = None if where is None else values[where]
            if where is None:
                saving.append(f"    saved[{name!r}] = $saved_result({self._made(number)})")
            elif id(value) in self.floats:  # which may be another one the next time
                saving.append(f"    saved[{name!r}] = t{self.floats[id(value)]}")
            elif not isinstance(value, Tensor) or is_spec:
                settled[name] = value if not is_spec else value.spec if isinstance(value, Tensor) else None
            elif id(value) in self.numbers:
                saving.append(f"    saved[{name!r}] = $saved_as_it_is(t{self.numbers[id(value)]})")
            else:
                saving.append(f"    saved[{name!r}] = $saved_as_it_is({self._made(self.made_by.get(id(value)))})")
        self.names[f"settled{number}"] = settled
        self.lines += [f"    {node}.saved = saved = $settled{number}.copy()", *saving]

    def _attached(self, what: str, node: str) -> list[str]:
        return [
            f"    {what}._autograd = meta = $AutogradMeta()",
            f"    meta.grad_fn, meta.view_version = {node}, {what}._storage.version",
            f"    {what}._keys |= $GRAD",
        ]

    def _viewed(self, number: int) -> int | None:
        """The given tensor that the result of a call is a view of, or of a view of."""
        base = self.bases[number]
        while base is not None and id(base) not in self.numbers:
            made_by = self.made_by.get(id(base))
            base = None if made_by is None else self.bases[made_by]
        return None if base is None else self.numbers[id(base)]

    def _root(self, number: int) -> int:
        """The call whose result, in memory of its own, that of another call is a view of; itself where it is none."""
        while self.bases[number] is not None and id(self.bases[number]) not in self.numbers:
            before = self.made_by.get(id(self.bases[number]))
            if before is None:
                raise Unlike
            number = before
        return number

    def _made(self, number: int | None) -> str:
        """The result of a call: what native code makes, or a view of that or of a given tensor."""
        if number is None:
            raise Unlike
        whose, root = self._viewed(number), self._root(number)
        if number == self.last and (whose is not None or root == number):
            name = "result"
        elif root == number and whose is None:
            name = "result" if number == self.root else self.kept.setdefault(number, f"k{number}")
        else:
            name = f"v{number}"
        if number in self.made:
            return name
        self.made.add(number)
        if name == f"v{number}":
            result = self.results[number]
            base = self.given[whose] if whose is not None else self.results[root]
            of = f"t{whose}" if whose is not None else self._made(root)
            if result._dtype is not base._dtype:
                raise Unlike
            self.names[f"sizes{number}"], self.names[f"strides{number}"] = result._sizes, result._strides
            place = f"{of}._offset + {result._offset - base._offset}"
            tracked = self.is_tracked if number == self.last else whose is not None or self._is_tracked(number)
            view = "as_view" if tracked else "as_alias"
            self.lines.append(f"    {name} = ${view}({of}, $sizes{number}, $strides{number}, {place})")
        if number in self.recorded:
            self.lines += self._attached(name, f"node{number}")
        return name

    def _is_tracked(self, number: int) -> bool:
        """Whether autograd knows all views on the way to a result as such."""
        root = self._root(number)
        while number != root:
            if not getattr(self.calls[number][0].decl, "is_tracked", True):
                return False
            number = self.made_by[id(self.bases[number])]
        return True


class Finish(NamedTuple):
    """What makes results part of the graph.

    Attributes
    ----------
    function : callable
        `function(first, *given, *kept)` gives the result.
    first : Tensor
        What the first argument looks like: the result, or what it is a view of.
    kept : list of Tensor
        What the last arguments look like: other results of calls that are needed.
    """

    function: Callable[..., Tensor]
    first: Tensor
    kept: list[Tensor]


def finishing(calls: Calls, given: Sequence[Any], node: OpNode | None, is_tracked: bool) -> Finish:
    """What makes the results of calls like those part of the graph.

    Parameters
    ----------
    calls : sequence of (OpOverload, tuple, dict, Tensor)
        The ops that the call led to, in order, with their arguments and results.
    given : sequence
        The call's arguments: tensors among the ops' arguments are these, or results of ops before.
    node : OpNode or None
        What stands behind the result of the call that was made in Python.
    is_tracked : bool
        Whether autograd knows that result as a view.

    Returns
    -------
    Finish
        Its function makes the result part of the graph, and returns it. Tensors that are given have the sizes, strides,
        dtype and keys of those of the other call.

    Raises
    ------
    Unlike
        If an op is not simple.
    """
    return _Writer(calls, given, node, is_tracked).write()


#: Where the gradient of a tensor goes, as `edge_of` tells it, with what is not so usual left to that.
_EDGE = (
    "    meta = {t}._autograd",
    "    if meta is None or {t}._view_of is not None:",
    "        {edge} = $edge_of({t})",
    "    elif meta.grad_fn is not None:",
    "        {edge} = meta.grad_fn, meta.output",
    "    elif meta.hooks is not None:",
    "        {edge} = $edge_of({t})",
    "    else:",
    "        node = None if meta.accumulator is None else meta.accumulator()",
    "        if node is None:",
    "            node = $new($AccumulateGrad)",
    "            node.variable = {t}",
    "            meta.accumulator = $ref(node)",
    "        {edge} = node, 0",
)

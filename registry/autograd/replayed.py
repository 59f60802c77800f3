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
from opweave.registry.autograd.record import OpNode, Output, Plan, tensors_at
from opweave.registry.autograd.saved import SavedTensor, saved_as_it_is, saved_result
from opweave.registry.entry import compile_function
from opweave.registry.keys import GRAD
from opweave.registry.op import OpOverload
from opweave.registry.tape import results_of, tensors_in
from opweave.registry.tensor import Tensor, as_alias, as_view


class Unlike(Exception):
    """A history that takes more than this."""


class _Recorded(NamedTuple):
    """A call that has a node."""

    plan: Plan
    values: dict[int | str, Any]
    #: Of each tensor argument: that of a given tensor as `t0`, the result before that it is, or None without gradient.
    ways: list[str | _Key | None]
    specs: list[Any]
    #: Of each tensor argument None, or how many there are where it is a list of them.
    counts: list[int | None]
    sources: list[tuple[str, int | str | Output, bool]]
    #: Which results get a node.
    outputs: list[int]


class _Key(NamedTuple):
    """A result: the number of the call that gives it, and which of its results it is."""

    call: int
    output: int


#: (op, arguments, keywords, result or results), in order.
Calls = Sequence[tuple[OpOverload, tuple[Any, ...], dict[str, Any], Any]]


class _Writer:
    """Writes the function.

    Parameters
    ----------
    calls : sequence
        What the call led to.
    given : sequence
        Its arguments.
    nodes : sequence of OpNode or None
        What stands behind its results.
    """

    def __init__(
        self, calls: Calls, given: Sequence[Any], nodes: Sequence[OpNode | None], is_tracked: bool,
        results: Sequence[Tensor], kind: type,
    ) -> None:  # fmt: skip
        self.given, self.is_tracked, self.kind = given, is_tracked, kind
        #: Tensors that native code makes besides the result, by which results of the calls they are.
        self.kept: dict[_Key, str] = {}
        #: The tensors that are given, and what they are called.
        self.tensors: dict[str, Tensor] = {}
        for i, value in enumerate(given):
            if isinstance(value, Tensor):
                self.tensors[f"t{i}"] = value
            elif tensors_in(value):
                self.tensors |= {f"t{i}[{j}]": t for j, t in enumerate(value)}
        self.numbers = {id(t): name for name, t in reversed(self.tensors.items())}
        self.floats = {id(value): i for i, value in enumerate(given) if type(value) is float}
        self.calls = calls
        self.results = {_Key(n, i): t for n, (*_, found) in enumerate(calls) for i, t in enumerate(results_of(found))}
        self.bases = [args[0] if op.is_view and isinstance(args[0], Tensor) else None for op, args, _, _ in calls]
        self.recorded: dict[int, _Recorded] = {}
        self.made_by: dict[int, _Key] = {}
        self.lines: list[str] = []
        self.names: dict[str, Any] = {
            "new": OpNode.__new__, "OpNode": OpNode, "edge_of": edge_of, "next_sequence": next_sequence, "GRAD": GRAD,
            "AutogradMeta": AutogradMeta, "inherit": views.inherit, "saved_result": saved_result, "as_view": as_view,
            "as_alias": as_alias, "saved_output": SavedTensor,
            "saved_as_it_is": saved_as_it_is, "AccumulateGrad": AccumulateGrad, "ref": weakref.ref,
        }  # fmt: skip
        self.made: set[_Key] = set()
        for number, (op, args, kwargs, found) in enumerate(calls):
            self._take(number, op, args, kwargs, results_of(found))
        #: Which results of the calls the whole has; a single one is the last call's.
        last = len(calls) - 1
        self.wanted = [self.made_by.get(id(t), _Key(last, 0)) for t in results]
        self.last = self.wanted[0]
        several = kind is not Tensor
        if len(set(self.wanted)) < len(results) or not several and self.last.call != last:
            raise Unlike
        if several and any(self._viewed(key) is not None or self._root(key) != key for key in self.wanted):
            raise Unlike
        #: The one that native code makes for it, of which it may be a view.
        self.root = self.last if self._viewed(self.last) is not None else self._root(self.last)
        if not any(nodes):
            self.recorded.clear()
        for key, node in zip(self.wanted, nodes, strict=True):
            is_recorded = key.call in self.recorded and key.output in self.recorded[key.call].outputs
            if is_recorded != (node is not None):
                raise Unlike
            if node is not None:
                self._compare(key.call, node)

    def _take(
        self, number: int, op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any], results: Sequence[Tensor]
    ) -> None:
        bound, named = op._schema.bind(args, kwargs)  # some of them were left out
        values: dict[int | str, Any] = {**dict(enumerate(bound)), **named}
        self.made_by |= {id(t): _Key(number, i) for i, t in enumerate(results)}
        tensors = [
            t for value in values.values() for t in ([value] if isinstance(value, Tensor) else tensors_in(value))
        ]
        if not any(self._way(t) is not None for t in tensors):
            return
        derivative = op.derivative_source()[1]
        kept = None if derivative is None else derivative.differentiable
        outputs = [i for i, t in enumerate(results) if t._dtype.kind in "fc" and (kept is None or i in kept)]
        if not outputs:
            return
        plan = Plan(op, derivative)
        if not plan.is_replayable:
            raise Unlike
        ways: list[str | _Key | None] = []
        specs, counts, wanted = [], [], []
        joint = None if derivative is None else derivative.joint
        shared = () if joint is None else plan.sources(joint)
        for position, sources in tensors_at(plan):
            value = bound[position]
            items = tensors_in(value) if isinstance(value, (list, tuple)) else [value]
            if isinstance(value, (list, tuple)) and len(items) != len(value):
                raise Unlike
            found = [self._way(t) if isinstance(t, Tensor) else None for t in items]
            ways += found
            specs += [t.spec if isinstance(t, Tensor) else None for t in items]
            counts.append(len(items) if isinstance(value, (list, tuple)) else None)
            if any(way is not None for way in found):
                wanted += sources or shared if not wanted else sources
        self.recorded[number] = _Recorded(plan, values, ways, specs, counts, wanted, outputs)

    def _way(self, t: Tensor) -> str | _Key | None:
        if id(t) in self.numbers:
            return self.numbers[id(t)] if t._keys & GRAD else None
        key = self.made_by.get(id(t))
        if key is None or key.call not in self.recorded:
            return None
        return key if key.output in self.recorded[key.call].outputs else None

    def _compare(self, number: int, node: Node | None) -> None:
        """The nodes that the call got when it was made in Python are those that this one would make."""
        call = self.recorded.get(number)
        if call is None or type(node) is not OpNode or node.plan.op is not call.plan.op:
            raise Unlike
        if node.plan.is_simple != call.plan.is_simple or not node.plan.is_replayable or node.summed_levels is not None:
            raise Unlike
        for way, edge in zip(call.ways, node.edges, strict=True):
            if (way is None) != (edge is None):
                raise Unlike
            if isinstance(way, _Key):
                assert edge is not None
                if edge[1] != way.output:
                    raise Unlike
                self._compare(way.call, edge[0])
        call = call._replace(plan=node.plan)
        self.recorded[number] = call

    # ---- text --------------------------------------------------------------------------------------------------------

    def write(self) -> Finish:
        final = self._made(self.last) if self.last.call not in self.recorded else ""
        for number in self.recorded:
            self._write(number)
        final = final or self._made(self.last)
        if self.kind is not Tensor:
            parts = "".join(f"{self._made(key)}, " for key in self.wanted)
            final = f"[{parts}]" if self.kind is list else f"({parts})"
            if self.kind not in (tuple, list):  # whose parts have names
                self.names["kind"] = self.kind
                final = f"$kind._make({final})"
        made = ["result", *(f"t{i}" for i in range(len(self.given))), *self.kept.values()]
        lines = [f"def $call({', '.join(made)}):", *self.lines, f"    return {final}"]
        label = f"<opweave nodes {self.calls[self.last.call][0].name}>"
        return Finish(
            compile_function(label, lines, self.names),
            self.results[self.root],
            [self.results[key] for key in self.kept],
        )

    def _write(self, number: int) -> None:
        plan, values, ways, specs, counts, wanted, outputs = self.recorded[number]
        edges = ""
        for place, way in enumerate(ways):
            if isinstance(way, str):
                edge = f"edge{number}_{place}"
                self.lines += [line.format(t=way, edge=edge) for line in _EDGE]
                edges += f"{edge}, "
            else:
                edges += "None, " if way is None else f"(node{way.call}, {way.output}), "
        self.names |= {f"specs{number}": tuple(specs), f"plan{number}": plan, f"counts{number}": counts}
        node = f"node{number}"
        self.lines += [
            f"    {node} = $new($OpNode)",
            f"    {node}.edges = ({edges})",
            f"    {node}.input_specs, {node}.sequence = $specs{number}, $next_sequence()",
            f"    {node}.plan, {node}.counts = $plan{number}, $counts{number}",
        ]
        if not plan.is_simple:
            all_results = results_of(self.calls[number][3])
            self.names[f"outputs{number}"] = [t.spec for t in all_results]
            self.lines.append(
                f"    {node}.output_count, {node}.output_specs = {len(all_results)}, $outputs{number}.copy()"
            )
        if number == self.last.call:
            final = self._made(self.last)
            whose = self._viewed(self.last)
            if plan.op.is_view and whose is not None:
                self.lines += [
                    f"    meta = {whose}._autograd",
                    "    if meta is not None and meta.restriction is not None:",
                    f"        $inherit({final}, {whose})",
                ]
        settled: dict[str, Any] = {}
        saving: list[str] = []
        for name, where, is_spec in wanted:
            value = None if isinstance(where, Output) else values[where]
            if isinstance(where, Output):
                saving.append(f"    saved[{name!r}] = {self._saved_output(_Key(number, where.number), outputs)}")
            elif id(value) in self.floats:  # which may be another one the next time
                saving.append(f"    saved[{name!r}] = t{self.floats[id(value)]}")
            elif is_spec:
                settled[name] = _spec_of(value)
            elif isinstance(value, Tensor):
                saving.append(f"    saved[{name!r}] = {self._saved(value)}")
            elif tensors_in(value):
                saving.append(f"    saved[{name!r}] = [{', '.join([self._saved(t) for t in tensors_in(value)])}]")
            else:
                settled[name] = value
        self.names[f"settled{number}"] = settled
        self.lines += [f"    {node}.saved = saved = $settled{number}.copy()", *saving]

    def _saved(self, t: Tensor) -> str:
        name = self.numbers.get(id(t)) or self._made(self.made_by.get(id(t)))
        return f"$saved_as_it_is({name})"

    def _saved_output(self, key: _Key, outputs: Sequence[int]) -> str:
        """A result that its own node saves."""
        made = self._made(key)
        if key.output not in outputs:
            return f"$saved_as_it_is({made})"
        return f"$saved_output({made}, {key.output})" if key.output else f"$saved_result({made})"

    def _attached(self, what: str, key: _Key) -> list[str]:
        return [
            f"    {what}._autograd = meta = $AutogradMeta()",
            f"    meta.grad_fn, meta.view_version = node{key.call}, {what}._storage.version",
            *([f"    meta.output = {key.output}"] if key.output else []),
            f"    {what}._keys |= $GRAD",
        ]

    def _base(self, key: _Key) -> Tensor | None:
        return self.bases[key.call]

    def _viewed(self, key: _Key) -> str | None:
        """The given tensor that a result is a view of, or of a view of."""
        base = self._base(key)
        while base is not None and id(base) not in self.numbers:
            made_by = self.made_by.get(id(base))
            base = None if made_by is None else self._base(made_by)
        return None if base is None else self.numbers[id(base)]

    def _root(self, key: _Key) -> _Key:
        """The result, in memory of its own, that another one is a view of; itself where it is none."""
        base = self._base(key)
        while base is not None and id(base) not in self.numbers:
            before = self.made_by.get(id(base))
            if before is None:
                raise Unlike
            key, base = before, self._base(before)
        return key

    def _made(self, key: _Key | None) -> str:
        """A result: what native code makes, or a view of that or of a given tensor."""
        if key is None:
            raise Unlike
        whose, root = self._viewed(key), self._root(key)
        if key == self.last and (whose is not None or root == key):
            name = "result"
        elif root == key and whose is None:
            name = "result" if key == self.root else self.kept.setdefault(key, f"k{key.call}_{key.output}")
        else:
            name = f"v{key.call}_{key.output}"
        if key in self.made:
            return name
        self.made.add(key)
        if name.startswith("v"):
            result = self.results[key]
            base = self.tensors[whose] if whose is not None else self.results[root]
            of = whose if whose is not None else self._made(root)
            if result._dtype is not base._dtype:
                raise Unlike
            sizes, strides = f"sizes{key.call}_{key.output}", f"strides{key.call}_{key.output}"
            self.names[sizes], self.names[strides] = result._sizes, result._strides
            place = f"{of}._offset + {result._offset - base._offset}"
            tracked = self.is_tracked if key == self.last else whose is not None or self._is_tracked(key)
            view = "as_view" if tracked else "as_alias"
            self.lines.append(f"    {name} = ${view}({of}, ${sizes}, ${strides}, {place})")
        if key.call in self.recorded and key.output in self.recorded[key.call].outputs:
            self.lines += self._attached(name, key)
        return name

    def _is_tracked(self, key: _Key) -> bool:
        """Whether autograd knows all views on the way to a result as such."""
        root = self._root(key)
        while key != root:
            if not getattr(self.calls[key.call][0].decl, "is_tracked", True):
                return False
            key = self.made_by[id(self._base(key))]
        return True


def _spec_of(value: Any) -> Any:
    if isinstance(value, Tensor):
        return value.spec
    return [t.spec for t in value] if isinstance(value, (list, tuple)) else None


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


def finishing(
    calls: Calls, given: Sequence[Any], nodes: Sequence[OpNode | None], is_tracked: bool, results: Sequence[Tensor],
    kind: type = Tensor,
) -> Finish:  # fmt: skip
    """What makes the results of calls like those part of the graph.

    Parameters
    ----------
    calls : sequence of (OpOverload, tuple, dict, Tensor or tuple)
        The ops that the call led to, in order, with their arguments and results.
    given : sequence
        The call's arguments: tensors among the ops' arguments are these, in lists of them, or results of ops before.
    nodes : sequence of OpNode or None
        What stands behind the results of the call that was made in Python.
    is_tracked : bool
        Whether autograd knows a single result as a view.
    results : sequence of Tensor
        Which of the ops' results the call gives.
    kind : type
        Tensor where it gives that one, else list, tuple, or a tuple whose parts have names.

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
    return _Writer(calls, given, nodes, is_tracked, results, kind).write()


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

"""Let launches of users' kernels take in the pointwise kernels next to them, on both sides.

    h = (x * w + b)              kernel 0          kernel 0   mul, add, softmax_kernel, mul
    y = softmax_kernel(h)        a launch    ->
    z = y * mask                 kernel 1

What is done with a tensor that a kernel stores can be done where it stores it, and what computes one that it loads
where it loads it. It is right for any kernel, in whatever order it works, if

* every access of the tensor is known to be a store, or every one a load (`registry.triton.access`), it has one name in
  the launch, and it is dense;
* what the tensor held before a store cannot show: the stores reach all of it, or what is done with it makes nothing
  definite of what is not;
* what the functions read besides does not depend on the launch, and nothing that must run in between does.

It pays if little is computed more than once: a kernel may load an element many times.

Of a tuned kernel all of that is asked of each configuration, with its own grid. What some of them allow is taken in,
and the others are left out: they run unfused (`codegen.tuning`). What is relied on whichever of them runs, that memory
need not be filled, or that reads and writes can be apart, must hold of all.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import field
from itertools import pairwise
from math import isfinite
from typing import Any

from opweave.passes.variants import Variant, variants_of
from opweave.registry.dataclass import dataclass
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor
from opweave.registry.triton_op import kernels, triton_kernel_wrapper_functional, tuner_of
from opweave.tracer.declared import declared, kind_of
from opweave.tracer.effects import is_random
from opweave.tracer.graph import Graph, Node, computed_from, needed_for
from opweave.tracer.launches import APART, ELEMENTS, TUNED, Tuning, is_empty
from opweave.tracer.loops.iteration import classify, numel_of
from opweave.tracer.loops.size import Size, hint, sizes

#: Why the region with this launch in it cannot be one kernel; empty where it can.
Objection = Callable[[Graph], str]

_OFTEN = 2.0
"""How often an element may be computed on average."""
_WASTE = 4.0
"""The same of what is done with an element that is stored, of which most lanes may be masked."""
_LARGEST = 160
"""Members of a region."""


@dataclass(eq=False)
class Absorption:
    """A launch with what it takes in.

    Attributes
    ----------
    launch : Node
        The launch.
    own : list of Node
        The launch, its results and the memory that is made for it.
    members : list of Node
        All nodes of its region, in program order.
    results : list of Node
        Those that are needed outside.
    taken : int
        How many kernels it has taken in, whole or in part.
    """

    launch: Node
    own: list[Node]
    members: list[Node] = field(init=False)
    results: list[Node] = field(default_factory=list[Node])
    taken: int = 0

    def __post_init__(self) -> None:
        self.members = self.own


def renew(graph: Graph) -> None:
    """Give launches memory with nothing in it where they fill it: what was in it need not be computed, or copied."""
    for node in [node for node in graph.nodes if node.target is triton_kernel_wrapper_functional]:
        operands = node.kwargs["kwargs"]
        filled = [n for n in node.kwargs["tensors_to_clone"] if not is_empty(operands[n])]
        variants = variants_of(node) if filled else ""
        if isinstance(variants, str):
            continue
        launch = _Launch(node, variants)
        for name in filled:
            if not launch.is_overwritten(name):
                continue
            value = operands[name].meta["val"]
            with graph.inserting_before(node):
                layout = list(value._sizes), list(value._strides)
                made = graph.call_function(
                    ops.aten.empty_strided.default, layout, {"dtype": value._dtype, "device": value._device}
                )
            made.meta.update({"val": value, **{k: node.meta[k] for k in ("site", "stack") if k in node.meta}})
            old, operands = operands[name], {**operands, name: made}
            node.set_operands(node.args, {**node.kwargs, "kwargs": operands})
            if not old.users and declared(old) is not None and not is_random(old):
                graph.erase_node(old)


class Absorber:
    """Decides for the launches of a graph.

    Parameters
    ----------
    order : mapping of Node to int
        The graph's nodes, and their places.
    steps : list
        What the fusion pass has made kernels, with their `members` and `results`. Those that a launch takes in are
        removed, or lose results.
    calls : container of Node
        What runs by itself. A view can do that and be in kernels as well.
    ordered : sequence of Node
        Calls that keep their order, the last one first.
    region_of : callable
        Makes a region of members and results.
    objection : callable
        Asks codegen.
    """

    def __init__(
        self, order: Mapping[Node, int], steps: list[Any], calls: Container[Node], ordered: Sequence[Node],
        region_of: Callable[[Sequence[Node], Sequence[Node]], Graph], objection: Objection,
    ) -> None:  # fmt: skip
        self.order, self.steps, self.calls, self.region_of, self.objection = order, steps, calls, region_of, objection
        self.found: list[Absorption] = []
        #: Launches, and why they do not take in something.
        self.refusals: list[tuple[Node, str]] = []
        self.earlier = dict(pairwise(ordered))

    def run(self) -> None:
        for node in list(self.order):
            if node.target is triton_kernel_wrapper_functional:
                self._launch(node)

    # ---- one launch

    def _launch(self, node: Node) -> None:
        if not self._has_neighbours(node):
            return
        variants = variants_of(node)
        if isinstance(variants, str):
            self.refusals.append((node, variants))
            return
        launch = _Launch(node, variants)
        doubled = [name for name in launch.written if len(launch.names(launch.operands[name])) > 1]
        reason = self._tuning_objection(launch)
        if doubled and not reason:
            reason = f"it writes {doubled[0]}, which has another name in the launch"
        if reason:
            self.refusals.append((node, reason))
            return
        items = [user for user in node.users if user.target is operator.getitem]
        region = Absorption(node, self._ordered([node, *items, *launch.memory()]))
        launch.apart = frozenset(name for name in launch.written if self._is_apart(launch, name))
        node.meta[APART] = launch.apart
        for name in launch.written:
            if not launch.items(name) and name not in launch.apart and not launch.only_stores(name):
                self.refusals.append((node, f"it changes {name}, which nobody reads afterwards"))
                return
        region.taken += sum(self._step_behind(launch.operands[name]) is None for name in launch.apart)
        for name in launch.written:
            for step in self._readers(launch.items(name)):
                self._after(launch, name, step, region)
        region.results += [item for item in items if not self._is_inside(item, region)]
        for operand in dict.fromkeys(v for v in launch.operands.values() if isinstance(v, Node)):
            self._before(launch, operand, region)
        if region.taken:
            self.found.append(region)
            if len(variants) > 1:
                numbers = tuple(variant.number for variant in launch.variants)
                refused = tuple((number, why) for number, why in launch.left.items())
                node.meta[TUNED] = Tuning(tuple(variant.label for variant in variants), numbers, refused)

    def _tuning_objection(self, launch: _Launch) -> str:
        """Why a tuned launch stays as it is; tuning it by itself would show in its results."""
        kernel = kernels[launch.node.kwargs["kernel_idx"]]
        tuner = tuner_of(kernel) if len(launch.variants) > 1 else None
        if tuner is None:
            return ""
        for name in tuner.keys:
            if isinstance(launch.operands.get(name), Node) and isinstance(launch.operands[name].meta["val"], Tensor):
                return f"the kernel is tuned by {name}, which is a tensor"
        for name in tuner.reset_to_zero:
            operand = launch.operands.get(name)
            if isinstance(operand, Node) and not is_empty(operand) and not _is_zero(operand):
                return f"tuning sets {name} to zero (reset_to_zero), which may hold something else"
        return ""

    def _is_apart(self, launch: _Launch, name: str) -> bool:
        """Whether a kernel that writes in place had better read one tensor and write another."""
        operand = launch.operands[name]
        if operand.op == "placeholder":
            wanted = not any(u.target is ops.aten.copy_.default and u.args[0] is operand for u in operand.users)
        else:
            wanted = self._step_behind(operand) is not None or len(operand.users) > 1
        return wanted and not is_empty(operand) and launch.is_apart(name)

    def _has_neighbours(self, node: Node) -> bool:
        if any(n.op == "placeholder" or len(n.users) > 1 for n in self._written(node)):
            return True
        items = [user for user in node.users if user.target is operator.getitem]
        return bool(self._readers(items)) or any(self._behind(n)[2] is not None for n in node.all_input_nodes)

    def _written(self, node: Node) -> list[Node]:
        """What a launch writes in place."""
        operands = [node.kwargs["kwargs"][name] for name in node.kwargs["tensors_to_clone"]]
        return [operand for operand in operands if not is_empty(operand)]

    def _readers(self, nodes: Sequence[Node]) -> list[Any]:
        """The kernels that read nodes from memory."""
        return [step for step in self.steps if any(_reads_one(step, node) for node in nodes)]

    def _maker(self, node: Node) -> Any:
        """The kernel that stores a node."""
        return next((step for step in self.steps if node in step.results), None)

    def _behind(self, node: Node) -> tuple[list[Node], Node, Any]:
        """The views between a node and what a kernel stores, the first one first; what it stores; the kernel."""
        views: list[Node] = []
        made, step = node, self._maker(node)
        while step is None and made in self.calls and _is_view(made):
            views.insert(0, made)
            made = made.all_input_nodes[0]
            step = self._maker(made)
        return views, made, step

    def _step_behind(self, node: Node) -> Any:
        """The kernel that computes a node, or what a node shows as a whole."""
        _, made, step = self._behind(node)
        return step if step is not None and numel_of(made) == numel_of(node) else None

    def _is_inside(self, item: Node, region: Absorption) -> bool:
        """Whether nothing outside of a region reads a result of its launch."""
        others = any(_reads_one(step, item) for step in (*self.steps, *self.found))
        calls = any(user in self.calls for user in item.users)
        return bool(item.users) and set(item.users) <= set(region.members) and not others and not calls

    def _ordered(self, nodes: Iterable[Node]) -> list[Node]:
        return sorted(set(nodes), key=self.order.__getitem__)

    def _refuse(self, launch: _Launch, side: str, name: str, reason: str) -> None:
        self.refusals.append((launch.node, f"{side} {name}: {reason}"))

    # ---- what is done with what it stores

    def _after(self, launch: _Launch, name: str, step: Any, region: Absorption) -> None:
        items, before = launch.items(name), (launch.variants, launch.left)
        reached = computed_from(items, set(step.members))
        below = [n for n in step.members if n in reached]
        reason = (
            launch.store_objection(name)
            or ("" if all(map(_is_pointwise, step.members)) else "what reads it is more than pointwise")
            or ("" if {*below} >= {*step.results} else "what reads it makes something else too")
            or self._dependence(step, region, items)
            or launch.narrowed(lambda variant: _often(launch.repeats(variant, name, "store"), below, _WASTE))
            or launch.contents_objection(name, below, items)
        )
        if not reason and len(region.members) + len(step.members) > _LARGEST:
            reason = f"a kernel of {_LARGEST} ops"
        members = self._ordered([*region.members, *step.members])
        if not reason:
            results = self._ordered([*region.results, *step.results])
            reason = self.objection(self.region_of(members, results))
        if reason:
            launch.variants, launch.left = before
            self._refuse(launch, "after", name, reason)
            return
        region.members = members
        region.results += step.results
        region.taken += 1
        self.steps.remove(step)

    def _dependence(self, step: Any, region: Absorption, items: Sequence[Node]) -> str:
        """Why a kernel cannot run together with a launch."""
        inside = {*region.members}
        reads = _reads(step) - {*items}
        if not reads.isdisjoint(inside):
            return "what reads it reads another result of the launch"
        makers = {node: s for s in (*self.steps, *self.found) for node in s.results}
        waiting, seen = list(reads), set[Any]()
        while waiting:
            node = waiting.pop()
            if node in seen:
                continue
            seen.add(node)
            if node in inside:
                return "what reads it needs something that comes after the launch"
            maker = makers.get(node)
            waiting += _reads(maker) if maker is not None else node.all_input_nodes
            if node in self.earlier:
                waiting.append(self.earlier[node])
        return ""

    # ---- what computes what it loads

    def _before(self, launch: _Launch, operand: Node, region: Absorption) -> None:
        views, made, step = self._behind(operand)
        if step is None:
            return
        names = [name for name, value in launch.operands.items() if value is operand]
        needed, before = needed_for([made], set(step.members)), (launch.variants, launch.left)
        members = [*(n for n in step.members if n in needed), *views]
        reason = ""
        chain = [made, *views, launch.node]
        if any(self._is_needed_beside(node, reader, launch.node, region) for node, reader in pairwise(chain)):
            reason = "it is needed elsewhere too"
        elif not all(map(_is_pointwise, members)):
            reason = "what computes it is more than pointwise"
        elif numel_of(made) != numel_of(operand):  # a kernel may look around a part that it is given
            reason = "a view shows a part of what is computed, or all of it repeatedly"
        for name in names:
            reason = reason or launch.load_objection(name)
        more = _bytes(_reads_of(members)) > _bytes([operand])

        def cost(variant: Variant) -> str:
            repeats = [launch.repeats(variant, name, "load") for name in names]
            total = None if None in repeats else sum(r for r in repeats if r is not None)
            if total is not None and total > _OFTEN and more:
                return f"each element is loaded {total:.1f} times, and computed from more bytes than it has"
            return _often(total, members)

        reason = reason or launch.narrowed(cost)
        joined = self._ordered([*region.members, *members])
        if not reason:
            reason = self.objection(self.region_of(joined, self._ordered(region.results)))
        if reason:
            launch.variants, launch.left = before
            self._refuse(launch, "before", names[0], reason)
            return
        region.members = joined
        region.own += views
        region.taken += 1
        step.results.remove(made)
        if not step.results:
            self.steps.remove(step)
        else:
            needed = needed_for(step.results, set(step.members))
            step.members[:] = [n for n in step.members if n in needed]

    def _is_needed_beside(self, node: Node, reader: Node, launch: Node, region: Absorption) -> bool:
        """Whether something reads a node from memory besides the one call on the way to a launch."""
        for user in node.users:
            steps = [*self.steps, *self.found] if user is launch else [*self.steps, *self.found, region]
            if any(user in step.members and node not in step.members for step in steps):
                return True
            if user is not reader and user in self.calls:
                return True
        return False


class _Launch:
    """A launch and what is known of its kernel.

    Attributes
    ----------
    variants : tuple of Variant
        The configurations that can take in what was agreed on so far.
    left : dict of int to str
        The others, and why they cannot.
    """

    def __init__(self, node: Node, variants: Sequence[Variant]) -> None:
        self.node = node
        self.operands: Mapping[str, Any] = node.kwargs["kwargs"]
        self.written: Sequence[str] = node.kwargs["tensors_to_clone"]
        self.variants = tuple(variants)
        self.left: dict[int, str] = {}
        #: Operands that are read in one place and written in another.
        self.apart: frozenset[str] = frozenset()

    def narrowed(self, objection: Callable[[Variant], str]) -> str:
        """Leave out the configurations that have an objection; if all have one, that of the first."""
        reasons = [(variant, objection(variant)) for variant in self.variants]
        fit = tuple(variant for variant, reason in reasons if not reason)
        if not fit:
            variant, reason = reasons[0]
            return f"{reason} ({variant.label})" if variant.label else reason
        self.left = {**self.left, **{variant.number: reason for variant, reason in reasons if reason}}
        self.variants = fit
        return ""

    def only_stores(self, name: str) -> bool:
        """Whether the kernel does nothing else with an operand."""
        return all(variant.only_stores(name) for variant in self.variants)

    def is_overwritten(self, name: str) -> bool:
        """Whether what an operand held before does not matter: the kernel stores to all of it, and looks at nothing."""
        layout = dense(self.operands[name].meta["val"])
        if layout is None or not self.only_stores(name) or len(self.names(self.operands[name])) > 1:
            return False
        return all(variant.covers(name, *layout) for variant in self.variants)

    def is_apart(self, name: str) -> bool:
        """Whether an operand that the kernel writes in place need not be one."""
        layout = dense(self.operands[name].meta["val"])
        if layout is None or len(self.names(self.operands[name])) > 1:
            return False
        return all(variant.is_apart(name, layout) for variant in self.variants)

    def items(self, name: str) -> list[Node]:
        """The nodes that stand for what an operand holds afterwards."""
        return [u for u in self.node.users if u.target is operator.getitem and u.args[1] == name]

    def names(self, operand: Any) -> list[str]:
        return [name for name, value in self.operands.items() if value is operand]

    def is_fresh(self, name: str) -> bool:
        """Whether an operand is memory that is made for the launch."""
        operand = self.operands[name]
        return is_empty(operand) and set(operand.users) == {self.node} and len(self.names(operand)) == 1

    def memory(self) -> list[Node]:
        """The calls that make such memory."""
        return [self.operands[name] for name in self.written if self.is_fresh(name)]

    def _objection(self, variant: Variant, name: str, kind: str) -> str:
        parameter = variant.parameter(name)
        if parameter is None:
            return "it is no pointer of the kernel"
        if parameter.escapes:
            return parameter.escapes[0].reason
        others = [a for a in parameter.accesses if a.kind != kind and name not in self.apart]
        if others:
            verb = {"load": "reads", "store": "writes", "atomic": "changes, by atomics,"}[others[0].kind]
            return f"the kernel {verb} it too" + (f" ({others[0].where})" if others[0].where else "")
        if not parameter.accesses:
            return "the kernel does not use it"
        value = self.operands[name].meta["val"]
        elem = ELEMENTS.get(value._dtype.name)
        if elem is None or any(a.elem != elem for a in parameter.accesses):
            return f"the kernel takes its {value._dtype.name} as something else"
        if any(a.via == "descriptor" and a.op.operands[0].block is not None for a in parameter.accesses):
            return "it is given as a descriptor"
        return ""

    def store_objection(self, name: str) -> str:
        """Why nothing can be done with an operand where it is stored to."""
        if len(self.names(self.operands[name])) > 1:
            return "it has another name in the launch"
        return self.narrowed(lambda variant: self._objection(variant, name, "store"))

    def load_objection(self, name: str) -> str:
        """Why an operand cannot be computed where it is loaded."""

        def objection(variant: Variant) -> str:
            volatile = any(access.volatile for access in variant.accesses_of(name))
            return self._objection(variant, name, "load") or ("the kernel loads it as volatile" if volatile else "")

        return self.narrowed(objection)

    def contents_objection(self, name: str, users: Sequence[Node], items: Sequence[Node]) -> str:
        """Why what an operand held before may show in what is computed of it."""
        if self.is_fresh(name) and all(_is_strict(node, users, items) for node in users):
            return ""
        layout = dense(items[0].meta["val"])

        def objection(variant: Variant) -> str:
            covered = layout is not None and variant.covers(name, *layout)
            return "" if covered else "the stores may not reach all of it"

        return self.narrowed(objection)

    def repeats(self, variant: Variant, name: str, kind: str) -> float | None:
        """How often each element is accessed on average; None if that is not known."""
        lanes = variant.lanes(name, kind)
        return None if lanes is None else lanes / max(1, numel_of(self.operands[name]))


def _is_zero(node: Node) -> bool:
    """Whether a call makes a tensor of zeros."""
    return node.target is ops.aten.zeros.default or (node.target is ops.aten.full.default and node.args[1] == 0)


def dense(value: Tensor) -> tuple[list[Size], list[Size]] | None:
    """Sizes and strides, outermost first, of a tensor whose elements lie side by side."""
    numbers = zip(sizes(value._sizes), sizes(value._strides), strict=True)
    dims = sorted(((s, n) for n, s in numbers if n != 1), key=lambda dim: -hint(dim[0]))
    need: Size = 1
    for stride, size in reversed(dims):
        if stride != need:
            return None
        need = need * size
    return [n for _, n in dims] or [1], [s for s, _ in dims] or [1]


def _is_pointwise(node: Node) -> bool:
    kind = classify(node)[0]
    return kind is not None and kind.elementwise


def _is_view(node: Node) -> bool:
    kind = classify(node)[0]
    return kind is not None and kind.is_layout


def _is_strict(node: Node, users: Sequence[Node], items: Sequence[Node]) -> bool:
    """Whether an element of what a node makes is definite only if that of the one operand is which depends on items."""
    if _is_view(node):
        return True
    changed = [n for n in node.all_input_nodes if n in items or n in users]
    same = sum(value in changed for value in node.args if isinstance(value, Node)) == 1
    kind = kind_of(node)
    return same and kind is not None and (kind.is_strict or _is_scaled(node))


def _is_scaled(node: Node) -> bool:
    """Whether a node is another, of floating type, by a finite number that is not 0."""
    by = [value for value in node.args if not isinstance(value, Node)]
    same = len(by) == 1 and isinstance(by[0], (int, float)) and by[0] != 0 and isfinite(by[0])
    return same and node.meta["val"]._dtype.kind == "f" and node.target in (ops.aten.mul.Tensor, ops.aten.div.Tensor)


def _often(repeats: float | None, members: Sequence[Node], most: float = _OFTEN) -> str:
    """Why members should not be computed so often."""
    costly = [n for n in members if _computes(n) and not _is_cheap(n)]
    if costly and (repeats is None or repeats > most):
        times = "an unknown number of" if repeats is None else f"{repeats:.1f}"
        return f"{costly[0].target.opname} would be computed {times} times"
    return ""


def _computes(node: Node) -> bool:
    kind = classify(node)[0]
    return kind is not None and kind.elementwise and bool(kind.cost)


def _is_cheap(node: Node) -> bool:
    kind = kind_of(node)
    return kind is not None and kind.is_cheap


def _reads_one(step: Any, node: Node) -> bool:
    return node not in step.members and not node.users.keys().isdisjoint(step.members)


def _reads(step: Any) -> set[Node]:
    """What a step takes from memory."""
    return _reads_of(step.members)


def _reads_of(members: Sequence[Node]) -> set[Node]:
    inside = set(members)
    return {operand for node in members for operand in node.all_input_nodes if operand not in inside}


def _bytes(nodes: Iterable[Node]) -> int:
    values = [node.meta.get("val") for node in nodes]
    return sum(numel_of(n) * v._dtype.itemsize for n, v in zip(nodes, values, strict=True) if isinstance(v, Tensor))

"""The Autograd kernel of every op: run it, and put a node behind its results.

The plan of an op (which arguments are tensors, which are written, what its formulas need) is made once from its schema
and its derivative. An op written with others (a composite) has no formula of its own unless it declares one: its body
is run and each of its ops recorded.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from opweave.registry.autograd import anomaly, views
from opweave.registry.autograd.formula import Derivative, Formula
from opweave.registry.autograd.graph import (
    ErrorNode,
    Grads,
    Node,
    attach,
    edge_of,
    next_sequence,
)
from opweave.registry.autograd.saved import SavedResult, SavedTensor, drop, restore, save
from opweave.registry.batched import levels_among, levels_of
from opweave.registry.dispatching import resolvers
from opweave.registry.errors import AutogradError
from opweave.registry.kernels import Kernel
from opweave.registry.keys import ABOVE_VIEWS, ANOMALY, AUTOGRAD_MASK, BATCHED_BIT, GRAD, DispatchKey, state
from opweave.registry.op import OpOverload, ops
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor
from opweave.registry.types import TENSOR

_UP_TO_VIEWS = DispatchKey.ADInplaceOrView.bit * 2 - 1


_OF_THE_CALL = frozenset({"grad", "grads", "needs"})
_KNOWN = _OF_THE_CALL | {"result"}


class Output(NamedTuple):
    """One of an op's results, by its number."""

    number: int


class Plan:
    """What recording a call of an op takes.

    Attributes
    ----------
    tensors : tuple of (str, bool)
        The arguments that are tensors or lists of them, and which are lists.
    written : tuple of str
        The arguments written to.
    """

    def __init__(self, op: OpOverload, derivative: Derivative | None):
        self.op = op
        self.derivative = derivative
        schema = op._schema
        self.names = tuple(a.name for a in schema.arguments)
        self.tensors = tuple((a.name, a.type.is_list) for a in schema.arguments if a.type.has_tensor)
        self.written = op.mutated_args
        self.label = "".join(part.capitalize() for part in op.opname.strip("_").split("_")) + "Backward0"

        self.positional = sum(not a.kwarg_only for a in schema.arguments)
        tensor_names = {name for name, _ in self.tensors}
        formulas = [] if derivative is None else [*derivative.by_argument.values()]
        joint = None if derivative is None else derivative.joint
        if joint is not None:
            formulas.append(joint)
        #: A functional op of single tensors, with one tensor as result and formulas of what it is called with.
        self.is_simple = (
            derivative is not None
            and derivative.differentiable is None
            and not self.written
            and not any(is_list for _, is_list in self.tensors)
            and not any(a.kwarg_only and a.name in tensor_names for a in schema.arguments)
            and [r.type for r in schema.returns] == [TENSOR]
            and all(name in _KNOWN or self._is_source(name) for formula in formulas for name in formula.names)
        )
        #: The same with any number of results, lists of tensors among the arguments, and results without gradient.
        self.is_replayable = self.is_simple or (
            derivative is not None
            and derivative.differentiable != ()
            and getattr(derivative, "make_kernel", None) is None
            and not self.written
            and not op.is_view
            and not any(a.kwarg_only and a.name in tensor_names for a in schema.arguments)
            and all(r.type == TENSOR for r in schema.returns)
            and all(
                name in _KNOWN or self._is_source(name) or (name.startswith("result") and name[6:].isdigit())
                for formula in formulas
                for name in formula.names
            )
        )
        #: What the formula of all arguments together takes, where the op is simple and has one.
        self.joint_sources = self.sources(joint) if self.is_simple and joint is not None else ()
        #: What any formula takes, and the formula of each tensor argument.
        self.named = frozenset(name for formula in formulas for name in formula.names)
        self.of_each = tuple(
            [None if derivative is None else derivative.by_argument.get(name) for name, _ in self.tensors]
        )

    def _is_source(self, name: str) -> bool:
        return name in self.names or (name.endswith("_spec") and name[:-5] in self.names)

    def sources(self, formula: Formula) -> tuple[tuple[str, int | str | Output, bool], ...]:
        """(parameter, position or keyword of the argument or which result, whether only its spec is kept)."""
        found: list[tuple[str, int | str | Output, bool]] = []
        for name in formula.names:
            if name not in self.names and (name == "result" or name.startswith("result") and name[6:].isdigit()):
                found.append((name, Output(int(name[6:] or 0)), False))
            elif name not in _OF_THE_CALL:
                is_spec = name not in self.names
                index = self.names.index(name[:-5] if is_spec else name)
                found.append((name, index if index < self.positional else self.names[index], is_spec))
        return tuple(found)

    def values(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """Arguments by name; the entry has filled in the defaults."""
        if kwargs:
            positional, keyword = self.op._schema.bind(args, kwargs)
            return dict(zip(self.names, [*positional, *keyword.values()], strict=True))
        if len(args) < len(self.names):
            positional, keyword = self.op._schema.bind(args, kwargs)
            return dict(zip(self.names, [*positional, *keyword.values()], strict=True))
        return dict(zip(self.names, args, strict=True))

    def inputs(self, values: dict[str, Any]) -> list[Any]:
        """The tensor arguments, lists written out; None or a number where one stands for a tensor."""
        found: list[Any] = []
        for name, is_list in self.tensors:
            value = values[name]
            if is_list:
                found.extend(value or ())
            else:
                found.append(value)
        return found

    def formulas(self, values: dict[str, Any]) -> list[Formula]:
        """The formulas of the arguments that need a gradient."""
        derivative = self.derivative
        assert derivative is not None
        if derivative.joint is not None:
            return [derivative.joint]
        return [formula for name, formula in derivative.by_argument.items() if _needs(values.get(name))]


def _needs(value: Any) -> bool:
    if isinstance(value, Tensor):
        return bool(value._keys & GRAD)
    return isinstance(value, (list, tuple)) and any(isinstance(t, Tensor) and t._keys & GRAD for t in value)


class OpNode(Node):
    """A recorded call of an op with formulas.

    Attributes
    ----------
    saved : dict
        What the formulas take, by parameter name.
    """

    #: Whether `saved` was dropped.
    freed = False

    def __init__(self, plan: Plan, inputs: list[Any], values: dict[str, Any]):
        super().__init__(
            tuple([edge_of(t) if isinstance(t, Tensor) else None for t in inputs]),
            tuple([t.spec if isinstance(t, Tensor) else None for t in inputs]),
        )
        self.plan = plan
        #: For each tensor argument: None, or the length of the list.
        self.counts = [len(values[name] or ()) if is_list else None for name, is_list in plan.tensors]
        self.saved: dict[str, Any] = {}

    @staticmethod
    def made(plan: Plan, edges: Any, specs: Any, counts: list[Any], saved: dict[str, Any]) -> OpNode:
        """A node whose parts are there already."""
        node = OpNode.__new__(OpNode)
        node.edges = edges
        node.input_specs = specs
        node.sequence = next_sequence()
        node.plan = plan
        node.counts = counts
        node.saved = saved
        if state.include & ANOMALY:
            anomaly.note_site(node)
        return node

    def name(self) -> str:
        return self.plan.label

    def __getattr__(self, name: str) -> Any:
        """What is saved for backward, as `_saved_self`, `_saved_result`."""
        saved = self.__dict__.get("saved", {})
        if self.freed and name.startswith("_saved_") and name[7:] in (*self.plan.names, "result"):
            raise AutogradError(
                "saved tensors are read a second time", got=f"{self.name()}, whose saved values were dropped",
                hint="pass retain_graph=True to backward or grad",
            )  # fmt: skip
        if not name.startswith("_saved_") or name[7:] not in saved:
            raise AttributeError(f"{self.plan.label} object has no attribute {name!r}", name=name, obj=self)
        return restore(saved[name[7:]], self)

    def save_inputs(self, values: dict[str, Any], written: tuple[str, ...]) -> None:
        """Keep what the formulas need of the arguments; a copy of what is about to be overwritten."""
        saved = self.saved
        for formula in self.plan.formulas(values):
            for parameter in formula.names:
                if parameter in saved or parameter in _OF_THE_CALL or parameter.startswith("result"):
                    continue
                if parameter in values:
                    value = values[parameter]
                    if parameter in written and isinstance(value, Tensor):
                        value = _copied(value)
                    saved[parameter] = save(value)
                elif parameter.endswith("_spec"):
                    value = values[parameter[:-5]]
                    saved[parameter] = (
                        [t.spec for t in value]
                        if isinstance(value, (list, tuple))
                        else value.spec
                        if isinstance(value, Tensor)
                        else None
                    )
                else:
                    raise AutogradError(f"{self.plan.op}: a formula asks for {parameter!r}, which is no argument")

    def save_results(self, values: dict[str, Any], results: Sequence[Any]) -> None:
        """Keep what the formulas need of the results."""
        for formula in self.plan.formulas(values):
            for parameter in formula.names:
                if parameter == "results":
                    self.saved[parameter] = [_saved_result(t, i) for i, t in enumerate(results)]
                elif parameter.startswith("result") and parameter not in self.saved:
                    index = int(parameter[6:] or 0)
                    self.saved[parameter] = _saved_result(results[index], index)

    def apply(self, grads: Grads, asked: tuple[bool, ...] | None = None) -> Sequence[Tensor | None]:
        """Gradients of the inputs: of those that are asked for, or all that need one."""
        if grads[0] is None and all(grad is None for grad in grads):
            return (None,) * len(self.edges)
        needs = self.edges if asked is None else asked
        if self.freed:
            raise AutogradError(
                "backward through the graph a second time",
                got=f"{self.name()}, whose saved values were dropped",
                hint="pass retain_graph=True to the first backward or grad call",
            )
        plan = self.plan
        if plan.is_simple:
            given = {"grad": grads[0], "grads": grads}
            for name, value in self.saved.items():
                kind = value.__class__
                if kind is SavedTensor or kind is SavedResult:
                    t = value.tensor
                    if t is None or value.output is not None or t._storage.version != value.version:
                        t = value.get(self)
                    value = t
                elif kind is list:
                    value = restore(value, self)
                given[name] = value
            if "needs" in plan.named:
                given["needs"] = tuple(map(bool, needs))
            joint = plan.derivative.joint  # pyright: ignore[reportOptionalMemberAccess]
            if joint is not None:
                return self._flat(list(joint.fn(**{name: given[name] for name in joint.names})))
            gradients: list[Tensor | None] = []
            for is_needed, formula in zip(needs, plan.of_each, strict=True):
                if not is_needed or formula is None:
                    gradients.append(None)
                else:
                    gradients.append(formula.fn(*[given[name] for name in formula.names]))
            return gradients
        derivative = plan.derivative
        assert derivative is not None
        if derivative.differentiable == ():
            return self._zeros(next(grad for grad in grads if grad is not None))
        offered: dict[str, Any] = {name: restore(value, self) for name, value in self.saved.items()}
        offered["grad"], offered["grads"], offered["needs"] = grads[0], grads, tuple(map(bool, needs))
        if derivative.joint is not None:
            found = derivative.joint.fn(**{name: offered[name] for name in derivative.joint.names})
            return self._flat(list(found))
        out: list[Any] = []
        position = 0
        for (name, _), count in zip(self.plan.tensors, self.counts, strict=True):
            width = 1 if count is None else count
            needed = any(needs[position : position + width])
            position += width
            formula = derivative.by_argument.get(name) if needed else None
            out.append(None if formula is None else formula.fn(**{n: offered[n] for n in formula.names}))
        return self._flat(out)

    def _zeros(self, grad: Tensor) -> list[Tensor | None]:
        """The gradients of a write whose values do not depend on the inputs in a differentiable way."""
        return [
            None
            if edge is None or spec is None
            else ops.aten.new_zeros.default(grad, list(spec.sizes), dtype=spec.dtype, device=spec.device)
            for edge, spec in zip(self.edges, self.input_specs, strict=True)
        ]

    def _flat(self, found: list[Any]) -> list[Tensor | None]:
        flat: list[Tensor | None] = []
        for value, count in zip(found, self.counts, strict=True):
            if count is None:
                flat.append(value)
            else:
                flat.extend([None] * count if value is None else value)
        return flat

    def release(self) -> None:
        # What holds no tensor may be used again, as PyTorch allows.
        held = False
        for value in self.saved.values():
            kind = value.__class__
            if kind is SavedTensor or kind is SavedResult or kind is list and _holds_tensor(value):
                held = True
                drop(value)
        if held:
            self.saved = {}
            self.freed = True


def _holds_tensor(value: Any) -> bool:
    return isinstance(value, SavedTensor) or (isinstance(value, list) and any(map(_holds_tensor, value)))


def _saved_result(t: Tensor, index: int) -> SavedTensor:
    # What has no gradient (indices, say) has no history either, and gets none when it is restored.
    return SavedTensor(t, index if t._keys & GRAD else None)


def _copied(t: Tensor) -> Tensor:
    """A tensor as it is before it is written, with its history."""
    return ops.aten.clone.default(t)


def _is_differentiable(t: Any) -> bool:
    return isinstance(t, Tensor) and t._dtype.kind in "fc"


def resolve(op: OpOverload, bits: int) -> Kernel | None:
    """What the Autograd keys run for an op; None where no tensor of the call requires grad."""
    if not bits & GRAD:
        return None
    decl, derivative = op.derivative_source()
    if derivative is None and decl is not None and decl.is_composite and not op.is_mutable:
        return decl.body
    below = op._lookup(bits & _UP_TO_VIEWS)
    make_kernel = getattr(derivative, "make_kernel", None)
    if make_kernel is not None:
        return make_kernel(op, below)
    plan = Plan(op, derivative)
    if decl is not None and decl.writes_out:
        return lambda *args, **kwargs: _refuse_out(op)
    if plan.is_simple:
        return recording(plan, below)
    return lambda *args, **kwargs: record(plan, below, args, kwargs)


def _refuse_out(op: OpOverload) -> None:
    raise AutogradError(
        f"{op}: an out= variant cannot be differentiated, but an argument requires grad",
        hint="use the functional form, or run it under opweave.no_grad()",
    )


def run_below(kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run a kernel so that no call in it is recorded."""
    before = state.exclude
    state.exclude = before | ABOVE_VIEWS
    try:
        return kernel(*args, **kwargs)
    finally:
        state.exclude = before


def record(plan: Plan, kernel: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Run an op below autograd and make its results part of the graph."""
    op = plan.op
    values = plan.values(args, kwargs)
    inputs = plan.inputs(values)
    written = [t for name in plan.written for t in _tensors(values[name])]
    for t in written:
        views.check_write(op, t)
    derivative = plan.derivative
    tensors = [t for t in inputs if isinstance(t, Tensor)]
    node: Any
    if derivative is None:
        node = ErrorNode(
            tensors,
            f"{op}: has no autograd formula",
            f"register one with opweave.library.register_autograd({op.name!r}, backward, setup_context=...)",
            plan.label,
        )
    elif derivative.differentiable == () and not written:
        return run_below(kernel, args, kwargs)
    else:
        node = OpNode(plan, inputs, values)
        node.save_inputs(values, plan.written)
    result = run_below(kernel, args, kwargs)
    results = list(result) if isinstance(result, (tuple, list)) else [result]
    if any(t._keys & BATCHED_BIT for t in tensors):
        note_levels(node, inputs, results)
    if written:
        node.output_count = len(written)
        node.output_specs = [t.spec for t in written]
        for position, t in enumerate(written):
            if _is_differentiable(t):
                views.rebase(t, node, position, _position(t, inputs))
        if isinstance(node, OpNode):
            node.save_results(values, [r for r in results if isinstance(r, Tensor)] or written)
        return result
    kept = derivative.differentiable if derivative is not None else None
    node.output_count = len(results)
    node.output_specs = [t.spec if isinstance(t, Tensor) else None for t in results]
    made = False
    for i, t in enumerate(results):
        if _is_differentiable(t) and (kept is None or i in kept):
            attach(t, node, i)
            made = True
    if made and isinstance(node, OpNode):
        node.save_results(values, results)
    if op.is_view and made:
        if isinstance(result, Tensor):
            views.inherit(result, tensors[0])
        else:
            views.restrict(results)
    return result


def _position(t: Tensor, inputs: Sequence[Any]) -> int:
    """Which of the inputs a tensor is."""
    return next((i for i, value in enumerate(inputs) if value is t), 0)


def recording(plan: Plan, kernel: Kernel) -> Kernel:
    """`record` for the usual op (see `Plan.is_simple`), with all that does not depend on the call worked out before."""
    at = tensors_at(plan)
    counts = [None] * len(at)
    is_view, joint_sources = plan.op.is_view, plan.joint_sources

    def recorded(*args: Any, **kwargs: Any) -> Any:
        edges, specs, wanted = [], [], []
        for position, sources in at:
            t = args[position]
            if not isinstance(t, Tensor):
                edges.append(None)
                specs.append(None)
                continue
            keys = t._keys
            if keys & BATCHED_BIT:
                return record(plan, kernel, args, kwargs)
            specs.append(_new_spec(TensorSpec, (t._sizes, t._strides, t._dtype, t._device)))
            if keys & GRAD:
                edges.append(edge_of(t))
                wanted += sources or joint_sources if not wanted else sources
            else:
                edges.append(None)
        before = state.exclude
        state.exclude = before | ABOVE_VIEWS
        try:
            result = kernel(*args, **kwargs)
        finally:
            state.exclude = before
        if result._dtype.kind not in "fc":
            return result
        saved: dict[str, Any] = {}
        node = OpNode.made(plan, tuple(edges), tuple(specs), counts, saved)
        attach(result, node, 0)
        if is_view and args[0]._autograd is not None:
            views.inherit(result, args[0])
        for name, where, is_spec in wanted:
            if where.__class__ is Output:
                saved[name] = SavedTensor(result, 0)
                continue
            value = args[where] if where.__class__ is int else kwargs[where]
            if is_spec:
                saved[name] = value.spec if isinstance(value, Tensor) else None
            else:
                saved[name] = SavedTensor(value) if isinstance(value, Tensor) else value
        return result

    return recorded


def tensors_at(plan: Plan) -> list[tuple[int, tuple[tuple[str, int | str | Output, bool], ...]]]:
    """The places of the tensors among the arguments, and what the formulas of their gradients need."""
    derivative = plan.derivative
    assert derivative is not None
    at = []
    for position, name in enumerate(plan.names[: plan.positional]):
        if any(name == tensor for tensor, _ in plan.tensors):
            formula = derivative.by_argument.get(name)
            at.append((position, () if formula is None else plan.sources(formula)))
    return at


_new_spec: Any = tuple.__new__


def note_levels(node: Node, inputs: Sequence[Any], results: Sequence[Any]) -> None:
    """Remember over which batch levels the gradient of each input has to be summed."""
    present = levels_among([t for t in results if isinstance(t, Tensor)])
    node.summed_levels = tuple(
        [tuple(present.difference(levels_of(t))) if isinstance(t, Tensor) else () for t in inputs]
    )


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    return [t for t in value if isinstance(t, Tensor)] if isinstance(value, (list, tuple)) else []


for _key in DispatchKey:
    if not _key.is_alias and AUTOGRAD_MASK & _key.bit:
        resolvers[_key] = resolve

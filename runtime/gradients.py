"""Gradients through compiled functions.

A function is traced with fake tensors that require grad as its inputs do, so autograd records it as it would record
the function itself: `no_grad` blocks, `detach`, a custom `Function` all count. The walk back through that record is
traced at once, into the same graph, which `passes.partition` then cuts in two:

    forward   inputs -> outputs, saved
    backward  saved, gradients of outputs -> gradients of inputs

Both are compiled. The forward runs below autograd; one node behind its outputs keeps `saved` and runs the backward.
What cannot be traced back becomes an error that is raised when backward comes by, as it would be without compilation.
The random numbers drawn by the forward are among `saved`, so both directions see the same. A second derivative is
refused.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from opweave.fake.tensor import FakeTensor
from opweave.passes.missing import run as without_missing
from opweave.passes.partition import TANGENT, WAY_BACK
from opweave.registry import forking
from opweave.registry.autograd import engine
from opweave.registry.autograd.graph import (
    AutogradMeta,
    ErrorNode,
    Grads,
    Node,
    SavedTensor,
    attach,
    edge_of,
    grad_fn_of,
)
from opweave.registry.autograd.views import check_write, rebase, views_of
from opweave.registry.errors import AutogradError, OpweaveError, ShapeError, UnsupportedError
from opweave.registry.interrupts import contextmanager, deferred, let_through
from opweave.registry.keys import ABOVE_VIEWS, BATCHED_BIT, GRAD, INFERENCE, PYTHON_BIT, state
from opweave.registry.op import ops, tensors_in
from opweave.registry.spec import TensorSpec, contiguous_strides
from opweave.registry.tensor import Tensor, describe
from opweave.runtime.context import Context, call_below_autograd, compilable
from opweave.runtime.sources import NumberInput, TensorInput
from opweave.tracer.graph import Graph
from opweave.tracer.interpreter import Interpreter
from opweave.tracer.proxy import ProxyMode


@dataclass
class Backward:
    """How the outputs of a compiled graph are differentiated.

    Attributes
    ----------
    name : str
        The function's, for messages.
    outputs : int
        How many of the forward's outputs are the function's; the others are kept for the backward.
    written : int
        How many of those, the last ones, are inputs that were written, and get a history by that.
    rewritten : list of Tensor
        These inputs; made positions among the graph's inputs by `place`.
    relaid : list of Tensor
        The inputs whose sizes change in place; made positions by `place`, of those that are inputs of the graph.
    shown : set of int
        Which of `rewritten` are not written, but changed in their sizes alone.
    attached : list of int
        The outputs that gradients flow from.
    sources : list of Tensor
        The tensors that they flow to; made positions among the graph's inputs by `place`.
    specs : list of TensorSpec
        The layouts that gradients of `attached` come in.
    problem : OpweaveError or None
        Why there is no way back.
    saved_outputs : list of (int or None)
        For each value that is saved, which of `attached` it is.
    graph : Graph
        From what is saved and the gradients of `attached` to those of `sources`.
    constants : mapping
        What its `get_attr` nodes read.
    depends : list of frozenset of int
        For each of `sources` the gradients of `attached` that its own depends on.
    compile : callable
        Makes what runs a graph, the first time it is needed.
    compiled : dict
        By the numbers of the gradients that do not come what runs the graph without them.
    """

    name: str
    outputs: int
    attached: list[int]
    sources: list[Any]
    specs: list[TensorSpec]
    problem: OpweaveError | None = None
    written: int = 0
    saved_outputs: list[int | None] = field(default_factory=list)
    positions: list[int] = field(default_factory=list)
    rewritten: list[Any] = field(default_factory=list)
    relaid: list[Any] = field(default_factory=list)
    shown: set[int] = field(default_factory=set)
    graph: Graph | None = None
    constants: Mapping[str, Any] = field(default_factory=dict)
    depends: list[frozenset[int]] = field(default_factory=list)
    compile: Callable[[Graph], Callable[..., Any]] | None = None
    compiled: dict[frozenset[int], Callable[..., Any]] = field(default_factory=dict)
    _lock: Any = field(default_factory=forking.lock)

    def run(self, missing: frozenset[int], *values: Any) -> Any:
        """The gradients of `sources`; those of `attached` that are missing are zeros among the values."""
        if not compilable() or any(t._keys & (PYTHON_BIT | BATCHED_BIT) for t in tensors_in(values)):
            # Batched or traced: op by op, as the function itself.
            return Interpreter(self._graph(missing), self.constants).run(*values)
        found = self.compiled.get(missing)
        if found is None:
            with self._lock, deferred():
                found = self.compiled.get(missing)
                if found is None:
                    found = self.compiled[missing] = self._made(missing)
        return found(*values)

    def _graph(self, missing: frozenset[int]) -> Graph:
        assert self.graph is not None
        graph = self.graph.clone()
        return without_missing(graph, len(self.attached), missing) if missing else graph

    def _made(self, missing: frozenset[int]) -> Callable[..., Any]:
        assert self.compile is not None
        graph = self._graph(missing)
        try:
            return self.compile(graph)
        except ShapeError as error:
            if not self.is_open:
                raise
            # It would add to what the version depends on, which is called already.
            let_through(error)
            return Interpreter(self._graph(missing), self.constants).run

    def split(self, forward: Graph, graph: Graph, constants: Mapping[str, Any]) -> None:
        """Take over the way back, and find which of the saved values are results themselves."""
        self.graph, self.constants = graph, constants
        # What flows some way may have turned out to be zeros, which eager code hands on.
        found = _dependencies(graph, len(self.attached))
        self.depends = [on | ways for on, ways in zip(found, self.depends, strict=True)]
        values = forward.output_node().args[0]
        numbers = {values[i]: k for k, i in enumerate(self.attached)}
        self.saved_outputs = [numbers.get(value) for value in values[self.outputs :]]

    @property
    def is_open(self) -> bool:
        """Whether sizes of the outputs are not fixed."""
        return any(type(size) is not int for spec in self.specs for size in spec[0])

    def place(self, inputs: Sequence[TensorInput | NumberInput]) -> None:
        """Find the sources among the inputs of the graph."""
        found = {id(t.tensor): i for i, t in enumerate(inputs) if t.tensor is not None}
        # One that is no input has no influence on the outputs.
        self.positions = [found.get(id(t), -1) for t in self.sources]
        self.rewritten = [found[id(t)] for t in self.rewritten]
        self.relaid = [found[id(t)] for t in self.relaid if id(t) in found]
        self.sources = []


# ---- while tracing ---------------------------------------------------------------------------------------------------


class InputNode(Node):
    """Stands for the history of an input that is no leaf."""

    __slots__ = ()


class Inputs:
    """What autograd knows of the tensors that a traced function can reach; tracing must leave it as it is.

    Parameters
    ----------
    name : str
        The function's, for messages.
    tensors : sequence of TensorInput
        All that it can reach.
    """

    def __init__(self, name: str, tensors: Sequence[TensorInput]) -> None:
        self.name = name
        self.tensors = list(tensors)
        #: (a tensor or what stands for it, its name, keys, history and gradient before).
        self.before: list[tuple[Tensor, str, int, Any, Any]] = []
        #: What has the history that an argument came with, by the id of what stands for it.
        self.entered: dict[int, Tensor] = {}

    @contextmanager
    def apart(self) -> Iterator[None]:
        """Cut the real tensors off from what they were made by, and from hooks, inside the block."""
        kept = [(t.tensor, t.tensor._keys, t.tensor._autograd, _fields(t.tensor._autograd)) for t in self.tensors]
        hooks = state.__dict__.get("saved_hooks")
        state.__dict__["saved_hooks"] = []
        try:
            for t in self.tensors:
                tensor, meta = t.tensor, t.tensor._autograd
                if tensor._keys & GRAD and (grad_fn_of(tensor) is not None or (meta is not None and meta.hooks)):
                    _renew(tensor, tensor)
                self._note(tensor, t.source.text)
            yield
        finally:
            for tensor, keys, meta, fields in kept:
                tensor._keys, tensor._autograd = keys, meta
                for name, value in fields.items():
                    setattr(meta, name, value)
            if hooks is None:
                del state.__dict__["saved_hooks"]
            else:
                state.__dict__["saved_hooks"] = hooks

    def _note(self, t: Tensor, name: str) -> None:
        meta = t._autograd
        node, grad = (None, None) if meta is None else (meta.grad_fn, meta.grad)
        self.before.append((t, name, t._keys & GRAD, node, grad))

    def enter(self, explicit: Sequence[tuple[TensorInput, Tensor]]) -> None:
        """Give the fake arguments what the real ones have: no leaf where those are none, and their gradients."""
        for given, fake in explicit:
            if given.tensor._autograd is not None:
                _renew(fake, given.tensor)
            owner = given.tensor._view_of
            is_odd = owner is not None and owner._keys & GRAD and not (grad_fn_of(owner) and given.tensor._keys & GRAD)
            if owner is not None and not is_odd:  # else a write is refused, with the reason
                # What is written to it is part of its own history here; its base gets that when the call has run.
                fake._view_of = None
            self._note(fake, given.source.text)
            self.entered[id(fake)] = fake
            node = grad_fn_of(fake)
            if node is not None:
                # A write gives the tensor another history; its gradient is that of what it was.
                self.entered[id(fake)] = made = fake._alias()
                attach(made, node, 0)

    def written(self, explicit: Sequence[tuple[TensorInput, Tensor]]) -> list[tuple[Tensor, Tensor]]:
        """The arguments that got another history by a write, and what stands for them."""
        nodes = {id(t): node for t, _, _, node, _ in self.before}
        found = []
        for given, fake in explicit:
            meta = given.tensor._autograd
            plain = not (meta is not None and (meta.hooks or meta.retains))
            if plain and fake._keys & GRAD and grad_fn_of(fake) is not nodes[id(fake)]:
                found.append((given.tensor, fake))
        return found

    def check(self, lifted: Sequence[tuple[Tensor, Tensor]], written: Sequence[Tensor]) -> None:
        """Refuse what compiled code would not do to its inputs; `written` are those that may have another history.

        Raises
        ------
        UnsupportedError
            If an input's history or gradient changed.
        """
        names = {id(t.tensor): t.source.text for t in self.tensors}
        found = [*self.before]
        for real, fake in lifted:
            found.append((fake, names.get(id(real), describe(real)), real._keys & GRAD, None, None))
        for t, name, grad, node, gradient in found:
            meta = t._autograd
            if meta is not None and meta.grad is not gradient and isinstance(meta.grad, FakeTensor):
                raise UnsupportedError(
                    f"compile: {self.name} changes the gradient of {name}, which compiled code would not do",
                    got=f"{name}.grad", hint="compute it with opweave.autograd.grad(...), and assign it outside",
                )  # fmt: skip
            if any(t is one for one in written):
                continue
            if t._keys & GRAD != grad or (meta is not None and meta.grad_fn is not node):
                raise UnsupportedError(
                    f"compile: {self.name} writes {name} in place where gradients are recorded",
                    got=f"{name}: {describe(t)}",
                    hint="call the uncompiled function, write under opweave.no_grad(), or return the new value",
                )


def _fields(meta: AutogradMeta | None) -> dict[str, Any]:
    names = ("grad", "grad_fn", "output", "view_version")
    return {} if meta is None else {name: getattr(meta, name) for name in names}


def _renew(t: Tensor, like: Tensor) -> None:
    """Give a tensor a history of its own: a leaf where `like` is one."""
    made = AutogradMeta()
    made.grad = like._autograd.grad
    made.view_version = t._storage.version
    if like._keys & GRAD and grad_fn_of(like) is not None:
        made.grad_fn = InputNode((), ())
        made.grad_fn.output_specs = [t.spec]
    t._autograd = made


def trace_back(
    mode: ProxyMode,
    outputs: Sequence[Tensor],
    leaves: Sequence[tuple[Tensor, Tensor]],
    name: str,
    written: Sequence[Tensor],
) -> tuple[Backward | None, list[Tensor | None]]:
    """Trace the walk back from a traced function's outputs.

    Parameters
    ----------
    mode : ProxyMode
        Of the trace that is going on.
    outputs : sequence of Tensor
        The function's results, and behind them inputs that were written.
    leaves : sequence of (Tensor, Tensor)
        Real tensors that require grad, and what stands for them.
    name : str
        Of the function.
    written : sequence of Tensor
        The inputs that were written, the real ones; they stand at the end of the outputs.

    Returns
    -------
    tuple
        The backward (None if no output requires grad), and the gradients of the leaves, None where there is none.

    Raises
    ------
    UnsupportedError
        If an output requires grad by itself.
    """
    attached = [i for i, t in enumerate(outputs) if isinstance(t, FakeTensor) and t._keys & GRAD]
    if not attached:
        return None, []
    roots = [outputs[i] for i in attached]
    if not leaves or any(grad_fn_of(t) is None for t in roots):
        raise UnsupportedError(
            f"compile: {name} returns a tensor that requires grad without any input that does",
            got=describe(roots[0]), hint="call requires_grad_() outside, or return y.detach()",
        )  # fmt: skip
    graph = mode.graph
    before = set(graph.nodes)
    specs = [TensorSpec(t._sizes, contiguous_strides(t._sizes), t._dtype, t._device) for t in roots]
    result = Backward(
        name, len(outputs), attached, [real for real, _ in leaves], specs, written=len(written), rewritten=[*written]
    )
    inputs = graph.placeholders()
    with graph.inserting_after(inputs[-1]) if inputs else graph.inserting_before(None):
        tangents = [mode.add_input(f"grad_{i}", mode.fake_mode.make(s)) for i, s in zip(attached, specs, strict=True)]
    for k, tangent in enumerate(tangents):
        tangent._node.meta[TANGENT] = k
    grads: list[Tensor | None] = []
    result.depends = _ways(roots, [t for _, t in leaves])
    _mark_formulas(mode, roots)
    try:
        grads = list(engine.grad(roots, [t for _, t in leaves], tangents, allow_unused=True))
        for grad in grads:
            if grad is not None:
                mode.operand(grad)
    except Exception as error:  # a user's backward may raise anything, and nobody may ever ask for a gradient
        let_through(error)
        if getattr(error, "needs_symbols", False) and mode.fake_mode.shape_env is None:
            raise  # the function is traced again, with symbols
        result.problem = _problem(name, error)
    new = [node for node in graph.nodes if node not in before]
    mode.refused = mode.formula = None
    if result.problem is None:
        for node in new:
            node.meta[WAY_BACK] = True
        return result, grads
    for node in reversed(new):
        graph.erase_node(node)
    if mode.numbers is not None:
        mode.numbers.forget(new)
    return result, []


def _mark_formulas(mode: ProxyMode, roots: Sequence[Tensor]) -> None:
    """Have the trace say of each op of the way back which node of the record it belongs to."""

    def entered(number: int) -> Callable[[Any], None]:
        def enter(_: Any) -> None:
            mode.formula = number

        return enter

    def leave(_: Any, __: Any) -> None:
        mode.formula = None

    seen: set[int] = set()
    waiting = [edge_of(root) for root in roots]
    while waiting:
        edge = waiting.pop()
        if edge is not None and id(edge[0]) not in seen:
            node = edge[0]
            seen.add(id(node))
            node.register_prehook(entered(len(seen)))
            node.register_hook(leave)
            waiting += node.edges


def _dependencies(graph: Graph, tangents: int) -> list[frozenset[int]]:
    """For each output of a way back the tangents, which are its last inputs, that it depends on."""
    known: dict[Any, frozenset[int]] = {}
    inputs = graph.placeholders()
    for k, node in enumerate(inputs[len(inputs) - tangents :]):
        known[node] = frozenset([k])
    for node in graph:
        if node not in known:
            known[node] = frozenset[int]().union(*[known[operand] for operand in node.all_input_nodes])
    outputs = graph.output_node().args[0]
    return [known[value] if value is not None else frozenset() for value in outputs]


def _ways(roots: Sequence[Tensor], leaves: Sequence[Tensor]) -> list[frozenset[int]]:
    """For each leaf the roots (by position) from which the history leads to it."""
    reached: list[set[int]] = []
    for root in roots:
        seen: set[int] = set()
        waiting = [edge_of(root)]
        while waiting:
            edge = waiting.pop()
            if edge is not None and id(edge[0]) not in seen:
                seen.add(id(edge[0]))
                waiting += edge[0].edges
        reached.append(seen)
    ends = [edge_of(leaf) for leaf in leaves]
    return [frozenset(k for k, seen in enumerate(reached) if e is not None and id(e[0]) in seen) for e in ends]


def _problem(name: str, error: Exception) -> OpweaveError:
    if isinstance(error, AutogradError):
        return error
    problem = AutogradError(
        f"{name}: the backward of this compiled function cannot be traced", got=f"{type(error).__name__}: {error}",
        hint="call the uncompiled function where gradients are needed",
    )  # fmt: skip
    problem.__cause__ = error
    return problem


def forget(graph: Graph | None) -> None:
    """Take a trace's history from its values, which would keep the tensors that it saved alive."""
    for node in graph.nodes if graph is not None else ():
        for t in tensors_in([node.meta.get("val")]):
            t._keys &= ~GRAD
            t._autograd = None
            if isinstance(t, FakeTensor):
                t._tracer = t._node = t._real = None


# ---- when it runs ----------------------------------------------------------------------------------------------------


def running(
    run: Callable[..., tuple[Any, ...]], backward: Backward | None, context: Context, opaque: bool
) -> Callable[..., tuple[Any, ...]]:
    """What a call of a compiled version runs.

    Parameters
    ----------
    run : callable
        The compiled graph.
    backward : Backward or None
        How to differentiate it.
    context : Context
        The state it was traced in.
    opaque : bool
        Whether it calls ops that do something above the backends' keys, which they must not do again.
    """
    if backward is not None:
        return _recording(run, backward)
    if context.include & INFERENCE:
        return _marking(run)
    if context.is_plain and not opaque:
        return run

    def isolated(*inputs: Tensor) -> tuple[Any, ...]:
        return call_below_autograd(run, *inputs)

    return isolated


def counting(run: Callable[..., tuple[Any, ...]], relaid: Sequence[tuple[int, int]]) -> Callable[..., tuple[Any, ...]]:
    """What runs a graph, and counts changes of its inputs' sizes as the writes that they are.

    Parameters
    ----------
    run : callable
        The compiled graph.
    relaid : sequence of (int, int)
        An output that lies in the memory of the input, and how often that changed.
    """

    def counted(*inputs: Tensor) -> tuple[Any, ...]:
        results = run(*inputs)
        for at, times in relaid:
            for _ in range(times):
                results[at]._bump()
        return results

    return counted if relaid else run


def _marking(run: Callable[..., tuple[Any, ...]]) -> Callable[..., tuple[Any, ...]]:
    """Results in inference mode can never be part of a gradient."""

    def marking(*inputs: Tensor) -> tuple[Any, ...]:
        results = call_below_autograd(run, *inputs)
        for t in results:
            if not any(t is given for given in inputs):
                t._keys &= ~ABOVE_VIEWS
        return results

    return marking


def _recording(run: Callable[..., tuple[Any, ...]], backward: Backward) -> Callable[..., tuple[Any, ...]]:
    first_written = backward.outputs - backward.written

    def recording(*inputs: Tensor) -> tuple[Any, ...]:
        node = CompiledBackward(backward, inputs)
        known: dict[int, tuple[int, list[Tensor]]] = {}
        if backward.written:
            known = {id(t): (i, views_of(_owner(t))) for i, t in enumerate(inputs) if isinstance(t, Tensor)}
            for i in backward.rewritten:
                _check_written(backward.name, inputs[i])
        results = call_below_autograd(run, *inputs)
        outputs, saved = list(results[: backward.outputs]), results[backward.outputs :]
        if backward.relaid:
            # The way back reads them as they were.
            changing = [inputs[i] for i in backward.relaid]
            saved = [t._alias() if any(t is one for one in changing) else t for t in saved]
        for k, at in enumerate(backward.rewritten):
            inputs[at]._show_as(outputs[first_written + k])
            outputs[first_written + k] = inputs[at]
        shared = _settle(outputs[:first_written], inputs)
        for number, position in enumerate(backward.attached):
            t = outputs[position]
            if position - first_written in backward.shown:
                attach(t, node, number)
                continue
            if position >= first_written:
                at, views = known[id(t)]
                rebase(t, node, number, node.position_of(at), views)
                continue
            if any(t is given for given in inputs):
                t = outputs[position] = t._alias()
                shared.add(position)
            attach(t, node, number)
        if shared:
            node.shared = frozenset(number for number, position in enumerate(backward.attached) if position in shared)
        node.keep(saved, outputs)
        return tuple(outputs)

    return recording


def _check_written(name: str, t: Tensor) -> None:
    """Refuse writes that would lose a gradient, or that of the tensor as it is after the write."""
    check_write(name, t)
    if t._autograd is not None and t._autograd.retains and grad_fn_of(t) is not None:
        raise AutogradError(
            f"{name}: a tensor with retain_grad() cannot be written by compiled code", got=describe(t),
            hint="call the uncompiled function, or return the new value and retain its gradient",
        )  # fmt: skip


def _owner(t: Tensor) -> Tensor:
    return t if t._view_of is None else t._view_of


def _settle(outputs: Sequence[Any], inputs: Sequence[Any]) -> set[int]:
    """Take away links to what only the compiled code held; gives the results that share memory which nobody else has.

    A view of an input, or of another result, is what it says (see `registry.results`).
    """
    linked = [i for i, t in enumerate(outputs) if isinstance(t, Tensor) and t._view_of is not None]
    if not linked:
        return set()
    given = [t for t in inputs if isinstance(t, Tensor)]
    owners = {id(t) for t in (*given, *outputs)} | {id(t._view_of) for t in given}
    loose = [i for i in linked if id(outputs[i]._view_of) not in owners]
    memory = Counter(id(t._storage) for t in (*given, *outputs) if isinstance(t, Tensor))
    for i in loose:
        outputs[i]._view_of = None
    return {i for i in loose if memory[id(outputs[i]._storage)] > 1}


class CompiledBackward(Node):
    """The node behind the outputs of a compiled function.

    Parameters
    ----------
    backward : Backward
        What it runs.
    inputs : sequence of Tensor
        Of the compiled graph.
    """

    __slots__ = ("backward", "saved", "freed", "shared", "specs")

    def __init__(self, backward: Backward, inputs: Sequence[Tensor]) -> None:
        sources = [inputs[i] if i >= 0 else None for i in backward.positions]
        super().__init__(
            tuple([None if t is None else edge_of(t) for t in sources]),
            tuple([None if t is None else t.spec for t in sources]),
        )
        self.backward = backward
        self.output_count = len(backward.attached)
        self.specs = backward.specs
        self.output_specs = list(backward.specs)
        #: Tensors, and numbers that follow from sizes.
        self.saved: list[SavedTensor | int | float] = []
        self.freed = False
        #: The outputs that share memory with another tensor, whose history a write to them would not change.
        self.shared: frozenset[int] = frozenset()

    def position_of(self, at: int) -> int:
        """Which of the sources the input of this number is; behind the last one where it is none."""
        positions = self.backward.positions
        return positions.index(at) if at in positions else len(positions)

    def keep(self, tensors: Sequence[Any], outputs: Sequence[Tensor]) -> None:
        """Save what the backward reads."""
        if self.backward.is_open:
            made = [outputs[position] for position in self.backward.attached]
            self.specs = [TensorSpec(t._sizes, contiguous_strides(t._sizes), t._dtype, t._device) for t in made]
            self.output_specs = list(self.specs)
        for t, number in zip(tensors, self.backward.saved_outputs, strict=True):
            if not isinstance(t, Tensor):
                self.saved.append(t)
            elif number is None:
                self.saved.append(SavedTensor(t))
            else:
                self.saved.append(SavedTensor(outputs[self.backward.attached[number]], number))

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        backward = self.backward
        if all(grad is None for grad in grads):
            return (None,) * len(self.edges)
        if backward.problem is not None:
            problem = backward.problem
            raise type(problem)(problem.what, got=problem.got, at=problem.at, hint=problem.hint) from problem
        if self.freed:
            raise AutogradError(
                "backward through the graph a second time", got=f"{self.name()}, whose saved tensors were dropped",
                hint="pass retain_graph=True to the first backward or grad call",
            )  # fmt: skip
        saved = [kept.get(self) if isinstance(kept, SavedTensor) else kept for kept in self.saved]
        missing = frozenset([k for k, grad in enumerate(grads) if grad is None])

        def run() -> Any:
            given = [_dense(grad, spec) for grad, spec in zip(grads, self.specs, strict=True)]
            return backward.run(missing, *saved, *given)

        found = call_below_autograd(run)
        # What is no result of those that gradients came for has none.
        if missing:
            found = [
                None if on <= missing or spec is None else t if t is not None else _dense(None, spec)
                for t, on, spec in zip(found, backward.depends, self.input_specs, strict=True)
            ]
        if state.exclude & GRAD:
            return found
        sources = [t for t in (*saved, *grads) if isinstance(t, Tensor) and t._keys & GRAD]
        return [None if grad is None else _once(grad, sources) for grad in found]

    def release(self) -> None:
        self.freed = bool(self.saved)
        for kept in self.saved:
            if isinstance(kept, SavedTensor):
                kept.tensor = kept.unpack_hook = None
                kept.packed = None
        self.saved = []


def _dense(grad: Tensor | None, spec: TensorSpec) -> Tensor:
    """A gradient in the layout that the backward was traced with; zeros for one that is missing."""
    sizes, strides, dtype, device = spec
    if grad is None:
        return ops.aten.zeros.default(list(sizes), dtype=dtype, device=device)
    made: Tensor = grad if grad._dtype is dtype else ops.aten._to_copy.default(grad, dtype=dtype)
    return made if made._strides == strides else made.contiguous()


def _once(grad: Tensor, sources: Sequence[Tensor]) -> Tensor:
    """A gradient that depends on these tensors in a way that was not recorded."""
    made = grad._alias()
    node = ErrorNode(
        sources, "the backward of a compiled function cannot be differentiated",
        "call the uncompiled function for second derivatives", "CompiledBackwardBackward",
    )  # fmt: skip
    node.output_specs = [grad.spec]
    attach(made, node, 0)
    return made

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

A function may itself call `backward`, and set gradients to None: the gradients that tensors have in the end are results
of the graph, which the compiled call assigns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from opweave.fake.tensor import FakeTensor
from opweave.passes.partition import TANGENT, WAY_BACK
from opweave.registry.autograd import engine
from opweave.registry.autograd.graph import AutogradMeta, Node, attach, edge_of, grad_fn_of, meta_of
from opweave.registry.errors import AutogradError, OpweaveError, UnsupportedError
from opweave.registry.interrupts import contextmanager, let_through
from opweave.registry.keys import GRAD, state
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import TensorSpec, contiguous_strides
from opweave.registry.tensor import Tensor, describe
from opweave.runtime.backward import Backward
from opweave.runtime.sources import TensorInput
from opweave.tracer.graph import Graph
from opweave.tracer.proxy import ProxyMode

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
        #: (a tensor or what stands for it, which it is, keys, history and gradient before).
        self.before: list[tuple[Tensor, TensorInput, int, Any, Any]] = []
        #: What has the history that an argument came with, by the id of what stands for it.
        self.entered: dict[int, Tensor] = {}
        #: The ids of tensors with hooks on their gradients.
        self.hooked = {id(t.tensor) for t in tensors if _has_hooks(t.tensor)}

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
                self._note(tensor, t)
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

    def _note(self, t: Tensor, given: TensorInput) -> None:
        meta = t._autograd
        node, grad = (None, None) if meta is None else (meta.grad_fn, meta.grad)
        self.before.append((t, given, t._keys & GRAD, node, grad))

    def unguarded(self, asked: Mapping[int, Tensor], guarded: set[int]) -> bool:
        """Whether the function asked for the gradient of a tensor from outside that is not guarded.

        Parameters
        ----------
        asked : dict of int to Tensor
            Whose gradients it asked for, by their ids.
        guarded : set of int
            The ids of the real tensors whose gradients are.
        """
        return any(id(t) in asked and id(given.tensor) not in guarded for t, given, *_ in self.before)

    def refuse_hooks(self, gained: Mapping[int, Tensor]) -> None:
        """Refuse to add to gradients of tensors whose hooks compiled code would not call; `gained` are these, by id.

        Raises
        ------
        UnsupportedError
            If there are some.
        """
        for t, given, *_ in self.before:
            if id(t) in gained and id(given.tensor) in self.hooked:
                raise UnsupportedError(
                    f"compile: {self.name} calls backward, and {given.source.text} has hooks on its gradient, which "
                    "compiled code would not call",
                    got=describe(given.tensor),
                    at=given.source.site,
                    hint="call backward() outside of the compiled function",
                )

    def assigned(self) -> list[tuple[TensorInput, Tensor | None]]:
        """The tensors that have another gradient by now, and that gradient."""
        found = {}
        for t, given, _, _, before in self.before:
            after = None if t._autograd is None else t._autograd.grad
            if after is not before:
                found[id(given.tensor)] = (given, after)
        return [*found.values()]

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
            self._note(fake, given)
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
            If an input's history changed, or the gradient of a tensor that no variable leads to.
        """
        names = {id(t.tensor): t.source.text for t in self.tensors}
        found = [(t, given.source.text, grad, node) for t, given, grad, node, _ in self.before]
        for real, fake in lifted:
            name = names.get(id(real), describe(real))
            found.append((fake, name, real._keys & GRAD, None))
            meta = fake._autograd
            if meta is not None and meta.grad is not None:
                raise UnsupportedError(
                    f"compile: {self.name} changes the gradient of {name}, which compiled code would not do",
                    got=f"{name}.grad",
                    hint="compute it with opweave.autograd.grad(...), and assign it outside",
                )
        for t, name, grad, node in found:
            meta = t._autograd
            if any(t is one for one in written):
                continue
            if t._keys & GRAD != grad or (meta is not None and meta.grad_fn is not node):
                raise UnsupportedError(
                    f"compile: {self.name} writes {name} in place where gradients are recorded",
                    got=f"{name}: {describe(t)}",
                    hint="call the uncompiled function, write under opweave.no_grad(), or return the new value",
                )


def _has_hooks(t: Tensor) -> bool:
    meta = t._autograd
    if meta is None or grad_fn_of(t) is not None:  # gradients of what is no leaf pass its hooks outside
        return False
    accumulator = None if meta.accumulator is None else meta.accumulator()
    return bool(meta.hooks) or (accumulator is not None and bool(accumulator.accumulated_hooks))


def assign(tensors: Sequence[Tensor], gradients: Sequence[Tensor | None]) -> None:
    """Give tensors the gradients that compiled code computed for them."""
    for t, gradient in zip(tensors, gradients, strict=True):
        meta_of(t).grad = gradient


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
            got=describe(roots[0]),
            hint="call requires_grad_() outside, or return y.detach()",
        )
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
    stacks = _mark_formulas(mode, roots)
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
            node.meta["forward_stack"] = stacks.get(node.meta.get("formula", 0))
        return result, grads
    for node in reversed(new):
        graph.erase_node(node)
    if mode.numbers is not None:
        mode.numbers.forget(new)
    return result, []


def _mark_formulas(mode: ProxyMode, roots: Sequence[Tensor]) -> dict[int, Any]:
    """Have the trace say of each op of the way back which node of the record it belongs to.

    Returns
    -------
    dict of int to Stack
        For each of these the user's lines that made it.
    """
    made: dict[int, Any] = {}
    for node in mode.graph.nodes:
        for t in tensors_in([node.meta.get("val")]):
            history = None if t._autograd is None else t._autograd.grad_fn  # as it is: nothing shall be made anew
            if history is not None:
                made.setdefault(id(history), node.meta.get("stack"))
    stacks: dict[int, Any] = {}

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
            stacks[len(seen)] = made.get(id(node))
            node.register_prehook(entered(len(seen)))
            node.register_hook(leave)
            waiting += node.edges
    return stacks


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
        f"{name}: the backward of this compiled function cannot be traced",
        got=f"{type(error).__name__}: {error}",
        hint="call the uncompiled function where gradients are needed",
    )
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

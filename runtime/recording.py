"""What a call of a compiled version runs: its graph, and one node behind the results where they are differentiated.

The forward runs below autograd. `CompiledBackward` keeps what the backward reads, and runs it when gradients come by.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from opweave.registry.autograd.graph import ErrorNode, Grads, Node, attach, edge_of, grad_fn_of
from opweave.registry.autograd.saved import SavedTensor, saved_as_it_is
from opweave.registry.autograd.views import check_write, rebase, views_of
from opweave.registry.errors import AutogradError
from opweave.registry.keys import ABOVE_VIEWS, AUTOCAST_MASK, GRAD, INFERENCE, DispatchKey, state
from opweave.registry.op import OpOverload, ops, registry
from opweave.registry.spec import TensorSpec, contiguous_strides
from opweave.registry.tensor import Tensor, describe
from opweave.runtime.backward import Backward
from opweave.runtime.context import Context, call_below_autograd
from opweave.runtime.sources import NumberInput, TensorInput


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


def is_opaque(ops: Iterable[OpOverload], inputs: Iterable[TensorInput | NumberInput]) -> bool:
    """Whether a graph calls ops that do something above the backends' keys, or reads what autograd would look at.

    Parameters
    ----------
    ops : iterable of OpOverload
        That were called.
    inputs : iterable of TensorInput or NumberInput
        Of the graph; what they were when it was traced.
    """
    if registry.fallbacks or any(map(_above_backends, ops)):
        return True
    # What runs below must not be recorded once more, nor refused as a write to a leaf.
    return any(t.tensor is not None and t.tensor._keys & GRAD for t in inputs)


def _above_backends(op: OpOverload) -> bool:
    """Whether something is registered on an op that runs before any trace sees it."""
    high = (DispatchKey.Autograd, DispatchKey.Autocast)
    return any(key in high or (not key.is_alias and key.bit & (ABOVE_VIEWS | AUTOCAST_MASK)) for key in op.kernels)


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
        node.keep(saved, outputs, inputs)
        return tuple(outputs)

    return recording


def _check_written(name: str, t: Tensor) -> None:
    """Refuse writes that would lose a gradient, or that of the tensor as it is after the write."""
    check_write(name, t)
    if t._autograd is not None and t._autograd.retains and grad_fn_of(t) is not None:
        raise AutogradError(
            f"{name}: a tensor with retain_grad() cannot be written by compiled code",
            got=describe(t),
            hint="call the uncompiled function, or return the new value and retain its gradient",
        )


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

    __slots__ = ("backward", "saved", "freed", "shared", "specs", "varies")

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
        #: Whether the gradients depend on the inputs: the backward reads more than inputs that require no grad.
        self.varies = False

    def position_of(self, at: int) -> int:
        """Which of the sources the input of this number is; behind the last one where it is none."""
        positions = self.backward.positions
        return positions.index(at) if at in positions else len(positions)

    def keep(self, tensors: Sequence[Any], outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> None:
        """Save what the backward reads."""
        fixed = {id(t) for t in inputs if isinstance(t, Tensor) and not t._keys & GRAD}
        self.varies = any(isinstance(t, Tensor) and id(t) not in fixed for t in tensors)
        if self.backward.is_open:
            made = [outputs[position] for position in self.backward.attached]
            self.specs = [TensorSpec(t._sizes, contiguous_strides(t._sizes), t._dtype, t._device) for t in made]
            self.output_specs = list(self.specs)
        seen: set[int] = set()
        for t, number in zip(tensors, self.backward.saved_outputs, strict=True):
            if not isinstance(t, Tensor):
                self.saved.append(t)
            elif number is None:
                self.saved.append(saved_as_it_is(t) if t._keys in seen else SavedTensor(t))
                seen.add(t._keys)
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
                "backward through the graph a second time",
                got=f"{self.name()}, whose saved tensors were dropped",
                hint="pass retain_graph=True to the first backward or grad call",
            )
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
        sources = [t for t in grads if isinstance(t, Tensor) and t._keys & GRAD]
        if not sources and not self.varies:
            return found
        return [None if grad is None else _once(grad, sources, self if self.varies else None) for grad in found]

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


def _once(grad: Tensor, sources: Sequence[Tensor], of: Node | None) -> Tensor:
    """A gradient that depends on these tensors, and on the inputs of a node, in a way that was not recorded."""
    made = grad._alias()
    node = ErrorNode(
        sources,
        "the backward of a compiled function cannot be differentiated",
        "call the uncompiled function for second derivatives",
        "CompiledBackwardBackward",
    )
    if of is not None:
        node.edges += of.edges
        node.input_specs += of.input_specs
    node.output_specs = [grad.spec]
    attach(made, node, 0)
    return made

"""Where a tensor's gradient goes, as a value of its own, and hooks on the gradients of several tensors together."""

from __future__ import annotations

import weakref
from collections.abc import Callable, Container, Sequence
from typing import Any, Literal, NamedTuple

from opweave.registry import forking
from opweave.registry.autograd.graph import Edge, Node, edge_of
from opweave.registry.autograd.handles import MultiHandle, RemovableHandle
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.keys import state
from opweave.registry.tensor import Tensor, describe


class GradientEdge(NamedTuple):
    """A place in the recorded graph where a gradient arrives: `backward` and `grad` take it where they take a tensor.

    It keeps what a gradient goes through, and not the tensor itself.

    Parameters
    ----------
    node : Node
        What the gradient is handed to.
    output_nr : int
        Which of the outputs of the node's forward it belongs to.
    ownership_token : Node, optional
        Accepted for the signature's sake: `node` keeps the graph.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> opweave.autograd.graph.get_gradient_edge(x * 2).output_nr
    0
    """

    node: Node
    output_nr: int
    ownership_token: Node | None = None


def get_gradient_edge(tensor: Tensor) -> GradientEdge:
    """Where the gradient of a tensor arrives.

    Parameters
    ----------
    tensor : Tensor
        One that requires grad.

    Raises
    ------
    AutogradError
        If it does not.

    Examples
    --------
    >>> x = opweave.tensor([2.0, 3.0], requires_grad=True)
    >>> y = x * x
    >>> edge = opweave.autograd.graph.get_gradient_edge(y)
    >>> opweave.autograd.grad((3 * y).sum(), edge)
    (tensor([3., 3.]),)
    """
    edge = edge_of(tensor)
    if edge is None:
        raise AutogradError(
            "get_gradient_edge: the tensor does not require grad",
            got=describe(tensor),
            hint="call .requires_grad_() on the inputs before the computation, outside no_grad",
        )
    return GradientEdge(*edge)


class BackwardPass:
    """A backward pass that runs.

    Parameters
    ----------
    roots : sequence of (Node, int)
        Where it begins.
    reached : container of int
        The ids of the nodes that edges lead to from there.
    useful : set of int or None
        Of those that lead to what was asked for; None where everything was.
    """

    def __init__(self, roots: Sequence[Edge], reached: Container[int], useful: set[int] | None):
        self.roots, self.reached, self.useful = roots, reached, useful

    def runs(self, node: Node) -> bool:
        """Whether the gradient of what a node belongs to is computed."""
        is_there = id(node) in self.reached or any(root is node for root, _ in self.roots)
        return is_there and (self.useful is None or id(node) in self.useful)

    @staticmethod
    def current() -> BackwardPass:
        """The innermost one of this thread."""
        found: BackwardPass | None = state.__dict__.get("backward_pass")
        assert found is not None, "hooks on tensors are called by a backward pass"
        return found


def register_multi_grad_hook(
    tensors: Sequence[Tensor],
    fn: Callable[[Sequence[Tensor | None]], None] | Callable[[Tensor], None],
    *,
    mode: Literal["all", "any"] = "all",
) -> MultiHandle:
    """Call a hook with the gradients of several tensors, when a backward pass has all of them, or the first.

    Parameters
    ----------
    tensors : sequence of Tensor
        Whose gradients; those that a pass does not compute it does not wait for.
    fn : callable
        With ``mode="all"`` it is given a list with the gradient of each tensor, None where the pass computes none; with
        ``"any"`` the first gradient. It may not change them, and what it returns is ignored.
    mode : {"all", "any"}
        What a pass calls the hook for.

    Returns
    -------
    handle
        `handle.remove()` removes the hook.

    Raises
    ------
    ArgumentError
        For another mode.
    AutogradError
        If with ``mode="all"`` a tensor does not require grad.

    Examples
    --------
    >>> a, b = opweave.ones(2, requires_grad=True), opweave.ones(2, requires_grad=True)
    >>> c, d = a * b, a + b
    >>> def hook(grads):
    ...     print([grad is not None for grad in grads])
    >>> handle = opweave.autograd.graph.register_multi_grad_hook((a, b, c, d), hook)
    >>> c.sum().backward()
    [True, True, True, False]
    >>> handle.remove()
    """
    if mode not in ("all", "any"):
        raise ArgumentError("register_multi_grad_hook: unknown mode", got=repr(mode), hint="mode='all' or mode='any'")
    call: Any = fn
    lock = forking.lock()
    if mode == "any":
        told: weakref.WeakSet[BackwardPass] = weakref.WeakSet()

        def first(grad: Tensor) -> None:
            now = BackwardPass.current()
            with lock:
                if now in told:
                    return
                told.add(now)
            call(grad)

        return MultiHandle([_hook(t, first) for t in tensors if t.requires_grad])

    nodes = [get_gradient_edge(t).node for t in tensors]
    #: Of each pass the gradients so far, and how many are still to come.
    passes: weakref.WeakKeyDictionary[BackwardPass, tuple[list[Tensor | None], list[int]]] = weakref.WeakKeyDictionary()

    def at(position: int) -> Callable[[Tensor], None]:
        def note(grad: Tensor) -> None:
            now = BackwardPass.current()
            with lock:
                found = passes.get(now)
                if found is None:
                    found = passes[now] = [None] * len(nodes), [sum(map(now.runs, nodes))]
                grads, missing = found
                grads[position] = grad
                missing[0] -= 1
                is_last = not missing[0]
            if is_last:
                call(grads)

        return note

    return MultiHandle([_hook(t, at(i)) for i, t in enumerate(tensors)])


def _hook(t: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    return t.register_hook(hook)  # type: ignore[attr-defined]  # bound by `surface`

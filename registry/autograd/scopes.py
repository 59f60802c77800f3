"""What a functional transform differentiates with respect to, and what is recorded around it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import optree

from opweave.registry.autograd import engine
from opweave.registry.autograd.graph import Edge, Grads, Node, alias_of, attach, edge_of, meta_of, nodes_from
from opweave.registry.autograd.mode import enable_grad, is_grad_enabled
from opweave.registry.autograd.tangents import set_tangent, tangent_of
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.interrupts import contextmanager
from opweave.registry.keys import DUAL, GRAD, state
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.levels import lift


class Identity(Node):
    """A tensor as one that a transform differentiates with respect to."""

    __slots__ = ("live",)

    live: bool

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        return grads


def fresh_identity(t: Tensor, connected: bool) -> Tensor:
    """The tensor with an identity of its own, in the graph that it comes from where `connected`."""
    made = alias_of(t)
    if state.include & DUAL and (tangent := tangent_of(t)) is not None:
        set_tangent(made, tangent)
    node = Identity((edge_of(t) if connected else None,), (t.spec,))
    node.output_specs = [t.spec]
    node.live = True
    attach(made, node, 0)
    # A write would give the tensor another history than the one that its gradient is asked for.
    meta_of(made).restriction = "an argument that is differentiated with respect to"
    return made


def _identities(what: str, values: Any, connected: bool) -> tuple[Any, list[Tensor]]:
    """(the values with fresh tensors in them, these tensors).

    Raises
    ------
    ArgumentError
        If there is anything but floating or complex tensors.
    """
    leaves, spec = optree.tree_flatten(values, none_is_leaf=True)
    for t in leaves:
        if not isinstance(t, Tensor):
            raise ArgumentError(
                f"{what}: only tensors can be differentiated with respect to",
                got=f"{t!r} ({type(t).__name__})",
                hint="choose the arguments with argnums, or bind the others: lambda x: f(x, n)",
            )
        if t._dtype.kind not in "fc":
            raise AutogradError(f"{what}: only floating and complex tensors have gradients", got=describe(t))
    fresh = [fresh_identity(lift(t), connected) for t in leaves]
    return optree.tree_unflatten(spec, fresh), fresh


def edges_of(tensors: Sequence[Tensor]) -> list[Edge]:
    edges = [edge_of(t) for t in tensors]
    assert all(edge is not None for edge in edges)
    return edges  # type: ignore[return-value]  # none is None


class Scope:
    """What a transform was called in: whether calls were recorded, and which identities are its own."""

    def __init__(self) -> None:
        self.recording = is_grad_enabled()
        #: By id, kept alive so that no id comes to mean another.
        self.own: dict[int, Node] = {}

    def claim(self, fresh: Sequence[Tensor]) -> None:
        """Count these identities as the transform's own."""
        self.own.update({id(node): node for node, _ in edges_of(fresh)})

    def close(self) -> None:
        """The transform is done: to those around it, its identities are constants."""
        for node in self.own.values():
            if isinstance(node, Identity):
                node.live = False

    def enter(self, what: str, values: Any) -> tuple[Any, list[Tensor]]:
        """The values with identities of this transform."""
        made, fresh = _identities(what, values, self.recording)
        self.claim(fresh)
        return made, fresh

    def reaches_outside(self, tensors: Sequence[Tensor]) -> bool:
        """Whether tensors depend on anything recorded other than this transform's own inputs."""
        roots = [edge[0] for t in tensors if (edge := edge_of(t)) is not None]
        return any(
            all(edge is None for edge in node.edges)
            and id(node) not in self.own
            and not (isinstance(node, Identity) and not node.live)
            for node in nodes_from(roots)
        )

    def leave(self, value: Any) -> Any:
        """Results as the caller should see them: without this transform's own part of the graph."""
        return optree.tree_map(self._left, value, none_is_leaf=True)

    def _left(self, t: Any) -> Any:
        if not isinstance(t, Tensor) or not t._keys & GRAD:
            return t
        return t if self.recording and self.reaches_outside([t]) else ops.aten.detach.default(t)


def products(
    outputs: Sequence[Tensor], vectors: Sequence[Tensor], inputs: Sequence[Tensor], create_graph: bool
) -> list[Tensor]:
    """The vector-Jacobian product; zeros for inputs that the outputs do not depend on."""
    pairs = [(edge, v) for t, v in zip(outputs, vectors, strict=True) if (edge := edge_of(t)) is not None]
    found: list[Tensor | None] = [None] * len(inputs)
    if pairs:
        found = engine.run(
            [edge for edge, _ in pairs], [v for _, v in pairs], retain_graph=True, create_graph=create_graph,
            captures=edges_of(inputs),
        )  # fmt: skip
    return [ops.aten.zeros_like.default(alias_of(t)) if g is None else g for t, g in zip(inputs, found, strict=True)]


@contextmanager
def _pushing() -> Iterator[None]:
    """Backward passes inside the block are run for their derivatives by the vectors alone (`FunctionNode.jvp`)."""
    before = state.__dict__.get("pushing", False)
    state.__dict__["pushing"] = True
    try:
        yield
    finally:
        state.__dict__["pushing"] = before


class Pushforward:
    """Results at a point, ready for products with their Jacobian from the right.

    There is no forward mode: the vector-Jacobian product is linear in the vector, and its derivative with respect to it
    is the Jacobian, transposed twice. A `Function` with a `jvp` has that in the second place.

    Parameters
    ----------
    scope : Scope
        What the results were computed in, while calls were recorded.
    fresh : sequence of Tensor
        Of its inputs.
    results : sequence of Tensor
        What was computed of them.
    """

    def __init__(self, scope: Scope, fresh: Sequence[Tensor], results: Sequence[Tensor]):
        self.scope = scope
        self.at = [fresh_identity(lift(ops.aten.zeros_like.default(alias_of(t))), False) for t in results]
        scope.claim(self.at)
        with _pushing():
            self.transposed = products(results, self.at, fresh, True)
        self.outside = scope.recording and scope.reaches_outside(self.transposed)

    def __call__(self, vectors: Sequence[Tensor]) -> list[Tensor]:
        """The product for each result, with a vector for each input."""
        create = is_grad_enabled() and (self.outside or any(v._keys & GRAD for v in vectors))
        with enable_grad():
            return products(self.transposed, vectors, self.at, create)

"""Forward-mode differentiation of eager calls, under the names of `torch.autograd.forward_ad`: tensors with a tangent.

Inside a level, each op that is given a tensor with a tangent computes those of its results at once, by the mechanism
of `func.jvp` (`scopes.Pushforward`), so that whatever has a gradient has a tangent:

- a composite op runs its body, whose ops do that;
- a view of a tensor has the same view of its tangent, so that a write through it changes both;
- a write in place computes its result and its tangent of a copy, and writes both;
- any other op is called once, with what carries tangents as what is differentiated with respect to.

What is recorded goes on: results have their history, and so have tangents, which may be differentiated. The other way
round there is no answer here: of a gradient that a backward pass computes, the tangent is unknown, and asking for it is
an error.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Container, Iterator, Sequence
from typing import Any, NamedTuple

import optree

from opweave.registry import kernels
from opweave.registry.autograd.function import over_tangents
from opweave.registry.autograd.graph import edge_of, reach
from opweave.registry.autograd.mode import enable_grad
from opweave.registry.autograd.scopes import Pushforward, Scope, fresh_identity
from opweave.registry.autograd.tangents import UNKNOWN, Level, Unknown, current_level, set_tangent, tangent_of
from opweave.registry.autograd.views import views_of
from opweave.registry.batched import BatchedTensor, levels_of
from opweave.registry.dispatching import IMPLICIT, kernel_at
from opweave.registry.errors import ArgumentError, AutogradError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.interrupts import contextmanager, surely
from opweave.registry.kernels import Kernel
from opweave.registry.keys import AUTOCAST_KEYS, DUAL, INFERENCE, set_mode, state
from opweave.registry.op import OpOverload, ops
from opweave.registry.tags import Tag
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.levels import lift

__all__ = ["UnpackedDualTensor", "dual_level", "enter_dual_level", "exit_dual_level", "make_dual", "unpack_dual"]


class _without_tangents(set_mode):
    """Calls inside the block look for no tangents."""

    def change(self) -> None:
        state.include &= ~DUAL


@contextmanager
def _without_hooks() -> Iterator[None]:
    """What is saved inside the block is not packed: it is read again at once."""
    hooks = state.__dict__.get("saved_hooks", [])
    state.__dict__["saved_hooks"] = []
    try:
        yield
    finally:
        state.__dict__["saved_hooks"] = hooks


# ---- ops -----------------------------------------------------------------------------------------------------------


def _flat(value: Any) -> tuple[list[Any], Any]:
    return optree.tree_flatten(value, none_is_leaf=True)


def _is_differentiable(t: Any) -> bool:
    return isinstance(t, Tensor) and t._dtype.kind in "fc"


def _of_parts(op: OpOverload, bits: int) -> Callable[..., Any] | None:
    """What runs an op as others, each of which sees tangents; None for one that is differentiated as it is."""
    decl, derivative = op.derivative_source()
    if derivative is not None or Tag.inplace_view in op.tags:
        return None
    if any(bits & key.bit and kernel_at(op, key, bits) is not None for key in AUTOCAST_KEYS.values()):
        return op._lookup(bits)  # which casts, and calls the op again
    if decl is not None and not op.is_mutable:
        return decl.body if decl.is_composite else None
    has_own = any(key is not IMPLICIT for key in op.kernels)
    return None if has_own else op.kernels.get(IMPLICIT)


@kernels.forward.supply
def _kernel(op: OpOverload, bits: int) -> Kernel:
    """The kernel of an op where tensors may have tangents."""
    parts = _of_parts(op, bits)
    if parts is not None:
        return parts
    plain = op._lookup(bits)
    derivative = op.derivative_source()[1]
    is_constant = derivative is not None and derivative.differentiable == () and not op.is_mutable

    def call(*args: Any, **kwargs: Any) -> Any:
        leaves, spec = _flat((args, kwargs))
        carriers = [i for i, t in enumerate(leaves) if tangent_of(t) is not None]
        if not carriers:
            return plain(*args, **kwargs)
        if state.include & INFERENCE:
            raise UnsupportedError(
                f"{op}: there are no tangents in inference mode", hint="use no_grad(), in which tensors have them"
            )
        if is_constant:
            with _without_tangents():
                return plain(*args, **kwargs)
        if any(tangent_of(leaves[i]) is UNKNOWN for i in carriers):
            return _unknown(op, plain, args, kwargs)
        if Tag.inplace_view in op.tags:
            return _moved(op, plain, args, kwargs)
        if op.is_mutable:
            return _written(op, args, kwargs)
        if op.is_view:
            return _viewed(op, plain, args, kwargs)
        return pushed(
            lambda fresh: op(*(given := optree.tree_unflatten(spec, _put(leaves, carriers, fresh)))[0], **given[1]),
            [leaves[i] for i in carriers],
        )

    return call


def _put(leaves: Sequence[Any], places: Sequence[int], values: Sequence[Any]) -> list[Any]:
    changed = list(leaves)
    for place, value in zip(places, values, strict=True):
        changed[place] = value
    return changed


def _unknown(op: OpOverload, plain: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A call of what may have a tangent that nobody knows."""
    with _without_tangents():
        result = plain(*args, **kwargs)
    written = [args[0]] if op.is_mutable and args else []
    for t in [*_flat(result)[0], *written]:
        if _is_differentiable(t):
            set_tangent(t, UNKNOWN)
    return result


def pushed(call: Callable[[list[Tensor]], Any], carriers: Sequence[Tensor]) -> Any:
    """The results of a call, with tangents from those of the tensors that it takes.

    Parameters
    ----------
    call : callable
        Takes these tensors, with an identity that they are differentiated by, and gives a tensor or a container.
    carriers : sequence of Tensor
        Tensors that have a tangent.
    """
    scope = Scope()
    vectors = [_of_type(tangent_of(t), t) for t in carriers]
    with _without_tangents(), _without_hooks():
        with enable_grad():
            fresh = [fresh_identity(lift(t), scope.recording) for t in carriers]
            scope.claim(fresh)
            start = min(node.sequence for node in scope.own.values())
            leaves, spec = _flat(call(fresh))
            moving = [i for i, t in enumerate(leaves) if _is_differentiable(t) and _depends(t, scope, start)]
            push = Pushforward(scope, fresh, [leaves[i] for i in moving])
        results = [scope.leave(t) for t in leaves]
        scope.close()
        found = push(vectors) if moving else []
        foreign = {id(t._storage) for t in [*vectors, *carriers, *results] if isinstance(t, Tensor)}
        for i, tangent in zip(moving, found, strict=True):
            set_tangent(results[i], _owned(tangent, results[i], foreign))
            foreign.add(id(tangent._storage))
    return optree.tree_unflatten(spec, results)


def _owned(tangent: Tensor, t: Tensor, foreign: Container[int]) -> Tensor:
    """A tangent that lies in memory as its tensor does, and shares it with nothing: a write to the tensor writes it."""
    if tangent._strides == t._strides and id(tangent._storage) not in foreign:
        return tangent
    if set(levels_of(tangent)).difference(levels_of(t)):  # one for each example, of a tensor that all share
        return ops.aten.clone.default(tangent)
    made = ops.aten.empty_like.default(ops.aten.detach.default(t))
    return ops.aten.copy_.default(made, tangent)


def _of_type(tangent: Any, t: Tensor) -> Tensor:
    return tangent if tangent._dtype is t._dtype else ops.aten._to_copy.default(tangent, dtype=t._dtype)


def _depends(t: Tensor, scope: Scope, start: int) -> bool:
    """Whether a tensor was computed of a scope's inputs, the first of which has the number `start`."""
    edge = edge_of(t)
    seen: set[int] = set()
    stack = [] if edge is None else [edge[0]]
    while stack:
        node = stack.pop()
        if id(node) in scope.own:
            return True
        if id(node) in seen or node.sequence < start:  # recorded before them
            continue
        seen.add(id(node))
        stack.extend(edge[0] for edge in node.edges if edge is not None)
    return False


# ---- views and writes ----------------------------------------------------------------------------------------------


def _viewed(op: OpOverload, plain: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """Views of a tensor and of its tangent."""
    tangent = tangent_of(args[0])
    assert isinstance(tangent, Tensor), "a view has one tensor, which comes first"
    _need_derivative(op)
    with _without_tangents():
        result = plain(*args, **kwargs)
        found = op(tangent, *args[1:], **kwargs)
    for t, along in zip(_flat(result)[0], _flat(found)[0], strict=True):
        set_tangent(t, along)
    return result


def _need_derivative(op: OpOverload) -> None:
    if op.derivative_source()[1] is None and not (op.decl is not None and op.decl.is_composite):
        raise AutogradError(
            f"{op}: has no autograd formula, and so no tangent",
            hint=f"register one with opweave.library.register_autograd({op.name!r}, backward, setup_context=...)",
        )


def _moved(op: OpOverload, plain: Kernel, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A tensor whose sizes change in place, and its tangent."""
    tangent = tangent_of(args[0])
    with _without_tangents():
        result = plain(*args, **kwargs)
        if isinstance(tangent, Tensor):
            op(tangent, *args[1:], **kwargs)
    return result


def _written(op: OpOverload, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """A write in place, of a tensor and of its tangent."""
    target = args[0] if args else None
    names = [a.name for a in op._schema.arguments]
    if list(op.mutated_args) != names[:1] or not isinstance(target, Tensor):
        raise UnsupportedError(
            f"{op}: writes to what is given, and an argument has a tangent",
            got=f"written: {', '.join(op.mutated_args)}",
            hint="use the functional form",
        )
    if not _is_differentiable(target):
        with _without_tangents():
            return op(*args, **kwargs)
    leaves, spec = _flat((args, kwargs))
    carriers = [i for i, t in enumerate(leaves) if tangent_of(t) is not None]

    def on_copy(fresh: list[Tensor]) -> Tensor:
        given, keywords = optree.tree_unflatten(spec, _put(leaves, carriers, fresh))
        copy = ops.aten.clone.default(given[0])
        op(copy, *given[1:], **keywords)
        return copy

    result = pushed(on_copy, [leaves[i] for i in carriers])
    tangent, before = tangent_of(result), tangent_of(target)
    with _without_tangents():
        if isinstance(tangent, Tensor) and before is None:
            before = _room(op, target)
        ops.aten.copy_.default(target, result)
        if isinstance(before, Tensor):
            if isinstance(tangent, Tensor):
                ops.aten.copy_.default(before, tangent)
            else:
                ops.aten.zero_.default(before)
    return target


def _room(op: OpOverload, target: Tensor) -> Tensor:
    """A tangent of zeros for a tensor that has had none, and for all that shares memory with it."""
    owner = target if target._view_of is None else target._view_of
    others = [t for t in views_of(owner) if t is not target]
    if owner is target and not others:
        made = ops.aten.zeros_like.default(ops.aten.detach.default(target))
        set_tangent(target, made)
        return made
    shared = [owner, *others] if owner is target else [owner, target, *others]
    if any(isinstance(t, BatchedTensor) or t._dtype is not owner._dtype for t in shared):
        raise UnsupportedError(
            f"{op}: what has a tangent is written into a batched view, or one of another element type",
            got=describe(target),
            hint="clone() it first, or use the functional form",
        )
    if any(tangent_of(t) is not None for t in shared):
        raise UnsupportedError(
            f"{op}: what has a tangent is written into memory that another tensor with a tangent shares",
            got=describe(target),
            hint="write to that one, or clone() it first",
        )
    options = {"dtype": owner._dtype, "device": owner._device}
    first = min(t._offset for t in shared)
    length = max(reach((t._sizes, t._strides, t._offset)) for t in shared) - first
    memory = ops.aten.zeros.default([length], **options)
    for t in shared:
        place = list(t._sizes), list(t._strides), t._offset - first
        set_tangent(t, ops.aten.as_strided.default(memory, *place))
    made = tangent_of(target)
    assert isinstance(made, Tensor)
    return made


@over_tangents.supply
def _through_function(cls: Any, args: tuple[Any, ...]) -> Any:
    """`Function.apply` of tensors with tangents: those of the results follow from its backward."""
    carriers = [i for i, t in enumerate(args) if tangent_of(t) is not None]
    if any(tangent_of(args[i]) is UNKNOWN for i in carriers):
        with _without_tangents():
            result = cls.apply(*args)
        for t in _flat(result)[0]:
            if _is_differentiable(t):
                set_tangent(t, UNKNOWN)
        return result
    return pushed(lambda fresh: cls.apply(*_put(args, carriers, fresh)), [args[i] for i in carriers])


# ---- public names --------------------------------------------------------------------------------------------------


def enter_dual_level() -> int:
    """Begin a level, in which tensors may have tangents.

    Returns
    -------
    int
        Its number, which is 0.

    Raises
    ------
    UnsupportedError
        Inside another level.

    Examples
    --------
    >>> opweave.autograd.forward_ad.enter_dual_level()
    0
    >>> opweave.autograd.forward_ad.exit_dual_level()
    """
    if state.__dict__.get("dual_level") is not None:
        raise UnsupportedError(
            "forward_ad: a level inside another one is not supported",
            hint="opweave.func.jvp nests, and gives derivatives of any order",
        )
    state.__dict__["dual_level"] = Level()
    state.include |= DUAL
    return 0


def exit_dual_level(*, level: int | None = None) -> None:
    """End the level: no tensor has a tangent any more.

    Parameters
    ----------
    level : int, optional
        Its number.

    Raises
    ------
    AutogradError
        If there is no such level.

    Examples
    --------
    >>> from opweave.autograd import forward_ad
    >>> number = forward_ad.enter_dual_level()
    >>> forward_ad.exit_dual_level(level=number)
    """
    found: Level | None = state.__dict__.get("dual_level")
    if found is None or level not in (None, 0):
        raise AutogradError(
            "exit_dual_level: the level is not the one that was entered last",
            got=f"level {level}, and " + ("no level" if found is None else "the level 0"),
        )
    state.include &= ~DUAL
    state.__dict__["dual_level"] = None
    found.end()


class dual_level:
    """A level of forward-mode differentiation, as a block: inside, tensors may have tangents.

    Ops compute the tangents of their results when they are called. A compiled function runs op by op inside.

    Raises
    ------
    UnsupportedError
        Inside another level.

    Examples
    --------
    >>> from opweave.autograd import forward_ad
    >>> x, v = opweave.tensor([1.0, 2.0]), opweave.tensor([1.0, 0.5])
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(x, v)
    ...     print(forward_ad.unpack_dual(dual * dual).tangent)
    tensor([2., 2.])
    """

    def __enter__(self) -> int:
        return enter_dual_level()

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            exit_dual_level()

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate a function that runs in a level of its own."""

        @functools.wraps(function)
        def inside(*args: Any, **kwargs: Any) -> Any:
            with dual_level():
                return function(*args, **kwargs)

        return inside


class UnpackedDualTensor(NamedTuple):
    """A tensor and its tangent, as `unpack_dual` gives them.

    Parameters
    ----------
    primal : Tensor
        The tensor without a tangent, on the same memory.
    tangent : Tensor or None
        Its tangent, if it has one.

    Examples
    --------
    >>> opweave.autograd.forward_ad.unpack_dual(opweave.ones(2))
    UnpackedDualTensor(primal=tensor([1., 1.]), tangent=None)
    """

    primal: Tensor
    tangent: Tensor | None


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """A tensor on the same memory that has a tangent.

    Parameters
    ----------
    tensor : Tensor
        Of a floating or complex type.
    tangent : Tensor
        Of the same sizes. A write to the result changes it, too, if it is of the same type and lies in memory alike;
        else a copy of it is taken.
    level : int, optional
        The level's number.

    Raises
    ------
    AutogradError
        Where there is no level, or one of the two has a tangent already.
    DTypeError
        If one of them is of another type, or the tangent of a real tensor is complex.
    ShapeError
        If the sizes differ.

    Examples
    --------
    >>> from opweave.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(opweave.tensor([0.0]), opweave.tensor([3.0]))
    ...     print(forward_ad.unpack_dual(dual.exp()))
    UnpackedDualTensor(primal=tensor([1.]), tangent=tensor([3.]))
    """
    if current_level() is None or level not in (None, 0):
        raise AutogradError(
            "make_dual: there is no such level", got=f"level {level}", hint="with forward_ad.dual_level(): ..."
        )
    for what, t in (("primal", tensor), ("tangent", tangent)):
        if not isinstance(t, Tensor):  # pyright: ignore[reportUnnecessaryIsInstance]  # of callers without types
            raise ArgumentError(f"make_dual: the {what} must be a tensor", got=type(t).__name__)
        if t._dtype.kind not in "fc":
            raise _NoFloat(f"make_dual: expected a {what} of a floating or complex type", got=describe(t))
        if tangent_of(t) is not None:
            raise AutogradError(f"make_dual: the {what} has a tangent already", got=describe(t))
    if tensor._sizes != tangent._sizes:
        raise ShapeError("make_dual: the tangent must have the sizes of the primal", got=describe([tensor, tangent]))
    if tangent._dtype.is_complex and not tensor._dtype.is_complex:
        raise DTypeError(
            "make_dual: the tangent of a real tensor is real", got=describe([tensor, tangent]), hint="tangent.real"
        )
    with _without_tangents():
        dual = ops.aten.alias.default(tensor)
        if tangent._dtype is not tensor._dtype:
            tangent = ops.aten._to_copy.default(tangent, dtype=tensor._dtype)
        if type(tangent) is type(tensor) and tangent._strides == tensor._strides:
            along = ops.aten.alias.default(tangent)
        else:
            along = _owned(tangent, tensor, {id(tangent._storage)})
    set_tangent(dual, along)
    return dual


class _NoFloat(DTypeError, ValueError):
    """An element type that has no derivative."""


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """A tensor and its tangent.

    Parameters
    ----------
    tensor : Tensor
        Which may have none.
    level : int, optional
        The level's number.

    Raises
    ------
    UnsupportedError
        If it was computed by a backward pass through tensors with tangents.

    Examples
    --------
    >>> from opweave.autograd import forward_ad
    >>> with forward_ad.dual_level():
    ...     dual = forward_ad.make_dual(opweave.tensor([2.0]), opweave.tensor([1.0]))
    ...     print(forward_ad.unpack_dual(dual**3).tangent)
    tensor([12.])
    """
    if current_level() is None or level is not None and level < 0:
        return UnpackedDualTensor(tensor, None)
    tangent = tangent_of(tensor)
    if isinstance(tangent, Unknown):
        raise UnsupportedError(
            "unpack_dual: the tangent of what a backward pass computed is not known",
            got=describe(tensor),
            hint="opweave.func.jvp(opweave.func.grad(f), (x,), (v,)) gives it",
        )
    with _without_tangents():
        primal = ops.aten.alias.default(tensor)
    return UnpackedDualTensor(primal, tangent)


def __dir__() -> list[str]:
    return sorted(__all__)

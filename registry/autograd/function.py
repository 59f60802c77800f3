"""`Function`: an operation with a forward and a backward of the user's own.

The forward runs without recording, and one `FunctionNode` is put behind its results. It is either
`forward(ctx, *args)`, or `forward(*args)` and `setup_context(ctx, inputs, output)`.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.autograd.engine import GradModeFor
from opweave.registry.autograd.function_node import FunctionCtx, FunctionNode, IntermediateNode, finish
from opweave.registry.autograd.graph import Edge, attach, edge_of
from opweave.registry.autograd.tangents import tangent_of
from opweave.registry.autograd.views import check_write
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.hooks import Hook
from opweave.registry.keys import BATCHED_BIT, DUAL, GRAD, state
from opweave.registry.tensor import Tensor

_ONCE = ("it is once_differentiable, and is differentiated a second time", "write its backward with ops of opweave")


class Function:
    """Base of operations with their own forward and backward; called as `MyFunction.apply(*args)`.

    Examples
    --------
    >>> class Exp(opweave.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x):
    ...         result = x.exp()
    ...         ctx.save_for_backward(result)
    ...         return result
    ...     @staticmethod
    ...     def backward(ctx, grad):
    ...         result, = ctx.saved_tensors
    ...         return grad * result
    """

    generate_vmap_rule = False

    def __init__(self) -> None:
        raise AutogradError(
            f"{type(self).__name__}: functions are not instantiated",
            got=f"{type(self).__name__}()",
            hint=f"call {type(self).__name__}.apply(...)",
        )

    @staticmethod
    def forward(*args: Any, **kwargs: Any) -> Any:
        """Compute the outputs; `forward(ctx, *args)`, or `forward(*args)` with a `setup_context`."""
        raise NotImplementedError("a Function must define forward")

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Save for backward, where forward has no context."""
        raise NotImplementedError

    @staticmethod
    def backward(ctx: Any, *grad_outputs: Any) -> Any:
        """Gradients of the arguments from those of the outputs."""
        raise NotImplementedError("a Function must define backward (or vjp) to be differentiated")

    @staticmethod
    def jvp(ctx: Any, *grad_inputs: Any) -> Any:
        """Tangents of the outputs from those of the arguments; where it is not written, they follow from `backward`."""
        raise NotImplementedError

    @classmethod
    def apply(cls, *args: Any, **kwargs: Any) -> Any:
        """Run the forward and record the backward; with `setup_context`, arguments may have names and defaults."""
        own_context = cls.setup_context is not Function.setup_context
        if own_context:
            args = _bound(cls.forward, args, kwargs)
        elif kwargs:
            raise ArgumentError(
                f"{cls.__name__}.apply: takes no keyword arguments", got=", ".join(kwargs),
                hint="pass them by position, or split forward(ctx, ...) into forward(...) and setup_context",
            )  # fmt: skip
        if state.include & DUAL and any(tangent_of(t) is not None for t in args):
            assert over_tangents.call is not None, "what gives tensors tangents supplies it"
            return over_tangents.call(cls, args)
        ctx = FunctionCtx()
        recorded = not state.exclude & GRAD and any(isinstance(t, Tensor) and t._keys & GRAD for t in args)
        ctx.needs_input_grad = tuple(isinstance(t, Tensor) and bool(t._keys & GRAD) for t in args)
        with GradModeFor(False):
            rule = over_batch.call if hasattr(cls, "vmap") and _any_batched(args) else None
            if own_context or rule is not None:
                output = cls.forward(*args) if rule is None else rule(cls, args)
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        if not recorded:
            return output
        for t in ctx._dirty:
            if t._keys & GRAD or t._view_of is not None:
                _check_dirty(cls.__name__, t)
        node = FunctionNode(ctx, _backward_of(cls), args, f"{cls.__name__}Backward")
        node.jvp = None if cls.jvp is Function.jvp else cls.jvp
        many = isinstance(output, (tuple, list))
        outputs = finish(node, ctx, args, list(output) if many else [output], cls.__name__)
        return tuple(outputs) if many else outputs[0]


#: How a `Function` with a static `vmap` runs its forward on batched tensors; `registry.vmap.custom` supplies it.
over_batch: Hook[[type[Any], tuple[Any, ...]], Any] = Hook()
#: How a `Function` is applied to tensors with tangents; `forward_ad` supplies it.
over_tangents: Hook[[type[Any], tuple[Any, ...]], Any] = Hook()


def _bound(forward: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """The arguments in order, with defaults for those that are left out."""
    code = getattr(forward, "__code__", None)
    if not kwargs and code is not None and code.co_argcount == len(args) and not hasattr(forward, "__wrapped__"):
        return args
    bound = inspect.signature(forward).bind(*args, **kwargs)
    bound.apply_defaults()
    if bound.kwargs:
        raise ArgumentError(
            "Function: forward has arguments that only a name can give, which backward has no place for",
            got=", ".join(bound.kwargs), hint="leave out the * before them",
        )  # fmt: skip
    return bound.args


def _any_batched(args: tuple[Any, ...]) -> bool:
    return any(isinstance(t, Tensor) and t._keys & BATCHED_BIT for t in args)


def _backward_of(cls: type[Function]) -> Callable[..., Any]:
    return getattr(cls, "vjp", cls.backward) if cls.backward is Function.backward else cls.backward


def _check_dirty(name: str, t: Tensor) -> None:
    check_write(name, t)  # type: ignore[arg-type]  # only named in the message


def once_differentiable(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a `backward` that does not differentiate itself: its second derivative is an error."""

    @functools.wraps(fn)
    def wrapped(ctx: Any, *grads: Any) -> Any:
        with GradModeFor(False):
            found = fn(ctx, *grads)
        if state.exclude & GRAD:
            return found
        node = ctx._node() if isinstance(ctx, FunctionCtx) and ctx._node is not None else None
        edges = [edge_of(t) for t in grads if isinstance(t, Tensor)] + list(node.edges if node is not None else ())
        label = getattr(fn, "__qualname__", "backward")
        results = [_refusing(t, label, edges) for t in (found if isinstance(found, (tuple, list)) else (found,))]
        return tuple(results) if isinstance(found, (tuple, list)) else results[0]

    return wrapped


def _refusing(t: Any, label: str, edges: Sequence[Edge | None]) -> Any:
    """A gradient that cannot be differentiated."""
    if not isinstance(t, Tensor) or t._dtype.kind not in "fc":
        return t
    t = t._alias()  # it may be the incoming gradient itself, whose history stays
    attach(t, IntermediateNode(label, edges, *_ONCE), 0)
    return t

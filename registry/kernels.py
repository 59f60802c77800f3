"""Kernels, and what a dispatch table puts around them.

An op's table holds a kernel with all that a call has to see to besides: versions of what is written are counted up,
writes that autograd would not see are refused, results of inference mode are marked.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from opweave.registry.errors import AutogradError
from opweave.registry.hooks import Hook
from opweave.registry.keys import ABOVE_VIEWS, GRAD, VIEW_BIT, DispatchKey, DispatchKeySet, state
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor, describe

if TYPE_CHECKING:
    from opweave.registry.op import OpOverload

Kernel = Callable[..., Any]


def fallthrough_kernel(*args: Any, **kwargs: Any) -> Any:
    """Registered for a key, it makes calls go on to the next key. It is never called itself.

    Examples
    --------
    >>> lib = opweave.library.Library("docs_fallthrough", "DEF")
    >>> _ = lib.define("f(Tensor x) -> Tensor")
    >>> lib.impl("f", lambda x: x + 1, "CPU")
    >>> lib.impl("f", opweave.library.fallthrough_kernel, "Autograd")
    >>> opweave.ops.docs_fallthrough.f(opweave.ones(2))
    tensor([2., 2.])
    """
    raise NotImplementedError("fallthrough_kernel() marks a key to be skipped; it is not there to be called")


class KeysetKernel:
    """A kernel that takes the call's `DispatchKeySet` as its first argument."""

    __slots__ = ("fn",)

    def __init__(self, fn: Kernel):
        self.fn = fn

    def at(self, bits: int) -> Kernel:
        """The kernel for one key set."""
        fn, keys = self.fn, DispatchKeySet(bits)
        return lambda *args, **kwargs: fn(keys, *args, **kwargs)


#: Wraps an op's kernel in what looks at its calls, for those that are `WATCHED`.
watch: Hook[[OpOverload, Kernel], Kernel] = Hook()
#: Makes the kernel of an op for calls in which tensors may have tangents, whose other keys are given.
forward: Hook[[OpOverload, int], Kernel] = Hook()


def marking_inference(kernel: Kernel) -> Kernel:
    """Wrap a kernel so that what it makes can never be part of a gradient."""

    def marking(*args: Any, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        given = {id(t) for t in tensors_in([*args, *kwargs.values()])}
        for t in tensors_in([result]):
            if id(t) not in given:
                t._keys &= ~ABOVE_VIEWS
        return result

    return marking


def noting_use(op: OpOverload, kernel: Kernel) -> Kernel:
    def noting(*args: Any, **kwargs: Any) -> Any:
        if state.used is not None:
            state.used[op] = op.version
        return kernel(*args, **kwargs)

    return noting


#: Runs the body of a composite op in a trace whose sizes depend on data: ``(op, body, args, kwargs)``; `fake.search`'s.
settle_composite: Hook[[OpOverload, Kernel, tuple[Any, ...], dict[str, Any]], Any] = Hook()


def settling(op: OpOverload, kernel: Kernel) -> Kernel:
    def settling(*args: Any, **kwargs: Any) -> Any:
        if settle_composite.call is None:
            return kernel(*args, **kwargs)
        return settle_composite.call(op, kernel, args, kwargs)

    return settling


def noting_mutation(op: OpOverload, kernel: Any, bits: int) -> Kernel:
    """Wrap a kernel so that the versions of what it writes are counted up."""
    if isinstance(kernel, KeysetKernel):
        kernel = kernel.at(bits)
    positions, keywords = _written(op)
    counts_itself = kernel is op.kernels.get(DispatchKey.CompositeImplicitAutograd)  # by the ops that it calls
    if not bits & VIEW_BIT:
        kernel = _refusing_inference(op, kernel)
    checked = refusing_hidden_views(op, kernel)
    if counts_itself:
        return checked

    def mutating_first(*args: Any, **kwargs: Any) -> Any:
        # What nearly every op in place does, in one function instead of three.
        if args and type(args[0]) is Tensor and (args[0]._view_of is None or state.exclude & GRAD):
            result = kernel(*args, **kwargs)
            args[0]._bump()
            return result
        return mutating(*args, **kwargs)

    def mutating(*args: Any, **kwargs: Any) -> Any:
        result = checked(*args, **kwargs)
        for value in [*(args[i] for i in positions if i < len(args)), *(kwargs.get(name) for name in keywords)]:
            if isinstance(value, Tensor):
                value._bump()
            elif isinstance(value, (list, tuple)):
                for item in value:
                    if isinstance(item, Tensor):
                        item._bump()
        return result

    if hasattr(kernel, "counting") and bits & VIEW_BIT and not counts_itself:
        return kernel.counting(mutating)  # it counts by itself where nothing else is to be seen to
    return mutating_first if positions == [0] and not keywords else mutating


def _written(op: OpOverload) -> tuple[list[int], list[str]]:
    """Positions and keywords of the arguments that an op writes."""
    names = set(op.mutated_args)
    arguments = op._schema.arguments
    positions = [i for i, a in enumerate(arguments) if not a.kwarg_only and a.name in names]
    return positions, [a.name for a in arguments if a.kwarg_only and a.name in names]


def refusing_hidden_views(op: OpOverload, kernel: Kernel) -> Kernel:
    positions, _ = _written(op)

    def refusing(*args: Any, **kwargs: Any) -> Any:
        if not state.exclude & GRAD:
            for i in positions:
                if i < len(args) and getattr(args[i], "_view_of", None) is not None:
                    _refuse_hidden_view(op, args[i])
        return kernel(*args, **kwargs)

    return refusing


def _refusing_inference(op: OpOverload, kernel: Kernel) -> Kernel:
    positions, _ = _written(op)

    def refusing(*args: Any, **kwargs: Any) -> Any:
        if not state.exclude & VIEW_BIT:
            for i in positions:
                if i < len(args) and isinstance(args[i], Tensor) and not args[i]._keys & VIEW_BIT:
                    raise AutogradError(
                        f"{op}: a tensor of inference mode cannot be written outside of it", got=describe(args[i]),
                        hint="clone() it, or write under opweave.inference_mode()",
                    )  # fmt: skip
        return kernel(*args, **kwargs)

    return refusing


def _refuse_hidden_view(op: OpOverload, t: Tensor) -> None:
    """A write through a view that autograd does not know of would change what it does know."""
    base = t._view_of
    if base is not None and base._keys & GRAD and not t._keys & GRAD:
        raise AutogradError(
            f"{op}: a view made without recording, of a tensor that requires grad, cannot be written in place",
            got=describe(t), hint="make the view outside no_grad, or write under no_grad",
        )  # fmt: skip

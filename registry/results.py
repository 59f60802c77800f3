"""What comes out of an op, and what it remembers of the tensors that it was made with.

One rule, for ops of every sort: declared ones of every kind, composites, a user's `custom_op` or `triton_op`, kernels
of a `Library`, `Function`, control flow, compiled functions, and each of them below another mode or a level of `vmap`.

1. *A view link says what the schema says.* The result of a view op (`Tensor(a)`) is a view of its argument (`as_view`).
   Any other result is a tensor of its own, whatever views the kernel went through: its link leads to a temporary that
   nobody else holds and that has no history. `unlinked` takes it away, below autograd, where a kernel returns.
2. *Who made it is known.* What autograd records gets its node (`graph.attach`) after that.
3. *A write is recorded, differentiable or not.* Each floating tensor that a recorded op wrote gets a new history, its
   base and the other views on its memory with it (`views.rebase`): a comparison in place, a random fill or a fill with
   a number has a gradient too, which is zero.
4. *What cannot be recorded is refused* (`views.check_write`): a leaf that requires grad, a view of one, one of several
   views that one call made, a view made without recording, an output of a `Function` that shares memory with another
   tensor, a tensor of inference mode.
5. *Versions count writes*, recorded or not (`op._noting_mutation`), so that backward notices what was overwritten.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.tensor import Tensor


def may_be_linked(op: Any) -> bool:
    """Whether the kernel of an op that is no view may return a view of a temporary: one written with other ops.

    A composite that no mode sees is not a kernel: each of its ops comes by here.
    """
    decl = op.decl
    if decl is None:
        return not op.has_composite_implicit
    takes_tensors = any(a.type.has_tensor for a in op._schema.arguments)
    return not decl.allocates and takes_tensors


def unlinked(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """A kernel of an op that is no view, whose results are tensors of their own.

    A kernel that sees to it by itself has an attribute `unlinked`.
    """

    def unlinking(*args: Any, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        if isinstance(result, Tensor):
            if result._view_of is not None:
                unlink(result, args)
        elif isinstance(result, (list, tuple)):
            for t in result:
                if isinstance(t, Tensor) and t._view_of is not None:
                    unlink(t, args)
        return result

    return unlinking


def unlink(t: Tensor, args: tuple[Any, ...]) -> None:
    """Make a result a tensor of its own, unless it lies in the memory of an argument."""
    storage = t._storage
    for value in args:
        if isinstance(value, Tensor):
            if value._storage is storage:
                return
        elif isinstance(value, (list, tuple)) and any(isinstance(v, Tensor) and v._storage is storage for v in value):
            return
    t._view_of = None

"""What tensors have of autograd: properties and methods of `Tensor`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any

from opweave.registry.autograd import engine
from opweave.registry.autograd.graph import (
    AccumulateGrad,
    Node,
    RemovableHandle,
    edge_of,
    grad_fn_of,
    gradient_accessed,
    meta_of,
)
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.keys import GRAD, VIEW_BIT, state
from opweave.registry.op import ops
from opweave.registry.storage import Storage
from opweave.registry.tensor import Tensor, describe, make, take_place


def _get_requires_grad(self: Tensor) -> bool:
    """Whether gradients flow to this tensor."""
    return bool(self._keys & GRAD)


def _set_requires_grad(self: Tensor, value: bool) -> None:
    requires_grad_(self, value)


def requires_grad_(self: Tensor, requires_grad: bool = True) -> Tensor:
    """Say whether gradients flow to this leaf; in place.

    Raises
    ------
    AutogradError
        If it is no leaf, has integer elements, or was made in inference mode.

    Examples
    --------
    >>> opweave.zeros(2).requires_grad_().requires_grad
    True
    """
    if requires_grad:
        if self._dtype.kind not in "fc":
            raise AutogradError(
                "requires_grad: only floating and complex tensors have gradients",
                got=describe(self),
                hint="tensor([1.0, 2.0]), or x.float()",
            )
        if not self._keys & VIEW_BIT:
            raise AutogradError("requires_grad: the tensor was made in inference mode", hint="clone() it outside")
        self._keys |= GRAD
        meta_of(self)
    elif self._keys & GRAD:
        if grad_fn_of(self) is not None:
            raise AutogradError(
                "requires_grad: only leaves can be switched off", got=describe(self), hint="use x.detach()"
            )
        self._keys &= ~GRAD
    return self


def _is_leaf(self: Tensor) -> bool:
    """Whether the tensor was not made by a recorded op."""
    return grad_fn_of(self) is None


def _grad_fn(self: Tensor) -> Node | None:
    """The node of the op that made this tensor, None for a leaf."""
    return grad_fn_of(self)


def _get_grad(self: Tensor) -> Tensor | None:
    """The accumulated gradient."""
    if state.modes:
        gradient_accessed(self, "read")
    return None if self._autograd is None else self._autograd.grad


def _set_grad(self: Tensor, value: Tensor | None) -> None:
    if value is not None:
        if not isinstance(value, Tensor):
            raise ArgumentError("grad: expected a Tensor or None", got=type(value).__name__)
        if value is self:
            raise AutogradError("grad: a tensor cannot be its own gradient")
        if value._sizes != self._sizes or value._dtype is not self._dtype or value._device is not self._device:
            raise AutogradError(
                "grad: must have the tensor's shape, dtype and device", got=f"{describe(value)} for {describe(self)}"
            )
    if state.modes:
        gradient_accessed(self, "assigned")
    meta_of(self).grad = value


def _del_grad(self: Tensor) -> None:
    _set_grad(self, None)


def backward(
    self: Tensor,
    gradient: Tensor | None = None,
    retain_graph: bool | None = None,
    create_graph: bool = False,
    inputs: Any = None,
) -> None:
    """Add this tensor's gradients to the `grad` of the leaves it comes from; see `autograd.backward`.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0], requires_grad=True)
    >>> (x * x).sum().backward()
    >>> x.grad
    tensor([2., 4.])
    """
    engine.backward(self, gradient, retain_graph, create_graph, inputs)


def retain_grad(self: Tensor) -> None:
    """Keep the gradient of a tensor that is no leaf in its `grad`.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> y = x * 2
    >>> y.retain_grad()
    >>> y.sum().backward()
    >>> y.grad
    tensor([1., 1.])
    """
    node = grad_fn_of(self)
    if node is None:
        if not self._keys & GRAD:
            raise AutogradError("retain_grad: the tensor does not require grad", got=describe(self))
        return
    for mode in state.modes:
        mode.gradient_accessed(self, "retained")
    meta = meta_of(self)
    meta.retains = True
    if node.retained is None:
        node.retained = {}
    node.retained[meta.output] = weakref.ref(self)


def _retains_grad(self: Tensor) -> bool:
    """Whether `retain_grad` keeps this non-leaf's gradient."""
    return self._autograd is not None and self._autograd.retains


def register_hook(self: Tensor, hook: Callable[[Tensor], Tensor | None]) -> RemovableHandle:
    """Call `hook(grad)` when this tensor's gradient is computed; what it returns (if anything) replaces it.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> handle = x.register_hook(lambda grad: grad * 10)
    >>> x.sum().backward()
    >>> x.grad
    tensor([10., 10.])
    """
    if not self._keys & GRAD:
        raise AutogradError("register_hook: the tensor does not require grad", got=describe(self))
    edge = edge_of(self)
    assert edge is not None
    node, number = edge
    if not isinstance(node, AccumulateGrad):
        return node.add_pre_hook(number, hook)
    meta = meta_of(self)
    if meta.hooks is None:
        meta.hooks = {}
        node.pre_hooks = {**(node.pre_hooks or {}), 0: meta.hooks}
    handle = RemovableHandle(meta.hooks)
    meta.hooks[handle.id] = hook
    return handle


def register_post_accumulate_grad_hook(self: Tensor, hook: Callable[[Tensor], None]) -> RemovableHandle:
    """Call `hook(tensor)` after a gradient was added to this leaf's `grad`.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> handle = x.register_post_accumulate_grad_hook(lambda t: print(t.grad))
    >>> x.sum().backward()
    tensor([1., 1.])
    """
    edge = edge_of(self)
    if edge is None or not isinstance(edge[0], AccumulateGrad):
        raise AutogradError("register_post_accumulate_grad_hook: only for leaves that require grad", got=describe(self))
    node = edge[0]
    if node.accumulated_hooks is None:
        node.accumulated_hooks = {}
    # The leaf keeps its accumulator, and so the hook, alive.
    self.__dict__["_accumulator"] = node
    handle = RemovableHandle(node.accumulated_hooks)
    node.accumulated_hooks[handle.id] = hook
    return handle


def detach_(self: Tensor) -> Tensor:
    """Forget the history; in place.

    Examples
    --------
    >>> (opweave.ones(2, requires_grad=True) * 2).detach_().requires_grad
    False
    """
    if self._view_of is not None:
        raise AutogradError("detach_: a view cannot be detached in place", hint="use detach()")
    self._keys &= ~GRAD
    if self._autograd is not None:
        self._autograd.grad_fn = None
    return self


def _data(self: Tensor) -> Tensor:
    """The same data without history, as a tensor whose writes are not counted as this one's."""
    storage = self._storage
    if type(self) is not Tensor or type(storage) is not Storage or storage.owner is None or state.modes:
        return ops.aten.detach.default(self)
    found = make(storage.apart(), self._sizes, self._strides, self._offset, self._dtype, self._device)
    found._keys = self._keys & ~GRAD
    return found


def _set_data(self: Tensor, value: Tensor) -> None:
    """Look into the memory of another tensor from now on, with its sizes and dtype; history and gradient stay.

    Raises
    ------
    ArgumentError
        If it is no tensor, or of another class, as while tracing.
    AutogradError
        If this is a view, whose base would not follow, or requires grad and the new elements cannot.
    """
    for mode in state.modes:
        mode.data_assigned(self)
    given: object = value
    if not isinstance(given, Tensor) or type(given) is not type(self):
        raise ArgumentError(
            "data: expected a tensor of the same class", got=f"{type(given).__name__} for {type(self).__name__}",
            hint="with no_grad(): x.copy_(value) writes elements",
        )  # fmt: skip
    if self._view_of is not None:
        raise AutogradError("data: a view cannot look elsewhere", got=describe(self), hint="x.copy_(value)")
    if self._keys & GRAD and given._dtype.kind not in "fc":
        raise AutogradError(
            "data: only floating and complex tensors have gradients",
            got=describe(given),
            hint="tensor([1.0, 2.0]), or x.float()",
        )
    if hasattr(self, "_dims"):
        del self._dims
    take_place(self, given)
    self._keys = (given._keys & ~GRAD) | (self._keys & GRAD)


def _get_role(self: Tensor) -> str | None:
    """What a module keeps the tensor as: its class stays the plain one, which ops are fastest with."""
    return None if self._autograd is None else self._autograd.role


def _set_role(self: Tensor, role: str | None) -> None:
    if role is not None or self._autograd is not None:
        meta_of(self).role = role


def is_inference(self: Tensor) -> bool:
    """Whether the tensor was made in inference mode.

    Examples
    --------
    >>> opweave.zeros(2).is_inference()
    False
    """
    return not self._keys & VIEW_BIT


def _output_nr(self: Tensor) -> int:
    """Which output of `grad_fn` this tensor is."""
    return 0 if self._autograd is None else self._autograd.output


def bind() -> None:
    """Give `Tensor` these properties and methods."""
    table: dict[str, Any] = {
        "requires_grad": property(_get_requires_grad, _set_requires_grad),
        "grad": property(_get_grad, _set_grad, _del_grad),
        "is_leaf": property(_is_leaf),
        "grad_fn": property(_grad_fn),
        "retains_grad": property(_retains_grad),
        "output_nr": property(_output_nr),
        "data": property(_data, _set_data),
        "_role": property(_get_role, _set_role),
    }
    for function in (
        requires_grad_,
        backward,
        retain_grad,
        register_hook,
        register_post_accumulate_grad_hook,
        detach_,
        is_inference,
    ):
        table[function.__name__] = function
    for name, value in table.items():
        setattr(Tensor, name, value)

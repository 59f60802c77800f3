"""The recorded graph: nodes, edges between them, and what a tensor knows of it.

A tensor that requires grad has an `AutogradMeta`. A leaf's edge leads to its `AccumulateGrad`, any other's to the node
of the op that made it. An edge is a pair (node, number of the node's output).
"""

from __future__ import annotations

import itertools
import sys
import weakref
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from opweave.registry.autograd import anomaly
from opweave.registry.autograd.handles import RemovableHandle
from opweave.registry.autograd.saved_hooks import saved_tensors_hooks
from opweave.registry.batched import sum_levels
from opweave.registry.errors import AutogradError, ShapeError
from opweave.registry.keys import ANOMALY, GRAD, state
from opweave.registry.memory_format import contiguous_format, preserve_format
from opweave.registry.op import ops
from opweave.registry.spec import TensorSpec
from opweave.registry.symbolic import demand, is_open, surely_equal
from opweave.registry.tensor import Tensor, describe

Edge = tuple["Node", int]
Grads = tuple[Tensor | None, ...]

#: Numbers of nodes: of two, the later made has the larger.
next_sequence = itertools.count().__next__


class Node:
    """One step of a backward pass: from the gradients of a call's outputs to those of its inputs.

    Attributes
    ----------
    next_functions : tuple of (Node or None, int)
        For each input, where its gradient goes.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> isinstance((x * 2).grad_fn, opweave.autograd.graph.Node)
    True
    """

    edges: tuple[Edge | None, ...]
    input_specs: tuple[TensorSpec | None, ...]
    sequence: int
    #: For each input, the batch levels of the outputs that it does not have: its gradient is summed over them.
    summed_levels: tuple[tuple[Any, ...], ...] | None = None
    output_count = 1
    output_specs: list[TensorSpec | None] = []
    #: Hooks by output, -1 for those on all of them.
    pre_hooks: dict[int, dict[int, Callable[..., Any]]] | None = None
    post_hooks: dict[int, Callable[..., Any]] | None = None
    retained: dict[int, weakref.ref[Tensor]] | None = None

    def __init__(self, edges: tuple[Edge | None, ...], input_specs: tuple[TensorSpec | None, ...]):
        self.edges = edges
        self.input_specs = input_specs
        self.sequence = next_sequence()
        if state.include & ANOMALY:
            anomaly.note_site(self)

    @property
    def metadata(self) -> dict[Any, Any]:
        """Whatever users keep with the node."""
        return self.__dict__.setdefault("_metadata", {})

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        """Gradients of the inputs from those of the outputs."""
        raise NotImplementedError

    def release(self) -> None:
        """Drop what was saved, after a backward pass that does not retain the graph."""

    def name(self) -> str:
        """What the node is called in messages and by `repr`."""
        return type(self).__name__

    @property
    def next_functions(self) -> tuple[tuple[Node | None, int], ...]:
        return tuple((None, 0) if edge is None else edge for edge in self.edges)

    def register_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_inputs, grad_outputs)` after the node; it may return other `grad_inputs`."""
        if self.post_hooks is None:
            self.post_hooks = {}
        handle = RemovableHandle(self.post_hooks)
        self.post_hooks[handle.id] = hook
        return handle

    def register_prehook(self, hook: Callable[..., Any]) -> RemovableHandle:
        """Call `hook(grad_outputs)` before the node; it may return others."""
        return self.add_pre_hook(-1, hook)

    def add_pre_hook(self, output: int, hook: Callable[..., Any]) -> RemovableHandle:
        """Call a hook on the gradient of one output (on all of them with -1) before the node runs."""
        if self.pre_hooks is None:
            self.pre_hooks = {}
        hooks = self.pre_hooks.setdefault(output, {})
        handle = RemovableHandle(hooks)
        hooks[handle.id] = hook
        return handle

    def __repr__(self) -> str:
        return f"<{self.name()} object at {hex(id(self))}>"


def gradient_accessed(variable: Tensor, how: str) -> None:
    """Tell active modes that a leaf's gradient is `"read"`, `"added"` to, or `"assigned"`."""
    for mode in state.modes:
        mode.gradient_accessed(variable, how)


class AccumulateGrad(Node):
    """Adds to a leaf's `grad`."""

    edges = ()
    input_specs = ()
    sequence = sys.maxsize
    accumulated_hooks: dict[int, Callable[..., Any]] | None = None

    def __init__(self, variable: Tensor):
        self.variable = variable

    @property
    def output_specs(self) -> list[TensorSpec | None]:  # type: ignore[override]  # follows the variable
        """What its gradient has to fit."""
        return [self.variable.spec]

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        grad = grads[0]
        if grad is None:
            return ()
        variable = self.variable
        if state.modes:
            gradient_accessed(variable, "added")
        meta = meta_of(variable)
        recorded = not state.exclude & GRAD
        if meta.grad is None:
            if recorded:
                # Always a copy: the gradient may be a view, or a tensor that a caller has.
                is_plain = grad._strides == variable._strides or not variable.is_contiguous()
                layout = preserve_format if is_plain else contiguous_format
                meta.grad = ops.aten.clone.default(grad, memory_format=layout)
            else:
                meta.grad = _owned(grad, variable)
        elif recorded:
            meta.grad = ops.aten.add.Tensor(meta.grad, grad)
        else:
            ops.aten.add_.Tensor(meta.grad, grad)
        for hook in list((self.accumulated_hooks or {}).values()):
            hook(variable)
        return ()


#: What `sys.getrefcount` says in `_owned` of a gradient that only the engine holds; frames of Python 3.14 count less.
_ALONE = 4 if sys.version_info < (3, 14) else 0


def _owned(grad: Tensor, variable: Tensor) -> Tensor:
    """The gradient as a tensor that nobody else can write to: itself where the engine alone holds it, else a copy."""
    if grad._strides == variable._strides and not grad._keys & GRAD and type(grad) is Tensor:
        storage, base = grad._storage, grad._view_of
        is_shared = any(ref() is not None and ref() is not grad for ref in storage.views or ())
        # The references: a caller's tuple, this frame, the frame of apply and getrefcount's argument.
        if not is_shared and sys.getrefcount(grad) <= _ALONE:
            # Those of this frame and of getrefcount, and the tensor's own.
            if base is None:
                if sys.getrefcount(storage) <= 3:
                    return grad
            # Of a view its base has one, too, and is referred to by the view and this frame.
            elif (
                type(base) is Tensor
                and sys.getrefcount(storage) <= 4
                and sys.getrefcount(base) <= 3
                and storage.nbytes == grad.numel() * grad._dtype.itemsize
            ):
                made = grad._alias()
                storage.views = None
                return made
    made = ops.aten.empty_like.default(variable.detach())
    ops.aten.copy_.default(made, grad.detach())
    return made


class AutogradMeta:
    """What a tensor knows of the graph.

    Attributes
    ----------
    grad : Tensor or None
        Accumulated gradient of a leaf, or of a tensor with `retain_grad()`.
    grad_fn : Node or None
        What made the tensor; None for a leaf.
    output : int
        Which of that node's outputs it is.
    view_version : int
        Version of the storage for which `grad_fn` is right, where the tensor is a view.
    restriction : str or None
        Why a view cannot be written where that is recorded, nor get another history; see `views`.
    role : str or None
        What a module keeps the tensor as: `"parameter"`, `"buffer"`, or `"passing buffer"`, which no state has.
    tangent : tuple or None
        A level of forward-mode differentiation, and the tangent in it; see `tangents`.
    """

    # In the class, since most tensors have most of them so, and each call that is recorded makes one of these.
    grad: Tensor | None = None
    grad_fn: Node | None = None
    output = 0
    accumulator: weakref.ref[AccumulateGrad] | None = None
    view_version = -1
    restriction: str | None = None
    retains = False
    hooks: dict[int, Callable[..., Any]] | None = None
    role: str | None = None
    tangent: tuple[Any, Any] | None = None


def meta_of(t: Tensor) -> AutogradMeta:
    """A tensor's autograd data, made where it has none."""
    meta = t._autograd
    if meta is None:
        meta = t._autograd = AutogradMeta()
    return meta


def requires_grad(t: Tensor) -> bool:
    """Whether gradients flow to the tensor."""
    return bool(t._keys & GRAD)


def grad_fn_of(t: Tensor) -> Node | None:
    """The node that made a tensor, None for a leaf. A view's is made anew after a write through another view."""
    if not t._keys & GRAD:
        return None
    meta = meta_of(t)
    base = t._view_of
    if base is not None and base._keys & GRAD and meta.view_version != t._storage.version:
        if grad_fn_of(base) is not None:
            if meta.restriction is not None:
                raise AutogradError(
                    f"{meta.restriction} has lost its history: its memory was written through another tensor",
                    got=describe(t),
                    hint="clone() it before the write, or use the functional form of the op",
                )
            made = AsStridedNode(base, t)
            keep_retaining(t, made, 0)
            meta.grad_fn, meta.output = made, 0
            meta.view_version = t._storage.version
    return meta.grad_fn


def keep_retaining(t: Tensor, node: Node, output: int) -> None:
    """Hand `retain_grad` on to another node that is about to become a tensor's history: it is for what it is now."""
    meta = t._autograd
    if meta is None or not meta.retains or meta.grad_fn is None:
        return
    (meta.grad_fn.retained or {}).pop(meta.output, None)
    if node.retained is None:
        node.retained = {}
    node.retained[output] = weakref.ref(t)


def edge_of(t: Tensor) -> Edge | None:
    """Where the gradient of a tensor goes; None if it needs none."""
    if not t._keys & GRAD:
        return None
    meta = t._autograd
    if meta is None:
        meta = meta_of(t)
    node = meta.grad_fn if t._view_of is None else grad_fn_of(t)
    if node is not None:
        return node, meta.output
    accumulator = meta.accumulator() if meta.accumulator is not None else None
    if accumulator is None:
        accumulator = AccumulateGrad(t)
        meta.accumulator = weakref.ref(accumulator)
        if meta.hooks is not None:
            accumulator.pre_hooks = {0: meta.hooks}
    return accumulator, 0


def attach(t: Tensor, node: Node, output: int) -> None:
    """Make a tensor the output of a node."""
    meta = meta_of(t)
    meta.grad_fn, meta.output = node, output
    meta.view_version = t._storage.version
    t._keys |= GRAD


class allow_mutation_on_saved_tensors:
    """Let tensors that are saved for backward be written to inside the block: each is copied when it is saved.

    Examples
    --------
    >>> x = opweave.ones(3, requires_grad=True)
    >>> with opweave.autograd.graph.allow_mutation_on_saved_tensors():
    ...     y = x * 2
    ...     z = y.sin()
    ...     _ = y.mul_(10)
    >>> z.sum().backward()
    >>> opweave.equal(x.grad, 2 * opweave.full((3,), 2.0).cos())
    True
    """

    def __init__(self) -> None:
        self._hooks = saved_tensors_hooks(self._pack, lambda made: made)
        #: A copy of each saved state of a tensor, which several ops may save.
        self._copies: dict[Any, tuple[Tensor, Tensor]] = {}

    def __enter__(self) -> allow_mutation_on_saved_tensors:
        self._hooks.__enter__()
        return self

    def __exit__(self, *given: object) -> None:
        self._copies = {}
        self._hooks.__exit__(*given)

    def _pack(self, t: Tensor) -> Tensor:
        key = id(t._storage), t._storage.version, t._sizes, t._strides, t._offset, t._dtype
        found = self._copies.get(key)
        if found is None:
            # The tensor is kept as well, so that its storage's id stays its own.
            found = self._copies[key] = ops.aten.clone.default(alias_of(t)), alias_of(t)
        made, edge = alias_of(found[0]), edge_of(t)
        if edge is not None:
            attach(made, *edge)
        return made


def alias_of(t: Tensor) -> Tensor:
    """The same data as a tensor with no history."""
    made = t._alias()
    made._keys = t._keys & ~GRAD
    return made


class ErrorNode(Node):
    """Stands where there is no way back; says so when backward comes by."""

    def __init__(self, inputs: Sequence[Tensor], message: str, hint: str | None, label: str):
        super().__init__(tuple(edge_of(t) for t in inputs), tuple(t.spec for t in inputs))
        self.message, self.hint, self.label = message, hint, label

    def name(self) -> str:
        return self.label

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        raise AutogradError(self.message, hint=self.hint)


Layout = tuple[tuple[Any, ...], tuple[Any, ...], Any]


def real_layout(t: Tensor) -> Layout:
    """Sizes, strides and offset, in real numbers where the elements are complex: two beside each other."""
    if not t._dtype.is_complex:
        return t._sizes, t._strides, t._offset
    return (*t._sizes, 2), (*[2 * stride for stride in t._strides], 1), 2 * t._offset


def same_reals(one: Tensor, other: Tensor) -> bool:
    """Whether two tensors are of one type, or complex numbers and the real ones that these consist of."""
    if one._dtype is other._dtype:
        return True
    kinds = {one._dtype.kind, other._dtype.kind}
    return kinds == {"f", "c"} and one._dtype.to_real() is other._dtype.to_real()


def as_reals(grad: Tensor) -> Tensor:
    """A gradient as real numbers. That of a complex number has those of its parts as its own."""
    return ops.aten.view_as_real.default(grad) if grad._dtype.is_complex else grad


class AsStridedNode(Node):
    """From a view back to its base, by their places in the storage."""

    def __init__(self, base: Tensor, view: Tensor):
        super().__init__((edge_of(base),), (base.spec,))
        self.is_complex = False
        if base._dtype is view._dtype:
            self.base: Layout = (base._sizes, base._strides, base._offset)
            self.view: Layout = (view._sizes, view._strides, view._offset)
        elif same_reals(base, view):
            self.base, self.view, self.is_complex = real_layout(base), real_layout(view), base._dtype.is_complex
        else:
            raise AutogradError(
                "a view of another element type cannot be differentiated once its memory was written",
                got=f"{describe(view)} of {describe(base)}",
                hint="write to the base, or use functional ops",
            )
        self.output_specs = [view.spec]

    def name(self) -> str:
        return "AsStridedBackward0"

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        grad = grads[0]
        if grad is None:
            return (None,)
        if len(self.view[0]) != grad.ndim:
            grad = as_reals(grad)
        found = place_in(grad, self.view, self.base)
        return (ops.aten.view_as_complex.default(found) if self.is_complex else found,)


def place_in(grad: Tensor, view: tuple[Any, ...], base: tuple[Any, ...]) -> Tensor:
    """Zeros like the base with the gradient added where the view lies."""
    aten = ops.aten
    first = min(view[2], base[2])
    length = max(reach(view), reach(base)) - first
    flat = aten.new_zeros.default(grad, [max(length, 1)])
    where = aten.as_strided.default(
        aten.arange.default(max(length, 1), device=grad._device), view[0], view[1], view[2] - first
    )
    flat = aten.index_put.default(flat, [aten.reshape.default(where, [-1])], aten.reshape.default(grad, [-1]), True)
    return aten.as_strided.default(flat, base[0], base[1], base[2] - first)


def reach(layout: tuple[Any, ...]) -> int:
    """One past the last element that a layout touches."""
    sizes, strides, offset = layout
    if 0 in sizes:
        return offset
    return offset + 1 + sum((size - 1) * stride for size, stride in zip(sizes, strides, strict=True))


class CopySlices(Node):
    """The history of a base after an in-place op on a view of it: the op's node, applied to that part of the gradient.

    Inputs: the base as it was, then those of the node but the view.

    Parameters
    ----------
    base, view : Tensor
        What was written, and through what.
    fn : Node
        Of the op.
    output : int
        Which of its outputs the view is.
    at : int
        Which of its inputs the view was.
    """

    def __init__(self, base: Tensor, view: Tensor, fn: Node, output: int, at: int):
        self.kept = [i for i in range(len(fn.edges)) if i != at]
        edges = tuple([fn.edges[i] for i in self.kept])
        super().__init__((edge_of(base), *edges), (base.spec, *[fn.input_specs[i] for i in self.kept]))
        self.mixed = base._dtype is not view._dtype
        places = [real_layout(t) if self.mixed else (t._sizes, t._strides, t._offset) for t in (base, view)]
        self.base: Layout = places[0]
        sizes, strides, offset = places[1]
        self.view: Layout = sizes, strides, offset - self.base[2]
        self.complex_base, self.complex_view = base._dtype.is_complex, view._dtype.is_complex
        self.fn, self.output, self.at = fn, output, at
        self.output_specs = [base.spec]
        levels = fn.summed_levels
        if levels is not None:
            self.summed_levels = ((), *[levels[i] for i in self.kept])

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        grad = grads[0]
        if grad is None:
            return (None,) * len(self.edges)
        aten = ops.aten
        if self.mixed:
            grad = as_reals(grad)
        # The gradient of the base with the base's own strides, so that the view's place in it is known.
        whole = aten.as_strided.default(aten.new_zeros.default(grad, [reach((*self.base[:2], 0))]), *self.base[:2], 0)
        aten.copy_.default(whole, grad)
        part = aten.as_strided.default(whole, *self.view)
        given = aten.clone.default(part)
        if self.mixed and self.complex_view:
            given = aten.view_as_complex.default(given)
        outputs: list[Tensor | None] = [None] * max(self.fn.output_count, self.output + 1)
        outputs[self.output] = given
        found = self.fn.apply(tuple(outputs))
        replacement = found[self.at] if self.at < len(found) else None
        if replacement is None:
            aten.zero_.default(part)
        else:
            replacement = validated(replacement, self.fn, self.at)
            aten.copy_.default(part, as_reals(replacement) if self.mixed else replacement)
        if self.mixed and self.complex_base:
            whole = aten.view_as_complex.default(whole)
        return (whole, *[found[i] if i < len(found) else None for i in self.kept])

    def release(self) -> None:
        if self.fn.output_count == 1:  # else it runs by itself too, for the other outputs
            self.fn.release()


def validated(grad: Tensor, node: Node, index: int) -> Tensor:
    """A gradient brought to the shape, dtype and device of the input it belongs to.

    Raises
    ------
    ShapeError
        If it has a shape that does not come from broadcasting the input.
    """
    levels = node.summed_levels
    if levels is not None and levels[index]:
        grad = sum_levels(grad, levels[index])
    spec = node.input_specs[index]
    if spec is None:
        return grad
    sizes, _, dtype, device = spec
    # Equal integers: symbolic ones are the same objects or are looked at below.
    if grad._sizes is sizes and grad._dtype is dtype and grad._device is device:
        return grad
    if not _are_sizes(grad._sizes, spec.sizes, node):
        grad = _summed_to(grad, spec, node, index)
    if grad._dtype is not spec.dtype:
        if grad._dtype.is_complex and not spec.dtype.is_complex:
            grad = ops.aten.real.default(grad)
        if grad._dtype is not spec.dtype:
            grad = ops.aten._to_copy.default(grad, dtype=spec.dtype)
    if grad._device is not spec.device:
        if grad._sizes:
            raise AutogradError(
                f"{node.name()}: gradient {index} is on {grad._device}, its input on {spec.device}", got=describe(grad)
            )
        grad = ops.aten._to_copy.default(grad, device=spec.device)
    return grad


def _are_sizes(found: tuple[Any, ...], wanted: tuple[Any, ...], node: Node) -> bool:
    """Whether a gradient has the sizes of its input; what depends on data is taken to be so, and verified later."""
    if found is wanted or len(found) != len(wanted):
        return found is wanted
    for have, want in zip(found, wanted, strict=True):
        if have is want:
            continue
        same = have == want
        if same is True:
            continue
        if is_open(same):
            if surely_equal(want, 1):
                return False  # stretched, which is right whatever the size is
            demand(same, f"{node.name()}: a gradient has another size than its input", ShapeError)
        elif not same:
            return False
    return True


def _same_sizes(one: tuple[int, ...], other: tuple[int, ...]) -> bool:
    return len(one) == len(other) and all(map(surely_equal, one, other))


def _summed_to(grad: Tensor, spec: TensorSpec, node: Node, index: int) -> Tensor:
    sizes = spec.sizes
    lead = len(grad._sizes) - len(sizes)
    kept = list(zip(grad._sizes[max(lead, 0) :], sizes, strict=False))
    if lead < 0 or not all(surely_equal(want, 1) or surely_equal(have, want) or have == want for have, want in kept):
        raise ShapeError(
            f"{node.name()}: gradient {index} has the wrong shape",
            got=f"{describe(grad)} for {list(sizes)}",
            hint="a gradient has the shape of its input (or one that the input broadcasts to)",
        )
    return sum_to(grad, sizes)


def sum_to(grad: Tensor, sizes: tuple[int, ...]) -> Tensor:
    """The gradient of broadcasting to `grad`'s shape from `sizes`."""
    lead = len(grad._sizes) - len(sizes)
    if _same_sizes(grad._sizes, sizes):
        return grad
    axes = [*range(lead)]
    axes += [lead + d for d, size in enumerate(sizes) if size == 1 and grad._sizes[lead + d] != 1]
    if axes:
        grad = ops.aten.sum.dim_IntList(grad, axes, True)
    return ops.aten.view.default(grad, list(sizes)) if lead else grad


def nodes_from(roots: Sequence[Node]) -> Iterator[Node]:
    """Every node that can be reached, each once."""
    seen: set[int] = set()
    stack = list(roots)
    while stack:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        yield node
        stack.extend(edge[0] for edge in node.edges if edge is not None)

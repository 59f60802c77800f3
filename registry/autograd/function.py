"""`Function`: an operation with a forward and a backward of the user's own; and the same for registered ops.

Both run the forward without recording and put one `FunctionNode` behind the results. A function is given either
`forward(ctx, *args)`, or `forward(*args)` and `setup_context(ctx, inputs, output)`.
"""

from __future__ import annotations

import functools
import itertools
import weakref
from collections import Counter
from collections.abc import Callable, Container, Sequence
from typing import Any

from opweave.registry.autograd.engine import GradModeFor
from opweave.registry.autograd.graph import Edge, Grads, Node, SavedTensor, attach, edge_of, next_sequence
from opweave.registry.autograd.record import note_levels, run_below
from opweave.registry.autograd.views import check_write, rebase
from opweave.registry.entry import compile_function, identifier, parameters
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.keys import ABOVE_VIEWS, BATCHED_BIT, GRAD, state
from opweave.registry.op import Kernel, OpOverload, is_default, ops
from opweave.registry.schema import Argument
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, describe
from opweave.registry.types import TENSOR


class FunctionCtx:
    """What a forward leaves for its backward.

    Attributes
    ----------
    needs_input_grad : tuple of bool
        Which arguments of the forward need a gradient.
    """

    needs_input_grad: tuple[Any, ...] = ()
    _to_save: tuple[Tensor | None, ...] = ()
    _saved: Sequence[Any] = ()
    #: Weak, since the node holds the context.
    _node: weakref.ref[FunctionNode] | None = None
    _dirty: tuple[Tensor, ...] = ()
    _non_differentiable: tuple[Tensor, ...] = ()
    _materialize = True
    _freed = False
    #: Of a registered op: the last arguments, those that a call may leave out; True for tensors.
    _given: tuple[Any, ...] = ()

    def save_for_backward(self, *tensors: Tensor | None) -> None:
        """Keep tensors for the backward, checked there for later writes. Once; a second call replaces the first."""
        for t in tensors:
            if t is not None and not isinstance(t, Tensor):
                raise ArgumentError(
                    "save_for_backward: only tensors can be saved", got=f"{t!r} ({type(t).__name__})",
                    hint="keep other values as attributes: ctx.n = n",
                )  # fmt: skip
        self._to_save = tensors

    def save_for_forward(self, *tensors: Tensor | None) -> None:
        """Accepted for forward-mode formulas, which are derived from the backward instead."""

    @property
    def saved_tensors(self) -> tuple[Tensor | None, ...]:
        """What `save_for_backward` kept.

        Raises
        ------
        AutogradError
            If the graph was freed, or a tensor was written to since.
        """
        if self._node is None:
            return self._to_save
        node = self._node()
        assert node is not None, "the graph keeps the node while its backward may run"
        if self._freed:
            raise AutogradError(
                "backward through the graph a second time", got=f"{node.name()}, whose saved tensors were dropped",
                hint="pass retain_graph=True to the first backward or grad call",
            )  # fmt: skip
        return tuple(None if value is None else value.get(node) for value in self._saved)

    def mark_dirty(self, *tensors: Tensor) -> None:
        """Say which inputs the forward wrote to; each must be returned too."""
        self._dirty = tensors

    def mark_non_differentiable(self, *tensors: Tensor) -> None:
        """Say which outputs have no gradient."""
        self._non_differentiable = tensors

    def set_materialize_grads(self, value: bool) -> None:
        """Whether outputs without a gradient get zeros in the backward (the default) or None."""
        self._materialize = value


class FunctionNode(Node):
    """A call of a `Function`, or of an op with a registered backward."""

    #: Outputs that share memory with another tensor, whose history a write to them would not change.
    shared: frozenset[int] = frozenset()

    def __init__(self, ctx: FunctionCtx, backward: Callable[..., Any], inputs: Sequence[Any], label: str):
        super().__init__(
            tuple([edge_of(t) if isinstance(t, Tensor) else None for t in inputs]),
            tuple([t.spec if isinstance(t, Tensor) else None for t in inputs]),
        )
        self.ctx = ctx
        self.backward = backward
        self.label = label

    def name(self) -> str:
        return self.label

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        ctx = self.ctx
        if all(grad is None for grad in grads) and ctx._materialize:
            return (None,) * len(self.edges)
        filled: list[Any] = list(grads)
        if ctx._materialize:
            for i, grad in enumerate(filled):
                spec = self.output_specs[i] if i < len(self.output_specs) else None
                if grad is None and spec is not None:
                    filled[i] = ops.aten.zeros.default(list(spec.sizes), dtype=spec.dtype, device=spec.device)
        if ctx._node is None:
            ctx._node = weakref.ref(self)
        found = self.backward(ctx, *filled)
        return self.checked(found)

    def checked(self, found: Any) -> list[Tensor | None]:
        """The gradients as a list, one for each input."""
        grads = list(found) if isinstance(found, (tuple, list)) else [found]
        count = len(self.edges)
        if len(grads) > count and all(grad is None for grad in grads[count:]):
            grads = grads[:count]
        if len(grads) != count:
            raise AutogradError(
                f"{self.label}: backward returned {len(grads)} gradients for {count} inputs",
                hint="return one for each argument of forward, None where there is none",
            )  # fmt: skip
        for i, (grad, edge) in enumerate(zip(grads, self.edges, strict=True)):
            if grad is not None and not isinstance(grad, Tensor):
                raise AutogradError(
                    f"{self.label}: gradient {i} must be a tensor or None", got=f"{type(grad).__name__}"
                )
            if grad is not None and edge is None and self.input_specs[i] is None:
                raise AutogradError(
                    f"{self.label}: backward returned a gradient for argument {i}, which is no tensor",
                    got=describe(grad), hint="return None in that place",
                )  # fmt: skip
        return grads

    def release(self) -> None:
        self.ctx._freed = bool(self.ctx._saved)
        self.ctx._saved = ()


def finish(node: FunctionNode, ctx: FunctionCtx, inputs: Sequence[Any], outputs: list[Any], label: str) -> list[Any]:
    """Put the node behind the outputs and save what the context asked for."""
    dirty = {id(t) for t in ctx._dirty}
    plain = {id(t) for t in ctx._non_differentiable}
    given = {id(t): t for t in inputs if isinstance(t, Tensor)}
    for t in ctx._dirty:
        if not any(t is output for output in outputs):
            raise AutogradError(
                f"{label}: an input marked dirty must be returned", got=describe(t), hint="return it from forward"
            )
    node.output_count = len(outputs)
    node.output_specs = [t.spec if isinstance(t, Tensor) else None for t in outputs]
    if any(t._keys & BATCHED_BIT for t in given.values()):
        note_levels(node, inputs, outputs)
    memory = _memory(inputs, outputs)
    finished = []
    for i, t in enumerate(outputs):
        if isinstance(t, Tensor) and id(t) in dirty:
            if t._dtype.kind in "fc":
                rebase(t, node, i, next(k for k, value in enumerate(inputs) if value is t))
        elif isinstance(t, Tensor) and t._dtype.kind in "fc" and id(t) not in plain:
            is_shared = memory[id(t._storage)] > 1
            if is_shared or id(t) in given or t._keys & GRAD:
                t = t._alias()
                node.shared |= {i}
            else:
                t._view_of = None  # of a temporary of forward
            attach(t, node, i)
        elif isinstance(t, Tensor) and (t._keys & GRAD or id(t) in plain and id(t) in given):
            t = t.detach()
        finished.append(t)
    if ctx._to_save:
        pairs = zip(outputs, finished, strict=True)
        _keep(node, ctx, given, {id(before): after for before, after in pairs if isinstance(before, Tensor)}, finished)
    ctx._node = weakref.ref(node)
    return finished


def _memory(inputs: Sequence[Any], outputs: Sequence[Any]) -> Counter[int]:
    """How many of the tensors lie in each storage; an input counts for more than itself."""
    found = Counter(id(t._storage) for t in outputs if isinstance(t, Tensor))
    for t in inputs:
        if isinstance(t, Tensor):
            found[id(t._storage)] += 2
    return found


def _keep(
    node: FunctionNode, ctx: FunctionCtx, given: Container[int], by_id: dict[int, Tensor], finished: Sequence[Any]
) -> None:
    """Save what the context asked for.

    Parameters
    ----------
    given : container of int
        The ids of the inputs.
    by_id : dict of int to Tensor
        What became of each output.
    finished : sequence
        All of them, in order.
    """
    saved: list[SavedTensor | None] = []
    for t in ctx._to_save:
        if t is None:
            saved.append(None)
        elif id(t) in by_id and id(t) not in given:
            after = by_id[id(t)]
            position = next(i for i, made in enumerate(finished) if made is after)
            saved.append(SavedTensor(after, position if after._keys & GRAD else None))
        elif t._keys & GRAD or id(t) in given:
            saved.append(SavedTensor(t))
        else:
            saved.append(SavedTensor(_intermediate(t, node)))
    ctx._saved = saved
    ctx._to_save = ()
    ctx._node = weakref.ref(node)


_INTERMEDIATE = (
    "its backward uses a tensor that forward computed and saved, which is neither an input nor an output: how that "
    "depends on the inputs is not known, so its second derivative would be wrong",
    "return the intermediate as an output, or save the inputs and compute it anew in backward",
)
_ONCE = ("it is once_differentiable, and is differentiated a second time", "write its backward with ops of opweave")


def _intermediate(t: Tensor, node: FunctionNode) -> Tensor:
    """A tensor that the forward computed and kept: neither input nor output, so its own dependence on the inputs is
    not recorded. Differentiating a backward that uses it would silently leave that dependence out, so it is refused.
    """
    if t._dtype.kind not in "fc":
        return t
    made = t._alias()
    attach(made, IntermediateNode(node.label, node.edges), 0)
    return made


class IntermediateNode(Node):
    """Refuses a second derivative that would be wrong.

    Parameters
    ----------
    label : str
        Whose it is.
    edges : sequence of edges
        To what its tensor may depend on, so that a backward pass to any of these comes by.
    message, hint : str
        Why, and what to do.
    """

    def __init__(
        self, label: str, edges: Sequence[Edge | None], message: str = _INTERMEDIATE[0], hint: str = _INTERMEDIATE[1]
    ):
        kept = tuple([edge for edge in edges if edge is not None])
        super().__init__(kept, (None,) * len(kept))
        self.label, self.message, self.hint = label, message, hint

    def name(self) -> str:
        return self.label

    def apply(self, grads: Grads) -> Sequence[Tensor | None]:
        if all(grad is None for grad in grads):
            return (None,) * len(self.edges)
        raise AutogradError(f"{self.label}: {self.message}", hint=self.hint)


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
            f"{type(self).__name__}: functions are not instantiated", hint=f"call {type(self).__name__}.apply(...)"
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

    @classmethod
    def apply(cls, *args: Any) -> Any:
        """Run the forward and record the backward."""
        ctx = FunctionCtx()
        recorded = not state.exclude & GRAD and any(isinstance(t, Tensor) and t._keys & GRAD for t in args)
        ctx.needs_input_grad = tuple(isinstance(t, Tensor) and bool(t._keys & GRAD) for t in args)
        own_context = cls.setup_context is not Function.setup_context
        with GradModeFor(False):
            batched = over_batch is not None and hasattr(cls, "vmap") and _any_batched(args)
            if own_context or batched:
                output = over_batch(cls, args) if batched else cls.forward(*args)  # type: ignore[misc]  # see above
                cls.setup_context(ctx, args, output)
            else:
                output = cls.forward(ctx, *args)
        if not recorded:
            return output
        for t in ctx._dirty:
            if t._keys & GRAD or t._view_of is not None:
                _check_dirty(cls.__name__, t)
        node = FunctionNode(ctx, _backward_of(cls), args, f"{cls.__name__}Backward")
        many = isinstance(output, (tuple, list))
        outputs = finish(node, ctx, args, list(output) if many else [output], cls.__name__)
        return tuple(outputs) if many else outputs[0]


#: How a `Function` with a static `vmap` runs its forward on batched tensors; `registry.vmap.custom` sets it.
over_batch: Callable[[type[Function], tuple[Any, ...]], Any] | None = None


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


class RegisteredBackward:
    """What `register_autograd` was given.

    Attributes
    ----------
    backward : callable or None
        `backward(ctx, *grads)`, one gradient for each argument, in the structure of the schema: one list for a list.
    setup_context : callable or None
        `setup_context(ctx, inputs, output)`, with `keyword_only_inputs` where the op has such arguments.
    """

    differentiable = None
    by_argument: dict[str, Any] = {}
    joint = None

    def __init__(self, backward: Callable[..., Any], setup_context: Callable[..., Any] | None):
        self.backward = backward
        self.setup_context = setup_context

    def make_kernel(self, op: OpOverload, below: Kernel) -> Kernel:
        """The Autograd kernel of an op with this backward."""
        schema = op._schema
        keyword_names = tuple(a.name for a in schema.arguments if a.kwarg_only)
        label = f"{op.opname}Backward"
        takes_lists = any(_is_list(a) for a in schema.arguments)
        if not keyword_names and not takes_lists and [r.type for r in schema.returns] == [TENSOR]:
            return self._simple_kernel(op, below, label)
        lists = tuple(_is_list(a) for a in schema.arguments if not a.kwarg_only)
        many = len(schema.returns) != 1
        result_lists = tuple(map(_is_list, schema.returns))
        optional = _trailing(op)

        def kernel(*args: Any, **kwargs: Any) -> Any:
            bound, keyword = schema.bind(args, kwargs)
            positional = tuple(bound)
            result = run_below(below, args, kwargs)
            ctx = FunctionCtx()
            ctx.needs_input_grad = tuple(_needs(value) for value in positional)
            ctx._given = tuple([True if _holds_tensors(v) else v for v in positional[len(positional) - optional :]])
            flat, layout = _flatten(positional, lists)
            outputs = (result or ()) if many else (result,)
            flat_outputs, out_layout = _flatten(outputs, result_lists)
            node = FunctionNode(ctx, self._backward(op, layout, out_layout), flat, label)
            if self.setup_context is not None:
                extra = {"keyword_only_inputs": keyword} if keyword_names else {}
                with GradModeFor(False):
                    self.setup_context(ctx=ctx, inputs=positional, output=result, **extra)
            finished = _rebuild(finish(node, ctx, flat, flat_outputs, op.name), out_layout)
            return tuple(finished) if many else finished[0]

        return kernel

    def _simple_kernel(self, op: OpOverload, below: Kernel, label: str) -> Kernel:
        """The same for an op of single tensors with one result.

        Written out with the schema's own arguments: what is known before a call is not looked at again.
        """
        taken, given, known = parameters(op._schema)
        names = [identifier(a.name) for a in op._schema.arguments]
        tensors = {identifier(a.name): a.type.is_optional for a in op._schema.arguments if a.type.has_tensor}
        spec_of = "$spec($TensorSpec, ({0}._sizes, {0}._strides, {0}._dtype, {0}._device))"

        def for_each(text: str, otherwise: str) -> str:
            """A tuple with an item for each argument: one made of its name where it is a tensor."""
            parts = [text.format(name) + (f" if {name} is not None else {otherwise}" if tensors[name] else "")
                     if name in tensors else otherwise for name in names]  # fmt: skip
            return f"({', '.join(parts)}{',' * (len(parts) == 1)})"

        inputs = f"({', '.join(names)}{',' * (len(names) == 1)})"
        last = names[len(names) - _trailing(op) :]
        given_last = [f"True if {name} is not None else None" if name in tensors else name for name in last]
        is_input = "".join(f" or $result is {name}" for name in tensors)
        keys = [f"$keys_of({name})" if optional else f"{name}._keys" for name, optional in tensors.items()]
        lines = [
            f"def $call({taken}):",
            f"    $edges = {for_each('$edge_of({0})', 'None')}",
            f"    $specs = {for_each(spec_of, 'None')}",
            f"    $keys = {' | '.join(keys) or '0'}",
            "    $ctx = $FunctionCtx()",
            f"    $ctx.needs_input_grad = {for_each('({0}._keys & $GRAD != 0)', 'False')}",
            *([f"    $ctx._given = ({', '.join(given_last)},)"] if given_last else []),
            "    $before = $state.exclude",
            "    try:",
            "        $state.exclude = $before | $ABOVE_VIEWS",
            f"        $result = $below({given})",
        ]
        if self.setup_context is not None:
            lines += ["        $state.exclude = $before | $GRAD"]
            lines += [f"        $setup_context(ctx=$ctx, inputs={inputs}, output=$result)"]
        lines += [
            "    finally:",
            "        $state.exclude = $before",
            "    $node = $new_node($FunctionNode)",
            "    $node.edges = $edges",
            "    $node.input_specs = $specs",
            "    $node.sequence = $next_sequence()",
            "    $node.ctx = $ctx",
            "    $node.backward = $backward",
            "    $node.label = $label",
            "    $kind = $result._dtype.kind",
            "    if $keys & $BATCHED_BIT or $ctx._dirty or $ctx._non_differentiable or $kind not in 'fc':",
            f"        return $finish($node, $ctx, {inputs}, [$result], $name)[0]",
            f"    $node.output_specs = [{spec_of.format('$result')}]",
            "    $made = $result",
            f"    if $result._keys & $GRAD or $result._view_of is not None{is_input}:",
            "        $made = $result._alias()",
            "        $node.shared = $FIRST",
            "    $attach($made, $node, 0)",
            "    if $ctx._to_save:",
            f"        $given = {{{', '.join(f'$id({name})' for name in tensors)}}}",
            "        $keep($node, $ctx, $given, {$id($result): $made}, ($made,))",
            "    return $made",
        ]
        known |= {
            "ABOVE_VIEWS": ABOVE_VIEWS, "BATCHED_BIT": BATCHED_BIT, "FIRST": frozenset({0}), "FunctionCtx": FunctionCtx,
            "FunctionNode": FunctionNode, "GRAD": GRAD, "TensorSpec": TensorSpec, "attach": attach, "below": below,
            "backward": self._backward(op, [None] * len(names), [None]), "edge_of": edge_of, "finish": finish, "id": id,
            "keep": _keep, "keys_of": lambda t: 0 if t is None else t._keys, "label": label, "name": op.name,
            "new_node": FunctionNode.__new__, "next_sequence": next_sequence, "setup_context": self.setup_context,
            "spec": tuple.__new__, "state": state,
        }  # fmt: skip
        return compile_function(f"<opweave autograd of {op.name}>", lines, known)

    def _backward(
        self, op: OpOverload, layout: list[int | None], out_layout: list[int | None]
    ) -> Callable[..., list[Any]]:
        """What a node calls: gradients of the results and of the arguments one by one, lists written out."""
        nested = any(width is not None for width in out_layout)

        def backward(ctx: FunctionCtx, *grads: Any) -> list[Any]:
            found = self.backward(ctx, *(_rebuild(list(grads), out_layout) if nested else grads))
            listed = list(found) if isinstance(found, tuple) else [found]
            count = len(layout)
            if len(listed) > count and all(grad is None for grad in listed[count:]):
                listed = listed[:count]
            if _count_given(op, ctx) <= len(listed) < count:
                # As the caller left out arguments, so may the backward.
                listed += [None] * (count - len(listed))
            if len(listed) != count:
                raise AutogradError(
                    f"{op.name}: backward returned {len(listed)} gradients for {count} arguments",
                    got=f"schema: {op._schema}",
                    hint="return a tuple with one for each argument, None for those that are no tensors",
                )
            flat: list[Any] = []
            for position, (value, width) in enumerate(zip(listed, layout, strict=True)):
                flat.extend(_one_by_one(op, position, value, width))
            return flat

        return backward


def _one_by_one(op: OpOverload, position: int, value: Any, width: int | None) -> Sequence[Any]:
    """The gradient of an argument as those of the tensors in it; `width` is how many a list has."""
    if width is None:
        # A list without elements may be anything's: `int[]` has no gradient either.
        if isinstance(value, (list, tuple)) and value:
            raise AutogradError(
                f"{op.name}: the gradient of argument {position} must be a tensor or None",
                got=f"{type(value).__name__} of {len(value)}",
                hint="backward returns a tuple of gradients; only an argument that is a list has a list of them",
            )
        return [None if isinstance(value, (list, tuple)) else value]
    if value is None:
        return [None] * width
    if isinstance(value, list) and len(value) == width:
        return value
    raise AutogradError(
        f"{op.name}: the gradient of a list argument must be a list of {width}",
        got=describe(value) if not isinstance(value, (list, tuple)) else f"{type(value).__name__} of {len(value)}",
        hint="one gradient (or None) for each tensor of the list",
    )  # fmt: skip


def _trailing(op: OpOverload) -> int:
    """How many of the last positional arguments a call may leave out."""
    positional = [a for a in op._schema.arguments if not a.kwarg_only]
    return next((i for i, a in enumerate(reversed(positional)) if not a.has_default), len(positional))


def _count_given(op: OpOverload, ctx: FunctionCtx) -> int:
    """How many positional arguments a call needed to give; what equals its default at the end counts as left out."""
    positional = [a for a in op._schema.arguments if not a.kwarg_only]
    count, given = len(positional), list(ctx._given)
    while given and is_default(positional[count - 1], given.pop()):
        count -= 1
    return count


def _holds_tensors(value: Any) -> bool:
    return isinstance(value, Tensor) or (isinstance(value, (list, tuple)) and any(map(_holds_tensors, value)))


def _is_list(argument: Argument) -> bool:
    return argument.type.has_tensor and argument.type.is_list


def _needs(value: Any) -> Any:
    if isinstance(value, (list, tuple)) and (not value or _holds_tensors(value)):
        return [_needs(item) for item in value]
    return isinstance(value, Tensor) and bool(value._keys & GRAD)


def _flatten(values: Sequence[Any], lists: Sequence[bool]) -> tuple[list[Any], list[int | None]]:
    """Values with the lists among them written out, and how long each list is."""
    flat: list[Any] = []
    layout: list[int | None] = []
    for value, is_list in itertools.zip_longest(values, lists, fillvalue=False):
        if is_list and isinstance(value, (list, tuple)):
            flat.extend(value)
            layout.append(len(value))
        else:
            flat.append(value)
            layout.append(None)
    return flat, layout


def _rebuild(flat: list[Any], layout: list[int | None]) -> list[Any]:
    out: list[Any] = []
    position = 0
    for width in layout:
        if width is None:
            out.append(flat[position])
            position += 1
        else:
            out.append(flat[position : position + width])
            position += width
    return out

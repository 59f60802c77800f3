"""`RegisteredBackward`: a backward of the user's for a registered op, as the op's Autograd kernel.

The kernel runs the op below autograd and puts a `FunctionNode` behind its results. Arguments and results that are lists
of tensors are written out for the node, and put together again for the user's functions.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.autograd.engine import GradModeFor
from opweave.registry.autograd.function_node import FunctionCtx, FunctionNode, finish, keep
from opweave.registry.autograd.graph import attach, edge_of, next_sequence
from opweave.registry.autograd.record import run_below
from opweave.registry.entry import compile_function, identifier, is_default, parameters
from opweave.registry.errors import AutogradError
from opweave.registry.kernels import Kernel
from opweave.registry.keys import ABOVE_VIEWS, BATCHED_BIT, GRAD, state
from opweave.registry.op import OpOverload
from opweave.registry.schema import Argument
from opweave.registry.spec import TensorSpec
from opweave.registry.tensor import Tensor, describe
from opweave.registry.types import TENSOR


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
            "ABOVE_VIEWS": ABOVE_VIEWS,
            "BATCHED_BIT": BATCHED_BIT,
            "FIRST": frozenset({0}),
            "FunctionCtx": FunctionCtx,
            "FunctionNode": FunctionNode,
            "GRAD": GRAD,
            "TensorSpec": TensorSpec,
            "attach": attach,
            "below": below,
            "backward": self._backward(op, [None] * len(names), [None]),
            "edge_of": edge_of,
            "finish": finish,
            "id": id,
            "keep": keep,
            "keys_of": lambda t: 0 if t is None else t._keys,
            "label": label,
            "name": op.name,
            "new_node": FunctionNode.__new__,
            "next_sequence": next_sequence,
            "setup_context": self.setup_context,
            "spec": tuple.__new__,
            "state": state,
        }
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
    )


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

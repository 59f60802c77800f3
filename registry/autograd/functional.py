"""Jacobians, Hessians and their products with vectors, of functions of tensors.

Forward products (`jvp`, `hvp`) come from differentiating a backward product with respect to its vector, in which it is
linear. Results have no history unless `create_graph` is set.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from opweave.registry.autograd.engine import grad
from opweave.registry.autograd.mode import enable_grad
from opweave.registry.errors import ArgumentError, AutogradError, ShapeError, UnsupportedError
from opweave.registry.keys import GRAD
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

Tensors = tuple[Tensor, ...]
Func = Callable[..., Any]

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]


# ---- arguments and results -----------------------------------------------------------------------------------------


def _as_tuple(value: Any, what: str) -> tuple[bool, Tensors]:
    """(whether it was a tuple or list, its tensors)."""
    many = isinstance(value, (tuple, list))
    items = tuple(value) if many else (value,)
    for i, item in enumerate(items):
        if not isinstance(item, Tensor):
            raise ArgumentError(f"{what} {i} must be a tensor", got=type(item).__name__)
    return many, items


def _unpacked(many: bool, values: Sequence[Any]) -> Any:
    return tuple(values) if many else values[0]


def _leaves(inputs: Tensors, create_graph: bool) -> Tensors:
    """The inputs as tensors that the function's results are differentiated by, and nothing else depends on."""
    if create_graph:
        # With history, so that results can be differentiated by what the caller gave.
        return tuple(
            [ops.aten.view.default(t, list(t._sizes)) if t._keys & GRAD else _required(t.detach()) for t in inputs]
        )
    return tuple([_required(t.detach()) for t in inputs])


def _required(t: Tensor) -> Tensor:
    if t._dtype.kind not in "fc":
        raise AutogradError("functional: only floating and complex tensors have gradients", got=describe(t))
    t._keys |= GRAD
    return t


def _vectors(v: Any, like: Tensors, what: str) -> Tensors:
    """The vectors of a product, checked against what they belong to; 1 for a single one-element tensor."""
    if v is None:
        if len(like) != 1 or like[0].numel() != 1:
            raise AutogradError(
                f"{what}: the vector v may be left out only for a single one-element tensor",
                got=describe(list(like)),
                hint="pass v with one tensor for each",
            )
        return (ops.aten.ones_like.default(like[0].detach()),)
    vectors = _as_tuple(v, f"{what}: v")[1]
    if len(vectors) != len(like):
        raise ShapeError(f"{what}: {len(vectors)} vectors for {len(like)} tensors")
    for vector, t in zip(vectors, like, strict=True):
        if vector._sizes != t._sizes:
            raise ShapeError(f"{what}: v must have the tensors' shapes", got=f"{describe(vector)} for {describe(t)}")
    return vectors


def _gradients(
    outputs: Tensors, inputs: Tensors, vectors: Sequence[Tensor] | None, create_graph: bool
) -> tuple[Tensor | None, ...]:
    """`grad`, where outputs that depend on nothing count as constants."""
    live = [i for i, t in enumerate(outputs) if t._keys & GRAD]
    if not live:
        return (None,) * len(inputs)
    along = None if vectors is None else [vectors[i] for i in live]
    return grad(
        [outputs[i] for i in live], inputs, along, allow_unused=True, create_graph=create_graph, retain_graph=True
    )


def _filled(found: Sequence[Tensor | None], like: Tensors, strict: bool, what: str) -> Tensors:
    """Zeros in place of missing gradients; an error with `strict`."""
    result = []
    for i, (value, t) in enumerate(zip(found, like, strict=True)):
        if value is None:
            if strict:
                raise AutogradError(
                    f"{what}: the result does not depend on input {i}, which strict mode does not allow",
                    got=describe(t),
                    hint="strict=False gives zeros",
                )
            value = ops.aten.zeros_like.default(t.detach())
        result.append(value)
    return tuple(result)


def _check_live(outputs: Tensors, strict: bool, what: str) -> None:
    for i, t in enumerate(outputs):
        if strict and not t._keys & GRAD:
            raise AutogradError(
                f"{what}: output {i} does not depend on any input, which strict mode does not allow",
                got=describe(t),
                hint="strict=False gives zeros",
            )


def _finished(value: Any, create_graph: bool) -> Any:
    """Results without history, unless one was asked for."""
    if isinstance(value, tuple):
        return tuple([_finished(item, create_graph) for item in value])
    return value if create_graph else value.detach()


# ---- products ------------------------------------------------------------------------------------------------------


def vjp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The product of a vector with the Jacobian.

    Parameters
    ----------
    func : callable
        Takes tensors and gives a tensor or a tuple of them.
    inputs : Tensor or tuple of Tensor
        Where.
    v : Tensor or tuple of Tensor, optional
        One for each output; may be left out for a single one-element output.
    create_graph : bool
        Whether the results can be differentiated.
    strict : bool
        Raise where an output does not depend on an input, in place of giving zeros.

    Returns
    -------
    outputs, products
        What the function gives, and the product for each input.
    """
    with enable_grad():
        many, given = _as_tuple(inputs, "vjp: input")
        leaves = _leaves(given, create_graph)
        many_out, outputs = _as_tuple(func(*leaves), "vjp: output")
        _check_live(outputs, strict, "vjp")
        found = _gradients(outputs, leaves, _vectors(v, outputs, "vjp"), create_graph)
        products = _filled(found, leaves, strict, "vjp")
    return _finished(_unpacked(many_out, outputs), create_graph), _finished(_unpacked(many, products), create_graph)


def _forward_product(outputs: Tensors, leaves: Tensors, vectors: Tensors, create_graph: bool) -> Tensors:
    """The Jacobian times vectors: the derivative of `u J` by `u`, along the vectors."""
    dummies = tuple([_required(ops.aten.zeros_like.default(t.detach())) for t in outputs])
    rows = _gradients(outputs, leaves, dummies, True)
    pairs = [(row, vector) for row, vector in zip(rows, vectors, strict=True) if row is not None]
    if not pairs:
        return tuple([ops.aten.zeros_like.default(t.detach()) for t in outputs])
    found = _gradients(tuple([row for row, _ in pairs]), dummies, [vector for _, vector in pairs], create_graph)
    return _filled(found, outputs, False, "jvp")


def jvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The product of the Jacobian with a vector.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`.
    v : Tensor or tuple of Tensor, optional
        One for each input; may be left out for a single one-element input.

    Returns
    -------
    outputs, products
        What the function gives, and the product for each output.
    """
    with enable_grad():
        _, given = _as_tuple(inputs, "jvp: input")
        leaves = _leaves(given, create_graph)
        vectors = _vectors(v, leaves, "jvp")
        many_out, outputs = _as_tuple(func(*leaves), "jvp: output")
        _check_live(outputs, strict, "jvp")
        if strict:
            _filled(_gradients(outputs, leaves, _ones(outputs), False), leaves, True, "jvp")
        products = _forward_product(outputs, leaves, vectors, create_graph)
    return (
        _finished(_unpacked(many_out, outputs), create_graph),
        _finished(_unpacked(many_out, products), create_graph),
    )


def _ones(outputs: Tensors) -> Tensors:
    return tuple([ops.aten.ones_like.default(t.detach()) for t in outputs])


def _scalar(func: Func, leaves: Tensors, what: str, strict: bool) -> Tensor:
    """The value of a function with one one-element result."""
    _, outputs = _as_tuple(func(*leaves), f"{what}: output")
    if len(outputs) != 1 or outputs[0].numel() != 1:
        raise ShapeError(f"{what}: the function must give a single one-element tensor", got=describe(list(outputs)))
    _check_live(outputs, strict, what)
    return outputs[0]


def vhp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The product of a vector with the Hessian of a function that gives one number.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`.
    v : Tensor or tuple of Tensor, optional
        One for each input; may be left out for a single one-element input.

    Returns
    -------
    output, products
        What the function gives, and the product for each input.
    """
    with enable_grad():
        many, given = _as_tuple(inputs, "vhp: input")
        leaves = _leaves(given, create_graph)
        vectors = _vectors(v, leaves, "vhp")
        output = _scalar(func, leaves, "vhp", strict)
        slopes = _filled(_gradients((output,), leaves, None, True), leaves, strict, "vhp")
        _check_live(slopes, strict, "vhp")
        products = _filled(_gradients(slopes, leaves, vectors, create_graph), leaves, strict, "vhp")
    return _finished(output, create_graph), _finished(_unpacked(many, products), create_graph)


def hvp(func: Func, inputs: Any, v: Any = None, create_graph: bool = False, strict: bool = False) -> tuple[Any, Any]:
    """The product of the Hessian of a function that gives one number with a vector; `vhp` costs less.

    Parameters
    ----------
    func, inputs, v, create_graph, strict
        As for `vhp`.

    Returns
    -------
    output, products
        What the function gives, and the product for each input.
    """
    with enable_grad():
        many, given = _as_tuple(inputs, "hvp: input")
        leaves = _leaves(given, create_graph)
        vectors = _vectors(v, leaves, "hvp")
        output = _scalar(func, leaves, "hvp", strict)
        slopes = _filled(_gradients((output,), leaves, None, True), leaves, strict, "hvp")
        _check_live(slopes, strict, "hvp")
        products = _forward_product(slopes, leaves, vectors, create_graph)
    return _finished(output, create_graph), _finished(_unpacked(many, products), create_graph)


# ---- matrices ------------------------------------------------------------------------------------------------------


def jacobian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of a function.

    Parameters
    ----------
    func, inputs, create_graph, strict
        As for `vjp`.
    vectorize : bool
        One batched backward pass in place of one for each element of the output.
    strategy : str
        `"reverse-mode"`, or `"forward-mode"`, which wants `vectorize`; both are computed backwards.

    Returns
    -------
    Tensor or (nested) tuple of Tensor
        Of the output's shape followed by the input's; a tuple over outputs where the function gives one, of tuples
        over inputs where these are one.
    """
    if strategy not in ("reverse-mode", "forward-mode"):
        raise UnsupportedError(
            f"jacobian: there is no strategy {strategy!r}", hint='use "reverse-mode" or "forward-mode"'
        )
    if strategy == "forward-mode" and not vectorize:
        raise UnsupportedError('jacobian: strategy="forward-mode" wants vectorize=True', got="vectorize=False")
    if strict and vectorize:
        raise ArgumentError("jacobian: strict=True and vectorize=True do not go together")
    with enable_grad():
        many, given = _as_tuple(inputs, "jacobian: input")
        leaves = _leaves(given, create_graph)
        many_out, outputs = _as_tuple(func(*leaves), "jacobian: output")
        _check_live(outputs, strict, "jacobian")
        blocks = []
        for output in outputs:
            rows = _rows_at_once if vectorize else _rows_in_turn
            row = rows(output, leaves, create_graph, strict)
            blocks.append(_unpacked(many, row))
    return _finished(_unpacked(many_out, blocks), create_graph)


def _rows_in_turn(output: Tensor, leaves: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobian of one output, an element after the other."""
    aten = ops.aten
    parts: list[list[Tensor]] = [[] for _ in leaves]
    count = output.numel()
    flat = aten.reshape.default(output, [count])
    for k in range(count):
        element = aten.select.int(flat, 0, k)
        found = _gradients((element,), leaves, _ones((element,)), create_graph)
        filled = _filled(found, leaves, strict, "jacobian")
        if strict and create_graph:
            _check_live(filled, True, "jacobian")
        for part, value in zip(parts, filled, strict=True):
            part.append(value)
    return tuple(
        [
            aten.reshape.default(aten.stack.default(part), [*output._sizes, *t._sizes])
            if part
            else aten.new_zeros.default(t.detach(), [*output._sizes, *t._sizes])
            for part, t in zip(parts, leaves, strict=True)
        ]
    )


def _rows_at_once(output: Tensor, leaves: Tensors, create_graph: bool, strict: bool) -> Tensors:
    """The Jacobian of one output by one batched backward pass."""
    aten = ops.aten
    count = output.numel()
    if not count or not output._keys & GRAD:
        return tuple([aten.new_zeros.default(t.detach(), [*output._sizes, *t._sizes]) for t in leaves])
    place = aten.arange.default(count, device=output._device)
    units = aten._to_copy.default(aten.eq(aten.unsqueeze.default(place, 1), place), dtype=output._dtype)
    vectors = aten.reshape.default(units, [count, *output._sizes])
    found = grad(
        output, leaves, vectors, retain_graph=True, create_graph=create_graph, allow_unused=True, is_grads_batched=True
    )
    return tuple(
        [
            aten.new_zeros.default(t.detach(), [*output._sizes, *t._sizes])
            if value is None
            else aten.reshape.default(value, [*output._sizes, *t._sizes])
            for value, t in zip(found, leaves, strict=True)
        ]
    )


def hessian(
    func: Func,
    inputs: Any,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of a function that gives one number.

    Parameters
    ----------
    func, inputs, create_graph, strict, vectorize
        As for `jacobian`.
    outer_jacobian_strategy : str
        `"reverse-mode"`, or `"forward-mode"`, which wants `vectorize`; both are computed backwards.

    Returns
    -------
    Tensor or tuple of tuples of Tensor
        For each pair of inputs, of the first's shape followed by the second's.
    """
    many, given = _as_tuple(inputs, "hessian: input")

    def slopes(*leaves: Tensor) -> Any:
        output = _scalar(func, leaves, "hessian", strict)
        found = _filled(_gradients((output,), leaves, None, True), leaves, strict, "hessian")
        _check_live(found, strict, "hessian")
        return found

    found = jacobian(slopes, given, create_graph, strict, vectorize, outer_jacobian_strategy)
    return found if many else found[0][0]

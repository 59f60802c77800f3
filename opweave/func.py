"""Transforms of functions: `grad`, `vjp`, `jvp`, Jacobians, Hessians and `vmap`, under the names of `torch.func`.

They compose in any order and any number of times, with each other and with recorded tensors outside. The argument that
a transform differentiates with respect to gets an identity of its own, so that nested derivatives are told apart, and
inside `vmap` one for each example.
"""

from __future__ import annotations

import functools
import importlib
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, TypeVar, overload

import optree

from opweave.nn.modules.module import Module
from opweave.nn.stateless import functional_call, stack_module_state
from opweave.registry.autograd.graph import Node, alias_of, edge_of, nodes_from
from opweave.registry.autograd.mode import enable_grad, is_grad_enabled
from opweave.registry.autograd.scopes import Pushforward, Scope, products
from opweave.registry.errors import ArgumentError, AutogradError, ShapeError, UnsupportedError
from opweave.registry.keys import GRAD, state
from opweave.registry.loading import load_heavy
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.transform import vmap

__all__ = [
    "functional_call", "functionalize", "grad", "grad_and_value", "hessian", "jacfwd", "jacrev", "jvp", "linearize",
    "replace_all_batch_norm_modules_", "stack_module_state", "vjp", "vmap",
]  # fmt: skip

ArgNums = int | tuple[int, ...]
P = ParamSpec("P")
T = TypeVar("T")
R = TypeVar("R")


# ---- grad ----------------------------------------------------------------------------------------------------------


def _chosen(what: str, argnums: ArgNums, args: tuple[Any, ...]) -> tuple[tuple[int, ...], Any]:
    """(positions from the front, the arguments there: one, or a tuple)."""
    positions = (argnums,) if isinstance(argnums, int) else argnums
    if not isinstance(positions, tuple) or any(type(n) is not int for n in positions) or not positions:
        raise ArgumentError(f"{what}: argnums must be an int or a tuple of ints", got=repr(argnums))
    for n in positions:
        if not -len(args) <= n < len(args):
            raise ArgumentError(
                f"{what}: argnums {n} for a function called with {len(args)} positional arguments",
                hint="arguments given by keyword cannot be differentiated with respect to",
            )
    positions = tuple(n % len(args) for n in positions)
    if len(set(positions)) != len(positions):
        raise ArgumentError(f"{what}: argnums names an argument twice", got=repr(argnums))
    return positions, args[positions[0]] if isinstance(argnums, int) else tuple(args[n] for n in positions)


def _replaced(args: tuple[Any, ...], positions: tuple[int, ...], chosen: Any, single: bool) -> list[Any]:
    changed = list(args)
    for n, value in zip(positions, (chosen,) if single else chosen, strict=True):
        changed[n] = value
    return changed


def _with_aux(what: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not isinstance(result, tuple) or len(result) != 2:
        raise ArgumentError(
            f"{what}: with has_aux=True the function must return (output, aux)", got=type(result).__name__
        )
    return result


@overload
def grad_and_value(
    func: Callable[Concatenate[T, P], R], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[T, P], tuple[T, R]]: ...
@overload
def grad_and_value(func: Callable[P, Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[P, Any]: ...
def grad_and_value(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func` and its value, as `(gradient, value)`.

    Parameters
    ----------
    func : callable
        Returns a tensor of one element; with `has_aux` a pair of it and anything else.
    argnums : int or tuple of int
        The arguments to differentiate with respect to; each may be a nested container of tensors.
    has_aux : bool
        Give `(gradient, (value, aux))`.

    Raises
    ------
    ArgumentError, AutogradError, ShapeError
        If an argument or the result is not a tensor that has a gradient.

    Examples
    --------
    >>> opweave.func.grad_and_value(lambda x: (x * x).sum())(opweave.tensor([2.0, 3.0]))
    (tensor([4., 6.]), tensor(13.))
    """

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        positions, chosen = _chosen("grad", argnums, args)
        scope = Scope()
        with enable_grad():
            made, fresh = scope.enter("grad", chosen)
            result = func(*_replaced(args, positions, made, isinstance(argnums, int)), **kwargs)
            output, aux = _with_aux("grad", result, has_aux)
            _check_scalar(output)
            ones = ops.aten.ones_like.default(alias_of(output))
            create = scope.recording and scope.reaches_outside([output])
            found = products([output], [ones], fresh, create)
        grads = scope.leave(optree.tree_unflatten(optree.tree_structure(chosen, none_is_leaf=True), found))
        value, aux = scope.leave(output), scope.leave(aux)
        scope.close()
        return grads, ((value, aux) if has_aux else value)

    return differentiated


def _check_scalar(output: Any) -> None:
    if not isinstance(output, Tensor):
        raise ArgumentError(
            "grad: the function must return a tensor",
            got=f"{type(output).__name__}",
            hint="return (output, aux) with has_aux=True for more than the value",
        )
    if output._sizes:
        raise ShapeError(
            "grad: the function must return a 0-d tensor", got=describe(output), hint="reduce it: .sum(), or use jacrev"
        )
    if output._dtype.kind not in "f":
        raise AutogradError("grad: the function must return a real floating tensor", got=describe(output))


@overload
def grad(
    func: Callable[Concatenate[T, P], Any], argnums: Literal[0] = 0, has_aux: Literal[False] = False
) -> Callable[Concatenate[T, P], T]: ...
@overload
def grad(func: Callable[P, Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[P, Any]: ...
def grad(func: Callable[..., Any], argnums: ArgNums = 0, has_aux: bool = False) -> Callable[..., Any]:
    """A function that gives the gradient of `func`; see `grad_and_value`.

    Parameters
    ----------
    has_aux : bool
        Give `(gradient, aux)`.

    Examples
    --------
    >>> opweave.func.grad(lambda x: (x * x).sum())(opweave.tensor([2.0, 3.0]))
    tensor([4., 6.])
    """

    @functools.wraps(func)
    def differentiated(*args: Any, **kwargs: Any) -> Any:
        found, value = grad_and_value(func, argnums, has_aux)(*args, **kwargs)
        return (found, value[1]) if has_aux else found

    return differentiated


# ---- products with the Jacobian ------------------------------------------------------------------------------------


def _structure(tree: Any) -> Any:
    return optree.tree_structure(tree, none_is_leaf=True)


def _tensors(what: str, output: Any) -> tuple[list[Tensor], Any]:
    leaves, spec = optree.tree_flatten(output, none_is_leaf=True)
    for t in leaves:
        if not isinstance(t, Tensor):
            raise ArgumentError(f"{what}: the function must return tensors", got=f"{t!r} ({type(t).__name__})")
    if not leaves:
        raise ArgumentError(f"{what}: the function returned no tensor")
    return leaves, spec


def _vectors(what: str, given: Any, like: Sequence[Tensor], spec: Any, of: str) -> list[Tensor]:
    """The tensors of a vector, checked to fit what it is multiplied with."""
    leaves, found = optree.tree_flatten(given, none_is_leaf=True)
    if found != spec:
        raise ArgumentError(f"{what}: the vector must have the structure of the {of}", got=f"{found} for {spec}")
    pairs = list(zip(leaves, like, strict=True))
    for v, t in pairs:
        if not isinstance(v, Tensor):
            raise ArgumentError(f"{what}: the vector must hold tensors", got=type(v).__name__)
        if v._sizes != t._sizes:
            raise ShapeError(
                f"{what}: the vector must have the shape of the {of}",
                got=describe([v, t]),
                hint="opweave.ones_like of it, for one",
            )
    return [v if v._dtype is t._dtype else ops.aten._to_copy.default(v, dtype=t._dtype) for v, t in pairs]


@overload
def vjp(func: Callable[..., R], *primals: Any, has_aux: Literal[False] = False) -> tuple[R, Callable[..., Any]]: ...
@overload
def vjp(func: Callable[..., tuple[R, T]], *primals: Any, has_aux: Literal[True]) -> tuple[R, Callable[..., Any], T]: ...
@overload
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]: ...
def vjp(func: Callable[..., Any], *primals: Any, has_aux: bool = False) -> tuple[Any, ...]:
    """`(output, vjp_fn)`: `vjp_fn(vector)` multiplies with the Jacobian from the left, as often as it is called.

    Parameters
    ----------
    func : callable
        Returns tensors; with `has_aux` a pair of these and anything else.
    *primals
        What to differentiate with respect to.

    Returns
    -------
    tuple
        `(output, vjp_fn)`, or `(output, vjp_fn, aux)`. `vjp_fn` gives a tuple with an entry for each primal.

    Examples
    --------
    >>> value, back = opweave.func.vjp(lambda x: x * x, opweave.tensor([1.0, 2.0]))
    >>> back(opweave.ones(2))
    (tensor([2., 4.]),)
    """
    if not primals:
        raise ArgumentError("vjp: called without primals")
    scope = Scope()
    with enable_grad():
        made, fresh = scope.enter("vjp", primals)
        output, aux = _with_aux("vjp", func(*made), has_aux)
    leaves, spec = _tensors("vjp", output)
    in_spec = _structure(primals)
    outside = scope.recording and scope.reaches_outside(leaves)

    def vjp_fn(*cotangents: Any) -> Any:
        given = cotangents[0] if len(cotangents) == 1 else cotangents
        vectors = _vectors("vjp", given, leaves, spec, "outputs")
        create = is_grad_enabled() and (outside or any(v._keys & GRAD for v in vectors))
        return optree.tree_unflatten(in_spec, products(leaves, vectors, fresh, create))

    result, aux = scope.leave(output), scope.leave(aux)
    scope.close()
    return (result, vjp_fn, aux) if has_aux else (result, vjp_fn)


class _Linear:
    """A function at a point, ready for products with its Jacobian from the right."""

    def __init__(self, what: str, func: Callable[..., Any], primals: tuple[Any, ...], has_aux: bool):
        self.what = what
        self.scope = scope = Scope()
        with enable_grad():
            made, self.fresh = scope.enter(what, primals)
            output, aux = _with_aux(what, func(*made), has_aux)
            self.leaves, self.spec = _tensors(what, output)
            self.in_spec = _structure(primals)
            self.push = Pushforward(scope, self.fresh, self.leaves)
        self.output, self.aux = scope.leave(output), scope.leave(aux)
        scope.close()

    def __call__(self, tangents: Any) -> Any:
        vectors = _vectors(self.what, tangents, self.fresh, self.in_spec, "primals")
        return optree.tree_unflatten(self.spec, self.push(vectors))


@overload
def jvp(
    func: Callable[..., R], primals: Any, tangents: Any, *, strict: bool = False, has_aux: Literal[False] = False
) -> tuple[R, R]: ...
@overload
def jvp(
    func: Callable[..., tuple[R, T]], primals: Any, tangents: Any, *, strict: bool = False, has_aux: Literal[True]
) -> tuple[R, R, T]: ...
@overload
def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]: ...
def jvp(
    func: Callable[..., Any], primals: Any, tangents: Any, *, strict: bool = False, has_aux: bool = False
) -> tuple[Any, ...]:
    """`(output, jvp)`: the output of `func` and the product of its Jacobian with `tangents`.

    Parameters
    ----------
    primals, tangents : tuple
        The arguments, and a vector of the same structure and shapes.
    strict : bool
        Refuse an output that does not depend on the primals, instead of giving zeros.
    has_aux : bool
        `func` returns a pair, whose second is given as a third result.

    Examples
    --------
    >>> opweave.func.jvp(lambda x: x * x, (opweave.tensor([1.0, 2.0]),), (opweave.ones(2),))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    if not isinstance(primals, (tuple, list)) or not primals or type(primals) is not type(tangents):
        raise ArgumentError(
            "jvp: primals and tangents must be tuples with an entry for each argument",
            got=f"{type(primals).__name__} and {type(tangents).__name__}",
            hint="jvp(f, (x,), (v,))",
        )
    linear = _Linear("jvp", func, tuple(primals), has_aux)
    if strict and any(not _depends(t, linear.scope.own) for t in linear.leaves):
        raise AutogradError("jvp: an output does not depend on the primals", hint="strict=False gives zeros for it")
    found = linear(tuple(tangents))
    return (linear.output, found, linear.aux) if has_aux else (linear.output, found)


def _depends(t: Tensor, own: dict[int, Node]) -> bool:
    edge = edge_of(t)
    return edge is not None and any(id(node) in own for node in nodes_from([edge[0]]))


def linearize(func: Callable[..., R], *primals: Any) -> tuple[R, Callable[..., R]]:
    """`(output, jvp_fn)`: `jvp_fn(*tangents)` multiplies with the Jacobian from the right, as often as it is called.

    Examples
    --------
    >>> value, along = opweave.func.linearize(lambda x: x * x, opweave.tensor([1.0, 2.0]))
    >>> value, along(opweave.ones(2))
    (tensor([1., 4.]), tensor([2., 4.]))
    """
    if not primals:
        raise ArgumentError("linearize: called without primals")
    linear = _Linear("linearize", func, primals, False)
    return linear.output, lambda *tangents: linear(tangents)


# ---- Jacobians -----------------------------------------------------------------------------------------------------


def _basis(tensors: Sequence[Tensor]) -> list[Tensor]:
    """For each tensor a batch of vectors: together those of the standard basis of all of them."""
    count = sum(t.numel() for t in tensors)
    found, start = [], 0
    for t in tensors:
        size = t.numel()
        options = {"dtype": t._dtype, "device": t._device}
        parts = [
            ops.aten.zeros.default([start, size], **options), ops.aten.eye.m(size, size, **options),
            ops.aten.zeros.default([count - start - size, size], **options),
        ]  # fmt: skip
        found.append(ops.aten.view.default(ops.aten.cat.default(parts, 0), [count, *t._sizes]))
        start += size
    return found


def _columns(rows: Tensor, tensors: Sequence[Tensor]) -> Iterator[Tensor]:
    """Of results stacked over the basis of some tensors: the part for each, in its shape."""
    start = 0
    for t in tensors:
        part = ops.aten.narrow.default(rows, 0, start, t.numel())
        yield ops.aten.reshape.default(part, [*t._sizes, *rows._sizes[1:]])
        start += t.numel()


def jacrev(
    func: Callable[P, object], argnums: ArgNums = 0, *, has_aux: bool = False, chunk_size: int | None = None
) -> Callable[P, Any]:
    """A function that gives the Jacobian of `func`, a row (an element of the output) at a time, all rows as one batch.

    Parameters
    ----------
    argnums : int or tuple of int
        The arguments to differentiate with respect to.
    has_aux : bool
        `func` returns `(output, aux)`; give `(jacobian, aux)`.
    chunk_size : int, optional
        How many rows to compute at once; all by default.

    Returns
    -------
    callable
        Gives, in the structure of the output, in the structure of the argument, tensors of shape
        `(*output.shape, *argument.shape)`.

    Examples
    --------
    >>> opweave.func.jacrev(lambda x: x * x)(opweave.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        positions, chosen = _chosen("jacrev", argnums, args)
        single = isinstance(argnums, int)

        def partial(picked: Any) -> Any:
            return func(*_replaced(args, positions, picked, single), **kwargs)  # type: ignore[call-arg]

        output, vjp_fn, *aux = vjp(partial, chosen, has_aux=has_aux)
        leaves, spec = _tensors("jacrev", output)
        inputs, in_spec = optree.tree_flatten(chosen, none_is_leaf=True)

        def rows(*vectors: Tensor) -> list[Tensor]:
            return optree.tree_leaves(vjp_fn(optree.tree_unflatten(spec, vectors)), none_is_leaf=True)

        # The basis is no part of a surrounding vmap's batch.
        stacked = vmap(rows, chunk_size=chunk_size)(*_basis(leaves))
        by_output = list(zip(*[_columns(t, leaves) for t in stacked], strict=True)) if inputs else []
        found = [optree.tree_unflatten(in_spec, list(parts)) for parts in by_output]
        result = optree.tree_unflatten(spec, found)
        return (result, aux[0]) if has_aux else result

    return jacobian


def jacfwd(
    func: Callable[P, object], argnums: ArgNums = 0, has_aux: bool = False, *, randomness: str = "error"
) -> Callable[P, Any]:
    """A function that gives the Jacobian of `func`, a column (an element of the argument) at a time.

    Parameters
    ----------
    argnums, has_aux
        As in `jacrev`, which gives the same; this one suits functions with more outputs than inputs.
    randomness : str
        Accepted for the signature's sake: the function itself runs once, outside the batch.

    Examples
    --------
    >>> opweave.func.jacfwd(lambda x: x * x)(opweave.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """

    @functools.wraps(func)
    def jacobian(*args: Any, **kwargs: Any) -> Any:
        positions, chosen = _chosen("jacfwd", argnums, args)
        single = isinstance(argnums, int)

        def partial(picked: Any) -> Any:
            return func(*_replaced(args, positions, picked, single), **kwargs)  # type: ignore[call-arg]

        linear = _Linear("jacfwd", partial, (chosen,), has_aux)
        inputs, in_spec = optree.tree_flatten(chosen, none_is_leaf=True)

        def columns(*vectors: Tensor) -> list[Tensor]:
            return optree.tree_leaves(linear((optree.tree_unflatten(in_spec, vectors),)), none_is_leaf=True)

        stacked = vmap(columns, out_dims=0)(*_basis(inputs))
        found = []
        for t in stacked:
            parts = [
                ops.aten.movedim.intlist(part, list(range(x.ndim)), [*range(part.ndim - x.ndim, part.ndim)])
                for part, x in zip(_columns(t, inputs), inputs, strict=True)
            ]
            found.append(optree.tree_unflatten(in_spec, parts))
        result = optree.tree_unflatten(linear.spec, found)
        return (result, linear.aux) if has_aux else result

    return jacobian


def hessian(func: Callable[P, Any], argnums: ArgNums = 0) -> Callable[P, Any]:
    """A function that gives the second derivatives of `func`: `jacfwd(jacrev(func))`.

    Examples
    --------
    >>> opweave.func.hessian(lambda x: (x**3).sum())(opweave.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    return jacfwd(jacrev(func, argnums), argnums)


# ---- modules -------------------------------------------------------------------------------------------------------


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let batch normalizations keep no running statistics, in place: they write to tensors that a batch would share.

    Parameters
    ----------
    root : Module
        Whose modules are changed.

    Returns
    -------
    Module
        The same.

    Examples
    --------
    >>> module = opweave.func.replace_all_batch_norm_modules_(opweave.nn.BatchNorm1d(2))
    >>> module.running_mean is None, module.track_running_stats
    (True, False)
    """
    kind = load_heavy("opweave.nn.modules.batchnorm")._BatchNorm
    for module in root.modules():
        if isinstance(module, kind):
            for name in ("running_mean", "running_var", "num_batches_tracked"):
                setattr(module, name, None)
            module.track_running_stats = False  # type: ignore[assignment]  # an attribute of these modules
    return root


# ---- mutations -----------------------------------------------------------------------------------------------------


def functionalize(f: Callable[P, R], *, remove: str = "mutations") -> Callable[P, R]:
    """A function that computes the same without in-place ops, but for the last write to each argument that it changes.

    Called on its own it is `f`. Its trace has functional ops in place of in-place ones.

    Parameters
    ----------
    f : callable
        Takes and returns nested containers of tensors.
    remove : {"mutations"}
        What is taken out.

    Raises
    ------
    UnsupportedError
        For ``"mutations_and_views"``: there are no ops that copy in place of a view.
    ArgumentError
        For any other value.

    Examples
    --------
    >>> print(make_fx(functionalize(lambda x: x.clone().add_(1)))(opweave.ones(3)).code)  # doctest: +SKIP
    def forward(self, x_1: "f32[3]"):
        clone: "f32[3]" = ops.aten.clone.default(x_1)
        add: "f32[3]" = ops.aten.add.Tensor(clone, 1)
        return (add,)
    """
    if remove == "mutations_and_views":
        raise UnsupportedError(
            "functionalize: views stay views",
            got=f"remove={remove!r}",
            hint="remove='mutations'; clone() what must not share memory",
        )
    if remove != "mutations":
        raise ArgumentError("functionalize: unknown value of remove", got=repr(remove), hint="remove='mutations'")

    @functools.wraps(f)
    def functional(*args: P.args, **kwargs: P.kwargs) -> R:
        if not state.modes:
            return f(*args, **kwargs)
        return importlib.import_module("opweave.functionalization").call(f, args, kwargs)

    return functional


def __dir__() -> list[str]:
    return sorted(__all__)

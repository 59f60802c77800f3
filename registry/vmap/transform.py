"""`vmap`: a function of one example, called on a batch."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any, Literal, ParamSpec, TypeVar

import optree

from opweave.registry.batched import Level, levels_of
from opweave.registry.device import cpu
from opweave.registry.errors import ArgumentError, OutOfRangeError, ShapeError
from opweave.registry.interrupts import let_through
from opweave.registry.keys import VMAP_MODE_BIT, state
from opweave.registry.op import ops
from opweave.registry.random_generator import default_generator, thread_generators
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.levels import active, add_batch_dim, note_alias, note_writes, remove_batch_dim

P = ParamSpec("P")
R = TypeVar("R")

_RANDOMNESS = ("error", "different", "same")


def vmap(
    func: Callable[P, R],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: Literal["error", "different", "same"] = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[P, R]:
    """A function that runs `func`, written for one example, on a batch of them at once.

    Parameters
    ----------
    func : callable
        Takes and returns tensors, or nested containers of them. Keyword arguments are passed on as they are.
    in_dims : int, None or nested tuple of them
        Which dimension of each argument counts the examples; None for an argument that all examples share. A container
        of arguments may be given one number for all, or a container of the same structure.
    out_dims : int, None or nested tuple of them
        Where the examples are counted in each result; None for one that is the same for all examples.
    randomness : {"error", "different", "same"}
        What random ops inside do: refuse, draw anew for each example, or draw once for all.
    chunk_size : int, optional
        Run so many examples at a time; all at once by default.

    Returns
    -------
    callable

    Raises
    ------
    ArgumentError, ShapeError, OutOfRangeError
        On a call whose arguments or results do not fit `in_dims` or `out_dims`.

    Examples
    --------
    >>> dot = opweave.vmap(opweave.dot)  # (N, D), (N, D) -> (N)
    >>> dot(opweave.ones(2, 3), opweave.ones(2, 3))
    tensor([3., 3.])
    >>> per_example = opweave.vmap(opweave.func.grad(lambda w, x: (w * x).sum()), in_dims=(None, 0))
    >>> per_example(opweave.ones(2), opweave.tensor([[1.0, 2.0], [3.0, 4.0]]))
    tensor([[1., 2.],
            [3., 4.]])
    """
    if not callable(func):
        raise ArgumentError("vmap: expected a function", got=repr(func))
    if randomness not in _RANDOMNESS:
        raise ArgumentError(
            "vmap: unknown randomness", got=repr(randomness), hint=f"one of {', '.join(map(repr, _RANDOMNESS))}"
        )
    if chunk_size is not None and (type(chunk_size) is not int or chunk_size <= 0):
        raise ArgumentError("vmap: chunk_size must be a positive int or None", got=repr(chunk_size))

    @functools.wraps(func)
    def batched(*args: P.args, **kwargs: P.kwargs) -> Any:
        leaves, spec = _flat(args)
        dims = _in_dims(in_dims, args, leaves, func)
        size = _batch_size(dims, leaves, func)
        if chunk_size is None or size <= chunk_size:
            return _run(func, leaves, spec, dims, size, out_dims, randomness, kwargs)
        return _in_chunks(func, leaves, spec, dims, size, out_dims, randomness, kwargs, chunk_size)

    return batched


def _flat(tree: Any) -> tuple[list[Any], Any]:
    return optree.tree_flatten(tree, none_is_leaf=True)


def _spread(prefix: Any, tree: Any) -> list[Any]:
    """An entry for each leaf of a tree; ValueError where the structures differ."""
    return optree.broadcast_prefix(prefix, tree, none_is_leaf=True)


def _name(func: Callable[..., Any]) -> str:
    return getattr(func, "__name__", None) or type(func).__name__


def _is_dim(value: Any) -> bool:
    return value is None or (isinstance(value, int) and not isinstance(value, bool))


def _in_dims(in_dims: Any, args: tuple[Any, ...], leaves: list[Any], func: Callable[..., Any]) -> list[int | None]:
    """The dimension of each leaf, counted from the front; None where it is shared."""
    what = f"vmap({_name(func)})"
    if not args:
        raise ArgumentError(f"{what}: called without positional arguments, so there is nothing to batch over")
    if not (isinstance(in_dims, int) and not isinstance(in_dims, bool)) and not isinstance(in_dims, (tuple, list)):
        raise ArgumentError(
            f"{what}: in_dims must be an int or a tuple with an entry for each argument",
            got=repr(in_dims),
            hint="in_dims=(0, None) for a batch and an argument that all examples share",
        )
    if isinstance(in_dims, list):
        in_dims = tuple(in_dims)
    try:
        found: list[Any] = _spread(in_dims, args)
    except ValueError as error:
        let_through(error)
        raise ArgumentError(
            f"{what}: in_dims does not have the structure of the arguments",
            got=f"in_dims={in_dims!r} for {len(args)} arguments: {_structure(args)}",
            hint="one entry for each positional argument; a container of arguments takes one number, or such a "
            "container of numbers",
        ) from None
    dims: list[int | None] = []
    for leaf, dim in zip(leaves, found, strict=True):
        if not _is_dim(dim):
            raise ArgumentError(f"{what}: in_dims must hold ints and None", got=repr(dim))
        if dim is None:
            dims.append(None)
            continue
        if not isinstance(leaf, Tensor):
            raise ArgumentError(
                f"{what}: in_dim {dim} is for an argument that is no tensor",
                got=f"{leaf!r} ({type(leaf).__name__})",
                hint="None in its place in in_dims passes it on as it is",
            )
        if not -leaf.ndim <= dim < leaf.ndim:
            raise OutOfRangeError(
                f"{what}: in_dim {dim} is out of range",
                got=describe(leaf),
                hint=f"expected {-leaf.ndim} <= in_dim < {leaf.ndim}" if leaf.ndim else "a 0-d tensor has no examples",
            )
        dims.append(dim % leaf.ndim)
    return dims


def _structure(value: Any) -> str:
    return str(optree.tree_structure(value, none_is_leaf=True)).removeprefix("PyTreeSpec(").partition(", NoneIsLeaf")[0]


def _batch_size(dims: Sequence[int | None], leaves: Sequence[Any], func: Callable[..., Any]) -> int:
    sizes = [leaf._sizes[dim] for leaf, dim in zip(leaves, dims, strict=True) if dim is not None]
    if not sizes:
        raise ArgumentError(
            f"vmap({_name(func)}): in_dims is None for every argument", hint="at least one must be batched over"
        )
    if len(set(sizes)) > 1:
        given = [f"{describe(t)} at dim {dim}" for t, dim in zip(leaves, dims, strict=True) if dim is not None]
        raise ShapeError(
            f"vmap({_name(func)}): the batched arguments differ in the number of examples: {sizes}",
            got=", ".join(given),
            hint="the sizes of the dimensions that in_dims names must be equal",
        )
    return sizes[0]


def _run(
    func: Callable[..., Any],
    leaves: Sequence[Any],
    spec: Any,
    dims: Sequence[int | None],
    size: int,
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
) -> Any:
    level, before, was_on = Level.fresh(size, randomness), active(), state.include & VMAP_MODE_BIT
    state.__dict__["vmap"] = [*before, level]
    state.include |= VMAP_MODE_BIT
    try:  # as `entered`, but that the handler of a signal cannot prevent its end
        wrapped = [
            leaf if dim is None else add_batch_dim(leaf, dim, level) for leaf, dim in zip(leaves, dims, strict=True)
        ]
        result = func(*optree.tree_unflatten(spec, wrapped), **kwargs)
    finally:
        state.__dict__["vmap"] = before
        state.include = (state.include & ~VMAP_MODE_BIT) | was_on
    given: list[Tensor] = []
    for leaf, made, dim in zip(leaves, wrapped, dims, strict=True):
        if dim is not None:
            note_writes(leaf, made, dim, level)
            given.append(leaf)
    outputs, out_spec = optree.tree_flatten(result, none_is_leaf=True)
    places = _out_dims(out_dims, result, outputs, func)
    found = [_taken_out(t, dim, level, func, given) for t, dim in zip(outputs, places, strict=True)]
    return optree.tree_unflatten(out_spec, found)


def _out_dims(out_dims: Any, result: Any, outputs: Sequence[Any], func: Callable[..., Any]) -> list[int | None]:
    what = f"vmap({_name(func)})"
    for t in outputs:
        if not isinstance(t, Tensor):
            raise ArgumentError(
                f"{what}: the function must return tensors",
                got=f"{t!r} ({type(t).__name__})",
                hint="return tensors, or containers of nothing else; opweave.tensor(number) makes one",
            )
    if isinstance(out_dims, list):
        out_dims = tuple(out_dims)
    if _is_dim(out_dims):
        return [out_dims] * len(outputs)
    try:
        if isinstance(result, Tensor) and isinstance(out_dims, tuple) and len(out_dims) == 1:
            found: list[Any] = list(out_dims)
        else:
            target = tuple(result) if isinstance(result, list) and isinstance(out_dims, tuple) else result
            found = _spread(out_dims, target)
    except ValueError as error:
        let_through(error)
        found = [out_dims]
    if len(found) != len(outputs) or not all(map(_is_dim, found)):
        raise ArgumentError(
            f"{what}: out_dims does not have the structure of the results",
            got=f"out_dims={out_dims!r} for {_structure(result)}",
            hint="one int for all, or one for each result",
        )
    return found


def _taken_out(t: Tensor, dim: int | None, level: Level, func: Callable[..., Any], given: Sequence[Tensor]) -> Tensor:
    is_batched = level in levels_of(t)
    if dim is None:
        if is_batched:
            raise ArgumentError(
                f"vmap({_name(func)}): out_dim is None for a result that differs between examples",
                got=describe(t),
                hint="an int says where the examples are counted in the result",
            )
        return t
    rank = t.ndim + 1
    if not -rank <= dim < rank:
        raise OutOfRangeError(
            f"vmap({_name(func)}): out_dim {dim} is out of range",
            got=describe(t),
            hint=f"expected {-rank} <= out_dim < {rank}",
        )
    whole = remove_batch_dim(t, level)
    if is_batched:
        note_alias(whole, given)
    return ops.aten.movedim.int(whole, 0, dim) if dim % rank else whole


def _in_chunks(
    func: Callable[..., Any],
    leaves: Sequence[Any],
    spec: Any,
    dims: Sequence[int | None],
    size: int,
    out_dims: Any,
    randomness: str,
    kwargs: dict[str, Any],
    chunk_size: int,
) -> Any:
    results: list[list[Tensor]] = []
    places: list[int | None] = []
    out_spec: Any = None
    for device in {cpu, *(t._device for t in leaves if isinstance(t, Tensor))}:
        default_generator(device)
    before = [(generator, generator.state) for generator in thread_generators()] if randomness == "same" else []
    for start in range(0, size, chunk_size):
        for generator, seen in before:
            generator.state = seen  # each chunk draws the same numbers
        length = min(chunk_size, size - start)
        part = [
            leaf if dim is None else ops.aten.narrow.default(leaf, dim, start, length)
            for leaf, dim in zip(leaves, dims, strict=True)
        ]
        found = _run(func, part, spec, dims, length, out_dims, randomness, kwargs)
        outputs, out_spec = optree.tree_flatten(found, none_is_leaf=True)
        places = places or _out_dims(out_dims, found, outputs, func)
        results.append(outputs)
    joined = [
        column[0] if dim is None else ops.aten.cat.default(list(column), dim)
        for column, dim in zip(zip(*results, strict=True), places, strict=True)
    ]
    return optree.tree_unflatten(out_spec, joined)

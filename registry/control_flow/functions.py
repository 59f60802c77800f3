"""What a user calls: control flow on pytrees of tensors.

Each function checks its arguments, flattens them, calls its op with functions of flat tensors (`FlatFunction`) and puts
the results together again. `associative_scan` is no op: it calls the function on all pairs of neighbours at once, some
log2(n) times, which traces, differentiates and batches like any other code.
"""

from __future__ import annotations

import operator
from collections.abc import Callable, Sequence
from typing import Any

import optree

from opweave.registry.batched import Level
from opweave.registry.control_flow.operators import (
    aten,
    check_agreement,
    cond_op,
    map_op,
    predicate,
    scan_op,
    while_loop_op,
)
from opweave.registry.dtypes import bool_
from opweave.registry.errors import ArgumentError, OutOfRangeError, ShapeError
from opweave.registry.hooks import Hook
from opweave.registry.symbolic import Symbolic, demand, is_open
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.levels import add_batch_dim, entered, remove_batch_dim

_COMBINE_MODES = ("pointwise", "generic")

#: Compares the branch of a `cond` that ran with the one that did not: ``(ran, other, operands, results)``, functions
#: with their names. `tracer.control_flow` supplies it, which can run a branch without data.
compare_branches: Hook[[FlatFunction, FlatFunction, Sequence[Tensor], Sequence[Tensor]], None] = Hook()


class FlatFunction:
    """A user's function on flat tensors.

    Parameters
    ----------
    label : str
        What it is called in messages: `"cond: true_fn"`.
    fn : callable
        The user's.
    spec : optree.PyTreeSpec
        Structure of its arguments.
    like : (str, optree.PyTreeSpec), optional
        What its result must have the structure of.

    Attributes
    ----------
    structure : tuple or None
        Structure of what it returned, and which leaves are tensors; None before it was called. The others are None.
    """

    def __init__(self, label: str, fn: Callable[..., Any], spec: Any, like: tuple[str, Any] | None = None):
        if not callable(fn):
            raise ArgumentError(f"{label} must be a function", got=f"{fn!r} ({type(fn).__name__})")
        self.label = label
        self.fn = fn
        self.spec = spec
        self.expected = "before" if like is None else like[0]
        self.structure = None if like is None else (like[1], (True,) * like[1].num_leaves)
        self.leaf_names: list[str] = []

    def __call__(self, *leaves: Tensor) -> tuple[Tensor, ...]:
        # What is lifted from closures is passed on behind the arguments, and of no concern here.
        return self.flat(self.fn(*optree.tree_unflatten(self.spec, leaves[: self.spec.num_leaves])))

    def flat(self, result: Any) -> tuple[Tensor, ...]:
        """The tensors of a result; its structure is kept."""
        leaves, spec = optree.tree_flatten(result, none_is_leaf=True)
        paths = [_path(path) for path in optree.tree_paths(result, none_is_leaf=True)]
        for leaf, path in zip(leaves, paths, strict=True):
            if not isinstance(leaf, Tensor) and leaf is not None:
                raise ArgumentError(
                    f"{self.label} must return tensors, or containers of them",
                    got=f"{path}: {describe(leaf)} ({type(leaf).__name__})",
                    hint="opweave.tensor(number) makes one",
                )
        structure = spec, tuple([leaf is not None for leaf in leaves])
        if self.structure is not None and self.structure != structure:
            raise ArgumentError(
                f"{self.label} returns another structure than {self.expected}",
                got=_text(structure),
                hint=f"expected: {_text(self.structure)}",
            )
        self.structure = structure
        self.leaf_names = [path for leaf, path in zip(leaves, paths, strict=True) if leaf is not None]
        return tuple([leaf for leaf in leaves if leaf is not None])

    def rebuilt(self, tensors: Sequence[Tensor]) -> Any:
        """Tensors in the structure of its results."""
        assert self.structure is not None
        spec, present = self.structure
        rest = iter(tensors)
        return optree.tree_unflatten(spec, [next(rest) if there else None for there in present])


def _path(path: tuple[Any, ...]) -> str:
    return "result" + "".join(f"[{key!r}]" for key in path)


def _text(structure: tuple[Any, tuple[bool, ...]]) -> str:
    spec, present = structure
    return str(optree.tree_unflatten(spec, [_Leaf(there) for there in present]))


class _Leaf:
    def __init__(self, there: bool):
        self.there = there

    def __repr__(self) -> str:
        return "*" if self.there else "None"


def _flat(what: str, tree: Any) -> tuple[list[Tensor], Any]:
    """The leaves of an argument, which must be tensors."""
    leaves, spec = optree.tree_flatten(tree, none_is_leaf=True)
    for leaf, path in zip(leaves, optree.tree_paths(tree, none_is_leaf=True), strict=True):
        if not isinstance(leaf, Tensor):
            place = "".join(f"[{key!r}]" for key in path)
            raise ArgumentError(
                f"{what} must hold nothing but tensors",
                got=f"{what.rpartition(' ')[2]}{place}: {describe(leaf)} ({type(leaf).__name__})",
                hint="a number or None that the function needs can be closed over; opweave.tensor(number) makes one",
            )
    return leaves, spec


def check_same_structure(what: str, one: FlatFunction, other: FlatFunction) -> None:
    if one.structure is not None and other.structure is not None and one.structure != other.structure:
        raise ArgumentError(
            f"{what}: {other.label.partition(' ')[2]} returns another structure than {one.label.partition(' ')[2]}",
            got=f"{one.label.partition(' ')[2]}: {_text(one.structure)}, "
            f"{other.label.partition(' ')[2]}: {_text(other.structure)}",
        )


def cond(pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()) -> Any:
    """One of two functions of the same operands, by a predicate that may depend on data.

    Parameters
    ----------
    pred : bool, SymBool or Tensor
        A tensor of one element; a number is true where it is not 0. A Python bool chooses the branch at once, also when
        tracing; a symbolic one is left open.
    true_fn, false_fn : callable
        Called with `operands`; return tensors, or nested containers of them. Both must return the same structure, and
        tensors of the same dtypes, shapes and devices.
    operands : tuple or list, optional
        Tensors, or nested containers of them.

    Returns
    -------
    Any
        What the chosen function returns.

    Raises
    ------
    ArgumentError, DTypeError, ShapeError
        If an argument is none of these, or the functions disagree. Eagerly only one function runs; the other is
        compared with it, without data, when the pair is first called, where it can be run without data.
    UnsupportedError
        When traced, if a function writes to a tensor that it was given or returns it (or a view), or, inside `vmap`, if
        it closes over a batched tensor that requires grad.

    Examples
    --------
    >>> x = opweave.tensor([1.0, 2.0])
    >>> opweave.cond(x.sum() > 0, lambda x: x * 10, lambda x: -x, (x,))
    tensor([10., 20.])
    """
    if not isinstance(operands, (tuple, list)):
        raise ArgumentError("cond: operands must be a tuple", got=describe(operands), hint="cond(pred, f, g, (x,))")
    leaves, spec = _flat("cond: operands", tuple(operands))
    branches = (FlatFunction("cond: true_fn", true_fn, spec), FlatFunction("cond: false_fn", false_fn, spec))
    pred = predicate(pred, leaves[0]._device if leaves else None)
    if isinstance(pred, bool):
        branch = branches[0] if pred else branches[1]
        return branch.rebuilt(branch(*leaves))
    results = cond_op(pred, *branches, tuple(leaves))
    if branches[0].structure is None or branches[1].structure is None:
        ran, other = branches if branches[1].structure is None else branches[::-1]
        if compare_branches.call is not None:
            compare_branches.call(ran, other, leaves, results)
    else:
        ran = branches[0]
    check_same_structure("cond", *branches)
    return ran.rebuilt(results)


def while_loop(cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any) -> Any:
    """Call `body_fn` on what it returned before, as long as `cond_fn` says so.

    Parameters
    ----------
    cond_fn : callable
        ``cond_fn(*carried)`` returns a bool, or a bool tensor of one element.
    body_fn : callable
        ``body_fn(*carried)`` returns the next values, as a tuple of the same structure, dtypes and shapes.
    carried_inputs : tuple or list
        The first values: tensors, or nested containers of them.

    Returns
    -------
    tuple
        The values for which `cond_fn` was false.

    Raises
    ------
    ArgumentError, DTypeError, ShapeError
        If an argument is none of these, or `body_fn` changes structure, dtypes or shapes.
    UnsupportedError
        When traced, as `cond` does.

    Notes
    -----
    Where gradients are wanted, a traced loop keeps what is carried before each step.

    Examples
    --------
    >>> opweave.while_loop(lambda i, x: i < 3, lambda i, x: (i + 1, x * 2), (opweave.tensor(0), opweave.tensor(1.0)))
    (tensor(3), tensor(8.))
    """
    if not isinstance(carried_inputs, (tuple, list)):
        raise ArgumentError(
            "while_loop: carried_inputs must be a tuple", got=describe(carried_inputs), hint="while_loop(f, g, (x,))"
        )
    leaves, spec = _flat("while_loop: carried_inputs", tuple(carried_inputs))
    going = FlatFunction("while_loop: cond_fn", _predicate(cond_fn, leaves), spec)
    body = FlatFunction("while_loop: body_fn", _as_tuple(body_fn), spec, like=("carried_inputs", spec))
    return optree.tree_unflatten(spec, while_loop_op(going, body, tuple(leaves), ()))


def _predicate(cond_fn: Any, leaves: Sequence[Tensor]) -> Any:
    def predicate(*values: Any) -> Tensor:
        found = cond_fn(*values)
        if isinstance(found, bool):
            return aten.full.default([], found, dtype=bool_, device=leaves[0]._device if leaves else None)
        if isinstance(found, Symbolic) and found.kind == "bool":
            return predicate(found, leaves[0]._device if leaves else None)
        if not isinstance(found, Tensor):
            raise ArgumentError(
                "while_loop: cond_fn must return a bool or a bool tensor of one element",
                got=f"{describe(found)} ({type(found).__name__})",
                hint="compare tensors: i < n",
            )
        return found

    return predicate if callable(cond_fn) else cond_fn


def _as_tuple(body_fn: Any) -> Any:
    def body(*values: Any) -> Any:
        found = body_fn(*values)
        return tuple(found) if isinstance(found, list) else found

    return body if callable(body_fn) else body_fn


class _StepFunction(FlatFunction):
    """The function of a `scan`: what it returns is a carry, of a known structure, and a result."""

    def __init__(self, fn: Callable[..., Any], spec: Any, carry: Any):
        super().__init__("scan: combine_fn", fn, spec)
        self.carry = FlatFunction("scan: combine_fn", fn, spec, like=("init as its next carry", carry))
        self.carry_names: list[str] = []

    def __call__(self, *leaves: Tensor) -> tuple[Tensor, ...]:
        found = self.fn(*optree.tree_unflatten(self.spec, leaves[: self.spec.num_leaves]))
        if not isinstance(found, (tuple, list)) or len(found) != 2:
            raise ArgumentError(
                "scan: combine_fn must return a pair, the next carry and a result",
                got=describe(found),
                hint="return carry, y",
            )
        carry = self.carry.flat(found[0])
        row = self.flat(found[1])
        self.leaf_names = [*self.carry.leaf_names, *self.leaf_names]
        return (*carry, *row)


def _dim(what: str, dim: Any, reverse: Any, leaves: Sequence[Tensor]) -> int:
    """The dimension to go over, counted from the front."""
    if not isinstance(dim, int) or isinstance(dim, bool):
        raise ArgumentError(f"{what}: dim must be an int", got=repr(dim))
    if not isinstance(reverse, bool):
        raise ArgumentError(f"{what}: reverse must be a bool", got=repr(reverse))
    rank = leaves[0].ndim
    if not -rank <= dim < rank:
        raise OutOfRangeError(
            f"{what}: dim {dim} is out of range",
            got=describe(leaves[0]),
            hint=f"expected {-rank} <= dim < {rank}" if rank else "a 0-d tensor has no dimension to go over",
        )
    place = dim % rank
    _check_lengths(what, leaves, place)
    return place


def _check_lengths(what: str, leaves: Sequence[Tensor], dim: int) -> None:
    for t in leaves:
        if t.ndim <= dim:
            raise ShapeError(f"{what}: xs has a tensor without dimension {dim}", got=describe(list(leaves)))
    lengths = [t._sizes[dim] for t in leaves]
    for length in lengths:
        if is_open(length == lengths[0]):
            demand(length == lengths[0], f"{what}: the tensors of xs differ in length", ShapeError)
        elif length != lengths[0]:
            raise ShapeError(
                f"{what}: the tensors of xs differ in length: {lengths}",
                got=describe(list(leaves)),
                hint=f"their sizes at dimension {dim} must be equal",
            )
    if is_open(lengths[0] == 0):
        demand(lengths[0] >= 1, f"{what}: xs is empty", ShapeError)
    elif lengths[0] == 0:
        raise ShapeError(f"{what}: xs is empty", got=describe(list(leaves)), hint="there must be at least one step")


def _to_front(t: Tensor, dim: int, reverse: bool) -> Tensor:
    t = aten.movedim.int(t, dim, 0) if dim else t
    return aten.flip.default(t, [0]) if reverse else t


def _from_front(t: Tensor, dim: int, reverse: bool) -> Tensor:
    t = aten.flip.default(t, [0]) if reverse else t
    return aten.movedim.int(t, 0, dim) if 0 < dim < t.ndim else t


def scan(combine_fn: Callable[..., Any], init: Any, xs: Any, *, dim: int = 0, reverse: bool = False) -> tuple[Any, Any]:
    """Go over slices of tensors one after the other, with a value that is carried along.

    Parameters
    ----------
    combine_fn : callable
        ``combine_fn(carry, x)`` returns the next carry, of the structure, dtypes and shapes of `init`, and a result.
    init : Tensor or nested container of Tensor
        The first carry.
    xs : Tensor or nested container of Tensor
        What is sliced; all of the same length at `dim`.
    dim : int, optional
        The dimension to go over.
    reverse : bool, optional
        Start with the last slice.

    Returns
    -------
    carry : Any
        The last one.
    ys : Any
        The results of the steps, stacked along `dim` (along the first dimension where a result has fewer), each at the
        place of its slice. Where `xs` holds no tensor at all, `init` and an empty list.

    Raises
    ------
    ArgumentError, OutOfRangeError, DTypeError, ShapeError
        If the arguments do not fit together, or `combine_fn` changes the carry's structure, dtypes or shapes.
    UnsupportedError
        When traced, as `cond` does.

    Examples
    --------
    >>> total, sums = opweave.scan(lambda c, x: (c + x, c + x), opweave.zeros(3), opweave.ones(5, 3))
    """
    first, init_spec = _flat("scan: init", init)
    leaves, spec = _flat("scan: xs", xs)
    if not leaves:
        return init, []
    if not first:
        raise ArgumentError("scan: init holds no tensor", got=describe(init), hint="opweave.map(f, xs) has no carry")
    place = _dim("scan", dim, reverse, leaves)
    moved = tuple([_to_front(t, place, reverse) for t in leaves])
    arguments = _arguments(init_spec, spec)
    step = _StepFunction(combine_fn, arguments, init_spec)
    results = scan_op(step, tuple(first), moved, ())
    ys = [_from_front(t, place, reverse) for t in results[len(first) :]]
    return optree.tree_unflatten(init_spec, results[: len(first)]), step.rebuilt(ys)


def _arguments(*specs: Any) -> Any:
    """The structure of several arguments."""
    return optree.treespec_tuple(specs, none_is_leaf=True)


def map(f: Callable[..., Any], xs: Any, *args: Any) -> Any:
    """Call a function on each slice of tensors along their first dimension, and stack the results.

    Parameters
    ----------
    f : callable
        ``f(x, *args)`` returns tensors, or nested containers of them, of the same dtypes and shapes for each slice.
    xs : Tensor or nested container of Tensor
        What is sliced; all of the same length.
    *args : Tensor or nested container of Tensor
        Passed on as they are.

    Returns
    -------
    Any
        The structure that `f` returns.

    Raises
    ------
    ArgumentError, DTypeError, ShapeError
        If the arguments do not fit together, or the results of two slices do not.
    UnsupportedError
        When traced, as `cond` does.

    Examples
    --------
    >>> opweave.map(lambda x, w: x @ w, opweave.randn(5, 2, 3), opweave.randn(3, 4)).shape
    opweave.Size([5, 2, 4])
    """
    leaves, spec = _flat("map: xs", xs)
    rest, rest_spec = _flat("map: args", args)
    if not leaves:
        raise ArgumentError("map: xs holds no tensor", got=describe(xs))
    _check_lengths("map", leaves, 0)
    arguments = _arguments(spec, *optree.treespec_children(rest_spec))
    function = FlatFunction("map: f", f, arguments)
    return function.rebuilt(map_op(function, tuple(leaves), tuple(rest)))


# ---- associative_scan ------------------------------------------------------------------------------------------------


def associative_scan(
    combine_fn: Callable[[Any, Any], Any], xs: Any, dim: int, reverse: bool = False, combine_mode: str = "pointwise"
) -> Any:
    """All partial combinations of slices: slice i of the result combines slices 0 to i.

    Parameters
    ----------
    combine_fn : callable
        ``combine_fn(a, b)`` of two slices gives one of the same structure, dtypes and shapes. It must be associative;
        in which order slices are combined is not fixed.
    xs : Tensor or nested container of Tensor
        What is sliced; all of the same length at `dim`.
    dim : int
        The dimension to go over.
    reverse : bool, optional
        Combine slices i to the last one instead.
    combine_mode : {"pointwise", "generic"}, optional
        Accepted for both values: any function is computed on all pairs of slices at once, on every device.

    Returns
    -------
    Any
        The structure, dtypes and shapes of `xs`.

    Raises
    ------
    ArgumentError, OutOfRangeError, DTypeError, ShapeError
        If the arguments do not fit together, or `combine_fn` changes structure, dtypes or shapes.

    Examples
    --------
    >>> opweave.associative_scan(lambda a, b: a * b, opweave.tensor([1.0, 2.0, 3.0]), dim=0)
    tensor([1., 2., 6.])
    """
    leaves, spec = _flat("associative_scan: xs", xs)
    if not leaves:
        raise ArgumentError("associative_scan: xs holds no tensor", got=describe(xs))
    if combine_mode not in _COMBINE_MODES:
        raise ArgumentError(
            "associative_scan: unknown combine_mode", got=repr(combine_mode), hint="'pointwise' or 'generic'"
        )
    place = _dim("associative_scan", dim, reverse, leaves)
    arguments = _arguments(spec, spec)
    function = FlatFunction("associative_scan: combine_fn", combine_fn, arguments, like=("xs", spec))
    found = _prefixes(function, [_to_front(t, place, reverse) for t in leaves])
    return optree.tree_unflatten(spec, [_from_front(t, place, reverse) for t in found])


def _prefixes(fn: FlatFunction, xs: list[Tensor]) -> list[Tensor]:
    """Combinations of slices 0 to i along the first dimension, for all i.

    Neighbours are combined in pairs, whose combinations are those up to each odd slice; one more step gives the even
    ones.
    """
    length = operator.index(xs[0]._sizes[0])  # in a trace a guard: the steps depend on it
    if length == 1:
        return xs
    odd = _prefixes(fn, _combined(fn, [_part(x, 0, length - 1, 2) for x in xs], [_part(x, 1, length, 2) for x in xs]))
    even = [_part(x, 0, 1) for x in xs]
    if length > 2:
        before = [_part(x, 0, (length - 1) // 2) for x in odd]
        rest = _combined(fn, before, [_part(x, 2, length, 2) for x in xs])
        even = [aten.cat.default([a, b]) for a, b in zip(even, rest, strict=True)]
    return [_interleaved(a, b) for a, b in zip(even, odd, strict=True)]


def _part(x: Tensor, start: int, end: int, step: int = 1) -> Tensor:
    return aten.slice.Tensor(x, 0, start, end, step)


def _interleaved(even: Tensor, odd: Tensor) -> Tensor:
    count, rest = odd._sizes[0], list(odd._sizes[1:])
    pairs = aten.reshape.default(aten.stack.default([_part(even, 0, count), odd], 1), [2 * count, *rest])
    return aten.cat.default([pairs, _part(even, count, count + 1)]) if even._sizes[0] > count else pairs


def _combined(fn: FlatFunction, a: list[Tensor], b: list[Tensor]) -> list[Tensor]:
    """The function on all pairs of slices at once; it sees one pair."""
    with entered(Level.fresh(a[0]._sizes[0])) as level:
        one, other = ([add_batch_dim(t, 0, level) for t in side] for side in (a, b))
        found = fn(*one, *other)
        check_agreement("associative_scan", ("a slice of xs", one), ("what combine_fn returns", found), fn)
    return [remove_batch_dim(t, level) for t in found]

"""The higher-order ops of control flow.

Each takes functions and flat tuples of tensors, and returns a flat tuple of tensors. The functions take tensors one by
one and return a tuple of tensors; in a graph they are `Graph`s.

    cond(pred, true_fn, false_fn, operands)                  branch(*operands)
    while_loop(cond_fn, body_fn, carried, extra)             carried = body_fn(*carried, *extra) while cond_fn(...)
    scan(combine_fn, init, xs, extra)                        carry, y = combine_fn(*carry, *slices, *extra)
    map_impl(f, xs, args)                                    f(*slices, *args)

`scan` and `map_impl` go over the first dimension. What runs eagerly calls the functions on whatever tensors there are,
so gradients and `vmap` follow from the ops inside; only a predicate that differs between examples needs more.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NoReturn

import numpy as np

from opweave.registry.batched import BatchedTensor, Level, levels_of
from opweave.registry.dtypes import bool_
from opweave.registry.errors import ArgumentError, DeviceError, DTypeError, ShapeError, UnsupportedError
from opweave.registry.higher_order import HigherOrderOperator
from opweave.registry.interrupts import contextmanager
from opweave.registry.keys import PYTHON_BIT, state
from opweave.registry.op import ops
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.spec import is_contiguous
from opweave.registry.symbolic import Symbolic, demand
from opweave.registry.tensor import Tensor, describe
from opweave.registry.vmap.levels import active, add_batch_dim, entered, left, remove_batch_dim

aten = ops.aten

Flat = Callable[..., Sequence[Tensor]]


class ControlFlowOperator(HigherOrderOperator):
    """A higher-order op that is recorded below `vmap`: its functions then work on whole batches.

    Parameters
    ----------
    name : str
        Name under `ops.`.
    kernel : callable
        What runs eagerly.
    peel : callable
        ``(level, *args)``: the call with the examples of the innermost level as a dimension.
    """

    def __init__(self, name: str, kernel: Callable[..., Any], peel: Callable[..., Any]):
        super().__init__(name, kernel)
        self.peel = peel

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        levels = active()
        # Eagerly the functions run on batched tensors as they are; what records must see whole ones. A function may
        # close over batched tensors, so it does not matter whether any is among the arguments.
        if levels and (state.modes or any(t._keys & PYTHON_BIT for t in tensors_in([*args, *kwargs.values()]))):
            return self.peel(levels[-1], *args, **kwargs)
        return super().__call__(*args, **kwargs)


# ---- checks ----------------------------------------------------------------------------------------------------------


def leaf_name(fn: Any, index: int) -> str:
    """How a function's result number `index` is called in messages."""
    names = getattr(fn, "leaf_names", None)
    return names[index] if names and index < len(names) else f"result {index}"


def check_agreement(
    what: str,
    first: tuple[str, Sequence[Tensor]],
    second: tuple[str, Sequence[Tensor]],
    fn: Any = None,
    *,
    hint: str | None = None,
) -> None:
    """Check that two lists of tensors have the same dtypes, sizes and devices.

    Parameters
    ----------
    what : str
        Name of the op.
    first, second : (str, sequence of Tensor)
        Each with what it is called.
    fn : callable, optional
        Whose results they are; names the leaves.

    Raises
    ------
    ArgumentError, DTypeError, ShapeError, DeviceError
        If they differ; names the leaf.
    """
    (one, left_values), (other, right_values) = first, second
    if len(left_values) != len(right_values):
        raise ArgumentError(
            f"{what}: {other} does not fit {one}: {len(right_values)} tensors, not {len(left_values)}",
            got=f"{one}: {describe(list(left_values))}; {other}: {describe(list(right_values))}",
            hint=hint,
        )
    for i, (a, b) in enumerate(zip(left_values, right_values, strict=True)):
        kind: Any = None
        differs = ""
        if a._dtype is not b._dtype:
            kind, differs = DTypeError, "dtype"
        elif tuple(a._sizes) != tuple(b._sizes):
            kind, differs = ShapeError, "shape"
        elif a._device.type != b._device.type or (a._device.index or 0) != (b._device.index or 0):
            kind, differs = DeviceError, "device"
        if kind is not None:
            raise kind(
                f"{what}: {other} does not fit {one}: {leaf_name(fn, i)} has another {differs}",
                got=f"{one}: {describe(a)}, {other}: {describe(b)}",
                hint=hint or f"both give results of one {differs}",
            )


def check_predicate(what: str, pred: Any) -> None:
    """Check that a predicate is a bool tensor of one element.

    Raises
    ------
    ArgumentError, DTypeError, ShapeError
        If it is something else.
    """
    if not isinstance(pred, Tensor):
        raise ArgumentError(
            f"{what} must be a bool or a bool tensor of one element",
            got=f"{pred!r} ({type(pred).__name__})",
            hint="compare tensors: x.sum() > 0",
        )
    if pred._dtype is not bool_:
        raise DTypeError(f"{what} must have dtype bool", got=describe(pred), hint="compare with a number: pred != 0")
    for size in pred._sizes:
        if type(size) is not int:
            demand(size == 1, f"{what} must have one element", ShapeError)
        elif size != 1:
            raise ShapeError(
                f"{what} must have one element", got=describe(pred), hint="reduce it: pred.all() or pred.any()"
            )


def predicate(pred: Any, device: Any = None) -> Any:
    """What decides a `cond`: a Python bool, or a bool tensor of one element.

    A tensor of numbers is true where it is not 0, as for Python's `if`. A symbolic bool becomes a tensor, so that both
    branches stay in a trace.

    Raises
    ------
    ArgumentError, ShapeError
        If it decides nothing.
    """
    if isinstance(pred, (bool, np.bool_)):
        return bool(pred)
    if isinstance(pred, Symbolic) and pred.kind == "bool":
        return aten.full.default([], pred, dtype=bool_, device=device)
    if isinstance(pred, Tensor) and pred._dtype is not bool_:
        check_predicate("cond: pred", aten.ne.Scalar(pred, 0))
        return aten.ne.Scalar(pred, 0)
    return pred


def _scalar(pred: Tensor) -> Tensor:
    return aten.reshape.default(pred, []) if pred._sizes else pred


@contextmanager
def unwritten(what: str, tensors: Sequence[Tensor]) -> Iterator[None]:
    """Refuse writes to tensors within the block.

    Raises
    ------
    UnsupportedError
        If one was written.
    """
    before = [t._storage.version for t in tensors]
    yield
    for t, version in zip(tensors, before, strict=True):
        if t._storage.version != version:
            refuse_write(what, t)


def refuse_write(what: str, t: Tensor) -> NoReturn:
    """Raise the error for a function that writes to its operand."""
    raise UnsupportedError(
        f"{what} writes to a tensor that it was given",
        got=describe(t),
        hint="compute a new tensor instead (x + 1 for x.add_(1)), or write to x.clone()",
    )


# ---- what runs eagerly -----------------------------------------------------------------------------------------------


def _cond(pred: Tensor, true_fn: Flat, false_fn: Flat, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
    check_predicate("cond: pred", pred)
    if levels_of(pred):
        return _select(pred, true_fn, false_fn, operands)
    return tuple((true_fn if pred.item() else false_fn)(*operands))


def _select(pred: Tensor, true_fn: Flat, false_fn: Flat, operands: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Both branches, of which each example takes its own."""
    results = []
    for name, fn in (("true_fn", true_fn), ("false_fn", false_fn)):
        with unwritten(f"cond: {name} runs for all examples of a vmap, and", operands):
            results.append(tuple(fn(*operands)))
    check_agreement("cond", ("true_fn", results[0]), ("false_fn", results[1]), true_fn)
    pred = _scalar(pred)
    return tuple([aten.where.self(pred, a, b) for a, b in zip(*results, strict=True)])


def _while_loop(
    cond_fn: Flat,
    body_fn: Flat,
    carried: Sequence[Tensor],
    extra: Sequence[Tensor],
    before: list[tuple[Tensor, ...]] | None = None,
) -> tuple[Tensor, ...]:
    given = carried = tuple(carried)
    while True:
        (pred,) = cond_fn(*carried, *extra)
        check_predicate("while_loop: what cond_fn returns", pred)
        going = pred
        while isinstance(going, BatchedTensor):
            going = going.value
        if not aten.any.default(going).item():
            break
        if before is not None:
            before.append(carried)
        if going is pred:
            carried = _step(body_fn, carried, extra)
            continue
        with unwritten("while_loop: body_fn runs for all examples of a vmap, and", (*carried, *extra)):
            new = _step(body_fn, carried, extra)
        # An example that is done keeps what it has.
        carried = tuple([aten.where.self(_scalar(pred), a, b) for a, b in zip(new, carried, strict=True)])
    # A result is no alias of what was given, however often the body ran.
    return _apart(carried, (*given, *extra))


def _while_loop_stack_output(
    cond_fn: Flat, body_fn: Flat, carried: Sequence[Tensor], extra: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    """The carried values at the end, then those before each step, stacked: what the way back goes through."""
    before: list[tuple[Tensor, ...]] = []
    results = _while_loop(cond_fn, body_fn, carried, extra, before)
    if before:
        return (*results, *_stacked("while_loop: body_fn", before))
    return (*results, *[aten.new_empty.default(t, [0, *t._sizes]) for t in carried])


def _step(body_fn: Flat, carried: tuple[Tensor, ...], extra: Sequence[Tensor]) -> tuple[Tensor, ...]:
    new = tuple(body_fn(*carried, *extra))
    check_agreement(
        "while_loop", ("the carried values", carried), ("what body_fn returns", new), body_fn, hint=CARRY_HINT
    )
    return new


#: What to say of a carried value that changes.
CARRY_HINT = "what is carried from one step to the next keeps its structure, dtypes and shapes"


def fresh(t: Tensor) -> Tensor:
    """A row-major copy."""
    return aten.clone.default(t) if is_contiguous(t._sizes, t._strides) else aten.contiguous.default(t)


def _scan(combine_fn: Flat, init: Sequence[Tensor], xs: Sequence[Tensor], extra: Sequence[Tensor]) -> tuple[Any, ...]:
    carry, rows = tuple(init), []
    length = _length("scan", xs, least=0)
    if not length:
        # A loop that did not run has no way back: only the sizes of the results are wanted.
        row = combine_fn(*carry, *[aten.new_zeros.default(x, list(x._sizes[1:])) for x in xs], *extra)[len(carry) :]
        return (*map(fresh, carry), *[aten.new_empty.default(t, [0, *t._sizes]) for t in row])
    for i in range(length):
        results = tuple(combine_fn(*carry, *[aten.select.int(x, 0, i) for x in xs], *extra))
        new, row = results[: len(carry)], results[len(carry) :]
        check_agreement("scan", ("the carry", carry), ("the next carry", new), combine_fn, hint=CARRY_HINT)
        rows.append(row)
        carry = new
    return (*_apart(carry, (*init, *xs, *extra)), *_stacked("scan: combine_fn", rows))


def _apart(results: Sequence[Tensor], given: Sequence[Tensor]) -> tuple[Tensor, ...]:
    """Results that share no memory with what was given, nor with each other."""
    taken = {id(memory_of(t)) for t in given}
    found = []
    for t in results:
        t = fresh(t) if id(memory_of(t)) in taken else t
        taken.add(id(memory_of(t)))
        found.append(t)
    return tuple(found)


def memory_of(t: Tensor) -> Any:
    """The storage of a tensor, also of one that `vmap` batches."""
    while isinstance(t, BatchedTensor):
        t = t.value
    return t._storage


def _map(f: Flat, xs: Sequence[Tensor], args: Sequence[Tensor]) -> tuple[Tensor, ...]:
    length = _length("map", xs)
    return _stacked("map: f", [tuple(f(*[aten.select.int(x, 0, i) for x in xs], *args)) for i in range(length)])


def _length(what: str, xs: Sequence[Tensor], least: int = 1) -> int:
    lengths = [x._sizes[0] for x in xs]
    if not lengths or any(length != lengths[0] for length in lengths) or lengths[0] < least:
        raise ShapeError(f"{what}: xs must have one length, of {least} or more", got=describe(list(xs)))
    return lengths[0]


def _stacked(what: str, rows: list[tuple[Tensor, ...]]) -> tuple[Tensor, ...]:
    for i, row in enumerate(rows[1:], 1):
        check_agreement(what, ("step 0", rows[0]), (f"step {i}", row))
    return tuple([aten.stack.default(list(column)) for column in zip(*rows, strict=True)])


# ---- below vmap ------------------------------------------------------------------------------------------------------


def _on_batch(fn: Flat, level: Level) -> Flat:
    """A function of one example as one of whole batches; examples are counted in the first dimension."""

    def batched(*whole: Tensor) -> tuple[Tensor, ...]:
        with entered(level):
            results = tuple(fn(*[add_batch_dim(t, 0, level) for t in whole]))
        return tuple([remove_batch_dim(t, level) for t in results])

    return batched


def _whole(tensors: Sequence[Tensor], level: Level, dim: int = 0) -> tuple[Tensor, ...]:
    found = [remove_batch_dim(t, level) for t in tensors]
    return tuple([aten.movedim.int(t, 0, dim) for t in found] if dim else found)


def _peel_cond(
    level: Level, pred: Tensor, true_fn: Flat, false_fn: Flat, operands: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    if level in levels_of(pred):
        check_predicate("cond: pred", pred)
        return _select(pred, true_fn, false_fn, operands)
    whole = _whole(operands, level)
    with left():
        results = cond_op(pred, _on_batch(true_fn, level), _on_batch(false_fn, level), whole)
    return tuple([add_batch_dim(t, 0, level) for t in results])


def _peel_while_loop(
    level: Level, cond_fn: Flat, body_fn: Flat, carried: Sequence[Tensor], extra: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    def any_going(*whole: Tensor) -> tuple[Tensor, ...]:
        with entered(level):
            (pred,) = cond_fn(*[add_batch_dim(t, 0, level) for t in whole])
            check_predicate("while_loop: what cond_fn returns", pred)
        return (aten.any.default(remove_batch_dim(pred, level)) if level in levels_of(pred) else pred,)

    def masked(*values: Tensor) -> tuple[Tensor, ...]:
        (pred,) = cond_fn(*values)
        old = values[: len(carried)]
        new = _step(body_fn, old, values[len(carried) :])
        if level not in levels_of(pred):
            return new
        return tuple([aten.where.self(_scalar(pred), a, b) for a, b in zip(new, old, strict=True)])

    whole, rest = _whole(carried, level), _whole(extra, level)
    with left():
        results = while_loop_op(any_going, _on_batch(masked, level), whole, rest)
    return tuple([add_batch_dim(t, 0, level) for t in results])


def _peel_while_loop_stack_output(level: Level, *args: Any) -> NoReturn:
    raise UnsupportedError("while_loop_stack_output: traces alone call it, below vmap")


def _peel_scan(
    level: Level, combine_fn: Flat, init: Sequence[Tensor], xs: Sequence[Tensor], extra: Sequence[Tensor]
) -> tuple[Tensor, ...]:
    whole, rest = _whole(init, level), _whole(extra, level)
    slices = _whole(xs, level, 1)
    with left():
        results = scan_op(_on_batch(combine_fn, level), whole, slices, rest)
    return tuple([add_batch_dim(t, 0 if i < len(whole) else 1, level) for i, t in enumerate(results)])


def _peel_map(level: Level, f: Flat, xs: Sequence[Tensor], args: Sequence[Tensor]) -> tuple[Tensor, ...]:
    slices, rest = _whole(xs, level, 1), _whole(args, level)
    with left():
        results = map_op(_on_batch(f, level), slices, rest)
    return tuple([add_batch_dim(t, 1, level) for t in results])


# ---- the ops ---------------------------------------------------------------------------------------------------------

#: ``(pred, true_fn, false_fn, operands) -> tuple of Tensor``
cond_op = ControlFlowOperator("cond", _cond, _peel_cond)

#: ``(cond_fn, body_fn, carried, extra) -> tuple of Tensor``: the carried values at the end.
while_loop_op = ControlFlowOperator("while_loop", _while_loop, _peel_while_loop)

#: The same, with the carried values before each step behind them: what a trace calls where gradients are wanted.
while_loop_stack_output_op = ControlFlowOperator(
    "while_loop_stack_output", _while_loop_stack_output, _peel_while_loop_stack_output
)

#: ``(combine_fn, init, xs, extra) -> tuple of Tensor``: the last carry, then the stacked results.
scan_op = ControlFlowOperator("scan", _scan, _peel_scan)

#: ``(f, xs, args) -> tuple of Tensor``: the stacked results.
map_op = ControlFlowOperator("map_impl", _map, _peel_map)

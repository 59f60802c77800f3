"""Products of batches of examples, as `vmap` has them: each is one product, with the examples as rows or as a batch.

The rules of the ops of `matmul`, by their names.
"""

from __future__ import annotations

from typing import Any

from opweave.registry.batched import Level, make_batched
from opweave.registry.batching import bound, check_example, front, is_at, joined, parted, ranked, stretched, wrap
from opweave.registry.op import OpOverload, ops
from opweave.registry.tensor import Tensor


def mm(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    a, b = args
    aten = ops.aten
    if is_at(a, level) and is_at(b, level):
        return wrap(aten.bmm.default(front(a, level), front(b, level)), level)
    if is_at(a, level):
        return wrap(_rows(front(a, level), b), level)
    # One product with the columns of all examples side by side.
    whole = aten.movedim.int(front(b, level), 0, 1)
    inner, size, columns = whole._sizes
    product = aten.mm.default(a, aten.reshape.default(whole, [inner, size * columns]))
    return make_batched(aten.view.default(product, [a._sizes[0], size, columns]), 1, level)


def _rows(a: Tensor, b: Tensor) -> Tensor:
    """Many matrices times one, as one product."""
    size, rows, inner = a._sizes
    product = ops.aten.mm.default(ops.aten.reshape.default(a, [size * rows, inner]), b)
    return ops.aten.view.default(product, [size, rows, b._sizes[1]])


def batched_mm(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    a, b, order = args
    order = [0, *[d + 1 for d in order]]
    a, b = (stretched(x, level) for x in (a, b))
    return wrap(ops.opweave.batched_mm.default(a, b, order), level)


def bmm(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    a, b = (joined(t, level) for t in args)
    return wrap(parted(ops.aten.bmm.default(a, b), level), level)


def mv(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    a, b = args
    aten = ops.aten
    if not is_at(b, level):
        whole = front(a, level)
        size, rows, inner = whole._sizes
        return wrap(aten.view.default(aten.mv.default(aten.reshape.default(whole, [size * rows, inner]), b),
                                      [size, rows]), level)  # fmt: skip
    if not is_at(a, level):
        return wrap(aten.mm.default(front(b, level), aten.t.default(a)), level)
    column = aten.unsqueeze.default(front(b, level), -1)
    return wrap(aten.squeeze.dim(aten.bmm.default(front(a, level), column), -1), level)


def dot(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    a, b = args
    aten = ops.aten
    if not is_at(a, level):
        return wrap(aten.mv.default(front(b, level), a), level)
    if not is_at(b, level):
        return wrap(aten.mv.default(front(a, level), b), level)
    row, column = aten.unsqueeze.default(front(a, level), 1), aten.unsqueeze.default(front(b, level), 2)
    return wrap(aten.view.default(aten.bmm.default(row, column), [level.size]), level)


def addmm(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    term, a, b = values["self"], values["mat1"], values["mat2"]
    aten = ops.aten
    factors = {"beta": values["beta"], "alpha": values["alpha"]}
    if is_at(a, level) and not is_at(b, level) and not is_at(term, level) and (term.ndim < 2 or term._sizes[0] == 1):
        whole = front(a, level)
        size, rows, inner = whole._sizes
        product = aten.addmm.default(term, aten.reshape.default(whole, [size * rows, inner]), b, **factors)
        return wrap(aten.view.default(product, [size, rows, b._sizes[1]]), level)
    product = aten.baddbmm.default(ranked(term, level, 2), stretched(a, level), stretched(b, level), **factors)
    return wrap(product, level)


def addmv(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    aten = ops.aten
    term = ranked(values["self"], level, 1)
    product = aten.baddbmm.default(
        aten.unsqueeze.default(term, -1), stretched(values["mat"], level),
        aten.unsqueeze.default(stretched(values["vec"], level), -1), beta=values["beta"], alpha=values["alpha"],
    )  # fmt: skip
    return wrap(aten.squeeze.dim(product, -1), level)


def baddbmm(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    term, a, b = values["self"], values["batch1"], values["batch2"]
    aten = ops.aten
    sizes = (a._sizes[0], a._sizes[1], b._sizes[2])
    wide = aten.expand.default(ranked(term, level, 3), [level.size, *sizes])
    wide = aten.reshape.default(wide, [level.size * sizes[0], *sizes[1:]])
    product = aten.baddbmm.default(wide, joined(a, level), joined(b, level), beta=values["beta"], alpha=values["alpha"])
    return wrap(aten.view.default(product, [level.size, *sizes]), level)

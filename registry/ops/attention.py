"""Attention as one op, as the compiler makes it of products and a softmax (`passes/attention.py`).

    weights = softmax(query @ key.T * scale + bias, hidden where the mask says so)
    result = weights @ value

for `(batch, heads, length, width)`, where keys and values may have fewer heads than queries. The second result is what
the backward needs of each row: the logarithm of base 2 of the sum of its weights before they were divided by it.

Compiled, it is a kernel that keeps no weights (`codegen/attention.py`); here stands what it computes.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from opweave.registry import dtypes
from opweave.registry.batched import Level
from opweave.registry.batching import bound, call, check_example, is_at, joined, parted, wrap
from opweave.registry.errors import DTypeError, ShapeError
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops.kinds import extern
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.promote import broadcast_shapes
from opweave.registry.spec import TensorSpec, contiguous
from opweave.registry.tensor import Tensor, allocate_like, describe

#: What a row is multiplied by before its powers are of 2.
LOG2E = math.log2(math.e)
_ARGUMENTS = (
    "Tensor query, Tensor key, Tensor value, Tensor? bias, Tensor? mask, float scale, bool is_causal, bool inverted,"
    " float fill, bool hidden_is_zero"
)


def _check(query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, mask: Tensor | None) -> None:
    given = [t for t in (query, key, value, bias, mask) if t is not None]
    if any(t.ndim != 4 for t in given):
        raise ShapeError("attention: expected tensors of four dimensions", got=describe(given))
    (b, heads, m, width), (_, kept, n, _), (_, others, _, _) = query._sizes, key._sizes, value._sizes
    if any(t._sizes[0] != b or t._sizes[2] != n for t in (key, value)) or key._sizes[3] != width:
        raise ShapeError("attention: the sizes of query, key and value do not fit", got=describe(given))
    if not kept or not others or heads % kept or heads % others:
        raise ShapeError("attention: the query's heads must be a multiple of the others'", got=describe(given))
    if not query._dtype is key._dtype is value._dtype or query._dtype.compute not in (dtypes.float32, dtypes.float64):
        raise DTypeError("attention: expected one floating dtype", got=describe(given))
    for t in (bias, mask):
        if t is not None:
            broadcast_shapes("attention", t._sizes, (b, heads, m, n))


def result_spec(query: Tensor, value: Tensor) -> TensorSpec:
    """Of what each query gets: queries of all heads side by side, as most programs want it next."""
    b, heads, m, _ = query._sizes
    return contiguous([b, heads, m, value._sizes[3]], query._dtype.compute, query._device)


def _attention_spec(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, mask: Tensor | None, *_: Any
) -> Any:
    _check(query, key, value, bias, mask)
    rows = contiguous(query._sizes[:3], query._dtype.compute, query._device)
    return result_spec(query, value), rows


def _wide(t: Tensor, heads: Any = None) -> Any:
    """The array in the type it is computed in, each head as often as it is needed."""
    array = t._array.astype(t._dtype.compute.numpy)
    return array if heads is None else t._device.xp.repeat(array, heads // array.shape[1], axis=1)


def _scores(
    query: Tensor, key: Tensor, bias: Tensor | None, mask: Tensor | None, scale: float, is_causal: bool,
    inverted: bool, fill: float,
) -> Any:  # fmt: skip
    xp = query._device.xp
    found = (_wide(query) * scale) @ xp.swapaxes(_wide(key, query._sizes[1]), -1, -2)
    if bias is not None:
        found = found + _wide(bias)
    if mask is not None:
        found = xp.where(mask._array != inverted, found, fill)
    if is_causal:
        m, n = found.shape[-2:]
        found = xp.where(xp.arange(n) <= xp.arange(m)[:, None], found, -xp.inf)
    return found


@extern(f"opweave::attention({_ARGUMENTS}) -> (Tensor, Tensor)", spec=_attention_spec)
def attention(
    query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None, mask: Tensor | None, scale: float, is_causal: bool,
    inverted: bool, fill: float, hidden_is_zero: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    """What queries get of values, and the logarithm of each row's sum."""
    specs = _attention_spec(query, key, value, bias, mask)
    out, rows = (allocate_like(spec) for spec in specs)
    xp = query._device.xp
    with np.errstate(all="ignore"):
        s = _scores(query, key, bias, mask, scale, is_causal, inverted, fill) * LOG2E
        most = s.max(-1, keepdims=True, initial=-np.inf)
        weights = xp.exp2(s - xp.where(most == -np.inf, 0.0, most))
        total = weights.sum(-1, keepdims=True)
        found = weights @ _wide(value, query._sizes[1]) / total
        if hidden_is_zero:
            found = xp.where(total == 0, 0.0, found)
        out._array[...] = found
        logs = most + xp.log2(total)
        rows._array[...] = (xp.where(total == 0, np.inf, logs) if hidden_is_zero else logs)[..., 0]
    return out, rows


def _backward_spec(
    grad: Tensor, delta: Tensor, rows: Tensor, query: Tensor, key: Tensor, value: Tensor, *rest: Any
) -> Any:
    _check(query, key, value, rest[0], rest[1])
    batch, heads, m, _ = query._sizes
    (n, width), depth = key._sizes[2:], value._sizes[3]
    fits = all(tuple(t._sizes) == (batch, heads, m) for t in (delta, rows))
    if not fits or tuple(grad._sizes) != (batch, heads, m, depth) or rest[-1] < 1:
        raise ShapeError(
            "attention_backward: gradients do not fit the query and the value",
            got=describe([grad, delta, rows, query, value]),
        )
    sizes = [rest[-1], *query._sizes], [batch, heads, width, n], [batch, heads, n, depth]
    return tuple(contiguous(own, query._dtype.compute, query._device) for own in sizes)


@extern(
    f"opweave::attention_backward(Tensor grad, Tensor delta, Tensor rows, {_ARGUMENTS}, int parts)"
    " -> (Tensor, Tensor, Tensor)",
    spec=_backward_spec,
)
def attention_backward(
    grad: Tensor, delta: Tensor, rows: Tensor, query: Tensor, key: Tensor, value: Tensor, bias: Tensor | None,
    mask: Tensor | None, scale: float, is_causal: bool, inverted: bool, fill: float, hidden_is_zero: bool, parts: int,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """Gradients of query, transposed key and value, from what each row's gradient and result multiply to (`delta`).

    That of the query is to be summed over parts of the keys; those of keys and values are for each head of the query.
    """
    specs = _backward_spec(
        grad, delta, rows, query, key, value, bias, mask, scale, is_causal, inverted, fill, hidden_is_zero, parts
    )
    first, second, third = map(allocate_like, specs)
    xp, heads = query._device.xp, query._sizes[1]
    with np.errstate(all="ignore"):
        given, q = _wide(grad), _wide(query)
        k, v = (_wide(t, heads) for t in (key, value))
        s = _scores(query, key, bias, mask, scale, is_causal, inverted, fill) * LOG2E
        weights = xp.exp2(s - rows._array[..., None])
        ds = weights * (given @ xp.swapaxes(v, -1, -2) - delta._array[..., None]) * scale
        if mask is not None:
            ds = xp.where(mask._array != inverted, ds, 0.0)
        first._array[1:] = 0
        first._array[0] = ds @ k
        second._array[...] = xp.swapaxes(q, -1, -2) @ ds
        third._array[...] = xp.swapaxes(weights, -1, -2) @ given
    return first, second, third


# ---- batches -------------------------------------------------------------------------------------------------------


def _joined(t: Tensor, level: Level, batch: int) -> Tensor:
    """Examples and their batches as one dimension, unless all have the one that there is."""
    if not is_at(t, level) and t._sizes[0] == 1:
        return t
    return joined(ops.aten.expand.default(t, [batch, *t._sizes[1:]]), level)


@attention.batching
@attention_backward.batching
def _batch(op: OpOverload, level: Level, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    check_example(op, args, kwargs)
    values = bound(op, args, kwargs)
    batch = values["query"]._sizes[0]
    found = call(op, {name: _joined(v, level, batch) if isinstance(v, Tensor) else v for name, v in values.items()})
    if "parts" not in values:
        return tuple([wrap(parted(t, level), level) for t in found])
    first, *rest = found
    parts = ops.aten.view.default(first, [first._sizes[0], level.size, batch, *first._sizes[2:]])
    return (wrap(parts, level, 1), *[wrap(parted(t, level), level) for t in rest])


# ---- samples -------------------------------------------------------------------------------------------------------


@attention.with_samples
def _(make: Make) -> Samples:
    q, k = make(2, 4, 3, 8), make(2, 2, 5, 8)
    yield (q, k, k, None, None, 0.5, False, False, -math.inf, False), {}
    yield (q, k, k, make(3, 5).unsqueeze(0).unsqueeze(0), None, 0.5, True, False, -math.inf, True), {}
    seen = make(2, 1, 1, 5, dtype=dtypes.bool_)
    yield (q, k, k, None, seen, 0.5, False, True, -math.inf, True), {}
    yield (q, k, k, None, seen, 0.5, False, False, -3.0, False), {}


@attention_backward.with_samples
def _(make: Make) -> Samples:
    q, k = make(2, 4, 3, 8), make(2, 4, 5, 8)
    for tail in ((None, None, 0.5, False, False, -math.inf, False), (None, None, 0.5, True, False, -math.inf, True)):
        _, rows = attention.body(q, k, k, *tail)
        yield (make(2, 4, 3, 8), make(2, 4, 3), rows, q, k, k, *tail, 2), {}


for _decl in (attention, attention_backward):
    _decl.sample_dtypes = (dtypes.float32, dtypes.float64)

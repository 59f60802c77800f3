"""Attention of several heads as one function: projections, masks, weights."""

from __future__ import annotations

from typing import Any

from opweave.nn.activations import softmax
from opweave.nn.regularizing import dropout
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.op import ops
from opweave.registry.ops import surface as _surface
from opweave.registry.tensor import Tensor, describe

_ = _surface  # declares the ops
aten = ops.aten


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """What `nn.MultiheadAttention` computes, of weights that are given: what each query gets, and the weights.

    Parameters
    ----------
    query, key, value : Tensor
        (length, batch, width), or without a batch.
    embed_dim_to_check, num_heads : int
        The width, and the heads that it is divided among.
    in_proj_weight, in_proj_bias : Tensor or None
        Projections of queries, keys and values below each other.
    bias_k, bias_v : Tensor or None
        A key and a value that are there for all.
    add_zero_attn : bool
        Whether a key and a value of zeros are.
    dropout_p : float
        Of the weights, where `training`.
    out_proj_weight, out_proj_bias : Tensor, Tensor or None
        The projection of the result.
    training : bool
        Whether weights are dropped.
    key_padding_mask : Tensor, optional
        (batch, keys): bool, true where a key is not there, or numbers that are added to the scores.
    need_weights : bool
        Whether the weights are given; without them less is computed.
    attn_mask : Tensor, optional
        (queries, keys) or (batch * heads, queries, keys): bool, true where nothing is seen, or numbers.
    use_separate_proj_weight : bool
        Take `q_proj_weight`, `k_proj_weight` and `v_proj_weight` instead of `in_proj_weight`.
    q_proj_weight, k_proj_weight, v_proj_weight : Tensor, optional
        See there.
    static_k, static_v : Tensor, optional
        Keys and values (batch * heads, length, width of a head) that take the place of those projected.
    average_attn_weights : bool
        Give the mean of the weights over heads.
    is_causal : bool
        Says that `attn_mask` hides all later keys.

    Examples
    --------
    >>> x, eye = opweave.ones(3, 1, 2), opweave.eye(2)
    >>> found, weights = opweave.nn.functional.multi_head_attention_forward(
    ...     x, x, x, 2, 1, opweave.cat([eye, eye, eye]), None, None, None, False, 0.0, eye, None
    ... )
    >>> weights[0, 0]
    tensor([0.3333, 0.3333, 0.3333])
    """
    if query.ndim not in (2, 3):
        raise ShapeError("multi_head_attention_forward: query must have 2 or 3 dimensions", got=describe(query))
    if key.ndim != query.ndim or value.ndim != query.ndim:
        raise ShapeError(
            "multi_head_attention_forward: query, key and value must have as many dimensions",
            got=describe([query, key, value]),
        )
    if is_causal and attn_mask is None:
        raise ArgumentError(
            "multi_head_attention_forward: is_causal needs attn_mask, which it is said of",
            hint="attn_mask=nn.Transformer.generate_square_subsequent_mask(length)",
        )
    batched, itself = query.ndim == 3, query is key and key is value
    if not batched:
        query, key, value = (aten.unsqueeze.default(t, 1) for t in (query, key, value))
        if key_padding_mask is not None and key_padding_mask.ndim == 1:
            key_padding_mask = aten.unsqueeze.default(key_padding_mask, 0)
    length, batch, width = query._sizes
    if width != embed_dim_to_check or width % num_heads:
        raise ShapeError(
            f"multi_head_attention_forward: expected a width of {embed_dim_to_check}, a multiple of {num_heads}",
            got=describe(query),
        )
    separate = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else None
    q, k, v = _projected((query, key, value), in_proj_weight, in_proj_bias, separate, itself)
    extra = 0
    if bias_k is not None and bias_v is not None:
        k = aten.cat.default([k, aten.expand.default(bias_k, [1, batch, width])])
        v = aten.cat.default([v, aten.expand.default(bias_v, [1, batch, width])])
        extra += 1
    k, v = (
        _heads(own, num_heads) if given is None else aten.reshape.default(given, [batch, num_heads, *given._sizes[1:]])
        for own, given in ((k, static_k), (v, static_v))
    )
    if add_zero_attn:
        sizes = [batch, num_heads, 1, width // num_heads]
        zeros = aten.zeros.default(sizes, dtype=k._dtype, device=k._device)
        k, v = aten.cat.default([k, zeros], 2), aten.cat.default([v, zeros], 2)
        extra += 1
    q = _heads(q, num_heads)
    plain = is_causal and key_padding_mask is None and not extra and not need_weights
    mask = None if plain else _mask(key_padding_mask, attn_mask, (batch, num_heads), extra, q._dtype)
    p = dropout_p if training else 0.0
    weights = None
    if need_weights:
        scale = (width // num_heads) ** -0.5
        scores = aten.matmul.default(aten.mul.Scalar(q, scale), aten.transpose.int(k, -2, -1))
        weights = softmax(scores if mask is None else aten.add.Tensor(scores, mask), -1)
        weights = dropout(weights, p) if p > 0 else weights
        found = aten.matmul.default(weights, v)
    else:
        found = aten.scaled_dot_product_attention.default(q, k, v, mask, p, plain)
    found = aten.reshape.default(aten.permute.default(found, [2, 0, 1, 3]), [length, batch, width])
    found = aten.linear.default(found, out_proj_weight, out_proj_bias)
    if weights is not None:
        weights = aten.mean.dim(weights, [1]) if average_attn_weights else weights
        weights = weights if batched else aten.squeeze.dim(weights, 0)
    return found if batched else aten.squeeze.dim(found, 1), weights


def _projected(
    given: tuple[Tensor, Tensor, Tensor], weight: Tensor | None, bias: Tensor | None, separate: Any, itself: bool
) -> list[Any]:
    linear = aten.linear.default
    if separate is None and itself:
        return list(aten.chunk.default(linear(given[0], weight, bias), 3, -1))
    biases: Any = [None] * 3 if bias is None else aten.chunk.default(bias, 3)
    weights: Any = aten.chunk.default(weight, 3) if separate is None else separate
    return [linear(t, w, b) for t, w, b in zip(given, weights, biases, strict=True)]


def _heads(t: Tensor, heads: int) -> Tensor:
    """(length, batch, width) to (batch, heads, length, width of a head)."""
    length, batch, width = t._sizes
    return aten.permute.default(aten.reshape.default(t, [length, batch, heads, width // heads]), [1, 2, 0, 3])


def _as_added(mask: Tensor | None, dtype: Any) -> Tensor | None:
    """A mask as numbers that are added to scores: -inf where a bool mask says that nothing is seen."""
    if mask is None:
        return None
    if mask._dtype.name == "bool":
        zeros = aten.zeros.default(list(mask._sizes), dtype=dtype, device=mask._device)
        return aten.masked_fill.Scalar(zeros, mask, float("-inf"))
    return mask if mask._dtype is dtype else aten._to_copy.default(mask, dtype=dtype)


def _mask(padding: Tensor | None, attn_mask: Tensor | None, sizes: tuple[int, int], extra: int, dtype: Any) -> Any:
    """What is added to scores (batch, heads, queries, keys)."""
    batch, heads = sizes
    mask, keys = _as_added(attn_mask, dtype), _as_added(padding, dtype)
    if mask is not None:
        if mask.ndim == 3:
            mask = aten.reshape.default(mask, [batch, heads, *mask._sizes[1:]])
        mask = aten.constant_pad_nd.default(mask, [0, extra]) if extra else mask
    if keys is not None:
        keys = aten.constant_pad_nd.default(keys, [0, extra]) if extra else keys
        keys = aten.reshape.default(keys, [batch, 1, 1, keys._sizes[-1]])
    if mask is None or keys is None:
        return keys if mask is None else mask
    return aten.add.Tensor(mask, keys)

"""Attention with several heads, and its weights."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.linear import NonDynamicallyQuantizableLinear, empty
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.errors import ArgumentError, DomainError, ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


def _as_added(mask: Tensor | None, dtype: Any) -> Tensor | None:
    """A mask as numbers that are added to scores: -inf where a bool mask says that nothing is seen."""
    if mask is None:
        return None
    if mask._dtype.name == "bool":
        zeros = aten.zeros.default(list(mask._sizes), dtype=dtype, device=mask._device)
        return aten.masked_fill.Scalar(zeros, mask, float("-inf"))
    return mask if mask._dtype is dtype else aten._to_copy.default(mask, dtype=dtype)


class MultiheadAttention(Module):
    """Attention of several heads (Vaswani et al. 2017).

    Parameters
    ----------
    embed_dim, num_heads : int
        The width, and the heads that it is divided among.
    dropout : float
        Of the weights, in training.
    bias : bool
        Whether the projections add something.
    add_bias_kv : bool
        Whether a learned key and value are there for all.
    add_zero_attn : bool
        Whether a key and value of zeros are.
    kdim, vdim : int, optional
        Widths of keys and values; `embed_dim` by default.
    batch_first : bool
        (batch, length, width) rather than (length, batch, width).

    Examples
    --------
    >>> x = opweave.ones(3, 1, 4)
    >>> result, weights = opweave.nn.MultiheadAttention(4, 2)(x, x, x)
    >>> result.shape
    opweave.Size([3, 1, 4])
    """

    in_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None
    out_proj: NonDynamicallyQuantizableLinear

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0:
            raise DomainError(
                f"embed_dim and num_heads must be greater than 0, got embed_dim={embed_dim} and num_heads={num_heads}",
                got=f"embed_dim={embed_dim}, num_heads={num_heads}",
                hint="nn.MultiheadAttention(embed_dim=64, num_heads=4), for one",
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads
        if self.head_dim * num_heads != embed_dim:
            raise DomainError(
                "embed_dim must be divisible by num_heads",
                got=f"embed_dim={embed_dim}, num_heads={num_heads}",
                hint="each head has embed_dim / num_heads of the width",
            )
        options = {"device": device, "dtype": dtype}
        if self._qkv_same_embed_dim:
            self.in_proj_weight = empty(3 * embed_dim, embed_dim, **options)
            for name in ("q_proj_weight", "k_proj_weight", "v_proj_weight"):
                self.register_parameter(name, None)
        else:
            self.q_proj_weight = empty(embed_dim, embed_dim, **options)
            self.k_proj_weight = empty(embed_dim, self.kdim, **options)
            self.v_proj_weight = empty(embed_dim, self.vdim, **options)
            self.register_parameter("in_proj_weight", None)
        self.register_parameter("in_proj_bias", empty(3 * embed_dim, **options) if bias else None)
        self.out_proj = NonDynamicallyQuantizableLinear(embed_dim, embed_dim, bias=bias, **options)
        self.bias_k = empty(1, 1, embed_dim, **options) if add_bias_kv else None
        self.bias_v = empty(1, 1, embed_dim, **options) if add_bias_kv else None
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (self.in_proj_weight, self.q_proj_weight, self.k_proj_weight, self.v_proj_weight):
            if weight is not None:
                init.xavier_uniform_(weight)
        for bias in (self.in_proj_bias, self.out_proj.bias):
            if bias is not None:
                init.zeros_(bias)
        for extra in (self.bias_k, self.bias_v):
            if extra is not None:
                init.xavier_normal_(extra)

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """What each query gets of the values, and the weights.

        Parameters
        ----------
        query, key, value : Tensor
            (length, batch, width), or with `batch_first` (batch, length, width), or without a batch.
        key_padding_mask : Tensor, optional
            (batch, keys): bool, true where a key is not there, or numbers that are added to the scores.
        need_weights : bool
            Whether the weights are given; without them less is computed.
        attn_mask : Tensor, optional
            (queries, keys) or (batch * heads, queries, keys): bool, true where nothing is seen, or numbers.
        average_attn_weights : bool
            Give the mean of the weights over heads.
        is_causal : bool
            Says that `attn_mask` hides all later keys.
        """
        if query.ndim not in (2, 3):
            raise ShapeError("MultiheadAttention: query must have 2 or 3 dimensions", got=describe(query))
        if key.ndim != query.ndim or value.ndim != query.ndim:
            raise ShapeError(
                "MultiheadAttention: query, key and value must have as many dimensions",
                got=describe([query, key, value]),
            )
        if is_causal and attn_mask is None:
            raise ArgumentError(
                "MultiheadAttention: is_causal needs attn_mask, which it is said of",
                hint="attn_mask=nn.Transformer.generate_square_subsequent_mask(length)",
            )
        batched = query.ndim == 3
        if not batched:
            query, key, value = (aten.unsqueeze.default(t, 1) for t in (query, key, value))
            if key_padding_mask is not None and key_padding_mask.ndim == 1:
                key_padding_mask = aten.unsqueeze.default(key_padding_mask, 0)
        elif self.batch_first:
            query, key, value = (aten.transpose.int(t, 0, 1) for t in (query, key, value))
        if query._sizes[2] != self.embed_dim:
            raise ShapeError(f"MultiheadAttention: expected a width of {self.embed_dim}", got=describe(query))
        found, weights = self._attend(query, key, value, key_padding_mask, need_weights, attn_mask, is_causal)
        if not batched:
            found = aten.squeeze.dim(found, 1)
        elif self.batch_first:
            found = aten.transpose.int(found, 0, 1)
        if weights is not None:
            weights = aten.mean.dim(weights, [1]) if average_attn_weights else weights
            weights = weights if batched else aten.squeeze.dim(weights, 0)
        return found, weights

    def _projected(self, query: Tensor, key: Tensor, value: Tensor) -> list[Tensor]:
        biases: Any = [None] * 3 if self.in_proj_bias is None else aten.chunk.default(self.in_proj_bias, 3)
        if self.in_proj_weight is None:
            weights: Any = (self.q_proj_weight, self.k_proj_weight, self.v_proj_weight)
        elif query is key and key is value:
            return list(aten.chunk.default(F.linear(query, self.in_proj_weight, self.in_proj_bias), 3, -1))
        else:
            weights = aten.chunk.default(self.in_proj_weight, 3)
        given = (query, key, value)
        return [F.linear(t, w, b) for t, w, b in zip(given, weights, biases, strict=True)]

    def _heads(self, t: Tensor) -> Tensor:
        """(length, batch, width) to (batch, heads, length, width of a head)."""
        length, batch, _ = t._sizes
        return aten.permute.default(
            aten.reshape.default(t, [length, batch, self.num_heads, self.head_dim]), [1, 2, 0, 3]
        )

    def _mask(self, padding: Tensor | None, attn_mask: Tensor | None, batch: int, extra: int, dtype: Any) -> Any:
        """What is added to scores (batch, heads, queries, keys)."""
        mask, keys = _as_added(attn_mask, dtype), _as_added(padding, dtype)
        if mask is not None:
            if mask.ndim == 3:
                mask = aten.reshape.default(mask, [batch, self.num_heads, *mask._sizes[1:]])
            mask = F.pad(mask, (0, extra)) if extra else mask
        if keys is not None:
            keys = F.pad(keys, (0, extra)) if extra else keys
            keys = aten.reshape.default(keys, [batch, 1, 1, keys._sizes[-1]])
        if mask is None or keys is None:
            return keys if mask is None else mask
        return aten.add.Tensor(mask, keys)

    def _attend(
        self, query: Tensor, key: Tensor, value: Tensor, padding: Tensor | None, need_weights: bool,
        attn_mask: Tensor | None, is_causal: bool,
    ) -> tuple[Tensor, Tensor | None]:  # fmt: skip
        length, batch, _ = query._sizes
        q, k, v = self._projected(query, key, value)
        extra = 0
        if self.bias_k is not None and self.bias_v is not None:
            k = aten.cat.default([k, aten.expand.default(self.bias_k, [1, batch, self.embed_dim])])
            v = aten.cat.default([v, aten.expand.default(self.bias_v, [1, batch, self.embed_dim])])
            extra += 1
        if self.add_zero_attn:
            zeros = aten.zeros.default([1, batch, self.embed_dim], dtype=k._dtype, device=k._device)
            k, v = aten.cat.default([k, zeros]), aten.cat.default([v, zeros])
            extra += 1
        q, k, v = self._heads(q), self._heads(k), self._heads(v)
        plain = is_causal and padding is None and not extra and not need_weights
        mask = None if plain else self._mask(padding, attn_mask, batch, extra, q._dtype)
        p = self.dropout if self.training else 0.0
        weights = None
        if need_weights:
            scores = aten.matmul.default(aten.mul.Scalar(q, self.head_dim**-0.5), aten.transpose.int(k, -2, -1))
            weights = F.softmax(scores if mask is None else aten.add.Tensor(scores, mask), -1)
            weights = F.dropout(weights, p) if p > 0 else weights
            found = aten.matmul.default(weights, v)
        else:
            found = F.scaled_dot_product_attention(q, k, v, mask, p, plain)
        found = aten.reshape.default(aten.permute.default(found, [2, 0, 1, 3]), [length, batch, self.embed_dim])
        return F.linear(found, self.out_proj.weight, self.out_proj.bias), weights

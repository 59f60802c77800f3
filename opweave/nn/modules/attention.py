"""Attention with several heads, and its weights."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.linear import NonDynamicallyQuantizableLinear, empty
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.errors import DomainError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten


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
        itself = query is key and key is value
        if self.batch_first and query.ndim == key.ndim == value.ndim == 3:
            query = aten.transpose.int(query, 0, 1)
            key, value = (query, query) if itself else (aten.transpose.int(t, 0, 1) for t in (key, value))
            turned = True
        else:
            turned = False
        found, weights = F.multi_head_attention_forward(
            query, key, value, self.embed_dim, self.num_heads, self.in_proj_weight, self.in_proj_bias, self.bias_k,
            self.bias_v, self.add_zero_attn, self.dropout, self.out_proj.weight, self.out_proj.bias, self.training,
            key_padding_mask, need_weights, attn_mask, not self._qkv_same_embed_dim, self.q_proj_weight,
            self.k_proj_weight, self.v_proj_weight, average_attn_weights=average_attn_weights, is_causal=is_causal,
        )  # fmt: skip
        return aten.transpose.int(found, 0, 1) if turned else found, weights

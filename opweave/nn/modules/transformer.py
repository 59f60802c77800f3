"""Transformers of Vaswani et al., "Attention is all you need", 2017, and the layers that they are made of."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.attention import MultiheadAttention
from opweave.nn.modules.container import ModuleList
from opweave.nn.modules.dropout import Dropout
from opweave.nn.modules.linear import Linear
from opweave.nn.modules.module import Module
from opweave.nn.modules.normalization import LayerNorm
from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
Activation = str | Callable[[Tensor], Tensor]


def _activation(name: Activation) -> Callable[[Tensor], Tensor]:
    if callable(name):
        return name
    if name not in ("relu", "gelu"):
        raise RuntimeError(f"activation should be relu/gelu, not {name}")
    return F.relu if name == "relu" else F.gelu


def _clones(module: Module, count: int) -> ModuleList:
    return ModuleList([copy.deepcopy(module) for _ in range(count)])


class TransformerEncoderLayer(Module):
    """Attention of a sequence to itself, and a network for each place; each with a norm and an input added.

    Parameters
    ----------
    d_model, nhead : int
        Width, and heads of the attention.
    dim_feedforward : int
        Width of the hidden layer of the network.
    dropout : float
        In training.
    activation : str or callable
        `"relu"`, `"gelu"` or a function.
    layer_norm_eps : float
        Of the norms.
    batch_first : bool
        (batch, length, width) rather than (length, batch, width).
    norm_first : bool
        Whether norms come before attention and network, or behind them.
    bias : bool
        Whether layers add something.

    Examples
    --------
    >>> opweave.nn.TransformerEncoderLayer(4, 2)(opweave.ones(3, 1, 4)).shape
    opweave.Size([3, 1, 4])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        self.self_attn = MultiheadAttention(
            d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **options
        )
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        """Of the input's sizes; masks as of `MultiheadAttention`."""
        x = src

        def attended(x: Tensor) -> Tensor:
            found = self.self_attn(
                x, x, x, attn_mask=src_mask, key_padding_mask=src_key_padding_mask, need_weights=False,
                is_causal=is_causal,
            )  # fmt: skip
            return self.dropout1(found[0])

        if self.norm_first:
            x = x + attended(self.norm1(x))  # type: ignore[operator]  # bound from the declarations
            return x + self._ff_block(self.norm2(x))
        x = self.norm1(x + attended(x))  # type: ignore[operator]
        return self.norm2(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout2(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerEncoder(Module):
    """Encoder layers one on the other.

    Parameters
    ----------
    encoder_layer : Module
        Copied for each.
    num_layers : int
        How many.
    norm : Module, optional
        Behind the last.
    enable_nested_tensor, mask_check : bool
        For the signature's sake: there are no nested tensors.

    Examples
    --------
    >>> layer = opweave.nn.TransformerEncoderLayer(4, 2)
    >>> opweave.nn.TransformerEncoder(layer, 2)(opweave.ones(3, 1, 4)).shape
    opweave.Size([3, 1, 4])
    """

    def __init__(
        self,
        encoder_layer: Module,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _clones(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm
        self.enable_nested_tensor = enable_nested_tensor
        self.mask_check = mask_check

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        """Of the input's sizes; masks as of `MultiheadAttention`."""
        for layer in self.layers:
            src = layer(src, src_mask=mask, src_key_padding_mask=src_key_padding_mask, is_causal=bool(is_causal))
        return src if self.norm is None else self.norm(src)


class TransformerDecoderLayer(Module):
    """`TransformerEncoderLayer` with attention to another sequence in between; the same parameters.

    Examples
    --------
    >>> opweave.nn.TransformerDecoderLayer(4, 2)(opweave.ones(3, 1, 4), opweave.ones(2, 1, 4)).shape
    opweave.Size([3, 1, 4])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        options = {"device": device, "dtype": dtype}
        attention = {"dropout": dropout, "batch_first": batch_first, "bias": bias, **options}
        self.self_attn = MultiheadAttention(d_model, nhead, **attention)
        self.multihead_attn = MultiheadAttention(d_model, nhead, **attention)
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **options)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **options)
        self.norm_first = norm_first
        self.norm1 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.norm2 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.norm3 = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **options)
        self.dropout1 = Dropout(dropout)
        self.dropout2 = Dropout(dropout)
        self.dropout3 = Dropout(dropout)
        self.activation = _activation(activation)

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the sizes of `tgt`; masks as of `MultiheadAttention`."""
        x: Any = tgt

        def itself(x: Tensor) -> Tensor:
            found = self.self_attn(
                x, x, x, attn_mask=tgt_mask, key_padding_mask=tgt_key_padding_mask, is_causal=tgt_is_causal,
                need_weights=False,
            )  # fmt: skip
            return self.dropout1(found[0])

        def other(x: Tensor) -> Tensor:
            found = self.multihead_attn(
                x, memory, memory, attn_mask=memory_mask, key_padding_mask=memory_key_padding_mask,
                is_causal=memory_is_causal, need_weights=False,
            )  # fmt: skip
            return self.dropout2(found[0])

        if self.norm_first:
            x = x + itself(self.norm1(x))
            x = x + other(self.norm2(x))
            return x + self._ff_block(self.norm3(x))
        x = self.norm1(x + itself(x))
        x = self.norm2(x + other(x))
        return self.norm3(x + self._ff_block(x))

    def _ff_block(self, x: Tensor) -> Tensor:
        return self.dropout3(self.linear2(self.dropout(self.activation(self.linear1(x)))))


class TransformerDecoder(Module):
    """Decoder layers one on the other; parameters as of `TransformerEncoder`.

    Examples
    --------
    >>> layer = opweave.nn.TransformerDecoderLayer(4, 2)
    >>> opweave.nn.TransformerDecoder(layer, 2)(opweave.ones(3, 1, 4), opweave.ones(2, 1, 4)).shape
    opweave.Size([3, 1, 4])
    """

    def __init__(self, decoder_layer: Module, num_layers: int, norm: Module | None = None) -> None:
        super().__init__()
        self.layers = _clones(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the sizes of `tgt`; masks as of `MultiheadAttention`."""
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
                memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=bool(tgt_is_causal),
                memory_is_causal=memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder; parameters as of the layers, and how many there are of each.

    Examples
    --------
    >>> opweave.nn.Transformer(4, 2, 1, 1)(opweave.ones(2, 1, 4), opweave.ones(3, 1, 4)).shape
    opweave.Size([3, 1, 4])
    """

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__()
        shared = (
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first, norm_first, bias, device,
            dtype,
        )  # fmt: skip

        def norm() -> LayerNorm:
            return LayerNorm(d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype)

        self.encoder = custom_encoder or TransformerEncoder(
            TransformerEncoderLayer(*shared), num_encoder_layers, norm()
        )
        self.decoder = custom_decoder or TransformerDecoder(
            TransformerDecoderLayer(*shared), num_decoder_layers, norm()
        )
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        """Of the sizes of `tgt`; masks as of `MultiheadAttention`."""
        if src._sizes[-1] != self.d_model or tgt._sizes[-1] != self.d_model:
            raise ShapeError(f"Transformer: expected a width of {self.d_model}", got=describe([src, tgt]))
        memory = self.encoder(src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal)
        return self.decoder(
            tgt, memory, tgt_mask=tgt_mask, memory_mask=memory_mask, tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask, tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )  # fmt: skip

    @staticmethod
    def generate_square_subsequent_mask(sz: int, device: Any = None, dtype: Any = None) -> Tensor:
        """-inf where a key is later than the query, 0 elsewhere: (sz, sz)."""
        return aten.triu.default(aten.full.default([sz, sz], float("-inf"), dtype=dtype, device=device), 1)

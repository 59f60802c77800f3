"""Rows of a table, by number."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.linear import empty
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import DomainError, UnsupportedError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


class _Table(Module):
    weight: Parameter

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None,
        max_norm: float | None,
        norm_type: float,
        scale_grad_by_freq: bool,
        sparse: bool,
        _weight: Tensor | None,
        _freeze: bool,
        device: Any,
        dtype: Any,
    ) -> None:
        super().__init__()
        if sparse:
            raise UnsupportedError(
                f"{type(self).__name__}: there are no sparse gradients", got="sparse=True", hint="sparse=False"
            )
        self.num_embeddings = num_embeddings
        self.embedding_dim = embedding_dim
        if padding_idx is not None:
            if not -num_embeddings <= padding_idx < num_embeddings:
                raise DomainError(
                    "Padding_idx must be within num_embeddings",
                    got=f"padding_idx={padding_idx}, num_embeddings={num_embeddings}",
                    hint="an index below num_embeddings; negative ones count from the end",
                )
            padding_idx += num_embeddings if padding_idx < 0 else 0
        self.padding_idx = padding_idx
        self.max_norm = max_norm
        self.norm_type = norm_type
        self.scale_grad_by_freq = scale_grad_by_freq
        self.sparse = sparse
        if _weight is None:
            self.weight = empty(num_embeddings, embedding_dim, device=device, dtype=dtype)
            self.reset_parameters()
        else:
            if tuple(_weight._sizes) != (num_embeddings, embedding_dim):
                raise DomainError(
                    "Shape of weight does not match num_embeddings and embedding_dim",
                    got=describe(_weight),
                    hint=f"a weight of [{num_embeddings}, {embedding_dim}]",
                )
            self.weight = Parameter(_weight)
        self.weight.requires_grad_(not _freeze)

    def reset_parameters(self) -> None:
        """Draw the rows anew, from the normal distribution; that of the padding is zeros."""
        init.normal_(self.weight)
        if self.padding_idx is not None:
            with no_grad():
                aten.fill_.Scalar(self.weight[self.padding_idx], 0)


class Embedding(_Table):
    """Rows of a table.

    Parameters
    ----------
    num_embeddings, embedding_dim : int
        Rows, and how long they are.
    padding_idx : int, optional
        A row that gets no gradient and is zeros at first.
    max_norm, norm_type : float
        Rows that are read are shortened to this norm, in place.
    scale_grad_by_freq : bool
        Divide a row's gradient by how often it is read.
    sparse : bool
        Not there.

    Examples
    --------
    >>> opweave.nn.Embedding(10, 3)(opweave.tensor([1, 2])).shape
    opweave.Size([2, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
        _weight: Tensor | None = None,
        _freeze: bool = False,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
            _freeze, device, dtype,
        )  # fmt: skip

    @classmethod
    def from_pretrained(
        cls,
        embeddings: Tensor,
        freeze: bool = True,
        padding_idx: int | None = None,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        sparse: bool = False,
    ) -> Embedding:
        """A table that there is, (rows, width); `freeze` keeps it as it is."""
        if embeddings.ndim != 2:
            raise DomainError(
                "Embeddings parameter is expected to be 2-dimensional",
                got=describe(embeddings),
                hint="a row for each embedding",
            )
        return cls(
            *embeddings._sizes, padding_idx=padding_idx, max_norm=max_norm, norm_type=norm_type,
            scale_grad_by_freq=scale_grad_by_freq, sparse=sparse, _weight=embeddings, _freeze=freeze,
        )  # fmt: skip

    def forward(self, input: Tensor) -> Tensor:
        """(...) numbers to (..., embedding_dim)."""
        return F.embedding(input, self.weight, self.padding_idx, self.max_norm, self.norm_type, self.scale_grad_by_freq)

    def extra_repr(self) -> str:
        """Sizes and settings."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("padding_idx", None), ("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        return text


class EmbeddingBag(_Table):
    """Sums, means or maxima of bags of rows; parameters as of `Embedding`, and `mode`.

    Examples
    --------
    >>> opweave.nn.EmbeddingBag(10, 3)(opweave.tensor([[1, 2]])).shape
    opweave.Size([1, 3])
    """

    def __init__(
        self,
        num_embeddings: int,
        embedding_dim: int,
        max_norm: float | None = None,
        norm_type: float = 2.0,
        scale_grad_by_freq: bool = False,
        mode: str = "mean",
        sparse: bool = False,
        _weight: Tensor | None = None,
        include_last_offset: bool = False,
        padding_idx: int | None = None,
        device: Any = None,
        dtype: Any = None,
    ) -> None:
        super().__init__(
            num_embeddings, embedding_dim, padding_idx, max_norm, norm_type, scale_grad_by_freq, sparse, _weight,
            False, device, dtype,
        )  # fmt: skip
        self.mode = mode
        self.include_last_offset = include_last_offset

    def forward(self, input: Tensor, offsets: Tensor | None = None, per_sample_weights: Tensor | None = None) -> Tensor:
        """(bags, rows each), or a vector with offsets, to (bags, embedding_dim)."""
        return F.embedding_bag(
            input, self.weight, offsets, self.max_norm, self.norm_type, self.scale_grad_by_freq, self.mode, False,
            per_sample_weights, self.include_last_offset, self.padding_idx,
        )  # fmt: skip

    def extra_repr(self) -> str:
        """Sizes and settings."""
        text = f"{self.num_embeddings}, {self.embedding_dim}"
        for name, usual in (("max_norm", None), ("norm_type", 2), ("scale_grad_by_freq", False)):
            if getattr(self, name) != usual:
                text += f", {name}={getattr(self, name)}"
        text += f", mode={self.mode!r}"
        return text if self.padding_idx is None else f"{text}, padding_idx={self.padding_idx}"

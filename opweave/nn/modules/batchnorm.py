"""Normalization by statistics of a batch, or of each example, with running ones for evaluation."""

from __future__ import annotations

from typing import Any

from opweave.nn import functional as F, init
from opweave.nn.modules.lazy import SizedByInput
from opweave.nn.modules.linear import empty
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter, UninitializedBuffer
from opweave.registry.dtypes import int64
from opweave.registry.errors import ShapeError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe

aten = ops.aten


class _NormBase(Module):
    """Weight, bias and running statistics."""

    _version = 2
    weight: Parameter | None
    bias: Parameter | None
    running_mean: Tensor | None
    running_var: Tensor | None
    num_batches_tracked: Tensor | None

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__()
        self.num_features = num_features
        self.eps = eps
        self.momentum = momentum
        self.affine = affine
        self.track_running_stats = track_running_stats
        options = {"device": device, "dtype": dtype}
        self.register_parameter("weight", empty(num_features, **options) if affine else None)
        self.register_parameter("bias", empty(num_features, **options) if affine and bias else None)
        kept = track_running_stats
        self.register_buffer("running_mean", aten.zeros.default([num_features], **options) if kept else None)
        self.register_buffer("running_var", aten.ones.default([num_features], **options) if kept else None)
        count = aten.zeros.default([], dtype=int64, device=device) if kept else None
        self.register_buffer("num_batches_tracked", count)
        self.reset_parameters()

    def reset_running_stats(self) -> None:
        """Forget the statistics."""
        if self.running_mean is not None and self.running_var is not None and self.num_batches_tracked is not None:
            init.zeros_(self.running_mean)
            init.ones_(self.running_var)
            init.zeros_(self.num_batches_tracked)

    def reset_parameters(self) -> None:
        """Ones and zeros."""
        self.reset_running_stats()
        if self.weight is not None:
            init.ones_(self.weight)
        if self.bias is not None:
            init.zeros_(self.bias)

    def _check_input_dim(self, input: Tensor) -> None:
        """Refuse what has not the dimensions of this layer."""

    def extra_repr(self) -> str:
        """Settings."""
        return (
            f"{self.num_features}, eps={self.eps}, momentum={self.momentum}, affine={self.affine}, "
            f"bias={self.bias is not None}, track_running_stats={self.track_running_stats}"
        )

    def _load_from_state_dict(
        self,
        state_dict: dict[str, Any],
        prefix: str,
        local_metadata: dict[str, Any],
        strict: bool,
        missing_keys: list[str],
        unexpected_keys: list[str],
        error_msgs: list[str],
    ) -> None:
        version = local_metadata.get("version")
        key = f"{prefix}num_batches_tracked"
        # States of the first version have no count. A file of tensors alone tells no version, and has one.
        if (version is None or version < 2) and self.track_running_stats and key not in state_dict:
            count = self.num_batches_tracked
            state_dict[key] = aten.zeros.default([], dtype=int64) if count is None else count
        super()._load_from_state_dict(
            state_dict, prefix, local_metadata, strict, missing_keys, unexpected_keys, error_msgs
        )


class _BatchNorm(_NormBase):
    def forward(self, input: Tensor) -> Tensor:
        """Normalized by the batch in training, by the running statistics in evaluation."""
        self._check_input_dim(input)
        momentum = 0.0 if self.momentum is None else self.momentum
        if self.training and self.track_running_stats and self.num_batches_tracked is not None:
            aten.add_.Scalar(self.num_batches_tracked, 1)
            if self.momentum is None:  # the mean of all
                momentum = 1.0 / float(self.num_batches_tracked)
        by_batch = self.training or (self.running_mean is None and self.running_var is None)
        if by_batch and input.numel() == input._sizes[1]:
            raise ShapeError(
                f"{type(self).__name__}: expected more than one value per channel in training", got=describe(input),
                hint="a larger batch (DataLoader(..., drop_last=True)), or model.eval()",
            )  # fmt: skip
        kept = not self.training or self.track_running_stats
        return F.batch_norm(
            input, self.running_mean if kept else None, self.running_var if kept else None, self.weight, self.bias,
            by_batch, momentum, self.eps,
        )  # fmt: skip


def _refuse(module: Module, input: Tensor, allowed: tuple[int, ...]) -> None:
    if input.ndim not in allowed:
        words = " or ".join(f"{n}D" for n in allowed)
        raise ShapeError(
            f"{type(module).__name__}: expected {words} input", got=describe(input),
            hint="(batch, channels, ...): unsqueeze(0) adds the batch, another BatchNorm takes other dimensions",
        )  # fmt: skip


class BatchNorm1d(_BatchNorm):
    """Normalize each channel of (N, C) or (N, C, L): see `BatchNorm2d`.

    Examples
    --------
    >>> opweave.nn.BatchNorm1d(2)(opweave.ones(3, 2)).shape
    opweave.Size([3, 2])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _refuse(self, input, (2, 3))


class BatchNorm2d(_BatchNorm):
    """Normalize each channel of (N, C, H, W) by its mean and variance over the batch (Ioffe & Szegedy 2015).

    Parameters
    ----------
    num_features : int
        Channels.
    eps : float
        Added to the variance.
    momentum : float or None
        The part of the running statistics that a batch replaces; None for the mean of all batches.
    affine : bool
        Whether there is a weight for each channel.
    track_running_stats : bool
        Whether statistics are kept for evaluation.
    bias : bool
        Whether there is a bias, where there is a weight.

    Examples
    --------
    >>> opweave.nn.BatchNorm2d(2)(opweave.ones(3, 2, 4, 4)).shape
    opweave.Size([3, 2, 4, 4])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _refuse(self, input, (4,))


class BatchNorm3d(_BatchNorm):
    """Normalize each channel of (N, C, D, H, W): see `BatchNorm2d`.

    Examples
    --------
    >>> opweave.nn.BatchNorm3d(2)(opweave.ones(3, 2, 4, 4, 4)).shape
    opweave.Size([3, 2, 4, 4, 4])
    """

    def _check_input_dim(self, input: Tensor) -> None:
        _refuse(self, input, (5,))


class _InstanceNorm(_NormBase):
    _dims = 0

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float = 0.1,
        affine: bool = False,
        track_running_stats: bool = False,
        device: Any = None,
        dtype: Any = None,
        bias: bool = True,
    ) -> None:
        super().__init__(num_features, eps, momentum, affine, track_running_stats, device, dtype, bias)

    def forward(self, input: Tensor) -> Tensor:
        """Each channel of each example normalized."""
        _refuse(self, input, (self._dims + 1, self._dims + 2))
        if self.affine and input._sizes[-self._dims - 1] != self.num_features:
            raise ShapeError(f"{type(self).__name__}: expected {self.num_features} channels", got=describe(input))
        alone = input.ndim == self._dims + 1
        batch = aten.unsqueeze.default(input, 0) if alone else input
        by_input = self.training or not self.track_running_stats
        momentum = 0.0 if self.momentum is None else self.momentum
        found = F.instance_norm(
            batch, self.running_mean, self.running_var, self.weight, self.bias, by_input, momentum, self.eps
        )
        return aten.squeeze.dim(found, 0) if alone else found


class InstanceNorm1d(_InstanceNorm):
    """Normalize each channel of each example of (N, C, L): see `InstanceNorm2d`.

    Examples
    --------
    >>> opweave.nn.InstanceNorm1d(2)(opweave.ones(3, 2, 4)).shape
    opweave.Size([3, 2, 4])
    """

    _dims = 1


class InstanceNorm2d(_InstanceNorm):
    """Normalize each channel of each image of (N, C, H, W) (Ulyanov et al. 2016); parameters as of `BatchNorm2d`.

    Examples
    --------
    >>> opweave.nn.InstanceNorm2d(2)(opweave.ones(3, 2, 4, 4)).shape
    opweave.Size([3, 2, 4, 4])
    """

    _dims = 2


class InstanceNorm3d(_InstanceNorm):
    """Normalize each channel of each example of (N, C, D, H, W): see `InstanceNorm2d`.

    Examples
    --------
    >>> opweave.nn.InstanceNorm3d(2)(opweave.ones(3, 2, 4, 4, 4)).shape
    opweave.Size([3, 2, 4, 4, 4])
    """

    _dims = 3


class _LazyNorm(SizedByInput, _NormBase):
    _counted = "num_features"

    def __init__(
        self,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        device: Any = None,
        dtype: Any = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(0, eps, momentum, False, False)
        self.affine = affine
        self.track_running_stats = track_running_stats
        if affine:
            self._give_parameters(bias, device, dtype)
        if track_running_stats:
            self.running_mean = UninitializedBuffer(device=device, dtype=dtype)
            self.running_var = UninitializedBuffer(device=device, dtype=dtype)
            self.num_batches_tracked = aten.zeros.default([], dtype=int64, device=device)

    def initialize_parameters(self, input: Tensor) -> None:
        """Take the number of channels."""
        if self.has_uninitialized_params():
            self.num_features = input.shape[1]
            held: Any = (self.weight, self.bias, self.running_mean, self.running_var)
            for t in held:
                if t is not None:
                    t.materialize((self.num_features,))
            self.reset_parameters()


class LazyBatchNorm1d(_LazyNorm, BatchNorm1d):
    """A `BatchNorm1d` whose `num_features` are the channels of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyBatchNorm1d()(opweave.ones(3, 2, 4)).shape
    opweave.Size([3, 2, 4])
    """

    cls_to_become = BatchNorm1d


class LazyBatchNorm2d(_LazyNorm, BatchNorm2d):
    """A `BatchNorm2d` whose `num_features` are the channels of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyBatchNorm2d()(opweave.ones(3, 2, 4, 4)).shape
    opweave.Size([3, 2, 4, 4])
    """

    cls_to_become = BatchNorm2d


class LazyBatchNorm3d(_LazyNorm, BatchNorm3d):
    """A `BatchNorm3d` whose `num_features` are the channels of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyBatchNorm3d()(opweave.ones(3, 2, 4, 4, 4)).shape
    opweave.Size([3, 2, 4, 4, 4])
    """

    cls_to_become = BatchNorm3d


class LazyInstanceNorm1d(_LazyNorm, InstanceNorm1d):
    """A `InstanceNorm1d` whose `num_features` are the channels of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyInstanceNorm1d()(opweave.ones(3, 2, 4)).shape
    opweave.Size([3, 2, 4])
    """

    cls_to_become = InstanceNorm1d


class LazyInstanceNorm2d(_LazyNorm, InstanceNorm2d):
    """A `InstanceNorm2d` whose `num_features` are the channels of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyInstanceNorm2d()(opweave.ones(3, 2, 4, 4)).shape
    opweave.Size([3, 2, 4, 4])
    """

    cls_to_become = InstanceNorm2d


class LazyInstanceNorm3d(_LazyNorm, InstanceNorm3d):
    """A `InstanceNorm3d` whose `num_features` are the channels of what it is first called with.

    Examples
    --------
    >>> opweave.nn.LazyInstanceNorm3d()(opweave.ones(3, 2, 4, 4, 4)).shape
    opweave.Size([3, 2, 4, 4, 4])
    """

    cls_to_become = InstanceNorm3d

"""Batch normalisation as programs call it, over the ops that leave running statistics alone or write them."""

from __future__ import annotations

from opweave.registry import dtypes
from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.ops.copies import rounded
from opweave.registry.ops.kinds import composite
from opweave.registry.ops.samples import Make, Samples
from opweave.registry.tensor import Tensor, describe

aten = ops.aten
_FLOATING = (dtypes.float16, dtypes.bfloat16, dtypes.float32, dtypes.float64)


def _check_statistics(op: str, mean: Tensor | None, variance: Tensor | None, training: bool) -> None:
    given = f"running_mean={describe(mean)}, running_var={describe(variance)}"
    if (mean is None) != (variance is None):
        raise ArgumentError(f"{op}: running_mean and running_var are both given, or neither", got=given)
    if mean is None and not training:
        raise ArgumentError(f"{op}: running_mean and running_var are needed where training is false", got=given)


def _of_nothing(input: Tensor, weight: Tensor | None, bias: Tensor | None) -> Tensor:
    """What is made of no element, and depends on the parameters; running statistics learn nothing from it."""
    found = aten.clone.default(input)
    sizes = [-1, *[1] * (input.ndim - 2)]
    if weight is not None:
        found = aten.mul.Tensor(found, aten.view.default(weight, sizes))
    if bias is not None:
        found = aten.add.Tensor(found, aten.view.default(bias, sizes))
    return rounded(found, input._dtype)


@composite(
    "aten::native_batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    " bool training, float momentum, float eps) -> (Tensor, Tensor, Tensor)",
    outs=("out", "out", "save_mean", "save_invstd"),
)
def native_batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor]:  # fmt: skip
    """(result, mean, 1 / standard deviation), the last two without elements where training is false."""
    _check_statistics("native_batch_norm", running_mean, running_var, training)
    if running_mean is None or running_var is None:
        return aten._native_batch_norm_legit.no_stats(input, weight, bias, training, momentum, eps)
    return aten._native_batch_norm_legit.default(
        input, weight, bias, running_mean, running_var, training, momentum, eps
    )


def _reserved(input: Tensor) -> Tensor:
    """What a GPU's library would keep for the gradient."""
    return aten.new_empty.default(input, [0], dtype=dtypes.uint8)


@composite(
    "aten::_batch_norm_with_update(Tensor input, Tensor? weight, Tensor? bias, Tensor(a!) running_mean,"
    " Tensor(b!) running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    outs=("out", "out", "save_mean", "save_invstd", "reserve"),
)
def batch_norm_with_update(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor, running_var: Tensor,
    momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """`native_batch_norm` in training, and a tensor without elements."""
    found = aten._native_batch_norm_legit.default(input, weight, bias, running_mean, running_var, True, momentum, eps)
    return *found, _reserved(input)


@composite(
    "aten::_batch_norm_no_update(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean,"
    " Tensor? running_var, float momentum, float eps) -> (Tensor, Tensor, Tensor, Tensor)",
    outs=("out", "out0", "out1", "out2", "out3"),
)
def batch_norm_no_update(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, momentum: float, eps: float,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:  # fmt: skip
    """`native_batch_norm` by the running statistics, and a tensor without elements."""
    found = native_batch_norm.body(input, weight, bias, running_mean, running_var, False, momentum, eps)
    return *found, _reserved(input)


@composite(
    "aten::batch_norm(Tensor input, Tensor? weight, Tensor? bias, Tensor? running_mean, Tensor? running_var,"
    " bool training, float momentum, float eps, bool cudnn_enabled) -> Tensor",
    own_tags="maybe_aliasing_or_mutating",
)
def batch_norm(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, running_mean: Tensor | None,
    running_var: Tensor | None, training: bool, momentum: float, eps: float, cudnn_enabled: bool,
) -> Tensor:  # fmt: skip
    """Each channel of (N, C, ...) with mean 0 and variance 1, by the batch or by the running statistics."""
    _check_statistics("batch_norm", running_mean, running_var, training)
    if not input.numel():
        return _of_nothing(input, weight, bias)
    return native_batch_norm.body(input, weight, bias, running_mean, running_var, training, momentum, eps)[0]


# ---- samples -------------------------------------------------------------------------------------------------------


def _statistics(make: Make) -> tuple[Tensor, Tensor]:
    return make(3), make(3, low=0.5, high=1.5)


@native_batch_norm.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3, 5), make(3), make(3), None, None, True, 0.1, 1e-5), {}
    yield (make(4, 3), make(3), None, *_statistics(make), False, 0.1, 1e-3), {}


@batch_norm_no_update.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3, 5), make(3), make(3), *_statistics(make), 0.1, 1e-5), {}


@batch_norm.with_samples
def _(make: Make) -> Samples:
    yield (make(4, 3, 5), make(3), make(3), None, None, True, 0.1, 1e-5, False), {}
    yield (make(4, 3, 5), make(3), make(3), *_statistics(make), False, 0.1, 1e-5, False), {}
    yield (make(0, 3, 5), make(3), make(3), *_statistics(make), True, 0.1, 1e-5, False), {}


for _decl in (native_batch_norm, batch_norm_no_update, batch_norm):
    _decl.sample_dtypes = _FLOATING

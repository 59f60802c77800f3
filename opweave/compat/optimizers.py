"""What optimizers that are written for PyTorch take from `torch.optim.optimizer` besides its classes."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

from opweave.optim.optimizer import as_real, grouped
from opweave.registry.autograd.mode import set_grad_enabled
from opweave.registry.dtypes import DType, float32, float64, get_default_dtype
from opweave.registry.errors import UnsupportedError
from opweave.registry.keys import state
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor, describe


def default_to_fused_or_foreach(
    params: Sequence[Tensor | None], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Whether an optimizer that was not told takes one kernel for all, and whether ops on lists: these on GPUs."""
    on_gpu = all(p is None or p._device.type == "cuda" for p in params)
    fused = use_fused and not differentiable and on_gpu and all(p is None or p._dtype.kind == "f" for p in params)
    return fused, on_gpu and not differentiable and not fused


def use_grad_for_differentiable(step: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a step: it is recorded where the optimizer is `differentiable`."""

    @functools.wraps(step)
    def stepping(self: Any, *args: Any, **kwargs: Any) -> Any:
        with set_grad_enabled(bool(self.defaults["differentiable"])):
            return step(self, *args, **kwargs)

    return stepping


def get_value(x: Any) -> Any:
    """A setting or a count as a number; as it is where it is traced."""
    return x.item() if isinstance(x, Tensor) and not _is_traced() else x


def stack_if_compiling(x: Any) -> Any:
    """Tensors as one, where they are traced."""
    return ops.aten.stack.default(list(x)) if _is_traced() else x


def dispatch_sqrt(x: Any) -> Any:
    """The square root of a number or a tensor."""
    return ops.aten.sqrt.default(x) if isinstance(x, Tensor) else x**0.5


def view_as_real(params: list[Any], *state_and_grads: list[Any]) -> None:
    """Complex tensors of lists as pairs of real numbers, in the lists; the first says where they are."""
    for i, p in enumerate(params):
        if p._dtype.kind == "c":
            for each in (params, *state_and_grads):
                each[i] = as_real(each[i])


def get_scalar_dtype(is_fused: bool | None = None) -> DType:
    """The type of a count of steps."""
    return float64 if get_default_dtype() is float64 and not is_fused else float32


def to_scalar(x: Any) -> Any:
    """A tensor of one number without dimensions."""
    return x.squeeze() if isinstance(x, Tensor) and x.ndim else x


def device_dtype_check_for_fused(p: Tensor, cuda_unsupported: bool = False) -> None:
    """Refuse what no fused optimizer takes.

    Raises
    ------
    UnsupportedError
        For a parameter that is not of a floating type.
    """
    if p._dtype.kind != "f":
        raise UnsupportedError(
            "`fused=True` requires all the params to be floating point Tensors", got=describe(p), hint="fused=False"
        )


def disable_dynamo_if_unsupported(single_tensor_fn: Any = None) -> Callable[[Any], Any]:
    """Decorate with nothing: such functions are compiled like others."""
    return lambda function: function


def _is_traced() -> bool:
    return any(mode.record is None for mode in state.modes)


NAMES: dict[str, Any] = {
    "_default_to_fused_or_foreach": default_to_fused_or_foreach,
    "_use_grad_for_differentiable": use_grad_for_differentiable,
    "_get_value": get_value,
    "_stack_if_compiling": stack_if_compiling,
    "_dispatch_sqrt": dispatch_sqrt,
    "_view_as_real": view_as_real,
    "_get_scalar_dtype": get_scalar_dtype,
    "_to_scalar": to_scalar,
    "_device_dtype_check_for_fused": device_dtype_check_for_fused,
    "_disable_dynamo_if_unsupported": disable_dynamo_if_unsupported,
    "_get_capturable_supported_devices": lambda supports_xla=True: ["cuda", "cpu"],
    "_get_foreach_kernels_supported_devices": lambda: ["cuda"],
    "_get_fused_kernels_supported_devices": lambda: ["cuda", "cpu"],
    **{f"_{name}_doc": "" for name in ("params", "foreach", "fused", "capturable", "differentiable", "maximize")},
    "StateDict": dict[str, Any],
    "ParamsT": Any,
    "DeviceDict": dict[Any, Any],
    "DeviceDtypeDict": dict[Any, Any],
}
#: `torch.utils._foreach_utils`.
OF_LISTS: dict[str, Any] = {
    "_group_tensors_by_device_and_dtype": grouped,
    "_get_foreach_kernels_supported_devices": lambda: ["cuda"],
    "_get_fused_kernels_supported_devices": lambda: ["cuda", "cpu"],
    "_has_foreach_support": lambda tensors, device: device.type == "cuda",
    "_device_has_foreach_support": lambda device: device.type == "cuda",
}

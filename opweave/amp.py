"""Automatic mixed precision: `autocast`, and what a `Function` needs to take part in it."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from typing import Any, Self

from opweave.grad_scaler import GradScaler
from opweave.registry.autocast import cast, dtype_of, enter, is_on, leave, set_dtype, switch, thread
from opweave.registry.autograd.function_node import FunctionCtx
from opweave.registry.device import is_cuda_available
from opweave.registry.dtypes import DType, bfloat16, float16
from opweave.registry.errors import ArgumentError, DeviceError
from opweave.registry.interrupts import surely
from opweave.registry.keys import AUTOCAST_KEYS, set_mode

__all__ = [
    "GradScaler", "autocast", "clear_autocast_cache", "custom_bwd", "custom_fwd", "get_autocast_dtype",
    "is_autocast_available", "is_autocast_cache_enabled", "is_autocast_enabled", "set_autocast_cache_enabled",
    "set_autocast_dtype", "set_autocast_enabled",
]  # fmt: skip


#: Device types that PyTorch knows and that are not here: nothing on them is cast.
_ELSEWHERE = ("mps", "xpu", "xla", "hpu", "ipu", "mtia", "maia", "privateuseone")


def _require_device_type(device_type: Any, what: str) -> None:
    if not isinstance(device_type, str):
        raise ArgumentError(
            f"{what}: device_type must be a string",
            got=f"{device_type!r} ({type(device_type).__name__})",
            hint="x.device.type is that of a tensor",
        )
    if device_type not in AUTOCAST_KEYS:
        raise DeviceError(
            f"{what}: there is no autocast for device type {device_type!r}",
            got=repr(device_type),
            hint=f"one of {', '.join(map(repr, AUTOCAST_KEYS))}, without an index",
        )


def _require_floating(dtype: Any, what: str) -> None:
    if not isinstance(dtype, DType) or not dtype.is_floating_point:
        raise ArgumentError(f"{what}: expected a floating dtype", got=repr(dtype), hint="opweave.bfloat16")


class autocast(set_mode):
    """Run matrix products and the like in a smaller dtype, and what needs the precision in float32.

    A context manager and a decorator. It holds for the calls of its thread on tensors of one device type. Arguments are
    cast as each op needs it; ops that are in no list run in the dtype of their arguments. Gradients have the dtype
    of the tensors they belong to.

    Parameters
    ----------
    device_type : str
        `"cpu"` or `"cuda"`.
    dtype : dtype, optional
        What the lower-precision ops run in; by default bfloat16 on the CPU, float16 on CUDA (`set_autocast_dtype`).
    enabled : bool
        False switches autocast off inside the block, within another one for example.
    cache_enabled : bool, optional
        Whether a parameter that several calls use is cast only once; by default as in the block around.

    Raises
    ------
    ArgumentError
        If `device_type` is no string, or the dtype no floating one.
    DeviceError
        If there is no autocast for the device type.

    Examples
    --------
    >>> x = opweave.ones(2, 2)
    >>> with opweave.autocast("cpu"):
    ...     print((x @ x).dtype)
    opweave.bfloat16
    """

    def __init__(
        self, device_type: str, dtype: DType | None = None, enabled: bool = True, cache_enabled: bool | None = None
    ):
        _require_device_type(device_type, "autocast")
        self.device = device_type
        self.fast_dtype = dtype_of(device_type) if dtype is None else dtype
        _require_floating(self.fast_dtype, "autocast")
        self._cache_enabled = thread.cache_enabled if cache_enabled is None else bool(cache_enabled)
        self._enabled = bool(enabled)
        if enabled and device_type == "cuda" and not is_cuda_available():
            warnings.warn("autocast: CUDA is not available; autocast stays off", stacklevel=2)
            self._enabled = False
        elif enabled and device_type == "cpu" and self.fast_dtype not in (bfloat16, float16):
            warnings.warn(
                f"autocast: on the CPU it is bfloat16 or float16, not {self.fast_dtype.name}; autocast stays off",
                stacklevel=2,
            )
            self._enabled = False

    def __enter__(self) -> Self:
        enter(self.device, self._enabled, self.fast_dtype, self._cache_enabled)
        return self

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            leave()

    def __call__(self, fn: Callable[..., Any]) -> Callable[..., Any]:
        if not callable(fn):
            raise ArgumentError(
                "autocast: expected a function to decorate",
                got=f"{type(fn).__name__}",
                hint="with opweave.autocast('cpu'): ...",
            )
        return super().__call__(fn)


def is_autocast_available(device_type: str) -> bool:
    """Whether there is an autocast for a device type.

    Examples
    --------
    >>> opweave.amp.is_autocast_available("cpu")
    True
    """
    if not isinstance(device_type, str):
        raise ArgumentError("is_autocast_available: device_type must be a string", got=repr(device_type))
    return device_type in AUTOCAST_KEYS


def is_autocast_enabled(device_type: str = "cuda") -> bool:
    """Whether calls on tensors of a device type are cast now, in this thread.

    Examples
    --------
    >>> opweave.is_autocast_enabled("cpu")
    False
    """
    if device_type in _ELSEWHERE:
        return False
    _require_device_type(device_type, "is_autocast_enabled")
    return is_on(device_type)


def set_autocast_enabled(device_type: str, enabled: bool) -> None:
    """Switch autocast of a device type on or off, until the block around ends; prefer `autocast`.

    Examples
    --------
    >>> opweave.set_autocast_enabled("cpu", True)
    >>> (opweave.ones(2, 2) @ opweave.ones(2, 2)).dtype
    opweave.bfloat16
    >>> opweave.set_autocast_enabled("cpu", False)
    """
    _require_device_type(device_type, "set_autocast_enabled")
    switch(device_type, bool(enabled))


def get_autocast_dtype(device_type: str) -> DType:
    """What the lower-precision ops of a device type run in.

    Examples
    --------
    >>> opweave.get_autocast_dtype("cpu")
    opweave.bfloat16
    """
    _require_device_type(device_type, "get_autocast_dtype")
    return dtype_of(device_type)


def set_autocast_dtype(device_type: str, dtype: DType) -> None:
    """Set what the lower-precision ops of a device type run in, for this thread.

    Examples
    --------
    >>> opweave.set_autocast_dtype("cpu", opweave.float16)
    >>> opweave.get_autocast_dtype("cpu")
    opweave.float16
    >>> opweave.set_autocast_dtype("cpu", opweave.bfloat16)
    """
    _require_device_type(device_type, "set_autocast_dtype")
    _require_floating(dtype, "set_autocast_dtype")
    set_dtype(device_type, dtype)


def is_autocast_cache_enabled() -> bool:
    """Whether a parameter that several calls use is cast only once.

    Examples
    --------
    >>> opweave.is_autocast_cache_enabled()
    True
    """
    return thread.cache_enabled


def set_autocast_cache_enabled(enabled: bool) -> None:
    """Set whether casts of parameters are kept until the outermost block ends.

    Examples
    --------
    >>> opweave.set_autocast_cache_enabled(False)
    >>> opweave.is_autocast_cache_enabled()
    False
    >>> opweave.set_autocast_cache_enabled(True)
    """
    thread.cache_enabled = bool(enabled)


def clear_autocast_cache() -> None:
    """Let go of the casts of parameters that were kept.

    Examples
    --------
    >>> opweave.clear_autocast_cache()
    """
    thread.casts.clear()


def _require_context(args: tuple[Any, ...], what: str) -> FunctionCtx:
    if not args or not isinstance(args[0], FunctionCtx):
        raise ArgumentError(
            f"{what}: the first argument must be the context of a Function",
            got=type(args[0]).__name__ if args else "no argument",
            hint="def forward(ctx, ...), without a setup_context",
        )
    return args[0]


def custom_fwd(
    fwd: Callable[..., Any] | None = None, *, device_type: str, cast_inputs: DType | None = None
) -> Callable[..., Any]:
    """Decorate the `forward` of an `autograd.Function` that may run inside `autocast`.

    Parameters
    ----------
    fwd : callable
        `forward(ctx, *args)`.
    device_type : str
        Whose autocast counts.
    cast_inputs : dtype, optional
        Cast floating tensors to it and run the forward with autocast off; without it autocast stays on.
        Outside of autocast nothing is cast.

    Examples
    --------
    >>> class Square(opweave.autograd.Function):
    ...     @staticmethod
    ...     @opweave.amp.custom_fwd(device_type="cpu", cast_inputs=opweave.float32)
    ...     def forward(ctx, x):
    ...         ctx.save_for_backward(x)
    ...         return x * x
    ...     @staticmethod
    ...     @opweave.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * ctx.saved_tensors[0] * grad
    >>> Square.apply(opweave.ones(2)).tolist()
    [1.0, 1.0]
    """
    _require_device_type(device_type, "custom_fwd")
    if cast_inputs is not None:
        _require_floating(cast_inputs, "custom_fwd")
    if fwd is None:
        return functools.partial(custom_fwd, device_type=device_type, cast_inputs=cast_inputs)

    @functools.wraps(fwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx: Any = _require_context(args, "custom_fwd")
        ctx._autocast_dtype = dtype_of(device_type)
        on = is_on(device_type)
        ctx._autocast_on = on and cast_inputs is None
        if not on or cast_inputs is None:
            return fwd(*args, **kwargs)
        with autocast(device_type, enabled=False):
            return fwd(*cast(args, device_type, cast_inputs), **cast(kwargs, device_type, cast_inputs))

    return decorated


def custom_bwd(bwd: Callable[..., Any] | None = None, *, device_type: str) -> Callable[..., Any]:
    """Decorate the `backward` of a Function with `custom_fwd`: it runs in the autocast state of the forward.

    Examples
    --------
    >>> class Twice(opweave.autograd.Function):
    ...     @staticmethod
    ...     @opweave.amp.custom_fwd(device_type="cpu")
    ...     def forward(ctx, x):
    ...         return 2 * x
    ...     @staticmethod
    ...     @opweave.amp.custom_bwd(device_type="cpu")
    ...     def backward(ctx, grad):
    ...         return 2 * grad
    >>> x = opweave.ones(2, requires_grad=True)
    >>> Twice.apply(x).sum().backward()
    >>> x.grad.tolist()
    [2.0, 2.0]
    """
    _require_device_type(device_type, "custom_bwd")
    if bwd is None:
        return functools.partial(custom_bwd, device_type=device_type)

    @functools.wraps(bwd)
    def decorated(*args: Any, **kwargs: Any) -> Any:
        ctx: Any = _require_context(args, "custom_bwd")
        if not hasattr(ctx, "_autocast_on"):
            raise ArgumentError("custom_bwd: the forward was not decorated", hint="put custom_fwd on the forward")
        enter(device_type, ctx._autocast_on, ctx._autocast_dtype, thread.cache_enabled)
        try:
            return bwd(*args, **kwargs)
        finally:
            leave()

    return decorated


def __dir__() -> list[str]:
    return sorted(__all__)

"""Registration for any op, by name: what `opweave.library` offers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.custom_op import CustomOpDef, DeviceTypes, add_kernel, custom_op, require_callable
from opweave.registry.errors import ArgumentError, RegistrationError, user_frame
from opweave.registry.op import OpOverload, OpOverloadPacket, registry
from opweave.registry.schema import infer_schema
from opweave.registry.triton_op import triton_op, wrap_triton

OpLike = str | OpOverload | OpOverloadPacket | CustomOpDef

__all__ = ["CustomOpDef", "custom_op", "infer_schema", "register_fake", "register_kernel", "triton_op", "wrap_triton"]


def find_op(op: OpLike) -> OpOverload:
    """The overload that a name, packet or definition means.

    Raises
    ------
    RegistrationError
        If nothing of that name is registered, or a packet has several overloads.
    """
    if isinstance(op, CustomOpDef):
        return op._opoverload
    if isinstance(op, OpOverloadPacket):
        overloads = op.overloads()
        if len(overloads) != 1:
            raise RegistrationError(f"{op}: name one of the overloads", got=", ".join(overloads))
        return getattr(op, overloads[0])
    if not isinstance(op, (str, OpOverload)):
        raise ArgumentError("expected an op or its name", got=repr(op), hint="'mylib::my_op'")
    return registry.find(op)


def register_fake(op: OpLike, func: Callable[..., Any] | None = None, /, *, allow_override: bool = False) -> Any:
    """Register how an op acts on tensors without data; decorator.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    func : callable, optional
        Same arguments as the op; returns tensors of the right sizes, strides, dtype and device.
    allow_override : bool
        Whether a built-in op's own rule may be replaced (a custom op's always may).

    Raises
    ------
    RegistrationError
        If the op is not there, or has a rule that may not be replaced.
    """
    site = user_frame()

    def register(rule: Callable[..., Any]) -> Callable[..., Any]:
        target = find_op(op)
        if target.fake is not None and target.decl is not None and not allow_override:
            raise RegistrationError(
                f"{target.name}: already has a fake rule", got="the rule that it was declared with", at=site,
                hint="allow_override=True replaces it",
            )  # fmt: skip
        require_callable(target, rule, "fake rule")
        target.register_fake_rule(rule)
        return rule

    return register if func is None else register(func)


def register_kernel(op: OpLike, device_types: DeviceTypes, func: Callable[..., Any] | None = None, /) -> Any:
    """Register an implementation of an op for device types; decorator.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    device_types : None, str or sequence of str
        `"cpu"`, `"cuda"`; None for all.
    """
    site = user_frame()

    def register(kernel: Callable[..., Any]) -> Callable[..., Any]:
        add_kernel(find_op(op), device_types, kernel, site)
        return kernel

    return register if func is None else register(func)

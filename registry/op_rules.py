"""What any op can be told, by name: kernels, fake rules, derivatives, batching rules, autocast, what subclasses do.

Each function takes a `Library` that owns the registration; without one it holds for good.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, overload

from opweave.registry.custom_op import F
from opweave.registry.errors import ArgumentError, RegistrationError, user_frame
from opweave.registry.library import Library, OpLike, decorator, find_op
from opweave.registry.registering import (
    DeviceTypes,
    Undo,
    add_autocast,
    add_backward,
    add_batch_rule,
    add_dispatch_rule,
    add_fake,
    add_kernel,
)


def _own(lib: Library | None, register: Callable[[], Undo]) -> None:
    """Register, and let a library own it."""
    if lib is not None and not isinstance(lib, Library):
        raise ArgumentError("lib must be a Library", got=repr(lib), hint="lib = Library('mylib', 'FRAGMENT')")
    undo = register()
    if lib is not None:
        lib._undo.append(undo)


@overload
def register_kernel(op: OpLike, device_types: DeviceTypes, func: F, /, *, lib: Library | None = None) -> F: ...
@overload
def register_kernel(
    op: OpLike, device_types: DeviceTypes, func: None = None, /, *, lib: Library | None = None
) -> Callable[[F], F]: ...
def register_kernel(
    op: OpLike, device_types: DeviceTypes, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register an implementation of an op for device types; decorator.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op; a built-in one too: compiled code then calls the kernel instead of computing the op itself.
    device_types : None, str or sequence of str
        `"cpu"`, `"cuda"`; None for all.
    lib : Library, optional
        Owns the registration.

    Examples
    --------
    >>> opweave.library.define("docs::seventh", "(Tensor x) -> Tensor")
    >>> _ = opweave.library.register_kernel("docs::seventh", "cpu", lambda x: x / 7)
    >>> opweave.ops.docs.seventh(opweave.full((2,), 7.0))
    tensor([1., 1.])
    """
    site = user_frame()
    return decorator(lambda kernel: _own(lib, lambda: add_kernel(find_op(op), device_types, kernel, site)), func)


@overload
def register_fake(
    op: OpLike, func: F, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = False
) -> F: ...
@overload
def register_fake(
    op: OpLike, func: None = None, /, *, lib: Library | None = None, _stacklevel: int = 1, allow_override: bool = False
) -> Callable[[F], F]: ...
def register_fake(
    op: OpLike, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None, _stacklevel: int = 1,
    allow_override: bool = False,
) -> Any:  # fmt: skip
    """Register how an op acts on tensors without data; decorator.

    Parameters
    ----------
    op : str, OpOverload or CustomOpDef
        The op.
    func : callable, optional
        Same arguments as the op; returns tensors of the right sizes, strides, dtype and device.
    lib : Library, optional
        Owns the registration.
    allow_override : bool
        Whether an earlier rule may be replaced (a custom op's always may).

    Raises
    ------
    RegistrationError
        If the op is not there, or has a rule that may not be replaced.

    Examples
    --------
    >>> opweave.library.define("docs::sixth", "(Tensor x) -> Tensor")
    >>> _ = opweave.library.register_fake("docs::sixth", lambda x: opweave.empty_like(x))
    >>> opweave.ops.docs.sixth(opweave.ones(2, device="meta")).shape
    opweave.Size([2])
    """
    site = user_frame()

    def register(rule: Callable[..., Any]) -> None:
        target = find_op(op)
        if target.fake is not None and target.decl is not None and not allow_override:
            raise RegistrationError(
                f"{target.name}: already has a fake rule", got="the rule that it was declared with", at=site,
                hint="allow_override=True replaces it",
            )  # fmt: skip
        _own(lib, lambda: add_fake(target, rule))

    return decorator(register, func)


def impl_abstract(
    qualname: OpLike, func: Callable[..., Any] | None = None, *, lib: Library | None = None, _stacklevel: int = 1
) -> Any:
    """The earlier name of `register_fake`.

    Examples
    --------
    >>> opweave.library.define("docs::fifth", "(Tensor x) -> Tensor")
    >>> _ = opweave.library.impl_abstract("docs::fifth", lambda x: opweave.empty_like(x))
    >>> opweave.ops.docs.fifth(opweave.ones(2, device="meta")).shape
    opweave.Size([2])
    """
    warnings.warn("impl_abstract was renamed to register_fake", DeprecationWarning, stacklevel=2)
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: OpLike, backward: Callable[..., Any], /, *, setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:  # fmt: skip
    """Register how an op is differentiated; see `CustomOpDef.register_autograd`.

    Examples
    --------
    >>> custom_op, schema = opweave.library.custom_op, "(Tensor x) -> Tensor"
    >>> square = custom_op("docs::square", lambda x: x * x, mutates_args=(), schema=schema)
    >>> def keep(ctx, inputs, output):
    ...     ctx.save_for_backward(inputs[0])
    >>> def back(ctx, grad):
    ...     return 2 * grad * ctx.saved_tensors[0]
    >>> opweave.library.register_autograd("docs::square", back, setup_context=keep)
    >>> x = opweave.ones(2, requires_grad=True)
    >>> square(x).sum().backward()
    >>> x.grad
    tensor([2., 2.])
    """
    _own(lib, lambda: add_backward(find_op(op), backward, setup_context, user_frame()))


@overload
def register_vmap(op: OpLike, func: F, /, *, lib: Library | None = None) -> F: ...
@overload
def register_vmap(op: OpLike, func: None = None, /, *, lib: Library | None = None) -> Callable[[F], F]: ...
def register_vmap(op: OpLike, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None) -> Any:
    """Register how an op acts on a batch; decorator; see `CustomOpDef.register_vmap`.

    Examples
    --------
    >>> custom_op, schema = opweave.library.custom_op, "(Tensor x) -> Tensor"
    >>> twice = custom_op("docs::twice", lambda x: 2 * x, mutates_args=(), schema=schema)
    >>> _ = opweave.library.register_vmap("docs::twice", lambda info, in_dims, x: (twice(x), in_dims[0]))
    >>> opweave.vmap(twice)(opweave.ones(2, 1)).shape
    opweave.Size([2, 1])
    """
    site = user_frame()
    return decorator(lambda rule: _own(lib, lambda: add_batch_rule(find_op(op), rule, site)), func)


def register_autocast(op: OpLike, device_type: str, cast_inputs: Any, /, *, lib: Library | None = None) -> None:
    """Register to which dtype floating inputs are cast inside an autocast block; autocast is off while the op runs.

    Parameters
    ----------
    device_type : str
        `"cpu"` or `"cuda"`.
    cast_inputs : dtype
        A floating type.

    Examples
    --------
    >>> custom_op, schema = opweave.library.custom_op, "(Tensor x) -> Tensor"
    >>> thrice = custom_op("docs::thrice", lambda x: x * 3, mutates_args=(), schema=schema)
    >>> opweave.library.register_autocast("docs::thrice", "cpu", opweave.bfloat16)
    >>> with opweave.autocast("cpu"):
    ...     found = thrice(opweave.ones(2)).dtype
    >>> found
    opweave.bfloat16
    """
    _own(lib, lambda: add_autocast(find_op(op), device_type, cast_inputs, user_frame()))


def register_torch_dispatch(
    op: OpLike, torch_dispatch_class: type, func: Callable[..., Any] | None = None, /, *, lib: Library | None = None
) -> Any:
    """Register what a tensor subclass or a dispatch mode does with an op; decorator.

    Parameters
    ----------
    torch_dispatch_class : type
        The subclass or mode.
    func : callable
        `func(cls_or_mode, func, types, args, kwargs)`. It replaces an earlier rule of a custom op.

    Raises
    ------
    RegistrationError
        If the class has a rule for an op that is no custom op.

    Examples
    --------
    >>> class Noted(opweave.DispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         return func(*args, **(kwargs or {}))
    >>> opweave.library.define("docs::noted", "(Tensor x) -> Tensor")
    >>> def rule(mode, func, types, args, kwargs):
    ...     return args[0] + 1
    >>> _ = opweave.library.register_torch_dispatch("docs::noted", Noted, rule)
    >>> with Noted():
    ...     found = opweave.ops.docs.noted(opweave.ones(2))
    >>> found
    tensor([2., 2.])
    """
    site = user_frame()

    def register(rule: Callable[..., Any]) -> None:
        _own(lib, lambda: add_dispatch_rule(find_op(op), torch_dispatch_class, rule, site))

    return decorator(register, func)

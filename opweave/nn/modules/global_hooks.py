"""Hooks of all modules there are; `opweave.nn.modules.module` has these functions, where PyTorch has them.

A call of a module looks for hooks where the class attribute `_hooked` says so, which it reads anyway: without hooks
calls take what they took. Hooks of all modules come before a module's own.
"""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

from opweave.nn.modules.hooks import MIXED, OF_ALL, Hook, Hooked
from opweave.registry.autograd.graph import RemovableHandle
from opweave.registry.errors import AutogradError

#: What is called before a parameter, a buffer or a module is kept under a name.
PARAMETER_HOOKS: OrderedDict[int, Hook] = OrderedDict()
BUFFER_HOOKS: OrderedDict[int, Hook] = OrderedDict()
MODULE_HOOKS: OrderedDict[int, Hook] = OrderedDict()


class _Handle(RemovableHandle):
    """Of a hook that calls look for."""

    def remove(self) -> None:
        super().remove()
        _switch()


def _switch() -> None:
    """Have calls of all modules look for hooks, or not."""
    wanted = any(vars(OF_ALL).values())
    if wanted is not Hooked._hooked:
        Hooked._hooked = wanted


def _added(held: OrderedDict[int, Any], hook: Any) -> RemovableHandle:
    handle = _Handle(held)
    held[handle.id] = hook
    _switch()
    return handle


def register_module_forward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, args)` before `forward` of each module; what it returns, if anything, are the arguments.

    Parameters
    ----------
    hook : callable
        It comes before the hooks that modules have of their own.

    Returns
    -------
    RemovableHandle
        Takes it out again, by `remove()` or at the end of a `with` block.

    Examples
    --------
    >>> from opweave.nn.modules.module import register_module_forward_pre_hook
    >>> with register_module_forward_pre_hook(lambda module, args: args[0] + 1):
    ...     opweave.nn.Identity()(opweave.tensor([1.0]))
    tensor([2.])
    """
    return _added(OF_ALL.forward_pre, (hook, False))


def register_module_forward_hook(
    hook: Hook, *, with_kwargs: bool = False, always_call: bool = False
) -> RemovableHandle:
    """Call `hook(module, args, output)` after `forward` of each module; what it returns, if anything, is the result.

    Parameters
    ----------
    hook : callable
        With `with_kwargs` it gets `(module, args, kwargs, output)`. It comes before the hooks that modules have of
        their own.
    with_kwargs : bool
        Whether it gets the keyword arguments.
    always_call : bool
        Call it where `forward` raises, too.

    Returns
    -------
    RemovableHandle
        Takes it out again, by `remove()` or at the end of a `with` block.

    Examples
    --------
    >>> from opweave.nn.modules.module import register_module_forward_hook
    >>> model = opweave.nn.Sequential(opweave.nn.Linear(3, 2), opweave.nn.ReLU())
    >>> with register_module_forward_hook(lambda module, args, out: print(type(module).__name__, *out.shape)):
    ...     _ = model(opweave.ones(1, 3))
    Linear 1 2
    ReLU 1 2
    Sequential 1 2
    """
    return _added(OF_ALL.forward, (hook, with_kwargs, always_call))


def register_module_full_backward_pre_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_output)` before gradients go back through each module; it may return others.

    Parameters
    ----------
    hook : callable
        As of `Module.register_full_backward_pre_hook`.

    Returns
    -------
    RemovableHandle
        Takes it out again.

    Examples
    --------
    >>> from opweave.nn.modules.module import register_module_full_backward_pre_hook
    >>> x = opweave.ones(2, requires_grad=True)
    >>> with register_module_full_backward_pre_hook(lambda module, grads: (grads[0] * 3,)):
    ...     opweave.nn.ReLU()(x).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    return _added(OF_ALL.backward_pre, hook)


def register_module_full_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` once gradients of each module's inputs are known.

    Parameters
    ----------
    hook : callable
        As of `Module.register_full_backward_hook`: it may return other gradients of the inputs.

    Returns
    -------
    RemovableHandle
        Takes it out again.

    Raises
    ------
    RuntimeError
        If there are hooks of `register_module_backward_hook`.

    Examples
    --------
    >>> from opweave.nn.modules.module import register_module_full_backward_hook
    >>> x = opweave.ones(2, requires_grad=True)
    >>> with register_module_full_backward_hook(lambda module, inputs, outputs: (inputs[0] * 3,)):
    ...     opweave.nn.ReLU()(x).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    if OF_ALL.node:
        raise AutogradError(f"register_module_full_backward_hook: modules cannot have {MIXED}")
    return _added(OF_ALL.backward, hook)


def register_module_backward_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, grad_input, grad_output)` after the node of the graph that made each module's result.

    The older kind; `register_module_full_backward_hook` gives the gradients of the inputs.

    Parameters
    ----------
    hook : callable
        As of `Module.register_backward_hook`.

    Returns
    -------
    RemovableHandle
        Takes it out again.

    Raises
    ------
    RuntimeError
        If there are hooks of `register_module_full_backward_hook`.

    Examples
    --------
    >>> from opweave.nn.modules.module import register_module_backward_hook
    >>> x = opweave.ones(2, requires_grad=True)
    >>> with register_module_backward_hook(lambda module, inputs, outputs: (inputs[0] * 3,)):
    ...     opweave.nn.ReLU()(x * 1).sum().backward()
    >>> x.grad
    tensor([3., 3.])
    """
    if OF_ALL.backward:
        raise AutogradError(f"register_module_backward_hook: modules cannot have {MIXED}")
    return _added(OF_ALL.node, hook)


def _kept(held: OrderedDict[int, Hook], hook: Hook) -> RemovableHandle:
    handle = RemovableHandle(held)
    held[handle.id] = hook
    return handle


def register_module_parameter_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, parameter)` before a parameter is kept under a name; it may return another one.

    Parameters
    ----------
    hook : callable
        Not called where None is kept.

    Returns
    -------
    RemovableHandle
        Takes it out again.

    Examples
    --------
    >>> from opweave.nn.modules.module import register_module_parameter_registration_hook
    >>> with register_module_parameter_registration_hook(lambda module, name, parameter: print(name)):
    ...     _ = opweave.nn.Linear(3, 2)
    weight
    bias
    """
    return _kept(PARAMETER_HOOKS, hook)


def register_module_buffer_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, buffer)` before a buffer is kept under a name; it may return another one.

    Parameters
    ----------
    hook : callable
        Called where None is kept, too.

    Returns
    -------
    RemovableHandle
        Takes it out again.

    Examples
    --------
    >>> from opweave.nn.modules.module import register_module_buffer_registration_hook
    >>> with register_module_buffer_registration_hook(lambda module, name, buffer: print(name)):
    ...     _ = opweave.nn.BatchNorm1d(3)
    running_mean
    running_var
    num_batches_tracked
    """
    return _kept(BUFFER_HOOKS, hook)


def register_module_module_registration_hook(hook: Hook) -> RemovableHandle:
    """Call `hook(module, name, submodule)` before a module is kept under a name; it may return another one.

    Parameters
    ----------
    hook : callable
        Called where None is kept, too.

    Returns
    -------
    RemovableHandle
        Takes it out again.

    Examples
    --------
    >>> from opweave.nn.modules.module import register_module_module_registration_hook
    >>> with register_module_module_registration_hook(lambda module, name, submodule: print(name, submodule)):
    ...     _ = opweave.nn.Sequential(opweave.nn.ReLU())
    0 ReLU()
    """
    return _kept(MODULE_HOOKS, hook)


def replaced(held: OrderedDict[int, Hook], module: Any, name: str, value: Any) -> Any:
    """What hooks of a kind make of what is to be kept."""
    for hook in [*held.values()]:
        found = hook(module, name, value)
        if found is not None:
            value = found
    return value

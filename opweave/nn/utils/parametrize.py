"""Parametrizations: a module's parameter computed from others at each use.

`register_parametrization(linear, "weight", Symmetric())` moves the parameter to
`linear.parametrizations.weight.original`; reading `linear.weight` runs the module on it.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from typing import Any

from opweave.nn.modules.container import ModuleDict, ModuleList
from opweave.nn.modules.module import Module
from opweave.nn.parameter import Parameter
from opweave.registry.autograd.mode import no_grad
from opweave.registry.errors import ArgumentError, ShapeError
from opweave.registry.interrupts import contextmanager
from opweave.registry.tensor import Tensor, describe

__all__ = [
    "ParametrizationList", "cached", "is_parametrized", "register_parametrization", "remove_parametrizations",
    "transfer_parametrizations_and_params", "type_before_parametrizations",
]  # fmt: skip

_cached = 0
_cache: dict[tuple[int, str], Any] = {}


@contextmanager
def cached() -> Iterator[None]:
    """Compute each parametrized tensor once while the block runs.

    Examples
    --------
    >>> layer = opweave.nn.utils.parametrizations.weight_norm(opweave.nn.Linear(3, 2))
    >>> with opweave.nn.utils.parametrize.cached():
    ...     same = layer.weight is layer.weight
    >>> same
    True
    """
    global _cached
    _cached += 1
    try:
        yield
    finally:
        _cached -= 1
        if not _cached:
            _cache.clear()


class ParametrizationList(ModuleList):
    """The modules that make a tensor, and what they make it from: `original`, or `original0`, `original1`, ...

    Examples
    --------
    >>> layer = opweave.nn.utils.parametrizations.weight_norm(opweave.nn.Linear(3, 2))
    >>> type(layer.parametrizations.weight).__name__
    'ParametrizationList'
    """

    def __init__(self, modules: list[Module], original: Any, unsafe: bool = False) -> None:
        super().__init__(modules)
        if not modules:
            raise ValueError("ParametrizationList requires one or more modules.")
        self.unsafe = unsafe
        value: Any = original
        with no_grad():
            for module in reversed(modules):
                if hasattr(module, "right_inverse"):
                    with suppress(NotImplementedError):  # then the tensor is the original as it is
                        value = module.right_inverse(value)
        self.is_tensor = isinstance(value, Tensor)
        keep: bool = isinstance(original, Parameter)
        if self.is_tensor:
            if keep and value._sizes == original._sizes and value._dtype is original._dtype:
                if value is not original:
                    whole: Any = original
                    whole.data = value.detach()
                self.register_parameter("original", original)
            else:
                self._keep("original", value, keep, original.requires_grad)
        else:
            if not isinstance(value, (tuple, list)):
                raise ArgumentError(
                    "'right_inverse' must return a Tensor or a Sequence of tensors (list, tuple...)",
                    got=type(value).__name__,
                )
            self.ntensors = len(value)
            for i, part in enumerate(value):
                self._keep(f"original{i}", part, keep, original.requires_grad)
        if not unsafe:
            made = self()
            if not isinstance(made, Tensor) or made._dtype is not original._dtype or made._sizes != original._sizes:
                raise ShapeError(
                    "Registering a parametrization may not change the shape or dtype of the tensor",
                    got=f"{describe(made)} for {describe(original)}",
                    hint="unsafe=True",
                )

    def _keep(self, name: str, value: Tensor, as_parameter: bool, requires_grad: bool) -> None:
        if as_parameter:
            self.register_parameter(name, Parameter(value, requires_grad))
        else:
            self.register_buffer(name, value)

    def right_inverse(self, value: Tensor) -> None:
        """Write the originals so that the modules make this value, as far as they can say how."""
        with no_grad():
            found: Any = value
            for module in reversed(list(self)):
                if not hasattr(module, "right_inverse"):
                    raise RuntimeError(
                        f"parametrization {type(module).__name__} does not implement right_inverse, so the tensor "
                        "cannot be assigned"
                    )
                found = module.right_inverse(found)
            parts = [found] if self.is_tensor else list(found)
            names = ["original"] if self.is_tensor else [f"original{i}" for i in range(self.ntensors)]
            for name, part in zip(names, parts, strict=True):
                getattr(self, name).copy_(part)

    def forward(self) -> Any:
        """The tensor."""
        modules = list(self)
        if self.is_tensor:
            value = modules[0](self.original)
        else:
            value = modules[0](*(getattr(self, f"original{i}") for i in range(self.ntensors)))
        for module in modules[1:]:
            value = module(value)
        return value


def _property(name: str) -> property:
    def get(self: Any) -> Any:
        made = self.parametrizations[name]
        if not _cached:
            return made()
        key = (id(self), name)
        if key not in _cache:
            _cache[key] = made()
        return _cache[key]

    def put(self: Any, value: Tensor) -> None:
        self.parametrizations[name].right_inverse(value)

    return property(get, put)


def _own_class(module: Module) -> None:
    """Give a module a class of its own, which can have properties."""
    kind = type(module)
    if is_parametrized(module):
        return
    made = type(f"Parametrized{kind.__name__}", (kind,), {"__module__": kind.__module__})
    module.__class__ = made
    module.add_module("parametrizations", ModuleDict())


def register_parametrization(
    module: Module, tensor_name: str, parametrization: Module, *, unsafe: bool = False
) -> Module:
    """Compute a parameter or buffer of a module by another module, at each use.

    Parameters
    ----------
    module : Module
        Whose tensor it is.
    tensor_name : str
        Its name there.
    parametrization : Module
        Makes the tensor of the original; with a method `right_inverse` it also makes the first original of the tensor
        there is, and lets the tensor be assigned.
    unsafe : bool
        Do not check that shape and dtype stay.

    Raises
    ------
    ValueError
        If the module has no such parameter or buffer.
    ShapeError
        If shape or dtype change.

    Examples
    --------
    >>> class Symmetric(opweave.nn.Module):
    ...     def forward(self, x):
    ...         return x.triu() + x.triu(1).T
    >>> layer = opweave.nn.Linear(3, 3)
    >>> _ = opweave.nn.utils.parametrize.register_parametrization(layer, "weight", Symmetric())
    >>> opweave.equal(layer.weight, layer.weight.T)
    True
    """
    parametrization.train(module.training)
    if is_parametrized(module, tensor_name):
        added: Any = module.parametrizations[tensor_name]
        if not unsafe:
            now, made = getattr(module, tensor_name), parametrization(getattr(module, tensor_name))
            if made._sizes != now._sizes or made._dtype is not now._dtype:
                raise ShapeError(
                    "Registering a parametrization may not change the shape or dtype of the tensor",
                    got=f"{describe(made)} for {describe(now)}",
                )
        if hasattr(parametrization, "right_inverse"):
            raise ArgumentError(
                "register_parametrization: a second one with right_inverse is not supported", got=tensor_name,
                hint="compose both in one module",
            )  # fmt: skip
        added.append(parametrization)
    elif tensor_name in module._parameters or tensor_name in module._buffers:
        original = getattr(module, tensor_name)
        made = ParametrizationList([parametrization], original, unsafe)
        delattr(module, tensor_name)
        _own_class(module)
        module.parametrizations[tensor_name] = made
        setattr(type(module), tensor_name, _property(tensor_name))
    else:
        raise ValueError(
            f"Module '{type(module).__name__}' does not have a parameter, a buffer, or a parametrized element with "
            f"name '{tensor_name}'"
        )
    return module


def is_parametrized(module: Module, tensor_name: str | None = None) -> bool:
    """Whether a module has parametrizations, or one of a tensor.

    Examples
    --------
    >>> opweave.nn.utils.parametrize.is_parametrized(opweave.nn.Linear(3, 2))
    False
    """
    found = module._modules.get("parametrizations")
    if not isinstance(found, ModuleDict):
        return False
    return len(found) > 0 if tensor_name is None else tensor_name in found


def remove_parametrizations(module: Module, tensor_name: str, leave_parametrized: bool = True) -> Module:
    """Make a parametrized tensor a plain one again: as it is now, or the original.

    Raises
    ------
    ValueError
        If it is not parametrized, or has several originals and should be one of them.

    Examples
    --------
    >>> layer = opweave.nn.utils.parametrizations.weight_norm(opweave.nn.Linear(3, 2))
    >>> _ = opweave.nn.utils.parametrize.remove_parametrizations(layer, "weight")
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    if not is_parametrized(module, tensor_name):
        raise ValueError(f"Module {type(module).__name__} does not have a parametrization on {tensor_name}")
    made: Any = module.parametrizations[tensor_name]
    if not made.is_tensor and not leave_parametrized:
        raise ValueError("Cannot leave unparametrized (`leave_parametrized=False`) a tensor that is made of several")
    trained = any(p is not None for p in made._parameters.values())
    first = made.original if made.is_tensor else made.original0
    with no_grad():
        value = made() if leave_parametrized else made.original
    delattr(type(module), tensor_name)
    del module.parametrizations[tensor_name]
    if trained:
        module.register_parameter(tensor_name, Parameter(value.detach().clone(), first.requires_grad))
    else:
        module.register_buffer(tensor_name, value.detach())
    if not is_parametrized(module):
        delattr(module, "parametrizations")
        module.__class__ = type(module).__bases__[0]
    return module


def type_before_parametrizations(module: Module) -> type:
    """The class that a module had before it got parametrizations.

    Examples
    --------
    >>> linear = opweave.nn.utils.parametrizations.weight_norm(opweave.nn.Linear(2, 3))
    >>> opweave.nn.utils.parametrize.type_before_parametrizations(linear) is opweave.nn.Linear
    True
    """
    return type(module).__bases__[0] if is_parametrized(module) else type(module)


def transfer_parametrizations_and_params(
    from_module: Module, to_module: Module, tensor_name: str | None = None
) -> Module:
    """Give a module the parametrizations of another one, which both have then, and their originals.

    Parameters
    ----------
    from_module, to_module : Module
        Whose they are, and who gets them; without any nothing is done.
    tensor_name : str, optional
        The one tensor whose they are; all by default.

    Returns
    -------
    Module
        `to_module`.

    Examples
    --------
    >>> a = opweave.nn.utils.parametrizations.weight_norm(opweave.nn.Linear(2, 3))
    >>> b = opweave.nn.utils.parametrize.transfer_parametrizations_and_params(a, opweave.nn.Linear(2, 3))
    >>> bool((a.weight == b.weight).all())
    True
    """
    if not is_parametrized(from_module):
        return to_module
    made: Any = from_module.parametrizations
    for name in list(made) if tensor_name is None else [tensor_name]:
        if not hasattr(to_module, name):
            to_module.register_parameter(name, Parameter(getattr(from_module, name).detach().clone()))
        for module in made[name]:
            register_parametrization(to_module, name, module, unsafe=made[name].unsafe)
        taken: Any = to_module.parametrizations
        for original, value in (*made[name]._parameters.items(), *made[name]._buffers.items()):
            setattr(taken[name], original, value)
    return to_module


def __dir__() -> list[str]:
    return sorted(__all__)

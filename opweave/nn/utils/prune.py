"""Pruning: parameters times masks of zeros and ones, as functions that work on modules in place.

The methods that choose the masks stand in `pruning`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from opweave.nn.modules.module import Module
from opweave.nn.utils.convert_parameters import parameters_to_vector
from opweave.nn.utils.pruning import (
    BasePruningMethod,
    CustomFromMask,
    Identity,
    L1Unstructured,
    LnStructured,
    PruningContainer,
    RandomStructured,
    RandomUnstructured,
    pruning_hooks,
)
from opweave.registry.errors import ArgumentError, DomainError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

__all__ = [
    "BasePruningMethod", "CustomFromMask", "Identity", "L1Unstructured", "LnStructured", "PruningContainer",
    "RandomStructured", "RandomUnstructured", "custom_from_mask", "global_unstructured", "identity", "is_pruned",
    "l1_unstructured", "ln_structured", "random_structured", "random_unstructured", "remove",
]  # fmt: skip

aten = ops.aten


def identity(module: Module, name: str) -> Module:
    """Give a parameter a mask of ones, in place; see `Identity`.

    Examples
    --------
    >>> linear = opweave.nn.utils.prune.identity(opweave.nn.Linear(3, 2), "weight")
    >>> sorted(linear.state_dict())
    ['bias', 'weight_mask', 'weight_orig']
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune elements of a parameter at random, in place.

    Parameters
    ----------
    module : Module
        Whose parameter it is.
    name : str
        Of the parameter.
    amount : int or float
        How many of those that are left, or which fraction of them.

    Examples
    --------
    >>> linear = opweave.nn.utils.prune.random_unstructured(opweave.nn.Linear(3, 2), "weight", amount=2)
    >>> int(linear.weight_mask.sum())
    4
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(module: Module, name: str, amount: float, importance_scores: Tensor | None = None) -> Module:
    """Prune the elements of a parameter that are nearest to zero, in place.

    Parameters
    ----------
    module : Module
        Whose parameter it is.
    name : str
        Of the parameter.
    amount : int or float
        How many of those that are left, or which fraction of them.
    importance_scores : Tensor, optional
        What is compared, in place of the parameter.

    Examples
    --------
    >>> linear = opweave.nn.utils.prune.l1_unstructured(opweave.nn.Linear(3, 2), "weight", amount=0.5)
    >>> int(linear.weight_mask.sum())
    3
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune channels of a parameter at random, in place; `dim` counts them.

    Examples
    --------
    >>> linear = opweave.nn.utils.prune.random_structured(opweave.nn.Linear(3, 2), "weight", amount=1, dim=1)
    >>> int(linear.weight_mask.sum())
    4
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module, name: str, amount: float, n: Any, dim: int, importance_scores: Tensor | None = None
) -> Module:
    """Prune the channels of a parameter whose norms are the smallest, in place.

    Parameters
    ----------
    module : Module
        Whose parameter it is.
    name : str
        Of the parameter.
    amount : int or float
        How many of those that are left, or which fraction of them.
    n : int, float or str
        The norm.
    dim : int
        The dimension that counts the channels.
    importance_scores : Tensor, optional
        What is compared, in place of the parameter.

    Examples
    --------
    >>> linear = opweave.nn.utils.prune.ln_structured(opweave.nn.Linear(3, 2), "weight", amount=1, n=2, dim=0)
    >>> linear.weight_mask.sum(1).sort()[0]
    tensor([0., 3.])
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune a parameter by a mask, in place; ones are left.

    Examples
    --------
    >>> linear = opweave.nn.Linear(3, 2)
    >>> opweave.nn.utils.prune.custom_from_mask(linear, "bias", mask=opweave.tensor([0, 1])).bias_mask
    tensor([0., 1.])
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]], pruning_method: type[BasePruningMethod],
    importance_scores: dict[tuple[Module, str], Tensor] | None = None, **kwargs: Any,
) -> None:  # fmt: skip
    """Prune several parameters as if they were one, in place.

    Parameters
    ----------
    parameters : iterable of (Module, str)
        Whose parameters, and their names.
    pruning_method : type
        An unstructured one, made with the other arguments.
    importance_scores : dict, optional
        What is compared in place of a parameter, by its module and name.

    Examples
    --------
    >>> a, b = opweave.nn.Linear(3, 2), opweave.nn.Linear(2, 1)
    >>> prune = opweave.nn.utils.prune
    >>> prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=3)
    >>> int(a.weight_mask.sum() + b.weight_mask.sum())
    5
    """
    if not isinstance(parameters, Iterable):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ArgumentError(
            "global_unstructured: parameters is not an Iterable", got=repr(parameters), hint="[(module, 'weight'), ...]"
        )
    scores: Any = {} if importance_scores is None else importance_scores
    if not isinstance(scores, dict):
        raise ArgumentError(
            "global_unstructured: importance_scores must be of type dict", got=type(scores).__name__,
            hint="{(module, 'weight'): scores}",
        )  # fmt: skip
    places = list(parameters)
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise ArgumentError(
            'Only "unstructured" PRUNING_TYPE supported for the `pruning_method`',
            got=f"{pruning_method.__name__} of type {method.PRUNING_TYPE}", hint="L1Unstructured, for one",
        )  # fmt: skip
    tensors: list[Any] = [getattr(module, name) for module, name in places]
    whole = parameters_to_vector([scores.get(place, t) for place, t in zip(places, tensors, strict=True)])
    masks = [
        getattr(module, name + "_mask", aten.ones_like.default(t))
        for (module, name), t in zip(places, tensors, strict=True)
    ]
    method._tensor_name = "temp"
    mask = PruningContainer(method).compute_mask(whole, parameters_to_vector(masks))
    start = 0
    for (module, name), t in zip(places, tensors, strict=True):
        part = aten.reshape.default(mask[start : start + t.numel()], list(t.shape))
        custom_from_mask(module, name, mask=part)
        start += t.numel()


def remove(module: Module, name: str) -> Module:
    """Make a pruned parameter a plain one again, with zeros where it was pruned; in place.

    Raises
    ------
    DomainError
        If it is not pruned.

    Examples
    --------
    >>> linear = opweave.nn.utils.prune.l1_unstructured(opweave.nn.Linear(3, 2), "weight", amount=2)
    >>> sorted(opweave.nn.utils.prune.remove(linear, "weight").state_dict())
    ['bias', 'weight']
    """
    for number, hook in pruning_hooks(module, name):
        hook.remove(module)
        del module._forward_pre_hooks[number]  # type: ignore[attr-defined]  # a dict where there are hooks
        return module
    raise DomainError(
        f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed",
        got=f"{type(module).__name__} without a mask for it", hint="prune.is_pruned(module) tells",
    )  # fmt: skip


def is_pruned(module: Module) -> bool:
    """Whether anything of a module, or of a module inside it, is pruned.

    Examples
    --------
    >>> linear = opweave.nn.Linear(3, 2)
    >>> opweave.nn.utils.prune.is_pruned(linear)
    False
    """
    return any(
        isinstance(hook, BasePruningMethod) for each in module.modules() for hook in each._forward_pre_hooks.values()
    )


def __dir__() -> list[str]:
    return sorted(__all__)

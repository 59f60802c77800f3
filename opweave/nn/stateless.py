"""Modules as functions of their parameters and buffers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from opweave.registry.errors import ArgumentError
from opweave.registry.op import ops
from opweave.registry.tensor import Tensor

aten = ops.aten


def _members(module: Any) -> dict[str, tuple[dict[str, Any], str]]:
    """For each parameter and buffer of a module, by path, the dict and the name that it stands under."""
    found: dict[str, tuple[dict[str, Any], str]] = {}
    for path, each in module.named_modules(remove_duplicate=False):
        for store in (each._parameters, each._buffers):
            for name, t in store.items():
                if t is not None:
                    found[f"{path}.{name}" if path else name] = store, name
    return found


@contextmanager
def _reparametrize_module(
    module: Any, given: Mapping[str, Any], tie_weights: bool = False, strict: bool = False
) -> Iterator[None]:
    """Other tensors in the places of a module's, until the block ends."""
    members = _members(module)
    unknown = [name for name in given if name not in members]
    missing = [name for name in members if name not in given]
    tied: dict[int, list[str]] = {}
    for name, (store, key) in members.items():
        tied.setdefault(id(store[key]), []).append(name)
    chosen = dict(given)
    if tie_weights:
        for names in tied.values():
            values = {id(given[name]): given[name] for name in names if name in given}
            if len(values) > 1:
                raise ValueError(
                    f"functional_call got multiple values for keys {sorted(names)}, which are tied. Consider using "
                    "tie_weights=False"
                )
            if values:
                chosen.update(dict.fromkeys(names, *values.values()))
                missing = [name for name in missing if name not in names]
    if strict and (unknown or missing):
        texts = [f"Unexpected key(s): {', '.join(unknown)}."] if unknown else []
        texts += [f"Missing key(s): {', '.join(missing)}."] if missing else []
        raise RuntimeError(f"Error(s) in reparametrizing for {type(module).__name__}:\n\t" + "\n\t".join(texts))
    if unknown:
        raise AttributeError(f"{type(module).__name__} has no parameter or buffer {unknown[0]!r}")
    before = {name: members[name][0][members[name][1]] for name in chosen}
    try:
        for name, value in chosen.items():
            if not isinstance(value, Tensor):
                raise ArgumentError(f"functional_call: {name!r} must be a tensor", got=type(value).__name__)
            store, key = members[name]
            store[key] = value
        yield
    finally:
        for name, value in before.items():
            store, key = members[name]
            store[key] = value


def functional_call(
    module: Any,
    parameter_and_buffer_dicts: Any,
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call a module with other tensors in the places of its parameters and buffers.

    Parameters
    ----------
    module : Module
        Is as before after the call.
    parameter_and_buffer_dicts : dict, or tuple of dict
        Tensors by path, as `dict(module.named_parameters())` has them; the others are the module's own.
    args : tuple, or a single argument
        Of `forward`.
    kwargs : dict, optional
        Likewise.
    tie_weights : bool
        Whether tensors that the module has in several places are replaced in all of them.
    strict : bool
        Whether the paths must be all that there are.

    Raises
    ------
    ValueError
        If a path is in two dicts, or tied places got two values.
    AttributeError
        If a path is not there.
    RuntimeError
        If paths are missing or not there, where `strict`.

    Examples
    --------
    >>> layer = opweave.nn.Linear(2, 1)
    >>> opweave.func.functional_call(layer, {"weight": opweave.ones(1, 2), "bias": opweave.zeros(1)}, opweave.ones(2))
    tensor([2.])
    """
    if isinstance(parameter_and_buffer_dicts, Mapping):
        given: Mapping[str, Any] = parameter_and_buffer_dicts
    elif isinstance(parameter_and_buffer_dicts, Sequence):
        dicts: Any = parameter_and_buffer_dicts
        if not all(isinstance(each, Mapping) for each in dicts):
            raise ValueError("Expected all elements of parameter_and_buffer_dicts to be dictionaries")
        keys = [key for each in dicts for key in each]
        repeated = sorted({key for key in keys if keys.count(key) > 1})
        if repeated:
            raise ValueError(f"{repeated} appeared in multiple dictionaries; behavior of functional call is ambiguous")
        given = {key: value for each in dicts for key, value in each.items()}
    else:
        raise ValueError(
            f"Expected parameter_and_buffer_dicts to be a dict, or a list/tuple of dicts, "
            f"but got {type(parameter_and_buffer_dicts).__name__}"
        )
    arguments = () if args is None else args if isinstance(args, tuple) else (args,)
    with _reparametrize_module(module, given, tie_weights, strict):
        return module(*arguments, **(kwargs or {}))


def stack_module_state(models: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Parameters and buffers of several modules of one class, each stacked in a new first dimension, for `vmap`.

    Raises
    ------
    RuntimeError
        If there are none, they differ in class, or in mode.

    Examples
    --------
    >>> layers = [opweave.nn.Linear(3, 2) for _ in range(4)]
    >>> params, buffers = opweave.func.stack_module_state(layers)
    >>> params["weight"].shape
    opweave.Size([4, 2, 3])
    """
    given = list(models)
    if not given:
        raise RuntimeError("stack_module_state: Expected at least one model, got 0.")
    if len({model.training for model in given}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to have the same training/eval mode.")
    if len({type(model) for model in given}) > 1:
        raise RuntimeError("stack_module_state: Expected all models to be of the same class.")

    def stacked(members: list[dict[str, Any]], train: bool) -> dict[str, Any]:
        found = {}
        for name in members[0]:
            each = [own[name].detach() for own in members]
            made: Tensor = aten.stack.default(each)
            found[name] = made.requires_grad_(train and bool(members[0][name].requires_grad))
        return found

    parameters = [dict(model.named_parameters()) for model in given]
    return stacked(parameters, True), stacked([dict(model.named_buffers()) for model in given], False)

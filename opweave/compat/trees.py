"""PyTorch's functions of nested containers, by optree: `torch.utils._pytree`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import optree
from optree import registry

from opweave.registry.errors import ArgumentError

_WHOLE = {"none_is_leaf": True}  # PyTorch's trees have None for a leaf


def _options(is_leaf: Callable[[Any], bool] | None) -> dict[str, Any]:
    return {**_WHOLE, "is_leaf": is_leaf}


def tree_flatten(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> tuple[list[Any], Any]:
    """The leaves, and what holds them."""
    return optree.tree_flatten(tree, **_options(is_leaf))


def tree_unflatten(leaves: Any, treespec: Any) -> Any:
    """What `tree_flatten` took apart, with other leaves."""
    return optree.tree_unflatten(treespec, leaves)


def tree_leaves(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> list[Any]:
    """The leaves."""
    return optree.tree_leaves(tree, **_options(is_leaf))


def tree_structure(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """What holds the leaves."""
    return optree.tree_structure(tree, **_options(is_leaf))


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """A tree of a function's values for the leaves."""
    return optree.tree_map(func, tree, *rests, **_options(is_leaf))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Callable[[Any], bool] | None = None) -> Any:
    """Call a function with each leaf; gives the tree."""
    return optree.tree_map_(func, tree, *rests, **_options(is_leaf))


def _only(types: Any, func: Callable[[Any], Any]) -> Callable[[Any], Any]:
    chosen = isinstance if isinstance(types, (type, tuple)) else lambda leaf, test: test(leaf)
    return lambda leaf: func(leaf) if chosen(leaf, types) else leaf


def tree_map_only(types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Any = None) -> Any:
    """`tree_map` where only leaves of some types, or that a function says so of, go through the function."""
    return tree_map(_only(types, func), tree, is_leaf=is_leaf)


def tree_map_only_(types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Any = None) -> Any:
    """`tree_map_` with some leaves only."""
    return tree_map_(_only(types, func), tree, is_leaf=is_leaf)


def tree_all(test: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether something is true of all leaves."""
    return all(map(test, tree_leaves(tree, is_leaf)))


def tree_any(test: Callable[[Any], bool], tree: Any, is_leaf: Any = None) -> bool:
    """Whether something is true of a leaf."""
    return any(map(test, tree_leaves(tree, is_leaf)))


def arg_tree_leaves(*args: Any, **kwargs: Any) -> list[Any]:
    """The leaves of a call's arguments."""
    return [leaf for value in (*args, *kwargs.values()) for leaf in tree_leaves(value)]


#: The classes that were registered, as PyTorch's table has them.
SUPPORTED_NODES: dict[type, Any] = {}


def register_pytree_node(
    cls: type, flatten_fn: Callable[[Any], tuple[Any, Any]], unflatten_fn: Callable[[Any, Any], Any], **_: Any
) -> None:
    """Say how an instance of a class is taken apart: into its children, and what else it takes to make it again.

    Raises
    ------
    ArgumentError
        If the class is registered already.
    """
    if cls in SUPPORTED_NODES:
        raise ArgumentError("register_pytree_node: the class is registered already", got=cls.__qualname__)

    def flatten(value: Any) -> tuple[Any, Any]:
        children, context = flatten_fn(value)
        return tuple(children), context

    optree.register_pytree_node(
        cls,
        flatten,
        lambda context, children: unflatten_fn(list(children), context),
        namespace=vars(registry)["__GLOBAL_NAMESPACE"],
    )
    SUPPORTED_NODES[cls] = (flatten_fn, unflatten_fn)


def register_dataclass(cls: type, *, field_names: Any = None, drop_field_names: Any = None, **_: Any) -> None:
    """Take instances of a dataclass apart by its fields."""
    names = list(field_names or getattr(cls, "__dataclass_fields__", ()))
    names = [name for name in names if name not in (drop_field_names or ())]
    register_pytree_node(
        cls,
        lambda value: ([getattr(value, name) for name in names], None),
        lambda children, _: cls(**dict(zip(names, children, strict=True))),
    )


def register_constant(cls: type) -> None:
    """Take an instance of a class for a part of what holds leaves: it is compared, and has none itself."""
    register_pytree_node(cls, lambda value: ((), value), lambda _, value: value)


NAMES: dict[str, Any] = {
    name: value for name, value in globals().items()
    if callable(value) and getattr(value, "__module__", None) == __name__ and not name.startswith("_")
} | {"SUPPORTED_NODES": SUPPORTED_NODES, "_register_pytree_node": register_pytree_node}  # fmt: skip
NAMES["PyTree"] = Any
NAMES["TreeSpec"] = optree.PyTreeSpec
NAMES["treespec_leaf"] = functools.partial(optree.treespec_leaf, **_WHOLE)

"""PyTorch's functions of nested containers, by optree: `torch.utils._pytree`."""

from __future__ import annotations

import collections
import functools
from collections.abc import Callable
from typing import Any, NamedTuple

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
    if type(treespec) is TreeSpec:
        return treespec.unflatten(list(leaves))
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


class NodeDef(NamedTuple):
    """How instances of a class are taken apart, into children and a context, and made again."""

    type: Any
    flatten_fn: Callable[[Any], tuple[Any, Any]]
    unflatten_fn: Callable[[Any, Any], Any]
    flatten_with_keys_fn: Any = None


def _of_keys(make: Callable[[Any, Any], Any]) -> tuple[Any, Any]:
    return lambda value: ([*value.values()], [*value]), make


#: The classes that are taken apart, as PyTorch's table has them: containers, and those that were registered.
SUPPORTED_NODES: dict[Any, NodeDef] = {
    kind: NodeDef(kind, *how)
    for kind, how in {
        dict: _of_keys(lambda children, keys: dict(zip(keys, children, strict=True))),
        list: (lambda value: (value, None), lambda children, _: list(children)),
        tuple: (lambda value: (list(value), None), lambda children, _: tuple(children)),
        collections.namedtuple: (lambda value: (list(value), type(value)), lambda children, kind: kind(*children)),
        collections.OrderedDict: _of_keys(
            lambda children, keys: collections.OrderedDict(zip(keys, children, strict=True))
        ),
        collections.defaultdict: (
            lambda value: ([*value.values()], (value.default_factory, [*value])),
            lambda children, context: collections.defaultdict(context[0], zip(context[1], children, strict=True)),
        ),
        collections.deque: (
            lambda value: (list(value), value.maxlen), lambda children, most: collections.deque(children, most)
        ),
    }.items()
}  # fmt: skip


def _get_node_type(tree: Any) -> Any:
    """The class that `SUPPORTED_NODES` has an object under."""
    kind = type(tree)
    return collections.namedtuple if issubclass(kind, tuple) and hasattr(kind, "_fields") else kind


class _Specs(type):
    def __instancecheck__(cls, instance: Any) -> bool:
        return type.__instancecheck__(cls, instance) or isinstance(instance, optree.PyTreeSpec)


class TreeSpec(metaclass=_Specs):
    """What holds leaves, written out: a class of `SUPPORTED_NODES`, its context, and this of each child.

    `tree_flatten` gives optree's, which are instances, too.
    """

    def __init__(self, type: Any, context: Any, children_specs: list[TreeSpec]) -> None:
        self.type, self.context, self.children_specs = type, context, children_specs
        self.num_children = len(children_specs)
        self.num_leaves: int = 1 if type is None else sum(each.num_leaves for each in children_specs)

    def is_leaf(self) -> bool:
        """Whether it holds nothing: it stands for a leaf."""
        return self.type is None

    def unflatten(self, leaves: list[Any]) -> Any:
        """A tree with these leaves."""
        if len(leaves) != self.num_leaves:
            raise ArgumentError("tree_unflatten: another number of leaves", got=f"{len(leaves)} for {self.num_leaves}")
        if self.type is None:
            return leaves[0]
        children, begin = [], 0
        for each in self.children_specs:
            children.append(each.unflatten(leaves[begin : begin + each.num_leaves]))
            begin += each.num_leaves
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def __eq__(self, other: object) -> bool:
        return type(other) is TreeSpec and vars(self) == vars(other)

    __hash__ = None  # type: ignore[assignment]  # what it holds may change


class _Leaves(type):
    def __call__(cls) -> Any:
        return TreeSpec(None, None, [])

    def __instancecheck__(cls, instance: Any) -> bool:
        return isinstance(instance, TreeSpec) and instance.is_leaf()


class LeafSpec(metaclass=_Leaves):
    """What stands for a leaf; a call makes such a `TreeSpec`."""


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
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn)


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
} | {
    "SUPPORTED_NODES": SUPPORTED_NODES, "_register_pytree_node": register_pytree_node,
    "_get_node_type": _get_node_type,
}  # fmt: skip
NAMES["PyTree"] = Any
NAMES["treespec_leaf"] = functools.partial(optree.treespec_leaf, **_WHOLE)

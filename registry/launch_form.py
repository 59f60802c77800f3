"""The arguments of a kernel launch as operands of a graph, and back.

An operand is a tensor or a number. An argument that is one is an operand under its own name. One that holds some, a
tuple or a host `TensorDescriptor`, becomes an operand for each:

    pair=(x, 3)                        pair.0=x, pair.1=3
    desc=TensorDescriptor(x, [n, 64],  desc.base=x, desc.shape.0=n, desc.shape.1=64, desc.strides.0=64, desc.strides.1=1
                          [64, 1], [16, 16])

The rest, what has no printed form in a graph (a `tl.dtype`, the shape of a descriptor's blocks) and how many arguments
were given by position, which an autotuner tells the user's pruning function apart by, is a `LaunchForm`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field
from typing import Any

from opweave.registry import forking
from opweave.registry.dataclass import dataclass
from opweave.registry.loading import load_heavy
from opweave.registry.symbolic import Symbolic
from opweave.registry.tensor import Tensor

#: optree's registrations of this module, which no one else sees.
_NAMESPACE = "opweave.launch"
_lock = forking.short_lock()
_registered: set[type] = set()


@dataclass(frozen=True)
class Structure:
    """How an argument is put together.

    Attributes
    ----------
    spec : optree.PyTreeSpec
        Its structure.
    leaves : tuple of (str or None, object)
        For each leaf the operand it is, or None and its value.
    """

    spec: Any
    leaves: tuple[tuple[str | None, Any], ...]

    def build(self, operands: Mapping[str, Any]) -> Any:
        """The argument, of operands."""
        values = [fixed if name is None else operands[name] for name, fixed in self.leaves]
        return load_heavy("optree").tree_unflatten(self.spec, values)

    @property
    def names(self) -> list[str]:
        """Its operands."""
        return [name for name, _ in self.leaves if name is not None]


@dataclass(frozen=True)
class LaunchForm:
    """What of a launch's arguments is no operand.

    Attributes
    ----------
    constants : mapping of str to object
        Arguments that have no printed form in a graph.
    structures : mapping of str to Structure
        Arguments that several operands make up.
    positional : int
        How many of the kernel's first parameters were given by position.
    fused : bool
        Whether the launch may become one kernel with what stands around it.
    """

    constants: Mapping[str, Any] = field(default_factory=dict)
    structures: Mapping[str, Structure] = field(default_factory=dict)
    positional: int = 0
    fused: bool = True

    @property
    def key(self) -> Any:
        """Equal for equal forms; None where that cannot be told."""
        constants = tuple((name, type(value), repr(value), value) for name, value in self.constants.items())
        structures = tuple(
            (name, s.spec, tuple((leaf, type(fixed), repr(fixed), fixed) for leaf, fixed in s.leaves))
            for name, s in self.structures.items()
        )
        key = (LaunchForm, self.positional, self.fused, constants, structures)
        try:
            hash(key)
        except TypeError:
            return None
        return key

    def arguments(self, operands: Mapping[str, Any]) -> dict[str, Any]:
        """All arguments by name; the operands may be fake tensors and symbolic numbers."""
        inner = {name for structure in self.structures.values() for name in structure.names}
        plain = {name: value for name, value in operands.items() if name not in inner}
        built = {name: structure.build(operands) for name, structure in self.structures.items()}
        return {**plain, **built, **self.constants}

    def call(self, parameters: Sequence[str], operands: Mapping[str, Any]) -> tuple[list[Any], dict[str, Any]]:
        """The arguments by position and by name, as they were given."""
        named = self.arguments(operands)
        return [named.pop(name) for name in parameters[: self.positional]], named

    def operands_of(self, name: str) -> list[str]:
        """The operands that an argument is made of."""
        structure = self.structures.get(name)
        return [name] if structure is None else structure.names


def taken_apart(bound: Mapping[str, Any], positional: int, fused: bool = True) -> tuple[dict[str, Any], LaunchForm]:
    """The operands of a launch, and its form.

    Parameters
    ----------
    bound : mapping of str to object
        The arguments by name.
    positional : int
        How many of the first were given by position.
    fused : bool
        Whether the launch may become one kernel with what stands around it.
    """
    operands: dict[str, Any] = {}
    constants: dict[str, Any] = {}
    structures: dict[str, Structure] = {}
    for name, value in bound.items():
        if is_operand(value):
            operands[name] = value
            continue
        paths, leaves, spec = flattened(value)
        if not any(isinstance(leaf, (Tensor, Symbolic)) for leaf in leaves):
            constants[name] = value
            continue
        made: list[tuple[str | None, Any]] = []
        for path, leaf in zip(paths, leaves, strict=True):
            key = ".".join([name, *map(str, path)])
            if is_operand(leaf) and key not in bound and key not in operands:
                operands[key] = leaf
                made.append((key, None))
            else:
                made.append((None, leaf))
        structures[name] = Structure(spec, tuple(made))
    return operands, LaunchForm(constants, structures, positional, fused)


def flattened(value: Any) -> tuple[list[Any], list[Any], Any]:
    """Paths, leaves and structure of an argument."""
    if is_descriptor(value):
        _register_descriptor(type(value))
    elif isinstance(value, (tuple, list)):
        for item in value:
            if is_descriptor(item):
                _register_descriptor(type(item))
    flatten = load_heavy("optree").tree_flatten_with_path
    return flatten(value, is_leaf=_is_leaf, none_is_leaf=True, namespace=_NAMESPACE)


def leaves(value: Any) -> Sequence[Any]:
    """Leaves of an argument."""
    return (value,) if _is_leaf(value) else flattened(value)[1]


def is_operand(value: Any) -> bool:
    """Whether a value is an operand of its own."""
    return value is None or isinstance(value, (Tensor, Symbolic, bool, int, float, str))


def is_descriptor(value: Any) -> bool:
    """Whether a value is a host `TensorDescriptor` of Triton's."""
    return type(value).__name__ == "TensorDescriptor" and hasattr(value, "block_shape")


def _is_leaf(value: Any) -> bool:
    return not isinstance(value, (tuple, list)) and not is_descriptor(value)


def _register_descriptor(cls: type) -> None:
    with _lock:
        if cls not in _registered:
            register = load_heavy("optree").register_pytree_node
            register(cls, _parts_of_descriptor, _Descriptor(cls).build, namespace=_NAMESPACE)
            _registered.add(cls)


def _parts_of_descriptor(descriptor: Any) -> tuple[list[Any], Any, list[Any]]:
    rank = len(descriptor.shape)
    names = ["base", *[f"shape.{i}" for i in range(rank)], *[f"strides.{i}" for i in range(rank)]]
    further = {name: getattr(descriptor, name) for name in _FURTHER if hasattr(descriptor, name)}
    rest = tuple(descriptor.block_shape), tuple(further.items())
    return [descriptor.base, *descriptor.shape, *descriptor.strides], rest, names


#: Attributes of a descriptor that are constants, in any of Triton's releases.
_FURTHER = ("padding", "round_f32_to_tf32")


@dataclass(frozen=True)
class _Descriptor:
    """Makes descriptors of a class."""

    cls: type

    def build(self, rest: tuple[tuple[int, ...], tuple[tuple[str, Any], ...]], parts: Sequence[Any]) -> Any:
        base, *numbers = parts
        rank = len(numbers) // 2
        made = {"base": base, "shape": numbers[:rank], "strides": numbers[rank:], "block_shape": [*rest[0]]}
        made |= rest[1]
        if not isinstance(base, str):
            return self.cls(**made)
        shown = object.__new__(self.cls)  # names in the place of values, which it would refuse
        shown.__dict__.update(made)
        return shown

"""What a module answers about its parts, under PyTorch's names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from opweave.registry.errors import ArgumentError
from opweave.registry.tensor import Tensor


class ModuleTree:
    """Modules in modules: a subclass says which are its own (`named_children`) and which tensors it has (`tensors_of`).

    `modules`, `named_modules` and the rest follow from that.
    """

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """The modules directly in this one, by name."""
        return iter(())

    def children(self) -> Iterator[Any]:
        """The modules directly in this one."""
        return (module for _, module in self.named_children())

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """This module (under the prefix) and all in it, by path: `"true_graph_0.false_graph_0"`."""
        memo = set() if memo is None else memo
        if id(self) in memo:
            return
        if remove_duplicate:
            memo.add(id(self))
        yield prefix, self
        for name, module in self.named_children():
            yield from module.named_modules(memo, f"{prefix}.{name}" if prefix else name, remove_duplicate)

    def modules(self) -> Iterator[Any]:
        """This module and all in it."""
        return (module for _, module in self.named_modules())

    def get_submodule(self, target: str) -> Any:
        """The module of a path; the empty path is this one.

        Raises
        ------
        AttributeError
            If there is none.
        """
        module: Any = self
        for name in target.split(".") if target else ():
            found = dict(module.named_children())
            if name not in found:
                raise AttributeError(f"{type(module).__name__} has no submodule {name!r}; it has {', '.join(found)}")
            module = found[name]
        return module

    def tensors_of(self) -> Mapping[str, Tensor]:
        """The tensors that it brings along, by name."""
        return {}

    def named_parameters(self) -> Iterator[tuple[str, Tensor]]:
        """Its tensors that require grad, by name."""
        return ((name, t) for name, t in self.tensors_of().items() if t.requires_grad)

    def parameters(self) -> Iterator[Tensor]:
        """Its tensors that require grad."""
        return (t for _, t in self.named_parameters())

    def named_buffers(self) -> Iterator[tuple[str, Tensor]]:
        """Its other tensors, by name."""
        return ((name, t) for name, t in self.tensors_of().items() if not t.requires_grad)

    def buffers(self) -> Iterator[Tensor]:
        """Its other tensors."""
        return (t for _, t in self.named_buffers())

    def state_dict(self) -> dict[str, Tensor]:
        """All its tensors by name, without history."""
        return {name: t.detach() for name, t in self.tensors_of().items()}

    def register_buffer(self, name: str, tensor: Tensor) -> None:
        """Make a tensor an attribute that a graph may read.

        Raises
        ------
        ArgumentError
            If it is no tensor.
        """
        given: Any = tensor
        if not isinstance(given, Tensor):
            raise ArgumentError(f"register_buffer: {name!r} must be a tensor", got=type(given).__name__)
        setattr(self, name, tensor)

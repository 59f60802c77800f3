"""Which modules are being called, or gone back through: `ModuleTracker`."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Self

import optree

from opweave.nn.modules.module import Module, register_module_forward_hook, register_module_forward_pre_hook
from opweave.registry.autograd.gradient_edges import register_multi_grad_hook
from opweave.registry.autograd.mode import is_grad_enabled
from opweave.registry.tensor import Tensor

__all__ = ["ModuleTracker"]


def _recorded(values: Any) -> list[Tensor]:
    leaves = optree.tree_leaves(values, none_is_leaf=True)
    return [t for t in leaves if isinstance(t, Tensor) and t.requires_grad]


class ModuleTracker:
    """A block in which `parents` has the names of the modules that run: forward, and in the backward pass.

    Attributes
    ----------
    parents : set of str
        `"Global"`, and paths such as `"Sequential.0"` that begin with the class of the module that was called first.

    Examples
    --------
    >>> from opweave.utils.module_tracker import ModuleTracker
    >>> model = opweave.nn.Sequential(opweave.nn.Linear(2, 2))
    >>> with ModuleTracker() as tracker:
    ...     handle = model[0].register_forward_hook(lambda *args: print(sorted(tracker.parents)))
    ...     _ = model(opweave.ones(1, 2))
    ['Global', 'Sequential', 'Sequential.0']
    """

    def __init__(self) -> None:
        self.parents: set[str] = {"Global"}
        self._names: weakref.WeakKeyDictionary[Module, str] = weakref.WeakKeyDictionary()
        self._seen: weakref.WeakSet[Module] = weakref.WeakSet()
        self._handles: list[Any] = []
        self._goes_back = False

    @property
    def is_bw(self) -> bool:
        """Whether a backward pass goes through the modules."""
        return self._goes_back

    def __enter__(self) -> Self:
        self.parents.clear()
        self.parents.add("Global")
        # Ours runs first on the way in, and last on the way out, so that hooks of modules find their module in it.
        self._handles = [register_module_forward_pre_hook(self._enter), register_module_forward_hook(self._leave)]
        return self

    def __exit__(self, *_: object) -> None:
        for handle in self._handles:
            handle.remove()
        self._handles.clear()

    def _name(self, module: Module) -> str:
        name = self._names.setdefault(module, type(module).__name__)
        if module not in self._seen:
            self._seen.add(module)
            for key, child in module.named_children():
                self._names[child] = f"{name}.{key}"
                self._name(child)
        return name

    def _entering(self, name: str, goes_back: bool) -> Callable[..., None]:
        def enter(*_: Any) -> None:
            if goes_back and not self._goes_back:
                self._goes_back = True
                self.parents.clear()
                self.parents.add("Global")
            self.parents.add(name)

        return enter

    def _leaving(self, name: str, goes_back: bool) -> Callable[..., None]:
        def leave(*_: Any) -> None:
            self.parents.discard(name)
            if goes_back and self.parents <= {"Global"}:
                self._goes_back = False

        return leave

    def _enter(self, module: Module, args: Any) -> None:
        name = self._name(module)
        if self._goes_back:  # a new forward: the backward pass before has ended
            self._goes_back = False
            self.parents.clear()
            self.parents.add("Global")
        self.parents.add(name)
        if is_grad_enabled() and (tensors := _recorded(args)):
            register_multi_grad_hook(tensors, self._leaving(name, True))

    def _leave(self, module: Module, args: Any, output: Any) -> None:
        name = self._name(module)
        self.parents.discard(name)
        if is_grad_enabled() and (tensors := _recorded(output)):
            register_multi_grad_hook(tensors, self._entering(name, True), mode="any")

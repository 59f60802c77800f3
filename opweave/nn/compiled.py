"""`CompiledModule`: a module whose calls are compiled, which is a module still."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

from opweave.nn.modules.hooks import OfAll
from opweave.nn.modules.module import Module
from opweave.runtime.compiled import CompiledFunction


class CompiledModule(Module):
    """What `opweave.compile` makes of a module: it shares parameters, buffers and mode with it.

    Parameters
    ----------
    module : Module
        Named `_orig_mod` here, and so in the paths of a state dict.
    compiled : callable
        Makes the compiled function that calls it.
    """

    _orig_mod: Module
    #: Hooks of all modules are called for the module, and not for this one as well.
    _hooked = False
    _hooks_of_all = OfAll()

    def __init__(self, module: Module, compiled: Callable[[Module], CompiledFunction[..., Any]]) -> None:
        super().__init__()
        del self.__dict__["training"]  # the module's is read and written
        self._orig_mod = module
        self.__dict__["compiled"] = compiled
        self.__dict__["function"] = compiled(module)

    def __deepcopy__(self, memo: dict[int, Any]) -> CompiledModule:
        """A copy of the module, to be compiled for itself."""
        made = memo[id(self)] = CompiledModule(copy.deepcopy(self._orig_mod, memo), self.__dict__["compiled"])
        return made

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        """Call the module, compiled."""
        return self.__dict__["function"](*args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        held = self.__dict__.get("_modules", {})
        if name == "_orig_mod" or "_orig_mod" not in held:
            return super().__getattr__(name)
        module, function = held["_orig_mod"], self.__dict__["function"]
        return (
            getattr(function, name) if not hasattr(module, name) and hasattr(function, name) else getattr(module, name)
        )

    def __setattr__(self, name: str, value: Any) -> None:
        if "function" in self.__dict__:
            setattr(self._orig_mod, name, value)
        else:
            super().__setattr__(name, value)

    def __repr__(self) -> str:
        return repr(self.__dict__["function"])

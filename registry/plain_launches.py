"""Launches as Triton's users write them, `kernel[grid](...)`: a step in front of Triton's own `run` methods.

It is there as soon as there is a mode that could see launches. Where one is active, or a subclass of `Tensor` is among
the arguments, a launch becomes a call of an op (`registry/triton_op.py`). Elsewhere it goes on to Triton, with tuples
for lists, and with options beside an autotuned kernel in the place of those of its configurations; and it counts as a
mutation of what it writes, if a backward pass has kept that.
"""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable
from typing import Any

from opweave.registry import forking
from opweave.registry.errors import ArgumentError, OpweaveError, user_frame, user_frame_of
from opweave.registry.interrupts import let_through
from opweave.registry.keys import PYTHON_BIT, before_modes, state
from opweave.registry.launch_form import leaves
from opweave.registry.loading import load_triton
from opweave.registry.tensor import Tensor
from opweave.registry.triton.effects import surely_written
from opweave.registry.triton_op import (
    OPTIONS,
    TritonKernelWrapper,
    brief,
    checked_grid,
    explain,
    is_jit,
    is_tuned,
    name_of,
    with_options,
    without_lists,
)

_lock = forking.short_lock()
_watching = False


def watch_launches() -> None:
    """Have plain launches seen by modes: put a step in front of Triton's `run` methods."""
    global _watching
    if _watching:
        return
    load_triton()
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    with _lock:
        if not _watching:
            for cls in (JITFunction, Autotuner, Heuristics):
                setattr(cls, "run", _seen(cls.run))  # noqa: B010  # their `run` is declared with other parameters
            before_modes.remove(_watch_if_loaded)
            _watching = True


def _seen(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def run(self: Any, *args: Any, **kwargs: Any) -> Any:
        if "grid" in kwargs and not kwargs.get("warmup") and _is_watched(args, kwargs):
            named = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
            TritonKernelWrapper(self).record(kwargs["grid"], args, named)
            return None
        if list in map(type, args) or any(type(v) is list for name, v in kwargs.items() if name != "grid"):
            args = tuple(map(without_lists, args))
            kwargs = {name: value if name == "grid" else without_lists(value) for name, value in kwargs.items()}
        if is_tuned(self):
            options = {name: kwargs.pop(name) for name in OPTIONS if name in kwargs and name not in self.arg_names}
            if options:
                self = with_options(self, options)
        elif is_jit(self) and not kwargs.get("warmup"):
            for t in saved_writes(self, args, kwargs):
                t._bump()
        try:
            return original(self, *args, **kwargs)
        except Exception as error:
            let_through(error)
            explained = _explained(self, args, kwargs, error)
            if explained is error:
                raise
            raise explained from error

    return run


def _explained(kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any], error: Exception) -> Exception:
    """What Triton raises on wrong arguments, in terms of them; anything else as it is, with a note.

    A `CompilationError` stays one: autotuners and users catch it.
    """
    if isinstance(error, OpweaveError):
        return error
    given = {name: value for name, value in kwargs.items() if name not in ("grid", "warmup")}
    raised_by_triton = user_frame_of(error) is None
    if isinstance(error, _OF_ARGUMENTS) and raised_by_triton:
        grid = kwargs.get("grid")
        if not callable(grid):
            checked_grid(kernel, grid)
        if isinstance(grid, int):
            return ArgumentError(
                f"{name_of(kernel)}: a grid is a tuple", got=repr(grid), hint=f"{name_of(kernel)}[({grid},)](...)"
            )
        return explain(kernel, args, given, error)
    if type(error).__name__ in _OF_COMPILING and not getattr(error, "__notes__", None):
        shown = ", ".join([*map(brief, args), *(f"{name}={brief(value)}" for name, value in given.items())])
        error.add_note(f"in the launch of {name_of(kernel)}({shown})\n  at:   {user_frame()}")
    return error


def _is_watched(args: tuple[Any, ...], kwargs: dict[str, Any]) -> bool:
    """Whether a mode, or a subclass among the tensors, has to see a launch."""
    modes = bool(state.modes)
    for value in (*args, *(value for name, value in kwargs.items() if name != "grid")):
        if isinstance(value, Tensor):
            if modes or value._keys & PYTHON_BIT:
                return True
        elif not isinstance(value, _NUMBERS):
            for leaf in leaves(value):
                if isinstance(leaf, Tensor) and (modes or leaf._keys & PYTHON_BIT):
                    return True
    return False


def _holds_saved(value: Any) -> bool:
    """Whether an argument is, or has in it, a tensor on memory that a backward pass has kept."""
    if isinstance(value, Tensor):
        return value._storage.saved
    if isinstance(value, _NUMBERS):
        return False
    return any(isinstance(leaf, Tensor) and leaf._storage.saved for leaf in leaves(value))


def saved_writes(jit: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> list[Tensor]:
    """The tensors that a launch surely writes, and that a backward pass has kept.

    What is written after that is no longer what was saved, so the launch counts as a mutation of them.
    """
    if not any(map(_holds_saved, (*args, *kwargs.values()))):
        return []
    given = {**dict(zip(jit.arg_names, args, strict=False)), **kwargs}
    values = {name: value for name, value in given.items() if name not in ("grid", "warmup")}
    written = [values[name] for name in surely_written(jit, values) if _holds_saved(values[name])]
    return [leaf for value in written for leaf in leaves(value) if _holds_saved(leaf)]


_NUMBERS = (int, float, str, type(None))
_OF_ARGUMENTS = (TypeError, KeyError, OverflowError)
_OF_COMPILING = ("CompilationError", "UnsupportedLanguageConstruct", "CompileTimeAssertionFailure")


def _watch_if_loaded() -> None:
    if "triton.runtime.jit" in sys.modules:
        watch_launches()


before_modes.append(_watch_if_loaded)

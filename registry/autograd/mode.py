"""Whether calls are recorded."""

from __future__ import annotations

from typing import Any, Self, overload

from opweave.registry.keys import ABOVE_VIEWS, GRAD, INFERENCE, F, set_mode, state


def is_grad_enabled() -> bool:
    """Whether calls on tensors that require grad are recorded in this thread.

    Examples
    --------
    >>> opweave.is_grad_enabled()
    True
    """
    return not state.exclude & GRAD


class no_grad(set_mode):
    """Record nothing inside the block, or in the decorated function.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> with opweave.no_grad():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]  # as a decorator
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        return made(orig_func) if callable(orig_func) else made

    def change(self) -> None:
        state.exclude |= GRAD


class enable_grad(set_mode):
    """Record calls inside the block, or in the decorated function.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> with opweave.no_grad():
    ...     with opweave.enable_grad():
    ...         y = x * 2
    >>> y.requires_grad
    True
    """

    @overload
    def __new__(cls, orig_func: F) -> F: ...  # type: ignore[misc]  # as a decorator
    @overload
    def __new__(cls, orig_func: None = None) -> Self: ...
    def __new__(cls, orig_func: Any = None) -> Any:
        made = super().__new__(cls)
        return made(orig_func) if callable(orig_func) else made

    def change(self) -> None:
        state.exclude &= ~GRAD


class set_grad_enabled(set_mode):
    """Switch recording on or off: at once when called, back at the end of a `with` block.

    Parameters
    ----------
    mode : bool
        Whether calls are recorded.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> with opweave.set_grad_enabled(False):
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    def __init__(self, mode: bool):
        self.mode = mode
        self._before = (state.include, state.exclude)
        self.change()

    def change(self) -> None:
        state.exclude = state.exclude & ~GRAD if self.mode else state.exclude | GRAD

    def clone(self) -> set_grad_enabled:
        fresh = super().clone()
        fresh.__dict__.pop("_before", None)  # what was in force where it was made, not where it is entered
        assert isinstance(fresh, set_grad_enabled)
        return fresh

    def __enter__(self) -> None:
        self.__dict__.setdefault("_saved", []).append(self.__dict__.pop("_before", (state.include, state.exclude)))
        self.change()

    def __call__(self, fn: F) -> F:  # type: ignore[override]
        # A decorator changes nothing where it stands.
        state.include, state.exclude = self.__dict__.pop("_before", (state.include, state.exclude))
        return super().__call__(fn)


class inference_mode(set_mode):
    """`no_grad`, and what is made inside can never take part in a recorded call.

    Parameters
    ----------
    mode : bool
        False switches it off inside a block where it is on, and recording on, whatever was in force outside.

    Examples
    --------
    >>> x = opweave.ones(2, requires_grad=True)
    >>> with opweave.inference_mode():
    ...     y = x * 2
    >>> y.requires_grad
    False
    """

    @overload
    def __new__(cls, mode: F) -> F: ...  # type: ignore[misc]  # as a decorator
    @overload
    def __new__(cls, mode: bool = True) -> Self: ...
    def __new__(cls, mode: Any = True) -> Any:
        if callable(mode) and not isinstance(mode, bool):
            made = super().__new__(cls)
            made.mode = True
            return made(mode)
        return super().__new__(cls)

    def __init__(self, mode: Any = True):
        self.mode = bool(mode)

    def change(self) -> None:
        if self.mode:
            state.include |= INFERENCE
            state.exclude |= ABOVE_VIEWS
        else:
            state.include &= ~INFERENCE
            state.exclude &= ~ABOVE_VIEWS


def is_inference_mode_enabled() -> bool:
    """Whether inference mode is on in this thread.

    Examples
    --------
    >>> opweave.is_inference_mode_enabled()
    False
    """
    return bool(state.include & INFERENCE)

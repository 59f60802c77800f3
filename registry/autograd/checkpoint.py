"""`checkpoint`: trade memory for time; what a function computes for its backward is not kept, but computed again there.

Eagerly, hooks on saved tensors note only that something was saved. The first of them that backward asks for runs the
function a second time, with the inputs, random numbers and autocast settings of the first, and collects what is saved
now. In a trace nothing runs twice: calls are marked, and the partitioner does not save them (`passes.partition`).
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable
from typing import Any, Generic, ParamSpec, TypeVar

from opweave.registry.autograd.graph import ErrorNode, attach
from opweave.registry.autograd.mode import enable_grad
from opweave.registry.autograd.saved_hooks import saved_tensors_hooks
from opweave.registry.device import cpu
from opweave.registry.errors import ArgumentError, AutogradError
from opweave.registry.keys import AUTOCAST_MASK, GRAD, state
from opweave.registry.loading import load_heavy
from opweave.registry.random_generator import default_generator, thread_generators
from opweave.registry.tensor import Tensor, describe

_serial = itertools.count()


P = ParamSpec("P")
R = TypeVar("R")


class checkpoint(Generic[P, R]):
    """Make a function keep only its inputs for backward.

    Parameters
    ----------
    fn : callable
        Gives the same when called twice with equal inputs. Its arguments may be nested in pytrees.

    Raises
    ------
    AutogradError
        At backward, if an input was written to since, or if the second run saves something else than the first; and
        for second derivatives.

    Examples
    --------
    >>> layer = opweave.checkpoint(lambda x, w: (x @ w).relu())  # doctest: +SKIP
    """

    __opweave_wrapper__ = True

    def __init__(self, fn: Callable[P, R]) -> None:
        if not callable(fn):
            raise ArgumentError(
                "checkpoint: expected a function", got=f"{fn!r} ({type(fn).__name__})", hint="checkpoint(f)(x)"
            )
        functools.update_wrapper(self, fn)
        self.__wrapped__ = fn

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        if state.modes:
            before, state.checkpoint = state.checkpoint, next(_serial)
            try:
                return self.__wrapped__(*args, **kwargs)
            finally:
                state.checkpoint = before
        if state.exclude & GRAD:
            return self.__wrapped__(*args, **kwargs)
        region = _Region(self.__wrapped__, args, kwargs)
        with saved_tensors_hooks(region.pack, region.unpack):
            result = self.__wrapped__(*args, **kwargs)
        return result


class _Region:
    """One call: what was saved in it, and how to get that again."""

    def __init__(self, fn: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
        self.fn = fn
        self.leaves, self.spec = load_heavy("optree").tree_flatten((args, kwargs))  # type: ignore[arg-type]  # any pytree
        self.versions = [t._storage.version if isinstance(t, Tensor) else 0 for t in self.leaves]
        for device in {cpu, *(t._device for t in self.leaves if isinstance(t, Tensor))}:
            default_generator(device)
        self.generators = [(generator, generator.state) for generator in thread_generators()]
        self.bits = state.include & AUTOCAST_MASK, state.exclude & AUTOCAST_MASK
        self.dtypes = state.__dict__.get("autocast_dtypes")
        self.saved: list[tuple[Any, bool]] = []
        self.again: list[Tensor] | None = None

    def pack(self, t: Tensor) -> int:
        self.saved.append((t.spec, bool(t._keys & GRAD)))
        return len(self.saved) - 1

    def unpack(self, index: int) -> Tensor:
        if self.again is None:
            self.again = self._run_again()
        spec, had_grad = self.saved[index]
        value = self.again[index]
        if not had_grad:
            return value
        made = value._alias()
        node = ErrorNode(
            [value.detach().requires_grad_()], "a second derivative through checkpoint",
            "call the function itself where second derivatives are needed", "CheckpointBackward",
        )  # fmt: skip
        node.output_specs = [spec]
        attach(made, node, 0)
        return made

    def _run_again(self) -> list[Tensor]:
        for t, version in zip(self.leaves, self.versions, strict=True):
            if isinstance(t, Tensor) and t._storage.version != version:
                raise AutogradError(
                    "checkpoint: an input was modified by an in-place operation before its backward",
                    got=f"{describe(t)} is at version {t._storage.version}; expected version {version}",
                    hint="clone() the tensor before writing to it",
                )
        found: list[Tensor] = []

        def keep(t: Tensor) -> int:
            found.append(t.detach())
            return len(found) - 1

        leaves = [t.detach().requires_grad_(bool(t._keys & GRAD)) if isinstance(t, Tensor) else t for t in self.leaves]
        args: Any
        kwargs: Any
        args, kwargs = load_heavy("optree").tree_unflatten(self.spec, leaves)
        now = [(generator, generator.state) for generator, _ in self.generators]
        include, exclude, dtypes = state.include, state.exclude, state.__dict__.get("autocast_dtypes")
        state.include = include & ~AUTOCAST_MASK | self.bits[0]
        state.exclude = exclude & ~AUTOCAST_MASK | self.bits[1]
        _set_dtypes(self.dtypes)
        try:
            for generator, before in self.generators:
                generator.state = before
            with enable_grad(), saved_tensors_hooks(keep, found.__getitem__):
                self.fn(*args, **kwargs)
        finally:
            state.include, state.exclude = include, exclude
            _set_dtypes(dtypes)
            for generator, before in now:
                generator.state = before
        if [t.spec for t in found] != [spec for spec, _ in self.saved]:
            raise AutogradError(
                "checkpoint: the function saved something else the second time",
                got=f"{len(found)} tensors, {len(self.saved)} the first time",
                hint="its result must depend on its inputs alone",
            )
        return found


def _set_dtypes(dtypes: Any) -> None:
    if dtypes is None:
        state.__dict__.pop("autocast_dtypes", None)
    else:
        state.__dict__["autocast_dtypes"] = dtypes

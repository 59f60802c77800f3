"""Kernels that were registered before their op is defined, as PyTorch allows: they wait for the definition.

A library that implements ops of another may be loaded first. When the op comes, what waited for it is registered; when
the op goes, and its kernel's library does not, the kernel waits again.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

from opweave.registry.errors import OpweaveError, RegistrationError, Site
from opweave.registry.interrupts import deferred
from opweave.registry.keys import DispatchKey

if TYPE_CHECKING:
    from opweave.registry.op import OpOverload

Undo = Callable[[], None]


class Implementation:
    """A kernel of the op that has a name, whenever there is one.

    Parameters
    ----------
    name : str
        The op's.
    key : DispatchKey
        Where it is registered.
    site : Site
        Where that was asked for.
    register : callable
        Registers it on the op, and gives what takes it back.
    """

    def __init__(self, name: str, key: DispatchKey, site: Site, register: Callable[[OpOverload], Undo]) -> None:
        self.name, self.key, self.site, self._register = name, key, site, register
        self._undo: Undo | None = None
        #: Whether it has been registered once: what comes under the name later may be another op.
        self.was_registered = False

    def register(self, op: OpOverload) -> None:
        """Be a kernel of an op."""
        self._undo = self._register(op)
        self.was_registered = True

    def take_back(self) -> None:
        """Be none any more."""
        undo, self._undo = self._undo, None
        if undo is not None:
            undo()


class Implementations:
    """All of them, by the names of their ops.

    Parameters
    ----------
    lock : lock
        Guards every change to the registry; who calls `defined` and `removed` holds it.
    operators : mapping of str to OpOverload
        The ops that there are.
    """

    def __init__(self, lock: AbstractContextManager[Any], operators: Mapping[str, OpOverload]) -> None:
        self._lock, self._operators = lock, operators
        self.waiting: dict[str, list[Implementation]] = {}
        self.registered: dict[str, list[Implementation]] = {}

    def implement(
        self, name: str, key: DispatchKey, site: Site, register: Callable[[OpOverload], Undo], *, override: bool = False
    ) -> Undo:
        """Register a kernel of the op that has a name; where there is none, once it is defined.

        Parameters
        ----------
        name : str
            The op's.
        key : DispatchKey
            Where it is registered.
        site : Site
            Where that was asked for.
        register : callable
            Registers it on the op, and gives what takes it back.
        override : bool
            Whether it may take the place of another one that waits.

        Returns
        -------
        callable
            Takes it back.

        Raises
        ------
        RegistrationError
            If the key has a kernel already, or this one cannot be one.
        """
        made = Implementation(name, key, site, register)
        with self._lock, deferred():
            self._add(made, override)

        def undo() -> None:
            with self._lock:
                self._remove(made)

        return undo

    def _add(self, made: Implementation, override: bool) -> None:
        op = self._operators.get(made.name)
        if op is not None:
            made.register(op)
            self.registered.setdefault(made.name, []).append(made)
            return
        others = self.waiting.setdefault(made.name, [])
        first = next((other for other in others if other.key is made.key), None)
        if first is not None and not override:
            raise RegistrationError(
                f"{made.name}: {made.key.name} already has a kernel, which waits for the op to be defined",
                got=f"first from {first.site}", at=made.site, hint="allow_override=True replaces it",
            )  # fmt: skip
        if first is not None:
            others.remove(first)
        others.append(made)

    def _remove(self, made: Implementation) -> None:
        made.take_back()
        for found in (self.waiting, self.registered):
            others = found.get(made.name, [])
            if made in others:
                others.remove(made)
            if not others:
                found.pop(made.name, None)

    def defined(self, op: OpOverload) -> None:
        """Register what waited for an op; all of it, or none and an error.

        Raises
        ------
        OpweaveError
            If one cannot be a kernel of the op.
        """
        done: list[Implementation] = []
        left: list[Implementation] = []
        for made in self.waiting.pop(op.name, []):
            try:
                made.register(op)
                done.append(made)
            except OpweaveError:
                left.append(made)
                if made.was_registered:  # with an earlier op of the name
                    continue
                for other in done:
                    other.take_back()
                self.waiting[op.name] = [*done, *left]
                raise
        if done:
            self.registered[op.name] = done
        if left:
            self.waiting[op.name] = left

    def removed(self, op: OpOverload) -> None:
        """Let the kernels of an op that is gone wait for another of the name."""
        found = self.registered.pop(op.name, [])
        for made in found:
            made.take_back()
        if found:
            self.waiting[op.name] = [*self.waiting.get(op.name, []), *found]

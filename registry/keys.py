"""Dispatch keys, and the thread's dispatch state.

A call's key set is the union of its tensors' keys and of what the thread includes (an active mode), less what the
thread excludes. The highest key in the set decides which kernel runs. Sets are plain ints, one bit a key, so that a
call computes its set with a few `|` and looks the kernel up in a dict.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from enum import IntEnum
from types import TracebackType
from typing import Any, Self


class DispatchKey(IntEnum):
    """Keys with PyTorch's names, in rising priority; the last two are aliases that stand for many keys."""

    Undefined = 0
    Meta = 1
    CPU = 2
    CUDA = 3
    BackendSelect = 4
    Python = 5

    CompositeExplicitAutograd = 100
    CompositeImplicitAutograd = 101

    @property
    def is_alias(self) -> bool:
        """Whether the key stands for several others in a registration."""
        return self >= DispatchKey.CompositeExplicitAutograd

    @property
    def bit(self) -> int:
        """The key as a one-element set."""
        return 1 << self


PYTHON_BIT = DispatchKey.Python.bit
BACKENDS = (DispatchKey.Meta, DispatchKey.CPU, DispatchKey.CUDA)
BACKEND_MASK = DispatchKey.Meta.bit | DispatchKey.CPU.bit | DispatchKey.CUDA.bit
DEVICE_KEYS = {"cpu": DispatchKey.CPU, "cuda": DispatchKey.CUDA, "meta": DispatchKey.Meta}


class DispatchKeySet:
    """An immutable set of keys over an int, for users who inspect dispatch; calls use the ints.

    Parameters
    ----------
    keys : int, DispatchKey or sequence of DispatchKey
        Bits, or the members.
    """

    __slots__ = ("bits",)

    def __init__(self, keys: int | DispatchKey | Sequence[DispatchKey] = 0):
        if isinstance(keys, DispatchKey):
            self.bits = keys.bit
        elif isinstance(keys, int):
            self.bits = keys
        else:
            self.bits = 0
            for key in keys:
                self.bits |= key.bit

    def __iter__(self) -> Iterator[DispatchKey]:
        """From the highest priority down."""
        return (key for key in reversed(DispatchKey) if not key.is_alias and self.bits & key.bit)

    def __contains__(self, key: DispatchKey) -> bool:
        return bool(self.bits & key.bit)

    def has(self, key: DispatchKey) -> bool:
        """Whether the key is a member."""
        return key in self

    def highest(self) -> DispatchKey:
        """The member with the highest priority, `Undefined` if there is none."""
        return DispatchKey(max(self.bits.bit_length() - 1, 0))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.bits | other.bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"


class DispatchState(threading.local):
    """What dispatch depends on besides the arguments; one for each thread.

    Attributes
    ----------
    modes : list of DispatchMode
        Active modes, innermost last.
    include, exclude : int
        Key sets added to and taken from every call's.
    """

    def __init__(self) -> None:
        self.modes: list[DispatchMode] = []
        self.include = 0
        self.exclude = 0


state = DispatchState()


class DispatchMode:
    """Sees every op called inside its `with` block.

    Subclasses implement `__torch_dispatch__`. While it runs, the mode itself is inactive, so calling `func` goes on to
    the next mode or to the kernel. Composite-implicit ops are decomposed before any mode sees them.
    """

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle one call; `types` are the tensor subclasses among the arguments."""
        raise NotImplementedError(f"{type(self).__name__} must define __torch_dispatch__")

    def data_accessed(self, tensor: Any, what: str) -> None:
        """Called when Python looks at a tensor's data inside the block (`item`, `numpy`, `tolist`, ...)."""

    def __enter__(self) -> Self:
        state.modes.append(self)
        state.include |= PYTHON_BIT
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        popped = state.modes.pop()
        assert popped is self, "dispatch modes must be left in the reverse order of entry"
        if not state.modes:
            state.include &= ~PYTHON_BIT


class exclude_keys:
    """Take keys out of every call's set inside the block."""

    def __init__(self, *keys: DispatchKey):
        self.bits = DispatchKeySet(keys).bits

    def __enter__(self) -> None:
        self.previous = state.exclude
        state.exclude |= self.bits

    def __exit__(self, *_: object) -> None:
        state.exclude = self.previous


class no_modes:
    """Make all modes of this thread inactive inside the block (used to compute a constant while tracing)."""

    def __enter__(self) -> None:
        self.saved = state.modes, state.include
        state.modes, state.include = [], state.include & ~PYTHON_BIT

    def __exit__(self, *_: object) -> None:
        state.modes, state.include = self.saved

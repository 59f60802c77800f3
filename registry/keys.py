"""Dispatch keys, and the thread's dispatch state.

A call's key set is the union of its tensors' keys and of what the thread includes (an active mode), less what the
thread excludes. The highest key in the set decides which kernel runs. Sets are plain ints, one bit a key, so that a
call computes its set with a few `|` and looks the kernel up in a dict.

Two bits are no keys but facts that the lookup depends on: `GRAD` (a tensor requires grad, and grad mode is on) and
`INFERENCE` (inference mode is on). With them in the set, a call on tensors that need no gradient finds its backend
kernel in the same one step, although every tensor carries its Autograd key.

One order holds for all keys: autograd stands above batching. The gradient of a batched computation and a batch of
gradients are then the same recorded graph of batched tensors (see `registry.vmap`), and no stack of interpreters is
needed. PyTorch lists `FuncTorchBatched` above `Autograd` and gets the second by such a stack.
"""

from __future__ import annotations

import functools
import inspect
import threading
from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from types import TracebackType
from typing import Any, Self, TypeVar, overload

from opweave.registry.interrupts import surely


class DispatchKey(IntEnum):
    """Keys with PyTorch's names, in rising priority; those from 100 on are aliases that stand for many keys.

    Examples
    --------
    >>> opweave.DispatchKey.CPU in opweave.DispatchKeySet(opweave.DispatchKey.CPU)
    True
    """

    Undefined = 0
    Meta = 1
    CPU = 2
    CUDA = 3
    BackendSelect = 4
    Python = 5
    FuncTorchBatched = 6
    FuncTorchVmapMode = 7
    Functionalize = 8
    ADInplaceOrView = 9
    AutogradOther = 10
    AutogradMeta = 11
    AutogradCPU = 12
    AutogradCUDA = 13
    PreDispatch = 14
    AutocastCPU = 15
    AutocastCUDA = 16

    CompositeExplicitAutograd = 100
    CompositeExplicitAutogradNonFunctional = 101
    CompositeImplicitAutograd = 102
    Autograd = 103
    Autocast = 104

    @property
    def is_alias(self) -> bool:
        """Whether the key stands for several others in a registration."""
        return self >= DispatchKey.CompositeExplicitAutograd

    @property
    def bit(self) -> int:
        """The key as a one-element set."""
        return 1 << self


PYTHON_BIT = DispatchKey.Python.bit
VIEW_BIT = DispatchKey.ADInplaceOrView.bit
#: Included while a trace wants to see calls before autograd and composite bodies do (`make_fx(pre_dispatch=True)`).
PRE_DISPATCH_BIT = DispatchKey.PreDispatch.bit
BATCHED_BIT = DispatchKey.FuncTorchBatched.bit
VMAP_MODE_BIT = DispatchKey.FuncTorchVmapMode.bit
BACKENDS = (DispatchKey.Meta, DispatchKey.CPU, DispatchKey.CUDA)
BACKEND_MASK = DispatchKey.Meta.bit | DispatchKey.CPU.bit | DispatchKey.CUDA.bit
DEVICE_KEYS = {"cpu": DispatchKey.CPU, "cuda": DispatchKey.CUDA, "meta": DispatchKey.Meta}
AUTOGRAD_KEYS = {"cpu": DispatchKey.AutogradCPU, "cuda": DispatchKey.AutogradCUDA, "meta": DispatchKey.AutogradMeta}
AUTOCAST_KEYS = {"cpu": DispatchKey.AutocastCPU, "cuda": DispatchKey.AutocastCUDA}

AUTOGRAD_MASK = sum(key.bit for key in (DispatchKey.AutogradOther, *AUTOGRAD_KEYS.values()))
AUTOCAST_MASK = sum(key.bit for key in AUTOCAST_KEYS.values())
#: No key: some tensor of the call requires grad. Grad mode is off while the thread excludes it.
GRAD = 1 << 30
#: No key: inference mode is on.
INFERENCE = 1 << 31
#: No key: excluded, it makes compiled functions run as they were written, op by op.
COMPILED = 1 << 32
#: No key: included, somebody looks at what each call reads and writes (`kernels.watch`).
WATCHED = 1 << 33
#: No keys: included, a backward's anomalies are looked for (`autograd.anomaly`); NaN is one of them.
ANOMALY, CHECK_NAN = 1 << 34, 1 << 35
#: No key: included, tensors may have tangents (`autograd.forward`).
DUAL = 1 << 36
#: No keys: a tensor's subclass says what calls on it are; included, a mode says it for all (`registry.overriding`).
OVERRIDDEN, FUNCTION_MODE = 1 << 37, 1 << 38
#: What an autograd kernel excludes for the calls below it.
ABOVE_VIEWS = AUTOGRAD_MASK | GRAD | VIEW_BIT
#: The keys that every tensor of a device has.
TENSOR_BITS = {kind: DEVICE_KEYS[kind].bit | AUTOGRAD_KEYS[kind].bit | VIEW_BIT for kind in DEVICE_KEYS}

#: Backend of an Autograd or Autocast key.
BACKEND_OF = {
    **{AUTOGRAD_KEYS[kind]: DEVICE_KEYS[kind] for kind in AUTOGRAD_KEYS},
    **{AUTOCAST_KEYS[kind]: DEVICE_KEYS[kind] for kind in AUTOCAST_KEYS},
}

#: The keys that an alias stands for.
ALIASES: dict[DispatchKey, tuple[DispatchKey, ...]] = {
    DispatchKey.CompositeExplicitAutograd: (DispatchKey.Undefined, *BACKENDS),
    DispatchKey.CompositeExplicitAutogradNonFunctional: (DispatchKey.Undefined, *BACKENDS),
    DispatchKey.CompositeImplicitAutograd: (
        DispatchKey.Undefined, *BACKENDS, DispatchKey.AutogradOther, *AUTOGRAD_KEYS.values(),
        DispatchKey.FuncTorchBatched, DispatchKey.Python,
    ),
    DispatchKey.Autograd: (DispatchKey.AutogradOther, *AUTOGRAD_KEYS.values()),
    DispatchKey.Autocast: tuple(AUTOCAST_KEYS.values()),
}  # fmt: skip


class DispatchKeySet:
    """An immutable set of keys over an int, for users who inspect dispatch; calls use the ints.

    Parameters
    ----------
    keys : int, DispatchKey or sequence of DispatchKey
        Bits, or the members.

    Examples
    --------
    >>> keys = opweave.DispatchKeySet(opweave.DispatchKey.CPU)
    >>> keys.has(opweave.DispatchKey.Meta)
    False
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

    def add(self, key: DispatchKey) -> DispatchKeySet:
        """The set with a key added."""
        return DispatchKeySet(self.bits | key.bit)

    def remove(self, key: DispatchKey) -> DispatchKeySet:
        """The set without a key."""
        return DispatchKeySet(self.bits & ~key.bit)

    def highest(self) -> DispatchKey:
        """The member with the highest priority, `Undefined` if there is none."""
        return next(iter(self), DispatchKey.Undefined)

    def below(self, key: DispatchKey) -> DispatchKeySet:
        """The members with a lower priority, for calling on from the kernel of `key`."""
        return DispatchKeySet(self.bits & (key.bit - 1))

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.bits | other.bits)

    def __and__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.bits & other.bits)

    def __sub__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(self.bits & ~other.bits)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, DispatchKeySet) and self.bits == other.bits

    def __hash__(self) -> int:
        return hash(self.bits)

    def __repr__(self) -> str:
        return f"DispatchKeySet({', '.join(key.name for key in self)})"


#: What `keyset & after_autograd_keyset` leaves for a redispatch from an Autograd kernel.
after_autograd_keyset = DispatchKeySet(DispatchKey.ADInplaceOrView.bit * 2 - 1)
after_ADInplaceOrView_keyset = DispatchKeySet(DispatchKey.ADInplaceOrView.bit - 1)


class DispatchState(threading.local):
    """What dispatch depends on besides the arguments; one for each thread.

    Attributes
    ----------
    modes : list of DispatchMode
        Active modes, innermost last.
    include, exclude : int
        Key sets added to and taken from every call's.
    used : dict or None
        Collects, for a trace, users' ops (with their versions) that did something before a mode saw them, or in its
        place: what is traced depends on them, though no call of them may stand in it.
    checkpoint : int or None
        Number of the `checkpoint` region that is being traced.
    """

    def __init__(self) -> None:
        self.modes: list[DispatchMode] = []
        self.include = 0
        self.exclude = 0
        self.used: dict[Any, int] | None = None
        self.checkpoint: int | None = None

    def snapshot(self) -> tuple[dict[str, Any], list[DispatchMode]]:
        """This thread's state, for `restore`."""
        return dict(self.__dict__), list(self.modes)

    def restore(self, snapshot: tuple[dict[str, Any], list[DispatchMode]]) -> None:
        """Go back to what this thread's state was."""
        values, modes = snapshot
        self.__dict__.clear()
        self.__dict__.update(values)
        self.modes[:] = modes


state = DispatchState()


def need_memory(what: str) -> None:
    """Tell active modes that memory is about to be read or changed without an op."""
    for mode in state.modes:
        mode.memory_needed(what)


#: Called where a mode becomes active: what modes are to see may have been loaded by now.
before_modes: list[Callable[[], None]] = []


class DispatchMode:
    """Sees every op called inside its `with` block.

    Subclasses implement `__torch_dispatch__`. While it runs, the mode itself is inactive, so calling `func` goes on to
    the next mode or to the kernel. Composite-implicit ops are decomposed before any mode sees them.

    Examples
    --------
    >>> class Names(opweave.DispatchMode):
    ...     def __torch_dispatch__(self, func, types, args=(), kwargs=None):
    ...         print(func)
    ...         return func(*args, **(kwargs or {}))
    >>> with Names():
    ...     x = opweave.ones(2) + 1
    aten.full.default
    aten.add.Tensor
    """

    #: A method `(op, args, kwargs)` that takes the calls of ops in place of `__torch_dispatch__`, where a mode cannot
    #: spend the time on it: with all arguments, defaults too, and with the mode still active.
    record: Any = None

    def __torch_dispatch__(
        self, func: Any, types: tuple[type, ...], args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Handle one call; `types` are the tensor subclasses among the arguments."""
        raise NotImplementedError(f"{type(self).__name__} must define __torch_dispatch__")

    def data_accessed(self, tensor: Any, what: str) -> None:
        """Called when Python looks at a tensor's data inside the block (`item`, `numpy`, `tolist`, ...)."""

    def gradient_accessed(self, tensor: Any, how: str) -> None:
        """Called when a tensor's gradient is `"read"`, `"added"` to, `"assigned"` or `"retained"` inside the block."""

    def memory_needed(self, what: str) -> None:
        """Called before memory is read or changed without an op inside the block (`repr`, `data_ptr`, `data =`)."""

    def data_assigned(self, tensor: Any) -> None:
        """Called before a tensor is given the memory of another one inside the block (`x.data = y`)."""
        self.memory_needed("data")

    def generator_accessed(self, what: str) -> None:
        """Called before the state of the generators is read or set inside the block (`manual_seed`, ...)."""

    def __enter__(self) -> Self:
        for prepare in tuple(before_modes):
            prepare()
        # Without a call: a handler may run after one, before the block has an end.
        state.modes += [self]
        state.include |= PYTHON_BIT
        return self

    @surely
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            _entered = True
        finally:
            assert state.modes[-1] is self, "dispatch modes must be left in the reverse order of entry"
            del state.modes[-1]
            if not state.modes:
                state.include &= ~PYTHON_BIT


F = TypeVar("F", bound=Callable[..., Any])


class set_mode:
    """Turn a bit of the thread's exclude (or include) mask on or off; a context manager and a decorator.

    The base of `no_grad`, `enable_grad`, `inference_mode` and the like. A generator function is decorated so that the
    change holds while its body runs, not while its caller does.
    """

    def change(self) -> None:
        """Make the change in `state`."""
        raise NotImplementedError

    def __enter__(self) -> Any:
        stack = self.__dict__.setdefault("_saved", [])
        stack += [(state.include, state.exclude)]
        self.change()  # no call follows it: a handler may run after one, before the block has an end
        return None

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            stack = self.__dict__["_saved"]
            state.include, state.exclude = stack[-1]
            del stack[-1]

    @overload
    def __call__(self, fn: F) -> F: ...
    @overload
    def __call__(  # pyright: ignore[reportOverlappingOverload]  # for checkers that take what it decorates for it
        self, *args: Any, **kwargs: Any
    ) -> Any: ...
    def __call__(self, fn: Any) -> Any:
        if inspect.isgeneratorfunction(fn):

            @functools.wraps(fn)
            def generating(*args: Any, **kwargs: Any) -> Any:
                generator = fn(*args, **kwargs)
                step = functools.partial(generator.send, None)
                while True:
                    with self.clone():
                        try:
                            item = step()
                        except StopIteration as stop:
                            return stop.value
                    try:
                        step = functools.partial(generator.send, (yield item))
                    except GeneratorExit:
                        with self.clone():
                            generator.close()
                        raise
                    except BaseException as error:
                        step = functools.partial(generator.throw, error)

            return generating

        @functools.wraps(fn)
        def wrapped(*args: Any, **kwargs: Any) -> Any:
            with self.clone():
                return fn(*args, **kwargs)

        return wrapped

    def clone(self) -> set_mode:
        """The same change, to be entered anew (by another thread, or again)."""
        fresh = object.__new__(type(self))
        fresh.__dict__.update({name: value for name, value in self.__dict__.items() if name != "_saved"})
        return fresh


class exclude_keys(set_mode):
    """Take keys out of every call's set inside the block."""

    def __init__(self, *keys: DispatchKey | DispatchKeySet):
        self.bits = _bits(keys)

    def change(self) -> None:
        state.exclude |= self.bits


class include_keys(set_mode):
    """Add keys to every call's set inside the block."""

    def __init__(self, *keys: DispatchKey | DispatchKeySet):
        self.bits = _bits(keys)

    def change(self) -> None:
        state.include |= self.bits


def _bits(keys: Sequence[DispatchKey | DispatchKeySet]) -> int:
    result = 0
    for key in keys:
        result |= key.bits if isinstance(key, DispatchKeySet) else key.bit
    return result


class no_modes:
    """Make all modes of this thread inactive inside the block (used to compute a constant while tracing)."""

    def __enter__(self) -> None:
        self.saved = state.modes, state.include
        state.modes, state.include = [], state.include & ~PYTHON_BIT

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            state.modes, state.include = self.saved

"""Launches that are like an earlier one, without what Triton does to find the compiled kernel.

`kernel[grid](...)` is `JITFunction.run`. At every launch it binds the arguments, describes each (type, alignment,
whether it is 1), makes a string of that and looks the kernel up. `install` puts a step in front of it, which looks for
the kernel by a key of its own: what the arguments are like, in the order in which they were given. The key tells more
arguments apart than Triton's, never fewer, so what it finds is what Triton would find. A launch that is in any way
special (hooks, a sanitizer, a chosen device, a tensor that is neither opweave's nor a `HostArray`) goes to Triton.

Only launches whose tensors are all in main memory are remembered.
"""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable
from typing import Any

from opweave.codegen.native.arguments import HostArray
from opweave.codegen.triton_cpu.host import HOST_DEVICE, HostLauncher
from opweave.codegen.triton_cpu.sanitizer import enabled as sanitizing
from opweave.registry.keys import state
from opweave.registry.plain_launches import saved_writes, watch_launches
from opweave.registry.tensor import Tensor

_NAME = "_opweave_launches"
_LIMIT = 1024
_MISSING = object()
Key = tuple[Any, ...]


class Known:
    """The launches of one JIT function that were made before.

    Parameters
    ----------
    jit : triton.runtime.JITFunction
        The kernel as its author wrote it.
    """

    def __init__(self, jit: Any) -> None:
        self.names: tuple[str, ...] = tuple(jit.arg_names)
        self.constant = tuple(bool(p.is_constexpr) for p in jit.params)
        self.runtime = frozenset(p.name for p in jit.params if not p.is_constexpr)
        self.defaults = {p.name: p.default for p in jit.params if p.has_default}
        self.hash: Any = None
        # The binder is made with the caches of compiled kernels, and unlike them can be referred to weakly.
        self.binder: Callable[[], Any] = lambda: None
        self.launches: dict[Key, Launch] = {}

    def key(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Key | None:
        """What the arguments are like; None if Triton has to look at them.

        No two lists of elements can be the same for unlike arguments: which positions hold constants is known, and
        elsewhere the first element tells which kind of argument follows.
        """
        if len(args) > len(self.names):
            return None
        found: list[Any] = []
        for value, constant in zip(args, self.constant, strict=False):
            if not (_note_constant if constant else _note)(found, value):
                return None
        for name, value in kwargs.items():
            found.append(name)
            if not (_note if name in self.runtime else _note_constant)(found, value):
                return None
        return tuple(found)

    def bound(self, args: tuple[Any, ...], kwargs: dict[str, Any]) -> dict[str, Any]:
        """The arguments by name, as a grid function gets them."""
        return {**self.defaults, **dict(zip(self.names, args, strict=False)), **kwargs}


class Launch:
    """A compiled kernel, and which of the arguments it is given.

    Parameters
    ----------
    known : Known
        Of the kernel.
    kernel : CompiledKernel
        What Triton compiled.
    args, kwargs
        The arguments of the launch that was made.
    written : list of Tensor
        Those of them whose versions it counts up.
    """

    def __init__(
        self, known: Known, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any], written: list[Tensor]
    ) -> None:
        self.kernel = weakref.ref(kernel)  # Triton's cache decides how long it lives
        places = {name: i for i, name in enumerate((*known.names[: len(args)], *kwargs))}
        names: list[str] = [known.names[i] for i in kernel.run.passed]
        self.defaults = tuple(known.defaults[name] for name in names if name not in places)
        missing = (n for n in names if n not in places)
        places |= {name: len(args) + len(kwargs) + i for i, name in enumerate(missing)}
        self.order = tuple(places[name] for name in names)
        #: Which of the arguments are written, though a backward pass has kept them.
        self.written = tuple(i for i, value in enumerate((*args, *kwargs.values())) if any(value is t for t in written))


def _note(found: list[Any], value: Any) -> bool:
    """Add what an argument at run time is like."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]  # a cast would cost as much as the question
    if kind is Tensor:
        if value._device.type != "cpu":
            return False
        found.append(value._dtype)
        found.append(not value.data_ptr() & 15)
        if value._storage.saved:
            found.append("saved")
    elif kind is int:
        # Whether it is 1, whether 16 divides it, and the type it needs.
        if -(2**31) <= value < 2**31:
            found.append("1" if value == 1 else "i" if value & 15 else "i16")
        elif -(2**63) <= value < 2**63:
            found.append("l" if value & 15 else "l16")
        else:
            found.append("u" if value & 15 else "u16")
    elif kind is HostArray:
        found.append(value.dtype)
        found.append(not value._pointer & 15)
    elif kind is float or kind is bool:
        found.append(kind)
    elif value is None:
        found.append(None)
    else:
        return False
    return True


def _note_constant(found: list[Any], value: Any) -> bool:
    """Add the value of a `tl.constexpr` or of an option."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]  # a cast would cost as much as the question
    found.append(kind)
    if kind is int or kind is str or kind is bool or value is None:
        found.append(value)
    elif kind is float:
        found.append(value.hex())  # equality would not tell the zeros apart
    elif kind in _named:
        found.append(value.name)
    else:
        return False
    return True


#: Classes of constants that are what their names are: Triton's types of elements, as soon as it is there.
_named: set[type] = set()


def install(chosen: Callable[[], Any]) -> None:
    """Have `JITFunction.run` look among the known launches first.

    Parameters
    ----------
    chosen : callable
        Tells which driver is to be used whatever the arguments are, if any.
    """
    from triton import knobs
    from triton.language.core import dtype
    from triton.runtime.jit import JITFunction

    watch_launches()  # its step comes after this one, which looks whether there is a mode
    jit: Any = JITFunction
    original: Callable[..., Any] = jit.run
    if getattr(original, "knows_launches", False):
        return
    _named.add(dtype)
    runtime, compilation = knobs.runtime, knobs.compilation

    @functools.wraps(original)
    def run(self: Any, *args: Any, grid: Any, warmup: bool, **kwargs: Any) -> Any:
        if warmup or state.modes or self.pre_run_hooks or sanitizing() or chosen() or not _no_hooks(runtime):
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        known: Known | None = self.__dict__.get(_NAME)
        if known is None:
            known = self.__dict__[_NAME] = Known(self)
        key = known.key(args, kwargs)
        if key is None:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        key = (
            self.debug, runtime.debug, compilation.instrumentation_mode,
            getattr(compilation, "fpsan_homomorphic_casts", None), *key,
        )  # fmt: skip
        launch = known.launches.get(key)
        if launch is None or (kernel := launch.kernel()) is None or not _still_holds(self, known):
            kernel = original(self, *args, grid=grid, warmup=warmup, **kwargs)
            _remember(self, known, key, kernel, args, kwargs)
            return kernel
        if callable(grid):
            grid = grid(known.bound(args, kwargs))
        sizes = len(grid)
        if sizes > 3:
            return original(self, *args, grid=grid, warmup=warmup, **kwargs)
        given = (*args, *kwargs.values(), *launch.defaults)
        for i in launch.written:
            given[i]._bump()
        kernel.run.start(
            grid[0], grid[1] if sizes > 1 else 1, grid[2] if sizes > 2 else 1, kernel.function,
            [given[i] for i in launch.order],
        )  # fmt: skip
        return kernel

    run.knows_launches = True  # type: ignore[attr-defined]
    JITFunction.run = run


def _no_hooks(runtime: Any) -> bool:
    """Whether nobody wants to hear of launches or to change compilations."""
    for hook in (runtime.launch_enter_hook, runtime.launch_exit_hook):
        if hook is not None and getattr(hook, "calls", True):
            return False
    return getattr(runtime, "add_stages_inspection_hook", None) is None


def _still_holds(jit: Any, known: Known) -> bool:
    """Whether Triton still has the kernels that were compiled, and the globals that they read are as they were."""
    caches = jit.device_caches.get(HOST_DEVICE)
    if known.hash != jit.hash or caches is None or caches[-1] is not known.binder():
        return False
    for (name, _), (value, namespace) in jit.used_global_vals.items():
        if namespace.get(name, _MISSING) != value:
            return False
    return True


def _remember(jit: Any, known: Known, key: Key, kernel: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> None:
    caches = jit.device_caches.get(HOST_DEVICE)
    start = getattr(kernel, "run", None)
    if caches is None or type(start) is not HostLauncher or start.passed is None:
        return
    if known.binder() is not caches[-1] or known.hash != jit.hash or len(known.launches) >= _LIMIT:
        known.launches = {}
        known.binder, known.hash = weakref.ref(caches[-1]), jit.hash
    known.launches[key] = Launch(known, kernel, args, kwargs, saved_writes(jit, args, kwargs))

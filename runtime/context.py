"""What a compiled version depends on besides its arguments: the thread's dispatch state and default dtype.

A version compiled where calls are recorded is not the one to use under `no_grad`, in inference mode, inside autocast or
with another default dtype. `Context.now()` is taken when a version is compiled; its `test` is part of the function that
a call runs (`runtime.entry`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from opweave.codegen.native.sanitizing import EVERYWHERE, enabled as sanitizing
from opweave.registry import dtypes
from opweave.registry.dataclass import dataclass
from opweave.registry.dtypes import DType
from opweave.registry.interrupts import contextmanager
from opweave.registry.keys import ABOVE_VIEWS, AUTOCAST_MASK, FUNCTION_MODE, GRAD, INFERENCE, OVERRIDDEN, state
from opweave.registry.loading import load_heavy

if EVERYWHERE:
    load_heavy("opweave.codegen.triton_cpu.sanitizer")

#: What the state may include and exclude where compiled code is used; anything else runs the function uncompiled.
_INCLUDED = INFERENCE | AUTOCAST_MASK
_EXCLUDED = ABOVE_VIEWS | AUTOCAST_MASK | OVERRIDDEN | FUNCTION_MODE
#: What `test` is written in.
NAMES: dict[str, Any] = {
    "_ow_state": state, "_ow_default": dtypes._default, "_ow_float32": dtypes.float32,
    "_ow_dtype_set": dtypes._assigned,
}  # fmt: skip


@dataclass(frozen=True)
class Context:
    """The state of a moment.

    Attributes
    ----------
    include, exclude : int
        Of the dispatch state.
    dtype : DType
        The default.
    autocast : dict of str to DType or None
        What it casts to by device type, where that was set; a function may switch it on by itself.
    """

    include: int
    exclude: int
    dtype: DType
    autocast: dict[str, DType] | None = None

    @staticmethod
    def now() -> Context:
        """This thread's."""
        casts = state.__dict__.get("autocast_dtypes")
        return Context(state.include, state.exclude, dtypes.get_default_dtype(), casts)

    @property
    def is_plain(self) -> bool:
        """Whether nothing is switched on or off."""
        return not self.include and not self.exclude

    @property
    def test(self) -> str:
        """Expression that is true where the state is the same; `_ow_s` is the state's dict."""
        tests = [f'_ow_s["include"] == {self.include}', f'_ow_s["exclude"] == {self.exclude}']
        same = f'_ow_default.__dict__.get("dtype", _ow_float32) is _ow_dtype_{self.dtype.name}'
        tests.append(f"(not _ow_dtype_set or {same})" if self.dtype is dtypes.float32 else same)
        if self.autocast is None:
            tests.append('"autocast_dtypes" not in _ow_s')
        else:
            tests.append('"autocast_dtypes" in _ow_s')
            tests += [f"_ow_s['autocast_dtypes'][{k!r}] is _ow_dtype_{v.name}" for k, v in self.autocast.items()]
        return " and ".join(tests)

    @contextmanager
    def entered(self) -> Iterator[None]:
        """Run in this state, whatever the thread's is."""
        before, dtype = state.snapshot(), dtypes.get_default_dtype()
        try:
            state.modes.clear()
            state.include, state.exclude = self.include, self.exclude
            state.__dict__.pop("autocast_dtypes", None)
            if self.autocast is not None:
                state.autocast_dtypes = self.autocast
            if dtype is not self.dtype:
                dtypes.set_default_dtype(self.dtype)
            yield
        finally:
            state.restore(before)
            if dtype is not self.dtype:
                dtypes.set_default_dtype(dtype)

    def constants(self) -> dict[str, Any]:
        """Names that `test` uses besides `NAMES`."""
        return {f"_ow_dtype_{dtype.name}": dtype for dtype in (self.dtype, *(self.autocast or {}).values())}

    def difference(self) -> str | None:
        """How the present state differs; None if it does not."""
        now = Context.now()
        if now == self:
            return None
        if (now.include ^ self.include) & INFERENCE:
            return f"inference mode {bool(self.include & INFERENCE)} → {bool(now.include & INFERENCE)}"
        if (now.exclude ^ self.exclude) & GRAD:
            return f"grad mode {not self.exclude & GRAD} → {not now.exclude & GRAD}"
        if now.dtype is not self.dtype:
            return f"default dtype {self.dtype.name} → {now.dtype.name}"
        if (now.include ^ self.include) & AUTOCAST_MASK or now.autocast != self.autocast:
            on, was = bool(now.include & AUTOCAST_MASK), bool(self.include & AUTOCAST_MASK)
            return f"autocast {was} → {on}" if on is not was else "autocast casts to other dtypes"
        return "dispatch state changed"


def compilable() -> bool:
    """Whether the thread is in a state in which compiled code does what the function does."""
    return not (state.modes or state.include & ~_INCLUDED or state.exclude & ~_EXCLUDED or sanitizing())


def call_below_autograd(function: Callable[..., Any], *args: Any) -> Any:
    """Call a function as within `below_autograd`, in less time; no signal's handler can keep it from being left."""
    include, exclude = state.include, state.exclude
    state.include, state.exclude = include & ~_INCLUDED, exclude | ABOVE_VIEWS
    try:
        return function(*args)
    finally:
        state.include, state.exclude = include, exclude


@contextmanager
def below_autograd() -> Iterator[None]:
    """Run ops by their kernels alone: nothing is recorded, cast or marked.

    That holds for compiled code, which stands for what these keys have done already, and for passes.
    """
    include, exclude = state.include, state.exclude
    state.include, state.exclude = include & ~_INCLUDED, exclude | ABOVE_VIEWS
    try:
        yield
    finally:
        state.include, state.exclude = include, exclude

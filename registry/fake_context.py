"""What a fake rule can ask for while it runs."""

from __future__ import annotations

from typing import Any

from opweave.registry.errors import ArgumentError, DataDependentError, FakeTensorError, UnsupportedError
from opweave.registry.keys import state
from opweave.registry.tensor import Tensor, describe


class FakeImplCtx:
    """The context of the fake rule that is running, from `get_ctx()`.

    Parameters
    ----------
    op : str
        Name of the op whose rule runs.
    shape_env : ShapeEnv or None
        Where symbolic sizes live.
    """

    def __init__(self, op: str, shape_env: Any = None):
        self.op = op
        self.shape_env = shape_env

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that depends on data.

        Parameters
        ----------
        min, max : int
            Its range. What code may assume of it: sizes 0 and 1 are special, so a smallest size of 2 allows more.

        Returns
        -------
        SymInt

        Raises
        ------
        ArgumentError
            If the range is empty, or its ends are no plain ints.
        UnsupportedError
            While sizes are static: they have no value to give.
        """
        if type(min) is not int or not (max is None or type(max) is int) or min < 0:
            raise ArgumentError(
                f"{self.op}: the range of a dynamic size must be plain ints from 0 up", got=f"min={min!r}, max={max!r}"
            )
        if self.shape_env is not None:
            return self.shape_env.new_unbacked(min, max)
        error = UnsupportedError(
            f"{self.op}: sizes that depend on data need symbolic tracing",
            got=f"new_dynamic_size(min={min}, max={max})",
            hint="make_fx(f, tracing_mode='symbolic'), or FakeTensorMode(shape_env=ShapeEnv())",
        )  # fmt: skip
        error.needs_symbols = True
        raise error

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> Any:
        """The earlier name of `new_dynamic_size`."""
        return self.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeImplCtx:
    """The context of the fake rule that is running.

    Raises
    ------
    FakeTensorError
        Outside of one.
    """
    stack = state.__dict__.get("fake_contexts")
    if not stack:
        raise FakeTensorError(
            "get_ctx: no fake rule is running", hint="call it inside a function given to register_fake"
        )
    return stack[-1]


def dynamic_size(op: str, source: Tensor, low: int, high: int | None) -> Any:
    """The size of a result that depends on data, for the rule of a built-in op.

    Raises
    ------
    DataDependentError
        Where sizes are static.
    """
    stack = state.__dict__.get("fake_contexts")
    env = stack[-1].shape_env if stack else None
    if env is None:
        error = DataDependentError(
            f"{op}: the size of the result depends on data", got=describe(source),
            hint="use opweave.where(mask, x, other), which keeps the size; or trace with symbolic sizes",
        )  # fmt: skip
        error.needs_symbols = True
        raise error
    return env.new_unbacked(low, high if type(high) is int else None)


class running_rule:
    """Marks that the fake rule of an op runs inside the block."""

    def __init__(self, op: str, shape_env: Any = None):
        self.context = FakeImplCtx(op, shape_env)

    def __enter__(self) -> None:
        state.__dict__.setdefault("fake_contexts", []).append(self.context)

    def __exit__(self, *_: object) -> None:
        state.__dict__["fake_contexts"].pop()

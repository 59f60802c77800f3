"""What a fake rule can ask for while it runs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from opweave.registry.errors import ArgumentError, DataDependentError, FakeTensorError, UnsupportedError
from opweave.registry.interrupts import surely
from opweave.registry.keys import state
from opweave.registry.tensor import Tensor, describe

#: In the dict of a tensor that was made of numbers in traced code: it has these numbers each time the code runs.
LITERAL = "literal"


class FakeImplCtx:
    """The context of the fake rule that is running, from `get_ctx()`.

    Parameters
    ----------
    op : str
        Name of the op whose rule runs.
    symbols : callable, optional
        Gives the `ShapeEnv` where symbolic sizes live.
    """

    def __init__(self, op: str, symbols: Callable[[], Any] | None = None):
        self.op = op
        self._symbols = symbols

    @property
    def shape_env(self) -> Any:
        """Where symbolic sizes live; None where no trace can hold any."""
        return None if self._symbols is None else self._symbols()

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
            On the meta device, which has no symbolic numbers.
        """
        if type(min) is not int or not (max is None or type(max) is int) or min < 0:
            raise ArgumentError(
                f"{self.op}: the range of a dynamic size must be plain ints from 0 up", got=f"min={min!r}, max={max!r}"
            )
        env = self.shape_env
        if env is None:
            raise UnsupportedError(
                f"{self.op}: tensors on the meta device have no sizes that depend on data",
                got=f"new_dynamic_size(min={min}, max={max})", hint="use fake tensors: opweave.FakeTensorMode()",
            )  # fmt: skip
        return env.new_unbacked(min, max)

    def create_unbacked_symint(self, *, min: int = 2, max: int | None = None) -> Any:
        """The earlier name of `new_dynamic_size`."""
        return self.new_dynamic_size(min=min, max=max)


def get_ctx() -> FakeImplCtx:
    """The context of the fake rule that is running.

    Raises
    ------
    FakeTensorError
        Outside of one.

    Examples
    --------
    >>> custom_op, schema = opweave.library.custom_op, "(Tensor x) -> Tensor"
    >>> find = custom_op("docs::find", lambda x: x.nonzero(), mutates_args=(), schema=schema)
    >>> def fake(x):
    ...     return x.new_empty(opweave.library.get_ctx().new_dynamic_size(), x.dim(), dtype=opweave.int64)
    >>> _ = find.register_fake(fake)
    >>> traced = opweave.make_fx(lambda x: find(x), tracing_mode="symbolic")(opweave.ones(3))
    >>> len(traced.graph) > 2
    True
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
        On the meta device.
    """
    mode = getattr(source, "fake_mode", None)
    if mode is None:
        raise DataDependentError(
            f"{op}: the size of the result depends on data", got=describe(source),
            hint="use opweave.where(mask, x, other), which keeps the size; or a fake tensor in place of a meta one",
        )  # fmt: skip
    return mode.symbols().new_unbacked(low, high if type(high) is int else None)


def dynamic_number(op: str, source: Tensor, kind: str) -> Any:
    """A float or bool that depends on data, for the rule of a built-in op.

    Raises
    ------
    DataDependentError
        On the meta device.
    """
    mode = getattr(source, "fake_mode", None)
    if mode is None:
        raise DataDependentError(f"{op}: a tensor on the meta device has no values", got=describe(source))
    env = mode.symbols()
    return env.new_unbacked_float() if kind == "float" else env.new_unbacked(0, 1) == 1


class running_rule:
    """Marks that the fake rule of an op runs inside the block."""

    def __init__(self, op: str, symbols: Callable[[], Any] | None = None):
        self.context = FakeImplCtx(op, symbols)

    def __enter__(self) -> None:
        contexts = state.__dict__.setdefault("fake_contexts", [])
        contexts += [self.context]

    @surely
    def __exit__(self, *_: object) -> None:
        try:
            _entered = True
        finally:
            del state.__dict__["fake_contexts"][-1]

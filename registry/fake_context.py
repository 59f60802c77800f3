"""What a fake rule can ask for while it runs."""

from __future__ import annotations

from typing import Any

from opweave.registry.errors import FakeTensorError, UnsupportedError
from opweave.registry.keys import state


class FakeImplCtx:
    """The context of the fake rule that is running, from `get_ctx()`.

    Parameters
    ----------
    op : str
        Name of the op whose rule runs.
    """

    def __init__(self, op: str):
        self.op = op

    def new_dynamic_size(self, *, min: int = 0, max: int | None = None) -> Any:
        """A size that depends on data.

        Raises
        ------
        UnsupportedError
            While sizes are static: they have no value to give.
        """
        raise UnsupportedError(
            f"{self.op}: sizes that depend on data need symbolic tracing",
            got=f"new_dynamic_size(min={min}, max={max})", hint="call the op outside compiled code",
        )  # fmt: skip

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


class running_rule:
    """Marks that the fake rule of an op runs inside the block."""

    def __init__(self, op: str):
        self.context = FakeImplCtx(op)

    def __enter__(self) -> None:
        state.__dict__.setdefault("fake_contexts", []).append(self.context)

    def __exit__(self, *_: object) -> None:
        state.__dict__["fake_contexts"].pop()

"""What the native backend says of an operation that it cannot compile."""

from __future__ import annotations

from opweave.registry.errors import UnsupportedError
from opweave.registry.triton.ttir import Op


class UnsupportedTritonOp(UnsupportedError):
    """A TTIR operation that the native backend cannot compile.

    Attributes
    ----------
    op : str
        Name of the operation, as in `tt.dot_scaled`.
    line : str
        The TTIR line it stands on.
    loc : str or None
        `file:line` in the user's source, where the module was printed with locations.
    """

    def __init__(self, op: str, reason: str, *, line: str = "", loc: str | None = None) -> None:
        self.op, self.line, self.loc = op, line, loc
        hint = "run this kernel on CUDA, or express it with supported operations"
        super().__init__(f"{op}: {reason}", got=line or None, at=loc, hint=hint)

    def __reduce__(self) -> tuple[object, ...]:
        return (_unsupported, (self.op, self.what.partition(": ")[2], self.line, str(self.at)))


def _unsupported(op: str, reason: str, line: str, loc: str) -> UnsupportedTritonOp:
    return UnsupportedTritonOp(op, reason, line=line, loc=loc)


def unsupported(op: Op, reason: str = "not supported by the native CPU backend") -> UnsupportedTritonOp:
    """The error to raise at an operation."""
    return UnsupportedTritonOp(op.name, reason, line=op.line, loc=op.loc)

"""Programs of strangers: what `load(..., untrusted=True)` lets a program do when it runs.

Its kernels run sanitized, and reach the elements of their tensors and nothing else. It calls opweave's own ops, and of
those registered besides only what the caller named: a file chooses an op's arguments, and nobody knows what they would
have it do. Steps and memory have limits. Whatever goes wrong is a typed error.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextvars import ContextVar
from typing import Any

from opweave.fake.mode import FakeTensorMode
from opweave.registry.dataclass import dataclass
from opweave.registry.errors import ArgumentError, ExportError, OpweaveError, UnsupportedError
from opweave.registry.interrupts import contextmanager, let_through
from opweave.registry.keys import state
from opweave.registry.op import OpOverload
from opweave.registry.python_dispatch import tensors_in
from opweave.registry.tensor import Tensor
from opweave.tracer.export import kernels
from opweave.tracer.export.linking import registered
from opweave.tracer.graph import Node
from opweave.tracer.operands import map_operands

STEPS = 10**9
NBYTES = 4 << 30
#: How many steps of a kernel a node of the graph counts as.
_NODE = 1000
_LARGEST = 2**63 - 1


@dataclass(frozen=True)
class Limits:
    """What a stranger's program may do.

    Attributes
    ----------
    allow : frozenset of str
        Qualified names of ops that are not opweave's own and that it may call.
    steps : int
        Most steps of a kernel's launch (programs, turns of loops, accesses); a node of the graph counts as a thousand
        in a call of the program.
    nbytes : int
        Most bytes of the results of one op.
    """

    allow: frozenset[str] = frozenset()
    steps: int = STEPS
    nbytes: int = NBYTES

    @classmethod
    def made(cls, allow: Sequence[str], steps: int, nbytes: int) -> Limits:
        """Limits from what a caller said.

        Raises
        ------
        ArgumentError
            For anything but names of ops and positive numbers.
        """
        names: Sequence[Any] = allow
        if isinstance(allow, str) or not all(isinstance(name, str) and "::" in name for name in names):
            raise ArgumentError("load: allow takes qualified names of ops", got=repr(allow), hint='allow=["mine::op"]')
        for what, number in (("steps", steps), ("nbytes", nbytes)):
            if type(number) is not int or not 0 < number <= _LARGEST:
                raise ArgumentError(f"load: {what} must be a positive int", got=repr(number))
        return cls(frozenset(allow), steps, nbytes)

    def find(self, op: OpOverload) -> OpOverload | None:
        """The registered op of that name, where the program may call it."""
        found = registered(op)
        mine = found is not None and (found.decl is not None or found.name in self.allow)
        return found if mine else None


class Budget:
    """What is left in one call of a program."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self.left = limits.steps

    def spend(self, node: Node) -> None:
        """Count a node."""
        self.left -= _NODE
        if self.left < 0:
            raise ExportError(
                f"a stranger's program ran for more than {self.limits.steps // _NODE} nodes",
                got=f"at {node.name}",
                hint="load(..., steps=...) allows more",
            )

    def check_call(self, node: Node, target: Any, args: Any, kwargs: Any) -> None:
        """Refuse an op whose results would take too much memory: they are computed without data first."""
        if not isinstance(target, OpOverload):
            return
        mode = FakeTensorMode()

        def fake(value: Any) -> Any:
            return mode.from_tensor(value) if isinstance(value, Tensor) else value

        try:
            with mode:
                found = target(*map_operands(args, fake), **map_operands(kwargs, fake))
        except Exception as error:  # it depends on data, or is refused: the call itself says so
            let_through(error)
            return
        nbytes = sum({id(t._storage): t._storage.nbytes for t in tensors_in([found]) if _is_fixed(t)}.values())
        if nbytes > self.limits.nbytes:
            raise ExportError(
                f"{node.name}: a stranger's program asks for too much memory",
                got=f"{nbytes} bytes by {target}",
                hint=f"load(..., nbytes=...) allows more than {self.limits.nbytes}",
            )

    @staticmethod
    def check_number(node: Node, value: Any) -> None:
        """Refuse integers that no size has: products of products take all memory."""
        if type(value) is int and not -_LARGEST <= value <= _LARGEST:
            raise ExportError(f"{node.name}: a stranger's program computes a number beyond 64 bits")


def _is_fixed(tensor: Tensor) -> bool:
    return type(tensor._storage.nbytes) is int


budget: ContextVar[Budget | None] = ContextVar("opweave_stranger", default=None)
"""Of the program that runs, where it is a stranger's."""


@contextmanager
def running(name: str, limits: Limits) -> Iterator[None]:
    """Run a stranger's program within this context.

    Raises
    ------
    UnsupportedError
        Where a mode would record it: what is recorded runs elsewhere, unguarded.
    ExportError
        For whatever goes wrong without a type of its own.
    """
    if state.modes:
        raise UnsupportedError(
            f"{name}: a stranger's program cannot be traced or compiled",
            got=f"under {type(state.modes[-1]).__name__}",
            hint="load it without untrusted=True where you trust the file",
        )
    if kernels.strictly.call is None:
        raise ExportError(f"{name}: nothing here runs kernels of strangers", hint="import opweave.export")
    token = budget.set(Budget(limits))
    try:
        with kernels.strictly.call(limits.steps):
            yield
    except (OpweaveError, KeyboardInterrupt, SystemExit):
        raise
    except Exception as error:
        let_through(error)
        raise ExportError(f"{name}: the program failed", got=f"{type(error).__name__}: {error}") from error
    finally:
        budget.reset(token)

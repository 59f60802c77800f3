"""What the lowering knows of each operation of TTIR: one entry each, in `OPERATIONS`.

Every tensor value is *lazy*: an operation such as `arith.addf` emits nothing where it stands; loops are emitted for
*roots* (stores, reductions, dots, ...), which evaluate the values they need, lane by lane, inside their loop nest. The
decorators register how an operation does its part, and what else is to be known of it.

The names of operations that share a trait stand in sets (`ROOTS`, `VIEWS`, ...), which follow from the entries.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from opweave.codegen.triton_cpu.lanes import Indices, Lanes
from opweave.registry.dataclass import dataclass
from opweave.registry.triton.ttir import Op, Value

# The first argument is the `Context`.
LazyRule = Callable[[Any, Value, Indices], Lanes]
RootRule = Callable[[Any, Op], None]
ElementRule = Callable[[Any, Op, list[Lanes]], Lanes]
AffineRule = Callable[[Any, Op, list[Lanes]], Lanes | None]
ViewRule = Callable[[Op, Indices], Indices]
Check = Callable[[Op], None]


@dataclass(frozen=True, slots=True)
class Operation:
    """An operation of TTIR.

    Attributes
    ----------
    root : callable, optional
        Emits it where it stands, and evaluates tensor operands there. With `lazy`, only prepares it.
    lazy : callable, optional
        Evaluates a result at an index.
    element : callable, optional
        Computes its result from evaluated operands.
    affine : callable, optional
        The same of uniform and affine operands; None where the result is neither.
    view : callable, optional
        Where in its operand an element of its result stands: all that it does.
    cost : int
        Roughly how many instructions a lane takes. 0: next to nothing where it addresses memory, so that it is always
        evaluated again.
    writes : bool
        Whether it writes to memory.
    rearranges : bool
        Whether it is lazy, and its operands stand at other positions than its result, found by its own rule.
    lingers : bool
        Whether it is a root of which an operand is evaluated with the result.
    check : callable, optional
        Refuses one whose operands and results are of the wrong types, in text from a file.
    attributes : re.Pattern, optional
        What may stand between its name and its types there.
    blocks : tuple of str
        What ends the blocks of its regions.
    ends : bool
        Whether it ends a block.
    """

    root: RootRule | None = None
    lazy: LazyRule | None = None
    element: ElementRule | None = None
    affine: AffineRule | None = None
    view: ViewRule | None = None
    cost: int = 1
    writes: bool = False
    rearranges: bool = False
    lingers: bool = False
    check: Check | None = None
    attributes: re.Pattern[str] | None = None
    blocks: tuple[str, ...] = ()
    ends: bool = False

    @property
    def is_root(self) -> bool:
        """Whether it evaluates its tensor operands where it stands; a view may have some of its cases prepared."""
        return self.root is not None and self.view is None

    @property
    def is_lowered(self) -> bool:
        """Whether there is any rule for it."""
        return any((self.root, self.lazy, self.element, self.view))


OPERATIONS: dict[str, Operation] = {}
_UNKNOWN = Operation()

ROOTS: set[str] = set()
"""Operations that evaluate their tensor operands where they stand."""
MADE: set[str] = set()
"""Those of the roots whose results are there from then on: what they are is not evaluated at an index."""
VIEWS: set[str] = set()
"""Operations that only say where in the operand an element stands."""
WRITES: set[str] = set()
INDEX_OPS: set[str] = set()
"""Operations that cost next to nothing where they address memory."""
REARRANGES: set[str] = set()
_TRAITS: tuple[tuple[set[str], Callable[[Operation], bool]], ...] = (
    (ROOTS, lambda entry: entry.is_root),
    (MADE, lambda entry: entry.is_root and entry.lazy is None),
    (VIEWS, lambda entry: entry.view is not None),
    (WRITES, lambda entry: entry.writes),
    (INDEX_OPS, lambda entry: entry.cost == 0),
    (REARRANGES, lambda entry: entry.rearranges),
)


def operation(op: Op) -> Operation:
    """The entry of an operation; one that says nothing where there is none."""
    return OPERATIONS.get(op.name, _UNKNOWN)


def _register(names: tuple[str, ...], cost: int | Mapping[str, int] | None, **facts: Any) -> None:
    for name in names:
        if cost is not None:
            facts["cost"] = cost if isinstance(cost, int) else cost.get(name, 1)
        entry = OPERATIONS[name] = replace(OPERATIONS.get(name, _UNKNOWN), **facts)
        for members, has in _TRAITS:
            (members.add if has(entry) else members.discard)(name)


def root(*names: str, writes: bool = False, lingers: bool = False) -> Callable[[RootRule], RootRule]:
    """Register how operations are emitted where they stand."""
    facts = {key: True for key, holds in (("writes", writes), ("lingers", lingers)) if holds}
    return lambda rule: _register(names, None, root=rule, **facts) or rule


def lazy(*names: str, cost: int | None = None, rearranges: bool = False) -> Callable[[LazyRule], LazyRule]:
    """Register how the results of operations are evaluated at an index."""
    return lambda rule: _register(names, cost, lazy=rule, rearranges=rearranges) or rule


def elementwise(*names: str, cost: int | Mapping[str, int] | None = None) -> Callable[[ElementRule], ElementRule]:
    """Register how operations compute their result from evaluated operands; a mapping has costs other than 1."""
    return lambda rule: _register(names, cost, element=rule) or rule


def affine(*names: str) -> Callable[[AffineRule], AffineRule]:
    """Register how operations act on uniform and affine operands; None where the result is neither."""
    return lambda rule: _register(names, None, affine=rule) or rule


def view(name: str) -> Callable[[ViewRule], ViewRule]:
    """Register where in its operand an element of a view stands."""
    return lambda rule: _register((name,), 0, view=rule) or rule


def rule(
    *names: str, attributes: str | None = None, blocks: tuple[str, ...] = (), ends: bool = False
) -> Callable[[Check], Check]:
    """Register what operations must be like in text from a file."""
    facts: dict[str, Any] = {"blocks": blocks, "ends": ends}
    if attributes is not None:
        facts["attributes"] = re.compile(attributes)
    return lambda check: _register(names, None, check=check, **facts) or check

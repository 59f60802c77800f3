"""A dict that iterates in an order of one's own choosing: the program order of a graph's nodes.

networkx keeps a graph's nodes in a dict and iterates in its order. `OrderedNodes` takes that dict's place. Its values
are the nodes' attribute dicts (`Cell`), which are linked into a list at the same time, so that inserting in the middle
and moving take constant time and every networkx algorithm sees the nodes in program order.

Each cell also has a number that grows along the list, so that "does a come before b" takes constant time. A new cell
gets the middle of its neighbours' numbers; all are numbered anew in the rare case that no number is left between them.
"""

from __future__ import annotations

from collections.abc import Hashable, ItemsView, Iterator, KeysView, ValuesView
from typing import Any

_GAP = 1 << 64


class Cell(dict[str, Any]):
    """Attributes of a node (as networkx knows them), and its place in the order."""

    __slots__ = ("key", "before", "after", "number")

    key: Any
    before: Cell
    after: Cell
    #: None once removed; the links stay, so that a loop standing here finds its way on.
    number: int | None

    def __deepcopy__(self, memo: object) -> dict[str, Any]:
        return dict(self)

    def __reduce__(self) -> tuple[Any, ...]:
        return (dict, (dict(self),))


class OrderedNodes(dict[Any, Cell]):
    """Nodes and their attributes, in program order. Nodes may be added, moved and removed while iterating.

    Attributes
    ----------
    cursor : Cell
        New nodes go before this cell.
    end : Cell
        Stands after the last node (and before the first: the list is a ring).
    version : int
        Counts changes.
    """

    __slots__ = ("cursor", "end", "version")

    def __init__(self) -> None:
        super().__init__()
        end = Cell()
        end.key = None
        end.before = end.after = end
        end.number = 0
        self.end = end
        self.cursor = end
        self.version = 0

    # ---- dict --------------------------------------------------------------------------------------------------------

    def __setitem__(self, key: Hashable, cell: Any) -> None:
        if not isinstance(cell, Cell):
            cell = Cell(cell)
        old = self.get(key)
        super().__setitem__(key, cell)
        cell.key = key
        if old is None:
            self._link(cell, self.cursor)
            return
        cell.before, cell.after, cell.number = old.before, old.after, old.number
        cell.before.after = cell.after.before = cell

    def __delitem__(self, key: Hashable) -> None:
        cell = self[key]
        super().__delitem__(key)
        if self.cursor is cell:
            self.cursor = cell.after
        self._unlink(cell)
        cell.number = None
        self.version += 1

    def clear(self) -> None:
        super().clear()
        self.__init__()

    def __iter__(self) -> Iterator[Any]:
        end = self.end
        cell = end.after
        while cell is not end:
            if cell.number is not None:
                yield cell.key
            cell = cell.after

    def __reversed__(self) -> Iterator[Any]:
        end = self.end
        cell = end.before
        while cell is not end:
            if cell.number is not None:
                yield cell.key
            cell = cell.before

    # dict's own views would iterate in order of insertion.
    def keys(self) -> Any:
        return KeysView(self)

    def items(self) -> Any:
        return ItemsView(self)

    def values(self) -> Any:
        return ValuesView(self)

    # ---- order -------------------------------------------------------------------------------------------------------

    def cell(self, key: Hashable) -> Cell:
        """A node's place."""
        return self[key]

    def move(self, key: Hashable, before: Cell) -> None:
        """Put a node before a cell (`end`: last)."""
        cell = self[key]
        if cell is before:
            return
        if self.cursor is cell:
            self.cursor = cell.after
        self._unlink(cell)
        self._link(cell, before)

    def number(self, key: Hashable) -> int:
        """A number that grows along the order."""
        number = self[key].number
        assert number is not None
        return number

    def _link(self, cell: Cell, after: Cell) -> None:
        before = after.before
        cell.before, cell.after = before, after
        before.after = after.before = cell
        low = before.number
        assert low is not None
        if after is self.end:
            cell.number = low + _GAP
        else:
            high = after.number
            assert high is not None
            cell.number = (low + high) >> 1
            if cell.number == low:
                self._renumber()
        self.version += 1

    def _unlink(self, cell: Cell) -> None:
        cell.before.after = cell.after
        cell.after.before = cell.before

    def _renumber(self) -> None:
        number = 0
        cell = self.end.after
        while cell is not self.end:
            number += _GAP
            cell.number = number
            cell = cell.after

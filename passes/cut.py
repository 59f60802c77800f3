"""The minimum cut of a network: where to separate a source from a sink at the least cost.

Dinic's algorithm (E. A. Dinic, "Algorithm for solution of a problem of maximum flow in networks with power estimation",
Soviet Math. Doklady 11, 1970). networkx has it too, among 250 files that take longer to import than a small function
takes to compile.
"""

from __future__ import annotations

from collections.abc import Hashable

_UNLIMITED = float("inf")


class Network:
    """Places that may be anything hashable, and ways from one to another with what they bear.

    Examples
    --------
    >>> network = Network()
    >>> network.add("source", "x", 3.0)
    >>> network.add("x", "y", 1.0)
    >>> network.add("y", "sink")
    >>> sorted(network.near("source", "sink"))
    ['source', 'x']
    """

    def __init__(self) -> None:
        self.numbers: dict[Hashable, int] = {}
        #: Of each place, the ways that leave it. Of a way and its way back, one is even and the other the next number.
        self.leaving: list[list[int]] = []
        self.ends: list[int] = []
        #: What each way can bear still.
        self.spare: list[float] = []

    def _number(self, place: Hashable) -> int:
        number = self.numbers.setdefault(place, len(self.leaving))
        if number == len(self.leaving):
            self.leaving.append([])
        return number

    def add(self, start: Hashable, end: Hashable, capacity: float = _UNLIMITED) -> None:
        """A way, of unlimited capacity unless said otherwise."""
        numbers = self._number(start), self._number(end)
        for at, to, spare in ((*numbers, capacity), (*reversed(numbers), 0.0)):
            self.leaving[at].append(len(self.ends))
            self.ends.append(to)
            self.spare.append(spare)

    def near(self, source: Hashable, sink: Hashable) -> set[Hashable] | None:
        """The places on the source's side of a minimum cut: of all such cuts, the one that is nearest to the sink.

        It can be asked for once, since ways have been used up then. None if no cut is finite.
        """
        start, end = self._number(source), self._number(sink)
        while (levels := self._levels(start))[end] >= 0:
            if not self._fill(start, end, levels):
                return None
        beyond = [False] * len(self.leaving)
        beyond[end] = True
        waiting = [end]
        while waiting:
            for way in self.leaving[waiting.pop()]:
                before = self.ends[way]
                if not beyond[before] and self.spare[way ^ 1] > 0:
                    beyond[before] = True
                    waiting.append(before)
        return {place for place, number in self.numbers.items() if not beyond[number]}

    def _levels(self, start: int) -> list[int]:
        """How many ways with something to spare lead to each place, -1 where none do."""
        levels = [-1] * len(self.leaving)
        levels[start] = 0
        reached = [start]
        for at in reached:
            for way in self.leaving[at]:
                to = self.ends[way]
                if levels[to] < 0 and self.spare[way] > 0:
                    levels[to] = levels[at] + 1
                    reached.append(to)
        return levels

    def _fill(self, start: int, end: int, levels: list[int]) -> bool:
        """Use up ways from level to level until none is left to the end; whether each path has a limit."""
        tried = [0] * len(self.leaving)  # of the ways that leave each place, how many lead nowhere
        path: list[int] = []
        at = start
        while True:
            if at == end:
                flow = min([self.spare[way] for way in path])
                if flow == _UNLIMITED:
                    return False
                for way in path:
                    self.spare[way] -= flow
                    self.spare[way ^ 1] += flow
                full = next(i for i, way in enumerate(path) if not self.spare[way])
                at = self.ends[path[full] ^ 1]
                del path[full:]
            ways = self.leaving[at]
            while tried[at] < len(ways):
                way = ways[tried[at]]
                if self.spare[way] > 0 and levels[self.ends[way]] == levels[at] + 1:
                    path.append(way)
                    at = self.ends[way]
                    break
                tried[at] += 1
            else:
                if not path:
                    return True
                at = self.ends[path.pop() ^ 1]
                tried[at] += 1

"""Where in the user's source a node comes from, found cheaply.

For every recorded op the frames of the running function are walked. Of each only the code object and the instruction
offset are kept; lines are looked up in a table made once per code object.
"""

from __future__ import annotations

import sys
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from types import CodeType, FrameType

from opweave.registry.errors import Site, is_own_file
from opweave.tracer.handlers import catches

UNKNOWN = Site("<unknown>", 0, "<unknown>")


class _Lines:
    """Lines of one code object by instruction offset."""

    __slots__ = ("code", "starts", "lines", "sites")

    def __init__(self, code: CodeType):
        self.code = code
        self.starts: list[int] = []
        self.lines: list[int] = []
        self.sites: dict[int, Site] = {}
        line = code.co_firstlineno
        for start, _, found in code.co_lines():
            line = found or line
            self.starts.append(start)
            self.lines.append(line)

    def site(self, offset: int) -> Site:
        site = self.sites.get(offset)
        if site is None:
            line = self.lines[bisect_right(self.starts, offset) - 1]
            site = self.sites[offset] = Site(self.code.co_filename, line, self.code.co_name)
        return site


class Stack(Sequence[Site]):
    """The user's frames that led to an op, innermost first."""

    __slots__ = ("_frames",)

    def __init__(self, frames: list[tuple[_Lines, int]]):
        self._frames = frames

    def __len__(self) -> int:
        return len(self._frames)

    @property
    def is_caught(self) -> bool:
        """Whether one of these frames goes on, in an `except`, with what is raised in it."""
        return any(catches(lines.code, offset) for lines, offset in self._frames)

    def __getitem__(self, index: int) -> Site:  # type: ignore[override]  # no slices
        lines, offset = self._frames[index]
        return lines.site(offset)

    def __iter__(self) -> Iterator[Site]:
        return (lines.site(offset) for lines, offset in self._frames)

    def __str__(self) -> str:
        return "\n".join(f'  File "{site.file}", line {site.line}, in {site.function}' for site in reversed(self))

    def __repr__(self) -> str:
        return f"<Stack {' < '.join(str(site) for site in self)}>"


class StackReader:
    """Reads stacks up to (not including) the frame that made it."""

    def __init__(self, boundary: FrameType | None):
        self._boundary = boundary
        # By id, since comparing code objects compares their contents; the entry keeps its code object alive.
        self._known: dict[int, tuple[CodeType, _Lines | None]] = {}

    def read(self, depth: int = 1) -> tuple[Site, Stack]:
        """The innermost user frame and all of them; `depth` own frames above the caller are left out unseen."""
        frames: list[tuple[_Lines, int]] = []
        known = self._known
        boundary = self._boundary
        frame: FrameType | None = sys._getframe(depth)
        while frame is not None and frame is not boundary:
            code = frame.f_code
            entry = known.get(id(code))
            if entry is None:
                entry = known[id(code)] = code, None if is_own_file(code.co_filename) else _Lines(code)
            lines = entry[1]
            if lines is not None:
                frames.append((lines, frame.f_lasti))
            frame = frame.f_back
        if not frames:
            return UNKNOWN, Stack(frames)
        lines, offset = frames[0]
        return lines.site(offset), Stack(frames)

    def close(self) -> None:
        """Let go of the frame."""
        self._boundary = None

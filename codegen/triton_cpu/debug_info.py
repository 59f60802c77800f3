"""Lines of the user's source in LLVM's debug information, so that debuggers and profilers name them."""

from __future__ import annotations

import os
from collections.abc import Iterator

from opweave.codegen.instructions.emit import Emitter
from opweave.registry.interrupts import contextmanager
from opweave.registry.triton.ttir import Function, Op, walk

_UNIT, _DEBUG_VERSION, _DWARF_VERSION, _FILE, _SUBPROGRAM, _TYPE, _NO_TYPES = range(7)


class DebugInfo:
    """Numbers the source lines of one kernel as LLVM metadata.

    Parameters
    ----------
    function : Function
        The kernel, its operations carrying `loc`.
    """

    def __init__(self, function: Function) -> None:
        places = [p for p in (_split(op.loc) for op in walk(function.body)) if p is not None]
        self._path = places[0][0] if places else "<unknown>"
        self._line = min((line for path, line in places if path == self._path), default=1)
        self._name = function.name
        self._nodes: list[str] = []
        self._numbers: dict[tuple[str, int], int] = {}
        self._scopes = {self._path: _SUBPROGRAM}
        self.whole = f", !dbg !{self._location(self._path, self._line)}"
        """Stands behind instructions that belong to no operation."""

    @contextmanager
    def at(self, em: Emitter, op: Op) -> Iterator[None]:
        """What is emitted inside belongs to the line of `op`."""
        place = _split(op.loc)
        saved = em.place
        if place is not None:
            em.place = f", !dbg !{self._location(*place)}"
        try:
            yield
        finally:
            em.place = saved

    def _location(self, path: str, line: int) -> int:
        number = self._numbers.get((path, line))
        if number is None:
            number = self._numbers[path, line] = self._node(
                f"!DILocation(line: {line}, column: 0, scope: !{self._scope(path)})"
            )
        return number

    def _scope(self, path: str) -> int:
        """Code inlined from another file stands in a scope of its own."""
        if path not in self._scopes:
            file = self._node(_file(path))
            self._scopes[path] = self._node(
                f"distinct !DILexicalBlockFile(scope: !{_SUBPROGRAM}, file: !{file}, discriminator: 0)"
            )
        return self._scopes[path]

    def _node(self, text: str) -> int:
        self._nodes.append(text)
        return _NO_TYPES + len(self._nodes)

    @property
    def subprogram(self) -> str:
        """What stands between the function's attributes and its body."""
        return f" !dbg !{_SUBPROGRAM}"

    def metadata(self) -> list[str]:
        """The module's metadata, when everything has been emitted."""
        nodes = [
            f'distinct !DICompileUnit(language: DW_LANG_C99, file: !{_FILE}, producer: "opweave", isOptimized: true, '
            "runtimeVersion: 0, emissionKind: LineTablesOnly)",
            '!{i32 2, !"Debug Info Version", i32 3}',
            '!{i32 7, !"Dwarf Version", i32 4}',
            _file(self._path),
            f"distinct !DISubprogram(name: {_quoted(self._name)}, linkageName: {_quoted(self._name)}, "
            f"scope: !{_FILE}, file: !{_FILE}, line: {self._line}, type: !{_TYPE}, scopeLine: {self._line}, "
            f"spFlags: DISPFlagDefinition | DISPFlagOptimized, unit: !{_UNIT})",
            f"!DISubroutineType(types: !{_NO_TYPES})",
            "!{}",
            *self._nodes,
        ]
        heads = [
            f"!llvm.dbg.cu = !{{!{_UNIT}}}", f"!llvm.module.flags = !{{!{_DEBUG_VERSION}, !{_DWARF_VERSION}}}",
        ]  # fmt: skip
        return heads + [f"!{k} = {node}" for k, node in enumerate(nodes)]


def _split(loc: str | None) -> tuple[str, int] | None:
    """`file:line`."""
    path, _, line = (loc or "").rpartition(":")
    return (path, int(line)) if path and line.isdigit() and int(line) else None


def _file(path: str) -> str:
    folder, name = os.path.split(path)
    return f"!DIFile(filename: {_quoted(name)}, directory: {_quoted(folder)})"


def _quoted(text: str) -> str:
    return '"' + "".join(chr(b) if 32 <= b < 127 and b not in b'"\\' else f"\\{b:02X}" for b in text.encode()) + '"'

"""Places of the user's code, texts and entries, as all records have them."""

from __future__ import annotations

from typing import Any

from opweave.registry.errors import Site
from opweave.tracer.export.encoding import Reader


class Entries:
    """The entries of a file that the program refers to.

    Attributes
    ----------
    content : dict of str to bytes
        Entries by name.
    used : set of str
        Those that something has referred to.
    """

    def __init__(self, content: dict[str, bytes]):
        self.content = content
        self.used: set[str] = set()

    def add(self, name: str, data: bytes) -> str:
        """Write one; gives its name."""
        self.content[name] = data
        return name

    def take(self, source: Reader, kind: str) -> bytes:
        """Read one that a record names; each is read once."""
        name = source.text()
        if not name.endswith(kind) or name not in self.content or name in self.used:
            source.fail(f"the name of a {kind} entry, once")
        self.used.add(name)
        return self.content[name]


def encode_site(site: Site | None) -> Any:
    """A place without the folder: where the author's files are is nobody's business."""
    return None if site is None else [site.short.rpartition(":")[0], site.line, site.function]


def decode_site(source: Reader) -> Site:
    """The same, back."""
    parts = source.items()
    if len(parts) != 3:
        source.fail("file, line and function")
    return Site(one_line(parts[0]), parts[1].integer(), one_line(parts[2]))


def one_line(source: Reader) -> str:
    """Text that stands in a comment of printed code."""
    if not source.text(1000).isprintable():
        source.fail("printable text")
    return source.value

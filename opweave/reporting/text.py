"""Numbers as people read them."""

from __future__ import annotations


def seconds(value: float | None) -> str:
    """A time as people read it."""
    if value is None:
        return "-"
    for unit, factor in (("s", 1.0), ("ms", 1e3), ("µs", 1e6)):
        if value * factor >= 1 or unit == "µs":
            return f"{value * factor:.3g} {unit}"
    return ""


def size(nbytes: float) -> str:
    """A number of bytes as people read it."""
    for unit in ("B", "KiB", "MiB"):
        if nbytes < 1024:
            return f"{nbytes:.4g} {unit}"
        nbytes /= 1024
    return f"{nbytes:.4g} GiB"

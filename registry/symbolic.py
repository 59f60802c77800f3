"""What the registry knows of symbolic numbers: that there are some. `fake.symbolic` has them."""

from __future__ import annotations

from typing import ClassVar


class Symbolic:
    """Base of the numbers whose value a trace does not fix.

    Attributes
    ----------
    kind : str
        ``"int"``, ``"float"`` or ``"bool"``: which Python number it stands for.
    """

    __slots__ = ()
    kind: ClassVar[str]

"""`__doc__` and `__signature__` of objects that are called as functions, made when somebody asks.

Importing opweave makes hundreds of functions from declarations. What `help` says of one is put together only then, by
`registry.ops.help.documents`.
"""

from __future__ import annotations

from typing import Any

from opweave.registry.loading import load_heavy

_MAKER = "opweave.registry.ops.help.documents"


class Document:
    """`__doc__`: of a class its own text, of an object what follows from its op.

    Parameters
    ----------
    text : str
        The docstring of the class.
    """

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self.text if instance is None else load_heavy(_MAKER).document(instance)


class Signed:
    """`__signature__` of objects; their class has the one that Python finds by itself."""

    __slots__ = ()

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        if instance is None:
            raise AttributeError("__signature__")
        return load_heavy(_MAKER).signature(instance)

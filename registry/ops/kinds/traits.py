"""What a declaration says of its op besides its kind, as in `@pointwise("aten::silu(...)", is_expensive=True)`."""

from __future__ import annotations

from typing import TypedDict

from opweave.registry.tags import TagLike


class Traits(TypedDict, total=False):
    """What a declaration of any kind may say.

    Attributes
    ----------
    tags : str or sequence of str
        Those of PyTorch's that do not follow from the kind or the schema. Its variants have them too.
    own_tags : str or sequence of str
        The same of those that its variants have not.
    is_cheap, is_expensive : bool
        Whether an element may be computed again wherever it is needed, or is too much to be computed twice.
    is_strict : bool
        Whether it makes nothing definite of what is not: no result is one that memory with anything in it always gives.
    inplace : bool or str
        Whether to declare the `op_` variant too; a string is its overload name, where that is another.
    out : bool or str
        Whether to declare the `out=` variant too; a string is its overload name, where that is another.
    outs : str or tuple of str
        The overload name of an `out=` variant that stays a call in graphs, with the names of the arguments that it
        writes, where it is not `out` alone.
    """

    tags: TagLike
    own_tags: TagLike
    is_cheap: bool
    is_expensive: bool
    is_strict: bool
    inplace: bool | str
    out: bool | str
    outs: str | tuple[str, ...]

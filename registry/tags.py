"""Properties of an op, under PyTorch's names: as its definition gives them, and of a built-in op also what follows from
its declaration.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Any

from opweave.registry.core_opset import CORE
from opweave.registry.errors import ArgumentError
from opweave.registry.interrupts import let_through


class Tag(StrEnum):
    """PyTorch's tags; a tag equals its name.

    Examples
    --------
    >>> opweave.Tag.pointwise in opweave.ops.aten.sin.default.tags
    True
    """

    core = "core"
    cudagraph_unsafe = "cudagraph_unsafe"
    data_dependent_output = "data_dependent_output"
    dynamic_output_shape = "dynamic_output_shape"
    flexible_layout = "flexible_layout"
    generated = "generated"
    inplace = "inplace"
    inplace_view = "inplace_view"
    maybe_aliasing_or_mutating = "maybe_aliasing_or_mutating"
    needs_contiguous_strides = "needs_contiguous_strides"
    needs_exact_strides = "needs_exact_strides"
    needs_fixed_stride_order = "needs_fixed_stride_order"
    nondeterministic_bitwise = "nondeterministic_bitwise"
    nondeterministic_seeded = "nondeterministic_seeded"
    out = "out"
    out_variant = "out_variant"
    pointwise = "pointwise"
    pt2_compliant_tag = "pt2_compliant_tag"
    reduction = "reduction"
    view_copy = "view_copy"


TagLike = str | Sequence[str] | None


def parse_tags(op: str, tags: TagLike) -> tuple[Tag, ...]:
    """Tags given one or several at a time.

    Raises
    ------
    ArgumentError
        If there is no such tag.
    """
    found = []
    if tags is not None and not isinstance(tags, Iterable):
        raise ArgumentError(f"{op}: tags must be names", got=f"tags={tags!r}", hint=f"one of {', '.join(Tag)}")
    for tag in [tags] if isinstance(tags, str) else tags or ():
        try:
            found.append(Tag(tag))
        except ValueError as error:
            let_through(error)
            raise ArgumentError(
                f"{op}: there is no tag {tag!r}", got=f"tags={tags!r}", hint=f"one of {', '.join(Tag)}"
            ) from None
    return tuple(found)


_CORE = frozenset(CORE)


def declared(op: Any) -> list[Any]:
    """The tags that an op was defined with; what a part of the compiler marks it with is a text."""
    return [Tag(tag) if tag in Tag.__members__ else tag for tag in op.declared_tags]


def tags_of(op: Any) -> list[Tag]:
    """The tags of a built-in op: what its declaration, its kind and its schema tell, in order."""
    decl = op.decl
    functional = decl.functional or op
    kind = functional.decl or decl
    found = {*declared(op), Tag.pt2_compliant_tag}
    found |= {Tag(tag) for tag in functional.declared_tags if tag not in kind.own_tags}
    if kind.tag:
        found.add(Tag(kind.tag))
    written = [argument for argument in op._schema.arguments if argument.is_write]
    if written and written[-1].kwarg_only:
        found.add(Tag.out)
    elif written and op.opname.endswith("_") and not op.opname.endswith("__"):
        found.add(Tag.inplace)
    name = op.opname if op.overload == "default" else f"{op.opname}.{op.overload}"
    if name in _CORE:
        found.add(Tag.core)
    return sorted(found)

"""Properties of an op that parts of the compiler look at."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum

from opweave.registry.errors import ArgumentError


class Tag(StrEnum):
    """PyTorch's tags; a tag equals its name."""

    core = "core"
    cudagraph_unsafe = "cudagraph_unsafe"
    data_dependent_output = "data_dependent_output"
    dynamic_output_shape = "dynamic_output_shape"
    flexible_layout = "flexible_layout"
    generated = "generated"
    inplace_view = "inplace_view"
    maybe_aliasing_or_mutating = "maybe_aliasing_or_mutating"
    needs_contiguous_strides = "needs_contiguous_strides"
    needs_exact_strides = "needs_exact_strides"
    needs_fixed_stride_order = "needs_fixed_stride_order"
    nondeterministic_bitwise = "nondeterministic_bitwise"
    nondeterministic_seeded = "nondeterministic_seeded"
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
        except ValueError:
            raise ArgumentError(
                f"{op}: there is no tag {tag!r}", got=f"tags={tags!r}", hint=f"one of {', '.join(Tag)}"
            ) from None
    return tuple(found)

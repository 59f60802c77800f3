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
    """PyTorch's tags; a tag equals its name."""

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


# What no declaration tells: of all overloads of a name and its in-place form, or of one overload.
_FURTHER: dict[str, frozenset[str]] = {
    tag: frozenset(names.split())
    for tag, names in {
        "data_dependent_output": """
            _local_scalar_dense allclose equal
        """,
        "dynamic_output_shape": """
            _ctc_loss argwhere index.Tensor one_hot
        """,
        "inplace_view": """
            resize
        """,
        "maybe_aliasing_or_mutating": """
            alpha_dropout.default atleast_1d.default atleast_2d.default atleast_3d.default batch_norm cartesian_prod
            conj_physical.default dropout.default feature_alpha_dropout.default feature_dropout.default
        """,
        "nondeterministic_seeded": """
            alpha_dropout dropout feature_alpha_dropout feature_dropout native_dropout randint randint_like
            scaled_dot_product_attention
        """,
        "out": """
            _native_batch_norm_legit.out
        """,
        "pointwise": """
            add bitwise_and bitwise_left_shift bitwise_or bitwise_right_shift bitwise_xor celu.default clamp_max
            clamp_min conj_physical div equal float_power fmod frexp gcd.default lcm.default ldexp lerp max.other
            max.out min.other min.out mul polygamma positive pow relu6.default remainder rsub.Scalar selu sub
        """,
        "reduction": """
            aminmax count_nonzero.default count_nonzero.dim_IntList linalg_vector_norm logsumexp max.dim max.dim_max
            min.dim min.dim_min nansum std std_mean.correction std_mean.default std_mean.dim var var_mean.correction
            var_mean.default var_mean.dim
        """,
        "view_copy": """
            lift_fresh_copy slice_scatter
        """,
    }.items()
}
_CORE = frozenset(CORE)
_HANDED_ON = frozenset((Tag.nondeterministic_seeded, Tag.dynamic_output_shape, Tag.data_dependent_output))


def declared(op: Any) -> list[Any]:
    """The tags that an op was defined with; what a part of the compiler marks it with is a text."""
    return [Tag(tag) if tag in Tag.__members__ else tag for tag in op.declared_tags]


def tags_of(op: Any) -> list[Tag]:
    """The tags of a built-in op: what its declaration, its kind and its schema tell, in order."""
    decl = op.decl
    functional = decl.functional or op
    kind = functional.decl or decl
    found = {*declared(op), Tag.pt2_compliant_tag}
    found |= {Tag(tag) for tag in functional.declared_tags if tag in _HANDED_ON}
    if kind.tag:
        found.add(Tag(kind.tag))
    elif kind.is_composite and _has_pointwise(functional):
        found.add(Tag.pointwise)
    written = [argument for argument in op._schema.arguments if argument.is_write]
    if written and written[0].kwarg_only:
        found.add(Tag.out)
    elif written and op.opname.endswith("_") and not op.opname.endswith("__"):
        found.add(Tag.inplace)
    name = op.opname if op.overload == "default" else f"{op.opname}.{op.overload}"
    if name in _CORE:
        found.add(Tag.core)
    names = {op.opname.removesuffix("_"), f"{op.opname}.{op.overload}"}
    found |= {Tag(tag) for tag, among in _FURTHER.items() if names & among}
    return sorted(found)


def _has_pointwise(op: Any) -> bool:
    """Whether another overload of the name is pointwise: one with a number is written with that of a tensor."""
    others = [getattr(op.packet, name).decl for name in op.packet.overloads()]
    return any(decl is not None and decl.tag == Tag.pointwise for decl in others)

"""What a declaration says of its op besides its kind, as in `@pointwise("aten::silu(...)", is_expensive=True)`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal, TypedDict

from opweave.registry.tags import TagLike

#: What becomes of an op's floating tensors inside an `autocast` block, under PyTorch's names: they are cast to the type
#: of the block, to float32, by the op itself to float32, or to the widest of them; the op is refused; or it and the ops
#: that compute it are left alone.
CastPolicy = Literal["lower_precision_fp", "fp32", "fp32_set_opt_dtype", "promote", "banned", "keep"]


class Traits(TypedDict, total=False):
    """What a declaration of any kind may say.

    Attributes
    ----------
    tags : str or sequence of str
        Those of PyTorch's that do not follow from the kind or the schema. Its variants have them too.
    own_tags : str or sequence of str
        The same of those that its variants have not.
    autocast : CastPolicy, or mapping of str to CastPolicy
        What `autocast` does with it, on each type of device or on those named; by default its tensors are as given.
    is_cheap, is_expensive : bool
        Whether an element may be computed again wherever it is needed, or is too much to be computed twice.
    is_strict : bool
        Whether it makes nothing definite of what is not: no result is one that memory with anything in it always gives.
    accuracy : "rounded" or "cancels"
        What tests may ask of results: what is one rounding away from the exact value is the same bits however it is
        computed; where products that may be contracted are added, or slopes that nearly cancel, digits are lost.
    rounds_numbers : tuple of int
        Places of operands where a number, or a tensor without dimensions, is rounded to the type that all operands
        have together; what stands elsewhere is as exact as what is computed. It tells for half types alone.
    either_zero : bool
        Whether a zero may have either sign, since neither of -0.0 and 0.0 is larger.
    is_uninitialised : bool
        Whether there is nothing in what it makes.
    inplace : bool or str
        Whether to declare the `op_` variant too; a string is its overload name, where that is another.
    out : bool or str
        Whether to declare the `out=` variant too; a string is its overload name, where that is another.
    outs : str or tuple of str
        The overload name of an `out=` variant that stays a call in graphs, with the names of the arguments that it
        writes; of one that writes `out` alone, or `grad_input` by that name too, the overload name is enough.
    """

    tags: TagLike
    own_tags: TagLike
    autocast: CastPolicy | Mapping[str, CastPolicy]
    is_cheap: bool
    is_expensive: bool
    is_strict: bool
    accuracy: Literal["rounded", "cancels"]
    rounds_numbers: tuple[int, ...]
    either_zero: bool
    is_uninitialised: bool
    inplace: bool | str
    out: bool | str
    outs: str | tuple[str, ...]

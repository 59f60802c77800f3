"""Ops that are others by name, as PyTorch has them: `aten::special_expit` is `aten::sigmoid`, `aten::permute_copy` is a
copy of what `aten::permute` gives.

Each is written with the op that it names, so a graph has that one.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from opweave.registry.errors import ShapeError
from opweave.registry.memory_format import contiguous_format
from opweave.registry.op import OpOverload, ops
from opweave.registry.ops import (
    comparison,
    complexes,
    copies,
    cumulative,
    diagonals,
    elementary,
    floats,
    rearranging,
    reshape,
    slicing,
    softmax,
    special,
    special_library,
    view,
)
from opweave.registry.ops.kinds import composite
from opweave.registry.tensor import Tensor, describe

#: They declare what is named here.
_ = (
    comparison, complexes, copies, cumulative, diagonals, elementary, floats, rearranging, reshape, slicing, softmax,
    special, special_library, view,
)  # fmt: skip
aten = ops.aten


def _declare(name: str, target: OpOverload, overload: str = "") -> None:
    text = str(target._schema)
    arguments = text[text.index("(") :]
    outs = f"{overload}_out" if overload else "out"
    written: Any = {"outs": outs} if "Tensor" in arguments else {}

    @composite(f"aten::{name}{'.' * bool(overload)}{overload}{arguments}", **written)
    def named(*args: Any, **kwargs: Any) -> Tensor:
        return target(*args, **kwargs)


#: What `special` calls ops of other names, or of the same.
_SPECIAL = {
    "expit": "sigmoid", "exp2": "exp2", "expm1": "expm1", "erf": "erf", "erfc": "erfc", "erfinv": "erfinv",
    "gammaln": "lgamma", "digamma": "digamma", "psi": "digamma", "log1p": "log1p", "sinc": "sinc",
    "gammainc": "igamma", "gammaincc": "igammac", "logit": "logit", "multigammaln": "mvlgamma",
    "polygamma": "polygamma", "logsumexp": "logsumexp",
}  # fmt: skip

for _name, _target in _SPECIAL.items():
    _declare(f"special_{_name}", getattr(aten, _target).default)


@composite("aten::special_round(Tensor self, *, int decimals=0) -> Tensor", outs="out")
def special_round(self: Tensor, *, decimals: int = 0) -> Tensor:
    return aten.round.decimals(self, decimals=decimals) if decimals else aten.round.default(self)


@composite("aten::special_softmax(Tensor self, int dim, ScalarType? dtype=None) -> Tensor")
def special_softmax(self: Tensor, dim: int, dtype: Any = None) -> Tensor:
    return aten.softmax.int(self, dim, dtype)


@composite("aten::special_log_softmax(Tensor self, int dim, *, ScalarType? dtype=None) -> Tensor")
def special_log_softmax(self: Tensor, dim: int, *, dtype: Any = None) -> Tensor:
    return aten.log_softmax.int(self, dim, dtype)


@composite("aten::special_ndtr(Tensor self) -> Tensor", outs="out")
def special_ndtr(self: Tensor) -> Tensor:
    """The share of a normal distribution that is less: erfc(-x / √2) / 2."""
    return aten.mul.Tensor(aten.erfc.default(aten.mul.Tensor(self, -(0.5**0.5))), 0.5)


# ---- copies of views -----------------------------------------------------------------------------------------------

#: Of which there is an op that gives a copy.
_VIEWS = (
    "alias", "as_strided", "detach", "diagonal", "expand", "narrow", "permute", "select", "slice", "split",
    "split_with_sizes", "squeeze", "t", "transpose", "unbind", "unfold", "unsqueeze", "view", "view_as_complex",
    "view_as_real",
)  # fmt: skip


def _declare_copy(target: OpOverload) -> None:
    text = str(target.schema_source).replace("(a)", "").replace("(a -> *)", "")
    text = text.replace(f"::{target.opname}", f"::{target.opname}_copy", 1)
    one = not text.endswith("[]")
    overload = "out" if target.overload == "default" else f"{target.overload}_out"
    traits: Any = {"outs": overload} if one else {}
    # PyTorch's `narrow_copy.out` has not the tag, those of others have it.
    traits["own_tags" if target.opname == "narrow" else "tags"] = "view_copy"

    @composite(text, **traits)
    def copied(*args: Any, **kwargs: Any) -> Any:
        found: Any = target(*args, **kwargs)
        if one:
            return aten.clone.default(found, memory_format=contiguous_format)
        return [aten.clone.default(t, memory_format=contiguous_format) for t in found]


for _name in _VIEWS:
    _packet = getattr(aten, _name)
    for _overload in _packet.overloads():
        if not (_name == "split" and _overload == "sizes"):
            _declare_copy(getattr(_packet, _overload))


@composite("aten::unsafe_split.Tensor(Tensor self, SymInt split_size, int dim=0) -> Tensor[]")
def unsafe_split(self: Tensor, split_size: int, dim: int = 0) -> list[Tensor]:
    """`split`, of whose results autograd lets each be written."""
    return [aten.alias_copy.default(t) for t in aten.split.Tensor(self, split_size, dim)]


@composite("aten::unsafe_split_with_sizes(Tensor self, SymInt[] split_sizes, int dim=0) -> Tensor[]")
def unsafe_split_with_sizes(self: Tensor, split_sizes: Sequence[int], dim: int = 0) -> list[Tensor]:
    """`split_with_sizes`, of whose results autograd lets each be written."""
    return [aten.alias_copy.default(t) for t in aten.split_with_sizes.default(self, split_sizes, dim)]


@composite("aten::unsafe_chunk(Tensor self, int chunks, int dim=0) -> Tensor[]", own_tags="maybe_aliasing_or_mutating")
def unsafe_chunk(self: Tensor, chunks: int, dim: int = 0) -> list[Tensor]:
    """`chunk`, of whose results autograd lets each be written."""
    return [aten.alias_copy.default(t) for t in aten.chunk.default(self, chunks, dim)]


@composite("aten::reshape_as(Tensor(a) self, Tensor other) -> Tensor(a)")
def reshape_as(self: Tensor, other: Tensor) -> Tensor:
    return aten.reshape.default(self, list(other._sizes))


@composite("aten::sum_to_size(Tensor self, SymInt[] size) -> Tensor")
def sum_to_size(self: Tensor, size: Sequence[int]) -> Tensor:
    """The sums that broadcasting to the tensor's sizes would undo."""
    size = list(size)
    extra = self.ndim - len(size)
    fits = extra >= 0 and all(n in (1, self._sizes[extra + d]) for d, n in enumerate(size))
    if not fits:
        raise ShapeError(f"sum_to_size: size {size} is not expandable to the tensor's", got=describe(self))
    if not size:
        return aten.sum.default(self)
    axes = [*range(extra), *(extra + d for d, n in enumerate(size) if n == 1 and self._sizes[extra + d] != 1)]
    found = aten.sum.dim_IntList(self, axes, True) if axes else self
    return aten.reshape.default(found, size) if extra else found


# ---- conjugates: there are no tensors that are lazily conjugate ----------------------------------------------------


@composite("aten::conj(Tensor(a) self) -> Tensor(a)")
def conj(self: Tensor) -> Tensor:
    """The conjugate: a copy of complex numbers, and what is real itself."""
    return aten.conj_physical.default(self) if self._dtype.kind == "c" else aten.alias.default(self)


@composite("aten::resolve_conj(Tensor(a) self) -> Tensor(a)")
def resolve_conj(self: Tensor) -> Tensor:
    """The tensor: it is as it says."""
    return aten.alias.default(self)


@composite("aten::resolve_neg(Tensor(a) self) -> Tensor(a)")
def resolve_neg(self: Tensor) -> Tensor:
    """The tensor: it is as it says."""
    return aten.alias.default(self)
